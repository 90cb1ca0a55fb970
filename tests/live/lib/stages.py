# SPDX-License-Identifier: MIT
"""stages - trees, random operations on them, and an overlay like pale's.

`Inside` is this file run as a program in a mount namespace of its own, as whoever
the test is for: it mounts a stage's layers over a base, works there, and says what
there is to be seen. The same operations on a plain folder run there as well, with
the same permissions.
"""
import atexit
import ctypes
import errno
import hashlib
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile

NAMES = ['a', 'b', 'c', 'dd', 'e f', 'n\nl', 'ü', '\udcff', '-x', "q'\"\\", 'L' * 255]
MODES = [0o644, 0o600, 0o755, 0o700, 0o444, 0o000, 0o777, 0o640]
DIR_MODES = [0o755, 0o700, 0o555, 0o000, 0o777, 0o711]
MS_DETACH = 2


def view(top, times=False, inodes=False):
    """{path: what it is}, from "" on. Names of one file have the first one's name in common."""
    found, links = {}, {}

    def look(path):
        full = os.path.join(top, path) if path else top
        st = os.lstat(full)
        kind = stat.S_IFMT(st.st_mode)
        what = [kind, stat.S_IMODE(st.st_mode)]
        if kind == stat.S_IFREG:
            with open(full, 'rb') as f:
                what.append(hashlib.sha256(f.read()).hexdigest())
            what.append(sorted((n, os.getxattr(full, n).hex()) for n in os.listxattr(full) if n.startswith('user.') and
                               not n.startswith('user.overlay.')))
            what.append(links.setdefault(st.st_ino, path) if st.st_nlink > 1 else None)
        elif kind == stat.S_IFLNK:
            what[1:] = [os.readlink(full)]
        if times:
            what.append(st.st_mtime_ns)
        if inodes and kind != stat.S_IFDIR:
            what.append(st.st_ino)
        found[path] = what
        if kind == stat.S_IFDIR:
            for name in sorted(os.listdir(full)):
                look(os.path.join(path, name) if path else name)
    look('')
    # a link to something outside of the tree is no link in it
    count = {}
    for what in found.values():
        if what[0] == stat.S_IFREG and what[4] is not None:
            count[what[4]] = count.get(what[4], 0) + 1
    for what in found.values():
        if what[0] == stat.S_IFREG and what[4] is not None and count[what[4]] < 2:
            what[4] = None
    return found


def without_links(seen):
    return {path: what[:4] + what[5:] if what[0] == stat.S_IFREG else what for path, what in seen.items()}


def differences(a, b, names=('first', 'second')):
    lines = []
    for path in sorted(set(a) | set(b)):
        if a.get(path) != b.get(path):
            lines.append(f'{path[:60]!r}: {names[0]} {a.get(path)}, {names[1]} {b.get(path)}')
    return '\n'.join(lines[:12])


