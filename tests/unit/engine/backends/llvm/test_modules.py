"""A long module is compiled in pieces, and the code of every function stays the same."""

import os
import threading

import pytest
from llvm_graphs import chain

from kinetree.engine.llvm import engine, modules
from kinetree.engine.llvm.programs import Programs
from kinetree.engine.llvm.target import host_target


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut everything that can be cut."""
    monkeypatch.setattr(modules, "LONG_FUNCTION", 3)
    monkeypatch.setattr(modules, "SMALLEST_MODULE", 40)
    monkeypatch.setattr(modules, "LARGEST_MODULE", 200)


def text_of(joints: int = 4) -> str:
    return Programs(chain(joints, seed=2)).text("float64")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_waits_for_llvm(short: None) -> None:
    text, target = text_of(), host_target()
    inside, stop = threading.Event(), threading.Event()

    def compile_on() -> None:
        while not stop.is_set():
            engine.assemble_module(text, target, 0)
            inside.set()

    thread = threading.Thread(target=compile_on)
    thread.start()
    try:
        inside.wait(60)
        for _ in range(3):
            child = os.fork()
            if child == 0:
                os._exit(0 if engine.assemble_module(text, target, 0) else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
