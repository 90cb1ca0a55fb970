#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which variables the command gets."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

SECRETS = {name: 'SECRET-VALUE' for name in (
    'GITHUB_TOKEN', 'GH_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'AWS_ACCESS_KEY_ID', 'AWS_SESSION_TOKEN', 'OPENAI_API_KEY',
    'ANTHROPIC_API_KEY', 'NPM_TOKEN', 'SSH_AUTH_SOCK', 'DATABASE_URL', 'KUBECONFIG', 'DOCKER_HOST', 'GPG_AGENT_INFO',
    'LC_SECRET_TOKEN', 'MY_PASSWORD', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'DISPLAY', 'WAYLAND_DISPLAY',
    'PALE_ANYTHING', 'FOO', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'BASH_ENV', 'ENV', 'PYTHONSTARTUP', 'GIT_CONFIG_GLOBAL')}
SECRETS['LD_PRELOAD'] = SECRETS['LD_LIBRARY_PATH'] = SECRETS['BASH_ENV'] = SECRETS['ENV'] = '/SECRET-VALUE'


def environment(p, *options, env=None, **kw):
    r = p.pale(*options, '--', 'env', '-0', env=dict(p.env, **(SECRETS if env is None else env)), **kw)
    pairs = dict(item.split('=', 1) for item in r.out.decode(errors='replace').split('\0') if '=' in item)
    return pairs, r


def case_clean_IN01(p):
    got, r = environment(p)
    ok(r.code == 0 and got, p, 'runs', r)
    left = sorted(k for k, v in got.items() if 'SECRET-VALUE' in v)
    ok(not left, p, 'nothing that was not asked for gets in', left)
    ok(got.get('HOME') == str(p.home) and got.get('PWD') == str(p.ws) and got.get('PATH') == CLEAN_PATH, p,
       'HOME, PWD and PATH are set', got)
    ok(got.get('LANG') == 'C.UTF-8' and got.get('TERM') == 'dumb', p, 'LANG and TERM pass', got)
    got, r = environment(p, '--env', 'inherit')
    ok(all(got.get(k) == v for k, v in SECRETS.items()), p, 'twin: inherit passes them all', got)
    got, r = environment(p, env={'PATH': '', 'HOME': ''})
    ok(r.code in (0, 127), p, 'an empty PATH and HOME are survived', r)


def case_pass_IN01(p):
    got, r = environment(p, '--env', 'pass', '--pass', 'FOO', '--pass', 'GITHUB_TOKEN')
    ok(got.get('FOO') and got.get('GITHUB_TOKEN'), p, 'named in full, they pass', r)
    left = sorted(k for k, v in got.items() if 'SECRET-VALUE' in v and k not in ('FOO', 'GITHUB_TOKEN'))
    ok(not left, p, 'and only they', left)
    got, r = environment(p, '--env', 'pass', '--pass', '*')
    secret = [k for k in got if any(w in k for w in ('TOKEN', 'SECRET', 'KEY', 'PASSWORD', 'SSH_', 'DATABASE_URL'))]
    ok(not secret, p, 'secrets never pass by pattern, `*`', secret)
    got, r = environment(p, '--env', 'pass', '--pass', 'GITHUB_*', '--pass', 'AWS_*', '--pass', 'LC_*')
    secret = [k for k in got if SECRETS.get(k) == got[k]]
    ok(not secret, p, 'nor by a prefix', secret)
    got, r = environment(p, '--pass', 'FOO')
    ok(r.code in (0, 125), p, '--pass alone is either taken or refused', r)


def case_set(p):
    got, r = environment(p, '--setenv', 'A=1', '--setenv', 'B=x=y z\n', '--setenv', 'EMPTY=', '--setenv', 'PATH=/usr/bin:/bin',
                         '--setenv', 'A=2')
    ok(got.get('A') == '2' and got.get('B') == 'x=y z\n' and got.get('EMPTY') == '' and
       got.get('PATH') == '/usr/bin:/bin', p, 'set, as written; the last one counts', r)
    for bad in ('=x', 'NAME', '1A=x', 'A B=x'):
        r = p.pale('--setenv', bad, '--', 'true')
        ok(r.code == 125, p, f'--setenv {bad} is refused', r)
    p.config('[sandbox.env]\nset = { CI = "yes" }\n')
    got, r = environment(p)
    ok(got.get('CI') == 'yes', p, "the user's file can set one", r)
    p.no_config()


