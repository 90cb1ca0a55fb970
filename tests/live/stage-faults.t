#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""apply, discard and undo are killed, or a call of theirs fails, at any step.

After it, and after the next command has ended what was begun, the tree is
exactly the old or exactly the new one, the stage fits it, and nothing is left
behind. strace injects: SIGKILL, and the errors that a call can have.
PALE_SWEEP=full tries every call; else a sample of them. Each is also tried with
the base on a mount of its own, from which nothing can be renamed.
"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from stages import differences, driver, view, without_links

DRIVER = driver()
FULL = os.environ.get('PALE_SWEEP') == 'full'
SAMPLE = int(os.environ.get('PALE_SAMPLE', '20'))
ERRORS = {
    'ENOSPC': 'openat mkdirat write pwrite64 copy_file_range ftruncate symlinkat mknodat linkat renameat renameat2 fsetxattr '
              'fdatasync fsync syncfs',
    'EIO': 'openat openat2 read pread64 write copy_file_range statx newfstatat renameat renameat2 unlinkat mkdirat symlinkat '
           'linkat getdents64 fdatasync fsync syncfs fchmod fchmodat2 utimensat fchownat fgetxattr flistxattr readlinkat '
           'mknodat ftruncate fsetxattr fremovexattr',
    'EINTR': 'openat openat2 read write copy_file_range fdatasync flock renameat2 statx getdents64',
}
NOT_OURS = 'execve brk mmap munmap mprotect arch_prctl set_tid_address set_robust_list rseq prlimit64 getrandom exit_group access'.split()


class Scene:
    """A base and a stage with every kind of change, made anew for each trial."""

    def __init__(self, p, name, apart):
        self.p, self.apart = p, apart
        self.top = p.base / name
        self.base, self.state = self.top / 'base', self.top / 'state'
        self.mounted = False

    def make(self, verb):
        self.clean()
        p = self.p
        for d in (self.top, self.base, self.state):
            p.mkdir(d, 0o755 if d != self.state else 0o700)
        if self.apart:
            subprocess.run(['mount', '--bind', self.base, self.base], check=True)
            self.mounted = True
        w = lambda path, text, mode=0o644: p.write(self.base / path, text, mode)
        w('modified', 'old\n')
        w('mode', 'mode\n')
        w('dir/deleted', 'deleted\n')
        w('dir/kept', 'kept\n')
        w('gone/a', 'a\n')
        w('gone/sub/b', 'b\n')
        w('opaque/old', 'old\n')
        w('opaque/both', 'old\n')
        w('to-dir', 'file\n')
        w('to-file/inner', 'inner\n')
        os.symlink('modified', self.base / 'link')
        p.mkdir(self.base / 'closed', 0o755)
        w('closed/file', 'file\n')
        (self.base / 'closed').chmod(0o555)
        p.mkdir(self.base / 'void', 0)
        p.mkdir(self.base / 'shut', 0)
        for d, _, files in os.walk(self.base):
            for n in [d] + [os.path.join(d, f) for f in files]:
                os.utime(n, (1000, 1000), follow_symlinks=False)
        os.lchown(self.base / 'link', p.owner, p.owner) if os.geteuid() == 0 else None
        layers = os.fsdecode(self.drive('init', str(self.base)).out).strip()
        time.sleep(0.012)
        self.drive('begin', 'run-1')
        time.sleep(0.012)
        self.upper = pathlib.Path(layers) / 'upper'
        u = lambda path, text, mode=0o644: p.write(self.upper / path, text, mode)
        u('modified', 'new\n')
        u('mode', 'mode\n', 0o755)
        u('added', 'added\n')
        p.mkdir(self.upper / 'dir')
        self.whiteout('dir/deleted')
        self.whiteout('gone')
        u('opaque/both', 'new\n')
        u('opaque/new', 'new\n')
        os.setxattr(self.upper / 'opaque', 'user.overlay.opaque', b'y')
        u('to-dir/in', 'in\n')
        u('fresh', 'fresh\n')
        u('dir/fresh', 'fresh\n', 0o600)
        u('tree/sub/leaf', 'leaf\n')
        u('to-file', 'file\n')
        os.link(self.upper / 'added', self.upper / 'linked')
        os.symlink('elsewhere', self.upper / 'link')
        os.mkfifo(self.upper / 'fifo')
        u('closed/file', 'other\n')
        (self.upper / 'closed').chmod(0o555)
        p.mkdir(self.upper / 'empty', 0o700)
        self.whiteout('void')
        u('shut/new', 'new\n')
        os.setxattr(self.upper / 'shut', 'user.overlay.opaque', b'y')
        if os.geteuid() == 0:
            for n in ('link', 'fifo'):
                os.lchown(self.upper / n, p.owner, p.owner)
        for d, dirs, files in os.walk(self.upper, topdown=False):
            for n in [os.path.join(d, f) for f in files] + [d]:
                os.utime(n, (2000, 2000), follow_symlinks=False)
        self.drive('end', 'run-1')
        self.drive('record', 'run-1')
        if verb == 'undo':
            self.drive('apply')
        return self

    def whiteout(self, path):
        os.mknod(self.upper / path, stat.S_IFCHR, 0)
        if os.geteuid() == 0:
            os.chown(self.upper / path, self.p.owner, self.p.owner)

    def drive(self, verb, *args):
        named = [] if verb in ('undo', 'recover') else ['default']
        return self.p.run(DRIVER, verb, str(self.state), *named, *args, cwd='/')

    def strace(self, verb, *options):
        named = [] if verb in ('undo', 'recover') else ['default']
        return self.p.run('strace', '-qq', '-o', str(self.p.base / 'trace'), *options, str(DRIVER), verb, str(self.state), *named, cwd='/',
                          timeout=20)

    def look(self):
        """The tree, and what is staged."""
        return view(str(self.base), times=True), self.drive('changes').out

    def clean(self):
        if self.mounted:
            subprocess.run(['umount', self.base], check=True)
            self.mounted = False
        if self.top.exists():
            subprocess.run(['rm', '-rf', self.top], check=True)


