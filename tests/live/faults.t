#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every call of the set-up fails in turn; the supervisor is killed at any moment.

A run whose set-up failed ends with 125 and has executed nothing. A run that
executed its command had the whole boundary: the witness inside writes down what
it looks like, and that is compared with a run in which nothing failed.
strace counts calls per process, so one number is tried in both the supervisor
and the side that becomes the sandbox.

A call whose failure does not end the run must be listed, with the reason why that
is right, and the boundary must be whole nevertheless. PALE_SWEEP=full tries every
call that a run makes, each with every error that fits it, and kills at each, too;
PALE_SWEEP=SHAPE does that for one of the shapes.
"""
import ctypes
import queue
import random
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

CALLS = ('clone3 mount open_tree move_mount mount_setattr fsopen fsconfig fsmount pivot_root umount2 prctl capset '
         'setresuid setresgid setgroups openat2 openat open mkdirat mknodat symlinkat sethostname ioctl keyctl setrlimit prlimit64 '
         'write read socket socketpair sendmsg recvmsg sendto recvfrom signalfd4 chdir fchdir dup2 dup3 close_range fcntl '
         'setsid clone landlock_create_ruleset landlock_add_rule landlock_restrict_self getrandom getcwd stat lstat fstat newfstatat '
         'readlink readlinkat rt_sigaction rt_sigprocmask poll seccomp process_vm_readv').split()
NETWORK = ('socket setsockopt getsockopt sendmsg recvmsg sendto recvfrom send recv open openat unlinkat write open_tree mount_setattr '
           'move_mount ioctl prlimit64 setrlimit epoll_create1 epoll_ctl epoll_wait epoll_pwait bind listen connect accept4 '
           'getsockname fcntl pipe2 splice seccomp').split()
# what the other shapes of a run add
SHAPES = {
    'default': ((), CALLS),
    'apart': (('IDLE',), 'clone3 clone unshare setns sendmsg recvmsg sendto recvfrom openat prctl ioctl socket sched_setaffinity mkdirat'.split()),
    'visible': (('--processes', 'visible'),
                'prctl capset open_tree mount_setattr move_mount landlock_create_ruleset landlock_add_rule landlock_restrict_self write setsid'.split()),
    'ephemeral': (('--filesystem', 'readonly', '--ephemeral'),
                  'open_tree mount_setattr move_mount fsopen fsconfig fsmount mkdirat fcntl'.split()),
    'limits': (('LIMITS',), 'mkdirat openat open write clone3 unshare flock eventfd2 getrandom'.split()),
    'whole root': (('--filesystem', 'unrestricted', '--hide', '~/.ssh'),
                   'open_tree mount_setattr move_mount fsopen fsconfig fsmount openat2 pivot_root umount2'.split()),
    'landlock engine': (('--engine', 'landlock', '--processes', 'visible', '--allow-degraded', 'filesystem'),
                        'landlock_create_ruleset landlock_add_rule landlock_restrict_self prctl capset seccomp openat2 openat '
                        'mkdirat flock fstat fchown setsid clone clone3 write'.split()),
    'brokered': (('--network', 'localhost', '--port', 'PORT'), NETWORK),
    'brokered, visible': (('--network', 'localhost', '--port', 'PORT', '--processes', 'visible'), NETWORK),
    'brokered, bwrap': (('--network', 'localhost', '--port', 'PORT', '--engine', 'bwrap', '--timeout', '2s'),
                        NETWORK + 'fork clone setns wait4 memfd_create'.split()),
    'bwrap engine': (('--engine', 'bwrap', '--timeout', '2s'), 'clone3 clone socketpair pipe2 memfd_create openat2 openat write fcntl prctl setresuid setresgid setgroups '
                     'capset keyctl seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self chdir dup2 dup3 setsid lseek'.split()),
}
SWEEP = os.environ.get('PALE_SWEEP')
FULL = SWEEP == 'full' or SWEEP in SHAPES
# EPERM is tried everywhere.
ERRORS = {
    'ENOSPC': 'mkdirat mknodat symlinkat open openat write fsconfig fsmount move_mount open_tree mount clone3 eventfd2 signalfd4 unshare',
    'EIO': 'read pread64 write open openat openat2 stat lstat fstat newfstatat readlink getdents64 close statfs getcwd',
    'EINTR': 'read write open openat openat2 poll wait4 recvmsg sendmsg recvfrom sendto close flock getrandom dup3 clone3',
    'ENOMEM': 'mmap brk clone clone3 fsopen fsmount fsconfig mkdirat move_mount open_tree poll mprotect',
    'ENOSYS': 'landlock_create_ruleset landlock_restrict_self openat2 open_tree mount_setattr fsopen fsconfig fsmount '
              'move_mount close_range clone3 seccomp keyctl pivot_root faccessat',
}
# Of the engine without mounts, which has its scratch on the host.
SCRATCH = "others' left scratch folders are removed another time"
WATCHDOG = 'the watchdog, which is a degraded limit by name, takes another sample soon'
# The line of the call, made by anybody or only INSIDE, and why the run may go on.
INSIDE = 'inside: '
TOLERATED = [(re.compile(line if line.startswith(INSIDE) else f'({INSIDE})?({line})'), why) for line, why in (
    (INSIDE + r'fstat\(', 'a folder that is not known to be ours is opened, and nothing made in it'),
    (r'close\(', 'every descriptor closes on exec, and the witness looks for them'),
    (r'fcntl\(\d+, F_SETFD, FD_CLOEXEC', 'O_CLOEXEC said it before: the C library makes sure'),
    (r'fcntl\([012], F_GETFD', 'asks whether 0 to 2 are open, and only EBADF says no'),
    (r'fchmod\(\d+, 060[24]\)', '/dev/stdin and its like cannot be opened then'),
    (r'close_range\(0, 2, 0\)', 'the warden lets go of 0 to 2 so that their other ends see the end early'),
    (r'rt_sigaction\(SIG\w+, \{sa_handler=SIG_DFL', 'a signal that the caller ignored stays so for the command'),
    (r'openat\(\d+, "\.", O_RDONLY\|O_LARGEFILE\|O_CLOEXEC\|O_DIRECTORY\)|signalfd4\(-1, \[IO RT_\d+\]|'
     r'rt_sigprocmask\(SIG_BLOCK, \[IO RT_\d+\]|fcntl\(\d+, F_(SETSIG|NOTIFY), ', 'without a tripwire the guard opens inotify at once'),
    (r'openat\(AT_FDCWD, "/etc/passwd"', '/etc/passwd: a user without an entry may run commands'),
    (r'mmap\((NULL|0x\w+), \d+, PROT_|munmap\(|madvise\(', 'the allocator finds another way'),
    (r'newfstatat\(3, "[^"]+", 0x\w+, 0\)', 'a toolchain that cannot be seen is not shown'),
    (r'(stat|open|openat)\((AT_FDCWD, )?"[^"]*(/git/config|/\.gitconfig)"|read\(3, 0x\w+, 4000\)', 'git goes without a name, the user without an entry'),
    (r'fstatfs\(3, |getdents64\(3, 0x\w+, 8192\)|openat\(AT_FDCWD, "[^"]*/slot-[^"/]*", O_RDONLY\|O_LARGEFILE\|O_CLOEXEC\|O_DIRECTORY\)|'
     r'openat2\(AT_FDCWD, "[^"]*/home", \{flags=O_RDONLY\|O_CLOEXEC\|O_DIRECTORY, ', 'names in a folder that cannot be listed are looked at one by one'),
    (r'(open|openat|readlinkat)\([^"]*"[^"]*/applies/pending"', 'a direct run depends on no apply, and says what it could not see to'),
    (r'readlink\("/etc/(resolv.conf|hosts)"', 'asks where it leads; without the network there is nobody to ask'),
    (r'[gs]etsockopt\(\d+, SOL_(SOCKET|IPV6|TCP|RAW|ICMPV6), |fcntl\(\d+, F_SETFL, O_RDONLY\|O_NONBLOCK|(bind|listen|epoll_ctl)\(\d+, |prlimit64\(0, RLIMIT_NOFILE, \{', 'what the broker cannot serve is not reached'),
    (r'socket\(AF_NETLINK, SOCK_RAW\|SOCK_CLOEXEC, NETLINK_SOCK_DIAG|sendto\(\d+, \[\{nlmsg_len=40, nlmsg_type=(SOCK_DIAG_BY_FAMILY|0x14 )|recvfrom\(\d+, 0x\w+, 8192, MSG_TRUNC',
     'which sockets are bound stands in /proc/net/unix as well'),
    (r'lstat\("/run",', 'sockets in /run are looked up then, like others'),
    (r'landlock_create_ruleset\(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION', 'a run that needs Landlock is refused later'),
    (r'keyctl\(KEYCTL_JOIN_SESSION_KEYRING, NULL\) += -1 ENOSYS', 'a kernel without keys has none to hide'),
    (r'(statfs|access|openat)\((AT_FDCWD, )?"/(sys/fs|proc/self)/cgroup|access\("/proc/(1/stat|thread-self/children)"', 'a run that needs a limit that nobody holds is refused later'),
    (r'openat\(AT_FDCWD, "/proc/\d+", O_RDONLY\|O_LARGEFILE\|O_CLOEXEC\|O_DIRECTORY|openat\(\d+, "(task|stat|statm|\d+/children)"|'
     r'openat\(AT_FDCWD, "/proc", ', 'the watchdog, which is a degraded limit by name, looks again soon'),
    (r'read\(\d+, 0x\w+, (255|1023|4096)\)|getdents64\(\d+, 0x\w+, 2048\)|fcntl\(\d+, F_GETFL\)', WATCHDOG),
    (r'(stat|list)mount\(', 'the text is read, which says the same'),
    (r'openat\(\d+, "(\.|pale-\d+-[0-9a-f]{16})"|fstat\(\d+, ', SCRATCH),
    (r'clone3\(\{flags=CLONE_PIDFD, ', 'a plain child can be made by clone as well'),
    (r'lstat\("(/etc/machine-id|[^"]*/HEAD)"|stat\("[^"]*/slot-[^"/]*/config"', 'what cannot be looked at is hidden, or protected, as if it were there'),
    (r'lstat\("/run/user/\d+"', 'sessions are then kept in the state, which is hidden'),
    (r'openat2\(.* += -1 ENOSYS', 'the resolver walks by itself, component by component'),
    (r'poll\((\[\{fd=\d+, events=(POLLIN|0)\}, |0x)', 'supervisor and warden look again at once'),
    (r'tee\(', 'input is lent when it is looked for again'),
    (r'rt_sigaction\(SIG(PIPE|XFSZ), \{sa_handler=SIG_IGN', 'should nobody read, or the file be too long, the supervisor ends, and the run with it'),
    (r'ioctl\(\d+, FIONREAD', 'what the command was given of its input counts as read'),
    (r'fcntl\(\d+, F_SETPIPE_SZ', 'its input comes in other portions'),
    (r'sched_([gs]etattr|yield)\(', 'whoever builds or guards may have to wait for its turn'),
    (r'openat\(AT_FDCWD, "/proc/\d+/ns/mnt"|prlimit64\(0, RLIMIT_NOFILE, NULL|stat\("/(usr|etc|opt|)",', "the mounts go at the warden's end, as they would anyway"),
    (INSIDE + r'kill\(\d+, 0\)', 'asks whether a signal to the supervisor is refused, and it is'),
    (INSIDE + r'prctl\(PR_SET_NAME', 'how the warden is called in lists'),
    (r'stat\("/usr/bin/bwrap"', 'there may be another one in /bin'),
    (r'getgroups\(', 'groups that cannot be listed count as kept, and are reported'),
    (r'(fcntl\(\d+, F_GETFL|getdents64\(|unlinkat\(|open\("/tmp")', SCRATCH),
    (r'ioctl\(\d+, SECCOMP_IOCTL_NOTIF_(RECV|SEND)', 'it is asked, or answered, once more'),
    (r'sched_getaffinity\(|sched_setaffinity\(\d\d+, |openat\(AT_FDCWD, "/proc/loadavg"|read\(\d+, 0x\w+, 63\)',
     'how many processors there are for it: the child stays on ours'),
    (r'fstat\(([3-9]|\d\d+), ', 'cgroups may have neighbours, and are swept; a spool that is not known goes without the record'),
    (r'recvmsg\(\d+, \{msg_namelen=0\}, MSG_TRUNC\|MSG_CMSG_CLOEXEC\)', 'who has sent a listener is taken to have started'),
    (INSIDE + r'setns\(\d+, CLONE_NEWUSER\)', 'what the helper cannot make the child makes itself'),
    (r'ioctl\(\d+, _IOC\(_IOC_NONE, 0xff, ', 'a namespace can be opened by name as well'),
    (r'openat\(\d+, "(memory\.max_usage_in_bytes|memory\.peak|pids\.peak|cpuacct\.usage)"|pread64\(\d+, 0x\w+, 63, 0\)', 'what is not counted is not told'),
    (r'openat\(\d+, "(spool|living)"|newfstatat\(\d+, "spool"|write\(\d+, "\\nP1 |fcntl\(\d+, F_OFD_SETLK|flock\(\d+, LOCK_SH\|LOCK_NB|'
     r'prlimit64\(0, RLIMIT_FSIZE, NULL|open(at)?\((AT_FDCWD, )?"[^"]*/state/pale/[^"/]*", O_RDONLY', 'a run that cannot be remembered runs all the same, and says so'),
    (r'getdents64\(\d+, 0x\w+, 4096\)|flock\(|(openat|unlinkat)\(\d+, "pale-[0-9a-f]{16}"', "others' left cgroups are swept another time"),
    (r'openat\(\d+, "(memory.oom_control|cgroup.event_control)"|eventfd2\(|write\(\d+, "\d+ \d+"', 'how an end by memory is told'),
)]
# Nobody can make these fail, or the C library could not begin a program.
NOT_OURS = ('execve exit exit_group rt_sigreturn restart_syscall arch_prctl set_tid_address umask clock_gettime '
            'getuid geteuid getgid getegid getpid getppid uname').split()
NAMESPACES = ('user', 'mnt', 'pid', 'net', 'ipc', 'uts')


PR_SET_CHILD_SUBREAPER = 36


def build(p):
    path = p.ws / 'witness'
    if not path.exists():
        subprocess.run(['gcc', '-static', '-O1', '-D_GNU_SOURCE', '-o', path, HERE / 'probes/witness.c'], check=True)
        path.chmod(0o755)
    return path


class Port:
    """One of the host's loopback, and how many came there."""

    def __init__(self):
        self.socket = socket.create_server(('127.0.0.1', 0), backlog=512)
        self.number, self.taken = str(self.socket.getsockname()[1]), 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            self.socket.accept()[0].close()
            self.taken += 1


