"""A pause of Python's search for garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Leave the garbage collector off for a while, where it was on.

    It looks for cycles among all objects again and again while their number grows. A graph is
    hundreds of thousands of objects without a cycle, and a fifth of the time would go into looking.
    """
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()
