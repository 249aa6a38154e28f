"""Equations of the parts in LaTeX and text, and the names and units of components.

The index "motion" means without gravity, which is a part of its own: dV = dV_motion + gravity.
"""

import re
from collections.abc import Mapping

from kinetree.files.description.friction import SMOOTH, Friction
from kinetree.model.friction import is_zero, law_texts

Equation = tuple[str, str]  # in text and in LaTeX
Equations = Mapping[str, Mapping[str, str]]  # symbol -> part -> LaTeX

POSE = {"parent": r"T_{sp}", "home": r"M_{pi}", "joint": r"T(q)"}
ROTORS = r"I_m r (\ddot q s + \dot q\, \omega \times s)"

SCREW: Equations = {
    "V": {"parent": r"\mathrm{Ad}_{ip} V_p", "joint rate": r"A \dot q"},
    "dV": {
        "parent": r"\mathrm{Ad}_{ip} \dot V_{p,\mathrm{motion}}",
        "joint acceleration": r"A \ddot q",
        "velocity product": r"\mathrm{ad}_V A \dot q",
        "gravity": r"-\mathrm{Ad}_{is} g",
    },
    "F": {
        "acceleration": r"G \dot V_{\mathrm{motion}}",
        "velocity product": r"-\mathrm{ad}_V^T G V",
        "gravity": r"-G \mathrm{Ad}_{is} g",
        "external wrench": r"-F_{\mathrm{ext}}",
        "rotors": ROTORS,
        "child": r"\mathrm{Ad}_{ci}^T F_c",
    },
}

CLOSED: Equations = {
    "V": {"base": r"L V_{\mathrm{base}}", "joint rates": r"L A \dot q"},
    "dV": {
        "base": r"L \dot V_{\mathrm{base},\mathrm{motion}}",
        "joint accelerations": r"L A \ddot q",
        "velocity product": r"-L\, \mathrm{ad}_{A \dot q} (W V + V_{\mathrm{base}})",
        "gravity": r"-L\, \mathrm{Ad}\, g",
    },
    "F": {
        "acceleration": r"L^T G \dot V_{\mathrm{motion}}",
        "velocity product": r"-L^T \mathrm{ad}_V^T G V",
        "gravity": r"-L^T G L\, \mathrm{Ad}\, g",
        "external wrench": r"L^T (F_{\mathrm{tip}} - F_{\mathrm{ext}})",
        "rotors": r"L^T F_{\mathrm{rotor}}",
    },
}

LINK: Equations = {
    "omega": {"parent": r"R \omega_p", "joint rate": r"w"},
    "v": {"parent": r"R v_p", "lever": r"R (\omega_p \times p)", "joint rate": r"l"},
    "alpha": {
        "parent": r"R \alpha_p",
        "joint acceleration": r"\dot w",
        "velocity product": r"(R \omega_p) \times w",
    },
    "a_e": {
        "parent": r"R a_{e,p,\mathrm{motion}}",
        "lever": r"R (\alpha_p \times p)",
        "centripetal": r"R (\omega_p \times (\omega_p \times p))",
        "joint acceleration": r"\dot l",
        "velocity product": r"2 (R \omega_p) \times l + w \times l",
        "gravity": r"-R_{is} g",
    },
    "a_c": {
        "origin": r"a_{e,\mathrm{motion}}",
        "lever": r"\alpha \times c",
        "centripetal": r"\omega \times (\omega \times c)",
        "gravity": r"-R_{is} g",
    },
    "f": {
        "acceleration": r"m a_{c,\mathrm{motion}}",
        "gravity": r"-m R_{is} g",
        "external wrench": r"-f_{\mathrm{ext}}",
        "child": r"R_{ic} f_c",
    },
    "n": {
        "acceleration": r"I \alpha + c \times m a_{c,\mathrm{motion}}",
        "velocity product": r"\omega \times I \omega",
        "gravity": r"-c \times m R_{is} g",
        "external wrench": r"-n_{\mathrm{ext}}",
        "rotors": ROTORS,
        "child": r"R_{ic} n_c + p \times R_{ic} f_c",
    },
}


def _without_rotations(latex: str) -> str:
    """An equation in {s}, where vectors are not rotated: R and its index are removed."""
    for rotation in ("R_{is} ", "R_{ic} ", "R "):
        latex = latex.replace(rotation, "")
    latex = latex.replace(r"(\omega_p)", r"\omega_p")
    # parentheses around the whole equation were needed only after R
    whole = latex.startswith("(") and latex.count(")") == latex.count("(")
    return latex[1:-1] if whole else latex


SPACE: Equations = {
    symbol: {part: _without_rotations(latex) for part, latex in parts.items()}
    for symbol, parts in LINK.items()
}
EQUATIONS = {"screw": SCREW, "closed": CLOSED, "link": LINK, "space": SPACE}

