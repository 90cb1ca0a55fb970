#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command's terminal is its own and works like one; the caller's is given
back as it was. And output past max_output."""
import errno
import fcntl
import os
import re
import select
import shutil
import signal
import struct
import sys
import termios
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
from live import *  # noqa: E402,F403

PYTHON = '/usr/bin/python3'


class Term:
    """A program on a terminal of ours: what a terminal emulator does."""

    def __init__(self, p, *argv, stdin=None, stdout=None, stderr=None, size=(24, 80), env=None,
                 owned=True):
        self.master, slave = os.openpty()
        self.name = os.ttyname(slave)
        if owned and not p.is_root and os.geteuid() == 0:
            os.chown(self.name, p.uid, p.uid)
        self.resize(*size)
        self.before = termios.tcgetattr(slave)
        self.slave = slave  # kept, so that settings can be looked at afterwards
        self.seen = b''

        def leader():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.proc = p.start(*argv, stdin=slave if stdin is None else stdin,
                            stdout=slave if stdout is None else stdout,
                            stderr=slave if stderr is None else stderr,
                            preexec_fn=leader, env=env)

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, cols, 0, 0))

    def type(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode())

    def pull(self, seconds=0.05):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.master, 65536)
            except OSError as e:
                if e.errno != errno.EIO:
                    raise
                time.sleep(seconds)

    def wait(self, text, seconds=10):
        """Until TEXT, a pattern, is on the screen; what was there so far."""
        end = time.monotonic() + seconds
        text = text if isinstance(text, bytes) else text.encode()
        while time.monotonic() < end:
            found = re.search(text, self.seen)
            if found:
                return found
            self.pull()
        note(f'waited for {text!r}, saw {self.seen[-500:]!r}')
        return None

    def end(self, seconds=15):
        """Exit status; everything that was printed is in `seen`."""
        end = time.monotonic() + seconds
        while self.proc.poll() is None and time.monotonic() < end:
            self.pull()
        if self.proc.poll() is None:
            note(f'still running; saw {self.seen[-500:]!r}')
            self.proc.kill()
        self.proc.wait()
        while select.select([self.master], [], [], 0.02)[0]:
            size = len(self.seen)
            self.pull()
            if len(self.seen) == size:
                break
        return self.proc.returncode

    @property
    def modes(self):
        return termios.tcgetattr(self.slave)

    @property
    def restored(self):
        return self.modes == self.before

    def close(self):
        for fd in (self.master, self.slave):
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        self.close()


def term(p, *args, **kw):
    return Term(p, *p.pale_argv(*args), **kw)


def case_which_descriptors(p):
    """All combinations of terminal and pipe."""
    line = ('for i in 0 1 2; do if test -t $i; then echo "t$i" >>result; fi; done; '
            'echo out; echo err >&2')
    for preset in ('workspace', 'off'):
        for mask in range(8):
            pipe_r, pipe_w = os.pipe()
            null = os.open('/dev/null', os.O_RDONLY)
            kw = {'stdin': None if mask & 1 else null,
                  'stdout': None if mask & 2 else pipe_w,
                  'stderr': None if mask & 4 else pipe_w}
            p.write(p.ws / 'result', '')
            with term(p, '--preset', preset, '--', 'sh', '-c', line, **kw) as t:
                os.close(pipe_w)
                code = t.end()
                piped = os.read(pipe_r, 1000)
                want = [f't{i}' for i in range(3) if mask & 1 << i]
                got = (p.ws / 'result').read_text().split()
                ok(code == 0 and got == want, p, f'{preset}: terminals {want} outside and inside',
                   f'{code} {got} {t.seen!r}')
                text = b''.join(w + b'\r\n' for w, bit in ((b'out', 2), (b'err', 4)) if mask & bit)
                rest = b''.join(w + b'\n' for w, bit in ((b'out', 2), (b'err', 4))
                                if not mask & bit)
                ok(t.seen == text and piped == rest, p, 'what is printed arrives, and only that',
                   f'{t.seen!r} {piped!r}')
                ok(t.restored, p, 'settings are as before')
            os.close(pipe_r)
            os.close(null)


NAMES = r'''
import os
print('BOOTED')
for fd in (0, 1, 2):
    print('fd', fd, os.ttyname(fd), os.fstat(fd).st_rdev, os.fstat(fd).st_dev)
tty = os.open('/dev/tty', os.O_RDWR)
os.write(tty, b'by /dev/tty\n')
slave = os.open(os.ttyname(0), os.O_RDWR | os.O_NOCTTY)
os.write(slave, b'by name\n')
print('group', os.tcgetpgrp(0) == os.getpgrp())
'''


def case_not_the_callers(p):
    (p.ws / 'names.py').write_text(NAMES)
    for options in ([], ['--processes', 'visible'], ['--filesystem', 'unrestricted'],
                    ['--preset', 'off']):
        if 'unrestricted' in options and p.is_root and not has('root'):
            continue
        with term(p, *options, '--', PYTHON, 'names.py') as t:
            code = t.end()
            mine = os.fstat(t.slave)
            rows = re.findall(rb'fd (\d) (\S+) (\d+) (\d+)', t.seen)
            ok(code == 0 and b'BOOTED' in t.seen and len(rows) == 3, p,
               f'{options}: all three are terminals that know their name', t.seen)
            ok(all((int(r[2]), int(r[3])) != (mine.st_rdev, mine.st_dev) for r in rows), p,
               'none of them is the caller\'s', f'{rows} {mine.st_rdev} {mine.st_dev}')
            ok(b'by /dev/tty' in t.seen and b'by name' in t.seen, p,
               'it opens as /dev/tty and by its name', t.seen)
            ok(b'group True' in t.seen, p, 'the command is in the foreground of it', t.seen)
    with Term(p, PYTHON, 'names.py') as t:
        t.end()
        rows = re.findall(rb'fd (\d) (\S+) (\d+) (\d+)', t.seen)
        mine = os.fstat(t.slave)
        ok(rows and all((int(r[2]), int(r[3])) == (mine.st_rdev, mine.st_dev) for r in rows), p,
           'twin: outside it is the caller\'s', t.seen)


ATTACK = r'''
import fcntl, sys, termios
print('BOOTED', flush=True)
for fd in (0, 1, 2):
    try:
        for c in b'echo STUFFED\n':
            fcntl.ioctl(fd, termios.TIOCSTI, bytes([c]))
    except OSError as e:
        print('TIOCSTI', e)
    try:
        modes = termios.tcgetattr(fd)
        modes[3] &= ~(termios.ECHO | termios.ISIG)
        modes[6][termios.VINTR] = b'x'
        termios.tcsetattr(fd, termios.TCSANOW, modes)
        fcntl.ioctl(fd, termios.TIOCSWINSZ, b'\5\0\6\0\0\0\0\0')
        print('CHANGED', fd)
    except (OSError, termios.error) as e:
        print('tcsetattr', e)
sys.stdout.flush()
import time; time.sleep(0.2)
'''


def case_no_way_into_the_callers_PR04(p):
    (p.ws / 'attack.py').write_text(ATTACK)
    for options in ([], ['--preset', 'off']):
        for stdin in ('terminal', 'null'):
            null = os.open('/dev/null', os.O_RDONLY)
            with term(p, *options, '--', PYTHON, 'attack.py',
                      stdin=null if stdin == 'null' else None) as t:
                t.wait('CHANGED 2')
                size = fcntl.ioctl(t.slave, termios.TIOCGWINSZ, b'\0' * 8)
                ok(size[:2] == b'\x18\0', p, 'the size of the caller\'s stays', size)
                if stdin == 'null':
                    ok(t.restored, p, 'so do its settings, meanwhile')
                code = t.end()
                pending = select.select([t.slave], [], [], 0)[0]
                ok(code == 0 and b'BOOTED' in t.seen and b'CHANGED 2' in t.seen, p,
                   f'{options}, stdin {stdin}: the attack ran', t.seen)
                ok(t.restored, p, 'settings of the caller\'s terminal are as before')
                ok(not pending, p, 'nothing is there to be read in the caller\'s')
            os.close(null)
    with Term(p, PYTHON, 'attack.py') as t:
        t.end()
        ok(not t.restored, p, 'twin: outside it changes the settings', t.seen)


def case_keyboard_stays_outside_IN13(p):
    """With another stdin, what is typed is for somebody else."""
    probe = (r'import os,time;print("BOOTED",flush=True);time.sleep(0.4)' '\n'
             r'for fd in (1,2):' '\n'
             r'  try: print("read",os.read(fd,100))' '\n'
             r'  except OSError as e: print("no:",e)' '\n'
             r'try: print("tty",os.read(os.open("/dev/tty",os.O_RDWR),100))' '\n'
             r'except OSError as e: print("no:",e)' '\n')
    null = os.open('/dev/null', os.O_RDONLY)
    with term(p, '--', PYTHON, '-c', probe, stdin=null) as t:
        t.wait('BOOTED')
        t.type('secret\n')
        code = t.end()
        ok(code == 0 and t.seen.count(b'no:') == 3 and b'read' not in t.seen, p,
           'the command cannot read what is typed', t.seen)
        ok(os.read(t.slave, 100) == b'secret\n', p, 'it waits for the next reader outside')
    with Term(p, PYTHON, '-c', probe, stdin=null) as t:
        t.wait('BOOTED')
        t.type('secret\nsecret\nsecret\n')
        t.end()
        ok(b"read b'secret" in t.seen, p, 'twin: without pale it can', t.seen)
    os.close(null)


@only_first
def case_terminal_of_another_user(p):
    """As after su: it is open, and cannot be opened again."""
    blob = bytes(range(256)) * 1024
    p.write(p.ws / 'blob', blob)
    with term(p, '--', 'sh', '-c', 'stty -opost; read x; echo $x; cat blob', owned=False) as t:
        wait_for(lambda: t.modes != t.before)
        t.type('typed\n')
        ok(t.end() == 0 and t.seen.endswith(b'\ntyped\n' + blob), p, 'it works all the same', t.seen[:100])
        ok(t.restored, p, 'settings are as before')


def case_window_size(p):
    line = 'trap "stty size; exit" WINCH; stty size; echo READY; while :; do sleep 0.05; done'
    with term(p, '--', 'sh', '-c', line, size=(31, 97)) as t:
        ok(t.wait('31 97'), p, 'it has the size of the caller\'s', t.seen)
        t.wait('READY')
        t.resize(42, 111)
        ok(t.wait('42 111'), p, 'and follows it, with SIGWINCH', t.seen)
        ok(t.end() == 0 and t.restored, p, 'settings are as before')


def case_keys(p):
    with term(p, '--', 'sh', '-c', 'echo READY; exec sleep 100') as t:
        t.wait('READY')
        ok(t.modes != t.before, p, 'the caller\'s is in raw mode meanwhile')
        t.type(b'\x03')
        ok(t.end() == 130 and t.restored, p, 'Ctrl-C ends it: 130', t.proc.returncode)
    with term(p, '--', 'sh', '-c', 'echo READY; exec sleep 100') as t:
        t.wait('READY')
        t.type(b'\x1c')
        ok(t.end() == 131 and t.restored, p, 'Ctrl-\\ ends it: 131', t.proc.returncode)
    with term(p, '--', 'sh', '-c', 'echo READY; exec cat') as t:
        t.wait('READY')
        t.type('line\n')
        t.wait('line\r\nline\r\n')
        t.type(b'\x04')
        ok(t.end() == 0 and t.restored and t.seen == b'READY\r\nline\r\nline\r\n', p,
           'echo, a line, Ctrl-D', t.seen)
    with term(p, '--', 'sh', '-c', 'trap "echo CAUGHT; exit 7" INT; echo READY; '
              'while :; do sleep 0.05; done') as t:
        t.wait('READY')
        t.type(b'\x03')
        ok(t.end() == 7 and b'CAUGHT' in t.seen, p, 'a handler of the command\'s runs', t.seen)
    # A command that nobody can wake is not stopped for ever.
    with term(p, '--', 'sh', '-c', 'echo READY; sleep 0.5; echo DONE') as t:
        t.wait('READY')
        ctrl_z(t)
        ok(t.end() == 0 and b'DONE' in t.seen and t.restored, p,
           'Ctrl-Z without a shell outside: it goes on', t.seen)


def case_every_end(p):
    ends = {
        'exit': (['--', 'sh', '-c', 'exit 3'], None, 3),
        'not found': (['--', 'no-such-program'], None, 127),
        'refused': (['--network', 'unrestricted', '--connections', '3', '--', 'true'], None, 125),
        'timeout': (['--timeout', '300ms', '--', 'sh', '-c', 'echo READY; sleep 100'], None, 124),
        'deaf at the timeout': (['--timeout', '300ms', '--', 'sh', '-c',
                                 'trap "" TERM; echo READY; while :; do sleep 1; done'], None, 124),
        'SIGTERM': (['--', 'sh', '-c', 'echo READY; exec sleep 100'], signal.SIGTERM, 143),
        'SIGHUP': (['--', 'sh', '-c', 'echo READY; exec sleep 100'], signal.SIGHUP, 129),
        'killed inside': (['--', 'sh', '-c', 'kill -KILL $$'], None, 137),
        'settings changed inside': (['--', 'sh', '-c', 'stty raw -echo; exit 0'], None, 0),
    }
    for name, (argv, sig, want) in ends.items():
        with term(p, *argv) as t:
            if sig:
                t.wait('READY')
                t.proc.send_signal(sig)
            code = t.end()
            ok(code == want and t.restored, p, f'{name}: {want}, and settings are as before',
               f'{code} {t.restored} {t.seen!r}')
    # Before and after the terminal was handed over.
    for call in ('pivot_root', 'setpgid'):
        with Term(p, 'strace', '-f', '-qq', '-o', '/dev/null', '-e', f'inject={call}:error=EPERM',
                  *p.pale_argv('--', 'echo', 'BOOTED')) as t:
            code = t.end()
            ok(code == 125 and b'BOOTED' not in t.seen and b'Operation not permitted' in t.seen, p,
               f'{call} fails: 125', t.seen)
            ok(t.restored, p, 'settings are as before')


def case_ended_at_any_time(p):
    """From the very start on, whatever has been set up by then."""
    bad, raw = [], 0
    for i in range(60):
        sig = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)[i % 4]
        with term(p, '--', 'sleep', '100') as t:
            time.sleep(i * 0.0004)
            raw += not t.restored
            t.proc.send_signal(sig)
            code = t.end()
            if not t.restored or code not in (128 + sig, -sig, 125, 137):
                bad.append((i, sig, code, t.restored, t.seen))
    ok(not bad, p, '60 runs end, settings are as before', bad)
    ok(raw > 5, p, 'some of them had changed them', raw)


def case_hang_up(p):
    m = mark()
    t = term(p, '--', 'sh', '-c', f'echo READY; sleep 100; : {m}')
    t.wait('READY')
    ok(marked(m), p, 'it runs')
    t.close()
    ok(wait_for(lambda: t.proc.poll() is not None) and wait_for(lambda: not marked(m)), p,
       'the caller\'s terminal is closed: the run ends')
    if t.proc.poll() is None:
        t.proc.kill()
        t.proc.wait()
    t = term(p, '--', 'sh', '-c', f'trap "" HUP; echo READY; sleep 1; echo lost; echo yes >kept; : {m}')
    t.wait('READY')
    t.close()
    t.proc.wait()
    ok((p.ws / 'kept').exists(), p, 'who ignores that goes on without a terminal')


def case_much_output(p):
    """Byte for byte, also when the terminal is slow."""
    blob = bytes(range(256)) * 4096
    p.write(p.ws / 'blob', blob)
    for slow in (False, True):
        with term(p, '--', 'sh', '-c', 'stty -opost; cat blob') as t:
            if slow:
                time.sleep(0.5)
            code = t.end()
            ok(code == 0 and t.seen == blob, p, f'1 MiB arrives complete, slow: {slow}',
               f'{code} {len(t.seen)}')
    # A reader that takes nothing does not keep the timeout from coming.
    m = mark()
    with term(p, '--timeout', '500ms', '--', 'yes', m) as t:
        ok(wait_for(lambda: len(marked(m)) > 1), p, 'it floods a terminal that nobody reads')
        # What is left is pale itself, which has to say so on that terminal.
        ok(wait_for(lambda: len(marked(m)) < 2, 8), p, 'blocked output: the timeout holds')
        ok(t.end() == 124 and t.seen.endswith(b'timed out after 500ms\r\n'), p, 'and is told',
           t.seen[-100:])
        ok(t.restored, p, 'settings are as before')


def case_much_input(p):
    with term(p, '--', 'sh', '-c', 'stty raw -echo; echo READY; head -c 300000 | sha256sum') as t:
        t.wait('READY')
        data = os.urandom(300000)
        left = memoryview(data)
        while left:
            if select.select([], [t.master], [], 5)[1]:
                left = left[os.write(t.master, left[:1000]):]
            t.pull(0)
        t.end()
        ok(hashlib.sha256(data).hexdigest().encode() in t.seen, p, '300 kB are read as typed',
           t.seen[-200:])


def case_quick_end(p):
    """What a command prints last is not lost."""
    bad = 0
    for _ in range(30):
        with term(p, '--', 'echo', 'last words') as t:
            bad += t.end() != 0 or t.seen != b'last words\r\n'
    ok(bad == 0, p, '30 quick runs print what they print', bad)


def ctrl_z(t):
    """Not while a shell is between vfork and exec: the kernel does not stop it there."""
    time.sleep(0.2)
    t.type(b'\x1a')


def line_of(p):
    """pale run, for a shell."""
    return ' '.join(str(word) for word in p.pale_argv())


class OuterShell(Term):
    """An interactive bash outside, with job control."""

    def __init__(self, p):
        super().__init__(p, 'bash', '--norc', '--noprofile', '-i',
                         env=dict(p.env, PS1='OUT$ ', TERM='xterm'))

    def line(self, text):
        """At its prompt: what is typed before goes to the command that runs."""
        self.wait(rb'OUT\$ $')
        self.seen = b''
        self.type(text + '\n')


def case_job_control_outside(p):
    with OuterShell(p) as t:
        t.line(f"{line_of(p)} -- sh -c 'echo REA''DY; sleep 2; read x; echo got=$x'")
        t.wait('READY')
        ctrl_z(t)
        ok(t.wait('Stopped'), p, 'Ctrl-Z stops pale, and the shell has the terminal', t.seen)
        t.line('stty -a | grep -c -- -icanon; echo ali"ve"')
        ok(t.wait(r'0\r\nalive'), p, 'with its settings as before', t.seen)
        t.line('fg')
        t.wait('pale run')
        time.sleep(0.3)
        t.type('hello\n')
        ok(t.wait('got=hello'), p, 'fg: it goes on and can be typed to', t.seen)
        t.line('jobs; echo st=$?')
        ok(t.wait('st=0') and b'Stopped' not in t.seen, p, 'it has ended', t.seen)
        t.line(f"{line_of(p)} -- sh -c 'sleep 0.3; echo backgr''ound; read x; echo got=$x' &")
        ok(t.wait('background'), p, 'in the background it prints', t.seen)
        t.seen = b''
        t.type('echo mi"ne"\n')
        ok(t.wait('mine'), p, 'and reads nothing of what is typed for the shell', t.seen)
        t.line('fg')
        t.wait('pale run')
        time.sleep(0.6)
        t.type('later\n')
        ok(t.wait('got=later'), p, 'until it is in the foreground', t.seen)
        t.line(f"{line_of(p)} -- sh -c 'echo REA''DY; sleep 1; echo e''nd' | cat")
        t.wait('READY')
        ctrl_z(t)
        ok(t.wait('Stopped'), p, 'in a pipe, Ctrl-Z stops the whole job', t.seen)
        t.line('fg')
        ok(t.wait('end'), p, 'and fg continues it', t.seen)
        t.line(f"{line_of(p)} -- sh -c 'echo REA''DY; sleep 0.5; echo in the ba''ck'")
        t.wait('READY')
        ctrl_z(t)
        t.wait('Stopped')
        t.line('bg; stty -a | grep -c -- -icanon')
        ok(t.wait('in the back') and b'0\r\n' in t.seen, p, 'bg continues it, and sets nothing',
           t.seen)
        t.type('\n')
        t.line('exit')
        t.end()


def case_shell(p):
    env = dict(p.env, SHELL='/bin/bash', PS1='x')
    with Term(p, p.pale_path, 'shell', env=env) as t:
        t.wait(r'[$#] ')
        t.type("PS1='IN''> '; echo sh=$0 $$\n")
        ok(t.wait(r'sh=/bin/bash \d+'), p, 'it is the user\'s shell', t.seen)
        ok(b'no job control' not in t.seen, p, 'with job control', t.seen)
        t.type('sleep 100 &\n')
        t.wait(r'\[1\] \d+')
        t.seen = b''
        t.type('jobs\n')
        ok(t.wait(r'\[1\]\+? +Running +sleep 100'), p, 'a job in the background', t.seen)
        t.type('fg\n')
        time.sleep(0.3)
        ctrl_z(t)
        ok(t.wait(r'\[1\]\+ +Stopped +sleep 100'), p, 'fg and Ctrl-Z inside', t.seen)
        t.seen = b''
        t.type('echo st"ill" here\n')
        ok(t.wait('still here') and b'OUT' not in t.seen, p, 'the shell inside goes on', t.seen)
        t.type('fg\n')
        time.sleep(0.3)
        t.type(b'\x03')
        time.sleep(0.2)
        t.seen = b''
        t.type('echo rc=$?; exit 9\n')
        ok(t.wait('rc=130'), p, 'Ctrl-C ends the job, not the shell', t.seen)
        ok(t.end() == 9 and t.restored, p, 'the exit status is the shell\'s', t.proc.returncode)
    for shell, want in (('/bin/no-such-shell', rb'sh=/bin/sh'), ('/usr/bin/env', rb'sh=/bin/sh')):
        with Term(p, p.pale_path, 'shell', env=dict(p.env, SHELL=shell)) as t:
            t.wait(r'[$#] ')
            t.type('echo sh=$0; exit\n')
            ok(t.wait(want), p, f'SHELL={shell}: /bin/sh instead', t.seen)
            t.end()
    r = p.verb('shell')
    ok(r.code == 125 and b'pale run -- sh' in r.err, p, 'without a terminal it is refused', r)
    r = p.verb('shell', 'extra')
    ok(r.code == 125 and b'extra' in r.err, p, 'it takes no operand', r)


def case_full_screen(p):
    env = dict(p.env, TERM='xterm')
    p.write(p.ws / 'text', ''.join(f'line {i}\n' for i in range(500)))
    if shutil.which('less'):
        with term(p, '--', 'less', 'text', env=env) as t:
            ok(t.wait('line 20'), p, 'less shows the first page', t.seen)
            t.type('G')
            ok(t.wait('line 499'), p, 'and the last one on a key', t.seen[-300:])
            t.type('q')
            ok(t.end() == 0 and t.restored, p, 'q: it ends, settings are as before')
    else:
        skip(p, 'no less')
    vi = shutil.which('vim') or shutil.which('vi')
    if vi:
        with term(p, '--', vi, '-u', 'NONE', 'text', env=env) as t:
            t.wait('line 20')
            t.type('ggdGihello\x1b:wq\r')
            ok(t.end() == 0 and t.restored, p, 'vi edits and ends', t.seen[-300:])
            ok((p.ws / 'text').read_text() == 'hello\n', p, 'the file is written')
        with OuterShell(p) as t:
            t.line(f'{line_of(p)} -- {vi} -u NONE text')
            t.wait('hello')
            ctrl_z(t)
            ok(t.wait('Stopped'), p, 'vi stops on Ctrl-Z', t.seen[-300:])
            t.line('fg')
            ok(t.wait('hello'), p, 'and draws its screen again after fg', t.seen[-300:])
            t.type(':q!\r')
            t.line('echo rc=$?')
            ok(t.wait('rc=0'), p, 'and ends', t.seen[-300:])
            t.line('exit')
            t.end()
    else:
        skip(p, 'no vi')


def peak(pid):
    """Peak resident memory in KiB, or 0. (setpriv becomes pale: the same pid.)"""
    try:
        with open(f'/proc/{pid}/status') as f:
            return int(re.search(r'VmHWM:\s+(\d+)', f.read())[1])
    except (OSError, TypeError):
        return 0


def case_output_flood_RS07(p):
    line = 'echo BOOTED; head -c 200000000 /dev/zero | tr "\\0" x; echo the end'
    for limit, expect in (('1m', 1 << 20), (None, None)):
        options = ['--max-output', limit] if limit else []
        proc = p.start_pale(*options, '--result', p.base / 'flood.json', '--', 'sh', '-c', line,
                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        top, got = 0, 0
        last = b''
        while True:
            data = os.read(proc.stdout.fileno(), 1 << 20)
            top = max(top, peak(proc.pid))
            if not data:
                break
            if not got:
                ok(data.startswith(BOOTED), p, 'the sandbox has started', data[:100])
            got += len(data)
            last = (last + data)[-(1 << 20):]
        proc.wait()
        dropped = json.loads((p.base / 'flood.json').read_text())['usage']['output_dropped']
        total = 200000000 + len('BOOTED\nthe end\n')
        if limit:
            found = re.search(rb'\n\[pale: (\d+) bytes dropped\]\n', last)
            ok(found and int(found[1]) == dropped == total - expect, p, 'the count is right',
               f'{found} {dropped}')
            ok(found and got == expect + len(found[0]), p, 'so much is kept', got)
            ok(last.endswith(b'xthe end\n') and found and
               len(last) - found.end() == expect // 2, p, 'the tail is the latest half')
            ok(0 < top < 8 * 1024, p, 'the supervisor stays small', f'{top} KiB')
        else:
            ok(got == total and dropped == 0, p, 'twin: without a limit all of it comes', got)


def case_output_nobody_reads(p):
    """The command does not wait for the reader of what it prints."""
    for limit, code in (('64k', 0), (None, 124)):
        options = ['--max-output', limit] if limit else []
        m = p.ws / 'through'
        m.unlink(missing_ok=True)
        proc = p.start_pale(*options, '--timeout', '1500ms', '--', 'sh', '-c',
                            'head -c 5000000 /dev/zero; echo done >through; sleep 0.2',
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        passed = wait_for(m.exists, 1.2)
        if not limit:
            proc.wait()
        if limit:
            ok(passed, p, 'it got through though nobody read')
        else:
            ok(not passed, p, 'twin: without a limit it waits')
        data, _ = proc.communicate()
        ok(proc.returncode == code, p, f'exit status {code}', proc.returncode)
        if limit:
            ok(data.startswith(b'\0' * 32768 + b'\n[pale: 4934464 bytes dropped]\n') and
               data.endswith(b'\0' * 32768), p, 'both halves are there', len(data))


def case_output_streams(p):
    both = b''.join(b'%d\n' % i for i in range(100000))
    line = 'i=0; seq 0 99999; seq 0 99999 >&2; exit 4'
    r = p.sh('--max-output', '1k', '--', line)
    ok(r.code == 4 and r.booted, p, 'the exit status passes', r)
    ok(r.err.startswith(both[:512]) and r.err.endswith(both[-512:]) and len(r.err) < 1100, p,
       'stderr has a limit of its own', r)
    ok(r.out.endswith(both[-512:]) and len(r.out) < 1100, p, 'and stdout', r)
    r = p.sh('--max-output', '10m', '--', line)
    ok(r.rest == both and r.err == both, p, 'below the limit everything comes', r.code)
    r = p.run('sh', '-c', f'{line_of(p)} --max-output 1m -- sh -c '
              '"for i in 1 2 3 4 5 6 7 8 9; do echo o\\$i; echo e\\$i >&2; done" 2>&1')
    ok(r.out == b''.join(b'o%d\ne%d\n' % (i, i) for i in range(1, 10)), p,
       'in one file, the order is kept', r)
    blob = os.urandom(300000)
    p.write(p.ws / 'blob', blob)
    r = p.pale('--max-output', '300000', '--', 'cat', 'blob')
    ok(r.code == 0 and r.out == blob, p, 'binary data passes as it is', len(r.out))
    r = p.run('sh', '-c', f'{line_of(p)} --max-output 1g -- yes | head -n 1; '
              'echo ${PIPESTATUS} >/dev/null')
    ok(r.out == b'y\n' and r.seconds < 5, p, 'a reader that goes away ends the command', r)
    r = p.run('bash', '-c', f'{line_of(p)} --max-output 1g -- yes | head -n 1; '
              'echo ${PIPESTATUS[0]}')
    ok(r.out == b'y\n141\n', p, 'by SIGPIPE', r)
    r = p.pale('--max-output', '1m', '--', 'sh', '-c', 'echo now; sleep 100 & echo last')
    ok(r.out == b'now\nlast\n' and r.seconds < 5, p, 'a straggler with the pipe delays nothing', r)
    r = p.pale('--max-output', '1m', '--timeout', '300ms', '--', 'sh', '-c', 'echo so far; sleep 9')
    ok(r.code == 124 and r.out == b'so far\n', p, 'timeout: output so far is kept', r)
    r = p.pale('--json', '--max-output', '1k', '--', 'seq', '10000')
    ok(r.json()['usage']['output_dropped'] == 48894 - 1024, p, 'JSON has the count', r)
    ok(r.json()['enforced']['max_output']['state'] == 'enforced', p, 'and says enforced', r)


def case_output_on_a_terminal(p):
    with term(p, '--max-output', '1k', '--', 'sh', '-c', 'seq 10000; echo last') as t:
        code = t.end()
        ok(code == 0 and t.seen.startswith(b'1\r\n2\r\n') and t.seen.endswith(b'10000\r\nlast\r\n')
           and re.search(rb'\r\n\[pale: \d+ bytes dropped\]\r\n', t.seen) and len(t.seen) < 1100, p,
           'the limit holds on a terminal', t.seen[-200:])
        ok(t.restored, p, 'settings are as before')


def case_tmux(p):
    """Under a terminal that somebody else wrote."""
    if not shutil.which('tmux'):
        skip(p, 'no tmux')
        return
    sock = str(p.base / 'tmux')

    def tmux(*args):
        return p.run('tmux', '-S', sock, '-f', '/dev/null', *args)

    def screen():
        return tmux('capture-pane', '-p').out

    tmux('new-session', '-d', '-x', '100', '-y', '30', 'bash --norc --noprofile')
    tmux('send-keys', f"PS1='> '; stty -g >before; {line_of(p)} -- sh -c "
         "'stty size; exec sleep 100'", 'Enter')
    ok(wait_for(lambda: b'30 100' in screen() or b'29 100' in screen()), p, 'size in tmux', screen())
    tmux('send-keys', 'C-z')
    ok(wait_for(lambda: b'Stopped' in screen()), p, 'Ctrl-Z in tmux', screen())
    tmux('send-keys', 'fg', 'Enter')
    time.sleep(0.5)
    tmux('send-keys', 'C-c')
    time.sleep(0.3)
    tmux('send-keys', 'echo rc=$?; stty -g >after', 'Enter')
    ok(wait_for(lambda: b'rc=130' in screen()), p, 'fg and Ctrl-C', screen())
    ok(wait_for(lambda: (p.ws / 'after').exists() and (p.ws / 'after').read_text()) ==
       (p.ws / 'before').read_text(), p, 'stty -g is as before')
    tmux('kill-server')


main(case_which_descriptors, case_not_the_callers, case_no_way_into_the_callers_PR04,
     case_keyboard_stays_outside_IN13, case_terminal_of_another_user, case_window_size, case_keys,
     case_every_end, case_ended_at_any_time, case_hang_up, case_much_output, case_much_input,
     case_quick_end, case_job_control_outside, case_shell, case_full_screen, case_tmux,
     case_output_flood_RS07, case_output_nobody_reads, case_output_streams,
     case_output_on_a_terminal, uids=(1000,))
