"""The dynamics that controllers use: lean, so that compiled into a loop they cost little."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from kinetree.algorithms.inverse_dynamics import tree_inverse_dynamics
from kinetree.algorithms.lean import LeanModel, lean_model, lean_tree
from kinetree.algorithms.mass_matrix import tree_mass_matrix
from kinetree.base.arrays import Array, is_numeric
from kinetree.formulations.drives import frictionless
from kinetree.formulations.newton_euler import factor_mass_matrix
from kinetree.model import Model
from kinetree.model.inputs import zeros
from kinetree.spatial.factor import solve


def lean(model: Model) -> LeanModel:
    """The lean form; kept for robots of plain numbers, which do not change from step to step."""
    numbers = (model.m, model.com, model.I_com, model.gravity)
    if all(is_numeric(np.asarray(x)) for x in numbers):
        return _kept(model)
    return lean_model(model, regrouped=False)


@lru_cache(maxsize=64)
def _kept(model: Model) -> LeanModel:
    return lean_model(model)


def inverse_dynamics(model: Model, q: Array, dq: Array, ddq: Array) -> Array:
    """tau of a motion, friction and rotors included, (n,)."""
    return tree_inverse_dynamics(lean_tree(lean(model), q), dq, ddq)


def gravity_forces(model: Model, q: Array) -> Array:
    """g(q), (n,)."""
    smooth, rest = replace(lean(model), model=frictionless(model)), zeros(model.n)
    return tree_inverse_dynamics(lean_tree(smooth, q), rest, rest)


def mass_matrix_factor(model: Model, q: Array) -> Any:
    """M(q) in factors, for `solve`."""
    return factor_mass_matrix(model, tree_mass_matrix(lean_tree(lean(model), q)))


def solve_mass(M: Any, b: Array) -> Array:
    """M^-1 b for a vector (n,) or columns (n, k)."""
    return np.array([*map(list, solve(M, b))]) if b.ndim == 2 else solve(M, b)


def model_of(value: Any) -> Model | None:
    """The model of a robot, a model as it is, None for the robot that is controlled."""
    return getattr(value, "model", value)
