#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the command sees of the host's files, and what it can write."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

FILESYSTEMS = ('none', 'readonly', 'workspace_only', 'scoped_write', 'unrestricted')


def attempt(p, name, line, options=(), twin=True, out=None, sandbox_ok=False):
    """LINE does no harm in the sandbox: the digest of all that is p's, but for
    the workspace and the history, stays. The twin is the same line under `--preset off`, which
    must be seen in the digest or, with OUT, print it."""
    def watched():
        return digest(p.home, p.outside) + str(sorted(set(os.listdir(p.base)) - {'state'}))
    before = watched()
    r = p.sh(*options, '--', line, str(p.base))
    same = watched() == before
    ok(r.booted and same and (out is None or out not in r.out + r.err) and
       (sandbox_ok or r.code != 0), p, name, f'digest the same: {same}\n{r}')
    if not twin:
        return
    r = p.sh('--preset', 'off', '--', line, str(p.base))
    ok(r.booted and (out in r.out if out else watched() != before), p, f'twin: {name}', r)


def case_secrets_of_the_home_FR01(p):
    key = f'CANARY-KEY-{p.uid}'.encode()
    attempt(p, 'the ssh key cannot be read', 'cat ~/.ssh/id_rsa', out=key)
    attempt(p, 'nor by its full name', 'cat "$1/home/.ssh/id_rsa"', out=key)
    attempt(p, 'nor found', 'find / -name id_rsa 2>/dev/null | xargs cat; ls -a ~', out=key,
            sandbox_ok=True, twin=False)
    attempt(p, 'nor reached by a link made inside', 'ln -s ~/.ssh/id_rsa link; cat link', out=key, twin=False)
    (p.ws / 'link').unlink(missing_ok=True)
    os.symlink(p.home / '.ssh/id_rsa', p.ws / 'link')
    attempt(p, 'nor by a link that was there', 'cat link', out=key)
    (p.ws / 'link').unlink()
    for fs in FILESYSTEMS[:4]:
        attempt(p, f'not with {fs} either', 'cat "$1/home/.ssh/id_rsa"', ('--filesystem', fs), out=key,
                twin=False)


def case_writes_outside_FW01_ME03(p):
    attempt(p, 'the home', 'echo x >"$1/home/planted"', sandbox_ok=True)
    (p.home / 'planted').unlink(missing_ok=True)
    attempt(p, 'a start-up file', 'echo x >>"$1/home/.bashrc"', sandbox_ok=True)
    (p.home / '.bashrc').unlink(missing_ok=True)
    # the scratch folder is below /var/tmp, which is private: a write there may work, and stays inside
    attempt(p, 'the parent folder', 'echo x >../planted', sandbox_ok=True)
    (p.base / 'planted').unlink(missing_ok=True)
    attempt(p, 'a sibling', 'echo x >>"$1/outside/canary"')
    attempt(p, 'removing a sibling', 'rm -rf "$1/outside"; test ! -e "$1/outside" -o -e "$1/ws"', sandbox_ok=True)
    p.mkdir(p.outside)
    p.write(p.outside / 'canary', 'canary\n')
    attempt(p, 'through a shared mapping', '"$1"/ws/probe mmap "$1/outside/canary"', twin=False)
    os.symlink('../outside/canary', p.ws / 'link')
    attempt(p, 'through a link that was there', 'echo y >>link')
    (p.ws / 'link').unlink()
    p.write(p.outside / 'canary', 'canary\n')


def case_parent_folder(p):
    """A parent that is neither the home nor a private folder is not there to be written."""
    try:
        top = pathlib.Path(tempfile.mkdtemp(prefix='pale-live-', dir='/srv'))
    except OSError:
        return skip(p, 'only root can make a folder in /srv', only_root=True)
    os.chown(top, p.owner, p.owner)
    os.chown(p.mkdir(top / 'ws'), p.owner, p.owner)
    line = 'echo x >../planted'
    r = p.sh('--', line, cwd=top / 'ws')
    ok(r.booted and r.code != 0 and not (top / 'planted').exists(), p, 'a write to the parent folder is refused', r)
    r = p.sh('--preset', 'off', '--', line, cwd=top / 'ws')
    ok(r.booted and (top / 'planted').exists(), p, 'twin: off writes it', r)
    shutil.rmtree(top)


def case_system_directories_FW01(p):
    stem = f'pale-live-{os.getpid()}'
    for d in ('/etc', '/usr', '/usr/bin', '/opt', '/var', '/', '/boot', '/sys', '/proc', '/proc/sys/kernel', '/dev'):
        path = f'{d}/{stem}'
        r = p.sh(f'echo x >{path}')
        leaked = os.path.exists(path)
        if leaked:
            os.unlink(path)
        ok(r.booted and not leaked and (r.code != 0 or d == '/dev'), p, f'no write into {d}', r)
    if p.is_root:
        r = p.sh('--preset', 'off', '--', f'echo x >/etc/{stem}')
        ok(r.booted and os.path.exists(f'/etc/{stem}'), p, 'twin: root can, with the protection off', r)
        os.unlink(f'/etc/{stem}')
    r = p.sh('./probe tmpfile /etc; ./probe mmap /etc/passwd; ./probe openw /etc/passwd; ./probe openw /usr/bin/env')
    ok(r.booted and b'=ok' not in r.out, p, 'nor by O_TMPFILE, a mapping, or in place', r)


