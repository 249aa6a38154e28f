"""<actuator> of MJCF: every actuator as <general>, on a joint or through a tendon."""

from collections.abc import Callable
from math import inf

from kinetree.core.text import exact_number as number
from kinetree.files.description.actuators import LAGS, UNLIMITED, Actuator
from kinetree.files.description.collisions import unused
from kinetree.files.write.losses import Losses, is_written
from kinetree.files.write.xml import Tag, numbers
from kinetree.model import Joint, Model
from kinetree.model.elements import JointActuator


def actuator_tags(
    model: Model, losses: Losses, path: Callable[[JointActuator, str], Tag | None]
) -> tuple[Tag, list[Tag]]:
    """The element <actuator>, and children of <tendon> for actuators on several joints and paths.

    path: makes the tendon of an actuator between points, of a name; None if it cannot.
    """
    taken = {x.name for x in (*model.springs, *model.motors)}
    actuators, tendons = Tag("actuator"), list[Tag]()
    for own in model.actuators:
        x = own.record
        if len(x.joints) == 1:
            ((joint, gear),) = x.joints.items()
            place = {"joint": joint, "gear": number(gear)}
        else:
            tendon = unused(f"{own.name}_tendon", taken, "_")
            place = {"tendon": tendon}
            ends = [Tag("joint", {"joint": k, "coef": number(c)}) for k, c in x.joints.items()]
            tag = path(own, tendon) if own.points else Tag("fixed", {"name": tendon}).add(*ends)
            if tag is None:
                losses.add(f"actuator {own.name!r} at a massless link")
                continue
            tendons.append(tag)
        general = Tag("general", {"name": own.name, **place, **_law(own.name, x, losses)})
        losses.into(actuators, general)
    return losses.into(actuators), tendons


def _law(name: str, x: Actuator, losses: Losses) -> dict[str, str]:
    """Attributes of <general> besides the name and the place."""
    affine = any(x.gain[1:])
    found = {"gainprm": numbers(x.gain if affine else x.gain[:1])}
    found |= {"gaintype": "affine"} if affine else {}
    found |= {"biastype": "affine", "biasprm": numbers(x.bias)} if any(x.bias) else {}
    found |= {"dyntype": x.dynamics} if x.dynamics != "none" else {}
    found |= {"dynprm": number(x.time_constant)} if x.dynamics in LAGS else {}
    found |= {"actearly": "true"} if x.early else {}
    if x.delay:  # in time steps, of which the file states none
        losses.add(f"delay {number(x.delay)} s of actuator {name!r}")
    ranges = {"ctrl": ("control", x.control_range), "force": ("force", x.force_range)}
    for key, (word, limits) in (ranges | {"act": ("activation", x.activation_range)}).items():
        if is_written(limits):
            found |= {f"{key}limited": "true", f"{key}range": numbers(limits)}
        elif limits != UNLIMITED:
            losses.add(f"{word} range {limits[0]:g} to {limits[1]:g} of actuator {name!r}")
    return found


def effort_attributes(model: Model, joint: Joint, losses: Losses) -> dict[str, str]:
    """actuatorfrcrange of a joint, from the range of its actuators or its effort limit.

    MuJoCo limits the forces of actuators to it, and readers take it for the effort limit. Here an
    effort limit does not change the forces of actuators: where it would, that is a loss.
    """
    effort, all_forces = joint.limits.effort, _forces(model, joint)
    driven = any(set(joint.dofs) & set(x.dofs) for x in model.actuators)
    plain = [force for x, force in all_forces if _is_plain_motor(x) and x.dofs == joint.dofs]
    implied = sum(plain) if plain and joint.follows is None else inf
    attributes: dict[str, str] = {}
    if driven and is_written(joint.actuation):
        attributes = {"actuatorfrclimited": "true", "actuatorfrcrange": numbers(joint.actuation)}
        implied = min(implied, max(map(abs, joint.actuation)))
    if effort == implied:
        return attributes
    if attributes or not 0 < effort < implied:
        losses.add(f"effort limit {number(effort)} of joint {joint.name!r}")
        return attributes
    if driven and sum(force for _, force in all_forces) > effort:
        text = f"an effort limit of joint {joint.name!r} that does not clamp its actuators"
        losses.add(f"{text} ({number(effort)} is written, and clamps them)")
    return {"actuatorfrclimited": "true", "actuatorfrcrange": numbers((-effort, effort))}


def _forces(model: Model, joint: Joint) -> list[tuple[JointActuator, float]]:
    """The actuators of a joint, each with its largest force there, from its ranges."""
    forces: list[tuple[JointActuator, float]] = []
    for x in model.actuators:
        force = max(map(abs, x.force_range)) if is_written(x.force_range) else inf
        if _is_plain_motor(x) and is_written(x.control_range):
            force = min(force, abs(x.gain[0]) * max(map(abs, x.control_range)))
        gears = [abs(g) for dof, g in zip(x.dofs, x.arms, strict=True) if (dof,) == joint.dofs]
        forces += [(x, force * gear) for gear in gears]
    return forces


def _is_plain_motor(x: JointActuator) -> bool:
    return x.dynamics == "none" and not any((*x.gain[1:], *x.bias))
