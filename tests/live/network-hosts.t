#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""allowed_hosts: what no rule allows sees no packet, whatever it is called and however it is tried.

One name is allowed at one port. The verdict is the far end of a cable, the host's own interfaces, and
the questions that a name server got. Each attempt is made without the boundary, too, and is seen there.
"""
import errno
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from netlab import *

enter_apart()
lab = Lab()
ALLOWED = allow('good.test:8000')
lab.hosts(**{'good.test': [FAR4, FAR6], 'other.test': [OTHER4, OTHER6]})
GOOD = {address: lab.listen(address, 8000) for address in (FAR4, FAR6)}
OTHERS = [lab.listen(address, port) for address in (OTHER4, OTHER6) for port in (8000, 80)]
OTHERS += [lab.listen(address, 8001) for address in (FAR4, FAR6)]
OWN = [lab.listen(address, 8000, far=False) for address in (HOST4, HOST6, '127.0.0.1', '::1')]
UNRESTRICTED = ['--network', 'unrestricted']
TESTED = [(address, 8000) for address in (FAR4, FAR6)]


def forget():
    for server in [*OTHERS, *OWN, *GOOD.values()]:
        server.peers = []


def got_out(line, options, p, allowed=TESTED, timeout=30):
    """What LINE got out with these OPTIONS: packets on the cable and to the host's own addresses."""
    for server in [*OTHERS, *OWN]:
        server.peers = []
    with lab.watch() as cable, lab.watch('lo') as own:
        r = p.sh(*options, '--', line, timeout=timeout)
        packets = [k for k in cable.packets(0.04) if (k.to, k.port) not in allowed]
        packets += [k for k in own.packets(0) if k.port in (80, 8000, 8001, 53) or k.proto not in (6, 17)]
    return r, packets


def closed(p, name, line, twin=True, options=ALLOWED, why=None):
    r, packets = got_out(line, options, p)
    ok(r.booted and not packets, p, f'{name}: nothing got out', f'{packets}\n{r}')
    came = sum(len(s.peers) for s in OTHERS + OWN)
    if came:
        ok(False, p, f'{name}: {came} were accepted', r)
    if twin:
        r, packets = got_out(line, UNRESTRICTED, p, ())
        ok(r.booted and packets, p, f'twin: {name} gets out when unrestricted', r)
    return r


def case_the_allowed_one(p):
    tool = net_tool(p, 'net-client')
    forget()
    for name in ('good.test', 'GOOD.test', 'good.test.', 'Good.Test.'):
        r = p.sh(*ALLOWED, '--', f'{tool} blocking {name} 8000')
        ok(r.booted and r.code == 0 and b'=ok pong' in r.out, p, f'{name} is reached', r)
    ok(sum(s.taken() for s in GOOD.values()) == 4, p, 'and was, on the far side')


def case_names_and_ports(p):
    tool = net_tool(p, 'net-client')
    for way in ('blocking', 'poll'):
        closed(p, f'another port, {way}', f'{tool} {way} good.test 8001')
        closed(p, f'another name, {way}', f'{tool} {way} other.test 8000')
    for address in (FAR4, FAR6):
        r, packets = got_out(f'{tool} blocking {address} 8000', ALLOWED, p, ())
        ok(r.booted and r.code == 1 and not packets, p, f'the address of an allowed name as a literal ({address})', f'{packets}\n{r}')
    r = p.sh(*ALLOWED, '--', f'{tool} blocking {FAR4} 8000')
    ok(b'blocking=%d connect' % errno.ENETUNREACH in r.out, p, 'a refused connect is told that there is no way there', r)
    r = p.sh(*ALLOWED, '--', f'{tool} poll {OTHER4} 8000')
    ok(b'poll=%d ' % errno.ENETUNREACH in r.out, p, 'and one that does not wait, too', r)


