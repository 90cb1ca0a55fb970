#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who must not reach a session: other users, what runs inside, and nonsense at its socket.

SESSION_NOISE sets how many malformed messages are sent (2000).
"""
import array
import random
import socket
import struct
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from box import Box

NOISE = int(os.environ.get('SESSION_NOISE', '2000'))
MAGIC, VERSION = 0x656c6170, 1
EXEC, TELL, END, OUTPUT, WAIT, SIGNAL, STOP, INFO = range(1, 9)
ERROR, STARTED, RESULT, FACTS = 64, 68, 69, 72
BACKGROUND = 2

# Run as anybody: ask the socket below folder ARGV[1] for facts, and for a command in the background.
CLIENT = r'''
import os, socket, struct, sys
MAGIC, EXEC, INFO = 0x656c6170, 1, 8
def ask(kind, flags, body):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(5)
    os.chdir(os.path.dirname(sys.argv[1]))  # a whole path may be too long for an address
    s.connect(os.path.basename(sys.argv[1]))
    s.send(struct.pack('=IHHII', MAGIC, 1, kind, flags, len(body)) + body)
    got = s.recv(65536)
    return struct.unpack('=IHHII', got[:16])[2] if len(got) >= 16 else 'closed'
never = 2 ** 64 - 1
fixed = struct.pack('=5Q5I', never, never, never, never, never, 3, 0, 0, 0, 0)
fixed += b'\0' * (int(sys.argv[3]) - len(fixed))
argv = b''.join(x.encode() + b'\0' for x in ('/bin/sh', '-c', 'echo ran >>' + sys.argv[4]))
for kind, flags, body in ((INFO, 0, b''), (EXEC, 2, fixed + sys.argv[2].encode() + b'\0' + argv)):
    try:
        print(ask(kind, flags, body), end=' ')
    except OSError as e:
        print(type(e).__name__, end=' ')
'''


def fixed_size(p):
    """Of struct session_exec: five u64, five u32, the terminal."""
    built = p.base.parent / 'bin/size'
    if not built.exists():
        source = '#include "session/session-proto.h"\n#include <stdio.h>\nint main(void) { printf("%zu", sizeof(struct session_exec)); }\n'
        subprocess.run(['gcc', '-D_GNU_SOURCE', f'-I{TOP}/src', '-x', 'c', '-', '-o', built], input=source.encode(), check=True)
    return subprocess.run([built], capture_output=True, check=True).stdout.decode()


def ask_as(p, uid, box):
    """What CLIENT says, run as UID."""
    return p.run(SETPRIV, f'--reuid={uid}', f'--regid={uid}', '--clear-groups', '/usr/bin/python3', '-c', CLIENT, box.socket, box.ws, fixed_size(p),
                 box.ws / 'made').out.decode().split() if os.geteuid() == 0 and p.uid == 0 else \
        subprocess.run(([SETPRIV, f'--reuid={uid}', f'--regid={uid}', '--clear-groups'] if os.geteuid() == 0 else []) +
                       ['/usr/bin/python3', '-c', CLIENT, str(box.socket), str(box.ws), fixed_size(p), str(box.ws / 'made')],
                       capture_output=True).stdout.decode().split()


def refused(got):
    """Told so, or cut off before it could be: a matter of who is faster."""
    return len(got) == 2 and set(got) <= {str(ERROR), 'closed', 'BrokenPipeError', 'ConnectionResetError'}


def case_another_user(p):
    if os.geteuid() != 0:
        return skip(p, 'only root can be somebody else', only_root=True)
    with Box(p, 'other') as box:
        box.start()
        ok(ask_as(p, p.uid, box) == [str(FACTS), str(STARTED)] and wait_for(lambda: (box.ws / 'made').exists()), p,
           'the user reaches it by hand', ask_as(p, p.uid, box))
        others = [uid for uid in (0, 1000, 54321, 65534) if uid != p.uid]
        for uid in others:
            got = ask_as(p, uid, box)
            ok(refused(got) if uid == 0 else got == ['PermissionError', 'PermissionError'], p, f'uid {uid}: the folder lets nobody in', got)
        # everything open, on purpose: the keeper looks at who asks
        for path in [box.runtime, *box.runtime.rglob('*')]:
            path.chmod(0o777)
        for d in (box.top, box.top.parent, p.base, p.base.parent):
            d.chmod(d.stat().st_mode | 0o055)
        for uid in others:
            got = ask_as(p, uid, box)
            ok(refused(got), p, f'uid {uid}: refused at an open door', got)
        ok((box.ws / 'made').read_text().count('ran') == 2 or wait_for(lambda: (box.ws / 'made').read_text().count('ran') == 2), p,
           'what others asked for was not run', (box.ws / 'made').read_text())
        box.runtime.chmod(0o700)
        for uid in [u for u in others if u]:
            r = subprocess.run([SETPRIV, f'--reuid={uid}', f'--regid={uid}', '--clear-groups', str(p.pale_path), 'exec', '-s', 's', '--workspace', str(box.ws),
                                '--', 'true'], env=dict(box.env, HOME='/nonexistent'), cwd='/', capture_output=True)
            ok(r.returncode == 125, p, f'uid {uid}: nor by pale exec with the same variables', r)


def case_foreign_runtime_folder(p):
    """A folder that is not the user's alone is not used."""
    with Box(p, 'foreign') as box:
        for mode, owner in ((0o755, p.uid), (0o770, p.uid), (0o700, 65534 if p.uid != 65534 else 1)):
            if owner != p.uid and os.geteuid() != 0:
                continue
            bad = p.mkdir(box.top / f'bad-{mode:o}-{owner}', mode)
            if os.geteuid() == 0:
                os.chown(bad, owner, owner)
            env = dict(box.env, XDG_RUNTIME_DIR=str(bad))
            r = box.start(env=env)
            ok(r.code == 0 and not list(bad.iterdir()) and list((box.state / 'pale/run').rglob('socket')), p,
               f'mode {mode:o} of uid {owner}: in the state instead', r)
            ok(box.verb('exec', '-s', 's', '--', 'true', env=env).code == 0, p, 'where exec finds it')
            box.verb('session', 'stop', 's', env=env)
        deep = box.private('d' * 100)
        long = deep / ('e' * 100)
        long.mkdir(0o700)
        if os.geteuid() == 0:
            os.chown(long, p.uid, p.uid)
        env = dict(box.env, XDG_RUNTIME_DIR=str(long))
        r = box.start(env=env)
        ok(r.code == 0 and box.verb('exec', '-s', 's', '--', 'echo', 'x', env=env).out == b'x\n', p, 'a path that is longer than an address', r)
        box.verb('session', 'stop', 's', env=env)


