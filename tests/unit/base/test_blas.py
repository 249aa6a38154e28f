"""The number of threads of OpenBLAS is one within the block, and as before afterwards."""

import pytest

from kinetree.base.blas import one_blas_thread, thread_functions


def test_one_thread_within_and_as_before_afterwards():
    found = thread_functions()
    if found is None:
        with one_blas_thread():
            pass
        pytest.skip("NumPy has no OpenBLAS here")
    get, put = found
    start = get()
    put(2)
    try:
        with one_blas_thread():
            assert get() == 1
        assert get() == 2
        with pytest.raises(ValueError, match="inside"), one_blas_thread():
            raise ValueError("inside")
        assert get() == 2
    finally:
        put(start)
