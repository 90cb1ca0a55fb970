#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale-sh, the shell that is inside: what it is given, what it gives back, and no way round it."""
import pty
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


def shell(p):
    path = p.pale_path.parent / 'pale-sh'
    if not path.exists():
        path.symlink_to('pale')
    return path


def sh(p, *args, **kw):
    return p.run(shell(p), *args, **kw)


def case_lines(p):
    r = sh(p, '-c', 'echo "$0|$1|$2|$#"', 'name', 'a b', '$HOME')
    ok((r.code, r.out) == (0, b'name|a b|$HOME|2\n'), p, '-c LINE NAME ARGS', r)
    r = sh(p, '-c', 'echo $0')
    ok(r.code == 0 and r.out.strip() in (b'/bin/bash', b'/bin/sh'), p, '-c LINE alone', r)
    r = sh(p, '-lc', 'echo "$1"', 'name', 'x')
    ok((r.code, r.out) == (0, b'x\n'), p, '-lc', r)
    r = sh(p, '-e', '-c', 'false; echo on')
    ok((r.code, r.out) == (1, b''), p, 'options are the shell\'s', r)
    p.write(p.ws / 'script', 'echo "$0 $1"; exit 9\n')
    r = sh(p, 'script', 'arg')
    ok((r.code, r.out) == (9, b'script arg\n'), p, 'SCRIPT ARGS', r)
    r = sh(p, data=b'echo one\necho two; exit 4\n')
    ok((r.code, r.out) == (4, b'one\ntwo\n'), p, 'a script on standard input', r)
    r = sh(p, '-c', 'cat; echo err >&2', data=b'through')
    ok((r.out, r.err) == (b'through', b'err\n'), p, 'the three streams are the caller\'s', r)
    r = sh(p, '-c', '--', 'echo dashes')
    ok(r.out == b'dashes\n', p, 'a -- goes to the shell', r)


def case_status(p):
    for line, want in (('exit 0', 0), ('exit 1', 1), ('exit 255', 255), ('no-such-program-here', 127),
                       ('./file', 126), ('kill -9 $$', 137), ('kill -TERM $$', 143), ('if', 2)):
        r = sh(p, '-c', line)
        ok(r.code == want, p, f'{line}: {want}', r)


def case_inside(p):
    """What a command inside cannot do, a line of pale-sh cannot."""
    key = p.home / '.ssh/id_rsa'
    before = digest(p.outside, p.home)
    line = f'echo BOOTED; cat {key}; echo x >{p.outside}/canary; echo x >{p.outside}/new; echo y >inside'
    r = sh(p, '-c', line)
    ok(r.booted and b'CANARY' not in r.out + r.err and digest(p.outside, p.home) == before, p,
       'no key, nothing written outside', r)
    ok((p.ws / 'inside').read_text() == 'y\n', p, 'the workspace is written', r)
    (p.ws / 'inside').unlink()
    r = p.run('sh', '-c', f'cat {key}')
    ok(b'CANARY' in r.out, p, 'twin: an ordinary shell reads the key', r)
    r = sh(p, '-c', 'echo $SHELL; $SHELL -c "echo nested"', env=dict(p.env, SHELL=str(shell(p))))
    ok(r.code == 0 and r.out.split(b'\n')[1] == b'nested' and b'pale' not in r.out, p,
       'inside, SHELL is an ordinary shell', r)
    r = p.run('python3', '-c', 'import os; os.execv(os.environ["SHELL"], ["-c", "-c", "cat ~/.ssh/id_rsa; echo $?"])',
              env=dict(p.env, SHELL=str(shell(p))))
    ok(b'CANARY' not in r.out, p, 'by another name it is pale, and no shell at all', r)