PORTS = []


def ports():
    """The one that brokered shapes allow, and one that they do not."""
    if not PORTS:
        PORTS.extend((Port(), Port()))
    return PORTS


def facts(file):
    """What the witness wrote; namespaces as whether they are the host's. That something is
    not reached that may be is no lack of a boundary."""
    got = dict(line.split(' ', 1) for line in file.read_text().splitlines())
    got.pop('allowed', None)
    for ns in NAMESPACES:
        got[ns] = got.get(ns) == os.readlink(f'/proc/self/ns/{ns}')
    return got


class Trial:
    """One run of the witness, in a place of its own so that two can go at once."""

    def __init__(self, p, slot, options):
        self.brokered = 'PORT' in options
        options = tuple(ports()[0].number if o == 'PORT' else o for o in options)
        self.p, self.options, self.limits = p, tuple(o for o in options if o not in ('LIMITS', 'IDLE')), 'LIMITS' in options
        self.seems_idle = None
        self.is_watched = self.limits and '--allow-degraded' in degraded(p)
        self.ws = p.mkdir(p.base / f'slot-{slot}')
        shutil.copy(build(p), self.ws / 'witness')
        self.file = self.ws / 'seen'
        self.trace = p.write(p.base / f'trace-{slot}', '')
        self.server = socket.socket(socket.AF_UNIX)
        self.server.setblocking(False)
        (self.ws / 'server').unlink(missing_ok=True)
        self.server.bind(str(self.ws / 'server'))
        (self.ws / 'server').chmod(0o777)
        self.server.listen(16)
        if 'bwrap' in options and p.is_root:
            os.chown(self.ws, 1000, 1000)  # it is not for root's own workspace
        if 'IDLE' in options:
            self.seems_idle = seems_idle(p, self.trace, p.pale_path, 'run', '--engine', 'native', '--', 'true', cwd=self.ws)
            p.own(self.trace)

    def knocked(self):
        """Has somebody come to the host's server in the workspace?"""
        try:
            self.server.accept()[0].close()
            return True
        except BlockingIOError:
            return False

    def run(self, inject=None, calls=''):
        p = self.p
        self.file.unlink(missing_ok=True)
        if '--ephemeral' in self.options:
            # what is written there is thrown away: let it out by another way
            out = p.mkdir(self.ws.with_name(self.ws.name + '-out'))
            self.file = out / 'seen'
            self.file.unlink(missing_ok=True)
            more = ('--write', str(out))
        else:
            more = ()
        argv = ['strace', '-f', '-qq', '-s', '200', '-o', str(self.trace), '-e', f'trace={calls + "," if calls else ""}{"read," if self.seems_idle else ""}execve']
        if inject:
            argv += ['-e', f'inject={inject}']
        if self.seems_idle:
            argv += ['-e', self.seems_idle]
        more += ('--memory', '256m', '--pids', '20', *degraded(p)) if self.limits else ()
        engine = () if '--engine' in self.options else ('--engine', 'native')
        return p.run(*argv, p.pale_path, 'run', *engine, *self.options, *more, '--', './witness', str(self.file),
                     str(p.home / '.ssh/id_rsa'), str(p.outside / 'canary'), *(['forks'] if self.limits else [port.number for port in ports()] if self.brokered else []), cwd=self.ws, timeout=8)

    def lines(self):
        """Who called what, and whose call that was: ours, that of the command, or of
        bubblewrap, whose child becomes pale again."""
        begin, whose, lines, inner = {}, {}, [], False
        for line in self.trace.read_text(errors='replace').splitlines():
            pid, _, rest = line.partition(' ')
            if rest.endswith('<unfinished ...>'):
                begin[pid] = rest.removesuffix('<unfinished ...>')
                continue
            rest = re.sub(r'^ *<\.\.\. \w+ resumed>', lambda _: begin.pop(pid, ''), rest).strip()
            rest = re.sub(r' +\)', ')', rest, count=1)
            # who is there between bubblewrap and pale's second coming is bubblewrap's
            whose.setdefault(pid, 'bwrap' if 'bwrap' in whose.values() and not inner else 'ours')
            # one that cannot be traced in full, which is the warden's child, shows no name
            program = re.match(r'execve\((?:"([^"]*)")?.*= 0$', rest)
            name = program and program[1] or ''
            if name.endswith('/bwrap'):
                whose[pid] = 'bwrap'
            elif name.startswith('/proc/self/fd/'):
                whose[pid], inner = 'ours', True
            elif program and lines:  # the first one is pale
                whose[pid] = 'command'
            lines.append((pid, whose[pid], rest))
        return lines

    def hits(self):
        """The calls of ours that were made to fail: those before the command began, and
        those after. What the command itself calls is not of interest, and of bubblewrap
        only that it does not go on with less."""
        before, after, begun, waits = [], [], False, False
        self.command_hit, self.bwrap_hit, self.again, last = False, False, set(), {}
        lines = self.lines()
        first = lines[0][0]
        for pid, whose, rest in lines:
            begun |= whose == 'command'
            # with bubblewrap begun, the supervisor's part of the set-up is over
            waits |= whose == 'bwrap'
            # the call, its first argument and a path: memory that it fills has no text when it failed
            call = re.match(r'open\w*\([^,)]*(, "[^"]*")?|[^,)]*', rest)[0]
            if last.get(pid, ('',))[0] == call:
                self.again.add(last[pid][1])
            text = (INSIDE if pid != first else '') + rest
            last[pid] = (call, text) if '(INJECTED)' in rest else ('',)
            if '(INJECTED)' in rest:
                self.command_hit |= whose == 'command'
                self.bwrap_hit |= whose == 'bwrap'
                if whose == 'ours':
                    (after if begun or waits and pid == first else before).append(text)
        return before, after

    def counts(self, calls):
        """Of each call, the most that one process makes. Without CALLS, of all."""
        self.run(calls=','.join('?' + c for c in calls) if calls else 'all')
        per = {}
        for line in self.trace.read_text(errors='replace').splitlines():
            pid, _, rest = line.partition(' ')
            name = rest.strip().partition('(')[0]
            # strace can do nothing to a call that it has no name for
            if name in calls or not calls and re.fullmatch('[a-z0-9_]+', name) and name not in NOT_OURS and not name.startswith('syscall_0x'):
                per[pid, name] = per.get((pid, name), 0) + 1
        return {c: max([n for (_, name), n in per.items() if name == c], default=0)
                for c in calls or sorted({name for _, name in per})}


