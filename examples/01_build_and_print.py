"""Build an arm link by link, print it, and compute the pose of its tool."""

import numpy as np

import kinetree as kt
from kinetree.spatial import rod

# Two rods of 1 m hang along -z and swing about y; the origin of each frame is in its joint.
builder = kt.Builder("two rods").link("ceiling")
builder.link("upper", 2.0, (0, 0, -0.5), rod(2.0, 1.0))
builder.link("lower", 1.0, (0, 0, -0.5), rod(1.0, 1.0))
builder.joint("shoulder", "revolute", "ceiling", "upper", axis=(0, 1, 0))
builder.joint("elbow", "revolute", "upper", "lower", at=(0, 0, -1), axis=(0, 1, 0))
builder.frame("tip", "lower", (0, 0, -1), tool=True)
robot = builder.build()

print(robot)
print("frames:", ", ".join(robot.model.frames))

# T_sb, the tool seen from the fixed frame {s}: hanging down, then with a bent elbow.
for degrees in ([0, 0], [0, 90]):
    T_sb = robot.pose(np.radians(degrees))
    print(f"joints at {degrees} degrees: the tip stands at {T_sb[:3, 3].round(6) + 0} m")
