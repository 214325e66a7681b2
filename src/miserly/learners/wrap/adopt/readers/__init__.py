"""Readers: one module for each library or format. `registry` finds them."""
