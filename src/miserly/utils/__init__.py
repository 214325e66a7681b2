"""Helpers that every room uses: checks of values, files, the terminal, compiled code, warnings."""
