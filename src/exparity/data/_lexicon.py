"""Authored word lists of the generated gender corpus.

Gendered entries are (male, female) pairs. Each male word has one female partner and the other way
round, so that neither group has the richer vocabulary; the pronouns are the one exception English
imposes ("his" and "him" both become "her"). Both members of a pair have the same number of words
and take the same article, so that nothing but the gendered word itself differs within a pair.

Neutral entries never predict a gender: every entry is dealt to both versions of a pair.
"""

from __future__ import annotations

GenderedEntry = tuple[str, str]


def _paired(text: str) -> tuple[GenderedEntry, ...]:
    pairs = (pair.split() for pair in text.split(","))
    return tuple((male, female) for male, female in pairs)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(" ".join(part.split()) for part in text.split(";"))


# Names from many countries, each given to one gender only; partners are arbitrary.
NAMES: tuple[GenderedEntry, ...] = _paired(
    """
    James Maria, Omar Ingrid, Hiroshi Carmen, Carlos Aisha, Dmitri Priya, Kwame Charlotte, Lars
    Fatima, Giovanni Abena, Rajesh Olga, Ahmed Keiko, Pedro Hannah, Stefan Lakshmi, Patrick
    Leila, Kofi Giulia, Takashi Bridget, Mehmet Natasha, Pierre Amina, Ivan Akiko, Sven Lucia,
    Diego Zeynep, Thomas Ananya, Vikram Astrid, Hassan Emma, Tomasz Wanjiru, Matteo Shirin,
    Henrik Meera, Nikolai Rosa, Oscar Elif, Emeka Agnieszka, Arjun Fiona, George Adaeze, Yusuf
    Isabella, Antonio Freya, Miguel Svetlana, Samuel Sachiko, Declan Chiara, Gareth Khadija,
    Hamish Yoko, Kenji Ruth, Reza Sigrid, Tariq Helen, Mateusz Niamh, Fernando Deepa, Chinedu
    Greta, Ravi Madeleine, Sanjay Pilar, Edward Nasrin, Walter Beatriz, Jorge Martha, Klaus Akua
    """
)

ROLES: tuple[GenderedEntry, ...] = _paired(
    """
    waiter waitress, actor actress, host hostess, hero heroine, king queen, prince princess,
    duke duchess, count countess, baron baroness, heir heiress, landlord
    landlady, widower widow, headmaster headmistress, chairman chairwoman, spokesman
    spokeswoman, businessman businesswoman, policeman policewoman, salesman saleswoman,
    sportsman sportswoman, craftsman craftswoman, nobleman noblewoman, horseman horsewoman,
    cameraman camerawoman, councilman councilwoman, stuntman stuntwoman, hunter huntress, steward
    stewardess, man woman, sorcerer sorceress, shepherd shepherdess, cowboy cowgirl
    """
)

ELDERS: tuple[GenderedEntry, ...] = _paired(
    """
    father mother, grandfather grandmother, uncle aunt, great-uncle great-aunt,
    stepfather stepmother, godfather godmother, grandpa grandma, brother sister
    """
)

# Spouses stand apart: "the widow told her wife" would contradict itself.
KIN: tuple[GenderedEntry, ...] = ELDERS + _paired(
    """
    son daughter, nephew niece, grandson granddaughter, stepson stepdaughter,
    godson goddaughter, half-brother half-sister, stepbrother stepsister,
    father-in-law mother-in-law, brother-in-law sister-in-law, son-in-law daughter-in-law
    """
)

TITLES: tuple[GenderedEntry, ...] = (("Mr.", "Mrs."), ("Lord", "Lady"))

# No surname that inflects for gender (Kowalski, Ivanova) or is given to one gender only (Singh).
SURNAMES: tuple[str, ...] = _listed(
    """Hall; Okafor; Tanaka; Novak; Garcia; Haddad; Larsen; Moreau; Patel; Schmidt; Rossi; Nguyen;
    Osei; Demir; Murphy; Costa; Chen; Becker; Lindgren; Mensah; Silva; Kimura; Ortiz; Dubois;
    Walsh"""
)

# Everyday titles are commoner than noble ones.
_TITLE_WEIGHTS = {"Mr.": 3, "Lord": 1}

