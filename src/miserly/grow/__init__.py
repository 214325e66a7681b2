"""Cost-aware regression trees: binning, histograms, the grower."""

from miserly.grow.binning import Binned, Bins
from miserly.grow.grower import Grower, Grown
from miserly.grow.options import GrowOptions

__all__ = ["Binned", "Bins", "GrowOptions", "Grower", "Grown"]
