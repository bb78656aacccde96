"""Extras: what each adds if it is installed, and the message if it is not."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import manifuse as mf
from manifuse.errors import MissingExtraError


def search_approximately(folder):
    del folder
    rng = np.random.default_rng(0)
    ours = mf.Observations(np.arange(400.0), rng.standard_normal((400, 3)), ids=range(400), name="ours")
    theirs = mf.Observations(
        (np.arange(400.0) - 50.0) ** 2, rng.standard_normal((400, 3)), ids=range(200, 600), name="theirs"
    )
    mf.refine(ours, [theirs], method=mf.JointDiffusion(diffusion=mf.Algorithm1(search="approximate")), rng=0)


def name_a_device(folder):
    del folder
    assert repr(mf.Torch("cpu")) == "Torch('cpu')"


def connect_to_a_cluster(folder):
    from manifuse.run.engine import cluster

    del folder
    with cluster("dask", 1) as each:
        assert list(each(sum, [[1, 2]])) == [3]


def read_annotated_data(folder):
    import anndata

    from manifuse.tables.score_tables import read_table

    cells = anndata.AnnData(X=np.zeros((2, 1), dtype=np.float32))
    cells.obs["score"] = [1.0, 2.0]
    with anndata.settings.override(allow_write_nullable_strings=True):
        cells.write_h5ad(folder / "a.h5ad")
    assert read_table(str(folder / "a.h5ad")).scores.tolist() == [1, 2]


def open_a_page(folder):
    from manifuse.cli.app import app
    from tests.page.test_exploration import explored
    from tests.problems import draw

    del folder
    refusal = CliRunner().invoke(app, ["explore", "--view", "forier", "--port", "0"]).exception
    if isinstance(refusal, MissingExtraError):
        raise refusal
    assert "did you mean 'fourier'" in str(refusal)
    from manifuse.page.server import Page

    page = Page(explored(draw(0, rows=40, pairs=20)), lambda method: pytest.fail(f"{method} was exported"))
    try:
        assert page.application().routes
    finally:
        page.close()


#: For each extra, a module that it installs, and a use of it.
USES = {
    "neighbours": ("faiss", search_approximately),
    "deep": ("torch", name_a_device),
    "dask": ("distributed", connect_to_a_cluster),
    "anndata": ("anndata", read_annotated_data),
    "page": ("starlette", open_a_page),
}


@pytest.mark.parametrize("extra", USES)
@pytest.mark.filterwarnings("default::DeprecationWarning:.*(faiss|swig|importlib).*")
def test_what_an_extra_gives(extra, tmp_path):
    module, use = USES[extra]
    pytest.importorskip(module)
    use(tmp_path)


@pytest.mark.parametrize("extra", USES)
def test_without_an_extra_the_message_names_the_command_that_installs_it(extra, tmp_path, monkeypatch):
    module, use = USES[extra]
    if extra == "anndata":

        def use(folder):
            from manifuse.tables.score_tables import read_table

            read_table(str(folder / "a.h5ad"))

    for name in {module, *(name for name in sys.modules if name.startswith(f"{module}."))}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'manifuse\[{extra}\]'"):
        use(tmp_path)


def test_every_extra_is_tried():
    path = Path(__file__).parents[1] / "pyproject.toml"
    extras = tomllib.loads(path.read_text())["project"]["optional-dependencies"]
    # All other tests use the extras for developers, and `test_engines` those for engines.
    assert extras.keys() == USES.keys() | {"docs", "dev", "engines"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_commands(shell):
    from manifuse.cli.app import app

    variables = {"_MANIFUSE_COMPLETE": f"source_{shell}"}
    script = CliRunner().invoke(app, [], prog_name="manifuse", env=variables)
    assert script.exit_code == 0
    assert "_MANIFUSE_COMPLETE=complete" in script.output
    asked = {"_MANIFUSE_COMPLETE": f"complete_{shell}", "COMP_WORDS": "manifuse ", "COMP_CWORD": "1"}
    asked |= {"_TYPER_COMPLETE_ARGS": "manifuse ", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    found = CliRunner().invoke(app, [], prog_name="manifuse", env=asked)
    assert {"refine", "apply", "explore"} <= set(found.output.replace('"', " ").replace(":", " ").split())
