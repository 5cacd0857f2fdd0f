"""HateXplain (Mathew et al. 2021): posts, whom they speak of, and what annotators marked."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from exparity.core.errors import InputError, did_you_mean
from exparity.core.strict import read_yaml
from exparity.data import dataset
from exparity.data._rows import read_rows, words_in
from exparity.data.facts import Loaded, RemoteFile
from exparity.data.files import DataSource, with_digest
from exparity.types import Example, Split

log = logging.getLogger(__name__)

_COMMIT = "01d742279dac941981f53806154481c0e15ee686"
_URL = f"https://raw.githubusercontent.com/hate-alert/HateXplain/{_COMMIT}/Data"
POSTS = RemoteFile(
    path="hatexplain/dataset.json",
    url=f"{_URL}/dataset.json",
    sha256=None,
    can_be_pinned=True,
)
PARTS = RemoteFile(
    path="hatexplain/post_id_divisions.json",
    url=f"{_URL}/post_id_divisions.json",
    sha256="c2fb0d89862e7897b11ea3e9380753f15a793482b4b70ad0532dfb1212212835",
)
SIZES = {"train": 15_383, "val": 1_922, "test": 1_924}
LABELS = ("hatespeech", "normal", "offensive")
COMMUNITIES = ("African", "Islam", "Homosexual", "Jewish", "Women")
REST = "rest"
"""Group of the posts that are not most often said to be of one of the chosen communities."""
_NOBODY = "None"

Part = Literal["train", "val", "test"]
Marking = Literal["union", "majority"]


@dataset(
    "hatexplain",
    attribute="community",
    groups=(*COMMUNITIES, REST),
    labels=LABELS,
    matched=False,
    rationales=True,
    licence="MIT; CC BY 4.0",
    reference="Mathew et al. 2021, arXiv:2012.10289",
    files=(POSTS, PARTS),
    path_options=("train_texts",),
    group_option="groups",
    display="HateXplain",
    sizes=(SIZES["train"] + SIZES["val"], SIZES["test"]),
)
def hatexplain(
    source: DataSource,
    *,
    rationales: Marking = "union",
    groups: list[str] | tuple[()] | None = None,
    train: list[Part] | None = None,
    test: list[Part] | None = None,
    train_texts: str | None = None,
    sha256: Mapping[str, str] | None = None,
    verify: bool = True,
) -> Loaded:
    """Posts of Twitter and Gab: hateful, offensive or normal, by the community that they speak of.

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
        sha256: SHA-256 of ``dataset.json`` by that name, once you have compared it.
        verify: refuse files of other SHA-256 than expected.

    Returns:
        One example a post on whose label at least two annotators agree. Its group is the community
        that most of them named.
    """
    parts: dict[Split, Sequence[Part]] = {
        "train": train or (() if train_texts else ("train", "val")),
        "test": test or ("test",),
    }
    for part in parts["train"]:
        if part in parts["test"]:
            raise InputError(
                f"dataset hatexplain: part '{part}' is in both splits; name it in `train` or `test`"
            )
    path = source.find(with_digest(POSTS, sha256), verify=verify)
    divisions = source.find(PARTS, verify=verify)
    rows, ids = read_yaml(path), read_yaml(divisions)
    posts = [
        (split, post)
        for split, of_split in parts.items()
        for part in of_split
        for post in _posts(path, rows, divisions, ids, part)
    ]
    communities = tuple(COMMUNITIES if groups is None else groups)
    _check_communities(communities, {name for _, post in posts for name in post.named})
    undecided = sum(post.label is None for _, post in posts)
    if undecided:
        log.warning(
            "hatexplain: left out %d posts on whose label no two annotators agree", undecided
        )
    examples = [post.example(split, rationales, communities) for split, post in posts if post.label]
    if train_texts is not None:
        examples += _texts(Path(train_texts), REST if communities else "")
    if communities:
        return Loaded(examples, "community", (*communities, REST), LABELS)
    return Loaded(examples, "", (), LABELS)


@dataclass(frozen=True)
class _Post:
    """A post as it was annotated."""

    id: str
    words: tuple[str, ...]
    # name of the class that at least two annotators chose; None where they all differ
    label: str | None
    named: Mapping[str, int]  # how many annotators named each community
    # 0/1 per word, of each annotator who marked words; of a normal post there are none
    marks: Sequence[Sequence[int]]

    @property
    def first(self) -> Sequence[str]:
        """Communities that most annotators named: several of a tie, none where nobody is named."""
        most = max(self.named.values(), default=0)
        return [community for community, n in self.named.items() if n == most]

    def group(self, communities: Sequence[str]) -> str:
        """Return its group among the chosen communities."""
        if not communities:
            return ""
        return self.first[0] if len(self.first) == 1 and self.first[0] in communities else REST

    def rationale(self, kind: Marking) -> tuple[int, ...] | None:
        """Return 0/1 per word; None where nobody marked any."""
        if not self.marks:
            return None
        least = 1 if kind == "union" else len(self.marks) // 2 + 1
        return tuple(int(sum(of_word) >= least) for of_word in zip(*self.marks, strict=True))

    def example(self, split: Split, kind: Marking, communities: Sequence[str]) -> Example:
        """Return it as an example."""
        return Example(
            example_id=self.id,
            words=self.words,
            label=LABELS.index(str(self.label)),
            group=self.group(communities),
            split=split,
            rationale=self.rationale(kind),
        )


def _posts(path: Path, rows: Any, divisions: Path, ids: Any, part: Part) -> Iterator[_Post]:
    """Yield the posts of a published part."""
    own = ids.get(part) if isinstance(ids, dict) else None
    if not isinstance(own, list) or not all(isinstance(id, str) for id in own):
        raise InputError(f"{divisions}: must name the ids of part '{part}'; fetch it again")
    if not isinstance(rows, dict):
        raise InputError(f"{path}: must hold posts by id; fetch it again")
    missing = sum(id not in rows for id in own)
    if missing:
        raise InputError(
            f"{path}: lacks {missing:,} of the {len(own):,} posts of part '{part}'; get "
            f"{POSTS.url}, or name the parts that are there in `train` and `test`"
        )
    for id in own:
        yield _post(f"{path}: post '{id}'", id, rows[id])


def _post(where: str, id: str, row: Any) -> _Post:
    try:
        words, marks, annotators = row["post_tokens"], row["rationales"], row["annotators"]
        labels = Counter(annotator["label"] for annotator in annotators)
        named = Counter(
            community
            for annotator in annotators
            for community in dict.fromkeys(annotator["target"])
        )
        is_sound = (
            isinstance(words, list)
            and all(isinstance(word, str) and word.strip() for word in words)
            and labels.keys() <= set(LABELS)
            and all(len(of_one) == len(words) and set(of_one) <= {0, 1} for of_one in marks)
        )
        ((label, votes),) = labels.most_common(1)
    except (KeyError, TypeError, ValueError):
        is_sound = False
    if not is_sound:
        raise InputError(
            f"{where}: must have post_tokens, annotators with a label ({', '.join(LABELS)}) and a "
            "list of targets each, and rationales with a 0 or 1 per token; fetch the file again"
        )
    del named[_NOBODY]
    agreed = label if votes > 1 else None
    return _Post(id, tuple(word.strip() for word in words), agreed, named, marks)


def _check_communities(communities: Sequence[str], known: Collection[str]) -> None:
    for community in communities:
        if community not in known:
            hint = did_you_mean(community, sorted(known))
            raise InputError(f"dataset hatexplain: groups: no community '{community}'; {hint}")


def _texts(path: Path, group: str) -> Iterator[Example]:
    """Yield texts to train on, with nothing known but the label."""
    for number, (where, row) in enumerate(read_rows(path, ("text", "label")), start=1):
        if row["label"] not in LABELS:
            raise InputError(f"{where}: label must be one of {', '.join(LABELS)}")
        yield Example(
            example_id=f"text-{number:05d}",
            words=tuple(words_in(where, row, "text")),
            label=LABELS.index(row["label"]),
            group=group,
            split="train",
        )
