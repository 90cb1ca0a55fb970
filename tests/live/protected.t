#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names in the workspace that programs of the host act on.

WINDOW_TRIES=600 CASE=window measures how long such a name can be there."""
import glob
import random
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

GIT = ('git', '-c', 'user.name=A', '-c', 'user.email=a@b', '-c', 'init.defaultBranch=main',
       '-c', 'protocol.file.allow=always')
FOLDERS = ('.claude', '.codex', '.cursor', '.gemini', '.kiro', '.opencode', '.vscode', '.idea', '.zed', '.husky')

PYTHON = '/usr/bin/python3'
WRITABLE = ('Makefile', 'package.json', 'AGENTS.md', 'mise.toml', '.pre-commit-config.yaml', '.github/workflows/ci.yml')


def fresh(p, git=True):
    """An empty workspace."""
    p.run('chmod', '-R', 'u+rwX', p.ws)
    shutil.rmtree(p.ws)
    p.mkdir(p.ws)
    p.no_config()
    p.write(p.ws / 'file', 'mine\n')
    p.write(p.home / '.gitconfig', '[user]\nname = A\nemail = a@b\n')
    if git:
        p.run(*GIT, 'init', '-q')
        p.run(*GIT, 'add', 'file')
        p.run(*GIT, 'commit', '-qm', 'first')


def quarantined(p):
    return sorted(glob.glob(str(p.base / 'state/pale/*/quarantine/*/*'), include_hidden=True))


def events(r):
    """What --json says; the command's own output is on stderr then."""
    return r.json().get('events') or []


def watched(p, *options):
    r = p.pale('--explain', '--json', *options, '--', 'true')
    return {w['folder'] + '/' + w['name']: w['state'] for w in r.json().get('watched', [])}, r


def forget(p):
    shutil.rmtree(p.base / 'state', ignore_errors=True)


def case_existing_ones_stay_PT01_PT03_PT07_FW21(p):
    fresh(p)
    names = ['pale.toml', '.paleignore', '.envrc', '.bashrc', '.profile', '.zshenv', '.mcp.json', '.inputrc']
    for name in names:
        p.write(p.ws / name, '# mine\n')
    for name in FOLDERS:
        p.write(p.ws / name / 'settings.json', '{}\n')
    names += list(FOLDERS)
    names += ['.git/config', '.git/hooks']
    for name in WRITABLE:
        p.write(p.ws / name, '# mine\n')
    state, r = watched(p)
    ok(all(state.get(f'{p.ws}/{n}') == 'read-only' for n in names), p, 'the plan says so', r)

    def look():
        return [digest(p.ws / n) if (p.ws / n).is_dir() else (p.ws / n).read_bytes() if (p.ws / n).exists() else None
                for n in names]
    before = look()
    for what, line in {
            'written': 'for n; do test -d "$n" && echo x >"$n/new" || echo x >>"$n"; done',
            'written in place': 'for n; do test -d "$n" && echo x >"$n"/settings.json; echo x 1<>"$n"; done',
            'removed': 'rm -rf "$@"',
            'renamed': 'for n; do mv "$n" "$n".away; done',
            'replaced': 'echo x >new; for n; do cp new new2; mv -fT new2 "$n"; done',
            'replaced by folders': 'for n; do mkdir new; mv -fT new "$n"; done',
            'replaced by links': 'for n; do ln -sfT file "$n"; done',
            'made unreadable': 'chmod 000 "$@"',
            'taken away with their folder': 'mv .git g && mkdir .git; mv g .git; rmdir .git',
            'touched through a hard link': 'for n; do ln "$n" l && echo x >l; rm -f l; done',
            'covered by the owner': 'chmod 777 .git; for n; do setfattr -n user.x -v y "$n"; touch "$n"; done',
    }.items():
        r = p.sh('--', line, *names)
        ok(r.booted and look() == before, p, f'cannot be {what}', r)
    p.run('chmod', '755', '.git')
    r = p.sh('--', 'cat pale.toml .git/config >/dev/null && echo x >other && git add other && git commit -qm second')
    ok(r.booted and r.code == 0, p, 'the rest works', r)
    ok(not quarantined(p), p, 'nothing was moved')
    r = p.sh('--', 'for n; do echo x >>"$n" && rm "$n" && echo y >"$n" || exit 1; done', *WRITABLE)
    ok(r.booted and r.code == 0 and all((p.ws / n).read_text() == 'y\n' for n in WRITABLE) and not quarantined(p), p,
       'twin: what work consists of can be written', r)
    r = p.sh('--preset', 'off', '--', 'echo x >>.envrc; echo x >.git/hooks/x; mv .vscode v; ls -d v')
    ok(r.booted and r.code == 0 and look() != before, p, 'twin: all of it can be done without a boundary', r)


