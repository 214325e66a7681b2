"""The code of the README and the guide runs and prints what they show; links and lists are complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from .documents import agree, in_empty_folder, run_document

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents_run_as_written(path):
    with in_empty_folder():
        for block, printed in run_document(path):
            assert agree(block, printed), f"{path.name}, line {block.line} should show:\n{printed}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    import re

    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if "://" not in link:
            assert (path.parent / link).exists(), f"{path.name} links to {link}, which is not there"


def test_the_guide_lists_every_page_and_every_command():
    from miserly.cli import app

    guide = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in guide, f"the guide does not list {page.name}"
    commands = ", ".join(command.callback.__name__ for command in app.registered_commands)
    assert f"`miserly {commands}`" in guide
    lines = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    for command in commands.split(", "):
        assert f"| `{command}` |" in lines and f"## `miserly {command}`" in lines


def test_every_target_of_the_makefile_has_a_rule():
    import re

    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split():
        assert re.search(rf"^{target}:", text, re.MULTILINE), f"make {target} is declared and has no rule"
