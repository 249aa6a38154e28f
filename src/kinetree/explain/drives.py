"""Nodes of springs, friction, armature and rotors, for the unfolding of a joint force."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.friction import friction_force
from kinetree.dynamics.joints.gains import arm_rate
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.textbook.rotors import armature
from kinetree.explain.bodies import Bodies
from kinetree.explain.node import Node, Quantity, leaf, product, summed, vector
from kinetree.files.description.friction import Friction, smooth_laws
from kinetree.model import WORLD, GearedMotor, JointRotor, Model
from kinetree.model.inputs import Motion


def _group(name: str, latex: str, unit: str, nodes: list[Node]) -> list[Node]:
    return [summed(name, latex, unit, nodes)] if nodes else []


def spring_nodes(model: Model, x: Motion, dof: int, unit: str) -> list[Node]:
    """Force against every spring that pulls at a degree of freedom."""
    nodes: list[Node] = []
    for pull in Springs(model, x.q).acting:
        rate = float(arm_rate(pull.arms, x.dq))
        spring, arm = pull.spring, float(pull.arms.get(dof, 0))
        force = pull.extension * spring.stiffness + rate * pull.damping
        latex = r"a\, (k\, (x - x_0) + c\, \dot x)"
        numbers = {
            "coefficient": arm,
            "stiffness": spring.stiffness,
            "position": pull.x,
            "rest position": spring.rest,
            "play": spring.play,
            "damping": spring.damping,
            "rate": rate,
        }
        used = [(name, float(y or 0), "") for name, y in numbers.items() if y]
        nodes += leaf(spring.name, latex, float(force * arm), unit, "spring", *used)
    return nodes


def friction_nodes(model: Model, x: Motion, dof: int, unit: str) -> list[Node]:
    """Friction of the joints and motors that a degree of freedom moves, each by its laws."""
    nodes: list[Node] = []
    for i, joint in enumerate(model.joints):
        if dof in joint.dofs:
            scale = float(joint.scale)
            rate = scale * float(x.dq_i[i][joint.dofs.index(dof)])
            laws = _friction(joint.friction, rate, scale, unit)
            nodes += _group(joint.name, r"b(\dot q)", unit, laws)
    for motor in model.motors:
        if arm := _ratio(motor, dof):
            laws = _friction(motor.friction, float(motor.rate(x.dq)), arm, unit)
            nodes += _group(f"motor {motor.name}", r"a\, b(a \cdot \dot q)", unit, laws)
    return nodes


def _friction(friction: Friction, rate: float, ratio: float, unit: str) -> list[Node]:
    """The laws of one friction, one by one; ratio: of its rate to that of the joint."""
    none, side = Friction(), int(rate < 0)
    dry = replace(none, coulomb=friction.coulomb, stribeck=friction.stribeck)
    laws = [
        ("viscous friction", r"v\, \dot q", replace(none, viscous=friction.viscous), "viscous"),
        ("dry friction", r"F_c\, \mathrm{sign}(\dot q)", dry, "dry"),
    ]
    for name, smooth in smooth_laws(friction).items():
        law = replace(none, **{name: smooth})
        laws.append((name, rf"b_{{\mathrm{{{name}}}}}(\dot q)", law, "smooth"))
    if friction.function is not None:
        law = replace(none, function=friction.function)
        laws.append(("function of the user", r"b_{\mathrm{user}}(\dot q)", law, "function"))
    nodes: list[Node] = []
    for name, latex, law, key in laws:
        numbers = {"rate": rate, "ratio": ratio, "viscous coefficient": float(law.viscous[side])}
        numbers["dry friction"] = float(law.coulomb[side])
        used = [(word, x, "") for word, x in numbers.items() if x]
        nodes += leaf(name, latex, float(friction_force(law, rate) * ratio), unit, key, *used)
    return nodes


def _ratio(motor: GearedMotor, dof: int) -> float:
    """Turns of a motor for a unit of a degree of freedom."""
    return float(dict(zip(motor.dofs, motor.arms, strict=True)).get(dof, 0))


def rotor_nodes(at: Bodies, alpha: Mapping[int, Array], dof: int, unit: str) -> list[Node]:
    """Armature of the joints of a degree of freedom, and every rotor that needs a force there.

    alpha: angular acceleration of every link in its own frame, and of WORLD.
    """
    model, x = at.model, at.x
    nodes: list[Node] = []
    change = float(x.ddq[dof])
    for i, joint in enumerate(model.joints):
        if dof in joint.dofs:
            size = float(armature(model, i))
            numbers = ("armature", size, ""), ("acceleration", change, "")
            name, latex = f"armature of {joint.name}", r"I_a \ddot q"
            nodes += leaf(name, latex, size * change, unit, "armature", *numbers)
    for rotor in model.rotors:
        parts = _rotor_parts(at, rotor, alpha[rotor.link], dof, unit)
        name = f"rotor of {model.joints[rotor.joint].name}"
        nodes += _group(name, r"\tau_{\mathrm{rotor}}", unit, parts)
    for motor in model.motors:
        own, inertia, arm = float(motor.rate(x.ddq)), float(motor.inertia), _ratio(motor, dof)
        numbers = ("inertia", inertia, "kg m^2"), ("ratio", arm, ""), ("acceleration", own, "")
        name, latex = f"motor {motor.name}", r"a\, J\, a \cdot \ddot q"
        nodes += leaf(name, latex, inertia * own * arm, unit, "motor", *numbers)
    return nodes


def _rotor_parts(at: Bodies, rotor: JointRotor, alpha: Array, dof: int, unit: str) -> list[Node]:
    """Force of one rotor at its own joint, and of its reaction at the joints that move its link."""
    x, k = at.x, rotor.link
    weight, ratio = float(rotor.inertia * rotor.ratio), float(rotor.ratio)
    s, change, rate = np.asarray(rotor.s, float), float(x.ddq[rotor.dof]), float(x.dq[rotor.dof])
    numbers, parts = _rotor_numbers(at.model, rotor), list[Node]()
    if rotor.dof == dof:
        factors = ("ratio", ratio, ""), ("acceleration of the joint", change, "")
        spin = weight * ratio * change
        parts += leaf("own spin", r"I_m r^2 \ddot q", spin, unit, "rotor", *factors)
        name, latex = "angular acceleration of the carrier", r"I_m r\, s \cdot \alpha"
        parts += product(name, latex, unit, weight * s, alpha, "rotor", *numbers)
    if k != WORLD and at.moves[k, dof]:
        omega, turning = at.omega[k, dof], at.rates(k) @ at.columns[k].omega
        name, latex = "reaction on the carrier", r"\omega \cdot I_m r\, \ddot q\, s"
        parts += product(name, latex, unit, omega, weight * change * s, "carrier", *numbers)
        name = "gyroscopic moment on the carrier"
        latex = r"\omega \cdot I_m r\, \dot q\, (\omega_k \times s)"
        moment = weight * rate * np.cross(turning, s)
        parts += product(name, latex, unit, omega, moment, "carrier", *numbers)
    return parts


def _rotor_numbers(model: Model, rotor: JointRotor) -> tuple[Quantity, ...]:
    """Axial inertia, ratio and axis of a rotor."""
    frame = f"{{{model.base_name if rotor.link == WORLD else model.link_names[rotor.link]}}}"
    inertia = Quantity("axial inertia", float(rotor.inertia), "kg m^2")
    axis = vector("axis of the rotor", np.asarray(rotor.s, float), "", frame)
    return inertia, Quantity("ratio", float(rotor.ratio)), axis


def mass_nodes(at: Bodies, i: int, j: int, unit: str) -> list[Node]:
    """Armature, rotors and motors in the entry (i, j) of M."""
    model = at.model
    nodes: list[Node] = []
    for k, joint in enumerate(model.joints):
        if i == j and i in joint.dofs:
            name, size = f"armature of {joint.name}", float(armature(model, k))
            nodes += leaf(name, "I_a", size, unit, "armature", ("armature", size, ""))
    for rotor in model.rotors:
        name = f"rotor of {model.joints[rotor.joint].name}"
        nodes += _group(name, r"M_{\mathrm{rotor}}", unit, _rotor_mass(at, rotor, i, j, unit))
    for motor in model.motors:
        inertia, a, b = float(motor.inertia), _ratio(motor, i), _ratio(motor, j)
        numbers = ("inertia", inertia, "kg m^2"), ("ratio", a, ""), ("other ratio", b, "")
        name = f"motor {motor.name}"
        nodes += leaf(name, "J a_i a_j", inertia * a * b, unit, "M motor", *numbers)
    return nodes


def _rotor_mass(at: Bodies, rotor: JointRotor, i: int, j: int, unit: str) -> list[Node]:
    """A rotor in the entry (i, j) of M: its own spin, and its carrier that other joints turn."""
    weight, ratio = float(rotor.inertia * rotor.ratio), float(rotor.ratio)
    parts: list[Node] = []
    if i == j == rotor.dof:
        factor = ("ratio", ratio, "")
        parts += leaf("own spin", "I_m r^2", weight * ratio, unit, "M rotor", factor)
    pairs = ((i, j, ""), (j, i, "" if i != j else ", transposed"))
    for geared, other, word in pairs if rotor.link != WORLD else ():
        if geared == rotor.dof and at.moves[rotor.link, other]:
            omega = at.omega[rotor.link, other]
            name = f"carrier turned by {at.model.dof_names[other]}{word}"
            latex = rf"\omega_{{{other + 1}}} \cdot I_m r\, s"
            numbers, s = _rotor_numbers(at.model, rotor), np.asarray(rotor.s, float)
            parts += product(name, latex, unit, omega, weight * s, "M carrier", *numbers)
    return parts
