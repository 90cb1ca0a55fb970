#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What holds while a session stands, and which folder it is about."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from box import Box


REPLACED = 80


def started(p, r):
    ok(r.code == 0, p, 'it stands', r)


def replace(p, path, text):
    """As editors save: a new file takes the place of the old one."""
    p.write(path.with_name('new~'), text)
    path.with_name('new~').rename(path)


@needs('hidden')
def case_hidden_stays_hidden(p):
    """The host replaces what is hidden, or makes more of it: a named session refuses, the default one is replaced."""
    with Box(p, 'hidden') as box:
        p.write(box.ws / '.paleignore', '.env\n*.key\n')
        p.write(box.ws / '.env', 'SECRET1\n')
        p.write(box.ws / 'plain', 'plain\n')
        time.sleep(0.05)
        started(p, box.start())
        r = box.sh('cat .env plain')
        ok(r.booted and b'SECRET' not in r.out and b'plain' in r.out, p, 'it is hidden', r)
        box.verb('exec', '--', 'true')
        p.write(box.ws / 'other', 'x')
        replace(p, box.ws / 'plain', 'plainer\n')
        r = box.sh('cat plain')
        ok(r.rest == b'plainer\n', p, 'what is not hidden may come and go', r)
        replace(p, box.ws / '.env', 'SECRET2\n')
        r = box.sh('cat .env')
        ok(r.code == 125 and b'SECRET' not in r.out and b'has changed since session' in r.err, p, 'replaced: refused', r)
        r = box.verb('exec', '--', 'sh', '-c', 'echo BOOTED; cat .env plain')
        ok(r.booted and b'SECRET' not in r.out and b'plainer' in r.out, p, "the workspace's own session is made anew", r)
        p.write(box.ws / 'late.key', 'SECRET3\n')
        r = box.verb('exec', '--', 'sh', '-c', 'echo BOOTED; cat late.key plain')
        ok(r.booted and b'SECRET' not in r.out and b'plainer' in r.out, p, 'a new one that matches', r)
        (box.ws / '.env').unlink()
        r = box.verb('exec', '--', 'sh', '-c', 'echo BOOTED; ls -A')
        ok(r.booted and b'plain' in r.out, p, 'one that is gone needs no cover', r)
        box.verb('session', 'stop', '--all')
        started(p, box.start())
        p.write(box.ws / '.env', 'SECRET4\n')
        r = box.sh('cat .env')
        ok(r.code == 125 and b'SECRET' not in r.out, p, 'one that comes back', r)


@needs('hidden')
def case_hidden_rules(p):
    """The same with paths_hidden and no .paleignore."""
    with Box(p, 'rules') as box:
        p.write(box.ws / 'token', 'SECRET1\n')
        started(p, box.start('--hide', str(box.ws / 'token'), '--hide', str(box.ws / 'later')))
        r = box.sh('cat token')
        ok(r.booted and b'SECRET' not in r.out, p, 'it is hidden', r)
        replace(p, box.ws / 'token', 'SECRET2\n')
        r = box.sh('cat token')
        ok(r.code == 125 and b'SECRET' not in r.out, p, 'replaced: refused', r)
        (box.ws / 'token').unlink()
        r = box.sh('echo fine')
        ok(r.rest == b'fine\n', p, 'gone: served', r)
        p.write(box.ws / 'later', 'SECRET3\n')
        r = box.sh('cat later')
        ok(r.code == 125 and b'SECRET' not in r.out, p, 'made later: refused', r)
        box.verb('session', 'stop', '--all')
        p.write(box.ws / 'vault/deep', 'SECRET4\n')
        for name in ('later', 'vault/deep'):
            started(p, box.start('--hide', str(box.ws / 'later'), '--hide', str(box.ws / 'vault')))
            os.link(box.ws / name, box.ws / 'alias')
            r = box.sh('cat alias')
            ok(r.code == 125 and b'SECRET' not in r.out, p, f'{name} gets another name: refused', r)
            (box.ws / 'alias').unlink()
            r = box.sh('echo fine')
            ok(r.rest == b'fine\n', p, 'without it: served', r)
            box.verb('session', 'stop', '--all')
        p.write(box.ws / '.paleignore', '*.key\n')
        started(p, box.start('--hide', str(box.ws / 'later')))
        (box.ws / 'later').unlink()
        r = box.sh('echo fine')
        ok(r.rest == b'fine\n', p, 'gone, and there is a .paleignore, too: served', r)


