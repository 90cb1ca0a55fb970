#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A sandbox that stays up: each command in it is confined anew, is told apart from the
others, keeps its limits, and leaves nothing when the sandbox ends, however it ends."""
import queue
import resource
import socket
import sys
import threading
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

BUILT = TOP / 'build/glibc/tests/live/driver-standing'
MIB = 1 << 20


class Sandbox:
    """driver-standing, as person P."""
    files = 0

    def __init__(self, p, *options, **kw):
        place = p.base.parent / 'bin/driver-standing'
        if not place.exists():
            shutil.copy(BUILT, place)
            place.chmod(0o755)
        if ENGINE:
            options = ('--engine', ENGINE) + ('--allow-degraded', 'processes') * (ENGINE == 'landlock') + options
        self.p, self.next, self.answers, self.told = p, 0, queue.Queue(), []
        self.proc = p.start(place, *options, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, **kw)
        threading.Thread(target=self.listen, daemon=True).start()
        self.first = self.answer('stands', 20)
        self.pid = self.first.get('stands', 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def listen(self):
        for line in self.proc.stdout:
            self.answers.put(json.loads(line))
        self.answers.put(None)

    def order(self, *words):
        assert '\n' not in ''.join(map(str, words))
        self.proc.stdin.write('\t'.join(map(str, words)).encode() + b'\n')
        self.proc.stdin.flush()

    def answer(self, key, seconds=20, value=None):
        """The next answer of this kind; those before it are kept for later."""
        for kept in self.told:
            if key in kept and value in (None, kept[key]):
                self.told.remove(kept)
                return kept
        end = time.monotonic() + seconds
        while True:
            try:
                got = self.answers.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                return {'late': key}
            if got is None:
                return {'hung up': key}
            if key in got and value in (None, got[key]):
                return got
            self.told.append(got)

    def start(self, *argv, **options):
        self.next += 1
        words = [f'{k}={v}' for k, v in options.items() if not isinstance(v, list)]
        words += [f'{k}={v}' for k, vs in options.items() if isinstance(vs, list) for v in vs]
        self.order('start', self.next, *words, '--', *argv)
        return self.next

    def ended(self, number, seconds=20):
        return self.answer('ended', seconds, number)

    def run(self, *argv, seconds=20, **options):
        """What it said, and how it ended."""
        out = self.file()
        got = self.ended(self.start(*argv, out=out, err=out, **options), seconds)
        got['out'] = out.read_text(errors='replace') if out.exists() else ''
        return got

    def sh(self, line, *more, **options):
        return self.run('sh', '-c', 'echo BOOTED; ' + line, 'sh', *more, **options)

    def file(self):
        """A file of the host that the sandbox does not show."""
        Sandbox.files += 1
        folder = self.p.base / 'streams'
        if not folder.exists():
            folder.mkdir(mode=0o755)
            if os.geteuid() == 0:
                os.chown(folder, self.p.uid, self.p.uid)
        return folder / str(Sandbox.files)

    def status(self):
        time.sleep(0.2)  # listeners are closed when there is time
        self.order('status')
        return self.answer('fds')

    def close(self):
        if self.proc.stdin.closed:
            return {}
        try:
            self.proc.stdin.close()
        except BrokenPipeError:
            pass
        got = self.answer('closed', 20)
        self.proc.wait(20)
        return got


def host_pid(sb, mark_word):
    """Of the one process whose command line holds this word."""
    return wait_for(lambda: marked(mark_word))


# -- Errands ------------------------------------------------------------------


def case_errands(p):
    with Sandbox(p) as sb:
        ok(sb.pid > 0, p, 'it stands', sb.first)
        r = sb.sh('echo $0 $1 "$WORD"; pwd; exit 7', 'a', env='WORD=x y')
        ok(r['out'] == f'BOOTED\na x y\n{p.ws}\n'.replace('a x y', 'sh a x y') and r['exit'] == 7 and
           r['outcome'] == 'failed', p, 'arguments, environment, folder and status arrive', r)
        r = sb.run('true')
        ok(r['outcome'] == 'ok' and r['exit'] == 0, p, 'a program by its name', r)
        r = sb.run('no-such-program')
        ok(r['outcome'] == 'error' and 'not found' in r['failed'], p, 'one that is not there', r)
        r = sb.run('/etc/passwd')
        ok(r['outcome'] == 'error' and 'cannot be executed' in r['failed'], p, 'one that is none', r)
        r = sb.run('true', cwd='/no/such/folder')
        ok(r['outcome'] == 'error' and '/no/such/folder' in r['failed'], p, 'no such folder', r)
        r = sb.sh('pwd', cwd='/usr')
        ok(r['out'] == 'BOOTED\n/usr\n', p, 'a folder of its own', r)
        r = sb.sh('kill -9 $$')
        ok(r['outcome'] == 'signaled' and r['signal'] == 9, p, 'a signal is told', r)
        r = sb.sh('cat', **{'in': p.write(p.base / 'input', 'typed\n')})
        ok(r['out'] == 'BOOTED\ntyped\n', p, 'its input', r)
        r = sb.sh('echo remembered >&3', notes=(notes := sb.file()))
        ok(r['outcome'] == 'ok' and notes.read_text() == 'remembered\n', p, 'a fourth descriptor for notes', r)
        r = sb.sh('trap "" PIPE; (echo x; echo y) | head -1; kill -l >/dev/null; sleep 0')
        ok(r['out'] == 'BOOTED\nx\n', p, 'signals are as they are by default', r)
        got = sb.close()
        ok(got.get('closed') == '' and sb.proc.returncode == 0, p, 'and it is closed', got)


def case_sizes(p):
    with Sandbox(p) as sb:
        for size in (100, 12000, 20000, 120000):
            r = sb.sh('printf %s "$FILL" | wc -c', fill=size)
            ok(r['out'].split() == ['BOOTED', str(size)], p, f'an environment of {size} bytes', r)
        r = sb.sh('printf %s%s "$FILL$A" | wc -c', fill=[100000] * 9, env='A=end')
        ok(r['out'].split() == ['BOOTED', '100003'], p, 'nine times 100 000', r)
        sb.start('true', fill=[100000] * 11)
        r = sb.answer('refused')
        ok('1 MiB' in r.get('refused', ''), p, 'more than a MiB is refused', r)
        sb.start('true', fill=140000)
        r = sb.answer('refused')
        ok('128 KiB' in r.get('refused', ''), p, 'and so is one variable of 140 000', r)
        r = sb.run('true', *['x' * 100] * 200)
        ok(r['outcome'] == 'ok', p, 'many arguments', r)
        sb.order('start', 1000001, f'in={p.ws}', '--', 'true')
        r = sb.answer('refused')
        ok('folder' in r.get('refused', ''), p, 'a folder as stdin is refused', r)


def case_what_stays(p):
    with Sandbox(p) as sb:
        r = sb.sh('(sleep 2; echo late > later; echo more >> later) > /dev/null 2>&1 & echo x > first')
        ok(r['outcome'] == 'ok' and r['duration_ms'] < 2000, p, 'a command ends though it left something', r)
        ok(wait_for(lambda: (p.ws / 'later').exists() and (p.ws / 'later').read_text() == 'late\nmore\n'), p,
           'which goes on, and is answered by the observer')
        r = sb.sh('cat first later')
        ok(r['out'] == 'BOOTED\nx\nlate\nmore\n', p, 'and the next one sees what it did', r)
        word = mark()
        sb.sh(f'setsid sh -c "sleep 300; : {word}" >/dev/null 2>&1 &')
        ok(host_pid(sb, word), p, 'what is left runs')
        sb.close()
        ok(wait_for(lambda: not marked(word)), p, 'and ends with the sandbox')
    for name in ('first', 'later'):
        (p.ws / name).unlink()


# -- The boundary -------------------------------------------------------------


def case_boundary_FR_FW_PR01(p):
    canary = subprocess.Popen(p.argv(['sleep', '300']))
    before = digest(p.outside)
    with Sandbox(p) as sb:
        key = p.home / '.ssh/id_rsa'
        r = sb.sh('cat "$1"', key)
        ok('BOOTED' in r['out'] and 'CANARY' not in r['out'], p, 'a key of the host is not there', r)
        ok('CANARY' in p.host_sh('cat "$1"', key).out.decode(), p, '... which the host has')
        r = sb.sh('echo x > "$1"; rm "$1"', p.outside / 'canary')
        ok('BOOTED' in r['out'] and digest(p.outside) == before, p, 'nothing outside is written', r)
        ok(any(v['path'] == str(p.outside / 'canary') for v in r['violations']) or not r['violations'], p,
           'and the attempt is told', r)
        r = sb.sh('echo x > inside && cat inside')
        ok(r['out'] == 'BOOTED\nx\n', p, 'the workspace is', r)
        (p.ws / 'inside').unlink()
        r = sb.sh('echo x > /etc/made')
        ok(r['exit'] != 0 and any(v['path'] == '/etc/made' for v in r['violations']), p, 'violations are its own', r)
        r = sb.sh('true')
        ok(r['violations'] == [], p, 'and not those of another', r)
        r = sb.sh(f'kill -9 {canary.pid}')
        ok('BOOTED' in r['out'] and canary.poll() is None, p, 'a process of the host is out of reach', r)
        r = sb.sh('unshare -U true; mount -t tmpfs x /tmp')
        ok('BOOTED' in r['out'] and r['exit'] != 0 and 'perm' in r['out'].lower(), p, 'the filter holds', r)
        r = sb.sh('grep -E "NoNewPrivs|Seccomp:|CapEff|CapPrm" /proc/self/status')
        ok('NoNewPrivs:\t1' in r['out'] and 'Seccomp:\t2' in r['out'] and 'CapEff:\t0000000000000000' in r['out'],
           p, 'no privileges, and a filter', r)
    canary.kill()
    canary.wait()


@needs('sockets')
def case_network_NE(p):
    with socket.socket() as server, Sandbox(p) as sb:
        server.bind(('127.0.0.1', 0))
        server.listen(5)
        server.settimeout(0.2)
        port = server.getsockname()[1]
        line = ('/usr/bin/python3 -c "import socket; socket.create_connection((\'127.0.0.1\', %d), 2)"' % port)
        r = sb.sh(line)
        try:
            server.accept()
            accepted = True
        except TimeoutError:
            accepted = False
        ok('BOOTED' in r['out'] and r['exit'] != 0 and not accepted, p, 'a listener of the host hears nothing', r)
        host = p.host_sh(line)
        server.settimeout(2)
        ok(server.accept() and host.code == 0, p, '... as it does of the host', host)


TRACE = r'''
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
pid = int(sys.argv[1])
r = libc.ptrace(16, pid, 0, 0)
print('attach', r, ctypes.get_errno())
if r == 0:
    os.waitpid(pid, 0)
for name in ('mem', 'environ', 'maps'):
    try:
        with open(f'/proc/{pid}/{name}', 'rb') as f:
            print(name, 'read', len(f.read(100)) if name != 'mem' else 'open')
    except OSError as e:
        print(name, e.strerror)
try:
    print('fds', len(os.listdir(f'/proc/{pid}/fd')))
except OSError as e:
    print('fds', e.strerror)
try:
    os.kill(pid, 9)
    print('kill sent')
except OSError as e:
    print('kill', e.strerror)
'''


def case_warden_and_tools_are_out_of_reach(p):
    with Sandbox(p) as sb:
        p.write(p.ws / 'trace.py', TRACE)
        out = sb.file()
        tool = sb.start('sleep', tool=1, out=out)
        ok(wait_for(lambda: out.exists() and out.read_text().endswith('\n')), p, 'a tool is there')
        r = sb.sh('/usr/bin/python3 trace.py $PPID')
        ok('attach -1' in r['out'] and 'read' not in r['out'] and 'fds 0' not in r['out'] and 'fds Perm' in r['out'],
           p, 'the warden cannot be traced, nor read', r)
        r = sb.sh('/usr/bin/python3 trace.py "$1"', out.read_text().strip())
        ok('attach -1' in r['out'] and 'read' not in r['out'] and 'fds Perm' in r['out'], p,
           "another command's tool cannot either", r)
        r = sb.run('true')
        ok(r['outcome'] == 'ok', p, 'and the warden lives', r)
        sb.order('signal', tool, 15)
        r = sb.ended(tool)
        ok(r.get('signal') in (9, 15), p, 'the tool is ended by a signal', r)
        if has('tracing'):
            r = sb.sh('sleep 20 & /usr/bin/python3 trace.py $!')
            ok('attach 0' in r['out'] and 'mem read' in r['out'], p, '... where tracing works', r)
    (p.ws / 'trace.py').unlink()


CRIPPLE = r'''
import ctypes, os, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
pid = int(sys.argv[1])
limit = (ctypes.c_ulong * 2)(3, 3)
low = (ctypes.c_ulong * 1)(1)
idle = ctypes.c_int(0)
attr = (ctypes.c_uint32 * 12)(48, 3, 0, 0, 5)
calls = {'nofile': (302, pid, 7, limit, None), 'fsize': (302, pid, 1, limit, None), 'scheduler': (144, pid, 3, ctypes.byref(idle)),
         'affinity': (203, pid, 8, low), 'priority': (141, 0, pid, 9), 'ioprio': (251, 1, pid, 3 << 13),
         'attr': (314, pid, attr, 0), 'all of a user': (141, 2, 0, 9)}
for name in sys.argv[2:] or calls:
    for high in (0, 1 << 32):
        args = [ctypes.c_ulong(a + high) if a is pid and pid > 0 else ctypes.c_ulong(a) if isinstance(a, int) else a for a in calls[name]]
        print(name, libc.syscall(*args), ctypes.get_errno(), flush=True)
'''


def health(pid):
    """What others can take from a process, as the host sees it."""
    return (pathlib.Path(f'/proc/{pid}/limits').read_text(), os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid),
            os.sched_getscheduler(pid))


def inner_pid(pid):
    for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith('NSpid'):
            return line.split()[-1]
    return '0'


@needs('isolated')
def case_limits_and_priorities_of_others(p):
    for options in ((), ('--no-observe',)):
        with Sandbox(p, *options) as sb:
            p.write(p.ws / 'cripple.py', CRIPPLE)
            word = mark()
            other = sb.start('sh', '-c', f'sleep 300; : {word}')
            ok(wait_for(lambda: marked(word)), p, 'another command is there')
            warden, victim = sb.status()['warden'], marked(word)[0]
            before = health(warden), health(victim)
            r = sb.sh('/usr/bin/python3 cripple.py 1')
            ok('BOOTED' in r['out'] and len(r['out'].split('\n')) > 16 and ' 0 0\n' not in r['out'], p, 'nothing of the warden can be changed', r)
            r = sb.sh('/usr/bin/python3 cripple.py "$1" nofile fsize', inner_pid(victim))
            ok('fsize -1 1' in r['out'] and ' 0 0\n' not in r['out'], p, 'nor the limits of another command', r)
            ok((health(warden), health(victim)) == before, p, 'as the host sees it', (before, health(warden), health(victim)))
            r = sb.run('/usr/bin/python3', 'cripple.py', '0', 'affinity', 'scheduler', 'nofile')
            ok(r['out'].count(' 0 0\n') >= 4, p, 'twin: its own can be', r)
            r = sb.sh('sleep 5 & /usr/bin/python3 cripple.py $! affinity scheduler priority; kill $!')
            ok(r['out'].count(' 0 0\n') >= 3, p, 'and priorities of its children', r)
            r = sb.sh('ulimit -n; echo x > cripple.py')
            ok(r['outcome'] == 'ok' and int(r['out'].split()[1]) > 3, p, 'the next command has its limits', r)
            sb.order('end', other)
            ok(sb.ended(other)['signal'] == 15, p, 'and the other one lives')
    (p.ws / 'cripple.py').unlink()


@only_root
def case_warden_with_other_limits(p):
    """As if somebody had changed them: the host does."""
    if ENGINE == 'bwrap':
        return skip(p, 'the warden is further down', only_root=True)
    if ENGINE == 'landlock':
        return skip(p, "the warden is the workspace's owner, and root here may not", only_root=True)
    with Sandbox(p) as sb:
        warden = sb.status()['warden']
        nofile, fsize = resource.prlimit(warden, resource.RLIMIT_NOFILE), resource.prlimit(warden, resource.RLIMIT_FSIZE)
        resource.prlimit(warden, resource.RLIMIT_FSIZE, (0, fsize[1]))
        resource.prlimit(warden, resource.RLIMIT_NOFILE, (60, nofile[1]))
        r = sb.sh('ulimit -n; echo kept > size; cat size')
        ok(r['out'] == f'BOOTED\n{nofile[0]}\nkept\n', p, 'a command has those of the beginning', r)
    (p.ws / 'size').unlink(missing_ok=True)


LEASE = r'''
import fcntl, os, signal, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open('leased', os.O_RDONLY)
try:
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    print('LEASED', flush=True)
    time.sleep(60)
except OSError as e:
    print('errno', e.errno, flush=True)
'''


def case_leases(p):
    p.write(p.ws / 'lease.py', LEASE)
    p.write(p.ws / 'leased', '#!/bin/sh\necho RAN\n', 0o755)
    with Sandbox(p) as sb:
        r = sb.run('/usr/bin/python3', 'lease.py', seconds=5)
        ok(r.get('out') == 'errno 1\n', p, 'no lease on a program', r)
        r = sb.run('./leased')
        ok(r['out'] == 'RAN\n', p, 'which can be executed', r)
    holder = p.start('/usr/bin/python3', 'lease.py', stdout=subprocess.PIPE, cwd=p.ws)
    ok(holder.stdout.readline() == b'LEASED\n', p, 'twin: without pale there is one')
    with Sandbox(p) as sb:
        begin = time.monotonic()
        stuck, waiting = sb.start('./leased', timeout=500), sb.start('true')
        r, took = sb.ended(stuck, 15), time.monotonic() - begin
        ok(r.get('outcome') == 'timeout' and 5 < took < 12, p, f'a warden that hangs in a launch is ended ({took:.1f} s)', r)
        ok('gone' in sb.answer('gone', 5), p, 'with the sandbox', sb.told)
    holder.kill()
    holder.wait()
    for name in ('lease.py', 'leased'):
        (p.ws / name).unlink()


def case_descriptors(p):
    with Sandbox(p) as sb:
        outs = [sb.file() for _ in range(12)]
        p.write(p.ws / 'fds.py', 'import os, time\ntime.sleep(0.3)\n'
                'for fd in range(100):\n'
                '    try: os.fstat(fd); print(fd, os.readlink(f"/proc/self/fd/{fd}"))\n'
                '    except OSError: pass\n')
        runs = []
        for i, out in enumerate(outs):
            options = {'notes': sb.file()} if i % 3 == 0 else {}
            if i % 3 == 1:
                runs.append(sb.start('fds', tool=1, out=out, **options))
            else:
                runs.append(sb.start('/usr/bin/python3', 'fds.py', out=out, **options))
        ends = [sb.ended(n) for n in runs]
        for i, (end, out) in enumerate(zip(ends, outs)):
            numbers = [line.split()[0] for line in out.read_text().splitlines()]
            want = ['0', '1', '2', '3'] if i % 3 == 0 else ['0', '1', '2']
            ok(numbers == want and (i % 3 == 1 or str(out.name) in out.read_text().splitlines()[1]), p,
               f'command {i} has its own and no other', (end, out.read_text()))
        ok(all(e['exit'] == 7 for e in ends[1::3]), p, "a tool has none of the caller's environment", ends[1::3])


def case_streams_are_nobody_elses(p):
    """What is opened for the streams of one command is closed to the next."""
    with Sandbox(p) as sb:
        out = p.write(sb.file(), '', 0o666)
        r = sb.ended(sb.start('sh', '-c', 'echo BOOTED; echo again >> /dev/stdout', out=out))
        ok(out.read_text() == 'BOOTED\nagain\n', p, 'a command can reopen its own', (r, out.read_text()))
        size = out.stat().st_size
        r = sb.sh('echo intruder >> "$1"', out)
        ok('BOOTED' in r['out'] and 'intruder' not in out.read_text() and out.stat().st_size == size, p,
           'which another one cannot', r)


# -- Limits -------------------------------------------------------------------


def case_timeout_PR11(p):
    with Sandbox(p) as sb:
        word = mark()
        out = sb.file()
        begin = time.monotonic()
        r = sb.ended(sb.start('sh', '-c', f'trap "" TERM; sh -c "sleep 300; : {word}" & (setsid sh -c "sleep 300; : {word}") & '
                              'while :; do sleep 1; done', out=out, timeout=300))
        took = time.monotonic() - begin
        ok(r['outcome'] == 'timeout' and 2 < took < 6, p, f'ends after SIGTERM and its grace ({took:.1f} s)', r)
        ok(wait_for(lambda: not marked(word), 5), p, 'with all that it had started', marked(word))
        r = sb.run('sleep', '300', timeout=200)
        ok(r['outcome'] == 'timeout' and r['duration_ms'] < 2000, p, 'at once when it obeys', r)
        r = sb.sh('kill -STOP $$', timeout=200)
        ok(r['outcome'] == 'timeout', p, 'even when it is stopped', r)
        number = sb.start('sleep', '300')
        sb.order('end', number)
        r = sb.ended(number)
        ok(r['outcome'] == 'signaled' and r['signal'] == 15, p, 'ended by order', r)
        number = sb.start('sleep', '300')
        sb.order('signal', number, 10)
        r = sb.ended(number)
        ok(r['outcome'] == 'signaled' and r['signal'] == 10, p, 'a signal by order', r)
        r = sb.run('true', timeout=5000)
        ok(r['outcome'] == 'ok', p, 'the sandbox goes on', r)


DAEMON = r'''
import os, signal, subprocess, sys, time
word, what = sys.argv[1:3]
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        x = []
        while True:
            if what == 'memory':
                x.append(bytearray(4 << 20))
            if what == 'pids':
                x.append(subprocess.Popen(['sleep', '300']))
            if what != 'cpu':
                time.sleep(0.01)
    os._exit(0)
os.wait()
signal.signal(signal.SIGTERM, signal.SIG_DFL)
if what != 'nothing':
    time.sleep(300)
'''


def case_daemons(p):
    """What has left its session and its parents still is of the command while that lives."""
    p.write(p.ws / 'daemon.py', DAEMON)
    with Sandbox(p) as sb:
        for what, options, outcome in (('time', {'timeout': 700}, 'timeout'), ('cpu', {'cpu': 500}, 'limit'),
                                       ('memory', {'memory': 60 * MIB}, 'oom'), ('pids', {'pids': 9}, 'limit')):
            word = mark()
            r = sb.run('/usr/bin/python3', 'daemon.py', word, what, seconds=30, **options)
            ok(r.get('outcome') == outcome and wait_for(lambda: not marked(word), 5), p, f'{what}: a daemon counts, and ends', (r, marked(word)))
        word = mark()
        r = sb.run('/usr/bin/python3', 'daemon.py', word, 'nothing', timeout=20000)
        ok(r.get('outcome') == 'ok' and marked(word), p, 'twin: what a command leaves behind stays', r)
    ok(wait_for(lambda: not marked(word), 5), p, 'until the sandbox ends', marked(word))
    (p.ws / 'daemon.py').unlink()


def case_limits_of_one(p):
    p.write(p.ws / 'hog.py', 'import time\nx = []\nwhile True:\n    x.append(bytearray(1 << 20))\n    time.sleep(0.002)\n')
    with Sandbox(p) as sb:
        other = sb.start('sleep', '300')
        r = sb.sh('while :; do :; done', cpu=300)
        ok(r['outcome'] == 'limit' and r['limit'] == 'cpu' and 200 < r['cpu_ms'] < 3000, p, 'CPU time', r)
        r = sb.run('/usr/bin/python3', 'hog.py', memory=60 * MIB)
        ok(r['outcome'] == 'oom' and r['limit'] == 'memory' and 50 * MIB < r['memory'] < 400 * MIB, p, 'memory', r)
        r = sb.sh('for i in 1 2 3 4 5 6 7 8 9 10; do sleep 300 & done; wait', pids=5)
        ok(r['outcome'] == 'limit' and r['limit'] == 'pids', p, 'processes', r)
        r = sb.sh('sleep 0.2; sh -c "sleep 0.1"', cpu=5000, memory=500 * MIB, pids=50, timeout=20000)
        ok(r['outcome'] == 'ok', p, 'who keeps them is left alone', r)
        sb.order('end', other)
        ok(sb.ended(other)['signal'] == 15, p, 'and so were the others')


@only_root
def case_memory_of_all(p):
    spec = 'network = "none"\nfilesystem = "workspace_only"\nmemory = "64m"\n'
    with Sandbox(p, '--spec', spec) as sb:
        ok(sb.pid > 0, p, 'it stands', sb.first)
        other = sb.start('sleep', '300')
        r = sb.run('/usr/bin/python3', '-c', 'x = bytearray(300 << 20)')
        ok(r['outcome'] in ('oom', 'failed') and (r['outcome'] == 'failed' or r['limit'] == 'memory'), p,
           'a command that wants too much ends', r)
        r = sb.run('true')
        ok(r['outcome'] == 'ok', p, 'the sandbox stays', r)
        sb.order('end', other)
        r = sb.ended(other)
        ok(r.get('signal') == 15, p, 'and so does another command', r)


# -- Terminals ----------------------------------------------------------------


def case_terminal(p):
    with Sandbox(p) as sb:
        screen = sb.file()

        def shows(text):
            return wait_for(lambda: screen.exists() and text in screen.read_text(errors='replace'))
        number = sb.start('sh', '-c', 'tty; stty size; echo READY; read line; echo "got $line"; cat; echo "status $?"', tty=screen)
        ok(shows('READY') and '24 80' in screen.read_text() and '/dev/pts/' in screen.read_text(), p,
           'a terminal of its own', screen.exists() and screen.read_text())
        sb.order('type', number, 'hello\r')
        ok(shows('got hello'), p, 'takes what is typed', screen.read_text())
        sb.order('type', number, 'again\r')  # sh may overhear an interrupt until cat is there
        ok(wait_for(lambda: screen.read_text().count('again') == 2), p, 'line by line', screen.read_text())
        sb.order('type', number, '\x03')
        r = sb.ended(number)
        ok(r.get('signal') == 2 or r.get('exit') == 130, p, 'Ctrl-C ends it', r)
        screen = sb.file()
        number = sb.start('sh', '-c', 'echo READY; sleep 300; :', tty=screen)
        ok(shows('READY'), p, 'another one')
        time.sleep(0.3)  # a shell that waits for its child to execute does not stop
        sb.order('type', number, '\x1a')
        ok(sb.answer('stopped').get('stopped') == number, p, 'Ctrl-Z stops it, and that is told')
        r = sb.run('true')
        ok(r['outcome'] == 'ok', p, 'others go on', r)
        sb.order('signal', number, 18)
        sb.order('signal', number, 1)
        r = sb.ended(number)
        ok(r.get('signal') == 1, p, 'it goes on, and is ended', r)
        screen = sb.file()
        r = sb.ended(sb.start('sh', '-c', 'test -t 1 && test -t 2 && ! test -t 0 && echo SHOWN', screen=screen))
        ok(r.get('exit') == 0 and shows('SHOWN'), p, 'a screen without a keyboard', r)
        screen = sb.file()
        r = sb.ended(sb.start('sh', '-c', 'sleep 300', tty=screen, timeout=300))
        ok(r.get('outcome') == 'timeout', p, 'a timeout with a terminal', r)
        screen = sb.file()
        r = sb.ended(sb.start('nope', tty=screen))
        ok(r.get('failed') and 'not found' in r['failed'], p, 'what cannot be executed', r)


# -- Tools --------------------------------------------------------------------


def case_tools(p):
    with Sandbox(p) as sb:
        r = sb.run('read', p.ws / 'file', tool=1)
        ok(r['exit'] == 0 and r['out'] == 'mine\n', p, 'a tool reads what a command can', r)
        r = sb.run('read', p.home / '.ssh/id_rsa', tool=1)
        ok(r['exit'] in (2, 13) and 'CANARY' not in r['out'], p, 'and not what it cannot', r)
        (p.ws / 'way-out').symlink_to(p.home / '.ssh/id_rsa')
        r = sb.run('read', p.ws / 'way-out', tool=1)
        ok(r['exit'] in (2, 13) and 'CANARY' not in r['out'], p, 'nor by a link', r)
        (p.ws / 'way-out').unlink()


# -- Tampering ----------------------------------------------------------------


def case_tampering_FW15(p):
    if ENGINE == 'landlock':
        return skip(p, 'landlock opens the workspace as a whole', only_root=True)
    with Sandbox(p) as sb:
        r = sb.sh('echo evil > .envrc; sleep 0.3')
        ok('BOOTED' in r['out'] and not (p.ws / '.envrc').exists(), p, 'a protected name does not stay', r)
        ok([e['path'] for e in r['events']] == [str(p.ws / '.envrc')], p, 'and is told with the command', r['events'])
        r = sb.sh('true')
        ok(r['events'] == [], p, 'with no other', r)
        sb.sh('(sleep 0.3; echo evil > .envrc) > /dev/null 2>&1 &')
        time.sleep(0.8)
        ok(not (p.ws / '.envrc').exists(), p, 'nor when no command is there')
        got = sb.close()
        ok([e['path'] for e in got.get('events', [])] == [str(p.ws / '.envrc')], p, 'that is told at the end', got)


def case_names_of_the_host(p):
    """The host's own, while nobody is inside."""
    if ENGINE == 'landlock':
        return skip(p, 'landlock opens the workspace as a whole', only_root=True)

    def make(name):
        (p.ws / name).mkdir() if name == '.vscode' else (p.ws / name).write_text('of the host')

    def gone(name):
        return not os.path.lexists(p.ws / name)
    for name in ('.vscode', '.envrc'):
        with Sandbox(p) as sb:
            r = sb.run('true')
            ok(r['outcome'] == 'ok', p, 'a command ran', r)
            time.sleep(0.3)
            make(name)
            time.sleep(0.3)
            ok(not gone(name), p, f'{name} stays while nobody is inside')
            sb.start('sh', '-c', f'echo evil > {name}/x; echo evil > {name}')
            r = sb.answer('refused', 5)
            ok(f'/{name} was made' in r.get('refused', '') and not gone(name), p, 'but then no command begins', r)
            shutil.rmtree(p.ws / name) if name == '.vscode' else (p.ws / name).unlink()
            r = sb.sh('echo fine')
            ok('fine' in r['out'] and r['events'] == [], p, 'until it is gone', r)
            time.sleep(0.3)
            make(name)
            time.sleep(0.2)
            got = sb.close()
            ok(not gone(name) and not got.get('events'), p, 'and the end of the sandbox leaves it alone', got)
        shutil.rmtree(p.ws / name) if name == '.vscode' else (p.ws / name).unlink()
    with Sandbox(p) as sb:
        make('.envrc')
        time.sleep(0.2)
        ok(not gone('.envrc'), p, 'nor before the first command')
        (p.ws / '.envrc').unlink()
        number = sb.start('sleep', '300')
        time.sleep(0.3)
        make('.envrc')
        ok(wait_for(lambda: gone('.envrc'), 5), p, 'twin: while one runs it does not stay')
        sb.order('end', number)
        sb.ended(number)
        sb.sh('(sleep 0.5; echo evil > .envrc) > /dev/null 2>&1 &')
        time.sleep(1)
        ok(gone('.envrc'), p, 'nor what somebody makes who was left behind, and ends')
        sb.sh('(sleep 300) > /dev/null 2>&1 &')
        time.sleep(0.2)
        make('.envrc')
        ok(wait_for(lambda: gone('.envrc'), 5), p, 'nor while he is there')


