"""Ids found among others by their hashes, against dictionaries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifuse.kernels import keys as keys_module
from manifuse.kernels.keys import locate, repeated

TEXTS = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=6), min_size=1, max_size=30)


def as_array(texts):
    return np.array(texts, dtype=np.str_)


@pytest.mark.parametrize("colliding", [False, True])
@given(sought=TEXTS, among=TEXTS)
def test_keys_are_found_where_a_dictionary_finds_them(sought, among, colliding):
    among = list(dict.fromkeys(among))
    places = {key: row for row, key in enumerate(among)}
    with pytest.MonkeyPatch.context() as patch:
        if colliding:
            patch.setattr(keys_module, "hashes_of", lambda keys: np.zeros(len(keys), dtype=np.uint64))
        rows, known = locate(as_array(sought), as_array(among))
    assert known.tolist() == [key in places for key in sought]
    assert rows[known].tolist() == [places[key] for key in sought if key in places]


@pytest.mark.parametrize("colliding", [False, True])
@given(texts=TEXTS)
def test_repeated_keys_are_counted_once_at_their_first_place(texts, colliding):
    with pytest.MonkeyPatch.context() as patch:
        if colliding:
            patch.setattr(keys_module, "hashes_of", lambda keys: np.zeros(len(keys), dtype=np.uint64))
        found = repeated(as_array(texts))
    assert found.tolist() == sorted({texts.index(text) for text in texts if texts.count(text) > 1})


def test_the_width_of_an_array_does_not_change_what_is_found():
    assert locate(np.array(["b", "longer"]), np.array(["a", "b"]))[1].tolist() == [True, False]
