"""The five answers: what each says of made-up studies, and no more than was measured."""

import io
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from made_up import GROUPS, Results, config, grid_of, make_study, verdict_row
from report.reading import Page
from rich.console import Console

from exparity.metrics.foresight import Design
from exparity.report.conclusions import conclusions_of, in_lines
from exparity.report.conclusions.advice import next_steps, partly_explained
from exparity.report.conclusions.classifiers import Service, services_of
from exparity.report.conclusions.explanations import Place
from exparity.report.conclusions.sources import DividedGap
from exparity.report.context import Context
from exparity.report.gather import Accuracy, gather
from exparity.report.provenance import ArtefactOrigin
from exparity.report.render import render_page
from exparity.report.sections.findings import in_plain_words
from exparity.report.terminal import verdicts_of
from exparity.stats.planted import SHARES, PlantedGap

CLASSIFIER, GAPS, SOURCES, METHOD, NEXT = (
    "Does the classifier work for everybody?",
    "Are the explanations of one group worse?",
    "Why do scores differ?",
    "Which method should I use?",
    "What next, and what not to say?",
)


def test_rows_that_do_not_count_are_counted():
    accuracy = SimpleNamespace(overall=SimpleNamespace(dataset="posts", n=300))
    origins = [ArtefactOrigin("explanations", {"dataset": "posts"}, {"rows": n}) for n in (9, 300)]
    context = SimpleNamespace(origins=origins, study=SimpleNamespace(accuracies=[accuracy]))
    (partly,) = partly_explained(context)
    assert partly.words == "of 300 predicted texts 9–300 are explained"


UNTESTED = {
    "label_mass_low": "the model hardly answers the prompt with a class: write a prompt that ends",
    "collapsed": "the classifier predicts one class for every text: train it with a lower",
    "constant": "all scores are equal, which is no gap on these texts: take another metric",
    "too_few": "a group has fewer than two texts with a score: take more texts",
    "missing_cells": "some texts have no score in some of the trainings: run the experiment",
    "of_a_plugin": "of a plugin: look at the scores",
}


@pytest.fixture(scope="module")
def tested(tmp_path_factory):
    settings = config(datasets=1, models=1, seeds=1, methods=2, metrics=2)
    folder = make_study(tmp_path_factory.mktemp("tested"), settings, pairs=12)
    return gather(folder, grid_of(settings))


def untested(study, flag, n=None):
    """The study with the first n of its standing cells not tested."""
    rows, left = [], len(study.judged) if n is None else n
    for row in study.judged:
        if row.stands and not row.is_random and left:
            left -= 1
            row = replace(row, verdict=None, verdict_strict=None, flags=[flag])
        rows.append(row)
    return replace(study, judged=rows)


def printed(study):
    console = Console(width=10_000, file=io.StringIO())
    for part in verdicts_of(study.judged, 0.2, 0.95):
        console.print(part)
    return console.file.getvalue()


def answers_of(study):
    return conclusions_of(Context(study, study.results))


@pytest.mark.parametrize("flag", UNTESTED)
def test_where_nothing_was_tested_everything_says_what_was_not_measured_and_why(tested, flag):
    study = untested(tested, flag)
    answers = answers_of(study)
    said = f"4 of 4 comparisons were not tested, because {UNTESTED[flag]}"
    for answer in answers.values():
        assert "Nothing, for" not in answer.text
        assert "No gap" not in answer.text
    assert answers[GAPS].text.startswith("Unknown: nothing could be tested. 4 of 4")
    assert answers[SOURCES].text.startswith("Unknown: ")
    reason, change = UNTESTED[flag].split(": ")
    assert f"{change[0].upper()}{change[1:]}" in answers[NEXT].text
    assert "4 of 4 comparisons were not tested." in answers[NEXT].text
    assert reason not in answers[NEXT].text  # answer 2 says why
    on_terminal = "\n".join(in_plain_words(Context(study, study.results)))
    for text in (on_terminal, printed(study), render_page(Context(study, study.results))):
        assert said in text
    assert "0 of 4 results are clear" in on_terminal
    assert "explanations: decided 0 of 4 comparisons" in printed(study)
    assert flag == "of_a_plugin" or f"not tested: {flag}" not in printed(study)


