#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""File tools while links, folders and files are exchanged under them: nothing outside is read or
written. Once where only the resolver stands between (on the host, with openat2), once inside
of a sandbox, where the resolver has to walk by itself."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

DRIVER = TOP / 'build/glibc/tests/live/driver-files'
ROUNDS = int(os.environ.get('ROUNDS', 1500))  # of 12 attempts each
ATTEMPTS = 50000


def canary(top):
    return {'out/f': b'OUTSIDE old\n', 'out/a/b/file': b'OUTSIDE old\n', 'out/a/b/SECRET': b'OUTSIDE\n'}, top / 'out'


def outside_is_whole(top):
    want, out = canary(top)
    found = {}
    for d, dirs, files in os.walk(out):
        for name in files + dirs:
            path = pathlib.Path(d) / name
            # the folder that goes out and in again
            if 'm' in path.relative_to(out).parts:
                continue
            if not path.is_dir():
                found[str(path.relative_to(top))] = path.read_bytes()
            elif str(path.relative_to(top)) not in ('out/a', 'out/a/b'):
                found[str(path.relative_to(top))] = b'a folder'
    return found == want, found


def judge(p, top, r, where):
    n = {k: int(v) for k, v in (line.split() for line in r.out.decode().splitlines() if ' ' in line)}
    if not ok(r.code == 0 and 'tries' in n, p, f'{where}: it ran', r):
        return
    note(f'{where}: ' + ', '.join(f'{k} {v}' for k, v in n.items()))
    ok(n['tries'] >= ATTEMPTS * min(1, ROUNDS / 5000) and n['tries'] > 0 and n['swaps'] > 1000, p,
       f"{where}: {n['tries']} attempts, {n['swaps']} exchanges")
    for tool_name in ('read', 'write', 'edit', 'grep', 'glob'):
        ok(n[f'{tool_name}.tries'] > 0 and n[f'{tool_name}.done'] > 0 and n[f'{tool_name}.refused'] > 0, p,
           f'{where}: {tool_name} was both done and refused')
    ok(n['escaped'] == 0, p, f'{where}: nothing outside was read')
    whole, found = outside_is_whole(top)
    ok(whole, p, f'{where}: nothing outside was written', found)
    ok(n['naive'] > 0, p, f'{where}: twin: looking first and opening then is fooled')


def fresh(p, name):
    top = p.ws / name
    shutil.rmtree(top, ignore_errors=True)
    return p.mkdir(top)


def case_on_the_host_FT06(p):
    top = fresh(p, 'host')
    driver = p.write(p.ws / 'driver', DRIVER.read_bytes(), 0o755)
    judge(p, top, p.run(driver, top, str(ROUNDS), timeout=600), 'host')


def case_inside_FT06(p):
    top = fresh(p, 'inside')
    p.write(p.ws / 'driver', DRIVER.read_bytes(), 0o755)
    judge(p, top, p.pale('--no-observe', '--', './driver', top, str(ROUNDS), timeout=600), 'inside')


def case_whole_tools_FT06(p):
    """The tools as they are called, while a process outside exchanges files."""
    top = fresh(p, 'whole')
    for d in ('in/a', 'out/a'):
        p.mkdir(top / d)
    p.write(top / 'in/a/f', 'inside\n')
    p.write(top / 'out/a/f', 'OUTSIDE\n')
    os.symlink('../out/a', top / 'in/link')
    proc = subprocess.Popen([sys.executable, '-c', SWAP, str(top / 'in/a'), str(top / 'in/link')])
    seen = refused = 0
    try:
        for i in range(150):
            spec = ('--workspace', str(top / 'in'), *(ENGINE_OPTIONS if ENGINE else ()))
            r = p.verb('file', 'read', *spec, 'a/f', cwd=top / 'in')
            seen += r.out == b'inside\n'
            refused += r.code == 1
            if b'OUTSIDE' in r.out:
                return ok(False, p, 'nothing outside is read', r)
            p.verb('file', 'write', *spec, 'a/f', data=b'inside\n', cwd=top / 'in')
    finally:
        proc.kill()
        proc.wait()
    ok(seen > 0 and seen + refused == 150, p, f'read {seen} times, refused {refused} times')
    ok((top / 'out/a/f').read_text() == 'OUTSIDE\n' and os.listdir(top / 'out/a') == ['f'], p, 'nothing outside was written')


SWAP = '''
import ctypes, sys, os
libc = ctypes.CDLL(None)
renameat2 = {'x86_64': 316, 'aarch64': 276}[os.uname().machine]
a, b = (os.fsencode(x) for x in sys.argv[1:3])
while True:
    libc.syscall(renameat2, -100, a, -100, b, 2)
'''

main(case_on_the_host_FT06, case_inside_FT06, case_whole_tools_FT06, uids=(1000,))
