#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Limits: each one holds, is reported by its name, and leaves nothing behind."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

PYTHON = '/usr/bin/python3'
EAT = 'import sys; x = [b"x" * (1 << 20) for i in range(int(sys.argv[1]))]; print("ATE")'
SHARE = 'import mmap, sys, time; m = mmap.mmap(-1, int(sys.argv[1]) << 20); [m.write(b"x" * (1 << 20)) for i in range(int(sys.argv[1]))]; time.sleep(2); print("ATE")'
BURN = 'while :; do :; done'


def rung(p):
    """By what memory is limited here, and what must be allowed for that."""
    r = p.pale('--explain', '--json', '--memory', '64m', '--allow-degraded', 'memory', '--', 'true')
    verdict = r.json().get('enforced', {}).get('memory', {})
    return verdict.get('state'), verdict.get('by')


def allowed(p, *dims):
    return [o for d in dims for o in ('--allow-degraded', d)] if rung(p)[0] == 'degraded' else []


def result(p, *args, **kw):
    """The JSON of a run whose output does not matter."""
    path = p.base / 'result.json'
    path.unlink(missing_ok=True)
    r = p.pale('--result', path, *args, **kw)
    r.result = json.loads(path.read_text()) if path.exists() else {}
    return r


def cgroups():
    found = []
    for d, dirs, _ in os.walk('/sys/fs/cgroup'):
        found += [os.path.join(d, n) for n in dirs if n.startswith('pale-')]
    return sorted(found)


def all_gone(before):
    """What is there now and was not before goes away: others' runs end, too."""
    left = set(cgroups()) - set(before)
    return wait_for(lambda: not left & set(cgroups()), 10)


NOBODY_WAITS = '''
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while time.process_time() < 0.5: pass
    os._exit(0)
try: os.wait()
except ChildProcessError: pass
'''


def case_memory_RS01_ME05(p):
    state, by = rung(p)
    note(f'[{p}] memory is {state} by {by}')
    ok(state in ('enforced', 'degraded'), p, 'the plan says how memory is limited')
    if state == 'degraded':
        r = p.pale('--memory', '64m', '--', 'echo', 'RAN')
        ok(r.code == 125 and b'RAN' not in r.out and b'--allow-degraded memory' in r.err, p,
           'what only a watchdog holds is refused unless it is allowed by name', r)
    canary = p.start('sleep', '60')
    options = ['--memory', '64m'] + allowed(p, 'memory')
    r = result(p, *options, '--timeout', '20s', '--', PYTHON, '-c', EAT, '4000')
    ok(r.result.get('outcome') == 'oom' and r.result.get('limit') == 'memory', p,
       'a memory bomb ends as oom', r)
    ok(r.code == 137 and b'memory = "64m" was reached' in r.err, p, 'never as a bare 137', r)
    ok(b'ATE' not in r.out and r.seconds < 15, p, 'before it got what it wanted', r)
    r = result(p, *options, '--timeout', '20s', '--', PYTHON, '-c', SHARE, '400')
    ok(r.result.get('outcome') == 'oom' and b'ATE' not in r.out, p, 'so does one of memory that can be shared', r)
    r = result(p, '--memory', '512m', *allowed(p, 'memory'), '--', PYTHON, '-c', EAT, '100')
    ok(r.code == 0 and b'ATE' in r.out and r.result.get('outcome') == 'ok', p,
       'twin: what fits, works', r)
    ok(alive(canary.pid), p, 'the host did not notice')
    canary.kill()
    canary.wait()


def case_memory_of_the_whole_tree(p):
    """Four processes that are within the limit each, and beyond it together."""
    line = f"for i in 1 2 3 4; do {PYTHON} -c 'import time; x = b\"x\" * (40 << 20); time.sleep(3)' & done; wait; echo DONE"
    r = result(p, '--memory', '100m', *allowed(p, 'memory'), '--', 'sh', '-c', line)
    ok(r.result.get('outcome') == 'oom' and b'DONE' not in r.out, p, 'counts the tree', r)
    r = result(p, '--memory', '600m', *allowed(p, 'memory'), '--', 'sh', '-c', line)
    ok(r.code == 0 and b'DONE' in r.out, p, 'twin: with room for all of them it works', r)


