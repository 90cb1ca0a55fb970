# SPDX-License-Identifier: MIT
"""netlab - a world of its own for the tests of the network.

The test itself, and so every pale that it starts, lives in a network namespace made for it, the
`host`. At the other end of a cable is the `far` side: a second namespace that answers for every
address there is. Neither leads to the machine's own network, and both end with the test.

    lab = Lab()                          # before any thread is started
    hello = lab.listen(FAR4, 8000)       # a server on the far side, in this process
    lab.hosts(**{'good.test': [FAR4]})   # what the resolver outside says
    with lab.watch() as wire: ...
    wire.packets()                       # what arrived on the far side meanwhile

What was let out is counted on the far end of the cable, not asked of anybody.
"""
import collections
import contextlib
import ctypes
import ipaddress
import select
import socket
import struct
import threading
from live import *

HOST4, HOST6 = '192.0.2.9', '2001:db8:77::9'
FAR4, FAR6 = '192.0.2.1', '2001:db8:77::1'
OTHER4, OTHER6 = '192.0.2.2', '2001:db8:77::2'  # of the far side, too: a neighbour
CABLE = 'cable0'
# Much of the rest of the world: refused there at once, by the far side.
ELSEWHERE = ('0.0.0.0/1', '169.254.0.0/16', '172.16.0.0/12', '198.0.0.0/8', '203.0.113.0/24', '64:ff9b::/32', '2002::/16', '2600::/16', 'fd00::/8')
METADATA = '169.254.169.254'

CLONE_NEWNET = 0x40000000
SOL_PACKET, PACKET_STATISTICS, SO_RCVBUFFORCE = 263, 6, 33
ETH_P_ALL, PACKET_OUTGOING = 3, 4
# Not a word to anybody: neighbour discovery and group membership.
CHATTER = {133, 134, 135, 136, 137, 130, 131, 132, 143}

_libc = ctypes.CDLL(None, use_errno=True)

Packet = collections.namedtuple('Packet', 'proto source to port')


