"""The page in a browser: it runs without errors or requests, by mouse and by keyboard."""

import importlib.util
import itertools
import re
import shutil
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from made_up import HOSTILE, config, make_study
from pandas.testing import assert_frame_equal
from report.pages import make_page, open_once, page_with_analyses
from report.reading import data_of
from support import need

from exparity import read_results

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SETTINGS = {
    **config(datasets=2, models=2, seeds=2, methods=3, metrics=3),
    "report": {"figures": False},  # tests/report/test_figures.py has them
}
KEY = ["dataset", "model", "method", "metric"]
FAULTS = {"resultTypes": ["violations"]}
"""Options of axe, which would describe every element without a fault, too."""
MARK_LOOKS = """() => {
    const seen = new Set();
    for (const node of document.body.querySelectorAll("*")) {
        const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
        if (!own && !node.matches("input, select")) continue;
        const { color, fontSize, fontWeight } = getComputedStyle(node);
        const look = [color, fontSize, fontWeight];
        for (let at = node; at; at = at.parentElement) {
            const { backgroundColor, opacity } = getComputedStyle(at);
            look.push(at.localName, at.getAttribute("class"), backgroundColor, opacity);
        }
        node.toggleAttribute("data-look", !seen.has(look.join()));
        seen.add(look.join());
    }
}"""
"""Marks one element of all those whose text has the same style on the same backgrounds."""
CONTRAST_OF_LOOKS = """
axe.configure({ rules: [{ id: "color-contrast", selector: "[data-look]" }] });
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = make_study(tmp_path_factory.mktemp("page") / "results", SETTINGS, pairs=12)
    page_with_analyses(folder, SETTINGS)
    return folder


@pytest.fixture(scope="module")
def embedded(results):
    return data_of((results / "report" / "index.html").read_text(encoding="utf-8"))


class TestData:
    """Every number that scripts show is the artefact's."""

    def test_the_numbers_of_tests_are_the_artefacts(self, results, embedded):
        found = read_results(results, "disparity").query("quantity == 'score'")
        cells, tests = embedded["disparity"]["cells"], embedded["disparity"]["tests"]
        datasets = [embedded["disparity"]["tables"][table]["dataset"] for table in cells["table"]]
        ids = pd.DataFrame({"dataset": datasets, **{name: cells[name] for name in KEY[1:]}})
        shown = ids.loc[ids.index.repeat(np.diff(cells["start"]))].reset_index(drop=True)
        shown = shown.assign(**tests).sort_values([*KEY, "seed"], ignore_index=True)
        found = found.astype(dict.fromkeys(KEY, str)).assign(flags=found["flags"].map(list))
        found = found.sort_values([*KEY, "seed"], ignore_index=True)
        assert len(shown) == 36 * 2
        shown = shown.astype(found[list(shown)].dtypes)  # None of an undefined number
        # Six digits are more than are shown.
        assert_frame_equal(shown, found[list(shown)], check_dtype=False, rtol=5e-6, atol=0)

    def test_the_numbers_of_distributions_are_the_artefacts(self, results, embedded):
        scores = read_results(results, "scores")
        data = embedded["distributions"]
        ids = itertools.product(data["pairs"], data["methods"], data["metrics"])
        for (pair, *others), cell in zip(ids, data["cells"], strict=True):
            for seed, found in zip(data["seeds"], cell["seeds"], strict=True):
                rows = scores[(scores[[*KEY, "seed"]] == [*pair, *others, seed]).all(axis=1)]
                groups = data["groups"][pair[0]]
                for group, (n, five) in zip(groups, found["numbers"], strict=True):
                    of_group = rows.loc[rows["group"] == group, "score"]
                    assert n == len(of_group) == 12
                    numbers = list(of_group.quantile([0, 0.25, 0.5, 0.75, 1]))
                    assert five == pytest.approx(numbers, rel=5e-6)
                shapes = [style for style, _ in found["shapes"]]
                assert shapes == ["group-1", "group-2", "box", "median"]

    def test_the_numbers_of_explanations_are_the_artefacts(self, results, embedded):
        explained = read_results(results, "explanations")
        explained = explained.set_index([*KEY[:3], "seed", "example_id"])
        scores = read_results(results, "scores").set_index([*KEY, "seed", "example_id"])
        seen = 0
        for sample in embedded["explanations"]["samples"]:
            assert len(sample["sets"]) == 12  # fewer than the sample may have
            for member in itertools.chain.from_iterable(sample["sets"]):
                for m, method in enumerate(sample["methods"]):
                    place = sample["dataset"], sample["model"], method
                    row = explained.loc[(*place, 0, member["id"])]
                    of_words = np.flatnonzero(np.asarray(row["word_ids"]) >= 0)
                    assert member["tokens"] == list(row["tokens"][of_words])
                    attributions = list(row["scores"][of_words])
                    largest = float(max(map(abs, attributions)))
                    step = 5e-3 * largest  # of three digits
                    assert member["attributions"][m] == pytest.approx(attributions, abs=step)
                    for k, metric in enumerate(sample["metrics"]):
                        key = (*place, metric, 0, member["id"])
                        score = scores.loc[key, "score"]
                        assert member["scores"][m][k] == pytest.approx(score, rel=5e-6)
                        seen += 1
        assert seen == 4 * 12 * 2 * 9


