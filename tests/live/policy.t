#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Policy comes from outside: ceilings, trust, registered commands."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


def ran(p):
    """Did the canary command run? Asked once."""
    there = (p.ws / 'ran').exists()
    (p.ws / 'ran').unlink(missing_ok=True)
    return there


def case_ceiling(p):
    p.no_config()
    user = p.config('# mine\n\n[ceiling]\nnetwork = "none"\nfilesystem = "readonly"\n')
    project = p.write(p.ws / 'pale.toml', '[commands.x]\ncmd = "touch ran"\n[commands.x.sandbox]\nfilesystem = "workspace_only"\n')
    r = p.pale('x')
    ok(r.code == 125 and not ran(p), p, 'a project that asks for more: 125, nothing ran', r)
    ok(f'{project}:4'.encode() in r.err and f'{user}:5'.encode() in r.err, p, 'both lines are named', r)
    r = p.pale('--network', 'unrestricted', '--', 'touch', 'ran')
    ok(r.code == 125 and not ran(p) and f'{user}:4'.encode() in r.err, p, 'the command line is bound, too', r)
    p.write(p.ws / 'pale.toml', '[commands.x]\ncmd = "touch ran"\n[commands.x.sandbox]\nfilesystem = "readonly"\n')
    r = p.pale('x')
    ok(r.code not in (0, 125) and not ran(p), p, 'a project that asks for no more runs, within', r)
    p.config('')
    p.write(p.ws / 'pale.toml', '[commands.x]\ncmd = "touch ran"\n[commands.x.sandbox]\nfilesystem = "workspace_only"\n')
    r = p.pale('x')
    ok(r.code == 0 and ran(p), p, 'twin: without the ceiling it runs', r)
    # a value may be named through a preset of the project's own
    p.config('[ceiling]\nfilesystem = "readonly"\n')
    p.write(p.ws / 'pale.toml', '[presets.mine]\nbase = "workspace"\nfilesystem = "workspace_only"\n[commands.x]\ncmd = "touch ran"\nsandbox = "mine"\n')
    r = p.pale('x')
    ok(r.code == 125 and not ran(p), p, 'nor by a preset of its own', r)
    p.write(p.ws / 'pale.toml', '[ceiling]\nfilesystem = "unrestricted"\n')
    r = p.pale('--', 'touch', 'ran')
    ok(r.code == 125 and not ran(p) and b'pale.toml:1' in r.err, p, 'a project has no ceiling to set', r)
    p.write(p.ws / 'pale.toml', '[sandbox]\nallow_degraded = ["memory"]\n')
    r = p.pale('--', 'touch', 'ran')
    ok(r.code == 125 and not ran(p), p, 'and may not degrade', r)
    p.no_config()


TRUST = (
    ('sandbox = "off"', '[commands.x]\ncmd = "touch ran"\nsandbox = "off"\n',
     '[commands.x]\ncmd = "touch ran"\nsandbox = "unrestricted"\n'),
    ('env.pass', '[sandbox.env]\npass = ["AWS_SECRET_ACCESS_KEY"]\n[commands.x]\ncmd = "touch ran"\n',
     '[sandbox.env]\npass = ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"]\n[commands.x]\ncmd = "touch ran"\n'),
    ('paths_readable', '[commands.x]\ncmd = "touch ran"\n[commands.x.sandbox]\nfilesystem = "workspace_only"\npaths_readable = ["~/.ssh"]\n',
     '[commands.x]\ncmd = "touch ran"\n[commands.x.sandbox]\nfilesystem = "workspace_only"\npaths_readable = ["~"]\n'),
)


