#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is done while a sandbox is built: on another processor, and by a helper that makes the
network. A command never sees the difference, and nothing starts where one of them fails."""
import socket
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

STRACE = shutil.which('strace')
TASKSET = shutil.which('taskset')
# Programs that read little: strace counts reads in each of them, see seems_idle().
LINE = ('echo BOOTED; readlink /proc/self/ns/net; cat /sys/class/net/lo/operstate 2>/dev/null; wc -l </proc/net/dev; '
        'exec 3<>/dev/tcp/127.0.0.1/"$0"')


def traced(p, *options, faults=(), one=False, idle=False, line=LINE, port=1, **kw):
    """A run, and what its processes did about namespaces. ONE: it has a single processor. IDLE: it
    believes that others have nothing to do."""
    log = p.base / 'trace'
    command = [p.pale_path, 'run', *options, '--', 'bash', '-c', line, str(port)]
    argv = [STRACE, '-f', '-qq', '-o', log, '-e', 'trace=clone3,unshare,setns,read']
    for fault in faults:
        argv += ['-e', f'inject={fault}']
    if idle:
        argv += ['-e', seems_idle(p, log, *command)]
    argv = ([TASKSET, '-c', str(min(os.sched_getaffinity(0)))] if one else []) + argv
    r = p.run(*argv, *command, **kw)
    text = log.read_text(errors='replace') if log.exists() else ''
    log.unlink(missing_ok=True)
    r.born = 'CLONE_NEWNET' in next((l for l in text.splitlines() if 'clone3(' in l), '')
    r.apart = any(w in text for w in ('unshare(CLONE_NEWNET', 'setns(')) and not r.born
    r.trace = text
    return r


def need(p):
    if not STRACE or not TASKSET or not shutil.which('bash'):
        skip(p, 'no strace, taskset or bash')
        return False
    if len(os.sched_getaffinity(0)) < 2:
        skip(p, 'one processor')
        return False
    return True


def judge(p, name, r, listener):
    listener.settimeout(0.05)
    try:
        listener.accept()[0].close()
        came = True
    except OSError:
        came = False
    host = os.readlink('/proc/self/ns/net').encode()
    ok(r.booted and host not in r.out and b'\n3\n' in r.out and r.code != 0 and not came, p,
       f'{name}: a network of its own, where nobody of the host listens', f'{r}\n{r.trace}')


def case_both_ways_are_private(p):
    if not need(p):
        return
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]
    r = traced(p, one=True, port=port)
    ok(r.born and not r.apart, p, 'with one processor the network comes with the sandbox', r.trace)
    judge(p, 'born with it', r, listener)
    r = traced(p, idle=True, port=port)
    ok(r.apart, p, 'with an idle one it is made apart', r.trace)
    judge(p, 'made apart', r, listener)
    r = p.run(p.pale_path, 'run', '--network', 'unrestricted', '--', 'bash', '-c', LINE, str(port))
    listener.settimeout(2)
    came = listener.accept()[0]
    ok(r.booted and r.code == 0 and came, p, 'twin: the listener is there for the network of the host', r)
    listener.close()


def case_processors_are_the_callers(p):
    if not need(p):
        return
    here = sorted(os.sched_getaffinity(0))
    wanted = subprocess.run(['grep', 'Cpus_allowed:', '/proc/self/status'], capture_output=True).stdout
    different = []
    for i in range(60):
        r = p.run(p.pale_path, 'run', '--', 'grep', 'Cpus_allowed:', '/proc/self/status')
        if r.out != wanted:
            different.append(str(r))
    ok(not different, p, '60 times: the command may use what its caller may', '\n'.join(different[:3]))
    one = str(here[-1])
    wanted = subprocess.run([TASKSET, '-c', one, 'grep', 'Cpus_allowed:', '/proc/self/status'], capture_output=True).stdout
    r = p.run(TASKSET, '-c', one, p.pale_path, 'run', '--', 'grep', 'Cpus_allowed:', '/proc/self/status')
    ok(r.out == wanted, p, 'and no more', r)


TURNS = ('import ctypes, struct; b = ctypes.create_string_buffer(48); ctypes.CDLL(None).syscall(315, 0, b, 48, 0); '
         'print(struct.unpack("IIQiIQQQ", b)[1:6])')  # policy, flags, nice, priority, slice


def case_turns_are_the_callers(p):
    """pale takes short ones while it builds and guards, which the command must not inherit."""
    for how in ((), ('nice', '-n', '7'), ('chrt', '-b', '0'), ('chrt', '-i', '0'), ('nice', '-n', '-5'), ('chrt', '-r', '1')):
        name = ' '.join(how) or 'as usual'
        twin = p.run(*how, '/usr/bin/python3', '-c', TURNS)
        if twin.code != 0 or b'cannot' in twin.err:
            continue  # not for everybody
        for options in ((), ('--processes', 'visible'), ('--staged',)) + ((('--engine', 'bwrap'),) if not p.is_root else ()):
            r = p.run(*how, p.pale_path, 'run', *options, '--', '/usr/bin/python3', '-c', TURNS)
            ok(r.code == 0 and r.out == twin.out, p, f"{name}, {' '.join(options) or 'default'}: it has its turns like its caller", f'{r}\n{twin}')
        runtime = p.mkdir(p.base / 'runtime')
        runtime.chmod(0o700)
        got = [p.run(*how, p.pale_path, 'exec', '--', '/usr/bin/python3', '-c', TURNS, env={'XDG_RUNTIME_DIR': str(runtime)}) for _ in range(3)]
        p.run(p.pale_path, 'session', 'stop', '--all', env={'XDG_RUNTIME_DIR': str(runtime)})
        ok(all(r.code == 0 and r.out == twin.out for r in got), p, f'{name}: and commands of a session like who started it', [twin, *got])


def case_the_helper_fails(p):
    """Then the child makes its own; what it cannot do either starts nothing."""
    if not need(p):
        return
    host = os.readlink('/proc/self/ns/net').encode()
    for fault in ('setns:error=EPERM', 'setns:error=EINVAL', 'setns:signal=SIGKILL', 'setns:signal=SIGSTOP', 'clone:error=EAGAIN'):
        r = traced(p, '--engine', 'native', faults=(fault,), idle=True)
        ok(not r.born and r.booted and host not in r.out and b'\n3\n' in r.out, p, f'{fault}: the network is private all the same', f'{r}\n{r.trace}')
    for fault in ('unshare:error=EPERM', 'unshare:error=ENOSPC', 'unshare:signal=SIGKILL', 'unshare:error=ENOMEM'):
        r = traced(p, '--engine', 'native', faults=(fault,), idle=True)
        ok(r.apart and r.code == 125 and not r.booted and host not in r.out and b'pale: ' in r.err, p,
           f'{fault}: nothing starts, and it is said', f'{r}\n{r.trace}')
    r = traced(p, faults=('unshare:error=EPERM',), idle=True)
    ok(r.apart and (not r.booted or (host not in r.out and r.code != 0)), p, 'and another engine is tried: its network is private, too',
       f'{r}\n{r.trace}')


def case_brokered_and_limited(p):
    if not need(p):
        return
    for options in (('--port', '1'), ('--pids', '200'), ('--staged',), ('--processes', 'visible')):
        r = traced(p, *options, idle=True)
        host = os.readlink('/proc/self/ns/net').encode()
        ok(r.apart and r.booted and host not in r.out, p, f"{' '.join(options)}: a network of its own, made apart", f'{r}\n{r.trace}')


main(case_both_ways_are_private, case_processors_are_the_callers, case_turns_are_the_callers, case_the_helper_fails, case_brokered_and_limited)
