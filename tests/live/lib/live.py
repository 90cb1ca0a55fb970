# SPDX-License-Identifier: MIT
"""live - what the tests on a real kernel share.

A test is a list of cases; each case is a function that takes a `Person`: a uid
with a home, a workspace and a copy of the program of its own, below one scratch
folder. Run by root, every case runs as root and as ordinary uids, by setpriv;
else only as the caller.

    from live import *
    def case_hello(p):
        r = p.pale('--', 'echo', 'hi')
        ok(r.out == b'hi\\n', p, 'prints what it was told')
    main(case_hello)

PALE names the program (build/pale); PALE_MUST_WORK=1 turns skips into failures,
except those of cases that only root can run.

PALE_ENGINE=bwrap or landlock runs everything on that engine: every `pale run` gets --engine.
What it does not claim is named by `@needs('ephemeral')`, or by `has('ephemeral')`
inside of a case. There, root works with somebody else's files.
"""
import atexit
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
TOP = HERE.parent.parent
BOOTED = b'BOOTED\n'
ENGINE = os.environ.get('PALE_ENGINE', '')
# What an engine does not do, and why; the plan refuses it there.
MISSING = {
    'bwrap': {
        'ephemeral': 'bwrap makes no overlay',
        'caches of root': "bwrap runs as the owner of the workspace, who cannot enter root's state",
        'root': "bwrap is not for root's own workspace, nor for root with the whole filesystem",
        'outer namespace': "in a namespace without root, no bwrap is root's alone",
    },
    'landlock': {
        'ephemeral': 'landlock makes no overlay',
        'root': "landlock is not for root's own workspace",
        'caches': 'landlock has no mounts that put a folder in the place of another',
        'nested': 'landlock has no namespaces to nest in',
        'isolated': 'landlock has no namespaces: the processes, names and IPC of the host are there, or closed',
        'private': "landlock has no private folders: the host's are closed",
        'hidden': 'landlock cannot hide what lies below an open folder',
        'whole': 'landlock cannot open the whole filesystem and keep its own files closed',
        'sockets': 'landlock makes no local socket at all, and no other without the network',
        'loopback': 'landlock has no loopback of its own',
        'metadata': 'landlock is no boundary for metadata',
        'tracing': 'landlock lets nobody trace',
        'bounding': 'an ordinary user without a namespace cannot empty the bounding set; no_new_privs makes it void',
        'home': "landlock closes the host's home; git ends where it cannot read ~/.gitconfig",
    },
}
ENGINE_OPTIONS = ('--engine', ENGINE) + ('--allow-degraded', 'processes') * (ENGINE == 'landlock')
ORDINARY = (1000, 54321)  # the second one has no passwd entry
SETPRIV = shutil.which('setpriv') or 'setpriv'
CLEAN_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

# A shell starts what it runs in the background with these ignored, nohup does it with
# another, and so would every program of ours be.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

_count = 0
_failed = 0
_label = ''


def _say(line):
    sys.stdout.write(line.replace('\n', ' ') + '\n')
    sys.stdout.flush()


def note(text):
    for line in str(text).splitlines() or ['']:
        _say('# ' + line)


def ok(cond, p, name, why=None, todo=None):
    """One TAP line. WHY (a result, or text) is shown when it failed. TODO is the reason
    for which it is known to fail here: it is shown, but counts as no failure."""
    global _count, _failed
    _count += 1
    if not cond and not todo:
        _failed += 1
    who = f'[{p}] ' if p else ''
    _say(f"{'ok' if cond else 'not ok'} {_count} - {who}{_label}: {name}".replace('#', '\\#') +
         (f' # TODO {todo}' if todo else ''))
    if not cond and why is not None:
        note(why)
    if not cond and not todo:
        # prove shows comments to nobody; what failed is wanted wherever it failed
        print(f'# FAILED {os.path.basename(sys.argv[0])} {_count} - {who}{_label}: {name}\n{why or ""}', file=sys.stderr, flush=True)
    return bool(cond)


def skip(p, reason, only_root=False):
    global _count, _failed
    must = os.environ.get('PALE_MUST_WORK') == '1' and not only_root
    _count += 1
    _failed += must
    who = f'[{p}] ' if p else ''
    if must:
        _say(f'not ok {_count} - {who}{_label}: skipped, but must work: {reason}')
    else:
        _say(f'ok {_count} - {who}{_label} # SKIP {reason}')


def kernel_before(*version):
    return tuple(int(n) for n in re.findall(r'\d+', os.uname().release)[:2]) < version


