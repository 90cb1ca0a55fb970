#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Patches that pale writes, applied by git and by GNU patch: random changes of
random trees arrive at the new tree, and back at the old one. SEED= repeats a run."""
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import done, eq, ok  # noqa: E402
from patchlib import (NATURAL, SEED, Driver, changed, joined, some_lines,  # noqa: E402
                      split)

PAIRS = int(os.environ.get("PAIRS") or 3000)
BATCH = 50
FILE, PROGRAM, LINK = 0o100644, 0o100755, 0o120000
NAMES = [b"plain.txt", b"with space", b"end ", b"end /in", b"end / begin", b" begin", b"two  spaces.c", b'quo"te', b"back\\slash",
         b"new\nline", b"tab\there", b"\x01\x1f\x7f", "\u00fcml\u00e4ut".encode(),
         b"\xff\xfe", "\u202eright".encode(), b"a b/c d", b"dev/null", b"-dash", b"b/a/b",
         b"x" * 200, b"\r", b"'", b"{a => b}", b"a\tb c"]


def git(args, cwd, stdin=None):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_CEILING_DIRECTORIES": os.path.dirname(cwd), "LC_ALL": "C"}
    return subprocess.run(["git", *args], cwd=cwd, input=stdin, capture_output=True, env=env,
                          timeout=120, check=False)


def some_text(rnd):
    words = rnd.choice((3, 20, 1000))
    lines = some_lines(rnd, rnd.choice((0, 1, 2, 8, 30, 120)), words)
    return lines, words


def some_pair(rnd):
    """Two contents that have something in common, as a rule."""
    kind = rnd.choice(("text", "text", "text", "crlf", "binary", "other"))
    if kind == "binary":
        old = rnd.randbytes(rnd.choice((0, 1, 3, 51, 52, 53, 200, 9000))) + b"\0"
        new = old[:rnd.randrange(len(old))] + rnd.randbytes(rnd.randrange(60))
        return rnd.choice(((old, new), (new, old), (old, b"text\n")))
    lines, words = some_text(rnd)
    after = changed(rnd, lines, words, rnd.choice((1, 2, 6)))
    if kind == "other":
        after = some_text(rnd)[0]
    ends = rnd.choice(((b"\r\n", b"\n"), (b"\n", b"\r\n"), (b"\r\n", b"\r\n"))) \
        if kind == "crlf" else (b"\n", b"\n")
    return joined(rnd, lines, ends[0], 0.3), joined(rnd, after, ends[1], 0.3)


def some_target(rnd):
    return rnd.choice((b"a", b"../up", b"new\nline", b"x\n", b"/abs/ol ute", b"\xff")) \
        + b"%d" % rnd.randrange(3)


def some_name(rnd, number):
    return b"%d/" % number + rnd.choice(NAMES)


def some_change(rnd, number):
    """(path, mode, content) or None, twice."""
    old, new = some_pair(rnd)
    path = some_name(rnd, number)
    mode = rnd.choice((FILE, FILE, PROGRAM))
    kind = rnd.choice(("change", "change", "change", "create", "delete", "mode", "both",
                       "rename", "rename", "moved", "link", "type", "same"))
    if kind == "create":
        return None, (path, mode, new)
    if kind == "delete":
        return (path, mode, old), None
    if kind == "mode":
        return (path, FILE, old), (path, PROGRAM, old)
    if kind == "both":
        return (path, FILE, old), (path, PROGRAM, new)
    if kind in ("rename", "moved"):
        other = some_name(rnd, number) + b"2"
        return (path, mode, old), (other, rnd.choice((mode, FILE)),
                                   old if kind == "moved" else new)
    if kind == "link":
        side = (path, LINK, some_target(rnd))
        return rnd.choice(((None, side), (side, None), (side, (path, LINK, some_target(rnd)))))
    if kind == "type":
        sides = (path, LINK, some_target(rnd)), (path, mode, new)
        return sides if rnd.random() < 0.5 else sides[::-1]
    return (path, mode, old), (path, mode, old if kind == "same" else new)


def write_tree(top, sides):
    os.mkdir(top)
    for path, mode, content in filter(None, sides):
        full = os.path.join(top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if mode == LINK:
            os.symlink(content, full)
            continue
        with open(full, "wb") as file:
            file.write(content)
        os.chmod(full, mode & 0o777)


def read_tree(top):
    found = {}
    for folder, folders, names in os.walk(top):
        for name in names + folders:
            full = os.path.join(folder, name)
            path = os.path.relpath(full, top)
            if os.path.islink(full):
                found[path] = LINK, os.readlink(full)
            elif os.path.isfile(full):
                mode = PROGRAM if os.stat(full).st_mode & 0o100 else FILE
                with open(full, "rb") as file:
                    found[path] = mode, file.read()
    return found


def as_tree(sides):
    return {path: (mode, content) for path, mode, content in filter(None, sides)}


def patch_of(driver, old, new, context):
    blobs = []
    for side in (old, new):
        blobs += [None] * 3 if side is None else [side[0], b"%o" % side[1], side[2]]
    status, out = driver.ask("patch", context, *blobs)
    if status != 0:
        raise RuntimeError(f"patch_write: {status}")
    return out


def round_trip(driver, top, changes, context):
    """None, or what went wrong."""
    tree = os.path.join(top, b"tree")
    shutil.rmtree(tree, ignore_errors=True)
    write_tree(tree, [old for old, _ in changes])
    patch = b"".join(patch_of(driver, old, new, context) for old, new in changes)
    args = ["apply", "--whitespace=nowarn"]
    for extra, want in (([], [new for _, new in changes]), (["-R"], [old for old, _ in changes])):
        if not patch:
            return None
        r = git(args + extra, os.fsdecode(tree), patch)
        if r.returncode != 0:
            return f"git apply {extra}: {r.stderr!r}\n{patch[:3000]!r}"
        if read_tree(tree) != as_tree(want):
            return f"git apply {extra}: another tree\n{patch[:3000]!r}"
    return None


def with_git(driver, top):
    failed, count = [], 0
    for begin in range(0, PAIRS, BATCH):
        rnd = random.Random(SEED * 1000003 + begin)
        changes = [some_change(rnd, begin + i) for i in range(BATCH)]
        context = rnd.choice((3, 3, 3, 1, 10))
        count += len(changes)
        if round_trip(driver, top, changes, context) is None:
            continue
        # The one that it is.
        for change in changes:
            what = round_trip(driver, top, [change], context)
            if what:
                failed.append(f"{change!r}\n{what}")
                break
        else:
            failed.append(f"batch {begin} only as a whole")
    ok(not failed, f"{count} changes by git apply, there and back", "\n".join(failed[:3]))


def with_patch(driver, top):
    """Plain text with plain names: GNU patch gets there too."""
    failed, count = [], 0
    for begin in range(0, PAIRS // 4, BATCH):
        rnd = random.Random(SEED * 1000033 + begin)
        changes = []
        while len(changes) < BATCH:
            old, new = some_pair(rnd)
            path = b"%d/" % len(changes) + rnd.choice((b"plain.txt", b"with space", b"-dash"))
            if b"\0" not in old + new and old != new:
                changes.append(((path, FILE, old), (path, FILE, new)))
        tree = os.path.join(top, b"tree")
        shutil.rmtree(tree, ignore_errors=True)
        write_tree(tree, [old for old, _ in changes])
        patch = b"".join(patch_of(driver, old, new, 3) for old, new in changes)
        r = subprocess.run(["patch", "-p1", "-s", "--binary", "-E"], cwd=tree, input=patch,
                           capture_output=True, timeout=120, check=False)
        # -E: patch cannot leave an empty file behind.
        want = {path: side for path, side in as_tree([new for _, new in changes]).items()
                if side[1]}
        found = {path: side for path, side in read_tree(tree).items() if side[1]}
        count += len(changes)
        if r.returncode != 0 or found != want:
            wrong = [c for c in changes if found.get(c[1][0]) != want.get(c[1][0])]
            failed.append(f"status {r.returncode}: {r.stdout!r}\n{wrong[:1]!r}")
    ok(not failed, f"{count} changes by GNU patch", "\n".join(failed[:3]))


def sections(patch):
    """What stands before the hunks of each file. Compressed bytes depend on the
    version of zlib, and git may prefer a delta."""
    found = []
    for line in patch.split(b"\n"):
        if line.startswith(b"diff --git "):
            found.append([])
            head = True
        head = head and not line.startswith((b"@@ ", b"literal ", b"delta "))
        if head and line:
            found[-1].append(line)
    return sorted(found)


def same_as_git(driver, top):
    rnd = random.Random(SEED)
    changes = [some_change(rnd, number) for number in range(300)]
    # How alike renamed files are is no exact science. And what git cannot read is not written as git does.
    changes = [(old, new) for old, new in changes if not old or not new or old[0] == new[0]]
    changes = [(old, new) for old, new in changes if b" /" not in (old or new)[0]]
    tree = os.fsdecode(os.path.join(top, b"repo"))
    trees = []
    for sides in zip(*changes):
        shutil.rmtree(os.fsencode(tree), ignore_errors=True)
        write_tree(os.fsencode(tree), sides)
        if not trees:
            git(["init", "-q", "--bare", "../bare"], tree)
        git(["--git-dir=../bare", "--work-tree=.", "add", "-A"], tree)
        trees.append(git(["--git-dir=../bare", "write-tree"], tree).stdout.decode().strip())
    r = git(["--git-dir=../bare", "diff", "--no-renames", "--full-index", "--binary", *trees], tree)
    ours = b"".join(patch_of(driver, old, new, 3) for old, new in changes)
    want, got = sections(r.stdout), sections(ours)
    wrong = [pair for pair in zip(want, got) if pair[0] != pair[1]]
    ok(len(want) > 150 and want == got, f"{len(want)} headers are what git writes",
       f"{len(want)} and {len(got)}\n{wrong[:2]!r}")
    git(["--git-dir=../bare", "read-tree", trees[0]], tree)
    r = git(["--git-dir=../bare", "apply", "--cached", "--whitespace=nowarn"], tree, ours)
    eq((r.returncode, git(["--git-dir=../bare", "write-tree"], tree).stdout.decode().strip()),
       (0, trees[1]), "applied to the index of a repository, it is the new tree")


def choices(driver):
    """Chosen hunks against a model that knows the edits only."""
    wrong, count = [], 0
    for number in range(PAIRS // 4):
        rnd = random.Random(SEED * 1000037 + number)
        old, new = some_pair(rnd)
        edits = driver.diff(old, new, NATURAL)
        context = rnd.choice((0, 3))
        by_edit = rnd.random() < 0.5
        chosen, hunk, end = [], -1, None
        marks = [rnd.random() < 0.5 for _ in edits]
        for at, size, _, _ in edits:
            if by_edit or end is None or at - end > 2 * context:
                hunk += 1
            chosen.append(marks[hunk])
            end = at + size
        before, after, model, at = split(old), split(new), [], 0
        for (a, n, b, m), use in zip(edits, chosen):
            if use:
                model += before[at:a] + after[b:b + m]
                at = a + n
        model = b"".join(model + before[at:])
        bits = b"".join(b"1" if mark else b"0" for mark in marks)
        flag = b"split" if by_edit else None
        asked = [(bits, model), (b"1" * len(edits), new), (b"0" * len(edits), old)]
        for bits, want in asked:
            status, got = driver.ask("choose", context, old, new, bits, flag)
            count += 1
            if status != 0 or got != want:
                wrong.append((old, new, bits, got, want))
    ok(not wrong, f"{count} choices of hunks: all is new, none is old, some are some", wrong[:1])


def main():
    print(f"# SEED={SEED}", flush=True)
    os.umask(0o022)
    driver = Driver()
    top = os.fsencode(tempfile.mkdtemp(prefix="pale-patch-"))
    try:
        with_git(driver, top)
        with_patch(driver, top)
        same_as_git(driver, top)
        choices(driver)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    eq(driver.close(), 0, "the driver ends well")
    done()


main()
