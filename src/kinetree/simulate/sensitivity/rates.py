"""How the rates k = (dq, ddq, dz) of a system change with its state and its inputs.

From tau = ID(q, dq, ddq, F_ext, data), inverse dynamics, follows

    M d ddq = d tau - d ID,    ddq held constant in d ID

so that the robot's part comes from the recursion for derivatives of inverse dynamics and from the
regressor; only f = (tau, dz, F_ext), the forces and controllers, is differentiated through its
graph.

An implicit method has the acceleration a of its step in the place of ddq. With E(a), the forces
that friction, springs and controllers add until the end of the step, tau - E(a) = ID(q, dq, a), so
that E is a part of f, and M + d E/d a is in the place of M. Rates dz of friction with a memory
depend on a too. The forces of such friction are a part of f, and inverse dynamics is without it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics import parameters, with_parameters
from kinetree.dynamics.joints.presliding import without_bristle_friction
from kinetree.dynamics.state import StateSpace, tangents
from kinetree.engine.compiler.derivatives import jacobian
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.scalars import Scalar
from kinetree.simulate.core.external import NamedParts
from kinetree.simulate.core.laws import first_line
from kinetree.simulate.core.system import EquationsOfMotion
from kinetree.simulate.sensitivity.inputs import PARAMETERS, Directions, Input

DOUBLE = ("float64",)


@dataclass(frozen=True, eq=False)
class StageStates:
    """S states of one stage: t (S,), x (S, x), constants p (S, p), samples s (S, s)."""

    t: Array
    x: Array
    p: Array
    s: Array


@dataclass(frozen=True, eq=False)
class Slopes:
    """d k/d x, (S, N, N), d k/d constants, (S, N, c), d k/d samples, (S, N, s)."""

    x: Array
    constants: Array
    samples: Array


class RateChanges:
    """The slopes of k, made once for a system and the inputs that are asked for."""

    def __init__(self, equations: EquationsOfMotion, directions: Directions) -> None:
        self.space, self.model = equations.space, without_bristle_friction(equations.space.model)
        self.rubbing = self.model is not self.space.model
        self.external, self.free = equations.external, equations.acting.parameters
        self.constants = directions.constants
        self.loaded = equations.acting.F_ext is not None
        self.implicit = equations.implicit
        self.forces = ForceChanges(equations, directions)
        make = partial(kernel, self.model, free=self.free)
        self.derivatives = make("inverse_dynamics_derivatives", wrenches=self.loaded)
        self.mass_matrix = make("mass_matrix")
        names = [x.name for x in self.constants if x.name in (PARAMETERS, *self.free)]
        names += ["F_ext"] if self.loaded else []
        self.by = {name: self._slope_of_dynamics(name) for name in names}

    @cached_property
    def dynamics(self) -> Kernel:
        """Inverse dynamics, compiled only if dry friction must be looked at."""
        return kernel(self.model, "inverse_dynamics", free=self.free, wrenches=self.loaded)

    def _slope_of_dynamics(self, name: str) -> Kernel:
        """d ID/d one of its arguments; ID is linear in pi, with the regressor as its slope."""
        if name == PARAMETERS:
            return kernel(self.model, "regressor", free=self.free)
        return kernel(
            self.model, "inverse_dynamics", wrt=name, wrenches=self.loaded, free=self.free
        )

    def slopes(self, at: StageStates, k: Array) -> Slopes:
        """The slopes at S states with rates k, (S, N)."""
        n, m, count = self.model.n, self.space.extra, len(at.x)
        q, dq, _ = self.space.split(at.x)
        ddq, load, data = k[:, n : 2 * n], self._loads(at), self.data(at.p)
        by_q, by_dq = self.derivatives(q, dq, ddq, *load, *data)
        *parts, by_a = self.forces.slopes(at, ddq)  # by x, constants and samples, and by a
        f = np.concatenate(parts, -1)
        slope = np.zeros((count, n, f.shape[-1]))  # d ID/d (x, constants, samples)
        slope[..., :n], slope[..., n : 2 * n] = by_q, by_dq
        states, constants = parts[0].shape[-1], parts[1].shape[-1]
        slope[..., states : states + constants] = self._by_constants(q, dq, ddq, load, data)
        if self.loaded:  # wrenches that depend on something
            by_load = self.by["F_ext"](q, dq, ddq, *load, *data).reshape(count, n, -1)
            slope += by_load @ f[:, n + m :]
        faster = np.zeros_like(slope)
        faster[:, np.arange(n), n + np.arange(n)] = 1  # d dq/d dq
        solved = np.linalg.solve(self.mass_matrix(q, *data) - by_a[:, :n], f[:, :n] - slope)
        memory = f[:, n : n + m] + by_a[:, n : n + m] @ solved
        whole = np.concatenate([faster, solved, memory], 1)
        return Slopes(*np.split(whole, (states, states + constants), -1))

    def joint_forces(self, at: StageStates, k: Array) -> Array:
        """Joint forces that the accelerations in k need if all joints slide, (S, n)."""
        n = self.model.n
        q, dq, _ = self.space.split(at.x)
        return self.dynamics(q, dq, k[:, n : 2 * n], *self._loads(at), *self.data(at.p))

    def acting_forces(self, at: StageStates, k: Array, tau: Array) -> Array:
        """tau, (S, n), less friction with a memory and the forces that an implicit step adds."""
        n = self.model.n
        if self.implicit or self.rubbing:
            return self.forces.values(at, k[:, n : 2 * n])[:, :n]
        return tau[:, :n]

    def _loads(self, at: StageStates) -> list[Array]:
        """F_ext, (S, links, 6), as the further argument of a kernel, if there is any."""
        if not self.loaded:
            return []
        first, f = self.model.n + self.space.extra, self.forces.values(at)
        return [f[:, first:].reshape(len(f), -1, 6)]

    def _by_constants(
        self, q: Array, dq: Array, ddq: Array, load: list[Array], data: list[Array]
    ) -> Array:
        """d ID/d constants, (S, n, c); joint forces and wrenches are not among its data."""
        columns = [np.zeros((len(q), self.model.n, 0))]
        for constant in self.constants:
            slope = self.by.get(constant.name)
            if slope is None or constant.name == "F_ext":
                columns.append(np.zeros((len(q), self.model.n, constant.size)))
                continue
            loads = [] if constant.name == PARAMETERS else load
            column = slope(q, dq, ddq, *loads, *data)
            columns.append(column.reshape(len(q), self.model.n, constant.size))
        return np.concatenate(columns, -1)

    def data(self, p: Array) -> list[Array]:
        """Free data of the robot out of the constants p, (S, p), in the order of their names."""
        places, constants = self.external.places, self.external.constants
        names = [f"parameter {name}" for name in self.free]
        return [p[:, places[x]].reshape(len(p), *constants[x][1]) for x in names]


class ForceChanges:
    """f = (tau, dz, F_ext) of t, x, p, s, and its slopes by x, by constants and by samples.

    Of an implicit method: tau - E(a), a function of the acceleration a as well.
    """

    def __init__(self, equations: EquationsOfMotion, directions: Directions) -> None:
        self.constants, self.implicit = directions.constants, equations.implicit
        self.n = equations.space.model.n
        needed = equations.acting.controller is not None or equations.implicit
        self.pi = parameters_of(equations, self.constants) if needed else []
        self.graph = _forces_graph(equations, self.pi)
        chosen = [x for x in self.constants if x.place is not None]
        self.given = {"p": chosen, "s": directions.signals}
        self.wrt = ["x", *(name for name, given in self.given.items() if given)]
        self.wrt += ["a"] if equations.implicit else []
        self.wrt += ["pi"] if self.pi else []
        slope = self._differentiated(equations.space)
        # constant forces have slopes of zeros and ones, for which no code is needed
        idle = slope.operations == 0
        self.slope = partial(interpret, slope) if idle else Kernel(slope, "slopes", dtypes=DOUBLE)

    @cached_property
    def value(self) -> Kernel:
        """The kernel of f, compiled only if its wrenches are needed."""
        return Kernel(self.graph, "forces", dtypes=DOUBLE)

    def _differentiated(self, space: StateSpace) -> Graph:
        """d f/d(x along tangents; the inputs among p and s; pi)."""
        sizes = {port.name: port.size for port in self.graph.inputs}
        along: dict[str, Callable[[Array], Array]] = {"x": partial(tangents, space)}
        for name in self.wrt[1:]:
            if name in self.given:
                along[name] = partial(_chosen, sizes[name], self.given[name])
        return optimise(jacobian(self.graph, self.wrt, along=along))

    def values(self, at: StageStates, a: Array | None = None) -> Array:
        """f, (S, f), of S states; wrenches do not need a."""
        return self.value(*self._arguments(at, np.zeros(self.n) if a is None else a))

    def _arguments(self, at: StageStates, a: Array) -> list[Array]:
        return [at.t, at.x, at.p, at.s, *([a] if self.implicit else []), *self.pi]

    def slopes(self, at: StageStates, a: Array) -> tuple[Array, Array, Array, Array]:
        """By x, (S, f, N), by constants, (S, f, c), by samples, (S, f, s), and by a, (S, f, n)."""
        results = self.slope(*self._arguments(at, a))
        results = results if isinstance(results, tuple) else (results,)
        by = dict(zip(self.wrt, results, strict=True))
        lead, place = by["x"].shape[:-1], 0
        columns = [np.zeros((*lead, 0))]
        for constant in self.constants:
            if constant.place is not None:
                columns.append(by["p"][..., place : place + constant.size])
                place += constant.size
            else:
                columns.append(by["pi"] if self.pi else np.zeros((*lead, constant.size)))
        by_a = by.get("a", np.zeros((*lead, self.n)))
        return by["x"], np.concatenate(columns, -1), by.get("s", np.zeros((*lead, 0))), by_a


def _forces_graph(equations: EquationsOfMotion, pi: Sequence[Array]) -> Graph:
    """The graph of f(t, x, p, s), of a, and of pi if the controller may use the robot's data."""

    def forces(t: Scalar, x: Array, p: Array, s: Array, *a_and_pi: Array) -> Array:
        a, pi = (a_and_pi[:1], a_and_pi[1:]) if equations.implicit else ((), a_and_pi)

        def changed(model: Model, inputs: NamedParts, dq: Array) -> tuple[Model, NamedParts]:
            return with_parameters(model, pi[0]) if pi else model, inputs

        loads = equations.loads(t, x, p, s, changed)
        F_ext = [] if loads.F_ext is None else [np.ravel(loads.F_ext)]
        tau = loads.moving
        if a:
            tau = tau - equations.added_forces(loads, a[0], equations.slopes(loads, t, x, p, s))
            loads = loads if loads.bristling is None else loads.bent_at_end(a[0])
        return np.concatenate([tau, loads.dz, *F_ext])

    more = [np.zeros(equations.space.model.n)] if equations.implicit else []
    return traced_forces(equations, forces, "f", pi, more)


