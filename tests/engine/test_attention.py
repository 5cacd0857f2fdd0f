"""Quick attention gives what torch's gives, in any company, with gradients and without."""

import copy
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional as F
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from exparity.engine.attention import quick_attention
from exparity.engine.classifier import Classifier

ENCODER = SimpleNamespace(is_causal=False)
DECODER = SimpleNamespace(is_causal=True)
LENGTHS = [3, 8, 15, 16, 17, 21, 25, 31, 32, 45, 130]
N_TEXTS, HEADS, UNITS = 5, 3, 8


@pytest.fixture(params=LENGTHS)
def states(request):
    """Queries, keys and values of texts of one length, laid out as models lay them out."""
    generator = torch.Generator().manual_seed(request.param)
    shape = N_TEXTS, request.param, HEADS, UNITS
    return [torch.randn(shape, generator=generator).bfloat16().transpose(1, 2) for _ in range(3)]


def noted(monkeypatch, fact):
    """Return a list that gets a fact of the keys at each call of torch's attention."""
    facts = []
    attend = F.scaled_dot_product_attention

    def noting(query, key, *rest, **options):
        facts.append(fact(key))
        return attend(query, key, *rest, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", noting)
    return facts


@pytest.fixture
def widths(monkeypatch):
    """The numbers of keys that torch's attention is called with."""
    return noted(monkeypatch, lambda key: key.shape[2])


@pytest.fixture
def precisions(monkeypatch):
    """The types of keys that torch's attention is called with."""
    return noted(monkeypatch, lambda key: key.dtype)


def attended(module, states, mask=None, **options):
    return ALL_ATTENTION_FUNCTIONS["sdpa"](module, *states, mask, **options)[0]


def exact(states):
    doubled = (part.double() for part in states)
    return F.scaled_dot_product_attention(*doubled).transpose(1, 2)


@torch.no_grad()
def test_it_is_as_near_to_exact_attention(states):
    expected = exact(states)
    plain = (attended(ENCODER, states) - expected).abs().max()
    with quick_attention():
        filled = attended(ENCODER, states)
    assert filled.shape == expected.shape
    assert filled.dtype == torch.bfloat16
    assert (filled - expected).abs().max() <= 1.5 * plain


@torch.no_grad()
def test_a_text_has_the_same_bits_alone_as_among_others(states):
    with quick_attention():
        together = attended(ENCODER, states)
        for place in range(N_TEXTS):
            alone = attended(ENCODER, [part[place : place + 1] for part in states])
            assert torch.equal(alone[0], together[place])


@torch.no_grad()
def test_keys_are_filled_up_to_whole_vectors_where_many_are_missing(states, widths):
    length = states[0].shape[2]
    with quick_attention():
        attended(ENCODER, states)
    rest = length % 16
    assert widths == [length + 16 - rest if rest > 4 else length]


def as_float32(states):
    return [part.float() for part in states]


@torch.no_grad()
@pytest.mark.parametrize("change", ["float32", "causal", "masked"])
def test_the_rest_stays_as_it_is(change, states, widths):
    """Attention in float32, of models that look back alone, and of masked texts."""
    length = states[0].shape[2]
    module = DECODER if change == "causal" else ENCODER
    states = as_float32(states) if change == "float32" else states
    mask = states[0].new_zeros(1, 1, 1, length) if change == "masked" else None
    expected = attended(module, states, mask)
    with quick_attention():
        assert torch.equal(attended(module, states, mask), expected)
    assert widths == [length, length]


@torch.no_grad()
def test_nothing_is_filled_up_after_the_context(states, widths):
    with quick_attention():
        pass
    attended(ENCODER, states)
    assert widths == [states[0].shape[2]]


def slopes_of(module, states, mask=None):
    """Return gradients of a weighted sum of what attention returns."""
    inputs = [part.clone().requires_grad_(True) for part in states]
    outputs = attended(module, inputs, mask)
    weights = torch.linspace(-1, 1, outputs[0].numel()).view(outputs[0].shape)
    return torch.autograd.grad((outputs * weights.to(outputs.dtype)).sum(), inputs)


@pytest.mark.parametrize("module", [ENCODER, DECODER])
def test_gradients_are_as_near_to_exact_ones(module, states):
    expected = slopes_of(module, [part.double() for part in states])
    plain = slopes_of(module, states)
    with quick_attention():
        quick = slopes_of(module, states)
    for exactly, coarsely, quickly in zip(expected, plain, quick, strict=True):
        assert quickly.dtype == torch.bfloat16
        assert (quickly - exactly).abs().max() <= 1.5 * (coarsely - exactly).abs().max()


def test_gradients_of_a_text_have_the_same_bits_alone_as_among_others(states):
    with quick_attention():
        together = slopes_of(ENCODER, states)
        for place in range(N_TEXTS):
            alone = slopes_of(ENCODER, [part[place : place + 1] for part in states])
            for one, among in zip(alone, together, strict=True):
                assert torch.equal(one[0], among[place])


def test_gradients_of_short_texts_are_taken_in_float32(states, precisions):
    with quick_attention():
        slopes_of(ENCODER, states)
    is_short = states[0].shape[2] <= 128
    assert precisions == [torch.float32 if is_short else torch.bfloat16]


@pytest.mark.parametrize("kind", [torch.bool, torch.bfloat16])
def test_gradients_obey_masks(kind, states):
    """Keys that a mask hides get no gradient, whether it says so or is added."""
    length = states[0].shape[2]
    seen = (torch.arange(length) < length - 1)[None, None, None]
    hidden = torch.zeros(1, 1, 1, length).masked_fill(~seen, -torch.inf).to(kind)
    mask = seen if kind == torch.bool else hidden
    with quick_attention():
        _, of_keys, of_values = slopes_of(ENCODER, states, mask)
    for slopes in (of_keys, of_values):
        assert not slopes[:, :, -1].any()
        assert slopes[:, :, 0].any()


def test_a_classifier_in_bfloat16_fills_up(trained, widths):
    """And one in float32 does not."""
    exact_one, texts, _ = trained
    coarse = Classifier(
        copy.deepcopy(exact_one.model).bfloat16(),
        exact_one.tokenizer,
        device=exact_one.device,
        max_length=exact_one.max_length,
    )
    widths.clear()  # from the trial of new classifiers
    exact_one.predict_proba(texts)
    plain = set(widths)
    widths.clear()
    coarse.predict_proba(texts)
    assert plain == {len(encoding) for encoding in coarse.encode(texts)}
    assert set(widths) == {n if n % 16 <= 4 else n + 16 - n % 16 for n in plain}
