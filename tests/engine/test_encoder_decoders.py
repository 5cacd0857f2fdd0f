"""Encoder-decoders as transformers runs them: both sides read the text, and its end is pooled."""

import copy

import numpy as np
import pytest
import torch
from engine.exact import plain_probabilities
from stages.cells import inputs_of, prepare_pairs, train
from tiny_models import TEXTS, ids_of, make, pipeline_probabilities, unigram

import exparity
from exparity import ExparityError

BART = {"d_model": 32, "max_position_embeddings": 130, "scale_embedding": True}
for side in ("encoder", "decoder"):
    BART |= {f"{side}_layers": 1, f"{side}_attention_heads": 4, f"{side}_ffn_dim": 48}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 1, "num_heads": 4}
FAMILIES = {"bart": BART, "mbart": BART, "t5": T5}
PAIR = ("the nurse said that she was late", "I loved this film")


@pytest.fixture(scope="module", params=FAMILIES)
def parts(request):
    tokenizer = unigram()
    family, size = request.param, FAMILIES[request.param]
    start = tokenizer.pad_token_id if size is T5 else tokenizer.eos_token_id
    return make(family, tokenizer, 3, decoder_start_token_id=start, **size), tokenizer


@pytest.fixture
def classifier(parts):
    return exparity.load_classifier(parts, "cpu")


@pytest.fixture
def double(parts):
    """The model in float64 and its classifier: float32 rounds T5 to three or four digits."""
    model, tokenizer = copy.deepcopy(parts[0]).double(), parts[1]
    return model, exparity.load_classifier((model, tokenizer), "cpu")


@pytest.mark.parametrize("padded", [False, True])
def test_probabilities_are_those_of_the_pipeline(parts, classifier, padded):
    classifier.exact = not padded
    ids = ids_of(classifier, TEXTS)
    expected = pipeline_probabilities(*parts, TEXTS)
    assert np.ptp(expected, axis=0).max() > 0.01
    alone = np.concatenate([classifier.probabilities([one]) for one in ids])
    for found in (alone, classifier.probabilities(ids)):
        assert found == pytest.approx(expected, abs=1e-5)


def test_a_pair_is_read_as_by_the_model(parts, classifier):
    model, tokenizer = parts
    (encoding,) = classifier.encode([PAIR])
    found = classifier.probabilities([encoding.token_ids])[0]
    assert found == pytest.approx(
        plain_probabilities(model, tokenizer(*PAIR)["input_ids"]), abs=1e-5
    )


def naive_logits(model, rows):
    """(c,) logits of the (t, h) rows of one text, which the decoder gets shifted by one."""
    config, table = model.config, model.get_input_embeddings()
    first = table(torch.tensor([config.decoder_start_token_id]))
    if config.model_type in ("mbart",):
        first = rows[-1:]  # the language of the text
    body = model.transformer if hasattr(model, "transformer") else model.model
    hidden = body(
        inputs_embeds=rows[None],
        decoder_inputs_embeds=torch.cat([first, rows[:-1]])[None],
        use_cache=False,
    ).last_hidden_state
    return model.classification_head(hidden[:, -1])[0]


def test_gradients_are_those_of_both_sides(double):
    """Autograd of the model as it is written down, one text at a time."""
    model, classifier = double
    for one in exparity.explain(classifier, TEXTS, 1, "gradient_x_input"):
        rows = model.get_input_embeddings()(torch.as_tensor(one.token_ids)).detach()
        rows.requires_grad_(True)
        (gradient,) = torch.autograd.grad(naive_logits(model, rows)[1], rows)
        expected = (gradient * rows).sum(-1).detach().numpy()
        assert one.scores == pytest.approx(expected, abs=1e-9 * float(abs(expected).max()))


def test_a_token_is_removed_on_both_sides(double):
    model, classifier = double
    (one,) = exparity.explain(classifier, TEXTS[:1], 0, method="occlusion")
    ids = one.token_ids.tolist()
    content = np.flatnonzero(~one.special_mask)
    whole = plain_probabilities(model, ids)[0]
    drops = [whole - plain_probabilities(model, ids[:k] + ids[k + 1 :])[0] for k in content]
    assert one.scores[content] == pytest.approx(drops, abs=1e-6)
    scores = exparity.evaluate(classifier, [one], "comprehensiveness", based_on="fraction")
    assert np.isfinite(scores).all()


def test_what_cannot_be_run_on_embeddings_is_refused():
    """Texts that do not end, and two tables of embeddings."""
    endless = unigram()
    endless.backend_tokenizer.post_processor = None
    for tokenizer, settings in ((endless, {}), (unigram(), {"tie_word_embeddings": False})):
        classifier = exparity.load_classifier(
            (make("bart", tokenizer, **BART, **settings), tokenizer)
        )
        with pytest.raises(ExparityError, match="preflight"):
            exparity.explain(classifier, TEXTS)


def test_a_config_takes_one(tmp_path):
    tokenizer = unigram()
    for part in (make("bart", tokenizer, ["female", "male"], **BART), tokenizer):
        part.save_pretrained(tmp_path / "bart")
    prepare_pairs(tmp_path, 20)
    train(tmp_path, model={"checkpoint": str(tmp_path / "bart")}, epochs=1)
    loaded = exparity.load_classifier(inputs_of(tmp_path)["checkpoint"], "cpu")
    assert np.isfinite(exparity.explain(loaded, "He sings .", 0)[0].scores).all()
