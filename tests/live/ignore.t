#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What .paleignore names is not there inside, under any name."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

SECRET = b'SECRET-'
RULES = '# secrets\n*.key\n!public.key\n/vault/\n/deploy/**/prod*\n*.lnk\n'


def tree(p):
    clear(p)
    p.write(p.ws / 'a.key', 'SECRET-A\n')
    p.write(p.ws / 'public.key', 'public\n')
    p.write(p.ws / 'src/deep/b.key', 'SECRET-B\n')
    p.write(p.ws / 'src/deep/main.c', 'main\n')
    p.write(p.ws / 'vault/box/c', 'SECRET-C\n')
    p.write(p.ws / 'vault/public.key', 'SECRET-P\n')
    p.write(p.ws / 'deploy/eu/prod-1', 'SECRET-D\n')
    p.write(p.ws / 'deploy/eu/test-1', 'test\n')
    p.write(p.ws / 'sub/vault/open', 'open\n')
    p.mkdir(p.ws / 'src')
    p.mkdir(p.ws / 'deploy')
    p.mkdir(p.ws / 'vault')


def clear(p):
    p.no_config()
    for item in p.ws.iterdir():
        if item.name in ('file', 'probe'):
            continue
        if item.is_dir() and not item.is_symlink():
            shutil.rmtree(item)
        else:
            item.unlink()


def rules(p, text=RULES):
    return p.write(p.ws / '.paleignore', text)


# Every way to a name that a command has.
READ = ('cat a.key src/deep/b.key vault/box/c vault/public.key deploy/eu/prod-1; '
        'grep -r SECRET .; find . -type f -exec cat {} +; ls -AR vault; '
        'cat /proc/self/cwd/a.key /proc/self/root/"$PWD"/vault/box/c')
FILESYSTEMS = ('readonly', 'workspace_only', 'unrestricted')


def case_hidden_FR03(p):
    tree(p)
    r = p.sh(READ)
    ok(r.booted and r.out.count(SECRET) >= 10, p, 'twin: without rules everything can be read', r)
    rules(p)
    before = digest(p.ws)
    for fs in FILESYSTEMS:
        r = p.sh('--filesystem', fs, '--', READ)
        ok(r.booted and SECRET not in r.out + r.err, p, f'{fs}: nothing of it can be read', r)
        r = p.sh('--filesystem', fs, '--', 'cat public.key src/deep/main.c deploy/eu/test-1 sub/vault/open')
        ok(r.code == 0 and r.rest == b'public\nmain\ntest\nopen\n', p,
           f'{fs}: the exception and what no rule names can be', r)
        r = p.sh('--filesystem', fs, '--', 'echo x >a.key; rm -f a.key; rm -rf vault; mv vault v2; mv a.key k; '
                 'ln a.key hard; ls -A; cat k hard v2/box/c')
        ok(r.booted and SECRET not in r.out, p, f'{fs}: nor moved, linked or removed', r)
        ok(digest(p.ws) == before, p, f'{fs}: the host has it all')
    r = p.sh('--ephemeral', '--', READ + '; mv src s2; mv deploy/eu d2; cat s2/deep/* d2/*; rm -rf vault')
    ok(r.booted and SECRET not in r.out + r.err and digest(p.ws) == before, p, 'ephemeral: hidden as well', r)
    r = p.sh('--filesystem', 'none', '--read', '${WORKSPACE}/src', '--', 'cat "$1"/src/deep/main.c "$1"/src/deep/b.key', p.ws)
    ok(r.booted and b'main\n' in r.out and SECRET not in r.out, p, 'a part of the workspace: hidden as well', r)
    r = p.sh('--write', '${WORKSPACE}/vault', '--read', '${WORKSPACE}/a.key', '--', 'cat vault/box/c a.key')
    ok(r.booted and SECRET not in r.out, p, 'it beats rules that open', r)
    r = p.sh('--preset', 'off', '--', 'cat a.key')
    ok(r.code == 0 and SECRET in r.out, p, 'no boundary, nothing hidden', r)


