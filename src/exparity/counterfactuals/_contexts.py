"""What the words around one tell of it: possessive or object, a title, a name, a fixed phrase."""

from __future__ import annotations

from collections.abc import Sequence

from exparity.core.strict import read_yaml
from exparity.counterfactuals._text import Token
from exparity.data.files import shipped

# A change of the words changes this file, and so the workflow runs again what they made.
DIGESTS = {"contexts.yaml": "8bd37fec11ede8fc9edcd977c07c14414067b5692225e6a42650850e010f3fdb"}
_LISTS = read_yaml(shipped("gender_words", DIGESTS) / "contexts.yaml")
_NO_NOUN = {kind: frozenset(words.split()) for kind, words in _LISTS.pop("no_noun").items()}
_CLOSED = frozenset().union(*_NO_NOUN.values())
_FIXED = tuple(tuple(phrase.split()) for phrase in _LISTS.pop("fixed").split(";"))
_ADJECTIVES = tuple(_LISTS.pop("adjective_endings").split())
_WORDS = {name: frozenset(words.split()) for name, words in _LISTS.items()}
_GIVEN = _WORDS["given"] | _WORDS["more"]
_BEFORE_NOUNS = _NO_NOUN["determiners"] | _WORDS["before_nouns"]
_STOPS = frozenset(".,;:!?)]}")
_MARKUP = frozenset("*_=~#$£€")
_QUOTES = frozenset("\"'“‘`")
_MALE = {"his": True, "him": False}


