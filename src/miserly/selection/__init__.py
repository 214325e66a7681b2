"""What each budget buys, and which model to take for it."""

from miserly.selection.budgeted import BudgetedEstimator
from miserly.selection.frontier import frontier
from miserly.selection.results import Frontier

__all__ = ["BudgetedEstimator", "Frontier", "frontier"]
