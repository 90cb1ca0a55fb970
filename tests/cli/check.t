#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale check: what is refused before anything runs, which commands are meant, what is printed."""
import json
import os
import sys
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import Box, done, eq, has, ok, skip  # noqa: E402

TOML = '''
[commands.good]
cmd = "touch ran-good"
[commands.bad]
cmd = "touch ran-bad; echo out; echo err >&2; exit 4"
[commands.other]
argv = ["touch", "ran-other"]
'''


def ran(box):
    return sorted(name[4:] for name in os.listdir(box.ws) if name.startswith("ran-"))


def refused():
    with Box() as box:
        r = box.pale("check")
        ok(r.status == 125 and "no command to check" in r.err, "no commands", r)
        box.write("pale.toml", TOML)
        os.mkdir(box.path("folder"))
        os.symlink("elsewhere", box.path("link"))
        for args, part in ((["goood"], "did you mean 'good'"), (["good", "nosuch"], "no command 'nosuch'"),
                           (["good", "bad", "good"], "'good' is named twice"), (["--jobs", "0"], "--jobs"),
                           (["--jobs", "x"], "--jobs"), (["--jobs", "-1"], "--jobs"), (["--jobs", ""], "--jobs"),
                           (["--junit", "no/such/file"], "--junit"), (["--junit", "folder"], "--junit"),
                           (["--junit", "folder/"], "--junit"), (["--junit", "link"], "--junit"),
                           (["--junit", "/proc/x"], "--junit"), (["--fail"], "--fail"), (["-x"], "-x")):
            r = box.pale("check", *args)
            ok(r.status == 125 and part in r.err and r.out == "", f"check {' '.join(args)}: {part}", r)
        eq(ran(box), [], "nothing ran")
        ok(not box.exists("elsewhere"), "and no link was followed")


def configured():
    with Box() as box:
        for lines, part in (("max_parallel = 0", "max_parallel"), ("max_parallel = 257", "max_parallel"),
                            ("queue_capacity = -1", "queue_capacity"), ('queue_capacity = "1"', "queue_capacity"),
                            ("check = 3", "check"), ("checks = []", "did you mean")):
            box.write("pale.toml", f"[lanes]\n{lines}\n{TOML}")
            r = box.pale("check")
            ok(r.status == 125 and part in r.err and "pale.toml:2" in r.err, f"[lanes] {lines}: an error", r)
        for lines, part in (('check = ["nosuch"]', "no command 'nosuch'"), ('check = ["good", "good"]', "twice")):
            box.write("pale.toml", f"[lanes]\n{lines}\n{TOML}")
            r = box.pale("check")
            ok(r.status == 125 and part in r.err and "pale.toml:2" in r.err, f"[lanes] {lines}: an error", r)
        box.write("pale.toml", f"[lanes]\nmax_parallel = 1\nqueue_capacity = 1\n{TOML}")
        r = box.pale("check")
        ok(r.status == 125 and "the queue is full: there is room for 1 more to wait, too little for 3 commands;" in r.err, "a full queue", r)
        eq(ran(box), [], "nothing ran")
        eq(box.pale("status", "-j").json()["lanes"],
           {"max_parallel": 1, "queue_capacity": 1, "busy": 0, "queued": 0}, "status -j: lanes")
        box.write("pale.toml", '[commands.x]\ncmd = "touch ran-x"\nsandbox = "off"\n')
        r = box.pale("check")
        ok(r.status == 125 and "pale trust" in r.err and ran(box) == [], "a workspace that is not trusted", r)


def works():
    with Box() as box:
        if not box.sandbox_works():
            skip("no sandbox here")
            return
        box.write("pale.toml", TOML)
        r = box.pale("check", "good", "bad")
        eq((r.status, r.err, ran(box)), (4, "", ["bad", "good"]), "those that are named")
        has(r.out, "--- bad: output\nout\nerr\n--- bad: end\n", "the output of what failed, both streams")
        eq(r.out.splitlines()[-1].split(";")[0], "2 commands: 1 ok, 1 not ok", "a summary")
        box.write("pale.toml", '[lanes]\ncheck = ["other"]\n' + TOML)
        r = box.pale("check", "--junit", box.path("r.xml"))
        eq((r.status, ran(box)), (0, ["bad", "good", "other"]), "those of the list")
        eq([c.get("name") for c in xml.parse(box.path("r.xml")).getroot().iter("testcase")], ["other"], "--junit")
        os.makedirs(box.path("sub"))
        r = box.pale("check", "good", "--junit", "../up.xml", cwd=box.path("sub"))
        eq((r.status, r.err, box.exists("up.xml")), (0, "", True), "--junit: the folder above is one like any other")
        os.symlink(box.home, box.path("reports"))
        for name in ("reports/r.xml", box.path("reports/r.xml")):
            r = box.pale("check", "good", "--junit", name)
            ok(r.status == 125 and "no link is followed" in r.err and not os.path.exists(box.home + "/r.xml"),
               "--junit: a link of the workspace leads nowhere", r)
        os.unlink(box.path("reports"))
        os.makedirs(box.path("reports"))
        r = box.pale("check", "good", "--junit", box.path("reports/r.xml"))
        eq((r.status, box.exists("reports/r.xml")), (0, True), "twin: a folder does")
        r = box.pale("check", "-j", "bad", "good", cwd="/", env=dict(box.env))
        ok(r.status == 125, "elsewhere there is nothing to check", r)
        r = box.pale("check", "-j", "bad", "good", "--workspace", box.ws, cwd="/")
        doc = r.json()
        eq((r.status, [c["command"] for c in doc["commands"]], doc["totals"]["failed"], r.err), (4, ["bad", "good"], 1, ""),
           "--workspace, -j: in the order in which they were named")
        eq(box.pale("check", "good", env=dict(box.env, NO_COLOR="")).out.count("\033"), 0, "no colour in a pipe")
        with open("/dev/full", "w", encoding="utf-8") as full:
            import subprocess
            from palelib import PALE
            p = subprocess.run([PALE, "check", "good"], cwd=box.ws, env=box.env, stdout=full, stderr=subprocess.PIPE,
                               check=False)
            ok(p.returncode == 1 and p.stderr.count(b"pale:") == 1, "a full disk under the output: 1, since it ran", p)
        r = box.pale("check", "--json", "nosuch")
        ok(r.status == 125 and r.err == "" and r.json() and "nosuch" in r.json()["error"]["message"],
           "-j: an error is JSON, too", r)
        r = box.pale("check", "--json", "--nosuch")
        ok(r.status == 125 and r.json() and r.json()["error"]["code"] == "usage", "also one of the command line", r)


refused()
configured()
works()
done()
