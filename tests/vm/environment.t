#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The machine is what the tests of limits need: systemd, cgroup v2, and for an
ordinary user a subtree of their own. PALE_VM_AS says as whom this runs."""
import os
import pathlib
import subprocess
import sys

AS = os.environ.get('PALE_VM_AS')
CGROUP = pathlib.Path('/sys/fs/cgroup')
WANTED = {'memory', 'pids'}
count = failed = 0


def ok(cond, name, why=''):
    global count, failed
    count += 1
    failed += not cond
    print(f"{'ok' if cond else 'not ok'} {count} - [{AS}] {name}", flush=True)
    if not cond:
        note(why)
    return cond


def note(text):
    for line in str(text).splitlines():
        print('#', line, flush=True)


def run(*argv):
    r = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout, r.stderr


def words(path):
    return set(path.read_text().split())


def attempt(action, *args):
    """None, or the error."""
    try:
        action(*args)
    except OSError as e:
        return e


def own_cgroup():
    lines = pathlib.Path('/proc/self/cgroup').read_text().splitlines()
    ok(len(lines) == 1 and lines[0].startswith('0::/'), 'this process is in one hierarchy', lines)
    note(f'/proc/self/cgroup: {lines[0]}')
    return lines[0].partition('::')[2]


def check_machine():
    ok(pathlib.Path('/proc/1/comm').read_text() == 'systemd\n', 'systemd is process 1')
    mounts = [line.split() for line in open('/proc/self/mounts')]
    kinds = [(m[1], m[2]) for m in mounts if m[2].startswith('cgroup')]
    ok(kinds == [('/sys/fs/cgroup', 'cgroup2')], 'cgroup v2 alone is mounted', kinds)
    have = words(CGROUP / 'cgroup.controllers')
    ok(have >= WANTED, 'the kernel has the controllers memory and pids', have)
    note(f'controllers of the kernel: {" ".join(sorted(have))}')
    ok(os.listdir('/sys/class/net') == ['lo'], 'there is no network')


def in_group(group, *argv):
    """Start ARGV in GROUP; its status, or None where it may not go in."""
    def enter():
        (group / 'cgroup.procs').write_text(str(os.getpid()))
    try:
        return subprocess.run(argv, preexec_fn=enter, capture_output=True).returncode
    except subprocess.SubprocessError:
        return None


def check_limits(top, may_enter):
    """TOP is a group to work below. The limit of processes is seen to hold, where
    somebody may go in at all."""
    work = top / f'pale-{os.getpid()}'
    leaf = work / 'leaf'
    err = attempt((top / 'cgroup.subtree_control').write_text, '+memory +pids')
    ok(not err, 'controllers can be enabled for what is below', err)
    if not ok(not (err := attempt(work.mkdir)), 'a group can be made', err):
        return
    err = attempt((work / 'cgroup.subtree_control').write_text, '+memory +pids')
    ok(not err, 'and there they can be enabled again', err)
    leaf.mkdir()
    ok(words(leaf / 'cgroup.controllers') >= WANTED, 'a group below that has both')
    err = attempt((leaf / 'memory.max').write_text, str(64 << 20))
    ok(not err and (leaf / 'memory.max').read_text() == f'{64 << 20}\n', 'memory.max can be set', err)
    fork = ('sh', '-c', '(exit 7); exit $?')
    status = in_group(leaf, *fork)
    ok(status == (7 if may_enter else None),
       f'a process {"can" if may_enter else "of the session cannot"} go in', status)
    err = attempt((leaf / 'pids.max').write_text, '1')
    status = in_group(leaf, *fork)
    if may_enter:
        ok(not err and status not in (None, 0, 7), 'and under pids.max=1 it cannot fork', (err, status))
    for group in (leaf, work):
        ok(not (err := attempt(group.rmdir)), f'{group.name} can be removed', err)


def check_scope(below, *manager):
    code, out, err = run('systemd-run', *manager, '--scope', '--quiet', '--collect',
                         '-p', 'MemoryMax=64M', '-p', 'TasksMax=50', 'sh', '-c',
                         'g=$(cut -d: -f3 /proc/self/cgroup); echo $g; '
                         'cat /sys/fs/cgroup$g/memory.max /sys/fs/cgroup$g/pids.max; exit 7')
    lines = out.split()
    ok(code == 7 and lines[1:] == [str(64 << 20), '50'] and lines[0].startswith(below + '/'),
       f'systemd-run {" ".join(manager)} --scope runs a command with limits', (code, out, err))
    note(f'its scope: {lines[:1]}')


def main():
    me = own_cgroup()
    check_machine()
    if AS == 'root':
        ok(os.geteuid() == 0 and me == '/system.slice/pale-tests.service', 'a service of root', me)
        # With a process in it, a group cannot give controllers to what is below: up one.
        check_limits(CGROUP / 'system.slice', True)
        check_scope('/system.slice')
        return
    slice_ = '/user.slice/user-1000.slice'
    manager = f'{slice_}/user@1000.service'
    ok(os.geteuid() == 1000, 'an ordinary user', os.geteuid())
    ok(os.environ.get('XDG_RUNTIME_DIR') == '/run/user/1000', 'with a session', dict(os.environ))
    place = f'{manager}/' if AS == 'user' else f'{slice_}/session-'
    ok(AS in ('user', 'login') and me.startswith(place), f'in {place}...', me)
    delegated = words(CGROUP / manager[1:] / 'cgroup.controllers')
    ok(delegated >= WANTED, 'memory and pids are delegated to the user', delegated)
    note(f'delegated: {" ".join(sorted(delegated))}')
    check_limits(CGROUP / manager[1:], AS == 'user')
    for group in (slice_, '/system.slice'):
        err = attempt((CGROUP / group[1:] / 'pale').mkdir)
        ok(isinstance(err, PermissionError), f'nothing can be made in {group}', err)
    check_scope(manager, '--user')


main()
print(f'1..{count}')
sys.exit(failed > 0)
