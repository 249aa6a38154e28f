"""The recursion link by link: every twist, acceleration and wrench as the sum of its parts.

The recursion itself is run by `dynamics.textbook` in 6-vectors: with everything (`full`), without
gravity (`moving`), and at rest under gravity alone (`resting`). Accelerations are linear in
gravity, so the last two add up to the first, and each term of an equation is evaluated at what was
recorded. Nothing is carried from link to link here. The index "motion" means without gravity, which
is a part of its own: dV = dV_motion + gravity.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, known
from kinetree.dynamics.joints.friction import friction_force, motor_friction
from kinetree.dynamics.joints.motors import inertia_forces
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.textbook.newton_euler import newton_euler
from kinetree.dynamics.textbook.recursion import Recursion
from kinetree.dynamics.textbook.rotors import armature, rotor_moments
from kinetree.explain.node import Node, code_line, named
from kinetree.files.description.joints import PRISMATIC, SPHERICAL
from kinetree.model import WORLD, Joint, Model
from kinetree.model.edit import with_gravity
from kinetree.model.inputs import Motion, link_adjoints, link_pose, zeros
from kinetree.model.joint import rate_names
from kinetree.spatial import ad

# symbol -> LaTeX of the symbol, meaning, units of its angular and linear half
SYMBOLS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "V": (r"V", "twist", ("rad/s", "m/s")),
    "dV": (r"\dot V", "its derivative", ("rad/s^2", "m/s^2")),
    "F": (r"F", "wrench through the joint", ("N m", "N")),
    "tau": (r"\tau", "joint force", ()),
}
ROTORS = r"I_m r (\ddot q s + \dot q\, \omega \times s)"
EQUATIONS: Mapping[str, Mapping[str, str]] = {
    "V": {"parent": r"\mathrm{Ad}_{ip} V_p", "joint rate": r"A \dot q"},
    "dV": {
        "parent": r"\mathrm{Ad}_{ip} \dot V_{p,\mathrm{motion}}",
        "joint acceleration": r"A \ddot q",
        "velocity product": r"\mathrm{ad}_V A \dot q",
        "gravity": r"-\mathrm{Ad}_{is} g",
    },
    "F": {
        "acceleration": r"G \dot V_{\mathrm{motion}}",
        "velocity product": r"-\mathrm{ad}_V^T G V",
        "gravity": r"-G \mathrm{Ad}_{is} g",
        "external wrench": r"-F_{\mathrm{ext}}",
        "rotors": ROTORS,
        "child": r"\mathrm{Ad}_{ci}^T F_c",
    },
    "tau": {
        "rotor and armature": r"I_a \ddot q + I_m r (s \cdot \alpha + r \ddot q)",
        "friction": r"b(\dot q)",
        "spring": r"k a (a \cdot q - q_0)",
        **dict.fromkeys(("contact", "stop", "constraints"), r"-J^T \lambda"),
    },
}
OPTIONAL = ("external wrench", "rotors", *EQUATIONS["tau"])  # left out where they are zero
PARENT = {"V": r"\mathrm{Ad}_{ip} V_{%d}", "dV": r"\mathrm{Ad}_{ip} \dot V_{%d}"}

Parts = dict[str, Array]  # part -> value


@dataclass(frozen=True, eq=False)
class LinkSteps:
    """V, dV and F of one link and tau of the joint that it hangs on, each the sum of its parts.

    Args:
        link: number of the link.
        name: of the link.
        joint: name of its joint.
        type: of its joint.
        parent: name of the parent.
        rates: names of the joint's own entries of dq and tau.
        T_pi: pose in the parent's frame, shape (4, 4).
        T_si: pose in {s}, shape (4, 4).
        terms: the quantities by symbol.
    """

    link: int
    name: str
    joint: str
    type: str
    parent: str
    rates: tuple[str, ...]
    T_pi: Array
    T_si: Array
    terms: Mapping[str, Node]

    def __getitem__(self, symbol: str) -> Node:
        return named(self.terms, symbol, "quantity")


@dataclass(frozen=True, eq=False)
class Recorded:
    """The motion, the acceleration of the base without gravity (6,), and the three recordings."""

    model: Model
    x: Motion
    dV_base: Array
    full: Recursion
    moving: Recursion
    resting: Recursion

    def at(self, rows: Array, base: Array) -> dict[int, Array]:
        """Rows of a recording by link, and the value of the base."""
        return {WORLD: base, **dict(enumerate(rows))}


def record(model: Model, x: Motion, dV_base: Array, loads: Mapping[str, Any]) -> Recorded:
    """The recursion with everything, without gravity, and at rest under gravity alone."""
    still, rest = with_gravity(model, zeros(3)), zeros(model.n)
    return Recorded(
        model,
        x,
        dV_base,
        full=newton_euler(model, x.q, x.dq, x.ddq, **loads),
        moving=newton_euler(still, x.q, x.dq, x.ddq, **loads),
        resting=newton_euler(model, x.q, rest, rest),
    )


def link_steps(at: Recorded, extra: Mapping[str, list[Array]]) -> list[LinkSteps]:
    """The steps of every link; extra: force of each joint by contacts, stops and constraints."""
    model, x = at.model, at.x
    parts = _vector_parts(at)
    drives = _drive_parts(at)
    steps: list[LinkSteps] = []
    for i, joint in enumerate(model.joints):
        p, name = model.parent[i], model.link_names[i]
        terms = {s: _node(at, i, s, parts[s][i], getattr(at.full, s)[i]) for s in ("V", "dV", "F")}
        forces = {key: model.A[i].T @ F for key, F in parts["F"][i].items()} | drives[i]
        forces |= {cause: by_joint[i] for cause, by_joint in extra.items()}
        # joints that move together share an entry of tau; each has its own here
        own = model.A[i].T @ at.full.F[i]
        for key in EQUATIONS["tau"]:
            own = own + forces.get(key, 0)
        terms["tau"] = _node(at, i, "tau", forces, own)
        parent = model.base_name if p == WORLD else model.link_names[p]
        poses = link_pose(model, i, x.q), at.full.T_si[i]
        rates = tuple(rate_names(joint))
        steps.append(LinkSteps(i, name, joint.name, joint.type, parent, rates, *poses, terms))
    return steps


def _vector_parts(at: Recorded) -> dict[str, list[Parts]]:
    """Parts of V, dV and F of every link in its own frame."""
    model, x = at.model, at.x
    Ad_ip = link_adjoints(model, x.q)
    V, dV = at.at(at.full.V, x.V_base), at.at(at.moving.dV, at.dV_base)
    spins = rotor_moments(model.rotors, x.dq, x.ddq, at.at(at.full.V[:, :3], x.V_base[:3]))
    parts: dict[str, list[Parts]] = {"V": [], "dV": [], "F": []}
    for i in model.links:
        p, G, rate = model.parent[i], model.G[i], model.A[i] @ x.dq_i[i]
        parts["V"].append({"parent": Ad_ip[i] @ V[p], "joint rate": rate})
        parts["dV"].append(
            {
                "parent": Ad_ip[i] @ dV[p],
                "joint acceleration": model.A[i] @ x.ddq_i[i],
                "velocity product": ad(V[i]) @ rate,
                "gravity": at.resting.dV[i],
            }
        )
        parts["F"].append(
            {
                "acceleration": G @ dV[i],
                "velocity product": -ad(V[i]).T @ (G @ V[i]),
                "gravity": G @ at.resting.dV[i],
                "external wrench": -x.F_ext[i],
                "rotors": np.concatenate([spins.get(i, zeros(3)), zeros(3)]),
                **{_child(model, c): Ad_ip[c].T @ at.full.F[c] for c in model.children[i]},
            }
        )
    return parts


def _child(model: Model, c: int) -> str:
    return f"child {model.link_names[c]}"


def _drive_parts(at: Recorded) -> list[Parts]:
    """Force of every joint for its armature and rotor, and against its friction and springs, (k,).

    Springs and motors of a joint that follows another act on the joint that it follows, and count
    there.
    """
    model, x = at.model, at.x
    alpha = at.at(at.full.dV[:, :3], at.dV_base[:3])
    springs = Springs(model, x.q).at(x.dq) if model.springs else zeros(model.n)
    spinning, rubbing = zeros(model.n), zeros(model.n)
    if model.motors:
        spinning, rubbing = inertia_forces(model, x.ddq), motor_friction(model, x.dq)
    found: list[Parts] = []
    for i, joint in enumerate(model.joints):
        scale, dofs, follows = joint.scale, list(joint.dofs), joint.follows is not None
        inertia = x.ddq_i[i] * armature(model, i)
        for rotor in model.rotors:
            if rotor.joint == i:
                ddq = rotor.s @ alpha[rotor.link] + rotor.ratio * x.ddq[rotor.dof]
                inertia = inertia + np.array([ddq * (rotor.inertia * rotor.ratio)])
        friction = [friction_force(joint.friction, rate * scale) * scale for rate in x.dq_i[i]]
        none = zeros(len(dofs))
        found.append(
            {
                "rotor and armature": inertia + (none if follows else spinning[dofs]),
                "friction": np.array(friction) + (none if follows else rubbing[dofs]),
                "spring": none if follows else springs[dofs],
            }
        )
    return found


def part_latex(symbol: str, name: str) -> str:
    """The formula of a part, which is the same for all children."""
    kind = "child" if name.startswith("child ") else name
    if kind in EQUATIONS[symbol]:
        return EQUATIONS[symbol][kind]
    latex = EQUATIONS["F"][kind]  # of tau: A^T F
    sign, latex = ("-", latex[1:]) if latex.startswith("-") else ("", latex)
    return f"{sign}A^T ({latex})" if "+" in latex else f"{sign}A^T {latex}"


def _node(at: Recorded, i: int, symbol: str, parts: Parts, value: Array) -> Node:
    """A quantity of a link with its parts, without optional parts that are zero."""
    latex, meaning, units = SYMBOLS[symbol]
    unit = ", ".join(units) or joint_unit(at.model.joints[i])
    frame = f"{{{at.model.link_names[i]}}}" if units else ""

    def node(name: str, latex: str, x: Array, key: str, children: tuple[Node, ...] = ()) -> Node:
        value = tuple(np.ravel(x).tolist())
        return Node(name, latex, value, unit, frame, code_line(key), children=children)

    children = tuple(
        node(name, part_latex(symbol, name), x, symbol)
        for name, x in parts.items()
        if name not in OPTIONAL or not is_zero(x)
    )
    return node(meaning, rf"{latex}_{{{i + 1}}}", value, symbol, children)


def joint_unit(joint: Joint) -> str:
    """Unit of a joint's force; a joint that turns and slides has both."""
    if len(joint.dofs) == 1:
        return "N" if joint.type == PRISMATIC else "N m"
    return "N m" if joint.type == SPHERICAL else "N m, N"


