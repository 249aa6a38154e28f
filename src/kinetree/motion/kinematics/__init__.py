"""Inverse kinematics: targets, the compiled loop, batches with restarts, and paths."""
