"""The config: closed, described, with one set of defaults, and resolved cell by cell."""

import copy
import itertools
import json
import os
import re
import sys
from pathlib import Path

import pytest
import yaml

from exparity.artefacts import layout
from exparity.config.cautions import omissions
from exparity.config.checks import check_results
from exparity.config.experiment import Experiment, load_or_exit
from exparity.config.start import check_before_jobs
from exparity.config.tasks import tasks
from exparity.core.errors import InputError
from exparity.core.strict import canonical

ROOT = Path(__file__).resolve().parents[2]

PROMPT = {"templates": ["{text}\nIt is", "{text} is"], "words": {"female": " f", "male": " m"}}


SMALL = {
    "datasets": {"pairs_all": {}, "pairs_subj": {}},
    "models": {
        "one": {"init": "scratch", "architecture": "bert"},
        "two": {"init": "scratch", "architecture": "gpt2"},
    },
    "methods": {"gradient": {}, "integrated_gradients": {}},
    "metrics": {"gini": {}, "sparsity": {}, "comprehensiveness": {}},
    "seeds": [0, 1],
}
# Tests of each.
SHIPPED = {
    "config": 2 * 1 * 7 * 3 * 3,
    "geco": 2 * 2 * 5 * 6 * 8,
    "geco-eight": 2 * 1 * 8 * 4 * 7,
    "judged": 4 * 1 * 5 * 3 * 3,
    "compas-sst-small": 2 * 1 * 5 * 6 * 8,
    "paper": 5040,
    "paper-small": (4 * 5 + 2 * 2) * 2 * 6 * 7,
    "gecobench": 5 * 2 * 5 * 10 * 9,
    "gecobench-small": 5 * 2 * 1 * 10 * 2,
    "correctness": 3 * 2 * 5 * 8 * 5,
    "fair-rationales": 0,  # nor without groups of texts
    "fairness": 0,
    "debiasing": 2 * 5 * 3 * 4 * 5,
    "chen2024": 0,
    "ferret": 0,  # without groups there is nothing to test
    "llm": 2 * 5 * 8 * 6 * 6,
    "llm-small": 2 * 8 * 6 * 6,
}

# Grids of publications, in full or in small.
PUBLISHED = {"paper", "paper-small", "gecobench", "gecobench-small", "ferret"}


def experiment(**changes) -> Experiment:
    return Experiment.from_mapping({**copy.deepcopy(SMALL), **changes})


@pytest.mark.contract
class TestSchema:
    @pytest.mark.parametrize("name", SHIPPED)
    def test_configs_that_come_with_it_are_valid(self, name):
        written = (ROOT / "config" / f"{name}.yaml").read_text()
        found = Experiment.from_mapping(yaml.safe_load(written))
        assert len(list(found.tests())) == SHIPPED[name]
        cells = itertools.product(found.pairs, found.seeds, found.methods, found.metrics)
        if name not in ("ferret", "fair-rationales"):  # no groups
            assert not found.grid.left_out
            expected = [(*pair, seed, method, metric) for pair, seed, method, metric in cells]
            assert [tuple(cell.values()) for cell in found.tests()] == expected
            assert not list(omissions(found))

    @pytest.mark.parametrize("name", sorted({*SHIPPED} - PUBLISHED))
    def test_verdicts_can_stand_on_forward_simulation(self, name):
        written = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text())
        assert not written["methods"] or "forward_simulation" in written["metrics"]

    def test_none_of_them_is_left_out(self):
        assert {*SHIPPED} == {p.stem for p in (ROOT / "config").glob("*.yaml")}


REFUSED = yaml.safe_load((Path(__file__).parent / "refused.yaml").read_text())["refused"]
REFUSED.append([{"title": "t" * 300}, "config: title: 'tt... is refused: use at most 200"])
REFUSED.append(
    [{"methods": {"g" * 300: {"use": "gradient"}}}, "methods: 'gg...' is not an id: ...64"]
)


