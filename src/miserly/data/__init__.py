"""The boundary between tables and numbers.

- `rows`: `Rows`, a table with labels, weights and queries; drawing a validation set.
- `encoder`: `Encoder`, which turns values into numbers and is stored in a plan.
- `arrays`: arrays and frames of any library as NumPy arrays; `EncodedFrame`, encoded once for many fits.
- `frames`: reading a frame of training rows, and its categories.
- `reading`: reading the `X` that users pass to learners and searches.
- `target`: checking labels, weights and queries; errors of other libraries as `DataError`.
- `tasks`: whether labels are classes, numbers or grades.
"""
