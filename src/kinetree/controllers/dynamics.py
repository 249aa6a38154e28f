"""The dynamics that controllers use: lean, so that compiled into a loop they cost little."""

from functools import lru_cache
from typing import Any

import numpy as np

from kinetree.algorithms.lean import inverse_dynamics as lean_inverse
from kinetree.algorithms.lean import mass_matrix as lean_mass
from kinetree.algorithms.lean.model import LeanModel, lean_model
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
    return lean_inverse.inverse_dynamics(lean(model), q, dq, ddq)


def gravity_forces(model: Model, q: Array) -> Array:
    """g(q), (n,)."""
    kept = lean(model)
    rest = zeros(model.n)
    smooth = LeanModel(frictionless(model), kept.links, kept.rotors)
    return lean_inverse.inverse_dynamics(smooth, q, rest, rest)


def mass_matrix_factor(model: Model, q: Array) -> Any:
    """M(q) in factors, for `solve`."""
    return factor_mass_matrix(model, np.array(lean_mass.mass_matrix(lean(model), q), dtype=object))


def solve_mass(M: Any, b: Array) -> Array:
    """M^-1 b for a vector (n,) or columns (n, k)."""
    return np.array([*map(list, solve(M, b))]) if b.ndim == 2 else solve(M, b)


def model_of(value: Any) -> Model | None:
    """The model of a robot, a model as it is, None for the robot that is controlled."""
    return getattr(value, "model", value)
