"""The README as the page of the package: links that work outside of the repository.

The build calls this file (`[tool.hatch.metadata.hooks.custom]` of pyproject.toml) to make the long
description of the wheel and the sdist. To read the page:

    python tools/package_page.py

A page of a package has no files beside it. Relative links and pictures therefore become addresses
below the address "Source" of `[project.urls]`, at the tag of the version. While the project has no
such address, links are replaced by their text, and a line names the folders of the source
distribution. Links to headings stay. The parts of the README between `<!-- repository: begin -->`
and `<!-- repository: end -->`, such as its movie, are left out if there is no address.
"""

import re
import sys
import tomllib
from pathlib import Path

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # not in a build
    MetadataHookInterface = object

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- repository: begin -->", "<!-- repository: end -->"
OWN_PART = re.compile(f"{BEGIN}\n.*?{END}\n+", re.S)
CODE = re.compile(r"(```.*?```|^    [^\n]*$|`[^`\n]*`)", re.S | re.M)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^()\s]*)\)")
PICTURE = re.compile(r'\b(src|srcset|href)="([^"]*)"')
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:")
FOLDERS = (
    "The documentation (`docs`), the records (`benchmarks/results`) and the examples (`examples`) "
    "are in the source distribution; `make docs` builds the documentation.\n"
)


def package_page(readme: str, source: str | None, version: str) -> str:
    """The text of the page.

    Args:
        readme: the README, Markdown.
        source: address of the repository, without a slash at the end; None if it has none.
        version: the version, whose tag the links lead to.
    """
    if source is None:
        readme = OWN_PART.sub("", readme)
    parts = CODE.split(readme)
    parts[::2] = [_links(part, source, version) for part in parts[::2]]
    page = "".join(parts).replace(BEGIN + "\n", "").replace(END + "\n", "")
    return page if source is not None else f"{page.rstrip()}\n\n{FOLDERS}"


def _links(text: str, source: str | None, version: str) -> str:
    """Plain text, without code, with its links changed."""

    def address(target: str, kind: str) -> str:
        return target if ADDRESS.match(target) else f"{source}/{kind}/v{version}/{target}"

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if ADDRESS.match(target) or target.startswith("#"):
            return found[0]
        if source is None:
            return words
        return f"{picture}[{words}]({address(target, 'raw' if picture else 'blob')})"

    text = LINK.sub(link, text)
    if source is None:
        return text
    return PICTURE.sub(lambda found: f'{found[1]}="{address(found[2], "raw")}"', text)


class PackagePage(MetadataHookInterface):
    """The hook of the build that gives the metadata their long description."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict) -> None:
        """Set the dynamic field `readme`."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        text = package_page(readme, source, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    place = ROOT / project["tool"]["hatch"]["version"]["path"]
    (number,) = re.findall(r'^__version__ = "(.+)"$', place.read_text(encoding="utf-8"), re.M)
    address = project["project"].get("urls", {}).get("Source")
    sys.stdout.write(
        package_page((ROOT / "README.md").read_text(encoding="utf-8"), address, number)
    )