@needs('hidden')
def case_hidden_made_anew(p):
    """A file that is removed and made again, as git does it, often gets the number of the old one."""
    with Box(p, 'anew') as box:
        p.write(box.ws / '.paleignore', '.env\nvault\n')
        p.write(box.ws / 'token', 'old\n')
        same = 0
        for name, path in (('.env', '.env'), ('token', 'token'), ('vault', 'vault/deep')):
            p.write(box.ws / path, 'old\n')
            time.sleep(0.05)
            started(p, box.start('--hide', str(box.ws / 'token')))
            r = box.sh(f'cat {path}')
            ok(r.booted and b'old' not in r.out, p, f'{path} is hidden', r)
            number = (box.ws / name).stat().st_ino
            shutil.rmtree(box.ws / name) if path != name else (box.ws / name).unlink()
            p.write(box.ws / path, 'SECRET\n')
            same += number == (box.ws / name).stat().st_ino
            r = box.sh(f'cat {path}')
            ok(r.code == 125 and b'SECRET' not in r.out and b'has changed since session' in r.err, p, f'{path} is made anew: refused', r)
            box.verb('session', 'stop', '--all')
        note(f'{same} of 3 had the same number')
        started(p, box.start('--hide', str(box.ws / 'token')))
        with open(box.ws / 'token', 'a') as f:
            f.write('SECRET\n')
        r = box.sh('cat token')
        ok(r.booted and b'SECRET' not in r.out, p, 'twin: what is written in place is served, and hidden', r)


@needs('hidden')
def case_hidden_replaced_meanwhile(p):
    """While the session starts: whatever was mounted over, nothing else is seen."""
    with Box(p, 'meanwhile') as box:
        p.write(box.ws / '.paleignore', '.env\n')
        seen, refused = [], 0
        for i in range(REPLACED):
            p.write(box.ws / '.env', 'old\n')
            p.write(box.ws / 'new', 'SECRET\n')
            time.sleep(0.01)
            start = p.start(p.pale_path, 'session', 'start', 's', *(ENGINE_OPTIONS if ENGINE else ()), cwd=box.ws, env=box.env,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.001 + 0.011 * i / REPLACED)
            (box.ws / 'new').rename(box.ws / '.env')
            start.wait()
            r = box.sh('cat .env')
            refused += r.code == 125
            if b'SECRET' in r.out:
                seen.append(i)
            box.verb('session', 'rm', 's')
        ok(not seen, p, f'{REPLACED} times replaced while it starts: never seen', seen)
        ok(refused > 0, p, f'refused {refused} times')


def case_credentials_of_toolchains(p):
    """As what the workspace hides."""
    with Box(p, 'toolchain') as box:
        home = p.mkdir(box.top / 'home')
        file = home / '.cargo/credentials.toml'
        p.write(home / '.cargo/config.toml', 'shown\n')
        env = dict(box.env, HOME=str(home))
        for what in ('made', 'replaced', 'made anew'):
            if what != 'made':
                p.write(file, 'old\n')
            started(p, box.start(env=env))
            r = box.sh(f'cat {file}', env=env)
            ok(r.booted and b'old' not in r.out, p, f'before they are {what}: not to be read', r)
            if what == 'made anew':
                file.unlink()
            replace(p, file, 'SECRET\n') if what == 'replaced' else p.write(file, 'SECRET\n')
            r = box.sh(f'cat {file}', env=env)
            ok(b'SECRET' not in r.out and (ENGINE or r.code == 125), p, f'{what}: refused', r)
            box.verb('session', 'stop', '--all')
            file.unlink()


