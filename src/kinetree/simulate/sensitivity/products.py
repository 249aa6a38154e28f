"""Changes of rates and of states through their graphs, in many directions at once.

A product d f/d x dx takes about three times the operations of f, whatever f is: contacts that a
step solves, loops that it closes, quaternions. It is computed for every direction by itself.
"""

from collections.abc import Sequence

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
from kinetree.simulate.sensitivity.inputs import PARAMETERS, Directions, Input
from kinetree.simulate.setup import Setup

DOUBLE = ("float64",)

DERIVATIVE_BLOCK = 2**22  # numbers of the steps that are differentiated together, 32 MB


class RateProducts:
    """The kernel of d f for changes of x, of constants p, of samples s, and of pi."""

    def __init__(self, equations: EquationsOfMotion, directions: Directions) -> None:
        self.directions, self.external = directions, equations.external
        constants = directions.constants
        self.pi = _parameters_of(equations, constants)
        graph = _rate_graph(equations, self.pi)
        self.wrt = ["x"]
        self.wrt += ["p"] if any(x.place is not None for x in constants) else []
        self.wrt += ["s"] if directions.signals else []
        self.wrt += ["pi"] if self.pi else []
        self.change = Kernel(optimise(jvp(graph, self.wrt)), "changes", dtypes=("float64",))

    def by_constants(self) -> dict[str, Array]:
        """Changes of p and of pi in every direction, (columns, size)."""
        sizes = {"p": self.external.params_size, "pi": len(self.pi[0]) if self.pi else 0}
        columns, at = self.directions.count, self.directions.states
        changes = {name: np.zeros((columns, size)) for name, size in sizes.items()}
        for constant in self.directions.constants:
            entries = np.arange(constant.size)
            first = 0 if constant.place is None else constant.place.start
            changes["pi" if constant.name == PARAMETERS else "p"][at + entries, first + entries] = 1
            at += constant.size
        return changes

    def by_samples(self, weights: Array) -> Array:
        """Changes of s, (S or 1, columns, s); weights: of the values of signals, (S, values, .)."""
        directions = self.directions
        count = len(weights) if directions.signals else 1
        changes = np.zeros((count, directions.count, self.external.table_size))
        at = directions.of_constants.stop
        for value in range(directions.values):
            for k, signal in enumerate(directions.signals):
                assert signal.place is not None
                entries = np.arange(signal.size)
                here = at + entries, signal.place.start + entries
                changes[:, *here] = weights[:, value, k, None]
                at += signal.size
        return changes

    def changes(self, t: Array, x: Array, p: Array, s: Array, dx: Array, ds: Array) -> Array:
        """d f, (S, columns, x), of dx, (S, columns, x); t (S,), x (S, x), p (S, p), s (S, s)."""
        by = self.by_constants() | {"x": dx, "s": ds}
        state = (t[:, None], *(y[:, None] for y in (x, p, s)))
        return self.change(*state, *self.pi, *(by[name] for name in self.wrt))


def _rate_graph(equations: EquationsOfMotion, pi: Sequence[Array]) -> Graph:
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


def _parameters_of(equations: EquationsOfMotion, constants: Sequence[Input]) -> list[Array]:
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
                f"link {name!r} has no mass, so its centre has no slope by 'parameters'. Give the "
                "link a mass, or ask for 'mass', 'com' and 'inertia'."
            )
    return [np.asarray(parameters(model), float)]


