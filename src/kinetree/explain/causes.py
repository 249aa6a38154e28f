r"""Joint forces by cause: what each one is the sum of, down to products of vectors.

A joint force is the sum of the terms of the equation of motion, a term is the sum of what every
link needs, and a link needs a force and a moment along the way that the joint moves it:

    tau_d = sum over terms, causes and links k of  v_kd . m_k a_k + omega_kd . (I_k alpha_k + ...)

v_kd and omega_kd are the motion of the centre of mass and the rotation of link k for a unit rate of
degree of freedom d. The products of these vectors are the leaves. They add up to the joint force of
the recursion: the difference is at most a few units of rounding of the sum of |leaf|, for which
tests allow 4 eps. `torque_shares` adds the same motions up for numbers and for symbols.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, StateLike, is_numeric
from kinetree.dynamics.textbook.recursion import Recursion
from kinetree.dynamics.textbook.rotors import rotor_moments
from kinetree.errors import InputError
from kinetree.explain.bodies import Bodies, Key, Share, Shares, bodies_of, joint_forces, shares_of
from kinetree.explain.constraints import Carried
from kinetree.explain.contacts import Pressed
from kinetree.explain.drives import friction_nodes, mass_nodes, rotor_nodes, spring_nodes
from kinetree.explain.node import Node, Quantity, code_line, leaf, named, product, summed, vector
from kinetree.model import WORLD, Model
from kinetree.model.constrain import constraints_of, tree_of
from kinetree.model.inputs import Motion, read_motion, zeros
from kinetree.model.units import METRE, kinds, units
from kinetree.spatial import cross

MAX_PAIRS = 6000  # shares of links in products of rates, that are unfolded one by one
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
    "contact": r"-\left(J_\mathrm{contact}^T \lambda\right)_{%s}",
    "stop": r"-\lambda_{\mathrm{stop},%s}",
    "constraints": r"-\left(J^T \lambda\right)_{%s}",
}
KEYS = {"gravity": "gravity"}  # markers of lines of code
SHARES = tuple(TERMS)


@dataclass(frozen=True, eq=False)
class Torque:
    """Joint forces by cause, each (n,); `units` are those of the entries, N m or N.

    inertia: M ddq of the links. centrifugal: the terms in squares of rates; Coriolis: those in
    products of two different rates. rotor: all forces of armature and rotors, gyroscopic ones
    included. external: wrenches on the links. spring: springs of the joints, if the robot has any.
    base: motion of the base, if one is given. contact, stop: -J^T lambda of contacts that press and
    of joints at their limits, if their forces are given. constraints: -J^T lambda of the
    constraints, if the robot has any; tau are then the forces of its motors.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    shares: Mapping[str, Array]
    tau: Array
    constraints: Carried | None = None

    def __getitem__(self, name: str) -> Array:
        return named(self.shares, name, "share of tau")

    @property
    def total(self) -> Array:
        """The sum of all shares: tau, to rounding."""
        return sum(self.shares.values(), zeros(len(self.tau)))


def torque_shares(at: Bodies, full: Recursion, base: bool) -> Torque:
    """Shares of the joint forces of a tree, each computed on its own, of numbers or symbols.

    With Christoffel symbols the squares are the sum of Gamma_ijj dq_j^2. Rates of spherical, planar
    and free joints are the components of their twist, so their squares and products are those of
    these components.

    base: whether a motion of the base was given.
    """
    model, x = at.model, at.x
    found = {cause: joint_forces(at, x) for cause, x in shares_of(at, pairs=False).items()}
    omega = {WORLD: x.V_base[:3], **dict(enumerate(full.V[:, :3]))}
    reactions = external = zeros(model.n)
    for k, moment in rotor_moments(model.rotors, x.dq, x.ddq, omega).items():
        reactions = reactions + at.omega[k] @ moment
    for k, F in enumerate(x.F_ext):
        external = external - at.omega[k] @ F[:3] - at.origin[k] @ F[3:]
    shares = {cause: found[cause] for cause in ("inertia", "Coriolis", "centrifugal", "gravity")}
    if model.springs:
        shares["spring"] = full.tau_spring
    shares |= {"friction": full.tau_friction, "rotor": full.tau_rotor + reactions}
    shares["external"] = external
    if base:
        shares["base"] = found["base"]
    return Torque(model.dof_names, tuple(units(model, "tau")), shares, full.tau)


