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
from kinetree.explain.node import Node, Quantity, code_line, product, summed, vector
from kinetree.files.description.friction import Friction, law_numbers, smooth_laws
from kinetree.model import WORLD, GearedMotor, JointRotor, Model
from kinetree.model.friction import is_zero
from kinetree.model.inputs import Motion


def _leaf(
    name: str, latex: str, value: float, unit: str, key: str, *numbers: tuple[str, float, str]
) -> list[Node]:
    """A number with its factors (name, value, unit); nothing if it is zero."""
    factors = tuple(Quantity(*number) for number in numbers)
    return [Node(name, latex, value, unit, "", code_line(key), factors)] if value else []


def _group(name: str, latex: str, unit: str, nodes: list[Node]) -> list[Node]:
    return [summed(name, latex, unit, nodes)] if nodes else []


def spring_nodes(model: Model, x: Motion, dof: int, unit: str) -> list[Node]:
    """Force against every spring that pulls at a degree of freedom."""
    nodes: list[Node] = []
    for pull in Springs(model, x.q).acting:
        rate = float(arm_rate(pull.arms, x.dq))
        spring, arm = pull.spring, float(pull.arms.get(dof, 0))
        force = pull.extension * spring.stiffness + rate * pull.damping
        latex = (
            r"\frac{\partial L}{\partial q} k\, (L - L_0)"
            if spring.points
            else (r"k\, a\, (a \cdot q - q_0)")
        )
        numbers = [
            ("stiffness", float(spring.stiffness), ""),
            ("coefficient", arm, ""),
            ("position", float(pull.x), ""),
            ("rest position", float(spring.rest), ""),
        ]
        if spring.play:
            numbers.append(("play", float(spring.play), ""))
            latex = latex.replace(")", r" \mp w/2)")
        if spring.damping:
            numbers += [("damping", float(spring.damping), ""), ("rate", rate, "")]
            latex += r" + c\, a\, \dot x"
        nodes += _leaf(spring.name, latex, float(force * arm), unit, "spring", *numbers)
    return nodes


def friction_nodes(model: Model, x: Motion, dof: int, unit: str) -> list[Node]:
    """Friction of the joints and motors that a degree of freedom moves, each by its laws."""
    nodes: list[Node] = []
    for i, joint in enumerate(model.joints):
        if dof in joint.dofs:
            scale = float(joint.scale)
            rate = scale * float(x.dq_i[i][joint.dofs.index(dof)])
            rates = [("rate of the joint", rate, "")]
            laws = _friction(joint.friction, rate, scale, unit, rates)
            nodes += _group(joint.name, r"b(\dot q)", unit, laws)
    for motor in model.motors:
        if arm := _ratio(motor, dof):
            rate = float(motor.rate(x.dq))
            rates = [("ratio", arm, ""), ("rate of the motor", rate, "")]
            laws = _friction(motor.friction, rate, arm, unit, rates)
            nodes += _group(f"motor {motor.name}", r"a\, b(a \cdot \dot q)", unit, laws)
    return nodes


def _friction(
    friction: Friction,
    rate: float,
    scale: float,
    unit: str,
    rates: list[tuple[str, float, str]],
) -> list[Node]:
    """The laws of one friction, one by one."""
    nodes: list[Node] = []
    for name, latex, law, key in _laws(friction):
        value = float(friction_force(law, rate) * scale)
        nodes += _leaf(name, latex, value, unit, key, *rates, *_coefficients(law))
    return nodes


def _ratio(motor: GearedMotor, dof: int) -> float:
    """Turns of a motor for a unit of a degree of freedom."""
    return float(dict(zip(motor.dofs, motor.arms, strict=True)).get(dof, 0))


def _laws(friction: Friction) -> list[tuple[str, str, Friction, str]]:
    """The laws of a joint's friction one by one: name, formula, record, line of code."""
    none = Friction()
    laws: list[tuple[str, str, Friction, str]] = []
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


def _coefficients(law: Friction) -> list[tuple[str, float, str]]:
    """Coefficients of one law; of a pair, one if both directions have the same."""
    pairs = [("viscous coefficient", law.viscous), ("dry friction", law.coulomb)]
    found: list[tuple[str, float, str]] = []
    if law.stribeck is not None:
        found.append(("Stribeck speed", float(law.stribeck.speed), ""))
        pairs.append(("static friction", law.stribeck.static))
    for name, pair in pairs:
        plus, minus = (float(x) for x in pair)  # type: ignore[arg-type]
        if plus == minus != 0:
            found.append((name, plus, ""))
        elif plus != minus:
            found += [(f"{name}, forwards", plus, ""), (f"{name}, backwards", minus, "")]
    for smooth in smooth_laws(law).values():
        found += [(name, float(value), "") for name, value in law_numbers(smooth).items()]
    return found


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
            factors = ("armature", size, ""), ("acceleration", change, "")
            latex = r"I_a \ddot q"
            force = _leaf("acceleration", latex, size * change, unit, "armature", *factors)
            nodes += _group(f"armature of {joint.name}", latex, unit, force)
    for rotor in model.rotors:
        parts = _rotor_parts(at, rotor, alpha[rotor.link], dof, unit)
        name = f"rotor of {model.joints[rotor.joint].name}"
        nodes += _group(name, r"\tau_{\mathrm{rotor}}", unit, parts)
    for motor in model.motors:
        own, inertia, arm = float(motor.rate(x.ddq)), float(motor.inertia), _ratio(motor, dof)
        nodes += _leaf(
            f"motor {motor.name}",
            r"a\, J\, a \cdot \ddot q",
            inertia * own * arm,
            unit,
            "motor",
            ("inertia", inertia, "kg m^2"),
            ("ratio", arm, ""),
            ("acceleration of the motor", own, "rad/s^2"),
        )
    return nodes


