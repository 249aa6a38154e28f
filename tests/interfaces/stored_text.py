"""Stored texts: equal words, and numbers that differ in the last shown digit at most."""

import difflib
import re
from decimal import Decimal

import pytest

NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?")


def same(found, stored):
    """Whether two texts have the same words and nearly the same numbers."""
    if found == stored:
        return True
    words = [" ".join(NUMBER.sub("#", x).replace("─", "").split()) for x in (found, stored)]
    numbers = [NUMBER.findall(x) for x in (found, stored)]
    return words[0] == words[1] and all(map(near, *numbers))


def near(found, stored):
    """Whether two numbers differ by at most two units in the last digit; integers are equal."""
    a, b = Decimal(found), Decimal(stored)
    last = max(a.as_tuple().exponent, b.as_tuple().exponent)
    return abs(a - b) <= max(2 * Decimal(10) ** last if last < 0 else 0, abs(b) * Decimal("1e-12"))


def compare(found, path, command):
    """Fail with the difference unless the text is that of the file."""
    stored = path.read_text(encoding="utf-8")
    if not same(found, stored):
        lines = stored.split("\n"), found.split("\n")
        diff = "\n".join(difflib.unified_diff(*lines, f"{path.name}, as stored", "now"))
        pytest.fail(f"{diff}\nIf this is meant: {command}", pytrace=False)