@needs('private')
def case_private_places_FW25(p):
    stem = f'pale-live-{os.getpid()}-{p.uid}'
    for d in ('/tmp', '/var/tmp', '/dev/shm', '/run'):
        host = pathlib.Path(d) / stem
        inside = host.with_name(stem + '-inside')
        if d != '/run' or p.is_root:
            host.write_text('host\n')
            host.chmod(0o666)
        r = p.sh(f'test ! -e {host} && echo x >{inside} && cat {inside}')
        ok(r.booted and r.code == 0 and not inside.exists(), p, f'{d} is private, and works', r)
        r = p.sh(f'test -e {inside}')
        ok(r.booted and r.code == 1, p, f'{d} is empty again in the next run', r)
        if host.exists():
            r = p.sh('--preset', 'off', '--', f'test -e {host} && echo x >{inside}')
            ok(r.code == 0 and inside.exists(), p, f'twin: {d} is shared when off', r)
            host.unlink()
            inside.unlink(missing_ok=True)
    r = p.sh('echo x >~/note && cat ~/note && test "$HOME" = "$1"', str(p.home))
    ok(r.code == 0 and not (p.home / 'note').exists(), p, 'the home is private, and works', r)
    r = p.sh('ls -A /home /root /mnt /media /srv 2>/dev/null; ls /run; ls /var')
    ok(r.booted and b'u1000' not in r.out, p, 'no other homes', r)


@needs('private')
def case_tmpfs_size(p):
    for size, mb in (('4m', 4), ('16m', 16)):
        r = p.sh('--tmpfs', size, '--', f'head -c {mb + 2}m /dev/zero >/tmp/big')
        ok(r.booted and r.code != 0 and b'space' in r.err, p, f'/tmp holds no more than {size}', r)
        r = p.sh('--tmpfs', size, '--', f'head -c {mb - 2}m /dev/zero >/tmp/big')
        ok(r.code == 0, p, f'twin: less than {size} fits', r)


def case_filesystem_values(p):
    write = 'echo new >made && cat made'
    for fs, read, wrote in (('none', False, False), ('readonly', True, False), ('workspace_only', True, True),
                            ('scoped_write', True, False), ('unrestricted', True, True)):
        if not list(p.each(('--filesystem', fs))):
            continue
        (p.ws / 'made').unlink(missing_ok=True)
        r = p.sh('--filesystem', fs, '--', f'cat "$1"', str(p.ws / 'file'))
        ok(r.booted and (r.rest == b'mine\n') == read, p, f'{fs}: the workspace can{"" if read else "not"} be read', r)
        r = p.sh('--filesystem', fs, '--', 'cd "$1" 2>/dev/null; ' + write, str(p.ws))
        there = (p.ws / 'made').exists()
        ok(r.booted and there == wrote, p, f'{fs}: a write is {"" if wrote else "not "}seen on the host', r)
        r = p.sh('--filesystem', fs, '--', 'echo new >/tmp/x && cat /tmp/x')
        ok((r.code == 0) == (has('private') or fs == 'unrestricted'), p, f'{fs}: there is a /tmp, or it is closed', r)
        pathlib.Path('/tmp/x').unlink(missing_ok=True)
        r = p.sh('--filesystem', fs, '--', 'echo x >>"$1"', str(p.outside / 'canary'))
        changed = (p.outside / 'canary').read_text() != 'canary\n'
        ok(r.booted and changed == (fs == 'unrestricted'), p, f'{fs}: outside', r)
        p.write(p.outside / 'canary', 'canary\n')
    (p.ws / 'made').unlink(missing_ok=True)


@needs('ephemeral')
def case_ephemeral(p):
    p.mkdir(p.ws / 'dir')
    p.write(p.ws / 'dir/kept', 'kept\n')
    before = digest(p.ws)
    r = p.sh('--filesystem', 'readonly', '--ephemeral', '--',
             'echo new >made && echo more >>file && rm dir/kept && mv probe p2 && ln -s x y && cat made file && '
             'test ! -e dir/kept && ./p2 euid')
    ok(r.booted and r.code == 0 and b'new\nmine\nmore\n' in r.out, p, 'all kinds of writes work inside', r)
    r = p.sh('--filesystem', 'readonly', '--ephemeral', '--', 'rm -r dir && test ! -e dir')
    ok(r.booted and r.code == 0, p, 'a folder can be removed, with what is in it', r)
    ok(digest(p.ws) == before, p, 'and nothing stays')
    r = p.sh('--filesystem', 'readonly', '--', 'echo new >made')
    ok(r.booted and r.code != 0, p, 'twin: without it there is no write at all', r)
    if not kernel_before(6, 6):
        r = p.sh('--filesystem', 'readonly', '--ephemeral', '--tmpfs', '4m', '--', 'head -c 8m /dev/zero >big')
        ok(r.booted and r.code != 0, p, 'the throwaway layer has the size of tmpfs', r)
    ok(digest(p.ws) == before, p, 'and nothing stays of it')
    shutil.rmtree(p.ws / 'dir')


# A pale that cannot tell which kernel this is takes it for one before Linux 6.6.
OLD_KERNEL = ('strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=uname', '-e', 'inject=uname:error=ENOSYS')


