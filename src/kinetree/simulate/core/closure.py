"""Constraints in a simulation: the start, the errors that are watched, and the way back.

The rate of a constrained robot has lambda and Phi in y: the forces of all equations and their
errors are recorded with the motion, and the errors are watched at every step like limits of
joints. After each step the state is projected (dynamics/constraints/stepping.py); fixed steps can
pull it back with a time constant instead.
"""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.regularity import margin, weakest
from kinetree.dynamics.constraints.solve import MARGIN
from kinetree.dynamics.methods import METHODS, Method
from kinetree.dynamics.state import (
    StateSpace,
    is_ranged,
    normalised,
    quaternions,
    within_ranges,
)
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.memo import kernel
from kinetree.engine.kernels.step import lean_closing
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.constraints import CLOSED
from kinetree.motion.inputs import positive
from kinetree.simulate.core.limits import CLOSURE, Bound, SimulationError
from kinetree.simulate.core.outcome import result_places
from kinetree.simulate.tuning import LEAST_PULL, NEARLY_SINGULAR, PULLED_ERROR

# starts before kernels check them: these take 0.2 s to compile for one loop and 0.5 s for forty,
# and the plain algorithms 1 and 25 ms a start
PLAIN_STARTS = 20
STARTS = "simulate", "starts"  # how many were checked, in the memo of the model


def read_closure_time(
    model: Model, value: float | None, method: str, dt: float | None
) -> float | None:
    """Check the time constant in which errors of the constraints decay.

    Args:
        model: the robot.
        value: as given, s; None: states are projected.
        method: name of the method, for messages.
        dt: length of a step, s; None: the method chooses its steps.
    """
    if value is None:
        return None
    if model.constraints is None:
        raise InputError(
            f"closure_time is {value!r}, and {model.name!r} has no constraints that it is for; "
            "leave it out."
        )
    T = positive(value, "closure_time", "s")
    if dt is None:
        raise InputError(
            f"closure_time is for fixed steps; method {method!r} projects every state onto the "
            f"constraints. Leave it out, or choose one of {', '.join(METHODS)}."
        )
    if T < LEAST_PULL * dt * (1 - 1e-12):
        raise InputError(
            f"closure_time is {T:g} s with steps of {dt:g} s; expected at least "
            f"{LEAST_PULL:g} steps, {LEAST_PULL * dt:g} s: a faster pull is unstable."
        )
    return T


def closure_bounds(
    model: Model, closure_time: float | None, method: Method | None
) -> tuple[Bound, ...]:
    """The errors Phi of all equations as bounded entries of y; none without constraints."""
    if model.constraints is None:
        return ()
    first = result_places(model, method, None)["Phi"].start
    most = model.constraints.tolerance if closure_time is None else PULLED_ERROR
    return tuple(
        Bound(name, CLOSURE, first + k, -most, most, "rad or m")
        for k, name in enumerate(model.constraints.row_names)
    )


def check_start(model: Model, q0: Array, dq0: Array) -> None:
    """Raise InputError if the constraints are not satisfied at the start.

    Args:
        model: the robot.
        q0: positions, (..., nq).
        dq0: rates, (..., n).
    """
    constraints = model.constraints
    if constraints is None:
        return
    value = _values_at(model, q0)
    errors = np.abs(value("constraint_errors"))
    at = np.unravel_index(int(np.nanargmax(errors)), errors.shape)
    if not errors[at] <= constraints.tolerance:
        row = int(at[-1])
        raise InputError(
            f"q0 does not satisfy the constraints of {model.name!r}{_rollout(at)}: constraint "
            f"{constraints.owner(row)!r} is open by {errors[at]:.3g} (row "
            f"{constraints.row_names[row]!r}, rad or m); expected at most "
            f"{constraints.tolerance:g}. kt.constraints.project(robot, q0) gives a position near "
            "it that does."
        )
    J = value("constraint_jacobian")
    rates = np.abs(np.einsum("...ij,...j->...i", J, dq0))
    share = rates / (1 + np.einsum("...ij,...j->...i", np.abs(J), np.abs(dq0)))
    at = np.unravel_index(int(np.nanargmax(share)), share.shape)
    if not share[at] <= CLOSED:
        row = int(at[-1])
        raise InputError(
            f"dq0 breaks the constraints of {model.name!r}{_rollout(at)}: constraint "
            f"{constraints.owner(row)!r} opens at {rates[at]:.3g} (row "
            f"{constraints.row_names[row]!r}, rad/s or m/s); expected 0. "
            "kt.constraints.project_rates(robot, q0, dq0) gives the nearest rates that do not."
        )
    away = margin(constraints, J, value("mass_matrix"))
    for at in map(tuple, np.argwhere(~(away > NEARLY_SINGULAR))):
        name, pivot = weakest(model, q0[at])
        if pivot <= MARGIN:
            raise InputError(
                f"q0 is a singular position of {model.name!r}{_rollout((*at, 0))}, or nearly: "
                f"{singular_words(name, pivot)}"
            )


