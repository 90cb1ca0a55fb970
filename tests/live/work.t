#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real work goes on inside as it does outside.

Each item is a small project and a shell line. It is done on the host and then,
from a fresh copy at the same path, inside with the default preset: the exit
status and the output must be the same. Builds are done once more with --staged:
the host's tree stays as it was, and after an apply it is as built there. Tools that are large and not everywhere
are left out where they are missing, and no demand of PALE_MUST_WORK.
"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

CASES = []
STAGED = ('autotools', 'cmake', 'make in parallel', 'npm', 'python venv', 'git', 'archives', 'rsync')
MAIN_C = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'


def lacks(p, tools, env):
    """The first of TOOLS that this person has not."""
    return next((t for t in tools.split() if p.run('sh', '-c', 'command -v "$0"', t, env=env).code != 0), None)


def fresh(p, files):
    place = p.ws / 'project'
    subprocess.run(['rm', '-rf', place], check=True)
    p.mkdir(place)
    for name, text in files.items():
        mode = 0o755 if text.startswith('#!') else 0o644
        parent = (place / name).parent
        for d in [d for d in reversed(parent.parents) if place in d.parents] + [parent]:
            p.mkdir(d)
        p.write(place / name, text, mode)
    return place


def compare(p, line, files, want, env, todo=None, timeout=120):
    full = 'cd project || exit 99\n' + line
    fresh(p, files)
    host = p.host_sh(full, env=env, timeout=timeout)
    fresh(p, files)
    inside = p.pale('--', 'sh', '-c', 'echo BOOTED; ' + full, 'sh', env=env, timeout=timeout)
    twin = ok(host.code == 0 and want in host.out, p, 'works on the host', host)
    ok(inside.booted and inside.code == host.code and inside.out == host.out and twin, p, 'and the same inside',
       f'{host}\n{inside}\n{host.err.decode(errors="replace")[-1500:]}\n{inside.err.decode(errors="replace")[-1500:]}', todo)


def tree_names(place):
    """Names and kinds: builds give no two files of the same content or time."""
    return sorted((re.sub('[0-9a-f]{40}', 'ID', os.path.relpath(os.path.join(d, n), place)), stat.S_IFMT(os.lstat(os.path.join(d, n)).st_mode))
                  for d, dirs, files in os.walk(place) for n in dirs + files if '.git/objects/' not in d + '/')


def compare_staged(p, line, files, env, timeout=120):
    full = 'cd project || exit 99\n' + line
    place = fresh(p, files)
    host = p.host_sh(full, env=env, timeout=timeout)
    built = tree_names(place)
    fresh(p, files)
    before = digest(p.ws)
    inside = p.pale('--staged', '--', 'sh', '-c', 'echo BOOTED; ' + full, 'sh', env=env, timeout=timeout)
    ok(inside.booted and (inside.code, inside.out) == (host.code, host.out), p, 'and the same staged', f'{host}\n{inside}')
    ok(digest(p.ws) == before, p, 'which leaves the host as it was')
    r = p.verb('apply', '--include-protected', 'project', env=env, timeout=timeout)
    ok(r.code == 0 and tree_names(place) == built, p, 'and becomes it when it is applied',
       f'{r}\n{set(tree_names(place)) ^ set(built)}')
    p.verb('discard', '--all', env=env)


def work(name, line, want, files=None, needs='', optional='', env=None, todo=None):
    """An item. NEEDS are tools that tools/deps brings; OPTIONAL ones may be missing. TODO
    says of a person why it does not work for him yet."""
    def case(p):
        e = dict(p.env, **(env(p) if env else {}))
        missing = lacks(p, optional, e)
        if missing:
            return skip(p, f'no {missing} here', only_root=True)
        missing = lacks(p, needs, e)
        if missing:
            return skip(p, f'no {missing}')
        compare(p, line, files or {}, want if isinstance(want, bytes) else want.encode(), e, todo and todo(p))
        if name in STAGED and not ENGINE:
            compare_staged(p, line, files or {}, e)
    case.__name__ = 'case_' + name.replace(' ', '_')
    CASES.append(case)


def python(name, text, want, **kw):
    work(name, 'python3 -B main.py', want, {'main.py': text}, needs='python3', **kw)


# ---- builds

