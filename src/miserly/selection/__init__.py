"""What each budget buys, and which model to take for it."""

from miserly.selection.points import Point, one_standard_error
from miserly.selection.sweep import sweep

__all__ = ["Point", "one_standard_error", "sweep"]
