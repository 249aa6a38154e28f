"""Names of exported functions: identifiers that are free in every language."""

import re

from kinetree.errors import InputError
from kinetree.write.code.header import ARGUMENTS, RESULTS

LONGEST = 63  # characters of a name in MATLAB

# Reserved words of each language. A name must be free in all of them, so that the same call of
# `export` works for every language.
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
# names inside an exported function; the function itself must not have one of them
INSIDE = frozenset({*ARGUMENTS, *(letter for letter, _ in RESULTS.values())})
TEMPORARY = re.compile(r"x\d+|\w+_sincos|\w+_kernel_\w+")


def reserved(name: str) -> str | None:
    """The owner of a name: a language, or the exported code; None if the name is free."""
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
    """Make a name for every language: ASCII, a letter first, at most 63 characters, not reserved.

    Other characters become one underscore; "7 axis" becomes "robot_7_axis".
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if not name or not name[0].isalpha():
        name = f"robot_{name}".rstrip("_")
    name = name[:LONGEST].rstrip("_")
    return f"{name[: LONGEST - 1]}_" if reserved(name) else name


def chosen_name(name: str) -> str:
    """Return the name that the caller chose, or raise an error that proposes another one.

    The name is not changed: two different names must give two functions.
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
            f"name has {len(name)} characters; expected at most {LONGEST}, the limit of MATLAB."
        )
    owner = reserved(name)
    if owner is not None:
        raise InputError(
            f"name is {name!r}, {owner}; expected one that is free in C, C++, Python, MATLAB and "
            f"Julia, {instead}."
        )
    return name


def function_name(robot: str, *words: str) -> str:
    """robot_quantity_frame; the robot's name is cut if the whole would be too long."""
    tail = "_".join(identifier(word).rstrip("_") for word in words)[:LONGEST].rstrip("_")
    head = identifier(robot)[: max(LONGEST - len(tail) - 1, 0)].rstrip("_")
    return f"{head}_{tail}" if head else tail