def judge(trial, r, want, error):
    """None, or what is wrong."""
    if b'[the test gave up waiting]' in r.err:
        return 'it hangs'
    before, after = trial.hits()
    if trial.file.exists() and trial.file.stat().st_size:
        got = facts(trial.file)
        if got != want:
            return f'executed with another boundary: { {k: (v, want.get(k)) for k, v in got.items() if v != want.get(k)} }'
        if r.code == 125:
            return 'executed, but the status says it was not'
        unknown = [line for line in before if not (error == 'EINTR' and line in trial.again) and
                   not any(t.match(line) for t, why in TOLERATED if why not in (SCRATCH, WATCHDOG) or
                           why == SCRATCH and 'landlock' in trial.options or why == WATCHDOG and trial.is_watched)]
        return f'the run went on, and nothing says why that is right: {unknown}' if unknown else None
    if trial.command_hit:
        return None  # the witness itself did not survive it
    if trial.bwrap_hit and not before and not after and r.code == 124:
        return None  # bubblewrap waits for itself, until its time is up
    # 137: the program had been entered, and was killed before its last line.
    if trial.file.exists() and r.code != 137:
        return 'executed, and cut short'
    if r.code not in (125, 137):
        return f'nothing executed, and the status is {r.code}'
    silenced = any(line.startswith('write(2,') for line in before + after)
    return None if r.code == 137 or silenced or b'pale: ' in r.err else 'nothing executed, and nobody says why'


