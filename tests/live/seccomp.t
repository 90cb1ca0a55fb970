#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The seccomp filter on a real kernel: what it answers, and what works nevertheless."""
import fcntl
import pty
import sys
import termios
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

OFF = ('--preset', 'off')
VISIBLE = ('--processes', 'visible')
NESTED = ('--nested',)
LONELY = 54388  # a uid under which nothing else runs


def spell(p):
    """The probe of this test, in P's workspace."""
    built = p.base.parent / 'bin/seccomp-probe'
    if not built.exists():
        subprocess.run(['gcc', '-O1', '-Wall', '-D_GNU_SOURCE', '-o', built,
                        HERE / 'probes/seccomp-probe.c'], check=True)
    if not (p.ws / 'sp').exists():
        p.write(p.ws / 'sp', built.read_bytes(), 0o755)


def answers(r):
    """{name: (who, errno)} of what the probe printed."""
    return {w[0]: (w[1], w[2]) for w in (line.split() for line in r.out.decode().splitlines()) if len(w) == 3}


def sp(p, *args, **kw):
    """sp(p, OPTIONS..., WORDS...): the probe in the sandbox. OPTIONS is a tuple."""
    spell(p)
    options, words = (args[0], args[1:]) if isinstance(args[0], tuple) else ((), args)
    return p.sh(*options, '--', './sp "$@"', *map(str, words), **kw)


def case_installed(p):
    for options in p.each((), VISIBLE, NESTED, ('--preset', 'readonly', '--allow-degraded', 'cpu', '--allow-degraded', 'memory'), ('--network', 'unrestricted'), ('--filesystem', 'unrestricted')):
        r = p.sh(*options, '--', 'grep ^Seccomp: /proc/self/status; grep ^NoNewPrivs: /proc/self/status; '
                 'sh -c "sh -c \'grep ^Seccomp: /proc/self/status\'"')
        ok(r.booted and r.out.count(b'Seccomp:\t2') == 2 and b'NoNewPrivs:\t1' in r.out, p,
           f"{' '.join(options) or 'default'}: a filter holds, for children too", r)
    r = p.sh(*OFF, '--', 'grep ^Seccomp: /proc/self/status')
    ok(b'Seccomp:\t0' in r.out, p, 'twin: none when off', r)


def case_calls_ME02_FW11_KS01_KS03_KS05_KS07_KS09_KS13_KS15_KS17_KS19_KS21(p):
    """Bad arguments everywhere: the kernel's own answer is another one."""
    for group, want, modes, free in (('refused', 'EPERM', ((), VISIBLE, NESTED), OFF), ('flat', 'EPERM', ((), VISIBLE), OFF),
                                     ('flat', 'EPERM', ((),), NESTED), ('unknown', 'ENOSYS', ((), VISIBLE), OFF),
                                     ('visible', 'EPERM', (VISIBLE, VISIBLE + NESTED), OFF), ('visible', 'EPERM', (VISIBLE,), ())):
        if p.lacks(free) or not free and not has('isolated'):
            skip(p, f'twin: {group}: {MISSING[ENGINE][p.lacks(free) or "isolated"]}', only_root=True)
            continue
        r = sp(p, free, 'calls', group)
        outside = answers(r)
        # in a nested run nobody has capabilities over the mounts
        told = {name for name, (who, error) in outside.items()
                if error != want and (who == 'a' or p.is_root and free == OFF)}
        due = {name for name, (who, error) in outside.items() if who == 'a' or p.is_root and free == OFF}
        if group == 'unknown':  # an older kernel knows no more than the filter
            due = told
        ok(r.booted and told and told == due, p,
           f"twin: {' '.join(free) or 'isolated'} lets {len(told)} {group} calls through to the kernel", f'{due - told}\n{r}')
        for options in p.each(*modes):
            r = sp(p, options, 'calls', group)
            wrong = {name: error for name, (who, error) in answers(r).items() if error != want}
            ok(r.booted and len(answers(r)) == len(outside) and not wrong, p,
               f"{' '.join(options) or 'default'}: {len(outside)} {group} calls answer {want}", f'{wrong}\n{r}')


