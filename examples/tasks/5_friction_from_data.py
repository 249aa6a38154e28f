"""The joint friction of an arm, found in a recording of positions and torques."""

import kinetree as kt

robot = kt.load("arm.urdf")
recording = kt.identify.read_recording("recording.csv", robot)
found = kt.identify.identify(robot, recording)
for joint, friction in found.friction.items():
    print(joint, friction)
