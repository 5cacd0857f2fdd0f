"""Registries: what registering refuses, how entries are found, and the facts of every entry."""

import importlib
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from types import SimpleNamespace

import pytest

from exparity.core import registry as registry_module
from exparity.core.errors import InputError
from exparity.core.registry import SLUG, Registry, load_plugin
from exparity.core.validation import complete, defaults_of
from exparity.counterfactuals import GENERATORS
from exparity.data import DATASETS
from exparity.debiasing import INTERVENTIONS
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.metrics.facts import MetricFacts
from exparity.models.heads import HEADS

REGISTRIES = {
    one.kind: one for one in (DATASETS, METHODS, METRICS, GENERATORS, INTERVENTIONS, HEADS)
}
ENTRIES = [(kind, id) for kind, registry in REGISTRIES.items() for id in registry.ids()]
FACTS = {
    "direction": "higher",
    "bounds": (0.0, 1.0),
    "unit": "share",
    "kind": "complexity",
    "needs": "attributions",
    "stochastic": False,
    "reference": "made up",
}


def example_metric(scores, content_mask):
    """One line that users see."""


@pytest.fixture
def fresh():
    return Registry("metric", "exparity.metrics", MetricFacts)


@pytest.fixture
def metrics(monkeypatch):
    """The real registry of metrics; what a test adds to it is gone afterwards."""
    METRICS.ids()
    monkeypatch.setattr(METRICS, "_entries", dict(METRICS._entries))
    before = set(sys.modules)
    yield METRICS
    for name in set(sys.modules) - before:
        if "plugin" in name:
            del sys.modules[name]


PLUGIN = '''
from exparity.metrics import metric

@metric("{id}", direction="lower", bounds=(0.0, 1.0), unit="share", kind="complexity",
        needs="attributions", stochastic=False, reference="made up")
def {id}(scores, content_mask, *, power: float = 2.0):
    """{summary}.

    More.
    """
    return scores[:, 0] ** power
'''


def plugin(path, id="brought", summary="Brought along"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PLUGIN.format(id=id, summary=summary))
    return str(path)


@pytest.mark.contract
def test_a_registered_function_comes_back_and_its_entry_tells_all(fresh):
    assert fresh.register("my_metric", **FACTS)(example_metric) is example_metric
    entry = fresh.get("my_metric")
    assert entry.function is example_metric
    assert entry.facts == MetricFacts(**FACTS)
    assert entry.source.name == "test_registry.py"
    assert (entry.display, entry.summary) == ("My metric", "One line that users see")
    fresh.register("a", **FACTS, display="The A")(example_metric)
    assert fresh.get("a").display == "The A"


@pytest.mark.contract
class TestLookUp:
    def test_unknown_id_names_near_ones_and_the_place(self):
        with pytest.raises(InputError, match=r"metrics.x: unknown metric 'ginni'; did you mean 'g"):
            METRICS.get("ginni", "metrics.x")

    def test_public_modules_and_entry_points_are_found(self, tmp_path, monkeypatch):
        package = tmp_path / "widgets_under_test"
        package.mkdir()
        (package / "__init__.py").write_text(
            "from exparity.metrics.facts import MetricFacts\n"
            "from exparity.core.registry import Registry\n"
            "WIDGETS = Registry('widget', 'widgets_under_test', MetricFacts)\n"
        )
        for name, folder in (("one", package), ("two", package), ("outside", tmp_path)):
            (folder / f"{name}_widget.py").write_text(
                "from widgets_under_test import WIDGETS\n"
                f"@WIDGETS.register('{name}', **{FACTS!r})\n"
                f"def {name}(scores, content_mask):\n    'Doc.'\n"
            )
        (package / "_helper.py").write_text("raise RuntimeError('private modules are not entries')")
        monkeypatch.syspath_prepend(tmp_path)
        asked = []

        def entry_points(group):
            asked.append(group)
            return [SimpleNamespace(load=lambda: __import__("outside_widget"))]

        offered = SimpleNamespace(select=entry_points)
        monkeypatch.setattr(registry_module, "entry_points", lambda: offered)
        import widgets_under_test

        assert widgets_under_test.WIDGETS.ids() == ["one", "outside", "two"]
        assert widgets_under_test.WIDGETS.get("outside").source == tmp_path / "outside_widget.py"
        widgets_under_test.WIDGETS.ids()
        assert asked == ["widgets_under_test"]  # once


