"""Packing: facts and arrays as one body of bytes, which the browser views without parsing numbers.

Four bytes give the length of a JSON text in UTF-8 (little endian); the text follows. It has ``facts``, and for every
array its name, type, shape and offset from the end of the text. Spaces at its end bring the arrays to a multiple of
eight bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

#: Types that the browser has, by NumPy's kind.
TYPES = {"f": "<f8", "i": "<u4"}

#: Arrays begin at multiples of this, as the browser's views require.
ALIGNED = 8


def pack(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Put facts and arrays together.

    Parameters
    ----------
    facts : mapping
        Plain data, without NaN or infinity.
    arrays : mapping of name to array
        Floats, which are sent with 64 bits; or signed integers from 0 to 2³² - 1.

    Returns
    -------
    bytes

    Examples
    --------
    >>> import numpy as np
    >>> pack({"rows": 2}, {"scores": np.array([1.0, 2.0])})[-8:] == np.array(2.0).tobytes()
    True
    """
    entries, bodies, offset = [], [], 0
    for name, array in arrays.items():
        kind = TYPES[array.dtype.kind]
        entries.append({"name": name, "type": kind, "shape": list(array.shape), "offset": offset})
        body = array.astype(kind).tobytes()
        body += b"\0" * (-len(body) % ALIGNED)
        bodies.append(body)
        offset += len(body)
    text = json.dumps({"facts": facts, "arrays": entries}, allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % ALIGNED)
    return b"".join([len(text).to_bytes(4, "little"), text, *bodies])