def modes(p, *lists):
    """Those of these lists of options that the kernel can enforce. Another one is
    seen to be refused, and left out."""
    for options in lists:
        # the scope of signals came with Linux 6.12
        if 'visible' in options and kernel_before(6, 12):
            r = p.pale(*options, '--', 'echo', 'ran')
            ok(r.code == 125 and r.out == b'' and b'processes' in r.err, p,
               f"{' '.join(options)}: refused by this kernel", r)
        else:
            yield options


class Result:
    def __init__(self, argv, code, out, err, seconds):
        self.argv, self.code, self.out, self.err, self.seconds = argv, code, out, err, seconds

    @property
    def booted(self):
        return BOOTED in self.out or BOOTED in self.err

    @property
    def rest(self):
        """The output without the marker."""
        return self.out.replace(BOOTED, b'', 1)

    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            return {}

    def __str__(self):
        argv = ' '.join(os.fsdecode(a) for a in self.argv)
        return (f'exit {self.code} after {self.seconds:.2f} s: {argv[:600]}\n'
                f'out: {self.out[:600]!r}\nerr: {self.err[:600]!r}')


class Person:
    """Somebody who runs pale."""

    def __init__(self, base, uid):
        self.uid = uid
        self.owner = 1000 if uid == 0 and not has('root') else uid  # of the files
        self.base = base / f'u{uid}'
        self.home = self.base / 'home'
        self.ws = self.base / 'ws'
        self.outside = self.base / 'outside'
        self.pale_path = base / 'bin' / 'pale'
        self.probe_path = self.ws / 'probe'
        for d in (self.base, self.home, self.ws, self.outside, self.home / '.ssh'):
            d.mkdir(mode=0o755)
        (self.home / '.ssh').chmod(0o700)
        (self.home / '.ssh/id_rsa').write_text(f'CANARY-KEY-{uid}\n')
        (self.home / '.ssh/id_rsa').chmod(0o600)
        (self.outside / 'canary').write_text('canary\n')
        (self.ws / 'file').write_text('mine\n')
        if (base / 'bin/probe').exists():
            shutil.copy(base / 'bin/probe', self.probe_path)
        if os.geteuid() == 0:
            for d, dirs, files in os.walk(self.base):
                for name in [d] + [os.path.join(d, f) for f in files]:
                    self.own(name)
        self.env = {
            'HOME': str(self.home), 'PATH': CLEAN_PATH, 'LANG': 'C.UTF-8', 'TERM': 'dumb',
            'USER': f'user{uid}',
            'XDG_CONFIG_HOME': str(self.base / 'config'),
            'XDG_STATE_HOME': str(self.base / 'state'),
        }

    def __str__(self):
        return 'root' if self.uid == 0 else f'uid {self.uid}'

    def own(self, path):
        path = pathlib.Path(path)
        policy = any(d.name in ('config', 'state', 'pale', 'pale.toml') for d in (path, *path.parents)
                     if d.is_relative_to(self.base) and not d.is_relative_to(self.ws))
        uid = self.uid if policy else self.owner
        os.chown(path, uid, uid)

    @property
    def is_root(self):
        return self.uid == 0

    def argv(self, argv):
        argv = [os.fspath(a) for a in argv]
        if self.uid == os.geteuid():
            return argv
        return [SETPRIV, f'--reuid={self.uid}', f'--regid={self.uid}', '--clear-groups'] + argv

    def start(self, *argv, cwd=None, env=None, **kw):
        """Start a program as this person."""
        return subprocess.Popen(self.argv(argv), cwd=cwd or self.ws,
                                env=self.env if env is None else env, **kw)

    def run(self, *argv, timeout=30, data=b'', **kw):
        """Run a program as this person, outside of any sandbox."""
        begin = time.monotonic()
        kw.setdefault('stdin', subprocess.PIPE)
        kw.setdefault('stdout', subprocess.PIPE)
        kw.setdefault('stderr', subprocess.PIPE)
        kw.setdefault('start_new_session', True)
        proc = self.start(*argv, **kw)
        try:
            out, err = proc.communicate(data if kw['stdin'] == subprocess.PIPE else None, timeout)
        except subprocess.TimeoutExpired:
            os.killpg(proc.pid, signal.SIGKILL)
            out, err = proc.communicate()
            err = (err or b'') + b'\n[the test gave up waiting]'
        return Result(argv, proc.returncode, out or b'', err or b'', time.monotonic() - begin)

    def lacks(self, options):
        """What these options need of the engine that it does not claim, or None."""
        whole = 'unrestricted' in options and options[options.index('unrestricted') - 1] != '--network'
        if self.is_root and whole and not has('root'):
            return 'root'
        wanted = {'--ephemeral': 'ephemeral', '--staged': 'ephemeral', '--nested': 'nested', '--hide': 'hidden', '--tmpfs': 'private'}
        wanted = [feature for option, feature in wanted.items() if option in options] + ['whole'] * whole
        return next((feature for feature in wanted if not has(feature)), None)

    def each(self, *choices):
        """Those CHOICES of options that the engine claims; the others are skipped."""
        for options in choices:
            missing = self.lacks(options)
            if missing:
                skip(self, f"{' '.join(options)}: {MISSING[ENGINE][missing]}", only_root=True)
            else:
                yield options

    def pale_argv(self, *args):
        return [self.pale_path, 'run', *(ENGINE_OPTIONS if ENGINE else ()), *args]

    def pale(self, *args, **kw):
        """pale run ARGS..."""
        return self.run(*self.pale_argv(*args), **kw)

    def verb(self, *args, **kw):
        return self.run(self.pale_path, *args, **kw)

    def sh(self, *args, **kw):
        """sh(LINE, ARGS...) or sh(OPTIONS..., '--', LINE, ARGS...): a shell line that
        first says that the sandbox has started."""
        args = list(args)
        at = args.index('--') if '--' in args else -1
        options, line, more = args[:max(at, 0)], args[at + 1], args[at + 2:]
        return self.pale(*options, '--', 'sh', '-c', 'echo BOOTED; ' + line, 'sh', *more, **kw)

    def host_sh(self, line, *more, **kw):
        """The same line on the host, for positive twins."""
        return self.run('sh', '-c', 'echo BOOTED; ' + line, 'sh', *more, **kw)

    def start_pale(self, *args, **kw):
        return self.start(*self.pale_argv(*args), **kw)

    def write(self, path, text, mode=0o644):
        path = pathlib.Path(path)
        made = [d for d in path.parents if not d.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        if os.geteuid() == 0:
            for item in made + [path]:
                self.own(item)
        return path

    def mkdir(self, path, mode=0o755):
        path = pathlib.Path(path)
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
        if os.geteuid() == 0:
            self.own(path)
        return path

    def config(self, text):
        return self.write(self.base / 'config/pale/pale.toml', text)

    def no_config(self):
        for f in (self.base / 'config/pale/pale.toml', self.ws / 'pale.toml'):
            f.unlink(missing_ok=True)
        shutil.rmtree(self.base / 'state', ignore_errors=True)


def seems_idle(p, log, *argv, **kw):
    """What makes strace show `pale run ARGV` a machine with idle processors: an option's value, or
    None where pale does not look, or strace cannot. LOG is a file that may be overwritten."""
    p.run(*argv, **kw)  # what is made only once is there then
    p.run('strace', '-f', '-qq', '-o', log, '-e', 'trace=read,openat', *argv, **kw)
    reads, first = 0, None
    for line in pathlib.Path(log).read_text(errors='replace').splitlines():
        pid, _, rest = line.partition(' ')
        first = first or pid
        reads += pid == first and rest.strip().startswith('read(')
        if pid == first and '"/proc/loadavg"' in rest:
            return f"inject=read:poke_exit=@arg2={b'0.00 0.00 0.00 1/100 1'.hex()}00:when={reads + 1}"
    return None


def tool(p, name, *flags):
    """The program probes/NAME.c in P's workspace."""
    built = p.base.parent / f'bin/{name}'
    if not built.exists():
        subprocess.run(['gcc', '-O1', '-Wall', '-D_GNU_SOURCE', *flags, '-o', built, HERE / f'probes/{name}.c'], check=True)
    if not (p.ws / name).exists():
        p.write(p.ws / name, built.read_bytes(), 0o755)
    return './' + name


def digest(*trees):
    """Names, modes, owners and contents of trees, as one number."""
    h = hashlib.sha256()
    for tree in trees:
        for d, dirs, files in os.walk(os.fsencode(tree)):
            dirs.sort()
            for name in [b''] + sorted(files) + dirs:
                path = os.path.join(d, name) if name else d
                st = os.lstat(path)
                h.update(b'%s %o %d %d\n' % (path, st.st_mode, st.st_uid, st.st_gid))
                if stat.S_ISREG(st.st_mode):
                    with open(path, 'rb') as f:
                        h.update(f.read())
    return h.hexdigest()


def alive(pid):
    """Is PID there, and no zombie?"""
    try:
        with open(f'/proc/{pid}/stat', 'rb') as f:
            return f.read().rsplit(b')', 1)[1].split()[0] not in (b'Z', b'X')
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(predicate, seconds=5.0):
    end = time.monotonic() + seconds
    while True:
        value = predicate()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.005)


