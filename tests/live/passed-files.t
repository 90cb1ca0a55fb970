#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files on 0, 1 and 2 are others', too. A shell reads its script from one: a command must not turn it back. And
what was appended to a log stays there."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from box import Box

# Five turns, if somebody lets it.
SCRIPT = '''echo turn >>%s
[ $(wc -l <%s) -lt 5 ] || exit 3
%s sh -c 'echo BOOTED; exec /usr/bin/python3 ./move.py' || exit 4
echo goes on
'''
MOVES = {'to the beginning': 'os.lseek(0, 0, os.SEEK_SET)',
         'through another descriptor': 'fd = os.dup(0); os.lseek(fd, 0, os.SEEK_SET)',
         'by reading at the beginning, later': 'os.pread(0, 1, 0); os.lseek(0, -os.lseek(0, 0, 1), 1)',
         'from what it leaves behind': 'os.fork() and os._exit(0); import time; time.sleep(0.2); os.lseek(0, 0, os.SEEK_SET)'}


class Ways:
    """How a command is run: beginnings of a command line."""

    def __init__(self, p):
        self.box = Box(p, 'bookmark')
        self.box.start()
        self.all = [('run', p.pale_argv('--')), ('run, limited', p.pale_argv('--max-output', '1M', '--')),
                    ('exec', [p.pale_path, 'exec', '-s', 's', '--'])]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.box.__exit__()

    def run(self, p, *argv, **kw):
        return p.run(*argv, env=self.box.env, cwd=self.box.ws, **kw)


def case_script(p):
    """bash goes back to the end of the line that it is at before it runs something."""
    count = p.base / 'count'
    with Ways(p) as ways:
        for move, text in MOVES.items():
            p.write(ways.box.ws / 'move.py', f'import os\n{text}\n')
            for name, way in [('twin: without pale', []), *ways.all]:
                p.write(count, '', 0o666)
                script = p.write(p.base / 'script', SCRIPT % (count, count, ' '.join(map(str, way))))
                with open(script) as stdin:
                    r = ways.run(p, 'bash', stdin=stdin)
                turns = count.read_text().count('turn')
                # whoever is left behind comes too late for the rest of the script, or not
                wanted = (1,) if way else (5,) if 'leaves' not in move else (1, 2, 3, 4, 5)
                ok(r.booted and turns in wanted and (not way or r.out.endswith(b'goes on\n')), p, f'{move}, {name}: {turns} turns', r)


def case_what_was_read_is_read(p):
    with Ways(p) as ways:
        numbers = p.write(p.base / 'numbers', '1\n2\n3\n4\n5\n')
        for name, way in ways.all:
            for inside, rest in (('dd bs=3 count=1 2>/dev/null', b'1\n2:\n3\n4\n5\n'), ('true', b':1\n2\n3\n4\n5\n'), ('cat', b'1\n2\n3\n4\n5\n:')):
                r = ways.run(p, 'sh', '-c', f'{{ "$@" sh -c "{inside}"; printf :; cat; }}', 'sh', *way, stdin=open(numbers))
                ok(r.code == 0 and r.out == rest, p, f'{name}: what {inside.split()[0]} leaves stays', r)
            r = ways.run(p, 'sh', '-c', '{ read a; "$@" sh -c "read b; echo $b"; read c; echo $a $c; }', 'sh', *way, stdin=open(numbers))
            ok(r.code == 0 and r.out.endswith(b'1 3\n'), p, f'{name}: from the middle on', r)
            p.write(ways.box.ws / 'far.py', 'import os; os.lseek(0, 1 << 40, os.SEEK_SET)')
            r = ways.run(p, '/usr/bin/python3', '-c', 'import os, subprocess, sys; subprocess.run(sys.argv[1:]); print(os.lseek(0, 0, 1))',
                         *way, '/usr/bin/python3', './far.py', stdin=open(numbers))
            ok(r.out == b'10\n', p, f'{name}: no further than its end', r)


def case_one_that_cannot_be_opened_again(p):
    """Whoever opened it had more rights: it is passed as it is."""
    if p.is_root:
        return
    if os.geteuid() != 0:
        skip(p, 'only root can open what others cannot', only_root=True)
        return
    with Ways(p) as ways:
        secret = p.base / 'secret'
        secret.write_text('1\n2\n')
        secret.chmod(0o600)
        os.chown(secret, 0, 0)
        for name, way in ways.all:
            r = ways.run(p, *way, 'sh', '-c', 'cat', stdin=open(secret))
            ok(r.code == 0 and r.out == b'1\n2\n', p, f'{name}: it is read', r)
        nameless = open(p.base / 'nameless', 'w+')
        nameless.write('gone\n')
        nameless.seek(0)
        os.unlink(nameless.name)
        os.fchmod(nameless.fileno(), 0o644)
        r = ways.run(p, *ways.all[0][1], 'cat', stdin=nameless)
        ok(r.out == b'gone\n', p, 'one that has no name any more, too', r)


FORGE = r'''
import fcntl, os
print('BOOTED', flush=True)
fcntl.fcntl(%d, fcntl.F_SETFL, 0)
for deed in (lambda: os.lseek(%d, 0, 0), lambda: os.write(%d, b'FORGED\n'), lambda: os.ftruncate(%d, 7)):
    try:
        deed()
    except OSError:
        pass
'''


def case_appended(p):
    log = p.base / 'log'
    with Ways(p) as ways:
        for fd, (name, way) in [(fd, way) for fd in (1, 2) for way in [('twin: without pale', []), *ways.all]]:
            p.write(ways.box.ws / 'forge.py', FORGE % ((fd,) * 4))
            p.write(log, 'audited\n', 0o666)
            with open(log, 'a') as out:
                ways.run(p, *way, '/usr/bin/python3', './forge.py', stdin=subprocess.DEVNULL, **{'stdout' if fd == 1 else 'stderr': out})
            text = log.read_text()
            ok(text.startswith('audited\n') == bool(way) and 'FORGED' in text, p, f'{name}: {fd}, what was there ' + ('stays' if way else 'is gone'), text)
        for name, way in ways.all:
            p.write(log, 'audited\n', 0o666)
            with open(log, 'a') as out:
                r = ways.run(p, *way, 'sh', '-c', 'for i in 1 2 3; do echo out $i; echo err $i >&2; done; seq 100000; exit 3', stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            text = log.read_text()
            ok(r.code == 3 and text.startswith('audited\nout 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n1\n') and (text.endswith('\n100000\n')), p,
               f'{name}: all of it is appended, in order', text[:100])


main(case_appended, case_script, case_what_was_read_is_read, case_one_that_cannot_be_opened_again)
