#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names: what clients of several libraries are told inside, and what is asked outside because of it.

The name server on the far side counts the questions; servers of TLS there say which name they were
asked for.
"""
import ssl
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from netservers import *

need_servers()
enter_apart()
lab = Lab()
CA = start_site(lab)
KEY, KNOWN = start_sshd(lab)
V4, V6 = b'198.18.1.1', b'fd70:616c:6500::1'
DIG = 'dig +time=5 +tries=1'


class Greeter:
    """Takes a TLS hello, notes its name, and says it back."""

    def __init__(self, address, port):
        self.names, self.bytes = [], 0
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(lab.place / 'site.pem', lab.place / 'site.key')
        context.sni_callback = lambda connection, name, _: self.names.append(name)
        self.context = context
        with lab.far():
            self.socket = socket.create_server((address, port), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError):
            connection.settimeout(20)
            self.bytes += len(connection.recv(1, socket.MSG_PEEK))
            with self.context.wrap_socket(connection, server_side=True) as tls:
                tls.sendall(b'greetings\n')

    def taken(self):
        time.sleep(0.1)
        names, self.names, count, self.bytes = self.names, [], self.bytes, 0
        return names, count


GREETER = Greeter(FAR4, 8443)


def fresh(p, name):
    """A name that nobody asked for before, which has both kinds of address."""
    name = f'{name}-{p.uid}.names.test'
    lab.dns.say(name, Answer(FAR4, FAR6))
    lab.dns.questions()
    return name


def asks(p, name, line, *wanted, host):
    r = p.sh(*allow('*.names.test:443'), '--', line)
    ok(r.booted and r.code == 0 and all(w in r.out for w in wanted), p, f'{name} is told what stands for a name', r)
    asked = set(lab.dns.questions())
    ok(asked == {host}, p, f'{name}: that name was looked up outside, and no other', asked)
    line = line.replace(host, 'nobody.elsewhere.test')
    r = p.sh(*allow('*.names.test:443'), '--', f'{line}; true')
    ok(r.booted and not any(w in r.out for w in wanted), p, f'{name} is told nothing of another name', r)
    asked = lab.dns.questions()
    ok(not asked, p, f'{name}: and nobody outside heard of that', asked)


def case_clients(p):
    for name, line, wanted in (
            ('getent ahosts', 'getent ahosts {}', (V4, V6)),
            ('getent ahostsv4', 'getent ahostsv4 {}', (V4,)),
            ('getent ahostsv6', 'getent ahostsv6 {}', (V6,)),
            ('getent hosts', 'getent hosts {}', (V6,)),
            ('python', '''python3 -c 'import socket; print(sorted({{a[4][0] for a in socket.getaddrinfo("{}", 443)}}))' ''', (V4, V6)),
            ('dig', DIG + ' +short {}', (V4,)),
            ('dig, IPv6', DIG + ' +short AAAA {}', (V6,)),
            ('dig over TCP', DIG + ' +tcp +short {}', (V4,)),
            ('dig without EDNS', DIG + ' +noedns +short {}', (V4,)),
            ('dig with a large buffer', DIG + ' +bufsize=65535 +short {}', (V4,)),
            ('dig with checks', DIG + ' +dnssec +short {}', (V4,)),
            ('node', '''node -e 'require("dns").lookup("{}", {{all: true}}, (e, a) => console.log(JSON.stringify(a)))' ''', (V4, V6)),
            ('c-ares, in node', '''node -e 'require("dns").resolve4("{}", (e, a) => console.log(JSON.stringify(a)))' ''', (V4,))):
        word = line.split()[0]
        if not shutil.which(word):
            note(f'{name}: there is no {word}')
            continue
        host = fresh(p, re.sub('[^a-z0-9]', '', name.lower()))
        asks(p, name, line.format(host), *wanted, host=host)


def case_small_c_library(p):
    tool = net_tool(p, 'net-client')
    server = lab.listen(FAR4, 8001)
    host = fresh(p, 'musl')
    r = p.sh(*allow(f'{host}:8001'), '--', f'{tool} blocking {host} 8001')
    ok(r.booted and r.code == 0 and server.taken() == 1, p, 'a static program of musl finds it', r)
    server.close()


def case_kinds(p):
    host = fresh(p, 'kinds')
    for kind in ('HTTPS', 'SRV', 'TXT', 'MX', 'ANY', 'NS', 'CAA'):
        r = p.sh(*allow(host), '--', f'{DIG} {host} {kind}')
        ok(r.booted and b'status: NOERROR' in r.out and b'ANSWER: 0' in r.out, p, f'{kind} of an allowed name: nothing, and no error', r)
        r = p.sh(*allow(host), '--', f'{DIG} other.test {kind}')
        ok(r.booted and b'status: NXDOMAIN' in r.out, p, f'{kind} of another: there is no such name', r)
    asked = set(lab.dns.questions())
    ok(asked <= {host}, p, 'none of the others was looked up', asked)
    r = p.sh(*allow(host), '--', f'getent hosts {host} >/dev/null; {DIG} +short -x 198.18.1.1; {DIG} +short -x fd70:616c:6500::1')
    ok(r.out.count(host.encode() + b'.') == 2, p, 'the name of an address that stands for it', r)
    lab.dns.questions()
    r = p.sh(*allow(host), '--', f'{DIG} -x 8.8.8.8')
    ok(b'status: NXDOMAIN' in r.out and not lab.dns.questions(), p, 'and of no other', r)
    r = p.sh(*allow(host), '--', f'{DIG} +edns=1 {host}; {DIG} CH TXT version.bind; {DIG} +opcode=status {host}')
    ok(b'BADVERS' in r.out or b'NOERROR' in r.out, p, 'a later version of EDNS is answered', r)
    ok(b'status: REFUSED' in r.out and b'status: NOTIMP' in r.out, p, 'another class is refused, another operation unknown', r)
    r = p.sh(*allow(host), '--', f'{DIG} +short localhost; {DIG} +short AAAA localhost; getent hosts localhost')
    ok(b'127.0.0.1' in r.out and b'::1' in r.out, p, 'localhost is the loopback', r)


def case_no_names_on_localhost(p):
    host = fresh(p, 'local')
    r = p.sh('--network', 'localhost', '--', f'{DIG} {host}; getent hosts {host}; true')
    ok(r.booted and b'status: NXDOMAIN' in r.out and b'198.18.1' not in r.out, p, 'with localhost there is no name', r)
    ok(not lab.dns.questions(), p, 'and none is looked up')


def case_missing(p):
    lab.dns.questions()
    name = f'missing-{p.uid}.names.test'
    r = p.sh(*allow('*.names.test:443'), '--', f'{DIG} {name}')
    ok(r.booted and b'status: NXDOMAIN' in r.out, p, 'an allowed name that does not exist', r)
    ok(name in lab.dns.questions(), p, 'which was seen outside')
    name = f'broken-{p.uid}.names.test'
    lab.dns.say(name, Answer(rcode=2))
    r = p.sh(*allow('*.names.test:443'), '--', f'{DIG} {name}')
    ok(r.booted and b'status: SERVFAIL' in r.out, p, 'one whose server is broken', r)


def case_one_kind_fails(p):
    """A name server that knows no IPv6 and says that it failed, as some do."""
    name = f'half-{p.uid}.names.test'
    lab.dns.names[name] = {1: [Answer(FAR4)], 28: [Answer(rcode=2)]}
    server = lab.listen(FAR4, 8003)
    r = p.sh(*allow(f'{name}:8003'), '--', f'{net_tool(p, "net-client")} blocking {name} 8003')
    ok(r.booted and r.code == 0 and server.taken() == 1, p, 'what it has is reached', r)
    server.close()


def case_a_storm_of_names(p):
    """Each a process of its own that resolves a name and connects to it."""
    hosts = [fresh(p, f'storm{i}') for i in range(20)]
    server = lab.listen(FAR4, 8004)
    line = (f'{net_tool(p, "net-client")} blocking storm$((i % 20))-{p.uid}.names.test 8004 | grep -q =ok || echo lost')
    r = p.sh(*allow('*.names.test:8004'), '--connections', '600', '--', f'i=0; while [ $i -lt 600 ]; do {line} & i=$((i + 1)); sleep 0.004; done; wait',
             timeout=60)
    came = server.taken()
    ok(r.booted and b'lost' not in r.out and came == 600, p, 'none is lost', f'{came} came\n{r}')
    asked = collections.Counter(lab.dns.questions())
    ok(set(asked) == set(hosts) and sum(asked.values()) < 600, p, 'what is known is not looked up again and again', asked)
    server.close()


def case_evidence(p):
    r = p.pale(*allow('good.names.test'), '--json', '--', 'getent', 'hosts', 'evil.elsewhere.test')
    seen = [v for v in r.json()['violations'] if v.get('path', v.get('target', '')).startswith('evil.elsewhere.test')]
    ok(r.code == 2 and len(seen) == 1, p, 'a refused name is one violation, for both kinds of address', r)


def tls(name, sni, port=8443):
    return ('python3 -c \'import socket, ssl; c = ssl.create_default_context(cafile="ca.pem"); c.check_hostname = False; '
            f's = socket.create_connection(("{name}", {port}), 10); s.settimeout(20); '
            f't = c.wrap_socket(s, server_hostname={sni!r}); print(t.recv(99))\''.replace("='", '="').replace("')", '")'))


def case_name_in_TLS_NW15(p):
    (p.ws / 'ca.pem').write_bytes(CA.read_bytes())
    host = fresh(p, 'tls')
    rules = allow(f'{host}:8443', 'two.names.test:8443', 'three.names.test:443')
    GREETER.taken()
    r = p.sh(*rules, '--', tls(host, host))
    ok(r.booted and b'greetings' in r.out and GREETER.taken() == ([host], 1), p, 'TLS asks for the name that was connected to', r)
    r = p.sh(*rules, '--', tls(host, 'TWO.names.test'))
    ok(b'greetings' in r.out and len(GREETER.taken()[0]) == 1, p, 'or for another that is allowed there', r)
    for other in ('evil.elsewhere.test', 'three.names.test'):
        r = p.sh(*rules, '--', tls(host, other) + ' && exit 0; exit 7')
        came = GREETER.taken()
        ok(r.booted and r.code == 7 and came == ([], 0), p, f'one that is not ({other}) gets nothing out: not a byte', f'{came}\n{r}')
    r = p.pale(*rules, '--json', '--', 'sh', '-c', tls(host, 'evil.elsewhere.test'))
    ok(any('evil.elsewhere.test' in json.dumps(v) for v in r.json()['violations']), p, 'and is a violation', r)
    r = p.sh(*allow(f'{host}:8443', 'evil.elsewhere.test:8443'), '--', tls(host, 'evil.elsewhere.test'))
    ok(b'greetings' in r.out and GREETER.taken()[0] == ['evil.elsewhere.test'], p, 'twin: with a rule for it, it does', r)
    r = p.sh(*allow(f'{FAR4}:8443'), '--', tls(FAR4, 'evil.elsewhere.test'))
    ok(b'greetings' in r.out, p, 'an address as given is allowed whatever the name', r)


def case_TLS_in_pieces(p):
    """The hello of openssl, a few bytes at a time: it is waited for, and judged as a whole."""
    (p.ws / 'ca.pem').write_bytes(CA.read_bytes())
    host = fresh(p, 'pieces')
    p.write(p.ws / 'pieces.py', '''
import socket, ssl, sys, time
host, name, split = sys.argv[1], sys.argv[2], int(sys.argv[3])
c = ssl.create_default_context(cafile="ca.pem")
c.check_hostname = False
i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
t = c.wrap_bio(i, o, server_hostname=name)
s = socket.create_connection((host, 8443), 10)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
first = True
while True:
    try:
        print(t.read(99))
        break
    except ssl.SSLWantReadError:
        data = o.read()
        while first and data:
            s.sendall(data[:split])
            data = data[split:]
            time.sleep(0.002)
        first = False
        s.sendall(data)
        more = s.recv(65536)
        if not more:
            sys.exit(7)
        i.write(more)
''')
    GREETER.taken()
    for split in (1, 5, 100):
        r = p.sh(*allow(f'{host}:8443'), '--', f'python3 pieces.py {host} {host} {split}')
        ok(r.booted and b'greetings' in r.out and GREETER.taken()[0] == [host], p, f'{split} bytes at a time', r)
        r = p.sh(*allow(f'{host}:8443'), '--', f'python3 pieces.py {host} evil.elsewhere.test {split} && exit 0; exit 7')
        ok(r.booted and r.code == 7 and GREETER.taken() == ([], 0), p, f'{split} bytes at a time, for a name that is not allowed', r)


def case_server_speaks_first(p):
    host = fresh(p, 'ssh')
    line = f'''python3 -c 'import socket, time; b = time.time(); s = socket.create_connection(("{host}", 22), 10); print(s.recv(99), time.time() - b)' '''
    r = p.sh(*allow(f'{host}:22'), '--', line)
    words = r.rest.decode().split()
    ok(r.booted and b'SSH-2.0' in r.out and float(words[-1]) < 2, p, 'who waits for the server is not waited for', r)


def case_half_a_hello(p):
    """What begins like TLS is TLS to the end of its hello, or nothing of it gets out."""
    host = fresh(p, 'half')
    server = lab.listen(FAR4, 8002)
    line = (f'import socket, time; s = socket.create_connection(("{host}", 8002), 10); b = time.time(); '
            's.sendall(bytes({})); {}print(s.recv(99), time.time() - b)')
    begun = [22, 3, 1, 2, 0, 1, 0, 10]
    for name, sent, then in (('other bytes are passed on', [21, 10], ''),
                             ('a hello that ends early is passed on, since nothing can follow', begun, 's.shutdown(1); ')):
        r = p.sh(*allow(f'{host}:8002'), '--', f"python3 -c '{line.format(sent, then)}'")
        took = float(r.rest.split()[-1]) if r.code == 0 else 99
        ok(r.booted and b'pong' in r.out and took < 4 and server.taken() == 1, p, name, r)
    for name, sent, least, most in (('what is no hello, but says so, is reset', [*begun[:5], 2, 10], 0, 3),
                                    ('one that never ends is, after some seconds', begun, 4.5, 9)):
        r = p.sh(*allow(f'{host}:8002'), '--', f"python3 -c '{line.format(sent, '')}'")
        ok(r.booted and b'ConnectionResetError' in r.err and b'pong' not in r.out and least <= r.seconds <= most, p, name, r)
    server.close()


main(case_clients, case_small_c_library, case_kinds, case_no_names_on_localhost, case_missing, case_one_kind_fails,
     case_a_storm_of_names, case_evidence,
     case_name_in_TLS_NW15, case_TLS_in_pieces, case_server_speaks_first, case_half_a_hello)
