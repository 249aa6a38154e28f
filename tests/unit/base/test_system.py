"""The one module that knows the systems, run as each of them with stand-ins for their modules."""

import ast
import errno
import os
import re
import signal
import socket
import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest

import kinetree
from kinetree.base import system

SOURCE = Path(kinetree.__file__).parent
SYSTEMS = ("linux", "darwin", "win32")


class Msvcrt(ModuleType):
    """Locks as Microsoft documents _locking: bytes from the position of the file on, per handle."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self):
        super().__init__("msvcrt")
        self.locked, self.failure = {}, None

    def locking(self, handle, mode, count):
        if self.failure is not None:
            raise OSError(self.failure, os.strerror(self.failure))
        assert mode == self.LK_NBLCK and count == 1
        at = os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR)
        owner = self.locked.get(at)
        if owner is not None and _is_open(owner):
            raise OSError(errno.EACCES, "Permission denied")  # "locking violation"
        self.locked[at] = handle


def _is_open(handle):
    try:
        os.fstat(handle)
    except OSError:
        return False
    return True


@pytest.fixture
def on(monkeypatch):
    """Make this process take itself for one on another system."""
    return lambda name: monkeypatch.setattr(sys, "platform", name)


@pytest.fixture
def windows(on, monkeypatch):
    on("win32")
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt())
    monkeypatch.setattr(system.time, "sleep", lambda seconds: None)
    return sys.modules["msvcrt"]


@pytest.mark.parametrize("chosen", [True, False])
def test_every_system_has_its_folder_for_caches(on, monkeypatch, tmp_path, chosen):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
        if chosen:
            monkeypatch.setenv(name, str(tmp_path / name))
    plain = {"linux": ".cache", "freebsd14": ".cache", "win32": "AppData/Local"}
    own = {"linux": "XDG_CACHE_HOME", "freebsd14": "XDG_CACHE_HOME", "win32": "LOCALAPPDATA"}
    for name, place in ((own if chosen else plain) | {"darwin": "Library/Caches"}).items():
        on(name)
        assert system.user_caches() == tmp_path / place


@pytest.mark.parametrize("name", SYSTEMS)
def test_addresses_of_files_begin_with_a_drive_on_windows_alone(on, name):
    on(name)
    assert system.path_in_uri("/meshes/a.stl") == "/meshes/a.stl"
    drive = "/C:/meshes/a.stl"
    assert system.path_in_uri(drive) == (drive[1:] if name == "win32" else drive)


@pytest.mark.parametrize("name", SYSTEMS)
def test_permissions_are_asked_of_posix_alone(on, name, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 7, raising=False)
    plain = list(os.stat(tmp_path))
    plain[stat.ST_MODE] = stat.S_IFDIR | 0o700

    def status(owner, mode):
        return os.stat_result([stat.S_IFDIR | mode, *plain[1:4], owner, *plain[5:]])

    on(name)
    system.refuse_if_shared(tmp_path, status(7, 0o755))
    for owner, mode, words in ((8, 0o700, "belongs to user 8, expected 7"), (7, 0o720, "mode 720")):
        if name == "win32":
            system.refuse_if_shared(tmp_path, status(owner, mode))
        else:
            with pytest.raises(PermissionError, match=words):
                system.refuse_if_shared(tmp_path, status(owner, mode))


def test_a_lock_of_windows_is_one_byte_beyond_what_others_read(windows, tmp_path):
    path = tmp_path / "study.lock"
    first = system.open_lock(path)
    system.lock(first)
    assert list(windows.locked) == [(os.fstat(first).st_ino, system.LOCKED_BYTE)]
    os.write(first, b"process 1\n")
    assert path.read_bytes() == b"process 1\n"
    second = system.open_lock(path)
    with pytest.raises(system.Taken):
        system.lock(second)
    os.close(first)  # as when its process ends
    system.lock(second)
    system.unlock(path, second)
    assert not path.exists() and not _is_open(second)


def test_only_a_locked_byte_means_that_a_study_is_under_way(windows, tmp_path):
    handle = system.open_lock(tmp_path / "study.lock")
    for failure in (errno.EACCES, errno.EDEADLK):
        windows.failure = failure
        with pytest.raises(system.Taken):
            system.lock(handle)
    for failure in (errno.EINVAL, errno.EIO):
        windows.failure = failure
        with pytest.raises(OSError, match=os.strerror(failure)) as found:
            system.lock(handle)
        assert not isinstance(found.value, system.Taken)
    os.close(handle)


def test_a_lock_file_that_another_study_has_open_stays_on_windows(windows, tmp_path, monkeypatch):
    path = tmp_path / "study.lock"
    handle, closed = system.open_lock(path), []

    def refused(name):
        closed.append(not _is_open(handle))
        raise PermissionError(errno.EACCES, "used by another process")

    monkeypatch.setattr(os, "unlink", refused)
    system.unlock(path, handle)
    assert closed == [True] and path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="flock of POSIX")
@pytest.mark.parametrize("name", ["linux", "darwin"])
def test_a_lock_of_posix_is_removed_before_it_is_free(on, name, tmp_path):
    on(name)
    path = tmp_path / "study.lock"
    first, second = system.open_lock(path), system.open_lock(path)
    system.lock(first)
    with pytest.raises(system.Taken):
        system.lock(second)
    system.unlock(path, first)
    assert not path.exists()
    system.lock(second)
    os.close(second)


@pytest.mark.parametrize("tries", [0, 1, 3, len(system.WAITS), len(system.WAITS) + 1])
def test_windows_replaces_a_file_that_is_open_for_a_moment(windows, tmp_path, monkeypatch, tries):
    plain, seen = os.replace, []

    def busy(source, target):
        seen.append(target)
        if len(seen) <= tries:
            raise PermissionError(errno.EACCES, "Access is denied", str(source), None, str(target))
        plain(source, target)

    monkeypatch.setattr(os, "replace", busy)
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("before")
    new.write_text("after")
    if tries > len(system.WAITS):
        with pytest.raises(
            PermissionError, match="Close it there, or choose another name"
        ) as found:
            system.replace(new, old)
        assert found.value.filename == str(old) and old.read_text() == "before"
    else:
        system.replace(new, old)
        assert old.read_text() == "after" and len(seen) == tries + 1


@pytest.mark.parametrize("name", SYSTEMS)
def test_other_failures_to_replace_are_not_repeated(on, name, tmp_path, monkeypatch):
    on(name)
    seen, kind = [], OSError if name == "win32" else PermissionError

    def full(source, target):
        seen.append(target)
        raise kind("the one message")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="the one message"):
        system.replace(tmp_path / "a", tmp_path / "b")
    assert len(seen) == 1


def test_cores_are_those_of_this_process_where_the_system_knows_them(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    monkeypatch.delattr(os, "process_cpu_count", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda which: {3, 5, 9}, raising=False)
    assert system.cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")  # macOS and Windows
    assert system.cores() == 1
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert system.cores() == 8
    monkeypatch.setattr(os, "process_cpu_count", lambda: 6, raising=False)
    assert system.cores() == 6


def test_forks_are_announced_where_they_exist(monkeypatch):
    seen = []
    monkeypatch.setattr(os, "register_at_fork", lambda **calls: seen.append(calls), raising=False)
    system.on_fork(after_in_child=print)
    system.on_fork(before=print, after_in_parent=len)
    assert seen == [{"after_in_child": print}, {"before": print, "after_in_parent": len}]
    monkeypatch.delattr(os, "register_at_fork")
    system.on_fork(after_in_child=print)
    assert len(seen) == 2


@pytest.mark.parametrize("name", SYSTEMS)
def test_programs_that_end_are_asked_by_the_signals_of_the_system(on, name, monkeypatch):
    on(name)
    seen = []
    monkeypatch.setattr(signal, "SIGBREAK", 21, raising=False)
    monkeypatch.setattr(signal, "SIGHUP", 22, raising=False)
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_DFL)
    monkeypatch.setattr(signal, "signal", lambda number, call: seen.append((number, call)))
    system.on_termination(print)
    expected = [(signal.SIGTERM, print), (21 if name == "win32" else 22, print)]
    assert seen == expected


def test_a_program_under_nohup_outlives_its_terminal(on, monkeypatch):
    on("linux")
    seen = []
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    monkeypatch.setattr(signal, "signal", lambda number, call: seen.append(number))
    system.on_termination(print)
    assert seen == [signal.SIGTERM]


def test_ctrl_c_is_held_back_where_the_system_can(monkeypatch):
    seen = []

    def mask(how, which):
        seen.append((how, which))
        return {signal.SIGTERM}

    for name, value in (("SIG_BLOCK", 0), ("SIG_SETMASK", 2)):
        monkeypatch.setattr(signal, name, value, raising=False)
    monkeypatch.setattr(signal, "pthread_sigmask", mask, raising=False)
    with pytest.raises(KeyError), system.interrupt_held_back():
        assert seen == [(0, {signal.SIGINT})]
        raise KeyError
    assert seen[1:] == [(2, {signal.SIGTERM})]
    monkeypatch.delattr(signal, "pthread_sigmask")  # Windows
    with system.interrupt_held_back():
        assert len(seen) == 2


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_pipe_without_a_reader_is_no_fault(on, name):
    on(name)
    assert system.reader_is_gone(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    odd = OSError(errno.EINVAL, "Invalid argument")  # as Windows reports it
    assert system.reader_is_gone(odd) == (name == "win32")
    assert not system.reader_is_gone(OSError(errno.EINVAL, "Invalid argument", "name?.csv"))
    assert not system.reader_is_gone(OSError(errno.ENOSPC, "No space left on device"))


@pytest.mark.parametrize("encoding", ["", "latin-1"])
@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("name", SYSTEMS)
def test_redirected_output_is_the_same_on_every_system(
    on, name, terminal, encoding, tmp_path, monkeypatch
):
    path = tmp_path / "output"
    with path.open("w", encoding="ascii", newline="\r\n") as stdout:
        stdout.isatty = lambda: terminal
        on(name)
        monkeypatch.setenv("PYTHONIOENCODING", encoding)
        monkeypatch.setattr(sys, "stdout", stdout)
        system.ready_output()
        stdout.write("q\N{GREEK SMALL LETTER TAU}\n")
    ours = name == "win32" and not terminal
    letter = b"\xcf\x84" if ours and not encoding else b"?"
    assert path.read_bytes() == b"q" + letter + (b"\n" if ours else b"\r\n")


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_two_programs_share_a_port(on, name, monkeypatch):
    class Socket:
        options = ()

        def setsockopt(self, *words):
            self.options += (words,)

    on(name)
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", -5, raising=False)
    found = Socket()
    system.claim_port(found)
    option = -5 if name == "win32" else socket.SO_REUSEADDR
    assert found.options == ((socket.SOL_SOCKET, option, 1),)


@pytest.mark.parametrize("name", SYSTEMS)
def test_ctrl_c_is_kept_from_helper_programs(on, name, monkeypatch):
    on(name)
    import subprocess

    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 512, raising=False)
    expected = {"creationflags": 512} if name == "win32" else {"start_new_session": True}
    assert system.own_session() == expected


# Platform tests outside of the module, with the reason for each exception
WORDS = {
    ("engine/llvm/engine.py", "platform.system"): "a word in an error message",
    ("views/movie.py", "os.umask"): "exists on every system",
}
REPORTS = SOURCE / "testing"  # states in a report which machine it runs on
ONLY_THERE = {"signal", "fcntl", "msvcrt", "winreg", "pwd", "grp", "resource", "termios", "tty"}
ONLY_THERE |= {"pty", "select", "syslog"}
ASKED = {
    *("os.name", "sys.platform", "platform.system", "os.uname", "os.fork", "os.geteuid"),
    *("os.getuid", "os.register_at_fork", "os.sched_getaffinity", "os.replace", "os.rename"),
    *("os.cpu_count", "os.kill", "os.killpg", "os.umask", "os.O_NOFOLLOW", "os.O_BINARY"),
    *("sys.getwindowsversion", "socket.SO_REUSEADDR", "socket.SO_EXCLUSIVEADDRUSE"),
}
SUSPECT = "|".join(map(re.escape, ASKED)) + r"|attr\((os|signal|socket)\b"
SUSPECT += rf"|^\s*(import|from) ({'|'.join(ONLY_THERE)})\b"


def _tree(path, pattern):
    """The parsed module, or nothing if its text does not have the pattern: parsing takes time."""
    text = path.read_text("utf-8")
    return ast.parse(text if re.search(pattern, text, re.MULTILINE) else "")


def test_no_other_module_asks_for_the_system():
    found = {
        (str(path.relative_to(SOURCE).as_posix()), word)
        for path in SOURCE.rglob("*.py")
        if path != SOURCE / "base" / "system.py" and REPORTS not in path.parents
        for word in _asked(_tree(path, SUSPECT))
    }
    assert found - set(WORDS) == set(), "kinetree.base.system is the place for these"
    assert set(WORDS) - found == set(), "these exceptions are not needed any more"


def _asked(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            word = f"{node.value.id}.{node.attr}"
            if word in ASKED:
                yield word
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("hasattr", "getattr") and isinstance(node.args[0], ast.Name):
                if node.args[0].id in ("os", "signal", "socket"):
                    yield f"{node.func.id}({node.args[0].id})"
        elif isinstance(node, ast.Import):
            yield from (x.name for x in node.names if x.name in ONLY_THERE)
        elif isinstance(node, ast.ImportFrom) and node.module in ONLY_THERE:
            yield node.module


def test_text_files_name_their_encoding_and_their_ends_of_lines():
    """Windows would take its own code page, and two characters at the end of a line."""
    wrong = [
        f"{path.relative_to(SOURCE)}:{call.lineno}"
        for path in SOURCE.rglob("*.py")
        for call in ast.walk(_tree(path, r"\bopen\(|_text\("))
        if isinstance(call, ast.Call) and not _portable(call)
    ]
    assert not wrong


def _portable(call):
    """True for calls that open no text file, or name encoding and, for writing, newline."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    given = {word.arg for word in call.keywords}
    if name == "write_text":
        return {"encoding", "newline"} <= given
    if name == "read_text":
        return "encoding" in given or len(call.args) == 1
    if name != "open":
        return True
    modes = [
        x.value
        for x in [*call.args, *(word.value for word in call.keywords if word.arg == "mode")]
        if isinstance(x, ast.Constant)
        and isinstance(x.value, str)
        and set(x.value) <= set("rwabt+x")
    ]
    if not modes:  # reads text, unless it is the method of another thing, which takes a name
        return "encoding" in given or (isinstance(call.func, ast.Attribute) and bool(call.args))
    if "b" in modes[0]:
        return True
    return "encoding" in given and (modes[0].startswith("r") or "newline" in given)
