"""`miserly compress`: a trained kernel machine from a file, made small, and to files again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from miserly.cli.cells import Format
from miserly.cli.console import err, listing, out, percent, warn
from miserly.cli.csv_files import opened
from miserly.cli.problems import Problems
from miserly.cli.tables import numbers_only, read_table
from miserly.costs import Costs
from miserly.data.holdout import validation_mask
from miserly.errors import DataError, did_you_mean
from miserly.learners.kernel.compression import Compressed, CompressionOptions, compress_machine
from miserly.learners.kernel.libsvm_files import label_numbers, read_libsvm, write_libsvm
from miserly.learners.kernel.plans import kernel_plan
from miserly.learners.kernel.svm_models import Affine, fold, machine_of, scaled_machine, svm_of
from miserly.solvers.kernel_machine import KernelMachine
from miserly.utils.files import atomic_path

__all__ = ["FileRows", "Outcome", "Trained", "compress", "outcome_record", "print_outcome", "read_model",
           "read_rows", "save"]  # fmt: skip

Floats = NDArray[np.float64]

TABLES = (".csv", ".parquet")
JUDGING = 0.2  # of the rows only judge what came of it


@dataclass(frozen=True, eq=False)
class FileRows:
    """Rows for a machine, the answers to them where the file has them, and the names of columns."""

    path: Path
    X: Floats
    y: NDArray[Any] | None
    names: tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class Trained:
    """A machine, and the steps of a pipeline that rows pass before they come to it, where there are any."""

    machine: KernelMachine
    before: Any = None
    names: tuple[str, ...] | None = None
    scaler: Affine | None = None  # what the steps do, if they only scale

    def ready(self, X: Floats) -> Floats:
        return X if self.before is None else np.asarray(self.before.transform(X), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Outcome:
    """A machine made small, and how it does on rows that it was not made with."""

    trained: Trained
    compressed: Compressed
    n_judging: int = 0
    agreement: float | None = None
    scores: tuple[str, float, float] | None = None  # a metric, of the full machine, and of the small one

    @property
    def small(self) -> KernelMachine:
        return self.compressed.machine


# -- reading -------------------------------------------------------------------------------------------------


def read_rows(path: Path, target: str | None, form: Format | None = None) -> FileRows:
    """The rows of a table, or of a file in LibSVM's own format, where every row has a label."""
    if path.suffix.lower() not in TABLES and str(path) != "-":
        from miserly.datasets import read_svmlight

        data = read_svmlight(path)
        return FileRows(path, data.X.astype(np.float64), data.y, None)
    problems = Problems()
    with opened(path, form) as source:
        table = read_table(source, problems)
    labels = None if target is None else table[target]
    features = table if target is None else table.without({target})
    X = np.column_stack([numbers_only(features, name, problems) for name in features.columns])
    problems.settle()
    for place, name in enumerate(features.columns):
        missing = np.flatnonzero(np.isnan(X[:, place])).tolist()
        if missing:
            where = f"{features.place(missing[0], name)}: no value; a kernel needs them all"
            problems.add(f"{where}{features.also(missing[1:])}")
    problems.settle()
    return FileRows(path, X, labels, tuple(features.columns))


def read_model(path: Path, rows: FileRows | None) -> tuple[Trained, FileRows | None]:
    """The machine of a scikit-learn model saved with skops, or of a LibSVM model file; and rows to match."""
    if not path.is_file():
        raise DataError(f"{path}: {'this is a folder' if path.is_dir() else 'no such file'}")
    trained = _read_skops(path) if path.suffix.lower() == ".skops" else Trained(read_libsvm(path))
    if rows is None:
        return trained, None
    if trained.names is not None and rows.names is not None:
        return trained, _in_order(rows, trained.names)
    if trained.before is None and path.suffix.lower() != ".skops":
        return _as_wide(trained, rows)
    n_features = trained.machine.n_features if trained.before is None else trained.before.n_features_in_
    if rows.X.shape[1] != n_features:
        raise DataError(f"{rows.path}: {rows.X.shape[1]} columns for a model of {n_features} features")
    return trained, rows


def _read_skops(path: Path) -> Trained:
    """A fitted SVM, or a pipeline that ends in one. Nothing is built that skops does not know to be safe."""
    try:
        import skops.io
    except ImportError:
        raise DataError(f"{path}: reading it needs skops: pip install 'miserly[skops]'") from None
    try:
        strange = skops.io.get_untrusted_types(file=path)
        model = None if strange else skops.io.load(path)
    except Exception as error:  # whatever a broken archive makes of itself
        raise DataError(f"{path}: not a sound skops file ({' '.join(str(error).split())[:100]})") from None
    if strange:
        raise DataError(f"{path}: holds types that skops does not trust: {listing(sorted(strange), 5)}")
    return _trained(model)


