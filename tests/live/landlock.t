#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Landlock domain behind the mounts: what it adds, and that programs do not
notice it. The rights one by one are in tests/unit/confine/test-landlock.c."""
import pty
import socket
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


def have(p, *programs):
    missing = [x for x in programs if not shutil.which(x, path=CLEAN_PATH)]
    if missing:
        skip(p, f'no {missing[0]} here')
    return not missing


def case_plan(p):
    def ops(*options):
        r = p.pale(*options, '--explain', '--json', '--', 'true')
        return r.json().get('operations', []), r.json().get('enforced', {})

    plan, by = ops()
    writable = [o['dst'] for o in plan if o['op'] == 'allow' and 'ro' not in o['flags']]
    ok(str(p.ws) in writable or any(str(p.ws).startswith(w + '/') for w in writable), p, 'a rule for the workspace', plan)
    ok(plan and plan[-1]['op'] == 'landlock' and 'files' in plan[-1]['flags'], p, 'entered last', plan[-1:])
    ok(by.get('filesystem', {}).get('by') == 'mounts, Landlock', p, 'the verdict names it', by)
    plan, by = ops('--nested')
    ok(not [o for o in plan if o['op'] == 'allow'] and 'files' not in plan[-1]['flags'], p, 'nested: none for files', plan[-2:])
    ok('no Landlock' in by.get('nested', {}).get('by', '') and by['filesystem']['by'] == 'mounts', p,
       'nested: the report says so', by)


def case_stdin_is_not_writable_FW07(p):
    # The file is on the host's own, writable mount: only the domain says no.
    f = p.write(p.outside / 'given', 'as it was\n', 0o666)
    line = 'cat /dev/stdin; echo changed >/dev/stdin; echo changed >/proc/self/fd/0; : >/dev/stdin; true'
    before = digest(p.outside)
    with open(f, 'rb') as stdin:
        r = p.sh(line, stdin=stdin)
    ok(r.booted and b'as it was' in r.out, p, 'it is read by its name in /dev', r)
    ok(digest(p.outside) == before, p, 'and not changed', f.read_bytes())
    with open(f, 'rb') as stdin:
        r = p.sh('--preset', 'off', '--', line, stdin=stdin)
    ok(r.booted and f.read_bytes() != b'as it was\n', p, 'twin: without a boundary it is', r)


def case_stdout_to_a_file(p):
    for name, line in (('stdout', 'echo 1; echo 2 >>/dev/stdout; tee -a /dev/stdout </dev/null; echo 3'),
                       ('stderr', 'echo 1 >&2; echo 2 >>/dev/stderr; echo 3 | tee -a /dev/stderr >/dev/null')):
        f = p.write(p.outside / name, '', 0o666)
        with open(f, 'ab') as out:
            r = p.pale('--', 'sh', '-c', line, **{name: out})
        ok(r.code == 0 and f.read_bytes() == b'1\n2\n3\n', p, f'/dev/{name} as a file', (r, f.read_bytes()))
        # What is appended goes through a pipe of our own, which may be read: without an end.
        line, other = (('echo BOOTED >&2; timeout 1 cat </dev/stdout >&2', 'err') if name == 'stdout' else
                       ('echo BOOTED; timeout 1 cat </dev/stderr', 'out'))
        for twin in False, True:
            with open(f, 'ab') as out:
                r = (p.run if twin else lambda *a, **k: p.pale('--', *a, **k))('sh', '-c', line, **{name: out})
            seen = getattr(r, other)
            ok(BOOTED in seen and (b'1\n2\n3\n' in seen) == twin, p,
               f'twin: without a boundary /dev/{name} is read' if twin else f'/dev/{name} is not read', r)


def case_stdio_of_other_kinds(p):
    # Who made a pipe owns it. Started by root, the command is somebody else.
    if not p.is_root:
        r = p.run('sh', '-c', 'echo from it | "$0" run -- sh -c "echo out >/dev/stdout; echo err >/dev/stderr; cat /dev/stdin" 2>&1 | cat',
                  p.pale_path)
        ok(r.out == b'out\nerr\nfrom it\n', p, 'pipes', r)
    r = p.pale('--', 'sh', '-c', 'cat /dev/stdin; echo x >/dev/stdout; echo x >/dev/null; echo x >/dev/stderr',
               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ok(r.code == 0, p, '/dev/null', r)
    fifo = p.base / 'fifo'
    if not fifo.exists():
        os.mkfifo(fifo)
        fifo.chmod(0o666)
    fd = os.open(fifo, os.O_RDWR)
    os.write(fd, b'by name\n')
    r = p.pale('--', 'sh', '-c', 'head -n 1 /dev/stdin', stdin=fd)
    os.close(fd)
    ok(r.out == b'by name\n', p, 'a named pipe', r)
    master, slave = pty.openpty()
    if p.uid:
        os.fchown(slave, p.uid, p.uid)
    r = p.pale('--', 'sh', '-c', 'test -t 0 && test -t 1 && echo to-the-terminal >/dev/stdout && stty size >/dev/null && touch tty-ok',
               stdin=slave, stdout=slave)
    os.close(slave)
    # root's terminal is not the command's to open: its owner is somebody else
    ok(r.code == 0 and (p.ws / 'tty-ok').exists() or p.is_root, p, 'a terminal', r)
    os.close(master)
    (p.ws / 'tty-ok').unlink(missing_ok=True)


def case_abstract_sockets(p):
    name = f'pale-live-{os.getpid()}-{p.uid}'
    line = ('import socket,sys\ns=socket.socket(socket.AF_UNIX)\n'
            f's.connect("\\0{name}")\ns.sendall(b"reached")\n')
    p.write(p.ws / 'connect.py', line)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind('\0' + name)
        listener.listen(8)
        listener.settimeout(1)

        def reached():
            try:
                return listener.accept()[0].recv(16) == b'reached'
            except TimeoutError:
                return False
        for options in (('--network', 'unrestricted'), ('--network', 'none'),
                        ('--network', 'unrestricted', '--processes', 'visible')):
            r = p.sh(*options, '--', '/usr/bin/python3 connect.py')
            ok(r.booted and r.code != 0 and not reached(), p, f"out of reach, {' '.join(options[1::2])}", r)
        r = p.sh('--preset', 'off', '--', '/usr/bin/python3 connect.py')
        ok(r.booted and r.code == 0 and reached(), p, 'twin: without a boundary it is reached', r)
    r = p.sh('--network', 'unrestricted', '--', '''/usr/bin/python3 -c '
import socket
a = socket.socket(socket.AF_UNIX); a.bind("\\0inside"); a.listen(1)
b = socket.socket(socket.AF_UNIX); b.connect("\\0inside"); print("works")' ''')
    ok(b'works' in r.out, p, 'those of the sandbox work', r)


def case_proc_and_dev(p):
    r = p.sh('echo 500 >/proc/self/oom_score_adj && cat /proc/self/oom_score_adj && echo x >/dev/null && '
             'head -c 4 /dev/urandom | wc -c && dd if=/dev/zero of=/dev/shm/x bs=1k count=1 2>/dev/null && '
             'mv /dev/shm/x /tmp/x && mkdir -p ~/a/b ~/c && mv ~/a/b ~/c/b && ls ~/c')
    ok(r.rest.split() == [b'500', b'4', b'b'], p, 'files of the sandbox', r)
    r = p.sh('--filesystem', 'readonly', '--ephemeral', '--', 'mkdir -p d/e && mv file d/e/ && mv d/e . && ln e/file l && cat l')
    ok(r.rest == b'mine\n' and (p.ws / 'file').exists(), p, 'the throwaway overlay', r)
    r = p.sh('--filesystem', 'unrestricted', '--', f'mkdir -p {p.outside}/m && mv {p.outside}/m {p.ws}/m && rmdir {p.ws}/m')
    ok(r.booted and r.code == 0 and not (p.outside / 'm').exists(), p, 'the whole filesystem', r)


@only_first
def case_programs(p):
    if have(p, 'git'):
        r = p.sh('git init -q r && cd r && echo a >a && git add a && git -c user.name=a -c user.email=a@b commit -qm x && '
                 'git checkout -qb two && git mv a b && git worktree add -q ../w && git log --oneline | wc -l')
        ok(r.rest == b'1\n', p, 'git', r)
    if have(p, 'make', 'gcc'):
        p.write(p.ws / 'mk/Makefile', 'all: hello\n\t./hello\nhello: hello.c\n\t$(CC) -o $@ $<\n')
        p.write(p.ws / 'mk/hello.c', '#include <stdio.h>\nint main(void){return puts("built")<0;}\n')
        if p.is_root or os.geteuid() == 0:
            os.chown(p.ws / 'mk', p.uid, p.uid)
        r = p.sh('make -C mk 2>&1')
        ok(b'built' in r.out, p, 'make and gcc', r)
    r = p.sh('/usr/bin/python3 -c "import multiprocessing as m\nwith m.Pool(2) as q: print(sum(q.map(abs, [-1,-2])))\nm.Lock()"')
    ok(r.rest == b'3\n', p, 'multiprocessing with semaphores', r)
    if have(p, 'strace'):
        r = p.sh('strace -f -o t sh -c true && grep -c execve t')
        ok(r.rest.strip().isdigit() and int(r.rest) >= 1, p, 'strace', r)
    if have(p, 'gdb'):
        r = p.sh('gdb -batch -nx -ex run -ex bt /bin/true 2>&1', timeout=60)
        ok(b'exited normally' in r.out, p, 'gdb', r)
    r = p.sh('/usr/bin/python3 -c "import pty; pty.spawn([\'sh\', \'-c\', \'echo x >/dev/tty; stty size >/dev/null && echo has-size\'])"')
    ok(b'has-size' in r.out and b'x' in r.rest, p, 'a terminal of its own, /dev/tty', r)


main(case_plan, case_stdin_is_not_writable_FW07, case_stdout_to_a_file, case_stdio_of_other_kinds,
     case_abstract_sockets, case_proc_and_dev, case_programs)