class Leftovers:
    """What must be the same before and after. Only the runner's own things count: the
    test adopts orphans, and has a /tmp of its own where it can."""

    def __init__(self, p):
        self.p = p
        self.before = self.now()

    def now(self):
        p = self.p
        with open('/proc/self/mountinfo') as f:
            mounts = {line.split(' ', 2)[2] for line in f}
        # but for the history, in a folder for each workspace
        files = {os.path.join(d, n) for place in (p.home, p.base / 'state', p.base / 'config') for d, dirs, names in os.walk(place)
                 for n in dirs + names if n not in ('spool', 'living') and not (d == str(p.base / 'state/pale') and n.startswith(('slot-', 'kill-')))}
        files |= {f'{d}/{n}' for d in ('/tmp', '/run', '/dev/shm') for n in os.listdir(d) if APART in os.environ or 'pale' in n}
        return mounts | files

    def found(self, zombies=False):
        """Nothing, or a list of what is new. The ZOMBIES of a supervisor that was killed
        are for its parent to bury."""
        wait_for(lambda: set(children().values()) <= {'Z'}, 3)
        left = [f'process {pid} {state}' for pid, state in children().items() if state != 'Z' or not zombies]
        for pid, state in children().items():
            if state != 'Z':
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return left + sorted(self.now() ^ self.before)


