#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pipes on 0, 1 and 2: others have them, too. A command must not write what they read, nor read what they write."""
import errno
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from box import Box

# Whoever has one end of a pipe can open the other.
INJECT = 'echo BOOTED; echo "echo INJECTED; touch %s" >/proc/self/fd/0 && echo wrote; true'
BYTES = 3 << 20


class Ways:
    """How a command gets its stdin: beginnings of a command line."""

    def __init__(self, p):
        self.box = Box(p, 'pipes')
        self.box.start()
        self.sessions = [('exec', [p.pale_path, 'exec', '-s', 's', '--']),
                         ('exec, limited', [p.pale_path, 'exec', '-s', 's', '--max-output', '1M', '--'])]
        self.all = [('run', p.pale_argv('--')), ('run, limited', p.pale_argv('--max-output', '1M', '--')), *self.sessions]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.box.__exit__()

    def sh(self, p, line, *more, **kw):
        return p.run('sh', '-c', line, 'sh', *more, env=self.box.env, cwd=self.box.ws, stdin=subprocess.DEVNULL, **kw)


def case_script_on_stdin(p):
    made = p.mkdir(p.base / 'made', 0o777) / 'by-the-shell'
    inject = p.write(p.base / 'inject', INJECT % made)
    with Ways(p) as ways:
        for name, way in [('twin: without pale', []), *ways.all]:
            shutil.copy(inject, ways.box.ws / 'inject')
            script = p.write(p.base / 'script', ' '.join(map(str, way)) + ' sh ./inject\necho goes on\n')
            r = ways.sh(p, 'cat "$1" | sh', script)
            ok(r.booted and r.out.endswith(b'goes on\n' if way else b'INJECTED\n') and made.exists() == (not way), p,
               f'{name}: the shell executes ' + ('its own script' if way else 'what its child wrote'), r)
            made.unlink(missing_ok=True)


# In the background, for longer than the command: what others print, before it and after.
STEAL = 'echo BOOTED >booted; : >stolen; timeout 1 cat </proc/self/fd/%d >stolen & sleep 0.3'


def case_what_others_print(p):
    with Ways(p) as ways:
        for fd, (name, way) in [(fd, way) for fd in (1, 2) for way in [('twin: without pale', []), *ways.all[::2]]]:
            for file in ('booted', 'stolen'):
                (ways.box.ws / file).unlink(missing_ok=True)
            p.write(ways.box.ws / 'steal', STEAL % fd)
            line = '{ echo BEFORE; "$@" sh ./steal; echo AFTER; sleep 0.4; } | { sleep 1; cat; }'
            r = ways.sh(p, line if fd == 1 else line.replace('"$@" sh ./steal', '"$@" sh ./steal 2>&1 >/dev/null'), *way)
            stolen = (ways.box.ws / 'stolen').read_text()
            seen = b'BEFORE' in r.out and b'AFTER' in r.out
            ok((ways.box.ws / 'booted').exists() and (seen, stolen) == ((True, '') if way else (False, 'BEFORE\nAFTER\n')), p,
               f'{name}: {fd} gives ' + ('nothing of others' if way else 'all that others print'), f'{r}\n{stolen!r}')


def case_output(p):
    with Ways(p) as ways:
        for name, way in ways.all[::2]:
            r = ways.sh(p, '"$@" sh -c "seq 200000; seq 100 >&2" 2>err | sha256sum; seq 200000 | sha256sum; cat err | tail -n 1', *way)
            got = r.out.split()
            ok(got[0] == got[2] and got[4] == b'100', p, f'{name}: all of it', r)
            r = ways.sh(p, '"$@" sh -c "echo 1; echo 2 >&2; echo 3; echo 4 >&2" 2>&1 | cat', *way)
            ok(r.out == b'1\n2\n3\n4\n', p, f'{name}: in order', r)
            r = ways.sh(p, '"$@" sh -c "cat; echo done" 0>&1 | cat', *way)
            ok(r.out == b'done\n', p, f'{name}: not even where it stands for the input', r)
            r = ways.sh(p, 'echo in | { "$@" sh -c "cat /dev/stdin; echo out >/dev/stdout; echo err >/dev/stderr"; } 2>&1 | cat', *way)
            ok(r.out == b'in\nout\nerr\n', p, f'{name}: opened by name', r)
            r = ways.sh(p, '{ "$@" yes; echo $? >&2; } | head -n 1', *way)
            ok(r.out == b'y\n' and r.err.split()[-1:] == [b'141'], p, f'{name}: as long as somebody reads', r)


def case_what_is_not_read_stays(p):
    with Ways(p) as ways:
        for name, way in ways.all:
            r = ways.sh(p, 'printf "1\n2\n3\n4\n5\n" | { "$@" dd bs=3 count=1 2>/dev/null; echo :; "$@" true; "$@" sh -c "read a; echo $a"; echo :; cat; }', *way)
            ok(r.out == b'1\n2:\n\n:\n3\n4\n5\n', p, f'{name}: for who reads next', r)
            r = ways.sh(p, 'seq 20000 | { "$@" sh -c "exec <&-; sleep 0.1"; sha256sum; "$@" cat; }; seq 20000 | sha256sum', *way)
            got = r.out.split()[::2]
            ok(r.code == 0 and len(got) == 2 and got[0] == got[1], p, f'{name}: all of it, where stdin is closed', r)


def case_all_of_it_comes(p):
    data = os.urandom(BYTES)
    p.write(p.base / 'data', data)
    with Ways(p) as ways:
        for name, way in ways.all:
            r = ways.sh(p, '{ head -c 5 "$1"; sleep 0.1; tail -c +6 "$1"; } | { shift; "$@" sha256sum; }', p.base / 'data', *way)
            ok(r.out.split()[:1] == [hashlib.sha256(data).hexdigest().encode()], p, f'{name}: {BYTES} bytes, and their end', r)
            r = ways.sh(p, 'yes | "$@" head -n 1', *way)
            ok(r.out == b'y\n', p, f'{name}: of a pipe that has no end', r)


# What it does to its own pipe: more room, and full of what it wrote itself.
OWN = '''
import fcntl, os, time
fcntl.fcntl(0, 1031, 65536)
try:
    fd = os.open('/proc/self/fd/0', os.O_WRONLY | os.O_NONBLOCK)
    while True:
        os.write(fd, b'x' * 4096)
except OSError as e:
    print(e.errno, flush=True)
time.sleep(1)
'''


def case_its_own_pipe(p):
    p.write(p.ws / 'own.py', OWN)
    feed = p.start('sh', '-c', 'seq 100000; sleep 3', stdout=subprocess.PIPE)
    run = p.start_pale('--', '/usr/bin/python3', 'own.py', stdin=feed.stdout, stdout=subprocess.PIPE)
    told = run.stdout.readline()
    before = sum(map(int, pathlib.Path(f'/proc/{run.pid}/stat').read_text().rsplit(')', 1)[1].split()[11:13]))
    time.sleep(0.7)
    after = sum(map(int, pathlib.Path(f'/proc/{run.pid}/stat').read_text().rsplit(')', 1)[1].split()[11:13]))
    # what root has made is not the command's
    ok(int(told) == (errno.EACCES if p.is_root else errno.EAGAIN) and after - before < 20, p, 'one that is filled by the command keeps nobody busy', (told, before, after))
    ok(run.wait(20) == 0, p, 'and it ends as ever')
    feed.kill()
    feed.wait()
    for f in (feed.stdout, run.stdout):
        f.close()


main(case_script_on_stdin, case_what_others_print, case_output, case_what_is_not_read_stays, case_all_of_it_comes, case_its_own_pipe)
