"""HateXplain (Mathew et al. 2021): posts with their communities and marked words."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from exparity.artefacts.columns import records
from exparity.core.errors import InputError
from exparity.core.plain import as_texts
from exparity.core.strict import read_yaml
from exparity.data import dataset
from exparity.data._known import known_facts, known_files, known_labels
from exparity.data._rows import read_rows, words_in
from exparity.data.facts import Loaded
from exparity.data.files import DataSource, published_row
from exparity.types import Example, Split

log = logging.getLogger(__name__)

POSTS, PARTS = known_files("hatexplain").values()
_FACTS = known_facts("hatexplain")
LABELS = known_labels("hatexplain")
# The rest: posts where no chosen community is named most often.
_GROUPS = tuple(as_texts(_FACTS["groups"]))
COMMUNITIES = _GROUPS[:-1]
REST = _GROUPS[-1]
Part = Literal["train", "val", "test"]
Marking = Literal["union", "majority"]


@dataset("hatexplain", **_FACTS, path_options=("train_texts",), group_option="groups")
def hatexplain(
    source: DataSource,
    *,
    rationales: Marking = "union",
    groups: list[str] | tuple[()] | None = None,
    train: list[Part] | None = None,
    test: list[Part] | None = None,
    train_texts: str | None = None,
    verify: bool = True,
) -> Loaded:
    """Posts of Twitter and Gab that are hateful, offensive or normal, by targeted community.

    Args:
        source: where the raw files lie or go.
        rationales: a word is of the rationale where any annotator marked it (``union``), or where
            more than half of those who marked words did.
        groups: communities, in the order that fixes the sign; the group ``rest`` comes after them.
            The five that test posts speak of most if None.
        train: published parts to train on: ``train`` and ``val`` if None, none of them where there
            are ``train_texts``.
        test: published parts to test on; ``test`` if None.
        train_texts: a table of further texts to train on, with the columns ``text`` and ``label``.
        verify: refuse ``dataset.json``, whose published SHA-256 is not known, and an altered
            division into parts; set it to false once you have compared both files.

    Returns:
        One example a post on whose label at least two annotators agree. Its group is the community
        that most of them named.
    """
    parts: dict[Split, Sequence[Part]] = {
        "train": train or (() if train_texts else ("train", "val")),
        "test": test or ("test",),
    }
    path = source.find(POSTS, verify=verify)
    divisions = source.find(PARTS, verify=verify)
    posts = read_yaml(path)
    ids = read_yaml(divisions)
    communities = tuple(COMMUNITIES if groups is None else groups)
    candidates: list[Example | None] = []
    for split, part in [(split, part) for split, named in parts.items() for part in named]:
        with published_row(f"{divisions}, part '{part}'"):
            ids_of_part = list(ids[part])
        if missing := sum(post not in posts for post in ids_of_part):
            raise InputError(
                f"{path}: lacks {missing:,} of the {len(ids_of_part):,} posts of part '{part}'; "
                f"get {POSTS.url}, or name the parts that are there in `train` and `test`"
            )
        for post in ids_of_part:
            with published_row(f"{path}: post '{post}'"):
                (row,) = records(_Post, [posts[post]])
                candidates.append(_example(post, row, split, rationales, communities))
    examples = [example for example in candidates if example is not None]
    if undecided := len(candidates) - len(examples):
        log.warning(
            "hatexplain: left out %d posts on whose label no two annotators agree", undecided
        )
    if train_texts is not None:
        examples += _texts(Path(train_texts), REST if communities else "")
    if communities:
        return Loaded(examples, "community", (*communities, REST), LABELS)
    return Loaded(examples, "", (), LABELS)


@dataclass(frozen=True)
class _Annotation:
    """What an annotator says of a post."""

    label: str
    target: list[str]


@dataclass(frozen=True)
class _Post:
    """A post of the published file."""

    annotators: list[dict[str, object]]
    rationales: list[list[int]]
    post_tokens: list[str]


def _example(
    post: str, row: _Post, split: Split, kind: Marking, communities: Sequence[str]
) -> Example | None:
    """Return a post as an example; None where all annotators differ on its label.

    Its group is the chosen community that most of them name, or that of all others.
    """
    annotators = records(_Annotation, row.annotators)
    label, votes = Counter(annotator.label for annotator in annotators).most_common(1)[0]
    if votes < 2:
        return None
    named = Counter(name for annotator in annotators for name in set(annotator.target))
    del named["None"]
    most = max(named.values(), default=0)
    first = [community for community, n in named.items() if n == most]
    group = first[0] if len(first) == 1 and first[0] in communities else REST
    marks = row.rationales
    least = 1 if kind == "union" else len(marks) // 2 + 1
    rationale = tuple(int(sum(word_marks) >= least) for word_marks in zip(*marks, strict=True))
    return Example(
        example_id=post,
        words=tuple(word.strip() for word in row.post_tokens),
        label=LABELS.index(label),
        group=group if communities else "",
        split=split,
        rationale=rationale if marks else None,  # None where nobody marked any
    )


def _texts(path: Path, group: str) -> Iterator[Example]:
    """Yield texts to train on; only their label is known."""
    for number, (where, row) in enumerate(read_rows(path, ("text", "label")), start=1):
        label = row["label"]
        if label not in LABELS:
            raise InputError(f"{where}: label must be one of {', '.join(LABELS)}")
        yield Example(
            example_id=f"text-{number:05d}",
            words=tuple(words_in(where, row, "text")),
            label=LABELS.index(label),
            group=group,
            split="train",
        )
