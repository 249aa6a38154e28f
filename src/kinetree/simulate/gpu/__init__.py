"""Simulation of many rollouts on an NVIDIA GPU."""
