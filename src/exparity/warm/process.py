"""State that a process gets from the one that starts it, and the part that a worker can take."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys

import exparity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from exparity.warm.messages import Message

# Libraries read these when they are called, if ever, and not when they are imported.
# The last one is set by torch, also in a run that imports it after its server was started.
_READ_LATE = {
    *("_", "SHLVL", "PWD", "OLDPWD", "TMP", "TMPDIR", "TEMP", "TEMPDIR", "COLUMNS", "LINES"),
    "TORCHINDUCTOR_CACHE_DIR",
}
# Shells, terminals and batch systems keep these for themselves; bash drops some for every job.
_OF_SESSIONS = (
    *("PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT_", "RPROMPT", "BASH", "SHELLOPTS", "HIST", "IFS"),
    *("COMP_", "EPOCH", "PPID", "RANDOM", "SRANDOM"),
    *("VIRTUAL_ENV_PROMPT", "CONDA_PROMPT", "CONDA_SHLVL", "CONDA_DEFAULT_ENV", "DIRENV_"),
    *("TMUX", "STY", "TERM_", "WINDOWID", "VTE_", "VSCODE_", "SSH_", "XDG_SESSION_", "DBUS_"),
    *("SLURM_", "SLURMD_", "SRUN_", "PMI_", "PMIX_"),
)
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def read_by_imports(variable: str) -> bool:
    """Whether an import may read a variable, so that a job with another value needs its own."""
    return variable not in _READ_LATE and not variable.startswith(_OF_SESSIONS)


def process_identity() -> dict[str, object]:
    """Return what the server and the process of a job must have in common, in types of JSON."""
    with open("/proc/self/cgroup", encoding="utf-8") as groups:
        cgroup = groups.read()
    mask = os.umask(0o077)
    os.umask(mask)
    identity = {
        "Python": [sys.executable, list(sys.flags), sys._xoptions, sys.warnoptions],
        "import path": [exparity.__file__, sys.path[1:]],
        "user": [*os.getresuid(), *os.getresgid(), *sorted(os.getgroups())],
        "cgroup": cgroup,
        "namespace": [os.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES],
        **{f"environment ({k})": v for k, v in os.environ.items() if read_by_imports(k)},
        "umask": mask,
        "limits": [resource.getrlimit(limit) for limit in _LIMITS],
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        "cores": sorted(os.sched_getaffinity(0)),
        "ignored": [number for number in FORWARDED if signal.getsignal(number) == signal.SIG_IGN],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    }
    return dict(json.loads(json.dumps(identity)))


def request_of_job() -> dict[str, object]:
    """Return what a worker checks, and takes over, of the process of its job."""
    return {
        "identity": process_identity(),
        "process": os.getpid(),
        "argv": sys.argv,
        "path": sys.path,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
    }


def take_over(settings: Message, files: list[int], ignored: Sequence[int]) -> None:
    """Give this process the settings of another, its standard files (no terminal), and signals."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(settings["folder"])
    for name in os.environ.keys() - settings["environment"].keys():
        if not read_by_imports(name):  # others were set by imports
            del os.environ[name]
    os.environ.update(settings["environment"])
    sys.argv = settings["argv"]
    sys.path[:] = settings["path"]
    for number in FORWARDED:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in ignored else usual)
