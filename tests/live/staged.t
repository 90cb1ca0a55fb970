#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Staged writes, the run's side: the host sees none of them, later runs see all, and runs
that overlap share one mount. STAGED_FILES sets how many small files are made (20000)."""
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
from live import *

MANY = int(os.environ.get('STAGED_FILES', '20000'))
GIT = ['git', '-c', 'init.defaultBranch=main', '-c', 'user.name=t', '-c', 'user.email=t@t', '-c', 'safe.directory=*']


def tree(*tops):
    """Everything that can be seen of trees without changing them, times and inodes included."""
    h = hashlib.sha256()
    for top in tops:
        for d, dirs, files in os.walk(os.fsencode(top)):
            dirs.sort()
            for name in [b''] + sorted(files) + dirs:
                path = os.path.join(d, name) if name else d
                st = os.lstat(path)
                h.update(b'%s %o %d %d %d %d %d %d\n' % (path, st.st_mode, st.st_uid, st.st_gid, st.st_nlink,
                                                        st.st_ino, st.st_mtime_ns, st.st_ctime_ns))
                if stat.S_ISREG(st.st_mode):
                    with open(path, 'rb') as f:
                        h.update(f.read())
                elif stat.S_ISLNK(st.st_mode):
                    h.update(os.readlink(path))
    return h.hexdigest()


def give(p, top):
    if os.geteuid() == 0:
        subprocess.run(['chown', '-hR', f'{p.owner}:{p.owner}', top], check=True)


class Box:
    """A workspace of its own, with a stage of its own."""

    def __init__(self, p, name, files=True):
        self.p = p
        self.top = p.mkdir(p.base / 'staged' / f'{name}-{time.time_ns()}')
        self.ws = p.mkdir(self.top / 'ws')
        self.state = self.top / 'state'
        self.env = dict(p.env, XDG_STATE_HOME=str(self.state))
        if files:
            for i in range(3):
                (self.ws / f'file{i}').write_text(f'content {i}\n')
            (self.ws / 'dir/sub').mkdir(parents=True)
            (self.ws / 'dir/sub/deep').write_text('deep\n')
            (self.ws / 'dir/a').write_text('a\n')
        give(p, self.top)

    def pale(self, *args, **kw):
        kw.setdefault('cwd', self.ws)
        kw.setdefault('env', self.env)
        return self.p.pale('--staged', *args, **kw)

    def sh(self, line, *options, **kw):
        return self.pale(*options, '--', 'sh', '-c', 'echo BOOTED; ' + line, **kw)

    def start(self, line, *options, **kw):
        return self.p.start_pale('--staged', *options, '--', 'sh', '-c', line, cwd=self.ws, env=self.env,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)

    @property
    def stage(self):
        return next(self.state.glob('pale/*/stages/default'))

    @property
    def upper(self):
        return self.stage / 'roots/0/upper'

    def remove(self):
        subprocess.run(['chmod', '-R', 'u+rwx', self.top], stderr=subprocess.DEVNULL)
        subprocess.run(['rm', '-rf', self.top])


def unchanged(p, box, name, line, *options, twin=True, see=None, outside=(), **kw):
    """LINE does something to the workspace, of which the host sees nothing; a later run does.
    SEE is a shell test that is true after it."""
    before = tree(box.ws, *outside)
    r = box.sh(line, *options, **kw)
    ok(r.booted and r.code == 0, p, f'{name}: works inside', r)
    ok(tree(box.ws, *outside) == before, p, f'{name}: the host is as it was', r)
    if see:
        r = box.sh(f'if {see}; then echo SEEN; fi', *options)
        ok(b'SEEN' in r.out, p, f'{name}: a later run sees it', r)
    if twin:
        ok(any(os.scandir(box.upper)), p, f'{name}: it is in the stage')


def case_one_line_is_not_more(p):
    box = Box(p, 'first')
    unchanged(p, box, 'a new file and a changed one', 'echo new >new; echo more >>file1',
              see='[ "$(cat new)" = new ] && grep -q more file1')
    r = box.pale('--direct', '--', 'sh', '-c', 'echo BOOTED; echo x >direct', env=box.env)
    ok(r.code == 0 and (box.ws / 'direct').exists(), p, 'twin: --direct writes to the host', r)
    r = box.pale('--', 'cat', 'direct')
    ok(r.code == 0, p, 'what the host gets meanwhile is seen', r)
    ok(all(os.lstat(d).st_mode & 0o77 == 0 for d in (box.state / 'pale', box.stage, box.stage / 'roots')),
       p, 'the stage is the user\'s alone')
    st = os.lstat(box.upper / 'new')
    ok((st.st_uid, st.st_gid) == (p.owner, p.owner), p, 'what is staged belongs to the owner of the workspace', st)
    box.remove()


def case_stages_by_name(p):
    box = Box(p, 'names')
    box.sh('echo 1 >only-default')
    r = box.sh('[ -e only-default ] || echo APART; echo 2 >only-other', '--stage', 'other')
    ok(b'APART' in r.out, p, 'another stage has writes of its own', r)
    r = box.sh('[ -e only-default ] && ! [ -e only-other ] && echo APART')
    ok(b'APART' in r.out, p, 'and the first one has its own', r)
    r = p.pale('--stage', '../x', '--', 'true', cwd=box.ws, env=box.env)
    ok(r.code == 125 and b'--stage' in r.err, p, 'a name is no path', r)
    box.remove()


def case_the_host_stays_as_it_was(p):
    box = Box(p, 'ops')
    for i in range(1000):
        (box.ws / f'sed{i}').write_text('old text\n')
    os.link(box.ws / 'file0', box.ws / 'hard')
    os.symlink('file1', box.ws / 'link')
    give(p, box.ws)
    unchanged(p, box, 'sed -i over 1000 files', 'sed -i s/old/new/ sed*', see='[ $(grep -l new sed* | wc -l) = 1000 ]')
    unchanged(p, box, 'hard links', 'ln file2 ln2 && ln ln2 ln3 && echo x >>ln3 && ln hard hard2',
              see='[ $(stat -c %h ln3) = 3 ] && grep -q x file2')
    unchanged(p, box, 'a sparse file of 10 GiB', 'truncate -s 10G sparse && printf end | dd of=sparse bs=1 seek=5000000000 conv=notrunc 2>/dev/null',
              see='[ $(stat -c %s sparse) = 10737418240 ]')
    ok(os.lstat(box.upper / 'sparse').st_blocks < 1000, p, 'which takes no room')
    unchanged(p, box, 'a folder is renamed by mv', 'mv dir moved', see='[ -e moved/sub/deep ] && ! [ -e dir ]')
    unchanged(p, box, 'folder for file and back', 'rm file0 && mkdir file0 && echo x >file0/y && rm -rf moved && echo f >moved',
              see='[ -d file0 ] && [ -f moved ]')
    # Before Linux 6.7 an overlay lets nobody set attributes that are like its own.
    forged = '' if kernel_before(6, 7) else "; os.setxattr('sed1', 'user.overlay.opaque', b'y')"
    unchanged(p, box, 'xattrs', f"""python3 -c "import os; os.setxattr('file1', 'user.a', b'b'){forged}" """,
              see="""python3 -c "import os; assert os.getxattr('file1', 'user.a') == b'b'" """)
    unchanged(p, box, 'fifos and sockets', """mkfifo pipe && python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('sock')" """,
              see='[ -p pipe ] && [ -S sock ]')
    unchanged(p, box, 'modes', 'chmod 000 sed2 && chmod 755 sed3 && chmod 500 .', see='[ $(stat -c %a sed2) = 0 ]')
    unchanged(p, box, 'the link, not what it leads to', 'chmod 755 .; rm link && ln -s /etc/passwd link', see='[ $(readlink link) = /etc/passwd ]')
    unchanged(p, box, 'rm -rf of everything', 'rm -rf ./* ./.[!.]* ; [ -z "$(ls -A)" ]', see='[ -z "$(ls -A)" ]')
    unchanged(p, box, 'and something new after it', 'mkdir dir && echo mine >dir/only', see='[ "$(ls dir)" = only ]')
    box.remove()


