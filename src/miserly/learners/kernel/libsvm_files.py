"""LibSVM model files, which `svm-predict` and many other programs read.

In such a file every support vector belongs to one class, and a decision between two classes uses only the
vectors of these two. A `KernelMachine` may use any vector in any decision. A vector that several pairs of
classes share is therefore written several times: once for each of a set of classes that reaches all its
pairs. Reading merges equal vectors, so the machine read is the machine written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.learners.common.svm_reading import pairwise_coefficients
from miserly.solvers.kernel_machine import KernelFunction, KernelMachine, pairs_of
from miserly.utils.files import atomic_write

__all__ = ["label_numbers", "pairwise_coefficients", "read_libsvm", "sections", "write_libsvm"]

Floats = NDArray[np.float64]

SVM_TYPES = {
    "c_svc": "classifier",
    "nu_svc": "classifier",
    "epsilon_svr": "regressor",
    "nu_svr": "regressor",
    "one_class": "one-class",
}
WRITTEN = {"classifier": "c_svc", "regressor": "epsilon_svr", "one-class": "one_class"}
KERNEL_TYPES = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid"}
PARAMETERS = {"poly": ("degree", "gamma", "coef0"), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}
IGNORED = {"probA", "probB", "prob_density_marks"}  # of probabilities, which votes do not need
MAX_VALUES = 1 << 31  # of a dense matrix of vectors: 16 GB


# -- writing -----------------------------------------------------------------------------------------------


def write_libsvm(machine: KernelMachine, path: str | Path) -> int:
    """Write a machine as a LibSVM model file.

    LibSVM's labels are integers. Other classes are written as 0, 1, 2, ... in the order of `machine.classes`.

    Parameters
    ----------
    machine : KernelMachine
        The machine to write.
    path : str or Path
        The file.

    Returns
    -------
    int
        Number of support vectors written.
    """
    weights, owned = sections(machine)
    used = [rows for rows in owned if len(rows)] or [np.zeros(0, dtype=np.int64)]
    with atomic_write(path, "w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{line}\n" for line in _header(machine, [len(rows) for rows in owned]))
        for coef, row in zip(weights, np.concatenate(used), strict=True):
            file.write(_vector_line(coef, machine.vectors[row]))
    return len(weights)


def label_numbers(classes: NDArray[Any]) -> list[int]:
    """The integers that LibSVM uses for classes: the classes themselves if they are integers, else 0, 1, ...

    >>> label_numbers(np.array([-1.0, 1.0])), label_numbers(np.array(["cat", "dog"]))
    ([-1, 1], [0, 1])
    """
    if classes.dtype.kind in "iu" or (classes.dtype.kind == "f" and (classes == np.rint(classes)).all()):
        return [int(label) for label in classes]
    return list(range(len(classes)))


def _header(machine: KernelMachine, sizes: list[int]) -> Iterator[str]:
    kernel = machine.kernel
    yield f"svm_type {WRITTEN[machine.kind]}"
    yield f"kernel_type {next(theirs for theirs, ours in KERNEL_TYPES.items() if ours == kernel.name)}"
    for name in PARAMETERS.get(kernel.name, ()):
        yield f"{name} {int(kernel.degree) if name == 'degree' else float(getattr(kernel, name))!r}"
    yield f"nr_class {len(sizes) if machine.kind == 'classifier' else 2}"
    yield f"total_sv {sum(sizes)}"
    yield f"rho {_numbers(-machine.intercept)}"
    if machine.classes is not None:
        yield f"label {' '.join(map(str, label_numbers(machine.classes)))}"
        yield f"nr_sv {' '.join(map(str, sizes))}"
    yield "SV"


def _numbers(values: Floats) -> str:
    return " ".join(map(repr, values.tolist()))


def _vector_line(coef: Floats, vector: Floats) -> str:
    cells = [repr(value) for value in coef.tolist()]
    cells += [f"{place + 1}:{vector[place].item()!r}" for place in np.flatnonzero(vector)]
    return " ".join(cells) + " \n"


def sections(machine: KernelMachine) -> tuple[Floats, list[NDArray[np.int64]]]:
    """Coefficients as LibSVM lists them, (vectors written, C - 1), and the vectors of each class."""
    if machine.kind != "classifier":
        return machine.coef.T, [np.arange(machine.n_vectors)]
    assert machine.classes is not None
    n_classes = len(machine.classes)
    pairs = np.array(pairs_of(n_classes))
    copies: list[list[tuple[int, Floats]]] = [[] for _ in range(n_classes)]
    for vector, coef in enumerate(machine.coef.T):
        for owner, row in _copies(coef, pairs, n_classes):
            copies[owner].append((vector, row))
    weights = [row for owned in copies for _, row in owned]
    rows = [np.array([vector for vector, _ in owned], dtype=np.int64) for owned in copies]
    return np.array(weights).reshape(-1, n_classes - 1), rows


def _copies(coef: Floats, pairs: NDArray[Any], n_classes: int) -> Iterator[tuple[int, Floats]]:
    """Classes that together reach every pair that uses a vector, each with its row of coefficients.

    The class in most of the pairs comes first. Between two, it is the class that the vector votes for.
    """
    left = coef != 0.0
    while left.any():
        reach = np.bincount(pairs[left].ravel(), minlength=n_classes)
        own = np.where(coef[left] > 0, pairs[left, 0], pairs[left, 1])
        votes_for = np.bincount(own, minlength=n_classes)
        owner = int(np.lexsort((votes_for, reach))[-1])
        mine = left & (pairs == owner).any(axis=1)
        other = pairs[mine].sum(axis=1) - owner
        row = np.zeros(n_classes - 1)
        row[other - (other > owner)] = coef[mine]
        left &= ~mine
        yield owner, row


# -- reading -----------------------------------------------------------------------------------------------


@dataclass
class _Header:
    """The lines above the vectors."""

    path: Path
    entries: dict[str, tuple[int, list[str]]] = field(default_factory=dict)  # keyword: line number, values
    end: int = 0  # number of the line "SV"

    def error(self, line: int, what: str) -> DataError:
        return DataError(f"{self.path}, line {line}: {what}")

    def values(self, name: str, count: int, kind: type[Any]) -> list[Any]:
        """The `count` values after a keyword."""
        if name not in self.entries:
            raise DataError(f"{self.path}: no line {name!r} above the support vectors")
        line, texts = self.entries[name]
        if len(texts) != count:
            raise self.error(line, f"{name!r} needs {count} values, not {len(texts)}")
        try:
            values = [kind(text) for text in texts]
        except ValueError:
            raise self.error(line, f"{name!r} needs numbers, not {' '.join(texts)[:40]!r}") from None
        if kind is float and not np.isfinite(values).all():
            raise self.error(line, f"{name!r} needs finite numbers, not {' '.join(texts)[:40]!r}")
        return values

    def choice(self, name: str, known: dict[str, str]) -> str:
        text = self.values(name, 1, str)[0]
        if text not in known:
            line, _ = self.entries[name]
            raise self.error(line, f"{name} {text!r} is not one of {', '.join(known)}")
        return known[text]

    def count(self, name: str, least: int) -> int:
        value = int(self.values(name, 1, int)[0])
        if value < least:
            raise self.error(self.entries[name][0], f"{name!r} must be at least {least}, not {value}")
        return value


def read_libsvm(path: str | Path, n_features: int | None = None) -> KernelMachine:
    """Read the machine of a LibSVM model file.

    Parameters
    ----------
    path : str or Path
        The file.
    n_features : int, optional
        Number of features, which the file does not state. By default the largest column of its vectors.

    Returns
    -------
    KernelMachine
        The machine.

    Raises
    ------
    DataError
        If the file is not a LibSVM model. The message names the line.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8") as file:
            header = _read_header(path, file)
            return _read_machine(header, file, n_features)
    except UnicodeDecodeError:
        raise DataError(f"{path}: not a LibSVM model, which is a text file") from None


