"""A pendulum moved by a PD controller, with a plot of its motion."""

import kinetree as kt

arm = kt.Builder("pendulum").link("base").link("rod", m=1, com=(0, 0, -0.5))
robot = arm.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0)).build()
control = kt.controllers.PD({"pivot": 0.5}, kp=20, kd=5, gravity=True)
motion = robot.simulate({"pivot": -1.0}, duration=3, controller=control)
motion.plot("pendulum.png")
print("pivot after 3 s:", motion.q[-1].round(4), "rad")
