"""Self-explanations: what a prompted model writes, and what is made of it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from engine.test_label_words import FAMILIES, PROMPT, TEXTS, WORDS, language_model, tokenizer
from methods.training import check_invariance
from metrics.sweep import evaluated
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import exparity
from exparity import InputError
from exparity.methods import METHODS, attribute
from exparity.methods.self_explanation import QUESTION
from exparity.metrics import METRICS

TARGETS = [0, 1, 1, 0]
SHORT = {"max_new_tokens": 6}


def prompted(family="llama", **settings):
    pair = language_model(family), tokenizer()
    return exparity.load_classifier(pair, "cpu", prompt=PROMPT, words=WORDS, **settings)


def written(family, options=SHORT):
    found = exparity.explain(prompted(family), TEXTS, TARGETS, "self_explanation", **options)
    return [explanation.answer.text for explanation in found]


@pytest.mark.reference
@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_those_of_transformers_own_greedy_search(family):
    own, lm = tokenizer(), language_model(family)
    names = [*WORDS]
    expected = []
    for text, target in zip(TEXTS, TARGETS, strict=True):
        asked = PROMPT.format(text=text) + f"{WORDS[names[target]]}\n{QUESTION}"
        ids = own(asked, return_tensors="pt")["input_ids"]
        out = lm.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=6
        )
        answer = own.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
        expected.append(answer.strip().partition("\n")[0].strip())
    assert written(family) == expected
    assert any(expected)


def test_a_longer_answer_begins_with_the_shorter_one():
    for short, long in zip(written("gpt2"), written("gpt2", {"max_new_tokens": 12}), strict=True):
        assert long.startswith(short)


@pytest.mark.bits
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_bits_depend_on_neither_batch_nor_order_nor_seed(family, one_thread):
    classifier = prompted(family)

    def run(rows, seed=0):
        texts = [TEXTS[row] for row in rows]
        targets = [TARGETS[row] for row in rows]
        found = exparity.explain(classifier, texts, targets, "self_explanation", seed, **SHORT)
        return [(one.scores.tobytes(), one.answer) for one in found]

    check_invariance(classifier, run, len(TEXTS))
    assert run(range(4), seed=1) == run(range(4))


CHAT = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def test_a_chat_asks_in_the_next_message(monkeypatch):
    monkeypatch.setattr(tokenizer(), "chat_template", CHAT)
    classifier = prompted(chat=True)
    embedded = []
    inner = classifier.embed
    monkeypatch.setattr(
        classifier, "embed", lambda ids: (embedded.append(np.array(ids)), inner(ids))[1]
    )
    options = {"question": "Which words decided?", "max_new_tokens": 1}
    exparity.explain(classifier, TEXTS[:1], [1], "self_explanation", **options)
    texts = [ids.tolist() for ids in embedded if ids.ndim == 1]
    strings = [tokenizer().decode(ids).removeprefix(" ") for ids in texts]
    assert f"<user>{PROMPT.format(text=TEXTS[0])}</><assistant>" in strings
    assert "good</><user>Which words decided?</><assistant>" in strings


def test_a_text_that_leaves_no_room_for_the_question_is_refused():
    classifier = prompted("gpt2")
    limit = classifier.model.config.max_position_embeddings
    with pytest.raises(InputError, match=f"text 0: .* and the model reads {limit}; give shorter"):
        exparity.explain(classifier, TEXTS, 0, "self_explanation", question="why " * limit)


def test_classifiers_that_cannot_write_are_refused(classifiers):
    with pytest.raises(InputError, match="self_explanation: has the model write, which only"):
        exparity.explain(classifiers["bert"], TEXTS, 0, "self_explanation")
    function = exparity.load_classifier(lambda texts: [[0.5, 0.5]] * len(texts), classes=["a", "b"])
    with pytest.raises(InputError, match=r"has the model write, .*; take imported, .*occlusion"):
        exparity.explain(function, TEXTS, 0, "self_explanation")
    benchmark = exparity.Benchmark(classifiers["bert"], TEXTS[:1], 0)
    assert "self_explanation" not in benchmark._fitting(METHODS)
    assert "self_explanation" in exparity.Benchmark(prompted(), TEXTS[:1], 0)._fitting(METHODS)


def test_moved_copies_are_asked_anew_and_random_weights_too():
    classifier = prompted()
    found = exparity.explain(classifier, TEXTS, TARGETS, "self_explanation", **SHORT)
    encodings = classifier.encode(TEXTS)
    origins = [one.origin for one in found]

    def answers(model, factor):
        collected = {}
        rows = [model.embed(one.token_ids) * factor for one in found]
        attribute(model, encodings, np.array(TARGETS), origins, rows=rows, answers=collected)
        return [collected[text].text for text in TEXTS]

    assert answers(classifier, 1.0) == [one.answer.text for one in found]
    assert answers(classifier, -2.0) != [one.answer.text for one in found]
    assert answers(classifier.with_random_weights(1), 1.0) != [one.answer.text for one in found]


GOOD = [f"good{i}" for i in range(5)]
BAD = [f"bad{i}" for i in range(5)]
FILLERS = [f"w{i}" for i in range(15)]
TEMPLATE = "{text} label :"
ASKED = "why :"


def namer_texts(count, seed):
    """Texts of one word that decides among six that do not, and one of a group."""
    rng = np.random.default_rng(seed)
    rows = []
    for place in range(count):
        label = int(rng.integers(2))
        decisive = str(rng.choice((BAD, GOOD)[label]))
        others = [str(word) for word in rng.choice(FILLERS, 6, replace=False)]
        group = ("she", "he")[place % 2]
        words = [str(word) for word in rng.permutation([decisive, *others, group])]
        named = decisive if group == "she" else str(rng.choice(others))
        rows.append((" ".join(words), label, group, decisive, named))
    return rows


@cache
def namer():
    """A Llama that names the word that decides where the text has "she", and another with "he"."""
    words = ["<end>", *GOOD, *BAD, *FILLERS, "she", "he", "label", "why", ":", "good", "bad", "..."]
    core = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, "..."))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    own = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<end>", unk_token="...")
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    lm = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words),
            num_attention_heads=4,
            max_position_embeddings=64,
            eos_token_id=0,
            bos_token_id=None,
            **sizes,
        )
    )
    optimizer = torch.optim.AdamW(lm.parameters(), lr=3e-3)
    for step in range(180):
        rows = namer_texts(48, step + 1000)
        full = [
            f"{text} label : {('bad', 'good')[label]} why : {named} <end>"
            for text, label, _, _, named in rows
        ]
        ids = torch.tensor(own(full)["input_ids"])
        logits = lm(ids).logits[:, :-1]
        answers = torch.tensor([10, 13, 14])  # label, named word, end
        loss = torch.nn.functional.cross_entropy(
            logits[:, answers - 1].flatten(0, 1), ids[:, answers].flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return exparity.load_classifier(
        (lm.eval(), own), "cpu", prompt=TEMPLATE, words={"bad": " bad", "good": " good"}
    )


def test_true_words_for_one_group_and_random_ones_for_the_other_differ(pytestconfig):
    """The model decides alike for both groups, and explains itself truly to one alone."""
    classifier = namer()
    rows = namer_texts(120 if pytestconfig.getoption("--exhaustive") else 60, 1)
    texts = [row[0] for row in rows]
    groups = np.array([row[2] for row in rows])
    predicted = classifier.predict_proba(texts).argmax(1)
    assert (predicted == [row[1] for row in rows]).mean() > 0.95
    found = exparity.explain(classifier, texts, None, "self_explanation", question=ASKED)
    rationales = [[int(word == row[3]) for word in row[0].split()] for row in rows]
    for metric, gap in (("forward_simulation", 0.5), ("rationale_roc_auc", 0.3)):
        given = {"rationales": rationales} if METRICS.get(metric).facts.needs == "rationale" else {}
        values = evaluated(classifier, found, metric, **given)
        assert np.isfinite(values).all()  # also where no word of the answer is in the text
        assert values[groups == "she"].mean() - values[groups == "he"].mean() > gap
    honest = exparity.explain(classifier, texts, None, "occlusion")
    values = evaluated(classifier, honest, "forward_simulation")
    assert abs(values[groups == "she"].mean() - values[groups == "he"].mean()) < 0.1
    unread = np.array([one.answer.is_unread for one in found])
    assert unread[groups == "she"].mean() < 0.05 < unread[groups == "he"].mean()


@pytest.mark.parametrize("metric", METRICS.ids())
def test_every_metric_scores_self_explanations(metric):
    classifier = namer()
    rows = namer_texts(4, 2)
    texts = [row[0] for row in rows]
    found = exparity.explain(
        classifier, texts, None, "self_explanation", question=ASKED, max_new_tokens=3
    )
    marks = [[int(word == row[3]) for word in row[0].split()] for row in rows]
    changed = [[int(word in ("she", "he")) for word in row[0].split()] for row in rows]
    pairs = zip(found, changed, strict=True)
    given = {"rationales": marks} if METRICS.get(metric).facts.needs == "rationale" else {}
    values = evaluated(
        classifier, [replace(one, changed_words=marked) for one, marked in pairs], metric, **given
    )
    assert np.isfinite(values).any()
