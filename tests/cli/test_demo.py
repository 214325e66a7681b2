"""`miserly demo`, with fewer fits than a person gets to see."""

from __future__ import annotations

from miserly import load
from miserly.cli import demo
from miserly.datasets import load_heart

from .running import run


def test_the_demo_shows_a_frontier_and_saves_a_plan_and_a_report(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "MAX_FITS", 6)
    done = run("demo", "--out", tmp_path / "demo")
    assert done.exit_code == 0, done.output
    for words in ("tests used", "Chosen:", "One patient", "Answer:", "heart.miser", "report.html"):
        assert words in done.stdout
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {"heart.miser", "report.html", "plan.svg"}
    plan = load(tmp_path / "demo" / "heart.miser")
    assert plan.run(load_heart().X).cost.max() <= plan.info["budget"]
    assert "Heart disease: what a budget buys" in (tmp_path / "demo" / "report.html").read_text()
