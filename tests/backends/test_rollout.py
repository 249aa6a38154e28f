"""The compiled loop over time does what the interpreter says, for any number of rollouts."""

import numpy as np
import pytest

from kinetree import scalars, threads
from kinetree.engine import Field, Port, Rollout, Run, Stepping, interpret_run, optimise, trace
from kinetree.engine import rollout as module
from kinetree.engine.compiler.stepping import NEVER
from kinetree.engine.llvm import engine

X, P, S = 3, 2, 2
EVALUATIONS = 40


def rate(t, x, p, s):
    k = [x[1], -p[0] * scalars.sin(x[0]) + s[0] * t, p[1] * scalars.cos(x[2]) - s[1] * x[2]]
    return np.array(k), np.array([x[0] * x[1], k[1]])


def heun(i):
    """The two stages of a method of second order."""

    def stage(h, x, *k):
        return x + k[0] * h if i == 0 else x + (k[0] + k[1]) * (h / 2)

    return stage


def margins(x, k, y):
    return np.array([1.5 - x[0], y[0] + 4])


def ports(**sizes):
    return [Port(name, (size,)) for name, size in sizes.items()]


def stepping(watch=margins):
    inputs = [Port("t", ()), *ports(x=X, p=P, s=S)]
    stages = [
        optimise(trace(heun(i), [Port("h", ()), *ports(x=X, **{f"k{j}": X for j in range(i + 1)})]))
        for i in range(2)
    ]
    return Stepping(
        rate=optimise(trace(rate, inputs, [("k", ()), ("y", ())])),
        stages=tuple(stages),
        watch=optimise(trace(watch, ports(x=X, k=X, y=2), [("w", ())])),
        fields=(Field("x", 0, 2), Field("k", 1, 2), Field("y", 0, 2), Field("x", 2, 1)),
    )


def make_run(program, count, seed=0, shared=True, every=3):
    rng = np.random.default_rng(seed)
    t = np.arange(EVALUATIONS) * 0.02
    rows = np.full(EVALUATIONS, NEVER)
    rows[::every] = np.arange(len(rows[::every]))
    few = 1 if shared else count
    return Run(
        state=rng.normal(size=(count, X)),
        params=rng.uniform(1, 2, size=(few, P)),
        table=rng.normal(size=(EVALUATIONS, 2, few, S)),
        times=np.stack([t, t + 0.02], 1),
        h=np.full(EVALUATIONS, 0.02),
        rows=rows,
        steps=EVALUATIONS - 1,
        records=[np.full((len(rows[::every]), count, f.size), np.nan) for f in program.fields],
        first=np.full((count, program.watched), NEVER),
        amount=np.zeros((count, program.watched)),
        offset=7,
    )


def equal(a, b):
    """Sines are rounded by different code, so a few units in the last place may differ."""
    pairs = [(a.state, b.state), *zip(a.records, b.records, strict=True), (a.amount, b.amount)]
    close = all(np.allclose(x, y, rtol=1e-13, atol=1e-13, equal_nan=True) for x, y in pairs)
    return close and np.array_equal(a.first, b.first)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 16, 37])
def test_the_loop_is_what_the_interpreter_does(count, shared):
    program = stepping()
    a, b = (make_run(program, count, shared=shared) for _ in range(2))
    Rollout(program).run(a)
    interpret_run(program, b)
    assert equal(a, b)
    assert (a.first >= 7).any() or count < 5


def test_a_rollout_does_not_depend_on_its_neighbours_or_threads():
    program = stepping()
    loop = Rollout(program)
    whole = make_run(program, 50, shared=False)
    one = make_run(program, 50, shared=False)
    with threads(3):
        loop.run(whole)
    with threads(1):
        for k in range(50):
            loop.run(module.some_rollouts(one, slice(k, k + 1)))
    assert np.array_equal(whole.state, one.state) and np.array_equal(whole.first, one.first)
    assert all(np.array_equal(a, b) for a, b in zip(whole.records, one.records, strict=True))


def test_a_run_goes_on_where_it_was():
    program = stepping()
    loop = Rollout(program)
    whole, parts = make_run(program, 5), make_run(program, 5)
    loop.run(whole)
    for begin, end in ((0, 13), (13, 14), (14, EVALUATIONS)):
        part = slice(begin, end)
        piece = Run(
            parts.state, parts.params, parts.table[part], parts.times[part], parts.h[part],
            parts.rows[part], min(end, EVALUATIONS - 1) - begin, parts.records, parts.first,
            parts.amount, parts.offset + begin,
        )  # fmt: skip
        loop.run(piece)
    assert np.array_equal(whole.state, parts.state) and np.array_equal(whole.first, parts.first)
    assert all(np.array_equal(a, b) for a, b in zip(whole.records, parts.records, strict=True))


def test_numbers_that_are_lost_are_noted_once_with_their_time():
    program = stepping()
    run = make_run(program, 11)
    run.state[4] = [np.nan, 0.0, 0.0]
    run.state[9, 1] = np.inf
    Rollout(program).run(run)
    assert run.first[4, 0] == 7 and run.first[9, 1] == 7 and run.first[9, 0] == 8
    assert np.isnan(run.amount[4, 0]) and np.isinf(run.amount[9, 1])
    healthy = [k for k in range(11) if k not in (4, 9)]
    assert (run.first[healthy, :X] == NEVER).all()


def test_nothing_to_watch_is_allowed():
    program = stepping(lambda x, k, y: np.zeros(0))
    a, b = (make_run(program, 9) for _ in range(2))
    Rollout(program).run(a)
    interpret_run(program, b)
    assert equal(a, b) and (a.first == NEVER).all()


def test_code_comes_from_the_cache_the_second_time(monkeypatch):
    program = stepping()
    Rollout(program)
    monkeypatch.setattr(engine, "assemble", None)
    run = make_run(program, 3)
    Rollout(program).run(run)
    assert np.isfinite(run.state).all()


def test_an_empty_run_does_nothing():
    program = stepping()
    run = make_run(program, 0)
    Rollout(program).run(run)
