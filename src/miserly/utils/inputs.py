"""Arrays that compiled functions only read. It needs no compiler: plans use it too."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["as_input"]


def as_input(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as compiled functions take what they only read: as a read-only view.

    numba compiles a function once for arrays that may be written to and again for those that may not, such
    as memory maps and columns of pandas frames. With this, tables and labels of users are always the second.

    Parameters
    ----------
    array : array

    Returns
    -------
    array
    """
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view
