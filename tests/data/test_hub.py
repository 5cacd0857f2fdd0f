"""Tables of the Hugging Face Hub: addresses, pins, and a Hub of one table on this machine."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest
import yaml
from huggingface_hub import constants
from support import TINY

from exparity import cli
from exparity.config.experiment import Experiment
from exparity.core.errors import InputError
from exparity.data.hub import local_copy
from exparity.tools import audit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ADDRESS = "hf://datasets/them/theirs/data/t.csv"
TABLE = "text,label,group\n" + "".join(
    f"a film {i},{'good' if i % 2 else 'bad'},{'old' if i % 3 else 'young'}\n" for i in range(24)
)


def config(**options):
    dataset = {"use": "table", "path": ADDRESS, "revision": COMMIT, **options}
    return {**TINY, "datasets": {"mine": dataset}, "metrics": {"gini": {}}, "counterfactuals": {}}


def test_a_file_of_ones_own_has_no_revision():
    with pytest.raises(InputError, match="`revision` is for tables at hf://"):
        local_copy("t.csv", COMMIT, download=False)
    assert local_copy("t.csv", None, download=False).name == "t.csv"


def test_it_is_no_input_of_a_job_and_its_pin_is_an_option():
    found = Experiment.from_mapping(config())
    assert found.own_inputs("prepare", {"dataset": "mine"}) == []
    assert COMMIT in str(found.prepare_options("mine"))
    other = Experiment.from_mapping(config(revision=COMMIT[::-1]))
    assert other.prepare_options("mine") != found.prepare_options("mine")


class Hub(BaseHTTPRequestHandler):
    """Has one file at one commit."""

    asked: ClassVar[list[str]] = []
    gone: ClassVar[dict[str, str]] = {
        "them/other": "RepoNotFound", "0" * 40: "RevisionNotFound", "no.csv": "EntryNotFound",
    }  # fmt: skip

    def do_HEAD(self):
        if "/resolve/" in self.path:  # the client asks for lists of its own
            self.asked.append(f"{self.command} {self.path}")
        reason = next((code for part, code in self.gone.items() if part in self.path), None)
        if self.path.endswith("broken.csv"):
            self.send_response(500)
        elif reason:
            self.send_response(404)
            self.send_header("X-Error-Code", reason)
        else:
            self.send_response(200)
            self.send_header("ETag", '"abc"')
            self.send_header("X-Repo-Commit", COMMIT)
        table = TABLE
        if self.path.endswith("sex.csv"):  # with the classes of the tiny checkpoints
            table = TABLE.replace("good", "female").replace("bad", "male")
        body = table.encode() if reason is None else b""
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return body

    def do_GET(self):
        self.wfile.write(self.do_HEAD())

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Make this process the Hub that it asks, with an empty cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with HTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, address)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "ENDPOINT", address)
        Hub.asked.clear()
        yield
        server.shutdown()


def test_fetched_on_one_machine_and_read_without_a_network(hub, tmp_path, capsys, monkeypatch):
    (tmp_path / "my.yaml").write_text(yaml.safe_dump(config()))
    prepare = [
        "prepare", "--use", "table", "--param", f"path={ADDRESS}", "--param", f"revision={COMMIT}",
        "--output", "d.parquet", "--no-download",
    ]  # fmt: skip
    assert cli.main(prepare) == 2
    message = f"{ADDRESS} is not here; where there is a network, `snakemake fetch`"
    assert message in capsys.readouterr().err
    assert Hub.asked == []
    assert cli.main(["data", "fetch", "mine", "--configfile", "my.yaml"]) == 0
    assert f"mine: {ADDRESS} is here: {tmp_path}/hf/" in capsys.readouterr().out
    Hub.asked.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert cli.main(prepare) == 0
    assert Hub.asked == []
    # Its columns are now looked for before any job.
    with pytest.raises(InputError, match=r"datasets.mine: .*no column 'grp'; did you mean 'group'"):
        Experiment.from_mapping(config(group="grp"))


MISSING = [
    ("them/other/t.csv", COMMIT, "the Hub has no such dataset, or a private one; correct"),
    ("them/theirs/no.csv", COMMIT, f"them/theirs has no file 'no.csv' at {COMMIT}"),
    ("them/theirs/t.csv", "0" * 40, f"the Hub has no revision {'0' * 40}"),
    ("them/theirs/broken.csv", COMMIT, "the Hub could not be reached (HfHubHTTPError: "),
]


@pytest.mark.parametrize(("file", "commit", "message"), MISSING)
def test_what_the_hub_does_not_have_is_one_line(hub, monkeypatch, file, commit, message):
    """And it is asked once, where there is a network."""
    with pytest.raises(InputError) as missing:
        local_copy(f"hf://datasets/{file}", commit, download=True)
    assert str(missing.value).startswith(f"hf://datasets/{file}: {message}")
    assert "\n" not in str(missing.value)
    assert len(Hub.asked) == 1
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"could not be reached \(HF_HUB_OFFLINE is set\); where"):
        local_copy(f"hf://datasets/{file}", commit, download=True)
    assert len(Hub.asked) == 1


def test_an_audit_fetches_its_table(hub, checkpoints, monkeypatch):
    configs = []
    monkeypatch.setattr(audit, "run_workflow", lambda path, *_, **__: configs.append(path))
    table = ADDRESS.replace("t.csv", "sex.csv")
    audit.audit(table=table, table_revision=COMMIT, checkpoint=checkpoints["bert"], dry_run=True)
    assert [str(path) for path in configs] == ["results/audit_sex_bert/config.yaml"]