def case_many_small_files(p):
    box = Box(p, 'many')
    unchanged(p, box, f'{MANY} small files',
              f"""python3 -c "
import os
for i in range({MANY}):
    if i % 1000 == 0: os.mkdir(f'd{{i}}'); d = f'd{{i}}'
    open(f'{{d}}/{{i}}', 'w').write(str(i))
" """, see=f'[ $(find d[0-9]* -type f | wc -l) = {MANY} ]', timeout=300)
    box.remove()


def case_git(p):
    box = Box(p, 'git')
    git = ' '.join(GIT)
    r = p.run('sh', '-c', f'{git} init -q && {git} add . && {git} commit -qm one && {git} checkout -qb other && '
              f'{git} rm -q file0 && echo other >new && {git} add new && {git} commit -qm two && {git} checkout -q main',
              cwd=box.ws, env=box.env)
    ok(r.code == 0, p, 'a repository', r)
    unchanged(p, box, 'git commit', f'echo x >>file1 && {git} commit -qam three', see=f'{git} log --oneline | grep -q three')
    unchanged(p, box, 'git checkout of another branch', f'{git} checkout -q other',
              see=f'[ -e new ] && ! [ -e file0 ] && [ -z "$({git} status --porcelain)" ] && {git} fsck')
    unchanged(p, box, 'hooks and pale.toml are files like others',
              'echo evil >.git/hooks/pre-commit && echo "[sandbox]" >pale.toml && echo x >.envrc && mkdir .vscode',
              see='[ -e .git/hooks/pre-commit ] && [ -e pale.toml ]')
    r = p.run(*GIT, 'status', '--porcelain', cwd=box.ws, env=box.env)
    ok(r.code == 0 and r.out == b'', p, 'git on the host sees no change', r)
    box.remove()


