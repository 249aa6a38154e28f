"""JAX for tests, with 64-bit numbers for a while."""

import contextlib

import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")


def with_x64(enabled: bool = True) -> contextlib.AbstractContextManager[None]:
    """Numbers of 64 bits inside the block; newer versions of JAX have this under another name."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(enabled)
    from jax.experimental import disable_x64, enable_x64

    return enable_x64() if enabled else disable_x64()
