"""Tasks on the ground for learning: a robot with servos and contacts, starts and rewards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.contacts.points import book_places, touches
from kinetree.files.description.actuators import Actuator
from kinetree.files.description.contacts import ContactPoint, HeightField, Plane
from kinetree.files.description.records import Limits
from kinetree.model.contacts import contacts_of_model
from kinetree.robot import Robot
from kinetree.robot.builder import Builder
from kinetree.robots.legged import HEEL, SOLE, humanoid, quadruped
from kinetree.spatial import box

SIDES = ("left", "right")
LEGS = tuple(f"{end}_{side}" for end in ("front", "rear") for side in SIDES)
PUSHED = ("x", "base.vx", "base.vy")
DROP = 0.01  # m above the ground, where episodes begin
ROUGHNESS = 0.05  # m between the lowest and the highest place of rough ground
MAX_TILT = 0.5  # cosine of the tilt of the base at which an episode ends: 60 degrees


@dataclass(frozen=True, eq=False)
class Task:
    """A robot on the ground, and what it is rewarded for.

    An action of 1 moves the goal of a servo from the stance by `reach`. The reward of a step is 1,
    less `effort` times the mean square of the actions, plus the speed forward up to `speed` as a
    share of it, if that is above 0. An episode ends when the base is lower than `lowest` or tilted
    by more than 60 degrees.

    Args:
        robot: with contacts, and a position servo for each action.
        stance: position of the start, shape (nq,), rad or m.
        reach: change of the goal of each servo by an action of 1, shape (u,), rad or m.
        lowest: height of the base at which an episode ends, m.
        speed: speed forward that is rewarded in full, m/s; 0: standing.
        effort: weight of the actions in the reward, dimensionless.
        spread: size of the random part of positions and rates of joints at the start, rad and
            rad/s.
        push: size of the random horizontal velocity of the base at the start, m/s.
        area: side of the square of random places at the start, m.
        dt: length of a step of the robot, s.
        substeps: steps of the robot in a step of the environment.
        seconds: length of an episode, s.
    """

    robot: Robot
    stance: Array
    reach: Array
    lowest: float
    speed: float = 0.0
    effort: float = 0.05
    spread: float = 0.05
    push: float = 0.0
    area: float = 0.0
    dt: float = 0.002
    substeps: int = 10
    seconds: float = 10.0

    @property
    def servos(self) -> list[int]:
        """Entries of q that servos move, in the order of the actions."""
        names = self.robot.coordinate_names
        return [names.index(x) for x in self.robot.model.actuator_names]

    @property
    def on_plane(self) -> bool:
        """True if the base moves in a vertical plane, by joints x, z and pitch."""
        return self.robot.joint_names[:3] == ("x", "z", "pitch")

    def starts(self, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Random states, (count, nq) and (count, n).

        Args:
            count: number of states.
            rng: generator that draws them.
        """
        robot, servos = self.robot, self.servos
        q = np.tile(self.stance, (count, 1))
        q[:, servos] += self.spread * rng.normal(size=(count, len(servos)))
        if self.area:
            place = [robot.coordinate_names.index(f"base.{axis}") for axis in "xy"]
            q[:, place] += self.area * (rng.random((count, 2)) - 0.5)
        dq = self.spread * rng.normal(size=(count, robot.n))
        forward = [robot.dof_names.index(x) for x in PUSHED if x in robot.dof_names]
        dq[:, forward] += self.push * rng.normal(size=(count, len(forward)))
        return q, dq


def monoped_task() -> Task:
    """A hopping monoped in a vertical plane, which is to move forward."""
    robot = monoped()
    stance = _stance(robot, {"hip": 0.5, "knee": -1.0})
    return Task(robot, stance, np.array([0.8, 1.0]), lowest=0.25, speed=1.5, effort=0.02)


def quadruped_task() -> Task:
    """A quadruped on rough ground, which is to move forward."""
    feet = [ContactPoint(leg, f"{leg}_foot") for leg in LEGS]
    heights = ROUGHNESS * np.random.default_rng(0).random((17, 17))
    ground = HeightField(heights, 0.3, (-2.4, -2.4, 0))
    robot = quadruped().with_contacts(feet, ground, friction=0.8)
    joints = {f"{leg}_{joint}": x for leg in LEGS for joint, x in CROUCH.items()}
    robot = with_servos(robot, dict.fromkeys(joints, (40.0, 1.0, 20.0)))
    reach = np.tile([0.3, 0.5, 0.5], 4)
    stance = _stance(robot, joints, ROUGHNESS)
    return Task(robot, stance, reach, lowest=0.15, speed=0.8, area=1.0)


