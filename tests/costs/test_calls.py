"""Texts that functions will be asked about, before any is."""

import pytest

from exparity import InputError
from exparity.costs.calls import check_calls, planned_calls, price_of, seconds_a_text
from exparity.costs.planned import PlannedExamples, planned_jobs
from exparity.models.functions import load_function

TESTED = 16
"""Test examples of the small experiment."""
DRAWS = 5


def planned(experiment):
    examples = PlannedExamples(experiment)
    return planned_calls(experiment, planned_jobs(experiment, examples), examples)


@pytest.fixture
def asked(experiment, tmp_path):
    (tmp_path / "asked_in_plan.py").write_text("raise SystemExit")
    model = {"predict": f"{tmp_path}/asked_in_plan.py:predict", "classes": ["female", "male"]}

    def make(**blocks):
        return experiment(models={"asked": model}, overrides=[], **blocks)

    return make


def test_they_grow_with_texts_samples_and_seeds(asked):
    blocks = {"metrics": {"gini": {}}, "methods": {"lime": {"num_samples": 30}}}
    assert planned(asked(**blocks)) == {"asked": TESTED * (1 + 30)}
    assert planned(asked(**blocks, seeds=[0, 1])) == {"asked": 2 * TESTED * (1 + 30)}
    blocks["methods"] = {"lime": {"num_samples": 30, "max_examples": 8}}
    assert planned(asked(**blocks)) == {"asked": TESTED + 8 * 30}


def test_metrics_their_controls_and_limits_count(asked):
    blocks = {"metrics": {"comprehensiveness": {}}, "methods": {"occlusion": {}}}
    searched_and_alone = 20 * (10 + 1) // 2 + 20 // 2
    limits = 20 * (DRAWS + 1) + searched_and_alone
    assert planned(asked(**blocks)) == {
        "asked": TESTED * (1 + 20 + 20 + DRAWS * 20 + limits),
    }


def test_models_with_weights_are_not_asked(experiment):
    assert planned(experiment()) == {}


def test_a_run_says_them_and_is_refused_above_its_bound(asked):
    blocks = {"metrics": {"gini": {}}, "methods": {"lime": {"num_samples": 30}}}
    (line,) = check_calls(asked(**blocks))
    assert line.startswith(f"models.asked: about {TESTED * 31} texts will be sent to ")
    assert check_calls(asked(**blocks, engine={"max_calls": TESTED * 31})) == [line]
    with pytest.raises(InputError, match=r"about 496 texts .* more than engine\.max_calls 495"):
        check_calls(asked(**blocks, engine={"max_calls": TESTED * 31 - 1}))


def test_what_texts_cost_is_said_as_far_as_it_is_known(asked):
    blocks = {"metrics": {"gini": {}}, "methods": {"lime": {"num_samples": 30}}}
    (line,) = check_calls(asked(**blocks), 0.25)
    assert line.endswith("; they cost about 124.00, at 0.25 a text")
    assert price_of(496, None, None) == ""
    assert price_of(496, 0.0, 2.0) == (
        "; they cost about 0.00, at 0 a text and take about 16.5 min, at 2 s a text"
    )


def test_a_function_is_timed_on_few_texts_of_its_data(asked, tmp_path):
    blocks = {"metrics": {"gini": {}}, "methods": {"lime": {"num_samples": 30}}}
    experiment = asked(**blocks)
    source = "import time\nseen = []\ndef predict(texts):\n    seen.extend(texts)\n"
    source += "    time.sleep(0.03 * len(texts))\n    return [[0.3, 0.7]] * len(texts)\n"
    (tmp_path / "asked_in_plan.py").write_text(source)
    assert seconds_a_text(experiment, "asked", 4) >= 0.03
    seen = load_function(experiment.models["asked"].spec.predict).__globals__["seen"]
    assert len(seen) == 4
    assert all(seen)
