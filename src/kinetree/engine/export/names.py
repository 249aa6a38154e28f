"""Names of exported functions: identifiers that are free in every language.

Names for targets are also distinct in the characters that every compiler of C compares.
"""

import re
from collections.abc import Collection, Iterable

from kinetree.errors import InputError
from kinetree.model.quantity import ARGUMENTS

LONGEST = 63  # characters of a name in MATLAB
SIGNIFICANT = 31  # characters that every C99 compiler compares
FIRMWARE = 23  # of a function for a target: NAME_DTAU_DQ_SIZE and NAME_DTAU_DV_SIZE differ
# short words for functions of a target whose names are too long
SHORT = {
    "acceleration": "acc", "bias": "bias", "body": "b", "center": "c", "centroidal": "cen",
    "constrained": "con", "constraint": "con", "coriolis": "cor", "derivatives": "der",
    "dynamics": "dyn", "energy": "en", "errors": "err", "explicit": "expl", "forces": "tau",
    "forward": "fwd", "frame": "fr", "friction": "fric", "gravity": "grav", "implicit": "impl",
    "implicitfast": "impf", "impulse": "imp", "inverse": "inv", "jacobian": "jac",
    "kinetic": "kin", "link": "l", "mass": "m", "matrix": "mat", "momentum": "mom", "of": "o",
    "potential": "pot", "rate": "rate", "reduced": "red", "reference": "ref",
    "regressor": "regr", "space": "s", "task": "task", "transposed": "tr", "velocity": "vel",
    "with": "w",
}  # fmt: skip

# Reserved words of each language. A name must be free in all of them, so that the same call of
# `export` works for every language.
KEYWORDS = {
    "compilers for microcontrollers": """
        absolute bdata bit code cregister data fortran huge idata interrupt ioport monitor naked
        nested_interrupt packed pdata reentrant root sbit sfr sfr16 trap weak xdata
        boolean_t byte_t char_t creal_t int8_t int16_t int32_t int64_t int_t long_t real32_t
        real64_t real_t time_t uchar_t uint8_t uint16_t uint32_t uint64_t uint_t ulong_t size_t
        intptr_t uintptr_t
    """,
    "C": """
        alignas alignof asm auto bool break case char const constexpr continue default do double
        else enum extern false float for goto if inline int long nullptr register restrict return
        short signed sizeof static static_assert struct switch thread_local true typedef typeof
        typeof_unqual union unsigned void volatile while complex imaginary noreturn linux unix
        i386 near far main
    """,
    "C++": """
        and and_eq bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield
        compl concept const_cast consteval constinit decltype delete dynamic_cast explicit export
        friend import module mutable namespace new noexcept not not_eq operator or or_eq override
        final private protected public reinterpret_cast requires static_cast synchronized template
        this throw try typeid typename using virtual wchar_t xor xor_eq std
    """,
    "Python": """
        False None True and as assert async await break class continue def del elif else except
        finally for from global if import in is lambda match nonlocal not or pass raise return try
        type while with yield np numpy batch ca casadi
    """,
    "MATLAB": """
        arguments break case catch classdef continue else elseif end end_try_catch
        end_unwind_protect endarguments endclassdef endenumeration endevents endfor endfunction
        endif endmethods endparfor endproperties endspmd endswitch endwhile enumeration events for
        function global if methods otherwise parfor persistent properties return spmd switch try
        until unwind_protect unwind_protect_cleanup while single zeros
    """,
    "Julia": """
        abstract baremodule begin break catch const continue do else elseif end export false
        finally for function global if import in isa let local macro module mutable outer primitive
        public quote return struct true try type using where while convert ifelse array
        abstractarray real float64 float32
    """,
    "the C library": """
        abort abs acos acosh asin asinh assert atan atan2 atanh atexit atof atoi atol atoll bsearch
        cabs calloc carg cbrt ceil cexp cimag clock clog conj copysign cos cosh cpow cproj creal
        csin csqrt ctan div drem erf erfc errno exit exp exp10 exp2 expm1 fabs fclose fdim feof
        fflush fgets finite floor fma fmax fmin fmod fopen fpclassify fprintf fputc fputs fread free
        frexp fscanf fwrite gamma getchar getenv gets hypot ilogb index infinity isalnum isalpha
        isblank iscntrl isdigit isfinite isgraph isgreater isinf isless islower isnan isnormal
        isprint ispunct isspace isunordered isupper isxdigit j0 j1 jn labs ldexp ldiv lgamma llabs
        lldiv llrint llround log log10 log1p log2 logb lrint lround malloc memchr memcmp memcpy
        memmove memset modf nan nearbyint nextafter nexttoward perror pow pow10 printf putc putchar
        puts qsort raise rand realloc remainder remove remquo rename rewind rindex rint round scalb
        scalbln scalbn scanf sign signbit signgam significand sin sincos sinh snprintf sprintf sqrt
        srand sscanf strcat strchr strcmp strcpy strcspn strlen strncat strncmp strncpy strpbrk
        strrchr strspn strstr strtod strtol system tan tanh tgamma time toascii tolower toupper
        trunc vprintf y0 y1 yn
    """,
}
RESERVED = {
    word.lower(): language for language, words in KEYWORDS.items() for word in words.split()
}
FLOATS = re.compile(r"(\w+?)[fl]")  # sinf, sinl: of other precision
TEMPORARY = re.compile(
    r"x\d+|x\d+_pair|\w+_sincos|\w+_kernel_\w+|(given|expected|allowed)_\w+|difference"
)
# names of the self-test of a target
TESTING = frozenset("allowed count error expected found i k same share strange unknown".split())
TESTING |= {"verdict", "worst", "stdin", "stdout", "stderr"}
# macros of the headers that code for a target includes, and of the code itself
MACROS = re.compile(
    r"(FLT|DBL|LDBL|DECIMAL|INT|UINT|INTMAX|UINTMAX|INTPTR|UINTPTR|PTRDIFF|SIZE|SIG|WCHAR|WINT|M|FP"
    r"|MATH|HUGE|KINETREE)_\w+|U?INT\w*_\w+|NAN|INFINITY|NULL|EOF|BUFSIZ|HUGE|DOMAIN|SING|OVERFLOW"
    r"|UNDERFLOW|PLOSS|TLOSS|X_TLOSS|MAXFLOAT"
)