def test_what_could_not_be_tested_is_not_called_a_lack_of_random_explanations(tested):
    study = untested(tested, "collapsed")
    unknown = [replace(row, gap_chance=math.nan) for row in study.judged]
    text = answers_of(replace(study, judged=unknown))[SOURCES].text
    assert text == "Unknown: nothing could be tested."


def test_page_terminal_and_audit_count_the_same_cells_with_those_not_tested(tested):
    study = untested(tested, "too_few", 1)
    page = render_page(Context(study, study.results))
    text = " ".join(Page(page).text.split())
    assert re.search(r"Decided: \d of 4 comparisons: .*, 1 not tested", text)
    assert re.search(r"explanations: decided \d of 4 comparisons .*, 1 not tested", printed(study))
    on_terminal = "\n".join(in_plain_words(Context(study, study.results)))
    assert re.search(r"\d of 4 results are clear: .*1 not tested", on_terminal)
    assert page.count('class="tile untested" title="model_0: not tested: a group has fewer') == 1
    assert "1 of 4 comparisons was not tested, because a group has" in on_terminal
    assert "Nothing, for" not in answers_of(study)[NEXT].text


def test_texts_that_were_left_out_come_before_other_texts(tested):
    undecided = [
        row if row.is_random else replace(row, verdict="undecided") for row in tested.judged
    ]
    context = Context(replace(tested, judged=undecided), tested.results)
    origins = [ArtefactOrigin("explanations", {"dataset": "data_0"}, {"rows": 10})]
    context.__dict__["origins"] = origins
    answer = conclusions_of(context)[NEXT]
    advice = " ".join([answer.text, *answer.more])
    left = advice.index("that were left out: of 24 predicted")
    more = advice.index("still more texts")
    assert left < more
    assert "leave out --quick" in advice


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    settings = config(datasets=2, models=2, seeds=3, methods=3, metrics=2)
    folder = make_study(tmp_path_factory.mktemp("five"), settings, pairs=12)
    return gather(folder, grid_of(settings))


def changed(study, rows_of, **changes):
    """The study with changed columns in the standing rows that are chosen."""
    rows = [
        replace(row, **changes) if row.stands and not row.is_random and rows_of(row) else row
        for row in study.judged
    ]
    return replace(study, judged=rows)


def test_five_questions_in_order_each_answered_in_sentences(study):
    answers = answers_of(study)
    assert list(answers) == [CLASSIFIER, GAPS, SOURCES, METHOD, NEXT]
    for answer in answers.values():
        for sentence in (answer.text, *answer.more):
            assert sentence.endswith(".")
            assert "nan" not in sentence.lower().split()


def test_page_and_terminal_say_the_same(study):
    context = Context(study, study.results)
    page = " ".join(Page(render_page(context)).text.split())
    lines = [line for line in in_plain_words(context) if line[:2] in ("1.", "2.", "3.", "4.", "5.")]
    assert lines == list(in_lines(answers_of(study)))
    for question, answer in answers_of(study).items():
        assert question in page
        for sentence in (answer.text, *answer.more):
            assert " ".join(sentence.split()) in page


def test_the_answers_are_the_first_thing_on_the_page(study):
    page = render_page(Context(study, study.results))
    assert page.index('class="conclusions"') < page.index('class="picture"')


def test_anchors_of_evidence_are_sections_of_the_page(study):
    page = render_page(Context(study, study.results))
    anchors = {answer.evidence for answer in answers_of(study).values()} - {""}
    assert anchors == {"bias", "disparity", "ranking"}
    for anchor in anchors:
        assert f'<section id="{anchor}"' in page


