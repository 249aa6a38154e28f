"""Names of robots as identifiers, and as words of a comment, whatever they are made of."""

import re

from kinetree.errors import InputError
from kinetree.write.code.header_words import ARGUMENTS, RESULTS

LONGEST = 63  # of a name in MATLAB

# Words that a language keeps for itself. One list for all: a name that one of them takes is a name
# that all take, so that the same call works in every language.
KEYWORDS = {
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
        abort abs acos acosh asin asinh atan atan2 atanh atexit atof atoi atol atoll bsearch cabs
        calloc carg cbrt ceil cexp cimag clog conj copysign cos cosh cpow cproj creal csin csqrt
        ctan div drem erf erfc errno exit exp exp10 exp2 expm1 fabs fclose fdim feof fflush fgets
        finite floor fma fmax fmin fmod fopen fpclassify fprintf fputc fputs fread free frexp
        fscanf fwrite gamma getchar getenv gets hypot ilogb index infinity isalnum isalpha
        isblank iscntrl isdigit isfinite isgraph isgreater isinf isless islower isnan isnormal
        isprint ispunct isspace isunordered isupper isxdigit j0 j1 jn labs ldexp ldiv lgamma llabs
        lldiv llrint llround log log10 log1p log2 logb lrint lround malloc memchr memcmp memcpy
        memmove memset modf nan nearbyint nextafter nexttoward perror pow pow10 printf putc putchar
        puts qsort raise rand realloc remainder remove remquo rename rewind rindex rint round scalb
        scalbln scalbn scanf sign signbit significand signgam sin sincos sinh snprintf sprintf sqrt
        srand sscanf strcat strchr strcmp strcpy strcspn strlen strncat strncmp strncpy strpbrk
        strrchr strspn strstr strtod strtol system tan tanh tgamma time toascii tolower toupper
        trunc vprintf y0 y1 yn
    """,
}
RESERVED = {
    word.lower(): language for language, words in KEYWORDS.items() for word in words.split()
}
FLOATS = re.compile(r"(\w+?)[fl]")  # sinf, sinl: of other precision
# names inside an exported function; one of these for the function itself would hide one or other
INSIDE = frozenset({*ARGUMENTS, *(letter for letter, _ in RESULTS.values())})
TEMPORARY = re.compile(r"x\d+|\w+_sincos")


def reserved(name: str) -> str | None:
    """What else has the name: a language, or the function itself; None for a name to use."""
    low = name.lower()
    if low in RESERVED:
        return f"a word of {RESERVED[low]}"
    precise = FLOATS.fullmatch(low)
    if precise and RESERVED.get(precise[1]) == "the C library":
        return "a word of the C library"
    if name in INSIDE or TEMPORARY.fullmatch(name):
        return "a name inside exported functions"
    return None


def identifier(text: str) -> str:
    """A name that every language takes: ASCII, a letter first, at most 63 characters, not reserved.

    Other characters become one underscore; "7 axis" becomes "robot_7_axis".
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if not name or not name[0].isalpha():
        name = f"robot_{name}".rstrip("_")
    name = name[:LONGEST].rstrip("_")
    return f"{name[: LONGEST - 1]}_" if reserved(name) else name


def chosen_name(name: str) -> str:
    """The name as the caller chose it, or an error that says what to choose.

    It is not changed: two names that differ must give two functions.
    """
    if not isinstance(name, str):
        raise InputError(f"name is {name!r}; expected the name of a function, such as 'my_arm'.")
    instead = f"such as {identifier(name)!r}"
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise InputError(
            f"name is {name[:80]!r}; expected ASCII letters, digits and underscores, a letter "
            f"first, {instead}."
        )
    if len(name) > LONGEST:
        raise InputError(
            f"name has {len(name)} characters; expected at most {LONGEST}, as MATLAB takes them."
        )
    owner = reserved(name)
    if owner is not None:
        raise InputError(
            f"name is {name!r}, {owner}; expected one that is free in C, C++, Python, MATLAB and "
            f"Julia, {instead}."
        )
    return name


def function_name(robot: str, *words: str) -> str:
    """robot_quantity_frame, with the robot's name cut where the whole would be too long."""
    tail = "_".join(identifier(word).rstrip("_") for word in words)[:LONGEST].rstrip("_")
    head = identifier(robot)[: max(LONGEST - len(tail) - 1, 0)].rstrip("_")
    return f"{head}_{tail}" if head else tail


def plain(text: str) -> str:
    """A name within a comment of any language: one line of harmless characters."""
    return re.sub(r"[^A-Za-z0-9 .,:;()\[\]{}<>=+/^_|@#~&$!'-]", "_", text)
