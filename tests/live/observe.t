#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The observer on a real kernel: what it sees, what it must not change, what it survives."""
import sys
import socket
import threading
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

OFF = ('--no-observe',)


def seen(r):
    """[(dimension, op, target, count)] of a run with --json; None when nobody looked."""
    found = r.json().get('violations')
    return None if found is None else [(v['dimension'], v['op'], v.get('path', v.get('target')), v['count']) for v in found]


def watch(p, line, *options, **kw):
    """A shell line with --json: its output comes on standard error."""
    return p.sh('--json', *options, '--', line, **kw)


def find(r, op=None, target=None):
    return [v for v in r.json().get('violations') or () if op in (None, v['op']) and target in (None, v.get('path', v.get('target')))]


def case_places(p):
    """Refused because read-only, hidden, or protected; the host's files are the verdict."""
    before = digest(p.outside, p.home)
    inside = p.ws / 'sub'
    p.mkdir(inside)
    r = watch(p, f'echo x >/usr/pale-test; mkdir /usr/pale-dir; rm -f {p.outside}/canary; mv file {p.outside}/moved; '
              f'echo x >{p.outside}/new; echo mine >sub/ok && mkdir sub/d && mv sub/ok sub/d/ok2 && rm -r sub/d; exit 3')
    got = seen(r) or []
    ok(r.booted and r.json().get('exit_code') == 3 and digest(p.outside, p.home) == before, p, 'nothing was written outside', r)
    ok(('filesystem', 'create', '/usr/pale-test', 1) in got and ('filesystem', 'mkdir', '/usr/pale-dir', 1) in got, p,
       'writes to a read-only place are seen', r)
    ok(find(r, target=f'{p.outside}/new') and find(r, target=f'{p.outside}/new')[0]['op'] == 'create', p, 'a write to a hidden place is seen', r)
    ok(not [v for v in got if v[2] and v[2].startswith(str(inside))], p, 'twin: allowed writes are not', r)
    for v in find(r, target='/usr/pale-test'):
        ok(v['rule'] == 'filesystem = "workspace_only"' and not v['probe'], p, 'it says by which rule', v)
    for v in find(r, target=f'{p.outside}/new'):
        ok(v['fix'] == f'pale run --write {p.outside} …', p, 'and what would allow it', v)
    r = watch(p, f'echo x >{p.outside}/new', '--write', str(p.outside))
    ok(r.booted and seen(r) == [] and (p.outside / 'new').exists(), p, 'twin: which it does', r)
    (p.outside / 'new').unlink(missing_ok=True)
    if not p.is_root:
        p.write(p.outside / 'fixed', 'x', 0o444)
        r = watch(p, f'echo x >{p.outside}/fixed')
        ok(r.booted and [v['fix'] for v in find(r)] == [None], p, 'what the host would refuse as well no rule is offered for', r)
        r = watch(p, f'echo x >{p.outside}/fixed; test ! -s {p.outside}/fixed', '--write', f'{p.outside}/fixed')
        ok(r.booted and (p.outside / 'fixed').read_text() == 'x', p, 'twin: and none would help', r)
        (p.outside / 'fixed').unlink()
    r = watch(p, 'echo x >/dev/null; t=${TMPDIR:-/tmp}/x; echo x >$t && rm $t; ' + ': >/dev/stdout; ' * has('private') + 'exit 0')
    ok(r.booted and seen(r) == [], p, 'a command without such attempts has an empty list', r)


@needs('hidden')
def case_rules(p):
    p.write(p.ws / 'secret/file', 'x')
    p.write(p.ws / 'kept/file', 'x')
    r = watch(p, 'echo y >secret/file; echo y >secret/new; exit 1', '--hide', 'secret')
    ok(r.booted and {v['rule'] for v in find(r)} == {'paths_hidden'} and len(find(r)) == 2, p, 'hidden by rule', r)
    r = watch(p, 'echo y >file2; rm file; exit 1', '--filesystem', 'readonly')
    ok(r.booted and {(v['op'], v['rule']) for v in find(r)} == {('create', 'filesystem = "readonly"'), ('unlink', 'filesystem = "readonly"')}, p,
       'a workspace that is read-only', r)
    ok((p.ws / 'file').exists() and not (p.ws / 'file2').exists(), p, 'and is')
    p.write(p.ws / 'pale.toml', '')
    r = watch(p, 'echo y >pale.toml; mv kept/file pale.toml; exit 1')
    ok(r.booted and [(v['op'], v['rule']) for v in find(r, target=f'{p.ws}/pale.toml')] ==
       [('open', 'protected path'), ('rename', 'protected path')], p, 'a protected file', r)
    (p.ws / 'pale.toml').unlink()


