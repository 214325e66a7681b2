"""Rooms of the project, and the report that the tools of `make lint` give about them.

A room is a package of ``src/miserly`` (``costs``, ``learners.boosting``), ``tests``, ``benchmarks`` or
``docs``. The name of a room stands for the rooms inside it, too. A tool has a list of unfinished rooms, whose
findings are not errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Finding(NamedTuple):
    """Something that a tool found in a room."""

    room: str
    text: str


def room_named(parts: Sequence[str]) -> str:
    """Name of the room of a package; learners outside the families are ``learners.base``.

    >>> room_named(["plan", "store"]), room_named(["learners"]), room_named([])
    ('plan.store', 'learners.base', '.')
    """
    name = ".".join(parts) or "."
    return "learners.base" if name == "learners" else name


def inside(room: str, rooms: Iterable[str]) -> bool:
    """Whether a room is one of `rooms` or inside one of them.

    >>> inside("plan.store", ["plan"]), inside("plans", ["plan"])
    (True, False)
    """
    return any(room == outer or room.startswith(f"{outer}.") for outer in rooms)


def report(findings: Iterable[Finding], unfinished: Sequence[str], arguments: Sequence[str]) -> int:
    """Print findings and count them by room.

    Parameters
    ----------
    findings : iterable of Finding
        Findings of all rooms.
    unfinished : sequence of str
        Rooms to leave out unless they are asked for.
    arguments : sequence of str
        Rooms to report; ``--all`` reports every room.

    Returns
    -------
    int
        The exit status: 1 if anything is reported.
    """
    found = list(findings)
    rooms = [argument for argument in arguments if argument != "--all"]
    if rooms:
        chosen = [finding for finding in found if inside(finding.room, rooms)]
    elif "--all" in arguments:
        chosen = found
    else:
        chosen = [finding for finding in found if not inside(finding.room, unfinished)]
        if unfinished:
            print(f"not finished yet: {', '.join(unfinished)}")
        for room in unfinished:
            if not any(inside(finding.room, [room]) for finding in found):
                print(f"{room} has no findings: remove it from UNFINISHED")
    for finding in chosen:
        print(finding.text)
    for room, count in sorted(Counter(finding.room for finding in chosen).items()):
        print(f"{room}: {count} found")
    return 1 if chosen else 0
