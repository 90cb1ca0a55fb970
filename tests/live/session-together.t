#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several who use the workspace's own session, while it is started, replaced or ended.

SESSION_ROUNDS sets how often a policy is changed under them (6; 100 for the whole).
"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *
from box import Box

ROUNDS = int(os.environ.get('SESSION_ROUNDS', '6'))
CLIENTS = 8


def begin(box, *args, **kw):
    return box.p.start(box.p.pale_path, 'exec', *args, cwd=box.ws, env=box.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, **kw)


def names(box):
    return [s['session'] for s in box.verb('session', 'list', '-j').json() or []]


def case_replaced_once(p):
    """Everybody is told that the policy has changed, one session takes the place of the old one, and no command is lost."""
    with Box(p, 'replaced') as box:
        bad, lives = [], []
        for n in range(ROUNDS):
            p.write(box.ws / 'pale.toml', f'# {n}\n')
            clients = [begin(box, '--', 'sh', '-c', 'read x; echo "$x"; exit $x') for _ in range(CLIENTS)]
            for i, client in enumerate(clients):
                out, err = client.communicate(f'{i + 1}\n'.encode(), timeout=60)
                if client.returncode != i + 1 or out != f'{i + 1}\n'.encode():
                    bad.append((n, i, client.returncode, out, err))
            lives.append(names(box))
        ok(ROUNDS > 0 and not bad, p, f'{ROUNDS} changes under {CLIENTS} clients: each has its own output and status', bad[:3])
        ok(lives == [['default']] * ROUNDS, p, 'one session stands', lives)


def delayed(box, what, *args):
    """pale ARGS, in whose children the call WHAT begins three seconds late."""
    return box.p.start('strace', '-f', '-qq', '-o', '/dev/null', '-e', f'trace={what}', '-e', f'inject={what}:delay_enter=3000000:when=1',
                   box.p.pale_path, *args, cwd=box.ws, env=box.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def case_slow_start(p):
    """Who comes while another one starts it waits, however long that takes."""
    if not shutil.which('strace'):
        return skip(p, 'no strace')
    with Box(p, 'slow') as box:
        first = delayed(box, 'clone3', 'exec', '--', 'echo', 'first')
        ok(wait_for(lambda: any(box.runtime.rglob('lock'))), p, 'it is being started')
        r = box.verb('exec', '--', 'echo', 'second')
        if r.seconds < 2:
            return skip(p, 'nothing is delayed here')
        ok(r.code == 0 and r.out == b'second\n', p, 'the second one is served', r)
        ok(first.stdout.readline() == b'first\n' and names(box) == ['default'], p, 'and so is the first')


def case_stopped_and_used(p):
    """Who stops it waits for the end of that one, and not of what others start in its place."""
    with Box(p, 'used') as box:
        until, bad, slow, n = time.monotonic() + 3, [], [], 0
        clients = [None] * 4
        while time.monotonic() < until:
            clients = [begin(box, '--', 'sh', '-c', 'echo fine') if c is None or c.poll() is not None else c for c in clients]
            r = box.verb('session', 'stop', 'default')
            n += r.code == 0
            if r.code != 0 and b'there is no session' not in r.err:
                bad.append(r)
            slow += [r] if r.seconds > 4 else []
        [c.communicate(timeout=60) for c in clients]
        ok(n > 0 and not bad and not slow, p, f'{n} stops', [str(r) for r in bad + slow][:2])
        box.start()
        client = begin(box, '-s', 's', '--', 'sh', '-c', 'echo up; sleep 60')
        client.stdout.readline()
        box.verb('session', 'stop', 's')
        out, err = client.communicate(timeout=20)
        ok(client.returncode == 137 and b"session 's' has ended" in err, p, 'whose command ends with it is told', (client.returncode, err))


def stopped(box):
    """The keeper, which does nothing until it goes on."""
    pid = box.pid()
    os.kill(pid, signal.SIGSTOP)
    return pid


def case_ended_unheard(p):
    """A session that ends before it reads what it is asked has run nothing, and nobody says that it may have."""
    with Box(p, 'unheard') as box:
        box.verb('exec', '--', 'true')
        keeper = stopped(box)
        client = begin(box, '--', 'sh', '-c', 'cat; echo ran >>ran; exit 7')
        time.sleep(0.3)
        os.kill(keeper, signal.SIGKILL)
        out, err = client.communicate(b'input', timeout=20)
        ok(client.returncode == 7 and out == b'input' and (box.ws / 'ran').read_text() == 'ran\n', p, 'the next one runs it, once', (client.returncode, out, err))
        box.verb('session', 'stop', '--all')
        box.start()
        keeper = stopped(box)
        client = begin(box, '-s', 's', '--', 'touch', 'other')
        time.sleep(0.3)
        os.kill(keeper, signal.SIGKILL)
        out, err = client.communicate(timeout=20)
        ok(client.returncode == 125 and b'has just ended' in err and not (box.ws / 'other').exists(), p, 'of one that was named it is said', (client.returncode, err))
        box.start()
        client = begin(box, '-s', 's', '--', 'sh', '-c', 'echo up; sleep 60')
        run = box.verb('exec', '-s', 's', '-b', '--', 'sleep', '60').out.decode().strip()
        waits = [p.start(p.pale_path, *verb, run, cwd=box.ws, env=box.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for verb in (('wait',), ('output', '--follow'))]
        client.stdout.readline()
        time.sleep(0.3)
        os.kill(box.pid(), signal.SIGKILL)
        ends = [(w.communicate(timeout=20)[1], w.returncode) for w in waits]
        ok(ends == [(b'pale: the session has ended\n', 137), (b'pale: the session has ended\n', 1)], p, 'who waits for one in the background hears of it', ends)
        out, err = client.communicate(timeout=20)
        ok(client.returncode == 137 and b'before its result was known' in err, p, 'twin: one that runs is lost', (client.returncode, err))


def case_long_ones_are_remembered(p):
    """Which command in the background is forgotten first is decided by their ends, not by their beginnings."""
    with Box(p, 'long') as box:
        box.start()

        def background(*argv):
            return box.verb('exec', '-s', 's', '-b', '--', *argv).out.decode().strip()
        long = background('sh', '-c', 'echo served; while ! [ -e go ]; do sleep 0.05; done; exit 9')
        first = background('true')
        for _ in range(70):
            box.verb('wait', background('true'))
        p.write(box.ws / 'go', '')
        r = box.verb('wait', long)
        ok(r.code == 9, p, 'one that ran longer than 70 others', r)
        r = box.verb('output', long)
        ok(r.out == b'served\n' and box.verb('wait', long).code == 9, p, 'and can be asked for later', r)
        ok(box.verb('output', first).code == 2, p, 'twin: the first that ended is forgotten')


main(case_replaced_once, case_slow_start, case_stopped_and_used, case_ended_unheard, case_long_ones_are_remembered)
