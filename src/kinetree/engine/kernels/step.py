"""Kernels of one step: the rates and stages that `simulate` runs in its loop, as one function."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.closures import lean_items
from kinetree.dynamics.constraints.stepping import closed_start, closing
from kinetree.dynamics.contacts.points import lean_places
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.dynamics.joints.actuation import (
    activation_ranges,
    activation_rates,
    actuate,
    actuator_gains,
    check_step_actuators,
    check_step_drives,
    drive_forces,
    drive_gains,
    next_activations,
)
from kinetree.dynamics.joints.gains import Gains
from kinetree.dynamics.lean import lean_model, lean_tree
from kinetree.dynamics.methods import (
    METHODS,
    Close,
    Method,
    check_contact_method,
    take_stage,
    take_stages,
)
from kinetree.dynamics.state import StateSpace
from kinetree.dynamics.step_law import step_rate
from kinetree.dynamics.step_system import Step
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.quantity import Quantity, Result
from kinetree.scalars import Scalar

StepFunction = Callable[..., tuple[Array, ...]]

PREFIX = "step_"
GAINS = "_with_gains"  # of the kernel with slopes of tau as further arguments
CONTROLS = "_with_controls"  # of the kernel with controls of actuators as a further argument
ACTIVATION = "_with_activation"  # of the kernel with controls and activations


def gain_names(method: Method) -> tuple[str, ...]:
    """The slopes of tau that a method can take: kp and kd, kd alone, or none."""
    if not method.implicit:
        return ()
    return ("kp", "kd") if method.positions else ("kd",)


def method_of(name: str) -> tuple[Method, tuple[str, ...]]:
    """The method of a quantity such as "step_rk4", and its arguments between dt and F_ext."""
    method_name, _, kind = name.removeprefix(PREFIX).partition("_with_")
    method, kind = METHODS[method_name], f"_with_{kind}"
    more = {CONTROLS: ("controls",), ACTIVATION: ("controls", "activation")}
    return method, gain_names(method) if kind == GAINS else more.get(kind, ())


def step_name(
    method: str, *, gains: Sequence[str] = (), controls: bool = False, activation: bool = False
) -> str:
    """The quantity of a method; raise InputError if there is none, or none with these gains."""
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"method is {method!r}; choose one of {', '.join(METHODS)}.")
    unused = [name for name in gains if name not in gain_names(METHODS[method])]
    if unused:
        takers = [f"{x.name!r}" for x in METHODS.values() if {*unused} <= {*gain_names(x)}]
        raise InputError(
            f"{' and '.join(unused)} given for method {method!r}, which does not use "
            f"{'them' if len(unused) > 1 else 'it'}; slopes of tau are for method "
            f"{' or '.join(takers)}."
        )
    if controls:
        return f"{PREFIX}{method}{ACTIVATION if activation else CONTROLS}"
    return f"{PREFIX}{method}{GAINS if gains else ''}"


def state_space(
    model: Model, method: Method, names: Sequence[str], dry: Sequence[int]
) -> StateSpace:
    """The states of a step with these arguments: q, dq and activations."""
    activations = len(model.activation_names) if "activation" in names else 0
    if method.sampled:
        return StateSpace(model, activations, tuple(dry), registers=activations)
    ranges = activation_ranges(model) if activations else ()
    return StateSpace(model, activations, tuple(dry), ranges=ranges)


def check_step(model: Model, method: Method, names: Sequence[str]) -> None:
    """Raise if a step with these arguments would be wrong.

    Drives and actuators may need a memory that it does not have.
    """
    check_step_drives(model)
    check_contact_method(model, method.name)
    if "controls" not in names:
        return
    check_step_actuators(model)
    if model.activation_names and "activation" not in names:
        raise InputError(
            f"actuators of {model.name!r} have activations ({', '.join(model.activation_names)}), "
            f"which a step must be given; expected a quantity that ends with {ACTIVATION!r}."
        )


def joint_forces(
    model: Model,
    method: Method,
    x: tuple[Array, Array, Array],
    tau: Array,
    arguments: Mapping[str, Any],
) -> tuple[Array, Gains | None, Array]:
    """Joint forces of a state x = (q, dq, a), their slopes, and the activations after the step.

    The latter are rates where the method has several stages. Slopes are those of the actuators,
    or the gains that were given. Drives limit the sum of all forces.
    """
    q, dq, a = x
    h, kp, kd = arguments["h"], arguments.get("kp"), arguments.get("kd")
    gains = None if kp is kd is None else Gains.of_joints(kp, kd)
    if "controls" in arguments:
        u = arguments["controls"]
        at_work = actuate(model, q, dq, u, a, h if method.sampled else None)
        tau = tau + at_work.tau
        across = method.positions  # "implicitfast" is that of MuJoCo
        gains = actuator_gains(model, at_work, across=across) if method.implicit else None
        if method.sampled:
            a = np.array(next_activations(model, u, a, h))
        else:
            a = np.array(activation_rates(model, u, a, held=False))
    if method.implicit:
        gains = drive_gains(model, dq, tau, gains)
    return drive_forces(model, dq, tau), gains, a


def whole_step(
    name: str, *, marked: bool = True, stops: bool = True
) -> Callable[[Model, bool, str | None], StepFunction]:
    """The function of a step, to be traced.

    marked: the end is NaN where the start does not satisfy the constraints. stops: limits of joints
    stop them.
    """
    method, names = method_of(name)

    def make(model: Model, regrouped: bool, frame: str | None) -> StepFunction:
        check_step(model, method, names)
        lean = lean_model(model, regrouped=regrouped)
        items, places = lean_items(lean), lean_places(lean)
        close, space = lean_closing(model), state_space(model, method, names, dry_dofs(model))

        def function(
            q: Array, dq: Array, tau: Array, dt: Scalar, *more: Array
        ) -> tuple[Array, ...]:
            arguments: dict[str, Any] = dict(zip(names, more, strict=False))
            arguments["h"] = dt
            F_ext = more[len(names) :]

            def rate(x: Array) -> Array:
                q, dq, a = space.split(x)
                tree = lean_tree(lean, q, *F_ext)
                acting, gains, next_a = joint_forces(model, method, (q, dq, a), tau, arguments)
                at = Step(tree, q, dq, acting, dt, items, places, gains, stops=stops)
                k = step_rate(method, at)[0]
                return np.concatenate([k, next_a]) if space.extra else k

            start = [q, dq, arguments["activation"]] if space.extra else [q, dq]
            end = take_stages(method, space, dt, np.concatenate(start), rate, close)
            if items and marked:
                end = end * closed_start(lean_tree(lean, q), items, q, dq)
            parts = space.split(end)
            return parts if space.extra else parts[:2]

        return function

    return make


def lean_closing(model: Model) -> Close | None:
    """The function that moves states onto the constraints, in lean frames; None without any."""
    if model.constraints is None:
        return None
    lean = lean_model(model)
    return closing(model, lambda q: lean_tree(lean, q), lean_items(lean))


def stage_graph(space: StateSpace, method: Method, i: int) -> Graph:
    """The graph of stage i: h, x and the rates k_1, ... so far to the next state."""
    close = lean_closing(space.model)

    def function(h: Scalar, x: Array, *k: Array) -> Array:
        return take_stage(method, i, space, h, x, k, close)

    ports = [Port("h", ()), Port("x", (space.size,))]
    ports += [Port(f"k{j + 1}", (space.rates,)) for j in range(i + 1)]
    return optimise(trace(function, ports, [("out", ())]))


METHOD_TEXTS = {
    "euler": "Euler's method: q moves with the old dq.",
    "time_stepping": "Euler's method, in which q moves with the new dq, with inertia at the mean "
    "rates.",
    "semi_implicit_euler": "Euler's method, in which q moves with the new dq.",
    "rk4": "the classical method of Runge and Kutta.",
    "implicit": "Euler's method with the friction and the springs of the end of the step.",
    "implicitfast": "Euler's method with the friction of the end of the step.",
}
NEXT_STATE = (
    Result("q_next", "nq", "joint positions after the step", "rad or m"),
    Result("dq_next", "n", "joint rates after the step", "rad/s or m/s"),
)
NEXT_ACTIVATION = Result("activation_next", "a", "activations after the step", "in their order")
SERVO = (
    ">>> servo = kt.joints.Actuator.position('joint2', kp=50, kd=5, time_constant={})\n"
    ">>> robot = kt.robots.planar_2r().with_actuators({{'elbow': servo}})\n"
)


def _declared(method: Method, kind: str = "", values: str = "") -> Quantity:
    """The quantity of a step; kind: its further arguments, values: those of the example."""
    name = f"{PREFIX}{method.name}{kind}"
    lags = {CONTROLS: 0, ACTIVATION: 0.1}  # of the servo of the example
    acting = " with the forces of actuators" if kind in lags else ""
    acting = " with the slopes of tau" if kind == GAINS else acting
    servo = SERVO.format(lags[kind]) if kind in lags else ""
    call = f"robot.compile({name!r})([0.1, 0.2], [1, 0], [0, 0], 0.01{values})[0].shape"
    return Quantity(
        name=name,
        inputs=("q", "dq", "tau", "dt", *method_of(name)[1]),
        results=(*NEXT_STATE, NEXT_ACTIVATION) if kind == ACTIVATION else NEXT_STATE,
        title=f"State after the time dt{acting}, by {METHOD_TEXTS[method.name]}",
        example=f"{servo}>>> {call}\n(2,)",
        function=None,
        make=whole_step(name),
        wrenches=True,
        solves=True,
        step=True,
    )


# one step of `simulate`: the state after the time dt; with slopes of tau, controls, activations
STEPS = {f"{PREFIX}{x.name}": _declared(x) for x in METHODS.values()} | {
    f"{PREFIX}{x.name}{GAINS}": _declared(x, GAINS, ", [0, 0]" * len(gain_names(x)))
    for x in METHODS.values()
    if x.implicit
}
CONTROLLED = {
    f"{PREFIX}{x.name}{kind}": _declared(x, kind, values)
    for x in METHODS.values()
    for kind, values in ((CONTROLS, ", [1]"), (ACTIVATION, ", [1], [0]"))
}
