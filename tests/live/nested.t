#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale inside of pale: never more than the sandbox around it allows."""
import contextlib
import socket
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *


def prepare(p):
    p.no_config()
    for name in ('pale', 'pale-verbs'):
        shutil.copy(p.pale_path.parent / name, p.ws / name)
        if os.geteuid() == 0:
            os.chown(p.ws / name, p.uid, p.uid)


def inner(p, *args, outer=(), **kw):
    """The JSON of a pale inside; what its command prints goes to stderr."""
    r = p.pale(*outer, '--', './pale', 'run', '--json', *args, **kw)
    r.inner = r.json()
    return r


def by(r, dim):
    return r.inner.get('enforced', {}).get(dim, {}).get('by', '')


def case_the_same_again_is_plain(p):
    prepare(p)
    r = inner(p, '--', 'sh', '-c', 'echo BOOTED >&2; touch made; test ! -e /home/*/.ssh')
    ok(r.booted and r.inner.get('outcome') == 'ok' and (p.ws / 'made').exists(), p, 'it runs', r)
    ok(all(by(r, d) == 'the sandbox around it' for d in ('network', 'filesystem', 'processes')), p,
       'and the report says who holds it', r)
    (p.ws / 'made').unlink(missing_ok=True)
    r = inner(p, '--timeout', '1s', '--', 'sleep', '30')
    ok(r.inner.get('outcome') == 'timeout' and r.seconds < 10, p, 'a timeout of its own holds', r)
    r = inner(p, '--', 'sh', '-c', 'exit 7')
    ok(r.code == 7, p, 'the exit status comes through both', r)


def case_status_says_what_holds(p):
    prepare(p)
    run = inner(p, '--', 'true').inner
    r = p.pale('--', './pale', 'status', '-j')
    j = r.json()
    ok(r.code == 0 and j.get('runs') is True and j.get('inside') is True and j.get('engine') == run.get('engine'), p,
       'status inside: it runs, by the engine that a run reports', r)
    ok(all(j.get('dimensions', {}).get(d, {}).get('by') == e['by'] for d, e in run.get('enforced', {}).items()), p,
       'and each dimension is held by what it reports', r)
    r = p.pale('--', './pale', 'status')
    ok(b'inside of' in r.out, p, 'it says where it is', r)
    r = p.pale('--', './pale', 'doctor')
    ok(r.code == 0 and b'sudo sysctl' not in r.out and b'within the sandbox around this' in r.out, p,
       'doctor inside: well, and nothing to mend there', r)
    j = p.verb('status', '-j').json()
    ok(j.get('inside') is False, p, 'twin: outside it is not inside', j)


def case_less_is_less(p):
    prepare(p)
    r = inner(p, '--filesystem', 'readonly', '--', 'sh', '-c', 'echo BOOTED >&2; cat file >&2; echo x >file; echo y >new')
    ok(r.booted and b'mine' in r.err and r.inner.get('engine') == 'landlock', p,
       'readonly inside is held by Landlock', r)
    ok((p.ws / 'file').read_text() == 'mine\n' and not (p.ws / 'new').exists(), p, 'seen from the host')
    r = inner(p, '--', 'sh', '-c', 'echo BOOTED >&2; echo x >new')
    ok(r.booted and (p.ws / 'new').exists(), p, 'twin: without it, it can be written', r)
    (p.ws / 'new').unlink(missing_ok=True)
    for options in modes(p, ('--nested', '--processes', 'visible')):
        r = inner(p, '--processes', 'visible', '--', 'sh', '-c', 'echo BOOTED >&2; unshare --user true && echo NESTED >&2; true', outer=options)
        ok(r.booted and b'NESTED' not in r.err and r.inner.get('engine') == 'landlock', p, 'where maps of ids cannot be written, too', r)
    r = p.pale('--', './pale', 'run', '--filesystem', 'readonly', '--',
               './pale', 'run', '--filesystem', 'none', '--', 'sh', '-c', f'echo BOOTED; cat {p.ws}/file')
    ok(b'mine' not in r.out, p, 'and a third one less again', r)


def case_ignored_in_another_workspace(p):
    """What a workspace below hides is nothing that the sandbox around it knows of."""
    prepare(p)
    sub = p.mkdir(p.ws / 'below')
    p.write(sub / 'pale.toml', '')
    p.write(sub / 'secret', 'CANARY\n')
    line = 'cd below && echo BOOTED && ../pale run --filesystem unrestricted -- cat secret'
    r = p.pale('--', 'sh', '-c', line)
    ok(r.booted and b'CANARY' in r.out, p, 'twin: where it hides nothing a run is plain', r)
    p.write(sub / '.paleignore', 'secret\n')
    r = p.pale('--', 'sh', '-c', line)
    ok(r.booted and b'CANARY' not in r.out and r.code == 125 and b'cannot hide' in r.err, p, 'else it is refused', r)
    (sub / '.paleignore').unlink()
    p.write(p.ws / '.paleignore', 'secret\n')
    for options in ((), ('--filesystem', 'readonly')):
        r = p.pale('--', 'sh', '-c', f'./pale run {" ".join(options)} -- sh -c "echo BOOTED; cat below/secret"')
        ok(r.booted and b'CANARY' not in r.out, p, f'{" ".join(options)}: what is hidden around it is hidden already', r)
    r = p.pale('--', 'sh', '-c', 'echo BOOTED; mkdir new && echo CANARY >new/secret; ./pale run -- cat new/secret')
    ok(r.booted and b'CANARY' not in r.out and r.code == 125, p, 'nor is what came since then shown', r)
    (p.ws / '.paleignore').unlink()
    shutil.rmtree(sub)
    shutil.rmtree(p.ws / 'new')