def test_a_changed_template_trains_its_seed_alone():
    """Line ends of a template are kept."""
    lm = {"checkpoint": "someone/lm", "head": "label_words"}
    one, other = (
        experiment(
            datasets={"pairs_all": {}},
            models={"lm": lm},
            prompts={"pairs_all": {**PROMPT, "templates": ["{text}\nIt is", last]}},
        )
        for last in ("{text} is", "{text} was")
    )
    options = [one.finetune_options("pairs_all", "lm", seed) for seed in (0, 1)]
    assert [o["prompt"]["template"] for o in options] == ["{text}\nIt is", "{text} is"]
    assert not any("templates" in o for o in options)
    of_other = [other.finetune_options("pairs_all", "lm", seed) for seed in (0, 1)]
    assert of_other[0] == options[0]
    assert of_other[1] != options[1]


@pytest.mark.contract
class TestExplains:
    def params_of(self, **changes):
        asked = experiment(**{"methods": {"gradient": {}, "lime": {}}, **changes})
        return {id: dict(one.params) for id, one in asked.methods.items()}

    def test_the_key_holds_for_every_method_of_logits(self):
        assert self.params_of()["gradient"] == {"explains": "auto"}
        assert self.params_of(explains="log_odds") == {
            "gradient": {"explains": "log_odds"},
            "lime": {},
        }
        assert self.params_of(study="ferret")["gradient"] == {"explains": "logit"}
        assert self.params_of(study="ferret", explains="auto")["gradient"] == {"explains": "auto"}

    def test_a_method_may_say_otherwise(self):
        methods = {"gradient": {"explains": {"against": "male"}}, "lime": {}}
        found = self.params_of(explains="log_odds", methods=methods)
        assert found["gradient"] == {"explains": {"against": "male"}}


class TestRefused:
    @pytest.fixture
    def at_hand(self, tmp_path, monkeypatch):
        """A folder with a table and checkpoints, of which there are but the configurations."""
        monkeypatch.chdir(tmp_path)
        rows = [
            f"text {i} fine,{('no', 'yes')[i % 2]},{('old', 'young')[i // 2 % 2]},x,"
            f"{'' if i < 2 else i % 2},{('test', 'train')[i // 2 % 2]},"
            for i in range(40)
        ]
        table = "\n".join(["text,label,group,same,gaps,part,empty", *rows])
        Path("own.csv").write_text(table, encoding="utf-8")
        classifier = {"architectures": ["BertForSequenceClassification"]}
        for name, settings in {
            "encoder": {"architectures": ["BertModel"]},
            "three": {**classifier, "id2label": {0: "a", 1: "b", 2: "c"}},
            "swapped": {**classifier, "id2label": {0: "male", 1: "female"}},
            "several": {**classifier, "problem_type": "multi_label_classification"},
        }.items():
            Path(name).mkdir()
            Path(name, "config.json").write_text(json.dumps({"model_type": "bert", **settings}))

    def begin(self, changes):
        """Check all that a plan and a dry run check."""
        asked = experiment(**changes)
        check_results(asked)
        check_before_jobs(asked)

    @pytest.mark.parametrize(("changes", "words"), REFUSED, ids=lambda v: str(v)[:60])
    def test_by_name_and_with_a_remedy(self, changes, words, at_hand):
        message = ".*".join(map(re.escape, words.split("...")))
        with pytest.raises(InputError, match=message) as refused:
            self.begin(changes)
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize("path", ["..", "a/../../b", "~/home", "-r", "", "/"])
    def test_results_are_no_path_upwards_nor_a_home(self, path):
        with pytest.raises(InputError, match="config: results: "):
            experiment(results=path)

    @pytest.fixture
    def stops(self, capsys):
        """Return a function that checks that a config ends the process with 2 and a line."""

        def check(line, *arguments):
            with pytest.raises(SystemExit) as stop:
                load_or_exit(*arguments)
            assert stop.value.code == 2
            error = capsys.readouterr().err
            assert error.startswith(f"exparity: {line}")
            assert error.count("\n") == 1

        return check

    def test_fewer_cores_than_one_are_refused(self, stops):
        stops("--cores -5: write 1 or more", SMALL, (), -5)

    @pytest.mark.parametrize("name", ["tables", "figures"])
    def test_folders_that_no_report_has_made_are_not_replaced(
        self, name, tmp_path, monkeypatch, stops
    ):
        """A paper may have such ones."""
        monkeypatch.chdir(tmp_path)
        folder = tmp_path / "report" / name
        folder.mkdir(parents=True)
        here = {**SMALL, "results": "."}
        load_or_exit(here)
        (folder / "mine.pdf").touch()
        stops(f"results: report/{name} holds files of no report", here)
        load_or_exit(SMALL)
        (tmp_path / "grid.json").touch()  # of a run that was killed
        load_or_exit(here)

    def test_the_report_of_another_experiment_is_not_overwritten(
        self, tmp_path, monkeypatch, stops
    ):
        monkeypatch.chdir(tmp_path)
        own = sorted(SMALL["datasets"])
        first = next(iter(SMALL["datasets"]))
        other = {**SMALL, "datasets": {"bios": {}}}
        load_or_exit(other)  # there is no report yet
        for folder, files in (("report", ["index.html"]), ("data", [f"{n}.parquet" for n in own])):
            (tmp_path / "results" / folder).mkdir(parents=True)
            for file in files:
                (tmp_path / "results" / folder / file).touch()
        load_or_exit(SMALL)
        load_or_exit({**SMALL, "datasets": {first: {}, "bios": {}}})
        load_or_exit({**other, "results": "results/bios"})
        stops(f"results: results holds the report of an experiment on {', '.join(own)};", other)


