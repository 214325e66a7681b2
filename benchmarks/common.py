"""What the benchmarks share: data with prices in three parts, metrics of a split, tables and pictures."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config

from miserly import Costs
from miserly.datasets import Dataset, load, tiered_costs
from miserly.metrics import get_metric

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, eq=False)
class Problem:
    """One data set with prices, divided into training, validation and test rows."""

    name: str
    costs: Costs
    train: Dataset
    validation: Dataset
    test: Dataset

    @property
    def ranks(self) -> bool:
        return self.train.qid is not None

    @property
    def metric(self) -> str:
        return "ndcg@5" if self.ranks else "accuracy"

    @property
    def n_classes(self) -> int:
        return 0 if self.ranks else len(np.unique(self.train.y))


def problem(name: str, seed: int, evaluation: float = 0.0) -> Problem:
    """A set by name; `seed` draws the prices (where there are none) and the split (where none is published).

    The test part is the published one if there is one; then a quarter of the rest is for validation, so that
    the parts are as 60 to 20 to 20 where nothing is published. Queries stay whole. For MQ2008 the seed
    picks one of the five published foldings.
    """
    data = load(name)
    costs = data.costs or tiered_costs(data.feature_names, random_state=seed)
    costs = Costs.from_dict(costs.to_dict() | {"evaluation": evaluation})
    if "fold" in data.extra:
        place = (data.extra["fold"].astype(int) - 1 - seed) % 5  # 0, 1, 2 train, 3 validation, 4 test
        parts = [data.take(np.isin(place, wanted)) for wanted in ([0, 1, 2], [3], [4])]
        return Problem(name, costs, *parts)
    rest, test = data.train_test(random_state=seed, test_size=0.2)
    return Problem(name, costs, *divide(rest, seed), test)


def divide(data: Dataset, seed: int, share: float = 0.25) -> tuple[Dataset, Dataset]:
    """Two parts at random, whatever is published."""
    first, second = replace(data, split=None).train_test(random_state=seed, test_size=share)
    return first, second


def quality(part: Dataset, metric: str, scores: np.ndarray) -> float:
    """The metric of scores (n, K) before the link, on one part of a problem."""
    if metric == "accuracy":
        label = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return float(np.mean(label == part.y))
    return float(get_metric(metric)(part.y, scores[:, 0], qid=part.qid))


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table in Markdown; numbers with four digits after the point."""
    words = [[f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    lines = [list(head), ["---"] * len(head), *words]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def folder(quick: bool) -> Path:
    """Where pages go: docs/benchmarks, or out/benchmarks if they come from a quick run."""
    found = ROOT / ("out" if quick else "docs") / "benchmarks"
    found.mkdir(parents=True, exist_ok=True)
    return found


def write(name: str, text: str, figures: Any, quick: bool, show: bool = True) -> None:
    """Keep a page of Markdown and its figures as JSON, and print the page."""
    (folder(quick) / f"{name}.md").write_text(text, encoding="utf-8")
    (folder(quick) / f"{name}.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    if show:
        print(text)


def written(name: str, quick: bool) -> Any:
    """The figures of earlier runs of a benchmark; None if there are none."""
    place = folder(quick) / f"{name}.json"
    return json.loads(place.read_text(encoding="utf-8")) if place.exists() else None


def in_parallel(task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[Any]:
    """Results of `task` in the order in which they are ready, with one thread for each of `jobs` processes.

    A task that fails is printed with its arguments, and the others go on; an error is raised at the end.
    """
    failed = []
    with parallel_config(backend="loky", inner_max_num_threads=1):
        every = Parallel(jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="all")
        for given, result, error in every(delayed(_attempt)(task, one) for one in arguments):
            if error:
                print(given, error, flush=True)
                failed.append(given)
            else:
                yield result
    if failed:
        raise RuntimeError(f"{len(failed)} tasks failed: {failed}")


def _attempt(task: Callable[..., Any], given: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, str]:
    try:
        return given, task(*given), ""
    except Exception:
        return given, None, traceback.format_exc()


def axes(n: int, columns: int = 3) -> tuple[Any, list[Any]]:
    """A figure with `n` small pictures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = min(n, columns)
    lines = -(-n // columns)
    figure, grid = plt.subplots(lines, columns, figsize=(4.2 * columns, 3.3 * lines), squeeze=False)
    flat = list(grid.ravel())
    for spare in flat[n:]:
        spare.set_axis_off()
    return figure, flat[:n]


def save_picture(figure: Any, name: str, quick: bool) -> None:
    figure.tight_layout()
    figure.savefig(folder(quick) / f"{name}.png", dpi=90)
