#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The spool's append and the fold are killed, or a call of theirs fails, at any step.

After it the database opens and is whole, no run is lost or doubled, one that never
ended shows as such, and the next run and the next reader work. strace injects: SIGKILL,
and the errors that a call can have. PALE_SWEEP=full tries every call; else a sample.
"""
import random
import sqlite3
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

FULL = os.environ.get('PALE_SWEEP') == 'full'
SAMPLE = int(os.environ.get('PALE_SAMPLE', '50'))
UNSTORED = b'could not be written to the history'
ERRORS = {
    'ENOSPC': 'openat open mkdir write pwrite64 ftruncate renameat renameat2 fdatasync fsync fallocate',
    'EIO': 'openat open read pread64 write pwrite64 fstat newfstatat stat lstat renameat2 unlinkat unlink getdents64 fdatasync fsync '
           'ftruncate fchmod mmap',
    'EINTR': 'openat open read write flock fcntl close',
    'EDQUOT': 'write pwrite64 mkdir openat',
}
NOT_OURS = ('execve brk munmap mprotect arch_prctl set_tid_address set_robust_list rseq exit_group getpid geteuid getuid getgid getegid '
            'getcwd sysinfo uname').split()


class Scene:
    """A state with two runs in the database, and three in the spool, of which one never ended."""

    def __init__(self, p):
        self.p = p
        self.top = p.mkdir(p.base / f'faults-{time.time_ns()}')
        self.ws = p.mkdir(self.top / 'ws')
        self.state, self.made = self.top / 'state', self.top / 'made'
        self.trace = p.write(self.top / 'trace', '')
        self.env = dict(p.env, XDG_STATE_HOME=str(self.state))
        self.pale('true')
        self.pale('false')
        self.runs()
        self.pale('true')
        run = p.start_pale('--', 'sleep', '60', cwd=self.ws, env=self.env, stdin=subprocess.DEVNULL)
        wait_for(lambda: b'"sleep"' in (self.dir / 'spool').read_bytes())
        pid = next(r['pid'] for r in self.copy_runs() if r['outcome'] == 'running')
        os.kill(pid, signal.SIGKILL)
        run.wait()
        self.pale('true')
        subprocess.run(['cp', '-a', self.state, self.made], check=True)

    @property
    def dir(self):
        return next((self.state / 'pale').glob('ws-*'))

    def copy_runs(self):
        """Without folding what is there for good."""
        with tempfile.TemporaryDirectory(dir=self.top) as other:
            subprocess.run(['cp', '-a', self.state / 'pale', other], check=True)
            os.chown(other, self.p.uid, self.p.uid) if os.geteuid() == 0 else None
            # the lock is on the file in place
            (pathlib.Path(other) / 'pale' / self.dir.name / 'living').unlink()
            os.link(self.dir / 'living', pathlib.Path(other) / 'pale' / self.dir.name / 'living')
            return self.runs(dict(self.env, XDG_STATE_HOME=other))

    def reset(self):
        (self.ws / 'ran').unlink(missing_ok=True)
        shutil.rmtree(self.state)
        subprocess.run(['cp', '-a', self.made, self.state], check=True)

    def pale(self, *argv):
        return self.p.pale('--', *argv, cwd=self.ws, env=self.env)

    def runs(self, env=None):
        r = self.p.verb('runs', '-n', '0', '-j', cwd=self.ws, env=env or self.env)
        return r.json() if r.code == 0 else [{'outcome': str(r), 'run': None}]

    def strace(self, argv, *options):
        return self.p.run('strace', '-qq', '-o', str(self.trace), *options, *argv, cwd=self.ws, env=self.env, timeout=20)

    def counts(self, argv):
        self.strace(argv)
        counts = {}
        for line in self.trace.read_text(errors='replace').splitlines():
            name = line.partition('(')[0]
            if re.fullmatch('[a-z0-9_]+', name) and name not in NOT_OURS:
                counts[name] = counts.get(name, 0) + 1
        return counts

    def whole(self):
        """None, or what is wrong with the database."""
        db = sqlite3.connect(self.dir / 'history.db')
        try:
            got = db.execute('PRAGMA integrity_check').fetchall()
            twice = db.execute('SELECT count(*) - count(DISTINCT id) FROM runs').fetchone()[0]
            lost = db.execute('SELECT count(*) FROM runs WHERE ended AND id NOT IN '
                              "(SELECT run FROM events WHERE kind = 'sandbox.exit')").fetchone()[0]
        finally:
            db.close()
        return None if got == [('ok',)] and not twice and not lost else f'{got}, {twice} doubled, {lost} without their event'


def jobs_of(counts, name):
    jobs = [(call, n, action) for call, most in counts.items() for n in range(1, most + 1)
            for action in ['signal=SIGKILL'] + [f'error={e}' for e, calls in ERRORS.items() if call in calls.split()]]
    return jobs if FULL else random.Random(name).sample(jobs, min(SAMPLE, len(jobs)))


def usable(p):
    if not shutil.which('strace') or p.run('strace', '-qq', '-o', '/dev/null', 'true').code != 0:
        skip(p, 'strace does not work here')
        return False
    return True


def sweep(p, name, argv, judge):
    scene = Scene(p)
    want = [r['outcome'] for r in scene.runs()]
    if not ok(want == ['ok', 'unknown', 'ok', 'failed', 'ok'], p, f'{name}: five runs, one without an end', want):
        return
    scene.reset()
    counts = scene.counts(argv)
    wrong, tried = [], 0
    jobs = jobs_of(counts, f'{name}{p.uid}')
    for call, n, action in jobs:
        scene.reset()
        r = scene.strace(argv, '-e', f'trace={call},?exit_group', '-e', f'inject={call}:{action}:when={n}')
        tried += 1
        problem = 'it hangs' if b'[the test gave up waiting]' in r.err else judge(scene, r, action)
        if problem:
            wrong.append(f'{call}:{action}:when={n}: {problem}\n{r}')
            if len(wrong) > 10:
                break
    shutil.rmtree(scene.top)
    ok(tried > 20 and not wrong, p, f'{name}: {tried} faults in {sum(counts.values())} calls, nothing lost, doubled or damaged', '\n'.join(wrong))


def judge_fold(scene, r, action):
    got = [x['outcome'] for x in scene.runs()]
    if got != ['ok', 'unknown', 'ok', 'failed', 'ok']:
        return f'afterwards the runs are {got}'
    if list(scene.dir.glob('spool*')) or list(scene.dir.glob('*damaged*')):
        return f'left: {[f.name for f in scene.dir.iterdir()]}'
    return scene.whole()


def case_fold_HS01(p):
    if usable(p):
        sweep(p, 'fold', [str(p.pale_path.with_name('pale-verbs')), 'runs', '-n', '0', '-j'], judge_fold)


def judge_run(scene, r, action):
    """The supervisor alone is traced: the command runs or does not, and its status says which."""
    ran = (scene.ws / 'ran').exists()
    (scene.ws / 'ran').unlink(missing_ok=True)
    got = scene.runs()
    rest = [x['outcome'] for x in got[-5:]]
    new = [x['outcome'] for x in got[:-5]]
    said = UNSTORED in r.err
    if rest != ['ok', 'unknown', 'ok', 'failed', 'ok']:
        return f'other runs are {rest}'
    if len(new) > 1:
        return f'doubled: {new}'
    killed = 'SIGKILL' in action
    if not killed and ran and r.code != 6:
        return f'executed, and the status is {r.code}'
    if not killed and not ran and r.code == 6:
        return 'not executed, and the status says so'
    if not killed and ran and new != ['failed'] and not said:
        return f'executed, {new}, and nobody says that it could not be remembered'
    if killed and ran and new not in (['failed'], ['unknown']):
        return f'executed, and {new}'
    after = scene.pale('true')
    if after.code != 0 or after.err or scene.runs()[0]['outcome'] != 'ok':
        return f'the next run: {after} {scene.runs()[0]}'
    return scene.whole()


def case_append_HS01(p):
    if usable(p):
        sweep(p, 'append', p.pale_argv('--', 'sh', '-c', '>ran; exit 6'), judge_run)


def case_migration_HS09(p):
    """A database of the first version is brought up to date, or left as it was."""
    if not usable(p):
        return
    argv = [str(p.pale_path.with_name('pale-verbs')), 'runs', '-n', '0', '-j']

    def older(scene):
        db = sqlite3.connect(scene.made_dir / 'history.db')
        added = ('has_output', 'connections', 'net_sent', 'net_received')
        db.executescript('DROP TABLE annotations; DROP INDEX runs_started; PRAGMA user_version = 1;' +
                         ''.join(f'ALTER TABLE runs DROP COLUMN {column};' for column in added))
        db.close()
    scene = Scene(p)
    scene.made_dir = next((scene.made / 'pale').glob('ws-*'))
    older(scene)
    scene.reset()
    if not ok(judge_fold(scene, None, '') is None, p, 'the first version is migrated', judge_fold(scene, None, '')):
        return
    scene.reset()
    counts = scene.counts(argv)
    wrong, jobs = [], jobs_of(counts, f'migration{p.uid}')
    for call, n, action in jobs:
        scene.reset()
        r = scene.strace(argv, '-e', f'trace={call},?exit_group', '-e', f'inject={call}:{action}:when={n}')
        problem = judge_fold(scene, r, action)
        if problem:
            wrong.append(f'{call}:{action}:when={n}: {problem}\n{r}')
    ok(not wrong and len(jobs) > 20, p, f'{len(jobs)} faults in {sum(counts.values())} calls: it is always the old or the new one', '\n'.join(wrong[:10]))


main(case_fold_HS01, case_append_HS01, case_migration_HS09, uids=(1000,))
