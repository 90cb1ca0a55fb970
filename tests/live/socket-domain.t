#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Landlock's domains for unix sockets: none of the host's is reached, and what a command of a
session made the next one does. Where it knows those that have a path (ABI 9, Linux 7.1) that holds
for them, too, but those in `sockets`, even for one that is made while the command runs."""
import socket
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from box import Box

OLD = 'Landlock knows no sockets that have a path before Linux 7.1'
KINDS = {'stream': socket.SOCK_STREAM, 'seqpacket': socket.SOCK_SEQPACKET, 'dgram': socket.SOCK_DGRAM}

# Waits until ARGV[2] is there, says something to it, and says how that went.
CLIENT = r'''
import os, socket, sys, time
kind, path = sys.argv[1:]
while not os.path.exists(path):
    time.sleep(0.01)
s = socket.socket(socket.AF_UNIX, {'stream': socket.SOCK_STREAM, 'seqpacket': socket.SOCK_SEQPACKET, 'dgram': socket.SOCK_DGRAM}[kind])
try:
    if kind == 'dgram':
        s.sendto(b'hello', path)
    else:
        s.connect(path)
        s.send(b'hello')
    print('REACHED')
except OSError as e:
    print(type(e).__name__)
'''
# Listens at ARGV[1], once that is there, for one client, and prints what that says.
SERVER = r'''
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + '.new')
s.listen()
os.rename(sys.argv[1] + '.new', sys.argv[1])
print(s.accept()[0].recv(5).decode())
'''


class Listener:
    """Of the host, at PATH; what it was told is counted."""
    def __init__(self, p, path, kind):
        self.socket = socket.socket(socket.AF_UNIX, KINDS[kind])
        self.socket.bind(str(path))
        os.chmod(path, 0o777)
        if os.geteuid() == 0:
            os.chown(path, p.uid, p.uid)
        self.kind = kind
        self.socket.setblocking(False)
        if kind != 'dgram':
            self.socket.listen(16)

    def heard(self):
        n = 0
        while True:
            try:
                if self.kind == 'dgram':
                    self.socket.recv(16)
                else:
                    self.socket.accept()[0].close()
                n += 1
            except BlockingIOError:
                return n

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def python(*args):
    return ['/usr/bin/python3', '-c', *map(str, args)]


def modern(p):
    if kernel_before(7, 1):
        skip(p, OLD, only_root=True)
        return False
    return True


def case_the_hosts(p):
    if not modern(p):
        return
    for kind in KINDS:
        path = p.ws / f'host-{kind}'
        with Listener(p, path, kind) as host:
            ok(p.run(*python(CLIENT, kind, path)).out == b'REACHED\n' and host.heard() == 1, p, f'{kind}: outside it is reached')
            r = p.pale('--', *python(CLIENT, kind, path))
            ok(r.out != b'REACHED\n' and host.heard() == 0, p, f'{kind}: inside it is not', r)
            r = p.pale('--socket', path, '--', *python(CLIENT, kind, path))
            ok(r.out == b'REACHED\n' and host.heard() == 1, p, f'{kind}: but with --socket it is', r)
        path.unlink()


def case_made_later(p):
    if not modern(p):
        return
    for kind in KINDS:
        path = p.ws / f'later-{kind}'
        run = p.start_pale('--', 'sh', '-c', 'echo UP; exec "$@"', 'sh', *python(CLIENT, kind, path), stdout=subprocess.PIPE)
        run.stdout.readline()
        with Listener(p, path, kind) as host:
            out = run.communicate(timeout=60)[0]
            ok(out == b'PermissionError\n' and host.heard() == 0, p, f'{kind}: refused', out)
        path.unlink()


def case_made_inside(p):
    if not modern(p):
        return
    path = p.ws / 'inside'
    r = p.pale('--', 'sh', '-c', f'/usr/bin/python3 -c "$1" "$3" & /usr/bin/python3 -c "$2" stream "$3"; wait', 'sh', SERVER, CLIENT, path)
    ok(sorted(r.out.split()) == [b'REACHED', b'hello'], p, 'one process reaches another', r)
    path.unlink()
    with Box(p, 'inside') as box:
        ok(box.start().code == 0, p, 'a session')
        path = box.ws / 'inside'
        box.verb('exec', '-s', 's', '--background', '--', *python(SERVER, path))
        r = box.verb('exec', '-s', 's', '--', *python(CLIENT, 'stream', path))
        ok(r.out == b'REACHED\n', p, 'one command reaches another', r)
        with Listener(p, box.ws / 'host', 'stream') as host:
            r = box.verb('exec', '-s', 's', '--', *python(CLIENT, 'stream', box.ws / 'host'))
            ok(r.out == b'PermissionError\n' and host.heard() == 0, p, 'but not the host', r)


ABSTRACT = r'''
import socket, sys
s = socket.socket(socket.AF_UNIX)
name = '\0' + sys.argv[1]
if sys.argv[2:]:
    s.bind(name)
    s.listen()
    print('UP', flush=True)
    s.accept()
else:
    try:
        s.connect(name)
        print('REACHED')
    except OSError as e:
        print(type(e).__name__)
'''


def case_abstract_in_a_session(p):
    if kernel_before(6, 12):
        return skip(p, 'abstract sockets have no scope before Linux 6.12', only_root=True)
    for network in ('none', 'unrestricted'):
        with Box(p, 'abstract') as box:
            ok(box.start('--network', network).code == 0, p, f'{network}: a session')
            name = f'pale-test-{os.getpid()}-{p.uid}-{network}'
            job = box.verb('exec', '-s', 's', '--background', '--', *python(ABSTRACT, name, 'serve')).out.decode().strip()
            wait_for(lambda: b'UP' in box.verb('output', job).out)
            r = box.verb('exec', '-s', 's', '--', *python(ABSTRACT, name))
            ok(r.out == b'REACHED\n', p, f'{network}: one command reaches another', r)
            with socket.socket(socket.AF_UNIX) as host:
                host.bind('\0' + name + '-host')
                host.listen()
                host.setblocking(False)
                ok(p.run(*python(ABSTRACT, name + '-host')).out == b'REACHED\n' and host.accept(), p, f'{network}: outside the host is reached')
                r = box.verb('exec', '-s', 's', '--', *python(ABSTRACT, name + '-host'))
                try:
                    reached = host.accept()
                except BlockingIOError:
                    reached = None
                ok(r.out in (b'PermissionError\n', b'ConnectionRefusedError\n') and not reached, p, f'{network}: inside it is not', r)


main(case_abstract_in_a_session, case_the_hosts, case_made_later, case_made_inside)
