"""The recursion explained: every intermediate with its parts, and where the joint forces go."""

from kinetree.explain.explain import explain
from kinetree.explain.record import Explanation, LinkSteps, Part, Term
from kinetree.explain.torque import SHARES, Torque

__all__ = ["SHARES", "Explanation", "LinkSteps", "Part", "Term", "Torque", "explain"]
