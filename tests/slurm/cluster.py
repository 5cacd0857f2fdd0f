"""A one-node SLURM on the loopback, started and stopped by whoever needs it.

Everything lies in one folder and listens on free ports, so that it meets no other SLURM of the
machine. The daemons are those of Debian's ``slurm-wlm`` and ``munge``. Two device files stand in
for GPUs: SLURM hands them out and sets ``CUDA_VISIBLE_DEVICES``, and nobody opens them.
"""

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support import write_program

PROGRAMS = (
    "munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "squeue", "scontrol", "setpriv",
)  # fmt: skip
# Debian keeps the daemons where a user's PATH does not look.
SEARCH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=30
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,bf_interval=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ReturnToService=2
KillWait=5
MinJobAge=3600
MailProg=/bin/true
TaskProlog={folder}/task_prolog
GresTypes=gpu
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
JobCompType=jobcomp/none
EnforcePartLimits=ANY
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=64000 Gres=gpu:v100:2 State=UNKNOWN
PartitionName=gpu Nodes={host} MaxTime=INFINITE OverSubscribe=FORCE:3 State=UP
PartitionName=cpu Nodes={host} MaxTime=INFINITE State=UP OverSubscribe=FORCE:3 Default=YES
PartitionName=closed Nodes={host} MaxTime=INFINITE State=UP AllowAccounts=lab
"""


@dataclass(frozen=True)
class QueuedJob:
    """A job as ``squeue`` shows it; the comment names its rule or group."""

    id: str
    state: str
    partition: str
    gres: str
    cpus: str
    folder: str
    comment: str


class Cluster:
    """munge, slurmctld and slurmd.

    Args:
        folder: where keys, state and logs go; its path must be short, for the socket in it.
        cpus: how many the node is said to have; those of the machine if None.
    """

    def __init__(self, folder: Path, cpus: int | None = None) -> None:
        self.folder = folder
        self.cpus = cpus or os.cpu_count()
        self.host = socket.gethostname().split(".")[0]
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which SLURM's commands find this cluster."""
        path = os.pathsep.join([str(self.folder / "bin"), os.environ.get("PATH", "")])
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": path}

    # Start and stop

    def start(self) -> None:
        self._write_files()
        socket_, key = self.folder / "munge.socket", self.folder / "munge.key"
        self._launch(
            "munged", "--foreground", "--force", f"--socket={socket_}", f"--key-file={key}",
            f"--pid-file={self.folder / 'munged.pid'}", f"--seed-file={self.folder / 'seed'}",
            f"--log-file={self.folder / 'munged.own.log'}",
        )  # fmt: skip
        self._until(socket_.exists, "munge opens its socket")
        self.start_controller()
        self._launch("slurmd", "-D")
        self._until(lambda: self.node_state() == "idle", "the node is idle")

    def start_controller(self) -> None:
        self._launch("slurmctld", "-D")
        self._until(lambda: self._answers("scontrol", "ping"), "slurmctld answers")

    def stop_controller(self) -> None:
        """End it in order: it writes down what it knows, and the next one goes on with that."""
        self._end("slurmctld")

    def stop(self) -> None:
        """End all jobs, then the daemons in reverse order."""
        if self._answers("scontrol", "ping"):
            self.cancel_all()
        for name in reversed(list(self._daemons)):
            self._end(name)

    # What is on it

    def command(self, *words: str) -> str:
        """Run one of SLURM's commands and return what it prints."""
        run = self._run(*words)
        assert run.returncode == 0, f"{' '.join(words)}: {run.stderr}"
        return run.stdout

    def jobs(self, *, ended: bool = False) -> list[QueuedJob]:
        """Return the jobs in the queue; with those that have ended in the last hour."""
        flags = ["--states=all"] if ended else []
        shape = "--format=%i|%T|%P|%b|%C|%Z|%k"
        rows = self.command("squeue", "--noheader", shape, *flags).splitlines()
        return [QueuedJob(*row.split("|", 6)) for row in rows]

    def running(self, rule: str, folder: Path) -> list[QueuedJob]:
        """Return the running jobs of a rule that were submitted from a folder."""
        return [
            job
            for job in self.jobs()
            if rule in job.comment and job.folder == str(folder) and job.state == "RUNNING"
        ]

    def begun(self) -> Counter[str]:
        """Return how many tasks each job has begun: its script is one, each step another."""
        return Counter((self.folder / "tasks").read_text().split())

    def node_state(self) -> str:
        if not self._answers("scontrol", "ping"):
            return "unknown"
        return self.command("sinfo", "--noheader", "--format=%t", "--partition=cpu").strip()

    # What befalls it

    def crash(self, daemon: str, seconds: float) -> None:
        """Kill ``slurmctld`` or ``slurmd``, and start it again after a while."""
        killed = self._daemons.pop(daemon)
        killed.kill()
        killed.wait()
        time.sleep(seconds)
        self._launch(daemon, "-D")

    def expire(self, job: QueuedJob) -> None:
        """Let a job's time limit end now; slurmctld acts on it within half a minute."""
        self.command("scontrol", "update", f"JobId={job.id}", "EndTime=now+1")

    def cancel_all(self) -> None:
        for job in self.jobs():
            self.command("scancel", job.id)
        self._until(lambda: not self.jobs(), "the queue is empty")

    def drain(self) -> None:
        self.command(
            "scontrol", "update", f"NodeName={self.host}", "State=DRAIN", "Reason=maintenance"
        )

    def resume(self) -> None:
        # A controller that has just started refuses until it has heard of the node.
        words = ("scontrol", "update", f"NodeName={self.host}", "State=RESUME")
        self._until(lambda: self._answers(*words), "the node is resumed")

    # Within

    def _write_files(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        tasks = self.folder / "tasks"
        tasks.touch()
        write_program(self.folder / "task_prolog", f"echo $SLURM_JOB_ID >> {tasks}")
        facts = {
            "host": self.host,
            "cpus": self.cpus,
            "user": getpass.getuser(),
            "folder": self.folder,
            "controller_port": _free_port(),
            "node_port": _free_port(),
        }
        (self.folder / "slurm.conf").write_text(CONF.format(**facts))
        # Snakemake's plugin takes SLURM's variables out of the environment in which it calls srun,
        # so that srun would look for its configuration in /etc.
        srun = f'SLURM_CONF={self.folder}/slurm.conf exec {shutil.which("srun")} "$@"'
        write_program(self.folder / "bin" / "srun", srun)
        gpus = f"NodeName={self.host} Name=gpu Type=v100 File=/dev/null,/dev/zero\n"
        (self.folder / "gres.conf").write_text(gpus)

    def _launch(self, program: str, *flags: str) -> None:
        path = shutil.which(program, path=SEARCH)
        assert path is not None
        with (self.folder / f"{program}.log").open("ab") as log:
            # It ends with the tests, also when these are killed.
            command = ["setpriv", "--pdeathsig", "TERM", path, *flags]
            self._daemons[program] = subprocess.Popen(
                command,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _end(self, name: str) -> None:
        daemon = self._daemons.pop(name)
        daemon.terminate()
        try:
            daemon.wait(timeout=20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def _answers(self, *words: str) -> bool:
        return self._run(*words).returncode == 0

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **self.environment}
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)

    def _until(self, holds: Callable[[], bool], what: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            for name, daemon in self._daemons.items():
                assert daemon.poll() is None, f"{name} has ended; see {self.folder / name}.log"
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
            time.sleep(0.1)


def missing_programs() -> list[str]:
    """Return what a cluster needs and this machine lacks."""
    return [name for name in PROGRAMS if shutil.which(name, path=SEARCH) is None]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
