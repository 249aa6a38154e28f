"""Units as people write them: one table of spellings, read as a product of powers.

`mN m`, `Ncm`, `deg/s`, `deg_per_s`, `rad s^-2`, `rpm` and `°/s²` are read; the case of letters does
not matter. What a unit measures (its `dims`) decides where it may stand, and its fraction makes SI
units of it. Amperes, per cent and counts are in the table so that they are recognised and refused:
no joint vector is measured in them.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

Dims = tuple[tuple[str, int], ...]  # base quantities and their powers, sorted
ANGLE, LENGTH, TIME, FORCE, MASS = "angle", "length", "time", "force", "mass"
READABLE = {ANGLE, LENGTH, TIME, FORCE}  # base quantities of joint vectors and times
POWERS = {"k": 3, "d": -1, "c": -2, "m": -3, "u": -6, "n": -9}
SHORT = {prefix: Fraction(10) ** power for prefix, power in POWERS.items()}
LONG = {"k": "kilo", "d": "deci", "c": "centi", "m": "milli", "u": "micro", "n": "nano"}
POUND = Fraction("4.4482216152605")  # N, the force of a pound
COUNTS = "count counts cnt cnts tick ticks steps pulse pulses lsb increments samples frames"
MEGA = re.compile(r"(?<![A-Za-z])MN")  # meganewton, or a millinewton in capitals: not certain

# symbol: base quantity, factor, power of pi in it, prefixes, spellings in lower case
ATOMS: dict[str, tuple[str, Fraction | int, int, str, str]] = {
    "rad": (ANGLE, 1, 0, "mu", "rad rads radian radians"),
    "deg": (ANGLE, Fraction(1, 180), 1, "dcm", "deg degs degr degree degrees °"),
    "arcmin": (ANGLE, Fraction(1, 10800), 1, "", "arcmin arcminute arcminutes"),
    "arcsec": (ANGLE, Fraction(1, 648000), 1, "", "arcsec arcsecond arcseconds"),
    "rev": (ANGLE, 2, 1, "", "rev revs revolution revolutions turn turns rotations cycle cycles"),
    "gon": (ANGLE, Fraction(1, 200), 1, "", "gon gons gradian gradians"),
    "m": (LENGTH, 1, 0, "kcmu", "m metre metres meter meters"),
    "in": (LENGTH, Fraction("0.0254"), 0, "", "in inch inches"),
    "ft": (LENGTH, Fraction("0.3048"), 0, "", "ft foot feet"),
    "s": (TIME, 1, 0, "mun", "s sec secs second seconds"),
    "min": (TIME, 60, 0, "", "min mins minute minutes"),
    "h": (TIME, 3600, 0, "", "h hr hrs hour hours"),
    "N": (FORCE, 1, 0, "kcmu", "n newton newtons"),
    "kgf": (FORCE, Fraction("9.80665"), 0, "", "kgf kilopond"),
    "gf": (FORCE, Fraction("0.00980665"), 0, "", "gf"),
    "lbf": (FORCE, POUND, 0, "", "lbf"),
    "ozf": (FORCE, POUND / 16, 0, "", "ozf"),
    "g": (MASS, Fraction(1, 1000), 0, "km", "g gram grams"),
    "lb": (MASS, POUND / Fraction("9.80665"), 0, "", "lb lbs pound pounds"),
    "oz": (MASS, POUND / 16 / Fraction("9.80665"), 0, "", "oz ounce ounces"),
    "A": ("A", 1, 0, "mk", "a amp amps ampere amperes"),
    "V": ("V", 1, 0, "mk", "v volt volts"),
    "W": ("W", 1, 0, "mk", "w watt watts"),
    "Hz": ("Hz", 1, 0, "k", "hz hertz"),
    "K": ("K", 1, 0, "", "kelvin"),
    "°C": ("°C", 1, 0, "", "degc celsius °c"),
    "%": ("%", 1, 0, "", "% pct percent permille"),
    "counts": ("counts", 1, 0, "", COUNTS),
    "grad": ("grad", 1, 0, "", "grad"),  # gradian, or the German degree: not certain
    "rps": ("rps", 1, 0, "", "rps"),  # radians or revolutions per second: not certain
}  # fmt: skip
# shorter than their meaning
ALIASES = {"rpm": "rev/min", "dps": "deg/s", "mdps": "mdeg/s", "rpmps": "rev/min/s"}
FACTOR = re.compile(r"([a-z°%]+)(?:\^([+-]?\d)|(-?\d))?")
LONE_LETTER = re.compile(r"[A-Za-zµμ]")
# runs of letters and numbers in the name of a column, split where capitals begin a word
WORD = re.compile(r"[A-Z]?[a-zµμ]+|[A-Z]+(?![a-z])|[A-Z]+|\d+|[°º˚%²]")
BRACKET = re.compile(r"[ _]?[\[({<]([^\[\](){}<>]+)[\])}>]")
AMBIGUOUS = {"min", "in", "degc"}  # words of other meanings where they stand without brackets
UNIT_WORDS = {"unit", "units", "uom"}  # of the key of an attribute
EMPTY_WORDS = {"of", "measure", "measurement"}
MAX_WORDS = 6  # of one unit in a name
MAX_SIGNS = 60  # signs of one unit


@dataclass(frozen=True)
class Unit:
    """A unit: its text, what it measures, and the fraction that makes SI units of a value."""

    text: str
    dims: Dims
    numerator: float = 1
    denominator: float = 1

    @property
    def si(self) -> bool:
        """Whether values of joint vectors and times need no conversion."""
        return self.readable and self.numerator == self.denominator == 1

    @property
    def readable(self) -> bool:
        """Whether joint vectors and times can have such a unit, or powers of such units."""
        return {base for base, _ in self.dims} <= READABLE

    def same(self, other: "Unit") -> bool:
        """Whether another unit is the same, perhaps in other words."""
        return (self.dims, self.numerator, self.denominator) == (
            other.dims, other.numerator, other.denominator,
        )  # fmt: skip

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class _Factor:
    """One word of a unit with its power."""

    symbol: str
    base: str
    factor: Fraction
    pi: int
    power: int = 1


def _spelled() -> Iterator[tuple[str, _Factor]]:
    for symbol, (base, factor, pi, prefixes, texts) in ATOMS.items():
        for text in texts.split():
            yield text, _Factor(symbol, base, Fraction(factor), pi)
            for prefix in prefixes:
                scaled = Fraction(factor) * SHORT[prefix]
                for before in (LONG[prefix], prefix) if len(text) <= 4 else (LONG[prefix],):
                    yield before + text, _Factor(prefix + symbol, base, scaled, pi)


SPELLED = dict(_spelled())


@lru_cache(maxsize=4096)
def unit_of(text: str) -> Unit | None:
    """The unit of a text such as `deg`, `rad/s`, `N m`, `rad_s2` or `1`; None if it is not one."""
    if len(text) > MAX_SIGNS:
        return None
    if MEGA.search(text):
        return Unit(text, (("MN", 1),))
    plain = unicodedata.normalize("NFKC", re.sub("[º˚]", "°", text)).lower().strip()
    if plain == "1":
        return Unit("1", ())
    for sign, other in (("μ", "u"), ("\u2212", "-"), ("**", "^"), ("(", ""), (")", "")):
        plain = plain.replace(sign, other)
    plain = re.sub(r"[·⋅×•*]", " ", plain)
    plain = re.sub(r"\bper\b|_per_", "/", plain)
    groups = [x.strip(" _") for x in plain.split("/")]
    signed = any(x.startswith(("-", "+")) for x in groups)  # which no unit has: [-deg]
    if not plain or signed or any(not x for x in groups[1:]):
        return None
    factors: list[_Factor] = []
    for k, group in enumerate(groups):
        group_factors = _factors(group) if group != "1" or k else []
        if group_factors is None or (k and len(group_factors) > 1):
            return None
        factors += [_power(x, -x.power) for x in group_factors] if k else group_factors
    return _product(factors) if factors else None


def _power(x: _Factor, power: int) -> _Factor:
    return _Factor(x.symbol, x.base, x.factor, x.pi, power)


def _factors(text: str) -> list[_Factor] | None:
    """The factors of a product; a time behind an underscore divides: rad_s is rad/s."""
    factors: list[_Factor] = []
    for word in re.split(r"([ _.]+|-(?!\d))", text):
        if not word.strip(" _.-"):
            continue
        match = FACTOR.fullmatch(word)
        word_factors = None if match is None else _word(match[1], match[2] or match[3] or "")
        if word_factors is None:
            return None
        factors += word_factors
    divided = [
        _power(x, -x.power) if k and x.base == TIME and x.power > 0 and "_" in text else x
        for k, x in enumerate(factors)
    ]
    return divided


def _word(letters: str, power: str) -> list[_Factor] | None:
    """The factors of one word: `mrad`, `s2`, `ncm`, `radps`, `degpersec`."""
    exponent = int(power) if power else 1
    if letters in ALIASES:
        first, *others = ALIASES[letters].split("/")
        factors = [SPELLED[first], *(_power(SPELLED[x], -1) for x in others)]
        if power == "2" and letters == "dps":
            return [factors[0], _power(factors[1], -2)]
        return None if power else factors
    if letters in SPELLED:
        x = SPELLED[letters]
        if power.isdigit() and x.base != TIME and power != "0":
            return None  # enc_deg2 is a numbered column
        return [_power(x, exponent)] if exponent else None
    per = re.fullmatch(r"(.+?)(?:per|p)(s|sec|secs|second|seconds)", letters)
    if per and per[1] in SPELLED and power in ("", "2"):
        return [SPELLED[per[1]], _power(SPELLED["s"], -exponent)]
    if power:
        return None
    for k in range(1, len(letters)):
        pair = [SPELLED.get(letters[:k]), SPELLED.get(letters[k:])]
        bases = {x.base for x in pair if x is not None}
        if bases in ({FORCE, LENGTH}, {MASS, LENGTH}) and "g" not in (letters[:k], letters[k:]):
            return [x for x in pair if x is not None]
    return [SPELLED["g"], SPELLED["cm"]] if letters == "gcm" else None


def _product(factors: list[_Factor]) -> Unit:
    dims: dict[str, int] = {}
    powers: dict[str, int] = {}
    rational, pi = Fraction(1), 0
    for x in factors:
        dims[x.base] = dims.get(x.base, 0) + x.power
        powers[x.symbol] = powers.get(x.symbol, 0) + x.power
        rational *= x.factor**x.power
        pi += x.pi * x.power
    above = [_shown(x, p) for x, p in powers.items() if p > 0]
    below = [f"/{_shown(x, -p)}" for x, p in powers.items() if p < 0]
    text = (" ".join(above) or "1") + "".join(below)
    found = tuple(sorted((base, p) for base, p in dims.items() if p))
    if not pi:
        return Unit(text, found, rational.numerator, rational.denominator)
    # degrees become radians with the one factor pi/180 that the command line uses too
    scale = math.pi**pi * rational.numerator / rational.denominator
    return Unit({"rev/min": "rpm"}.get(text, text), found, scale, 1)


def _shown(symbol: str, power: int) -> str:
    return symbol if power == 1 else f"{symbol}^{power}"


# ----- units inside names


def units_in(text: str) -> list[tuple[str, Unit]]:
    """Units that a name states, each with the name without it; `unit_spans` finds them."""
    return [(_without(text, start, end), unit) for start, end, unit in unit_spans(text)]


def unit_spans(text: str) -> Iterator[tuple[int, int, Unit]]:
    """Begin and end of the units in a text, in brackets or as words, and the units.

    Single letters, and words with another meaning, are units in brackets alone: in tau_m and q_s
    they may be part of the name.
    """
    for match in BRACKET.finditer(text):
        unit = unit_of(match[1])
        if unit is not None and not match[1].strip().isdigit():
            yield *match.span(), unit
    bare = BRACKET.sub(lambda match: "\0" * len(match[0]), text)
    words = [x.span() for x in WORD.finditer(bare)]
    taken = 0
    for k, (start, _) in enumerate(words):
        for _, end in reversed(words[k : k + MAX_WORDS]):
            run = bare[start:end]
            unit = unit_of(run) if start >= taken and _is_unit_word(run) else None
            first = bare[start : words[k][1]].lower()
            several = end > words[k][1] and not run.isalnum()
            if several and (first in AMBIGUOUS or not (unit and unit.readable)):
                continue  # "in degrees", "a degree"
            if unit is not None:
                yield start, end, unit
                taken = end
                break


def unit_subject(key: str) -> str | None:
    """The name whose unit a key states, `q` of `q_units`, "" of `unit_of_measure`; None: no unit.

    The keys of attributes of files and of objects in memory, and of texts in NPZ files, are read.
    """
    words = list(WORD.finditer(key[:MAX_SIGNS]))
    unit_words = [x for x in words if x[0].lower() in UNIT_WORDS]
    if not unit_words:
        return None
    if {x[0].lower() for x in words} <= UNIT_WORDS | EMPTY_WORDS:
        return ""
    return _without(key, *unit_words[-1].span())


def nested_attributes(attributes: Mapping[Any, Any]) -> Iterator[tuple[str, str, Any]]:
    """Attributes, also those inside dicts and lists: whose it is, its key, its value.

    A nested one belongs to the key of its dict, or to the `name` in it: {"q1": {"unit": "deg"}} and
    {"columns": [{"name": "q1", "unit": "deg"}]} both are the unit of q1. Values of units are whole.
    """
    pending: list[tuple[str, Any]] = [("", attributes)]
    while pending:
        owner, value = pending.pop()
        if isinstance(value, Mapping):
            inner = cast("Mapping[object, Any]", value)
            owner = str(inner.get("name", owner)) if owner else ""
            for key, x in inner.items():
                yield owner, str(key), x
                if unit_subject(str(key)) is None:
                    pending.append((str(key), x))
        elif isinstance(value, list | tuple):
            pending += [(owner, x) for x in cast("list[Any]", value)]


def doubtful_word(text: str) -> Unit | None:
    """The unit of a single letter, or a word with other meanings, at the end of a name."""
    words = [x for x in WORD.findall(BRACKET.sub("", text)) if not x.isdigit()]
    last = words[-1] if len(words) > 1 else ""
    return unit_of(last) if last and not _is_unit_word(last) else None


def _is_unit_word(run: str) -> bool:
    """Whether words of a name may be a unit; "q1/deg" is q1 in deg and not a part of 1/deg."""
    return not run[:1].isdigit() and not LONE_LETTER.fullmatch(run) and run.lower() not in AMBIGUOUS


def _without(text: str, start: int, end: int) -> str:
    before, after = text[:start].rstrip(" _.-/"), text[end:].lstrip(" _.-/")
    before = re.sub(r"[ _]in$", "", before)  # "angle in degrees"
    return f"{before}_{after}" if before and after and after[0].isalnum() else before + after
