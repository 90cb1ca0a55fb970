#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Staged commits, and who looks at the repository meanwhile: git writes its index anew then, and it says
the same. And undo after undo, also of what was applied in part."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

GIT = ['git', '-c', 'init.defaultBranch=main', '-c', 'user.name=t', '-c', 'user.email=t@t', '-c', 'safe.directory=*']
COMMIT = 'echo BOOTED; echo 3 >>f && git -c user.name=t -c user.email=t@t commit -qam three'


class Repository:
    looks = 0

    def __init__(self, p, name, *init):
        self.p = p
        self.ws = p.mkdir(p.base / f'git-{name}-{time.time_ns()}')
        for args in (['init', '-q', *init], ['config', 'gc.auto', '0']):
            self.git(*args)
        p.write(self.ws / 'f', '1\n')
        p.write(self.ws / 'other', 'other\n')
        self.git('add', '.')
        self.git('commit', '-qm', 'one')
        self.before = self.seen()

    def git(self, *args):
        return self.p.run(*GIT, *args, cwd=self.ws)

    def pale(self, *args):
        return self.p.run(self.p.pale_path, *args, cwd=self.ws)

    def stage(self):
        r = self.p.pale('--staged', '--', 'sh', '-c', COMMIT, cwd=self.ws)
        ok(r.booted and r.code == 0, self.p, 'a commit is staged', r)

    def look(self):
        """As a prompt or an editor does."""
        before = os.stat(self.ws / '.git/index').st_ino
        self.looks += 1
        os.utime(self.ws / 'other', (time.time() - 100, time.time() - 100 * self.looks - before % 50))
        self.git('status', '--short')
        ok(os.stat(self.ws / '.git/index').st_ino != before, self.p, 'git has written its index anew')

    def seen(self):
        return (self.git('log', '--format=%s').out, self.git('status', '--porcelain').out, (self.ws / 'f').read_text(),
                self.git('fsck', '--strict').code)


DONE = (b'three\none\n', b'', '1\n3\n', 0)


def repositories(p):
    yield 'plain', ()
    yield 'sha256', ('--object-format=sha256',)


def case_who_only_looks(p):
    for name, init in repositories(p):
        box = Repository(p, name, *init)
        if name == 'plain':
            box.git('update-index', '--index-version', '4')
        box.stage()
        box.look()
        r = box.pale('apply')
        ok(r.code == 0 and box.seen() == DONE, p, f'{name}: before apply, which applies the commit', (r, box.seen()))
        box.look()
        r = box.pale('undo')
        ok(r.code == 0 and box.seen() == box.before, p, f'{name}: before undo, which takes it back', (r, box.seen(), box.before))
        box.look()
        r = box.pale('apply')
        ok(r.code == 0 and box.seen() == DONE, p, f'{name}: and once more, which applies it again', (r, box.seen()))


def case_who_does_more(p):
    """Twin: an index that says something else is not thrown away."""
    box = Repository(p, 'more')
    box.stage()
    p.write(box.ws / 'mine', 'mine\n')
    box.git('add', 'mine')
    r = box.pale('apply')
    ok(r.code == 1 and b'.git/index' in r.out + r.err and box.git('log', '--format=%s').out == b'one\n', p, 'apply leaves it alone', r)
    box = Repository(p, 'later')
    box.stage()
    ok(box.pale('apply').code == 0, p, 'a commit is applied')
    p.write(box.ws / 'mine', 'mine\n')
    box.git('add', 'mine')
    r = box.pale('undo')
    ok(r.code == 1 and b'its repository has changed since' in r.out + r.err and b'A  mine' in box.git('status', '--porcelain').out
       and box.git('fsck').code == 0, p, 'so does undo', r)


def case_undo_after_undo(p):
    ws = p.mkdir(p.base / f'hunks-{time.time_ns()}')
    text = ''.join(f'{i}\n' for i in range(30))
    p.write(ws / 'a', text)

    def pale(*args):
        return p.run(p.pale_path, *args, cwd=ws)
    r = p.pale('--staged', '--', 'sh', '-c', 'echo BOOTED; sed -i "s/^2$/two/; s/^28$/more/" a', cwd=ws)
    first, all_ = text.replace('\n2\n', '\ntwo\n'), text.replace('\n2\n', '\ntwo\n').replace('\n28\n', '\nmore\n')
    ok(r.booted, p, 'two hunks are staged', r)
    for args, wanted in ((('apply', '--hunk', 'a:1'), first), (('apply',), all_), (('undo',), first), (('undo',), text)):
        r = pale(*args)
        ok(r.code == 0 and (ws / 'a').read_text() == wanted, p, ' '.join(args), r)
    pale('apply', '--hunk', 'a:1')
    p.write(ws / 'a', (ws / 'a').read_text() + 'mine\n')
    r = pale('undo')
    ok(r.code == 1 and (ws / 'a').read_text() == first + 'mine\n', p, 'twin: what somebody wrote since stays', r)


