#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a hostile or unlucky command leaves in a stage, and what diff, apply and discard make of it.

Each case runs the command with --staged, looks at the verdict of the verbs, and then at
the host: the canary outside, the workspace, and what is still staged."""
import shlex
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


def fresh(p, **files):
    p.no_config()
    subprocess.run(['rm', '-rf', p.ws], check=True)
    p.mkdir(p.ws)
    for name, text in files.items():
        p.write(p.ws / name.replace('__', '/'), text)


def staged(p, line, *options, **kw):
    r = p.sh('--staged', *options, '--', line, **kw)
    ok(r.booted and r.code == 0, p, 'the command ran', r)
    return r


def names(p):
    """{path: how it is marked} of what is staged."""
    return {c['path']: c for c in json.loads(p.verb('diff', '--json').out or b'{}').get('changes', [])}


def outside(p):
    return digest(p.outside, p.home)


def case_a_link_where_the_base_has_a_folder_SW01(p):
    fresh(p, dir__a='a\n', dir__b='b\n')
    before = outside(p)
    staged(p, f'rm -r dir && ln -s {p.outside} dir && echo gone >{p.outside}/canary || true')
    shown = p.verb('diff')
    ok(str(p.outside).encode() in shown.out and b'120000' in shown.out, p, 'the link is shown as what it is', shown)
    r = p.verb('apply')
    ok(r.code == 0 and os.readlink(p.ws / 'dir') == str(p.outside), p, 'the link itself is applied', r)
    ok(outside(p) == before, p, 'and nothing behind it was touched')
    r = staged(p, 'rm dir && mkdir dir && echo new >dir/canary && echo n >dir/more')
    r = p.verb('apply')
    ok(r.code == 0 and (p.ws / 'dir/canary').read_text() == 'new\n' and not (p.ws / 'dir').is_symlink(), p,
       'a folder in the place of a link replaces the link', r)
    ok(outside(p) == before, p, 'not what it led to')


def case_devices_and_whiteouts_SW03(p):
    fresh(p, gone='x\n', stays='y\n')
    staged(p, 'mknod zero c 0 0 2>/dev/null && echo MADE; mknod null c 1 3 2>/dev/null && echo MADE; rm gone; true')
    r = p.verb('apply')
    ok(r.code == 0 and sorted(os.listdir(p.ws)) == ['stays'], p, 'what was removed is removed, and no device is there', r)
    # what no command can make: a device in the upper layer itself
    if p.is_root:
        staged(p, 'echo 1 >plain')
        upper = next((p.base / 'state/pale').glob('*/stages/default/roots/0/upper'))
        os.mknod(upper / 'disk', 0o666 | stat.S_IFBLK, os.makedev(7, 0))
        r = p.verb('apply')
        ok(not (p.ws / 'disk').exists() and (p.ws / 'plain').exists() and b'disk' in r.out + r.err, p,
           'a device is refused by name, the rest is applied', r)
        p.verb('discard', '--all')


def case_attributes_of_the_overlay_SW04(p):
    fresh(p, d__old='old\n', f='f\n')
    line = '''import os
for path in ('d', 'f'):
    for name in ('user.overlay.opaque', 'user.overlay.whiteout', 'user.overlay.redirect', 'user.overlay.metacopy', 'user.mine'):
        try: os.setxattr(path, name, b'y')
        except OSError as e: print(path, name, e)
open('d/new', 'w').write('new')
open('f', 'a').write('more')'''
    ran = p.sh('--staged', '--', 'python3 -c "$1"', line)
    ok(ran.booted and ran.code == 0, p, 'the command ran', ran)
    r = p.verb('apply')
    ok(r.code == 0 and (p.ws / 'd/old').exists() and (p.ws / 'd/new').exists() and (p.ws / 'f').read_text() == 'f\nmore', p,
       'forged marks hide and remove nothing', r)
    left = [a for f in ('d', 'f') for a in os.listxattr(p.ws / f) if 'overlay' in a]
    ok(left == [] and 'user.mine' in os.listxattr(p.ws / 'f'), p, 'they are not applied, other attributes are', left)


def case_a_folder_of_somebody_else(p):
    if p.is_root:
        return
    if os.geteuid() != 0:
        skip(p, 'only root can give a folder away', only_root=True)
        return
    fresh(p)
    os.chown(p.ws, 0, p.owner)
    os.chmod(p.ws, 0o2775)
    staged(p, 'echo hi >new; mkdir d; echo deep >d/e')
    r = p.verb('apply')
    ok(r.code == 0 and (p.ws / 'new').read_text() == 'hi\n' and (p.ws / 'd/e').exists(), p,
       'a folder that is shared: applied, though its time is not ours to set', r)
    r = p.verb('undo')
    ok(r.code == 0 and os.listdir(p.ws) == [], p, 'and taken back', r)
    p.verb('discard', '--all')
    os.chmod(p.ws, 0o755)
    staged(p, 'echo hi >new')
    r = p.verb('apply')
    ok(r.code == 1 and b'Permission denied' in r.err and os.listdir(p.ws) == [], p,
       'one that we may not write: refused', r)
    ok('new' in names(p), p, 'and still staged')
    r = p.verb('discard', '--all')
    ok(r.code == 0 and names(p) == {}, p, 'it can be discarded', r)


def case_holes_SW09(p):
    fresh(p)
    staged(p, 'truncate -s 1T big && printf x | dd of=big bs=1 seek=700000000000 conv=notrunc 2>/dev/null')
    r = p.verb('apply')
    st = (p.ws / 'big').stat()
    ok(r.code == 0 and st.st_size == 1 << 40 and st.st_blocks < 1000, p, 'a terabyte of holes stays one', r)
    with open(p.ws / 'big', 'rb') as f:
        f.seek(700000000000)
        ok(f.read(2) == b'x\0', p, 'with what is in it')
    r = p.verb('undo')
    ok(r.code == 0 and not (p.ws / 'big').exists(), p, 'and undo takes it back', r)


def case_two_at_once_SW21(p):
    fresh(p, f='f\n')
    staged(p, 'echo 1 >>f')
    run = p.start_pale('--staged', '--', 'sh', '-c', 'echo BOOTED; sleep 3', stdout=subprocess.PIPE)
    run.stdout.readline()
    for verb in ('apply',), ('discard', '--all'), ('undo',):
        r = p.verb(*verb)
        ok(r.code not in (0, 1) or b'pid' in r.err or b'run' in r.err, p, f'{verb[0]} says that a run is using it', r)
        ok((p.ws / 'f').read_text() == 'f\n', p, f'{verb[0]} changed nothing')
    ok(p.verb('diff').out != b'', p, 'diff can be read meanwhile')
    run.kill()
    run.wait()
    run.stdout.close()
    wait_for(lambda: p.verb('apply').code == 0, 10)
    ok((p.ws / 'f').read_text() == 'f\n1\n', p, 'when it has ended, apply goes on')
    for i in range(40):
        (p.ws / f'n{i}').unlink(missing_ok=True)
    staged(p, 'for i in $(seq 0 39); do echo $i >n$i; done')
    both = [p.start(p.pale_path, 'apply', stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    ends = [(b.communicate(timeout=30), b.returncode) for b in both]
    ok(all((p.ws / f'n{i}').read_text() == f'{i}\n' for i in range(40)), p, 'several applies at once: all is there, once',
       ends)
    ok(p.verb('diff').out == b'', p, 'and nothing is left')


def case_files_that_cannot_be_written_SW23(p):
    fresh(p, open__f='f\n', shut__f='f\n')
    staged(p, 'echo 2 >>open/f; echo 2 >>shut/f')
    if os.geteuid() != 0:
        return skip(p, 'only root can take a folder away from somebody', only_root=True)
    if p.is_root:
        subprocess.run(['chattr', '+i', p.ws / 'shut/f'], check=True)
    else:
        os.chown(p.ws / 'shut', 0, 0)
    r = p.verb('apply')
    ok(r.code != 0 and b'shut' in r.err + r.out, p, 'what could not be written is named', r)
    whole = (p.ws / 'open/f').read_text(), (p.ws / 'shut/f').read_text()
    ok(whole in (('f\n', 'f\n'), ('f\n2\n', 'f\n')), p, 'nothing is half done', whole)
    if p.is_root:
        subprocess.run(['chattr', '-i', p.ws / 'shut/f'], check=True)
    else:
        p.own(p.ws / 'shut')
    r = p.verb('apply')
    ok(r.code == 0 and (p.ws / 'shut/f').read_text() == 'f\n2\n', p, 'afterwards it can be', r)
    ok([f for d in ('open', 'shut') for f in os.listdir(p.ws / d)] == ['f', 'f'], p, 'and no temporary file is left')


def case_fifos_and_sockets_SW27(p):
    fresh(p, f='f\n')
    staged(p, '''mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'; echo x >>f''')
    for verb in ('diff',), ('diff', '--stat'), ('apply',):
        r = p.verb(*verb, timeout=10)
        ok(b'gave up' not in r.err, p, f'{" ".join(verb)} does not wait for it', r)
    ok((p.ws / 'f').read_text() == 'f\nx\n' and not (p.ws / 'sock').exists(), p, 'the rest is applied, no socket is')
    fifo = p.ws / 'pipe'
    ok(not fifo.exists() or stat.S_ISFIFO(os.lstat(fifo).st_mode), p, 'a fifo is one, or left out')


def case_protected_names_PT01_PT02_PT03_PT07(p):
    fresh(p, **{'pale.toml': '[sandbox]\n', 'f': 'f\n'})
    subprocess.run(['git', 'init', '-q', p.ws], check=True)
    if os.geteuid() == 0:
        subprocess.run(['chown', '-R', f'{p.owner}:{p.owner}', p.ws / '.git'], check=True)
    before = (p.ws / '.git/config').read_bytes()
    staged(p, '''echo '[sandbox]' >>pale.toml; echo 'exit 1' >.envrc; printf '[core]\\nhooksPath=x\\n' >>.git/config
        echo evil >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; mkdir .VSCode; echo x >.VSCode/tasks.json
        echo '{}' >.mcp.json; mkdir .hg; echo x >.hg/hgrc; echo more >>f''')
    marks = names(p)
    guarded = ['pale.toml', '.envrc', '.git/config', '.git/hooks/pre-commit', '.VSCode/tasks.json', '.mcp.json', '.hg/hgrc']
    plain = [n for n in guarded if not marks.get(n, {}).get('protected')]
    ok(plain == [], p, 'each is marked in the diff', f'{plain}\n{marks}')
    r = p.verb('apply')
    kept = [n for n in guarded if (p.ws / n).exists() and n not in ('pale.toml', '.git/config')]
    ok((p.ws / 'f').read_text() == 'f\nmore\n', p, 'apply takes the rest', r)
    ok(kept == [] and (p.ws / '.git/config').read_bytes() == before and (p.ws / 'pale.toml').read_text() == '[sandbox]\n', p,
       'and none of them', kept)
    r = p.verb('apply', '--include-protected', '.envrc', '.envrc')
    ok((p.ws / '.envrc').read_text() == 'exit 1\n', p, 'twin: one that is named is applied', r)
    ok(not (p.ws / '.mcp.json').exists() and (p.ws / '.git/config').read_bytes() == before, p, 'and only that')


def case_setuid_bits(p):
    fresh(p)
    staged(p, 'cp /bin/true t; chmod 4755 t 2>/dev/null; chmod 2755 t 2>/dev/null; true')
    upper = next((p.base / 'state/pale').glob('*/stages/default/roots/0/upper'))
    (upper / 't').chmod(0o6755)
    r = p.verb('apply')
    ok((p.ws / 't').exists() and (p.ws / 't').stat().st_mode & 0o7000 == 0, p, 'are never applied', r)


def case_other_names_SW11(p):
    fresh(p)
    odd = ['new\nline', 'tab\tx', '-rf', '--all', b'\xff\xfe'.decode('utf-8', 'surrogateescape'), 'n' * 255, '\x1b[31mred', ' lead', 'q"uo\'te',
           'back\\slash', '\u202egpj.exe', '...', '*', 'a:b']
    line = 'import sys\nprint("BOOTED")\nfor n in sys.argv[1:]: open(n, "w").write("1\\n")'
    r = p.pale('--staged', '--', 'python3', '-c', line, *odd)
    ok(r.booted and r.code == 0, p, 'the command ran', r)
    raw = p.verb('diff')
    ok(b'\x1b' not in raw.out and raw.out.count(b'diff --git') == len(odd), p, 'all are in the diff, escaped', raw)
    listed = json.loads(p.verb('diff', '--json').out)
    ok(len(listed['changes']) == len(odd), p, 'and in its JSON', listed)
    r = p.verb('apply', '--', odd[2], './' + odd[0], odd[4])
    ok(sorted(os.listdir(p.ws)) == sorted([odd[2], odd[0], odd[4]]), p, 'chosen by name', r)
    r = p.verb('discard', '--', odd[3])
    ok(r.code == 0, p, 'thrown away by name', r)
    r = p.verb('apply')
    ok(sorted(os.listdir(p.ws)) == sorted(n for n in odd if n != odd[3]), p, 'the rest applied', r)


def case_taken_back_and_edited(p):
    fresh(p, f=''.join(f'{i}\n' for i in range(20)))
    staged(p, 'sed -i s/^2$/TWO/ f')
    p.verb('apply')
    r = p.verb('undo')
    ok(r.code == 0 and 'TWO' not in (p.ws / 'f').read_text(), p, 'an apply is taken back', r)
    with open(p.ws / 'f', 'a') as f:
        f.write('user\n')
    r = p.verb('apply')
    text = (p.ws / 'f').read_text()
    ok(r.code == 0 and b'merged' in r.out and 'TWO' in text and text.endswith('user\n'), p, 'and merges with what came later', r)


def mode(p):
    return f'{p.ws.stat().st_mode & 0o7777:o}'


def case_the_mode_of_the_workspace(p):
    fresh(p, f='f\n')
    p.ws.chmod(0o755)
    staged(p, 'true')
    p.ws.chmod(0o775)
    ok(names(p) == {}, p, "a run that changed nothing: the user's chmod is no staged change", names(p))
    staged(p, 'echo 1 >a')
    ok(list(names(p)) == ['a'], p, 'nor where a run left something', names(p))
    r = p.verb('apply')
    ok(r.code == 0 and mode(p) == '775', p, 'apply leaves it alone', r)
    for bits in (0o755, 0o775, 0o750):
        p.ws.chmod(bits)
        r = p.verb('apply')
        ok(r.code == 0 and b'conflict' not in r.out and names(p) == {}, p, f'{bits:o}: no conflict', r)
        r = staged(p, 'stat -c %a .')
        ok(f'{bits:o}\n'.encode() in r.out, p, 'later runs see the new one', r)
    staged(p, 'chmod 700 .')
    (p.ws / 'beside').write_text('made on the host\n')
    change = names(p).get('.', {})
    ok(change.get('change') == 'mode' and not change['conflict'], p, "the command's own chmod is one", change)
    r = staged(p, 'stat -c %a .')
    ok(b'700\n' in r.out, p, 'which later runs see', r)
    r = p.verb('apply')
    ok(r.code == 0 and mode(p) == '700' and names(p) == {}, p, 'it is applied', r)
    r = p.verb('undo')
    ok(r.code == 0 and mode(p) == '750' and list(names(p)) == ['.'], p, 'and taken back', r)
    p.verb('apply')
    p.ws.chmod(0o755)
    ok(names(p) == {}, p, 'after that the user has it again', names(p))
    staged(p, 'chmod 700 .')
    r = p.verb('discard', '.')
    ok(r.code == 0 and names(p) == {}, p, 'it is discarded', r)
    r = p.verb('undo')
    ok(r.code == 0 and list(names(p)) == ['.'], p, 'that is taken back', r)
    p.ws.chmod(0o711)
    ok(names(p)['.']['conflict'], p, 'both sides: a conflict', names(p))
    r = p.verb('apply', '--take-staged', '.')
    ok(r.code == 0 and mode(p) == '700' and names(p) == {}, p, 'which --take-staged ends', r)
    p.ws.chmod(0o755)


def git_here(p):
    subprocess.run(['git', 'init', '-q', p.ws], check=True)
    if os.geteuid() == 0:
        subprocess.run(['chown', '-R', f'{p.owner}:{p.owner}', p.ws / '.git'], check=True)


def case_a_link_above_what_is_protected_PT02(p):
    fresh(p, tools__README='r\n')
    git_here(p)
    with open(p.ws / '.git/config', 'a') as f:
        f.write('[core]\n\thooksPath = tools/hooks\n')
    staged(p, 'mkdir -p x/hooks; echo evil >x/hooks/pre-commit; rm -r tools; ln -s x tools')
    ok(names(p)['tools']['protected'], p, 'a link in the place of its folder is marked', names(p))
    r = p.verb('apply')
    ok(not (p.ws / 'tools').is_symlink() and not (p.ws / 'tools/hooks/pre-commit').exists() and (p.ws / 'x/hooks/pre-commit').exists(), p, 'and left, the rest is not', r)
    r = p.verb('apply', '--include-protected', 'tools')
    ok((p.ws / 'tools').is_symlink(), p, 'twin: when it is named', r)


def case_a_file_that_became_a_folder(p):
    """What is in the folder does not take the file along."""
    fresh(p, conf='precious\n', other='o\n')
    staged(p, 'rm conf; mkdir conf; echo new >conf/a; mkdir wide deep; chmod 777 wide; echo w >wide/f; echo d >deep/f')
    r = p.verb('apply', 'conf/a', 'wide/f', 'deep/f')
    ok(r.code == 1 and (p.ws / 'conf').read_text() == 'precious\n' and r.out.count(b'name it, too') == 2 and not (p.ws / 'wide').exists(), p, 'it stays', r)
    ok((p.ws / 'deep/f').exists(), p, 'twin: a folder that is only new comes along')
    ok(names(p).get('wide', {}).get('status') or 'wide' in str(names(p)), p, 'a folder that everybody can write to is shown', names(p))
    r = p.verb('apply')
    ok((p.ws / 'conf/a').read_text() == 'new\n' and (p.ws / 'wide/f').exists(), p, 'twin: all of it', r)


def case_one_file_by_two_names(p):
    fresh(p)
    p.write(p.mkdir(p.ws / '.vscode') / 'tasks.json', '{}\n')
    staged(p, 'echo 1 >notes; ln -f notes .vscode/tasks.json; echo 2 >a; ln a b')
    r = p.verb('apply', '--include-protected', '.vscode')
    ok((p.ws / '.vscode/tasks.json').stat().st_nlink == 1 and (p.ws / 'notes').stat().st_nlink == 1, p, 'a protected one is a file of its own', r)
    ok((p.ws / 'a').stat().st_nlink == 2, p, 'twin: others stay one')


def case_what_runs_later_is_marked_PT03_PT05(p):
    fresh(p, f='f\n')
    git_here(p)
    staged(p, """mkdir -p src/.GIT node_modules/.git .git/rebase-merge sub b/objects hk; echo 'evil()' >src/.GIT/index.js; echo x >node_modules/.git/runme
        echo 'exec x' >.git/rebase-merge/git-rebase-todo; echo x >sub/.envrc; ln -s hk .githooks; echo x >b/HEAD; echo x >b/config; echo x >run; chmod +x run
        mkdir -p .git/objects/info .hg; echo /x >.git/objects/info/alternates; echo x >.hg/hgrc; echo plain >text""")
    marks = names(p)
    for name in ('.git/rebase-merge/git-rebase-todo', 'sub/.envrc', '.githooks', 'b/config', 'run', '.git/objects/info/alternates', '.hg/hgrc'):
        ok(marks.get(name, {}).get('runs_later'), p, f'{name} is marked', marks.get(name))
    ok(not marks['text'].get('runs_later'), p, 'twin: a text is not')
    r = p.verb('diff', '--stat')
    shown = [n for n in (b'src/.GIT/index.js', b'node_modules/.git/runme') if n in r.out]
    ok(len(shown) == 2, p, "what only looks like git's own is shown", r)
    p.verb('discard', '--all')
    p.run('git', 'init', '-q', '--bare', 'fix')
    p.write(p.mkdir(p.ws / 'plain') / 'config', 'x\n')
    staged(p, 'git -C fix config core.fsmonitor evil; echo y >>plain/config; mkdir late; echo x >late/HEAD; echo z >late/config')
    marks = names(p)
    ok(marks['fix/config']['runs_later'] and marks['late/config']['runs_later'] and marks['late/HEAD']['runs_later'], p, 'the configuration of a bare one that is there already', marks)
    ok(not marks['plain/config']['runs_later'], p, 'twin: another file of that name')
    p.run('git', '-C', 'fix', 'config', 'core.x', 'host')
    r = p.verb('apply')
    ok(b'on the host' in r.out and b'execute' not in r.out.split(b'conflict', 1)[-1].split(b'\n')[0], p, 'a conflict is called one', r)
    p.verb('discard', '--all')


def case_what_git_locks(p):
    fresh(p, **{'Cargo.lock': '', 'src': 'a\n'})
    git_here(p)
    staged(p, 'echo b >>src; git update-ref refs/heads/x $(git hash-object -w src) 2>/dev/null; mkdir -p .git/refs/heads; echo 0 >.git/refs/heads/y')
    p.write(p.ws / '.git/refs/heads/y.lock', '')
    r = p.verb('apply')
    ok((p.ws / 'src').read_text() == 'a\nb\n' and not (p.ws / '.git/refs/heads/y').exists() and b'git holds a lock' in r.out, p, 'a reference that is locked waits', r)
    (p.ws / '.git/refs/heads/y.lock').unlink()
    r = p.verb('apply')
    ok((p.ws / '.git/refs/heads/y').exists(), p, 'twin: until it is free', r)
    git = 'git -c user.name=t -c user.email=t@t'
    p.run('sh', '-c', f'git init -q sub; git add src; {git} commit -qm 0; cd sub; {git} commit -q --allow-empty -m 0; mkdir ../.git/modules; mv .git ../.git/modules/sub; echo "gitdir: ../.git/modules/sub" >.git')
    for where, lock in (('.', '.git/refs/heads/{}.lock'), ('sub', '.git/modules/sub/index.lock'), ('sub', '.git/modules/sub/refs/heads/{}.lock')):
        branch = p.run('git', '-C', where, 'symbolic-ref', '--short', 'HEAD').out.decode().strip()
        def logs():
            return [p.run('git', '-C', where, 'log', '--oneline', *more).out for more in ((), ('-g',))]
        before = logs()
        staged(p, f'cd {where}; {git} commit -q --allow-empty -m inside')
        p.write(p.ws / lock.format(branch), '')
        r = p.verb('apply')
        (p.ws / lock.format(branch)).unlink()
        ok(logs() == before and all(before), p, f'{lock}: nothing of the commit is applied', r)
        r = p.verb('apply')
        ok(logs()[0] != before[0] and r.code == 0, p, 'twin: all of it', r)


def case_what_else_a_file_has(p):
    """Of a file that is applied in part, or merged, only lines are another: owner and attributes are the host's."""
    lines = [f'{i}\n' for i in range(60)]
    fresh(p, part=''.join(lines), merged=''.join(lines), whole=''.join(lines))
    for name in ('part', 'merged', 'whole'):
        os.setxattr(p.ws / name, 'user.mine', b'kept')
        if p.is_root:
            os.chown(p.ws / name, 1234, 2345)
    staged(p, 'for i in part merged whole; do sed -e s/^5$/five/ -e s/^50$/fifty/ $i >new; mv new $i; done')
    (p.ws / 'merged').write_text(''.join(lines[:30] + ['mine\n'] + lines[30:]))
    r = p.verb('apply', '--hunk', 'part:1', 'merged', 'whole')
    ok(r.code == 0 and [(p.ws / n).read_text().count('fifty') for n in ('part', 'merged', 'whole')] == [0, 1, 1] and
       'mine' in (p.ws / 'merged').read_text(), p, 'applied in part, merged, as a whole', r)
    has = [(os.listxattr(p.ws / n), (p.ws / n).stat().st_uid) for n in ('part', 'merged', 'whole')]
    ok(has[0] == has[1] == (['user.mine'], 1234 if p.is_root else os.stat(p.ws).st_uid), p, 'the host\'s file with other lines', has)
    ok(has[2] == ([], os.stat(p.ws).st_uid), p, 'twin: as a whole it is the staged one', has)


