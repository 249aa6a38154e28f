"""The same robot written down otherwise: renumbered, seen from another {s}, on a free joint."""

import dataclasses
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.files.description import (
    Body,
    FrameDescription,
    Friction,
    JointDescription,
    LinkDescription,
    Mimic,
    RobotDescription,
    Rotor,
)
from kinetree.model import WORLD, Frame, Model, build_model


def renumbered(model: Model, rng: np.random.Generator) -> Model:
    """Built anew from records in which joints and links stand in random order."""
    names = {WORLD: model.base_name, **dict(enumerate(model.link_names))}
    bodies = {WORLD: model.base}
    bodies |= {i: (model.m[i], model.com[i], model.I_com[i]) for i in model.links}
    rotors = {rotor.joint: rotor for rotor in model.rotors}
    links = [LinkDescription(names[i], (Body(*body),)) for i, body in bodies.items()]
    joints = []
    for i, joint in enumerate(model.joints):
        follows, rotor = joint.follows is not None, rotors.get(i)
        if rotor is not None:  # the model's ratio is to the degree of freedom, not to the joint
            ratio = rotor.ratio / joint.scale
            rotor = Rotor(rotor.inertia, ratio, rotor.s, names[rotor.link])
        joints.append(
            JointDescription(
                name=joint.name,
                type=joint.type,
                parent=names[model.parent[i]],
                child=names[i],
                M_pc=model.M_pi[i],
                A=joint.screw,
                offset=0 if follows else joint.offset,
                mimic=Mimic(joint.follows, joint.scale, joint.offset) if follows else None,
                friction=Friction(
                    joint.friction.viscous, joint.friction.coulomb, joint.friction.function
                ),
                armature=joint.armature,
                rotor=rotor,
            )
        )
    tool = model.frame()
    frame = FrameDescription("moved tool", names[tool.link], tool.T_if)
    return build_model(
        RobotDescription(
            name=model.name,
            links=tuple(links[k] for k in rng.permutation(len(links))),
            joints=tuple(joints[k] for k in rng.permutation(len(joints))),
            frames=(frame,),
            tool=frame.name,
            gravity=model.gravity[3:],
        )
    )


def places(names: tuple[str, ...], others: tuple[str, ...]) -> list[int]:
    """Where each of `names` stands in `others`."""
    return [others.index(name) for name in names]


def seen_from(model: Model, T: Array) -> Model:
    """The same robot, its old {s} standing at T in the new one, gravity turned alike."""
    R = T[:3, :3]
    m, com, I_com = model.base
    return model.replace(
        M_pi=np.array(
            [T @ M if p == WORLD else M for M, p in zip(model.M_pi, model.parent, strict=True)]
        ),
        gravity=np.concatenate([R @ model.gravity[:3], R @ model.gravity[3:]]),
        base=(m, R @ com + T[:3, 3], R @ I_com @ R.T),
        rotors=tuple(
            dataclasses.replace(x, s=R @ x.s) if x.link == WORLD else x for x in model.rotors
        ),
        frames={
            name: Frame(f.link, T @ f.T_if if f.link == WORLD else f.T_if)
            for name, f in model.frames.items()
        },
    )


def _add(numbers: tuple[int, ...], k: int) -> Any:
    return tuple(x + k for x in numbers)
