#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The engine without namespaces: what it holds by Landlock and seccomp alone, and
what it refuses to try. Root becomes the owner of the workspace."""
import ctypes
import socket
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

ENGINE = ('--engine', 'landlock', '--processes', 'visible')
OFF = ('--preset', 'off')
OWNER = 1000


def owned(p):
    """Root runs it in somebody else's workspace."""
    if p.is_root:
        for d, _, files in os.walk(p.ws):
            for name in [d] + [os.path.join(d, f) for f in files]:
                os.chown(name, OWNER, OWNER)
    return p.uid or OWNER


def as_owner(p, *argv, **kw):
    """A program of the user that the command will be."""
    return subprocess.Popen([SETPRIV, f'--reuid={p.uid or OWNER}', f'--regid={p.uid or OWNER}', '--clear-groups', *argv]
                            if os.geteuid() == 0 else argv, **kw)


def python(p, text, *options, **kw):
    p.write(p.ws / 'try.py', 'print("BOOTED", flush=True)\n' + text)
    owned(p)
    return p.pale(*options, '--', '/usr/bin/python3', '-B', 'try.py', **kw)


def case_files_FR01_FW01(p):
    uid = owned(p)
    mine = p.mkdir(p.base / 'mine')
    secret = p.write(mine / 'secret', 'CANARY\n', 0o644)
    os.chown(mine, uid, uid), os.chown(secret, uid, uid)
    line = (f'cat {secret}; cat {p.home}/.ssh/id_rsa; ls {mine}; echo x >>{secret}; echo x >{mine}/new; rm -f {secret}; '
            f'mv {secret} .; ln {secret} l; mkdir {mine}/d; truncate -s 0 {secret}; ln -s x {mine}/l; cp /bin/true {mine}/; '
            'echo x >/etc/x; echo x >/tmp/pale-x; echo x >/dev/shm/pale-x; cat /run/* 2>/dev/null; '
            f'cd {mine} && echo x >rel; exec 9<{secret}')
    before = digest(mine, p.outside, p.home)
    r = p.sh(*ENGINE, '--', line)
    ok(r.booted and b'CANARY' not in r.out and b'secret' not in r.out, p, 'nothing outside is read', r)
    ok(digest(mine, p.outside, p.home) == before, p, 'nor changed')
    ok(not os.path.exists('/tmp/pale-x') and not os.path.exists('/dev/shm/pale-x'), p, 'the shared folders are closed')
    r = p.sh(*OFF, '--', f'cat {secret}; echo x >>{secret}') if not p.is_root else None
    ok(p.is_root or (b'CANARY' in r.out and digest(mine, p.outside, p.home) != before), p, 'twin: off', r)
    r = p.sh(*ENGINE, '--', 'echo new >file && mkdir -p a b && mv file a/ && mv a b/ && cat b/a/file && cat /etc/passwd | wc -l')
    ok(r.booted and r.code == 0 and r.rest.startswith(b'new\n'), p, 'the workspace and the system are there', r)
    ok((p.ws / 'b/a/file').stat().st_uid == uid, p, 'what is made belongs to the owner')
    p.write(p.ws / 'file', 'mine\n')
    owned(p)
    r = p.sh(*ENGINE, '--filesystem', 'readonly', '--', 'cat file; echo x >file; rm -f file; : >new')
    ok(r.booted and b'mine' in r.out and (p.ws / 'file').read_text() == 'mine\n' and not (p.ws / 'new').exists(), p,
       'readonly', r)
    r = p.sh(*ENGINE, '--read', mine, '--', f'cat {secret}; echo x >>{secret}')
    ok(b'CANARY' in r.out and digest(mine) and secret.read_text().count('x') <= 1, p, 'a readable path is read', r)
    out = p.mkdir(p.base / 'out')
    os.chown(out, uid, uid)
    r = p.sh(*ENGINE, '--write', out, '--', f'echo done >{out}/f')
    ok((out / 'f').read_text() == 'done\n', p, 'a writable path is written', r)


