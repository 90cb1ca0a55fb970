#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`pale check`: lanes are bounded within and across processes, what is ended is gone, and a
terminal is left as it was. What runs is counted on the host."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
from live import *  # noqa: E402,F403

SIZES = ((80, 24), (200, 60))
_boxes = 0


class Box:
    """A workspace with commands, and a state, of its own. Each command's line ends in a
    mark, as does its name, so that the host finds all that belongs to it."""

    def __init__(self, p, commands, lanes=''):
        global _boxes
        _boxes += 1
        self.p, self.mark = p, mark()
        self.top = p.mkdir(p.base / f'check{_boxes}')
        self.ws = p.mkdir(self.top / 'ws')
        self.env = dict(p.env, XDG_STATE_HOME=str(self.top / 'state'))
        text = f'[lanes]\n{lanes}\n' if lanes else ''
        self.names = {name: f'{name}-{self.mark}' for name in commands}
        for name, line in commands.items():
            line = f'echo BOOTED; {line}\n: {self.token(name)}'
            text += f'[commands.{self.names[name]}]\ncmd = {json.dumps(line)}\n'
        p.write(self.ws / 'pale.toml', text)

    def token(self, name):
        return f'line-{name}.{self.mark}'

    def pale(self, *args, **kw):
        return self.p.run(self.p.pale_path, *args, cwd=self.ws, env=self.env, **kw)

    def check(self, *args, **kw):
        return self.pale('check', *args, **kw)

    def start(self, *args, **kw):
        kw.setdefault('stdout', subprocess.DEVNULL)
        kw.setdefault('stderr', subprocess.DEVNULL)
        return self.p.start(self.p.pale_path, 'check', *args, cwd=self.ws, env=self.env, **kw)

    def running(self):
        """The commands whose shells the host sees, all of them at one moment: the end of
        the search, before which each was found and after which each is still there."""
        tokens, found = {self.token(name).encode(): name for name in self.names}, {}
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/cmdline', 'rb') as f:
                    line = f.read()
            except OSError:
                continue
            if self.mark.encode() in line and b'line-' in line:
                found.update((int(pid), name) for token, name in tokens.items() if token in line)
        return {name for pid, name in found.items() if alive(pid)}

    def left(self):
        return marked(self.mark)

    def gone(self, name):
        return ok(wait_for(lambda: not self.left()), self.p, name, self.left())

    def lanes(self):
        lanes = self.pale('status', '-j').json().get('lanes', {})
        return lanes.get('busy'), lanes.get('queued')


def watch(box, *procs):
    """The most commands that the host sees at once while PROCS run, and all that it saw."""
    most, seen = 0, set()
    while any(proc.poll() is None for proc in procs):
        now = box.running()
        most, seen = max(most, len(now)), seen | now
    return most, seen


def case_bounded(p):
    for lanes, want in ((2, 2), (4, 4)):
        box = Box(p, {f'c{i}': 'sleep 1' for i in range(6)}, f'max_parallel = {lanes}')
        proc = box.start()
        most, seen = watch(box, proc)
        ok(proc.returncode == 0 and most == want and len(seen) == 6, p,
           f'max_parallel = {lanes}: {want} at once, never more', (most, seen, proc.returncode))
    proc = box.start('--jobs', '1')
    most, seen = watch(box, proc)
    ok(most == 1 and len(seen) == 6 and proc.returncode == 0, p, '--jobs 1: one by one', (most, seen))


def case_shared(p):
    """Two checks of one workspace share its lanes; those of another do not."""
    box = Box(p, {f'c{i}': 'sleep 1' for i in range(6)}, 'max_parallel = 2')
    names = list(box.names.values())
    procs = [box.start(*names[:3]), box.start(*names[3:])]
    ok(wait_for(lambda: box.lanes() == (2, 4), 2), p, 'status: two busy, four queued', box.lanes())
    text = box.pale('status').out
    ok(re.search(rb'^lanes +2 of 2 busy, \d of 64 queued$', text, re.M), p, 'status: the same as text', text)
    other = Box(p, {'o': 'sleep 0.1'}, 'max_parallel = 2')
    r = other.check()
    ok(r.code == 0 and any(proc.poll() is None for proc in procs), p,
       'another workspace has lanes of its own', r)
    most, seen = watch(box, *procs)
    ok(most == 2 and len(seen) >= 4 and all(proc.returncode == 0 for proc in procs), p,
       'two at once over both', (most, seen))
    ok(box.lanes() == (0, 0), p, 'status: none busy', box.lanes())


