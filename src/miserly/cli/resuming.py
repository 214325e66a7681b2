"""Tables that are written by runs that may be interrupted: a later run goes on where the last one stopped.

While `out.csv` is written, its rows are in `out.csv.part`. From time to time `out.csv.progress` notes how
many rows are there, how many bytes they take, and what they were made from. A run that goes on drops what
was written after the last note. Rows of Parquet files wait in Arrow's stream format, which can be continued.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from miserly import __version__
from miserly.cli.tables import Cells, CsvWriter
from miserly.errors import DataError
from miserly.utils.files import atomic_path, atomic_write, check_target, open_draft, replace_by

__all__ = ["ResumableTable", "RunIdentity", "resumable_table"]

SECONDS = 2.0  # between two notes of the progress
GROUP_ROWS = 131_072  # of a row group of Parquet, whatever the batches were


@dataclass(frozen=True)
class RunIdentity:
    """What the rows of a run are made from. A run goes on only if all of it is the same."""

    model: str  # its digest
    data: Path | None  # None if it is not a file that can be read again
    options: Mapping[str, Any]

    def note(self) -> dict[str, Any]:
        """All of it for the note of the progress. The data are identified by their content."""
        assert self.data is not None
        with self.data.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        return {
            "miserly": __version__, "model": self.model, "data": content, "options": dict(self.options),
        }  # fmt: skip


class ResumableTable:
    """A table that is being written.

    Parameters
    ----------
    path : Path
        A .csv or .parquet file.
    identity : RunIdentity
        What its rows are made from.
    types : mapping of str to object
        The types of some columns of a Parquet file. The others have those of the first rows.

    Attributes
    ----------
    n_rows : int
        The rows that were written, also by an earlier run.
    n_noted : int
        The rows that a later run can rely on.
    state : mapping or None
        What the earlier run has noted about its rows.
    n_guarded : int
        The cells that looked like formulas.
    """

    def __init__(self, path: Path, identity: RunIdentity, types: Mapping[str, Any]) -> None:
        self.path = path
        self.part = path.with_name(f"{path.name}.part")
        self.progress = path.with_name(f"{path.name}.progress")
        self.state: Mapping[str, Any] | None = None
        self.n_rows = self.n_noted = 0
        self._identity, self._types = identity, types
        self._note: dict[str, Any] | None = None
        self._noted_at = time.monotonic()
        self._file: Any = None
        self._rows: _CsvRows | _ArrowRows | None = None

    @property
    def n_guarded(self) -> int:
        return 0 if self._rows is None else self._rows.n_guarded

    # -- begin -----------------------------------------------------------------------------------------------

    def open(self, resume: bool) -> None:
        """Open the part: empty, or as the earlier run has left it."""
        check_target(self.progress)
        self._file = open_draft(self.part, self.path)
        found = self._earlier() if resume else None
        n_bytes = 0 if found is None else int(found["bytes"])
        self._file.truncate(n_bytes)
        self._file.seek(n_bytes)
        if found is None:
            self.progress.unlink(missing_ok=True)
        else:
            self.n_rows = self.n_noted = int(found["rows"])
            self.state, self._note = found["state"], found["run"]
        if self.path.suffix.lower() == ".parquet":
            self._rows = _ArrowRows(self._file, self.part, found is not None, self._types)
        else:
            self._rows = _CsvRows(self._file, None if found is None else int(found["guarded"]))

    def _earlier(self) -> dict[str, Any] | None:
        """The note of an earlier run; an error if it was another run."""
        size = self._file.seek(0, os.SEEK_END)
        if not self.progress.exists() or not size:
            return None
        try:
            found: dict[str, Any] = json.loads(self.progress.read_text(encoding="utf-8"))
            run, n_bytes = found["run"], int(found["bytes"])
        except (ValueError, KeyError, TypeError):
            raise DataError(f"{self.progress}: not a note of an earlier run; {_AGAIN}") from None
        differences = list(_differences(run, self._identity.note()))
        if differences:
            raise DataError(f"{self.path}: {'; '.join(differences)}; {_AGAIN}")
        if n_bytes > size:
            raise DataError(f"{self.part}: rows are missing that {self.progress} has noted; {_AGAIN}")
        return found

    # -- rows ------------------------------------------------------------------------------------------------

    def add(self, columns: Cells) -> None:
        assert self._rows is not None
        self._rows.add(columns)
        self.n_rows += len(next(iter(columns.values())))

    def note(self, state: Callable[[], Mapping[str, Any]]) -> None:
        """Note the progress, unless that was done shortly before."""
        if self._identity.data is None or time.monotonic() - self._noted_at < SECONDS:
            return
        self._file.flush()
        os.fsync(self._file.fileno())
        self._note = self._note or self._identity.note()
        record = {
            "rows": self.n_rows, "bytes": self._file.tell(), "guarded": self.n_guarded, "run": self._note,
            "state": state(),
        }  # fmt: skip
        with atomic_write(self.progress, "w") as file:
            json.dump(record, file)
        self.n_noted = self.n_rows
        self._noted_at = time.monotonic()

    # -- end -------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Put the table in its place."""
        assert self._rows is not None
        self._file.flush()
        self._rows.finish(self.part, self.path)
        self.discard()

    def discard(self) -> None:
        """Remove what was written, but not the table in its place."""
        self.progress.unlink(missing_ok=True)
        self.part.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # a full disk was reported before
                self._file.close()


