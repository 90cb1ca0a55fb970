#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is remembered of runs: all of it, nothing secret, and never at the price of a run.

HISTORY_PROCESSES and HISTORY_RUNS set how many processes run how many commands at once
(50 and 2; 100 for the whole).
"""
import fcntl
import re
import sqlite3
import sys
import threading
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

PROCESSES = int(os.environ.get('HISTORY_PROCESSES', '50'))
RUNS = int(os.environ.get('HISTORY_RUNS', '2'))
UNSTORED = b'could not be written to the history'


class Box:
    """A workspace of its own, with a state of its own."""

    def __init__(self, p, name):
        self.p = p
        self.top = p.mkdir(p.base / 'history' / f'{name}-{time.time_ns()}')
        self.ws = p.mkdir(self.top / 'ws')
        self.state = p.mkdir(self.top / 'state', 0o700)
        if os.geteuid() == 0:
            os.chown(self.state, p.uid, p.uid)
        self.env = dict(p.env, XDG_STATE_HOME=str(self.state), XDG_CONFIG_HOME=str(self.top / 'config'))

    def config(self, text):
        path = self.p.write(self.top / 'config/pale/pale.toml', text)
        if os.geteuid() == 0:
            for f in (path, path.parent, path.parent.parent):
                os.chown(f, self.p.uid, self.p.uid)

    def pale(self, *args, **kw):
        kw.setdefault('env', self.env)
        return self.p.pale(*args, cwd=self.ws, **kw)

    def verb(self, *args, **kw):
        kw.setdefault('env', self.env)
        return self.p.verb(*args, cwd=self.ws, **kw)

    def start(self, *args, **kw):
        return self.p.start_pale(*args, cwd=self.ws, env=self.env, **kw)

    def runs(self, *args):
        """The newest first."""
        return self.verb('runs', '-n', '0', '-j', *args).json()

    @property
    def dir(self):
        """The workspace's folder in the state."""
        return next((self.state / 'pale').glob('ws-*'))

    def bytes(self):
        """Everything that is in the state."""
        return b''.join(f.read_bytes() for f in sorted(self.state.rglob('*')) if f.is_file())

    def sql(self, text, factory=str):
        db = sqlite3.connect(self.dir / 'history.db')
        db.text_factory = factory
        try:
            return db.execute(text).fetchall()
        finally:
            db.commit()
            db.close()

    def integrity(self):
        return self.sql('PRAGMA integrity_check') == [('ok',)]


def outcomes(box):
    return [r['outcome'] for r in box.runs()][::-1]


