#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that know nothing of a sandbox reach the hosts that are allowed, and only those.

Real servers on the far side of a cable; what got there is counted there.
"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from netservers import *

need_servers()
enter_apart()
lab = Lab()
CA = start_site(lab)
KEY, KNOWN = start_sshd(lab)
start_redis(lab, FAR4)
NAMES = {'good.test': [FAR4, FAR6], 'v4.test': [FAR4], 'v6.test': [FAR6], 'other.test': [OTHER4]}
lab.hosts(**NAMES)
PONG = {address: lab.listen(address, 8000) for address in (FAR4, FAR6)}
REACHED = [(address, port) for address in (FAR4, FAR6) for port in (22, 80, 443, 6379, 8000)]
RULES = ('good.test:22,80,443,6379,8000', 'v4.test:8000', 'v6.test:8000')
CURL = 'curl -sS -m 10 --cacert ca.pem'


def client(p, name, line, wanted, rules=RULES, timeout=60, closed=True):
    """LINE works when it is allowed, and nothing else is touched; without the rule it fails and
    nothing gets out."""
    (p.ws / 'ca.pem').write_bytes(CA.read_bytes())
    with lab.watch() as wire:
        r = p.sh(*allow(*rules), '--', line, timeout=timeout)
        ok(r.booted and r.code == 0 and wanted in r.out, p, f'{name} works', r)
        strangers = wire.strangers(*REACHED)
        ok(len(wire.seen) > 0 and not strangers, p, f'{name}: only what is allowed was reached', strangers)
    if not closed:
        return
    with lab.watch() as wire:
        r = p.sh(*allow('elsewhere.test'), '--', f'( {line} ) && exit 0; exit 7', timeout=timeout)
        ok(r.booted and r.code == 7 and wanted not in r.out, p, f'{name}: refused without the rule', r)
        ok(not wire.packets(), p, f'{name}: nothing got out without the rule', wire.seen)


def case_curl(p):
    client(p, 'curl by https', f'{CURL} https://good.test/hello', b'hello from nginx')
    client(p, 'curl by http', f'{CURL} http://good.test/hello', b'hello from nginx')
    client(p, 'curl by IPv4', f'{CURL} -4 https://good.test/hello', b'hello from nginx', closed=False)
    client(p, 'curl by IPv6', f'{CURL} -6 https://good.test/hello', b'hello from nginx', closed=False)
    client(p, 'curl, four files at once', f'{CURL} -Z ' + ' '.join(f'https://good.test/big -o f{i}' for i in range(4)) +
           ' && cat f? | wc -c', b'16777216', closed=False)
    client(p, 'an address as given', f'{CURL} https://{FAR4}/hello', b'hello from nginx', rules=(FAR4,))
    client(p, 'an address of IPv6 as given', f'{CURL} https://[{FAR6}]/hello', b'hello from nginx', rules=(f'[{FAR6}]',))


def case_wget(p):
    client(p, 'wget', 'wget -q -t 1 -T 10 -O - --ca-certificate ca.pem https://good.test/hello', b'hello from nginx')


def case_git(p):
    p.write(p.ws / 'key', KEY, 0o600)
    p.write(p.ws / 'known', KNOWN)
    shutil.rmtree(p.ws / 'clone', ignore_errors=True)
    client(p, 'git by https', 'git -c http.sslCAInfo=$PWD/ca.pem clone -q https://good.test/project.git clone && cat clone/hello; '
           's=$?; rm -rf clone; exit $s', b'hello from git')
    ssh = 'ssh -F none -i key -o UserKnownHostsFile=known -o ConnectTimeout=10'
    client(p, 'ssh', f'{ssh} root@good.test echo from the far side', b'from the far side')
    client(p, 'git by ssh', f'export GIT_SSH_COMMAND="{ssh}"; git clone -q ssh://root@good.test{lab.place}/site/project.git clone && '
           'cat clone/hello; s=$?; rm -rf clone; exit $s', b'hello from git')


