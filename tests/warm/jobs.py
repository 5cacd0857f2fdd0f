"""Jobs for a server: what a process sees of itself, and several ways to end."""

import importlib.util
import json
import os
import resource
import signal
import sys
import time


def portrait():
    known = "colorsys" in sys.modules
    facts = {
        "argv": sys.argv[1:],
        "folder": os.getcwd(),
        "umask": os.umask(0o022),
        "environment": dict(os.environ),
        "path": sys.path,
        "limits": [resource.getrlimit(n) for n in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE)],
        "niceness": os.getpriority(os.PRIO_PROCESS, 0),
        "cores": sorted(os.sched_getaffinity(0)),
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "handlers": [str(signal.getsignal(n)) for n in (2, 1, 15, 10)],
        "stdin": sys.stdin.read(),
        "streams": [
            [file.encoding, file.errors, file.line_buffering, file.isatty()]
            for file in (sys.stdin, sys.stdout, sys.stderr)
        ],
    }
    print(json.dumps(facts))
    print("seen before:", known, file=sys.stderr)


def sleep():
    print("ready", os.getpid(), flush=True)
    while True:
        time.sleep(0.1)  # a signal that arrives just before this begins does not end it


def trap():
    def tell(number, frame):
        os.write(1, b"got %d\n" % number)  # print may still be at work on what told of the job
        sys.exit(7)

    signal.signal(signal.SIGTERM, tell)
    sleep()


def fail():
    raise ValueError("wrong")


def leave():
    sys.exit(json.loads(sys.argv[2]))


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def load():
    spec = importlib.util.spec_from_file_location("of_the_user", sys.argv[2])
    sys.modules["of_the_user"] = importlib.util.module_from_spec(spec)


def mark():
    with open(sys.argv[2], "a") as file:
        file.write("done\n")


def work():
    while time.process_time() < float(sys.argv[2]):
        pass


def imports():
    print("safetensors" in sys.modules, flush=True)
    import safetensors  # noqa: F401


def tries():
    from exparity.core.trials import outcome_of

    def trial():
        print("tried", flush=True)
        return [True]

    outcome_of(trial, sys.argv[2])


def run(at_end=lambda: None):
    globals()[sys.argv[1]]()
    at_end()
    sys.stdout.flush()
    os._exit(0)


def stay(at_end):
    """Return to the worker, as ``exparity.cli:run_and_stay`` does."""
    globals()[sys.argv[1]]()
    print(os.getpid(), os.environ.get("TMPDIR"), os.getcwd())
    return 0
