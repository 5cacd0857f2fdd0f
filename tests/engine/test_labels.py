"""Models of several labels, and of one output: probabilities are σ(z), gradients those of z."""

import numpy as np
import pytest
import torch
from tiny_models import gpt_bpe, ids_of, make, pipeline_probabilities, roberta_bpe, wordpiece

import exparity
from exparity import InputError
from exparity.engine.preflight import check_function
from exparity.models.checkpoints import build_model
from exparity.models.spec import ModelSpec

TEXTS = ["I loved this film , it was warm and funny", "the nurse was late", "bad"]
FAMILIES = {"bert": wordpiece, "roberta": roberta_bpe, "gpt2": gpt_bpe}
NAMES = ["toxic", "insult", "threat"]


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def named(family, names, **settings):
    """A classifier whose outputs have these names, and its tokenizer."""
    tokenizer = FAMILIES[family]()
    return make(family, tokenizer, names, **settings), tokenizer


@pytest.fixture
def several(family):
    return named(family, NAMES, problem_type="multi_label_classification")


@pytest.fixture
def single(family):
    return named(family, ["toxic"])


def plain_logits(model, tokenizer):
    rows = [tokenizer(text, return_tensors="pt")["input_ids"] for text in TEXTS]
    with torch.no_grad():
        return np.concatenate([model(input_ids=ids).logits for ids in rows])


def test_a_name_of_two_outputs_is_no_target():
    classifier = exparity.load_classifier(named("bert", ["other", "other", "hate"]), "cpu")
    for explain in (exparity.explain, lambda *given: classifier.class_index(given[-1])):
        with pytest.raises(InputError, match="target 'other': several outputs have this name"):
            explain(classifier, TEXTS, "other")


def test_several_labels_have_the_probabilities_of_a_pipeline(several):
    classifier = exparity.load_classifier(several, "cpu")
    assert list(classifier.class_names) == NAMES
    found = classifier.probabilities(ids_of(classifier, TEXTS))
    assert found == pytest.approx(pipeline_probabilities(*several, TEXTS), abs=1e-6)
    assert np.abs(found.sum(1) - 1).max() > 0.05
    check_function(classifier, ids_of(classifier, TEXTS), TEXTS)


@pytest.mark.parametrize("label", NAMES)
def test_one_label_is_explained_against_its_absence(several, label):
    classifier = exparity.load_classifier(several, "cpu", label=label)
    assert classifier.class_names == (f"not {label}", label)
    ids, place = ids_of(classifier, TEXTS), NAMES.index(label)
    found = classifier.probabilities(ids)
    assert found[:, 1] == pytest.approx(pipeline_probabilities(*several, TEXTS)[:, place], abs=1e-6)
    assert found.sum(1) == pytest.approx(1)
    logits = classifier.outputs(ids).logits
    assert logits[:, 0] == pytest.approx(0)
    assert logits[:, 1] == pytest.approx(plain_logits(*several)[:, place], abs=1e-5)


def test_one_output_has_the_probability_of_a_pipeline(single):
    classifier = exparity.load_classifier(single, "cpu")
    assert classifier.class_names == ("not toxic", "toxic")
    found = classifier.probabilities(ids_of(classifier, TEXTS))
    assert found[:, 1] == pytest.approx(pipeline_probabilities(*single, TEXTS)[:, 0], abs=1e-6)
    assert found.sum(1) == pytest.approx(1)
    check_function(classifier, ids_of(classifier, TEXTS), TEXTS)


def test_a_label_that_there_is_not(several):
    with pytest.raises(InputError, match="; did you mean 'toxic'"):
        exparity.load_classifier(several, "cpu", label="toxik")
    with pytest.raises(InputError, match="each text has one of the classes; leave it out"):
        exparity.load_classifier(named("bert", NAMES), "cpu", label="toxic")


@pytest.mark.parametrize("kind", ["several", "single"])
def test_a_checkpoint_as_it_is_keeps_its_label(several, single, tmp_path, kind):
    """As `finetune` saves it, and later jobs load it."""
    model, tokenizer = {"several": several, "single": single}[kind]
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "given")
    label = "threat" if kind == "several" else None
    spec = ModelSpec(checkpoint=str(tmp_path / "given"), label=label)
    for part in build_model(spec, ["0", "1"], TEXTS, trained=False):
        part.save_pretrained(tmp_path / "saved")
    classifier = exparity.load_classifier(tmp_path / "saved", "cpu")
    wanted = pipeline_probabilities(model, tokenizer, TEXTS)[:, -1]
    assert classifier.probabilities(ids_of(classifier, TEXTS))[:, 1] == pytest.approx(
        wanted, abs=1e-6
    )
    name = classifier.class_names[1]
    build_model(spec, ["clean", name.upper()], TEXTS, trained=False)
    with pytest.raises(InputError, match=f"call them 0 and 1, or the second '{name}'"):
        build_model(spec, [name, "clean"], TEXTS, trained=False)


def test_several_labels_of_data_with_one_class_are_asked_for(several, tmp_path):
    for part in several:
        part.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="name the `label` to explain, such as toxic"):
        build_model(ModelSpec(checkpoint=str(tmp_path)), ["0", "1"], TEXTS, trained=False)
    with pytest.raises(InputError, match="needs a checkpoint without training; set epochs to 0"):
        build_model(ModelSpec(checkpoint=str(tmp_path), label="toxic"), ["0", "1"], TEXTS)