def case_new_ones_are_taken_away_PT02_PT07(p):
    fresh(p)
    state, r = watched(p)
    names = [os.path.relpath(n, p.ws) for n, s in state.items() if s == 'absent']
    ok('.envrc' in names and 'pale.toml' in names and '.git/commondir' in names and
       '.git/config.worktree' in names and len(names) > 25, p, 'the plan names them', r)
    for name in names:
        r = p.pale('--json', '--', 'sh', '-c', 'echo BOOTED; echo evil >"$1"; sleep 0.05; ls "$1" && exit 3; exit 0',
                   'sh', name)
        found = quarantined(p)
        e = events(r)
        ok(r.booted and r.code == 0 and not os.path.lexists(p.ws / name) and len(found) == 1 and
           open(found[0]).read() in ('evil\n', '') and len(e) == 1 and e[0]['action'] == 'quarantined' and
           e[0]['path'] == f'{p.ws}/{name}' and e[0]['where'] == found[0], p, f'{name} is gone at once', r)
        forget(p)
    r = p.sh('--preset', 'off', '--', 'echo evil >.envrc')
    ok(r.booted and (p.ws / '.envrc').exists(), p, 'twin: it stays without a boundary', r)
    (p.ws / '.envrc').unlink()
    r = p.sh('--', 'mkdir -p sub; echo x >sub/.envrc; echo x >.ENVRC; echo x >.envrc2; echo x >.git/hooks2')
    ok(r.booted and r.code == 0 and (p.ws / 'sub/.envrc').exists() and (p.ws / '.ENVRC').exists() and
       not quarantined(p) and b'tampering' not in r.err, p, 'twin: other names are nobody\'s business', r)


def case_ways_to_make_one(p):
    for what, line in {
            'a folder': 'mkdir .vscode; echo x >.vscode/tasks.json',
            'a folder that moved in': 'mkdir v; echo x >v/tasks.json; mv v .vscode',
            'a folder nobody may write': 'mkdir v; echo x >v/tasks.json; chmod 555 v; mv v .vscode',
            'a link': 'ln -s file .envrc',
            'a link to nowhere': 'ln -s /nowhere .envrc',
            'a hard link': 'ln file .envrc',
            'a fifo': 'mkfifo .envrc',
            'a file that moved in': 'echo x >f; mv f .envrc',
            'an exchange': 'echo x >f; mv f .mcp.json; mv .mcp.json .envrc',
            'in a folder nobody may write': 'mkdir .idea; chmod 555 .',
            'at the last moment': '(sleep 0.01; echo x >.envrc) & echo x >.envrc; exec true',
    }.items():
        fresh(p)
        r = p.sh('--', line + '; sleep 0.05; cat .envrc .vscode/tasks.json')
        left = [n for n in ('.envrc', '.vscode', '.idea', '.mcp.json') if os.path.lexists(p.ws / n)]
        ok(r.booted and not left and b'tampering' in r.err, p, f'{what}', f'{left} {quarantined(p)}\n{r}')
        p.run('chmod', '755', p.ws)
        r = p.sh('--preset', 'off', '--', line + '; sleep 0.05')
        left = [n for n in ('.envrc', '.vscode', '.idea', '.mcp.json') if os.path.lexists(p.ws / n)]
        ok(r.booted and left, p, f'twin: {what}', r)
        forget(p)


def case_other_repositories_PT03(p):
    """Of Mercurial and Jujutsu, whose configuration names programs as well."""
    fresh(p)
    for name in ('.hg/store', '.jj/repo'):
        p.mkdir(p.mkdir((p.ws / name).parent) / name.rpartition('/')[2])
    evil = ('.hg/hgrc', '.hg/sharedpath', '.jj/repo/config.toml')
    line = ' '.join(f'echo evil >{n};' for n in evil) + ' mv .hg h; mv .jj/repo .jj/r; echo x >.hg/dirstate && echo x >.jj/repo/op && echo WORKS; sleep 0.05'
    r = p.sh('--', line)
    left = [n for n in evil + ('h', '.jj/r') if os.path.lexists(p.ws / n)]
    ok(r.booted and not left and r.err.count(b'was created during the run and is now') == 3 and b'WORKS' in r.out, p, 'what they name is taken away, the rest works', f'{left}\n{r}')
    forget(p)
    p.write(p.ws / '.hg/hgrc', 'mine\n')
    r = p.sh('--', 'echo evil >>.hg/hgrc; rm .hg/hgrc; mv .hg h; mv .hg/hgrc x')
    ok(r.booted and (p.ws / '.hg/hgrc').read_text() == 'mine\n', p, 'what is there stays as it is', r)
    r = p.sh('--preset', 'off', '--', line)
    ok(r.booted and (p.ws / 'h').exists() and (p.ws / 'h/hgrc').read_text() == 'evil\n', p, 'twin: without a boundary it does not', r)
    fresh(p)
    r = p.sh('--', 'mkdir -p .jj/repo && echo WORKS')
    ok(r.booted and b'WORKS' in r.out and (p.ws / '.jj/repo').exists(), p, 'a repository of jj can be made', r)