def reserved(name: str) -> str | None:
    """The owner of a name: a language, or the exported code; None if the name is free."""
    low = name.lower()
    if low in RESERVED:
        return f"a word of {RESERVED[low]}"
    precise = FLOATS.fullmatch(low)
    if precise and RESERVED.get(precise[1]) == "the C library":
        return "a word of the C library"
    if name in ARGUMENTS or TEMPORARY.fullmatch(name):
        return "a name inside exported functions"
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


def check_target_name(name: str) -> None:
    """Raise InputError if a name is not free in the three files of a target."""
    if name in TESTING:
        owner = "a name inside the self-test"
    elif MACROS.fullmatch(name):
        owner = "a name for macros of C headers"
    elif "__" in name:
        owner = "with two underscores in a row, which C++ reserves"
    else:
        return
    instead = identifier(f"robot_{name.lower()}")
    raise InputError(
        f"name is {name!r}, {owner}; for a target expected another one, such as {instead!r}."
    )


def short_name(name: str) -> str:
    """Shorten a name that was made from those of a robot and a quantity, for firmware.

    Words are replaced by SHORT ones, then the first words are cut to a letter as far as needed.
    """
    if len(name) <= FIRMWARE:
        return name
    words = [SHORT.get(word, word) for word in name.split("_")]
    for k, word in enumerate(words):
        over = len("_".join(words)) - FIRMWARE
        words[k] = word[: max(1, len(word) - max(over, 0))]
    return identifier("_".join(words)[:FIRMWARE])


def check_distinct(name: str, others: Iterable[str]) -> None:
    """Raise InputError if names of one file are equal in their first 31 characters."""
    heads: dict[str, str] = {name[:SIGNIFICANT]: name}
    for other in others:
        head = other[:SIGNIFICANT]
        if heads.setdefault(head, other) != other or len(name) > FIRMWARE:
            raise InputError(
                f"name is {name!r}, with {len(name)} characters; for a target expected at most "
                f"{FIRMWARE}: C compilers may compare only {SIGNIFICANT} characters, and names of "
                "sizes and of the self-test are longer."
            )


def function_name(robot: str, *words: str) -> str:
    """robot_quantity_frame; the robot's name is cut if the whole would be too long."""
    tail = "_".join(identifier(word).rstrip("_") for word in words)[:LONGEST].rstrip("_")
    head = identifier(robot)[: max(LONGEST - len(tail) - 1, 0)].rstrip("_")
    return f"{head}_{tail}" if head else tail
