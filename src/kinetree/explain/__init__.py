"""Explanations of inverse dynamics: every intermediate with its parts, joint forces by cause."""

from kinetree.explain.explain import Explanation, explain
from kinetree.explain.node import Code, Node, Quantity, packed
from kinetree.explain.record import LinkSteps, Part, Term, Torque
from kinetree.explain.steps import recursion_steps, unfold_vector
from kinetree.explain.torque import SHARES
from kinetree.explain.unfold import unfold_mass, unfold_torque

__all__ = [
    "SHARES",
    "Code",
    "Explanation",
    "LinkSteps",
    "Node",
    "Part",
    "Quantity",
    "Term",
    "Torque",
    "explain",
    "packed",
    "recursion_steps",
    "unfold_mass",
    "unfold_torque",
    "unfold_vector",
]
