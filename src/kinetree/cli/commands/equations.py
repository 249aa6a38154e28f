"""`kinetree equations`: the closed forms of a robot."""

from typing import Any, Literal, get_args

from kinetree.cli import options as opt
from kinetree.cli import robots, writer
from kinetree.cli.app import command
from kinetree.errors import InputError
from kinetree.files.description.friction import Friction

LETTERS = {
    "tau": r"\tau",
    "christoffel": r"\Gamma",
    "friction": r"\tau_\mathrm{friction}",
    "springs": r"\tau_\mathrm{springs}",
    "Phi": r"\Phi",
    "J_Phi": r"J_\Phi",
    "gamma": r"\gamma",
}


@command(
    "Write files, equations and code",
    also="symbolic symbols latex closed-form derive sympy formula",
)
def run(
    robot: opt.RobotName,
    /,
    *,
    quantity: opt.Words = None,
    format: Literal["text", "latex", "mathml"] = "text",
    symbols: opt.Words = None,
    digits: opt.Whole = 6,
    output: opt.Output = None,
    json: opt.Json = False,
    reading: opt.Reading = opt.READING,
) -> None:
    """Derive the equations of motion in closed form, exact and simplified.

    M ddq + c + g + springs + friction = tau, angles in radians; M contains armature and rotors.
    Arms of six joints take a second; C of a seven-axis arm is slow and fills a megabyte. Needs
    SymPy: pip install 'kinetree[symbolic]'.

    For example:

    ```
    kinetree equations planar_2r --quantity M g
    kinetree equations cart_pole --symbols inertial gravity --format latex
    kinetree equations rp --quantity tau --format mathml --json
    kinetree equations four_bar --symbols lengths --quantity M_r Phi
    ```

    JSON has robot, format, q, dq, ddq (the joints' symbols in order), values (the numbers that
    symbols stand for), equations (by quantity).

    Args:
        quantity: Some of M, C, c, g, friction, springs, tau, T, J, J_s, K, U, christoffel; if left
            out M, C, g, and friction and springs if the robot has some. With constraints also M_r,
            c_r, g_r, h_r, N of the independent coordinates, and Phi, J_Phi, gamma; if left out
            M_r, h_r and Phi.
        format: Format of the equations.
        symbols: Numbers to replace by symbols: some of inertial, lengths, gravity, friction,
            drives, springs, or all.
        digits: Digits of fractions; 0 keeps fractions exact.
    """
    from kinetree.symbols.parameters import Kind
    from kinetree.symbols.robot import REDUCED, SYMBOLIC, symbolic

    wanted = [robots.choose(x, (*SYMBOLIC, *REDUCED), "the quantity") for x in opt.split(quantity)]
    known: tuple[Kind, ...] = get_args(Kind)
    kinds: list[Kind] = [robots.choose(x, known, "a kind of symbols") for x in opt.split(symbols)]
    if not 0 <= digits <= 17:
        raise InputError(f"--digits is {digits}; expected 1 to 17, or 0 for exact fractions.")
    writer.check_output(output)
    model = robots.find_robot(robot, reading).model
    if model.constraints is None and set(wanted) & set(REDUCED):
        raise InputError(
            f"--quantity is {', '.join(wanted)}; {', '.join(REDUCED)} need a robot with "
            f"constraints, and {model.name!r} has none. Expected {', '.join(SYMBOLIC)}."
        )
    rubs = any(joint.friction != Friction() for joint in model.joints)
    terms = ["M", "C", "g", *["friction"] * rubs, *["springs"] * bool(model.springs)]
    wanted = wanted or (terms if model.constraints is None else ["M_r", "h_r", "Phi"])
    forms, texts = symbolic(model, "all" if "all" in kinds else kinds or None), dict[str, str]()
    with writer.waiting("deriving") as progress:
        for name in wanted:
            progress(f"deriving {name}")
            texts[name] = getattr(getattr(forms, name), format)(digits or None)
    if not json:
        writer.print_text("\n".join(named(name, format, x) for name, x in texts.items()), output)
        return
    letters = {name: [str(x) for x in getattr(forms, name)] for name in ("q", "dq", "ddq")}
    values: dict[str, Any] = {str(symbol): float(x) for symbol, x in forms.values.items()}
    about = {"robot": forms.name, "format": format, **letters, "values": values}
    writer.print_json(about | {"equations": texts}, output)


def named(name: str, format: str, text: str) -> str:
    """An equation with its left side, which text has already unless everything is zero."""
    if format == "latex":
        return f"{LETTERS.get(name, name)} = {text}"
    return f"<!-- {name} -->\n{text}" if format == "mathml" else text or f"{name} = 0"
