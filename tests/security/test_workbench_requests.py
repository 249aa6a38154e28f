"""Requests of a browser: none that is too large, unknown or too frequent is carried out."""

import json

import pytest


def announced(door, name, length, *headers):
    """The answer to a request that announces a body and sends none of it."""
    lines = [f"Origin: {door.origin}", "Content-Type: application/json", *headers]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return door.ask(f"/{door.token}/api/{name}", *lines, method="POST")


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(door):
    assert announced(door, "readings", 1 << 26).status == 413
    assert announced(door, "open", 1 << 30).status == 413
    assert announced(door, "open", 10**30).status in (400, 413)


def test_a_body_without_a_length_is_refused(door):
    assert announced(door, "readings", None).status == 411
    assert announced(door, "readings", None, "Transfer-Encoding: chunked").status == 411
    assert announced(door, "readings", 5, "Content-Length: 6").status == 411
    assert announced(door, "readings", "-5").status == 400


def test_a_request_behind_another_is_not_smuggled_in(door):
    """What follows a refused request on its connection is not read as a request."""
    with door.connect() as wire:
        first = door.request(f"/{door.token}/api/robots", ["Content-Length: 0"], "POST")
        wire.sendall(first + door.request(f"/{door.token}/"))
        data = b""
        while piece := wire.recv(65536):
            data += piece
    assert data.count(b"HTTP/1.1 ") == 1 and data.startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("name", ["__class__", "../robots", "open/../robots", "nothing", ""])
def test_unknown_requests_are_refused(door, name):
    answer = door.post(name)
    assert answer.status in (400, 404) and b"built_in" not in answer.body


def test_hostile_values_are_named_and_the_server_goes_on(door):
    deep = {"robot": "given", "q": [0.0, 0.0]}
    for _ in range(200):
        deep = {"robot": "given", "q": [0.0, 0.0], "push": deep}
    for body in (deep, {"robot": ["given"]}, {"robot": "x" * 10**5}, {"robot": {"a": 1}}):
        answer = door.post("readings", body)
        assert answer.status == 400 and len(json.loads(answer.body)["error"]) < 1000
    assert door.post().status == 200
