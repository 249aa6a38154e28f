"""Robots on the ground as environments of Gymnasium: tasks, steps in one kernel, and `make`."""
