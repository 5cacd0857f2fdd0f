"""Words that name a gender: sentences of our own, the lexicon, round trips, and GECO's pairs."""

from __future__ import annotations

import importlib.util
import re
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import REAL, need

from exparity.counterfactuals import GENERATORS, counterfactuals_of
from exparity.counterfactuals.gender_words import _CONDITIONS, _PARTNERS
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.table import PreparedData
from exparity.types import Example

GROUPS = ("male", "female")
# Male and female sentences that become one another.
EITHER_WAY = [
    ("He fixed his bike .", "She fixed her bike ."),
    ("We saw him at the door .", "We saw her at the door ."),
    ("They told him that his time had come .", "They told her that her time had come ."),
    ("Give it to him , not to his aide .", "Give it to her , not to her aide ."),
    ("His first novel and his own shop", "Her first novel and her own shop"),
    ("People like him, and trust him.", "People like her, and trust her."),
    ("I met him (his name is short).", "I met her (her name is short)."),
    ("He's late; he'd call, he'll come", "She's late; she'd call, she'll come"),
    ("the man 's hat , men's hats", "the woman 's hat , women's hats"),
    ("“He’s back,” said his brother", "“She’s back,” said her sister"),
    ("HE SAID SO HIMSELF", "SHE SAID SO HERSELF"),
    ("My father-in-law and half-brother", "My mother-in-law and half-sister"),
    ("a great-grandfather's son", "a great-grandmother's daughter"),
    ("Mr. Hall knows Mr Osei", "Ms. Hall knows Ms Osei"),
    ("The king, a prince and King Olaf", "The queen, a princess and Queen Olaf"),
    ("The chairman thanked policemen", "The chairwoman thanked policewomen"),
    ("it helped him grow and made him feel safe", "it helped her grow and made her feel safe"),
    ("They gave him two books", "They gave her two books"),
    ("his two books", "her two books"),
    ("Critics call him Captain Courage", "Critics call her Captain Courage"),
    ("They want him back .", "They want her back ."),
    ("with his back to the wall", "with her back to the wall"),
    ("They left , and it made him happy .", "They left , and it made her happy ."),
    ("his happy childhood", "her happy childhood"),
    ("who raised him alone", "who raised her alone"),
    ("his recently sold house", "her recently sold house"),
    ("They treated him kindly .", "They treated her kindly ."),
    ("I saw him running away", "I saw her running away"),
    ("his running shoes", "her running shoes"),
    ("his then employer ; they met him then .", "her then employer ; they met her then ."),
    ("between him and his boss", "between her and her boss"),
    ("shadowing his every move", "shadowing her every move"),
    ("Ask him every day", "Ask her every day"),
    ("Sir Ian and Lord Hall", "Dame Ian and Lady Hall"),
    ("They took him off before noon", "They took her off before noon"),
    ("I know him well enough", "I know her well enough"),
    (
        "I met him once more , and his once more famous son",
        "I met her once more , and her once more famous daughter",
    ),
    ('The boys call him " Captain " .', 'The girls call her " Captain " .'),
    ("The rain kept him indoors overnight", "The rain kept her indoors overnight"),
    ("It keeps him fit and gets him nowhere", "It keeps her fit and gets her nowhere"),
    ("the role his pale , dark looks need", "the role her pale , dark looks need"),
    ("his one and only chance", "her one and only chance"),
    ("I judge his cooking .", "I judge her cooking ."),
    ('his " lucky " coin', 'her " lucky " coin'),
    ("The hunter waits", "The huntress waits"),
    ("The airman and two barmen", "The airwoman and two barwomen"),
    ("A gunman shot at a longshoreman", "A gunwoman shot at a longshorewoman"),
    ("that dude , those dudes", "that chick , those chicks"),
    ("the busboy and a bellboy", "the busgirl and a bellgirl"),
    ("make him obey", "make her obey"),
    ("I need him back", "I need her back"),
    ("smack him silly", "smack her silly"),
    ("calling him dumb .", "calling her dumb ."),
    ("boot him off", "boot her off"),
    ("scared of him.", "scared of her."),
    ("gives his two cents", "gives her two cents"),
    ("wished him happy birthday", "wished her happy birthday"),
    ("gave him incorrect information", "gave her incorrect information"),
    ("treated him bad", "treated her bad"),
    ("his flat in town , his bad knee", "her flat in town , her bad knee"),
    ("people like him ruin it ; I like his dog", "people like her ruin it ; I like her dog"),
    ("the steward greets the beau", "the stewardess greets the belle"),
]
FROM_MALE = [
    ("this guy and the guys", "this girl and the girls"),
    ("manservants", "maidservants"),
    ("boy-meets-girl", "girl-meets-boy"),
    ("That car is his .", "That car is hers ."),
    ("a friend of his from school", "a friend of hers from school"),
    ("of his over thirty years", "of her over thirty years"),
    ("his or her work", "her or his work"),
    ("It was his or the firm's .", "It was hers or the firm's ."),
    ("ask him or her again", "ask her or him again"),
    ("a wizard", "a witch"),
]
FROM_FEMALE = [
    ("some gals", "some guys"),
    ("That car is hers .", "That car is his ."),
    ("Mrs. Hall's house", "Mr. Hall's house"),
    ("Miss Hall will miss it", "Mister Hall will miss it"),
    ("a lady", "a gentleman"),
    ("the hostess", "the host"),
    ("Yes, ma'am", "Yes, sir"),
    ("The Huntress waits", "The Hunter waits"),
]
UNCHANGED = [
    "Stephen King , Dr. King and B. King",
    "s/he and (s)he",
    "a Master's degree , a bachelor's degree and a Bachelor of Arts",
    "an MS in Accounting",
    "their mother tongue",
    "a man-made lake on the Isle of Man",
    "the Lord of the Rings",
    "Warner Brothers met Guy Hall",
    "Hunter waits",
    "from King Street to Queen Square",
    "I count on a master plan",
    "The governor hosts the servant",
    "a lord of mankind , feminism and misogyny , a human , a shaman and a freshman",
    "Bergman , Chapman and you guys",
]


