#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random sequences of operations, done directly and staged.

The same operations run on a copy of a tree and on an overlay over it. Then what
is staged is applied, as a whole or in parts, or discarded, or either of them and
taken back; each time the trees must be what they should, and what is still
staged must look to the next run as it did before. PALE_SEQUENCES says how many
(80), PALE_SEED with which one to begin.
"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from stages import *

DRIVER = driver()
COUNT = int(os.environ.get('PALE_SEQUENCES', '50'))
FIRST = int(os.environ.get('PALE_SEED', '0'))


class Wrong(Exception):
    pass


def equal(a, b, what, names):
    if a != b:
        raise Wrong(f'{what}:\n{differences(a, b, names)}')


class Trial:
    """One base, its copy and its stage."""

    def __init__(self, p, inside, seed, tree=None):
        self.p, self.inside, self.maker = p, inside, Maker(seed)
        self.top = p.mkdir(p.base / 'seq' / str(seed))
        self.base, self.copy, self.merged = (p.mkdir(self.top / n) for n in ('base', 'copy', 'merged'))
        self.state = self.top / 'state'
        p.mkdir(self.state, 0o700)
        ops = self.maker.tree() if tree is None else tree
        for top in (self.base, self.copy):
            inside.do(top, ops)
        equal(inside.view(self.base), inside.view(self.copy), 'the bases', ('one', 'other'))
        self.start = inside.view(self.base, times=True, inodes=True)
        self.layers = self.drive('init', str(self.base)).strip()

    def drive(self, verb, *args, stage=True, ok=(0,)):
        r = self.p.run(DRIVER, verb, str(self.state), *(['default'] if stage else []), *args, cwd='/')
        if r.code not in ok:
            raise Wrong(f'{verb} {args}: {r}')
        return os.fsdecode(r.out)

    def undo(self, out):
        """What printed OUT, if there was anything to do."""
        if out.startswith('id '):
            self.drive('undo', stage=False)

    def run(self, ops=None):
        """The command, both ways."""
        ops = ops or self.maker.ops()
        time.sleep(0.012)
        self.drive('begin', 'run-1')
        time.sleep(0.012)
        said, self.seen = self.inside.overlay(self.base, self.layers, self.merged, ops)
        self.drive('end', 'run-1')
        self.drive('record', 'run-1')
        directly = self.inside.do(self.copy, ops)
        if [s for s in said if s != 'copied'] != [d for s, d in zip(said, directly) if s != 'copied']:
            raise Wrong(f'the overlay itself differs:\n{list(zip(ops, said, directly))}')
        self.want = self.inside.view(self.copy)
        # a folder that was copied has other links than one that was moved; and an overlay breaks some
        self.plain = (lambda seen: seen) if self.seen == self.want else without_links
        equal(without_links(self.seen), without_links(self.want), 'the overlay itself', ('staged', 'direct'))
        equal(self.inside.view(self.base, times=True, inodes=True), self.start, 'the base changed', ('now', 'start'))

    def look(self):
        return self.inside.overlay(self.base, self.layers, self.merged)[1]

    def check_applied(self, what='applied'):
        equal(self.plain(self.inside.view(self.base)), self.plain(self.want), what, ('got', 'direct'))
        self.check_empty(what)

    def check_empty(self, what):
        # a folder that something was made and deleted in is left, and no change
        left = [f for _, _, files in os.walk(os.path.join(self.layers, 'upper')) for f in files]
        if left:
            raise Wrong(f'{what}: still staged: {left}')
        if self.drive('changes'):
            raise Wrong(f'{what}: changes are left: {self.drive("changes")}')

    def check_start(self, what):
        equal(self.inside.view(self.base, times=True, inodes=True), self.start, what, ('got', 'start'))

    def some(self):
        """A few paths that are staged, or above or below such."""
        rng, paths = self.maker.rng, sorted(set(self.seen) ^ set(self.start) | {p for p in self.seen if self.seen[p] != self.start.get(p, ())[:len(self.seen[p])]})
        return [p for p in rng.sample(paths, min(len(paths), rng.randint(1, 3))) if p]

    def apply_all(self):
        self.drive('apply')
        self.check_applied()

    def apply_parts(self):
        for _ in range(3):
            some = self.some()
            if some:
                self.drive('apply', *some, ok=(0, 1))
                # links are only among what is applied together
                equal(without_links(self.look()), without_links(self.seen), f'what is staged after applying {some}', ('now', 'before'))
        self.plain = without_links
        self.drive('apply')
        self.check_applied('all parts applied')

    def apply_undo(self):
        out = self.drive('apply')
        self.check_applied()
        self.undo(out)
        self.check_start('undone')
        equal(self.plain(self.look()), self.plain(self.seen), 'what is staged again', ('now', 'before'))
        self.drive('apply')
        self.check_applied('applied again')

    def parts_undo(self):
        some = self.some()
        if not some:
            return
        out = self.drive('apply', *some, ok=(0, 1))
        self.undo(out)
        self.check_start(f'{some} undone')
        equal(self.plain(self.look()), self.plain(self.seen), f'what is staged again of {some}', ('now', 'before'))
        self.drive('apply')
        self.check_applied('all applied after undo')

    def discard_all(self):
        out = self.drive('discard')
        self.check_start('discarded')
        self.check_empty('discarded')
        self.undo(out)
        equal(self.plain(self.look()), self.plain(self.seen), 'the discarded', ('taken back', 'before'))
        self.drive('apply')
        self.check_applied('applied after all')

    def discard_parts(self):
        some = self.some()
        if not some:
            return
        out = self.drive('discard', *some, ok=(0, 1))
        self.check_start('discarded')
        now = self.look()
        held = [line for line in out.splitlines() if line.startswith('held')]
        start = self.inside.view(self.base)
        for path in set(now) | set(self.seen):
            below = any(path == s or path.startswith(s + '/') for s in some)
            above = any(s.startswith(path + '/') or not path for s in some)
            want = (start if below else self.seen).get(path)
            if now.get(path) != want and not above and not held:
                if want is None or now.get(path) is None or want[:4] != now[path][:4]:
                    raise Wrong(f'{path!r} after discarding {some}: {now.get(path)}, should be {want}')
        self.undo(out)
        equal(self.plain(self.look()), self.plain(self.seen), f'{some} discarded', ('taken back', 'before'))

    def remove(self):
        self.p.run('chmod', '-R', 'u+rwx', str(self.top))
        shutil.rmtree(self.top, ignore_errors=True)