def children():
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat', errors='replace') as f:
                state, parent = f.read().rsplit(')', 1)[1].split()[:2]
                if int(parent) == os.getpid():
                    found[int(pid)] = state
        except OSError:
            pass
    return found


def usable(p):
    if not shutil.which('strace'):
        skip(p, 'no strace')
        return False
    r = p.run('strace', '-f', '-qq', '-o', '/dev/null', '-e', 'inject=getppid:error=EPERM:when=1', 'true')
    if r.code != 0:
        skip(p, f'strace cannot trace here: {r.err!r}')
        return False
    return True


def degraded(p):
    """What must be allowed for limits here."""
    if not hasattr(p, 'degraded'):
        both = ('--allow-degraded', 'memory', '--allow-degraded', 'pids')
        r = p.pale('--explain', '--json', '--memory', '256m', '--pids', '20', *both, '--', 'true')
        state = r.json().get('enforced', {})
        p.degraded = [o for d in ('memory', 'pids') if state.get(d, {}).get('state') == 'degraded' for o in ('--allow-degraded', d)]
    return p.degraded


def shapes():
    return [SWEEP] if SWEEP in SHAPES else list(SHAPES)


def actions(call):
    if not FULL:
        return ['error=EPERM']
    first = [] if call == 'wait4' else ['error=EPERM']  # wait4 knows no such error
    return first + [f'error={e}' for e, calls in ERRORS.items() if call in calls.split()]


