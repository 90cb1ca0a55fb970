#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes: what the command sees and reaches, and that nothing outlives a run."""
import fcntl
import pty
import sys
import termios
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

# Threads with children of their own. Each child names itself in the folder given
# when SIGTERM comes; all wait for the last of them, or, told to, just end.
BROOD = r"""
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 10, EACH = 30 };
static sigset_t term;
static int ready[2];

static void child(void)
{
	char name[32];
	int number;

	alarm(60);
	if (write(ready[1], "x", 1) != 1 || sigwait(&term, &number) != 0)
		_exit(1);
	snprintf(name, sizeof(name), "term-%d", (int)getpid());
	_exit(close(creat(name, 0644)));
}

static void *parent(void *arg)
{
	for (int i = 0; i < EACH; i++)
		if (fork() == 0)
			child();
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char c;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	if (argc < 3 || chdir(argv[1]) < 0 || pipe(ready) < 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, parent, NULL);
	for (int i = 0; i < THREADS * EACH; i++)
		if (read(ready[0], &c, 1) != 1)
			return 1;
	puts("ready");
	fflush(stdout);
	if (argv[2][0] == 'e')
		return 0;
	while (wait(NULL) > 0)
		;
	return 0;
}
"""

MODES = ((), ('--processes', 'visible'), ('--preset', 'off'))


def mode_name(options):
    return ' '.join(options) or 'isolated'


def canary_process(p):
    m = mark()
    proc = p.start('sh', '-c', 'while :; do sleep 1; done', m, start_new_session=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: marked(m))
    return proc, m


def end(proc):
    if proc.poll() is None:
        proc.kill()
    proc.wait()


