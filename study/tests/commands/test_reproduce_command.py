"""``manifuse reproduce``: what it refuses, it refuses before anything is written."""

import sys

import pytest

from manifuse.cli import app


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["hww"], "did you mean 'hw'"),
        (["digits", "--method", "JDM"], "There is no method 'JDM'"),
        (["classes", "--method", "Ind"], "There is no method 'Ind'"),
        (["tables", "--method", "refind"], "did you mean 'refined'"),
        (["digits", "--method", "refined"], "There is no method 'refined'"),
        (["digits", "--engine", "ray"], "engine='ray' came"),
        (["hw", "--data", "nowhere"], "hw/mfeat.npz"),
        (["--data", "nowhere"], "data folder nowhere is not there"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["manifuse", "reproduce", *arguments])
    with pytest.raises(SystemExit) as left:
        app.main()
    assert left.value.code == 2
    assert says in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_without_torch_nothing_is_begun(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr("sys.argv", ["manifuse", "reproduce", "digits"])
    with pytest.raises(SystemExit) as left:
        app.main()
    assert left.value.code == 2
    assert "manifuse-study[deep]" in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())
