#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale config and pale sandbox; errors in files name file:line and a fix."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import Box, done, eq, has, ok  # noqa: E402

GOOD = '''[sandbox]
preset = "build"

[presets.ci]
base = "test"
timeout = "7m"

[commands.t]
cmd = "true"
sandbox = "ci"

[commands.lint]
argv = ["ruff", "check"]
[commands.lint.sandbox]
filesystem = "readonly"
'''


def refused(box, text, parts, name, mode=0o644):
    """Every verb that reads the file says the same; run exits with 125."""
    box.write("pale.toml", text, mode)
    check = box.pale("config", "check")
    ok(check.status == 1 and check.out == "" and all(p in check.err for p in parts),
       f"{name}: config check", check)
    run = box.pale("run", "--", "sh", "-c", "echo ran; touch ran")
    ok(run.status == 125 and run.err == check.err and not box.exists("ran"),
       f"{name}: run exits with 125, nothing ran", run)
    ok("hint:" in check.err or "must" in check.err or "expected" in check.err,
       f"{name}: there is a fix", check)
    for words in (["config"], ["commands"], ["sandbox"], ["trust", "--show"]):
        eq(box.pale(*words).status, 1, f"{name}: {words[0]} exits with 1")
    r = box.pale("config", "check", "-j")
    doc = r.json()
    ok(r.status == 1 and doc and not doc["ok"] and doc["errors"][0]["message"] in check.err,
       f"{name}: config check -j", r)


def errors():
    with Box() as box:
        refused(box, '[sandbox]\npresett = "x"\n', ["pale.toml:2:1", "did you mean"],
                "an unknown key")
        refused(box, '[commands.x]\ncmd = 3\n', ["pale.toml:2:7"], "a wrong type")
        refused(box, '[presets.x]\nmemory = "9999999999999g"\n', ["pale.toml:2:10"],
                "a size that does not fit")
        refused(box, '[sandbox]\npreset = "build"\n', ["pale.toml", "chmod go-w"],
                "a file that others can write", 0o666)
        refused(box, '[sandbox\n', ["pale.toml:1:9"], "not TOML")
        refused(box, '[ceiling]\nnetwork = "none"\n', ["pale.toml:1"], "a ceiling in the workspace")


def hints():
    """What a hint says can be done as it stands, whatever the folder is called."""
    for name in ("plain", "it's", "x'; touch evil; '", "$(touch evil)", "a\nb"):
        with Box() as box:
            folder = os.path.join(box.ws, name)
            box.write(os.path.join(folder, "pale.toml"), '[sandbox]\npreset = "build"\n', 0o666)
            r = box.pale("config", "check", cwd=folder)
            way = r.err.partition("then: ")[2].strip()
            did = subprocess.run(["bash", "-c", way], cwd=box.ws, capture_output=True, check=False)
            ok(r.status == 1 and did.returncode == 0 and not box.exists("evil")
               and box.pale("config", "check", cwd=folder).status == 0,
               f"the hint about a folder called {name!r} can be followed", (r, way, did))


def checks():
    with Box() as box:
        r = box.pale("config", "check")
        ok(r.status == 0 and r.out.startswith("ok"), "no file: ok", r)
        path = box.write("pale.toml", GOOD)
        user = box.write_user('[ceiling]\ntimeout = "1h"\n')
        eq(box.pale("config", "check").out, f"ok {user}\nok {path}\n", "every file is named")
        eq(box.pale("config", "check", "-j").json(),
           {"errors": [], "ok": True, "files": [user, path]}, "check -j")
        eq(box.pale("config", "check", "pale.toml").out, "ok pale.toml\n", "check FILE")
        box.write("bad.toml", '[commands.a]\ncmd = "x"\nsandbox = "nosuch"\n'
                              '[commands.b]\nsandbox = "test"\n')
        r = box.pale("config", "check", "bad.toml")
        ok(r.status == 1 and "bad.toml:3" in r.err and r.err.count("pale: ") >= 2,
           "check FILE: every command's error", r)
        lanes = '[lanes]\ncheck = ["a", "gone"]\n[commands.a]\ncmd = "x"\n'
        box.write("lanes.toml", lanes)
        r = box.pale("config", "check", "lanes.toml")
        ok(r.status == 1 and "lanes.toml:2:9: check: no command 'gone'" in r.err and "'a'" not in r.err,
           "check FILE: a command that is not there, to be checked", r)
        box.write("lanes.toml", lanes.replace(', "gone"', ""))
        eq(box.pale("config", "check", "lanes.toml").status, 0, "twin: one that is")
        box.write_user('[lanes]\ncheck = ["elsewhere"]\n')
        eq(box.pale("config", "check").status, 0, "a list of the user's is for other workspaces, too")
        r = box.pale("config", "check", "nosuch.toml")
        ok(r.status == 1 and "nosuch.toml" in r.err, "check FILE: there is none", r)
        eq(box.pale("config", "check", "a", "b").status, 2, "check: two files are refused")


