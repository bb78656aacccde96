"""Tables and figures of a report: what is printed reads back as the numbers."""

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import wilcoxon
from study.tests.result_rows import NEEDS_COUPLED, draw_rows

from manifuse.grid import ABSENT, Grid, StrongText
from manifuse.report.drawing import as_svg
from manifuse_study.experiments.claims import Evidence, judge_claims
from manifuse_study.experiments.comparison import MEAN, SIGNIFICANT, is_testable
from manifuse_study.experiments.findings import verdict_of
from manifuse_study.experiments.latex import as_latex, escape_latex
from manifuse_study.experiments.markdown import as_markdown
from manifuse_study.experiments.methods import METHODS
from manifuse_study.experiments.result_figures import as_pdf, draw_results, draw_surface, rivals
from manifuse_study.experiments.result_tables import (
    RIVALS,
    accuracy_grid,
    as_csv,
    differences_grid,
    format_seconds,
    gains_grid,
    marked,
    missing_grid,
    rivals_grid,
    tasks_grid,
    times_grid,
)
from manifuse_study.experiments.results_page import lead, results_page
from manifuse_study.experiments.statistics import summarise, values_of, with_surface


@pytest.fixture(scope="module")
def rows():
    return draw_rows(("osr", "hw", "pubfig"))


@pytest.fixture(scope="module")
def summaries(rows):
    return summarise(rows)


def test_csv_reads_back_as_the_numbers(summaries):
    summary = summaries["pubfig"]
    lines = list(csv.DictReader(io.StringIO(as_csv(summary))))
    assert len(lines) == 12 * len(summary.methods)
    assert all(None not in line and None not in line.values() for line in lines)
    for line in lines:
        spread = summary.spread(line["method"], line["task"])
        assert (float(line["mean"]), float(line["sd"])) == (spread.mean, spread.deviation)
        if line["method"] == "Ind":
            assert line["less_ind"] == line["p_holm"] == line["losses"] == ""
    found = summary.compare("MTL2")
    kept = [line for line in lines if line["method"] == "MTL2"]
    for line, difference in zip(kept, (*found.tasks, found.mean), strict=True):
        assert float(line["less_ind"]) == difference.mean
        assert (float(line["low"]), float(line["high"])) == (difference.low, difference.high)
        assert float(line["p_holm"]) == difference.adjusted
        counts = [int(line[name]) for name in ("wins", "ties", "losses")]
        assert counts == [difference.wins, difference.ties, difference.losses]
        assert sum(counts) == int(line["trials"]) == difference.trials


def test_latex_reads_back_as_the_numbers(summaries):
    summary = summaries["osr"]
    text = as_latex(accuracy_grid(summary))
    lines = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if line.endswith(r"\\")]
    assert lines[0] == ["task", *map(marked, summary.methods)]
    assert text.count(r"\midrule") == 2
    for line in lines[1:-1]:
        means = [summary.spread(method, line[0]).mean for method in summary.methods]
        printed = [float(re.search(r"(\d+\.\d) \$\\pm\$", cell)[1]) for cell in line[1:]]
        np.testing.assert_allclose(printed, 100 * np.array(means), atol=0.0501)
        fair = [mean for method, mean in zip(summary.methods, means, strict=True) if not METHODS[method].knows_more]
        assert [cell.startswith(r"\textbf") for cell in line[1:]] == [mean == max(fair) for mean in means]


def test_latex_prints_every_sign_as_it_stands():
    assert escape_latex(r"50% & a_b ^ \x {y} #1 $ ~") == (
        r"50\% \& a\_b \textasciicircum{} \textbackslash{}x \{y\} \#1 \$ \textasciitilde{}"
    )
    grid = Grid(("a", "b"), (("[0]", StrongText("1 ± 2")),))
    # A bracket at the start of a line would be an option of the line's end before it.
    assert r"{[}0{]} & \textbf{1 $\pm$ 2} \\" in as_latex(grid)


def test_markdown_keeps_its_columns():
    grid = Grid(("a|b", "c"), (("x|y", StrongText("1")),), (("sum", "2"),))
    lines = [r"| a\|b | c |", "| --- | ---: |", r"| x\|y | **1** |", "| sum | 2 |"]
    assert as_markdown(grid) == "\n".join(lines)


