#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Git works inside a workspace, and what it would execute there is protected,
wherever it really is: our reading of its files agrees with git's own."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

GIT = ('git', '-c', 'user.name=A', '-c', 'user.email=a@b', '-c', 'init.defaultBranch=main',
       '-c', 'protocol.file.allow=always', '-c', 'safe.directory=*')


def clean(p, *more):
    for d in (p.ws,) + more:
        p.run('chmod', '-R', 'u+rwX', d, cwd=p.base)
        shutil.rmtree(d, ignore_errors=True)
    p.mkdir(p.ws)
    p.no_config()


def make(p, where, *files):
    p.mkdir(where)
    p.run(*GIT, 'init', '-q', cwd=where)
    for f in files or ('file',):
        p.write(where / f, f + '\n')
    p.run(*GIT, 'add', '.', cwd=where)
    p.run(*GIT, 'commit', '-qm', 'first', cwd=where)


def watched(p, cwd=None):
    r = p.pale('--explain', '--json', '--', 'true', cwd=cwd)
    return {w['folder'] + '/' + w['name']: w['state'] for w in r.json().get('watched', [])}, r


def case_work_inside(p):
    up = p.base / 'up'
    clean(p, up)
    make(p, up)
    p.run(*GIT, 'branch', 'topic', cwd=up)
    shutil.rmtree(p.ws)
    p.run(*GIT, 'clone', '-q', up, p.ws, cwd=p.base)
    p.write(p.home / '.gitconfig', '[user]\nname = A\nemail = a@b\n')
    for line in ('git status', 'echo 1 >one && git add one && git commit -qm one',
                 'git switch -qc side && echo 2 >two && git add two && git commit -qm two',
                 'git switch -q main && echo 3 >three && git add three && git commit -qm three',
                 'git merge -q -m merged side', 'git branch -d side',
                 'git switch -qc other HEAD~1 && echo 4 >four && git add four && git commit -qm four && git rebase -q main',
                 'echo x >>one && git stash -q && git stash pop -q && git checkout -q one',
                 'git switch -q topic && git log -1 --format=%s | grep first', 'git switch -q main', 'git branch -D topic',
                 'git tag v1', 'echo x >>one && git reset -q --hard && git diff --quiet',
                 'git worktree add -q tree other && git -C tree status', 'echo 5 >tree/five && git -C tree add five && git -C tree commit -qm five',
                 'git gc -q', 'git fetch -q . main:copy', 'git worktree remove tree', 'git cherry-pick other', 'git fsck'):
        r = p.sh('--', line)
        ok(r.booted and r.code == 0, p, line, r)
    r = p.run('git', 'fsck', '--strict')
    n = p.run('git', 'log', '--format=%an')
    ok(r.code == 0 and n.out.count(b'A\n') >= 4, p, 'the host finds all of it in order', r)
    ok(b'origin' in p.run('git', 'config', '--list').out and not any(p.base.glob('state/pale/*/quarantine')), p,
       'the configuration is as it was, and nothing was moved')
    r = p.sh('--', 'git config core.pager evil; git config --worktree a.b c; git config core.hooksPath .')
    ok(r.booted and r.code != 0 and b'evil' not in (p.ws / '.git/config').read_bytes(), p, 'it cannot be changed', r)
    r = p.sh('--preset', 'off', '--', 'git config core.pager less')
    ok(r.booted and r.code == 0 and b'less' in (p.ws / '.git/config').read_bytes(), p, 'twin: it can without a boundary', r)


