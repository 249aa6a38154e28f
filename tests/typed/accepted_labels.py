"""Typed user code with labelled arguments that type checkers must accept; it is not run."""

import numpy as np
import pandas as pd
import polars as pl

import kinetree as kt

robot = kt.robots.planar_2r()
names: tuple[str, ...] = robot.joint_names + robot.dof_names + robot.coordinate_names
count: int = robot.nq

# a dict gives a dict, a Series a Series, a frame a frame with the same rows
state = {"joint1": 0.1, "joint2": 0.2}
by_joint: dict[str, float] = robot.gravity_forces(state)
tau: dict[str, float] = robot.inverse_dynamics(state, state, [0, 0])
many: dict[str, float] = robot.forward_dynamics({"joint1": [0.1], "joint2": [0.2]}, state, state)
rows: dict[str, dict[str, float]] = robot.mass_matrix(state)

series = pd.Series(state)
frame = pd.DataFrame([state, state])
forces: pd.Series = robot.gravity_forces(series)
torques: pd.DataFrame = robot.inverse_dynamics(frame, frame, frame)
beside: pd.DataFrame = robot.inverse_dynamics(frame, state, np.zeros((2, 2)))
M: pd.DataFrame = robot.mass_matrix(series)
stacked: pd.DataFrame = robot.coriolis_matrix(frame, frame)
energy: pd.Series = robot.kinetic_energy(frame, frame)
one: float = robot.potential_energy(series)
by_q, by_dq = robot.inverse_dynamics_derivatives(frame, frame, frame)
both: pd.DataFrame = by_q + by_dq
J: pd.DataFrame = robot.body_jacobian(series, "link2")
twist: pd.Series = robot.frame_velocity(series, series, "link2", expressed="aligned")
rates: pd.DataFrame = robot.frame_acceleration(frame, frame, state)
A_G: pd.DataFrame = robot.compile("centroidal_momentum_matrix")(series)
Y: pd.DataFrame = robot.compile("reference_regressor")(series, series, state, state)

table = pl.DataFrame([state, state])
columns: pl.DataFrame = robot.bias_forces(table, table)
energies: pl.Series = robot.potential_energy(table)
poses: pl.DataFrame = robot.pose(table)

# states of other methods may be given by name too
motion = robot.simulate(state, {"joint1": 0.0, "joint2": 0.0}, duration=0.1)
space = robot.task_space(state, state)
steps = kt.dynamics.newton_euler(robot, state, state, state)
