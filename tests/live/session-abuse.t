#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a command of a session does to who called it, to the keeper, and to those that come after it."""
import struct
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from box import *

CALLER = '''sleep 30 &
echo $! >"$1/bystander"
echo $$ >"$1/harness"
shift
"$@"
echo $? >"$0.status"
'''


def state(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0]
    except FileNotFoundError:
        return 'gone'


def case_stops_itself(p):
    """With a limit somebody holds it. Without a terminal its stops are nobody's business."""
    with Box(p, 'stops') as box:
        ok(box.start().code == 0, p, 'a session stands')
        seen = p.mkdir(p.base / f'seen-{time.time_ns()}')
        script = p.write(seen / 'caller', CALLER)
        for name, argv, wanted in (('exec, held', ['exec', '-s', 's', '--timeout', '1s', '--'], '124'), ('run', ['run', '--timeout', '1s', '--'], '124')):
            (seen / 'caller.status').unlink(missing_ok=True)
            # not an orphaned group: somebody of its session is its parent
            proc = p.start('sh', '-c', 'set -m; sh "$@" & wait', 'sh', script, seen, p.pale_path, *argv, 'sh', '-c', 'echo BOOTED >booted; kill -STOP $$',
                           cwd=box.ws, env=box.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            ended = wait_for(lambda: (seen / 'caller.status').exists() and (seen / 'caller.status').read_text().strip() == wanted, 8)
            bystander = int((seen / 'bystander').read_text())
            ok(ended and (box.ws / 'booted').exists() and state(bystander) == 'S', p, f'{name}: the time is up, and nobody else stops', state(bystander))
            (box.ws / 'booted').unlink(missing_ok=True)
            os.kill(bystander, signal.SIGKILL)
            subprocess.run(['pkill', '-KILL', '-s', str(proc.pid)])
            proc.wait()


def case_a_shell_that_cannot_begin(p):
    with Box(p, 'begins') as box:
        ok(box.start().code == 0, p, 'a session stands')
        for who in ('by the warden', 'by who waits'):
            r = box.verb('exec', '-s', 's', '--shell', '--cwd', 'gone', '--', 'true')
            ok(r.code == 125 and b'gone' in r.err, p, f'{who}: nothing ran, and why is told', r)
            box.sh('true')
            time.sleep(0.3)
        ok(box.verb('exec', '-s', 's', '--shell', '--', 'true').code == 0, p, 'twin: one that can')


def case_a_limit_of_files(p):
    with Box(p, 'limit') as box:
        r = p.run('sh', '-c', 'ulimit -f 500; exec "$@"', 'sh', p.pale_path, 'session', 'start', 's', cwd=box.ws, env=box.env)
        ok(r.code == 0, p, 'a session stands, started with a limit of file sizes', r)
        run = box.verb('exec', '-s', 's', '--background', '--', 'sh', '-c', 'yes | head -c 1000000; exit 3').out.decode().strip()
        time.sleep(0.5)
        r = box.verb('wait', '-s', 's', run)
        ok(r.code == 3, p, 'one that prints more than that takes nobody along', r)
        ok(box.sh('exit 4').code == 4, p, 'and others run')


def case_no_room(p):
    """The folder of the session is full. What is known is told, and what was lost is not waited for."""
    if os.geteuid() != 0:
        skip(p, 'only root can make a small disk', only_root=True)
        return
    with Box(p, 'room') as box:
        small = p.mkdir(p.base / f'small-{time.time_ns()}')
        subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size=1m,mode=700,uid={p.uid},gid={p.uid}', 'none', small], check=True)
        box.env = dict(box.env, XDG_RUNTIME_DIR=str(small))
        try:
            ok(box.start().code == 0, p, 'a session stands')
            filler = small / 'filler'
            run = box.verb('exec', '-s', 's', '--background', '--', 'sh', '-c', 'until [ -e go ]; do sleep 0.02; done; yes | head -c 100000; exit 3').out.decode().strip()
            with open(filler, 'wb', buffering=0) as file:
                try:
                    while True:
                        file.write(b'x' * 4096)
                except OSError:
                    pass
            p.write(box.ws / 'go', '')
            r = box.verb('wait', '-s', 's', run)
            ok(r.code == 3, p, 'its status is known', r)
            r = box.verb('output', '-s', 's', run, timeout=10)
            ok(r.code is not None and b'gave up' not in r.err, p, 'its output comes to an end', (r.code, len(r.out)))
            filler.unlink()
            ok(box.sh('exit 4').code == 4, p, 'and others run')
            box.verb('session', 'stop', 's')
        finally:
            subprocess.run(['umount', '-l', small])


def case_a_body_that_changes(p):
    """A request in a file that nobody has sealed is none."""
    with Box(p, 'seals') as box:
        ok(box.start().code == 0, p, 'a session stands')
        argv, none = ['/bin/sh', '-c', 'exit 9'], (1 << 64) - 1
        body = (struct.pack('<5Q5I', *[none] * 5, len(argv), 1, 0, 0, 0) + bytes(68) + struct.pack('<I', 18)).ljust(136, b'\0')
        body += b''.join(word.encode() + b'\0' for word in ['/', *argv, 'A=b'])
        asks = p.write(p.base / 'ask.py', ASK)
        path = next(pathlib.Path(box.env['XDG_RUNTIME_DIR']).rglob('s/socket'))
        p.write(p.base / 'body', body)
        for kind, wanted in (('sealed', b'69 9\n'), ('memfd', b'refused\n'), ('file', b'refused\n')):
            r = p.run('/usr/bin/python3', asks, path, p.base / 'body', kind)
            ok(r.out == wanted, p, f'{kind}: ' + wanted.decode().strip(), r)


ASK = r'''
import array, fcntl, os, socket, struct, sys
path, body, kind = sys.argv[1], open(sys.argv[2], 'rb').read(), sys.argv[3]
null = os.open('/dev/null', os.O_RDWR)
if kind == 'file':
    fd = os.open(sys.argv[2], os.O_RDWR)
else:
    fd = os.memfd_create('body', os.MFD_ALLOW_SEALING)
    os.write(fd, body)
if kind == 'sealed':
    fcntl.fcntl(fd, 1033, 0xf)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.settimeout(8)
os.chdir(os.path.dirname(path))
s.connect(os.path.basename(path))
s.sendmsg([struct.pack('<IHHII', 0x656c6170, 1, 1, 1, len(body))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [null] * 3 + [fd]))])
try:
    answer = s.recv(70000)
except OSError:
    answer = b''
print(*struct.unpack('<Hxxxxxxxxi', answer[6:20])) if len(answer) > 20 else print('refused')
'''


def case_refused_but_told(p):
    """Verbs that ask every session are refused by some."""
    with Box(p, 'told') as box:
        ok(box.start().code == 0, p, 'a session stands')
        for verb, code in ((('session', 'list'), 0), (('output', '1a'), 2), (('wait', '1a'), 125), (('signal', 'TERM', '1a'), 2)):
            r = p.run('setpriv', '--no-new-privs', p.pale_path, *verb, cwd=box.ws, env=box.env)
            ok(r.code == code, p, f'{verb[0]}: without new privileges it ends in order', r)
        r = box.verb('session', 'list')
        ok(r.code == 0 and b'?' not in r.out, p, 'twin: who is served', r)


def case_no_descriptors(p):
    with Box(p, 'full') as box:
        r = p.run('sh', '-c', 'ulimit -n 80; exec "$@"', 'sh', p.pale_path, 'session', 'start', 's', cwd=box.ws, env=box.env)
        ok(r.code == 0, p, 'a session stands, with few descriptors', r)
        results = [box.verb('exec', '-s', 's', '--background', '--', 'sleep', '60') for _ in range(40)]
        ok(results[0].code == 0 and results[-1].code != 0, p, 'so many commands that it has none left', results[-1])
        waiting = [p.start(p.pale_path, 'exec', '-s', 's', '--', 'sleep', '5', cwd=box.ws, env=box.env, stderr=subprocess.PIPE) for _ in range(8)]
        time.sleep(0.5)
        said = [w.stderr.read() for w in waiting if w.poll() is not None]
        ok(any(b'no descriptors' in text for text in said) and not any(b'confined' in text for text in said), p, 'it says that', said)
        begin = time.monotonic()
        r = box.verb('session', 'stop', 's')
        ok(r.code == 0 and time.monotonic() - begin < 4, p, 'and can be stopped at once', (r, time.monotonic() - begin))
        for w in waiting:
            w.wait()


def case_what_it_was_started_with(p):
    with Box(p, 'args') as box:
        box.verb('exec', '--setenv', 'TOKEN=s3cr3t', '--', 'true')
        r = box.verb('exec', '--', 'sh', '-c', 'echo BOOTED "[$TOKEN]"; cat /proc/*/cmdline | tr "\\0" " "')
        ok(b'BOOTED []' in r.out and b's3cr3t' not in r.out, p, 'none of it is left to the next command', r)
        r = box.verb('exec', '--setenv', 'TOKEN=s3cr3t', '--', 'sh', '-c', 'echo "[$TOKEN]"')
        ok(r.out == b'[s3cr3t]\n', p, 'twin: who is given it has it', r)
        box.verb('session', 'stop', 'default')


main(case_stops_itself, case_a_shell_that_cannot_begin, case_a_limit_of_files, case_no_room, case_a_body_that_changes, case_what_it_was_started_with,
     case_refused_but_told, case_no_descriptors)
