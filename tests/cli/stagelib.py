# SPDX-License-Identifier: MIT
"""Boxes with something staged, pale on a terminal, and trees to compare."""
import fcntl
import glob
import os
import pty
import select
import struct
import subprocess
import termios
import time

from palelib import PALE, Box

GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main",
       "-c", "core.autocrlf=false", "-c", "core.quotePath=true", "-c", "safe.directory=*"]


class StageBox(Box):
    """`with StageBox() as box`: a workspace that is a repository with one commit."""

    def __init__(self, files=None):
        super().__init__()
        self.env.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null", TERM="xterm")
        for name in ("PALE_PAGER", "GIT_PAGER", "PAGER", "COLUMNS", "LESS"):
            self.env.pop(name, None)
        self.git("init", "-q", ".")
        for name, text in (files or {}).items():
            self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-qm", "start", "--allow-empty")

    def git(self, *args, cwd=None, data=None, check=True):
        r = subprocess.run([*GIT, *args], cwd=cwd or self.ws, env=self.env, input=data,
                           capture_output=True, check=False)
        if check and r.returncode != 0:
            raise RuntimeError(f"git {args}: {r.stderr!r}")
        return r

    def staged(self, line, *options):
        """Run LINE, a shell line, staged."""
        r = self.pale("run", "--staged", *options, "--", "sh", "-ec", line)
        if r.status != 0:
            raise RuntimeError(f"the staged run: {r}")
        return r

    def raw(self, *args, cwd=None):
        """Standard output as bytes."""
        return subprocess.run([PALE, *args], cwd=cwd or self.ws, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                              check=False).stdout

    def stage(self, name="default"):
        """Its folder."""
        return glob.glob(os.path.join(self.env["XDG_STATE_HOME"], "pale", "*", "stages", name))[0]

    def clone(self, name):
        """The commit again, in a folder of its own."""
        path = os.path.join(self.top, name)
        self.git("clone", "-q", self.ws, path)
        return path


def tree(top):
    """What git would know: names, kinds, contents, and whether one can be executed."""
    found = {}
    top = os.fsencode(top)
    for d, dirs, files in os.walk(top):
        dirs[:] = [n for n in dirs if n != b".git"]
        for name in files + [n for n in dirs if os.path.islink(os.path.join(d, n))]:
            path = os.path.join(d, name)
            if os.path.islink(path):
                found[os.path.relpath(path, top)] = ("link", os.readlink(path))
            else:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, top)] = (bool(os.stat(path).st_mode & 0o100),
                                                         file.read())
    return found


class Terminal:
    """pale on a terminal of its own."""

    def __init__(self, box, *args, size=(24, 80), env=None, cwd=None, wrap=()):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd or box.ws)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
            argv = [*wrap, PALE, *args]
            os.execvpe(argv[0], argv, dict(box.env, **(env or {})))

    def pull(self, seconds=0.05):
        """False: it has hung up."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            chunk = os.read(self.fd, 65536)
        except OSError:
            return False
        self.seen += chunk
        return bool(chunk)

    def wait(self, text, seconds=10):
        end = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < end and self.pull():
            pass
        return text in self.seen

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, seconds=20):
        """The exit status; negative for a signal."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.pull():
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