GENDERED: dict[str, tuple[GenderedEntry, ...]] = {
    "name": NAMES,
    "role": tuple((f"the {male}", f"the {female}") for male, female in ROLES),
    "title": tuple(
        (f"{male} {surname}", f"{female} {surname}")
        for male, female in TITLES
        for surname in SURNAMES
        for _ in range(_TITLE_WEIGHTS[male])
    ),
    "kin": KIN,
    "elder": ELDERS,
    "child": (("boy", "girl"), ("schoolboy", "schoolgirl"), ("lad", "lass")),
    "wed": (("groom", "bride"), ("groomsman", "bridesmaid")),
    "spouse": (("husband", "wife"),),
}

# A mixed mention picks one of the lists above per pair; repetition is weight.
MIXED: dict[str, tuple[str, ...]] = {
    "who": ("name",) * 8 + ("role",) * 8 + ("title",) * 4,
    "person": ("name",) * 3 + ("title",),
}

PRONOUNS: dict[str, GenderedEntry] = {
    "he": ("he", "she"),
    "him": ("him", "her"),
    "his": ("his", "her"),
    "hers": ("his", "hers"),
    "himself": ("himself", "herself"),
}

VERB_FORMS: tuple[str, ...] = ("base", "s", "past", "pp", "ing")

# One verb a line, in the order of VERB_FORMS.
VERBS: dict[str, tuple[str, ...]] = {
    "tend": (
        "repair repairs repaired repaired repairing",
        "clean cleans cleaned cleaned cleaning",
        "wrap wraps wrapped wrapped wrapping",
        "photograph photographs photographed photographed photographing",
        "sketch sketches sketched sketched sketching",
        "pack packs packed packed packing",
        "label labels labelled labelled labelling",
        "inspect inspects inspected inspected inspecting",
        "examine examines examined examined examining",
        "hide hides hid hidden hiding",
        "test tests tested tested testing",
        "measure measures measured measured measuring",
    ),
    "get": (
        "buy buys bought bought buying",
        "borrow borrows borrowed borrowed borrowing",
        "find finds found found finding",
        "order orders ordered ordered ordering",
        "choose chooses chose chosen choosing",
        "discover discovers discovered discovered discovering",
        "receive receives received received receiving",
    ),
    "greet": (
        "greet greets greeted greeted greeting",
        "thank thanks thanked thanked thanking",
        "congratulate congratulates congratulated congratulated congratulating",
        "encourage encourages encouraged encouraged encouraging",
        "praise praises praised praised praising",
        "interview interviews interviewed interviewed interviewing",
        "photograph photographs photographed photographed photographing",
        "recognise recognises recognised recognised recognising",
        "consult consults consulted consulted consulting",
        "applaud applauds applauded applauded applauding",
        "welcome welcomes welcomed welcomed welcoming",
    ),
    "tell": (
        "tell tells told told telling",
        "remind reminds reminded reminded reminding",
        "inform informs informed informed informing",
        "assure assures assured assured assuring",
        "convince convinces convinced convinced convincing",
    ),
    "write": (
        "write writes wrote written writing",
        "finish finishes finished finished finishing",
        "revise revises revised revised revising",
        "publish publishes published published publishing",
        "translate translates translated translated translating",
        "read reads read read reading",
        "edit edits edited edited editing",
        "discuss discusses discussed discussed discussing",
    ),
    "move": (
        "walk walks walked walked walking",
        "hurry hurries hurried hurried hurrying",
        "return returns returned returned returning",
        "run runs ran run running",
        "stroll strolls strolled strolled strolling",
        "rush rushes rushed rushed rushing",
    ),
    "act": (
        "smile smiles smiled smiled smiling",
        "nod nods nodded nodded nodding",
        "laugh laughs laughed laughed laughing",
        "hum hums hummed hummed humming",
        "sigh sighs sighed sighed sighing",
        "whistle whistles whistled whistled whistling",
        "chuckle chuckles chuckled chuckled chuckling",
    ),
}

