#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale mcp install: the entry of each client, and everything else in its files left alone."""
import json
import os
import shutil
import stat
import sys
import tomllib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import PALE, Box, done, eq, has, ok  # noqa: E402

REAL = os.path.realpath(PALE)

# client -> files of a project and of a user, the list, whether an entry has a type,
# and the rule of --takeover: its files, its keys, its value.
CLIENTS = {
    "claude-code": (".mcp.json", ".claude.json", "mcpServers", True,
                    (".claude/settings.json", ".claude/settings.json", ("permissions", "deny"), ["Bash"])),
    "codex": (".codex/config.toml", ".codex/config.toml", "mcp_servers", False,
              (".codex/config.toml", ".codex/config.toml", ("features", "shell_tool"), False)),
    "gemini": (".gemini/settings.json", ".gemini/settings.json", "mcpServers", False,
               (".gemini/settings.json", ".gemini/settings.json", ("tools", "exclude"), ["run_shell_command"])),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", "mcpServers", False, None),
    "vscode": (".vscode/mcp.json", ".config/Code/User/mcp.json", "servers", True, None),
}

GOLDEN_JSON = """{
  "mcpServers": {
    "pale": {
      "type": "stdio",
      "command": "PALE",
      "args": [
        "mcp",
        "--workspace",
        "WS",
        "--staged"
      ]
    }
  }
}
{
  "permissions": {
    "deny": [
      "Bash"
    ]
  }
}
"""

GOLDEN_TOML = """[mcp_servers.pale]
command = "PALE"
args = ["mcp", "--workspace", "WS", "--staged"]

[features]
shell_tool = false
"""


def parse(path):
    with open(path, "rb") as file:
        return tomllib.load(file) if path.endswith(".toml") else json.load(file)


def entry(typed, *args):
    return ({"type": "stdio"} if typed else {}) | {"command": REAL, "args": ["mcp", *args]}


def tree(*dirs):
    """Every file below, with its bytes."""
    found = {}
    for top in dirs:
        for folder, _, files in os.walk(top):
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


def install(box, client, *args, **kw):
    return box.pale("mcp", "install", "--client", client, *args, **kw)


def each_client(client):
    project, user, key, typed, rule = CLIENTS[client]
    with Box() as box:
        r = install(box, client, "--print")
        ok(r.status == 0 and tree(box.ws, box.home) == {}, f"{client}: --print writes nothing", r)
        has(r.err, os.path.join(box.ws, project), f"{client}: and names the file")
        printed = r.out
        r = install(box, client)
        path = os.path.join(box.ws, project)
        ok(r.status == 0 and f"{path}: {key}.pale added" in r.out, f"{client}: installed", r)
        eq(list(tree(box.ws, box.home)), [path], f"{client}: one file")
        eq(parse(path), {key: {"pale": entry(typed, "--workspace", box.ws)}}, f"{client}: the entry")
        eq(box.read(project), printed, f"{client}: what was printed")
        before = tree(box.ws)
        when = os.stat(path).st_mtime_ns
        r = install(box, client)
        ok(r.status == 0 and "is there already" in r.out, f"{client}: again: it is there", r)
        ok(tree(box.ws) == before and os.stat(path).st_mtime_ns == when, f"{client}: and untouched")
        r = install(box, client, "--staged")
        ok(r.status == 1 and "differs" in r.err and "--force" in r.err and '"--staged"' in r.err,
           f"{client}: another entry of that name stays, the text is shown", r)
        eq(tree(box.ws), before, f"{client}: untouched")
        eq(install(box, client, "--staged", "--force").status, 0, f"{client}: unless by force")
        eq(parse(path)[key]["pale"], entry(typed, "--workspace", box.ws, "--staged"), f"{client}: replaced")
        r = install(box, client, "--user")
        path = os.path.join(box.home, user)
        eq((r.status, parse(path)), (0, {key: {"pale": entry(typed)}}), f"{client}: --user")
        eq(stat.S_IMODE(os.stat(path).st_mode), 0o600, f"{client}: for the user alone")
        before = tree(box.ws, box.home)
        r = install(box, client, "--user", "--project")
        eq((r.status, tree(box.ws, box.home) == before), (2, True), f"{client}: not both")
    takeover(client, rule, key)


