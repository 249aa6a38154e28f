r"""Unfold a joint force, an entry of M, or a vector of the recursion into what it is made of.

A joint force is the sum of the terms of the equation of motion, a term is the sum of what every
link needs, and a link needs a force and a moment along the way that the joint moves it:

    tau_d = sum over terms, causes and links k of  v_kd . m_k a_k + omega_kd . (I_k alpha_k + ...)

v_kd and omega_kd are the motion of the centre of mass and the rotation of link k for a unit rate of
degree of freedom d. The products of these vectors are the leaves. They add up to the joint force of
the recursion: the difference is at most a few units of rounding of the sum of |leaf|, for which
tests allow 4 eps.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike, StateLike, is_numeric
from kinetree.dynamics.textbook.newton_euler import newton_euler
from kinetree.errors import InputError
from kinetree.explain.bodies import Bodies, Key, Share, Shares, bodies_of, shares_of
from kinetree.explain.constraints import carried_forces, refuse_moving_base
from kinetree.explain.drive_nodes import friction_nodes, mass_nodes, rotor_nodes, spring_nodes
from kinetree.explain.node import Code, Node, Quantity, code_line, product, summed, vector
from kinetree.explain.record import Carried
from kinetree.model import WORLD, Model
from kinetree.model.constrain import constraints_of, tree_of
from kinetree.model.inputs import Motion, TipWrench, Wrenches, read_motion, six_vector, zeros
from kinetree.model.units import METRE, kinds, units
from kinetree.spatial import cross

MAX_PAIRS = 6000  # shares of links in products of rates, that are unfolded one by one
MAX_SHARES = 40_000  # shares of links in all joint forces, that are unfolded together
TERMS = {
    "inertia": r"\sum_j M_{%sj} \ddot q_j",
    "Coriolis": r"\sum_{j < l} 2\, \Gamma_{%sjl}\, \dot q_j \dot q_l",
    "centrifugal": r"\sum_j \Gamma_{%sjj}\, \dot q_j^2",
    "gravity": r"g_{%s}",
    "spring": r"\tau_{\mathrm{spring},%s}",
    "friction": r"b_{%s}(\dot q)",
    "rotor": r"\tau_{\mathrm{rotor},%s}",
    "external": r"\tau_{\mathrm{external},%s}",
    "base": r"\tau_{\mathrm{base},%s}",
    "constraints": r"-\left(J^T \lambda\right)_{%s}",
}


@dataclass(frozen=True, eq=False)
class Unfolding:
    """Everything that the joint forces of one state unfold into, computed once for all joints.

    Args:
        whole: the robot with its constraints.
        at: unit motions of the links.
        shares: the links' motion by cause.
        tau: joint forces of the recursion; for a robot with constraints those of the motors.
        alpha: angular accelerations of the links in their own frames.
        carried: forces of the constraints, None without constraints.
        formulation: whose lines of code are shown.
        units: of dq, ddq and tau.
    """

    model: Model
    whole: Model
    at: Bodies
    shares: Shares
    tau: Array
    alpha: dict[int, Array]
    carried: Carried | None
    formulation: str
    units: dict[str, list[str]]

    def torque(self, dof: int) -> Node:
        """The joint force of a degree of freedom and all that it is the sum of."""
        model, unit, number = self.model, self.units["tau"][dof], str(dof + 1)
        nodes = {cause: self._links(cause, dof) for cause in self.shares}
        nodes["spring"] = spring_nodes(model, self.at.x, dof, unit)
        nodes["friction"] = friction_nodes(model, self.at.x, dof, unit)
        nodes["rotor"] = rotor_nodes(self.at, self.alpha, dof, unit)
        nodes["external"] = self._external(dof)
        nodes["constraints"] = self._constraints(dof)
        terms = [
            summed(
                cause, latex % number, unit, nodes[cause],
                code_line("gravity") if cause == "gravity" else None,
            )
            for cause, latex in TERMS.items()
            if nodes[cause]
        ]  # fmt: skip
        return Node(
            model.dof_names[dof], rf"\tau_{{{number}}}", float(self.tau[dof]), unit,
            code=code_line("tau"), numbers=self._state(dof), children=tuple(terms),
        )  # fmt: skip

    def _state(self, dof: int) -> tuple[Quantity, ...]:
        """Rate and acceleration of a degree of freedom, and its position if it is one number."""
        x, model = self.at.x, self.model
        joint = next(j for j in model.joints if j.follows is None and dof in j.dofs)
        state = [
            Quantity("rate", float(x.dq[dof]), self.units["dq"][dof]),
            Quantity("acceleration", float(x.ddq[dof]), self.units["ddq"][dof]),
        ]
        if len(joint.coords) == 1:
            unit = self.units["dq"][dof].removesuffix("/s")
            state.insert(0, Quantity("position", float(x.q[joint.coords[0]]), unit))
        return tuple(state)

    def _links(self, cause: str, dof: int) -> list[Node]:
        """A term by products of rates or columns of M, each of them by links."""
        nodes_of_cause: list[Node] = []
        for key, shares in sorted(self.shares[cause].items()):
            nodes = (self._link(cause, key, s, dof) for s in shares if self.at.moves[s.link, dof])
            links = [node for node in nodes if node is not None]
            if not key:
                nodes_of_cause += links
            elif links:
                nodes_of_cause.append(self._cause(cause, key, dof, links))
        return nodes_of_cause

    def _cause(self, cause: str, key: Key, dof: int, links: list[Node]) -> Node:
        """One column of M, one product of rates or one square; the base counts as one rate."""
        names, x, (j, l) = (*self.model.dof_names, "the base"), self.at.x, (key[0], key[-1])
        moving = [k for k in dict.fromkeys(key) if k < self.model.n]
        rates = [
            Quantity(f"rate of {names[k]}", float(x.dq[k]), self.units["dq"][k]) for k in moving
        ]
        dots = [rf"\dot q_{{{k + 1}}}" for k in key]
        if len(key) == 1:
            words = f"acceleration of {names[j]}"
            latex = rf"M_{{{_index(dof, j)}}} \ddot q_{{{j + 1}}}"
            rates = [Quantity(words, float(x.ddq[k]), self.units["ddq"][k]) for k in moving]
        elif j == l:
            words = f"rate of {names[j]}, squared"
            latex = rf"\Gamma_{{{_index(dof, j, j)}}}\, {dots[0]}^2"
        else:
            words = f"rates of {names[j]} and {names[l]}"
            latex = rf"2\, \Gamma_{{{_index(dof, j, l)}}}\, {dots[0]} {dots[1]}"
        if cause == "base":  # V_0 is the twist of the base
            of = r"\dot V_0" if len(key) == 1 else "V_0" if j == l else rf"V_0, {dots[0]}"
            latex = rf"\tau_{{{dof + 1}}}({of})"
        return summed(words, latex, self.units["tau"][dof], links, numbers=tuple(rates))

    def _link(self, cause: str, key: Key, share: Share, dof: int) -> Node | None:
        """The share of one link in one cause, at a degree of freedom; None if it is zero."""
        k, at, unit = share.link, self.at, self.units["tau"][dof]
        v, omega = at.v[k, dof], at.omega[k, dof]
        index, link, name = _index(k, dof), k + 1, self.model.link_names[k]
        force, moment = at.m[k] * share.a, at.I[k] @ share.alpha + share.gyro
        frame = f"{{{name}}}"
        moved = motion_numbers(v, omega, unit, frame)
        parts: list[Node] = []
        if (v * force).any():
            numbers = (
                Quantity("mass", at.m[k], "kg"),
                vector("acceleration of the centre", share.a, "m/s^2", frame),
                vector("force", force, "N", frame),
                *moved,
            )
            latex = rf"v_{{{index}}} \cdot m_{{{link}}} a_{{{link}}}"
            code = self._code("force")
            letters = "v", "f"
            parts.append(product("translation", latex, unit, (v, force), code, numbers, letters))
        if cause == "gravity" and parts:  # a weight turns nothing about its own centre
            latex = rf"-m_{{{link}}}\, g \cdot v_{{{index}}}"
            return replace(parts[0], name=name, latex=latex)
        if (omega * moment).any():
            numbers = (
                vector("inertia about the centre", at.I[k], "kg m^2", frame),
                vector("angular acceleration", share.alpha, "rad/s^2", frame),
                vector("gyroscopic moment", share.gyro, "N m", frame),
                vector("moment", moment, "N m", frame),
                vector("axis", omega, "", frame),
            )
            latex = rf"\omega_{{{index}}} \cdot n_{{{link}}}"
            code = self._code("moment")
            letters = r"\omega", "n"
            parts.append(product("rotation", latex, unit, (omega, moment), code, numbers, letters))
        latex = rf"J_{{{index}}}^T F_{{{link}}}"
        if cause == "inertia":
            j = key[0]
            latex = rf"J_{{{index}}}^T G_{{{link}}} J_{{{_index(k, j)}}} \ddot q_{{{j + 1}}}"
        return summed(name, latex, unit, parts, self._code("moment")) if parts else None

    def _code(self, half: str) -> Code | None:
        """The line of the chosen formulation that has forces, moments or wrenches from outside."""
        in_screws = self.formulation in ("screw", "closed")
        return code_line(self.formulation if in_screws else f"{self.formulation} {half}")

    def _external(self, dof: int) -> list[Node]:
        """Wrenches from outside, link by link."""
        nodes: list[Node] = []
        unit, names = self.units["tau"][dof], self.model.link_names
        for k, F in enumerate(self.at.x.F_ext):
            if not self.at.moves[k, dof] or not np.any(F):
                continue
            index, link, frame = _index(k, dof), k + 1, f"{{{names[k]}}}"
            F = np.asarray(F, float)
            axis, way = self.at.omega[k, dof], self.at.origin[k, dof]
            parts = [
                product(
                    "moment", rf"-\omega_{{{index}}} \cdot n_{{\mathrm{{ext}},{link}}}", unit,
                    (axis, -F[:3]), self._code("external"),
                    (vector("moment from outside", F[:3], "N m", frame),
                     vector("axis", axis, "", frame)),
                    (r"-\omega", "n"),
                ),
                product(
                    "force", rf"-v_{{{index}}} \cdot f_{{\mathrm{{ext}},{link}}}", unit,
                    (way, -F[3:]), self._code("external"),
                    (vector("force from outside", F[3:], "N", frame),
                     vector("motion of the link's origin", way, per_rate(unit), frame)),
                    ("-v", "f"),
                ),
            ]  # fmt: skip
            parts = [part for part in parts if part.children]
            if parts:
                latex = rf"-J_{{{index}}}^T F_{{\mathrm{{ext}},{link}}}"
                nodes.append(summed(names[k], latex, unit, parts, self._code("external")))
        return nodes

    def _constraints(self, dof: int) -> list[Node]:
        """-J^T lambda by constraint, each by its equations."""
        if self.carried is None:
            return []
        J, unit = dynamics.constraint_jacobian(self.whole, self.at.x.q), self.units["tau"][dof]
        code, start = code_line("constraints"), 0
        nodes: list[Node] = []
        for item in constraints_of(self.whole, "unfold").items:
            rows: list[Node] = []
            for row, name in enumerate(item.row_names, start):
                lam, entry = float(self.carried.forces[name]), float(J[row, dof])
                latex = rf"-J_{{{_index(row, dof)}}} \lambda_{{{row + 1}}}"
                numbers = (
                    Quantity("lambda", lam, self.carried.units[name]),
                    Quantity("entry of J", entry),
                )
                if lam * entry:
                    rows.append(Node(name, latex, -lam * entry, unit, "", code, numbers))
            start += len(item.row_names)
            if rows:
                nodes.append(summed(item.name, r"-J^T \lambda", unit, rows, code))
        return nodes


def unfolding(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    V_base: ArrayLike | None = None,
    dV_base: ArrayLike | None = None,
    formulation: str = "screw",
) -> Unfolding:
    """The parts of all joint forces of one state of numbers; arguments as in `explain`.

    Raises:
        InputError: the robot or the state is symbolic.
    """
    whole, model = model, tree_of(model)
    if whole.constraints is not None:
        refuse_moving_base(whole, V_base, dV_base)
    x = read_motion(model, q, dq, ddq, F_ext, F_tip, V_base, dV_base)
    check_numbers(model, x)
    loads: dict[str, Any] = {"F_ext": F_ext, "F_tip": F_tip, "V_base": V_base, "dV_base": dV_base}
    full = newton_euler(model, q, dq, ddq, formulation=formulation, **loads)
    tau, carried = full.tau, None
    if whole.constraints is not None:
        tau, carried = carried_forces(whole, x, F_ext, F_tip)
    at = bodies_of(model, x, six_vector(dV_base, "dV_base"))
    alpha = {WORLD: np.asarray(x.dV_base[:3], float)}
    return Unfolding(
        model, whole, at,
        shares=shares_of(at, pairs=_sizes(model, x)[0] <= MAX_PAIRS),
        tau=np.asarray(tau, float),
        alpha=alpha | {i: np.asarray(full.dV[i][:3], float) for i in model.links},
        carried=carried, formulation=formulation,
        units={name: units(model, name) for name in ("dq", "ddq", "tau")},
    )  # fmt: skip


def unfold_torque(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    dof: int | str,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    V_base: ArrayLike | None = None,
    dV_base: ArrayLike | None = None,
    formulation: str = "screw",
) -> Node:
    """The joint force of one degree of freedom as a tree of numbers that add up.

    Its children are the terms of the equation of motion, by the names of `SHARES`. inertia has a
    child for every column of M, Coriolis and centrifugal for every product of rates, and each of
    these a child for every link. Of robots with so many joints in a row that their products of
    rates have more than 6000 shares, Coriolis and centrifugal unfold into links. Exact zeros are
    left out.

    q, dq, ddq, F_ext, F_tip, V_base, dV_base, formulation: as in `explain`; numbers only. dof:
    number or name of the degree of freedom.
    """
    loads: dict[str, Any] = {"F_ext": F_ext, "F_tip": F_tip, "V_base": V_base, "dV_base": dV_base}
    unfolded = unfolding(model, q, dq, ddq, formulation=formulation, **loads)
    return unfolded.torque(dof_number(model, dof))


def unfold_all(
    model: Model, *motion: StateLike, formulation: str = "screw", **loads: Any
) -> list[Node]:
    """All joint forces as trees; empty if they have more than 40,000 shares of links together.

    motion, loads: q, dq, ddq; F_ext, F_tip, V_base and dV_base, as in `explain`.
    """
    q, dq, ddq = motion
    if _sizes(tree_of(model), read_motion(tree_of(model), q, dq, ddq))[1] > MAX_SHARES:
        return []
    unfolded = unfolding(model, q, dq, ddq, formulation=formulation, **loads)
    return [unfolded.torque(dof) for dof in range(model.n)]


def _sizes(model: Model, x: Motion) -> tuple[int, int]:
    """Shares of links: in the products of rates of one joint force, and in all joint forces."""
    counts = {WORLD: (0, 0, 0)}  # degrees of freedom that move a link; with a rate; accelerated
    one = everything = 0
    for i in model.links:
        before, rates, changes = counts[model.parent[i]], x.dq_i[i], x.ddq_i[i]
        of_joint = len(rates), int(np.count_nonzero(rates)), int(np.count_nonzero(changes))
        counts[i] = before[0] + of_joint[0], before[1] + of_joint[1], before[2] + of_joint[2]
        moving, products = counts[i][0], counts[i][1] * (counts[i][1] + 1) // 2
        one += products
        everything += moving * (products + counts[i][2] + 1)
    return one, everything


def unfold_mass(model: Model, q: StateLike, row: int | str, column: int | str) -> Node:
    """An entry of the mass matrix: the sum over the links of J^T G J, and armature and rotors.

    q: joint positions, shape (nq,), numbers. row, column: numbers or names of degrees of freedom.
    """
    i, j = dof_number(model, row), dof_number(model, column)
    model = tree_of(model)
    x = read_motion(model, q, zeros(model.n), zeros(model.n))
    check_numbers(model, x)
    at, names = bodies_of(model, x, np.zeros(6)), model.dof_names
    turning = [kinds(model, "dq")[d] != METRE for d in (i, j)]
    unit, code = ("kg", "kg m", "kg m^2")[sum(turning)], code_line("M")
    nodes: list[Node] = []
    for k in model.links:
        link, a, b = k + 1, _index(k, i), _index(k, j)
        v, omega, frame = at.v[k], at.omega[k], f"{{{model.link_names[k]}}}"
        parts = [
            product(
                "translation", rf"m_{{{link}}}\, v_{{{a}}} \cdot v_{{{b}}}", unit,
                (v[i], at.m[k] * v[j]), code,
                (Quantity("mass", at.m[k], "kg"),
                 vector(f"motion of the centre by {names[i]}", v[i], "", frame),
                 vector(f"motion of the centre by {names[j]}", v[j], "", frame)),
                (r"m\, v", "v"),
            ),
            product(
                "rotation", rf"\omega_{{{a}}} \cdot I_{{{link}}} \omega_{{{b}}}", unit,
                (omega[i], at.I[k] @ omega[j]), code,
                (vector("inertia about the centre", at.I[k], "kg m^2", frame),
                 vector(f"axis of {names[i]}", omega[i], "", frame),
                 vector(f"axis of {names[j]}", omega[j], "", frame)),
                (r"\omega", r"(I \omega)"),
            ),
        ]  # fmt: skip
        parts = [part for part in parts if part.children]
        if parts:
            latex = rf"J_{{{a}}}^T G_{{{link}}} J_{{{b}}}"
            nodes.append(summed(model.link_names[k], latex, unit, parts, code))
    nodes += mass_nodes(at, i, j, unit)
    title = f"M of {names[i]} and {names[j]}" if i != j else f"M of {names[i]}"
    return summed(title, rf"M_{{{_index(i, j)}}}", unit, nodes, code)


def motion_numbers(v: Array, omega: Array, unit: str, frame: str) -> tuple[Quantity, ...]:
    """Motion of a link's centre for a unit rate, with axis and arm if the joint turns it.

    unit: of the joint's force. frame: of both vectors.
    """
    quantities = [vector("motion of the centre", v, per_rate(unit), frame)]
    if omega.any():
        quantities.append(vector("axis", omega, "", frame))
        hinge = abs(omega @ omega - 1) < 1e-9 and abs(omega @ v) <= 1e-12 * (1 + abs(v).max())
        if hinge:  # v = omega x arm, with the arm at a right angle to the axis
            quantities.append(vector("arm from the axis", cross(v, omega), "m", frame))
    return tuple(quantities)


def per_rate(unit: str) -> str:
    """Unit of a velocity for a unit rate of a joint whose force has the given unit."""
    return "m/s per m/s" if unit == "N" else "m/s per rad/s"


def dof_number(model: Model, dof: int | str) -> int:
    """Number of a degree of freedom from its number or name.

    Raises:
        InputError: there is no such degree of freedom.
    """
    names = model.dof_names
    if isinstance(dof, str):
        if dof in names:
            return names.index(dof)
    elif 0 <= int(dof) < len(names):
        return int(dof)
    raise InputError(
        f"there is no degree of freedom {dof!r} of {model.name!r}; it has {len(names)}, counted "
        f"from 0: {', '.join(names)}."
    )


def check_numbers(model: Model, x: Motion) -> None:
    """Raise InputError if the robot or the motion has symbols in it."""
    motion = (x.q, x.dq, x.ddq, np.array(x.F_ext), x.V_base, x.dV_base)
    data = (model.M_pi, model.m, model.com, model.I_com, model.gravity)
    if not all(is_numeric(np.asarray(y)) for y in (*motion, *data)):
        raise InputError(
            f"unfolding needs numbers, but {model.name!r} or its state has symbols; "
            "explain(...).simplified() shows the parts of symbolic results."
        )


def _index(*numbers: int) -> str:
    """Indices of a formula, counted from 1; with commas if one has two digits."""
    return ("," if max(numbers) > 8 else "").join(str(x + 1) for x in numbers)
