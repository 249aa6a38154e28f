"""The page on the command line shows what the program prints: every console block is run."""

import os
import re
import shutil
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command_line.md"
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?")

pytestmark = pytest.mark.skipif(
    os.name != "posix" or not shutil.which("bash"), reason="blocks are lines of a POSIX shell"
)


def commands(block):
    """(line, expected output) of every command of a block."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def words(text):
    """The text with its numbers taken out, spaces alike, and the numbers."""
    plain = " ".join(NUMBER.sub("#", text).split())
    return re.sub("─+", "─", plain), [float(x) for x in NUMBER.findall(text)]


def printed_by(program, line):
    """Output and messages of a line; only one with signs of the shell starts a shell."""
    name, _, arguments = line.partition(" ")
    if name != "kinetree" or set(arguments) & set("|<>;$*'"):
        return program.shell(f"{{ {line}; }} 2>&1", COLUMNS="80").stdout
    ended = program(arguments, code=None, COLUMNS="80")
    return ended.stdout + ended.stderr


@pytest.mark.parametrize("block", BLOCKS, ids=[commands(x)[0][0][:40] for x in BLOCKS])
def test_a_block_prints_what_stands_there(with_own_cache, block):
    program = with_own_cache
    pytest.importorskip("sympy")
    if "check" in block and not (program.folder / "reach.csv").exists():
        pytest.skip("the block that writes the trajectory was not run")
    for line, expected in commands(block):
        output = printed_by(program, line)
        if expected.endswith("...\n"):
            expected = expected.removesuffix("...\n")
            output = "".join(output.splitlines(keepends=True)[: expected.count("\n")])
        text, numbers = words(output)
        shown, printed = words(expected)
        assert text == shown
        # machines differ in the last digit; results of rounding alone are zero
        assert numbers == pytest.approx(printed, rel=1e-9, abs=1e-12)
