#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sockets of the host's processes whose files a sandbox shows: none is reached unless it is named.

The verdict is the server's, on the host: how many came."""
import contextlib
import socket
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

KINDS = {'stream': socket.SOCK_STREAM, 'seqpacket': socket.SOCK_SEQPACKET, 'dgram': socket.SOCK_DGRAM}
OFF = ('--preset', 'off')
KNOCK = """
import os, socket, sys
for kind, name in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        s = socket.socket(socket.AF_UNIX, getattr(socket, 'SOCK_' + kind.upper()))
        s.connect(os.fsencode(name))
        s.send(b'hello')
        print(kind + '=ok', flush=True)
    except OSError as e:
        print(kind + '=' + str(e.errno), flush=True)
"""


class Server:
    """Bound on the host under NAME, seen from the folder AT; its file is PATH."""

    def __init__(self, name, kind='stream', at='/'):
        self.kind, here = kind, os.getcwd()
        self.socket = socket.socket(socket.AF_UNIX, KINDS[kind])
        os.chdir(at)
        try:
            self.socket.bind(os.fsencode(name))
            self.path = os.path.join(os.path.realpath(os.fsencode(os.path.dirname(name)) or b'.'), os.path.basename(os.fsencode(name)))
        finally:
            os.chdir(here)
        os.chmod(self.path, 0o777)
        if kind != 'dgram':
            self.socket.listen(16)
        self.socket.setblocking(False)

    def came(self):
        count = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                if self.kind == 'dgram':
                    self.socket.recv(64)
                else:
                    self.socket.accept()[0].close()
                count += 1
        return count

    def close(self):
        self.socket.close()
        with contextlib.suppress(OSError):
            os.unlink(self.path)


@contextlib.contextmanager
def servers(*all_of_them):
    try:
        yield all_of_them
    finally:
        for s in all_of_them:
            s.close()


def knock(p, *options, of, paths=None, **kw):
    """Whoever is named knocks at each of them, in the sandbox that OPTIONS make."""
    script = p.write(p.ws / 'knock.py', KNOCK)
    words = [w for i, s in enumerate(of) for w in (s.kind, (paths or [s.path for s in of])[i])]
    return p.sh(*options, '--', f'exec /usr/bin/python3 {script} "$@"', *words, **kw)


def closed(p, what, *options, of, paths=None, **kw):
    for s in of:
        s.came()
    r = knock(p, *options, of=of, paths=paths, **kw)
    came = [s.came() for s in of]
    return ok(r.booted and r.out.count(b'=') == len(of) and b'=ok' not in r.out and not any(came), p, what, f'{came} came\n{r}')


def reached(p, what, *options, of, paths=None, **kw):
    for s in of:
        s.came()
    r = knock(p, *options, of=of, paths=paths, **kw)
    came = [s.came() for s in of]
    return ok(r.booted and came == [1] * len(of), p, what, f'{came} came\n{r}')


def case_each_kind_NW05(p):
    with servers(*(Server(p.ws / kind, kind) for kind in KINDS)) as of:
        for options in p.each((), ('--filesystem', 'readonly'), ('--network', 'unrestricted'), ('--filesystem', 'unrestricted')):
            closed(p, f'in the workspace: {" ".join(options) or "as it is"}', *options, of=of)
        for options in modes(p, ('--processes', 'visible')):
            closed(p, 'in the workspace, where processes are visible', *options, of=of)
        reached(p, 'twin: when off', *OFF, of=of)


def case_that_somebody_is_connected_to(p):
    """As syslog(3) is: the kernel has the server for connected, then."""
    with servers(Server(p.ws / 'log', 'dgram')) as of:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        client.connect(bytes(of[0].path))
        for options in p.each((), ('--filesystem', 'unrestricted')):
            closed(p, f'a server with a client: {" ".join(options) or "as it is"}', *options, of=of)
        reached(p, 'twin: when off', *OFF, of=of)
        client.close()


