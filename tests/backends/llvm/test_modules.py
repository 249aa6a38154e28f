"""A long module is compiled in pieces, and the code of every function stays the same."""

import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from llvm_graphs import chain

from kinetree.engine.kernel import Kernel
from kinetree.engine.llvm import engine, modules
from kinetree.engine.llvm.programs import Programs
from kinetree.engine.llvm.target import host_target

DEFINED = re.compile(r"^define .*?@([\w.]+)\(", re.MULTILINE)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut everything that can be cut."""
    monkeypatch.setattr(modules, "LONG_FUNCTION", 3)
    monkeypatch.setattr(modules, "SMALLEST_MODULE", 40)
    monkeypatch.setattr(modules, "LARGEST_MODULE", 200)


def text_of(joints: int = 4) -> str:
    return Programs(chain(joints, seed=2)).text("float64")


def test_every_function_is_defined_once(short: None) -> None:
    text = text_of()
    pieces = modules.cut(text)
    assert len(pieces) > 3
    found = [name for piece in pieces for name in DEFINED.findall(piece)]
    assert sorted(found) == sorted(DEFINED.findall(text))
    assert len(set(found)) == len(found)


def test_a_function_that_reads_a_constant_stays_beside_it(short: None) -> None:
    last = modules.cut(text_of())[-1]
    assert "@kernel_two_over_pi = " in last and "@kernel_sincos_careful(" in last
    assert last.count("define internal void @kernel_sincos_careful") + last.count(
        "define hidden void @kernel_sincos_careful"
    )


def test_a_short_text_is_not_cut() -> None:
    text = "define void @nothing() {\nret void\n}\n"
    assert modules.cut(text) == [text]
    assert modules.cut("no text of LLVM\n" * 5000) == ["no text of LLVM\n" * 5000]


def test_functions_need_no_common_name_to_find_each_other(short: None) -> None:
    steps = "".join(f"%v{k + 1} = add i64 %v{k}, {k}\n" for k in range(60))
    text = "".join(
        f"define i64 @{own}(i64 %v0) {{\n{steps}%x = call i64 @{other}(i64 %v60)\nret i64 %x\n}}\n"
        for own, other in (("enter", "by_name"), ("by_name", "whole"), ("whole", "enter"))
    )
    pieces = modules.cut(text)
    assert len(pieces) > 2
    for piece in pieces:
        engine.parse(piece)  # which raises CompileError for a name that is not declared


def test_pieces_compute_the_same_bits(folder: Path, short: None) -> None:
    graph = chain(5, seed=7)
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=(13, *port.shape)) for port in graph.inputs]
    cut = Kernel(graph)
    text = Programs(graph).text("float64")
    target = host_target()
    whole = engine.assemble_module(text, target, engine.level(text))
    assert len(engine.unpack(engine.assemble(text, target))) > 3
    names = ["kernel_quiet", "kernel_call"]
    assert all(engine.load(whole, target, names).address(name) for name in names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modules, "cut", lambda text: [text])
        patch.setenv("KINETREE_CACHE", "off")
        other = Kernel(graph)
    for one, two in zip(results(cut, arrays), results(other, arrays), strict=True):
        assert one.tobytes() == two.tobytes()


def results(kernel: Kernel, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Results of a batch, and of its states one by one."""
    found = [kernel(*arrays), *(kernel(*(x[k] for x in arrays)) for k in range(len(arrays[0])))]
    return [np.asarray(x) for item in found for x in (item if isinstance(item, tuple) else [item])]


def test_objects_in_a_row_are_taken_apart_again() -> None:
    objects = [b"one", b"", b"three" * 100]
    assert engine.unpack(engine.pack(objects)) == objects
    assert engine.unpack(b"\x7fELF and more") == [b"\x7fELF and more"]


def test_damaged_pieces_are_reported(short: None) -> None:
    pieces = engine.unpack(engine.assemble(text_of(), host_target()))
    with pytest.raises(engine.CompileError, match="could not load"):
        engine.load(engine.pack(pieces[:-1]), host_target(), ["kernel_quiet"])


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


def test_no_call_begins_while_a_process_forks() -> None:
    calls = engine.Calls()
    order: list[str] = []
    calls.before_fork()

    def call() -> None:
        with calls:
            order.append("call")

    thread = threading.Thread(target=call)
    thread.start()
    order.append("forked")
    calls.after_fork()
    thread.join()
    assert order == ["forked", "call"]
