#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a session may reach is shown, taken back and given while it runs: by the user, from outside.

The far side of a cable counts who came.
"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from netlab import *

enter_apart()
lab = Lab()
lab.hosts(**{'good.test': [FAR4], 'other.test': [OTHER4]})
GOOD, OTHER = lab.listen(FAR4, 8000), lab.listen(OTHER4, 8000)
LOCAL = lab.listen('127.0.0.1', 8123, far=False)


class Box:
    """A workspace with folders of its own, and one session in it."""

    def __init__(self, p, *options, config=None):
        self.p = p
        self.top = p.mkdir(p.base / f'netsession-{time.time_ns()}')
        self.ws = p.mkdir(self.top / 'ws')
        self.env = dict(p.env, XDG_CONFIG_HOME=str(self.top / 'config'))
        for name in ('state', 'runtime'):
            path = p.mkdir(self.top / name, 0o700)
            os.chown(path, p.uid, p.uid)
            self.env['XDG_RUNTIME_DIR' if name == 'runtime' else 'XDG_STATE_HOME'] = str(path)
        if config:
            path = p.write(self.top / 'config/pale/pale.toml', config)
            for f in (path, path.parent, path.parent.parent):
                os.chown(f, p.uid, p.uid)
        self.started = self.verb('session', 'start', 's', *(ENGINE_OPTIONS if ENGINE else ()), *options)

    def verb(self, *args, **kw):
        return self.p.verb(*args, env=self.env, cwd=self.ws, **kw)

    def network(self, *args):
        return self.verb('session', 'network', 's', *args)

    def rules(self, *args):
        r = self.network('-j', *args)
        return r.json() if r.code == 0 else r

    def sh(self, line, **kw):
        return self.verb('exec', '-s', 's', '--', 'sh', '-c', 'echo BOOTED; ' + line, **kw)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.verb('session', 'stop', 's')


def reaches(box, tool, name, port=8000):
    shutil.copy(box.p.ws / tool, box.ws / 'client')
    r = box.sh(f'./client blocking {name} {port}')
    return r.booted and r.code == 0 and b'=ok pong' in r.out


def taken():
    return GOOD.taken(), OTHER.taken(), LOCAL.taken()


def case_shown(p):
    tool = net_tool(p, 'net-client')
    with Box(p, '--host', 'good.test:8000', '--host', '*.example.org', '--port', '8123') as box:
        ok(box.started.code == 0, p, 'a session with rules', box.started)
        ok(reaches(box, tool, 'good.test'), p, 'reaches what they allow')
        r = box.network()
        ok(r.code == 0 and r.out.splitlines()[:3] == [b'*.example.org:443', b'good.test:8000', b'localhost:8123'] and b'1 connection so far' in r.out, p, 'they are shown', r)
        j = box.rules()
        ok(isinstance(j, dict) and j['hosts'] == ['*.example.org:443', 'good.test:8000'] and j['ports'] == [8123] and j['connections'] == 1 and j['sent'] > 0 and j['received'] > 0, p, 'as JSON, too', j)
    with Box(p) as box:
        r = box.network()
        ok(r.code == 0 and r.out == b'nothing can be reached: network = "none"\n', p, 'none is said to be none', r)
        r = box.network('--allow', 'good.test:8000')
        ok(r.code == 2 and b'has no network' in r.err, p, 'and stays so', r)
        ok(box.sh('true').booted, p, 'the session lives')
    with Box(p, '--network', 'unrestricted') as box:
        r = box.network()
        ok(r.code == 0 and r.out.startswith(b'everything can be reached'), p, 'unrestricted is another thing than none', r)


def case_narrowed(p):
    tool = net_tool(p, 'net-client')
    taken()
    with Box(p, '--host', 'good.test:8000', '--host', 'other.test:8000', '--port', '8123') as box:
        ok(reaches(box, tool, 'good.test') and reaches(box, tool, 'other.test') and reaches(box, tool, '127.0.0.1', 8123), p, 'all three are reached')
        ok(taken() == (1, 1, 1), p, 'and were')
        j = box.rules('--deny', 'other.test')
        ok(j['gone'] == 0 and j['hosts'] == ['good.test:8000'], p, 'one is taken back', j)
        ok(not reaches(box, tool, 'other.test') and reaches(box, tool, 'good.test'), p, 'and out of reach, the other one not')
        r = box.sh('./client blocking new.test 8000')
        ok(b'to allow it: pale session network s --allow new.test:443 (443, or the port that it uses)' in r.err, p, 'what would allow it is a rule of the session', r)
        r = box.verb('why')
        ok(b'to allow it: pale session network s --allow new.test:443 (443,' in r.out and b'pale run --host' not in r.out, p, 'why says the same', r)
        j = box.rules('--deny', 'localhost')
        ok(j['ports'] == [] and not reaches(box, tool, '127.0.0.1', 8123), p, 'so is the loopback', j)
        ok(taken() == (1, 0, 0), p, 'as the far side saw it')
        r = box.sh('./client blocking 127.0.0.1 8123')
        ok(b'by ports = [8123]' not in r.err and b'to allow it: pale session network s --allow localhost:8123\n' in r.err, p, 'a port, too', r)
        j = box.rules('--allow', 'other.test:8000')
        ok(j['hosts'] == ['good.test:8000', 'other.test:8000'] and reaches(box, tool, 'other.test'), p, 'the user can give it back', j)
        ok(taken() == (0, 1, 0), p, 'it was reached again')


