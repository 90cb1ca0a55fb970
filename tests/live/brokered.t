#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A network of which every address is the sandbox's own: its sockets are handed to whoever
serves it before the command starts, and more of them whenever they are asked for. driver-gateway
serves here; what it saw, from outside, judges. And sockets of the host, shown one by one."""
import resource
import socket
import sys
import threading
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

BUILT = TOP / 'build/glibc/tests/live/driver-gateway'
PYTHON = '/usr/bin/python3'
TCP = '''
import socket, sys, time
print("BOOTED")
for at in sys.argv[1:]:
    host, port = at.rsplit(" ", 1)
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    s.settimeout(5)
    try:
        s.connect((host, int(port)))
        print(at, "->", s.recv(100).decode())
    except OSError as e:
        print(at, "->", type(e).__name__)
time.sleep(0.3)  # for what is on its way outside
'''
UDP = '''
import socket, sys
print("BOOTED")
for at in sys.argv[1:]:
    host, port = at.rsplit(" ", 1)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(1)
    try:
        s.sendto(b"question", (host, int(port)))
        print(at, "->", s.recv(100).decode())
    except OSError as e:
        print(at, "->", type(e).__name__)
'''
LOCALHOST = 'network = "localhost"\nfilesystem = "workspace_only"\nprocesses = "%s"\n'


class Served:
    """One run of driver-gateway as person P: its result, and the lines of its report."""

    def __init__(self, p, way, *argv, spec=LOCALHOST % 'isolated', refuse=False, options=(), **kw):
        place = p.base.parent / 'bin/driver-gateway'
        if not place.exists():
            shutil.copy(BUILT, place)
            place.chmod(0o755)
        report = p.write(p.base / 'report', '')
        os.chown(report, p.uid, p.uid)
        engine = ('--engine', ENGINE) if ENGINE else ()
        self.result = p.run(place, way, *(('--refuse',) if refuse else ()), *engine, *options,
                            *(('--spec', spec) if spec else ()), report, *argv, **kw)
        self.lines = [line.strip() for line in report.read_text().splitlines()]

    def count(self, start):
        return sum(line.startswith(start) for line in self.lines)

    def __str__(self):
        return f'{self.result}\nreport: {self.lines}'


def ways(p):
    """A run and a sandbox that stays up, with and without a pid namespace."""
    for way in ('run', 'stand'):
        for processes in ('isolated', 'visible'):
            yield way, LOCALHOST % processes, f'{way}, {processes}'


@needs('isolated')
def case_sockets_arrive(p):
    wanted = ('10.9.8.7 443', '2001:db8::7 443', '127.0.0.1 4430')
    for way, spec, name in ways(p):
        s = Served(p, way, PYTHON, '-c', TCP, *wanted, spec=spec)
        ok(s.result.booted and s.result.code == 0 and s.lines[:2] == ['opened', 'took 35 of them streams 32'],
           p, f'{name}: the first batch comes before anything starts', s)
        ok(s.count('accepted ::ffff:10.9.8.7 443') == 1 and b'10.9.8.7 443 -> ::ffff:10.9.8.7 443' in s.result.out,
           p, f'{name}: a listener at an address of IPv4, and a port of root', s)
        ok(s.count('accepted 2001:db8::7 443') == 1 and b'2001:db8::7 443 -> 2001:db8::7 443' in s.result.out,
           p, f'{name}: of IPv6', s)
        ok(s.count('accepted ::ffff:127.0.0.1 4430') == 1, p, f'{name}: of the loopback', s)
        ok(s.count('took 32 of them streams 32') == 1, p, f'{name}: more come when they are asked for', s)
        ok(s.lines[-1:] == ['closed'] and s.count('closed') == 1, p, f'{name}: closed once, at the end', s)


@needs('isolated')
def case_nobody_listens(p):
    s = Served(p, 'run', PYTHON, '-c', TCP, '10.9.8.7 444', '10.9.8.8 443', '127.0.0.1 22', '2001:db8::8 443',
               '169.254.169.254 80')
    ok(s.result.booted and s.result.out.count(b'ConnectionRefusedError') == 5 and s.count('accepted') == 0,
       p, 'where nobody listens a connection is refused at once', s)
    s = Served(p, 'run', PYTHON, '-c', TCP, '10.9.8.7 443')
    ok(s.count('accepted') == 1, p, 'twin: it is taken where somebody does', s)


@needs('isolated')
def case_datagrams(p):
    for way in ('run', 'stand'):
        s = Served(p, way, PYTHON, '-c', UDP, '198.18.0.1 53', '8.8.4.4 5353')
        ok(s.result.booted and s.count('datagram') == 1 and b'198.18.0.1 53 -> question' in s.result.out,
           p, f'{way}: a datagram to the resolver is answered', s)
        ok(s.count('unreachable 8.8.4.4 5353') == 1 and b'8.8.4.4 5353 -> question' not in s.result.out,
           p, f'{way}: another leaves evidence, and goes nowhere', s)


@needs('isolated')
def case_refused(p):
    for way in ('run', 'stand'):
        (p.ws / 'ran').unlink(missing_ok=True)
        s = Served(p, way, 'touch', 'ran', refuse=True)
        ok(s.result.code == 125 and not (p.ws / 'ran').exists() and s.lines == ['error the gateway does not open'],
           p, f'{way}: a gateway that does not open is the end of it', s)
        s = Served(p, way, 'touch', 'ran')
        ok(s.result.code == 0 and (p.ws / 'ran').exists(), p, f'twin, {way}: one that opens is not', s)


@needs('isolated')
def case_out_of_descriptors(p):
    """A supervisor without room for the sockets: nothing starts."""
    for way in ('run', 'stand'):
        seen = set()
        for limit in (24, 32, 40, 48):
            (p.ws / 'ran').unlink(missing_ok=True)
            s = Served(p, way, 'prlimit', '--nofile', '--noheadings', '--output', 'SOFT',
                       preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
            seen.add(s.result.code)
            ok(s.result.code in (0, 125) and (s.result.code == 0) == (s.result.out != b'') and
               (s.result.code == 0) == (s.count('took 35') == 1), p,
               f'{way}: with {limit} descriptors all of the sockets come, or nothing starts', s)
        ok(125 in seen, p, f'{way}: with few of them nothing did', seen)


@needs('isolated')
def case_nothing_of_it_inside(p):
    for way in ('run', 'stand'):
        s = Served(p, way, 'sh', '-c', 'echo BOOTED; ls /proc/self/fd; grep -h Cap /proc/self/status')
        fds = s.result.out.split(b'Cap')[0].split()[1:]
        ok(s.result.booted and fds == [b'0', b'1', b'2', b'3'], p, f'{way}: the command has no further descriptor', s)
        caps = {line.split()[1] for line in s.result.out.splitlines() if line.startswith(b'Cap')}
        ok(caps == {b'0000000000000000'}, p, f'{way}: and no capability', s)
    s = Served(p, 'run', PYTHON, '-c', '''
import socket, struct, os
print("BOOTED")
n = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
route = struct.pack("=BBBBBBBBI", 2, 32, 0, 0, 255, 3, 254, 2, 0) + struct.pack("=HHI", 8, 4, 1) + struct.pack("=HH4s", 8, 1, bytes([1, 2, 3, 4]))
n.send(struct.pack("=IHHII", 16 + len(route), 24, 0x605, 1, 0) + route)
print("route", struct.unpack_from("=i", n.recv(4096), 16)[0])
for protocol in (1, 6):
    try:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol)
        print("raw")
    except OSError as e:
        print(e.strerror)
''')
    ok(s.result.booted and b'route -1\n' in s.result.out and b'raw\n' not in s.result.out, p,
       'the command changes no route, and has no raw socket', s)


@needs('isolated')
def case_names(p):
    r = Served(p, 'run', 'sh', '-c', 'echo BOOTED; cat /etc/resolv.conf; echo; cat /etc/hosts; touch /etc/hosts')
    ok(r.result.booted and b'nameserver 198.18.0.1\n' in r.result.out and r.result.out.count(b'nameserver') == 1, p,
       'resolv.conf names the resolver inside', r)
    ok(b'127.0.0.1 localhost' in r.result.out and open('/etc/hosts', 'rb').read() not in r.result.out, p,
       "hosts is not the host's", r)
    ok(r.result.code != 0, p, 'and cannot be changed', r)
    r = p.sh('cat /etc/hosts')
    ok(r.rest == open('/etc/hosts', 'rb').read(), p, "twin: with network = none it is the host's", r)


class Service:
    """A server at PATH, as somebody of the host."""

    def __init__(self, p, path, mode=0o600):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        os.chown(path, p.owner, p.owner)
        os.chmod(path, mode)
        self.socket.listen(16)
        self.taken = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            self.taken += 1
            c.sendall(b'from the host')
            c.close()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


ASK = '''
import os, socket, sys
print("BOOTED")
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    print(s.recv(99).decode())
except OSError as e:
    print(type(e).__name__)
print(os.listdir(os.path.dirname(sys.argv[1])) if os.path.isdir(os.path.dirname(sys.argv[1])) else "no folder")
for deed in (os.unlink, lambda f: os.chmod(f, 0o777), lambda f: os.rename(f, f + "x")):
    try:
        deed(sys.argv[1])
        print("DONE")
    except OSError:
        pass
'''


@needs('sockets')
def case_unix_sockets_NW05(p):
    folder = p.mkdir(p.outside / 'service')
    shown, other = folder / 'shown.sock', folder / 'other.sock'
    services = [Service(p, shown), Service(p, other)]
    p.write(folder / 'secret', 'secret\n')
    before = digest(p.outside)
    for filesystem in ('none', 'readonly', 'workspace_only'):
        spec = f'filesystem = "{filesystem}"\nsockets = ["{shown}"]\n'
        r = p.pale('--spec', spec, '--', PYTHON, '-c', ASK, shown)
        ok(r.booted and b'from the host' in r.out and services[0].taken == 1, p, f'{filesystem}: the socket is reached', r)
        ok(b"['shown.sock']" in r.out and b'DONE' not in r.out, p, f'{filesystem}: nothing beside it, nothing changed', r)
        r = p.pale('--spec', spec, '--', PYTHON, '-c', ASK, other)
        ok(r.booted and b'from the host' not in r.out and services[1].taken == 0, p, f'{filesystem}: another is not', r)
        r = p.pale('--spec', f'filesystem = "{filesystem}"\n', '--', PYTHON, '-c', ASK, shown)
        ok(r.booted and b'from the host' not in r.out and services[0].taken == 1, p, f'{filesystem}: twin, without the rule', r)
        services[0].taken = 0
    ok(digest(p.outside) == before, p, 'nothing has changed outside')
    for s in services:
        s.close()
    shutil.rmtree(folder)


@needs('sockets')
def case_unix_sockets_in_the_workspace(p):
    path = p.ws / 'db.sock'
    service = Service(p, path)
    for options in p.each((), ('--filesystem', 'readonly'), ('--filesystem', 'readonly', '--ephemeral'), ('--staged',)):
        if '--staged' in options and ENGINE:
            continue
        service.taken = 0
        r = p.pale(*options, '--socket', path, '--', PYTHON, '-c', ASK, path)
        ok(r.booted and service.taken == 1 and path.is_socket(), p, f"{' '.join(options) or 'direct'}: it is reached, and stays", r)
    service.close()
    path.unlink()


@needs('sockets')
def case_unix_sockets_refused(p):
    link = p.outside / 'link.sock'
    path = p.outside / 'real.sock'
    service = Service(p, path)
    link.symlink_to(path)
    state = p.mkdir(p.base / 'state/pale', 0o700)
    own = Service(p, state / 'own.sock')
    os.chown(state / 'own.sock', p.uid, p.uid)
    for what, name, word in ((link, 'a link', b'link'), (p.outside / 'canary', 'a file', b'no socket'),
                             (p.outside, 'a folder', b'no socket'), (p.outside / 'none', 'nothing', b'does not exist'),
                             (state / 'own.sock', "pale's own", b"pale's own")):
        r = p.pale('--spec', f'sockets = ["{what}"]\n', '--', 'echo', 'BOOTED')
        ok(r.code == 125 and not r.booted and word in r.err, p, f'{name} is no socket to be shown', r)
    r = p.pale('--spec', f'sockets = ["{path}"]\n', '--', 'echo', 'BOOTED')
    ok(r.code == 0 and r.booted, p, 'twin: a socket is', r)
    r = p.pale('--spec', f'paths_readable = ["{path}"]\n', '--', 'echo', 'BOOTED')
    ok(r.code == 125 and not r.booted and b'sockets' in r.err, p, 'none is shown as a path', r)
    for s in (service, own):
        s.close()
    for f in (link, path, state / 'own.sock'):
        f.unlink()


class Counter:
    """A server on the host's loopback that says hello, and counts."""

    def __init__(self):
        self.socket = socket.create_server(('127.0.0.1', 0), backlog=128)
        self.port, self.taken = self.socket.getsockname()[1], 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            self.taken += 1
            c.sendall(b'hello')
            c.close()


