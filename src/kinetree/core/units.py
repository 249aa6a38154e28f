"""Units as people write them: `deg`, `mN m`, `Ncm`, `deg/s`, `rad s^-2`, `rpm`, `°/s²`.

The case of letters does not matter. What a unit measures (its `dims`) decides where it may stand,
and its fraction makes SI units of it. Units of angle, length, time and force are read, and their
products; others (amperes, counts, kilograms) are none that a joint vector is measured in.
"""

import math
import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

Dims = tuple[tuple[str, int], ...]  # base quantities and their powers, sorted
ANGLE, LENGTH, TIME, FORCE = "angle", "length", "time", "force"
PREFIXES = {
    **{"k": 3, "d": -1, "c": -2, "m": -3, "u": -6, "n": -9},
    **{"kilo": 3, "deci": -1, "centi": -2, "milli": -3, "micro": -6, "nano": -9},
}
POUND = Fraction("4.4482216152605")  # N, the force of a pound
# base quantity, factor, power of pi in it, prefixes, spellings in lower case
ATOMS: tuple[tuple[str, Fraction | int, int, str, str], ...] = (
    (ANGLE, 1, 0, "mu", "rad rads radian radians"),
    (ANGLE, Fraction(1, 180), 1, "dcm", "deg degs degree degrees °"),
    (ANGLE, Fraction(1, 10800), 1, "", "arcmin arcminute arcminutes"),
    (ANGLE, Fraction(1, 648000), 1, "", "arcsec arcsecond arcseconds"),
    (ANGLE, 2, 1, "", "rev revs revolution revolutions turn turns"),
    (LENGTH, 1, 0, "kcmu", "m metre metres meter meters"),
    (LENGTH, Fraction("0.0254"), 0, "", "in inch inches"),
    (LENGTH, Fraction("0.3048"), 0, "", "ft foot feet"),
    (TIME, 1, 0, "mun", "s sec secs second seconds"),
    (TIME, 60, 0, "", "min mins minute minutes"),
    (TIME, 3600, 0, "", "h hr hrs hour hours"),
    (FORCE, 1, 0, "kcmu", "n newton newtons"),
    (FORCE, Fraction("0.00980665"), 0, "k", "gf"),
    (FORCE, POUND, 0, "", "lbf"),
    (FORCE, POUND / 16, 0, "", "ozf"),
)
ALIASES = {"rpm": "rev/min", "dps": "deg/s", "mdps": "mdeg/s"}
WORD = re.compile(r"([a-z°]+)(?:\^?([+-]?\d))?")
MEGA = re.compile(r"(?<![A-Za-z])MN")  # meganewton, or a millinewton in capitals: not certain
MAX_SIGNS = 60  # of one unit


@dataclass(frozen=True)
class Unit:
    """A unit: its text, what it measures, and the fraction that makes SI units of a value."""

    text: str
    dims: Dims
    numerator: float = 1
    denominator: float = 1

    @property
    def si(self) -> bool:
        """Whether values need no conversion."""
        return self.numerator == self.denominator == 1

    def same(self, other: "Unit") -> bool:
        """Whether another unit is the same, perhaps in other words."""
        factors = ("dims", "numerator", "denominator")
        return all(getattr(self, x) == getattr(other, x) for x in factors)

    def __str__(self) -> str:
        return self.text


def _spelled() -> dict[str, tuple[str, Fraction, int]]:
    """Base quantity, factor and power of pi of every word."""
    words: dict[str, tuple[str, Fraction, int]] = {}
    for base, factor, pi, prefixes, texts in ATOMS:
        for text in texts.split():
            words[text] = base, Fraction(factor), pi
            for prefix, power in PREFIXES.items():
                if prefix[0] in prefixes and (len(prefix) > 1 or len(text) <= 4):
                    words[prefix + text] = base, Fraction(factor) * Fraction(10) ** power, pi
    return words


SPELLED = _spelled()


@lru_cache(maxsize=4096)
def unit_of(text: str) -> Unit | None:
    """The unit of a text such as `deg`, `rad/s`, `N m` or `1`; None if it is not one."""
    if len(text) > MAX_SIGNS or MEGA.search(text):
        return None
    plain = unicodedata.normalize("NFKC", re.sub("[º˚]", "°", text)).lower().strip()
    for sign, other in (("μ", "u"), ("\u2212", "-"), ("**", "^"), ("(", ""), (")", "")):
        plain = plain.replace(sign, other)
    plain = re.sub(r"[·⋅×•*_. ]+|-(?!\d)", " ", plain)
    plain = re.sub(r" ?\bper\b ?", "/", ALIASES.get(plain, plain))
    if plain == "1":
        return Unit(text, ())
    groups = [group.split() for group in plain.split("/")]
    if not all(groups) or any(len(group) > 1 for group in groups[1:]):
        return None
    dims: dict[str, int] = defaultdict(int)
    factor, pi = Fraction(1), 0
    for k, group in enumerate(groups):
        for word in group if group != ["1"] or k else ():
            atoms = _atoms(word)
            if atoms is None:
                return None
            for base, size, own_pi, power in atoms:
                power = -power if k else power
                dims[base] += power
                factor *= size**power
                pi += own_pi * power
    found = tuple(sorted((base, power) for base, power in dims.items() if power))
    if pi:  # degrees become radians with the one factor pi/180 that the command line uses too
        return Unit(text, found, math.pi**pi * factor.numerator / factor.denominator)
    return Unit(text, found, factor.numerator, factor.denominator)


def _atoms(word: str) -> list[tuple[str, Fraction, int, int]] | None:
    """The atoms of a word with their powers: `mrad`, `s2`, `s^-1`, `ncm`."""
    match = WORD.fullmatch(word)
    if match is None:
        return None
    letters, power = match[1], int(match[2] or 1)
    if letters in SPELLED:
        return [(*SPELLED[letters], power)]
    for k in range(1, len(letters)):
        first, second = SPELLED.get(letters[:k]), SPELLED.get(letters[k:])
        if first and second and (first[0], second[0]) == (FORCE, LENGTH) and not match[2]:
            return [(*first, 1), (*second, 1)]
    return None
