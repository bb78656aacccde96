"""Markup: templates to pages that need nothing beside them."""

from __future__ import annotations

from typing import Any

from manifuse.errors import require


def render(template: str, *, room: str = "manifuse.report", **content: Any) -> str:
    """Fill a template of a room, with what all pages share; text is escaped, whatever it holds.

    Parameters
    ----------
    template : str
        A file in the folder ``templates`` of the room.
    room : str
        The package.
    **content
        What the template names.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    jinja2 = require("jinja2", extra="report", purpose="The report")
    loaders = [jinja2.PackageLoader(each) for each in dict.fromkeys((room, "manifuse.report"))]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page: str = environment.get_template(template).render(content)
    return page