def case_pids_RS03(p):
    line = 'i=0; while [ $i -lt 70 ]; do sleep 5 & i=$((i + 1)); done; echo FORKED'
    r = p.sh('--pids', '20', '--', line)
    ok(r.booted and b'FORKED' not in r.out and r.code != 0, p, 'the fork beyond the limit fails', r)
    r = p.sh('--pids', '100', '--', line)
    ok(r.code == 0 and b'FORKED' in r.out, p, 'twin: below it every fork works', r)
    ok(p.run('sh', '-c', 'true & wait').code == 0, p, 'the host can still fork')
    if has('nested') and not p.is_root:
        own = f"exec unshare --user --map-root-user sh -c '{line}'"
        r = p.sh('--nested', '--pids', '20', '--', own)
        ok(r.booted and b'FORKED' not in r.out and r.code != 0, p, 'nor in a user namespace of its own', r)
        r = p.sh('--nested', '--pids', '100', '--', own)
        ok(r.code == 0 and b'FORKED' in r.out, p, 'twin: below it, there as well', r)
    if rung(p)[0] == 'enforced' and 'scope' not in rung(p)[1]:
        r = result(p, '--pids', '20', '--', 'sh', '-c', line)
        ok(r.result.get('outcome') == 'limit' and r.result.get('limit') == 'pids', p,
           'reported by name', r)
    # As many as were asked for, not one less: the warden is not the command's.
    r = p.sh('--pids', '3', '--', 'sleep 0.2 & sleep 0.2 & wait; echo THREE')
    ok(b'THREE' in r.out and r.code == 0, p, 'exactly as many as were asked for', r)
    r = p.sh('--pids', '3', '--', 'sleep 0.2 & sleep 0.2 & sleep 0.2 & wait; echo FOUR')
    ok(b'FOUR' not in r.out, p, 'and not one more', r)


@only_root
def case_pids_of_root_ME05(p):
    """The kernel's own count of processes is not for the real root: without a cgroup there is no limit."""
    args = [p.pale_path, 'run', '--filesystem', 'unrestricted', '--pids', '10']
    line = 'echo BOOTED; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.2 & done; wait; echo ALL'
    without = 'umount -R /sys/fs/cgroup && exec "$@"'
    r = p.run('unshare', '-m', 'sh', '-c', without, 'sh', *args, '--', 'sh', '-c', line)
    ok(r.code == 125 and b'BOOTED' not in r.out and b'pids' in r.err, p, 'refused where nothing holds it', r)
    r = p.run('unshare', '-m', 'sh', '-c', without, 'sh', *args, '--allow-degraded', 'pids', '--', 'sh', '-c', line)
    ok(r.code == 0 and b'ALL' in r.out, p, 'twin: allowed by name, and not held', r)


def case_cpu(p):
    r = result(p, '--cpu', '1s', *allowed(p, 'cpu'), '--timeout', '30s', '--', 'sh', '-c', BURN)
    ok(r.result.get('outcome') == 'limit' and r.result.get('limit') == 'cpu', p,
       'reported by name', r)
    ok(b'cpu = "1s" was reached' in r.err and b'pale run --cpu 2s ' in r.err and r.code == 143, p, 'and said, with what would allow more', r)
    ok(0.9 <= r.result.get('usage', {}).get('cpu_ms', 0) / 1000 < 3, p, 'close to the limit', r)
    # Two burn twice as fast.
    r = result(p, '--cpu', '2s', *allowed(p, 'cpu'), '--timeout', '30s', '--', 'sh', '-c',
               f'({BURN}) & ({BURN}) & wait')
    ok(r.result.get('limit') == 'cpu', p, 'the tree counts as a whole', r)
    r = result(p, '--cpu', '1s', *allowed(p, 'cpu'), '--', 'sh', '-c', 'sleep 1.5; echo SLEPT')
    ok(r.code == 0 and b'SLEPT' in r.out, p, 'twin: sleeping is no CPU time', r)


def case_cpu_ignores_sigterm(p):
    begin = time.monotonic()
    r = result(p, '--cpu', '500ms', *allowed(p, 'cpu'), '--', 'sh', '-c', f'trap "" TERM; {BURN}')
    ok(r.result.get('limit') == 'cpu' and r.code == 137 and time.monotonic() - begin < 6, p,
       'ended all the same', r)


