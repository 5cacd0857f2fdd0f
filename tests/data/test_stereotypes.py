"""Stereotypes: what the shipped sentences promise, and what their reader refuses."""

import json
import re
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from exparity.core.errors import InputError
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.stereotypes import DIGESTS, read_pairs
from exparity.resources import resource

NOWHERE = DataSource(Path("nowhere"), download=False)
FOLDER = resource("stereotypes")

# Written apart from the data, so that a word that nobody swapped is found.
GENDERED = re.findall(
    r"\S+",
    """
    he him his himself she her hers herself man men woman women boy boys girl girls schoolboy
    schoolboys schoolgirl schoolgirls male males female females masculine feminine manly womanly
    lad lads lass lasses guy guys gentleman gentlemen lady ladies sir madam mr mrs
    father fathers mother mothers dad dads daddy mum mums mummy fatherhood motherhood fatherly
    motherly son sons daughter daughters brother brothers sister sisters uncle uncles aunt aunts
    nephew nephews niece nieces grandfather grandfathers grandmother grandmothers grandpa grandma
    grandson grandsons granddaughter granddaughters stepfather stepmother stepson stepdaughter
    godfather godmother husband husbands wife wives housewife housewives widow widows widower
    bachelor bachelors spinster groom grooms bride brides bridesmaid groomsman boyfriend
    boyfriends girlfriend girlfriends king kings queen queens prince princes princess princesses
    lord lords countess duke duchess baron baroness waiter waiters waitress waitresses actor
    actors actress actresses hero heroes heroine heroines hosts hostess hostesses landlord
    landlords landlady headmaster headmistress schoolmaster steward stewardess heir heiress
    witch wizard nun monk maid master mistress midwife host
    """,
)
GENDERED_PART = re.compile(r"(?:man|men|woman|women|in-law)$")
NOT_GENDERED = {"specimen", "human", "humans", "german", "omen", "women's"}


@pytest.fixture(scope="module")
def examples():
    return load_dataset("stereotypes", NOWHERE)


@pytest.fixture(scope="module")
def pairs(examples):
    """(male, female) by pair id."""
    found = defaultdict(dict)
    for example in examples:
        found[example.match_id][example.group] = example
    return {key: (pair["male"], pair["female"]) for key, pair in sorted(found.items())}


def neutral(example):
    """The words of a pair without what tells its gender."""
    marks = zip(example.words, example.rationale, strict=True)
    return ["_" if mark else word.lower() for word, mark in marks]


def share_female(pairs, of):
    """How many pairs have a feature, and in what share of them women are the target."""
    seen, female = Counter(), Counter()
    for male, _ in pairs.values():
        for feature in of(male):
            seen[feature] += 1
            female[feature] += male.attributes["target"] == "female"
    return {feature: (n, female[feature] / n) for feature, n in seen.items()}


class TestCounts:
    def test_pairs_and_splits(self, examples, pairs):
        assert len(examples) == 3350
        assert len(pairs) == 1675
        assert Counter((e.split, e.group, e.label) for e in examples) == {
            ("train", "male", 0): 670,
            ("train", "male", 1): 670,
            ("train", "female", 0): 670,
            ("train", "female", 1): 670,
            ("test", "male", 0): 168,
            ("test", "male", 1): 167,
            ("test", "female", 0): 167,
            ("test", "female", 1): 168,
        }

    def test_the_card_says_what_is_there(self, pairs):
        card = (FOLDER / "README.md").read_text(encoding="utf-8")
        for number in ("1,675", "3,350", "472", "29", "838", "837", "1,340", "335"):
            assert re.search(rf"(?<![\d,.]){re.escape(number)}(?![\d,])", card), number
        for family in {male.attributes["family"] for male, _ in pairs.values()}:
            assert family in card


