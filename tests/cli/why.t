#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale why and pale allow: what was refused is explained, and one rule is written."""
import glob
import json
import os
import pty
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import PALE, Box, done, eq, has, ok, skip  # noqa: E402

_number = 0


class History(Box):
    """A box whose history holds what a test puts there, as a run would."""

    def state(self):
        found = glob.glob(os.path.join(self.env["XDG_STATE_HOME"], "pale", "ws-*"))
        return found[0] if found else None

    def put(self, command="t", violations=None, **record):
        """One run that ended; VIOLATIONS None: nobody watched. Returns its id."""
        global _number
        _number += 1
        run = f"1a1e34d{_number:04x}-{_number:010x}"
        record = {"type": "end", "run": run, "started_ms": 1790000000000 + _number, "pid": 1,
                  "program": "sh", "ceiling": 2, "ended_ms": 1790000001000 + _number,
                  "outcome": "failed", "exit_code": 1, "signal": 0, "duration_ms": 12,
                  "has_output": False, "degraded": [], **record}
        if command:
            record["command"] = command
        if violations is not None:
            record["violations"] = violations
            record["violations_dropped"] = 0
        text = json.dumps(record).encode()
        if not self.state():
            self.pale("run", "--", "true")
        with open(os.path.join(self.state(), "spool"), "ab") as file:
            file.write(b"\nP1 %08x " % zlib.crc32(text) + text + b"\n")
        return run


def denied(target, op="create", dimension="filesystem", at=1, **more):
    return {"dimension": dimension, "op": op, "target": target, "count": 1, "first_ms": at,
            "last_ms": at, **more}


def test_nothing():
    with History() as box:
        r = box.pale("why")
        ok(r.status == 1 and "nothing has been run" in r.err, "without a history", r)
        run = box.put(violations=[])
        r = box.pale("why")
        ok(r.status == 0 and "exited with 1" in r.out and "Nothing that is watched was refused" in r.out,
           "nothing was refused", r)
        ok("Reads are not watched" in r.out and "pale run --explain" in r.out
           and "pale sandbox profile" in r.out, "what nobody watches is said, and who would", r)
        r = box.pale("why", run[:14])
        ok(r.status == 0 and run in r.out, "by the beginning of its id", r)
        box.put()
        has(box.pale("why").out, "Nobody watched", "nobody watched: said, not guessed")
        eq(box.pale("why", "-j").json()["observed"], False, "-j too")
        r = box.pale("why", "1a")
        ok(r.status == 2 and "several runs" in r.err, "an id that is not unique", r)
        r = box.pale("why", "ffff")
        ok(r.status == 2 and "no run" in r.err, "an unknown id", r)
        box.put(outcome="ok", exit_code=0, violations=[])
        has(box.pale("why").out, "it worked", "a run that worked")


def test_endings():
    endings = [
        ({"outcome": "timeout", "timeout_ms": 30000, "exit_code": -1}, "limit of timeout, 30s",
         "--timeout 1m"),
        ({"outcome": "oom", "memory_limit": 256 << 20, "exit_code": -1}, "limit of memory, 256m",
         "--memory 512m"),
        ({"outcome": "limit", "limit": "disk", "exit_code": -1}, "limit of disk", "to allow it: pale run --disk MORE t\n"),
        ({"exit_code": 153}, "exited with 153, as a shell does when signal 25", None),
        ({"exit_code": 128}, "exited with 128.", None),
        ({"outcome": "limit", "limit": "pids", "pids_limit": 8, "exit_code": -1},
         "limit of pids, 8", "--pids 16"),
        ({"outcome": "limit", "limit": "cpu", "cpu_limit_ms": 1500, "exit_code": -1},
         "limit of cpu, 1500ms", "--cpu 3s"),
        ({"outcome": "signaled", "signal": 11, "exit_code": -1}, "signal 11", None),
        ({"outcome": "refused", "error": "trust", "exit_code": -1}, "trusted with",
         "pale trust --show"),
        ({"outcome": "refused", "error": "policy", "exit_code": -1}, "what was asked for is refused",
         "pale run --explain"),
        ({"outcome": "refused", "error": "unsupported", "exit_code": -1}, "cannot be done here",
         "pale doctor"),
        ({"outcome": "error", "error": "config", "exit_code": -1}, "pale.toml was wrong",
         "pale config check"),
        ({"degraded": ["memory"]}, "memory was enforced only in part", None),
        ({"tamper": [{"path": "/w/.envrc", "action": "quarantined", "where": "/q/1",
                      "window_us": 5}]}, "protected path was touched: /w/.envrc, quarantined", None),
    ]
    with History() as box:
        box.write("pale.toml", "[commands.t]\ncmd = 'true'\n")
        for record, words, fix in endings:
            box.put(violations=[], **record)
            r = box.pale("why")
            ok(r.status == 0 and words in r.out and (not fix or fix in r.out), words, r)
        box.write("pale.toml", "[commands.t]\ncmd = 'true'\nsandbox = 'nonesuch'\n")
        r = box.pale("why")
        ok(r.status == 0 and "touched" in r.out, "also when the policy of today is broken", r)
        box.write("pale.toml", "not toml")
        r = box.pale("why")
        ok(r.status == 0 and "today's policy is not known" in r.out, "or is none at all", r)