def end_group(proc):
    try:
        os.killpg(proc.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    proc.wait()


@needs('isolated')
def case_isolation_PR01_PR03(p):
    proc, m = canary_process(p)
    line = f'cat /proc/[0-9]*/cmdline | tr "\\0" "\\n" | grep "^mark-"; ./probe kill {proc.pid} 9; ./probe kill {proc.pid} 0'
    r = p.sh(line)
    ok(r.booted and m.encode() not in r.out and b'kill=ok' not in r.out and alive(proc.pid), p,
       'a process of the host is invisible and out of reach', r)
    r = p.sh('echo $$; ls -d /proc/[0-9]* | wc -l')
    pid, count = (int(x) for x in r.rest.split())
    ok(pid <= 4 and count <= 6, p, 'a pid namespace of its own', r)
    r = p.sh('--preset', 'off', '--', line)
    ok(m.encode() in r.out and b'kill=ok' in r.out and wait_for(lambda: not alive(proc.pid)), p,
       'twin: it can be seen and killed when off', r)
    end_group(proc)


def case_visible_PR01_FR15(p):
    proc, m = canary_process(p)
    o = ('--processes', 'visible')
    line = f'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n" | grep "^mark-"; for s in 0 15 9 19; do ./probe kill {proc.pid} $s; done'
    r = p.sh(*o, '--', line)
    ok(r.booted and m.encode() in r.out, p, 'host processes are visible', r)
    ok(b'kill=ok' not in r.out and r.out.count(b'kill=') == 4 and alive(proc.pid), p,
       'and out of reach of signals, although of the same uid', r)
    r = p.sh(*o, '--', f'cat /proc/{proc.pid}/environ | tr "\\0" "\\n" | grep ^HOME; ls /proc/{proc.pid}/root/; '
             f'cat /proc/{proc.pid}/root"$1"; cat /proc/{proc.pid}/cwd/../outside/canary; ls -l /proc/{proc.pid}/fd; '
             f'./probe openw /proc/{proc.pid}/mem', str(p.outside / 'canary'))
    ok(r.booted and b'HOME=' not in r.out and b'canary' not in r.out and b'=ok' not in r.out, p,
       'its environment, root, cwd and memory stay closed', r)
    r = p.sh(*o, '--', 'kill -9 $PPID || echo refused; kill -STOP $PPID || echo refused')
    ok(r.booted and r.code == 0 and r.out.count(b'refused') == 2, p, 'its warden is out of reach too', r)
    end_group(proc)


def case_kill_all_PR01(p):
    """In a pid namespace of the test's own, so that a broken boundary harms nobody."""
    outer = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
    if not p.is_root and not has('outer namespace'):
        return skip(p, MISSING[ENGINE]['outer namespace'], only_root=True)
    if not p.is_root:
        outer[1:1] = ['--user', '--map-current-user']
    line = ('sleep 60 & canary=$!; "$@"; echo "ended $?"; sleep 0.5; '
            'grep -q "State:.[SR]" /proc/$canary/status 2>/dev/null && echo alive; kill -9 $canary 2>/dev/null')

    def outcome(*argv):
        return p.run(*outer, 'sh', '-c', line, 'sh', *argv)
    r = outcome(str(p.probe_path), 'killall')
    if b'ended' not in r.out:
        return skip(p, f'no pid namespace for the test: {r.err!r}')
    ok(b'alive' not in r.out, p, 'twin: kill(-1) outside kills the canary', r)
    for options in MODES[:2]:
        r = outcome(*map(str, p.pale_argv(*options)), '--', 'sh', '-c', 'echo BOOTED; ./probe killall')
        ok(r.booted and b'alive' in r.out, p, f'{mode_name(options)}: kill(-1) inside does not', r)


def case_killed_supervisor_PR13(p):
    for options in MODES:
        for line in ('sleep 60 & ./probe orphan 60 $0; ./probe ignore $0', 'setsid sh -c ": $0; sleep 60" $0 & exec sh -c "sleep 60; : $0" $0'):
            m = mark()
            proc = p.start_pale(*options, '--', 'sh', '-c', 'touch started; ' + line, m, stdout=subprocess.DEVNULL)
            begun = wait_for(lambda: (p.ws / 'started').exists() and len(marked(m)) >= 4 - (ENGINE == 'bwrap'))
            time.sleep(0.2)
            before = len(marked(m))
            proc.kill()
            proc.wait()
            gone = wait_for(lambda: not marked(m), 6)
            ok(begun and gone, p, f'{mode_name(options)}: kill -9 of pale ends everything ({before} processes)', marked(m))
            for pid in marked(m):
                os.kill(pid, signal.SIGKILL)
            (p.ws / 'started').unlink(missing_ok=True)


def case_killed_process_group(p):
    """As a terminal or a CI job would end it: all of the group at once."""
    for options in MODES:
        m = mark()
        proc = p.start_pale(*options, '--', 'sh', '-c',
                            'touch started; ./probe orphan 60 $0; sleep 60 & ./probe ignore $0', m,
                            stdout=subprocess.DEVNULL, process_group=0)
        begun = wait_for(lambda: (p.ws / 'started').exists() and len(marked(m)) >= 4 - (ENGINE == 'bwrap'))
        time.sleep(0.2)
        before = len(marked(m))
        end_group(proc)
        gone = wait_for(lambda: not marked(m), 6)
        ok(begun and gone, p, f'{mode_name(options)}: kill -9 of the group ends everything ({before} processes)', marked(m))
        for pid in marked(m):
            os.kill(pid, signal.SIGKILL)
        (p.ws / 'started').unlink(missing_ok=True)
    m = mark()
    proc = p.start('sh', '-c', 'setsid ./probe ignore $0 & wait', m, stdout=subprocess.DEVNULL, process_group=0)
    begun = wait_for(lambda: len(marked(m)) >= 2)
    time.sleep(0.2)
    end_group(proc)
    left = marked(m)
    ok(begun and left, p, 'twin: without pale, one that left the group stays')
    for pid in left:
        os.kill(pid, signal.SIGKILL)


def case_stopped_warden(p):
    """A command that stops the process that watches over it gains no longer life."""
    for options in MODES[:2]:
        m = mark()
        proc = p.start_pale(*options, '--', './probe', 'stop-parent', m, stdout=subprocess.DEVNULL)
        begun = wait_for(lambda: len(marked(m)) >= 3 - (ENGINE == 'bwrap'))
        time.sleep(0.3)
        proc.kill()
        proc.wait()
        gone = wait_for(lambda: not marked(m), 6)
        ok(begun and gone, p, f'{mode_name(options)}: pale is killed', marked(m))
        for pid in marked(m):
            os.kill(pid, signal.SIGKILL)
        m = mark()
        r = p.pale(*options, '--timeout', '1s', '--', './probe', 'stop-parent', m, timeout=8)
        ok(r.code == 124 and r.seconds < 6 and not marked(m), p, f'{mode_name(options)}: the timeout still comes', r)
        for pid in marked(m):
            os.kill(pid, signal.SIGKILL)


def case_stragglers(p):
    for options in MODES:
        m = mark()
        r = p.pale(*options, '--', 'sh', '-c', './probe daemon 60 $0; setsid sleep 61 & echo done', m)
        ok(r.code == 0 and r.out == b'done\n' and not marked(m), p,
           f'{mode_name(options)}: a daemon does not outlive the run', f'{marked(m)}\n{r}')
        m = mark()
        r = p.pale(*options, '--', './probe', 'hop', m, timeout=20)
        left = marked(m) or wait_for(lambda: marked(m), 0.2)
        ok(r.code == 0 and not left, p, f'{mode_name(options)}: nor one that is never the same process for long', r)
        end_of = time.monotonic() + 5
        while marked(m) and time.monotonic() < end_of:
            [os.kill(q, signal.SIGKILL) for q in marked(m)]
    m = mark()
    proc = p.start('./probe', 'daemon', '60', m)
    proc.wait()
    left = marked(m)
    ok(left, p, 'twin: it does without pale')
    for pid in left:
        os.kill(pid, signal.SIGKILL)


def case_zombies(p):
    for options in MODES[:2]:
        r = p.sh(*options, '--', './probe zombies')
        if options or not has('isolated'):
            # others of the host may be among them
            ok(r.booted, p, 'visible: orphans are reaped or not ours', r)
        else:
            ok(r.booted and b'zombies=0' in r.out, p, 'orphans are reaped', r)


def case_forwarded_signals(p):
    for options in MODES:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            m = mark()
            proc = p.start_pale(*options, '--', 'sh', '-c',
                                f'trap "echo got-{number}; exit 7" {int(number)}; echo ready; while :; do sleep 0.05; done', m,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            ready = proc.stdout.readline() == b'ready\n'
            proc.send_signal(number)
            try:
                out = proc.communicate(timeout=5)[0]
            except subprocess.TimeoutExpired:
                end(proc)
                out = b''
            ok(ready and out == b'got-%d\n' % number and proc.returncode == 7 and not marked(m), p,
               f'{mode_name(options)}: {number.name} reaches the command', f'{proc.returncode} {out}')
    proc = p.start_pale('--', 'sh', '-c', 'echo ready; exec sleep 60', stdout=subprocess.PIPE)
    proc.stdout.readline()
    proc.send_signal(signal.SIGTERM)
    proc.communicate(timeout=5)
    ok(proc.returncode == 143, p, 'one that it ends the command by is 128 + its number', proc.returncode)


def case_burst_of_signals(p, runs=150):
    """Signals that come when the command ends are orders that nobody reads: what
    the command's end was must arrive nevertheless."""
    canary = p.ws / 'ran'
    for options in MODES:
        done, sent, lost = 0, 0, []
        for _ in range(runs // len(MODES)):
            canary.unlink(missing_ok=True)
            proc = p.start_pale(*options, '--', 'sh', '-c', 'trap "" USR1 USR2; : >ran; exit 7',
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            end_of = time.monotonic() + 10
            while proc.poll() is None and time.monotonic() < end_of:
                # the others would end it before it has said that it ignores them
                for number in (signal.SIGCONT, signal.SIGUSR1, signal.SIGUSR2)[:3 if canary.exists() else 1]:
                    proc.send_signal(number)
                    sent += 1
            end(proc)
            text = proc.stderr.read()
            proc.stderr.close()
            if canary.exists():
                done += 1
                if proc.returncode != 7:
                    lost.append((proc.returncode, text))
        ok(done == runs // len(MODES) and not lost, p,
           f'{mode_name(options)}: {done} commands ended amid {sent} signals, no end was lost', lost[:5])
    canary.unlink(missing_ok=True)


def case_term_reaches_all(p):
    """Also the children of threads, and more of them than one page of /proc lists."""
    source = p.write(p.ws / 'brood.c', BROOD)
    subprocess.run(['gcc', '-O1', '-Wall', '-pthread', '-o', p.ws / 'brood', source], check=True)
    for options in MODES:
        for how, want in (('stay', 300), ('end', 0)):
            terms = p.mkdir(p.ws / 'terms')
            m = mark()
            r = p.pale(*options, '--timeout', '2s', '--', './brood', 'terms', how, m)
            count = len(os.listdir(terms))
            name = f'the timeout tells all 300 of them, {count}' if want else 'twin: an end in time tells nobody'
            ok(r.out == b'ready\n' and r.code == (124 if want else 0) and count == want and not marked(m), p,
               f'{mode_name(options)}: {name}', r)
            shutil.rmtree(terms)
    for name in ('brood', 'brood.c'):
        (p.ws / name).unlink()


def on_terminal(p, *argv):
    """Run ARGV with a terminal of its own, as a shell would; what came out of it, and
    what is left in its input queue."""
    master, slave = pty.openpty()
    attrs = termios.tcgetattr(slave)
    attrs[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(slave, termios.TCSANOW, attrs)

    def take():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # somebody else of the session keeps the terminal
    proc = subprocess.Popen(p.argv(['sh', '-c', '"$@"; echo "status $?"; sleep 0.1', 'sh', *map(str, argv)]),
                            stdin=slave, stdout=slave, stderr=slave, cwd=p.ws, env=p.env, preexec_fn=take)
    out = b''
    try:
        os.set_blocking(master, False)
        end_of = time.monotonic() + 8
        queued = 0
        while time.monotonic() < end_of:
            try:
                out += os.read(master, 4096)
            except (BlockingIOError, OSError):
                pass
            buf = bytearray(4)
            try:
                fcntl.ioctl(slave, termios.FIONREAD, buf)
                queued = max(queued, int.from_bytes(buf, 'little'))
            except OSError:
                pass
            if proc.poll() is not None:
                break
            time.sleep(0.01)
    finally:
        end(proc)
        os.close(master)
        os.close(slave)
    return out, queued


def case_terminal_PR04_PR05(p):
    if os.geteuid() == 0 and not p.is_root:
        pass  # the terminal is root's; descriptors are enough
    for options in p.each(*MODES[:2], ('--filesystem', 'unrestricted')):
        out, queued = on_terminal(p, *p.pale_argv(*options), '--', 'sh', '-c', 'echo BOOTED; ./probe tiocsti; ./probe tiocsti-wide')
        ok(b'BOOTED' in out and b'status' in out and queued == 0, p,
           f"{mode_name(options)}: nothing can be typed into the caller's terminal", f'{out} {queued} bytes queued')
    out, queued = on_terminal(p, p.probe_path, 'tiocsti')
    legacy = pathlib.Path('/proc/sys/dev/tty/legacy_tiocsti')
    if p.is_root or not legacy.exists() or legacy.read_text().strip() == '1':
        ok(queued > 0, p, 'twin: it can without pale', f'{out} {queued}')
    out, queued = on_terminal(p, *p.pale_argv(), '--', 'sh', '-c', 'echo BOOTED; ps -o pid,sid,tty | tail -1; tty')
    ok(b'status 0' in out or b'status 1' in out, p, 'a run with a terminal ends', out)


main(case_isolation_PR01_PR03, case_visible_PR01_FR15, case_kill_all_PR01,
     case_killed_supervisor_PR13, case_killed_process_group, case_stopped_warden, case_stragglers,
     case_zombies, case_forwarded_signals, case_burst_of_signals, case_term_reaches_all,
     case_terminal_PR04_PR05, uids=(54321,))
