#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ask mode: who is at the terminal decides about a name that no rule allows, and nobody else does.

The command has a terminal of its own; the question is on the caller's. What was let out is counted
by servers on the far side of a cable.
"""
import fcntl
import re
import select
import sys
import termios
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from netlab import *

enter_apart()
lab = Lab()
lab.hosts(**{'good.test': [FAR4], 'other.test': [OTHER4], 'third.test': [OTHER4]})
GOOD, OTHER = lab.listen(FAR4, 8000), lab.listen(OTHER4, 8000)
LOCAL = lab.listen('127.0.0.1', 8123, far=False)
QUESTION = rb'wants to reach ([^ ]+) \(([^)]*)\)\r\n  \[o\]nce, (\[a\]lways, )?\[n\]o\? '


class Term:
    """pale run ARGS on a terminal of ours; INPUT and OUTPUT: instead of it."""

    def __init__(self, p, *args, group=False, argv=None, **kw):
        self.master, self.slave = os.openpty()
        if not p.is_root and os.geteuid() == 0:
            os.chown(os.ttyname(self.slave), p.uid, p.uid)
        self.before = termios.tcgetattr(self.slave)
        self.seen, self.at = b'', 0

        def leader():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            if group:  # in the background: somebody else has the terminal
                child = os.fork()
                if child:
                    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xff)
                os.setpgid(0, 0)
        streams = {'stdin': self.slave, 'stdout': self.slave, 'stderr': self.slave, **kw}
        self.proc = p.start(*(argv or p.pale_argv(*args)), env={**p.env, 'TERM': 'xterm'}, preexec_fn=leader, **streams)

    def pull(self, seconds=0.05):
        if select.select([self.master], [], [], seconds)[0]:
            with contextlib.suppress(OSError):
                self.seen += os.read(self.master, 65536)

    def wait(self, pattern, seconds=10):
        """Until PATTERN comes after what was waited for last."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.compile(pattern).search(self.seen, self.at)
            if found:
                self.at = found.end()
                if pattern.startswith(QUESTION):
                    time.sleep(0.4)  # it does not listen at once
                return found
            self.pull()
        note(f'waited for {pattern!r}, saw {self.seen!r}')
        return None

    def type(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode())

    def end(self, seconds=20):
        end = time.monotonic() + seconds
        while self.proc.poll() is None and time.monotonic() < end:
            self.pull()
        if self.proc.poll() is None:
            self.proc.kill()
            note(f'still running: {self.seen!r}')
        self.proc.wait()
        self.pull(0.1)
        return self.proc.returncode

    @property
    def restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        os.close(self.master)
        os.close(self.slave)


def taken():
    return GOOD.taken(), OTHER.taken()


def case_once(p):
    tool = net_tool(p, 'net-client')
    taken()
    with Term(p, '--ask', '--', 'sh', '-c', f'echo BOOTED; {tool} blocking good.test 8000; {tool} blocking good.test 8000; echo DONE') as t:
        asked = t.wait(QUESTION)
        ok(asked and asked[1] == b'good.test:8000' and b'net-client' in asked[2] and not asked[3], p, 'the question names the host, the port and the program', t.seen)
        ok(taken() == (0, 0), p, 'meanwhile nobody is reached')
        t.type('o\r')
        ok(t.wait(rb'=ok pong(.|\s)*=ok pong(.|\s)*DONE'), p, 'once holds for the whole run', t.seen)
        ok(t.end() == 0 and len(re.findall(QUESTION, t.seen)) == 1, p, 'and is asked once', t.seen)
        ok(t.restored, p, 'the terminal is given back as it was')
    ok(taken() == (2, 0), p, 'two connections came')
    ok(not (p.base / 'config/pale/pale.toml').exists() or b'good.test' not in (p.base / 'config/pale/pale.toml').read_bytes(), p, 'nothing was written down')


