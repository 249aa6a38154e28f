"""Robot.step: one step of simulate, which costs no more than its kernel.

A plain call on one state enters machine code directly, and so does one with `method=`
(backends/call/choice.py); a function in Python takes calls with other options, batches and other
arguments.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kinetree.algorithms.actuation import check_step_actuators
from kinetree.algorithms.steps import METHODS
from kinetree.backends.call.choice import Choice
from kinetree.backends.kernel import Door, Kernel
from kinetree.errors import InputError
from kinetree.kernels.memo import kernel
from kinetree.kernels.step import gain_names, step_name
from kinetree.model import HasModel, Model

DEFAULT = "semi_implicit_euler"


def make_step(robot: HasModel, like: Callable[..., Any]) -> Kernel:
    """Return the kernel that `Robot.step` is; `like` is the method, with its documentation."""
    model = robot.model
    found = kernel(model, step_name(DEFAULT))
    reduced = getattr, (robot, "step")
    shown = like.__doc__ or "", inspect.signature(like), reduced

    def learn(method: str, own: Kernel) -> None:
        choice.add(method, own.behind(Door(partial(function, method=method), *shown)))

    function = step_function(model, learn)
    choice = Choice(function, "method")
    return found.behind(Door(choice.call, *shown))


def step_function(model: Model, learn: Callable[[str, Kernel], None]) -> Callable[..., Any]:
    """Return the function that takes every call, with the kernels that it needs at hand.

    Args:
        model: the robot.
        learn: is given the kernel of a method when it is first used.
    """
    kernels: dict[str, Kernel] = {}  # by method
    longest = float("inf")

    def compiled(method: str) -> Kernel:
        found = kernel(model, step_name(method))
        learn(method, found)
        return kernels.setdefault(method, found)

    def step(
        q: object,
        dq: object,
        tau: object = None,
        dt: object = None,
        F_ext: object = None,
        *,
        method: str = DEFAULT,
        kp: Any = None,
        kd: Any = None,
        controls: object = None,
        activation: object = None,
        out: object = None,
    ) -> Any:
        if controls is not None or activation is not None:
            given = _controlled(model, dq, tau, controls, activation, (kp, kd))
            name = step_name(method, controls=True, activation=activation is not None)
            found, given = kernel(model, name), [q, dq, given[0], checked_length(dt), *given[1:]]
            given += [] if F_ext is None else [F_ext]
            return found(*given) if out is None else found(*given, out=out)
        try:
            found = kernels[method]
        except (KeyError, TypeError):  # the first time, or not a method
            found = compiled(method)
        plain = F_ext is out is kp is kd is None
        if plain and type(dt) is float and 0.0 < dt < longest and tau is not None:
            return found(q, dq, tau, dt)
        if tau is None:
            raise InputError(
                "tau is missing; expected joint forces (N m or N), or controls of the actuators."
            )
        given = [q, dq, tau, checked_length(dt)]
        gains = {name: x for name, x in (("kp", kp), ("kd", kd)) if x is not None}
        if gains:
            found = kernel(model, step_name(method, gains=tuple(gains)))
            known = next(iter(gains.values()))
            zeros = known * 0 if hasattr(known, "dtype") else np.zeros(model.n)
            given += [gains.get(name, zeros) for name in gain_names(METHODS[method])]
        given += [] if F_ext is None else [F_ext]
        return found(*given) if out is None else found(*given, out=out)

    return step


def _controlled(
    model: Model,
    dq: Any,
    tau: object,
    controls: object,
    activation: object,
    gains: tuple[object, object],
) -> list[object]:
    """Joint forces, controls and activations of a step with actuators, complete and consistent."""
    check_step_actuators(model)
    states, names = model.activation_names, ", ".join(model.activation_names)
    if controls is None:
        raise InputError(
            f"activation is given without controls; expected controls of the actuators of "
            f"{model.name!r}: {', '.join(model.actuator_names)}."
        )
    if activation is None and states:
        raise InputError(
            f"activation is missing: actuators of {model.name!r} have a state ({names}). Give "
            "activation=..., 0 at the start, and the third result of a step to the next one."
        )
    if activation is not None and not states:
        raise InputError(
            f"activation is given, but no actuator of {model.name!r} has a state; leave it out."
        )
    if any(x is not None for x in gains):
        raise InputError(
            "kp and kd are slopes of tau and are not taken together with controls, whose slopes "
            "are known from the actuators. Describe the servo behind tau as an actuator, or give "
            "its force without slopes."
        )
    if tau is None:  # zeros of the same kind of array
        tau = dq * 0 if hasattr(dq, "dtype") else np.zeros(model.n)
    return [tau, controls, *([] if activation is None else [activation])]


def checked_length(dt: object) -> object:
    """Return dt, as a float if it is a number; raise InputError unless it is positive and finite.

    Arrays of NumPy, lists and numbers are looked at. Tensors are not: their values may be on
    another device, or not yet known.
    """
    if isinstance(dt, bool | str) or dt is None:
        raise InputError(f"dt is {dt!r}; expected the length of a step in seconds, such as 0.001.")
    if not isinstance(dt, complex | float | int | list | tuple | np.ndarray | np.generic):
        return dt
    values = np.asarray(dt)
    if values.dtype.kind not in "fiu":
        raise InputError(f"dt has values of type {values.dtype}; expected seconds as numbers.")
    bad = ~((values > 0) & np.isfinite(values))
    if bad.any():
        at = tuple(int(k) for k in np.argwhere(bad)[0]) if values.ndim else ()
        where = f"dt{list(at)}" if at else "dt"
        raise InputError(
            f"{where} is {float(values[at]):g}; expected the length of a step in seconds, positive "
            "and finite."
        )
    return float(values) if isinstance(dt, int | float | np.integer) else dt