def case_trust(p):
    for name, text, changed in TRUST:
        p.no_config()
        p.write(p.ws / 'pale.toml', text)
        line = next(i for i, l in enumerate(text.splitlines(), 1) if any(
            w in l for w in ('"off"', 'pass =', 'paths_readable')))
        r = p.pale('x')
        ok(r.code == 125 and not ran(p) and f'pale.toml:{line}'.encode() in r.err and b'trust' in r.err, p,
           f'{name}: 125 before trust, the line and the way named', r)
        r = p.pale('--', 'touch', 'ran')
        ok(r.code == 125 and not ran(p), p, f'{name}: whatever is run', r)
        r = p.pale('--json', 'x')
        ok(r.json().get('outcome') == 'refused', p, f'{name}: refused, in JSON', r)
        r = p.verb('trust', '--show')
        ok(b'SECRET' in r.out or b'.ssh' in r.out or b'off' in r.out, p, f'{name}: --show shows it', r)
        r = p.verb('trust', data=b'')
        ok(p.pale('x').code == 125 and not ran(p), p, f'{name}: trust without an answer is no trust', r)
        r = p.verb('trust', '--yes')
        ok(r.code == 0, p, f'{name}: trust --yes', r)
        r = p.pale('x')
        ok(r.code == 0 and ran(p), p, f'{name}: then it runs', r)
        p.write(p.ws / 'pale.toml', '# a comment more\n' + text)
        r = p.pale('x')
        ok(r.code == 0 and ran(p), p, f'{name}: a comment changes nothing', r)
        p.write(p.ws / 'pale.toml', changed)
        r = p.pale('x')
        ok(r.code == 125 and not ran(p), p, f'{name}: a changed value asks again', r)
        p.write(p.ws / 'pale.toml', text)
        r = p.verb('trust', '--revoke')
        ok(r.code == 0 and p.pale('x').code == 125 and not ran(p), p, f'{name}: revoked', r)
    p.no_config()


def case_trust_is_out_of_reach(p):
    p.no_config()
    p.write(p.ws / 'pale.toml', TRUST[0][1].replace('touch ran', 'true') + '[commands.y]\ncmd = "true"\n')
    before = p.pale('x').code
    p.write(p.ws / 'pale.toml', '[commands.y]\ncmd = "true"\n')
    r = p.sh('cp "$1" /tmp/pale; XDG_STATE_HOME="$2" /tmp/pale trust --yes; mkdir -p "$2/pale"; ls -R "$2"; '
             'find / -name "*trust*" -path "*state*" 2>/dev/null', str(p.pale_path), str(p.base / 'state'))
    p.write(p.ws / 'pale.toml', TRUST[0][1])
    after = p.pale('x').code
    ok(r.booted and before == after == 125 and not ran(p), p, 'a command inside cannot trust on behalf of the user', r)
    # another workspace with the same text is another workspace
    p.verb('trust', '--yes')
    other = p.mkdir(p.base / 'clone')
    p.write(other / 'pale.toml', TRUST[0][1])
    r = p.pale('x', cwd=other)
    ok(r.code == 125 and not (other / 'ran').exists(), p, 'trust does not go to a copy elsewhere', r)
    shutil.rmtree(other)
    p.no_config()


def case_registered(p):
    p.no_config()
    escaped = pathlib.Path('/tmp/escaped')
    if escaped.exists():
        return skip(p, '/tmp/escaped exists')
    r = p.verb('commands', 'register', 'x', 'true && touch /tmp/escaped')
    ok(r.code == 0, p, 'register', r)
    r = p.pale('x')
    ok(r.code == 0 and not escaped.exists(), p, "'true && touch /tmp/escaped' leaves no file on the host", r)
    r = p.verb('commands', 'register', 'twin', 'true && touch /tmp/escaped', '--sandbox', 'off')
    p.verb('trust', '--yes')
    r = p.pale('twin')
    ok(r.code == 0 and escaped.exists(), p, 'twin: it does when off', r)
    escaped.unlink(missing_ok=True)
    p.no_config()
    r = p.verb('commands', 'register', 'both', 'make -v >/dev/null && readlink /proc/self/ns/pid /proc/self/ns/mnt && id -u')
    r = p.pale('both')
    lines = r.out.decode().split()
    host = [os.readlink(f'/proc/self/ns/{n}') for n in ('pid', 'mnt')]
    ok(r.code == 0 and len(lines) == 3 and lines[0] != host[0] and lines[1] != host[1], p,
       'make && id: both halves inside', r)
    r = p.pale('--', 'sh', '-c', 'make -v >/dev/null && id -u')
    ok(r.code == 0 and r.out.strip() == str(p.uid).encode(), p, 'and so from the command line', r)


