"""Tuned encoders below the original masked-language-model head, beside a loop in transformers."""

import math
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from stages.cells import examples_of, prepare_pairs, train
from support import CPU, NARROW

from exparity import InputError
from exparity.analyses import mlm_score
from exparity.analyses.mlm_score import load_masked_lm, mlm_score_cell, questions
from exparity.artefacts.files import read_artefact
from exparity.data.table import read_prepared
from exparity.engine.encoding import encode_texts
from exparity.engine.kernels import LinearLayers
from exparity.models.checkpoints import build_model
from exparity.models.folders import quiet_transformers
from exparity.models.spec import ModelSpec

_SIZE = {**NARROW, "max_position_embeddings": 40}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A masked language model, and a classifier that was tuned from it."""
    from transformers import BertForPreTraining

    folder = tmp_path_factory.mktemp("mlm")
    prepare_pairs(folder, 40)
    texts = [e.text for e in read_prepared(folder / "data.parquet").examples]
    torch.manual_seed(1)
    spec = ModelSpec(init="scratch", architecture="bert", size=_SIZE, vocab_size=400)
    classifier, tokenizer = build_model(spec, ["a", "b"], texts)
    original = BertForPreTraining(classifier.config)  # as BERT is: with a pooler
    with torch.no_grad():
        for parameter in original.parameters():
            parameter.mul_(8)  # or every token would be as likely as another
    with quiet_transformers():
        original.save_pretrained(folder / "original")
        tokenizer.save_pretrained(folder / "original")
    train(folder, {"checkpoint": str(folder / "original")}, epochs=2, learning_rate=0.01)
    return folder


def run(tuned, output, **changes):
    options = {"original": str(tuned / "original"), "machine": CPU}
    mlm_score_cell(tuned / "data.parquet", tuned / "mine" / "3", output, **{**options, **changes})
    return read_artefact(output, "mlm_scores")[0].to_pylist()


def by_hand(tuned):
    """The tuned encoder in the original model, one masked text at a time."""
    from transformers import AutoTokenizer, BertForMaskedLM, BertForSequenceClassification

    with quiet_transformers():
        model = BertForMaskedLM.from_pretrained(tuned / "original").eval()
        output = model.cls.predictions.decoder.weight.detach().clone()
        classifier = BertForSequenceClassification.from_pretrained(tuned / "mine" / "3").eval()
        tokenizer = AutoTokenizer.from_pretrained(tuned / "original")
    encoder = classifier.bert
    assert not torch.equal(encoder.embeddings.word_embeddings.weight, output)

    def log_probabilities(ids, position):
        with torch.no_grad():
            hidden = encoder(torch.tensor([ids])).last_hidden_state
            logits = model.cls.predictions.transform(hidden) @ output.T + model.cls.predictions.bias
        return torch.log_softmax(logits[0, position].double(), 0)

    def score(words, marks):
        mlm = likelihood = 0.0
        counts = [0, 0]
        pieces = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
        for i, (own, mark) in enumerate(zip(pieces, marks, strict=True)):
            if mark:
                continue
            before = [tokenizer.cls_token_id, *chain(*pieces[:i])]
            after = [*chain(*pieces[i + 1 :]), tokenizer.sep_token_id]
            mask = tokenizer.mask_token_id
            mlm -= float(log_probabilities([*before, mask, *after], len(before)).max())
            counts[0] += 1
            for j, token in enumerate(own):
                ids = [*before, *own[:j], mask, *own[j + 1 :], *after]
                likelihood += float(log_probabilities(ids, len(before) + j)[token])
                counts[1] += 1
        return mlm, likelihood, *counts

    return score


def test_mlm_scores_equal_a_naive_loop(tuned, tmp_path):
    rows = run(tuned, tmp_path / "m.parquet")
    examples = examples_of(tuned)
    assert len(rows) == len(examples) > 4
    score = by_hand(tuned)
    several = 0
    for row in rows[:4]:
        example = examples[row["example_id"]]
        mlm, likelihood, n_words, n_tokens = score(example.words, example.rationale)
        assert row["mlm_score"] == pytest.approx(mlm, rel=1e-5)
        assert row["log_likelihood"] == pytest.approx(likelihood, rel=1e-5)
        assert (row["n_words"], row["n_tokens"]) == (n_words, n_tokens)
        assert row["group"] == example.group
        several += n_tokens > n_words
    assert several


@pytest.mark.bits
def test_a_question_has_the_same_bits_alone_and_among_others(tuned, one_thread):
    model = load_masked_lm(tuned / "mine" / "3", str(tuned / "original"), None, CPU)
    examples = examples_of(tuned).values()
    encodings = encode_texts(model.tokenizer, [example.words for example in examples], 40)
    asked = [question for encoding in encodings for question in questions(encoding, (0,) * 40, 4)]
    together = model.answers(asked)
    alone = [model.answers([question])[0] for question in asked]
    np.testing.assert_array_equal(together, alone)


def test_an_unsteady_layer_is_one_line(tuned, caplog, monkeypatch):
    monkeypatch.setattr(LinearLayers, "are_steady", False)
    load_masked_lm(tuned / "mine" / "3", str(tuned / "original"), None, CPU)
    lines = [record.message for record in caplog.records if "shares a batch" in record.message]
    assert len(lines) == 1
    assert "BertForMaskedLM" in lines[0]


def test_words_of_the_rationale_and_those_cut_away_are_not_asked_for(tuned):
    tokenizer = load_masked_lm(tuned / "mine" / "3", str(tuned / "original"), None, CPU).tokenizer
    encoding = encode_texts(tokenizer, ["she sings . " * 30], 10)[0]
    assert encoding.truncated
    marks = (1, 0, 0) * 30
    asked = questions(encoding, marks, 4)
    masked = {int(encoding.word_ids[q.position]) for q in asked if q.target >= 0}
    kept = set(encoding.word_ids.tolist()) - {-1}
    assert masked == {word for word in kept if not marks[word]}
    assert all(q.ids[q.position] == 4 for q in asked)
    assert questions(encoding, (1,) * 90, 4) == []


def test_a_text_without_such_words_is_undefined(tuned):
    model = load_masked_lm(tuned / "mine" / "3", str(tuned / "original"), None, CPU)
    example = read_prepared(tuned / "data.parquet", "test").examples[0]
    (row,) = mlm_score._rows(model, [replace(example, rationale=(1,) * len(example.words))])
    assert math.isnan(row["mlm_score"])
    assert (row["n_words"], row["n_tokens"]) == (0, 0)


def test_a_checkpoint_without_the_head_is_refused(tuned, tmp_path):
    with pytest.raises(InputError, match="has no masked-language-model head"):
        run(tuned, tmp_path / "m.parquet", original=str(tuned / "mine" / "3"))
    with pytest.raises(InputError, match="so it is not a model folder"):
        run(tuned, tmp_path / "m.parquet", original=str(tuned / "mine"))
    assert not (tmp_path / "m.parquet").exists()


def test_an_encoder_of_another_size_is_refused(tuned, checkpoints):
    with pytest.raises(InputError, match="its encoder does not fit the head of"):
        load_masked_lm(Path(checkpoints["bert"]), str(tuned / "original"), None, CPU)
