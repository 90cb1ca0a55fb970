#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sandbox profile, suggest, tighten: what they say and what they write. The profiles
are made up here; tests/live/learning.t makes real ones."""
import glob
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import PALE, Box, done, eq, has, ok, skip  # noqa: E402

BUILD = "echo x >obj/a.o; cat src/a.c"
ASKED = 'filesystem = "workspace_only"\n'


def state(box):
    """The workspace's folder in the state; a staged run makes it."""
    found = glob.glob(os.path.join(box.env["XDG_STATE_HOME"], "pale", "ws-*"))
    if not found:
        box.pale("run", "--staged", "--", "true")
        found = glob.glob(os.path.join(box.env["XDG_STATE_HOME"], "pale", "ws-*"))
    return found[0]


def stages(box):
    return sorted(os.path.basename(s) for s in glob.glob(state(box) + "/stages/*")
                  if os.path.basename(s) != "default")


def made_up(box, name="build", cmd=BUILD, asked=ASKED, paths=None, changed=("obj/a.o",), **result):
    """Keep a profile of a command that never ran."""
    if paths is None:
        paths = {box.path("obj/a.o"): ("write", "create"), box.path("src/a.c"): ("read",)}
    doc = {
        "version": 1, "digest": hashlib.sha256(b"line" + cmd.encode() + b"\0").hexdigest(),
        "asked": asked,
        "result": {"outcome": "ok", "exit_code": 0, "duration_ms": 100,
                   "usage": {"memory_peak": 3 << 20, "cpu_ms": 10}, "violations": [], **result},
        "changed": [box.path(c) for c in changed],
        "profile": {"paths": [{"path": p, **{k: True for k in what}, "count": 1}
                              for p, what in paths.items()],
                    "connections": [], "spawns": 2, "dropped": 0},
    }
    folder = state(box) + "/profiles"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
        json.dump(doc, file)


def allow_limits(box):
    """Also where nothing but a watchdog holds them."""
    box.write_user('[sandbox]\nallow_degraded = ["memory", "cpu"]\n')


def prepare(box, toml=None, cmd=BUILD):
    allow_limits(box)
    box.write("src/a.c", "int x;\n")
    box.write("obj/.keep", "")
    box.write("pale.toml", toml or f'[commands.build]\ncmd = "{cmd}"\n')


SUGGESTED = """[commands.build.sandbox]
filesystem = "scoped_write"  # it changed files in some folders only
paths_writable = ["obj"]     # 1 file changed there
network = "none"             # no connections
processes = "isolated"
memory = "64m"               # at least 2 x the peak of 3.0m
cpu = "5s"                   # at least 2 x the peak of 10ms
timeout = "10s"              # at least 3 x the longest run of 100ms
"""


def suggests(box):
    prepare(box)
    made_up(box)
    r = box.pale("sandbox", "suggest", "build")
    eq((r.status, r.out), (0, SUGGESTED), "suggest prints a table with reasons")
    ok("int x;" in r.err, "it has run the command under it", r)
    ok(not box.exists("obj/a.o"), "and nothing of that is left")
    eq(stages(box), [], "nor is the stage")
    doc = box.pale("sandbox", "suggest", "build", "-j").json()
    eq(doc["toml"], SUGGESTED, "-j: the same text")
    eq((doc["spec"]["filesystem"], doc["needs_trust"], doc["written"]),
       ("scoped_write", False, False), "-j: what it means")
    eq(doc["lines"]["cpu"], {"value": '"5s"', "why": "at least 2 x the peak of 10ms"}, "-j: reasons")
    eq(box.read("pale.toml"), f'[commands.build]\ncmd = "{BUILD}"\n', "the file is as it was")


