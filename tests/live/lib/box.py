# SPDX-License-Identifier: MIT
"""A workspace with a state and a runtime folder of its own, and at most one session `s` in it."""
from live import *


class Box:
    def __init__(self, p, name):
        self.p = p
        self.top = p.mkdir(p.base / 'boxes' / f'{name}-{time.time_ns()}')
        self.ws = p.mkdir(self.top / 'ws')
        self.state, self.runtime = self.private('state'), self.private('runtime')
        self.env = dict(p.env, XDG_STATE_HOME=str(self.state), XDG_CONFIG_HOME=str(self.top / 'config'), XDG_RUNTIME_DIR=str(self.runtime))

    def private(self, name):
        path = self.p.mkdir(self.top / name, 0o700)
        if os.geteuid() == 0:
            os.chown(path, self.p.uid, self.p.uid)
        return path

    def verb(self, *args, **kw):
        kw.setdefault('env', self.env)
        kw.setdefault('cwd', self.ws)
        return self.p.verb(*args, **kw)

    def start(self, *args, **kw):
        return self.verb('session', 'start', 's', *(ENGINE_OPTIONS if ENGINE else ()), *args, **kw)

    def sh(self, line, **kw):
        return self.verb('exec', '-s', 's', '--', 'sh', '-c', 'echo BOOTED; ' + line, **kw)

    @property
    def socket(self):
        return next(self.runtime.rglob('socket'))

    def pid(self):
        return next(s['pid'] for s in self.verb('session', 'list', '-j').json())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for path in self.runtime.rglob('*'):
            path.chmod(0o700)
        self.verb('session', 'stop', '--all')