def made(text, group="female", mode="swap", use="gender_words"):
    """Return a text as it would be; its own group is the other one."""
    own = GROUPS[1 - GROUPS.index(group)]
    example = Example("x", tuple(text.split(" ")), 0, own, "train")
    data = PreparedData("d", (example,), GROUPS, ("a", "b"), "gender")
    (other,) = counterfactuals_of(data, use, {"mode": mode})(example)
    assert (other.group, len(other.words)) == (group, len(example.words))
    return " ".join(other.words)


@pytest.mark.reference
class TestSentences:
    @pytest.mark.parametrize(("male", "female"), EITHER_WAY)
    def test_either_way(self, male, female):
        for mode in ("swap", "set"):
            assert made(male, "female", mode) == female
            assert made(female, "male", mode) == male

    @pytest.mark.parametrize(("text", "expected"), FROM_MALE)
    def test_from_male(self, text, expected):
        assert made(text, "female") == expected

    @pytest.mark.parametrize(("text", "expected"), FROM_FEMALE)
    def test_from_female(self, text, expected):
        assert made(text, "male") == expected

    @pytest.mark.parametrize("text", UNCHANGED)
    @pytest.mark.parametrize("group", GROUPS)
    def test_no_gender_no_change(self, text, group):
        assert made(text, group) == text

    def test_set_leaves_no_word_of_the_other_gender(self):
        text = "He told his mother that her sons , the girl and the king left him ."
        assert made(text, "male", "set") == (
            "He told his father that his sons , the boy and the king left him ."
        )
        assert made(text, "female", "set") == (
            "She told her mother that her daughters , the girl and the queen left her ."
        )

    def test_the_published_pronouns_leave_nouns_alone(self):
        text = "Mrs. Hall , his mother , saw him and herself ; that is hers"
        assert made(text, "male", use="gender_pronouns") == (
            "Mr. Hall , her mother , saw her and himself ; that is his"
        )


def spelled(core, letters, before, after):
    case = {"lower": str, "title": lambda w: w[0].upper() + w[1:], "upper": str.upper}[letters]
    return before + case(core) + after


