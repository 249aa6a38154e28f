"""The workflows of the forge, read as text: they cannot be run here."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import kinetree

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github" / "workflows"
if not FOLDER.is_dir():
    pytest.skip("the workflows are not part of this distribution", allow_module_level=True)

TEXTS = {path.name: path.read_text("utf-8") for path in sorted(FOLDER.iterdir())}
# the word "on" is true in YAML 1.1
FLOWS = {name: {**(flow := yaml.safe_load(text)), "on": flow[True]} for name, text in TEXTS.items()}
JOBS = {(name, job): body for name, flow in FLOWS.items() for job, body in flow["jobs"].items()}
STEPS = [(*place, step) for place, job in JOBS.items() for step in job.get("steps", [])]
# jobs that may do more than read the source, and why
MORE = {
    ("release.yml", "attest"): {"id-token": "write", "attestations": "write"},  # signs the files
    ("release.yml", "publish"): {"id-token": "write"},  # shows the package index who it is
    ("release.yml", "page"): {"contents": "write"},  # makes the page of the release
}


def test_actions_are_pinned_to_a_commit_with_its_version():
    pinned = {}
    for text in TEXTS.values():
        for line in re.findall(r"(?m)^.*\buses:.*$", text):
            if "uses: ./" in line:
                continue
            found = re.fullmatch(
                r" +(?:- )?uses: ([\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)", line
            )
            assert found, line
            name, commit, version = found.groups()
            assert pinned.setdefault(name, (commit, version)) == (commit, version), name
    assert len(pinned) == 6


def test_every_python_of_the_package_is_tried_on_every_system():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    words = [x.rpartition(" ")[2] for x in project["classifiers"] if "Python :: 3." in x]
    matrix = JOBS["ci.yml", "conformance"]["strategy"]["matrix"]
    assert matrix["python"] == words
    systems = {"ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "macos-15-intel", "windows-2025"}
    assert set(matrix["system"]) == systems
    assert matrix["exclude"] == [{"system": "macos-15-intel", "python": "3.14"}]
    assert all(cell["may-fail"] for cell in matrix["include"])
    assert any(cell["python"] == f"{words[-1]}t" for cell in matrix["include"])


def test_jobs_may_read_the_source_and_no_more_unless_listed():
    for name, flow in FLOWS.items():
        assert flow["permissions"] == {"contents": "read"}, name
    assert {
        place: job["permissions"] for place, job in JOBS.items() if "permissions" in job
    } == MORE
    for *place, step in STEPS:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False, place


def test_jobs_end_and_do_not_pile_up():
    for flow in FLOWS.values():
        assert "group" in flow["concurrency"]
    for place, job in JOBS.items():
        assert "uses" in job or job["timeout-minutes"] <= 60, place


def test_strangers_cannot_put_words_into_a_script():
    """Titles and branches of a pull request would be part of the script where it is expanded."""
    assert all("pull_request_target" not in flow["on"] for flow in FLOWS.values())
    assert not [place for *place, step in STEPS if "${{" in step.get("run", "")]


def test_targets_of_make_exist_and_all_are_tried():
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8")))
    used = {x for *_, step in STEPS for x in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))}
    assert used == {"lint", "docs", "test", "release-check"} <= targets


def test_the_matrix_installs_what_is_released():
    words = [step.get("run", "") for step in JOBS["ci.yml", "conformance"]["steps"]]
    assert any("pip install" in x and "dist/*.whl" in x for x in words)
    assert "python -m kinetree.testing" in words
    assert not any("checkout" in x.get("uses", "") for x in JOBS["ci.yml", "conformance"]["steps"])
    assert JOBS["release.yml", "ci"] == {"needs": "version", "uses": "./.github/workflows/ci.yml"}
    assert FLOWS["release.yml"]["on"] == {"push": {"tags": ["v*"]}}
    order = ["version", "ci", "attest", "publish", "page"]
    assert [JOBS["release.yml", b]["needs"] for b in order[1:]] == order[:-1]


@pytest.mark.skipif(not shutil.which("bash"), reason="a script of bash")
@pytest.mark.parametrize("tag, code", [("v{}", 0), ("{}", 1), ("v{}.1", 1), ("v9.9.9", 1)])
def test_a_tag_that_is_not_the_version_releases_nothing(tag, code):
    (script,) = (step["run"] for step in JOBS["release.yml", "version"]["steps"] if "run" in step)
    environment = {"PATH": "/usr/bin:/bin", "GITHUB_REF_NAME": tag.format(kinetree.__version__)}
    words = ["bash", "-e", "-c", script]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert f"the version of the source is {kinetree.__version__}\n" in done.stdout
