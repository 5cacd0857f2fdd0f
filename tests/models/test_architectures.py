"""Architectures as transformers' source tells of them, without its import."""

import pytest
from support import refused_by, run_code

from exparity import InputError
from exparity.models import architectures
from exparity.models.architectures import SETTLED, check_architecture

REFUSED = refused_by(__file__)

TYPES = sorted(architectures._known("AutoModelForSequenceClassification"))
USUAL = ("bert", "roberta", "gpt2", "ola", "distilbert", "electra")


@pytest.mark.parametrize(
    ("architecture", "size", "message"), REFUSED["m10_models_that_cannot_be_built"]
)
def test_m10_models_that_cannot_be_built(architecture, size, message):
    with pytest.raises(InputError, match=message):
        check_architecture(architecture, size)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("num_labels", 7, "the classes of the data settle it"),
        ("problem_type", "regression", "the classes of the data settle it"),
        ("vocab_size", 900, "the tokenizer settles it; write vocab_size beside size"),
        ("pad_token_id", 3, "the tokenizer settles it"),
    ],
)
def test_d18_entries_without_effect(key, value, reason):
    with pytest.raises(InputError, match=f"size: '{key}' has no effect: {reason}"):
        check_architecture("bert", {key: value})


def test_what_a_checkpoint_lends_is_not_compared():
    check_architecture("bert", {"hidden_size": 30}, lent=True)
    with pytest.raises(InputError, match="30 is not a multiple of num_attention_heads 4"):
        check_architecture("bert", {"hidden_size": 30, "num_attention_heads": 4}, lent=True)


def test_m10_neither_torch_nor_transformers_is_imported():
    code = (
        "import sys; from exparity.models.architectures import check_architecture as check\n"
        f"for name in {USUAL}: check(name, {{}})\n"
        "assert not {'torch', 'transformers'} & sys.modules.keys()"
    )
    run_code(code)


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
    """What transformers' classes know is known here, and heads that they divide are let pass."""
    from exparity.models.auto import AutoConfig

    known = AutoConfig.for_model(architecture)
    check_architecture(architecture, {k: None for k in known.to_dict() if k not in SETTLED})


def test_the_usual_ones_tell_all():
    assert len(TYPES) > 50
    for architecture in USUAL:
        assert "vocab_size" in architectures._source(architecture).defaults


def test_a_source_that_tells_nothing_is_left_to_the_job(monkeypatch, tmp_path):
    monkeypatch.setattr(architectures, "_package", lambda: tmp_path)
    for function in (architectures._known, architectures._source):
        monkeypatch.setattr(architectures, function.__name__, function.__wrapped__)
    check_architecture("bertt", {"hidden": 3})
