#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every boundary check has a test that names it, or a line in NOT-TESTED.md that says why not.

The list of checks is not part of the tree: CHECKS names it, or it is in ../shared. Without
it, only the tests and NOT-TESTED.md are compared with each other."""
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import done, eq, ok  # noqa: E402

LIST = os.environ.get("CHECKS", "../shared/boundary-checks.tsv")
NOT_TESTED = "tests/live/NOT-TESTED.md"
CATEGORIES = {"filesystem-read", "filesystem-write", "policy-tampering", "process", "network",
              "kernel-surface", "resources", "information", "lifecycle", "config", "method",
              "staged-writes", "history-store"}
ID = r"(?<![A-Za-z0-9])(?:ME|FR|FW|PT|PR|NW|KS|RS|IN|CF|LC|SW|HS)[0-9]{2}(?![A-Za-z0-9])"
# A refusal is worth what its twin proves. The others are about what works, ends or is said.
REFUSALS = ("FR", "FW", "PT", "NW", "KS", "IN", "PR")
HELPERS = {"attempt": "filesystem.t", "unreachable": "network.t"}  # with a twin of their own
# What has none, and why.
WITHOUT_TWIN = {
    "PR09": "a run that ends in time, not a refusal",
    "PR15": "a status that arrives, not a refusal",
    "IN07": "what the mount table says, not a refusal",
    "IN09": "which ids the command has, not a refusal",
}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def cases():
    """{id: [(file, name, text)]} of the live tests; also the cases that main() does not run."""
    found, idle = {}, []
    for path in sorted(glob.glob("tests/live/*.t")):
        text = read(path)
        parts = re.split(r"^(?=def \w+\((?:p|self)\b|@|main\()", text, flags=re.M)
        run = "".join(part for part in parts if part.startswith("main("))
        for part in parts:
            name = re.match(r"def (case_\w+)", part)
            if not name:
                continue
            if not re.search(rf"\b{name[1]}\b", run):
                idle.append(f"{path}: {name[1]}")
            for check in re.findall(ID, name[1].replace("_", " ")):
                found.setdefault(check, []).append((path, name[1], part))
    return found, idle


def others():
    """{id: [file]} of the other tests, which name it in their text."""
    found = {}
    for pattern in ("tests/unit/*/*.c", "tests/sim/*.c", "tests/live/test-*.c", "tests/cli/*.t"):
        for path in sorted(glob.glob(pattern)):
            if not path.endswith("cli/checks.t"):
                for check in set(re.findall(ID, read(path))):
                    found.setdefault(check, []).append(path)
    return found


def reasons():
    """{id: reason}, and the lines that are neither a reason nor something else."""
    rows = re.findall(r"^\| *([A-Z]{2}[0-9]{2}) *\|(.*)\|$", read(NOT_TESTED), re.M)
    return {check: why.strip() for check, why in rows}, len(rows)


def has_twin(part):
    text = part[2].lower()
    return any(f"{helper}(p" in text for helper in HELPERS) or "twin" in text


live, idle = cases()
tested = set(live) | set(others()) | {"ME01"}  # by this test itself
absent, rows = reasons()
ok(len(tested) > 80, f"{len(tested)} checks are named by tests", tested)
eq(idle, [], "every case is run by its file")
eq(len(absent), rows, "no check is excused twice")
eq([check for check, why in absent.items() if len(why) < 20], [], "every excuse has a reason")
eq(sorted(tested & set(absent)), [], "no check is both tested and excused")
lone = {check for check, parts in live.items()
        if check.startswith(REFUSALS) and not any(has_twin(part) for part in parts)}
eq(sorted(lone - set(WITHOUT_TWIN)), [], "every refusal has a twin somewhere (ME01)")
eq(sorted(set(WITHOUT_TWIN) - lone), [], "and the exceptions are such")
quiet = [name for parts in live.values() for path, name, text in parts
         if "twin" in text and "p.sh(" in text and not re.search("booted|BOOTED", text)]
eq(sorted(set(quiet)), [], "who looks at a shell inside looks whether it started (ME01)")
if os.path.exists(LIST):
    table = dict(line.split("\t")[:2] for line in read(LIST).splitlines()[1:])
    wanted = {check for check, category in table.items() if category in CATEGORIES}
    ok(len(wanted) > 80, f"{len(wanted)} checks are listed")
    eq(sorted(wanted - tested - set(absent)), [], "each is tested, or excused")
    eq(sorted((tested | set(absent)) - set(table)), [], "no unknown check is named")
else:
    ok(True, f"the list of checks # skip {LIST} is not here")
done()
