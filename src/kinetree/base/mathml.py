r"""LaTeX formulas as MathML: `from_latex`.

The subset of LaTeX is that of our pages, of the documentation and of SymPy's output: letters with
accents and scripts, fractions, roots, functions, delimiters of any size, matrices, cases and
aligned lines. Spacing follows TeX: every atom has a class (ordinary, operator, binary, relation,
opening, closing, punctuation) and the space between two atoms follows from their classes.
Browsers have other rules of their own, so attributes are written where these differ.

`\term{name}{...}` is an extension: a group that a page can find by its attribute data-term.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape

from kinetree.errors import InputError

# TeX's classes of atoms; "space" is a space that was asked for
ORD, OP, BIN, REL, OPEN, CLOSE, PUNCT, SPACE = range(8)
SPACED = {BIN: "0.2222em", REL: "0.2778em"}  # on both sides, where there is something to separate
NEVER_STRETCHED = "+−±×⋅=≤≥≠≈∈"
THIN = '<mspace width="0.1667em"></mspace>'

GREEK = dict(
    zip(
        "alpha beta gamma delta zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon "
        "chi psi omega varepsilon epsilon phi varphi vartheta varrho varsigma varpi".split(),
        "αβγδζηθικλμνξπρστυχψωεϵϕφϑϱςϖ",
        strict=True,
    )
)
# TeX sets these upright, browsers slant them unless the variant is given
CAPITALS = dict(
    zip(
        "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split(),
        "ΓΔΘΛΞΠΣΥΦΨΩ",
        strict=True,
    )
)
LETTERS = {
    "ell": "ℓ", "hbar": "ℏ", "partial": "∂", "nabla": "∇", "infty": "∞", "emptyset": "∅",
    "prime": "′", "top": "⊤", "bot": "⊥", "forall": "∀", "exists": "∃", "circ": "∘", "angle": "∠",
    "dots": "…", "ldots": "…", "cdots": "⋯", "vdots": "⋮", "ddots": "⋱", "%": "%", "#": "#",
    "&": "&", "$": "$", "_": "_", "degree": "°",
}  # fmt: skip
SYMBOLS = {
    "+": (BIN, "+"), "-": (BIN, "−"), "*": (BIN, "∗"), "pm": (BIN, "±"),
    "mp": (BIN, "∓"), "times": (BIN, "×"), "cdot": (BIN, "⋅"), "ast": (BIN, "∗"),
    "otimes": (BIN, "⊗"), "oplus": (BIN, "⊕"), "odot": (BIN, "⊙"), "wedge": (BIN, "∧"),
    "vee": (BIN, "∨"), "cup": (BIN, "∪"), "cap": (BIN, "∩"), "setminus": (BIN, "∖"),
    "=": (REL, "="), "<": (REL, "<"), ">": (REL, ">"), ":": (REL, ":"), "lt": (REL, "<"),
    "gt": (REL, ">"), "leq": (REL, "≤"), "le": (REL, "≤"), "geq": (REL, "≥"), "ge": (REL, "≥"),
    "neq": (REL, "≠"), "ne": (REL, "≠"), "approx": (REL, "≈"), "equiv": (REL, "≡"),
    "sim": (REL, "∼"), "simeq": (REL, "≃"), "propto": (REL, "∝"), "in": (REL, "∈"),
    "notin": (REL, "∉"), "subset": (REL, "⊂"), "subseteq": (REL, "⊆"), "to": (REL, "→"),
    "rightarrow": (REL, "→"), "leftarrow": (REL, "←"), "mapsto": (REL, "↦"), "ll": (REL, "≪"),
    "gg": (REL, "≫"), "Rightarrow": (REL, "⇒"), "Leftrightarrow": (REL, "⇔"), "perp": (REL, "⊥"),
    "parallel": (REL, "∥"), "mid": (REL, "∣"), ",": (PUNCT, ","), ";": (PUNCT, ";"),
    "colon": (PUNCT, ":"), "(": (OPEN, "("), "[": (OPEN, "["), "{": (OPEN, "{"),
    "lbrace": (OPEN, "{"), "langle": (OPEN, "⟨"), "lfloor": (OPEN, "⌊"), "lceil": (OPEN, "⌈"),
    "lvert": (OPEN, "|"), "lVert": (OPEN, "‖"), ")": (CLOSE, ")"), "]": (CLOSE, "]"),
    "}": (CLOSE, "}"), "rbrace": (CLOSE, "}"), "rangle": (CLOSE, "⟩"), "rfloor": (CLOSE, "⌋"),
    "rceil": (CLOSE, "⌉"), "rvert": (CLOSE, "|"), "rVert": (CLOSE, "‖"), "|": (ORD, "‖"),
    "vert": (ORD, "|"), "Vert": (ORD, "‖"), "/": (ORD, "/"), "!": (CLOSE, "!"), ".": (ORD, "."),
    "backslash": (ORD, "∖"),
}  # fmt: skip
# characters that may be written instead of their commands, as θ, ° and ×
CHARACTERS = {sign: kind for kind, sign in SYMBOLS.values()}
PLAIN = set(LETTERS.values())
BARS = {"|": "|", "\\|": "‖"}  # delimiters whose side follows from the place
BIG_OPERATORS = {"sum": "∑", "prod": "∏", "int": "∫", "oint": "∮", "bigcup": "⋃", "bigcap": "⋂"}
FUNCTIONS = (
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth exp log ln det dim ker "
    "deg arg hom Pr"
).split()
LIMITS = "max min sup inf lim argmax argmin".split()  # functions with indices below them
ACCENTS = {
    "dot": "˙", "ddot": "¨", "dddot": "⃛", "hat": "^", "widehat": "^", "tilde": "~",
    "widetilde": "~", "bar": "¯", "vec": "→", "check": "ˇ", "breve": "˘", "mathring": "˚",
}  # fmt: skip
STRETCHED = ("widehat", "widetilde")  # over all of their base
OVER = {"overline": "¯", "overbrace": "⏞", "overrightarrow": "→"}
UNDER = {"underline": "_", "underbrace": "⏟"}
SPACES = {
    ",": "0.1667em", ":": "0.2222em", ">": "0.2222em", ";": "0.2778em", "!": "-0.1667em",
    " ": "0.3333em", "~": "0.3333em", "quad": "1em", "qquad": "2em", "enspace": "0.5em",
}  # fmt: skip
FONTS = {
    "mathrm": "normal", "operatorname": "normal", "mathit": "italic", "mathcal": "script",
    "mathscr": "script", "mathfrak": "fraktur", "mathbb": "double", "mathbf": "bold",
    "boldsymbol": "bold", "mathsf": "normal", "text": "text", "textrm": "text", "mbox": "text",
    "textit": "text", "mathtt": "normal", "mathnormal": "italic",
}  # fmt: skip
# first capital and small letter of an alphabet, and letters that Unicode has elsewhere
ALPHABETS = {
    "script": (0x1D49C, 0x1D4B6, dict(zip("BEFHILMRego", "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True))),
    "fraktur": (0x1D504, 0x1D51E, dict(zip("CHIRZ", "ℭℌℑℜℨ", strict=True))),
    "double": (0x1D538, 0x1D552, dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True))),
    "bold": (0x1D400, 0x1D41A, {}),
}
FENCES = {
    "matrix": ("", ""), "smallmatrix": ("", ""), "pmatrix": ("(", ")"), "bmatrix": ("[", "]"),
    "vmatrix": ("|", "|"), "Vmatrix": ("‖", "‖"), "Bmatrix": ("{", "}"), "cases": ("{", ""),
    "array": ("", ""), "aligned": ("", ""), "align": ("", ""), "split": ("", ""),
    "gathered": ("", ""), "gather": ("", ""), "equation": ("", ""),
}  # fmt: skip
ALIGNED = ("aligned", "align", "split")
SIZES = {"big": "1.2em", "Big": "1.8em", "bigg": "2.4em", "Bigg": "3em"}
IGNORED = ("displaystyle", "textstyle", "limits", "nolimits", "hline", "notag", "nonumber")

TOKEN = re.compile(r"\\(operatorname\*|[A-Za-z]+|.)|(\s+)|(.)", re.DOTALL)


@dataclass(frozen=True)
class Atom:
    """A part of a formula: its markup, its class in TeX, and how it takes scripts.

    sign: the character of a bare operator, whose <mo> is written when its neighbours are known.
    below: its indices go below and above it in displayed formulas.
    tall: higher than a line, so that delimiters around it grow.
    """

    markup: str
    kind: int = ORD
    sign: str = ""
    below: bool = False
    tall: bool = False


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
            f"{self.place + 1}. Write it with the commands that kinetree.base.mathml lists."
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
        found: list[Atom] = []
        while (token := self.peek()) and token not in ends and token not in ("}", "&", "\\\\"):
            if token in ("\\right", "\\end", "\\middle"):
                break
            atom = self.scripted(found)
            if atom is not None:
                found.append(atom)
        return found

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
        names = ("munder", "mover", "munderover") if atom.below else ("msub", "msup", "msubsup")
        high = row(high) if high.count("<mo>′") > 1 else high
        name = names[2 if low and high else 1 if high else 0]
        return replace(atom, markup=f"<{name}>{core}{low}{high}</{name}>", sign="")

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
            found = self.atoms()
            self.expect("}")
            return found
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
            rest = match[0] if match else ""
            self.place += len(rest)
            return Atom(f"<mn>{token}{rest}</mn>")
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
                word = "".join(map(_slanted, word))
            return Atom(f'<mi mathvariant="normal">{word}</mi>' if upright else f"<mi>{word}</mi>")
        return Atom(f"<mi>{_in_alphabet(first, self.font)}</mi>")

    def command(self, name: str) -> Atom | None:
        if name in GREEK:
            return Atom(f"<mi>{GREEK[name]}</mi>")
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
            below = name not in ("int", "oint")
            return Atom(f"<mo>{BIG_OPERATORS[name]}</mo>", OP, below=below, tall=True)
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
            found = self.fraction().markup
            return Atom(f'<mstyle displaystyle="{large}">{found}</mstyle>', tall=True)
        if name in ACCENTS or name in OVER:
            return self.accented(name)
        if name in UNDER:
            sign, base = UNDER[name], self.argument()
            brace = f'<munder>{base}<mo stretchy="true">{sign}</mo></munder>'
            return Atom(brace, below=name == "underbrace", tall=True)
        if name in FONTS or name == "operatorname*":
            return self.in_font(name)
        size = name.rstrip("lrm")
        if size in SIZES:
            return self.sized(SIZES[size], name[len(size) :])
        raise self.wrong(f"the command \\{name} is not known")

    def term(self) -> Atom:
        name = escape(self.raw(), quote=True)
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
        """A letter under its accent; an accent over a whole expression stretches."""
        base = self.argument()
        sign = ACCENTS.get(name) or OVER[name]
        wide = name in STRETCHED or name in OVER
        stretch = "" if wide else ' stretchy="false"'
        accent = f'<mover accent="true">{base}<mo{stretch}>{sign}</mo></mover>'
        return Atom(accent, below=name == "overbrace", tall=name == "overbrace")

    def stacked_over(self) -> Atom:
        top, base = self.script(), self.argument()
        return Atom(f"<mover>{base}{top}</mover>", REL if "<mo" in base else ORD)

    def stacked_under(self) -> Atom:
        bottom, base = self.script(), self.argument()
        return Atom(f"<munder>{base}{bottom}</munder>", REL if "<mo" in base else ORD)

    def in_font(self, name: str) -> Atom:
        if FONTS.get(name) == "text":
            text = self.raw().replace(" ", "\u00a0")
            return Atom(f"<mtext>{escape(text)}</mtext>")
        outer, self.font = self.font, FONTS[name.rstrip("*")]
        body = self.argument()
        self.font = outer
        function = name.startswith("operatorname")
        return Atom(body, OP if function else ORD, below=name.endswith("*"))

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
        return Atom(_fence(first, inner, last, tall), tall=tall)

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
            cell = _row(self.atoms(), self.depth > 0)
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
        body = "".join(f"<mtr>{''.join(cells)}</mtr>" for cells in rows)
        found = f'<mtable class="{kind}"{style}>{body}</mtable>'
        return Atom(_fence(*(FENCES[name][0], found, FENCES[name][1]), True), tall=True)


def _in_alphabet(letter: str, font: str) -> str:
    """A letter of another alphabet, such as script."""
    if font not in ALPHABETS or not letter.isascii():
        return letter
    capital, small, elsewhere = ALPHABETS[font]
    if letter in elsewhere:
        return elsewhere[letter]
    first, base = (capital, "A") if letter.isupper() else (small, "a")
    return chr(first + ord(letter) - ord(base))


def _slanted(letter: str) -> str:
    """A letter of a word in italics; a single letter is slanted by the browser."""
    if letter == "h":
        return "ℎ"
    first, base = (0x1D434, "A") if letter.isupper() else (0x1D44E, "a")
    return chr(first + ord(letter) - ord(base))


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


def _row(atoms: list[Atom], script: bool) -> str:
    """Markup of atoms side by side, with the spaces that TeX would set."""
    written = ""
    before: Atom | None = None
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
        written += _operator(atom, script) if atom.sign else atom.markup
        before = atom
    return written


def _alone(before: Atom | None, after: Atom | None) -> bool:
    """Whether a sign belongs to what follows, or stands alone, as in -x and a = -b."""
    if before is None or before.kind in (BIN, OP, REL, OPEN, PUNCT):
        return True
    return after is None or after.kind in (REL, CLOSE, PUNCT)


def _thin(before: Atom, atom: Atom) -> bool:
    """Whether TeX sets a thin space: around functions, as in a cos b."""
    if "<mo>" in before.markup and before.kind == OP:  # sums have their own space
        return False
    if atom.kind == OP:
        return before.kind in (ORD, CLOSE, OP)
    return before.kind == OP and atom.kind == ORD and not atom.markup.startswith("<mrow><mo form")


def _operator(atom: Atom, script: bool) -> str:
    """The <mo> of a sign, with attributes where a browser would space or stretch it otherwise."""
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
    return f'<mo{form}{stretch} lspace="{space}" rspace="{space}">{sign}</mo>'