def case_names(p):
    sub = p.mkdir(p.ws / 'sub')
    p.mkdir(sub / 'deep')
    link = p.base / 'link'
    link.symlink_to(sub)
    with servers(Server('plain', at=p.ws), Server('sub/deep/s', at=p.ws), Server('./sub/../dots', at=p.ws), Server('@at', at=p.ws),
                 Server(f'{p.ws}/new\nline'), Server(f'{p.ws}/\n00000000: 00000002 00000000 00010000 0001 01 77 x'),
                 Server(os.fsencode(p.ws) + b'/\xff\x01\xfe', 'dgram'), Server(f'{link}/linked'), Server(f'{link}/deep/../dots'),
                 Server(f'{p.ws}//sub/./slashes', 'seqpacket')) as of:
        closed(p, 'relative, through links, with newlines and odd bytes in them', of=of)
        reached(p, 'twin: when off', *OFF, of=of)
    p.write(p.ws / 'pale.toml', '')
    with servers(Server('from-below', at=sub)) as of:
        closed(p, 'relative to the folder that the command starts in', of=of, cwd=sub)
        reached(p, 'twin: when off', *OFF, of=of, cwd=sub)
    p.no_config()
    link.unlink()


def case_other_places(p):
    folder, chain = p.mkdir(p.base / 'shown/in'), p.mkdir(p.home / '.cargo/bin')
    link = p.base / 'to-shown'
    link.symlink_to(p.base / 'shown')
    with servers(Server(folder / 's'), Server(folder / 'd', 'dgram'), Server(f'{link}/in/linked'), Server('relative', at=p.base / 'shown')) as of:
        for option in '--read', '--write':
            closed(p, f'in a folder of {option}', option, p.base / 'shown', of=of)
        reached(p, 'twin: when off', *OFF, of=of)
    if not (ENGINE and p.is_root):  # as another user, these do not see root's home
        with servers(Server(chain / 's')) as of:
            closed(p, 'in a toolchain', of=of)
            reached(p, 'twin: when off', *OFF, of=of)
    link.unlink()


@needs('sockets')
def case_named(p):
    with servers(Server(p.ws / 'one'), Server(p.ws / 'two')) as (one, two):
        for options in ((), ('--filesystem', 'readonly'), ('--hide', p.ws / 'file'), ('--hide', p.ws / 'not-there')):
            r = knock(p, *options, '--socket', one.path, of=(one, two))
            ok(r.booted and (one.came(), two.came()) == (1, 0), p, f'the one that is named, and no other: {options}', r)
        p.config(f'[sandbox]\npreset = "mine"\n[presets.mine]\nsockets = ["{two.path.decode()}"]\n')
        r = knock(p, of=(one, two))
        ok(r.booted and (one.came(), two.came()) == (0, 1), p, 'named in the configuration', r)
        p.no_config()


REBIND = """
import os, socket
os.path.exists('old') and os.unlink('old')
s = socket.socket(socket.AF_UNIX); s.bind('old'); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect(os.getcwd() + '/old'); s.accept(); print('talked')
"""


@needs('sockets')
def case_made_inside(p):
    """By the command, and what a command or a server has left behind."""
    script = p.write(p.ws / 'rebind.py', REBIND)
    for what in 'made', 'left by the run before, and made again':
        r = p.sh(f'exec /usr/bin/python3 {script}')
        ok(r.booted and r.rest == b'talked\n' and (p.ws / 'old').is_socket(), p, f'a socket {what}', r)
    (p.ws / 'old').unlink()
    Server(p.ws / 'old').socket.close()
    os.chown(p.ws / 'old', p.owner, p.owner)
    r = p.sh(f'exec /usr/bin/python3 {script}')
    ok(r.booted and r.rest == b'talked\n', p, "the file of a host's server that has ended is made anew", r)
    (p.ws / 'old').unlink()
    with servers(Server(p.ws / 'old')) as of:
        r = p.sh(f'exec /usr/bin/python3 {script}')
        ok(r.booted and r.code != 0 and of[0].came() == 0 and (p.ws / 'old').is_socket(), p, 'twin: that of a living one is not', r)
        os.unlink(of[0].path)
        r = p.sh(f'exec /usr/bin/python3 {script}')
        ok(r.booted and r.rest == b'talked\n' and of[0].came() == 0, p, 'but when its name is free, it is', r)
        (p.ws / 'old').unlink()
        p.write(p.ws / 'old', 'a file\n')
        r = p.sh('cat old')
        ok(r.rest == b'a file\n', p, 'or another file', r)


