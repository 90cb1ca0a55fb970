#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Caches: kept between the runs of one project, and nobody else's."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


def lacking(p):
    """Which kind of caches it is that this engine does not have for this user, or None."""
    return next((kind for kind in ('caches',) + ('caches of root',) * p.is_root if not has(kind)), None)


def offered(case):
    """A case for engines that have caches."""
    def judged(p):
        if lacking(p):
            skip(p, MISSING[ENGINE][lacking(p)], only_root=True)
        else:
            case(p)
    judged.__name__ = case.__name__
    return judged


def case_refused_where_it_would_be_useless(p):
    p.no_config()
    p.mkdir(p.home / '.cache/thing')
    other = [('landlock', '--processes', 'visible')] * (not ENGINE and not p.is_root)
    for engine, *options in [(ENGINE,)] * (lacking(p) is not None) + other:
        options = ['--engine', engine, *options]
        for more in ([], ['--explain']):
            r = p.sh(*options, *more, '--cache', '~/.cache/thing', '--', 'touch ran')
            ok(r.code == 125 and not r.booted and b'caches' in r.err and b'--engine native' in r.err, p,
               f'{engine}{" --explain" * bool(more)}: refused, with what would do', r)
        ok(not list(p.base.glob('state/pale/*/caches')) and not (p.ws / 'ran').exists(), p, f'{engine}: nothing is made')
        r = p.sh(*options, '--', 'touch ran')
        ok(r.booted and (p.ws / 'ran').exists(), p, f'{engine}: twin: without a cache it runs', r)
        (p.ws / 'ran').unlink(missing_ok=True)
    if not lacking(p):
        r = p.sh('--cache', '~/.cache/thing', '--', 'touch ~/.cache/thing/made')
        ok(r.booted and r.code == 0 and list((p.base / 'state').rglob('made')), p, 'twin: elsewhere it is made', r)
    p.no_config()


@offered
def case_closed_by_a_command(p):
    p.no_config()
    r = p.sh('--cache', '~/c/x', '--', 'chmod 0 ~/c/x')
    ok(r.booted and r.code == 0, p, 'a command can close its cache', r)
    r = p.sh('--cache', '~/c/x', '--', 'touch ~/c/x/again')
    ok(r.booted and r.code == 0, p, 'not for those that come later', r)


@offered
def case_bounded(p):
    """Each is a folder that stays: neither a project nor an option makes thousands."""
    p.no_config()
    options = [word for i in range(65) for word in ('--cache', f'~/c/{i}')]
    r = p.sh(*options, '--', 'true')
    ok(r.code == 125 and not r.booted and b'at most 64' in r.err, p, '65 options are refused', r)
    listed = ', '.join(f'"~/c/{i}"' for i in range(65))
    p.write(p.ws / 'pale.toml', f'[commands.b]\ncmd = "echo BOOTED"\n[commands.b.sandbox]\ncaches = [{listed}]\n')
    r = p.pale('b')
    ok(r.code == 125 and not r.booted and b'pale.toml:4:10: caches has 65 entries, at most 64' in r.err, p,
       'and so are 65 of a file', r)
    ok(not list(p.base.glob('state/pale/*/caches/*')), p, 'nothing is made')
    p.no_config()
    r = p.sh(*options[:-2], '--', 'for c in ~/c/*; do touch $c/made; done')
    kept = list((p.base / 'state').rglob('made'))
    ok(r.booted and r.code == 0 and len(kept) == 64, p, 'twin: 64 are made', f'{len(kept)}\n{r}')
    p.no_config()


@offered
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


@offered
def case_of_a_cloned_project(p):
    p.no_config()
    p.write(p.ws / 'pale.toml', '[commands.b]\ncmd = "echo x > ~/.cache/thing/f && echo WROTE"\n'
            '[commands.b.sandbox]\ncaches = ["~/.cache/thing"]\nfilesystem = "workspace_only"\n')
    r = p.pale('b')
    ok(r.code == 0 and b'WROTE' in r.out, p, 'asks for one without trust: nothing is exposed', r)
    p.no_config()