def case_no_duplicates(p):
    """Two entries of one name: a program may read the one that was not looked at."""
    r = p.run('sh', '-c', 'exec "$1" run -- env -0', 'sh', str(p.pale_path))
    names = [item.split(b'=')[0] for item in r.out.split(b'\0') if b'=' in item]
    ok(r.code == 0 and len(names) == len(set(names)), p, 'no name twice', names)
    probe = p.write(p.ws / 'twice.py', 'import os, sys, ctypes\n'
                    'env = [b"PATH=/usr/bin:/bin", b"LANG=a", b"LANG=b", b"HOME=/one", b"HOME=%s", b"nonsense", None]\n'
                    'argv = [sys.argv[1].encode(), b"run", b"--", b"env", b"-0", None]\n'
                    'ctypes.CDLL(None).execve(argv[0], (ctypes.c_char_p * len(argv))(*argv), (ctypes.c_char_p * len(env))(*env))\n'
                    % str(p.home))
    python = '/usr/bin/python3'
    if os.path.exists(python):
        r = p.run(python, str(probe), str(p.pale_path))
        names = [item.split(b'=')[0] for item in r.out.split(b'\0') if item]
        ok(r.code == 0 and len(names) == len(set(names)) and b'nonsense' not in names, p,
           "a caller's doubled names and nonsense do not get in", f'{names} {r}')
    probe.unlink()


def case_home_is_odd_CF13(p):
    for home in ('/', '', 'relative', '/no/such/home', str(p.ws), '/etc', '/tmp'):
        r = p.pale('--', 'sh', '-c', 'echo BOOTED; cat /etc/shadow; cat "$1"', 'sh', str(p.home / '.ssh/id_rsa'),
                   env=dict(p.env, HOME=home))
        ok(b'CANARY' not in r.out and (r.booted or r.code == 125 and r.err), p,
           f'HOME={home!r}: works or says why not; the key stays hidden', r)
    env = {k: v for k, v in p.env.items() if k not in ('HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'USER')}
    r = p.pale('--', 'sh', '-c', 'echo BOOTED; cat "$1"', 'sh', str(p.home / '.ssh/id_rsa'), env=env)
    ok(r.booted and b'CANARY' not in r.out, p, 'no HOME at all', r)
    r = p.pale('--', 'sh', '-c', 'echo BOOTED', env={})
    ok(r.booted and r.code == 0, p, 'no environment at all', r)


def case_umask_of_the_result(p):
    """The file of --result is made as any program would make it."""
    result = p.ws / 'result.json'
    for mask, mode in ((0o077, 0o600), (0o022, 0o644), (0o027, 0o640), (0, 0o666)):
        result.unlink(missing_ok=True)
        r = p.pale('--result', result.name, '--', 'sh', '-c', 'umask', umask=mask)
        made = stat.S_IMODE(result.stat().st_mode) if result.exists() else None
        ok(r.code == 0 and made == mode, p, f'umask {mask:03o}: a new file is {mode:o}', f'{made}\n{r}')
        ok(int(r.out or b'-1', 8) == mask, p, f'umask {mask:03o}: and the command has it, too', r)
    result.unlink(missing_ok=True)


@needs('home')
def case_git_identity(p):
    """A confined git knows who works, and nothing else of the user's configuration."""
    config = p.write(p.home / '.gitconfig', '[user]\nname = Ada L\nemail = ada@example.org\n[alias]\nleak = !echo LEAK\n')
    line = ('rm -rf repo && git init -q repo && cd repo && echo x >file && git add file && git commit -qm x && '
            'git log -1 --format="%an <%ae> %cn"; git leak; rm -rf ../repo')
    r = p.sh('--', line)
    ok(r.booted and b'Ada L <ada@example.org> Ada L' in r.out and b'LEAK' not in r.out, p, 'name and address, no alias', r)
    r = p.sh('--setenv', 'GIT_AUTHOR_NAME=Bob', '--', 'echo $GIT_AUTHOR_NAME')
    ok(b'Bob\n' in r.out, p, 'what is set by name wins', r)
    r = p.sh('--preset', 'off', '--', line)
    ok(b'LEAK' in r.out, p, 'twin: off sees all of it', r)
    config.unlink()


main(case_clean_IN01, case_pass_IN01, case_set, case_no_duplicates, case_home_is_odd_CF13,
     case_umask_of_the_result, case_git_identity)