def case_refused(p):
    """It never runs outside instead."""
    p.write(p.ws / 'pale.toml', 'nonsense = 1\n')
    r = sh(p, '-c', 'touch ran; echo ran')
    ok(r.code == 125 and r.out == b'' and not (p.ws / 'ran').exists() and b'nonsense' in r.err, p,
       'a broken configuration: 125, and nothing ran', r)
    p.write(p.ws / 'pale.toml', '[sandbox]\npreset = "ro"\n[presets.ro]\nbase = "workspace"\nfilesystem = "readonly"\n')
    r = sh(p, '-c', 'echo BOOTED; touch ran')
    ok(r.booted and r.code == 1 and not (p.ws / 'ran').exists(), p, 'the workspace\'s own preset holds', r)
    p.no_config()
    r = sh(p, '-c', 'touch ran', cwd='/')
    ok(r.code == 125 and b'cannot be a workspace' in r.err, p, 'where no workspace can be: as pale run, 125', r)
    r = sh(p, '-c', 'touch ran', env=dict(p.env, PALE_SESSION='no-such-session'))
    ok(r.code == 125 and not (p.ws / 'ran').exists(), p, 'a session that is not there: 125', r)
    r = sh(p, '-c', 'touch ran')
    ok(r.code == 0 and (p.ws / 'ran').exists(), p, 'twin: else it runs', r)
    (p.ws / 'ran').unlink(missing_ok=True)


def case_pinned(p):
    """PALE_WORKSPACE: whoever chooses the folder does not choose the workspace."""
    other = p.mkdir(p.base / 'other')
    p.write(other / 'file', 'mine\n')
    env = dict(p.env, PALE_WORKSPACE=str(p.ws))
    p.mkdir(p.ws / 'sub')
    r = sh(p, '-c', 'pwd; touch ../pinned', env=env, cwd=p.ws / 'sub')
    ok(r.code == 0 and r.out == f'{p.ws}/sub\n'.encode() and (p.ws / 'pinned').exists(), p, 'in it: it runs', r)
    (p.ws / 'pinned').unlink(missing_ok=True)
    before = digest(other)
    r = sh(p, '-c', 'echo evil >file', env=env, cwd=other)
    ok(r.code == 125 and digest(other) == before and b'PALE_WORKSPACE' in r.err, p, 'elsewhere: 125', r)
    r = sh(p, '-c', 'echo evil >file', cwd=other)
    ok(r.code == 0 and digest(other) != before, p, 'twin: without it the folder is the workspace', r)
    link = p.ws / 'way-out'
    link.symlink_to(other)
    r = sh(p, '-c', 'echo more >file', env=env, cwd=link)
    ok(r.code == 125, p, 'a link out of it leads elsewhere', r)
    link.unlink()
    for bad in ('relative', str(p.base / 'nothing')):
        r = sh(p, '-c', 'touch ran', env=dict(p.env, PALE_WORKSPACE=bad))
        ok(r.code == 125 and not (p.ws / 'ran').exists(), p, f'{os.path.basename(bad)}: 125', r)


def case_agent(p):
    """A program that starts $SHELL -c, as agents do."""
    agent = ('import os, subprocess; '
             'print(subprocess.run([os.environ["SHELL"], "-c", "cat ~/.ssh/id_rsa; pwd; exit 5"], '
             'cwd="sub", capture_output=True, text=True))')
    p.mkdir(p.ws / 'sub')
    r = p.run('python3', '-c', agent, env=dict(p.env, SHELL=str(shell(p))))
    ok(b'returncode=5' in r.out and f"stdout='{p.ws}/sub\\n'".encode() in r.out and b'CANARY' not in r.out, p,
       'is inside without knowing', r)
    r = p.run('python3', '-c', agent, env=dict(p.env, SHELL='/bin/sh'))
    ok(b'CANARY' in r.out, p, 'twin: with an ordinary one it is not', r)


def case_terminal(p):
    """Interactive, on a terminal."""
    main_end, end = pty.openpty()
    proc = p.start(shell(p), stdin=end, stdout=end, stderr=end, start_new_session=True)
    os.close(end)
    os.write(main_end, b'echo "tty: $(tty)"; cat ~/.ssh/id_rsa; exit 6\n')
    out = b''
    try:
        while chunk := os.read(main_end, 4096):
            out += chunk
    except OSError:
        pass
    code = proc.wait(30)
    os.close(main_end)
    ok(code == 6 and b'tty: /dev/pts/' in out and b'CANARY' not in out, p, 'a shell inside', f'{code} {out!r}')


main(case_lines, case_status, case_inside, case_refused, case_pinned, case_agent, case_terminal)