@offered
def case_in_the_place_of_programs(p):
    """A project's cache would stand in for them also where the user gives a run more."""
    p.no_config()
    p.mkdir(p.ws / '.git')
    os.symlink('/usr/local/bin', p.ws / 'link')
    os.symlink('sub', p.ws / 'near')
    p.mkdir(p.ws / 'sub')
    plant = 'echo BOOTED; printf "#!/bin/sh\\necho HIJACKED" >{0}/tool && chmod +x {0}/tool'
    for place, asks in (('/usr/local/bin', True), ('~/.local/bin', True), ('.git', True),
                        ('~/.config/git', True), ('link', False), ('near', False)):
        p.write(p.ws / 'pale.toml', '[sandbox]\npreset = "p"\n[presets.p]\n'
                f'caches = ["{place}"]\n')
        r = p.sh('--', plant.format(place))
        ok(r.code == 125 and not r.booted and (b'pale trust' in r.err) == asks, p,
           f'a project gets none at {place} by itself', r)
        if not asks:
            ok(b'name the folder itself' in r.err, p, f'{place}: the error says why', r)
    (p.ws / 'link').unlink()
    (p.ws / 'near').unlink()
    p.write(p.ws / 'pale.toml', '[sandbox]\npreset = "p"\n[presets.p]\ncaches = ["sub"]\n')
    r = p.sh('--', plant.format('sub'))
    ok(r.code == 0 and r.booted and not (p.ws / 'sub/tool').exists(), p,
       'twin: a folder of its own it does', r)
    p.no_config()
    r = p.sh('--cache', '/usr/local/bin', '--', plant.format('/usr/local/bin'))
    ok(r.code == 0 and r.booted, p, 'and who types the option gets it anywhere', r)
    (p.ws / '.git').rmdir()
    (p.ws / 'sub').rmdir()
    p.no_config()


@offered
def case_explain_makes_nothing(p):
    p.no_config()
    r = p.pale('--cache', '~/.cache/thing', '--explain', '--', 'true')
    ok(r.code == 0 and b'caches' in r.out and not (p.base / 'state').exists(), p,
       'nothing is made by --explain', r)


@offered
def case_planted_FW03(p):
    """The kept folder cannot be turned into a way out by what is put into it."""
    p.no_config()
    p.sh('--cache', '~/c', '--', f'ln -s {p.home}/.ssh ~/c/link; mkdir ~/c/d')
    r = p.sh('--cache', '~/c', '--', 'cat ~/c/link/id_rsa')
    ok(r.booted and r.code != 0 and b'CANARY' not in r.out, p, 'a link in it leads nowhere', r)
    r = p.run('sh', '-c', f'cat {p.home}/.ssh/id_rsa')
    ok(b'CANARY' in r.out, p, 'twin: outside it is there', r)
    p.no_config()


@offered
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


@offered
def case_in_the_workspace(p):
    p.no_config()
    shown = p.mkdir(p.ws / 'deps')
    p.write(shown / 'of-the-host', 'CANARY\n')
    p.write(p.ws / 'plain', 'plain\n')
    before = digest(p.ws)
    kept = b''
    ways = (('--filesystem', 'workspace_only'), ('--filesystem', 'readonly'), ('--staged',),
            ('--filesystem', 'readonly', '--ephemeral'))
    for o in p.each(*ways):
        r = p.sh(*o, '--cache', 'deps', '--', 'cat deps/of-the-host; echo x >>deps/kept; cat deps/kept')
        ok(r.booted and b'CANARY' not in r.out and r.rest.endswith(b'x\n') and digest(p.ws) == before, p,
           f'{" ".join(o)}: one below the workspace is private', r)
        kept += b'x\n'
        for name, why in (('gone', b'does not exist'), ('plain', b'is a file')):
            r = p.sh(*o, '--cache', name, '--', 'true')
            ok(r.code == 125 and not r.booted and why in r.err and digest(p.ws) == before, p,
               f'{" ".join(o)}: {name} is refused', r)
    r = p.sh('--cache', 'deps', '--', 'cat deps/kept')
    ok(r.rest == kept, p, 'the same one for all of them', r)
    r = p.sh('--cache', '.', '--', 'true')
    ok(r.code == 125 and not r.booted, p, 'the workspace itself is no place for one', r)
    r = p.sh('--cache', str(p.ws.parent), '--', 'true')
    ok(r.code == 125 and not r.booted and b'would lie around' in r.err, p, 'nor what is around it', r)
    r = p.sh('--cache', '/etc', '--', 'ls /etc')
    ok(r.booted and r.rest == b'', p, 'a folder of the system can be one', r)
    r = p.sh('--', 'echo y >>deps/kept; cat deps/of-the-host')
    ok(r.booted and (shown / 'kept').read_text() == 'y\n' and r.rest == b'CANARY\n', p, 'twin: without it, it is the host\'s', r)
    shutil.rmtree(shown)


main(case_closed_by_a_command, case_not_of_the_kernel, case_in_the_workspace, case_bounded, case_refused_where_it_would_be_useless, case_kept, case_of_a_cloned_project, case_in_the_place_of_programs, case_explain_makes_nothing, case_planted_FW03,
     uids=(1000,))
