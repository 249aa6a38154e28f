"""Without LLVM the same kernels work, slowly and with one warning."""

import pickle
import sys
import warnings

import numpy as np
import pytest

from kinetree.engine import Kernel, SlowKernelWarning, interpret, interpreted
from kinetree.engine.llvm import engine
from kinetree.errors import CompileError, ShapeError


@pytest.fixture
def no_llvm(monkeypatch):
    """A Python in which llvmlite is not installed, and the warning was already given."""
    engine.binding.cache_clear()
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    monkeypatch.setattr(interpreted, "_warned", True)
    yield monkeypatch
    engine.binding.cache_clear()


def test_one_warning_in_a_process(no_llvm, arm_graph):
    no_llvm.setattr(interpreted, "_warned", False)
    with pytest.warns(SlowKernelWarning, match="pip install llvmlite") as seen:
        Kernel(arm_graph)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Kernel(arm_graph)


def test_results_are_the_interpreter_s(no_llvm, arm_graph, pair_graph, states):
    arrays = states(11, 3)
    kernel = Kernel(arm_graph, "slow")
    (expected,) = interpret(arm_graph, *arrays)
    assert kernel(*arrays).tobytes() == expected.tobytes()
    assert kernel(*(a[0] for a in arrays)).tobytes() == expected[0].tobytes()
    narrow = [array.astype(np.float32) for array in arrays]
    assert kernel(*narrow).dtype == np.float32
    assert kernel(*narrow).tobytes() == interpret(arm_graph, *narrow)[0].tobytes()
    M, energy = Kernel(pair_graph)(*states(4, 2, count=2))
    assert M.shape == (4, 2, 2) and energy.shape == (4,)


def test_it_is_a_gufunc_all_the_same(no_llvm, arm_graph, states):
    kernel = Kernel(arm_graph, "slow")
    assert isinstance(kernel.gufunc, np.ufunc)
    assert kernel.gufunc.types == ["fff->f", "ddd->d"]
    q, dq, ddq = states(3)[0], states(5, 3)[0], states(4, 1, 3)[0]
    result = kernel(q, dq, ddq)
    assert result.shape == (4, 5, 3)
    out = np.empty((4, 5, 3))[::-1, :, ::-1]
    assert kernel(q, dq, ddq, out=out) is out
    np.testing.assert_array_equal(out, result)
    np.testing.assert_array_equal(kernel(q, dq[::-2], ddq), result[:, ::-2])
    assert kernel(*[np.empty((0, 3))] * 3).shape == (0, 3)
    overlapping = dq.copy()
    assert kernel(q, overlapping, ddq[0], out=overlapping).tobytes() == result[0].tobytes()
    with pytest.raises(ShapeError, match="q has shape"):
        kernel(q[:2], dq, ddq)
    assert np.isnan(kernel(np.full(3, np.inf), q, q)).all()


def test_there_is_no_machine_code_to_see(no_llvm, arm_graph):
    kernel = Kernel(arm_graph, "slow")
    with pytest.raises(CompileError, match="slow is interpreted"):
        _ = kernel.ir
    with pytest.raises(CompileError, match="install llvmlite"):
        _ = kernel.assembly
    assert "slow" in repr(kernel)


def test_compiled_and_interpreted_kernels_are_one_when_pickled(arm, arm_graph, no_llvm, states):
    arrays = states(6, 3)
    slow = pickle.loads(pickle.dumps(arm))
    assert slow(*arrays).tobytes() == arm(*arrays).tobytes()