def test_causes():
    with History() as box:
        box.write("src/a.c", "")
        box.write("pale.toml", "[commands.t]\ncmd = 'true'\nsandbox = 'readonly'\n")
        box.put(violations=[
            denied(box.path("src/a.c"), "open", at=5, rule='filesystem = "readonly"', count=3,
                   fix="--write src/a.c"),
            denied("192.0.2.1:443", "connect", "network", at=9, rule='network = "none"'),
            denied(os.path.join(box.home, ".ssh/id"), "open", at=2),
            denied(None, "unshare", "nested", at=1),
            denied(box.path("src/\x1b[2Jx"), at=0),
        ])
        r = box.pale("why")
        order = [r.out.find(t) for t in ("connect to 192.0.2.1", "write to", ".ssh/id", "unshare")]
        ok(r.status == 0 and -1 not in order and order == sorted(order), "the last comes first", r)
        has(r.out, ", 3 times", "counted")
        has(r.out, 'refused by: filesystem = "readonly"', "the rule")
        has(r.out, "pale run --write src/a.c", "the fix that was found then")
        has(r.out, "to allow it: pale run --host 192.0.2.1:443", "the host that was refused")
        has(r.out, "not to be allowed: ", "a key is not to be allowed")
        has(r.out, "--nested", "a fix that is found now")
        ok("\x1b" not in r.out and "\\x1b[2J" in r.out, "names cannot confuse a terminal", r)
        doc = box.pale("why", "-j").json()
        eq([c["number"] for c in doc["causes"]], [1, 2, 3, 4, 5], "-j: numbers")
        eq(doc["causes"][1]["remedy"],
           {"key": "paths_writable", "add": '"src/a.c"',
            "opens": f"{box.path('src/a.c')} could be written, and nothing else"}, "-j: the remedy")
        ok(doc["causes"][2]["remedy"] is None and "credentials" in doc["causes"][2]["why_not"],
           "-j: no remedy, and why", doc)


FILE = "# ours\n[commands.t]\ncmd = 'true'\nsandbox = 'readonly' # tight\n"


def test_other_options():
    """A run with options of its own was under another policy than today's."""
    with History() as box:
        box.pale("run", "--", "true")
        now = box.pale("runs", "-j").json()[0]["spec_digest"]
        for digest, fix in ((now, "to allow it: pale run --nested"), ("0" * 64, None)):
            box.put(command=None, spec_digest=digest, violations=[denied(None, "unshare", "nested")])
            r = box.pale("why")
            ok((fix in r.out) if fix else "--nested" not in r.out and "beside those of that run" in r.out,
               "what its options could not allow is not offered" if not fix else "twin: offered", r)
        box.put(command=None, violations=[
            denied("192.0.2.53:53", "connect", "network", rule='network = "none"',
                   fix="pale run --host NAME …")])
        r = box.pale("why")
        ok("look up a name, at 192.0.2.53:53" in r.out and "NAME: the host that was looked up" in r.out,
           "who asks a name server wants a name", r)
        for more, opens in (("2", False), ("512", True)):
            box.put(command=None, violations=[
                denied("127.0.0.1:80", "connect", "connections", fix=f"pale run --connections {more} …")])
            r = box.pale("why")
            ok(f"--connections {more} …" in r.out and ("would be 512" in r.out) == opens,
               "what a rule opens is said of the rule that is offered", r)
        r = box.pale("run", "--processes", "visible", "--", "strace", "-o", "/dev/null", "true")
        fixes = [c["fix"] for c in box.pale("why", "-j").json()["causes"] if c["op"] == "ptrace"]
        if not fixes and "not found" in r.err:
            skip("no strace")
            return
        eq(fixes, ["pale run --processes isolated …"], "tracing takes processes of its own")
        r = box.pale("run", "--processes", "isolated", "--", "strace", "-o", "/dev/null", "true")
        eq(r.status, 0, "and works then")