def case_descriptors_FW07_FR12(p):
    owned(p)
    f = p.write(p.outside / 'given', 'as it was\n', 0o666)
    with open(f, 'rb') as stdin:
        r = p.sh(*ENGINE, '--', 'cat /dev/stdin; echo changed >/dev/stdin', stdin=stdin)
    ok(r.booted and b'as it was' in r.out and f.read_text() == 'as it was\n', p, 'stdin is read, and not written', r)
    with open(p.home / '.ssh/id_rsa') as leak:
        r = p.sh(*ENGINE, '--', f'cat <&{leak.fileno()}; ls /proc/self/fd', pass_fds=(leak.fileno(),))
    ok(r.booted and b'CANARY' not in r.out, p, 'no other descriptor is passed', r)


def case_no_network_NW01(p):
    text = '''
import socket, sys
made = []
for family in range(0, 46):
    for kind in (1, 2, 3, 5):
        try: socket.socket(family, kind); made.append((family, kind))
        except OSError: pass
print("made", made)
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    try:
        a, b = socket.socketpair(socket.AF_UNIX, kind); a.send(b"x"); print("pair", int(kind), b.recv(1) == b"x")
    except OSError as e: print("pair", int(kind), e.errno)
'''
    r = python(p, text, *ENGINE)
    ok(r.booted and b'made []' in r.out, p, 'no socket of any family', r)
    ok(b'pair 1 True\npair 5 True\npair 2 1\n' in r.out, p, 'pairs of streams work, those of datagrams do not', r)
    r = python(p, text, *OFF)
    ok(r.booted and b'(1, 1)' in r.out and b'(2, 1)' in r.out and b'pair 2 True' in r.out, p, 'twin: off', r)


def case_sockets_of_the_host_NW05(p):
    owned(p)
    path = f'/tmp/pale-live-{os.getpid()}-{p.uid}'
    listeners = []
    for address in (path, '\0' + path):
        s = socket.socket(socket.AF_UNIX)
        s.bind(address)
        s.listen(8)
        s.settimeout(0.3)
        listeners.append(s)
    os.chmod(path, 0o777)
    tcp = socket.create_server(('127.0.0.1', 0))
    tcp.settimeout(2)
    text = f'''
import socket
for address in ({path!r}, "\\0" + {path!r}):
    try: socket.socket(socket.AF_UNIX).connect(address)
    except OSError as e: print(e)
socket.create_connection(("127.0.0.1", {tcp.getsockname()[1]}), 2)
print("tcp")
'''

    def came():
        n = 0
        for s in listeners:
            try:
                s.accept()
                n += 1
            except TimeoutError:
                pass
        return n
    r = python(p, text, *ENGINE, '--network', 'unrestricted')
    ok(r.booted and came() == 0, p, 'unix sockets of the host are out of reach', r)
    ok(b'tcp' in r.out, p, 'the network is there when it is unrestricted', r)
    r = python(p, text, *OFF)
    ok(came() == 2, p, 'twin: off', r)
    for s in listeners + [tcp]:
        s.close()
    os.unlink(path)


def case_processes_PR01(p):
    owned(p)
    victim = as_owner(p, 'sleep', '300', env={'SECRET': 'CANARY-ENV', 'PATH': CLEAN_PATH})
    try:
        pid = victim.pid
        wait_for(lambda: b'sleep' in open(f'/proc/{pid}/cmdline', 'rb').read())
        line = (f'kill -9 {pid}; kill -STOP {pid}; tr "\\0" "\\n" </proc/{pid}/environ; cat /proc/{pid}/maps /proc/{pid}/mem; '
                f'ls /proc/{pid}/root/ /proc/{pid}/cwd/ /proc/{pid}/fd; echo 1000 >/proc/{pid}/oom_score_adj; '
                f'renice 19 {pid}; kill -9 -1')
        r = p.sh(*ENGINE, '--', line)
        ok(r.booted and alive(pid) and b'CANARY' not in r.out and b'libc' not in r.out, p, 'no signal, no look inside', r)
        ok(open(f'/proc/{pid}/oom_score_adj').read().strip() != '1000' and
           open(f'/proc/{pid}/stat').read().split()[18] != '19', p, 'no settings of others')
        r = p.sh(*OFF, '--', f'tr "\\0" "\\n" </proc/{pid}/environ; kill -9 {pid}')
        ok(b'CANARY-ENV' in r.out and wait_for(lambda: victim.poll() is not None), p, 'twin: off', r)
    finally:
        victim.kill()
        victim.wait()
    r = p.sh(*ENGINE, '--', 'sleep 60 & kill -9 $! && wait $!; echo $?')
    ok(r.rest.strip() == b'137', p, 'its own can be signalled', r)