def case_parents_stay_FR05(p):
    tree(p)
    rules(p)
    for name in ('src', 'src/deep', 'deploy', 'deploy/eu', 'vault'):
        r = p.sh(f'mv {name} {name}2')
        ok(r.booted and r.code != 0 and b'busy' in r.err and (p.ws / name).is_dir(), p,
           f'{name} cannot be renamed', r)
    r = p.sh('mv sub sub2')
    ok(r.code == 0 and (p.ws / 'sub2').is_dir(), p, 'twin: another folder can', r)
    (p.ws / '.paleignore').unlink()
    r = p.sh('mv src/deep src/deep2')
    ok(r.code == 0 and (p.ws / 'src/deep2').is_dir(), p, 'twin: and without rules this one can, too', r)


def case_hard_links_FR03(p):
    tree(p)
    p.mkdir(p.ws / 'copies')
    os.link(p.ws / 'a.key', p.ws / 'copies/one')
    os.link(p.ws / 'vault/box/c', p.ws / 'copies/two')
    os.link(p.ws / 'a.key', p.outside / 'three')
    line = 'cat copies/one copies/two'
    r = p.sh(line)
    ok(r.code == 0 and r.out.count(SECRET) == 2, p, 'twin: without rules they can be read', r)
    rules(p)
    for fs in FILESYSTEMS:
        r = p.sh('--filesystem', fs, '--', line)
        ok(r.booted and r.code != 0 and SECRET not in r.out, p, f'{fs}: other names of what is hidden are hidden', r)
    r = p.sh('mv copies c2')
    ok(r.booted and b'busy' in r.err, p, 'and cannot be moved away', r)
    (p.ws / '.paleignore').unlink()
    r = p.sh('--hide', str(p.ws / 'vault'), '--', line)
    ok(r.booted and b'SECRET-A' in r.out and b'SECRET-C' not in r.out, p, 'a folder in paths_hidden: the same', r)
    r = p.sh('--hide', str(p.outside / 'three'), '--', line)
    ok(r.booted and b'SECRET-A' not in r.out and b'SECRET-C' in r.out, p, 'a file elsewhere in paths_hidden: the same', r)
    (p.outside / 'three').unlink()


def case_symbolic_links_FR07(p):
    tree(p)
    p.write(p.ws / 'plain', 'SECRET-PLAIN\n')
    p.write(p.outside / 'shown', 'SECRET-SHOWN\n')
    os.symlink('plain', p.ws / 'x.lnk')
    os.symlink(p.outside / 'shown', p.ws / 'y.lnk')
    os.symlink('nowhere', p.ws / 'z.lnk')
    os.symlink('/dev/null', p.ws / 'null.lnk')
    os.symlink('vault/box', p.ws / 'way')
    line = f'cat x.lnk y.lnk plain way/c {p.outside}/shown; echo x >null.lnk; echo END'
    options = ('--read', str(p.outside), '--')
    r = p.sh(*options, line)
    ok(r.out.count(SECRET) == 5 and b'END' in r.out, p, 'twin: without rules they can be read', r)
    rules(p)
    r = p.sh(*options, line)
    ok(r.booted and SECRET not in r.out and b'END' in r.out, p, 'what a hidden link leads to is hidden', r)
    r = p.sh('readlink x.lnk; echo x >/dev/null && echo WRITTEN')
    ok(r.out.endswith(b'plain\nWRITTEN\n'), p, 'its name stays, and /dev/null is nobody\'s secret', r)
    os.symlink('.', p.ws / 'self.lnk')
    r = p.sh('true')
    ok(r.code == 125 and not r.booted and b'self.lnk' in r.err, p, 'a link to all of it is an error', r)