@needs('ephemeral')
def case_overlays(p):
    """An overlay's files are others, to which nobody is bound. Nothing needs to be hidden."""
    with servers(*(Server(p.ws / kind, kind) for kind in KINDS)) as of:
        for options in (('--staged',), ('--filesystem', 'readonly', '--ephemeral')):
            closed(p, ' '.join(options), *options, of=of)
            r = p.sh(*options, '--', '[ -S stream ] && rm stream && echo removed')
            ok(r.rest == b'removed\n' and os.path.exists(of[0].path), p, f'{options[0]}: and its name can go', r)
            p.verb('discard', '--all')
        reached(p, 'twin: when off', *OFF, of=of)
    folder = p.mkdir(p.base / 'shown-as-well')
    with servers(Server(folder / 's')) as of:
        closed(p, 'staged, in a folder that is only read', '--staged', '--read', folder, of=of)
        closed(p, 'staged, in a folder that is written', '--staged', '--write', folder, of=of)
        reached(p, 'twin: when off', *OFF, of=of)
    p.verb('discard', '--all')


@needs('sockets')
def case_it_stays_in_its_place(p):
    """Under another name the next run would not find it."""
    deep = p.mkdir(p.ws / 'a/b')
    p.mkdir(p.ws / 'c/d')
    with servers(Server(deep / 's')) as of:
        r = p.sh('mv a/b/s s; ln a/b/s s; rm -f a/b/s; mv a/b b; mv a e; mv a/b/s a/s; mv c f && echo moved; touch a/b/new')
        ok(r.booted and b'moved\n' in r.out and (p.ws / 'f/d').is_dir() and (deep / 'new').exists(), p, 'folders without one are moved', r)
        ok(os.path.exists(of[0].path) and os.lstat(of[0].path).st_nlink == 1 and not (p.ws / 's').exists(), p, 'those of a socket are not', r)
        closed(p, 'and it is hidden still', of=of)
        reached(p, 'twin: when off', *OFF, of=of)
    shutil.rmtree(p.ws / 'f')


@needs('sockets')
def case_hard_links(p):
    p.mkdir(p.ws / 'other')
    with servers(Server(p.ws / 'first')) as (s,):
        os.link(s.path, p.ws / 'other/second')
        names = [s.path, p.ws / 'other/second']
        closed(p, 'under either name', of=(s, s), paths=names)
        r = knock(p, *OFF, of=(s, s), paths=names)
        ok(r.booted and s.came() == 2, p, 'twin: when off', r)
    (p.ws / 'other/second').unlink()


@needs('sockets')
def case_it_is_told(p):
    with servers(Server(p.ws / 'told')) as of:
        path = of[0].path.decode()
        r = p.pale('--explain', '--', 'true')
        ok(re.search(rf'^ *\d+ +hide +{re.escape(path)} optional$', r.out.decode(), re.M) and b'sockets         enforced    mounts' in r.out, p, '--explain', r)
        r = p.pale('--json', '--', '/usr/bin/python3', p.write(p.ws / 'knock.py', KNOCK), 'stream', path)
        got = [(v['dimension'], v['op'], v.get('path')) for v in r.json().get('violations', [])]
        ok(('sockets', 'connect', path) in got, p, 'the attempt is in the result', r)
        r = p.verb('why')
        ok(f'connect to {path}'.encode() in r.out and f'--socket {path}'.encode() in r.out, p, 'and why says how to allow it', r)