def _call(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def enter_apart():
    """Where only we leave files, and where /etc/hosts can be ours. Starts the test again."""
    if os.geteuid() != 0:
        main(case_needs_root)
    go_apart()


@only_root
def case_needs_root(p):
    pass


def parse(frame):
    """The Packet in an Ethernet frame, or None: ARP and the like."""
    kind, data = int.from_bytes(frame[12:14], 'big'), frame[14:]
    if kind == 0x0800:
        proto, at = data[9], (data[0] & 15) * 4
        source, to = (str(ipaddress.IPv4Address(data[i:i + 4])) for i in (12, 16))
    elif kind == 0x86dd:
        proto, at = data[6], 40
        source, to = (str(ipaddress.IPv6Address(data[i:i + 16])) for i in (8, 24))
        while proto in (0, 43, 60):  # headers that only lead to the next
            proto, at = data[at], at + 8 + data[at + 1] * 8
        if proto == 58 and data[at] in CHATTER:
            return None
    else:
        return None
    port = int.from_bytes(data[at + 2:at + 4], 'big') if proto in (6, 17, 33, 132, 136) else 0
    return Packet(proto, source, to, port)


class Wire:
    """What arrives at an interface of the namespace in which it is made."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
        self.socket.bind((name, ETH_P_ALL))
        self.socket.setblocking(False)
        self.seen = []

    def packets(self, settle=0.1):
        """All that came since the start. None may have been missed."""
        time.sleep(settle)
        while True:
            try:
                frame, address = self.socket.recvfrom(65536)
            except BlockingIOError:
                break
            packet = parse(frame) if address[2] != PACKET_OUTGOING else None
            if packet:
                self.seen.append(packet)
        _, drops = struct.unpack('II', self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        if drops:
            raise RuntimeError(f'{drops} packets were not counted')
        return self.seen

    def strangers(self, *allowed, settle=0.1):
        """The packets that went neither to an ALLOWED (address, port) nor to the name server."""
        return [p for p in self.packets(settle)
                if (p.to, p.port) not in allowed and (p.to, p.port) != (FAR4, 53)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class Server:
    """Says `pong ADDRESS PORT` to the first line, or to a request of HTTP, and echoes the rest."""

    def __init__(self, address, port):
        self.socket = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if ':' in address:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.socket.bind((address, port))
        self.socket.listen(4096)
        self.address, self.port = self.socket.getsockname()[:2]
        self.lock = threading.Lock()
        self.peers = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, peer = self.socket.accept()
            except OSError:
                return
            with self.lock:
                self.peers.append(peer)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, contextlib.suppress(OSError):
            local = connection.getsockname()
            said = f'pong {local[0]} {local[1]}\n'.encode()
            first = connection.recv(65536)
            if first.startswith((b'GET ', b'HEAD ')):
                connection.sendall(b'HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s' % (len(said), said))
                return
            line, newline, rest = first.partition(b'\n')
            if newline:
                connection.sendall(said + rest)
            while True:
                data = connection.recv(65536)
                if not data:
                    return
                connection.sendall(data)

    def taken(self):
        """How many were accepted since we last asked."""
        time.sleep(0.05)
        with self.lock:
            count, self.peers = len(self.peers), []
        return count

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Answer:
    """What the name server says to one question."""

    def __init__(self, *addresses, cname=None, rcode=0, delay=0, silent=False):
        self.addresses = [ipaddress.ip_address(a) for a in addresses]
        self.cname, self.rcode, self.delay, self.silent = cname, rcode, delay, silent


class Dns:
    """A name server that says what it was told to, and may say something else the next time."""
    TYPES = {1: 4, 28: 6}

    def __init__(self):
        self.names, self.asked, self.lock = {}, [], threading.Lock()
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind((FAR4, 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def say(self, name, *answers):
        """The first question for NAME gets the first of ANSWERS (addresses, or an Answer), the
        next one the next, and the last one stays. Questions are counted for each type."""
        answers = [a if isinstance(a, Answer) else Answer(a) for a in answers]
        with self.lock:
            self.names[name] = {kind: list(answers) for kind in self.TYPES}

    def questions(self):
        """The names that were asked for since we last looked."""
        with self.lock:
            asked, self.asked = self.asked, []
        return asked

    def _serve(self):
        while True:
            data, peer = self.datagrams.recvfrom(4096)
            threading.Thread(target=self._answer, args=(data, peer), daemon=True).start()

    @staticmethod
    def _pack(name):
        return b''.join(bytes([len(label)]) + label.encode() for label in name.split('.') if label) + b'\0'

    def _answer(self, data, peer):
        labels, at = [], 12
        while at < len(data) and data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode('latin-1'))
            at += 1 + data[at]
        if at + 5 > len(data):
            return  # no question
        kind = int.from_bytes(data[at + 1:at + 3], 'big')
        question, name = data[12:at + 5], '.'.join(labels).lower()
        with self.lock:
            self.asked.append(name)
            answers = self.names.get(name, {}).get(kind)
            answer = answers.pop(0) if answers and len(answers) > 1 else answers[0] if answers else None
        if answer is None:
            answer = Answer(rcode=0 if name in self.names else 3)
        if answer.silent:
            return
        time.sleep(answer.delay)
        records, owner = [], b'\xc0\x0c'
        if answer.cname:
            target = self._pack(answer.cname)
            records.append(owner + struct.pack('>HHIH', 5, 1, 0, len(target)) + target)
            owner = target
        for address in answer.addresses:
            if address.version == self.TYPES.get(kind):
                records.append(owner + struct.pack('>HHIH', kind, 1, 0, len(address.packed)) + address.packed)
        head = data[:2] + struct.pack('>HHHHH', 0x8180 | answer.rcode, 1, len(records), 0, 0)
        with contextlib.suppress(OSError):
            self.datagrams.sendto(head + question + b''.join(records), peer)


class Lab:
    def __init__(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix='pale-lab-', dir='/var/tmp'))
        self.place.chmod(0o755)
        self.programs = []
        atexit.register(self.close)
        _call(_libc.unshare(CLONE_NEWNET))
        self.far_fd = os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        _call(_libc.unshare(CLONE_NEWNET))
        self.host_fd = os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        ip = self._ip
        ip('link', 'add', CABLE, 'type', 'veth', 'peer', 'name', CABLE, 'netns', f'/proc/{os.getpid()}/fd/{self.far_fd}')
        self._side(HOST4, HOST6)
        ip('route', 'add', 'default', 'via', FAR4)
        ip('-6', 'route', 'add', 'default', 'via', FAR6)
        with self.far():
            self._side(FAR4, FAR6, OTHER4, OTHER6, 'fe80::77')
            for prefix in ELSEWHERE:
                ip('-6' if ':' in prefix else '-4', 'route', 'add', 'local', prefix, 'dev', 'lo', 'table', 'local')
            self.dns = Dns()
        self.hosts()
        self._put('/etc/resolv.conf', f'nameserver {FAR4}\noptions timeout:1 attempts:2\n')

    def _ip(self, *words):
        subprocess.run(['ip', *words], check=True)

    def _side(self, *addresses):
        self._ip('link', 'set', 'lo', 'up')
        self._ip('link', 'set', CABLE, 'up')
        for address in addresses:
            six = ':' in address
            self._ip('addr', 'add', address + ('/64' if six else '/24'), 'dev', CABLE, *(('nodad',) if six else ()))

    def _put(self, path, text):
        """TEXT is what PATH holds, for us and for what we start."""
        ours = self.place / path.strip('/').replace('/', '-')
        fresh = not ours.exists()
        ours.write_text(text)
        ours.chmod(0o644)
        if fresh:
            subprocess.run(['mount', '--bind', ours, os.path.realpath(path)], check=True)

    @contextlib.contextmanager
    def far(self):
        """What this thread makes and starts meanwhile is on the far side."""
        _call(_libc.setns(self.far_fd, CLONE_NEWNET))
        try:
            yield
        finally:
            _call(_libc.setns(self.host_fd, CLONE_NEWNET))

    def hosts(self, **names):
        """The hosts file outside: addresses of each name."""
        lines = ['127.0.0.1 localhost', '::1 localhost']
        lines += [f'{address} {name}' for name, addresses in names.items() for address in addresses]
        self._put('/etc/hosts', '\n'.join(lines) + '\n')

    def watch(self, name=CABLE):
        """Counts what reaches the far side by the cable; name='lo': what the host sends to itself."""
        if name != CABLE:
            return Wire(name)
        with self.far():
            return Wire(CABLE)

    def listen(self, address, port=0, far=True):
        with self.far() if far else contextlib.nullcontext():
            return Server(address, port)

    def start(self, *argv, far=True, **kw):
        """A program of the lab's. It ends with the test."""
        kw.setdefault('stdin', subprocess.DEVNULL)
        kw.setdefault('stdout', subprocess.DEVNULL)
        with self.far() if far else contextlib.nullcontext():
            proc = subprocess.Popen([SETPRIV, '--pdeathsig', 'KILL', *argv], **kw)
        self.programs.append(proc)
        return proc

    def answers(self, address, port, seconds=5, far=True):
        """Waits until something accepts there."""
        def there():
            with self.far() if far else contextlib.nullcontext(), contextlib.suppress(OSError):
                with socket.create_connection((address, port), 1):
                    return True
        if not wait_for(there, seconds):
            raise RuntimeError(f'nothing answers at {address} {port}')

    def close(self):
        for proc in self.programs:
            proc.kill()
            proc.wait()
        shutil.rmtree(self.place, ignore_errors=True)


def net_tool(p, name):
    """The program probes/NAME.c in P's workspace, static, with the small C library."""
    built = p.base.parent / f'bin/{name}'
    if not built.exists():
        subprocess.run(['musl-gcc', '-static', '-O1', '-Wall', '-D_GNU_SOURCE', '-pthread', '-o', built,
                        HERE / f'probes/{name}.c'], check=True)
    if not (p.ws / name).exists():
        p.write(p.ws / name, built.read_bytes(), 0o755)
    return './' + name


def allow(*rules):
    """Options of a run that may reach these."""
    return ['--network', 'allowed_hosts'] + [word for rule in rules for word in ('--host', rule)]
