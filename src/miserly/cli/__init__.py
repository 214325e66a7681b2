"""The command line: `miserly demo | fit | predict | show | compress | datasets`."""

from miserly.cli.main import app

__all__ = ["app"]
