"""The README's equations are what its code prints, and every snippet of the page on them runs."""

import re
from pathlib import Path

import pytest

pytest.importorskip("sympy")

ROOT = Path(__file__).resolve().parents[3]


def test_the_readme_prints_what_it_shows(capsys):
    section = (ROOT / "README.md").read_text("utf8").split("## See the equations")[1]
    section = section.split("\n## ")[0]
    code, shown = re.findall(r"```(?:python|text)\n(.*?)```", section, re.S)
    exec(code, {})
    assert capsys.readouterr().out == shown


def test_the_page_on_equations_shows_what_its_code_prints(capsys):
    page = (ROOT / "docs" / "symbolic.md").read_text("utf8")
    first, second, *_ = re.findall(r"```python\n(.*?)```", page, re.S)
    scope: dict = {}
    exec(first, scope)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4 and all(f"    {line}\n" in page for line in printed)
    exec(second, scope)
    assert scope["s"].name == "2R"
