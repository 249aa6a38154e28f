"""Identify a robot: plan a motion, record it with noise, find the parameters and their errors."""

import dataclasses

import numpy as np

import kinetree as kt
from kinetree.identify import excite, identify, identify_payload, simulated_recording

# The robot as described, and the one in the laboratory: friction, armature, other masses.
described = kt.robots.panda()
drive = {"armature": 0.1, "friction": kt.friction.Friction(0.6, 0.4)}
joints = tuple(dataclasses.replace(joint, **drive) for joint in described.model.joints)
true = kt.Robot(described.model.replace(joints=joints, m=1.15 * described.model.m))

# A motion within the limits that excites all parameters.
plan = excite(described, 12, 0.01, rounds=100)
print(f"condition of the regressor: {plan.before:.1f} by chance, {plan.condition:.1f} planned")

# Readings of encoders and torque sensors with noise; rates and accelerations come from filtering.
noise = np.array([0.5, 0.5, 0.5, 0.5, 0.2, 0.2, 0.2])
data = simulated_recording(true, plan.motion, encoder_noise=2e-5, torque_noise=noise, seed=1)
print(data.notes[0])

found = identify(described, data)
before = data.tau - described.inverse_dynamics(data.q, data.dq, data.ddq)
print("error as described:", np.sqrt((before**2).mean(axis=0)).round(2))
print("error, held out:   ", found.error().round(2))
print("noise:             ", noise)

# How well is it known? Intervals should contain the truth 19 times of 20.
truth = found.base.K @ found.params.values(true.model)
low, high = found.interval(0.95).T
inside = int(((low <= truth) & (truth <= high)).sum())
print(f"{inside} of {found.base.r} intervals hold the true base parameter")
k = found.params.names.index("coulomb[panda_joint4]")
print(f"Coulomb friction of joint 4: {found.estimate.x[k]:.2f} N m, in truth 0.40")

# The identified robot picks something up.
held = true.with_payload(1.5, (0, 0.02, 0.1))
load = identify_payload(true, simulated_recording(held, plan.motion, torque_noise=noise, seed=2))
print(load)
