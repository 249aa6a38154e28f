"""Explanations of inverse dynamics: every intermediate with its parts, joint forces by cause."""

from kinetree.explain.explain import Explanation, explain
from kinetree.explain.record import LinkSteps, Part, Term, Torque
from kinetree.explain.torque import SHARES

__all__ = ["SHARES", "Explanation", "LinkSteps", "Part", "Term", "Torque", "explain"]