def serve():
    """A host's TCP port and unix socket that count who comes."""
    tcp, local = socket.socket(), socket.socket(socket.AF_UNIX)
    tcp.bind(('127.0.0.1', 0))
    path = f'/run/pale-test-{os.getpid()}-{time.time_ns() % 10**9}' if os.geteuid() == 0 else tempfile.mktemp(dir='/var/tmp')
    local.bind(path)
    os.chmod(path, 0o777)
    came = []
    for s in (tcp, local):
        s.listen(8)
        s.settimeout(0.05)
    return tcp, local, path, came


CONNECT = '''python3 -c "
import socket, sys
for a in sys.argv[1:]:
    f, to = (socket.AF_UNIX, a) if a[0] == '/' else (socket.AF_INET, (a.split(':')[0], int(a.split(':')[1])))
    try:
        socket.socket(f).connect(to)
        print('REACHED', a)
    except OSError as e:
        print(a, e)
" "$@"; exit 5'''


def case_connections(p):
    tcp, local, path, _ = serve()
    port = tcp.getsockname()[1]
    r = p.sh('--json', '--', CONNECT, '192.0.2.7:80', f'127.0.0.1:{port}', path)
    came = 0
    for s in (tcp, local):
        try:
            s.accept()
            came += 1
        except OSError:
            pass
    ok(r.booted and b'REACHED' not in r.err and came == 0, p, 'nobody is reached', r)
    got = seen(r) or []
    if not has('loopback'):
        ok(('network', 'socket', 'AF_INET', 2) in got, p, 'the sockets that are refused are seen', r)
    else:
        ok(('network', 'connect', '192.0.2.7:80', 1) in got, p, 'an address that no way leads to', r)
        ok(('network', 'connect', f'127.0.0.1:{port}', 1) in got, p, "a port of the host's loopback", r)
        ok(('sockets', 'connect', path, 1) in got, p, 'a unix socket of the host', r)
        ok({v['rule'] for v in find(r, 'connect') if v['dimension'] == 'network'} == {'network = "none"'}, p, 'by which rule', r)
        r = p.sh('--json', '--', CONNECT, '127.0.0.1:1', '/run/pale-test-nobody')
        ok(r.booted and seen(r) == [], p, 'twin: what the host does not have either is none', r)
        r = p.sh('--json', '--', tool(p, 'observe-probe', '-pthread') + ' listen')
        ok(r.booted and b'listen 111 0' in r.err and seen(r) == [], p, 'twin: a connection to a server inside', r)
    r = p.sh('--json', '--network', 'unrestricted', '--', CONNECT, f'127.0.0.1:{port}')
    ok(r.booted and b'REACHED' in r.err and not find(r, 'connect'), p, 'twin: with the network it is reached, and none', r)
    for s in (tcp, local):
        s.close()
    os.unlink(path)


def probe_calls(p, options, *words):
    r = p.sh(*options, '--', tool(p, 'seccomp-probe') + ' "$@"', *words)
    return r, {w[0]: (w[1], w[2]) for w in (line.split() for line in (r.out + r.err).decode(errors='replace').splitlines()) if len(w) == 3}


def case_refused_calls(p):
    for group in ('refused', 'flat'):
        r, answers = probe_calls(p, ('--json',), 'calls', group)
        # "openat-suid" is an openat, which is called an open, or what it would have done
        words = {'openat': 'create', 'open': 'create', 'mknodat': 'mknod', 'fchmodat': 'chmod', 'creat': 'create'}
        refused = {name.partition('-')[0] for name, (_, error) in answers.items() if error == 'EPERM'}
        refused = {words.get(name, name) for name in refused}
        ops = {v['op'] for v in find(r)}
        names = {v['op'] for v in find(r) if v['dimension'] in ('seccomp', 'nested')}
        ok(r.booted and len(refused) > 10 and refused <= ops, p, f'{len(refused)} {group} calls are seen', f'{refused - ops}\n{r}')
        ok(names, p, f'{group}: each as what it is', r)
    r = watch(p, 'unshare -U true')
    ok(r.booted and [v['dimension'] for v in find(r, 'unshare')] == ['nested'], p, 'unshare is', r)


