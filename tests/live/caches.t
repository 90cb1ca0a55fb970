#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Caches: kept between the runs of one project, and nobody else's."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


def case_kept(p):
    p.no_config()
    cache = p.mkdir(p.home / '.cache/thing')
    p.write(cache / 'of-the-host', 'CANARY\n')
    before = digest(p.home)
    options = ['--cache', '~/.cache/thing']
    r = p.sh(*options, '--', 'ls -A ~/.cache/thing; echo one > ~/.cache/thing/made')
    ok(r.booted and r.code == 0 and r.rest == b'', p, 'empty at first, and writable', r)
    r = p.sh(*options, '--', 'cat ~/.cache/thing/made')
    ok(r.rest == b'one\n', p, 'kept for the next run', r)
    r = p.sh('ls -A ~/.cache/thing')
    ok(r.booted and b'made' not in r.out and b'CANARY' not in r.out, p, 'not there unless asked for', r)
    other = p.mkdir(p.base / 'other-ws')
    r = p.sh(*options, '--', 'ls -A ~/.cache/thing', cwd=other)
    ok(r.booted and r.code == 0 and r.rest == b'', p, 'another project has its own', r)
    ok(digest(p.home) == before, p, "the host's own folder is untouched")
    kept = [f for f in (p.base / 'state').rglob('made')]
    ok(len(kept) == 1 and kept[0].stat().st_uid == p.ws.stat().st_uid, p,
       'it lies in the state, owned by the owner of the workspace', kept)
    r = p.sh(*options, '--', f'ls {p.base}/state')
    ok(r.booted and r.code != 0, p, 'the state itself stays out of sight', r)


def case_of_a_cloned_project(p):
    p.no_config()
    p.write(p.ws / 'pale.toml', '[commands.b]\ncmd = "echo x > ~/.cache/thing/f && echo WROTE"\n'
            '[commands.b.sandbox]\ncaches = ["~/.cache/thing"]\nfilesystem = "workspace_only"\n')
    r = p.pale('b')
    ok(r.code == 0 and b'WROTE' in r.out, p, 'asks for one without trust: nothing is exposed', r)
    p.no_config()


def case_explain_makes_nothing(p):
    p.no_config()
    r = p.pale('--cache', '~/.cache/thing', '--explain', '--', 'true')
    ok(r.code == 0 and b'caches' in r.out and not (p.base / 'state').exists(), p,
       'nothing is made by --explain', r)


def case_planted_FW03(p):
    """The kept folder cannot be turned into a way out by what is put into it."""
    p.no_config()
    p.sh('--cache', '~/c', '--', f'ln -s {p.home}/.ssh ~/c/link; mkdir ~/c/d')
    r = p.sh('--cache', '~/c', '--', 'cat ~/c/link/id_rsa')
    ok(r.booted and r.code != 0 and b'CANARY' not in r.out, p, 'a link in it leads nowhere', r)
    r = p.run('sh', '-c', f'cat {p.home}/.ssh/id_rsa')
    ok(b'CANARY' in r.out, p, 'twin: outside it is there', r)
    p.no_config()


def case_not_of_the_kernel(p):
    """What is at /proc inside is read by the process that watches over the command."""
    p.no_config()
    for path in ('/proc', '/proc/sys', '/dev', '/dev/shm', '/sys'):
        r = p.sh('--cache', path, '--', 'true')
        ok(r.code == 125 and not r.booted and path.encode() in r.err, p, f'{path} is no place for one', r)
    os.symlink('/proc', p.ws / 'link')
    p.write(p.ws / 'pale.toml', '[commands.b]\ncmd = "echo BOOTED; ls /proc/self/fd"\n[commands.b.sandbox]\ncaches = ["link"]\n')
    r = p.pale('b')
    ok(r.code == 125 and not r.booted, p, 'nor by a link', r)
    (p.ws / 'link').unlink()
    p.mkdir(p.ws / 'link')
    r = p.pale('b')
    ok(r.code == 0 and r.booted, p, 'twin: at a folder it is an ordinary one', r)
    p.no_config()
    (p.ws / 'link').rmdir()


def case_in_the_workspace(p):
    p.no_config()
    shown = p.mkdir(p.ws / 'deps')
    p.write(shown / 'of-the-host', 'CANARY\n')
    p.write(p.ws / 'plain', 'plain\n')
    before = digest(p.ws)
    ways = (('--filesystem', 'workspace_only'), ('--filesystem', 'readonly'), ('--staged',),
            ('--filesystem', 'readonly', '--ephemeral'))
    for o in p.each(*ways):
        r = p.sh(*o, '--cache', 'deps', '--', 'cat deps/of-the-host; echo x >>deps/kept; cat deps/kept')
        ok(r.booted and b'CANARY' not in r.out and r.rest.endswith(b'x\n') and digest(p.ws) == before, p,
           f'{" ".join(o)}: one below the workspace is private', r)
        for name, why in (('gone', b'does not exist'), ('plain', b'is a file')):
            r = p.sh(*o, '--cache', name, '--', 'true')
            ok(r.code == 125 and not r.booted and why in r.err and digest(p.ws) == before, p,
               f'{" ".join(o)}: {name} is refused', r)
    r = p.sh('--cache', 'deps', '--', 'cat deps/kept')
    ok(r.rest == b'x\n' * len(ways), p, 'the same one for all of them', r)
    r = p.sh('--cache', '.', '--', 'true')
    ok(r.code == 125 and not r.booted, p, 'the workspace itself is no place for one', r)
    r = p.sh('--cache', str(p.ws.parent), '--', 'true')
    ok(r.code == 125 and not r.booted and b'would lie around' in r.err, p, 'nor what is around it', r)
    r = p.sh('--cache', '/etc', '--', 'ls /etc')
    ok(r.booted and r.rest == b'', p, 'a folder of the system can be one', r)
    r = p.sh('--', 'echo y >>deps/kept; cat deps/of-the-host')
    ok(r.booted and (shown / 'kept').read_text() == 'y\n' and r.rest == b'CANARY\n', p, 'twin: without it, it is the host\'s', r)
    shutil.rmtree(shown)


main(case_not_of_the_kernel, case_in_the_workspace, case_kept, case_of_a_cloned_project, case_explain_makes_nothing, case_planted_FW03,
     uids=(1000,))
