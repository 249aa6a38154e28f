"""The recursion of Newton and Euler with every intermediate, and its four formulations."""

import numpy as np

import kinetree as kt

robot = kt.robots.planar_2r()
q, dq, ddq = np.radians([90, 45]), [-0.8, 0.35], [-0.4, 0.1]

# Outward: velocities and accelerations. Inward: forces and moments.
steps = kt.dynamics.newton_euler(robot, q, dq, ddq, formulation="link")
for i, name in enumerate(robot.model.link_names):
    print(name)
    print("  angular velocity           ", steps.omega[i].round(4) + 0, "rad/s")
    print("  acceleration of the centre ", steps.a_c[i].round(4) + 0, "m/s^2")
    print("  force through the joint    ", steps.f[i].round(4) + 0, "N")
    print("  moment through the joint   ", steps.n[i].round(4) + 0, "N m")

# Screws, closed form, link and space coordinates: four formulations, one result.
for formulation in kt.dynamics.FORMULATIONS:
    tau = kt.dynamics.inverse_dynamics(robot.model, q, dq, ddq, formulation=formulation)
    print(f"tau by {formulation:7}", tau.round(4), "N m")
