"""Without CuPy: kernels can be made and read, and a call says what to install."""

import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.backends.cuda import toolkit
from kinetree.backends.cuda.launch import best_block, most_warps
from kinetree.cuda import cuda_kernel
from kinetree.errors import CompileError, NameLookupError


@pytest.fixture
def no_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    toolkit.cupy.cache_clear()
    yield
    toolkit.cupy.cache_clear()


def test_a_call_names_the_extra(no_cupy):
    kernel = cuda_kernel(kt.robots.planar_2r().model, "gravity_forces")
    with pytest.raises(CompileError, match=r"kinetree\[cuda\]"):
        kernel(np.zeros(2))


def test_a_kernel_says_what_it_is(no_cupy):
    kernel = cuda_kernel(kt.robots.planar_2r().model, "inverse_dynamics")
    assert kernel.signature == "(n),(n),(n)->(n)"
    assert "inverse_dynamics(n),(n),(n)->(n)" in repr(kernel)
    assert "M ddq" in (kernel.__doc__ or "")
    assert "__launch_bounds__" in kernel.source("float32")


def test_an_unknown_quantity_is_named(no_cupy):
    with pytest.raises(NameLookupError, match="torque"):
        cuda_kernel(kt.robots.planar_2r().model, "torque")


@pytest.mark.parametrize(("registers", "warps"), [(255, 2), (140, 3), (128, 4), (71, 7), (32, 16)])
def test_warps_that_fit_the_registers_of_a_quarter(registers, warps):
    assert most_warps(registers) == warps


def test_blocks_keep_most_threads_at_work_but_share_the_cache_with_few():
    assert best_block({128: 384, 64: 448, 32: 448}, spills=False) == 64
    assert best_block({128: 128, 64: 192, 32: 192}, spills=True) == 128
    assert best_block({64: 64, 32: 96}, spills=True) == 32