def case_a_worktree_and_its_repository(p):
    box = Box(p, 'worktree')
    git = ' '.join(GIT)
    r = p.run('sh', '-c', f'cd "$1" && {git} init -q main && cd main && {git} commit -q --allow-empty -m one && {git} worktree add -q ../tree',
              'sh', box.ws, cwd=box.top, env=box.env)
    ok(r.code == 0, p, 'a worktree', r)
    before = tree(box.ws)
    r = box.sh(f'echo x >f && {git} add f && {git} commit -qm two', cwd=box.ws / 'tree')
    ok(r.booted and r.code == 0 and tree(box.ws) == before, p, 'a commit in it: the host is as it was', r)
    r = box.sh(f'{git} log --oneline', '--filesystem', 'readonly', cwd=box.ws / 'tree')
    ok(b'two' in r.out, p, 'a run that only reads sees it', r)
    box.remove()


def case_what_only_reads_sees_the_stage(p):
    box = Box(p, 'views')
    box.sh('echo staged >file1; rm file2')
    for options in ((), ('--filesystem', 'readonly'), ('--filesystem', 'readonly', '--ephemeral'),
                    ('--filesystem', 'scoped_write', '--write', str(box.ws / 'dir'))):
        r = box.sh('[ "$(cat file1)" = staged ] && ! [ -e file2 ] && echo SEEN; echo w >dir/w 2>/dev/null && echo WROTE', *options)
        ok(b'SEEN' in r.out, p, f'{" ".join(options) or "as a rule"}: sees it', r)
        ok((b'WROTE' in r.out) == (options[-1:] != ('readonly',)), p, f'{" ".join(options) or "as a rule"}: writes where it may', r)
        ok((box.upper / 'dir/w').exists() == (not options or options[-1] == str(box.ws / 'dir')), p, 'and that stays or not', r)
        ok(not (box.ws / 'dir/w').exists(), p, 'never on the host')
        (box.upper / 'dir/w').unlink(missing_ok=True)
    r = box.sh('echo x >top 2>/dev/null || echo REFUSED', '--filesystem', 'scoped_write', '--write', str(box.ws / 'dir'))
    ok(b'REFUSED' in r.out, p, 'scoped_write: not elsewhere', r)
    box.remove()


def case_further_folders(p):
    box = Box(p, 'further')
    extra = p.mkdir(box.top / 'extra')
    (extra / 'x').write_text('x\n')
    give(p, extra)
    unchanged(p, box, 'a folder of paths_writable', f'echo y >>{extra}/x && rm -rf {extra}/nothing; echo n >n', '--write', str(extra),
              see=f'grep -q y {extra}/x', outside=(extra,))
    r = box.sh(f'cat {extra}/x; echo z >>{extra}/x', '--write', str(box.top))
    ok(r.code == 125 and b'lies in' in r.err, p, 'the stage in what it stages is refused', r)
    r = box.sh('true', '--write', str(extra / 'x'))
    ok(r.code == 125 and b'single file' in r.err and not r.booted, p, 'a single file is refused', r)
    box.remove()


def case_hard_link_to_a_file_outside_FW05(p):
    box = Box(p, 'fw05')
    secret = box.top / 'outside'
    secret.write_text('untouched\n')
    give(p, secret)
    os.link(secret, box.ws / 'inside')
    r = box.sh('echo written >inside; chmod 600 inside; cat inside')
    ok(r.booted and b'written' in r.out, p, 'it is written inside', r)
    ok(secret.read_text() == 'untouched\n' and secret.stat().st_mode & 0o777 == 0o644, p, 'the file outside is as it was')
    box.pale('--direct', '--', 'sh', '-c', 'echo written >inside')
    ok(secret.read_text() == 'written\n', p, 'twin: directly it is not')
    box.remove()


