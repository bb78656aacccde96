"""Blocks: facts and arrays as one body of bytes, which the browser views without parsing numbers.

Four bytes give the length of a JSON text in UTF-8 (little endian), the text follows. It holds ``facts``, and for every
array its name, type, shape and offset from the end of the text, which spaces bring to a multiple of eight.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Types that the browser has, by the kind that NumPy gives them.
TYPES = {"f": "<f8", "i": "<u4", "u": "<u4", "S": "|u1"}

#: Arrays begin at multiples of this, as the browser's views demand.
ALIGNED = 8


def pack(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Put facts and arrays together.

    Parameters
    ----------
    facts : mapping
        Plain data, without NaN or infinity.
    arrays : mapping of name to array
        Floats of 64 bits; places (whole numbers from 0 to 2³² - 1); or bytes, as a NumPy scalar array of them.

    Returns
    -------
    bytes

    Examples
    --------
    >>> pack({"rows": 2}, {"scores": np.array([1.0, 2.0])})[-8:] == np.array(2.0).tobytes()
    True
    """
    entries, bodies, offset = [], [], 0
    for name, array in arrays.items():
        body = np.ascontiguousarray(array).astype(TYPES[array.dtype.kind]) if array.dtype.kind != "S" else array
        content = body.tobytes()
        entries.append({"name": name, "type": TYPES[array.dtype.kind], "shape": list(array.shape), "offset": offset})
        entries[-1]["bytes"] = len(content)
        padding = -len(content) % ALIGNED
        bodies += [content, b"\0" * padding]
        offset += len(content) + padding
    text = json.dumps({"facts": facts, "arrays": entries}, allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % ALIGNED)
    return b"".join([len(text).to_bytes(4, "little"), text, *bodies])