def case_outcomes(p):
    box = Box(p, 'outcomes')
    box.config('[ceiling]\nnetwork = "none"\n')
    want = []
    for options, argv, outcome, code in (
            ((), ('true',), 'ok', 0),
            ((), ('sh', '-c', 'exit 3'), 'failed', 3),
            ((), ('sh', '-c', 'kill -9 $$'), 'signaled', 137),
            (('--timeout', '100ms'), ('sleep', '9'), 'timeout', 124),
            (('--network', 'unrestricted'), ('true',), 'refused', 125),
            ((), ('./none',), 'error', 127)):
        r = box.pale(*options, '--', *argv)
        ok(r.code == code and UNSTORED not in r.err, p, f'{outcome}: the status is {code}', r)
        want.append(outcome)
    got = box.runs()[::-1]
    ok([r['outcome'] for r in got] == want, p, 'every run is remembered, with its outcome', got)
    ok(box.runs('--outcome', 'timeout')[0]['program'] == 'sleep', p, 'and found by it')
    ok([r['error'] for r in got] == [None] * 4 + ['policy', 'not_found'], p, 'what was refused has a code', got)
    ok([r['program'] for r in got] == ['true', 'sh', 'sh', 'sleep', 'true', 'none'], p, 'and the name of its program', got)
    ok(got[1]['exit_code'] == 3 and got[2]['signal'] == 9 and got[3]['limits']['timeout_ms'] == 100, p, 'and what belongs to it', got)
    ok(got[0]['usage']['memory_peak'] or 'landlock' in ENGINE or not p.is_root, p, 'usage is known where somebody counts', got[0])
    kinds = [(e['kind'], e['code']) for e in box.verb('events', '-n', '0', '-j').json()]
    ok(('sandbox.limit', 'timeout') in kinds and kinds.count(('sandbox.start', None)) == 5, p,
       'events: one start for each that was tried', kinds)
    shown = box.verb('show', 'last', '-j').json()
    ok(box.verb('show', '-j').json() == shown, p, 'the last run is meant when none is named', shown)
    table = box.verb('runs').out.decode()
    ok(re.search(r' (\d+ ms|[\d.]+ s) +[\d.]+ [KM]iB ', table), p, 'times and sizes are written as elsewhere', table)
    ok(shown['run'] == got[-1]['run'] and shown['outcome'] == 'error' and shown['events'], p, 'show last', shown)
    ok(box.verb('show', got[0]['run'][:-2], '-j').json()['run'] == got[0]['run'], p, 'show by the beginning of an id')
    ok(box.verb('show', 'zzz').code == 2 and box.verb('show', '1').code == 2, p, 'one that is not there, and one that is several')
    box.config('')
    p.write(box.ws / 'pale.toml', '[commands.greet]\ncmd = "echo hello"\n')
    r = box.pale('greet')
    ok(r.code == 0 and box.runs('--command', 'greet')[0]['command'] == 'greet', p, 'a registered command has its name', r)
    ok(stat.S_IMODE(box.dir.stat().st_mode) == 0o700 and {stat.S_IMODE(f.stat().st_mode) for f in box.dir.iterdir() if f.is_file()} == {0o600},
       p, 'all of it is for nobody else', list(box.dir.iterdir()))


def descendants(pid):
    found = []
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        for child in (task / 'children').read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def case_running_and_unknown(p):
    box = Box(p, 'running')
    box.pale('--', 'true')
    word = mark()
    run = box.start('--', 'sh', '-c', f': {word}; sleep 60', stdin=subprocess.DEVNULL)
    ok(wait_for(lambda: outcomes(box) == ['ok', 'running']), p, 'a run that goes on is running', outcomes(box))
    got = box.runs('--outcome', 'running')
    ok(len(got) == 1 and alive(got[0]['pid']), p, 'and its pid is that of a process', got)
    ok(box.runs('--outcome', 'unknown') == [], p, 'none is unknown')
    if os.geteuid() == 0:
        wait_for(lambda: len(descendants(got[0]['pid'])) >= 2)
        inside = descendants(got[0]['pid'])
        open_there = [os.readlink(f) for pid in inside for f in pathlib.Path(f'/proc/{pid}/fd').iterdir()]
        ok(len(inside) >= 2 and not [f for f in open_there if str(box.state) in f], p,
           'no process inside has a descriptor of the history', open_there)
    run.kill() if p.uid == os.geteuid() else os.kill(got[0]['pid'], signal.SIGKILL)
    run.wait()
    wait_for(lambda: not marked(word))
    ok(outcomes(box) == ['ok', 'unknown'], p, 'one whose end nobody saw is unknown', outcomes(box))
    ok(b'never seen' in box.verb('show', 'last').out, p, 'and show says so')
    box.pale('--', 'true')
    ok(outcomes(box) == ['ok', 'unknown', 'ok'], p, 'the next one is remembered as ever')


