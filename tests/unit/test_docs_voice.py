"""The documentation is written in the plain voice of the style guide; every page has a figure."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
OPENED = [page for page in PAGES[1:] if page.stem != "versions"]  # the changelog
# tables of calls and short answers have a figure where one helps
FIGURED = [x for x in OPENED if x.stem != "tasks" and x.parent.name != "answers"]
MOST_WORDS = 30  # of a sentence of the tutorial
FIGURE = re.compile(
    r"```+\{(drawing|plot|scene|picture|gallery|image|figure)\}(.*?)```|!\[[^\]]*\]\(([^)]*)\)",
    re.DOTALL,
)
# Words with which people, not programs and files, are described, and riddles. "Hold" is allowed for
# motors, brakes and samples, and refused for "be true".
MANNERISMS = {
    "tell for report or show": r"\b(?:tells?|told|telling)\b",
    "say for specify": r"\b(?:says|said)\b",
    "hold for be true": r"\bholds? (?:for|true|only if|in general|exactly)\b",
    "no for not a": r"(?<!here )\b(?:is|are) no "
    r"(?!longer\b|more\b|less\b|faster\b|slower\b|better\b|larger\b|smaller\b|other\b)",
    "nobody": r"\bnobody\b|\bno one\b",
    "hands as a verb": r"\bhands (?:it|them|the|over|out|back|on)\b",
    "company": r"\bin (?:any|good|bad) company\b",
    "as ever": r"\bas ever\b",
    "wander": r"\bwander\w*\b",
    "forgive": r"\bforg[ai]v\w*\b",
}


def prose(page: Path) -> str:
    """Text of a page without code, figures, formulas and comments."""
    text = page.read_text("utf8")
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(
        r"^( *)(```+|::::*)\{(?:solution|note|admonition)\}.*$", "", text, flags=re.MULTILINE
    )
    text = re.sub(r"^ *(```+).*?^ *\1 *$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(?:    |\t).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\$\$.*?\$\$", " x ", text, flags=re.DOTALL)
    text = re.sub(r"\$[^$\n]+\$|`[^`\n]+`", "x", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def sentences(text: str) -> list[str]:
    """Sentences of paragraphs, items and cells."""
    blocks = re.split(r"\n\s*\n|\n(?=[-*] |\d+\. |\||#)|\|", text)
    parts = [x for block in blocks for x in re.split(r"(?<=[.!?])[*_)]*\s+(?=[A-Zx(*\[])", block)]
    return [" ".join(part.split()) for part in parts if part.strip(" \n#*-|:")]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_page_has_no_mannerisms(page):
    text = prose(page)
    for what, pattern in MANNERISMS.items():
        found = [" ".join(text[max(0, m.start() - 40) : m.end() + 40].split())
                 for m in re.finditer(pattern, text, re.IGNORECASE)]  # fmt: skip
        assert not found, f"{what}: {found}"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_sentence_that_begins_with_what_is_a_question(page):
    for sentence in sentences(prose(page)):
        words = sentence.lstrip("-*# |")
        assert not words.startswith("What ") or sentence.endswith("?"), sentence


@pytest.mark.parametrize("page", sorted((DOCS / "tutorial").glob("*.md")), ids=lambda x: x.stem)
def test_the_sentences_of_the_tutorial_are_short(page):
    long = [x for x in sentences(prose(page)) if len(x.split()) > MOST_WORDS]
    assert not long, long


def figures(page: Path) -> list[str]:
    """The figures of a page: directives with their settings, or files of pictures."""
    found = FIGURE.finditer(page.read_text("utf8"))
    return [x[3] or f"{x[1]} {' '.join(x[2].split())}" for x in found]


@pytest.mark.parametrize("page", FIGURED, ids=[str(page.relative_to(DOCS)) for page in FIGURED])
def test_a_page_has_a_figure_of_its_own(page):
    others = {figure for other in OPENED if other != page for figure in figures(other)}
    assert set(figures(page)) - others, "the page has no drawing, plot, scene or picture of its own"


@pytest.mark.parametrize("page", OPENED, ids=[str(page.relative_to(DOCS)) for page in OPENED])
def test_a_page_opens_with_what_the_reader_can_do_after_it(page):
    first = re.split(r"\n\s*\n", page.read_text("utf8").split("\n", 1)[1].strip())[0]
    assert page.stem == "index" or re.search(r"\b[Yy]ou (?:can|know)\b", first), first


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("The file tells its name.", "tell for report or show"),
        ("This holds for all robots.", "hold for be true"),
        ("The friction is no function of q.", "no for not a"),
        ("There is no limit, and it is no longer used.", ""),
        ("The brake holds the joint.", ""),
    ],
)
def test_mannerisms_are_found(text, what):
    found = [name for name, pattern in MANNERISMS.items() if re.search(pattern, text)]
    assert found == ([what] if what else [])