def case_disk_RS05(p):
    fill = 'dd if=/dev/zero of=/tmp/f bs=1M count=64 2>&1; ls -s /tmp/f'
    r = p.sh('--filesystem', 'readonly', '--disk', '16m', '--', fill)
    ok(r.booted and b'No space left' in r.out, p, 'scratch ends at the limit', r)
    r = p.sh('--filesystem', 'readonly', '--disk', '100m', '--', fill)
    ok(b'No space left' not in r.out and r.code == 0, p, 'twin: below it there is room', r)
    everywhere = 'for d in /tmp /var/tmp /run /dev/shm; do head -c 12m /dev/zero >$d/f; done 2>/dev/null; cat /tmp/f /var/tmp/f /run/f /dev/shm/f | wc -c'
    for more in [], ['--read', '/']:
        r = p.sh('--filesystem', 'readonly', '--disk', '16m', *more, '--', everywhere)
        ok(r.booted and 12 << 20 < int(r.rest) <= 16 << 20, p, f'all private folders share it {more}', r)
    r = p.sh('--filesystem', 'readonly', '--disk', '64m', '--read', '/', '--', everywhere)
    ok(r.booted and int(r.rest) == 48 << 20, p, 'twin: there is room for all of them', r)
    r = p.sh('--disk', '1m', '--', 'echo RAN')
    ok(r.code == 125 and b'disk' in r.err and not r.booted, p,
       'a writable workspace has no such bound: refused', r)
    r = result(p, '--disk', '1m', '--allow-degraded', 'disk', '--', 'dd', 'if=/dev/zero',
               f'of={p.ws}/big', 'bs=64k', 'count=64')
    ok(r.result.get('limit') == 'disk', p, 'allowed by name: no file grows beyond it', r)
    size = (p.ws / 'big').stat().st_size if (p.ws / 'big').exists() else -1
    ok(0 < size <= 1 << 20, p, 'seen from the host', size)
    (p.ws / 'big').unlink(missing_ok=True)


def case_usage(p):
    state, _ = rung(p)
    r = result(p, '--', PYTHON, '-c', EAT, '100')
    usage = r.result.get('usage', {})
    ok(90 << 20 <= (usage.get('memory_peak') or 0) <= 300 << 20, p, 'peak of memory', usage)
    r = result(p, '--', PYTHON, '-c', 'import time\nwhile time.process_time() < 0.5: pass')
    usage = r.result.get('usage', {})
    ok(400 <= (usage.get('cpu_ms') or 0) <= 1500, p, 'CPU time', usage)
    if state == 'enforced' and 'scope' not in rung(p)[1]:
        r = result(p, '--', PYTHON, '-c', NOBODY_WAITS)
        usage = r.result.get('usage', {})
        ok(400 <= (usage.get('cpu_ms') or 0) <= 1500, p, 'that of a child nobody waits for, too', usage)
    r = result(p, '--', 'sh', '-c', 'dd if=/dev/zero of=out bs=1M count=8 conv=fsync 2>/dev/null')
    usage = r.result.get('usage', {})
    ok((usage.get('written') or 0) >= 8 << 20, p, 'bytes written', usage)
    (p.ws / 'out').unlink(missing_ok=True)
    if state == 'enforced' and 'scope' not in rung(p)[1]:
        r = result(p, '--', 'sh', '-c', 'sleep 0.3 & sleep 0.3 & sleep 0.3 & wait')
        peak = r.result.get('usage', {}).get('pids_peak')
        ok(peak == 4, p, 'peak of processes', peak)


def case_view_RS15(p):
    """What programs see of their limits: read-only, and nothing of the host's."""
    if rung(p)[0] != 'enforced':
        r = p.sh('ls -A /sys/fs/cgroup 2>/dev/null; true')
        ok(r.booted and r.rest == b'', p, 'no cgroup is visible where none is used', r)
        return
    r = p.sh('--memory', '256m', '--pids', '50', '--',
             'cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null;'
             'cut -d: -f3 /proc/self/cgroup | sort -u')
    ok(r.booted and str(256 << 20).encode() in r.out, p, 'the limit can be seen inside', r)
    ok(r.rest.splitlines()[-1:] == [b'/'], p, 'no path of the host can', r)
    r = p.sh('--memory', '256m', '--pids', '50', '--',
             'd=/sys/fs/cgroup; for f in $d/memory.max $d/pids.max $d/cgroup.procs $d/*/tasks '
             '$d/memory/memory.limit_in_bytes $d/pids/pids.max; do '
             '[ -e $f ] && { echo 0 > $f && echo WROTE $f; }; done 2>&1; '
             'mkdir $d/x $d/pids/x 2>&1 && echo MADE; true')
    ok(r.booted and b'WROTE' not in r.out and b'MADE' not in r.out, p, 'and not be changed', r)
    ok(b'Read-only' in r.out or b'denied' in r.out, p, 'the probe met the boundary', r)


