"""What pages say, held once: every text of two pages, with numbers as 0.

``python tests/report/test_wording.py`` writes the words anew, to be read before they are committed.
"""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where it runs as a command

from made_up import config, make_study, options_of
from report.pages import page_of, page_with_analyses
from report.reading import Page

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "page.txt"
BLOCKS = {"p", "li", "td", "th", "caption", "dt", "dd", "summary", "button", "option", "label",
          "legend", "h1", "h2", "h3", "title"}  # fmt: skip
SETTINGS = {
    **config(datasets=1, models=2, seeds=2, methods=2, metrics=2),
    "report": {"figures": False},
}
ONE = {**config(datasets=1, models=1, seeds=1, methods=1, metrics=1), "report": {"figures": False}}
OF_SOURCE = ("definitions", "downloads")
"""Sections whose words are those of docstrings, and of where and with what a page is made."""


class Words(Page):
    """The texts of a page, one for each block."""

    def __init__(self, text):
        self.blocks, self.section = [""], ""
        super().__init__(text)

    def handle_starttag(self, tag, attrs):
        super().handle_starttag(tag, attrs)
        if tag == "section":
            self.section = dict(attrs).get("id", "")
        if tag in BLOCKS:
            self.blocks.append("")

    def handle_endtag(self, tag):
        super().handle_endtag(tag)
        if tag in BLOCKS:
            self.blocks.append("")

    def handle_data(self, data):
        super().handle_data(data)
        if (
            not {"script", "style", "math", "pre"} & set(self.open)
            and self.section not in OF_SOURCE
        ):
            self.blocks[-1] += data


def words_of(source):
    """The different texts in order, without numbers."""
    texts = (" ".join(block.split()) for block in Words(source).blocks)
    masked = (re.sub(r"\d+(?:[.,]\d+)*|∞|\bnan\b", "0", text) for text in texts)
    of_here = re.compile(r"exparity 0;|[0a-f]+$|0 (?:s|min|h)$")  # versions, the commit, and times
    words = (text for text in dict.fromkeys(masked) if not of_here.match(text))
    return [text for text in words if re.search(r"[^\W\d_]", text)]


def pages(folder):
    """The words of a study with all analyses, and of one of a single test."""
    first, second = folder / "first", folder / "second"
    make_study(first, SETTINGS, pairs=12, collapsed=("data_0", "model_1", 1))
    make_study(second, ONE, pairs=4)
    for page in (page_with_analyses(first, SETTINGS), page_of(second, options_of(ONE))):
        words = words_of(page.read_text(encoding="utf-8"))
        yield "\n".join([f"=== {page.parents[1].name}", *words])


def test_the_words_of_pages_are_those_that_were_read(tmp_path):
    found = "\n".join(pages(tmp_path)).splitlines()
    known = GOLDEN.read_text(encoding="utf-8").splitlines()
    assert found == known, "python tests/report/test_wording.py writes them anew"


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        GOLDEN.write_text("\n".join(pages(Path(folder))) + "\n", encoding="utf-8")
