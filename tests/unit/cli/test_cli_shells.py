"""Completion by the real shells, of words as they would be typed; skipped where one is missing."""

import os
import shutil
import subprocess
import textwrap

import pytest

posix = pytest.mark.skipif(os.name != "posix", reason="shells of POSIX")
WORDS = {
    "kinetree simu": "simulate",
    "kinetree id panda --de": "--degrees",
    "kinetree id panda --fl": "--floating",
    "kinetree export panda --language ma": "matlab",
    "kinetree info quad": "quadruped",
    "kinetree info my_": "my_robot.urdf",
    "kinetree info mod": "models/deep/leg.xml",
    "kinetree id panda sta": "states.csv",
    "kinetree simulate panda --forces sta": "states.csv",
    "kinetree cache cl": "clear",
}


@pytest.fixture(scope="module")
def typed(program):
    """The program in a folder with files to complete, and a home where scripts are installed."""
    (program.folder / "models" / "deep").mkdir(parents=True)
    (program.folder / "home").mkdir()
    for name in ("my_robot.urdf", "my_notes.txt", "states.csv", "models/deep/leg.xml"):
        (program.folder / name).touch()
    return program


def shell(typed, name, *words):
    """What a shell prints with the installed script; the home is the folder of the test."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    home = str(typed.folder / "home")
    installed = typed.folder / f"installed.{name}"
    if not installed.exists():
        typed(f"completion {name} --install", HOME=home)
        installed.touch()
    found = subprocess.run(
        [name, *words], capture_output=True, text=True, encoding="utf-8", cwd=typed.folder,
        env=typed.environment | {"HOME": home, "ZDOTDIR": home, "TERM": "xterm"}, timeout=120,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout


@posix
@pytest.mark.parametrize("line", WORDS)
def test_bash_completes(typed, line):
    words = line.split(" ")
    given = " ".join(f"'{x}'" for x in words)
    script = (
        f"source ~/.bashrc; COMP_WORDS=({given}); COMP_CWORD={len(words) - 1}; "
        '_kinetree; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert shell(typed, "bash", "-c", script).split() == [WORDS[line]]


@posix
@pytest.mark.parametrize("line", WORDS)
def test_fish_completes(typed, line):
    found = shell(typed, "fish", "-c", f"complete -C '{line}'")
    assert [x.partition("\t")[0] for x in found.splitlines()] == [WORDS[line]]


# types a line and a tab on a terminal of its own, and asks the line editor what stands there then
ZSH = textwrap.dedent(r"""
    zmodload zsh/zpty
    zpty inner zsh -i
    zpty -w inner 'tell() { zle -I; print -r -- "FOUND[$BUFFER]"; BUFFER= }; zle -N tell;
        bindkey "^X" tell; bindkey "^I" complete-word; print READ"Y"'
    zpty -r -m inner seen '*READY*'
    for line in "$@"; do
        zpty -w -n inner "$line"$'\t\x18'
        zpty -r -m inner seen '*FOUND*\]*'
        print -r -- "${${seen##*FOUND\[}%%\]*}"
    done
    zpty -d inner
""")


@posix
def test_zsh_completes(typed):
    found = shell(typed, "zsh", "-f", "-c", ZSH, "zsh", *WORDS).splitlines()
    words = [line.split(" ")[-1] for line in WORDS]
    lines = zip(WORDS, words, WORDS.values(), strict=True)
    assert [x.strip() for x in found] == [
        line.removesuffix(word) + whole for line, word, whole in lines
    ]
