"""Simulation on the CPU: laws and forces, fixed and adaptive steps, events, limits."""
