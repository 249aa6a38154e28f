"""The packages whose arrays kernels take besides NumPy's, each loaded when its first array arrives.

`import kinetree` runs this file, so it imports nothing heavy.
"""

from kinetree.backends.call.foreign import ForeignCall, register


def _cupy() -> ForeignCall:
    from kinetree.tensors.cupy import call

    return call


def _jax() -> ForeignCall:
    from kinetree.tensors.jax import call

    return call


def _torch() -> ForeignCall:
    from kinetree.tensors.torch import make_call

    return make_call()


for _name, _load in (("cupy", _cupy), ("jax", _jax), ("jaxlib", _jax), ("torch", _torch)):
    register(_name, _load)