def case_out_of_reach_PT15(p):
    box = Box(p, 'reach')
    box.pale('--', 'true')
    box.runs()
    box.pale('--', 'true')
    before = {f.name: f.read_bytes() for f in box.dir.iterdir() if f.is_file() and f.name != 'spool'}
    spool = (box.dir / 'spool').read_bytes()
    line = ('d=$1; ls "$d" && echo SEEN; cat "$d"/spool "$d"/history.db; echo forged >>"$d"/spool && echo WROTE; '
            'for f in /proc/[0-9]*/fd/*; do case $(readlink "$f") in *spool*|*history*|*living*|*state*) echo "FOUND $f";; esac; done; :')
    # landlock hides nothing below an open folder, bwrap nothing in a folder of root's
    above = [('--read', str(box.top))] if has('hidden') and not (ENGINE and p.is_root) else []
    for options in p.each((), ('--filesystem', 'unrestricted'), ('--filesystem', 'readonly'), *above):
        r = box.pale(*options, '--', 'sh', '-c', 'echo BOOTED; ' + line, 'sh', str(box.dir), timeout=20)
        ok(r.booted and b'SEEN' not in r.out and b'WROTE' not in r.out and b'FOUND' not in r.out and b'SQLite' not in r.out, p,
           f"{' '.join(options) or 'workspace'}: the history cannot be reached", r)
    now = {f.name: f.read_bytes() for f in box.dir.iterdir() if f.is_file() and f.name != 'spool'}
    ok(now == before and (box.dir / 'spool').read_bytes().startswith(spool) and b'forged' not in box.bytes(), p, 'and is as it was')
    r = p.run('sh', '-c', 'echo BOOTED; ' + line, 'sh', str(box.dir))
    ok(b'SEEN' in r.out and b'WROTE' in r.out, p, 'the same on the host reaches it', r)
    box.verb('runs')
    ok(all(o == 'ok' for o in outcomes(box)), p, 'and what was forged is no run', outcomes(box))
    fresh = Box(p, 'first')
    r = fresh.pale('--filesystem', 'unrestricted', '--', 'sh', '-c', 'echo BOOTED; ls -A "$1" && echo SEEN', 'sh', str(fresh.state / 'pale')) \
        if not p.lacks(('--filesystem', 'unrestricted')) else None
    if r:
        ok(r.booted and b'SEEN' not in r.out.replace(b'BOOTED', b'') or b'ws-' not in r.out, p, 'nor by the very first run', r)
        ok(outcomes(fresh) == ['ok'] or outcomes(fresh) == ['failed'], p, 'which is remembered', fresh.runs())


SECRETS = [f'SECRET-{kind}-{n}' for n, kind in enumerate(('argv', 'env', 'setenv', 'output', 'errput', 'host', 'key', 'hidden', 'message'))]


def secret_runs(box):
    argv, env, setenv, output, errput, host, key, hidden, message = SECRETS
    path = box.p.write(box.top / f'{key}.pem', 'x')
    environ = dict(box.env, TOKEN=env)
    box.pale('--pass', 'TOKEN', '--setenv', f'S={setenv}', '--hide', f'/nonexistent/{hidden}', '--read', str(path), '--max-output', '4k',
             '--', 'sh', '-c', f'echo $0; echo {output[:6]}${{1}}; echo $2 >&2; test -n "$TOKEN"', argv, output[6:], errput, env=environ)
    box.pale('--network', 'allowed_hosts', '--host', f'{host.lower()}.example', '--', 'true', env=environ)
    box.pale('--', f'./{message}/none', argv, env=environ)


def case_nothing_secret(p):
    box = Box(p, 'secret')
    secret_runs(box)
    spool = box.bytes()
    ok(spool.count(b'"type":"end"') == 3, p, 'three runs are in the spool', spool)
    kept = b''.join(f.read_bytes() for f in box.dir.glob('output/*'))
    # what was kept of the output is kept: in a file that expires, and only there
    spool_only = b''.join(f.read_bytes() for f in box.dir.iterdir() if f.is_file())
    found = [s for s in SECRETS if s.encode() in spool_only or s.lower().encode() in spool_only]
    ok(not found, p, 'nothing of what they were given or said is', found)
    box.verb('runs')
    box.verb('status')
    everything = b''.join(f.read_bytes() for f in box.dir.iterdir() if f.is_file())
    found = [s for s in SECRETS if s.encode() in everything or s.lower().encode() in everything]
    ok(b'SQLite format 3' in everything and not found, p, 'nor in the database', found)
    texts = b''.join(box.verb(*v).out for v in (('runs', '-j'), ('events', '-n', '0', '-j'), ('status', '-j'), ('show', 'last', '-j')))
    found = [s for s in SECRETS if s.encode() in texts or s.lower().encode() in texts]
    ok(not found, p, 'nor in what verbs print', found)
    ok(SECRETS[3].encode() in kept, p, 'output that is kept is kept in a file of its own', kept)
    twin = Box(p, 'told')
    twin.config('[history]\nstore_argv = true\n')
    secret_runs(twin)
    ok(SECRETS[0].encode() in b''.join(f.read_bytes() for f in twin.dir.iterdir() if f.is_file()), p, 'with store_argv the arguments are')
    ok(twin.runs()[-1]['argv'][-3] == SECRETS[0], p, 'and come back', twin.runs()[-1])
    ok(not [s for s in SECRETS[1:3] if s.encode() in twin.bytes()], p, 'but no variables')


