"""The rules for requests and messages, tested as functions."""

import socket

import pytest

import kinetree as kt
from kinetree.errors import InputError, KinetreeError
from kinetree.views.workbench.guard import (
    MESSAGES_PER_SECOND,
    UPLOAD_BYTES,
    UPLOADS_AT_ONCE,
    Guard,
    Permit,
    TooMuch,
    address,
    allows,
    judge,
)

GUARD = Guard(8000, "secret")
OWN = ["127.0.0.1:8000"]


def test_the_address_is_let_in():
    path = address(GUARD).removeprefix("http://127.0.0.1:8000")
    assert judge(GUARD, path, OWN, [], False) is None
    assert judge(GUARD, "/secret", OWN, ["http://127.0.0.1:8000"], True) is None
    assert judge(GUARD, "/secret/?websocket=ws://x", OWN, [], False) is None


@pytest.mark.parametrize("hosts", [[], ["evil:8000"], ["127.0.0.1:8000"] * 2, ["127.0.0.1"]])
def test_hosts_are_judged(hosts):
    assert judge(GUARD, "/secret/", hosts, [], False).status == 403


def test_port_80_is_left_out_by_browsers():
    assert judge(Guard(80, "secret"), "/secret/", ["127.0.0.1"], [], False) is None


def test_a_path_below_the_page_is_not_found():
    assert judge(GUARD, "/secret/x", OWN, [], False).status == 404


def update(**fields):
    return {"type": "GuiUpdateMessage", "uuid": "u", "updates": {"value": 1}} | fields


def test_messages_are_listed():
    assert allows(Permit(), b"x", update(), 0.0)
    assert not allows(Permit(), b"x", {"type": "ShareUrlRequest"}, 0.0)
    assert not allows(Permit(), b"x", None, 0.0)
    assert not allows(Permit(), b"x", update(updates={"value": 1, "update_cb": []}), 0.0)
    with pytest.raises(TooMuch):
        allows(Permit(), "text", None, 0.0)


def test_the_pace_is_kept():
    permit = Permit()
    for k in range(20 * MESSAGES_PER_SECOND):  # twenty seconds at the pace
        assert allows(permit, b"x", update(), k / MESSAGES_PER_SECOND)
    with pytest.raises(TooMuch, match="a second"):
        for _ in range(2 * MESSAGES_PER_SECOND + 1):
            allows(permit, b"x", update(), 20.0)


def start(size, parts=1, key="a"):
    return {
        "type": "FileTransferStartUpload",
        "transfer_uuid": key,
        "size_bytes": size,
        "part_count": parts,
    }


def part(content, key="a"):
    return {"type": "FileTransferPart", "transfer_uuid": key, "content": content}


def test_uploads_are_bounded():
    with pytest.raises(TooMuch, match="bytes"):
        allows(Permit(), b"x", start(UPLOAD_BYTES + 1), 0.0)
    with pytest.raises(TooMuch):
        allows(Permit(), b"x", start(10, parts=10**6), 0.0)
    for wrong in (None, "10", -1, True, 1.5):
        assert not allows(Permit(), b"x", start(wrong), 0.0)
    assert not allows(Permit(), b"x", part(b"never announced"), 0.0)
    permit = Permit()
    assert allows(permit, b"x", start(5, 2), 0.0)
    assert allows(permit, b"x", part(b"abc"), 0.0) and allows(permit, b"x", part(b"de"), 0.0)
    assert not permit.uploads


def test_uploads_at_once_are_bounded_and_places_are_given_back():
    permit = Permit()
    for k in range(5 * UPLOADS_AT_ONCE):
        assert allows(permit, b"x", start(1, key=str(k)), 0.0)
        assert allows(permit, b"x", part(b"a", key=str(k)), 0.0)
    for k in range(UPLOADS_AT_ONCE):
        assert allows(permit, b"x", start(1, key=f"open {k}"), 0.0)
    with pytest.raises(TooMuch, match="at once"):
        allows(permit, b"x", start(1, key="one more"), 0.0)


@pytest.mark.parametrize("port", [-1, 65536])
def test_ports_are_numbers_of_ports(port):
    from kinetree.views.workbench.server import listen

    with pytest.raises(InputError, match="--port"):
        listen(port)


def test_a_port_that_is_taken_is_named():
    from kinetree.views.workbench.server import listen

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"Port {port} .*--port"):
            listen(port)


def test_a_server_that_lets_strangers_in_is_stopped(monkeypatch):
    """If the viewer changes so that it cannot be guarded any more, it is stopped."""
    pytest.importorskip("viser")
    from kinetree.views.workbench import server

    monkeypatch.setattr(server, "judge", lambda *_: None)
    with pytest.raises(KinetreeError, match="stranger"):
        server.start_server()


def test_without_viser_the_error_has_the_install_command(monkeypatch):
    import sys

    from kinetree.views.workbench import view

    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(kt.errors.MissingPackageError, match=r"pip install 'kinetree\[view\]'"):
        view(kt.robots.planar_2r(), browser=False)


def test_a_viewer_that_is_too_old_is_an_error(monkeypatch):
    viser = pytest.importorskip("viser")
    from kinetree.views.workbench.server import start_server

    monkeypatch.setattr(viser, "__version__", "0.2.7")
    with pytest.raises(kt.errors.MissingPackageError, match=r"0\.2\.7.*pip install -U"):
        start_server()