def case_apt(p):
    helper = '/usr/lib/apt/apt-helper'
    if not os.path.exists(helper):
        return skip(p, 'no apt', only_root=True)
    client(p, 'apt', f'{helper} -o APT::Sandbox::User=root -o Acquire::Retries=0 download-file http://good.test/hello got && cat got; '
           's=$?; rm -f got; exit $s', b'hello from nginx')


def case_shells(p):
    client(p, 'bash', "bash -c 'exec 3<>/dev/tcp/good.test/80 && printf \"GET /hello HTTP/1.0\\r\\n\\r\\n\" >&3 && cat <&3'", b'hello from nginx')
    client(p, 'perl', "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(\"good.test:80\") or die; print $s \"GET /hello HTTP/1.0\\r\\n\\r\\n\"; print <$s>'",
           b'hello from nginx')


def case_redis(p):
    client(p, 'redis-cli', 'redis-cli -h good.test set key value', b'OK')


def case_npm(p):
    if not shutil.which('npm', path=CLEAN_PATH):
        return skip(p, 'no npm')
    for leftover in ('node_modules', 'package.json', 'package-lock.json'):
        subprocess.run(['rm', '-rf', p.ws / leftover], check=True)
    client(p, 'npm install', 'npm install --no-audit --no-fund --loglevel=error --fetch-retries=0 --cafile ca.pem '
           '--registry https://good.test/npm/ pale-thing && node -p "require(\'pale-thing\')"', b'hello from npm')


def case_node(p):
    if not shutil.which('node', path=CLEAN_PATH):
        return skip(p, 'no node')
    line = """node -e "require('http').get('http://good.test/hello', r => r.pipe(process.stdout))" """
    client(p, 'node', line, b'hello from nginx')


def case_pip(p):
    if p.run('/usr/bin/python3', '-m', 'pip', '--version').code:
        return skip(p, 'no pip')
    client(p, 'pip download', '/usr/bin/python3 -m pip download -q --disable-pip-version-check --retries 0 --timeout 5 '
           '--cert ca.pem --index-url https://good.test/simple/ -d got pale-thing && ls got; s=$?; rm -rf got; exit $s',
           b'pale_thing-1.0-py3-none-any.whl')


PYTHON = {
    'python, in threads': """
import concurrent.futures, urllib.request
get = lambda n: urllib.request.urlopen('http://good.test/hello', timeout=10).read()
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(set(pool.map(get, range(64))))
""",
    'python, asyncio': """
import asyncio
async def get():
    r, w = await asyncio.wait_for(asyncio.open_connection('good.test', 80), 10)
    w.write(b'GET /hello HTTP/1.0\\r\\n\\r\\n')
    return (await r.read()).split(b'\\r\\n\\r\\n')[1]
async def all():
    print(set(await asyncio.gather(*(get() for _ in range(64)))))
asyncio.run(all())
""",
    'python, happy eyeballs': """
import asyncio
async def get():
    r, w = await asyncio.wait_for(asyncio.open_connection('good.test', 80, happy_eyeballs_delay=0.05), 10)
    w.write(b'GET /hello HTTP/1.0\\r\\n\\r\\n')
    print((await r.read()).split(b'\\r\\n\\r\\n')[1])
asyncio.run(get())
""",
}


def case_python(p):
    for name, text in PYTHON.items():
        p.write(p.ws / 'client.py', text)
        client(p, name, '/usr/bin/python3 client.py', b'hello from nginx')


RESOLVE = """
import socket
for family, address in ((socket.AF_INET, '0.0.0.0'), (socket.AF_INET6, '::'), (0, '')):
    for flags in (0, socket.AI_ADDRCONFIG):
        for name in ('good.test', 'localhost'):
            print(len(socket.getaddrinfo(name, 80, family, socket.SOCK_STREAM, 0, flags)) > 0)
"""