def self_owned(p, *paths):
    for path in paths if os.geteuid() == 0 else ():
        os.chown(path, p.uid, p.uid)


def case_squatters(p):
    with Box(p, 'squat') as box:
        box.start()
        folder = box.socket.parent
        box.verb('session', 'stop', 's')
        ws = folder.parent
        (box.top / 'elsewhere').mkdir()
        for name in (folder, ws):
            if name == folder:
                ws.mkdir(0o700, exist_ok=True)
                self_owned(p, ws)
            else:
                shutil.rmtree(ws, ignore_errors=True)
            name.symlink_to(box.top / 'elsewhere')
            r = box.start()
            ok(r.code == 125 and not list((box.top / 'elsewhere').iterdir()), p, f'a link in place of {name.name} is not followed', r)
            name.unlink()
        shutil.rmtree(ws, ignore_errors=True)
        victim = p.write(box.top / 'victim', 'precious\n')
        for name in ('lock', 'session', 'socket'):
            folder.mkdir(0o700, parents=True, exist_ok=True)
            (folder / name).symlink_to(victim)
            self_owned(p, ws, folder)
            r = box.start()
            ok(victim.read_text() == 'precious\n' and r.code == (125 if name == 'lock' else 0), p, f'nor one in place of its {name}', r)
            box.verb('session', 'stop', 's')
            (folder / name).unlink(missing_ok=True)
        ws.mkdir(exist_ok=True)
        self_owned(p, ws)
        ws.chmod(0o777)
        r = box.start()
        ok(r.code == 125 and b'not yours alone' in r.err, p, 'a folder that others can write is refused', r)
        ws.chmod(0o700)


