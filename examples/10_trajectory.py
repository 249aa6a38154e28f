"""Plan motions of an arm: polynomials, waypoints, a straight line; store and plot them."""

import tempfile
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree import motion

robot = kt.robots.panda()
q0 = np.array([0, -0.5, 0, -2, 0, 1.5, 0.5])
q1 = np.array([1.0, 0.4, -0.3, -1.5, 0.4, 2.0, 0])

# From one position to another, at rest at both ends.
plan = motion.quintic(q0, q1, duration=2.0, robot=robot)
print(plan)
print("largest speed over the mean:", (plan.dq[:, 0].max() / (1.0 / 2.0)).round(6))

# Through waypoints, and as fast as bounds on speed and acceleration allow.
tour = motion.spline([q0, q1, q0], times=[0, 2, 4], robot=robot)
quick = motion.trapezoid(q0, q1, acceleration=4, robot=robot)
print(f"a trapezoid within the robot's speeds takes {quick.duration:.3f} s")

# The tool on a straight line of 30 cm, without turning: joints by inverse kinematics.
goal = robot.pose(q0)
goal[:3, 3] += (0.1, 0.2, -0.2)
line = motion.straight_line(robot, q0, goal, duration=1.5)
p = robot.pose(line.q)[:, :3, 3]
off = np.linalg.norm(np.cross(p - p[0], (p[-1] - p[0]) / np.linalg.norm(p[-1] - p[0])), axis=1)
print(f"the tool leaves the line by less than 1e-12 m: {off.max() < 1e-12}")

# A pose, and the joint positions that reach it within the limits.
found = robot.inverse_kinematics(goal, q0)
print("inverse kinematics reaches its goal:", bool(found.reached))

# Energy balance of the joints' work, J.
balance = line.energy()
print(f"lowering the arm gave back {-balance.work[-1]:.2f} J, all of it potential energy:",
      bool(abs(balance.defect[-1]) < 1e-6))  # fmt: skip

# Files store every bit, with the names of the joints.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "line.csv"
    line.to_csv(path)
    again = motion.read(path, robot)
    print("the CSV file reads back to the same bits:", np.array_equal(again.q, line.q))
    # line.plot("line.png") draws it, with matplotlib.
