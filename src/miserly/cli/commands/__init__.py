"""One command in each module: its options, and the order of what it does."""
