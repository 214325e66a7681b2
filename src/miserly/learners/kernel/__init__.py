"""Kernel machines made small: compressed and reduced support vector machines."""

from miserly.learners.kernel.compress import CompressedOneClassSVM, compress
from miserly.learners.kernel.compressed_svc import CompressedSVC, CompressedSVR
from miserly.learners.kernel.reduced_svc import ReducedSVC

__all__ = [
    "CompressedOneClassSVM",
    "CompressedSVC",
    "CompressedSVR",
    "ReducedSVC",
    "compress",
]
