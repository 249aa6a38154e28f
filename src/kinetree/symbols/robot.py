"""kt.symbolic: the closed forms of a robot, each computed when it is first used."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, StateLike
from kinetree.core.options import typed
from kinetree.core.records import retyped
from kinetree.dynamics.constraints.dynamics import solvable
from kinetree.errors import InputError, NameLookupError, need
from kinetree.model import HasModel, Model, model_of
from kinetree.model.constrain import (
    constraints_of,
    moving_constraints,
    tree_of,
    without_constraints,
)
from kinetree.model.inputs import coordinate_axis, dof_axis, zeros
from kinetree.present.labels import Alignment
from kinetree.present.tables import Table
from kinetree.symbols.exact import exact_model
from kinetree.symbols.parameters import Kind, joint_symbols, model_symbols, weights, with_symbols
from kinetree.symbols.present import Presenter
from kinetree.symbols.read import Reader, polynomial_model, register_angles, weightless
from kinetree.symbols.reduced import ReducedForms
from kinetree.symbols.results import VECTORS, Formula, matrix, named_array
from kinetree.symbols.ring import Expression, Operand

if TYPE_CHECKING:
    from sympy import ImmutableDenseMatrix, ImmutableDenseNDimArray

Quantity = Literal[
    "M", "C", "c", "g", "friction", "springs", "tau", "T", "J", "J_s", "K", "U", "christoffel"
]
SYMBOLIC: tuple[Quantity, ...] = get_args(Quantity)
ReducedQuantity = Literal["M_r", "c_r", "g_r", "h_r", "N", "Phi", "J_Phi", "gamma"]
REDUCED: tuple[ReducedQuantity, ...] = get_args(ReducedQuantity)  # of robots with constraints


REDUCED_FORMS = "Use M_r, h_r and N of its independent coordinates, or its tree"


@typed
def symbolic(
    robot: HasModel | Model, parameters: Kind | Sequence[Kind] | None = None, *, snap: float = 1e-10
) -> "SymbolicRobot":
    """Derive the equations of a robot in closed form, with exact numbers and symbols.

    Args:
        robot: a Robot or a Model. Any number of it may be a SymPy symbol or expression; floats
            become the fractions of their decimals, entries of rotations simple roots.
        parameters: numbers to replace by symbols: "inertial" (m1, c1x, I1xx), "lengths" (L1),
            "gravity" (g), "friction" (b1, f1), "drives" (Ia1, Im1, r1), "springs" (k1, rest1),
            several of them, or "all". Zeros stay zero.
        snap: entries of rotations this close to 0, 1/2, sqrt(2)/2, sqrt(3)/2, 1 or another simple
            root are replaced by it, since files often write pi with a dozen digits; `notes` of the
            result lists these. 0 allows for rounding only.

    Returns:
        M, C, c, g, tau, T, J, K, U and christoffel as SymPy objects, each computed when it is first
        used. Of a robot with constraints these are those of its tree; M_r, c_r, g_r, h_r
        and N are in the independent coordinates, Phi, J_Phi and gamma are the constraints.
    """
    need("sympy", "symbolic", "a closed form")
    model = model_of(robot)
    if not 0 <= snap < 0.01:
        raise InputError(f"snap is {snap}; expected 0 <= snap < 0.01.")
    return SymbolicRobot(model, parameters, snap)


class SymbolicRobot:
    """The equations of a robot as SymPy objects: M ddq + c + g + springs + friction = tau.

    `q`, `dq` and `ddq` are the symbols of the joints, `parameters` those in its data, `values` the
    numbers that symbols replaced, `notes` the rotations that were changed to exact ones.

    With constraints, M_r ddy + h_r = N^T tau for the independent coordinates y, with dq = N dy;
    `independent` and `dependent` are symbols of q, `closures` the equations of the dependent ones.

    Args:
        model: a Model with symbols or numbers.
        parameters: numbers to replace by symbols, as in `kt.symbolic`.
        snap: largest change of an entry of a rotation that makes it exact, dimensionless.
    """

    def __init__(
        self, model: Model, parameters: Kind | Sequence[Kind] | None = None, snap: float = 1e-10
    ) -> None:
        exact, self.notes = exact_model(model, snap)
        self.model, self.values = with_symbols(exact, parameters)
        self.q, self.dq, self.ddq = joint_symbols(self.model)
        self.parameters = sorted(model_symbols(self.model), key=str)
        self._reader = Reader()
        register_angles(self._reader, self.model, self.q)
        self._model = polynomial_model(tree_of(self.model), self._reader)
        read = self._reader.read
        self._q, self._dq, self._ddq = (
            np.array([read(x) for x in symbols], object) for symbols in (self.q, self.dq, self.ddq)
        )
        self._functions: dict[str, Callable[..., Any]] = {}

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.model.name

    @cached_property
    def M(self) -> "ImmutableDenseMatrix":
        """Mass matrix M(q), (n, n), with armature and rotors."""
        return self._matrix("M", self._M)

    @cached_property
    def C(self) -> "ImmutableDenseMatrix":
        """C(q, dq), (n, n), of the Christoffel symbols: c = C dq, dM/dt - 2 C skew-symmetric."""
        return self._matrix("C", dynamics.coriolis_matrix(self._model, self._q, self._dq))

    @cached_property
    def c(self) -> "ImmutableDenseMatrix":
        """Centrifugal and Coriolis forces c(q, dq), (n, 1)."""
        still = weightless(self._model)
        c = dynamics.inverse_dynamics(still, self._q, self._dq, zeros(self.model.n))
        return self._matrix("c", c)

    @cached_property
    def g(self) -> "ImmutableDenseMatrix":
        """Gravity forces g(q), (n, 1)."""
        rest = zeros(self.model.n)
        return self._matrix("g", dynamics.inverse_dynamics(self._model, self._q, rest, rest))

    @cached_property
    def friction(self) -> "ImmutableDenseMatrix":
        """Friction forces of the joints, (n, 1); dry friction by sign(dq)."""
        return column("friction", dynamics.friction_forces(self.model, self.dq))

    @cached_property
    def springs(self) -> "ImmutableDenseMatrix":
        """Forces of the springs, (n, 1), the gradient of their energy."""
        q = np.array(self.q, object)
        return column("springs", dynamics.spring_forces(self.model, q))

    @cached_property
    def tau(self) -> "ImmutableDenseMatrix":
        """Joint forces of a motion, (n, 1), by Newton-Euler, with springs and friction."""
        without_constraints(self.model, "tau in closed form", REDUCED_FORMS)
        tau = dynamics.inverse_dynamics(self._model, self._q, self._dq, self._ddq)
        passive = zip(self.friction.flat(), self.springs.flat(), strict=True)
        entries = [self._present(x) + b + k for x, (b, k) in zip(tau, passive, strict=True)]
        return column("tau", entries)

    @cached_property
    def T(self) -> "ImmutableDenseMatrix":
        """Pose of the tool in {s}, (4, 4)."""
        return self.pose()

    @cached_property
    def J(self) -> "ImmutableDenseMatrix":
        """Body Jacobian of the tool, (6, n), angular rows first."""
        return self.jacobian()

    @cached_property
    def J_s(self) -> "ImmutableDenseMatrix":
        """Space Jacobian of the tool, (6, n)."""
        return self.jacobian(expressed="space")

    @cached_property
    def K(self) -> Formula:
        """Kinetic energy, J."""
        K = dynamics.kinetic_energy(self._model, self._q, self._dq)
        return Formula("K", self._present(K))

    @cached_property
    def U(self) -> Formula:
        """Potential energy, J: of gravity, zero at the origin of {s}, and of the springs."""
        weight = self._present(dynamics.potential_energy(self._model, self._q))
        energy = dynamics.spring_energy(self.model, np.array(self.q, object))
        return Formula("U", weight + energy)

    @cached_property
    def christoffel(self) -> "ImmutableDenseNDimArray":
        """Gamma_ijk, (n, n, n): C_ij = sum of Gamma_ijk dq_k."""
        n = self.model.n
        symbols = dynamics.christoffel_symbols(self._model, self._q)
        entries = [self._present(x) for x in symbols.ravel()]
        return named_array("Gamma", np.array(entries, object).reshape(n, n, n))

    @cached_property
    def M_r(self) -> "ImmutableDenseMatrix":
        """Mass matrix of the independent coordinates, (d, d): N^T M N."""
        return rows_matrix("M_r", self._moving("M_r").M_r())

    @cached_property
    def c_r(self) -> "ImmutableDenseMatrix":
        """Centrifugal and Coriolis forces in the independent coordinates, (d, 1): N^T (M nu + c).

        All rates are those of the independent coordinates, dq = N dy.
        """
        return rows_matrix("c_r", self._moving("c_r").c_r())

    @cached_property
    def g_r(self) -> "ImmutableDenseMatrix":
        """Gravity forces in the independent coordinates, (d, 1): N^T g."""
        return rows_matrix("g_r", self._moving("g_r").g_r())

    @cached_property
    def h_r(self) -> "ImmutableDenseMatrix":
        """All forces without acceleration, (d, 1): c_r + g_r + N^T (springs + friction)."""
        self._moving("h_r")
        rates = dict(zip(self.dq, self.N * column("dy", self.independent_rates), strict=True))
        passive = (self.springs + self.friction).subs(rates, simultaneous=True)
        return rows_matrix("h_r", [[x] for x in self.c_r + self.g_r + self.N.T * passive])

    @cached_property
    def N(self) -> "ImmutableDenseMatrix":
        """Rates of all joints for a unit of each independent rate, (n, d): dq = N dy."""
        return rows_matrix("N", self._moving("N").N())

    @cached_property
    def Phi(self) -> "ImmutableDenseMatrix":
        """Equations of the constraints without redundant ones, (r, 1), as `constraint_errors`."""
        return self._matrix("Phi", self._reduced.given.Phi)

    @cached_property
    def J_Phi(self) -> "ImmutableDenseMatrix":
        """Derivative of Phi, (r, n): dPhi/dt = J_Phi dq."""
        return self._matrix("J_Phi", self._reduced.given.J)

    @cached_property
    def gamma(self) -> "ImmutableDenseMatrix":
        """Second derivative of Phi without acceleration, (r, 1), in all rates dq."""
        return self._matrix("gamma", self._reduced.given.gamma)

    @property
    def closures(self) -> dict[str, Expression]:
        """Expressions that are zero on the constraints, by name of the equation.

        As Phi, with loops in axes that are fixed in {s}: the form of textbooks.
        """
        reduced = self._reduced
        return dict(zip(reduced.names, map(self._present, reduced.closures), strict=True))

    @property
    def independent(self) -> list[Expression]:
        """Symbols of the coordinates that the others follow from."""
        return [self.q[k] for k in self._independent_coordinates]

    @property
    def dependent(self) -> list[Expression]:
        """Symbols of the coordinates that follow from `independent` by `closures`."""
        return [x for x in self.q if x not in self.independent]

    @property
    def independent_rates(self) -> list[Expression]:
        """Symbols of the independent rates dy."""
        return [self.dq[d] for d in self._reduced.y]

    def pose(self, frame: str | None = None) -> "ImmutableDenseMatrix":
        """T of a frame in {s}, (4, 4); the tool when None.

        Args:
            frame: name of a frame; None: the tool.
        """
        return self._matrix("T", dynamics.pose(self._model, self._q, frame))

    def jacobian(
        self, frame: str | None = None, *, expressed: Literal["body", "space"] = "body"
    ) -> "ImmutableDenseMatrix":
        """Jacobian of a frame, (6, n), in its own axes ("body") or in {s} ("space").

        Args:
            frame: name of a frame; None: the tool.
            expressed: "body" for its own axes, "space" for {s}.
        """
        functions = {"body": dynamics.body_jacobian, "space": dynamics.space_jacobian}
        if expressed not in functions:
            raise InputError(f"expressed is {expressed!r}; expected 'body' or 'space'.")
        return self._matrix("J", functions[expressed](self._model, self._q, frame))

    def evaluate(
        self,
        name: Quantity | ReducedQuantity,
        q: StateLike,
        dq: StateLike | None = None,
        ddq: StateLike | None = None,
        values: Mapping[Any, float] | None = None,
    ) -> Array:
        """Evaluate a closed form at numbers, as a float array.

        Args:
            name: "M", "C", "c", "g", "friction", "springs", "tau", "T", "J", "J_s", "K", "U",
                or "christoffel"; of a robot with constraints also "M_r", "c_r", "g_r",
                "h_r", "N", "Phi", "J_Phi" or "gamma".
            q: joint positions, shape (nq,), rad or m; None: zero.
            dq: joint rates, shape (n,), rad/s or m/s; None: zero.
            ddq: joint accelerations, shape (n,), rad/s^2 or m/s^2; None: zero.
            values: numbers for parameters, {symbol or its name: number}; by default the numbers
                that the symbols replaced.
        """
        known_names = (*SYMBOLIC, *REDUCED) if self.model.constraints else SYMBOLIC
        if name not in known_names:
            raise NameLookupError(f"there is no {name!r}; expected {', '.join(known_names)}.")
        known = self._numbers(values)
        rates = dof_axis(self.model)
        arguments = [(q, coordinate_axis(self.model), "q"), (dq, rates, "dq"), (ddq, rates, "ddq")]
        state = [
            np.zeros(len(symbols)) if x is None else np.asarray(x, float)
            for symbols, x in zip(
                (self.q, self.dq, self.ddq), Alignment(arguments).values, strict=True
            )
        ]
        return np.asarray(self._function(name)(*state, known), float)

    def subs(self, values: Mapping[Any, Expression]) -> "SymbolicRobot":
        """The same robot with numbers or expressions in place of some of its parameters.

        Args:
            values: {symbol or its name: number or expression}, in the unit of the parameter.
        """
        from sympy import sympify

        named = {x.name: x for x in self.parameters}
        by_symbol = {named.get(str(key), sympify(key)): value for key, value in values.items()}
        changed = self.model.astype(lambda x: sympify(x).subs(by_symbol))
        return SymbolicRobot(changed)

    def _repr_html_(self) -> str:
        rows = zip(self.model.dof_names, self.dq, self.ddq, strict=True)
        notes = [f"q: {', '.join(map(str, self.q))}"]
        notes.append(f"parameters: {', '.join(map(str, self.parameters)) or 'none'}")
        notes.append("M, C, c, g, tau, T, J, K, U and christoffel are its closed forms.")
        return Table(
            f"{self.name} in closed form", ("joint", "dq", "ddq"), rows, notes=notes
        ).html()

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.parameters)) or "none"
        return (
            f"SymbolicRobot({self.name!r}, q: {', '.join(map(str, self.q))}, parameters: {shown})"
        )

    @cached_property
    def _reduced(self) -> ReducedForms:
        constraints = constraints_of(self.model, "an equation of constraints in closed form")
        solvable(self.model)
        numbers = retyped(constraints, self._reader.read)
        return ReducedForms(self._presenter, self._model, numbers, self._q, self._dq, self._M)

    def _moving(self, name: str) -> ReducedForms:
        instead = "Only Phi, J_Phi and gamma can be derived."
        moving_constraints(self.model, f"{name} in closed form", instead)
        return self._reduced

    @property
    def _independent_coordinates(self) -> list[int]:
        coords: dict[int, Sequence[int]] = {}  # of each rate; all of a joint with a quaternion
        for joint in self.model.joints:
            alike = len(joint.dofs) == len(joint.coords)
            for k, d in enumerate(joint.dofs):
                coords[d] = joint.coords[k : k + 1] if alike else joint.coords
        return list(dict.fromkeys(x for d in self._reduced.y for x in coords[d]))

    @cached_property
    def _M(self) -> Array:
        return dynamics.mass_matrix(self._model, self._q)

    @cached_property
    def _presenter(self) -> Presenter:
        return Presenter(self._reader, [*self.dq, *self.ddq], weights(self.model))

    def _present(self, x: Operand) -> Expression:
        return self._presenter.present(x)

    def _matrix(self, name: str, entries: Array) -> "ImmutableDenseMatrix":
        entries = np.asarray(entries, object)
        rows = len(entries)
        columns = entries.shape[1] if entries.ndim == 2 else 1
        return matrix(name, rows, columns, [self._present(x) for x in entries.ravel()])

    def _numbers(self, values: Mapping[Any, float] | None) -> list[float]:
        known = {x.name: value for x, value in self.values.items()}
        known |= {str(key): value for key, value in (values or {}).items()}
        missing = [x.name for x in self.parameters if x.name not in known]
        if missing:
            raise InputError(
                f"{self.name!r} has no numbers for {', '.join(missing)}; pass "
                f"values={{{missing[0]!r}: 1.0, ...}}."
            )
        return [float(known[x.name]) for x in self.parameters]

    def _function(self, name: str) -> Callable[..., Any]:
        from sympy import lambdify

        if name not in self._functions:
            form = getattr(self, name)
            form = form.expr if isinstance(form, Formula) else form
            form = form.tolist() if hasattr(form, "tolist") else form
            if name in VECTORS:
                form = [row[0] for row in form]
            arguments = [self.q, self.dq, self.ddq, self.parameters]
            self._functions[name] = lambdify(arguments, form, modules="math", cse=True)
        return self._functions[name]


def column(name: str, entries: Iterable[Expression]) -> "ImmutableDenseMatrix":
    """A named column."""
    listed = list(entries)
    return matrix(name, len(listed), 1, listed)


def rows_matrix(name: str, rows: Sequence[Sequence[Expression]]) -> "ImmutableDenseMatrix":
    """A named matrix of rows."""
    return matrix(name, len(rows), len(rows[0]), [x for row in rows for x in row])
