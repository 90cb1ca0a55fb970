#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every call of the set-up fails in turn; the supervisor is killed at any moment.

A run whose set-up failed ends with 125 and has executed nothing. A run that
executed its command had the whole boundary: the witness inside writes down what
it looks like, and that is compared with a run in which nothing failed.
strace counts calls per process, so one number is tried in both the supervisor
and the side that becomes the sandbox.
"""
import random
import sys
from concurrent.futures import ThreadPoolExecutor
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

CALLS = ('clone3 mount open_tree move_mount mount_setattr fsopen fsconfig fsmount pivot_root umount2 prctl capset '
         'setresuid setresgid setgroups openat2 openat open mkdirat symlinkat sethostname ioctl keyctl setrlimit prlimit64 '
         'write read socket socketpair sendmsg recvmsg sendto recvfrom signalfd4 chdir fchdir dup2 dup3 close_range fcntl '
         'setsid clone landlock_create_ruleset landlock_add_rule landlock_restrict_self getrandom getcwd stat lstat fstat newfstatat '
         'readlink readlinkat rt_sigaction rt_sigprocmask poll').split()
# what the other shapes of a run add
SHAPES = {
    'default': ((), CALLS),
    'visible': (('--processes', 'visible'),
                'prctl capset open_tree mount_setattr move_mount landlock_create_ruleset landlock_add_rule landlock_restrict_self write setsid'.split()),
    'ephemeral': (('--filesystem', 'readonly', '--ephemeral'),
                  'open_tree mount_setattr move_mount fsopen fsconfig fsmount mkdirat fcntl'.split()),
    'whole root': (('--filesystem', 'unrestricted', '--hide', '~/.ssh'),
                   'open_tree mount_setattr move_mount fsopen fsconfig fsmount openat2 pivot_root umount2'.split()),
    'landlock engine': (('--engine', 'landlock', '--processes', 'visible', '--allow-degraded', 'filesystem'),
                        'landlock_create_ruleset landlock_add_rule landlock_restrict_self prctl capset seccomp openat2 openat '
                        'mkdirat flock fstat fchown setsid clone clone3 write'.split()),
}
NAMESPACES = ('user', 'mnt', 'pid', 'net', 'ipc', 'uts')


def build(p):
    path = p.ws / 'witness'
    if not path.exists():
        subprocess.run(['gcc', '-static', '-O1', '-D_GNU_SOURCE', '-o', path, HERE / 'probes/witness.c'], check=True)
        path.chmod(0o755)
    return path


def facts(file):
    """What the witness wrote; namespaces as whether they are the host's."""
    got = dict(line.split(' ', 1) for line in file.read_text().splitlines())
    for ns in NAMESPACES:
        got[ns] = got.get(ns) == os.readlink(f'/proc/self/ns/{ns}')
    return got


class Trial:
    """One run of the witness, in a place of its own so that two can go at once."""

    def __init__(self, p, slot, options):
        self.p, self.options = p, options
        self.ws = p.mkdir(p.base / f'slot-{slot}')
        shutil.copy(build(p), self.ws / 'witness')
        self.file = self.ws / 'seen'
        self.trace = p.write(p.base / f'trace-{slot}', '')

    def run(self, inject=None, calls=''):
        p = self.p
        self.file.unlink(missing_ok=True)
        if '--ephemeral' in self.options:
            # what is written there is thrown away: let it out by another way
            out = p.mkdir(self.ws.with_name(self.ws.name + '-out'))
            self.file = out / 'seen'
            self.file.unlink(missing_ok=True)
            more = ('--write', str(out))
        else:
            more = ()
        argv = ['strace', '-f', '-qq', '-o', str(self.trace), '-e', f'trace={calls or "none"}']
        if inject:
            argv += ['-e', f'inject={inject}']
        return p.run(*argv, p.pale_path, 'run', '--engine', 'native', *self.options, *more, '--', './witness', str(self.file),
                     str(p.home / '.ssh/id_rsa'), str(p.outside / 'canary'), cwd=self.ws, timeout=8)

    def hit(self):
        return b'(INJECTED)' in self.trace.read_bytes()

    def counts(self, calls):
        """Of each call, the most that one process makes."""
        self.run(calls=','.join('?' + c for c in calls))
        per = {}
        for line in self.trace.read_text(errors='replace').splitlines():
            pid, _, rest = line.partition(' ')
            name = rest.strip().partition('(')[0]
            if name in calls:
                per[pid, name] = per.get((pid, name), 0) + 1
        return {c: max([n for (_, name), n in per.items() if name == c], default=0) for c in calls}


def judge(trial, r, want):
    """None, or what is wrong."""
    if trial.file.exists() and trial.file.stat().st_size:
        got = facts(trial.file)
        if got != want:
            return f'executed with another boundary: { {k: (v, want.get(k)) for k, v in got.items() if v != want.get(k)} }'
        return 'executed, but the status says it was not' if r.code == 125 else None
    if trial.file.exists():
        return 'executed, and cut short'
    # 137: the program had been entered, and was killed before its first line.
    return None if r.code in (125, 137) else f'nothing executed, and the status is {r.code}'


