"""The parts of every number of the recursion, and of the joint forces."""

import numpy as np

import kinetree as kt

# 1. Both passes of the Newton-Euler recursion, each quantity with its parts.
robot = kt.robots.planar_2r()
explanation = robot.explain([0.3, 0.7], [0.2, 0.15], [0.1, 0.085])
print(explanation)

# 2. The same as data: the parent's part of the twist of link2; the parts add up.
V = explanation["link2"]["V"]
print("from the parent:", V["parent"].value)
sum_of_parts = np.sum([part.value for part in V.children], axis=0)
print("parts add up to", np.abs(sum_of_parts - V.value).max())

# 3. One joint force as a tree: the terms of its equation, links, and products of components.
print(explanation.unfold("joint1"), "\n")

# 4. A real arm: which joint is loaded by gravity, which one by friction?
puma = kt.robots.puma_560()
rng = np.random.default_rng(0)
torque = puma.explain(rng.normal(size=6), rng.normal(size=6), rng.normal(size=6)).torque
for joint, tau in zip(torque.names, torque.tau, strict=True):
    k = torque.names.index(joint)
    cause = max(torque.shares, key=lambda name: abs(torque[name][k]))
    print(f"{joint}: {tau:8.3f} N m, most of it {cause}: {torque[cause][k]:8.3f}")

# 5. Symbols instead of numbers, in their shortest form.
s = kt.symbolic(robot)
closed = robot.explain(s.q, s.dq, s.ddq).simplified().torque
print("\nCoriolis:   ", list(closed["Coriolis"]))
print("centrifugal:", list(closed["centrifugal"]))