HEAD = f'[commands.build]   # the build\ncmd = "{BUILD}"\n'
# Forms that a command can have in the file: before, after.
FORMS = {
    "a header": (HEAD + "\n[commands.z]\ncmd = 'z'\n",
                 HEAD + "\n" + SUGGESTED + "\n[commands.z]\ncmd = 'z'\n"),
    "the last one": ("# first\n" + HEAD.rstrip("\n"), "# first\n" + HEAD + "\n" + SUGGESTED),
    "a preset": (HEAD + 'sandbox = "build" # roomy\ndescription = "d"\n# end\n',
                 HEAD + 'description = "d"\n\n' + SUGGESTED + "# end\n"),
    "a table": (HEAD + "\n# why\n[commands.build.sandbox]\nfilesystem = 'readonly'\n\n[presets.p]\n",
                HEAD + "\n" + SUGGESTED + "\n[presets.p]\n"),
    "dotted keys": (f"commands.build.cmd = '{BUILD}'\n",
                    f"commands.build.cmd = '{BUILD}'\n\n" + SUGGESTED),
    "an inline table": (
        f"commands.build = {{ cmd = '{BUILD}' }} # short\n",
        f"commands.build = {{ cmd = '{BUILD}', sandbox.filesystem = "),
}


def writes():
    for name, (before, after) in FORMS.items():
        with Box() as box:
            prepare(box, before)
            made_up(box)
            r = box.pale("sandbox", "suggest", "build", "--write")
            ok(r.status == 0 and "written to" in r.err, f"--write, {name}", r)
            if name == "an inline table":
                ok(box.read("pale.toml").startswith(after) and box.read("pale.toml").endswith("# short\n"),
                   f"--write, {name}: the rest stays", box.read("pale.toml"))
            else:
                eq(box.read("pale.toml"), after, f"--write, {name}: the rest stays")
            spec = box.pale("sandbox", "inspect", "build", "-j").json()["spec"]
            eq((spec["filesystem"], spec["paths_writable"], spec["memory"]),
               ("scoped_write", [box.path("obj")], "64m"), f"--write, {name}: it holds")
            r = box.pale("run", "build")
            ok(r.status == 0 and box.exists("obj/a.o"), f"--write, {name}: it runs", r)


def goes_wider(box):
    """The profile of a run that seemed to leave nothing; really it needs what it wrote."""
    cmd = "echo x >obj/a.o && echo y >src/y"
    prepare(box, cmd=cmd)
    made_up(box, cmd=cmd)
    r = box.pale("sandbox", "suggest", "build")
    ok(r.status == 0 and 'filesystem = "workspace_only"' in r.out, "too tight: a wider one", r)
    has(r.err, "trying a wider one", "and that is said")
    has(r.err, "refused: ", "with what was refused")
    has(r.err, box.path("src/y"), "by its path")


def offers_nothing(box):
    cmd = "exit 3"
    prepare(box, cmd=cmd)
    before = box.read("pale.toml")
    made_up(box, cmd=cmd)
    r = box.pale("sandbox", "suggest", "build", "--write")
    ok(r.status == 1 and r.out == "" and "it ends otherwise: exit status 3" in r.err,
       "what does not work under it is not offered", r)
    eq(box.read("pale.toml"), before, "nor written")
    refused = [{"dimension": "filesystem", "op": "open", "path": "/srv/x", "rule": 'filesystem = "readonly"'}]
    made_up(box, cmd=cmd, outcome="failed", exit_code=3, violations=refused)
    r = box.pale("sandbox", "suggest", "build")
    ok(r.status == 1 and r.out == "" and "did not succeed (exit status 3)" in r.err,
       "a profiled run that was refused something and failed teaches nothing", r)
    has(r.err, 'refused: open /srv/x (filesystem = "readonly")', "it says what was refused")
    made_up(box, cmd=cmd, outcome="failed", exit_code=3, changed=(), paths={})
    r = box.pale("sandbox", "suggest", "build")
    ok(r.status == 0 and 'filesystem = "readonly"' in r.out,
       "twin: one that fails by itself, as a linter does, teaches", r)


