"""The walk of one row, compiled, and the prices of a pool of features."""

from __future__ import annotations

from numba.extending import register_jitable

from miserly.plan.engine import walk as _walk
from miserly.utils.compiled import compiled

__all__ = ["dues", "walk"]

for _helper in _walk.HELPERS:
    register_jitable(_helper)
walk = compiled()(_walk.walk)
dues = compiled()(_walk.dues)
