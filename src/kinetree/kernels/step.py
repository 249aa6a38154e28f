"""Kernels of one step: the graphs of `simulate` for a rate and its stages, composed.

`simulate` runs the graph of the rate and those of the stages of a method one after the other.
Composed without another change they are a kernel that gives the same bits (compiler/stepping.py).
"""

from collections.abc import Callable, Sequence

import numpy as np

from kinetree.algorithms.implicit import Gains
from kinetree.algorithms.lean import lean_model, lean_tree
from kinetree.algorithms.state import StateSpace
from kinetree.algorithms.steps import METHODS, Method, Stage, step_rate, take_stages
from kinetree.algorithms.stiction import dry_dofs
from kinetree.base.arrays import Array
from kinetree.compiler.graph import Graph, Port
from kinetree.errors import InputError
from kinetree.kernels.free import free_ports, with_free
from kinetree.model import Model
from kinetree.scalars import Scalar

StepFunction = Callable[..., tuple[Array, Array]]

PREFIX = "step_"
GAINS = "_with_gains"  # of the kernel with slopes of tau as further arguments


def gain_names(method: Method) -> tuple[str, ...]:
    """The slopes of tau that a method can take: kp and kd, kd alone, or none."""
    if not method.implicit:
        return ()
    return ("kp", "kd") if method.positions else ("kd",)


def method_of(name: str) -> tuple[Method, tuple[str, ...]]:
    """The method of a quantity such as "step_rk4", and the gains among its arguments."""
    method = METHODS[name.removeprefix(PREFIX).removesuffix(GAINS)]
    return method, gain_names(method) if name.endswith(GAINS) else ()


def step_name(method: str, *, gains: Sequence[str] = ()) -> str:
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
    return f"{PREFIX}{method}{GAINS if gains else ''}"


def given_gains(names: Sequence[str], values: Sequence[Array]) -> Gains | None:
    """Gains of each joint from their vectors, (n,) each; None without names."""
    given = dict(zip(names, values, strict=False))
    return Gains.of_joints(given.get("kp"), given.get("kd")) if names else None


def whole_step(
    name: str,
) -> Callable[[Model, bool, str | None], Callable[..., tuple[Array, Array]]]:
    """The function of a step as one piece, to be traced for its derivatives."""
    method, names = method_of(name)

    def make(model: Model, regrouped: bool, frame: str | None) -> StepFunction:
        lean = lean_model(model, regrouped=regrouped)
        space = StateSpace(model, dry=dry_dofs(model))

        def function(
            q: Array, dq: Array, tau: Array, dt: Scalar, *rest: Array
        ) -> tuple[Array, Array]:
            gains, F_ext = given_gains(names, rest), rest[len(names) :]

            def rate(x: Array) -> Array:
                q, dq, _ = space.split(x)
                tree = lean_tree(lean, q, *F_ext)
                return step_rate(method, tree, dq, tau, dt, method.braking / dt, gains)[0]

            end = take_stages(method, space, dt, np.concatenate([q, dq]), rate)
            return end[: model.nq], end[model.nq :]

        return function

    return make


def step_graph(
    model: Model,
    name: str,
    inputs: Sequence[Port],
    outputs: Sequence[tuple[str, tuple[str, ...]]],
    free: Sequence[str],
) -> Graph:
    """The graph of a step, composed of those of its rate and stages.

    Args:
        model: the robot.
        name: the quantity, such as "step_rk4".
        inputs: all arguments of the kernel.
        outputs: names and letters of the next q and dq.
        free: names of the robot's data among the arguments.
    """
    from kinetree.compiler.stepping import Composition

    method, names = method_of(name)
    loaded = any(port.name == "F_ext" for port in inputs)
    space = StateSpace(model, dry=dry_dofs(model, free))
    rate = rate_graph(space, method, free, loaded=loaded, gains=names)
    whole = Composition(inputs)
    at = whole.places
    x, (h,) = at["q"] + at["dq"], at["dt"]
    given = {**at, "h": [h], "stop": [whole.ratio(method.braking, h)]}
    reached, ks = x, list[list[int]]()
    for i, stage in enumerate(method.stages):
        arguments = [reached if port.name == "x" else given[port.name] for port in rate.inputs]
        ks.append(whole.place(rate, *arguments)[0])
        (reached,) = whole.place(stage_graph(space, stage, i), [h], x, *ks)
    shapes = (model.nq,), (model.n,)
    ports = [Port(own, shape, dims) for (own, dims), shape in zip(outputs, shapes, strict=True)]
    return whole.graph(ports, (reached[: model.nq], reached[model.nq :]))


def rate_graph(
    space: StateSpace, method: Method, free: Sequence[str], *, loaded: bool, gains: Sequence[str]
) -> Graph:
    """k and y of a state, as in `simulate` (simulate/core/system.py): the same nodes in its order.

    The arguments are in the order in which `simulate` has them, because the order of inputs is that
    of the terms of a sum.
    """
    from kinetree.compiler.optimise import optimise
    from kinetree.compiler.trace import trace

    model, n = space.model, space.model.n
    data = free_ports(model, free)
    ports = [Port("x", (space.size,)), Port("tau", (n,))]
    ports += [Port("F_ext", (len(model.links), 6))] if loaded else []
    ports += [*data, Port("stop", ()), Port("h", ())]
    ports += [Port(name, (n,)) for name in gains]

    def rate(x: Array, tau: Array, *rest: Array) -> tuple[Array, Array]:
        given = dict(zip([port.name for port in ports[2:]], rest, strict=True))
        changed = with_free(model, free, [given[port.name] for port in data])
        q, dq, _ = space.split(x)
        tree = lean_tree(lean_model(changed, regrouped=not free), q, given.get("F_ext"))
        slopes = given_gains(gains, [given[name] for name in gains])
        k, ddq = step_rate(method, tree, dq, tau, given["h"], given["stop"], slopes)
        return k, np.concatenate([tau, ddq])

    return optimise(trace(rate, ports, [("k", ()), ("y", ())]))


def stage_graph(space: StateSpace, stage: Stage, i: int) -> Graph:
    """The graph of stage i: h, x and the rates k_1, ... so far to the next state."""
    from kinetree.compiler.optimise import optimise
    from kinetree.compiler.trace import trace

    def function(h: Scalar, x: Array, *k: Array) -> Array:
        return stage(space, h, x, k)

    ports = [Port("h", ()), Port("x", (space.size,))]
    ports += [Port(f"k{j + 1}", (space.rates,)) for j in range(i + 1)]
    return optimise(trace(function, ports, [("out", ())]))
