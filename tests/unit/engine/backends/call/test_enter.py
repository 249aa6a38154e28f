"""One state enters machine code without NumPy's machinery; all calls give the same results."""

import gc
import sys

import numpy as np
import pytest

from kinetree.errors import ShapeError


def read_only(a):
    a.flags.writeable = False
    return a


def outcome(call, *arrays, **options):
    """What a call gives, or its error, in a form that can be compared."""
    try:
        found = call(*arrays, **options)
    except Exception as error:
        return type(error), str(error)
    several = found if isinstance(found, tuple) else (found,)
    return [(type(x), x.dtype, x.shape, x.tobytes()) for x in several]


def forms_of(rng, x, batch):
    """The same numbers in one of several forms; a batch of equal states may lose its axis."""
    made = [
        x.copy(),
        np.asfortranarray(x),
        np.repeat(x, 2, axis=-1)[..., ::2],
        np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    ]
    if batch and (x == x[:1]).all():
        made += [x[0].copy(), x[:1].copy(), x[0].tolist(), tuple(x[0])]
    if not batch:
        made += [x.tolist(), tuple(x.tolist()), list(x), x[None][0]]
    return made[rng.integers(len(made))]


@pytest.mark.parametrize("seed", range(3))
def test_the_same_numbers_in_any_form_give_the_same_bits(arm, pair, seed):
    rng = np.random.default_rng(seed)
    for kernel, n, count in ((arm, 3, 3), (pair, 2, 2)):
        for _ in range(40):
            batch = int(rng.integers(0, 4)) * int(rng.integers(0, 8))
            arrays = [rng.normal(size=(batch, n) if batch else n) for _ in range(count)]
            for k in range(1, count):
                if batch and rng.random() < 0.5:
                    arrays[k] = np.repeat(arrays[k][:1], batch, axis=0)
            expected = outcome(kernel.gufunc, *arrays)
            formed = [arrays[0].copy(), *(forms_of(rng, x, batch) for x in arrays[1:])]
            assert outcome(kernel, *formed) == expected
            made = kernel(*arrays)
            several = made if isinstance(made, tuple) else (made,)
            outs = tuple(np.full(np.shape(x), np.nan) for x in several)
            assert kernel(*formed, out=outs if len(outs) > 1 else outs[0]) is not None
            assert [(x.shape, x.tobytes()) for x in outs] == [x[2:] for x in expected]


@pytest.mark.parametrize("place", range(3))
def test_states_of_another_length_are_refused(arm, place):
    """Machine code reads as many numbers as the robot has joints, so it must look at the length."""
    for length in (1, 2, 4):
        arrays = [np.ones(3) for _ in range(3)]
        arrays[place] = np.ones(length)
        with pytest.raises(ShapeError):
            arm(*arrays)


def test_states_of_another_type_or_byte_order_are_converted(arm, states):
    q, dq, ddq = (x[0] for x in states(1, 3))
    expected = arm(q, dq, ddq).tobytes()
    assert arm(q.astype(q.dtype.newbyteorder()), dq, ddq).tobytes() == expected
    whole = np.arange(3)
    assert arm(whole, dq, ddq).tobytes() == arm(whole.astype(float), dq, ddq).tobytes()


def test_arguments_by_name_stand_beside_options(arm, states):
    q, dq, ddq = states(4, 3)
    expected, out = arm(q, dq, ddq), np.zeros((4, 3))
    assert arm(q, ddq=ddq, dq=dq, out=out) is out
    assert out.tobytes() == expected.tobytes()


def test_places_that_cannot_be_written_are_refused(arm, pair, states):
    arrays = states(5, 3)
    with pytest.raises(ValueError, match="read-only"):
        arm(*arrays, out=read_only(np.zeros((5, 3))))
    with pytest.raises(ShapeError, match="out for tau"):
        arm(*arrays, out=np.zeros((4, 3)))
    with pytest.raises(TypeError):
        arm(*arrays, out=np.zeros((5, 3)), nonsense=1)
    with pytest.raises((TypeError, ValueError)):
        pair(*states(5, 2, count=2), out=(np.zeros((5, 2, 2)),))


def test_results_may_overlap_arguments(arm, states):
    q, dq, ddq = states(6, 3)
    expected = arm.gufunc(q, dq, ddq)
    memory = np.zeros((8, 3))
    memory[:6] = q
    assert arm(memory[:6], dq, ddq, out=memory[1:7]).tobytes() == expected.tobytes()
    vector = states(3)[0]
    expected = arm.gufunc(vector.copy(), dq[0], ddq[0])
    assert arm(vector, dq[0], ddq[0], out=vector).tobytes() == expected.tobytes()


def test_calls_leave_no_references_behind(arm, pair, states):
    arrays, two = states(6, 3), states(6, 2, count=2)
    kind = np.dtype(np.float64)
    gc.collect()  # of the tests before
    before = [sys.getrefcount(x) for x in (*arrays, *two, kind)]
    out, both = np.zeros((6, 3)), pair(*two)
    held = [sys.getrefcount(x) for x in (out, both, *both)]
    numbers = [0.1, 0.2, 0.3]
    single = [x[0].copy() for x in arrays]
    for _ in range(100):
        arm(*arrays)
        arm(*single)
        pair(*two)
        arm(*arrays, out=out)
        arm(*arrays, out=(out,))
        pair(*two, out=both)
        pair(two[0][0], two[1][0])
        arm(numbers, [1, 2, 3], tuple(numbers))
        for wrong in ([*numbers, 1.0], [0.1, 0.2, "x"], [10**400, 1, 2]):
            with pytest.raises((ValueError, TypeError)):
                arm(wrong, numbers, numbers)
    gc.collect()  # errors refer to the frames that raised them
    assert [sys.getrefcount(x) for x in (out, both, *both)] == held
    after = [sys.getrefcount(x) for x in (*arrays, *two, kind)]
    assert after[:-1] == before[:-1]
    assert abs(after[-1] - before[-1]) < 50
    M, energy = pair(*two)
    assert sys.getrefcount(M) == sys.getrefcount(energy) == 2
    assert M.flags.owndata and M.flags.writeable
