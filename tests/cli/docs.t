#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables, help and manual say the same: no verb, option or key more or less."""
import glob
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import Box, done, eq, ok  # noqa: E402

MAN = "man"


def page(name):
    """The source of a page without its markup, or None."""
    try:
        with open(os.path.join(MAN, name + ".scd"), encoding="utf-8") as file:
            return re.sub(r"\\(.)", r"\1", file.read())
    except FileNotFoundError:
        return None


def defined(text):
    """The options that a page defines: lines that begin with one."""
    found = set()
    for line in text.splitlines():
        if re.match(r"\*--?[a-z]", line):
            found.update(re.findall(r"\*--([a-z-]+)\*", line))
    return found


def check_verbs(verbs):
    families = {}
    for verb in verbs:
        families.setdefault(verb["verb"].split()[0], []).append(verb)
    main = page("pale.1") or ""
    every = {o["name"] for v in verbs for o in v["options"]} | {"version"}
    for family, members in families.items():
        text = page(f"pale-{family}.1")
        if not ok(text is not None, f"pale-{family}.1 exists"):
            continue
        ok(f"*pale-{family}*(1)" in main, f"pale.1 names pale-{family}.1")
        options = {o["name"] for v in members for o in v["options"]}
        eq(sorted(defined(text)), sorted(options), f"pale-{family}.1 defines exactly its options")
        for verb in members:
            ok(f"*pale {verb['verb']}*" in main, f"pale.1 names {verb['verb']}")
            name = verb["verb"].split()[-1]
            ok(re.search(rf"\*(pale {verb['verb']}|{name})\*", text),
               f"pale-{family}.1 names {verb['verb']}")
            for option in verb["options"]:
                letter, metavar = option["letter"], option["metavar"]
                want = f"*-{letter}*, *--{option['name']}*" if letter else f"*--{option['name']}*"
                want += f" _{metavar}_" if metavar else ""
                ok(f"\n{want}\n" in text, f"pale-{family}.1: {want}")
                for choice in option["choices"]:
                    if option["name"] not in ("sandbox", "allow-degraded"):
                        ok(f"*{choice}*" in text, f"pale-{family}.1: --{option['name']} {choice}")
    for name in sorted(os.listdir(MAN)):
        used = set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)", page(name[:-len(".scd")])))
        eq(sorted(used - every), [], f"{name} names no option that does not exist")


def check_keys(keys):
    text = page("pale.toml.5") or ""
    sections = re.split(r"^#+ ", text, flags=re.M)

    def section(title):
        return "\n".join(s for s in sections if s.startswith(title))

    for key in keys["spec"]:
        line = re.search(rf"^\*{key['key']}\* = (.*)$", section("DIMENSIONS"), re.M)
        ok(line, f"pale.toml.5 defines the dimension {key['key']}")
        if line and key["choices"]:
            eq(re.findall(r'"(\w+)"', line[1]), key["choices"],
               f"pale.toml.5 names the values of {key['key']} in order")
    for key in keys["keys"]:
        table, *rest = key["key"].split(".")
        title = {"presets": "[presets.NAME]", "commands": "[commands.NAME]"}.get(table, f"[{table}")
        rest = rest[1:] if rest and rest[0] == "*" else rest
        if not rest:
            ok(section(title), f"pale.toml.5 has the section {title}")
            continue
        ok(re.search(rf"^\*{re.escape('.'.join(rest))}\* = ", section(title), re.M),
           f"pale.toml.5 defines {key['key']}")
        for choice in key["choices"]:
            if "degraded" not in key["key"] and table != "ceiling":
                ok(f'"{choice}"' in section(title), f"pale.toml.5: {key['key']} {choice}")
    known = {k["key"] for k in keys["spec"]} | {k["key"].replace("*.", "").split(".", 1)[-1]
                                                 for k in keys["keys"]}
    eq(sorted(set(re.findall(r"^\*([a-z_.]+)\* = ", text, re.M)) - known), [],
       "pale.toml.5 defines no key that does not exist")


def check_protected(box):
    """Every name that a run in an empty workspace watches is in the manual, and no other."""
    plan = box.pale("run", "--explain", "-j", "--", "true").json()
    watched = {w["name"] for w in plan["watched"]} - {".git", "HEAD", ".hg"}
    text = page("pale.toml.5") or ""
    ok("_.hg_ itself where there\nis none" in text, "pale.toml.5 names what must not appear")
    rows = re.findall(r"^- (?:policy|shells|editors|agents|git hooks): (.*?)[;.]$", text, re.M | re.S)
    ok(len(watched) > 50, "a run watches names")
    eq(sorted(re.findall(r"_([^\s,]+)_", " ".join(rows))), sorted(watched),
       "pale.toml.5 lists exactly the protected names")


