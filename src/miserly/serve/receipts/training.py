"""Training tables from receipts: bought values, their outcomes, and true labels."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.plan import Plan
from miserly.runtime.receipt import DELIVERED
from miserly.serve.receipts.lines import session_mark
from miserly.serve.receipts.reading import Kept, Selection, opened, receipts_in_order
from miserly.utils.files import atomic_write

__all__ = ["ReceiptTable", "read_labels", "training_table"]

KNOWN = "known"
_MARKS = {"null": "null", "nan": "NaN"}  # cells in CSV; other outcomes without a value are NA
_COLUMNS = ("id", "at", "model", "digest", "answer", "cost", "stopped_by", "known")


@dataclass(frozen=True)
class ReceiptTable:
    """Receipts as rows, features as columns.

    Attributes
    ----------
    features : tuple of str
        The columns.
    values : array of object, (n_rows, n_features)
        The values that were bought or known; None if there is no value.
    outcomes : array of str, (n_rows, n_features)
        The outcome of each cell: ``"value"``, ``"null"`` (bought, but there is no value), ``"known"`` (free),
        ``"failed"`` and the other outcomes of a purchase, or ``""`` (never ordered).
    receipts : list of dict
        ``id``, ``at``, ``model``, ``digest``, ``answer``, ``cost``, ``stopped_by`` and ``known`` of each row.
    labels : array of object, or None
        The given labels. Rows without a label are left out.
    without_values : int
        Number of receipts that were left out because they were stored without values.
    without_label : int
        Number of receipts that were left out because they have no label.
    unused_labels : int
        Number of labels that belong to no receipt.
    """

    features: tuple[str, ...]
    values: NDArray[Any]
    outcomes: NDArray[Any]
    receipts: list[dict[str, Any]]
    labels: NDArray[Any] | None
    without_values: int
    without_label: int
    unused_labels: int

    @property
    def bought(self) -> NDArray[np.bool_]:
        """Which cells were bought, including those that turned out to have no value."""
        return np.isin(self.outcomes, DELIVERED)

    def __len__(self) -> int:
        return len(self.receipts)

    def frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return the values as a frame, for `fit`. Cells without a value are missing.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default="pandas"
            The library of the frame.

        Returns
        -------
        frame
        """
        import narwhals as nw

        columns = {name: _column(self.values[:, j]) for j, name in enumerate(self.features)}
        return nw.from_dict(columns, backend=backend).to_native()

    def write_csv(self, path: str | os.PathLike[str], label: str = "label") -> None:
        """Write the table to a CSV file, one line per receipt.

        A cell is empty if the feature was never ordered, ``null`` if it was bought but has no value, ``NaN``
        if the source returned NaN, and ``NA`` if it was ordered but not delivered. `miserly fit` reads
        all four as missing. The columns about the receipt begin with ``receipt.``.

        Parameters
        ----------
        path : str or Path
            The file.
        label : str, default="label"
            The name of the column with the labels.
        """
        if label in self.features and self.labels is not None:
            raise DataError(f"the column of labels is named {label!r}, as a feature is; name it otherwise")
        names = [f"receipt.{name}" for name in _COLUMNS]
        with atomic_write(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*names, *self.features, *([] if self.labels is None else [label])])
            for i, receipt in enumerate(self.receipts):
                pairs = zip(self.values[i], self.outcomes[i], strict=True)
                last = [] if self.labels is None else [self.labels[i]]
                writer.writerow([*_about(receipt), *(_cell(*pair) for pair in pairs), *last])


