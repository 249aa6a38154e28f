"""Explanations of inverse dynamics: every intermediate with its parts, joint forces by cause."""

from kinetree.explain.causes import SHARES, Torque, unfold_mass
from kinetree.explain.explanation import Explanation, explain
from kinetree.explain.node import Code, Node, Quantity, packed
from kinetree.explain.recursion import LinkSteps
from kinetree.explain.steps import recursion_steps

__all__ = [
    "SHARES",
    "Code",
    "Explanation",
    "LinkSteps",
    "Node",
    "Quantity",
    "Torque",
    "explain",
    "packed",
    "recursion_steps",
    "unfold_mass",
]
