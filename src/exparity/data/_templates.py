"""Authored sentence templates of the generated gender corpus.

Words are separated by blanks; a slot is a word of its own:

- ``{P:form}`` mentions the protagonist, ``{O:form}`` and ``{R:form}`` further persons. The form is
  a pronoun (``he him his hers himself``), a list of gendered entries (``name role title kin elder
  child wed spouse``) or a mixture: ``who`` (name, role with article, or title), ``person`` (name or
  title; used where a trade is named too, as in "the king works as a baker").
- ``{thing}`` takes a neutral filler; ``{thing#2}`` another one of the same list.
- ``{tend.past}`` takes a verb in the form ``base``, ``s``, ``past``, ``pp`` or ``ing``.
- ``{a}`` is "a" or "an", after the word that follows.

One rule says who the protagonist is, so that the label of the variant "subj" can be told from the
sentence alone: the subject of the main clause (kind "subject"); where that subject is no gendered
person, the person it acts on, belongs to or is offered to (kind "object").
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Template:
    """One authored sentence pattern.

    Args:
        id: Slug, unique in the grammar.
        kind: "subject" or "object": the place of the protagonist in the main clause.
        text: Blank-separated words and slots.
    """

    id: str
    kind: str
    text: str


_SUBJECT_ALONE = {
    "act_short": "{P:who} {act.past} {tone} .",
    "he_tended": "{P:he} {tend.past} the {adj} {thing} .",
    "act_place": "{P:who} {act.past} {tone} {place} .",
    "act_himself": "{P:who} {act.past} to {P:himself} {scene} .",
    "front_move": "{when} , {P:who} {move.past} to {venue} with {P:his} {thing} .",
    "he_got": "{P:he} {get.past} {a} {adj} {thing} {place} .",
    "although_mood": "Although {P:he} was {mood} , {P:who} {tend.past} {P:his} {thing} {manner} .",
    "studied_works": "{P:person} , who had studied {study} for {span} , now works as {a} {job} .",
    "habit_moves": "{habit} , {P:he} {move.s} to {venue} and {tend.s} the {thing} .",
    "taught_himself": "{P:who} taught {P:himself} {hobby} and now gives lessons {place} .",
    "acting_left": "{act.ing} {tone} , {P:who} left {venue} and closed the door behind {P:him} .",
    "asked_from": '" {question} ? " asked {P:who} , who had just come from {venue} .',
    "said_twice": "{P:who} said that {fact} and that {P:he} was {mood} .",
    "after_work": "After {P:he} had {write.pp} the {work} , {P:who} {move.past} to {venue} .",
    "was_asked_to": "{P:who} was asked to {tend.base} the {adj} {thing} , but {P:he} refused .",
    "once_a_job": "Once {a} {job} , {P:person} became {a} {job#2} and never regretted {P:his}"
    " choice .",
    "hardly_reached": "{P:who} had hardly reached {venue} when {P:he} learnt that {fact} .",
    "cleft_patience": "It was {P:who} who {tend.past} the {thing} , for only {P:he} had the time .",
    "spare_time": "In {P:his} spare time , {P:who} practises {hobby} {place} .",
}

_SUBJECT_WITH_OTHERS = {
    "greet_other": "{P:who} {greet.past} {O:who} {place} {when} .",
    "greet_only": "{P:who} {greet.past} {O:who} .",
    "greet_short": "{P:name} {greet.past} {O:name} {scene} .",
    "was_greeted_by": "{P:who} was {greet.pp} by {O:who} {scene} .",
    "when_other_moved": "When {O:who} {move.past} to {venue} , {P:who} {tend.past} the {thing} for"
    " {O:him} .",
    "told_kin": "{P:who} {tell.past} {P:his} {O:kin} that {fact} .",
    "quote_kin": '" {quote} , " {P:name} told {P:his} {O:kin} {tone} .',
    "with_kin_got": "{P:name} and {P:his} {O:kin} {get.past} {a} {adj} {thing} {place} .",
    "dedicated": "{P:who} {write.past} {a} {style} {work} about {topic} and dedicated it to"
    " {P:his} {O:kin} .",
    "work_together": "{P:who} {write.past} the {work} with {O:who} , and afterwards {P:he} thanked"
    " {O:him} .",
    "whose_kin": "{P:person} , whose {O:kin} was {a} {job} , studied {study} for {span} .",
    "lent_other": "Since {O:who} had no {thing} , {P:who} lent {O:him} {a} {adj} one .",
    "where_hidden": "{P:who} did not know where {O:who} had hidden the {thing} , so {P:he} asked"
    " {O:him} .",
    "neighbour": "{P:name} , {O:title} 's neighbour , {tend.past} the {adj} {thing} {when} .",
    "possessive_away": "{P:who} {tend.past} {O:who} 's {thing} while {O:he} was {away} .",
    "seen_my_thing": '" Have you seen my {thing} ? " {P:who} asked {O:who} , but {O:he} only'
    " {act.past} .",
    "promised": "{P:who} promised {O:who} that {P:he} would {tend.base} the {thing} {soon} .",
    "asked_about": "Asked about the {work} by {O:who} , {P:who} {act.past} and said that {fact} .",
    "trusted_kin": "{P:who} trusted {P:his} {O:kin} , who had once {tend.pp} the {thing}"
    " {manner} .",
    "not_until": "Not until {O:who} had left {venue} did {P:who} {tend.base} {P:his} {thing} .",
    "wanted_job": "{P:person} wanted to become {a} {job} , but {P:his} {O:kin} hoped that {P:he}"
    " would study {study} .",
    "having_sent": "Having {write.pp} the {work} , {P:who} sent it to {O:who} , who praised it"
    " {when} .",
    "like_kin": "Like {P:his} {O:kin} , {P:person} works as {a} {job} and loves {hobby} .",
    "could_keep": "{P:he} told {O:who} that {O:he} could keep the {adj} {thing} if {O:he}"
    " {tend.past} it .",
    "better_at": "{P:who} is better at {hobby} than {P:his} {O:kin} , although {O:he} has practised"
    " for {span} .",
    "both_busy": "While {O:who} was {tend.ing} the {thing} , {P:who} was {write.ing} {a} {work}"
    " {place} .",
    "met_again": "At {venue} {P:name} met {O:who} again , whom {P:he} had not seen for {span} .",
    "showed_thing": "{P:who} showed {O:who} {a} {adj} {thing} , which {P:he} had {get.pp} {past} .",
    "asked_whether": "{P:who} asked whether {O:who} had already {write.pp} the {work} about"
    " {topic} .",
    "both_studied": "Both {P:name} and {P:his} {O:kin} studied {study} , yet only {P:he} became"
    " {a} {job} .",
    "with_beside": "With {P:his} {O:kin} beside {P:him} , {P:who} {move.past} to {venue} {when} .",
    "introduced": "{P:who} introduced {O:who} to {P:his} {R:kin} {place} {when} .",
    "wed_thanked": "The {P:wed} thanked {P:his} {O:kin} for the {adj} {thing} and {act.past}"
    " {tone} .",
    "wed_before": "Before the ceremony , the {P:wed} {greet.past} {P:his} {O:kin} {place} .",
    "spouse_city": "{P:name} and {P:his} {O:spouse} moved to {city} , where {P:he} works as {a}"
    " {job} .",
    "spouse_told": "{P:title} {tell.past} {P:his} {O:spouse} that {fact} .",
    "child_home": "The {P:child} {move.past} home from {venue} with {P:his} {O:elder} {scene} .",
    "child_showed": "The {P:child} showed {P:his} {O:elder} how to {tend.base} {a} {adj} {thing} .",
    "long_return": "When {P:who} returned to {venue} after {span} in {city} , {P:he} found that"
    " {P:his} {O:kin} had {tend.pp} the {adj} {thing} and had left {P:him} {a} {style} {work} .",
    "long_plans": "{P:person} , who had worked as {a} {job} in {city} for {span} , told {O:who}"
    " that {P:he} would soon leave {venue} and write {a} {work} .",
    "long_wait": '" {quote} , " said {P:who} , and {P:he} asked {O:who} to wait {place} until'
    " {P:he} had {tend.pp} the {thing} for {P:his} {R:kin} .",
}

_OBJECT_ALONE = {
    "impressed": "The {work} about {topic} impressed {P:who} so much that {P:he} copied it"
    " by hand .",
    "chose": "{group} chose {P:who} because of {P:his} {quality} .",
    "nobody_expected": "Nobody expected {P:him} to {tend.base} the {adj} {thing} {place} .",
    "was_his": "The {adj} {thing} {place} was {P:hers} , although nobody believed {P:him} .",
    "letter_reached": "{when} , a letter from {city} reached {P:who} {place} .",
    "birthday": "{group} gave {P:who} {a} {adj} {thing} for {P:his} birthday .",
    "could_not_stop": "Nothing could stop {P:who} from {write.ing} {P:his} {style} {work} .",
    "news": "The news that {fact} surprised {P:who} , for {P:he} had expected the opposite .",
    "stolen": "{P:who} 's {adj} {thing} was stolen {place} {when} .",
    "group_asked": '" {question} ? " {group} asked {P:who} , but {P:he} kept silent .',
}

_OBJECT_WITH_OTHERS = {
    "preferred": "{group} preferred {P:who} to {O:who} because of {P:his} {quality} .",
    "letter_from": "The letter from {O:who} reached {P:who} {when} , just as {P:he} was leaving"
    " {venue} .",
    "inspired": "{O:who} 's {work} about {topic} inspired {P:who} to study {study} .",
    "group_told_kin": "{group} {greet.past} {P:who} and told {P:his} {O:kin} about {P:his}"
    " {quality} .",
    "photograph": "A photograph {place} shows {P:who} with {P:his} {O:kin} in front of {venue} .",
    "belongs_to": "The {adj} {thing} which {O:who} had {get.pp} {past} now belongs to {P:who} .",
    "chance": "Chance brought {P:who} to {venue} , where {O:who} was already waiting for {P:him} .",
    "job_took": "The {job} took {P:who} to {venue} , but {P:his} {O:kin} stayed at home .",
    "what_surprised": "What surprised {P:who} most was that {O:who} had {tend.pp} the {thing}"
    " without {P:his} help .",
    "belonged_to_kin": "For {P:his} birthday , {group} gave {P:who} {a} {thing} that once belonged"
    " to {P:his} {O:kin} .",
    "decision": "The decision to {tend.base} the {thing} was left to {P:who} , since {O:who} was"
    " {away} .",
    "it_surprised": "It surprised {P:who} that {P:his} {O:kin} had become {a} {job} in {city} .",
    "describes": "The {work} describes {P:person} as {a} {trait} {job} and {P:his} {O:kin} as {a}"
    " {trait#2} {job#2} .",
    "long_invited": "{group} had heard so much about {P:his} {O:kin} that they invited {P:who} to"
    " {venue} and asked {P:him} how {O:he} had {tend.pp} the {adj} {thing} .",
}


def _gather() -> tuple[Template, ...]:
    groups = (
        ("subject", _SUBJECT_ALONE),
        ("subject", _SUBJECT_WITH_OTHERS),
        ("object", _OBJECT_ALONE),
        ("object", _OBJECT_WITH_OTHERS),
    )
    return tuple(
        Template(slug, kind, text) for kind, group in groups for slug, text in group.items()
    )


TEMPLATES: tuple[Template, ...] = _gather()
