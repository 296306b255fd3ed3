"""Fits by several processes on this machine, which meet over loopback: started by tests as a program of its own.

    python fitting_together.py jobs.json

A job says how many processes make which fits, and which of them dies when. All are forked from one process that has loaded
everything, and has no threads. What became of each is written to results.json beside the jobs.
"""

import json
import os
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

from torch.distributed import TCPStore

import wordtide
from wordtide.errors import WordtideError
from wordtide.inference import methods
from wordtide.inference.scale import processes
from wordtide.inference.scale.shared_output import SharedCheckpoints

PATIENCE = 100.0  # seconds after which a job that hangs is stopped


def run_jobs(path):
    jobs = json.loads(path.read_text())
    wordtide.fit(
        jobs[0]["fits"][0]["counts"], dim=2, threads=1, max_steps=1
    )  # loads compiled code, for all to come
    results = [run_job(number, job, path.parent) for number, job in enumerate(jobs)]
    (path.parent / "results.json").write_text(json.dumps(results))


def run_job(number, job, place):
    """What each process noted (None: it died), and whether one of them hung. Then folders are copied, if that is asked for."""
    store = TCPStore(
        "127.0.0.1", 0, is_master=True, wait_for_workers=False
    )  # in none of the processes, as with torchrun
    children = []
    for rank in range(job["processes"]):
        child = os.fork()
        if child == 0:
            try:
                os._exit(be_one_of_them(rank, store.port, job, place / f"{number}-{rank}.json"))
            except BaseException:
                traceback.print_exc()
                os._exit(99)
        children.append(child)
    ended = [False] * len(children)
    until = time.monotonic() + PATIENCE
    while not all(ended) and time.monotonic() < until:
        ended = [
            known or os.waitpid(child, os.WNOHANG)[0] != 0
            for known, child in zip(ended, children, strict=True)
        ]
        time.sleep(0.02)
    for known, child in zip(ended, children, strict=True):
        if not known:
            os.kill(child, signal.SIGKILL)
    for source, target in job.get("copies", {}).items():
        shutil.copytree(source, target)
    notes = [place / f"{number}-{rank}.json" for rank in range(len(children))]
    return {
        "hung": not all(ended),
        "notes": [json.loads(path.read_text()) if path.exists() else None for path in notes],
    }


def be_one_of_them(rank, port, job, notes):
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(job["processes"])}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ |= {"TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}
    found = {"knots": [], "errors": [], "spoke": []}
    remember_shares(found["knots"])
    for fit in job["fits"]:
        if fit.get("dies", {}).get("rank") == rank:
            die_at_checkpoint(fit["dies"]["checkpoint"])
        try:
            wordtide.fit(fit["counts"], output=fit["output"], threads=1, **fit["settings"])
        except WordtideError as error:
            found["errors"].append([type(error).__name__, error.problem, error.remedy])
            found["spoke"].append(processes.speaks_for_all() if fit.get("dies") else None)
    notes.write_text(json.dumps(found))
    return 0


def remember_shares(knots):
    """How many knots this process has in each fit by smoothing, and how many there are."""
    original = methods._states

    def watched(fit, diffusion, start):
        states = original(fit, diffusion, start)
        knots.append([len(states.block.knots), len(fit.problem.knots)])
        return states

    methods._states = watched


def die_at_checkpoint(number):
    """Kill this process, without a chance to tidy up, when it is about to write, or to feed, the nth checkpoint."""
    original, calls = SharedCheckpoints.save, []

    def dying(self, *arguments):
        calls.append(1)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, *arguments)

    SharedCheckpoints.save = dying


if __name__ == "__main__":
    run_jobs(Path(sys.argv[1]))
