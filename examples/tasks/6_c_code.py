"""C code of an arm's inverse dynamics for firmware: no allocation, single precision."""

from pathlib import Path

import kinetree as kt

robot = kt.load("arm.urdf")
kt.export(robot, "inverse_dynamics", dtype="float", name="arm_dynamics").save("arm_dynamics.c")
print("arm_dynamics.c:", Path("arm_dynamics.c").stat().st_size, "bytes")