class WordContext:
    """A text's tokens, and what can be asked of one of them.

    Args:
        tokens: of :func:`~exparity.counterfactuals._text.tokens_of`.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens

    def _lower(self, place: int) -> str:
        return self._tokens[place].lower if 0 <= place < len(self._tokens) else ""

    def is_capital(self, place: int) -> bool:
        """Return whether a word starts with a capital."""
        return 0 <= place < len(self._tokens) and self._tokens[place].text[0].isupper()

    def _is_word(self, place: int) -> bool:
        return 0 <= place < len(self._tokens) and self._tokens[place].is_word

    # Pronouns

    def owns(self, place: int) -> bool:
        """Return whether the "her" at a place is possessive, as in "her book", and no object."""
        following = self._lower(place + 1)
        if following in ("or", "and", "/") and self._lower(place + 2) in _MALE:
            return _MALE[self._lower(place + 2)]
        before = self._lower(place - 1)
        if following in _QUOTES:
            return before not in _WORDS["names"] and self._opens_phrase(place + 1)
        if before in _WORDS["gives"] and self._lower(place + 2) in _WORDS["cents"]:  # her two cents
            return True
        if before in _WORDS["gives"] and (following in _GIVEN or following[:1].isdigit()):
            return False
        if before in _WORDS["gives"] and self._lower(place + 2) in _GIVEN:  # incorrect information
            return following in _WORDS["kept"]
        if before == "like" and self._lower(place - 2) in _WORDS["like"]:
            return False
        if before in _WORDS["wishes"]:  # "wish her well" and "a good day", but "her team well"
            is_wish = following in _WORDS["wished"] or following in _CLOSED or following in _GIVEN
            return not is_wish and self._lower(place + 2) in _WORDS["wished"] - {"a", "luck"}
        if self._has_a_verb_of_its_own(before, following, place):
            return False
        if not following or not following[0].isalnum():
            return self._opens_noun(place + 1)
        if following in _WORDS["ways"]:
            leads = self._lower(place + 2) in _WORDS["aims"] and before not in _WORDS["keeps"]
            return before not in _WORDS["moves"] and not leads
        if before in _WORDS["names"] and self.is_capital(place + 1):
            return False
        if following == "every":
            return self._is_word(place + 2) and self._lower(place + 2) not in _WORDS["times"]
        if following in _WORDS["degrees"] and before in _WORDS["turns"]:
            return False
        if following == "one" and self._lower(place + 2) == "and":  # her one and only
            return True
        if following in _WORDS["maybe_noun"]:
            ended = self._ends_after_adverbs(place + 2)
            return following in _WORDS["nouns_themselves"] or not ended
        if following.split("'")[0] in _CLOSED:
            return False
        return not self._tells_of_her(before, following, place + 1)

    def _has_a_verb_of_its_own(self, before: str, following: str, place: int) -> bool:
        """Return whether verb and noun around "her" make a phrase: "took her years"."""
        times = {following, self._lower(place + 2)}
        ended = self.ends_phrase(place + 2)
        is_office = following in _WORDS["offices"]
        is_rank = following == "names" or self._is_of_a_time(place + 2) or (is_office and ended)
        return (
            (before in _WORDS["lasts"] and bool(times & _WORDS["durations"]))
            or (before in _WORDS["does"] and following in _WORDS["done"])
            or (before in _WORDS["chooses"] and is_office)
            or (before in _WORDS["names"] and is_rank)
            or (before in _WORDS["shows"] and following == "round")
            or (before in _WORDS["keeps_her"] and following == "company")
            or (before in _WORDS["likes"] and following == "best" and ended)
        )

    def _is_of_a_time(self, place: int) -> bool:
        """Return whether "of the month" or the like comes at a place."""
        words = [self._lower(place + i) for i in range(3)]
        return words[:2] == ["of", "the"] and words[2] in _WORDS["durations"]

    def _tells_of_her(self, before: str, following: str, place: int) -> bool:
        """Return whether what follows "her" is what she does or is, and nothing of hers."""
        after, ended = self._lower(place + 1), self.ends_phrase(place + 1)
        turns, lets, states = before in _WORDS["turns"], before in _WORDS["lets"], _WORDS["states"]
        if following in _WORDS["verbs"]:
            return before != "" and before not in _STOPS and before not in _WORDS["earns"]
        if turns and following.endswith("er") and after == "than":
            return True
        if before in _WORDS["has"] and following.endswith("ed") and ended:
            return True
        if lets and following in _WORDS["lets_also"]:
            return True
        if before in _WORDS["let"]:
            return following not in _WORDS["let_nouns"]
        if lets and after in _BEFORE_NOUNS:
            return True
        can_do = following not in _WORDS["ing_nouns"]
        if turns and following.endswith(_ADJECTIVES) and can_do:
            return ended
        if following in states and (turns or before in _WORDS["perceives"]):
            is_state = self._ends_after_adverbs(place + 1) or after in _NO_NOUN["prepositions"]
            return is_state or (after == "just" and self._lower(place + 2) == "because")
        if following in states - _WORDS["states_or_nouns"] and ended:
            return after not in _WORDS["joins"]
        if following.endswith("ing") and (can_do or after in _BEFORE_NOUNS):
            return before in _WORDS["perceives"]
        return following.endswith("ly") and following not in _WORDS["ly_no_adverbs"] and ended

    def ends_phrase(self, place: int, but: str = "") -> bool:
        """Return whether no noun can come at a place, nor the word ``but``."""
        following = self._lower(place)
        if following == but != "":
            return False
        if not following or not following[0].isalnum():
            return following not in _QUOTES and following != "-"
        return following in _CLOSED and following not in _WORDS["maybe_noun"]

    def _ends_after_adverbs(self, place: int) -> bool:
        """Return whether no noun comes after more words that can stand before one or end a phrase.

        A preposition among them ends it: "took her off before", but "her once great name".
        """
        while self._lower(place) in _WORDS["maybe_noun"] and self._lower(place) != "own":
            if self._lower(place) in _NO_NOUN["prepositions"] or self._lower(place) == "enough":
                return True
            place += 1
        return self.ends_phrase(place)

    def _opens_phrase(self, place: int) -> bool:
        """Return whether a quotation mark opens, and what it opens is no sentence."""
        token = self._tokens[place]
        opening = [t for t in self._tokens[:place] if t.text == token.text]
        while self._lower(place + 1) == token.text:  # `` of the Penn Treebank
            place += 1
        opens = token.text in "“‘`" or (len(opening) % 2 == 0 and token.text != "'")
        return opens and self._is_word(place + 1) and not self.ends_phrase(place + 1)

    def _opens_noun(self, place: int) -> bool:
        """Return whether what starts with a mark goes on with a noun: "her (first) book"."""
        mark = self._lower(place)
        if mark in ("(", "["):
            closing = [i for i in range(place, place + 5) if self._lower(i) in (")", "]")]
            return bool(closing) and not self.ends_phrase(closing[0] + 1)
        return mark in _MARKUP and not self.ends_phrase(place + 1)

    def stands_alone(self, place: int) -> bool:
        """Return whether the "his" at a place is a pronoun, as in "a friend of his"."""
        following = self._lower(place + 1)
        other = self._lower(place + 2) if following in ("or", "and", "/") else ""
        if other == "her" or other in _WORDS["other_owners"]:
            return other != "her"
        if not following or following in _STOPS:
            return True
        if following in _NO_NOUN["auxiliaries"]:
            return following != "not" and self._lower(place + 2) != "-"  # his would-be
        ended = self.ends_phrase(place + 1) or following in _WORDS["verbs"]
        return self._lower(place - 1) in _WORDS["before_hers"] and following[0].isalpha() and ended

    def is_compound(self, place: int, word: str) -> bool:
        """Return whether a word can be a compound of a man or a woman, and is no name."""
        return not self.is_capital(place) and word not in _WORDS["no_man"]

    # Titles and names

    def before_name(self, place: int) -> bool:
        """Return whether a capitalised word follows, after a stop at most: "Ms. Hall"."""
        after = place + (2 if self._lower(place + 1) == "." else 1)
        return self._is_word(after) and self.is_capital(after)

    def has_ending(self, place: int) -> bool:
        """Return whether 's or the like is glued to a word."""
        return "'" in self._lower(place)

    def titles(self, place: int) -> bool:
        """Return whether a name follows; of a word in lower case whatever can be one."""
        if self.is_capital(place):
            return self.before_name(place)
        return self._lower(place) == "sir" and not self.ends_phrase(place + 1)

    def is_title(self, place: int) -> bool:
        """Return whether Mr, Mrs or Ms is a title, and no unit, degree or method (ms, MS, MR)."""
        text = self._tokens[place].text
        if text in ("MR", "MS", "ms"):
            return self._lower(place + 1) == "." and self._is_word(place + 2)
        return True

    def after_owner(self, place: int) -> bool:
        """Return whether a possessive or "the" stands before, with an adjective at most between."""
        before = self._lower(place - 1)
        if before in _WORDS["determiners"] - _WORDS["owners"]:
            before = self._lower(place - 2)
        return before in _WORDS["owners"]

    def after_determiner(self, place: int) -> bool:
        """Return whether an article or the like stands before."""
        return self._lower(place - 1) in _WORDS["determiners"]

    def next_is(self, place: int, *words: str) -> bool:
        """Return whether one of these words follows."""
        return self._lower(place + 1) in words

    def is_name(self, place: int) -> bool:
        """Return whether a word that can be a name is one: "Stephen King", "Mr. King"."""
        token = self._tokens[place]
        base = token.lower.split("'")[0]
        if base not in _WORDS["surnames"] or not token.text[0].isupper() or token.text.isupper():
            return False
        if self._lower(place + 1) in _WORDS["places"] and self.is_capital(place + 1):
            return True
        if self.before_name(place) and (base == "guy" or base != token.lower):
            return not self.after_determiner(place)  # Guy Hall, King's College
        before = place - (2 if self._lower(place - 1) == "." else 1)
        if before == place - 2:
            return self._lower(before) in _WORDS["titles"] or len(self._lower(before)) == 1
        return (
            self._is_word(before)
            and self.is_capital(before)
            and (self._lower(before) not in _WORDS["no_names"])
        )

    def is_fixed(self, place: int) -> bool:
        """Return whether a word is part of a phrase that tells no gender: "mother tongue"."""
        if self._lower(place) in _WORDS["fixed_words"]:
            return True
        for phrase in _FIXED:
            for start in range(max(0, place - len(phrase) + 1), place + 1):
                if phrase == tuple(map(self._lower, range(start, start + len(phrase)))):
                    return True
        return False
