"""Data sets with costs: the papers' synthetic sets, a bundled medical table, and readers of files."""

from miserly.datasets.cube import make_cube
from miserly.datasets.dataset import Dataset
from miserly.datasets.files import load, load_heart, names
from miserly.datasets.svmlight import read_svmlight, write_svmlight
from miserly.datasets.synthetic import (
    TIERS,
    make_quadrants,
    make_ranking,
    make_ring,
    make_xor_afr,
    tiered_costs,
)

__all__ = [
    "TIERS",
    "Dataset",
    "load",
    "load_heart",
    "make_cube",
    "make_quadrants",
    "make_ranking",
    "make_ring",
    "make_xor_afr",
    "names",
    "read_svmlight",
    "tiered_costs",
    "write_svmlight",
]