def case_odd_names_of_workspaces_SW25(p):
    for name in ('a:b', 'a,b', 'a\\b', 'a\nb', 'upperdir=x', "it's", 'ä "b"', ' lead', 'x' * 200):
        top = Box(p, 'odd', files=False)
        top.ws = p.mkdir(top.top / name)
        (top.ws / 'f').write_text('f\n')
        give(p, top.top)
        unchanged(p, top, f'{name!r:.30}', 'echo x >>f; echo n >n', see='grep -q x f')
        top.remove()


def case_three_writers_at_once(p):
    box = Box(p, 'three')
    wait = 'for i in $(seq 200); do [ -e a ] && [ -e b ] && [ -e c ] && break; sleep 0.05; done; [ -e a ] && [ -e b ] && [ -e c ]'
    runs = [box.start(f'echo {n} >{n}; {wait} && stat -c %d . && echo more >>shared') for n in 'abc']
    outs = [r.communicate(timeout=30) for r in runs]
    ok([r.returncode for r in runs] == [0, 0, 0], p, 'each sees the files of the others', outs)
    ok(len({out for out, _ in outs}) == 1, p, 'on one and the same filesystem', outs)
    ok((box.upper / 'shared').read_text() == 'more\n' * 3, p, 'all wrote to one file')
    ok(holds(box) == 0, p, 'nothing is left of them')
    box.remove()


def case_many_at_once(p):
    box = Box(p, 'herd')
    runs = [box.start(f'echo x >>count; sleep 0.0{i % 5}; echo {i} >n{i}') for i in range(24)]
    outs = [r.communicate(timeout=60) for r in runs]
    ok(all(r.returncode == 0 for r in runs), p, '24 runs that overlap', outs)
    ok((box.upper / 'count').read_text() == 'x\n' * 24 and len(list(box.upper.glob('n*'))) == 24, p, 'no write is lost')
    box.remove()


def has_text(path):
    return path.exists() and path.stat().st_size > 0


def holds(box):
    slots = (box.stage / 'mount-lock').read_bytes()
    return sum(slots[at:at + 1] not in (b'-', b'\0') for at in range(0, len(slots), 4096))


def case_a_killed_first_run(p):
    box = Box(p, 'killed')
    box.sh('true')
    first = box.start('echo 1 >one; sleep 30', start_new_session=True)
    wait_for(lambda: has_text(box.upper / 'one'))
    second = box.start('echo 2 >two; for i in $(seq 200); do [ -e three ] && break; sleep 0.05; done; cat three; ls')
    wait_for(lambda: has_text(box.upper / 'two'))
    wait_for(lambda: holds(box) == 2)
    first.kill()
    first.communicate()
    third = box.sh('cat one two && echo 3 >three')
    out, err = second.communicate(timeout=30)
    ok(third.code == 0 and third.rest == b'1\n2\n', p, 'a third joins what the second still has', third)
    ok(second.returncode == 0 and out.startswith(b'3\n'), p, 'and the second sees what it wrote', err)
    wait_for(lambda: not marked(str(box.ws)))
    r = box.sh('cat one two three')
    ok(r.code == 0 and r.rest == b'1\n2\n3\n', p, 'nothing was lost', r)
    ok(holds(box) == 0, p, 'and nothing is left of the killed one')
    box.remove()


def case_killed_alone(p):
    box = Box(p, 'alone')
    box.sh('true')
    for i in range(30):
        run = box.start(f'echo {i} >k{i}; while :; do echo x >>log; done', start_new_session=True)
        wait_for(lambda: has_text(box.upper / f'k{i}'))
        run.kill()
        r = box.sh(f'cat k{i}')
        ok(r.code == 0 and r.rest == f'{i}\n'.encode(), p, f'{i}: the next run mounts afresh, mark or not', r)
        run.communicate()
    box.sh('true')
    ends = (box.stage / 'runs').read_text()
    begun, ended = (set(re.findall(rf'^{word} (\S+)', ends, re.M)) for word in ('begin', 'end'))
    ok(len(begun) == 62 and begun == ended, p, 'each run has an end', begun ^ ended)
    box.remove()


def case_killed_while_it_is_built(p):
    """Its child may still be about to mount: the next run waits for that, and mounts afresh."""
    box = Box(p, 'built')
    box.sh('true')
    wrong = []
    for i in range(30):
        run = box.start('true', start_new_session=True)
        time.sleep(0.0005 * (i % 20 + 1))
        run.kill()
        r = box.sh('echo x >>f && echo done')
        if r.code != 0 or r.rest[:5] != b'done\n':
            wrong.append(str(r))
        run.communicate()
    ok(not wrong, p, '30 times, another one runs right after', '\n'.join(wrong[:3]))
    box.remove()


