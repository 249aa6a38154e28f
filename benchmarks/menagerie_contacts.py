"""Robots of MuJoCo Menagerie on the ground: they stand under their servos, fall and come to rest.

    python -m benchmarks.menagerie_contacts FOLDER [ROBOT ...] [--falls 200]

FOLDER is a copy of Menagerie. Each robot begins in its keyframe, with its feet as contacts and the
corners of a box on its trunk, and is held by the servos of its file, or by ones of this script
where the file has motors only. Contacts of points with ground; no meshes, no pairs of links.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

import kinetree as kt
from kinetree.contacts import ContactPoint
from kinetree.dynamics.joints.friction import frictionless

TRUNK = 0.08  # m, half of the edge of the box on the trunk


@dataclass(frozen=True)
class Case:
    """A robot: its file, links or shapes of its feet, the link of its trunk, time step in s.

    gain: kp in N m/rad of servos of this script, kd = kp / 20; 0: those of the file.
    """

    file: str
    feet: tuple[str, ...]
    trunk: str
    dt: float = 0.002
    gain: float = 0.0
    key: str = "home"


CASES = {
    "go1": Case("unitree_go1/scene.xml", ("FR", "FL", "RR", "RL"), "trunk"),
    "go2": Case("unitree_go2/scene.xml", ("FR", "FL", "RR", "RL"), "base", gain=100.0),
    "anymal": Case(
        "anybotics_anymal_c/scene.xml",
        ("LF_SHANK 4", "RF_SHANK 4", "LH_SHANK 4", "RH_SHANK 4"),
        "base",
        key="standing",
    ),
    "spot": Case("boston_dynamics_spot/scene.xml", ("FL", "FR", "HL", "HR"), "body"),
    "g1": Case(
        "unitree_g1/scene.xml", ("left_ankle_roll_link", "right_ankle_roll_link"), "pelvis",
        key="stand",
    ),
    "h1": Case(
        "unitree_h1/scene.xml", ("left_ankle_link", "right_ankle_link"), "pelvis", gain=200.0
    ),
    "cassie": Case(
        "agility_cassie/scene.xml", ("left-foot", "right-foot"), "cassie-pelvis", 0.0005, 200.0
    ),
    "talos": Case(
        "pal_talos/scene_position.xml", ("leg_left_6_link", "leg_right_6_link"), "base_link",
        key="walk_pose",
    ),
}  # fmt: skip


def loaded(folder: Path, case: Case) -> tuple[kt.Robot, np.ndarray, np.ndarray]:
    """The robot with contacts, its position in the keyframe, and the controls of its servos."""
    path = folder / case.file
    robot: Any = kt.load(path)
    if robot.model.constraints is not None:  # dry friction in loops is not determined
        robot = kt.Robot(frictionless(robot.model))
    trunk = case.trunk if case.trunk in robot.model.frames else robot.model.link_names[0]
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    box = [
        ContactPoint(f"trunk {k}", trunk, tuple(TRUNK * np.array(c))) for k, c in enumerate(corners)
    ]
    robot = robot.with_contacts([*case.feet, *box], kt.contacts.Plane())
    q, qpos = np.array(robot.neutral()), keyframe(path.parent, case.key)
    for joint in robot.model.joints:  # in the order of the file, as qpos
        own, qpos = qpos[: len(joint.coords)], qpos[len(joint.coords) :]
        if joint.type == "free":  # a quaternion of zeros is none for MuJoCo
            own = [*(own[3:] if any(own[3:]) else [1, 0, 0, 0]), *own[:3]]
        if len(own) == 4:
            own = list(np.divide(own, np.linalg.norm(own)))
        q[list(joint.coords)] = own
    if case.gain:
        joints = {x.coords[0]: x.name for x in robot.model.joints}
        moved = [joints[x.coords[0]] for x in robot.model.actuators]
        robot = robot.with_actuators(
            {x: kt.joints.Actuator.position(x, case.gain, case.gain / 20) for x in moved}
        )
    u = np.array([q[x.coords[0]] for x in robot.model.actuators])
    if robot.model.constraints is not None:
        q = kt.constraints.project(robot, q)
    return robot, kt.contacts.on_ground(robot, q), u


def keyframe(folder: Path, name: str) -> list[float]:
    """Numbers qpos of a keyframe, from the files of a folder, those for MJX last."""
    for path in sorted(folder.glob("*.xml"), key=lambda x: ("mjx" in x.stem, x)):
        for key in ElementTree.parse(path).iter("key"):
            if key.get("name") == name and key.get("qpos"):
                return [float(x) for x in key.get("qpos", "").split()]
    raise ValueError(f"{folder} has no keyframe {name!r}")


def energy(robot: kt.Robot, motion: Any) -> np.ndarray:
    """Kinetic and potential energy, J."""
    return np.asarray(robot.kinetic_energy(motion.q, motion.dq)) + np.asarray(
        robot.potential_energy(motion.q)
    )


def stands(robot: kt.Robot, q: np.ndarray, u: np.ndarray, dt: float) -> str:
    """10 s under the servos: height of the base at the end, slip of the feet, penetration."""
    motion = robot.simulate(
        q, duration=10.0, dt=dt, method="implicitfast", limits="ignore", controls=u, every=5
    )
    points = np.stack([np.asarray(x) for x in motion.meta["contact_points"].values()])[:, :, :2]
    feet = len(points) - 8
    late = np.linalg.norm(points[:feet, -1] - points[:feet, len(motion.t) // 10], axis=1).max()
    height = motion.q[[0, -1], 6]
    deepest = -min(float(np.min(x)) for x in motion.meta["contact_gaps"].values())
    return (
        f"base {height[0]:.3f} to {height[1]:.3f} m, feet move {1e3 * late:.2f} mm after 1 s, "
        f"deepest {1e3 * deepest:.3f} mm"
    )


def falls(robot: kt.Robot, q: np.ndarray, u: np.ndarray, dt: float, count: int) -> str:
    """Falls from random states: not numbers, penetration, energy gained, energy left, residual."""
    rng = np.random.default_rng(0)
    starts = np.tile(q, (count, 1))
    starts[:, :4] += 0.5 * rng.normal(size=(count, 4))
    starts[:, :4] /= np.linalg.norm(starts[:, :4], axis=1, keepdims=True)
    starts = np.array([kt.contacts.on_ground(robot, x, 0.05) for x in starts])
    dq = 0.5 * rng.normal(size=(count, robot.n))
    if robot.model.constraints is not None:
        starts = np.array(
            [kt.contacts.on_ground(robot, kt.constraints.project(robot, x), 0.05) for x in starts]
        )
        dq = np.array(
            [kt.constraints.project_rates(robot, *x) for x in zip(starts, dq, strict=True)]
        )
    motion = robot.simulate(
        starts, dq, duration=2.0, dt=dt, method="implicitfast", limits="ignore", controls=u
    )
    E = energy(robot, motion)
    ranges = {x.coords[0]: x.actuation[1] for x in robot.model.joints}
    for servo, goal in zip(robot.model.actuators, u, strict=True):
        stiff, most = servo.gain[0], min(servo.force_range[1], ranges[servo.coords[0]])
        off = np.abs(motion.q[..., servo.coords[0]] - goal)
        spring = np.minimum(off, most / stiff)  # the force is clamped beyond
        E = E + stiff * spring**2 / 2 + np.where(off > spring, (off - spring) * stiff * spring, 0)
    growth = (E - np.minimum.accumulate(E, axis=0)).max(axis=0)
    deepest = -min(float(np.min(x)) for x in motion.meta["contact_gaps"].values())
    residual = np.asarray(motion.meta["contact_residual"])
    left = np.asarray(robot.kinetic_energy(motion.q[-1], motion.dq[-1]))
    return (
        f"{count} falls: not a number {int(np.isnan(motion.q).any(axis=(0, 2)).sum())}, deepest "
        f"{1e3 * deepest:.2f} mm, energy grows {np.median(growth):.2g} J (median), "
        f"{growth.max():.2g} J (most) of {np.median(np.ptp(E, axis=0)):.3g} J, kinetic energy left "
        f"{np.median(left):.2g} J, fastest joint {np.abs(motion.dq).max():.0f} rad/s, residual "
        f"above 1e-8 {(residual > 1e-8).mean():.1e}, above 1e-4 {(residual > 1e-4).mean():.1e}"
    )


def main() -> None:
    """Print a paragraph for every robot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("robots", nargs="*", default=list(CASES), metavar="ROBOT")
    parser.add_argument("--falls", type=int, default=200)
    given = parser.parse_args()
    for name in given.robots:
        case, begin = CASES[name], time.process_time()
        try:
            robot, q, u = loaded(given.folder, case)
            print(f"{name}: {stands(robot, q, u, case.dt)}", flush=True)
            print(f"{name}: {falls(robot, q, u, case.dt, given.falls)}", flush=True)
        except kt.errors.KinetreeError as problem:
            print(f"{name}: {type(problem).__name__}: {problem}", flush=True)
        print(f"{name}: {time.process_time() - begin:.0f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