def case_linked_worktree_PT04(p):
    main = p.base / 'main'
    clean(p, main)
    make(p, main)
    shutil.rmtree(p.ws)
    p.run(*GIT, 'worktree', 'add', '-q', p.ws, cwd=main)
    p.write(p.home / '.gitconfig', '[user]\nname = A\nemail = a@b\n')
    r = p.sh('--', 'git status && echo x >new && git add new && git commit -qm inside')
    ok(r.booted and r.code == 0 and b'inside' in p.run('git', 'log', '-1', '--format=%s').out, p, 'git works', r)
    before = digest(main / '.git/hooks'), (main / '.git/config').read_bytes(), (p.ws / '.git').read_bytes()
    r = p.sh('--', 'cd "$1"; echo x >>.git/config; echo x >.git/hooks/pre-commit; mv .git g; mv .git/hooks h; '
             'echo x >.git/worktrees/ws/commondir; rm "$2"/.git; echo "gitdir: /x" >"$2"/.git; echo x >file; ls',
             str(main), str(p.ws))
    ok(r.booted and before == (digest(main / '.git/hooks'), (main / '.git/config').read_bytes(), (p.ws / '.git').read_bytes())
       and (main / 'file').read_text() == 'file\n' and p.run('git', 'status').code == 0, p,
       'what it executes is protected, and the other tree not there', r)
    r = p.sh('--', 'echo "[a]" >"$1"/.git/config.worktree; sleep 0.1', str(main))
    ok(r.booted and not (main / '.git/config.worktree').exists() and b'tampering' in r.err, p, 'and watched', r)
    r = p.sh('--filesystem', 'readonly', '--', 'git log -1 --format=%s; echo x >"$1"/.git/x', str(main))
    ok(r.booted and b'inside' in r.out and not (main / '.git/x').exists(), p, 'read-only: git can look', r)
    # Not the one that it was made for.
    copy = p.base / 'copy'
    shutil.rmtree(copy, ignore_errors=True)
    p.mkdir(copy)
    p.write(copy / '.git', (p.ws / '.git').read_bytes())
    r = p.sh('--', 'git status; ls "$1"', str(main / '.git'), cwd=copy)
    ok(r.booted and r.code != 0 and b'HEAD' not in r.out, p, 'a copy of the pointer opens nothing', r)
    r = p.run('git', 'status', cwd=copy)
    ok(r.code == 0, p, 'twin: git outside follows it', r)
    shutil.rmtree(copy)


def case_not_ones_own(p):
    """A pointer at a repository of somebody else."""
    other = p.base / 'other'
    clean(p, other)
    make(p, other)
    p.mkdir(other / '.git/worktrees/ws')
    p.write(other / '.git/worktrees/ws/gitdir', f'{p.base}/elsewhere/.git\n')
    p.write(other / '.git/worktrees/ws/commondir', '../..\n')
    p.write(other / '.git/worktrees/ws/HEAD', 'ref: refs/heads/main\n')
    for pointer in (other / '.git', other / '.git/worktrees/ws', p.home / '.ssh'):
        p.write(p.ws / '.git', f'gitdir: {pointer}\n')
        r = p.sh('--', 'ls -a "$1"; cat "$1"/*', str(pointer))
        ok(r.booted and b'HEAD' not in r.out and b'CANARY' not in r.out, p, f'{pointer.name}: is not shown', r)
    p.write(other / '.git/worktrees/ws/gitdir', f'{p.ws}/.git\n')
    p.write(p.ws / '.git', f'gitdir: {other}/.git/worktrees/ws\n')
    r = p.sh('--', 'ls -a "$1"', str(other / '.git'))
    ok(r.booted and b'HEAD' in r.out, p, 'twin: with a pointer back it is', r)


# What stands in `.git`, with D for a git directory below the workspace.
POINTERS = [b'gitdir: D\n', b'gitdir: D', b'gitdir: D\r\n', b'gitdir: D\n\n\r\n', b'gitdir: D' + b'\n' * 65536,
            b'gitdir: D' + b'\n' * ((1 << 20) - 9), b'gitdir: D' + b'\n' * (1 << 20), b'gitdir: ./D\n', b'gitdir: D/\n',
            b'gitdir: D//\n', b'gitdir: D/.\n', b'gitdir: D/../D\n', b'gitdir: D\0junk\n', b'gitdir: D\n\0', b'gitdir:  D\n',
            b'gitdir:D\n', b'gitdir: D \n', b'gitdir:\tD\n', b'\ngitdir: D\n', b'GITDIR: D\n', b'gitdir: \n', b'gitdir: ',
            b'', b'gitdir: link\n', b'gitdir: W/D\n', b'gitdir: W/link/../D\n', b'gitdir: absent\n', b'gitdir: sub/../D\n',
            b'gitdir: D\nx\n', b'\xef\xbb\xbfgitdir: D\n', b'gitdir: D\r', b'gitdir: sub/link2\n']
COMMONS = [b'../C\n', b'../C', b'../C\r\n', b'W/C\n', b'../C/\n', b'../C\0x', b'', b'../C' + b'\n' * 70000, b' ../C', b'../absent\n',
           b'../D/../C\n']


