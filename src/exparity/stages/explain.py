"""Stage explain: checkpoint and data to one attribution score per token."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from exparity.artefacts.files import read_artefact
from exparity.artefacts.ids import Ids
from exparity.artefacts.lineage import fingerprint, identity, sha256_of
from exparity.core import flags
from exparity.core.device import Inference
from exparity.core.errors import InputError
from exparity.core.plain import as_mapping, as_text
from exparity.core.validation import complete
from exparity.data.table import PreparedData, read_prepared, sample
from exparity.explanations import Explanation
from exparity.jobs.loop import Compute, Rest, load, run, work_shared
from exparity.jobs.parts import Job
from exparity.methods import METHODS, Training
from exparity.models.inputs import check_known
from exparity.quantities.inputs import Lookup, cell_of, checkpoint_ids, require_same_cell
from exparity.types import Encoding, Example, IntArray, Origin

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

log = logging.getLogger(__name__)

_PROBE = 8


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Choice of the test texts to explain, and of the class of each.

    Attributes:
        target: class to explain, the true or the predicted one.
        examples: examples to explain, all or those classified correctly.
        max_examples: size of a deterministic sample; all if None.
    """

    target: Literal["label", "predicted"] = "label"
    examples: Literal["all", "correct"] = "all"
    max_examples: int | None = None


def explain_cell(
    data: Path,
    checkpoint: flags.CheckpointWithManifest,
    predictions: Path,
    output: flags.Output,
    *,
    use: flags.Id,
    params: flags.Params,
    method_id: flags.Id | None = None,
    choice: Choice = Choice(),
    machine: Inference = Inference(),
) -> None:
    """Explain test texts with one method; random draws follow from the training's seed.

    A long job keeps finished parts in ``<output>.parts``; the next call with the same inputs,
    parameters and code continues from them.

    Args:
        data: the data artefact.
        checkpoint: folder of the classifier.
        predictions: its predictions artefact.
        output: the explanations artefact to write.
        use: method, as registered; see ``exparity list``.
        params: option of the method.
        method_id: name of the instance; as ``use`` if None.
        choice: texts and classes to explain.
        machine: where and how the model is run.

    Raises:
        InputError: bad options or artefacts that do not belong together.
        ExparityError: the preflight found that the job would go wrong.
    """
    method_id = method_id or use
    entry = METHODS.get(use)
    options = complete(METHODS.options(entry), params, f"method {method_id}")
    texts = ChosenTexts.read(data, checkpoint, predictions, choice)
    own_files = entry.input_files(options, f"method {method_id}")
    digests = {str(path): sha256_of(path) for path in own_files}
    job = Job(
        output,
        "explanations",
        Ids({**texts.ids, "method": method_id}),
        {"use": use, "params": options, **texts.choice, "precision": machine.precision},
        files=[data, predictions, *own_files],
        checkpoint=checkpoint,
        sources=[entry.source],
        passes=entry.facts.passes,
        load=partial(load, checkpoint, machine),
        doing=f"explaining with {method_id}",
        facts={"n_truncated": 0, "flags": texts.flags, **({"files": digests} if digests else {})},
    )
    run(job, texts.examples, partial(_explaining, job, texts))


@dataclass(frozen=True)
class ChosenTexts:
    """Test texts of a classifier, and the class of each that is explained.

    Attributes:
        path: the data artefact.
        data: its test split.
        examples: the texts.
        ids: dataset, model and seed; of stored explanations also the method.
        flags: those of the predictions, or of stored explanations.
        choice: the options by which texts and classes were chosen.
        classes: class to explain, by example; empty for stored explanations, which hold it.
    """

    path: Path
    data: PreparedData
    examples: Sequence[Example]
    ids: Ids
    flags: Sequence[str]
    choice: Mapping[str, object]
    classes: Mapping[str, int]

    @classmethod
    def read(cls, data: Path, checkpoint: Path, predictions: Path, choice: Choice) -> ChosenTexts:
        """Read the test split and what the classifier predicts for it, and choose texts."""
        prepared = read_prepared(data, "test")
        table, metadata = read_artefact(predictions, "predictions")
        ids = cell_of(metadata)
        require_same_cell(
            (data, {"dataset": prepared.dataset}),
            (predictions, ids),
            (checkpoint, checkpoint_ids(checkpoint)),
        )
        columns = (table.column(name).to_pylist() for name in ("example_id", "predicted"))
        predicted = Lookup[str, int](
            predictions, "prediction of example", zip(*columns, strict=True)
        )
        chosen: Sequence[Example] = prepared.examples
        if choice.examples == "correct":
            chosen = [e for e in chosen if predicted[e.example_id] == e.label]
            if not chosen:
                raise InputError(f"{predictions}: no test example is classified correctly")
        chosen = sample(chosen, choice.max_examples)
        by_label = choice.target == "label"
        classes = {e.example_id: e.label if by_label else predicted[e.example_id] for e in chosen}
        own_flags = metadata.flags
        return cls(data, prepared, chosen, ids, own_flags, asdict(choice), classes)

    def classes_of(self, part: Sequence[Example]) -> IntArray:
        """Return the (n,) class to explain of some of the texts."""
        return np.array([self.classes[example.example_id] for example in part])


