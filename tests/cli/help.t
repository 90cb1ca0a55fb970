#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dispatch, help on every level, and the hand-over from pale to pale-verbs."""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import PALE, VERBS, Box, done, eq, has, ok  # noqa: E402


def wants_loader(path):
    """Has the ELF program a PT_INTERP header?"""
    with open(path, "rb") as file:
        head = file.read(4096)
    at, size, count = (int.from_bytes(head[a:b], "little") for a, b in ((32, 40), (54, 56), (56, 58)))
    return 3 in [int.from_bytes(head[at + i * size:at + i * size + 4], "little") for i in range(count)]


def static_programs():
    for path in (PALE, VERBS):
        ok(not wants_loader(path), f"{os.path.basename(path)} is static")
    ok(wants_loader("/bin/true"), "twin: a program with libraries is not")


def top_level(box):
    r = box.pale()
    eq(r.status, 2, "pale alone exits with 2")
    eq(r.out, "", "pale alone prints nothing on standard output")
    has(r.err, "Usage: pale VERB", "pale alone prints a short help")
    for words in (["help"], ["--help"], ["-h"]):
        r = box.pale(*words)
        ok(r.status == 0 and "\nPolicy:\n" in r.out, f"pale {words[0]} prints the help", r)
    eq([line for line in r.out.splitlines() if len(line) > 80], [], "it fits 80 columns")
    ok("Sessions:" in r.out and "session start" in r.out, "sessions are a group of their own", r.out)
    r = box.pale("version")
    ok(r.status == 0 and r.out.startswith("pale ") and r.out.count("\n") == 1,
       "version is one line", r)
    eq(box.pale("--version").out, r.out, "--version is the same")
    eq(box.pale("version", "-j").json(), {"version": r.out.split()[1]}, "version -j")


def unknown(box):
    r = box.pale("commandz")
    ok(r.status == 2 and "unknown verb 'commandz'" in r.err and "did you mean 'commands'" in r.err,
       "an unknown verb: did you mean", r)
    r = box.pale("commands", "registerr", "x", "y")
    ok(r.status == 2 and "did you mean 'commands register'" in r.err,
       "an unknown sub-verb: did you mean", r)
    r = box.pale("pytest")
    ok(r.status == 2 and "pale run -- pytest" in r.err, "a program's name: how to run it", r)
    r = box.pale("help", "nosuch")
    ok(r.status == 2 and "unknown verb" in r.err, "help for an unknown verb", r)
    r = box.pale("--bogus")
    ok(r.status == 2 and "options come after the verb" in r.err, "an option before the verb", r)
    r = box.pale("help", "run", "x")
    ok(r.status == 2 and "unknown verb 'run x'" in r.err and "pale help run" in r.err,
       "help for a verb of a verb that has none", r)
    r = box.pale("file")
    ok(r.status == 125 and "file: a verb is missing" in r.err and "pale help file lists" in r.err,
       "a family whose verbs all need something", r)
    r = box.pale("file", "--help")
    ok(r.status == 0 and "alone is" not in r.out, "its help does not say what it is alone", r)
    has(box.pale("commands", "--help").out, "`pale commands` alone is `pale commands list`", "twin: one that is")
    r = box.pale("version", "--frobnicate")
    ok(r.status == 2 and "hint: --help lists the options" in r.err, "an option like no other: where they are", r)
    r = box.pale("version", "--jsn")
    ok(r.status == 2 and "did you mean --json" in r.err, "an unknown option: did you mean", r)
    r = box.pale("version", "extra")
    ok(r.status == 2 and "unexpected operand 'extra'" in r.err, "an operand too many", r)
    r = box.pale("commands", "show")
    ok(r.status == 2 and "usage: pale commands show" in r.err, "an operand too few", r)
    r = box.pale("\x1b[31mred")
    ok("\x1b" not in r.err and "\\x1b[31mred" in r.err, "escape sequences are made visible", r)
    r = box.pale("run", "--nosuch", "--", "true")
    ok(r.status == 125 and r.out == "", "run: a wrong command line exits with 125", r)
    r = box.pale("run")
    ok(r.status == 125 and "nothing to run" in r.err, "run: nothing to run", r)


