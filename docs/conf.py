"""Sphinx configuration: what the site is made of. Built by `scripts/docs`."""

import sys
from pathlib import Path

import manifuse

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

from order import Order

project = "manifuse"
author = "The manifuse developers"
copyright = author
version = release = manifuse.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    # Ours, in docs/extensions.
    "commands",
    "drawings",
    "mathml",
    "offline",
]
exclude_patterns = ["_build", "_templates"]
suppress_warnings = ["config.cache"]
nitpicky = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# One page for each public name; `manifuse` is the only place that users import from.
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
default_role = "autolink"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": Order,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", "strict.warnings_are_errors"),
    "reset_modules_order": "both",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
}

# Some scripts read data that do not come with the project.
NEEDED = {"molecules": "lipophilicity", "scenes": "osr"}
left_out = []
for script, needed in NEEDED.items():
    try:
        manifuse.datasets.load(needed)
    except manifuse.InputError:
        left_out.append(script)
if left_out:
    sphinx_gallery_conf["ignore_pattern"] = rf"({'|'.join(left_out)})\.py$"
    print(f"MANIFUSE_DATA names no folder with their data, so the gallery has no {', '.join(left_out)}.")  # noqa: T201

html_theme = "pydata_sphinx_theme"
html_title = f"manifuse {release}"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
# Pages without pages below them have nothing to navigate.
html_context = {"default_mode": "auto"}
html_sidebars = {
    name: [] for name in ("index", "quickstart", "choosing", "compare", "method", "faq", "generated/gallery/*")
}
html_favicon = "_static/logo-light.svg"
html_theme_options = {
    "logo": {"text": "manifuse", "image_light": "_static/logo-light.svg", "image_dark": "_static/logo-dark.svg"},
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
}
