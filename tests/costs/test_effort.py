"""Time limits of jobs, estimated before any has run."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from exparity.costs.effort import (
    CORE_GFLOPS,
    LEAST_MINUTES,
    MOST_MINUTES,
    Effort,
    effort_or_exit,
)

V100 = 9400
GECO = {"dataset": "geco_all", "model": "bert", "seed": 0}
TESTED = 644
TOKENS = 20
WEIGHTS = 110e6


@pytest.fixture
def study(experiment):
    """Return a function that makes a study of GECO, whose files are not here."""

    def make(**blocks):
        settings = {
            "datasets": {"geco_all": {}},
            "models": {"bert": {}},
            "methods": {"lime": {}, "gradient": {}, "integrated_gradients": {}},
            "metrics": {"sensitivity": {}, "gini": {}, "comprehensiveness": {}},
        }
        return experiment(**{**settings, **blocks})

    return make


def minutes_of(passes, texts=TESTED, tokens=TOKENS, weights=WEIGHTS, gflops=V100):
    """Ten minutes, and twice the work: two operations of a weight, a token and a pass."""
    seconds = 2 * weights * tokens * texts * passes / (gflops * 1e9)
    return LEAST_MINUTES + int(2 * seconds / 60)


def sensitivity(experiment, method="lime", gflops=V100):
    ids = {**GECO, "method": method, "metric": "sensitivity"}
    return Effort(experiment, gflops).minutes("evaluate", ids)


def test_a_job_is_given_ten_minutes_and_twice_its_work(study):
    assert sensitivity(study()) == minutes_of(12 * 500) == 70
    effort = Effort(study(), V100)
    assert effort.minutes("explain", {**GECO, "method": "lime"}) == minutes_of(500)
    searched = 20 * (5 + 1) + 20 * (10 + 1) // 2
    assert effort.minutes("removal_limits", GECO) == minutes_of(searched)


def test_a_metric_without_a_model_takes_the_least(study):
    ids = {**GECO, "method": "lime", "metric": "gini"}
    assert Effort(study(), V100).minutes("evaluate", ids) == LEAST_MINUTES


def test_gradients_take_three_passes(study):
    assert sensitivity(study(), "integrated_gradients") == minutes_of(3 * 12 * 50)


def test_options_that_multiply_passes_multiply_minutes(study):
    methods = {"lime": {"num_samples": 4000}, "integrated_gradients": {"n_steps": 500}}
    changed = study(methods=methods)
    assert sensitivity(changed) == minutes_of(12 * 4000)
    assert sensitivity(changed, "integrated_gradients") == minutes_of(3 * 12 * 500)
    sampled = study(metrics={"sensitivity": {"max_examples": 100}})
    assert sensitivity(sampled) == minutes_of(12 * 500, texts=100)


def test_a_cluster_of_other_gpus_has_other_limits(study):
    assert sensitivity(study(), gflops=V100 // 10) == minutes_of(12 * 500, gflops=V100 // 10)


@pytest.mark.parametrize(("gflops", "device"), [(None, "auto"), (V100, "cpu")])
def test_without_a_gpu_jobs_have_the_rate_of_a_core(study, gflops, device):
    on_cores = study(engine={"device": device})
    assert sensitivity(on_cores, gflops=gflops) == minutes_of(12 * 500, gflops=CORE_GFLOPS)


def test_a_later_attempt_asks_for_more_and_none_for_more_than_a_day(study):
    effort = Effort(study(), V100)
    ids = {**GECO, "method": "lime", "metric": "sensitivity"}
    assert [effort.limit("evaluate", ids, attempt) for attempt in (1, 2, 3)] == [70, 140, 210]
    assert Effort(study(), 50).limit("evaluate", ids, 1) == MOST_MINUTES


def test_the_size_of_a_checkpoint_at_hand_counts(study, tmp_path):
    folder = tmp_path / "large"
    folder.mkdir()
    save_file({"weight": np.zeros((1000, 2000), dtype=np.float32)}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    large = study(
        models={"bert": {"checkpoint": str(folder), "architecture": "bert"}},
        methods={"lime": {"num_samples": 100_000}},
    )
    assert sensitivity(large) == minutes_of(12 * 100_000, weights=2e6)


@pytest.mark.parametrize("words", [100, 400])
def test_long_texts_of_a_table_count(study, tmp_path, words):
    """The search of limits takes passes for each token, of texts that are as much longer."""
    rows = [f"{' '.join(['word'] * words)},{i % 2},{'fm'[i // 2 % 2]}" for i in range(500)]
    (tmp_path / "own.csv").write_text("\n".join(["text,label,group", *rows]) + "\n")
    table = {"path": "own.csv", "text": "text", "label": "label", "group": "group"}
    long = study(datasets={"own": {"use": "table", **table}})
    ids = {**GECO, "dataset": "own"}
    searched = words * (5 + 1) + words * (10 + 1) // 2
    expected = minutes_of(searched, texts=100, tokens=words)
    assert Effort(long, V100).minutes("removal_limits", ids) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("gflops", [0, -1, "fast", "9.4"])
def test_a_rate_that_is_none_is_refused(study, gflops, capsys):
    with pytest.raises(SystemExit) as end:
        effort_or_exit(study(), gflops)
    assert end.value.code == 2
    assert f"gflops {gflops}, among default-resources of the profile: " in capsys.readouterr().err
