"""Answers that a language model writes, one token after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from exparity.core.errors import ExparityError, InputError
from exparity.models.lookup import parameters_of, run_model
from exparity.models.placement import without_gradients
from exparity.models.prompts import follow_up, tokens_after

if TYPE_CHECKING:
    import torch

    from exparity.engine.classifier import Classifier
    from exparity.models.heads.label_words import LabelWords


def answers_to(
    classifier: Classifier,
    rows: Sequence[torch.Tensor],
    targets: Sequence[int],
    question: str,
    max_new_tokens: int,
) -> list[str]:
    """Ask a question after each prompt, as if its answer were the word of a class.

    The likeliest token is taken each time. A text is asked alone, so that its answer does not
    depend on others. In a chat, the answer is the whole message; else the first line of it that is
    not empty.

    Args:
        classifier: a prompted language model.
        rows: (t, h) input embeddings of each text in its prompt.
        targets: class of each text.
        question: what is asked.
        max_new_tokens: most tokens of an answer; fewer where the model reads no more.

    Raises:
        InputError: the classifier is no prompted language model, or a text leaves no room for the
            question and a token of the answer.
    """
    if classifier.head.prompt is None:
        raise InputError(
            "the classifier cannot write: only a prompted language model (head: label_words, or "
            "`prompt` and `words`) answers a question"
        )
    head = cast("LabelWords", classifier.head)
    tails: dict[int, list[int]] = {}
    answers = []
    for place, (text_rows, target) in enumerate(zip(rows, targets, strict=True)):
        if target not in tails:
            tails[target] = _tail(classifier, head, target, question)
        tail = tails[target]
        limit = min(max_new_tokens, _positions(classifier) - len(text_rows) - len(tail))
        if limit < 1:
            raise InputError(
                f"text {place}: with its prompt it has {len(text_rows)} tokens and the question "
                f"{len(tail)}, and the model reads {_positions(classifier)}; give shorter texts, a "
                "shorter template or a shorter question"
            )
        answers.append(_written(classifier, text_rows, tail, limit, lines=head.spec.chat))
    return answers


def _tail(classifier: Classifier, head: LabelWords, target: int, question: str) -> list[int]:
    """Return the tokens between a prompt and the answer to the question after it."""
    assert head.prompt is not None
    word = head.spec.words[classifier.class_names[target]]
    text = follow_up(head.spec, classifier.tokenizer, word, question)
    return tokens_after(classifier.tokenizer, head.prompt, text)


def _positions(classifier: Classifier) -> int:
    """Return how many tokens the model reads."""
    config = classifier.model.config.get_text_config()
    positions: int = getattr(config, "max_position_embeddings", None) or 1 << 30
    return positions


def _written(
    classifier: Classifier, rows: torch.Tensor, tail: list[int], limit: int, *, lines: bool
) -> str:
    """Return what the model writes, up to a token that ends it, or a line."""
    import torch

    model = classifier.model
    ends = _ends(classifier)
    embeddings = torch.cat([rows, classifier.embed(tail).to(rows.dtype)])[None]  # (1, t, h)
    option = "logits_to_keep"  # for the last position alone
    last_only = {option: 1} if option in parameters_of(type(model).forward) else {}
    new = embeddings
    past = None
    written: list[int] = []
    with classifier.evaluating(), without_gradients(model):
        while len(written) < limit:
            mask = torch.ones(embeddings.shape[:2], dtype=torch.long, device=embeddings.device)
            outputs = run_model(
                model,
                inputs_embeds=new,
                attention_mask=mask,
                past_key_values=past,
                use_cache=True,
                **last_only,
            )
            logits = outputs.logits[0, -1].float()
            if not logits.isfinite().all():
                raise ExparityError(
                    "the model writes from numbers that are not finite; use precision fp32"
                )
            token = int(logits.argmax())
            if token in ends:
                break
            written.append(token)
            if not lines and "\n" in _decoded(classifier, written).lstrip():
                break
            row = classifier.embed([token]).to(embeddings.dtype)[None]
            embeddings = torch.cat([embeddings, row], dim=1)
            past = getattr(outputs, "past_key_values", None)
            new = embeddings if past is None else row  # a model without a cache reads all again
    answer = _decoded(classifier, written).strip()
    return answer if lines else answer.partition("\n")[0].strip()


def _decoded(classifier: Classifier, token_ids: list[int]) -> str:
    return str(classifier.tokenizer.decode(token_ids, skip_special_tokens=True))


def _ends(classifier: Classifier) -> set[int]:
    """Return the tokens that end an answer."""
    settings = getattr(classifier.model, "generation_config", None)
    end_ids: int | list[int] | None = getattr(settings, "eos_token_id", None)
    several = end_ids if isinstance(end_ids, list) else [end_ids]
    ends = {*several, classifier.tokenizer.eos_token_id}
    return {int(token) for token in ends if token is not None}
