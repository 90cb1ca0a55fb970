#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A hundred runs at once in one workspace, each right, and nothing left of them."""
import sys
from concurrent.futures import ThreadPoolExecutor
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

RUNS = 100


def mounts():
    with open('/proc/self/mountinfo') as f:
        return sorted(line.split(' ', 2)[2] for line in f)


def all_at_once(p, options, line, judge):
    m = mark()

    def one(i):
        return judge(i, p.pale(*options, '--', 'sh', '-c', line, m, str(i), data=b'in-%d' % i, timeout=60))
    with ThreadPoolExecutor(RUNS) as pool:
        results = list(pool.map(one, range(RUNS)))
    wrong = [r for r in results if r is not True]
    return wrong, m


def case_many_RS17(p):
    before = mounts()
    line = 'cat; echo " $1 $$"; echo "$1" >out-$1; echo x >/tmp/only; ls /tmp | wc -l >&2; exit $(($1 % 50))'
    for options in ((), ('--ephemeral',), ('--processes', 'visible')):
        def judge(i, r):
            good = (r.code == i % 50 and r.out.startswith(b'in-%d %d ' % (i, i)) and r.err.strip() == b'1')
            return good or str(r)
        wrong, m = all_at_once(p, options, line, judge)
        name = ' '.join(options) or 'isolated'
        ok(not wrong, p, f'{name}: {RUNS} runs, each with its own input, output, status and /tmp',
           f'{len(wrong)} wrong\n' + '\n'.join(wrong[:3]))
        files = sorted(p.ws.glob('out-*'))
        if options == ('--ephemeral',):
            ok(not files, p, f'{name}: nothing stays', files[:3])
        else:
            right = [f.read_text().strip() == f.name[4:] for f in files]
            ok(len(right) == RUNS and all(right), p, f'{name}: each wrote its own file', len(right))
        for f in files:
            f.unlink()
        ok(wait_for(lambda: not marked(m)), p, f'{name}: no process is left', marked(m))
    ok(mounts() == before, p, 'no mount is left')
    ok(sorted(os.listdir(p.ws)) == ['file', 'probe'], p, 'nothing else in the workspace', os.listdir(p.ws))


def case_descriptors_RS09(p):
    """A caller with many descriptors, and one at its limit."""
    import resource
    fds = [os.dup(0) for _ in range(500)]
    r = p.pale('--', './probe', 'fds', pass_fds=fds)
    ok(r.code == 0 and r.out == b'fds=0\n', p, '500 open descriptors: none gets in', r)
    for fd in fds:
        os.close(fd)
    for limit in (16, 12, 8, 6):
        def low():
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        canary = p.ws / 'ran'
        r = p.pale('--', 'touch', 'ran', preexec_fn=low)
        ok((r.code == 0) == canary.exists() and r.code in (0, 125), p,
           f'a limit of {limit} descriptors: it runs, or it does not', r)
        canary.unlink(missing_ok=True)


def case_other_disks_are_let_go_at_once(p):
    """Only what is on the root's own disk may be let go of after pale has ended."""
    if not shutil.which('strace') or p.run('strace', '-qq', '-o', '/dev/null', 'true').code != 0:
        skip(p, 'strace does not work here')
        return
    if p.ws.stat().st_dev != os.stat('/').st_dev:
        skip(p, 'the workspace is not on the disk of the root')
        return
    other = pathlib.Path(tempfile.mkdtemp(prefix='pale-', dir='/dev/shm'))
    os.chown(other, p.owner, p.owner)
    trace = p.base / 'trace-held'
    for where, what, held in ((p.ws, "the root's disk", True), (other, 'another one', False)):
        r = p.run('strace', '-f', '-qq', '-o', str(trace), '-e', 'trace=openat,ioctl', *p.pale_argv('--no-observe', '--', 'touch', 'ran'),
                  cwd=where)
        opened = re.search(r'"/proc/\d+/ns/mnt"|_IOC\(_IOC_NONE, 0xff, 0x3, 0\)', trace.read_text(errors='replace')) is not None
        ok(r.code == 0 and (where / 'ran').exists() and opened == held, p,
           f'{what}: its mounts {"are left to the kernel" if held else "go with the run"}', r)
        (where / 'ran').unlink(missing_ok=True)
    shutil.rmtree(other)


main(case_many_RS17, case_descriptors_RS09, case_other_disks_are_let_go_at_once, uids=(54321,))
