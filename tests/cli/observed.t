#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the history knows of commands: peaks beside limits, and pictures."""
import os
import re
import sys
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import Box, done, eq, has, ok, skip  # noqa: E402

TOML = '''
[commands.good]
cmd = "sleep 0.1"
[commands.good.sandbox]
timeout = "10s"
[commands.bad]
cmd = "exit 3"
[commands.never]
cmd = "true"
sandbox = "test"
'''


def none_yet(box):
    doc = box.pale("sandbox", "-j").json()
    eq([row["observed"] for row in doc], [None] * 4, "list -j: nothing is known yet")
    r = box.pale("sandbox", "inspect", "good")
    ok(r.status == 0 and "no runs are known" in r.out and r.err == "", "inspect: neither, and no error", r)
    eq(box.pale("sandbox", "inspect", "good", "-j").json()["observed"], None, "inspect -j: nor here")
    r = box.pale("sandbox", "inspect", "never", "--plot")
    eq((r.status, r.out, r.err), (0, "duration: limit 1 min\nmemory: limit 512 MiB\ncpu: limit 30 s\nno runs yet\n", ""),
       "--plot: the limits alone")
    r = box.pale("sandbox", "inspect", "never", "--svg", "none.svg")
    eq((r.status, r.out), (0, ""), "--svg: likewise")
    has(" ".join(xml.parse(box.path("none.svg")).getroot().itertext()), "no runs yet", "and it says so")


def refused(box):
    os.mkdir(box.path("dir"))
    for args, part in ((["build", "--plot"], "'build' is a preset"), (["build", "--svg", "x.svg"], "'build' is a preset"),
                       (["good", "--plot", "-j"], "exclude each other")):
        r = box.pale("sandbox", "inspect", *args)
        ok(r.status == 2 and part in r.err and r.out == "", f"inspect {' '.join(args)}: {part}", r)
    for name in ("dir", "no/such.svg", "/proc/x.svg"):
        r = box.pale("sandbox", "inspect", "good", "--svg", name)
        ok(r.status != 0 and "--svg" in r.err, f"--svg {name} cannot be written", r)
    ok(not box.exists("x.svg"), "nothing was written")


def known(box):
    for name in ("good", "good", "good", "bad"):
        box.pale("run", name)
    box.pale("run", "--", "good")  # a program of that name, which does not exist
    rows = {row["command"]: row for row in box.pale("sandbox", "list", "-j").json()}
    seen = rows["good"]["observed"]
    ok(seen and seen["runs"] == 3 and seen["ok"] == 3 and 100 <= seen["duration_ms_average"] <= seen["duration_ms_longest"]
       and rows["good"]["limits"]["timeout_ms"] == 10000, "list -j: runs, average, longest, limit", rows["good"])
    seen = rows["bad"]["observed"]
    ok(seen and seen["runs"] == 1 and seen["ok"] == 0 and seen["duration_ms_longest"] is None,
       "what failed has no peaks", seen)
    eq((rows["never"]["observed"], rows[None]["observed"]), (None, None), "what never ran has none")
    r = box.pale("sandbox", "list")
    ok(re.search(r"(?m)^good +custom +\S+ +\d +none +3 +\S.* / - +.* / - +\d+ ms +\d+ ms / 10s$", r.out), "list", r)
    r = box.pale("sandbox", "inspect", "good")
    ok(re.search(r"(?m)^duration +\d+ ms \(average \d+ ms\) +10s$", r.out) and "3 runs, 3 ok" in r.out, "inspect", r)
    doc = box.pale("sandbox", "inspect", "good", "-j").json()
    eq(doc["observed"]["runs"], 3, "inspect -j")


def pictures(box):
    for width in (20, 80, 300):
        r = box.pale("sandbox", "inspect", "good", "--plot", env=dict(box.env, COLUMNS=str(width)))
        ok(r.status == 0 and max(map(len, r.out.splitlines())) <= width and r.out.isascii() and "3 ok" in r.out,
           f"--plot: {width} columns, ASCII in a pipe", r)
    has(box.pale("sandbox", "inspect", "bad", "--plot").out, "x 1 failed", "--plot: outcomes")
    r = box.pale("sandbox", "inspect", "good", "--svg", box.path("good.svg"), "-j")
    ok(r.status == 0 and r.json(), "--svg and -j", r)
    root = xml.parse(box.path("good.svg")).getroot()
    text = " ".join(root.itertext())
    ok(all(part in text for part in ("good", "duration", "memory", "cpu", "limit 10 s", "3 ok", "3 runs")),
       "--svg: axes, limits, outcomes", text)
    tags = {e.tag.split("}")[1] for e in root.iter()}
    ok(not tags & {"script", "image", "a", "use", "foreignObject"}, "--svg: nothing from elsewhere", tags)


with Box() as box:
    if box.sandbox_works():
        box.write("pale.toml", TOML)
        none_yet(box)
        refused(box)
        known(box)
        pictures(box)
    else:
        skip("no sandbox here")
done()
