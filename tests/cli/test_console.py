"""What every command shares: how mistakes and warnings are reported, and how numbers look."""

from __future__ import annotations

import json
import warnings

import pytest
import typer

from miserly.cli.console import check_output, friendly, print_json
from miserly.errors import DataError


def test_warnings_are_one_line_each(capsys):
    @friendly
    def command():
        warnings.simplefilter("default")
        warnings.warn("few rows\n  of class 2", stacklevel=1)

    command()
    assert capsys.readouterr().err == "warning: few rows of class 2\n"


@pytest.mark.parametrize(
    ("error", "code"), [(DataError("bad"), 1), (RuntimeError("ours"), 1), (KeyboardInterrupt(), 130)]
)
def test_exit_codes(error, code, capsys):
    @friendly
    def command(debug=False):
        raise error

    with pytest.raises(typer.Exit) as end:
        command()
    assert end.value.exit_code == code and capsys.readouterr().err.count("\n") == 1
    with pytest.raises(type(error) if code == 1 else typer.Exit):
        command(debug=True)


def test_numbers_without_a_value_are_null(capsys):
    print_json({"a": [float("nan"), 1.5], 3: (float("inf"),)})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "3": [None]}


def test_files_that_cannot_be_written_are_named(tmp_path):
    for path, reported in [(tmp_path, "this is a folder"), (tmp_path / "no" / "a.csv", "there is no folder")]:
        with pytest.raises(DataError, match=reported):
            check_output(path)