class TestGrid:
    @pytest.mark.parametrize("option", ["text", "label", "group", "id", "split", "rationale"])
    def test_columns_of_a_table_are_looked_for_before_any_job(self, tmp_path, option):
        path = tmp_path / "mine.csv"
        path.write_text("text,label,group\n")
        own = {"use": "table", "path": str(path)}
        found = experiment(datasets={"mine": own})
        assert found.own_inputs("prepare", {"dataset": "mine"}) == [str(path)]
        with pytest.raises(InputError, match=r"datasets\.mine: .*mine\.csv.*: no column 'grp'"):
            experiment(datasets={"mine": {**own, option: "grp"}})
        # With no groups their column is not asked for, and nothing else is let go.
        experiment(datasets={"mine": {**own, "group": "grp", "groups": []}}, metrics={"gini": {}})

    def test_jobs_learn_from_the_environment_how_to_run(self):
        found = experiment(
            engine={"device": "cuda:1", "token_budget": 512, "shortcuts": True},
            data_dir="raw",
            download=False,
            plugins=["json", "csv"],
        ).environment
        found.pop("PATH")
        assert found == {
            "EXPARITY_DATA_DIR": "raw",
            "EXPARITY_DOWNLOAD": "0",
            "HF_HUB_OFFLINE": "1",
            "EXPARITY_DEVICE": "cuda:1",
            "EXPARITY_SHORTCUTS": "1",
            "EXPARITY_TOKEN_BUDGET": "512",
            "EXPARITY_DEVICE_MAP": "",
            "EXPARITY_MAX_MEMORY": "",
            "EXPARITY_MAX_CALLS": "",
            "EXPARITY_PLUGINS": f"json{os.pathsep}csv",
        }

    def test_their_programs_come_before_all_others_and_once(self, monkeypatch):
        own = str(Path(sys.executable).parent)
        monkeypatch.setenv("PATH", os.pathsep.join(["/other", own, "/usr/bin"]))
        path = experiment().environment["PATH"]
        assert path.split(os.pathsep) == [own, "/other", "/usr/bin"]


def training_of(found, dataset, model, seed):
    return found.finetune_options(dataset, model, seed)["training"]


def test_a_model_is_built_for_a_check_until_it_is_trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checked = []
    monkeypatch.setattr("exparity.config.start.check_buildable", checked.append)
    found = experiment()
    asked = []
    check_before_jobs(found, lambda models: not asked.append(models))
    assert asked
    assert not checked
    check_before_jobs(found)
    assert checked
    for ids in layout.cells(found.grid, "predictions"):
        path = Path(found.results, layout.path_of("predictions", ids))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    checked.clear()
    check_before_jobs(experiment())
    assert not checked