def _explaining(job: Job, texts: ChosenTexts, rest: Rest) -> Compute:
    """Return the function that explains a part, with checks on the first texts."""
    from exparity.engine.preflight import check_attributions, check_function
    from exparity.methods import explain_encodings

    entry = METHODS.get(as_text(job.parameters["use"]))
    method = job.ids.method
    options = dict(as_mapping(job.parameters["params"]))
    seed = job.ids.seed
    training = _training(job.files[0], method) if entry.facts.needs_training else None
    classifier, chunks, untried = rest  # what earlier parts came from has passed
    encodings_of = checked_encoder(classifier, chunks)
    data = identity(texts.path)
    if chunks and untried and not entry.facts.model_free:
        ids = [encoding.token_ids for encoding in encodings_of(chunks[0])]
        check_function(classifier, ids, [e.pair or e.text for e in chunks[0]])

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, object]], dict[str, object]]:
        nonlocal untried
        encodings = encodings_of(part)
        classes = texts.classes_of(part)
        origins = [Origin(entry.id, options, seed, e.example_id) for e in part]
        raised: set[str] = set()
        examples = [example.example_id for example in part]
        explanations = explain_encodings(
            classifier,
            encodings,
            classes,
            origins,
            flags=raised,
            memo=work_shared(classifier, fingerprint(data, examples, classes.tolist())),
            training=training,
        )
        rows = [
            _row(example, explanation)
            for example, explanation in zip(part, explanations, strict=True)
        ]
        if untried:
            if not entry.facts.writes:  # an answer may name no word of its text
                check_attributions(method, [np.array(row["scores"]) for row in rows[:_PROBE]])
            if raised:
                log.warning("the scores of %s are flagged: %s", method, ", ".join(sorted(raised)))
            untried = False
        truncated = sum(encoding.truncated for encoding in encodings)
        return rows, {"n_truncated": truncated, "flags": sorted(raised.union(texts.flags))}

    return compute


def checked_encoder(
    classifier: Classifier, chunks: Sequence[Sequence[Example]]
) -> Callable[[Sequence[Example]], list[Encoding]]:
    """Return the encoder of a chunk, after a check of every text, so that bad ones come first."""
    from exparity.engine.preflight import unknown_tokens

    first: list[Encoding] = []
    cut = unknown = total = 0
    for position, chunk in enumerate(chunks):
        encodings = _encode(classifier, chunk)
        first = first if position else encodings
        cut += sum(encoding.truncated for encoding in encodings)
        chunk_unknown, chunk_total = unknown_tokens(classifier, encodings)
        unknown += chunk_unknown
        total += chunk_total
    check_known(classifier.tokenizer, unknown, total)
    if cut:
        n_texts = sum(map(len, chunks))
        message = "%d of %d texts are longer than %d tokens and were cut"
        log.warning(message, cut, n_texts, classifier.max_length)
    return lambda part: first if part is chunks[0] else _encode(classifier, part)


def _encode(classifier: Classifier, examples: Sequence[Example]) -> list[Encoding]:
    encoder = logging.getLogger("exparity.engine.encoding")
    level = encoder.level
    encoder.setLevel(logging.ERROR)  # checked_encoder counts the texts of all chunks that are cut
    try:
        return classifier.encode([example.parts for example in examples])
    except InputError as error:
        position, _, reason = str(error).removeprefix("text ").partition(": ")
        name = examples[int(position)].example_id
        raise InputError(f"example '{name}': {reason}") from None
    finally:
        encoder.setLevel(level)


def _training(data: Path, method_id: str) -> Training:
    """Read the training split, which few methods need."""
    examples = read_prepared(data, "train").examples
    if len(examples) < 2:
        raise InputError(
            f"{data}: method {method_id} works with the training split, which has "
            f"{len(examples)} examples; prepare the data with more"
        )
    return Training.of(([e.parts for e in examples], [e.label for e in examples]))


def _row(example: Example, explanation: Explanation) -> dict[str, object]:
    """Return the row of an explanation, with scores as the artefact holds them: in float32."""
    assert explanation.token_ids is not None
    assert explanation.word_ids is not None
    with np.errstate(over="ignore", under="ignore"):
        scores = explanation.scores.astype(np.float32).astype(np.float64)
    strays = explanation.scores[np.isinf(scores)]
    if strays.size:
        raise InputError(
            f"example '{example.example_id}': the score {strays[0]:g} overflows float32, the "
            "stored type; divide all scores by a constant"
        )
    written: dict[str, object] = {}
    if (answer := explanation.answer) is not None:
        written = {
            "answer": answer.text,
            "answer_words": answer.n_words,
            "named_words": answer.named,
            "foreign_words": answer.foreign,
        }
    return {
        "example_id": example.example_id,
        "target": explanation.target,
        "token_ids": explanation.token_ids.tolist(),
        "tokens": list(explanation.tokens),
        "word_ids": explanation.word_ids.tolist(),
        "scores": scores.tolist(),
        **written,
    }