def takeover(client, rule, key):
    with Box() as box:
        if not rule:
            r = install(box, client, "--takeover")
            ok(r.status == 1 and "documents no setting" in r.err and tree(box.ws, box.home) == {},
               f"{client}: --takeover is refused, and nothing written", r)
            return
        project, user, path, value = rule
        for where, args in ((os.path.join(box.ws, project), ()), (os.path.join(box.home, user), ("--user",))):
            r = install(box, client, "--takeover", *args)
            ok(r.status == 0 and "now says" in r.out, f"{client}: --takeover", r)
            eq(parse(where)[path[0]], {path[1]: value}, f"{client}: the rule in {os.path.basename(where)}")
            before = tree(box.ws, box.home)
            r = install(box, client, "--takeover", *args)
            ok(r.status == 0 and "says already" in r.out, f"{client}: again: it is there", r)
            eq(tree(box.ws, box.home), before, f"{client}: untouched")
        names = {f for f in tree(box.ws)}
        ok(any(key in (parse(f) or {}) for f in names), f"{client}: and the entry")


def golden():
    with Box() as box:
        for client, want in (("claude-code", GOLDEN_JSON), ("codex", GOLDEN_TOML)):
            r = install(box, client, "--print", "--staged", "--takeover")
            eq(r.out, want.replace("PALE", REAL).replace("WS", box.ws), f"{client}: the text itself")


JSON_FILES = {
    "two": '{\n  "mcpServers": {\n    "x": {"command":"x" }\n  },"k":1.0\n}\n',
    "line": '{"mcpServers":{"x":{"command":"x","args":[]}},"o":[1,2 , 3]}',
    "tabs": '{\r\n\t"z":\t0,\r\n\t"mcpServers": {\r\n\t\t"x": {}\r\n\t}\r\n}\r\n',
    "none": '{\n    "numStartups": 12,\n    "e": "\\u00e9 \\/ é"\n}',
    "empty": '{ }\n',
}


def others_stay():
    for name, text in JSON_FILES.items():
        with Box() as box:
            path = box.write(".mcp.json", text, 0o640)
            r = install(box, "claude-code")
            new = box.read(".mcp.json")
            eq(r.status, 0, f"{name}: added")
            want = json.loads(text)
            want.setdefault("mcpServers", {})["pale"] = entry(True, "--workspace", box.ws)
            eq(json.loads(new), want, f"{name}: one entry more, nothing else")
            at = len(os.path.commonprefix((text, new)))
            ok(new.endswith(text[at:]), f"{name}: every byte that was there is, something between", new)
            eq(stat.S_IMODE(os.stat(path).st_mode), 0o640, f"{name}: the mode stays")
            eq(os.listdir(box.ws), [".mcp.json"], f"{name}: no file is left over")
    toml = '# mine\nmodel = "x"   # keep\n\n[mcp_servers.other]\ncommand = "o"\n# end\n'
    with Box() as box:
        box.write(".codex/config.toml", toml)
        eq(install(box, "codex", "--takeover").status, 0, "toml: added")
        new = box.read(".codex/config.toml")
        ok(new.startswith(toml), "toml: all of it stays as it was", new)
        eq(sorted(tomllib.loads(new)["mcp_servers"]), ["other", "pale"], "toml: one entry more")
        box.write(".codex/config.toml", "[features]\nshell_tool = true # mine\nother = 1\n")
        eq(install(box, "codex", "--takeover").status, 0, "toml: a rule that says otherwise")
        ok(box.read(".codex/config.toml").startswith("[features]\nshell_tool = false # mine\nother = 1\n"),
           "toml: says it now", box.read(".codex/config.toml"))


