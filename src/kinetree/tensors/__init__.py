"""Arrays of CuPy, PyTorch and JAX: taken as they are, given back as the same kind, with gradients.

`backends.foreign` brings calls with such arrays here. A module for each package says how its arrays
are read and made and what its transformations ask for; the kernels and their derivatives are those
of every other call.
"""
