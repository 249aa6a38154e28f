"""Planned motions: trajectories, files, limits and time scaling."""
