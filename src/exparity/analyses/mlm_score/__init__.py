"""Analysis mlm_score: what a tuned encoder still knows of language, text by text.

It is put below the original masked-language-model head (Wilming et al. 2024, fig. 5). The head
keeps its own output matrix, which in BERT is that of the original embeddings: tuning the embeddings
must show in what the encoder says, and not in what the head makes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from exparity.analyses import KEY, ExperimentView, Table, analysis
from exparity.analyses.mlm_score.section import findings
from exparity.artefacts.ids import Ids
from exparity.core.device import Machine, make_repeatable
from exparity.core.errors import InputError, require_known
from exparity.core.flags import Flag, Output, Range
from exparity.data.table import read_prepared, refuse_pairs, sample
from exparity.jobs.loop import run
from exparity.jobs.parts import Job
from exparity.quantities.inputs import checkpoint_ids, key_of, require_same_cell
from exparity.types import Encoding, Example, FloatArray

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from exparity.engine.kernels import LinearLayers

_TOKEN_BUDGET = {"cuda": 32768}
_PASSES = 30
"""Model passes per text, roughly: one a token."""

SampleSize = Annotated[int, Range(at_least=2)]


def _job_options(
    experiment: ExperimentView,
    ids: Ids,
    *,
    models: list[str] | None = None,
    max_examples: SampleSize | None = None,
) -> dict[str, object] | None:
    """Return the masked language model that a classifier was tuned from."""
    specs = {model: settings.spec for model, settings in experiment.models.items()}
    pretrained = [m for m, spec in specs.items() if spec.init == "pretrained" and not spec.predict]
    measured = models or pretrained
    if not measured:
        raise InputError(
            "analyses.mlm_score: no model starts from a pretrained checkpoint; leave it out"
        )
    for model in measured:
        problem = f"analyses.mlm_score.models: no '{model}' of a checkpoint here"
        require_known(model, pretrained, problem)
    if ids.model not in measured:
        return None
    spec = specs[ids.model]
    sample = {} if max_examples is None else {"max_examples": max_examples}
    return {**sample, "original": spec.checkpoint, "revision": spec.revision}


@analysis(
    "mlm_score",
    level="seed",
    reads=("data", "models"),
    writes={
        "mlm_scores": Table(
            *KEY,
            "n_words n_tokens: int64",
            "mlm_score log_likelihood: float64",
            keys=("example_id",),
        )
    },
    needs=("groups", "rationale"),
    display="Masked language model",
    runs_model=True,
    memory_mb=8000,
    minutes=240,
    job_options=_job_options,
    section=findings,
)
def mlm_score_cell(
    data: Path,
    checkpoint: Path,
    output: Output,
    *,
    original: Annotated[str, Flag(metavar="NAME")],
    revision: Annotated[str | None, Flag(metavar="COMMIT")] = None,
    max_examples: SampleSize | None = None,
    machine: Machine = Machine(),
) -> None:
    """Measure how well a tuned encoder, with its original head, predicts words off the rationale.

    Args:
        data: the data artefact.
        checkpoint: folder of the fine-tuned classifier.
        output: the mlm_scores artefact to write.
        original: masked language model, by Hub id or folder, that it was tuned from.
        revision: commit of the original on the Hub.
        max_examples: size of a deterministic sample of the test split; all if None.
        machine: where the models are run.

    Raises:
        InputError: the original has no such head, the data no rationales or pairs of texts, or the
            checkpoint is of another dataset.
    """
    make_repeatable(machine.threads)
    prepared = read_prepared(data, "test")
    refuse_pairs(prepared.examples, f"{data}: mlm_score")
    marked = [e for e in prepared.split("test") if e.rationale is not None]
    if not marked:
        raise InputError(
            f"{data}: no test example has a rationale, which says what words are not asked for"
        )
    chosen = sample(marked, max_examples)
    ids = checkpoint_ids(checkpoint)
    if not ids:
        raise InputError(f"{checkpoint}: names no cell; name a folder that finetune wrote")
    require_same_cell((data, {"dataset": prepared.dataset}), (checkpoint, ids))
    job = Job(
        output,
        "mlm_scores",
        ids,
        {"original": original, "revision": revision, "max_examples": max_examples},
        files=[data],
        checkpoint=checkpoint,
        sources=[Path(__file__)],
        passes=_PASSES,
        load=partial(load_masked_lm, checkpoint, original, revision, machine),
        doing="asking for masked words",
        facts=prepared.compared,
    )
    run(job, chosen, lambda rest: lambda part: (_rows(rest.model, part), {}))


def _rows(model: MaskedLanguageModel, examples: Sequence[Example]) -> list[dict[str, object]]:
    from exparity.engine.encoding import encode_texts
    from exparity.models.inputs import input_limit

    limit = input_limit(model.model, model.tokenizer)
    encodings = encode_texts(model.tokenizer, [example.words for example in examples], limit)
    mask_id = int(model.tokenizer.mask_token_id or 0)
    by_example = [
        questions(encoding, example.rationale or (), mask_id)
        for encoding, example in zip(encodings, examples, strict=True)
    ]
    answers = model.answers([question for masked in by_example for question in masked])
    ends = list(accumulate(map(len, by_example)))
    parts = np.split(answers, ends[:-1])
    rows = []
    for example, masked, logs in zip(examples, by_example, parts, strict=True):
        is_word = np.array([question.masks_word for question in masked], dtype=bool)
        is_token = np.array([question.target >= 0 for question in masked], dtype=bool)
        rows.append(
            {
                **key_of(example),
                "n_words": int(is_word.sum()),
                "n_tokens": int(is_token.sum()),
                "mlm_score": float(-logs[is_word, 0].sum()) if is_word.any() else np.nan,
                "log_likelihood": float(logs[is_token, 1].sum()) if is_token.any() else np.nan,
            }
        )
    return rows


class Question(NamedTuple):
    """A text with one token masked.

    Attributes:
        ids: its token ids.
        position: the masked token.
        target: the id that was there; −1 where the mask stands for a word of several tokens.
        masks_word: True if the mask stands for a whole word.
    """

    ids: tuple[int, ...]
    position: int
    target: int
    masks_word: bool


def questions(encoding: Encoding, rationale: Sequence[int], mask_id: int) -> list[Question]:
    """Mask each word outside the rationale, and each token of these words, one at a time."""
    ids = [int(i) for i in encoding.token_ids]
    masked = []
    for word in np.unique(encoding.word_ids[encoding.word_ids >= 0]):
        if rationale[word]:
            continue
        places = np.flatnonzero(encoding.word_ids == word).tolist()
        if len(places) > 1:
            rest = [i for at, i in enumerate(ids) if at > places[0] and at not in places]
            without_word = (*ids[: places[0]], mask_id, *rest)
            masked.append(Question(without_word, places[0], -1, masks_word=True))
        for place in places:
            without_token = (*ids[:place], mask_id, *ids[place + 1 :])
            is_word = len(places) == 1
            masked.append(Question(without_token, place, ids[place], masks_word=is_word))
    return masked


@dataclass(frozen=True)
class MaskedLanguageModel:
    """The original model with the encoder of a classifier that was fine-tuned from it.

    Attributes:
        model: the masked language model, with the tuned encoder in place.
        tokenizer: the tokenizer of both.
        device: where it runs.
        token_budget: padded tokens per batch.
        layers: its linear layers on a CPU; None on a GPU.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    device: torch.device
    token_budget: int
    layers: LinearLayers | None = None

    def answers(self, questions: Sequence[Question]) -> FloatArray:
        """Return (m, 2) log-probabilities: of the likeliest token, and of the one that was there.

        The second is NaN where a question has no target.
        """
        import torch
        from torch.nn.utils.rnn import pad_sequence

        from exparity.engine.batching import MemoryBound, in_batches

        answers = np.full((len(questions), 2), np.nan)
        padding = float(self.tokenizer.pad_token_id)

        def run(batch: list[int]) -> None:
            texts = [torch.tensor(questions[i].ids) for i in batch]
            ids = pad_sequence(texts, batch_first=True, padding_value=padding)
            mask = pad_sequence([torch.ones_like(text) for text in texts], batch_first=True)
            places = torch.tensor([questions[i].position for i in batch], device=self.device)
            targets = torch.tensor([questions[i].target for i in batch], device=self.device)
            at = torch.arange(len(batch), device=self.device)
            with torch.no_grad():
                logits = self.model(
                    input_ids=ids.to(self.device), attention_mask=mask.to(self.device)
                ).logits
                logs = torch.log_softmax(logits[at, places].double(), dim=-1)
            answers[batch, 0] = logs.max(dim=-1).values.cpu().numpy()
            target_logs = logs[at, targets.clamp(min=0)].cpu().numpy()
            answers[batch, 1] = np.where(targets.cpu().numpy() >= 0, target_logs, np.nan)

        lengths = [len(question.ids) for question in questions]
        # Texts of one length share a batch, so that a score has the same bits in any.
        exact = self.device.type == "cpu"
        memory = None if exact else MemoryBound(self.device)
        with self.layers.in_use() if self.layers else nullcontext():
            list(in_batches(lengths, self.token_budget, run, exact=exact, memory=memory))
        return answers

    def at_last_tokens(self, texts: list[list[int]]) -> list[FloatArray]:
        """Return the (2,) :meth:`answers` at the last token of each text of these ids."""
        places = [len(ids) - 1 for ids in texts]
        at_last = [
            Question(tuple(ids), place, ids[place], masks_word=False)
            for ids, place in zip(texts, places, strict=True)
        ]
        return list(self.answers(at_last))


def load_masked_lm(
    tuned: Path, original: str, revision: str | None, machine: Machine
) -> MaskedLanguageModel:
    """Put the encoder of a fine-tuned classifier below the head of the model it started from."""
    from transformers import AutoModelForMaskedLM

    from exparity.core.device import resolve_device
    from exparity.engine.kernels import layers_of
    from exparity.engine.steadiness import keeps_bits, warn_of_bits
    from exparity.models.checkpoints import (
        lacking_weights,
        load_config,
        load_model,
        load_tokenizer,
        load_weights,
    )
    from exparity.models.inputs import check_vocabulary, input_limit, input_table

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
    device = resolve_device(machine.device)
    budget = machine.token_budget or _TOKEN_BUDGET.get(device.type, 2048)
    model = model.to(device).eval()  # type: ignore[arg-type]
    layers = layers_of(model, device)
    loaded = MaskedLanguageModel(model, tokenizer, device, budget, layers)
    if layers is not None:
        size = len(input_table(str(tuned), classifier).weight)
        limit = input_limit(model, tokenizer)
        if not keeps_bits(model, layers, loaded.at_last_tokens, size, limit):
            warn_of_bits(model)
    return loaded
