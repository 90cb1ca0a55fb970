#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attempts from the list of boundary checks that no other test makes. The id of each
check is in the name of its case; NOT-TESTED.md says what has none, and why."""
import ctypes
import fcntl
import socket
import struct
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

PYTHON = '/usr/bin/python3'
OFF = ('--preset', 'off')
LIBC = ctypes.CDLL(None, use_errno=True)
HEAD = '''
import ctypes, os, sys
print("BOOTED", flush=True)
libc = ctypes.CDLL(None, use_errno=True)
def say(name, r):
    print(name, "ok" if r >= 0 else ctypes.get_errno(), flush=True)
def attempt(name, f, *args, **kw):
    try: f(*args, **kw); print(name, "ok", flush=True)
    except OSError as e: print(name, e.errno, flush=True)
'''


def python(p, text, *options, argv=(), **kw):
    """A hostile script in the sandbox; and the same outside when OPTIONS is (None,)."""
    p.write(p.ws / 'try.py', HEAD + text)
    argv = [PYTHON, '-B', 'try.py', *map(str, argv)]
    r = p.run(*argv, **kw) if options == (None,) else p.pale(*options, '--', *argv, **kw)
    (p.ws / 'try.py').unlink()
    return r


def case_lying_command_ME03(p):
    """What the command says about itself is not what is reported."""
    lie = '{"outcome":"ok","exit_code":0,"enforced":{}}\\n'
    line = f'for fd in 1 2 3 4 5 6 7 8 9; do printf \'{lie}\' >&$fd; done 2>/dev/null; printf \'{lie}\' >result.json; exit 3'
    r = p.sh('--result', p.base / 'result.json', '--', line)
    j = json.loads((p.base / 'result.json').read_text())
    ok(r.booted and r.code == 3 and j['exit_code'] == 3 and j['outcome'] == 'failed' and j['enforced'], p,
       'the result is of the supervisor', f'{j}\n{r}')
    r = p.pale('--json', '--', 'sh', '-c', 'echo BOOTED; ' + line)
    ok(r.booted and r.code == 3 and r.json().get('exit_code') == 3, p, 'and its stream holds nothing else', r)
    ok(b'"exit_code":0' in r.err, p, 'twin: the lie was told', r)
    (p.ws / 'result.json').unlink()


def case_other_peoples_files_FR09(p):
    other = p.base.parent / 'somebody'
    other.mkdir(exist_ok=True)
    (other / 'secret').write_text('CANARY-OTHER\n')
    line = f'cat {other}/secret; ls {other}; cat /root/.bashrc /root/.profile /etc/sudoers /etc/gshadow'
    r = p.sh(line)
    ok(r.booted and b'CANARY' not in r.out and r.rest == b'', p, "nothing of others, of root's, of what is root's alone", r)
    r = p.sh(*OFF, '--', line)
    ok(r.booted and b'CANARY-OTHER' in r.out, p, 'twin: off', r)


def case_logs_and_crashes_FR17(p):
    if os.geteuid() != 0:
        return skip(p, 'only root can plant there', only_root=True)
    planted = []
    for d in ('/var/log', '/var/crash', '/var/lib/systemd/coredump', '/var/spool'):
        if os.path.isdir(d):
            planted.append(pathlib.Path(d) / f'pale-live-{os.getpid()}')
            planted[-1].write_text('CANARY-LOG\n')
            planted[-1].chmod(0o644)
    line = 'cat "$@"; cat /swapfile /dev/snapshot /var/log/dmesg; true'
    r = p.sh('--', line, *map(str, planted))
    ok(r.booted and r.rest == b'' and planted, p, f'{len(planted)} folders of logs and dumps are not there', r)
    r = p.sh(*OFF, '--', line, *map(str, planted))
    ok(r.out.count(b'CANARY-LOG') >= 1, p, 'twin: off', r)
    for f in planted:
        f.unlink()


@needs('ephemeral')
def case_hard_link_to_a_file_outside_FW05(p):
    target = p.write(p.outside / 'linked', 'mine\n')
    (p.ws / 'hard').unlink(missing_ok=True)
    os.link(target, p.ws / 'hard')
    line = 'echo EVIL >>hard; cat hard'
    r = p.sh('--filesystem', 'readonly', '--ephemeral', '--', line)
    ok(r.booted and b'EVIL' in r.out and target.read_text() == 'mine\n', p, 'ephemeral: written inside, not outside', r)
    r = p.sh('--filesystem', 'readonly', '--', line)
    ok(r.booted and target.read_text() == 'mine\n', p, 'readonly: not written', r)
    r = p.sh('--', line)
    ok(r.booted and target.read_text() == 'mine\nEVIL\n', p,
       'twin: a workspace that is written directly holds the file itself', r)
    (p.ws / 'hard').unlink()
    target.unlink()


# In a mount namespace of its own the covers can be detached, all at once. What was a
# mount point is an ordinary name then, for who still holds a descriptor of its folder.
DETACH = '''
uid, gid = os.getuid(), os.getgid()
folder = os.open("kept", os.O_RDONLY | os.O_DIRECTORY)
say("unshare", libc.unshare(0x10020000))
for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
    attempt(name, lambda: open("/proc/self/" + name, "w").write(text))
say("mount", libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
attempt("mkdir", os.mkdir, "/tmp/old")
say("pivot_root", libc.syscall(PIVOT_ROOT, b"/tmp", b"/tmp/old"))
os.chdir("/")
say("umount", libc.umount2(b"/old", 2))
attempt("rename", os.rename, "secret", "free", src_dir_fd=folder, dst_dir_fd=folder)
'''.replace('PIVOT_ROOT', '155' if os.uname().machine == 'x86_64' else '41')


@needs('hidden')
def case_detached_mounts_FW14(p):
    def attack(*options):
        p.mkdir(p.ws / 'kept')
        p.write(p.ws / 'kept/secret', 'SECRET\n')
        r = python(p, DETACH, '--hide', p.ws / 'kept/secret', *options)
        moved = os.listdir(p.ws / 'kept') != ['secret']
        shutil.rmtree(p.ws / 'kept')
        return moved, r
    for options in modes(p, (), ('--processes', 'visible')):
        moved, r = attack(*options)
        ok(r.booted and b'unshare 1\n' in r.out and b'rename 16\n' in r.out and not moved, p,
           f"{' '.join(options) or 'default'}: a hidden file cannot be moved by detaching what covers it", r)
    if not p.is_root:  # nested: no root of one's own there
        moved, r = attack('--nested')
        ok(r.code == 125 and b'paths_hidden' in r.err and not moved, p, 'so --nested has to be allowed by name', r)
        moved, r = attack('--nested', '--allow-degraded', 'paths_hidden')
        ok(r.booted and b'umount ok' in r.out and moved, p, 'twin: with --nested it can, as SECURITY.md says', r)
        apart = p.mkdir(p.base / 'kept')
        p.write(apart / 'secret', 'SECRET\n')
        text = DETACH.replace('"kept"', f'"{apart}"') + 'attempt("read", lambda: print(open(os.open("secret", os.O_RDONLY, dir_fd=folder)).read()))\n'
        r = python(p, text, '--read', apart, '--hide', apart / 'secret', '--nested')
        ok(r.booted and b'umount ok' in r.out and b'rename 30\n' in r.out and b'SECRET' not in r.out, p, 'where nothing can be written it stays hidden', r)
        shutil.rmtree(apart)


def case_immutable_FW19(p):
    """A file that nobody can remove any more would be there to stay."""
    text = '''
import fcntl
f = os.open(sys.argv[1], os.O_RDONLY | os.O_CREAT, 0o644)
for name, flag in (("immutable", 0x10), ("append", 0x20)):
    attempt(name, fcntl.ioctl, f, 0x40086602, flag.to_bytes(8, sys.byteorder))
'''
    r = python(p, text, argv=['stays'])
    (p.ws / 'stays').unlink()
    ok(r.booted and b'immutable ok' not in r.out and b'append ok' not in r.out, p, 'no flag is set, and the file is gone', r)
    if p.is_root:
        r = python(p, text, None, argv=[p.outside / 'stays'])
        if b'immutable ok' in r.out or b'append ok' in r.out:
            subprocess.run(['chattr', '-i', '-a', p.outside / 'stays'])
            ok(True, p, 'twin: root can, without pale')
        else:
            skip(p, f'twin: no such flags on this file system: {r.rest!r}', only_root=True)
        (p.outside / 'stays').unlink()


def case_mappings_and_nameless_files_FW23(p):
    text = '''
import mmap
d = sys.argv[1]
def shared():
    f = os.open(d + "/canary", os.O_RDWR)
    mmap.mmap(f, 6, mmap.MAP_SHARED)[0:4] = b"EVIL"
def nameless():
    f = os.open(d, os.O_TMPFILE | os.O_WRONLY, 0o644)
    os.write(f, b"EVIL")
    os.link(f"/proc/self/fd/{f}", d + "/planted", follow_symlinks=True)
def truncate(): os.truncate(d + "/canary", 0)
def allocate(): os.posix_fallocate(os.open(d + "/canary", os.O_WRONLY), 0, 1 << 16)
for f in (shared, nameless, truncate, allocate): attempt(f.__name__, f)
'''
    place = p.mkdir(p.base / 'place')
    p.write(place / 'canary', 'canary\n')
    before = digest(place)
    r = python(p, text, '--read', place, argv=[place])
    ok(r.booted and b'ok' not in r.rest and r.rest.count(b'\n') == 4 and digest(place) == before, p,
       'a readable place takes no write of any kind', r)
    r = python(p, text, '--write', place, argv=[place])
    ok(r.rest.count(b' ok\n') >= 3 and digest(place) != before, p, 'twin: a writable one does', r)
    shutil.rmtree(place)


@needs('isolated')
def case_ipc_and_terminals_FW25(p):
    key = 0x70616c00 + p.uid % 250
    LIBC.shmget(key, 4096, 0o1666)
    shm = LIBC.shmget(key, 0, 0)
    name = f'/pale-live-{os.getpid()}-{p.uid}'
    text = f'''
say("segment", libc.shmget({key}, 0, 0))
say("own", libc.shmget(77, 4096, 0o1600))
print("terminals", len(os.listdir("/dev/pts")))
rt = ctypes.CDLL("librt.so.1", use_errno=True)
say("queue", rt.mq_open(b"{name}", os.O_CREAT | os.O_RDWR, 0o600, None))
'''
    import pty
    master, slave = pty.openpty()
    r = python(p, text)
    ok(r.booted and b'segment 2\n' in r.out and b'own ok' in r.out, p, "the host's shared memory is not there; one's own is", r)
    ok(b'terminals 1\n' in r.out or b'terminals 0\n' in r.out, p, "nor are the host's terminals", r)
    rt = ctypes.CDLL('librt.so.1', use_errno=True)
    ok(b'queue' in r.out and rt.mq_open(name.encode(), os.O_RDONLY) < 0, p, 'no queue of the host is made inside', r)
    r = python(p, text, *OFF)
    ok(b'segment ok' in r.out and (b'queue ok' in r.out and rt.mq_open(name.encode(), os.O_RDONLY) >= 0 or not p.is_root), p,
       'twin: off', r)
    rt.mq_unlink(name.encode())
    LIBC.shmctl(shm, 0, None)
    own = LIBC.shmget(77, 0, 0)
    if own >= 0:
        LIBC.shmctl(own, 0, None)
    os.close(master)
    os.close(slave)


def case_escape_sequences_PR07(p):
    """What a project or a command names comes back in messages of ours, on a terminal."""
    p.no_config()
    esc = '\\u001b]52;c;ZXZpbA==\\u0007\\u009b31m\\u202e'
    p.write(p.ws / 'pale.toml', f'[commands.x]\ncmd = "echo {esc}"\nsandbox = "off"\n[sandbox.env]\npass = ["A"]\nset = {{ B = "{esc}" }}\n')
    bad = (b'\x1b', b'\x07', b'\xc2\x9b')
    for words in (('trust', '--show'), ('commands',), ('config', 'show'), ('sandbox', 'inspect', 'x'), ('status',), ('doctor',),
                  ('run', 'x'), ('run', '--explain', 'x')):
        r = p.verb(*words)
        ok((r.out or r.err) and not any(b in r.out + r.err for b in bad), p, f"pale {' '.join(words)}: no control characters", r)
    p.write(p.ws / 'pale.toml', f'[sandbox]\n"{esc}" = 1\n')
    r = p.verb('run', '--', 'true')
    ok(r.code == 125 and r.err and not any(b in r.err for b in bad), p, 'nor in the words of a refusal', r)
    (p.ws / 'pale.toml').unlink()
    evil = b'evil\x1b]52;c;eA==\x07'
    for args in (('--', evil), ('--read', evil, '--', 'true'), ('--write', b'/' + evil, '--', 'true'), (evil,),
                 ('--preset', evil, '--', 'true')):
        r = p.run(p.pale_path, 'run', *args)
        ok(b'\x1b' not in r.err and b'\x07' not in r.err, p, f'nor from the argument of {args[0]!r:.12}', r)
    r = p.pale('--', 'printf', '\\033[1mbold')
    ok(r.out == b'\x1b[1mbold', p, "twin: the command's own output passes as it is", r)


def case_planted_programs_PT09(p):
    """Nothing that the workspace offers is taken for a tool of the host."""
    told = p.outside / 'told'
    p.outside.chmod(0o777)
    for name in ('sh', 'bash', 'git', 'bwrap', 'newuidmap', 'newgidmap', 'mount', 'ssh', 'pale', 'pale-verbs', 'env', 'systemd-run'):
        p.write(p.ws / 'bin' / name, f'#!/bin/sh\necho "$0" >>{told}\n', 0o755)
    env = dict(p.env, PATH=f'{p.ws}/bin:.:{CLEAN_PATH}')
    for cwd in (p.ws, p.ws / 'bin'):
        for words in (('run', '--', '/bin/true'), ('status',), ('doctor',), ('trust', '--show'), ('commands',), ('config', 'show')):
            r = p.run(p.pale_path, *words, cwd=cwd, env=env)
            ok(not told.exists(), p, f"pale {' '.join(words)} runs none of them", f'{told.exists() and told.read_text()}\n{r}')
            told.unlink(missing_ok=True)
    r = p.pale('--', 'git', env=env)
    ok(not told.exists(), p, 'the command itself may, but inside', r)
    p.run('env', '-i', f'PATH={p.ws}/bin', '/bin/sh', '-c', 'git')
    ok(told.exists(), p, 'twin: one that is run tells')
    told.unlink(missing_ok=True)
    p.outside.chmod(0o755)
    shutil.rmtree(p.ws / 'bin')


def case_where_it_is_started_PT11(p):
    """The workspace says what can be written, and not the folder that one stands in."""
    os.symlink('../outside', p.ws / 'leads-out')
    for name, cwd, link in (('outside', p.outside, '.'), ('by a link in the workspace', p.ws / 'leads-out', '.'),
                            ('above', p.base, 'outside'), ('in the home', p.home, '../outside'), ('at the root', '/', p.outside)):
        r = p.sh('--workspace', p.ws, '--', f'echo EVIL >>{link}/canary; echo EVIL >>{p.outside}/canary; echo x >{p.ws}/twin', cwd=cwd)
        ok((p.outside / 'canary').read_text() == 'canary\n' and (r.booted or r.code == 125), p, f'{name}: not written', r)
        ok(r.code == 125 or (p.ws / 'twin').exists(), p, f'{name}: twin: the workspace is, or nothing ran', r)
        (p.ws / 'twin').unlink(missing_ok=True)
    (p.ws / 'leads-out').unlink()


def case_asking_again_from_inside_PT13(p):
    """The program itself, inside, gives nothing more than there is."""
    shutil.copy(p.pale_path, p.ws / 'again')
    for engine in ('auto', 'native', 'landlock'):
        r = p.sh('./again run --engine "$1" --preset off -- cat "$2"; ./again run --preset unrestricted -- cat "$2"; '
                 './again run --filesystem unrestricted -- sh -c "echo EVIL >>$3"', engine, str(p.home / '.ssh/id_rsa'),
                 str(p.outside / 'canary'))
        ok(r.booted and b'CANARY' not in r.out and (p.outside / 'canary').read_text() == 'canary\n', p,
           f'{engine}: not by running it again', r)
    r = p.run('./again', 'run', *OFF, '--', 'cat', str(p.home / '.ssh/id_rsa'))
    ok(b'CANARY' in r.out, p, 'twin: outside it does', r)
    (p.ws / 'again').unlink()


@needs('sockets')
def case_sockets_of_services_NW05(p):
    """As of container daemons and agents; whatever the network is."""
    places = [f'/tmp/pale-live-{os.getpid()}', str(p.home / 'S.agent'), str(p.outside / 'agent')]
    if os.geteuid() == 0:
        places += [f'/run/pale-live-{os.getpid()}.sock', f'/var/tmp/pale-live-{os.getpid()}']
    listeners = []
    for path in places:
        s = socket.socket(socket.AF_UNIX)
        s.bind(path)
        os.chmod(path, 0o777)
        s.listen(8)
        s.settimeout(0.05)
        listeners.append(s)

    def came():
        count = 0
        for s in listeners:
            try:
                s.accept()[0].close()
                count += 1
            except TimeoutError:
                pass
        return count
    line = '; '.join(f'./probe unix {path}' for path in places)
    for options in ((), ('--network', 'unrestricted'), ('--processes', 'visible', '--network', 'unrestricted')):
        r = p.sh(*options, '--', line)
        n = came()
        ok(r.booted and n == 0 and r.out.count(b'unix=') == len(places), p,
           f"{' '.join(options) or 'default'}: none of {len(places)} is reached", f'{n} came\n{r}')
    r = p.sh(*OFF, '--', line)
    ok(came() == len(places), p, 'twin: off', r)
    for s, path in zip(listeners, places):
        s.close()
        os.unlink(path)


@needs('loopback')
def case_listening_NW21(p):
    text = '''
import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("0.0.0.0", int(sys.argv[1]))); s.listen(8)
print("listening", flush=True)
s.settimeout(3)
try: s.accept()[0].sendall(b"inside"); print("taken", flush=True)
except OSError as e: print(e)
'''
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    p.write(p.ws / 'listen.py', HEAD + text)
    for options, want in (((), False), (('--processes', 'visible'), False), (('--network', 'unrestricted'), True)):
        proc = p.start_pale(*options, '--', PYTHON, '-B', 'listen.py', str(port), stdout=subprocess.PIPE)
        lines = [proc.stdout.readline(), proc.stdout.readline()]
        reached = False
        try:
            with socket.create_connection(('127.0.0.1', port), 1) as s:
                reached = s.recv(16) == b'inside'
        except OSError:
            pass
        proc.kill()
        proc.communicate()
        ok(lines == [BOOTED, b'listening\n'] and reached == want, p,
           f"{'twin: ' if want else ''}{' '.join(options) or 'default'}: {'reached' if want else 'not reached'} from the host", lines)
    (p.ws / 'listen.py').unlink()


def case_personality_KS25(p):
    text = '''
for name, value in (("ask", 0xffffffff), ("linux", 0), ("linux32", 8), ("implies-exec", 0x400000), ("no-random", 0x40000),
                    ("svr4", 0x4100001), ("wide", 0x400000 | 8), ("zero-page", 0x100000)):
    libc.syscall.restype = ctypes.c_long
    say(name, libc.syscall(PERSONALITY, ctypes.c_ulong(value)))
'''.replace('PERSONALITY', '135' if os.uname().machine == 'x86_64' else '92')
    r = python(p, text)
    got = dict(line.split() for line in r.rest.decode().splitlines())
    ok(r.booted and all(got.get(n) == 'ok' for n in ('ask', 'linux', 'linux32')), p, 'what programs need works', r)
    ok(all(got.get(n) == '1' for n in ('implies-exec', 'no-random', 'svr4', 'wide', 'zero-page')), p, 'what weakens a program is refused', r)
    r = python(p, text, *OFF)
    ok(b'implies-exec ok' in r.out and b'zero-page ok' in r.out, p, 'twin: off', r)


def case_file_capabilities_KS27(p):
    if os.geteuid() != 0:
        return skip(p, 'only root can give a file capabilities', only_root=True)
    tool = p.ws / 'capable'
    shutil.copy('/bin/cat', tool)
    os.chown(tool, p.owner, p.owner)
    tool.chmod(0o755)
    try:  # to read and write every file
        os.setxattr(tool, 'security.capability', struct.pack('<5I', 0x02000001, 1 << 1 | 1 << 2, 0, 0, 0))
    except OSError as e:
        tool.unlink()
        return skip(p, f'no file capabilities here: {e}', only_root=True)
    line = './capable /proc/self/status /etc/shadow'
    r = p.sh('--', line)
    caps = re.findall(rb'^Cap(?!Bnd)\w+:\t(\S+)', r.out, re.M)
    # where the bounding set is empty and the mount is the host's own, it is not executed at all
    ok(r.booted and caps in ([b'0' * 16] * 4, []) and b'root:' not in r.out, p, 'a program with capabilities has none', r)
    r = p.run('sh', '-c', line)
    ok(b'root:' in r.out and b'CapEff:\t' + b'0' * 16 not in r.out, p, 'twin: without pale it has', r)
    tool.unlink()


def case_every_thread_KS29(p):
    """The host looks at each thread of what runs inside."""
    text = '''
import subprocess, threading, time
for _ in range(5): threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
subprocess.Popen(["sleep", "20"]); print("up", flush=True); time.sleep(20)
'''
    p.write(p.ws / 'threads.py', HEAD + text)
    for options, want in (((), '2'), (('--processes', 'visible'), '2'), (OFF, '0')):
        m = mark()
        proc = p.start_pale(*options, '--', PYTHON, '-B', 'threads.py', m, stdout=subprocess.PIPE)
        lines = [proc.stdout.readline(), proc.stdout.readline()]
        inside = [q for q in marked(m) if b'run\0' not in pathlib.Path(f'/proc/{q}/cmdline').read_bytes() and
                  pathlib.Path(f'/proc/{q}/cmdline').read_bytes().startswith(PYTHON.encode())]
        found = [dict(l.split(':\t', 1) for l in t.read_text().splitlines() if ':\t' in l)
                 for q in inside for t in pathlib.Path(f'/proc/{q}/task').glob('*/status')]
        proc.kill()
        proc.communicate()
        seen = {(s['Seccomp'], s['NoNewPrivs']) for s in found}
        ok(lines == [BOOTED, b'up\n'] and len(found) >= 6 and {s for s, _ in seen} == {want}, p,
           f"{'twin: ' if want == '0' else ''}{' '.join(options) or 'default'}: {len(found)} threads, filter {want}", seen)
    (p.ws / 'threads.py').unlink()


def case_devices_KS31(p):
    names = ('mem', 'kmem', 'port', 'kmsg', 'cpu/0/msr', 'cpu/0/cpuid', 'cpu_dma_latency', 'kvm', 'fuse', 'loop0', 'loop-control',
             'vda', 'sda', 'nvme0n1', 'mapper/control', 'uinput', 'input/event0', 'vhost-vsock', 'vsock', 'net/tun', 'tty0', 'tty1',
             'vcs', 'console', 'hpet', 'rtc0', 'watchdog', 'snapshot', 'dri/card0', 'nvidia0', 'userfaultfd', 'autofs', 'btrfs-control')
    text = f'''
for n in {names!r}:
    for how in (os.O_RDONLY, os.O_WRONLY):
        attempt(n, os.open, "/dev/" + n, how | os.O_NONBLOCK)
'''
    for options in modes(p, (), ('--processes', 'visible')):
        r = python(p, text, *options)
        ok(r.booted and b' ok\n' not in r.rest and r.rest.count(b'\n') == 2 * len(names), p,
           f"{' '.join(options) or 'default'}: no device of the machine opens", r)
    r = p.sh('for d in null zero full random urandom; do head -c 1 /dev/$d >/dev/null || exit 1; done; echo x >/dev/null')
    ok(r.booted and r.code == 0, p, 'twin: harmless ones do', r)


def case_times_RS11_CF05(p):
    for text in ('-1s', '-0.5', '1e400s', 'nan', 'inf', '99999999999999999999s', '9223372036854775807h', '1x', '1 s s', 's', '1.5.2s', '0x10s'):
        for options in (('--timeout', text), ('--cpu', text)):
            r = p.sh(*options, '--', 'true')
            ok(r.code == 125 and not r.booted and options[0][2:].encode() in r.err, p, f"{' '.join(options)}: refused", r)
        p.write(p.ws / 'pale.toml', f'[presets.t]\nbase = "workspace"\ntimeout = "{text}"\n')
        r = p.sh('--preset', 't', '--', 'true')
        ok(r.code == 125 and not r.booted and b'pale.toml:3' in r.err, p, f'timeout = "{text}" in a file: refused', r)
        (p.ws / 'pale.toml').unlink()
    r = p.sh('--timeout', '0', '--', 'sleep 0.3; echo end')
    ok(r.code == 125 and not r.booted or b'end' in r.out, p, '0 is none, or refused: never at once', r)
    r = p.sh('--timeout', '500ms', '--', 'sleep 5')
    ok(r.booted and r.code == 124 and r.seconds < 4, p, 'twin: one that is right ends the run', r)


def case_types_CF03(p):
    for line in ('nested = "false"', 'nested = 1', 'nested = 0', 'nested = []', 'ephemeral = "no"', 'network = true', 'network = ["none"]',
                 'paths_readable = "~"', 'paths_readable = [1]', 'filesystem = 0', 'timeout = true', 'memory = -1', 'pids = "many"', 'pids = 1.5'):
        p.write(p.ws / 'pale.toml', f'[presets.t]\nbase = "workspace"\n{line}\n')
        r = p.sh('--preset', 't', '--', 'touch ran')
        ok(r.code == 125 and not r.booted and not (p.ws / 'ran').exists() and b'pale.toml:3' in r.err, p, f'{line}: refused', r)
    p.write(p.ws / 'pale.toml', '[presets.t]\nbase = "workspace"\nnetwork = "none"\n')
    r = p.sh('--preset', 't', '--', 'touch ran')
    ok(r.code == 0 and (p.ws / 'ran').exists(), p, 'twin: one that is right', r)
    (p.ws / 'ran').unlink()
    (p.ws / 'pale.toml').unlink()


def case_secrets_on_command_lines_IN03(p):
    """Everybody on the machine can list what stands there."""
    secret = mark()
    p.config(f'[sandbox.env]\npass = ["FOO"]\nset = {{ BAR = "{secret}" }}\n')
    env = dict(p.env, FOO=secret)
    proc = p.start_pale('--env', 'pass', '--', 'sh', '-c', 'echo BOOTED; echo $FOO $BAR; sleep 20', env=env, stdout=subprocess.PIPE)
    lines = [proc.stdout.readline(), proc.stdout.readline()]
    seen = marked(secret)
    proc.kill()
    proc.communicate()
    ok(lines == [BOOTED, f'{secret} {secret}\n'.encode()] and not seen, p, 'the command has them, and no command line does', f'{lines} {seen}')
    proc = p.start_pale('--', 'sh', '-c', 'echo BOOTED; sleep 20', secret, stdout=subprocess.PIPE)
    proc.stdout.readline()
    ok(marked(secret), p, 'twin: an argument is seen')
    proc.kill()
    proc.communicate()
    p.no_config()


def case_odd_surroundings_CF13(p):
    gone = p.mkdir(p.base / 'gone')
    line = f'cd {gone} && rmdir {gone} && exec "$0" run -- touch ran'
    r = p.run('sh', '-c', line, p.pale_path)
    ok(r.code == 125 and r.err and not gone.exists(), p, 'a working directory that is gone: refused', r)
    before = sorted(os.listdir('/tmp'))
    link = p.ws / 'link'
    os.symlink('../outside', link)
    for name, value in (('a link out of the workspace', link), ('nowhere', '/no/such'), ('not a folder', '/etc/passwd'),
                        ('relative', 'x'), ('empty', ''), ('not writable', '/proc'), ('long', '/' + 'x' * 5000)):
        state = digest(p.outside, p.home)
        r = p.sh('--', 'echo x >/dev/null; echo END', env=dict(p.env, TMPDIR=str(value)))
        ok((b'END' in r.out or r.code == 125 and r.err) and digest(p.outside, p.home) == state, p, f'TMPDIR {name}: runs or says why', r)
    link.unlink()
    p.home.chmod(0o555)
    r = p.sh('--', 'echo END')
    ok(b'END' in r.out, p, 'a home that cannot be written', r)
    p.home.chmod(0o755)
    left = [n for n in sorted(os.listdir('/tmp')) if n not in before and n.startswith(f'pale-{p.uid}-')]
    # Other tests run at the same time: what is theirs goes when they end.
    gone = wait_for(lambda: not any(os.path.lexists(f'/tmp/{n}') for n in left), 30)
    ok(gone, p, 'nothing is left in /tmp', left)


main(case_lying_command_ME03, case_other_peoples_files_FR09, case_logs_and_crashes_FR17,
     case_hard_link_to_a_file_outside_FW05, case_detached_mounts_FW14, case_immutable_FW19,
     case_mappings_and_nameless_files_FW23, case_ipc_and_terminals_FW25, case_escape_sequences_PR07,
     case_planted_programs_PT09, case_where_it_is_started_PT11, case_asking_again_from_inside_PT13,
     case_sockets_of_services_NW05, case_listening_NW21, case_personality_KS25,
     case_file_capabilities_KS27, case_every_thread_KS29, case_devices_KS31, case_times_RS11_CF05,
     case_types_CF03, case_secrets_on_command_lines_IN03, case_odd_surroundings_CF13, uids=(1000,))
