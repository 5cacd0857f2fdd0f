"""Tables of the Hugging Face Hub: addresses, pins, and a Hub of one table on this machine."""

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest
import yaml
from support import TINY

from exparity.config.experiment import Experiment
from exparity.core.errors import InputError
from exparity.data.hub import local_copy

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ADDRESS = "hf://datasets/them/theirs/data/t.csv"
TABLE = "text,label,group\n" + "".join(
    f"a film {i},{'good' if i % 2 else 'bad'},{'old' if i % 3 else 'young'}\n" for i in range(24)
)


def config(**options):
    dataset = {"use": "table", "path": ADDRESS, "revision": COMMIT, **options}
    return {**TINY, "datasets": {"mine": dataset}, "metrics": {"gini": {}}, "counterfactuals": {}}


def test_a_file_of_ones_own_has_no_revision(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    with pytest.raises(InputError, match="`revision` is for tables at hf://"):
        Experiment.from_mapping(config(path=str(tmp_path / "t.csv")))
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
def hub(tmp_path):
    """Run a command or code where the Hub is this process, with an empty cache."""
    with HTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "NO_PROXY": "*"}

        def run(*command, **more):
            environment = {**os.environ, **address, "HF_HOME": str(tmp_path / "hf"), **more}
            return subprocess.run(
                [sys.executable, *map(str, command)],
                env={**environment, "HF_HUB_OFFLINE": more.get("HF_HUB_OFFLINE", "0")},
                cwd=tmp_path, capture_output=True, text=True,
            )  # fmt: skip

        Hub.asked.clear()
        yield run
        server.shutdown()


def test_fetched_on_one_machine_and_read_without_a_network(hub, tmp_path):
    (tmp_path / "my.yaml").write_text(yaml.safe_dump(config()))
    prepare = [
        "-m", "exparity", "prepare", "--use", "table", "--param", f"path={ADDRESS}",
        "--param", f"revision={COMMIT}", "--output", "d.parquet",
    ]  # fmt: skip
    early = hub(*prepare, "--no-download")
    assert early.returncode == 2
    assert f"{ADDRESS} is not here; where there is a network, `snakemake fetch`" in early.stderr
    assert Hub.asked == []
    fetched = hub("-m", "exparity", "data", "fetch", "mine", "--configfile", "my.yaml")
    assert fetched.returncode == 0, fetched.stderr
    assert f"mine: {ADDRESS} is here: {tmp_path}/hf/" in fetched.stdout
    Hub.asked.clear()
    made = hub(*prepare, "--no-download", HF_HUB_OFFLINE="1")
    assert made.returncode == 0, made.stderr
    assert Hub.asked == []
    # Its columns are now looked for before any job.
    (tmp_path / "my.yaml").write_text(yaml.safe_dump(config(group="grp")))
    planned = hub("-m", "exparity", "plan", "my.yaml")
    assert "datasets.mine: " in planned.stderr
    assert "no column 'grp'; did you mean 'group'" in planned.stderr


MISSING = [
    ("them/other/t.csv", COMMIT, "the Hub has no such dataset, or a private one; correct"),
    ("them/theirs/no.csv", COMMIT, f"them/theirs has no file 'no.csv' at {COMMIT}"),
    ("them/theirs/t.csv", "0" * 40, f"the Hub has no revision {'0' * 40}"),
    ("them/theirs/broken.csv", COMMIT, "the Hub could not be reached (HfHubHTTPError: "),
]


def test_what_the_hub_does_not_have_is_one_line(hub):
    """And it is asked once for each, where there is a network."""
    code = (
        "import sys; from exparity.core.errors import InputError\n"
        "from exparity.data.hub import local_copy\n"
        "for place, commit in zip(sys.argv[1::2], sys.argv[2::2]):\n"
        "    try: local_copy(place, commit, download=True)\n"
        "    except InputError as error: print(error)"
    )
    words = [word for file, commit, _ in MISSING for word in (f"hf://datasets/{file}", commit)]
    said = hub("-c", code, *words).stdout.splitlines()
    for line, (file, _, message) in zip(said, MISSING, strict=True):
        assert line.startswith(f"hf://datasets/{file}: {message}")
    assert len(Hub.asked) == len(MISSING)
    offline = hub("-c", code, *words, HF_HUB_OFFLINE="1").stdout.splitlines()
    reason = "could not be reached (HF_HUB_OFFLINE is set); where there is a net"
    assert [reason in line for line in offline] == [True] * len(MISSING)
    assert len(Hub.asked) == len(MISSING)


def test_an_audit_fetches_its_table(hub, checkpoints):
    audit = ["-m", "exparity", "audit", "--checkpoint", checkpoints["bert"], "--dry-run"]
    done = hub(*audit, "--table", ADDRESS.replace("t.csv", "sex.csv"), "--table-revision", COMMIT)
    assert done.returncode == 0, done.stderr
    assert "results/audit_sex_bert/config.yaml is the config" in done.stdout
