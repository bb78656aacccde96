"""What the server packs is what a browser reads. This reader follows the rules of the docstring alone."""

import json

import numpy as np
import pytest

from manifuse.page.packing import pack


def unpack(content):
    length = int.from_bytes(content[:4], "little")
    head = json.loads(content[4 : 4 + length])
    arrays = {}
    for entry in head["arrays"]:
        start = 4 + length + entry["offset"]
        assert start % 8 == 0
        flat = np.frombuffer(content, entry["type"], count=int(np.prod(entry["shape"])), offset=start)
        arrays[entry["name"]] = flat.reshape(entry["shape"])
    return head["facts"], arrays


def test_facts_and_arrays_arrive(rng):
    columns = rng.standard_normal((3, 7)).T
    facts, arrays = unpack(
        pack(
            {"title": "größer", "rows": 7},
            {"columns": columns, "rows": np.array([3, 1, 2]), "empty": np.empty(0)},
        )
    )
    assert facts == {"title": "größer", "rows": 7}
    np.testing.assert_array_equal(arrays["columns"], columns)
    assert arrays["rows"].dtype == np.uint32
    assert arrays["rows"].tolist() == [3, 1, 2]
    assert arrays["empty"].shape == (0,)


def test_what_json_cannot_express_is_not_sent():
    with pytest.raises(ValueError, match="JSON"):
        pack({"alignment": float("nan")}, {})
