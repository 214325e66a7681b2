"""The command line: `miserly demo | frontier | fit | predict | show | compress | bench | datasets`."""

from miserly.cli.main import app

__all__ = ["app"]
