"""Model files of other libraries: read whole, with a limit on their size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from miserly.errors import DataError
from miserly.plan.store.container import MAGIC

__all__ = ["MAX_BYTES", "ModelFile"]

MAX_BYTES = 1 << 30  # largest file that is read


@dataclass(frozen=True)
class ModelFile:
    """A model file and its content.

    Attributes
    ----------
    path : Path
        Where it is.
    data : bytes
        What it holds.
    """

    path: Path
    data: bytes

    @classmethod
    def open(cls, path: str | Path) -> ModelFile:
        """Read a file.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        ModelFile

        Raises
        ------
        DataError
            If the path is not a regular file, or the file cannot be read or is larger than 1 GiB.
        """
        path = Path(path)
        if "\n" in str(path):
            raise DataError(
                "adopt takes the path of a model file, not the text in it: save the text to a file"
            )
        try:
            if not path.is_file():
                what = "is no regular file" if path.exists() else "does not exist"
                raise DataError(f"the model file {str(path)!r} {what}")
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except DataError:
            raise
        except (OSError, ValueError) as error:
            raise DataError(f"the model file {str(path)!r} cannot be read: {error}") from None
        if data.startswith(MAGIC):
            raise DataError(f"{str(path)!r} is a plan of miserly: read it with miserly.load")
        if len(data) > MAX_BYTES:
            raise DataError(f"the model file {str(path)!r} has more than {MAX_BYTES:,} bytes")
        return cls(path, data)