def case_turned_off(p):
    box = Box(p, 'off')
    box.config('[history]\nenabled = false\n')
    r = box.pale('--json', '--', 'true')
    ok(r.code == 0 and r.json()['history'] is None and not list(box.state.rglob('*')), p, 'nothing is written when it is off', r)
    ok(box.runs() == [] and box.verb('runs').code == 0, p, 'and nothing is there')
    box.config('')
    p.write(box.ws / 'pale.toml', '[history]\nenabled = false\n')
    r = box.pale('--', 'echo', 'ran')
    ok(r.code == 125 and b'ran' not in r.out and b'history' in r.err, p, 'a workspace cannot turn it off', r)
    p.write(box.ws / 'pale.toml', '[history]\nstore_argv = true\n')
    ok(box.pale('--', 'true').code == 125, p, 'nor have more remembered')


def case_cannot_be_stored(p):
    """Read-only, no home, a lock that nobody gives back, a limit on files, something in its place."""
    def twice(box, why, env=None, prefix=()):
        for code in (0, 7):
            r = p.run(*prefix, *p.pale_argv('--', 'sh', '-c', f'echo ran; exit {code}'), cwd=box.ws, env=env or box.env)
            ok(r.code == code and r.out == b'ran\n' and r.err.count(UNSTORED) == 1 and len(re.findall(b'^pale: ', r.err, re.M)) == 1, p,
               f'{why}: the command runs, its status is {code}, one line says so', r)
        r = p.run(*prefix, *p.pale_argv('--json', '--', 'true'), cwd=box.ws, env=env or box.env)
        ok(r.code == 0 and UNSTORED not in r.err and r.json()['history']['stored'] is False and r.json()['history']['error'], p,
           f'{why}: with --json it is in the result', r)

    box = Box(p, 'home')
    env = {k: v for k, v in box.env.items() if k not in ('HOME', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME')}
    if p.uid == ORDINARY[1]:
        twice(box, 'no home', env)
    twice(box, 'a home that is not there', dict(env, HOME=str(box.top / 'none'))) if p.uid == ORDINARY[1] else None
    ok(not (box.top / 'none').exists(), p, 'which is not made')
    box.pale('--', 'true')
    ok(len(box.runs()) == 1, p, 'a run is remembered')
    holder = open(box.dir / 'spool', 'wb')
    os.chown(box.dir / 'spool', p.uid, p.uid) if os.geteuid() == 0 else None
    fcntl.flock(holder, fcntl.LOCK_EX)
    begin = time.monotonic()
    twice(box, 'somebody sits on the lock')
    ok(time.monotonic() - begin < 15, p, 'and nobody waits for long')
    r = box.verb('runs', '-j')
    ok(r.code in (0, 1) and r.seconds < 10, p, 'nor does who reads', r)
    holder.close()
    box.pale('--', 'true')
    ok(len(box.runs()) == 2, p, 'then it goes on')
    while not (box.dir / 'spool').exists() or (box.dir / 'spool').stat().st_size < 8192:
        box.pale('--', 'true')
    twice(box, 'files may not grow', prefix=('sh', '-c', 'ulimit -f 16; exec "$@"', 'sh'))
    (box.dir / 'spool').unlink(missing_ok=True)
    (box.dir / 'spool').mkdir()
    twice(box, 'a folder in its place')
    (box.dir / 'spool').rmdir()
    os.symlink(box.top / 'elsewhere', box.dir / 'spool')
    twice(box, 'a link in its place')
    ok(not (box.top / 'elsewhere').exists(), p, 'which is not followed')
    (box.dir / 'spool').unlink()
    word = mark()
    run = box.start('--', 'sh', '-c', f': {word}; read x; exit 4', stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: (box.dir / 'spool').exists() and (box.dir / 'spool').stat().st_size > 0)
    shutil.rmtree(box.dir)
    err = run.communicate(b'\n')[1]
    ok(run.returncode == 4 and UNSTORED in err, p, 'the state is removed during a run', err)


def mounted(p, box, options):
    """Something else as the state; None where that needs root."""
    if os.geteuid() != 0:
        skip(p, 'needs root to mount', only_root=True)
        return False
    subprocess.run(['mount', '-t', 'tmpfs', '-o', options + f',uid={p.uid},gid={p.uid},mode=700', 'pale-test', box.state], check=True)
    return True


def case_read_only_state(p):
    box = Box(p, 'readonly')
    if not mounted(p, box, 'size=16m'):
        return
    try:
        for n in range(3):
            box.pale('--', 'sh', '-c', f'exit {n}')
        ok(len(box.runs()) == 3, p, 'three runs are remembered')
        box.pale('--', 'true')
        subprocess.run(['mount', '-o', 'remount,ro', box.state], check=True)
        r = box.pale('--', 'sh', '-c', 'echo ran; exit 5')
        ok(r.code == 5 and r.out == b'ran\n' and r.err.count(UNSTORED) == 1, p, 'the command runs', r)
        r = box.verb('runs', '-j')
        ok(r.code == 0 and len(r.json()) == 4 and b'cannot be written' in r.err, p, 'all that is there can be read, and it is said why no more comes', r)
        ok(box.verb('status').code == 0 and box.verb('runs', 'prune', '--older-than', '1ms').code == 1, p, 'status works, prune cannot')
        subprocess.run(['mount', '-o', 'remount,rw', box.state], check=True)
        box.pale('--', 'true')
        ok(len(box.runs()) == 5 and box.integrity(), p, 'later nothing is lost or doubled')
    finally:
        subprocess.run(['umount', '-l', box.state])


def case_full_disk_HS05(p):
    box = Box(p, 'full')
    if not mounted(p, box, 'size=512k'):
        return
    try:
        for n in range(3):
            box.pale('--', 'true')
        box.runs()
        box.pale('--', 'true')
        with open(box.dir / 'ballast', 'wb', buffering=0) as f:
            try:
                while True:
                    f.write(b'x' * 4096)
            except OSError:
                pass
        r = box.verb('runs', '-j')
        ok(r.code == 0 and len(r.json()) == 4, p, 'a full disk: all that is there can be read', r)
        said = 0
        for n in range(12):
            r = box.pale('--', 'sh', '-c', 'echo ran; exit 5', timeout=20)
            said += UNSTORED in r.err
            if not (r.code == 5 and r.out == b'ran\n' and r.err.count(UNSTORED) <= 1):
                ok(False, p, 'the command runs and its status is right', r)
        ok(said > 0, p, f'the command runs and its status is right; {said} of 12 times it is said that it cannot be remembered')
        r = box.verb('runs', '-j')
        ok(r.code == 0 and len(r.json()) >= 4, p, 'reading goes on', r)
        (box.dir / 'ballast').unlink()
        box.pale('--', 'true')
        r = box.verb('runs', '-n', '0', '-j')
        ok(r.code == 0 and len(r.json()) == len({x['run'] for x in r.json()}) and r.json()[0]['outcome'] == 'ok' and box.integrity(), p,
           'with room it goes on, nothing is doubled and nothing damaged', r)
    finally:
        subprocess.run(['umount', '-l', box.state])


def case_odd_names_HS07(p):
    box = Box(p, 'names')
    names = [b"'); DROP TABLE runs; --", b'na\xff\xfeme', b'x' * 255, '\u202etxt'.encode(), b'a\nb\x1b[31m', b'%s%n', b'"quote\\']
    for name in names:
        target = os.fsencode(box.ws) + b'/' + name
        os.symlink('/bin/true', target)
        r = box.pale('--', b'./' + name)
        ok(r.code == 0, p, f'a program called {name[:20]!r} runs', r)
    got = box.runs()[::-1]
    stored = [row[0] for row in box.sql('SELECT program FROM runs ORDER BY seq', bytes)]
    ok(stored == names and len(got) == len(names), p, 'and is stored as it is called', stored)
    ok(len(box.runs('--command', os.fsdecode(names[0]))) == 1 and len(box.runs('--command', "' OR 1=1 --")) == 0, p, 'a name is a name in queries')
    text = box.verb('runs').out
    ok(b'\x1b' not in text and text.count(b'\n') == len(names) + 1, p, 'tables show no control characters', text)
    box.config('[history]\nstore_argv = true\n')
    r = box.pale('--', 'true', *['y' * 100000] * 15)
    ok(r.code == 0 and len(box.bytes()) < 2_000_000, p, 'a command line of 1.5 MB is cut', len(box.bytes()))
    r = box.pale('--', 'true', b'\xff\xfe', "it's")
    got = box.runs()[0]['argv']
    ok(got == ['true', {'arg_hex': 'fffe'}, "it's"], p, 'arguments that are not UTF-8 come back', got)


def case_many_at_once(p):
    """And somebody reads all the while."""
    box = Box(p, 'many')
    wrong, stop = [], threading.Event()

    def work(n):
        for i in range(RUNS):
            r = box.pale('--', 'true', timeout=120)
            if r.code != 0 or r.err:
                wrong.append(r)

    def read():
        while not stop.is_set():
            r = box.verb('runs', '-n', '1', '-j', timeout=120)
            if r.code != 0 or r.err:
                wrong.append(r)
            time.sleep(0.05)
    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=work, args=(n,)) for n in range(PROCESSES)]
    for t in readers + writers:
        t.start()
    for t in writers:
        t.join()
    stop.set()
    for t in readers:
        t.join()
    got = box.runs()
    ok(not wrong, p, 'every run and every reader succeeds', wrong[:3])
    ok(len(got) == len({r['run'] for r in got}) == PROCESSES * RUNS and {r['outcome'] for r in got} == {'ok'} and box.integrity(), p,
       f'{PROCESSES} processes, {RUNS} runs each: {PROCESSES * RUNS} rows', len(got))
    ok(not list(box.dir.glob('spool*')), p, 'and the spool is empty', list(box.dir.iterdir()))
    ok(box.sql("SELECT count(*) FROM events WHERE kind != 'sandbox.degraded'") == [(2 * PROCESSES * RUNS,)], p, 'two events each')