class TestPairs:
    def test_the_sentences_differ_at_the_rationale_and_nowhere_else(self, pairs):
        for male, female in pairs.values():
            differ = tuple(int(a != b) for a, b in zip(male.words, female.words, strict=True))
            assert male.rationale == female.rationale == differ
            assert any(differ)

    def test_one_is_a_stereotype_and_its_target_says_which(self, pairs):
        for male, female in pairs.values():
            assert male.label + female.label == 1
            assert male.attributes == female.attributes
            assert (male.attributes["target"] == "male") == bool(male.label)
            assert male.split == female.split

    def test_no_sentence_occurs_twice(self, examples, pairs):
        assert len({e.text.lower() for e in examples}) == len(examples)
        assert len({" ".join(neutral(male)) for male, _ in pairs.values()}) == len(pairs)

    def test_every_gendered_word_is_swapped(self, examples):
        names = {
            word
            for e in examples
            for word, mark in zip(e.words, e.rationale, strict=True)
            if mark and word[0].isupper() and word.lower() not in GENDERED
        }
        for example in examples:
            for word, mark in zip(example.words, example.rationale, strict=True):
                lower = word.lower()
                gendered = lower in GENDERED or word in names
                gendered |= bool(GENDERED_PART.search(lower)) and lower not in NOT_GENDERED
                if not mark:
                    assert not gendered, f"{example.example_id}: {example.text}"

    def test_partners_are_one_to_one_but_for_the_pronouns(self, pairs):
        partners = {"male": defaultdict(set), "female": defaultdict(set)}
        for male, female in pairs.values():
            for a, b, mark in zip(male.words, female.words, male.rationale, strict=True):
                if mark:
                    assert a[0].isupper() == b[0].isupper()
                    partners["male"][a.lower()].add(b.lower())
                    partners["female"][b.lower()].add(a.lower())
        several = {
            side: {word: found for word, found in words.items() if len(found) > 1}
            for side, words in partners.items()
        }
        assert several == {
            "male": {"his": {"her", "hers"}},
            "female": {"her": {"him", "his"}},
        }
        assert not set(partners["male"]) & set(partners["female"])


class TestBalance:
    def test_targets_overall_by_split_and_by_family(self, pairs):
        targets = Counter(male.attributes["target"] for male, _ in pairs.values())
        assert targets == {"female": 838, "male": 837}
        for feature in ("family", "frame"):
            for split in ("train", "test"):
                counts = defaultdict(Counter)
                for male, _ in pairs.values():
                    if male.split == split:
                        counts[male.attributes[feature]][male.attributes["target"]] += 1
                for value, found in counts.items():
                    assert abs(found["male"] - found["female"]) <= 1, (feature, value, split)

    def test_no_function_word_gives_the_target_away(self, pairs):
        shares = share_female(pairs, lambda e: set(neutral(e)))
        common = sorted(shares, key=lambda word: -shares[word][0])[:150]
        checked = [
            word
            for word in common
            if shares[word][0] >= 20 and (word in ENGLISH_STOP_WORDS or not word.isalpha())
        ]
        assert len(checked) > 60
        for word in checked:
            assert 0.35 <= shares[word][1] <= 0.65, (word, shares[word])

    def test_no_gendered_word_gives_the_target_away(self, pairs):
        """Names and nouns stand for the target as often as for the counterpart."""

        def marked(example):
            marks = zip(example.words, example.rationale, strict=True)
            return {word.lower() for word, mark in marks if mark}

        common = {w: found for w, found in share_female(pairs, marked).items() if found[0] >= 5}
        assert len(common) > 50
        for word, (seen, share) in common.items():
            assert 0.3 <= share <= 0.7, (word, seen, share)


