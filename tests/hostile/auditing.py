"""Known vulnerabilities of the versions in constraints.txt, from `pip-audit` if its service is available.

    python tests/hostile/auditing.py PIP_AUDIT      # exit code 1 if a weakness is known, 0 otherwise

Where the service does not answer, that is said, and it is no error: a check must not fail for lack of a
network.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
_OPTIONS = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--timeout", "10", "--format", "json")
_PATIENCE = 300


def main(program: str) -> int:
    """Run the audit and report it; returns the exit code."""
    command = [program, "--requirement", str(_CONSTRAINTS), *_OPTIONS]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
        packages = json.loads(done.stdout)["dependencies"]
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
        print(f"audit: not made, because pip-audit gave no answer ({type(error).__name__}).")
        return 0
    return report(packages)


def report(packages: list[dict[str, Any]]) -> int:
    """Print what is known of each package; returns 1 if there is a vulnerability."""
    audited = [package for package in packages if "skip_reason" not in package]
    weak = [package for package in audited if package["vulns"]]
    for package in weak:
        names = ", ".join(weakness["id"] for weakness in package["vulns"])
        print(f"audit: {package['name']} {package['version']} has known weaknesses: {names}")
    if packages and not audited:
        print("audit: not made, because the service does not answer from here.")
        return 0
    print(f"audit: {len(audited)} of {len(packages)} packages looked up, {len(weak)} with known weaknesses.")
    return 1 if weak else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
