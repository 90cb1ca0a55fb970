#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ways to apply what nobody saw, to lose what the user has, and to make pale stop, that once worked."""
import pty
import select
import shutil
import struct
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from stagebox import *

APART = pathlib.Path('/dev/shm')  # another mount than the state folder's


def review(box, before, keys=b'', pause=None):
    """Type into a review; PAUSE is called between BEFORE and KEYS."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(box.ws)
        argv = box.p.argv([box.p.pale_path, 'review'])
        os.execve(shutil.which(argv[0]), argv, dict(box.env, TERM='xterm'))
    seen = bytearray()

    def drain(seconds, until=None):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not (until and until in seen):
            if select.select([fd], [], [], 0.05)[0]:
                try:
                    data = os.read(fd, 65536)
                except OSError:
                    return
                if not data:
                    return
                seen.extend(data)
    drain(10, b'accept')
    for key in before:
        os.write(fd, bytes([key]))
        drain(0.4)
    if pause:
        pause()
    for key in keys:
        os.write(fd, bytes([key]))
        drain(0.4)
    drain(3, b'pale undo')
    os.close(fd)
    os.waitpid(pid, 0)
    return bytes(seen)


def case_rewritten_while_reviewed(p):
    """Another run writes into the file that is on the screen, and sets its times back."""
    box = Box(p, 'rewritten')
    box.run('echo GOOD >new; echo GOOD >other')

    def rewrite():
        box.run('cp -p new /tmp/ref; printf "EVIL\\n" 1<>new; touch -r /tmp/ref new')
    seen = review(box, b'yy', b'y', rewrite)
    ok(b'GOOD' in seen and not (box.ws / 'new').exists(), p, 'is not applied', seen)
    ok((box.ws / 'other').exists(), p, 'twin: what stayed as it was is', seen)
    box.remove()


def case_mode_after_decision(p):
    """A decision that was kept is for the mode that was shown, too."""
    box = Box(p, 'mode')
    p.write(box.ws / 'key', 'one\n', 0o600)
    p.write(box.ws / 'plain', 'one\n', 0o600)
    box.run('echo two >>key; echo two >>plain')
    review(box, b'yyq')  # all decided, and not applied
    ok((box.ws / 'key').read_text() == 'one\n', p, 'nothing is applied yet')
    box.run('chmod 666 key')
    review(box, b'e', b'y')
    ok((box.ws / 'key').stat().st_mode & 0o777 == 0o600, p, 'a mode that nobody saw is not applied', oct((box.ws / 'key').stat().st_mode))
    ok((box.ws / 'plain').read_text() == 'one\ntwo\n', p, 'twin: the other decision holds')
    box.remove()


def on_terminal(box, *args):
    """What a verb says to a terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(box.ws)
        argv = box.p.argv([box.p.pale_path, *args])
        os.execve(shutil.which(argv[0]), argv, dict(box.env, PAGER='cat'))
    seen = b''
    while select.select([fd], [], [], 10)[0]:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(fd)
    os.waitpid(pid, 0)
    return seen


def case_among_gits_own_files(p):
    """Git's own data is one line for a reader. What it executes, or writes through, is not among it."""
    box = Box(p, 'own')
    box.host('git init -q .')
    box.run('mkdir -p .git/modules/new/hooks .git/modules/new/info .git/logs .git/objects/aa new; echo x >.git/modules/new/hooks/post-checkout; '
            'echo x >.git/modules/new/config; echo x >.git/modules/new/info/attributes; echo "gitdir: ../.git/modules/new" >new/.git; '
            'ln -s /nowhere .git/logs/HEAD; echo x >.git/objects/aa/bb; echo x >.git/objects/aa/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb')
    seen = box.verb('diff', '--stat').out
    for name in ('.git/modules/new/hooks/post-checkout', '.git/modules/new/config', '.git/modules/new/info/attributes', 'new/.git',
                 '.git/logs/HEAD'):
        ok(name.encode() in seen, p, f'{name} is shown', seen)
    ok(b'objects/aa/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb' not in seen and b"git's own" in seen, p, 'twin: an object is not', seen)
    ok(b'objects/aa/bb ' in seen, p, 'unless it only lies there', seen)
    box.remove()


