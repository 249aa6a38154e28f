"""Nodes of springs, friction, armature and rotors, for the unfolding of a joint force."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.friction import (
    friction_force,
)
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.textbook.rotors import armature
from kinetree.explain.bodies import Bodies
from kinetree.explain.node import Node, Quantity, code_line, product, summed, vector
from kinetree.files.description.friction import law_numbers, smooth_laws
from kinetree.model import WORLD, GearedMotor, JointFriction, JointRotor, Model
from kinetree.model.friction import is_zero
from kinetree.model.inputs import Motion


def spring_nodes(model: Model, x: Motion, dof: int, unit: str) -> list[Node]:
    """Force against every spring that pulls at a degree of freedom."""
    nodes: list[Node] = []
    springs = Springs(model, x.q)
    for pull in springs.acting:
        spring, rate = pull.spring, float(pull.rate(x.dq))
        for d, arm in pull.arms.items():
            force = pull.extension * spring.stiffness + rate * pull.damping
            value = float(force * arm)
            if d == dof and value:
                numbers = (
                    Quantity("stiffness", float(spring.stiffness)),
                    Quantity("coefficient", float(arm)),
                    Quantity("position", float(pull.x)),
                    Quantity("rest position", float(spring.rest)),
                )
                latex = r"k\, a\, (a \cdot q - q_0)"
                if spring.points:
                    latex = r"\frac{\partial L}{\partial q} k\, (L - L_0)"
                if spring.play:
                    numbers += (Quantity("play", float(spring.play)),)
                    latex = latex.replace(")", r" \mp w/2)")
                if spring.damping:
                    numbers += (Quantity("damping", float(spring.damping)), Quantity("rate", rate))
                    latex += r" + c\, a\, \dot x"
                code = code_line("spring")
                nodes.append(Node(spring.name, latex, value, unit, numbers=numbers, code=code))
    return nodes


def friction_nodes(model: Model, x: Motion, dof: int, unit: str) -> list[Node]:
    """Friction of the joints that share a degree of freedom, each by its laws."""
    nodes: list[Node] = []
    for i, joint in enumerate(model.joints):
        if dof not in joint.dofs:
            continue
        scale, rate = float(joint.scale), float(x.dq_i[i][joint.dofs.index(dof)])
        laws: list[Node] = []
        for name, latex, law, key in _laws(joint.friction):
            value = float(friction_force(law, rate * scale) * scale)
            if value:
                numbers = (Quantity("rate of the joint", rate * scale), *_coefficients(law))
                laws.append(Node(name, latex, value, unit, numbers=numbers, code=code_line(key)))
        if laws:
            nodes.append(summed(joint.name, r"b(\dot q)", unit, laws))
    for motor in model.motors:
        rate, arm = float(motor.rate(x.dq)), _ratio(motor, dof)
        laws = []
        for name, latex, law, key in _laws(motor.friction) if arm else ():
            value = float(friction_force(law, rate) * arm)
            numbers = (Quantity("ratio", arm), Quantity("rate of the motor", rate))
            numbers, code = (*numbers, *_coefficients(law)), code_line(key)
            laws += [Node(name, latex, value, unit, numbers=numbers, code=code)] if value else []
        if laws:
            nodes.append(summed(f"motor {motor.name}", r"a\, b(a \cdot \dot q)", unit, laws))
    return nodes


def _ratio(motor: GearedMotor, dof: int) -> float:
    """Turns of a motor for a unit of a degree of freedom."""
    return float(dict(zip(motor.dofs, motor.arms, strict=True)).get(dof, 0))


def _laws(friction: JointFriction) -> list[tuple[str, str, JointFriction, str]]:
    """The laws of a joint's friction one by one: name, formula, record, line of code."""
    none = JointFriction()
    laws: list[tuple[str, str, JointFriction, str]] = []
    if not is_zero(friction.viscous):
        law = replace(none, viscous=friction.viscous)
        laws.append(("viscous friction", r"v\, \dot q", law, "viscous"))
    if friction.stribeck is not None or not is_zero(friction.coulomb):
        law = replace(none, coulomb=friction.coulomb, stribeck=friction.stribeck)
        laws.append(("dry friction", r"F_c\, \mathrm{sign}(\dot q)", law, "dry"))
    for name, smooth in smooth_laws(friction).items():
        formula = rf"b_{{\mathrm{{{name}}}}}(\dot q)"
        laws.append((name, formula, replace(none, **{name: smooth}), "smooth"))
    if friction.function is not None:
        law = replace(none, function=friction.function)
        laws.append(("function of the user", r"b_{\mathrm{user}}(\dot q)", law, "function"))
    return laws


