"""Readings of a state: joint forces by cause, mass matrix, energy, and the ellipsoids of a frame.

They come from the same explanation that a click unfolds, and take some milliseconds, so that a
slider can be dragged. A robot that stands still on its contacts is held by the ground: the forces
are those of `kt.contacts.inverse_dynamics`.
"""

import warnings
from typing import Any

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array
from kinetree.dynamics.contacts.ground import contact_points
from kinetree.dynamics.contacts.inverse import contact_inverse_dynamics_at_state
from kinetree.errors import KinetreeWarning, SingularityError
from kinetree.explain import Explanation
from kinetree.model.bounds import bounds_of
from kinetree.views.workbench.state import State, allowed_motion

ELLIPSOIDS = ("mass", "force")
NEAR = 1e-3  # m: gap up to which the ground carries a contact
RESTING = 1e-9  # rad/s and m/s: faster contacts do not stand


def explained(state: State) -> Explanation:
    """The explanation of a state, with the forces of the contacts and stops that press."""
    forces = held_forces(state) if state.contact_forces is None else state.contact_forces
    return state.robot.explain(
        state.q, state.dq, state.ddq, state.F_ext(),
        contact_forces=forces, stop_forces=state.stop_forces,
    )  # fmt: skip


def held_forces(state: State) -> dict[str, Array] | None:
    """Forces of the ground that hold a robot still on its contacts; None if none touches."""
    model = state.robot.model
    if model.contacts is None or model.constraints is not None or not model.n:
        return None
    gaps = np.asarray(contact_points(model, state.q)[1], float)
    names = [x for x, gap in zip(model.contacts.names, gaps, strict=True) if gap < NEAR]
    if not names or np.abs(state.dq).max() > RESTING:
        return None
    with warnings.catch_warnings():  # a motion that the ground alone cannot make: base rows show it
        warnings.simplefilter("ignore", KinetreeWarning)
        found = contact_inverse_dynamics_at_state(
            model, state.q, state.dq, state.ddq, state.F_ext(), contacts=names
        )
    return dict(zip(model.contacts.names, np.asarray(found.forces, float), strict=True))


def readings(
    state: State, frame: str | None, size: float, kept: tuple[str, int] | None = None
) -> dict[str, Any]:
    """All readings of a state, as the page shows them.

    Rates and accelerations that the constraints of the robot do not allow are changed first; the
    readings have those that are used.

    frame: frame whose pose and ellipsoids are shown; None means the tool. size: longest finite axis
    of a drawn ellipsoid, m. kept: as in `allowed_motion`.
    """
    state = allowed_motion(state, kept)
    model, q, dq = state.robot.model, state.q, state.dq
    name, torque = model.frame_name(frame), explained(state).torque
    M = np.asarray(dynamics.mass_matrix(model, q), float)
    values = np.linalg.eigvalsh(M) if len(M) else np.zeros(1)
    least, most = bounds_of(model).forces(np.asarray(dq, float))
    return {
        "tau": torque.tau,
        "parts": torque.shares,
        "limits": np.where(torque.tau >= 0, most, -least),
        "M": M,
        "eigenvalues": [values[0], values[-1]],
        "energy": {
            "kinetic": float(dynamics.kinetic_energy(model, q, dq)),
            "potential": float(dynamics.potential_energy(model, q)),
        },
        "frame": {"name": name, "T": np.asarray(dynamics.pose(model, q, name), float).ravel()},
        "ellipsoids": frame_ellipsoids(state, name, size),
        "com": dynamics.center_of_mass(model, q) if dynamics.total_mass(model) > 0 else None,
        "dq": dq,
        "ddq": state.ddq,
    }


def frame_ellipsoids(state: State, frame: str | None, size: float) -> dict[str, dict[str, Array]]:
    """Mass and force ellipsoid at a frame, the longest finite axis of each `size` long.

    An axis without mobility is 1.5 as long. They are not computed for robots with constraints.
    """
    ellipsoids: dict[str, dict[str, Array]] = {}
    for kind in ELLIPSOIDS if state.robot.model.constraints is None and state.robot.n else ():
        try:
            found = getattr(dynamics, f"{kind}_ellipsoid")(state.robot, state.q, frame)
        except SingularityError:
            continue  # a link without mass: M has no inverse, and there is no ellipsoid
        lengths, R = np.asarray(found.lengths, float), np.array(found.axes, float)
        is_finite = np.isfinite(lengths)
        scale = size / max(float(np.max(lengths[is_finite], initial=0.0)), 1e-12)
        radii = np.maximum(np.where(is_finite, lengths * scale, 1.5 * size), 0.01 * size)
        R[:, 0] *= np.sign(np.linalg.det(R))
        ellipsoids[kind] = {"R": R.ravel(), "radii": radii, "lengths": lengths}
    return ellipsoids