@needs('hidden')
def case_state_made_anew(p):
    """Whoever could write into pale's own state would trust what he likes."""
    if p.is_root and not has('root'):
        return skip(p, "this engine cannot enter root's state")
    with Box(p, 'state') as box:
        share = p.mkdir(box.top / 'share')
        state = share / 'state'
        env = dict(box.env, XDG_STATE_HOME=str(state))
        here = ENGINE_OPTIONS if ENGINE else ()
        box.verb('run', *here, '--', 'true', env=env)
        started(p, box.start('--write', str(share), env=env))
        r = box.sh(f'ls {state}/pale; echo x >{share}/twin', env=env)
        ok(r.booted and b'ws' not in r.out and (share / 'twin').exists(), p, 'it is hidden, in a folder that can be written', r)
        shutil.rmtree(state / 'pale')
        box.verb('run', *here, '--', 'true', env=env)
        trust = next((state / 'pale').iterdir()) / 'trust'
        r = box.sh(f'echo forged >{trust}', env=env)
        ok(r.code == 125 and not trust.exists(), p, 'made anew: refused', r)


@needs('hidden')
def case_git_obeys_more(p):
    """The user changes git's configuration while a session stands: what is obeyed then is not for commands."""
    if ENGINE:
        return skip(p, 'bwrap ends where the host replaces what is protected, landlock protects nothing')
    with Box(p, 'obeyed') as box:
        hook = box.ws / 'tools/pre-commit'
        p.write(hook, '#!/bin/sh\n', 0o755)
        home = p.mkdir(box.top / 'home')
        env = dict(box.env, HOME=str(home))

        def config(*args):
            return p.run('git', 'config', *args, cwd=box.ws, env=env)

        p.run('git', 'init', '-q', '.', cwd=box.ws, env=env)
        started(p, box.start(env=env))
        r = box.sh('echo "#! /bin/sh" >tools/pre-commit', env=env)
        ok(r.booted and r.code == 0, p, 'twin: a folder like others is written', r)
        config('remote.origin.url', 'x')
        r = box.sh('echo fine', env=env)
        ok(r.rest == b'fine\n', p, 'what git does not execute may change', r)
        before = hook.read_bytes()
        for what, on, off in (('by the repository', ('core.hooksPath', 'tools'), ('--unset', 'core.hooksPath')),
                              ('by the user', ('--global', 'core.hooksPath', str(box.ws / 'tools')), ('--global', '--unset', 'core.hooksPath'))):
            config(*on)
            r = box.sh('echo evil >tools/pre-commit', env=env)
            ok(r.code == 125 and b'has changed since session' in r.err and hook.read_bytes() == before, p, f'hooks are obeyed {what}: refused', r)
            config(*off)
            r = box.sh('echo fine', env=env)
            ok(r.rest == b'fine\n', p, 'not any more: served', r)
        config('core.hooksPath', 'tools')
        box.verb('session', 'stop', '--all', env=env)
        started(p, box.start(env=env))
        r = box.sh('echo evil >tools/pre-commit', env=env)
        ok(r.booted and r.code != 0 and hook.read_bytes() == before, p, 'a session that is started anew protects them', r)


