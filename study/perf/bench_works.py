"""Time every work, done by us and by the rival. scripts/perf runs this file; the tests do not."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from works import WORKS, Work


@pytest.fixture(scope="module", params=WORKS, ids=lambda make: make.__name__)
def work(request: pytest.FixtureRequest) -> Iterator[Work]:
    make: Any = request.param
    yield make()
    # Free the memory of this work before the next one is timed.
    make.cache_clear()
    gc.collect()


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_work(benchmark: Callable[..., Any], work: Work, side: str) -> None:
    bench: Any = benchmark
    bench.group = work.name
    bench.extra_info.update(side=side, rival=work.rival, least=work.least, seconds=work.seconds)
    if side == "ours":
        bench.pedantic(work.ours, rounds=9, warmup_rounds=3)
    elif work.theirs is None:
        pytest.skip(f"the rival is a number: {work.rival}")
    else:
        bench.pedantic(work.theirs, rounds=work.repetitions)
        bench.extra_info["note"] = work.differ()