def case_the_boundary_is_the_same(p):
    """Every answer of the filter, with an observer and without."""
    modes_of = [(), ('--processes', 'visible'), ('--nested',), ('--network', 'unrestricted')]
    for options in modes(p, *p.each(*modes_of)):
        for words in (('calls', 'refused'), ('calls', 'flat'), ('calls', 'unknown'), ('calls', 'visible'), ('sockets',), ('set-uid',)):
            r, with_it = probe_calls(p, options, *words)
            q, without = probe_calls(p, options + OFF, *words)
            for f in p.ws.glob('s[ug]id-*'):
                f.unlink()
            ok(r.booted and q.booted and with_it and with_it == without, p,
               f"{' '.join(options) or 'default'}: {' '.join(words)}: the same {len(with_it)} answers",
               f'{ {k: (v, without.get(k)) for k, v in with_it.items() if v != without.get(k)} }\n{r}\n{q}')
    r = p.sh(*OFF, '--json', '--', 'echo x >/usr/pale-test; exit 3')
    ok(r.booted and r.json().get('violations', 1) is None and not os.path.exists('/usr/pale-test'), p,
       'without an observer nobody looked, and nothing was written', r)
    p.config('[sandbox]\nobserve = false\n')
    r = p.sh('--json', '--', 'true')
    ok(r.booted and r.json().get('violations', 1) is None, p, 'the key turns it off, too', r)
    p.no_config()


def case_a_thousand(p):
    r = watch(p, 'i=0; while [ $i -lt 1000 ]; do echo x >/usr/pale-test; i=$((i+1)); done 2>/dev/null; exit 1', timeout=120)
    ok(r.booted and seen(r) == [('filesystem', 'create', '/usr/pale-test', 1000)], p, 'a thousand refused writes are one, counted', r)
    r = watch(p, tool(p, 'observe-probe', '-pthread') + ' many /usr 1000', timeout=120)
    ok(r.booted and len(find(r)) == 64 and r.json().get('violations_dropped') == 936, p, 'a thousand different ones are bounded, and counted', r)