KEYWORDS = {
    *("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho", "label", "nr_sv"),
    *IGNORED,
}


def _read_header(path: Path, file: TextIO) -> _Header:
    header = _Header(path)
    for number, line in enumerate(file, 1):
        name, *values = line.split() or [""]
        if name == "SV":
            header.end = number
            return header
        if name not in KEYWORDS:
            first = "" if number > 1 else "; a LibSVM model begins with svm_type"
            raise header.error(number, f"{name[:40]!r} is not a keyword of LibSVM models{first}")
        header.entries[name] = (number, values)
    raise DataError(f"{path}: the file ends before its support vectors (no line 'SV')")


def _read_machine(header: _Header, file: TextIO, n_features: int | None) -> KernelMachine:
    kind = header.choice("svm_type", SVM_TYPES)
    kernel = _read_kernel(header)
    n_classes = header.count("nr_class", 2)
    n_decisions = n_classes * (n_classes - 1) // 2 if kind == "classifier" else 1
    intercept = -np.array(header.values("rho", n_decisions, float))
    n_vectors = header.count("total_sv", 0)
    width = n_classes - 1 if kind == "classifier" else 1
    weights, cells = _read_vectors(header, file, n_vectors, width)
    vectors = _dense(header, cells, n_features)
    classes, coef = None, weights.T
    if kind == "classifier":
        classes = np.array(header.values("label", n_classes, int))
        sizes = header.values("nr_sv", n_classes, int)
        if sum(sizes) != n_vectors or min(sizes) < 0:
            line, _ = header.entries["nr_sv"]
            raise header.error(line, f"'nr_sv' must add up to the {n_vectors} vectors of 'total_sv'")
        coef = pairwise_coefficients(weights, np.repeat(np.arange(n_classes), sizes), n_classes)
    vectors, coef = _merged(vectors, coef)
    return KernelMachine(kernel, vectors, coef, intercept, kind, classes)


