#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale init, and what --detect finds in each kind of project."""
import os
import sys
import tomllib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import Box, done, eq, has, ok  # noqa: E402


def detect(name, files, want):
    """WANT: name -> (argv, preset)."""
    with Box() as box:
        for path, text in files.items():
            box.write(path, text)
        r = box.pale("init", "--detect")
        ok(r.status == 0, f"{name}: init --detect works", r)
        found = tomllib.loads(box.read("pale.toml")).get("commands", {})
        eq({n: (" ".join(c["argv"]), c.get("sandbox")) for n, c in found.items()}, want,
           f"{name}: the commands")
        eq(box.pale("config", "check").status, 0, f"{name}: the file is valid")


def basics():
    with Box() as box:
        r = box.pale("init", "-n")
        ok(r.status == 0 and "[sandbox]" in r.out and not box.exists("pale.toml"),
           "--dry-run prints and writes nothing", r)
        text = r.out
        r = box.pale("init")
        ok(r.status == 0 and "wrote " in r.out, "init writes", r)
        eq(box.read("pale.toml"), text, "what --dry-run printed")
        eq(tomllib.loads(text), {"sandbox": {"preset": "workspace"}}, "all else is a comment")
        eq(box.pale("config", "check").status, 0, "the template is valid")
        lines = text.splitlines()
        bare = "\n".join(line[2:] if line.startswith(("# [", "# a", "# b", "# p", "# s", "# t", "# m"))
                         and ("=" in line or line.startswith("# [")) else line for line in lines)
        box.write("pale.toml", bare)
        eq(box.pale("config", "check").status, 0, "the commented examples are valid")
        ok(len(tomllib.loads(bare)) == 3, "and there are examples of each table", bare)
        box.write("pale.toml", "# mine\n")
        r = box.pale("init")
        ok(r.status == 1 and "exists" in r.err and "--force" in r.err, "an existing file is kept", r)
        eq(box.read("pale.toml"), "# mine\n", "as it is")
        eq(box.pale("init", "--force").status, 0, "--force")
        eq(box.read("pale.toml"), text, "replaces it")
        box.write("pale.toml", "broken [\n")
        r = box.pale("init", "--detect")
        ok(r.status == 1 and "pale.toml:1" in r.err, "nothing is added to a broken file", r)
        eq(box.pale("init", "--force").status, 0, "--force replaces a broken file")
        eq(box.pale("init", "extra").status, 2, "an operand is refused")
        box.write("odd\x1b]0;name/file", "")
        r = box.pale("init", "--workspace", box.path("odd\x1b]0;name"))
        ok(r.status == 0 and "odd\\x1b]0;name" in r.out and "\x1b" not in r.out, "names are shown escaped", r)


def adds():
    with Box() as box:
        mine = '# mine\n[commands.test]\ncmd = "my test"  # keep\n'
        box.write("pale.toml", mine)
        box.write("Makefile", "test:\nbuild:\n")
        r = box.pale("init", "--detect", "-n")
        eq(box.read("pale.toml"), mine, "--dry-run leaves an existing file alone")
        dry = r.out
        r = box.pale("init", "--detect")
        eq(box.read("pale.toml"), dry, "and shows what is written")
        ok(r.status == 0 and dry.startswith(mine), "--detect only adds", r)
        eq(tomllib.loads(dry)["commands"], {"test": {"cmd": "my test"}, "build":
           {"argv": ["make", "build"], "sandbox": "build"}}, "what is missing")
        has(box.pale("init", "--detect").out, "nothing to add", "the second time adds nothing")
        eq(box.read("pale.toml"), dry, "and changes nothing")


