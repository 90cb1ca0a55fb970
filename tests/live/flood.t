#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many runs at once and many in a row: none fails, and nothing piles up.

PALE_RUNS is how many go in a row (300). Run by root, the test has a mount
namespace with /tmp, /run and /dev/shm of its own, so that what it counts there is
its own; it is shared with those of the runs, as the host's is. The test adopts
orphans: whatever a run left running is a child of it afterwards.
"""
import collections
import ctypes
import sys
from concurrent.futures import ThreadPoolExecutor
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

AT_ONCE = 64
IN_A_ROW = int(os.environ.get('PALE_RUNS') or 300)
PR_SET_CHILD_SUBREAPER = 36


def lines(path):
    try:
        with open(path) as f:
            return f.read().splitlines()
    except OSError:
        return []


def files(p):
    """Names in the places for things that do not last, and in the state folder."""
    found = set()
    for place in ('/tmp', '/run', '/dev/shm', f'/run/user/{p.uid}', '/var/tmp'):
        if os.path.isdir(place):
            found |= {f'{place}/{n}' for n in os.listdir(place)
                      if os.environ.get(APART) and place != '/var/tmp' or 'pale' in n and not n.startswith('pale-live-')}
    for place in (p.base, p.home, p.ws):
        found |= {os.path.join(d, n) for d, dirs, names in os.walk(place) for n in dirs + names}
    return found


def children():
    """Of this process, zombies too: pid and state of each."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat') as f:
                state, parent = f.read().rsplit(')', 1)[1].split()[:2]
                if int(parent) == os.getpid():
                    found[int(pid)] = state
        except OSError:
            pass
    return found


def reap():
    """Bury the wardens that outlived a pale that was killed. They were adopted here,
    and nobody else can. How many there were."""
    dead = [pid for pid, state in children().items() if state == 'Z']
    for pid in dead:
        os.waitpid(pid, 0)
    return len(dead)


def keys(p):
    """How many keys count for this person."""
    return next((int(l.split()[1]) for l in lines('/proc/key-users') if l.split(':')[0].strip() == str(p.uid)), 0)


class Counted:
    """What there is before a flood; gone() judges after it."""

    def __init__(self, p):
        self.p = p
        self.mounts = [l.split(' ', 2)[2] for l in lines('/proc/self/mountinfo')]
        self.fds = os.listdir('/proc/self/fd')
        self.cgroups, self.files, self.children, self.keys = left_cgroups(p), files(p), children(), keys(p)

    def gone(self, killed=0):
        """KILLED is how many runs were killed from outside."""
        p = self.p
        wait_for(lambda: set(children().values()) <= {'Z'})
        adopted = reap()
        ok(adopted <= killed, p, f'{adopted} wardens had to be buried, of {killed} runs that were killed')
        # what a runner of other tests has made meanwhile goes away, too
        ours = left_cgroups(p) - self.cgroups
        ok(wait_for(lambda: not ours & left_cgroups(p), 20), p, 'no cgroup is left', ours & left_cgroups(p))
        ok(wait_for(lambda: children() == self.children), p, 'no process is left, dead or alive', children())
        mounts = [l.split(' ', 2)[2] for l in lines('/proc/self/mountinfo')]
        ok(mounts == self.mounts, p, 'no mount is left', '\n'.join(set(mounts) ^ set(self.mounts)))
        fds = os.listdir('/proc/self/fd')
        ok(len(fds) == len(self.fds), p, 'no descriptor is left', fds)
        more = files(p) ^ self.files
        ok(not more, p, 'no file is left, nor gone', sorted(more)[:10])
        # the kernel collects keys when it has time
        ok(wait_for(lambda: keys(p) <= self.keys + 10, 20), p, f'no key is left ({keys(p)} now, {self.keys} before)')


