#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""network = localhost: TCP to the loopback of the host, by port; what is served inside, to the host
where it is exposed; and nothing else, either way. In a lab, so that the ports are all ours.
"""
import errno
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from box import *
from netservers import *

enter_apart()
lab = Lab()
lab.hosts(**{'good.test': [FAR4, FAR6]})
start_redis(lab, '127.0.0.1', far=False)
LOCAL = ['--network', 'localhost']
LOOPBACKS = ('127.0.0.1', '127.0.0.2', '::1')
HOST = {(address, port): lab.listen(address, port, far=False) for address in LOOPBACKS for port in (8000, 8001)}
OWN = {address: lab.listen(address, 8000, far=False) for address in (HOST4, HOST6)}
FAR = {address: lab.listen(address, 8000) for address in (FAR4, FAR6)}
WAYS = ('blocking', 'poll', 'select', 'epoll-before', 'dup-before', 'options', 'child', 'thread', 'exec', 'names', 'bound', 'half-closed', 'volume')


def forget():
    for server in (*HOST.values(), *OWN.values(), *FAR.values()):
        server.peers = []


def case_reached(p):
    tool = net_tool(p, 'net-client')
    forget()
    for address in LOOPBACKS:
        for way in WAYS:
            r = p.sh(*LOCAL, '--', f'{tool} {way} {address} 8000')
            came = HOST[address, 8000].taken()
            ok(r.booted and r.code == 0 and came == 1, p, f'{address}, {way}', f'{came} came\n{r}')
    for way in ('blocking', 'poll'):
        r = p.sh('--', f'{tool} {way} 127.0.0.1 8000')
        ok(r.booted and r.code == 1 and HOST['127.0.0.1', 8000].taken() == 0, p, f'twin: not with network none, {way}', r)
    r = p.sh(*LOCAL, '--', f'{tool} blocking localhost 8000; {tool} mapped 127.0.0.1 8000; {tool} blocking 0.0.0.0 8000; {tool} blocking :: 8000')
    ok(r.out.count(b'=ok pong') == 4, p, 'localhost by name, mapped into IPv6, and as no address at all', r)


def case_real_programs(p):
    r = p.sh(*LOCAL, '--', 'redis-cli set k v && redis-cli -h localhost get k && redis-benchmark -q -n 2000 -c 20 -t get | tr "\\r" "\\n" | grep second')
    ok(r.booted and r.code == 0 and b'OK\nv\n' in r.out and b'requests per second' in r.out, p, 'redis', r)
    r = p.sh('--', 'redis-cli set k v')
    ok(r.booted and r.code != 0, p, 'twin: not with network none', r)
    r = p.sh(*LOCAL, '--', 'curl -sS -m 5 http://localhost:8000/ && curl -sS -m 5 -6 http://localhost:8000/ && curl -sS -m 5 http://127.0.0.2:8001/')
    ok(r.rest == b'pong ::1 8000\npong ::1 8000\npong 127.0.0.2 8001\n' or r.rest.count(b'pong') == 3, p, 'curl', r)
    if shutil.which('node', path=CLEAN_PATH):
        r = p.sh(*LOCAL, '--', """node -e "require('http').get('http://127.0.0.1:8000/', r => r.pipe(process.stdout))" """)
        ok(r.rest == b'pong 127.0.0.1 8000\n', p, 'node', r)


OUT_OF_BAND = """
import socket, sys
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
s.sendall(b'one '); s.send(b'X', socket.MSG_OOB); s.sendall(b' two'); s.shutdown(socket.SHUT_WR)
s.settimeout(5)
got = b''
while (data := s.recv(100)): got += data
print('GOT', got)
"""


def case_urgent_data(p):
    """It comes along, and nothing is lost behind it."""
    script = p.write(p.ws / 'oob.py', OUT_OF_BAND)
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]

    def serve():
        fd, _ = listener.accept()
        fd.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        got = b''
        while (data := fd.recv(100)):
            got += data
        fd.sendall(got[:4])
        fd.send(b'!', socket.MSG_OOB)
        fd.sendall(got[4:])
        fd.close()
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    r = p.sh(*LOCAL, '--', f'python3 {script} {port}')
    thread.join(5)
    ok(r.booted and b"GOT b'one " in r.out and b" two'" in r.out and not thread.is_alive(), p, 'there and back', r)
    listener.close()


def case_nothing_else(p):
    tool = net_tool(p, 'net-client')
    forget()
    for place in (HOST4, HOST6, FAR4, FAR6, METADATA, '8.8.8.8', 'good.test'):
        with lab.watch() as wire:
            r = p.sh(*LOCAL, '--', f'{tool} blocking {place} 8000; {tool} poll {place} 8000')
            came = sum(len(s.peers) for s in (*OWN.values(), *FAR.values()))
            ok(r.booted and b'=ok' not in r.out and not came and not wire.packets(), p, f'{place} is not reached', f'{came} {wire.seen}\n{r}')
    for place in (HOST4, FAR4, 'good.test'):
        r = p.sh('--network', 'unrestricted', '--', f'{tool} blocking {place} 8000')
        ok(r.code == 0, p, f'twin: {place} when unrestricted', r)
    lab.dns.questions()
    p.sh(*LOCAL, '--', f'{tool} blocking secret.evil.test 8000')
    ok(not lab.dns.questions(), p, 'no name is asked for outside')


def case_ports(p):
    tool = net_tool(p, 'net-client')
    for address in LOOPBACKS:
        forget()
        r = p.sh(*LOCAL, '--port', '8000', '--', f'{tool} blocking {address} 8000; {tool} poll {address} 8000')
        ok(r.booted and r.out.count(b'=ok') == 2 and HOST[address, 8000].taken() == 2, p, f'{address}: the port is reached', r)
        r = p.sh(*LOCAL, '--port', '8000', '--', f'{tool} blocking {address} 8001; {tool} poll {address} 8001; {tool} thread {address} 8001')
        ok(r.booted and b'=ok' not in r.out and HOST[address, 8001].taken() == 0, p, f'{address}: no other is', r)
    r = p.sh(*LOCAL, '--port', '8000', '--port', '8001', '--', f'{tool} blocking 127.0.0.1 8001')
    ok(r.code == 0, p, 'twin: it is when it is named', r)


def case_closed_ports(p):
    tool = net_tool(p, 'net-client')
    for address in LOOPBACKS:
        for way, call in (('blocking', b'connect'), ('poll', b'')):
            r = p.sh(*LOCAL, '--', f'{tool} {way} {address} 8003')
            ok(r.booted and b'%s=%d %s' % (way.encode(), errno.ECONNREFUSED, call) in r.out, p, f'{address}: nobody there is ECONNREFUSED, {way}', r)


OWN_LISTENER = r'''
import socket, sys, threading
def get(address, port):
    with socket.create_connection((address, port), 5) as s:
        s.sendall(b'ping\n')
        return s.recv(100).decode().strip()
def serve(address, port):
    s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    s.listen(8)
    def loop():
        while True:
            try:
                c, _ = s.accept()
            except OSError:
                return
            c.recv(100)
            c.sendall(b'mine\n')
            c.close()
    threading.Thread(target=loop, daemon=True).start()
    return s
def stop(s):
    s.shutdown(socket.SHUT_RDWR)
    s.close()
a, p = sys.argv[1], int(sys.argv[2])
bound = sys.argv[3]
said = [get(a, p)]
s = serve(bound, p)
said.append(get(a, p))
said.append(get(a, p))
stop(s)
said.append(get(a, p))
s = serve(bound, p)
said.append(get(a, p))
print(said)
'''


def case_few_open_files(p):
    """A hard limit leaves no room for connections, a soft one is raised for us and kept for the command."""
    tool = net_tool(p, 'net-client')
    forget()
    line = lambda limit, *options: p.run('sh', '-c', f'ulimit {limit}; exec "$@"', 'sh',
                                         *p.pale_argv(*LOCAL, *options, '--', 'sh', '-c', f'ulimit -n; {tool} blocking 127.0.0.1 8000'))
    for limit in (48, 200, 400):
        r = line(f'-n {limit}')
        ok(r.code == 125 and f'the limit is {limit}'.encode() in r.err and b'LimitNOFILE' in r.err, p, f'{limit} open files: nothing runs, and why is said', r)
    r = line('-n 1000', '--connections', '5000')
    ok(r.code == 125 and b'a network of 5000 connections takes 30384 open files' in r.err, p, 'nor with more connections than there is room for', r)
    ok(HOST['127.0.0.1', 8000].taken() == 0, p, 'nobody was reached')
    for limit in ('-n 600', '-Sn 64'):
        r = line(limit)
        ok(r.code == 0 and r.out.startswith(limit.split()[1].encode() + b'\n') and b'=ok pong' in r.out, p, f'twin: ulimit {limit}, which the command keeps', r)


def case_its_own_listener_wins(p):
    """Before and after: the host's, its own, the host's, its own."""
    p.write(p.ws / 'own.py', OWN_LISTENER)
    for address, bound in (('127.0.0.1', '127.0.0.1'), ('::1', '::1'), ('127.0.0.1', '0.0.0.0'), ('::1', '::'), ('127.0.0.2', '127.0.0.2')):
        r = p.sh(*LOCAL, '--', f'/usr/bin/python3 own.py {address} 8000 {bound}')
        theirs = f'pong {address} 8000'
        ok(r.booted and r.rest.decode().strip() == str([theirs, 'mine', 'mine', theirs, 'mine']), p, f'{address}, bound to {bound}', r)


LISTENER = r'''
import socket, sys, time
held = []
for address in sys.argv[2].split(','):
    s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if ':' in address:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind((address, int(sys.argv[1])))
    s.listen(64)
    held.append(s)
print('listening', flush=True)
import selectors
sel = selectors.DefaultSelector()
for s in held:
    sel.register(s, selectors.EVENT_READ)
while True:
    for key, _ in sel.select():
        c, peer = key.fileobj.accept()
        c.sendall(b'from inside ' + c.recv(100))
        c.close()
'''


def ask(address, port, far=False, seconds=2):
    with lab.far() if far else contextlib.nullcontext():
        try:
            with socket.create_connection((address, port), seconds) as s:
                s.settimeout(seconds)
                s.sendall(b'hello\n')
                return s.recv(100)
        except OSError as e:
            return str(e)


@contextlib.contextmanager
def serving(p, *options, port=9000, bound='127.0.0.1'):
    p.write(p.ws / 'listener.py', LISTENER)
    proc = p.start_pale(*options, '--', '/usr/bin/python3', 'listener.py', str(port), bound, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        first = proc.stdout.readline() if select.select([proc.stdout], [], [], 10)[0] else b''
        ok(first == b'listening\n', p, f'a server inside has started ({bound})', first or proc.stderr.read1())
        yield proc
    finally:
        proc.kill()
        proc.communicate()
        # What a killed pale leaves ends a moment after it, and its port with it.
        wait_for(lambda: 'refused' in str(ask('127.0.0.1', port)))


def case_served_inside_NW21(p):
    for options in (LOCAL, allow('good.test:8000')):
        with serving(p, *options, bound='0.0.0.0,::'):
            for address in (*LOOPBACKS, HOST4, HOST6):
                ok(ask(address, 9000) != b'from inside hello\n', p, f'{options[1]}: not reached by {address}')
            for address in (HOST4, HOST6):
                ok('refused' in str(ask(address, 9000, far=True)), p, f'{options[1]}: nor from the far side by {address}')
    with serving(p, '--network', 'unrestricted', bound='0.0.0.0,::'):
        for address, far in (('127.0.0.1', False), (HOST4, True), (HOST6, True)):
            ok(ask(address, 9000, far) == b'from inside hello\n', p, f'twin: unrestricted, reached by {address}')


def case_exposed(p):
    for bound in ('127.0.0.1', '::1', '0.0.0.0', '127.0.0.1,::1'):
        with serving(p, *LOCAL, '--expose', '9000', bound=bound):
            for address in ('127.0.0.1', '::1'):
                got = [ask(address, 9000) for _ in range(20)]
                ok(set(got) == {b'from inside hello\n'}, p, f'bound to {bound}: reached by {address}', set(got))
            for address in (HOST4, HOST6):
                ok(ask(address, 9000) != b'from inside hello\n', p, f'bound to {bound}: not by {address}')
                ok('refused' in str(ask(address, 9000, far=True)), p, f'bound to {bound}: nor from the far side by {address}')
    ok(wait_for(lambda: 'refused' in str(ask('127.0.0.1', 9000))), p, 'when the run has ended, so has the port')
    with serving(p, *LOCAL, '--expose', '9000', '--expose', '9001', port=9001):
        ok(ask('127.0.0.1', 9001) == b'from inside hello\n', p, 'a second port')
        ok(ask('127.0.0.1', 9000) != b'from inside hello\n', p, 'nobody serves the first one')
    with serving(p, *LOCAL, port=9000):
        ok('refused' in str(ask('127.0.0.1', 9000)), p, 'twin: what is not exposed is not reached')


def case_exposed_to_many(p):
    """Who comes from outside takes nothing of what the command may have."""
    line = ('import socket,time\ns = socket.create_server(("127.0.0.1", 7755)); s.settimeout(0.5); held = []\n'
            'open("up", "w").close()\n'
            'try:\n  while True: held.append(s.accept())\n'
            'except TimeoutError: pass\n'
            'c = socket.create_connection(("127.0.0.1", 8000), 5); c.sendall(b"x\\n"); print("HELD", len(held), c.recv(50))\n')
    (p.ws / 'up').unlink(missing_ok=True)
    proc = p.start_pale(*LOCAL, '--connections', '8', '--expose', '7755', '--', 'python3', '-c', line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    up = wait_for(lambda: (p.ws / 'up').exists(), 10)
    clients = [socket.create_connection(('127.0.0.1', 7755)) for _ in range(12)]
    out, err = proc.communicate(timeout=20)
    for c in clients:
        c.close()
    ok(up and b'HELD 8' in out and b'pong' in out, p, 'eight come in, and it still gets out', out + err)


def case_expose_in_use(p):
    r = p.pale(*LOCAL, '--expose', '8000', '--', 'echo', 'ran')
    ok(r.code == 125 and b'ran' not in r.out and b'8000' in r.err, p, 'a port that is in use: nothing ran, and it is named', r)
    r = p.pale(*LOCAL, '--expose', '8005', '--', 'echo', 'ran')
    ok(r.code == 0 and r.out == b'ran\n', p, 'twin: another one', r)


def case_both_directions(p):
    """A server inside that uses one of the host's."""
    p.write(p.ws / 'between.py', LISTENER.replace("c.sendall(b'from inside ' + c.recv(100))", """
        c.recv(100)
        with socket.create_connection(('127.0.0.1', 8000), 5) as up:
            up.sendall(b'ping\\n')
            c.sendall(b'between ' + up.recv(100))"""))
    proc = p.start_pale(*LOCAL, '--expose', '9002', '--', '/usr/bin/python3', 'between.py', '9002', '127.0.0.1', stdout=subprocess.PIPE)
    ok(proc.stdout.readline() == b'listening\n', p, 'a server inside has started')
    ok(ask('127.0.0.1', 9002) == b'between pong 127.0.0.1 8000\n', p, 'from the host to the inside to the host')
    proc.kill()
    proc.communicate()


