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


def case_trust_CF07(p):
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


def case_trust_is_out_of_reach_PT13(p):
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


def at_home(p):
    """An environment whose configuration and state are where they are by default."""
    return dict(p.env, XDG_CONFIG_HOME=str(p.home / '.config'), XDG_STATE_HOME=str(p.home / '.local/state'))


def case_workspace_holds_no_policy(p):
    """Who writes the workspace must not write what it is judged by."""
    p.no_config()
    place = p.mkdir(p.base / 'place')
    for variable, what in (('XDG_CONFIG_HOME', b'configuration'), ('XDG_STATE_HOME', b'remembers')):
        env = dict(p.env, **{variable: str(place / 'own')})

        def refused(name, cwd, asked=None):
            options = ('--workspace', str(asked)) if asked else ()
            before = digest(place)
            r = p.pale(*options, '--', 'touch', 'ran', cwd=cwd, env=env)
            ok(r.code == 125 and what in r.err and digest(place) == before, p, f'{variable}: {name}: refused', r)
        refused('a workspace that would hold it', place)
        p.mkdir(place / 'own')
        own = p.mkdir(place / 'own/pale')
        below = p.mkdir(own / 'below')
        os.symlink(own, place / 'link')
        refused('one that holds it', place)
        refused('one that holds it closely', place / 'own')
        refused('the folder itself', own)
        refused('one below', below)
        refused('by --workspace', p.ws, place)
        refused('by a link', p.ws, place / 'link/below')
        beside = p.mkdir(place / 'own/beside')
        r = p.pale('--', 'touch', 'ran', cwd=beside, env=env)
        ok(r.code == 0 and (beside / 'ran').exists(), p, f'{variable}: twin: one beside it runs', r)
        shutil.rmtree(place / 'own')
        (place / 'link').unlink()
    shutil.rmtree(place)


OWN_ATTEMPTS = (
    ('read', 'cat ~/.config/pale/pale.toml ~/.local/state/pale/note; ls -A ~/.config/pale ~/.local/state/pale'),
    ('read by /proc', 'cat /proc/self/root"$HOME"/.config/pale/pale.toml; cd ~/.local/state && cat pale/note'),
    ('changed', 'echo evil >>~/.config/pale/pale.toml; echo evil >~/.local/state/pale/note'),
    ('made anew', 'echo evil >~/.config/pale/new; echo evil >~/.local/state/pale/new'),
    ('removed', 'rm -rf ~/.config ~/.local'),
    ('renamed', 'mv ~/.config/pale ~/.config/old; mv ~/.local/state/pale ~/old'),
    ('moved with what holds them', 'mv ~/.config ~/old && mkdir -p ~/.config/pale; mv ~/.local/state ~/s; mv ~/.local ~/l'),
    ('reached by a link', 'ln ~/.config/pale/pale.toml ~/hard; ln -s .config/pale ~/soft; cat ~/hard ~/soft/*; '
                          'echo evil >~/soft/pale.toml'),
)


def case_own_files_are_out_of_reach_PT01_PT15(p):
    p.no_config()
    env = at_home(p)
    # the history is pale's own doing, and would change them
    config = p.write(p.home / '.config/pale/pale.toml', '# CANARY-OWN\n[history]\nenabled = false\n')
    state = p.write(p.home / '.local/state/pale/note', 'CANARY-OWN\n', 0o600)
    p.mkdir(state.parent / 'run')  # of sessions, which pale makes where it would be shown
    for d in (p.home / '.local/state/pale/run', p.home / '.local/state/pale', p.home / '.config/pale'):
        d.chmod(0o700)
    own = (config.parent, state.parent)
    before = digest(*own)
    for options in p.each(('--write', '~'), ('--filesystem', 'unrestricted'), ('--preset', 'unrestricted'),
                    ('--write', '~', '--processes', 'visible'), ('--write', '~/.config', '--write', '~/.local')):
        name = ' '.join(options)
        for what, line in OWN_ATTEMPTS:
            r = p.sh(*options, '--', line + '; echo twin >~/.config/other', env=env)
            same = all(d.is_dir() for d in own) and digest(*own) == before
            ok(r.booted and b'CANARY-OWN' not in r.out + r.err and same, p, f'{name}: not {what}', r)
            other = p.home / '.config/other'
            ok(other.exists() and other.read_text() == 'twin\n', p, f'{name}: twin: another file is written', r)
            other.unlink(missing_ok=True)
            for left in ('hard', 'soft'):
                (p.home / left).unlink(missing_ok=True)
    r = p.sh('--preset', 'off', '--', OWN_ATTEMPTS[0][1] + ';' + OWN_ATTEMPTS[2][1], env=env)
    ok(r.out.count(b'CANARY-OWN') == 2 and digest(*own) != before, p, 'twin: without a boundary they can', r)
    for d in ('.config', '.local'):
        shutil.rmtree(p.home / d)