@dataclass(frozen=True, eq=False)
class Causes:
    """Everything that the joint forces of one state unfold into, computed once for all joints.

    Args:
        model: the robot, with its constraints.
        at: unit motions of the links.
        shares: the links' motion by cause.
        tau: joint forces of the recursion; for a robot with constraints those of the motors.
        alpha: angular accelerations of the links in their own frames.
        carried: forces of the constraints, None without constraints.
        pressed: rows of contacts and stops.
        units: of dq, ddq and tau.
    """

    model: Model
    at: Bodies
    shares: Shares
    tau: Array
    alpha: dict[int, Array]
    carried: Carried | None
    pressed: Pressed
    units: dict[str, list[str]]

    def torque(self, dof: int) -> Node:
        """The joint force of a degree of freedom and all that it is the sum of."""
        model, x, number = self.at.model, self.at.x, str(dof + 1)
        unit = self.units["tau"][dof]
        nodes = {cause: self._links(cause, dof) for cause in self.shares}
        nodes["spring"] = spring_nodes(model, x, dof, unit)
        nodes["friction"] = friction_nodes(model, x, dof, unit)
        nodes["rotor"] = rotor_nodes(self.at, self.alpha, dof, unit)
        nodes["external"] = self._external(dof)
        nodes["constraints"] = self._constraints(dof)
        nodes |= self.pressed.nodes(dof, unit)
        terms = [
            summed(cause, latex % number, unit, nodes[cause], KEYS.get(cause, ""))
            for cause, latex in TERMS.items()
            if nodes[cause]
        ]
        value, latex = float(self.tau[dof]), rf"\tau_{{{number}}}"
        state, code = self._state(dof), code_line("tau")
        return Node(model.dof_names[dof], latex, value, unit, "", code, state, tuple(terms))

    def _state(self, dof: int) -> tuple[Quantity, ...]:
        """Rate and acceleration of a degree of freedom, and its position if it is one number."""
        x, model = self.at.x, self.at.model
        joint = next(j for j in model.joints if j.follows is None and dof in j.dofs)
        state = [self._rate(dof), self._rate(dof, "acceleration")]
        state = [replace(y, name=y.name.partition(" of ")[0]) for y in state]
        if len(joint.coords) == 1:
            unit = self.units["dq"][dof].removesuffix("/s")
            state.insert(0, Quantity("position", float(x.q[joint.coords[0]]), unit))
        return tuple(state)

    def _rate(self, dof: int, word: str = "rate") -> Quantity:
        name = "dq" if word == "rate" else "ddq"
        value = float(getattr(self.at.x, name)[dof])
        of = f"{word} of {self.at.model.dof_names[dof]}"
        return Quantity(of, value, self.units[name][dof])

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
        model, (j, l) = self.at.model, (key[0], key[-1])
        names = (*model.dof_names, "the base")
        word = "acceleration" if len(key) == 1 else "rate"
        rates = tuple(self._rate(k, word) for k in dict.fromkeys(key) if k < model.n)
        dots = [rf"\dot q_{{{k + 1}}}" for k in key]
        if len(key) == 1:
            words = f"acceleration of {names[j]}"
            latex = rf"M_{{{_index(dof, j)}}} \ddot q_{{{j + 1}}}"
        elif j == l:
            words = f"rate of {names[j]}, squared"
            latex = rf"\Gamma_{{{_index(dof, j, j)}}}\, {dots[0]}^2"
        else:
            words = f"rates of {names[j]} and {names[l]}"
            latex = rf"2\, \Gamma_{{{_index(dof, j, l)}}}\, {dots[0]} {dots[1]}"
        if cause == "base":  # V_0 is the twist of the base
            of = r"\dot V_0" if len(key) == 1 else "V_0" if j == l else rf"V_0, {dots[0]}"
            latex = rf"\tau_{{{dof + 1}}}({of})"
        return summed(words, latex, self.units["tau"][dof], links, numbers=rates)

    def _link(self, cause: str, key: Key, share: Share, dof: int) -> Node | None:
        """The share of one link in one cause, at a degree of freedom; None if it is zero."""
        k, at, unit = share.link, self.at, self.units["tau"][dof]
        v, omega = at.v[k, dof], at.omega[k, dof]
        index, link, name = _index(k, dof), k + 1, at.model.link_names[k]
        force, moment = at.m[k] * share.a, at.I[k] @ share.alpha + share.gyro
        frame = f"{{{name}}}"
        numbers = (
            Quantity("mass", float(at.m[k]), "kg"),
            vector("acceleration of the centre", share.a, "m/s^2", frame),
            vector("force", force, "N", frame),
            *_motion(v, omega, unit, frame),
        )
        latex = rf"v_{{{index}}} \cdot m_{{{link}}} a_{{{link}}}"
        parts = product("translation", latex, unit, v, force, "F", *numbers)
        if cause == "gravity":  # a weight turns nothing about its own centre
            latex = rf"-m_{{{link}}}\, g \cdot v_{{{index}}}"
            return replace(parts[0], name=name, latex=latex) if parts else None
        numbers = (
            vector("inertia about the centre", at.I[k], "kg m^2", frame),
            vector("angular acceleration", share.alpha, "rad/s^2", frame),
            vector("gyroscopic moment", share.gyro, "N m", frame),
            vector("moment", moment, "N m", frame),
            vector("axis", omega, "", frame),
        )
        latex = rf"\omega_{{{index}}} \cdot n_{{{link}}}"
        parts += product("rotation", latex, unit, omega, moment, "F", *numbers)
        latex = rf"J_{{{index}}}^T F_{{{link}}}"
        if cause == "inertia":
            j = key[0]
            latex = rf"J_{{{index}}}^T G_{{{link}}} J_{{{_index(k, j)}}} \ddot q_{{{j + 1}}}"
        return summed(name, latex, unit, parts, "F") if parts else None

    def _external(self, dof: int) -> list[Node]:
        """Wrenches from outside, link by link."""
        nodes: list[Node] = []
        at, unit = self.at, self.units["tau"][dof]
        for k, F in enumerate(at.x.F_ext):
            if not at.moves[k, dof] or not np.any(F):
                continue
            index, name = _index(k, dof), at.model.link_names[k]
            frame, F, axis, way = f"{{{name}}}", np.asarray(F), at.omega[k, dof], at.origin[k, dof]
            numbers = (
                vector("moment from outside", F[:3], "N m", frame),
                vector("force from outside", F[3:], "N", frame),
                vector("axis", axis, "", frame),
                vector("motion of the link's origin", way, _per_rate(unit), frame),
            )
            turn, push = rf"-\omega_{{{index}}} \cdot n", rf"-v_{{{index}}} \cdot f"
            parts = product("moment", turn, unit, axis, -F[:3], "F", *numbers)
            parts += product("force", push, unit, way, -F[3:], "F", *numbers)
            latex = rf"-J_{{{index}}}^T F_{{\mathrm{{ext}},{k + 1}}}"
            nodes += [summed(name, latex, unit, parts, "F")] if parts else []
        return nodes

    def _constraints(self, dof: int) -> list[Node]:
        """-J^T lambda by constraint, each by its equations."""
        if self.carried is None:
            return []
        J, start = dynamics.constraint_jacobian(self.model, self.at.x.q), 0
        unit, key = self.units["tau"][dof], "constraints"
        nodes: list[Node] = []
        for item in constraints_of(self.model, "unfold").items:
            rows: list[Node] = []
            for row, name in enumerate(item.row_names, start):
                lam, entry = float(self.carried.forces[name]), float(J[row, dof])
                latex = rf"-J_{{{_index(row, dof)}}} \lambda_{{{row + 1}}}"
                numbers = ("lambda", lam, self.carried.units[name]), ("entry of J", entry, "")
                rows += leaf(name, latex, -lam * entry, unit, key, *numbers)
            start += len(item.row_names)
            nodes += [summed(item.name, r"-J^T \lambda", unit, rows, key)] if rows else []
        return nodes


