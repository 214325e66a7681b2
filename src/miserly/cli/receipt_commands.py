"""`miserly receipts`: a summary of the receipts of a service, and a training table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from miserly.cli.console import (
    Misuse,
    amount,
    amounts,
    check_output,
    err,
    friendly,
    new_table,
    out,
    percent,
    print_json,
    warn,
)
from miserly.cli.options import Debug, Json, expanded
from miserly.errors import MiserlyError

if TYPE_CHECKING:
    from miserly.plan import Plan
    from miserly.serve.receipts import ReceiptTable

__all__ = ["receipts"]


@dataclass(frozen=True)
class WhichReceipts:
    """The selection of receipts."""

    since: Annotated[
        str | None, typer.Option(help="From this time on, such as 2026-01-31 or 2026-01-31T12:00 (UTC).")
    ] = None
    until: Annotated[str | None, typer.Option(help="Before this time.")] = None
    model_name: Annotated[
        str | None, typer.Option(help="Only the receipts of this model.", show_default=False)
    ] = None

    def to_dict(self) -> dict[str, Any]:
        """The options as `summarise` and `training_table` take them."""
        return {"model": self.model_name, "since": _time(self.since), "until": _time(self.until)}


@friendly
@expanded
def receipts(
    url: Annotated[
        str,
        typer.Argument(
            help="The database of receipts: an SQLite file, or postgresql+psycopg://USER@HOST/NAME.",
            envvar="MISERLY_RECEIPTS",
            show_default=False,
        ),
    ],
    chosen: WhichReceipts,
    model: Annotated[
        Path | None,
        typer.Option(help="A saved plan: compare its receipts with its reference.", show_default=False),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="A table of rows that the plan was not fitted to, as its reference, for --model.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option("--csv", help="Write a line for each receipt to this file.", show_default=False),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="A .csv file with two columns, identifier and true label, for --csv.", show_default=False
        ),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            help="First move receipts of ended services from this folder to the database.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Summarise the stored receipts of a service, or write them as a training table."""
    _check_installed()
    from miserly.serve.receipts import read_labels, recover, summarise, training_table

    if labels is not None and table is None:
        raise Misuse("--labels adds a column to --csv: give both")
    if table is not None:
        check_output(table, (".csv",), (labels, model))
    options = {**chosen.to_dict(), "plan": _plan(model, reference, table)}
    if journal is not None:
        moved = recover(url, journal)
        err.print(f"{moved.recovered:,} receipts moved, {moved.damaged:,} damaged lines skipped")
    if table is not None:
        given, name = (None, "label") if labels is None else read_labels(labels)
        rows = training_table(url, labels=given, **options)
        rows.write_csv(table, name)
        _report_table(rows, table, as_json)
    else:
        (print_json if as_json else _print_summary)(summarise(url, **options))


def _plan(model: Path | None, reference: Path | None, table: Path | None) -> Plan | None:
    """The plan whose receipts are read, with a reference if it is compared with one."""
    from miserly.plan import load

    if reference is not None and (model is None or table is not None):
        raise Misuse("--reference is for a summary with --model: give both, without --csv")
    if model is None:
        return None
    return load(model) if table is not None else _with_reference(load(model), reference)


def _with_reference(plan: Plan, path: Path | None) -> Plan:
    """The plan with a reference: what it does on the rows of a table, or what its file has."""
    from miserly.cli.batches import Batches, joined
    from miserly.cli.console import Problems
    from miserly.cli.table_files import opened
    from miserly.runtime import Reference

    if path is None:
        if "reference" in plan.info:
            return plan
        raise Misuse(
            "the file of this plan has no reference to compare with: give --reference and a table of rows "
            "that the plan was not fitted to"
        )
    problems = Problems()
    with opened(path, None) as source:
        batches = Batches(plan, source, None, (), problems)
        found = [*batches]
        batches.report(batches.bad, "not a number", problems)
        problems.settle()
    if not found:
        raise MiserlyError(f"{path}: no rows")
    run = plan.run(joined(found), compiled=False, unknown="missing")
    return Reference.of(plan, run).attach(plan)


