"""Movie reviews of ERASER (DeYoung et al. 2020, after Zaidan et al. 2007) with marked evidence."""

from __future__ import annotations

from operator import itemgetter

from exparity.data import dataset
from exparity.data._known import known_facts, known_files
from exparity.data.files import DataSource, read_jsonl, read_published, split_of
from exparity.types import Example, Row

FILES = known_files("movie_reviews")
_CLASSES = ("NEG", "POS")
_PLACE_AND_TEXT = itemgetter("start_token", "end_token", "text")
"""Of an evidence: its first token, the one after its last, and its text."""


@dataset("movie_reviews", **known_facts("movie_reviews"))
def movie_reviews(source: DataSource, *, verify: bool = True) -> list[Example]:
    """Long film reviews with the passages marked that tell a negative from a positive one.

    Args:
        source: where the raw files lie.
        verify: refuse files whose SHA-256 is not the one expected.

    Returns:
        One example a review, of no group. A word is of the rationale where it is of any evidence.
    """

    def example_of(row: Row, part: str, number: int) -> Example:
        document = source.folder / "eraser_movies" / "docs" / row["annotation_id"]
        words = document.read_text(encoding="utf-8").split()
        spans = [evidence for together in row["evidences"] for evidence in together]
        marks = [0] * len(words)
        for span in spans:
            start, stop, text = _PLACE_AND_TEXT(span)
            evidence = text.split()
            if words[start:stop] != evidence:
                where = f"tokens {start} to {stop} of docs/{span['docid']}"
                raise ValueError(f"{where} are not its text")
            marks[start:stop] = [1] * len(evidence)
        return Example(
            example_id=document.stem,
            words=tuple(words),
            label=_CLASSES.index(row["classification"]),
            group="",
            split=split_of(part),
            rationale=tuple(marks) if spans else None,
        )

    return read_published(source, FILES, read_jsonl, example_of, verify=verify)
