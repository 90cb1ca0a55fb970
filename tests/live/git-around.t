#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What git on the host is told to execute in the workspace by a configuration that lies elsewhere: of a
repository around it, of the user, in the old files for remotes. The command must not write it."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

IDENTITY = ['-c', 'user.name=t', '-c', 'user.email=t@t', '-c', 'safe.directory=*']


class Around:
    """A repository, and a workspace of its own below the top of it, or at the top."""

    def __init__(self, p, name, below='sub', config='', **env):
        self.p = p
        self.top = p.mkdir(p.base / f'around-{name}-{time.time_ns()}')
        self.pwned = p.mkdir(p.base / f'pwned-{time.time_ns()}', 0o777) / 'by-git'
        self.env = dict(p.env, **env)
        self.git('init', '-q')
        p.write(self.top / 'a', 'a\n')
        self.git('add', 'a')
        self.git('commit', '-qm', 'one')
        self.ws = p.mkdir(self.top / below) if below else self.top
        p.write(self.ws / 'pale.toml', '')
        with open(self.top / '.git/config', 'a') as file:
            file.write(config)

    def git(self, *args):
        return self.p.run('git', *IDENTITY, *args, cwd=self.top, env=getattr(self, 'env', None))

    def plant(self, line):
        """By the command, and then by ourselves."""
        yield 'pale', self.p.pale('--', 'sh', '-c', 'echo BOOTED; ' + line, cwd=self.ws, env=self.env)
        yield 'twin', self.p.run('sh', '-c', line, cwd=self.ws, env=self.env)

    def hook(self, folder):
        return f'mkdir -p {folder}; printf "#!/bin/sh\\ntouch {self.pwned}\\n" >{folder}/pre-commit; chmod 755 {folder}/pre-commit'

    def fsmonitor(self, config):
        return f'printf "#!/bin/sh\\ntouch {self.pwned}\\n" >evil; chmod 755 evil; printf "[core]\\n\\tfsmonitor = %s/evil\\n" "$PWD" >{config}'

    def judge(self, what, line, use=('commit', '-qam', 'two')):
        for who, r in self.plant(line):
            self.p.write(self.top / 'a', f'{time.time_ns()}\n')
            self.git(*use)
            made = self.pwned.exists()
            self.pwned.unlink(missing_ok=True)
            ok((who == 'twin' or r.booted) and made == (who == 'twin'), self.p, f'{what}, {who}: ' + ('git executes it' if made else 'git executes nothing'), r)


def case_of_a_repository_around(p):
    box = Around(p, 'hooks', config='[core]\n\thooksPath = sub/hooks\n')
    box.judge('core.hooksPath', box.hook('hooks'))
    box = Around(p, 'deep', below='x/y/z', config='[core]\n\thooksPath = x/y/z/hooks\n')
    box.judge('further down', box.hook('hooks'))
    box = Around(p, 'include', config='[include]\n\tpath = ../sub/git.inc\n')
    box.judge('include.path', box.fsmonitor('git.inc'), ('status',))
    box = Around(p, 'file', config='')
    box.git('worktree', 'add', '-q', box.top / 'tree')
    box.git('config', 'core.hooksPath', 'inner/hooks')
    tree = box.top / 'tree'
    box.ws = p.mkdir(tree / 'inner')
    p.write(box.ws / 'pale.toml', '')
    box.top = tree
    p.write(tree / 'a', 'b\n')
    box.judge('of a worktree', box.hook('hooks'))


def case_of_the_user(p):
    home = p.mkdir(p.base / f'home-{time.time_ns()}')
    for folder in ('xdg/git', 'plain'):
        p.mkdir(home / folder.split('/')[0])
        p.mkdir(home / folder)
    hooks = '[core]\n\thooksPath = .myhooks\n'
    p.write(home / 'xdg/git/config', hooks)
    p.write(home / 'plain/config', hooks)
    for what, env in (('XDG_CONFIG_HOME', {'XDG_CONFIG_HOME': str(home / 'xdg')}), ('GIT_CONFIG_GLOBAL', {'GIT_CONFIG_GLOBAL': str(home / 'plain/config')}),
                      ('GIT_CONFIG_COUNT', {'GIT_CONFIG_COUNT': '2', 'GIT_CONFIG_KEY_0': 'remote.a.b.url', 'GIT_CONFIG_VALUE_0': 'c', 'GIT_CONFIG_KEY_1': 'Core.hooksPath', 'GIT_CONFIG_VALUE_1': '.myhooks'})):
        box = Around(p, 'user', below='', **env)
        box.judge(what, box.hook('.myhooks'))
    box = Around(p, 'other', below='', config='')
    with open(box.top / '.git/config', 'a') as file:
        file.write(f'[core]\n\thooksPath = ~daemon/../..{box.top}/.myhooks\n')
    box.judge('~name', box.hook('.myhooks'))


REMOTE = '''mkdir -p evil .git/%s; git init -q --bare evil/r; printf '#!/bin/sh\\ntouch %s\\n' >evil/r/hooks/post-receive; chmod 755 evil/r/hooks/post-receive
printf '%s' >.git/%s/origin'''


def case_where_to_push(p):
    for folder, text in (('remotes', 'URL: evil/r\\nPush: HEAD:refs/heads/main\\n'), ('branches', 'evil/r\\n')):
        box = Around(p, folder, below='')
        line = REMOTE % (folder, box.pwned, text, folder)
        box.judge(f'.git/{folder}', line, ('push', 'origin', 'HEAD:refs/heads/main'))
        if ENGINE != 'native':
            continue
        box = Around(p, folder, below='')
        p.pale('--staged', '--', 'sh', '-c', line.replace('git init -q --bare evil/r;', 'mkdir -p evil/r/hooks;'), cwd=box.ws, env=box.env)
        r = p.run(p.pale_path, 'apply', cwd=box.ws, env=box.env)
        ok(r.code == 1 and not (box.ws / f'.git/{folder}/origin').exists() and (box.ws / 'evil').exists(), p, f'.git/{folder}, staged: not applied unless it is named', r)


main(case_of_a_repository_around, case_of_the_user, case_where_to_push)
