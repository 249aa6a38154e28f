"""Equations of the parts in text and LaTeX, and the names and units of components.

The index "motion" means without gravity, which is a part of its own: dV = dV_motion + gravity.
"""

from collections.abc import Mapping

from kinetree.files.description.friction import SMOOTH
from kinetree.model import JointFriction
from kinetree.model.friction import is_zero, law_texts

Equation = tuple[str, str]

POSE = {
    "parent": ("T_sp", r"T_{sp}"),
    "home": ("M_pi", r"M_{pi}"),
    "joint": ("T(q)", r"T(q)"),
}

SCREW: Mapping[str, Mapping[str, Equation]] = {
    "V": {
        "parent": ("Ad_ip V_p", r"\mathrm{Ad}_{ip} V_p"),
        "joint rate": ("A dq", r"A \dot q"),
    },
    "dV": {
        "parent": ("Ad_ip dV_p,motion", r"\mathrm{Ad}_{ip} \dot V_{p,\mathrm{motion}}"),
        "joint acceleration": ("A ddq", r"A \ddot q"),
        "velocity product": ("ad(V) A dq", r"\mathrm{ad}_V A \dot q"),
        "gravity": ("-Ad_is g", r"-\mathrm{Ad}_{is} g"),
    },
    "F": {
        "inertia": ("G dV_motion", r"G \dot V_{\mathrm{motion}}"),
        "velocity product": ("-ad(V)^T G V", r"-\mathrm{ad}_V^T G V"),
        "gravity": ("-G Ad_is g", r"-G \mathrm{Ad}_{is} g"),
        "external wrench": ("-F_ext", r"-F_{\mathrm{ext}}"),
        "rotors": ("I_m r (ddq s + dq omega x s)", r"I_m r (\ddot q s + \dot q\, \omega \times s)"),
        "child": ("Ad_ci^T F_c", r"\mathrm{Ad}_{ci}^T F_c"),
    },
}

CLOSED: Mapping[str, Mapping[str, Equation]] = {
    "V": {
        "base": ("L V_base", r"L V_{\mathrm{base}}"),
        "joint rates": ("L A dq", r"L A \dot q"),
    },
    "dV": {
        "base": ("L dV_base,motion", r"L \dot V_{\mathrm{base},\mathrm{motion}}"),
        "joint accelerations": ("L A ddq", r"L A \ddot q"),
        "velocity product": (
            "-L ad_Adq (W V + V_base)",
            r"-L\, \mathrm{ad}_{A \dot q} (W V + V_{\mathrm{base}})",
        ),
        "gravity": ("-L Ad g", r"-L\, \mathrm{Ad}\, g"),
    },
    "F": {
        "inertia": ("L^T G dV_motion", r"L^T G \dot V_{\mathrm{motion}}"),
        "velocity product": ("-L^T ad_V^T G V", r"-L^T \mathrm{ad}_V^T G V"),
        "gravity": ("-L^T G L Ad g", r"-L^T G L\, \mathrm{Ad}\, g"),
        "external wrench": (
            "L^T (F_tip - F_ext)",
            r"L^T (F_{\mathrm{tip}} - F_{\mathrm{ext}})",
        ),
        "rotors": ("L^T F_rotor", r"L^T F_{\mathrm{rotor}}"),
    },
}

LINK: Mapping[str, Mapping[str, Equation]] = {
    "omega": {
        "parent": ("R omega_p", r"R \omega_p"),
        "joint rate": ("w", r"w"),
    },
    "v": {
        "parent": ("R v_p", r"R v_p"),
        "lever": ("R (omega_p x p)", r"R (\omega_p \times p)"),
        "joint rate": ("l", r"l"),
    },
    "alpha": {
        "parent": ("R alpha_p", r"R \alpha_p"),
        "joint acceleration": ("dw", r"\dot w"),
        "velocity product": ("(R omega_p) x w", r"(R \omega_p) \times w"),
    },
    "a_e": {
        "parent": ("R a_e,p,motion", r"R a_{e,p,\mathrm{motion}}"),
        "lever": ("R (alpha_p x p)", r"R (\alpha_p \times p)"),
        "centripetal": (
            "R (omega_p x (omega_p x p))",
            r"R (\omega_p \times (\omega_p \times p))",
        ),
        "joint acceleration": ("dl", r"\dot l"),
        "velocity product": (
            "2 (R omega_p) x l + w x l",
            r"2 (R \omega_p) \times l + w \times l",
        ),
        "gravity": ("-R_is g", r"-R_{is} g"),
    },
    "a_c": {
        "origin": ("a_e,motion", r"a_{e,\mathrm{motion}}"),
        "lever": ("alpha x c", r"\alpha \times c"),
        "centripetal": ("omega x (omega x c)", r"\omega \times (\omega \times c)"),
        "gravity": ("-R_is g", r"-R_{is} g"),
    },
    "f": {
        "inertia": ("m a_c,motion", r"m a_{c,\mathrm{motion}}"),
        "gravity": ("-m R_is g", r"-m R_{is} g"),
        "external wrench": ("-f_ext", r"-f_{\mathrm{ext}}"),
        "child": ("R_ic f_c", r"R_{ic} f_c"),
    },
    "n": {
        "inertia": (
            "I alpha + c x m a_c,motion",
            r"I \alpha + c \times m a_{c,\mathrm{motion}}",
        ),
        "velocity product": ("omega x I omega", r"\omega \times I \omega"),
        "gravity": ("-c x m R_is g", r"-c \times m R_{is} g"),
        "external wrench": ("-n_ext", r"-n_{\mathrm{ext}}"),
        "rotors": ("I_m r (ddq s + dq omega x s)", r"I_m r (\ddot q s + \dot q\, \omega \times s)"),
        "child": ("R_ic n_c + p x R_ic f_c", r"R_{ic} n_c + p \times R_{ic} f_c"),
    },
}