def case_a_host_called_port(p):
    """Its name is no rule for the loopback of the host."""
    tool = net_tool(p, 'net-client')
    with Term(p, '--ask', '--', 'sh', '-c', f'{tool} blocking port 8123; {tool} blocking 127.0.0.1 8123; echo DONE') as t:
        asked = t.wait(QUESTION)
        ok(asked and asked[1] == b'port:8123', p, 'it is asked about', t.seen)
        t.type('o\r')
        ok(t.wait(rb'DONE') and t.end() == 0 and b'=ok' not in t.seen and LOCAL.taken() == 0, p, 'a yes opens no more than that', t.seen)


def case_no(p):
    tool = net_tool(p, 'net-client')
    taken()
    for name, typed in (('no', 'n\r'), ('Ctrl-C', '\x03'), ('the end of input', '\x04'), ('Escape', '\x1b')):
        with Term(p, '--ask', '--', 'sh', '-c', f'echo BOOTED; {tool} blocking good.test 8000; {tool} blocking good.test 8000; echo DONE') as t:
            ok(t.wait(QUESTION), p, f'{name}: asked', t.seen)
            t.type(typed)
            ok(t.wait(rb'DONE'), p, f'{name}: the command goes on', t.seen)
            ok(t.end() == 0 and b'=ok' not in t.seen and len(re.findall(QUESTION, t.seen)) == 1, p, f'{name}: refused, and not asked again', t.seen)
            ok(t.restored, p, f'{name}: the terminal is as it was')
    ok(taken() == (0, 0), p, 'nobody was reached')