DRIVE = {
    "rotor and armature": r"I_a \ddot q + I_m r (s \cdot \alpha + r \ddot q)",
    "friction": r"b(\dot q)",
    "constraints": r"-J^T \lambda",
}
SPRING = "k a (a . q - rest)", r"k a (a \cdot q - q_0)"

# LaTeX -> text, in this order; ad_V and ad_Adq of the closed form are stacked matrices
WORDS = (
    (r"\\mathrm\{ad\}_\{A \\dot q\}", "ad_Adq"),
    (r"L\^T \\mathrm\{ad\}_V", "L^T ad_V"),
    (r"\\mathrm\{ad\}_(\w)", r"ad(\1)"),
    (r"\\mathrm\{(\w+)\}", r"\1"),
    (r"\\ddot ", "dd"),
    (r"\\dot ", "d"),
    (r"\\times", "x"),
    (r"\\cdot", "."),
    (r"\\,|[\\{}]", ""),
)


def with_text(latex: str) -> Equation:
    """An equation in text and in LaTeX."""
    text = latex
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    return text, latex


# the laws of friction that have a formula of their own
STRIBECK = (
    "(F_c + (F_s - F_c) exp(-(|dq|/v_s)^e)) sign(dq)",
    r"(F_c + (F_s - F_c) \exp(-(|\dot q|/v_s)^e)) \,\mathrm{sign}(\dot q)",
)
VISCOUS, OTHER = ("v dq", r"v \dot q"), ("b(dq)", r"b(\dot q)")


def friction_equation(friction: Friction) -> Equation:
    """The friction of a joint as the sum of its laws; b(dq) without one that has a formula."""
    laws = law_texts(friction, str)
    smooth = {name: law.formula for name, law in SMOOTH.items()}
    named = {"Stribeck": STRIBECK, **smooth}
    formulas = [law for name, law in named.items() if name in laws]
    if not formulas:
        return OTHER
    plain = is_zero(friction.coulomb) or "Stribeck" in laws
    if "function" in laws or not plain:
        formulas = [OTHER, *formulas]
    elif not is_zero(friction.viscous):
        formulas = [VISCOUS, *formulas]
    return " + ".join(law[0] for law in formulas), " + ".join(law[1] for law in formulas)


def equation(formulation: str, symbol: str, name: str) -> Equation:
    """The equation of a part, which is the same for all children."""
    kind = "child" if name.startswith("child ") else name
    if symbol == "T":
        return with_text(POSE[kind])
    if symbol != "tau":
        return with_text(EQUATIONS[formulation][symbol][kind])
    if kind == "spring":
        return SPRING
    if kind in DRIVE:
        return with_text(DRIVE[kind])
    wrench = EQUATIONS[formulation].get("F")
    if wrench is None:
        return with_text("A^T (n, f)")
    latex = wrench[kind]
    sign, latex = ("-", latex[1:]) if latex.startswith("-") else ("", latex)
    whole = (sign or latex.startswith("I_m")) and " + " in latex
    return with_text(f"{sign}A^T ({latex})" if whole else f"{sign}A^T {latex}")


# symbol -> LaTeX of the symbol, meaning, units of its (angular and linear) half
SYMBOLS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "T": (r"T_{si}", "pose", ("m",)),
    "V": (r"V", "twist", ("rad/s", "m/s")),
    "dV": (r"\dot V", "its derivative", ("rad/s^2", "m/s^2")),
    "F": (r"F", "wrench through the joint", ("N m", "N")),
    "omega": (r"\omega", "angular velocity", ("rad/s",)),
    "v": (r"v", "velocity of the origin", ("m/s",)),
    "alpha": (r"\alpha", "angular acceleration", ("rad/s^2",)),
    "a_e": (r"a_e", "acceleration of the origin", ("m/s^2",)),
    "a_c": (r"a_c", "acceleration of the centre", ("m/s^2",)),
    "f": (r"f", "force through the joint", ("N",)),
    "n": (r"n", "moment through the joint", ("N m",)),
    "tau": (r"\tau", "joint force", ()),
}

# symbol -> names of its components, text and LaTeX
HALVES = {
    "V": (("ω", r"\omega"), ("v", "v")),
    "dV": (("dω", r"\dot\omega"), ("dv", r"\dot v")),
    "F": (("n", "n"), ("f", "f")),
}


def components(symbol: str) -> list[Equation]:
    """Names of the components of a vector: ωx ... of V, x y z of a 3-vector."""
    if symbol not in HALVES:
        return [(axis, axis) for axis in "xyz"]
    names = []
    for text, latex in HALVES[symbol]:
        names += [(f"{text}{axis}", f"{latex}_{axis}") for axis in "xyz"]
    return names


TITLES = {
    "screw": "screw form, 6-vectors in link frames",
    "closed": "closed form, stacked 6-vectors through L = (I - W)^-1",
    "link": "3-vectors in link coordinates",
    "space": "3-vectors in the space frame",
}
