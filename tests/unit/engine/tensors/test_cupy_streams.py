"""Streams of others, for the CuPy that has a protocol for them and the one before."""

from types import SimpleNamespace

import pytest

from kinetree.engine.tensors import cupy as adapter
from kinetree.engine.tensors.cupy import on_stream


@pytest.fixture(autouse=True)
def no_streams_yet(monkeypatch):
    monkeypatch.setattr(adapter, "STREAMS", {})


class Noted:
    """A context that notes when it is entered and left."""

    def __init__(self, notes, *said):
        self.notes, self.said = notes, said

    def __enter__(self):
        self.notes.append(("enter", *self.said))

    def __exit__(self, *problem):
        self.notes.append(("leave", *self.said))


def cupy(notes, protocol):
    """As much of CuPy as streams need; ExternalStream is not to be touched where it warns."""

    class Stream:
        pass

    class NewStream:
        @staticmethod
        def from_external(other):
            version, address = other.__cuda_stream__()
            assert type(version) is type(address) is int and version == 0
            assert notes == [("enter", "device", 1)]  # CuPy asks for the current device
            return Noted(notes, "stream", address)

    def external(address, device):
        assert not protocol, "deprecated"
        return Noted(notes, "stream", address, device)

    cuda = SimpleNamespace(
        Device=lambda number: Noted(notes, "device", number),
        Stream=NewStream if protocol else Stream,
        ExternalStream=external,
    )
    return SimpleNamespace(cuda=cuda)


@pytest.mark.parametrize("protocol", [True, False])
@pytest.mark.parametrize("address", [0, 12345])
def test_work_goes_to_the_stream_on_its_device(protocol, address):
    notes, stream = [], ("stream", address) if protocol else ("stream", address, 1)
    with on_stream(cupy(notes, protocol), address, 1):
        notes.append("work")
    within = [("enter", *stream), "work", ("leave", *stream)]
    assert notes == [("enter", "device", 1), *within, ("leave", "device", 1)]


def test_both_are_left_when_the_work_fails():
    notes = []
    with pytest.raises(ZeroDivisionError), on_stream(cupy(notes, True), 5, 1):
        raise ZeroDivisionError
    assert notes[-2:] == [("leave", "stream", 5), ("leave", "device", 1)]


@pytest.mark.parametrize("protocol", [True, False])
def test_a_stream_is_wrapped_once_and_kept(protocol):
    """What CuPy drops it may destroy, and the stream is not ours."""
    notes = []
    module = cupy(notes, protocol)
    for _ in range(3):
        notes.clear()
        with on_stream(module, 5, 1):
            pass
    assert len(adapter.STREAMS) == 1
