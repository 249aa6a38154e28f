"""What all formulations share: parts by name, poses, and the drive of one joint."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.formulations.drives import armature, armature_turning, friction_force, turns_armature
from kinetree.model import WORLD, Model, joint_pose
from kinetree.model.inputs import Motion

Parts = dict[str, list[dict[str, Array]]]  # symbol -> for each link -> part -> value


def total(parts: Mapping[str, Array]) -> Any:
    """The sum of all parts."""
    values = iter(parts.values())
    return sum(values, next(values))


def child(model: Model, c: int) -> str:
    """What a part that came from a child is called."""
    return f"child {model.link_names[c]}"


def pose_parts(model: Model, x: Motion, T_si: Array) -> list[dict[str, Array]]:
    """Factors of T_si: the parent's pose, the home pose in it, and the joint's motion."""
    parts = []
    for i, joint in enumerate(model.joints):
        p = model.parent[i]
        parts.append(
            {
                "parent": np.eye(4, dtype=int) if p == WORLD else T_si[p],
                "home": model.M_pi[i],
                "joint": joint_pose(joint, x.q[list(joint.coords)]),
            }
        )
    return parts


def drive_parts(model: Model, x: Motion, alpha: Mapping[int, Array], i: int) -> dict[str, Array]:
    """Forces of joint i for its armature and rotor, and against its friction, (k,).

    alpha: angular acceleration of every link in its own frame, and of WORLD.
    """
    joint = model.joints[i]
    change = x.ddq_i[i]
    if turns_armature(joint):
        change = change + armature_turning(joint, x.dq_i[i])
    spinning = change * armature(model, i)
    for rotor in model.rotors:
        if rotor.joint == i:
            ddq = rotor.s @ alpha[rotor.link] + rotor.ratio * x.ddq[rotor.dof]
            spinning = spinning + np.array([ddq * (rotor.inertia * rotor.ratio)])
    scale = joint.scale
    rubbing = [friction_force(joint.friction, rate * scale) * scale for rate in x.dq_i[i]]
    return {"rotor and armature": spinning, "friction": np.array(rubbing)}
