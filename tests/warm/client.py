"""A job's own process, as the command exparity is one."""

import os
import select
import sys

import late_signals

from exparity.warm import client

if sys.argv[1] == "signal-before-poll":
    sys.argv.pop(1)
    select.poll = late_signals.PollAfterSignal
if sys.argv[1].startswith("patience="):
    client._PATIENCE = float(sys.argv.pop(1).partition("=")[2])
if os.environ["EXPARITY_WARM"] != "0":
    client.hand_over(os.environ["EXPARITY_WARM"])
    print("cold", flush=True)

import jobs

jobs.run()