def test_later_overrides_win():
    two = [{"match": {"seed": 0}, "training": {"epochs": n, "batch_size": 9 - n}} for n in (2, 1)]
    found = training_of(experiment(overrides=two), "pairs_all", "one", 0)
    assert (found["epochs"], found["batch_size"]) == (1, 8)


def all_options(found: Experiment) -> dict[tuple, str]:
    """What every job of a config depends on."""
    return {(one.rule, *one.ids.values()): canonical(one.options()) for one in tasks(found)}


def changed(before: Experiment, after: Experiment) -> set[tuple]:
    """Jobs of ``before`` that a change of the config touches."""
    one, two = all_options(before), all_options(after)
    return {job for job in one if one[job] != two.get(job)}


def stages(jobs) -> set[str]:
    return {job[0] for job in jobs}


@pytest.mark.contract
class TestWhatAChangeTouches:
    def test_the_order_of_keys_does_not_matter(self):
        def turned(value):
            if isinstance(value, dict):
                return {k: turned(v) for k, v in reversed(value.items())}
            return value

        one = {
            **SMALL,
            "training": {"epochs": 1, "batch_size": 2},
            "methods": {"few": {"use": "integrated_gradients", "n_steps": 3}},
        }
        jobs = [all_options(Experiment.from_mapping(config)) for config in (one, turned(one))]
        for job_lists in jobs:
            del job_lists["report",]  # its pairs are in the order of its rows
        assert jobs[0] == jobs[1]

    @pytest.mark.parametrize(
        ("metrics", "enabled", "searches"),
        [
            (["comprehensiveness"], None, True),
            (["comprehensiveness"], False, False),
            (["comprehensiveness", "forward_simulation"], None, False),
            (["comprehensiveness", "forward_simulation"], True, True),
            (["forward_simulation"], True, False),
        ],
    )
    def test_the_reference_is_searched_for_where_verdicts_need_it(self, metrics, enabled, searches):
        config = experiment(
            metrics={id: {} for id in metrics}, controls={"reference": {"enabled": enabled}}
        )
        made = {job[0] for job in all_options(config)}
        assert ("removal_limits" in made) == searches

    @pytest.mark.parametrize(
        "changes",
        [
            {"engine": {"device": "cpu", "token_budget": 99}},
            {"data_dir": "elsewhere"},
            {"download": False},
            {"plugins": ["json"]},
            {"results": "other"},
        ],
        ids=lambda c: next(iter(c)),
    )
    def test_how_and_where_it_runs_touches_nothing(self, changes):
        assert changed(experiment(), experiment(**changes)) == set()

    def test_a_preset_touches_what_it_sets(self):
        jobs = changed(experiment(), experiment(study="code"))
        explained = {job[-1] for job in jobs if job[0] == "explain"}
        assert explained == {"gradient", "integrated_gradients"}  # which say `explains: logit`
        expected = {"finetune", "explain", "evaluate", "negative_control", "compare", "report"}
        assert stages(jobs) == expected
        assert {job[-1] for job in jobs if job[0] == "evaluate"} == {"gini", "sparsity"}

    @pytest.mark.parametrize(
        ("changes", "touched"),
        [
            ({"title": "New"}, {"report"}),
            ({"metrics": {**SMALL["metrics"], "soft_sufficiency": {}}}, {"report"}),
            ({"metrics": {**SMALL["metrics"], "sufficiency": {}}}, {"removal_limits", "report"}),
            ({"methods": {**SMALL["methods"], "lime": {}}, "seeds": [0, 1, 2]}, {"report"}),
            # Groups are compared again for what is read, which is another file then.
            (
                {"controls": {"random": {"draws": 2}}},
                {"negative_control", "removal_limits", "report"},
            ),
            ({"controls": {"reference": {"stages": 5}}}, {"removal_limits", "report"}),
            ({"training": {"epochs": 9}}, {"finetune"}),
            ({"target": "predicted"}, {"explain", "negative_control", "removal_limits"}),
            ({"precision": "bf16"}, {"evaluate", "negative_control", "removal_limits"}),
            ({"gradient_precision": "bf16"}, {"explain"}),
            ({"statistics": {"alpha": 0.1}}, {"compare", "judge", "ranking", "report"}),
            ({"statistics": {"threshold": 0.5}}, {"compare", "report"}),
            ({"statistics": {"resamples": 9}}, {"compare", "bias", "report"}),
            ({"statistics": {"family": ["dataset", "model"]}}, {"judge", "report"}),
        ],
        ids=lambda value: str(value if isinstance(value, dict) else sorted(value)),
    )
    def test_a_change_reruns_the_stages_that_depend_on_it(self, changes, touched):
        jobs = changed(experiment(), experiment(**changes))
        assert stages(jobs) == touched
        if "precision" in changes:  # which metrics that do not run the model do not depend on
            assert {j[-1] for j in jobs if j[0] == "evaluate"} == {"comprehensiveness"}

    @pytest.mark.parametrize(
        ("block", "id", "entry", "touched", "n"),
        [
            ("methods", "integrated_gradients", {"n_steps": 7}, {"explain"}, 2 * 2 * 2),
            ("metrics", "sparsity", {"tau": 0.01}, {"evaluate", "negative_control"}, 8 * 2 + 8),
            ("datasets", "pairs_all", {"n_pairs": 50}, {"prepare"}, 1),
            ("models", "two", {**SMALL["models"]["two"], "size": {"n_embd": 24}}, {"finetune"}, 4),
        ],
    )
    def test_an_option_of_one_touches_what_it_makes_and_nothing_else(
        self, block, id, entry, touched, n
    ):
        jobs = changed(experiment(), experiment(**{block: {**SMALL[block], id: entry}}))
        assert stages(jobs) == touched
        assert all(id in job for job in jobs)
        assert len(jobs) == n

    @pytest.mark.parametrize(
        ("match", "block", "options", "stage", "n"),
        [
            ({"dataset": "pairs_all", "method": "integrated_gradients"},
             "method", {"n_steps": 7, "max_examples": 20}, "explain", 2 * 2),
            ({"metric": "sparsity", "method": "gradient"},
             "metric", {"tau": 0.01}, "evaluate", 2 * 2 * 2),
        ],
    )  # fmt: skip
    def test_an_override_reaches_the_cells_that_it_matches(self, match, block, options, stage, n):
        found = experiment(overrides=[{"match": match, block: options}])
        jobs = {job for job in changed(experiment(), found) if job[0] == stage}
        assert len(jobs) == n
        for job in jobs:
            assert set(match.values()) <= set(job)
            for key, value in options.items():
                assert f'"{key}":{json.dumps(value)}' in all_options(found)[job]

    def test_which_datasets_a_model_is_for_is_not_part_of_its_checkpoint(self):
        models = copy.deepcopy(SMALL["models"])
        models["two"]["datasets"] = ["pairs_all"]
        jobs = changed(experiment(), experiment(models=models))
        gone = {job for job in all_options(experiment()) if "two" in job and "pairs_subj" in job}
        assert jobs == {("report",)} | gone

    def test_gradients_have_a_precision_of_their_own(self):
        """A metric takes gradients where its own or those of a method that explains again do."""
        settings = {"lime": {}, "gradient": {}}, {"comprehensiveness": {}, "sensitivity": {}}
        own = dict(zip(("methods", "metrics"), settings, strict=True), precision="bf16")
        before, after = experiment(**own), experiment(**own, gradient_precision="bf16")
        touched = {job[4:] for job in changed(before, after) if job[0] in ("explain", "evaluate")}
        assert touched == {("gradient",), ("gradient", "sensitivity")}


def test_an_encoder_reaches_the_schemes_and_no_other_model(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    models = {"mine": {"use": "bert_cef", "training": {"epochs": 2}}, "gpt2": {}}
    found = experiment(models=models, encoder=str(tmp_path), training={"learning_rate": 0.5})
    checkpoints = [found.models[id].spec.checkpoint for id in models]
    assert checkpoints == [str(tmp_path), "openai-community/gpt2"]
    # Published settings of a known model are closer to it than those of the whole config.
    mine, other = (training_of(found, "pairs_all", id, 0) for id in models)
    assert (mine["epochs"], mine["learning_rate"], other["learning_rate"]) == (2, 0.01, 0.5)