def test_bytes():
    """A name that is no UTF-8 is shown wherever others are."""
    with History() as box:
        box.pale("run", "--", "sh", "-c", "printf x >\"$(printf '/usr/share/a\\377b')\"")
        for verb in (["events"], ["why"], ["show", "last"]):
            r = box.pale(*verb)
            ok("/usr/share/a\\xffb" in r.out, verb[0], r)
        # a terminal obeys the one, and reorders by the other
        name = "/srv/a\u009b2J\u202eb"
        box.put(violations=[denied(name)])
        for verb in (["events", "-j"], ["show", "-j"], ["why", "-j"]):
            r = box.pale(*verb)
            ok(json.loads(r.out) and "2J" in r.out and not {"\u009b", "\u202e"} & set(r.out),
               f"{verb[0]} -j: no name steers a terminal", r)


def test_obeyed():
    """What a command asks for is not opened where programs of the host take orders from it."""
    with History() as box:
        box.write("pale.toml", "[commands.t]\ncmd = 'true'\n")
        for place, opens in ((".config/x/env.sh", False), (".local/lib/python3/usercustomize.py", False),
                             ("proj/.git/hooks/post-checkout", False), ("proj/data/x", True)):
            path = os.path.join(box.home, place)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            box.put(violations=[denied(path)])
            cause = box.pale("why", "-j").json()["causes"][0]
            r = box.pale("allow", "--project", "--yes")
            written = os.path.dirname(place) in box.read("pale.toml")
            ok((cause["fix"] is not None, r.status == 0, written) == (opens, opens, opens),
               f"{place}: {'allowed' if opens else 'not allowed'}", r)


def test_allow():
    with History() as box:
        box.write("src/a.c", "")
        box.write("pale.toml", FILE)
        run = box.put(violations=[denied(box.path("src/new"), at=2),
                                  denied(os.path.join(box.home, ".ssh/id"), "open", at=1)])
        r = box.pale("allow")
        ok(r.status == 2 and "--project or --user" in r.err, "where has to be said", r)
        r = box.pale("allow", "--project")
        ok(r.status == 2 and "which one of 2" in r.err, "and which", r)
        r = box.pale("allow", "9", "--project")
        ok(r.status == 2 and "no number 9" in r.err, "one that is not there", r)
        r = box.pale("allow", "1", "--project")
        ok(r.status == 2 and "no terminal" in r.err and "could be written" in r.out
           and box.read("pale.toml") == FILE, "nobody to ask: shown, not written", r)
        r = box.pale("allow", "1", "--project", "--dry-run")
        ok(r.status == 0 and 'paths_writable = ["src"]' in r.out and box.read("pale.toml") == FILE,
           "--dry-run writes nothing", r)
        odd = box.put(violations=[denied(box.path("src/x\nopens: nothing"), at=3)])
        r = box.pale("allow", odd, "1", "--project", "--dry-run")
        ok(r.status == 0 and r.out.count("\nopens: ") == 1 and "\\x0a" in r.out.split("\n")[0],
           "a path has no lines of its own", r)
        r = box.pale("allow", run, "2", "--project", "-y")
        ok(r.status == 1 and "credentials" in r.err and box.read("pale.toml") == FILE,
           "a key is not allowed, whoever agrees", r)
        r = box.pale("allow", run, "1", "--user", "-y")
        ok(r.status == 1 and "would change nothing" in r.err and "--project" in r.err,
           "the user's file is farther than the project's", r)
        r = box.pale("allow", run, "1", "--project", "-y")
        ok(r.status == 0 and f"everything in {box.path('src')}" in r.out, "written", r)
        eq(box.read("pale.toml"), FILE.replace(
            "'readonly'", '{ base = "readonly", paths_writable = ["src"] }'),
           "the file is as it was but for the rule")
        r = box.pale("sandbox", "inspect", "t", "-j")
        eq(r.json()["spec"]["paths_writable"], [box.path("src")], "and it holds")
        r = box.pale("allow", run, "1", "--project", "-y")
        ok(r.status == 1 and "the policy allows it" in r.err, "a second time there is nothing to do",
           r)