def asks_trust(box):
    data = os.path.join(box.top, "data")
    os.mkdir(data)
    box.write(os.path.join(data, "in"), "in\n")
    cmd = f"cat {data}/in"
    prepare(box, cmd=cmd)
    made_up(box, cmd=cmd, asked=f'filesystem = "readonly"\npaths_readable = ["{data}"]\n',
            paths={data + "/in": ("read",)}, changed=())
    r = box.pale("sandbox", "suggest", "build")
    has(r.out, f'paths_readable = ["{data}/in"]', "outside: the file that was read, not the folder")
    has(r.err, "this needs `pale trust`", "and that this takes trust")
    r = box.pale("sandbox", "suggest", "build", "--write")
    ok(r.status == 0 and "pale trust" in r.err, "--write says so as well", r)
    eq(box.pale("run", "build").status, 125, "without trust it does not run")
    box.pale("trust", "--yes")
    eq(box.pale("run", "build").out, "in\n", "with trust it does")


def refuses(box):
    prepare(box, "[commands.z]\ncmd = 'true'\n")
    box.write_user(f"[commands.build]\ncmd = '{BUILD}'\n")
    r = box.pale("sandbox", "suggest", "build", "--write")
    ok(r.status == 1 and "pale edits the workspace's file only" in r.err, "a command of the user's file", r)
    r = box.pale("sandbox", "tighten", "build")
    ok(r.status == 1 and "pale edits the workspace's file only" in r.err, "tighten: likewise", r)
    r = box.pale("sandbox", "suggest", "builds")
    ok(r.status == 2 and "did you mean 'build'?" in r.err, "no such command", r)
    r = box.pale("sandbox", "profile", "z", "extra")
    ok(r.status == 2 and "unexpected operand 'extra'" in r.err, "profile: an operand too many", r)
    r = box.pale("sandbox", "tighten")
    ok(r.status == 2 and "--all" in r.err, "tighten: no name", r)
    r = box.pale("sandbox", "tighten", "--all", "z")
    eq(r.status, 2, "tighten: a name and --all")
    r = box.pale("sandbox", "profile", "--preset", "off", "z")
    ok(r.status == 1 and "there is no boundary" in r.err, "profile: no boundary, no rehearsal", r)


BURN = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done\n"
TOML = """# my file
[commands]
inl = { cmd = "sh burn", sandbox = "test" } # inline
[commands.a]   # A
cmd = "sh burn"
sandbox = "build"  # a preset
description = "x"
[commands.b]
cmd = "sh burn"
# nothing
[commands.c]
cmd = "sh burn"
[commands.c.sandbox]
filesystem = "readonly" # ro
memory = "1g"           # much
timeout = "3s"
[commands.few]
cmd = "sh burn"
"""
LIMITS = 'memory = "64m", cpu = "5s", timeout = "10s"'
TIGHT = (TOML.replace('"test" }', '{ base = "test", ' + LIMITS + " } }")
         .replace('"build"', '{ base = "build", ' + LIMITS + " }")
         .replace('cmd = "sh burn"\n# nothing', 'cmd = "sh burn"\nsandbox = { base = "workspace", ' + LIMITS + " }\n# nothing")
         .replace('"1g" ', '"64m" ').replace('timeout = "3s"\n', 'timeout = "3s"\ncpu = "5s"\n'))


