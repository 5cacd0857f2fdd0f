"""Compare counterfactuals with the published pairs of GECO, word by word.

Usage: python benchmarks/counterfactuals.py DATA_DIR [--use ID] [--split test]

DATA_DIR holds geco/, and may hold biasbios_sample/ and eraser_movies/. Prints how many of the
words that differ between the two sentences of a pair come out as published, from male to female and
back, and of these "her" by itself; how many of the words that do not differ are changed in
GECO-ALL, where every gendered word was to differ; and what comes out wrong, by word. Then, on the
other texts, how often "his" and "him" are themselves again after they were made "her".
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from exparity.counterfactuals import GENERATORS
from exparity.data.geco import read_geco
from exparity.data.table import PreparedData
from exparity.interface import Example
from exparity.tools.bench import markdown

GENDERS = ("male", "female")
FOLDERS = {"GECO-ALL": "binary_gender_all", "GECO-SUBJ": "binary_gender_subj"}


@dataclass
class Agreement:
    """Words of one direction beside the published ones.

    Attributes:
        differing: words that differ between the sentences of a pair.
        right: those of them that come out as published.
        her: of ``differing``, the word "her" where it stands for his or him.
        her_right: those of them that come out as published.
        same: words that do not differ.
        changed: those of them that are changed.
        wrong: the published word and what comes out instead, of ``differing``.
    """

    differing: int = 0
    right: int = 0
    her: int = 0
    her_right: int = 0
    same: int = 0
    changed: int = 0
    wrong: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def count(self, words: tuple[str, ...], made: tuple[str, ...], wanted: tuple[str, ...]) -> None:
        """Add the words of a sentence, as it was, as it came out and as it was published."""
        for word, came, published in zip(words, made, wanted, strict=True):
            if word == published:
                self.same += 1
                self.changed += came != word
                continue
            self.differing += 1
            self.right += came == published
            if word.lower() == "her" and published.lower() in ("his", "him"):
                self.her += 1
                self.her_right += came == published
            if came != published:
                self.wrong[word, published, came] += 1


def compare(folder: Path, split: str, use: str = "gender_words") -> dict[str, Agreement]:
    """Compare a generator with the pairs of a GECO folder, by the group that is made.

    Pairs whose sentences have different numbers of words are left out.
    """
    generator = GENERATORS.get(use)
    agreements = {group: Agreement() for group in GENDERS}
    for members in pairs(folder / f"{split}.jsonl", split):
        for group, other in zip(GENDERS, GENDERS[::-1], strict=True):
            data = PreparedData("geco", (), GENDERS, GENDERS, "gender")
            made = generator.function(members[other], group, data)
            agreements[group].count(members[other].words, made.words, members[group].words)
    return agreements


def pairs(path: Path, split: str) -> Iterator[dict[str, Example]]:
    """Yield pairs with equally many words, by group."""
    sets: dict[str | None, dict[str, Example]] = defaultdict(dict)
    for example in read_geco(path, split):  # type: ignore[arg-type]
        sets[example.match_id][example.group] = example
    for members in sets.values():
        if len({len(member.words) for member in members.values()}) == 1:
            yield members


def other_texts(data_dir: Path) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the texts there are beside GECO, as words, by name."""
    biographies = data_dir / "biasbios_sample" / "bios.csv"
    if biographies.is_file():
        with biographies.open(encoding="utf-8", newline="") as file:
            yield "BiasBios sample", [row["hard_text"].split() for row in csv.DictReader(file)]
    if reviews := sorted((data_dir / "eraser_movies" / "docs").glob("*.txt")):
        yield "Movie reviews", [path.read_text(encoding="utf-8").split() for path in reviews]


def round_trips(texts: list[list[str]], use: str) -> dict[str, tuple[int, int]]:
    """Return how many of "his" and "him" there are, and how many survive being made female."""
    generator = GENERATORS.get(use)
    data = PreparedData("texts", (), GENDERS, GENDERS, "gender")
    kept, there = Counter[str](), Counter[str]()
    for words in texts:
        first = Example("text", tuple(words), 0, "male", "train")
        back = generator.function(generator.function(first, "female", data), "male", data)
        for word, again in zip(first.words, back.words, strict=True):
            if (bare := word.lower().strip(".,;:!?()\"'")) in ("his", "him"):
                there[bare] += 1
                kept[bare] += word == again
    return {word: (kept[word], there[word]) for word in ("his", "him")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--use", default="gender_words", help="the generator")
    parser.add_argument("--split", default="test", choices=("train", "test"))
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    wrong: Counter[tuple[str, str, str]] = Counter()
    for name, folder in FOLDERS.items():
        place = arguments.data_dir / "geco" / folder
        for group, found in compare(place, arguments.split, arguments.use).items():
            row = {"data": name, "made": group, "as_published": share(found.right, found.differing)}
            row["her"] = share(found.her_right, found.her)
            row["changed_beside"] = share(found.changed, found.same) if name == "GECO-ALL" else ""
            rows.append(row)
            wrong += found.wrong
    print(markdown(rows))
    print()
    columns = ("word", "published", "made", "times")
    table = [dict(zip(columns, (*words, n), strict=True)) for words, n in wrong.most_common()]
    print(markdown(table))
    print()
    trips = [
        {
            "data": name,
            **{f"{w}_again": share(*n) for w, n in round_trips(texts, arguments.use).items()},
        }
        for name, texts in other_texts(arguments.data_dir)
    ]
    if trips:
        print(markdown(trips))


def share(part: int, whole: int) -> str:
    """Write a share as counts and percent."""
    return f"{part} of {whole} ({part / whole:.1%})" if whole else ""


if __name__ == "__main__":
    main()
