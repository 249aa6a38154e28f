"""The contract of laws, checked after a run: they depend on their arguments alone (laws.py)."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from kinetree.core.arrays import Array, read_only
from kinetree.dynamics.joints.tangents import integrate
from kinetree.simulate.core.external import NamedParts
from kinetree.simulate.core.forces import PlainState
from kinetree.simulate.core.outcome import Outcome
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.core.signals import on_cpu
from kinetree.simulate.tuning import CHECKED_STATES, TRIED_TIMES

RolloutState = tuple[float, int, Array]  # time, rollout and (q, dq, z of the controller)


def verify_laws(setup: Setup, outcome: Outcome) -> None:
    """Compare functions of the user with what was compiled, at some states of the motion."""
    check_laws(setup, _some_states(setup, outcome))


def check_laws(setup: Setup, states: Iterable[RolloutState]) -> None:
    """Compare functions of the user with what was compiled, and repeat calls in Python."""
    functions = list(setup.acting.functions())
    if any(function.comparable for function in functions):
        plain = _plain_states(setup, states)
        if plain is None:
            return
        setup.acting.verify(plain)
    for function in functions:
        function.repeat()


def _some_states(setup: Setup, outcome: Outcome) -> Iterator[RolloutState]:
    """Some finite states of a motion, from the last to the first."""
    wrong = on_cpu(outcome.first[outcome.first >= 0])  # from there on there may be no numbers
    end = int(np.searchsorted(outcome.kept, int(wrong.min()), "right")) if len(wrong) else None
    count, rollouts = len(outcome.kept[:end]), len(setup.x0)
    for k, row in enumerate(np.unique(np.linspace(0, count - 1, CHECKED_STATES).astype(int))[::-1]):
        b = k * (rollouts - 1) // (CHECKED_STATES - 1)
        x = np.concatenate(_recorded(setup, outcome, int(row), b, "q", "dq"))
        if np.isfinite(x).all():
            yield float(outcome.times[outcome.kept[row]]), b, x


def _recorded(setup: Setup, outcome: Outcome, row: int, rollout: int, *names: str) -> list[Array]:
    """Records of one state, and then the controller's own state."""
    parts = [np.asarray(on_cpu(outcome.records[x][row, rollout]), float) for x in names]
    size = setup.controller_size
    z = on_cpu(outcome.records["z"][row, rollout])[:size] if size else np.zeros(0)
    return [*parts, np.asarray(z, float)]


def _plain_states(setup: Setup, states: Iterable[RolloutState]) -> list[PlainState] | None:
    """The states with what the controller is given; None if that is on a GPU."""
    acting, external, model = setup.acting, setup.external, setup.model
    chosen = list(states)
    inputs: Sequence[NamedParts] = [{}] * len(chosen)
    if acting.law is not None and (acting.signals or acting.parameters):
        if external.on_gpu:
            return None
        params, times = external.params(setup.batch), np.array([t for t, _, _ in chosen])
        table = external.table(times, np.zeros(len(times), bool), setup.batch)
        rows = [(params[row % len(params)], row % table.shape[1]) for _, row, _ in chosen]
        pairs = zip(rows, table, strict=True)
        inputs = [external.named(p, samples[row]) for (p, row), samples in pairs]
    plain: list[PlainState] = []
    for (t, _, x), parts in zip(chosen, inputs, strict=True):
        q, dq, z = np.split(x, (model.nq, model.nq + model.n))
        plain.append((t, read_only(q), read_only(dq), z, parts))
    return plain


def unbounded_law(
    setup: Setup, outcome: Outcome, before: int, end: float, rollout: int
) -> str | None:
    """The sentence about a law without finite results from the last finite row to beyond the end.

    The state there is that row, moved on with its rates. An adaptive method ends before the time
    from which on it finds no number.
    """
    row, model = max(before - 1, 0), setup.model
    q, dq, ddq, z = _recorded(setup, outcome, row, rollout, "q", "dq", "ddq")
    start = float(outcome.times[outcome.kept[row]])
    spacing = float(np.diff(outcome.times[:2], append=end)[0])
    times = np.linspace(start, end + max(end - start, spacing), TRIED_TIMES)
    with np.errstate(all="ignore"):  # rates beyond the range of floats
        states = [
            (t, rollout, np.concatenate([integrate(model, q, dq * h), dq + ddq * h, z]))
            for t, h in zip(times.tolist(), (times - start).tolist(), strict=True)
        ]
    plain = _plain_states(setup, [x for x in states if np.isfinite(x[2]).all()])
    for function, arguments in setup.acting.calls(plain or (), lambda function: True):
        for args in arguments:
            with np.errstate(all="ignore"):
                results = function(*args)
            for x in (np.asarray(x, float) for x in results):
                if not np.isfinite(x).all():
                    at = [int(i) for i in np.argwhere(~np.isfinite(x))[0]]
                    name = f"{function.name[0].upper()}{function.name[1:]}"
                    return (
                        f"{name} returns {x[tuple(at)]} at {at} near t = {float(args[0]):.6g} s; "
                        "expected finite numbers."
                    )
    return None