def case_ptrace_and_ipc(p):
    uid = owned(p)
    libc = ctypes.CDLL(None, use_errno=True)
    key = 0x70616c00 + p.uid % 250
    shm = libc.shmget(key, 4096, 0o1666)
    text = f'''
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def say(name, r): print(name, "ok" if r >= 0 else ctypes.get_errno())
say("traceme", libc.ptrace(0, 0, 0, 0))
say("shm", libc.shmget({key}, 0, 0))
say("sem", libc.semget(0, 1, 0o1600))
say("msg", libc.msgget(0, 0o1600))
try: os.chmod("file", 0o4755); print("suid ok")
except OSError: print("suid 1")
say("unshare", libc.unshare(0x10000000))
say("chroot", libc.chroot(b"."))
say("setuid", libc.setuid(0))
'''
    r = python(p, text, *ENGINE)
    ok(r.booted and r.rest.split() == b'traceme 1 shm 1 sem 1 msg 1 suid 1 unshare 1 chroot 1 setuid 1'.split(), p,
       'tracing, System V IPC, namespaces, ids', r)
    r = python(p, text, *OFF)
    ok(r.booted and b'shm ok' in r.out and b'suid ok' in r.out, p, 'twin: off', r)
    (p.ws / 'file').chmod(0o644)
    libc.shmctl(shm, 0, None)
    r = p.sh(*ENGINE, '--', 'cat /proc/self/status; id -u; id -G')
    status = dict(l.split(':\t', 1) for l in r.out.decode().splitlines() if ':\t' in l)
    ok(status.get('CapEff') == status.get('CapPrm') == status.get('CapInh') == status.get('CapAmb') == '0' * 16, p,
       'no capabilities', r)
    ok(not p.is_root or status['CapBnd'] == '0' * 16, p, "nor root's bounding set", status)
    ok(status['NoNewPrivs'] == '1' and status['Seccomp'] == '2', p, 'no new privileges, a filter', status)
    ok(status['Uid'].split() == [str(uid)] * 4 and status['Gid'].split() == [str(uid)] * 4, p, 'nothing of root is left', status)


def case_nothing_outlives_PR13(p):
    owned(p)
    m = mark()
    r = p.sh(*ENGINE, '--', f'setsid sh -c "sleep 300; : {m}" & (sleep 300; : {m}) & sleep 0.2')
    ok(r.booted and r.code == 0 and not marked(m), p, 'what is left is ended', r)
    proc = p.start_pale(*ENGINE, '--', 'sh', '-c', f'echo BOOTED; setsid sh -c "sleep 300; : {m}" & sleep 300; : {m}',
                        stdout=subprocess.PIPE)
    ok(proc.stdout.readline() == BOOTED and wait_for(lambda: len(marked(m)) >= 2), p, 'it runs')
    proc.kill()
    proc.wait()
    ok(wait_for(lambda: not marked(m)), p, 'it ends when pale is killed', marked(m))
    r = p.sh(*ENGINE, '--timeout', '300ms', '--', 'trap "" TERM; sleep 60', timeout=20)
    ok(r.code == 124, p, 'and on time', r)


FLOOD = 700  # processes at once; the probe ends them after ten seconds whatever happens