def _trained(model: Any) -> Trained:
    """The machine of a model, and what is in front of it."""
    from sklearn.pipeline import Pipeline

    names = getattr(model, "feature_names_in_", None)
    names = None if names is None else tuple(str(name) for name in names)
    if not isinstance(model, Pipeline):
        return Trained(machine_of(model), names=names)
    machine, before = machine_of(model[-1]), model[:-1] if len(model.steps) > 1 else None
    try:
        return Trained(machine, before, names, scaled_machine(model)[1])
    except DataError:
        return Trained(machine, before, names)


def _in_order(rows: FileRows, names: tuple[str, ...]) -> FileRows:
    """The columns that a model knows, in its order."""
    assert rows.names is not None
    for name in names:
        if name not in rows.names:
            near = did_you_mean(name, rows.names)
            raise DataError(f"{rows.path}: no column {name!r}, which the model needs{near}")
    return replace(rows, X=rows.X[:, [rows.names.index(name) for name in names]], names=names)


def _as_wide(trained: Trained, rows: FileRows) -> tuple[Trained, FileRows]:
    """Vectors and rows of one width: LibSVM's files leave out columns of zeros at the end."""
    machine, width = trained.machine, rows.X.shape[1]
    if width < machine.n_features:
        if rows.names is not None:
            raise DataError(f"{rows.path}: {width} columns for a model of {machine.n_features} features")
        return trained, replace(rows, X=_widened(rows.X, machine.n_features))
    wide = replace(machine, vectors=_widened(machine.vectors, width))
    return replace(trained, machine=wide, names=rows.names), rows


def _widened(values: Floats, width: int) -> Floats:
    return np.pad(values, ((0, 0), (0, width - values.shape[1])))


# -- compressing ---------------------------------------------------------------------------------------------


def compress(
    trained: Trained, rows: FileRows | None, n_vectors: int | None, ratio: float, seed: int
) -> Outcome:
    """Make the machine small; a fifth of the rows, if there are any, only judge it."""
    size = n_vectors or max(1, round(ratio * trained.machine.n_vectors))
    recipe = CompressionOptions(seed=seed)
    if rows is not None and rows.y is not None and trained.machine.kind == "regressor":
        rows = replace(rows, y=_as_numbers(rows.y))
    with err.status("compressing") as status:
        if rows is None or len(rows.X) < 10:
            made = compress_machine(trained.machine, size, recipe, watch=status.update)
            return Outcome(trained, made)
        aside = validation_mask(len(rows.X), JUDGING, seed)
        ready = trained.ready(rows.X)
        made = compress_machine(trained.machine, size, recipe, ready[~aside], watch=status.update)
    return _judged(trained, made, ready[aside], None if rows.y is None else rows.y[aside])


def _judged(trained: Trained, made: Compressed, X: Floats, y: NDArray[Any] | None) -> Outcome:
    full, small = trained.machine.labels(X), made.machine.labels(X)
    if trained.machine.kind == "regressor":
        agreement = 1.0 - float(np.mean((full - small) ** 2)) / max(float(np.var(full)), 1e-300)
        scores = None
        if y is not None:
            scores = ("mse", float(np.mean((full - y) ** 2)), float(np.mean((small - y) ** 2)))
        return Outcome(trained, made, len(X), agreement, scores)
    agreement = float(np.mean(full == small))
    if y is None or trained.machine.kind != "classifier":
        return Outcome(trained, made, len(X), agreement)
    right = [float(np.mean([_same(a, b) for a, b in zip(said, y, strict=True)])) for said in (full, small)]
    return Outcome(trained, made, len(X), agreement, ("accuracy", right[0], right[1]))


def _as_numbers(y: NDArray[Any]) -> Floats:
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"the model answers with numbers, and the target holds {y.tolist()[0]!r}") from None


def _same(said: Any, truth: Any) -> bool:
    """Whether a class is the one in the file, where numbers may have come as 1 or 1.0."""
    try:
        return float(said) == float(truth)
    except (TypeError, ValueError):
        return str(said) == str(truth)


# -- writing -------------------------------------------------------------------------------------------------


