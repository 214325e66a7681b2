"""Warnings that a process gives once."""

from __future__ import annotations

import warnings

__all__ = ["warn_once"]

_given: set[str] = set()


def warn_once(topic: str, message: str) -> None:
    """Give a `RuntimeWarning` unless one of the same topic was given before."""
    if topic not in _given:
        _given.add(topic)
        warnings.warn(message, RuntimeWarning, stacklevel=3)