def causes_of(model: Model, at: Bodies, full: Recursion, torque: Torque, rows: Pressed) -> Causes:
    """The causes of all joint forces of a state of numbers."""
    check_numbers(at.model, at.x)
    alpha = {WORLD: at.x.dV_base[:3], **dict(enumerate(full.dV[:, :3]))}
    shares = shares_of(at, pairs=at.pairs()[0] <= MAX_PAIRS)
    unit = {name: units(at.model, name) for name in ("dq", "ddq", "tau")}
    tau = np.asarray(torque.tau, float)
    return Causes(model, at, shares, tau, alpha, torque.constraints, rows, unit)


def unfold_mass(model: Model, q: StateLike, row: int | str, column: int | str) -> Node:
    """An entry of the mass matrix: the sum over the links of J^T G J, and armature and rotors.

    q: joint positions, shape (nq,), numbers. row, column: numbers or names of degrees of freedom.
    """
    i, j = dof_number(model, row), dof_number(model, column)
    model = tree_of(model)
    x = read_motion(model, q, zeros(model.n), zeros(model.n))
    check_numbers(model, x)
    at, names = bodies_of(model, x, zeros(6)), model.dof_names
    turning = [kinds(model, "dq")[d] != METRE for d in (i, j)]
    unit = ("kg", "kg m", "kg m^2")[sum(turning)]
    nodes: list[Node] = []
    for k in model.links:
        link, a, b = k + 1, _index(k, i), _index(k, j)
        v, omega, frame = at.v[k], at.omega[k], f"{{{model.link_names[k]}}}"
        numbers = (
            Quantity("mass", float(at.m[k]), "kg"),
            vector(f"motion of the centre by {names[i]}", v[i], "", frame),
            vector(f"motion of the centre by {names[j]}", v[j], "", frame),
        )
        latex = rf"m_{{{link}}}\, v_{{{a}}} \cdot v_{{{b}}}"
        parts = product("translation", latex, unit, v[i], at.m[k] * v[j], "M", *numbers)
        numbers = (
            vector("inertia about the centre", at.I[k], "kg m^2", frame),
            vector(f"axis of {names[i]}", omega[i], "", frame),
            vector(f"axis of {names[j]}", omega[j], "", frame),
        )
        latex = rf"\omega_{{{a}}} \cdot I_{{{link}}} \omega_{{{b}}}"
        parts += product("rotation", latex, unit, omega[i], at.I[k] @ omega[j], "M", *numbers)
        latex = rf"J_{{{a}}}^T G_{{{link}}} J_{{{b}}}"
        nodes += [summed(model.link_names[k], latex, unit, parts, "M")] if parts else []
    nodes += mass_nodes(at, i, j, unit)
    title = f"M of {names[i]} and {names[j]}" if i != j else f"M of {names[i]}"
    return summed(title, rf"M_{{{_index(i, j)}}}", unit, nodes, "M")


def _motion(v: Array, omega: Array, unit: str, frame: str) -> tuple[Quantity, ...]:
    """Motion of a link's centre for a unit rate, with axis and arm if the joint turns it.

    unit: of the joint's force. frame: of both vectors.
    """
    quantities = [vector("motion of the centre", v, _per_rate(unit), frame)]
    if omega.any():
        quantities.append(vector("axis", omega, "", frame))
        hinge = abs(omega @ omega - 1) < 1e-9 and abs(omega @ v) <= 1e-12 * (1 + abs(v).max())
        if hinge:  # v = omega x arm, with the arm at a right angle to the axis
            quantities.append(vector("arm from the axis", cross(v, omega), "m", frame))
    return tuple(quantities)


def _per_rate(unit: str) -> str:
    """Unit of a velocity for a unit rate of a joint whose force has the given unit."""
    return "m/s per m/s" if unit == "N" else "m/s per rad/s"


def dof_number(model: Model, dof: int | str) -> int:
    """Number of a degree of freedom from its number or name."""
    known = {x: k for k, name in enumerate(model.dof_names) for x in (name, str(k))}
    return named(known, str(dof), "degree of freedom")


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