def case_inside_a_quarantined_folder(p):
    """Whoever is in a folder that moves away does not get out of it."""
    fresh(p)
    r = p.sh('--', 'mkdir v; cd v; mv ../v ../.vscode; sleep 0.1; '
             'ls .. ; cat ../../../../../config/x; cd ..; pwd -P; ls ../../outside ../../../../../../outside; exit 0')
    ok(r.booted and b'canary' not in r.out and quarantined(p), p, 'there is no way up', r)


def case_floods(p):
    fresh(p)
    r = p.sh('--', 'while :; do echo x >.envrc; rm -f .envrc; done', timeout=60)
    n = len(quarantined(p))
    ok(r.booted and r.code == 137 and n <= 20 and b'too often' in r.err, p, 'made and removed: the run ends',
       f'{n} {r}')
    forget(p)
    r = p.sh('--', 'while :; do echo x >.envrc; done', timeout=60)
    n = len(quarantined(p))
    ok(r.booted and r.code == 137 and n <= 20 and not (p.ws / '.envrc').exists(), p,
       'made again and again: the run ends', f'{n} {r}')
    forget(p)
    r = p.sh('--timeout', '50s', '--', 'i=0; while [ $i -lt 30000 ]; do :>a$i; i=$((i+1)); done; rm -f a*; '
             'echo x >.envrc', timeout=60)
    ok(r.booted and r.code == 0 and not (p.ws / '.envrc').exists() and len(quarantined(p)) == 1, p,
       'many other files hide nothing', r)


def during(p, line, host, *options, first=''):
    """Start FIRST inside; when that is done, HOST does something, and then LINE begins."""
    go = p.ws / 'go'
    proc = p.start_pale(*options, '--', 'sh', '-c', first + 'echo BOOTED; echo >ready; while ! test -e go; do sleep 0.01; done; '
                        + line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: (p.ws / 'ready').exists())
    host()
    time.sleep(0.1)
    p.write(go, '')
    out, err = proc.communicate(timeout=30)
    go.unlink()
    (p.ws / 'ready').unlink(missing_ok=True)
    return Result(['during', line], proc.returncode, out, err, 0)


def case_replaced_on_the_host_FW15(p):
    def save():
        p.run('sh', '-c', 'echo "# new" >pale.toml.tmp; mv pale.toml.tmp pale.toml')

    def twin_save():
        p.run('sh', '-c', 'echo "# new" >notes.tmp; mv notes.tmp notes')
    fresh(p)
    p.write(p.ws / 'pale.toml', '# old\n')
    p.write(p.ws / 'notes', '# old\n')
    r = during(p, 'cat pale.toml; echo evil >>pale.toml; mv pale.toml x; rm -f pale.toml; exit 0', save)
    ok(r.booted and b'# new' in r.out and (p.ws / 'pale.toml').read_text() == '# new\n' and
       b'replaced outside' in r.err, p, 'a file that an editor saved is read-only again', r)
    r = during(p, 'echo evil >>notes; exit 0', twin_save)
    ok('evil' in (p.ws / 'notes').read_text(), p, 'twin: another one is not', r)
    r = during(p, 'git config a.b d; echo "[x]" >>.git/config; cat .git/config; exit 0',
               lambda: p.run('git', 'config', 'a.b', 'c'))
    ok(r.booted and b'b = c' in r.out and 'x' not in (p.ws / '.git/config').read_text().split('[a]')[1] and
       b'replaced outside' in r.err, p, 'so is the configuration of git', r)
    r = during(p, 'echo evil >pale.toml; sleep 0.1; exit 0', lambda: (p.ws / 'pale.toml').unlink())
    ok(r.booted and not (p.ws / 'pale.toml').exists() and len(quarantined(p)) == 1, p,
       'one that was removed on the host cannot be made inside', r)
    forget(p)
    p.write(p.ws / '.vscode/x', 'x\n')
    r = during(p, 'mkdir .vscode; echo evil >.vscode/x; sleep 0.1; exit 0',
               lambda: (p.ws / '.vscode').rename(p.ws / 'v'))
    ok(r.booted and not (p.ws / '.vscode').exists() and len(quarantined(p)) == 1, p, 'nor a folder', r)
    forget(p)
    r = during(p, 'sleep 5; echo evil >done', lambda: (p.ws / '.git').rename(p.ws / 'g'))
    ok(r.booted and r.code == 137 and not (p.ws / 'done').exists() and b'replaced' in r.err, p,
       'without its git directory the run ends', r)
    (p.ws / 'g').rename(p.ws / '.git')