def case_the_mark_of_a_volatile_mount(p):
    box = Box(p, 'mark')
    box.sh('echo x >f')
    mark = box.stage / 'roots/0/work/work/incompat/volatile'
    ok(mark.parent.parent.is_dir() and not mark.parent.exists(), p, 'it is gone at the end')
    for mode in (0o700, 0):
        p.write(mark / 'dirty', '')
        for folder in (mark, mark.parent, mark.parent.parent):
            folder.chmod(mode)
        r = box.sh('echo y >>f; cat f')
        ok(r.code == 0 and r.rest.startswith(b'x\ny\n'), p, f'one that was left is no hindrance: {mode:o}', r)
        ok(mark.parent.parent.is_dir() and not mark.parent.exists(), p, 'and goes')
    spent = mark.parents[2] / 'spent'
    p.write(spent / 'folder/left', '')
    p.own(spent / 'folder'), p.own(spent)
    r = box.sh('echo z >>f; cat f')
    ok(r.code == 0 and r.rest.startswith(b'x\ny\ny\nz\n') and not spent.exists(), p, 'nor is what a killed run has put aside', r)
    box.remove()


def case_locks(p):
    box = Box(p, 'locks')
    box.sh('true')
    import fcntl
    with open(box.stage / 'lock', 'r+') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        r = box.sh('true')
        ok(r.code == 125 and not r.booted and b'being changed' in r.err, p, 'no run while the stage is changed', r)
    r = box.sh('true')
    ok(r.code == 0, p, 'twin: it goes on after it', r)
    run = box.start('sleep 30')
    wait_for(lambda: holds(box) == 1)
    with open(box.stage / 'lock', 'r+') as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        ok(not free, p, 'a run holds it')
        run.terminate()
        run.communicate(timeout=10)
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ok(True, p, 'until it has ended')
    box.remove()


def case_the_stage_is_out_of_reach_PT15(p):
    box = Box(p, 'pt15')
    box.sh('echo secret >staged')
    look = (f'echo BOOTED; ls -la {box.state} {box.stage} {box.upper}; cat {box.upper}/staged {box.stage}/runs; '
            f'echo evil >>{box.upper}/staged; echo evil >{box.stage}/evil; ls -l /proc/self/fd /proc/1/fd; ls -laR /.pale /run/.pale; '
            'grep -c . /proc/self/mountinfo')
    for options in ((), ('--read', '/'), ('--nested',), ('--filesystem', 'readonly')):
        r = box.pale(*options, '--', 'sh', '-c', look, env=box.env)
        ok(r.booted and b'secret' not in r.out and b'begin ' not in r.out, p, f'{" ".join(options) or "as a rule"}: nothing of it is seen', r)
        ok(b'lock' not in r.out, p, 'no descriptor of it either', r)
    ok((box.upper / 'staged').read_text() == 'secret\n' and not (box.stage / 'evil').exists(), p, 'and nothing was changed')
    r = p.run('sh', '-c', look, env=box.env, cwd=box.ws)
    ok(r.booted and b'secret' in r.out and b'begin ' in r.out, p, 'twin: on the host it is there', r)
    box.remove()


def case_planted_names(p):
    """What is in the upper layer was made by the command: nothing of pale follows it."""
    box = Box(p, 'planted')
    canary = box.top / 'canary'
    canary.write_text('canary\n')
    give(p, canary)
    box.sh(f'rm -rf dir && ln -s {box.top} dir && ln -s {canary} work && mkdir -p upper roots/0/work/work && ln -s {canary} roots/0/work/work/incompat')
    before = tree(box.ws) + tree(canary)
    r = box.sh('ls -la && echo x >file0')
    ok(r.booted and r.code == 0 and tree(box.ws) + tree(canary) == before, p, 'links in it lead nowhere', r)
    r = box.sh('echo x >dir/canary', '--filesystem', 'scoped_write', '--write', str(box.ws / 'dir'))
    ok(r.code == 125 and canary.read_text() == 'canary\n', p, 'a part that became a link is refused', r)
    r = box.sh('ls dir/ 2>&1; cat dir/canary', '--hide', str(box.ws / 'dir/sub'))
    ok(r.booted and b'canary\n' not in r.rest.replace(b"canary'", b''), p, 'what is hidden below it needs no hiding', r)
    box.remove()


