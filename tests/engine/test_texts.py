"""The model reads a text byte for byte; words are spans in it, whatever parts them."""

from dataclasses import replace

import pytest
from data.tables import write
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import (
    CORPUS,
    TEXTS,
    gpt_bpe,
    make,
    pipeline_probabilities,
    roberta_bpe,
    unigram,
    wordpiece,
)

import exparity
from exparity import Explanation, InputError
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.table import read_prepared
from exparity.methods._words import words_of
from exparity.models.inputs import words_of_tokens
from exparity.stages.prepare import prepare
from exparity.types import Example, Text

FAMILIES = {"bert": wordpiece, "roberta": roberta_bpe, "gpt2": gpt_bpe, "xlm-roberta": unigram}
CHINESE, WORDS = "我喜欢这部电影", ["我", "喜欢", "这部", "电影"]
WILD = [*TEXTS, *CORPUS, " great service", "great service\n", "a\u2028b\x0bc", "\ta  b"]
strings = st.text(st.sampled_from("ab é\n\t\u00a0\u200b😂,."), max_size=30)


@pytest.fixture(scope="module", params=FAMILIES)
def parts(request):
    tokenizer = FAMILIES[request.param]()
    return make(request.param, tokenizer), tokenizer


@pytest.fixture(scope="module")
def classifier(parts):
    return exparity.load_classifier(parts, "cpu")


def test_ids_and_probabilities_are_those_of_a_pipeline(parts, classifier):
    encodings = classifier.encode(WILD)
    for text, encoding in zip(WILD, encodings, strict=True):
        assert encoding.text == text
        assert encoding.token_ids.tolist() == parts[1](text)["input_ids"], repr(text)
    found = classifier.probabilities([encoding.token_ids for encoding in encodings])
    assert found == pytest.approx(pipeline_probabilities(*parts, WILD), abs=1e-6)


def test_words_are_those_between_blanks_whatever_blanks_these_are(classifier):
    for text, encoding in zip(WILD, classifier.encode(WILD), strict=True):
        words = words_of(encoding)
        assert list(words.values()) == [text.split()[i] for i in words], repr(text)


FORMS = {
    "separator": Text.of_words(WORDS, separator=""),
    "spans": Text(CHINESE, ((0, 1), (1, 3), (3, 5), (5, 7))),
}


@pytest.mark.parametrize("form", FORMS)
def test_words_that_nothing_parts(parts, classifier, form):
    (encoding,) = classifier.encode([FORMS[form]])
    assert encoding.token_ids.tolist() == parts[1](CHINESE)["input_ids"]
    words = words_of(encoding)
    assert words == {index: WORDS[index] for index in words}
    explanation = Explanation.from_words(classifier, FORMS[form], [1.0, 2.0, 3.0, 4.0], 0)
    assert explanation.scores.sum() == pytest.approx(10)  # a token may hold several words
    (found,) = exparity.explain(classifier, FORMS[form], 0, method="occlusion")
    assert (found.text, found.written) == (CHINESE, FORMS[form])


def test_what_lies_between_words_belongs_to_the_next_and_the_end_to_the_last():
    text = Text("<b>ab</b>, cd ef.", ((3, 5), (11, 13), (14, 16)))
    found = words_of_tokens([(i, i + 1) for i in range(17)], [0] * 17, text)
    assert found.tolist() == [0] * 5 + [1] * 8 + [2] * 4


@given(strings)
def test_a_string_has_the_words_that_split_finds(string):
    assert Text.of(string).words == tuple(string.split())
    assert Text.of(string).is_plain == (" ".join(string.split()) == string)


@given(
    st.lists(st.text("ab", min_size=1, max_size=3), max_size=5), st.sampled_from(["", " ", "\n"])
)
def test_words_given_are_words_found(words, separator):
    text = Text.of_words(words, separator)
    assert text.string == separator.join(words)
    assert text.words == tuple(words)