def case_foreign_tables_KS22_KS23_NW10(p):
    spell(p)
    if os.uname().machine != 'x86_64':
        return skip(p, 'no other tables on this architecture')
    for how in ('int80', 'x32'):
        r = p.pale('--', './sp', 'foreign', how)
        ok(r.code == 128 + signal.SIGSYS and b'answered' not in r.out, p, f'{how}: killed by SIGSYS', r)
        r = p.pale(*OFF, '--', './sp', 'foreign', how)
        if r.code == 128 + signal.SIGSEGV:
            skip(p, f'twin: this kernel has no {how}')
        else:
            ok(r.code == 0 and b'answered' in r.out, p, f'twin: {how} is answered when off', r)
    r = p.pale('--', 'sh', '-c', './sp foreign int80; echo "went on after $?"')
    ok(b'went on after 159' in r.out, p, 'and nobody but the one who called', r)
    r = p.pale('--', './sp', 'foreign', 'minus-one')
    ok(r.code == 0 and b'answered an error' in r.out, p, 'the call -1, which a tracer skips by, kills nobody', r)


def case_sockets_NW08_NW09(p):
    everything = {'1', '2', '10', '16'}
    r = sp(p, OFF, 'sockets')
    outside = {name for name, (_, error) in answers(r).items() if error not in ('EPERM', 'EACCES')}
    ok({'0', '38', '40'} | ({'17', '44'} if p.is_root else set()) <= outside, p, f'twin: {len(outside)} families get an answer of the kernel when off', r)
    for options in p.each((), ('--network', 'unrestricted'), NESTED):
        # without namespaces, local sockets would be the host's
        allowed = everything if has('sockets') else everything - {'1'} if options else set()
        r = sp(p, options, 'sockets')
        inside = answers(r)
        wrong = {name: error for name, (_, error) in inside.items()
                 if error != ('ok' if name in allowed else 'EPERM')}
        ok(r.booted and len(inside) == 48 and not wrong, p,
           f"{' '.join(options) or 'default'}: sockets are UNIX, INET, INET6, NETLINK_ROUTE and no other", f'{wrong}\n{r}')


def set_uid_files(p):
    """{name: mode}, as the host sees them; removes them."""
    found = {}
    for path in sorted(p.ws.glob('s[ug]id-*')):
        found[path.name] = path.stat().st_mode
        path.unlink()
    return found


def case_set_uid_files(p):
    set_uid_files(p)
    for options in p.each((), VISIBLE, NESTED, ('--filesystem', 'unrestricted')):
        r = sp(p, options, 'set-uid')
        files = set_uid_files(p)
        bad = {name: oct(mode) for name, mode in files.items() if mode & 0o6000}
        ok(r.booted and len(answers(r)) == 10 and len(files) >= 5 and not bad, p,
           f"{' '.join(options) or 'default'}: no file on the host runs as its owner", f'{bad}\n{r}')
    r = sp(p, OFF, 'set-uid')
    files = set_uid_files(p)
    weak = {name: oct(mode) for name, mode in files.items() if not mode & 0o6000}
    if answers(r).get('fchmodat2', ('', ''))[1] == 'ENOSYS':
        weak.pop('suid-fchmodat2', None)
    ok(len(files) == 10 and not weak, p, 'twin: each of the ten ways makes one when off', f'{weak}\n{r}')
    r = p.sh('umask 0; : >tool; chmod 4755 tool; chmod u+s tool; install -m 6755 tool tool2; chmod 755 tool; ls -l tool')
    modes = {path.name: path.stat().st_mode for path in p.ws.glob('tool*')}
    ok(r.booted and not any(m & 0o6000 for m in modes.values()) and modes['tool'] & 0o777 == 0o755, p,
       'chmod and install neither; an ordinary mode can be set', r)
    for path in p.ws.glob('tool*'):
        path.unlink()