def test_a_page_counts_the_flags_that_limit_its_verdicts(study):
    standing = [row for row in study.judged if row.stands and not row.is_random]
    rows = [replace(row, flags=["driven_by_one_training"]) for row in standing]
    page = render_page(Context(replace(study, judged=rows), study.results))
    assert f"<code>driven_by_one_training</code>, {len(rows)} comparisons: " in page
    assert "No test is flagged" not in page


def test_a_classifier_that_serves_one_group_worse_comes_first(study):
    rows = []
    for row in study.bias:
        value = {"male": 0.95, "female": 0.55}.get(row.group, row.value)
        if row.quantity == "accuracy":
            row = replace(row, value=value)
        if row.quantity == "accuracy_gap":
            row = replace(row, value=0.4, ci_low=0.2, ci_high=0.6)
        rows.append(row)
    answers = answers_of(replace(study, bias=rows))
    assert "is right for 95 of 100 male and 55 of 100 female texts" in answers[CLASSIFIER].text
    assert "Deal with this first" in answers[CLASSIFIER].text
    assert "Improve the classifier for female texts" in answers[NEXT].text


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ((0.9, 0.9, 0.9, 0.902), "is right for 90 of 100 texts of each of 4 groups"),
        (
            (0.9, 0.5, 0.7, 0.98),
            "is right for 98 of 100 d texts (most of 4 groups) and 50 of 100 b texts (fewest)",
        ),
        ((0.9, 0.5), "is right for 90 of 100 a and 50 of 100 b texts"),
    ],
)
def test_shares_of_many_groups_name_both_ends_and_what_they_are(shares, words):
    by_group = dict(zip("abcd", shares, strict=False))
    service = Service("d", "m", by_group, differs=True, surer_of="")
    assert service.sentence == f"On d, m {words}."


@pytest.mark.parametrize(
    ("low", "groups", "differs"),
    # In one of three pairs, chance shows such a difference more often.
    [(0.01, "ab", True), (-0.01, "ab", False), (0.01, "abc", False), (0.04, "abc", True)],
)
def test_shares_differ_where_chance_hardly_shows_it_in_any_pair(study, low, groups, differs):
    bias = study.bias[0]
    by_group = {group: replace(bias, value=0.9 - 0.2 * (group == "b")) for group in groups}
    ends = {"value": 0.2, "ci_low": low, "ci_high": 0.4 - low}
    gap = replace(bias, quantity="accuracy_gap", group="a", group_b="b", **ends)
    (service,) = services_of(
        SimpleNamespace(
            bias=[gap],
            accuracies=[Accuracy(bias, by_group)],
            judged=[],
            statistics=study.statistics,
            declared=lambda dataset: SimpleNamespace(groups=groups),
            display=lambda kind, name: name,
        )
    )
    assert service.differs == differs
    assert service.may_be_chance != differs
    assert ("(a difference that may be chance)" in service.sentence) != differs


def test_a_classifier_that_is_harder_to_foresee_is_named_beside_the_best_possible():
    study = SimpleNamespace(place=lambda *ids: "d", display=lambda kind, id: id, run="training")
    facts = {"quantity": "score", "metric_kind": "simulatability", "ceiling_a": 0.9}
    for ceiling, flags in ((0.5, ["ceilings_differ"]), (0.89, [])):
        row = verdict_row("undecided", ceiling_b=ceiling, flags=flags, **facts)
        sentence = Place(study, "d", "m", [row]).sentence()
        why = ", since the classifier itself is harder to foresee on b texts"
        assert f"the best possible is about 0.90 for a and {ceiling:.2f} for b" in sentence
        assert (why in sentence) == bool(flags)


def test_equally_served_groups_are_no_reason_to_deal_with_anything(study):
    alike = [replace(row, surer_of="") for row in study.judged]
    rows = [
        replace(row, value=0.9) if row.quantity == "accuracy" else
        replace(row, value=0.0, ci_low=-0.1, ci_high=0.1)
        if row.quantity == "accuracy_gap" else row
        for row in study.bias
    ]  # fmt: skip
    text = answers_of(replace(study, bias=rows, judged=alike))[CLASSIFIER].text
    assert "Deal with this first" not in text
    assert "surer" not in text