def case_names_that_are_not_the_one_NW14(p):
    """Only canonical names are compared, label by label."""
    tool = net_tool(p, 'net-client')
    for name in ('sub.good.test', 'evilgood.test', 'good.test.evil.test', 'good.test.other.test', 'good', 'test', 'good.tes', 'good-test'):
        lab.dns.say(name, OTHER4)
        lab.dns.questions()
        r, packets = got_out(f'{tool} blocking {name} 8000', ALLOWED, p)
        asked = lab.dns.questions()
        ok(r.booted and r.code == 1 and not packets and not asked, p, f'{name}: refused, and nobody was asked', f'{packets} {asked}\n{r}')
        r = p.sh(*UNRESTRICTED, '--', f'{tool} blocking {name} 8000')
        ok(r.code == 0 and lab.dns.questions(), p, f'twin: {name} is found when unrestricted', r)


DNS_CLIENT = r'''
import socket, struct, sys
def ask(name, kind=1, raw=None):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(2)
    q = raw or b''.join(bytes([len(l)]) + l for l in name) + b'\0'
    s.sendto(b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00' + q + struct.pack('>HH', kind, 1), (SERVER, 53))
    try:
        data = s.recv(4096)
    except OSError as e:
        return str(e)
    return 'rcode %d answers %d' % (data[3] & 15, int.from_bytes(data[6:8], 'big'))
SERVER = [l.split()[1] for l in open('/etc/resolv.conf') if l.startswith('nameserver')][0]
print('good', ask([b'good', b'test']))
print('upper', ask([b'GOOD', b'TEST']))
for label, q in {
    'nul': [b'good.test\0', b'evil', b'test'], 'nul in front': [b'evil\0good', b'test'], 'a dot in a label': [b'evil.good', b'test'],
    'a dot at the end of a label': [b'good.test'], 'userinfo': [b'x@good', b'test'], 'percent': [b'good%2etest'], 'newline': [b'good\n', b'test'],
    'tab': [b'\tgood', b'test'], 'space': [b'good ', b'test'], 'homograph': ['g\u043e\u043ed'.encode(), b'test'], 'secret': [b'secret-data', b'evil', b'test'],
    'long': [b'a' * 63] * 3 + [b'good', b'test'],
}.items():
    print(label, ask(q))
for kind in (16, 15, 33, 12, 255, 251, 252, 65):
    print('type', kind, ask([b'secret-data', b'evil', b'test'], kind))
print('loop', ask([], raw=b'\xc0\x0c'))
def by_stream(name):
    with socket.create_connection((SERVER, 53), 3) as s:
        m = b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00' + b''.join(bytes([len(l)]) + l for l in name) + b'\0\0\1\0\1'
        s.sendall(struct.pack('>H', len(m)) + m)
        data = s.recv(4096)[2:]
        return 'rcode %d answers %d' % (data[3] & 15, int.from_bytes(data[6:8], 'big'))
print('stream', by_stream([b'good', b'test']))
print('stream secret', by_stream([b'secret-data', b'evil', b'test']))
print('still', ask([b'good', b'test']))
'''


def case_questions_NW14(p):
    """What is asked inside is not passed on: a name that no rule knows tells nobody anything."""
    p.write(p.ws / 'dns.py', DNS_CLIENT)
    lab.dns.questions()
    with lab.watch() as wire:
        r = p.sh(*ALLOWED, '--', '/usr/bin/python3 dns.py', timeout=60)
        asked, packets = lab.dns.questions(), wire.packets()
    lines = dict(line.rsplit(b' rcode ', 1) for line in r.rest.splitlines() if b' rcode ' in line)
    ok(r.booted and lines.get(b'good') == b'0 answers 1' and lines.get(b'upper') == b'0 answers 1', p, 'the allowed name is answered', r)
    ok(lines.get(b'still') == lines.get(b'stream') == b'0 answers 1', p, 'after all that it still is, and by TCP', r)
    wrong = {k: v for k, v in lines.items() if k not in (b'good', b'upper', b'still', b'stream') and not v.endswith(b'answers 0')}
    ok(not wrong, p, 'no other question has an answer', wrong)
    ok(not [q for q in asked if q.strip('.') != 'good.test'], p, 'and none was passed on', asked)
    ok(not [k for k in packets if k.port != 53], p, 'nothing else got out', packets)
    r = p.sh(*UNRESTRICTED, '--', '/usr/bin/python3 dns.py', timeout=90)
    ok(any('secret-data' in q for q in lab.dns.questions()), p, 'twin: unrestricted, the secret is told', r)


