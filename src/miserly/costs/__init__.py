"""What features, groups of features and evaluations cost, and the record of what has been paid."""

from miserly.costs.costs import Costs, Feature
from miserly.costs.ledger import Ledger
from miserly.costs.measuring import measure
from miserly.costs.outcome_table import OutcomeTable
from miserly.costs.outcomes import OutcomeCosts, read_outcomes
from miserly.costs.prices import BudgetState, PriceList, RowPrices, fits, mean_fits, mean_limit
from miserly.costs.row_costs import RowCosts, free_features, read_mask, read_row_costs
from miserly.costs.timings import Measurement, Timing
from miserly.utils.checks import read_budget

__all__ = [
    "BudgetState",
    "Costs",
    "Feature",
    "Ledger",
    "Measurement",
    "OutcomeCosts",
    "OutcomeTable",
    "PriceList",
    "RowCosts",
    "RowPrices",
    "Timing",
    "fits",
    "free_features",
    "mean_fits",
    "mean_limit",
    "measure",
    "read_budget",
    "read_mask",
    "read_outcomes",
    "read_row_costs",
]