def test_gaps_are_written_with_the_levels_of_both_groups(study):
    facts = {"verdict": "different", "better_group": "male", "mean_a": 0.41, "mean_b": 0.32}
    facts |= {"d": 0.5, "quantity": "score", "skill_a": math.nan, "skill_b": math.nan}
    planted = changed(study, lambda row: row.dataset == "data_1", **facts)
    text = answers_of(planted)[GAPS].text
    assert text.startswith("On data_1, model_0, by comprehensiveness (mean fall in target ")
    assert (
        "tokens are removed), male texts have the better scores: Gradient 0.41 (female 0.32), "
        in text
    )


def test_without_forward_simulation_a_gap_is_of_one_metric_that_is_explained_once(study):
    facts = {"verdict": "different", "better_group": "male", "d": 0.5, "quantity": "score"}
    others = changed(study, lambda row: True, verdict="undecided")
    planted = changed(others, lambda row: row.metric == "sufficiency", **facts)
    answer = answers_of(planted)[GAPS]
    text = " ".join([answer.text, *answer.more])
    gaps = "sufficiency (mean fall in target probability when only the highest-scored tokens are"
    assert answer.text.startswith(f"On data_0, model_0, by {gaps}")
    assert text.count(gaps) == 1
    assert text.count("by sufficiency, male texts have the better scores: Gradient ") == 3
    assert text.count("by comprehensiveness (") == 1
    assert text.count("by comprehensiveness, whether male and female texts differ is open") == 3
    assert "Gradient by " not in text


def test_how_far_a_skill_is_is_said_once(study):
    facts = {"verdict": "different", "better_group": "male", "d": 0.5, "quantity": "skill"}
    facts |= {"skill_a": 0.8, "skill_b": 0.4}
    planted = changed(study, lambda row: row.metric == "comprehensiveness", **facts)
    text = answers_of(planted)[GAPS].text
    assert text.startswith("How far do explanations get from random ones (0) to the best found (1)")
    assert "male texts have explanations that get further: Gradient 0.80 (female 0.40), " in text
    assert text.count("best found") == 1


def test_two_levels_that_differ_have_digits_that_do(study):
    facts = {"verdict": "different", "better_group": "male", "mean_a": 0.9874, "mean_b": 0.9861}
    facts |= {"d": 0.5, "quantity": "score", "skill_a": math.nan, "skill_b": math.nan}
    planted = changed(study, lambda row: row.dataset == "data_1", **facts)
    assert "0.987 (female 0.986)" in answers_of(planted)[GAPS].text


def test_an_unsettled_group_comes_with_how_many_trainings_favour_it(study):
    facts = {"better_group": "female", "mean_a": 0.42, "mean_b": 0.63, "d": -0.7, "n_seeds": 5}
    facts |= {"quantity": "score", "skill_a": math.nan, "skill_b": math.nan}
    facts |= {"seeds_above": 1, "seeds_below": 4}

    def told(verdict):
        cells = changed(study, lambda row: row.dataset == "data_1", **facts, verdict=verdict)
        return answers_of(cells)[GAPS].text

    assert "0.63 (male 0.42)" in told("considerable")
    assert "(each in 4 of 5 trainings)" in told("considerable")
    assert "0.63 (male 0.42)" in told("different")
    assert "of 5 trainings" not in told("different")


def test_a_gap_of_scores_alone_is_named_as_what_not_to_say(study):
    """Where scores differ and what stands does not, nothing is concluded of explanations."""
    rows = []
    for row in study.judged:
        if row.is_random:
            rows.append(row)
        elif row.quantity == "score":
            rows.append(replace(row, verdict="different", d=1.0, better_group="male"))
        else:
            rows.append(replace(row, verdict="undecided"))
    text = answers_of(replace(study, judged=rows))[NEXT].text
    assert "Do not say that male texts are explained better because their scores are better" in text