def case_own_files_by_links(p):
    """Configurations are often links into a folder that is kept under version control."""
    env = at_home(p)
    config = '~/.config/pale/pale.toml'
    plant = f'for f in ~/dot/pale.toml ~/dot/pale/pale.toml {config}; do echo "# evil" >$f; done'

    def bound():
        """Does the user's ceiling hold?"""
        r = p.pale('--network', 'unrestricted', '--', 'true', env=env)
        return r.code == 125 and b'ceiling' in r.err
    for link, to, real in (('.config', 'dot', 'dot/pale/pale.toml'), ('.config/pale', '../dot', 'dot/pale.toml'),
                           ('.config/pale/pale.toml', '../../dot/pale.toml', 'dot/pale.toml')):
        # With everything writable a link can be replaced, and files are no boundary: SECURITY.md.
        open_too = (('--filesystem', 'unrestricted'),) if link.endswith('.toml') else ()
        for options in p.each(('--write', '~'), *open_too):
            p.write(p.home / '.local/state/pale/kept', '')
            p.write(p.home / real, '[ceiling]\nnetwork = "none"\n')
            os.chown(p.home / 'dot', p.uid, p.uid)  # whose folder it is, his files are
            p.write(p.home / link, '').unlink()
            os.symlink(to, p.home / link)
            before = bound()
            r = p.sh(*options, '--', f'{plant}; rm -f ~/{link}; mkdir -p ~/.config/pale; {plant}; echo x >~/twin', env=env)
            name = f"{' '.join(options)}: ~/{link} is a link"
            ok(before and bound(), p, f'{name}: the ceiling holds before and after', r)
            ok(r.code == 125 or (p.home / 'twin').exists(), p, f'{name}: twin: another file is written, or nothing ran', r)
            for left in (link, 'twin'):
                if not (p.home / left).is_dir() or (p.home / left).is_symlink():
                    (p.home / left).unlink(missing_ok=True)
            for left in ('.config', '.local', 'dot'):
                shutil.rmtree(p.home / left, ignore_errors=True)


def case_own_files_are_not_made_PT02(p):
    """What is not there cannot be hidden; who makes it would be who rules."""
    p.no_config()
    env = at_home(p)
    kept = {'XDG_CONFIG_HOME': p.home / '.config/pale', 'XDG_STATE_HOME': p.home / '.local/state/pale'}
    for absent in kept:
        for variable, folder in kept.items():
            if variable != absent:
                p.write(folder / 'kept', '')
        r = p.sh('--write', '~', '--', 'mkdir -p ~/.config/pale ~/.local/state/pale; echo evil >~/.config/pale/evil; echo evil >~/.local/state/pale/evil', env=env)
        made = sorted(x.name for x in kept[absent].glob('**/*')) if kept[absent].exists() else None
        if absent == 'XDG_STATE_HOME':
            # pale makes it itself, for what it keeps of sessions, before anybody is shown its place
            ok((r.booted or ENGINE == 'bwrap' and r.code == 125) and made and 'evil' not in made and 'run' in made, p, f'{absent} is absent: it is made first, and hidden', f'{made} {r}')
            shutil.rmtree(p.home / '.local')
        else:
            ok(r.code == 125 and not r.booted and made is None and str(kept[absent]).encode() in r.err
               and b'mkdir' in r.err, p, f'{absent} is absent: refused, and the hint names it', [made, r])
        p.write(kept[absent] / 'kept', '')
        r = p.sh('--write', '~', '--', 'echo twin >~/twin', env=env)
        ok(r.code == 0 and (p.home / 'twin').exists(), p, f'twin: {absent} is there: it runs', r)
        (p.home / 'twin').unlink(missing_ok=True)
        for d in ('.config', '.local'):
            shutil.rmtree(p.home / d)


def foo(p, *args, name='FOO', env=None):
    """What the command has for $FOO, or None; and the result."""
    r = p.pale(*args, *(() if 'x' in args else ('--', 'env', '-0')), env=env)
    found = [v for v in r.out.split(b'\0') if v.startswith(name.encode() + b'=')]
    return (found[0].partition(b'=')[2] if found else None), r


def case_variables_of_the_workspace(p):
    """A variable such as LD_PRELOAD is a program: it may act only where the workspace may."""
    p.no_config()
    plain = '[sandbox.env]\nset = { FOO = "theirs" }\n'
    p.write(p.ws / 'pale.toml', plain)
    got, r = foo(p)
    ok(r.code == 0 and got == b'theirs', p, 'within the ceiling they are set', r)
    wider = (('--preset', 'off'), ('--preset', 'unrestricted'), ('--filesystem', 'unrestricted'),
             ('--network', 'unrestricted'), ('--write', str(p.outside)))
    for options in p.each(*wider):
        got, r = foo(p, *options)
        ok(r.code == 0 and b'PATH=' in r.out and got is None, p, f"{' '.join(options[:2])}: ignored", r)
    p.config(plain.replace('theirs', 'mine'))
    for options in p.each(*wider):
        got, r = foo(p, *options)
        ok(r.code == 0 and got == b'mine', p, f"twin: {' '.join(options[:2])}: the user's own are set", r)
    p.no_config()

    command = '[commands.x]\ncmd = "touch ran; env -0"\nsandbox = "wide"\n[presets.wide]\nnetwork = "unrestricted"\nfilesystem = "workspace_only"\n'
    p.write(p.ws / 'pale.toml', command + plain)
    p.verb('trust', '--yes')
    got, r = foo(p, 'x')
    ok(r.code == 0 and ran(p) and got == b'theirs', p, 'trusted together with the command, they are set', r)
    for name, text in (('a new one', plain.replace('" }', '", BAR = "new" }')),
                       ('another value', plain.replace('theirs', 'others'))):
        p.write(p.ws / 'pale.toml', command + text)
        r = p.pale('x')
        ok(r.code == 125 and not ran(p) and b'trust' in r.err, p, f'{name} is not covered by that', r)
        r = p.verb('trust', '--show')
        ok(b'BAR' in r.out or b'others' in r.out, p, f'{name}: --show shows it', r)
    p.write(p.ws / 'pale.toml', '# a comment\n' + command + plain)
    r = p.pale('x')
    ok(r.code == 0 and ran(p), p, 'twin: as it was, it still is', r)
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
    ok(r.code == 0 and r.out.strip() == str(p.owner).encode(), p, 'and so from the command line', r)


