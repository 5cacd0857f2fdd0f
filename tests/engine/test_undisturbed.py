"""Threads that share a model, and modes of torch around a call: the same numbers as without."""

import copy
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import numpy as np
import pytest
import torch
from methods.training import scores_of
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import exparity
from exparity.core.undisturbed import MODELS, undisturbed
from exparity.engine.batching import padded

TEXTS = ["the girl sings", "the waiter was late", "her mother", "he was kind to the girl"] * 3
METHODS = ["gradient_x_input", "occlusion", "integrated_gradients_x_input", "attnlrp", "deeplift"]
MODES = {
    "no_grad": [torch.no_grad],
    "inference_mode": [torch.inference_mode],
    "autocast": [partial(torch.autocast, "cpu", dtype=torch.bfloat16)],
    "both": [torch.inference_mode, partial(torch.autocast, "cpu", dtype=torch.bfloat16)],
    "device": [partial(torch.device, "meta")],
}


@pytest.fixture
def objects(checkpoints):
    folder = checkpoints["bert"]
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    return model, AutoTokenizer.from_pretrained(folder)


def explained(classifier, method):
    return scores_of(exparity.explain(classifier, TEXTS, 1, method))


class TestThreads:
    def same_from_all_threads(self, classifiers):
        wanted = {method: explained(classifiers[0], method) for method in METHODS}
        jobs = [(classifiers[i % len(classifiers)], method) for i, method in enumerate(METHODS * 4)]
        with ThreadPoolExecutor(6) as pool:
            results = list(pool.map(lambda job: explained(*job), jobs))
        for (_, method), found in zip(jobs, results, strict=True):
            np.testing.assert_allclose(found, wanted[method], atol=1e-7)

    def test_threads_share_one_classifier(self, objects):
        self.same_from_all_threads([exparity.load_classifier(objects)])
        assert all(weight.requires_grad for weight in objects[0].parameters())
        assert not any("forward" in vars(module) for module in objects[0].modules())

    def test_two_classifiers_of_one_model(self, objects):
        self.same_from_all_threads([exparity.load_classifier(objects) for _ in range(2)])
        assert all(weight.requires_grad for weight in objects[0].parameters())

    def test_metrics_and_probabilities_beside_explanations(self, objects):
        classifier = exparity.load_classifier(objects)
        explanations = exparity.explain(classifier, TEXTS, 1, "gradient")
        ids = [explanation.token_ids for explanation in explanations]
        jobs = [
            lambda: exparity.evaluate(classifier, explanations, "comprehensiveness"),
            lambda: classifier.probabilities(ids),
            lambda: explained(classifier, "gradient"),
        ]
        wanted = [job() for job in jobs]
        with ThreadPoolExecutor(6) as pool:
            results = list(pool.map(lambda job: job(), jobs * 4))
        for place, found in enumerate(results):
            np.testing.assert_allclose(found, wanted[place % 3], atol=1e-7)

    def test_a_function_is_asked_about_each_text_once(self):
        asked = []

        def predict(texts):
            asked.extend(texts)
            ones = np.array([[len(text) % 7 / 7] for text in texts])
            return np.hstack([ones, 1 - ones])

        classifier = exparity.load_classifier(predict, classes=["a", "b"])
        wanted = explained(classifier, "occlusion")
        before = len(asked)
        fresh = exparity.load_classifier(predict, classes=["a", "b"])
        with ThreadPoolExecutor(6) as pool:
            results = list(pool.map(lambda _: explained(fresh, "occlusion"), range(8)))
        for found in results:
            np.testing.assert_array_equal(found, wanted)
        assert len(asked) == 2 * before

    def test_an_iterator_of_gradients_that_is_left_holds_nothing_back(self, objects):
        classifier = exparity.load_classifier(objects, token_budget=8)
        rows = [classifier.embed(encoding.token_ids) for encoding in classifier.encode(TEXTS)]
        gradients = classifier.input_gradients(
            [len(row) for row in rows], padded(rows), np.ones(len(rows), dtype=np.int64)
        )
        next(gradients)
        assert all(weight.requires_grad for weight in objects[0].parameters())
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(explained, classifier, "gradient").result(timeout=60)
        np.testing.assert_allclose(found, explained(classifier, "gradient"), atol=1e-7)


@pytest.mark.parametrize("modes", MODES)
class TestModes:
    def within(self, modes, run):
        with ExitStack() as stack:
            for mode in MODES[modes]:
                stack.enter_context(mode())
            return run()

    @pytest.mark.sweep
    @pytest.mark.parametrize("method", METHODS)
    def test_modes_of_callers_change_no_explanation(self, objects, modes, method):
        def run():
            return explained(exparity.load_classifier(objects), method)

        np.testing.assert_array_equal(self.within(modes, run), run())

    @pytest.mark.sweep
    def test_modes_of_callers_change_no_other_output(self, objects, modes):
        classifier = exparity.load_classifier(objects)
        explanations = exparity.explain(classifier, TEXTS, 1, "gradient")
        ids = [explanation.token_ids for explanation in explanations]

        def gradients():
            rows = [classifier.embed(row) for row in ids]
            targets = np.ones(len(rows), dtype=np.int64)
            found = classifier.input_gradients([len(row) for row in rows], padded(rows), targets)
            return {place: gradient.tolist() for place, gradient, _ in found}

        def benchmark():
            made = exparity.benchmark(
                objects, TEXTS[:3], methods=["gradient"], metrics=["sufficiency", "sensitivity"]
            )
            return made.table().drop(columns="seconds").to_numpy().tolist()

        doors = {
            "probabilities": lambda: classifier.probabilities(ids).tolist(),
            "gradients": gradients,
            "benchmark": benchmark,
            "evaluate": lambda: exparity.evaluate(
                classifier, explanations, "sensitivity", steps=2
            ).tolist(),
            "random weights": lambda: classifier.with_random_weights(3).probabilities(ids).tolist(),
        }
        for door, run in doors.items():
            assert self.within(modes, run) == run(), door

    def test_a_folder_is_loaded_with_weights_that_have_gradients(self, checkpoints, modes):
        folder = checkpoints["bert"]
        classifier = self.within(modes, lambda: exparity.load_classifier(folder, "cpu"))
        wanted = explained(exparity.load_classifier(folder, "cpu"), "gradient")
        np.testing.assert_array_equal(explained(classifier, "gradient"), wanted)


def test_a_model_that_was_made_in_inference_mode_is_named(objects):
    with torch.inference_mode():
        model = copy.deepcopy(objects[0])
    assert all(weight.is_inference() for weight in model.parameters())
    classifier = exparity.load_classifier((model, objects[1]))
    assert len(exparity.explain(classifier, TEXTS, 1, "occlusion")) == len(TEXTS)
    with pytest.raises(exparity.InputError, match=r"made or loaded in torch\.inference_mode"):
        exparity.explain(classifier, TEXTS, 1, "gradient")


def test_the_lock_is_given_back_after_an_error():
    with pytest.raises(ValueError, match="mine"), undisturbed():
        raise ValueError("mine")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(MODELS.acquire, blocking=False).result()
        pool.submit(MODELS.release).result()
