"""A word to who waits: what takes so long, shown once it does, on a terminal only."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kinetree.base.tables import counted
from kinetree.model import Model

PATIENCE = 0.5  # s before anything is said


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show `text` on the error stream while the block runs, from half a second on."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    status = Console(stderr=True).status(escape(f"{text} ..."))
    shown, done = threading.Lock(), threading.Event()

    def show() -> None:
        with shown:  # never after the end, which waits for this lock
            if not done.is_set():
                status.start()

    timer = threading.Timer(PATIENCE, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        done.set()
        with shown:
            status.stop()


def compiling(words: str, model: Model) -> str:
    """What is said while a kernel is made: of what, and how large it is."""
    return f"compiling {words} of {model.name} ({counted(len(model.joints), 'joint')})"