def usable(p):
    if not shutil.which('strace'):
        skip(p, 'no strace')
        return False
    r = p.run('strace', '-f', '-qq', '-o', '/dev/null', '-e', 'inject=getppid:error=EPERM:when=1', 'true')
    if r.code != 0:
        skip(p, f'strace cannot trace here: {r.err!r}')
        return False
    return True


def inject_all(p, shape, action):
    options, calls = SHAPES[shape]
    trials = [Trial(p, f'{shape.replace(" ", "-")}-{i}', options) for i in range(2)]
    r = trials[0].run()
    if not ok(r.code == 0 and trials[0].file.exists(), p, f'{shape}: the witness runs when nothing fails', r):
        return
    want = facts(trials[0].file)
    bare = '--engine' in options
    ok(want['secret'] == 'no' and want['CapEff'] == '0' * 16 and want['NoNewPrivs'] == '1' and want['user'] == bare and
       want['mnt'] == bare and want['descriptors'] == 'none' and want['core'] == 'off', p,
       f'{shape}: and sees the boundary', want)
    counts = trials[0].counts(calls)

    def one_half(half):
        trial, wrong, tried = trials[half], {}, {}
        for call in calls:
            for n in range(1 + half, counts[call] + 1, 2):
                for error in action:
                    r = trial.run(f'{call}:{error}:when={n}', call)
                    if not trial.hit() and error.startswith('error'):
                        continue
                    tried[call] = tried.get(call, 0) + 1
                    problem = judge(trial, r, want)
                    if problem:
                        wrong.setdefault(call, []).append(f'{call}:{error}:when={n}: {problem}\n{r}')
        return tried, wrong
    with ThreadPoolExecutor(2) as pool:
        halves = list(pool.map(one_half, (0, 1)))
    for call in calls:
        tried = sum(t.get(call, 0) for t, _ in halves)
        wrong = sum((w.get(call, []) for _, w in halves), [])
        if tried:
            ok(not wrong, p, f'{shape}: {call} fails at each of {tried} places', '\n'.join(wrong[:4]))
    total = sum(sum(t.values()) for t, _ in halves)
    ok(total > 20, p, f'{shape}: {total} faults were tried')


def case_each_call_fails_ME06(p):
    if not usable(p):
        return
    for shape in SHAPES:
        inject_all(p, shape, ('error=EPERM',))


def case_killed_at_a_call(p):
    """SIGKILL to whoever makes the call: supervisor or sandbox."""
    if not usable(p):
        return
    trial = Trial(p, 'kill', ())
    trial.run()
    want = facts(trial.file)
    wrong, tried = [], 0
    for call in ('clone3', 'socketpair', 'sendmsg', 'recvmsg', 'setresuid', 'pivot_root', 'capset', 'close_range', 'signalfd4',
                 'chdir', 'setsid', 'sendto', 'recvfrom', 'wait4', 'keyctl'):
        for n in (1, 2):
            r = trial.run(f'{call}:signal=SIGKILL:when={n}', call)
            tried += 1
            if trial.file.exists() and trial.file.stat().st_size and facts(trial.file) != want:
                wrong.append(f'{call} {n}: another boundary {facts(trial.file)}')
            if not wait_for(lambda: not marked(str(trial.file)), 3):
                wrong.append(f'{call} {n}: left {marked(str(trial.file))}')
            if r.code == 0 and not trial.file.exists():
                wrong.append(f'{call} {n}: status 0, and nothing executed\n{r}')
    ok(not wrong, p, f'{tried} kills: nothing is left, and no weaker boundary', '\n'.join(wrong))


def case_supervisor_killed_at_random_PR13(p):
    rng = random.Random(20240229)
    for options in ((), ('--processes', 'visible')):
        left, begun = [], 0
        for _ in range(50):
            m = mark()
            started = p.ws / f'started-{m}'
            proc = p.start_pale(*options, '--', 'sh', '-c', f': >started-{m}; ./probe daemon 60 $0; ./probe ignore $0', m,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.random() * rng.choice((0.005, 0.015, 0.15)))
            proc.kill()
            proc.wait()
            if not wait_for(lambda: not marked(m), 3):
                left += marked(m)
                for pid in marked(m):
                    os.kill(pid, signal.SIGKILL)
            begun += started.exists()
            started.unlink(missing_ok=True)
        name = ' '.join(options) or 'isolated'
        ok(not left, p, f'{name}: 50 kills, {begun} of them with the command running; nothing is left', left)
        ok(0 < begun < 50, p, f'{name}: some fell before the command and some after its start', begun)


main(case_each_call_fails_ME06, case_killed_at_a_call, case_supervisor_killed_at_random_PR13,
     uids=(54321,))