@needs('ephemeral')
def case_ephemeral_on_disk(p):
    if not shutil.which('strace'):
        return skip(p, 'no strace')
    def stages():
        return list((p.base / 'state/pale').glob('ws-*/stages/*'))

    other = p.mkdir(p.base / 'other')
    p.mkdir(p.ws / 'dir')
    p.write(p.ws / 'dir/kept', 'kept\n')
    before = digest(p.ws)

    def old(*args, **kw):
        return p.run(*OLD_KERNEL, *p.pale_argv('--filesystem', 'readonly', '--ephemeral', *args), **kw)

    r = old('--', 'sh', '-c', 'echo BOOTED; rm -r dir && mkdir dir && echo new >dir/new && mv dir d2 && echo x >>file && ls d2')
    ok(r.booted and r.code == 0 and r.rest == b'new\n', p, 'all kinds of writes work inside', r)
    ok(digest(p.ws) == before, p, 'and nothing stays')
    ok(not stages(), p, 'nor in the state', stages())
    r = old('--write', str(other), '--', 'sh', '-c', f'echo BOOTED; echo real >{other}/made')
    ok(r.booted and (other / 'made').read_text() == 'real\n', p, 'what is writable besides is so for real', r)
    r = old('--json', '--', 'true')
    answer = json.loads(r.out)
    ok(answer['stage'] is None and answer['enforced']['ephemeral']['state'] == 'enforced', p, 'the report: no stage, enforced', r)
    r = old('--disk', '1m', '--', 'true')
    ok(r.code == 125 and b'disk' in r.err, p, 'a bound of the disk is refused: nothing would hold it', r)
    child = p.start(*OLD_KERNEL, *p.pale_argv('--filesystem', 'readonly', '--ephemeral', '--', 'sh', '-c', 'echo x >y; echo BOOTED; exec sleep 60'),
                    stdout=subprocess.PIPE)
    ok(child.stdout.readline() == b'BOOTED\n', p, 'one that is killed has begun')
    left = stages()
    os.kill(int(left[0].name.split('.')[1]), signal.SIGKILL)
    child.wait()
    ok(len(left) == 1 and left[0].exists(), p, 'and leaves its layer', left)
    r = old('--', 'sh', '-c', 'echo BOOTED; test ! -e y')
    ok(r.booted and r.code == 0 and not stages(), p, 'which the next one removes', r)
    ok(digest(p.ws) == before, p, 'with nothing in the workspace')
    shutil.rmtree(p.ws / 'dir')


def case_lists_CF09(p):
    other = p.mkdir(p.base / 'other')
    p.write(other / 'text', 'other\n')
    r = p.sh('cat "$1"', str(other / 'text'))
    ok(r.booted and r.code != 0, p, 'what is not listed is not there', r)
    r = p.sh('--read', str(other), '--', 'cat "$1/text"', str(other))
    ok(r.rest == b'other\n', p, 'readable: it is', r)
    r = p.sh('--read', str(other), '--', 'echo x >"$1/text"', str(other))
    ok(r.booted and r.code != 0 and (other / 'text').read_text() == 'other\n', p, 'readable is not writable', r)
    r = p.sh('--write', str(other), '--', 'echo changed >"$1/text"', str(other))
    ok(r.code == 0 and (other / 'text').read_text() == 'changed\n', p, 'writable is', r)
    ok((other / 'text').stat().st_uid == p.owner, p, 'and stays with its owner')
    for o in p.each(('--write', str(other), '--hide', str(other / 'text'))):
        r = p.sh(*o, '--', 'cat "$1/text"', str(other))
        ok(r.booted and b'changed' not in r.out and r.code != 0, p, 'hidden beats writable', r)
    r = p.sh('--read', str(other / 'text'), '--', 'cat "$1/text"; ls "$1"', str(other))
    # where the folder is the host's own, it cannot be listed
    ok(r.rest == b'changed\n' + b'text\n' * has('private'), p, 'one file alone', r)
    p.mkdir(p.ws / 'out')
    r = p.sh('--filesystem', 'scoped_write', '--write', '${WORKSPACE}/out', '--', 'echo a >out/a && ! echo b >b')
    ok(r.code == 0 and (p.ws / 'out/a').exists() and not (p.ws / 'b').exists(), p,
       'scoped_write: in the scope only', r)
    r = p.sh('--filesystem', 'none', '--read', str(p.ws / 'out'), '--', 'cat "$1/out/a"; ls "$1"', str(p.ws))
    ok(r.rest == b'a\n' + b'out\n' * has('private'), p, 'none, with one part of the workspace', r)
    r = p.sh('--read', str(p.base / 'absent'), '--', 'true')
    ok(r.code == 0 and not (p.base / 'absent').exists(), p, 'a readable path that is absent is not made', r)
    shutil.rmtree(p.ws / 'out')
    shutil.rmtree(other)


