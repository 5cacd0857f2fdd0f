"""Explanations of pairs of texts against captum and loops over the plain model."""

import captum.attr
import numpy as np
import pytest
import torch
from engine.exact import plain_probabilities
from methods.training import METHOD_IDS
from methods.training import explained as explained_quickly
from support import PAIRS

import exparity
from exparity.core.seeding import generator
from exparity.methods.lime import draw_masks, fit_lime

pytestmark = pytest.mark.reference
PAIR, TARGET = PAIRS[1], 2


class Plain:
    """The model as transformers calls it with one pair: word embeddings and token types."""

    def __init__(self, classifier, pair=PAIR):
        batch = classifier.tokenizer(*pair, return_tensors="pt", return_special_tokens_mask=True)
        self.model, self.ids = classifier.model, batch["input_ids"]
        self.special = batch["special_tokens_mask"][0].bool()
        self.types = batch.get("token_type_ids")
        table = classifier.model.get_input_embeddings()
        self.rows = table(self.ids).detach()
        pad = torch.full_like(self.ids, classifier.pad_id)
        self.baseline = table(torch.where(self.special, self.ids, pad)).detach()

    def logits(self, rows):
        types = None if self.types is None else self.types.expand(len(rows), -1)
        typed = {} if types is None else {"token_type_ids": types}
        return self.model(inputs_embeds=rows, **typed).logits

    def probability(self, ids, kept=...):
        """Of the target, for (t,) ids of which some are left out."""
        types = None if self.types is None else self.types[0, kept].numpy()
        return plain_probabilities(self.model, ids[kept], types)[TARGET]


def explained(classifier, method, pair=PAIR, **options):
    return exparity.explain(classifier, pair, TARGET, method, **options)[0]


def close(found, expected):
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("method", ["gradient", "gradient_x_input"])
def test_gradients_are_those_of_captum_on_word_embeddings(pair_classifier, method):
    plain = Plain(pair_classifier)
    algorithm = {"gradient": captum.attr.Saliency, "gradient_x_input": captum.attr.InputXGradient}
    rows = plain.rows.clone().requires_grad_(True)
    values = algorithm[method](plain.logits).attribute(rows, target=TARGET)
    close(explained(pair_classifier, method).scores, values[0].sum(-1).detach().numpy())
    name = algorithm[method].__name__
    through = explained(pair_classifier, "captum", algorithm=name)
    close(through.scores, values[0].sum(-1).detach().numpy())


@pytest.mark.parametrize(
    ("algorithm", "options"), [("IntegratedGradients", {"n_steps": 9}), ("Occlusion", {})]
)
def test_others_are_those_of_captum(pair_classifier, algorithm, options):
    plain, occludes = Plain(pair_classifier), algorithm == "Occlusion"

    class Module(torch.nn.Module):
        model, forward = plain.model, staticmethod(plain.logits)

    rows = plain.rows.clone().requires_grad_(not occludes)
    windows = {"sliding_window_shapes": (1, rows.shape[-1])} if occludes else {}
    peer = getattr(captum.attr, algorithm)(Module())
    (values,) = peer.attribute(
        rows, baselines=plain.baseline, target=TARGET, **options, **windows
    ).detach()
    expected = (values[:, 0] if occludes else values.sum(-1)).numpy()
    found = explained(pair_classifier, "captum", algorithm=algorithm, options=options)
    close(found.scores, expected)
    if not occludes:
        own = explained(pair_classifier, "integrated_gradients_x_input", **options)
        close(own.scores, expected)


def test_occlusion_is_a_loop_over_the_tokens_of_both(pair_classifier):
    plain, ids = Plain(pair_classifier), Plain(pair_classifier).ids[0]
    expected = np.zeros(len(ids))
    for place in torch.nonzero(~plain.special)[:, 0]:
        kept = torch.arange(len(ids)) != place
        expected[place] = plain.probability(ids) - plain.probability(ids, kept)
    found = explained(pair_classifier, "occlusion")
    np.testing.assert_allclose(found.scores, expected, atol=1e-6)
    assert (found.scores[found.word_ids >= len(PAIR[0].split())] != 0).all()


def test_lime_masks_with_the_type_of_what_is_masked(pair_classifier):
    plain, found = Plain(pair_classifier), explained(pair_classifier, "lime", num_samples=30)
    masks = draw_masks(len(found), 30, generator(0, "explain", "lime", found.text))
    masked = [plain.ids[0].where(torch.tensor(own), pair_classifier.mask_id) for own in masks]
    expected = fit_lime(masks, np.array([plain.probability(ids) for ids in masked]))
    close(found.scores, np.where(plain.special, 0, expected))


def test_shap_parts_the_texts_first_and_adds_up(pair_classifier):
    from exparity.methods._owen import text_hierarchy

    plain = Plain(pair_classifier)
    mask = torch.full_like(plain.ids[0], pair_classifier.mask_id)
    empty = plain.probability(torch.where(plain.special, plain.ids[0], mask))
    found = explained(pair_classifier, "shap", max_evals=2000)
    assert found.scores.sum() == pytest.approx(plain.probability(plain.ids[0]) - empty, abs=1e-5)
    (encoding,) = pair_classifier.encode([PAIR])
    separator = pair_classifier.tokenizer.sep_token
    halves = text_hierarchy(encoding.text, encoding.offsets, separator)
    members = {i: {i} for i in range(len(encoding))}
    for i, (left, right) in enumerate(halves):
        members[len(encoding) + i] = members[left] | members[right]
    first = set(np.flatnonzero((encoding.word_ids >= 0) & (encoding.word_ids < 2)))
    second = set(np.flatnonzero(encoding.word_ids >= 2))
    joining = next(m for m in members.values() if m & first and m & second)
    assert joining >= first | second, "no branch joins parts of both texts before each is whole"


@pytest.mark.bits
@pytest.mark.sweep
@pytest.mark.parametrize("method", METHOD_IDS)
def test_batch_equals_loop_on_pairs_and_single_texts(pair_classifiers, method):
    classifier = pair_classifiers["bert"]
    texts, targets = [PAIRS[0], "her mother sings", *PAIRS[1:]], [2, 0, 1, 2]
    together = explained_quickly(classifier, texts, targets, method)
    for text, target, one in zip(texts, targets, together, strict=True):
        (alone,) = explained_quickly(classifier, [text], [target], method)
        np.testing.assert_array_equal(one.scores, alone.scores)
        assert one.pair == (text if isinstance(text, tuple) else None)
