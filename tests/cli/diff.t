#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Diffs and merges against git's: correct, about as short, in bounded time; a merge
is clean exactly where git's is, and says the same. SEED= repeats a run."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import done, eq, ok  # noqa: E402
from patchlib import (NATURAL, PLAIN, SEED, Driver, changed, joined, some_lines,  # noqa: E402
                      split)

ROUNDS = int(os.environ.get("ROUNDS") or 1)
LONGER = 1.5   # times git's shortest
SECONDS = 2.0  # of processor time for a megabyte; a third of it is usual
MEGA = 1 << 20


class Place:
    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="pale-diff-")

    def file(self, name, content):
        path = os.path.join(self.top, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def git(self, *args):
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
               "LC_ALL": "C"}
        return subprocess.run(["git", *args], cwd=self.top, capture_output=True, env=env,
                              timeout=120, check=False)


def is_right(edits, old, new):
    """Equal lines between the edits, and at least one."""
    old, new = split(old), split(new)
    at = to = 0
    for number, (a, n, b, m) in enumerate(edits):
        if old[at:a] != new[to:b] or n + m == 0 or (number and a == at):
            return False
        at, to = a + n, b + m
    return old[at:] == new[to:]


def size(edits):
    return sum(n + m for _, n, _, m in edits)


def git_edits(place, old, new, *options):
    r = place.git("diff", "--no-index", "-U0", *options, place.file("old", old),
                  place.file("new", new))
    found = []
    for match in re.finditer(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", r.stdout, re.M):
        a, n, b, m = (1 if part is None else int(part) for part in match.groups())
        found.append((a - (n > 0), n, b - (m > 0), m))
    return found


def some_texts(rnd):
    words = rnd.choice((2, 5, 20, 1000))
    count = rnd.choice((0, 3, 10, 50, 200, 1000))
    old = some_lines(rnd, count, words)
    new = changed(rnd, old, words, rnd.choice((1, 2, 8, 30, 100)))
    if rnd.random() < 0.2:
        new = some_lines(rnd, count, words)
    return joined(rnd, old), joined(rnd, new)


def diffs(driver, place):
    wrong, worst, worst_style, count = [], 0, 0, 400 * ROUNDS
    for number in range(count):
        old, new = some_texts(random.Random(SEED * 1000003 + number))
        shortest = size(git_edits(place, old, new, "--minimal"))
        for style in (PLAIN, NATURAL):
            edits = driver.diff(old, new, style)
            if not is_right(edits, old, new) or (old == new) != (not edits):
                wrong.append((style, old, new, edits))
            ratio = size(edits) / shortest if shortest else 1 + size(edits)
            if ratio > worst:
                worst, worst_style = ratio, style
    ok(not wrong, f"{count} pairs: the edits lead from old to new", wrong[:1])
    ok(0 < worst <= LONGER, f"at most {LONGER} times as long as the shortest",
       f"{worst} in style {worst_style}")
    print(f"# the longest: {worst:.3f} times")


def fibonacci(length):
    a, b = b"a\n", b"a\nb\n"
    while len(b) < length:
        a, b = b, b + a
    return b[:length]


def numbers(rnd, words, count):
    return b"".join(b"%d\n" % rnd.randrange(words) for _ in range(count))


def hard_pairs(rnd):
    order = [b"%06d\n" % i for i in range(150000)]
    yield "nothing in common", b"".join(order), b"".join(b"x" + line for line in order)
    yield "shuffled", b"".join(order), b"".join(rnd.sample(order, len(order)))
    yield "reversed", b"".join(order), b"".join(reversed(order))
    for words, count in ((2, MEGA // 2), (10, MEGA // 2), (256, MEGA // 4), (5000, MEGA // 5)):
        yield f"{words} words", numbers(rnd, words, count), numbers(rnd, words, count)
    yield "periods of 2 and 3", b"a\nb\n" * (MEGA // 4), b"a\nb\na\n" * (MEGA // 6)
    yield "periods of 7 and 11", *(b"".join(b"%d\n" % (i % n) for i in range(MEGA // 2))
                                   for n in (7, 11))
    yield "only newlines", b"\n" * MEGA, b"\n" * (MEGA // 2)
    yield "everything gone", b"x\n" * (MEGA // 2), b""
    word = fibonacci(MEGA)
    yield "a Fibonacci word, turned", word, word[1554:] + word[:1554]
    yield "what slides far", b"x\n" * 200000 + b"y\n", \
        b"".join(b"x\n" * (1 + i % 3) + b"q%d\n" % i for i in range(100000))
    lines = [b"%d\n" % (i % 1000) for i in range(MEGA // 4)]
    near = list(lines)
    for _ in range(60000):
        near[rnd.randrange(len(near))] = b"%d\n" % rnd.randrange(1000)
    yield "nearly periodic", b"".join(lines), b"".join(near)


def bounds(driver):
    for name, old, new in hard_pairs(random.Random(SEED)):
        edits = driver.diff(old, new)
        cpu = driver.cpu
        ok(is_right(edits, old, new) and cpu < SECONDS, f"a megabyte each, {name}: in time",
           f"{cpu} s, right: {is_right(edits, old, new)}")


def some_merge(rnd):
    words = rnd.choice((2, 4, 10, 1000))
    base = some_lines(rnd, rnd.choice((0, 1, 3, 10, 30, 100, 400)), words)
    edits = rnd.choice((1, 2, 4, 10))
    ours, theirs = (changed(rnd, base, words, edits) for _ in range(2))
    if rnd.random() < 0.3:
        # Some of it alike on both sides.
        base, ours, theirs = base, changed(rnd, ours, words, 1), ours
    end = rnd.choice((b"\n", b"\n", b"\r\n"))
    return [joined(rnd, lines, end, 0.1) for lines in (base, ours, theirs)]


def merges(driver, place):
    too_clean, too_careful, other, tally = [], [], [], {True: 0, False: 0}
    for number in range(1500 * ROUNDS):
        texts = some_merge(random.Random(SEED * 1000033 + number))
        base, ours, theirs = texts
        conflicts, merged = driver.ask("merge", 0, *texts)
        r = place.git("merge-file", "-p", "-q", place.file("ours", ours), place.file("base", base),
                      place.file("theirs", theirs))
        tally[conflicts > 0] += 1
        if conflicts < 0 or r.returncode > 127:
            other.append((conflicts, r, texts))
        elif conflicts == 0 and r.returncode > 0:
            too_clean.append(texts)
        elif conflicts > 0 and r.returncode == 0:
            too_careful.append(texts)
        elif conflicts == 0 and merged != r.stdout:
            other.append((merged, r.stdout, texts))
    print(f"# {tally[False]} clean, {tally[True]} with conflicts")
    ok(min(tally.values()) > 100, "there are enough of both kinds", tally)
    ok(not too_clean, "no merge is clean where git sees a conflict", too_clean[:1])
    ok(not too_careful, "and none is a conflict where git sees none", too_careful[:1])
    ok(not other, "clean ones are git's, byte by byte", other[:1])


def markers(driver, place):
    """With all three versions in it, as `git merge-file --diff3` writes them."""
    wrong, count = [], 0
    for number in range(300 * ROUNDS):
        texts = some_merge(random.Random(SEED * 1000037 + number))
        conflicts, merged = driver.ask("merge", 0, *texts)
        names = [place.file(name, text) for name, text in zip(("base", "ours", "theirs"), texts)]
        r = place.git("merge-file", "-p", "-q", "--diff3", "-L", "ours", "-L", "base", "-L",
                      "theirs", names[1], names[0], names[2])
        # git keeps a conflict there that both sides resolved alike, by other edits;
        # and without a whole line in the base it does not look at how lines end.
        if conflicts > 0 and conflicts == r.returncode and b"\n" in texts[0]:
            count += 1
            if merged != r.stdout:
                wrong.append((texts, merged, r.stdout))
    ok(count > 30 and not wrong, f"{count} texts with markers are git's", wrong[:1])


def main():
    print(f"# SEED={SEED}", flush=True)
    driver, place = Driver(), Place()
    try:
        diffs(driver, place)
        bounds(driver)
        merges(driver, place)
        markers(driver, place)
    finally:
        shutil.rmtree(place.top, ignore_errors=True)
    eq(driver.close(), 0, "the driver ends well")
    done()


main()