def test_a_method_that_knows_more_is_marked_and_never_the_best(summaries):
    knowing = {name for name, method in METHODS.items() if method.knows_more}
    assert knowing == {"retrained", "retrained, then refined", "coupled oracle"}
    summary = summaries["hw"]
    grid = accuracy_grid(summary)
    assert {name for name in grid.head if name.endswith(" †")} == {f"{name} †" for name in knowing}
    ours = grid.head.index("JMD")
    for line in (*grid.body, grid.foot[0]):
        assert sum(isinstance(cell, StrongText) for cell in line) == 1
        for name in knowing:
            cell = line[grid.head.index(f"{name} †")]
            assert float(cell[:4]) > float(line[ours][:4])
            assert not isinstance(cell, StrongText)
    for other in (rivals_grid(summary), times_grid(summaries), gains_grid(summaries)):
        assert "retrained, then refined †" in [line[0] for line in other.body]
    assert differences_grid(summary).head[-1] == "coupled oracle †"


def test_every_grid_is_a_rectangle(summaries):
    grids = [times_grid(summaries), missing_grid(summaries)]
    for summary in summaries.values():
        grids += [accuracy_grid(summary), rivals_grid(summary), differences_grid(summary)]
        grids.append(tasks_grid(summary.compare("JMD")))
    for grid in grids:
        assert {len(line) for line in grid.body + grid.foot} == {len(grid.head)}


def test_what_is_significant_stands_out(summaries):
    found = summaries["osr"].compare("JMD")
    cells = {line[0]: line[1] for line in tasks_grid(found).body}
    for task in found.tasks:
        assert isinstance(cells[task.task], StrongText) == (task.adjusted < 0.05)
        assert float(cells[task.task]) == pytest.approx(100 * task.mean, abs=0.0051)


def test_the_page_of_results_says_everything(summaries):
    findings = judge_claims(Evidence(summaries))
    page = results_page("results.md", summaries, findings, {"osr": ["Features were recomputed."]})
    for finding in findings:
        assert (
            f"- **({finding.letter}) {verdict_of(finding.conditions)}**; as it ships: {verdict_of(finding.shipped)}."
            in page
        )
        assert finding.statement in page
        assert all(condition.sentence in page for condition in (*finding.conditions, *finding.shipped))
        assert finding.criterion in page
    assert page.index("## The paper's claims") < page.index("## OSR") < page.index("## HW") < page.index("## PubFig")
    assert page.count(NEEDS_COUPLED) == 2
    assert "LinAlgError: did not converge" in page
    assert page.count("Data: Features were recomputed.") == 1
    assert "commit 0123456789ab" in page
    assert "Methods with a † know more than the others" in page
    assert "trials are splits of the same rows" in page.lower()
    assert "TPC is our reconstruction" in page[page.index("## OSR") : page.index("## HW")]
    assert "TPC is our reconstruction" not in page[page.index("## HW") : page.index("## PubFig")]


def test_seconds_keep_two_digits_that_count():
    assert [format_seconds(value) for value in (0.00412, 1.49, 123.0, np.nan)] == ["0.0041", "1.5", "120", "—"]


def test_bars_are_the_means_and_a_panel_is_a_dataset(summaries):
    figure = draw_results(list(summaries.values()))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [summary.title for summary in summaries.values()]
    for axes, summary in zip(figure.axes, summaries.values(), strict=True):
        bars = {len(container): container for container in axes.containers if hasattr(container, "patches")}
        assert set(bars) == {len(summary.tasks) + 1}
        labels = [label.get_text() for label in axes.get_xticklabels()]
        assert labels == [*summary.tasks, "mean"]
        heights = np.array(
            [[bar.get_height() for bar in each] for each in axes.containers if hasattr(each, "patches")]
        )
        ours = [100 * summary.spread("JMD", task).mean for task in (*summary.tasks, MEAN)]
        np.testing.assert_allclose(heights[-1], ours)
        low, high = axes.get_ylim()
        assert 0 < low < heights.min() < heights.max() < high <= 100


