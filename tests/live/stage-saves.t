#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the user saves at a bad moment stays; what is taken back is as it was."""
import contextlib
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from stagebox import *


def slow_apply(p, name):
    """A box, and an apply in it whose renames take long: saved over when it has looked at what is there, and then stopped by
    the next one. None: that moment was missed each time."""
    for number in range(5):
        box = Box(p, f'{name}-{number}')
        p.write(box.ws / 'f', 'old\n')
        box.run('echo staged >f')
        slow = p.start('strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=renameat2', '-e',
                       'inject=renameat2:delay_enter=1000000:delay_exit=1000000', p.pale_path, 'apply', cwd=box.ws, env=box.env,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until(lambda: any(b'state decided' in j.read_bytes() for j in box.top.glob('state/pale/*/applies/*/journal')))
        time.sleep(0.3)
        save(box, 'first\n')
        if until(lambda: (box.ws / 'f').read_text() == 'staged\n', 3):
            return box, slow
        slow.communicate(timeout=60)
        box.remove()
    return None, None


def until(done, seconds=20):
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.002)
    return done()


def save(box, text):
    """As editors do."""
    box.p.write(box.ws / 'f.new', text)
    os.rename(box.ws / 'f.new', box.ws / 'f')


def case_saved_twice_during_apply(p):
    """The second save comes when the first was found, and is to go back to its place."""
    if not has_strace(p):
        return
    box, slow = slow_apply(p, 'twice')
    if not ok(box, p, 'it was saved in the middle of an apply'):
        return
    save(box, 'second\n')
    err = slow.communicate(timeout=60)[1]
    ok(slow.returncode != 0, p, 'which fails', err)
    ok((box.ws / 'f').read_text() == 'second\n', p, 'the last save is what is there', (box.ws / 'f').read_text())
    box.verb('apply', '--take-staged', 'f')
    ok((box.ws / 'f').read_text() == 'staged\n', p, 'twin: it can be applied still')
    box.remove()


def case_killed_before_a_save_went_back(p):
    if not has_strace(p):
        return
    box, slow = slow_apply(p, 'killed')
    if not ok(box, p, 'it was saved in the middle of an apply'):
        return
    for pid in pathlib.Path(f'/proc/{slow.pid}/task/{slow.pid}/children').read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    slow.communicate(timeout=60)
    r = box.verb('diff')
    ok((box.ws / 'f').read_text() == 'first\n', p, 'what was saved is back after the next command', r)
    ok(b'+staged' in r.out, p, 'and what was staged still is', r)
    box.remove()


def case_open_for_writing(p):
    """A log, a database: what a program of the host goes on to write into a file stays in the file of that name."""
    box = Box(p, 'open')
    for name in ('log', 'd/gone', 'part', 'mode', 'read', 'taken'):
        p.mkdir((box.ws / name).parent)
        p.write(box.ws / name, 'old\n')
    box.run('for i in log part read taken; do echo staged >$i; done; rm -r d; chmod 600 mode; echo new >new')
    with contextlib.ExitStack() as held:
        files = {n: held.enter_context(open(box.ws / n, 'r' if n == 'read' else 'a')) for n in ('log', 'd/gone', 'part', 'mode', 'read', 'taken')}
        r = box.verb('apply', '--take-staged', 'taken', '--hunk', 'part:1', '.')
        ok(r.code == 1 and r.out.count(b'a program has it open for writing') == 4 and b'read' not in r.out, p, 'they are left, and it says why', r)
        ok((box.ws / 'read').read_text() == 'staged\n' == (box.ws / 'taken').read_text() and (box.ws / 'new').exists(), p,
           'twin: not what is only read, nor what was named', os.listdir(box.ws))
        for n, f in files.items():
            if n != 'read':
                f.write('more\n')
                f.flush()
    ok([(box.ws / n).read_text() for n in ('log', 'd/gone', 'part', 'mode')] == ['old\nmore\n'] * 4, p, 'what was written is there')
    ok((box.ws / 'taken').read_text() == 'staged\n', p, 'twin: it is not where the staged side was to win')
    r = box.verb('apply', '--take-staged', '.')
    ok(r.code == 0 and (box.ws / 'log').read_text() == 'staged\n' and not (box.ws / 'd').exists(), p, 'once they are closed all is applied', r)
    with open(box.ws / 'log', 'a') as log, open(box.ws / 'read'):
        r = box.verb('undo')
        ok(r.code == 1 and b'log: a program has it open for writing' in r.err and not (box.ws / 'd').exists(), p,
           'an undo waits for that', r)
    r = box.verb('undo')
    ok(r.code == 0 and (box.ws / 'log').read_text() == 'old\nmore\n' and (box.ws / 'd/gone').exists(), p, 'it can be done then', r)
    box.remove()