def comments():
    text = '{\n\t// what they are for\n\t"servers": {\n\t\t"x": {}, // last\n\t},\n}\n'
    with Box() as box:
        box.write(".vscode/mcp.json", text)
        eq(install(box, "vscode").status, 0, "comments: VS Code has them")
        new = box.read(".vscode/mcp.json")
        ok('\t\t"x": {}, // last\n\t\t"pale": {\n\t\t\t"type"' in new and new.endswith("\t\t}\n\t},\n}\n"),
           "comments: they stay where they are", new)
        ok(install(box, "vscode").out.endswith("is there already\n"), "comments: and it is there")
        box.write(".mcp.json", text)
        r = install(box, "claude-code")
        ok(r.status == 1 and "line 2" in r.err and '"command"' in r.err, "comments: refused where JSON has none", r)
        eq(box.read(".mcp.json"), text, "comments: untouched")


def broken():
    for client, name, text in (("claude-code", ".mcp.json", "{ nope"), ("gemini", ".gemini/settings.json", "[]"),
                               ("codex", ".codex/config.toml", "a = = 1\n"),
                               ("cursor", ".cursor/mcp.json", '{"mcpServers": 1}'),
                               ("claude-code", ".mcp.json", '{"a": 1, "a": 2}')):
        with Box() as box:
            box.write(name, text)
            r = install(box, client)
            ok(r.status == 1 and os.path.join(box.ws, name) in r.err, f"{text!r}: refused", r)
            has(r.err, REAL, f"{text!r}: with the text to put in")
            eq(box.read(name), text, f"{text!r}: untouched")
    with Box() as box:
        box.write(".mcp.json", "{}")
        box.write(".claude/settings.json", "{ nope")
        eq(install(box, "claude-code", "--takeover").status, 1, "the second file is broken: refused")
        eq(box.read(".mcp.json"), "{}", "and the first is not written either")


def links():
    with Box() as box:
        target = box.write("../elsewhere.json", "{}")
        os.symlink(target, os.path.join(box.ws, ".mcp.json"))
        r = install(box, "claude-code")
        ok(r.status == 1 and "symbolic link" in r.err, "a link of the workspace is not followed", r)
        os.mkdir(os.path.join(box.top, "dir"))
        os.symlink(os.path.join(box.top, "dir"), os.path.join(box.ws, ".cursor"))
        r = install(box, "cursor")
        ok(r.status == 1 and os.listdir(os.path.join(box.top, "dir")) == [], "nor a folder that is one", r)
        with open(target, encoding="utf-8") as file:
            eq(file.read(), "{}", "what it led to is as it was")
        dots = os.path.join(box.top, "dots.json")
        with open(dots, "w", encoding="utf-8") as file:
            file.write("{}")
        os.symlink(dots, os.path.join(box.home, ".claude.json"))
        r = install(box, "claude-code", "--user")
        ok(r.status == 0 and parse(dots)["mcpServers"]["pale"] and os.path.islink(os.path.join(box.home, ".claude.json")),
           "a link of the home is: the file behind it is edited", r)
        os.mkfifo(os.path.join(box.home, "pipe"))
        os.mkdir(os.path.join(box.home, ".cursor"))
        os.symlink("../pipe", os.path.join(box.home, ".cursor/mcp.json"))
        r = install(box, "cursor", "--user")
        ok(r.status == 1 and "no regular file" in r.err, "a fifo is refused, and not waited for", r)


def planted():
    """An entry that is ours but for something more is not ours."""
    for client, name, text in (("claude-code", ".mcp.json", '{"mcpServers": {"pale": %s}}'),
                               ("codex", ".codex/config.toml", "%s")):
        with Box() as box:
            install(box, client)
            good = box.read(name)
            if name.endswith("toml"):
                evil = good + 'enabled = false\n\n[mcp_servers.pale.env]\nLD_PRELOAD = "/x.so"\n'
            else:
                evil = text % json.dumps({"env": {"LD_PRELOAD": "/x.so"}, **json.loads(good)["mcpServers"]["pale"]})
            box.write(name, evil)
            r = install(box, client)
            ok(r.status == 1 and "besides" in r.err and "env" in r.err, f"{client}: what is planted is named", r)
            eq(box.read(name), evil, f"{client}: untouched")
            eq(install(box, client, "--force").status, 0, f"{client}: by force")
            ok("LD_PRELOAD" not in box.read(name) and "enabled" not in box.read(name), f"{client}: all of it goes",
               box.read(name))
            eq(install(box, client).status, 0, f"{client}: and then it is there")


