"""Handlers for XLA: what they answer, and the code that they are made of."""

import ctypes

import pytest

from kinetree.engine.call.gufunc import InnerLoop
from kinetree.engine.call.plan import strides
from kinetree.engine.compiler.graph import Port
from kinetree.engine.tensors import xla_frame
from kinetree.engine.tensors.xla_code import MODES, CpuHandler
from kinetree.engine.tensors.xla_frame import HANDLER, CallFrame, Metadata, MetadataExtension
from kinetree.errors import CompileError
from tensor_jax import jax
from tensor_robots import arm

llvmlite = pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")


def handler(version=(0, 7)):
    graph = arm().inverse_dynamics.graph
    return CpuHandler(graph, version, 0, InnerLoop("float64", 0, None), 1000)


def asked(function):
    """What a handler says when XLA asks for the version."""
    metadata = Metadata(ctypes.sizeof(Metadata))
    metadata.traits = 99
    question = MetadataExtension(ctypes.sizeof(MetadataExtension), xla_frame.METADATA, None)
    question.metadata = ctypes.pointer(metadata)
    frame = CallFrame(ctypes.sizeof(CallFrame), ctypes.addressof(question))
    assert function(ctypes.byref(frame)) is None
    return metadata.version.major, metadata.version.minor, metadata.traits


def test_the_places_of_fields_are_those_of_the_header():
    """The C structures of XLA's c_api.h, by hand: words of 8 bytes."""
    assert (CallFrame.api.offset, CallFrame.args.offset, CallFrame.rets.offset) == (16, 40, 80)
    assert (xla_frame.Buffers.size.offset, xla_frame.Buffers.items.offset) == (16, 32)
    places = [getattr(xla_frame.Buffer, x).offset for x in ("dtype", "data", "rank", "dims")]
    assert places == [16, 24, 32, 40]
    assert (xla_frame.Api.error_create.offset, xla_frame.Api.stream_get.offset) == (48, 80)


def test_both_kinds_of_handlers_say_their_version(monkeypatch):
    address, _code = handler((0, 7)).load()
    assert asked(HANDLER(address)) == (0, 7, 0)
    monkeypatch.setattr(xla_frame, "version", lambda: (0, 8))
    slow = xla_frame.python_handler(lambda frame: pytest.fail("asked, not called"))
    assert asked(slow) == (0, 8, 0)


def test_the_version_is_that_of_the_installed_jaxlib(monkeypatch, tmp_path):
    major, minor = xla_frame.version()
    assert major == 0 and minor >= 1
    header = tmp_path / "xla" / "ffi" / "api" / "c_api.h"
    header.parent.mkdir(parents=True)
    header.write_text("// nothing")
    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))
    with pytest.raises(CompileError, match="does not define the version"):
        xla_frame.version.__wrapped__()


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "riscv64-unknown-linux-gnu"])
def test_the_code_is_legal_llvm(triple):
    text = handler().emit(triple)
    llvmlite.parse_assembly(text).verify()
    assert ("ldmxcsr" in text) == triple.startswith("x86")


def test_the_code_for_arm_puts_the_mode_back():
    declared, enter, leave = MODES["aarch64"]
    text = handler().emit("arm64-apple-darwin")
    llvmlite.parse_assembly(text).verify()
    assert declared in text and all(line in text for line in (*enter, *leave))


def test_strides_of_rows():
    assert strides(Port("x", (2, 3, 4))) == [96, 32, 8]
    assert strides(Port("x", (5,)), 4) == [4] and strides(Port("x", ())) == []
