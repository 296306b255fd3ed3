"""Work and resources beyond the rows of `test_open_doors`: memory, the time to load, and Ctrl-C at any moment."""

import shlex
import sys
import time

import numpy as np
import pytest
from cli.command_line import run, run_process

import wordtide
from wordtide.storage.arrays import map_tensors


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory of Linux")
def test_a_hundred_thousand_workers_take_no_gigabytes(here):
    done = run_process(
        *shlex.split("count texts -o new --workers 100000"),
        prefix=["/bin/sh", "-c", 'ulimit -v 8000000; exec "$@"', "-"],
    )
    assert done.code == 0, done.err


def test_loading_a_model_takes_hundredths_of_a_second(world):
    """The check of all numbers, as a share of what a command costs."""
    model = wordtide.load(world / "model")
    states = 4 * sum(array.size for array in model.fitted.posterior.arrays().values())
    assert states < 1 << 20
    started = time.perf_counter()
    wordtide.load(world / "model")
    assert time.perf_counter() - started < 0.1


@pytest.mark.parametrize(
    "module", ["wordtide.inference.methods.choose_diffusion", "wordtide.inference.fit.fill_with_slices"]
)
def test_ctrl_c_before_and_after_the_steps_loses_none_of_them(here, monkeypatch, module):
    def pressed(*arguments, **options):
        raise KeyboardInterrupt

    line = shlex.split("fit counts -o new --dim 4 --threads 1 --diffusion auto")
    run(*line[:3], "whole", *line[4:])
    with monkeypatch.context() as patched:
        patched.setattr(module, pressed)
        done = run(*line)
    assert (done.code, "holds what is done" in done.err) == (130, True), done.err
    resumed = run(*line, "--resume")
    assert (resumed.code, "resuming from the checkpoint" in resumed.err) == (0, True)
    whole, new = (map_tensors(here / name / "arrays.safetensors") for name in ("whole", "new"))
    assert all(np.array_equal(whole[name], new[name], equal_nan=True) for name in whole)
