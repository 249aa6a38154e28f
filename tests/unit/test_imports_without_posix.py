"""Every module loads, and the command line works, without what only POSIX systems have."""

import json
import os
import subprocess
import sys

import pytest

# Modules of other packages are loaded first, as this system needs them. Then all that Windows, or
# macOS, lacks is taken away, and this process takes itself for one there.
PROGRAM = r"""
import contextlib, importlib, importlib.util, io, json, os, pathlib, pkgutil, re, signal, sys

platform, report = sys.argv[1:]
MODULES = "fcntl resource pwd grp termios tty pty syslog posix readline curses".split()
NAMES = (
    "fork forkpty register_at_fork geteuid getuid getgid getegid chown fchmod mkfifo mknod getpgid "
    "getpgrp setsid setpgid killpg getloadavg sysconf uname wait3 wait4 openpty nice statvfs "
    "posix_spawn pread pwrite sendfile O_NOFOLLOW O_CLOEXEC O_NONBLOCK"
).split()
SIGNALS = (
    "SIGPIPE SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGCHLD SIGKILL SIGSTOP SIGTSTP SIGCONT SIGQUIT "
    "pthread_sigmask pthread_kill sigwait setitimer alarm SIG_BLOCK SIG_SETMASK"
).split()
ROOMS = dict.fromkeys(["base", "engine", "parallel", "cli"], "darwin")
ONLY_LINUX = ["sched_getaffinity", "sched_setaffinity"]

place = pathlib.Path(importlib.util.find_spec("kinetree").origin).parent
pattern = re.compile(r"^ *(?:import|from) ((?!kinetree)[a-z_][\w.]*)", re.M)
others = {x for path in place.rglob("*.py") for x in pattern.findall(path.read_text("utf-8"))}
known = {"numpy", "cyclopts", "rich", "llvmlite", *sys.stdlib_module_names} - {*MODULES, "msvcrt"}
for name in sorted(others):
    if name.partition(".")[0] in known:
        importlib.import_module(name)
import sysconfig
sysconfig.get_config_vars()
import asyncio, concurrent.futures.process, multiprocessing.popen_spawn_posix
import rich.table, rich.text, rich.traceback

for name in MODULES if platform == "win32" else ():
    sys.modules[name] = None
for name in [*ONLY_LINUX, *NAMES] if platform == "win32" else ONLY_LINUX:
    if hasattr(os, name):
        delattr(os, name)
for name in SIGNALS if platform == "win32" else ():
    if hasattr(signal, name):
        delattr(signal, name)
sys.platform = platform

import kinetree

loaded = 0
for found in pkgutil.walk_packages(kinetree.__path__, "kinetree."):
    # all of them for Windows, which lacks most; macOS differs from Linux in few
    room = found.name.split(".")[1]
    if found.name.rpartition(".")[2] != "__main__" and platform in ("win32", ROOMS.get(room)):
        importlib.import_module(found.name)
        loaded += 1

from kinetree.cli.program import main

answers = []
for words in (["id", "panda", "--json"], ["cache", "info", "--json"]):
    sys.argv = ["kinetree", *words]
    with contextlib.redirect_stdout(io.StringIO()) as answer:
        try:
            main()
        except SystemExit as end:
            assert not end.code, end.code
    answers.append(json.loads(answer.getvalue()))
pathlib.Path(report).write_text(json.dumps([loaded, *answers]), "utf-8")
"""
CACHES = {"win32": ("local",), "darwin": ("home", "Library", "Caches")}


@pytest.fixture(scope="module")
def expected():
    import kinetree as kt

    return kt.robots.panda()


@pytest.mark.parametrize("platform", CACHES)
def test_modules_load_and_commands_work(platform, tmp_path, expected):
    hidden = {"KINETREE_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONIOENCODING"}
    environment = {name: x for name, x in os.environ.items() if name not in hidden}
    environment |= {"LOCALAPPDATA": str(tmp_path / "local"), "HOME": str(tmp_path / "home")}
    report = tmp_path / "report"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, platform, str(report)],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    loaded, torques, cache = json.loads(report.read_text())
    assert loaded > {"win32": 500, "darwin": 100}[platform]
    state = [torques[name] for name in ("q", "dq", "ddq")]
    assert torques["tau"] == expected.inverse_dynamics(*state).tolist()
    assert cache["folder"] == str(tmp_path.joinpath(*CACHES[platform], "kinetree"))
    assert cache["entries"] > 0