def case_merged_and_taken_back(p):
    """It merges again: what the command had found is not forgotten with the stage."""
    ws = p.mkdir(p.base / f'merged-{time.time_ns()}')
    text = ''.join(f'{i}\n' for i in range(30))
    p.write(ws / 'a', text)
    p.pale('--staged', '--', 'sh', '-c', 'sed -i s/^2$/two/ a', cwd=ws)
    p.write(ws / 'a', text + 'mine\n')
    for verb in 'apply', 'undo', 'apply':
        r = p.run(p.pale_path, verb, cwd=ws)
        ok(r.code == 0 and (b'merged' in r.out) == (verb == 'apply')
           and (ws / 'a').read_text() == (text.replace('\n2\n', '\ntwo\n') if verb == 'apply' else text) + 'mine\n', p, verb, r)


def case_newer_than_what_is_taken_back(p):
    """What a later run made of it has both, and nobody else has changed anything."""
    ws = p.mkdir(p.base / f'newer-{time.time_ns()}')
    text = ''.join(f'{i}\n' for i in range(30))
    p.write(ws / 'a', text)
    p.write(ws / 'gone', 'old\n')

    def pale(*args):
        return p.run(p.pale_path, *args, cwd=ws)
    for line in ('sed -i s/^2$/two/ a; rm gone; mkdir d; echo 1 >d/x', 'sed -i s/^28$/more/ a; echo again >gone; echo 2 >d/y'):
        r = p.pale('--staged', '--', 'sh', '-c', 'echo BOOTED; ' + line, cwd=ws)
        ok(r.booted and r.code == 0, p, line, r)
        if 'two' in line:
            pale('apply')
    r = pale('undo')
    ok(r.code == 0 and ((ws / 'a').read_text(), (ws / 'gone').read_text(), (ws / 'd').exists()) == (text, 'old\n', False), p, 'the first is taken back', r)
    r = pale('apply')
    both = text.replace('\n2\n', '\ntwo\n').replace('\n28\n', '\nmore\n')
    ok(r.code == 0 and b'merged' not in r.out and [(ws / n).read_text() for n in ('a', 'gone', 'd/x', 'd/y')] == [both, 'again\n', '1\n', '2\n'],
       p, 'then both are applied', r)


def case_undo_after_undo_of_a_new_file(p):
    """There is no copy to compare it with: it is known by its times, which an undo in between changes."""
    ws = p.mkdir(p.base / f'made-{time.time_ns()}')

    def pale(*args):
        return p.run(p.pale_path, *args, cwd=ws)
    for line in ('echo one >made; echo one >gone', 'echo two >>made; rm gone'):
        r = p.pale('--staged', '--', 'sh', '-c', 'echo BOOTED; ' + line, cwd=ws)
        ok(r.booted and pale('apply').code == 0, p, line, r)
    ok(pale('undo').code == 0 and (ws / 'made').read_text() == (ws / 'gone').read_text() == 'one\n', p, 'what it was before is there')
    r = pale('undo')
    ok(r.code == 0 and not os.listdir(ws), p, 'and what was before that', r)
    r = pale('apply')
    ok(r.code == 0 and (ws / 'made').read_text() == 'one\ntwo\n' and os.listdir(ws) == ['made'], p, 'all of it is staged again, and no conflict', r)
    for line in ('echo one >fresh', 'echo two >>fresh'):
        p.pale('--staged', '--', 'sh', '-c', line, cwd=ws)
        pale('apply')
    pale('undo')
    with open(ws / 'fresh', 'r+') as f:
        times = os.fstat(f.fileno())
        f.write('own')
        f.flush()
        os.utime(f.fileno(), ns=(times.st_atime_ns, times.st_mtime_ns))
    r = pale('undo')
    ok(r.code == 1 and (ws / 'fresh').read_text() == 'own\n', p, 'twin: not what somebody has written to, whatever times he gave it', r)


main(case_who_only_looks, case_who_does_more, case_undo_after_undo, case_merged_and_taken_back, case_newer_than_what_is_taken_back,
     case_undo_after_undo_of_a_new_file)
