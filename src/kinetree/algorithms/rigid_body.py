"""One rigid body: the wrench of a motion, and the motion of a wrench."""

from typing import Any

from kinetree.algorithms.factor import factor, solve
from kinetree.base.arrays import Array, array
from kinetree.spatial import ad


def body_wrench(G: Any, V: Any, dV: Any) -> Array:
    """F = G dV - ad(V)^T G V: wrench that moves a body of spatial inertia G, in its frame."""
    G, V, dV = array(G, (6, 6), "G"), array(V, (6,), "V"), array(dV, (6,), "dV")
    return G @ dV - ad(V).T @ (G @ V)


def body_acceleration(G: Any, V: Any, F: Any) -> Array:
    """DV = G^-1 (F + ad(V)^T G V): acceleration of a body under a wrench."""
    G, V, F = array(G, (6, 6), "G"), array(V, (6,), "V"), array(F, (6,), "F")
    names = [f"{part} {axis}" for part in ("rotation about", "motion along") for axis in "xyz"]
    return solve(factor(G, names), F + ad(V).T @ (G @ V))
