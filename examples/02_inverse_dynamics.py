"""Joint forces of a motion: for one state, for ten thousand, and with a load at the tool."""

import numpy as np

import kinetree as kt

robot = kt.robots.puma_560()
rng = np.random.default_rng(0)

# One state: tau = M ddq + c + g + friction.
q, dq, ddq = rng.uniform(-1, 1, (3, 6))
tau = robot.inverse_dynamics(q, dq, ddq)
print("tau of one state:", tau.round(3))

# The same from its parts.
M, c, g = robot.mass_matrix(q), robot.coriolis_forces(q, dq), robot.gravity_forces(q)
b = robot.friction_forces(dq)
print("sum of its parts:", (M @ ddq + c + g + b).round(3))

# Leading axes are states: ten thousand of them in one call.
states = rng.uniform(-1, 1, (3, 10_000, 6))
print("shape for many states:", robot.inverse_dynamics(*states).shape)

# A wrench (moment, force) from the world onto each link, in the link's frame.
F_ext = np.zeros((6, 6))
F_ext[-1, 3:] = 0, 0, 10  # 10 N along z of the last link
print("what 10 N change:", (robot.inverse_dynamics(q, dq, ddq, F_ext) - tau).round(3))