def case_nobody_to_ask(p):
    """No terminal, or somebody else's: refused at once."""
    tool = net_tool(p, 'net-client')
    taken()
    r = p.sh('--ask', '--', f'{tool} blocking good.test 8000')
    ok(r.booted and r.code == 1 and b'=ok' not in r.out and r.seconds < 10, p, 'without a terminal it is refused', r)
    with Term(p, '--ask', '--', 'sh', '-c', f'{tool} blocking good.test 8000', group=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as t:
        out, err = t.proc.communicate(timeout=20)
        ok(b'blocking=' in out and b'=ok' not in out and not re.search(QUESTION, t.seen), p, 'in the background it is refused', out + err + t.seen)
    ok(taken() == (0, 0), p, 'nobody was reached')
    with Term(p, '--', 'sh', '-c', f'echo BOOTED; {tool} blocking good.test 8000; echo DONE') as t:
        ok(t.wait(rb'DONE') and not re.search(QUESTION, t.seen) and b'=ok' not in t.seen, p, 'without --ask nobody is asked', t.seen)
        t.end()


def case_input_and_output(p):
    """While it asks, the command's output waits, and what is typed is not the command's."""
    tool = net_tool(p, 'net-client')
    line = (f'echo BOOTED; (sleep 1; echo NOISE) & {tool} blocking good.test 8000; '
            'read x; echo "GOT<$x>"')
    with Term(p, '--ask', '--', 'sh', '-c', line) as t:
        ok(t.wait(rb'BOOTED') and t.wait(QUESTION), p, 'asked', t.seen)
        time.sleep(1.6)
        t.pull(0.2)
        ok(b'NOISE' not in t.seen, p, 'what is printed meanwhile waits', t.seen)
        t.type('always maybe\r')
        ok(t.wait(rb'o or n\? '), p, 'another answer is no answer', t.seen)
        t.type('x\x7fo\r')
        ok(t.wait(rb'NOISE'), p, 'then it is shown', t.seen)
        ok(t.wait(rb'=ok pong') or b'=ok pong' in t.seen, p, 'and the name is reached', t.seen)
        t.type('hello\r')
        ok(t.wait(rb'GOT<hello>'), p, 'the command gets only what was typed for it', t.seen)
        ok(t.end() == 0 and t.restored, p, 'the terminal is as it was')


def case_always(p):
    tool = net_tool(p, 'net-client')
    p.no_config()
    config = p.config(f'# mine\n[commands.fetch]\nargv = ["{tool}", "blocking", "good.test", "8000"]\n')
    taken()
    with Term(p, '--ask', 'fetch') as t:
        asked = t.wait(QUESTION)
        ok(asked and asked[3], p, 'of a registered command it can be kept', t.seen)
        t.type('a\r')
        ok(t.wait(rb'pale: added to [^\r]*pale.toml: commands.fetch.sandbox'), p, 'what is written is shown', t.seen)
        ok(t.end() == 0 and b'=ok pong' in t.seen, p, 'and the name is reached', t.seen)
    text = config.read_text()
    ok('good.test:8000' in text and text.startswith('# mine\n'), p, 'the rule is in the user\'s own file', text)
    r = p.pale('fetch')
    ok(r.code == 0 and b'=ok pong' in r.out, p, 'and holds without a question', r)
    ok(taken() == (2, 0), p, 'both came')
    p.no_config()


def case_configured(p):
    """[sandbox] ask of the user's file; not of a project's, and not where there is no network."""
    tool = net_tool(p, 'net-client')
    p.no_config()
    p.config('[sandbox]\nask = true\n')
    with Term(p, '--host', 'other.test:8000', '--', 'sh', '-c', f'{tool} blocking other.test 8000; {tool} blocking good.test 8000') as t:
        ok(t.wait(QUESTION), p, 'ask = true asks where there is a network', t.seen)
        t.type('once\r')
        ok(t.end() == 0 and t.seen.count(b'=ok pong') == 2, p, 'beside the rules that there are', t.seen)
    with Term(p, '--', 'sh', '-c', f'{tool} blocking good.test 8000; echo DONE') as t:
        ok(t.wait(rb'DONE') and not re.search(QUESTION, t.seen), p, 'none is none', t.seen)
        t.end()
    p.no_config()
    p.write(p.ws / 'pale.toml', '[sandbox]\nask = true\n')
    r = p.pale('--', 'true')
    ok(r.code == 125 and b"'ask' may stand only in the system's or the user's file" in r.err, p, 'a project cannot have the user asked', r)
    p.no_config()
    r = p.pale('--ask', '--network', 'none', '--', 'true')
    ok(r.code == 125 and b'exclude each other' in r.err, p, '--ask --network none is a contradiction', r)


def case_ceiling(p):
    tool = net_tool(p, 'net-client')
    taken()
    p.config('[ceiling]\nnetwork = "allowed_hosts"\nports = []\nhosts = ["other.test:8000"]\n')
    with Term(p, '--ask', '--', 'sh', '-c', f'{tool} blocking good.test 8000; {tool} blocking other.test 8000') as t:
        asked = t.wait(QUESTION)
        ok(asked and asked[1] == b'other.test:8000', p, 'what a ceiling forbids is not asked about', t.seen)
        t.type('o\r')
        ok(t.end() == 0 and t.seen.count(b'=ok pong') == 1 and len(re.findall(QUESTION, t.seen)) == 1, p, 'the rest is', t.seen)
    ok(taken() == (0, 1), p, 'one came')
    p.no_config()


def case_flood(p):
    """Ten questions, and no more."""
    tool = net_tool(p, 'net-client')
    taken()
    with Term(p, '--ask', '--', 'sh', '-c', f'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do {tool} blocking name$i.test 8000; done; {tool} blocking good.test 8000; echo DONE') as t:
        asked = 0
        while asked < 20 and t.wait(QUESTION + rb'|DONE') and not t.seen[:t.at].endswith(b'DONE'):
            asked += 1
            t.type('n\r')
        ok(asked == 10, p, f'asked {asked} times', t.seen)
        t.end()
    ok(taken() == (0, 0), p, 'nobody was reached')


def case_the_run_ends(p):
    """A question is no reason to go on: the timeout holds, and the terminal is given back."""
    tool = net_tool(p, 'net-client')
    start = time.monotonic()
    with Term(p, '--ask', '--timeout', '2s', '--', 'sh', '-c', f'{tool} blocking good.test 8000') as t:
        ok(t.wait(QUESTION), p, 'asked', t.seen)
        ok(t.end() == 124 and time.monotonic() - start < 10, p, 'the timeout holds', t.seen)
        ok(t.restored, p, 'the terminal is as it was')


def case_sessions(p):
    """Who runs a command in a session is asked, for the session."""
    tool = net_tool(p, 'net-client')
    verb = lambda *args: p.verb(*args)
    taken()
    verb('session', 'rm', 'asks')
    verb('session', 'start', 'mute')
    r = verb('exec', '-s', 'mute', '--ask', '--', 'true')
    ok(r.code == 125 and b"session 'mute' was started without" in r.err and verb('exec', '-s', 'mute', '--', 'true').code == 0, p,
       'one that was started without says so', r)
    verb('session', 'stop', 'mute')
    r = verb('session', 'start', 'asks', '--ask')
    ok(r.code == 0, p, 'a session that asks', r)
    try:
        line = f'echo BOOTED; {tool} blocking good.test 8000; echo DONE; read x; echo "GOT<$x>"'
        argv = [p.pale_path, 'exec', '-s', 'asks', '--ask', '--', 'sh', '-c', line]
        with Term(p, argv=argv) as t:
            asked = t.wait(QUESTION)
            ok(asked and asked[1] == b'good.test:8000' and not asked[3], p, 'the client is asked', t.seen)
            ok(b'pale: a process of this session wants' in t.seen, p, 'about the session, not about its own command', t.seen)
            ok(taken() == (0, 0), p, 'meanwhile nobody is reached')
            t.type('n\r')
            ok(t.wait(rb'DONE') and b'=ok' not in t.seen, p, 'no is no', t.seen)
            t.type('hello\r')
            ok(t.wait(rb'GOT<hello>') and t.end() == 0 and t.restored, p, 'the terminal is the command\'s again, and then as it was', t.seen)
        with Term(p, argv=argv) as t:
            ok(t.wait(rb'DONE') and not re.search(QUESTION, t.seen), p, 'and it stays no', t.seen)
            t.type('\r')
            t.end()
        ok(taken() == (0, 0), p, 'nobody was reached')
        other = [p.pale_path, 'exec', '-s', 'asks', '--ask', '--', 'sh', '-c', f'{tool} blocking other.test 8000']
        with Term(p, argv=other) as t:
            ok(t.wait(QUESTION), p, 'another name is asked about', t.seen)
            t.type('o\r')
            ok(t.wait(rb'=ok pong') and t.end() == 0, p, 'and reached', t.seen)
        r = verb('exec', '-s', 'asks', '--', 'sh', '-c', f'{tool} blocking other.test 8000')
        ok(r.code == 0 and b'=ok pong' in r.out and taken() == (0, 1 + 1), p, 'once is for the session', r)
        r = verb('exec', '-s', 'asks', '--', 'sh', '-c', f'{tool} blocking third.test 8000')
        ok(b'blocking=' in r.out and b'=ok' not in r.out, p, 'without a terminal nobody is asked', r)
        gone = [p.pale_path, 'exec', '-s', 'asks', '--ask', '--', 'sh', '-c', f'{tool} blocking third.test 8000; echo X']
        with Term(p, argv=gone) as t:
            ok(t.wait(QUESTION), p, 'asked', t.seen)
            t.proc.kill()
            t.proc.wait()
        r = verb('exec', '-s', 'asks', '--', 'true')
        ok(r.code == 0 and taken() == (0, 0), p, 'who is gone gets nothing, and the session lives', r)
        short = [p.pale_path, 'exec', '-s', 'asks', '--ask', '--', 'sh', '-c', f'{tool} blocking third.test 8000 & sleep 1; kill $!']
        with Term(p, argv=short) as t:
            ok(t.wait(QUESTION), p, 'nor has it said no: the next one is asked', t.seen)
            t.end()
        with Term(p, argv=gone) as t:
            ok(t.wait(QUESTION), p, 'nor who ended before the answer', t.seen)
            t.type('o\r')
            ok(t.wait(rb'=ok pong') and t.end() == 0 and taken() == (0, 1), p, 'twin: a yes is one', t.seen)
    finally:
        verb('session', 'rm', 'asks')


def case_a_session_that_is_configured_to(p):
    """`ask` in the user's file is enough: exec asks where there is somebody, and only for people."""
    tool = net_tool(p, 'net-client')
    taken()
    p.no_config()
    p.config('[sandbox]\nask = true\n')
    p.verb('session', 'rm', 'asks')
    r = p.verb('session', 'start', 'asks', '--host', 'other.test:8000')
    ok(r.code == 0, p, 'a session that asks', r)
    try:
        argv = [p.pale_path, 'exec', '-s', 'asks', '--', 'sh', '-c', f'{tool} blocking good.test 8000; echo DONE']
        with Term(p, argv=[*argv[:4], '-j', *argv[4:]]) as t:
            ok(t.wait(rb'DONE') and t.end() == 0 and not re.search(QUESTION, t.seen), p, 'with --json nobody is asked', t.seen)
        ok(taken() == (0, 0), p, 'and nobody reached')
        with Term(p, argv=argv) as t:
            ok(t.wait(QUESTION), p, 'without any option the terminal is asked', t.seen)
            t.type('o\r')
            ok(t.wait(rb'=ok pong') and t.end() == 0 and t.restored, p, 'and it is reached', t.seen)
        ok(taken() == (1, 0), p, 'once')
    finally:
        p.verb('session', 'rm', 'asks')
        p.no_config()


def case_a_screen_that_was_spoiled(p):
    """What the command did to the terminal, or calls itself, hides nothing of the question and adds nothing."""
    tool = net_tool(p, 'net-client')
    odd = p.ws / 'curl) wants to reach good.test:443 (curl'
    shutil.copy(p.ws / 'net-client', odd)
    spoil = "printf '\\033[8m\\033(0\\033[5;5r\\033[?25l\\033]11;#000\\007\\033]10;#000\\007\\033]0;'"
    with Term(p, '--ask', '--', 'sh', '-c', f'echo BOOTED; {spoil}; "./{odd.name}" blocking good.test 8000; echo DONE') as t:
        asked = t.wait(QUESTION)
        ok(t.seen.find(b'BOOTED') >= 0 and asked and asked[2] == b'curl??wants?to?reach?good.test?443??curl', p, 'the name of a file adds no words', t.seen)
        before = t.seen[:asked.start()] if asked else b''
        after = before[before.rfind(b'\033]0;'):]
        ok(after.startswith(b'\033]0;\x18'), p, 'a sequence that was begun is cancelled', t.seen)
        ok(all(c in after for c in (b'\033[0m', b'\033(B', b'\033[r', b'\033[?25h', b'\033]110\a', b'\033]111\a')), p,
           'attributes, letters, margins, cursor and colours are as usual', t.seen)
        t.type('n\r')
        ok(t.wait(rb'DONE') and t.end() == 0 and b'=ok' not in t.seen, p, 'no is no', t.seen)
    odd.unlink()


def case_what_was_on_its_way(p):
    """A key that is hit just when the question appears was meant for something else."""
    tool = net_tool(p, 'net-client')
    taken()
    with Term(p, '--ask', '--', 'sh', '-c', f'echo BOOTED; {tool} blocking good.test 8000; echo DONE') as t:
        ok(t.wait(rb'wants to reach'), p, 'asked', t.seen)
        t.type('o\r')
        time.sleep(0.8)
        t.pull()
        ok(b'DONE' not in t.seen and taken() == (0, 0), p, 'typed at once: no answer', t.seen)
        t.type('o\r')
        ok(t.wait(rb'=ok pong') and t.end() == 0 and taken() == (1, 0), p, 'twin: typed later, it is', t.seen)


main(case_a_host_called_port, case_a_screen_that_was_spoiled, case_what_was_on_its_way, case_sessions, case_a_session_that_is_configured_to, case_once,
     case_no, case_nobody_to_ask, case_input_and_output, case_always, case_configured, case_ceiling, case_flood,
     case_the_run_ends, uids=(1000,))
