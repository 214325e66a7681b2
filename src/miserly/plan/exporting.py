"""What a plan can be turned into for other tools: `Exportable`, a part of `Plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["Exportable"]


class Exportable:
    """The exports of a plan."""

    def to_lightgbm(self, X: Any = None) -> str:
        """Write the plan as a LightGBM model, if it is a sum of trees.

        ``lightgbm.Booster(model_str=plan.to_lightgbm(X))`` predicts the same scores, and has SHAP values:
        ``booster.predict(X, pred_contrib=True)``, or `shap.TreeExplainer`. Costs are not in the text: all
        features of a row must be there.

        Parameters
        ----------
        X : array or frame of (n, n_features), optional
            Rows to count in the nodes of the trees, the training rows for example. SHAP values say how much a
            prediction differs from the mean over these rows. By default every leaf counts the same.

        Returns
        -------
        str
            The text of a model file.

        Raises
        ------
        PlanError
            If rows may leave early or take different ways, if a term is no tree, or if the plan has a budget
            that may stop a row.

        Examples
        --------
        >>> import numpy as np
        >>> from miserly import GreedyMiserRegressor
        >>> X = np.arange(200.0).reshape(100, 2)
        >>> plan = GreedyMiserRegressor(n_rounds=3).fit(X, X[:, 0]).plan_
        >>> plan.to_lightgbm(X).splitlines()[:2]
        ['tree', 'version=v4']
        """
        from miserly.plan.store.lightgbm_text import lightgbm_text

        return lightgbm_text(cast("Plan", self), X)
