"""Displays for notebooks: results ask here for their HTML, and the views that draw it register.

Results (a Robot, a Trajectory, a Figure) do not import the views that draw them: `kinetree`
registers the names of the displays, and a display is imported when it is first used.

A display with scripts is put into a frame (`framed`): an `<iframe>` whose page is in the attribute
`srcdoc`. Frames of one notebook do not see each other or the notebook, and their pages fetch
nothing. Below the frame lies a still picture. Where frames are removed (a notebook that is not
trusted, a preview on a website), the picture is what remains.
"""

from collections.abc import Callable

from kinetree.errors import KinetreeError

Display = Callable[..., str]

_displays: dict[str, Display] = {}


def register(name: str, display: Display) -> None:
    """Set the function that makes the HTML of a kind of result.

    Args:
        name: the kind of result, such as "robot".
        display: function of the result and further arguments, which returns its HTML.
    """
    _displays[name] = display


def shown_html(name: str, *result: object) -> str:
    """The HTML of a result by the display that is registered for it.

    Args:
        name: the kind of result.
        result: what is shown, and further arguments of the display.
    """
    if name not in _displays:
        raise KinetreeError(f"no display {name!r} is registered; import kinetree first.")
    return _displays[name](*result)


def shown_or(name: str, result: object, plain: str) -> str:
    """The HTML of a result, or `plain` if it cannot be drawn, as a robot with symbols cannot.

    A notebook would print a traceback below the result otherwise; the reason is logged.

    Args:
        name: the kind of result.
        result: what is shown.
        plain: HTML that is shown otherwise.
    """
    try:
        return shown_html(name, result)
    except (KinetreeError, OSError) as error:
        import logging  # not needed to import kinetree

        logging.getLogger(__name__).info("no display of %r: %s", name, error)
        return plain


def framed(page: str, picture: str | bytes, height: int, title: str, *, below: str = "") -> str:
    """A page in a frame of a notebook, over a still picture of the same.

    Args:
        page: text of a self-contained HTML document.
        picture: text of an SVG file, or content of a PNG file.
        height: of the frame, px.
        title: of the frame, for screen readers.
        below: HTML under the frame.
    """
    import base64  # neither is needed to import kinetree

    from kinetree.present.tables import escape

    # single quotes, because scripts and JSON have many double ones, which would have to be escaped;
    # ASCII, because the hashes of the page's policy would fail in a notebook of another encoding
    inner = page.replace("&", "&amp;").replace("'", "&#39;")
    inner = inner.encode("ascii", "xmlcharrefreplace").decode()
    data = picture.encode("utf-8", "replace") if isinstance(picture, str) else picture
    kind = "image/svg+xml" if isinstance(picture, str) else "image/png"
    still = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    words = escape(title)
    return (
        f'<div style="position:relative;width:100%;height:{height}px;overflow:hidden">'
        f'<img alt="{words}" src="{still}" '
        'style="width:100%;height:100%;object-fit:contain;margin:0;max-width:none">'
        f'<iframe title="{words}" sandbox="allow-scripts" '
        'style="position:absolute;left:0;top:0;width:100%;height:100%;border:0" '
        f"srcdoc='{inner}'></iframe></div>{below}"
    )