@needs('sockets')
def case_sessions(p):
    if ENGINE:
        return skip(p, 'sessions have the native engine', only_root=True)
    script = p.write(p.ws / 'knock.py', KNOCK)
    with servers(Server(p.ws / 'one'), Server(p.ws / 'two')) as (one, two):
        for options, want in ((), (0, 0)), (('--socket', one.path), (1, 0)):
            r = p.verb('session', 'start', *options)
            ok(r.code == 0, p, f'a session: {options}', r)
            for _ in range(2):
                r = p.verb('exec', '--', '/usr/bin/python3', script, 'stream', one.path, 'stream', two.path)
                came = one.came(), two.came()
                ok(r.out.count(b'stream=') == 2 and came == want, p, f'{came} came', r)
            p.verb('session', 'stop', 'default')


@needs('sockets')
@only_first
def case_without_netlink(p):
    """The names are in /proc/net/unix then, and any socket that is there under one counts."""
    if not shutil.which('strace'):
        return skip(p, 'no strace')
    script, trace = p.write(p.ws / 'knock.py', KNOCK), p.write(p.base / 'trace', '')
    with servers(Server(p.ws / 'plain'), Server('relative', 'dgram', at=p.ws), Server(f'{p.ws}/new\nline', 'seqpacket')) as of:
        words = [w for s in of for w in (s.kind, s.path)]
        r = p.run('strace', '-qq', '-o', trace, '-e', 'trace=sendto', '-e', 'inject=sendto:error=EPERM:when=1',
                  *p.pale_argv('--', '/usr/bin/python3', script, *words))
        came = [s.came() for s in of]
        first = next(line for line in trace.read_bytes().split(b'\n') if line.startswith(b'sendto('))  # it also has calls that strace does not know
        ok(b'INJECTED' in first and r.out.count(b'=13') == 3 and not any(came), p, 'they are hidden all the same', f'{came} came\n{r}')
        reached(p, 'twin: when off', *OFF, of=of)
    Server(p.ws / 'stale').socket.close()
    r = p.sh('rm -f stale && echo removed')
    ok(r.rest == b'removed\n', p, 'twin: one that nobody has is not', r)


CHURN = """
import os, socket, sys, threading
def churn(n):
    while True:
        folder = f'churn-{n}'
        os.makedirs(folder + '/in', exist_ok=True)
        s = socket.socket(socket.AF_UNIX); s.bind(folder + '/in/s'); s.listen()
        os.unlink(folder + '/in/s'); os.rmdir(folder + '/in'); os.rmdir(folder); s.close()
for n in range(3):
    threading.Thread(target=churn, args=(n,), daemon=True).start()
print('ready', flush=True)
sys.stdin.read()
"""


@needs('sockets')
def case_they_come_and_go(p):
    """While a sandbox is made. That is no reason not to make it."""
    if ENGINE == 'bwrap':
        return skip(p, 'bubblewrap ends where a folder that it was given has gone', only_root=True)
    churn = p.start('/usr/bin/python3', '-c', CHURN, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    churn.stdout.readline()
    with servers(Server(p.ws / 'stays')) as of:
        runs = [knock(p, of=of) for _ in range(40)]
        ok(len(runs) == 40 and all(r.booted and r.out.count(b'=13') == 1 for r in runs) and of[0].came() == 0, p, f'{len(runs)} runs, and what stays is hidden',
           next((r for r in runs if not r.booted or b'=13' not in r.out), None))
        reached(p, 'twin: when off', *OFF, of=of)
    churn.communicate()
    shutil.rmtree(p.ws / 'churn-0', ignore_errors=True)


main(case_that_somebody_is_connected_to, case_each_kind_NW05, case_names, case_other_places, case_named, case_made_inside, case_overlays, case_it_stays_in_its_place, case_hard_links,
     case_it_is_told, case_sessions, case_without_netlink, case_they_come_and_go)
