"""Prompts: the frame around a text, the tokens of both, and the words of the classes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import model_validator

from exparity.core.errors import InputError, reason_of
from exparity.core.validation import Settings
from exparity.models.inputs import first_visible, words_of_tokens
from exparity.types import FRAME_WORD, SPECIAL_WORD, BoolArray, Encoding, IntArray, Text

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

log = logging.getLogger(__name__)

TEXT = "{text}"
CONTENT_FREE = ("N/A", "[MASK]", "")
"""Texts without content, which show the bias of a prompt (Zhao et al. 2021)."""
_ABSENT = "..."
_MARKER = "\ue000text\ue000"
_ANSWER = "\ue000answer\ue000"
_PROBES = ("N/A", "It was good.", "The 3 of them went home")


class PromptSpec(Settings):
    """Prompt that asks a language model for a class.

    Attributes:
        template: the prompt, with ``{text}`` once in place of the text.
        words: the word of each class, by class, as it follows the prompt.
        absent: text of one token that replaces absent tokens; if None, ``...`` if that is one
            token, and otherwise a special token of the tokenizer.
        calibrate: offset of the logits of the classes: zero (``none``), or the offset that makes
            all classes equally likely on ``content_free`` texts or the training texts (``prior``).
        chat: put the prompt into the tokenizer's chat template, as a message of the user.
        system: message of the system before it.
    """

    template: str = TEXT
    words: Mapping[str, str] = {}
    absent: str | None = None
    calibrate: Literal["none", "content_free", "prior"] = "none"
    chat: bool = False
    system: str | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.template.count(TEXT) != 1:
            raise ValueError(f"template {self.template!r}: write {TEXT} once, where the text goes")
        if len(self.words) < 2:
            raise ValueError("words: name one for each of two or more classes")
        for name, word in self.words.items():
            if not word.strip():
                raise ValueError(f"words.{name}: {word!r} is empty; give the word of this class")
        if self.system is not None and not self.chat:
            raise ValueError("system: only chats have such a message; set chat: true, or leave it")
        return self


@dataclass(frozen=True)
class Prompt:
    """The strings around a text.

    Attributes:
        prefix: before it.
        suffix: after it.
        special: whether the tokenizer adds its special tokens; a rendered chat has its own.
    """

    prefix: str
    suffix: str
    special: bool = True

    @classmethod
    def of(cls, spec: PromptSpec, tokenizer: PreTrainedTokenizerFast) -> Prompt:
        """Render a template, once for all texts."""
        if not spec.chat:
            prefix, suffix = spec.template.split(TEXT)
            return cls(prefix, suffix)
        rendered = _rendered(tokenizer, _opening(spec))
        if rendered.count(_MARKER) != 1:
            raise InputError(
                "chat: the tokenizer's chat template does not keep the text once; leave chat out"
            )
        if rendered.rstrip().endswith("<think>"):
            raise InputError(
                "chat: the tokenizer's chat template has the model think before it answers; take a "
                "checkpoint that answers at once"
            )
        prefix, suffix = rendered.split(_MARKER)
        return cls(prefix, suffix, special=False)

    def around(self, text: str) -> str:
        """Return the prompt with a text in it."""
        return f"{self.prefix}{text}{self.suffix}"


def follow_up(
    spec: PromptSpec, tokenizer: PreTrainedTokenizerFast, word: str, question: str
) -> str:
    """Return what follows a prompt where its answer is a word and a question comes after it.

    The question is a line of its own, or in a chat the next message of the user.

    Raises:
        InputError: the chat template fails, or does not keep the answer once.
    """
    if not spec.chat:
        return f"{word}\n{question}"
    answer = {"role": "assistant", "content": _ANSWER}
    then = {"role": "user", "content": question}
    rendered = _rendered(tokenizer, [*_opening(spec), answer, then])
    if rendered.count(_ANSWER) != 1:
        raise InputError(
            "chat: the tokenizer's chat template does not keep an answer once, so that nothing can "
            "be asked after it; leave the method out"
        )
    return word + rendered.partition(_ANSWER)[2]


def tokens_after(tokenizer: PreTrainedTokenizerFast, prompt: Prompt, text: str) -> list[int]:
    """Return the tokens of a text that follows the prompt, as they are behind a probe."""
    probe = prompt.around(_PROBES[1])
    before, longer = _ids(tokenizer, [probe, probe + text], special=prompt.special)
    if longer[: len(before)] == before:
        return longer[len(before) :]
    (alone,) = _ids(tokenizer, [text], special=False)
    return alone


def _opening(spec: PromptSpec) -> list[dict[str, str]]:
    """Return the messages of a chat up to the text; a marker takes its place."""
    system = [{"role": "system", "content": spec.system}] if spec.system is not None else []
    return [*system, {"role": "user", "content": spec.template.replace(TEXT, _MARKER)}]


def _rendered(tokenizer: PreTrainedTokenizerFast, messages: list[dict[str, str]]) -> str:
    """Return messages in the tokenizer's chat template, up to where the model answers."""
    try:
        rendered = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
    except Exception as error:  # a template is a program of the checkpoint's
        raise InputError(f"chat: the tokenizer's chat template fails: {reason_of(error)}") from None
    return str(rendered)


