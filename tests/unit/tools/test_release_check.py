"""The checks of a release find planted faults, and name them."""

import io
import json
import re
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools" / "release_check"
sys.path.insert(0, str(TOOLS))

import archives  # noqa: E402
import common  # noqa: E402
import environments  # noqa: E402
import repository  # noqa: E402

sys.path.remove(str(TOOLS))
HOME = "/".join(("", "home", "someone", "arm.urdf"))
FILES = {"kinetree/__init__.py": "x = 1\n", "kinetree/py.typed": ""}
METADATA = "Name: kinetree\nVersion: 1.2.3\nLicense-Expression: Apache-2.0\n"


def wheel(path: Path, files: dict[str, str], mode: int = 0o644, year: int = 2026) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0))
            info.external_attr = mode << 16
            archive.writestr(info, text)
    return path


def sdist(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"kinetree-1.2.3/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


@pytest.fixture
def release(tmp_path, monkeypatch):
    """A release whose files are in a folder of the test."""
    for module in (common, archives, environments):
        monkeypatch.setattr(module, "DIST", tmp_path)
    common.notes()
    return common.Release("1.2.3", "c0ffee", "", 10**9, frozenset(), False)


def with_texts(monkeypatch, changelog: str, citation: str = "\nversion: 1.2.3\n") -> None:
    texts = {"CHANGELOG.md": changelog, "CITATION.cff": citation, "docs/install.md": ""}
    monkeypatch.setattr(repository, "committed", texts.__getitem__)


def tagged(release: common.Release, tag: str) -> common.Release:
    return common.Release(
        release.version, release.commit, tag, release.epoch, release.tracked, False
    )


@pytest.mark.parametrize(
    ("files", "options", "found"),
    [
        ({**FILES, "kinetree/cache.pyc": ""}, {}, "kinetree/cache.pyc is in one of them alone"),
        ({**FILES, "kinetree/py.typed": " "}, {}, "the data of kinetree/py.typed"),
        (FILES, {"mode": 0o600}, r"\(time, rights\)"),
        (FILES, {"year": 2025}, r"\(time, rights\)"),
        (dict(reversed(FILES.items())), {}, "the order"),
    ],
)
def test_a_difference_of_two_builds_is_named(tmp_path, files, options, found):
    one, other = wheel(tmp_path / "a.whl", FILES), wheel(tmp_path / "b.whl", files, **options)
    assert common.sha256(one) != common.sha256(other)
    assert re.search(found, archives.first_difference(one, other))


def test_paths_of_a_machine_and_secrets_are_found_and_secrets_not_shown(release):
    token = "ghp_" + "a1" * 15
    sdist(release.sdist, {"README.md": "fine\n", "a.md": f"one\n{HOME}\n", "b.py": token})
    with pytest.raises(common.Failed) as failed:
        archives.check_words(release)
    text = str(failed.value)
    assert "a.md, line 2: a path of a machine" in text and "b.py, line 1: a token" in text
    assert token not in text and "README.md" not in text


def test_words_without_faults_pass(release):
    sdist(release.sdist, {"README.md": "see docs/home/page.md and https://example.org/home/x\n"})
    assert "without paths of a machine" in archives.check_words(release)


def test_files_that_are_missing_or_too_many_are_named():
    with pytest.raises(common.Failed, match=r"has also junk\.o; lacks py\.typed"):
        archives.same("the wheel", "list", {"a.py", "junk.o"}, {"a.py", "py.typed"})


def test_a_changelog_without_the_version_is_named(release, monkeypatch):
    with_texts(monkeypatch, "# Changelog\n\n## 1.2.2 - 2026-01-01\n")
    with pytest.raises(common.Failed, match=r"begins with 1\.2\.2, the version is 1\.2\.3"):
        repository.check_version(release)


def test_a_citation_without_the_version_is_named(release, monkeypatch):
    with_texts(monkeypatch, "## 1.2.3 - unreleased\n", "\nversion: 1.2.2\n")
    with pytest.raises(common.Failed, match=r"CITATION\.cff does not state 1\.2\.3"):
        repository.check_version(release)


def test_a_tag_needs_the_name_of_the_version_and_a_date(release, monkeypatch):
    with_texts(monkeypatch, "## 1.2.3 - unreleased\n")
    assert "no tag" in repository.check_version(release)
    with pytest.raises(common.Failed, match=r"expected the tag v1\.2\.3"):
        repository.check_version(tagged(release, "v1.2.4"))
    with pytest.raises(common.Failed, match="a tagged version needs its date"):
        repository.check_version(tagged(release, "v1.2.3"))
    with_texts(monkeypatch, "## 1.2.3 - 2026-11-16\n")
    assert "tag v1.2.3" in repository.check_version(tagged(release, "v1.2.3"))


def test_a_program_that_fails_is_shown_with_its_last_lines(tmp_path):
    program = "import sys; print('first'); sys.exit('the reason')"
    with pytest.raises(common.Failed, match=r"ended with 1(?s:.*)the reason"):
        common.run(sys.executable, "-c", program, folder=tmp_path)


def test_the_bill_of_materials_has_hashes_and_is_the_same_twice(release, tmp_path, monkeypatch):
    files = {
        "kinetree-1.2.3.dist-info/METADATA": METADATA,
        environments.FONT: "font",
        environments.FONT_TEXT: "A font\n",
    }
    wheel(release.wheel, files)
    part = {
        "metadata": {"name": "NumPy", "version": "2.0", "license_expression": "BSD-3-Clause"},
        "download_info": {"archive_info": {"hashes": {"sha256": "ab" * 32}}},
    }
    own = {"metadata": {"name": "kinetree", "version": "1.2.3", "requires_dist": ["numpy>=1.26"]}}
    where = {"sys_platform": "linux", "platform_machine": "x86_64", "python_version": "3.11"}
    report = tmp_path / "installed.json"
    report.write_text(json.dumps({"install": [part, own], "environment": where}))
    monkeypatch.setattr(environments, "REPORT", report)
    assert "2 components" in environments.check_bill(release)
    bill = json.loads((tmp_path / "kinetree-1.2.3.cdx.json").read_text())
    assert bill["metadata"]["component"]["hashes"][0]["content"] == common.sha256(release.wheel)
    assert bill["metadata"]["timestamp"] == "2001-09-09T01:46:40+00:00"
    assert [x["name"] for x in bill["components"]] == ["numpy", environments.FONT]
    assert bill["dependencies"][0] == {
        "ref": "pkg:pypi/kinetree@1.2.3",
        "dependsOn": ["pkg:pypi/numpy@2.0"],
    }
    del part["download_info"]["archive_info"]["hashes"]["sha256"]
    report.write_text(json.dumps({"install": [part, own], "environment": where}))
    with pytest.raises(common.Failed, match="no SHA-256 of numpy"):
        environments.check_bill(release)