def _values_at(model: Model, q0: Array) -> Callable[[str], Array]:
    """Quantities at the start, from the plain algorithms for the first starts, one at a time.

    Both are the same but for rounding, which no decision about a start depends on.
    """
    single = q0.ndim == 1
    done = model.memo.get(STARTS, 0)
    if single and done < PLAIN_STARTS:
        model.memo[STARTS] = done + 1
        return lambda name: np.asarray(getattr(dynamics, name)(model, q0), float)
    return lambda name: np.asarray(kernel(model, name)(q0))


def singular_words(name: str, pivot: float) -> str:
    """Why a simulation cannot be in a singular position, and what to do."""
    return (
        f"constraint {name!r} loses its effect there ({pivot:.2g} of it is left, and results need "
        f"{MARGIN:.2g}), and accelerations do not follow from it. Start elsewhere, for example at "
        "robot.neutral(), and keep the mechanism away from stretched and folded bars."
    )


def singular_end(model: Model, q: Array) -> str | None:
    """The sentence for a simulation that ended next to a singular position; None elsewhere."""
    if model.constraints is None or not np.isfinite(q).all():
        return None
    name, pivot = weakest(model, q)
    if pivot > NEARLY_SINGULAR:
        return None
    return f"The mechanism was next to a singular position: {singular_words(name, pivot)}"


def _rollout(at: tuple[Any, ...]) -> str:
    """The index of a rollout in a message; empty for a single one."""
    return f" in rollout {[int(k) for k in at[:-1]]}" if len(at) > 1 else ""


def normal_kernel(space: StateSpace) -> Kernel | None:
    """The kernel that makes states (..., x) normal; None where all are.

    Their quaternions have length 1, activations are in range, and constraints are satisfied.
    """
    close = lean_closing(space.model)
    if close is None and not quaternions(space.model) and not is_ranged(space):
        return None

    def normal(x: Array) -> Array:
        x = within_ranges(space, normalised(space.model, x))
        return x if close is None else close(x)

    graph = optimise(trace(normal, [Port("x", (space.size,))], [("out", ())]))
    return Kernel(graph, "normal", dtypes=("float64",))


def check_closed(model: Model, t: Array, y: Array) -> None:
    """Raise SimulationError if states at times t, (K,), are not on the constraints; y: (K, y)."""
    constraints = model.constraints
    if constraints is None or not len(y):
        return
    Phi = np.abs(y[:, result_places(model, None, None)["Phi"]])
    at = np.unravel_index(int(np.argmax(np.where(np.isfinite(Phi), Phi, np.inf))), Phi.shape)
    if not Phi[at] <= constraints.tolerance:
        row = int(at[1])
        raise SimulationError(
            f"the simulation ended at t = {t[at[0]]:.6g} s: constraint {constraints.owner(row)!r} "
            f"of {model.name!r} could not be closed, it stays open by {Phi[at]:.3g} (row "
            f"{constraints.row_names[row]!r}, rad or m). Look for a position in which the "
            "mechanism is singular, and for forces that grow with the motion."
        )


def constraint_results(model: Model, records: dict[str, Any], xp: ModuleType) -> Mapping[str, Any]:
    """Entries of `meta` of a constrained robot; `lam` and `Phi` are taken out of the records.

    Args:
        model: the robot.
        records: records by name, (T, ..., size).
        xp: module of the arrays.
    """
    if model.constraints is None:
        return {}
    lam, Phi = records.pop("lam"), records.pop("Phi")
    forces: dict[str, Any] = {}
    start = 0
    for item in model.constraints.items:
        stop = start + len(item.row_names)
        forces[item.name] = lam[..., start:stop]
        start = stop
    return {"constraint_forces": forces, "closure": xp.abs(Phi).max(-1)}