def answer(box, text, *args, before=None):
    """pale on a terminal, where TEXT is typed; BEFORE is called when it has asked."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(box.ws)
        os.execve(PALE, ["pale", *args], box.env)
    seen = b""
    while before and b"[y/N]" not in seen:
        seen += os.read(fd, 4096)
    if before:
        before()
    os.write(fd, text.encode())
    try:
        while True:
            part = os.read(fd, 4096)
            if not part:
                break
            seen += part
    except OSError:
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode()


def test_asking():
    with History() as box:
        box.write("src/a.c", "")
        box.write("pale.toml", FILE)
        box.put(violations=[denied(box.path("src/a.c"), "open")])
        status, seen = answer(box, "n\n", "allow", "--project")
        ok(status == 1 and "nothing else" in seen and box.read("pale.toml") == FILE,
           "no is no", seen)
        status, seen = answer(box, "y\n", "allow", "--project")
        ok(status == 0 and '"src/a.c"' in box.read("pale.toml"), "yes is yes", seen)


def test_meanwhile():
    """What is saved while the question stands is not overwritten by the answer."""
    def remove(box):
        os.unlink(box.path("pale.toml"))

    for what, change in (("changed", lambda box: box.write("pale.toml", FILE + "# mine\n")),
                         ("removed", remove)):
        with History() as box:
            box.write("src/a.c", "")
            box.write("pale.toml", FILE)
            box.put(violations=[denied(box.path("src/a.c"), "open")])
            status, seen = answer(box, "y\n", "allow", "--project", before=lambda: change(box))
            left = box.read("pale.toml") if os.path.exists(box.path("pale.toml")) else None
            eq(left, FILE + "# mine\n" if what == "changed" else None,
               f"a file that was {what} while the question stood stays so")
            ok(status == 1 and "has changed meanwhile" in seen, f"and that is said: {what}", seen)
            box.write("pale.toml", FILE)
            status, seen = answer(box, "y\n", "allow", "--project", before=lambda: None)
            ok(status == 0 and '"src/a.c"' in box.read("pale.toml"), f"twin: else not, {what}", seen)
    with History() as box:
        box.write("src/a.c", "")
        box.write("pale.toml", FILE.replace("sandbox = 'readonly'", "description = 'd'"))
        box.write_user("# none\n")
        box.put(violations=[denied("/etc/hosts", "unshare", "nested")])
        status, seen = answer(box, "y\n", "allow", "--user",
                              before=lambda: box.write_user("# mine\n"))
        text = box.read(os.path.join(box.env["XDG_CONFIG_HOME"], "pale", "pale.toml"))
        ok(status == 1 and text == "# mine\n", "nor is the user's own file", seen + text)


def test_linked():
    """A file of the user's that is kept elsewhere is changed there, and stays linked."""
    with History() as box:
        box.write("pale.toml", "[commands.t]\ncmd = 'true'\n")
        kept = box.write(os.path.join(box.top, "dotfiles", "p.toml"), "# mine\n")
        link = os.path.join(box.env["XDG_CONFIG_HOME"], "pale", "pale.toml")
        os.makedirs(os.path.dirname(link))
        os.symlink(kept, link)
        run = box.put(violations=[denied(None, "unshare", "nested")])
        r = box.pale("allow", run, "--user", "-y")
        eq((r.status, os.readlink(link), box.read(kept)),
           (0, kept, '# mine\n\n[commands.t]\nsandbox = { base = "workspace", nested = true }\n'),
           "a linked file of the user's own has the rule")


