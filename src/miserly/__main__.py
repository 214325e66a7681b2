"""`python -m miserly` is the command line."""

from miserly.cli import app

if __name__ == "__main__":
    app(prog_name="miserly")