def case_odd_names(p):
    tree(p)
    names = ['new\nline.key', 'n' * 251 + '.key', '-rf.key', '\udcff.key', ' .key']
    for name in names:
        p.write(p.ws / 'odd' / name, 'SECRET-ODD\n')
    r = p.sh('cat odd/*.key ./odd/-rf.key')
    ok(r.out.count(SECRET) == 6, p, 'twin: without rules they can be read', r)
    rules(p)
    r = p.sh('cat odd/*.key ./odd/-rf.key; ls odd | wc -l')
    ok(r.booted and SECRET not in r.out and r.rest == b'6\n', p, 'newlines, long names and no UTF-8', r)
    r = p.verb('run', '--explain', '--', 'true')
    ok(r.code == 0 and r.out.count(b'.key') == 7, p, 'the plan lists them', r)


def case_deep_RS13(p):
    tree(p)
    p.write(p.ws / 'make-deep', 'import os\nfor i in range(40):\n  os.mkdir("d" * 200)\n  os.chdir("d" * 200)\n'
            'open("deep.key", "w").write("SECRET-DEEP\\n")\n')
    p.run('/usr/bin/python3', 'make-deep')
    line = 'i=0; while [ $i -lt 40 ]; do cd -P ./ddd* || exit 9; i=$((i+1)); done; cat deep.key'
    r = p.sh(line)
    ok(r.code == 0 and SECRET in r.out, p, 'twin: deeper than any path, and readable', r)
    rules(p)
    r = p.sh(line)
    ok(r.booted and r.code == 1 and SECRET not in r.out, p, 'hidden', r)


def case_closed_folder(p):
    """Its owner could open it inside."""
    tree(p)
    p.write(p.ws / 'shut/d.key', 'SECRET-SHUT\n')
    (p.ws / 'shut').chmod(0)
    line = 'chmod 755 shut; cat shut/d.key'
    if not p.is_root:
        r = p.sh(line)
        ok(r.code == 0 and SECRET in r.out, p, 'twin: without rules it can be opened', r)
        (p.ws / 'shut').chmod(0)
    rules(p)
    r = p.sh(line)
    ok(r.booted and r.code != 0 and SECRET not in r.out, p, 'a folder without rights hides nothing from the rules', r)
    (p.ws / 'shut').chmod(0o755)


BROKEN = (
    ('an open bracket', 'ok\n[a\n', b'.paleignore:2: '),
    ('a path that can never match', './a.key\n', b'.paleignore:1: '),
    ('a NUL byte', b'ok\n\n\0\n', b'.paleignore:3: '),
    ('a long line', 'a' * 5000 + '\n', b'.paleignore:1: '),
    ('a large file', '#' * (1 << 20) + '\n', b'larger than 1 MiB'),
)


def case_broken(p):
    for name, text, want in BROKEN:
        tree(p)
        rules(p, text)
        r = p.sh('touch ran')
        ok(r.code == 125 and not r.booted and want in r.err and not (p.ws / 'ran').exists(), p,
           f'{name}: 125, its place is named, nothing ran', r)
    for name, make in (('a link', lambda f: os.symlink('file', f)), ('a dangling link', lambda f: os.symlink('x', f)),
                       ('a folder', os.mkdir), ('a FIFO', os.mkfifo)):
        tree(p)
        make(p.ws / '.paleignore')
        r = p.sh('touch ran')
        ok(r.code == 125 and not r.booted and b'hint' in r.err and not (p.ws / 'ran').exists(), p,
           f'{name}: 125, a hint, nothing ran', r)
    if not p.is_root:
        tree(p)
        rules(p).chmod(0)
        r = p.sh('touch ran')
        ok(r.code == 125 and not r.booted and not (p.ws / 'ran').exists(), p, 'unreadable: 125, nothing ran', r)
    tree(p)
    rules(p, '')
    r = p.sh('touch ran')
    ok(r.code == 0 and (p.ws / 'ran').exists(), p, 'twin: an empty one is fine', r)


