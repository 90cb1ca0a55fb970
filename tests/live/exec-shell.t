#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exec --shell: one line after the other, as if by the same shell; and pale-sh in a session."""
import fcntl
import os
import sys
import termios
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


def line(p, text, *options, **kw):
    return p.verb('exec', '--shell', *options, '--', text, **kw)


def stop(p):
    p.verb('session', 'stop', '--all')


def case_kept(p):
    p.mkdir(p.ws / 'sub/deep')
    r = line(p, 'cd sub; export A="x  y" B=2; C=3; echo "$PWD"')
    ok((r.code, r.out) == (0, f'{p.ws}/sub\n'.encode()), p, 'the first line begins here', r)
    r = line(p, 'echo "$PWD|$A|$B|$C"')
    ok(r.out == f'{p.ws}/sub|x  y|2|\n'.encode(), p, 'folder and exported variables are kept, others not', r)
    r = line(p, 'cd deep; unset B; export A="two\nlines"; exit 3')
    ok(r.code == 3, p, 'exit: its status', r)
    r = line(p, 'echo "$PWD|$A|${B-unset}"; cd - >/dev/null; pwd')
    ok(r.out == f'{p.ws}/sub/deep|two\nlines|unset\n{p.ws}/sub\n'.encode(), p, 'unset, several lines, cd -', r)
    r = line(p, 'set -e; cd /; false; cd /usr')
    ok(r.code == 1, p, 'set -e ends the line', r)
    r = line(p, 'pwd; false; echo on')
    ok(r.out == b'/\non\n', p, 'what was done before is kept, set -e itself is not', r)
    r = line(p, 'cd /usr; if')
    ok(r.code == 2, p, 'a syntax error: 2', r)
    r = line(p, 'f() { :; }; alias x=y; set -u; shopt -s nullglob 2>/dev/null; cd /usr/lib')
    r = line(p, 'pwd; type f >/dev/null 2>&1 || echo none; echo "$unset_one|$#|$0"')
    ok(r.out.startswith(b'/usr/lib\nnone\n|0|'), p, 'no functions, no options, no arguments are kept', r)
    r = line(p, 'export PATH=/nowhere; cd /var')
    ok(line(p, 'echo "$PATH $PWD"').out == b'/nowhere /var\n', p, 'also without a PATH', r)
    stop(p)


def case_not_kept(p):
    line(p, 'cd /usr; export A=1')
    for text, code in (('export A=2; cd /; kill -9 $$', 137), ('export A=2; cd /; exec true', 0),
                       ('export A=2; cd /; trap : EXIT', 0)):
        r = line(p, text)
        ok(r.code == code and b'did not leave its state' in r.err, p, f'{text}: that is said', r)
        r = line(p, 'echo $A $PWD')
        ok(r.out == b'1 /usr\n', p, f'{text}: all as before', r)
    r = line(p, 'export A=2; sleep 60', '--timeout', '300ms')
    ok(r.code == 124 and line(p, 'echo $A').out == b'1\n', p, 'a line that timed out: as before', r)
    r = line(p, 'export BIG=$(head -c 100000 /dev/zero | tr "\\0" x); export B1=$BIG B2=$BIG')
    ok(r.code == 0 and b'did not leave' in r.err and line(p, 'echo ${#BIG} $A').out == b'0 1\n', p,
       'more than is kept: none of it', r)
    r = line(p, 'cd /; kill -9 $$', '-j')
    ok(r.json().get('shell') == 'unchanged', p, 'in JSON: unchanged', r)
    r = line(p, 'cd /', '-j')
    ok(r.json().get('shell') == 'kept', p, 'or kept', r)
    stop(p)


def interrupted(p, text):
    """Ctrl-C once TEXT has said that it runs: what was seen, and the status."""
    master, slave = os.openpty()
    proc = p.start(p.pale_path, 'exec', '--shell', '--', text, stdin=slave, stdout=slave, stderr=slave,
                   start_new_session=True, preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0))
    os.close(slave)
    seen = b''
    try:
        while more := os.read(master, 4096):
            seen += more
            if b'BOOTED' in seen and b'^C' not in seen:
                time.sleep(0.2) # what comes before the next program is started, bash takes for that one's
                os.write(master, b'\x03')
    except OSError:
        pass # nobody is at the other end any more
    os.close(master)
    return seen, proc.wait(10)


def case_interrupted(p):
    for text in ('sleep 30', '{ sleep 30; } >/dev/null', 'while :; do :; done'):
        line(p, 'cd /usr; export A=1')
        seen, code = interrupted(p, f'cd /var; export A=2; echo BOOTED; {text}')
        ok(code == 130 and b'BOOTED' in seen and b'descriptor' not in seen, p,
           f'Ctrl-C ends `{text}`: 130, and nothing is said of descriptors', seen)
        r = line(p, 'echo "$A $PWD"')
        ok(r.out in (b'2 /var\n', b'1 /usr\n'), p, 'folder and variables are its own, or those before it', r)
    stop(p)


