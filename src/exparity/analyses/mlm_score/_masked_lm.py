"""A fine-tuned encoder below the original masked-language-model head (Wilming et al. 2024, fig. 5).

The head keeps its own output matrix, which in BERT is that of the original embeddings: tuning the
embeddings must show in what the encoder says, and not in what the head makes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exparity.core.errors import InputError
from exparity.types import Encoding, FloatArray

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_TOKEN_BUDGET = {"cuda": 32768}


class Question(NamedTuple):
    """A text with one token masked.

    Attributes:
        ids: its token ids.
        position: the masked token.
        target: the id that was there; −1 where the mask stands for a word of several tokens.
        of_word: True if the mask stands for a whole word.
    """

    ids: tuple[int, ...]
    position: int
    target: int
    of_word: bool


def questions(encoding: Encoding, rationale: Sequence[int], mask_id: int) -> list[Question]:
    """Mask each word outside the rationale, and each token of these words, one at a time."""
    ids = [int(i) for i in encoding.token_ids]
    asked = []
    for word in np.unique(encoding.word_ids[encoding.word_ids >= 0]):
        if rationale[word]:
            continue
        places = np.flatnonzero(encoding.word_ids == word).tolist()
        if len(places) > 1:
            rest = [i for at, i in enumerate(ids) if at > places[0] and at not in places]
            whole = (*ids[: places[0]], mask_id, *rest)
            asked.append(Question(whole, places[0], -1, of_word=True))
        for place in places:
            masked = (*ids[:place], mask_id, *ids[place + 1 :])
            asked.append(Question(masked, place, ids[place], of_word=len(places) == 1))
    return asked


@dataclass(frozen=True)
class MaskedLanguageModel:
    """The original model with the encoder of a classifier that was fine-tuned from it.

    Attributes:
        model: the masked language model, with the tuned encoder in place.
        tokenizer: the tokenizer of both.
        device: where it runs.
        token_budget: padded tokens per batch.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    device: torch.device
    token_budget: int

    def answers(self, asked: Sequence[Question]) -> FloatArray:
        """Return (m, 2) log-probabilities: of the likeliest token, and of the one that was there.

        The second is NaN where a question has no target.
        """
        import torch
        from torch.nn.utils.rnn import pad_sequence

        from exparity.engine.batching import MemoryBound, in_batches

        answers = np.full((len(asked), 2), np.nan)
        padding = float(self.tokenizer.pad_token_id)

        def run(batch: list[int]) -> None:
            texts = [torch.tensor(asked[i].ids) for i in batch]
            ids = pad_sequence(texts, batch_first=True, padding_value=padding)
            mask = pad_sequence([torch.ones_like(text) for text in texts], batch_first=True)
            places, targets = (
                torch.tensor([getattr(asked[i], name) for i in batch], device=self.device)
                for name in ("position", "target")
            )
            at = torch.arange(len(batch), device=self.device)
            with torch.no_grad():
                logits = self.model(
                    input_ids=ids.to(self.device), attention_mask=mask.to(self.device)
                ).logits
                logs = torch.log_softmax(logits[at, places].double(), dim=-1)
            answers[batch, 0] = logs.max(dim=-1).values.cpu().numpy()
            of_targets = logs[at, targets.clamp(min=0)].cpu().numpy()
            answers[batch, 1] = np.where(targets.cpu().numpy() >= 0, of_targets, np.nan)

        lengths = [len(question.ids) for question in asked]
        # Texts of one length share a batch, so that a score has the same bits in any.
        exact = self.device.type == "cpu"
        memory = None if exact else MemoryBound(self.device)
        list(in_batches(lengths, self.token_budget, run, exact=exact, memory=memory))
        return answers


def load_masked_lm(
    tuned: Path,
    original: str,
    revision: str | None,
    device: str,
    token_budget: int | None = None,
) -> MaskedLanguageModel:
    """Put the encoder of a fine-tuned classifier below the head of the model it started from."""
    from transformers import AutoModelForMaskedLM

    from exparity.core.device import resolve_device
    from exparity.models.checkpoints import (
        lacking_weights,
        load_config,
        load_model,
        load_tokenizer,
        load_weights,
    )
    from exparity.models.inputs import check_vocabulary

    config = load_config(original, revision)
    model, new = load_weights(AutoModelForMaskedLM, original, revision, config=config)
    prefix = model.base_model_prefix
    if any(not weight.startswith(f"{prefix}.") for weight in new):
        raise InputError(
            f"checkpoint {original}: has no masked-language-model head; leave its models out of "
            "analyses.mlm_score.models"
        )
    if new:
        raise lacking_weights(original, new)
    classifier = load_model(str(tuned))
    sizes = [m.get_input_embeddings().weight.shape for m in (model, classifier)]
    if classifier.base_model_prefix != prefix or sizes[0] != sizes[1]:
        raise InputError(
            f"{tuned}: its encoder does not fit the head of {original}; was it fine-tuned from it?"
        )
    setattr(model, prefix, classifier.base_model)
    tokenizer = load_tokenizer(str(tuned))
    check_vocabulary(str(tuned), classifier, tokenizer)
    place = resolve_device(device)
    budget = token_budget or _TOKEN_BUDGET.get(place.type, 2048)
    model = model.to(place).eval()  # type: ignore[arg-type]
    return MaskedLanguageModel(model, tokenizer, place, budget)
