"""Handlers for XLA: what they answer, and the code that they are made of."""

import pytest

from kinetree.engine.call.gufunc import InnerLoop
from kinetree.engine.tensors import xla_frame
from kinetree.engine.tensors.xla_frame import CallFrame
from kinetree.engine.tensors.xla_handlers import Handler
from kinetree.errors import CompileError
from tensor_jax import jax
from tensor_robots import arm

llvmlite = pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")


def handler(version=(0, 7)):
    graph = arm().inverse_dynamics.graph
    return Handler(graph, InnerLoop("float64", 0, None), version, 1000, 0)


def test_the_places_of_fields_are_those_of_the_header():
    """The C structures of XLA's c_api.h, by hand: words of 8 bytes."""
    assert (CallFrame.api.offset, CallFrame.args.offset, CallFrame.rets.offset) == (16, 40, 80)
    assert (xla_frame.Buffers.size.offset, xla_frame.Buffers.items.offset) == (16, 32)
    places = [getattr(xla_frame.Buffer, x).offset for x in ("dtype", "data", "rank", "dims")]
    assert places == [16, 24, 32, 40]
    assert (xla_frame.Api.error_create.offset, xla_frame.Api.stream_get.offset) == (48, 80)


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
