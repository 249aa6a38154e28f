"""Robot.step: one step of simulate, which costs no more than its kernel.

A plain call on one state enters machine code directly; a function in Python takes calls with
options, batches and other arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cached_property
from types import MethodType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.options import numbers
from kinetree.dynamics.joints.actuation import check_step_actuators
from kinetree.dynamics.methods import METHODS
from kinetree.engine.kernel import Kernel, PublicCall, with_public_call
from kinetree.engine.kernels.memo import kernel
from kinetree.engine.kernels.step import step_name
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.robot.core import RobotCore

if TYPE_CHECKING:
    from kinetree.engine.kernels.signatures import Beside, Form, Named

DEFAULT = "semi_implicit_euler"
OPTIONS = ("kp", "kd", "controls", "activation")
StepMethod = Literal[
    "semi_implicit_euler", "time_stepping", "implicit", "implicitfast", "rk4", "euler"
]


class StepOptions(TypedDict, total=False):
    """Options of a step."""

    method: StepMethod
    kp: Any
    kd: Any
    out: Any


class Stepping(RobotCore):
    """One step of a robot."""

    @overload
    def step(
        self,
        q: Named,
        dq: Beside,
        tau: Beside | None,
        dt: Array | float,
        F_ext: ArrayLike | None = None,
        **options: Unpack[StepOptions],
    ) -> tuple[dict[str, Any], dict[str, Any]]: ...
    @overload
    def step(
        self,
        q: Form,
        dq: Form | Beside,
        tau: Form | Beside | None,
        dt: Form | ArrayLike,
        F_ext: Form | ArrayLike | None = None,
        **options: Unpack[StepOptions],
    ) -> tuple[Form, Form]: ...
    @overload
    def step(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        tau: ArrayLike | None,
        dt: ArrayLike,
        F_ext: ArrayLike | None = None,
        **options: Unpack[StepOptions],
    ) -> tuple[Array, Array]: ...
    @overload
    def step(
        self,
        q: object,
        dq: object,
        tau: object = None,
        *,
        dt: object,
        F_ext: object = None,
        controls: object,
        activation: object = None,
        **options: Unpack[StepOptions],
    ) -> tuple[Any, ...]: ...
    def step(
        self,
        q: object,
        dq: object,
        tau: object = None,
        dt: object = None,
        F_ext: object = None,
        *,
        method: str = DEFAULT,
        kp: object = None,
        kd: object = None,
        controls: object = None,
        activation: object = None,
        out: object = None,
    ) -> Any:
        """Joint positions and rates after one step of the time dt.

        The step is that of `simulate` with the same method, to rounding. Forces are constant
        in the step; Coulomb friction stops and holds joints. A robot with constraints must begin
        on them (errors below 1e-8 rad or m, or 1e-4 in float32; otherwise the results are NaN), and
        the end of its step is projected onto them.

        Args:
            q: joint positions, shape (..., nq), rad or m; quaternions of length 1.
            dq: joint rates, shape (..., n), rad/s or m/s.
            tau: joint forces, shape (..., n), N m or N; None: no forces but those of actuators.
            dt: length of the step, shape (...), s, positive.
            F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
                shape (..., l, 6), N m and N; `robot.wrenches` makes them. None: no wrench.
            method: "semi_implicit_euler" (q moves with the new dq), "implicit" (the same with the
                friction and the springs of the end of the step: stable for damping and stiffness of
                any size), "implicitfast" (with the friction of the end of the step alone, as in
                MuJoCo), "rk4" (of order 4) or "euler" (q moves with the old dq).
            kp: -d tau/d q of each joint, shape (..., n), N m/rad or N/m; None: 0. With it
                "implicit" takes the tau of the end of the step, so that stiff servos are stable.
            kd: -d tau/d dq of each joint, shape (..., n), N m s/rad or N s/m, for "implicit" and
                "implicitfast"; None: 0.
            controls: controls of the actuators, shape (..., u), in the order of
                `robot.model.actuator_names`; None: actuators do not act. Their forces add to tau,
                and implicit methods take their slopes into account.
            activation: activations of the actuators that have a state, shape (..., a), in the order
                of `robot.model.activation_names`; None: no actuator has one.
            out: arrays for the results; None: new arrays.

        Returns:
            q_next: joint positions after the step, shape (..., nq), rad or m.
            dq_next: joint rates after the step, shape (..., n), rad/s or m/s.
            activation_next: activations after the step, shape (..., a), if activations are given.

        Arrays, lists and tensors follow `robot.coordinate_names` (q) and `robot.dof_names` (the
        others); a dict, a pandas Series or DataFrame or a polars DataFrame is aligned by these
        names, and results are labelled alike. Leading axes broadcast. In shapes, n
        is `robot.n`, nq is `robot.nq`, l the number of moving links, ... any leading axes.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> q, dq = robot.step([0.1, 0.2], [1, 0], [0, 0], 0.01)
            >>> q.round(6)
            array([0.108442, 0.202853])
        """
        kind = method, *(x is not None for x in (kp, kd, controls, activation))
        try:
            found = self._steps[kind]
        except (KeyError, TypeError):  # the first time, or not a method
            found = self._compiled_step(*kind)
        if tau is None:
            if controls is None:
                raise InputError(
                    "tau is missing; expected joint forces (N m or N), or controls of the "
                    "actuators."
                )
            tau = zeros_like(dq, self.n)
        if not (type(dt) is float and 0.0 < dt < float("inf")):
            dt = checked_length(dt)
        given = [q, dq, tau, dt]
        if kp is not None or kd is not None:
            if METHODS[method].positions:
                given.append(zeros_like(kd, self.n) if kp is None else kp)
            given.append(zeros_like(kp, self.n) if kd is None else kd)
        given += [x for x in (controls, activation, F_ext) if x is not None]
        try:
            return found(*given) if out is None else found(*given, out=out)
        except ShapeError as problem:
            if controls is None:
                raise
            names = ", ".join(self.model.actuator_names)
            raise ShapeError(f"{problem} The actuators are {names}.") from None

    @cached_property
    def _steps(self) -> dict[tuple[object, ...], Kernel]:
        """Kernels of a step by the method and the options that are given."""
        return {}

    def _compiled_step(self, method: str, *given: bool) -> Kernel:
        """Make the kernel of a step; plain calls of `step` enter that of the default method."""
        names = [x for x, here in zip(OPTIONS, given, strict=True) if here]
        found = kernel(self.model, option_name(self.model, method, names))
        if "step" not in self.__dict__:
            plain = kernel(self.model, step_name(DEFAULT))
            step = MethodType(Stepping.step, self)
            shown = step.__doc__ or "", inspect.signature(step), (getattr, (self, "step"))
            self.__dict__["step"] = with_public_call(plain, PublicCall(step, *shown))
        return self._steps.setdefault((method, *given), found)


def zeros_like(x: Any, n: int) -> object:
    """Zeros of the same kind of array as x; (n,) for one state, lists and dicts."""
    if isinstance(x, np.ndarray):
        return np.zeros_like(x)
    return x * 0 if hasattr(x, "dtype") else np.zeros(n)


def option_name(model: Model, method: str, names: Sequence[str]) -> str:
    """The quantity of a step with these further arguments; raise if they are not consistent."""
    if not {"controls", "activation"} & {*names}:
        return step_name(method, gains=tuple(names))
    check_step_actuators(model)
    states = ", ".join(model.activation_names)
    if "controls" not in names:
        raise InputError(
            f"activation is given without controls; expected controls of the actuators of "
            f"{model.name!r}: {', '.join(model.actuator_names)}."
        )
    if ("activation" in names) != bool(states):
        raise InputError(
            f"activation is {'missing' if states else 'given'}, and the actuators of "
            f"{model.name!r} with a state are: {states or 'none'}. Expected a value for each, 0 at "
            "the start, then the third result of the step before."
        )
    if {"kp", "kd"} & {*names}:
        raise InputError(
            "kp and kd are slopes of tau and are not taken together with controls, whose slopes "
            "are known from the actuators. Describe the servo behind tau as an actuator, or give "
            "its force without slopes."
        )
    return step_name(method, controls=True, activation=bool(states))


def checked_length(dt: object) -> object:
    """Return dt, as a float if it is a number; raise InputError unless it is positive and finite.

    Tensors are not looked at: their values may be on another device, or not yet known.
    """
    if hasattr(dt, "dtype") and not isinstance(dt, np.ndarray | np.generic):
        return dt
    expected = "the length of a step in seconds, positive and finite"
    values = numbers(dt, "dt", expected)
    if isinstance(dt, bool) or not ((values > 0) & np.isfinite(values)).all():
        raise InputError(f"dt is {dt!r:.60}; expected {expected}.")
    return values if values.ndim else float(values)
