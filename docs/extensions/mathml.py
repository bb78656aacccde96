"""Equations as MathML, which browsers draw themselves: no script, no font and no LaTeX is needed."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer and choose it."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(translator: Any, node: nodes.math) -> None:
    """Write an equation within a sentence."""
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """Write an equation on a line of its own, with its number in the paper, which its label ``eq14`` names."""
    label = node.get("label") or ""
    number = f'<span class="number">({label.removeprefix("eq")})</span>' if label else ""
    translator.body.append(f'<div class="equation">{tex2mathml(node.astext(), as_block=True)}{number}</div>\n')
    raise nodes.SkipNode