MANY = '''
import os, socket, subprocess, sys
print("BOOTED")
good = 0
for i in range(100):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5) as s:
        good += s.recv(9) == b"hello"
print("good", good)
open("made", "w").close()
print("seen", os.path.exists("/proc/" + sys.argv[2]))
subprocess.Popen(["sleep", "60", sys.argv[3]], start_new_session=True)
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as e:
    print(e.errno)
'''


@needs('isolated')
def case_integration(p):
    """The preset: the host's loopback, processes visible, the workspace writable."""
    if kernel_before(6, 12):
        return skip(p, 'processes = visible needs the scope of signals')
    limits = () if p.is_root else ('--allow-degraded', 'cpu', '--allow-degraded', 'memory')
    server, word = Counter(), mark()
    (p.ws / 'made').unlink(missing_ok=True)
    r = p.pale('--preset', 'integration', *limits, '--', PYTHON, '-c', MANY, str(server.port), str(os.getpid()), word)
    ok(r.booted and r.code == 0 and b'good 100\n' in r.out and server.taken == 100, p,
       'a hundred connections to the host, which is more than one batch', f'{server.taken} came\n{r}')
    ok(b'seen True\n' in r.out and (p.ws / 'made').exists(), p, 'processes are seen, the workspace is written', r)
    ok(b'101\n' in r.out, p, 'nothing else is reached', r)
    ok(wait_for(lambda: not marked(word)), p, 'nobody is left when it ends', marked(word))
    r = p.sh('--', f'{PYTHON} -c "import socket; socket.create_connection((\'127.0.0.1\', {server.port}), 5)"')
    ok(r.booted and r.code != 0 and server.taken == 100, p, 'twin: not by default', r)


def case_landlock_cannot(p):
    for spec in ('network = "localhost"\n', 'network = "allowed_hosts"\nhosts = ["example.org"]\n',
                 'expose = [8080]\n', 'sockets = ["/run/none.sock"]\n'):
        r = p.run(p.pale_path, 'run', '--engine', 'landlock', '--allow-degraded', 'processes', '--spec', spec, '--', 'echo', 'BOOTED')
        ok(r.code == 125 and not r.booted and (b'--engine native' in r.err), p,
           f'engine landlock refuses {spec.split()[0]} {spec.split()[2]}', r)
    r = p.run(p.pale_path, 'run', '--engine', 'landlock', '--allow-degraded', 'processes', '--', 'echo', 'BOOTED')
    ok(r.booted or b'root' in r.err, p, 'twin: without any of it, it runs', r)


main(case_sockets_arrive, case_nobody_listens, case_datagrams, case_refused, case_out_of_descriptors,
     case_nothing_of_it_inside, case_names, case_unix_sockets_NW05, case_unix_sockets_in_the_workspace, case_unix_sockets_refused, case_integration,
     case_landlock_cannot)