def test_base():
    """A rule of the user's holds in every workspace: it does not start from what one project calls its preset."""
    preset = "[sandbox]\npreset = '%s'\n[commands.t]\ncmd = 'true'\n[presets.ci]\nbase = 'readonly'\n"
    mine = os.path.join(".config", "pale", "pale.toml")
    for name in ("ci", "build"):
        with History() as box:
            box.write("pale.toml", preset % name)
            run = box.put(violations=[denied(None, "unshare", "nested")])
            r = box.pale("allow", run, "--user", "-y")
            written = box.exists(os.path.join(box.home, mine))
            if name == "ci":
                ok(r.status == 1 and "a preset of this one" in r.err and "--project" in r.err and not written,
                   "a project's preset is no base of the user's rule", r)
                r = box.pale("allow", run, "--project", "-y")
                ok(r.status == 0 and 'base = "ci"' in box.read("pale.toml"), "but one of the project's", r)
            else:
                ok(r.status == 0 and written, "twin: a built-in one is", r)
            os.mkdir(os.path.join(box.top, "other"))
            box.write("../other/pale.toml", "[commands.t]\ncmd = 'true'\n")
            r = box.pale("config", "check", cwd=os.path.join(box.top, "other"))
            eq(r.status, 0, f"{name}: the command of that name in another project is what it was")


def test_comments():
    """Comments stay, also in a list that holds nothing else."""
    for before, after in (
            ("[]", '["src/a.c"]'),
            ("[ ]", '["src/a.c"]'),
            ("[ # why\n\t# ask Ada first\n]", '[ # why\n\t# ask Ada first\n"src/a.c"]'),
            ("[ # why\n\t'x', # x\n]", '[ # why\n\t\'x\', "src/a.c", # x\n]')):
        with History() as box:
            box.write("src/a.c", "")
            box.write("x", "")
            text = "[commands.t]\ncmd = 'true'\nsandbox.paths_writable = LIST # more\n"
            box.write("pale.toml", text.replace("LIST", before))
            run = box.put(violations=[denied(box.path("src/a.c"), "open")])
            r = box.pale("allow", run, "--project", "-y")
            eq((r.status, box.read("pale.toml")), (0, text.replace("LIST", after)),
               f"what stands in {before!r} stays")


def test_bounds():
    with History() as box:
        box.write("pale.toml", "[commands.t]\ncmd = 'true'\n")
        run = box.put(violations=[denied(None, "unshare", "nested")])
        r = box.pale("allow", run, "--project", "-n")
        ok(r.status == 0 and "needs `pale trust`" in r.out and "nested = true" in r.out,
           "trust is announced", r)
        box.write_user("[ceiling]\nnested = false\n")
        before = box.read("pale.toml")
        r = box.pale("allow", run, "--project", "-y")
        ok(r.status == 1 and "looser than the ceiling" in r.err and "pale.toml:2" in r.err
           and box.read("pale.toml") == before, "a ceiling is named, and holds", r)
        box.write_user("")
        r = box.pale("allow", run, "--user", "-y")
        ok(r.status == 0 and "every workspace" in r.out, "the user's own file", r)
        text = box.read(os.path.join(box.env["XDG_CONFIG_HOME"], "pale", "pale.toml"))
        eq(text, '[commands.t]\nsandbox = { base = "workspace", nested = true }\n', "has the rule")
        r = box.pale("run", "t")
        ok(r.status == 125 and "pale trust" in r.err, "what would run with it needs trust", r)
        run = box.put(command=None, violations=[denied(box.path("a"))])
        r = box.pale("allow", run, "--project", "-y")
        ok(r.status == 2 and "no registered command" in r.err, "an ad-hoc run has no sandbox", r)
        run = box.put(command="gone", violations=[denied(box.path("a"))])
        r = box.pale("allow", run, "--project", "-y")
        ok(r.status == 1, "a command that is gone", r)
        run = box.put(violations=[denied(box.path("x/" + "a" * 1021 + "…"))])
        r = box.pale("allow", run, "--project", "-y")
        ok(r.status == 1 and "too long" in r.err, "a name that was cut opens nothing", r)
        box.pale("trust", "--revoke")
        box.write("pale.toml", "")
        if box.sandbox_works():
            r = box.pale("run", "--read", os.path.dirname(PALE), "--", PALE, "allow", run,
                         "--project", "-y")
            ok(r.status == 1 and "from inside of a sandbox" in r.err, "not from inside", r)
        else:
            skip("no sandbox here")


