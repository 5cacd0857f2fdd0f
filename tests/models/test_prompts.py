"""Prompts: which tokens are of the text, which name a class, and what is refused."""

import numpy as np
import pytest
from support import refused_by
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from exparity import InputError
from exparity.models.prompts import Prompt, PromptSpec, absent_token, encode_prompt, label_tokens
from exparity.models.scratch import train_tokenizer
from exparity.models.spec import ModelSpec
from exparity.types import Text

REFUSED = refused_by(__file__)

WORDS = {"bad": " bad", "good": " good"}
TEMPLATES = (
    "{text}",
    "Review: {text}\nAnswer:",
    "{text} It was",
    "“{text}”\n\nWas it good or bad? It was",
    "Q: {text}A:",
    "\n{text}\n",
    "good bad ({text}) is",
    "Say it of {text}!",
)
CORPUS = [
    "He was good, she was bad.",
    "Review: it was long. Answer: good",
    "naïve café “so-so” bad",
]


def random_texts(count: int) -> list[str]:
    rng = np.random.default_rng(5)
    words = ["good", "bad", "it", "naïve", "x-y", "(so)", "café!", "was", "§", "Answer:", "don't"]
    return [" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(count)]


def unigram() -> PreTrainedTokenizerFast:
    core = Tokenizer(models.Unigram())
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False
    )
    core.train_from_iterator([*CORPUS, *TEMPLATES, *random_texts(300)], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", bos_token="<s>")


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request):
    if request.param == "unigram":
        return unigram()
    spec = ModelSpec(init="scratch", architecture="gpt2", vocab_size=400)
    return train_tokenizer(spec, [*CORPUS, *TEMPLATES, *random_texts(300)])


@pytest.mark.reference
@pytest.mark.parametrize("template", TEMPLATES)
def test_spans_are_those_of_a_naive_loop(tokenizer, template):
    prompt = Prompt.of(PromptSpec(template=template, words=WORDS), tokenizer)
    texts = random_texts(200)
    encodings = encode_prompt(tokenizer, prompt, list(map(Text.of, texts)), 1000)
    for text, found in zip(texts, encodings, strict=True):
        before, after = template.split("{text}")
        whole = before + text + after
        encoded = tokenizer(whole, return_offsets_mapping=True)
        assert found.token_ids.tolist() == encoded["input_ids"]
        for place, (start, end) in enumerate(encoded["offset_mapping"]):
            seen = [at for at in range(start, end) if not whole[at].isspace()] or [end - 1]
            inside = len(before) <= seen[0] < len(before) + len(text)
            assert found.special_mask[place] != inside
            if inside:
                first, last = found.offsets[place]
                assert text[first:last].strip() == whole[seen[0] : end][: last - first].strip()


@pytest.mark.parametrize("template", [t for t in TEMPLATES if not t.endswith("\n")])
def test_label_tokens_are_those_of_a_naive_loop(tokenizer, template):
    spec = PromptSpec(template=template, words=WORDS)
    found = label_tokens(tokenizer, Prompt.of(spec, tokenizer), WORDS)
    for text in ("It was good.", "N/A"):
        asked = template.replace("{text}", text)
        alone = tokenizer(asked)["input_ids"]
        answered = [tokenizer(asked + word)["input_ids"] for word in WORDS.values()]
        assert [ids[len(alone)] for ids in answered] == found


def test_words_of_a_text_are_cut_and_never_the_frame(tokenizer):
    prompt = Prompt("Review: ", "\nAnswer:")
    text = "it was good and it was bad and so on"
    (whole,) = encode_prompt(tokenizer, prompt, [Text.of(text)], 1000)
    n_frame = int(whole.special_mask.sum())
    for limit in range(n_frame + 2, len(whole)):
        (found,) = encode_prompt(tokenizer, prompt, [Text.of(text)], limit)
        assert len(found) <= limit
        assert found.truncated
        kept = text[: found.offsets[~found.special_mask].max()]
        assert text.startswith(f"{kept} ")
        assert tokenizer(prompt.around(kept))["input_ids"] == found.token_ids.tolist()
    with pytest.raises(InputError, match=r"text 0: the prompt has .* tokens around the text"):
        encode_prompt(tokenizer, prompt, [Text.of(text)], n_frame)


class TestChat:
    TEMPLATE = (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}\n{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )

    def rendered(self, tokenizer, template, **settings):
        tokenizer.chat_template = template
        try:
            spec = PromptSpec(template="Is {text} good? ", words=WORDS, chat=True, **settings)
            return Prompt.of(spec, tokenizer)
        finally:
            tokenizer.chat_template = None

    def test_a_template_is_rendered_once_into_strings(self, tokenizer):
        prompt = self.rendered(tokenizer, self.TEMPLATE, system="Be brief.")
        assert prompt == Prompt(
            "<|system|>Be brief.\n<|user|>Is ", " good?\n<|assistant|>", special=False
        )

    @pytest.mark.parametrize(
        ("template", "reason"), REFUSED["one_that_loses_the_text_or_thinks_is_refused"]
    )
    def test_one_that_loses_the_text_or_thinks_is_refused(self, tokenizer, template, reason):
        with pytest.raises(InputError, match=reason):
            self.rendered(tokenizer, template)


@pytest.mark.parametrize(
    ("template", "words", "reason"), REFUSED["words_that_do_not_tell_classes_apart_are_refused"]
)
def test_words_that_do_not_tell_classes_apart_are_refused(template, words, reason):
    spec = ModelSpec(init="scratch", architecture="gpt2", vocab_size=400)
    tokenizer = train_tokenizer(spec, [*CORPUS, *TEMPLATES])
    if "behind every prompt" in reason:
        tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", tokenizer.eos_token_id)]
        )
    with pytest.raises(InputError, match=reason):
        label_tokens(tokenizer, Prompt(*template.split("{text}")), {"a": words[0], "b": words[1]})


def test_an_absent_token_is_one_token():
    spec = ModelSpec(init="scratch", architecture="gpt2", vocab_size=600)
    tokenizer = train_tokenizer(spec, ["He said ... and ... then ..."] * 9)
    (token,) = tokenizer(" ...", add_special_tokens=False)["input_ids"]
    assert absent_token(tokenizer, None) == absent_token(tokenizer, " ...") == token
    with pytest.raises(InputError, match=r"absent: 'what is it' is .* tokens"):
        absent_token(tokenizer, "what is it")
    without = train_tokenizer(spec, ["nothing of the kind"])
    assert absent_token(without, None) is None