def case_wildcard(p):
    tool = net_tool(p, 'net-client')
    for name in ('a.wild.test', 'a.b.wild.test', 'wild.test', 'xwild.test'):
        lab.dns.say(name, FAR4)
    forget()
    for name, allowed in (('a.wild.test', True), ('a.b.wild.test', True), ('wild.test', False), ('xwild.test', False)):
        r = p.sh(*allow('*.wild.test:8000'), '--', f'{tool} blocking {name} 8000')
        came = GOOD[FAR4].taken()
        ok(r.booted and came == allowed and (r.code == 0) == allowed, p, f"*.wild.test: {name} is {'in' if allowed else 'out'}", r)


# Where an allowed name must not lead, whoever says so (NW03).
FORBIDDEN = ('127.0.0.1', '127.1.2.3', '0.0.0.0', METADATA, '169.254.1.1', HOST4, '224.0.0.1', '255.255.255.255',
             '::1', '::', HOST6, 'fe80::77', '::ffff:127.0.0.1', '::ffff:192.0.2.2', '::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::c000:202',
             '2002:7f00:1::', '2002:c000:202::1', 'fd00:ec2::254', 'ff02::1')


def case_names_that_lead_elsewhere_NW03(p):
    tool = net_tool(p, 'net-client')
    for i, address in enumerate(FORBIDDEN):
        name = f'lead{p.uid}-{i}.test'
        lab.dns.say(name, address)
        for way in ('blocking', 'poll') if i < 6 else ('blocking',):
            lab.dns.questions()
            r, packets = got_out(f'{tool} {way} {name} 8000', allow(f'{name}:8000'), p)
            packets = [k for k in packets if k.port != 53]
            came = sum(len(s.peers) for s in OWN + OTHERS)
            ok(r.booted and r.code == 1 and not packets and not came, p, f'a name that leads to {address}, {way}', f'{came} came, {packets}\n{r}')
            ok(name in lab.dns.questions(), p, f'and its address was asked for, once for {way}')
    # Twins: it is reached without the boundary, and the name alone is no reason to refuse.
    lab.dns.say(f'lead{p.uid}.test', HOST4)
    OWN[0].taken()
    r = p.sh(*UNRESTRICTED, '--', f'{tool} blocking lead{p.uid}.test 8000')
    ok(r.code == 0 and OWN[0].taken() == 1, p, 'twin: unrestricted, it leads there', r)
    lab.dns.say(f'good{p.uid}.test', FAR4)
    r = p.sh(*allow(f'good{p.uid}.test:8000'), '--', f'{tool} blocking good{p.uid}.test 8000')
    ok(r.code == 0 and f'pong {FAR4}'.encode() in r.out, p, 'twin: one that leads somewhere else works', r)


def case_rebinding_NW17(p):
    """A name that is good for one question only: the address that was checked is the one that is dialled."""
    tool = net_tool(p, 'net-client')
    for i, bad in enumerate(('127.0.0.1', METADATA, HOST4)):
        name = f'rebind{p.uid}-{i}.test'
        lab.dns.say(name, FAR4, bad)
        forget()
        line = f'for i in 1 2 3; do {tool} blocking {name} 8000; {tool} poll {name} 8000; sleep 0.3; done; sleep 6; {tool} blocking {name} 8000; true'
        r, packets = got_out(line if i == 0 and p.is_root else line.replace('sleep 6', 'true'), allow(f'{name}:8000'), p)
        packets = [k for k in packets if k.port != 53]
        came, good = sum(len(s.peers) for s in OWN + OTHERS), GOOD[FAR4].taken()
        ok(r.booted and b'=ok pong' in r.out and good > 0, p, f'the good answer is used ({bad} follows)', r)
        ok(not packets and not came, p, f'{bad} is never dialled', f'{packets}\n{r}')
    lab.dns.say(f'twin{p.uid}.test', '127.0.0.1')
    r = p.sh(*UNRESTRICTED, '--', f'{tool} blocking twin{p.uid}.test 8000')
    ok(r.code == 0 and OWN[2].taken() == 1, p, 'twin: unrestricted, 127.0.0.1 is', r)
    lab.dns.say(f'both{p.uid}.test', Answer('127.0.0.1', HOST4, FAR4))
    forget()
    r, packets = got_out(f'{tool} blocking both{p.uid}.test 8000', allow(f'both{p.uid}.test:8000'), p)
    packets = [k for k in packets if k.port != 53]
    ok(r.booted and not packets and sum(len(s.peers) for s in OWN) == 0, p, 'of several addresses, only good ones are dialled', f'{packets}\n{r}')


