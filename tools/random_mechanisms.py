"""Random mechanisms whose motors alone are measured: closed loops and joints that follow others.

`random_mechanism(rng, family)` draws lengths, bodies, friction and armature of one of FAMILIES and
a motion of its motors about the position in which it is assembled. Friction of joints without
motors is small. Forces are those of kinetree's inverse dynamics with constraints.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from random_machines import PERIOD, Motion, random_body, random_machine, random_motion, rotation

import kinetree as kt
from kinetree.constraints import Couple, Loop
from kinetree.core.arrays import Array
from kinetree.identify import Unknowns, unknowns
from kinetree.identify.loops import closed_motion, followed

DOWN_Y = (0, -9.81, 0)  # gravity of mechanisms whose loops lie in the plane of x and y
Z = np.array([0.0, 0, 1])


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A mechanism. true: with friction and armature. bare: without. reach: of motors, rad or m."""

    true: kt.Robot
    bare: kt.Robot
    reach: float

    @property
    def motors(self) -> list[int]:
        """Degrees of freedom with a motor."""
        constraints = self.true.model.constraints
        assert constraints is not None
        return list(constraints.actuated)

    @property
    def n(self) -> int:
        """Number of motors."""
        return len(self.motors)

    @property
    def slides(self) -> list[bool]:
        """Which motors are prismatic."""
        types = {x.dofs[0]: x.type for x in self.true.model.joints}
        return [types[k] == "prismatic" for k in self.motors]

    def robot(self, masses: Array | float = 1.0, drives: bool = True) -> kt.Robot:
        """The robot with masses and inertias times `masses`, which are repeated link by link."""
        robot = self.true if drives else self.bare
        return robot if np.isscalar(masses) else with_masses(robot, np.asarray(masses))

    def closed(self, t: Array, motion: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """q, dq and ddq of all joints, from those of the motors, (T, k)."""
        dq, ddq = np.zeros((2, len(t), self.true.n))
        dq[:, self.motors], ddq[:, self.motors] = motion[1:]
        return closed_motion(self.true, t, followed(self.true, t, motion[0]), motion[0], dq, ddq)

    def forces(self, t: Array, motion: tuple[Array, Array, Array]) -> Array:
        """Forces of the motors, (T, k), of a motion of the motors."""
        return self.true.inverse_dynamics(*self.closed(t, motion))[:, self.motors]


def with_masses(robot: kt.Robot, factors: Array) -> kt.Robot:
    """The robot with masses and inertias of its links times factors, which are repeated."""
    sought = unknowns(robot, "known", False)
    x, links = sought.values(robot.model), len(robot.model.links)
    x[: 10 * links] *= np.resize(factors, links).repeat(10)
    return kt.Robot(sought.model(x))


def random_mechanism(rng: np.random.Generator, family: str) -> tuple[Mechanism, Motion]:
    """A mechanism of a family, and a motion of its motors by which drives are sized."""
    build, reach = FAMILIES[family]
    bare = build(rng)
    machine = Mechanism(bare, bare, reach)
    motion = motor_motion(rng, machine)
    t = np.arange(0, PERIOD, 0.02)
    q, dq, ddq = machine.closed(t, motion.at(t))
    tau = bare.inverse_dynamics(q, dq, ddq)
    speed, acceleration = (np.sqrt((x**2).mean(axis=0)) for x in (dq, ddq))
    power = np.sqrt(((tau * dq).sum(axis=1) ** 2).mean())
    sought = unknowns(bare, "symmetric")
    x = sought.values(bare.model)
    for k, name in enumerate(sought.names):
        kind, _, joint = name.rstrip("]").partition("[")
        if kind in ("viscous", "coulomb", "armature"):
            dof = bare.model.joint(joint).dofs[0]
            force = np.sqrt((tau[:, dof] ** 2).mean()) or 0.1 * power / speed[dof]
            unit = {"viscous": speed[dof], "coulomb": 1.0, "armature": acceleration[dof]}[kind]
            x[k] = rng.uniform(0.05, 0.3) * force / unit
    return replace(machine, true=kt.Robot(sought.model(x))), motion


def motor_motion(rng: np.random.Generator, machine: Mechanism) -> Motion:
    """A Fourier series of the motors about the neutral position, within their reach."""
    drawn = random_motion(rng, np.array(machine.slides))
    t = np.arange(0, PERIOD, 0.02)
    peak = np.abs(drawn.at(t)[0] - drawn.middle).max(axis=0)
    scale = np.minimum(1, machine.reach / peak)
    middle = machine.bare.neutral()[machine.motors]
    return replace(drawn, middle=middle, cosines=scale * drawn.cosines, sines=scale * drawn.sines)


def rank(sought: Unknowns, machine: Mechanism, small: float = 1e-8) -> int:
    """Number of independent columns of the regressor over many states with random rates."""
    rng, robot = np.random.default_rng(0), machine.bare
    t = np.arange(0, PERIOD, 0.02)
    q = machine.closed(t, motor_motion(rng, machine).at(t))[0]
    J = np.asarray(kt.constraints.jacobian(robot, q))
    S = np.linalg.svd(J)[2][:, robot.n - machine.n :]  # rates that the constraints allow
    dq, free = np.einsum("ztk,tkn->ztn", 5 * rng.normal(size=(2, len(t), machine.n)), S)
    bias = np.asarray(kt.constraints.bias(robot, q, dq))
    ddq = free - np.einsum("tnm,tm->tn", np.linalg.pinv(J, 1e-9), bias)
    W = sought.regressor(q, dq, ddq)
    W = (W * sought.scale / sought.natural.forces[:, None]).reshape(-1, len(sought.names))
    length = np.linalg.norm(W, axis=0)
    W = W[:, length > small * length.max()]
    s = np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)
    return int((s > small * s[0]).sum())


