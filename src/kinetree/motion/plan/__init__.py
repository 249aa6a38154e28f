"""Planners: functions that make a Trajectory from positions, limits or a path."""
