"""The wheel where it is used: an empty environment, every extra, and the bill of materials."""

import hashlib
import json
import re
import shutil
import tomllib
import uuid
import zipfile
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path

from common import (
    DIST,
    PLACE,
    ROOT,
    Failed,
    Release,
    environment_python,
    note,
    program,
    remark,
    run,
    sha256,
    tools,
)

REPORT = PLACE / "installed.json"
SMALL = {"symbolic": "sympy", "precise": "mpmath", "xacro": "yaml"}  # installed, not resolved alone
# resolved for users; "bench" has peers that exist for few versions of Python
RESOLVED_ONLY_NEWEST = ("bench",)
FONT = "kinetree/present/math.woff2"
FONT_TEXT = "kinetree/present/math_font.txt"


def check_install(release: Release) -> str:
    """Install the wheel in an empty environment, run its commands and its conformance suite."""
    place = PLACE / "empty"
    python = environment_python("empty")
    folder = PLACE / "empty folder"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    clean = {"PYTHONPATH": "", "KINETREE_CACHE_DIR": str(folder / "cache"), "HOME": str(folder)}
    note("installing the wheel in an empty environment ...")
    run(python, "-m", "pip", "install", "--quiet", "--report", REPORT, release.wheel)
    run(python, "-m", "pip", "check", remedy="The dependencies of kinetree exclude each other.")
    command = program(place, "kinetree")

    def ask(*words: str | Path) -> str:
        return run(*words, folder=folder, environment=clean)

    if (found := ask(command, "--version").strip()) != release.version:
        raise Failed(f"`kinetree --version` prints {found}; expected {release.version}.")
    note("kinetree demo ...")
    demo = len(ask(command, "demo").splitlines())
    at = ask(python, "-c", "import kinetree; print(kinetree.__file__)").strip()
    if not Path(at).is_relative_to(place):
        raise Failed(f"kinetree was imported from {at}, not from the installed wheel.")
    done = f"--version, demo ({demo} lines), pip check"
    with zipfile.ZipFile(release.wheel) as archive:
        suite = {"kinetree/testing/__main__.py"} & set(archive.namelist())
    if suite:
        note("python -m kinetree.testing ...")
        text = ask(python, "-m", "kinetree.testing").strip()
        (PLACE / "conformance.txt").write_text(text + "\n", encoding="utf-8")
        remark(text.splitlines()[-1])
        done += ", conformance suite"
    else:
        remark("the conformance suite was not run: the wheel has no kinetree.testing.__main__")
    for extra, module in SMALL.items():
        note(f"installing the extra {extra} ...")
        run(python, "-m", "pip", "install", "--quiet", f"{release.wheel}[{extra}]")
        ask(python, "-c", f"import {module}, kinetree")
    run(python, "-m", "pip", "check", remedy="An extra excludes a dependency of kinetree.")
    return f"{done}; extras {', '.join(SMALL)} installed"


def check_extras(release: Release) -> str:
    """Resolve every extra with the newest and with the oldest versions that its bounds allow."""
    uv = program(PLACE / "tools", "uv")
    tools()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wrong = list[str]()
    counts = list[int]()
    for extra in sorted(project["optional-dependencies"]):
        for way in ("highest", "lowest-direct"):
            if way != "highest" and extra in RESOLVED_ONLY_NEWEST:
                continue
            note(f"resolving {extra}, {way} ...")
            source = PLACE / "extra.in"
            source.write_text(f"kinetree[{extra}] @ {release.wheel.as_uri()}\n", encoding="utf-8")
            try:
                text = run(
                    uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate",
                    "--no-emit-index-url", "--resolution", way, "--only-binary", ":all:", source,
                )  # fmt: skip
            except Failed as error:
                wrong.append(f"{extra} ({way}): {error}")
                continue
            counts.append(len(text.splitlines()))
    if wrong:
        raise Failed("\n    ".join(["correct the bounds in pyproject.toml:", *wrong]))
    number = len(project["optional-dependencies"])
    return (
        f"{number} extras, {len(counts)} resolutions of up to {max(counts)} packages, wheels alone"
    )