def _coefficients(law: JointFriction) -> list[Quantity]:
    """Coefficients of one law; of a pair, one if both directions have the same."""
    quantities: list[Quantity] = []
    for name, pair in (("viscous coefficient", law.viscous), ("dry friction", law.coulomb)):
        if not is_zero(pair):
            quantities.append(Quantity(name, _pair(pair)))
    if law.stribeck is not None:
        quantities.append(Quantity("static friction", _pair(law.stribeck.static)))
        quantities.append(Quantity("Stribeck speed", float(law.stribeck.speed)))
    for smooth in smooth_laws(law).values():
        quantities += [Quantity(name, float(value)) for name, value in law_numbers(smooth).items()]
    return quantities


def _pair(pair: tuple[object, object]) -> float | tuple[float, ...]:
    plus, minus = (float(x) for x in pair)  # type: ignore[arg-type]
    return plus if plus == minus else (plus, minus)


def rotor_nodes(at: Bodies, alpha: Mapping[int, Array], dof: int, unit: str) -> list[Node]:
    """Armature of the joints of a degree of freedom, and every rotor that needs a force there.

    alpha: angular acceleration of every link in its own frame, and of WORLD.
    """
    model, x = at.model, at.x
    nodes: list[Node] = []
    for i, joint in enumerate(model.joints):
        size = float(armature(model, i))
        if dof not in joint.dofs or not size:
            continue
        numbers = (Quantity("armature", size), Quantity("acceleration", float(x.ddq[dof])))
        value, code = size * float(x.ddq[dof]), code_line("armature")
        force = Node("acceleration", r"I_a \ddot q", value, unit, numbers=numbers, code=code)
        if force.value:
            nodes.append(summed(f"armature of {joint.name}", r"I_a \ddot q", unit, [force]))
    for rotor in model.rotors:
        parts = _rotor_parts(at, rotor, alpha[rotor.link], dof, unit)
        if parts:
            name = f"rotor of {model.joints[rotor.joint].name}"
            nodes.append(summed(name, r"\tau_{\mathrm{rotor}}", unit, parts))
    for motor in model.motors:
        change, inertia, arm = float(motor.rate(x.ddq)), float(motor.inertia), _ratio(motor, dof)
        if inertia * change * arm:
            numbers = Quantity("inertia", inertia, "kg m^2"), Quantity("ratio", arm)
            numbers += (Quantity("acceleration of the motor", change, "rad/s^2"),)
            name, latex = f"motor {motor.name}", r"a\, J\, a \cdot \ddot q"
            value, code = inertia * change * arm, code_line("motor")
            nodes.append(Node(name, latex, value, unit, numbers=numbers, code=code))
    return nodes