# What only some contexts or spellings tell the gender of, or which partner.
UNCERTAIN = {
    *_CONDITIONS,
    *("mr", "ms", "mister", "miss", "sir", "madam", "guy", "gal", "lady", "gentleman"),
    *("master", "mistress", "bachelor", "bachelorette", "bachelors", "bachelorettes"),
    *("count", "countess", "king", "queen", "kings", "queens", "prince", "princess"),
    *("duke", "duchess", "baron", "baroness", "abbot", "abbess", "priest", "priestess"),
    *("monk", "nun", "shepherd", "shepherdess", "brothers", "sisters", "sons", "daughters"),
    *("cowboys", "cowgirls"),
}
CERTAIN = [
    she
    for she, he in _PARTNERS["male"].items()
    if _PARTNERS["female"].get(he) == she and not {he, she} & UNCERTAIN
]
SPELLINGS = (
    ["lower", "title", "upper"],
    ["", "(", '"', "“", "great-"],
    ["", ",", ".", "'s", "’s", "!", ")", "'d", "-like", ";"],
)
WORDS = st.builds(
    spelled,
    st.sampled_from([*CERTAIN, "table", "green", "émigré", "42"]),
    *map(st.sampled_from, SPELLINGS),
)


def test_d26_every_word_of_the_property_below_comes_back_in_every_spelling():
    """None is left to be drawn by chance, as "Huntress" was: "Hunter" may be a name, and stays."""
    assert len(CERTAIN) > 250
    for spelling in product(*SPELLINGS):
        text = " table ".join(spelled(word, *spelling) for word in CERTAIN)
        assert made(made(text, "female"), "male") == text


@pytest.mark.property
@given(st.lists(WORDS, min_size=1, max_size=12))
def test_swapping_twice_is_no_change_and_setting_twice_is_setting_once(words):
    text = " ".join(words)
    assert made(made(text, "female"), "male") == text
    for group in GROUPS:
        once = made(text, group, "set")
        assert made(once, group, "set") == once


@pytest.mark.property
@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=12))
def test_any_text_keeps_its_number_of_words(words):
    words = ["x", *words]
    example = Example("x", tuple(words), 0, "male", "train")
    for mode in ("swap", "set"):
        other = GENERATORS.get("gender_words").function(example, "female", None, mode=mode)
        assert len(other.words) == len(words)


@pytest.mark.contract
class TestLexicon:
    def test_partners_take_the_same_article(self):
        def sound(word):
            return bool(re.match(r"[aeio]|u(?!ni)|heir", word))

        for partners in _PARTNERS.values():
            for word, partner in partners.items():
                if word not in ("he", "she"):
                    assert sound(word) == sound(partner), (word, partner)


@pytest.mark.reference
def test_the_other_version_of_every_biography_is_made():
    options = {"paired": False, "n_biographies": 2000, "imbalance": 0.9}
    for person in load_dataset("bios", DataSource(Path("nowhere"), download=False), options):
        other = GROUPS[1 - GROUPS.index(person.group)]
        for mode in ("swap", "set"):
            assert made(person.text, other, mode) == person.attributes["counterfactual"]


@pytest.fixture
def benchmark(repository, monkeypatch):
    """benchmarks/counterfactuals.py, which compares with sentences in both genders."""
    path = repository / "benchmarks" / "counterfactuals.py"
    monkeypatch.syspath_prepend(path.parent)
    spec = importlib.util.spec_from_file_location("counterfactuals_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.reference
@pytest.mark.parametrize(
    "name", ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]
)
def test_sentences_written_without_a_look_at_the_rules(benchmark, name):
    pairs = list(benchmark.own_pairs(benchmark.OWN / f"{name}.tsv"))
    assert len(pairs) > 60
    for one in benchmark.agreements_of(pairs, "gender_words").values():  # either way
        assert one.right >= 0.97 * one.differing
        assert one.changed <= 0.002 * one.same


@pytest.mark.reference
@pytest.mark.parametrize("split", ["test", "train"])
def test_geco_comes_out_as_published(benchmark, split):
    need((REAL / "geco").is_dir(), f"GECO in {REAL} (name its folder in EXPARITY_DATA)")
    her = her_right = 0
    for folder in benchmark.FOLDERS.values():
        for found in benchmark.compare(REAL / "geco" / folder, split).values():
            assert found.right >= 0.96 * found.differing
            assert found.changed <= 0.005 * found.same or "subj" in folder
            her, her_right = her + found.her, her_right + found.her_right
    assert her == {"test": 472, "train": 2083}[split]
    assert her_right >= 0.96 * her
