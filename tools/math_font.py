"""Make the font of our formulas: a subset of Latin Modern Math as WOFF2.

    pip install fonttools brotli
    python tools/math_font.py latinmodern-math.otf

The source is `latinmodern-math.otf`, version 1.959, of the GUST e-foundry (Debian's package
`lmodern` has it). The subset has the characters of the present one and those given as further
arguments, their variants for scripts, and the larger sizes and the parts of brackets, roots and
accents. As its licence asks, the changed font has another name, "kinetree math".
"""

import sys
import unicodedata
from copy import deepcopy
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

FOLDER = Path(__file__).parents[1] / "src/kinetree/core"
NAME = "kinetree math"
# TeX drops a subscript by 0.15 em. Browsers drop it by a constant of the font and, unlike TeX, by
# the depth of every letter (q), and they raise superscripts by the height of every bracket.
CONSTANTS = {
    "SubscriptShiftDown": 150,
    "SubscriptBaselineDropMin": -45,
    "SuperscriptBaselineDropMax": 386,
}
# The slant of script capitals in TeX's own font, in 1/1000 em; here they have only wide boxes
SCRIPT_SLANTS = dict(
    B=30, C=58, D=28, E=89, F=99, G=59, I=74, J=185, K=14, N=147, O=28, P=82, S=75, T=254, U=99,
    V=82, W=82, X=146, Y=82, Z=79,
)  # fmt: skip
SMALL_SIGNS = "+-−=,()"  # in scripts, beside letters and digits
BEARING = 40  # to the right of every script capital
# characters that browsers stretch, and the combining ones for which the font has the sizes
STRETCHED = {"¯": "\u0305", "ˆ": "\u0302", "˜": "\u0303"}


def characters() -> set[int]:
    """Code points of the present font, and of further characters."""
    return {*TTFont(FOLDER / "math.woff2").getBestCmap(), *map(ord, "".join(sys.argv[2:]))}


def script_capital(letter: str) -> int:
    """Code point of a letter of the alphabet of scripts."""
    try:
        return ord(unicodedata.lookup(f"MATHEMATICAL SCRIPT CAPITAL {letter}"))
    except KeyError:
        return ord(unicodedata.lookup(f"SCRIPT CAPITAL {letter}"))


def make(source: Path) -> Path:
    """Write the subset."""
    font = TTFont(source, recalcTimestamp=False)  # the same bytes every time
    prepare(font)
    options = subset.Options()
    options.layout_features = ["ssty"]
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.hinting = False
    options.drop_tables += ["FFTM", "GPOS", "GDEF"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=characters())
    subsetter.subset(font)
    rename(font)
    font.flavor = "woff2"
    target = FOLDER / "math.woff2"
    font.save(target)
    return target


def prepare(font: TTFont) -> None:
    """Change metrics where browsers follow other rules than TeX; drop the smallest letters."""
    table, names, widths = font["MATH"].table, font.getBestCmap(), font["hmtx"]
    for name, value in CONSTANTS.items():
        getattr(table.MathConstants, name).Value = value
    # formulas are alike in browsers that know the slant of letters and in others; that of integrals
    # moves their limits
    slants = table.MathGlyphInfo.MathItalicsCorrectionInfo
    kept = [(g, x) for g, x in zip(slants.Coverage.glyphs, slants.ItalicsCorrection, strict=True)
            if g.startswith(("integral", "contourintegral", "uni222B", "uni222E"))]  # fmt: skip
    slants.Coverage.glyphs, slants.ItalicsCorrection = map(list, zip(*kept, strict=True))
    slants.ItalicsCorrectionCount = len(kept)
    table.MathGlyphInfo.MathKernInfo = None
    for letter, slant in SCRIPT_SLANTS.items():
        glyph = names[script_capital(letter)]
        width, bearing = widths[glyph]
        widths[glyph] = (width - slant - BEARING, bearing)
    variants = table.MathVariants
    glyphs, sizes = variants.HorizGlyphCoverage.glyphs, variants.HorizGlyphConstruction
    known = dict(zip(glyphs, sizes, strict=True))
    for plain, combining in STRETCHED.items():
        known[names[ord(plain)]] = known[names[ord(combining)]]
    order = sorted(known, key=font.getGlyphID)
    variants.HorizGlyphCoverage.glyphs = order
    variants.HorizGlyphConstruction = [known[glyph] for glyph in order]
    variants.HorizGlyphCount = len(order)
    small = {
        names[code] for code in characters() if chr(code).isalnum() or chr(code) in SMALL_SIGNS
    }
    # browsers look for the shapes of scripts in the default script only
    scripts = font["GSUB"].table.ScriptList.ScriptRecord
    default = deepcopy(scripts[0])
    default.ScriptTag = "DFLT"
    scripts.insert(0, default)
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for part in lookup.SubTable:
            alternates = getattr(part, "alternates", {})
            for glyph in list(alternates):
                alternates[glyph] = alternates[glyph][:1]
                if glyph not in small:
                    del alternates[glyph]


def rename(font: TTFont) -> None:
    """Give the font its own name."""
    for record in font["name"].names:
        if record.nameID in (1, 3, 4, 6):
            record.string = NAME.replace(" ", "-") if record.nameID == 6 else NAME
        elif record.nameID == 5:
            record.string = f"{record.toUnicode()}, a subset of Latin Modern Math"
    contents = font["CFF "].cff
    contents.fontNames = [NAME.replace(" ", "-")]
    contents.topDictIndex[0].FullName = contents.topDictIndex[0].FamilyName = NAME


if __name__ == "__main__":
    made = make(Path(sys.argv[1]))
    print(made, made.stat().st_size, "bytes")