def check_bill(release: Release) -> str:
    """Write the bill of materials (CycloneDX 1.6), twice, and compare.

    It is beside the wheel, not in it: it has the wheel's hash. The hashes and licences of the
    dependencies are those of the wheels that were installed here.
    """
    path = DIST / f"kinetree-{release.version}.cdx.json"
    texts = [json.dumps(bill(release), indent=1, sort_keys=True) + "\n" for _ in range(2)]
    if texts[0] != texts[1]:
        raise Failed("two bills of materials of the same wheel differ.")
    hosts = re.findall(r"https?://[^\"\s]+", texts[0].replace("http://cyclonedx.org/schema/", ""))
    if hosts:
        raise Failed(f"the bill of materials has addresses: {', '.join(hosts[:3])}.")
    path.write_text(texts[0], encoding="utf-8", newline="\n")
    return f"{path.name}: {len(json.loads(texts[0])['components'])} components with their hashes"


def bill(release: Release) -> dict:
    """The bill of materials: the wheel, the font in it, and all that was installed with it."""
    report = json.loads(REPORT.read_text(encoding="utf-8"))
    parts = {normal(x["metadata"]["name"]): x for x in report["install"]}
    own = parts.pop("kinetree")
    digest = sha256(release.wheel)
    with zipfile.ZipFile(release.wheel) as archive:
        info = f"kinetree-{release.version}.dist-info/METADATA"
        metadata = HeaderParser().parsestr(archive.read(info).decode())
        font = hashlib.sha256(archive.read(FONT)).hexdigest()
        about = archive.read(FONT_TEXT).decode().strip().splitlines()[0]
    reference = f"pkg:pypi/kinetree@{release.version}"
    where = report["environment"]
    components = [component(name, part) for name, part in sorted(parts.items())]
    components.append(
        {
            "bom-ref": f"{reference}#{FONT}",
            "type": "file",
            "name": FONT,
            "description": about,
            "hashes": [{"alg": "SHA-256", "content": font}],
            "licenses": [{"license": {"id": "LPPL-1.3c"}}],
        }
    )
    known = {"kinetree": reference, **{name: purl(part) for name, part in parts.items()}}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(release.epoch, UTC).isoformat(),
            "component": {
                "bom-ref": reference,
                "type": "library",
                "name": "kinetree",
                "version": release.version,
                "purl": reference,
                "hashes": [{"alg": "SHA-256", "content": digest}],
                "licenses": [{"expression": metadata["License-Expression"]}],
            },
            "properties": [
                {"name": "kinetree:commit", "value": release.commit},
                {
                    "name": "kinetree:installed-on",
                    "value": f"{where['sys_platform']} {where['platform_machine']}, "
                    f"Python {where['python_version']}",
                },
            ],
        },
        "components": components,
        "dependencies": [
            {"ref": known[name], "dependsOn": sorted(needs(part, known))}
            for name, part in sorted({**parts, "kinetree": own}.items())
        ],
    }


def component(name: str, part: dict) -> dict:
    """An installed package: name, version, hash of its wheel and licence, if it states one."""
    metadata = part["metadata"]
    hashes = part["download_info"].get("archive_info", {}).get("hashes", {})
    if "sha256" not in hashes:
        raise Failed(f"the installer reports no SHA-256 of {name}; use a newer pip.")
    found = {
        "bom-ref": purl(part),
        "type": "library",
        "name": name,
        "version": metadata["version"],
        "purl": purl(part),
        "hashes": [{"alg": "SHA-256", "content": hashes["sha256"]}],
    }
    stated = metadata.get("license_expression")
    named = metadata.get("license", "").strip()
    if stated:
        found["licenses"] = [{"expression": stated}]
    elif named and "\n" not in named:
        found["licenses"] = [{"license": {"name": named}}]
    return found


def needs(part: dict, known: dict[str, str]) -> set[str]:
    """The installed packages that a package asks for, whatever the condition."""
    wanted = part["metadata"].get("requires_dist", [])
    names = {normal(re.match(r"[\w.-]+", one)[0]) for one in wanted if "extra ==" not in one}
    return {known[name] for name in names & known.keys()}


def purl(part: dict) -> str:
    """The address of a package that names no host."""
    return f"pkg:pypi/{normal(part['metadata']['name'])}@{part['metadata']['version']}"


def normal(name: str) -> str:
    """The name of a package as an index has it."""
    return re.sub(r"[-_.]+", "-", name).lower()
