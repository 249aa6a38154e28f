"""The documentation is true: its snippets run, its tables show the records, it builds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
OWN = [page for page in PAGES if page.parent.name != "tutorial"]  # test_tutorial.py runs those
SNIPPET = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", OWN, ids=[str(page.relative_to(DOCS)) for page in OWN])
def test_the_snippets_of_a_page_run(page, tmp_path, monkeypatch, capsys):
    """And print what stands beneath them, where something does."""
    mpmath = pytest.importorskip("mpmath")
    snippets = SNIPPET.findall(page.read_text("utf8"))
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    with mpmath.workdps(15):  # a snippet may set its own precision
        for code, output in snippets:
            capsys.readouterr()
            exec(compile(code, str(page.name), "exec"), names)
            assert not output or capsys.readouterr().out == output


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_the_links_of_a_page_lead_somewhere(page):
    for link in re.findall(r"\]\((?!http|#)([^)#]+)(?:#[^)]*)?\)", page.read_text("utf8")):
        assert (page.parent / link).exists(), link


def test_the_tables_show_the_newest_records():
    command = [sys.executable, ROOT / "tools" / "record_tables.py", "--check"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_the_documentation_builds_without_warnings(built_docs):
    folder, trouble = built_docs
    assert not trouble, trouble
    pages = {path.stem for path in folder.rglob("*.html")}
    assert {page.stem for page in PAGES} <= pages
