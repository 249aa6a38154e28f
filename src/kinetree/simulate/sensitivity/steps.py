"""Derivatives of fixed steps: the states are known, so many steps are differentiated at once.

A change is carried through the graphs of rate and stages by products d f/d x dx, which take about
three times the operations of f, whatever f is: contacts that a step solves, in the mode that each
of them has there, loops that it closes, quaternions. Every direction is computed by itself.
"""

from itertools import accumulate

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics import parameters, with_parameters
from kinetree.dynamics.methods import Method
from kinetree.dynamics.parameters import JOINT, ParameterLayout
from kinetree.dynamics.state import StateSpace, tangents
from kinetree.engine.compiler.derivatives import jvp
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.step import stage_graph
from kinetree.errors import InputError
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Model
from kinetree.scalars import Scalar
from kinetree.simulate.equations import EquationsOfMotion
from kinetree.simulate.fixed import FixedSteps, step_inputs
from kinetree.simulate.functions import first_line
from kinetree.simulate.inputs import NamedParts
from kinetree.simulate.sensitivity.inputs import PARAMETERS, Input
from kinetree.simulate.setup import Setup

BLOCK = 2**22  # numbers of the steps that are differentiated together, 32 MB
REPEATED_STEP = 1e-6  # a repeated step leads to the same state up to rounding, or is another one