def names():
    """Paths are shown so that a terminal does not obey them."""
    with Box() as box:
        odd = os.path.join(box.top, "a\x1b[31m\nb")
        os.mkdir(odd)
        for args in (("--print",), (), ()):
            r = install(box, "cursor", "--workspace", odd, *args)
            ok(r.status == 0 and "\x1b" not in r.out + r.err and "a\\x1b[31m" in r.err + r.out, f"a path {args}", r)
        r = install(box, "cursor", "--workspace", odd, "--staged")
        ok(r.status == 1 and "\x1b" not in r.err, "and in what belongs there", r)


def variables():
    """A client would put ".." in, and serve the folder above."""
    with Box() as box:
        odd = os.path.join(box.top, "${X:-..}")
        os.mkdir(odd)
        for client in CLIENTS:
            r = install(box, client, "--workspace", odd)
            if client == "codex":
                ok(r.status == 0 and parse(os.path.join(odd, ".codex/config.toml"))["mcp_servers"]["pale"]["args"][2] == odd,
                   "codex takes a path as it is", r)
            else:
                ok(r.status == 1 and "variable" in r.err and not os.path.exists(os.path.join(odd, CLIENTS[client][0])),
                   f"{client}: a path that would become another one is refused", r)


def own_copy():
    """What a client starts outside must be out of reach of what runs inside."""
    with Box() as box:
        copy = os.path.join(box.ws, "bin")
        os.mkdir(copy)
        for name in (PALE, os.path.join(os.path.dirname(PALE), "pale-verbs")):
            shutil.copy(name, copy)
        r = box.pale("mcp", "install", "--client", "cursor", program=os.path.join(copy, "pale"))
        ok(r.status == 1 and "lies in the workspace" in r.err and not box.exists(".cursor"),
           "a pale of the workspace's own is not installed", r)


def elsewhere():
    with Box() as box:
        env = dict(box.env, CODEX_HOME=os.path.join(box.top, "ch"), CLAUDE_CONFIG_DIR=os.path.join(box.top, "cc"))
        eq(install(box, "codex", "--user", env=env).status, 0, "$CODEX_HOME")
        ok(os.path.exists(os.path.join(box.top, "ch/config.toml")), "is where Codex looks")
        eq(install(box, "claude-code", "--user", "--takeover", env=env).status, 0, "$CLAUDE_CONFIG_DIR")
        ok(sorted(os.listdir(os.path.join(box.top, "cc"))) == [".claude.json", "settings.json"], "likewise")
        other = os.path.join(box.top, "other")
        os.mkdir(other)
        r = install(box, "cursor", "--workspace", other)
        eq(parse(os.path.join(other, ".cursor/mcp.json"))["mcpServers"]["pale"], entry(False, "--workspace", other),
           "--workspace names the project")
        r = install(box, "cursor", "--user", "--workspace", other)
        eq(parse(os.path.join(box.home, ".cursor/mcp.json"))["mcpServers"]["pale"], entry(False, "--workspace", other),
           "and with --user the one that is served")
        for args, what in (((), "--client is missing"), (("--client", "emacs"), "'emacs' is not known")):
            r = box.pale("mcp", "install", *args)
            ok(r.status == 2 and what in r.err and "claude-code" in r.err, what, r)


for name in CLIENTS:
    each_client(name)
golden()
others_stay()
comments()
broken()
links()
planted()
names()
variables()
own_copy()
elsewhere()
done()
