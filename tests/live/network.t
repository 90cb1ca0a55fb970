#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""network = none: a loopback of its own and nothing else. The listeners on the host judge."""
import fcntl
import select
import socket
import struct
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


class Listener:
    def __init__(self, family, address, kind=socket.SOCK_STREAM):
        self.socket = socket.socket(family, kind)
        self.socket.bind(address)
        if kind == socket.SOCK_STREAM:
            self.socket.listen(64)
        self.socket.setblocking(False)
        self.kind = kind
        name = self.socket.getsockname()
        self.port = name[1] if family != socket.AF_UNIX else 0

    def taken(self):
        """How many came since we last looked."""
        count = 0
        while select.select([self.socket], [], [], 0.02)[0]:
            if self.kind == socket.SOCK_STREAM:
                self.socket.accept()[0].close()
            else:
                self.socket.recv(64)
            count += 1
        return count


def own_addresses():
    """The host's own IPv4 addresses, loopback apart."""
    found = []
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _, name in socket.if_nameindex():
        try:
            packed = fcntl.ioctl(probe, 0x8915, struct.pack('256s', name.encode()))  # SIOCGIFADDR
        except OSError:
            continue
        address = socket.inet_ntoa(packed[20:24])
        if not address.startswith('127.'):
            found.append(address)
    return found


def unreachable(p, name, listener, line, options=(), twin=('--network', 'unrestricted')):
    listener.taken()
    r = p.sh(*options, '--', line)
    came = listener.taken()
    ok(r.booted and r.code != 0 and came == 0, p, name, f'{came} came\n{r}')
    r = p.sh(*twin, '--', line)
    came = listener.taken()
    ok(r.booted and came >= 1, p, f'twin: {name}', f'{came} came\n{r}')


def case_tcp_NW01_NW13(p):
    everywhere = Listener(socket.AF_INET, ('0.0.0.0', 0))
    for address in ['127.0.0.1', '127.1.2.3'] + own_addresses():
        unreachable(p, f'TCP to {address}', everywhere, f'./probe tcp {address} {everywhere.port}')
    unreachable(p, 'TCP with the processes visible', everywhere, f'./probe tcp 127.0.0.1 {everywhere.port}',
                ('--processes', 'visible'))
    for options in p.each(('--filesystem', 'unrestricted')):
        unreachable(p, 'TCP with the files unrestricted', everywhere, f'./probe tcp 127.0.0.1 {everywhere.port}',
                    options)
    if shutil.which('curl', path=CLEAN_PATH):
        unreachable(p, 'curl', everywhere, f'curl -s -m 2 --noproxy "*" http://127.0.0.1:{everywhere.port}/')
    try:
        six = Listener(socket.AF_INET6, ('::1', 0))
    except OSError as e:
        return skip(p, f'no IPv6 here: {e}')
    unreachable(p, 'TCP to ::1', six, f'./probe tcp ::1 {six.port}')


def case_udp_NW01(p):
    listener = Listener(socket.AF_INET, ('0.0.0.0', 0), socket.SOCK_DGRAM)
    for address in ['127.0.0.1'] + own_addresses():
        r = p.sh('--', f'./probe udp {address} {listener.port}')
        came = listener.taken()
        ok(r.booted and b'udp=' in r.out and came == 0, p, f'UDP to {address}', f'{came} came\n{r}')
        r = p.sh('--network', 'unrestricted', '--', f'./probe udp {address} {listener.port}')
        ok(r.booted and listener.taken() == 1, p, f'twin: UDP to {address}', r)


def case_unix_NW05(p):
    name = f'pale-live-{os.getpid()}-{p.uid}'
    abstract = Listener(socket.AF_UNIX, '\0' + name)
    unreachable(p, 'an abstract unix socket', abstract, f'./probe unix @{name}', twin=('--preset', 'off'))
    path = f'/tmp/{name}'
    listener = Listener(socket.AF_UNIX, path)
    os.chmod(path, 0o777)
    listener.taken()
    r = p.sh(f'./probe unix {path}')
    ok(r.booted and r.code != 0 and listener.taken() == 0, p, 'a socket in /tmp', r)
    r = p.sh('--preset', 'off', '--', f'./probe unix {path}')
    ok(r.booted and listener.taken() == 1, p, 'twin: a socket in /tmp, when off', r)
    os.unlink(path)


