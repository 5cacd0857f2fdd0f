"""Analysis mlm_score: what a tuned encoder still knows of language, text by text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from exparity.analyses import KEY, ExperimentView, Table, analysis
from exparity.analyses.mlm_score._masked_lm import MaskedLanguageModel, load_masked_lm, questions
from exparity.analyses.mlm_score.section import findings
from exparity.core.device import Machine, make_repeatable
from exparity.core.errors import InputError, did_you_mean
from exparity.core.flags import Flag, Output, Range
from exparity.data.table import read_prepared, refuse_pairs, sample
from exparity.jobs.loop import run
from exparity.jobs.parts import Job
from exparity.stages.cell import checkpoint_ids, key_of, require_same_cell
from exparity.types import Example

_PASSES = 30
"""Model passes per text, roughly: one a token."""

SampleSize = Annotated[int, Range(at_least=2)]


def _job_options(
    experiment: ExperimentView,
    ids: Mapping[str, Any],
    *,
    models: list[str] | None = None,
    max_examples: SampleSize | None = None,
) -> dict[str, Any] | None:
    """Return the masked language model that a classifier was tuned from."""
    specs = experiment.specs
    pretrained = [m for m, spec in specs.items() if spec.init == "pretrained" and not spec.predict]
    asked = models or pretrained
    if not asked:
        raise InputError(
            "analyses.mlm_score: no model starts from a pretrained checkpoint; leave it out"
        )
    for model in (one for one in asked if one not in pretrained):
        raise InputError(
            f"analyses.mlm_score.models: no '{model}' of a checkpoint here; "
            f"{did_you_mean(model, pretrained)}"
        )
    if ids["model"] not in asked:
        return None
    spec = specs[ids["model"]]
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
    """Ask a tuned encoder, through the original head, for the words outside the rationale.

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
        load=partial(
            load_masked_lm, checkpoint, original, revision, machine.device, machine.token_budget
        ),
        doing="asking for masked words",
        known=prepared.compared,
    )
    run(job, chosen, lambda model, chunks, afresh: lambda part: (_rows(model, part), {}))


def _rows(model: MaskedLanguageModel, examples: Sequence[Example]) -> list[dict[str, Any]]:
    from exparity.engine.encoding import encode_texts
    from exparity.models.inputs import input_limit

    limit = input_limit(model.model, model.tokenizer)
    encodings = encode_texts(model.tokenizer, [example.words for example in examples], limit)
    mask_id = int(model.tokenizer.mask_token_id or 0)
    asked = [
        questions(encoding, example.rationale or (), mask_id)
        for encoding, example in zip(encodings, examples, strict=True)
    ]
    answers = model.answers([question for part in asked for question in part])
    ends = list(accumulate(map(len, asked)))
    rows = []
    for example, part, logs in zip(examples, asked, np.split(answers, ends[:-1]), strict=True):
        of_word = np.array([question.of_word for question in part], dtype=bool)
        of_token = np.array([question.target >= 0 for question in part], dtype=bool)
        rows.append(
            {
                **key_of(example),
                "n_words": int(of_word.sum()),
                "n_tokens": int(of_token.sum()),
                "mlm_score": float(-logs[of_word, 0].sum()) if of_word.any() else np.nan,
                "log_likelihood": float(logs[of_token, 1].sum()) if of_token.any() else np.nan,
            }
        )
    return rows
