#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale commands: list, show, register, unregister; the rest of the file survives."""
import fcntl
import os
import subprocess
import sys
import tomllib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import PALE, Box, done, eq, has, ok  # noqa: E402

ODD = '''# head\r
\t[sandbox]   # odd  spacing
preset   =   'workspace'


[commands]
a.cmd = "echo a"   # dotted
b = { cmd = "echo b", sandbox = "test" }

[commands.c]  # table
# about c
cmd = """
echo \\
  c"""
[commands.c.sandbox]
filesystem = "readonly"  # tight

# tail, no newline'''


def lists():
    with Box() as box:
        r = box.pale("commands")
        ok(r.status == 0 and "no commands" in r.out, "no file: says how to add commands", r)
        eq(box.pale("commands", "list", "-j").json(), [], "no file: -j is an empty list")
        box.write("pale.toml", ODD.replace("\r", ""))
        r = box.pale("commands")
        eq(r.status, 0, "list works")
        eq([line.split()[:2] for line in r.out.splitlines()],
           [["COMMAND", "SANDBOX"], ["a", "-"], ["b", "test"], ["c", "custom"]], "list: the table")
        eq(box.pale("commands", "list").out, r.out, "`commands` is `commands list`")
        eq(box.pale("commands", "--names").out, "a\nb\nc\n", "list --names")
        rows = box.pale("commands", "-j").json()
        eq([(c["name"], c["sandbox"]) for c in rows or []],
           [("a", None), ("b", "test"), ("c", {"filesystem": "readonly"})], "list -j")
        r = box.pale("commands", "show", "b", "-j").json()
        ok(r and r["cmd"] == "echo b" and r["argv"] is None and r["line"] == 8
           and r["file"] == box.path("pale.toml"), "show -j", r)
        r = box.pale("commands", "show", "a")
        ok(r.status == 0 and "echo a" in r.out and "pale.toml:7" in r.out, "show", r)
        r = box.pale("commands", "show", "bb")
        ok(r.status == 2 and "no command 'bb'" in r.err, "show: no such command", r)
        r = box.pale("commands", "show", "elsewhere")
        ok(r.status == 2 and "hint: pale commands lists them" in r.err, "show: like no other", r)
        r = box.pale("events")
        eq((r.status, r.out), (0, "no events\n"), "no event: says so")
        r = box.pale("commands", "register", "empty", "")
        ok(r.status == 2 and "the command is empty" in r.err and "pale.toml" not in r.err
           and "empty" not in box.read("pale.toml"), "register: an empty command", r)
        r = box.pale("session")
        ok(r.status == 0 and r.out.startswith("no sessions; "), "no session: says how to make one", r)


def registers():
    with Box() as box:
        r = box.pale("commands", "register", "x", "true && touch /tmp/escaped")
        eq((r.status, r.out, r.err), (0, "", ""), "register says nothing when it worked")
        eq(box.read("pale.toml"), '[commands.x]\ncmd = "true && touch /tmp/escaped"\n',
           "register creates the file; no sandbox unless asked")
        eq(os.stat(box.path("pale.toml")).st_mode & 0o022, 0, "others cannot write the new file")
        r = box.pale("commands", "register", "x", "other")
        ok(r.status == 1 and "pale.toml:1: the command 'x' exists" in r.err and "--force" in r.err,
           "a name that exists is refused", r)
        r = box.pale("commands", "register", "y", "--sandbox", "test", "--description", 'a "b" \\',
                     "--", "prog", "a b", "-x", "--", 'q"uo\nte')
        eq(r.status, 0, "register NAME -- ARGV")
        eq(tomllib.loads(box.read("pale.toml"))["commands"]["y"],
           {"description": 'a "b" \\', "argv": ["prog", "a b", "-x", "--", 'q"uo\nte'],
            "sandbox": "test"}, "a list is kept as it is")
        r = box.pale("commands", "register", "y", "new", "--force")
        eq(tomllib.loads(box.read("pale.toml"))["commands"]["y"], {"cmd": "new"},
           "--force replaces the whole command")
        for name in ("", "-x", ".x", "a b", "a/b", "ü", "a\n", "a]"):
            before = box.read("pale.toml")
            r = box.pale("commands", "register", "--", name, "true")
            ok(r.status == 2 and box.read("pale.toml") == before, f"the name {name!r} is refused", r)
        r = box.pale("commands", "register", "z", "a", "b")
        ok(r.status == 2 and "--" in r.err, "two words without -- are refused", r)
        r = box.pale("commands", "register", "z", "true", "--sandbox", "tset")
        ok(r.status == 1 and "did you mean 'test'" in r.err, "an unknown preset is refused", r)
        for table in ('{ netz = "none" }', '{ network = "none"', '{ }\n[ceiling]\nx = 1', '{ memory = "x" }',
                      '{ network = "none" } # x\n[commands.evil]\ncmd = "x"'):
            r = box.pale("commands", "register", "z", "true", "--sandbox", table)
            ok(r.status == 1 and box.read("pale.toml") == before, f"the table {table!r} is refused", r)
        r = box.pale("commands", "register", "z", b"\xff".decode("utf-8", "surrogateescape"))
        ok(r.status == 2 and "UTF-8" in r.err, "a line that is not UTF-8 is refused", r)
        ok("commands.z" not in box.read("pale.toml"), "and nothing was written")
        left = sorted(os.listdir(box.ws))
        eq(left, ["pale.toml"], "no file is left behind")


