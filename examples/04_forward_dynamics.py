"""Let a double pendulum swing: accelerations from forces, in steps of a millisecond."""

import numpy as np

import kinetree as kt

robot = kt.robots.double_pendulum()
q, dq, no_force = np.array([2.0, 0.5]), np.zeros(2), np.zeros(2)
dt, steps = 1e-3, 2000


def energy(q, dq):
    """What no force can change."""
    return robot.kinetic_energy(q, dq) + robot.potential_energy(q)


def rate(q, dq):
    """Derivatives of q and dq."""
    return dq, robot.forward_dynamics(q, dq, no_force)


start = energy(q, dq)
for _ in range(steps):  # the classic method of Runge and Kutta
    k1 = rate(q, dq)
    k2 = rate(q + dt / 2 * k1[0], dq + dt / 2 * k1[1])
    k3 = rate(q + dt / 2 * k2[0], dq + dt / 2 * k2[1])
    k4 = rate(q + dt * k3[0], dq + dt * k3[1])
    q = q + dt / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
    dq = dq + dt / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])

print(f"after {dt * steps:g} s the angles are", q.round(4), "rad")
print(f"energy changed by {abs(energy(q, dq) - start):.0e} J of {abs(start):.1f} J")