def marked(mark):
    """Pids, as the host sees them, whose command line holds MARK. The sandbox
    cannot hide one from here."""
    found = []
    mark = mark.encode()
    for pid in os.listdir('/proc'):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as f:
                if mark in f.read() and alive(pid):
                    found.append(int(pid))
        except OSError:
            pass
    return found


_marks = 0


def mark():
    """A word that stands in the command line of everything that a run starts."""
    global _marks
    _marks += 1
    return f'mark-{os.getpid()}-{_marks}-{time.time_ns() % 10**9}'


APART = 'PALE_TEST_APART'


def go_apart():
    """Start again in a mount namespace of our own, where only we leave files."""
    if os.geteuid() != 0 or os.environ.get(APART):
        return
    # A checkout below one of these folders is put back in its place.
    setup = ('exec 9<"$0" && mount --make-rshared / && '
             'for d in /tmp /run /dev/shm; do mount -t tmpfs -o mode=1777 pale-test $d || exit; done; '
             '[ -e "$0" ] || { mkdir -p "$0" && mount -c --bind /proc/self/fd/9 "$0"; } || exit; '
             'cd "$0" && exec 9<&- && exec "$@"')
    os.environ[APART] = '1'
    os.execvp('unshare', ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', setup, str(TOP), sys.executable,
                          os.path.abspath(sys.argv[0])])


