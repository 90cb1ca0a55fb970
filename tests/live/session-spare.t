#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The process that waits in a session to become its next command."""
import fcntl
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from box import Box

# What there is to know of a process, from inside: the same for each, or something came along.
ABOUT = r'''
grep -E '^(Umask|Groups|NoNewPrivs|Seccomp|Seccomp_filters|Cap...|Sig(Pnd|Blk|Ign|Cgt)|ShdPnd|Cpus_allowed_list):' /proc/self/status
cat /proc/self/limits; pwd; nice; ls /proc/self/fd; env -i cat /proc/self/environ; env | sort
cut -d' ' -f6,7,8 /proc/$$/stat | sed "s/\b$$\b/own/g"
'''
# Somebody in the background who does something to whoever waits.
MEDDLER = '''
echo BOOTED
until [ -e go ]; do sleep 0.02; done
for p in /proc/[0-9]*; do
    p=${p#/proc/}
    [ $p = 1 ] || [ "$(cat /proc/$p/comm)" != pale ] || %s
done
echo done >done; rm go
'''


def children(pid):
    return [int(c) for c in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def looks(pid):
    """What it is called, and its state; nothing when it has gone meanwhile."""
    try:
        name, rest = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return name.split('(', 1)[1], rest.split()[0]


def comm(pid):
    return (looks(pid) or [None])[0]


class Waiting(Box):
    """A session, and who waits in it as the host sees it."""

    def begin(self, p, *args):
        ok(self.start(*args).code == 0, p, 'it stands')
        self.warden = children(self.pid())[0]

    def spare(self, seconds=5):
        def one():
            found = [c for c in children(self.warden) if looks(c) == ('pale', 'S')]
            return found[0] if len(found) == 1 else None
        return wait_for(one, seconds)

    def meddle(self, p, how):
        """With the spare, which is told."""
        self.verb('exec', '-s', 's', '-b', '--', 'sh', '-c', MEDDLER % how)
        self.sh('true')
        spare = self.settled()
        p.write(self.ws / 'go', '')
        ok(spare and wait_for((self.ws / 'done').exists), p, f'{how.split(" $")[0]}: somebody does it')
        (self.ws / 'done').unlink()
        return spare

    def settled(self):
        """One that the session knows of."""
        spare = self.spare()
        time.sleep(0.1)
        return spare


def case_becomes(p):
    with Waiting(p, 'becomes') as box:
        box.begin(p)
        ok(not children(box.warden), p, 'nobody waits before the first command')
        first = box.sh(ABOUT)
        spare = box.settled()
        ok(spare, p, 'one waits after it')
        second = box.sh(ABOUT)
        ok(first.booted and len(first.out.splitlines()) > 20 and first.out == second.out, p, 'the next one knows nothing else, and is nobody else', (first, second))
        spare = box.settled()
        running = box.p.start(box.p.pale_path, 'exec', '-s', 's', '--', 'sleep', '30', cwd=box.ws, env=box.env)
        ok(wait_for(lambda: comm(spare) == 'sleep'), p, 'it was who waited', (spare, children(box.warden)))
        running.terminate()
        ok(running.wait(10) == 128 + 15, p, 'a signal reaches it')
        box.settled()
        r = box.verb('exec', '-s', 's', '--', 'no-such-program')
        ok(r.code == 127 and b'not found' in r.err, p, 'a program that is not there', r)
        box.settled()
        r = box.verb('exec', '-s', 's', '--', '/etc')
        ok(r.code == 126, p, 'one that is none', r)
        box.settled()
        r = box.verb('exec', '-s', 's', '--timeout', '300ms', '--', 'sh', '-c', 'echo BOOTED; sleep 30')
        ok(r.booted and r.code == 124, p, 'one with a limit is held to it', r)


def case_goes(p):
    with Waiting(p, 'goes') as box:
        box.begin(p)
        box.sh('true')
        spare = box.settled()
        ok(spare and wait_for(lambda: not children(box.warden), 15), p, 'it goes when nobody wants it')
        r = box.sh('echo fine')
        ok(r.rest == b'fine\n', p, 'the next command does without', r)


def case_limit_of_processes(p):
    with Waiting(p, 'pids') as box:
        box.begin(p, '--pids', '40')
        r = box.sh('true')
        time.sleep(0.3)
        ok(r.booted and not children(box.warden), p, 'where processes are counted there is none')


def case_signals(p):
    """What is sent to who waits does not reach the command that comes later. Where the kernel keeps signals
    inside of Landlock domains those inside cannot send any: so the host does."""
    with Waiting(p, 'signals') as box:
        box.begin(p)
        for sig in signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGSTOP, signal.SIGTSTP, signal.SIGUSR2, signal.SIGCONT, signal.SIGCHLD:
            box.sh('true')
            spare = box.settled()
            os.kill(spare, sig)
            harmless = sig in (signal.SIGTSTP, signal.SIGCONT, signal.SIGCHLD)  # the first does not stop a group without relations
            gone = wait_for(lambda: spare not in children(box.warden), 0.3 if harmless else 2)
            ok(bool(gone) != harmless, p, f'{sig.name}: who waited has gone, unless it is nothing to it', (spare, children(box.warden)))
            r = box.sh('echo fine', timeout=20)
            ok(r.code == 0 and r.rest == b'fine\n', p, f'{sig.name}: the next command has not heard of it', r)


def case_taken_from(p):
    """Who is killed just when it gets its command does not make anybody wait."""
    with Waiting(p, 'taken') as box:
        box.begin(p)
        codes = []
        for n in range(20):
            box.sh('true')
            spare = box.settled()
            os.kill(spare, signal.SIGSTOP if n % 2 else signal.SIGKILL)
            r = box.verb('exec', '-s', 's', '--', 'true', timeout=20)
            codes.append(r.code)
        ok(len(codes) == 20 and set(codes) <= {0, 128 + 9} and 0 in codes, p, 'it runs, or is known to have been killed', codes)


def case_manners(p):
    """Who was made to run with less priority does not become a command."""
    with Waiting(p, 'manners') as box:
        box.begin(p)
        for how, reached, look in (('renice -n 19 -p $p', lambda pid: os.getpriority(os.PRIO_PROCESS, pid) == 19, 'nice'),
                                   ('taskset -p 1 $p', lambda pid: os.sched_getaffinity(pid) == {0}, 'taskset -p $$ | sed "s/.*: //"'),
                                   ('python3 -c "import os; os.sched_setscheduler($p, os.SCHED_RESET_ON_FORK, os.sched_param(0))"',
                                    lambda pid: os.sched_getscheduler(pid) & os.SCHED_RESET_ON_FORK, 'exec python3 -c "import os; print(os.sched_getscheduler(0))"'),
                                   ('ionice -c 3 -p $p', lambda pid: b'idle' in subprocess.run(['ionice', '-p', str(pid)], capture_output=True).stdout, 'ionice -p $$')):
            before = box.sh(look)
            spare = box.meddle(p, how)
            ok(reached(spare), p, f'{how.split()[0]}: it did that', spare)
            after = box.sh(look)
            ok(before.code == 0 and before.out == after.out, p, f'{how.split()[0]}: the next command is nothing of the kind', (before, after))
            ok(wait_for(lambda: spare not in children(box.warden), 6), p, f'{how.split()[0]}: who it was done to has gone')


def case_limits(p):
    """Nobody inside sets its limits, which become those of a command."""
    with Waiting(p, 'limits') as box:
        box.begin(p)
        limits = lambda pid: pathlib.Path(f'/proc/{pid}/limits').read_text()
        box.sh('true')
        before = limits(box.settled())
        spare = box.meddle(p, '{ prlimit --nofile=64:64 --pid $p; prlimit --nofile=64:64 true && echo tried >tried; }')
        ok((box.ws / 'tried').exists() and limits(spare) == before, p, 'they are as they were', (spare, limits(spare)))


def case_files(p):
    """A file that was one command's output is nothing to the next."""
    with Waiting(p, 'files') as box:
        box.begin(p)
        p.write(box.top / 'out', '')
        (box.top / 'out').chmod(0o666)
        box.sh('true')
        box.settled()
        with open(box.top / 'out', 'wb') as out:
            r = box.p.start(box.p.pale_path, 'exec', '-s', 's', '--', 'sh', '-c', 'echo one; echo two >>/proc/self/fd/1', cwd=box.ws, env=box.env, stdout=out)
            ok(r.wait(10) == 0, p, 'it opens its own anew')
        ok((box.top / 'out').read_text() == 'one\ntwo\n', p, 'and writes there')
        box.settled()
        r = box.sh(f'cat {box.top}/out')
        ok(r.booted and r.code != 0 and b'one' not in r.out, p, 'the next command cannot open it', r)


def case_refused(p):
    """It prepares itself while it is looked whether the command may begin; one that may not never does."""
    with Waiting(p, 'refused') as box:
        box.begin(p)
        box.sh('true')
        spare = box.settled()
        r = box.verb('exec', '-s', 's', '--', 'touch', 'made')
        ok(spare and r.code == 0 and (box.ws / 'made').exists(), p, 'one that may', r)
        for name, what in (('pale.toml', b'has changed since'), ('.git', b'was made since')):
            (box.ws / 'made').unlink(missing_ok=True)
            spare = box.settled()
            (p.mkdir if name == '.git' else lambda path: p.write(path, ''))(box.ws / name)
            r = box.verb('exec', '-s', 's', '--', 'touch', 'made')
            ok(spare and r.code != 0 and what in r.err, p, f'{name}: refused', r)
            ok(wait_for(lambda: spare not in children(box.warden), 6) and not (box.ws / 'made').exists(), p, f'{name}: and who waited has gone without it')
            (box.ws / name).rmdir() if name == '.git' else (box.ws / name).unlink()
            r = box.verb('exec', '-s', 's', '--', 'touch', 'made')
            ok(r.code == 0 and (box.ws / 'made').exists(), p, f'{name}: without it the next one does', r)


def case_written_down_first(p):
    """It has its command, but executes nothing before the history knows of it."""
    if os.geteuid() != 0:
        skip(p, 'nobody but root sees where the spare is', only_root=True)
        return
    with Waiting(p, 'written') as box:
        box.begin(p)
        box.sh('true')
        made, keeper = box.ws / 'made', box.pid()
        for killed in (False, True):
            spare = box.settled()
            spool = next(box.state.rglob('spool'))
            known = spool.stat().st_size
            with open(spool, 'r+b') as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                running = box.p.start(box.p.pale_path, 'exec', '-s', 's', '--', 'touch', 'made', cwd=box.ws, env=box.env, stderr=subprocess.DEVNULL)
                has_it = lambda: os.path.samefile(f'/proc/{spare}/cwd', box.ws)
                ok(spare and wait_for(has_it, 3), p, 'it prepares itself while that is written', spare)
                time.sleep(0.05)
                ok(comm(spare) == 'pale' and not made.exists(), p, 'and goes no further', comm(spare))
                if killed:
                    os.kill(keeper, signal.SIGKILL)
            running.wait(10)
            if killed:
                ok(wait_for(lambda: not os.path.exists(f'/proc/{spare}')) and not made.exists(), p, 'nor ever, when there is nobody who would write it')
            else:
                ok(made.exists() and spool.stat().st_size > known, p, 'then it does', (known, spool.stat().st_size))
                made.unlink()


main(case_becomes, case_goes, case_limit_of_processes, case_signals, case_taken_from, case_manners, case_limits, case_files, case_refused, case_written_down_first)
