"""Work that takes long: what is said meanwhile, and what is not compiled at all."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kinetree as kt
from kinetree.cli.dynamics import FOR_ROWS

LONG = FOR_ROWS + 20
# waits until whoever reads has seen what is shown, so that no clock decides
WAIT = """
    import sys
    from kinetree.cli import output
    output.SPINNER_DELAY_S = {patience}
    with output.waiting("compiling [red]x[/red]"):
        sys.stdin.readline()
    print("done", file=sys.stderr)
"""


def start(program, patience, stderr):
    code = textwrap.dedent(WAIT.format(patience=patience))
    environment = program.environment | {"TERM": "xterm-256color"}
    pipes = {"stdin": subprocess.PIPE, "stderr": stderr}
    return subprocess.Popen([sys.executable, "-c", code], env=environment, bufsize=0, **pipes)


def read_until(master, mark):
    """What a terminal was shown, up to the mark."""
    found = b""
    while mark not in found:
        data = os.read(master, 1 << 12)
        assert data, found
        found += data
    return found


@pytest.mark.parametrize("patience", [0, 1000])
def test_a_terminal_is_told_what_takes_long(program, patience):
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    with start(program, patience, slave) as process:
        os.close(slave)  # so that the terminal ends with the process
        shown = read_until(master, b"compiling [red]x[/red] ...") if patience == 0 else b""
        process.stdin.write(b"\n")
        rest = read_until(master, b"done\r\n")
    os.close(master)
    assert process.returncode == 0
    if patience:
        assert rest == b"done\r\n"  # what is soon over is not worth a word
    else:
        assert b"\x1b[?25h" in rest and b"\x1b[?25l" in shown + rest  # the cursor is back


def test_others_are_told_nothing(program):
    with start(program, 0, subprocess.PIPE) as process:
        process.stdin.write(b"\n")
        assert process.stderr.read().replace(b"\r\n", b"\n") == b"done\n"


@pytest.fixture(scope="module")
def chain(with_own_cache):
    """A hanging chain too long for a kernel of its forward dynamics."""
    built = kt.Builder("chain").link("l0")
    for i in range(LONG):
        built.link(f"l{i + 1}", 1, (0, 0, -0.1), np.eye(3) * 0.01)
        axis = (0, 1, 0) if i % 2 else (1, 0, 0)
        built.joint(f"j{i}", "revolute", f"l{i}", f"l{i + 1}", at=(0, 0, -0.2), axis=axis)
    robot = built.build()
    (with_own_cache.folder / "chain.urdf").write_text(robot.to_urdf(), encoding="utf-8")
    return robot


def test_a_long_chain_is_not_compiled(with_own_cache, chain):
    program = with_own_cache
    found = program.json("fd chain.urdf --q j0=0.3 --tau j5=2")
    q, tau = np.zeros(LONG), np.zeros(LONG)
    q[0], tau[5] = 0.3, 2
    back = kt.algorithms.inverse_dynamics(chain.model, q, np.zeros(LONG), found["ddq"])
    scale = np.abs(kt.algorithms.gravity_forces(chain.model, q)).max()
    assert back == pytest.approx(tau, abs=1e-10 * scale)
    head, rows = program.rows("fd chain.urdf -", (",".join(map(str, q)) + "\n") * 2)
    assert len(head) == LONG and rows[0] == rows[1] and rows[0] != found["ddq"]
    terms = program.json("terms chain.urdf")
    assert np.shape(terms["M"]) == np.shape(terms["C"]) == (LONG, LONG)
    assert list((program.folder / "cache").glob("*")) == []