LEAVE = ('for f in $(find /sys/fs/cgroup -maxdepth 2 -name cgroup.procs); do echo 0 >$f && echo MOVED $f; done 2>/dev/null; '
         f"timeout 4 sh -c '{BURN}'")

WRITABLE = 'find /sys/kernel /sys/module /sys/fs -maxdepth 3 -type f -writable 2>/dev/null | head -n 5'


def case_not_left_RS15(p):
    """Where everything can be written, control groups cannot: who is root, or owns them, could leave the run's."""
    for options in p.each(('--filesystem', 'unrestricted')):
        r = result(p, *options, '--cpu', '1s', *allowed(p, 'cpu'), '--timeout', '20s', '--', 'sh', '-c', LEAVE)
        ok(b'MOVED' not in r.out and r.result.get('limit') == 'cpu', p, 'the limit of CPU time holds', r)
        r = p.sh(*options, '--', WRITABLE)
        ok(r.booted and r.rest == b'', p, 'nothing of what is in /sys can be written', r)
        if rung(p)[0] == 'enforced':
            r = p.sh(*options, '--nested', '--memory', '64m', '--', 'true')
            ok(r.code == 125 and not r.booted and b'memory' in r.err and b'leave' in r.err, p,
               'who could mount them anew is not said to be held', r)
            r = p.sh(*options, '--memory', '64m', '--', 'true')
            ok(r.code == 0 and r.booted, p, 'twin: without mounts it is', r)
    if p.is_root:
        r = p.host_sh(WRITABLE)
        ok(b'/sys/' in r.out, p, 'twin: outside it can be', r)


def case_hidden_processes_ME05(p):
    """What cannot be seen cannot be added up, and is not said to be."""
    if os.geteuid() != 0 or p.is_root:
        skip(p, 'only root can mount, and root sees all', only_root=True)
        return
    if rung(p)[0] != 'degraded':
        skip(p, 'a cgroup counts here')
        return
    eat = ['--memory', '64m', '--', PYTHON, '-c', EAT, '400']

    def run(proc, *argv):
        line = f'mount --make-rprivate / && mount -t proc {proc} proc /proc && exec "$@"'
        argv = [os.fspath(a) for a in ('unshare', '-m', 'sh', '-c', line, 'sh', *p.argv(argv))]
        got = subprocess.run(argv, cwd=p.ws, env=p.env, capture_output=True, timeout=60, start_new_session=True)
        return Result(argv, got.returncode, got.stdout, got.stderr, 0)

    for hidden in ('hidepid=2', 'hidepid=1'):
        r = run(f'-o {hidden}', *p.pale_argv(*eat))
        ok(r.code == 125 and b'ATE' not in r.out and b'/proc' in r.err, p, f'{hidden}: a limit of memory is refused, with the reason', r)
        r = run(f'-o {hidden}', *p.pale_argv('--json', '--explain', '--allow-degraded', 'memory', *eat))
        ok(r.json().get('enforced', {}).get('memory', {}).get('state') == 'unenforced', p, f'{hidden}: allowed by name, it is none', r)
        r = run(f'-o {hidden}', *p.pale_argv('--allow-degraded', 'memory', *eat))
        ok(r.code == 0 and b'ATE' in r.out, p, f'{hidden}: and the command runs without', r)
        if has('isolated'):
            line = (f'"$1" exec --memory 64m -- {PYTHON} -c "$2" 400; echo CODE $?; "$1" session stop --all')
            r = run(f'-o {hidden}', 'sh', '-c', line, 'sh', p.pale_path, EAT)
            ok(b'ATE' not in r.out and b'CODE 125' in r.out and b'/proc' in r.err, p, f'{hidden}: nor of a command in a session', r)
    r = run('', *p.pale_argv('--allow-degraded', 'memory', *eat))
    ok(r.code == 137 and b'ATE' not in r.out, p, 'twin: where they are seen, it holds', r)