def test_rivals_are_neither_ours_nor_the_papers_nor_know_more(summaries):
    assert rivals(list(summaries.values())) == ["stacking, RankSVM", "self-smoothing"]


def test_a_rival_that_is_far_below_elsewhere_is_not_drawn():
    rows = [
        replace(row, accuracy=row.accuracy and row.accuracy + by)
        for row in draw_rows(("osr", "awa"), trials=2)
        for by in [{"awa": 0.2, "osr": -0.2}[row.dataset] if row.method == "mean" else 0.0]
    ]
    summaries = list(summarise(rows).values())
    assert rivals(summaries[1:]) == ["mean"]
    assert "mean" not in rivals(summaries)


def test_a_dataset_without_results_has_no_panel(rows):
    failed = [row for row in rows if row.dataset == "hw" and row.status == "skipped"]
    both = summarise([*failed, *(row for row in rows if row.dataset == "osr")])
    assert [axes.get_title(loc="left") for axes in draw_results(list(both.values())).axes] == ["OSR"]
    assert accuracy_grid(both["hw"]).head == ("task",)


def test_a_stored_surface_is_drawn_with_its_choice(rows):
    stored = with_surface(rows)[0]
    choice, values = stored.hyperparameters, values_of(stored)
    axes = draw_surface(choice).axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), values)
    (column, row), *_ = axes.collections[0].get_offsets()
    assert choice["step_sizes"][int(row)] == choice["step_size"]
    assert choice["weight_scales"][int(column)] == choice["weight_scale"]
    assert values[int(row), int(column)] == values.max()


def test_figures_are_the_same_bytes_again(rows):
    first, second = (draw_surface(with_surface(rows)[0].hyperparameters) for _ in range(2))
    assert as_svg(first) == as_svg(second) == as_svg(first)
    assert as_pdf(first) == as_pdf(second)
    assert as_pdf(first).startswith(b"%PDF")
    assert b"CreationDate" not in as_pdf(first)
    assert "matplotlib.org" not in as_svg(first)


def test_gains_are_those_of_jmd_over_each_rival_where_both_ran(summaries):
    grid = gains_grid(summaries)
    lines = {line[0]: line[1:] for line in grid.body}
    there = {name for name in RIVALS if any(name in summary.methods for summary in summaries.values())}
    assert set(lines) == set(map(marked, there))
    for index, summary in enumerate(summaries.values()):
        assert grid.head[index + 1] == summary.title
        found = summary.compare("JMD", "Ind").mean
        assert lines["Ind"][index].startswith(f"{100 * found.mean:+.2f} [")
        assert isinstance(lines["Ind"][index], StrongText)
        assert (lines["self-smoothing"][index] == ABSENT) == ("self-smoothing" not in summary.methods)


def test_methods_of_fewer_trials_are_named():
    rows = draw_rows(("osr",), trials=4)
    short = [row for row in rows if not (row.method == "JMD" and row.trial > 1)]
    ours = [row for row in rows if row.method == "JMD"]
    page = results_page("results.md", summarise(short), (), {})
    assert "\n- Trials with all tasks, where these are fewer than 4: JMD 2, MTL2 3.\n" in page
    assert "fewer" not in results_page("results.md", summarise(ours), (), {})


@pytest.mark.parametrize(
    "trials, said",
    [
        (1, "One trial cannot tell whether that is significant"),
        (7, "7 trials cannot tell"),
        (8, "significantly better than Ind on"),
    ],
)
def test_a_few_trials_are_not_called_insignificant(trials, said):
    found = summarise(draw_rows(("hw",), trials=trials))
    assert len(found["hw"].tasks) == 6
    assert said in " ".join(lead(found, []))


@pytest.mark.parametrize("tasks", [1, 6])
def test_what_can_be_tested_is_what_the_best_trials_could_show(tasks):
    for trials in range(1, 12):
        p = wilcoxon(np.arange(1.0, trials + 1)).pvalue
        assert bool(tasks * p < SIGNIFICANT) is is_testable(trials, tasks)
