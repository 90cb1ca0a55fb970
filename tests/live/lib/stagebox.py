# SPDX-License-Identifier: MIT
"""stagebox - a workspace with a stage, for one case."""
import pathlib
import shutil
import subprocess
import tempfile

from live import ok, skip


class Box:
    """A workspace of its own, with a state folder of its own."""

    def __init__(self, p, name, top=None):
        self.p = p
        self.top = p.mkdir(p.base / f'attack-{name}')
        self.ws = p.mkdir(pathlib.Path(tempfile.mkdtemp(prefix='pale-', dir=top)) if top else self.top / 'ws')
        self.env = dict(p.env, XDG_STATE_HOME=str(self.top / 'state'))
        p.mkdir(self.top / 'state')

    def run(self, line):
        r = self.p.sh('--staged', '--', line, cwd=self.ws, env=self.env)
        ok(r.booted and r.code == 0, self.p, 'the command ran', r)

    def verb(self, *args, **kw):
        return self.p.verb(*args, cwd=self.ws, env=self.env, **kw)

    def host(self, line):
        r = self.p.host_sh(line, cwd=self.ws)
        ok(r.code == 0, self.p, 'the host did', r)

    def killed(self, call, n, *args):
        """A verb that is killed at its Nth CALL."""
        return self.p.run('strace', '-qq', '-o', '/dev/null', '-e', f'trace={call}', '-e', f'inject={call}:signal=KILL:when={n}',
                          self.p.pale_path, *args, cwd=self.ws, env=self.env)

    def remove(self):
        subprocess.run(['rm', '-rf', self.ws, self.top])


def has_strace(p):
    if shutil.which('strace') and p.run('strace', '-qq', '-o', '/dev/null', 'true').code == 0:
        return True
    skip(p, 'strace does not work here')
    return False