def shows():
    with Box() as box:
        path = box.write("pale.toml", GOOD)
        user = box.write_user('[sandbox]\npreset = "test"\nengine = "native"\n'
                              '[sandbox.env]\nset = { A = "1" }\n[ceiling]\ntimeout = "1h"\n')
        r = box.pale("config", "show", "--origin")
        lines = [" ".join(line.split()) for line in r.out.splitlines()]
        for line in (f'sandbox.preset = "build" {path}:2', f'sandbox.engine = "native" {user}:3',
                     f'sandbox.env.set.A = "1" {user}:5', f'ceiling.timeout = "1h" {user}:7',
                     f'commands.lint.argv = ["ruff", "check"] {path}:13',
                     f'commands.lint.sandbox.filesystem = "readonly" {path}:15',
                     'sandbox.mode = "direct" built in'):
            ok(line in lines, f"config show --origin: {line.split()[0]}", r.out)
        eq(box.pale("config").out.splitlines(),
           [line.split("  ")[0] for line in r.out.splitlines()], "`config` is `config show`")
        doc = {row["key"]: row for row in box.pale("config", "show", "-j").json()}
        eq(doc["sandbox.preset"], {"key": "sandbox.preset", "value": "build", "file": path,
                                   "line": 2}, "config show -j")
        eq(doc["sandbox.allow_degraded"]["value"], [], "config show -j: a default")
        r = box.pale("config", "keys")
        ok(r.status == 0 and "presets.*.base" in r.out and "max_output" in r.out, "config keys", r)
        doc = box.pale("config", "keys", "-j").json()
        ok(doc and len(doc["spec"]) == 26 and all(k["help"] for k in doc["keys"] + doc["spec"]),
           "config keys -j")


def sandboxes():
    with Box() as box:
        r = box.pale("sandbox")
        eq([line.split("  ")[0] for line in r.out.splitlines()], ["COMMAND", "(ad hoc)"],
           "no file: the ad-hoc run alone")
        box.write("pale.toml", GOOD)
        r = box.pale("sandbox", "list")
        eq([line.split() for line in r.out.splitlines()],
           [["COMMAND", "SANDBOX", "WORLD", "CEILING", "NETWORK", "RUNS", "MEMORY", "CPU", "AVERAGE", "LONGEST"],
            ["lint", "custom", "pinhole", "2", "none", "0", "-", "-", "-", "-"],
            ["t", "ci", "pinhole", "2", "none", "0", "-", "/", "512m", "-", "/", "30s", "-", "-", "/", "7m"],
            ["(ad", "hoc)", "build", "scoped", "4", "none"] + ["-"] * 5], "sandbox list")
        limits = lambda memory, cpu, timeout: {"memory": memory, "cpu_ms": cpu, "timeout_ms": timeout}
        eq(box.pale("sandbox", "-j").json(),
           [{"command": "lint", "sandbox": "custom", "world": "pinhole", "ceiling": 2,
             "network": "none", "limits": limits(None, None, None), "observed": None},
            {"command": "t", "sandbox": "ci", "world": "pinhole", "ceiling": 2, "network": "none",
             "limits": limits(512 << 20, 30000, 420000), "observed": None},
            {"command": None, "sandbox": "build", "world": "scoped", "ceiling": 4,
             "network": "none", "limits": limits(2 << 30, 120000, 300000), "observed": None}],
           "sandbox list -j")
        r = box.pale("sandbox", "inspect", "t")
        lines = [line.split() for line in r.out.splitlines()]
        ok(["timeout", '"7m"', box.path("pale.toml") + ":6"] in lines, "inspect: value and origin", r)
        has(r.out, "world pinhole, ceiling 2", "inspect: the grade")
        doc = box.pale("sandbox", "inspect", "t", "-j").json()
        ok(doc and doc["kind"] == "command" and doc["spec"]["timeout"] == "7m"
           and doc["origins"]["timeout"]["line"] == 6
           and doc["grade"] == {"world": "pinhole", "ceiling": 2}, "inspect -j", doc)
        doc = box.pale("sandbox", "inspect", "off", "-j").json()
        ok(doc and doc["kind"] == "preset" and doc["grade"] == {"world": "open", "ceiling": 8},
           "inspect a preset", doc)
        r = box.pale("sandbox", "inspect", "nosuch")
        ok(r.status == 2 and "no command 'nosuch': unknown preset 'nosuch'" in r.err,
           "inspect: neither a command nor a preset", r)
        r = box.pale("sandbox", "inspect", "tset")
        ok(r.status == 2 and "did you mean 'test'" in r.err, "inspect: unknown", r)
        box.write_user('[ceiling]\nfilesystem = "readonly"\n')
        box.write("pale.toml", GOOD.replace('"ci"', '"build"'))
        r = box.pale("sandbox")
        rows = {line.split()[0]: line.split() for line in r.out.splitlines()}
        ok(r.status == 0 and rows["t"][1] == "refused" and rows["lint"][1] == "custom",
           "a command beyond the ceiling is listed as refused", r)
        ok("pale.toml:10" in r.err and ".config/pale/pale.toml:2" in r.err,
           "and both lines are named", r)
        rows = {row["command"]: row for row in box.pale("sandbox", "-j").json()}
        ok("ceiling" in rows["t"]["error"], "-j: the error is in the row", rows)


def workspaces():
    with Box() as box:
        box.write("pale.toml", GOOD)
        os.makedirs(box.path("deep/er"))
        r = box.pale("commands", "--names", cwd=box.path("deep/er"))
        eq(r.out, "lint\nt\n", "the workspace is found upwards")
        r = box.pale("commands", "--names", "--workspace", box.ws, cwd=box.home)
        eq(r.out, "lint\nt\n", "--workspace")
        r = box.pale("commands", "--workspace", box.path("nosuch"))
        ok(r.status == 2 and "nosuch" in r.err, "--workspace: there is none", r)
        for name in ("with blank", "new\nline", "a:b,c\\d", "x" * 200, b"\xff\xfe".decode(
                "utf-8", "surrogateescape")):
            os.mkdir(box.path(name))
            r = box.pale("commands", "register", "x", "true", "--workspace", box.path(name))
            r2 = box.pale("commands", "--names", "--workspace", box.path(name))
            ok(r.status == 0 and r2.out == "x\n", f"a workspace called {name[:20]!r}", (r, r2))


errors()
hints()
checks()
shows()
sandboxes()
workspaces()
done()
