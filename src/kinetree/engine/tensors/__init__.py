"""Arrays of CuPy, PyTorch and JAX: taken as they are, returned as the same kind, with gradients.

A module for each package reads and makes its arrays and implements its transformations; the kernels
and their derivatives are those of every other call. `import kinetree` registers these modules, and
one is imported when the first array of its package arrives.
"""
