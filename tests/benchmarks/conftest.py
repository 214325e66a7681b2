"""Benchmarks import each other by their own names, so their folder is on the path for these tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