def tables():
    with Box() as box:
        r = box.pale("commands", "register", "t", "make", "--sandbox",
                     '{ base = "build", memory = "1g", paths_hidden = ["secret"] }')
        ok(r.status == 0, "a sandbox can be a table", r)
        spec = box.pale("sandbox", "inspect", "t", "--json").json()["spec"]
        eq([spec["memory"], spec["timeout"], len(spec["paths_hidden"])], ["1g", "5m", 1], "and holds")
        r = box.pale("commands", "register", "t", "make", "--force", "--sandbox", "test")
        ok(r.status == 0 and "1g" not in box.read("pale.toml"), "a preset takes its place", r)
        ok("trust" not in r.err, "within what a workspace may by itself nothing is said", r)
        r = box.pale("commands", "register", "u", "make", "--sandbox", "off")
        ok(r.status == 0 and "nothing runs here before you agree" in r.err and "pale trust" in r.err,
           "beyond it, that nothing runs, and what to do", r)


def preserves():
    for text in (ODD.replace("\r", ""), ODD.replace("\r", "") + "\n", "# only a comment", ""):
        with Box() as box:
            box.write("pale.toml", text)
            eq(box.pale("commands", "register", "new", "echo new").status, 0, "register")
            after = box.read("pale.toml")
            eq(after[:len(text)], text, "every byte that was there still is")
            eq(tomllib.loads(after)["commands"]["new"], {"cmd": "echo new"}, "the new one is there")
            eq(box.pale("commands", "unregister", "new").status, 0, "unregister")
            eq(tomllib.loads(box.read("pale.toml") or ""), tomllib.loads(text),
               "and all is as before")
    for name in "abc":
        with Box() as box:
            text = ODD.replace("\r", "")
            box.write("pale.toml", text)
            r = box.pale("commands", "unregister", name)
            after = box.read("pale.toml")
            want = tomllib.loads(text)
            del want["commands"][name]
            eq((r.status, tomllib.loads(after)), (0, want), f"unregister {name}")
            for line in ("# head", "preset   =   'workspace'", "# tail, no newline"):
                has(after, line, f"unregister {name} keeps {line!r}")
    with Box() as box:
        box.write("pale.toml", ODD.replace("\r", ""), 0o640)
        box.pale("commands", "register", "c", "echo other", "--force", "--sandbox", "build")
        eq(tomllib.loads(box.read("pale.toml"))["commands"]["c"],
           {"cmd": "echo other", "sandbox": "build"}, "a sandbox table gives way to a preset")
        eq(os.stat(box.path("pale.toml")).st_mode & 0o777, 0o640, "the mode is kept")


def refuses():
    with Box() as box:
        r = box.pale("commands", "unregister", "x")
        ok(r.status == 2 and "no command 'x'" in r.err, "unregister: no such command", r)
        ok(not box.exists("pale.toml"), "and no file is made")
        box.write("pale.toml", "[commands.x]\ncmdd = 1\n")
        r = box.pale("commands", "register", "y", "true")
        ok(r.status == 1 and "pale.toml:2" in r.err, "a broken file is not edited", r)
        eq(box.read("pale.toml"), "[commands.x]\ncmdd = 1\n", "it stays as it is")
        os.unlink(box.path("pale.toml"))
        other = box.write("../elsewhere.toml", "# mine\n")
        os.symlink(other, box.path("pale.toml"))
        r = box.pale("commands", "register", "y", "true")
        ok(r.status == 1 and box.read(other) == "# mine\n", "a link is not followed", r)
        os.unlink(box.path("pale.toml"))
        os.mkfifo(box.path("pale.toml"))
        r = box.pale("commands", "register", "y", "true")
        ok(r.status == 1 and r.err, "a fifo does not hang it", r)
    with Box() as box:
        box.write_user('[commands.mine]\ncmd = "true"\n')
        r = box.pale("commands", "unregister", "mine")
        ok(r.status == 1 and ".config/pale/pale.toml" in r.err,
           "a command of the user's file is named, not removed", r)
        r = box.pale("commands", "register", "mine", "false")
        ok(r.status == 1 and "exists" in r.err, "a name of the user's file is refused", r)


def at_once():
    with Box() as box:
        names = [f"c{i}" for i in range(20)]
        started = [subprocess.Popen([PALE, "commands", "register", name, "true"], cwd=box.ws,
                                    env=box.env) for name in names]
        eq([p.wait() for p in started], [0] * len(names), "twenty registers at once all work")
        eq(sorted(tomllib.loads(box.read("pale.toml"))["commands"]), sorted(names),
           "and none is lost")
        fd = os.open(box.ws, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        r = box.pale("commands", "register", "late", "true")
        os.close(fd)
        ok(r.status == 1 and "locked" in r.err, "a lock that is never given up does not hang it", r)


def hostile():
    with Box() as box:
        box.write("pale.toml", '[commands.x]\ncmd = "\\u001b]0;owned\\u0007"\n'
                               'description = "\\u202egnirts\\nline"\n')
        for words in (["commands"], ["commands", "show", "x"], ["config", "show"], ["sandbox"]):
            r = box.pale(*words)
            ok(r.status == 0 and not set("\x1b\x07\u202e") & set(r.out + r.err),
               f"{' '.join(words)}: no control character gets through", r)


lists()
registers()
tables()
preserves()
refuses()
at_once()
hostile()
done()