@needs('hidden')
def case_git_reads_elsewhere(p):
    """Other configurations that git has read since, and those that only variables name."""
    if ENGINE:
        return skip(p, 'bwrap ends where the host replaces what is protected, landlock protects nothing')
    with Box(p, 'elsewhere') as box:
        hook = box.ws / 'tools/pre-commit'
        p.write(hook, '#!/bin/sh\n', 0o755)
        home, config = p.mkdir(box.top / 'home'), p.mkdir(box.top / 'xdg')
        plain = {name: value for name, value in dict(box.env, HOME=str(home)).items() if name != 'XDG_CONFIG_HOME'}

        def git(*args):
            return p.run('git', 'config', *args, cwd=box.ws, env=plain)

        def refused(what, env):
            before = hook.read_bytes()
            r = box.sh('echo evil >tools/pre-commit', env=env)
            ok(r.code == 125 and b'has changed since session' in r.err and hook.read_bytes() == before, p, f'{what}: refused', r)

        p.run('git', 'init', '-q', '.', cwd=box.ws, env=plain)
        for name in ('a', 'b'):
            p.write(box.top / name, '# nothing\n')
        git('include.path', str(box.top / 'a'))
        started(p, box.start(env=plain))
        r = box.sh('echo "#! /bin/sh" >tools/pre-commit', env=plain)
        ok(r.booted and r.code == 0, p, 'twin: a folder like others is written', r)
        git('include.path', str(box.top / 'b'))
        r = box.sh('echo fine', env=plain)
        ok(r.rest == b'fine\n', p, 'another file is included, which says nothing', r)
        p.write(box.top / 'b', f'[core]\n\thooksPath = {box.ws}/tools\n')
        refused('it says something later', plain)
        p.write(box.top / 'b', '# nothing\n')
        box.verb('session', 'stop', '--all', env=plain)
        env = dict(plain, XDG_CONFIG_HOME=str(config), GIT_CONFIG_GLOBAL=str(box.top / 'global'))
        started(p, box.start(env=env))
        for path in (config / 'git/config', box.top / 'global'):
            p.write(path, f'[core]\n\thooksPath = {box.ws}/tools\n')
            refused(f'{path.name}, of which a variable tells', env)
            path.unlink()
            r = box.sh('echo fine', env=env)
            ok(r.rest == b'fine\n', p, 'not any more: served', r)


def case_places_of_home(p):
    """Where credentials are kept is no workspace, for whatever verb."""
    with Box(p, 'home') as box:
        home = p.mkdir(box.top / 'home')
        env = dict(box.env, HOME=str(home))
        for name in ('.ssh', '.aws/deep', '.config/x', '.local/bin', '.claude', 'bin'):
            where = p.mkdir(home / name)
            p.write(where / 'id', 'SECRET\n')
            for args in (('run', '--', 'cat', 'id'), ('exec', '--', 'cat', 'id'), ('file', 'read', 'id'), ('run', '--workspace', str(where), '--', 'cat', 'id')):
                r = box.verb(*args, cwd=where, env=env)
                ok(r.code != 0 and b'SECRET' not in r.out and b'cannot be a workspace' in r.err, p, f'~/{name}: {args[0]}', r)
        where = p.mkdir(home / 'src/x')
        p.write(where / 'id', 'PLAIN\n')
        r = box.verb('run', *(ENGINE_OPTIONS if ENGINE else ()), '--', 'cat', 'id', cwd=where, env=env)
        ok(r.out == b'PLAIN\n', p, 'a project is one', r)


@needs('hidden')
def case_planted_root(p):
    """A command makes a folder look like a workspace of its own, without the rules of the one that it is in."""
    with Box(p, 'planted') as box:
        p.write(box.ws / 'pale.toml', '')
        p.write(box.ws / '.paleignore', '*.key\n')
        sub = p.mkdir(box.ws / 'sub')
        p.write(sub / 'a.key', 'SECRET\n')
        p.write(sub / 'plain', 'plain\n')
        time.sleep(0.05)
        look = ('--', 'sh', '-c', 'echo BOOTED; cat a.key plain')
        r = box.verb('run', *look, cwd=sub)
        ok(r.booted and b'SECRET' not in r.out and b'plain' in r.out, p, 'it is hidden', r)
        for plant in ('mkdir .git', 'git init -q .'):
            r = box.verb('run', '--', 'sh', '-c', f'echo BOOTED; {plant}', cwd=sub)
            if not (sub / '.git').exists():
                # what the guard takes away, the host makes
                subprocess.run(['sh', '-c', plant], cwd=sub, check=True)
                os.geteuid() == 0 and os.chown(sub / '.git', p.uid, p.uid)
            for verb in ('run', 'exec'):
                r = box.verb(verb, *look, cwd=sub)
                ok(r.booted and b'SECRET' not in r.out and b'plain' in r.out, p, f'{plant}: {verb}: hidden still', r)
            shutil.rmtree(sub / '.git')
        p.mkdir(sub / '.git')
        r = box.verb('run', '--workspace', str(sub), *look, cwd=sub)
        ok(b'SECRET' in r.out, p, 'who asks for it gets it', r)
        r = box.verb('run', *look, cwd=sub)
        ok(b'SECRET' in r.out, p, 'and then it is known', r)