def save(outcome: Outcome, path: Path) -> str:
    """Write the small machine in the form that the file's ending asks for; gives what it is, in words."""
    kind = path.suffix.lower()
    if kind == ".skops":
        return _save_skops(outcome, path)
    if kind == ".miser":
        return _save_plan(outcome, path)
    scaler = outcome.trained.scaler
    folded = outcome.small if scaler is None else fold(outcome.small, scaler)
    n_written = write_libsvm(outcome.small if folded is None else folded, path)
    if outcome.trained.before is not None and (scaler is None or folded is None):
        warn(f"{path}: rows must be scaled before LibSVM sees them, as the model's pipeline scales them")
    _warn_of_labels(outcome.small, path)
    if n_written > outcome.small.n_vectors:
        return f"LibSVM model, {n_written} lines: a vector stands once for every class it needs"
    return "LibSVM model"


def _save_skops(outcome: Outcome, path: Path) -> str:
    try:
        import skops.io
    except ImportError:
        raise DataError(f"{path}: writing it needs skops: pip install 'miserly[skops]'") from None
    from sklearn.pipeline import Pipeline

    model = svm_of(outcome.small)
    if outcome.trained.before is not None:
        model = Pipeline([*outcome.trained.before.steps, ("svm", model)])
    elif outcome.trained.names is not None:
        model.feature_names_in_ = np.array(outcome.trained.names, dtype=object)
    with atomic_path(path) as draft:
        skops.io.dump(model, draft)
    return f"scikit-learn {type(model).__name__}"


def _save_plan(outcome: Outcome, path: Path) -> str:
    """A plan that costs one for each kernel."""
    trained, small = outcome.trained, outcome.small
    if trained.before is not None and trained.scaler is None:
        raise DataError(f"{path}: a plan has no place for the steps in front of this kernel; save a .skops")
    names = trained.names or tuple(str(place) for place in range(small.n_features))
    costs = Costs(dict.fromkeys(names, 0.0), evaluation=1.0, unit="kernels")
    info = {"learner": "compress", "vectors": small.n_vectors}
    fill = np.zeros(small.n_features) if trained.scaler is None else trained.scaler.center
    classes = None if small.classes is None else np.array(small.classes.tolist())
    plan = kernel_plan(small, outcome.compressed.stages, costs, fill, info, classes, trained.scaler)
    plan.save(path)
    return "plan"


def _warn_of_labels(machine: KernelMachine, path: Path) -> None:
    if machine.classes is None:
        return
    pairs = list(zip(label_numbers(machine.classes), machine.classes.tolist(), strict=True))
    if any(str(number) != str(label) for number, label in pairs) and machine.classes.dtype.kind not in "iuf":
        said = listing([f"{number} is {label!r}" for number, label in pairs], 6)
        warn(f"{path}: LibSVM's labels are numbers: {said}")


# -- saying --------------------------------------------------------------------------------------------------


def outcome_record(outcome: Outcome, saved: Sequence[Path]) -> dict[str, Any]:
    """What came of it, for machines."""
    record: dict[str, Any] = {
        "vectors_before": outcome.trained.machine.n_vectors,
        "vectors": outcome.small.n_vectors,
        "kernel": outcome.small.kernel.name,
        "rows_judging": outcome.n_judging,
        "agreement": outcome.agreement,
        "saved": [str(path) for path in saved],
    }
    if outcome.scores is not None:
        name, full, small = outcome.scores
        record |= {f"{name}_before": full, name: small}
    return record


def print_outcome(outcome: Outcome, saved: Sequence[tuple[Path, str]]) -> None:
    """What came of it, for a person."""
    before, after = outcome.trained.machine.n_vectors, outcome.small.n_vectors
    kernel = outcome.small.kernel.name
    out.print(f"{before:,} support vectors made {after:,} ({percent(after / before)}), {kernel} kernel")
    if outcome.agreement is not None:
        words = f"on {outcome.n_judging:,} rows set aside: "
        if outcome.small.kind == "regressor":
            words += f"{percent(outcome.agreement)} of the variance of the full model's answers kept"
        else:
            words += f"the answer of the full model for {percent(outcome.agreement)}"
        if outcome.scores is not None:
            name, full, small = outcome.scores
            words += f"; {name} {small:.4g}, full model {full:.4g}"
        out.print(words, soft_wrap=True)
    for path, kind in saved:
        out.print(Text(f"saved to {path} ({kind})"), soft_wrap=True)