def case_floods(p):
    """Four processes that call as fast as they can."""
    m = mark()
    r = p.pale('--timeout', '2s', '--json', '--', 'sh', '-c', f'echo BOOTED >&2; {tool(p, "observe-probe", "-pthread")} flood /usr/$0', m, timeout=60)
    ok(r.booted and r.code == 124 and r.seconds < 30, p, f'a timeout is kept in a flood: {r.seconds:.1f} s', r)
    ok((find(r) or [{'count': 0}])[0]['count'] > 1000, p, f"{(find(r) or [{'count': 0}])[0]['count']} calls were answered meanwhile", r)
    ok(wait_for(lambda: not marked(m), 5), p, 'nothing is left', marked(m))
    m = mark()
    proc = p.start_pale('--', 'sh', '-c', f'./observe-probe flood /usr/$0', m, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun = wait_for(lambda: len(marked(m)) >= 5, 20)
    time.sleep(0.3)
    proc.kill()
    proc.wait()
    ok(begun and wait_for(lambda: not marked(m), 10), p, 'kill -9 of the supervisor in a flood ends everybody', marked(m))
    m = mark()
    proc = p.start_pale('--', 'sh', '-c', f'./observe-probe flood /usr/$0', m, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun = wait_for(lambda: len(marked(m)) >= 5, 20)
    proc.send_signal(signal.SIGTERM)
    try:
        code = proc.wait(20)
    except subprocess.TimeoutExpired:
        proc.kill()
        code = proc.wait()
    ok(begun and code == 128 + signal.SIGTERM and wait_for(lambda: not marked(m), 10), p, 'a signal gets through', code)


def case_tasks(p):
    op = tool(p, 'observe-probe', '-pthread')
    r = watch(p, f'{op} killed /usr/pale-test 200; echo x >after && rm after', timeout=120)
    ok(r.booted and b'killed 200' in r.err and r.json().get('outcome') == 'ok', p, 'tasks that are killed while they wait', r)
    r = watch(p, f'{op} threads . 200', timeout=120)
    ok(r.booted and b'threads failed 0' in r.err and seen(r) == [], p, '3 200 calls of eight threads, all of them right', r)
    r = watch(p, f'{op} signals ./sig 500; rm -f sig', timeout=60)
    counts = re.search(rb'signals (\d+) (\d+)', r.err)
    ok(r.booted and counts and counts[1] == b'0', p, 'a signal with SA_RESTART interrupts no call', r)
    if counts:
        note(f'[{p}] without SA_RESTART a timer interrupted {int(counts[2])} calls')
    r = watch(p, 'mkdir -p v && cp file v/a && ln v/a v/b && ln -s a v/c && chmod 600 v/a && touch v/d && truncate -s 3 v/d && rm -r v && '
              'sh -c "(echo sub >sub1; cat sub1) | cat; rm sub1"; trap "echo caught" USR1; kill -USR1 $$; echo end')
    ok(r.booted and r.json().get('outcome') == 'ok' and b'sub\ncaught\nend\n' in r.err and seen(r) == [], p, 'links, modes, signals, subshells work', r)


def case_a_command_that_lies(p):
    """A thread changes the name while the observer reads it: what is written is the host's verdict."""
    canary = p.write(p.outside / 'raced', 'canary\n', 0o666)
    mine = p.write(p.ws / 'raced', 'mine\n')
    r = watch(p, f'{tool(p, "observe-probe", "-pthread")} race {mine} {canary} 2000', timeout=60)
    got = re.search(rb'race tries (\d+) opened (\d+)', r.err)
    tries, opened = (int(got[1]), int(got[2])) if got else (0, 0)
    ok(r.booted and tries > 100 and canary.read_text() == 'canary\n', p, f'{tries} tries, {opened} of them opened something; nothing outside was', r)
    ok(opened > 0 and mine.read_text() == 'raced\n', p, 'twin: what it may write was written', r)
    canary.unlink()
    mine.unlink()


def case_lines(p):
    r = p.sh('echo x >/usr/pale-test; exit 3')
    lines = r.err.decode().splitlines()
    own = [x for x in lines if x.startswith('pale:') or x.startswith('  hint:')]
    ok(r.booted and r.code == 3 and 1 <= len(own) <= 3 and own == lines[-len(own):] and '/usr/pale-test' in own[0] and 'filesystem' in own[0], p,
       'a run that failed ends with what was denied', r)
    r = p.sh('echo x >/usr/pale-test; true')
    ok(r.booted and r.code == 0 and b'pale:' not in r.err, p, 'twin: one that worked says nothing', r)
    r = p.sh('echo x >ok; rm ok; exit 3')
    ok(r.booted and r.code == 3 and r.err == b'', p, 'twin: nor does one that failed for itself', r)
    r = p.sh('for i in 1 2 3 4 5; do echo x >/usr/pale-test$i; done 2>/dev/null; echo x >/usr/pale-last; echo x >/usr/pale-last; exit 3')
    own = [x for x in r.err.decode().splitlines() if x.startswith('pale:')]
    ok(r.booted and len(own) == 1 and '/usr/pale-last' in own[0] and '2 times' in own[0] and 'and 5 more' in own[0], p,
       'the last one first, repeated ones counted, the others as a number', r)
    r = p.sh('mkdir /usr/__pycache__; echo x >/dev/tty; exit 3')
    ok(r.booted and r.code == 3 and b'pale:' not in r.err, p, 'what programs probe for is no cause', r)
    r = watch(p, 'mkdir /usr/__pycache__; exit 3')
    ok([v['probe'] for v in find(r)] == [True], p, 'but is in the result, and marked', r)


@needs('nested', 'isolated')
def case_pale_in_pale(p):
    """There is one listener in a chain of tasks: the inner run goes without."""
    if ENGINE:
        return skip(p, 'only the native engine leaves a note of itself inside', only_root=True)
    line = f'{p.pale_path} run --json --engine landlock --allow-degraded processes --filesystem readonly -- sh -c "echo INNER >&2; echo x >inner; keyctl; grep Seccomp_filters /proc/self/status >&2; exit 4"; echo "inner $?"'
    r = p.sh('--json', '--read', str(p.pale_path.parent), '--', line, timeout=60)
    ok(r.booted and b'INNER' in r.err and b'inner 4' in r.err and not (p.ws / 'inner').exists(), p, 'a sandbox in a sandbox runs, and holds', r)
    ok(b'"violations":null' in r.err and seen(r) is not None, p, 'and nobody looks there', r)
    filters = re.search(rb'Seccomp_filters:\s+(\d+)', r.err)
    ok(filters and int(filters[1]) == 2, p, 'there are two filters', r)


go_apart()
main(case_places, case_rules, case_connections, case_refused_calls, case_the_boundary_is_the_same, case_a_thousand, case_floods, case_tasks,
     case_a_command_that_lies, case_lines, case_pale_in_pale, uids=(1000,))