def agree(p, what):
    """Every place that git would take hooks or configuration from is guarded."""
    g = p.run('git', 'rev-parse', '--git-dir', '--git-common-dir', '--git-path', 'hooks', '--git-path', 'config')
    state, r = watched(p)
    if g.code != 0:
        return ok(r.code in (0, 125), p, f'{what}: git takes it for no repository', r)
    lines = [os.path.realpath(p.ws / os.fsdecode(line)) for line in g.out.splitlines()]
    missing = [x for x in lines[2:] if state.get(x) not in ('read-only', 'absent')]
    return ok(r.code == 125 or not missing, p, f'{what}: the same as git\'s', f'{lines} {missing}\n{g}\n{str(r)[:2000]}')


@only_first
def case_pointers_PT04(p):
    clean(p)
    make(p, p.ws)
    (p.ws / '.git').rename(p.ws / 'D')
    p.mkdir(p.ws / 'sub')
    os.symlink('D', p.ws / 'link')
    os.symlink('../D', p.ws / 'sub/link2')
    for text in POINTERS:
        p.write(p.ws / '.git', text.replace(b'W', os.fsencode(p.ws)))
        agree(p, repr(text[:24]) + (f' {len(text)}' if len(text) > 24 else ''))
    p.write(p.ws / '.git', b'gitdir: D\n')
    r = p.sh('--', 'mv D E; echo x >>D/config; echo x >D/hooks/x; echo x >D/commondir; rm .git; sleep 0.05; ls D')
    ok(r.booted and b'config' in r.out and not (p.ws / 'D/hooks/x').exists() and (p.ws / '.git').exists() and
       not (p.ws / 'D/commondir').exists(), p, 'and protected', r)
    p.write(p.ws / '.git', b'gitdir: absent\n')
    r = p.sh('--', 'cp -r D absent; sleep 0.05; ls -d absent')
    ok(r.booted and r.code != 0 and not (p.ws / 'absent').exists(), p, 'a pointer to nothing stays one', r)
    p.write(p.ws / '.git', b'gitdir: D\n')
    p.run('cp', '-r', 'D', 'C')
    for text in COMMONS:
        p.write(p.ws / 'D/commondir', text.replace(b'W', os.fsencode(p.ws)))
        agree(p, 'commondir ' + repr(text[:16]))
    (p.ws / 'D/commondir').unlink()
    (p.ws / '.git').unlink()
    os.symlink('D', p.ws / '.git')
    agree(p, 'a link')
    r = p.sh('--', 'ln -sfT C .git; sleep 0.1; echo x >>.git/config')
    ok(r.booted and os.readlink(p.ws / '.git') == 'D' and b'as it was' in r.err, p, 'that is put back', r)
    (p.ws / '.git').unlink()
    os.symlink('pointer', p.ws / '.git')
    p.write(p.ws / 'pointer', 'gitdir: D\n')
    agree(p, 'a link to a file')
    (p.ws / '.git').unlink()


HOOKS = ['.githooks', '.githooks/', './.githooks', '"a b"', 'deep/er/hooks', '.husky/_', 'W/.githooks', '.githooks ; comment',
         'ab\\\nc', '"x\\"y"', 'deep/../.githooks', '~/nothing', 'absent/hooks', '.githooks/.']