def case_damaged_and_newer_HS03_HS09(p):
    box = Box(p, 'damaged')
    box.pale('--', 'true')
    box.runs()
    (box.dir / 'history.db').write_bytes(b'this is no database' * 1000)
    r = box.pale('--', 'sh', '-c', 'exit 3')
    ok(r.code == 3 and not r.err, p, 'a run does not care about a damaged database', r)
    r = box.verb('runs', '-j')
    ok(r.code == 0 and b'damaged' in r.err and len(r.json()) == 1, p, 'who reads says so, and begins anew', r)
    ok(not box.verb('runs').err and len(list(box.dir.glob('history.db.damaged-*'))) == 1, p, 'once; the old one is kept')
    box.sql('CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END')
    box.pale('--', 'true')
    r = box.verb('runs', '-j')
    ok(b'damaged or not' in r.err and len(r.json()) == 1, p, 'one with a trigger is not used', r)
    box.sql('PRAGMA user_version = 77')
    before = (box.dir / 'history.db').read_bytes()
    r = box.pale('--', 'sh', '-c', 'exit 4')
    ok(r.code == 4 and not r.err, p, 'nor about a newer one', r)
    r = box.verb('runs')
    ok(r.code == 1 and b'newer' in r.err and (box.dir / 'history.db').read_bytes() == before, p, 'which is refused and not touched', r)
    ok(box.verb('status').code == 0, p, 'status works without it')
    box.sql('PRAGMA user_version = 3')
    ok(len(box.runs()) == 2, p, 'and what ran meanwhile was kept for it')


