"""Reader of scikit-learn's models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from miserly.learners.wrap.adopt.model import AdoptedModel
from miserly.learners.wrap.adopt.registry import Reader, register
from miserly.learners.wrap.adopt.scikit.kernel_models import read_svm
from miserly.learners.wrap.adopt.scikit.linear_models import read_linear
from miserly.learners.wrap.adopt.scikit.parts import kinds_of
from miserly.learners.wrap.adopt.scikit.pipelines import read_pipeline, read_search
from miserly.learners.wrap.adopt.scikit.tree_models import (
    read_forest,
    read_gradient_boosting,
    read_hist_gradient_boosting,
    read_single_tree,
)

__all__ = ["ScikitLearnReader"]

_READ: dict[str, Callable[..., AdoptedModel]] = {
    "Pipeline": read_pipeline,
    "BaseSearchCV": read_search,
    "BaseHistGradientBoosting": read_hist_gradient_boosting,
    "BaseGradientBoosting": read_gradient_boosting,
    "ForestClassifier": read_forest,
    "ForestRegressor": read_forest,
    "BaseDecisionTree": read_single_tree,
    "BaseLibSVM": read_svm,
    "LinearModel": read_linear,
    "LinearClassifierMixin": read_linear,
    "BaseSGDRegressor": read_linear,
    "LinearSVC": read_linear,
    "LinearSVR": read_linear,
    "_GeneralizedLinearRegressor": read_linear,
}


@register
class ScikitLearnReader(Reader):
    """Reads scikit-learn's trees, forests, boosted trees, linear models, SVMs, and pipelines of them.

    Models are recognised by the names of their base classes, without an import of scikit-learn.

    Attributes
    ----------
    reads : str
        What it reads.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(max_depth=1).fit([[1.0], [2.0]], ["a", "b"])
    >>> ScikitLearnReader.read(tree).terms[0].threshold[0] > 1.5
    np.True_
    """

    reads: ClassVar[str] = (
        "trees, forests, boosted trees, linear models and SVMs of scikit-learn, and pipelines"
    )

    @staticmethod
    def accepts(source: Any) -> bool:
        """Whether an object is such a model.

        Parameters
        ----------
        source : object
            A model, or a file.

        Returns
        -------
        bool
        """
        return _reading(source) is not None

    @staticmethod
    def read(source: Any, *, iterations: tuple[int, int | None] | None = None) -> AdoptedModel:
        """Read a fitted model.

        Parameters
        ----------
        source : object
            The model.
        iterations : tuple of int, optional
            The rounds of boosting to use, as in ``range(first, stop)``. All by default.

        Returns
        -------
        AdoptedModel
        """
        reading = _reading(source)
        assert reading is not None
        return reading(source, iterations)


def _reading(source: Any) -> Callable[..., AdoptedModel] | None:
    return next((_READ[kind] for kind in kinds_of(source) if kind in _READ), None)
