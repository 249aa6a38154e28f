"""Messages of a browser: no tunnel, no oversized upload, no flood, no unknown message."""

import time

import msgspec
import numpy as np
import pytest
from security_door import closing_code, frame

from kinetree.views.workbench.guard import MESSAGE_BYTES, MESSAGES_PER_SECOND, UPLOAD_BYTES

POLICY_VIOLATION, TOO_BIG = 1008, 1009


CAMERA = {
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [1.0, 1.0, 1.0],
    "fov": 1.0,
    "near": 0.1,
    "far": 10.0,
    "image_height": 800,
    "image_width": 600,
    "look_at": [0.0, 0.0, 0.0],
    "up_direction": [0.0, 0.0, 1.0],
}


@pytest.fixture
def wire(door, workbench):
    """A connection that has sent its camera, as a page does at first."""
    known = set(workbench.bench.server.get_clients())
    wire, answer = door.websocket()
    assert answer.status == 101
    send(wire, "ViewerCameraMessage", **CAMERA)
    until(lambda: set(workbench.bench.server.get_clients()) - known)
    yield wire
    wire.close()


def send(wire, kind, **fields):
    wire.sendall(frame(msgspec.msgpack.encode({"type": kind, **fields})))


def upload_button(workbench):
    """The element that takes a robot's file."""
    elements = workbench.bench.server.gui._gui_input_handle_from_uuid.values()
    return next(x for x in elements if "robot" in getattr(x, "label", "").lower())


def announce(wire, workbench, size, parts, key="a"):
    send(
        wire,
        "FileTransferStartUpload",
        source_component_uuid=upload_button(workbench)._impl.uuid,
        transfer_uuid=key,
        filename="robot.urdf",
        mime_type="text/xml",
        part_count=parts,
        size_bytes=size,
    )


def until(true):
    """Wait for something to become true; give up after a while."""
    deadline = time.monotonic() + 60
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(true())


def slider_of(workbench, joint):
    elements = workbench.bench.server.gui._gui_input_handle_from_uuid.values()
    return next(x for x in elements if getattr(x, "label", "") == joint)


def alive(workbench, wire):
    """Return True if a message on this connection still moves the robot."""
    target = 0.5 if workbench.bench.state.q[0] < 0.4 else -0.5
    uuid = slider_of(workbench, "joint1")._impl.uuid
    send(wire, "GuiUpdateMessage", uuid=uuid, updates={"value": target})
    return until(lambda: workbench.bench.state.q[0] == target)


def test_the_tunnel_is_dead(workbench, wire, monkeypatch):
    """Neither the message nor the method opens a tunnel."""
    import viser._tunnel

    opened = []
    monkeypatch.setattr(viser._tunnel.ViserTunnel, "__init__", lambda *a, **k: opened.append(a))
    send(wire, "ShareUrlRequest")
    send(wire, "ShareUrlDisconnect")
    assert alive(workbench, wire)  # they were handled by now, in order
    server = workbench.bench.server
    assert not opened and server._share_tunnel is None
    with pytest.raises(Exception, match="never shared"):
        server.request_share_url()
    handlers = server._websock_server._incoming_handlers
    assert not [kind for kind in handlers if "Share" in kind.__name__]


def test_an_upload_that_is_too_large_ends_the_connection(workbench, wire):
    announce(wire, workbench, UPLOAD_BYTES + 1, 40)
    assert closing_code(wire) == POLICY_VIOLATION
    assert not workbench.bench.server.gui._current_file_upload_states


def test_an_upload_cannot_outgrow_its_announcement(workbench, wire):
    announce(wire, workbench, 10, 2)
    for k in range(2):
        uuid = upload_button(workbench)._impl.uuid
        send(
            wire,
            "FileTransferPart",
            source_component_uuid=uuid,
            transfer_uuid="a",
            part_index=k,
            content=bytes(8),
        )
    assert closing_code(wire) == POLICY_VIOLATION


def test_uploads_are_few_at_a_time(workbench, wire):
    for key in "abc":
        announce(wire, workbench, 1000, 1, key)
    assert closing_code(wire) == POLICY_VIOLATION


def test_a_message_that_is_too_large_ends_the_connection(wire):
    wire.sendall(frame(bytes(MESSAGE_BYTES + 1)))
    assert closing_code(wire) == TOO_BIG


def test_a_flood_ends_the_connection(wire):
    message = frame(msgspec.msgpack.encode({"type": "Unknown"}))
    wire.sendall(message * (3 * MESSAGES_PER_SECOND))
    assert closing_code(wire) == POLICY_VIOLATION


@pytest.mark.parametrize(
    "junk",
    [b"", b"\xc1", b"\x93\x01\x02", msgspec.msgpack.encode({"type": "RunJavascript"})],
)
def test_what_is_not_understood_is_dropped(workbench, wire, junk):
    wire.sendall(frame(junk))
    assert alive(workbench, wire)


def test_a_browser_sets_values_and_no_other_field(workbench, wire):
    """The viewer's server would set any field of its record, its callbacks among them."""
    slider = slider_of(workbench, "joint2")
    send(wire, "GuiUpdateMessage", uuid=slider._impl.uuid, updates={"update_cb": []})
    assert alive(workbench, wire) and slider._impl.update_cb


@pytest.mark.parametrize("value", [1e9, -1e9, float("nan"), float("inf")])
def test_values_beyond_a_slider_stay_within_the_limits(workbench, wire, value):
    slider = slider_of(workbench, "joint2")
    send(wire, "GuiUpdateMessage", uuid=slider._impl.uuid, updates={"value": value})
    assert alive(workbench, wire)
    q = workbench.bench.state.q
    assert np.isfinite(q).all() and (np.abs(q) <= np.pi).all()
    if np.isfinite(value):  # taken, and limited to the range
        assert until(lambda: workbench.bench.state.q[1] == np.sign(value) * np.pi)