def delta(rng: np.random.Generator) -> kt.Robot:
    """Three arms with a motor each that move a level plate by rods."""
    arm, rod, hip, ball = near_to(rng, 0.2, 0.5, 0.1, 0.05)
    builder, loops = kt.Builder("delta").link("base"), {}
    for k in (1, 2, 3):
        turn = rotation(Z, np.array([(k - 1) * 2 * np.pi / 3]))[0]
        root = np.eye(4)
        root[:3, :3], root[:3, 3] = turn, turn @ [hip, 0, 0]
        add_link(builder, rng, f"arm{k}", 0.5, arm)
        builder.link(f"knee{k}")
        add_link(builder, rng, f"rod{k}", 0.2, rod)
        builder.joint(f"arm{k}", "revolute", "base", f"arm{k}", at=root, axis=(0, 1, 0))
        builder.joint(f"tilt{k}", "revolute", f"arm{k}", f"knee{k}", at=(arm, 0, 0), axis=(0, 1, 0))
        builder.joint(f"swing{k}", "revolute", f"knee{k}", f"rod{k}")
        builder.frame(f"end{k}", f"rod{k}", (rod, 0, 0))
        builder.frame(f"ball{k}", "plate", turn @ [ball, 0, 0])
        loops[f"loop{k}"] = Loop(f"ball{k}", f"end{k}", "point")
    builder.link("rail_x").link("rail_y")
    add_link(builder, rng, "plate", 1, 0)
    for name, before, after, axis in (
        ("x", "base", "rail_x", (1, 0, 0)),
        ("y", "rail_x", "rail_y", (0, 1, 0)),
        ("z", "rail_y", "plate", (0, 0, 1)),
    ):
        builder.joint(name, "prismatic", before, after, axis=axis)
    near = (*(np.pi / 4, 1.18, 0) * 3, 0, 0, -arm - 0.8 * rod)
    motors = ["arm1", "arm2", "arm3"]
    return builder.build().constrained(loops, actuated=motors, near=near)


def gripper(rng: np.random.Generator) -> kt.Robot:
    """Two fingers, one of them coupled to the other, on a wrist that turns."""
    palm, gap, ratio = near_to(rng, 0.1, 0.04, 1.0)
    builder = kt.Builder("gripper", gravity=DOWN_Y).link("base")
    add_link(builder, rng, "palm", 0.8, palm)
    builder.joint("wrist", "revolute", "base", "palm")
    for side, y in (("left", gap), ("right", -gap)):
        add_link(builder, rng, f"{side}_finger", 0.15, 0.1)
        builder.joint(side, "revolute", "palm", f"{side}_finger", at=(palm, y, 0))
    mimic = Couple("right", {"left": -ratio})
    return builder.build().constrained({"mimic": mimic}, actuated=["wrist", "left"])


