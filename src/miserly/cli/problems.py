"""All problems of the input, reported together."""

from __future__ import annotations

from collections.abc import Sequence

from miserly.errors import DataError

__all__ = ["ManyProblems", "Problems", "also_in"]

MOST = 20  # problems that are reported
MOST_LINES = 5  # lines that are named for one problem


class ManyProblems(DataError):
    """Several problems; `problems` has a line for each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class Problems:
    """The problems that were found so far.

    >>> problems = Problems()
    >>> problems.add("line 2: 2 values for 3 columns")
    >>> problems.settle()
    Traceback (most recent call last):
    miserly.errors.DataError: line 2: 2 values for 3 columns
    """

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, problem: str) -> None:
        self._found.append(problem)

    def settle(self) -> None:
        """Raise the problems, if there are any."""
        if len(self._found) == 1:
            raise DataError(self._found[0])
        if self._found:
            more = len(self._found) - MOST
            raise ManyProblems([*self._found[:MOST], *([f"and {more} more problems"] if more > 0 else [])])


def also_in(places: Sequence[int], what: str = "line") -> str:
    """The other places of a problem, for the end of a sentence.

    >>> also_in([]), also_in([7]), also_in([7, 9, 12, 13, 20, 31, 44])
    ('', '; also in line 7', '; also in lines 7, 9, 12, 13, 20 and 2 more')
    """
    if not places:
        return ""
    named = ", ".join(map(str, places[:MOST_LINES]))
    more = f" and {len(places) - MOST_LINES} more" if len(places) > MOST_LINES else ""
    return f"; also in {what}{'s' * (len(places) > 1)} {named}{more}"
