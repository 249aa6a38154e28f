"""Actuation: actuators and drives between the commands of a simulation and the joint forces.

    controls -> delay -> actuators -> joint forces, added to those of laws -> delay -> lag ->
    peak and torque-speed curve of the drive -> tau that acts

The memory that this needs follows the controller's own state in z: activations, controls and joint
forces that are under way, and lagged forces. With fixed steps these are registers: values in the
place of rates replace them at the end of a step (dynamics/state.py), so that a delay is a shift
by whole samples, and a lag is exact for a command that is constant in the step. Activations are
registers in steps with one stage, as in MuJoCo, and are integrated by the others, which clamp them
where they act and after each step. The adaptive method integrates activations and lags, and has no
delays.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.dynamics.joints.actuation import (
    Actuated,
    activation_ranges,
    activation_rates,
    actuate,
    actuator_gains,
    control_gains,
    drive_forces,
    drive_gains,
    limited_drives,
    next_activations,
)
from kinetree.dynamics.joints.gains import Gains
from kinetree.dynamics.methods import Method
from kinetree.errors import InputError
from kinetree.files.description.actuators import UNLIMITED, Range
from kinetree.model import Model
from kinetree.scalars import Scalar, exp
from kinetree.simulate.inputs import constant, side_by_side
from kinetree.spatial.matrices import is_zero

MAX_DELAY_STEPS = 10_000  # steps of a delay: compiled code grows with each of them


@dataclass(frozen=True, eq=False)
class DriveOutput:
    """Joint forces that act, (n,), and the rates or next values of the memory, (size,).

    asked: joint forces before the limits of the drives. command: before delay and lag as well.
    u: controls. early: length of the step for actuators that act early, or None.
    """

    tau: Array
    dz: list[Any]
    asked: Array
    command: Array
    actuated: Actuated | None
    u: Array | None = None
    early: Scalar | None = None


@dataclass(frozen=True)
class Actuation:
    """The memory of actuators and drives, in samples of fixed steps.

    method: of fixed steps; None: adaptive ones. control_delays: samples of delay of each actuator
    that acts. drive_delays: of degrees of freedom that have one. lags: time constants of degrees of
    freedom that have one, s. limited: drives limit forces.
    """

    method: Method | None
    activations: int
    control_delays: tuple[int, ...]
    drive_delays: tuple[tuple[int, int], ...]
    lags: tuple[tuple[int, float], ...]
    limited: bool

    @property
    def sampled(self) -> bool:
        """True if forces are evaluated once a step."""
        return self.method is not None and self.method.sampled

    @property
    def driven(self) -> bool:
        """True if a drive changes commands."""
        return self.limited or bool(self.drive_delays or self.lags)

    @property
    def memory(self) -> int:
        """Numbers in z for delays and lags."""
        delays = sum(self.control_delays) + sum(count for _, count in self.drive_delays)
        return delays + len(self.lags)

    @property
    def size(self) -> int:
        """Numbers in z, after the controller's own."""
        return self.activations + self.memory

    @property
    def registers(self) -> int:
        """Count of the last numbers of z, which are replaced at the end of a step."""
        if self.method is None:
            return 0
        return self.size if self.sampled else self.memory

    def ranges(self, model: Model) -> tuple[Range, ...]:
        """Ranges of the numbers of z before the registers, as far as activations are integrated."""
        if not self.activations or self.sampled:
            return ()
        integrated = self.memory if self.method is None else 0
        return (*activation_ranges(model), *([UNLIMITED] * integrated))

    def act(
        self,
        model: Model,
        state: tuple[Array, Array, Array],
        tau: Array,
        u: Array | None,
        h: Scalar | None,
    ) -> DriveOutput:
        """Forces of a state (q, dq, memory) with the forces of laws tau and the controls u."""
        q, dq, z = state
        a, at, dz, actuated = z[: self.activations], self.activations, list[Any](), None
        memory: list[Any] = []
        early = h if self.sampled else None
        if u is not None:
            arriving = list(u)
            for k, count in enumerate(self.control_delays):
                arriving[k], at = _delayed(z, at, count, u[k], memory)
            now = np.array(arriving)
            actuated = actuate(model, q, dq, now, a, early)
            tau = tau + actuated.tau
            if early is not None:
                dz = next_activations(model, now, a, early)
            else:
                dz = activation_rates(model, now, a, held=self.method is None)
        command, asked = tau, list(tau)
        for d, count in self.drive_delays:
            asked[d], at = _delayed(z, at, count, asked[d], memory)
        for d, lag in self.lags:
            rate = (asked[d] - z[at]) / lag
            part = rate if h is None else _exact(z[at], asked[d], lag, h)
            memory.append(part)
            asked[d], at = z[at], at + 1
        forces = np.array(asked) if self.drive_delays or self.lags else tau
        tau = drive_forces(model, dq, forces)
        return DriveOutput(tau, [*dz, *memory], forces, command, actuated, u, early)

    def gains(
        self,
        model: Model,
        dq: Array,
        acted: DriveOutput,
        of_laws: Gains | None,
        of_controls: Array | None = None,
    ) -> Gains | None:
        """Slopes of the joint forces that act.

        Commands have none where a drive has a memory or limits them; where its torque-speed curve
        limits them, the slope is that of the curve.

        Args:
            model: the robot.
            dq: joint rates, (n,).
            acted: the forces.
            of_laws: slopes of the joint forces of laws; None: none.
            of_controls: d u/d (q, dq) of a law of controls, (u, 2n); None: controls are constant.
        """
        total = of_laws
        if acted.actuated is not None:
            slopes = actuator_gains(
                model, acted.actuated, across=self.method is None or self.method.positions
            )
            total = slopes if total is None else total.plus(slopes)
            if of_controls is not None and acted.u is not None:
                late = {k for k, count in enumerate(self.control_delays) if count}
                slopes = control_gains(
                    model, acted.actuated, acted.u, of_controls, acted.early, late
                )
                total = total.plus(slopes)
        if total is not None and all(map(is_zero, [*total.kp.flat, *total.kd.flat])):
            total = None
        slow = {d for d, _ in (*self.drive_delays, *self.lags)}
        if slow and total is not None:
            total = total.without(slow)
        return drive_gains(model, dq, acted.asked, total)

    def shown(self, acted: DriveOutput, u: Array | None) -> Array:
        """The numbers that are recorded beside tau: controls, and commands to the drives."""
        parts = [] if u is None else [u]
        parts += [acted.command] if self.driven else []
        return np.concatenate(parts) if parts else np.zeros(0, int)

    def named_parts(self, model: Model, z: Array) -> dict[str, Any]:
        """The memory of a record, (..., size), by name, for `meta`."""
        parts: dict[str, Any] = {}
        if self.activations:
            names = model.activation_names
            parts["activation"] = {name: z[..., k] for k, name in enumerate(names)}
        if self.memory:
            parts["drive_state"] = z[..., self.activations :]
        return parts