def case_verbs_of_pale_meanwhile(p):
    """What the user tells pale to write while a command runs."""
    fresh(p)
    p.write(p.ws / 'pale.toml', '# old\n')
    r = during(p, 'echo evil >>pale.toml; exit 0', lambda: p.verb('commands', 'register', 'x', 'true'))
    ok(r.booted and r.code == 0 and 'evil' not in (p.ws / 'pale.toml').read_text() and '[commands.x]' in (p.ws / 'pale.toml').read_text(), p,
       'a command is registered, and the run goes on', r)
    (p.ws / 'pale.toml').unlink()
    said = []
    r = during(p, 'exit 0', lambda: said.append(p.verb('init')))
    ok(said[0].code == 1 and b'taken away at once' in said[0].err and not (p.ws / 'pale.toml').exists(), p, 'what would be the first pale.toml is not said to be there', said[0])
    forget(p)
    r = during(p, 'exit 0', lambda: (p.write(p.ws / '.git/hooks/mine', 'x\n'), p.write(p.ws / '.git/foo', 'x\n'), p.write(p.ws / 'HEADX', 'x\n')))
    ok(r.booted and r.code == 0 and b'replaced outside' not in r.err, p, 'a file more in a protected folder is no alarm', r)
    (p.ws / '.git/hooks/mine').unlink()


