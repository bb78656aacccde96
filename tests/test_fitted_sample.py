"""Large tables: a sample is fitted, and all other rows are refined as later rows are."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from threadpoolctl import threadpool_info

import manifuse as mf
from manifuse.backends import index as index_module
from manifuse.backends.index import Index
from manifuse.backends.neighbours import Order
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.report.refinement_page import page_of
from manifuse.run import later_rows
from manifuse.tables import sampling
from manifuse.tables.sampling import sample_rows
from tests.problems import draw, remade

SAMPLED = mf.JointDiffusion(same_target=True, fitted_rows=400)


@pytest.fixture(scope="module")
def case():
    return draw(1, rows=1500, pairs=60)


@pytest.fixture(scope="module", params=[False, True], ids=["no labels", "labels"])
def result(case, request):
    return mf.refine(case.main, case.references, case.labels() if request.param else None, SAMPLED, rng=0)


def tables_of(main, *references):
    """Tables of these ids, with one feature, and scores that are random and do not depend on the order of the rows."""
    made = [
        mf.Observations(
            np.random.default_rng(0).permutation(len(keys))[np.argsort(np.argsort(keys))],
            np.zeros((len(keys), 1)),
            ids=keys,
        )
        for keys in (main, *references)
    ]
    return made[0], made[1:]


def test_the_sample_has_all_labelled_rows_and_all_pairs(case):
    result = mf.refine(case.main, case.references, case.labels(), SAMPLED, rng=0)
    fitted = set(result.fitted_model.main.keys.tolist())
    paired = set(case.main.keys[np.isin(case.main.keys, np.concatenate([r.keys for r in case.references]))].tolist())
    assert len(fitted) == 400
    assert set(case.main.keys[case.labelled].tolist()) | paired <= fitted
    assert [entry.pairs for entry in result.relevance] == [60, 60]
    assert result.to_dict()["rows"] == 1500
    assert result.to_dict()["fitted"] == 400


def test_all_rows_come_out_nearly_as_well_as_if_all_were_fitted(case, result):
    every = mf.refine(case.main, case.references, method=replace(SAMPLED, fitted_rows=None), rng=0)
    assert len(every.fitted_model.main) == 1500
    assert len(result.scores) == len(result.support) == 1500
    before, sampled, whole = (ranking_accuracy(case.truth, s) for s in (case.main.scores, result.scores, every.scores))
    assert sampled > before + 0.1
    assert whole - sampled < 0.03


def test_the_result_is_that_of_applying_to_any_batches_to_the_last_bit(case, result, monkeypatch):
    monkeypatch.setattr(later_rows, "threads", lambda: 1)
    parts = np.split(np.random.default_rng(0).permutation(1500), [1, 30, 700])
    for rows in parts:
        batch = remade(
            case.main,
            predictions=case.main.scores[rows],
            features=case.main.table[rows],
            ids=case.main.keys[rows],
        )
        applied = result.apply_in_full(batch)
        np.testing.assert_array_equal(applied.scores, result.predictions[rows])
        np.testing.assert_array_equal(applied.support, result.support[rows])
        assert (applied.uncertainty is None) == (result.uncertainty is None)
        if result.uncertainty is not None:
            np.testing.assert_array_equal(applied.uncertainty, result.uncertainty[rows])


@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
def test_blocks_and_what_is_left_of_them_are_computed_alike(result, rng):
    """More rows than a block, shifted by a few, so that each row is elsewhere in its block."""
    features = rng.uniform(-1, 1, (2 * later_rows.BLOCK + 700, 6))
    scores = rng.standard_normal(len(features))
    keys = [f"later {row}" for row in range(len(features))]
    whole = result.apply_in_full(mf.Observations(scores, features, ids=keys))
    for first in (1, 333, later_rows.BLOCK - 96):
        part = result.apply_in_full(mf.Observations(scores[first:], features[first:], ids=keys[first:]))
        np.testing.assert_array_equal(part.scores, whole.scores[first:])
        np.testing.assert_array_equal(part.support, whole.support[first:])


def test_a_saved_refinement_has_the_fitted_rows_and_gives_all_others_their_scores(case, result, tmp_path):
    mf.save(result, tmp_path / "model.npz")
    again = mf.load(tmp_path / "model.npz")
    assert len(again.main) == len(again.scores) == 400
    np.testing.assert_array_equal(again.apply(case.main), result.predictions)


def test_equal_seeds_draw_equal_samples(case):
    keys = [
        mf.refine(case.main, case.references, method=SAMPLED, rng=seed).fitted_model.main.keys for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(keys[0], keys[1])
    assert set(keys[0]) != set(keys[2])


def test_a_coupled_reference_is_looked_up_for_rows_that_were_not_fitted():
    case = draw(6, features=False, rows=900)
    sampled, whole = (
        mf.refine(case.main, case.references, method=replace(SAMPLED, fitted_rows=size), rng=0) for size in (300, None)
    )
    assert len(sampled.fitted_model.main) == 300
    np.testing.assert_allclose(sampled.support, 1.0)
    assert np.corrcoef(sampled.scores, whole.scores)[0, 1] > 0.995


def test_scores_of_a_reference_without_features_are_known_at_rows_that_were_not_fitted(tmp_path):
    """It lacks some rows, so it is no coupled one."""
    case = draw(4, rows=3000, pairs=2900, references=1)
    theirs = case.references[0]
    bare = mf.Observations(theirs.scores, ids=theirs.keys, name="theirs")
    result = mf.refine(case.main, [bare], method=SAMPLED, rng=0)
    known = np.isin(case.main.keys, theirs.keys)
    assert len(result.fitted_model.main) < 3000
    np.testing.assert_array_equal(result.support[known], 1.0)
    assert (result.support[~known] < 1.0).all()
    for table, name in ((case.main, "main"), (bare, "theirs")):
        features = {} if table.table is None else {f"x{k}": column for k, column in enumerate(table.table.T)}
        pl.DataFrame({"id": table.keys, "score": table.scores, **features}).write_parquet(tmp_path / f"{name}.parquet")
    out = tmp_path / "out.parquet"
    mf.refine_files(tmp_path / "main.parquet", tmp_path / "theirs.parquet", method=SAMPLED, rng=0, out=out)
    np.testing.assert_allclose(pl.read_parquet(out)["score"], result.scores, atol=1e-12)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_features_that_stay_in_a_file_change_no_bit_and_no_warning(ending, tmp_path, rng):
    """A reference that knows few of all rows knows most of those that are fitted; a far score is in none of these.

    All rows of another one, which is larger than the sample, too, are common rows.
    """
    count, known = 1500, 120
    truth = rng.standard_normal(count)
    scores = truth + 1.2 * rng.standard_normal(count)
    # Many rows have equal scores, so that their features decide in which order they are drawn.
    scores[::3] = np.round(scores[::3])
    scores[-3:] = 9999.0
    columns = {f"x{k}": slope * truth + rng.standard_normal(count) for k, slope in enumerate((1.0, 0.5, 0.0))}
    main = pl.DataFrame({"id": [f"m{row}" for row in range(count)], "score": scores, **columns})
    theirs = main[:known].select("id", score=truth[:known] + 0.4 * rng.standard_normal(known))
    theirs.write_csv(tmp_path / "theirs.csv")
    others = main[:250].select("id", "x0", score=truth[:250] + rng.standard_normal(250))
    main[: known // 2].select("id", label=pl.Series(truth[: known // 2])).write_csv(tmp_path / "known.csv")
    for name, table in (("main", main), ("others", others)):
        table.write_csv(tmp_path / f"{name}.csv")
        (table.write_parquet if ending == "parquet" else table.write_ipc)(tmp_path / f"{name}.{ending}")
    found = []
    for each in ("csv", ending):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mf.ManifuseWarning)
            result = mf.refine_files(
                tmp_path / f"main.{each}",
                [tmp_path / "theirs.csv", tmp_path / f"others.{each}"],
                labels=tmp_path / "known.csv",
                method=mf.JointDiffusion(fitted_rows=200),
                rng=0,
                out=tmp_path / "out.parquet",
            )
        facts = result.to_dict()
        told = [warning.code for warning in result.warnings]
        found.append((pl.read_parquet(tmp_path / "out.parquet"), told, {k: facts[k] for k in ("gain", "references")}))
        assert len(result.fitted_model.main) < 500
    (rows, told, facts), (rows_of_file, told_of_file, facts_of_file) = found
    assert rows.equals(rows_of_file)
    assert told == told_of_file
    assert "far_values" in told
    assert facts == facts_of_file


def test_many_pairs_take_half_of_a_sample_and_each_reference_has_its_share(monkeypatch):
    monkeypatch.setattr(sampling, "WHOLE_PAIRS", 100)
    main = np.array([f"m{row}" for row in range(1000)])
    few, many = main[:30], np.concatenate([main[100:900], [f"r{row}" for row in range(500)]])
    rows, (_, theirs) = sample_rows(
        *tables_of(main, few, many), 200, np.random.default_rng(0), labelled=np.array([5, 950])
    )
    assert len(rows) == len(theirs) == 200
    assert {5, 950, *range(30)} <= set(rows.tolist())
    pairs = np.isin(main[rows], many).sum()
    assert 70 <= pairs < 160
    assert set(main[rows]) & set(many) <= set(many[theirs])


def test_a_reference_with_all_rows_stays_whole():
    main = np.array([f"m{row}" for row in range(500)])
    reference = np.concatenate([main[::-1], ["another"]])
    rows, (theirs,) = sample_rows(*tables_of(main, reference), 100, np.random.default_rng(0))
    assert len(rows) == 100
    np.testing.assert_array_equal(theirs, np.arange(501))


def test_rows_and_references_in_another_order_give_the_same_sample(monkeypatch, rng):
    monkeypatch.setattr(sampling, "WHOLE_PAIRS", 100)
    main = np.array([f"m{row}" for row in range(1000)])
    # Two references have the same ids, and one has all main rows.
    ids = [np.append(main[100:900], [f"r{row}" for row in range(500)])] * 2 + [
        main[:400],
        np.append(main, ["another"]),
    ]

    def sampled(order, numbers):
        tables = [ids[number][rng.permutation(len(ids[number]))] for number in numbers]
        labelled = np.argsort(order)[[5, 950]]
        given = tables_of(main[order], *tables)
        rows, theirs = sample_rows(*given, 200, np.random.default_rng(0), labelled)
        chosen = {number: set(table[there]) for number, table, there in zip(numbers, tables, theirs, strict=True)}
        return set(main[order][rows]), chosen

    expected = sampled(np.arange(1000), [0, 1, 2, 3])
    assert len(expected[0]) == 200
    for numbers in ([3, 2, 1, 0], [1, 3, 0, 2]):
        assert sampled(rng.permutation(1000), numbers) == expected


def test_a_refinement_of_a_sample_does_not_depend_on_the_order_of_rows(case, result, rng):
    order = rng.permutation(len(case.main))
    moved = mf.Observations(case.main.scores[order], case.main.table[order], ids=case.main.keys[order], name="main")
    labels = None if result.gain is None else case.labels()
    other = mf.refine(moved, case.references, labels, SAMPLED, rng=0)
    np.testing.assert_allclose(other.scores, result.scores[order], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [50, 0, 2.5, True, "all"])
def test_a_size_out_of_range_is_refused(size):
    with pytest.raises(mf.InputError, match="fitted_rows="):
        mf.JointDiffusion(fitted_rows=size)


def test_cells_find_nearly_what_exact_search_finds(monkeypatch, rng):
    pytest.importorskip("faiss")
    table, later = rng.standard_normal((6000, 8)), rng.standard_normal((500, 8))
    exact, cells = [], []
    for found, least in ((exact, 10_000), (cells, 5_000)):
        monkeypatch.setattr(index_module, "IN_CELLS", least)
        found += Index.of(table, Order(np.arange(6000), np.arange(8)), standardised=True, name="it").nearest(later, 10)
    shared = [np.isin(one, other).mean() for one, other in zip(exact[1], cells[1], strict=True)]
    assert 0.9 < np.mean(shared) < 1.0
    scaled = [(rows - table.mean(0)) / table.std(0) for rows in (table, later)]
    by_hand = np.sum((scaled[0][cells[1]] - scaled[1][:, None]) ** 2, axis=2)
    np.testing.assert_allclose(cells[0], by_hand)
    assert (np.diff(cells[0], axis=1) >= 0).all()


@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
def test_cells_do_not_depend_on_the_order_of_the_fitted_rows(monkeypatch):
    """These later rows lie between cells; by the order in which rows came, they differed by 0.003."""
    pytest.importorskip("faiss")
    monkeypatch.setattr(index_module, "IN_CELLS", 1000)
    case, rng, names = draw(1, rows=1500), np.random.default_rng(1), list("abcdef")
    main = case.main
    points, scores = rng.standard_normal((300, 6)) * main.table.std(axis=0), rng.permutation(main.scores)[:300]
    later = mf.Observations(scores, points, ids=[f"later {row}" for row in range(300)], feature_names=names)

    def applied(rows):
        ours = mf.Observations(main.scores[rows], main.table[rows], ids=main.keys[rows], feature_names=names)
        return mf.refine(ours, case.references, case.labels(), rng=0).apply(later)

    np.testing.assert_allclose(applied(rng.permutation(1500)), applied(np.arange(1500)), rtol=0, atol=1e-5)


@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
@pytest.mark.parametrize("far", [1e20, 1e160, -1e300])
def test_rows_at_any_distance_have_finite_scores(case, result, far):
    features = case.main.table[:3].copy()
    features[1] = far
    new = mf.Observations(case.main.scores[:3], features, ids=["x", "y", "z"], name="later")
    applied = result.apply_in_full(new)
    assert np.isfinite(applied.scores).all()
    assert applied.support[1] == 0
    alone = mf.Observations(case.main.scores[:1], features[:1], ids=["x"], name="later")
    assert result.apply(alone)[0] == applied.scores[0]


def test_a_reference_that_lacks_one_row_does_not_seem_to_be_known_on_all():
    main = np.array([f"m{row}" for row in range(5000)])
    for seed in range(5):
        rows, _ = sample_rows(*tables_of(main, main[1:], main[:-1]), 100, np.random.default_rng(seed))
        assert {0, 4999} <= set(rows.tolist())


def test_rows_that_nearly_all_have_a_partner_gain_from_it_though_they_are_not_fitted():
    case = draw(4, rows=3000, pairs=2999, references=1)
    result = mf.refine(case.main, case.references, method=SAMPLED, rng=0)
    later = ~np.isin(case.main.keys, result.fitted_model.main.keys)
    before, after = (np.corrcoef(case.truth[later], s[later])[0, 1] for s in (case.main.scores, result.scores))
    assert after > before + 0.1
    assert np.median(result.support[later]) > 0.1


def test_a_predictor_that_is_constant_in_the_sample_is_refused():
    case = draw(0, rows=3000, pairs=20)
    scores = np.zeros(3000)
    scores[-2:] = 1.0
    main = remade(case.main, predictions=scores)
    with pytest.raises(mf.InputError, match=r"in the .* rows that are fitted are equal; give the method more"):
        mf.refine(main, case.references, method=mf.JointDiffusion(fitted_rows=100), rng=0)


def test_a_refused_refinement_says_the_same_of_rows_that_were_fitted_and_of_others(case):
    noise = remade(case.references[0], predictions=np.random.default_rng(0).standard_normal(1500))
    result = mf.refine(case.main, [noise], method=replace(SAMPLED, same_target=False), rng=0)
    assert not result.accepted
    applied = result.apply_in_full(case.main)
    np.testing.assert_array_equal(applied.scores, case.main.scores)
    np.testing.assert_array_equal(applied.support, result.support)


def test_calls_from_several_threads_give_the_same_and_leave_the_libraries_their_threads(case, result):
    limits = [each["num_threads"] for each in threadpool_info()]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: pickle.loads(pickle.dumps(result)).apply(case.main), range(8)))
    assert [each["num_threads"] for each in threadpool_info()] == limits
    for predictions in found:
        np.testing.assert_array_equal(predictions, result.predictions)


def test_a_reference_that_knows_most_of_the_sample_but_few_rows_is_judged_as_one_that_knows_few():
    case = draw(1, rows=1500, pairs=80, references=1)
    known = case.main.keys[np.isin(case.main.keys, case.references[0].keys)][:40]
    labels = mf.RankLabels(known, case.truth[np.isin(case.main.keys, known)])
    sampled, whole = (mf.refine(case.main, case.references, labels, rng=0, fitted_rows=rows) for rows in (100, None))
    assert (len(sampled.fitted_model.main), sampled.relevance[0].pairs) == (100, 80)
    assert not len(sampled.fitted_model.columns.references.usual)
    assert sampled.relevance[0].reached == pytest.approx(whole.relevance[0].reached, abs=0.005)


def test_a_saved_sample_says_so_though_it_has_more_rows_than_were_asked_for(tmp_path):
    """All pairs are fitted, up to 2,000."""
    case = draw(1, rows=500, pairs=200)
    result = mf.refine(case.main, case.references, method=replace(SAMPLED, fitted_rows=100), rng=0)
    assert 100 < len(result.fitted_model.main) < 500
    assert not result.is_sample
    mf.save(result, tmp_path / "model.npz")
    again = mf.load(tmp_path / "model.npz")
    assert again.is_sample
    page = page_of(again)
    assert (
        f"The main table has 500 rows. {len(again.main)} of them were fitted, and this page describes these." in page
    )
    assert "missing or infinite" not in page


@pytest.mark.filterwarnings("ignore:.*left out:manifuse.ManifuseWarning")
def test_a_table_that_lost_rows_is_no_sample(tmp_path):
    case = draw(1, rows=160)
    scores = case.main.scores.copy()
    scores[5] = np.nan
    frame = pl.DataFrame({"id": case.main.keys, "score": scores, **dict(zip("abcd", case.main.table.T, strict=False))})
    frame.write_parquet(tmp_path / "ours.parquet")
    theirs = case.references[0]
    pl.DataFrame({"id": theirs.keys, "score": theirs.scores}).write_parquet(tmp_path / "theirs.parquet")
    known = case.main.keys[case.labelled]
    pl.DataFrame({"id": known, "label": case.truth[case.labelled]}).write_parquet(tmp_path / "labels.parquet")
    found = mf.refine_files(
        *(tmp_path / f"{name}.parquet" for name in ("ours", "theirs", "labels")),
        out=tmp_path / "refined.parquet",
        drop_invalid=True,
        rng=0,
    )
    assert len(found.main) == 159
    assert "fitted row" not in found.summary()
    with pytest.raises(mf.InputError, match=rf"has no row with the id '{case.main.keys[5]}'; give ids of its rows\."):
        found.probability([case.main.keys[5]], [case.main.keys[6]])
