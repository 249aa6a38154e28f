"""Print the size of a rendered page of a package, and its links that lead to no address.

python page_links.py page.md        run by the tools of requirements/release.txt
"""

import re
import sys
from pathlib import Path

from readme_renderer import markdown

LINK = re.compile(r'(?:href|src|srcset)="([^"]*)"')
HEADING = re.compile(r'\bid="([^"]*)"')
PREFIX = "user-content-"  # renderers put it before the names of headings; links work without it
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:")


def main(path: str) -> int:
    """Render the Markdown file as package registries do."""
    html = markdown.render(Path(path).read_text(encoding="utf-8"))
    if not html:
        print("the page cannot be rendered", file=sys.stderr)
        return 1
    known = {f"#{x}" for x in HEADING.findall(html)}
    links = {x for x in LINK.findall(html) if not ADDRESS.match(x)}
    print(len(html.encode()), *sorted(links - known - {x.replace(PREFIX, "") for x in known}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
