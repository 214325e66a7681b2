"""A fitted model of another library, read into the parts of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.data.tasks import TASKS, Task
from miserly.errors import DataError
from miserly.plan import links
from miserly.plan.terms import Term
from miserly.utils.checks import shown

__all__ = ["Addend", "AdoptedModel", "Origin"]


@dataclass(frozen=True)
class Origin:
    """Where a model came from.

    Attributes
    ----------
    library : str
        The library that fitted it.
    version : str
        The version of the library or of its file format; empty if the model does not hold it.
    objective : str
        The objective, as the library names it.
    """

    library: str
    version: str = ""
    objective: str = ""


@dataclass(frozen=True)
class Addend:
    """What a node of the plan adds to one score.

    Attributes
    ----------
    term : int
        The number of a term of the model.
    channel : int
        The score that it adds to.
    weight : float
        The factor of the value of the term.
    """

    term: int
    channel: int = 0
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class AdoptedModel:
    """What every reader returns: the terms of a fitted model, and how they become its answers.

    Scores begin with `base`. Each step then adds weighted terms to them, and the link turns them into
    answers. A model of trees has one step for each tree, or for each round if it has several scores.

    Parameters
    ----------
    task : {"classes", "numbers", "ranking"}
        What the answers are.
    terms : sequence of Term
        Trees, columns or kernels.
    steps : sequence of sequence of Addend
        One node of the plan each, in order.
    base : array of (n_scores,)
        The scores before any step.
    n_features : int
        The number of input columns.
    link : str, default="identity"
        How scores become answers; one of `miserly.plan.links.LINKS`.
    classes : array, optional
        The class labels; 0, 1, ... by default.
    feature_names : sequence of str, optional
        The names of the columns.
    categories : mapping of int to sequence, optional
        The categories of categorical columns. The position in the sequence is the code that trees use.
    origin : Origin, optional
        Where the model came from.
    single : bool, default=False
        Whether the library computes in float32.

    Examples
    --------
    >>> from miserly.plan.terms import Raw
    >>> model = AdoptedModel("numbers", [Raw(0)], [[Addend(0, weight=2.0)]], [1.0], n_features=1)
    >>> model.n_scores, model.origin.library
    (1, 'unknown')
    """

    task: Task
    terms: Sequence[Term]
    steps: Sequence[Sequence[Addend]]
    base: NDArray[np.float64]
    n_features: int
    link: str = "identity"
    classes: NDArray[Any] | None = None
    feature_names: Sequence[str] | None = None
    categories: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    origin: Origin = field(default_factory=lambda: Origin("unknown"))
    single: bool = False

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "terms", tuple(self.terms))
        put(self, "steps", tuple(tuple(step) for step in self.steps))
        put(self, "base", np.atleast_1d(np.array(self.base, dtype=np.float64)))
        if self.task not in TASKS or self.link not in links.LINKS:
            raise DataError(f"an adopted model has task {self.task!r} and link {self.link!r}")
        if (self.task == "classes") == links.gives_numbers(self.link):
            raise DataError(f"link {self.link!r} does not suit the task {self.task!r}")
        if self.task == "classes" and self.classes is None:
            put(self, "classes", np.arange(links.n_labels(self.link, self.n_scores)))
        if self.feature_names is not None:
            put(self, "feature_names", tuple(str(name) for name in self.feature_names))
            _check_names(self.feature_names, self.n_features)

    @property
    def n_scores(self) -> int:
        """The number of scores."""
        return len(self.base)

    def named(
        self,
        feature_names: Sequence[str] | None = None,
        classes: ArrayLike | None = None,
        categories: Mapping[Any, Sequence[Any]] | None = None,
    ) -> Self:
        """Return the same model with other feature names, class labels or categories.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names of all columns, in their order.
        classes : array, optional
            Labels of all classes, in their order.
        categories : mapping of column name or number to sequence, optional
            The categories of columns whose codes are 0, 1, ....

        Returns
        -------
        AdoptedModel
        """
        model = self
        if feature_names is not None:
            if isinstance(feature_names, str):
                raise DataError("feature_names must be a list of names, not one text")
            model = replace(model, feature_names=tuple(feature_names))
        if classes is not None:
            if model.classes is None:
                raise DataError(f"classes are given, but the model answers with {model.task}")
            labels = np.asarray(classes)
            if labels.shape != model.classes.shape:
                raise DataError(f"the model has {len(model.classes)} classes; {labels.size} labels are given")
            if len(set(labels.tolist())) < labels.size:
                raise DataError(f"classes must differ, got {shown(labels.tolist())}")
            model = replace(model, classes=labels)
        if categories is not None:
            given = {model.column(key): tuple(values) for key, values in categories.items()}
            model = replace(model, categories={**model.categories, **given})
        return model

    def column(self, key: Any) -> int:
        """The number of a column.

        Parameters
        ----------
        key : str or int
            Its name or number.

        Returns
        -------
        int
        """
        names = self.feature_names
        if isinstance(key, str) and names is not None and key in names:
            return list(names).index(key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < self.n_features:
            return int(key)
        raise DataError(f"the model has no column {key!r}")


def _check_names(names: Sequence[str], n_features: int) -> None:
    if len(names) != n_features:
        raise DataError(f"the model has {n_features} columns; {len(names)} names are given")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"two columns are named {name!r}; give feature_names")
        seen.add(name)
