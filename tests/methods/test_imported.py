"""Scores of other tools: on the model's tokens, and one line for what is wrong."""

import numpy as np
import pyarrow as pa
import pytest
from data import tables

import exparity
from exparity import InputError

TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour ."]
TARGETS = [0, 1]


@pytest.fixture
def made(classifier):
    """What the other tool is."""
    return exparity.explain(classifier, TEXTS, TARGETS, "gradient_x_input")


def write(path, rows):
    return str(tables.write(path, rows))


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


def thermostat(explanations, length=32, padding_id=0, left=False):
    """Rows as Thermostat has them: ids and scores are padded to one length."""

    def padded(values, filler):
        padding = [filler] * (length - len(values))
        return [*padding, *values] if left else [*values, *padding]

    for number, one in enumerate(explanations):
        yield {
            "attributions": padded(one.scores.tolist(), 0.0),
            "idx": number,
            "input_ids": padded(one.token_ids.tolist(), padding_id),
            "label": 1 - one.target,
            "predictions": [float(c == one.target) for c in range(2)],
        }


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
@pytest.mark.parametrize("spare", [0, 1, 9])
def test_rows_of_thermostat_explain_their_ids(classifier, made, tmp_path, suffix, left, spare):
    length = max(len(one.token_ids) for one in made) + spare
    rows = list(thermostat(made, length, classifier.tokenizer.pad_token_id, left))
    path = write(tmp_path / f"thermostat.{suffix}", rows)
    assert_same(imported(classifier, str(path)), made)


def test_an_arrow_file_that_is_no_stream_is_read(classifiers, tmp_path):
    classifier = classifiers["bert"]
    made = exparity.explain(classifier, TEXTS, TARGETS, "gradient_x_input")
    table = pa.Table.from_pylist(list(thermostat(made)))
    path = tmp_path / "mine.arrow"
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)
    assert_same(imported(classifier, str(path)), made)


def test_rows_of_thermostat_explain_pairs_of_texts(pair_classifier, tmp_path):
    pairs = [("The girl sings .", "She sings ."), ("His mother ran .", "He ran .")]
    made = exparity.explain(pair_classifier, pairs, TARGETS, "gradient_x_input")
    rows = list(thermostat(made, 40, pair_classifier.tokenizer.pad_token_id))
    for row in rows:
        ids, _ = pair_classifier.split_types(row["input_ids"])
        row["input_ids"] = ids.tolist()
    path = write(tmp_path / "mine.jsonl", rows)
    assert_same(imported(pair_classifier, path, pairs), made)


def test_the_end_of_a_text_is_no_padding(classifiers, tmp_path):
    """Of a text whose tokenizer adds none of its own, each token may be its last one."""
    classifier = classifiers["gpt2"]
    texts = ["the girl sings", "the girl"]
    made = exparity.explain(classifier, texts, TARGETS, "gradient_x_input")
    longest = max(len(one.token_ids) for one in made)
    path = write(tmp_path / "mine.jsonl", list(thermostat(made[:1], longest)))
    assert_same(imported(classifier, path, texts[:1], TARGETS[:1]), made[:1])
    with pytest.raises(InputError, match="no line explains example"):
        imported(classifier, path, texts[1:], TARGETS[1:])


def test_token_ids_beside_scores_of_words_are_not_read(classifiers, tmp_path):
    classifier = classifiers["bert"]
    (expected,) = exparity.explain(classifier, TEXTS[0], 0, "gradient_x_input")
    (row,) = own([expected])
    path = write(tmp_path / "mine.jsonl", [{**row, "input_ids": [1, 2]}])
    assert_same(imported(classifier, path, TEXTS[:1], [0]), [expected])


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


@pytest.mark.parametrize("kind", ["Parquet", "Arrow"])
@pytest.mark.parametrize("content", ["{}", "", "PAR1", "ARROW1", "ARROW1\0\0"])
def test_a_file_that_is_no_table_is_refused(classifiers, tmp_path, kind, content):
    path = tmp_path / f"mine.{kind.lower()}"
    path.write_text(content)
    with pytest.raises(InputError, match=rf"mine\.\w+: not a readable {kind} file") as refusal:
        imported(classifiers["bert"], str(path))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_rows_of_tables_are_counted_from_one(classifiers, made, tmp_path, suffix):
    first, *others = thermostat(made)
    rows = [{**first, "attributions": first["attributions"][1:]}, *others]
    path = write(tmp_path / f"mine.{suffix}", rows)
    with pytest.raises(InputError, match=rf"mine\.{suffix}, row 1: 32 input_ids and 31"):
        imported(classifiers["bert"], path)


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


def test_a_repeated_text_is_explained_once_or_alike(classifiers, tmp_path):
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
        (changed(text="Another text .", example_id=TEXTS[1]), ":2: its text is not the text of"),
    ],
)
def test_lines_that_do_not_fit_are_refused(classifiers, tmp_path, change, message):
    made = exparity.explain(classifiers["bert"], TEXTS, TARGETS, "gradient_x_input")
    path = write(tmp_path / "a.jsonl", change(own(made)))
    with pytest.raises(InputError, match=message) as caught:
        imported(classifiers["bert"], path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["", "none.jsonl"])
def test_a_missing_file_is_named(classifiers, path):
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