def case_resolvers(p):
    """Of the C library, whatever family is asked for and whatever the machine has to have."""
    p.write(p.ws / 'resolve.py', RESOLVE)
    r = p.sh(*allow(*RULES), '--', '/usr/bin/python3 resolve.py')
    ok(r.booted and r.rest == b'True\n' * 12, p, 'every family, with and without AI_ADDRCONFIG', r)
    r = p.sh(*allow(*RULES), '--', 'getent ahostsv4 good.test && getent ahostsv6 good.test && getent hosts good.test && ! getent hosts other.test')
    ok(r.booted and r.code == 0, p, 'getent', r)
    r = p.sh(*allow('elsewhere.test'), '--', 'getent hosts good.test')
    ok(r.booted and r.code != 0, p, 'twin: without the rule there is no such name', r)


def case_openssl(p):
    client(p, 'a client of TLS', 'printf "GET /hello HTTP/1.0\\r\\n\\r\\n" | openssl s_client -quiet -verify_return_error '
           '-CAfile ca.pem -servername good.test -connect good.test:443 2>/dev/null', b'hello from nginx')


GO = """package main
import ("fmt"; "io"; "net/http")
func main() {
	r, err := http.Get("http://good.test/hello")
	if err != nil { panic(err) }
	b, _ := io.ReadAll(r.Body)
	fmt.Print(string(b))
}
"""


def case_go(p):
    """A static program that asks the name server itself."""
    if p.is_root:
        return
    if not shutil.which('go', path=CLEAN_PATH):
        return skip(p, 'no Go', only_root=True)
    built = lab.place / 'go-client'
    if not built.exists():
        (lab.place / 'client.go').write_text(GO)
        env = dict(os.environ, CGO_ENABLED='0', GOCACHE=str(lab.place / 'go'), GOTOOLCHAIN='local', HOME=str(lab.place), GO111MODULE='off')
        subprocess.run(['go', 'build', '-o', built, lab.place / 'client.go'], check=True, env=env, cwd=lab.place)
    p.write(p.ws / 'go-client', built.read_bytes(), 0o755)
    client(p, 'a Go program', './go-client', b'hello from nginx')


JAVA = """
public class Client {
    public static void main(String[] a) throws Exception {
        System.out.print(new String(new java.net.URL("http://good.test/hello").openStream().readAllBytes()));
    }
}
"""


@only_root
def case_java(p):
    if not shutil.which('java', path=CLEAN_PATH):
        return skip(p, 'no Java', only_root=True)
    p.write(p.ws / 'Client.java', JAVA)
    client(p, 'a Java program', 'java -Xint Client.java', b'hello from nginx')


WAYS = ('blocking', 'poll', 'select', 'epoll-before', 'dup-before', 'options', 'child', 'thread', 'exec', 'names', 'bound',
        'half-closed', 'volume')


def case_static_program(p):
    """Every way of making a connection, by both families."""
    tool = net_tool(p, 'net-client')
    for name, address in (('v4.test', FAR4), ('v6.test', FAR6)):
        for way in WAYS:
            PONG[address].taken()
            r = p.sh(*allow(*RULES), '--', f'{tool} {way} {name} 8000')
            wanted = b'%s=ok 16777216' % way.encode() if way == 'volume' else f'=ok pong {address} 8000'.encode()
            ok(r.booted and r.code == 0 and wanted in r.out and PONG[address].taken() == 1, p, f'{way} to {name}', r)
            twin = p.host_sh(f'{tool} {way} {name} 8000')
            ok(twin.code == 0 and PONG[address].taken() == 1, p, f'twin: {way} to {name} without pale', twin)
    r = p.sh(*allow(f'{FAR4}:8000'), '--', f'{tool} mapped {FAR4} 8000')
    ok(r.code == 0 and f'pong {FAR4}'.encode() in r.out, p, 'an allowed address of IPv4 by a socket of IPv6', r)


main(case_curl, case_wget, case_git, case_apt, case_shells, case_redis, case_npm, case_node, case_pip, case_python, case_resolvers, case_openssl, case_go, case_java,
     case_static_program, uids=(1000,))