def case_follow(p):
    box = Box(p, 'follow-text')
    follow = p.start(p.pale_path, 'events', '--follow', cwd=box.ws, env=box.env, stdout=subprocess.PIPE)
    try:
        for _ in range(2):
            box.pale('--', 'true')
        heads = [follow.stdout.readline().split()[0] for _ in range(5)]
        ok(heads[0] == b'TIME' and heads.count(b'TIME') == 1, p, 'as text: one heading, before what comes first', heads)
    finally:
        follow.kill()
        follow.wait()
    box = Box(p, 'follow')
    follow = p.start(p.pale_path, 'events', '--follow', '-j', cwd=box.ws, env=box.env, stdout=subprocess.PIPE)

    def two():
        events = (json.loads(follow.stdout.readline()) for _ in range(9))
        events = (e for e in events if e['kind'] != 'sandbox.degraded')
        return [next(events), next(events)]
    box.pale('--', 'true')
    lines = two()
    ok([e['kind'] for e in lines] == ['sandbox.start', 'sandbox.exit'], p, 'events come as they happen, one object a line', lines)
    box.pale('--', 'false')
    more = two()
    ok([e['id'] for e in lines + more] == sorted({e['id'] for e in lines + more}) and more[1]['code'] == 'failed', p,
       'each once, with ids that rise', more)
    follow.terminate()
    follow.wait()