@only_root
def case_a_full_disk_SW19(p):
    for owner in (p.owner, 1000):
        box = Box(p, 'full')
        box.state.mkdir()
        subprocess.run(['chown', '-R', f'{owner}:{owner}', box.ws], check=True)
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'pale-full', box.state], check=True)
        try:
            r = box.sh('dd if=/dev/zero of=big bs=64k count=200; echo "dd $?"')
            ok(r.booted and b'dd 1' in r.out and b'No space' in r.err, p, f'workspace of {owner}: the command sees ENOSPC', r)
            ok(r.code == 0 and not (box.ws / 'big').exists(), p, 'and the run ends as ever', r)
            ok(holds(box) == 0, p, 'with nothing left of it')
            r = box.sh('rm big; echo after >f; cat f')
            ok(r.code == 0 and b'after' in r.out or r.code == 125 and b'No space' in r.err, p, 'the next one runs, or says why not', r)
            (box.upper / 'big').unlink(missing_ok=True)
            r = box.sh('echo after >f; cat f')
            ok(r.code == 0 and b'after' in r.out, p, 'with room again it goes on', r)
        finally:
            subprocess.run(['umount', '-l', box.state], check=True)
        box.remove()


@only_root
def case_a_filesystem_that_cannot_hold_it(p):
    box = Box(p, 'unfit')
    box.state.mkdir()
    for d in ('l', 'u', 'w'):
        (box.top / d).mkdir()
    subprocess.run(['mount', '-t', 'overlay', '-o', f'lowerdir={box.top}/l,upperdir={box.top}/u,workdir={box.top}/w',
                    'x', box.state], check=True)
    box.state.chmod(0o700)
    r = box.sh('true')
    subprocess.run(['umount', '-l', box.state], check=True)
    ok(r.code == 125 and not r.booted and b'XDG_STATE_HOME' in r.err and b'overlay' in r.err, p, 'an overlay on an overlay', r)
    subprocess.run(['mount', '-t', 'ramfs', 'x', box.state], check=True)
    box.state.chmod(0o700)
    r = box.sh('true')
    subprocess.run(['umount', '-l', box.state], check=True)
    ok(r.code == 125 and not r.booted and b'XDG_STATE_HOME' in r.err, p, 'no user xattrs', r)
    r = box.sh('true')
    ok(r.code == 0, p, 'twin: on this disk it works', r)
    box.remove()


@only_root
def case_a_mount_in_the_workspace(p):
    box = Box(p, 'mount')
    (box.ws / 'mnt').mkdir()
    (box.ws / 'mnt/below').write_text('below\n')
    give(p, box.ws)
    subprocess.run(['mount', '-t', 'tmpfs', 'x', box.ws / 'mnt'], check=True)
    r = box.sh('ls mnt')
    ok(r.code == 125 and not r.booted and b'/mnt' in r.err, p, 'is refused', r)
    r = box.sh('ls mnt 2>/dev/null; cat mnt/below 2>/dev/null; true', '--hide', str(box.ws / 'mnt'))
    ok(r.code == 0 and r.rest == b'', p, 'unless it is hidden', r)
    subprocess.run(['umount', box.ws / 'mnt'], check=True)
    r = box.sh('ls mnt')
    ok(r.code == 0 and r.rest == b'below\n', p, 'twin: or gone', r)
    box.remove()


def case_how_much_it_may_hold(p):
    box = Box(p, 'disk')
    r = box.sh('true', '--disk', '1m')
    ok(r.code == 125 and b'disk' in r.err, p, 'the limit does not hold alone, and that is said', r)
    options = ('--disk', '1m', '--allow-degraded', 'disk')
    r = box.sh('head -c 600000 /dev/zero >a; head -c 2000000 /dev/zero >b || echo CUT', *options)
    ok(r.booted and os.lstat(box.upper / 'b').st_size <= 1 << 20, p, 'no file grows beyond it', r)
    r = box.sh('true', *options)
    ok(r.code == 125 and not r.booted and b'holds' in r.err, p, 'a stage that holds as much takes no more', r)
    r = box.sh('true', '--disk', '10m', '--allow-degraded', 'disk')
    ok(r.code == 0, p, 'twin: with more room it does', r)
    box.remove()


