"""Runs: a preset simulated from a state, with contacts, pushes and stops at limits of joints."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing, number
from kinetree.dynamics import forward_kinematics
from kinetree.errors import InputError, KinetreeWarning
from kinetree.model import Model
from kinetree.motion.trajectory import Trajectory
from kinetree.scalars import Scalar
from kinetree.simulate.events import Halt
from kinetree.simulate.limits import SimulationError, Violation
from kinetree.simulate.options import STEP_LAW, MethodName
from kinetree.spatial import cross
from kinetree.views.workbench.presets import Law, controller
from kinetree.views.workbench.state import Push, State

SHORTEST, LONGEST = 0.1, 60.0  # s of a run
LONGEST_RUN_S = 20.0  # of computing time, after which a run ends with what it has
STEP = 0.002  # s of a step
MAX_SAMPLES = 1500  # of a run
MAX_REMARKS = 8  # below a run
SLIGHT = 1e-6  # of the largest force of a stop: less is rounding
STILL = 1e-9  # rad or m: less is no motion


@dataclass(frozen=True, eq=False)
class Run:
    """A motion, and remarks on limits and on its end."""

    trajectory: Trajectory
    remarks: tuple[str, ...]


def simulated(law: Law, state: State, *, stops: bool, ended: Callable[[], bool]) -> Run:
    """Simulate a preset from a state; a push keeps its direction in {s}.

    stops: whether limits of position stop joints; otherwise they are reported. ended: whether the
    user or the workbench ends the run.
    """
    if not SHORTEST <= law.duration <= LONGEST:
        raise InputError(f"duration is {law.duration:g} s; expected {SHORTEST:g} to {LONGEST:g} s.")
    end, remarks = time.monotonic() + LONGEST_RUN_S, list[str]()

    def run(method: MethodName | None) -> Trajectory:
        try:
            return state.robot.simulate(
                state.q,
                state.dq,
                duration=law.duration,
                method=method,
                dt=STEP,
                every=math.ceil(law.duration / STEP / (MAX_SAMPLES - 1)),
                controller=controller(law, state),
                F_ext=steady(state.push, state.robot.model),
                limits="stop" if stops and method == STEP_LAW else "record",
                events=Halt(asked=lambda: ended() or time.monotonic() > end),
                progress=False,
            )
        except SimulationError as error:
            if error.trajectory is None or len(error.trajectory) < 2:
                raise
            remarks.append(f"The run ended early: {error}")
            return error.trajectory

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KinetreeWarning)
        # steps with stops are of first order; a motion that meets no stop has better ones
        trajectory = run(STEP_LAW if state.robot.model.contacts is not None else None)
        violations: Sequence[Violation] = trajectory.meta.get("violations", ())
        if stops and any(x.quantity == "position" for x in violations):
            remarks.clear()
            trajectory = run(STEP_LAW)
    remarks += [str(x.message) for x in caught if issubclass(x.category, KinetreeWarning)]
    if trajectory.t[-1] < law.duration - STEP and (ended() or time.monotonic() > end):
        why = f"after {LONGEST_RUN_S:g} s of computing" if time.monotonic() > end else "by you"
        remarks.append(f"The run was stopped {why}, at t = {number(trajectory.t[-1])} s.")
    if np.ptp(trajectory.q, axis=0).max(initial=0.0) <= STILL:
        remarks.append("Nothing moves: the robot is in balance. Move a slider or push it first.")
    return Run(trajectory, (*remarks, *limit_remarks(trajectory)))


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


def limit_remarks(trajectory: Trajectory) -> list[str]:
    """Sentences on joints that rest at a stop and on limits that were exceeded."""
    stuck = [str(x) for x in trajectory.meta.get("stuck", ())]
    texts = [*stuck, *(violation_words(x) for x in trajectory.meta.get("violations", ()))]
    pushes = {x: float(np.abs(y).max()) for x, y in trajectory.meta.get("stop_forces", {}).items()}
    most = max(pushes.values(), default=0.0)
    names = [name for name, x in pushes.items() if x > SLIGHT * most]
    texts += [f"At their stops: {listing(names, 6)}."] if names else []
    more = len(texts) - MAX_REMARKS
    return texts[:MAX_REMARKS] + ([f"and {more} more limits."] if more > 0 else [])


def violation_words(x: Violation) -> str:
    """A sentence on a limit that a joint exceeds, with the time and the amount."""
    if x.by is None:
        return f"{x.quantity} of joint {x.joint} is not finite at t = {number(x.t)} s."
    beyond = f"by {number(x.by, 3)} {x.unit} at t = {number(x.t)} s"
    return f"{x.joint} exceeds its limit of {x.quantity} {beyond}."
