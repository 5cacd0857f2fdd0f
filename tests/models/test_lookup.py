"""Models that look at token ids run on embeddings as all others, and stay as they are."""

import numpy as np
import pytest
import torch
from tiny_models import TEXTS, ids_of, make, pipeline_probabilities, unigram, xlnet_wordpiece

import exparity
from exparity.models.lookup import EmbeddedBatch, run_on_embeddings

READ_IDS = {
    "ctrl": {"n_embd": 32, "n_layer": 2, "n_head": 4, "dff": 48},  # scales what it gets in place
    "esm": {"token_dropout": True, "max_position_embeddings": 130},  # counts masks
    "ibert": {"max_position_embeddings": 130},  # its table returns two things
    "phimoe": {"num_local_experts": 2, "num_key_value_heads": 2},  # its routers are linear layers
    "longformer": {},  # marks positions, and pads to its window
    "xlm": {"emb_dim": 32, "n_layers": 1, "n_heads": 4},  # looks for padding
}
PADDING_COUNTS = {"fnet": {}, "xlnet": {}}  # XLNet marks the token that it pools by a type


@pytest.fixture(scope="module", params=READ_IDS | PADDING_COUNTS)
def parts(request):
    tokenizer = xlnet_wordpiece() if request.param == "xlnet" else unigram()
    settings = (READ_IDS | PADDING_COUNTS)[request.param]
    return make(request.param, tokenizer, **settings), tokenizer


def compared(classifier):
    """The classifier, after the check that every door makes."""
    exparity.explain(classifier, TEXTS, 0, method="uniform_random")
    return classifier


@pytest.mark.filterwarnings("ignore")
@pytest.mark.sweep
@pytest.mark.parametrize("padded", [False, True])
def test_probabilities_are_those_of_the_pipeline(parts, padded):
    classifier = exparity.load_classifier(parts, "cpu")
    classifier.exact = not padded
    compared(classifier)
    assert classifier.exact == (not padded or parts[0].config.model_type in PADDING_COUNTS)
    expected = pipeline_probabilities(*parts, TEXTS)
    found = classifier.probabilities(ids_of(classifier, TEXTS))
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_gradients_are_slopes(parts):
    """Central differences of the logit along the rows of each token."""
    classifier = exparity.load_classifier(parts, "cpu")
    (one,) = exparity.explain(classifier, TEXTS[-1:], 1, "gradient_x_input")
    rows, step = classifier.embed(one.token_ids), 1e-3
    slopes = []
    for place in range(len(rows)):
        ends = rows.repeat(2, 1, 1)
        ends[:, place] *= torch.tensor([1 + step, 1 - step])[:, None]
        with torch.no_grad():
            up, down = classifier.logits(ends, [len(rows)] * 2)[:, 1].tolist()
        slopes.append((up - down) / (2 * step))
    assert np.ptp(slopes) > 0.01
    assert one.scores == pytest.approx(slopes, abs=0.02 * float(np.abs(slopes).max()))


def test_a_model_without_gradients_is_one_line():
    tokenizer = unigram()
    size = {"attn_layers": ["local"], "axial_pos_embds": False, "attention_head_size": 8}
    model = make("reformer", tokenizer, is_decoder=False, max_position_embeddings=128, **size)
    classifier = compared(exparity.load_classifier((model, tokenizer), "cpu"))
    with pytest.raises(exparity.ExparityError, match="the model has no gradients") as error:
        exparity.explain(classifier, TEXTS[:1], 1, "gradient")
    assert "\n" not in str(error.value)
    assert np.ptp(exparity.explain(classifier, TEXTS[:1], 1, "occlusion")[0].scores) > 0


def test_a_model_without_embeddings_of_tokens_is_refused_at_load():
    tokenizer = unigram()
    with pytest.raises(exparity.InputError, match="no table with an embedding for each token"):
        exparity.load_classifier((make("canine", tokenizer), tokenizer), "cpu")


def test_a_model_is_left_as_it_was_also_after_an_error():
    model = make("bart", unigram(), d_model=32, encoder_attention_heads=4)
    before = dict(vars(model.config))
    rows = torch.ones(1, 3, 7)  # of another width
    with pytest.raises(RuntimeError):
        run_on_embeddings(model, EmbeddedBatch(rows, None, torch.tensor([2])))
    assert vars(model.config) == before
    assert not [part for part in model.modules() if "forward" in vars(part)]
