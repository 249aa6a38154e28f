"""Changes of rates and of states through their graphs, in many directions at once.

A product d f/d x dx takes about three times the operations of f, whatever f is: contacts that a
step solves, loops that it closes, quaternions. It is computed for every direction by itself.
"""

from collections.abc import Sequence

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics import parameters, with_parameters
from kinetree.dynamics.state import StateSpace, tangents
from kinetree.engine.compiler.derivatives import jvp
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.errors import InputError
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Model
from kinetree.scalars import Scalar
from kinetree.simulate.core.inputs import NamedParts
from kinetree.simulate.core.laws import first_line
from kinetree.simulate.core.system import EquationsOfMotion
from kinetree.simulate.sensitivity.inputs import PARAMETERS, Directions, Input


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