def case_more_is_not_to_be_had(p):
    prepare(p)
    outside = p.outside / 'canary'
    before = digest(p.outside, p.home)
    for name, args in (('network', ('--network', 'unrestricted')), ('everything', ('--preset', 'unrestricted')),
                       ('off', ('--preset', 'off')), ('a path', ('--write', str(p.outside)))):
        r = inner(p, *args, '--', 'sh', '-c',
                  f'echo BOOTED >&2; cat {p.home}/.ssh/id_rsa >&2; echo evil >{outside}; cat /proc/net/route >&2; true')
        ok(b'CANARY' not in r.err and b'CANARY' not in r.out and digest(p.outside, p.home) == before, p,
           f'{name}: no more than before', r)
        if r.inner.get('spec'):
            ok(r.inner['spec']['network'] == 'none' and r.inner['spec']['filesystem'] != 'unrestricted', p,
               f'{name}: and the report does not claim it', r)
    r = p.pale('--preset', 'off', '--', 'cat', str(p.home / '.ssh/id_rsa'))
    ok(b'CANARY' in r.out, p, 'twin: outside it is', r)


def case_forged(p):
    """Neither environment nor files make a pale inside believe anything else."""
    prepare(p)
    r = p.sh('echo network = 1 >/.pale-spec; rm -f /.pale-spec; mv /.pale-spec /tmp/x; '
             'mkdir -p /run/.pale-spec; test -f /.pale-spec && echo STILL')
    ok(r.booted and b'STILL' in r.out, p, 'the description cannot be replaced', r)
    r = p.sh('--read', '/', '--', 'rm -rf /run/.pale-spec; mv /run/.pale-spec /run/x; echo x >/run/.pale-spec; '
             'test -s /run/.pale-spec && grep -q network /run/.pale-spec && echo STILL')
    ok(r.booted and b'STILL' in r.out, p, "nor where the root is the host's", r)
    r = p.pale('--', 'env', 'PALE_IN_SCOPE=1', 'XDG_CONFIG_HOME=/tmp', './pale', 'run', '--network', 'unrestricted', '--json', '--', 'true')
    ok(r.json().get('spec', {}).get('network') == 'none', p, 'the environment changes nothing', r)


@only_root
def case_planted_on_the_host(p):
    """A file of that name that somebody could write is no description."""
    r = p.run('unshare', '-m', 'sh', '-c', 'mount -t tmpfs none /run && echo \'network = "none"\' >/run/.pale-spec && '
              f'exec {p.pale_path} run -- echo RAN')
    ok(r.code == 125 and b'.pale-spec' in r.err and b'RAN' not in r.out, p, 'refused', r)


def case_a_narrower_network_is_refused(p):
    """Nobody inside can tell the ports that were asked for from the others that are open around it."""
    prepare(p)
    probe = ('import socket, sys\n'
             'for port in sys.argv[1:]:\n'
             '    try: print("GOT", port, socket.create_connection(("127.0.0.1", int(port)), 5).recv(9), file=sys.stderr)\n'
             '    except OSError as e: print("NOT", port, e, file=sys.stderr)\n')
    p.write(p.ws / 'reach.py', probe)
    with socket.create_server(('127.0.0.1', 0)) as a, socket.create_server(('127.0.0.1', 0)) as b:
        ports = [str(s.getsockname()[1]) for s in (a, b)]
        both = ('--network', 'localhost', '--port', ports[0], '--port', ports[1])
        one = ('--network', 'localhost', '--port', ports[0])
        command = ('--', 'timeout', '5', 'python3', 'reach.py', ports[1])

        def reached():
            b.settimeout(0.2)
            try:
                b.accept()[0].close()
                return True
            except TimeoutError:
                return False
        r = inner(p, *one, *command, outer=both)
        ok(r.code == 125 and b'the sandbox around it opens' in r.out and not reached(), p, 'fewer ports than around it: refused', r)
        r = inner(p, *both, '--', 'sh', '-c', f'echo BOOTED >&2; timeout 2 python3 reach.py {ports[1]}', outer=both)
        ok(r.booted and by(r, 'network') == 'the sandbox around it' and reached(), p, 'twin: the same ports are given', r)
        r = inner(p, '--', 'sh', '-c', f'echo BOOTED >&2; timeout 2 python3 reach.py {ports[1]}', outer=both)
        ok(r.booted and not reached(), p, 'none is none', r)
        r = inner(p, *both, '--connections', '1', *command, outer=both)
        ok(r.code == 125 and b'cannot be enforced here: connections' in r.out and not reached(), p, 'connections that nobody counts: refused', r)
    hosts = ('--host', 'a.test', '--host', 'b.test')
    r = inner(p, '--host', 'a.test', '--', 'true', outer=hosts)
    ok(r.code == 125 and b'the sandbox around it opens' in r.out, p, 'fewer hosts: refused', r)
    r = inner(p, *hosts, '--', 'true', outer=hosts)
    ok(r.inner.get('outcome') == 'ok', p, 'twin: the same hosts are given', r)
    path = p.base / 'service'
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))
        s.listen()
        os.chmod(path, 0o777)
        show = ('--host', 'a.test', '--socket', path)
        r = inner(p, '--host', 'a.test', '--', 'true', outer=show)
        ok(r.code == 125 and b'the sandbox around it opens' in r.out, p, 'without the socket that is there: refused', r)
        r = inner(p, *show, '--', 'true', outer=show)
        ok(r.inner.get('outcome') == 'ok', p, 'twin: with it', r)
    path.unlink()


main(case_a_narrower_network_is_refused, case_the_same_again_is_plain, case_status_says_what_holds, case_less_is_less, case_ignored_in_another_workspace, case_more_is_not_to_be_had, case_forged,
     case_planted_on_the_host, uids=(1000,))