def _is_locked(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


def _all_cgroups():
    for d, dirs, _ in os.walk('/sys/fs/cgroup'):
        yield from (os.path.join(d, n) for n in dirs if n.startswith('pale-'))


def cgroups(p, but_living=False):
    """Those of this person; BUT_LIVING: of no run that goes on, which holds a lock on one of them,
    as other tests' do."""
    found, living = set(), set()
    for path in _all_cgroups():
        try:
            found |= {path} if os.stat(path).st_uid == p.uid else set()
            living |= {os.path.basename(path)} if but_living and _is_locked(path) else set()
        except (FileNotFoundError, PermissionError):
            pass # gone, or somebody else's
    return {path for path in found if os.path.basename(path) not in living}


def left_cgroups(p):
    return cgroups(p, but_living=True)


def _build(base):
    pale = pathlib.Path(os.environ.get('PALE', TOP / 'build/pale')).resolve()
    bin_dir = base / 'bin'
    bin_dir.mkdir(mode=0o755)
    for name in (pale, pale.parent / 'pale-verbs'):
        if not name.exists():
            sys.exit(f'{name} is not built')
        shutil.copy(name, bin_dir / name.name)
        (bin_dir / name.name).chmod(0o755)
    cc = shutil.which('gcc') or shutil.which('cc')
    if not cc:
        sys.exit('no C compiler for the probes')
    subprocess.run([cc, '-O1', '-Wall', '-D_GNU_SOURCE', '-o', bin_dir / 'probe',
                    HERE / 'probes/probe.c'], check=True)
    (bin_dir / 'probe').chmod(0o755)


def _clean(base):
    subprocess.run(['rm', '-rf', '--', base], stderr=subprocess.DEVNULL)


def _scratch():
    base = pathlib.Path(tempfile.mkdtemp(prefix='pale-live-', dir='/var/tmp')).resolve()
    base.chmod(0o755)
    atexit.register(_clean, base)
    return base


def has(feature):
    """Does the engine of these tests claim it?"""
    return feature not in MISSING.get(ENGINE, {})


def needs(*features):
    def mark_case(case):
        case.needs = features
        return case
    return mark_case


def only_root(case):
    case.only_root = True
    return case


def only_first(case):
    """Not for the uid without a passwd entry: nothing there would differ."""
    case.only_first = True
    return case


def main(*cases, uids=None):
    global _label
    os.umask(0o022)
    for name in [n for n in os.environ if n.startswith('XDG_')]:
        del os.environ[name]
    base = _scratch()
    _build(base)
    me = os.geteuid()
    people = [Person(base, uid) for uid in ((0,) + (uids or ORDINARY) if me == 0 else (me,))]
    wanted = os.environ.get('CASE')
    for case in cases:
        if wanted and wanted not in case.__name__:
            continue
        _label = case.__name__.removeprefix('case_').replace('_', ' ')
        for p in people:
            if getattr(case, 'only_root', False) and not p.is_root:
                if me != 0:
                    skip(p, 'needs root', only_root=True)
                continue
            if getattr(case, 'only_first', False) and len(people) > 2 and p is people[2]:
                continue
            missing = [f for f in getattr(case, 'needs', ()) if not has(f)]
            if missing:
                skip(p, MISSING[ENGINE][missing[0]], only_root=True)
                continue
            try:
                case(p)
            except Exception as e:  # a broken case is a failed one, the others go on
                import traceback
                ok(False, p, f'raised {type(e).__name__}', traceback.format_exc())
    if me != 0:
        _label = 'as root'
        skip(None, 'the cases ran as this user only', only_root=True)
    _say(f'1..{_count}')
    if _failed:
        note(f'{_failed} of {_count} failed')
    sys.exit(1 if _failed or not _count else 0)