def case_removed_LC07_PR13(p):
    before = cgroups()
    result(p, '--memory', '256m', *allowed(p, 'memory'), '--', 'true')
    ok(all_gone(before), p, 'nothing is left after a run', cgroups())
    m = mark()
    proc = p.start_pale('--memory', '256m', *allowed(p, 'memory'), '--', 'sh', '-c',
                        f'sleep 60; : {m}', start_new_session=True)
    wait_for(lambda: marked(m), 10)
    if rung(p)[0] == 'enforced':
        ok(wait_for(lambda: set(cgroups()) - set(before), 10), p, 'twin: there is one while it runs')
    proc.kill()
    proc.wait()
    ok(wait_for(lambda: not marked(m)), p, 'killed, it takes the command along')
    p.pale('--memory', '256m', *allowed(p, 'memory'), '--', 'true')
    ok(all_gone(before), p, 'and the next run removes what it left', cgroups())


def case_at_once_RS17(p):
    before = cgroups()
    procs = [p.start_pale('--memory', '256m', '--pids', '10', *allowed(p, 'memory'), '--', 'sh', '-c',
                          'exit 7') for _ in range(24)]
    codes = [proc.wait() for proc in procs]
    ok(codes == [7] * 24, p, '24 runs at once, none swept away by another', codes)
    ok(all_gone(before), p, 'nothing is left', cgroups())


BOMBS = {
    'fork bomb': ('b() { b | b & }; b; sleep 60', ('--pids', '60')),
    'zombies': (f"exec {PYTHON} -c 'import os,time\nfor i in range(10000):\n"
                "  try:\n    if os.fork() == 0: os._exit(0)\n  except OSError: break\ntime.sleep(60)'",
                ('--pids', '12000')),
    'deaf daemon': ("(trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM; sleep 60 & wait' &) ; sleep 60", ()),
    'stopped': ('kill -STOP $$; sleep 60', ()),
    'output flood': ('yes', ()),
}


def case_bombs_end_in_time_PR11(p):
    canary = p.start('sleep', '120')
    tree = digest(p.outside, p.home)
    for name, (line, options) in BOMBS.items():
        m = mark()
        with open(os.devnull, 'wb') as null:
            begin = time.monotonic()
            r = result(p, *options, '--timeout', '2s', '--', 'sh', '-c', f'{line}; : {m}',
                       stdout=null, stderr=subprocess.PIPE, timeout=60)
            took = time.monotonic() - begin
        ok(r.code == 124 and r.result.get('outcome') == 'timeout', p, f'{name}: ends as timeout', r)
        ok(took < 6, p, f'{name}: within timeout + 2 s and change', took)
        ok(wait_for(lambda: not marked(m)), p, f'{name}: nothing of it is left')
    ok(alive(canary.pid) and digest(p.outside, p.home) == tree, p, 'the host did not notice')
    canary.kill()
    canary.wait()


def outlast(p, name, eat, *options):
    """EAT takes all that it can get inside, twice as much as there is; outside there is one more."""
    proc = p.start_pale('--tmpfs', '256m', *options, '--', PYTHON, '-c', eat, '1000000', '20', mark(), stdout=subprocess.PIPE)
    line = proc.stdout.readline()
    ok(line.startswith(b'BOOTED') and 0 < int(line.split()[1]) < 1000000, p, f'{name}: inside there is an end', line)
    r = p.run(PYTHON, '-c', eat, '1', '0')
    ok(r.out.split()[-1:] == [b'1'], p, f'{name}: outside one more can be had', r)
    proc.kill()
    proc.wait()


