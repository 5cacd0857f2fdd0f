"""The docs name what exists, and nothing in the project names what it should not."""

import json
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest
import yaml
from demo_figures import check_planted

import exparity
from exparity.artefacts.schemas import artefacts, schema_of
from exparity.config.models import Config
from exparity.counterfactuals import GENERATORS
from exparity.data import DATASETS
from exparity.debiasing import INTERVENTIONS
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.stats.flags import FLAGS
from exparity.stats.verdicts import VERDICTS

pytestmark = pytest.mark.contract


@pytest.mark.parametrize(
    ("page", "registry"),
    [
        ("datasets", DATASETS),
        ("debiasing", INTERVENTIONS),
        ("counterfactuals", GENERATORS),
    ],
)
def test_every_id_and_option_is_documented(repository, page, registry):
    text = (repository / "docs" / f"{page}.md").read_text()
    for id in registry.ids():
        assert f"`{id}`" in text, f"docs/{page}.md does not describe `{id}`"
        entry = registry.get(id)
        for option in entry.options.model_fields:
            assert f"`{option}`" in text, f"docs/{page}.md: {id} lacks its option `{option}`"


def test_every_column_is_documented(repository):
    text = (repository / "docs" / "artefacts.md").read_text()
    for artefact in artefacts():
        for name in schema_of(artefact).names:
            assert f"`{name}`" in text, f"docs/artefacts.md: {artefact} lacks `{name}`"


@pytest.fixture(scope="module")
def kept(repository):
    """Figures of the default experiment, by ``python tests/demo_figures.py results``."""
    return json.loads((repository / "tests" / "demo_figures.json").read_text())


def test_the_default_experiment_shows_what_it_planted(kept):
    check_planted(kept)


def test_the_docs_quote_the_default_experiment(repository, kept):
    text = {
        name: " ".join((repository / name).read_text().replace("\n> ", "\n").split())
        for name in ("README.md", "docs/quickstart.md", "docs/statistics.md")
    }
    rates = kept["rates"]
    rate, random = (f"{100 * rates[name]:.1f}" for name in ("share", "random"))
    planted = {
        row["quantity"]: f"{row['d']:.2f}"
        for row in kept["judged"]
        if row["dataset"] == "bios_planted" and row["metric"] == "comprehensiveness"
        if row["method"] in ("lime", "uniform_random")
    }
    detectable = sorted(
        f"{row['detectable']:.2f}"
        for row in kept["judged"]
        if row["dataset"] == "bios_planted" and row["quantity"] == "skill"
        if row["verdict"] == "undecided"
    )
    quickstart = (repository / "docs" / "quickstart.md").read_text()
    for line in kept["cell"]:
        assert f"\n{line}\n" in quickstart
    assert "\n".join(kept["shown"]) in (repository / "docs" / "figures.md").read_text()
    for page, *phrases in (
        ("README.md", f"in {float(rate):.0f} % of the", f"{float(random):.0f} % with random"),
        (
            "docs/quickstart.md",
            next(line for line in kept["shown"] if "results are clear" in line),
            f"in **{rate} %** of {rates['n']:.0f} comparisons",
            f"in **{random} %**",
            f"gaps from d = {', '.join(detectable[:-1])} and {detectable[-1]} on",
        ),
        (
            "docs/statistics.md",
            f"by d = {planted['random_score']} over the trainings",
            f"falls from {planted['score']} to {planted['excess']}",
        ),
    ):
        for phrase in phrases:
            assert phrase in text[page], f"{page} does not say '{phrase}'"


