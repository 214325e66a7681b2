"""Pictures of what models cost and reach."""

from miserly.report.frontier_plot import plot_frontier

__all__ = ["plot_frontier"]