def case_arguments(p):
    p.no_config()
    p.verb('commands', 'register', 'show', 'printf "<%s>"')
    p.verb('commands', 'register', 'first', 'printf "[%s]" "$1"')
    p.verb('commands', 'register', 'list', '--', 'printf', '<%s>')
    evil = ['; touch pwned', '$(touch pwned)', '`touch pwned`', '&& touch pwned', '| touch pwned', '\n touch pwned', '"; touch pwned; "',
            "'; touch pwned; '", '-n', '--', '*', '$HOME', '']
    for name in ('show', 'list'):
        r = p.pale(name, *evil)
        ok(r.code == 0 and r.out == ''.join(f'<{e}>' for e in evil).encode() and not (p.ws / 'pwned').exists(), p,
           f'{name}: further arguments are arguments', r)
    r = p.pale('first', '; touch pwned')
    ok(r.out == b'[; touch pwned]' and not (p.ws / 'pwned').exists(), p, 'where the line says it itself', r)
    r = p.pale('show', '--preset', 'off')
    ok(r.out == b'<--preset><off>', p, 'options after the name are not ours', r)
    r = p.pale('--', 'printf', '<%s>', '--preset', 'off', '--')
    ok(r.out == b'<--preset><off><-->', p, 'nor after --', r)
    p.write(p.ws / '-evil', '#!/bin/sh\necho evil\n', 0o755)
    r = p.pale('-evil')
    ok(r.code == 125, p, 'a name that looks like an option', r)
    (p.ws / '-evil').unlink()
    p.no_config()


def case_config_files(p):
    p.no_config()
    for name, make in (
            ('a link out of the workspace', lambda f: f.symlink_to(p.outside / 'canary')),
            ('a folder', lambda f: f.mkdir()),
            ('binary', lambda f: f.write_bytes(bytes(range(256)))),
            ('huge', lambda f: f.write_bytes(b'# x\n' * (1 << 20)))):
        make(p.ws / 'pale.toml')
        r = p.pale('--', 'touch', 'ran', timeout=10)
        ok(r.code == 125 and not ran(p) and b'pale.toml' in r.err and r.seconds < 5, p, f'{name} for a config: refused', r)
        (p.ws / 'pale.toml').rmdir() if (p.ws / 'pale.toml').is_dir() else (p.ws / 'pale.toml').unlink()
    p.config('[sandbox]\n').chmod(0o666)
    r = p.pale('--', 'touch', 'ran')
    ok(r.code == 125 and not ran(p), p, "a user's config that all can write", r)
    p.no_config()
    if os.geteuid() == 0 and not p.is_root:
        p.write(p.ws / 'pale.toml', '[sandbox]\n')
        os.chown(p.ws / 'pale.toml', 4242, 4242)
        r = p.pale('--', 'touch', 'ran')
        ok(r.code == 125 and not ran(p) and b'4242' in r.err, p, "a config of somebody else's", r)
        p.no_config()
    # above the workspace: somebody else's pale.toml in a folder that all can write
    deep = p.mkdir(p.ws / 'deep')
    p.write(p.ws / 'pale.toml', '[sandbox]\npreset = "readonly-typo"\n')
    r = p.pale('--', 'touch', 'ran', cwd=deep)
    ok(r.code == 125 and b'pale.toml:2' in r.err, p, 'the file is found from below', r)
    p.no_config()
    shutil.rmtree(deep)


main(case_ceiling, case_trust, case_trust_is_out_of_reach, case_registered, case_arguments, case_config_files)
