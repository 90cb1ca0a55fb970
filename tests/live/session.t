#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sandboxes that stay up: commands in them, their limits, their ends.

SESSION_MANY and SESSION_STARTS set how many sessions are open at once (8; 200 for the
whole), and how many are started and stopped in a row (12; 2000).
"""
import pty
import select
import socket
import sys
import threading
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

MANY = int(os.environ.get('SESSION_MANY', '8'))
STARTS = int(os.environ.get('SESSION_STARTS', '12'))


class Box:
    """A workspace with a state and a runtime folder of its own; its sessions end with it."""

    def __init__(self, p, name, env=()):
        self.p = p
        self.top = p.mkdir(p.base / 'session' / f'{name}-{time.time_ns()}')
        self.ws = p.mkdir(self.top / 'ws')
        self.state = self.make_private('state')
        self.runtime = self.make_private('runtime')
        self.env = dict(p.env, XDG_STATE_HOME=str(self.state), XDG_CONFIG_HOME=str(self.top / 'config'),
                        XDG_RUNTIME_DIR=str(self.runtime), **dict(env))

    def make_private(self, name):
        path = self.p.mkdir(self.top / name, 0o700)
        if os.geteuid() == 0:
            os.chown(path, self.p.uid, self.p.uid)
        return path

    def config(self, text):
        path = self.p.write(self.top / 'config/pale/pale.toml', text)
        if os.geteuid() == 0:
            for f in (path, path.parent, path.parent.parent):
                os.chown(f, self.p.uid, self.p.uid)

    def verb(self, *args, **kw):
        kw.setdefault('env', self.env)
        kw.setdefault('cwd', self.ws)
        return self.p.verb(*args, **kw)

    def start(self, *args, **kw):
        engine = ENGINE_OPTIONS if ENGINE else ()
        return self.verb('session', 'start', *engine, *args, **kw)

    def exec(self, *args, **kw):
        return self.verb('exec', *args, **kw)

    def sh(self, line, *options, **kw):
        return self.exec(*options, '--', 'sh', '-c', 'echo BOOTED; ' + line, **kw)

    def popen(self, *args, **kw):
        return self.p.start(self.p.pale_path, *args, cwd=self.ws, env=self.env, **kw)

    def list(self):
        return self.verb('session', 'list', '-j').json() or []

    def pid(self, name='default'):
        return next((s['pid'] for s in self.list() if s['session'] == name), None)

    def left(self):
        """Files of sessions."""
        return sorted(str(f.relative_to(self.runtime)) for f in self.runtime.rglob('*')
                      if f.is_file() or f.is_socket() or f.name == 'out')

    def runs(self):
        return self.verb('runs', '-n', '0', '-j').json()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.verb('session', 'stop', '--all')


def case_start_exec_stop(p):
    with Box(p, 'first') as box:
        r = box.start('one', '-j')
        ok(r.code == 0 and r.json().get('session') == 'one' and r.json()['workspace'] == str(box.ws) and alive(r.json()['pid']), p,
           'start says what it is', r)
        r = box.sh('echo out; echo err >&2; cat; exit 7', '-s', 'one', data=b'in')
        ok(r.booted and r.code == 7 and r.rest == b'out\nin' and b'err\n' in r.err, p, 'descriptors and status are the command\'s', r)
        r = box.exec('-s', 'one', '--', './no-such')
        ok(r.code == 127 and b'no-such' in r.err, p, 'no such program: 127', r)
        box.p.write(box.ws / 'plain', 'x')
        r = box.exec('-s', 'one', '--', './plain')
        ok(r.code == 126, p, 'not executable: 126', r)
        r = box.sh('kill -USR1 $$', '-s', 'one')
        ok(r.booted and r.code == 128 + signal.SIGUSR1, p, '128+N', r)
        r = box.start('one')
        ok(r.code == 125 and b"session 'one' already" in r.err and b'hint' in r.err, p, 'there is one of that name', r)
        pid = box.pid('one')
        r = box.verb('session', 'stop', 'one')
        ok(r.code == 0 and not alive(pid) and not box.left(), p, 'stop: it is gone when it returns', (r, box.left()))
        r = box.exec('-s', 'one', '--', 'true')
        ok(r.code == 125 and b"no session 'one'" in r.err and b'session start one' in r.err, p, 'none by that name, and the fix', r)
        r = box.verb('session', 'stop', 'one')
        ok(r.code == 2 and b"no session 'one'" in r.err, p, 'stop of none', r)
        ok(box.verb('session', 'rm', 'one').code == 0, p, 'rm of none is no error')


def case_names(p):
    with Box(p, 'names') as box:
        for bad in ('..', '.x', '-x', 'a/b', '', 'x' * 65, 'a b', 'ü', 'a\nb'):
            r = box.verb('session', 'start', '--', bad)
            ok(r.code == 125 and b'no name of a session' in r.err and not box.left(), p, f'{bad[:8]!r} is refused', r)
        ok(box.exec('-s', '../../x', '--', 'true').code == 125, p, 'so it is in exec')
        ok(box.start('A-1._x' + 'y' * 58).code == 0, p, 'a good one of 64')


def case_on_demand(p):
    if ENGINE:
        return skip(p, 'the engine of a session on demand is the configured one')
    with Box(p, 'demand') as box:
        r = box.sh('true')
        ok(r.booted and r.code == 0 and [s['session'] for s in box.list()] == ['default'], p, 'exec starts the workspace\'s own', r)
        pid = box.pid()
        box.sh('true')
        ok(box.pid() == pid, p, 'the next one uses it')
        many = [box.popen('exec', '--', 'true', stdout=subprocess.DEVNULL) for _ in range(4)]
        ok([m.wait() for m in many] == [0] * 4, p, 'at once')
        box.verb('session', 'stop', 'default')
        many = [box.popen('exec', '--', 'true') for _ in range(6)]
        ok([m.wait() for m in many] == [0] * 6 and len(box.list()) == 1, p, 'six that find none start one', box.list())


def case_stays(p):
    """Processes and scratch of one command are there for the next; a new session has neither."""
    with Box(p, 'stays') as box:
        box.start('s')
        m = mark()
        r = box.sh(f'echo x >/tmp/kept; sleep 600 {m} 2>/dev/null & exec sh -c "sleep 600; : {m}" >/dev/null 2>&1 </dev/null &', '-s', 's')
        ok(r.booted and r.code == 0 and wait_for(lambda: marked(m)), p, 'a straggler goes on', r)
        r = box.sh('cat /tmp/kept', '-s', 's')
        ok(r.rest == b'x\n' or not has('private'), p, '/tmp is kept', r)
        box.verb('session', 'stop', 's')
        ok(not marked(m), p, 'until the session ends', marked(m))
        box.start('s')
        r = box.sh('cat /tmp/kept', '-s', 's')
        ok(r.booted and r.code != 0, p, 'another has a /tmp of its own', r)


@needs('isolated')
def case_confined_like_a_run(p):
    with Box(p, 'confined') as box:
        box.start('s')
        secret = p.home / '.ssh/id_rsa'
        for line, what in ((f'cat {secret}', 'a key'), ('touch /usr/x', 'the system'), (f'echo x >>{p.outside}/canary', 'outside'),
                           # Before Linux 6.12 nobody says no; it lives on, as the next ones show.
                           ('kill -9 1' + ('; false' if kernel_before(6, 12) else ''), 'the warden'), (f'ls {box.runtime}', 'the runtime folder'),
                           (f'ls {box.state}', 'the state'), ('mount -t tmpfs x /tmp', 'mounting'), ('unshare -U true', 'namespaces')):
            r = box.sh(line, '-s', 's')
            ok(r.booted and r.code != 0 and b'CANARY' not in r.out, p, f'{what} is out of reach', r)
        ok((p.outside / 'canary').read_text() == 'canary\n', p, 'the canary is what it was')
        r = box.sh('id -u; grep -E "^(NoNewPrivs|Seccomp|CapEff):" /proc/self/status; ls /proc/self/fd', '-s', 's')
        ok(b'NoNewPrivs:\t1' in r.out and b'Seccomp:\t2' in r.out and b'CapEff:\t0000000000000000' in r.out and b'\n3\n4\n' not in r.out, p,
           'confined anew', r)
        j = box.exec('-s', 's', '-j', '--', 'sh', '-c', 'touch /usr/x').json()
        ok(j.get('violations') and j['violations'][0]['path' if 'path' in j['violations'][0] else 'target'] == '/usr/x', p,
           'what was refused is in the result', j)


def case_json_and_history(p):
    with Box(p, 'json') as box:
        box.start('s')
        r = box.exec('-s', 's', '-j', '--', 'sh', '-c', 'echo noise; exit 3')
        j = r.json()
        ok(r.code == 3 and j.get('session') == 's' and j['outcome'] == 'failed' and j['exit_code'] == 3 and r.err == b'noise\n', p,
           'JSON as of run, and the session', r)
        keys = set(p.pale('-j', '--', 'true', cwd=box.ws, env=box.env).json())
        ok(keys | {'session'} == set(j), p, 'the same members', keys ^ set(j))
        runs = {x['run']: x for x in box.runs()}
        ok(j['run'] in runs and runs[j['run']]['outcome'] == 'failed' and runs[j['run']]['program'] == 'sh', p, 'it is in the history', runs)
        r = box.exec('-s', 'none', '-j', '--', 'true')
        ok(r.code == 125 and r.json().get('outcome') == 'error' and r.json()['error']['hint'], p, 'an error as JSON', r)
        reader, writer = os.pipe()
        r = box.exec('-s', 's', '--result-fd', str(writer), '--', 'false', pass_fds=[writer])
        os.close(writer)
        text = os.read(reader, 65536)
        os.close(reader)
        ok(r.code == 1 and json.loads(text)['outcome'] == 'failed' and r.out == b'', p, '--result-fd', text)
        box.exec('-s', 's', '--result', 'result.json', '--', 'true')
        ok(json.loads((box.ws / 'result.json').read_text())['outcome'] == 'ok', p, '--result')
        kinds = [e['kind'] for e in box.verb('events', '-n', '0', '-j').json()]
        ok('session.start' in kinds, p, 'an event', kinds)
        box.verb('session', 'stop', 's')
        kinds = [e['kind'] for e in box.verb('events', '-n', '0', '-j').json()]
        ok('session.end' in kinds, p, 'and one of its end', kinds)


def case_environment(p):
    with Box(p, 'env') as box:
        box.start('s', '--env', 'pass', '--pass', 'WANTED', '--setenv', 'FIXED=1')
        env = dict(box.env, WANTED='yes', UNWANTED='no', MY_TOKEN='secret', LC_ALL='C')
        r = box.sh('env', '-s', 's', '--setenv', 'ADDED=x', env=env)
        lines = r.rest.decode().split('\n')
        ok('WANTED=yes' in lines and 'ADDED=x' in lines and 'FIXED=1' in lines and 'LC_ALL=C' in lines, p, 'what passes', r)
        ok('UNWANTED' not in r.rest.decode() and 'secret' not in r.rest.decode(), p, 'what does not', r)
        ok(f'PWD={box.ws}' in lines, p, 'PWD is the folder', r)
        r = box.sh('env', '-s', 's')
        ok(r.booted and b'WANTED' not in r.out and b'ADDED' not in r.out, p, 'each call has its own', r)
        r = box.exec('-s', 's', '--setenv', '=x', '--', 'env')
        ok(r.code == 125 and b'NAME=VALUE' in r.err, p, 'a bad --setenv', r)
        # in the environment of somebody's agent keys are the rule: none may stay in the keeper
        box.sh('true', '-s', 's', env=dict(box.env, SOME_API_KEY='canary-' + 'k' * 40))
        with open(f'/proc/{box.pid("s")}/maps') as maps, open(f'/proc/{box.pid("s")}/mem', 'rb') as mem:
            found = False
            for line in maps:
                lo, hi = (int(x, 16) for x in line.split()[0].split('-'))
                if 'rw' not in line.split()[1]:
                    continue
                mem.seek(lo)
                found = found or b'canary-' + b'k' * 40 in mem.read(hi - lo)
        ok(not found, p, 'no variable of a client stays in the keeper')


def case_folder(p):
    with Box(p, 'cwd') as box:
        p.mkdir(box.ws / 'sub/deep')
        box.start('s', '--read', str(p.outside))
        r = box.sh('pwd', '-s', 's', cwd=box.ws / 'sub/deep')
        # the workspace has no mark of its own: from below it is another
        ok(r.code == 125 and b'no session' in r.err, p, 'a folder without a mark is its own workspace', r)
        box.verb('session', 'stop', 's')
        box.p.write(box.ws / 'pale.toml', '')
        box.start('s', '--read', str(p.outside))
        r = box.sh('pwd', '-s', 's', cwd=box.ws / 'sub/deep')
        ok(r.rest.decode().strip() == str(box.ws / 'sub/deep'), p, 'it begins where the caller is', r)
        for cwd, want in (('sub', box.ws / 'sub'), (box.ws / 'sub/..', box.ws), (p.outside, p.outside)):
            r = box.sh('pwd', '-s', 's', '--cwd', str(cwd))
            ok(r.rest.decode().strip() == str(want), p, f'--cwd {os.path.basename(cwd)}', r)
        for cwd in ('/', str(p.home), '..', '/nonexistent', '../../..'):
            r = box.exec('-s', 's', '--cwd', cwd, '--', 'true')
            ok(r.code == 125 and b'is not shown in session' in r.err, p, f'--cwd {cwd} is refused', r)
        r = box.exec('-s', 's', '--cwd', 'not-there', '--', 'true')
        ok(r.code == 125 and b'not-there' in r.err, p, 'one that is not there', r)
        r = box.sh('pwd', '-s', 's', '--workspace', str(box.ws), cwd='/')
        ok(r.rest.decode().strip() == str(box.ws), p, 'from elsewhere: the workspace', r)


def case_limits(p):
    with Box(p, 'limits') as box:
        box.start('s', '--timeout', '5s', '--max-output', '8k')
        r = box.sh('sleep 20', '-s', 's', '--timeout', '300ms')
        ok(r.booted and r.code == 124 and r.seconds < 4 and b'timed out' in r.err, p, 'a timeout of its own', r)
        r = box.exec('-s', 's', '--timeout', '6s', '--', 'true')
        ok(r.code == 125 and b'6s' in r.err and b'timeout = 5s' in r.err, p, 'not more than the session\'s', r)
        r = box.exec('-s', 's', '--timeout', '5s', '--', 'true')
        ok(r.code == 0, p, 'as much as it', r)
        r = box.exec('-s', 's', '-j', '--', 'seq', '100000')
        j = r.json()
        ok(len(r.err) < 9000 and j['usage']['output_dropped'] > 500000, p, 'max_output', j.get('usage'))
        r = box.exec('-s', 's', '--max-output', '9k', '--', 'true')
        ok(r.code == 125 and b'max_output = 8k' in r.err, p, 'nor more output', r)
        r = box.exec('-s', 's', '--max-output', '2k', '--', 'seq', '100000')
        ok(r.code == 0 and 2000 < len(r.out) < 2400, p, 'less', r)
        r = box.exec('-s', 's', '--cpu', '200ms', '--', 'sh', '-c', 'while :; do :; done')
        ok(r.code != 0 and r.code != 124 and b'cpu' in r.err, p, 'CPU time', r)
        ok(b'hint: pale exec --cpu MORE' in r.err, p, 'a limit of its own, and what sets another', r)
        r = box.sh('echo fine', '-s', 's')
        ok(r.rest == b'fine\n', p, 'the session goes on', r)
        for option, value in (('--timeout', '1x'), ('--memory', 'y'), ('--pids', '0'), ('--pids', '-1'), ('--cpu', '')):
            r = box.exec('-s', 's', option, value, '--', 'true')
            ok(r.code == 125 and option.encode() in r.err, p, f'{option} {value!r} is refused', r)
        r = box.exec('-s', 's', '-j', '--timeout', '4s', '--cpu', '3s', '--memory', '512m', '--pids', '50', '--max-output', '4k', '--', 'true')
        j = r.json()
        states = {d: j.get('enforced', {}).get(d, {}).get('state') for d in ('timeout', 'cpu', 'memory', 'pids', 'max_output')}
        ok(states == dict(timeout='enforced', cpu='degraded', memory='degraded', pids='degraded', max_output='enforced'), p,
           'each is reported with what holds it', j.get('enforced'))
        ok([j.get('spec', {}).get(d) for d in states] == ['4s', '3s', '512m', 50, '4k'], p, 'and with its value', j.get('spec'))
        if box.start('t', '--cpu', '200ms').code != 0:
            return # only a cgroup holds it for all of a session
        r = box.exec('-s', 't', '--', 'sh', '-c', 'while :; do :; done')
        ok(b"limit of session 't'" in r.err and b'pale run' not in r.err, p, "the session's own limit is said to be that", r)


def case_signals(p):
    with Box(p, 'signals') as box:
        box.start('s')
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT):
            run = box.popen('exec', '-s', 's', '--', 'sh', '-c', f'trap "echo got; exit 5" {sig.name[3:]}; echo up; while :; do sleep 0.02; done',
                            stdout=subprocess.PIPE)
            run.stdout.readline()
            run.send_signal(sig)
            out, _ = run.communicate(timeout=10)
            ok(run.returncode == 5 and out == b'got\n', p, f'{sig.name} is passed on', (run.returncode, out))
        m = mark()
        run = box.popen('exec', '-s', 's', '--', 'sh', '-c', f'sleep 300 & echo up; wait; : {m}', stdout=subprocess.PIPE)
        run.stdout.readline()
        inside = marked(m)
        run.kill()
        run.wait()
        ok(len(inside) >= 2 and wait_for(lambda: not marked(m)), p, 'a client that is killed takes its command along', (inside, marked(m)))
        reader, writer = socket.socketpair()
        m = mark()
        run = box.popen('exec', '-s', 's', '--result-fd', str(writer.fileno()), '--', 'sh', '-c', f'sleep 300; : {m}', pass_fds=[writer.fileno()])
        writer.close()
        wait_for(lambda: len(marked(m)) >= 2)
        reader.close()
        ok(run.wait(10) != 0 and wait_for(lambda: not marked(m)), p, 'a hang-up of --result-fd ends it', marked(m))
        run = box.popen('exec', '-s', 's', '--', 'sh', '-c', f'trap "" TERM; echo up; while :; do sleep 1; done; : {m}', stdout=subprocess.PIPE)
        run.stdout.readline()
        run.kill()
        ok(wait_for(lambda: not marked(m)), p, 'also one that does not listen', marked(m))


def case_background(p):
    with Box(p, 'background') as box:
        box.start('s')
        r = box.exec('-s', 's', '-b', '--', 'sh', '-c', 'echo one; echo two >&2; while ! [ -e go ]; do sleep 0.02; done; echo three; exit 9')
        run = r.out.decode().strip()
        ok(r.code == 0 and re.fullmatch(r'[0-9a-f]{11}-[0-9a-f]{10}', run), p, 'the id is printed at once', r)
        ok(wait_for(lambda: box.verb('output', run).out == b'one\ntwo\n'), p, 'both streams are kept', box.verb('output', run))
        r = box.verb('output', run[:14], '--from', '4')
        ok(r.out == b'two\n', p, 'from an offset, by a prefix', r)
        r = box.verb('output', run, '-j', '--from', '4')
        ok(r.json() == {'run': run, 'from': 4, 'next': 8, 'total': 8, 'dropped': 0, 'ended': False, 'outcome': 'running',
                        'exit_code': None, 'signal': None, 'output': 'two\n'}, p, 'as JSON', r)
        r = box.verb('wait', run, '--timeout', '100ms')
        ok(r.code == 124 and b'still runs' in r.err, p, 'wait gives up', r)
        r = box.verb('wait', run, '--timeout', '100ms', '--json')
        ok(r.code == 124 and r.err == b'' and 'still runs' in r.json()['error']['message'] and r.json()['run'] == run, p, 'as JSON, too', r)
        r = box.verb('wait', '--json', 'nope')
        ok(r.code == 125 and r.err == b'' and 'nope' in r.json()['error']['message'], p, 'so is that there is no such command', r)
        follow = box.popen('output', run, '--follow', stdout=subprocess.PIPE)
        wait = box.popen('wait', run, '-j', stdout=subprocess.PIPE)
        time.sleep(0.1)
        box.p.write(box.ws / 'go', '')
        ok(follow.communicate(timeout=10)[0] == b'one\ntwo\nthree\n' and follow.returncode == 0, p, '--follow ends with the command')
        out, _ = wait.communicate(timeout=10)
        ok(wait.returncode == 9 and json.loads(out)['exit_code'] == 9 and json.loads(out)['run'] == run, p, 'wait has its status', out)
        ok(box.verb('wait', run).code == 9 and box.verb('output', run).out.endswith(b'three\n'), p, 'also later')
        r = box.verb('signal', run, 'TERM')
        ok(r.code == 2 and b'has ended' in r.err, p, 'no signal for one that has ended', r)
        run = box.exec('-s', 's', '-b', '-j', '--', 'sleep', '300').json()['run']
        ok(box.list()[0]['running'] == 1 or len(box.list()) > 1, p, 'it is in the list', box.list())
        ok(box.verb('signal', run, 'KILL').code == 0 and box.verb('wait', run).code == 137, p, 'signal')
        for sig in ('NOPE', '0', '65', ''):
            run = box.exec('-s', 's', '-b', '--', 'sleep', '300').out.decode().strip()
            r = box.verb('signal', run, sig)
            ok(r.code == 2 and b'no signal' in r.err, p, f'{sig!r} is none', r)
            box.verb('signal', run, '9')
        for verb in (('output',), ('wait',), ('signal',)):
            r = box.verb(*verb, 'ffff', *(('TERM',) if verb[0] == 'signal' else ()))
            ok(r.code in (2, 125) and b"no session here has a command 'ffff'" in r.err, p, f'{verb[0]}: no such command', r)
        run = box.exec('-s', 's', '-b', '--', 'cat').out.decode().strip()
        ok(box.verb('wait', run).code == 0, p, 'its input is empty')


def case_half_a_character(p):
    """As JSON no character is cut: its first bytes wait for the rest, and nobody is kept busy meanwhile."""
    with Box(p, 'half') as box:
        box.start('s')
        run = box.exec('-s', 's', '-b', '--', 'sh', '-c', r"""printf 'a\303'; while ! [ -e go ]; do sleep 0.02; done; printf '\251\n\342\202'""")
        run = run.out.decode().strip()
        follow = box.popen('output', run, '--follow', '--json', stdout=subprocess.PIPE)
        ok(wait_for(lambda: box.verb('output', run, '-j').json()['total'] == 2), p, 'half of one is there')
        time.sleep(0.5)
        box.p.write(box.ws / 'go', '')
        chunks = [json.loads(line) for line in follow.communicate(timeout=10)[0].split(b'\n')[:-1]]
        ok(''.join(c['output'] for c in chunks) == 'a\u00e9\n\ufffd\ufffd', p, 'whole characters, and at the end what is none', chunks[-3:])
        ok(len(chunks) <= 4 and all(c['output'] or c['ended'] for c in chunks), p, 'told once each', len(chunks))
        ok([c['from'] for c in chunks] == [0] + [c['next'] for c in chunks[:-1]] and chunks[-1]['next'] == 6, p, 'the offsets meet',
           [(c['from'], c['next']) for c in chunks[-4:]])


def case_background_output_is_bounded(p):
    with Box(p, 'bounded') as box:
        box.start('s', '--max-output', '64k')
        run = box.exec('-s', 's', '-b', '--', 'seq', '1000000').out.decode().strip()
        ok(box.verb('wait', run).code == 0, p, 'nobody blocks it')
        r = box.verb('output', run)
        note = f'[pale: {6888896 - 65536} bytes dropped]'.encode()
        kept = [line for line in r.out.split(b'\n') if line != note]
        size = len(r.out) - len(b'\n' + note + b'\n')
        ok(60000 < size <= 65536 and kept[:2] == [b'1', b'2'] and kept[-2] == b'1000000', p, 'beginning and end', size)
        ok(r.out.count(b'\n' + note + b'\n') == 1 and max(len(line) for line in kept) <= 7, p, 'where they part is said, as in the foreground')
        r = box.verb('output', run, '--from', '1000000')
        gap = f'[pale: {6888896 - 49152 - 1000000} bytes dropped]\n'.encode()
        ok(r.out.startswith(gap) and len(r.out) == len(gap) + 49152, p, 'also from an offset in between on', r.out[:80])
        r = box.verb('output', run, '--from', str(6888896 - 8))
        ok(r.out == b'1000000\n', p, 'and nothing is said where nothing is missing', r)
        j = box.verb('output', run, '-j').json()
        ok(j['total'] == 6888896 and j['dropped'] == 6888896 - 65536 and j['next'] == 6888896 - 49152, p, 'what is missing is counted', {**j, 'output': ''})
        j = box.verb('output', run, '-j', '--from', '1000000').json()
        ok(j['from'] == 6888896 - 49152, p, 'an offset in the gap leads behind it', {**j, 'output': ''})
        size = max(f.stat().st_size for f in box.runtime.rglob('out/*'))
        ok(size <= 65536, p, 'the file is bounded', size)
        # of many that have ended the oldest are forgotten
        first = box.exec('-s', 's', '-b', '--', 'true').out.decode().strip()
        for _ in range(70):
            last = box.exec('-s', 's', '-b', '--', 'echo', 'x').out.decode().strip()
            box.verb('wait', last)
        ok(box.verb('output', last).out == b'x\n' and box.verb('output', first).code == 2, p, 'the latest are kept')
        ok(len(list(box.runtime.rglob('out/*'))) <= 2 * 65, p, 'and no more', len(list(box.runtime.rglob('out/*'))))


def case_policy_changes(p):
    changes = {
        'the user\'s file': lambda box: box.config('[sandbox]\npreset = "build"\n'),
        'pale.toml': lambda box: box.p.write(box.ws / 'pale.toml', '# other\n'),
        '.paleignore': lambda box: box.p.write(box.ws / '.paleignore', 'secret\n'),
        'its removal': lambda box: (box.ws / 'pale.toml').unlink(),
    }
    for what, change in changes.items():
        with Box(p, 'policy') as box:
            box.p.write(box.ws / 'pale.toml', '')
            box.p.write(box.ws / '.paleignore', '# none\n')
            box.start('s')
            ok(box.exec('-s', 's', '--', 'true').code == 0, p, f'before {what}')
            change(box)
            r = box.exec('-s', 's', '--', 'touch', 'ran')
            ok(r.code == 125 and b'has changed since' in r.err and b'session stop s' in r.err and not (box.ws / 'ran').exists(), p,
               f'{what}: refused, with the fix', r)
            r = box.exec('-s', 's', '-j', '--', 'true')
            ok(r.json().get('outcome') == 'refused' and r.json()['error']['code'] == 'policy', p, f'{what}: as JSON', r)
    if ENGINE:
        return
    with Box(p, 'policy') as box:
        box.p.write(box.ws / 'pale.toml', '')
        box.p.write(box.ws / '.paleignore', '# none\n')
        box.exec('--', 'true')
        pid = box.pid()
        box.p.write(box.ws / '.paleignore', 'secret\n')
        box.p.write(box.ws / 'secret', 'x')
        r = box.sh('cat secret')
        ok(r.booted and r.code != 0 and box.pid() not in (None, pid) and not alive(pid), p, 'the workspace\'s own is started anew', r)
        run = box.exec('-b', '--', 'sleep', '300').out.decode().strip()
        box.p.write(box.ws / '.paleignore', '# none\n')
        r = box.exec('--', 'true')
        ok(r.code == 125 and b'still run in it' in r.err and box.verb('wait', run, '--timeout', '50ms').code == 124, p, 'unless somebody uses it', r)


def case_policy_changes_meanwhile(p):
    """While a session starts: what has been read by then is not what holds."""
    if not shutil.which('strace'):
        return skip(p, 'no strace')
    changes = {'changed': lambda path: path.write_text('[sandbox.env]\nset = { V = "new" }\n'), 'removed': lambda path: path.unlink()}
    for what, change in changes.items():
        with Box(p, 'meanwhile') as box:
            path = box.ws / 'pale.toml'
            box.p.write(path, '[sandbox.env]\nset = { V = "old" }\n')
            begin = time.monotonic()
            # sockets of the host are asked for when all files have been read
            start = box.p.start('strace', '-qq', '-o', '/dev/null', '-e', 'trace=sendto', '-e', 'inject=sendto:delay_enter=500000:when=1',
                                box.p.pale_path, 'session', 'start', 's', cwd=box.ws, env=box.env, stderr=subprocess.PIPE)
            time.sleep(0.25)
            change(path)
            err = start.communicate(timeout=20)[1]
            if time.monotonic() - begin < 0.5:
                return skip(p, 'nothing is delayed here')
            ok(start.returncode == 0, p, f'pale.toml is {what} meanwhile: it starts', err)
            r = box.exec('-s', 's', '--', 'sh', '-c', 'echo "BOOTED $V"')
            ok(r.out == (b'BOOTED new\n' if what == 'changed' else b'BOOTED \n'), p, 'with what holds now', r)


def case_trust_is_withdrawn(p):
    with Box(p, 'trust') as box:
        box.p.write(box.ws / 'pale.toml', f'[presets.p]\nbase = "workspace"\npaths_readable = ["{p.outside}"]\n[sandbox]\npreset = "p"\n')
        r = box.start('s')
        ok(r.code == 125 and b'trust' in r.err and not box.left(), p, 'without trust nothing is started', r)
        box.verb('trust', '--yes')
        ok(box.start('s').code == 0 and box.exec('-s', 's', '--', 'cat', f'{p.outside}/canary').out == b'canary\n', p, 'with it')
        box.verb('trust', '--revoke')
        r = box.exec('-s', 's', '--', 'cat', f'{p.outside}/canary')
        ok(r.code == 125 and b'trust has changed' in r.err and r.out == b'', p, 'no longer', r)


def case_idle(p):
    with Box(p, 'idle') as box:
        box.start('s', '--idle', '600ms')
        for _ in range(4):
            time.sleep(0.3)
            ok(box.exec('-s', 's', '--', 'true').code == 0, p, 'it is used')
        run = box.exec('-s', 's', '--', 'sleep', '1.2')
        ok(run.code == 0, p, 'a command that runs is use', run)
        pid = box.pid('s')
        ok(wait_for(lambda: not alive(pid), 8) and not box.left(), p, 'then it ends by itself, and cleans up', box.left())
        for bad in ('0s', 'x', '-1s'):
            r = box.start('s', '--idle', bad)
            ok(r.code == 125 and b'--idle' in r.err, p, f'--idle {bad} is refused', r)
        box.config('[session]\nidle = "300ms"\n')
        box.start('s')
        pid = box.pid('s')
        ok(pid and wait_for(lambda: not alive(pid), 8), p, '[session] idle')
        box.p.write(box.ws / 'pale.toml', '[session]\nidle = "10h"\n')
        r = box.start('s')
        ok(r.code == 125 and b'session' in r.err, p, 'not in a workspace', r)


def case_lifeline(p):
    with Box(p, 'lifeline') as box:
        for kind in ('socket', 'pipe'):
            if kind == 'socket':
                a, b = (s.detach() for s in socket.socketpair())
            else:
                # the writer's end: it is told when nobody reads
                a, b = os.pipe()
            box.start('s', '--lifeline-fd', str(b), pass_fds=[b])
            os.close(b)
            pid = box.pid('s')
            ok(pid and alive(pid) and box.exec('-s', 's', '--', 'true').code == 0, p, f'{kind}: it stands')
            os.close(a)
            ok(wait_for(lambda: not alive(pid)) and not box.left(), p, f'{kind}: it ends with the other end', box.left())
        for bad in ('2', 'x', '999'):
            ok(box.start('s', '--lifeline-fd', bad).code == 125, p, f'--lifeline-fd {bad} is refused')


def case_nothing_is_held(p):
    """A keeper holds neither the streams nor the folder of who started it."""
    with Box(p, 'held') as box:
        reader, writer = os.pipe()
        extra_r, extra_w = os.pipe()
        r = box.p.start(box.p.pale_path, 'session', 'start', 's', cwd=box.ws, env=box.env, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer,
                        pass_fds=[extra_w])
        os.close(writer)
        os.close(extra_w)
        ok(r.wait(20) == 0 and os.read(reader, 1) == b'' and os.read(extra_r, 1) == b'', p, 'no descriptor of the caller\'s')
        os.close(reader)
        os.close(extra_r)
        pid = box.pid('s')
        ok(os.readlink(f'/proc/{pid}/cwd') == '/' and os.getsid(pid) == pid, p, 'a session of its own, in /')
        ok(not [f for f in os.listdir(f'/proc/{pid}/fd') if str(box.ws) in os.readlink(f'/proc/{pid}/fd/{f}')
                and 'pale' not in os.readlink(f'/proc/{pid}/fd/{f}')], p, 'no folder')
        before = sorted(os.listdir(f'/proc/{pid}/fd'))
        for _ in range(20):
            box.exec('-s', 's', '--', 'true')
        box.verb('wait', box.exec('-s', 's', '-b', '--', 'true').out.decode().strip())
        # one file: what the command in the background printed
        held = lambda: sorted(os.listdir(f'/proc/{pid}/fd'))
        # the spare that waits for the next command goes after some seconds
        ok(wait_for(lambda: len(held()) <= len(before) + 1, 15), p, 'commands leave none', (before, held()))


@needs('ephemeral')
def case_staged(p):
    with Box(p, 'staged') as box:
        box.p.write(box.ws / 'file', 'old\n')
        r = box.start('s', '--staged', '-j')
        ok(r.json().get('stage') == 's', p, 'a stage of its own', r)
        box.sh('echo new >file; echo x >made', '-s', 's')
        r = box.sh('cat file made', '-s', 's')
        ok(r.rest == b'new\nx\n' and (box.ws / 'file').read_text() == 'old\n' and not (box.ws / 'made').exists(), p,
           'commands see it, the host does not', r)
        ok(box.verb('diff', '--stage', 's', '--name-status').out.split(b'\n')[:2] == [b'M\tfile', b'A\tmade'] or b'file' in box.verb('diff', '--stage', 's', '--name-status').out,
           p, 'diff while it stands', box.verb('diff', '--stage', 's', '--name-status'))
        r = box.verb('apply', '--stage', 's')
        ok(r.code == 1 and b'in use' in r.err and (box.ws / 'file').read_text() == 'old\n', p, 'apply waits for its end', r)
        for verb in (['apply', '--stage', 's'], ['discard', '--all', '--stage', 's'], ['stages', 'rm', 's']):
            r = box.verb(*verb)
            ok(r.code == 1 and b'session s' in r.err and b'`pale session stop s`' in r.err, p,
               f'{verb[0]} says which session it is, and how to end it', r)
        r = p.pale('--stage', 's', '--', 'cat', 'file', cwd=box.ws, env=box.env)
        ok(r.out == b'new\n', p, 'a run in the same stage sees it', r)
        p.pale('--stage', 's', '--', 'sh', '-c', 'echo too >two', cwd=box.ws, env=box.env)
        ok(box.exec('-s', 's', '--', 'cat', 'two').out == b'too\n', p, 'and is seen')
        box.verb('session', 'stop', 's')
        r = box.verb('apply', '--stage', 's')
        ok(r.code == 0 and (box.ws / 'file').read_text() == 'new\n' and (box.ws / 'two').exists(), p, 'then it applies', r)
        box.start('s', '--staged')
        r = box.verb('undo')
        ok(r.code == 1 and b'`pale session stop s`' in r.err, p, 'undo says it as well', r)
        box.verb('session', 'stop', 's')
        box.start('t', '--stage', 'other')
        ok(box.list()[-1]['stage'] == 'other' or any(s['stage'] == 'other' for s in box.list()), p, '--stage')
        box.start('u', '--direct')
        ok(all(s['stage'] is None for s in box.list() if s['session'] == 'u'), p, '--direct has none', box.list())


def ends(box, name, pids):
    """Is everything of a session gone, and its folder by the next command?"""
    gone = wait_for(lambda: not [x for x in pids if alive(x)], 10)
    box.verb('session', 'list')
    return gone and not [f for f in box.left() if f'/{name}/' in f]


def tree(pid):
    found = [pid]
    for child in subprocess.run(['pgrep', '-P', str(pid)], capture_output=True, text=True).stdout.split():
        found += tree(int(child))
    return found


def case_killed(p):
    for who in ('keeper', 'warden'):
        with Box(p, 'killed') as box:
            box.start('s')
            m = mark()
            run = box.popen('exec', '-s', 's', '--', 'sh', '-c', f'echo up; sleep 300; : {m}', stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            run.stdout.readline()
            box.exec('-s', 's', '-b', '--', 'sh', '-c', f'setsid sleep 300 & sleep 300; : {m}')
            keeper = box.pid('s')
            pids = tree(keeper)
            os.kill(keeper if who == 'keeper' else pids[1], signal.SIGKILL)
            out, err = run.communicate(timeout=15)
            ok(run.returncode == 137, p, f'{who}: its client is told, and not that nothing was executed', (run.returncode, err))
            ok(len(pids) >= 4 and ends(box, 's', pids) and not marked(m), p, f'{who}: nothing is left', (box.left(), marked(m)))
            r = box.start('s')
            ok(r.code == 0 and box.exec('-s', 's', '--', 'true').code == 0, p, f'{who}: the name is free', r)
    with Box(p, 'killed') as box:
        box.start('s')
        keeper = box.pid('s')
        os.kill(keeper, signal.SIGKILL)
        wait_for(lambda: not alive(keeper))
        r = box.verb('session', 'prune', '-j')
        ok(r.json().get('removed') == 1 and not box.left(), p, 'prune', r)
        # another process has the number by now: it must not be touched
        box.start('s')
        keeper = box.pid('s')
        file = next(box.runtime.rglob('session'))
        other = subprocess.Popen(['sleep', '60'])
        text = file.read_text().replace(f'"pid":{keeper}', f'"pid":{other.pid}')
        file.write_text(text)
        os.kill(keeper, signal.SIGKILL)
        wait_for(lambda: not alive(keeper))
        for verb in (('stop', 's'), ('rm', 's'), ('prune',), ('list',)):
            box.verb('session', *verb)
        ok(other.poll() is None and not box.left(), p, 'a number that somebody wrote down is nobody to be killed', box.left())
        other.kill()
        other.wait()


def case_stuck_keeper(p):
    with Box(p, 'stuck') as box:
        box.start('s')
        keeper = box.pid('s')
        os.kill(keeper, signal.SIGSTOP)
        r = box.verb('session', 'stop', 's')
        ok(r.code == 0 and not alive(keeper) and not box.left(), p, 'one that does not answer is ended all the same', (r, box.left()))


def case_two_at_once(p):
    with Box(p, 'two') as box:
        for _ in range(4):
            both = [box.popen('session', 'start', 's', stderr=subprocess.PIPE) for _ in range(2)]
            err = b''.join(b.communicate(timeout=20)[1] for b in both)
            ok(sorted(b.returncode for b in both) == [0, 125] and b'already' in err, p, 'one wins, the other says so', ([b.returncode for b in both], err))
            ok(box.exec('-s', 's', '--', 'true').code == 0, p, 'it stands')
            box.verb('session', 'stop', 's')


def case_many_clients(p):
    with Box(p, 'clients') as box:
        box.start('s')
        bad = []

        def client(n):
            for i in range(6):
                r = box.sh(f'echo {n}-{i}; exit {(n + i) % 100}', '-s', 's')
                if r.rest != f'{n}-{i}\n'.encode() or r.code != (n + i) % 100:
                    bad.append(r)

        threads = [threading.Thread(target=client, args=(n,)) for n in range(12)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        ok(not bad, p, '12 clients, 72 commands: each has its own output and status', bad[:1] and str(bad[0]))
        # one that does not read, and one that says nothing, are in nobody's way
        folder = next(f.parent for f in box.runtime.rglob('socket'))
        mute = []
        if os.geteuid() == p.uid:
            for _ in range(5):
                s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                s.connect(f'/proc/self/fd/{os.open(folder, os.O_RDONLY)}/socket')
                mute.append(s)
            mute[0].send(b'x' * 100)
        slow = box.popen('exec', '-s', 's', '--', 'sh', '-c', 'yes | head -c 3000000', stdout=subprocess.PIPE)
        r = box.sh('echo quick', '-s', 's', timeout=10)
        ok(r.rest == b'quick\n' and r.seconds < 5, p, 'a slow one blocks nobody', r)
        slow.stdout.close()
        slow.wait()
        [s.close() for s in mute]


def case_big_and_odd_arguments(p):
    with Box(p, 'big') as box:
        box.start('s')
        big = 'x' * 100000
        r = box.exec('-s', 's', '--', 'sh', '-c', 'printf "%s" "$#"; shift 4; printf " %s" "${#1}"', 'sh', *[big] * 5)
        ok(r.out == b'5 100000', p, 'half a megabyte of arguments', r)
        r = box.exec('-s', 's', '--', 'true', *['y' * 120000] * 12)
        ok(r.code == 125 and b'bytes' in r.err, p, 'too much is refused', str(r)[-300:])
        r = box.exec('-s', 's', '--', 'printf', '%s|', '', 'a b', '\n', '--', '-s', b'\xff\xfe')
        ok(r.out == b'|a b|\n|--|-s|\xff\xfe|', p, 'odd ones are passed as they are', r)
        r = box.exec('-s', 's', '--', 'true', stdin=os.open('/', os.O_RDONLY))
        ok(r.code == 125 and b'is a folder' in r.err, p, 'a folder as input is refused', r)
        r = box.exec('-s', 's', '--')
        ok(r.code == 125 and b'operand is missing' in r.err, p, 'no command', r)


class Terminal:
    def __init__(self, box, *args):
        self.master, slave = os.openpty()

        def leader():
            os.setsid()
            import fcntl
            import termios
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        self.proc = box.p.start(box.p.pale_path, *args, cwd=box.ws, env=box.env, stdin=slave, stdout=slave, stderr=slave, preexec_fn=leader)
        os.close(slave)
        self.seen = b''

    def wait(self, text, seconds=10):
        end = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.master, 4096)
                except OSError:
                    break
        return text in self.seen

    def type(self, text):
        os.write(self.master, text)

    def close(self):
        os.close(self.master)


def case_terminal(p):
    with Box(p, 'terminal') as box:
        box.start('s')
        t = Terminal(box, 'exec', '-s', 's', '--', 'sh', '-c', 'trap "echo int; exit 3" INT; tty; echo BOOTED; read x; echo "got $x"; while :; do sleep 0.02; done')
        ok(t.wait(b'BOOTED'), p, 'it has one', t.seen)
        ok(b'/dev/pts/' in t.seen, p, 'of its own', t.seen)
        t.type(b'words\n')
        ok(t.wait(b'got words'), p, 'the keyboard reaches it', t.seen)
        t.type(b'\x03')
        ok(t.wait(b'int') and t.proc.wait(10) == 3, p, 'Ctrl-C does', t.seen)
        t.close()
        t = Terminal(box, 'exec', '-s', 's', '--', 'sh', '-c', 'stty size; echo BOOTED; read x')
        t.wait(b'BOOTED')
        m = mark()
        t.close()
        ok(t.proc.wait(10) != 0, p, 'a terminal that goes away ends it', t.seen)
        t = Terminal(box, 'exec', '-s', 's', '--', 'sh', '-c', f'echo BOOTED; sleep 300; : {m}')
        t.wait(b'BOOTED')
        t.proc.kill()
        t.proc.wait()
        ok(wait_for(lambda: not marked(m)), p, 'and so does the end of the client', marked(m))
        t.close()


def case_many_sessions(p):
    with Box(p, 'many') as box:
        folders = []
        try:
            for n in range(MANY):
                ws = p.mkdir(box.top / f'w{n}')
                folders.append(ws)
                r = box.start('s', cwd=ws)
                if r.code != 0:
                    ok(False, p, f'session {n} starts', r)
                    return
            for n, ws in enumerate(folders):
                box.exec('-s', 's', '--', 'sh', '-c', f'echo {n} >mine', cwd=ws)
            ok([(ws / 'mine').read_text() for ws in folders] == [f'{n}\n' for n in range(MANY)], p, f'{MANY} sessions, each in its own workspace')
            all_ = box.verb('session', 'list', '--all', '-j').json()
            ok(len({s['workspace'] for s in all_} & {str(w) for w in folders}) == MANY, p, 'list --all', len(all_))
            time.sleep(1.2)
            worst, whole, without = 0, 0, 0
            for s in all_:
                # past the user's number of inotify instances, protected names are looked at by the clock
                if not any('inotify' in os.readlink(f'/proc/{s["pid"]}/fd/{f}') for f in os.listdir(f'/proc/{s["pid"]}/fd')):
                    without += 1
                    continue
                for pid in [] if os.geteuid() != 0 else [s['pid']] + [int(c) for c in subprocess.run(['pgrep', '-P', str(s['pid'])], capture_output=True, text=True).stdout.split()]:
                    # the number in status is a guess, by a few dozen pages for each processor
                    text = pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text()
                    rss, shared = (int(re.search(rf'^{key}:\s+(\d+)', text, re.M)[1]) for key in ('Rss', 'Shared_Clean'))
                    whole, worst = max(whole, rss), max(worst, rss - shared)
            note(f'the largest of pale\'s own processes has {whole} KiB resident, {worst} without the pages of the program that all share; {without} sessions have no inotify, and are left out')
            # how much of the program comes along with a page of it depends on how it lies in the cache
            if os.geteuid() == 0:
                ok(ENGINE or 0 < worst <= 256, p, 'at most 256 KiB of its own resident each', worst)
            else:
                skip(p, 'nobody but root sees what the warden holds', only_root=True)
        finally:
            for ws in folders:
                box.verb('session', 'stop', '--all', cwd=ws)
        ok(not box.left(), p, 'nothing is left', box.left()[:5])


def mounts(p):
    """But for those of tests beside this one."""
    return sum('/pale-live-' not in line or str(p.base) in line for line in open('/proc/self/mountinfo'))


def case_start_stop_in_a_row(p):
    with Box(p, 'row') as box:
        box.start('s')
        box.verb('session', 'stop', 's')
        before = mounts(p), digest(box.runtime), len(marked(str(p.pale_path)))
        bad, made = [], set()
        for n in range(STARTS):
            others = cgroups(p)
            codes = [box.start('s', *(('--staged',) if n % 3 == 0 and not ENGINE else ()), *(('--pids', '100', '--allow-degraded', 'pids') if n % 4 == 0 else ())).code]
            made |= cgroups(p) - others
            codes += [box.exec('-s', 's', '--', 'true').code if n % 2 else 0, box.verb('session', 'stop', 's').code]
            if any(codes):
                bad.append((n, codes))
        after = mounts(p), digest(box.runtime), len(marked(str(p.pale_path)))
        ok(not bad, p, f'{STARTS} sessions in a row', bad[:3])
        ok(before == after, p, 'leave no mount, file or process', (before, after))
        # some may be of other runs of this user's
        ok(wait_for(lambda: not made & cgroups(p), 20), p, f'and none of {len(made)} cgroups', made & cgroups(p))


main(case_start_exec_stop, case_names, case_on_demand, case_stays, case_confined_like_a_run, case_json_and_history, case_environment, case_folder,
     case_limits, case_signals, case_background, case_half_a_character, case_background_output_is_bounded, case_policy_changes, case_policy_changes_meanwhile, case_trust_is_withdrawn, case_idle,
     case_lifeline, case_nothing_is_held, case_staged, case_killed, case_stuck_keeper, case_two_at_once, case_many_clients,
     case_big_and_odd_arguments, case_terminal, case_many_sessions, case_start_stop_in_a_row)