def case_hidden_FR03_FR05_FW21(p):
    p.mkdir(p.ws / 'a')
    p.mkdir(p.ws / 'a/b')
    p.write(p.ws / 'a/b/.env', 'SECRET-ENV\n', 0o644)
    p.mkdir(p.ws / 'vault')
    p.write(p.ws / 'vault/key', 'SECRET-KEY\n')
    os.symlink('a/b/.env', p.ws / 'alias')
    os.link(p.ws / 'a/b/.env', p.ws / 'hard')
    hide = ('--hide', '${WORKSPACE}/a/b/.env', '--hide', str(p.ws / 'vault'))
    for o in p.each(*(('--filesystem', fs) + hide for fs in ('workspace_only', 'readonly', 'unrestricted'))):
        fs = o[1]
        attempt(p, f'{fs}: a hidden file', 'cat a/b/.env', o, out=b'SECRET-ENV', twin=fs == 'readonly')
        attempt(p, f'{fs}: by its alias', 'cat alias', o, out=b'SECRET-ENV', twin=fs == 'readonly')
        attempt(p, f'{fs}: by /proc', 'cat /proc/self/cwd/a/b/../b/.env', o, out=b'SECRET-ENV', twin=fs == 'readonly')
        attempt(p, f'{fs}: a hidden folder', 'cat vault/key; ls -A vault', o, out=b'SECRET-KEY', twin=fs == 'readonly')
        attempt(p, f'{fs}: written', 'echo x >a/b/.env', o, twin=False)
        attempt(p, f'{fs}: moved away', 'mv a/b/.env free; cat free', o, out=b'SECRET-ENV', twin=False)
        attempt(p, f'{fs}: removed', 'rm -rf vault a; cat a/b/.env', o, out=b'SECRET-ENV', twin=False)
        # within this run the cover goes along; the next run would look in the old place
        r = p.sh(*o, '--', 'mv a a2; mv a/b a/b2; mv vault v2; ls')
        ok(r.booted and sorted(os.listdir(p.ws)) == ['a', 'alias', 'file', 'hard', 'probe', 'vault'] and
           os.listdir(p.ws / 'a') == ['b'], p, f'{fs}: the folders above cannot be renamed for the next run', r)
        for old, new in (('a2', 'a'), ('a/b2', 'a/b'), ('v2', 'vault')):
            if (p.ws / old).exists():
                (p.ws / old).rename(p.ws / new)
        intact = (p.ws / 'a/b/.env').read_text() == 'SECRET-ENV\n' and (p.ws / 'vault/key').exists()
        ok(intact, p, f'{fs}: and the host still has it all')
    for o in p.each(hide):
        r = p.sh(*o, '--', 'cat hard')
        ok(r.booted and r.code != 0 and b'SECRET-ENV' not in r.out, p, 'another hard link to a hidden file is hidden as well', r)
    r = p.sh('cat hard')
    ok(r.code == 0 and b'SECRET-ENV' in r.out, p, 'twin: and can be read where nothing is hidden', r)
    for o in p.each(('--hide', str(p.ws / 'alias'))):
        r = p.sh(*o, '--', 'cat alias a/b/.env')
        ok(r.booted and b'SECRET-ENV' not in r.out, p, 'hiding a link hides what it points to', r)
    for o in p.each(('--ephemeral',) + hide):
        r = p.sh(*o, '--', 'cat a/b/.env vault/key; mv a c; cat c/b/.env')
        ok(r.booted and b'SECRET' not in r.out, p, 'ephemeral: hidden as well', r)
    for name in ('a', 'vault'):
        shutil.rmtree(p.ws / name)
    for name in ('alias', 'hard'):
        (p.ws / name).unlink()


@needs('hidden')
def case_hidden_behind_a_link_FR07(p):
    p.mkdir(p.ws / 'real')
    p.write(p.ws / 'real/secret', 'SECRET-LINKED\n')
    p.write(p.ws / 'real/plain', 'plain\n')
    os.symlink('real', p.ws / 'link')
    before = digest(p.ws)
    for rule in ('link/secret', '${WORKSPACE}/link/secret', str(p.ws / 'link/secret')):
        for _, fs in p.each(*(('--filesystem', fs) for fs in ('workspace_only', 'readonly', 'unrestricted'))):
            r = p.sh('--filesystem', fs, '--hide', rule, '--',
                     'cat real/secret link/secret; echo x >real/secret; mv real/secret free; rm link; cat free')
            ok(r.booted and b'SECRET' not in r.out, p, f'{fs}: --hide {rule[-24:]} hides the file itself', r)
            ok((p.ws / 'real/secret').read_text() == 'SECRET-LINKED\n', p, f'{fs}: and the host still has it')
            if not (p.ws / 'link').is_symlink():
                os.symlink('real', p.ws / 'link')
            r = p.sh('--filesystem', fs, '--hide', rule, '--', 'cat link/plain real/plain')
            ok(r.code == 0 and r.rest == b'plain\nplain\n', p, f'{fs}: twin: what is beside it can be read', r)
    r = p.sh('cat link/secret')
    ok(r.code == 0 and r.rest == b'SECRET-LINKED\n' and digest(p.ws) == before, p, 'twin: without --hide it can be read', r)
    shutil.rmtree(p.ws / 'real')
    (p.ws / 'link').unlink()


def case_links_in_rules_CF09(p):
    os.symlink(p.home / '.ssh', p.ws / 'leads-out')
    os.symlink('../outside', p.ws / 'leads-up')
    for option in ('--read', '--write'):
        for link in ('leads-out', 'leads-up'):
            r = p.sh(option, '${WORKSPACE}/' + link, '--', f'cat {link}/*')
            ok(r.code == 125 and not r.booted and b'CANARY' not in r.out, p,
               f'{option} {link}: a rule that a link leads out of the workspace is refused', r)
    r = p.sh('--read', str(p.outside), '--', 'cat leads-up/canary')
    ok(r.rest == b'canary\n', p, 'twin: the place itself, named, can be opened', r)
    for link in ('leads-out', 'leads-up'):
        (p.ws / link).unlink()


def case_a_hidden_folder_of_the_system(p):
    for o in p.each(('--hide', '/etc')):
        r = p.sh(*o, '--', 'ls /etc; cat /etc/passwd /etc/machine-id')
        ok(r.booted and r.rest == b'', p, 'a folder of the system as a whole, with what is hidden in it always', r)
    r = p.sh('--', 'cat /etc/passwd')
    ok(r.booted and b'root:' in r.rest, p, 'twin: it can be read otherwise', r)