@only_first
def case_hooks_elsewhere_PT03(p):
    clean(p)
    make(p, p.ws)
    for d in ('.githooks', 'a b', 'deep/er/hooks', '.husky/_', 'abc', 'x"y'):
        p.write(p.ws / d / 'pre-commit', '#!/bin/sh\n', 0o755)
    p.run('chown', '-R', f'{p.uid}:{p.uid}', p.ws) if os.geteuid() == 0 else None
    base = (p.ws / '.git/config').read_text()
    for value in HOOKS:
        for key in ('[core]\n\thooksPath = %s\n', '[CORE] HOOKSPATH=%s\n', '[include]\n\tpath = ../inc\n'):
            value_ = value.replace('W', str(p.ws))
            text = key % value_ if '%s' in key else key
            p.write(p.ws / 'inc', '[core]\nhooksPath = ' + value_ + '\n')
            p.write(p.ws / '.git/config', base + text)
            g = p.run('git', 'rev-parse', '--git-path', 'hooks')
            want = os.path.realpath(p.ws / os.fsdecode(g.out.rstrip(b'\n')))
            state, r = watched(p)
            inside = want.startswith(str(p.ws) + '/')
            above = [n for n, s in state.items() if s in ('absent', 'read-only') and (want + '/').startswith(n + '/')]
            ok(g.code == 0 and (above or not inside), p, f'{text.split()[0]} {value!r}', f'{want} {state}\n{g}\n{str(r)[:900]}')
    p.write(p.ws / '.git/config', base + '[core]\nhooksPath = .husky/_\n[include]\npath = ../inc\n')
    r = p.sh('--', 'echo x >>.husky/_/pre-commit; echo x >.husky/pre-commit; echo x >>inc; mv .husky h; exit 0')
    ok(r.booted and (p.ws / '.husky/_/pre-commit').read_text() == '#!/bin/sh\n' and
       not (p.ws / '.husky/pre-commit').exists() and (p.ws / 'inc').read_text().endswith('.\n'), p, 'all of it is read-only', r)
    r = p.sh('--preset', 'off', '--', 'echo x >>.husky/_/pre-commit')
    ok((p.ws / '.husky/_/pre-commit').read_text() != '#!/bin/sh\n', p, 'twin: not without a boundary', r)


@only_first
def case_hooks_of_submodules_PT03(p):
    """Git looks for them from the top of the submodule's own working tree."""
    sub, hook = p.base / 'sub', p.ws / 'lib/one/.husky/_/pre-commit'
    for whose in 'submodule', 'user':
        clean(p, sub)
        p.write(p.home / '.gitconfig', '[user]\nname = A\nemail = a@b\n')
        make(p, sub)
        make(p, p.ws)
        p.run(*GIT, 'submodule', 'add', '-q', sub, 'lib/one')
        p.write(hook, '#!/bin/sh\n', 0o755)
        p.run(*GIT, 'config', *(['--global'] if whose == 'user' else []), 'core.hooksPath', '.husky/_', cwd=p.ws / 'lib/one')
        evil = 'echo "touch $PWD/ran" >>lib/one/.husky/_/pre-commit; echo x >lib/one/.husky/x; '
        r = p.sh('--', evil + 'cd lib/one && echo 1 >new && git add new && git commit -qm new')
        g = p.run(*GIT, 'commit', '-qm', 'host', '--allow-empty', cwd=p.ws / 'lib/one')
        ok(r.booted and r.code == 0 and g.code == 0 and not (p.ws / 'ran').exists() and sorted(os.listdir(hook.parent.parent)) == ['_'],
           p, f'the {whose}\'s configuration: they stay, and commits work', f'{r}\n{g}')
        p.sh('--preset', 'off', '--', evil)
        p.run(*GIT, 'commit', '-qm', 'host', '--allow-empty', cwd=p.ws / 'lib/one')
        ok((p.ws / 'ran').exists(), p, f'the {whose}\'s configuration: twin: without a boundary git runs it', r)
    p.write(p.home / '.gitconfig', '')
    clean(p, sub)


@only_first
def case_submodules_and_bare_PT04_PT05(p):
    sub = p.base / 'sub'
    clean(p, sub)
    make(p, sub)
    make(p, p.ws)
    p.run(*GIT, 'submodule', 'add', '-q', sub, 'lib/one')
    p.run(*GIT, 'commit', '-qam', 'module')
    mod = p.ws / '.git/modules/lib/one'
    state, r = watched(p)
    ok(state.get(f'{mod}/config') == 'read-only' and state.get(f'{mod}/commondir') == 'absent', p, 'the plan knows it', r)
    before = digest(mod / 'hooks'), (mod / 'config').read_bytes()
    r = p.sh('--', 'm=.git/modules/lib/one; git -C lib/one status; echo x >>$m/config; echo x >$m/hooks/y; mv $m z; '
             'mv .git/modules y; mv .git/modules/lib x; echo x >$m/commondir; sleep 0.1')
    ok(r.booted and before == (digest(mod / 'hooks'), (mod / 'config').read_bytes()) and
       not (mod / 'commondir').exists() and b'branch' in r.out, p, 'a submodule is protected like its parent', r)
    clean(p)
    r = p.sh('--', 'git init -q; sleep 0.1; ls .git')
    ok(r.booted and not (p.ws / '.git').exists() and b'tampering' in r.err, p, 'a new repository at the root is not left there', r)
    r = p.sh('--', 'git init -q --bare . ; sleep 0.1')
    ok(r.booted and p.run('git', 'rev-parse', '--git-dir').code != 0, p, 'nor a bare one', r)
    r = p.sh('--', 'git init -q below && ls below/.git')
    ok(r.booted and r.code == 0, p, 'twin: one below is', r)
    clean(p)
    p.run(*GIT, 'init', '-q', '--bare')
    agree(p, 'a workspace that is a bare repository')