@given(strings, st.lists(st.text("xyz", min_size=1, max_size=3), max_size=5))
def test_other_words_keep_what_stood_between(string, words):
    text = Text.of(string)
    changed = text.with_words(words)
    assert changed.words == tuple(words)
    assert text.with_words(text.words) == text
    if len(words) == len(text.words):
        blanks = "".join(c for c in string if c.isspace())
        assert "".join(c for c in changed.string if c.isspace()) == blanks


@pytest.mark.parametrize("spans", [((0, 2), (1, 3)), ((3, 1),), ((0, 9),), ((-1, 2),)])
def test_spans_that_are_none_are_refused(spans):
    with pytest.raises(ValueError, match="span"):
        Text("abc d", spans)


def test_replaced_words_keep_the_lines_of_an_example():
    text = Text.of("he was\nlate")
    example = Example("1", text.words, 0, "m", "test", written=text)
    changed = replace(example, words=("she", "was", "late"))
    assert (changed.text, changed.parts.words) == ("she was\nlate", ("she", "was", "late"))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_tables_keep_texts_byte_for_byte(tmp_path, suffix):
    texts = ["one\ntwo", "  a  b ", "plain text", "c\u00a0d\te"]
    rows = [{"text": t, "label": i % 2, "group": "mf"[i // 2]} for i, t in enumerate(texts)]
    params = {"path": str(write(tmp_path / f"table{suffix}", rows)), "test_share": 1.0}
    assert [e.text for e in load_dataset("table", DataSource(tmp_path), params)] == texts
    prepare(tmp_path / "data.parquet", use="table", params=params, data_dir=tmp_path)
    examples = read_prepared(tmp_path / "data.parquet").examples
    assert [e.text for e in examples] == texts
    assert [e.words for e in examples] == [tuple(t.split()) for t in texts]
    assert [e.parts.string for e in examples] == texts


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize(
    ("option", "texts", "spans"),
    [
        ("spans", [CHINESE], [[[0, 1], [1, 3], [3, 5], [5, 7]]]),
        ("unit_spans", ["Jo Lee of New  York sang", "Jo sang"], [[[0, 6], [10, 19]], []]),
    ],
)
def test_a_column_of_spans_tells_words_or_units(tmp_path, suffix, option, texts, spans):
    n = len(texts)
    rows = [
        {"text": texts[i % n], "label": i // 2, "group": "mf"[i % 2], "spans": spans[i % n]}
        for i in range(4)
    ]
    path = write(tmp_path / f"table{suffix}", rows)
    params = {"path": str(path), "test_share": 1.0, option: "spans"}
    prepare(tmp_path / "data.parquet", use="table", params=params, data_dir=tmp_path)
    examples = read_prepared(tmp_path / "data.parquet").examples
    assert [e.text for e in examples] == texts * (4 // n)
    if option == "spans":
        assert all(e.parts == FORMS["spans"] and e.words == tuple(WORDS) for e in examples)
    else:
        assert [e.words for e in examples] == [tuple(text.split()) for text in texts * 2]
        assert [e.parts.units for e in examples] == [(0, 0, 1, 2, 2, 3), (0, 1)] * 2


def test_spans_that_do_not_fit_name_the_line(tmp_path):
    rows = [{"text": "ab", "label": i % 2, "group": "m", "spans": [[0, 9]]} for i in range(2)]
    params = {"path": str(write(tmp_path / "table.jsonl", rows)), "spans": "spans"}
    with pytest.raises(InputError, match=r"table\.jsonl:1: spans must be the start and end"):
        load_dataset("table", DataSource(tmp_path), params)


def test_a_separator_of_the_words_of_lists(tmp_path):
    rows = [{"text": WORDS, "label": i % 2, "group": "mf"[i // 2]} for i in range(4)]
    params = {
        "path": str(write(tmp_path / "table.jsonl", rows)),
        "separator": "",
        "test_share": 1.0,
    }
    examples = load_dataset("table", DataSource(tmp_path), params)
    assert {(e.text, e.words) for e in examples} == {(CHINESE, tuple(WORDS))}
