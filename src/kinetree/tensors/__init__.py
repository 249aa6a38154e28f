"""Arrays of CuPy, PyTorch and JAX: taken as they are, returned as the same kind, with gradients.

`packages.py` registers the functions that take calls with such arrays. A module for each package
reads and makes its arrays and implements its transformations; the kernels and their derivatives are
those of every other call.
"""
