"""Requests to a running workbench, as its page makes them."""

import base64
import http.client
import json


class Client:
    """One connection to a workbench, which is kept open."""

    def __init__(self, workbench):
        self.guard = workbench.guard
        self.wire = http.client.HTTPConnection("127.0.0.1", self.guard.port, timeout=60)

    def post(self, name, body, **headers):
        """Status and answer of a request; `body` is sent as it is if it is bytes."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        own = {
            "Content-Type": "application/json",
            "Origin": f"http://127.0.0.1:{self.guard.port}",
            **headers,
        }
        self.wire.request("POST", f"/{self.guard.token}/api/{name}", data, own)
        answer = self.wire.getresponse()
        return answer.status, json.loads(answer.read())

    def close(self):
        self.wire.close()


def packed(files, main=None):
    """The body of an upload of {name: content}."""
    listed = [
        {"name": name, "base64": base64.b64encode(_bytes(content)).decode()}
        for name, content in files.items()
    ]
    return {"files": listed} | ({} if main is None else {"main": main})


def _bytes(content):
    return content.encode() if isinstance(content, str) else content
