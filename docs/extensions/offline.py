"""The site is read offline: whatever a page would load from elsewhere is an error."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import SphinxError

#: Scripts, pictures, frames and fonts that a page loads; links that a reader may follow are not among them.
LOADED = tuple(
    re.compile(pattern.replace("ADDRESS", r"""["']?((?:https?:)?//[^"'()\s>]+)"""), re.IGNORECASE)
    for pattern in (
        r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc(?:set)?=ADDRESS",
        r"<link\b(?=[^>]*\brel=\S*(?:stylesheet|preload|preconnect|icon|manifest))[^>]*?\bhref=ADDRESS",
        r"(?:url\(\s*|@import\s+)ADDRESS",
    )
)


class OnlineError(SphinxError):
    """Pages that would load something from the network."""

    category = "The site is not whole"


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at all that was written."""
    app.connect("build-finished", look)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def look(app: Sphinx, exception: Exception | None) -> None:
    """Refuse the site if any page or style sheet loads something from elsewhere."""
    if exception is not None or app.builder.format != "html":
        return
    found = [
        f"{path.relative_to(app.outdir)} loads {source}"
        for path in sorted(Path(app.outdir).rglob("*"))
        if path.suffix in (".html", ".css")
        for source in remote_sources(path.read_text(encoding="utf-8"))
    ]
    if found:
        raise OnlineError("; ".join(found[:10]))


def remote_sources(text: str) -> Iterator[str]:
    """Addresses of other hosts that a page or a style sheet loads something from.

    Examples
    --------
    >>> list(remote_sources('<script src="https://host/a.js"></script> <a href="https://host">there</a>'))
    ['https://host/a.js']
    """
    for pattern in LOADED:
        yield from (match.group(1) for match in pattern.finditer(text))
