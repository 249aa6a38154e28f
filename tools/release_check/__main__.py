"""Check that a release can be made of the last commit, and make its files.

    make release-check                         all checks, about five minutes
    python tools/release_check --only build    some of them, by the words below
    python tools/release_check --write-contents    store the list of files after an intended change

It needs Python 3.11 or newer, git and a package index; it installs its tools into `build/release`
and leaves the files of the release in `build/release/dist`: the wheel, the sdist, a bill of
materials (CycloneDX) and SHA256SUMS. It takes the last commit: changes that are not committed are
not part of a release. The exit code is 1 if a check fails.

    version     the citation and the changelog have the version; a tag of the commit is its name
    build       wheel and sdist are built twice, in other folders, times, time zones, languages and
                rights of files, with equal hashes; the wheel of the sdist is that of the tree
    contents    the files of wheel and sdist are those of the commit and of contents.txt
    words       no path of a machine and no key is in the sdist
    metadata    licences, Python versions, and the page of the package, with links that work
    install     the wheel in an empty environment: commands, demo, conformance suite, no conflicts
    extras      every extra can be resolved with the newest and the oldest versions it allows
    bill        the bill of materials of the wheel and of all that was installed with it
"""

import argparse
import shutil
import sys
import time

import archives
import environments
import repository
from common import DIST, PLACE, Failed, Release, note, notes

CHECKS = {
    "version": repository.check_version,
    "build": archives.check_build,
    "contents": archives.check_contents,
    "words": archives.check_words,
    "metadata": archives.check_metadata,
    "install": environments.check_install,
    "extras": environments.check_extras,
    "bill": environments.check_bill,
}
NEEDED = {"contents": "build", "words": "build", "metadata": "build", "install": "build"}
NEEDED |= {"extras": "build", "bill": "install"}


def main(words: list[str] | None = None) -> int:
    """Run the checks in order; a check whose need has failed is left out."""
    parser = argparse.ArgumentParser(
        prog="release_check", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=CHECKS, metavar="CHECK", default=list(CHECKS))
    parser.add_argument("--write-contents", action="store_true")
    given = parser.parse_args(words)
    chosen = {*given.only, *(["contents"] if given.write_contents else [])}
    for name in reversed(CHECKS):  # needs come before what needs them
        if name in chosen and name in NEEDED:
            chosen.add(NEEDED[name])
    begin, failed = time.monotonic(), dict[str, str]()
    shutil.rmtree(DIST, ignore_errors=True)
    PLACE.mkdir(parents=True, exist_ok=True)
    try:
        release = repository.read_release(given.write_contents)
    except Failed as error:
        print(f"release-check: {error}", file=sys.stderr)
        return 1
    print(f"kinetree {release.version}, commit {release.commit[:12]}")
    steps = [name for name in CHECKS if name in chosen]
    for k, name in enumerate(steps, 1):
        run_step(f"[{k}/{len(steps)}] {name}", name, release, failed)
    if failed:
        print(f"\n{len(failed)} of {len(steps)} checks failed: {', '.join(failed)}.")
        return 1
    if "build" in chosen:
        repository.write_sums()
    print(f"\nAll {len(steps)} checks passed in {time.monotonic() - begin:.0f} s.")
    return 0


def run_step(title: str, name: str, release: Release, failed: dict[str, str]) -> None:
    """Run one check and print its result, its notes and its time."""
    if (need := NEEDED.get(name)) in failed:
        failed[name] = f"not run: {need} failed"
        print(f"{title}: {failed[name]}")
        return
    begin = time.monotonic()
    note(f"{title} ...")
    try:
        result = CHECKS[name](release)
        verdict = "ok"
    except Failed as error:
        verdict, result = "FAILED", str(error)
        failed[name] = result
    print(f"{title}: {verdict} ({time.monotonic() - begin:.1f} s): {result}", flush=True)
    for line in notes():
        print(f"    {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
