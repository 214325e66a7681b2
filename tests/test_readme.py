"""Everything that the README and the guide say is run, and shows what it shows there."""

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