work('autotools', '''
{ autoreconf -i && ./configure --prefix=/opt/x && make -j2; } >log 2>&1 || { tail log >&2; exit 1; }
./hello && make check >check 2>&1; echo $?; grep '^# ' check
make install DESTDIR="$PWD/root" >/dev/null 2>&1 && root/opt/x/bin/hello
make dist >/dev/null 2>&1 && tar tzf hello-1.0.tar.gz | sort | head -n 5''', '# PASS:  2', {
    'configure.ac': 'AC_INIT([hello],[1.0])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_CHECK_FUNCS([mmap])\n'
                    'AC_CONFIG_HEADERS([config.h])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n',
    'Makefile.am': 'bin_PROGRAMS = hello\nhello_SOURCES = hello.c\nTESTS = one.sh two.sh\nEXTRA_DIST = one.sh two.sh\n',
    'hello.c': '#include <config.h>\n' + MAIN_C,
    'one.sh': '#!/bin/sh\n./hello | grep hello\n', 'two.sh': '#!/bin/sh\nexit 0\n',
}, needs='autoreconf automake make gcc')

work('cmake', '''
cmake -G Ninja -B build >log 2>&1 && ninja -C build >>log 2>&1 || { tail log >&2; exit 1; }
build/hello; ctest --test-dir build 2>&1 | grep 'tests passed'; exit 0''', '100% tests passed', {
    'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.10)\nproject(hello C)\nadd_library(part STATIC part.c)\n'
                      'add_executable(hello hello.c)\ntarget_link_libraries(hello part)\nenable_testing()\n'
                      'add_test(NAME one COMMAND hello)\nadd_test(NAME two COMMAND hello)\n',
    'part.c': 'int part(void) { return 7; }\n', 'hello.c': MAIN_C,
}, optional='cmake ninja')

work('make in parallel', '''
for i in $(seq 40); do echo "int f$i(void) { return $i; }" >f$i.c; done
make -j8 >log 2>&1 || { tail log >&2; exit 1; }
./all; nm all | grep -c ' T f'; TMPDIR=/tmp gcc -O2 -save-temps=obj -c f1.c -o f1.o && ls f1.*''', '40\n', {
    'Makefile': 'all: $(patsubst %.c,%.o,$(wildcard *.c))\n\t$(CC) -o $@ $^\n',
    'main.c': MAIN_C,
}, needs='make gcc')

work('npm', '''
export npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false
npm pack --silent ./dep && npm install --offline --silent && rm -rf node_modules && npm ci --offline --silent || exit
ls node_modules; npm test 2>/dev/null | tail -n 1; npx --offline --no-install greet''', 'passed with 42', {
    'dep/package.json': '{"name":"pale-dep","version":"1.0.0","main":"index.js","bin":{"greet":"greet.js"}}',
    'dep/index.js': 'module.exports = 42\n', 'dep/greet.js': '#!/usr/bin/env node\nconsole.log("greetings")\n',
    'package.json': '{"name":"project","version":"1.0.0","scripts":{"test":"node test.js"},'
                    '"dependencies":{"pale-dep":"file:pale-dep-1.0.0.tgz"}}',
    'test.js': 'console.log("passed with", require("pale-dep"))\n',
}, optional='node npm')

work('node', '''
node main.js''', 'worker 55\nserved /x\nchild ok\nwatched new', {
    'main.js': '''
const {Worker, isMainThread, parentPort} = require('worker_threads')
const http = require('http'), cp = require('child_process'), fs = require('fs')
async function main() {
	const w = new Worker('const {parentPort} = require("worker_threads"); let s = 0; ' +
		'for (let i = 1; i <= 10; i++) s += i; parentPort.postMessage(s)', {eval: true})
	console.log('worker', await new Promise(r => w.on('message', r)))
	const s = http.createServer((q, a) => a.end('served ' + q.url))
	await new Promise(r => s.listen(0, 'localhost', r))
	console.log(await new Promise(r => http.get({host: 'localhost', port: s.address().port, path: '/x'},
		a => { let t = ''; a.on('data', d => t += d); a.on('end', () => r(t)) })))
	s.close()
	console.log(cp.execFileSync('echo', ['child ok']).toString().trim())
	fs.mkdirSync('d')
	const seen = new Promise(r => fs.watch('d', (e, n) => r(n)))
	fs.writeFileSync('d/new', 'x')
	console.log('watched', await seen)
	process.exit(0)
}
main()
''',
}, optional='node')

