"""Markup: templates become pages that load nothing from elsewhere, and pages become files."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any

from manifuse.files import Writer, bytes_writer
from manifuse.report.drawing import as_svg, themed
from manifuse.words.reasons import plain


def render(
    template: str,
    *,
    room: str = "manifuse.report",
    filters: Mapping[str, Callable[..., str]] | None = None,
    **content: Any,
) -> str:
    """Fill a template of a package, which may use those of the report; HTML templates escape every text.

    Parameters
    ----------
    template : str
        A file in the folder ``templates`` of the package.
    room : str
        The package.
    filters : mapping of str to callable
        The template also has ``as_svg`` for figures, and ``plain`` for sentences with parameters in backticks.
    **content
        The names that the template uses. It also has ``version``, of manifuse.
    """
    jinja2 = import_module("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(each) for each in (room, "manifuse.report")]),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(as_svg=lambda figure: themed(as_svg(figure)), plain=plain, **(filters or {}))
    return str(environment.get_template(template).render(content, version=version("manifuse")))


def page_writer(page: str) -> Writer:
    """Return a function that writes a page to a file."""
    # A file name that is not text can hold half of a surrogate pair, which no encoding has.
    return bytes_writer(page.encode(errors="replace"))
