"""Tool generate: a dataset like GECO from sentences of the user's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated

import pyarrow as pa
import yaml
from pyarrow import parquet

from exparity.artefacts.files import atomic_path
from exparity.core.errors import InputError
from exparity.core.escaping import say
from exparity.core.flags import Flag, Id, Output, Params
from exparity.counterfactuals.sets import Changes, set_maker
from exparity.data.sentences import Sentence, read_sentences
from exparity.types import Example

Generated = list[tuple[Sentence, Example]]
"""Sentences, each with a member of its set."""
_SUFFIXES = (".jsonl", ".parquet")


def generate(
    sentences: Path,
    /,
    *,
    output: Output,
    use: Id = "gender_words",
    params: Params,
    groups: Annotated[Sequence[str], Flag(metavar="GROUP")] = (),
    changes: Changes = "all",
    text_column: Annotated[str, Flag("text", "COLUMN")] = "text",
    label_column: Annotated[str | None, Flag("label", "COLUMN")] = None,
    id_column: Annotated[str | None, Flag("id", "COLUMN")] = None,
) -> None:
    """Make matched sets from sentences of your own, with a text for each group, as in GECO.

    The class of a text is its group, and its rationale marks the words in which the texts of a set
    differ. Sentences in which no word tells the groups apart are left out and counted.

    Args:
        sentences: a text file (.txt) with a sentence a line, or a table.
        output: the table to write, .jsonl or .parquet, which the dataset ``table`` reads.
        use: id of the counterfactual generator, which has the option ``mode``.
        params: its options.
        groups: the groups, in the order that fixes the sign; those of the generator by default.
        changes: words that differ in a set: all that tell a group, or those of the subject, as far
            as a rule finds them.
        text_column: column of the sentence in a table.
        label_column: column of a class that all texts of a set keep; they then have no rationale,
            since the words that differ do not carry the class.
        id_column: column of the sentence's id in a table; the number of its row or line if None.

    Raises:
        InputError: sentences that cannot be read, a generator or option that does not fit, or no
            sentence with a word that tells the groups apart.
    """
    if output.suffix not in _SUFFIXES:
        raise InputError(f"--output: {output} must end with {' or '.join(_SUFFIXES)}")
    if output.resolve() == sentences.resolve():
        raise InputError(f"--output: {output} holds the sentences; name another file")
    make = set_maker(use, params, groups, changes)
    read, left_out = read_sentences(
        sentences, text_column=text_column, label_column=label_column, id_column=id_column
    )
    n_read = len(read) + left_out.total()
    generated: Generated = []
    earlier: set[tuple[str, ...]] = set()
    for sentence in read:
        members, reason = make(sentence.text)
        texts = tuple(member.text for member in members)
        if texts in earlier:
            reason = "with the texts of an earlier set"
        if reason:
            left_out[reason] += 1
            continue
        earlier.add(texts)
        generated.extend((sentence, member) for member in members)
    lines = [f"  {n:,} left out: {reason}" for reason, n in left_out.most_common()]
    if not generated:
        counts = "; ".join(line.strip() for line in lines) or "it is empty"
        raise InputError(f"{sentences}: no matched set can be made of its sentences ({counts})")
    _write(generated, output)
    n_texts = len(generated)
    n_sets = n_texts // len(make.groups)
    sets = f"  {n_sets:,} matched sets of {', '.join(make.groups)}: {n_texts:,} texts"
    say("\n".join([f"{sentences}: {n_read:,} sentences", sets, *lines]))
    if label_column is None:
        n_marked = fmean(sum(member.rationale or ()) for _, member in generated)
        n_words = fmean(len(member.words) for _, member in generated)
        say(f"  {n_marked:.2f} of {n_words:.2f} words marked in a text, on average")
    config = _config(output, make.groups, has_rationale=label_column is None)
    say(f"\nIn a config:\n\n{config}")


def _write(generated: Generated, output: Path) -> None:
    """Write the rows of texts by the suffix of the file's name."""
    rows: list[dict[str, object]] = []
    for sentence, member in generated:
        row = {
            "id": f"{sentence.sentence_id}-{member.group}",
            "match": sentence.sentence_id,
            "text": member.text,
            "label": sentence.label or member.group,
            "group": member.group,
        }
        rationale = {} if sentence.label else {"rationale": list(member.rationale or ())}
        rows.append({**row, **rationale})
    with atomic_path(output) as path:
        if output.suffix == ".parquet":
            parquet.write_table(pa.Table.from_pylist(rows), path)
            return
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _config(output: Path, groups: Sequence[str], *, has_rationale: bool) -> str:
    """Return the lines of a config that name the table."""
    options = {"use": "table", "path": str(output), "id": "id", "match": "match"}
    rationale = {"rationale": "rationale"} if has_rationale else {}
    datasets = {"generated": {**options, **rationale, "groups": list(groups)}}
    dumped: str = yaml.safe_dump({"datasets": datasets}, sort_keys=False, default_flow_style=None)
    return dumped.rstrip()
