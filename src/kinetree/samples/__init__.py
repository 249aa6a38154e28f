"""Sampled motions: the record below `Trajectory`, and the functions that its methods call."""
