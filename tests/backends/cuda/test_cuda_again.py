"""Simulations on a GPU that come again, without a GPU: the same motion, the same refusals."""

import sys

import numpy as np
import pytest
from cuda_harness import compile_for_gpu
from cuda_stand_in import Device, Function, HostArray, HostGpu, at, on_host

import kinetree as kt
from kinetree.engine import Run, interpret_run
from kinetree.engine.cuda import rollout as rollouts
from kinetree.errors import InputError, KinetreeError
from kinetree.simulate import SimulationError
from kinetree.simulate.gpu import again, inputs

RNG = np.random.default_rng(3)
OPTIONS = {"duration": 0.02, "dt": 2e-3, "method": "semi_implicit_euler", "target": "cuda"}


@pytest.fixture
def cp(monkeypatch):
    made = HostGpu(devices=2)
    monkeypatch.setitem(sys.modules, "cupy", made)
    monkeypatch.setattr(rollouts.CudaRollout, "_load", load_loop)
    monkeypatch.setattr(again, "load_with", load_around)
    return made


@pytest.fixture
def reads(monkeypatch):
    """Simulations that were read from the start."""
    found = []
    original = inputs.read_setup

    def counted(*given):
        found.append(given)
        return original(*given)

    monkeypatch.setattr(inputs, "read_setup", counted)
    return found


@pytest.fixture
def robot():
    """A new model for each test: what is remembered belongs to it."""
    return kt.robots.planar_2r()


def load_loop(self, dtype, short):
    stepping, sizes = self.stepping, self.stepping.sizes

    def compute(words):
        count, evaluations, steps, offset, state, params, params_step, *rest = words
        table, row, step, times, h, rows, first, amount, *records = rest
        stages, watched = len(stepping.stages), stepping.watched
        of = count if step else 1
        numbers = at(rows, (evaluations,), "int32")
        kept = int(numbers.max()) + 1
        fields = zip(records, stepping.fields, strict=True)
        assert row == of * sizes["s"]
        noted = at(first, (count, watched), "int32")
        run = Run(
            state=at(state, (count, sizes["x"]), dtype),
            params=at(params, (count if params_step else 1, params_step or sizes["p"]), dtype),
            table=at(table, (evaluations, stages, of, sizes["s"]), dtype),
            times=at(times, (evaluations, stages), dtype),
            h=at(h, (evaluations,), dtype),
            rows=numbers,
            steps=steps,
            records=[at(x, (kept, count, field.size), dtype) for x, field in fields],
            first=noted,
            amount=at(amount, (count, watched), dtype),
            offset=offset,
        )
        with np.errstate(all="ignore"):
            interpret_run(stepping, run)

    return Function(compute, 15 + len(stepping.fields)).launch()


def load_around(source, name, shared, warps):
    """The two small kernels, as their text says."""
    dtype = "float32" if "typedef float" in source else "float64"

    def begin(words):
        count, n, forces, q, dq, tau, params, state = words
        x = at(state, (count, 2 * n), dtype)
        x[:, :n] = at(q, (count, n), dtype)
        x[:, n:] = at(dq, (count, n), dtype) if dq else 0
        at(params, (forces,), dtype)[:] = at(tau, (forces,), dtype) if tau else 0

    def end(words):
        count, first, noted = words
        if (at(first, (count,), "int32") != again.NEVER).any():
            at(noted, (1,), "int32")[:] = 1

    compute, words = {"kt_begin": (begin, 8), "kt_end": (end, 3)}[name]
    return Function(compute, words).launch()


def state(batch=(5,), dtype="float64", count=3):
    return [on_host((0.3 * RNG.normal(size=(*batch, 2))).astype(dtype)) for _ in range(count)]


def same(found, expected):
    for name in ("t", "q", "dq", "ddq", "tau"):
        x, y = getattr(found, name), getattr(expected, name)
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
    assert dict(found.meta) == dict(expected.meta)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (5,), (2, 3)])
