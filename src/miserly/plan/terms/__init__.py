"""Terms: what a plan computes from features. A raw value, a regression tree, a kernel against a vector.

A term is one class in one module. It holds its fields and their check, its number in files and compiled code,
its arrays in both, its value in NumPy and its words. A row evaluates a term at most once. To add a term,
write its module, import it below, and write its compiled rule in `engine.compiled_rules`.
"""

from miserly.plan.terms.base import TERMS, Term
from miserly.plan.terms.categories import MAX_CATEGORY, category_words, packed_words, padded_words
from miserly.plan.terms.kernel import KERNELS, Kernel
from miserly.plan.terms.raw import Raw
from miserly.plan.terms.tree import Tree

__all__ = [
    "KERNELS",
    "MAX_CATEGORY",
    "TERMS",
    "Kernel",
    "Raw",
    "Term",
    "Tree",
    "category_words",
    "packed_words",
    "padded_words",
]
