"""C code of an arm's inverse dynamics for firmware: no allocation, single precision."""

from pathlib import Path

import kinetree as kt

robot = kt.load("arm.urdf")
Path("arm_dynamics.c").write_text(kt.export(robot, "inverse_dynamics", "c", dtype="float"))
print("arm_dynamics.c:", Path("arm_dynamics.c").stat().st_size, "bytes")
