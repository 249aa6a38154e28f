"""Typed user code that pyright must accept. It is checked, not run; see test_user_code.py."""

import numpy as np
import numpy.typing as npt

import kinetree as kt
from kinetree.friction import Friction
from kinetree.model import Model
from kinetree.scalars import sin

Vector = npt.NDArray[np.float64]

robot = kt.robots.panda()
q: Vector = np.zeros(7)
dq = [0.1] * 7
tau: Vector = robot.inverse_dynamics(q, dq, (0,) * 7)
batch: Vector = robot.inverse_dynamics(np.zeros((1000, 7)), dq, dq, out=np.empty((1000, 7)))
ddq = robot.forward_dynamics(q, dq, tau, robot.wrenches({"panda_hand": [0, 0, 0, 0, 0, -9.81]}))
q_next, dq_next = robot.step(q, dq, tau, 0.001, method="implicit", kd=[1.0] * 7)
faster: Vector = dq_next + robot.step(np.zeros((10, 7)), dq, tau, np.full(10, 0.01))[1]
moved, faster_still = robot.step(q, dq, dt=0.001, controls=[0.0] * 7)
M, C, g = robot.mass_matrix(q), robot.coriolis_matrix(q, dq), robot.gravity_forces(q)
residual: float = float(np.abs(M @ ddq + C @ dq + g - tau).max())
dtau_dq, dtau_dv = robot.inverse_dynamics_derivatives(q, dq, ddq)
stiffness: Vector = dtau_dq + dtau_dq.T
system = robot.linearize(q, dq, tau, dt=0.001)
poles: Vector = np.abs(np.linalg.eigvals(system.A))
kernel = robot.compile("inverse_dynamics", free=["mass"])
count: int = kernel.operations
T: Vector = robot.pose(q, "panda_hand")
goal = robot.inverse_kinematics(T, q, tolerance=1e-8, seed=3).q


def law(t: float, q: Vector, dq: Vector) -> Vector:
    """Joint forces of a spring and a damper."""
    return -20 * q - 2 * dq + np.array([sin(t)] * 7)


motion = robot.simulate(q, duration=0.5, controller=law, method="rk4", dt=1e-3)
fallen = robot.simulate([0.0] * 7, duration=0.5, events=[lambda t, q, dq: q[1] - 1.0])
last: Vector = motion.q[-1]
verdict = kt.motion.check_limits(robot, motion, tolerance=1e-3)
slopes = kt.simulate.sensitivities(robot, q, duration=0.1, wrt=["q0", "mass"])
softer = robot.with_payload(1.5, (0, 0, 0.1)).with_friction({"panda_joint1": Friction(0.3)})
arm = kt.convert.from_dh(
    [[0, 0.4, 0, 0]], m=[1.0], com=[[0.1, 0, 0]], I_com=[np.eye(3) * 0.01], name="one link"
)
text: str = kt.convert.to_urdf(robot, losses="allow") + kt.convert.to_mjcf(softer)
parts: str = str(arm.explain([0.3], [0], [1]))

# help for editors: names, robots that are built, kernels as attributes of the class
names: tuple[str, ...] = robot.joint_names
rates: tuple[str, ...] = robot.dof_names + robot.coordinate_names
length: int = robot.nq
pendulum: kt.Robot = (
    kt.Builder("pendulum")
    .link("base")
    .link("rod", 1.0, (0, 0, -0.5))
    .joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0))
    .build()
)
model: Model = kt.Builder("post").link("base", 1.0).build_model(unphysical="warn")
swing = pendulum.simulate([0.1], duration=0.1)
by_joint: dict[str, float] = pendulum.gravity_forces({"pivot": 0.1})
again: kt.Robot = robot.with_gravity((0, 0, -1.62)).lock({"panda_joint7": 0.0})
document: str | None = kt.Robot.mass_matrix.__doc__