def _rotor_parts(at: Bodies, rotor: JointRotor, alpha: Array, dof: int, unit: str) -> list[Node]:
    """Force of one rotor at its own joint, and of its reaction at the joints that move its link."""
    x, k = at.x, rotor.link
    weight, ratio = float(rotor.inertia * rotor.ratio), float(rotor.ratio)
    s, change, rate = np.asarray(rotor.s, float), float(x.ddq[rotor.dof]), float(x.dq[rotor.dof])
    frame = f"{{{at.model.base_name if k == WORLD else at.model.link_names[k]}}}"
    shared = (
        Quantity("axial inertia", float(rotor.inertia), "kg m^2"),
        Quantity("ratio", ratio),
        vector("axis of the rotor", s, "", frame),
    )
    parts: list[Node] = []
    if rotor.dof == dof:
        value, code = weight * ratio * change, code_line("rotor")
        numbers = (*shared[:2], Quantity("acceleration of the joint", change))
        latex = r"I_m r^2 \ddot q"
        parts.append(Node("own spin", latex, value, unit, code=code, numbers=numbers))
        name, latex = "angular acceleration of the carrier", r"I_m r\, s \cdot \alpha"
        numbers = (*shared, vector("angular acceleration", alpha, "rad/s^2", frame))
        letters = r"I_m r\, s", r"\alpha"
        parts.append(product(name, latex, unit, (weight * s, alpha), code, numbers, letters))
    if k != WORLD and at.moves[k, dof]:
        code = code_line("carrier")
        omega, turning = at.omega[k, dof], at.rates(k) @ at.columns[k].omega
        shared = (*shared, vector("axis of the joint", omega, "", frame))
        name, latex = "reaction on the carrier", r"\omega \cdot I_m r\, \ddot q\, s"
        numbers = (*shared, Quantity("acceleration of the rotor's joint", change))
        moment, letters = weight * change * s, (r"\omega", "n")
        parts.append(product(name, latex, unit, (omega, moment), code, numbers, letters))
        name = "gyroscopic moment on the carrier"
        latex = r"\omega \cdot I_m r\, \dot q\, (\omega_k \times s)"
        moment = weight * rate * np.cross(turning, s)
        numbers = (
            *shared,
            vector("angular velocity of the carrier", turning, "rad/s", frame),
            Quantity("rate of the rotor's joint", rate),
        )
        parts.append(product(name, latex, unit, (omega, moment), code, numbers, letters))
    return [part for part in parts if part.value or part.children]


def mass_nodes(at: Bodies, i: int, j: int, unit: str) -> list[Node]:
    """Armature and rotors in the entry (i, j) of M."""
    model = at.model
    nodes: list[Node] = []
    for k, joint in enumerate(model.joints):
        size = float(armature(model, k))
        if i == j and i in joint.dofs and size:
            numbers = (Quantity("armature", float(joint.armature)),)
            numbers += (Quantity("scale", float(joint.scale)),) if joint.scale != 1 else ()
            name, code = f"armature of {joint.name}", code_line("armature")
            nodes.append(Node(name, "I_a", size, unit, code=code, numbers=numbers))
    for rotor in model.rotors:
        weight, ratio = float(rotor.inertia * rotor.ratio), float(rotor.ratio)
        numbers = (
            Quantity("axial inertia", float(rotor.inertia), "kg m^2"),
            Quantity("ratio", ratio),
        )
        parts: list[Node] = []
        if i == j == rotor.dof and weight * ratio:
            code = code_line("M rotor")
            value = weight * ratio
            parts.append(Node("own spin", "I_m r^2", value, unit, code=code, numbers=numbers))
        pairs = ((i, j, ""), (j, i, "" if i != j else ", transposed"))
        for geared, other, word in pairs if rotor.link != WORLD else ():
            if geared == rotor.dof and at.moves[rotor.link, other]:
                s, frame = np.asarray(rotor.s, float), f"{{{model.link_names[rotor.link]}}}"
                omega, by = at.omega[rotor.link, other], model.dof_names[other]
                latex = rf"I_m r\, s \cdot \omega_{{{other + 1}}}"
                axes = (
                    vector("axis of the rotor", s, "", frame),
                    vector(f"axis of {by}", omega, "", frame),
                )
                name, code = f"carrier turned by {by}{word}", code_line("M carrier")
                letters, both = (r"\omega", r"I_m r\, s"), (omega, weight * s)
                turned = product(name, latex, unit, both, code, numbers + axes, letters)
                parts += [turned] if turned.children else []
        if parts:
            name = f"rotor of {model.joints[rotor.joint].name}"
            nodes.append(summed(name, r"M_{\mathrm{rotor}}", unit, parts))
    for motor in model.motors:
        inertia, ratios = float(motor.inertia), (_ratio(motor, i), _ratio(motor, j))
        if value := inertia * ratios[0] * ratios[1]:
            numbers = Quantity("inertia", inertia, "kg m^2"), Quantity("ratios", ratios)
            name, code = f"motor {motor.name}", code_line("M motor")
            nodes.append(Node(name, "J a_i a_j", value, unit, code=code, numbers=numbers))
    return nodes
