"""Models from scratch that cannot be built, found before any job by what their class says."""

import pytest
from support import refused_by, tiny

from exparity import InputError
from exparity.models.auto import AutoConfig, auto_class, on_meta
from exparity.models.scratch import SETTLED, check_buildable
from exparity.models.spec import ENCODER_DECODERS, ModelSpec

REFUSED = refused_by(__file__)
USUAL = ("bert", "roberta", "gpt2", "ola", "distilbert", "electra")
KNOWN = auto_class("AutoModelForSequenceClassification")._model_mapping
TYPES = sorted({config.model_type for config in KNOWN} - {*ENCODER_DECODERS})


def spec_of(architecture, size, **more):
    return ModelSpec(init="scratch", architecture=architecture, size=size, **more)


@pytest.mark.parametrize(
    ("architecture", "size", "message"), REFUSED["models_that_cannot_be_built"]
)
def test_models_that_cannot_be_built(architecture, size, message):
    with pytest.raises(InputError, match=message) as refusal:
        check_buildable(spec_of(architecture, size))
    assert "\n" not in str(refusal.value)
    model = {"init": "scratch", "architecture": architecture, "size": size}
    with pytest.raises(InputError, match=rf"models\.mine: .*{message}"):
        tiny(models={"mine": model})


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("num_labels", 7, "the classes of the data settle it"),
        ("problem_type", "regression", "the classes of the data settle it"),
        ("vocab_size", 900, "the tokenizer settles it; write vocab_size beside size"),
        ("pad_token_id", 3, "the tokenizer settles it"),
    ],
)
def test_entries_without_effect(key, value, reason):
    with pytest.raises(InputError, match=f"size: '{key}' has no effect: {reason}"):
        check_buildable(spec_of("bert", {key: value}))


def test_a_shape_that_a_checkpoint_completes_is_left_to_the_job():
    check_buildable(spec_of("bert", {"hidden_size": 30}, checkpoint="org/model"))


@pytest.mark.parametrize(
    "architecture",
    [
        architecture
        if architecture in USUAL
        else pytest.param(architecture, marks=pytest.mark.exhaustive)
        for architecture in TYPES
    ],
)
def test_no_entry_of_a_configuration_is_refused(architecture):
    """Their own values are let pass; in most, each of them alone."""
    known = AutoConfig.for_model(architecture, vocab_size=8000)
    try:
        on_meta(auto_class("AutoModelForSequenceClassification"), known)
    except Exception:  # classes that do not build what their configuration is by default
        assert architecture not in USUAL
        return
    entries = {key: value for key, value in known.to_dict().items() if type(value) in (int, float)}
    size = {k: v for k, v in entries.items() if k not in SETTLED and v}
    check_buildable(spec_of(architecture, size))