def case_set_up_makes_nothing_on_the_host_FW27(p):
    # FW27: a mount point below a planted link
    os.symlink('../outside', p.ws / 'sub')
    before = digest(p.outside, p.home)
    r = p.sh('--write', '${WORKSPACE}/sub/new', '--', 'true')
    ok(r.code == 125 and digest(p.outside, p.home) == before, p, 'a writable path below a planted link', r)
    r = p.sh('--hide', '${WORKSPACE}/sub/new', '--', 'true')
    ok(digest(p.outside, p.home) == before, p, 'a hidden one', r)
    (p.ws / 'sub').unlink()
    p.mkdir(p.ws / 'sub/new')
    r = p.sh('--filesystem', 'readonly', '--write', '${WORKSPACE}/sub/new', '--', 'echo x >sub/new/made')
    ok(r.booted and (p.ws / 'sub/new/made').exists(), p, 'twin: one below a folder is writable', r)
    shutil.rmtree(p.ws / 'sub')
    before = digest(p.ws, p.home, p.outside)
    r = p.sh('--hide', '${WORKSPACE}/not-there', '--read', '${WORKSPACE}/not/there', '--', 'true')
    ok(r.booted and digest(p.ws, p.home, p.outside) == before, p, 'paths that are absent stay absent', r)


def case_inherited_descriptors_FR12(p):
    fd = os.open(p.home / '.ssh', os.O_RDONLY)
    os.dup2(fd, 7, inheritable=True)
    os.dup2(fd, 200, inheritable=True)
    line = 'ls /proc/self/fd; cat /proc/self/fd/7/id_rsa /proc/self/fd/200/id_rsa; ./probe fds'
    r = p.sh(line, pass_fds=(7, 200))
    ok(r.booted and b'CANARY' not in r.out and b'fds=0' in r.out, p, 'a folder open at 7 is not there inside', r)
    r = p.host_sh(line, pass_fds=(7, 200))
    ok(b'CANARY' in r.out, p, 'twin: it is, without pale', r)
    for n in (fd, 7, 200):
        os.close(n)


def case_working_directory_FR13(p):
    p.mkdir(p.ws / 'deep')
    r = p.sh('pwd; /bin/pwd; echo $PWD', cwd=p.ws / 'deep')
    # no pale.toml and no .git: the folder itself is the workspace
    ok(r.rest == f'{p.ws}/deep\n'.encode() * 3, p, 'the same as outside', r)
    up = 'cd ..; cd ..; cd ..; cd ..; cd ..; cd ..; ls ".$1"; ls -di / .'
    r = p.sh('--', up, str(p.outside))
    ok(r.booted and b'canary' not in r.out, p, '.. leads nowhere', r)
    r = p.sh('--preset', 'off', '--', up, str(p.outside))
    ok(r.booted and b'canary' in r.out, p, 'twin: to the root of the host when off', r)
    r = p.sh('--workspace', str(p.ws), '--', '/bin/pwd', cwd=p.ws / 'deep')
    ok(r.rest == f'{p.ws}/deep\n'.encode(), p, 'below a named workspace', r)
    shutil.rmtree(p.ws / 'deep')


def case_privileges_FW17_FR09_KS27(p):
    setuid = [f for f in ('/usr/bin/su', '/bin/su', '/usr/bin/passwd', '/usr/bin/newgrp') if
              os.path.exists(f) and os.stat(f).st_mode & stat.S_ISUID]
    r = p.sh('grep -E "^(Cap|NoNewPrivs)" /proc/self/status')
    bounding = p.is_root or has('bounding')
    caps = [line.split()[1] for line in r.out.decode().splitlines() if line.startswith('Cap') and (bounding or 'CapBnd' not in line)]
    ok(r.booted and len(caps) == 4 + bounding and set(caps) == {'0' * 16} and b'NoNewPrivs:\t1' in r.out, p,
       'no capability in any set, no new privileges', r)
    if p.is_root:
        # a set-uid program of root's, in a workspace that is not root's
        for name, line in (('set-uid copy', 'cp probe suid; chmod 6755 suid; ./suid euid; ./suid open /etc/shadow'),):
            r = p.sh(line)
            ok(r.booted and b'open=ok' not in r.out, p, f'{name} gains nothing', r)
            (p.ws / 'suid').unlink(missing_ok=True)
    else:
        if os.geteuid() == 0:
            shutil.copy(p.probe_path, p.ws / 'suid')
            os.chown(p.ws / 'suid', 0, 0)
            os.chmod(p.ws / 'suid', 0o4755)
            r = p.sh('./suid euid; ./suid setuid')
            ok(r.booted and b'euid=0' not in r.out and b'setuid=ok' not in r.out, p,
               "root's set-uid program gains nothing", r)
            r = p.sh('--preset', 'off', '--', './suid setuid')
            ok(b'setuid=ok' in r.out, p, 'twin: it does, when off', r)
            (p.ws / 'suid').unlink()
    if setuid:
        r = p.sh(f'echo | timeout 3 {setuid[0]} -c id 2>&1; true')
        ok(r.booted and b'uid=0(root) gid=0(root) groups=0(root),' not in r.out, p, f'{setuid[0]} neither', r)
    r = p.sh('cat /etc/shadow; ./probe open /etc/shadow; ./probe open /etc/gshadow; ls /root/.ssh')
    ok(r.booted and b'=ok' not in r.out and b'root:' not in r.out, p, '/etc/shadow cannot be read, by root either', r)
    if p.is_root:
        ok(b'=ok' in p.sh('--preset', 'off', '--', './probe open /etc/shadow').out, p, 'twin: it can when off')


