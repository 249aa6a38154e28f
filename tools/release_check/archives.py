"""The wheel and the sdist: equal when built again, with the right files, words and metadata."""

import re
import shutil
import stat
import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

from common import CONTENTS, DIST, PLACE, ROOT, Failed, Release, note, remark, run, sha256, tools

# two builders who share nothing but the commit
BUILDERS = (
    ("first", 0o022, {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}),
    (
        "a second/folder, deeper",
        0o077,
        {"TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2", "USER": "other"},
    ),
)
MADE = {"PKG-INFO", ".gitignore"}  # files of an sdist that the build adds
# patterns of text that belongs to one machine or one person; they do not match themselves
MACHINE = {
    "a path of a machine": re.compile(rb"(?<![\w.])/(?:work|tmp|home|root|Users|mnt)/\w[^\s\"']*"),
    "a path of a machine in Windows": re.compile(rb"[A-Z]:\\+Users\\+\w+"),
    "a private key": re.compile(rb"BEGIN [A-Z ]*PRIVATE" rb" KEY"),
    "a token": re.compile(rb"\b(?:ghp_|gho_|github_pat_|pypi-Ag|AKIA|xox[bp]-)\w{12,}"),
}


def check_build(release: Release) -> str:
    """Build wheel and sdist twice, and the wheel of the sdist; compare the hashes."""
    python = tools()
    shutil.rmtree(PLACE / "builds", ignore_errors=True)
    found = [
        build(release, PLACE / "builds" / place, umask, {**changes}, python)
        for place, umask, changes in BUILDERS
    ]
    for one, other in zip(*found, strict=True):
        if sha256(one) != sha256(other):
            raise Failed(
                f"two builds of {one.name} differ: {first_difference(one, other)}. An archive may "
                "depend on the commit alone: no time, order, user or folder of the builder."
            )
    unpacked = PLACE / "builds" / "unpacked"
    note("building the wheel of the sdist ...")
    with tarfile.open(found[0][0]) as archive:
        archive.extractall(unpacked, filter="data")
    (folder,) = unpacked.iterdir()
    wheel = make(release, folder, ["--wheel"], 0o022, {}, python)[0]
    if sha256(wheel) != sha256(found[0][1]):
        raise Failed(
            "the wheel of the sdist is not the wheel of the tree: "
            f"{first_difference(wheel, found[0][1])}. Add what is missing to the sdist's `include` "
            "in pyproject.toml."
        )
    DIST.mkdir(parents=True)
    for path in found[0]:
        shutil.copy(path, DIST)
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.2f} MB" for path in found[0])
    return f"two builds, one hash each, and the wheel of the sdist is the same; {sizes}"


def build(
    release: Release, place: Path, umask: int, changes: dict[str, str], python: Path
) -> list[Path]:
    """The sdist and the wheel of a fresh clone."""
    note(f"building in {place.name} ...")
    place.parent.mkdir(parents=True, exist_ok=True)
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, place, umask=umask)
    run("git", "checkout", "--quiet", "--detach", release.commit, folder=place, umask=umask)
    return make(release, place, ["--sdist", "--wheel"], umask, changes, python)


def make(
    release: Release,
    folder: Path,
    kinds: list[str],
    umask: int,
    changes: dict[str, str],
    python: Path,
) -> list[Path]:
    """Archives of a folder, made by the locked build tools."""
    epoch = {"SOURCE_DATE_EPOCH": str(release.epoch)}
    run(
        python, "-m", "build", "--no-isolation", *kinds, "--outdir", folder / "dist",
        folder=folder, environment={**epoch, **changes}, umask=umask,
    )  # fmt: skip
    found = sorted((folder / "dist").iterdir(), key=lambda path: path.suffix != ".gz")
    wanted = [release.sdist.name, release.wheel.name][-len(kinds) :]
    if [path.name for path in found] != wanted:
        raise Failed(f"the build made {[x.name for x in found]}; expected {wanted}.")
    return found


def first_difference(one: Path, other: Path) -> str:
    """The first member of two archives that differs, in name, data or attributes."""
    left, right = members(one), members(other)
    for name in sorted(left.keys() | right.keys()):
        if name not in left or name not in right:
            return f"{name} is in one of them alone"
        if left[name][0] != right[name][0]:
            return f"the data of {name}"
        if left[name][1] != right[name][1]:
            return f"{name} has {left[name][1]} and {right[name][1]} (time, rights)"
    return "the order or the packing of the members"


