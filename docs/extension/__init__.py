"""Sphinx extension of the documentation: drawings, plots, scenes and solutions.

    {drawing} NAME                 a line drawing, docs/drawings/NAME.svg
    {plot}                         a plot of values of the snippets of the same page
    {scene} ROBOT                  a movable robot, or one that plays a motion
    {picture} ROBOT                a shaded picture of a robot
    {gallery}                      cards of the home page, which lead to docs/gallery.md
    {solution}                     text that is hidden until the reader opens it
    {methods}                      tables of all public calls, with links to their docstrings

Everything is drawn while the documentation is built, by our own code, and stored by content in
docs/_made, so that an unchanged figure is not drawn twice.
"""

from extension import store
from extension.directives import Drawing, Picture, Plot, Scene, Solution, copy_figures
from extension.gallery import Gallery
from extension.methods import Methods, link


def setup(app):
    """Register the directives."""
    app.add_directive("drawing", Drawing)
    app.add_directive("plot", Plot)
    app.add_directive("scene", Scene)
    app.add_directive("picture", Picture)
    app.add_directive("solution", Solution)
    app.add_directive("gallery", Gallery)
    app.add_directive("methods", Methods)
    app.add_config_value("figure_code", store.sources(), "env")  # other code draws all pages anew
    app.add_css_file("figures.css")
    app.add_js_file("copy.js", loading_method="defer")
    app.add_js_file("methods.js", loading_method="defer")
    app.connect("doctree-resolved", link)
    app.connect("build-finished", copy_figures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
