"""Changelogs of Debian packages: 32 yearly slices of 2,000 to 130,000 words, full of names, numbers and
markup.
"""

from experiment import Experiment, main

CHANGELOGS = Experiment(
    name="changelogs",
    title="Debian package changelogs, 1995 to 2026, by year",
    counting={"every": "year"},
    fitting={"dim": 100, "diffusion": 1e-3},
    holdout=0.2,
    pairs={"fix": ("bug", "leak"), "policy": ("compliance", "enforcement"), "upstream": ("cvs", "stable")},
    labelled=(
        "fix",
        "policy",
        "upstream",
        "patch",
        "security",
        "memory",
        "kernel",
        "systemd",
        "python",
        "git",
        "translation",
    ),
)

if __name__ == "__main__":
    main(CHANGELOGS)
