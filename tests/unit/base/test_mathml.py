"""Formulas in LaTeX become MathML with TeX's structure and spacing."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kinetree.base.mathml import from_latex
from kinetree.errors import InputError

DOCS = Path(__file__).parents[3] / "docs"


def tree(latex: str, display: bool = False) -> ElementTree.Element:
    return ElementTree.fromstring(from_latex(latex, display=display))


def test_every_formula_of_the_documentation_converts():
    count = 0
    for path in DOCS.rglob("*.md"):
        fence = r"^ *(`{3,}|:{3,})([^`\n]*)\n(.*?)^ *\1 *$"
        text = re.sub(
            fence,
            lambda x: x[3] if x[2].startswith("{") else "",
            path.read_text("utf-8"),
            flags=re.DOTALL | re.MULTILINE,
        )
        text = re.sub(r"^( *```).*?^\1$|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
        for block, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", text, flags=re.DOTALL):
            tree(block or inline)
            count += 1
    assert count > 200


def test_a_term_is_a_group_with_its_name():
    found = tree(r'a + \term{joint "rate"}{A \dot q_i} - \term{b}{c}').findall(".//*[@data-term]")
    assert [part.get("data-term") for part in found] == ['joint "rate"', "b"]
    assert ["".join(part.itertext()) for part in found] == ["Aq˙i", "c"]


def test_an_accent_is_over_its_letter_and_scripts_are_beside_both():
    (script,) = tree(r"\ddot q_i^2").iter("msubsup")
    accent, low, high = script
    assert (accent.tag, accent.get("accent")) == ("mover", "true")
    assert ["".join(x.itertext()) for x in (accent, low, high)] == ["q¨", "i", "2"]


def test_a_sign_is_spaced_only_between_two_operands():
    def minus(latex: str) -> list[str | None]:
        return [mo.get("lspace") for mo in tree(latex).iter("mo") if mo.text == "−"]

    assert minus("a - b") == ["0.2222em"]
    matrix = r"\begin{matrix} a & -b \end{matrix}"
    for alone in ("-b", "a = -b", "(-b)", r"a \times -b", r"\sin -b", "T^-", matrix):
        assert minus(alone) == ["0"], alone
    assert minus("T_{i-1}") == ["0"]  # TeX sets no space in scripts


def test_a_relation_has_no_space_at_the_ends_of_a_formula():
    def spaces(latex: str) -> list[tuple[str | None, str | None]]:
        return [(x.get("lspace"), x.get("rspace")) for x in tree(latex).iter("mo")]

    full = "0.2778em"
    assert spaces("a = b") == [(full, full)]
    assert spaces("V =") == [(full, "0")] and spaces("= V") == [("0", full)]
    assert spaces(r"\begin{aligned} a &= b \end{aligned}") == [(full, full)]


def test_functions_have_a_thin_space_except_before_a_parenthesis():
    assert len(tree(r"7 \cos \theta").findall(".//mspace")) == 2
    assert len(tree(r"\cos(\theta)").findall(".//mspace")) == 0
    assert len(tree(r"\cos\left(\theta\right)").findall(".//mspace")) == 0


def test_delimiters_grow_only_around_tall_things():
    def stretch(latex: str) -> set[str | None]:
        return {mo.get("stretchy") for mo in tree(latex).iter("mo") if mo.text in "()[]"}

    assert stretch(r"\left(\dot q_1^2\right)") == stretch(r"(\frac{a}{b})") == {"false"}
    assert stretch(r"\left(\frac{a}{b}\right)") == {"true"}
    assert stretch(r"\left[\begin{matrix}a\\b\end{matrix}\right]") == {"true"}


@pytest.mark.parametrize("name", ["matrix", "bmatrix", "cases", "aligned"])
def test_tables_keep_rows_and_columns(name):
    table = tree(rf"\begin{{{name}}} a & b \\ c & d \\ e & -f \\ \end{{{name}}}").find(".//mtable")
    assert table is not None
    assert [["".join(cell.itertext()) for cell in row] for row in table] == [
        ["a", "b"],
        ["c", "d"],
        ["e", "−f"],
    ]


def test_characters_mean_the_same_as_their_commands():
    pairs = {r"\theta \times \Lambda": "θ × Λ", r"90\degree \leq q": "90° ≤ q", "a - b": "a − b"}
    for command, character in pairs.items():
        assert from_latex(command) == from_latex(character)


def test_text_is_escaped():
    assert "<b>" not in from_latex(r"\text{<b>} \term{<i>}{a < b}")


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"\unknown x", r"\unknown is not known"),
        ("a }", "'}' has no beginning"),
        ("{a", "} was expected"),
        (r"\frac{a}", "argument is missing"),
        (r"\begin{bmatrix} a", "not closed"),
        (r"\begin{table} a \end{table}", "'table' is not known"),
        ("a_b_c", "a second '_'"),
        (r"\left( a", r"\right was expected"),
    ],
)
def test_errors_name_the_place(latex, words):
    with pytest.raises(InputError, match="at character") as found:
        from_latex(latex)
    assert words in str(found.value)