work('python venv', '''
if python3 -c 'import ensurepip' 2>/dev/null; then python3 -m venv env; else python3 -m venv --without-pip env; fi || exit
. env/bin/activate; python -c 'import sys; print(sys.prefix != sys.base_prefix)'
python -m unittest -v 2>&1 | grep -v '^Ran'; python -m compileall -q . && ls __pycache__ | wc -l
if [ -x env/bin/pip ]; then pip --version | cut -d' ' -f1; pip list --disable-pip-version-check 2>/dev/null | grep -c pip; fi
exit 0''', 'True\ntest_one', {
    'test_it.py': 'import unittest\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(1, 1)\n',
}, needs='python3')


def with_cargo(p):
    home = '/root' if p.is_root else str(p.home)
    return {'HOME': home, 'PATH': f'{home}/.cargo/bin:' + p.env['PATH']}


work('cargo', '''
cargo --version >/dev/null || exit; cargo build --offline --quiet && ./target/debug/hello
cargo test --offline 2>/dev/null | grep '^test result' | head -n 1 | cut -d. -f1''', 'test result: ok', {
    'Cargo.toml': '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\n',
    'src/main.rs': 'fn main() { println!("hello"); }\n#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n',
}, optional='cargo rustc', env=with_cargo)

work('java', 'java Hello.java && javac -d out Hello.java && java -cp out Hello',
     'hello 500\nhello 500\n', {
    'Hello.java': 'import java.util.stream.*;\npublic class Hello { public static void main(String[] a) {\n'
                  'System.out.println("hello " + IntStream.range(0, 1000).parallel().filter(i -> i % 2 == 0).count()); } }\n',
}, optional='java javac')

work('go', 'export GOFLAGS=-mod=mod GOPROXY=off; go build -o hello . && ./hello && go test ./... 2>&1 | cut -f1,2', 'hello', {
    'go.mod': 'module example.org/hello\n', 'main.go': 'package main\nfunc main() { println("hello") }\n',
    'main_test.go': 'package main\nimport "testing"\nfunc TestOne(t *testing.T) {}\n',
}, optional='go')

work('git', '''
g() { git -c user.name=A -c user.email=a@example.org -c init.defaultBranch=main "$@"; }
g init -q origin && cd origin && echo 1 >f && g add f && g commit -qm one && cd .. || exit
g clone -q origin copy && cd copy && echo 2 >f && g commit -qam two && g push -q origin main:next || exit
g log --format=%s origin/next; g worktree add -q ../tree && ls ../tree; g gc -q && g fsck && g stash list
git -C ../origin branch; g rebase -q HEAD~1 && g bisect start HEAD HEAD~1 >/dev/null && g status --short | wc -l''',
     'two\none\n', needs='git')

# ---- tools that watch programs

DEBUG_C = '#include <stdio.h>\nint add(int a, int b) { return a + b; }\nint main(void) { printf("%d\\n", add(1, 2)); return 0; }\n'
work('gdb', '''
gcc -g -O0 -o prog prog.c || exit
gdb -nx -batch -ex 'break add' -ex run -ex bt -ex 'print a+b' -ex continue ./prog 2>/dev/null | grep -E '^#|^\\$1|exited' |
	sed -e 's/0x[0-9a-f]* in //' -e 's/(process [0-9]*) //' # neither address nor number stays the same''', '#1  ', {'prog.c': DEBUG_C}, optional='gdb', needs='gcc')

work('strace', '''
strace -f -qq -o log -e trace=execve,exit_group sh -c '/bin/true; /bin/echo hi; (exit 3)'; echo $?
grep -c 'execve.* = 0' log; strace -c -o sum true; head -n 1 sum | cut -c1-6
strace -qq -o /dev/null -e inject=getppid:error=EPERM true; echo $?''', 'hi\n', needs='strace')

work('sanitizers', '''
gcc -g -fsanitize=address -o leak leak.c && ./leak 2>err; echo $?; grep -o 'detected memory leaks' err
gcc -g -fsanitize=address,undefined -o over over.c && ./over 2>err; echo $?; grep -o 'heap-buffer-overflow' err | head -n 1
gcc -g -fsanitize=thread -o race race.c -pthread && ./race 2>err; echo $?; grep -o 'data race' err | head -n 1''',
     'detected memory leaks\n1\nheap-buffer-overflow\n66\ndata race', {
    'leak.c': '#include <stdlib.h>\nint main(void) { volatile char *p = malloc(10); p = 0; return p != 0; }\n',
    'over.c': '#include <stdlib.h>\nint main(int c, char **v) { (void)v; char *p = malloc(4); return p[c + 4]; }\n',
    'race.c': '#include <pthread.h>\nint x; void *f(void *p) { for (int i = 0; i < 10000; i++) x++; return p; }\n'
              'int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0);\n'
              'pthread_join(a, 0); pthread_join(b, 0); return 0; }\n',
}, needs='gcc')

