"""explain: inverse dynamics with the parts of every intermediate, and the joint forces by cause."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike, is_numeric
from kinetree.core.text import counted
from kinetree.dynamics.textbook.recursion import Recursion
from kinetree.errors import InputError
from kinetree.explain.bodies import Bodies, bodies_of
from kinetree.explain.causes import Torque, causes_of, dof_number, torque_shares
from kinetree.explain.constraints import carried_forces, mapped
from kinetree.explain.contacts import Pressed, pressed
from kinetree.explain.node import Node, named
from kinetree.explain.recursion import LinkSteps, Recorded, link_steps, record, unfold_vectors
from kinetree.explain.tables import TITLE, markup, own_style, text
from kinetree.model import Model
from kinetree.model.constrain import tree_of
from kinetree.model.inputs import TipWrench, Wrenches, read_motion, six_vector, zeros
from kinetree.model.model import for_robots
from kinetree.present.mathml import formula_style
from kinetree.present.tables import escape
from kinetree.scalars import Scalar

SNAP = 1e-10  # of rotations of files, as in `kinetree.symbolic`
MAX_SHARES = 40_000  # shares of links in all joint forces, that are unfolded together


@dataclass(frozen=True, eq=False)
class Explanation:
    """The outward and inward pass as data, link by link, and the joint forces by cause.

    `explanation["link2"]["V"]["parent"]` is the part of link2's twist that comes from its parent.
    Printed, it is a table; `text` and `html` give the same in other forms.

    Args:
        model: the robot.
        links: steps of each link.
        torque: joint forces by cause.
        recorded: the motion and the recursion.
        rows: rows of contacts and stops.
        arguments: the state and the loads, as they were given.
    """

    model: Model
    links: tuple[LinkSteps, ...]
    torque: Torque
    recorded: Recorded
    rows: Pressed
    arguments: Mapping[str, Any]

    @property
    def tau(self) -> Array:
        """Joint forces, (n,)."""
        return self.torque.tau

    @property
    def recursion(self) -> Recursion:
        """The intermediates as arrays."""
        return self.recorded.full

    def __getitem__(self, link: str | int) -> LinkSteps:
        if isinstance(link, int):
            return self.links[link]
        return named({steps.name: steps for steps in self.links}, link, "link")

    def map(self, function: Callable[[Any], Any]) -> "Explanation":
        """The same with `function` applied to every number or symbol, e.g. `sympy.simplify`.

        `recursion` is not changed.

        Args:
            function: function of a number or symbol.
        """
        links = tuple(
            replace(
                steps,
                terms={key: _changed(x, function) for key, x in steps.terms.items()},
                T_pi=mapped(steps.T_pi, function),
                T_si=mapped(steps.T_si, function),
            )
            for steps in self.links
        )
        torque, carried = self.torque, self.torque.constraints
        shares = {name: mapped(x, function) for name, x in torque.shares.items()}
        torque = replace(
            torque,
            shares=shares,
            tau=mapped(torque.tau, function),
            constraints=None if carried is None else carried.map(function),
        )
        return replace(self, links=links, torque=torque)

    def simplified(self) -> "Explanation":
        """A symbolic explanation in exact numbers and in its shortest form; needs SymPy.

        It is computed anew from the exact robot. An explanation of numbers is returned as it is.
        """
        if self._numeric:
            return self
        from kinetree.symbols.exact import exact_model

        model = exact_model(self.model, SNAP)[0]
        exact: dict[str, Any] = {name: _exact(x) for name, x in self.arguments.items()}
        return _shortest(explain(model, **exact), model, exact)

    @property
    def _numeric(self) -> bool:
        values = [np.asarray(y) for x in self.arguments.values() for y in _entries(x)]
        return all(map(is_numeric, (*values, self.tau, *self.model.M_pi)))

    def text(self, width: int = 100) -> str:
        """Tables for a terminal of that width.

        Args:
            width: columns of the terminal.
        """
        return text(self.model.name, self.links, self.torque, width)

    def html(self) -> str:
        """A piece of HTML with its own style, in which the joint forces unfold without a script."""
        style = own_style() + formula_style()
        title = f"<h2>{escape(self.model.name)}: {TITLE}</h2>"
        return f'<div class="kinetree">\n<style>{style}</style>\n{title}\n{self.markup()}\n</div>\n'

    def markup(self) -> str:
        """The same without title and style, for a page that has its own."""
        return markup(self.links, self.torque, self.unfolded())

    def unfold(self, dof: int | str) -> Node:
        """A joint force as a tree of numbers that add up: terms, links, factors, lines of code.

        Args:
            dof: number or name of the degree of freedom.

        Raises:
            InputError: the explanation is symbolic.
        """
        number = dof_number(self.model, dof)
        return self._causes(self._bodies()).torque(number)

    def unfold_vector(self, link: int | str, symbol: str) -> Node:
        """V, dV or F of a link as a tree of 6-vectors that add up, all in the frame of the link.

        V and dV unfold towards the base, F towards the last links.

        Args:
            link: number or name of the link.
            symbol: "V", "dV" or "F".
        """
        if symbol not in ("V", "dV", "F"):
            raise InputError(f"symbol is {symbol!r}; expected one of V, dV, F.")
        known = {x: k for k, name in enumerate(self.model.link_names) for x in (name, str(k))}
        i = named(known, str(link), "moving link")
        return unfold_vectors(self.links, self.recorded, i, symbol)

    def unfolded(self) -> list[Node]:
        """All joint forces as trees; empty for a symbolic explanation, and for very long robots."""
        if not self._numeric:
            return []
        at = self._bodies()
        if at.pairs()[1] > MAX_SHARES:
            return []
        causes = self._causes(at)
        return [causes.torque(dof) for dof in range(self.model.n)]

    def _bodies(self) -> Bodies:
        return bodies_of(self.recorded.model, self.recorded.x, self.recorded.dV_base)

    def _causes(self, at: Bodies) -> Any:
        return causes_of(self.model, at, self.recursion, self.torque, self.rows)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Explanation of {self.model.name}, {counted(len(self.links), 'link')}>"

    def _repr_html_(self) -> str:
        return self.html()


@for_robots
def explain(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    V_base: ArrayLike | None = None,
    dV_base: ArrayLike | None = None,
    contact_forces: Mapping[str, ArrayLike] | None = None,
    stop_forces: Mapping[str, float] | None = None,
) -> Explanation:
    """Inverse dynamics at one state, with the parts that make every intermediate.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
        ddq: joint accelerations, shape (n,), rad/s^2 or m/s^2.
        F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
            shape (l, 6), N m and N; None: no wrench.
        F_tip: the book's wrench, exerted by the tool on the world, shape (6,), in the tool frame, N
            m and N; or {frame: wrench}; None: no wrench.
        V_base: twist (angular, linear) of the base in its own axes, shape (6,), rad/s and m/s;
            None: at rest.
        dV_base: acceleration of the base in its own axes, shape (6,), rad/s^2 and m/s^2; None:
            zero.
        contact_forces: forces of the ground onto contacts by name, in {s}, shape (3,), N, as in
            `meta` of a simulated motion; None: no contact presses.
        stop_forces: forces of the limits onto joints by name, N m or N; None: none.

    Returns:
        A document that prints as a table, and as HTML; every number unfolds into its parts.

    Example:
        >>> robot = kt.robots.planar_2r()
        >>> text = str(robot.explain([0.1, 0.2], [1, 0], [0, 2]))
    """
    loads: dict[str, Any] = {"F_ext": F_ext, "F_tip": F_tip, "V_base": V_base, "dV_base": dV_base}
    whole, model = model, tree_of(model)
    moves = V_base is not None or dV_base is not None
    if whole.constraints is not None and moves:
        raise InputError(
            f"V_base or dV_base was given to explain {whole.name!r}, which has constraints; their "
            "forces are found for a base at rest. Leave both out, or give the robot a free joint."
        )
    x = read_motion(model, q, dq, ddq, F_ext, F_tip, V_base, dV_base)
    at = record(model, x, six_vector(dV_base, "dV_base"), loads)
    torque = torque_shares(bodies_of(model, x, at.dV_base), at.full, moves)
    more: dict[str, Array] = {}
    if whole.constraints is not None:
        tau, carried = carried_forces(whole, x, F_ext, F_tip)
        more["constraints"] = sum(carried.joints.values(), zeros(len(tau)))
        torque = replace(torque, tau=tau, constraints=carried)
    rows = pressed(model, x.q, contact_forces, stop_forces)
    pushed = rows.shares()
    tau = sum(pushed.values(), torque.tau)
    torque = replace(torque, shares={**torque.shares, **pushed, **more}, tau=tau)
    extra = {cause: by_joint(model, x) for cause, x in (pushed | more).items()}
    arguments = {"q": x.q, "dq": x.dq, "ddq": x.ddq} | loads
    return Explanation(whole, tuple(link_steps(at, extra)), torque, at, rows, arguments)


def by_joint(model: Model, share: Array) -> list[Array]:
    """A share of the joint forces, (n,), by joint; joints that follow another one have none."""
    return [
        share[list(joint.dofs)] if joint.follows is None else zeros(len(joint.dofs))
        for joint in model.joints
    ]


def _changed(node: Node, function: Callable[[Any], Any]) -> Node:
    value = tuple(function(x) for x in np.ravel(node.value))
    return replace(node, value=value, children=tuple(_changed(x, function) for x in node.children))


def _shortest(found: Explanation, model: Model, exact: Mapping[str, Any]) -> Explanation:
    """An explanation with its expressions written like the closed forms of `kinetree.symbolic`."""
    from kinetree.symbols.parameters import weights
    from kinetree.symbols.present import Presenter
    from kinetree.symbols.read import Reader, register_angles

    reader = Reader()
    register_angles(reader, model, list(exact["q"]))
    rates: Iterable[Scalar] = (*exact["dq"], *exact["ddq"])
    symbols = [x for x in rates if getattr(x, "free_symbols", None)]
    for symbol in symbols:
        reader.read(symbol)
    read = found.map(reader.read)  # all angles must be known before a result is written
    presenter = Presenter(reader, [x for x in symbols if x in reader.ring.index], weights(model))
    return read.map(presenter.present)


def _exact(x: object) -> object:
    """Arrays, and wrenches by the name of their frame, in exact numbers; None stays."""
    from kinetree.symbols.exact import exact_array

    if isinstance(x, dict):
        return {name: _exact(value) for name, value in x.items()}
    return None if x is None else exact_array(np.asarray(x))


def _entries(x: object) -> Iterable[object]:
    values: Iterable[object] = x.values() if isinstance(x, dict) else [x]
    return [value for value in values if value is not None]
