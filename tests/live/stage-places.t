#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where the workspace and the stage lie, and what becomes of a stage when one of them goes."""
import contextlib
import fcntl
import struct
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from stagebox import *

ADD_KEY, SET_POLICY = 0xc0506617, 0x800c6613  # of linux/fscrypt.h


def encrypt(mount, folder):
    """As `fscrypt` does. False: not here."""
    key = b'k' * 64
    added = bytearray(struct.pack('<II32sII32s', 2, 0, b'', len(key), 0, b'') + key)
    try:
        with open_dir(mount) as top, open_dir(folder) as at:
            fcntl.ioctl(top, ADD_KEY, added, True)
            fcntl.ioctl(at, SET_POLICY, struct.pack('<BBBB4s16s', 2, 1, 4, 2, b'', bytes(added[8:24])))
    except OSError as e:
        return e
    return None


@contextlib.contextmanager
def open_dir(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


@only_root
def case_an_encrypted_folder(p):
    """On the disk of the stage, but nothing that is elsewhere can be moved into it."""
    image, at = p.base / 'image', p.mkdir(p.base / 'disk')
    r = p.run('sh', '-c', 'truncate -s 40M "$1" && mke2fs -q -F -t ext4 -O encrypt "$1" && mount -o loop "$1" "$2"', 'sh', str(image), str(at))
    if r.code != 0:
        skip(p, f'no such file system can be mounted here: {r.err}', only_root=True)
        return
    try:
        secret = p.mkdir(at / 'secret')
        why = encrypt(at, secret)
        if why:
            skip(p, f'no folder can be encrypted here: {why}', only_root=True)
            return
        for top in (secret, p.mkdir(at / 'plain')):
            box = Box(p, top.name, top)
            box.env['XDG_STATE_HOME'] = str(p.mkdir(at / f'state-{top.name}'))
            p.write(box.ws / 'f', 'old\n')
            p.write(box.ws / 'gone', 'old\n')
            box.run('echo staged >f; rm gone; mkdir d; echo new >d/new')
            r = box.verb('apply')
            ok(r.code == 0 and (box.ws / 'f').read_text() == 'staged\n' and (box.ws / 'd/new').read_text() == 'new\n' and
               sorted(os.listdir(box.ws)) == ['d', 'f'], p, f'{top.name}: applied, and no trace of it', r)
            r = box.verb('undo')
            ok(r.code == 0 and (box.ws / 'f').read_text() == 'old\n' and sorted(os.listdir(box.ws)) == ['f', 'gone'], p, 'and taken back', r)
            box.remove()
    finally:
        p.run('umount', str(at))


def case_a_folder_that_is_gone(p):
    """One of two that were written to: whoever cannot go on is told what to do."""
    box = Box(p, 'gone')
    other = p.mkdir(box.top / 'other')
    p.write(box.ws / 'f', 'old\n')
    r = p.sh('--staged', '--write', str(other), '--', f'echo staged >f; echo new >{other}/new', cwd=box.ws, env=box.env)
    ok(r.booted and r.code == 0, p, 'the command ran', r)
    other.rmdir()
    for args in (('diff',), ('apply', 'f'), ('discard', '--all')):
        r = box.verb(*args)
        ok(r.code == 1 and str(other).encode() in r.err and b'make that folder again' in r.err, p, f'{args[0]}: what is to be done', r)
    p.mkdir(other)
    r = box.verb('discard', str(other))
    ok(r.code == 0, p, 'that is done: discarded', r)
    r = box.verb('apply')
    ok(r.code == 0 and (box.ws / 'f').read_text() == 'staged\n' and os.listdir(other) == [], p, 'and the rest is applied', r)
    box.verb('undo')
    box.verb('undo')
    r = box.verb('apply')
    ok(r.code == 0 and os.listdir(other) == ['new'], p, 'twin: or all of it', r)
    subprocess.run(['rm', '-r', other])
    box.run('echo more >>f')
    r = box.verb('diff', '--name-status')
    ok(r.code == 0 and r.out == b'M\tf\n' and r.err == b'', p, 'gone once nothing is staged there: no matter', r)
    r = box.verb('apply')
    ok(r.code == 0 and (box.ws / 'f').read_text() == 'staged\nmore\n', p, 'for apply neither', r)
    box.remove()


@only_root
def case_a_full_disk(p):
    """Nothing can be applied or discarded there, and what is said makes room."""
    box = Box(p, 'full')
    p.run('mount', '-t', 'tmpfs', '-o', f'size=3m,uid={os.stat(box.top).st_uid},mode=700', 'none', str(box.top / 'state'))
    try:
        p.write(box.ws / 'f', 'old\n')
        r = p.sh('--staged', '--', 'echo staged >f; head -c 10m /dev/zero >big || true', cwd=box.ws, env=box.env)
        ok(r.booted and shutil.disk_usage(box.top / 'state').free == 0, p, 'the disk is full', r)
        for args in (('apply', 'f'), ('discard', 'big')):
            r = box.verb(*args)
            ok(r.code == 1 and b'No space left' in r.err and b'pale stages rm --force default' in r.err, p, f'{args[0]}: says so', r)
        ok((box.ws / 'f').read_text() == 'old\n' and b'f\n' in box.verb('diff', '--name-status').out, p, 'nothing has happened')
        r = box.verb('stages', 'rm', '--force', 'default')
        ok(r.code == 0 and shutil.disk_usage(box.top / 'state').free > 2e6, p, 'there is room again', r)
    finally:
        p.run('umount', str(box.top / 'state'))
        box.remove()


def case_that_cannot_exchange(p):
    """A file system of which renameat2() knows no flags, such as NFS or a folder that a virtual machine shares."""
    if not has_strace(p):
        return
    box = Box(p, 'exchange')
    p.write(box.ws / 'f', 'old\n')
    box.run('echo staged >f; echo new >new')
    r = p.run('strace', '-qq', '-o', '/dev/null', '-e', 'trace=renameat2', '-e', 'inject=renameat2:error=EINVAL', p.pale_path, 'apply',
              cwd=box.ws, env=box.env)
    ok(r.code == 1 and b'cannot exchange' in r.err and b'pale diff | git apply' in r.err and os.listdir(box.ws) == ['f'], p, 'apply says what can be done', r)
    r = p.host_sh('"$1" diff | git apply && "$1" discard --all', p.pale_path, cwd=box.ws, env=box.env)
    ok(r.code == 0 and (box.ws / 'f').read_text() == 'staged\n' and (box.ws / 'new').read_text() == 'new\n', p, 'which does it', r)
    box.remove()


def case_folders_that_overlap(p):
    """What is said can be done about it helps."""
    box = Box(p, 'overlap')
    below = p.mkdir(p.mkdir(box.top / 'out') / 'sub')
    box.run('true')

    def run(folder, line='true'):
        return p.sh('--staged', '--write', str(folder), '--', line, cwd=box.ws, env=box.env)

    r = run(below, f'echo new >{below}/new')
    ok(r.booted and r.code == 0, p, 'the command ran', r)
    r = run(below.parent)
    ok(not r.booted and r.code == 125 and b'holds writes' in r.err and b'pale apply or pale discard' in r.err, p, 'not with a folder above', r)
    box.verb('apply')
    r = run(below.parent)
    ok(not r.booted and b'is for writes' in r.err and b'pale stages rm default' in r.err, p, 'nor when all is applied: another way is named', r)
    r = box.verb('stages', 'rm', 'default')
    ok(r.code == 0, p, 'which can be gone', r)
    r = run(below.parent, f'cat {below}/new')
    ok(r.booted and r.code == 0 and b'new' in r.out, p, 'and helps', r)
    box.remove()


main(case_an_encrypted_folder, case_a_folder_that_is_gone, case_folders_that_overlap, case_a_full_disk, case_that_cannot_exchange, uids=(1000,))