def encode_prompt(
    tokenizer: PreTrainedTokenizerFast, prompt: Prompt, texts: Sequence[Text], max_length: int
) -> list[Encoding]:
    """Encode texts in their prompt; of a text that is too long the last words are cut.

    A token belongs to the text if its first visible character does. The offsets of all other
    tokens are (0, 0).
    """
    encodings = []
    rows = _encoded(tokenizer, prompt, [text.string for text in texts])
    for position, (text, row) in enumerate(zip(texts, rows, strict=True)):
        kept = text.string
        ids, special, offsets, content = row
        while (over := len(ids) - max_length) > 0:
            places = np.flatnonzero(content)
            first = int(offsets[places[-over], 0]) if over < len(places) else 0
            kept = kept[: max(0, kept.rfind(" ", 0, first + 1))]
            if not kept:
                raise InputError(
                    f"text {position}: the prompt has {len(ids) - len(places)} tokens around the "
                    f"text, and the model reads {max_length}; shorten the template"
                )
            ((ids, special, offsets, content),) = _encoded(tokenizer, prompt, [kept])
        words = words_of_tokens(offsets.tolist(), (~content).tolist(), text)
        outside = np.where(special, SPECIAL_WORD, FRAME_WORD)
        encodings.append(
            Encoding(
                text=text.string,
                token_ids=np.array(ids, dtype=np.int64),
                tokens=tuple(tokenizer.convert_ids_to_tokens(ids)),
                word_ids=np.where(content, words, outside),
                special_mask=~content,
                truncated=kept != text.string,
                offsets=offsets,
                written=text,
            )
        )
    return encodings


def _encoded(
    tokenizer: PreTrainedTokenizerFast, prompt: Prompt, strings: Sequence[str]
) -> Iterator[tuple[list[int], list[int], IntArray, BoolArray]]:
    """Yield ids, special tokens, offsets and tokens of the text, of each text in its prompt."""
    if not strings:
        return
    encoded = tokenizer(
        [prompt.around(string) for string in strings],
        add_special_tokens=prompt.special,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        verbose=False,
    )
    for position, string in enumerate(strings):
        ids = encoded["input_ids"][position]
        special = encoded["special_tokens_mask"][position]
        with_prompt = prompt.around(string)
        begin = len(prompt.prefix)
        end = begin + len(string)
        offsets = np.zeros((len(ids), 2), dtype=np.int64)
        content = np.zeros(len(ids), dtype=bool)
        for place, (start, stop) in enumerate(encoded["offset_mapping"][position]):
            if not special[place] and begin <= first_visible(with_prompt, start, stop) < end:
                content[place] = True
                offsets[place] = max(start, begin) - begin, min(stop, end) - begin
        yield ids, special, offsets, content


def label_tokens(
    tokenizer: PreTrainedTokenizerFast, prompt: Prompt, words: Mapping[str, str]
) -> list[int]:
    """Return the token that begins each class's word where it follows the prompt."""
    probes = [prompt.around(probe) for probe in _PROBES]
    encoded = tokenizer(
        probes, add_special_tokens=prompt.special, return_special_tokens_mask=True, verbose=False
    )
    before = encoded["input_ids"]
    if encoded["special_tokens_mask"][0][-1]:
        raise InputError(
            f"the tokenizer puts {tokenizer.convert_ids_to_tokens(before[0][-1])} behind every "
            "prompt, where the answer belongs; take one that puts nothing there"
        )
    tokens: list[int] = []
    for name, word in words.items():
        after = _ids(tokenizer, [text + word for text in probes], special=prompt.special)
        pairs = list(zip(after, before, strict=True))
        answers = [ids[len(alone) :] for ids, alone in pairs if ids[: len(alone)] == alone]
        if not any(answers):
            raise InputError(
                f"words.{name}: the tokenizer joins {word!r} to the end of the prompt "
                f"({prompt.suffix!r}); put the blank between them into the word, and none at the "
                "end of the template"
            )
        if len(answers) < len(pairs) or len({ids[0] for ids in answers}) > 1:
            raise InputError(
                f"words.{name}: the first token of {word!r} depends on the text; end the template "
                f"with words of its own behind {TEXT}, or with a mark"
            )
        first = answers[0][0]
        if first in tokens:
            raise InputError(
                f"words.{name}: {word!r} and the word of a class before it begin with the same "
                "token; take words that differ in their first"
            )
        if len(answers[0]) > 1:
            token = tokenizer.convert_ids_to_tokens(first)
            log.info("word %r of class %s counts by its first token, %r", word, name, token)
        tokens.append(first)
    return tokens


def absent_token(tokenizer: PreTrainedTokenizerFast, absent: str | None) -> int | None:
    """Return the token that replaces absent ones; None to leave it to the tokenizer."""
    (ids,) = _ids(tokenizer, [_ABSENT if absent is None else absent], special=False)
    if absent is not None and len(ids) != 1:
        raise InputError(f"absent: {absent!r} is {len(ids)} tokens of this tokenizer; give one")
    return ids[0] if len(ids) == 1 else None


def _ids(tokenizer: PreTrainedTokenizerFast, texts: list[str], *, special: bool) -> list[list[int]]:
    ids: list[list[int]] = tokenizer(texts, add_special_tokens=special, verbose=False)["input_ids"]
    return ids
