#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Completion scripts: their syntax, and what bash really offers."""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import PALE, Box, done, eq, has, ok, skip  # noqa: E402

ASK = r'''
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_pale
printf '%s\n' "${COMPREPLY[@]}"
'''


def offers(box, script, *words):
    r = subprocess.run(["bash", "-c", ASK, "bash", script, "pale", *words], cwd=box.ws,
                       env=dict(box.env, PATH=os.path.dirname(PALE) + ":" + os.environ["PATH"]),
                       capture_output=True, text=True, check=False)
    return r.stdout.split()


def in_bash(box):
    script = box.write("../pale.bash", box.pale("completions", "bash").out)
    box.write("pale.toml", '[commands.tidy]\ncmd = "true"\n[commands.test]\ncmd = "true"\n')
    eq(offers(box, script, "co"), ["commands", "config", "completions"], "verbs")
    eq(offers(box, script, "commands", "re"), ["register"], "sub-verbs")
    eq(offers(box, script, "run", "t"), ["test", "tidy"], "names of commands")
    eq(offers(box, script, "check", "t"), ["test", "tidy"], "names to check")
    eq(offers(box, script, "sandbox", "suggest", "ti"), ["tidy"], "names to learn about")
    eq(offers(box, script, "run", "--net"), ["--network", "--net-sent", "--net-received"],
       "options")
    eq(offers(box, script, "run", "--network", ""),
       ["none", "localhost", "allowed_hosts", "unrestricted"], "values of a dimension")
    eq(offers(box, script, "run", "--preset", "re"), ["readonly"], "presets")
    eq(offers(box, script, "mcp", "install", "--client", "c"), ["claude-code", "codex", "cursor"],
       "clients")
    eq(offers(box, script, "commands", "unregister", "ti"), ["tidy"], "names to unregister")
    eq(offers(box, script, "run", "--network", "=", "no"), ["none"], "a value behind =")
    eq(offers(box, script, "run", "--network", "="), ["none", "localhost", "allowed_hosts", "unrestricted"],
       "or nothing behind it")
    eq(offers(box, script, "run", "--network", "=", "none", "ti"), ["tidy"], "a name behind such a value")
    eq(offers(box, script, "run", "--network", "none", "--staged", "ti"), ["tidy"], "and behind others")
    eq(offers(box, script, "run", "tidy", "pale.t"), ["pale.toml"], "files behind a name")
    eq(offers(box, script, "file", "read", "pale.t"), ["pale.toml"], "files to read")
    ok("true" in offers(box, script, "exec", "tru"), "programs for a session")
    eq(offers(box, script, "sandbox", "inspect", "tes"), ["test", "test"], "a command or a preset")
    eq(offers(box, script, "completions", ""), ["bash", "zsh", "fish"], "shells")
    eq(offers(box, script, "stages", "rm", ""), [], "no stage, no name")
    box.pale("run", "--stage", "spare", "--", "touch", "made")
    eq(offers(box, script, "stages", "rm", "sp"), ["spare"], "names of stages")
    eq(offers(box, script, "diff", "--stage", ""), ["spare"], "the same as a value")
    ids = [r["run"] for r in box.pale("runs", "-j").json()]
    eq(offers(box, script, "show", ids[0][:3]), ids, "ids of runs")
    eq(offers(box, script, "events", "--run", ids[0][:3]), ids, "the same as a value")
    eq(offers(box, script, "commands", "--na"), ["--names"], "options of a default verb")
    eq(offers(box, script, "run", "--result", "pale.t"), ["pale.toml"], "files")
    ok("true" in offers(box, script, "run", "--", "tru"), "programs after --")
    box.write("pale.toml", '[commands."$(touch owned)"]\ncmd = "true"\n')
    offers(box, script, "run", "")
    ok(not box.exists("owned"), "a hostile name is not expanded")


with Box() as the_box:
    verbs = the_box.pale("help", "-j").json()
    for shell in ("bash", "zsh", "fish"):
        r = the_box.pale("completions", shell)
        ok(r.status == 0 and r.out and not r.err, f"{shell}: there is a script", r)
        missing = [o["name"] for v in verbs for o in v["options"] if o["name"] not in r.out]
        eq(missing, [], f"{shell}: every option is in it")
        for verb in verbs:
            has(r.out, verb["verb"].split()[-1], f"{shell}: {verb['verb']} is in it")
        if shutil.which(shell):
            syntax = subprocess.run([shell, "-n"], input=r.out, text=True, capture_output=True,
                                    check=False)
            eq((syntax.returncode, syntax.stderr), (0, ""), f"{shell}: it parses")
        else:
            print(f"# {shell} is not installed: its script is not parsed")
    if shutil.which("bash"):
        in_bash(the_box)
    else:
        skip("bash is not installed")
    r = the_box.pale("completions", "tcsh")
    ok(r.status == 2 and "bash, zsh or fish" in r.err, "an unknown shell", r)
done()
