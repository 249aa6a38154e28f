r"""LaTeX formulas as MathML: `from_latex`, and the style sheet that they need: `formula_style`.

The subset of LaTeX is that of our pages, of the documentation and of SymPy's output: letters with
accents and scripts, fractions, roots, functions, delimiters of any size, matrices, cases and
aligned lines. Spacing follows TeX: every atom has a class (ordinary, operator, binary, relation,
opening, closing, punctuation) and the space between two atoms follows from their classes.
Browsers have other rules of their own, so attributes are written where these differ.

`\term{name}{...}` is an extension: a group that a page can find by its attribute data-term.
"""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from importlib.resources import files

from kinetree.core.math_symbols import (
    ACCENTS,
    ALIGNED,
    BARS,
    BIG_OPERATORS,
    BIN,
    CAPITALS,
    CHARACTERS,
    CLOSE,
    FENCES,
    FONTS,
    FUNCTIONS,
    GREEK,
    IGNORED,
    LEANS,
    LETTERS,
    LIMITS,
    OP,
    OPEN,
    ORD,
    OVER,
    PLAIN,
    PUNCT,
    REL,
    SIZES,
    SLANTS,
    SPACE,
    SPACES,
    SYMBOLS,
    UNDER,
    in_alphabet,
    italic,
)
from kinetree.errors import InputError, visible

SPACED = {BIN: "0.2222em", REL: "0.2778em"}  # on both sides, where there is something to separate
NEVER_STRETCHED = "+−±×⋅=≤≥≠≈∈"
THIN = '<mspace width="0.1667em"></mspace>'

TOKEN = re.compile(r"\\(operatorname\*|[A-Za-z]+|.)|(\s+)|(.)", re.DOTALL)


@dataclass(frozen=True)
class Atom:
    """A part of a formula: its markup, its class in TeX, and how it takes scripts.

    sign: the character of a bare operator, whose <mo> is written when its neighbours are known.
    letter: the slanted letter that it is, perhaps with an accent.
    below: its indices go below and above it in displayed formulas.
    tall: higher than a line, so that delimiters around it grow.
    inner: an expression in grown delimiters, which TeX sets apart by a thin space.
    """

    markup: str
    kind: int = ORD
    sign: str = ""
    letter: str = ""
    below: bool = False
    tall: bool = False
    inner: bool = False


def from_latex(text: str, *, display: bool = False) -> str:
    r"""A formula in LaTeX, without dollar signs, as a <math> element.

    Args:
        text: the formula; `\term{name}{...}` in it becomes <mrow data-term="name">...</mrow>.
        display: on a line of its own, with large sums and fractions.
    """
    parser = _Parser(text)
    body = _row(parser.atoms(), script=False)
    if parser.peek():
        raise parser.wrong(f"{parser.peek()!r} has no beginning")
    block = ' display="block"' if display else ""
    return f"<math{block}><mrow>{body}</mrow></math>"


@cache
def formula_style() -> str:
    """The style sheet of formulas, with their font inside, for a page that fetches nothing."""
    folder = files(__package__ or "")
    font = base64.b64encode(folder.joinpath("math.woff2").read_bytes()).decode()
    style = folder.joinpath("math.css").read_text(encoding="utf-8")
    return style.replace('"math.woff2"', f'"data:font/woff2;base64,{font}"')


def row(*parts: str) -> str:
    """Markup of several parts as one group."""
    return f"<mrow>{''.join(parts)}</mrow>"


