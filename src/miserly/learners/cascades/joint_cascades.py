"""Cascades whose stages are trained together, with features assigned by price: soft, and and-or."""

from __future__ import annotations

from miserly.learners.cascades.tiered import TieredCascade
from miserly.solvers.tiered import and_or_loss, soft_cascade_loss

__all__ = ["AndOrCascadeClassifier", "SoftCascadeClassifier"]


class SoftCascadeClassifier(TieredCascade):
    """Soft cascade of linear classifiers for two classes, of which the second is rare.

    Every stage may use the features of its price tier and all cheaper ones, and pays for the whole tier. The
    stages are trained together. Rows with low scores leave early.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features and of groups of features. By default each feature costs 1.
    tradeoff : float, default=1e-4
        Mean loss that one unit of expected cost must save: the negative log-likelihood of a row. With
        a budget it is the smallest tradeoff that is tried.
    budget : float or None, default=None
        Cap on the cost of every row. Features that together cost no more are chosen by greedy least squares
        before they are assigned to stages. If the cap leaves out features, several tradeoffs from `tradeoff`
        up are fitted, and the one with the smallest log loss on the validation set is taken. By default there
        is no cap.
    mean_budget : float or None, default=None
        Limit on the mean cost of the rows of the validation set. The smallest tradeoff from `tradeoff` up
        that keeps it is taken. May be given together with `budget`. By default there is no limit.
    tiers : int or array-like of float, default=4
        How features are assigned to stages: the upper bounds of the price tiers, in the unit of the costs, or
        a number of tiers with about the same number of features each. Features of the same price are ordered
        by their correlation with the label. Features above the last bound are not used.
    positive_weight : float, default=1.0
        Weight of the second class in the loss.
    miss : float, default=0.02
        Share of the remaining rows of the second class that a stage may lose. A row leaves if its score is at
        most 0 and at most that of this share of the second class.
    l2_regularization : float, default=0.001
        Ridge penalty on the weights of every stage.
    validation_fraction : float, default=0.2
        Share of the rows in the validation set, in whole queries if `qid` is given. It is held out for a
        `budget` or `mean_budget`.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    random_state : int, RandomState or None, default=None
        Random seed of the validation set.
    verbose : int, default=0
        With 1, the steps of the fit are shown.

    Attributes
    ----------
    plan_ : Plan
        A chain. Rows with low scores leave it, with the answer of the stage where they leave.
    cost_ : float
        Cost of a row that passes every stage.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    tradeoff_ : float
        The tradeoff of the model.
    expected_cost_ : float
        Mean cost of the rows of the validation set. It exists only if there is a validation set.
    classes_ : array
        Both classes, in the order of the columns of `predict_proba`.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    A row is of the second class if all stages agree, with probability ``prod_k sigmoid(w_k . x + b_k)``. The
    stages minimise the mean negative log-likelihood, plus `tradeoff` times the expected cost, plus a ridge
    penalty. A row reaches stage `k` with probability ``prod_{j < k} sigmoid(w_j . x + b_j)``.

    What the paper leaves open:

    - Stages that are not worth their price are left out, the last ones first.
    - The score of a stage only adds what earlier stages left open, so it does not rank rows. On documents of
      `make_ranking`, the last stage alone had a precision@5 of 0.15 to 0.21, and the product of all stages
      0.24. A plan adds up terms and has no products. So the answer of a stage is a logistic regression on all
      features paid so far, fitted to the rows that come to it: 0.22 to 0.23.

    References
    ----------
    .. [1] V. C. Raykar, B. Krishnapuram, S. Yu, "Designing Efficient Cascaded Classifiers: Tradeoff between
       Accuracy and Cost", KDD 2010.
    .. [2] M. Chen, Z. Xu, K. Q. Weinberger, O. Chapelle, D. Kedem, "Classifier Cascade for Minimizing Feature
       Evaluation Cost", AISTATS 2012. It compares with this cascade.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly.learners import SoftCascadeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 0)
    >>> model = SoftCascadeClassifier(costs=[1, 20], tradeoff=1e-3, tiers=2).fit(X, y)
    >>> print(f"{model.score(X, y):.2f} {model.run(X).cost.mean():.1f}")
    1.00 4.0
    """

    _row_loss = staticmethod(soft_cascade_loss)