def test_sources_of_the_largest_gap_add_up_in_words(study):
    parts = {"gap_chance": 0.2, "gap_room": 0.1, "gap_explanations": 0.1, "estimate": 0.4}
    rows = [
        replace(row, **parts, verdict="different", d=1.0, better_group="male")
        if row.quantity == "score" else row
        for row in study.judged
    ]  # fmt: skip
    text = answers_of(replace(study, judged=rows))[SOURCES].text
    assert " is 0.40 higher for male texts with " in text
    assert "0.20 of it is there with random explanations, 0.10 because male texts" in text
    assert "at most 0.10 (25 %) belongs to the explanations" in text


def test_a_small_gap_is_told_with_two_digits(study):
    parts = {"gap_chance": 0.0034, "gap_room": -0.0002, "gap_explanations": 0.0018}
    facts = {"estimate": 0.005, "verdict": "different", "d": 1.0, "better_group": "male", **parts}
    rows = [replace(row, **facts) if row.quantity == "score" else row for row in study.judged]
    text = answers_of(replace(study, judged=rows))[SOURCES].text
    assert " is 0.0050 higher for male texts with " in text
    assert "0.0034 of it is there with random explanations, −0.0002 because male texts" in text
    assert "leave less to find; at most 0.0018 (36 %) belongs to the explanations" in text


@pytest.mark.parametrize(
    ("chance", "room", "explanations", "words"),
    [
        (0.2, 0.1, 0.1, "0.20 of it is there with random explanations, 0.10 because male texts "
         "leave more to find; at most 0.10 (25 %) belongs to the explanations."),
        (0.5, -0.2, 0.1, "Random explanations differ more, by 0.50, −0.20 because male texts "
         "leave less to find; at most 0.10 (25 %) belongs to the explanations."),
        (-0.1, 0.6, -0.1, "Random explanations differ the other way, by 0.10, 0.60 because male "
         "texts leave more to find; explanations make it smaller, by 0.10."),
        (-0.004, 0.404, -0.004, "Hardly any of it is there with random explanations, 0.40 because "
         "male texts leave more to find; hardly any of it belongs to the explanations."),
        (0.1, math.nan, math.nan, "0.10 of it is there with random explanations; how much of the "
         "rest belongs to the explanations was not measured."),
        (0.403, math.nan, math.nan, "All of it is there with random explanations, and what the "
                                    "real ones change was not measured."),
        (0.5, math.nan, math.nan, "Random explanations differ more, by 0.50, and what the real "
         "ones change was not measured."),
    ],
)  # fmt: skip
def test_parts_of_a_gap_are_told_by_their_sign_and_size(study, chance, room, explanations, words):
    parts = {"gap_chance": chance, "gap_room": room, "gap_explanations": explanations}
    row = next(row for row in study.judged if row.quantity == "score" and not row.is_random)
    gap = DividedGap(study, replace(row, **parts, estimate=0.4), is_of_explanations=False)
    assert gap.sentence().endswith(f". {words}")


def test_what_not_to_say_of_many_groups_is_one_sentence(study):
    rows = []
    for row in study.judged:
        if row.is_random or row.is_description:
            continue
        favoured = "male" if row.method == next(iter(study.methods)) else "female"
        verdict = "different" if row.quantity == "score" else "undecided"
        rows.append(replace(row, verdict=verdict, better_group=favoured))
    text = answers_of(replace(study, judged=rows))[NEXT].text
    assert text.count("Do not say that") == 1
    assert "Do not say that texts of one group are explained better" in text


def test_one_method_is_not_recommended(tmp_path):
    settings = config(datasets=1, models=1, seeds=2, methods=1, metrics=1)
    folder = make_study(tmp_path, settings, pairs=8)
    answer = answers_of(gather(folder, grid_of(settings)))[METHOD]
    assert answer.text == "Only one method was run, so none can be recommended."


