"""Settings of two groups whose explanations are equally good, or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from closed_forms import Group

Worse = Literal["none", "first", "second"] | None
Mixture = Sequence[tuple[float, Group]]


@dataclass(frozen=True)
class Setting:
    """Two groups, and which of them has the worse explanations.

    Attributes:
        name: what differs between the groups.
        first, second: groups, or shares of the texts of a group that are drawn differently.
        worse: by removal; None where nobody can tell.
        foreseen: by forward simulation, where that is another group.
        trainings: of each classifier.
        texts: of each group.
    """

    name: str
    first: Group | Mixture
    second: Group | Mixture
    worse: Worse = "none"
    foreseen: Worse | Literal["same"] = "same"
    trainings: int = 5
    texts: tuple[int, int] = (100, 100)

    @property
    def worse_foreseen(self) -> Worse:
        """Group whose explanations foresee the classifier worse."""
        return self.worse if self.foreseen == "same" else self.foreseen


PLAIN = Group()
EXACT = Group(error=0.0)
RELATIVE = Group(error=0.7, relative=True, spread=0.3)
"""As many errors for their size in each text, so that forward simulation has the same r."""
FLAT = Group(background=0.0, spread=0.0)
GECO = Group(base=5, weight=3), Group(base=-5, weight=3)
QUIET = Group(weight=0.05, background=0.02, base=0.0)


def by_words(shares: Sequence[float], **changes: Any) -> Mixture:
    """Return texts in which two, three, four or five words count."""
    words = zip(shares, (2, 3, 4, 5), strict=True)
    return [(share, Group(words=count, spread=0.2, **changes)) for share, count in words]


def by_length(shares: Sequence[float], **changes: Any) -> Mixture:
    """Return texts of 12, 16, 20 or 24 words."""
    lengths = zip(shares, (12, 16, 20, 24), strict=True)
    return [(share, Group(n=length, **changes)) for share, length in lengths]


def predicted_otherwise(share: float) -> Mixture:
    """Return texts of which a share is explained for another class than is predicted, and worse."""
    return [(1 - share, PLAIN), (share, Group(base=-6, error=1.5))]


def at_stake(share: float, random: float) -> Mixture:
    """Return texts of which a share has words that count, and of these some random explanations."""
    return [(1 - share, QUIET), (share, Group(random=random))]


relative = partial(replace, RELATIVE)


def uniform_lengths(shortest: int, longest: int, **changes: Any) -> Mixture:
    """Return texts of every second length between two, as many of each."""
    lengths = range(shortest, longest + 1, 2)
    return [(1 / len(lengths), relative(n=length, **changes)) for length in lengths]


SETTINGS: Mapping[str, Sequence[Setting]] = {
    "Nothing, by number of trainings and texts": [
        *(Setting(f"{n} trainings", PLAIN, PLAIN, trainings=n) for n in (1, 3, 5, 8)),
        Setting("20 and 500 texts", PLAIN, PLAIN, texts=(20, 500)),
        Setting("12 and 12 texts", PLAIN, PLAIN, texts=(12, 12)),
        Setting("one training, 20 and 500 texts", PLAIN, PLAIN, trainings=1, texts=(20, 500)),
    ],
    "One thing": [
        Setting("temperature 2", PLAIN, Group(temperature=2)),
        Setting("another temperature in each training", PLAIN, Group(temperature_sd=0.7)),
        Setting("1/4 + p/2", PLAIN, Group(halved=True), foreseen="second"),
        Setting("log odds without words −3", PLAIN, Group(base=-3)),
        Setting("log odds without words +1", PLAIN, Group(base=1)),
        Setting(
            "log odds without words +20, 32 bits", Group(float32=True), Group(base=20, float32=True)
        ),
        Setting("one size of scores, cubed", PLAIN, Group(power=3.0), foreseen=None),
        Setting(
            "no word counts, error in proportion",
            Group(relative=True, error=0.47),
            Group(relative=True, error=0.47, weight=0.05, background=0.003, base=-0.15),
        ),
        Setting("words 3 / 5", PLAIN, Group(words=5), foreseen="first"),
        Setting("words 2 / 5", Group(words=2), Group(words=5), foreseen="first"),
        Setting(
            "words 2 / 5 of one weight, error 0.2",
            replace(FLAT, words=2, error=0.2),
            replace(FLAT, words=5, error=0.2),
            foreseen="first",
        ),
        Setting("length 12 / 24", Group(n=12), Group(n=24), foreseen="second"),
        Setting("length 16 / 32", PLAIN, Group(n=32), foreseen="second"),
    ],
    "Two things": [
        Setting(
            "words 2 / 5, without words −3",
            Group(words=2),
            Group(words=5, base=-3),
            foreseen="first",
        ),
        Setting("words 3 / 5, without words −3", PLAIN, Group(words=5, base=-3), foreseen="first"),
        Setting(
            "words 3 / 5 of one weight, without words −3",
            FLAT,
            replace(FLAT, words=5, base=-3),
            foreseen="first",
        ),
        Setting(
            "words 2 / 5, temperature 2",
            Group(words=2),
            Group(words=5, temperature=2),
            foreseen="first",
        ),
        Setting(
            "length 12 / 24, without words −3", Group(n=12), Group(n=24, base=-3), foreseen="second"
        ),
        Setting("length 12 / 24, words 2 / 4", Group(n=12, words=2), Group(n=24, words=4)),
        Setting(
            "length 3 / 16, one word", Group(n=3, words=1), Group(n=16, words=1), foreseen=None
        ),
        Setting("three words against the class", PLAIN, Group(against=3), foreseen="first"),
        Setting(
            "words 2, 3, 4, 5 in 4:3:2:1 / 1:2:3:4, without words −3",
            by_words((0.4, 0.3, 0.2, 0.1)),
            by_words((0.1, 0.2, 0.3, 0.4), base=-3),
            foreseen="first",
        ),
        Setting(
            "the same, noise 0.3 in the first",
            by_words((0.4, 0.3, 0.2, 0.1), noise=0.3),
            by_words((0.1, 0.2, 0.3, 0.4), base=-3),
            worse="first",
        ),
        Setting(
            "length 12, 16, 20, 24 in 4:3:2:1 / 1:2:3:4, without words −3",
            by_length((0.4, 0.3, 0.2, 0.1)),
            by_length((0.1, 0.2, 0.3, 0.4), base=-3),
            foreseen="second",
        ),
        Setting(
            "predicted otherwise 5 / 50 %, and these explained worse",
            predicted_otherwise(0.05),
            predicted_otherwise(0.5),
            worse="second",
        ),
    ],
    "Words that act together": [
        Setting(
            "either of two words is enough",
            Group(spread=0.1),
            Group(spread=0.1, form="either"),
            worse=None,
            foreseen="second",
        ),
        Setting(
            "either of two words, exact",
            Group(error=0, spread=0.0, background=0.0),
            Group(error=0, spread=0.0, background=0.0, form="either"),
            worse=None,
            foreseen="second",
        ),
        Setting(
            "two words only together",
            Group(spread=0.1),
            Group(spread=0.1, form="both"),
            worse=None,
            foreseen="second",
        ),
        Setting("a pair of words", PLAIN, Group(form="pair"), worse="second"),
        Setting("saturating", PLAIN, Group(form="saturating"), foreseen="second"),
    ],
    "Exact explanations of few words, or by thresholds": [
        Setting(
            "thresholds, length 12 / 36",
            replace(EXACT, n=12, by_threshold=True),
            replace(EXACT, n=36, by_threshold=True),
        ),
        Setting(
            "thresholds, length 16 / 40, error 0.2",
            Group(error=0.2, by_threshold=True),
            Group(n=40, error=0.2, by_threshold=True),
            foreseen=None,
        ),
        Setting(
            "one word, length 12 / 36",
            replace(EXACT, n=12, named=1),
            replace(EXACT, n=36, named=1),
            foreseen=None,
        ),
        Setting(
            "three words, length 10 / 20",
            replace(EXACT, n=10, named=3),
            replace(EXACT, n=20, named=3),
            foreseen=None,
        ),
        Setting("two words in the second", EXACT, replace(EXACT, named=2), foreseen="second"),
    ],
    "Noise": [
        Setting("noise 0.3", PLAIN, Group(noise=0.3), worse="second"),
        Setting("noise 0.3, one training", PLAIN, Group(noise=0.3), worse="second", trainings=1),
        Setting("noise 0.3, 3 trainings", PLAIN, Group(noise=0.3), worse="second", trainings=3),
        Setting("noise 0.3, 16 trainings", PLAIN, Group(noise=0.3), worse="second", trainings=16),
        Setting("noise 0.5", PLAIN, Group(noise=0.5), worse="second"),
        Setting("noise 0.5, one training", PLAIN, Group(noise=0.5), worse="second", trainings=1),
        Setting(
            "noise 0.3, 20 and 500 texts", PLAIN, Group(noise=0.3), worse="second", texts=(20, 500)
        ),
        Setting(
            "noise 0.3, 12 and 12 texts", PLAIN, Group(noise=0.3), worse="second", texts=(12, 12)
        ),
        Setting("opposite sign", PLAIN, Group(reversed=True), worse="second"),
        Setting("noise 0.3, 1/4 + p/2", PLAIN, Group(halved=True, noise=0.3), worse="second"),
        Setting(
            "noise 0.3 in the first, temperature 2",
            Group(noise=0.3),
            Group(temperature=2),
            worse="first",
        ),
        Setting("5 % random", PLAIN, Group(random=0.05), worse="second"),
        Setting(
            "of 10 % at stake, 0 / 60 % random, 300 texts",
            at_stake(0.1, 0.0),
            at_stake(0.1, 0.6),
            worse="second",
            texts=(300, 300),
        ),
    ],
    "Noise 0.5 where a class is certain without words": [
        Setting("without words +2", PLAIN, Group(base=2, noise=0.5), worse="second"),
        Setting(
            "without words +2, noise in the first", Group(noise=0.5), Group(base=2), worse="first"
        ),
        Setting("without words +4", PLAIN, Group(base=4, noise=0.5), worse="second"),
        Setting(
            "without words +4, noise in the first", Group(noise=0.5), Group(base=4), worse="first"
        ),
        Setting("both +4", Group(base=4), Group(base=4, noise=0.5), worse="second"),
        Setting("+5 / −5, weight 3", *GECO),
        Setting(
            "+5 / −5, weight 3, noise in the second",
            GECO[0],
            replace(GECO[1], noise=0.5),
            worse="second",
        ),
        Setting(
            "+5 / −5, weight 3, noise in the first",
            replace(GECO[0], noise=0.5),
            GECO[1],
            worse="first",
        ),
    ],
    "Errors in proportion to the weights of a text": [
        Setting("nothing", RELATIVE, RELATIVE),
        Setting("temperature 2", RELATIVE, relative(temperature=2)),
        Setting("without words −3", RELATIVE, relative(base=-3)),
        Setting("words 2 / 5, without words −3", relative(words=2), relative(words=5, base=-3)),
        Setting("length 12 / 24", relative(n=12), relative(n=24)),
        Setting("length 12 / 36", relative(n=12), relative(n=36)),
        Setting("length 4 / 16, one word", relative(n=4, words=1), relative(n=16, words=1)),
        Setting("length 6 / 16, two words", relative(n=6, words=2), relative(n=16, words=2)),
        Setting(
            "length 8 / 24, temperature 3, without words −4",
            relative(n=8),
            relative(n=24, temperature=3, base=-4),
        ),
        Setting("length 4 to 16 / 8 to 24", uniform_lengths(4, 16), uniform_lengths(8, 24)),
        Setting(
            "length 4 to 16 / 8 to 24, error 0.7 / 1.0",
            uniform_lengths(4, 16),
            uniform_lengths(8, 24, error=1.0),
            worse="second",
        ),
        Setting("background 0.1 / 0.4", RELATIVE, relative(background=0.4)),
        Setting("three words against the class", RELATIVE, relative(against=3)),
        Setting(
            "either of two words, exact",
            relative(error=0),
            relative(error=0, form="either"),
            worse=None,
            foreseen="second",
        ),
        Setting(
            "either of two words", RELATIVE, relative(form="either"), worse=None, foreseen="second"
        ),
        Setting(
            "saturating, exact",
            relative(error=0),
            relative(error=0, form="saturating"),
            foreseen="second",
        ),
        Setting(
            "random, length 8 / 24, words 3 / 5, without words +4",
            relative(n=8, error=50),
            relative(n=24, words=5, base=4, error=50),
        ),
        Setting("error 0.7 / 1.0", RELATIVE, relative(error=1.0), worse="second"),
        Setting(
            "error 0.7 / 1.2, without words +4",
            RELATIVE,
            relative(error=1.2, base=4),
            worse="second",
        ),
        Setting(
            "error 1.2 / 0.7, without words +4",
            relative(error=1.2),
            relative(base=4),
            worse="first",
        ),
    ],
}