def equal(a, b):
    """The time of a folder is the time of its last change in one of the trees."""
    strip = lambda seen: {k: v[:-1] if v[0] == stat.S_IFDIR else v for k, v in seen.items()}
    return strip(a[0]) == strip(b[0]) and a[1] == b[1]


def judge(scene, r, action, old, new):
    """None, or what is wrong."""
    if b'[the test gave up waiting]' in r.err:
        return 'it hangs'
    again = scene.drive('recover')
    if again.code != 0:
        return f'recover fails: {again}'
    now = scene.look()
    left = [n for n in os.listdir(scene.base) if n.startswith('.pale')] + [n for n in os.listdir(scene.state / 'applies') if n.startswith('pending')] \
        if (scene.state / 'applies').exists() else []
    if left:
        return f'left behind: {left}'
    is_old, is_new = equal(now, old), equal(now, new)
    if not is_old and not is_new:
        return (f'torn: to old:\n{differences(now[0], old[0], ("now", "old"))}\nto new:\n{differences(now[0], new[0], ("now", "new"))}\n'
                f'staged: {now[1]!r}, old {old[1]!r}')
    if is_old and now[0] != old[0]:
        return f'times: {differences(now[0], old[0], ("now", "old"))}'
    if b'finished' in again.out and not is_new or b'taken back' in again.out and not is_old:
        return f'it says {again.out}, and that is not so'
    if 'SIGKILL' not in action and (r.code in (0, 1)) != is_new:
        return f'status {r.code}, and the tree is {"new" if is_new else "old"}: {r}'
    return None


def calls_of(scene, verb):
    scene.make(verb)
    scene.strace(verb)
    counts = {}
    for line in (scene.p.base / 'trace').read_text(errors='replace').splitlines():
        name = line.partition('(')[0]
        if re.fullmatch('[a-z0-9_]+', name) and name not in NOT_OURS:
            counts[name] = counts.get(name, 0) + 1
    return counts


def sweep(p, verb, apart):
    scene = Scene(p, 'scene', apart)
    counts = calls_of(scene, verb)
    old = scene.make(verb).look()
    r = scene.drive(verb)
    new = scene.look()
    name = f'{verb}{", apart" if apart else ""}'
    if not ok(r.code == 0 and old[1] != new[1], p, f'{name}: works when nothing fails', r):
        return
    jobs = [(call, n, action) for call, most in counts.items() for n in range(1, most + 1)
            for action in ['signal=SIGKILL'] + [f'error={e}' for e, calls in ERRORS.items() if call in calls.split()]]
    if not FULL:
        jobs = random.Random(name).sample(jobs, min(SAMPLE, len(jobs)))
    wrong, tried = [], 0
    for call, n, action in jobs:
        # times of the base are part of what is compared
        old = scene.make(verb).look()
        r = scene.strace(verb, '-e', f'trace={call}', '-e', f'inject={call}:{action}:when={n}')
        tried += 1
        problem = judge(scene, r, action, old, new)
        if problem:
            wrong.append(f'{call}:{action}:when={n}: {problem}')
            if len(wrong) > 10:
                break
    scene.clean()
    ok(not wrong, p, f'{name}: {tried} of {sum(counts.values())} calls, 0 torn', '\n'.join(wrong))


def usable(p):
    if os.geteuid() != 0:
        skip(p, 'nobody but root can look into folders that are closed', only_root=True)
        return False
    if not shutil.which('strace') or p.run('strace', '-qq', '-o', '/dev/null', 'true').code != 0:
        skip(p, 'strace does not work here')
        return False
    if not DRIVER:
        skip(p, 'the driver of the stage is not built')
        return False
    return True


def case_faults_SW15_SW16_SW17(p):
    if usable(p):
        for verb in ('apply', 'discard', 'undo'):
            sweep(p, verb, False)


def case_faults_on_another_mount_SW15(p):
    if not usable(p):
        return
    for verb in ('apply', 'undo'):
        sweep(p, verb, True)


if os.geteuid() == 0:
    go_apart()
import random
main(case_faults_SW15_SW16_SW17, case_faults_on_another_mount_SW15, uids=(1000,))
