#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ways round the protected and hidden paths that once worked."""
import pty
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


def repository(p, name):
    top = p.mkdir(p.base / name)
    p.run('git', 'init', '-q', '.', cwd=top)
    p.write(top / '.envrc', 'export MINE=1\n')
    return top


def case_forged_worktree_PT04(p):
    """A folder of the command's own making poses as worktree of the folder above it."""
    top = repository(p, 'forged')
    sub = p.mkdir(top / 'sub')
    r = p.sh('mkdir -p worktrees/x && echo "gitdir: ../worktrees/x" >sub/.git && echo ../.. >worktrees/x/commondir && '
             f'echo {sub}/.git >worktrees/x/gitdir && echo PLANTED', cwd=top)
    ok(b'PLANTED' in r.out, p, 'planted', r)
    r = p.sh('echo evil >>../.envrc; echo evil >>../.git/config; echo evil >../pale.toml', cwd=sub)
    ok(r.booted and (top / '.envrc').read_text() == 'export MINE=1\n' and b'evil' not in (top / '.git/config').read_bytes() and
       not (top / 'pale.toml').exists(), p, 'nothing above it becomes writable', r)
    real = repository(p, 'real')
    p.run('git', '-c', 'user.name=x', '-c', 'user.email=x@y', 'commit', '-q', '--allow-empty', '-m', 'one', cwd=real)
    tree = p.base / 'real-tree'
    p.run('git', 'worktree', 'add', '-q', tree, cwd=real)
    r = p.sh('git status --short --branch', cwd=tree)
    ok(r.booted and r.code == 0 and b'real-tree' in r.out, p, 'twin: a real worktree works', r)


def case_broken_repository_PT05(p):
    """Without its HEAD, .git is none, and git takes the folder itself for a bare one."""
    top = repository(p, 'broken')
    r = p.sh('mv .git/HEAD x; mkdir -p objects refs; printf "[core]\\nfsmonitor = touch ran\\nworktree = .\\n" >config; '
             'cp x HEAD; sleep 1', cwd=top)
    ok(r.booted and b'tampering' in r.err and not (top / 'HEAD').exists(), p, 'HEAD at the top is taken away', r)
    p.run('git', 'status', cwd=top)
    ok(not (top / 'ran').exists(), p, 'git of the host executes nothing')


def case_hooks_of_the_user_PT03(p):
    top = repository(p, 'hooks')
    p.mkdir(top / '.githooks')
    p.write(p.home / '.gitconfig', '[core]\n\thooksPath = .githooks\n')
    r = p.sh('echo evil >.githooks/pre-commit; mv .githooks x', cwd=top)
    ok(r.booted and not list((top / '.githooks').iterdir()), p, "what the user's own configuration names is read-only", r)
    (p.home / '.gitconfig').unlink()
    r = p.sh('echo fine >.githooks/pre-commit', cwd=top)
    ok(r.code == 0 and (top / '.githooks/pre-commit').exists(), p, 'twin: else it is a folder like any other', r)


def case_link_to_an_alias_FR03(p):
    top = p.mkdir(p.base / 'alias')
    p.write(top / '.paleignore', '*.env\n')
    p.write(top / 'secret.env', 'CANARY\n')
    os.link(top / 'secret.env', top / 'alias')
    r = p.sh('ln -s secret.env l.env; cat alias', cwd=top)
    ok(r.booted and b'CANARY' not in r.out, p, 'hidden before', r)
    r = p.sh('cat alias l.env secret.env', cwd=top)
    ok(r.booted and b'CANARY' not in r.out, p, 'and after a link was left', r)


def case_stopped_but_not_all_PR11(p):
    """A command that stops takes everything inside along, also who left its group."""
    count = p.ws / 'count'
    count.unlink(missing_ok=True)
    line = 'setsid sh -c "while :; do echo x >>count; sleep 0.05; done" & sleep 0.5; kill -STOP $$; sleep 1'
    argv = p.argv([p.pale_path, 'run', '--timeout', '20s', '--', 'sh', '-c', line])
    told, tell = os.pipe()
    leader, fd = pty.fork()
    if leader == 0:  # a shell with job control: what it starts can be stopped
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpid())
            os.write(tell, str(os.getpid()).encode())
            os.chdir(p.ws)
            os.execve(argv[0], argv, p.env)
        os.waitpid(pid, 0)
        os._exit(0)
    pid = int(os.read(told, 20))

    def stopped():
        with open(f'/proc/{pid}/stat', 'rb') as f:
            return f.read().rsplit(b')', 1)[1].split()[0] == b'T'
    ok(wait_for(lambda: count.exists() and stopped(), 10), p, 'pale stops')
    time.sleep(0.3)
    size = count.stat().st_size
    time.sleep(0.6)
    ok(size > 0 and count.stat().st_size == size and stopped(), p, 'and nothing goes on', (size, count.stat().st_size))
    os.killpg(pid, signal.SIGCONT)
    ok(wait_for(lambda: count.stat().st_size > size, 5), p, 'twin: until it continues')
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(leader, 0)
    for end in (fd, told, tell):
        os.close(end)


main(case_forged_worktree_PT04, case_broken_repository_PT05, case_hooks_of_the_user_PT03, case_link_to_an_alias_FR03,
     case_stopped_but_not_all_PR11, uids=(1000,))