def case_follow_replaced(p):
    """Who follows keeps a database open; one that was set aside meanwhile must not get what comes later."""
    box = Box(p, 'follow-replaced')
    box.pale('--', 'true')
    follow = p.start(p.pale_path, 'events', '--follow', '-j', '--kind', 'sandbox.exit', cwd=box.ws, env=box.env, stdout=subprocess.PIPE)
    try:
        first = json.loads(follow.stdout.readline())
        for part in ('history.db-wal', 'history.db-shm', 'history.db'):
            if (box.dir / part).exists():
                (box.dir / part).rename(box.dir / part.replace('history.db', 'history.db.damaged-1'))
        box.pale('--', 'sh', '-c', 'exit 3')
        code = json.loads(follow.stdout.readline())
        ok(code['run'] != first['run'] and code['data']['exit_code'] == 3, p, 'who follows goes on with the new one', code)
        time.sleep(0.5)  # who follows folds every 0.2 s
        runs = box.runs()
        ok([r['exit_code'] for r in runs] == [3], p, 'what was run is in the database that others open', runs)
    finally:
        follow.kill()
        follow.wait()


def case_prune(p):
    box = Box(p, 'prune')
    p.write(box.ws / 'pale.toml', '[commands.forgettable]\ncmd = "true"\n')
    box.pale('forgettable')
    box.runs()
    time.sleep(1.2)
    box.pale('--', 'true')
    r = box.verb('runs', 'prune', '--older-than', '1s', '--dry-run')
    ok(r.out == b'1 run would be forgotten\n' and len(box.runs()) == 2, p, 'a dry run only says how many', r)
    r = box.verb('runs', 'prune', '--older-than', '1s', '-j')
    ok(r.json() == {'runs': 1, 'dry_run': False} and len(box.runs()) == 1, p, 'the old one is forgotten', r)
    ok(b'forgettable' not in box.bytes(), p, 'and nothing of it is left in the file')
    ok(box.verb('runs', 'prune').code == 2 and box.verb('runs', 'prune', '--older-than', 'x').code == 2, p, 'how old must be said')


