"""What is handed out: the site, the wheel and the sdist, built from a copy of the tree, in which nothing is left over.

This takes longest, and stands early in the alphabet so that nothing has to wait for it at the end.
"""

import os
import shutil
import subprocess
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.page.test_accessibility import LOOKS, look_at

import manifuse as mf

ROOT = Path(__file__).parents[2]

#: Scripts of the gallery that read data which do not come with the project.
NEED_DATA = ("molecules", "scenes")

#: What is made, or belongs to this machine; the environment is linked to.
LEFT_OUT = (".venv", ".git", ".hypothesis", "__pycache__", "_build", "generated", "dist", ".*_cache")


@pytest.fixture
def tree(tmp_path):
    if not (ROOT / ".venv" / "bin" / "uv").exists():
        pytest.skip("there is no .venv/bin/uv, which the scripts run by; 'make test' installs it")
    copy = tmp_path / "manifuse"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (copy / ".venv").symlink_to(ROOT / ".venv")
    return copy


def run(script):
    """What a script says; it fails with all that it said."""
    # Without data, so that the tutorials on large data are left out.
    one = os.environ | {"OMP_NUM_THREADS": "1", "MANIFUSE_DATA": "/nowhere"}
    done = subprocess.run([script], env=one, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


class Silent(SimpleHTTPRequestHandler):
    """Answers without a word."""

    def log_message(self, *args):
        del args


@contextmanager
def served(folder):
    """Serve a folder on a free port of the loopback; give the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=folder)) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_the_site_is_built_without_a_warning_and_the_scripts_of_the_gallery_run(tree, request):
    pytest.importorskip("sphinx")
    run(tree / "scripts" / "docs")
    site = tree / "docs" / "_build" / "html"
    for page in (tree / "docs").glob("*.md"):
        assert (site / page.name).with_suffix(".html").is_file()
    for script in (tree / "examples").glob("*.py"):
        page = (site / "generated" / "gallery" / script.name).with_suffix(".html")
        assert page.is_file() is (script.stem not in NEED_DATA)
        if page.is_file():
            text = page.read_text()
            assert any(sign in text for sign in ("sphx-glr-single-img", "sphx-glr-multi-img", "<svg")), script.name
    browser = request.getfixturevalue("browser")
    with served(site) as address:
        for name in ("index", "api", "generated/gallery/index", "generated/gallery/partners"):
            for look in LOOKS:
                assert look_at(browser, f"{address}/{name}.html", look) == ([], [], 0), (name, look)


def test_wheel_and_sdist_are_whole_and_work_in_clean_environments(tree):
    said = run(tree / "scripts" / "package")
    assert f"manifuse {mf.__version__}" in said
    assert {path.suffix for path in (tree / "dist").iterdir() if path.name != ".gitignore"} == {".whl", ".gz"}