def _check_installed() -> None:
    try:
        import miserly.serve.receipts  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("miserly"):
            raise
        raise MiserlyError(
            f"receipts need {error.name}, which is not installed: pip install 'miserly[serve]'"
        ) from None


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise Misuse(f"a time is written 2026-01-31 or 2026-01-31T12:00, not {text!r}") from None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _report_table(rows: ReceiptTable, path: Path, as_json: bool) -> None:
    record = {
        "file": str(path),
        "rows": len(rows),
        "features": len(rows.features),
        "without_values": rows.without_values,
        "without_label": rows.without_label,
        "unused_labels": rows.unused_labels,
    }
    if as_json:
        print_json(record)
        return
    out.print(f"{path}: {len(rows):,} receipts, {len(rows.features):,} features", soft_wrap=True)
    for name, why in (
        ("without_values", "receipts were kept without values and are left out"),
        ("without_label", "receipts have no label and are left out"),
        ("unused_labels", "labels belong to no receipt"),
    ):
        if record[name]:
            warn(f"{record[name]:,} {why}")


def _print_summary(found: dict[str, Any]) -> None:
    if not found["receipts"]:
        out.print("There are no such receipts.")
        return
    out.print(f"{found['receipts']:,} receipts, {_minute(found['first'])} to {_minute(found['last'])} (UTC)")
    if found["superseded"]:
        out.print(f"{found['superseded']:,} more of sessions that were reopened: their last receipt counts")
    for record in found["models"]:
        _print_model(record)
    drift = found["drift"]
    if drift is not None:
        out.print("\nAgainst the reference of the plan", style="bold")
        out.print(drift["text"], highlight=False, soft_wrap=True)
        if drift["left_out"]:
            out.print(
                f"{drift['left_out']:,} receipts with a budget, prices or known values of their own, or that "
                "were stopped by the caller, are left out",
                soft_wrap=True,
            )


def _print_model(record: dict[str, Any]) -> None:
    unit = record["unit"]
    low, high = amounts([record["mean_cost_lower"], record["mean_cost_upper"]])
    out.print(f"\n{record['model']}", style="bold")
    plans = len(record["plans"])
    versions = f" of {plans} versions" if plans > 1 else ""
    out.print(
        f"{record['receipts']:,} receipts{versions}; mean price {amount(record['mean_cost'], unit)} "
        f"({low} to {high}), at most {amount(record['highest_cost'], unit)}; "
        f"mean time {1000 * record['mean_seconds']:.3g} ms",
        highlight=False,
        soft_wrap=True,
    )
    answers = record["answers"]
    if isinstance(answers, dict):
        answers = f"mean {answers['mean']:.4g}, {answers['lowest']:.4g} to {answers['highest']:.4g}"
    else:
        answers = _shares(answers)
    out.print(f"answers: {answers}", highlight=False)
    out.print(f"stopped by: {_shares(record['stopped_by'])}", highlight=False)
    if not record["features"]:
        return
    numbers = ("of requests", "mean price", "mean ms")
    table = new_table("feature", *numbers, "failures", right=numbers)
    prices = [one["mean_price"] for one in record["features"]]
    shown = iter(amounts([price for price in prices if price is not None]))
    for one, price in zip(record["features"], prices, strict=True):
        failures = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(one["failures"].items()))
        table.add_row(
            one["feature"], percent(one["share"]), "" if price is None else next(shown),
            f"{1000 * one['mean_seconds']:.3f}", failures,
        )  # fmt: skip
    out.print(table)


def _shares(parts: list[dict[str, Any]]) -> str:
    return ", ".join(f"{part['value']} {percent(part['share'])}" for part in parts)


def _minute(text: str) -> str:
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M")
