"""<actuator> of MJCF: every actuator as <general>, those on several joints through a tendon."""

from collections.abc import Iterable
from math import inf

from kinetree.base.tables import exact_number as number
from kinetree.description.actuators import LAGS, UNLIMITED, Actuator, Range
from kinetree.model import Joint, Model
from kinetree.model.actuators import describe_actuators
from kinetree.write.losses import Losses
from kinetree.write.xml import Tag, numbers, unused

NOTHING = (0, 0, 0)


def actuator_tags(model: Model, losses: Losses) -> tuple[list[Tag], list[Tag]]:
    """Children of <actuator>, and of <tendon> for actuators on several joints."""
    taken = {spring.name for spring in model.springs}
    found: list[Tag] = []
    tendons: list[Tag] = []
    for name, x in describe_actuators(model.actuators, model.coordinate_names).items():
        if len(x.joints) == 1:
            ((joint, gear),) = x.joints.items()
            place = {"joint": joint, "gear": number(gear)}
        else:
            tendon = unused(f"{name}_tendon", taken)
            taken.add(tendon)
            ends = [Tag("joint", {"joint": k, "coef": number(c)}) for k, c in x.joints.items()]
            tendons.append(Tag("fixed", {"name": tendon}).add(*ends))
            place = {"tendon": tendon}
        found += [Tag("general", {"name": name, **place, **_law(x)}), *_lost(name, x, losses)]
    return found, tendons


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
    found: list[Tag] = []
    if x.delay:
        found.append(losses.add(f"delay {number(x.delay)} s of actuator {name!r}"))
    ranges = {
        "control": x.control_range,
        "force": x.force_range,
        "activation": x.activation_range,
    }
    for word, (low, high) in ranges.items():
        if (low, high) != UNLIMITED and not _is_written((low, high)):
            found.append(losses.add(f"{word} range {low:g} to {high:g} of actuator {name!r}"))
    return found


def has_actuator(model: Model, joint: Joint) -> bool:
    """Return True if an actuator drives a joint."""
    return any(set(joint.dofs) & set(x.dofs) for x in model.actuators)


def motor_effort(model: Model, joint: Joint) -> float:
    """Largest force of the plain motors of a joint together, which readers take for its limit."""
    total: list[float] = []
    for x in model.actuators:
        plain = x.dynamics == "none" and not any((*x.gain[1:], *x.bias))
        if plain and x.dofs == joint.dofs:
            force = max(map(abs, x.force_range)) if _is_written(x.force_range) else inf
            if _is_written(x.control_range):
                force = min(force, abs(x.gain[0]) * max(map(abs, x.control_range)))
            total.append(force * abs(x.gears[0]))
    return sum(total) if total else inf


def effort_attributes(
    model: Model, joint: Joint, losses: Losses
) -> tuple[dict[str, str], list[Tag]]:
    """actuatorfrcrange of a joint, from the range of its actuators or its effort limit.

    MuJoCo limits the forces of actuators to it. The effort limit of a joint with actuators is
    written only where readers find it otherwise.
    """
    effort, driven = joint.limits.effort, has_actuator(model, joint)
    found: dict[str, str] = {}
    implied = motor_effort(model, joint) if driven else inf
    if driven and _is_written(joint.actuation):
        found = {"actuatorfrclimited": "true", "actuatorfrcrange": numbers(joint.actuation)}
        implied = min(implied, max(map(abs, joint.actuation)))
    if effort == implied:
        return found, []
    if not driven and effort:
        bounds = numbers((-effort, effort))
        return {"actuatorfrclimited": "true", "actuatorfrcrange": bounds}, []
    return found, [losses.add(f"effort limit {number(effort)} of joint {joint.name!r}")]


def lost_actuators(model: Model, losses: Losses) -> Iterable[Tag]:
    """Comments on the actuators of a robot, for formats that have none."""
    for name, x in describe_actuators(model.actuators, model.coordinate_names).items():
        joints = " + ".join(k if c == 1 else f"{number(c)} {k}" for k, c in x.joints.items())
        yield losses.add(
            f"actuator {name!r} on {joints}: gain {numbers(x.gain)}, bias {numbers(x.bias)}"
        )
