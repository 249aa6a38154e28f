"""Simulation with the solvers of SciPy, whose steps adapt to tolerances."""
