"""The licences of everything that installing wordtide brings: each must be on a list of permissive ones.

python tests/hostile/licences.py      # prints a table; exit code 1 if one is not on the list
"""

import re
import sys
from collections.abc import Iterator
from importlib import metadata

#: Licences that ask for no more than a notice. (MPL-2.0 and PSF ask the same of who does not change their
#: files.)
ALLOWED = (
    *(
        "MIT",
        "MIT-CMU",
        "MIT-0",
        "BSD",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "0BSD",
        "ISC",
        "HPND",
        "Zlib",
        "CC0-1.0",
        "BSL-1.0",
    ),
    *(
        "Apache-2.0",
        "Apache",
        "Apache Software License",
        "PSF",
        "PSF-2.0",
        "Python Software Foundation License",
        "MPL-2.0",
    ),
    *(
        "MIT License",
        "BSD License",
        "The Unlicense (Unlicense)",
        "Unlicense",
        "Historical Permission Notice and Disclaimer (HPND)",
    ),
    *(
        "Mozilla Public License 2.0 (MPL 2.0)",
        "ISC License (ISCL)",
        "Apache License 2.0",
        "Apache License, Version 2.0",
    ),
    *(
        "3-Clause BSD License",
        "BSD 3-Clause License",
        "BSD-3-Clause License",
        "matplotlib license",
        "The MIT License",
    ),
)
#: Part of packages, with an exception that lets it be linked to anything: the run-time library of GCC in
#: NumPy and SciPy.
EXCEPTIONS = {"GPL-3.0-with-GCC-exception"}
#: Packages whose metadata name no licence that can be read, and what their files say.
READ_BY_HAND: dict[str, str] = {}


def packages_of(name: str, extras: frozenset[str] = frozenset()) -> dict[str, metadata.Distribution]:
    """The package and all that it requires, as far as it is installed, by name."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [(name, extras)]
    while waiting:
        wanted, wanted_extras = waiting.pop()
        try:
            distribution = metadata.distribution(wanted)
        except metadata.PackageNotFoundError:  # for another system, or of an extra that is not installed
            continue
        key = re.sub("[-_.]+", "-", wanted).lower()
        if key in found and not wanted_extras:
            continue
        found[key] = distribution
        waiting += _requirements(distribution, wanted_extras)
    return found


def _requirements(
    distribution: metadata.Distribution, extras: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    for line in distribution.requires or []:
        requirement, _, marker = line.partition(";")
        needed = re.findall(r"extra\s*==\s*[\"']([^\"']+)", marker)
        if needed and not set(needed) & extras:
            continue
        match = re.match(r"\s*([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?", requirement)
        if match:
            yield match[1], frozenset(filter(None, re.split(r"[,\s]+", match[2] or "")))


def licence_of(distribution: metadata.Distribution) -> str:
    """The licence of a package: the expression, else the classifiers, else the first line of the old field."""
    facts = distribution.metadata
    classifiers = [
        line.split(" :: ")[-1] for line in facts.get_all("Classifier") or [] if line.startswith("License ::")
    ]
    old = (facts.get("License") or "").strip().splitlines()[:1]
    return (
        facts.get("License-Expression")
        or " OR ".join(set(classifiers) - {"OSI Approved"})
        or (old[0] if old else "unknown")
    )


def is_allowed(licence: str) -> bool:
    """Whether all parts joined by AND, or one of those joined by OR, are on the list."""
    licence = licence.strip()
    if licence in ALLOWED or licence in EXCEPTIONS:
        return True
    for joint, enough in ((" OR ", any), (" AND ", all)):
        parts = _split(licence, joint)
        if len(parts) > 1:
            return enough(map(is_allowed, parts))
    inner = (
        licence[1:-1] if licence.startswith("(") and licence.endswith(")") else licence.partition(" WITH ")[0]
    )
    return inner != licence and is_allowed(inner)


def _split(licence: str, joint: str) -> list[str]:
    """The parts of an expression, split outside brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(licence):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and licence.startswith(joint, place):
            parts.append(licence[start:place])
            start = place + len(joint)
    return [*parts, licence[start:]]


def main() -> int:
    """Print every package with its licence; returns 1 if one is not allowed."""
    refused = 0
    for name, distribution in sorted(
        packages_of("wordtide", frozenset({"demo", "cluster", "documents"})).items()
    ):
        licence = READ_BY_HAND.get(name) or licence_of(distribution)
        good = is_allowed(licence)
        refused += not good
        print(f"{'' if good else 'NOT ALLOWED: '}{name} {distribution.version}: {licence[:120]}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