class StepDerivatives:
    """The steps of a compiled loop with the kernels of their derivatives.

    Directions are columns: first the N tangent vectors of the state, then the numbers of every
    input; a signal has numbers of its own for each stage.
    """

    def __init__(
        self, loop: FixedSteps, setup: Setup, inputs: tuple[Input, ...], *, stops: bool
    ) -> None:
        self.loop, self.space, self.method = loop, loop.space, loop.method
        self.inputs = [x for x in inputs if x.port]
        *self.starts, self.columns = accumulate(
            (x.values * x.size for x in self.inputs), initial=self.space.rates
        )
        external = step_inputs(setup, self.space, self.method)
        equations = EquationsOfMotion(self.space, setup.acting, external, self.method, stops)
        self.pi = [_parameters(equations)] if any(x.port == "pi" for x in inputs) else []
        sizes = {"p": external.params_size, "s": external.table_size, "pi": sum(map(len, self.pi))}
        self.sizes = {k: size for k, size in sizes.items() if any(x.port == k for x in inputs)}
        graph = optimise(jvp(_rate_graph(equations, self.pi), ["x", *self.sizes]))
        self.rate_change = Kernel(graph, "changes", dtypes=("float64",))
        stages = range(len(self.method.stages))
        self.stages = [_stage_kernels(self.space, self.method, i) for i in stages]
        turning = any(x.follows is None and x.type not in SCREW_TYPES for x in setup.model.joints)
        ports = [Port("x", (self.space.size,))]
        self.tangents = trace(lambda x: tangents(self.space, x), ports) if turning else None

    def all(self, x: Array, setup: Setup, times: Array) -> tuple[Array, dict[str, Array]]:
        """A, (E, B, N, N), of all steps, and for each input that enters a step (E, B, N, S, size).

        x: states, (E + 1, B, x). S is the number of stages for a signal, else 1.
        """
        E, B, N = len(x) - 1, x.shape[1], self.space.rates
        h = np.diff(times)
        external = step_inputs(setup, self.space, self.method, times=times)
        params = np.broadcast_to(external.params(setup.batch), (B, external.params_size))
        stages = times[:-1, None] + h[:, None] * np.array(self.method.times)
        table = self.loop.table(external, stages, setup.batch)
        table = np.broadcast_to(table, (*table.shape[:2], B, table.shape[-1]))
        changes = np.empty((E, B, self.columns, N))
        block = max(1, BLOCK // (B * N * (self.columns + N) * (len(self.stages) + 2)))
        for begin in range(0, E, block):
            part = slice(begin, min(begin + block, E))
            changes[part], reached = self._block(
                x[part], params, table[part], stages[part], h[part]
            )
            check_repeated(reached, x[part.start + 1 : part.stop + 1], times[part], setup.batch)
        changes = changes.swapaxes(-1, -2)
        by = {
            x.name: changes[..., at : at + x.values * x.size].reshape(E, B, N, x.values, x.size)
            for x, at in zip(self.inputs, self.starts, strict=True)
        }
        return changes[..., :N], by

    def _block(
        self, x: Array, params: Array, table: Array, stages: Array, h: Array
    ) -> tuple[Array, Array]:
        """Changes after some steps, (E, B, columns, N), and the states reached, (E, B, x)."""
        E, B, N = *x.shape[:2], self.space.rates
        x, h = x.reshape(E * B, -1), np.repeat(h, B)
        p = np.broadcast_to(params, (E, *params.shape)).reshape(E * B, -1)
        start = np.zeros((E * B, self.columns, N))
        start[:, np.arange(N), np.arange(N)] = 1
        start = self._along(x, start)
        reached, changed, ks, dks = x, start, list[Array](), list[Array]()
        for i, (reach, move) in enumerate(self.stages):
            at = np.repeat(stages[:, i], B), reached, p, table[:, i].reshape(E * B, -1)
            ks.append(self.loop.system.rate(*at)[0])
            dks.append(self._rate_change(i, at, changed))
            reached = reach(h, x, *ks)
            changed = move(h[:, None], *(y[:, None] for y in (x, *ks)), start, *dks)
        return self._back(reached, changed).reshape(E, B, -1, N), reached.reshape(E, B, -1)

    def _rate_change(self, i: int, at: tuple[Array, ...], dx: Array) -> Array:
        """Changes of the rates at stage i, (S, columns, N), for changes dx of the coordinates.

        at: t (S,), x (S, x), p (S, p) and s (S, s).
        """
        seeds = {name: np.zeros((self.columns, size)) for name, size in self.sizes.items()}
        for x, start in zip(self.inputs, self.starts, strict=True):
            entries, column = np.arange(x.size), start + (i * x.size if x.weights else 0)
            seeds[x.port][column + entries, x.first + entries] = 1
        wide = (y[:, None] for y in at)
        dk = self.rate_change(*wide, *self.pi, dx, *seeds.values())
        return self._marked(self.space.split(at[1])[1], dk)

    def _marked(self, dq: Array, dk: Array) -> Array:
        """Changes with NaN where a joint at rest would be given Coulomb friction."""
        joints = self.space.model.joints
        layout = ParameterLayout(len(joints))
        for x, start in zip(self.inputs, self.starts, strict=True):
            for i, joint in enumerate(joints):
                # a joint's friction begins with its coefficients in the order of `JOINT`
                first = {"friction": 4 * i, PARAMETERS: layout.joint(i).start}.get(x.name)
                if first is not None:
                    still = (dq[:, list(joint.dofs)] == 0).any(-1)
                    at = start + first + JOINT.index("coulomb+")
                    dk[still, at : at + 2] = np.nan
        return dk

    def _along(self, x: Array, dx: Array) -> Array:
        """Changes of the coordinates, (S, c, x), of tangent vectors dx, (S, c, N)."""
        if self.tangents is None:
            return dx
        return dx @ interpret(self.tangents, x)[0].swapaxes(-1, -2)

    def _back(self, x: Array, dx: Array) -> Array:
        """Tangent vectors, (S, c, N), of changes dx of the coordinates, (S, c, x)."""
        if self.tangents is None:
            return dx
        (N,) = interpret(self.tangents, x)
        return dx @ N / (N * N).sum(-2)[:, None]  # columns are orthogonal


def _stage_kernels(space: StateSpace, method: Method, i: int) -> tuple[Kernel, Kernel]:
    """The state after stage i, and its change."""
    graph = stage_graph(space, method, i)
    change = optimise(jvp(graph, [port.name for port in graph.inputs[1:]]))
    return Kernel(graph, "stage", dtypes=("float64",)), Kernel(change, "move", dtypes=("float64",))


def _rate_graph(equations: EquationsOfMotion, pi: list[Array]) -> Graph:
    """The graph of f(t, x, p, s), and of pi if it is differentiated by."""

    def rate(t: Scalar, x: Array, p: Array, s: Array, *pi: Array) -> Array:
        def changed(model: Model, inputs: NamedParts, dq: Array) -> tuple[Model, NamedParts]:
            return with_parameters(model, pi[0]), inputs

        return equations.rate(t, x, p, s, changed if pi else None)[0]

    ports = [*equations.ports, *(Port("pi", x.shape) for x in pi)]
    try:
        return optimise(trace(rate, ports, [("k", ())]))
    except Exception as problem:
        raise InputError(
            f"the forces on {equations.space.model.name!r} cannot be differentiated, because they "
            f"cannot be traced: {first_line(problem, named=True)} Write laws with sin, cos, where "
            "and clip of kinetree.scalars and without `if` on q."
        ) from problem


def _parameters(equations: EquationsOfMotion) -> Array:
    """All parameters pi, traced with centres of mass, which all links must have."""
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
                f"link {name!r} has no mass, so its centre has no slope by 'parameters'. Give the "
                "link a mass, or ask for 'mass', 'com' and 'inertia'."
            )
    return np.asarray(parameters(model), float)


def check_repeated(reached: Array, simulated: Array, times: Array, batch: tuple[int, ...]) -> None:
    """Raise InputError for rollouts that ran away, which a simulation lets stand still instead.

    reached: states after steps that were repeated, (E, B, x). simulated: those of the motion.
    """
    wrong = ~(np.abs(reached - simulated) <= REPEATED_STEP * (1 + np.abs(simulated))).all(-1)
    if wrong.any():
        step, b = (int(k) for k in np.argwhere(wrong)[0])
        rollout = [int(k) for k in np.unravel_index(b, batch)] if batch else []
        raise InputError(
            f"rollout {rollout} is not finite after t = {times[step]:.6g} s, where the simulation "
            "lets it stand still; a motion that ran away has no derivatives. Take a smaller dt, or "
            "leave the rollout out."
        )
