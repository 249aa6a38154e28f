"""Closed forms: the algorithms run on exact polynomials, and the results are written readably."""

from kinetree.symbols.robot import symbolic

__all__ = ["symbolic"]