# Members of objects whose members are named elsewhere: dimensions, the result of a run.
NAMED_ELSEWHERE = ("spec", "origins", "dimensions", "enforced", "usage", "grade", "data", "history", "result",
                   "user_namespaces")


def members(value):
    if isinstance(value, list):
        for item in value:
            yield from members(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            if name not in NAMED_ELSEWHERE:
                yield from members(item)


def check_json(box):
    """What -j prints is in the manual of the verb, member by member."""
    box.write("a", "1\n")
    box.pale("commands", "register", "t", "echo x >b; touch /etc/x")
    started = box.pale("run", "--staged", "--", "sh", "-c", "echo 2 >>a").status == 0
    if started:
        box.pale("run", "t")
        box.pale("session", "start", "s")
    for line in ("status", "stages", "diff", "doctor", "config show", "config check", "config keys", "commands",
                 "commands show t", "sandbox", "sandbox inspect t", "sandbox profile t", "sandbox tighten --all",
                 "run --explain t", "run t", "check", "why", "events", "runs", "session", "session network s",
                 "file read a", "file glob *", "file grep 1", "trust --show", "apply", "undo --list", "version",
                 "help"):
        words = line.split()
        text = page(f"pale-{words[0]}.1") or ""
        words.insert(1 if words[0] == "run" else len(words), "-j")  # what follows a name is the command's
        found = set(members(box.pale(*words).json()))
        ok(found or not started, f"{line} -j has members")
        eq(sorted(m for m in found if not re.search(rf"(?<!\w){m}(?!\w)", text)), [],
           f"{line} -j: the manual names each of them")
    if started:
        box.pale("session", "stop", "s")


def check_library():
    """include/pale.h and pale.3: the same functions, with the same arguments."""
    with open("include/pale.h", encoding="utf-8") as file:
        header = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    squeeze = lambda text: re.sub(r"\s+", " ", text).strip()
    declared = {m[2]: squeeze(m[1] + m[2] + m[3])
                for m in re.finditer(r"^PALE_API ([^;(]*?)\b(pale_\w+)(\([^;]*\));", header, re.M)}
    text = page("pale.3") or ""
    lines = {m[2]: squeeze(re.sub(r"(?<!\w)_(\w+)_(?!\w)", r"\1", m[1] + m[2] + m[3]))
             for m in re.finditer(r"^\*([^\n]*?)\b(pale_\w+)\*(\([^\n]*\))$", text, re.M)}
    ok(len(declared) > 35, "the header declares functions")
    eq(sorted(lines), sorted(declared), "pale.3 explains exactly the functions of pale.h")
    for name in sorted(set(lines) & set(declared)):
        eq(lines[name], declared[name], f"pale.3: {name} has the same arguments")
    constants = set(re.findall(r"\bPALE_[A-Z_]+\b", header)) - {"PALE_API", "PALE_H"}
    constants = {c for c in constants if not c.startswith("PALE_VERSION")}
    eq(sorted(set(re.findall(r"\bPALE_[A-Z_]+\b", text)) ^ constants), [],
       "pale.3 names every constant of pale.h, and no other")


def check_architecture():
    """docs/ARCHITECTURE.md: a row for each layer; files that exist, and hold what is said to be there."""
    with open("docs/ARCHITECTURE.md", encoding="utf-8") as file:
        text = file.read()
    layers = text.split("\n## Layers\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| \[?(\w+)(?:\]\(\S+\))? \|", layers, re.M)
    eq(sorted(set(rows) - {"layer"}), sorted(os.listdir("src")), "ARCHITECTURE.md has every layer")
    missing, looked = [], 0
    for line in text.split("\n## Where is X decided\n")[1].splitlines():
        cells = line.split(" | ")
        if len(cells) < 3:
            continue
        folder, held = "", ""
        for path in re.findall(r"`([\w./*-]+\.[ch])`", cells[1]):
            folder = os.path.dirname(path) or folder
            found = glob.glob(os.path.join(folder, os.path.basename(path)))
            missing += [] if found else [path]
            for name in found:
                with open(name, encoding="utf-8") as file:
                    held += file.read()
        names = re.findall(r"`(\w+)(?:\(\)|\[\])`", cells[2]) if held else []
        looked += len(names)
        missing += [f"{name} in {cells[1]}" for name in names if not re.search(rf"\b{name}\b", held)]
    ok(looked > 150, "its table names functions")
    eq(missing, [], "each is in the file that is named")


def check_pages():
    for name in sorted(os.listdir(MAN)):
        with open(os.path.join(MAN, name), "rb") as file:
            r = subprocess.run(["scdoc"], stdin=file, capture_output=True, check=False)
        eq((r.returncode, r.stderr), (0, b""), f"{name} compiles")


with Box() as box:
    check_verbs(box.pale("help", "-j").json())
    check_keys(box.pale("config", "keys", "-j").json())
    check_protected(box)
    check_json(box)
check_library()
check_architecture()
check_pages()
done()