work('valgrind', 'gcc -g -o p p.c && valgrind -q --leak-check=full --error-exitcode=9 ./p 2>err; echo $?; grep -c "definitely lost" err',
     '9\n1\n', {'p.c': '#include <stdlib.h>\nint main(void) { volatile char *p = malloc(10); p = 0; return 0; }\n'},
     needs='gcc valgrind')

# ---- what programs use of the system

work('terminals', '''
script -qec 'test -t 0 && test -t 1 && echo yes; stty rows 10 cols 20; stty size' /dev/null </dev/null | tr -d '\\r'
python3 -c 'import os, pty
pid, fd = pty.fork()
if pid == 0: os.execlp("sh", "sh", "-c", "tty >/dev/null && echo a terminal; exit 4")
text = b""
try:
    while True: text += os.read(fd, 100)
except OSError: pass
print(text.decode().strip(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' ''', 'yes\n10 20\na terminal 4', needs='script python3')

python('multiprocessing', '''
import multiprocessing as mp, threading
from multiprocessing import shared_memory
from concurrent.futures import ProcessPoolExecutor
def square(n): return n * n
def add(lock, value):
    for _ in range(200):
        with lock: value.value += 1
if __name__ == '__main__':
    with mp.Pool(4) as pool: print(sum(pool.map(square, range(100))))
    lock, value = mp.Lock(), mp.Value('i', 0, lock=False)
    all = [mp.Process(target=add, args=(lock, value)) for _ in range(4)]
    [a.start() for a in all]; [a.join() for a in all]; print(value.value)
    s = mp.Semaphore(3); s.acquire(); print(s.get_value())
    q = mp.Queue(); q.put('queued'); print(q.get())
    m = shared_memory.SharedMemory(create=True, size=1 << 20); m.buf[:3] = b'abc'
    n = shared_memory.SharedMemory(m.name); print(bytes(n.buf[:3])); n.close(); m.close(); m.unlink()
    with mp.get_context('forkserver').Pool(2) as pool: print(pool.map(square, (2, 3)))
    with ProcessPoolExecutor(2, mp_context=mp.get_context('spawn')) as e: print(list(e.map(square, (4, 5))))
    t = [threading.Thread(target=lambda: None) for _ in range(50)]; [x.start() for x in t]; [x.join() for x in t]
''', '328350\n800\n2\nqueued\n')

python('sqlite', '''
import sqlite3, multiprocessing as mp
def add(n):
    db = sqlite3.connect('a.db', timeout=60)
    for i in range(50):
        with db: db.execute('insert into t values (?)', (i,))
if __name__ == '__main__':
    db = sqlite3.connect('a.db'); print(db.execute('pragma journal_mode=wal').fetchone()); db.execute('create table t (x)'); db.commit()
    all = [mp.Process(target=add, args=(i,)) for i in range(3)]
    [a.start() for a in all]; [a.join() for a in all]
    print(db.execute('select count(*), sum(x) from t').fetchone(), db.execute('pragma integrity_check').fetchone())
''', '(150, 3675)')

