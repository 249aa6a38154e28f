"""Two robots as one: another robot's base fixed to a frame, every name kept or prefixed."""

from dataclasses import replace

from kinetree.description.joints import FIXED
from kinetree.description.records import JointDescription, RobotDescription
from kinetree.errors import ModelError
from kinetree.model.build import build_model
from kinetree.model.describe import describe_model, link_names
from kinetree.model.model import Model


def attach(model: Model, other: Model, frame: str | None = None, prefix: str = "") -> Model:
    """Two robots as one: the base of `other` is fixed to a frame of `model`.

    q is that of `model`, then that of `other`. Gravity is that of `model`, the tool that of
    `other`. The base of `other` stays as a frame.

    Args:
        model: the robot that carries.
        other: the robot that is carried.
        frame: where on `model` the base frame of `other` comes to lie; None is the tool.
        prefix: written before every name of `other`, where names would clash.
    """
    place, own = model.frame(frame), describe_model(model)
    theirs = _prefixed(describe_model(other), prefix)
    _check_clash("frame", _frame_names(own), _frame_names(theirs), model, other)
    taken = {joint.name for joint in own.joints}
    _check_clash("joint", taken, {joint.name for joint in theirs.joints}, model, other)
    base = f"{prefix}{other.base_name}"
    weld = JointDescription(
        name=_unused(f"{base}/fixed", taken | {joint.name for joint in theirs.joints}),
        type=FIXED,
        parent=link_names(model)[place.link],
        child=base,
        M_pc=place.T_if,
    )
    combined = replace(
        own,
        links=(*own.links, *theirs.links),
        joints=(*own.joints, weld, *theirs.joints),
        frames=(*own.frames, *theirs.frames),
        tool=theirs.tool,
        notes=(*own.notes, *theirs.notes),
        warnings=(*own.warnings, *theirs.warnings),
    )
    return build_model(combined, unphysical="allow")


def _prefixed(description: RobotDescription, prefix: str) -> RobotDescription:
    """The same robot with `prefix` before every name."""

    def joint(x: JointDescription) -> JointDescription:
        mimic, rotor = x.mimic, x.rotor
        return replace(
            x,
            name=prefix + x.name,
            parent=prefix + x.parent,
            child=prefix + x.child,
            mimic=None if mimic is None else replace(mimic, joint=prefix + mimic.joint),
            rotor=None if rotor is None else replace(rotor, link=f"{prefix}{rotor.link}"),
        )

    return replace(
        description,
        links=tuple(replace(x, name=prefix + x.name) for x in description.links),
        joints=tuple(joint(x) for x in description.joints),
        frames=tuple(
            replace(x, name=prefix + x.name, link=prefix + x.link) for x in description.frames
        ),
        tool=f"{prefix}{description.tool}",
    )


def _frame_names(description: RobotDescription) -> set[str]:
    return {x.name for x in (*description.links, *description.frames)}


def _check_clash(kind: str, ours: set[str], theirs: set[str], model: Model, other: Model) -> None:
    both = sorted(ours & theirs)
    if both:
        shown = ", ".join(map(repr, both[:5])) + (f" and {len(both) - 5} more" * (len(both) > 5))
        raise ModelError(
            f"{model.name!r} and {other.name!r} both have a {kind} called {shown}; expected every "
            f"name once. Pass a prefix for the attached robot, such as prefix='{other.name}/'."
        )


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    return name