NEUTRAL: dict[str, tuple[str, ...]] = {
    "thing": _listed(
        """clock; violin; lantern; camera; typewriter; telescope; umbrella; guitar; lamp; kettle;
        accordion; compass; bicycle; suitcase; radio; microscope; globe; flute; atlas; easel"""
    ),
    "adj": _listed(
        """old; heavy; antique; expensive; unusual; small; elegant; enormous; wooden; precious;
        ordinary; tiny; Italian; valuable"""
    ),
    "work": _listed(
        "novel; poem; report; song; speech; essay; play; article; story; letter; biography; book"
    ),
    "style": _listed(
        "short; amusing; important; long; honest; witty; influential; unusual; thoughtful"
    ),
    "topic": _listed(
        """the sea; the old railway; honey bees; the moon; mountain villages; the history of tea;
        friendship; the city archive; migrating birds; the invention of paper; life on an island"""
    ),
    "job": _listed(
        """engineer; doctor; nurse; teacher; pilot; baker; lawyer; carpenter; librarian; architect;
        gardener; surgeon; translator; mechanic; chemist; editor; farmer; judge; electrician;
        accountant"""
    ),
    "study": _listed(
        "physics; medicine; law; music; history; botany; engineering; philosophy; geology; Arabic"
    ),
    "hobby": _listed(
        """chess; calligraphy; juggling; origami; fencing; yoga; drawing; embroidery; archery;
        sign language; Italian; table tennis"""
    ),
    "group": _listed(
        """the neighbours; the villagers; the reporters; the students; the musicians;
        the members of the council; the travellers; the visitors; the researchers; the trainees"""
    ),
    "place": _listed(
        """in the garden; at the market; near the harbour; in the kitchen; on the platform;
        beside the river; in the courtyard; by the fountain; on the ferry; in the attic;
        at the airport; under the bridge; on the balcony; in the park"""
    ),
    "venue": _listed(
        """the library; the museum; the theatre; the bakery; the laboratory; the town hall;
        the hospital; the concert hall; the post office; the station; the university;
        the workshop; the embassy; the lighthouse"""
    ),
    "city": _listed(
        "Lisbon; Nairobi; Oslo; Osaka; Lima; Accra; Glasgow; Istanbul; Hanoi; Montreal; Mumbai"
    ),
    "when": _listed(
        """on Monday; last winter; one evening; before dawn; a week later; after the storm;
        during the festival; at noon; early in the morning; late at night; the following day;
        on a rainy afternoon"""
    ),
    "past": _listed(
        """on Monday; the previous winter; before the war; a week earlier; in early spring;
        during the festival; many years before; the day before; on an earlier journey"""
    ),
    "habit": _listed(
        """every morning; on Sundays; twice a week; every spring; in the evenings; once a month;
        most afternoons; on rainy days"""
    ),
    "soon": _listed(
        """before winter; by Friday; the next day; within a week; before the concert;
        by the end of the month; in the afternoon"""
    ),
    "span": _listed(
        "two years; six months; a decade; many weeks; three winters; several years; nearly a year"
    ),
    "manner": _listed(
        "carefully; patiently; slowly; quickly; gladly; calmly; without delay; in silence"
    ),
    "tone": _listed("quietly; cheerfully; briefly; contentedly; thoughtfully; softly"),
    "mood": _listed(
        """tired; nervous; hungry; worried; thirsty; homesick; unwell; impatient; sleepy; restless;
        distracted; anxious"""
    ),
    "quality": _listed(
        """patience; courage; kindness; humour; experience; honesty; determination; imagination;
        curiosity; generosity"""
    ),
    "trait": _listed(
        "patient; inventive; honest; ambitious; gifted; unusual; careful; outstanding; modest"
    ),
    "away": _listed(
        "abroad; asleep; at work; on holiday; out of town; on a business trip; at a conference"
    ),
    "scene": _listed(
        """while the band was playing; as the bells rang; before the doors opened;
        after the lecture had ended; although it was raining; while the snow was falling;
        when the lights came on; shortly after the rain had stopped"""
    ),
    "fact": _listed(
        """the bridge had been closed; the train would be late; the results had arrived;
        the concert had been moved; the road was open again; the boat had left the harbour;
        the election had been postponed; the power had returned; the shops would close early;
        the exhibition was over; a storm was coming; the last seats had been sold"""
    ),
    "quote": _listed(
        """The bridge is closed; The train is late again; Dinner is ready; The results are here;
        The concert starts at eight; There is a storm coming; It is getting late;
        The road is open again; The shops are still open; Nobody has seen the key"""
    ),
    "question": _listed(
        """Where is the key; When does the train leave; Who left the window open;
        How far is the station; Is there any coffee left; What time is it; Why is it so dark;
        Does the lift work again; Where can we park"""
    ),
}