def tasks():
    """How many there are; one look, since in a flood there may be no time for another."""
    with open('/proc/loadavg') as f:
        return int(f.read().split()[3].split('/')[1])


@only_first
def case_floods_end_on_time(p):
    """What makes processes faster than anybody could kill them one by one."""
    owned(p)
    for kind in ('swell', 'hop'):
        m = mark()
        r = p.pale(*ENGINE, '--timeout', '1s', '--', './probe', 'flood', str(FLOOD), kind, m)
        ok(r.out == b'flood\n' and r.code == 124 and 2.2 <= r.seconds < 4, p,
           f'{kind}: ends within two seconds of its time, or three on a busy machine', r)
        ok(not marked(m), p, f'{kind}: and nothing is left', marked(m))
        before = tasks()
        proc = p.start_pale(*ENGINE, '--', './probe', 'flood', str(FLOOD), kind, m, stdout=subprocess.PIPE)
        ok(proc.stdout.readline() == b'flood\n' and wait_for(lambda: tasks() > before + FLOOD / 16, 9), p, f'{kind}: twin: it is a flood')
        begin = time.monotonic()
        proc.kill()
        ok(wait_for(lambda: not marked(m)), p, f'{kind}: ends with pale', marked(m))
        ok(time.monotonic() - begin < 5, p, f'{kind}: soon', time.monotonic() - begin)
        proc.wait()


def case_refusals(p):
    owned(p)
    p.write(p.ws / '.env', 'SECRET\n')
    state = p.mkdir(p.base / 'state/pale', 0o700)
    for name, options, words in (
            ('isolated', ('--engine', 'landlock'), b'--allow-degraded processes'),
            ('ephemeral', ENGINE + ('--filesystem', 'readonly', '--ephemeral'), b'--engine native'),
            ('tmpfs', ENGINE + ('--tmpfs', '64m'), b'no private /tmp'),
            ('caches', ENGINE + ('--cache', '~/.cache/thing'), b'cannot do caches'),
            ('nested', ENGINE + ('--nested',), b'cannot mount'),
            ('hidden in the workspace', ENGINE + ('--hide', str(p.ws / '.env')), b'cannot hide'),
            ('the whole root', ENGINE + ('--read', '/'), b'cannot do paths_readable'),
            ("pale's own files, readable", ENGINE + ('--read', str(p.base)), b'cannot hide'),
            ("pale's own files, writable", ENGINE + ('--write', str(state.parent)), b'cannot hide')):
        r = p.sh(*options, '--', 'touch ran')
        ok(r.code == 125 and not r.booted and words in r.err and not (p.ws / 'ran').exists(), p, name, r)
    (p.ws / '.env').unlink()
    r = p.sh('--engine', 'landlock', '--allow-degraded', 'processes', '--hide', '~/.ssh', '--', 'touch ran')
    ok(r.booted and (p.ws / 'ran').exists(), p, 'twin: what is allowed by name runs', r)
    (p.ws / 'ran').unlink()
    p.no_config()


@only_root
def case_root_in_its_own_workspace(p):
    for d, _, files in os.walk(p.ws):
        for name in [d] + [os.path.join(d, f) for f in files]:
            os.chown(name, 0, 0)
    r = p.sh(*ENGINE, '--', 'id -u')
    ok(r.code == 125 and not r.booted and b'--allow-degraded filesystem' in r.err, p, 'is refused', r)
    r = p.sh(*ENGINE, '--allow-degraded', 'filesystem', '--', f'id -u; cat /etc/shadow; cat {p.home}/.ssh/id_rsa; echo x >/etc/pale-x')
    ok(r.booted and b'0\n' in r.out and b'CANARY' not in r.out and not os.path.exists('/etc/pale-x'), p,
       'unless allowed by name; contents are held even so', r)


def scratch_of(p):
    return [d for d in os.listdir('/tmp') if d.startswith(f'pale-{p.uid}-')]