class _Parser:
    """Reads tokens from left to right; every method leaves the place after what it read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.font = ""
        self.depth = 0  # of scripts

    def wrong(self, what: str) -> InputError:
        return InputError(
            f"The formula '{self.text}' cannot be converted to MathML: {what}, at character "
            f"{self.place + 1}. Write it with the commands that kinetree.core.mathml lists."
        )

    def peek(self) -> str:
        """The next token without spaces: a character, or a command with its backslash."""
        while True:
            match = TOKEN.match(self.text, self.place)
            if match is None:
                return ""
            if match[2] is None or self.font == "text":
                return match[0]
            self.place = match.end()

    def take(self) -> str:
        token = self.peek()
        self.place += len(token)
        return token

    def expect(self, token: str) -> None:
        found = self.take()
        if found != token:
            raise self.wrong(f"{token} was expected and {found or 'the end'} was found")

    def atoms(self, *ends: str) -> list[Atom]:
        """Atoms up to one of the tokens, which is left, or to a closing brace or the end."""
        atoms: list[Atom] = []
        while (token := self.peek()) and token not in ends and token not in ("}", "&", "\\\\"):
            if token in ("\\right", "\\end", "\\middle"):
                break
            atom = self.scripted(atoms)
            if atom is not None:
                atoms.append(atom)
        return atoms

    def scripted(self, before: list[Atom]) -> Atom | None:
        """An atom with its subscript and superscript."""
        if self.peek() in ("_", "^", "'"):
            atom: Atom | None = Atom("<mrow></mrow>")  # scripts before a letter, as in {}^i X_j
        else:
            atom = self.atom(before)
        low = high = ""
        while (token := self.peek()) in ("_", "^", "'") or token in ("\\limits", "\\nolimits"):
            self.take()
            if token == "_" and not low:
                low = self.script()
            elif token == "^" and "mrow" not in high:
                high = row(high, self.script()) if high else self.script()
            elif token == "'":
                high += "<mo>′</mo>"
            elif token in ("_", "^"):
                raise self.wrong(f"a second {token!r} for one letter")
        if atom is None or not (low or high):
            return atom
        core = _operator(atom, self.depth > 0) if atom.sign else atom.markup
        if high and not atom.below and (slant := SLANTS.get(atom.letter)):
            high = row(_space(slant / 70), high)  # an em of a superscript has 0.7 em
        names = ("munder", "mover", "munderover") if atom.below else ("msub", "msup", "msubsup")
        high = row(high) if high.count("<mo>′") > 1 else high
        name = names[2 if low and high else 1 if high else 0]
        return replace(atom, markup=f"<{name}>{core}{low}{high}</{name}>", sign="", letter="")

    def script(self) -> str:
        self.depth += 1
        markup = self.argument()
        self.depth -= 1
        return markup

    def argument(self) -> str:
        """A group in braces or a single token, as one element."""
        atoms = self.group()
        if len(atoms) == 1 and not atoms[0].sign:
            return atoms[0].markup
        return row(_row(atoms, self.depth > 0)) if len(atoms) != 1 else _operator(atoms[0], True)

    def group(self) -> list[Atom]:
        token = self.peek()
        if token == "{":
            self.take()
            atoms = self.atoms()
            self.expect("}")
            return atoms
        if not token or token in ("}", "&"):
            raise self.wrong("an argument is missing")
        if token.isdigit():
            return [Atom(f"<mn>{self.take()}</mn>")]
        atom = self.atom([])
        return [] if atom is None else [atom]

    def raw(self) -> str:
        """A group in braces as plain text."""
        self.peek()
        self.expect("{")
        end = self.text.find("}", self.place)
        if end < 0:
            raise self.wrong("a closing brace is missing")
        found, self.place = self.text[self.place : end], end + 1
        return found

    def atom(self, before: list[Atom]) -> Atom | None:
        token = self.take()
        if token == "{":
            self.place -= 1
            atoms = self.group()
            if len(atoms) == 1 and not atoms[0].sign:
                return replace(atoms[0], kind=ORD)
            return Atom(row(_row(atoms, self.depth > 0)), tall=any(x.tall for x in atoms))
        if token in CAPITALS.values():
            return Atom(f'<mi mathvariant="normal">{token}</mi>')
        if token.isalpha():
            return self.letters(token)
        if token.isdigit():
            match = re.compile(r"[\d]*(\.\d+)?").match(self.text, self.place)
            digits = match[0] if match else ""
            self.place += len(digits)
            return Atom(f"<mn>{token}{digits}</mn>")
        if token in BARS:
            opens = not before or before[-1].kind in (BIN, REL, OPEN, PUNCT, OP)
            return Atom("", OPEN if opens else CLOSE, BARS[token])
        if token == "~":
            return Atom('<mspace width="0.3333em"></mspace>', SPACE)
        if token.startswith("\\"):
            return self.command(token[1:])
        if token in SYMBOLS:
            return Atom("", *SYMBOLS[token])
        if token in CHARACTERS:
            return Atom("", CHARACTERS[token], token)
        if token in PLAIN:
            return Atom(f"<mi>{escape(token)}</mi>")
        if token.isspace():
            return Atom("<mtext>\u00a0</mtext>")
        raise self.wrong(f"the character {token!r} is not known")

    def letters(self, first: str) -> Atom:
        """A letter; letters of an upright word are one element."""
        if self.font in ("normal", "italic"):
            match = re.compile(r"[A-Za-z]*").match(self.text, self.place)
            word = first + (match[0] if match else "")
            self.place += len(word) - 1
            upright = self.font == "normal" and len(word) == 1
            if self.font == "italic" and len(word) > 1:
                word = "".join(map(italic, word))
            letter = word if self.font == "italic" else ""
            markup = f'<mi mathvariant="normal">{word}</mi>' if upright else f"<mi>{word}</mi>"
            return Atom(markup, letter=letter)
        letter = in_alphabet(first, self.font)
        return Atom(f"<mi>{letter}</mi>", letter=letter)

    def command(self, name: str) -> Atom | None:
        if name in GREEK:
            return Atom(f"<mi>{GREEK[name]}</mi>", letter=GREEK[name])
        if name in CAPITALS:
            return Atom(f'<mi mathvariant="normal">{CAPITALS[name]}</mi>')
        if name in LETTERS:
            return Atom(f"<mi>{escape(LETTERS[name])}</mi>")
        if name in SPACES:
            return Atom(f'<mspace width="{SPACES[name]}"></mspace>', SPACE)
        if name in SYMBOLS:
            return Atom("", *SYMBOLS[name])
        if name in FUNCTIONS or name in LIMITS:
            return Atom(f"<mi>{name}</mi>", OP, below=name in LIMITS)
        if name in BIG_OPERATORS:
            below = name != "int"
            sign = f'<mo lspace="0" rspace="0.1667em">{BIG_OPERATORS[name]}</mo>'
            return Atom(sign, OP, below=below, tall=True)
        if name in IGNORED:
            return None
        build: dict[str, Callable[[], Atom]] = {
            "term": self.term, "frac": self.fraction, "sqrt": self.root, "left": self.fenced,
            "begin": self.table, "underset": self.stacked_under, "overset": self.stacked_over,
            "stackrel": self.stacked_over,
        }  # fmt: skip
        if name in build:
            return build[name]()
        if name in ("tfrac", "dfrac"):
            large = "true" if name == "dfrac" else "false"
            fraction = self.fraction().markup
            return Atom(f'<mstyle displaystyle="{large}">{fraction}</mstyle>', tall=True)
        if name in ACCENTS:
            return self.accented(name)
        if name in OVER:
            return self.over(name)
        if name in UNDER:
            sign, base = UNDER[name], self.argument()
            brace = f'<munder accentunder="true">{base}<mo stretchy="true">{sign}</mo></munder>'
            return Atom(brace, below=name == "underbrace", tall=True)
        if name in FONTS or name == "operatorname*":
            return self.in_font(name)
        size = name.rstrip("lrm")
        if size in SIZES:
            return self.sized(SIZES[size], name[len(size) :])
        raise self.wrong(f"the command \\{name} is not known")

    def term(self) -> Atom:
        name = escape(visible(self.raw()))
        atoms = self.group()
        body = _row(atoms, self.depth > 0)
        return Atom(f'<mrow data-term="{name}">{body}</mrow>', tall=any(x.tall for x in atoms))

    def fraction(self) -> Atom:
        return Atom(f"<mfrac>{self.argument()}{self.argument()}</mfrac>", tall=True)

    def root(self) -> Atom:
        if self.peek() == "[":
            self.take()
            index = row(_row(self.atoms("]"), True))
            self.expect("]")
            return Atom(f"<mroot>{self.argument()}{index}</mroot>", tall=True)
        return Atom(f"<msqrt>{self.argument()}</msqrt>", tall=True)

    def accented(self, name: str) -> Atom:
        """A letter under its accent."""
        atoms = self.group()
        one = len(atoms) == 1 and not atoms[0].sign
        base = atoms[0].markup if one else row(_row(atoms, self.depth > 0))
        letter = atoms[0].letter if one else ""
        lean = LEANS.get(letter, 0) + (6 if name == "vec" else 0)  # its arrow is left of its box
        kind = f' class="lean{lean}"' if lean else ""
        accent = (
            f'<mover accent="true">{base}<mo stretchy="false"{kind}>{ACCENTS[name]}</mo></mover>'
        )
        return Atom(accent, letter=letter)

    def over(self, name: str) -> Atom:
        """A line, hat, brace or arrow as wide as the expression below it."""
        base, brace = self.argument(), name == "overbrace"
        markup = f'<mover accent="true">{base}<mo stretchy="true">{OVER[name]}</mo></mover>'
        return Atom(markup, below=brace, tall=brace)

    def stacked_over(self) -> Atom:
        top, base = self.script(), self.argument()
        return Atom(f"<mover>{base}{top}</mover>", REL if "<mo" in base else ORD)

    def stacked_under(self) -> Atom:
        bottom, base = self.script(), self.argument()
        return Atom(f"<munder>{base}{bottom}</munder>", REL if "<mo" in base else ORD)

    def in_font(self, name: str) -> Atom:
        if FONTS.get(name) == "text":
            text = self.raw().replace(" ", "\u00a0")
            return Atom(f"<mtext>{escape(visible(text))}</mtext>")
        outer, self.font = self.font, FONTS[name.rstrip("*")]
        atoms = self.group()
        self.font = outer
        if name.startswith("operatorname"):
            return Atom(row(_row(atoms, True)), OP, below=name.endswith("*"))
        if len(atoms) == 1 and not atoms[0].sign:
            return atoms[0]
        return Atom(row(_row(atoms, self.depth > 0)), tall=any(x.tall for x in atoms))

    def delimiter(self) -> tuple[int, str]:
        token = self.take()
        if token == ".":
            return OPEN, ""
        if token in BARS:
            return OPEN, BARS[token]
        kind, sign = SYMBOLS.get(token.removeprefix("\\"), (ORD, ""))
        if not sign or token in ("{", "}"):
            raise self.wrong(f"{token!r} is not a delimiter")
        return kind, sign

    def fenced(self) -> Atom:
        r"""\left( ... \right): the delimiters grow if something between them is tall."""
        _, first = self.delimiter()
        inner, tall = "", False
        while True:
            atoms = self.atoms()
            inner += _row(atoms, self.depth > 0)
            tall = tall or any(x.tall for x in atoms)
            if self.peek() != "\\middle":
                break
            self.take()
            inner += f'<mo stretchy="true" lspace="0.2em" rspace="0.2em">{self.delimiter()[1]}</mo>'
        self.expect("\\right")
        _, last = self.delimiter()
        return Atom(_fence(first, inner, last, tall), tall=tall, inner=tall)

    def sized(self, size: str, side: str) -> Atom:
        r"""\big( and its relatives, of a fixed size."""
        kind, sign = self.delimiter()
        kind = {"l": OPEN, "r": CLOSE, "m": REL}.get(side, kind)
        form = "postfix" if kind == CLOSE else "prefix"
        bounds = f'minsize="{size}" maxsize="{size}" lspace="0" rspace="0"'
        return Atom(f'<mo form="{form}" stretchy="true" {bounds}>{sign}</mo>', kind)

    def table(self) -> Atom:
        name = self.raw().rstrip("*")
        if name not in FENCES:
            raise self.wrong(f"the environment {name!r} is not known")
        if name == "array":
            self.raw()  # the alignment of its columns: centred, as SymPy asks for
        rows: list[list[str]] = [[]]
        while True:
            left = Atom("") if rows[-1] and name in ALIGNED else None
            cell = _row(self.atoms(), self.depth > 0, left)
            rows[-1].append(f"<mtd>{cell}</mtd>")
            token = self.take()
            if token == "\\\\":
                rows.append([])
            elif token == "\\end":
                break
            elif token != "&":
                raise self.wrong(f"{name!r} is not closed")
        if self.raw().rstrip("*") != name:
            raise self.wrong(f"{name!r} is closed by another name")
        if rows[-1] == ["<mtd></mtd>"]:  # a line end after the last row
            rows.pop()
        kind = "aligned" if name in ALIGNED else "cases" if name == "cases" else "matrix"
        style = ' displaystyle="true"' if name in (*ALIGNED, "gathered", "gather") else ""
        body = "".join(f"<mtr>{_strut(cells[0], kind)}{''.join(cells[1:])}</mtr>" for cells in rows)
        markup = f'<mtable class="{kind}"{style}>{body}</mtable>'
        first, last = FENCES[name]
        return Atom(_fence(first, markup, last, True), tall=True, inner=bool(first or last))


def _space(width: float) -> str:
    """A space in em."""
    return f'<mspace width="{width:.3g}em"></mspace>'


def _strut(cell: str, kind: str) -> str:
    """The first cell of a row, with TeX's least height and depth of a line."""
    size = 1.2 if kind == "cases" else 1.0
    strut = f'<mspace height="{0.84 * size:.3g}em" depth="{0.36 * size:.3g}em"></mspace>'
    return f"<mtd>{strut}{cell.removeprefix('<mtd>')}"


def _fence(first: str, inner: str, last: str, tall: bool) -> str:
    """Delimiters around markup; those of a line are not stretched by scripts and accents."""
    if not first and not last:
        return inner if inner.startswith("<mtable") else row(inner)
    stretch = "true" if tall else "false"
    left, right = (
        f'<mo form="{form}" stretchy="{stretch}" lspace="0" rspace="0">{escape(sign)}</mo>'
        if sign
        else ""
        for form, sign in (("prefix", first), ("postfix", last))
    )
    return row(left, inner, right)


def _row(atoms: list[Atom], script: bool, before: Atom | None = None) -> str:
    """Markup of atoms side by side, with the spaces that TeX would set.

    before: what is left of them, in another cell of a table; None: nothing.
    """
    written = ""
    visible = [x for x in atoms if x.kind != SPACE]
    k = 0
    for atom in atoms:
        if atom.kind == SPACE:
            written += atom.markup
            continue
        k += 1
        if atom.kind == BIN and _alone(before, visible[k] if k < len(visible) else None):
            atom = replace(atom, kind=ORD)
        if before is not None and _thin(before, atom):
            written += THIN
        ends = (before is None, k == len(visible))
        written += _operator(atom, script, ends) if atom.sign else atom.markup
        if slant := SLANTS.get(atom.letter):
            written += _space(slant / 100)
        before = atom
    return written


def _alone(before: Atom | None, after: Atom | None) -> bool:
    """Whether a sign belongs to what follows, or stands alone, as in -x and a = -b."""
    if before is None or before.kind in (BIN, OP, REL, OPEN, PUNCT):
        return True
    return after is None or after.kind in (REL, CLOSE, PUNCT)


def _thin(before: Atom, atom: Atom) -> bool:
    """Whether TeX sets a thin space: around functions and grown delimiters, as in a cos b."""
    if before.kind == OP and before.tall:  # sums have a space of their own
        return False
    if atom.kind == OP or atom.inner:
        return before.kind in (ORD, CLOSE, OP)
    if before.inner:
        return atom.kind in (ORD, OPEN, PUNCT)
    if before.kind != OP or atom.kind not in (ORD, OPEN):
        return False
    fenced = atom.kind == OPEN and atom.sign not in BARS.values()
    return not fenced and not atom.markup.startswith("<mrow><mo form")  # \left( of one line


def _operator(atom: Atom, script: bool, ends: tuple[bool, bool] = (False, False)) -> str:
    """The <mo> of a sign, with attributes where a browser would space or stretch it otherwise.

    ends: whether it is the first and the last of its row; there is no space beyond.
    """
    sign = escape(atom.sign)
    if atom.kind in (OPEN, CLOSE):
        form = "prefix" if atom.kind == OPEN else "postfix"
        return f'<mo form="{form}" stretchy="false" lspace="0" rspace="0">{sign}</mo>'
    if atom.kind == PUNCT:
        after = "0" if script else "0.1667em"
        return f'<mo lspace="0" rspace="{after}">{sign}</mo>'
    space = "0" if script else SPACED.get(atom.kind, "0")
    form = ' form="prefix"' if space == "0" and not script else ""
    stretch = "" if sign in NEVER_STRETCHED else ' stretchy="false"'
    left, right = ("0" if end else space for end in ends)
    return f'<mo{form}{stretch} lspace="{left}" rspace="{right}">{sign}</mo>'