def _read_kernel(header: _Header) -> KernelFunction:
    name = header.choice("kernel_type", KERNEL_TYPES)
    given: dict[str, Any] = {}
    for parameter in PARAMETERS.get(name, ()):
        given[parameter] = header.values(parameter, 1, int if parameter == "degree" else float)[0]
    return KernelFunction(name, **given)


Cells = tuple[NDArray[np.int64], Floats]  # the columns (from 0) that a vector has, and their values


def _read_vectors(header: _Header, file: TextIO, n_vectors: int, width: int) -> tuple[Floats, list[Cells]]:
    """Coefficients (n_vectors, width), and the cells of each vector."""
    weights: list[Floats] = []
    cells: list[Cells] = []
    for number, line in enumerate(file, header.end + 1):
        cells_of_line = line.split()
        if not cells_of_line:
            continue
        if len(cells) == n_vectors:
            raise header.error(number, f"more support vectors than the {n_vectors} of 'total_sv'")
        try:
            weights.append(_finite(cells_of_line[:width], width))
            cells.append(_read_cells(cells_of_line[width:]))
        except ValueError:
            coef = "a coefficient" if width == 1 else f"{width} coefficients"
            what = f"a support vector needs {coef}, then column:value pairs with increasing columns from 1"
            raise header.error(number, what) from None
    if len(cells) < n_vectors:
        raise DataError(f"{header.path}: the file ends after {len(cells)} of its {n_vectors} support vectors")
    return np.array(weights).reshape(-1, width), cells


def _finite(texts: list[str], count: int) -> Floats:
    values = np.array(texts, dtype=np.float64)
    if len(values) != count or not np.isfinite(values).all():
        raise ValueError(f"expected {count} finite numbers")
    return values


def _read_cells(texts: list[str]) -> Cells:
    listed = _finite(" ".join(texts).replace(":", " ").split(), 2 * len(texts))
    columns = listed[::2].astype(np.int64) - 1
    if (columns + 1 != listed[::2]).any() or (np.diff(columns, prepend=-1) <= 0).any():
        raise ValueError("columns must be increasing integers from 1")
    return columns, listed[1::2]


def _dense(header: _Header, cells: list[Cells], n_features: int | None) -> Floats:
    reach = max((int(columns[-1]) + 1 for columns, _ in cells if len(columns)), default=1)
    if n_features is not None and reach > n_features:
        raise DataError(f"{header.path}: the model reads {reach} features, but the data has {n_features}")
    width = n_features or reach
    if len(cells) * width > MAX_VALUES:
        raise DataError(f"{header.path}: {len(cells)} vectors of {width} features do not fit in memory")
    vectors = np.zeros((len(cells), width))
    for row, (columns, values) in zip(vectors, cells, strict=True):
        row[columns] = values
    return vectors


def _merged(vectors: Floats, coef: Floats) -> tuple[Floats, Floats]:
    """Equal vectors merged, in the order of their first occurrence."""
    place: dict[bytes, int] = {}
    where = np.array([place.setdefault(row.tobytes(), len(place)) for row in vectors + 0.0], dtype=np.int64)
    if len(place) == len(vectors):
        return vectors, coef
    first = np.unique(where, return_index=True)[1]
    merged = np.zeros((len(coef), len(place)))
    np.add.at(merged.T, where, coef.T)
    return vectors[first], merged
