"""What models wrote to explain themselves: how much of it could be read, by group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from statistics import fmean

from exparity.artefacts.columns import records
from exparity.core.formats import joined
from exparity.core.grouping import grouped
from exparity.methods import METHODS
from exparity.report.gather import Study

WRITTEN = "self_explanations"
"""Name of their table and of their section."""


@dataclass(frozen=True)
class WrittenLine:
    """Answers of a model to the texts of a group, in all its trainings.

    Attributes:
        dataset, model, method: the cell.
        group: the group; empty where there are none.
        n_answers: answers.
        unread: share of them in which no word of the text can be read, which score 0.
        answer_words: mean number of words of an answer.
        named_words: mean number of different words of the text that an answer names.
        foreign_words: mean number of different words of it that are not in the text.
    """

    dataset: str
    model: str
    method: str
    group: str
    n_answers: int
    unread: float
    answer_words: float
    named_words: float
    foreign_words: float


@dataclass(frozen=True)
class _Counted:
    """Counts of an answer; see :class:`WrittenLine`."""

    example_id: str
    answer_words: int
    named_words: int
    foreign_words: int


def written_lines(study: Study) -> list[WrittenLine]:
    """Return what is known of the answers of each cell and group that has some."""
    writing = [method for method, use in study.methods.items() if METHODS.get(use).facts.writes]
    lines = []
    for dataset, model in study.pairs:
        for method in writing:
            counts: dict[str, list[_Counted]] = defaultdict(list)
            for seed in study.seeds:
                for group, counted in _answers(study, (dataset, model, seed), method):
                    counts[group].append(counted)
            ids = (dataset, model, method)
            groups = study.declared(dataset).parts
            lines += [_line(ids, group, counts[group]) for group in groups if group in counts]
    return lines


def _answers(
    study: Study, training: tuple[str, str, int], method: str
) -> Iterator[tuple[str, _Counted]]:
    """Yield the group of each text of a training, and what its answer has."""
    dataset, model, seed = training
    cell: dict[str, str | int] = {"dataset": dataset, "model": model, "seed": seed}
    names = [attribute.name for attribute in fields(_Counted)]
    table = study.columns("explanations", *names, **cell, method=method)
    examples = study.columns("predictions", "example_id", "group", **cell)
    if table is None or examples is None or not {*names} <= {*table.column_names}:
        return
    groups = dict(zip(*(column.to_pylist() for column in examples.columns), strict=True))
    for counted in records(_Counted, table):
        yield groups[counted.example_id], counted


def _line(ids: tuple[str, str, str], group: str, answers: Sequence[_Counted]) -> WrittenLine:
    return WrittenLine(
        *ids,
        group,
        len(answers),
        unread=fmean(not answer.named_words for answer in answers),
        answer_words=fmean(answer.answer_words for answer in answers),
        named_words=fmean(answer.named_words for answer in answers),
        foreign_words=fmean(answer.foreign_words for answer in answers),
    )


def unread_sentences(lines: Sequence[WrittenLine], study: Study) -> list[str]:
    """Return a sentence for each cell some of whose answers could not be read."""
    sentences = []
    cells = grouped(lines, lambda line: (line.dataset, line.model, line.method))
    for (dataset, model, method), answers in cells.items():
        if any(line.unread for line in answers):
            shares = joined([_share(line) for line in answers])
            sentences.append(
                f"{study.display('method', method)} on {study.place(dataset, model)}: no word of "
                f"the text can be read in {shares}; they score 0 and count."
            )
    return sentences


def _share(line: WrittenLine) -> str:
    texts = f" to {line.group} texts" if line.group else ""
    return f"{line.unread:.0%} of {line.n_answers:,} answers{texts}"
