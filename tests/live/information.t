#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a command learns about the machine and its user."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


def case_machine_IN05(p):
    line = ('cat /etc/machine-id /var/lib/dbus/machine-id /sys/class/dmi/id/* /sys/class/net/*/address '
            '2>/dev/null; ls /sys/class/dmi /dev/disk 2>/dev/null; hostname; uname -n')
    inside, outside = p.sh(line), p.host_sh(line)
    ok(inside.booted, p, 'started', inside)
    said = set(inside.rest.split()) - {b'pale', b'00:00:00:00:00:00'}
    ok(not said, p, 'no serial number, address or name of the machine', said)
    ok(len(set(outside.rest.split())) > 1, p, 'twin: outside the same line finds some', outside)


@needs('hidden')
def case_machine_shown_IN05(p):
    """Its id has a second name, which is shown with what is around it."""
    line = 'cat /etc/machine-id /var/lib/dbus/machine-id 2>/dev/null'
    outside = p.host_sh(line)
    if not outside.rest:
        return skip(p, 'this machine has no id', only_root=True)
    for options in (('--read', '/var'), ('--read', '/'), ('--read', '/var/lib/dbus')):
        r = p.sh(*options, '--', line)
        ok(r.booted and r.rest == b'', p, f'{" ".join(options)}: the id of the machine is not to be seen', r)


def case_mounts_IN07(p):
    r = p.sh('cat /proc/self/mountinfo')
    state = str(p.base / 'state').encode()
    ok(r.booted and b' / ' in r.rest, p, 'the mount table can be read', r)
    ok(state not in r.rest and b'.ssh' not in r.rest, p, "nothing of pale's own in it", r)


def case_groups_IN09(p):
    r = p.sh('id -u; id -g; id -G')
    uid, gid, groups = r.rest.split(b'\n')[:3]
    ok(r.booted and int(uid) == p.ws.stat().st_uid, p, 'one uid', r)
    ok(groups == gid, p, 'no group but one', r)
    if p.is_root:
        return
    with_groups = [SETPRIV, f'--reuid={p.uid}', f'--regid={p.uid}', f'--groups={p.uid},27']
    if os.geteuid() != 0:
        return
    result = p.base / 'groups.json'
    proc = subprocess.run(with_groups + [p.pale_path, 'run', '--result', result, '--', 'true'],
                          cwd=p.ws, env=p.env)
    verdict = json.loads(result.read_text())['enforced'].get('groups', {})
    ok(proc.returncode == 0 and verdict.get('state') == 'degraded', p,
       'groups that only root could drop are reported', verdict)


@only_root
def case_groups_of_root_IN09(p):
    result = p.base / 'groups.json'
    subprocess.run([SETPRIV, '--groups=0,27,999', p.pale_path, 'run', '--result', result, '--',
                    'sh', '-c', 'test "$(id -G)" = "$(id -g)"'], cwd=p.ws, env=p.env, check=True)
    ok('groups' not in json.loads(result.read_text())['enforced'], p, 'dropped, and not worth a word')


def case_leftovers_IN15(p):
    p.sh('echo secret > /tmp/left; echo secret > /dev/shm/left; echo secret > ~/left; '
         'echo secret > /var/tmp/left; echo secret > /run/left 2>/dev/null')
    r = p.sh('cat /tmp/left /dev/shm/left ~/left /var/tmp/left /run/left; ls -A /tmp ~ | grep left')
    ok(r.booted and b'secret' not in r.out and b'left' not in r.rest, p,
       'nothing of an earlier run can be seen', r)
    r = p.sh('echo secret > kept; cat kept')
    again = p.sh('cat kept')
    ok(b'secret' in again.out, p, 'twin: what is in the workspace stays', again)
    (p.ws / 'kept').unlink()


def case_hidden_files_leave_no_trace_IN11(p):
    secret = p.home / '.ssh/id_rsa'
    line = f'stat -c %s {secret}; ls -la {p.home}/.ssh; test -e {secret} && echo THERE; stat -f {p.home}/.ssh'
    r = p.sh(line)
    ok(r.booted and b'THERE' not in r.out and b'id_rsa' not in r.out, p, 'no name, size or time', r)
    ok(b'THERE' in p.host_sh(line).out, p, 'twin: outside there are')


def case_stdin_IN13(p):
    r = p.run('sh', '-c', f'echo typed | {p.pale_path} run -- sh -c "cat; echo BOOTED" < /dev/null')
    ok(r.booted and b'typed' not in r.out, p, 'stdin is what was given, and nothing else', r)


main(case_machine_IN05, case_machine_shown_IN05, case_mounts_IN07, case_groups_IN09, case_groups_of_root_IN09,
     case_leftovers_IN15, case_hidden_files_leave_no_trace_IN11, case_stdin_IN13, uids=(1000,))
