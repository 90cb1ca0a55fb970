#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A hostile command against the broker itself, and what it can do to the host by way of it."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from netlab import *

enter_apart()
lab = Lab()
lab.hosts(**{'good.test': [FAR4, FAR6]})
GOOD = {address: lab.listen(address, 8000) for address in (FAR4, FAR6)}
LOCAL = ['--network', 'localhost']


class Sink:
    """Keeps what it was sent, and answers that it got it."""

    def __init__(self, address, port):
        with lab.far():
            self.socket = socket.create_server((address, port), backlog=64)
        self.got = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection):
        with contextlib.suppress(OSError), connection:
            while data := connection.recv(1 << 18):
                self.got.append(data)
                connection.sendall(b'got\n')

    def all(self):
        time.sleep(0.2)
        got, self.got = b''.join(self.got), []
        return got


SINK = Sink(FAR4, 8443)


def python(p, name, text):
    p.write(p.ws / name, text)
    return f'python3 {name}'


def case_a_socket_that_lingers_holds_nobody_up(p):
    tool = net_tool(p, 'net-linger')
    r = p.sh(*LOCAL, '--timeout', '4s', '--', f'{tool} 20', timeout=30)
    ok(r.booted and r.out.count(b'tries ') > 2, p, 'there are attempts', r)
    ok(r.code in (0, 124) and r.seconds < 10, p, 'the timeout of the run is kept', r)


CIRCLE = '''
import socket, threading, time
end = time.time() + 2
def client():
    while time.time() < end:
        s = socket.socket()
        s.setblocking(False)
        try: s.connect(('127.0.0.1', %d))
        except OSError: pass
        time.sleep(0.001)
        s.close()
threads = [threading.Thread(target=client) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
time.sleep(1)
s = socket.socket()
try: s.connect(('127.0.0.1', %d)); print('connected')
except ConnectionRefusedError: print('refused')
'''


def case_an_exposed_port_is_no_circle(p):
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    line = python(p, 'circle.py', CIRCLE % (port, port))
    r = p.pale('--json', *LOCAL, '--expose', str(port), '--', 'sh', '-c', f'{line} >out')
    said = (p.ws / 'out').read_text()
    ok(r.code == 0 and said == 'refused\n', p, 'whose server is not up is refused', f'{said} {r}')
    ok(r.json().get('usage', {}).get('connections') == 0, p, 'and nothing was connected', r)
    server = lab.listen('127.0.0.1', port, far=False)
    r = p.sh(*LOCAL, '--', line)
    ok(b'connected' in r.out and server.taken() > 0, p, 'twin: a server of the host there is reached', r)
    server.close()


HAMMER = '''
import os, socket, time
end = time.time() + 4
os.fork()
while time.time() < end:
    s = socket.socket()
    s.setblocking(False)
    try: s.connect(('127.0.0.1', %d))
    except OSError: pass
    s.close()
'''


def binds(port, seconds):
    """How often a server of the host's could start at PORT, and how often not."""
    end, good, bad = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(('127.0.0.1', port))
                s.listen()
                good += 1
            except OSError:
                bad += 1
        time.sleep(0.0003)
    return good, bad


def case_a_port_of_the_host_stays_free(p):
    port = 18090
    line = python(p, 'hammer.py', HAMMER % port)
    proc = p.start_pale('--json', *LOCAL, '--port', '1', '--', 'sh', '-c', f'echo up >up; {line}', stdout=subprocess.PIPE)
    wait_for((p.ws / 'up').exists)
    good, bad = binds(port, 2.5)
    out = json.loads(proc.communicate(timeout=30)[0])
    ok(good > 500 and bad == 0, p, f'a server of the host could start there {good} times of {good + bad}')
    ok(any(v['target'] == f'127.0.0.1:{port}' for v in out['violations']), p, 'while a command tried to reach it', out['violations'])
    (p.ws / 'up').unlink()


OWN = '''
import socket, threading
server = socket.create_server(('::', 8000), family=socket.AF_INET6, dualstack_ipv6=True)
def serve():
    while True:
        c, _ = server.accept()
        c.recv(10)
        c.sendall(b'own')
        c.close()
if %d: threading.Thread(target=serve, daemon=True).start()
else: server.close()
for host in ('127.0.0.1', 'good.test'):
    for wait in (None, 3):
        try:
            c = socket.create_connection((host, 8000), timeout=wait)
            c.sendall(b'x\\n')
            print(host, c.recv(100))
        except OSError as e:
            print(host, e.errno)
'''


def case_who_is_meant_by_a_name_is_not_an_own_server(p):
    r = p.sh(*allow('good.test:8000'), '--', python(p, 'own.py', OWN % 1))
    ok(r.booted and r.out.count(b"127.0.0.1 b'own'") == 2, p, 'an own server is reached by its own address', r)
    ok(r.out.count(b'good.test 98') == 2, p, 'and not by the name of another', r)
    r = p.sh(*allow('good.test:8000'), '--', python(p, 'own.py', OWN % 0))
    ok(r.out.count(b"good.test b'pong") == 2, p, 'twin: without it the name leads out', r)


