"""Movie reviews of ERASER (DeYoung et al. 2020, after Zaidan et al. 2007) with marked evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from exparity.core.errors import InputError
from exparity.data import dataset
from exparity.data.facts import RemoteFile
from exparity.data.files import DataSource, published_parts, read_jsonl, require_size
from exparity.types import Example, Split

_DIGESTS = {
    "train": "48333b014badb23e158824f73011fb28340d147bbac217caad3392a17f85c282",
    "val": "50f0d914b3bde03b3f793304e104858afe912762488683035aba90e3df8b797d",
    "test": "40c0e4c095d6d1dc3bbf952515f7e68fe54ebf4d25400c9b656ee86c4f0e3a6f",
}
FILES = {
    part: RemoteFile(
        path=f"eraser_movies/{part}.jsonl",
        url="https://www.eraserbenchmark.com/zipped/movies.tar.gz",
        sha256=digest,
        member=f"movies/{part}.jsonl",
        can_be_pinned=True,
        by_hand="with its folder docs of 2,000 reviews (unpack it with `tar xzf`)",
    )
    for part, digest in _DIGESTS.items()
}
SIZES = {"train": 1_600, "val": 200, "test": 199}
LABELS = ("negative", "positive")
_CLASSES = ("NEG", "POS")


@dataset(
    "movie_reviews",
    attribute="",
    groups=(),
    labels=LABELS,
    matched=False,
    rationales=True,
    licence="none stated; research use",
    reference="DeYoung et al. 2020, doi:10.18653/v1/2020.acl-main.408; Zaidan et al. 2007",
    files=tuple(FILES.values()),
    display="Movie reviews",
    sizes=(SIZES["train"] + SIZES["val"], SIZES["test"]),
)
def movie_reviews(
    source: DataSource,
    *,
    dev: bool = True,
    verify: bool = True,
    sha256: Mapping[str, str] | None = None,
) -> list[Example]:
    """Long film reviews with the passages marked that tell a negative from a positive one.

    Args:
        source: where the raw files lie.
        dev: train on the validation part too; training holds out a share by itself.
        verify: refuse files of other SHA-256 or numbers of reviews than expected.
        sha256: SHA-256 of files of yours by their names, such as ``train.jsonl``, once you have
            compared them.

    Returns:
        One example a review, of no group. A word is of the rationale where it is of any evidence.
    """
    examples: list[Example] = []
    for part, split, path in published_parts(
        source, FILES, verify=verify, sha256=sha256, held_out=dev
    ):
        reviews = list(_reviews(path, split))
        if verify:
            require_size(path, len(reviews), SIZES[part])
        examples += reviews
    return examples


def _reviews(path: Path, split: Split) -> Iterator[Example]:
    """Yield the reviews of a published part."""
    for number, row in read_jsonl(path):
        where = f"{path}:{number}"
        id, label = row.get("annotation_id"), row.get("classification")
        if not isinstance(id, str) or Path(id).name != id or label not in _CLASSES:
            raise InputError(
                f"{where}: must have an annotation_id that names a file of {path.parent / 'docs'}, "
                f"and a classification that is one of {', '.join(_CLASSES)}"
            )
        document = path.parent / "docs" / id
        try:
            words = document.read_text(encoding="utf-8").split()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{document}: cannot be read as text ({type(error).__name__}), and {where} is of "
                f"it; unpack it from {FILES['train'].url}"
            ) from None
        yield Example(
            example_id=id.removesuffix(".txt"),
            words=tuple(words),
            label=_CLASSES.index(label),
            group="",
            split=split,
            rationale=_rationale(where, id, words, row.get("evidences")),
        )


def _rationale(where: str, id: str, words: Sequence[str], evidences: Any) -> tuple[int, ...] | None:
    """Mark the words of all evidence; None where there is none."""
    marks = [0] * len(words)
    try:
        spans = [
            (one["docid"], int(one["start_token"]), int(one["end_token"]), one["text"].split())
            for together in evidences
            for one in together
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(
            f"{where}: evidences must be lists of docid, start_token, end_token and text"
        ) from None
    for document, start, stop, text in spans:
        if document != id or start < 0 or words[start:stop] != text:
            raise InputError(
                f"{where}: its evidence at tokens {start} to {stop} is not in docs/{document}; get "
                f"all of {FILES['train'].url} again"
            )
        marks[start:stop] = [1] * len(text)
    return tuple(marks) if spans else None