def case_kernel_interfaces_FW09_FW11_FW13_FW14_FR11(p):
    words = ('mount /tmp', 'umount /tmp', 'umount /proc', 'fsopen', 'remount /etc', 'remount /usr', 'unshare-user',
             'unshare-mount', 'unshare-net', 'chroot /tmp', 'pivot /tmp', f'mknod {p.ws}/node', f'mkchar {p.ws}/node',
             'mknod /tmp/node', 'mkchar /dev/node', 'hostname evil', f'handle {p.ws}')
    line = '; '.join(f'./probe {w}' for w in words)
    for options in p.each(*modes(p, (), ('--processes', 'visible'), ('--filesystem', 'unrestricted'))):
        r = p.sh(*options, '--', line)
        good = [l for l in r.out.splitlines() if l.endswith(b'=ok')]
        done = len([l for l in r.out.splitlines() if b'=' in l])
        ok(r.booted and not good and done == len(words), p,
           f"{' '.join(options) or 'default'}: mount, unshare, chroot, mknod and the like are refused", r)
        ok(not (p.ws / 'node').exists(), p, 'no device node on the host')
    if p.is_root:
        twin = p.run('unshare', '-m', '-u', 'sh', '-c', line)
        good = [l for l in twin.out.splitlines() if l.endswith(b'=ok')]
        ok(len(good) >= 10, p, 'twin: they work for root without pale', twin)
        (p.ws / 'node').unlink(missing_ok=True)
    else:
        twin = p.run('./probe', 'unshare-user')
        ok(b'=ok' in twin.out, p, 'twin: a user namespace can be made without pale', twin)


def case_proc_and_sys_FW26_FR15(p):
    files = ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/sys/kernel/panic',
             '/proc/sysrq-trigger', '/proc/sys/vm/drop_caches', '/proc/sys/user/max_user_namespaces',
             '/proc/sys/net/ipv4/ip_forward', '/sys/kernel/uevent_helper', '/sys/power/state',
             '/sys/devices/system/cpu/cpu0/online', '/proc/1/mem', '/proc/kcore', '/proc/irq/0/smp_affinity',
             '/sys/fs/cgroup/cgroup.procs', '/dev/mem', '/dev/vda', '/dev/kmsg')
    before = [pathlib.Path(f).read_text() for f in files[:3]]
    for options in modes(p, (), ('--processes', 'visible')):
        r = p.sh(*options, '--', '; '.join(f'./probe openw {f}' for f in files))
        ok(r.booted and b'=ok' not in r.out and r.out.count(b'openw=') == len(files), p,
           f"{' '.join(options) or 'isolated'}: nothing of /proc, /sys and /dev opens for writing", r)
    ok([pathlib.Path(f).read_text() for f in files[:3]] == before, p, "the host's settings are the same")
    if p.is_root:
        ok(p.run('./probe', 'openw', files[0]).code == 0, p, 'twin: root can, without pale')
    r = p.sh('ls /proc/1/root/; ls -l /proc/1/cwd /proc/1/exe; cat /proc/1/environ; cat /proc/1/root"$1"',
             str(p.outside / 'canary'))
    ok(r.booted and b'canary\n' not in r.rest, p, '/proc/1/root does not lead to the host', r)
    if not has('hidden'):
        return skip(p, MISSING[ENGINE]['hidden'], only_root=True)
    r = p.sh('cat /proc/kcore /proc/keys /proc/timer_list 2>/dev/null | head -c 10 | wc -c')
    ok(r.rest.strip() == b'0', p, 'masked files are empty', r)


CORE_LIMIT = '''
from resource import *
print('BOOTED', getrlimit(RLIMIT_CORE), end=' ')
setrlimit(RLIMIT_CORE, (0, 0))
print(getrlimit(RLIMIT_CORE))
'''


def case_core_dumps_FR17_PR17(p):
    def allow():
        import resource
        resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    r = p.sh('ulimit -c; ulimit -H -c; ./probe crash; ls', preexec_fn=allow)
    ok(r.booted and r.rest.startswith(b'0\n0\n') and not list(p.ws.glob('core*')), p, 'no core is left', r)
    pattern = pathlib.Path('/proc/sys/kernel/core_pattern').read_text()
    if pattern.strip() == 'core':
        p.host_sh('./probe crash', preexec_fn=allow)
        cores = list(p.ws.glob('core*'))
        ok(cores, p, 'twin: one is, without pale')
        for c in cores:
            c.unlink()
    # With a limit of 0 a program that core_pattern names would still get it; with 1 nobody does.
    r = p.pale('--', '/usr/bin/python3', '-c', CORE_LIMIT, preexec_fn=allow)
    ok(r.out == b'BOOTED (1, 1) (1, 1)\n', p, 'the limit is 1, and stays, whatever a program thinks', r)
    r = p.pale('--preset', 'off', '--', '/usr/bin/python3', '-c', CORE_LIMIT, preexec_fn=allow)
    ok(r.out.endswith(b' (0, 0)\n'), p, 'twin: without a boundary it is 0 then', r)