def tightens(box):
    allow_limits(box)
    box.write("burn", BURN)
    box.write("pale.toml", TOML)
    for name in ("inl", "a", "b", "c") * 2 + ("few",) * 2:
        box.pale("run", name)
    r = box.pale("sandbox", "tighten", "a")
    ok(r.status == 1 and r.out == "" and "2 successful runs; it takes 3" in r.err, "two runs are too few", r)
    for name in ("inl", "a", "b", "c"):
        box.pale("run", name)
    r = box.pale("sandbox", "tighten", "--all", "--dry-run")
    ok(r.status == 0 and "2g" in r.out and "64m" in r.out, "--dry-run shows before and after", r)
    has(r.err, "few is left as it is: 2 successful runs; it takes 3", "and what stays, and why")
    eq(box.read("pale.toml"), TOML, "--dry-run writes nothing")
    doc = box.pale("sandbox", "tighten", "--all", "-n", "-j").json()
    eq([(c["command"], c["verdict"]) for c in doc["commands"]],
       [("inl", "tightened"), ("a", "tightened"), ("b", "tightened"), ("c", "tightened"), ("few", "few_runs")],
       "-j: verdicts")
    eq([(i["dimension"], i["before"], i["after"]) for i in doc["commands"][3]["limits"]],
       [("memory", "1g", "64m"), ("cpu", None, "5s"), ("timeout", "3s", "3s")], "-j: before and after")
    ok(doc["written"] is False and all(i["peak"] > 0 for i in doc["commands"][0]["limits"]), "-j: peaks")
    r = box.pale("sandbox", "tighten", "--all")
    eq(r.status, 0, "tighten --all")
    eq(box.read("pale.toml"), TIGHT, "limits are narrowed, the rest stays")
    for name in ("inl", "a", "b", "c"):
        r = box.pale("run", name)
        eq(r.status, 0, f"{name} still runs")
    spec = box.pale("sandbox", "inspect", "a", "-j").json()["spec"]
    eq((spec["filesystem"], spec["memory"]), ("workspace_only", "64m"), "the preset is the base")
    r = box.pale("sandbox", "tighten", "--all")
    ok(r.status == 0 and r.out == "" and "as tight already" in r.err, "a second time: nothing to do", r)
    eq(box.read("pale.toml"), TIGHT, "and nothing is written")


def tightens_trusted(box):
    """A sandbox that took trust: it takes it again, because the file says it otherwise."""
    allow_limits(box)
    box.write("burn", BURN)
    box.write("pale.toml", '[commands.x]\ncmd = "sh burn"\nsandbox = "unrestricted"\n')
    box.pale("trust", "--yes")
    for _ in range(3):
        box.pale("run", "x")
    r = box.pale("sandbox", "tighten", "x")
    ok(r.status == 0 and "pale trust" in r.err, "it is said that trust is asked for anew", r)
    eq(box.pale("run", "x").status, 125, "and so it is")
    box.pale("trust", "--yes")
    eq(box.pale("run", "x").status, 0, "and given")


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


def interrupted(box):
    """The stage goes whatever happens; after SIGKILL, with the next rehearsal."""
    cmd = "echo x >obj/a.o; sleep 30"
    prepare(box, cmd=cmd)
    made_up(box, cmd=cmd)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        child = subprocess.Popen([PALE, "sandbox", "suggest", "build"], cwd=box.ws, env=box.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started = wait_for(lambda: any(glob.glob(f"{state(box)}/stages/pale-rehearsal.*/roots/0/upper/obj/a.o")))
        ok(started, f"{sig.name}: it runs, in a stage")
        child.send_signal(sig)
        out, err = child.communicate(timeout=30)
        ok(child.returncode == 1 and b"interrupted" in err and out == b"", f"{sig.name}: it ends", (child.returncode, err))
        eq(stages(box), [], f"{sig.name}: the stage is gone")
    child = subprocess.Popen([PALE, "sandbox", "suggest", "build"], cwd=box.ws, env=box.env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: any(glob.glob(f"{state(box)}/stages/pale-rehearsal.*/roots/0/upper/obj/a.o")))
    child.kill()
    child.wait()
    ok(len(stages(box)) == 1, "SIGKILL: the stage is left", stages(box))
    box.pale("run", "--stage", "pale-rehearsal.x", "--", "touch", "mine")
    prepare(box)
    made_up(box)
    gone = wait_for(lambda: box.pale("sandbox", "suggest", "build").status == 0 and stages(box) == ["pale-rehearsal.x"])
    ok(gone, "and swept by the next one; a stage of a person's is not", stages(box))
    ok(not box.exists("obj/a.o"), "nothing was ever written")


with Box() as probe:
    if not probe.sandbox_works():
        skip("no sandbox here")
        done()
for test in (suggests, goes_wider, offers_nothing, asks_trust, refuses, tightens, tightens_trusted, interrupted):
    with Box() as fresh:
        test(fresh)
writes()
done()
