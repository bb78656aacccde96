"""What all figures share: names as they are shown, ink that can be read, the same bytes for the same figure."""

import matplotlib
import numpy as np
import pytest

from manifuse.report.drawing import LONGEST_NAME, THEMED, as_svg, blank, draw_alignments, ink, label, themed


def luminance(colour):
    """Relative luminance of a colour in sRGB."""
    parts = np.array(matplotlib.colors.to_rgb(colour))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def contrast(colour, other):
    darker, lighter = sorted((luminance(colour), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_ink_can_be_read_on_every_colour():
    for value in np.linspace(0, 1, 101):
        assert contrast(ink(value), matplotlib.colormaps["cividis"](value)) >= 4.45


def test_lines_follow_the_page_and_the_ink_on_colours_does_not():
    figure = draw_alignments(np.array([[1.0, 0.1], [0.1, 1.0]]), ["ours", "theirs"], measure="alignment")
    page = themed(as_svg(figure))
    assert not [colour for colour in THEMED if colour in page]
    assert "var(--ink)" in page
    # Dark letters on the bright end of the colour map.
    assert ink(1.0) in page


def test_a_notebook_shows_a_figure_on_white():
    assert blank(2, 2)[0]._repr_html_().startswith('<div style="background: white')


@pytest.mark.parametrize(
    "name, shown",
    [
        ("scores", "scores"),
        ("two\nlines\tand  blanks", "two lines and blanks"),
        ("5 $ and $x$", r"5 \$ and \$x\$"),
        ("bell \x07 half \udcff", "bell \ufffd half \ufffd"),
        ("漢字", "漢字"),
    ],
)
def test_names_fit_on_a_line(name, shown):
    assert label(name) == shown


def test_a_long_name_is_cut_where_the_figure_ends():
    assert label("x" * LONGEST_NAME) == "x" * LONGEST_NAME
    assert label("x" * 99) == "x" * (LONGEST_NAME - 1) + "…"


def test_the_same_figure_has_the_same_bytes_and_names_no_address():
    def draw():
        figure, axes = blank(2, 2)
        axes.plot([0, 1], [1, 0])
        axes.set_title(label("漢字 $ <b>"))
        return as_svg(figure)

    first = draw()
    assert first == draw()
    assert first.startswith("<svg")
    assert "漢字 $ &lt;b&gt;" in first
    assert "matplotlib.org" not in first
