"""System: a robot with all that acts on it, as one function rate(t, x, p, s) -> k, y.

x = (q, dq, z), p what stays, s what changes with time. For fixed steps k = (dq, ddq, dz) and y is
tau; joints with dry friction brake with the "stop" that p ends with (stiction.py). The adaptive
method takes the rates of the coordinates in the place of dq, and y = (tau, dry friction) for the
"mode" that p ends with (sliding.py). The function is traced; where a user's law cannot be traced,
or is no function of t, q and dq (purity.py), only the robot is, and the law is run by Python,
rollout by rollout.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from kinetree.algorithms.forward_dynamics import tree_forward_dynamics
from kinetree.algorithms.lean import lean_model, lean_tree
from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.kernels.quantities import check_inertia
from kinetree.model import Model
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.forces import Actors
from kinetree.simulate.core.state import StateSpace, coordinate_rates
from kinetree.simulate.friction.modes import accelerations_in_mode
from kinetree.simulate.friction.stiction import accelerations

log = logging.getLogger(__name__)
KEPT = 16  # kernels of robots whose forces come from Python
_robots: OrderedDict[Any, Kernel] = OrderedDict()

Rate = Callable[[Any, Array, Array, Array], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class System:
    """The function as a graph, or `by_python` where that is needed, and why."""

    space: StateSpace
    graph: Graph | None
    by_python: Rate | None = None
    note: str | None = None

    @cached_property
    def rate(self) -> Rate:
        """The function on arrays; compiled when first asked for, as a loop has code of its own."""
        if self.by_python is not None:
            return self.by_python
        assert self.graph is not None
        return Kernel(self.graph, "rate", dtypes=("float64",))


def make_system(
    space: StateSpace, actors: Actors, external: ExternalInputs, *, adaptive: bool = False
) -> System:
    """Trace everything, or everything but the user's law; refuse a robot that nothing can move."""
    if not actors.parameters:
        check_inertia(space.model)
    robot = partial(robot_rates, space, actors, adaptive)

    def rate(t: Any, x: Array, p: Array, s: Array) -> tuple[Array, Array]:
        given = external.named(p, s)
        own = actors.changed(space.model, given)
        q, dq, z = space.split(x)
        tau, dz = actors.forces(own, t, q, dq, z, given)
        F_ext = actors.wrenches(t, q, dq, given)
        moving, ddq, friction = robot(own, q, dq, tau, F_ext, given)
        return np.concatenate([moving, ddq, dz]), np.concatenate([tau, friction])

    verdict = actors.verdict
    if verdict is not None and verdict.key is None:
        return _by_python(space, actors, external, adaptive, str(verdict.note))
    ports = [Port("t", ()), *_ports(x=space.size, p=external.params_size, s=external.table_size)]
    try:
        graph = optimise(trace(rate, ports, [("k", ()), ("y", ())]))
    except Exception as problem:
        reason = str(problem).splitlines()[0] if str(problem) else "no reason given"
        return _by_python(space, actors, external, adaptive, f"{type(problem).__name__}: {reason}")
    return System(space, graph)


def _by_python(
    space: StateSpace, actors: Actors, external: ExternalInputs, adaptive: bool, reason: str
) -> System:
    """The system whose forces come from Python, and why."""
    rate = python_rate(space, actors, external, adaptive)  # raises what is wrong anyway
    note = f"forces come from Python, not from compiled code: {reason}"
    log.warning("kinetree simulates %s slowly: %s", space.model.name, note)
    return System(space, None, rate, note)


def robot_rates(
    space: StateSpace,
    actors: Actors,
    adaptive: bool,
    own: Model,
    q: Array,
    dq: Array,
    tau: Array,
    F_ext: Array | None,
    given: Mapping[str, Any],
) -> tuple[Array, Array, Array]:
    """How q moves, ddq, and the dry friction of joints in a mode."""
    tree = lean_tree(lean_model(own, regrouped=not actors.parameters), q, F_ext)
    none = np.zeros(0, int)
    if not adaptive:
        stop = given["stop"][0][0] if "stop" in given else 0
        return dq, accelerations(tree, dq, tau, stop), none
    moving = coordinate_rates(space.model, q, dq)
    if "mode" not in given:
        return moving, tree_forward_dynamics(tree, dq, tau), none
    return moving, *accelerations_in_mode(tree, dq, tau, given["mode"][0])


def python_rate(
    space: StateSpace, actors: Actors, external: ExternalInputs, adaptive: bool
) -> Rate:
    """The same function with forces from Python and a kernel for the robot."""
    model, free = space.model, actors.parameters
    kernel = robot_kernel(space, actors, external, adaptive)

    def rate(t: Any, x: Array, p: Array, s: Array) -> tuple[Array, Array]:
        count = len(x)
        t, p, s = np.broadcast_to(t, count), _rows(p, count), _rows(s, count)
        taus, rates, loads = [], [], []
        for b in range(count):
            given = external.named(p[b], s[b])
            own = actors.changed(model, given) if free else model
            q, dq, z = space.split(x[b])
            tau, dz = actors.forces(own, float(t[b]), q, dq, z, given)
            taus.append(np.array(tau, float))
            rates.append(np.array(dz, float))
            if actors.F_ext is not None:
                loads.append(np.array(actors.wrenches(float(t[b]), q, dq, given), float))
        q, dq, _ = space.split(x)
        tau = np.array(taus)
        extra = [np.array(loads)] if loads else []
        motion, friction = kernel(q, dq, tau, p, *extra)
        k = np.concatenate([motion, np.array(rates)], -1)
        return k, np.concatenate([tau, friction[..., 1:]], -1)

    return rate


def robot_kernel(
    space: StateSpace, actors: Actors, external: ExternalInputs, adaptive: bool
) -> Kernel:
    """The robot alone: q, dq, tau, p (and F_ext) to (motion of q, ddq) and (0, dry friction)."""
    model, verdict = space.model, actors.verdict
    shapes = tuple((name, shape) for name, (_, shape) in external.constants.items())
    key = None
    if verdict is not None:
        own = space.extra, space.dry, adaptive, actors.parameters, actors.F_ext is None
        key = (verdict.robot, shapes, own)
        found = _robots.get(key)
        if found is not None:
            return found

    def robot(q: Array, dq: Array, tau: Array, p: Array, *F_ext: Array) -> tuple[Array, Array]:
        given = external.named(p, np.zeros(external.table_size))
        own, load = actors.changed(model, given), F_ext[0] if F_ext else None
        moving, ddq, friction = robot_rates(space, actors, adaptive, own, q, dq, tau, load, given)
        return np.concatenate([moving, ddq]), np.array([0, *friction])

    ports = _ports(q=model.nq, dq=model.n, tau=model.n, p=external.params_size)
    if actors.F_ext is not None:
        ports.append(Port("F_ext", (len(model.links), 6)))
    graph = optimise(trace(robot, ports, [("motion", ()), ("friction", ())]))
    kernel = Kernel(graph, "robot", dtypes=("float64",))
    if key is not None:
        _robots[key] = kernel
        while len(_robots) > KEPT:
            _robots.popitem(last=False)
    return kernel


def _ports(**sizes: int) -> list[Port]:
    return [Port(name, (size,)) for name, size in sizes.items()]


def _rows(x: Array, count: int) -> Array:
    return np.broadcast_to(x, (count, x.shape[-1]))