def every_level(box):
    table = box.pale("help", "-j").json()
    ok(table and len(table) >= 15, "help -j is the table of verbs")
    for verb in table or []:
        words = verb["verb"].split()
        r = box.pale(*words, "--help")
        good = r.status == 0 and r.out.startswith(f"Usage: pale {verb['verb']} [OPTIONS]")
        for option in verb["options"]:
            good = good and f"--{option['name']}" in r.out
        ok(good and r.err == "", f"{verb['verb']} --help names every option", r)
        eq(box.pale(*words, "-h").out, r.out, f"{verb['verb']} -h is the same")
        eq(box.pale("help", *words).out, r.out, f"help {verb['verb']} is the same")
        wide = [line for line in r.out.splitlines() if len(line) > 80]
        eq(wide, [], f"{verb['verb']} --help fits 80 columns")
    for family in ("commands", "stages", "sandbox", "config"):
        r = box.pale(family, "--help")
        ok(r.status == 0 and all(v["verb"] in r.out for v in table
                                 if v["verb"].startswith(family + " ")),
           f"{family} --help lists its verbs", r)
        eq([line for line in r.out.splitlines() if len(line) > 80], [], "it fits 80 columns")
        eq(box.pale("help", family).out, r.out, f"help {family} is the same")


def server_on_a_terminal(box):
    """Who types `pale mcp` is told what it waits for; its output stays JSON alone."""
    keys, terminal = os.openpty()
    os.write(keys, b"\x04")
    for stdin, said in ((terminal, True), (subprocess.DEVNULL, False)):
        r = subprocess.run([PALE, "mcp"], cwd=box.ws, env=box.env, stdin=stdin, capture_output=True, timeout=60,
                           check=False)
        ok(r.returncode == 0 and r.stdout == b"" and (b"pale mcp install" in r.stderr) == said,
           f"pale mcp {'on a terminal says' if said else 'elsewhere does not say'} what it is", r)
    os.close(keys)
    os.close(terminal)


def hand_over(box):
    """pale finds its other half beside itself or in libexec, and nowhere else."""
    bin_dir = os.path.join(box.top, "inst", "bin")
    libexec = os.path.join(box.top, "inst", "libexec", "pale")
    os.makedirs(bin_dir)
    os.makedirs(libexec)
    pale = shutil.copy(PALE, bin_dir)
    r = box.pale("version", program=pale)
    ok(r.status == 125 and "pale-verbs" in r.err, "without pale-verbs: a clear error, 125", r)
    r = box.pale("run", "--help", program=pale)
    eq(r.status, 0, "run --help needs no pale-verbs")
    decoy = os.path.join(box.top, "decoy")
    os.mkdir(decoy)
    with open(os.path.join(decoy, "pale-verbs"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho decoy\n")
    os.chmod(os.path.join(decoy, "pale-verbs"), 0o755)
    r = box.pale("version", program=pale, env=dict(box.env, PATH=decoy), cwd=decoy)
    ok(r.status == 125 and "decoy" not in r.out, "pale-verbs is not looked for in PATH or here", r)
    shutil.copy(VERBS, libexec)
    r = box.pale("version", program=pale)
    ok(r.status == 0 and r.out.startswith("pale "), "pale-verbs is found in ../libexec/pale", r)
    os.symlink(pale, os.path.join(decoy, "pale"))
    r = box.pale("version", program=os.path.join(decoy, "pale"))
    ok(r.out.startswith("pale "), "a link to pale finds the real one's other half", r)
    r = box.pale("run", "--", "true", program=VERBS)
    ok(r.status == 2 and "pale itself" in r.err, "pale-verbs itself does not run commands", r)


with Box() as the_box:
    static_programs()
    top_level(the_box)
    unknown(the_box)
    every_level(the_box)
    server_on_a_terminal(the_box)
    hand_over(the_box)
done()