def case_many(p):
    """A dozen checks at once: still no more than there are lanes, and all come to their turn."""
    box = Box(p, {f'c{i}': f'echo x >>ran{i}; sleep 0.05' for i in range(24)}, 'max_parallel = 3')
    names = list(box.names.values())
    procs = [box.start(names[2 * i], names[2 * i + 1]) for i in range(12)]
    most, _ = watch(box, *procs)
    ran = [(box.ws / f'ran{i}').read_text() for i in range(24) if (box.ws / f'ran{i}').exists()]
    ok(1 <= most <= 3 and [proc.returncode for proc in procs] == [0] * 12, p, 'never more than three', most)
    ok(ran == ['x\n'] * 24, p, 'each command ran once', ran)
    ok(box.lanes() == (0, 0), p, 'and the lanes are free', box.lanes())


def case_queue(p):
    box = Box(p, {f'c{i}': f'touch ran{i}; sleep 0.3' for i in range(4)},
              'max_parallel = 2\nqueue_capacity = 1')
    r = box.check()
    ok(r.code == 125 and b'queue is full' in r.err and r.out == b'', p, 'a full queue is refused', r)
    ok(not list(box.ws.glob('ran*')), p, 'and nothing ran')
    names = list(box.names.values())
    r = box.check(*names[:3])
    ok(r.code == 0 and len(list(box.ws.glob('ran*'))) == 3, p, 'what fits runs', r)
    proc = box.start(*names[:3])
    wait_for(lambda: box.lanes() == (2, 1))
    r = box.check(names[3])
    ok(r.code == 125 and b'room for 0 more to wait, too little for 1 command;' in r.err, p, "others' commands count", r)
    proc.wait()
    r = box.check(names[3])
    ok(r.code == 0, p, 'until they have ended', r)


def case_fail_fast(p):
    commands = {'bad': 'sleep 0.5; exit 3', 'long': 'sleep 60', 'deaf': "trap '' TERM; while :; do sleep 0.1; done",
                'late': 'touch late'}
    box = Box(p, commands, 'max_parallel = 3')
    names = [box.names[n] for n in commands]
    proc = box.start(*names, '--fail-fast', '-j', stdout=subprocess.PIPE)
    ok(wait_for(lambda: box.running() == {'bad', 'long', 'deaf'}), p, 'three run', box.running())
    out = proc.communicate(timeout=30)[0]
    box.gone('the others are gone from the host')
    states = {c['command'].split('-')[0]: c['state'] for c in json.loads(out)['commands']}
    ok(proc.returncode == 3 and states == {'bad': 'failed', 'long': 'cancelled', 'deaf': 'cancelled', 'late': 'skipped'},
       p, 'the status is that of the one that failed', (proc.returncode, states))
    ok(not (box.ws / 'late').exists(), p, 'nothing more was started')
    box = Box(p, {'bad': 'exit 3', 'good': 'sleep 0.3; touch good'}, 'max_parallel = 2')
    r = box.check()
    ok(r.code == 3 and (box.ws / 'good').exists(), p, 'without --fail-fast the others go on', r)


def case_killed(p):
    box = Box(p, {f'c{i}': 'sleep 60' for i in range(3)}, 'max_parallel = 2')
    proc = box.start()
    ok(wait_for(lambda: len(box.running()) == 2 and box.lanes() == (2, 1)), p, 'two run, one waits', box.lanes())
    proc.kill()
    proc.wait()
    ok(box.lanes() == (0, 0), p, 'kill -9 frees the lanes at once', box.lanes())
    box.gone('and ends what ran')
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        proc = box.start(stdout=subprocess.PIPE)
        wait_for(lambda: len(box.running()) == 2)
        proc.send_signal(sig)
        out = proc.communicate(timeout=30)[0]
        ok(proc.returncode == 128 + sig and out.count(b'cancelled') == 3 and out.count(b'skipped') == 2, p,
           f'{sig.name}: told at the end', (proc.returncode, out))
        box.gone(f'{sig.name}: nothing is left')
        ok(box.lanes() == (0, 0), p, f'{sig.name}: nor busy', box.lanes())