def traced_forces(
    equations: EquationsOfMotion,
    function: Callable[..., Array],
    name: str,
    pi: Sequence[Array],
    a: Sequence[Array] = (),
) -> Graph:
    """The graph of a function of t, x, p, s, a and pi in which forces act."""
    ports = [*equations.ports, *(Port("a", x.shape) for x in a), *(Port("pi", x.shape) for x in pi)]
    try:
        return optimise(trace(function, ports, [(name, ())]))
    except Exception as problem:
        raise InputError(
            f"the forces on {equations.space.model.name!r} cannot be differentiated, because they "
            f"cannot be traced: {first_line(problem, named=True)} Write laws with sin, cos, where "
            "and clip of kinetree.scalars and without `if` on q."
        ) from problem


def parameters_of(equations: EquationsOfMotion, constants: Sequence[Input]) -> list[Array]:
    """[pi] if it is among the inputs, traced with centres of mass, which all links must have."""
    if all(x.name != PARAMETERS for x in constants):
        return []
    if equations.implicit and not equations.acting.constant:
        raise InputError(
            "wrt has 'parameters', which are not available for implicit methods with a "
            "controller or forces that are functions; ask for 'mass', 'com', 'inertia', "
            "'friction' or 'springs', or take method='semi_implicit_euler'."
        )
    model = equations.space.model
    for name, m in zip(model.link_names, model.m, strict=True):
        if m == 0:
            raise InputError(
                f"link {name!r} has no mass, so its centre has no slope by 'parameters', which "
                'controllers, constraints and "dop853" need. Give the link a mass, ask for '
                "'mass', 'com' and 'inertia', or take method=\"rk4\" without a controller."
            )
    return [np.asarray(parameters(model), float)]


def _chosen(size: int, inputs: Sequence[Input], x: Array) -> Array:
    """Columns of the identity at the places of the inputs, (size, c)."""
    places = [k for chosen in inputs for k in range(size)[chosen.place or slice(0)]]
    return np.eye(size, dtype=int)[:, places]
