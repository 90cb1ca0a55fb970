#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile commands and repositories against what watches, remembers, learns and explains."""
import sys
import socket
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


def children(pid):
    try:
        return [int(x) for x in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]
    except OSError:
        return []


def name_of(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/comm').read_text().strip()
    except OSError:
        return ''


def case_a_listener_of_its_own(p):
    """Where sockets are refused by the filter alone, nobody but us may answer for it, not even
    while the supervisor is gone and those who end the run are held up."""
    if p.is_root:
        return skip(p, "landlock is not for root's own workspace", only_root=True)
    probe = tool(p, 'listener-probe', '-pthread')
    with socket.create_server(('127.0.0.1', 0)) as server:
        port = str(server.getsockname()[1])
        server.settimeout(1)

        def heard():
            try:
                return server.accept()[0].recv(16)
            except socket.timeout:
                return b''

        proc = p.start(probe, port, stdout=subprocess.PIPE)
        ok(proc.stdout.readline() == BOOTED and heard() == b'LEAKED\n', p, 'twin: outside it becomes the listener, and sends')
        proc.kill()
        proc.wait()
        proc.stdout.close()
        proc = p.start(p.pale_path, 'run', '--engine', 'landlock', '--allow-degraded', 'processes', '--', probe, port,
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        booted, before = proc.stdout.readline(), proc.stdout.readline()
        time.sleep(0.1)
        wardens = children(proc.pid)
        held = [pid for w in wardens for pid in [w, *children(w)] if name_of(pid) == 'pale']
        ok(booted == BOOTED and before == b'socket Operation not permitted\n' and len(held) >= 1, p, 'inside no socket is made', (booted, before, held))
        for pid in held:
            os.kill(pid, signal.SIGSTOP)
        proc.kill()
        proc.wait()
        ok(heard() == b'', p, 'nothing is sent when the supervisor was killed')
        for pid in held:
            if alive(pid):
                os.kill(pid, signal.SIGCONT)
        ok(wait_for(lambda: not any(alive(pid) for pid in held), 10), p, 'and the run ends when it can')
        proc.stdout.close()


main(case_a_listener_of_its_own)
