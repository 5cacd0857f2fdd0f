"""The tables, tags, texts, shapes and data of a page."""

import base64
import json
import re
import zlib
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "hr", "img", "link", "col", "wbr"}


def data_of(source):
    """Return the data inside a page, by section."""
    blocks = re.findall(r'<script type="text/plain" data-section="(\w+)">(.*?)</script>', source)
    return {name: unpacked(text) for name, text in blocks}


def unpacked(text):
    """Return the data that a page holds in this form."""
    return json.loads(inflated(text))


def inflated(text):
    """Return the bytes that a page holds deflated, in base 85 with a comma for "<"."""
    assert "<" not in text
    return zlib.decompress(base64.b85decode(text.replace(",", "<")))


def points_of(path):
    """Return the absolute points of SVG path data of moves and relative lines."""
    points = []
    for command, numbers in re.findall(r"([Mlhv])([^Mlhvz]*)", path):
        values = [float(x) for x in re.findall(r"-?\d*\.?\d+", numbers)]
        steps = list(zip(values[::2], values[1::2], strict=True)) if command in "Ml" else []
        if command in "hv" and values[0]:  # a dot has no length
            steps = [(values[0], 0) if command == "h" else (0, values[0])]
        for x, y in steps:
            left, top = (0, 0) if command == "M" else points[-1]
            points.append((left + x, top + y))
    return points


class Page(HTMLParser):
    """A page whose tags are closed in order; of tables, spans of rows are filled in."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.tags, self.texts, self.cell, self.open = [], [], [], None, []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append({"caption": "", "rows": []})
        elif tag == "tr":
            self.tables[-1]["rows"].append([])
        elif tag in ("td", "th"):
            self.cell = [[], dict(attrs)]
            self.tables[-1]["rows"][-1].append(self.cell)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.cell = None

    def handle_data(self, data):
        self.texts.append(data)
        if "caption" in self.open:
            self.tables[-1]["caption"] += data
        if self.cell is not None and data.strip():
            if self.tags[-1][0] == "wbr":  # a word goes on
                data = self.cell[0].pop() + data
            self.cell[0].append(data.strip())

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    @property
    def ids(self):
        return [attrs["id"] for _, attrs in self.tags if "id" in attrs]

    def index(self, caption):
        captions = [" ".join(table["caption"].split()) for table in self.tables]
        return next(i for i, text in enumerate(captions) if caption in text)

    def table(self, caption):
        """Rows of (text, attributes) below the heading of a table, every one of full width."""
        rows, above = [], None
        for row in self.tables[self.index(caption)]["rows"][1:]:
            cells = [(" ".join(text), attrs) for text, attrs in row]
            if "rowspan" in cells[0][1]:
                above, left = cells[0], int(cells[0][1]["rowspan"])
            elif above is not None and left > 1:
                cells, left = [above, *cells], left - 1
            rows.append(cells)
        return rows