def case_what_the_name_server_says(p):
    tool = net_tool(p, 'net-client')
    lab.dns.say('alias.test', Answer(FAR4, cname='target.test'))
    lab.dns.say('slow.test', Answer(FAR4, delay=0.7))
    lab.dns.say('broken.test', Answer(rcode=2))
    lab.dns.say('empty.test', Answer())
    lab.dns.say('silent.test', Answer(silent=True))
    lab.dns.say('many.test', Answer(*[f'198.51.100.{i}' for i in range(1, 15)], FAR4))
    for name in ('alias', 'slow', 'many'):
        r = p.sh(*allow(f'{name}.test:8000'), '--', f'{tool} blocking {name}.test 8000')
        ok(r.booted and r.code == 0 and f'pong {FAR4}'.encode() in r.out, p, f'{name}.test is reached', r)
    r = p.sh(*allow('alias.test:8000'), '--', f'{tool} blocking target.test 8000')
    ok(r.booted and r.code == 1, p, 'what an alias stands for is not allowed by that', r)
    for name in ('broken', 'empty', 'missing', *['silent'] * p.is_root):
        r = p.sh(*allow(f'{name}.test:8000'), '--', f'{tool} blocking {name}.test 8000', timeout=60)
        ok(r.booted and r.code == 1 and b'getaddrinfo' in r.out and r.seconds < 25, p, f'{name}.test is not found, in time', r)


def case_honest_errors(p):
    """A call that waits gets the error of the connection outside."""
    tool = net_tool(p, 'net-client')
    for name, port, wanted in (('good.test', 8009, errno.ECONNREFUSED), (FAR4, 8009, errno.ECONNREFUSED), (f'[{FAR6}]', 8009, errno.ECONNREFUSED)):
        r = p.sh(*allow(f'{name}:{port}'), '--', f"{tool} blocking {name.strip('[]')} {port}")
        ok(r.booted and b'blocking=%d connect' % wanted in r.out, p, f'{name}:{port}: {errno.errorcode[wanted]}', r)
        twin = p.host_sh(f"{tool} blocking {name.strip('[]')} {port}")
        ok(b'blocking=%d connect' % wanted in twin.out, p, f'twin: {name}:{port} without pale', twin)
    r = p.sh(*allow(f'{FAR4}:8009'), '--', f'{tool} poll {FAR4} 8009')
    ok(r.booted and r.code == 1, p, 'one that does not wait fails, too', r)


def case_addresses_NW01(p):
    tool = net_tool(p, 'net-escape')
    places = [OTHER4, OTHER6, '8.8.8.8', METADATA, '10.1.2.3', '2600::1', '64:ff9b::c000:202', '2002:c000:202::1', '::ffff:192.0.2.2',
              'fe80::77%cable0', HOST4, HOST6]
    for place in places:
        closed(p, f'TCP to {place}', f'{tool} tcp {place} 8000')
    for zone in ('1', 'lo', '2'):
        closed(p, f'a link-local address with zone {zone}', f'{tool} tcp fe80::77%{zone} 8000', twin=False)


def case_loopback_too(p):
    """Allowed hosts are in addition to the host's loopback; ports narrow that."""
    tool = net_tool(p, 'net-client')
    for address, server in (('127.0.0.1', OWN[2]), ('::1', OWN[3])):
        server.taken()
        r = p.sh(*ALLOWED, '--', f'{tool} blocking {address} 8000; {tool} poll {address} 8000')
        ok(r.booted and server.taken() == 2, p, f'{address} is reached', r)
        r = p.sh(*ALLOWED, '--port', '8001', '--', f'{tool} blocking {address} 8000; {tool} poll {address} 8000')
        ok(r.booted and b'=ok' not in r.out and server.taken() == 0, p, f'{address}: not at a port that is not named', r)


