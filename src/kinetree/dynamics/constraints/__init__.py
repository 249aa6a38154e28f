"""Constrained motion: Phi(q) = 0 on top of a tree, forward, inverse, at impact, and reduced."""