def case_arguments_CF11(p):
    p.no_config()
    p.verb('commands', 'register', 'show', 'printf "<%s>"')
    p.verb('commands', 'register', 'between', 'printf "[%s]" before "$@" after')
    p.verb('commands', 'register', 'list', '--', 'printf', '<%s>')
    evil = ['; touch pwned', '$(touch pwned)', '`touch pwned`', '&& touch pwned', '| touch pwned', '\n touch pwned', '"; touch pwned; "',
            "'; touch pwned; '", '-n', '--', '*', '$HOME', '']
    for name in ('show', 'list'):
        r = p.pale(name, *evil)
        ok(r.code == 0 and r.out == ''.join(f'<{e}>' for e in evil).encode() and not (p.ws / 'pwned').exists(), p,
           f'{name}: further arguments are arguments', r)
    r = p.pale('between', '; touch pwned', '$HOME')
    ok(r.out == b'[before][; touch pwned][$HOME][after]' and not (p.ws / 'pwned').exists(), p,
       'where the line says it itself', r)
    r = p.pale('show', '--preset', 'off')
    ok(r.out == b'<--preset><off>', p, 'options after the name are not ours', r)
    r = p.pale('--', 'printf', '<%s>', '--preset', 'off', '--')
    ok(r.out == b'<--preset><off><-->', p, 'nor after --', r)
    p.write(p.ws / '-evil', '#!/bin/sh\necho evil\n', 0o755)
    r = p.pale('-evil')
    ok(r.code == 125, p, 'a name that looks like an option', r)
    (p.ws / '-evil').unlink()
    p.no_config()


def case_open_ended_lines(p):
    """Behind such a line an argument would be swallowed, or be a command."""
    p.no_config()
    p.write(p.ws / 'words', 'one two\n')
    p.write(p.ws / 'touch-pwned', '#!/bin/sh\ntouch pwned\n', 0o755)
    p.verb('commands', 'register', 'awk', "awk '{print $1}'")
    r = p.pale('awk', 'words')
    ok(r.code == 0 and r.out == b'one\n', p, "awk's own $1 is not ours: the file is put behind it", r)
    for name, line in (('comment', 'touch ran # no more'), ('semicolon', 'touch ran;'), ('background', 'touch ran & '),
                       ('pipe', 'touch ran |'), ('and', 'touch ran &&'), ('lines', 'touch ran\n')):
        p.verb('commands', 'register', name, line)
        r = p.pale(name, './touch-pwned')
        ok(r.code == 125 and b'"$@"' in r.err and not ran(p) and not (p.ws / 'pwned').exists(), p,
           f'{line!r} takes no arguments, and the hint says what to write', r)
        p.verb('commands', 'register', '--force', name, line.replace('ran', 'ran "$@"').rstrip('|& '))
        r = p.pale(name, 'pwned-by-name')
        named = (p.ws / 'pwned-by-name').exists()
        (p.ws / 'pwned-by-name').unlink(missing_ok=True)
        ok(r.code == 0 and ran(p) and named, p, f'twin: {line!r} does once it says where', r)
    p.verb('commands', 'register', 'alone', 'touch ran; # no arguments')
    r = p.pale('alone')
    ok(r.code == 0 and ran(p), p, 'twin: without arguments it runs as it is', r)
    for name in ('words', 'touch-pwned'):
        (p.ws / name).unlink()
    p.no_config()


def case_config_files_CF01(p):
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
    p.write(p.ws / 'pale.toml', '[sandbox]\n')
    r = p.pale('--', 'touch', 'ran')
    ok(r.code == 0 and ran(p), p, 'twin: an ordinary file is read', r)
    (p.ws / 'pale.toml').unlink()
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


main(case_ceiling, case_trust_CF07, case_trust_is_out_of_reach_PT13, case_workspace_holds_no_policy,
     case_own_files_are_out_of_reach_PT01_PT15, case_own_files_by_links,
     case_own_files_are_not_made_PT02, case_variables_of_the_workspace, case_registered,
     case_arguments_CF11, case_open_ended_lines, case_config_files_CF01)