@only_root
def case_owners_LC09(p):
    for uid in (0,) * has('root') + (1000, 54321, 65535, 200000, 4000000):
        ws = p.base / f'owned-{uid}'
        ws.mkdir()
        (ws / 'old').write_text('old\n')
        os.chown(ws, uid, uid)
        os.chown(ws / 'old', uid, uid)
        r = p.sh('--workspace', str(ws), '--',
                 'echo a >new && mkdir d && echo b >d/e && echo c >>old && ln -s x l && stat -c %u . old new && id -u',
                 cwd=ws)
        owners = {f: os.lstat(ws / f).st_uid for f in ('new', 'd', 'd/e', 'l', 'old') if os.path.lexists(ws / f)}
        groups = {os.lstat(ws / f).st_gid for f in owners}
        ok(r.booted and r.code == 0 and len(owners) == 5 and set(owners.values()) == {uid} and groups == {uid}, p,
           f'what is written in a workspace of uid {uid} belongs to it', f'{owners}\n{r}')
        for options in p.each(('--workspace', str(ws), '--filesystem', 'readonly', '--ephemeral')):
            r = p.sh(*options, '--', 'echo z >>old && cat old', cwd=ws)
            ok(r.booted and r.code == 0 and (ws / 'old').read_text() == 'old\nc\n', p, f'uid {uid}: ephemeral', r)
    m = mark()
    proc = p.start_pale('--', 'sh', '-c', 'sleep 10; : ' + m)
    pids = wait_for(lambda: [q for q in marked(m) if q != proc.pid and
                             not open(f'/proc/{q}/cmdline').read().startswith(str(p.pale_path))])
    uids = [open(f'/proc/{q}/status').read().split('Uid:')[1].split()[0] for q in pids]
    proc.kill()
    proc.wait()
    ok(uids and '0' not in uids, p, 'started by root, the command is not the host\'s uid 0', uids)


def odd_paths(p):
    yield 'spaces', b'with some  spaces '
    yield 'a newline', b'new\nline'
    yield 'a colon', b'co:lon:'
    yield 'a comma', b'com,ma,'
    yield 'a backslash', b'back\\slash\\'
    yield 'octal', b'\\040\\012'
    yield 'bytes that are no UTF-8', b'\xff\xfe\x80'
    yield 'quotes', b'"quo\'tes$(id)`id`'
    yield 'a dash', b'--preset=off'
    yield 'dots', b'...'
    yield 'braces', b'${WORKSPACE}~*?[x]'
    yield 'a long name', b'n' * 255


def try_workspace(p, name, ws, cwd=None):
    for options in p.each(('--filesystem', 'workspace_only'), ('--filesystem', 'readonly', '--ephemeral')):
        made = os.path.join(ws, b'made')
        r = p.pale(*options, '--', 'sh', '-c', 'echo BOOTED; echo new >made && cat made seed && pwd -P', cwd=cwd or ws)
        want = 'workspace_only' in options
        ok(r.booted and r.code == 0 and r.rest == b'new\nseed\n' + os.path.realpath(ws) + b'\n' and
           os.path.exists(made) == want, p, f"a workspace with {name}, {' '.join(options[1:])}", r)
        if os.path.exists(made):
            os.unlink(made)


def case_odd_workspaces_CF11(p):
    base = os.fsencode(p.mkdir(p.base / 'odd'))

    def make(path):
        os.mkdir(path)
        with open(os.path.join(path, b'seed'), 'w') as f:
            f.write('seed\n')
        if os.geteuid() == 0:
            os.chown(path, p.owner, p.owner)
        return path
    for name, part in odd_paths(p):
        try_workspace(p, name, make(os.path.join(base, part)))
    os.symlink(b'with some  spaces ', os.path.join(base, b'link'))
    try_workspace(p, 'a link to it', os.path.join(base, b'link'))
    r = p.sh('--workspace', os.path.join(base, b'link'), '--', 'echo x >made && pwd -P', cwd=p.ws)
    real = os.path.join(base, b'with some  spaces ')
    ok(r.booted and (r.code == 0 or r.code == 125), p, '--workspace by a link', r)
    if os.path.exists(os.path.join(real, b'made')):
        os.unlink(os.path.join(real, b'made'))