WAYS = ('apply_all', 'apply_parts', 'apply_undo', 'parts_undo', 'discard_all', 'discard_parts')


def case_sequences_SW05_SW07_SW08_SW11(p):
    if not DRIVER:
        skip(p, 'build/glibc/tests/live/driver-stage is not built')
        return
    inside = Inside(p)
    wrong, done, changed = [], {}, 0
    for seed in range(FIRST, FIRST + COUNT):
        way = WAYS[seed % len(WAYS)]
        try:
            trial = Trial(p, inside, seed)
            trial.run()
            changed += trial.seen != trial.inside.view(trial.base)
            getattr(trial, way)()
            done[way] = done.get(way, 0) + 1
            trial.remove()
        except (Wrong, RuntimeError) as e:
            wrong.append(f'PALE_SEED={seed} PALE_SEQUENCES=1: {way}: {e}')
            if len(wrong) > 20:
                break
    inside.close()
    ok(not wrong, p, f'{sum(done.values())} sequences: {done}', '\n'.join(wrong))
    ok(changed > COUNT // 2, p, f'{changed} of them left something staged')


def op(kind, path, **more):
    return {'op': kind, 'path': path, **more}


def write(path, text='new\n'):
    return op('write', path, text=text)


# What the base has at X, and what is done there: the matrix of an overlay's commit.
BASES = {
    'nothing': [],
    'a file': [write('X', 'old\n')],
    'an empty file': [write('X', '')],
    'a program': [write('X', 'old\n'), op('chmod', 'X', mode=0o755, dir_mode=0o755)],
    'a closed file': [write('X', 'old\n'), op('chmod', 'X', mode=0, dir_mode=0o755)],
    'a folder': [op('mkdir', 'X'), write('X/f', 'f\n'), op('mkdir', 'X/d'), write('X/d/g', 'g\n')],
    'an empty folder': [op('mkdir', 'X')],
    'a read-only folder': [op('mkdir', 'X'), write('X/f', 'f\n'), op('chmod', 'X', mode=0, dir_mode=0o555)],
    'an empty unreadable folder': [op('mkdir', 'X'), op('chmod', 'X', mode=0, dir_mode=0)],
    'a link to a file': [write('other', 'other\n'), op('symlink', 'X', to='other')],
    'a link to a folder': [op('mkdir', 'dir'), write('dir/f', 'f\n'), op('symlink', 'X', to='dir')],
    'a dangling link': [op('symlink', 'X', to='nowhere')],
    'a fifo': [op('fifo', 'X')],
}
AWAY = [op('delete', 'X'), op('rmtree', 'X')]
DEEDS = {
    'write': [write('X')],
    'append': [op('append', 'X', text='more\n')],
    'truncate': [op('truncate', 'X', size=1)],
    'chmod': [op('chmod', 'X', mode=0o640, dir_mode=0o700)],
    'close': [op('chmod', 'X', mode=0, dir_mode=0)],
    'touch': [op('utime', 'X')],
    'attribute': [op('xattr', 'X')],
    'delete': AWAY,
    'by a file': AWAY + [write('X')],
    'by an empty file': AWAY + [write('X', '')],
    'by a folder': AWAY + [op('mkdir', 'X'), write('X/f', 'other\n'), op('mkdir', 'X/e')],
    'by an empty folder': AWAY + [op('mkdir', 'X')],
    'by a closed folder': AWAY + [op('mkdir', 'X'), write('X/f', 'x'), op('chmod', 'X', mode=0, dir_mode=0)],
    'by a link': AWAY + [op('symlink', 'X', to='/etc/passwd')],
    'by a fifo': AWAY + [op('fifo', 'X')],
    'into': [write('X/new'), op('mkdir', 'X/more'), write('X/more/deep')],
    'out of': [op('delete', 'X/f'), op('rmtree', 'X/d')],
    'rename': [op('rename', 'X', to='Y')],
    'rename over': [write('Z'), op('rename', 'Z', to='X')],
    'link': [op('link', 'X', to='Y')],
    'top': [op('topmode', 'X', mode=0o700)],
}


def case_every_change_on_every_base_SW05_SW11_SW27(p):
    inside = Inside(p)
    wrong, done = [], 0
    for number, (base, deed) in enumerate((b, d) for b in BASES for d in DEEDS):
        for name in ('X', 'new\nline -x')[number % 3 == 0:][:1]:
            rename = lambda ops: [{k: v.replace('X', name) if k in ('path', 'to') else v for k, v in o.items()} for o in ops]
            way = WAYS[number % 3 and 0 or (number // 3) % 4]
            try:
                trial = Trial(p, inside, 10**6 + number, rename(BASES[base]))
                trial.run(rename(DEEDS[deed]))
                getattr(trial, way)()
                done += 1
                trial.remove()
            except (Wrong, RuntimeError) as e:
                wrong.append(f'{deed} on {base}: {way}: {e}')
    inside.close()
    ok(not wrong, p, f'{done} of {len(BASES) * len(DEEDS)} pairs', '\n'.join(wrong))


def case_a_commit_SW29(p):
    """git commit, staged; then applied."""
    top = p.mkdir(p.base / 'git')
    base, merged = p.mkdir(top / 'base'), p.mkdir(top / 'merged')
    state = p.mkdir(top / 'state', 0o700)
    git = 'export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; set -e; '
    p.run('sh', '-c', git + 'git init -q -b main .; for i in 1 2 3 4 5; do echo $i >f$i; done; git add .; git commit -qm one', cwd=base)

    def drive(verb, *args):
        return p.run(DRIVER, verb, str(state), 'default', *args, cwd='/')
    layers = os.fsdecode(drive('init', str(base)).out).strip()
    time.sleep(0.012)
    drive('begin', 'run-1')
    time.sleep(0.012)
    script = git + (f'mount -t overlay o -o userxattr,volatile,lowerdir={base},upperdir={layers}/upper,workdir={layers}/work {merged}; cd {merged}; '
                    'echo new >f1; rm f2; mkdir d; echo x >d/f; git add -A; git commit -qm two; git checkout -qb other; echo y >f3; '
                    'git commit -qam three; git gc -q; git log --oneline | wc -l')
    r = p.run('unshare', '-m' if p.is_root else '-Urm', 'sh', '-c', script, cwd='/')
    ok(r.code == 0 and r.out.strip() == b'3', p, 'three commits are staged', r)
    drive('end', 'run-1')
    drive('record', 'run-1')
    r = p.run('git', 'log', '--oneline', cwd=base)
    ok(len(r.out.splitlines()) == 1, p, 'the host has one', r)
    r = drive('apply')
    ok(r.code == 0, p, 'applied', r)
    look = git + 'git fsck --full --strict; git log --oneline | wc -l; git branch --show-current; git --no-optional-locks status --porcelain'
    r = p.run('sh', '-c', look, cwd=base)
    ok(r.code == 0 and r.out.split() == [b'3', b'other'], p, 'git fsck passes, and three are there', r)
    r = p.run(DRIVER, 'undo', str(state), cwd='/')
    ok(r.code == 0, p, 'taken back', r)
    r = p.run('sh', '-c', look, cwd=base)
    ok(r.code == 0 and r.out.split() == [b'1', b'main'], p, 'git fsck passes, and one is there', r)
    # an index that was only written anew says the same
    r = drive('apply')
    p.run('git', 'update-index', '--force-write-index', cwd=base)
    again = p.run(DRIVER, 'undo', str(state), cwd='/')
    ok(r.code == 0 and again.code == 0, p, 'taken back after git has looked', again)
    r = p.run('sh', '-c', look, cwd=base)
    ok(r.code == 0 and r.out.split() == [b'1', b'main'], p, 'git fsck passes, and one is there again', r)
    # one that says something else keeps its repository
    r = drive('apply')
    p.run('sh', '-c', git + 'echo mine >mine; git add mine', cwd=base)
    again = p.run(DRIVER, 'undo', str(state), cwd='/')
    ok(r.code == 0 and again.code == 1 and b'done 0 .git/' not in again.out, p, 'a changed repository is left as a whole', again)
    r = p.run('sh', '-c', git + 'git fsck --full --strict; git log --oneline | wc -l', cwd=base)
    ok(r.code == 0 and r.out.split() == [b'3'], p, 'and git fsck passes', r)


main(case_a_commit_SW29, case_every_change_on_every_base_SW05_SW11_SW27, case_sequences_SW05_SW07_SW08_SW11, uids=(1000,))