def case_modes_on_a_terminal(p):
    """A patch knows two modes. The others are said beside it."""
    box = Box(p, 'modes')
    p.write(box.ws / 'key', 'one\n' * 9, 0o600)
    p.write(box.ws / 'moved', 'two\n' * 9, 0o600)
    p.write(box.ws / 'same', 'one\n', 0o600)
    box.run('echo two >>key; chmod 646 key; mv moved away; chmod 606 away; echo x >open; chmod 666 open; mkdir -m 777 dir; '
            'echo x >plain; echo x >>same')
    seen = on_terminal(box, 'diff')
    for mode in (b'MODE 0600 -> 0646', b'MODE 0600 -> 0606', b'MODE 0666', b'MODE 0777'):
        ok(mode in seen, p, f'{mode.decode()}', seen)
    ok(seen.count(b'MODE') == 4, p, 'twin: and no others', seen)
    box.remove()


def case_moved_into_deleted_folder(p):
    """What the user moves into a folder that goes is older than the run, and his all the same."""
    box = Box(p, 'moved')
    box.host('mkdir -p d x o keep; for i in d x o keep; do echo 1 >$i/f; done; mkdir -p ../a ../b ../c; touch ../c/tmp; '
             'echo gold | tee ../a/gold ../b/gold ../c/gold')
    time.sleep(0.05)
    box.run('rm -rf d x o keep; mkdir o; echo new >o/new')
    box.host('mv d ../d-old; mv ../a d; mv o ../o-old; mv ../b o; rm ../c/tmp; sleep 0.1; mv ../c x/c')
    r = box.verb('apply')
    for name in ('d/gold', 'o/gold', 'x/c/gold'):
        ok((box.ws / name).exists(), p, f'{name} is still there', r)
    ok(not (box.ws / 'keep').exists() and (box.ws / 'o/new').exists(), p, 'twin: the rest is applied', r)
    box.verb('discard', 'd', 'o')
    box.verb('undo')
    r = box.verb('apply')
    ok((box.ws / 'd/gold').exists() and (box.ws / 'o/gold').exists(), p, 'also when it was discarded and taken back', r)
    r = box.verb('apply', '--take-staged', 'd')
    ok(not (box.ws / 'd').exists(), p, 'twin: and that, when it is asked for', r)
    box.remove()


def case_closed_before_review(p):
    """What is in a folder that the command closed can be read before it is applied."""
    box = Box(p, 'closed')
    p.write(box.ws / 'sub/old', 'old\n')
    box.run('mkdir -p d/e; echo hidden >d/e/x; chmod 0 d/e d; echo more >>sub/old; chmod 0 sub/old sub; echo plain >z')
    r = box.verb('diff')
    ok(r.code == 0 and all(line in r.out for line in (b'+hidden', b'+more', b'+plain')), p, 'all of it is shown', r)
    r = box.verb('diff', '--json')
    ok(r.code == 0 and r.json(), p, 'to programs, too', r)
    r = box.verb('apply')
    p.run('chmod', '-R', 'u+rwX', box.ws)
    ok(r.code == 0 and (box.ws / 'd/e/x').read_text() == 'hidden\n', p, 'and is what is applied', r)
    box.remove()


