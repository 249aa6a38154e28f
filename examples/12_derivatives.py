"""Derivatives of the dynamics, a linear system from them, and identifiable parameters."""

import numpy as np

import kinetree as kt
from kinetree.scalars import sqrt

np.set_printoptions(suppress=True)
robot = kt.robots.puma_560()
rng = np.random.default_rng(0)
q, dq, ddq = rng.uniform(-1, 1, (3, 6))

# d tau/d q and d tau/d dq, by a recursion over composite bodies; d tau/d ddq is M.
dtau_dq, dtau_ddq = robot.inverse_dynamics_derivatives(q, dq, ddq)
step = 1e-6 * np.eye(6)[1]
difference = (
    robot.inverse_dynamics(q + step, dq, ddq) - robot.inverse_dynamics(q - step, dq, ddq)
) / 2e-6
print("d tau/d q2      :", dtau_dq[:, 1].round(4))
print("by differences  :", difference.round(4))

# Any quantity can be differentiated through its graph: the Hessian of the potential energy.
H = kt.kernels.derivative(robot.potential_energy, kind="hessian")(q)
print(
    "d g/d q is symmetric:",
    np.allclose(H, H.T),
    "and equals H:",
    np.allclose(H, robot.derivative("gravity_forces")(q)),
)

# So can functions of your own, as long as they can be traced.
distance = kt.kernels.derivative(lambda a, b: sqrt((a - b) @ (a - b)), "a", shapes={"a": 3, "b": 3})
print("d |a - b|/d a:", distance([1.0, 2.0, 2.0], [0.0, 0.0, 0.0]).round(4))

# A linear system about the upright double pendulum, sampled every 10 ms.
pendulum = kt.robots.double_pendulum()
up = [np.pi, 0.0]
system = pendulum.linearize(up, [0.0, 0.0], pendulum.gravity_forces(up))
print("rates of growth, 1/s:", np.sort(np.linalg.eigvals(system.A).real).round(3))
print(
    "one step of 10 ms grows by", np.abs(np.linalg.eigvals(system.discrete(0.01).A)).max().round(4)
)

# Derivatives of a motion with respect to its initial state, forces and masses.
swing = kt.simulate.sensitivities(
    pendulum, [1.0, 0.0], duration=1.0, dt=0.005, wrt=("q0", "tau", "mass")
)
print("d q(1 s)/d q0:", swing.by("q0")[-1, :2].round(4).tolist())
energy, slopes = swing.cost(final=lambda q, dq: dq @ dq)
print("d |dq|^2/d tau:", slopes["tau"].round(4), "and by the masses:", slopes["mass"].round(4))

# tau is linear in masses, moments, inertias, friction and armature: tau = Y pi.
Y, pi = robot.regressor(q, dq, ddq), robot.parameters
print(
    "Y",
    Y.shape,
    "and Y pi - tau:",
    np.abs(Y @ pi - robot.inverse_dynamics(q, dq, ddq)).max() < 1e-12,
)

# Which combinations of the links' parameters can be identified from joint forces?
base = kt.identify.base_parameters(robot, groups=["link"])
print(base.count, "of", len(base.parameters), "parameters; the first of them:")
for formula in base.formulas(digits=4)[:3]:
    print("   ", formula)