# -- Other boundaries ---------------------------------------------------------


def case_not_observed(p):
    with Sandbox(p, '--no-observe') as sb:
        r = sb.sh('unshare -U true || echo REFUSED; grep Seccomp: /proc/self/status')
        ok('REFUSED' in r['out'] and 'Seccomp:\t2' in r['out'] and r['violations'] is None, p, 'the same filter', r)
        screen = sb.file()
        r = sb.ended(sb.start('sh', '-c', 'test -t 0 && echo SHOWN', tty=screen))
        ok(r['exit'] == 0 and wait_for(lambda: 'SHOWN' in screen.read_text()), p, 'a terminal', r)
        r = sb.run('read', p.ws / 'file', tool=1)
        ok(r['out'] == 'mine\n', p, 'a tool', r)
        r = sb.sh('sleep 300', timeout=200)
        ok(r['outcome'] == 'timeout', p, 'a timeout', r)


@needs('isolated')
def case_processes_visible(p):
    word = mark()
    spec = 'network = "none"\nfilesystem = "workspace_only"\nprocesses = "visible"\n'
    canary = subprocess.Popen(p.argv(['sleep', '300']))
    with Sandbox(p, '--spec', spec) as sb:
        r = sb.sh(f'kill -9 {canary.pid}')
        ok('BOOTED' in r['out'] and canary.poll() is None, p, 'a process of the host is out of reach', r)
        r = sb.sh(f'setsid sh -c "sleep 300; : {word}" & sleep 300; : {word}', timeout=300)
        ok(r['outcome'] == 'timeout' and wait_for(lambda: not marked(word), 5), p, 'ended with its kin', (r, marked(word)))
        number = sb.start('sh', '-c', f'setsid sh -c "echo > up; sleep 300; : {word}" & sleep 300; : {word}')
        ok(wait_for((p.ws / 'up').exists), p, 'others run')
        sb.order('signal', number, 15)
        ok(sb.ended(number).get('signal') == 15 and marked(word), p, 'what one leaves stays')
        os.kill(sb.status()['keeper'], signal.SIGKILL)
        ok(wait_for(lambda: not marked(word) and not alive(sb.pid)), p, 'and ends with the keeper', marked(word))
    (p.ws / 'up').unlink()
    canary.kill()
    canary.wait()


