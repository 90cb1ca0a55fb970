#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a private network refuses is told: whom, by name, address and port, who tried, and the rule that
would allow it; while the run goes on, to the session's right command, and to those who learn from it.
Calls that are interrupted or killed while they wait leave nothing behind.
"""
import sys
import threading
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from netlab import *

enter_apart()
lab = Lab()
lab.hosts(**{'good.test': [FAR4, FAR6], 'more.test': [FAR4], 'other.test': [OTHER4], 'own.test': [HOST4], 'loop.test': ['127.0.0.1']})
GOOD = lab.listen(FAR4, 8000)
MORE = lab.listen(FAR4, 8002)
OTHER = lab.listen(OTHER4, 8000)
LOCAL = lab.listen('127.0.0.1', 8100, far=False)
LOCAL_TOO = lab.listen('127.0.0.1', 8101, far=False)
OWN = lab.listen(HOST4, 8000, far=False)
RULES = ['--host', 'good.test:8000', '--host', 'own.test:8000', '--host', 'loop.test:8000', '--port', '8100']

ELSE4 = '203.0.113.77'
# line, op, target, name, address, port, program, option of the fix
REFUSED = (
    ('./net-client blocking other.test 8000', 'resolve', 'other.test', 'other.test', None, None, 'net-client', '--host other.test:443'),
    ('./net-client blocking good.test 8001', 'connect', 'good.test:8001', 'good.test', None, 8001, 'net-client', '--host good.test:8001'),
    (f'./net-client poll {OTHER4} 8000', 'connect', f'{OTHER4}:8000', None, OTHER4, 8000, 'net-client', f'--host {OTHER4}:8000'),
    (f'./net-client blocking {OTHER6} 8000', 'connect', f'[{OTHER6}]:8000', None, OTHER6, 8000, 'net-client', f"--host '[{OTHER6}]:8000'"),
    (f'./net-client blocking {METADATA} 80', 'connect', f'{METADATA}:80', None, METADATA, 80, 'net-client', None),
    ('./net-client blocking 127.0.0.1 8101', 'connect', '127.0.0.1:8101', None, '127.0.0.1', 8101, 'net-client', '--port 8101'),
    (f'./net-escape udp {OTHER4} 53', 'send', f'{OTHER4}:53', None, OTHER4, 53, 'net-escape', '--host NAME'),
    (f'./net-escape udp-sendmsg {OTHER4} 53; sleep 0.1', 'send', f'{OTHER4}:53', None, OTHER4, 53, None, '--host NAME'),
    (f'./net-escape fast-open {OTHER4} 8000', 'connect', f'{OTHER4}:8000', None, OTHER4, 8000, 'net-escape', f'--host {OTHER4}:8000'),
)


def violations(r):
    return [v for v in r.json().get('violations') or () if not v['probe']]


def tools(p, at=None):
    for name in ('net-client', 'net-escape'):
        net_tool(p, name)
        if at:
            shutil.copy(p.ws / name, at / name)


def check_refusal(p, r, expected, where):
    line, op, target, name, address, port, program, option = expected
    found = [v for v in violations(r) if (v['op'], v.get('target')) == (op, target)]
    ok(r.booted and len(found) == 1, p, f'{where}: {op} {target} is told', f'{violations(r)}\n{r}')
    for v in found:
        got = (v['dimension'], v['name'], v['address'], v['port'])
        ok(got == ('network', name, address, port) and v['program'] == program, p,
           f'{where}: {line}: name, address, port and program', v)
        ok((v['fix'] is None) if option is None else option in (v['fix'] or ''), p, f'{where}: {target}: {option or "nothing"} would allow it', v)
        ok(v['rule'], p, f'{where}: {target}: and what refused it', v)


def case_each_kind(p):
    tools(p)
    for server in (OTHER, OWN, LOCAL_TOO):
        server.taken()
    for expected in REFUSED:
        r = p.sh('--json', *RULES, '--', expected[0])
        check_refusal(p, r, expected, 'run')
        if expected[-1] and expected[1] == 'connect' and expected[3] is None and ':8000' in expected[2]:
            rule = expected[2]
            r = p.sh('--json', *RULES, '--host', rule, '--', expected[0])
            ok(r.booted and not violations(r), p, f'twin: with a rule for {rule} nothing is refused', r)
    OTHER.taken(), LOCAL_TOO.taken()
    r = p.sh('--json', *RULES, '--', './net-client blocking own.test 8000')
    found = [v for v in violations(r) if v['name'] == 'own.test']
    ok(r.booted and len(found) == 1 and found[0]['address'] == HOST4 and 'own.test leads to' in found[0]['rule'], p,
       "a name that leads to the host's own address", f'{violations(r)}\n{r}')
    ok(OWN.taken() == 0 and found and f'--host {HOST4}:' in found[0]['fix'], p, 'the literal would allow it', found)
    r = p.sh('--json', *RULES, '--', './net-client blocking loop.test 8000')
    found = [v for v in violations(r) if v['name'] == 'loop.test']
    ok(r.booted and len(found) == 1 and found[0]['address'] == '127.0.0.1' and found[0]['fix'] is None, p,
       'a name that leads to the loopback, which nothing would allow', f'{violations(r)}\n{r}')
    r = p.sh('--json', *RULES, '--', './net-client blocking good.test 8000 && ./net-client blocking 127.0.0.1 8100')
    usage = r.json().get('usage', {})
    ok(r.booted and r.json().get('exit_code') == 0 and violations(r) == [], p, 'twin: what is allowed is no violation', r)
    ok(usage.get('connections') == 2 and usage.get('net_sent', 0) > 0 and usage.get('net_received', 0) > 0, p, 'and is counted', usage)
    r = p.sh('--json', '--', 'true')
    ok(r.json().get('usage', {}).get('connections', 0) is None, p, 'twin: without a broker nobody counts', r)


def case_limit(p):
    tools(p)
    line = ('python3 -c "import socket; a = [socket.create_connection((\'good.test\', 8000))]; a.append(socket.create_connection((\'good.test\', 8000)))"')
    r = p.sh('--json', *RULES, '--connections', '1', '--', line)
    found = [v for v in violations(r) if v['dimension'] == 'connections']
    ok(r.booted and found and found[0]['target'] == 'good.test:8000' and '--connections 2' in found[0]['fix'], p, 'a limit that was met', f'{violations(r)}\n{r}')
    ok(r.json().get('outcome') == 'failed' and r.json().get('limit') is None, p, "the outcome stays the command's", r)
    events = p.verb('events', 'list', '--kind', 'sandbox.limit', '--run', r.json().get('run', ''), '--json')
    ok([e['dimension'] for e in json.loads(events.out or b'[]')] == ['connections'], p, 'and it is an event', events)
    r = p.sh('--json', *RULES, '--connections', '2', '--', line)
    ok(r.booted and r.json().get('outcome') == 'ok' and not violations(r), p, 'twin: with one more it works', r)


def session(p, name):
    """Runs verbs in a workspace with sessions of its own."""
    top = p.mkdir(p.base / f'{name}-{time.time_ns()}')
    ws = p.mkdir(top / 'ws')
    tools(p, ws)
    folders = [p.mkdir(top / d, 0o700) for d in ('state', 'runtime')]
    if os.geteuid() == 0:
        for d in folders:
            os.chown(d, p.uid, p.uid)
    env = dict(p.env, XDG_STATE_HOME=str(folders[0]), XDG_RUNTIME_DIR=str(folders[1]))
    return lambda *args, **kw: p.verb(*args, env=env, cwd=ws, **kw)


def case_session(p):
    verb = session(p, 'told')
    r = verb('session', 'start', 'one', *RULES)
    ok(r.code == 0, p, 'a session starts', r)
    for expected in REFUSED:
        r = verb('exec', '-s', 'one', '--json', '--', 'sh', '-c', 'echo BOOTED; ' + expected[0])
        option = (expected[-1] or '').replace('--host ', '--allow ').replace('--port ', '--allow localhost:') or None
        check_refusal(p, r, (*expected[:-1], option and f'pale session network one {option}'), 'session')
    results = {}

    def run(name, line):
        results[name] = verb('exec', '-s', 'one', '--json', '--', 'sh', '-c', 'echo BOOTED; ' + line)
    threads = [threading.Thread(target=run, args=(n, f'for i in 1 2 3; do ./net-client poll 203.0.113.{n} 8000; ./net-client blocking n{n}.test 80; sleep 0.05; done'))
               for n in (1, 2, 3)]
    [t.start() for t in threads], [t.join() for t in threads]
    for n, r in results.items():
        targets = {v['target'] for v in violations(r) if v['op'] == 'connect'}
        ok(r.booted and targets == {f'203.0.113.{n}:8000'}, p, f'of three at once, the refusals of the {n}. are its own', f'{targets}\n{r}')
    r = verb('exec', '-s', 'one', '--background', '--json', '--', 'sh', '-c', f'./net-client blocking {ELSE4} 8000; sleep 60')
    run = r.json().get('run', '')
    denied = lambda: [e['data']['target'] for e in json.loads(verb('events', 'list', '--kind', 'sandbox.denied', '--run', run, '--json').out or b'[]')]
    ok(wait_for(lambda: denied() == [f'{ELSE4}:8000'], 5), p, 'of a command in the background it is told while it runs', r)
    verb('signal', '-s', 'one', run, 'KILL')
    r = verb('exec', '-s', 'one', '--json', '--', 'sh', '-c', f'echo BOOTED; (sleep 0.3; ./net-client blocking {ELSE4} 8001) </dev/null >/dev/null 2>&1 & exit 0')
    ok(r.booted and not violations(r), p, 'what is left behind is no part of the result', r)
    time.sleep(0.6)
    r = verb('exec', '-s', 'one', '--json', '--', 'sh', '-c', 'echo BOOTED')
    ok(r.booted and r.json().get('outcome') == 'ok' and not violations(r), p, 'nor of the next one', r)
    verb('session', 'start', 'few', *RULES, '--connections', '1')
    line = 'python3 -c "import socket; a = [socket.create_connection((\'good.test\', 8000)) for i in (1, 2)]"'
    limits = []
    for i in range(2):
        r = verb('exec', '-s', 'few', '--json', '--', 'sh', '-c', 'echo BOOTED; ' + (line if i == 0 else 'true'))
        events = verb('events', 'list', '--kind', 'sandbox.limit', '--run', r.json().get('run', ''), '--json')
        limits.append([e['dimension'] for e in json.loads(events.out or b'[]')])
    ok(limits == [['connections'], []], p, 'a limit is an event of the command that met it, and of no other', limits)
    verb('session', 'stop', 'few')
    r = verb('exec', '-s', 'one', '--json', '--', 'sh', '-c', 'echo BOOTED; ./net-client blocking good.test 8000')
    ok(r.booted and r.json().get('usage', {}).get('connections') == 1 and not violations(r), p, 'twin: what is allowed is counted, for its command', r)
    verb('session', 'stop', 'one')


def case_live(p):
    tools(p)
    p.pale('--', 'true')
    out = p.base / f'follow-{time.time_ns()}'
    with open(out, 'wb') as sink:
        follow = p.start(p.pale_path, 'events', '--kind', 'sandbox.denied', '--follow', '--json', stdout=sink)
        time.sleep(0.3)
        run = p.start_pale(*RULES, '--', 'sh', '-c', f'./net-client blocking {ELSE4} 8000; ./net-client blocking {ELSE4} 8000; read x', stdin=subprocess.PIPE,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            came = wait_for(lambda: f'{ELSE4}:8000'.encode() in out.read_bytes(), 5)
            ok(came and run.poll() is None, p, 'a refusal is shown while the run goes on', out.read_bytes())
        finally:
            run.communicate(b'\n')
            time.sleep(0.5)
            follow.kill()
            follow.wait()
    lines = [json.loads(line) for line in out.read_text().splitlines() if f'{ELSE4}:8000' in line]
    ok(len(lines) == 1, p, 'and once', lines)
    data = lines[0]['data'] if lines else {}
    ok((data.get('program'), data.get('address'), data.get('port')) == ('net-client', ELSE4, 8000) and '--host' in data.get('fix', ''), p,
       'with the program, the address and the fix', data)
    r = p.verb('show', lines[0]['run'] if lines else 'last', '--json')
    ok([v['count'] for v in r.json().get('violations', []) if v.get('target') == f'{ELSE4}:8000'] == [2], p, 'the end says how often', r)


def case_why_and_allow(p):
    tools(p)
    p.write(p.ws / 'pale.toml', f'[commands.get]\nargv = ["./net-client", "blocking", "good.test", "8000"]\nsandbox = "workspace"\n'
            f'[commands.lit]\nargv = ["./net-client", "blocking", "{FAR4}", "8002"]\nsandbox = {{ base = "workspace", network = "allowed_hosts", hosts = ["good.test:8000"] }}\n')
    p.verb('trust', '--yes')
    MORE.taken()
    r = p.pale('lit')
    ok(r.code == 1 and f'pale run --host {FAR4}:8002 lit'.encode() in r.err and MORE.taken() == 0, p, 'refused, and the fix is said', r)
    r = p.verb('why')
    ok(f'connect to {FAR4}:8002'.encode() in r.out and b'refused by: hosts' in r.out, p, 'why says so', r)
    r = p.verb('allow', '--project', '--yes')
    ok(r.code == 0 and f'"{FAR4}:8002"' in (p.ws / 'pale.toml').read_text(), p, 'allow writes the rule', r)
    p.verb('trust', '--yes')
    r = p.pale('lit')
    ok(r.code == 0 and b'=ok' in r.out and MORE.taken() == 1, p, 'and then it passes', r)
    p.write(p.ws / 'pale.toml', '[commands.lo]\nargv = ["./net-client", "blocking", "127.0.0.1", "8101"]\nsandbox = "workspace"\n')
    p.verb('trust', '--yes')
    LOCAL_TOO.taken()
    r = p.pale('lo')
    ok(r.code == 1 and LOCAL_TOO.taken() == 0, p, "the host's loopback is refused by none", r)
    r = p.verb('allow', '--project', '--yes')
    text = (p.ws / 'pale.toml').read_text()
    ok(r.code == 0 and 'network = "localhost"' in text and 'ports = [8101]' in text, p, 'allow writes both keys that it takes', f'{r}\n{text}')
    p.verb('trust', '--yes')
    r = p.pale('lo')
    ok(r.code == 0 and LOCAL_TOO.taken() == 1, p, 'and then it passes', r)
    p.no_config()


def case_learning(p):
    tools(p)
    p.config('[host_groups]\nlab = ["good.test:8000", "more.test:8002"]\nwide = ["good.test:8000", "more.test:8002", "third.test:1"]\n')
    p.write(p.ws / 'pale.toml', '[commands.both]\ncmd = "./net-client blocking good.test 8000 && ./net-client blocking more.test 8002 && '
            './net-client blocking 127.0.0.1 8100; ./net-client blocking other.test 8000; true"\n'
            '[commands.both.sandbox]\nbase = "workspace"\nnetwork = "allowed_hosts"\nhosts = ["good.test:8000", "more.test:8002", "unused.test:1"]\n')
    p.verb('trust', '--yes')
    r = p.verb('sandbox', 'profile', 'both', '--json')
    peers = {(c['address'], c['port']): c for c in r.json().get('profile', r.json()).get('connections', [])}
    ok(peers.get(('good.test', 8000), {}).get('reached') and peers.get(('more.test', 8002), {}).get('reached'), p, 'a profile has names', r)
    ok(peers.get(('127.0.0.1', 8100), {}).get('reached'), p, 'and ports of the loopback', peers)
    ok([c.get('refused') for (a, _), c in peers.items() if a == 'other.test'] == [True], p, 'and what was refused', peers)
    r = p.verb('sandbox', 'suggest', 'both')
    ok(r.code == 0 and b'hosts = ["@lab"]' in r.out and b'ports = [8100]' in r.out, p, 'a suggestion, checked by running it, by its group', r)
    ok(b'other.test' not in r.out and b'hosts = ["other.test"]' in r.err, p, 'what was refused is a note', r)
    p.config('')
    p.write(p.ws / 'again.sh', './net-client blocking good.test 8000\n')
    r = p.verb('sandbox', 'profile', '--host', 'good.test:8000', '--json', '--', 'sh', 'again.sh')
    ok([(c['address'], c['port'], c.get('reached')) for c in r.json().get('profile', {}).get('connections', []) if not c['address'].startswith('/')] ==
       [('good.test', 8000, True)], p, 'a profile of a program may be given a host', r)
    r = p.verb('sandbox', 'suggest', 'both', '--write')
    ok(r.code == 0 and b'hosts = ["good.test:8000", "more.test:8002"]' in r.out and b'unused' not in r.out, p, 'without a group: what was reached, at its ports', r)
    ok(b'[host_groups]' in r.err, p, 'and how a group could be written', r)
    p.verb('trust', '--yes')
    GOOD.taken(), MORE.taken()
    r = p.pale('both')
    ok(r.code == 0 and GOOD.taken() == 1 and MORE.taken() == 1, p, 'and it works under it', r)
    p.no_config()


HOLE = '''
import os, signal, socket, struct, sys, threading, time
to = (sys.argv[1], int(sys.argv[2]))
def timed(what, f):
    t = time.time()
    try:
        f()
        r = 'ok'
    except BaseException as e:
        r = type(e).__name__ + ' ' + str(getattr(e, 'errno', ''))
    print(f'{what}: {r}, {time.time() - t:.1f}', flush=True)
class Alarm(Exception):
    pass
def ring(*_):
    raise Alarm
def connect(*option):
    s = socket.socket()
    if option:
        s.setsockopt(*option)
    s.connect(to)
signal.signal(signal.SIGALRM, ring)
signal.alarm(1)
timed('alarm', connect)
timed('timeout', lambda: connect(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack('ll', 1, 0)))
rang = []
signal.signal(signal.SIGALRM, lambda *_: rang.append(1))
signal.siginterrupt(signal.SIGALRM, False)
main = threading.main_thread().ident
def later():
    time.sleep(1.5)
    signal.pthread_kill(main, signal.SIGUSR1)
signal.signal(signal.SIGUSR1, ring)
threading.Thread(target=later).start()
signal.alarm(1)
timed('restart', connect)
print('rang', len(rang), flush=True)
print('READY', flush=True)
for i in range(int(sys.argv[3])):
    pid = os.fork()
    if pid == 0:
        connect()
        os._exit(0)
    time.sleep(0.02)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
print('KILLED', flush=True)
sys.stdin.read()
'''


def descriptors(pid):
    return len(os.listdir(f'/proc/{pid}/fd'))


def case_interrupted(p):
    """By somebody who does not answer: the far side drops what comes for it. setpriv becomes pale by exec."""
    p.write(p.ws / 'hole.py', HOLE)
    with lab.far():
        subprocess.run(['ip', 'route', 'replace', 'blackhole', '192.0.2.200/32'], check=True)
    subprocess.run(['ip', 'neigh', 'replace', '192.0.2.200', 'lladdr', '02:00:00:00:00:01', 'dev', CABLE], check=True)
    run = p.start_pale('--host', '192.0.2.200:80', '--', 'python3', 'hole.py', '192.0.2.200', '80', '50',
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = []
    try:
        for line in run.stdout:
            lines.append(line.decode().strip())
            if lines[-1] == 'READY':
                before = descriptors(run.pid)
            if lines[-1] == 'KILLED':
                break
        told = dict(line.split(': ') for line in lines if ': ' in line)

        def took(what, result, seconds):
            got, _, after = told.get(what, ', 99').partition(', ')
            return got == result and -0.2 < float(after) - seconds < 2
        ok(took('alarm', 'Alarm ', 1), p, 'a signal with a handler ends the wait', lines)
        ok(took('timeout', 'BlockingIOError 115', 1), p, 'so does SO_SNDTIMEO', lines)
        ok(took('restart', 'Alarm ', 1.5) and 'rang 1' in lines, p, 'a handler with SA_RESTART runs, and the call goes on waiting', lines)
        ok('KILLED' in lines, p, '50 that waited were killed', lines)
        left = wait_for(lambda: descriptors(run.pid) <= before, 5)
        ok(left, p, f'and left no descriptors: {before} before, {descriptors(run.pid)} after', os.listdir(f'/proc/{run.pid}/fd'))
    finally:
        run.kill()
        run.communicate()


main(case_each_kind, case_limit, case_session, case_live, case_why_and_allow, case_learning, case_interrupted)