REACH = r'''
import os, socket, sys
path, found = sys.argv[1], []
for d, dirs, files in os.walk(sys.argv[2]):
    found += [os.path.join(d, f) for f in files + dirs if f in ('socket', 'lock', 'session')]
print('walk', len(found))
for at in [path] + ['/proc/%d/root%s' % (n, path) for n in (1, 2)]:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        s.connect(at if len(at) < 100 else '/proc/self/fd/%d/socket' % os.open(os.path.dirname(at), os.O_RDONLY))
        print('reached')
    except OSError as e:
        print('no', e.errno)
for pid in os.listdir('/proc'):
    if pid.isdigit() and int(pid) != os.getpid():
        try:
            for fd in os.listdir('/proc/%s/fd' % pid):
                link = os.readlink('/proc/%s/fd/%s' % (pid, fd))
                if 'socket' in link and pid == '1':
                    print('reached', link)
        except OSError:
            pass
print('fds', sorted(int(x) for x in os.listdir('/proc/self/fd'))[:4])
'''


@needs('isolated')
def case_from_inside(p):
    for options in ((), ('--read', 'TOP'), ('--write', 'TOP')):
        with Box(p, 'inside') as box:
            options = [str(box.top) if o == 'TOP' else o for o in options]
            p.write(box.ws / 'reach.py', REACH)
            # the kind of folder that check_own asks for
            if '--write' in options:
                for name in ('config', 'config/pale', 'state/pale'):
                    box.private(name)
                p.write(box.top / 'config/pale/pale.toml', '')
                self_owned(p, box.top / 'config/pale/pale.toml')
            r = box.start(*options)
            ok(r.code == 0, p, f'{options[:1]}: it stands', r)
            path = str(box.socket)
            r = box.sh(f'/usr/bin/python3 reach.py {path} {box.top}')
            ok(r.booted and b'walk 0' in r.out and b'reached' not in r.out and r.out.count(b'no ') == 3 and b'fds [0, 1, 2' in r.out, p,
               f'{options[:1]}: a command finds no way to the socket', r)
            twin = p.run('/usr/bin/python3', box.ws / 'reach.py', path, box.top)
            ok(b'reached' in twin.out and b'walk 0' not in twin.out, p, f'{options[:1]}: outside there is one', twin)


