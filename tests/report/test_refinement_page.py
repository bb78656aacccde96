"""The page about a refinement: what it says in every kind of run, and that it loads nothing from elsewhere."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from tests.problems import draw, remade, with_evidence

import manifuse as mf
from manifuse.columns.refined_scores import LITTLE
from manifuse.evidence.relevance import RelevanceTable
from manifuse.grid import ABSENT
from manifuse.report import refinement_page as page
from manifuse.report.refinement_page import page_of
from manifuse.report.refinement_statistics import Shift, largest
from manifuse.words.wording import is_unmeasured

VOID = {"meta", "br"}

#: What pictures are made of.
DRAWN = {"g", "path", "use", "text", "tspan", "defs"}


class Reader(HTMLParser):
    """Tables, text outside pictures, tags, and whether each is closed."""

    def __init__(self, markup):
        super().__init__()
        self.tags, self.open, self.tables, self.text = [], [], [], []
        self.feed(markup)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "svg" in self.open or "style" in self.open:
            return
        self.text.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data

    @property
    def words(self):
        return " ".join("".join(self.text).split())

    def table(self, first):
        """Lines below the head of the table whose first heading this is, by their first cells."""
        (found,) = (table for table in self.tables if table[0][0] == first)
        return {line[0]: dict(zip(found[0], line, strict=True)) for line in found[1:]}


def few_labels(case, count=8):
    return mf.RankLabels(case.main.keys[:count], case.truth[:count])


def ordered_pairs(case):
    rows = case.labelled[np.argsort(case.truth[case.labelled])]
    return mf.RankLabels.from_pairs(better=case.main.keys[rows[30:]], worse=case.main.keys[rows[:30]])


def noisy(case):
    noise = np.random.default_rng(3)
    return [remade(r, predictions=noise.standard_normal(len(r))) for r in case.references]


def runs():
    """Every kind of run: the case, its labels, its method, what the page says, how many pictures it has."""
    plain, coupled, strong = draw(0), draw(0, features=False), draw(0, features=False, references=3, noise=0.4)
    small = draw(0, rows=60, pairs=20, references=1)
    search = {"diffusion": mf.Algorithm1(neighbours=(5, 10), score_scale=(0.1, np.inf))}
    strict = {"diffusion": mf.Algorithm1(ignore_chance=False), "same_target": True}
    return {
        "labels": (
            plain,
            plain.references,
            plain.labels(),
            {},
            [
                "ranking accuracy goes from 75.8% to 97.6% (+21.8",
                "its own label and among those that were held out with it; labels were held out at random",
                "labelled rows cannot tell whether your references add anything",
                "loading",
            ],
            None,
        ),
        "no references": (
            plain,
            [],
            plain.labels(),
            {},
            [
                "No reference came.",
            ],
            2,
        ),
        "not measured": (
            plain,
            plain.references,
            None,
            {},
            ["accepted, not measured", "One or two references cannot show", "2 of 2 references agree"],
            None,
        ),
        "asked": (
            strong,
            strong.references,
            None,
            {},
            [
                "accepted",
                "the main predictor with them, beyond chance",
                "predict each reference better than “main” alone",
            ],
            None,
        ),
        "unlike": (
            coupled,
            coupled.references,
            None,
            {"same_target": False},
            ["stay as they were", "this is not shown", "points of correlation"],
            None,
        ),
        "coupled": (
            coupled,
            coupled.references,
            coupled.labels(),
            {},
            ["known everywhere"],
            None,
        ),
        "regression": (
            coupled,
            coupled.references,
            coupled.labels(),
            {"task": "regression"},
            ["root mean squared error goes from", "root mean squared error on the labels"],
            6,
        ),
        "ordered pairs": (coupled, coupled.references, ordered_pairs(coupled), {}, ["labelled rows"], 6),
        "chance taken all the same": (
            plain,
            noisy(plain),
            None,
            strict,
            ["were refined", "no reference agrees with “main” beyond chance"],
            None,
        ),
        "too few labels": (
            plain,
            plain.references,
            few_labels(plain),
            {},
            ["are too few to measure a gain", "predict the same thing"],
            None,
        ),
        "too few labels, taken all the same": (
            plain,
            noisy(plain),
            few_labels(plain),
            {"safeguarded": False, "same_target": False},
            ["safeguarded is false"],
            None,
        ),
        "searched": (
            plain,
            plain.references,
            plain.labels(),
            search,
            ["settings tried"],
            7,
        ),
        "one of one": (
            plain,
            plain.references[:1],
            None,
            {},
            ["the reference agrees with “main” more than by chance"],
            None,
        ),
        "told": (
            plain,
            plain.references,
            None,
            {"same_target": True},
            ["accepted, not measured", "2 of 2 references agree"],
            None,
        ),
        "explicit": (
            small,
            small.references,
            None,
            {"diffusion": mf.Algorithm1(bridge=mf.ExplicitEuler(keep=5))},
            ["ExplicitEuler"],
            None,
        ),
    }


RUNS = runs()
_results = {}


def run(name):
    """The refinement and its page, made once."""
    if name not in _results:
        case, references, labels, fields, *_ = RUNS[name]
        method = mf.JointDiffusion(**fields)
        result = mf.refine(case.main, references, labels, method, rng=0)
        _results[name] = result, page_of(result, references=references, seconds=1.25)
    return _results[name]


@pytest.mark.parametrize("name", RUNS)
def test_every_kind_of_run_has_a_page_that_says_what_happened(name):
    result, markup = run(name)
    *_, says, pictures = RUNS[name]
    read = Reader(markup)
    for words in says:
        assert words in read.words, words
    assert ("accepted" if result.accepted else "not accepted") in read.words
    assert result.why.replace("`", "") in read.words
    assert f"refined on {result.provenance.date} (UTC) by manifuse " in read.words
    assert "with the seed 0, in 1.2 seconds. The same" in read.words
    assert pictures in (None, markup.count("<svg"))
    assert (result.course.ending is None) is (result.course.share == 0)
    assert (
        result.course.ending is None
        or result.course.ending in read.table("hyperparameter")["diffusion.rounds"]["used"]
    )
    assert not re.search(r"\b(nan|inf|None|Standing|array)\b", re.sub("ignored|search", "", read.words))
    demand_no_network_and_no_script(markup)


def demand_no_network_and_no_script(markup):
    """A page can be read anywhere, and does nothing."""
    assert markup.startswith("<!doctype html>")
    # Names of namespaces are not addresses: nothing is fetched from them.
    assert not re.search(r"https?:|//\w", re.sub(r'xmlns(:\w+)?="[^"]*"|base64,[^"]*', "", markup))
    tags = Reader(markup).tags
    assert not {tag for tag, _ in tags} & {"script", "link", "iframe", "img", "object", "base", "form"}
    for _, attributes in tags:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith(("#", "data:image/png;base64,"))
    assert "@import" not in markup
    assert not re.search(r"url\((?!#)", markup)


@pytest.mark.parametrize("name", ["labels", "coupled", "unlike"])
def test_what_the_tables_say_reads_back_as_the_result(name):
    result, markup = run(name)
    read = Reader(markup)
    said = read.table("name")
    assert list(said) == sorted(said, key=lambda name: -float(said[name]["weight"]))
    for index, entry in enumerate(result.relevance):
        line = said[entry.name]
        assert float(line["weight"]) == pytest.approx(result.weights[index], abs=6e-4)
        assert float(line["held_out_alignment"]) == pytest.approx(entry.held_out_alignment, abs=6e-4)
        assert float(line["chance_alignment"]) == pytest.approx(entry.chance_alignment, abs=6e-4)
        if result.accepted:
            assert float(line["alignment"]) == pytest.approx(entry.alignment, abs=6e-4)
        else:
            assert line["alignment"] == ABSENT
        assert line["reached"] == f"{entry.reached:.1%}"
        assert int(line["pairs"]) == entry.pairs
    facts = {line: cells["value"] for line, cells in read.table("result").items()}
    assert facts["rows"] == "160"
    if result.worth is not None:
        unit = "ranking accuracy" if result.accuracy is not None else "correlation at held-out pairs"
        amount = result.worth.amount(signed=True)
        assert facts[f"worth of all references together, in points of {unit}"] == amount
    if result.accuracy is not None:
        for when in ("before", "after"):
            said_accuracy = float(facts[f"ranking accuracy on the labels, {when}"].rstrip("%")) / 100
            assert said_accuracy == pytest.approx(getattr(result.accuracy, when), abs=6e-5)
    if result.accepted:
        moved = {line[0]: line for table in read.tables if table[0][0] == "id" for line in table[1:]}
        shift = Shift.of(result)
        assert set(moved) == {shift.keys[row] for row in (*largest(shift.rises, 10), *largest(-shift.rises, 10))}
        for row in largest(shift.rises, 10):
            ranks = [f"{numbers[row]:.0f}" for numbers in shift.ranks]
            assert moved[shift.keys[row]][1:4] == [f"{shift.rises[row]:+.0f}", *ranks]
            assert moved[shift.keys[row]][-1] == f"{shift.support[row]:.2f}"
            if result.uncertainty is not None:
                assert moved[shift.keys[row]][-2] == f"{result.uncertainty[row]:.3g}"


@pytest.mark.parametrize("name", ["labels", "asked", "unlike"])
def test_what_the_references_say_reads_back_as_the_result(name):
    result, markup = run(name)
    read, asked = Reader(markup), result.evidence.agreement
    said = read.table("predictor")
    assert f"it is {asked.gain.amount(signed=True)} of correlation." in read.words
    assert list(said) == ["main", *(entry.name for entry in result.relevance)]
    assert [float(line["loading"]) for line in said.values()] == pytest.approx(asked.loadings, abs=6e-3)
    for entry in result.relevance:
        shown = read.table("name")[entry.name]["worth"]
        if entry.worth is None:
            assert shown == "—"
        else:
            assert float(shown.split()[0]) == pytest.approx(100 * entry.worth.value, abs=0.06)


def test_what_is_not_measured_is_amber():
    colours = {name: re.search(r'class="verdict (\w+)">([^<]*)<', run(name)[1]).groups() for name in RUNS}
    assert colours["labels"] == colours["asked"] == ("good", "accepted")
    assert colours["not measured"] == colours["told"] == ("half", "accepted, not measured")
    assert colours["unlike"] == ("none", "not accepted")
    for name in RUNS:
        evidence = run(name)[0].evidence
        if evidence.measured is not None and evidence.verdict.accepted and not is_unmeasured(evidence):
            said = ("good", "accepted") if evidence.gain.is_certain else ("half", "accepted, not certainly better")
            if evidence.gain.is_certain and not evidence.measured.representative.like_rest:
                said = ("half", "accepted, better on rows like the labelled ones")
            assert colours[name] == said
    assert ("half", "accepted, not certainly better") in colours.values()


def test_sizes_of_references_are_said_where_they_are_given():
    result, markup = run("labels")
    line = Reader(markup).table("table")["reference 1"]
    assert (line["rows"], line["features"], line["common rows"]) == ("160", "6", "40")
    line = Reader(page_of(result)).table("table")["reference 1"]
    assert (line["rows"], line["features"], line["common rows"]) == ("160", "—", "40")
    assert "seconds" not in Reader(page_of(result)).words


def test_fewer_rounds_than_the_method_has_are_explained():
    """Both numbers stand on the page: the most rounds of this run, and the field of the method."""
    result, markup = run("unlike")
    assert not result.evidence.agreement.is_followed
    read = Reader(markup)
    rounds = read.table("hyperparameter")["diffusion.rounds"]
    assert rounds["given"] == "20"
    assert "of at most 3, because no reference is followed; " in rounds["used"]


def test_a_reference_that_runs_the_other_way_is_said_to():
    case = draw(0, features=False)
    other = remade(case.references[0], predictions=-case.references[0].scores)
    result = mf.refine(case.main, [other], rng=0)
    said = "High where “main” is low: “reference 1”. If larger scores mean less there, change their sign;"
    assert said in Reader(page_of(result)).words


def test_a_weight_that_counts_is_never_shown_as_none():
    result, _ = run("not measured")
    first, second = result.relevance
    changed = with_evidence(result, relevance=RelevanceTable((first, replace(second, weight=0.0003))))
    assert Reader(page_of(changed)).table("name")["reference 2"]["weight"] == "<0.001"


def test_rows_out_of_reach_are_counted():
    case = draw(0, rows=60, pairs=30, references=1)
    # Thirty rows far from all others, which no bridge reaches.
    far = np.random.default_rng(0).standard_normal((30, 6)) + 1e3
    main = mf.Observations(
        np.concatenate([case.main.scores, np.linspace(0, 1, 30)]),
        np.concatenate([case.main.table, far]),
        ids=[*case.main.keys, *(f"far {row}" for row in range(30))],
        name="main",
    )
    result = mf.refine(main, case.references, rng=0)
    little = int(np.sum(result.support < LITTLE))
    assert little >= 30
    assert f"{little} rows ({little / 90:.1%}) have hardly any evidence" in Reader(page_of(result)).words


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><b>bold",
    "{{ 7 * 7 }}{% raw %}",
    r"$\frac{$",
    "_hidden & co",
    "two\nlines\ttab",
    "漢字 🙂 Ωμέγα",
    "half \udcff a character \x00\x1b[31m\u202e",
    "long " * 60,
    "' onmouseover='alert(1)",
]


def page_with_names(names, tmp_path):
    """The page of a run with these names of tables and ids, read from its file."""
    case = draw(0, rows=55, features=False, references=len(names))
    # Half characters and control characters, which names of files may have, are refused in ids.
    whole = [re.sub(r"[\x00-\x1f]", "", name.encode(errors="replace").decode()) for name in names]
    ids = {key: f"{whole[row % len(whole)]} {key}" for row, key in enumerate(case.main.keys)}
    main = remade(case.main, ids=list(ids.values()), name=names[0])
    others = [
        remade(other, ids=[ids[key] for key in other.keys], name=name)
        for name, other in zip(names, case.references, strict=True)
    ]
    result = mf.refine(main, others, mf.RankLabels(main.keys, case.truth), rng=0)
    mf.write_report(result, tmp_path / "page.html", references=others)
    return Reader((tmp_path / "page.html").read_text(encoding="utf-8"))


def test_names_and_ids_are_text_whatever_they_hold(tmp_path):
    hostile = page_with_names(HOSTILE, tmp_path)
    harmless = page_with_names([f"name {number}" for number in range(len(HOSTILE))], tmp_path)

    def shape(read):
        # Pictures draw long names in parts, and what they define is named by what it holds.
        return [(tag, attributes.keys()) for tag, attributes in read.tags if tag not in DRAWN]

    assert shape(hostile) == shape(harmless)
    for name in HOSTILE:
        shown = " ".join(name.encode(errors="replace").decode().split())
        assert shown.replace("\x00", "") in hostile.words.replace("\x00", "").replace("\ufffd", ""), name


def test_names_in_pictures_are_as_they_are():
    case = draw(0, references=1)
    other = remade(case.references[0], name="_cost $x$ & <b>")
    markup = page_of(mf.refine(case.main, [other], rng=0))
    pictures = markup.split("<svg")[1:]
    shown = "_cost $x$ &amp; &lt;b&gt;"
    # References, metric, course; by rows there are none.
    assert [shown in picture.partition("</svg>")[0] for picture in pictures] == [True, True, False, False, True]


def test_a_page_of_many_rows_stays_small_and_says_what_it_draws(rng):
    rows = 5_000
    truth = rng.standard_normal(rows)
    main = mf.Observations(truth + rng.standard_normal(rows), ids=range(rows), name="main")
    others = [mf.Observations(truth + rng.standard_normal(rows), ids=range(rows), name=f"r{k}") for k in range(40)]
    result = mf.refine(main, others, rng=0)
    markup = page_of(result, references=others)
    assert len(markup.encode()) < 1_000_000
    assert "1,000 of 5,000 rows are drawn, evenly spaced" in Reader(markup).words
    assert "Drawn are the 24 of the largest weight." in Reader(markup).words
    assert len(Reader(markup).table("name")) == 40
    assert markup == page_of(result, references=others)


def test_a_loaded_refinement_gives_the_same_page(tmp_path):
    for name in ("labels", "coupled", "too few labels"):
        result, markup = run(name)
        mf.save(result, tmp_path / "model.npz")
        again = page_of(mf.load(tmp_path / "model.npz"), references=RUNS[name][1], seconds=1.25)
        assert again == markup


def test_predictions_may_be_a_series_with_rows_dropped():
    case = draw(0)
    scores = pd.Series(case.main.scores, dtype="float32").copy()
    scores.iloc[3] = np.nan
    with pytest.warns(mf.ManifuseWarning, match="left out"):
        main = mf.Observations(scores, case.main.table, ids=case.main.keys, name="main", invalid="drop")
    read = Reader(page_of(mf.refine(main, case.references, rng=0)))
    assert read.table("table")["main"]["rows"] == "159"


@pytest.mark.parametrize(
    "path, says",
    [("page.pdf", "reports end in .html"), ("nowhere/page.html", "The folder nowhere is not there")],
)
def test_what_cannot_be_written_is_refused_first(path, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(page, "page_of", None)
    with pytest.raises(mf.InputError, match=says):
        mf.write_report(run("not measured")[0], path)
    assert not list(tmp_path.iterdir())


def test_only_refinements_are_reported(tmp_path):
    with pytest.raises(mf.InputError, match="Refinement was expected"):
        mf.write_report("result", tmp_path / "page.html")
    with pytest.raises(mf.InputError, match="Observations or a data frame was expected"):
        mf.write_report(run("not measured")[0], tmp_path / "page.html", references=["other"])
    stranger = mf.Observations(np.arange(9.0), ids=range(9), name="stranger")
    with pytest.raises(mf.InputError, match="stranger is no reference of this result"):
        mf.write_report(run("not measured")[0], tmp_path / "page.html", references=[stranger])


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("precious")

    def full(self, content):
        with self.open("wb") as file:
            file.write(content[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(mf.InputError, match="No space left on device"):
        mf.write_report(run("not measured")[0], path)
    assert path.read_text() == "precious"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_what_was_warned_of_stands_on_the_page_and_not_in_the_saved_file(tmp_path):
    case = draw(0, references=1)
    features = {f"x{column}": values for column, values in enumerate(case.main.table.T)}
    main = pd.DataFrame({"n": np.arange(len(case.main)), "id": case.main.keys, "score": case.main.scores, **features})
    main.to_csv(tmp_path / "ours.csv", index=False)
    few = np.flatnonzero(np.isin(case.references[0].keys, case.main.keys))[:6]
    theirs = pd.DataFrame({"id": case.references[0].keys[few], "score": case.references[0].scores[few]})
    theirs.to_csv(tmp_path / "theirs.csv", index=False)
    with pytest.warns(mf.ManifuseWarning):
        found = mf.refine_files(tmp_path / "ours.csv", tmp_path / "theirs.csv", rng=0, out=tmp_path / "out.csv")
    codes = ["index_columns", "few_pairs"]
    assert [each.code for each in found.warnings] == codes
    assert [each["code"] for each in found.to_dict()["warnings"]] == codes
    printed = page_of(found)
    assert "theirs shares only 6 ids with ours; fewer than 10 rarely help." in printed
    mf.save(found, tmp_path / "model.npz")
    assert mf.load(tmp_path / "model.npz").warnings == ()
    assert ">Warnings<" not in page_of(mf.load(tmp_path / "model.npz"))