# -- Ends ---------------------------------------------------------------------


def scratches():
    return {d for d in os.listdir('/tmp') if d.startswith('pale-')} | {d for d in os.listdir('/var/tmp') if d.startswith('pale-scratch')}


def own_cgroups(pid):
    """The folders of the control groups that were made for the sandbox of this process."""
    folders = set()
    for line in pathlib.Path(f'/proc/{pid}/cgroup').read_text().splitlines():
        _, controllers, path = line.split(':', 2)
        folder = pathlib.Path('/sys/fs/cgroup', controllers, path[1:])
        if 'pale-' in path and folder.is_dir():
            folders.add(folder)
    return folders


def case_killed_keeper_PR13(p):
    mounts = pathlib.Path('/proc/self/mountinfo').read_text()
    word, tmp = mark(), scratches()
    sb = Sandbox(p)
    sb.start('sh', '-c', f'sleep 300; : {word}')
    sb.start('sh', '-c', f'setsid sh -c "trap \\"\\" TERM HUP; sleep 300; : {word}" & sleep 300; : {word}')
    sb.start('sh', '-c', f'sleep 300; : {word}', tty=sb.file())
    sb.start('sleep', tool=1)
    ok(wait_for(lambda: len(marked(word)) >= 4), p, 'commands run', marked(word))
    warden, made = sb.pid, own_cgroups(sb.pid)
    ok(made or not p.is_root, p, 'in groups of their own', made)
    os.kill(sb.status()['keeper'], signal.SIGKILL)
    sb.proc.wait(10)
    ok(wait_for(lambda: not marked(word) and not alive(warden)), p, 'the keeper is killed: nothing is left', marked(word))
    ok(pathlib.Path('/proc/self/mountinfo').read_text() == mounts, p, 'no mount')
    ok(wait_for(lambda: scratches() <= tmp, 6), p, 'no scratch folder', scratches() - tmp)
    with Sandbox(p) as again:
        ok(again.run('true')['outcome'] == 'ok', p, 'the next one stands')
    ok(not any(d.exists() for d in made), p, 'and has removed what was left', made)