@pytest.fixture(scope="module")
def browser():
    need(importlib.util.find_spec("playwright") is not None, "playwright")
    need(CHROMIUM is not None, "chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, results):
    """Open the page in a window of its own; afterwards, nothing was said and nothing asked for."""
    opened = []

    def open_in(width=1280, scheme="light", *, height=900, address="", unfolded=(), file=None):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        page = context.new_page()
        noise, requests = [], []
        page.on("console", lambda message: noise.append(message.text))
        page.on("pageerror", lambda error: noise.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        url = (file or results / "report" / "index.html").as_uri()
        page.goto(url + address)
        page.wait_for_selector("html[data-ready]", state="attached")
        opened.append((context, noise, requests, url))
        for id in unfolded:
            page.locator(f"#{id} > details > summary").click()
        return page

    yield open_in
    for context, noise, requests, url in opened:
        context.close()
        assert noise == []
        assert [r.partition("#")[0] for r in requests] == [url]


def drawn(page, id):
    page.locator(f"#{id}").scroll_into_view_if_needed()
    page.wait_for_selector(f"#{id} svg")
    return page.locator(f"#{id} svg path").count()


def serious_faults(page):
    """Return what axe finds; of elements that look alike it measures the contrast of one."""
    from axe_playwright_python.base import AXE_SCRIPT
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate(MARK_LOOKS)
    found = Axe(AXE_SCRIPT + CONTRAST_OF_LOOKS).run(page, options=FAULTS).response["violations"]
    return [
        (v["id"], [node["html"][:200] for node in v["nodes"][:3]])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]


def visible_cells(page):
    return page.locator("td[data-cell]:visible").count()


class TestBrowser:
    def test_a_phone_shows_what_was_measured_and_found(self, open_page, embedded):
        page = open_page(390, height=844)
        assert "the predictions of model_0 and model_1, trained 2 times" in page.inner_text(
            "p.lead"
        )
        tiles = page.locator("table.tiles tbody tr")
        assert not tiles.first.is_visible()  # the answers come before so many comparisons
        page.locator("summary", has_text="Every comparison").click()
        names = tiles.locator("th").all_inner_texts()
        assert len(names) == 10
        assert names[3:5] == ["Random explanations", "Random, raw scores"]
        cells = embedded["disparity"]["cells"]
        words = page.locator("table.tiles tr:not(.random) .tile").evaluate_all(
            "tiles => tiles.map((tile) => tile.title)"
        )
        said = zip(cells["model"], cells["excess.sentence"], strict=True)
        assert sorted(words) == sorted(f"{model}: {sentence}" for model, sentence in said)
        answer = page.locator(".conclusions > li").first
        assert answer.bounding_box()["y"] < 844  # the answers begin on the first screen
        for label in ("gap", *names[3:5], "Surer of", "One tile a model"):
            assert page.locator("dl.words dt").get_by_text(label, exact=True).count() == 1
        assert page.locator(".disparity th.model wbr").count()
        page.locator(".contents summary").click()
        for link in page.locator(".contents a").all():
            assert link.bounding_box()["x"] + link.bounding_box()["width"] <= 390
        # The edges of a place that scrolls fade.
        edges = """({ style }) => ["--left", "--right"].map((name) =>
            style.getPropertyValue(name))"""
        place = page.locator(".disparity .scroll").first
        assert place.evaluate("(place) => place.scrollWidth > place.clientWidth")
        assert place.evaluate(edges) == ["0px", "2rem"]
        place.evaluate("(place) => { place.scrollLeft = place.scrollWidth; }")
        page.wait_for_timeout(100)
        assert place.evaluate(edges) == ["2rem", "0px"]
        page.locator("td[data-cell]").first.click()
        close = page.get_by_label("Close").bounding_box()
        assert close["x"] + close["width"] <= 374  # of 390, with the dialog's margin
        page.get_by_label("Close").click()

    def test_filters_and_views_choose_what_a_table_shows(self, open_page, embedded):
        page = open_page()
        assert visible_cells(page) == 36
        form = page.locator("#disparity-filters")
        form.get_by_label("Dataset").select_option("data_1")
        form.get_by_label("Metric").select_option("sufficiency")
        assert visible_cells(page) == 6
        assert page.locator("#disparity-shown").inner_text() == "6 of 36 cells"
        form.get_by_text("Reset").click()
        page.get_by_text("36 of 36 cells").wait_for()
        cells = embedded["disparity"]["cells"]
        shown = page.locator("td[data-cell] small").all_inner_texts()
        assert [text.removesuffix(" ±") for text in shown] == [
            verdict or "not tested" for verdict in cells["excess.verdict"]
        ]
        key = page.locator("#disparity ul.key")
        assert key.count() == 1
        assert "better, or more concentrated, for male" in key.inner_text()
        form.get_by_text("Significant trainings", exact=True).click()
        looks = embedded["disparity"]["views"]["published"]
        assert any(look["side"] for look in looks)
        nodes = page.locator("td[data-cell]")
        assert nodes.locator(".count").all_inner_texts() == [look["text"] for look in looks]
        classes = nodes.evaluate_all("nodes => nodes.map((node) => node.className)")
        assert classes == [look["style"] for look in looks]

    def test_a_click_shows_the_tests_of_a_cell(self, open_page, embedded):
        page = open_page()
        page.locator("td[data-cell='4']").click()
        dialog = page.locator("#cell-dialog")
        tests = embedded["disparity"]["tests"]
        assert dialog.is_visible()
        rows = dialog.get_by_role("region", name="Tests").locator("tbody tr").all_inner_texts()
        assert [row.split("\t")[0] for row in rows] == ["0", "1"]
        first = embedded["disparity"]["cells"]["start"][4]
        for k, row in enumerate(rows):
            shown = [float(x.replace("−", "-")) for x in row.split("\t")[3:5]]
            wanted = [tests["mean_a"][first + k], tests["mean_b"][first + k]]
            assert shown == pytest.approx(wanted, rel=5e-4)
        assert drawn(page, "chart-effects") > 3
        assert drawn(page, "chart-cell") > 3
        page.get_by_label("Close").click()
        assert not dialog.is_visible()
        # By keyboard.
        page.locator("td[data-cell='0']").focus()
        for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "End"):
            page.keyboard.press(key)
        focused = "document.activeElement.dataset.cell"
        assert page.evaluate(focused) == "8"  # third row of three columns, its end
        assert page.locator("td[data-cell][tabindex='0']").count() == 1
        page.keyboard.press("Enter")
        assert dialog.is_visible()
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
        assert page.evaluate(focused) == "8"

    def test_explanations_are_sorted_searched_and_escaped(self, open_page):
        page = open_page(unfolded=["explanations"])
        page.locator(".example").first.wait_for()
        titles = page.locator(".example > h3 span").all_inner_texts()
        gaps = [float(t.rsplit(" ", 1)[1].replace("−", "-")) for t in titles]
        assert len(gaps) == 6
        assert gaps == sorted(gaps, reverse=True)
        page.locator("#explanations-more").click()
        assert page.locator(".example").count() == 12
        page.get_by_label("Search").fill("script")
        page.get_by_label("Beside it").select_option("gradient_x_input")
        assert page.locator(".example").count() == 1
        texts = page.locator(".example .text").all_inner_texts()
        assert len(texts) == 4  # two members, two methods
        assert all(HOSTILE in text for text in texts)
        assert page.locator(".example script").count() == 0
        pieces = page.locator(".example .text").first.locator(".token").all_inner_texts()
        assert pieces[2:5] == ["with", "out", "haste"]
        assert all("without haste to-" in text for text in texts)
        assert page.locator(".example .text").first.locator(".rationale").all_inner_texts() == [
            "He"
        ]

    def test_distributions_follow_the_choice(self, open_page, embedded):
        page = open_page(unfolded=["distributions"])
        form = page.locator("#distribution-filters")
        form.get_by_label("Metric").select_option("sufficiency")
        form.get_by_label("Seed").select_option("1")
        assert drawn(page, "chart-distributions") > 5  # what stands below has its place now
        page.get_by_text("The same as numbers").click()
        page.locator("#distributions-table").wait_for()
        lines = page.locator("#distributions-table tbody tr").all_inner_texts()
        shown, *_ = rows = [line.split("\t") for line in lines]
        five = embedded["distributions"]["cells"][1]["seeds"][1]["numbers"][0][1]
        assert shown[:3] == ["Gradient", "male", "12"]
        assert [float(x.replace("−", "-")) for x in shown[3:]] == pytest.approx(five, abs=5e-4)
        for column in list(zip(*rows, strict=True))[3:]:  # one format
            assert len({len(x.partition(".")[2]) for x in column}) == 1

    @pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
    def test_no_serious_accessibility_fault_and_no_sideways_scrolling(
        self, open_page, width, scheme
    ):
        need(importlib.util.find_spec("axe_playwright_python") is not None, "axe-playwright-python")
        analyses = ("correctness", "attribution_difference", "dataset_bias", "mlm_score")
        page = open_page(width, scheme)
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        page.locator(".example").first.wait_for()
        for section in analyses:
            assert page.locator(f"#{section} table:visible").count(), section
        assert drawn(page, "chart-distributions") > 5
        assert serious_faults(page) == []
        # An open dialog hides all else.
        page.locator("td[data-cell='0']").click()
        assert serious_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if width == 1280:  # on a phone a table that is wider scrolls by itself
            wide = """[...document.querySelectorAll(".scroll")].filter((place) =>
                place.scrollWidth > place.clientWidth + 1).map((place) => place.ariaLabel)"""
            assert page.evaluate(wide) == []
        else:
            assert page.pdf()[:5] == b"%PDF-"

    def test_the_summary_prints_on_one_page_without_a_fault(self, browser, results):
        need(importlib.util.find_spec("axe_playwright_python") is not None, "axe-playwright-python")
        page = browser.new_page()
        page.goto((results / "report" / "summary.html").as_uri())
        assert page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n") == 1
        assert serious_faults(page) == []
        assert page.locator("h2").all_inner_texts()[0] == "Does the classifier work for everybody?"
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.close()

    def test_the_paragraph_for_a_paper_is_copied(self, open_page):
        page = open_page(unfolded=["downloads"])
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy").click()
        page.get_by_role("button", name="Copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == page.locator("#paragraph").inner_text()
        assert copied.startswith("We trained ")

    def test_the_address_carries_choices_and_cell(self, open_page):
        first = open_page()
        form = first.locator("#disparity-filters")
        form.get_by_label("Dataset").select_option("data_1")
        form.get_by_text("Significant trainings").click()
        first.get_by_text("Contents", exact=True).click()
        first.get_by_role("link", name="Distributions").click()
        first.locator("#distribution-filters").get_by_label("Metric").select_option("sufficiency")
        first.locator("td[data-cell='22']").click()
        title = first.locator("#cell-title").inner_text()

        page = open_page(address="#" + first.url.partition("#")[2])
        assert page.locator("#cell-title").inner_text() == title
        assert visible_cells(page) == 18
        assert page.locator("[name=view]:checked").input_value() == "published"
        page.get_by_label("Close").click()
        page.wait_for_url(lambda url: "cell=" not in url)
        page.get_by_text("Contents", exact=True).click()
        page.get_by_role("link", name="Distributions").click()
        metric = page.locator("#distribution-filters option:checked[value=sufficiency]")
        metric.wait_for(state="attached")  # a section begins after its fold has opened
        # One that another report made changes what it can.
        other = open_page(address="#disparity?disparity.dataset=none&disparity.view=x&cell=y")
        assert visible_cells(other) == 36
        assert not other.locator("#cell-dialog").is_visible()

    def test_from_a_cell_to_its_explanations(self, open_page, embedded):
        page = open_page()
        page.locator("td[data-cell='25']").click()
        page.get_by_role("button", name="Its explanations").click()
        card = page.locator(".example").first
        card.wait_for()  # whose choices are then those of the cell
        cells = embedded["disparity"]["cells"]
        form = page.locator("#explanation-filters")
        chosen = [form.locator(f"[name={n}]").input_value() for n in ("sample", "first", "metric")]
        assert chosen == [f"data_1/{cells['model'][25]}", cells["method"][25], cells["metric"][25]]
        assert not page.locator("#cell-dialog").is_visible()
        # Attributions have hues of their own; the scores are made when they are asked for.
        hues = {c for t in card.locator(".token").all() for c in t.get_attribute("class").split()}
        assert {"pro", "contra"} <= hues
        assert not {"a", "b"} & hues
        assert card.locator("table").count() == 0
        card.get_by_text("All scores").click()
        card.locator("table").wait_for()
        heads = card.locator("thead th").all_inner_texts()
        assert heads == ["Metric", "male", "female", "difference"]

    def test_a_row_of_a_plot_shows_its_numbers_by_keyboard(self, open_page):
        page = open_page()
        row = page.locator(".plot-row[tabindex]").first
        box = "node => getComputedStyle(node, '::after').content"
        assert row.evaluate(box) == "none"
        row.focus()
        assert row.evaluate(box).strip('"') == row.get_attribute("aria-label")

    def test_a_column_sorts_its_table(self, open_page):
        page = open_page()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        table = page.locator(".disparity table").first
        column = table.locator("td:nth-child(5) .count")
        at_first = column.all_inner_texts()
        ordered = sorted(at_first, key=lambda text: float(text.replace("−", "-")))
        assert ordered not in (at_first, at_first[::-1])
        head = table.get_by_role("button", name="Soft comprehensiveness")
        for expected, way in (
            (ordered[::-1], "descending"),
            (ordered, "ascending"),
            (at_first, None),
        ):
            head.click()
            assert column.all_inner_texts() == expected
            assert head.locator("..").get_attribute("aria-sort") == way


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    groups = [f"group {i}" for i in range(5)]
    counts = {"datasets": 1, "models": 1, "seeds": 1, "methods": 2, "metrics": 2}
    return make_page(tmp_path_factory.mktemp("many"), 6, groups, **counts)


class TestManyGroups:
    """Five groups make ten pairs, more than are shown one by one."""

    def test_the_page_is_short(self, browser, page):
        assert open_once(browser, page)[0] <= 4000

    def test_one_matrix_of_pairs_counts_the_cells(self, page):
        source = page.read_text(encoding="utf-8")
        assert source.count('<table class="grid pairs">') == 1
        data = data_of(source)["disparity"]
        better = defaultdict(int)
        for table, look in zip(data["cells"]["table"], data["views"]["verdicts"], strict=True):
            pair = data["tables"][table]
            better[pair["a"], pair["b"]] += look["side"] in ("a", "both")
            better[pair["b"], pair["a"]] += look["side"] in ("b", "both")
        pair = r"(group \d) and (group \d): of 4 comparisons, (\d) better for \1, (\d) for \2"
        pattern = f'aria-label="{pair}"'
        found = re.findall(pattern, source)
        assert len(found) == 20
        assert {(a, b): int(n) for a, b, n, _ in found} == better
        assert all(int(n) == better[b, a] for a, b, _, n in found)

    def test_the_dialog_of_a_pair_of_one_training_has_what_there_is(self, open_page, page):
        window = open_page(file=page)
        window.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        window.locator("td[data-cell]").first.click()
        window.wait_for_selector("#chart-cell svg")
        text = window.locator("#cell-dialog").inner_text()
        assert "(test of a zero mean gap)" in text
        assert "that the mean gap is zero" not in text
        for word in ("undefined that", "undefined to", "signed-rank\tundefined", "R ≤"):
            assert word not in text
        legend = window.locator("#chart-cell .key li").all_text_contents()
        assert legend == [f"group {i}" for i in range(5)]

    def test_a_pair_opens_its_cells(self, open_page, page):
        window = open_page(file=page)
        assert visible_cells(window) == 0
        pair = window.locator("td[data-pair]").nth(10)
        a, b = re.match("(group .) and (group .):", pair.get_attribute("aria-label")).groups()
        pair.press("Enter")
        chosen = window.evaluate("document.activeElement.closest('.disparity').dataset.a")
        assert chosen in (a, b)
        window.locator("select[name=group]").select_option(a)
        assert visible_cells(window) == 4 * 4
        assert window.locator("#disparity-shown").inner_text() == "16 of 40 cells"


@pytest.mark.exhaustive
def test_a_page_of_5040_tests_is_small_and_soon_interactive(browser, tmp_path):
    page = make_page(tmp_path, 160, datasets=4, models=6, seeds=5)
    assert page.stat().st_size < 15e6
    # The time of its own thread, as a busy machine gives it less.
    assert min(open_once(browser, page)[1] for _ in range(3)) < 1
