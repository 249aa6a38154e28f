"""Arrays of CuPy, PyTorch and JAX: taken as they are, returned as the same kind, with gradients.

A module for each package reads and makes its arrays and implements its transformations; the kernels
and their derivatives are those of every other call. `engine/call/dispatch.py` imports one
when the first array of its package arrives.
"""
