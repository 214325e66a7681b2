"""Warnings that are given once in a process."""

from __future__ import annotations

import warnings

__all__ = ["warn_once"]

_said: set[str] = set()


def warn_once(topic: str, message: str) -> None:
    """Warn of something that would otherwise be said again and again; `topic` tells warnings apart."""
    if topic not in _said:
        _said.add(topic)
        warnings.warn(message, RuntimeWarning, stacklevel=3)