def case_options(p):
    p.mkdir(p.ws / 'sub')
    line(p, 'cd /usr')
    r = line(p, 'pwd', '--cwd', p.ws / 'sub')
    ok(r.out == f'{p.ws}/sub\n'.encode(), p, '--cwd goes elsewhere', r)
    ok(line(p, 'pwd').out == f'{p.ws}/sub\n'.encode(), p, 'and that is kept')
    r = line(p, 'echo $A $LANG', '--setenv', 'A=secret', '--setenv', 'LANG=C')
    ok(r.out == b'secret C\n' and line(p, 'echo "$A $LANG"').out == b' C.UTF-8\n', p, '--setenv is for one line', r)
    r = line(p, 'A="$A too"', '--setenv', 'A=given')
    ok(line(p, 'echo $A').out == b'given too\n', p, 'unless the line makes something else of it', r)
    line(p, 'export A=given')
    r = line(p, 'cd /; export A=2; echo ran', '--background')
    ok(r.code == 0, p, 'in the background', r)
    p.verb('wait', r.out.strip().decode())
    ok(line(p, 'echo $A $PWD').out == f'given {p.ws}/sub\n'.encode(), p, 'it begins there and leaves nothing')
    r = p.verb('exec', '--shell', '--', 'echo', 'two')
    ok(r.code == 125 and b'one line' in r.err, p, 'two words are refused', r)
    p.verb('session', 'start', 'other')
    ok(line(p, 'echo $A', '-s', 'other').out == b'\n', p, 'another session has a shell of its own')
    r = line(p, 'rm -rf ../sub; mkdir ../sub2')
    r = line(p, 'pwd')
    ok(r.code == 0 and r.out == f'{p.ws}\n'.encode() and b'instead' in r.err, p, 'a folder that is gone: said, in the workspace', r)
    stop(p)
    r = line(p, 'echo $A $LANG', '--setenv', 'A=secret', '--setenv', 'LANG=C')
    ok(r.out == b'secret C\n' and line(p, 'echo "$A $LANG"').out == b' C.UTF-8\n', p,
       'a new session begins anew, also with --setenv', r)
    stop(p)
    shutil.rmtree(p.ws / 'sub2')


def case_from_inside(p):
    """What a line leaves is taken inside only: the host's side follows none of it."""
    before = digest(p.outside, p.home)
    line(p, f'PWD={p.outside}; export LD_PRELOAD=/nowhere.so BASH_ENV={p.ws}/evil PATH={p.ws}:$PATH')
    p.write(p.ws / 'evil', f'echo evil >{p.outside}/canary; echo sourced\n')
    r = line(p, 'echo BOOTED; pwd')
    ok(r.booted and f'{p.outside}\n'.encode() not in r.out and digest(p.outside, p.home) == before, p,
       'a folder and variables of its choice lead nowhere else', r)
    stop(p)
    r = line(p, 'for i in 3 9 63; do { echo x >&$i; } 2>/dev/null && echo "open $i"; done; ls /proc/self/fd | wc -l')
    ok(b'open' not in r.out, p, 'the line itself has no descriptor to write its state to', r)
    r = line(p, 'printf "pale-shell\\0/etc\\0A=forged\\0=\\0" >/proc/$PPID/fd/9; true')
    ok(line(p, 'echo "$A"').out == b'\n', p, 'nor anybody else', r)
    line(p, 'export A=good')
    forged = 'pale_keep() { { printf "pale-shell\\0/\\0A="; head -c 150000 /dev/zero | tr "\\0" x; printf "\\0=\\0"; } >&9; }'
    r = line(p, forged)
    ok(b'not its state' in r.err, p, 'a state that no program could be started with is refused', r)
    r = line(p, 'echo BOOTED $A')
    ok(r.out == b'BOOTED good\n', p, 'and the next line runs', r)
    stop(p)


def case_pale_sh(p):
    """PALE_SESSION: lines of pale-sh in a session."""
    sh = p.pale_path.parent / 'pale-sh'
    if not sh.exists():
        sh.symlink_to('pale')
    env = dict(p.env, PALE_SESSION='work')
    r = p.run(sh, '-c', 'echo x', env=env)
    ok(r.code == 125 and b"no session 'work'" in r.err and r.out == b'', p, 'no such session: 125', r)
    p.verb('session', 'start', 'work')
    r = p.run(sh, '-c', 'sleep 300 >/dev/null 2>&1 & echo $!; exit 7', env=env)
    ok(r.code == 7, p, 'its status', r)
    r = p.run(sh, '-c', f'[ -d /proc/{r.out.decode().strip()} ] && echo alive', env=env)
    ok(r.out == b'alive\n', p, 'what one line left running is there for the next', r)
    r = p.run(sh, '-c', f'cat {p.home}/.ssh/id_rsa; echo $1', 'name', 'arg', env=env)
    ok(r.out == b'arg\n', p, 'inside, with arguments', r)
    r = p.run(sh, '-c', 'echo own', env=dict(p.env, PALE_SESSION=''))
    ok(r.out == b'own\n', p, 'an empty name is none', r)
    stop(p)


main(case_kept, case_not_kept, case_interrupted, case_options, case_from_inside, case_pale_sh)