@pytest.fixture
def gadgets(tmp_path, monkeypatch):
    """A package of two modules, and what a third offers as an entry point, all new."""
    package = tmp_path / "gadgets_under_test"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from exparity.metrics.facts import MetricFacts\n"
        "from exparity.core.registry import Registry\n"
        "GADGETS = Registry('gadget', 'gadgets_under_test', MetricFacts)\n"
    )
    for name, folder in (("one", package), ("two", package), ("offered", tmp_path)):
        (folder / f"{name}_gadget.py").write_text(
            "from gadgets_under_test import GADGETS\n"
            f"@GADGETS.register('{name}', **{FACTS!r})\n"
            f"def {name}(scores, content_mask):\n    'Doc.'\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    point = metadata.EntryPoint("offered", "offered_gadget", "gadgets_under_test")
    offered = SimpleNamespace(select=lambda group: [point])
    monkeypatch.setattr(registry_module, "entry_points", lambda: offered)
    import gadgets_under_test

    yield gadgets_under_test.GADGETS
    for name in [name for name in sys.modules if "gadget" in name]:
        del sys.modules[name]


GADGETS = ["gadgets_under_test.one_gadget", "gadgets_under_test.two_gadget", "offered_gadget"]


@pytest.mark.contract
class TestEndedDiscovery:
    """An interrupt or error while modules are imported leaves nothing half loaded."""

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ImportError, SystemExit, MemoryError])
    @pytest.mark.parametrize("ended", GADGETS)
    def test_the_next_call_finds_everything(self, gadgets, monkeypatch, ended, error):
        real = importlib.import_module

        def end_once(name, *more):
            if name == ended:
                monkeypatch.setattr(importlib, "import_module", real)
                raise error("stopped")
            return real(name, *more)

        monkeypatch.setattr(importlib, "import_module", end_once)
        monkeypatch.setattr(metadata, "import_module", end_once)
        with pytest.raises((error, InputError), match="stopped"):
            gadgets.get("one")
        monkeypatch.setattr(metadata, "import_module", real)
        assert gadgets.ids() == ["offered", "one", "two"]

    def test_a_module_that_is_ended_in_the_middle(self, gadgets, tmp_path):
        path = tmp_path / "gadgets_under_test" / "two_gadget.py"
        whole = path.read_text()
        path.write_text(whole + "\nraise KeyboardInterrupt\n")
        with pytest.raises(KeyboardInterrupt):
            gadgets.ids()
        path.write_text(whole)
        importlib.invalidate_caches()
        assert gadgets.ids() == ["offered", "one", "two"]

    def test_a_plug_in_that_cannot_be_imported_is_named_each_time(self, gadgets, tmp_path):
        (tmp_path / "offered_gadget.py").write_text("1 / 0\n")
        for _ in range(2):
            with pytest.raises(InputError, match=r"plug-in 'offered' \(offered_gadget\): ZeroDiv"):
                gadgets.get("one")

    def test_other_threads_wait_for_the_whole(self, gadgets, tmp_path):
        path = tmp_path / "gadgets_under_test" / "one_gadget.py"
        path.write_text("import time\ntime.sleep(0.2)\n" + path.read_text())
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: gadgets.ids(), range(4)))
        assert found == [["offered", "one", "two"]] * 4