@pytest.mark.parametrize("single", [True, False])
def test_the_motion_of_a_run_that_was_read(cp, reads, robot, batch, dtype, single):
    for k in range(3):
        q0, dq0, tau = state(batch, dtype)
        tau = tau.reshape(-1, 2)[0].copy() if single else tau
        given = {**OPTIONS, "tau": tau, "limits": "record", "every": 3}
        found = robot.simulate(q0, dq0, **given)
        assert len(reads) == 1 and len(cp.launches) == 3 * k and isinstance(found.q, HostArray)
        kept = tau.copy()
        tau[...] = 99  # the record does not change with the caller's array
        other = kt.robots.planar_2r()  # remembers nothing
        same(found, other.simulate(q0, dq0, **{**given, "tau": kept}))
        reads.pop()


def test_from_rest_and_without_forces(cp, reads, robot):
    for _ in range(2):
        (q0,) = state(count=1)
        found = robot.simulate(q0, limits="ignore", **OPTIONS)
        same(found, kt.robots.planar_2r().simulate(q0, limits="ignore", **OPTIONS))
        reads.pop()
    assert len(reads) == 1 and cp.launches


def test_wrong_numbers_are_refused_with_the_same_words(cp, reads, robot):
    q0, dq0, tau = state()
    given = {**OPTIONS, "limits": "ignore"}
    robot.simulate(q0, dq0, tau=tau, **given)
    for name in ("q0", "dq0", "tau"):
        for bad in (np.nan, np.inf):
            arrays = {"q0": q0.copy(), "dq0": dq0.copy(), "tau": tau.copy()}
            arrays[name][3, 1] = bad
            with pytest.raises(KinetreeError) as found:
                robot.simulate(**arrays, **given)
            with pytest.raises(KinetreeError) as expected:
                kt.robots.planar_2r().simulate(**arrays, **given)
            assert str(found.value) == str(expected.value) and name in str(found.value)


def test_limits_are_seen(cp, reads):
    robot = kt.robots.panda()
    q0 = on_host(np.tile([0, 0.3, 0, -1.5, 0, 1.9, 0.0], (3, 1)))
    tau = on_host(np.zeros((3, 7)))
    given = {"method": "semi_implicit_euler", "duration": 0.05, "dt": 5e-3, "target": "cuda"}
    robot.simulate(q0, tau=tau, **given)
    assert len(reads) == 1
    tau[1, 3] = 4000
    with pytest.raises(SimulationError, match="rollout"):
        robot.simulate(q0, tau=tau, **given)
    assert len(reads) == 2
    first, second = (robot.simulate(q0, tau=tau, limits="record", **given).meta for _ in range(2))
    assert first["violations"] and first == second


def test_everything_else_is_read_every_time(cp, reads, robot):
    q0, dq0 = state(count=2)
    others = [
        {"F_ext": np.zeros((2, 6))},
        {"controller": lambda t, q, dq: -q},
        {"parameters": {"mass": robot.model.m}},
        {"tau": np.zeros(2)},
        {"tau": lambda t: np.array([t, 0.0])},
    ]
    given = {**OPTIONS, "limits": "ignore"}
    for options in (*others, {}):
        before = len(reads)
        for _ in range(2):
            robot.simulate(q0[::2], dq0[::2], **given, **options)
        assert len(reads) == before + 2, options
    robot.simulate(q0, dq0, **given)
    before = len(reads)
    for options in ({"dt": 1e-3}, {"every": 2}, {"method": "rk4"}, {"limits": "record"}):
        robot.simulate(q0, dq0, **{**given, **options})
    robot.simulate(q0.astype("float32"), dq0.astype("float32"), **given)
    assert len(reads) == before + 5
    with Device(1):
        robot.simulate(q0, dq0, **given)
    assert len(reads) == before + 6
    with pytest.raises(InputError, match="every"):
        robot.simulate(q0, dq0, **{**given, "every": 0})


def test_the_text_compiles(tmp_path):
    compile_for_gpu(again.around_source("float32"), tmp_path)