def case_ceilings_and_files(p):
    box = Box(p, 'ceiling')
    (box.ws / 'pale.toml').write_text('[sandbox]\nmode = "staged"\n')
    give(p, box.ws)
    r = p.pale('--', 'sh', '-c', 'echo x >by-file', cwd=box.ws, env=box.env)
    ok(r.code == 0 and not (box.ws / 'by-file').exists() and (box.upper / 'by-file').exists(), p, 'mode = "staged" in pale.toml', r)
    r = p.pale('--direct', '--', 'sh', '-c', 'echo x >by-option', cwd=box.ws, env=box.env)
    ok(r.code == 0 and (box.ws / 'by-option').exists(), p, '--direct is closer', r)
    p.config('[ceiling]\nmode = "staged"\n')
    r = p.pale('--direct', '--', 'sh', '-c', 'echo x >over', cwd=box.ws, env=box.env)
    ok(r.code == 125 and b'ceiling' in r.err and not (box.ws / 'over').exists(), p, 'a ceiling of staged refuses --direct', r)
    (box.ws / 'pale.toml').unlink()
    r = p.pale('--', 'sh', '-c', 'echo x >below', cwd=box.ws, env=box.env)
    ok(r.code == 0 and not (box.ws / 'below').exists(), p, 'and stages where nobody asked', r)
    p.no_config()
    for engine in ('bwrap', 'landlock'):
        r = box.sh('true', '--engine', engine)
        ok(r.code == 125 and b'native engine' in r.err and not r.booted, p, f'engine {engine} says that it cannot', r)
    r = box.pale('--explain', '--', 'true')
    ok(b'stage       default' in r.out and b'staged        ' in r.out, p, '--explain shows it', r)
    r = p.verb('status', cwd=box.ws, env=box.env)
    ok(b'direct' in r.out, p, 'status says direct', r)
    (box.ws / 'pale.toml').write_text('[sandbox]\nmode = "staged"\n')
    give(p, box.ws)
    r = p.verb('status', cwd=box.ws, env=box.env)
    ok(b'staged' in r.out, p, 'or staged', r)
    box.remove()


def case_results(p):
    box = Box(p, 'results')
    doc = box.pale('--json', '--', 'sh', '-c', 'echo 1 >one; echo 2 >two; rm file0').json()
    ok(doc.get('stage') and doc['stage']['name'] == 'default' and doc['stage']['changes'] == 3, p, 'the JSON says what waits', doc)
    r = box.pale('--', 'true')
    ok(r.err == b'3 files staged: pale review\n', p, 'and so does one line on stderr', r)
    r = box.pale('--stage', 'x1', '--', 'touch', 'f')
    ok(r.err == b'1 file staged: pale review --stage x1\n', p, 'with the name of the stage', r)
    r = box.pale('--stage', 'x2', '--', 'true')
    ok(r.err == b'', p, 'nothing when nothing is staged', r)
    doc = p.pale('--json', '--', 'true', cwd=box.ws, env=box.env).json()
    ok('stage' in doc and doc['stage'] is None, p, 'a direct run has none', doc)
    box.remove()


def case_pale_inside_of_pale(p):
    box = Box(p, 'inside')
    bind = ('--read', str(p.pale_path.parent))
    r = box.pale(*bind, '--', p.pale_path, 'run', '--staged', '--', 'sh', '-c', 'echo BOOTED; echo x >inner', env=box.env)
    ok(r.booted and r.code == 0 and not (box.ws / 'inner').exists() and (box.upper / 'inner').exists(), p,
       'in a staged sandbox there is nothing to add', r)
    r = p.pale(*bind, '--', p.pale_path, 'run', '--staged', '--', 'sh', '-c', 'echo BOOTED; echo x >inner2', cwd=box.ws, env=box.env)
    ok(r.code == 125 and not r.booted and not (box.ws / 'inner2').exists(), p, 'in a direct one it is refused', r)
    box.remove()


def case_a_first_run_hides_its_own_state(p):
    box = Box(p, 'firstrun')
    r = box.sh(f'find {box.state} 2>/dev/null | wc -l', '--read', '/')
    ok(r.booted and int(r.rest) <= 1 or b'0' in r.rest, p, 'what it makes is hidden in the same run', r)
    ok(box.upper.exists(), p, 'twin: it is there', r)
    box.remove()


OFTEN = ('flock unlinkat utimensat fsopen fsconfig fsmount move_mount umount2 sendmsg recvmsg sendto recvfrom write pwrite64 dup3 '
         'mkdirat chmod ftruncate').split()
SWEEP = OFTEN + ('openat openat2 open fstat read pread64 getdents64 readlink fchmod fchown renameat fsync fsetxattr '
                 'fremovexattr open_tree mount_setattr pivot_root fcntl clone3 close_range').split()
FULL = os.environ.get('PALE_SWEEP') == 'full'


