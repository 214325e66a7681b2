"""Small kernel machines: compressed and reduced support vector machines."""

from miserly.learners.kernel.compress import compress
from miserly.learners.kernel.compressed_one_class import CompressedOneClassSVM
from miserly.learners.kernel.compressed_svc import CompressedSVC, CompressedSVR
from miserly.learners.kernel.reduced_svc import ReducedSVC

__all__ = [
    "CompressedOneClassSVM",
    "CompressedSVC",
    "CompressedSVR",
    "ReducedSVC",
    "compress",
]