def case_folder_closed_before_undo(p):
    """What the user did to a folder since the apply is not taken back with it."""
    box = Box(p, 'closed')
    for name in ('mine', 'other'):
        p.mkdir(box.ws / name)
        p.write(box.ws / name / 'file', 'one\n')
    p.mkdir(box.ws / 'staged')
    box.run('echo two >>mine/file; echo two >>other/file; chmod 750 staged')
    r = box.verb('apply')
    ok((box.ws / 'staged').stat().st_mode & 0o777 == 0o750, p, 'applied', r)
    (box.ws / 'mine').chmod(0o700)
    r = box.verb('undo')
    ok((box.ws / 'mine').stat().st_mode & 0o777 == 0o700, p, 'its mode stays', r)
    ok((box.ws / 'mine/file').read_text() == 'one\n' and (box.ws / 'staged').stat().st_mode & 0o777 == 0o755, p,
       'twin: the rest is taken back', r)
    if has_strace(p):
        box.verb('apply')
        (box.ws / 'staged').chmod(0o711)
        r = box.killed('renameat2', 1, 'undo')
        ok(r.code != 0 and (box.ws / 'mine/file').read_text() == 'one\ntwo\n', p, 'an undo is killed', r)
        r = box.verb('diff')
        ok(b'carried to its end' in r.err and (box.ws / 'mine/file').read_text() == 'one\n' and (box.ws / 'staged').stat().st_mode & 0o777 == 0o711, p,
           'what ends it takes no more back', r)
    box.remove()


def acl(path):
    try:
        return os.getxattr(path, 'system.posix_acl_access')
    except OSError:
        return None


def case_access_list(p):
    """Without its list, the mask of a file would be what its group may do."""
    for top in (None, APART):
        box = Box(p, f'acl-{top is None}', top)
        path = p.write(box.ws / 'file', 'one\n')
        entries = ((1, 6, -1), (2, 6, 65534), (4, 0, -1), (16, 6, -1), (32, 0, -1))
        wanted = struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *e) for e in entries)
        try:
            os.setxattr(path, 'system.posix_acl_access', wanted)
        except OSError:
            skip(p, 'no access lists here')
            box.remove()
            continue
        box.run('echo two >>file')
        r = box.verb('apply')
        ok(path.read_text() == 'one\ntwo\n' and acl(path) == wanted, p, 'apply keeps it', r)
        r = box.verb('undo')
        ok(path.read_text() == 'one\n' and acl(path) == wanted, p, 'undo, too', r)
        box.remove()


def case_too_deep(p):
    """A tree that no path can name is read in time, and can be discarded."""
    box = Box(p, 'deep')
    box.run('''python3 -c "
import os
for i in range(2500):
    os.mkdir('d' * 20)
    os.chdir('d' * 20)
"; echo x >file''')
    r = box.verb('apply', timeout=60)
    ok((box.ws / 'file').exists() and b'too deep' in r.out, p, 'the rest is applied', r.code)
    r = box.verb('discard', '--all', timeout=60)
    r = box.verb('diff', '--name-status', timeout=60)
    ok(r.code == 0 and not r.out, p, 'and it can be discarded', len(r.out))
    box.verb('undo', timeout=60)
    ok(box.verb('diff', '--name-status', timeout=60).out.startswith(b'A\td'), p, 'twin: and taken back')
    box.verb('discard', '--all', timeout=60)
    box.remove()


def interrupted(p, name, n):
    """A workspace on another mount, and in it an apply that was killed at its Nth step."""
    box = Box(p, name, APART)
    p.write(box.ws / 'a', 'one\n')
    p.write(box.ws / 'b', 'one\n')
    box.run('echo two >>a; echo two >>b; echo new >new')
    box.killed('renameat2', n, 'apply')
    return box, next(box.ws.glob('.pale-*'), None)