def case_supervisor_killed(p):
    """Its command was executed: 125 would deny that."""
    box = Box(p, {'one': 'touch ran; sleep 60'})
    proc = box.start(stdout=subprocess.PIPE)
    wait_for(lambda: (box.ws / 'ran').exists())
    for pid in pathlib.Path(f'/proc/{proc.pid}/task/{proc.pid}/children').read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    out = proc.communicate(timeout=30)[0]
    ok(proc.returncode == 137 and b'pale itself was ended' in out and (box.ws / 'ran').exists(), p,
       'the supervisor of a command is killed', (proc.returncode, out))
    box.gone('and what it ran has ended')


def case_outcomes(p):
    box = Box(p, {'good': 'echo fine', 'bad': r"printf 'a\033[2Jb\rc\000d\377<&>\n'; exit 7",
                  'dies': 'kill -9 $$', 'slow': 'sleep 30', 'spill': 'head -c 5000000 /dev/zero | tr "\\0" x; exit 1'},
              'max_parallel = 3')
    toml = (box.ws / 'pale.toml').read_text()
    toml += f'[commands.slow-{box.mark}.sandbox]\nbase = "workspace"\ntimeout = "700ms"\n'
    toml += f'[commands.none-{box.mark}]\nargv = ["/none"]\n[commands.no-{box.mark}]\ncmd = "true"\nsandbox = {{ disk = "1m" }}\n'
    p.write(box.ws / 'pale.toml', toml)
    r = box.check('-j', '--junit', 'report.xml')
    doc = r.json()
    got = {c['command'].split('-')[0]: c for c in doc.get('commands', [])}
    states = {name: (c['state'], c['status']) for name, c in got.items()}
    refused = states.pop('no', None)
    ok(states == {'good': ('ok', 0), 'bad': ('failed', 7), 'dies': ('signaled', 137), 'slow': ('timeout', 124),
                  'spill': ('failed', 1), 'none': ('error', 127)}, p, '-j: every outcome', states)
    ok(all(c['result']['command'] == c['command'] and c['result']['run'] for c in got.values()), p,
       '-j: with the whole result')
    ok(got['good']['output'] is None and got['bad']['output'] == 'BOOTED\na\x1b[2Jb\rc\ufffdd\ufffd<&>\n', p,
       '-j: the output of what failed', got['bad']['output'])
    spill = got['spill']['output']
    ok(len(spill) < 1.1 * 2**20 and 'bytes are left out here' in spill and spill.startswith('BOOTED\nxxx')
       and spill.endswith('x'), p, 'a flood is cut in the middle', (len(spill), spill[:20]))
    worst = 125 if refused == ('refused', 125) else 127
    ok(r.code == worst and doc['status'] == worst and doc['totals']['commands'] == 7, p,
       'the status of the worst', (r.code, refused, doc.get('totals')))
    suite = xml.parse(box.ws / 'report.xml').getroot().find('testsuite')
    cases = {c.get('name').split('-')[0]: c for c in suite}
    ok(suite.get('tests') == '7' and suite.get('failures') == '4' and len(cases) == 7, p, '--junit: counts',
       suite.attrib)
    ok(len(cases['good']) == 0 and cases['slow'].find('failure').get('type') == 'timeout'
       and cases['none'].find('error') is not None
       and cases['bad'].find('system-out').text == 'BOOTED\na\\x1b[2Jb\rc\\x00d\\xff<&>\n', p,
       '--junit: parsed, with output', xml.tostring(cases['bad']))
    r = box.check(box.names['bad'], box.names['good'])
    ok(re.search(rb'(?m)^failed +bad-\S+ +\d+ ms .*exit status 7$', r.out) and b'a\x1b[2Jb' in r.out
       and b'fine' not in r.out, p, 'not on a terminal: lines, and the output as it is', r)


