"""The page on equations shows what its code prints."""

import re
from pathlib import Path

import pytest

pytest.importorskip("sympy")

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_on_equations_shows_what_its_code_prints(capsys):
    page = (ROOT / "docs" / "symbolic.md").read_text("utf8")
    first, *_ = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(first, {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4 and all(f"    {line}\n" in page for line in printed)
