"""Positions, speeds and torques of a recorded motion against the limits of the robot."""

import kinetree as kt

robot = kt.load("arm.urdf")
motion = kt.motion.read("move.csv", robot)
print(kt.motion.check_limits(robot, motion))
