"""Prompted language models in the engine: the model's own logits, and a frame that stays."""

import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from methods.training import METHOD_IDS, quick, scores_of
from metrics.sweep import evaluated
from tiny_models import ids_of

import exparity
from exparity import InputError
from exparity.engine.preflight import check_function
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.models.auto import AutoConfig, auto_class
from exparity.models.scratch import train_tokenizer
from exparity.models.spec import ModelSpec
from exparity.types import FRAME_WORD

PROMPT = "Here is a review that somebody wrote of it: {text}\nWas the review good or bad? It was"
WORDS = {"bad": " bad", "good": " good"}
TEXTS = [
    "the film was good and long",
    "bad",
    "she said that it was a very bad film , and he said so too",
    "good , good , good",
]
_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
_LLAMA = {**_SMALL, "intermediate_size": 48, "num_key_value_heads": 2, "head_dim": 8}
FAMILIES: dict[str, dict[str, object]] = {
    "llama": _LLAMA,
    "mistral": {**_LLAMA, "sliding_window": 16},
    "gemma2": {**_LLAMA, "query_pre_attn_scalar": 8, "final_logit_softcapping": 3.0},
    "phi": {**_SMALL, "intermediate_size": 48},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "opt": {**_SMALL, "ffn_dim": 48, "word_embed_proj_dim": 16},
    "falcon": _SMALL,
    "granite": {**{k: v for k, v in _LLAMA.items() if k != "head_dim"}, "logits_scaling": 3.0},
    "cohere": {**{k: v for k, v in _LLAMA.items() if k != "head_dim"}, "logit_scale": 0.5},
}


@cache
def tokenizer():
    spec = ModelSpec(init="scratch", architecture="gpt2", vocab_size=400)
    made = train_tokenizer(spec, [*TEXTS, PROMPT, "It was ... bad", "It was ... good"] * 5)
    made.model_max_length = 128
    return made


@cache
def language_model(family):
    own = tokenizer()
    names = ("pad", "bos", "eos")
    ids = {f"{name}_token_id": getattr(own, f"{name}_token_id") for name in names}
    torch.manual_seed(3)
    config = AutoConfig.for_model(family, vocab_size=len(own), **ids, **FAMILIES[family])
    model = auto_class("AutoModelForCausalLM").from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(6)
        bias = getattr(model.get_output_embeddings(), "bias", None)
        if bias is not None:
            bias.normal_()
    return model


def prompted(family="llama", prompt=PROMPT, **settings):
    pair = language_model(family), tokenizer()
    return exparity.load_classifier(pair, "cpu", prompt=prompt, words=WORDS, **settings)


@pytest.mark.reference
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_the_models_own_of_the_next_word(family):
    classifier = prompted(family)
    lm, ids = language_model(family), classifier.head.token_ids
    assert tokenizer().convert_ids_to_tokens(ids) == ["Ġbad", "Ġgood"]
    for encoding in classifier.encode(TEXTS):
        rows = classifier.embed(encoding.token_ids)[None]
        with torch.inference_mode():
            whole = lm(torch.tensor(encoding.token_ids)[None]).logits[0, -1].double()
            ours = classifier.logits(rows, [len(encoding)])[0].double()
        assert ours.numpy() == pytest.approx(whole[ids].numpy(), abs=1e-4)
        mass = float(whole.softmax(-1)[ids].sum())
        assert classifier.label_mass([encoding.token_ids])[0] == pytest.approx(mass, rel=1e-4)
    assert np.ptp(classifier.probabilities(ids_of(classifier, TEXTS))) > 0.01
    check_function(classifier, ids_of(classifier, TEXTS), TEXTS)


@pytest.mark.bits
@pytest.mark.sweep
@pytest.mark.parametrize("family", FAMILIES)
def test_bits_are_the_same_in_any_batch(family):
    classifier = prompted(family)
    ids = ids_of(classifier, [*TEXTS, *TEXTS[::-1]])
    together = classifier.probabilities(ids)
    assert (together == np.concatenate([classifier.probabilities([one]) for one in ids])).all()
    assert (together == classifier.probabilities(ids[::-1])[::-1]).all()


