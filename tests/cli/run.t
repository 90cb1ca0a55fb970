#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale run as a program: streams, results, exit status. The boundary is tested elsewhere."""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import Box, done, eq, has, ok, skip  # noqa: E402


def refusals():
    """Nothing of this needs a sandbox to start."""
    with Box() as box:
        r = box.pale("run", "pytest")
        eq((r.status, r.out, r.err.splitlines()[0]),
           (125, "", "pale: no command 'pytest'; to run the program: pale run -- pytest"),
           "no such command")
        box.write("pale.toml", '[commands.pytests]\ncmd = "true"\n')
        has(box.pale("run", "pytest").err, "did you mean 'pytests'", "no such command: did you mean")
        for words, part in ((["--network", "nne"], "--network"), (["--memory", "12q"], "--memory"),
                            (["--timeout", "-1s"], "--timeout"), (["--pids", "x"], "--pids"),
                            (["--preset", "nosuch"], "nosuch"), (["--engine", "x"], "--engine"),
                            (["--setenv", "=x"], "--setenv"), (["--port", "0"], "--port"),
                            (["--allow-degraded", "x"], "--allow-degraded"),
                            (["--workspace", "nosuch"], "nosuch"), (["--network"], "needs a value"),
                            (["--timeout"], "option --timeout needs a value"),
                            (["--result", "no/such/file"], "--result"), (["--result", "-"], "--result: - is no name"), (["--stage", ".x"], "--stage"),
                            (["--stage", "x", "--direct"], "--direct"), (["--staged", "--preset", "off"], "staged"),
                            (["--spec", "netwrk = 1"], "spec:1:1"), (["--spec", "network ="], "spec:"),
                            (["--spec", 'workspace = "/else"'], "/else"),
                            (["--spec", 'workspace = "x"'], "absolute"),
                            (["--spec", "", "--preset", "off"], "--preset"),
                            (["--spec-fd", "77"], "--spec-fd 77"), (["--spec-fd", "0"], "--spec-fd"),
                            (["--spec-fd", "x"], "--spec-fd")):
            args = words if words == ["--network"] else [*words, "--", "touch", "ran"]
            r = box.pale("run", *args)
            ok(r.status == 125 and part in r.err and r.err.startswith("pale: ")
               and not box.exists("ran"), f"refused with 125: {' '.join(words)}", r)
            r = box.pale("run", "--json", *args)
            doc = r.json()
            ok(r.status == 125 and r.err == "" and doc and doc["outcome"] in ("error", "refused")
               and part in doc["error"]["message"] and doc["exit_code"] is None,
               f"--json says so: {' '.join(words)}", r)
        box.write_user('[ceiling]\nnetwork = "none"\n')
        doc = box.pale("run", "-j", "--network", "unrestricted", "--", "true").json()
        ok(doc and doc["outcome"] == "refused" and doc["error"]["code"] == "policy",
           "-j: a ceiling refuses", doc)


def streams(box):
    r = box.pale("run", "--", "sh", "-c", "echo hi")
    eq((r.status, r.out, r.err), (0, "hi\n", ""), "a run that worked adds nothing")
    r = box.pale("run", "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    eq((r.status, sorted(r.err.split())), (3, ["err", "out"]),
       "--json: the command's output goes to standard error")
    doc = r.json()
    ok(doc and r.out.count("\n") == 1 and (doc["outcome"], doc["exit_code"], doc["signal"])
       == ("failed", 3, None), "--json: one line, the result", r)
    r = box.pale("run", "--result", "res.json", "--", "sh", "-c", "echo out; echo err >&2")
    eq((r.status, r.out, r.err), (0, "out\n", "err\n"), "--result leaves the streams alone")
    doc = json.loads(box.read("res.json"))
    eq((doc["outcome"], doc["command"]), ("ok", None), "--result: the same JSON")
    r = box.pale("run", "--hide", "absent", "--read", "/absent", "--hide", "res.json", "--", "true")
    eq((r.status, r.err.count("there is nothing of that name"), "res.json" in r.err), (0, 2, False),
       "paths that are not there are said, others not")
    ok(f"looked for as {box.path('absent')}" in r.err, "and where they were looked for", r)
    r = box.pale("run", "--result", box.path("res.json"), "nosuch")
    eq(json.loads(box.read("res.json"))["outcome"], "error", "--result: also when nothing ran")
    has(r.err, "no command", "and the error is printed")
    eq(sorted(os.listdir(box.ws)), ["pale.toml", "res.json"], "no other file is left")
    r = box.pale("run", "--timeout", "200ms", "--", "sh", "-c", "echo early; sleep 30")
    eq((r.status, r.out, r.err), (124, "early\n", "pale: timed out after 200ms\n"), "a timeout")
    r = box.pale("run", "-j", "--timeout", "200ms", "--", "sleep", "30")
    ok(r.status == 124 and r.json()["outcome"] == "timeout" and r.err == "", "-j: a timeout", r)