def ecosystems():
    detect("nothing", {}, {})
    detect("make", {"Makefile": ".PHONY: all test dist\n"
                                "all build: prog # two at once\n\ttest: not a target\n"
                                "VAR := x\nlint = no\nfmt:=no\ninstall?=no\n"
                                "clean: CFLAGS = -g\n"
                                "test check:: ; run \\\n  docs:\n"
                                "define text\nbench:\nendef\n"
                                "%.o: %.c\n$(X) coverage: y\r\nfor\\\nmat:\n"
                                "prog: prog.c\n\tcc\n"},
           {"all": ("make all", None), "build": ("make build", "build"),
            "test": ("make test", "test"), "check": ("make check", None),
            "coverage": ("make coverage", None)})
    detect("GNUmakefile first", {"GNUmakefile": "lint:\n", "Makefile": "test:\n"},
           {"lint": ("make lint", "readonly")})
    detect("all presets", {"Makefile": "test build lint format fmt clean install:\n"},
           {"test": ("make test", "test"), "build": ("make build", "build"),
            "lint": ("make lint", "readonly"), "format": ("make format", "build"),
            "fmt": ("make fmt", "build"), "clean": ("make clean", "build"),
            "install": ("make install", None)})
    detect("cmake", {"CMakeLists.txt": ""},
           {"configure": ("cmake -S . -B build", None), "build": ("cmake --build build", "build"),
            "test": ("ctest --test-dir build --output-on-failure", "test")})
    detect("meson", {"meson.build": ""},
           {"configure": ("meson setup build", None), "build": ("meson compile -C build", "build"),
            "test": ("meson test -C build", "test")})
    detect("cargo", {"Cargo.toml": ""},
           {"build": ("cargo build", "build"), "test": ("cargo test", "test"),
            "lint": ("cargo clippy", "readonly"), "format": ("cargo fmt", "build")})
    detect("go", {"go.mod": ""},
           {"build": ("go build ./...", "build"), "test": ("go test ./...", "test"),
            "lint": ("go vet ./...", "readonly"), "format": ("gofmt -l -w .", "build")})
    detect("node", {"package.json": '{"name":"x","scripts":{"test":"jest","test:unit":"j","pretest":"p",'
                                    '"lint":"eslint","a b":"x","$(id)":"x","-x":"y","n":1,'
                                    '"\\u0064ev":"v"},"other":{"scripts":{"no":"no"}},"k":[{},[1e3]]}'},
           {"test": ("npm run test", "test"), "test-unit": ("npm run test:unit", None),
            "lint": ("npm run lint", "readonly"), "dev": ("npm run dev", None)})
    detect("pnpm", {"package.json": '{"scripts":{"build":"x"}}', "pnpm-lock.yaml": ""},
           {"build": ("pnpm run build", "build")})
    for bad in ('{"scripts":{"build":"x"}', '{"scripts":{"build":"x",}}', "[" * 5000, "", "\0",
                '{"scripts":[]}', '{"scripts":{"build":"x"}} x', '{"scripts":{"build":"\\x"}}'):
        detect(f"odd package.json {bad[:30]!r}", {"package.json": bad}, {})
    detect("pytest.ini", {"pytest.ini": ""}, {"test": ("pytest", "test")})
    detect("tox", {"tox.ini": "[tox]\n"}, {"test": ("tox", "test")})
    detect("tox with pytest", {"tox.ini": "[tox]\n[pytest]\n"}, {"test": ("pytest", "test")})
    detect("setup.cfg", {"setup.cfg": "[metadata]\n[tool:pytest]\n"}, {"test": ("pytest", "test")})
    detect("setup.cfg without pytest", {"setup.cfg": "[metadata]\n"}, {})
    detect("pyproject", {"pyproject.toml": "[build-system]\n[tool.pytest.ini_options]\n[tool.ruff]\n"
                                           "[tool.mypy]\n"},
           {"test": ("pytest", "test"), "lint": ("ruff check", "readonly"),
            "format": ("ruff format", "build"), "typecheck": ("mypy .", None),
            "build": ("python3 -m build", "build")})
    detect("pyproject with tests", {"pyproject.toml": "", "tests/x.py": ""},
           {"test": ("pytest", "test")})
    detect("broken pyproject", {"pyproject.toml": "[tool.ruff"}, {})
    detect("two kinds", {"Makefile": "test:\n", "Cargo.toml": ""},
           {"test": ("make test", "test"), "build": ("cargo build", "build"),
            "lint": ("cargo clippy", "readonly"), "format": ("cargo fmt", "build")})


def unsafe():
    with Box() as box:
        outside = box.write("../Makefile", "test:\n")
        os.symlink(outside, box.path("Makefile"))
        os.mkfifo(box.path("package.json"))
        os.mkdir(box.path("Cargo.toml"))
        os.symlink("/dev/zero", box.path("pyproject.toml"))
        r = box.pale("init", "--detect", "-n")
        ok(r.status == 0 and "[commands." not in r.out.replace("# [commands", ""),
           "links outside, fifos, folders and devices are passed over", r)
    with Box() as box:
        box.write("Makefile", "#" * (2 << 20) + "\ntest:\n")
        r = box.pale("init", "--detect", "-n")
        ok(r.status == 0 and "\n[commands.test]" not in r.out, "so is what is too large", r)
    with Box() as box:
        box.write("package.json", '{"scripts":{%s}}' % ",".join(f'"pre{i}":""' for i in range(60000)))
        r = box.pale("init", "--detect", "-n")
        ok(r.status == 1 and "at most 1024" in r.err, "more scripts than a file may hold are not waited for", r)


basics()
adds()
ecosystems()
unsafe()
done()