def _without_rotations(
    table: Mapping[str, Mapping[str, Equation]],
) -> dict[str, dict[str, Equation]]:
    """The equations in {s}, where vectors are not rotated: R and its index are removed."""

    def plain(text: str) -> str:
        for rotation in ("R_is ", "R_ic ", "R_{is} ", "R_{ic} ", "R "):
            text = text.replace(rotation, "")
        for vector in ("omega_p", r"\omega_p"):
            text = text.replace(f"({vector})", vector)
        # parentheses around the whole equation were needed only after R
        return text[1:-1] if text.startswith("(") and text.count(")") == text.count("(") else text

    return {
        symbol: {name: (plain(a), plain(b)) for name, (a, b) in parts.items()}
        for symbol, parts in table.items()
    }


EQUATIONS = {
    "screw": SCREW,
    "closed": CLOSED,
    "link": LINK,
    "space": _without_rotations(LINK),
}

DRIVE = {
    "rotor and armature": ("I_a ddq + I_m r (s . alpha + r ddq)",
                           r"I_a \ddot q + I_m r (s \cdot \alpha + r \ddot q)"),
    "friction": ("b(dq)", r"b(\dot q)"),
    "spring": ("k a (a . q - rest)", r"k a (a \cdot q - q_0)"),
    "constraints": ("-J^T lambda", r"-J^T \lambda"),
}  # fmt: skip
TURNING_ARMATURE = "I_a (ddq + (0, w x v))", r"I_a (\ddot q + (0, w \times v))"


# the laws of friction that have a formula of their own
STRIBECK = (
    "(F_c + (F_s - F_c) exp(-(|dq|/v_s)^e)) sign(dq)",
    r"(F_c + (F_s - F_c) \exp(-(|\dot q|/v_s)^e)) \,\mathrm{sign}(\dot q)",
)
LOAD = "c |load| sign(dq)", r"c \,|\tau_\mathrm{load}| \,\mathrm{sign}(\dot q)"
VISCOUS, OTHER = ("v dq", r"v \dot q"), ("b(dq)", r"b(\dot q)")


def friction_equation(friction: JointFriction) -> Equation:
    """The friction of a joint as the sum of its laws; b(dq) without one that has a formula."""
    laws = law_texts(friction, str)
    smooth = {name: law.formula for name, law in SMOOTH.items()}
    named = {"Stribeck": STRIBECK, **smooth, "load": LOAD}
    found = [law for name, law in named.items() if name in laws]
    if not found:
        return OTHER
    plain = is_zero(friction.coulomb) or "Stribeck" in laws
    if "function" in laws or not plain:
        found = [OTHER, *found]
    elif not is_zero(friction.viscous):
        found = [VISCOUS, *found]
    return " + ".join(law[0] for law in found), " + ".join(law[1] for law in found)


def equation(formulation: str, symbol: str, name: str, turning: bool = False) -> Equation:
    """The equation of a part, which is the same for all children.

    turning: True if the joint is free or planar and has armature.
    """
    kind = "child" if name.startswith("child ") else name
    if symbol == "T":
        return POSE[kind]
    if symbol != "tau":
        return EQUATIONS[formulation][symbol][kind]
    if turning and kind == "rotor and armature":
        return TURNING_ARMATURE
    if kind in DRIVE:
        return DRIVE[kind]
    wrench = EQUATIONS[formulation].get("F")
    if wrench is None:
        return "A^T (n, f)", r"A^T (n, f)"
    text, latex = wrench[kind]
    if " + " in text or text.startswith("-") or text.startswith("I_m"):
        sign = "-" if text.startswith("-") else ""
        text, latex = text.removeprefix("-"), latex.removeprefix("-")
        inner = (f"({text})", f"({latex})") if " + " in text else (text, latex)
        return f"{sign}A^T {inner[0]}", f"{sign}A^T {inner[1]}"
    return f"A^T {text}", f"A^T {latex}"


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
