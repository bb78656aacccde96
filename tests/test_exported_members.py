import manifuse as mf


def test_the_front_door_lists_what_it_has():
    public = {name for name in vars(mf) if not name.startswith("_")}
    rooms = {"combiner", "diffusion", "errors", "kernels", "ranking", "baselines", "datasets", "experiments", "cli"}
    assert public - rooms - {"version"} == set(mf.__all__) - {"__version__"}


def test_every_public_name_is_documented_with_an_example():
    without = {"InputError", "ManifuseError", "ManifuseWarning", "MissingExtraError", "Refinement", "__version__"}
    for name in set(mf.__all__) - without:
        assert ">>>" in getattr(mf, name).__doc__, name
    for name in set(mf.__all__) - {"__version__"}:
        assert getattr(mf, name).__doc__, name
