"""Figures and the HTML report: cost and quality of models, and the paths of rows through them."""

from miserly.plan.extraction import Extracted, Similarity, extracted, leaf_similarity
from miserly.plan.flow import Flow, flow, remaining
from miserly.report.stage_plots import plot_extracted, plot_leaf_similarity, plot_remaining
from miserly.report.tree_plot import plot_tree

__all__ = [
    "Extracted",
    "Flow",
    "Similarity",
    "extracted",
    "flow",
    "leaf_similarity",
    "plot_extracted",
    "plot_leaf_similarity",
    "plot_remaining",
    "plot_tree",
    "remaining",
]