@needs('isolated')
def case_a_run_that_was_there_first(p):
    """A run that is shown the place where sessions are going to be."""
    with Box(p, 'first') as box:
        p.write(box.ws / 'wait.sh', 'echo BOOTED; while ! [ -e go ]; do sleep 0.02; done; find "$1" -name socket; ls "$1/runtime/pale" && echo seen')
        run = p.start_pale('--read', str(box.top), '--', 'sh', 'wait.sh', str(box.top), cwd=box.ws, env=box.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        run.stdout.readline()
        box.start()
        ok(box.socket.exists(), p, 'a session comes later')
        p.write(box.ws / 'go', '')
        out = run.communicate(timeout=20)[0]
        ok(b'socket' not in out and b'seen' not in out, p, 'the run does not see it', out)


def case_confined_elsewhere(p):
    """Who is confined, and sees the socket all the same, is of the same uid: and is refused."""
    with Box(p, 'elsewhere') as box:
        box.start()
        other = p.mkdir(box.top / 'other')
        p.write(other / 'ask.py', CLIENT)
        p.write(box.top / 'ask.py', CLIENT)
        args = (str(box.socket), str(box.ws), fixed_size(p), str(box.ws / 'made'))
        # another XDG_RUNTIME_DIR: nothing says that this one is to be hidden
        env = dict(box.env, XDG_RUNTIME_DIR=str(box.private('another')), XDG_STATE_HOME=str(box.private('third')))
        engine = ENGINE_OPTIONS if ENGINE else ()
        for options in (('--read', str(box.runtime)), ('--read', str(box.top)), ('--filesystem', 'unrestricted')):
            if ENGINE and options[0] != '--read':
                continue
            r = p.pale(*engine, *options, '--', 'sh', '-c', 'echo BOOTED; ls -d "$1" && exec /usr/bin/python3 ask.py "$@"', 'sh', *args, cwd=other, env=env)
            ok(r.booted and args[0].encode() in r.out and refused(r.out.decode().split()[2:]), p, f'{options}: it sees the socket, and is refused', r)
        time.sleep(0.3)
        ok(not (box.ws / 'made').exists(), p, 'nothing was run for it')
        mapped = () if p.uid == 0 else ('-r',)
        for name, wrap in (('no new privileges', (SETPRIV, '--no-new-privs')), ('a mount namespace', ('unshare', '-m', *mapped)),
                           ('a namespace of pids', ('unshare', '-pf', *mapped)), ('a user namespace', ('unshare', '-r'))):
            if p.run(*wrap, 'true').code == 0:
                got = p.run(*wrap, '/usr/bin/python3', box.top / 'ask.py', *args).out.decode().split()
                ok(refused(got), p, f'{name}: refused', got)
                said = [p.run(*wrap, p.pale_path, 'exec', '-s', 's', '--', 'true', cwd=box.ws, env=box.env).err for _ in range(8)]
                ok(all(b'not for who is confined' in err for err in said), p, f'{name}: and pale exec says why', said)
        got = p.run('/usr/bin/python3', box.top / 'ask.py', *args).out.decode().split()
        ok(got == [str(FACTS), str(STARTED)] and wait_for(lambda: (box.ws / 'made').exists()), p, 'who is not is served', got)
        r = box.sh('echo fine')
        ok(r.rest == b'fine\n', p, 'and pale exec', r)


@needs('whole')
def case_before_the_folder_is_made(p):
    """filesystem = unrestricted, and no session was ever there."""
    with Box(p, 'before') as box:
        p.write(box.ws / 'wait.sh', 'echo BOOTED; while ! [ -e go ]; do sleep 0.02; done; find "$1/runtime" -name socket; ls "$1/runtime"; ls "$1/runtime/pale/"* && echo seen')
        run = p.start_pale('--filesystem', 'unrestricted', '--', 'sh', 'wait.sh', str(box.top), cwd=box.ws, env=box.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        run.stdout.readline()
        box.start()
        ok(box.socket.exists(), p, 'a session comes later')
        p.write(box.ws / 'go', '')
        out = run.communicate(timeout=20)[0]
        ok(b'socket' not in out and b'seen' not in out and b'pale\n' in out, p, 'the run does not see it', out)


def case_noise(p):
    """Malformed messages: an error or the end of the connection, and others are served."""
    if os.geteuid() != p.uid:
        return skip(p, 'only for who the test itself is', only_root=True)
    with Box(p, 'noise') as box:
        box.start()
        chance = random.Random(7)
        size = int(fixed_size(p))
        keeper = box.pid()

        def connect():
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.settimeout(10)
            s.connect(f'/proc/self/fd/{os.open(box.socket.parent, os.O_RDONLY)}/socket')
            return s

        def message():
            kind = chance.choice((EXEC, EXEC, EXEC, TELL, END, OUTPUT, WAIT, SIGNAL, INFO, 0, 9, 64, 65535))
            body = chance.randbytes(chance.choice((0, 1, 8, size - 1, size, size + 1, 300, 3000)))
            if kind == EXEC and chance.random() < 0.7:
                never = 2 ** 64 - 1
                body = struct.pack('=5Q5I', *[chance.choice((never, 0, 1))] * 5, *(chance.choice((0, 1, 3, 70000, 2 ** 32 - 1)) for _ in range(3)), 0, 0)
                body += b'\0' * (size - len(body)) + b'/\0' + b'x\0' * chance.randrange(6)
            length = chance.choice((len(body), len(body), len(body), len(body) + 1, 0, 2 ** 32 - 1))
            head = struct.pack('=IHHII', chance.choice((MAGIC, MAGIC, MAGIC, 0)), chance.choice((1, 1, 1, 2)), kind, chance.getrandbits(11), length)
            return (head + body)[:chance.choice((10 ** 6, 10 ** 6, 3, 15))]

        answers, s = 0, connect()
        for n in range(NOISE):
            fds = [0] * chance.choice((0, 0, 0, 1, 3, 4, 5, 9))
            try:
                s.sendmsg([message()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else [])
                s.settimeout(0.002)
                answers += bool(s.recv(70000))
            except TimeoutError:
                pass
            except OSError:
                s.close()
                s = connect()
            if chance.random() < 0.05:
                s.close()
                s = connect()
        s.close()
        r = box.sh('echo fine')
        ok(r.rest == b'fine\n' and box.pid() == keeper, p, f'{NOISE} messages, {answers} answers, and it serves', r)
        fds = len(os.listdir(f'/proc/{keeper}/fd'))
        ok(fds < 60, p, 'no descriptor is left', fds)
        # more connections than it takes
        many = []
        try:
            for _ in range(400):
                many.append(connect())
        except OSError:
            pass
        many and [c.close() for c in many]
        # it may have them to close yet
        ok(wait_for(lambda: box.sh('echo fine').rest == b'fine\n'), p, f'after {len(many)} connections at once')


@needs('isolated')
def case_limits_of_pid_1(p):
    with Box(p, 'limits') as box:
        ok(box.start().code == 0, p, 'it stands')
        r = box.sh('prlimit --pid 1 --nofile=3:3; echo $?; prlimit --pid 1 --fsize=0; echo $?; prlimit --pid 1 --cpu=1; echo $?')
        ok(r.booted and r.rest == b'1\n1\n1\n', p, "a command cannot set the warden's limits", r)
        r = box.sh('echo fine > file; cat file; prlimit --nofile=9:9 sh -c "ulimit -n"')
        ok(r.rest == b'fine\n9\n', p, 'the next one works, and can set its own', r)


def case_tampering_of_those_left_behind(p):
    if ENGINE == 'landlock':
        return skip(p, 'landlock opens the workspace as a whole', only_root=True)

    def tampered(box):
        return [(e['run'], e['code'], (e['data'] or {}).get('path')) for e in box.verb('events', '-n', '0', '-j').json()
                if e['kind'] == 'sandbox.tamper']
    with Box(p, 'tamper') as box:
        ok(box.start().code == 0, p, 'it stands')
        r = box.sh('(sleep 0.5; echo evil > .envrc; sleep 300) > /dev/null 2>&1 &')
        ok(r.booted and tampered(box) == [], p, 'a command leaves somebody behind', r)
        time.sleep(1)
        got = tampered(box)
        ok(not (box.ws / '.envrc').exists() and got == [(None, 'quarantined', str(box.ws / '.envrc'))], p,
           'what he does to a protected name is in the history at once', got)
        box.verb('session', 'stop', 's')
        ok(tampered(box) == got, p, 'and once', tampered(box))


def case_names_of_the_host(p):
    if ENGINE == 'landlock':
        return skip(p, 'landlock opens the workspace as a whole', only_root=True)
    with Box(p, 'names') as box:
        ok(box.start().code == 0, p, 'it stands')
        ok(box.sh('true').booted and box.verb('exec', '--', 'true').code == 0, p, 'and so does the default one')
        time.sleep(0.5)
        p.mkdir(box.ws / '.vscode')
        time.sleep(0.5)
        ok((box.ws / '.vscode').is_dir(), p, 'a folder of the host stays')
        r = box.sh('touch .vscode/evil')
        ok(r.code == 125 and b'.vscode was made' in r.err, p, 'a command is refused', r)
        r = box.verb('exec', '--', 'sh', '-c', 'echo BOOTED; touch .vscode/evil')
        ok(r.booted and r.code != 0 and not (box.ws / '.vscode/evil').exists(), p, 'the default session is started anew, and keeps it', r)
        ok((box.ws / '.vscode').is_dir(), p, 'which stays')


def case_sockets_that_are_passed(p):
    """A client may be started by anybody with anything on its descriptors."""
    listener = socket.create_server(('127.0.0.1', 0))
    pair = socket.socketpair()
    with Box(p, 'passed') as box, listener, pair[0], pair[1], socket.create_connection(listener.getsockname()) as passed:
        ok(box.start().code == 0, p, 'it stands')
        r = box.sh('echo hello >&0', stdin=passed)
        ok(r.code == 125 and not r.booted and b'descriptor 0' in r.err, p, 'a socket of the network is refused', r)
        r = box.sh('echo hello >&0', stdin=pair[1])
        ok(r.booted and pair[0].recv(64) == b'hello\n', p, 'twin: a pair of local ones works', r)


main(case_sockets_that_are_passed, case_another_user, case_foreign_runtime_folder, case_squatters, case_from_inside, case_a_run_that_was_there_first, case_confined_elsewhere, case_before_the_folder_is_made, case_limits_of_pid_1,
     case_tampering_of_those_left_behind, case_names_of_the_host, case_noise)
