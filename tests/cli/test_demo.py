"""The demo, as the README's first command runs it."""

import sys

import pytest

from manifuse.cli import app


def demo(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["manifuse", "demo", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        app.main()
    return left.value.code, capsys.readouterr()


def test_the_demo_prints_its_tables_and_writes_a_page_of_its_own(tmp_path, monkeypatch, capsys):
    status, output = demo(monkeypatch, capsys, "--out", tmp_path / "page.html")
    assert status == 0
    for word in ("fourier", "self-smoothed", "oracle", "mean", "fidelity", "best single predictor"):
        assert word in output.out
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 3
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")
    assert not any(tag in page for tag in ("<script", "<link", "<img"))
    assert "$" not in page.replace("$\\", "")


def test_hw_is_read_from_the_data_folder(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MANIFUSE_DATA", str(data))
    status, output = demo(monkeypatch, capsys, "--dataset", "hw", "--out", tmp_path / "page.html")
    assert status == 0
    assert "UCI handwritten digits" in output.out


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--dataset", "letters"], "digits or hw was expected"),
        (["--dataset", "hw", "--data", "nowhere"], "is not there"),
        (["--out", "nowhere/page.html"], "The folder nowhere is not there"),
    ],
)
def test_what_cannot_be_shown_is_refused(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    status, output = demo(monkeypatch, capsys, *arguments)
    assert status == 2
    assert says in " ".join(output.err.split())
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_nothing_is_computed(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, output = demo(monkeypatch, capsys, "--out", tmp_path / "page.html")
    assert status == 2
    assert "pip install 'manifuse[figures]'" in " ".join(output.err.split())
