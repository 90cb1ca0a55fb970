#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Root, where the filesystem of the workspace cannot be id-mapped: an overlay, as in a container."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

MOUNT = ('cd "$1" && mkdir -p l u w m && '
         'mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m && mkdir m/ws && chown "$2:$2" m/ws && cd m/ws && '
         'shift 2 && exec "$@"')


def on_overlay(p, owner, *args):
    base = p.mkdir(p.base / f'overlay-{owner}-{time.time_ns()}')
    r = p.run('unshare', '-m', 'sh', '-c', MOUNT, 'sh', base, str(owner), p.pale_path, 'run', *args)
    r.made = base / 'u/ws/made'
    return r


@only_root
def case_of_somebody_LC09(p):
    result = p.base / 'idmap.json'
    r = on_overlay(p, 1000, '--result', result, '--', 'sh', '-c', 'echo BOOTED; id -u; touch made; cat /etc/shadow')
    ok(r.booted and b'1000' in r.out and r.code != 0 and b':' not in r.rest, p, 'runs as the owner, and not as root', r)
    ok(r.made.exists() and r.made.stat().st_uid == 1000, p, 'what it writes is the owner\'s')
    verdict = json.loads(result.read_text())['enforced'].get('ids', {})
    ok(verdict.get('state') == 'degraded' and 'id-mapped' in verdict.get('by', ''), p, 'and the report says so', verdict)
    r = p.run('sh', '-c', 'cat /etc/shadow')
    ok(r.code == 0 and b':' in r.out, p, 'twin: root outside can read that')


@only_root
def case_of_root_LC09(p):
    r = on_overlay(p, 0, '--', 'sh', '-c', 'touch made')
    ok(r.code == 125 and b'filesystem' in r.err and b'id-mapped' in r.err and not r.made.exists(), p,
       'root underneath is refused, by name', r)
    r = on_overlay(p, 0, '--allow-degraded', 'filesystem', '--', 'sh', '-c',
                   'echo BOOTED; touch made; grep CapEff /proc/self/status')
    ok(r.booted and r.made.exists() and b'0000000000000000' in r.out, p, 'allowed by name it runs, without capabilities', r)


main(case_of_somebody_LC09, case_of_root_LC09, uids=(1000,))