def case_store_was_removed(p):
    """A killed apply leaves a folder, which somebody finds and removes."""
    if not has_strace(p):
        return
    for n in (1, 2, 3):
        box, store = interrupted(p, f'removed-{n}', n)
        ok(store is not None, p, 'it was killed on the way')
        shutil.rmtree(store)
        r = box.verb('diff', '--name-status')
        ok(r.code == 0 and b'was interrupted' in r.err, p, 'the next command comes to an end with it', r)
        box.run('true')
        ok((box.ws / 'a').read_text() in ('one\n', 'one\ntwo\n'), p, 'files are whole')
        box.remove()
    box, store = interrupted(p, 'there', 2)
    r = box.verb('diff', '--name-status')
    ok(r.code == 0 and (box.ws / 'a').read_text() == (box.ws / 'b').read_text() == 'one\ntwo\n' and not store.exists(), p,
       'twin: with it, the apply is ended', r)
    box.remove()


@only_root
def case_store_was_exchanged(p):
    """Who owns the workspace puts another folder where root left one, to be emptied."""
    if not has_strace(p):
        return
    box, store = interrupted(p, 'exchanged', 2)
    os.chmod(box.ws, 0o777)
    secret = box.ws / 'secret'
    secret.mkdir(mode=0o700)
    (secret / 'file').write_text('root\n')
    os.rename(store, box.ws / 'aside')
    os.rename(secret, store)
    r = box.verb('diff')
    ok((store / 'file').exists() and r.code != 0 and b'interferes' in r.err, p, 'nothing in it is touched', r)
    shutil.rmtree(store)
    store.mkdir(mode=0o700)
    os.chown(store, 1000, 1000)
    r = box.verb('diff')
    ok(r.code != 0 and b'interferes' in r.err and not list(store.iterdir()), p, 'nor is one of another user used', r)
    store.rmdir()
    os.rename(box.ws / 'aside', store)
    r = box.verb('diff')
    ok(r.code == 0 and (box.ws / 'a').read_text() == 'one\ntwo\n' and not store.exists(), p, 'twin: the right one is', r)
    box.remove()


def case_workspace_was_replaced(p):
    """Nothing can be ended in another folder: that is said, and how to go on."""
    if not has_strace(p):
        return
    box = Box(p, 'replaced')
    p.write(box.ws / 'a', 'one\n')
    p.write(box.ws / 'b', 'one\n')
    box.run('echo two >>a; echo two >>b')
    box.killed('renameat2', 2, 'apply')
    os.rename(box.ws, box.top / 'aside')
    p.mkdir(box.ws)
    r = box.verb('diff')
    ok(r.code != 0 and b'rm ' in r.err and b'applies/pending' in r.err, p, 'a way out is told', r)
    next(box.top.glob('state/pale/*/applies/pending')).unlink()
    ok(box.verb('diff').code == 0, p, 'and it is one')
    box.remove()


def case_damaged_stage(p):
    """A stage whose file lost its end is no stage that holds nothing."""
    box = Box(p, 'damaged')
    p.write(box.ws / 'a', 'one\n')
    box.run('echo two >>a')
    file = next(box.top.glob('state/pale/*/stages/default/stage'))
    whole = file.read_bytes()
    for left in (0, 1, whole.index(b'created'), whole.index(b'root'), whole.index(b'root') + 9, len(whole) - 1):
        file.write_bytes(whole[:left])
        r = box.verb('stages')
        ok(b'broken' in r.out, p, f'stages: {left} bytes of it', r)
        for verb in ('diff', 'apply'):
            r = box.verb(verb)
            ok(r.code != 0 and b'damaged' in r.err and b'rm -rf' in r.err, p, f'{verb}: {left} bytes of it', r)
        r = p.sh('--staged', '--', 'true', cwd=box.ws, env=box.env)
        ok(r.code == 125 and not r.booted and b'damaged' in r.err, p, f'run: {left} bytes of it', r)
    file.unlink()
    r = p.sh('--staged', '--', 'true', cwd=box.ws, env=box.env)
    ok(r.code == 125 and b'damaged' in r.err, p, 'nor is one without it', r)
    p.write(file, whole.decode(), 0o600)
    r = box.verb('apply')
    ok(r.code == 0 and (box.ws / 'a').read_text() == 'one\ntwo\n', p, 'twin: the whole one is applied', r)
    box.remove()