def members(path: Path) -> dict[str, tuple[bytes, tuple[object, ...]]]:
    """Data and attributes (time, rights, owner) of every file of an archive."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {
                x.filename: (archive.read(x), (x.date_time, x.external_attr >> 16))
                for x in archive.infolist()
            }
    with tarfile.open(path) as archive:
        return {
            x.name.partition("/")[2]: (
                taken.read() if (taken := archive.extractfile(x)) else x.linkname.encode(),
                (x.mtime, x.mode, x.uid, x.gid, x.uname, x.gname),
            )
            for x in archive.getmembers()
        }


def check_contents(release: Release) -> str:
    """The modules are those of the commit, the other files those of contents.txt."""
    wheel, sdist = set(members(release.wheel)), set(members(release.sdist))
    info = f"kinetree-{release.version}.dist-info/"
    modules = {name for name in wheel if name.endswith(".py")}
    tracked = {
        name.removeprefix("src/")
        for name in release.tracked
        if name.startswith("src/kinetree/") and name.endswith(".py")
    }
    same("the wheel", "modules of the commit", modules, tracked)
    others = {name.replace(info, "kinetree-VERSION.dist-info/") for name in wheel - modules}
    tops = {PurePosixPath(name).parts[0] for name in sdist - MADE}
    of_tops = {x for x in release.tracked if PurePosixPath(x).parts[0] in tops}
    same("the sdist", f"files of the commit in {', '.join(sorted(tops))}", sdist - MADE, of_tops)
    listed = "\n".join([*sorted(others), *(f"sdist: {x}" for x in sorted(tops | MADE))])
    head = CONTENTS.read_text(encoding="utf-8").splitlines()
    comments = [line for line in head if line.startswith("#")]
    if release.write_contents:
        CONTENTS.write_text("\n".join([*comments, listed]) + "\n", encoding="utf-8", newline="\n")
        remark(f"wrote {CONTENTS.relative_to(ROOT)}: read its difference before you commit it")
    same(
        "the release", f"lines of {CONTENTS.relative_to(ROOT)}", set(listed.splitlines()),
        {line for line in CONTENTS.read_text(encoding="utf-8").splitlines() if line[:1] != "#"},
        "If that is meant, run `python tools/release_check --write-contents`.",
    )  # fmt: skip
    return f"wheel of {len(modules)} modules and {len(others)} other files, sdist of {len(sdist)}"


def same(what: str, expected: str, found: set[str], wanted: set[str], remedy: str = "") -> None:
    """Raise Failed with the differences of two sets of names."""
    extra, missing = sorted(found - wanted), sorted(wanted - found)
    if extra or missing:
        raise Failed(
            f"{what} differs from the {expected}: "
            + "; ".join(
                f"{word} {', '.join(names[:8])}{' ...' if len(names) > 8 else ''}"
                for word, names in (("has also", extra), ("lacks", missing))
                if names
            )
            + f". {remedy}"
        )


def check_words(release: Release) -> str:
    """No file of the sdist has a path of a machine, a key or a token."""
    found, size = list[str](), 0
    for name, (data, _) in members(release.sdist).items():
        size += len(data)
        for what, pattern in MACHINE.items():
            found += [
                f"{name}, line {data[: x.start()].count(10) + 1}: {what} ({shown(x, what)})"
                for x in pattern.finditer(data if b"\0" not in data else b"")
            ]
    if found:
        rest = f" and {len(found) - 8} more" if len(found) > 8 else ""
        raise Failed("; ".join(found[:8]) + rest + ". Remove them from the files.")
    return f"{size / 1e6:.1f} MB of files without paths of a machine, keys and tokens"


def shown(found: re.Match[bytes], what: str) -> str:
    """A path that was found; not a secret."""
    return repr(found[0].decode(errors="replace")) if "path" in what else "not shown"


def check_metadata(release: Release) -> str:
    """Licences, Python versions and rights are set, and the page has no link that leads nowhere."""
    held = members(release.wheel)
    info = f"kinetree-{release.version}.dist-info"
    metadata = HeaderParser().parsestr(held[f"{info}/METADATA"][0].decode())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {
        "Name": "kinetree",
        "Version": release.version,
        "License-Expression": project["project"]["license"],
        "Requires-Python": project["project"]["requires-python"],
        "Description-Content-Type": "text/markdown",
    }
    for field, value in wanted.items():
        if metadata[field] != value:
            raise Failed(f"the metadata state {field}: {metadata[field]}; expected {value}.")
    for name in metadata.get_all("License-File", []):
        if not held.get(f"{info}/licenses/{name}", (b"",))[0].strip():
            raise Failed(f"the wheel has no text of the licence {name}; see license-files.")
    wrong = [name for name, (_, kinds) in held.items() if not rights(kinds[1])]
    if wrong:
        raise Failed(f"{', '.join(wrong[:5])} cannot be read by everyone; expected rights of 644.")
    python = tools()
    run(python, "-m", "twine", "check", "--strict", release.wheel, release.sdist)
    page = PLACE / "page.md"
    page.write_text(metadata.get_payload(), encoding="utf-8")
    size, *relative = run(python, Path(__file__).with_name("page_links.py"), page).split()
    if relative:
        raise Failed(
            f"the page of the package has the relative links {', '.join(relative[:5])}, which lead "
            "nowhere; see tools/package_page.py."
        )
    licences = metadata.get_all("License-File", [])
    return f"{metadata['License-Expression']} ({', '.join(licences)}), page of {size} bytes of HTML"


def rights(mode: object) -> bool:
    """Return True if everyone may read a file of an archive and only its owner may write it."""
    return isinstance(mode, int) and stat.S_IMODE(mode) in (0o644, 0o755)
