"""Runs: a preset simulated from a state, with the limits of joints as stops or as remarks.

A stop is a stiff spring with damping in the joint, beyond its limit only. Its force is not a force
of the motor, so the page gets both apart.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import number
from kinetree.dynamics import forward_kinematics
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.motion.trajectory import Trajectory
from kinetree.scalars import Scalar, clip, maximum
from kinetree.simulate.events import Halt
from kinetree.simulate.limits import CLOSURE, SimulationError, Violation
from kinetree.spatial import cross
from kinetree.views.workbench.presets import (
    ARRIVAL,
    FOLLOW,
    GO,
    Law,
    controller,
    find_preset,
    planned_duration,
)
from kinetree.views.workbench.state import Push, State

SHORTEST, LONGEST = 0.1, 60.0  # s of a run
LONGEST_RUN_S = 20.0  # of computing time, after which a run ends with what it has
SAMPLE = 0.01  # s between samples of a short run
CONTACT_STEP = 0.002  # s of a step of a robot with contacts
MAX_SAMPLES = 1500  # of a run
STIFF = 120.0  # rad/s at which a joint alone would bounce on its stop
SKIN = 2e-3  # rad or m in which the damping of a stop grows from zero, so that no force jumps
MAX_REMARKS = 8  # below a run
STILL, TOUCH = 1e-9, 1e-6  # rad or m: less is no motion, and no contact with a stop


@dataclass(frozen=True, eq=False)
class Run:
    """A motion, the forces of the stops (T, n) or None, and remarks on limits and on its end."""

    trajectory: Trajectory
    stops: Array | None
    remarks: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Stops:
    """Stops of joints with limits: entries of q and dq, limits, stiffness in N m/rad or N/m."""

    coords: Array
    dofs: Array
    lower: Array
    upper: Array
    stiffness: Array
    n: int

    def force(self, q: Array, dq: Array) -> Array:
        """Joint forces of all stops, (n,); numbers or traced scalars."""
        tau = np.zeros(self.n, int).astype(object)
        for c, d, low, high, k in zip(
            self.coords, self.dofs, self.lower, self.upper, self.stiffness, strict=True
        ):
            damping = 2 * k / STIFF
            for depth, rate, sign in ((low - q[c], -dq[d], 1), (q[c] - high, dq[d], -1)):
                if not np.isfinite(low if sign > 0 else high):
                    continue
                inside = maximum(depth, 0.0)
                push = inside * k + rate * clip(inside / SKIN, 0, 1) * damping
                tau[d] = tau[d] + maximum(push, 0.0) * sign
        return tau


def stops_of(state: State) -> Stops | None:
    """Stops of the robot of a state; None if no joint has limits."""
    model = state.robot.model
    bounds = bounds_of(model)
    limited = np.isfinite(bounds.lower) | np.isfinite(bounds.upper)
    dofs = np.flatnonzero(limited & (bounds.coords >= 0))
    if not len(dofs):
        return None
    inertia = np.diag(np.asarray(state.robot.mass_matrix(state.q), float))[dofs]
    stiffness = np.maximum(inertia, 1e-6) * STIFF**2
    lower, upper = bounds.lower[dofs], bounds.upper[dofs]
    return Stops(bounds.coords[dofs], dofs, lower, upper, stiffness, model.n)


def simulated(
    law: Law,
    state: State,
    *,
    stops: bool,
    closing: threading.Event,
    longest_run: float = LONGEST_RUN_S,
) -> Run:
    """Simulate a preset from a state; a push keeps its direction in {s}.

    stops: whether limits of position are stops; otherwise they are reported. closing: set when the
    workbench ends, which ends the run.
    """
    if not SHORTEST <= law.duration <= LONGEST:
        raise InputError(f"duration is {law.duration:g} s; expected {SHORTEST:g} to {LONGEST:g} s.")
    if law.preset.weightless:
        state = state.replace(robot=state.robot.with_gravity([0.0, 0.0, 0.0]))
    driven = [x.name for x in state.robot.model.joints if x.drive is not None]
    touching = state.robot.model.contacts is not None
    stops_acting = stops_of(state) if stops and not driven else None
    end = time.monotonic() + longest_run

    def ends() -> bool:
        return closing.is_set() or time.monotonic() > end

    steps: dict[str, Any] = {"duration": law.duration, "dt": CONTACT_STEP}
    if not touching:
        spacing = max(SAMPLE, law.duration / (MAX_SAMPLES - 100))
        steps = {"duration": law.duration, "method": "LSODA", "record": spacing}
    remarks: list[str] = []
    if stops and driven:
        remarks.append(
            f"Joints with drives have no stops here ({driven[0]} and others): limits are reported."
        )
    try:
        trajectory = state.robot.simulate(
            state.q,
            state.dq,
            **steps,
            controller=controller(law, state),
            tau=None if stops_acting is None else lambda t, q, dq: stops_acting.force(q, dq),
            F_ext=steady(state.push, state.robot.model),
            limits="record",
            events=Halt(asked=ends),
            progress=False,
        )
    except SimulationError as error:
        if error.trajectory is None or len(error.trajectory) < 2:
            raise
        trajectory = error.trajectory
        remarks.append(f"The run ended early: {error}")
    if time.monotonic() > end and trajectory.t[-1] < law.duration:
        remarks.append(
            f"The run was stopped after {longest_run:g} s of computing, at t = "
            f"{number(trajectory.t[-1])} s of {law.duration:g} s."
        )
    stuck = [str(x) for x in trajectory.meta.get("stuck", ())][:MAX_REMARKS]
    remarks += [*(stuck or still_remark(trajectory)), *limit_remarks(trajectory, stops_acting)]
    return Run(
        trajectory,
        None if stops_acting is None else stop_forces(stops_acting, trajectory),
        tuple(remarks),
    )


def asked_law(
    state: State,
    name: str,
    gains: tuple[float | None, float | None],
    duration: float | None,
    target: Array | None,
    rest: Array,
    extent: float,
) -> Law:
    """The law of a request; gains and duration that are left out are those of the preset."""
    preset = find_preset(state.robot, name)
    known = preset.gains or {}
    kp, kd = (
        known.get(key, {}).get("value", 0.0) if value is None else value
        for key, value in zip(("kp", "kd"), gains, strict=True)
    )
    if kp < 0 or kd < 0:
        raise InputError(f"kp is {kp:g} and kd is {kd:g}; expected 0 or more.")
    length = duration
    if length is None:  # long enough for a motion within the limits
        goes = preset.name == GO or (preset.name == FOLLOW and target is not None)
        planned = planned_duration(state, rest if target is None else target) if goes else 0.0
        length = min(max(preset.duration, planned / ARRIVAL), LONGEST)
    return Law(preset, kp, kd, length, target, rest, extent)


def steady(push: Push | None, model: Model) -> Callable[[Scalar, Array, Array], Array] | None:
    """F_ext(t, q, dq) of the push: constant in {s}, however the link turns; None without a push."""
    if push is None:
        return None

    def law(t: Scalar, q: Array, dq: Array) -> Array:
        R_is = forward_kinematics(model, q)[push.link][:3, :3].T
        f, n = R_is @ push.force, R_is @ push.moment
        F = np.zeros((len(model.links), 6), int).astype(object)
        F[push.link] = np.concatenate([n + cross(push.point, f), f])
        return F

    return law


def stop_forces(stops: Stops, trajectory: Trajectory) -> Array:
    """Joint forces of the stops at every sample, (T, n)."""
    rows = zip(trajectory.q, trajectory.dq, strict=True)
    return np.array([stops.force(q, dq) for q, dq in rows], float)


def limit_remarks(trajectory: Trajectory, stops: Stops | None) -> list[str]:
    """Sentences on stops that were reached and on limits that were exceeded, earliest first."""
    timed = [] if stops is None else stop_remarks(trajectory, stops)
    violations: Sequence[Violation] = trajectory.meta.get("violations", ())
    timed += [
        (x.t, violation_words(x)) for x in violations if stops is None or x.quantity != "position"
    ]
    timed.sort(key=lambda x: x[0])
    texts = [text for _, text in timed]
    more = len(texts) - MAX_REMARKS
    return texts[:MAX_REMARKS] + ([f"and {more} more limits."] if more > 0 else [])


def violation_words(x: Violation) -> str:
    """A sentence on a limit that a joint exceeds, with the time and the amount."""
    if x.by is None:
        return f"{x.quantity} of joint {x.joint} is not finite at t = {number(x.t)} s."
    beyond = f"by {number(x.by, 3)} {x.unit} at t = {number(x.t)} s"
    if x.quantity == CLOSURE:
        return f"The constraint equation {x.joint} is open {beyond}."
    return f"{x.joint} exceeds its limit of {x.quantity} {beyond}."


def still_remark(trajectory: Trajectory) -> list[str]:
    """A sentence for a run in which nothing moves, with what to do."""
    if np.ptp(trajectory.q, axis=0).max(initial=0.0) > STILL:
        return []
    return ["Nothing moves: the robot is in balance. Move a slider or push the robot first."]


def stop_remarks(trajectory: Trajectory, stops: Stops) -> list[tuple[float, str]]:
    """Time and sentence for every stop that was reached."""
    remarks: list[tuple[float, str]] = []
    names, sliding = trajectory.dof_names, bounds_of(trajectory.model).sliding  # type: ignore[arg-type]
    ends = (("lower", stops.lower, 1.0), ("upper", stops.upper, -1.0))
    for k, (c, d) in enumerate(zip(stops.coords, stops.dofs, strict=True)):
        for words, limits, sign in ends:
            beyond = sign * (limits[k] - trajectory.q[:, c])
            hit = np.flatnonzero(beyond > TOUCH)
            if not len(hit):
                continue
            unit, t = "m" if sliding[d] else "rad", float(trajectory.t[hit[0]])
            remarks.append(
                (
                    t,
                    f"{names[d]} is at its {words} stop, {number(limits[k])} {unit}, at t = "
                    f"{number(t)} s; it presses up to {number(beyond.max(), 2)} {unit} into it.",
                )
            )
    return remarks