def case_commands_to_type(p):
    """What apply says can be done works where it is typed, and nothing else does."""
    fresh(p, **{'pale.toml': ''})
    name = "a;touch owned;' $(id)"
    r = p.sh('--stage', 'other', '--', f"mkdir .vscode; echo x >.vscode/{shlex.quote(name)}")
    ok(r.booted and r.code == 0, p, 'the command ran', r)
    sub = p.mkdir(p.ws / 'sub')
    r = p.verb('apply', '--stage', 'other', cwd=sub)
    line = next((l.split('to apply it: ', 1)[1] for l in r.out.decode().splitlines() if 'to apply it: ' in l), '')
    ok('--stage other' in line, p, 'it names the stage', r)
    r = p.run('sh', '-c', line.replace('pale ', f'{p.pale_path} ', 1), cwd=sub)
    ok(r.code == 0 and (p.ws / '.vscode' / name).exists() and not (sub / 'owned').exists(), p, 'and is one word for a shell', f'{line}\n{r}')


main(case_a_link_above_what_is_protected_PT02, case_a_file_that_became_a_folder, case_one_file_by_two_names,
     case_what_runs_later_is_marked_PT03_PT05, case_what_git_locks, case_commands_to_type, case_what_else_a_file_has, case_a_link_where_the_base_has_a_folder_SW01, case_devices_and_whiteouts_SW03, case_attributes_of_the_overlay_SW04,
     case_a_folder_of_somebody_else, case_holes_SW09, case_two_at_once_SW21,
     case_files_that_cannot_be_written_SW23, case_fifos_and_sockets_SW27,
     case_protected_names_PT01_PT02_PT03_PT07, case_setuid_bits, case_other_names_SW11,
     case_taken_back_and_edited, case_the_mode_of_the_workspace)