def queued(p, *argv):
    """Run ARGV with a terminal that is nobody's on descriptor 0: the most bytes that
    the host saw in its input queue meanwhile, and what came out."""
    spell(p)
    master, slave = pty.openpty()
    attrs = termios.tcgetattr(slave)
    attrs[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(slave, termios.TCSANOW, attrs)
    proc = p.start(*argv, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    most = looks = 0
    end_of = time.monotonic() + 10
    while proc.poll() is None and time.monotonic() < end_of:
        buf = bytearray(4)
        try:
            fcntl.ioctl(slave, termios.FIONREAD, buf)
            looks += 1
        except OSError:  # hung up
            pass
        most = max(most, int.from_bytes(buf, 'little'))
        time.sleep(0.005)
    proc.kill()
    out = proc.communicate()[0]
    os.close(master)
    os.close(slave)
    return most, Result(argv, proc.returncode, out, b'%d looks, at most %d bytes' % (looks, most), 0), looks


def case_typing_PR04_PR05(p):
    for options in p.each((), VISIBLE, NESTED):
        most, r, looks = queued(p, *p.pale_argv(*options), '--', 'sh', '-c', 'echo BOOTED; ./sp type')
        got = answers(r)
        ok(r.booted and most == 0 and looks > 10 and got.get('type') == got.get('type-wide') == ('a', 'EPERM'), p,
           f"{' '.join(options) or 'default'}: nothing is typed into a terminal that it takes", r)
    most, r, looks = queued(p, *p.pale_argv(*OFF), '--', './sp', 'type')
    ok(most == 0 and looks > 10 and 'type' in answers(r), p, 'off: what it takes is a terminal of its own', r)
    most, r, looks = queued(p, './sp', 'type')
    legacy = pathlib.Path('/proc/sys/dev/tty/legacy_tiocsti')
    if not p.is_root and legacy.exists() and legacy.read_text().strip() != '1':
        skip(p, 'twin: dev.tty.legacy_tiocsti is off')
    else:
        ok(most == 2, p, 'twin: both ways type without pale', r)


def canary(p):
    proc = p.start('sleep', '60', start_new_session=True)
    wait_for(lambda: b'sleep' in pathlib.Path(f'/proc/{proc.pid}/cmdline').read_bytes()[:6])
    return proc


def health(pid):
    """What others can take from a process, as the host sees it."""
    limits = pathlib.Path(f'/proc/{pid}/limits').read_text()
    files = [line.split()[3:5] for line in limits.splitlines() if line.startswith('Max open files')]
    ionice = subprocess.run(['ionice', '-p', str(pid)], stdout=subprocess.PIPE).stdout if shutil.which('ionice') else b''
    return {'prlimit': files, 'setpriority': os.getpriority(os.PRIO_PROCESS, pid), 'affinity': os.sched_getaffinity(pid),
            'scheduler': os.sched_getscheduler(pid), 'ioprio': ionice}


def case_crippled_processes(p):
    proc = canary(p)
    before = health(proc.pid)
    for options in p.each(VISIBLE, VISIBLE + NESTED, ()):
        r = sp(p, options, 'cripple', proc.pid)
        after = health(proc.pid)
        ok(r.booted and len(answers(r)) == 5 and after == before, p,
           f"{' '.join(options) or 'default'}: limits and priorities of a host process are as before", f'{after}\n{r}')
    r = sp(p, VISIBLE, 'cripple', 0)
    ok(all(error == 'ok' for _, error in answers(r).values()), p, 'twin: its own can be changed', r)
    r = sp(p, OFF, 'cripple', proc.pid)
    after = health(proc.pid)
    same = [key for key in after if after[key] == before[key] and not (key == 'affinity' and len(before[key]) == 1)
            and not (key == 'ioprio' and not before[key])]
    ok(not same, p, 'twin: all of them change when off', f'{same} {after}\n{r}')
    proc.kill()
    proc.wait()


@only_root
def case_crippled_user(p):
    """All processes of a uid at once: a uid that has no others, hence as root."""
    q = Person(p.base.parent, LONELY)
    proc = canary(q)
    for options in p.each(VISIBLE, VISIBLE + NESTED, ()):
        r = sp(q, options, 'cripple-user')
        nice = os.getpriority(os.PRIO_PROCESS, proc.pid)
        ok(r.booted and nice == 0, q, f"{' '.join(options) or 'default'}: setpriority(PRIO_USER) reaches no host process", f'nice {nice}\n{r}')
        os.setpriority(os.PRIO_PROCESS, proc.pid, 0)
    r = sp(q, OFF, 'cripple-user')
    ok(os.getpriority(os.PRIO_PROCESS, proc.pid) == 17, q, 'twin: it does when off', r)
    proc.kill()
    proc.wait()


def case_keys_KS05(p):
    spell(p)
    secret, name = f'SECRET-{mark()}', mark()
    r = p.run('./sp', 'plant-key', name, secret)
    key = r.out.decode().strip()
    if r.code != 0:
        return skip(p, f'no key for the test: {r}')
    for options in p.each((), VISIBLE, NESTED):
        r = sp(p, options, 'read-key', key)
        ok(r.booted and b'read a EPERM' in r.out and secret.encode() not in r.out, p,
           f"{' '.join(options) or 'default'}: a key of the caller cannot be read", r)
        r = p.sh(*options, '--', 'cat /proc/keys 2>/dev/null; echo end')
        ok(r.booted and b'end' in r.out and (name.encode() not in r.out or not has('metadata')), p,
           f"{' '.join(options) or 'default'}: nor is its name listed", r)
        m = mark()
        r = sp(p, options, 'plant-key', m, 'planted')
        listed = p.run('cat', '/proc/keys').out
        ok(r.booted and name.encode() in listed and m.encode() not in listed, p,
           f"{' '.join(options) or 'default'}: none can be planted among them", r)
    r = sp(p, OFF, 'read-key', key)
    ok(secret.encode() in r.out, p, 'twin: it can be read when off', r)
    m = mark()
    r = sp(p, OFF, 'plant-key', m, 'planted')
    ok(m.encode() in p.run('cat', '/proc/keys').out, p, 'twin: and one planted', r)
    for which in (key, r.rest.decode().strip()):
        p.run('./sp', 'unlink-key', which)


@needs('tracing')
def case_rewritten_calls_KS11(p):
    """The filter must see the call that a tracer puts in the place of another."""
    r = sp(p, 'rewrite')
    ok(r.booted and b'rewrite a EPERM' in r.out, p, 'a call that a tracer exchanged is judged as what it became', r)
    r = sp(p, OFF, 'rewrite')
    ok(b'rewrite a EOPNOTSUPP' in r.out, p, 'twin: it reaches the kernel when off', r)


def case_nested_FW14(p):
    r = sp(p, 'mount')
    ok(r.booted and b'unshare a EPERM' in r.out and b'mount a EPERM' in r.out, p, 'no namespaces and no mounts inside', r)
    if not has('nested'):
        return skip(p, MISSING[ENGINE]['nested'], only_root=True)
    r = sp(p, NESTED, 'mount')
    ok(r.booted and b'unshare a ok' in r.out and b'mount a ok' in r.out, p, 'twin: there are with --nested', r)
    if p.is_root:
        return  # id 0 of a root-owned workspace cannot be mapped on without CAP_SETFCAP: pale.toml(5)
    r = p.sh(*NESTED, '--', 'unshare --user --map-root-user --mount --pid --fork mount -t tmpfs none /tmp && echo nested')
    ok(r.booted and b'nested\n' in r.out, p, 'twin: with a root of their own too', r)


PROGRAMS = (
    ('sh', 'x=$(echo a | tr a b); (exit 3); echo $x$? | cat', b'b3\n'),
    ('python3', '''python3 -c "
import threading, subprocess, ssl, select, socket, tempfile, multiprocessing.pool
t = [threading.Thread(target=print, args=('t',)) for _ in range(3)]
[x.start() for x in t]; [x.join() for x in t]
print(subprocess.run(['echo', 'child'], stdout=-1).stdout, ssl.OPENSSL_VERSION[:3])
a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1), select.epoll().closed)
with multiprocessing.pool.Pool(2) as pool: print(pool.map(abs, [-1, -2]))
with tempfile.TemporaryFile() as f: print(f.write(b'abc'))"''',
     b"t\nt\nt\nb'child\\n' Ope\nb'x' False\n[1, 2]\n3\n"),
    ('gcc', "printf '#include <stdio.h>\\nint main(void){puts(\"compiled\");}\\n' >t.c && gcc -O2 -o t t.c && ./t", b'compiled\n'),
    ('git', 'rm -rf r && git init -q r && cd r && cp ../t.c . && git config user.name n && git config user.email e@e && git add t.c && git commit -qm first && git log --oneline | wc -l',
     b'1\n'),
    ('make', "printf 'all: a b\\na b:\\n\\t@sleep 0.05; echo $@ >$@\\n' >Makefile && make -s -j2 && cat a b", b'a\nb\n'),
    ('tar', 'mkdir -p d/e && echo x >d/e/f && chmod 750 d && ln -sf e d/l && tar -cf t.tar d && rm -r d && tar -xpf t.tar && cat d/l/f && stat -c %a d',
     b'x\n750\n'),
    ('curl', 'curl --version | head -c 5', b'curl '),
    ('perl', 'perl -e \'my $p = fork; if (!$p) { exit 4 } waitpid $p, 0; print $? >> 8, "\\n"\'', b'4\n'),
    ('node', 'node -e "require(\'fs\').writeFileSync(\'n\', \'1\'); setTimeout(() => console.log(\'node\', '
     'require(\'child_process\').execSync(\'echo c\') + \'\'), 5)"', b'node c\n\n'),
    ('find', 'find . -name t.c -exec cp -p {} copy.c \\; && cmp t.c copy.c && touch -d 2020-01-01 copy.c && stat -c %Y copy.c', b'1577836800\n'),
    ('setsid', 'setsid -w nice -n 5 sh -c "ulimit -n 64; ulimit -n"', b'64\n'),
    ('setarch', 'setarch linux32 uname -m', b'i686\n'),
)


@needs('isolated')
def case_programs(p):
    """In every variant of the filter."""
    have = [row for row in PROGRAMS if shutil.which(row[0], path=CLEAN_PATH)]
    for name in [row[0] for row in PROGRAMS if row not in have]:
        skip(p, f'no {name} here', only_root=True)
    for options in p.each((), VISIBLE, NESTED):
        for name, line, want in have:
            r = p.sh(*options, '--', line, timeout=60)
            ok(r.booted and r.code == 0 and r.rest == want, p, f"{' '.join(options) or 'default'}: {name} works", r)
        for item in ('.git', 'd'):
            shutil.rmtree(p.ws / item, ignore_errors=True)
        for item in ('t.c', 't', 'Makefile', 'a', 'b', 't.tar', 'n', 'copy.c'):
            (p.ws / item).unlink(missing_ok=True)


@needs('tracing')
def case_tracers(p):
    if not shutil.which('strace', path=CLEAN_PATH):
        return skip(p, 'no strace here', only_root=True)
    r = p.sh('strace -f -o trace sh -c "true; /bin/true" && grep -c "execve(" trace')
    ok(r.booted and r.code == 0 and r.rest == b'2\n', p, 'strace -f works where processes are isolated', r)
    r = p.sh(*VISIBLE, '--', 'strace -o trace true && echo traced')
    ok(r.booted and b'traced' not in r.out, p, 'and nothing is traced where those of the host are seen', r)
    (p.ws / 'trace').unlink(missing_ok=True)
    r = p.sh('strace -o /dev/null -e inject=getppid:error=EPERM perl -e "print getppid"')
    ok(r.booted and r.code == 0 and r.rest == b'-1', p, 'a tracer can make a call fail', r)


main(case_installed, case_calls_ME02_FW11_KS01_KS03_KS05_KS07_KS09_KS13_KS15_KS17_KS19_KS21,
     case_foreign_tables_KS22_KS23_NW10, case_sockets_NW08_NW09, case_set_uid_files,
     case_typing_PR04_PR05, case_crippled_processes, case_crippled_user, case_keys_KS05,
     case_rewritten_calls_KS11, case_nested_FW14, case_programs, case_tracers)