def humanoid_task() -> Task:
    """A humanoid with stiff arms and neck, which is to stand."""
    whole = humanoid()
    moving = ("base", "waist", "hip", "knee", "ankle")
    stiff = [x for x in whole.joint_names if not x.split("_", 1)[-1].startswith(moving)]
    robot = whole.lock(dict.fromkeys([x for x in stiff if not x.startswith(moving)], 0.0))
    corners = {"heel": HEEL, "toe": HEEL + 0.24}
    feet = [
        ContactPoint(f"{side}_{end}_{inner}", f"{side}_foot", (x, 0.04 * y, SOLE))
        for side in SIDES
        for end, x in corners.items()
        for inner, y in (("left", 1), ("right", -1))
    ]
    robot = robot.with_contacts(feet, Plane(), friction=0.9)
    joints = {f"{side}_{joint}": x for side in SIDES for joint, x in BENT.items()}
    gains = {x: (600.0, 30.0, 250.0) for x in robot.joint_names[1:]}
    robot = with_servos(robot, gains)
    reach = np.full(len(gains), 0.3)
    return Task(robot, _stance(robot, joints), reach, lowest=0.6, push=0.3)


CROUCH = {"abduction": 0.0, "swing": 0.7, "knee": -1.4}
BENT = {"hip_swing": -0.3, "knee": 0.6, "ankle_swing": -0.3}


def monoped() -> Robot:
    """A monoped of 6 kg with hip and knee in a vertical plane; our own design.

    A trunk above a leg of two links of 0.25 m each with a spherical foot of 25 mm radius. Joints
    x, z and pitch have no motors.
    """
    builder = Builder("monoped").link("world").link("rail").link("lift")
    builder.link("trunk", 4.0, (0, 0, 0.05), box(4.0, 0.2, 0.16, 0.24))
    builder.link("thigh", 1.4, (0, 0, -0.1), box(1.4, 0.06, 0.06, 0.25))
    builder.link("shank", 0.6, (0, 0, -0.12), box(0.6, 0.04, 0.04, 0.25))
    builder.joint("x", "prismatic", "world", "rail", axis=(1, 0, 0))
    builder.joint("z", "prismatic", "rail", "lift", axis=(0, 0, 1))
    builder.joint("pitch", "revolute", "lift", "trunk", axis=(0, 1, 0))
    for name, parent, child, z, low, high in (
        ("hip", "trunk", "thigh", -0.07, -1.5, 2.0),
        ("knee", "thigh", "shank", -0.25, -2.5, 0.0),
    ):
        builder.joint(
            name, "revolute", parent, child, at=(0, 0, z), axis=(0, 1, 0),
            limits=Limits(low, high, 60, 20), armature=0.01,
        )  # fmt: skip
    builder.frame("foot", "shank", (0, 0, -0.25), tool=True)
    robot = builder.build().with_contacts([ContactPoint("foot", "foot", radius=0.025)])
    return with_servos(robot, {"hip": (150.0, 4.0, 60.0), "knee": (150.0, 4.0, 60.0)})


def with_servos(robot: Robot, gains: Mapping[str, Sequence[float]]) -> Robot:
    """The robot with a position servo at each joint: kp, kd and the largest force."""
    return robot.with_actuators(
        {
            joint: Actuator.position(joint, kp, kd, force_range=(-most, most))
            for joint, (kp, kd, most) in gains.items()
        }
    )


def _stance(robot: Robot, angles: Mapping[str, float], ground: float = 0.0) -> Array:
    """A position with some joint angles, its lowest contact DROP above ground of some height."""
    q, names = robot.neutral(), robot.coordinate_names
    for name, angle in angles.items():
        q[names.index(name)] = angle
    level = robot.model.replace(
        contacts=replace(contacts_of_model(robot.model, "a task"), ground=Plane())
    )
    gaps = [float(x.gap) for x in touches(book_tree(level, q), book_places(level))]
    q[names.index("z" if "z" in names else "base.z")] += ground + DROP - min(gaps)
    return q


TASKS: Mapping[str, Any] = {
    "humanoid": humanoid_task,
    "monoped": monoped_task,
    "quadruped": quadruped_task,
}