class AndOrCascadeClassifier(TieredCascade):
    """And-or cascade of linear classifiers for two classes, of which the second is rare.

    A row of the second class must satisfy every stage; a row of the first needs to fail only one. Every stage
    may use the features of its price tier and all cheaper ones, and pays for the whole tier. The stages are
    trained together. Rows with low scores leave early.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features and of groups of features. By default each feature costs 1.
    tradeoff : float, default=1e-4
        Mean loss that one unit of expected cost must save: squared hinges, the largest over the stages
        for a row of the second class, their product for a row of the first. With a budget it is the smallest
        tradeoff that is tried.
    budget : float or None, default=None
        Cap on the cost of every row. Features that together cost no more are chosen by greedy least squares
        before they are assigned to stages. If the cap leaves out features, several tradeoffs from `tradeoff`
        up are fitted, and the one with the smallest log loss on the validation set is taken. By default there
        is no cap.
    mean_budget : float or None, default=None
        Limit on the mean cost of the rows of the validation set. The smallest tradeoff from `tradeoff` up
        that keeps it is taken. May be given together with `budget`. By default there is no limit.
    tiers : int or array-like of float, default=4
        How features are assigned to stages: the upper bounds of the price tiers, in the unit of the costs, or
        a number of tiers with about the same number of features each. Features of the same price are ordered
        by their correlation with the label. Features above the last bound are not used.
    positive_weight : float, default=1.0
        Weight of the second class in the loss.
    miss : float, default=0.02
        Share of the remaining rows of the second class that a stage may lose. A row leaves if its score is at
        most 0 and at most that of this share of the second class.
    l2_regularization : float, default=0.001
        Ridge penalty on the weights of every stage.
    validation_fraction : float, default=0.2
        Share of the rows in the validation set, in whole queries if `qid` is given. It is held out for a
        `budget` or `mean_budget`.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    random_state : int, RandomState or None, default=None
        Random seed of the validation set.
    verbose : int, default=0
        With 1, the steps of the fit are shown.

    Attributes
    ----------
    plan_ : Plan
        A chain. Rows with low scores leave it, with the answer of the stage where they leave.
    cost_ : float
        Cost of a row that passes every stage.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    tradeoff_ : float
        The tradeoff of the model.
    expected_cost_ : float
        Mean cost of the rows of the validation set. It exists only if there is a validation set.
    classes_ : array
        Both classes, in the order of the columns of `predict_proba`.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    With ``s_k`` the score of stage `k`, a row of the second class has the loss ``max_k max(0, 1 - s_k)^2``,
    and a row of the first ``prod_k max(0, 1 + s_k)^2``. The stages minimise the mean loss, plus `tradeoff`
    times the expected cost, plus a ridge penalty. A row reaches stage `k` with probability ``prod_{j < k}
    sigmoid(s_j)``.

    What the paper leaves open:

    - Stages that are not worth their price are left out, the last ones first.
    - The answer of a stage is a logistic regression on all features paid so far, fitted to the rows that come
      to it, as in `SoftCascadeClassifier`. The score of a stage alone does not rank rows.

    References
    ----------
    .. [1] M. M. Dundar, J. Bi, "Joint Optimization of Cascaded Classifiers for Computer Aided Detection",
    CVPR
       2007.
    .. [2] M. Chen, Z. Xu, K. Q. Weinberger, O. Chapelle, D. Kedem, "Classifier Cascade for Minimizing Feature
       Evaluation Cost", AISTATS 2012. It compares with this cascade.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly.learners import AndOrCascadeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 0)
    >>> model = AndOrCascadeClassifier(costs=[1, 20], tradeoff=1e-3, tiers=2).fit(X, y)
    >>> print(f"{model.score(X, y):.2f} {model.run(X).cost.mean():.1f}")
    1.00 4.0
    """

    _row_loss = staticmethod(and_or_loss)
