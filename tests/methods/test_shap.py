"""Partition SHAP against recursive Owen values in float64, and alone against side by side."""

import importlib.util
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from engine.exact import ExactModel
from methods.games import owen

import exparity
from exparity.methods import _shap
from exparity.methods._lockstep import run_in_lockstep
from exparity.methods.shap import owen_values, text_hierarchy
from exparity.types import Encoding

TEXTS = ["She sings .", "The girl sings .", "His mother thanked the waiter near the harbour ."]


def value_function(exact, classifier, one):
    """Target probability with some tokens present; special ones always are."""
    known = {}

    def value(present):
        kept = frozenset(present)
        if kept not in known:
            ids = [
                int(token) if special or place in kept else classifier.mask_id
                for place, (token, special) in enumerate(
                    zip(one.token_ids, one.special_mask, strict=True)
                )
            ]
            known[kept] = exact.probability(exact.rows(ids), one.target)
        return known[kept]

    return value


@pytest.mark.reference
def test_equals_the_recursion_when_fully_expanded(classifier):
    texts = ["She sings .", "He sings", "she"]
    found = exparity.explain(classifier, texts, [0, 1, 0], method="shap", max_evals=2000)
    exact = ExactModel(classifier)
    for one, encoding in zip(found, classifier.encode(texts), strict=True):
        n = len(encoding)
        assert n <= 8
        value = value_function(exact, classifier, one)
        tree = text_hierarchy(classifier.tokenizer, encoding) if n > 1 else []
        expected = owen(value, tree, n)
        np.testing.assert_allclose(one.scores, expected, atol=1e-5)
        assert np.abs(one.scores[one.special_mask]).max(initial=0) == 0
        # efficiency
        whole, none = value(range(n)), value([])
        assert one.scores.sum() == pytest.approx(whole - none, abs=1e-5)


@pytest.mark.reference
def test_sums_to_the_change_however_few_the_evaluations(classifier):
    """What is not split is shared evenly, so that the sum is the same."""
    for max_evals in (10, 20, 50):
        for one in exparity.explain(classifier, TEXTS, [0, 1, 0], "shap", max_evals=max_evals):
            ids = np.where(one.special_mask, one.token_ids, classifier.mask_id)
            whole, none = classifier.probabilities([one.token_ids, ids])[:, one.target]
            assert one.scores.sum() == pytest.approx(whole - none, abs=1e-6)


@pytest.mark.property
def test_texts_side_by_side_do_not_matter(classifier, monkeypatch):
    import exparity.methods.shap as module

    texts = [*TEXTS, TEXTS[0], "He sings"]
    found = []
    for together in (1, 2, 64):
        monkeypatch.setattr(module, "_TOGETHER", together)
        run = exparity.explain(classifier, texts, [0, 1, 0, 1, 1], method="shap", max_evals=20)
        found.append(b"".join(one.scores.tobytes() for one in run))
    assert found[0] == found[1] == found[2]


@pytest.fixture(scope="module")
def whole_shap():
    """The package, whose functions are not compiled: that takes ten seconds."""
    from numba import config

    before, config.DISABLE_JIT = config.DISABLE_JIT, 1
    try:
        import shap
    finally:
        config.DISABLE_JIT = before
    return shap


@pytest.mark.reference
def test_equals_the_whole_package(classifiers, monkeypatch, whole_shap):
    """Its files without the rest give the bytes of `import shap`."""

    def scores():
        run = exparity.explain(classifiers["bert"], texts, [0, 1, 0], method="shap", max_evals=60)
        return [one.scores.tobytes() for one in run]

    texts = [*TEXTS[1:], f"{TEXTS[-1]} " * 4]
    ours = scores()
    monkeypatch.setattr(_shap, "PartitionExplainer", whole_shap.PartitionExplainer)
    monkeypatch.setattr(_shap, "Text", whole_shap.maskers.Text)
    assert scores() == ours


def test_another_layout_of_shap_is_imported_whole(tmp_path, monkeypatch, whole_shap):
    shap = whole_shap

    def load(name):
        spec = importlib.util.spec_from_file_location(name, _shap.__file__)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    shutil.copytree(
        Path(shap.__file__).parent,
        tmp_path / "shap",
        ignore=shutil.ignore_patterns("*.so", "plots"),
    )
    found = importlib.machinery.PathFinder.find_spec("shap", [str(tmp_path)])
    monkeypatch.setattr("importlib.util.find_spec", lambda _: found)
    assert load("_shap_there").PartitionExplainer is not shap.PartitionExplainer
    (tmp_path / "shap" / "links.py").unlink()
    broken = load("_shap_missing")
    assert broken.PartitionExplainer is shap.PartitionExplainer
    assert broken.Text is shap.maskers.Text


def test_a_hierarchy_may_be_as_deep_as_a_text_is_long(classifiers):
    """That of one separator after the other is a chain."""
    count, tokenizer = 500, classifiers["bert"].tokenizer
    width = len(tokenizer.sep_token)
    starts = np.arange(count) * (width + 1)
    encoding = Encoding(
        " ".join([tokenizer.sep_token] * count),
        np.full(count, tokenizer.sep_token_id),
        (tokenizer.sep_token,) * count,
        np.arange(count),
        np.zeros(count, dtype=bool),
        offsets=np.stack([starts, starts + width], axis=1),
    )
    sys.setrecursionlimit(400)
    values = owen_values(
        lambda masks: masks.mean(axis=1)[None, :, None],
        tokenizer,
        encoding,
        np.array([0]),
        max_evals=10,
    )
    assert values.sum() == pytest.approx(1)


def test_evaluations_are_bounded(classifiers, monkeypatch):
    classifier = classifiers["bert"]
    asked = []
    inner = classifier.forward
    monkeypatch.setattr(
        classifier, "forward", lambda sizes, build: (asked.extend(sizes), inner(sizes, build))[1]
    )
    for max_evals in (10, 30):
        asked.clear()
        exparity.explain(classifier, TEXTS[-1:], [0], method="shap", max_evals=max_evals)
        # shap asks in rounds of a few, and may end the last one above the bound
        assert max_evals / 2 <= len(asked) <= max_evals + 2


def test_lockstep_answers_everyone_and_raises_what_they_raise():
    def asks(count):
        def function(ask):
            return [ask(f"{count}.{i}") for i in range(count)]

        return function

    rounds = []

    def answer(positions, questions):
        rounds.append(positions)
        return [q + "!" for q in questions]

    assert run_in_lockstep([asks(2), asks(0), asks(1)], [0, 0, 0], answer) == [
        ["2.0!", "2.1!"],
        [],
        ["1.0!"],
    ]
    assert rounds == [[0, 2], [0]]

    def fails(_):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_in_lockstep([asks(1), fails], [0, 0], answer)


def test_lockstep_gives_each_its_own_global_draws():
    """Draws depend on the seed alone, and the caller's own state is left as it was."""

    def draws(ask):
        first = np.random.random()  # noqa: NPY002
        ask(None)
        return first, np.random.random()  # noqa: NPY002

    def run(seeds):
        return run_in_lockstep([draws] * len(seeds), seeds, lambda _, asked: asked)

    np.random.seed(9)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(9)  # noqa: NPY002
    both = run([1, 2])
    assert np.random.random() == expected  # noqa: NPY002
    assert [run([1])[0], run([2])[0]] == both
    assert both[0] != both[1]
