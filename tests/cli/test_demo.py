"""The demo, as the README's first command runs it."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from manifuse.study.experiments.demonstration import SHOWN, images_of, lessons, mean_worth

import manifuse as mf
from manifuse.cli import app
from manifuse.evidence.gain import Gain
from manifuse.grid import ABSENT
from manifuse.study.datasets.dataset import Dataset, Task

HEADINGS = tuple(SHOWN.values())


def demo(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["manifuse", "demo", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        app.main()
    return left.value.code, capsys.readouterr()


def test_the_demo_prints_its_tables_and_writes_a_page_of_its_own(tmp_path, monkeypatch, capsys):
    status, output = demo(monkeypatch, capsys, "--out", tmp_path / "page.html")
    assert status == 0
    for word in (*HEADINGS, "imputed: how well", "all together", "best single predictor"):
        assert word in output.out
    lines = re.findall(r"^│ (\w+) +│" + r" +(\d\d\.\d)% │" * len(HEADINGS), output.out, re.MULTILINE)
    accuracies = {name: dict(zip(HEADINGS, map(float, numbers), strict=True)) for name, *numbers in lines}
    mean = accuracies.pop("mean")
    assert len(accuracies) == 6
    # References on other rows make every ranker better, and more so than its own graph does.
    assert all(of["refined"] > of["alone"] for of in accuracies.values())
    assert mean["refined"] > mean["self-smoothed"] > mean["alone"]
    assert mean["refined, no labels"] > mean["alone"] + 3
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 4
    # The names of namespaces are not addresses: nothing is loaded from them.
    assert not re.search(r"https?:", re.sub(r'xmlns(:\w+)?="[^"]*"', "", page))
    assert not any(tag in page for tag in ("<script", "<link", "<img"))
    for name, numbers in accuracies.items():
        cells = "".join(f'<td( class="strong")?>{number}%</td>' for number in numbers.values())
        assert re.search(f"<td>{name}</td>{cells}", page)


def test_hw_is_read_from_the_data_folder(data, tmp_path, monkeypatch, capsys):
    def seen(dataset, *, tick, **options):
        raise mf.InputError(f"{dataset.title} with {options} came.")

    monkeypatch.setattr("manifuse.cli.demo_command.demonstrate", seen)
    monkeypatch.setenv("MANIFUSE_DATA", str(data))
    _, output = demo(monkeypatch, capsys, "--dataset", "hw", "--out", tmp_path / "page.html")
    said = " ".join(output.err.split())
    assert "UCI handwritten digits" in said
    assert "{'splits': 1, 'seed': 0} came" in said


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


def test_where_labels_do_worse_is_said():
    views = dict.fromkeys(["a", "b"])
    dataset = SimpleNamespace(tasks=views)
    accuracies = {"JMD, no labels": {"a": 0.95, "b": 0.9}, "JMD": {"a": 0.94, "b": 0.92}}
    (sentence,) = lessons(SimpleNamespace(dataset=dataset, accuracies=accuracies))
    assert "lower than without: a by 1.0 points. There" in sentence
    accuracies["JMD"]["a"] = 0.96
    assert lessons(SimpleNamespace(dataset=dataset, accuracies=accuracies)) == []


def test_digits_of_hw_are_drawn_from_their_pixels():
    pixels = np.arange(2 * 240.0).reshape(2, 240)
    dataset = Dataset("hw", "HW", {"pix": Task(pixels, np.array([0.0, 1.0]))})
    np.testing.assert_array_equal(images_of(dataset)[1].ravel(), pixels[1])
    assert images_of(Dataset("cal7", "Cal7", {"hog": Task(pixels, np.array([0.0, 1.0]))})) is None


def test_worths_on_the_same_labels_have_the_mean_of_their_errors():
    """Errors of worths on the same labels may be the same error, which a mean does not make smaller."""
    worths = [Gain(value, error, 200, "accuracy") for value, error in ((0.01, 0.004), (0.03, 0.002))]
    assert mean_worth([*worths, None]) == "+2.0 ± 0.3"
    assert mean_worth([None]) == ABSENT
