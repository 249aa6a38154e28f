"""Check a planned motion against the actuators: violated limits, slower and faster timings."""

import numpy as np

import kinetree as kt
from kinetree import motion

robot = kt.robots.panda()
q0 = np.array([0, -0.5, 0, -2, 0, 1.5, 0.5])
q1 = np.array([1.5, 1.2, -0.3, -0.5, 0.4, 2.9, 0])

# Too fast: the report has joint, time and excess.
plan = motion.quintic(q0, q1, duration=0.6, robot=robot)
report = kt.motion.check_limits(robot, plan)
print(report)

# Slower by the smallest sufficient factor, the same at every instant.
slow = motion.scale_time(plan, report.slower)
print()
print(
    f"slowed by {report.slower:.4f} it takes {slow.duration:.4f} s:",
    kt.motion.check_limits(robot, slow).ok,
)

# The same path as fast as torques and speeds allow, checked ten times finer than it is sampled.
best = motion.time_optimal(robot, plan)
print(f"timed anew it takes {best.duration:.4f} s:", best.report.ok)
fine = best.resample(1e-4)
tau = robot.inverse_dynamics(fine.q, fine.dq, fine.ddq)
effort = [joint.limits.effort for joint in robot.model.joints]
print(f"largest share of a torque limit: {np.max(np.abs(tau) / effort):.6f}")

# A load that gravity alone makes too heavy: no slower motion helps, and the report states it.
heavy = robot.with_payload(20.0)
print()
print(
    *[line for line in kt.motion.check_limits(heavy, slow).verdict() if "gravity" in line], sep="\n"
)