def case_scratch_RS13_LC07(p):
    uid = owned(p)
    r = p.sh(*ENGINE, '--', 'cd "$TMPDIR" && stat -c "%a %u" . && echo x >f && mktemp -u | grep -c "^$TMPDIR/" && ls -A')
    ok(r.rest == f'700 {uid}\n1\nf\n'.encode(), p, 'a folder of its own for temporary files', r)
    ok(not scratch_of(p), p, 'it is gone afterwards', scratch_of(p))
    r = python(p, """
import os
os.chdir(os.environ["TMPDIR"])
for i in range(3000):
    os.mkdir("d"); open("f", "w").close(); os.symlink("/etc", "l"); os.chdir("d")
os.chdir(os.environ["TMPDIR"]); os.mkdir("locked"); os.mkdir("locked/in"); os.chmod("locked", 0); os.chmod(".", 0)
print("deep")
""", *ENGINE)
    ok(b'deep' in r.out and not scratch_of(p), p, 'however deep, and without permissions', (r.out, r.err, scratch_of(p)))
    ok(os.path.exists('/etc/passwd'), p, 'what a link in it leads to is left alone')
    proc = p.start_pale(*ENGINE, '--', 'sh', '-c', 'echo x >$TMPDIR/left; echo BOOTED; sleep 60', stdout=subprocess.PIPE)
    ok(proc.stdout.readline() == BOOTED and len(scratch_of(p)) == 1, p, 'in use')
    r = p.sh(*ENGINE, '--', 'ls -A "$TMPDIR"; ls /tmp/pale-*')
    ok(r.rest == b'' and len(scratch_of(p)) == 1, p, 'another run leaves it alone, and does not see it', r)
    proc.kill()
    proc.wait()
    ok(wait_for(lambda: not scratch_of(p)), p, 'it goes when pale is killed', scratch_of(p))
    left = f'/tmp/pale-{p.uid}-0123456789abcdef'
    p.run('mkdir', '-p', f'{left}/d')
    p.sh(*ENGINE, '--', 'true')
    ok(not scratch_of(p), p, 'what is left nevertheless goes with the next run', scratch_of(p))
    r = p.sh(*ENGINE, '--setenv', 'TMPDIR=/elsewhere', '--', 'echo $TMPDIR')
    ok(r.rest == b'/elsewhere\n', p, 'who sets TMPDIR knows better', r)


def case_scratch_of_many_at_once(p):
    """Each run removes what others left, and must not take what others are just making for that."""
    owned(p)
    line = 'for i in $(seq 40); do "$@" || exit; done'
    loops = [p.start('sh', '-c', line, 'sh', p.pale_path, 'run', *ENGINE, '--', 'true', stderr=subprocess.PIPE)
             for _ in range(4)]
    ends = [(loop.communicate(timeout=120)[1], loop.returncode) for loop in loops]
    ok(all(code == 0 for _, code in ends), p, '160 runs, four at a time', ends)


@only_first
def case_programs(p):
    owned(p)
    r = p.sh(*ENGINE, '--', 'git init -q r && cd r && echo a >a && git add a && git -c user.name=a -c user.email=a@b commit -qm x && '
             'git log --oneline | wc -l')
    ok(r.rest == b'1\n', p, 'git', r)
    p.write(p.ws / 'hello.c', '#include <stdio.h>\nint main(void){return puts("built")<0;}\n')
    owned(p)
    r = p.sh(*ENGINE, '--', 'gcc -o hello hello.c && ./hello && echo x >/dev/null && head -c 3 /dev/zero | wc -c')
    ok(r.rest == b'built\n3\n', p, 'a compiler, which needs a folder for temporary files', r)


main(case_files_FR01_FW01, case_descriptors_FW07_FR12, case_no_network_NW01,
     case_sockets_of_the_host_NW05, case_processes_PR01, case_ptrace_and_ipc,
     case_nothing_outlives_PR13, case_floods_end_on_time, case_scratch_RS13_LC07, case_scratch_of_many_at_once, case_refusals,
     case_root_in_its_own_workspace, case_programs)