def case_killed_warden(p):
    word, tmp = mark(), scratches()
    sb = Sandbox(p)
    number = sb.start('sh', '-c', f'sleep 300; : {word}')
    sb.start('sh', '-c', f'setsid sh -c "sleep 300; : {word}" & sleep 300; : {word}')
    ok(wait_for(lambda: len(marked(word)) >= 3), p, 'commands run', marked(word))
    made = own_cgroups(sb.pid)
    os.kill(sb.pid, signal.SIGKILL)
    r = sb.ended(number)
    ok(r.get('outcome') == 'signaled' and r.get('signal') == 9, p, 'the warden is killed: commands are told to have ended', r)
    ok('gone' in sb.answer('gone'), p, 'and the sandbox to be gone')
    ok(wait_for(lambda: not marked(word)), p, 'which it is', marked(word))
    sb.close()
    ok(scratches() <= tmp and not any(d.exists() for d in made), p, 'with nothing left', (scratches() - tmp, made))


# -- Many ---------------------------------------------------------------------


def resident(pid):
    for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith('RssAnon'):
            return int(line.split()[1])
    return 0


def case_many_at_once(p):
    with Sandbox(p) as sb:
        sb.run('true')
        fds = sb.status()['fds']
        outs = [sb.file() for _ in range(200)]
        runs = [sb.start('sh', '-c', 'sleep 0.5; echo "$0 done"', i, out=out) for i, out in enumerate(outs)]
        ends = [sb.ended(n, 60) for n in runs]
        ok(all(e.get('outcome') == 'ok' for e in ends), p, '200 at once', [e for e in ends if e.get('outcome') != 'ok'][:2])
        ok(all(out.read_text() == f'{i} done\n' for i, out in enumerate(outs)), p, 'each with its own output')
        ok(sb.status()['fds'] <= fds, p, 'no descriptor is left', (fds, sb.status()))


