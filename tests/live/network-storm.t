#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many connections, and hostile ones: none is lost, what carries them does not grow, and another run does
not notice (NW19).

PALE_STORM is for how many seconds the storm lasts (3); 30 is the promise.
"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from netlab import *

enter_apart()
lab = Lab()
lab.hosts(**{'good.test': [FAR4]})
SECONDS = int(os.environ.get('PALE_STORM') or 3)
RATE = 200
LOCAL = ['--network', 'localhost']
PONG = {address: lab.listen(address, 8000, far) for address, far in (('127.0.0.1', False), ('::1', False), (FAR4, True))}


class Flood:
    """Accepts all, holds them, and sends without an end to those that say "flood"."""

    def __init__(self, address, port):
        self.listener = socket.create_server((address, port), backlog=4096)
        self.listener.setblocking(False)
        self.accepted, self.sent, self.held = 0, 0, {}
        self.poller = select.epoll()
        self.poller.register(self.listener, select.EPOLLIN)
        threading.Thread(target=self._loop, daemon=True).start()

    def _loop(self):
        chunk = bytes(1 << 16)
        while True:
            for fd, event in self.poller.poll():
                if fd == self.listener.fileno():
                    with contextlib.suppress(OSError):
                        connection, _ = self.listener.accept()
                        connection.setblocking(False)
                        self.accepted += 1
                        self.held[connection.fileno()] = connection
                        self.poller.register(connection, select.EPOLLIN)
                    continue
                try:
                    if event & select.EPOLLOUT:
                        self.sent += self.held[fd].send(chunk)
                        continue
                    data = self.held[fd].recv(4096)
                    if data.startswith(b'flood'):
                        self.poller.modify(fd, select.EPOLLOUT)
                    if data:
                        continue
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                self.poller.unregister(fd)
                self.held.pop(fd).close()


def resident(pid):
    """KiB."""
    with open(f'/proc/{pid}/status') as f:
        return next(int(line.split()[1]) for line in f if line.startswith('VmRSS'))


def descriptors(pid):
    return len(os.listdir(f'/proc/{pid}/fd'))


class Watch:
    """The most memory and descriptors that a process had, seen from outside."""

    def __init__(self, pid):
        self.pid, self.memory, self.fds, self.over = pid, [], [], False
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()

    def _loop(self):
        while not self.over:
            with contextlib.suppress(OSError, StopIteration):
                memory, fds = resident(self.pid), descriptors(self.pid)
                self.memory.append(memory)
                self.fds.append(fds)
            time.sleep(0.02)

    def stop(self):
        self.over = True
        self.thread.join()


def counts(text):
    return {k: int(v) for k, v in (line.split() for line in text.decode().splitlines() if ' ' in line)}


def case_a_storm_of_connections(p):
    tool = net_tool(p, 'net-storm')
    for address, options in (('127.0.0.1', LOCAL), ('::1', LOCAL), (FAR4, allow(f'{FAR4}:8000'))):
        server = PONG[address]
        server.taken()
        line = f'{tool} storm {address} 8000 {RATE} {SECONDS}; s=$?; sleep 2; exit $s'
        proc = p.start_pale(*options, '--', 'sh', '-c', line, stdout=subprocess.PIPE)
        watch = Watch(proc.pid)
        out = proc.communicate()[0]
        watch.stop()
        n, came = counts(out), server.taken()
        after = watch.fds[-20:-10]  # a while after the last one
        note(f'{address}: {n}, {came} came; descriptors {watch.fds[:1]} to {max(watch.fds, default=0)}, KiB {watch.memory[:1]} to {max(watch.memory, default=0)}')
        ok(proc.returncode == 0 and n.get('good') == n.get('total') == RATE * SECONDS, p, f'{address}: {n.get("good")} of {RATE * SECONDS} were answered', n)
        ok(came == RATE * SECONDS, p, f'{address}: and all came, as the server counts', came)
        ok(n.get('milliseconds', 10**9) < SECONDS * 1000 * 1.5, p, f'{address}: at {RATE} in a second', n)
        ok(after and max(after) < 128 and max(watch.fds) < 1000, p, f'{address}: descriptors do not pile up', watch.fds[::20])
        ok(max(watch.memory, default=10**9) < 32 << 10, p, f'{address}: nor does memory', watch.memory[::20])


def neighbour(p):
    """Another run, meanwhile."""
    r = p.sh(*LOCAL, '--', f"{net_tool(p, 'net-client')} blocking 127.0.0.1 8000", timeout=10)
    return r.booted and r.code == 0 and r.seconds < 8, r


