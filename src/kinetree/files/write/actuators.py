"""<actuator> of MJCF: every actuator as <general>, on a joint or through a tendon."""

from collections.abc import Callable, Iterable
from math import inf

from kinetree.core.text import exact_number as number
from kinetree.files.description.actuators import LAGS, UNLIMITED, Actuator, Range
from kinetree.files.write.losses import Losses
from kinetree.files.write.xml import Tag, numbers, unused
from kinetree.model import Joint, Model
from kinetree.model.elements import JointActuator

NOTHING = (0, 0, 0)


def described(model: Model) -> dict[str, Actuator]:
    """The actuators of a robot as a user gives them."""
    return {x.name: x.record for x in model.actuators}


def actuator_tags(
    model: Model, losses: Losses, path: Callable[[JointActuator, str], Tag | None]
) -> tuple[list[Tag], list[Tag]]:
    """Children of <actuator>, and of <tendon> for actuators on several joints and paths.

    path: makes the tendon of an actuator between points, of a name; None if it cannot.
    """
    taken = {x.name for x in (*model.springs, *model.motors)}
    tags: list[Tag] = []
    tendons: list[Tag] = []
    for own, (name, x) in zip(model.actuators, described(model).items(), strict=True):
        if len(x.joints) == 1:
            ((joint, gear),) = x.joints.items()
            place = {"joint": joint, "gear": number(gear)}
        else:
            tendon = unused(f"{name}_tendon", taken)
            taken.add(tendon)
            place = {"tendon": tendon}
            ends = [Tag("joint", {"joint": k, "coef": number(c)}) for k, c in x.joints.items()]
            tag = path(own, tendon) if own.points else Tag("fixed", {"name": tendon}).add(*ends)
            if tag is None:
                tags.append(losses.add(f"actuator {name!r} at a massless link"))
                continue
            tendons.append(tag)
        tags += [Tag("general", {"name": name, **place, **_law(x)}), *_lost(name, x, losses)]
    return tags, tendons


def _law(x: Actuator) -> dict[str, str]:
    """Attributes of <general> besides the name and the place."""
    affine = any(x.gain[1:])
    found = {"gainprm": numbers(x.gain if affine else x.gain[:1])}
    found |= {"gaintype": "affine"} if affine else {}
    found |= {"biastype": "affine", "biasprm": numbers(x.bias)} if x.bias != NOTHING else {}
    found |= {"dyntype": x.dynamics} if x.dynamics != "none" else {}
    found |= {"dynprm": number(x.time_constant)} if x.dynamics in LAGS else {}
    found |= {"actearly": "true"} if x.early else {}
    ranges = {"ctrl": x.control_range, "force": x.force_range, "act": x.activation_range}
    for word, limits in ranges.items():
        if _is_written(limits):
            found |= {f"{word}limited": "true", f"{word}range": numbers(limits)}
    return found


def _is_written(limits: Range) -> bool:
    return limits != UNLIMITED and limits[0] < limits[1]  # MuJoCo refuses a range of one number


def _lost(name: str, x: Actuator, losses: Losses) -> list[Tag]:
    """Comments on what <general> cannot express for every time step and version of MuJoCo."""
    comments: list[Tag] = []
    if x.delay:
        comments.append(losses.add(f"delay {number(x.delay)} s of actuator {name!r}"))
    for word, limits in _ranges(x).items():
        if not _is_written(limits):
            comments.append(losses.add(f"{word} range {_shown(limits)} of actuator {name!r}"))
    return comments


def _ranges(x: Actuator) -> dict[str, Range]:
    """The ranges of an actuator that limit anything."""
    ranges = {
        "control": x.control_range,
        "force": x.force_range,
        "activation": x.activation_range,
    }
    return {word: limits for word, limits in ranges.items() if limits != UNLIMITED}


def _shown(limits: Range) -> str:
    return f"{limits[0]:g} to {limits[1]:g}"


def has_actuator(model: Model, joint: Joint) -> bool:
    """Return True if an actuator drives a joint."""
    return any(set(joint.dofs) & set(x.dofs) for x in model.actuators)


def motor_effort(model: Model, joint: Joint) -> float:
    """Largest force of the plain motors of a joint together, which readers take for its limit."""
    found = [
        _largest_force(x) * abs(x.gears[0])
        for x in model.actuators
        if _is_plain_motor(x) and x.dofs == joint.dofs
    ]
    return sum(found) if found else inf


def actuator_effort(model: Model, joint: Joint) -> float:
    """Largest force of all actuators of a joint together, as they are written."""
    return sum(
        _largest_force(x) * abs(gear)
        for x in model.actuators
        for dof, gear in zip(x.dofs, x.gears, strict=True)
        if (dof,) == joint.dofs
    )


def _is_plain_motor(x: JointActuator) -> bool:
    return x.dynamics == "none" and not any((*x.gain[1:], *x.bias))


def _largest_force(x: JointActuator) -> float:
    """Largest size of the force of an actuator before the gear, from its ranges."""
    force = max(map(abs, x.force_range)) if _is_written(x.force_range) else inf
    if _is_plain_motor(x) and _is_written(x.control_range):
        return min(force, abs(x.gain[0]) * max(map(abs, x.control_range)))
    return force


def effort_attributes(
    model: Model, joint: Joint, losses: Losses
) -> tuple[dict[str, str], list[Tag]]:
    """actuatorfrcrange of a joint, from the range of its actuators or its effort limit.

    MuJoCo limits the forces of actuators to it, and readers take it for the effort limit. Here an
    effort limit does not change the forces of actuators: where it would, that is a loss.
    """
    effort, driven = joint.limits.effort, has_actuator(model, joint)
    attributes: dict[str, str] = {}
    implied = motor_effort(model, joint) if driven and joint.follows is None else inf
    if driven and _is_written(joint.actuation):
        attributes = {"actuatorfrclimited": "true", "actuatorfrcrange": numbers(joint.actuation)}
        implied = min(implied, max(map(abs, joint.actuation)))
    if effort == implied:
        return attributes, []
    if not attributes and 0 < effort < implied:
        bounds = numbers((-effort, effort))
        attributes = {"actuatorfrclimited": "true", "actuatorfrcrange": bounds}
        if not driven or actuator_effort(model, joint) <= effort:
            return attributes, []
        text = f"an effort limit of joint {joint.name!r} that does not clamp its actuators"
        return attributes, [losses.add(f"{text} ({number(effort)} is written, and clamps them)")]
    return attributes, [losses.add(f"effort limit {number(effort)} of joint {joint.name!r}")]


def lost_actuators(model: Model, losses: Losses) -> Iterable[Tag]:
    """Comments on the actuators of a robot, for formats that have none."""
    for name, x in described(model).items():
        joints = " + ".join(k if c == 1 else f"{number(c)} {k}" for k, c in x.joints.items())
        joints = joints or f"a path {' - '.join(link for link, _ in x.points or ())}"
        parts = [f"gain {numbers(x.gain)}", f"bias {numbers(x.bias)}"]
        parts += [f"dynamics {x.dynamics}"] if x.dynamics != "none" else []
        parts += [f"time constant {number(x.time_constant)} s"] if x.time_constant else []
        parts += [f"delay {number(x.delay)} s"] if x.delay else []
        parts += [f"{word} range {_shown(limits)}" for word, limits in _ranges(x).items()]
        yield losses.add(f"actuator {name!r} on {joints}: {', '.join(parts)}")
