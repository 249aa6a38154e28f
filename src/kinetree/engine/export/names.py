"""Names of exported functions: identifiers that are free in every language."""

import keyword
import re
from collections.abc import Collection

from kinetree.errors import InputError
from kinetree.model.quantity import ARGUMENTS

LONGEST = 63  # characters of a name in MATLAB

# Reserved words of each language, and names that its code has. A name must be free in all of them,
# so that the same call of `export` works for every language.
KEYWORDS = {
    "C": """
        alignas alignof asm auto bool break case char const constexpr continue default do double
        else enum extern false float for goto if inline int long nullptr register restrict return
        short signed sizeof static static_assert struct switch thread_local true typedef typeof
        union unsigned void volatile while complex imaginary linux unix near far main
    """,
    "C++": """
        and and_eq bitand bitor catch class co_await co_return co_yield compl concept consteval
        constinit decltype delete explicit export friend module mutable namespace new noexcept not
        not_eq operator or or_eq private protected public requires template this throw try typeid
        typename using virtual wchar_t xor xor_eq std
    """,
    "Python": " ".join(keyword.kwlist) + " ca",
    "MATLAB": """
        arguments catch classdef elseif end end_try_catch end_unwind_protect endfor endfunction
        endif endswitch endwhile enumeration events function methods otherwise parfor persistent
        properties spmd until unwind_protect unwind_protect_cleanup single zeros
    """,
    "the C library": """
        abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh div drem erf erfc exp
        exp10 exp2 expm1 fabs fclose fdim feof fflush finite floor fma fmax fmin fmod fopen
        fpclassify fprintf fputc fputs fread frexp fscanf fwrite gamma getc getchar gets hypot ilogb
        isfinite isgreater isinf isless isnan isnormal isunordered j0 j1 jn ldexp lgamma llrint
        llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward
        perror pow pow10 printf putc putchar puts remainder remove remquo rename rewind rint round
        scalb scalbln scalbn scanf sign signbit signgam significand sin sincos sinh snprintf sprintf
        sqrt sscanf tan tanh tgamma trunc vprintf y0 y1 yn
    """,
}
RESERVED = {
    word.lower(): language for language, words in KEYWORDS.items() for word in words.split()
}
FLOATS = re.compile(r"(\w+?)[fl]")  # sinf, sinl: of other precision
# names inside the files: of values, of the self-test and of its variables
INSIDE = re.compile(
    r"x\d+|(given|expected|allowed)_\w+|difference|allowed|count|error|expected|found|i|k|same"
    r"|share|strange|unknown|verdict|worst|stdin|stdout|stderr"
)
# macros of the headers that the files include
MACROS = re.compile(r"(FLT|DBL|LDBL|FP|HUGE|MATH|M|KINETREE)_\w+|NAN|INFINITY|NULL|EOF|BUFSIZ")


def reserved(name: str) -> str | None:
    """The owner of a name: a language, or the exported code; None if the name is free."""
    low = name.lower()
    if low in RESERVED:
        return f"a word of {RESERVED[low]}"
    precise = FLOATS.fullmatch(low)
    if precise and RESERVED.get(precise[1]) == "the C library":
        return "a word of the C library"
    if name in ARGUMENTS or INSIDE.fullmatch(name):
        return "a name inside exported functions"
    if MACROS.fullmatch(name):
        return "a name for macros of C"
    return None


def identifier(text: str) -> str:
    """Make a name for every language: ASCII, a letter first, at most 63 characters, not reserved.

    Other characters become one underscore; "7 axis" becomes "robot_7_axis".
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if not name or not name[0].isalpha():
        name = f"robot_{name}".rstrip("_")
    name = name[:LONGEST].rstrip("_")
    return f"{name[: LONGEST - 1]}_" if reserved(name) else name


def chosen_name(name: str, results: Collection[str]) -> str:
    """Return the name that the caller chose, or raise an error that proposes another one.

    The name is not changed: two different names must give two functions. It must not be one of the
    letters of the results, which are names inside the function.
    """
    if not isinstance(name, str):
        raise InputError(f"name is {name!r}; expected the name of a function, such as 'my_arm'.")
    free = f"{name}_" if name in results else identifier(name)
    instead = f"such as {free!r}"
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise InputError(
            f"name is {name[:80]!r}; expected ASCII letters, digits and underscores, a letter "
            f"first, {instead}."
        )
    if len(name) > LONGEST:
        raise InputError(
            f"name has {len(name)} characters; expected at most {LONGEST}, the limit of MATLAB."
        )
    owner = "a result of the function" if name in results else reserved(name)
    if owner is not None:
        raise InputError(
            f"name is {name!r}, {owner}; expected one that is free in every language, {instead}."
        )
    return name


def function_name(robot: str, *words: str) -> str:
    """robot_quantity_frame; the robot's name is cut if the whole would be too long."""
    tail = "_".join(identifier(word).rstrip("_") for word in words)[:LONGEST].rstrip("_")
    head = identifier(robot)[: max(LONGEST - len(tail) - 1, 0)].rstrip("_")
    return f"{head}_{tail}" if head else tail