def case_limits_that_are_none(p):
    with Box(p, 'limits') as box:
        started(p, box.start())
        pid = box.pid()
        for args in (('--max-output', '0'), ('--max-output', '3'), ('--memory', '0'), ('--timeout', '0')):
            for more in (('--background',), ()):
                r = box.verb('exec', '-s', 's', *more, *args, '--', 'echo', 'x')
                ok(r.code == 125, p, f'{args} {more}: refused', r)
        ok(box.pid() == pid and box.sh('echo fine').rest == b'fine\n', p, 'and it stands')
        r = box.verb('exec', '-s', 's', '--background', '--max-output', '1k', '--', 'sh', '-c', 'seq 1000')
        job = r.out.decode().strip()
        box.verb('wait', job)
        r = box.verb('output', job)
        ok(r.code == 0 and b'1000' in r.out and len(r.out) < 1500, p, 'the least is taken', r)


def case_closed_folder(p):
    """A command closes the workspace, and behind that makes a name that is protected."""
    with Box(p, 'closed') as box:
        p.mkdir(box.ws / 'sub')
        started(p, box.start())
        r = box.sh('echo evil >sub/e; mv sub/e .envrc; chmod 0 .')
        box.ws.chmod(0o755)
        ok(r.booted and not (box.ws / '.envrc').exists(), p, 'it is taken away', r)
        box.ws.chmod(0)
        time.sleep(0.05)
        r = box.verb('exec', '--workspace', str(box.ws), '-s', 's', '--', 'echo', 'BOOTED', cwd=box.top)
        ok(r.code == 125 and b'Permission denied' in r.err, p, 'while it is closed nothing begins', r)
        box.ws.chmod(0o755)
        r = box.sh('echo again')
        ok(r.booted and r.rest == b'again\n', p, 'twin: it opens, and is used again', r)


def case_umask(p):
    with Box(p, 'umask') as box:
        started(p, box.start())
        for mask in (0o022, 0o002, 0o077):
            name = f'f{mask:o}'
            old = os.umask(mask)
            r = box.sh(f'umask; >{name}; mkdir {name}.d')
            w = box.verb('file', 'write', f'{name}.t', '-s', 's', data=b'x')
            os.umask(old)
            modes = [(box.ws / n).stat().st_mode & 0o777 for n in (name, name + '.d', name + '.t') if (box.ws / n).exists()]
            ok(r.booted and modes == [0o666 & ~mask, 0o777 & ~mask, 0o666 & ~mask], p, f"umask {mask:03o} is the caller's", f'{modes} {r} {w}')


def case_variables_are_forgotten(p):
    """The keeper's environment has nothing of its starter's."""
    if os.geteuid() != 0:
        return skip(p, 'only root can look', only_root=True)
    with Box(p, 'forget') as box:
        mark = f'mark{time.time_ns()}'
        started(p, box.start(env=dict(box.env, SOME_TOKEN='x' + mark)))
        with open(f'/proc/{box.pid()}/environ', 'rb') as f:
            ok(mark.encode() not in f.read(), p, 'the keeper does not show it')
        r = box.verb('exec', '-s', 's', '--setenv', 'X=1', '--', 'sh', '-c', 'echo $X $HOME')
        ok(r.code == 0 and r.out.startswith(b'1 /'), p, 'commands bring their own', r)


main(case_hidden_stays_hidden, case_hidden_rules, case_hidden_made_anew, case_hidden_replaced_meanwhile, case_credentials_of_toolchains,
     case_state_made_anew, case_git_obeys_more, case_git_reads_elsewhere, case_places_of_home, case_planted_root, case_limits_that_are_none, case_closed_folder, case_umask, case_variables_are_forgotten)