def case_half_made_stage(p):
    """A run that is refused leaves a stage that the other verbs can read."""
    if not has_strace(p):
        return
    box = Box(p, 'half')
    r = p.run('strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=fsetxattr', '-e', 'inject=fsetxattr:error=EOPNOTSUPP:when=1',
              p.pale_path, 'run', '--staged', '--', 'true', cwd=box.ws, env=box.env)
    ok(r.code == 125 and b'cannot hold staged writes' in r.err, p, 'refused', r)
    for verb in ('diff', 'apply', 'stages'):
        r = box.verb(verb)
        ok(r.code == 0, p, f'{verb} works', r)
    box.run('echo one >a')
    r = box.verb('apply')
    ok(r.code == 0 and (box.ws / 'a').read_text() == 'one\n', p, 'and so does the next run', r)
    box.remove()


def case_closed_folder_of_the_host(p):
    """What nobody can list is deleted only when there is nothing in it; and opened by nobody."""
    box = Box(p, 'closed')
    for name, text in (('empty', None), ('full', 'one\n')):
        p.mkdir(box.ws / name)
        if text:
            p.write(box.ws / name / 'file', text)
        (box.ws / name).chmod(0)
    before = {n: (box.ws / n).stat().st_ctime_ns for n in ('empty', 'full')}
    box.run('chmod 700 full && rm -r full && rmdir empty')
    r = box.verb('diff', '--name-status')
    ok(all((box.ws / n).stat().st_ctime_ns == t for n, t in before.items()), p, 'a diff leaves them as they are', r)
    r = box.verb('apply')
    if p.is_root:
        ok(r.code == 0 and os.listdir(box.ws) == [], p, 'root deletes both', r)
    else:
        ok(os.listdir(box.ws) == ['full'] and (box.ws / 'full').stat().st_mode & 0o7777 == 0
           and (box.ws / 'full').stat().st_ctime_ns == before['full'], p, 'the full one stays as it is', r)
        ok(b'cannot be listed' in r.out + r.err, p, 'and is reported', r)
    r = box.verb('undo')
    ok(r.code == 0 and sorted(os.listdir(box.ws)) == ['empty', 'full'] and (box.ws / 'empty').stat().st_mode & 0o7777 == 0, p,
       'undo brings back the other, closed', r)
    box.remove()


def case_removed_by_its_owner(p):
    """The kernel's own folders are closed to everybody, until a run has ended."""
    box = Box(p, 'owner')
    box.run('echo one >a')
    work = next(box.top.glob('state/pale/*/stages/default/roots/0/work/work'))
    ok(work.is_dir(), p, 'they are there')
    r = p.host_sh('rm -rf ../state/pale', cwd=box.ws)
    ok(r.code == 0 and not (box.top / 'state/pale').exists(), p, 'rm -rf of the state', r)
    box.run('echo one >a')
    ok(box.verb('apply').code == 0, p, 'twin: and it is made again')
    box.remove()


def staged_file(box, name):
    return next(box.top.glob('state/pale/*/stages/default/roots/0/upper')) / name