class Maker:
    """Random trees and operations, the same for the same seed."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def path(self, depth=3):
        rng = self.rng
        return '/'.join(rng.choice(NAMES[:4] if rng.random() < .8 else NAMES) for _ in range(rng.randint(1, depth)))

    def text(self):
        rng = self.rng
        return rng.choice(['', 'x', 'one\ntwo\n', 'line\n' * rng.randint(1, 50), '\0binary\xff' * 9])

    def tree(self):
        """Operations that make the base."""
        ops = []
        for _ in range(self.rng.randint(3, 14)):
            kind = self.rng.choice(['mkdir', 'mkdir', 'write', 'write', 'write', 'symlink', 'fifo'])
            ops.append(self.op(kind))
        if self.rng.random() < .3:
            ops.append(self.op('chmod'))
        return ops

    def op(self, kind=None):
        rng = self.rng
        kind = kind or rng.choice('write write append truncate rename rename rename delete delete mkdir mkdir symlink link '
                                  'chmod chmod replace_by_file replace_by_dir rmtree fifo recreate xattr utime topmode'.split())
        op = {'op': kind, 'path': self.path()}
        if kind in ('write', 'append', 'replace_by_file', 'recreate'):
            op['text'] = self.text()
        if kind in ('rename', 'link'):
            op['to'] = self.path()
        if kind == 'symlink':
            op['to'] = rng.choice(['a', 'a/b', '/etc/passwd', 'nowhere', '.', '/nonexistent/../x'])  # none into the other tree
        if kind == 'chmod':
            op['mode'], op['dir_mode'] = rng.choice(MODES), rng.choice(DIR_MODES)
        if kind == 'topmode':
            op['mode'] = rng.choice([0o755, 0o700, 0o775])
        if kind == 'truncate':
            op['size'] = rng.choice([0, 1, 5000])
        return op

    def ops(self):
        return [self.op() for _ in range(self.rng.randint(1, 18))]


def move(old, new):
    """mv: where a rename is refused, a copy."""
    try:
        os.rename(old, new)
    except OSError as e:
        if e.errno != errno.EXDEV:
            raise
        if os.path.lexists(new):
            os.rmdir(new)  # as rename would: only an empty one can be replaced
        copy(old, new)
        shutil.rmtree(old)
        return 'copied'
    return 0


def copy(old, new):
    os.mkdir(new)
    for name in sorted(os.listdir(old)):
        a, b = os.path.join(old, name), os.path.join(new, name)
        st = os.lstat(a)
        if stat.S_ISDIR(st.st_mode):
            copy(a, b)
        elif stat.S_ISLNK(st.st_mode):
            os.symlink(os.readlink(a), b)
        elif stat.S_ISFIFO(st.st_mode):
            os.mkfifo(b)
            os.chmod(b, st.st_mode & 0o7777)
        else:
            shutil.copy2(a, b)
    os.chmod(new, os.lstat(old).st_mode & 0o7777)


def write(path, text, mode):
    if os.path.islink(path) or (os.path.lexists(path) and not os.path.isfile(path)):
        raise OSError(errno.EINVAL, 'no file')  # a fifo would wait, a link leads elsewhere
    with open(path, mode) as f:
        f.write(text.encode('latin-1'))


def do(top, op):
    """One operation; its errno, or 0."""
    kind = op['op']
    path = os.path.join(top, op['path'])
    to = os.path.join(top, op.get('to', ''))
    try:
        if kind == 'write':
            write(path, op['text'], 'wb')
        elif kind == 'append':
            write(path, op['text'], 'ab')
        elif kind == 'truncate':
            if os.path.islink(path) or not os.path.isfile(path):
                return errno.EINVAL
            os.truncate(path, op['size'])
        elif kind == 'rename':
            return move(path, to)
        elif kind == 'delete':
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)
        elif kind == 'rmtree':
            if os.path.islink(path) or not os.path.isdir(path):
                return errno.ENOTDIR  # of a fifo it would wait for a writer
            shutil.rmtree(path)
        elif kind == 'mkdir':
            os.mkdir(path)
        elif kind == 'symlink':
            os.symlink(op['to'], path)
        elif kind == 'fifo':
            os.mkfifo(path)
        elif kind == 'link':
            os.link(path, to, follow_symlinks=False)
        elif kind == 'chmod':
            if os.path.islink(path):
                return errno.EINVAL
            os.chmod(path, op['dir_mode'] if os.path.isdir(path) else op['mode'])
        elif kind == 'topmode':
            os.chmod(top, op['mode'])
        elif kind == 'xattr':
            if os.path.islink(path) or not os.path.isfile(path):
                return errno.EINVAL
            os.setxattr(path, 'user.test', b'value')
        elif kind == 'utime':
            os.utime(path, (1, 1000000001), follow_symlinks=False)
        elif kind == 'replace_by_file':
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
                write(path, op['text'], 'wb')
        elif kind == 'replace_by_dir':
            if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
                os.unlink(path)
                os.mkdir(path)
                write(os.path.join(path, 'new'), 'in the place of a file', 'wb')
        elif kind == 'recreate':  # the kernel marks it opaque
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
                os.mkdir(path)
                write(os.path.join(path, 'a'), op['text'], 'wb')
        return 0
    except OSError as e:
        return e.errno


def driver():
    """The driver of the stage, where anybody may execute it; None: it is not built."""
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..')
    built = os.environ.get('PALE_DRIVER', os.path.join(top, 'build/glibc/tests/live/driver-stage'))
    if not os.path.exists(built):
        return None
    place = tempfile.mkdtemp(prefix='pale-driver-', dir='/var/tmp')
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    os.chmod(place, 0o755)
    return shutil.copy(built, place)


class Inside:
    """A helper in a mount namespace, as person P."""

    def __init__(self, p):
        with open(__file__, encoding='utf-8') as file:
            source = file.read()  # the checkout may lie where this person cannot look
        argv = ['unshare', '-m'] if p.is_root else ['unshare', '-Urm']
        python = shutil.which('python3', path='/usr/bin:/bin') or sys.executable  # one that anybody may execute
        self.process = subprocess.Popen(p.argv(argv + [python, '-c', source]), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, cwd='/')

    def ask(self, **what):
        self.process.stdin.write(json.dumps(what) + '\n')
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {'error': 'the helper is gone'}
        if 'error' in answer:
            raise RuntimeError(answer['error'])
        return answer['answer']

    def do(self, top, ops):
        return self.ask(do='ops', top=str(top), ops=ops)

    def view(self, top, **kw):
        return self.ask(do='view', top=str(top), options=kw)

    def overlay(self, base, layers, at, ops=()):
        """Mount, work, look, unmount: (what each operation said, the view)."""
        return self.ask(do='overlay', base=str(base), layers=str(layers), at=str(at), ops=list(ops))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve():
    libc = ctypes.CDLL(None, use_errno=True)

    def check(r):
        if r != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def overlay(base, layers, at, ops):
        shutil.rmtree(layers + '/work/work/incompat', ignore_errors=True)
        options = f'userxattr,volatile,lowerdir={base},upperdir={layers}/upper,workdir={layers}/work'
        check(libc.mount(b'overlay', os.fsencode(at), b'overlay', 0, os.fsencode(options)))
        try:
            said = [do(at, op) for op in ops]
            return said, view(at)
        finally:
            check(libc.umount2(os.fsencode(at), 0))

    os.umask(0o022)
    for line in sys.stdin:
        what = json.loads(line)
        try:
            if what['do'] == 'ops':
                answer = [do(what['top'], op) for op in what['ops']]
            elif what['do'] == 'view':
                answer = view(what['top'], **what['options'])
            else:
                answer = overlay(what['base'], what['layers'], what['at'], what['ops'])
            print(json.dumps({'answer': answer}), flush=True)
        except Exception as e:  # the test shall say it
            print(json.dumps({'error': f'{type(e).__name__}: {e}'}), flush=True)


if __name__ == '__main__':
    serve()
