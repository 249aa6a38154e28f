"""The real program in a process of its own, for the tests of the command line."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


class Server:
    """A process that has kinetree imported and runs many command lines; see `cli_server`."""

    def __init__(self):
        self._process = None

    def ask(self, **request):
        """The exit code, the output and the complaints of one command line."""
        if self._process is None:
            server = [sys.executable, "-W", "error", str(Path(__file__).with_name("cli_server.py"))]
            self._process = subprocess.Popen(
                server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
                env=os.environ | {"PYTHONUTF8": "1"},
            )  # fmt: skip
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait(60)
            self._process.stdout.close()


class Program:
    """The program in a folder; warnings are errors.

    Args:
        folder: where it is started.
        server: runs the command lines that need no process of their own.
        cache: the folder of compiled code; that of the test run unless one is given.
    """

    def __init__(self, folder, server, cache=None):
        self.folder, self._server = folder, server
        kept = {key: x for key, x in os.environ.items() if not key.startswith("KINETREE")}
        path = f"{BIN}{os.pathsep}{kept.get('PATH', '')}"
        kept["KINETREE_CACHE_DIR"] = str(cache or os.environ["KINETREE_CACHE_DIR"])
        self.environment = kept | {"COLUMNS": "100", "PATH": path, "PYTHONUTF8": "1"}

    def command(self, line):
        return [sys.executable, "-W", "error", "-m", "kinetree", *words_of(line)]

    def __call__(self, line, stdin="", code=0, no_reader=False, **environment):
        """What a command line gives; its exit code is as expected, and there is no traceback.

        no_reader: standard output is a pipe that nothing reads any more.
        """
        if hasattr(os, "fork"):
            words = words_of(line)
            answer = self._server.ask(
                words=words, stdin=stdin, folder=str(self.folder),
                environment=self.environment | environment, no_reader=no_reader,
            )  # fmt: skip
            found = subprocess.CompletedProcess(words, *answer)
        else:
            found = subprocess.run(
                self.command(line), input=stdin, capture_output=True, text=True, encoding="utf-8",
                cwd=self.folder, env=self.environment | environment, timeout=120,
            )  # fmt: skip
        assert "Traceback" not in found.stdout + found.stderr, found.stderr
        assert code in (None, found.returncode), (found.returncode, found.stderr)
        return found

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
