"""The command plan: what it prints and writes, and what it refuses."""

import pytest
import yaml
from support import N_METHODS, N_METRICS, TINY, refused_by

from exparity.stats.power import planned_typical_gaps

REFUSED = refused_by(__file__)

SUMMED = {"match": {"method": "ig", "model": "hub"}, "method": {"pooling": "sum"}}
JOBS = 1 + 5 + N_METHODS + N_METHODS * N_METRICS + N_METRICS + 2


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a config file; commands run in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    return tmp_path


class TestCommand:
    def test_an_experiment_that_never_ran(self, here, run):
        code, out, _ = run("plan", "--configfile", "tiny.yaml")
        assert code == 0
        assert out.startswith(f"tiny.yaml: {JOBS} jobs, 0 of them finished\n")
        assert "Nothing has been measured yet: " in out
        assert f"{N_METHODS * N_METRICS} scores are tested, by 1 job of `compare` in all" in out
        assert not (here / "results").exists()
        # As tests/workflow/test_cost.py holds Snakemake to.
        assert f"Snakemake says {JOBS + 3}: it counts its rules cost, report and all" in out

    def test_a_profile_that_is_not_there_is_refused_before_anything_is_planned(self, here, refused):
        line = refused("plan", "tiny.yaml", "--profile", "none")
        assert "none: no such folder; name a profile, such as profiles/slurm" in line

    def test_a_config_as_snakemake_takes_it(self, here, run):
        (here / "more.yaml").write_text("title: more\nseeds: [3]\n")
        seeds = ["--config", "seeds=[0, 1]", "results=elsewhere"]
        code, out, _ = run("plan", "--configfile", "tiny.yaml", "more.yaml", *seeds)
        assert out.startswith("tiny.yaml more.yaml --config 'seeds=[0, 1]' results=elsewhere: ")
        (finetune,) = [line.split() for line in out.splitlines() if line.startswith("finetune")]
        assert (code, finetune[1]) == (0, "2")

    def test_samples_that_decide_nothing_are_named(self, here, run, caplog):
        few = {"use": "gini", "max_examples": 12}
        metrics = {"gini": {}, "few": few, "same": {**few, "max_examples": 16}}
        config = {**TINY, "metrics": metrics, "seeds": [0, 1, 2, 3, 4]}
        (here / "some.yaml").write_text(yaml.safe_dump(config))
        assert run("plan", "--configfile", "some.yaml")[0] == 0
        # 2^-7 and 2^-5 are above 0.05/30
        few = "metrics.few.max_examples: too few texts, 6 sets of female and male in pairs_all:"
        assert caplog.messages == [
            f"{few} the smallest possible p is 0.031, and Holm over 30 tests needs 0.0017: take 11 "
            "sets; 1 more sample is too small"
        ]

    def test_what_each_number_of_trainings_shows_and_takes(self, here, run):
        numbers = [3, 4, 5, 8, 13, 20, 32]  # four are planned
        config = {**TINY, "seeds": [0, 1, 2, 3], "datasets": {"pairs_all": {"n_pairs": 1600}}}
        (here / "more.yaml").write_text(yaml.safe_dump(config))
        once = 1 + 5  # prepare; bias, compare, ranking, positive_control and judge
        each = JOBS - once
        out = run("plan", "more.yaml")[1]
        (line,) = [line for line in out.splitlines() if line.startswith("jobs ")]
        assert line.split()[1:] == [f"{once + n * each:,}" for n in numbers]
        lines = [line.split() for line in out.splitlines() if line.startswith("pairs_all, 320")]
        for i, correlation in enumerate((0.0, 0.8)):
            options = {"sizes": (320, 320, 320), "correlation": correlation}
            above = planned_typical_gaps(numbers, alpha=0.025 / 4, **options)[0]
            below = planned_typical_gaps(numbers, alpha=0.025, **options)[1]
            for line, gaps in ((lines[i], above), (lines[i + 2], below)):
                assert line[-7:] == [f"{gap:.2f}" if gap == gap else "none" for gap in gaps]
        assert max(map(len, out[out.index("Typical") :].splitlines())) <= 80

    @pytest.mark.parametrize(
        ("changes", "key"), REFUSED["a_sample_on_which_nothing_can_be_significant_is_refused"]
    )
    def test_a_sample_on_which_nothing_can_be_significant_is_refused(
        self, here, run, refused, changes, key
    ):
        (here / "small.yaml").write_text(yaml.safe_dump({**TINY, **changes}))
        line = refused("plan", "--configfile", "small.yaml")
        assert key in line
        reason = "4 sets of female and male in pairs_all: the smallest possible p is 0.12, and"
        assert reason in line
        # A looser level leaves something to find.
        loose = ("--config", "statistics={alpha: 0.2, resamples: 200}")
        assert run("plan", "--configfile", "small.yaml", *loose)[0] == 0

    @pytest.mark.parametrize(("arguments", "words"), REFUSED["bad_input"])
    def test_bad_arguments_of_plan_are_refused(self, here, refused, arguments, words):
        own = {**TINY, "datasets": {"compas": {"test_share": 0.5}}}
        (here / "own.yaml").write_text(yaml.safe_dump(own))
        assert words in refused("plan", *arguments)

    @pytest.mark.parametrize(
        ("changes", "warns"),
        [
            ({"study": "text"}, ["bert_tiny", "hub", "local"]),
            ({"overrides": [SUMMED]}, ["hub"]),
        ],
    )
    def test_methods_that_say_nothing_of_a_model_are_named(self, here, run, caplog, changes, warns):
        """As far as the model's type is known: of a config, a folder, a checkpoint of the list."""
        (here / "folder").mkdir()
        (here / "folder" / "config.json").write_text('{"model_type": "roberta"}')
        models = {
            **TINY["models"],
            "hub": {"use": "gpt2"},
            "local": {"checkpoint": "folder"},
            "unknown": {"checkpoint": "someone/some-model"},
        }
        methods = {"gradient": {}, "ig": {"use": "integrated_gradients"}}
        config = {**TINY, "models": models, "methods": methods, **changes}
        (here / "noise.yaml").write_text(yaml.safe_dump(config))
        assert run("plan", "--configfile", "noise.yaml")[0] == 0
        found = [line for line in caplog.messages if "rounding noise" in line]
        named = ", ".join(["methods.ig", *(f"models.{model}" for model in warns)])
        assert [line.partition(": ")[0] for line in found] == [named]
        assert all("take pooling: l2" in line for line in found)