def case_other_ways_NW01(p):
    tool = net_tool(p, 'net-escape')
    for way in ('tcp', 'mptcp', 'fast-open'):
        GOOD[FAR4].taken()
        r = p.sh(*allow(f'{FAR4}:8000'), '--', f'{tool} {way} {FAR4} 8000; sleep 0.1')
        ok(r.booted and GOOD[FAR4].taken() == 1, p, f'twin: {way} to what is allowed', r)
    for way in ('mptcp', 'fast-open', 'fast-open-sendmsg'):
        for place in (OTHER4, OTHER6):
            closed(p, f'{way} to {place}', f'{tool} {way} {place} 8000')
    for way in ('sctp', 'dccp', 'udplite'):
        r, packets = got_out(f'{tool} {way} {OTHER4} 8000', ALLOWED, p)
        ok(r.booted and not packets, p, f'{way}: nothing got out', f'{packets}\n{r}')
        twin, packets = got_out(f'{tool} {way} {OTHER4} 8000', UNRESTRICTED, p)
        if not packets and b'socket' in twin.out:
            note(f'twin of {way}: pale makes no such socket, or the kernel has none: {twin.out!r}')
        else:
            ok(packets, p, f'twin: {way} gets out when unrestricted', twin)


def case_datagrams(p):
    tool = net_tool(p, 'net-escape')
    for way in ('udp', 'udp-sendmsg', 'udp-sendmmsg', 'udp-connected', 'udp-from-connected'):
        for place, port in ((OTHER4, 53), (FAR4, 53), ('8.8.8.8', 53), (FAR4, 8000), (OTHER6, 53), (HOST4, 53)):
            if way == 'udp-from-connected' and ':' in place:
                continue
            closed(p, f'{way} to {place} {port}', f'{tool} {way} {place} {port}')
    for place in ('192.0.2.255', '255.255.255.255', '224.0.0.251', 'ff02::fb%cable0'):
        closed(p, f'UDP to {place}', f'{tool} udp {place} 5353', twin='255.255' not in place and '224' not in place)
    closed(p, 'a route in the header', f'{tool} source-route {OTHER4} 53', twin=False)
    closed(p, 'bound to an interface of the host', f'{tool} bound-to-device {OTHER4} 53', twin=False)


def case_raw_NW11(p):
    tool = net_tool(p, 'net-escape')
    for way, place in (('ping', OTHER4), ('ping', OTHER6), ('raw', OTHER4), ('raw', OTHER6)):
        closed(p, f'{way} to {place}', f'{tool} {way} {place} 0', twin=False)
        if p.is_root and way == 'raw':
            with lab.watch() as wire:
                p.run(tool, way, place, '0')
                ok(any(k.to == place for k in wire.packets()), p, f'twin: {way} to {place}, by root without pale', wire.seen)


def case_families_NW08_NW09(p):
    tool = net_tool(p, 'net-escape')
    families = {'AF_PACKET': 17, 'AF_VSOCK': 40, 'AF_ALG': 38, 'AF_BLUETOOTH': 31, 'AF_CAN': 29, 'AF_TIPC': 30, 'AF_RDS': 21, 'AF_XDP': 44,
                'AF_KEY': 15, 'AF_QIPCRTR': 42, 'AF_PPPOX': 24, 'AF_SMC': 43, 'AF_KCM': 41, 'AF_NFC': 39}
    for name, number in families.items():
        r = p.sh(*ALLOWED, '--', ' || '.join(f'{tool} family {number} {kind}' for kind in (1, 2, 3, 5)))
        ok(r.booted and r.code == 1 and r.out.count(b'family=') == 4, p, f'no socket of {name}', r)
    if p.is_root:
        ok(p.run(tool, 'family', '17', '3').code == 0, p, 'twin: root makes one of AF_PACKET without pale')