def case_refused(p):
    """What the boundary refused is named where a command failed."""
    box = Box(p, {'bad': 'touch /etc/pale-test || exit 1', 'good': 'touch here'})
    if box.pale('run', '-j', box.names['bad']).json().get('violations') is None:
        skip(p, 'nobody observes runs here')
        return
    r = box.check()
    why = re.search(rb'(?m)^  1 attempt was refused: pale (why) (\S+)$', r.out)
    ok(r.code == 1 and why and r.out.count(b'refused') == 1, p, 'said, with the run', r)
    r = box.pale(*[w.decode() for w in why.groups()]) if why else r
    ok(b'/etc/pale-test' in r.out, p, 'and explained there', r)


def case_state(p):
    """A state that cannot be written is no reason not to run."""
    box = Box(p, {'a': 'true', 'b': 'true', 'c': 'true'}, 'max_parallel = 1')
    box.env['XDG_STATE_HOME'] = '/dev/null/none'
    r = box.check()
    ok(r.code == 0 and r.out.count(b'ok  ') == 3 and r.err.count(b'not shared') == 1, p,
       'it runs, and says so', r)


def case_killed_anywhere(p):
    """kill -9 at every call that has to do with lanes and runs: nothing stays behind."""
    if not shutil.which('strace'):
        skip(p, 'no strace')
        return
    box = Box(p, {f'c{i}': 'sleep 0.1' for i in range(3)}, 'max_parallel = 2')
    for call in ('flock', 'pwrite64', 'socketpair', 'vfork,clone,clone3', 'poll', 'recvfrom', 'unlinkat'):
        bad = kills = 0
        for when in range(1, 100):
            r = p.run('strace', '-qq', '-o', '/dev/null', '-e', f'trace={call}', '-e',
                      f'inject={call}:signal=SIGKILL:when={when}', p.pale_path, 'check', cwd=box.ws, env=box.env)
            if r.code == 0:
                break
            kills += 1
            clean = wait_for(lambda: not box.left()) and box.lanes() == (0, 0)
            bad += r.code != -signal.SIGKILL or not clean
        ok(bad == 0 and 0 < kills < 98, p, f'killed at each {call}: runs are gone and lanes are free ({kills} times)', r)
    r = box.check()
    ok(r.code == 0, p, 'and the next check works', r)
    ok(not list((box.top / 'state').glob('**/lanes/check-*')), p, 'with nothing left in the folder of lanes')


class Tmux:
    def __init__(self, box, size):
        self.box, self.p, self.sock = box, box.p, box.top / 'tmux'
        box.env['TERM'] = 'xterm-256color'
        self.tmux('new-session', '-d', '-x', str(size[0]), '-y', str(size[1]), 'bash --norc --noprofile')
        self.tmux('set', '-g', 'status', 'off')
        self.keys(f"PS1='> '; pale() {{ {self.p.pale_path} \"$@\"; }}; stty -g >../before; clear", 'Enter')
        self.wait(r'^> *$')

    def tmux(self, *args):
        return self.p.run('tmux', '-S', self.sock, '-f', '/dev/null', *args, cwd=self.box.ws, env=self.box.env)

    def keys(self, *keys):
        self.tmux('send-keys', *keys)

    @property
    def screen(self):
        return self.tmux('capture-pane', '-p').out.decode(errors='replace')

    def wait(self, pattern, seconds=10):
        return wait_for(lambda: re.search(pattern, self.screen, re.M | re.S), seconds)

    def see(self, pattern, name):
        return ok(self.wait(pattern), self.p, name, self.screen)

    def given_back(self, name):
        self.keys('stty -g >../after; echo typed-again', 'Enter')
        self.wait('^typed-again')
        before, after = ((self.box.top / f).read_text() for f in ('before', 'after'))
        ok(before == after and re.search(r'^typed-again$', self.screen, re.M)
           and self.tmux('display', '-p', '#{cursor_flag}').out.strip() == b'1', self.p, name, self.screen)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux('kill-server')