@only_first
def case_many_in_a_row(p):
    with Sandbox(p) as sb:
        sb.order('bench', 100, 'true')
        sb.answer('timed', 60)
        before = sb.status()
        anon = resident(before['keeper']), resident(before['warden'])
        sb.order('bench', 2000, 'true')
        r = sb.answer('timed', 120)
        ok(r.get('bad') == 0, p, '2 000 in a row', r)
        after = sb.status()
        now = resident(before['keeper']), resident(before['warden'])
        ok(after['fds'] == before['fds'], p, 'no descriptor more', (before, after))
        ok(now[0] <= anon[0] + 16 and now[1] <= anon[1] + 16, p, f'no memory more ({anon} KiB, then {now})')
        sb.order('bare', 500, 'true')
        bare = sb.answer('timed', 60)
        note(f"{p}: a command takes {r['ns'] // 1000} us, {r['ns'] / bare['ns']:.2f} x a bare one")


main(case_errands, case_sizes, case_what_stays, case_boundary_FR_FW_PR01, case_network_NE,
     case_warden_and_tools_are_out_of_reach, case_limits_and_priorities_of_others, case_warden_with_other_limits, case_leases,
     case_descriptors, case_streams_are_nobody_elses, case_timeout_PR11, case_daemons,
     case_limits_of_one, case_memory_of_all, case_terminal, case_tools, case_tampering_FW15, case_names_of_the_host,
     case_not_observed, case_processes_visible, case_killed_keeper_PR13,
     case_killed_warden, case_many_at_once, case_many_in_a_row, uids=(1000,))
