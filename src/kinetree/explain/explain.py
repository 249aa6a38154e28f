"""explain: inverse dynamics with the parts of every intermediate, and the forms it prints in."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike, is_numeric
from kinetree.core.text import counted
from kinetree.dynamics.textbook.newton_euler import newton_euler
from kinetree.dynamics.textbook.recursion import Recursion
from kinetree.explain.constraints import (
    SHARE,
    carried_forces,
    joint_shares,
    mapped,
    refuse_moving_base,
    with_constraints,
)
from kinetree.explain.documents import latex, markdown
from kinetree.explain.html import html
from kinetree.explain.node import Node
from kinetree.explain.page import Page, page_of
from kinetree.explain.parts import (
    Parts,
    Recorded,
    Values,
    closed_parts,
    joint_parts,
    pose_parts,
    screw_parts,
    total,
    vector_parts,
)
from kinetree.explain.record import LinkSteps, Part, Term, Torque, find
from kinetree.explain.torque import torque_shares
from kinetree.explain.unfold import dof_number, unfold_all, unfolding
from kinetree.explain.words import equation, friction_equation
from kinetree.model import WORLD, HasModel, Joint, Model, model_of
from kinetree.model.constrain import tree_of
from kinetree.model.documented import documented
from kinetree.model.edit import with_gravity
from kinetree.model.inputs import TipWrench, Wrenches, read_motion, six_vector, zeros
from kinetree.model.joint import rate_names
from kinetree.scalars import Scalar

if TYPE_CHECKING:
    from kinetree.explain.terminal import Screen

SNAP = 1e-10  # of rotations of files, as in `kinetree.symbolic`
SPLITS: dict[str, Callable[[Recorded], tuple[Parts, list[Values]]]] = {
    "screw": screw_parts,
    "closed": closed_parts,
    "link": vector_parts,
    "space": vector_parts,
}


@dataclass(frozen=True, eq=False)
class Explanation:
    """The outward and inward pass as data, link by link, and the joint forces by cause.

    `explanation["link2"]["V"]["parent"]` is the part of link2's twist that comes from its parent.
    Printed, it is a table; `text`, `markdown`, `latex` and `html` give the same in other forms.

    Args:
        model: the robot.
        formulation: "screw", "closed", "link" or "space".
        links: steps of each link.
        torque: joint forces by cause.
        recursion: the intermediates as arrays.
        arguments: the state and the loads.
    """

    model: Model
    formulation: str
    links: tuple[LinkSteps, ...]
    torque: Torque
    recursion: Recursion
    arguments: Mapping[str, Any]  # q, dq, ddq, F_ext, F_tip, V_base, dV_base as they were given

    @property
    def tau(self) -> Array:
        """Joint forces, (n,)."""
        return self.torque.tau

    def __getitem__(self, link: str | int) -> LinkSteps:
        if isinstance(link, int):
            return self.links[link]
        return find({steps.name: steps for steps in self.links}, link, "link", self.model.name)

    def map(self, function: Callable[[Any], Any]) -> "Explanation":
        """The same with `function` applied to every number or symbol, e.g. `sympy.simplify`.

        `recursion` is not changed.

        Args:
            function: function of a number or symbol.
        """

        def changed(x: Array) -> Array:
            flat = np.empty(np.size(x), object)
            flat[:] = [function(entry) for entry in np.ravel(x)]
            return np.array(flat.tolist() if is_numeric(x) else flat).reshape(np.shape(x))

        def term(old: Term) -> Term:
            parts = tuple(replace(part, value=changed(part.value)) for part in old.parts)
            return replace(old, parts=parts, value=changed(old.value))

        links = tuple(
            replace(steps, terms={symbol: term(old) for symbol, old in steps.terms.items()})
            for steps in self.links
        )
        shares = {name: changed(x) for name, x in self.torque.shares.items()}
        carried = mapped(self.torque.constraints, changed)
        torque = replace(
            self.torque, shares=shares, tau=changed(self.torque.tau), constraints=carried
        )
        return replace(self, links=links, torque=torque)

    def simplified(self) -> "Explanation":
        """A symbolic explanation in exact numbers and in its shortest form; needs SymPy.

        It is computed anew from the exact robot. An explanation of numbers is returned as it is.
        """
        if not has_symbols(self.model, self.arguments) and is_numeric(self.tau):
            return self
        model, exact = exact_arguments(self.model, self.arguments)
        explanation = explain(model, **exact, formulation=self.formulation)
        return shortest(explanation, model, exact["q"], [*exact["dq"], *exact["ddq"]])

    def text(self, width: int = 100) -> str:
        """Tables for a terminal of that width, without colours.

        Args:
            width: columns of the terminal.
        """
        from kinetree.explain.terminal import plain_text  # here, since it loads rich

        return plain_text(self.page(), width)

    def markdown(self) -> str:
        """Headings and tables in Markdown."""
        return markdown(self.page())

    def latex(self) -> str:
        """Headings and tables in LaTeX, to be input into a document; no packages are needed."""
        return latex(self.page())

    def html(self) -> str:
        """A piece of HTML with its own style, in which the joint forces unfold without a script.

        `kinetree explain ROBOT -o x.html` writes a page of its own, with more levels.
        """
        return html(self.page(), self.unfolded())

    def unfold(self, dof: int | str) -> Node:
        """A joint force as a tree of numbers that add up: terms, links, factors, lines of code.

        Args:
            dof: number or name of the degree of freedom.

        Raises:
            InputError: the explanation is symbolic.
        """
        return unfolding(self.model, **self.arguments, formulation=self.formulation).torque(
            dof_number(self.model, dof)
        )

    def unfolded(self) -> list[Node]:
        """All joint forces as trees; empty for a symbolic explanation, and for very long robots."""
        if has_symbols(self.model, self.arguments) or not is_numeric(self.tau):
            return []
        arguments = dict(self.arguments)
        motion = [arguments.pop(name) for name in ("q", "dq", "ddq")]
        return unfold_all(self.model, *motion, formulation=self.formulation, **arguments)

    def page(self) -> Page:
        """The explanation as titles, sections and rows."""
        return page_of(self.model.name, self.formulation, self.links, self.torque)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        size = counted(len(self.links), "link")
        return f"<Explanation of {self.model.name}, {self.formulation}, {size}>"

    def __rich__(self) -> "Screen":
        from kinetree.explain.terminal import Screen

        return Screen(self.page())

    def _repr_html_(self) -> str:
        return self.html()


@documented
def explain(
    robot: Model | HasModel,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    V_base: ArrayLike | None = None,
    dV_base: ArrayLike | None = None,
    formulation: str = "screw",
) -> Explanation:
    """Inverse dynamics at one state, with the parts that make every intermediate.

    Returns:
        A document that prints as a table, and as LaTeX or HTML.

    Example:
        >>> robot = kt.robots.planar_2r()
        >>> text = str(robot.explain([0.1, 0.2], [1, 0], [0, 2]))
    """
    model = model_of(robot)
    loads: dict[str, Any] = {"F_ext": F_ext, "F_tip": F_tip, "V_base": V_base, "dV_base": dV_base}
    whole, model = model, tree_of(model)
    if whole.constraints is not None:
        refuse_moving_base(whole, V_base, dV_base)
    full = newton_euler(model, q, dq, ddq, formulation=formulation, **loads)
    still, rest = with_gravity(model, zeros(3)), zeros(model.n)
    moving = newton_euler(still, q, dq, ddq, formulation=formulation, **loads)
    resting = newton_euler(model, q, rest, rest, formulation=formulation)
    x = read_motion(model, q, dq, ddq, F_ext, F_tip, V_base, dV_base)
    at = Recorded(model, x, six_vector(dV_base, "dV_base"), full, moving, resting)
    parts, wrenches = SPLITS[formulation](at)
    parts = {"T": pose_parts(model, x, full.T_si)} | parts
    parts["tau"] = joint_parts(at, wrenches)
    torque = torque_shares(model, x.q, x.dq, x.ddq, full.tau, **loads)
    if whole.constraints is not None:
        tau, carried = carried_forces(whole, x, F_ext, F_tip)
        torque = with_constraints(torque, tau, carried)
        for joint_part, share in zip(parts["tau"], joint_shares(model, carried), strict=True):
            joint_part[SHARE] = share
    values = link_values(model, full, parts)
    links = [
        _link_steps(
            model,
            i,
            {
                symbol: _term(formulation, symbol, parts[symbol][i], values[symbol][i], joint)
                for symbol in parts
            },
        )
        for i, joint in enumerate(model.joints)
    ]
    arguments = {"q": x.q, "dq": x.dq, "ddq": x.ddq} | loads
    return Explanation(whole, formulation, tuple(links), torque, full, arguments)


def link_values(model: Model, record: Recursion, parts: Parts) -> dict[str, list[Array] | Array]:
    """Results of the recursion, by symbol and link.

    Joints that move together share an entry of tau; each has its own here.
    """
    values = {s: getattr(record, s) for s in parts if s not in ("T", "tau")}
    of_drives = ("rotor and armature", "friction", "spring", SHARE)
    drives = [total({k: x[k] for k in of_drives if k in x}) for x in parts["tau"]]
    tau = [model.A[i].T @ F + drives[i] for i, F in enumerate(record.F)]
    return {"T": record.T_si} | values | {"tau": tau}


def _link_steps(model: Model, i: int, terms: Mapping[str, Term]) -> LinkSteps:
    joint, p = model.joints[i], model.parent[i]
    return LinkSteps(
        link=i,
        name=model.link_names[i],
        joint=joint.name,
        type=joint.type,
        parent=model.base_name if p == WORLD else model.link_names[p],
        rates=tuple(rate_names(joint)),
        terms=terms,
    )


def _term(formulation: str, symbol: str, parts: Values, value: Array, joint: Joint) -> Term:
    """The record of one quantity of one link."""

    def words(name: str) -> tuple[str, str]:
        if symbol == "tau" and name == "friction":
            return friction_equation(joint.friction)
        return equation(formulation, symbol, name)

    named = tuple(Part(name, *words(name), np.asarray(x)) for name, x in parts.items())
    return Term(symbol, named, np.asarray(value), product=symbol == "T")


def has_symbols(model: Model, arguments: Mapping[str, object]) -> bool:
    """Return True if the robot or an argument is symbolic."""
    data = (model.M_pi, model.m, model.com, model.I_com, model.gravity)
    return not all(is_numeric(np.asarray(x)) for x in data) or any(
        map(_symbolic, arguments.values())
    )


def exact_arguments(model: Model, arguments: Mapping[str, object]) -> tuple[Model, dict[str, Any]]:
    """The robot and the arguments in exact numbers."""
    from kinetree.symbols.exact import exact_model

    return exact_model(model, SNAP)[0], {name: _exact(x) for name, x in arguments.items()}


def shortest(
    explanation: Explanation, model: Model, q: Array, rates: Iterable[Scalar]
) -> Explanation:
    """An explanation with its expressions written like the closed forms of `kinetree.symbolic`.

    model, q, rates: the exact robot, q, and entries of dq and ddq that it was computed from.
    """
    from kinetree.symbols.parameters import weights
    from kinetree.symbols.present import Presenter
    from kinetree.symbols.read import Reader, register_angles

    reader = Reader()
    register_angles(reader, model, list(q))
    symbols = [rate for rate in rates if _symbolic(rate)]
    for symbol in symbols:
        reader.read(symbol)
    read = explanation.map(reader.read)  # all angles must be known before a result is written
    presenter = Presenter(reader, [x for x in symbols if x in reader.ring.index], weights(model))
    return read.map(presenter.present)


def _exact(x: object) -> object:
    """Arrays, and wrenches by the name of their frame, in exact numbers; None stays."""
    from kinetree.symbols.exact import exact_array

    if isinstance(x, dict):
        return {name: _exact(value) for name, value in x.items()}
    return None if x is None else exact_array(np.asarray(x))


def _symbolic(x: object) -> bool:
    values: Iterable[object] = x.values() if isinstance(x, dict) else [x]
    entries = (y for value in values if value is not None for y in np.asarray(value).ravel())
    return any(getattr(y, "free_symbols", None) for y in entries)