def sweep(p, box, action, fresh):
    """Let each call fail, or kill who makes it, one after the other. The host stays as it was,
    and the next run finds a stage that works."""
    trace = p.write(box.top / 'trace', '')
    line = ['sh', '-c', 'echo x >>w']

    def run(*strace):
        return p.run('strace', '-f', '-qq', '-o', str(trace), *strace, p.pale_path, 'run', '--staged', '--', *line,
                     cwd=box.ws, env=box.env, timeout=20)

    def count():
        try:
            return (box.upper / 'w').stat().st_size
        except (FileNotFoundError, StopIteration):
            return 0
    tried, wrong = 0, []
    before = tree(box.ws)
    for call in SWEEP if FULL else OFTEN:
        if fresh:
            shutil.rmtree(box.state, ignore_errors=True)
        run('-e', f'trace=?{call}')
        per = {}
        for text in trace.read_text(errors='replace').splitlines():
            if re.match(rf'\d+ +{call}\(', text):
                per[text.split()[0]] = per.get(text.split()[0], 0) + 1
        for n in range(1, max(per.values(), default=0) + 1):
            if fresh:
                shutil.rmtree(box.state, ignore_errors=True)
            was = count()
            r = run('-e', f'trace=?{call}', '-e', f'inject={call}:{action}:when={n}')
            tried += 1
            grew = count() > was
            what = f'{call}:{action}:when={n}: '
            if b'[the test gave up waiting]' in r.err:
                wrong.append(what + f'it hangs: {r}')
            if grew and r.code == 125:
                wrong.append(what + f'executed, but the status says it was not: {r}')
            if tree(box.ws) != before:
                wrong.append(what + f'the host has changed: {r}')
                before = tree(box.ws)
            r = box.sh('cat w 2>/dev/null | wc -c')
            if r.code != 0 or int(r.rest or -1) != count():
                wrong.append(what + f'the next run fails: {r}')
            if holds(box) or (box.stage / 'runs').read_text().count('begin ') > (box.stage / 'runs').read_text().count('end '):
                wrong.append(what + 'something is left of it: ' + (box.stage / 'runs').read_text()[-300:])
    ok(tried > 40 and not wrong, p, f'{tried} places, {action}, {"a new stage" if fresh else "the same stage"}', '\n'.join([f'{len(wrong)} wrong', *wrong[:5]]))


@only_first
def case_every_call_fails_or_kills(p):
    if not shutil.which('strace') or p.run('strace', '-f', '-qq', '-o', '/dev/null', 'true').code != 0:
        skip(p, 'no strace that works')
        return
    for action in ('signal=SIGKILL', 'error=EPERM') + ('error=ENOSPC',) * FULL:
        box = Box(p, 'sweep')
        sweep(p, box, action, fresh=False)
        if FULL:
            sweep(p, box, action, fresh=True)
        box.remove()


@only_first
def case_dirty_pages_are_not_waited_for(p):
    box = Box(p, 'dirty')
    box.sh('true')

    def end(line):
        r = box.sh(line + '; date +%s.%N >stamp', timeout=120)
        done = time.time()
        return r, done - float((box.upper / 'stamp').read_text())
    none = min(end('true')[1] for _ in range(3))
    r, gig = end('head -c 1073741824 /dev/zero >big')
    ok(r.code == 0 and os.lstat(box.upper / 'big').st_size == 1 << 30, p, '1 GiB is written', r)
    note(f'end of a run: {none * 1000:.1f} ms, with 1 GiB of dirty pages {gig * 1000:.1f} ms')
    ok(gig < max(2 * none, none + 0.25), p, 'ending the run takes no longer', (none, gig))
    box.remove()


@only_first
def case_latency(p):
    box = Box(p, 'latency')
    box.sh('true')
    times = {'--direct': [], '--staged': []}
    for _ in range(40):
        for mode, taken in times.items():
            begin = time.monotonic()
            p.pale(mode, '--', 'true', cwd=box.ws, env=box.env)
            taken.append(time.monotonic() - begin)
    direct, staged = (statistics.median(t) * 1000 for t in times.values())
    note(f'pale run -- true: direct {direct:.2f} ms, staged {staged:.2f} ms')
    ok(staged < 3 * direct + 10, p, 'staged costs little more than direct', times)
    box.remove()


if ENGINE:
    skip(None, f'engine {ENGINE} does not stage; that it says so is tested with the native one', only_root=True)
    print('1..1')
    sys.exit(0)
main(case_one_line_is_not_more, case_stages_by_name, case_the_host_stays_as_it_was, case_many_small_files, case_git,
     case_a_worktree_and_its_repository, case_what_only_reads_sees_the_stage, case_further_folders,
     case_hard_link_to_a_file_outside_FW05, case_odd_names_of_workspaces_SW25, case_three_writers_at_once,
     case_many_at_once, case_a_killed_first_run, case_killed_alone, case_killed_while_it_is_built, case_the_mark_of_a_volatile_mount, case_locks,
     case_the_stage_is_out_of_reach_PT15, case_planted_names, case_a_full_disk_SW19,
     case_a_filesystem_that_cannot_hold_it, case_a_mount_in_the_workspace, case_how_much_it_may_hold,
     case_ceilings_and_files, case_results, case_pale_inside_of_pale, case_a_first_run_hides_its_own_state,
     case_every_call_fails_or_kills, case_dirty_pages_are_not_waited_for, case_latency, uids=(1000,))
