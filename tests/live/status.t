#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale status: every dimension, told as a run then finds it; fast, and nothing is started."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

BOUND_MS = 100  # the budget is 20; machines are noisy


def case_same_as_a_run(p):
    for preset in ('workspace', 'readonly', 'test', 'build', 'unrestricted', 'off', 'integration'):
        r = p.verb('status', '--json', '--preset', preset)
        status = r.json()
        run = p.pale('--json', '--preset', preset, '--', 'true')
        ok(status.get('runs') == (run.code == 0) and r.code == (run.code != 0), p,
           f'{preset}: a run is refused if and only if status says so', f'{r}\n{run}')
        if run.code == 0:
            enforced = run.json().get('enforced', {})
            told = {k: status['dimensions'][k] for k in enforced if enforced[k]['by'] != 'unrestricted'}
            # Sockets that somebody has bound just now are hidden unasked.
            ok(all((told[k]['asked'] or k == 'sockets') and told[k]['state'] == enforced[k]['state'] and
                   told[k]['by'] == enforced[k]['by'] for k in told), p,
               f'{preset}: the verdicts are those of the run', f'{told}\n{enforced}')
            ok(status['grade'] == run.json().get('grade'), p, f'{preset}: and so is the grade')
        else:
            ok(status['refusal']['message'] == run.json()['error']['message'], p,
               f'{preset}: with the same words', f'{status["refusal"]}\n{run}')
            ok(status['grade'] is None, p, f'{preset}: nothing enforced has no grade')


def case_every_dimension(p):
    keys = p.verb('config', 'keys', '--json')
    status = p.verb('status', '--json').json()
    dims = status['dimensions']
    ok(set(dims) == set(status['spec']) and len(dims) >= 22, p, 'all of them are listed', dims)
    ok(all(d['by'] and d['state'] in ('enforced', 'degraded', 'unenforced', 'refused')
           for d in dims.values()), p, 'each with a state and what it rests on', dims)
    memory = p.pale('--memory', '64m', '--', 'true')
    ok((dims['memory']['state'] == 'enforced') == (memory.code == 0), p,
       'what was not asked for is told as it is when asked for', f'{dims["memory"]}\n{memory}')
    text = p.verb('status')
    ok(text.code == 0 and all(re.search(rf'^{d} '.encode(), text.out, re.M) for d in dims), p,
       'the text has them, too', text)
    ok(keys.code == 0, p, 'twin: another verb works')


def case_configured(p):
    p.write(p.ws / 'pale.toml', '[sandbox]\nbackend = "podman"\n')
    r = p.verb('status', '--json')
    backends = {b['name']: b for b in r.json()['backends']}
    ok(backends['local']['ready'] and not backends['podman']['ready'] and
       backends['podman']['reason'], p, 'a backend that is configured is told', r)
    ok(backends['local']['background'] is True and backends['podman']['background'] is False, p, 'and who keeps commands in the background', r)
    p.write(p.ws / 'pale.toml', '[sandbox]\npreset = "off"\n')
    r = p.verb('status')
    ok(r.code == 1 and re.search(rb'^trust +needed$', r.out, re.M) and b'pale trust' in r.err, p,
       'a workspace that is not trusted', r)
    p.write(p.ws / 'pale.toml', 'nonsense = 1\n')
    r = p.verb('status')
    ok(r.code == 1 and r.out == b'' and b'nonsense' in r.err, p, 'a broken file is an error', r)
    p.no_config()
    r = p.verb('status', '--preset', 'nosuch')
    ok(r.code == 2 and r.out == b'' and b'unknown preset' in r.err, p, 'an unknown preset, too', r)
    ok(p.verb('status').code == 0, p, 'twin: without them it exits with 0')


def case_starts_nothing(p):
    if not shutil.which('strace'):
        return skip(p, 'no strace')
    trace = p.base / 'trace'
    r = p.run('strace', '-f', '-qq', '-o', trace, p.pale_path, 'status')
    if r.code != 0 or not trace.exists():
        return skip(p, f'strace cannot trace here: {r.err!r}')
    text = trace.read_text()
    calls = re.findall(r'^\d+ +(\w+)\(', text, re.M)
    bad = {'clone', 'clone3', 'fork', 'vfork', 'unshare', 'setns', 'socket', 'socketpair', 'connect',
           'sendto', 'sendmsg', 'mount', 'fsopen', 'mkdir', 'mkdirat', 'unlink', 'unlinkat', 'rename'}
    ok(len(calls) > 50 and not bad & set(calls), p, 'nothing is started, dialled or made',
       sorted(bad & set(calls)))
    ok(calls.count('execve') == 2, p, 'two programs: pale and its other half', calls.count('execve'))
    ok('O_CREAT' not in text and not re.search(r'open.*O_WRONLY|open.*O_RDWR', text), p,
       'and nothing is opened for writing')
    trace.unlink()
    r = p.run('strace', '-f', '-qq', '-o', trace, p.pale_path, 'doctor')
    ok('clone3(' in trace.read_text(), p, 'twin: the trial of doctor is seen by the same probe')
    trace.unlink()


def time_ms(p, verb):
    begin = time.monotonic()
    p.verb(verb)
    return (time.monotonic() - begin) * 1000


def case_fast(p):
    """In an emulated machine everything is slow: there, against a verb that does nothing."""
    times = [(time_ms(p, 'version'), time_ms(p, 'status')) for _ in range(15)]
    nothing, status = (sorted(column)[len(times) // 2] for column in zip(*times))
    note(f'[{p}] status {status:.1f} ms, version {nothing:.1f} ms, by median, setpriv included')
    ok(status < max(BOUND_MS, 4 * nothing), p, f'within {BOUND_MS} ms', (status, nothing))


main(case_same_as_a_run, case_every_dimension, case_configured, case_starts_nothing, case_fast,
     uids=(1000,))
