#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A profile has whatever strace has: files that were opened, executed or changed, connections.

Both watch the same run, strace inside of it. What strace shows must be in the profile,
with what was done to it; bare stat, readlink and access are not compared. What the kernel
opens by itself (interpreters of scripts and programs) is in neither.
"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

STRACE = ['strace', '-f', '-y', '-s', '4096', '-e', 'signal=none', '-e', 'trace=%file,%network,%process,fchdir']
QUOTED = r'"((?:[^"\\]|\\.)*)"'
# call: for each name the argument before it that says relative to what, and what is done
READ, WRITE, CREATE, REMOVE, EXECUTE = 'read', 'write', 'create', 'remove', 'execute'
NAMES = {
    'mkdir': (CREATE,), 'mkdirat': (CREATE,), 'mknod': (CREATE,), 'mknodat': (CREATE,), 'rmdir': (REMOVE,), 'unlink': (REMOVE,),
    'unlinkat': (REMOVE,), 'rename': (REMOVE, CREATE), 'renameat': (REMOVE, CREATE), 'renameat2': (REMOVE, CREATE),
    'link': (READ, CREATE), 'linkat': (READ, CREATE), 'symlink': (None, CREATE), 'symlinkat': (None, CREATE), 'truncate': (WRITE,),
    'chmod': (WRITE,), 'fchmodat': (WRITE,), 'chown': (WRITE,), 'lchown': (WRITE,), 'fchownat': (WRITE,), 'utimensat': (WRITE,),
    'utime': (WRITE,), 'utimes': (WRITE,), 'setxattr': (WRITE,), 'lsetxattr': (WRITE,), 'removexattr': (WRITE,), 'execve': (EXECUTE,),
    'execveat': (EXECUTE,), 'creat': (WRITE,),
}


def open_uses(flags):
    if 'O_PATH' in flags:
        return {READ}
    uses = {READ} if 'O_RDONLY' in flags or 'O_RDWR' in flags else set()
    uses |= {WRITE} if 'O_WRONLY' in flags or 'O_RDWR' in flags or 'O_TRUNC' in flags else set()
    return uses | ({CREATE} if 'O_CREAT' in flags else set())


def text(quoted):
    return re.sub(r'\\(.)', r'\1', quoted)


