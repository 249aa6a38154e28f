"""Every page of the documentation runs: its Python snippets, one after the other."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_snippets_of_a_page_run(page, tmp_path, monkeypatch):
    mpmath = pytest.importorskip("mpmath")
    snippets = re.findall(r"```python\n(.*?)```", page.read_text("utf8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    with mpmath.workdps(15):  # a snippet may set its own precision
        for code in snippets:
            exec(compile(code, str(page.name), "exec"), names)
