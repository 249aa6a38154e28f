"""Values that are made once, whichever thread asks first."""

import threading

import pytest

from kinetree.core.system import once


def test_threads_that_ask_at_the_same_time_get_the_same_value():
    begun, made = threading.Barrier(8), []

    @once
    def value():
        made.append(None)
        threading.Event().wait(0.01)  # another thread runs meanwhile
        return object()

    found = []

    def ask():
        begun.wait()
        found.append(value())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len(set(map(id, found))) == 1


def test_an_error_is_not_kept():
    results = [ValueError("not yet"), 3]

    @once
    def value():
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    with pytest.raises(ValueError, match="not yet"):
        value()
    assert value() == value() == 3
