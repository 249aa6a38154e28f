"""Arrays of CuPy, PyTorch and JAX: taken as they are, returned as the same kind, with gradients.

This file registers the functions that take calls with such arrays. `import kinetree` runs it, so it
imports nothing heavy; a package is loaded when its first array arrives. A module for each package
reads and makes its arrays and implements its transformations; the kernels and their derivatives are
those of every other call.
"""

from kinetree.engine.call import PACKAGES, ForeignCall


def _cupy() -> ForeignCall:
    from kinetree.engine.tensors.cupy import call

    return call


def _jax() -> ForeignCall:
    from kinetree.engine.tensors.jax import call

    return call


def _torch() -> ForeignCall:
    from kinetree.engine.tensors.torch import make_call

    return make_call()


PACKAGES.update(cupy=_cupy, jax=_jax, jaxlib=_jax, torch=_torch)
