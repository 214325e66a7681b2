"""The boundary between tables and numbers.

- `rows`: `Rows`, a table with labels, weights and queries.
- `encoder`: `Encoder`, which turns values into numbers and is stored in a plan.
- `arrays`: arrays and frames of any library as NumPy arrays.
- `frames`: reading a frame of training rows, and its categories.
- `encoded`: `EncodedFrame`, a frame that is encoded once for many fits.
- `reading`: reading the `X` that users pass to learners and searches.
- `target`: checking labels, weights and queries.
- `holdout`: drawing a validation set.
- `tasks`: whether labels are classes, numbers or grades.
- `errors`: errors of other libraries as `DataError`.
"""
