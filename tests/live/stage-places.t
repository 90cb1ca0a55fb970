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


main(case_an_encrypted_folder, uids=(1000,))