def training_table(
    url: str | os.PathLike[str],
    *,
    model: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    labels: Mapping[str, Any] | None = None,
    plan: Plan | None = None,
) -> ReceiptTable:
    """Read receipts as a training table.

    The receipts must hold values. If a session ended several times, only its last receipt counts.

    Parameters
    ----------
    url : str or Path
        The database, as for `ReceiptKeeper`.
    model : str, optional
        The name of the model; by default all.
    since, until : datetime, optional
        The time range: `since` is included, `until` is not. Both need a time zone.
    labels : mapping, optional
        The true label by the identifier of the receipt or of the session; see `read_labels`. Receipts
        without a label are left out.
    plan : Plan, optional
        The plan whose features are the columns. By default all features that were ever ordered or known.

    Returns
    -------
    ReceiptTable

    Notes
    -----
    A feature is missing if the plan did not order it, which depends on earlier values. So values are not
    missing at random: an expensive feature is known only in rows that were unclear without it. A model
    that is fitted to this table sees the feature only in such rows.

    Examples
    --------
    >>> import tempfile
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw
    >>> from miserly.runtime import OnDemand
    >>> from miserly.serve.receipts import ReceiptKeeper
    >>> nodes = [Node([0], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs({"x": 2.0, "y": 1.0}), terms=[Raw(0)], nodes=nodes, base=[0.0])
    >>> url = tempfile.mkdtemp() + "/receipts.db"
    >>> keeper = ReceiptKeeper(url, keep_values=True)
    >>> keeper.start()
    >>> id = keeper.append(OnDemand(plan).predict({"x": 7.0}), model="shop")
    >>> keeper.close()
    >>> table = training_table(url, labels={id: "sold"}, plan=plan)
    >>> table.values.tolist(), table.outcomes.tolist(), table.labels.tolist()
    ([[7.0, None]], [['value', '']], ['sold'])
    """
    by_mark = (
        None if labels is None else {**{session_mark(key): key for key in labels}, **_themselves(labels)}
    )
    used, rows, found, without_values, without_label = set(), [], [], 0, 0
    with opened(url) as connection:
        for kept in receipts_in_order(connection, Selection(model, None, since, until)):
            if not kept.row["has_values"]:
                without_values += 1
                continue
            if labels is not None and by_mark is not None:
                key = by_mark.get(kept.row["id"], by_mark.get(kept.row["session_id"]))
                if key is None:
                    without_label += 1
                    continue
                used.add(key)
                found.append(labels[key])
            rows.append(kept)
    if not rows and without_values:
        raise DataError(
            f"all {without_values:,} receipts were kept without the values of features; "
            "miserly serve --keep-values keeps them"
        )
    features = _features(rows, plan)
    values, outcomes = _arrays(rows, features)
    return ReceiptTable(
        features,
        values,
        outcomes,
        [_record(kept) for kept in rows],
        None if labels is None else _objects(found),
        without_values,
        without_label,
        0 if labels is None else len(labels) - len(used),
    )


def read_labels(path: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    """Read true labels from a CSV file with two columns.

    The first column holds the identifier of a receipt or of a session, the second one the label.

    Parameters
    ----------
    path : str or Path
        The file. Its first line has the names of the columns.

    Returns
    -------
    labels : dict
        The label of each identifier, as text.
    name : str
        The name of the second column.
    """
    labels: dict[str, Any] = {}
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        if len(header) != 2:
            raise DataError(f"{path}, line 1: two columns are expected, an identifier and a label")
        for line in reader:
            place = f"{path}, line {reader.line_num}"
            if not line:
                continue
            if len(line) != 2 or not line[0].strip() or not line[1].strip():
                raise DataError(f"{place}: an identifier and a label are expected")
            if line[0].strip() in labels:
                raise DataError(f"{place}: {line[0]!r} has a label already")
            labels[line[0].strip()] = line[1].strip()
    return labels, header[1].strip() or "label"


def _themselves(labels: Iterable[str]) -> dict[str, str]:
    return {key: key for key in labels}


def _features(rows: Sequence[Kept], plan: Plan | None) -> tuple[str, ...]:
    if plan is not None:
        return tuple(str(plan.costs.name(j)) for j in range(len(plan.costs)))
    seen: dict[str, None] = {}
    for kept in rows:
        for name in (*kept.row["known"], *(one["feature"] for one in kept.purchases)):
            seen.setdefault(name)
    return tuple(seen)


def _arrays(rows: Sequence[Kept], features: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    place = {name: j for j, name in enumerate(features)}
    values = np.full((len(rows), len(features)), None, dtype=object)
    outcomes = np.full(values.shape, "", dtype="U9")
    for i, kept in enumerate(rows):
        for name, value in (kept.row["known_values"] or {}).items():
            if name in place:
                values[i, place[name]], outcomes[i, place[name]] = value, KNOWN
        for one in kept.purchases:
            j = place.get(one["feature"])
            if j is not None and outcomes[i, j] not in DELIVERED:
                outcomes[i, j] = one["outcome"]
                is_there = one["value"] is not None and one["outcome"] in DELIVERED
                values[i, j] = json.loads(one["value"]) if is_there else None
    return values, outcomes


def _record(kept: Kept) -> dict[str, Any]:
    record = {name: kept.row[name] for name in _COLUMNS}
    return {**record, "answer": json.loads(record["answer"])}


def _about(receipt: Mapping[str, Any]) -> list[Any]:
    return [
        receipt["id"], receipt["at"].isoformat(), *(receipt[name] for name in _COLUMNS[2:-1]),
        " ".join(receipt["known"]),
    ]  # fmt: skip


def _cell(value: Any, outcome: str) -> Any:
    if value is not None:
        return value
    return "" if outcome == "" else _MARKS.get(outcome, "null" if outcome == KNOWN else "NA")


def _column(values: NDArray[Any]) -> list[Any] | NDArray[np.float64]:
    """Numbers become floats, with NaN for missing ones. Other values do not change."""
    if all(one is None or (isinstance(one, (int, float)) and not isinstance(one, bool)) for one in values):
        return np.array([np.nan if one is None else float(one) for one in values])
    return list(values)


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