@needs('loopback')
def case_inside_NW11(p):
    r = p.sh('./probe loopback && ls /sys/class/net 2>/dev/null; cat /proc/net/dev')
    ok(r.booted and b'loopback=ok' in r.out, p, 'the own loopback works', r)
    ok(b'eth' not in r.out and b'lo:' in r.out, p, 'and is the only interface', r)
    r = p.sh('./probe socket 17 3; ./probe socket 2 3')
    ok(r.booted and b'=ok' not in r.out, p, 'no packet and no raw sockets', r)
    if p.is_root:
        r = p.run('./probe', 'socket', '17', '3')
        ok(b'=ok' in r.out, p, 'twin: root has them without pale', r)
    r = p.sh('cat /etc/hostname /proc/sys/kernel/hostname; uname -n')
    ok(r.rest.strip().endswith(b'pale'), p, 'the host name is neutral', r)


@needs('loopback')
def case_two_runs(p):
    """What one sandbox listens on, another does not reach."""
    proc = p.start_pale('--', 'sh', '-c', 'ls /proc/self/ns; sleep 3')
    a = os.readlink(f'/proc/{os.getpid()}/ns/net')
    r = p.sh('readlink /proc/self/ns/net')
    b = p.sh('readlink /proc/self/ns/net')
    u = p.sh('--network', 'unrestricted', '--', 'readlink /proc/self/ns/net')
    ok(r.rest.strip().decode() != a and r.booted and b.booted, p, 'a network namespace of its own', r)
    ok(u.rest.strip().decode() == a, p, "twin: unrestricted has the host's", u)
    proc.kill()
    proc.wait()


# Its descriptor 0 is a socket: let go of its peer, and call (or send to) somebody else.
ELSEWHERE = '''
import ctypes, socket, struct, sys
print('BOOTED', flush=True)
address = struct.pack('=H', socket.AF_INET) + struct.pack('!H4s8x', int(sys.argv[1]), socket.inet_aton('127.0.0.1'))
ctypes.CDLL(None).connect(0, struct.pack('=H14x', socket.AF_UNSPEC), 16)
sys.exit(ctypes.CDLL(None).connect(0, address, 16) != 0 or ctypes.CDLL(None).send(0, b'x', 1, 0) != 1)
'''


def connected(listener):
    ours = socket.create_connection(('127.0.0.1', listener.port)) if listener.kind == socket.SOCK_STREAM else socket.socket(type=socket.SOCK_DGRAM)
    listener.taken()
    return ours


def case_sockets_that_are_passed(p):
    """As inetd passes them. A descriptor that was made outside is in the network outside."""
    p.write(p.ws / 'elsewhere.py', ELSEWHERE)
    for name, kind in (('TCP', socket.SOCK_STREAM), ('UDP', socket.SOCK_DGRAM)):
        listener = Listener(socket.AF_INET, ('127.0.0.1', 0), kind)
        other = Listener(socket.AF_INET, ('127.0.0.1', 0), kind)
        line = ('--', '/usr/bin/python3', 'elsewhere.py', str(other.port))
        for options in p.each((), ('--network', 'localhost', '--port', '1')) if has('loopback') else ((),):
            with connected(listener) as passed:
                r = p.pale(*options, *line, stdin=passed)
            ok(r.code == 125 and other.taken() == 0 and b'descriptor 0' in r.err, p, f"a socket of {name} {' '.join(options)}", r)
        with connected(listener) as passed:
            r = p.pale('--network', 'unrestricted', *line, stdin=passed)
        ok(r.booted and r.code == 0 and other.taken() == 1, p, f'twin: a socket of {name}, unrestricted', r)
    for kind, fits in ((socket.SOCK_STREAM, True), (socket.SOCK_SEQPACKET, True), (socket.SOCK_DGRAM, False)):
        ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
        with ours, theirs:
            r = p.sh('echo hello >&0', stdin=theirs)
            said = select.select([ours], [], [], 0.1)[0] and ours.recv(64)
        ok((r.booted and said == b'hello\n') if fits else (r.code == 125 and not said), p, f"a pair of {kind.name} {'works' if fits else 'does not'}", r)
    with socket.socket(socket.AF_UNIX) as passed:
        r = p.sh('true', stdin=passed)
    ok(r.code == 125 and not r.booted, p, 'one that has no peer yet', r)


main(case_sockets_that_are_passed, case_tcp_NW01_NW13, case_udp_NW01, case_unix_NW05, case_inside_NW11, case_two_runs, uids=(54321,))