def removed_while(p, code, meanwhile, *options):
    """CODE runs inside; when it says so, MEANWHILE, and the host removes pale.toml."""
    p.write(p.ws / 'pale.toml', '# mine\n')
    proc = p.start_pale(*options, '--', '/usr/bin/python3', '-c', "print('BOOTED', flush=True)\n" + code + '\ninput()',
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    booted = proc.stdout.readline()
    meanwhile()
    (p.ws / 'pale.toml').unlink()
    time.sleep(0.01)
    out, err = proc.communicate(b'\n', timeout=30)
    (p.ws / 'other').unlink(missing_ok=True)
    return Result(['removed', code], proc.returncode, booted + out, err, 0)


def case_removed_on_the_host_at_any_moment_FW15(p):
    tries = int(os.environ.get('REMOVED_TRIES', '40'))
    moments = random.Random(p.uid)
    fresh(p, git=False)

    def first_event():
        """What the guard then looks at may be half removed."""
        p.write(p.ws / 'other', '')
        until = time.perf_counter() + moments.random() * 0.0004
        while time.perf_counter() < until:
            pass
    failed = [r for r in (removed_while(p, '', first_event) for _ in range(tries)) if r.code != 0 or r.err or not r.booted]
    ok(not failed, p, f'the run goes on, {tries} tries', failed[:3])
    maker = """import os
while True:
    try:
        os.write(os.open('pale.toml', os.O_CREAT | os.O_EXCL | os.O_WRONLY), b'evil')
        break
    except OSError:
        pass"""
    for what, meanwhile in {'first thing': lambda: None,
                            'later': lambda: (p.write(p.ws / 'other', ''), time.sleep(0.01))}.items():
        forget(p)
        failed = []
        for _ in range(tries):
            r = removed_while(p, maker, meanwhile)
            if os.path.lexists(p.ws / 'pale.toml') or r.code != 0 or not r.booted:
                failed.append(r)
        ok(not failed and len(quarantined(p)) == tries, p,
           f'{what}: whoever makes it at once, and gets the number of the old file, has it taken away; {tries} tries',
           f'{len(quarantined(p))} {failed[:3]}')
    r = removed_while(p, maker, lambda: None, '--preset', 'off')
    ok(r.booted and (p.ws / 'pale.toml').read_text() == 'evil', p, 'twin: not without a boundary', r)
    forget(p)


def case_opened_before_the_host_renames_FW15(p):
    """A descriptor from before the new mount: nothing holds it but the end of the run."""
    line = 'echo evil >&9; echo wrote >done; exit 0'
    for first, options, ends in (('exec 9>>pale.toml.tmp; ', (), True), ('exec 9<>pale.toml.tmp; ', (), True),
                                 ('exec 9<pale.toml.tmp; ', (), False), ('exec 9>>pale.toml.tmp; ', ('--preset', 'off'), None)):
        fresh(p)
        p.write(p.ws / 'pale.toml', '# old\n')
        p.write(p.ws / 'pale.toml.tmp', '# new\n')
        r = during(p, line, lambda: (p.ws / 'pale.toml.tmp').rename(p.ws / 'pale.toml'), *options, first=first)
        held, done = (p.ws / 'pale.toml').read_text(), (p.ws / 'done').exists()
        if ends:
            ok(r.booted and r.code == 137 and b'open for writing' in r.err and held == '# new\n' and not done, p,
               f'{first}ends the run before it writes', f'{held!r} {r}')
        elif ends is False:
            ok(r.booted and r.code == 0 and b'replaced outside' in r.err and held == '# new\n' and done, p,
               f'twin: {first}harms nobody, and the run goes on', f'{held!r} {r}')
        else:
            ok(r.booted and 'evil' in held and done, p, f'twin: {first}writes where nothing watches', f'{held!r} {r}')


def case_links(p):
    fresh(p)
    p.write(p.ws / 'conf/envrc', 'mine\n')
    p.write(p.ws / 'real/x', 'mine\n')
    os.symlink('conf/envrc', p.ws / '.envrc')
    os.symlink('real', p.ws / '.claude')
    os.symlink('conf/absent', p.ws / '.mcp.json')
    os.symlink('/etc/hosts', p.ws / '.bashrc')
    r = p.sh('--', 'echo evil >.envrc; echo evil >conf/envrc; mv conf c; rm -rf conf/envrc; echo evil >real/y; mv real r')
    ok(r.booted and (p.ws / 'conf/envrc').read_text() == 'mine\n' and os.listdir(p.ws / 'real') == ['x'] and
       not quarantined(p), p, 'what a link leads to is protected', r)
    r = p.sh('--', 'echo evil >.mcp.json; sleep 0.1')
    ok(r.booted and not (p.ws / 'conf/absent').exists() and len(quarantined(p)) == 1, p, 'also when it is not there yet', r)
    for line in ('rm .envrc', 'echo x >f; mv f .envrc', 'ln -sfT file .envrc', 'rm .claude; mkdir .claude', 'mv .claude c'):
        r = p.sh('--', line + '; sleep 0.1; exit 0')
        ok(r.booted and os.readlink(p.ws / '.envrc') == 'conf/envrc' and os.readlink(p.ws / '.claude') == 'real' and
           b'as it was' in r.err, p, f'the link is put back: {line}', r)
    r = p.sh('--preset', 'off', '--', 'rm .envrc; sleep 0.1')
    ok(r.booted and not os.path.lexists(p.ws / '.envrc'), p, 'twin: not without a boundary', r)


def case_nowhere_to_put_it(p):
    fresh(p)
    state = p.base / 'state'
    for what, line in {'a file': 'echo evil >.envrc', 'a folder': 'mkdir .vscode; echo evil >.vscode/x'}.items():
        state.mkdir()
        os.chown(state, p.uid, p.uid)
        if p.is_root:
            state.rmdir()
            state.write_text('no folder')
        else:
            state.chmod(0o500)
        r = p.sh('--', line + '; sleep 3; echo LATER')
        ok(r.booted and r.code == 137 and b'LATER' not in r.out and b'the run was ended' in r.err and
           not (p.ws / '.envrc').exists() and not (p.ws / '.vscode').exists(), p, f'{what}: the run ends', r)
        if p.is_root:
            state.unlink()
        else:
            state.chmod(0o700)
            state.rmdir()
    other = pathlib.Path(f'/dev/shm/pale-state-{os.getpid()}-{p.uid}')
    env = dict(p.env, XDG_STATE_HOME=str(other))
    try:
        r = p.sh('--', 'echo evil >.envrc; sleep 0.1; echo LATER', env=env)
        found = glob.glob(str(other / 'pale/*/quarantine/*/*'), include_hidden=True)
        ok(r.booted and r.code == 0 and b'LATER' in r.out and len(found) == 1 and not (p.ws / '.envrc').exists(), p,
           'another file system: a file is copied', r)
        r = p.sh('--', 'mkdir .vscode; echo evil >.vscode/x; sleep 3; echo LATER', env=env)
        ok(r.booted and r.code == 137 and b'LATER' not in r.out and not (p.ws / '.vscode').exists(), p,
           'a folder gets another name, and the run ends', r)
    finally:
        shutil.rmtree(other, ignore_errors=True)


HIDE = '''
import os, sys, time
here, sub = os.open('.', os.O_RDONLY), os.open('sub', os.O_RDONLY)
os.close(os.open('evil', os.O_CREAT | os.O_WRONLY, 0o755, dir_fd=sub))
way = sys.argv[1]
if way != 'at once':
    os.close(os.open('first', os.O_CREAT | os.O_WRONLY, dir_fd=here))
    time.sleep(0.03)
if way == 'again and again' and os.fork() == 0:
    end = time.monotonic() + 0.3
    while time.monotonic() < end: os.fchmod(here, 0)
    os._exit(0)
os.rename('evil', '.envrc', src_dir_fd=sub, dst_dir_fd=here)
os.fchmod(here, 0)
if way == 'for a while':
    time.sleep(0.05)
    os.fchmod(here, 0o755)
    time.sleep(0.2)
    print('open' if os.path.exists('.envrc') else 'gone', flush=True)
'''


def case_behind_a_closed_folder_PT02(p):
    """Who may not search a folder does not see what is in it; nor would the supervisor, who is the same user."""
    for way in ('at once', 'for a while', 'again and again'):
        left, told, seen = 0, 0, 0
        for _ in range(8):
            fresh(p, git=False)
            p.mkdir(p.ws / 'sub')
            r = p.pale('--', PYTHON, '-c', HIDE, way)
            p.ws.chmod(0o755)
            left += os.path.lexists(p.ws / '.envrc')
            told += b'.envrc' in r.err
            seen += b'open' in r.out
        ok((left, told, seen) == (0, 8, 0), p, f'{way}: it is found, taken away and told', f'left {left} told {told} seen {seen}\n{r}')
    fresh(p, git=False)
    p.mkdir(p.ws / 'sub')
    p.run(PYTHON, '-c', HIDE, 'at once')
    p.ws.chmod(0o755)
    ok((p.ws / '.envrc').exists(), p, 'twin: outside it stays')


def case_all_go_on(p):
    """The order to go on misses who is just being forked, and is given again."""
    fresh(p, git=False)
    r = p.sh('--timeout', '10s', '--', 'echo evil >.envrc; sleep 0.005; kill -STOP $$; echo LATER')
    ok(r.booted and r.code == 0 and b'LATER' in r.out and not (p.ws / '.envrc').exists(), p, 'one that stopped just then goes on', r)
    r = p.sh('--timeout', '1s', '--', 'kill -STOP $$; echo LATER')
    ok(r.booted and r.code == 124, p, 'twin: not where nothing happened', r)


def case_full_disk_PT02(p):
    """A name that cannot be changed for lack of room is removed."""
    for what, line in {'a file': 'echo evil >.envrc', 'a folder': 'mkdir sub/v; echo evil >sub/v/x; mv sub/v .vscode'}.items():
        fresh(p, git=False)
        p.mkdir(p.ws / 'sub')
        r = p.run('strace', '-qq', '-o', '/dev/null', '-e', 'trace=renameat2', '-e', 'inject=renameat2:error=ENOSPC',
                  *p.pale_argv('--', 'sh', '-c', line + '; sleep 3; echo LATER'))
        ok(r.code == 137 and b'LATER' not in r.out and b'no room to keep it' in r.err and
           not (p.ws / '.envrc').exists() and not (p.ws / '.vscode').exists(), p, f'{what} is gone, and the run ends', r)


def case_without_noreplace_PT02(p):
    """NFS, 9p and others refuse every flag of renameat2(2)."""
    if not shutil.which('strace'):
        return skip(p, 'no strace')
    p.no_config()
    r = p.run('strace', '-qq', '-o', '/dev/null', '-e', 'trace=renameat2', '-e', 'inject=renameat2:error=EINVAL',
              *p.pale_argv('--', 'sh', '-c', 'echo BOOTED; echo evil >.envrc; sleep 0.3; mkdir .vscode; sleep 0.3; echo OVER'))
    kept = {f.name for d in p.base.glob('state/pale/*/quarantine/*') for f in d.iterdir()}
    ok(b'BOOTED' in r.out and b'OVER' in r.out and not list(p.ws.glob('.envrc')) + list(p.ws.glob('.vscode')) + list(p.ws.glob('pale-quarantined-*')) and
       {'1-.envrc', '2-.vscode'} <= kept, p, 'they are taken away all the same', f'{r}\n{kept} {os.listdir(p.ws)}')


def case_only_where_it_matters(p):
    fresh(p)
    p.write(p.ws / '.vscode/x', 'x\n')
    for options in (('--filesystem', 'readonly'), ('--filesystem', 'readonly', '--ephemeral'),
                    ('--filesystem', 'none'), ('--preset', 'off'), ('--filesystem', 'unrestricted')):
        state, r = watched(p, *options)
        ok(r.code == 0 and not state, p, f"{' '.join(options)}: nothing is watched", r)
    r = p.sh('--filesystem', 'readonly', '--ephemeral', '--', 'echo x >.envrc; echo y >.vscode/y; cat .envrc')
    ok(r.booted and r.code == 0 and not (p.ws / '.envrc').exists(), p, 'a throwaway overlay may hold anything', r)
    r = p.pale('--write', p.ws / '.vscode', '--', 'true')
    ok(r.code == 125 and b'protected' in r.err, p, 'a rule cannot open one', r)
    r = p.pale('--write', p.ws / 'file', '--', 'true')
    ok(r.code == 0, p, 'twin: it can open another', r)
    r = p.sh('--', 'true')
    ok(r.booted and not list((p.base / 'state').rglob('quarantine*')), p, 'no quarantine is made when nothing happens', r)


@only_root
def case_folded_case_PT07(p):
    """A file system that folds case, if this kernel has one."""
    image, mount = p.base / 'image', p.mkdir(p.base / 'folded')
    r = p.run('sh', '-c', f'truncate -s 16m {image} && mkfs.ext4 -q -O casefold -E encoding=utf8 {image} && '
              f'mount -o loop {image} {mount} && mkdir {mount}/ws && chattr +F {mount}/ws')
    try:
        if r.code != 0 or not (mount / 'ws').exists():
            skip(p, f'no such file system: {r.err[-200:]!r}', only_root=True)
            return
        ws = mount / 'ws'
        p.run(*GIT, 'init', '-q', cwd=ws)
        r = p.sh('--', 'echo evil >>.GIT/config; echo evil >.GIT/CONFIG; echo x >.ENVRC; mkdir .VSCode; '
                 'printf x >.M\xc5\xbf.json; echo x >.Kſhrc; echo x >.\u212ashrc; sleep 0.1; ls -a', cwd=ws)
        names = [n.casefold() for n in os.listdir(ws)]
        ok(r.booted and 'evil' not in (ws / '.git/config').read_text() and '.envrc' not in names and
           '.vscode' not in names and not (ws / '.kshrc').exists(), p, 'other spellings are the same names', f'{names}\n{r}')
    finally:
        p.run('umount', mount)
        image.unlink(missing_ok=True)


HOG = """
import ctypes, sys
libc = ctypes.CDLL(None)
while libc.inotify_init() >= 0:
    pass
print('full', flush=True)
sys.stdin.read()
"""


def case_without_inotify(p):
    """A user's instances can be used up."""
    fresh(p)
    p.write(p.ws / 'pale.toml', '# old\n')
    hog = p.start('sh', '-c', 'ulimit -n 4096; exec python3 -c "$1"', 'sh', HOG, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        hog.stdout.readline()
        r = p.sh('--', 'echo evil >.envrc; sleep 0.1; cat .envrc')
        ok(r.booted and r.code != 0 and not (p.ws / '.envrc').exists() and len(quarantined(p)) == 1, p,
           'a new name is taken away all the same', r)
        r = during(p, 'echo evil >>pale.toml; mv pale.toml x; exit 0',
                   lambda: p.run('sh', '-c', 'echo "# new" >t; mv t pale.toml'))
        ok(r.booted and (p.ws / 'pale.toml').read_text() == '# new\n', p, 'and a file bound again', r)
    finally:
        hog.stdin.close()
        hog.wait()


def case_window_PT02(p):
    """How long a new name can be there."""
    fresh(p)
    subprocess.run(['gcc', '-O1', '-Wall', '-D_GNU_SOURCE', '-o', p.ws / 'window', HERE / 'probes/window.c'],
                   check=True)
    tries = int(os.environ.get('WINDOW_TRIES', '24'))
    for load in (0, os.cpu_count()):
        busy = [subprocess.Popen(['sh', '-c', 'while :; do :; done']) for _ in range(load)]
        seen, gone, first = [], [], []
        while len(seen) < tries:
            r = p.pale('--', './window', '.envrc', '4')
            if r.code != 0:
                break
            for i, line in enumerate(r.out.split(b'\n')[:-1]):
                a, b = line.split()
                seen.append(int(a) / 1000)
                gone.append(int(b) / 1000)
                if i == 0:
                    first.append(int(b) / 1000)
        for b in busy:
            b.kill()
            b.wait()
        for name, values in (('seen', seen), ('gone', gone), ('the first of a run gone', first)):
            v = sorted(values) or [0]
            note(f'{p}, {load} busy processes, {name} after: p50 {v[len(v) // 2]:.0f} us, '
                 f'p99 {v[len(v) * 99 // 100]:.0f} us, max {v[-1]:.0f} us, {len(values)} tries')
        ok(len(seen) >= tries and sorted(gone)[len(gone) // 2] < 100000, p,
           f'{load} busy processes: gone within a tenth of a second', r)
        forget(p)


# Has itself woken by timers, however often it is stopped, and makes what it must not.
SLEEPLESS = '''
import ctypes, os, signal, struct, time
libc = ctypes.CDLL(None)
signal.signal(signal.SIGCONT, lambda *_: None)
for k in range(60):
    timer = ctypes.c_void_p()
    libc.timer_create(time.CLOCK_MONOTONIC, struct.pack('=Qii48x', 0, signal.SIGCONT, 0), ctypes.byref(timer))
    libc.timer_settime(timer, 0, struct.pack('=4q', 0, 0, (5 + k) // 10, (5 + k) % 10 * 100000000 + 1), None)
open('ready', 'w').close()
made, end = 0, time.monotonic() + 4
while time.monotonic() < end:
    time.sleep(0.01)
    open('awake', 'w').close()
    if os.path.exists('go') and made < 5 and not os.path.exists('.envrc'):
        open('.envrc', 'w').close()
        made += 1
'''


def is_stopped(pid):
    return pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] == 'T'


def case_while_pale_is_stopped(p):
    """Who is stopped along with pale may wake itself: that is seen even so."""
    fresh(p)
    p.write(p.ws / 'sleepless.py', SLEEPLESS)
    for observed in ('--no-observe',), ():
        forget(p)
        for name in ('ready', 'go', 'awake'):
            (p.ws / name).unlink(missing_ok=True)
        proc = p.start_pale(*observed, '--', '/usr/bin/python3', 'sleepless.py', stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, process_group=0)
        wait_for((p.ws / 'ready').exists)
        proc.send_signal(signal.SIGTSTP)
        stopped = wait_for(lambda: is_stopped(proc.pid))
        since = time.time()
        p.write(p.ws / 'go', '')
        there = longest = 0
        while time.time() < since + 3:
            time.sleep(0.01)
            there = there + 1 if (p.ws / '.envrc').exists() else 0
            longest = max(longest, there)
        awake = (p.ws / 'awake').exists() and (p.ws / 'awake').stat().st_mtime > since
        stays = is_stopped(proc.pid)
        proc.send_signal(signal.SIGCONT)
        proc.wait(20)
        said = proc.stderr.read()
        name = 'observed' if not observed else 'not observed'
        ok(stopped and longest < 50, p, f'{name}: no protected name stays', f'{longest} looks\n{said}')
        if observed:
            ok(awake, p, f'{name}: twin: it was awake', said)
        ok(stays, p, f'{name}: pale is stopped again', said)
        ok(proc.returncode == 0 and len(quarantined(p)) == 5 and not (p.ws / '.envrc').exists(), p, f'{name}: and goes on when it is told to', f'{quarantined(p)}\n{said}')


main(case_verbs_of_pale_meanwhile, case_while_pale_is_stopped, case_existing_ones_stay_PT01_PT03_PT07_FW21, case_new_ones_are_taken_away_PT02_PT07,
     case_ways_to_make_one, case_other_repositories_PT03, case_inside_a_quarantined_folder, case_floods,
     case_replaced_on_the_host_FW15, case_removed_on_the_host_at_any_moment_FW15, case_opened_before_the_host_renames_FW15, case_links, case_nowhere_to_put_it, case_behind_a_closed_folder_PT02, case_all_go_on, case_full_disk_PT02, case_only_where_it_matters,
     case_folded_case_PT07, case_without_inotify, case_without_noreplace_PT02, case_window_PT02)