_AGAIN = "run it without --resume to begin again"


@contextlib.contextmanager
def resumable_table(
    path: Path, identity: RunIdentity, resume: bool, types: Mapping[str, Any]
) -> Iterator[ResumableTable]:
    """A table that appears when the block ends. What is noted of it is kept if the block is interrupted.

    A problem of the data removes it: the same problem would come again.
    """
    table = ResumableTable(path, identity, types)
    try:
        table.open(resume)
    except BaseException:
        table.close()
        raise
    try:
        yield table
        table.finish()
    except BaseException as error:
        if isinstance(error, OSError) and error.filename in (None, str(table.part)):
            error.filename, error.filename2 = str(path), None
        if table.n_noted and not isinstance(error, DataError):
            table.close()
            error.add_note(f"the same command with --resume goes on after {table.n_noted:,} rows")
        else:
            table.discard()
        raise


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for key, what in (("model", "the model"), ("data", "the table"), ("miserly", "the version of miserly")):
        if old.get(key) != new[key]:
            yield f"{what} is not that of the earlier run"
    options = old.get("options")
    before: Mapping[str, Any] = options if isinstance(options, Mapping) else {}
    for name, value in new["options"].items():
        if before.get(name) != value:
            yield f"{name} was {_shown(before.get(name))} in the earlier run, and is {_shown(value)}"


def _shown(value: Any) -> str:
    if isinstance(value, list) and value:
        return ", ".join(map(str, value))
    return "not given" if value in (None, [], False) else str(value)


# -- rows as bytes that can be continued ---------------------------------------------------------------------


class _CsvRows:
    """Rows of a CSV file, which is the part itself."""

    def __init__(self, file: IO[bytes], n_guarded: int | None) -> None:
        self._file, self._lines = file, io.StringIO(newline="")
        self._writer = CsvWriter(self._lines, has_header=n_guarded is not None)
        self._writer.n_guarded = n_guarded or 0

    @property
    def n_guarded(self) -> int:
        return self._writer.n_guarded

    def add(self, columns: Cells) -> None:
        self._writer.add(columns)
        self._file.write(self._lines.getvalue().encode("utf-8"))
        self._lines.seek(0)
        self._lines.truncate()

    def finish(self, part: Path, path: Path) -> None:
        replace_by(part, path)


class _ArrowRows:
    """Rows of a Parquet file, as messages of Arrow's stream format until the last one is there."""

    n_guarded = 0

    def __init__(self, file: IO[bytes], part: Path, is_begun: bool, types: Mapping[str, Any]) -> None:
        self._file, self._types = file, types
        self._schema: Any = None
        if is_begun:
            import pyarrow as pa

            with pa.OSFile(str(part)) as source:
                self._schema = pa.ipc.read_schema(source)

    def add(self, columns: Cells) -> None:
        import pyarrow as pa

        arrays = {name: pa.array(list(values), self._types.get(name)) for name, values in columns.items()}
        table = pa.table(arrays)
        if self._schema is None:
            self._schema = table.schema
            self._file.write(self._schema.serialize())
        for batch in table.cast(self._schema).to_batches():
            self._file.write(batch.serialize())

    def finish(self, part: Path, path: Path) -> None:
        """Write row groups of a fixed size, so that the bytes do not depend on batches."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with (
            atomic_path(path) as draft,
            pa.OSFile(str(part)) as source,
            pa.ipc.open_stream(source) as stream,
            pq.ParquetWriter(draft, stream.schema) as writer,
        ):
            waiting = stream.schema.empty_table()
            for batch in stream:
                waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch])])
                while len(waiting) >= GROUP_ROWS:
                    writer.write_table(waiting.slice(0, GROUP_ROWS).combine_chunks(), GROUP_ROWS)
                    waiting = waiting.slice(GROUP_ROWS)
            if len(waiting):
                writer.write_table(waiting.combine_chunks(), GROUP_ROWS)
