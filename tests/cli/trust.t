#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale trust: nothing runs before it, exactly what was shown is trusted after it."""
import os
import pty
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import PALE, Box, done, eq, has, ok  # noqa: E402

ASKS = {
    "sandbox = off": ('[commands.x]\ncmd = "true"\nsandbox = "off"\n', "pale.toml:3"),
    "env.pass": ('[sandbox]\nenv.pass = ["AWS_SECRET_ACCESS_KEY"]\n', "pale.toml:2"),
    "observe = false": ('[sandbox]\nobserve = false\n', "pale.toml:2"),
    "paths_readable": ('[presets.p]\npaths_readable = ["~/.ssh"]\n[sandbox]\npreset = "p"\n',
                       "pale.toml:2"),
}


def on_terminal(box, answer):
    """`pale trust` on a terminal; returns the exit status and what was shown."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(box.ws)
        os.execve(PALE, ["pale", "trust"], box.env)
    shown = b""
    while b"[y/N]" not in shown:
        chunk = os.read(fd, 4096)
        if not chunk:
            break
        shown += chunk
    os.write(fd, answer.encode() + b"\n")
    try:
        while chunk := os.read(fd, 4096):
            shown += chunk
    except OSError:
        pass
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def needed():
    for name, (text, line) in ASKS.items():
        with Box() as box:
            box.write("pale.toml", text)
            r = box.pale("run", "--", "sh", "-c", "touch ran")
            ok(r.status == 125 and line in r.err and "pale trust" in r.err
               and not box.exists("ran"), f"{name}: not before it is trusted", r)
            r = box.pale("trust")
            ok(r.status == 2 and line in r.out and "--yes" in r.err,
               f"{name}: without a terminal --yes is needed", r)
            r = box.pale("trust", "--show")
            ok(r.status == 0 and line in r.out and "not trusted" in r.out, f"{name}: --show", r)
            doc = box.pale("trust", "--show", "-j").json()
            ok(doc and doc["state"] == "none" and doc["asks"] and doc["asks"][0]["why"],
               f"{name}: --show -j", doc)
            r = box.pale("trust", "--yes")
            ok(r.status == 0 and line in r.out, f"{name}: --yes shows and agrees", r)
            eq(box.pale("trust", "--show", "-j").json()["state"], "given", f"{name}: it is given")
            r = box.pale("run", "--explain", "--", "true")
            ok("pale trust" not in r.err, f"{name}: trust is no obstacle any more", r)
            eq(box.pale("trust").status, 0, f"{name}: asking again is no error")


def changes():
    with Box() as box:
        text, _ = ASKS["env.pass"]
        box.write("pale.toml", text)
        box.pale("trust", "--yes")
        box.write("pale.toml", "# a comment\n" + text + '[commands.y]\ncmd = "true"\n')
        eq(box.pale("trust", "--show", "-j").json()["state"], "given",
           "a change elsewhere does not matter")
        box.write("pale.toml", text.replace("AWS_SECRET_ACCESS_KEY", "OTHER_KEY"))
        eq(box.pale("trust", "--show", "-j").json()["state"], "changed", "a changed value does")
        r = box.pale("run", "--", "touch", "ran")
        ok(r.status == 125 and not box.exists("ran"), "and nothing runs again", r)
        has(box.pale("trust", "--show").out, "changed", "--show says so")
        box.pale("trust", "-y")
        eq(box.pale("trust", "--revoke").status, 0, "--revoke")
        eq(box.pale("trust", "--show", "-j").json()["state"], "none", "takes it back")
        eq(box.pale("trust", "--revoke").status, 0, "--revoke twice is no error")


def asks():
    with Box() as box:
        box.write("pale.toml", ASKS["sandbox = off"][0])
        for answer in ("n", "", "nonsense"):
            status, shown = on_terminal(box, answer)
            ok(status == 1 and "pale.toml:3" in shown, f"the answer {answer!r} declines", shown)
            eq(box.pale("trust", "--show", "-j").json()["state"], "none", "and gives nothing")
        status, shown = on_terminal(box, "y")
        eq(status, 0, "y agrees")
        eq(box.pale("trust", "--show", "-j").json()["state"], "given", "and it is given")
        ok("\x1b" not in shown, "no escape sequence on the terminal", repr(shown))


def edges():
    with Box() as box:
        r = box.pale("trust")
        ok(r.status == 0 and "nothing beyond" in r.out, "nothing to trust", r)
        eq(box.pale("trust", "--show", "-j").json()["state"], "not_needed", "-j: not needed")
        eq(box.pale("trust", "--show", "--revoke").status, 2, "--show and --revoke exclude each other")
        eq(box.pale("trust", "-j").status, 2, "--json needs --show")
        box.write("pale.toml", ASKS["env.pass"][0])
        other = os.path.join(box.top, "other")
        os.mkdir(other)
        box.pale("trust", "--yes")
        with open(os.path.join(other, "pale.toml"), "w", encoding="utf-8") as file:
            file.write(ASKS["env.pass"][0])
        doc = box.pale("trust", "--show", "-j", "--workspace", other).json()
        eq(doc["state"], "none", "another workspace with the same file is not trusted")
        state = box.env["XDG_STATE_HOME"]
        modes = {os.stat(os.path.join(d, f)).st_mode & 0o077 for d, _, fs in os.walk(state)
                 for f in fs}
        eq(modes, {0}, "what is stored is the user's alone")


needed()
changes()
asks()
edges()
done()