@only_first
def case_what_an_earlier_run_prepared_PT04(p):
    """Which repositories there are must not be told by what a command can move away, or make."""
    sub, away, tree = p.base / 'sub', p.base / 'away', p.base / 'tree-of-sub'
    clean(p, sub, away, tree)
    make(p, sub)
    make(p, p.ws)
    for name in ('lib/one', 'two', 'lib/logs', 'lib/worktrees/a', 'lib/config'):
        p.run(*GIT, 'submodule', 'add', '-q', sub, name)
    p.run(*GIT, 'commit', '-qam', 'modules')
    p.run(*GIT, 'worktree', 'add', '-q', away)
    p.run(*GIT, 'submodule', 'update', '-q', '--init', cwd=away)
    p.run(*GIT, 'worktree', 'add', '-q', tree, cwd=p.ws / 'two')
    git = p.ws / '.git'
    cases = ((git / 'modules/two', 'mv .git/modules/two/HEAD .git/modules/two/H', 'config'),
             (git / 'modules/lib/one', 'touch .git/modules/lib/HEAD', 'config'),
             (git / 'modules/lib/logs', 'touch .git/modules/lib/HEAD', 'config'),
             (git / 'modules/lib/worktrees/a', f'touch .git/modules/lib/HEAD; mkdir x; echo {p.ws}/x/.git >.git/modules/lib/worktrees/a/gitdir', 'config'),
             (git / 'modules/lib/config', 'true', 'config'),
             (git / 'worktrees/away/modules/two', 'true', 'config'),
             (git / 'modules/two/worktrees/tree-of-sub', 'true', 'commondir'))
    for where, first, name in cases:
        ok((where / name).exists(), p, f'{where}: is there')
        before = (where / name).read_bytes()
        p.sh('--', first)
        r = p.sh('--', f'echo x >>{where}/{name}; mkdir -p {where}/hooks; echo x >{where}/hooks/evil; sleep 0.1')
        ok(r.booted and (where / name).read_bytes() == before and not (where / 'hooks/evil').exists(), p, f'{where.relative_to(git)}: after `{first}`', r)
        r = p.run('sh', '-c', f'echo "# x" >>{where}/{name}')
        ok((where / name).read_bytes() != before, p, 'twin: we can', r)
        (where / name).write_bytes(before)
    p.run('sh', '-c', 'mv .git/modules/two/H .git/modules/two/HEAD; rm .git/modules/lib/HEAD')
    for name in ('two', 'lib/config', 'lib/worktrees/a'):
        r = p.sh('--', f'cd {name} && git checkout -q -b new && echo 1 >n && git add n && git -c user.name=t -c user.email=t@t commit -qm n')
        ok(r.booted and r.code == 0, p, f'work in a submodule goes on: {name}', r)
    p.run('sh', '-c', 'cd .git/modules/two; for i in $(seq 1100); do mkdir -p rr-cache/$i other/$i; done; mkdir -p hooks/a/b/c/d/e/f/g/h/i/j tool/a/b/c/d/e/f/g/h/i/j')
    r = p.sh('--', 'true')
    ok(r.booted and r.code == 0, p, 'and with many folders in it', r)
    clean(p)
    p.run(*GIT, 'init', '-q', '--bare')
    p.sh('--', 'mv HEAD H')
    before = (p.ws / 'config').read_bytes()
    r = p.sh('--', 'echo x >>config; echo x >hooks/post-receive')
    ok(r.booted and (p.ws / 'config').read_bytes() == before and not (p.ws / 'hooks/post-receive').exists(), p, 'a bare one whose HEAD is away', r)
    clean(p, sub, away, tree)


main(case_what_an_earlier_run_prepared_PT04, case_work_inside, case_linked_worktree_PT04, case_not_ones_own, case_pointers_PT04,
     case_hooks_elsewhere_PT03, case_hooks_of_submodules_PT03, case_submodules_and_bare_PT04_PT05)
