"""Random chains and trees, physical by construction, for tests, docs and benchmarks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kinetree as kt
from kinetree.files.description.records import (
    Body,
    FrameDescription,
    JointDescription,
    LinkDescription,
    RobotDescription,
)
from kinetree.friction import Friction, Sigmoid, Stribeck
from kinetree.joints import Limits, Mimic, Rotor, Spring
from kinetree.model import Model, build_model
from kinetree.spatial import exp_so3, pose

Array = NDArray[np.float64]
SCREWS = ("revolute", "revolute", "prismatic", "helical")
ALL_TYPES = (*SCREWS, "spherical", "planar", "free")


def random_model(
    seed: int,
    n: int,
    *,
    types: Sequence[str] = SCREWS,
    chain: bool = False,
    drives: bool = True,
    fixed: bool = True,
    mimic: bool = False,
    springs: bool = False,
    laws: bool = False,
) -> Model:
    """Make a random robot of n joints: sizes around 0.3 m, masses around 1 kg.

    Args:
        seed: the same seed gives the same robot.
        n: number of moving joints.
        types: joint types to draw from.
        chain: a chain; otherwise each link hangs on a random earlier one.
        drives: with friction, armature and rotors on random links.
        fixed: with some links that are fixed to others.
        mimic: with some joints that follow others.
        springs: with springs of some joints, and one between two.
        laws: with Stribeck and sigmoid friction in some joints, if there are drives.
    """
    rng = np.random.default_rng(seed)
    gravity = rng.normal(size=3) * 5
    links, joints = [_link("base", rng)], list[JointDescription]()
    names, movers = ["base"], list[str]()
    for i in range(n):
        parent = names[-1] if chain else names[int(rng.integers(len(names)))]
        name, type = f"link{i + 1}", types[int(rng.integers(len(types)))]
        screw = type in SCREWS
        follows = mimic and screw and movers and rng.random() < 0.3
        links.append(_link(name, rng))
        at, axis = random_pose(rng), random_direction(rng)
        point, pitch = rng.normal(size=3) * 0.2, float(rng.normal() * 0.1)
        joints.append(
            JointDescription(
                name=f"joint{i + 1}",
                type=type,
                parent=parent,
                child=name,
                M_pc=at,
                A=_screw(type, axis, pitch, point),
                limits=Limits() if follows else Limits(-2.0, 2.0, 5.0, 100.0),
                mimic=Mimic(str(rng.choice(movers)), float(rng.normal()), 0.1) if follows else None,
                **(_random_drive(rng, names, type) if drives else {}),
            )
        )
        names.append(name)
        movers += [f"joint{i + 1}"] if screw else []
        if fixed and rng.random() < 0.2:
            links.append(_link(f"{name}_tip", rng))
            weld = JointDescription(
                name=f"{name}_weld",
                type="fixed",
                parent=name,
                child=f"{name}_tip",
                M_pc=random_pose(rng),
            )
            joints.append(weld)
            names.append(f"{name}_tip")
    tool = FrameDescription("tool", names[-1], random_pose(rng))
    description = RobotDescription(
        name=f"random {seed}",
        links=tuple(links),
        joints=tuple(joints),
        frames=(tool,),
        tool=tool.name,
        gravity=gravity,
        springs=_random_springs(seed, joints) if springs else {},
    )
    model = build_model(description)
    if laws and drives:
        model = kt.Robot(model).with_friction(_random_laws(seed, model)).model
    return model


def _screw(type: str, axis: Array, pitch: float, point: Array) -> Array | None:
    """The screw axis (omega, v) of a joint; None for types without one."""
    if type == "prismatic":
        return np.concatenate([np.zeros(3), axis])
    along = pitch if type == "helical" else 0.0
    twist = np.concatenate([axis, np.cross(point, axis) + along * axis])
    return twist if type in SCREWS else None


def _random_laws(seed: int, model: Model) -> dict[str, Friction]:
    """The friction of some joints with further laws."""
    rng = np.random.default_rng((seed, 2))  # other data of the robot do not depend on these
    laws: dict[str, Friction] = {}
    for joint in model.joints:
        before, draw = joint.friction, rng.random(2) < 0.6
        static = rng.uniform(0, 1, 2) + np.asarray(before.coulomb, float)
        shape = float(rng.uniform(0.1, 1)), float(rng.choice([0.5, 1, 1.5, 2]))
        curve = Sigmoid(*rng.uniform((0, 1, -0.1), (1, 20, 0.1)).tolist())
        laws[joint.name] = Friction(
            before.viscous,
            before.coulomb,
            before.function,
            stribeck=Stribeck((float(static[0]), float(static[1])), *shape) if draw[0] else None,
            sigmoid=curve if draw[1] else None,
        )
    return laws


def _random_springs(seed: int, joints: Sequence[JointDescription]) -> dict[str, Spring]:
    """Springs of every other joint of one degree of freedom, and one between the first and last."""
    rng = np.random.default_rng((seed, 1))  # other data of the robot do not depend on its springs
    ends = [joint.name for joint in joints if joint.type in SCREWS]
    stiffness, rest = rng.uniform(1, 50, len(ends) + 1), rng.normal(size=len(ends) + 1)
    pairs = zip(stiffness.tolist(), rest.tolist(), strict=True)
    k, r = next(pairs)
    springs = {x: Spring(*pair) for x, pair in zip(ends, pairs, strict=True) if rng.random() < 0.6}
    if len(ends) > 1:
        springs["between"] = Spring(k, r, {ends[0]: 1, ends[-1]: float(rng.normal())})
    return springs


def _link(name: str, rng: np.random.Generator) -> LinkDescription:
    return LinkDescription(name, (Body(*random_body(rng)),))


def random_body(rng: np.random.Generator) -> tuple[float, Array, Array]:
    """Mass, centre and inertia of a cloud of eight mass points."""
    points, masses = rng.normal(size=(8, 3)) * 0.15, rng.uniform(0.05, 0.3, 8)
    m = float(masses.sum())
    com = masses @ points / m
    d = points - com
    I = sum(mass * (x @ x * np.eye(3) - np.outer(x, x)) for mass, x in zip(masses, d, strict=True))
    return m, com, np.asarray(I)


def random_direction(rng: np.random.Generator) -> Array:
    """A unit vector; every other time along a coordinate axis, as real robots have them."""
    if rng.random() < 0.5:
        return np.eye(3)[int(rng.integers(3))] * float(rng.choice([-1, 1]))
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def random_pose(rng: np.random.Generator) -> Array:
    """A pose about 0.3 m away, turned at random."""
    return pose(exp_so3(rng.normal(size=3)), rng.normal(size=3) * 0.3)


def _random_drive(rng: np.random.Generator, names: list[str], type: str) -> dict[str, Any]:
    rotor = None
    if type in SCREWS and rng.random() < 0.5:
        carrier = None if rng.random() < 0.5 else str(rng.choice(names))
        axis = None if rng.random() < 0.5 else random_direction(rng)
        rotor = Rotor(float(rng.uniform(1e-5, 1e-3)), float(rng.uniform(-20, 20)), axis, carrier)
    function = (lambda dq: 0.1 * dq * dq * dq) if rng.random() < 0.3 else None
    viscous, coulomb = rng.uniform(0, 1, 2), rng.uniform(0, 1, 2)
    friction = Friction(tuple(viscous.tolist()), tuple(coulomb.tolist()), function)
    armature = float(rng.uniform(0, 0.1))
    armature = 0.0 if type in ("planar", "free") else armature
    return {"rotor": rotor, "armature": armature, "friction": friction}
