import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest


@pytest.fixture
def published(data):
    """The script that the tables came with."""
    path = data / "tables" / "draw.py"
    if not path.is_file():
        pytest.skip("The ordinary tables are not in the data folder.")
    spec = spec_from_file_location("published_draw", path)
    module = module_from_spec(spec)
    sys.modules["published_draw"] = module
    spec.loader.exec_module(module)
    return module
