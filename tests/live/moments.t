#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the user saves while a staged run is going is never lost, whenever it is saved.

The command adds a line to a file, in one of several ways; the user adds one of his
own at some moment between before the start and after the end. Whatever the order
was, after an apply his line is in the file, and the command's line is in the file
or still staged. MOMENTS sets how many moments are tried (120).
"""
import random
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

MOMENTS = int(os.environ.get('MOMENTS', '120'))
TEXT = ''.join(f'line {i}\n' for i in range(40))

COMMANDS = {
    'appended to': 'echo AGENT >>f',
    'edited by sed': "sed -i '$a AGENT' f",
    'replaced': 'cat f >new; echo AGENT >>new; mv new f',
    'read early, written late': 'cp f /tmp/f; sleep 0.01; echo AGENT >>/tmp/f; cat /tmp/f >f',
    'removed and made anew': 'cp f /tmp/f; rm f; echo AGENT >>/tmp/f; cp /tmp/f f',
}


def save_in_place(path, line):
    with open(path, 'r+') as f:
        text = f.read()
        f.seek(0)
        f.write(line + text)


def save_by_rename(path, line):
    """As editors do."""
    st = path.stat()
    new = path.with_name('.f.tmp')
    new.write_text(line + path.read_text())
    os.chown(new, st.st_uid, st.st_gid)
    os.rename(new, path)


def one_moment(p, path, command, save, delay):
    p.write(path, TEXT)
    begin = time.monotonic()
    run = p.start_pale('--staged', '--', 'sh', '-c', command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(max(0, begin + delay - time.monotonic()))
    save(path, 'USER\n')
    run.communicate(timeout=30)
    applied = p.verb('apply')
    text = path.read_text()
    staged = p.verb('diff').out if 'AGENT' not in text else b''
    lost = 'USER' not in text or ('AGENT' not in text and b'AGENT' not in staged)
    outcome = 'merged' if 'AGENT' in text else 'conflict'
    left = p.verb('discard', '--all')
    fine = run.returncode == 0 and left.code == 0 and applied.code == (0 if outcome == 'merged' else 1)
    return outcome, None if fine and not lost else f'{command!r} {save.__name__} after {delay * 1e3:.1f} ms\n{text}\n{staged}\n{applied}'


def case_moments_SW13(p):
    path = p.ws / 'f'
    chance = random.Random(13)
    seen, wrong = {}, []
    warm = p.pale('--staged', '--', 'true')
    ok(warm.code == 0, p, 'a staged run works', warm)
    for i in range(MOMENTS):
        command = list(COMMANDS)[i % len(COMMANDS)]
        save = (save_in_place, save_by_rename)[i // len(COMMANDS) % 2]
        outcome, why = one_moment(p, path, COMMANDS[command], save, chance.uniform(0, 0.03))
        seen[outcome] = seen.get(outcome, 0) + 1
        if why:
            wrong.append(why)
    ok(not wrong, p, f'{MOMENTS} moments, nothing lost ({seen})', '\n\n'.join(wrong[:5]) + f'\n{len(wrong)} of {MOMENTS}')
    ok(set(seen) == {'merged', 'conflict'}, p, 'both sides of the moment were tried', seen)


main(case_moments_SW13)
