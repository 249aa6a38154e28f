"""Messages: no Python syntax, wrapped between words on a terminal only."""

import ast
import os
import re
from pathlib import Path

import pytest

import kinetree
from kinetree.cli.messages import (
    PHRASES,
    translate,
)

SOURCE = Path(kinetree.__file__).parent
# rooms whose messages no command can show: studies, tensors, kernels of one's own, symbols
PYTHON_ONLY = ("parallel", "tensors", "testing", "convert", "backends", "compiler")
# files in which Python is meant for callers of the library: functions that are passed to it
FUNCTIONS_ONLY = (
    "engine/kernels/derivative.py", "simulate/core/laws.py", "simulate/core/sampling.py",
    "simulate/core/sources.py", "simulate/core/controller.py", "simulate/core/external.py",
    "simulate/core/events.py", "simulate/core/forces.py", "optimal/code.py",
)  # fmt: skip
OPTION = r"(limits|method|degrees|strict|floating|mimic|losses|unphysical)"
PYTHON = re.compile(rf"\b{OPTION}=(?!'?true)\S")


def texts_of(path):
    """Every text in a file with its parts joined; placeholders are {}."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {id(x) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for x in n.values}
    nodes = (ast.Module, ast.FunctionDef, ast.ClassDef)
    first = [n.body[0] for n in ast.walk(tree) if isinstance(n, nodes) and n.body]
    docs = {id(x.value) for x in first if isinstance(x, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in parts or id(node) in docs:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(x.value if isinstance(x, ast.Constant) else "{}" for x in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def sources():
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if "sensitivity" in name or "gpu" in name or "templates" in name or "cli/" in name:
            continue
        if name.split("/")[0] not in PYTHON_ONLY and name not in FUNCTIONS_ONLY:
            yield path


def test_options_of_commands_are_not_written_as_python():
    """Whatever a command can show of the library's messages is translated."""
    for path in sources():
        try:
            texts = list(texts_of(path))
        except SyntaxError:  # a template of generated code
            continue
        for text in texts:
            if " " in text and PYTHON.search(text):
                assert not PYTHON.search(translate(text)), (path.name, text)


def test_every_phrase_that_is_translated_is_one_of_the_library():
    known = "\n".join(" ".join(x.split()) for path in sources() for x in safe(path))
    for phrase in PHRASES:
        plain = re.sub(r"\\(.)", r"\1", phrase)
        pieces = re.split(r"\(\[\^ \]\+\)|\(d\+\)|w\+|\(\S+\|[^)]+\)", plain)
        longest = max(pieces, key=len).strip(" ()^").removeprefix("see ")
        assert longest[:40] in known, phrase


def safe(path):
    try:
        return list(texts_of(path))
    except SyntaxError:
        return []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Take a smaller dt or method='auto'.", "Take a smaller --dt or --method auto."),
        ("the joints strict=True and q0=1", "the joints strict=True and q0=1"),
        ("3 warnings and strict=True: a", "3 warnings and --strict refuses them: a"),
        ("in folders= of kt.load (--folder on the command line).", "with --folder."),
    ],
)
def test_python_becomes_options(text, found):
    assert translate(text) == found


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize("columns", [40, 80])
def test_a_terminal_wraps_errors_and_colours_the_first_word(program, columns):
    import pty
    import subprocess

    main, other = pty.openpty()
    environment = program.environment | {"COLUMNS": str(columns), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    words = program.command("id pandda")
    shown = {}
    for name, more in (("plain", {"NO_COLOR": "1"}), ("coloured", {})):
        run = subprocess.run(
            words, stderr=other, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            env=environment | more, cwd=program.folder, timeout=120,
        )  # fmt: skip
        assert run.returncode == 2
        shown[name] = os.read(main, 100_000).decode().replace("\r\n", "\n")
    os.close(main)
    os.close(other)
    lines = shown["plain"].splitlines()
    assert lines[0].startswith("kinetree: there is no robot 'pandda'.") and len(lines) > 2
    assert all(len(line) <= columns for line in lines)
    assert "\x1b[31" not in shown["plain"] and "\x1b[31mkinetree:" in shown["coloured"]
    piped = program("id pandda", code=2).stderr
    assert " ".join(shown["plain"].split()) == piped.strip() and piped.count("\n") == 1