@contextlib.contextmanager
def etc_without_resolv_conf(p, target=None):
    """Another /etc on top of this one, in which resolv.conf is not, or leads to TARGET."""
    other = p.outside / 'etc'
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree('/etc', other, symlinks=True, ignore=lambda _, names: [n for n in names if n == 'resolv.conf'])
    if target:
        (other / 'resolv.conf').symlink_to(target)
    subprocess.run(['mount', '--bind', other, '/etc'], check=True)
    try:
        yield
    finally:
        subprocess.run(['umount', '/etc'], check=True)
        shutil.rmtree(other)


def case_no_resolv_conf(p):
    """Without it nobody could tell the command whom to ask."""
    tool = net_tool(p, 'net-client')
    forget()
    with etc_without_resolv_conf(p):
        for options in (ALLOWED, ['--ask']):
            r = p.sh(*options, '--', f'{tool} blocking good.test 8000')
            ok(not r.booted and r.code == 125 and b'has no /etc/resolv.conf' in r.err, p, f'{options[0]}: nothing runs, and why is said', r)
        r = p.sh(*allow(f'{FAR4}:8000'), '--', f'{tool} blocking {FAR4} 8000')
        ok(r.booted and b'=ok pong' in r.out, p, 'an address takes none', r)
        r = p.verb('doctor', '-j')
        ok([c['state'] for c in r.json()['checks'] if c['name'] == 'name service'] == ['weak'], p, 'the doctor knows', r)
    r = p.verb('doctor', '-j')
    ok([c['state'] for c in r.json()['checks'] if c['name'] == 'name service'] == ['ok'], p, 'twin: and when it is there', r)
    with etc_without_resolv_conf(p, '/run/nowhere/resolv.conf'):
        r = p.sh(*ALLOWED, '--', 'cat /etc/resolv.conf')
        if ENGINE == 'bwrap':
            ok(not r.booted and r.code == 125 and b'/etc/resolv.conf leads nowhere' in r.err, p, 'a link to nowhere is not enough for bwrap', r)
        else:
            ok(r.booted and b'nameserver 198.18.0.1' in r.out, p, 'twin: a link to nowhere is enough', r)


def case_told(p):
    """Every refusal is told, with the rule that would allow it."""
    tool = net_tool(p, 'net-client')
    for line, name, rule in ((f'{tool} blocking other.test 8000', 'other.test', 'other.test'),
                             (f'{tool} blocking good.test 8001', 'good.test', 'good.test:8001'),
                             (f'{tool} poll {OTHER4} 8000', OTHER4, f'{OTHER4}:8000'),
                             (f'{tool} blocking {OTHER6} 8000', OTHER6, f'[{OTHER6}]:8000'),
                             (f'{net_tool(p, "net-escape")} udp {OTHER4} 53', OTHER4, ''),
                             (f'{net_tool(p, "net-escape")} udp-sendmsg {OTHER4} 53', OTHER4, '')):
        r = p.pale('--json', *ALLOWED, '--', 'sh', '-c', line + '; true')
        told = [v for v in r.json().get('violations', []) if v.get('dimension') == 'network']
        ok(r.code == 0 and any(name in json.dumps(v) for v in told), p, f'told: {line}', r)
        if rule:
            ok(any(rule in json.dumps(v.get('fix')) for v in told), p, f'and what would allow it: {rule}', told)
            if told:
                again = p.sh(*allow('good.test:8000', rule if ':8' in rule else rule + ':8000'), '--', line)
                ok(again.booted and again.code == 0, p, 'and with that rule it works', again)
    r = p.pale('--json', *ALLOWED, '--', 'sh', '-c', f'{tool} blocking good.test 8000')
    ok(not r.json().get('violations'), p, 'twin: what is allowed is no violation', r)


main(case_the_allowed_one, case_names_and_ports, case_names_that_are_not_the_one_NW14, case_questions_NW14, case_wildcard,
     case_names_that_lead_elsewhere_NW03, case_rebinding_NW17, case_what_the_name_server_says, case_honest_errors, case_addresses_NW01, case_loopback_too,
     case_other_ways_NW01, case_datagrams, case_raw_NW11, case_families_NW08_NW09, case_no_resolv_conf, case_told, uids=(1000,))