@needs('ephemeral')
def case_staged_deeds(p):
    box = Box(p, 'deeds')
    box.pale('--staged', '--', 'sh', '-c', 'echo 1 >one; echo 2 >two')
    for verb in (('apply', 'one'), ('undo',), ('discard', '--all'), ('stages', 'rm', 'default')):
        r = box.verb(*verb)
        ok(r.code == 0, p, f'{verb[0]} works', r)
    got = [(e['kind'], e['data']) for e in box.verb('events', '-n', '0', '-j').json() if not e['kind'].startswith('sandbox')]
    ok([k for k, _ in got] == ['apply.done', 'apply.undo', 'stage.discard', 'stage.remove'], p, 'what was done is in the events', got)
    ok(got[0][1]['changes'] == 1 and got[0][1]['stage'] == 'default', p, 'with how much', got)
    r = box.verb('events', '--kind', 'apply', '-j')
    ok([e['kind'] for e in r.json()] == ['apply.done', 'apply.undo'], p, 'a family of kinds', r)
    r = box.verb('events', '--kind', 'applied')
    ok(r.code == 2 and b'apply' in r.err, p, 'a kind that is none is an error', r)
    counts = box.verb('status', '-j').json()['history']
    ok(counts['runs'] == 1 and counts['actions']['apply'] == counts['actions']['discard'] == counts['actions']['undo'] == 1, p,
       'and status counts it', counts)


def case_kept_output(p):
    box = Box(p, 'output')
    r = box.pale('--', 'echo', 'not kept')
    ok(r.code == 0 and not (box.dir / 'output').exists() and box.verb('show', 'last', '--output').code == 2, p, 'without max_output nothing is kept', r)
    box.pale('--max-output', '1k', '--', 'sh', '-c', 'printf "out\\n\\033[31m"; echo err >&2')
    r = box.verb('show', 'last', '--output')
    ok(sorted(r.out.splitlines()) == [b'\x1b[31m', b'err', b'out'] or sorted(r.out.splitlines()) == [b'\x1b[31merr', b'out'], p,
       'with it both streams are, as they were', r)
    ok(box.runs()[0]['has_output'] and not box.runs()[1]['has_output'], p, 'the run says so')
    files = list((box.dir / 'output').iterdir())
    ok(len(files) == 1 and stat.S_IMODE(files[0].stat().st_mode) == 0o600 and stat.S_IMODE(files[0].parent.stat().st_mode) == 0o700, p,
       'for nobody else', files)
    r = p.run('script', '-qec', f'{p.pale_path} show last --output', '/dev/null', cwd=box.ws, env=box.env)
    ok(b'\\x1b[31m' in r.out and b'\x1b[31m' not in r.out, p, 'on a terminal it is shown escaped', r)
    r = box.pale('--max-output', '1k', '--', 'sh', '-c', 'i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done')
    kept = box.verb('show', 'last', '--output').out
    ok(kept == r.out and b'bytes dropped' in kept and len(kept) < 1200 and kept.endswith(b'line 1999\n'), p, 'what is kept is what passed', kept)
    box.pale('--max-output', '1k', '--', 'true')
    ok(not box.runs()[0]['has_output'] and len(list((box.dir / 'output').iterdir())) == 2, p, 'nothing is kept of nothing')
    r = box.pale('--max-output', '1k', '--json', '--', 'echo', 'to the caller')
    ok(b'to the caller' in r.err and box.verb('show', 'last', '--output').out == b'to the caller\n', p, 'with --json too', r)
    r = p.run('sh', '-c', 'ulimit -f 64; exec "$@"', 'sh', *p.pale_argv('--max-output', '1m', '--', 'sh', '-c', 'head -c 200000 /dev/zero; exit 3'),
              cwd=box.ws, env=box.env)
    ok(r.code == 3 and len(r.out) == 200000, p, 'a limit on files ends no run', r.code)
    box.config('[history]\noutput_keep = "1s"\n')
    time.sleep(1.2)
    ok(box.verb('show', 'last', '--output').code == 2 and not list((box.dir / 'output').iterdir()), p, 'it expires')
    ok(len(box.runs()) == 6, p, 'and the runs stay', len(box.runs()))
    box.pale('--max-output', '1k', '--', 'echo', 'x')
    box.verb('runs', 'prune', '--older-than', '1ms')
    ok(not list((box.dir / 'output').iterdir()), p, 'prune takes it along')


main(case_outcomes, case_running_and_unknown, case_out_of_reach_PT15, case_nothing_secret, case_turned_off, case_cannot_be_stored,
     case_read_only_state, case_full_disk_HS05, case_odd_names_HS07, case_many_at_once, case_damaged_and_newer_HS03_HS09, case_follow, case_follow_replaced,
     case_prune, case_kept_output, case_staged_deeds)