@pytest.fixture(scope="module")
def reference(repository):
    """The script that writes the tables which the code knows."""
    spec = spec_from_file_location("reference", repository / ".ci" / "reference.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_the_docs_are_those_of_the_code(reference):
    for page in reference.PAGES:
        text = page.read_text()
        assert "<!-- reference: " in text
        assert reference.with_tables(text) == text, f"{page.name}: run `make reference`"


def test_the_page_of_the_python_api_has_every_public_name(reference):
    page = reference.with_tables(reference.API.read_text())
    for name in exparity.__all__:
        assert f"\n### `exparity.{name}`\n\n```text\n{name}(" in page
    assert "\n```python\n>>> import exparity\n>>> scores = [0.4, " in page


def test_the_schema_for_editors_agrees_with_the_code(reference):
    assert reference.SCHEMA.read_text() == reference.schema_file(), "run `make reference`"


@pytest.mark.parametrize(("kind", "registry"), [("method", METHODS), ("metric", METRICS)])
def test_every_method_and_metric_has_its_table(repository, kind, registry):
    text = (repository / "docs" / f"{kind}s.md").read_text()
    tables = re.findall(rf"^<!-- reference: {kind} (\w+) -->$", text, re.M)
    assert sorted(tables) == registry.ids()
    for id in tables:
        section = text[: text.index(f"<!-- reference: {kind} {id} -->")].rpartition("\n## ")[2]
        assert section.startswith(f"`{id}`\n")


def test_every_key_of_the_config_has_its_row(repository, reference):
    text = (repository / "docs" / "configuration.md").read_text()
    text = text[text.index("\n## All keys") :]

    def leaves(part):
        part = next((one for one in part.get("anyOf", ()) if "properties" in one), part)
        for key, inner in part.get("properties", {}).items():
            yield from leaves(inner) if "properties" in inner else [key]
        for inner in (part.get("items"), part.get("additionalProperties")):
            yield from leaves(inner) if isinstance(inner, dict) else ()

    for key in leaves(reference.schema_of(Config)):
        assert f"| `{key}` |" in text, f"docs/configuration.md lacks {key}"


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda verdict: verdict.id)
def test_every_verdict_has_its_row(repository, verdict):
    docs = repository / "docs"
    for page in ("reading.md", "statistics.md"):
        assert f"\n| *{verdict.id}* |" in (docs / page).read_text(), f"docs/{page}"
    assert f"`{verdict.id}`" in (docs / "artefacts.md").read_text()
    assert f"*{verdict.id}*" in (docs / "glossary.md").read_text()


def test_every_flag_has_its_row(repository):
    """Those of tests in Statistics, those of classifiers in Model bias."""
    pages = [(repository / "docs" / f"{name}.md").read_text() for name in ("statistics", "bias")]
    firsts = re.findall(r"^\| (`.+?) \|", "\n".join(pages), re.M)
    described = {flag for first in firsts for flag in re.findall(r"`(\w+)`", first)}
    assert set(FLAGS) - described == set()


def test_links_between_pages_lead_somewhere(repository):
    pages = [
        path for where in ("*.md", "docs/*.md", "config/*.md") for path in repository.glob(where)
    ]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_badge_tells_the_required_snakemake(repository):
    workflow = (repository / "workflow" / "Snakefile").read_text()
    required = re.search(r'min_version\("([\d.]+)"\)', workflow)
    assert required
    assert f"snakemake-≥{required[1]}" in (repository / "README.md").read_text()


def test_versions_agree(repository):
    version = re.search(r'^version = "(.*)"', (repository / "pyproject.toml").read_text(), re.M)
    assert version
    assert f"version: {version[1]}" in (repository / "CITATION.cff").read_text()


def test_the_workflow_is_sound_where_only_snakemake_is_installed(repository):
    """As in the workflow catalogue; what has to run jobs says what is missing."""
    hiding = (
        "import sys; from snakemake.cli import main\n"
        "sys.modules |= dict.fromkeys(['exparity', 'numpy', 'pyarrow'])\n"
        "main()"
    )
    lint, plan = (
        subprocess.run(
            [sys.executable, "-c", hiding, flag], cwd=repository, capture_output=True, text=True
        )
        for flag in ("--lint", "--dry-run")
    )
    assert "Congratulations" in lint.stderr
    assert lint.returncode == 0
    assert re.search(r"exparity\S* is missing where Snakemake runs; install exp", plan.stdout)
    assert plan.returncode == 1


def test_the_example_of_the_readme_has_results_of_its_own(repository):
    text = (repository / "README.md").read_text()
    section = text[text.index("## Use your own data") :]
    config = yaml.safe_load(section.partition("```yaml\n")[2].partition("```")[0])
    assert config["results"] not in ("", "results")


def test_commands_of_the_docs_do_not_write_over_the_demo(repository):
    """Where a config is named, it has results of its own, or they are named."""
    command = re.compile(r"^snakemake (?!-n)(.*--configfile (config/\S+\.yaml).*)$", re.M)
    for page in [repository / "README.md", *(repository / "docs").glob("*.md")]:
        for line, named in command.findall(page.read_text()):
            own = "results" in yaml.safe_load((repository / named).read_text())
            assert own or "results=" in line, (page, line)


def test_the_docs_read_results_of_the_default_experiment(repository):
    """Who tries a command after `make demo` has no others."""
    made = yaml.safe_load((repository / "config" / "config.yaml").read_text())["datasets"]
    for page in (repository / "docs").glob("*.md"):
        assert {*re.findall(r"results/data/(\w+)\.parquet", page.read_text())} <= {*made}, page


@pytest.mark.parametrize(
    "words",
    ["From Excel", "Ages and other", "supervisor", "On Colab", "### Add a seed", "SmoothGrad"],
)
def test_a_search_for_what_newcomers_look_for_finds_a_page(repository, words):
    pages = (repository / "docs").glob("*.md")
    assert any(words in page.read_text(encoding="utf-8") for page in pages)