def case_long_workspace_RS13(p):
    """Close to PATH_MAX: made step by step, entered by descriptor."""
    base = os.fsencode(p.mkdir(p.base / 'long'))
    for want in (3000, 4000, 4090):
        path, fd = base, os.open(base, os.O_RDONLY)
        while len(path) < want:
            part = b'd' * min(200, max(1, want - len(path) - 1))
            try:
                os.mkdir(part, dir_fd=fd)
            except FileExistsError:
                pass
            if os.geteuid() == 0:
                os.chown(part, p.owner, p.owner, dir_fd=fd)
            new = os.open(part, os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            path, fd = path + b'/' + part, new
        with open(os.open('seed', os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd), 'w') as f:
            f.write('seed\n')
        for options in p.each(('--filesystem', 'workspace_only'), ('--filesystem', 'readonly', '--ephemeral')):
            r = p.pale(*options, '--', 'sh', '-c', 'echo BOOTED; echo new >made && cat made seed',
                       cwd=None, preexec_fn=lambda: os.fchdir(fd))
            made = 'made' in os.listdir(fd)
            if made:
                os.unlink('made', dir_fd=fd)
            good = r.booted and r.code == 0 and r.rest == b'new\nseed\n' and made == ('workspace_only' in options)
            clear = want > 4000 and r.code == 125 and not r.booted and r.err and not made
            ok(good or clear, p, f"a workspace of {want} characters, {' '.join(options[1:])}", str(r)[-900:])
        os.close(fd)


def as_root(p, *argv):
    """Run a program as who we are, in the folder and with the variables of P."""
    proc = subprocess.run([os.fspath(a) for a in argv], cwd=p.ws, env=p.env, capture_output=True, timeout=30, start_new_session=True)
    return Result(argv, proc.returncode, proc.stdout, proc.stderr, 0)


@needs('ephemeral')
def case_beneath_a_mount(p):
    """An overlay shows what nobody else sees."""
    if os.geteuid() != 0:
        skip(p, 'only root can mount', only_root=True)
        return
    ws = p.mkdir(p.base / f'beneath-{time.time_ns()}')
    p.write(p.mkdir(ws / 'm') / 'under', 'BENEATH\n')
    over = p.mkdir(p.base / f'over-{time.time_ns()}')  # no tmpfs: before Linux 6.3 none can be id-mapped
    p.write(over / 'over', 'ABOVE\n')
    line = f'mount --make-rprivate / && mount --bind {over} {ws}/m && cd {ws} && '
    for options, good in ((['--filesystem', 'readonly'], True), (['--filesystem', 'readonly', '--ephemeral'], False),
                          (['--filesystem', 'readonly', '--ephemeral', '--hide', 'm'], p.is_root),
                          (['--staged'], False), (['--staged', '--hide', 'm'], p.is_root)):
        argv = ' '.join(map(str, p.argv(p.pale_argv(*options, '--', 'sh', '-c', '"echo BOOTED; cat m/*; true"'))))
        r = as_root(p, 'unshare', '-m', 'sh', '-c', line + argv)
        # An ordinary user gets no overlay around a mount.
        told = b'something is mounted on ' in r.err and (b'hide it' if p.is_root else b'unmount it') in r.err
        ok(b'BENEATH' not in r.out and (r.booted if good else r.code == 125 and told), p, ' '.join(options) + (': runs' if good else ': is refused'), r)
    r = p.run('sh', '-c', f'cat {ws}/m/under')
    ok(r.out == b'BENEATH\n', p, 'twin: it is there', r)


@needs('hidden', 'isolated')
def case_kernel_mounted_elsewhere_PR03_FR15(p):
    """What the host mounts for a chroot shows all of its processes, and lets those of the user be changed."""
    if os.geteuid() != 0:
        skip(p, 'only root can mount', only_root=True)
        return
    chroot = p.mkdir(p.ws / f'chroot-{time.time_ns()}')
    for name in ('proc', 'sys'):
        p.mkdir(chroot / name)
    canary = p.start('sleep', '60')
    line = f'echo BOOTED; cd {chroot}; echo SEEN $(cat proc/{canary.pid}/comm); ls sys; echo 7 >proc/{canary.pid}/oom_score_adj'
    mounts = (f'mount --make-rprivate / && mount -t proc proc {chroot}/proc && mount -t sysfs sys {chroot}/sys && '
              f'cd {p.ws} && exec "$@"')
    score = pathlib.Path(f'/proc/{canary.pid}/oom_score_adj')

    def run(*argv):
        return p.run('unshare', '-m', 'sh', '-c', mounts, 'sh', *argv) if p.is_root else \
            as_root(p, 'unshare', '-m', 'sh', '-c', mounts, 'sh', *p.argv(argv))

    # A /proc cannot be id-mapped, so that root's own workspace is refused, but for the whole filesystem.
    shapes = (('--filesystem', 'unrestricted'),) if p.is_root else ((), ('--read', '/'), ('--filesystem', 'unrestricted'))
    for options in p.each(*shapes):
        r = run(*p.pale_argv(*options, '--', 'sh', '-c', line))
        ok(r.booted and b'sleep' not in r.out and b'kernel' not in r.out and score.read_text() == '0\n', p,
           f"{' '.join(options) or 'default'}: neither seen nor changed", r)
    if p.is_root and has('root'):
        r = run(*p.pale_argv('--', 'sh', '-c', line))
        ok(r.code == 125 and not r.booted, p, 'and where the ids would have to be mapped, refused', r)
    r = run('sh', '-c', line)
    ok(b'SEEN sleep' in r.out and b'kernel' in r.out and score.read_text() == '7\n', p, 'twin: without a boundary it is', r)
    canary.kill()
    canary.wait()
    shutil.rmtree(chroot)


@needs('root')
def case_hidden_below_what_nobody_can_enter(p):
    """Root is nobody in particular inside: a folder of root's alone is closed to it, and what is in it cannot be mounted over."""
    if not p.is_root:
        return
    closed = pathlib.Path(tempfile.mkdtemp(prefix='pale-live-', dir='/var/lib'))  # /tmp and /var/tmp are private
    (closed / 'in').mkdir()
    (closed / 'in/key').write_text('CLOSED-KEY\n')
    for hide in ('in', 'in/key', ''):
        r = p.sh('--read', '/', '--hide', closed / hide, '--', f'cat {closed}/in/key; ls {closed}; chmod 755 {closed}; cat {closed}/in/key')
        ok(r.booted and b'CLOSED' not in r.out and b'in\n' not in r.out, p, f'{hide or "the folder"}: hidden all the same', r)
    r = p.run('cat', closed / 'in/key')
    ok(r.out == b'CLOSED-KEY\n', p, 'twin: outside it is there', r)
    shutil.rmtree(closed)


main(case_kernel_mounted_elsewhere_PR03_FR15, case_hidden_below_what_nobody_can_enter, case_beneath_a_mount, case_secrets_of_the_home_FR01, case_writes_outside_FW01_ME03, case_parent_folder,
     case_system_directories_FW01, case_private_places_FW25, case_tmpfs_size,
     case_filesystem_values, case_ephemeral, case_ephemeral_on_disk, case_lists_CF09, case_hidden_FR03_FR05_FW21,
     case_hidden_behind_a_link_FR07, case_links_in_rules_CF09,
     case_a_hidden_folder_of_the_system, case_set_up_makes_nothing_on_the_host_FW27, case_inherited_descriptors_FR12,
     case_working_directory_FR13, case_privileges_FW17_FR09_KS27,
     case_kernel_interfaces_FW09_FW11_FW13_FW14_FR11, case_proc_and_sys_FW26_FR15,
     case_core_dumps_FR17_PR17, case_owners_LC09, case_odd_workspaces_CF11,
     case_long_workspace_RS13)
