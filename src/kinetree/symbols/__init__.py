"""Closed forms: the algorithms run on exact polynomials, and the results are made readable."""

from kinetree.symbols.front import symbolic

__all__ = ["symbolic"]