@pytest.mark.sweep
@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("method", METHOD_IDS)
def test_a_method_scores_the_frame_0_and_never_changes_it(monkeypatch, family, method):
    if METHODS.get(method).facts.path_options and METHODS.get(method).facts.needs_training:
        pytest.skip("needs a file")
    classifier = prompted(family)
    encodings = classifier.encode(TEXTS)
    assert len({int(e.frame_mask.sum()) for e in encodings}) == 1
    seen = watch(monkeypatch, classifier)
    training = (TEXTS, [0, 1, 1, 0])
    try:
        explanations = exparity.explain(
            classifier, TEXTS, [0, 1, 1, 0], method, training=training, **quick(method)
        )
    except InputError as error:
        pytest.skip(str(error))
    for explanation in explanations:
        frame = explanation.word_ids == FRAME_WORD
        assert frame.sum() == 20
        assert (explanation.scores[frame] == 0).all()
        assert np.abs(explanation.scores[~frame]).max() > 0
    check_frames(classifier, seen, encodings)


@pytest.mark.sweep
@pytest.mark.parametrize("metric", [m for m in METRICS.ids()])
def test_a_metric_never_changes_the_frame_and_does_not_count_its_scores(monkeypatch, metric):
    classifier = prompted()
    encodings = classifier.encode(TEXTS)
    explanations = exparity.explain(classifier, TEXTS, [0, 1, 1, 0], "gradient_x_input")
    n_words = [len(text.split()) for text in TEXTS]
    marks = [[1] + [0] * (n - 1) for n in n_words]
    seen = watch(monkeypatch, classifier)
    facts = METRICS.get(metric).facts
    if facts.needs == "counterfactual":
        explanations = [
            replace(e, changed_words=m) for e, m in zip(explanations, marks, strict=True)
        ]
    given = {"rationales": marks} if facts.needs == "rationale" else {}
    values = evaluated(classifier, explanations, metric, **given)
    assert np.isfinite(values).any()
    if metric != "random_weights":  # of which the frame has other embeddings
        check_frames(classifier, seen, encodings)
    # Scores of the frame, which only a hand could write, change nothing.
    loud = [
        replace(e, scores=np.where(e.word_ids == FRAME_WORD, 9.0, e.scores)) for e in explanations
    ]
    found = evaluated(classifier, loud, metric, **given)
    assert found == pytest.approx(values, nan_ok=True, rel=1e-12)


def watch(monkeypatch, classifier):
    """Keep every batch of embeddings that the model is run on, after it was compared."""
    exparity.explain(classifier, TEXTS[:1], [0], "uniform_random")
    seen: list[tuple[torch.Tensor, list[int]]] = []
    plain = type(classifier).logits

    def logits(self, embeddings, lengths):
        seen.append((embeddings.detach().clone(), list(lengths)))
        return plain(self, embeddings, lengths)

    monkeypatch.setattr(type(classifier), "logits", logits)
    return seen


def check_frames(classifier, seen, encodings):
    """Every input that the model saw begins and ends with the frame as it is."""
    first = encodings[0]
    content = np.flatnonzero(~first.special_mask)
    before = classifier.embed(first.token_ids[: content[0]])
    after = classifier.embed(first.token_ids[content[-1] + 1 :])
    for embeddings, lengths in seen:
        for rows, length in zip(embeddings, lengths, strict=False):
            assert torch.equal(rows[: len(before)], before)
            assert torch.equal(rows[length - len(after) : length], after)


@pytest.mark.parametrize("method", ["lime", "gradient"])
def test_the_bare_template_is_no_prompt(method):
    plain, framed = (prompted(prompt="{text}") for _ in range(2))
    plain.head.prompt = None  # texts are read as those of any classifier
    one, other = (exparity.explain(c, TEXTS, [0, 1, 1, 0], method) for c in (plain, framed))
    for a, b in zip(one, other, strict=True):
        assert (a.scores == b.scores).all()
        assert (a.word_ids == b.word_ids).all()
        assert (a.special_mask == b.special_mask).all()
        assert (a.token_ids == np.array(tokenizer()(a.text)["input_ids"])).all()


