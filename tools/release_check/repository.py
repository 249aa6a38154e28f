"""The commit, its version, its changelog and its tag."""

import re
from pathlib import Path

from common import DIST, ROOT, Failed, Release, remark, run, sha256

VERSION = "src/kinetree/core/versions.py"


def read_release(write_contents: bool) -> Release:
    """The record of the last commit; Failed if this is not a clone."""
    if not (ROOT / ".git").exists():
        raise Failed(f"{ROOT} is not a git clone; the files of a release are those of a commit.")
    commit = run("git", "rev-parse", "HEAD").strip()
    (version,) = re.findall(r'^__version__ = "(.+)"$', committed(VERSION), re.M) or [""]
    if not version:
        raise Failed(f'{VERSION} has no line __version__ = "..."; the version stands there alone.')
    tags = run("git", "tag", "--points-at", "HEAD", "--list", "v*").split()
    if len(tags) > 1:
        raise Failed(f"the commit has the tags {', '.join(tags)}; expected one. Delete the others.")
    if changed := run("git", "status", "--porcelain", "--untracked-files=no").splitlines():
        remark(f"{len(changed)} changed files are not committed and therefore not checked")
    return Release(
        version=version,
        commit=commit,
        tag=tags[0] if tags else "",
        epoch=int(run("git", "log", "-1", "--format=%ct")),
        tracked=frozenset(
            run("git", "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")[:-1]
        ),
        write_contents=write_contents,
    )


def committed(name: str) -> str:
    """The text of a file of the last commit."""
    return run("git", "show", f"HEAD:{name}")


def check_version(release: Release) -> str:
    """The citation and the changelog have the version; a tag has its name, and a date is set."""
    version = release.version
    if f"\nversion: {version}\n" not in committed("CITATION.cff"):
        raise Failed(f"CITATION.cff does not state {version}; write `version: {version}` into it.")
    heads = re.findall(r"^## (\S+) - (\S+)", committed("CHANGELOG.md"), re.M)
    if not heads or heads[0][0] != version:
        found = heads[0][0] if heads else "nothing"
        raise Failed(
            f"CHANGELOG.md begins with {found}, the version is {version}; begin it with a section "
            f"`## {version} - unreleased`, or with the date of the release."
        )
    date = heads[0][1]
    if not release.tag:
        remark(
            f"to release: state the date of {version} in CHANGELOG.md, commit, then "
            f"`git tag v{version}` and `make release-check` again"
        )
        return f"{version}, {date}, no tag"
    if release.tag != f"v{version}":
        raise Failed(
            f"the commit is tagged {release.tag}, its version is {version}; "
            f"expected the tag v{version}. Delete the tag, or change {VERSION}."
        )
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        raise Failed(
            f"CHANGELOG.md states {version} as {date!r}; a tagged version needs its date, such as "
            f"`## {version} - 2026-11-16`. Delete the tag, commit the date and tag again."
        )
    if "not on a package registry" in committed("docs/install.md"):
        remark(
            "docs/install.md states that kinetree is not on a package registry, and so does a row "
            "of README.md; true of this release?"
        )
    return f"{version}, {date}, tag {release.tag}"


def write_sums() -> None:
    """Write SHA256SUMS of the files of the release and print it."""
    files = sorted(path for path in DIST.iterdir() if path.name != "SHA256SUMS")
    text = "".join(f"{sha256(path)}  {path.name}\n" for path in files)
    (DIST / "SHA256SUMS").write_text(text, encoding="ascii", newline="\n")
    print(f"\n{Path(DIST).relative_to(ROOT)}:\n{text}", end="")
