"""Robot data as arguments: a thousand robots of different masses in one call, and the kernel."""

import numpy as np

import kinetree as kt
from kinetree.engine.kernels.free import free_values

robot = kt.robots.puma_560()
rng = np.random.default_rng(0)

# Masses and gravity become arguments instead of constants in the code.
kernel = robot.compile("inverse_dynamics", free=["mass", "gravity"])
print(kernel)

# If the masses are known to a tenth, how large is the error of the forces at rest?
q, rest = np.array([0.1, 0.5, -0.5, 0.2, 0.3, 0.0]), np.zeros(6)
nominal = free_values(robot.model, "mass")
masses = nominal * rng.uniform(0.9, 1.1, (1000, 6))
tau = kernel(q, rest, rest, masses, [0, 0, -9.81])
print("forces at rest:", robot.gravity_forces(q).round(2) + 0)
print("their spread:  ", tau.std(axis=0).round(2))

# The same robots on the moon: leading axes broadcast, here planets by robots.
planets = np.array([[0, 0, -9.81], [0, 0, -1.62]])[:, None, :]
print("planets, robots, joints:", kernel(q, rest, rest, masses, planets).shape)

# The compiled code.
fixed = robot.inverse_dynamics
print(f"{fixed.operations} operations with constant data, {kernel.operations} with free data")