class TestLeakage:
    def test_no_phrase_of_the_test_split_was_seen_in_training(self, examples):
        """Beyond frames: no three content words in a row, whatever stands between them."""

        def phrases(example):
            words = [w for w in neutral(example) if w.isalpha() and w not in ENGLISH_STOP_WORDS]
            return set(zip(words, words[1:], words[2:], strict=False))

        seen = {"train": set(), "test": set()}
        for example in examples:
            seen[example.split] |= phrases(example)
        assert len(seen["test"]) > 500
        assert seen["train"] & seen["test"] == set()

    def test_a_theme_is_in_one_split(self, examples):
        """A theme is a stereotype of women and one of men on the same matter."""
        splits = defaultdict(set)
        for example in examples:
            splits[example.attributes["stereotype"].rpartition("-")[0]].add(example.split)
        assert len(splits) == 236
        assert all(len(found) == 1 for found in splits.values())


def words_only(ngrams):
    counts = CountVectorizer(
        ngram_range=(1, ngrams), tokenizer=str.split, token_pattern=None, lowercase=True
    )
    return make_pipeline(counts, LogisticRegression(max_iter=1000))


def by_split(rows):
    """Texts and labels of each split, from (split, text, label)."""
    found = {"train": ([], []), "test": ([], [])}
    for split, text, label in rows:
        found[split][0].append(text)
        found[split][1].append(label)
    return found


LABEL_WORDS, LABEL_BIGRAMS, TARGET_BIGRAMS = 0.525, 0.536, 0.561


class TestLearnable:
    """The figures of the data card: how far words alone go, without knowing what they mean."""

    def accuracy(self, rows, ngrams):
        found = by_split(rows)
        return words_only(ngrams).fit(*found["train"]).score(*found["test"])

    def test_label_from_words(self, examples):
        rows = [(e.split, e.text, e.label) for e in examples]
        assert self.accuracy(rows, 1) == pytest.approx(LABEL_WORDS, abs=0.02)
        assert self.accuracy(rows, 2) == pytest.approx(LABEL_BIGRAMS, abs=0.02)

    def test_target_from_words(self, pairs):
        rows = [
            (male.split, " ".join(neutral(male)), male.attributes["target"])
            for male, _ in pairs.values()
        ]
        assert self.accuracy(rows, 2) == pytest.approx(TARGET_BIGRAMS, abs=0.03)


class TestReader:
    @pytest.fixture
    def folder(self, tmp_path):
        stereotype = {
            "stereotype": "work-1-male",
            "family": "work",
            "target": "male",
            "split": "test",
            "claim": "work",
        }
        pair = {
            "pair": "0001",
            "stereotype": "work-1-male",
            "frame": "generic",
            "text": "[Men|Women] work .",
        }
        for name, row in (("stereotypes.jsonl", stereotype), ("pairs.jsonl", pair)):
            (tmp_path / name).write_text(json.dumps(row) + "\n", encoding="utf-8")
        return tmp_path

    def test_a_pair(self, folder):
        male, female = read_pairs(folder)
        assert (male.example_id, male.words, male.label) == ("0001-male", ("Men", "work", "."), 1)
        assert (female.words, female.label) == (("Women", "work", "."), 0)
        assert male.rationale == female.rationale == (1, 0, 0)
        assert (male.group, male.split, male.match_id) == ("male", "test", "0001")
        assert male.attributes == {
            "family": "work",
            "stereotype": "work-1-male",
            "target": "male",
            "frame": "generic",
        }

    @pytest.mark.parametrize("name", DIGESTS)
    def test_an_altered_or_missing_file_is_refused(self, name, tmp_path, monkeypatch):
        shutil.copytree(FOLDER, tmp_path / "copy")
        monkeypatch.setattr("exparity.data.files.resource", lambda _: tmp_path / "copy")
        assert len(load_dataset("stereotypes", NOWHERE)) == 3350
        with (tmp_path / "copy" / name).open("a", encoding="utf-8") as file:
            file.write("\n")
        with pytest.raises(InputError, match=f"{name} is missing or altered; install exparity"):
            load_dataset("stereotypes", NOWHERE)
        (tmp_path / "copy" / name).unlink()
        with pytest.raises(InputError, match=f"{name} is missing or altered"):
            load_dataset("stereotypes", NOWHERE)
