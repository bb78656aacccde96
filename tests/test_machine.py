import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import joblib
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

import manifuse as mf
from manifuse import machine
from tests.problems import draw


@pytest.mark.parametrize("asked, count", [("3", 3), ("2,1", 2), (" 4 ", 4)])
def test_the_environment_sets_the_number_of_threads(asked, count, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert machine.threads() == count


@pytest.mark.parametrize("asked", ["", "0", "many"])
def test_without_it_the_cores_of_this_process_count(asked, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert machine.threads() == joblib.cpu_count()


def products():
    """The numbers of threads that libraries of matrix products use."""
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def loops():
    """The numbers of threads that libraries of loops on OpenMP use."""
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "openmp"}


@pytest.fixture
def two_threads():
    """Libraries of matrix products have two threads, and any thread may limit them; that of faiss is on OpenMP."""
    pytest.importorskip("faiss", reason="install the extra 'neighbours' to run this")
    limit = threadpool_limits(2, user_api="blas")
    with threadpool_limits(None):
        pass
    yield
    limit.restore_original_limits()
    with threadpool_limits(None):
        pass


@pytest.mark.usefixtures("two_threads")
def test_the_limit_on_matrix_products_ends_when_the_last_leaves():
    first, second = machine.libraries_in_one_thread(), machine.libraries_in_one_thread()
    with ThreadPoolExecutor(1) as other:
        # A library on OpenMP has a number of its own for every thread.
        before = other.submit(products).result()
        other.submit(first.__enter__).result()
        assert other.submit(products).result() == {1}
        second.__enter__()
        assert products() == {1}
        other.submit(first.__exit__, None, None, None).result()
        assert products() == {1}
        second.__exit__(None, None, None)
        assert products() == {2}
        assert other.submit(products).result() == before


def test_loops_of_libraries_have_one_thread_and_all_for_long_work(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with threadpool_limits(2, user_api="openmp"):
        with machine.libraries_in_one_thread():
            assert loops() == {1}
            with machine.loops_in_threads():
                assert loops() == {3}
            assert loops() == {1}
        assert loops() == {2}


def test_a_run_searches_within_the_limit_and_leaves_none(monkeypatch):
    """A library that limits threads, too, and searches in several threads, may put back what it found late."""
    found, search = [], mf.Host.search

    def watched(self, *given):
        found.append((products(), loops()))
        return search(self, *given)

    monkeypatch.setattr(mf.Host, "search", watched)
    case = draw(0)
    with threadpool_limits(2):
        mf.refine(case.main, case.references, rng=0)
        assert (products(), loops()) == ({2}, {2})
    assert found
    assert all(each == ({1}, {1}) for each in found)


def test_libraries_are_looked_for_again_after_an_import_and_not_before(monkeypatch):
    looked = []

    def look():
        looked.append(len(sys.modules))
        return ThreadpoolController()

    monkeypatch.setattr(machine, "ThreadpoolController", look)
    monkeypatch.setitem(sys.modules, "first", sys)
    for _ in range(2):
        with machine.libraries_in_one_thread():
            pass
    assert len(looked) == 1
    monkeypatch.setitem(sys.modules, "second", sys)
    with machine.libraries_in_one_thread():
        pass
    assert len(looked) == 2


def test_the_limit_ends_with_an_error():
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ValueError, match="an error"), machine.libraries_in_one_thread():
            raise ValueError("an error")
        assert products() == {2}


NEW, OLD = machine.FILES


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A machine with memory and control groups that a test sets."""
    for name in ("MEMORY", "MEMBERSHIP", "GROUPS"):
        monkeypatch.setattr(machine, name, tmp_path / name)
    return tmp_path


def test_without_groups_the_machine_sets_the_memory(kernel):
    assert machine.available_memory() is None
    (kernel / "MEMORY").write_text("MemTotal:       2000 kB\nMemAvailable:   1000 kB\n")
    assert machine.available_memory() == 1000 * 1024


@pytest.mark.parametrize(
    "membership, folder, files, cached",
    [
        ("0::/a/b\n", "a/b", NEW, "inactive_file 700"),
        ("0::/a/b\n", "a", NEW, "inactive_file 700"),
        ("0::/elsewhere\n", "", NEW, "inactive_file 700"),
        ("4:cpu,memory:/a/b\n", "memory/a/b", OLD, "total_inactive_file 700"),
        ("4:memory:/a\n", "memory", OLD, "inactive_file 700"),
    ],
)
def test_a_group_of_this_process_limits_the_memory(kernel, membership, folder, files, cached):
    (kernel / "MEMORY").write_text("MemAvailable:   1000 kB\n")
    (kernel / "MEMBERSHIP").write_text(membership)
    group = kernel / "GROUPS" / folder
    group.mkdir(parents=True)
    (group / "memory.stat").write_text(f"anon 5\n{cached}\n")
    for name, content in zip(files, ("5000", "2100"), strict=True):
        (group / name).write_text(f"{content}\n")
    assert machine.available_memory() == 5000 - 2100 + 700
    (group / files[0]).write_text("max\n")
    assert machine.available_memory() == 1000 * 1024


def test_a_limit_on_addresses_limits_the_memory():
    limited = (
        "import resource\n"
        "from manifuse.machine import available_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "print(available_memory())"
    )
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, check=True)
    assert 1 << 20 < int(done.stdout) < 1 << 30


def test_this_machine_has_free_memory():
    assert machine.available_memory() > 1 << 20
