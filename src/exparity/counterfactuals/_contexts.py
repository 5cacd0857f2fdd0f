"""What the words around one tell of it: possessive or object, a title, a name, a fixed phrase."""

from __future__ import annotations

from collections.abc import Sequence

from exparity.core.strict import read_yaml
from exparity.counterfactuals._text import Token
from exparity.data.files import shipped

# A change of the words changes this file, and so the workflow runs again what they made.
DIGESTS = {"contexts.yaml": "bb29d8d2e4e82f3a79512a987ae75f4f51d9a86df56261e40cca26fe3cc924a0"}
_LISTS = read_yaml(shipped("gender_words", DIGESTS) / "contexts.yaml")


def _words(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


_NO_NOUN = {kind: frozenset(words.split()) for kind, words in _LISTS["no_noun"].items()}
_CLOSED = frozenset().union(*_NO_NOUN.values())
_MAYBE_NOUN, _MOVES, _GIVES = _words("maybe_noun"), _words("moves"), _words("gives")
_PERCEIVES, _LETS, _NAMES = _words("perceives"), _words("lets"), _words("names")
_VERBS, _LETS_ALSO = _words("verbs"), _words("lets_also")
_LET_NOUNS = _words("let_nouns")
_GIVEN, _KEEPS = _words("given") | _words("more"), _words("keeps")
_TURNS, _DEGREES = _words("turns"), _words("degrees")
_BEFORE_NOUNS = _NO_NOUN["determiners"] | frozenset(
    ["my", "your", "his", "her", "our", "their", "it", "them"]
)
_ADJECTIVES = ("able", "ible", "ful", "less", "ous", "ive", "ish", "tic", "ed", "ing")
_LET = frozenset(("let", "lets", "letting"))
_STATES, _TIMES, _LIKE = _words("states"), _words("times"), _words("like")
_CENTS = frozenset(("cent", "cents"))
_LASTS, _DURATIONS = _words("lasts"), _words("durations")
_DOES, _DONE = _words("does"), _words("done")
_CHOOSES, _OFFICES = _words("chooses"), _words("offices")
_KEPT = frozenset(("own", "favourite", "favorite", "usual"))
_EARNS = frozenset(("earn", "earns", "earned", "earning"))
_KEEPS_HER = frozenset(("keep", "keeps", "kept", "keeping"))
_HAS = frozenset(("have", "has", "had", "having"))
_LIKES = frozenset(("like", "likes", "liked", "know", "knows", "knew", "suit", "suits", "suited"))
_WISHES = frozenset(("wish", "wishes", "wished", "wishing"))
_JOINS = frozenset(("and", "or", "but", ","))
_SHOWS = frozenset(("show", "shows", "showed", "shown", "showing"))
_WISHED = frozenset(("well", "luck", "all", "success", "happiness", "a", "the", "every", "good"))
_OTHER_OWNERS = frozenset(("mine", "yours", "ours", "theirs", "hers"))
_STATES_OR_NOUNS = _words("states_or_nouns")
_ING_NOUNS, _LY_NO_ADVERBS = _words("ing_nouns"), _words("ly_no_adverbs")
_DETERMINERS, _SURNAMES, _NO_NAMES = _words("determiners"), _words("surnames"), _words("no_names")
_FIXED = tuple(tuple(phrase.split()) for phrase in _LISTS["fixed"].split(";"))
_FIXED_STARTS = frozenset(phrase[0] for phrase in _FIXED)
_FIXED_LENGTH = max(map(len, _FIXED))
_FIXED_WORDS, _NO_MAN = _words("fixed_words"), _words("no_man")
_NOUNS_THEMSELVES = frozenset(("own", "past", "first", "best"))
_BEFORE_HERS = frozenset(("of", "than", "is", "was", "are", "were", "be", "been", "'s", "not"))
_WAYS = frozenset(("back", "home"))
_AIMS = frozenset(("to", "into", "from", "onto"))
_STOPS = frozenset(".,;:!?)]}")
_MARKUP = frozenset("*_=~#$£€")
_QUOTES = frozenset("\"'“‘`")
_MALE = {"his": True, "him": False}
_OWNERS = _words("owners")
_PLACES = _words("places")
_TITLES = frozenset(("mr", "mrs", "ms", "miss", "mister", "sir", "dr", "lady", "lord", "dame"))


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
            return before not in _NAMES and self._opens_phrase(place + 1)
        if before in _GIVES and self._lower(place + 2) in _CENTS:  # her two cents
            return True
        if before in _GIVES and (following in _GIVEN or following[:1].isdigit()):
            return False
        if before in _GIVES and self._lower(place + 2) in _GIVEN:  # incorrect information
            return following in _KEPT
        if before == "like" and self._lower(place - 2) in _LIKE:
            return False
        if before in _WISHES:  # "wish her well" and "a good day", but "her team well"
            is_wish = following in _WISHED or following in _CLOSED or following in _GIVEN
            return not is_wish and self._lower(place + 2) in _WISHED - {"a", "luck"}
        if self._has_a_verb_of_its_own(before, following, place):
            return False
        if not following or not following[0].isalnum():
            return self._opens_noun(place + 1)
        if following in _WAYS:
            leads = self._lower(place + 2) in _AIMS and before not in _KEEPS
            return before not in _MOVES and not leads
        if before in _NAMES and self.is_capital(place + 1):
            return False
        if following == "every":
            return self._is_word(place + 2) and self._lower(place + 2) not in _TIMES
        if following in _DEGREES and before in _TURNS:
            return False
        if following == "one" and self._lower(place + 2) == "and":  # her one and only
            return True
        if following in _MAYBE_NOUN:
            return following in _NOUNS_THEMSELVES or not self._ends_after_adverbs(place + 2)
        if following.split("'")[0] in _CLOSED:
            return False
        return not self._tells_of_her(before, following, place + 1)

    def _has_a_verb_of_its_own(self, before: str, following: str, place: int) -> bool:
        """Return whether verb and noun around "her" make a phrase: "took her years"."""
        amount = self._lower(place + 2)
        return (
            (before in _LASTS and (following in _DURATIONS or amount in _DURATIONS))
            or (before in _DOES and following in _DONE)
            or (before in _CHOOSES and following in _OFFICES)
            or (before in _NAMES and following in _OFFICES and self.ends_phrase(place + 2))
            or (before in _NAMES and (following == "names" or self._is_of_a_time(place + 2)))
            or (before in _SHOWS and following == "round")
            or (before in _KEEPS_HER and following == "company")
            or (before in _LIKES and following == "best" and self.ends_phrase(place + 2))
        )

    def _is_of_a_time(self, place: int) -> bool:
        """Return whether "of the month" or the like comes at a place."""
        words = [self._lower(place + i) for i in range(3)]
        return words[:2] == ["of", "the"] and words[2] in _DURATIONS

    def _tells_of_her(self, before: str, following: str, place: int) -> bool:
        """Return whether what follows "her" is what she does or is, and nothing of hers."""
        if following in _VERBS:
            return before != "" and before not in _STOPS and before not in _EARNS
        if before in _TURNS and following.endswith("er") and self._lower(place + 1) == "than":
            return True
        if before in _HAS and following.endswith("ed") and self.ends_phrase(place + 1):
            return True
        if before in _LETS and following in _LETS_ALSO:
            return True
        if before in _LET:
            return following not in _LET_NOUNS
        after = self._lower(place + 1)
        if before in _LETS and after in _BEFORE_NOUNS:
            return True
        if before in _TURNS and following.endswith(_ADJECTIVES) and following not in _ING_NOUNS:
            return self.ends_phrase(place + 1)
        if following in _STATES and before in _TURNS | _PERCEIVES:
            ended = self._ends_after_adverbs(place + 1) or after in _NO_NOUN["prepositions"]
            return ended or (after == "just" and self._lower(place + 2) == "because")
        if following in _STATES - _STATES_OR_NOUNS and self.ends_phrase(place + 1):
            return after not in _JOINS
        if following.endswith("ing") and (following not in _ING_NOUNS or after in _BEFORE_NOUNS):
            return before in _PERCEIVES
        if following.endswith("ly") and following not in _LY_NO_ADVERBS:
            return self.ends_phrase(place + 1)
        return False

    def ends_phrase(self, place: int, but: str = "") -> bool:
        """Return whether no noun can come at a place, nor the word ``but``."""
        following = self._lower(place)
        if following == but != "":
            return False
        if not following or not following[0].isalnum():
            return following not in _QUOTES and following != "-"
        return following in _CLOSED and following not in _MAYBE_NOUN

    def _ends_after_adverbs(self, place: int) -> bool:
        """Return whether no noun comes after more words that can stand before one or end a phrase.

        A preposition among them ends it: "took her off before", but "her once great name".
        """
        while self._lower(place) in _MAYBE_NOUN and self._lower(place) != "own":
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
        if following in ("or", "and", "/") and self._lower(place + 2) in ("her", *_OTHER_OWNERS):
            return self._lower(place + 2) != "her"
        if not following or following in _STOPS:
            return True
        if following in _NO_NOUN["auxiliaries"]:
            return following != "not" and self._lower(place + 2) != "-"  # his would-be
        ended = self.ends_phrase(place + 1) or following in _VERBS
        return self._lower(place - 1) in _BEFORE_HERS and following[0].isalpha() and ended

    def is_compound(self, place: int, word: str) -> bool:
        """Return whether a word can be a compound of a man or a woman, and is no name."""
        return not self.is_capital(place) and word not in _NO_MAN

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
        before = self._lower(place - 2) if before in _DETERMINERS - _OWNERS else before
        return before in _OWNERS

    def after_determiner(self, place: int) -> bool:
        """Return whether an article or the like stands before."""
        return self._lower(place - 1) in _DETERMINERS

    def next_is(self, place: int, *words: str) -> bool:
        """Return whether one of these words follows."""
        return self._lower(place + 1) in words

    def is_name(self, place: int) -> bool:
        """Return whether a word that can be a name is one: "Stephen King", "Mr. King"."""
        token = self._tokens[place]
        base = token.lower.split("'")[0]
        if base not in _SURNAMES or not token.text[0].isupper() or token.text.isupper():
            return False
        if self._lower(place + 1) in _PLACES and self.is_capital(place + 1):
            return True
        if self.before_name(place) and (base == "guy" or base != token.lower):
            return not self.after_determiner(place)  # Guy Hall, King's College
        before = place - (2 if self._lower(place - 1) == "." else 1)
        if before == place - 2:
            return self._lower(before) in _TITLES or len(self._lower(before)) == 1
        return (
            self._is_word(before)
            and self.is_capital(before)
            and (self._lower(before) not in _NO_NAMES)
        )

    def is_fixed(self, place: int) -> bool:
        """Return whether a word is part of a phrase that tells no gender: "mother tongue"."""
        if self._lower(place) in _FIXED_WORDS:
            return True
        for start in range(max(0, place - _FIXED_LENGTH + 1), place + 1):
            if self._lower(start) in _FIXED_STARTS:
                for phrase in _FIXED:
                    end = start + len(phrase)
                    here = tuple(self._lower(i) for i in range(start, end))
                    if place < end and here == phrase:
                        return True
        return False
