"""What each budget buys, and which model to take for it."""

from miserly.selection.budgeted import BudgetedEstimator
from miserly.selection.frontier import frontier
from miserly.selection.points import Point, one_standard_error
from miserly.selection.results import Frontier
from miserly.selection.sweep import sweep

__all__ = ["BudgetedEstimator", "Frontier", "Point", "frontier", "one_standard_error", "sweep"]