class TangentMaps:
    """Between tangent vectors of states and changes of their coordinates, for many states.

    blocks: places of the coordinates and of the tangents of joints that turn; the others are equal.
    """

    def __init__(self, space: StateSpace) -> None:
        self.space, model = space, space.model
        own = [x for x in model.joints if x.follows is None and x.type not in SCREW_TYPES]
        self.blocks = [(list(x.coords), list(x.dofs)) for x in own]
        turned = [[k for block in self.blocks for k in block[side]] for side in range(2)]
        sizes = space.size, space.rates
        self.equal = [np.setdiff1d(np.arange(n), at) for n, at in zip(sizes, turned, strict=True)]
        self.graph = trace(self._maps, [Port("x", (space.size,))]) if own else None

    def _maps(self, x: Array) -> tuple[Array, ...]:
        N = tangents(self.space, x)
        return tuple(N[np.ix_(*block)] for block in self.blocks)

    def along(self, x: Array, dx: Array) -> Array:
        """Changes of the coordinates, (S, c, x), of tangent vectors dx, (S, c, N)."""
        if self.graph is None:
            return dx
        changes, (here, there) = np.empty((*dx.shape[:-1], self.space.size)), self.equal
        changes[..., here] = dx[..., there]
        for (coords, dofs), N in zip(self.blocks, interpret(self.graph, x), strict=True):
            changes[..., coords] = dx[..., dofs] @ N.swapaxes(-1, -2)
        return changes

    def back(self, x: Array, dx: Array) -> Array:
        """Tangent vectors, (S, c, N), of changes dx of the coordinates, (S, c, x)."""
        if self.graph is None:
            return dx
        vectors, (there, here) = np.empty((*dx.shape[:-1], self.space.rates)), self.equal
        vectors[..., here] = dx[..., there]
        for (coords, dofs), N in zip(self.blocks, interpret(self.graph, x), strict=True):
            along = dx[..., coords] @ N
            vectors[..., dofs] = along / (N * N).sum(-2)[:, None]  # columns are orthogonal
        return vectors


