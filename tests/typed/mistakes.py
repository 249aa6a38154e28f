"""Mistakes that pyright must find, one on each marked line; see test_user_code.py."""

import numpy as np

import kinetree as kt

robot = kt.robots.panda()
q = np.zeros(7)

robot.simulate(q, duratoin=1.0)  # mistake: misspelt and therefore missing argument
robot.simulate(q, duration="1 s")  # mistake: text where a number belongs
robot.simulate(q, duration=1.0, method="rk5")  # mistake: unknown method
robot.inverse_dynamics(q, q)  # mistake: ddq is missing
robot.forward_dynamics(q, q, None)  # mistake: None is not a vector
robot.step(q, q, q)  # mistake: dt is missing
robot.step(q, q, q, 0.1, method="rk5")  # mistake: unknown method
robot.task_space(q, expresed="space")  # mistake: misspelt option
robot.frame_velocity(q, q, expressed="world")  # mistake: unknown axes
robot.compile("inverse_dynamics", free="mass", target="gpu")  # mistake: unknown target
robot.with_friction({"panda_joint1": 0.3})  # mistake: a number is not a Friction
kt.convert.to_urdf(robot, losses="silent")  # mistake: unknown choice
robot.pose("home")  # mistake: text where a vector belongs
robot.rnea(q, q, q)  # mistake: a name of another library
robot.joint_names.append("elbow")  # mistake: a tuple does not grow
robot.gravity_forces({1: 0.1})  # mistake: joints have names, not numbers
print(kt.Builder("arm").link("base").build().G)  # mistake: that is a Robot, the Model has G
kt.Builder("arm").joint("j", "hinge", "a", "b")  # mistake: unknown type of joint
kt.Builder("arm").build(unphysical="ignore")  # mistake: unknown choice
robot.mass_matrix({"panda_joint1": 0.1}, out=q)  # mistake: labelled results take no out
text: str = robot.inverse_dynamics(q, q, q)  # mistake: an array is not text
frame: list[float] = robot.gravity_forces({"panda_joint1": 0.1})  # mistake: it is a dict
