"""Completion by the real shells, of words as they would be typed; skipped where one is missing."""

import os
import shutil
import subprocess
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

from kinetree.cli.arguments import complete_robot, complete_table, files

posix = pytest.mark.skipif(os.name != "posix", reason="shells of POSIX")
WORDS = {
    "kinetree simu": "simulate",
    "kinetree id panda --de": "--degrees",
    "kinetree id panda --fl": "--floating",
    "kinetree export panda --language ju": "julia",
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


@posix
@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script_that_it_can_read(typed, name):
    text = typed(f"completion {name}").stdout
    assert "simulate" in text and "degrees" in text
    path = typed.folder / f"script.{name}"
    path.write_text(text, encoding="utf-8")
    shell(typed, name, "-n", str(path))


def test_completion_is_installed_at_home_once(program):
    home = program.folder / "somewhere"
    home.mkdir()
    for _ in range(2):
        found = program("completion zsh --install", HOME=str(home))
    path = found.stdout.partition("installed as ")[2].partition(";")[0]
    assert path.startswith(str(home))
    assert "simulate" in Path(path).read_text(encoding="utf-8")
    startup = (home / ".zshrc").read_text(encoding="utf-8")
    assert startup.count("fpath=") == startup.count("&& compinit") == 1


def test_a_startup_file_that_completes_is_left_alone(program):
    home = program.folder / "elsewhere"
    home.mkdir()
    (home / ".zshrc").write_text("autoload -U compinit\ncompinit -i\n", encoding="utf-8")
    program("completion zsh --install", HOME=str(home))
    startup = (home / ".zshrc").read_text(encoding="utf-8")
    assert startup.index("fpath=") < startup.index("compinit -i") and "&&" not in startup


def test_files_of_the_right_kind_are_offered(tmp_path, monkeypatch):
    for name in ("a.urdf", "b.csv", "c.txt", ".hidden.urdf", "odd\tname.urdf"):
        try:
            (tmp_path / name).touch()
        except OSError:  # Windows has no such names
            pass
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "D.XML").touch()
    monkeypatch.chdir(tmp_path)
    assert files("", [".urdf"]) == ["a.urdf", "parts/"]
    assert files(".h", [".urdf"]) == [".hidden.urdf"]
    assert files("pa", [".xml"]) == ["parts/D.XML"]
    assert files("pa", [".urdf"]) == ["parts/"]
    assert files(f"{tmp_path}/", [".csv"]) == [f"{tmp_path}/b.csv", f"{tmp_path}/parts/"]
    assert files("nowhere/x", [".csv"]) == []
    assert complete_table(SimpleNamespace(incomplete="b")) == ["b.csv"]
    assert {"panda", "a.urdf"} <= set(complete_robot(SimpleNamespace(incomplete="")))