@pytest.mark.property
@pytest.mark.parametrize("method", ["gradient", "attnlrp"])
def test_words_are_explained_by_their_log_odds(method):
    """A vector added to all rows of the output embeddings changes no answer, but every logit."""
    classifier = prompted()
    model = copy.deepcopy(classifier.model)
    with torch.no_grad():
        weight = model.get_output_embeddings().weight
        weight += torch.randn(weight.shape[1], generator=torch.Generator().manual_seed(0))
    moved = exparity.load_classifier((model, tokenizer()), "cpu", prompt=PROMPT, words=WORDS)

    def scores(model, **options):
        return scores_of(exparity.explain(model, TEXTS, 1, method, **options))

    plain = scores(classifier)
    np.testing.assert_array_equal(plain, scores(classifier, explains="log_odds"))
    np.testing.assert_allclose(scores(moved), plain, atol=2e-5 * np.abs(plain).max())
    logits = [scores(one, explains="logit") for one in (classifier, moved)]
    assert np.abs(logits[0] - logits[1]).max() > 0.1 * np.abs(logits[0]).max()


def test_a_pipeline_that_generates_text_is_taken():
    from transformers import pipeline

    made = pipeline("text-generation", model=language_model("gpt2"), tokenizer=tokenizer())
    classifier = exparity.load_classifier(made, "cpu", prompt=PROMPT, words=WORDS)
    ids = ids_of(classifier, TEXTS)
    assert (classifier.probabilities(ids) == prompted("gpt2").probabilities(ids)).all()
    settings = {"methods": "gradient", "metrics": "gini", "device": "cpu"}
    compared = exparity.benchmark(made, TEXTS, prompt=PROMPT, words=WORDS, **settings)
    assert 0 < compared.table().loc["gradient", "gini"] < 1


def test_a_model_that_is_spread_over_devices_is_taken_as_it_is(monkeypatch):
    from accelerate import dispatch_model

    model = copy.deepcopy(language_model("llama"))
    places = ["model.embed_tokens", "model.layers", "model.norm", "model.rotary_emb", "lm_head"]
    spread = dispatch_model(model, dict.fromkeys(places, "cpu"), force_hooks=True)
    monkeypatch.setattr(spread, "to", None)  # which would undo it
    classifier = exparity.load_classifier((spread, tokenizer()), prompt=PROMPT, words=WORDS)
    for method in ("lime", "gradient", "attnlrp"):
        found, whole = (exparity.explain(one, TEXTS, 1, method) for one in (classifier, prompted()))
        for a, b in zip(found, whole, strict=True):
            np.testing.assert_allclose(a.scores, b.scores, atol=1e-5 * np.abs(b.scores).max())
    with pytest.raises(InputError, match=r"device .cpu.: .* is spread over devices"):
        exparity.load_classifier((spread, tokenizer()), "cpu", prompt=PROMPT, words=WORDS)
    away = copy.deepcopy(language_model("llama")).to("meta")
    with pytest.raises(InputError, match="has weights that are on no device"):
        exparity.load_classifier((away, tokenizer()), prompt=PROMPT, words=WORDS)


def test_what_does_not_fit_is_refused(checkpoints):
    model = language_model("llama")
    with pytest.raises(InputError, match=r"no classification head; .*with prompt= and words="):
        exparity.load_classifier((model, tokenizer()), "cpu")
    with pytest.raises(InputError, match="words: name the word"):
        exparity.load_classifier((model, tokenizer()), "cpu", prompt=PROMPT)
    with pytest.raises(InputError, match="is not a causal language model"):
        exparity.load_classifier(checkpoints["bert"], "cpu", prompt="{text} is", words=WORDS)
    with pytest.raises(InputError, match="text 0: is a pair"):
        prompted().encode([("a film", "a good one")])
