"""Compare counterfactuals with sentences in both genders, word by word.

Usage: python benchmarks/counterfactuals.py [DATA_DIR] [--use ID] [--split test]

Prints how many of the words that differ come out as written, from male to female and back: first of
pairs of our own by kind of word, then, with DATA_DIR, of the published pairs of GECO, and of these
"her" by itself; how many of the words that do not differ are changed in GECO-ALL, where every
gendered word was to differ; and what comes out wrong, by word. At last, on the other texts of
DATA_DIR, how often "his" and "him" are themselves again after they were made "her". DATA_DIR holds
geco/, and may hold biasbios_sample/ and eraser_movies/.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from engine_tables import markdown

from exparity.counterfactuals import GENERATORS
from exparity.data.geco import read_geco
from exparity.data.table import PreparedData
from exparity.types import Example

GENDERS = ("male", "female")
OWN = Path(__file__).parents[1] / "tests" / "counterfactuals" / "sentence_pairs"
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
        kinds: of ``differing``, how many come out as published and how many there are, by kind.
    """

    differing: int = 0
    right: int = 0
    her: int = 0
    her_right: int = 0
    same: int = 0
    changed: int = 0
    wrong: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    kinds: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))

    def count(self, words: tuple[str, ...], made: tuple[str, ...], wanted: tuple[str, ...]) -> None:
        """Add the words of a sentence, as it was, as it came out and as it was published."""
        for word, came, published in zip(words, made, wanted, strict=True):
            if word == published:
                self.same += 1
                self.changed += came != word
                continue
            self.differing += 1
            self.right += came == published
            of_kind = self.kinds[kind_of(word, published)]
            of_kind[0] += came == published
            of_kind[1] += 1
            if word.lower() == "her" and published.lower() in ("his", "him"):
                self.her += 1
                self.her_right += came == published
            if came != published:
                self.wrong[word, published, came] += 1


def compare(folder: Path, split: str, use: str = "gender_words") -> dict[str, Agreement]:
    """Compare a generator with the pairs of a GECO folder, by the group that is made.

    Pairs whose sentences have different numbers of words are left out.
    """
    return agreements_of(pairs(folder / f"{split}.jsonl", split), use)


def agreements_of(sets: Iterable[dict[str, Example]], use: str) -> dict[str, Agreement]:
    """Make each sentence of a pair of the other, by the group that is made."""
    generator = GENERATORS.get(use)
    agreements = {group: Agreement() for group in GENDERS}
    for members in sets:
        for group, other in zip(GENDERS, GENDERS[::-1], strict=True):
            data = PreparedData("geco", (), GENDERS, GENDERS, "gender")
            made = generator.function(members[other], group, data)
            agreements[group].count(members[other].words, made.words, members[group].words)
    return agreements


def own_pairs(path: Path) -> Iterator[dict[str, Example]]:
    """Yield the sentence pairs of a file of our own, by group."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield {
                group: Example(path.stem, tuple(row[group].split()), 0, group, "test")
                for group in GENDERS
            }


def kind_of(word: str, partner: str) -> str:
    """Name the kind of a word that differs: a pronoun and what it becomes, a title, or a noun."""
    bare = [one.lower().strip('.,!?;()"').replace("’", "'") for one in (word, partner)]
    if bare[0].partition("'")[0] in ("he", "she"):
        return "he, she"
    if bare[0] in ("her", "him", "his", "hers", "himself", "herself"):
        return " → ".join(bare)
    return "titles" if bare[0] in ("mr.", "ms.", "mr", "ms", "sir", "dame", "madam") else "nouns"


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
    parser.add_argument("data_dir", type=Path, nargs="?")
    parser.add_argument("--use", default="gender_words", help="the generator")
    parser.add_argument("--split", default="test", choices=("train", "test"))
    arguments = parser.parse_args()
    print(markdown(rows_by_kind(arguments.use)))
    if arguments.data_dir is None:
        return
    print()
    rows: list[dict[str, object]] = []
    wrong: Counter[tuple[str, str, str]] = Counter()
    for name, folder in FOLDERS.items():
        place = arguments.data_dir / "geco" / folder
        for group, found in compare(place, arguments.split, arguments.use).items():
            row: dict[str, object] = {
                "data": name,
                "made": group,
                "as_published": share(found.right, found.differing),
            }
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


def rows_by_kind(use: str) -> list[dict[str, object]]:
    """Return how many words of our own pairs come out as written, by file and kind of word."""
    rows: list[dict[str, object]] = []
    for path in sorted(OWN.glob("*.tsv")):
        agreements = agreements_of(own_pairs(path), use)
        kinds = [kinds for one in agreements.values() for kinds in one.kinds.items()]
        for kind in dict.fromkeys(name for name, _ in kinds):
            right, there = (sum(n[i] for name, n in kinds if name == kind) for i in (0, 1))
            rows.append({"pairs": path.stem, "word": kind, "as_written": share(right, there)})
        for group, one in agreements.items():
            written = share(one.right, one.differing)
            rows.append({"pairs": path.stem, "word": f"all, to {group}", "as_written": written})
        changed = sum(one.changed for one in agreements.values())
        same = sum(one.same for one in agreements.values())
        rows.append(
            {"pairs": path.stem, "word": "not to change", "as_written": share(same - changed, same)}
        )
    return rows


def share(part: int, whole: int) -> str:
    """Write a share as counts and percent."""
    return f"{part} of {whole} ({part / whole:.1%})" if whole else ""


if __name__ == "__main__":
    main()