def case_datagrams(p):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(('127.0.0.1', 8053))
    udp.setblocking(False)

    def came():
        time.sleep(0.1)
        try:
            return udp.recv(100)
        except BlockingIOError:
            return None
    tool = net_tool(p, 'net-escape')
    for way in ('udp', 'udp-sendmsg', 'udp-connected'):
        r = p.sh(*LOCAL, '--', f'{tool} {way} 127.0.0.1 8053')
        ok(r.booted and came() is None, p, f"{way}: the host's loopback gets no datagram", r)
    p.sh('--network', 'unrestricted', '--', f'{tool} udp 127.0.0.1 8053')
    ok(came() == b'secret', p, 'twin: unrestricted, it does')
    r = p.sh(*LOCAL, '--', """/usr/bin/python3 -c "
import socket
a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in '12')
a.bind(('127.0.0.1', 8053)); b.sendto(b'own', a.getsockname()); print(a.recv(9))" """)
    ok(r.rest == b"b'own'\n", p, 'its own datagrams work', r)
    udp.close()


def unix_server(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(8)
    s.setblocking(False)

    def came():
        time.sleep(0.05)
        count = 0
        while True:
            try:
                s.accept()[0].close()
                count += 1
            except BlockingIOError:
                return count
    return s, came


def case_unix_sockets_NW05(p):
    name = f'pale-live-{os.getpid()}-{p.uid}'
    held, came = unix_server('\0' + name)
    for options in (LOCAL, allow('good.test:8000'), *modes(p, integration(p))):
        r = p.sh(*options, '--', f'./probe unix @{name}')
        ok(r.booted and r.code != 0 and came() == 0, p, f"{options[1]}: no abstract socket of the host's", r)
    r = p.sh('--preset', 'off', '--', f'./probe unix @{name}')
    ok(came() == 1, p, 'twin: when off', r)
    places = [p.mkdir(p.base / 'sockets') / 'one', p.base / 'sockets/two']
    servers = [unix_server(str(place)) for place in places]
    for place in places:
        place.chmod(0o777)
    r = p.sh(*LOCAL, '--socket', places[0], '--', f'./probe unix {places[0]}; ./probe unix {places[1]}')
    one, two = (came() for _, came in servers)
    ok(r.booted and one == 1 and two == 0, p, 'the socket that is named, and no other', f'{one} {two}\n{r}')
    r = p.sh('--socket', places[1], '--', f'./probe unix {places[1]}')
    ok(servers[1][1]() == 1, p, 'twin: the other one when it is named, without a network', r)
    for place in places:
        place.unlink()


def integration(p):
    """The preset. Where no cgroup can be had, its limits are degraded, and that has to be allowed."""
    options = ['--preset', 'integration', '--allow-degraded', 'cpu', '--allow-degraded', 'memory']
    state = p.pale('--explain', '--json', *options, '--', 'true').json().get('enforced', {})
    return options[:2] + [word for dim in ('cpu', 'memory') if state.get(dim, {}).get('state') == 'degraded' for word in ('--allow-degraded', dim)]


def case_integration(p):
    """As its table says: localhost, workspace_only, visible processes."""
    tool = net_tool(p, 'net-client')
    for options in modes(p, integration(p)):
        forget()
        r = p.sh(*options, '--', f'{tool} blocking 127.0.0.1 8000 && {tool} poll ::1 8000 && redis-cli ping')
        ok(r.booted and r.code == 0 and HOST['127.0.0.1', 8000].taken() == 1 and b'PONG' in r.out, p, "the host's loopback is reached", r)
        with lab.watch() as wire:
            r = p.sh(*options, '--', f'{tool} blocking {FAR4} 8000; {tool} blocking {HOST4} 8000; {tool} blocking good.test 8000')
            ok(r.booted and b'=ok' not in r.out and not wire.packets() and not OWN[HOST4].peers, p, 'and nothing else', f'{wire.seen}\n{r}')
        r = p.sh(*options, '--', f'echo mine > new && echo x > {p.outside}/new; ls {p.outside}/new; [ -d /proc/{os.getpid()} ] && echo visible')
        ok(r.booted and (p.ws / 'new').exists() and not (p.outside / 'new').exists() and b'visible' in r.out, p,
           'writes in the workspace only, and sees the processes of the host', r)
        (p.ws / 'new').unlink(missing_ok=True)
        got = p.pale('--json', *options, '--', 'true').json()
        spec = got.get('spec', {})
        ok([spec.get(k) for k in ('network', 'filesystem', 'processes')] == ['localhost', 'workspace_only', 'visible'], p, 'its spec', spec)
        ok(got.get('enforced', {}).get('network', {}).get('state') == 'enforced', p, 'the network is enforced', got.get('enforced'))
        ok(got.get('grade') == {'world': 'broad', 'ceiling': 8}, p, 'and its grade', got.get('grade'))


STEAL = """
import ctypes, sys
libc = ctypes.CDLL(None)
pidfd = libc.syscall(434, int(sys.stdin.readline()), 0)
print('stolen', sum(libc.syscall(438, pidfd, n, 0) >= 0 for n in range(3, 100)))
"""


def case_sockets_of_the_supervisor_NW23(p):
    """Where its process is seen, what it holds in the host's network cannot be taken."""
    p.write(p.ws / 'steal.py', STEAL)
    for options in modes(p, integration(p)):
        proc = p.start_pale(*options, '--', '/usr/bin/python3', 'steal.py', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        out = proc.communicate(b'%d\n' % proc.pid)[0]
        ok(out == b'stolen 0\n', p, 'none is taken by the command', out)
    if p.is_root:
        proc = p.start_pale(*LOCAL, '--', 'sh', '-c', 'echo ready; read x', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        proc.stdout.readline()
        r = p.run('/usr/bin/python3', 'steal.py', data=b'%d\n' % proc.pid)
        ok(r.out.startswith(b'stolen ') and r.out != b'stolen 0\n', p, 'twin: root does it without pale', r)
        proc.communicate(b'\n')


def case_session(p):
    tool = net_tool(p, 'net-client')
    with Box(p, 'net') as box:
        p.write(box.ws / 'net-client', (p.ws / 'net-client').read_bytes(), 0o755)
        p.write(box.ws / 'listener.py', LISTENER)
        r = box.start(*LOCAL, '--port', '8000', '--expose', '9003')
        ok(r.code == 0, p, 'a session has started', r)
        forget()
        for i in range(5):
            r = box.sh(f'{tool} blocking 127.0.0.1 8000; {tool} poll ::1 8000; {tool} blocking 127.0.0.1 8001')
            ok(r.booted and r.out.count(b'=ok') == 2, p, f'command {i}: what is allowed, and no more', r)
        ok(HOST['127.0.0.1', 8000].taken() == 5 and HOST['127.0.0.1', 8001].taken() == 0, p, 'as the host saw')
        box.sh('setsid /usr/bin/python3 listener.py 9003 127.0.0.1 >/dev/null 2>&1 </dev/null & sleep 0.5')
        ok(wait_for(lambda: ask('127.0.0.1', 9003) == b'from inside hello\n'), p, 'a server in the background is exposed')
        with p.start(p.pale_path, 'exec', '-s', 's', '--', tool, 'hold', '127.0.0.1', '8000', cwd=box.ws, env=box.env,
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as holder:
            ok(holder.stdout.readline() == b'hold=ok\n', p, 'a connection is open')
            os.kill(box.pid(), signal.SIGKILL)
            ok(wait_for(lambda: holder.poll() is not None, 5), p, 'the keeper is killed: its commands end')
            holder.kill()
        ok(wait_for(lambda: 'refused' in str(ask('127.0.0.1', 9003))), p, 'and what it exposed')


def case_supervisor_is_killed_NW23(p):
    tool, word = net_tool(p, 'net-client'), mark()
    watched = socket.create_server(('127.0.0.1', 8010))
    proc = p.start_pale(*LOCAL, '--', 'sh', '-c', f': {word}; {tool} hold 127.0.0.1 8010; sleep 100', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    watched.settimeout(5)
    connection, _ = watched.accept()
    ok(proc.stdout.readline() == b'hold=ok\n' and len(marked(word)) > 1, p, 'a connection is open')
    connection.settimeout(0.5)
    try:
        early = connection.recv(10)
    except TimeoutError:
        early = None
    ok(early is None, p, 'twin: it stays open as long as the supervisor lives', early)
    proc.kill()
    connection.settimeout(5)
    try:
        end = connection.recv(10)
    except OSError as e:
        end = type(e).__name__
    ok(end in (b'', 'ConnectionResetError'), p, 'it ends with the supervisor', end)
    ok(wait_for(lambda: not marked(word)), p, 'and so does the command', marked(word))
    proc.communicate()
    watched.close()


main(case_urgent_data, case_exposed_to_many, case_reached, case_real_programs, case_nothing_else, case_ports, case_closed_ports, case_few_open_files, case_its_own_listener_wins, case_served_inside_NW21,
     case_exposed, case_expose_in_use, case_both_directions, case_datagrams, case_unix_sockets_NW05, case_integration, case_sockets_of_the_supervisor_NW23, case_session,
     case_supervisor_is_killed_NW23, uids=(1000,))
