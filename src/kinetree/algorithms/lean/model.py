"""LeanModel: links with lean frames and mass moments, ready to be traced."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algorithms.lean.frames import WIDE, Placement, place_frames
from kinetree.base.arrays import Array, is_numeric
from kinetree.description.joints import HELICAL
from kinetree.model import WORLD, Joint, JointRotor, Model
from kinetree.spatial import second_moment


@dataclass(frozen=True, eq=False)
class Moments:
    """Mass m, first moment h = m c (3,), second moment Sigma = int x x^T dm (3, 3)."""

    m: Any
    h: Array
    Sigma: Array

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(self.m + other.m, self.h + other.h, self.Sigma + other.Sigma)


@dataclass(frozen=True, eq=False)
class LeanLink:
    """One link: its place on the parent, its joint, and its mass moments in its lean frame."""

    parent: int
    joint: Joint
    place: Placement
    moments: Moments
    pitch: Any = 0

    @property
    def kind(self) -> str:
        """Type of the joint."""
        return self.joint.type


@dataclass(frozen=True, eq=False)
class LeanModel:
    """The links, and the textbook model that they came from (gravity, drives, names)."""

    model: Model
    links: tuple[LeanLink, ...]
    rotors: tuple[JointRotor, ...]


def lean_model(model: Model, *, regrouped: bool = True) -> LeanModel:
    """The model in lean frames.

    Args:
        model: the robot; its masses may be traced scalars, its geometry must be numbers.
        regrouped: hand to the parents what only they feel. The joint forces stay the same; energies
            and wrenches inside the robot do not.
    """
    from kinetree.algorithms.lean.regroup import regroup

    places = place_frames(model)
    links = []
    for i in model.links:
        joint = model.joints[i]
        links.append(
            LeanLink(
                parent=model.parent[i],
                joint=joint,
                place=places[i],
                moments=moments_in(model.m[i], model.com[i], model.I_com[i], places[i].X),
                pitch=_pitch(joint),
            )
        )
    lean = LeanModel(model, tuple(links), tuple(_turn_rotor(r, places) for r in model.rotors))
    return regroup(lean) if regrouped else lean


def moments_in(m: Any, com: Array, I_com: Array, X: Array) -> Moments:
    """Moments of a body in the lean frame X of its link, in extended precision for numbers."""
    numbers = all(is_numeric(np.asarray(x)) for x in (m, com, I_com))
    if numbers:
        m, com, I_com = WIDE(m), com.astype(WIDE), I_com.astype(WIDE)
    else:
        X = X.astype(float)
    R, p = X[:3, :3], X[:3, 3]
    if np.array_equal(X, np.eye(4)):
        c, Sigma = com, second_moment(I_com)
    else:
        c, Sigma = R.T @ (com - p), R.T @ second_moment(I_com) @ R
    Sigma = Sigma + np.outer(c, c) * m
    Sigma = np.array([[Sigma[min(a, b), max(a, b)] for b in range(3)] for a in range(3)])
    return Moments(m, c * m, Sigma)


def _pitch(joint: Joint) -> Any:
    """Advance along z for unit rotation about z."""
    if joint.type != HELICAL or joint.screw is None:
        return 0
    return joint.screw[:3] @ joint.screw[3:]


def _turn_rotor(rotor: JointRotor, places: list[Placement]) -> JointRotor:
    if rotor.link == WORLD:
        return rotor
    R = places[rotor.link].X[:3, :3].astype(float)
    return replace(rotor, s=R.T @ rotor.s)