@pytest.mark.contract
class TestPlugins:
    def test_the_same_file_twice_is_loaded_once(self, metrics, tmp_path, monkeypatch):
        load_plugin(plugin(tmp_path / "mine_plugin.py"))
        entry = metrics.get("brought")
        assert entry.summary == "Brought along"
        assert complete(entry.options, {}, "x") == {"power": 2.0}
        monkeypatch.chdir(tmp_path)
        load_plugin("mine_plugin.py")
        assert metrics.get("brought") is entry

    def test_two_files_of_one_name(self, metrics, tmp_path):
        load_plugin(plugin(tmp_path / "a" / "extra_plugin.py", "from_a"))
        load_plugin(plugin(tmp_path / "b" / "extra_plugin.py", "from_b"))
        assert {"from_a", "from_b"} <= set(metrics.ids())
        assert metrics.get("from_b").source == tmp_path / "b" / "extra_plugin.py"

    def test_a_taken_id_names_both_files(self, metrics, tmp_path):
        first = plugin(tmp_path / "a_plugin.py", "twice")
        second = plugin(tmp_path / "b_plugin.py", "twice")
        load_plugin(first)
        with pytest.raises(InputError, match=rf"'twice' in {second}: the id is taken by {first}"):
            load_plugin(second)
        assert str(metrics.get("twice").source) == first

    @pytest.mark.parametrize(
        ("source", "reason"),
        [
            ("def broken(:", "SyntaxError"),
            ("import sys; sys.exit(0)", "SystemExit: 0"),
            (
                "from exparity.metrics import metric\n@metric\ndef a(scores): ...",
                "metric <function.*: an id is lower-case",
            ),
            (
                PLUGIN.replace("power: float = 2.0", "power: float"),
                ".*TypeError: option 'power' of a needs a default and a type",
            ),
            (
                PLUGIN.replace("= 2.0", "= {1}"),
                r"default: power: Input should be a valid number, found \[1\]",
            ),
            (
                PLUGIN.replace("*, power", "power"),
                r"TypeError: option 'power' of a must follow a `\*`",
            ),
            (
                PLUGIN.replace("power: float", "power: 5"),
                ".*Unable to generate pydantic-core schema for 5.",
            ),
        ],
    )
    def test_a_file_that_fails_can_be_mended(self, source, reason, metrics, tmp_path):
        path = tmp_path / "bad_plugin.py"
        path.write_text(source.replace("{id}", "a"))
        with pytest.raises(InputError, match=rf"{path}: {reason}"):
            load_plugin(str(path))
        load_plugin(plugin(path, "mended_by_now"))
        assert "mended_by_now" in metrics.ids()

    def test_a_module_by_name(self, metrics, tmp_path, monkeypatch):
        plugin(tmp_path / "named_plugin.py", "by_name")
        (tmp_path / "broken_plugin.py").write_text("def (")
        monkeypatch.syspath_prepend(tmp_path)
        load_plugin("named_plugin")
        assert "by_name" in metrics.ids()
        for name in ("broken_plugin", ""):
            with pytest.raises(InputError, match=f"plugins: cannot import module '{name}'"):
                load_plugin(name)


@pytest.mark.contract
class TestRefused:
    """Plug-ins that cannot be meant are refused when they are loaded, by file and remedy."""

    @pytest.mark.parametrize(
        ("facts", "reason"),
        [
            ({"colour": "red"}, "colour: Unexpected"),
            ({"bounds": (0.0, math.nan)}, r"bounds must rise, found \(0, nan\)"),
            ({"direction": "up"}, "direction: .*'higher' or 'lower'"),
        ],
    )
    def test_bad_facts_are_refused_by_file_and_remedy(self, fresh, facts, reason):
        with pytest.raises(InputError, match=rf"metric 'a' in .*test_registry.py: .*{reason}"):
            fresh.register("a", **{**FACTS, **facts})(example_metric)
        assert "a" not in fresh.ids()
        with pytest.raises(InputError, match=r"metric 'a' in .*: needs a docstring"):
            fresh.register("a", **FACTS)(lambda scores, content_mask: scores)

    def test_missing_facts_are_named_together_after_a_misspelt_one(self, fresh):
        facts = {name: value for name, value in FACTS.items() if name not in ("unit", "kind")}
        with pytest.raises(InputError, match=r"metric 'a' in .*: lacks unit, kind; every fact"):
            fresh.register("a", **facts)(example_metric)
        with pytest.raises(InputError, match=r"metric 'a' in .*: knd: Unexpected"):
            fresh.register("a", **facts, knd="complexity")(example_metric)


@pytest.mark.contract
@pytest.mark.parametrize(("kind", "id"), ENTRIES)
class TestEveryEntry:
    def test_id_and_words_for_users(self, kind, id):
        entry = REGISTRIES[kind].get(id)
        assert SLUG.fullmatch(id)
        assert len(entry.facts.reference) > 10
        assert len(entry.summary) > 10
        assert entry.summary[0].isupper()
        assert entry.display
        assert entry.source.is_file()

    def test_options_resolve_to_their_own_defaults(self, kind, id):
        entry = REGISTRIES[kind].get(id)
        options = REGISTRIES[kind].options(entry)
        defaults = defaults_of(options)
        assert complete(options, defaults, id) == defaults  # a default is an allowed value
        assert complete(options, {}, id) == defaults

    def test_its_docstring_describes_every_option(self, kind, id):
        entry = REGISTRIES[kind].get(id)
        for name in entry.options.model_fields:
            assert f"{name}:" in (entry.function.__doc__ or ""), name