def _delayed(z: Array, at: int, count: int, newest: Scalar, memory: list[Any]) -> tuple[Any, int]:
    """The oldest of the values under way, and the place behind them; `memory` gets the next."""
    if not count:
        return newest, at
    memory += [*z[at + 1 : at + count], newest]
    return z[at], at + count


def _exact(y: Scalar, goal: Scalar, lag: float, h: Scalar) -> Any:
    """A lagged value after the time h with a constant goal."""
    return y + (goal - y) * (1 - exp(-h / lag))


def read_actuation(
    model: Model, controlled: bool, method: Method | None, times: Array
) -> Actuation | None:
    """Read the actuators and drives that act; None if joint forces are the commands.

    Args:
        model: the robot.
        controlled: controls are given, so that actuators act.
        method: of fixed steps; None is the adaptive method.
        times: times of the steps, s.
    """
    if controlled and not model.actuators:
        raise InputError(
            f"controls were given, but {model.name!r} has no actuators; expected a robot with "
            "some: robot.with_actuators({name: kt.joints.Actuator.motor(joint)}), or an MJCF file "
            "with <actuator>. Joint forces are given as tau."
        )
    acting = model.actuators if controlled else ()
    drives = {x.dofs[0]: (x.name, x.drive) for x in model.joints if x.follows is None and x.drive}
    delays = {
        d: samples(drive.delay, f"delay of the drive of joint {name!r}", method, times)
        for d, (name, drive) in drives.items()
    }
    actuation = Actuation(
        method=method,
        activations=len(model.activation_names) if controlled else 0,
        control_delays=tuple(
            samples(x.delay, f"delay of actuator {x.name!r}", method, times) for x in acting
        ),
        drive_delays=tuple((d, count) for d, count in delays.items() if count),
        lags=tuple((d, drive.lag) for d, (_, drive) in drives.items() if drive.lag),
        limited=bool(limited_drives(model)),
    )
    return actuation if controlled or actuation.driven else None


