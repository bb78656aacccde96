import numpy as np
import pytest

from manifuse_study.datasets.classifiers import (
    classifiers_of_halves,
    classifiers_of_views,
    draw_classifiers,
    read_class_table,
    table_names,
)


class Archive(dict):
    """A table that is read as an archive is."""

    files = property(list)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, seed", [("digits", 6), ("vowel", 5005), ("hw", 7), ("led7digit", 100001)])
def test_problems_are_those_of_the_published_script(data, published, name, seed):
    if name not in table_names(data):
        pytest.skip(f"{name} is not in the data folder.")
    table = read_class_table(data, name)
    drawn, wanted = draw_classifiers(table, seed), published.draw_classes(Archive(table), seed)
    for ours, theirs in zip((drawn.main, *drawn.references), (wanted["main"], *wanted["references"]), strict=True):
        assert ours.keys.tolist() == [str(key) for key in theirs["ids"]]
        assert ours.classes.names == tuple(theirs["classes"])
        np.testing.assert_array_equal(ours.came, theirs["scores"])
        np.testing.assert_array_equal(ours.table, theirs["features"])
    np.testing.assert_array_equal(drawn.main.keys[drawn.test], np.asarray(wanted["test_ids"]).astype(str))
    np.testing.assert_array_equal(drawn.truth[drawn.test], wanted["truth"])
    assert (drawn.coarse, len(drawn.pairs)) == (wanted["coarse"], wanted["pairs"])
    known, names = wanted["labels"]
    assert (drawn.labels is None) == (len(known) == 0)
    if drawn.labels is not None:
        assert dict(zip(drawn.labels.keys, drawn.labels.names, strict=True)) == dict(
            zip(np.asarray(known).astype(str), names, strict=True)
        )


def test_what_references_say_everywhere_is_what_they_say_at_pairs():
    drawn = draw_classifiers(read_class_table(None, "digits"), 3)
    for reference, everywhere in zip(drawn.references, drawn.everywhere, strict=True):
        assert everywhere.keys.tolist() == drawn.main.keys.tolist()
        assert everywhere.table is None
        places = [reference.keys.tolist().index(key) for key in drawn.main.keys[drawn.pairs]]
        np.testing.assert_allclose(everywhere.came[drawn.pairs], reference.came[places])


def test_every_view_has_its_turn_and_test_rows_have_no_label():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=1300)
    table = {f"X_{name}": np.eye(3)[y] + rng.standard_normal((1300, 3)) for name in "abc"} | {"y": y}
    for seed, name in enumerate("abca"):
        drawn = classifiers_of_views(table, seed, 40)
        assert drawn.main.name == name
        assert sorted(each.name for each in drawn.references) == sorted({*"abc"} - {name})
        assert len(drawn.pairs) == 200
        assert len(drawn.labels.keys) == 40
        assert not set(drawn.main.keys[drawn.test]) & set(drawn.labels.keys)
        assert len(drawn.test) == 650 - 400 - 40
        right = drawn.main.classes.most_probable(drawn.main.came) == drawn.truth
        assert 0.5 < right.mean() < 0.9
    assert classifiers_of_views(table, 0, 0).labels is None


def test_of_the_halves_nobody_knows_what_the_reference_says_everywhere():
    drawn = classifiers_of_halves(1, 50)
    assert drawn.everywhere == ()
    assert not set(drawn.test) & set(drawn.pairs)
