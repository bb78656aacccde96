import subprocess
import sys

import pytest

import manifuse as mf


def test_the_package_lists_its_public_names():
    assert dir(mf) == sorted(mf.__all__)
    assert set(mf.HOMES) == set(mf.__all__) - {"__version__", *mf.MODULES}
    for name, home in mf.HOMES.items():
        assert getattr(mf, name).__module__ == f"manifuse.{home}"


def test_an_unknown_name_is_reported_by_name():
    with pytest.raises(AttributeError, match="no attribute 'fuse'"):
        _ = mf.fuse


def test_help_does_not_wait_for_the_numerical_libraries():
    code = "import sys; import manifuse.cli.app; sys.exit('numpy' in sys.modules or 'sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_is_documented_with_an_example():
    for name in mf.HOMES:
        assert ">>>" in getattr(mf, name).__doc__, name


def test_public_modules_are_part_of_the_package():
    assert mf.datasets.load_digits.__module__ == "manifuse.datasets"
    assert all(getattr(mf.rivals, name).__module__.startswith("manifuse.rivals.") for name in mf.rivals.__all__)
