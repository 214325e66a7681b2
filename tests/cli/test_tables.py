"""Tables in files: the same columns whatever library reads them, and mistakes with their line and column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from miserly.cli import table_files, tables
from miserly.cli.console import Problems
from miserly.cli.table_files import CsvFile, ParquetFile
from miserly.cli.tables import write_table
from miserly.errors import DataError

from .running import QUICK, complaint, run, table

MIXED = "number,word,truth,gap, spaced \n1,a,true,,7\n2.5,b,FALSE,NA,8\n-3,,True,null,9\n"


@pytest.fixture
def without(monkeypatch):
    """Hides libraries from the code that looks for them."""
    real = tables.find_spec

    def hide(*hidden):
        for module in (tables, table_files):
            monkeypatch.setattr(module, "find_spec", lambda name: None if name in hidden else real(name))

    return hide


def read_table(path, **given):
    """The columns of a sound file."""
    problems = Problems()
    with table_files.opened(path, given.pop("form", None)) as source:
        columns = tables.read_table(source, problems, **given)
    problems.settle()
    return columns


@pytest.mark.parametrize("cells", [100_000, 5])
def test_columns_are_numbers_booleans_or_text(tmp_path, monkeypatch, cells):
    """Whether they are read in one chunk or row by row."""
    monkeypatch.setattr(CsvFile, "chunk_cells", cells)
    monkeypatch.setattr(CsvFile, "fewest_rows", 1)
    (tmp_path / "a.csv").write_text("\ufeff" + MIXED, encoding="utf-8")
    columns = read_table(tmp_path / "a.csv")
    assert columns.columns == ["number", "word", "truth", "gap", "spaced"]
    assert columns["number"].tolist() == [1.0, 2.5, -3.0]
    assert columns["word"].tolist() == ["a", "b", None]
    assert columns["truth"].tolist() == [True, False, True]
    assert np.isnan(columns["gap"]).all() and columns["spaced"].dtype == np.float64
    assert read_table(tmp_path / "a.csv", text=["number", "spaced"])["number"].tolist() == ["1", "2.5", "-3"]


# -- Parquet -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [(), ("pandas",), ("pyarrow",)])
def test_parquet_is_read_and_written(tmp_path, without, hidden):
    frame = table(12)
    frame.to_parquet(tmp_path / "a.parquet")
    without(*hidden)
    columns = read_table(tmp_path / "a.parquet")
    assert columns["thal"].tolist() == frame["thal"].tolist()
    np.testing.assert_array_equal(columns["chol"], frame["chol"])
    write_table(tmp_path / "b.parquet", {"word": ["a", None], "number": [0.5, 2.0]})
    again = read_table(tmp_path / "b.parquet")
    assert again["word"].tolist() == ["a", None] and again["number"].tolist() == [0.5, 2.0]


def test_the_index_of_a_pandas_frame_is_no_column(tmp_path):
    frame = table(12).assign(key=list("cab" * 4)).set_index("key")
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").columns == list(frame.columns)


@pytest.mark.parametrize("hidden", [(), ("pandas",), ("pyarrow",)])
def test_whole_numbers_with_gaps_are_categories_without_decimals(tmp_path, without, hidden):
    pq.write_table(pa.table({"code": [7, None, 9]}), tmp_path / "a.parquet")
    without(*hidden)
    assert read_table(tmp_path / "a.parquet", text=["code"])["code"].tolist() == ["7", None, "9"]


def test_text_in_parquet_that_turns_out_late_keeps_its_digits(tmp_path, monkeypatch):
    monkeypatch.setattr(ParquetFile, "chunk_cells", 2)
    monkeypatch.setattr(ParquetFile, "fewest_rows", 1)
    pd.DataFrame({"code": ["07", "9", None, "other"], "y": [1, 0, 1, 0]}).to_parquet(tmp_path / "a.parquet")
    columns = read_table(tmp_path / "a.parquet")
    assert columns["code"].tolist() == ["07", "9", None, "other"] and columns["y"].tolist() == [1, 0, 1, 0]


def test_parquet_needs_a_library(tmp_path, without):
    without("pandas", "polars", "pyarrow")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    done = run("fit", tmp_path / "a.parquet", "--target", "y", "--out", tmp_path / "x.miser")
    assert "reading Parquet needs" in complaint(done) and "miserly[parquet]" in complaint(done)
    with pytest.raises(DataError, match="writing Parquet needs"):
        write_table(tmp_path / "b.parquet", {"a": [1]})


def test_a_file_that_only_claims_to_be_parquet_is_named(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    done = run("fit", tmp_path / "a.parquet", "--target", "y", "--out", tmp_path / "x.miser")
    assert "a.parquet: not a sound Parquet file" in complaint(done)


# -- mistakes ------------------------------------------------------------------------------------------------


def numbers(stray, n=30):
    """A column of numbers with one stray value, in line 17."""
    rows = [f"{value},{value % 2}" for value in range(n)]
    rows[15] = f"{stray},1"
    return "\n".join(["chol,y", *rows]) + "\n"


@pytest.mark.parametrize("stray", ["12O", "?", "4,5"])
def test_a_stray_word_among_numbers_is_named_with_line_and_column(tmp_path, stray):
    (tmp_path / "a.csv").write_text(numbers(f'"{stray}"'))
    done = run("fit", tmp_path / "a.csv", "--target", "y", "--out", tmp_path / "x.miser")
    reported = complaint(done)
    assert f"a.csv, line 17, column 'chol': '{stray}' is not a number, as 29 others are" in reported
    assert "--categories chol" in reported


def test_a_column_that_is_declared_to_hold_words_may(tmp_path):
    (tmp_path / "a.csv").write_text(numbers("12O"))
    words = ("fit", tmp_path / "a.csv", "--target", "y", *QUICK, "--out", tmp_path / "x.miser")
    for option in ("--categories", "--words"):  # the former name
        assert run(*words, option, "chol").exit_code == 0


def test_words_that_are_often_digits_are_still_words(tmp_path):
    codes = np.array(["7", "9", "9", "other"] * 30)
    pd.DataFrame({"code": codes, "y": codes == "7"}).to_csv(tmp_path / "a.csv", index=False)
    assert run("fit", tmp_path / "a.csv", "--target", "y", *QUICK, "--out", tmp_path / "x").exit_code == 0


def test_other_marks_between_columns_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("chol;y\n1;0\n")
    done = run("fit", tmp_path / "a.csv", "--target", "y", "--out", tmp_path / "x.miser")
    assert "a.csv, line 1: columns are separated by commas, not by ';'" in complaint(done)


def test_infinity_is_named_with_line_and_column(tmp_path):
    (tmp_path / "a.csv").write_text(numbers("inf"))
    done = run("fit", tmp_path / "a.csv", "--target", "y", "--out", tmp_path / "x.miser")
    assert "a.csv, line 17, column 'chol': infinity" in complaint(done)


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    """Blank lines and line breaks inside quotes included."""
    (tmp_path / "a.csv").write_text('name,y\n"two\nlines",1\n\nb,\n')
    done = run("fit", tmp_path / "a.csv", "--target", "y", "--out", tmp_path / "x.miser")
    assert "a.csv, line 5, column 'y': the target is missing" in complaint(done)