def test_real():
    """Real runs: how they end is what is explained."""
    with History() as box:
        if not box.sandbox_works():
            skip("no sandbox here")
            return
        box.write("pale.toml", "[commands.slow]\ncmd = 'sleep 9'\nsandbox = {timeout = '100ms'}\n")
        r = box.pale("run", "slow")
        eq(r.status, 124, "a run that takes too long")
        r = box.pale("why")
        ok('timeout = "100ms"' in r.out and "--timeout 200ms" in r.out, "is explained", r)
        r = box.pale("allow", "--project", "-y")
        ok(r.status == 0 and "timeout = \"200ms\"" in box.read("pale.toml"), "and allowed more", r)
        r = box.pale("run", "nonesuch")
        has(box.pale("why").out, "nothing was executed", "one that never began")
        box.pale("run", "--preset", "nonesuch", "--", "true")
        r = box.pale("why")
        ok("the command line was wrong" in r.out and "pale.toml" not in r.out, "nor one without such a preset", r)
        box.pale("run", "--write", "nonexist", "--", "true")
        r = box.pale("why")
        ok("what was asked for is refused" in r.out and "ceiling forbids" not in r.out,
           "a path that is not there is not a ceiling", r)
        box.write("pale.toml", "[commands.slow]\ncmd = 'true'\nsandbox = 'off'\n")
        eq(box.pale("run", "slow").status, 125, "one that is not trusted")
        r = box.pale("runs", "--command", "slow", "-n", "1", "-j")
        has(r.out, "refused", "is found by the command's name")


def test_loop():
    """Refused, explained, allowed, passed; and a variation is refused again."""
    with History() as box:
        if not box.sandbox_works():
            skip("no sandbox here")
            return
        box.write("out/keep", "")
        box.write("src/a.c", "mine")
        box.write("pale.toml", "# kept\n[commands.t]\ncmd = 'echo made > out/new; echo $1; cat out/new'\n"
                  "sandbox = {filesystem = 'readonly'} # no limits\n"
                  "[commands.u]\ncmd = 'echo evil > src/a.c'\nsandbox = {filesystem = 'readonly'}\n"
                  "[commands.w]\ncmd = 'echo w > out/w'\n")
        r = box.pale("run", "t")
        ok(r.status != 0 and not box.exists("out/new"), "a write is refused", r)
        r = box.pale("why", "-j")
        causes = r.json()["causes"]
        ok(len(causes) == 1 and causes[0]["path"] == box.path("out/new"), "why names the path", r)
        r = box.pale("allow", "--project", "-y")
        ok(r.status == 0 and '"out"' in box.read("pale.toml") and "# kept" in box.read("pale.toml"),
           "allow writes the rule", r)
        r = box.pale("run", "t")
        ok(r.status == 0 and box.read("out/new") == "made\n", "then it passes", r)
        r = box.pale("run", "--filesystem", "readonly", "w")
        ok(r.status != 0 and not box.exists("out/w"), "refused by an option that is tighter than the file", r)
        before = box.read("pale.toml")
        r = box.pale("allow", "--project", "-y")
        ok(r.status == 1 and "the policy as it is now allows it" in r.err and "hint: pale run w" in r.err
           and box.read("pale.toml") == before, "there is nothing to write, and that is said", r)
        ok(box.pale("run", "w").status == 0 and box.exists("out/w"), "twin: without it, it passes")
        box.write("pale.toml", box.read("pale.toml").replace("out/new", "src/a.c"))
        r = box.pale("run", "t")
        ok(box.read("src/a.c") == "mine", "the command with another target is still refused", r)
        causes = box.pale("why", "-j").json()["causes"]
        ok(causes and causes[0]["path"] == box.path("src/a.c")
           and causes[0]["remedy"]["add"] == '"src/a.c"', "and explained with its path", causes)
        r = box.pale("run", "u")
        ok(r.status != 0 and box.read("src/a.c") == "mine", "another command gained nothing", r)


for test in (test_loop, test_nothing, test_endings, test_causes, test_other_options, test_bytes, test_obeyed, test_allow, test_asking, test_meanwhile,
             test_linked, test_base, test_comments, test_bounds, test_real):
    test()
done()