class Log:
    """What strace wrote: paths with uses, connections, executions."""

    def __init__(self, file, cwd):
        self.cwd, self.paths, self.connections, self.calls = {None: str(cwd)}, {}, set(), 0
        begin = {}
        for line in file.read_text(errors='replace').splitlines():
            pid, _, rest = line.partition(' ')
            rest = rest.strip()
            if rest.endswith('<unfinished ...>'):
                begin[pid] = rest.removesuffix('<unfinished ...>')
                continue
            rest = re.sub(r'^<\.\.\. \w+ resumed>', lambda _: begin.pop(pid, ''), rest)
            match = re.match(r'(\w+)\((.*)\)\s+= (-?\d+|\?)', rest)
            if match:
                self.take(pid, *match.groups())

    def where(self, pid):
        return self.cwd.get(pid, self.cwd[None])

    def resolve(self, pid, before, name):
        """NAME after BEFORE, the text in front of it: a descriptor with its path, or nothing."""
        base = re.search(r'(?:AT_FDCWD|\d+)<([^>]*)>,\s*$', before)
        return os.path.normpath(os.path.join(base[1] if base else self.where(pid), name))

    def take(self, pid, call, args, result):
        names = [(m.start(), text(m[1])) for m in re.finditer(QUOTED, args)]
        if call in ('clone', 'fork', 'vfork', 'clone3') and result.isdigit():
            self.cwd[result] = self.where(pid)
        if call == 'chdir' and result == '0':
            self.cwd[pid] = self.resolve(pid, '', names[0][1])
        if call == 'fchdir' and result == '0':
            self.cwd[pid] = re.search(r'<([^>]*)>', args)[1]
        uses = ()
        if call in ('open', 'openat') and names:
            uses = (open_uses(args[args.rindex(names[0][1]) if names[0][1] else 0:]),)
        elif call in NAMES:
            uses = tuple({u} if u else None for u in NAMES[call])
        for (at, name), use in zip(names, uses):
            if name and use:
                self.calls += 1
                self.paths.setdefault(self.resolve(pid, args[:at], name), set()).update(use)
        if call == 'connect':
            port = re.search(r'port=htons\((\d+)\)', args)
            address = re.search(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"', args)
            local = re.search(r'sun_path=(@?)"([^"]*)"', args)
            if address and port and port[1] != '0':
                self.connections.add((address[1] or address[2], int(port[1])))
            elif local:
                self.connections.add((local[1] + local[2] if local[1] else os.path.normpath(os.path.join(self.where(pid), local[2])), 0))


def profile(p, *args, **kw):
    """pale run --profile-fd: the result, and the profile."""
    out = p.write(p.base / 'profile.json', '')
    with open(out, 'w') as f:
        os.dup2(f.fileno(), 200)
        os.set_inheritable(200, True)
        r = p.pale('--profile-fd', '200', *args, pass_fds=(200,), **kw)
        os.close(200)
    try:
        return r, json.loads(out.read_text())
    except ValueError:
        return r, {'paths': [], 'connections': [], 'spawns': 0, 'dropped': -1}


SOURCE = 'for i in 1 2 3; do printf "#include <stdio.h>\\n#include <stdlib.h>\\nint f%d(void){return %d;}\\n" $i $i >src$i.c; done; '
COMMANDS = (
    ('make', SOURCE + 'printf "all: src1.o src2.o src3.o\\n%%.o: %%.c\\n\\tgcc -O1 -c -o \\$@ \\$<\\n" >Makefile; make -s -j2 -B'),
    ('python3', '''python3 -c "
import os, socket, sqlite3, subprocess, tempfile, threading
with tempfile.TemporaryDirectory() as d:
    os.symlink('x', d + '/l'); os.link(d + '/../' + os.path.basename(d) + '/l', d + '/h', follow_symlinks=False)
    open(d + '/x', 'w').close(); os.truncate(d + '/x', 3); os.chmod(d + '/x', 0o600); os.utime(d + '/x'); os.replace(d + '/x', d + '/y')
    t = [threading.Thread(target=lambda i=i: open(d + '/t%d' % i, 'w').close()) for i in range(20)]
    [x.start() for x in t]; [x.join() for x in t]
sqlite3.connect('db').execute('create table if not exists t (x)')
for f, a in ((socket.AF_INET, ('192.0.2.9', 81)), (socket.AF_INET6, ('::1', 82)), (socket.AF_UNIX, 'no-such-socket'), (socket.AF_UNIX, '@abstract')):
    try: socket.socket(f).connect('\\\\0abstract' if a == '@abstract' else a)
    except OSError: pass
os.chdir('/usr'); open('bin/env', 'rb').close(); fd = os.open('/usr/lib', os.O_RDONLY); os.close(os.open('os-release', os.O_RDONLY, dir_fd=fd))
subprocess.run(['sh', '-c', 'cd /etc && cat hostname >/dev/null; /no/such/program'], stderr=-3)
"'''),
    ('git', 'rm -rf r; git init -q r && cd r && git config user.name n && git config user.email e@e && cp ../file . && git add file && git commit -qm first && git status --short'),
    ('tar', 'mkdir -p d/e && echo x >d/e/f && ln -sf e d/l && tar -cf t.tar d && rm -r d && tar -xpf t.tar && find d -type f -exec cat {} + && rm -r d t.tar'),
    ('perl', r'''perl -e 'mkdir "pd"; open(F, ">", "pd/f"); close F; chmod 0600, "pd/f"; rename "pd/f", "pd/g"; unlink "pd/g"; rmdir "pd"; system("true"); exec("/bin/echo", "x")' '''),
    ('sh', 'printf "#!/bin/sh\\necho script\\n" >script; chmod +x script; ./script; (cd /tmp; echo x >y; rm y); exec ./script'),
)


@needs('tracing')
def case_against_strace(p):
    if not shutil.which('strace', path=CLEAN_PATH):
        return skip(p, 'no strace here', only_root=True)
    for program, line in COMMANDS:
        if not shutil.which(program, path=CLEAN_PATH):
            skip(p, f'no {program} here', only_root=True)
            continue
        log = p.ws / 'strace.log'
        r, got = profile(p, '--', *STRACE, '-o', log, 'sh', '-c', 'echo BOOTED; ' + line, timeout=120)
        if not ok(r.booted and log.exists() and got['dropped'] == 0, p, f'{program}: a profile and a log of one run', f'{r}\n{got["dropped"]}'):
            continue
        seen = Log(log, p.ws)
        mine = {x['path']: {u for u in (READ, WRITE, CREATE, REMOVE, EXECUTE) if x.get(u)} for x in got['paths']}
        missing = {path: uses - mine.get(path, set()) for path, uses in seen.paths.items() if uses - mine.get(path, set())}
        ok(seen.calls > 20 and not missing, p, f'{program}: {seen.calls} calls about {len(seen.paths)} files, all of them there', missing)
        peers = {(c['address'], c['port']) for c in got['connections']}
        ok(seen.connections <= peers and (program != 'python3' or len(seen.connections) >= 4), p,
           f'{program}: and {len(seen.connections)} connections', seen.connections - peers)
        log.unlink()


def case_by_itself(p):
    """Without strace: a command whose uses are known."""
    r, got = profile(p, '--', 'sh', '-c', 'cat file >copy; rm copy; mkdir -p md; rmdir md; /bin/true; exit 0')
    mine = {x['path']: x for x in got['paths']}
    ws = str(p.ws)
    ok(r.code == 0 and mine.get(ws + '/file', {}).get('read') and 'write' not in mine.get(ws + '/file', {}), p, 'what was read', f'{r}\n{got}')
    copy = mine.get(ws + '/copy', {})
    ok(copy.get('write') and copy.get('create') and copy.get('remove') and copy.get('count') == 2, p, 'what was written, and removed', copy)
    ok(mine.get(ws + '/md', {}).get('create') and mine.get(ws + '/md', {}).get('remove'), p, 'a folder', mine.get(ws + '/md'))
    programs = [path for path, x in mine.items() if x.get('execute')]
    ok({'sh', 'cat', 'rm', 'true'} <= {os.path.basename(x) for x in programs}, p, 'programs, the first one too', programs)
    ok(got['spawns'] == 6, p, 'six of them were executed', got['spawns'])
    ok(r.err == b'', p, 'nothing is said of it', r)


def case_usage(p):
    for args, words in ((('--profile-fd', '1'), b'0 to 2'), (('--profile-fd', 'x'), b'no number'), (('--profile-fd', '199'), b'--profile-fd')):
        r = p.pale(*args, '--', 'echo', 'ran')
        ok(r.code == 125 and r.out == b'' and words in r.err, p, f"{' '.join(args)} is refused", r)
    p.config('[sandbox]\nobserve = false\n')
    r, got = profile(p, '--', 'true')
    ok(r.code == 0 and got['spawns'] == 1, p, 'a profile was asked for: the key does not matter', f'{r}\n{got}')
    p.no_config()


def case_exposes_nothing(p):
    """The boundary is the same under a profile."""
    before = digest(p.outside, p.home)
    line = (f'echo x >{p.outside}/new; echo x >{p.outside}/canary; echo x >/usr/pale-test; cat {p.home}/.ssh/id_rsa; unshare -U true; '
            'python3 -c "import socket; socket.create_connection((\'192.0.2.1\', 80), 2)"; echo done')
    r, got = profile(p, '--json', '--', 'sh', '-c', 'echo BOOTED; ' + line)
    ok(r.booted and b'done' in r.err and b'CANARY' not in r.err and digest(p.outside, p.home) == before and not os.path.exists('/usr/pale-test'), p,
       'nothing was read or written outside', r)
    ops = {v['op'] for v in r.json().get('violations') or ()}
    ok({'create', 'unshare'} <= ops, p, 'and what was refused is seen as always', r)
    ok(any(x['path'] == f'{p.home}/.ssh/id_rsa' for x in got['paths']), p, 'that it was attempted is in the profile', got)


main(case_by_itself, case_usage, case_exposes_nothing, case_against_strace, uids=(1000,))
