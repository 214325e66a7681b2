"""Running a plan: compiled, in plain NumPy with the same bits, and step by step."""