EATING = """
import ctypes, os, signal, sys, tempfile, time
libc = ctypes.CDLL(None)
n, most = 0, int(sys.argv[1])
%s
print("BOOTED", n, flush=True)
time.sleep(float(sys.argv[2]))
"""
INSTANCES = EATING % 'while n < most and libc.inotify_init() >= 0: n += 1'
WATCHES = EATING % """
dir = tempfile.TemporaryDirectory()
names = [f'{dir.name}/{i}'.encode() for i in range(min(most, 20000))]
for name in names: open(name, 'w').close()
while n < most:
    fd = libc.inotify_init()
    before = n
    for name in names:
        if n < most and libc.inotify_add_watch(fd, name, 2) > 0: n += 1
    if fd < 0 or n == before: break
"""
SIGNALS = EATING % """
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
while n < most and libc.sigqueue(os.getpid(), signal.SIGRTMIN, None) == 0: n += 1
"""
MESSAGES = EATING % """
class Attr(ctypes.Structure): _fields_ = [(f, ctypes.c_long) for f in ('flags', 'maxmsg', 'msgsize', 'curmsgs', 'a', 'b', 'c', 'd')]
rt = ctypes.CDLL('libc.so.6')
while n < most and rt.mq_open(f'/pale-{os.getpid()}-{n}'.encode(), os.O_CREAT | os.O_RDWR, 0o600, ctypes.byref(Attr(0, 10, 8192))) >= 0: n += 1
for i in range(n if most == 1 else 0): rt.mq_unlink(f'/pale-{os.getpid()}-{i}'.encode())
"""
LOCKED = EATING % """
while n < most:
    id = libc.shmget(0, 1 << 16, 0o600)
    libc.shmat(id, None, 0)
    locked = libc.shmctl(id, 11, None) == 0  # SHM_LOCK
    libc.shmctl(id, 0, None)                 # IPC_RMID: it goes with us
    if not locked: break
    n += 1
"""


def case_quotas_of_the_user_RS10(p):
    """What is counted per user: the host's user keeps some."""
    outlast(p, 'signals', SIGNALS)
    if has('isolated'):  # else System V's would be the host's
        outlast(p, 'locked memory', LOCKED)
    if ENGINE:
        return
    for name, eat in ('inotify instances', INSTANCES), ('inotify watches', WATCHES):
        outlast(p, name, eat)
        outlast(p, name + ', nested', eat, '--nested')
    outlast(p, 'messages', MESSAGES, '--nested')  # Landlock lets nobody make a queue


NAMESPACES = """
import ctypes, os, resource, signal, sys
libc, kind, kept = ctypes.CDLL(None), sys.argv[1], []
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
if kind == 'uts': libc.unshare(0x10000000)
while len(kept) < 1500:
    if kind == 'uts':
        if libc.unshare(0x04000000) != 0: break
        kept.append(os.open('/proc/self/ns/uts', os.O_RDONLY))
        continue
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(tell, b'y' if libc.unshare(0x10000000) == 0 else b'n')
        signal.pause()
    made = os.read(told, 1) == b'y'
    if made: kept.append(os.open(f'/proc/{pid}/ns/user', os.O_RDONLY))
    os.kill(pid, 9), os.waitpid(pid, 0), os.close(told), os.close(tell)
    if not made: break
print(len(kept))
"""


@only_first
def case_namespaces_of_the_user_RS10(p):
    """Those of a nested command are the user's, too."""
    if ENGINE:
        return
    for kind in ('uts', 'user'):
        r = p.sh('--nested', '--', f'exec {PYTHON} -c "$@"', NAMESPACES, kind)
        ok(r.booted and r.code == 0 and 500 < int(r.rest or 0) < 1500, p, f'{kind}: many can be had, and not all', r)


def case_descriptors_RS09(p):
    r = p.sh('--', f'exec {PYTHON} -c "import os\nn=0\ntry:\n  while 1: os.dup(1); n+=1\n'
             'except OSError as e: print(e.errno, flush=True)\nos._exit(9)"')
    ok(r.booted and b'24' in r.rest and r.code == 9, p, 'EMFILE inside, and the exit code arrives', r)


main(case_memory_RS01_ME05, case_memory_of_the_whole_tree, case_pids_RS03, case_pids_of_root_ME05, case_cpu,
     case_cpu_ignores_sigterm, case_disk_RS05, case_usage, case_view_RS15, case_not_left_RS15, case_hidden_processes_ME05, case_removed_LC07_PR13,
     case_at_once_RS17, case_bombs_end_in_time_PR11, case_quotas_of_the_user_RS10,
     case_namespaces_of_the_user_RS10, case_descriptors_RS09, uids=(1000,))
