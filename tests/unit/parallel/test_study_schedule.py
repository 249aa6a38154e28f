"""The schedule: chunks in order, a few at a time; lost ones again, a limited number of times."""

from concurrent.futures import Future

import pytest

from kinetree.errors import InputError
from kinetree.parallel import StudyError
from kinetree.parallel.schedule import results


class Lost(Exception):
    """A worker that died."""


class FakeEngine:
    """Answers with `first` as bytes; `trouble` says which attempts at a chunk fail, and how."""

    workers = 2

    def __init__(self, trouble=None, mends=True):
        self.trouble, self.mends = trouble or {}, mends
        self.attempts, self.open, self.most, self.renewed = {}, set(), 0, 0

    def submit(self, first, count):
        attempt = self.attempts[first] = self.attempts.get(first, 0) + 1
        future = Future()
        error = self.trouble.get(first, lambda k: None)(attempt)
        if error == "cancel":
            future.cancel()
        elif error is not None:
            future.set_exception(error)
        else:
            future.set_result(bytes([first]) * count)
        self.open.add(first)
        self.most = max(self.most, len(self.open))
        return future

    def lost(self, error):
        return isinstance(error, Lost)

    def renew(self):
        self.renewed += 1
        return self.mends


def run(engine, total=40, size=3, first=0):
    found = []
    for count, data in results(engine, first, total, size):
        assert len(data) == count
        engine.open.discard(data[0])
        found += [(data[0], count)]
    return found


EVERY = [(k, min(3, 40 - k)) for k in range(0, 40, 3)]


def test_a_study_goes_on_from_where_it_was():
    assert run(FakeEngine(), first=31) == [(31, 3), (34, 3), (37, 3)]
    assert run(FakeEngine(), first=40) == []


def test_chunks_lost_together_are_all_computed_again():
    engine = FakeEngine({k: lambda k: Lost() if k == 1 else None for k in (3, 6, 9)})
    assert run(engine) == EVERY
    assert [engine.attempts[k] for k in (0, 3, 6, 9, 12)] == [1, 2, 2, 2, 1]


def test_a_pool_that_cannot_be_mended_is_named():
    with pytest.raises(StudyError, match="cannot be mended; with executor='processes'"):
        run(FakeEngine({9: lambda k: Lost()}, mends=False))


def test_an_error_of_the_chunk_itself_is_not_tried_again():
    engine = FakeEngine({9: lambda k: InputError("wrong")})
    with pytest.raises(InputError, match="wrong") as caught:
        run(engine)
    assert caught.value.__notes__ == ["in chunk 3 (samples 9 to 11) of the study"]
    assert engine.attempts[9] == 1


def test_a_submit_that_fails_is_tried_again():
    class Broken(FakeEngine):
        def submit(self, first, count):
            if first == 9 and self.attempts.setdefault(9, 0) < 2:
                self.attempts[9] += 1
                raise Lost("broken")
            return super().submit(first, count)

    assert run(Broken()) == EVERY


def test_leaving_cancels_what_has_not_begun():
    engine = FakeEngine()
    waiting = [Future() for _ in range(20)]
    futures = iter(waiting)
    waiting[0].set_result(b"\0\0\0")
    engine.submit = lambda first, count: next(futures)
    stream = results(engine, 0, 40, 3)
    next(stream)
    stream.close()
    assert all(x.cancelled() for x in waiting[1:4])
