"""The joint torques that hold an arm still, from its URDF file."""

import kinetree as kt

robot = kt.load("arm.urdf")
tau = robot.gravity_forces({"shoulder": 0.3, "elbow": -0.8})
print({joint: round(float(x), 3) for joint, x in tau.items()}, "N m")