@only_first
def case_limit(p):
    tree(p)
    p.mkdir(p.ws / 'many')
    for i in range(4094):
        (p.ws / f'many/{i}.key').write_text('SECRET-MANY\n')
    rules(p, '*.key\n!public.key\n')
    r = p.sh('cat many/*; ls many | wc -l', timeout=60)
    ok(r.booted and SECRET not in r.out and r.rest == b'4094\n', p, f'4096 paths, {r.seconds:.2f} s', r)
    p.write(p.ws / 'one-more.key', '')
    r = p.sh('touch ran')
    ok(r.code == 125 and not (p.ws / 'ran').exists() and b'whole folders' in r.err, p, 'one more: refused', r)
    rules(p, '*.key\nmany/\n')
    r = p.sh('cat many/*')
    ok(r.booted and SECRET not in r.out, p, 'twin: a folder is one path', r)


def mounted(p, binds, *args):
    """pale run ARGS where the host has mounted, in the workspace, each of BINDS onto the other."""
    line = ''.join(f'mount --bind {a} {b} && ' for a, b in binds) + 'exec "$@"'
    argv = ['unshare', '-m', '--propagation', 'private', 'sh', '-c', line, 'sh'] + p.argv(p.pale_argv(*args))
    r = subprocess.run(argv, cwd=p.ws, env=p.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    return Result(argv, r.returncode, r.stdout, r.stderr, 0)


def case_mounted_twice_FR03_PT03(p):
    """A bind mount of the host is one more name of what is hidden or protected."""
    if os.geteuid() != 0:
        return skip(p, 'only root can mount', only_root=True)
    tree(p)
    p.write(p.ws / 'pale.toml', '')
    p.write(p.ws / '.vscode/tasks.json', '{}')
    for name in 'folder', 'part', 'all', 'src/deep/more':
        p.mkdir(p.ws / name)
    p.write(p.ws / 'single', '')
    binds = [('vault', 'folder'), ('vault/box', 'part'), ('a.key', 'single'), ('vault', 'src/deep/more')]
    read = ('--', 'sh', '-c', 'echo BOOTED; cat a.key vault/box/c folder/box/c part/c single src/deep/more/box/c; exit 0')
    r = mounted(p, binds, *read)
    ok(b'BOOTED' in r.out and r.out.count(SECRET) == 6, p, 'twin: without rules all is there', r)
    rules(p)
    r = mounted(p, binds, *read)
    ok(b'BOOTED' in r.out and SECRET not in r.out, p, 'hidden under every name', r)
    write = ('--', 'sh', '-c', 'echo BOOTED; echo evil >folder/tasks.json; echo evil >all/.vscode/tasks.json; exit 0')
    r = mounted(p, [('src', 'all')], *write)
    ok(b'BOOTED' in r.out, p, 'twin: another folder may be mounted', r)
    for bind in ('.vscode', 'folder'), ('.', 'all'):
        r = mounted(p, [bind], *write)
        ok(r.code == 125 and b'BOOTED' not in r.out and b'protected' in r.err and (p.ws / '.vscode/tasks.json').read_text() == '{}',
           p, f'protected: {bind[0]} once more is refused', r)
        r = mounted(p, [bind], '--hide', bind[1], *write)
        ok(b'BOOTED' in r.out and (p.ws / '.vscode/tasks.json').read_text() == '{}', p, f'{bind[0]}: unless it is hidden', r)
    clear(p)


def case_report(p):
    tree(p)
    r = p.pale('--json', '--', 'true')
    ok('paths_hidden' not in r.json().get('enforced', {'paths_hidden': 1}), p, 'twin: no rules, no verdict', r)
    rules(p)
    r = p.pale('--json', '--', 'true')
    ok(r.json()['enforced'].get('paths_hidden') == {'state': 'enforced', 'by': 'mounts'}, p, 'the verdict', r)
    clear(p)


main(case_hidden_FR03, case_parents_stay_FR05, case_hard_links_FR03, case_symbolic_links_FR07,
     case_odd_names, case_deep_RS13, case_closed_folder, case_broken, case_limit, case_mounted_twice_FR03_PT03, case_report)