def statuses(box):
    for status in (0, 1, 42, 124, 125, 126, 127, 255):
        r = box.pale("run", "-j", "--", "sh", "-c", f"exit {status}")
        doc = r.json()
        ok(r.status == status and doc["exit_code"] == status
           and doc["outcome"] == ("failed" if status else "ok"), f"exit status {status}", r)
    r = box.pale("run", "-j", "--", "sh", "-c", "kill -TERM $$")
    ok(r.status == 143 and r.json()["outcome"] == "signaled" and r.json()["signal"] == 15,
       "a signal is 128+N", r)
    r = box.pale("run", "--", "pale-no-such-program")
    ok(r.status == 127 and r.err.startswith("pale: "), "127: not found", r)
    ok("sh -c" not in r.err, "with no word about shells", r)
    r = box.pale("run", "--", "ls -l")
    ok(r.status == 127 and "hint: a line for a shell is run by one: sh -c LINE" in r.err, "who quoted a line is told how to run it", r)
    box.write("data", "x")
    r = box.pale("run", "--", "./data")
    ok(r.status == 126 and r.err.startswith("pale: "), "126: not executable", r)
    os.unlink(box.path("data"))


def arguments(box):
    r = box.pale("run", "argv", "a b", "--json", "--", "$(id)")
    eq(r.out, "x\na b\n--json\n--\n$(id)\n", "a list: arguments follow, options are the command's")
    r = box.pale("run", "line", "a b", "; echo no", "$(id)")
    eq(r.out, "x\na b\n; echo no\n$(id)\n", "a shell line: arguments are never text")
    r = box.pale("run", "places", "1", "2")
    eq(r.out, "2 1\n", "a shell line that places its arguments")
    box.write("words", "one two\n")
    eq(box.pale("run", "awk", "words").out, "one\n", "a $1 of awk's does not place them")
    os.unlink(box.path("words"))
    for name in ("comment", "semicolon", "background"):
        r = box.pale("run", name, "; touch pwned")
        ok(r.status == 125 and '"$@"' in r.err and not box.exists("ran")
           and not box.exists("pwned"), f"{name}: an open end takes none, and says what to write", r)
        r = box.pale("run", name)
        ok(r.status == 0 and box.exists("ran"), f"{name}: twin: without arguments it runs", r)
        os.unlink(box.path("ran"))
    r = box.pale("run", "-j", "argv")
    eq(r.json()["command"], "argv", "-j names the command")
    r = box.pale("run", "--setenv", "A=b c", "--setenv", "B=", "--", "sh", "-c", 'echo "$A|$B|"')
    eq(r.out, "b c||\n", "--setenv")
    os.makedirs(box.path("sub"), exist_ok=True)
    r = box.pale("run", "--", "pwd", cwd=box.path("sub"))
    eq(r.out, box.path("sub") + "\n", "the command starts where pale was started")
    os.rmdir(box.path("sub"))


def explains(box):
    r = box.pale("run", "--explain", "--", "touch", "ran")
    ok(r.status == 0 and "network" in r.out and not box.exists("ran"), "--explain runs nothing", r)
    doc = box.pale("run", "--explain", "--json", "--", "touch", "ran").json()
    ok(isinstance(doc, dict) and not box.exists("ran"), "--explain --json")


refusals()
with Box() as the_box:
    the_box.write("pale.toml", '[commands.argv]\nargv = ["printf", "%s\\\\n", "x"]\n'
                               '[commands.line]\ncmd = "printf \'%s\\\\n\' x"\n'
                               '[commands.places]\ncmd = \'set -- "$@"; echo $2 $1\'\n'
                               '[commands.awk]\ncmd = "awk \'{print $1}\'"\n'
                               '[commands.comment]\ncmd = "touch ran # done"\n'
                               '[commands.semicolon]\ncmd = "touch ran;"\n'
                               '[commands.background]\ncmd = "touch ran; true &"\n')
    explains(the_box)
    if the_box.sandbox_works():
        streams(the_box)
        statuses(the_box)
        arguments(the_box)
    else:
        skip("no sandbox can be started here")
done()
