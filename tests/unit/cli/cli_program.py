"""The real program in a process of its own, for the tests of the command line."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


class Program:
    """The program in a folder, with a cache of its own; warnings are errors."""

    def __init__(self, folder):
        self.folder = folder
        kept = {key: x for key, x in os.environ.items() if not key.startswith("KINETREE")}
        path = f"{BIN}{os.pathsep}{kept.get('PATH', '')}"
        cache = {"KINETREE_CACHE_DIR": str(folder / "cache")}
        self.environment = kept | cache | {"COLUMNS": "100", "PATH": path, "PYTHONUTF8": "1"}

        self._server = None

    def command(self, line):
        return [sys.executable, "-W", "error", "-m", "kinetree", *words_of(line)]

    def __call__(self, line, stdin="", code=0, **environment):
        """What a command line gives; its exit code is as expected, and there is no traceback."""
        if hasattr(os, "fork"):
            found = self._ask(words_of(line), stdin, environment)
        else:
            found = subprocess.run(
                self.command(line), input=stdin, capture_output=True, text=True, encoding="utf-8",
                cwd=self.folder, env=self.environment | environment, timeout=120,
            )  # fmt: skip
        assert "Traceback" not in found.stdout + found.stderr, found.stderr
        assert code in (None, found.returncode), (found.returncode, found.stderr)
        return found

    def _ask(self, words, stdin, environment):
        """By a process that is running already; see `cli_server`."""
        if self._server is None:
            server = [sys.executable, "-W", "error", str(Path(__file__).with_name("cli_server.py"))]
            self._server = subprocess.Popen(
                server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
                env=self.environment,
            )  # fmt: skip
        request = {"words": words, "stdin": stdin, "environment": environment}
        self._server.stdin.write(json.dumps(request | {"folder": str(self.folder)}) + "\n")
        self._server.stdin.flush()
        code, *texts = json.loads(self._server.stdout.readline())
        return subprocess.CompletedProcess(words, code, *texts)

    def close(self):
        if self._server is not None:
            self._server.stdin.close()
            self._server.wait(60)
            self._server.stdout.close()

    def json(self, line, stdin="", code=0):
        """The JSON that it writes."""
        return json.loads(self(f"{line} --json", stdin, code).stdout)

    def rows(self, line, stdin=""):
        """The CSV that it writes: the names, and rows of numbers."""
        head, *lines = self(line, stdin).stdout.splitlines()
        return head.split(","), [[float(x) for x in row.split(",")] for row in lines]

    def shell(self, line, **environment):
        """What a line of the shell gives, the program found by its name."""
        return subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, text=True,
            encoding="utf-8", cwd=self.folder, env=self.environment | environment, timeout=120,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def start(self, line, **streams):
        """The process itself, with pipes; its output is not buffered here."""
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")} | streams
        return subprocess.Popen(
            self.command(line), cwd=self.folder, env=self.environment, bufsize=0, **pipes
        )


def words_of(line):
    return shlex.split(line) if isinstance(line, str) else list(line)