def under(p, name, line, options=LOCAL, wanted=1, memory=64 << 10):
    tool = net_tool(p, 'net-storm')
    proc = p.start_pale(*options, '--', 'sh', '-c', f'exec {tool} {line}', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    watch = Watch(proc.pid)
    first = proc.stdout.readline() if select.select([proc.stdout], [], [], 90)[0] else b''
    time.sleep(1)
    good, r = neighbour(p)
    ok(good, p, f'{name}: another run does not notice', r)
    watch.stop()
    n = counts(first)
    note(f'{name}: {n}; descriptors to {max(watch.fds, default=0)}, KiB to {max(watch.memory, default=0)}')
    ok(n.get('open', 0) >= wanted, p, f'{name}: {n.get("open")} are open', first)
    ok(watch.memory and max(watch.memory) < memory, p, f'{name}: memory is bounded', max(watch.memory, default=0))
    ok(proc.poll() is None, p, f'{name}: the run goes on', proc.poll())
    proc.stdin.close()
    ended = wait_for(lambda: proc.poll() is not None, 20)
    ok(ended is not None, p, f'{name}: and ends when it is to')
    proc.kill()
    proc.wait()
    proc.stdout.close()


def case_hostile_loads_NW19(p):
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    good, r = neighbour(p)
    ok(good, p, 'twin: a run without a load beside it', r)
    flood = Flood('127.0.0.1', 0)
    port = flood.listener.getsockname()[1]
    under(p, '10 000 connections', f'many 127.0.0.1 {port} 20 500')
    ok(flood.accepted > 0, p, f'{flood.accepted} came')
    before = flood.sent
    under(p, 'connections that never read', f'deaf 127.0.0.1 {port} 100')
    ok(flood.sent > before, p, f'{flood.sent - before} bytes were sent to them')
    under(p, 'slow ones', f'slow 127.0.0.1 {port} 200 4')
    good, r = neighbour(p)
    ok(good, p, 'and after all that a run is as quick as before', r)


# What a hostile program does as often as it can, for a second.
FLOODS = {
    'datagrams to everybody': """
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def act(n):
    sock.sendmsg([b'x'], [], 0, (place(n), 1000 + n % 50000))
""",
    'refused connections': """
def act(n):
    with socket.socket() as s:
        s.connect((place(n), 1000 + n % 50000))
""",
    'names that are not allowed': """
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def act(n):
    sock.sendto(question(b'n%d' % n, b'evil', b'test'), ('198.18.0.1', 53))
""",
    'names that nobody answers for': """
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def act(n):
    sock.sendto(question(b'n%d' % n, b'wild', b'test'), ('198.18.0.1', 53))
    time.sleep(0.0005)
""",
    'questions by TCP that are never finished': """
held = []
def act(n):
    if len(held) > 500:
        held.pop(0).close()
    held.append(socket.socket())
    held[-1].settimeout(0.2)
    held[-1].connect(('198.18.0.1', 53))
    held[-1].send(b'\\xff\\xff')
""",
    'connections to where nobody answers': """
held = []
def act(n):
    if len(held) > 800:
        held.pop(0).close()
    held.append(socket.socket())
    held[-1].setblocking(False)
    held[-1].connect(('192.0.2.%d' % (100 + n % 50), 8000))
""",
}
FLOOD = """
import socket, struct, time
place = lambda n: '10.%d.%d.%d' % (n >> 16 & 255, n >> 8 & 255, n & 255)
def question(*labels):
    name = b''.join(bytes([len(l)]) + l for l in labels)
    return b'\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00' + name + b'\\0\\0\\1\\0\\1'
ACT
n, end = 0, time.monotonic() + 1
while time.monotonic() < end:
    try:
        act(n)
    except OSError:
        pass
    n += 1
open('times', 'w').write(str(n))
"""


def children(pid):
    with contextlib.suppress(OSError):
        return len(pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split())
    return 0


def case_floods_NW19(p):
    for i in range(4000):
        lab.dns.say(f'n{i}.wild.test', Answer(silent=True))
    for name, text in FLOODS.items():
        p.write(p.ws / 'flood.py', FLOOD.replace('ACT', text))
        proc = p.start_pale('--json', *allow('good.test:8000', '*.wild.test:80', '192.0.2.0/24:8000'), '--', '/usr/bin/python3', 'flood.py',
                            stdout=subprocess.PIPE)
        watch, many = Watch(proc.pid), []
        while not select.select([proc.stdout], [], [], 0.1)[0]:
            many.append(children(proc.pid))
        good, r = neighbour(p)
        out = proc.communicate()[0]
        watch.stop()
        result = json.loads(out)
        times = int((p.ws / 'times').read_text())
        note(f'{name}: {times} times; descriptors to {max(watch.fds)}, KiB to {max(watch.memory)}, children to {max(many)}, {len(out)} bytes of result')
        ok(result.get('outcome') == 'ok' and times > 100, p, f'{name}: {times} times, and the run ends as it should', result)
        ok(max(watch.memory) < 16 << 10 and max(watch.fds) < 1000 and max(many) <= 32, p, f'{name}: memory, descriptors and processes are bounded')
        ok(len(out) < 64 << 10, p, f'{name}: and what is told of it', len(out))
        ok(good, p, f'twin: after {name}, another run works', r)
        (p.ws / 'times').unlink()


AT_ONCE = """
import socket, struct, sys
for i in range(200):
    with socket.socket() as s:
        s.setblocking(False)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        s.connect_ex((sys.argv[1], 8000))
"""


def case_rate(p):
    """200 at once, by somebody who does not wait: the limit of a second is kept."""
    p.write(p.ws / 'at-once.py', AT_ONCE)
    for address, options in (('127.0.0.1', LOCAL), (FAR4, allow(f'{FAR4}:8000'))):
        PONG[address].taken()
        r = p.sh('--connect-rate', '10', *options, '--', f'/usr/bin/python3 at-once.py {address}')
        came = PONG[address].taken()
        ok(r.booted and r.code == 0 and 1 <= came <= 10 * (2 + r.seconds), p, f'{address}: {came} came with a rate of 10', r)
        r = p.sh(*options, '--', f'/usr/bin/python3 at-once.py {address}')
        came = PONG[address].taken()
        ok(r.booted and came > 50, p, f'twin: {address}: {came} came without', r)


main(case_a_storm_of_connections, case_hostile_loads_NW19, case_floods_NW19, case_rate, uids=(1000,))
