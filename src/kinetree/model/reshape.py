"""New robots from old ones: joints locked, a part of the tree, a tool, another robot attached.

Each function returns a new model and keeps names: a link that no longer moves by itself stays as a
frame, its inertia merged into what carries it.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.records import JointDescription, Note, RobotDescription
from kinetree.errors import ModelError, NameLookupError
from kinetree.model.attach import attach
from kinetree.model.build import build_model
from kinetree.model.builder import Builder
from kinetree.model.describe import describe_model, link_names
from kinetree.model.lock import lock
from kinetree.model.model import WORLD, Frame, Model
from kinetree.spatial.se3 import inverse

__all__ = ["attach", "lock", "subtree", "with_tool"]


def subtree(model: Model, link: str) -> Model:
    """The robot from `link` outward: that link becomes the base, its frame the new {s}.

    Gravity keeps its three components, now in the axes of `link`: the new base stands in the world
    as the old one did. `with_gravity` sets another. The tool is kept where it belongs to the part.
    A rotor that drives one of the joints from a link that is left out is put on the base.

    Args:
        model: the robot.
        link: name of a link that moves, or of the base (which gives the whole robot).
    """
    names, root = link_names(model), _link_number(model, link)
    if root == WORLD:
        return model
    kept = [i for i in model.links if i != root and root in model.path(i)]
    _check_followers(model, kept, link)
    inside = {names[i] for i in (root, *kept)}
    description = describe_model(model)
    joints = [_carried(model, root, description.joints[i], inside) for i in kept]
    frames = [frame for frame in description.frames if frame.link in inside]
    known = inside | {frame.name for frame in frames}
    notes = [Note(f"link {link!r} is the base, a part of {model.name!r}")]
    notes += [
        Note(f"rotor of joint {model.joints[rotor.joint].name!r} stands still with its joint")
        for rotor in model.rotors
        if names[rotor.link] in inside and rotor.joint not in kept
    ]
    return build_model(
        RobotDescription(
            name=model.name,
            links=tuple(x for x in description.links if x.name in inside),
            joints=tuple(joints),
            frames=tuple(frames),
            tool=model.tool if model.tool in known else None,
            gravity=description.gravity,
            notes=(*model.notes, *notes),
            warnings=description.warnings,
        ),
        unphysical="allow",
    )


def _link_number(model: Model, link: str) -> int:
    names = link_names(model)
    for i, name in names.items():
        if name == link:
            return i
    listed = ", ".join(names.values())
    if link in model.frames:
        carrier = names[model.frames[link].link]
        raise NameLookupError(
            f"{link!r} is a frame fixed in link {carrier!r} of {model.name!r}; expected a link "
            f"that moves or the base: {listed}. Take {carrier!r}."
        )
    raise NameLookupError(f"{model.name!r} has no link {link!r}; its links are {listed}.")


def _check_followers(model: Model, kept: list[int], link: str) -> None:
    names = {model.joints[i].name for i in kept}
    for i in kept:
        joint = model.joints[i]
        if joint.follows is not None and joint.follows not in names:
            raise ModelError(
                f"joint {joint.name!r} follows {joint.follows!r}, which is not part of the tree "
                f"from link {link!r}; expected both in it. Lock {joint.follows!r} first, or build "
                "the robot without this mimic joint."
            )


def _carried(
    model: Model, root: int, joint: JointDescription, inside: set[str]
) -> JointDescription:
    """The joint, its rotor on the base if the link that carried it is left out."""
    rotor = joint.rotor
    if rotor is None or rotor.link in inside:
        return joint
    k = _link_number(model, str(rotor.link))
    R = (inverse(_home(model, root)) @ _home(model, k))[:3, :3]
    moved = replace(rotor, axis=R @ rotor.axis, link=model.link_names[root])
    return replace(joint, rotor=moved)


def _home(model: Model, i: int) -> Array:
    """Pose of link i in {s} where all joints are at zero."""
    T = np.eye(4, dtype=int)
    for k in model.path(i):
        T = T @ model.M_pi[k]
    return T


def with_tool(
    model: Model,
    name: str,
    at: Any = (0, 0, 0),
    frame: str | None = None,
    m: Any = None,
    com: Any = (0, 0, 0),
    I_com: Any = None,
) -> Model:
    """The robot with a new frame, which becomes its tool, and the body of that tool.

    Args:
        model: the robot.
        name: of the new frame.
        at: its position (3,) or pose (4, 4) in `frame`.
        frame: a frame of the robot; None is the tool that it has.
        m: mass of the tool in kg; None: it weighs nothing.
        com: centre of mass in the new frame, m.
        I_com: inertia about the centre in the new frame's axes, kg m^2; None: a point mass.
    """
    if name in model.frames:
        raise ModelError(
            f"{model.name!r} has a frame {name!r} already; expected a new name for the tool, other "
            f"than {', '.join(model.frames)}."
        )
    place = model.frame(frame)
    T = Builder().frame(name, "", at).describe().frames[0].T
    frames = {**model.frames, name: Frame(place.link, place.T_if @ T)}
    changed = model.replace(frames=frames, tool=name)
    if m is None and I_com is None:
        return changed
    return changed.with_payload(0 if m is None else m, com, I_com)