def case_open_connections(p):
    """A connection that rests on a rule ends with it."""
    line = ('import socket,sys,time\n'
            'a = socket.create_connection(("good.test", 8000)); b = socket.create_connection(("other.test", 8000))\n'
            'for s in (a, b): s.sendall(b"x\\n"); s.recv(100)\n'
            'open("up", "w").close()\n'
            'while not __import__("os").path.exists("go"): time.sleep(0.02)\n'
            'def lives(s):\n'
            '  try: s.sendall(b"y"); s.settimeout(5); return s.recv(10) == b"y"\n'
            '  except OSError: return False\n'
            'print("LIVES", lives(a), lives(b))\n')
    for more in ((), ('--ask',)):
        with Box(p, '--host', 'good.test:8000', '--host', 'other.test:8000', *more) as box:
            proc = p.start(p.pale_path, 'exec', '-s', 's', '--', 'python3', '-c', line, cwd=box.ws, env=box.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            up = wait_for(lambda: (box.ws / 'up').exists(), 10)
            j = box.rules('--deny', 'other.test:8000')
            (box.ws / 'go').touch()
            out, err = proc.communicate(timeout=20)
            ok(up and j['gone'] == 1 and b'LIVES True False' in out, p, f'what is denied is reset, what is not goes on: {more}', out + err)


def case_widened_within_ceilings(p):
    tool = net_tool(p, 'net-client')
    taken()
    ceiling = '[host_groups]\nweb = ["good.test:8000"]\n[ceiling]\nnetwork = "allowed_hosts"\nports = [8124]\nhosts = ["@web", "*.example.org"]\n'
    with Box(p, '--host', 'a.example.org', config=ceiling) as box:
        ok(box.started.code == 0, p, 'a session within a ceiling', box.started)
        for rule in ('other.test:8000', 'good.test:8001', 'localhost', 'localhost:8123', '*.test:8000', '0.0.0.0/0:8000'):
            r = box.network('--allow', rule)
            ok(r.code != 0 and (b'is not within the ceiling' in r.err or b'bad host rule' in r.err), p, f'{rule}: refused', r)
        ok(not reaches(box, tool, 'good.test') and taken() == (0, 0, 0), p, 'nothing was opened')
        j = box.rules('--allow', '@web', '--allow', 'localhost:8124')
        ok(isinstance(j, dict) and 'good.test:8000' in j['hosts'] and j['ports'] == [8124], p, 'a group that is within', j)
        ok(reaches(box, tool, 'good.test') and taken() == (1, 0, 0), p, 'is reached')


def case_names_of_the_loopback(p):
    """However it is spelled; and nothing else is."""
    tool = net_tool(p, 'net-client')
    taken()
    for name in ('LOCALHOST', 'localhost.', 'Localhost.:8123'):
        with Box(p, '--port', '8123') as box:
            j = box.rules('--deny', name)
            ok(isinstance(j, dict) and j['ports'] == [] and not reaches(box, tool, '127.0.0.1', 8123), p, f'{name} is taken back', j)
    with Box(p, '--host', 'good.test:8000') as box:
        j = box.rules('--allow', 'port:8123')
        ok(isinstance(j, dict) and 'port:8123' in j['hosts'] and j['ports'] == [] and not reaches(box, tool, '127.0.0.1', 8123), p, 'a host called port is a host', j)
        j = box.rules('--deny', 'port:8123')
        ok(j['hosts'] == ['good.test:8000'], p, 'and taken back as one', j)
        ok(taken() == (0, 0, 0), p, 'nobody was reached')
        j = box.rules('--allow', 'LocalHost:8123')
        ok(reaches(box, tool, '127.0.0.1', 8123) and taken() == (0, 0, 1), p, 'twin: the loopback itself', j)


def case_all_or_nothing(p):
    with Box(p, '--host', 'good.test:8000') as box:
        for bad in ('a..b', 'https://good.test', 'good.test:0', '*', '@nosuch', 'user@good.test', 'good.test%00', ''):
            r = box.network('--deny', 'good.test', '--allow', bad)
            ok(r.code != 0 and b'pale: ' in r.err and box.rules()['hosts'] == ['good.test:8000'], p, f'{bad!r}: an error, and nothing has changed', r)
        r = box.network('--deny', 'a..b')
        ok(r.code != 0 and b'bad host rule' in r.err, p, 'a bad rule to deny', r)


def case_not_from_inside(p):
    """Who is confined, by whomever, is not answered."""
    with Box(p, '--host', 'other.test:8000') as box:
        argv = [p.pale_path, 'session', 'network', 's', '--allow', 'good.test:8000']
        r = p.run('setpriv', '--no-new-privs', *argv, env=box.env, cwd=box.ws)
        ok(r.code != 0 and b'not for who is confined' in r.err, p, 'no new privileges: refused', r)
        r = box.sh(' '.join(map(str, argv)))
        ok(r.booted and r.code != 0, p, 'from inside: refused', r)
        r = p.run('unshare', '-Urm', *argv, env=box.env, cwd=box.ws)
        ok(r.code != 0, p, 'from another user namespace: refused', r)
        ok(box.rules()['hosts'] == ['other.test:8000'], p, 'nothing has changed')
        ok('good.test:8000' in box.rules('--allow', 'good.test:8000')['hosts'], p, 'twin: the user can')


main(case_shown, case_narrowed, case_open_connections, case_widened_within_ceilings, case_names_of_the_loopback, case_all_or_nothing, case_not_from_inside, uids=(1000,))
