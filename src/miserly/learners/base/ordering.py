"""Features that were never ordered: weights of rows for data of a process that did not buy everything.

A value may be missing because a test failed, or because it was never ordered. The second kind says something
about the process that made the data, not about the row: once a model orders tests itself, it is gone.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from miserly.costs import Costs, free_features, read_mask
from miserly.data.frames import NumericTable, is_frame, read_frame
from miserly.errors import DataError
from miserly.learners.base.arguments import bind_costs

__all__ = ["NEVER_ORDERED", "ordering_weights"]

NEVER_ORDERED = ("missing", "drop", "ipw")
LEAST_PROBABILITY = 0.02  # so no row counts for more than fifty
_FEWEST_ROWS = 10
_FOLDS = 5


def ordering_weights(
    X: Any, ordered: Any, costs: Any = None, never_ordered: str = "ipw", *, known: Any = None
) -> NDArray[np.float64]:
    """Compute weights of rows for data in which some features were never ordered for some rows.

    Parameters
    ----------
    X : array or frame of (n, n_features)
        Training rows. Values that were never ordered are missing.
    ordered : bool array of (n, n_features), or frame or mapping of bools
        Whether each feature was ordered for each row. Features that a frame or mapping leaves out were
        ordered for all rows.
    costs : Costs, array, mapping or None, default=None
        Costs of the features, as for learners. Those that cost nothing explain what was ordered.
    never_ordered : {"missing", "drop", "ipw"}, default="ipw"
        "missing": all rows have weight 1. What was never ordered is like any other missing value.
        "drop": rows with every feature ordered have weight 1, others 0 (complete cases).
        "ipw": rows with every feature ordered have the inverse of the estimated probability that they are,
        given the free features. Others have weight 0. Without free features the weights are the same for
        all complete rows, and a warning says so.
    known : optional
        What rows have already, as for `Plan.run`. Features that all rows know count as free.

    Returns
    -------
    array of (n,)
        Weights, for `sample_weight`.

    Raises
    ------
    DataError
        If fewer than ten rows have every feature ordered.

    Notes
    -----
    "missing" teaches a model the habits of the old process: rows without a value are those that it did not
    order, and the gain of a feature is measured where it was ordered. The model is biased wherever it orders
    differently. "drop" is unbiased for what is predicted from all features that the orders depended on, if
    the model can express it; means over rows (losses, costs, the gain of a feature) are those of the ordered
    rows. "ipw" corrects these means (Horvitz and Thompson 1952; Robins, Rotnitzky and Zhao 1994) if orders
    depended on free features alone and every kind of row had a chance of at least 2 %: smaller probabilities
    count as 2 %. If orders depended on the results of other tests, or on what is not in the table, all three
    are biased.

    Probabilities are out-of-fold predictions of gradient boosted trees (five folds, always the same). The
    price of "ipw" is variance: a few rows may have large weights.

    References
    ----------
    D. G. Horvitz and D. J. Thompson, "A generalization of sampling without replacement from a finite
    universe", JASA 47, 1952.
    J. M. Robins, A. Rotnitzky and L. P. Zhao, "Estimation of regression coefficients when some regressors are
    not always observed", JASA 89, 1994.

    Examples
    --------
    The first column is free. The second was ordered for half of the rows above zero, and a fifth below:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> ordered = rng.random(4000) < np.where(X[:, 0] > 0, 0.5, 0.2)
    >>> weight = ordering_weights(X, {1: ordered}, costs=[0.0, 1.0])
    >>> [round(float(weight[ordered & side].mean()), 1) for side in (X[:, 0] > 0, X[:, 0] <= 0)]
    [2.0, 5.0]
    """
    if never_ordered not in NEVER_ORDERED:
        raise DataError(f"never_ordered is 'missing', 'drop' or 'ipw', not {never_ordered!r}")
    n = len(X)
    prices = bind_costs(costs, [str(c) for c in X.columns] if is_frame(X) else np.shape(X)[1])
    mask = read_mask(ordered, prices, n, "ordered", default=True)
    complete: NDArray[np.bool_] = np.all(mask, axis=1)
    if never_ordered == "missing" or complete.all():
        return np.ones(n)
    _refuse_few(complete, mask, prices)
    if never_ordered == "drop":
        return complete.astype(np.float64)
    free = free_features(prices, None if known is None else read_mask(known, prices, n)) & mask.all(axis=0)
    if not free.any():
        warnings.warn(
            "never_ordered='ipw': no feature is free and ordered for all rows, so nothing explains which are "
            "complete. All of these have the same weight, and the bias is that of 'drop'. Give features that "
            "all rows have a cost of 0, or name them in `known`",
            stacklevel=2,
        )
    weight: NDArray[np.float64] = complete / _probabilities(X, complete, free)
    return weight


def _refuse_few(complete: NDArray[np.bool_], mask: NDArray[np.bool_], costs: Costs) -> None:
    if complete.sum() >= _FEWEST_ROWS:
        return
    counts = mask.sum(axis=0)
    rarest = int(counts.argmin())
    raise DataError(
        f"every feature was ordered in {int(complete.sum())} rows only; {costs.name(rarest)!r} in "
        f"{int(counts[rarest])} of {len(mask)}. Leave out features that are rarely ordered, or give "
        "never_ordered='missing'"
    )


def _probabilities(
    X: Any, complete: NDArray[np.bool_], free: NDArray[np.bool_]
) -> NDArray[np.float64] | float:
    """The probability that everything was ordered, given the free features, out of fold."""
    if not free.any() or (~complete).sum() < _FEWEST_ROWS:
        return float(complete.mean())
    table = read_frame(X) if is_frame(X) else NumericTable(np.asarray(X, dtype=np.float64), None, {})
    columns = np.flatnonzero(free)
    model = HistGradientBoostingClassifier(
        max_iter=120,  # chosen on seeds 100 to 111 of three policies with 500 and 3,000 rows
        learning_rate=0.05,
        max_leaf_nodes=6,
        min_samples_leaf=50,
        early_stopping=False,
        categorical_features=[place for place, f in enumerate(columns.tolist()) if f in table.categories],
        random_state=0,
    )
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    found = cross_val_predict(model, table.values[:, columns], complete, cv=folds, method="predict_proba")
    return np.maximum(found[:, 1], LEAST_PROBABILITY)