def shapes(p):
    """Kinds of runs: options, the shell line or argv, and the right status."""
    limits = ['--memory', '256m', '--pids', '100']
    state = p.pale('--explain', '--json', *limits, '--allow-degraded', 'memory', '--allow-degraded', 'pids', '--', 'true')
    for dim in ('memory', 'pids'):
        if state.json().get('enforced', {}).get(dim, {}).get('state') == 'degraded':
            limits += ['--allow-degraded', dim]
    line = ['sh', '-c', 'test "$(cat)" = "$0" && echo "$0" >/tmp/x && exit 7']
    daemon = ['sh', '-c', './probe daemon 60 "$0"; exit 7']
    return [
        ('plain', [], line, 7), ('ephemeral', ['--ephemeral'], line, 7), ('limits', limits, line, 7),
        ('stragglers', [], daemon, 7), ('limited stragglers', limits, daemon, 7), ('time is up', ['--timeout', '100ms'], ['sleep', '60'], 124),
        ('no such program', [], ['no-such-program'], 127), ('refused', ['--memory', 'nonsense'], line, 125),
        ('killed', limits, ['sh', '-c', './probe daemon 60 "$0"; sleep 60'], -signal.SIGKILL),
    ]


def one(p, shape, word):
    """None, or what is wrong."""
    name, options, argv, code = shape
    if name == 'killed':
        proc = p.start_pale(*options, '--', *argv, word, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(int(word.rsplit('-', 1)[1]) % 40 / 1000)
        proc.kill()
        return None if proc.wait() == code else f'{name}: {proc.returncode}'
    r = p.pale(*options, '--', *argv, *([word] if argv[0] == 'sh' else []), data=word.encode(), timeout=120)
    return None if r.code == code else f'{name}: not {code}: {r}'


def sweep_up(p):
    """Whoever was killed left its cgroup to the next run that makes one."""
    return one(p, shapes(p)[2], 'last-0')


def flood(p, count, at_once):
    kinds = shapes(p)
    begin = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        answers = list(pool.map(lambda i: one(p, kinds[i % len(kinds)], f'{mark()}-{i}'), range(count)))
    seconds = time.monotonic() - begin
    wrong = [a for a in answers if a]
    ok(not wrong, p, f'{count} runs of {len(kinds)} kinds, each with the right status',
       f'{len(wrong)} wrong: {collections.Counter(a.split(":")[0] for a in wrong)}\n' + '\n'.join(wrong[:3]))
    sweep_up(p)
    note(f'[{p}] {count} runs, {at_once} at once, took {seconds:.1f} s')
    return sum(kinds[i % len(kinds)][0] == 'killed' for i in range(count))


def case_at_once(p):
    one(p, shapes(p)[0], 'first-0')
    before = Counted(p)
    before.gone(killed=flood(p, AT_ONCE, AT_ONCE))


def case_in_a_row(p):
    one(p, shapes(p)[0], 'first-0')
    before = Counted(p)
    before.gone(killed=flood(p, IN_A_ROW, 1))


def case_the_count_is_right(p):
    """Twin: what a careless run would leave is seen."""
    before = Counted(p)
    p.write('/tmp/pale-left' if os.environ.get(APART) else p.home / 'left', 'x')
    ok(len(files(p) - before.files) == 1, p, 'a file is seen')
    child = p.start('sleep', '60')
    ok(len(children()) == len(before.children) + 1, p, 'a process is seen')
    child.kill()
    ok(wait_for(lambda: children().get(child.pid) == 'Z'), p, 'and a zombie', children())
    child.wait()
    for f in files(p) - before.files:
        os.unlink(f)
    if os.environ.get(APART):
        subprocess.run(['mount', '--bind', p.home, p.outside], check=True)
        ok([l.split(' ', 2)[2] for l in lines('/proc/self/mountinfo')] != before.mounts, p, 'a mount is seen')
        subprocess.run(['umount', p.outside], check=True)
    before.gone()


go_apart()
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
main(case_the_count_is_right, case_at_once, case_in_a_row, uids=(1000,))