python('files', '''
import ctypes, errno, fcntl, mmap, os, select, struct, tempfile, threading
with open('m', 'w+b') as f:
    f.truncate(1 << 20); m = mmap.mmap(f.fileno(), 0)
    if os.fork() == 0: m[:5] = b'child'; m.flush(); os._exit(0)
    os.wait(); print(m[:5], os.pread(f.fileno(), 5, 0))
x = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC); print('executable memory', len(x))
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0); os.mkdir('d'); libc.inotify_add_watch(fd, b'd', 0x100)
open('d/new', 'w').close(); print(os.read(fd, 4096)[16:19])
a, b = open('lock', 'w'), open('lock', 'w')
fcntl.flock(a, fcntl.LOCK_EX)
try: fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError as e: print('flock', errno.errorcode[e.errno])
fcntl.lockf(a, fcntl.LOCK_EX); print('lockf')
os.setxattr('lock', 'user.x', b'1'); print(os.listxattr('lock'))
os.link('lock', 'hard'); os.symlink('lock', 'soft'); print(os.stat('soft').st_nlink)
os.mkfifo('fifo'); print(oct(os.stat('fifo').st_mode))
fd = os.open('.', os.O_TMPFILE | os.O_RDWR); os.write(fd, b'x'); os.link(f'/proc/self/fd/{fd}', 'named', src_dir_fd=fd); print(os.stat('named').st_size)
with open('sparse', 'w+b') as f: os.posix_fallocate(f.fileno(), 0, 1 << 20); f.truncate(1 << 30); print(os.stat('sparse').st_size)
print(os.copy_file_range(os.open('m', 0), os.open('copy', os.O_CREAT | os.O_RDWR), 5), os.stat('copy').st_size)
fd = os.memfd_create('x', 0); os.write(fd, open('/bin/true', 'rb').read()); print('memfd', os.spawnv(os.P_WAIT, f'/proc/self/fd/{fd}', ['true']))
os.rename('d', 'e'); os.replace('copy', 'named'); os.utime('named', (1, 2)); print(os.stat('named').st_mtime)
os.chmod('named', 0o7755 & ~0o6000); print(oct(os.stat('named').st_mode)); os.chown('named', os.getuid(), os.getgid())
name = 'n' * 200
for i in range(40): os.mkdir(name); os.chdir(name)
open('deep', 'w').write('deep'); print(open('deep').read(), len(os.getcwd()) > 4096)
''', "b'child' b'child'\nexecutable memory 4096\nb'new'\nflock EAGAIN\n")

python('sockets', '''
import os, select, socket, threading
def serve(s):
    c, _ = s.accept(); c.sendall(c.recv(100).upper()); c.close()
def talk(family, address, to=None):
    s = socket.socket(family, socket.SOCK_STREAM); s.bind(address); s.listen()
    threading.Thread(target=serve, args=(s,)).start()
    c = socket.create_connection((to, s.getsockname()[1])) if to else socket.socket(family)
    if not to: c.connect(s.getsockname())
    c.sendall(b'hello'); print(family, to, c.recv(100))
talk(socket.AF_INET, ('127.0.0.1', 0)); talk(socket.AF_INET, ('localhost', 0), 'localhost'); talk(socket.AF_INET, ('0.0.0.0', 0))
talk(socket.AF_UNIX, 'socket'); talk(socket.AF_UNIX, '/tmp/pale-work-%d' % os.getpid()); talk(socket.AF_UNIX, '\\0pale-%d' % os.getpid())
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0)); u.sendto(b'datagram', u.getsockname()); print(u.recv(100))
a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [os.open('/dev/null', 0)]); print(len(socket.recv_fds(b, 1, 1)[1]))
e = select.epoll(); e.register(a, select.EPOLLOUT); print(len(e.poll(1)))
print(sorted({x[4][0] for x in socket.getaddrinfo('localhost', 80, socket.AF_INET)}), socket.gethostbyname('localhost'))
if socket.has_ipv6 and os.path.exists('/proc/net/if_inet6'): print('if_inet6')
''', "b'HELLO'", )

work('devices', '''
bash -c 'cat <(echo substituted)'; echo stdin | cat /dev/stdin; echo x >/dev/null; head -c 5 /dev/zero | wc -c; head -c 5 /dev/urandom | wc -c
echo x 2>/dev/null >/dev/full || echo full; ls /dev/shm >/dev/null && echo shm; test -c /dev/ptmx && echo ptmx; { echo fd >/dev/fd/1; echo out >/dev/stdout; echo err >/dev/stderr; } 2>&1 | cat; ls -ld /dev/shm | cut -c1-10
ipcmk -M 1000 | cut -d: -f1 && ipcrm -a; mktemp -d >/dev/null && echo mktemp; ls -ld /tmp | cut -c1-10''', 'substituted\nstdin\n', needs='bash')

work('who and where', '''
id -u; id -g; id -un; whoami; getent passwd "$(id -u)"; getent group "$(id -g)"; groups; echo "$HOME $USER"; cd ~ && pwd
getent hosts localhost | cut -d' ' -f1; getent ahosts localhost | grep -c 127.0.0.1; nproc; umask; ulimit -n; ulimit -s; getconf PAGESIZE; uname -rms
stat -c '%u %g' .; test -w . && echo writable''', 'writable')

