"""Links: how scores become answers.

A link is one class. It holds what it needs of a plan's outputs, how scores become probabilities and classes,
and its words. To add a link, write a class in `class_links` or `number_links` and add it to `LINKS`. Plans
and files name it by `name`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.plan.class_links import (
    Largest,
    LogisticLink,
    OneVersusRest,
    OneVersusRestShares,
    Proportions,
    Sign,
    Softmax,
    Votes,
    pairs_of,
    votes,
)
from miserly.plan.exponential import exp, exp_of_float
from miserly.plan.link_base import BY_EACH, BY_LOG_ODDS, BY_SHARES, Link
from miserly.plan.number_links import Average, Exponential, Identity, Share, SignedSquare, Softplus
from miserly.plan.single_links import SingleExponential, SingleLogistic, SingleShare, SingleSoftmax

__all__ = [
    "BY_EACH",
    "BY_LOG_ODDS",
    "BY_SHARES",
    "LINKS",
    "Link",
    "confidence",
    "exp",
    "exp_of_float",
    "gives_numbers",
    "has_confidence",
    "has_probabilities",
    "in_double",
    "label_gap",
    "labels",
    "n_labels",
    "pairs_of",
    "probabilities",
    "votes",
]

Floats = NDArray[np.float64]
_NUMBERS = (Exponential, Share, Softplus, SignedSquare, Average)
_CLASSES = (OneVersusRest, OneVersusRestShares, Proportions, Largest)
_SINGLES = (SingleLogistic, SingleSoftmax, SingleExponential, SingleShare)
_LINKS: tuple[type[Link], ...] = (
    Identity, LogisticLink, Softmax, Sign, Votes, *_NUMBERS, *_CLASSES, *_SINGLES,
)  # fmt: skip
LINKS: dict[str, Link] = {link.name: link() for link in _LINKS}


def has_probabilities(link: str) -> bool:
    """Whether plans with this link have class probabilities.

    >>> [link for link in LINKS if has_probabilities(link) and link == in_double(link)]
    ['logistic', 'softmax', 'one_vs_rest', 'one_vs_rest_shares', 'proportions']
    """
    return LINKS[link].has_probabilities


def has_confidence(link: str) -> bool:
    """Whether gates can ask for the probability of the most probable class.

    >>> [link for link in LINKS if has_confidence(link)]
    ['logistic', 'softmax', 'proportions', 'logistic_single', 'softmax_single']
    """
    return LINKS[link].has_confidence


def gives_numbers(link: str) -> bool:
    """Whether answers are numbers, and not classes.

    >>> [link for link in LINKS if gives_numbers(link)]
    ['identity', 'exp', 'share', 'softplus', 'signed_square', 'average', 'exp_single', 'share_single']
    """
    return LINKS[link].gives_numbers


def probabilities(link: str, scores: Floats) -> Floats:
    """Class probabilities (n, n_classes) from scores (n, n_outputs)."""
    return LINKS[link].probabilities(scores)


def confidence(link: str, scores: Floats) -> Floats:
    """The probability of the most probable class (n,), summed in the order compiled code uses."""
    return LINKS[link].confidence(scores)


def labels(link: str, scores: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Answers from scores (n, n_outputs): numbers for identity, else entries of `classes`."""
    return LINKS[link].labels(scores, classes)


def n_labels(link: str, n_outputs: int) -> int:
    """The number of classes for a number of outputs.

    >>> n_labels("logistic", 1), n_labels("softmax", 3), n_labels("votes", 6)
    (2, 3, 4)
    """
    return LINKS[link].n_labels(n_outputs)


def in_double(link: str) -> str:
    """The link that computes the same in float64; of most links, the link itself.

    >>> in_double("softmax_single"), in_double("softmax")
    ('softmax', 'softmax')
    """
    return LINKS[link].in_double or link


def label_gap(link: str) -> float:
    """How far scores must be apart, or from zero, so that rounding in the link cannot change their label."""
    return LINKS[link].label_gap