def test_many_groups_take_one_sentence(tmp_path):
    settings = config(datasets=1, models=1, seeds=2, methods=2, metrics=1)
    groups = ("north", "east", "south", "west")
    folder = make_study(tmp_path, settings, pairs=8, groups=groups)
    study = gather(folder, grid_of(settings))
    text = answers_of(study)[GAPS].text
    assert text.count("On ") == 1
    assert re.search(r"the 4 groups|of 6 pairs", text)


def test_a_study_without_groups_asks_nothing(tmp_path):
    study = SimpleNamespace(compares=False)
    assert conclusions_of(Context(study, tmp_path)) == {}


@pytest.fixture(scope="module")
def foreseen(tmp_path_factory):
    """A study of one dataset with forward simulation, and what was planted in it."""
    settings = config(datasets=1, models=1, seeds=2, methods=2, metrics=1)
    settings["metrics"]["forward_simulation"] = {}
    folder = make_study(tmp_path_factory.mktemp("foreseen"), settings, pairs=12)

    def planted(*found):
        """The study in whose groups worsenings from these shares on are found.

        None of not any, NaN where the groups cannot be compared.
        """
        rows = [
            {
                "witness": "forward_simulation",
                **vars(PlantedGap(*GROUPS, worse, share)), **Design("word")._asdict(),
                "p": math.nan if least != least else float(least is None or share < least),
            }
            for worse, least in zip(GROUPS, found, strict=True)
            for share in SHARES
        ]  # fmt: skip
        Results(folder, GROUPS).write("positive_control", rows, "data_0", "model_0")
        return gather(folder, grid_of(settings))

    return planted


def test_what_would_have_been_found_is_said_where_the_explanations_are_judged(foreseen):
    study = foreseen(0.3, 0.1)
    said = "A worsening of 30 % planted in one group's explanations would have been found."
    assert answers_of(study)[GAPS].text.endswith(said)
    assert said in "\n".join(in_plain_words(Context(study, study.results)))


def test_what_would_not_have_been_found_is_said_there_too(foreseen):
    text = answers_of(foreseen(None, 0.5))[GAPS].text
    assert text.endswith(
        f"Not even a worsening of 50 % planted in the explanations of {GROUPS[0]} texts would have "
        f"been found; one of 50 % in those of {GROUPS[1]} texts would have been."
    )


def test_nothing_is_found_in_groups_that_cannot_be_compared(foreseen):
    text = answers_of(foreseen(math.nan, 0.3))[GAPS].text
    assert f"Not even a worsening of 50 % planted in the explanations of {GROUPS[0]} texts" in text
    assert "Not even" in answers_of(foreseen(math.nan, math.nan))[GAPS].text


def test_where_nothing_was_planted_nothing_is_said_of_it(study):
    assert "planted" not in answers_of(study)[GAPS].text


@pytest.mark.parametrize(
    ("strengths", "steps"),
    [
        ({"x": 1.0}, ["Compare on other texts, in which every class has texts of each group."]),
        (
            {"x": 1.0, "y": 0.0, "z": 0.3},
            [
                "Compare on other texts than those of x, in which every class has texts of each "
                "group.",
                "Compare within classes on z, since label and group go together: a click on a "
                "result in the section Disparity shows the difference at equal class.",
            ],
        ),
        ({"x": 0.0, "y": 0.0}, []),
    ],
)
def test_advice_on_label_and_group_names_the_datasets_that_it_is_about(strengths, steps):
    study = SimpleNamespace(
        standing=[], accuracies=[], bias=[], judged=[], verdicts={}, models={}, pairs=[],
        run="training", statistics=SimpleNamespace(threshold=0.2),
        dependence={name: {"test": strength} for name, strength in strengths.items()},
        display=lambda kind, name: name,
    )  # fmt: skip
    context = SimpleNamespace(study=study, origins=[], found_by=lambda analysis: {})
    answer = next_steps(context)
    told = " ".join([answer.text, *answer.more])
    assert [step for step in steps if step in told] == steps
    assert told.count("Compare ") == len(steps)