work('locale and time', '''
date -u -d @0; TZ=Europe/Berlin date -d @0; date +%Z; locale -a | head -n 3; LC_ALL=C.UTF-8 locale charmap; printf 'b\\nB\\na\\n' | sort
python3 -c 'import time, locale; locale.setlocale(locale.LC_ALL, ""); print(time.tzname, locale.nl_langinfo(locale.CODESET))'
perl -e 'print "perl ", join(",", localtime(0)), "\\n"'; printf 'h\\303\\244' | wc -m; iconv -f utf-8 -t latin1 </dev/null && echo iconv''',
     'Thu Jan  1 00:00:00 UTC 1970\nThu Jan  1 01:00:00', needs='python3 perl')

work('processes', '''
sleep 60 & kill $! && wait $!; echo $?; timeout 1 sleep 5; echo $?; nohup true 2>/dev/null; echo $?; setsid true; nice -n 5 nice
taskset -c 0 nproc; trap 'echo trapped' USR1; kill -USR1 $$; ps -o comm= -p $$; pgrep -x no-such-thing; echo $?
sh -c 'kill -SEGV $$'; echo $?; xargs -P 4 -n 1 echo <<END | sort
3
1
2
END
prlimit --nofile=100:100 sh -c 'ulimit -n'; flock lock echo locked; unshare -U true 2>/dev/null; exit 0''', '143\n124\n0\n')

work('archives', '''
mkdir t && echo x >t/f && chmod 640 t/f && ln -s f t/l && tar cf a.tar t && tar --owner=1234 --group=1234 -cf b.tar t && rm -rf t || exit
tar xpf a.tar && stat -c '%a %u %g %n' t/f; tar czf - t | tar tzf -; cp -a t u && stat -c '%a %u %N' u/l; echo t/f | cpio -o --quiet 2>/dev/null | wc -c
install -m 700 t/f v && stat -c %a v; gzip -k t/f && zcat t/f.gz; python3 -c 'import zipfile; z = zipfile.ZipFile("z.zip", "w"); z.write("t/f"); print(z.namelist())' ''',
     '640 ', needs='tar python3')

work('a foreign archive', '''
mkdir t && echo x >t/f && tar --owner=1234 --group=1234 -cf b.tar t && rm -rf t && tar xf b.tar; echo $?; cat t/f''', '0\nx',
     todo=lambda p: 'tar gives files their owners back when it is uid 0, and uid 0 may not inside' if p.is_root else None)

work('rsync', 'mkdir a && echo x >a/f && rsync -a a/ b/ && rsync -ai a/ b/ && cat b/f', 'x', optional='rsync')

work('scratch', '''
head -c 400M /dev/zero >/tmp/pale-big-$$ && stat -c %s /tmp/pale-big-$$; rm -f /tmp/pale-big-$$
echo x >~/in-home && cat ~/in-home && rm ~/in-home; mkdir -p ~/.cache/x && rmdir ~/.cache/x && echo cache''', '419430400')


def case_nothing_raises_privileges(p):
    """A setuid program and one with file capabilities: no more inside than without."""
    if os.geteuid() != 0:
        return skip(p, 'needs root', only_root=True)
    other = 1000 if p.is_root else 0
    tool = fresh(p, {}) / 'tool'
    p.write(p.ws / 'project/t.c', '#include <stdio.h>\n#include <unistd.h>\n#include <string.h>\nint main(void) {\n'
            'char l[256]; FILE *f = fopen("/proc/self/status", "r"); printf("euid=%d", geteuid());\n'
            'while (fgets(l, sizeof(l), f)) if (!strncmp(l, "CapEff", 6)) printf(" caps=%s", l + 8); }\n')
    subprocess.run(['gcc', '-o', tool, p.ws / 'project/t.c'], check=True)
    os.chown(tool, other, other)
    tool.chmod(0o6755)
    r = p.run(tool)
    ok(b'euid=%d ' % other in r.out, p, 'on the host the setuid bit works', r)
    r = p.sh('project/tool; id -u')
    euid = re.search(rb'euid=(\d+) caps=0+\n(\d+)\n', r.rest)
    ok(r.booted and euid and euid[1] == euid[2], p, 'and inside it does not', r)
    os.chown(tool, p.uid, p.uid)
    tool.chmod(0o755)
    # cap_net_raw, permitted and effective, revision 2
    os.setxattr(tool, 'security.capability', bytes.fromhex('0100000200200000000000000000000000000000'))
    r = p.run(tool)
    ok(not re.search(rb'caps=0+\n', r.out), p, 'on the host file capabilities work', r)
    r = p.sh('project/tool')
    ok(r.booted and re.search(rb'caps=0+\n', r.out), p, 'and inside they do not', r)


main(*CASES, case_nothing_raises_privileges, uids=(1000,))
