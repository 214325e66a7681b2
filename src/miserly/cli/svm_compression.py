"""`miserly compress`: read a trained SVM from a file, compress it, and write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from miserly.cli.cells import Format
from miserly.cli.console import Problems, err, listing, out, percent, warn
from miserly.cli.table_files import opened
from miserly.cli.tables import numbers_only, read_table
from miserly.costs import Costs
from miserly.data.rows import validation_mask
from miserly.errors import DataError, did_you_mean
from miserly.learners.kernel.compression import Compressed, CompressionOptions, compress_machine
from miserly.learners.kernel.libsvm_files import label_numbers, read_libsvm, write_libsvm
from miserly.learners.kernel.svm_models import Affine, fold, kernel_plan, machine_of, scaled_machine, svm_of
from miserly.solvers.kernel_machine import KernelMachine
from miserly.utils.files import atomic_path

__all__ = ["CompressionOutcome", "FileRows", "TrainedSvm", "compress", "outcome_record", "print_outcome",
           "read_model", "read_rows", "save"]  # fmt: skip

Floats = NDArray[np.float64]

TABLES = (".csv", ".parquet")
TEST_SHARE = 0.2  # of the rows, which only evaluate the result


@dataclass(frozen=True, eq=False)
class FileRows:
    """The rows of a file, their labels if there are any, and the names of columns."""

    path: Path
    X: Floats
    y: NDArray[Any] | None
    names: tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class TrainedSvm:
    """A kernel machine, and the steps of the pipeline before it, if there are any."""

    machine: KernelMachine
    before: Any = None
    names: tuple[str, ...] | None = None
    scaler: Affine | None = None  # the steps as one scaler, if they only scale

    def ready(self, X: Floats) -> Floats:
        return X if self.before is None else np.asarray(self.before.transform(X), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class CompressionOutcome:
    """A compressed machine, and its agreement and scores on the test set."""

    trained: TrainedSvm
    compressed: Compressed
    n_test: int = 0
    agreement: float | None = None
    scores: tuple[str, float, float] | None = (
        None  # a metric, its value for the full machine and for the small one
    )

    @property
    def small(self) -> KernelMachine:
        return self.compressed.machine


# -- reading -------------------------------------------------------------------------------------------------


def read_rows(path: Path, target: str | None, form: Format | None = None) -> FileRows:
    """The rows of a table, or of a file in LibSVM's format, where every row has a label."""
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
            where = f"{features.place(missing[0], name)}: the value is missing; a kernel needs every value"
            problems.add(f"{where}{features.also(missing[1:])}")
    problems.settle()
    return FileRows(path, X, labels, tuple(features.columns))


def read_model(path: Path, rows: FileRows | None) -> tuple[TrainedSvm, FileRows | None]:
    """The machine of a skops file or a LibSVM model file, and the rows in the order of its features."""
    if not path.is_file():
        raise DataError(f"{path}: {'this is a folder' if path.is_dir() else 'no such file'}")
    trained = _read_skops(path) if path.suffix.lower() == ".skops" else TrainedSvm(read_libsvm(path))
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


def _read_skops(path: Path) -> TrainedSvm:
    """A fitted SVM, or a pipeline that ends in one. Types that skops does not trust are refused."""
    try:
        import skops.io
    except ImportError:
        raise DataError(f"{path}: reading it needs skops: pip install 'miserly[skops]'") from None
    try:
        strange = skops.io.get_untrusted_types(file=path)
        model = None if strange else skops.io.load(path)
    except Exception as error:  # a broken archive may raise anything
        raise DataError(f"{path}: not a sound skops file ({' '.join(str(error).split())[:100]})") from None
    if strange:
        raise DataError(f"{path}: holds types that skops does not trust: {listing(sorted(strange), 5)}")
    return _trained(model)


def _trained(model: Any) -> TrainedSvm:
    """The machine of a model, and the steps before it."""
    from sklearn.pipeline import Pipeline

    names = getattr(model, "feature_names_in_", None)
    names = None if names is None else tuple(str(name) for name in names)
    if not isinstance(model, Pipeline):
        return TrainedSvm(machine_of(model), names=names)
    machine, before = machine_of(model[-1]), model[:-1] if len(model.steps) > 1 else None
    try:
        return TrainedSvm(machine, before, names, scaled_machine(model)[1])
    except DataError:
        return TrainedSvm(machine, before, names)


def _in_order(rows: FileRows, names: tuple[str, ...]) -> FileRows:
    """The columns of a model, in its order."""
    assert rows.names is not None
    for name in names:
        if name not in rows.names:
            near = did_you_mean(name, rows.names)
            raise DataError(f"{rows.path}: no column {name!r}, which the model needs{near}")
    return replace(rows, X=rows.X[:, [rows.names.index(name) for name in names]], names=names)


