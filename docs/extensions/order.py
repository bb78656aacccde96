"""The order of the gallery: from what a newcomer needs to special cases."""

from sphinx_gallery.sorting import FileNameSortKey

#: Scripts in their order; others follow, by name.
FIRST = ("partners", "digits", "classifiers", "nightly", "molecules", "scenes", "pipeline", "regression")


class Order(FileNameSortKey):
    """Sort scripts as they are listed, then by name."""

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the place of a script."""
        name = str(filename).removesuffix(".py")
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)
