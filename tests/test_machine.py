import os

import pytest

from manifuse import machine


@pytest.mark.parametrize("asked, count", [("3", 3), ("2,1", 2), (" 4 ", 4)])
def test_the_environment_says_how_many_threads_there_should_be(asked, count, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert machine.threads() == count


@pytest.mark.parametrize("asked", ["", "0", "many"])
def test_otherwise_it_is_the_cores_of_this_process(asked, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert machine.threads() == len(os.sched_getaffinity(0))


def test_memory_is_what_the_machine_and_its_group_leave(tmp_path, monkeypatch):
    memory, limit, used = tmp_path / "meminfo", tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(machine, "MEMORY", memory)
    monkeypatch.setattr(machine, "GROUPS", ((limit, used),))
    assert machine.available_memory() is None
    memory.write_text("MemTotal:       2000 kB\nMemAvailable:   1000 kB\n")
    assert machine.available_memory() == 1000 * 1024
    limit.write_text("max\n")
    used.write_text("100\n")
    assert machine.available_memory() == 1000 * 1024
    limit.write_text("5000\n")
    assert machine.available_memory() == 4900


def test_here_some_of_it_is_free():
    assert machine.available_memory() > 1 << 20