def samples(delay: float, name: str, method: Method | None, times: Array) -> int:
    """A delay in whole steps; raise InputError if it is not a whole number of them."""
    if not delay:
        return 0
    if method is None:
        raise InputError(
            f"{name} is {delay:g} s, and the adaptive method has no time step to count it in. Take "
            "fixed steps, such as method 'rk4' or 'implicit'."
        )
    dt, last = float(times[1] - times[0]), float(times[-1] - times[-2])
    count = round(delay / dt)
    if count > MAX_DELAY_STEPS:
        raise InputError(
            f"{name} is {delay:g} s, which is {delay / dt:.6g} time steps of {dt:g} s; expected at "
            f"most {MAX_DELAY_STEPS:,}, because each of them is remembered."
        )
    if count < 1 or abs(delay / dt - count) > 1e-6 or abs(last - dt) > 1e-9 * dt:
        raise InputError(
            f"{name} is {delay:g} s; expected a whole number of time steps of {dt:g} s, and a "
            f"duration of whole time steps (the last one has {last:g} s)."
        )
    return count


def refuse_actuation(model: Model, what: str) -> None:
    """Raise InputError if drives of a robot change commands, which `what` cannot take."""
    drives = [(x.name, x.drive) for x in model.joints if x.drive is not None]
    for joint, drive in drives:
        parts = {"lag": drive.lag, "delay": drive.delay, "peak": drive.peak, "curve": drive.curve}
        names = [name for name, value in parts.items() if value]
        if names:
            raise InputError(
                f"{what} cannot take the drive of joint {joint!r} into account "
                f"({', '.join(names)}). Leave drives out: robot.with_drives({{joint: None}})."
            )


def first_memory(
    model: Model,
    actuation: Actuation | None,
    activation: StateLike | None,
    drive_state: ArrayLike | None,
) -> Array:
    """Activations and memory of the drives at the start, (..., size); 0 where not given.

    Activations are within their ranges from the start, so that all methods begin alike.
    """
    given = {"activation": activation, "drive_state": drive_state}
    if actuation is None:
        for name in (name for name, x in given.items() if x is not None):
            raise InputError(
                f"{name} is given, but no actuator or drive has a memory here; give controls "
                "of actuators too, or leave it out."
            )
        return np.zeros(0)
    sizes = {"activation": actuation.activations, "drive_state": actuation.memory}
    names = {"activation": ", ".join(model.activation_names), "drive_state": "delays, then lags"}
    parts = {
        name: np.zeros(size)
        if given[name] is None
        else constant(given[name], (size,), name, names[name] or "none")
        for name, size in sizes.items()
    }
    if actuation.activations:
        low, high = np.array(activation_ranges(model)).T
        parts["activation"] = np.clip(parts["activation"], low, high)
    return side_by_side(parts)
