"""Scores of other tools: on the model's tokens, and one line for what is wrong."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import exparity
from exparity import InputError

TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour ."]
TARGETS = [0, 1]


@pytest.fixture
def made(classifier):
    """What the other tool is."""
    return exparity.explain(classifier, TEXTS, TARGETS, "gradient_x_input")


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def own(explanations, **more):
    return [
        {
            "text": one.text,
            "target": one.target,
            "tokens": list(one.tokens),
            "scores": one.scores.tolist(),
            **more,
        }
        for one in explanations
    ]


def imported(classifier, path, texts=TEXTS, targets=TARGETS):
    return exparity.explain(classifier, texts, targets, "imported", path=path)


def assert_same(explanations, expected):
    for one, other in zip(explanations, expected, strict=True):
        assert one.scores.tobytes() == other.scores.tobytes()
        assert one.target == other.target
        assert one.tokens == other.tokens


def test_scores_of_tokens_come_back_to_the_bit(classifier, made, tmp_path):
    assert_same(imported(classifier, write(tmp_path / "a.jsonl", own(made)[::-1])), made)


def thermostat(explanations, length=32):
    """Rows as Thermostat has them: ids and scores are padded to one length."""
    for number, one in enumerate(explanations):
        padding = length - len(one.token_ids)
        yield {
            "attributions": [*one.scores.tolist(), *[0.0] * padding],
            "idx": number,
            "input_ids": [*one.token_ids.tolist(), *[0] * padding],
            "label": 1 - one.target,
            "predictions": [float(c == one.target) for c in range(2)],
        }


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("spare", [0, 1, 9])
def test_rows_of_thermostat_explain_their_ids(classifier, made, tmp_path, kind, spare):
    length = max(len(one.token_ids) for one in made) + spare
    rows = list(thermostat(made, length))
    path = tmp_path / f"thermostat.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        write(path, rows)
    assert_same(imported(classifier, str(path)), made)


def test_a_row_of_thermostat_of_two_lengths_is_refused(classifiers, made, tmp_path):
    (row, *_) = thermostat(made)
    path = write(tmp_path / "mine.jsonl", [{**row, "attributions": [0.5]}])
    with pytest.raises(InputError, match=r"mine\.jsonl:1: 32 input_ids and 1 attributions"):
        imported(classifiers["bert"], path)


@pytest.mark.parametrize("column", ["attributions", "input_ids", "predictions"])
@pytest.mark.parametrize("value", [[], None, ["a"]])
def test_a_row_of_thermostat_that_holds_something_else_is_refused(
    classifiers, made, tmp_path, column, value
):
    (row, *_) = thermostat(made)
    path = write(tmp_path / "mine.jsonl", [{**row, column: value}])
    with pytest.raises(InputError, match=rf"mine\.jsonl:1: {column}"):
        imported(classifiers["bert"], path)


def test_a_file_that_is_no_parquet_is_refused(classifiers, tmp_path):
    path = tmp_path / "mine.parquet"
    path.write_text("{}")
    with pytest.raises(InputError, match=r"mine\.parquet: not a readable Parquet file"):
        imported(classifiers["bert"], str(path))


def test_scores_of_words_are_shared_among_tokens(classifier, tmp_path):
    scores = [[0.5, -1.0, 2.0, 0.25], [float(i) for i in range(9)]]
    rows = [
        {"words": text.split(), "target": target, "scores": values}
        for text, target, values in zip(TEXTS, TARGETS, scores, strict=True)
    ]
    expected = [
        exparity.Explanation.from_words(classifier, text, values, target)
        for text, target, values in zip(TEXTS, TARGETS, scores, strict=True)
    ]
    assert_same(imported(classifier, write(tmp_path / "a.jsonl", rows)), expected)


def test_a_text_that_is_there_twice_is_explained_once_or_alike(classifiers, tmp_path):
    classifier = classifiers["bert"]
    made = exparity.explain(classifier, TEXTS[0], 0, "gradient_x_input")
    for rows in (own(made), own(made * 2)):
        path = write(tmp_path / "a.jsonl", rows)
        assert_same(imported(classifier, path, [TEXTS[0]] * 2, [0, 0]), made * 2)
    other = own(made)[0] | {"scores": own(made)[0]["scores"][::-1]}
    path = write(tmp_path / "a.jsonl", [*own(made), other])
    with pytest.raises(InputError, match=r"a\.jsonl:2: .* in \S*a\.jsonl:1 as well; .*example_id"):
        imported(classifier, path, TEXTS[:1], [0])


def test_a_file_that_has_changed_is_read_again(classifiers, tmp_path):
    classifier = classifiers["bert"]
    made = exparity.explain(classifier, TEXTS, TARGETS, "gradient_x_input")
    imported(classifier, write(tmp_path / "a.jsonl", own(made)))
    twice = [row | {"scores": [2 * s for s in row["scores"]]} for row in own(made)]
    again = imported(classifier, write(tmp_path / "a.jsonl", twice))
    np.testing.assert_array_equal(again[1].scores, 2 * made[1].scores)


def changed(**changes):
    """Change keys of the second line; None removes one."""

    def change(rows):
        kept = {**rows[1], **changes}
        return [rows[0], {name: value for name, value in kept.items() if value is not None}]

    return change


NAN = float("nan")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:1], r"a\.jsonl: no line explains example 'His mother .*example_id"),
        (lambda rows: [*rows, rows[1] | {"scores": [0.0] * 9}], ":3: .*:2 as well; keep one"),
        (changed(target=0), r":2: explains class 0 of .*, and class 1 is to be .*`target`"),
        (changed(scores=[0.0, NAN, 1.0]), r":2: scores\[1\]: Input should be a finite number"),
        (changed(tokens=None, scores=[1.0]), ":2: 1 scores for 9 words; give one for each"),
        (lambda rows: [rows[0], 1], r":2: expected a JSON object"),
        (changed(text=None), ":2: does not say what it explains; give it an example_id"),
        (changed(text="Another text .", example_id=TEXTS[1]), ":2: its text is not that of"),
    ],
)
def test_wrong_lines(classifiers, tmp_path, change, message):
    made = exparity.explain(classifiers["bert"], TEXTS, TARGETS, "gradient_x_input")
    path = write(tmp_path / "a.jsonl", change(own(made)))
    with pytest.raises(InputError, match=message) as caught:
        imported(classifiers["bert"], path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["", "none.jsonl"])
def test_no_file(classifiers, path):
    with pytest.raises(InputError, match=f"method imported: path: no file '{path}'; name the"):
        imported(classifiers["bert"], path)


def test_metrics_that_explain_again_say_that_they_cannot(classifiers, tmp_path):
    classifier = classifiers["bert"]
    made = exparity.explain(classifier, TEXTS, TARGETS, "gradient_x_input")
    explanations = imported(classifier, write(tmp_path / "a.jsonl", own(made)))
    with pytest.raises(InputError, match=r"sensitivity: .* 'imported' cannot explain other texts"):
        exparity.evaluate(classifier, explanations, "sensitivity")
    expected = exparity.evaluate(classifier, made, "comprehensiveness")
    scores = exparity.evaluate(classifier, explanations, "comprehensiveness")
    assert scores.tobytes() == expected.tobytes()
