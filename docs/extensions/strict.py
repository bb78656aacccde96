"""Scripts of the gallery are tests: a warning in one is an error."""

import warnings
from contextlib import ExitStack

#: What is to be undone when the script is done.
_after = ExitStack()


def warnings_are_errors(gallery: object, script: object, when: str) -> None:
    """Turn warnings into errors while a script runs; sphinx-gallery calls this before and after."""
    del gallery
    if when == "after":
        _after.close()
    elif script is not None:
        _after.enter_context(warnings.catch_warnings(action="error"))
