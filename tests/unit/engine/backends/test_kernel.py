"""What a kernel says about itself, how it is called, copied and let go."""

import copy
import gc
import pickle
import sys

import numpy as np
import pytest

from kinetree.engine import Kernel
from kinetree.errors import ArgumentError


def test_gufunc_is_a_real_ufunc(arm):
    assert isinstance(arm.gufunc, np.ufunc)
    assert arm.gufunc.signature == "(3),(3),(3)->(3)"
    assert arm.gufunc.types == ["fff->f", "ddd->d"]
    assert arm.gufunc.__name__ == "arm_torques"
    assert arm.gufunc is arm.gufunc


def test_numbers_without_dimensions(line_kernel):
    assert line_kernel(2, 3.0, 4) == 10
    assert line_kernel(np.array(2.0), np.array(3.0), np.array(4.0)) == 10
    np.testing.assert_array_equal(line_kernel(2.0, np.arange(3.0), 1.0), [1, 3, 5])


def test_unpickled_arrays_are_states_too(arm, states):
    arrays = states(3)
    again = [pickle.loads(pickle.dumps(array)) for array in arrays]
    assert arm(*again).tobytes() == arm(*arrays).tobytes()


def test_inputs_by_name_and_options_by_keyword(arm, states):
    q, dq, ddq = states(3)
    expected = arm(q, dq, ddq)
    assert arm(q, ddq=ddq, dq=dq).tobytes() == expected.tobytes()
    out = np.empty(3)
    assert arm(q, dq, ddq, out=out) is out
    assert out.tobytes() == expected.tobytes()
    other = np.empty(3)
    assert arm(q, dq, ddq, other) is other
    assert other.tobytes() == expected.tobytes()
    assert arm(q, dq, ddq, dtype="float32").dtype == np.float32
    with pytest.raises(ArgumentError, match="was given no ddq"):
        arm(q, dq=dq)
    with pytest.raises(TypeError, match="nonsense"):
        arm(q, dq, ddq, nonsense=1)


def test_one_number_type_alone(arm_graph, states):
    arrays = states(5, 3)
    only32 = Kernel(arm_graph, dtypes=("float32",))
    assert only32.gufunc.types == ["fff->f"]
    assert only32(*(a.astype("f4") for a in arrays)).dtype == np.float32
    only64 = Kernel(arm_graph, dtypes=("float64",))
    assert only64.gufunc.types == ["ddd->d"]
    assert only64(*(a.astype("f4") for a in arrays)).dtype == np.float64


def test_pickle_and_copies(arm, states):
    arrays = states(3)
    again = pickle.loads(pickle.dumps(arm))
    assert again is not arm and repr(again) == repr(arm)
    assert again.graph == arm.graph and again.dtypes == arm.dtypes
    assert again(*arrays).tobytes() == arm(*arrays).tobytes()
    assert copy.deepcopy({"kernel": arm})["kernel"](*arrays).tobytes() == arm(*arrays).tobytes()
    assert copy.copy(arm)(*arrays).tobytes() == arm(*arrays).tobytes()


def test_foreign_arrays_take_over(arm):
    class Foreign:
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return ufunc, method, len(inputs), options

    x = np.zeros(3)
    assert arm(x, Foreign(), x) == (arm.gufunc, "__call__", 3, {})


def test_calls_leave_no_references_behind(arm, pair, states):
    arrays = states(3)
    watched = [*arrays, np.dtype(np.float64), np.ndarray]
    for kernel, given in ((arm, arrays), (pair, [a[:2].copy() for a in arrays[:2]])):
        kernel(*given)
        before = [sys.getrefcount(thing) for thing in watched]
        for _ in range(100):
            kernel(*given)
        after = [sys.getrefcount(thing) for thing in watched]
        assert after == before


def test_gufunc_outlives_its_kernel(arm_graph, states):
    arrays = states(3)
    kernel = Kernel(arm_graph)
    expected, gufunc = kernel(*arrays), kernel.gufunc
    del kernel
    gc.collect()
    assert gufunc(*arrays).tobytes() == expected.tobytes()


def test_dropping_a_kernel_frees_its_code_at_once(arm_graph, living):
    kernel = Kernel(arm_graph)
    gufunc = kernel.gufunc
    kernel(*np.zeros((3, 3)))
    assert len(living) == 2  # float64 and float32
    del kernel
    assert len(living) == 2
    del gufunc
    assert len(living) == 0