def inject_all(p, shape):
    options, calls = SHAPES[shape]
    if 'bwrap' in options and not os.path.exists('/usr/bin/bwrap'):
        skip(p, 'no bubblewrap')
        return
    trials = [Trial(p, f'{shape.replace(" ", "-")}-{i}', options) for i in range(2)]
    r = trials[0].run()
    if not ok(r.code == 0 and trials[0].file.exists(), p, f'{shape}: the witness runs when nothing fails', r):
        return
    want = facts(trials[0].file)
    if 'IDLE' in options:
        trials[0].run(calls='clone3,unshare')
        seen = trials[0].trace.read_text()
        if not ok('unshare(CLONE_NEWNET' in seen, p, f'{shape}: the network is made apart', seen):
            return
    bare = 'landlock' in options
    ok(want['secret'] == 'no' and want['CapEff'] == '0' * 16 and want['NoNewPrivs'] == '1' and want['Seccomp'] == '2' and
       want['server'] == 'no' and want['user'] == bare and want['mnt'] == bare and want['net'] == bare and want['descriptors'] == 'none' and want['core'] == 'off' and
       int(want.get('forks', 0)) < 20, p, f'{shape}: and sees the boundary', want)
    if trials[0].brokered:
        ok('allowed yes\nforbidden no\n' in trials[0].file.read_text() and want['resolver'] == 'nameserver 198.18.0.1', p,
           f'{shape}: it reaches what it may, and nothing else', trials[0].file.read_text())
    p.run('./witness', str(p.write(p.base / 'outside-seen', '')), '/', '/', cwd=trials[0].ws)
    ok(trials[0].knocked() and 'server yes\n' in (p.base / 'outside-seen').read_text(), p, f"{shape}: twin: outside of it, the host's server is reached")
    counts = trials[0].counts(() if FULL else calls)
    free = queue.Queue()
    for t in trials:
        free.put(t)
    state, groups = Leftovers(p), left_cgroups(p)
    reasons, numbers = {}, {'tried': 0, 'refused': 0, 'tolerated': 0, 'after the start': 0, "bubblewrap's own": 0}

    def one(job):
        call, n, action = job
        trial = free.get()
        try:
            r = trial.run(f'{call}:{action}:when={n}', call)
            before, after = trial.hits()
            if not before and not after and not trial.bwrap_hit:
                return None
            numbers['tried'] += 1
            numbers["bubblewrap's own" if not before and not after else 'after the start' if not before else 'tolerated' if trial.file.exists() else 'refused'] += 1
            if trial.file.exists():
                for line in before:
                    why = next((w for t, w in TOLERATED if t.match(line)), 'tried again')
                    reasons[why] = reasons.get(why, 0) + 1
            problem = judge(trial, r, want, action.rpartition('=')[2])
            return f'{call}:{action}:when={n}: {problem}\n{(before + after)[:2]}\n{r}' if problem else ''
        finally:
            free.put(trial)
    with ThreadPoolExecutor(2) as pool:
        for call, most in counts.items():
            done = list(pool.map(one, [(call, n, a) for a in actions(call) for n in range(1, most + 1)]))
            wrong = [d for d in done if d]
            left = state.found()
            if any(d is not None for d in done):
                ok(not wrong and not left, p, f'{shape}: {call} fails at each of {sum(d is not None for d in done)} places',
                   '\n'.join([f'{len(wrong)} wrong', *(wrong if FULL else wrong[:4]), *left]))
    if trials[0].brokered:
        ok(ports()[0].taken > 0 and ports()[1].taken == 0, p, f'{shape}: nobody came to the port that is not allowed',
           [port.taken for port in ports()])
    ok(not any(t.knocked() for t in trials), p, f"{shape}: nobody came to the host's server in the workspace")
    p.pale('--memory', '256m', '--pids', '20', *degraded(p), '--', 'true')  # who was killed left a cgroup to the next one
    groups = left_cgroups(p) - groups
    ok(wait_for(lambda: not groups & left_cgroups(p), 20), p, f'{shape}: no cgroup is left', groups & left_cgroups(p))
    note(f'[{p}] {shape}: {numbers}')
    for why, count in sorted(reasons.items(), key=lambda item: -item[1]):
        note(f'    {count} went on: {why}')
    ok(numbers['tried'] > 20, p, f'{shape}: {numbers["tried"]} faults were tried')