class FixedDerivatives:
    """The steps of a compiled loop with the kernels of their derivatives."""

    def __init__(
        self, steps: FixedSteps, setup: Setup, inputs: tuple[Input, ...], *, stops: bool
    ) -> None:
        self.steps, self.space, self.method = steps, steps.space, steps.method
        self.directions = Directions(self.space.rates, inputs, len(self.method.stages))
        external = step_inputs(setup, self.space, self.method)
        equations = EquationsOfMotion(self.space, setup.acting, external, self.method, stops)
        self.rates = RateProducts(equations, self.directions)
        self.changes = StageChanges(self.space, self.method)

    def all(self, x: Array, setup: Setup, times: Array) -> tuple[Array, dict[str, Array]]:
        """A, (E, B, N, N), of all steps, and for each input that enters a step (E, B, N, S, size).

        x: states, (E + 1, B, x). S is the number of stages for a signal, else 1.
        """
        E, B, N = len(x) - 1, x.shape[1], self.space.rates
        h, columns = np.diff(times), self.directions.count
        external = step_inputs(setup, self.space, self.method, times=times)
        params = np.broadcast_to(external.params(setup.batch), (B, external.params_size))
        stages = times[:-1, None] + h[:, None] * np.array(self.method.times)
        table = self.steps.table(external, stages, setup.batch)
        table = np.broadcast_to(table, (*table.shape[:2], B, table.shape[-1]))
        changes = np.empty((E, B, columns, N))
        block = max(1, DERIVATIVE_BLOCK // (B * N * (columns + N) * (len(self.method.stages) + 2)))
        for begin in range(0, E, block):
            part = slice(begin, min(begin + block, E))
            changes[part], reached = self._block(
                x[part], params, table[part], stages[part], h[part]
            )
            check_repeated(reached, x[part.start + 1 : part.stop + 1], times[part], setup.batch)
        return self.directions.split(changes)

    def _block(
        self, x: Array, params: Array, table: Array, stages: Array, h: Array
    ) -> tuple[Array, Array]:
        """Changes after some steps, (E, B, columns, N), and the states reached, (E, B, x)."""
        E, B, N = *x.shape[:2], self.space.rates
        x, h = x.reshape(E * B, -1), np.repeat(h, B)
        p = np.broadcast_to(params, (E, *params.shape)).reshape(E * B, -1)
        dx = np.zeros((E * B, self.directions.count, N))
        dx[:, np.arange(N), np.arange(N)] = 1
        reached, changed, ks, dks = x, dx, list[Array](), list[Array]()
        for i in range(len(self.method.stages)):
            t, s = np.repeat(stages[:, i], B), table[:, i].reshape(E * B, -1)
            k, _ = self.steps.system.rate(t, reached, p, s)
            ks.append(k)
            dks.append(self._rate_change(i, (t, reached, p, s), changed))
            reached = self.changes.reach(i, h, x, ks)
            changed = self.changes.move(i, h, x, ks, dx, dks, reached)
        return changed.reshape(E, B, -1, N), reached.reshape(E, B, -1)

    def _rate_change(self, i: int, at: tuple[Array, ...], dx: Array) -> Array:
        """Changes of the rates at stage i, (S, columns, N), for changes dx of its states.

        at: t (S,), x (S, x), p (S, p) and s (S, s).
        """
        directions, (t, x, p, s) = self.directions, at
        here = np.arange(directions.values) == i  # each stage has its own values of signals
        weights = np.repeat(here[None, :, None], len(directions.signals), -1)
        by_x, by_samples = self.changes.maps.along(x, dx), self.rates.by_samples(weights)
        dk = self.rates.changes(t, x, p, s, by_x, by_samples)
        _, dq, _ = self.space.split(x)
        constants = dk[:, directions.of_constants].swapaxes(-1, -2)
        marked = without_slope(self.space.model, dq, constants, directions.constants)
        dk[:, directions.of_constants] = marked.swapaxes(-1, -2)
        return dk


class StageChanges:
    """The stages of a method with their derivatives: they carry states and changes.

    Joints turn, contacts move bodies straight, and the end of a step is moved onto the constraints.
    """

    def __init__(self, space: StateSpace, method: Method) -> None:
        self.maps = TangentMaps(space)
        self.stages: list[tuple[Kernel, Kernel]] = []
        for i in range(len(method.stages)):
            graph = stage_graph(space, method, i)
            product = optimise(jvp(graph, [port.name for port in graph.inputs[1:]]))
            made = (Kernel(graph, "stage", dtypes=DOUBLE), Kernel(product, "move", dtypes=DOUBLE))
            self.stages.append(made)

    def reach(self, i: int, h: Array, x: Array, k: Sequence[Array]) -> Array:
        """States after stage i, (S, x)."""
        return self.stages[i][0](h, x, *k)

    def move(
        self,
        i: int,
        h: Array,
        x: Array,
        k: Sequence[Array],
        dx: Array,
        dk: Sequence[Array],
        reached: Array,
    ) -> Array:
        """Changes after stage i, from those of the state at the beginning of the step.

        Args:
            i: number of the stage.
            h: (S,); x: (S, x); k: each (S, N), of S steps.
            dx: changes of x, (S, c, N), c directions side by side; dk: of k, the same.
            reached: states after the stage, (S, x).
        """
        at = (h[:, None], *(y[:, None] for y in (x, *k)))
        changed = self.stages[i][1](*at, self.maps.along(x, dx), *dk)
        return self.maps.back(reached, changed)


REPEATED_STEP = 1e-6  # a repeated step leads to the same state up to rounding, or is another one


def without_slope(model: Model, dq: Array, slopes: Array, constants: Sequence[Input]) -> Array:
    """Slopes, (S, n, c), with NaN where a joint at rest would be given Coulomb friction."""
    at_rest = dq == 0
    if not at_rest.any():
        return slopes
    at, marked, layout = 0, slopes.copy(), ParameterLayout(len(model.links))
    for constant in constants:
        for i, joint in enumerate(model.joints):
            # a joint's friction begins with its coefficients in the order of `JOINT`
            first = {"friction": 4 * i, PARAMETERS: layout.joint(i).start}.get(constant.name)
            if first is not None:
                still = at_rest[:, list(joint.dofs)].any(-1)
                place = at + first + JOINT.index("coulomb+")
                marked[still, :, place : place + 2] = np.nan
        at += constant.size
    return marked


def check_repeated(reached: Array, simulated: Array, times: Array, batch: tuple[int, ...]) -> None:
    """Raise InputError for rollouts that ran away, which a simulation lets stand still instead.

    reached: states after steps that were repeated, (E, B, x). simulated: those of the motion.
    """
    size = 1 + np.abs(simulated)
    wrong = ~(np.abs(reached - simulated) <= REPEATED_STEP * size).all(-1)
    if wrong.any():
        step, b = (int(k) for k in np.argwhere(wrong)[0])
        raise InputError(
            _ran_away(b, batch, times[step]) + " Take a smaller dt, or leave the rollout out."
        )


def _ran_away(row: int, batch: tuple[int, ...], t: float) -> str:
    where = [int(k) for k in np.unravel_index(row, batch)] if batch else []
    return (
        f"rollout {where} is not finite after t = {t:.6g} s, where the simulation lets it stand "
        "still; a motion that ran away has no derivatives."
    )
