# SPDX-License-Identifier: MIT
"""What the tests of the command line share: TAP, and a box to run pale in."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

# A shell starts what it runs in the background with these ignored, and so would be our programs.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

PALE = os.environ.get("PALE") or os.path.abspath("build/pale")
VERBS = os.path.join(os.path.dirname(PALE), "pale-verbs")
MUST_WORK = os.environ.get("PALE_MUST_WORK") == "1"

_count = 0
_failed = 0


def ok(cond, name, note=None):
    """One test. NOTE is printed when it failed."""
    global _count, _failed
    _count += 1
    print(f"{'ok' if cond else 'not ok'} {_count} - {name}", flush=True)
    if not cond:
        _failed += 1
        for line in str(note if note is not None else "").splitlines():
            print(f"# {line}", flush=True)
    return bool(cond)


def eq(got, want, name):
    return ok(got == want, name, f"got:  {got!r}\nwant: {want!r}")


def has(text, part, name):
    return ok(part in text, name, f"got: {text!r}\nwithout: {part!r}")


def skip(reason):
    global _count, _failed
    _count += 1
    _failed += MUST_WORK
    print(f"{'not ok' if MUST_WORK else 'ok'} {_count} # skip {reason}", flush=True)


def done():
    print(f"1..{_count}", flush=True)
    sys.exit(1 if _failed or not _count else 0)


class Result:
    def __init__(self, process):
        self.status = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def json(self):
        """The output as JSON, or None."""
        try:
            return json.loads(self.out)
        except ValueError:
            return None

    def __repr__(self):
        return f"status {self.status}\nout: {self.out}\nerr: {self.err}"


class Box:
    """A workspace and a home of their own, removed at the end."""

    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="pale-cli-")
        self.ws = os.path.join(self.top, "ws")
        self.home = os.path.join(self.top, "home")
        os.mkdir(self.ws)
        os.mkdir(self.home)
        self.env = dict(os.environ, HOME=self.home, LC_ALL="C.UTF-8",
                        XDG_CONFIG_HOME=os.path.join(self.home, ".config"),
                        XDG_STATE_HOME=os.path.join(self.home, ".state"))
        self.env.pop("NO_COLOR", None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The kernel makes the work folder of an overlay without any permission.
        subprocess.run(["chmod", "-R", "u+rwx", self.top], check=False)
        shutil.rmtree(self.top, ignore_errors=True)

    def pale(self, *args, cwd=None, program=None, env=None, stdin=subprocess.DEVNULL):
        process = subprocess.run([program or PALE, *args], cwd=cwd or self.ws,
                                 env=env or self.env, stdin=stdin, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, timeout=60, check=False,
                                 encoding="utf-8", errors="surrogateescape")
        return Result(process)

    def path(self, name):
        return os.path.join(self.ws, name)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def write_user(self, text):
        """The user's own pale.toml."""
        return self.write(os.path.join(self.env["XDG_CONFIG_HOME"], "pale", "pale.toml"), text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", newline="") as file:
            return file.read()

    def exists(self, name):
        return os.path.lexists(self.path(name))

    def sandbox_works(self):
        return self.pale("run", "--", "true").status == 0