def case_each_call_fails_ME06(p):
    if not usable(p):
        return
    for shape in shapes():
        inject_all(p, shape)


def case_killed_at_a_call(p):
    """SIGKILL to whoever makes the call: supervisor or sandbox."""
    if not usable(p):
        return
    few = ('clone3 socketpair sendmsg recvmsg setresuid pivot_root capset close_range signalfd4 chdir setsid sendto recvfrom '
           'wait4 keyctl').split()
    for shape in shapes() if FULL else ('default',):
        kill_all(p, shape, {} if FULL else dict.fromkeys(few, 2))


def kill_all(p, shape, counts):
    trials = [Trial(p, f'kill-{i}', SHAPES[shape][0]) for i in range(2)]
    trials[0].run()
    want = facts(trials[0].file)
    counts = counts or trials[0].counts(())
    free = queue.Queue()
    for t in trials:
        free.put(t)
    state, groups = Leftovers(p), left_cgroups(p)
    wrong = []

    def one(job):
        call, n = job
        trial = free.get()
        try:
            r = trial.run(f'{call}:signal=SIGKILL:when={n}', call)
            if trial.file.exists() and trial.file.stat().st_size and facts(trial.file) != want:
                wrong.append(f'{call} {n}: another boundary {facts(trial.file)}')
            if not wait_for(lambda: not marked(str(trial.file)), 3):
                wrong.append(f'{call} {n}: left {marked(str(trial.file))}')
            if r.code == 0 and not trial.file.exists():
                wrong.append(f'{call} {n}: status 0, and nothing executed\n{r}')
            if b'[the test gave up waiting]' in r.err:
                wrong.append(f'{call} {n}: it hangs\n{r}')
        finally:
            free.put(trial)
    jobs = [(call, n) for call, most in counts.items() for n in range(1, most + 1)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, jobs))
    if 'landlock' in trials[0].options:
        trials[0].run()  # who was killed before anybody could end the run left its scratch to the next one
    wrong += state.found(zombies=True)
    ok(not wrong, p, f'{shape}: {len(jobs)} kills: nothing is left, and no weaker boundary', '\n'.join(wrong))
    p.pale('--memory', '256m', '--pids', '20', *degraded(p), '--', 'true')  # who was killed left a cgroup to the next one
    groups = left_cgroups(p) - groups
    ok(wait_for(lambda: not groups & left_cgroups(p), 20), p, f'{shape}: no cgroup is left', groups & left_cgroups(p))


def case_supervisor_killed_at_random_PR13(p):
    rng = random.Random(20240229)
    for options in ((), ('--processes', 'visible')):
        left, begun = [], 0
        for _ in range(50):
            m = mark()
            started = p.ws / f'started-{m}'
            proc = p.start_pale(*options, '--', 'sh', '-c', f': >started-{m}; ./probe daemon 60 $0; ./probe ignore $0', m,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.random() * rng.choice((0.005, 0.015, 0.15)))
            proc.kill()
            proc.wait()
            if not wait_for(lambda: not marked(m), 3):
                left += marked(m)
                for pid in marked(m):
                    os.kill(pid, signal.SIGKILL)
            begun += started.exists()
            started.unlink(missing_ok=True)
        name = ' '.join(options) or 'isolated'
        ok(not left, p, f'{name}: 50 kills, {begun} of them with the command running; nothing is left', left)
        ok(0 < begun < 50, p, f'{name}: some fell before the command and some after its start', begun)


go_apart()
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
main(case_each_call_fails_ME06, case_killed_at_a_call, case_supervisor_killed_at_random_PR13, uids=(1000,))
