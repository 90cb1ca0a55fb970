#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parts of a session are killed, or a call of theirs fails, at any step of start, exec and stop.

After it nothing is left by the next command: no process, mount, cgroup, file or lock, and
the name can be used again. strace injects. PALE_SWEEP=full tries every call; else a sample.
"""
import random
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

FULL = os.environ.get('PALE_SWEEP') == 'full'
SAMPLE = int(os.environ.get('PALE_SAMPLE', '5'))
ERRORS = {
    'ENOSPC': 'openat mkdirat write memfd_create',
    'EMFILE': 'openat socket pipe2 accept4 socketpair signalfd4',
    'EINTR': 'read write poll ppoll recvmsg sendmsg accept4 connect',
    'ENOMEM': 'mmap fork clone socket sendmsg',
    'EACCES': 'mkdirat openat bind connect',
}
NOT_OURS = 'execve brk munmap mprotect arch_prctl set_tid_address exit_group getpid geteuid getcwd rt_sigreturn restart_syscall exit'.split()


class Scene:
    def __init__(self, p, staged):
        self.p, self.staged = p, ('--staged',) if staged else ()
        self.top = p.mkdir(p.base / f'sfaults-{time.time_ns()}')
        self.ws = p.mkdir(self.top / 'ws')
        self.state, self.runtime = (p.mkdir(self.top / n, 0o700) for n in ('state', 'runtime'))
        for d in (self.state, self.runtime) if os.geteuid() == 0 else ():
            os.chown(d, p.uid, p.uid)
        self.config = p.mkdir(self.top / 'config')
        p.mkdir(self.config / 'pale')
        p.write(self.config / 'pale' / 'pale.toml', '[session]\nidle = "1s"\n')
        self.trace = p.write(self.top / 'trace', '')
        self.env = dict(p.env, XDG_STATE_HOME=str(self.state), XDG_RUNTIME_DIR=str(self.runtime), PALE_TEST=self.top.name)

    def verb(self, *args, **kw):
        return self.p.verb(*args, cwd=self.ws, env=self.env, **kw)

    def strace(self, options, *args):
        # strace waits for all that it follows: a keeper without work must end soon
        env = dict(self.env, XDG_CONFIG_HOME=str(self.config)) if '-f' in options else self.env
        return self.p.run('strace', '-qq', '-o', str(self.trace), *options, self.p.pale_path, *args, cwd=self.ws, env=env, timeout=25)

    def start(self):
        return self.verb('session', 'start', 's', *self.staged)

    def processes(self):
        """Everything that began with our environment, or that pale started in it."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                # a keeper forgets its variables, and holds its folder
                held = any(self.top.name in os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd'))
                with open(f'/proc/{pid}/environ', 'rb') as f:
                    if (held or self.top.name.encode() in f.read()) and alive(pid) and int(pid) != os.getpid():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def files(self):
        return sorted(str(f.relative_to(self.runtime)) for f in self.runtime.rglob('*') if not f.is_dir() or f.name == 'out')

    def settle(self):
        """What the next command makes of it; None, or what is wrong."""
        self.verb('session', 'prune')
        living = self.verb('session', 'list', '-j').json()
        # one that was just ending may be gone before it can be stopped
        if living and self.verb('session', 'stop', 's').code != 0 and self.verb('session', 'list', '-j').json():
            return f'it cannot be stopped: {living}'
        # one that was just being started ends by itself: nobody knows of it
        if not wait_for(lambda: not self.files(), 8):
            return f'files: {self.files()}'
        if not wait_for(lambda: not self.processes(), 8):
            return f'processes: {[(x, open(f"/proc/{x}/cmdline").read()[:80], open(f"/proc/{x}/stat").read()[:60]) for x in self.processes() if alive(x)]}'
        return None

    def works(self):
        got = [self.start(), self.verb('exec', '-s', 's', '--', 'echo', 'works'), self.verb('session', 'stop', 's')]
        return None if [g.code for g in got] == [0, 0, 0] and got[1].out == b'works\n' else '\n'.join(map(str, got))

    def counts(self, follow, *args):
        self.strace(follow, *args)
        counts = {}
        for line in self.trace.read_text(errors='replace').splitlines():
            name = re.sub(r'^\d+ +', '', line).partition('(')[0]
            if re.fullmatch('[a-z0-9_]+', name) and name not in NOT_OURS:
                counts[name] = counts.get(name, 0) + 1
        return counts


def jobs_of(counts, name, errors=True):
    jobs = [(call, n, action) for call, most in counts.items() for n in range(1, most + 1)
            for action in ['signal=SIGKILL'] + [f'error={e}' for e, calls in ERRORS.items() if errors and call in calls.split()]]
    return jobs if FULL else random.Random(name).sample(jobs, min(SAMPLE, len(jobs)))


def usable(p):
    if not shutil.which('strace') or p.run('strace', '-qq', '-o', '/dev/null', 'true').code != 0:
        skip(p, 'strace does not work here')
        return False
    return True


def sweep(p, name, follow, args, staged=False, stands=False):
    """ARGS under strace, FOLLOW its options; STANDS: a session does before."""
    scene = Scene(p, staged)
    if not ok(scene.works() is None, p, f'{name}: it works without', scene.works()):
        return
    if stands:
        scene.start()
    counts = scene.counts(follow, *args)
    scene.settle()
    bad, tried, base = [], 0, mounts()
    for call, n, action in jobs_of(counts, name):
        if stands and scene.start().code != 0:
            bad.append((call, n, action, 'it does not start any more'))
            break
        r = scene.strace([*follow, '-e', f'inject={call}:{action}:when={n}'], *args)
        tried += 1
        wrong = scene.settle() or (scene.works() if tried % 4 == 0 or FULL else None)
        if wrong:
            bad.append((call, n, action, wrong, str(r)))
            for pid in scene.processes():
                os.kill(pid, signal.SIGKILL)
            shutil.rmtree(scene.runtime / 'pale', ignore_errors=True)
    ok(not bad and tried, p, f'{name}: {tried} of {sum(counts.values())} calls', '\n'.join(map(str, bad[:3])))
    ok(scene.works() is None and mounts() == base, p, f'{name}: and it works still', scene.works())


def mounts():
    return len(open('/proc/self/mountinfo').readlines())


def case_start(p):
    if usable(p):
        sweep(p, 'start, who asks', [], ('session', 'start', 's'))
        sweep(p, 'start, all', ['-f'], ('session', 'start', 's'))


def case_start_staged(p):
    if usable(p):
        sweep(p, 'start staged, all', ['-f'], ('session', 'start', 's', '--staged'), staged=True)


def case_exec(p):
    if usable(p):
        sweep(p, 'exec', [], ('exec', '-s', 's', '--', 'true'), stands=True)
        sweep(p, 'exec on demand', ['-f'], ('exec', '--', 'true'))


def case_stop(p):
    if usable(p):
        sweep(p, 'stop', [], ('session', 'stop', 's'), stands=True)


def case_keeper_at_work(p):
    """The keeper and the warden are killed while many commands come and go."""
    scene = Scene(p, False)
    chance = random.Random(3)
    bad = []
    for n in range(30 if FULL else 6):
        scene.start()
        pid = next((s['pid'] for s in scene.verb('session', 'list', '-j').json()), None)
        work = [p.start(p.pale_path, 'exec', '-s', 's', '--', 'sh', '-c', 'sleep 0.1; true', cwd=scene.ws, env=scene.env, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL) for _ in range(6)]
        time.sleep(chance.random() * 0.15)
        inside = subprocess.run(['pgrep', '-P', str(pid)], capture_output=True, text=True).stdout.split()
        victim = pid if n % 2 or not inside else int(inside[0])
        os.kill(victim, signal.SIGKILL)
        codes = [w.wait(20) for w in work]
        wrong = scene.settle()
        if wrong or not set(codes) <= {0, 125, 137}:
            bad.append((n, codes, wrong))
    ok(not bad, p, 'nothing is left, and every client is told', bad[:2])
    ok(scene.works() is None, p, 'and it works still')


main(case_start, case_start_staged, case_exec, case_stop, case_keeper_at_work)