@only_first
def case_terminal(p):
    for size in SIZES:
        at = f'{size[0]}x{size[1]}'
        box = Box(p, {'quick': 'sleep 0.4', 'bad': r"sleep 0.6; printf 'x\033[2Jy\n'; exit 2",
                      'big': 'exec python3 -c "import time; x = bytearray(50000000); time.sleep(60)"',
                      'wait': 'sleep 60', 'more': 'sleep 60', 'yet': 'sleep 60'}, 'max_parallel = 3')
        names = list(box.names.values())
        with Tmux(box, size) as t:
            t.keys('clear; pale check ' + ' '.join(names) + '; echo "status=$?"', 'Enter')
            t.see(r'^ok +quick-\S+ +\d+ ms .*^running +big-\S+ +\d\.\d+ s +\d.*^running +more.*^queued +yet-\S+ +- +-.*'
                  r'^6 commands: 1 ok, 1 not ok, 3 running, 1 queued; \d\.\d+ s$', f'{at}: the table')
            t.see(r'^running +big-\S+ +\d\.\d+ s +[45]\d(\.\d)? MiB$', f'{at}: memory')
            t.see(r'^--- bad-\S+: output\nBOOTED\nx\\x1b\[2Jy\n--- bad', f'{at}: the output of what failed, escaped')
            rows = t.screen.rstrip('\n').split('\n')
            ok(len([r for r in rows if r.startswith('running')]) == 3 and len(rows) <= 13, p,
               f'{at}: drawn in place', t.screen)
            t.tmux('resize-window', '-x', '50', '-y', str(size[1]))
            time.sleep(0.5)
            ok(len(re.findall('(?m)^6 commands', t.screen)) == 1, p, f'{at}: also when narrower', t.screen)
            t.tmux('resize-window', '-x', str(size[0]), '-y', str(size[1]))
            t.keys('C-z')
            t.see(r'Stopped', f'{at}: Ctrl-Z')
            ok(wait_for(lambda: states(box.token('wait')) == {'T'}), p, f'{at}: what runs is stopped too',
               states(box.token('wait')))
            t.keys('clear; fg; echo "status=$?"', 'Enter')
            t.see(r'^6 commands: 1 ok, 1 not ok, 3 running', f'{at}: and on')
            t.keys('C-c')
            t.see(r'status=130', f'{at}: Ctrl-C ends it')
            box.gone(f'{at}: and all that ran')
            t.see(r'^skipped +yet.*^cancelled +big.*^6 commands: 1 ok, 1 not ok, 3 cancelled, 1 skipped; ', f'{at}: told')
            ok('running' not in t.screen, p, f'{at}: no row is left over', t.screen)
            t.given_back(f'{at}: the terminal is as before')


@only_first
def case_terminal_many(p):
    """More commands than rows, and names that are too long for them."""
    box = Box(p, {f'command-with-a-very-long-name-number-{i:02}': 'sleep 60' for i in range(40)}, 'max_parallel = 30')
    with Tmux(box, (60, 20)) as t:
        t.keys('clear; pale check; echo "status=$?"', 'Enter')
        t.see(r'^40 commands: 30 running, 10 queued; ', 'the last row is there')
        time.sleep(1)
        rows = [r for r in t.screen.split('\n') if r.startswith('running')]
        ok(10 < len(rows) <= 18 and len(re.findall('(?m)^40 commands', t.screen)) == 1, p, 'no more rows than fit', t.screen)
        history = t.tmux('capture-pane', '-p', '-S', '-').out.decode()
        ok(history.count('40 commands: ') == 1, p, 'nothing scrolls away', history)
        pid = next(pid for pid in map(int, filter(str.isdigit, os.listdir('/proc')))
                   if checks(pid, box))
        os.kill(pid, signal.SIGKILL)
        t.see('status=137', 'killed')
        box.gone('what ran is gone')
        t.given_back('the terminal is as before, even so')


def states(token):
    """Of the processes, as the host sees them."""
    found = set()
    for pid in marked(token):
        with open(f'/proc/{pid}/stat', 'rb') as f:
            found.add(f.read().rsplit(b')', 1)[1].split()[0].decode())
    return found


def checks(pid, box):
    """Is it the `pale check` of this box?"""
    try:
        with open(f'/proc/{pid}/cmdline', 'rb') as f:
            argv = f.read().split(b'\0')
        return argv[1:2] == [b'check'] and os.readlink(f'/proc/{pid}/cwd') == str(box.ws)
    except OSError:
        return False


go_apart()
main(case_bounded, case_shared, case_many, case_queue, case_fail_fast, case_killed, case_killed_anywhere, case_supervisor_killed, case_outcomes, case_refused, case_state,
     case_terminal, case_terminal_many, uids=(1000,))