def is_zero(x: Array) -> bool:
    """Return True if x is known to be zero everywhere."""
    numbers = known(np.asarray(x))
    return numbers is not None and not numbers.any()


def unfold_vectors(steps: tuple[LinkSteps, ...], at: Recorded, i: int, symbol: str) -> Node:
    """V, dV or F of a link as a tree of 6-vectors that add up, all in the frame of the link.

    V and dV unfold towards the base, F towards the last links.
    """
    model, names = at.model, at.model.link_names
    Ad_ip = [np.asarray(x, float) for x in link_adjoints(model, at.x.q)]

    def carried(k: int, X: Array, *, gravity: bool = True) -> tuple[Node, ...]:
        """The parts of link k, each carried into the frame of link i by X."""
        children: list[Node] = []
        p = model.parent[k]
        for part in steps[k][symbol].children:
            value, latex, name, key = X @ np.array(part.value, float), part.latex, part.name, symbol
            if not value.any() or (name == "gravity" and not gravity):
                continue
            below: tuple[Node, ...] = ()
            if name == "parent":
                name = f"parent {steps[k].parent}"
                if p != WORLD:
                    below = carried(p, X @ Ad_ip[k], gravity=symbol != "dV")
                    latex = PARENT[symbol] % (p + 1)
            elif name.startswith("child "):
                c = names.index(name.removeprefix("child "))
                below, key = carried(c, X @ Ad_ip[c].T), "F child"
                latex = rf"\mathrm{{Ad}}_{{{c + 1},i}}^T F_{{{c + 1}}}"
            elif name == "rotors":
                key = "F rotors"
            total = tuple(value.tolist())
            code = code_line(key)
            node = Node(name, latex, total, whole.unit, whole.frame, code, (), below)
            children.append(node)
        return tuple(children)

    whole = steps[i][symbol]
    title = f"{SYMBOLS[symbol][1]} of {names[i]}"
    return replace(whole, name=title, children=carried(i, np.eye(6)))