HELLO = '''
import socket, struct, sys, time
def vector(n, b): return len(b).to_bytes(n, 'big') + b
def extension(kind, b): return struct.pack('>H', kind) + vector(2, b)
def hello(name, before=0):
    names = extension(0, vector(2, b'\\0' + vector(2, name)))
    extensions = (extension(21, bytes(before)) if before else b'') + names
    body = b'\\3\\3' + bytes(32) + vector(1, b'') + vector(2, b'\\x13\\1' * (1 + before // 2)) + vector(1, b'\\0') + vector(2, extensions)
    return b'\\1' + vector(3, body)
def records(b, size=16384): return b''.join(b'\\x16\\3\\1' + vector(2, b[i:i + size]) for i in range(0, len(b), size))
way, name = sys.argv[1], sys.argv[2].encode()
c = socket.create_connection(('good.test', 8443))
whole = records(hello(name, 40000 if way == 'large' else 0), 1 if way == 'tiny' else 16384)
parts = {'slow': [whole[:4], 6, whole[4:]], 'byte': [whole[:1], 6, whole[1:]], 'alert': [b'\\x15\\3\\1\\0\\2\\1\\x5a' + whole],
         'alert byte': [b'\\x15', 1, b'\\3\\1\\0\\2\\1\\x5a' + whole], 'empty': [b'\\x16\\3\\1\\0\\0' + whole]}.get(way, [whole])
try:
    for part in parts:
        time.sleep(part) if isinstance(part, int) else c.sendall(part)
    c.settimeout(3)
    print(c.recv(10))
except OSError as e:
    print(type(e).__name__)
'''


def case_a_name_of_TLS_that_comes_in_an_odd_way_NW15(p):
    python(p, 'hello.py', HELLO)
    options = allow('good.test:8443')
    for way in ('plain', 'tiny', 'slow', 'byte', 'alert', 'alert byte', 'empty', 'large'):
        r = p.sh(*options, '--', f'python3 hello.py "{way}" evil.example', timeout=60)
        got = SINK.all()
        ok(r.booted and b'evil' not in got and b'Traceback' not in r.err, p, f'{way}: another name does not get out', f'{got[:100]} {r}')
    for way in ('plain', 'tiny'):
        r = p.sh(*options, '--', f'python3 hello.py "{way}" good.test', timeout=60)
        got = SINK.all()
        ok(b"b'got" in r.out and b't' in got, p, f'twin, {way}: its own name does', f'{got[:100]} {r}')


HOLD = """
import socket, sys
c = socket.create_connection((sys.argv[1], 8000))
c.sendall(b'x\\n')
print(c.recv(50), flush=True)
c.settimeout(8)
try: print('end', c.recv(1))
except OSError as e: print(type(e).__name__)
"""


def case_what_is_taken_back_is_gone(p):
    """Of a session, also where a name led to an address that a rule of its own allowed."""
    lab.hosts(**{'good.test': [FAR4, FAR6], 'loop.test': ['127.0.0.1']})
    server = lab.listen('127.0.0.1', 8000, far=False)
    python(p, 'hold.py', HOLD)
    r = p.verb('session', 'start', 'held', *allow('loop.test:8000', '127.0.0.1:8000'))
    ok(r.code == 0, p, 'a session', r)
    with p.start(p.pale_path, 'exec', '-s', 'held', '--', 'python3', 'hold.py', 'loop.test', stdout=subprocess.PIPE) as proc:
        ok(b'pong' in proc.stdout.readline() and server.taken() == 1, p, 'a connection by a name')
        r = p.verb('session', 'network', 'held', '--deny', '127.0.0.1:8000')
        ok(r.code != 0 and b'localhost' in r.err, p, 'an address of the loopback stays in reach by localhost: that is said', r)
        r = p.verb('session', 'network', 'held', '--deny', 'localhost', '--deny', '127.0.0.1:8000')
        ok(r.code == 0, p, 'both are taken back', r)
        begin = time.monotonic()
        ok(b'ConnectionResetError' in proc.stdout.read() and time.monotonic() - begin < 4, p, 'the connection is cut')
    r = p.verb('exec', '-s', 'held', '--', 'python3', 'hold.py', 'loop.test')
    ok(r.code != 0 and server.taken() == 0, p, 'and there is no other', r)
    p.verb('session', 'rm', 'held')
    server.close()


main(case_a_socket_that_lingers_holds_nobody_up, case_an_exposed_port_is_no_circle, case_a_port_of_the_host_stays_free,
     case_who_is_meant_by_a_name_is_not_an_own_server, case_a_name_of_TLS_that_comes_in_an_odd_way_NW15,
     case_what_is_taken_back_is_gone, uids=(1000,))
