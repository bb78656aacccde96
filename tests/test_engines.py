"""Refinements applied by Ray Data and by Spark, as the page about scale shows; the extra ``engines`` installs both."""

import shutil
import sys

import numpy as np
import pandas as pd
import pytest

import manifuse as mf
from tests.problems import draw

REASON = "install the extra 'engines' to run this"

#: Both libraries raise warnings about themselves.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def problem():
    case = draw(0, rows=400)
    frame = pd.DataFrame(case.main.table, columns=[f"x{k}" for k in range(6)])
    frame.insert(0, "score", case.main.scores)
    frame.insert(0, "id", ["later " + key for key in case.main.keys])
    result = mf.refine(mf.Observations.from_frame(frame[:300].assign(id=case.main.keys[:300])), case.references, rng=0)
    return result, frame


@pytest.fixture
def folder(problem, tmp_path):
    _, frame = problem
    for part in range(3):
        frame[part::3].to_parquet(tmp_path / f"part-{part}.parquet", index=False)
    return tmp_path


def assert_is_whole(found, problem):
    result, frame = problem
    expected = result.apply(frame).sort_values("id")
    found = found.sort_values("id")
    assert list(found.columns) == list(expected.columns)
    for name in expected.columns:
        np.testing.assert_array_equal(found[name], expected[name])


def test_ray_maps_batches(problem, folder):
    ray = pytest.importorskip("ray", reason=REASON)
    data = pytest.importorskip("ray.data", reason=REASON)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        found = data.read_parquet(str(folder)).map_batches(problem[0].apply, batch_format="pandas").to_pandas()
    finally:
        ray.shutdown()
    assert_is_whole(found, problem)


def test_spark_maps_batches(problem, folder, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason=REASON)
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        refined = spark.read.parquet(str(folder)).mapInPandas(
            lambda batches: map(problem[0].apply, batches), "id string, score double, original double, support double"
        )
        found = refined.toPandas()
    finally:
        spark.stop()
    assert_is_whole(found, problem)
