"""Commands of LaTeX and their characters, classes and shapes, as `mathml` uses them.

One line per fact: the character of a command, its class in TeX, the shape of a slanted letter.
`tools/math_font.py` puts all of these characters into the font of formulas.
"""

# TeX's classes of atoms; "space" is a space that was asked for
ORD, OP, BIN, REL, OPEN, CLOSE, PUNCT, SPACE = range(8)

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
BIG_OPERATORS = {"sum": "∑", "prod": "∏", "int": "∫", "bigcup": "⋃", "bigcap": "⋂"}
FUNCTIONS = (
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth exp log ln det dim ker "
    "deg arg hom Pr"
).split()
LIMITS = "max min sup inf lim argmax argmin".split()  # functions with indices below them
ACCENTS = {
    "dot": "˙", "ddot": "¨", "hat": "ˆ", "tilde": "˜", "bar": "¯", "vec": "\u20d7", "check": "ˇ",
    "breve": "˘", "mathring": "˚",
}  # fmt: skip
OVER = {  # over all of their base
    "overline": "¯", "widehat": "ˆ", "widetilde": "˜", "overbrace": "⏞",
    "overrightarrow": "→",
}  # fmt: skip
UNDER = {"underline": "\u0332", "underbrace": "⏟"}
SPACES = {
    ",": "0.1667em", ":": "0.2222em", ">": "0.2222em", ";": "0.2778em",
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
IGNORED = ("!", "displaystyle", "textstyle", "limits", "nolimits", "hline", "notag", "nonumber")

# Slanted letters reach over the end of their box at the top, in hundredths of an em: TeX's italic
# correction, which browsers ignore. It is the space before a superscript and after the letter.
SLANTS = {
    letter: width
    for width, letters in {
        2: "BRcdgπσ", 3: "qyzηℬ𝒟𝒪", 4: "βδξ", 5: "EXγ", 6: "Sζν∂𝒞𝒢", 7: "CKZςℐ", 8: "HI𝒫𝒮𝒱𝒲𝒴𝒵",
        9: "fℰ", 10: "MUτℱ𝒰", 11: "JN", 13: "FW", 14: "P", 15: "T𝒩𝒳", 18: "𝒥", 21: "VY", 25: "𝒯",
    }.items()
    for letter in letters
}  # fmt: skip
# An accent belongs above the top of a slanted letter, not above the middle of its box: steps of
# 0.04 em to the right, which the style sheet makes of the classes "lean1" and so on.
LEANS = {
    letter: steps
    for steps, letters in {
        -1: "hbkmnλ", 1: "Balrtvwxyεηκμνπτυφωϰϖ", 2: "PQUWegiosαζθξρ∂ϵ𝒟𝒲𝒵",
        3: "EHIKOTVXYcqzδϑϕϱℬ𝒰𝒱", 4: "AFMNZjβψℳ𝒫𝒬ℛ𝒴", 5: "GJSdf𝒞ℰ𝒢ℋℐ𝒦𝒩𝒪𝒮𝒳",
        6: "C𝒯", 7: "𝒜ℒ", 8: "ℱ𝒥",
    }.items()
    for letter in letters
}  # fmt: skip


def in_alphabet(letter: str, font: str) -> str:
    """A letter of another alphabet, such as script."""
    if font not in ALPHABETS or not letter.isascii():
        return letter
    capital, small, elsewhere = ALPHABETS[font]
    if letter in elsewhere:
        return elsewhere[letter]
    first, base = (capital, "A") if letter.isupper() else (small, "a")
    return chr(first + ord(letter) - ord(base))


def italic(letter: str) -> str:
    """A letter of a word in italics; a single letter is slanted by the browser."""
    if letter == "h":
        return "ℎ"
    first, base = (0x1D434, "A") if letter.isupper() else (0x1D44E, "a")
    return chr(first + ord(letter) - ord(base))