def case_deleted_by_a_later_run(p):
    """What the user saves between two runs, the second one has seen."""
    box = Box(p, 'later')
    p.write(box.ws / 'd/g', 'old\n')
    box.run('touch d/temporary; rm d/temporary')
    for name in ('f', 'd/g', 'twin'):
        p.write(box.ws / name, 'mine\n')
    time.sleep(0.1)
    run = p.start(p.pale_path, 'run', '--staged', '--', 'sh', '-c', 'rm -r f d twin; echo ready; read x', cwd=box.ws, env=box.env,
                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ok(run.stdout.readline() == b'ready\n', p, 'the command has deleted')
    p.write(box.ws / 'twin', 'more\n')
    run.communicate(b'x\n', timeout=60)
    r = box.verb('apply')
    ok(os.listdir(box.ws) == ['twin'] and r.code == 1 and b'twin: changed on the host meanwhile' in r.out, p,
       'its deletions are applied; twin: not of what he saved while it ran', r)
    box.remove()


def case_deleted_after_a_killed_run(p):
    """What a run had hidden that nobody recorded, the next one has not seen."""
    box = Box(p, 'killed-run')
    for name in ('d/g', 'f', 'h'):
        p.write(box.ws / name, 'old\n')
    box.run('touch d/temporary; rm d/temporary')
    run = p.start(p.pale_path, 'run', '--staged', '--', 'sh', '-c', 'rm d/g; echo staged >f; echo staged >h; echo ready; sleep 60', cwd=box.ws,
                  env=box.env, stdout=subprocess.PIPE)
    ok(run.stdout.readline() == b'ready\n', p, 'the command has begun')
    run.kill()
    run.wait()
    until(lambda: b'holds' in box.verb('stages', 'rm', 'default').err)
    for name in ('d/g', 'f', 'h'):
        p.write(box.ws / name, 'mine\n')
    time.sleep(0.1)
    box.run('rm -r d f; echo more >h.new; mv h.new h')
    r = box.verb('apply')
    ok(r.code == 1 and [(box.ws / n).read_text() for n in ('d/g', 'f', 'h')] == ['mine\n'] * 3, p, 'what the user saved between is left', r)
    box.remove()


def case_undone_where_a_folder_is_gone(p):
    """What was in it cannot come back, and keeps nothing else from it."""
    box = Box(p, 'folder-gone')
    for name in ('a', 'd/x', 'd/y', 'e/f/g', 'e/h'):
        p.write(box.ws / name, 'old\n')
    box.run('echo staged >a; rm -r d/x e')
    ok(box.verb('apply').code == 0 and not (box.ws / 'e').exists(), p, 'something is applied')
    box.host('rm -r d')
    r = box.verb('undo')
    ok(r.code == 1 and b'd/x: it has changed since' in r.out and not (box.ws / 'd').exists(), p, 'what was in the folder stays', r)
    ok([(box.ws / n).read_text() for n in ('a', 'e/f/g', 'e/h')] == ['old\n'] * 3, p, 'the rest is taken back, folders with what was in them', r)
    if has_strace(p):
        box.verb('discard', '--all')
        box.host('mkdir d; echo old >d/x')
        box.run('echo staged >a; rm d/x')
        r = box.killed('renameat2', 2, 'apply')
        ok(r.code != 0 and not (box.ws / 'd/x').exists() and (box.ws / 'a').read_text() == 'old\n', p, 'an apply is killed', r)
        box.host('echo mine >a; rm -r d')
        r = box.verb('diff')
        ok(r.code == 0 and b'has been taken back' in r.err and (box.ws / 'a').read_text() == 'mine\n', p, 'the next verb goes on all the same', r)
    box.remove()


def case_taken_back_where_a_link_is(p):
    """Where a folder was exchanged for a link at that moment, it is not given up: the next verb finds it again."""
    if not has_strace(p):
        return
    box = Box(p, 'link')
    for name in ('a', 'd/x'):
        p.write(box.ws / name, 'old\n')
    box.run('echo staged >a; rm d/x')
    r = box.killed('renameat2', 2, 'apply')
    ok(r.code != 0 and not (box.ws / 'd/x').exists(), p, 'an apply is killed', r)
    box.host('echo mine >a; mkdir other; mv d away; ln -s other d')
    r = box.verb('diff')
    ok(r.code != 0 and not list((box.ws / 'other').iterdir()), p, 'nothing is put behind the link', r)
    box.host('rm d; mv away d')
    r = box.verb('diff')
    ok((box.ws / 'd/x').exists() and [(box.ws / n).read_text() for n in ('a', 'd/x')] == ['mine\n', 'old\n'], p,
       'it comes back when the folder does', r)
    box.remove()


RENAMES = '''mv a b; mv d/f e/g; mv gone/h h; rm -r gone; ln i j; mv again again~; echo new >again
echo more >>del; mv both moved; echo ready; read x'''


def case_renamed_where_the_user_saves(p):
    """A folder changes with whatever is saved in it: that alone does not make a deletion of what the command renamed."""
    box = Box(p, 'renamed')
    for name in ('a', 'd/f', 'e/x', 'gone/h', 'i', 'again', 'del', 'both'):
        p.write(box.ws / name, name + '\n')
    run = p.start(p.pale_path, 'run', '--staged', '--', 'sh', '-c', RENAMES, cwd=box.ws, env=box.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ok(run.stdout.readline() == b'ready\n', p, 'the command has renamed')
    for name in ('mine', 'd/mine', 'e/mine'):
        p.write(box.ws / name, 'mine\n')
    os.unlink(box.ws / 'del')
    p.write(box.ws / 'both', 'mine\n')
    run.communicate(b'x\n', timeout=60)
    r = box.verb('apply')
    ok(run.returncode == 0 and r.code == 1, p, 'while the user saved beside', r)
    ok([(box.ws / n).read_text() for n in ('b', 'e/g', 'h', 'j', 'again~', 'again')] == ['a\n', 'd/f\n', 'gone/h\n', 'i\n', 'again\n', 'new\n']
       and not any((box.ws / n).exists() for n in ('a', 'd/f', 'gone')), p, 'what was renamed is applied', r)
    ok((box.ws / 'both').read_text() == 'mine\n' and not (box.ws / 'moved').exists() and not (box.ws / 'del').exists()
       and b'del: deleted on the host meanwhile' in r.out, p, 'twin: not what he had changed, or deleted', r)
    box.remove()


@only_root
def case_saved_in_the_second_of_the_start(p):
    """A file system that keeps whole seconds."""
    image, at = p.base / 'image', p.mkdir(p.base / 'seconds')
    r = p.run('sh', '-c', 'truncate -s 20M "$1" && mke2fs -q -F -t ext4 -I 128 "$1" && mount -o loop "$1" "$2"', 'sh', str(image), str(at))
    if r.code != 0:
        skip(p, f'no such file system can be mounted here: {r.err}', only_root=True)
        return
    try:
        box = Box(p, 'seconds', at)
        p.write(box.ws / 'f', 'old\n')
        p.write(box.ws / 'other', 'old\n')
        time.sleep(2.05 - time.time() % 1)
        run = p.start_pale('--staged', '--', 'sh', '-c', 'echo staged | tee f >other; echo done; sleep 0.2', cwd=box.ws, env=box.env,
                           stdout=subprocess.PIPE)
        ok(run.stdout.readline() == b'done\n', p, 'the command ran')
        (box.ws / 'f').write_text('saved\n')
        run.communicate(timeout=20)
        r = box.verb('apply')
        ok(r.code == 1 and (box.ws / 'f').read_text() == 'saved\n', p, 'what was saved while it ran is a conflict', r)
        ok((box.ws / 'other').read_text() == 'staged\n', p, 'twin: the rest is applied', r)
        box.remove()
    finally:
        p.run('umount', str(at))


def case_discarded_in_a_deleted_folder(p):
    """Taken back, the folder is deleted again."""
    box = Box(p, 'deleted')
    box.host('mkdir -p d/sub e/c k/s; for i in d/f d/g d/sub/h e/c/x e/y k/f k/s/f; do echo 1 >$i; done')
    box.run('rm -r d e k; mkdir e; echo new >e/new')
    for path in ('d/sub/h', 'd/f', 'e/c/x', 'k/s/f'):
        r = box.verb('discard', path)
        ok(r.code == 0, p, f'{path} is discarded', r)
    r = p.pale('--staged', '--', 'sh', '-c', 'find d e k | sort | xargs; echo 2 >k/s/mine', cwd=box.ws, env=box.env)
    ok(r.out == b'd d/f d/sub d/sub/h e e/c e/c/x e/new k k/s k/s/f\n', p, 'and is to be seen', r)
    for _ in range(4):
        box.verb('undo')
    r = p.pale('--staged', '--', 'sh', '-c', 'find d e k | sort | xargs', cwd=box.ws, env=box.env)
    ok(r.out == b'e e/new k k/s k/s/mine\n', p, 'taken back: the folders are not there, but for what was made in them since', r)
    r = box.verb('apply')
    ok(r.code == 0 and sorted(os.listdir(box.ws)) == ['e', 'k'] and os.listdir(box.ws / 'e') == ['new'] and
       os.listdir(box.ws / 'k') == ['s'] and os.listdir(box.ws / 'k/s') == ['mine'], p, 'and so it is applied', r)
    box.remove()


def case_deleted_below_a_link(p):
    """Of a folder that became a link, some of what is deleted."""
    box = Box(p, 'below')
    box.host('mkdir -p d/e/f keep; echo 1 >d/e/f/g; echo 1 >d/e/f/h; echo 1 >d/i')
    box.run('rm -r d; ln -s keep d')
    r = box.verb('apply', 'd/e/f/g')
    ok(r.code == 0 and os.listdir(box.ws / 'd/e/f') == ['h'], p, 'is applied', r)
    r = box.verb('undo')
    ok(r.code == 0 and sorted(os.listdir(box.ws / 'd/e/f')) == ['g', 'h'], p, 'is taken back', r)
    r = box.verb('apply')
    ok(r.code == 0 and (box.ws / 'd').is_symlink(), p, 'twin: and all of it is', r)
    box.remove()


def case_left_in_a_folder_that_was_made_again(p):
    """A deletion that is left, when the mode of its folder is applied."""
    box = Box(p, 'left')
    box.host('mkdir d; echo 1 >d/x; echo 1 >d/y')
    time.sleep(0.05)
    box.run('rm -r d; mkdir -m 700 d')
    box.host('echo 2 >>d/y')
    r = box.verb('apply')
    ok(r.code == 1 and os.listdir(box.ws / 'd') == ['y'], p, 'one of two is applied', r)
    r = box.verb('diff', '--name-status')
    ok(r.out == b'D\td/y\n', p, 'the other is still staged', r)
    r = p.pale('--staged', '--', 'ls', 'd', cwd=box.ws, env=box.env)
    ok(r.out == b'', p, 'and not to be seen by commands', r)
    r = box.verb('undo')
    ok(r.code == 0 and sorted(os.listdir(box.ws / 'd')) == ['x', 'y'], p, 'twin: taken back', r)
    r = p.pale('--staged', '--', 'ls', 'd', cwd=box.ws, env=box.env)
    ok(r.out == b'' and r.code == 0, p, 'it looks the same', r)
    box.remove()


def case_taken_back_into_a_folder_that_was_made_again(p):
    """What a later run deleted with all of the folder does not come back, as a name without a file neither."""
    box = Box(p, 'again')
    box.host('mkdir -p d/e k; for i in d/x d/y d/e/x d/e/z k/x; do echo 1 >$i; done')
    box.run('rm d/x d/e/x k/x; echo 2 >>d/e/z; echo 2 >>d/y; chmod 711 k')
    box.verb('apply')
    box.run('rm -r d; mkdir -p d/e; echo new >d/e/new; chmod 700 k')
    r = box.verb('undo')
    ok(r.code == 0 and sorted(os.listdir(box.ws / 'd/e')) == ['x', 'z'] and (box.ws / 'd/y').read_text() == '1\n', p, 'taken back', r)
    r = p.pale('--staged', '--', 'sh', '-c', 'find d k -ls >/dev/null && find d k | sort | xargs', cwd=box.ws, env=box.env)
    ok(r.out == b'd d/e d/e/new k\n' and r.code == 0, p, 'what is staged is as it was', r)
    r = p.pale('--staged', '--', 'stat', '-c', '%a', 'k', cwd=box.ws, env=box.env)
    ok(r.out == b'700\n', p, 'also its mode', r)
    r = box.verb('apply', '--take-staged', 'k')
    ok(r.code == 0 and os.listdir(box.ws / 'd/e') == ['new'] and os.listdir(box.ws / 'k') == [], p, 'twin: and is applied', r)
    box.remove()


def case_mode_of_a_folder_with_more_in_it(p):
    """Where a folder that is only there for a change lies in it."""
    box = Box(p, 'folder-mode')
    box.host('mkdir -p d/s; echo 1 >d/s/f')
    box.run('chmod 711 d; echo 2 >>d/s/f')
    staged = box.verb('diff', '--name-status').out
    box.verb('discard', '--all')
    r = box.verb('diff', '--name-status')
    ok(staged == b'M\td/\nM\td/s/f\n' and r.out == b'', p, 'all of it is discarded', r)
    r = p.pale('--staged', '--', 'stat', '-c', '%a', 'd', cwd=box.ws, env=box.env)
    ok(r.out == b'755\n', p, 'as commands see it, too', r)
    for verb in ('discard --all', 'apply'):
        box.verb('undo')
        ok(box.verb('diff', '--name-status').out == staged, p, f'taken back, before {verb}')
        r = box.verb(*verb.split())
        ok(r.code == 0 and box.verb('diff', '--name-status').out == b'', p, verb, r)
    box.verb('undo')
    ok(box.verb('diff', '--name-status').out == staged and (box.ws / 'd').stat().st_mode & 0o777 == 0o755, p, 'and after it')
    box.remove()


main(case_open_for_writing, case_renamed_where_the_user_saves, case_deleted_by_a_later_run, case_deleted_after_a_killed_run, case_undone_where_a_folder_is_gone,
     case_taken_back_where_a_link_is,
     case_saved_twice_during_apply, case_killed_before_a_save_went_back, case_saved_in_the_second_of_the_start,
     case_discarded_in_a_deleted_folder, case_deleted_below_a_link,
     case_left_in_a_folder_that_was_made_again, case_taken_back_into_a_folder_that_was_made_again,
     case_mode_of_a_folder_with_more_in_it, uids=(1000,))
