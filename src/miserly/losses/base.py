"""What a loss is: its mean over rows, derivatives by scores, the link, and the scores to start from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.losses.kernels import NO_KERNEL

__all__ = ["Floats", "Loss", "PointwiseLoss", "Weight"]

Floats: TypeAlias = NDArray[np.float64]
Weight: TypeAlias = NDArray[np.float64] | None


class Loss(ABC):
    """A weighted mean over rows of what scores (n, K) lose on labels `y`.

    Attributes
    ----------
    link : str
        How scores become answers: "identity", "logistic", "softmax" or "sign".
    n_scores : int
        The number of scores per row, K.
    kernel : int
        The compiled twin of `gradient_hessian` in `miserly.losses.kernels`, if there is one. It holds for
        this class alone: subclasses name their own.
    least_squares : bool
        Whether second derivatives are constant: a single linear solve minimises the loss, and its trees are
        regression trees on the `residual`.

    Examples
    --------
    >>> from miserly.losses import Loss, Squared
    >>> isinstance(Squared(), Loss), Squared().link
    (True, 'identity')
    """

    link: ClassVar[str] = "identity"
    least_squares: ClassVar[bool] = False
    kernel: ClassVar[int] = NO_KERNEL
    n_scores: int = 1

    @abstractmethod
    def initial(self, y: Floats, weight: Weight) -> Floats:
        """Return the constant scores (K,) of least loss.

        Parameters
        ----------
        y : array of (n,)
            Labels: numbers, or classes as 0, 1, 2, ...
        weight : array of (n,) or None
            The weight of each row.

        Returns
        -------
        array of (K,)
            One score per class, or one score.
        """

    @abstractmethod
    def loss(self, y: Floats, score: Floats, weight: Weight) -> float:
        """Return the weighted mean loss.

        Parameters
        ----------
        y : array of (n,)
            Labels.
        score : array of (n, K)
            Scores.
        weight : array of (n,) or None
            The weight of each row.

        Returns
        -------
        float
            The mean over rows, or over queries.
        """

    @abstractmethod
    def gradient_hessian(self, y: Floats, score: Floats, weight: Weight) -> tuple[Floats, Floats]:
        """Return the derivatives that trees sum over the rows of a leaf.

        They are derivatives of ``total_weight * loss``; the caller divides by `total_weight` before it
        compares a gain with a price.

        Parameters
        ----------
        y : array of (n,)
            Labels.
        score : array of (n, K)
            Scores.
        weight : array of (n,) or None
            The weight of each row.

        Returns
        -------
        gradient, hessian : arrays of (n, K)
            First derivatives by each score, and second derivatives (or an upper bound) by the same score.
        """

    def total_weight(self, y: Floats, weight: Weight) -> float:
        """Return what the mean divides by.

        Parameters
        ----------
        y : array of (n,)
            Labels.
        weight : array of (n,) or None
            The weight of each row.

        Returns
        -------
        float
            The sum of the weights, 1 each where there are none.
        """
        return float(len(y)) if weight is None else float(weight.sum())

    def residual(self, y: Floats, score: Floats, weight: Weight) -> Floats:
        """Return what is left to fit (n,), for a loss with `least_squares`.

        Parameters
        ----------
        y : array of (n,)
            Labels.
        score : array of (n, 1)
            Scores.
        weight : array of (n,) or None
            The weight of each row.

        Returns
        -------
        array of (n,)
            The target of the next regression tree.
        """
        return y - score[:, 0]


class PointwiseLoss(Loss):
    """A loss that is a mean of one value per row; solvers of linear scores take its derivatives row by row.

    Attributes
    ----------
    max_curvature : float
        The largest second derivative of a row's loss along any direction of its scores.

    Examples
    --------
    >>> from miserly.losses import Logistic
    >>> y, score = np.array([0.0, 1.0]), np.zeros((2, 1))
    >>> Logistic().gradient(y, score).ravel().tolist(), Logistic().curvature(y, score).tolist()
    ([0.5, -0.5], [0.25, 0.25])
    """

    max_curvature: float

    @abstractmethod
    def each(self, y: Floats, score: Floats) -> Floats:
        """Return the loss of each row.

        Parameters
        ----------
        y : array of (n,)
            Labels; (n, K) for `MeanSquared`.
        score : array of (n, K)
            Scores.

        Returns
        -------
        array of (n,)
            Values from 0 up.
        """

    @abstractmethod
    def gradient(self, y: Floats, score: Floats) -> Floats:
        """Return the derivatives of each row's loss by its scores.

        Parameters
        ----------
        y : array of (n,)
            Labels; (n, K) for `MeanSquared`.
        score : array of (n, K)
            Scores.

        Returns
        -------
        array of (n, K)
            A new array, which the caller may change.
        """

    @abstractmethod
    def curvature(self, y: Floats, score: Floats) -> Floats:
        """Return one second derivative per row: the mean of the diagonal of `hessian`.

        Parameters
        ----------
        y : array of (n,)
            Labels; (n, K) for `MeanSquared`.
        score : array of (n, K)
            Scores.

        Returns
        -------
        array of (n,)
            Values from 0 up.
        """

    def hessian(self, y: Floats, score: Floats) -> Floats:
        """Return all second derivatives of each row's loss by its scores.

        Parameters
        ----------
        y : array of (n,)
            Labels; (n, K) for `MeanSquared`.
        score : array of (n, K)
            Scores.

        Returns
        -------
        array of (n, K, K)
            One symmetric matrix per row.
        """
        curvature = self.curvature(y, score)
        return np.asarray(curvature[:, None, None] * np.eye(score.shape[1]))

    def loss(self, y: Floats, score: Floats, weight: Weight) -> float:
        return float(np.average(self.each(y, score), weights=weight))

    def gradient_hessian(self, y: Floats, score: Floats, weight: Weight) -> tuple[Floats, Floats]:
        gradient, hessian = self._newton(y, score)
        if weight is not None:
            gradient *= weight[:, None]
            hessian *= weight[:, None]
        return gradient, hessian

    def _newton(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        """The gradient and the curvature by each score (n, K), for one Newton step per score."""
        return self.gradient(y, score), np.repeat(self.curvature(y, score)[:, None], score.shape[1], axis=1)