def case_written_to_after_apply(p):
    """A new file is not copied into the workspace, unless somebody could still write to it."""
    box = Box(p, 'writer')
    for what, holds in {'held for writing': lambda f: os.open(f, os.O_WRONLY),
                        'held for reading': lambda f: os.open(f, os.O_RDONLY)}.items():
        box.run('echo reviewed >new; mkdir -p d; echo inner >d/new')
        staged = staged_file(box, 'new')
        number, fd = staged.stat().st_ino, holds(staged)
        r = box.verb('apply')
        moved = (box.ws / 'new').stat().st_ino == number
        if 'writing' in what:
            os.write(fd, b'evil')
        os.close(fd)
        ok(r.code == 0 and (box.ws / 'new').read_text() == 'reviewed\n' and moved == ('reading' in what), p,
           f'{what}: {"it was copied" if not moved else "it is the staged one itself"}', r)
        r = box.verb('undo')
        ok(r.code == 0 and os.listdir(box.ws) == [] and staged.read_text() in ('reviewed\n', 'evilewed\n')[:1 + (not moved)]
           and staged.stat().st_nlink == 1, p, f'{what}: undo takes it back', r)
        r = box.verb('apply')
        ok(r.code == 0 and (box.ws / 'd/new').read_text() == 'inner\n' and (box.ws / 'd/new').stat().st_nlink == 1, p,
           f'{what}: and it can be applied again', r)
        box.host('rm -r new d')
    box.remove()


def case_no_more_than_a_copy_has(p):
    """What a copy leaves out does not come with the staged file itself."""
    box = Box(p, 'bare')
    box.run('for i in plain mark setid closed; do echo $i >$i; done; chmod 755 setid; chmod 200 closed')
    staged_file(box, 'setid').chmod(0o4755)
    os.setxattr(staged_file(box, 'mark'), 'user.overlay.origin', b'x')
    marked = subprocess.run(['chattr', '+d', staged_file(box, 'plain')], capture_output=True).returncode == 0
    numbers = {n: staged_file(box, n).stat().st_ino for n in ('plain', 'mark', 'setid', 'closed')}
    r = box.verb('apply')
    ok(r.code == 0 and os.listxattr(box.ws / 'mark') == [] and (box.ws / 'setid').stat().st_mode & 0o7777 == 0o755 and
       (box.ws / 'closed').stat().st_mode & 0o7777 == 0o200, p, 'attributes and set-id bits stay behind', r)
    if marked:
        flags = subprocess.run(['lsattr', '-d', box.ws / 'plain'], capture_output=True).stdout
        ok(b'd' not in flags.split()[0] and (box.ws / 'plain').stat().st_ino != numbers['plain'], p, 'so do flags', flags)
    owner = box.ws.stat().st_uid
    ok(all((box.ws / n).stat().st_uid == owner for n in numbers), p, 'all belong to the owner of the workspace')
    box.remove()


def case_taken_back_on_the_way(p):
    """Some files are in the workspace when one cannot be: none is then."""
    if not has_strace(p):
        return
    box = Box(p, 'back')
    box.run('for d in a b c; do mkdir -p $d/sub; for i in 1 2 3; do echo $d$i >$d/sub/$i; done; done')
    staged = box.verb('diff').out
    for n in range(1, 16, 2):
        r = p.run('strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=renameat2', '-e', f'inject=renameat2:error=ENOSPC:when={n}..{n + 3}',
                  p.pale_path, 'apply', cwd=box.ws, env=box.env)
        again = box.verb('diff')
        ok(r.code != 0 and os.listdir(box.ws) == [] and again.out == staged, p,
           f'it fails at rename {n}: nothing is applied, all is staged', f'{r}\n{again}')
    r = box.verb('apply')
    ok(r.code == 0 and sorted(os.listdir(box.ws)) == ['a', 'b', 'c'] and (box.ws / 'c/sub/3').read_text() == 'c3\n', p,
       'twin: when nothing fails all is applied', r)
    box.remove()


main(case_closed_before_review, case_rewritten_while_reviewed, case_mode_after_decision, case_among_gits_own_files,
     case_modes_on_a_terminal, case_moved_into_deleted_folder, case_folder_closed_before_undo, case_access_list,
     case_too_deep, case_store_was_removed, case_store_was_exchanged, case_workspace_was_replaced,
     case_damaged_stage, case_half_made_stage, case_closed_folder_of_the_host, case_removed_by_its_owner,
     case_written_to_after_apply, case_no_more_than_a_copy_has, case_taken_back_on_the_way, uids=(1000,))