def excavator(rng: np.random.Generator) -> kt.Robot:
    """A boom and a stick, each moved by a cylinder: prismatic joints with motors, in two loops."""
    length, foot, eye, back, pivot = near_to(rng, 2.0, 0.6, 1.2, 0.3, 0.7)
    builder = kt.Builder("excavator", gravity=DOWN_Y).link("base")
    add_link(builder, rng, "boom", 40, length)
    add_link(builder, rng, "stick", 20, 1.2)
    builder.joint("boom", "revolute", "base", "boom")
    builder.joint("stick", "revolute", "boom", "stick", at=(length, 0, 0))
    places = {"lift": ("base", (0.5, -foot, 0)), "crowd": ("boom", (pivot, 0.35, 0))}
    for name, (carrier, at) in places.items():
        add_link(builder, rng, f"{name}_barrel", 6, 0.9)
        add_link(builder, rng, f"{name}_rod", 4, -0.4)
        builder.joint(f"{name}_pivot", "revolute", carrier, f"{name}_barrel", at=at)
        builder.joint(name, "prismatic", f"{name}_barrel", f"{name}_rod", at=(0.9, 0, 0),
                      axis=(1, 0, 0))  # fmt: skip
        builder.frame(f"{name}_pin", f"{name}_rod")
    builder.frame("lift_eye", "boom", (eye, -0.1, 0)).frame("crowd_eye", "stick", (-back, 0.05, 0))
    loops = {name: Loop(f"{name}_eye", f"{name}_pin", "axis") for name in places}
    robot = builder.build()
    start = {"boom": 0.5, "stick": -1.6, "lift_pivot": 1.07, "lift": 0.34, "crowd": 0.46}
    near = [start.get(name, 0.0) for name in robot.joint_names]
    return robot.constrained(loops, actuated=list(places), near=near)


def parallelogram(rng: np.random.Generator) -> kt.Robot:
    """A palletiser: a crank beside the lower arm moves the upper arm by a parallel rod."""
    arm, crank, reach = near_to(rng, 0.5, 0.15, 0.6)
    builder = kt.Builder("palletiser", gravity=DOWN_Y).link("base")
    for name, m, length in (
        ("turret", 10, 0.1), ("lower", 6, arm), ("crank", 1, crank), ("rod", 1.5, arm),
        ("upper", 4, reach),
    ):  # fmt: skip
        add_link(builder, rng, name, m, length)
    builder.joint("turn", "revolute", "base", "turret", axis=(0, 1, 0))
    builder.joint("lower", "revolute", "turret", "lower", at=(0.1, 0, 0))
    builder.joint("crank", "revolute", "turret", "crank", at=(0.1, 0, 0))
    builder.joint("rod", "revolute", "crank", "rod", at=(crank, 0, 0))
    builder.joint("upper", "revolute", "lower", "upper", at=(arm, 0, 0))
    builder.frame("end", "rod", (arm, 0, 0)).frame("rear", "upper", (-crank, 0, 0))
    robot = builder.build()
    start = {"turn": 0, "lower": 1.3, "crank": 2.84, "rod": -1.54, "upper": -1.6}
    return robot.constrained(
        {"loop": Loop("rear", "end", "axis")}, actuated=["turn", "lower", "crank"],
        near=[start[name] for name in robot.joint_names],
    )  # fmt: skip


def mimic(rng: np.random.Generator) -> kt.Robot:
    """A random robot whose last joint follows the one before."""
    robot = random_machine(rng)[0].robot(drives=False)
    *motors, before, last = robot.joint_names
    follows = Couple(last, {before: rng.uniform(0.4, 1.5) * rng.choice([-1, 1])})
    return robot.constrained({"mimic": follows}, actuated=[*motors, before])


FAMILIES: dict[str, tuple[Callable[[np.random.Generator], kt.Robot], float]] = {
    # builders, and the reach of the motors, rad or m, away from dead centres
    "delta": (delta, 0.4),
    "gripper": (gripper, 0.8),
    "excavator": (excavator, 0.15),
    "parallelogram": (parallelogram, 0.5),
    "mimic": (mimic, 1.0),
}


def near_to(rng: np.random.Generator, *values: float) -> list[float]:
    """Values that are random within 15 %."""
    return [x * rng.uniform(0.85, 1.15) for x in values]


def add_link(
    builder: kt.Builder, rng: np.random.Generator, name: str, m: float, length: float
) -> None:
    """Add a random body of about m kg along x."""
    x = random_body(rng, m * rng.uniform(0.7, 1.4), np.array([length, 0, 0]))
    builder.link(name, x.m, x.com, x.I_com)
