"""Stage mlm_score: what a tuned encoder still knows of language, text by text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from exparity.artefacts.files import write_table
from exparity.core.device import make_repeatable
from exparity.core.errors import InputError
from exparity.core.flags import Device, Flag, Folder, Id, Output, Seed, TokenBudget
from exparity.core.progress import Progress
from exparity.data.table import read_prepared, sample
from exparity.interface import Encoding, Example
from exparity.jobs.parts import Job, Shard, open_parts
from exparity.stages._cell import checkpoint_ids, require_same_cell
from exparity.stages._masked_lm import MaskedLanguageModel, load_masked_lm, questions

_PASSES = 30
"""Model passes per text, roughly: one a token."""


def mlm_score_cell(
    data: Path,
    checkpoint: Folder,
    output: Output,
    *,
    original: Annotated[str, Flag(metavar="NAME")],
    revision: Annotated[str | None, Flag(metavar="COMMIT")] = None,
    model_id: Id | None = None,
    seed: Seed = 0,
    max_examples: int | None = None,
    device: Device = "auto",
    threads: int | None = None,
    token_budget: TokenBudget = None,
) -> None:
    """Ask a tuned encoder, through the original head, for the words outside the rationale.

    Args:
        data: the data artefact.
        checkpoint: folder of the fine-tuned classifier.
        output: the mlm_scores artefact to write.
        original: masked language model, by Hub id or folder, that it was tuned from.
        revision: commit of the original on the Hub.
        model_id: name of the model; by the folder of the checkpoint if None.
        seed: seed of the training run.
        max_examples: size of a deterministic sample of the test split; all if None.
        device: ``auto``, ``cpu`` or ``cuda:N``.
        threads: CPU threads of one operation; torch's choice if None.
        token_budget: padded tokens per batch; by device if None.

    Raises:
        InputError: the original has no such head, the data no rationales, or the checkpoint is of
            another dataset, model or seed.
    """
    start = time.monotonic()
    make_repeatable(threads)
    model_id = model_id or checkpoint.resolve().parent.name
    prepared = read_prepared(data, "test")
    marked = [e for e in prepared.split("test") if e.rationale is not None]
    if not marked:
        raise InputError(
            f"{data}: no test example has a rationale, which says what words are not asked for"
        )
    chosen = sample(marked, max_examples)
    require_same_cell(
        (data, {"dataset": prepared.dataset}),
        (checkpoint, checkpoint_ids(checkpoint)),
        ("--model-id and --seed", {"model": model_id, "seed": seed}),
    )
    job = Job(
        output,
        "mlm_scores",
        "mlm_score",
        {"dataset": prepared.dataset, "model": model_id, "seed": seed},
        {"original": original, "revision": revision, "max_examples": max_examples},
        files=[data],
        checkpoint=checkpoint,
        sources=[Path(__file__)],
    )
    with open_parts(job, chosen, _PASSES, Shard.parse("1/1")) as parts:
        if parts.finished:
            return
        model = load_masked_lm(checkpoint, original, revision, device, token_budget)
        todo = parts.todo
        with Progress(sum(map(len, todo.values())), "asking for masked words") as progress:
            for position, part in parts.each():
                parts.add(position, _rows(model, part))
                progress.advance(len(part))
        write_table(
            output,
            "mlm_scores",
            parts.table(),
            job.ids,
            stage=job.stage,
            parameters=job.parameters,
            device=str(model.device),
            seconds=time.monotonic() - start,
            extra={
                "groups": list(prepared.groups),
                "attribute": prepared.attribute,
                **parts.provenance,
                **parts.spent(),
            },
        )


def _encode(model: MaskedLanguageModel, examples: Sequence[Example]) -> list[Encoding]:
    from exparity.engine.encoding import encode_texts
    from exparity.models.checkpoints import input_limit

    limit = input_limit(model.model, model.tokenizer)
    return encode_texts(model.tokenizer, [example.words for example in examples], limit)


def _rows(model: MaskedLanguageModel, examples: Sequence[Example]) -> list[dict[str, Any]]:
    mask_id = int(model.tokenizer.mask_token_id or 0)
    asked = [
        questions(encoding, example.rationale or (), mask_id)
        for encoding, example in zip(_encode(model, examples), examples, strict=True)
    ]
    answers = model.answers([question for part in asked for question in part])
    ends = list(accumulate(map(len, asked)))
    rows = []
    for example, part, found in zip(examples, asked, np.split(answers, ends[:-1]), strict=True):
        of_word = np.array([question.of_word for question in part], dtype=bool)
        of_token = np.array([question.of_token for question in part], dtype=bool)
        rows.append(
            {
                "example_id": example.example_id,
                "group": example.group,
                "match_id": example.match_id,
                "n_words": int(of_word.sum()),
                "n_tokens": int(of_token.sum()),
                "mlm_score": float(-found[of_word, 0].sum()) if of_word.any() else np.nan,
                "log_likelihood": float(found[of_token, 1].sum()) if of_token.any() else np.nan,
            }
        )
    return rows
