"""Simulate robots: a pendulum that keeps its energy, a thousand arms, controllers in the loop."""

import numpy as np

import kinetree as kt
from kinetree import controllers
from kinetree.scalars import clip, sin

# A double pendulum falls for ten seconds. DOP853 keeps its error below 1e-8 per step.
pendulum = kt.robots.double_pendulum()
fall = pendulum.simulate([2.0, 1.0], duration=10.0, method="DOP853")
kinetic = pendulum.kinetic_energy(fall.q, fall.dq)
total = kinetic + pendulum.potential_energy(fall.q)
print(fall)
print("energy drifts by less than 1e-7 of its peak:", np.ptp(total) < 1e-7 * kinetic.max())

# A thousand arms fall at once, from states and with torques of their own: one compiled loop.
panda = kt.robots.panda()
rng = np.random.default_rng(0)
starts = panda.random(1000, rng=rng)
torques = rng.normal(size=(1000, 7))
falls = panda.simulate(
    starts, tau=torques, duration=0.5, dt=1e-3, method="rk4", every=100, limits="ignore"
)
print("times, arms, joints:", falls.q.shape)

# Your own law, written with kinetree's scalars, is compiled into the loop as well.
motion = panda.simulate(
    starts[0],
    controller=lambda t, q, dq: -5 * dq + sin(t),
    duration=0.2,
    method="rk4",
    limits="ignore",
)
print("the law was compiled:", motion.meta["compiled"])

# Computed torque follows a quintic with exact masses; without its load it does not.
home = np.array([0, -0.3, 0, -2.0, 0, 1.8, 0.5])
goal = home + np.array([0.5, 0.4, -0.3, 0.4, 0.3, -0.4, 0.5])


def quintic(t):
    """q, dq and ddq on the way from home to goal within a second."""
    s = clip(t, 0, 1)
    u, du, ddu = (
        s**3 * (10 - 15 * s + 6 * s**2),
        30 * (s - s**2) ** 2,
        60 * s * (1 - s) * (1 - 2 * s),
    )
    return home + (goal - home) * u, (goal - home) * du, (goal - home) * ddu


def worst(motion):
    """Largest error of a joint, rad."""
    wanted = np.array([quintic(float(t))[0] for t in motion.t])
    return abs(motion.q - wanted).max()


options = {"duration": 1.0, "dt": 1e-3, "method": "rk4"}
loaded = panda.with_payload(2.0)
exact = controllers.ComputedTorque(quintic, kp=400.0, kd=40.0)
blind = controllers.ComputedTorque(quintic, kp=400.0, kd=40.0, model=panda)
print(
    f"exact parameters: error {worst(loaded.simulate(home, controller=exact, **options)):.0e} rad"
)
print(
    f"without the load: error {worst(loaded.simulate(home, controller=blind, **options)):.2f} rad"
)

# The same controller step by step, for your own loop.
law = controllers.step_by_step(exact, loaded)
tau, _ = law(0.5, home, np.zeros(7))
print("torques at t = 0.5 s:", tau.round(1))