def _as_wide(trained: TrainedSvm, rows: FileRows) -> tuple[TrainedSvm, FileRows]:
    """Vectors and rows of the same width: LibSVM's files omit columns of zeros at the end."""
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
    trained: TrainedSvm, rows: FileRows | None, n_vectors: int | None, ratio: float, seed: int
) -> CompressionOutcome:
    """Compress the machine. A fifth of the rows, if there are any, is the test set."""
    size = n_vectors or max(1, round(ratio * trained.machine.n_vectors))
    options = CompressionOptions(seed=seed)
    if rows is not None and rows.y is not None and trained.machine.kind == "regressor":
        rows = replace(rows, y=_as_numbers(rows.y))
    with err.status("compressing") as status:
        if rows is None or len(rows.X) < 10:
            made = compress_machine(trained.machine, size, options, watch=status.update)
            return CompressionOutcome(trained, made)
        is_test = validation_mask(len(rows.X), TEST_SHARE, seed)
        ready = trained.ready(rows.X)
        made = compress_machine(trained.machine, size, options, ready[~is_test], watch=status.update)
    return _evaluated(trained, made, ready[is_test], None if rows.y is None else rows.y[is_test])


def _evaluated(
    trained: TrainedSvm, made: Compressed, X: Floats, y: NDArray[Any] | None
) -> CompressionOutcome:
    full, small = trained.machine.labels(X), made.machine.labels(X)
    if trained.machine.kind == "regressor":
        agreement = 1.0 - float(np.mean((full - small) ** 2)) / max(float(np.var(full)), 1e-300)
        scores = None
        if y is not None:
            scores = ("mse", float(np.mean((full - y) ** 2)), float(np.mean((small - y) ** 2)))
        return CompressionOutcome(trained, made, len(X), agreement, scores)
    agreement = float(np.mean(full == small))
    if y is None or trained.machine.kind != "classifier":
        return CompressionOutcome(trained, made, len(X), agreement)
    right = [float(np.mean([_same(a, b) for a, b in zip(given, y, strict=True)])) for given in (full, small)]
    return CompressionOutcome(trained, made, len(X), agreement, ("accuracy", right[0], right[1]))


def _as_numbers(y: NDArray[Any]) -> Floats:
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"the model predicts numbers, and the target holds {y.tolist()[0]!r}") from None


def _same(label: Any, truth: Any) -> bool:
    """Whether two labels are the same; numbers may be written as 1 or 1.0."""
    try:
        return float(label) == float(truth)
    except (TypeError, ValueError):
        return str(label) == str(truth)


# -- writing -------------------------------------------------------------------------------------------------


def save(outcome: CompressionOutcome, path: Path) -> str:
    """Write the compressed machine in the format of the file's ending. Returns a description of it."""
    kind = path.suffix.lower()
    if kind == ".skops":
        return _save_skops(outcome, path)
    if kind == ".miser":
        return _save_plan(outcome, path)
    scaler = outcome.trained.scaler
    folded = outcome.small if scaler is None else fold(outcome.small, scaler)
    n_written = write_libsvm(outcome.small if folded is None else folded, path)
    if outcome.trained.before is not None and (scaler is None or folded is None):
        warn(f"{path}: scale rows as the model's pipeline does before you give them to LibSVM")
    _warn_of_labels(outcome.small, path)
    if n_written > outcome.small.n_vectors:
        return f"LibSVM model, {n_written} lines: a vector is repeated for every class that needs it"
    return "LibSVM model"


def _save_skops(outcome: CompressionOutcome, path: Path) -> str:
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


def _save_plan(outcome: CompressionOutcome, path: Path) -> str:
    """A plan in which each kernel evaluation costs one."""
    trained, small = outcome.trained, outcome.small
    if trained.before is not None and trained.scaler is None:
        raise DataError(f"{path}: a plan cannot hold the steps before this kernel; save a .skops file")
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
        names = listing([f"{number} is {label!r}" for number, label in pairs], 6)
        warn(f"{path}: LibSVM's labels are numbers: {names}")


# -- output --------------------------------------------------------------------------------------------------


def outcome_record(outcome: CompressionOutcome, saved: Sequence[Path]) -> dict[str, Any]:
    """The result as JSON."""
    record: dict[str, Any] = {
        "vectors_before": outcome.trained.machine.n_vectors,
        "vectors": outcome.small.n_vectors,
        "kernel": outcome.small.kernel.name,
        "rows_test": outcome.n_test,
        "agreement": outcome.agreement,
        "saved": [str(path) for path in saved],
    }
    if outcome.scores is not None:
        name, full, small = outcome.scores
        record |= {f"{name}_before": full, name: small}
    return record


def print_outcome(outcome: CompressionOutcome, saved: Sequence[tuple[Path, str]]) -> None:
    """The result as text."""
    before, after = outcome.trained.machine.n_vectors, outcome.small.n_vectors
    kernel = outcome.small.kernel.name
    out.print(f"{before:,} support vectors reduced to {after:,} ({percent(after / before)}), {kernel} kernel")
    if outcome.agreement is not None:
        words = f"on a test set of {outcome.n_test:,} rows: "
        if outcome.small.kind == "regressor":
            words += f"{percent(outcome.agreement)} of the variance of the full model's predictions kept"
        else:
            words += f"the prediction of the full model for {percent(outcome.agreement)}"
        if outcome.scores is not None:
            name, full, small = outcome.scores
            words += f"; {name} {small:.4g}, full model {full:.4g}"
        out.print(words, soft_wrap=True)
    for path, kind in saved:
        out.print(Text(f"saved to {path} ({kind})"), soft_wrap=True)
