#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale doctor: well where all is well; else exactly what is missing, and what mends it."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

MAX = '/proc/sys/user/max_user_namespaces'


def checks(r):
    return {c['name']: c for c in r.json().get('checks', [])}


def case_well(p):
    r = p.verb('doctor', '--json')
    found = checks(r)
    runs = p.pale('--', 'true').code == 0
    ok(r.json().get('ok') == runs and r.code == (not runs), p, 'well if and only if a command runs', r)
    ok(runs and found['user namespaces']['state'] == 'ok', p, 'they were tried', r)
    ok(all(c['costs'] and (c['fix'] or 'not tried' in c['detail']) for c in found.values()
           if c['state'] != 'ok'), p, 'what is amiss has its price and a fix', r)
    ok(all(c['costs'] is None and c['fix'] is None for c in found.values() if c['state'] == 'ok'), p,
       'what is well has none', r)
    text = p.verb('doctor')
    ok(text.code == r.code and b'Commands can run here.' in text.out and b'\033' not in text.out, p,
       'the text says so', text)
    ok(all(re.search(rf'^  {c["state"]} +{re.escape(n)}: '.encode(), text.out, re.M)
           for n, c in found.items()), p, 'one line for each check', text)


def case_limits(p):
    """Told as weak exactly where a limit on memory is not held."""
    limits = checks(p.verb('doctor', '--json'))['limits']
    r = p.pale('--memory', '64m', '--', 'true')
    ok((limits['state'] == 'ok') == (r.code == 0), p, 'limits', f'{limits}\n{r}')
    ok(limits['state'] == 'ok' or limits['fix'], p, 'with a fix', limits)
    if r.code != 0:
        ok(b'no cgroup' in r.err and b'pale doctor' in r.err, p,
           'the refusal says why, and points here', r)
        p.write(p.ws / 'pale.toml', '[sandbox]\npreset = "build"\n')
        r = p.verb('doctor')
        ok(r.code == 1 and b'missing  default sandbox: cannot be enforced here: cpu' in r.out, p,
           'where the default sandbox needs them, that is not well', r)
        p.no_config()
        ok(p.verb('doctor').code == 0, p, 'twin: where it does not, it is')


def case_no_user_namespaces_LC09(p):
    """In a user namespace that allows no further ones."""
    inside = ['unshare', '--user', '--map-current-user', '--keep-caps', 'sh', '-c']
    line = f'echo BOOTED; echo 0 >{MAX} || exit 99; '
    r = p.run(*inside, f'{line} cat {MAX}')
    if r.code != 0:
        return skip(p, f'no outer namespace: {r.err!r}')
    ok(r.booted and r.rest == b'0\n', p, 'the outer one allows none')
    r = p.run(*inside, f'{line} exec "$0" doctor --json', p.pale_path)
    found = checks(type(r)(r.argv, r.code, r.rest, r.err, r.seconds))
    ok(r.booted and r.code == 1, p, 'not well', r)
    needed = {n for n, c in found.items() if c['needed'] and c['state'] != 'ok'}
    ok(needed == {'user namespaces', 'max_user_namespaces', 'default sandbox'}, p,
       'exactly that is missing', needed)
    fixes = [c['fix'] for c in found.values() if c['fix'] and 'sysctl' in c['fix']]
    ok(len(fixes) == 1 and fixes[0].startswith('sudo sysctl -w user.max_user_namespaces='), p,
       'and one command mends it', fixes)
    r = p.run(*inside, f'{line} "$0" run -- true; echo $?', p.pale_path)
    ok(r.booted and r.rest == b'125\n', p, 'a run indeed fails there', r)
    r = p.run(*inside, f'{line} exec "$0" status', p.pale_path)
    ok(r.booted and r.code == 1 and b'refused: user.max_user_namespaces is 0' in r.out, p,
       'status knows without trying', r)
    ok(b'user namespaces are refused here' in r.err, p, 'and says that nothing would run', r)
    if not p.is_root:  # this root would have too few ids for what root gets
        r = p.run(*inside, 'echo BOOTED; exec "$0" doctor', p.pale_path)
        ok(r.booted and r.code == 0, p, 'twin: with the setting left alone it is well', r)


def case_broken_configuration(p):
    p.write(p.ws / 'pale.toml', '[sandbox]\nprest = "build"\n')
    r = p.verb('doctor', '--json')
    found = checks(r)
    ok(r.code == 1 and found['configuration']['state'] == 'missing' and
       'prest' in found['configuration']['detail'], p, 'the file and the line are told', r)
    ok(found['user namespaces']['state'] == 'ok', p, 'the rest is looked at all the same')
    p.write(p.ws / 'pale.toml', '[sandbox]\n', mode=0o666)
    r = p.verb('doctor', '--json')
    ok(r.code == 1 and checks(r)['configuration']['state'] == 'missing', p,
       'so is a file that others can write', r)
    p.no_config()
    ok(p.verb('doctor').code == 0, p, 'twin: without the file it is well')


def case_state(p):
    state = p.mkdir(p.base / 'state')
    p.write(p.ws / 'pale.toml', '[sandbox]\npreset = "off"\n')
    p.verb('trust', '--yes')
    r = p.verb('doctor', '--json')
    ok(r.code == 0 and checks(r)['state directory']['state'] == 'ok', p, 'private', r)
    for d in (state / 'pale').iterdir():
        d.chmod(0o777)
    found = checks(p.verb('doctor', '--json'))['state directory']
    ok(found['state'] == 'weak' and 'chmod go-w' in found['fix'], p, 'open to others', found)
    ok(p.verb('status').code == 1 and p.pale('--', 'true').code == 125, p,
       'then nothing runs, and status knows')
    p.no_config()


def case_leaves_nothing(p):
    before = digest(p.ws, p.outside)
    mounts = open('/proc/self/mountinfo').read()
    for _ in range(3):
        p.verb('doctor')
    ok(digest(p.ws, p.outside) == before and open('/proc/self/mountinfo').read() == mounts, p,
       'the trial leaves no trace')
    r = p.verb('doctor')
    ok(r.seconds < 5, p, 'and is bounded', r.seconds)


main(case_well, case_limits, case_no_user_namespaces_LC09, case_broken_configuration, case_state,
     case_leaves_nothing, uids=(1000,))
