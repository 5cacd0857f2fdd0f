"""Models from scratch that cannot be built, found before any job by what their class says."""

import pytest
from support import refused_by

from exparity import InputError
from exparity.models.auto import AutoConfig
from exparity.models.scratch import SETTLED, check_buildable
from exparity.models.spec import ModelSpec

REFUSED = refused_by(__file__)
USUAL = ("bert", "roberta", "gpt2", "ola", "distilbert", "electra")


def spec_of(architecture, size, **more):
    return ModelSpec(init="scratch", architecture=architecture, size=size, **more)


@pytest.mark.parametrize(
    ("architecture", "size", "message"), REFUSED["models_that_cannot_be_built"]
)
def test_models_that_cannot_be_built(architecture, size, message):
    with pytest.raises(InputError, match=message) as refusal:
        check_buildable(spec_of(architecture, size))
    assert "\n" not in str(refusal.value)


def test_a_shape_that_a_checkpoint_completes_is_left_to_the_job():
    check_buildable(spec_of("bert", {"hidden_size": 30}, checkpoint="org/model"))


@pytest.mark.parametrize("architecture", USUAL)
def test_no_entry_of_a_configuration_is_refused(architecture):
    known = AutoConfig.for_model(architecture, vocab_size=8000).to_dict()
    entries = {key: value for key, value in known.items() if type(value) in (int, float)}
    size = {k: v for k, v in entries.items() if k not in SETTLED and v}
    check_buildable(spec_of(architecture, size))