def _rotor_parts(at: Bodies, rotor: JointRotor, alpha: Array, dof: int, unit: str) -> list[Node]:
    """Force of one rotor at its own joint, and of its reaction at the joints that move its link."""
    x, k = at.x, rotor.link
    weight, ratio = float(rotor.inertia * rotor.ratio), float(rotor.ratio)
    s, change, rate = np.asarray(rotor.s, float), float(x.ddq[rotor.dof]), float(x.dq[rotor.dof])
    frame = _frame(at.model, k)
    own = ("axial inertia", float(rotor.inertia), "kg m^2"), ("ratio", ratio, "")
    shared = (*(Quantity(*y) for y in own), vector("axis of the rotor", s, "", frame))
    parts: list[Node] = []
    if rotor.dof == dof:
        value, latex = weight * ratio * change, r"I_m r^2 \ddot q"
        own = (*own, ("acceleration of the joint", change, ""))
        parts += _leaf("own spin", latex, value, unit, "rotor", *own)
        parts.append(
            product(
                "angular acceleration of the carrier",
                r"I_m r\, s \cdot \alpha",
                unit,
                (weight * s, alpha),
                code_line("rotor"),
                (*shared, vector("angular acceleration", alpha, "rad/s^2", frame)),
                (r"I_m r\, s", r"\alpha"),
            )
        )
    if k != WORLD and at.moves[k, dof]:
        omega, turning = at.omega[k, dof], at.rates(k) @ at.columns[k].omega
        shared = (*shared, vector("axis of the joint", omega, "", frame))
        letters, code = (r"\omega", "n"), code_line("carrier")
        parts.append(
            product(
                "reaction on the carrier",
                r"\omega \cdot I_m r\, \ddot q\, s",
                unit,
                (omega, weight * change * s),
                code,
                (*shared, Quantity("acceleration of the rotor's joint", change)),
                letters,
            )
        )
        parts.append(
            product(
                "gyroscopic moment on the carrier",
                r"\omega \cdot I_m r\, \dot q\, (\omega_k \times s)",
                unit,
                (omega, weight * rate * np.cross(turning, s)),
                code,
                (
                    *shared,
                    vector("angular velocity of the carrier", turning, "rad/s", frame),
                    Quantity("rate of the rotor's joint", rate),
                ),
                letters,
            )
        )
    return [part for part in parts if part.value or part.children]


def _frame(model: Model, k: int) -> str:
    return f"{{{model.base_name if k == WORLD else model.link_names[k]}}}"


def mass_nodes(at: Bodies, i: int, j: int, unit: str) -> list[Node]:
    """Armature, rotors and motors in the entry (i, j) of M."""
    model = at.model
    nodes: list[Node] = []
    for k, joint in enumerate(model.joints):
        if i == j and i in joint.dofs:
            size, scale = float(armature(model, k)), float(joint.scale)
            numbers = ("armature", float(joint.armature), ""), ("scale", scale, "")
            nodes += _leaf(f"armature of {joint.name}", "I_a", size, unit, "armature", *numbers)
    for rotor in model.rotors:
        name = f"rotor of {model.joints[rotor.joint].name}"
        nodes += _group(name, r"M_{\mathrm{rotor}}", unit, _rotor_mass(at, rotor, i, j, unit))
    for motor in model.motors:
        inertia, a, b = float(motor.inertia), _ratio(motor, i), _ratio(motor, j)
        numbers = ("inertia", inertia, "kg m^2"), ("ratio", a, ""), ("other ratio", b, "")
        nodes += _leaf(
            f"motor {motor.name}", "J a_i a_j", inertia * a * b, unit, "M motor", *numbers
        )
    return nodes


def _rotor_mass(at: Bodies, rotor: JointRotor, i: int, j: int, unit: str) -> list[Node]:
    """A rotor in the entry (i, j) of M: its own spin, and its carrier that other joints turn."""
    model, weight, ratio = at.model, float(rotor.inertia * rotor.ratio), float(rotor.ratio)
    own = ("axial inertia", float(rotor.inertia), "kg m^2"), ("ratio", ratio, "")
    parts: list[Node] = []
    if i == j == rotor.dof:
        parts += _leaf("own spin", "I_m r^2", weight * ratio, unit, "M rotor", *own)
    pairs = ((i, j, ""), (j, i, "" if i != j else ", transposed"))
    for geared, other, word in pairs if rotor.link != WORLD else ():
        if geared == rotor.dof and at.moves[rotor.link, other]:
            s, frame = np.asarray(rotor.s, float), _frame(model, rotor.link)
            omega, by = at.omega[rotor.link, other], model.dof_names[other]
            axes = (
                vector("axis of the rotor", s, "", frame),
                vector(f"axis of {by}", omega, "", frame),
            )
            turned = product(
                f"carrier turned by {by}{word}",
                rf"I_m r\, s \cdot \omega_{{{other + 1}}}",
                unit,
                (omega, weight * s),
                code_line("M carrier"),
                (*(Quantity(*y) for y in own), *axes),
                (r"\omega", r"I_m r\, s"),
            )
            parts += [turned] if turned.children else []
    return parts
