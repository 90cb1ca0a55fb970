#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which engine a run gets, and that bubblewrap is kept at arm's length.

The host's settings stay as they are: a refusal is injected into pale alone
(strace), set in a namespace of the test's own, or made by a seccomp filter.
"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

BWRAP = next((b for b in ('/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap') if os.path.exists(b)), None)
STRACE = shutil.which('strace')
# What a kernel without namespaces answers.
REFUSALS = ('EPERM', 'EACCES', 'ENOSPC', 'ENOSYS', 'EINVAL')


def workspace(p):
    """One that bwrap can serve: root does not own it."""
    ws = p.mkdir(p.base / 'plain')
    if os.geteuid() == 0:
        os.chown(ws, p.uid or 1000, p.uid or 1000)
    return ws


def injected(p, call, fault, *args, ws=None, **kw):
    argv = (STRACE, '-f', '-qq', '-o', '/dev/null', '-e', f'trace={call}', '-e', f'inject={call}:{fault}')
    return p.run(*argv, p.pale_path, 'run', *args, cwd=ws or workspace(p), **kw)


def need_tools(p):
    if not BWRAP or not STRACE:
        skip(p, 'no bwrap or no strace')
    return BWRAP and STRACE


def case_auto_is_native(p):
    r = p.pale('--json', '--', 'true')
    ok(r.json().get('engine') == 'native', p, 'where namespaces are allowed, auto is native', r)
    r = p.pale('--explain', '--', 'true')
    ok(b'engine      native\n' in r.out, p, 'and --explain says so', r)


def case_next_is_bwrap_ME05(p):
    if not need_tools(p):
        return
    ws = workspace(p)
    for error in REFUSALS:
        # of all calls: a container refuses clone3 whatever it is for
        r = injected(p, 'clone3', f'error={error}', '--result', 'result', '--', 'sh', '-c',
                     'echo BOOTED; echo x >>"$1"; cat "$2"; readlink /proc/self/ns/net; exit 7', 'sh',
                     p.outside / 'canary', p.home / '.ssh/id_rsa')
        j = json.loads((ws / 'result').read_text()) if (ws / 'result').exists() else {}
        ok(r.booted and r.code == 7 and j.get('engine') == 'bwrap' and j.get('exit_code') == 7, p,
           f'{error} from clone3: bwrap runs it, and the result says so', r)
        ok((p.outside / 'canary').read_text() == 'canary\n' and b'CANARY' not in r.out and
           os.readlink('/proc/self/ns/net').encode() not in r.out, p, f'{error}: inside of the same boundary', r)
        (ws / 'result').unlink(missing_ok=True)
    r = injected(p, 'clone3', 'error=EPERM:when=1', '--explain', '--', 'true')
    ok(b'engine      bwrap\n' in r.out, p, '--explain finds out by trying', r)
    r = injected(p, 'clone3', 'error=ENOMEM:when=1', '--', 'touch', 'ran')
    ok(r.code == 125 and not (ws / 'ran').exists(), p, 'another failure is no reason to change the engine', r)


def case_named_is_taken_at_its_word_ME05(p):
    if not need_tools(p):
        return
    ws = workspace(p)
    for more in ((), ('--explain',)):
        r = injected(p, 'clone3', 'error=EPERM:when=1', '--engine', 'native', *more, '--', 'touch', 'ran')
        ok(r.code == 125 and not (ws / 'ran').exists() and b'namespaces' in r.err and b'hint' in r.err, p,
           f"--engine native {' '.join(more)}: refused with its fix", r)
    r = p.pale('--engine', 'native', '--', 'touch', 'ran', cwd=ws)
    ok(r.code == 0 and (ws / 'ran').exists(), p, 'twin: it runs where they are allowed', r)
    (ws / 'ran').unlink(missing_ok=True)


def no_rung(p, name, r, ws, *says):
    ok(r.code == 125 and not (ws / 'ran').exists() and b'engine native was not possible' in r.err and
       all(s in r.err for s in says), p, f'{name}: refused, with both reasons and the fix', r)


def case_last_rung_by_limit_LC09(p):
    """bwrap is refused there as well; what is left does not hold the whole policy."""
    if p.is_root:
        return  # it would need more ids than the namespace of the test has
    ws = workspace(p)
    outer = ['unshare', '--user', '--map-current-user', '--keep-caps', 'sh', '-c']
    line = '{0} "$1" run {1} -- touch ran'
    off = 'echo 0 >/proc/sys/user/max_user_namespaces;'
    r = p.run(*outer, line.format('', ''), 'sh', p.pale_path, cwd=ws)
    if ok(r.code == 0 and (ws / 'ran').exists(), p, 'twin: in a namespace that allows more of them', r):
        (ws / 'ran').unlink()
    r = p.run(*outer, line.format(off, ''), 'sh', p.pale_path, cwd=ws)
    no_rung(p, 'max_user_namespaces = 0', r, ws, b'sysctl -w user.max_user_namespaces=')
    r = p.run(*outer, line.format(off, '--explain'), 'sh', p.pale_path, cwd=ws)
    no_rung(p, 'the same, --explain', r, ws, b'sysctl -w user.max_user_namespaces=')
    r = p.run(*outer, line.format(off, '--engine bwrap'), 'sh', p.pale_path, cwd=ws)
    ok(r.code == 125 and not (ws / 'ran').exists() and r.err, p, 'the same, --engine bwrap', r)
    r = p.run(*outer, line.format(off, '--preset off'), 'sh', p.pale_path, cwd=ws)
    ok(r.code == 0 and (ws / 'ran').exists(), p, 'twin: off needs none', r)
    (ws / 'ran').unlink(missing_ok=True)


def case_last_rung_by_filter_LC09(p):
    ws = workspace(p)
    refuse = p.base / 'refuse'
    subprocess.run(['gcc', '-O1', '-Wall', '-D_GNU_SOURCE', '-o', refuse, HERE / 'probes/refuse.c'], check=True)
    refuse.chmod(0o755)
    r = p.run(refuse, p.pale_path, 'run', '--', 'touch', 'ran', cwd=ws)
    no_rung(p, 'a seccomp profile', r, ws, b'seccomp')
    r = p.run(refuse, p.pale_path, 'run', '--preset', 'off', '--', 'touch', 'ran', cwd=ws)
    ok(r.code == 0 and (ws / 'ran').exists(), p, 'twin: the filter lets off run', r)
    (ws / 'ran').unlink(missing_ok=True)


def case_in_a_container_LC09(p):
    """Its /proc is covered in part, and settings are read-only: what is left is what needs none."""
    if os.geteuid() != 0 or p.is_root:
        return  # root of a container is in nobody's workspace but root's
    ws = workspace(p)
    covered = ('mount --make-rprivate / && mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && '
               'mount --bind /dev/null /proc/keys && exec "$@"')

    def contained(*args):
        argv = ['unshare', '-m', 'sh', '-c', covered, 'sh', *p.argv([p.pale_path, 'run', *args])]
        got = subprocess.run(argv, cwd=ws, env=p.env, capture_output=True, timeout=60, start_new_session=True)
        return Result(argv, got.returncode, got.stdout, got.stderr, 0)
    r = contained('--', 'touch', 'ran')
    ok(r.code == 125 and not (ws / 'ran').exists() and b'--processes visible' in r.err, p, 'refused, with what works', r)
    r = contained('--processes', 'visible', '--json', '--', 'touch', 'ran')
    ok(r.code == 0 and (ws / 'ran').exists() and r.json().get('engine') == 'landlock', p, 'and that does', r)
    (ws / 'ran').unlink(missing_ok=True)
    r = contained('--engine', 'native', '--processes', 'visible', '--', 'touch', 'ran')
    ok(r.code == 125 and not (ws / 'ran').exists() and b'max_' in r.err, p, 'an engine that was named is not replaced', r)


def case_bwrap_fails(p):
    if not need_tools(p):
        return
    ws = workspace(p)
    failures = 0
    for n in (1, 2, 4, 8, 12):
        r = injected(p, 'mount', f'error=ENOMEM:when={n}', '--engine', 'bwrap', '--', 'touch', 'ran')
        ran = (ws / 'ran').exists()
        (ws / 'ran').unlink(missing_ok=True)
        if r.code == 0 and ran:
            continue
        failures += 1
        ok(r.code == 125 and not ran and r.out == b'' and r.err.startswith(b'pale: bubblewrap could not') and
           r.err.count(b'\n') <= 3, p, f'its mount {n} fails: 125, in its own words', r)
    ok(failures >= 2, p, f'{failures} faults hit')
    r = p.pale('--engine', 'bwrap', '--', 'sh', '-c', 'echo out; echo err >&2; exit 5', cwd=ws)
    ok((r.code, r.out, r.err) == (5, b'out\n', b'err\n'), p, 'twin: when it works, it is silent', r)


def case_bwrap_is_out_of_reach_PT09(p):
    """What is set for the command does not reach a program that is outside."""
    if not BWRAP:
        return skip(p, 'no bwrap')
    ws = workspace(p)
    told = p.outside / 'told'
    source = p.write(p.base / 'evil.c', f'''#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void tell(void) {{ close(open("{told}", O_CREAT | O_WRONLY, 0644)); }}
''')
    evil = ws / 'evil.so'
    subprocess.run(['gcc', '-shared', '-fPIC', '-o', evil, source], check=True)
    evil.chmod(0o755)
    p.outside.chmod(0o777)
    p.run(BWRAP, '--version', env={'LD_PRELOAD': str(evil)})
    ok(told.exists(), p, 'twin: a library that is preloaded acts')
    told.unlink(missing_ok=True)
    r = p.sh('--engine', 'bwrap', '--setenv', f'LD_PRELOAD={evil}', '--', 'echo "$LD_PRELOAD"', cwd=ws)
    ok(r.booted and str(evil).encode() in r.out and not told.exists(), p,
       'one that the policy sets acts inside only', r)
    path = p.write(ws / 'bwrap', '#!/bin/sh\ntouch "%s"\n' % told, 0o755).parent
    r = p.sh('--engine', 'bwrap', '--', 'true', cwd=ws, env={**p.env, 'PATH': f'{path}:{CLEAN_PATH}'})
    ok(r.booted and not told.exists(), p, 'no bwrap of the PATH is used', r)
    told.unlink(missing_ok=True)
    p.outside.chmod(0o755)


def case_bwrap_is_killed(p):
    """bwrap stands between pale and the warden: without it the run is over, all of it."""
    if not BWRAP:
        return skip(p, 'no bwrap')
    ws = workspace(p)
    shutil.copy(p.probe_path, ws / 'probe')
    for options in ((), ('--processes', 'visible')):
        m = mark()
        proc = p.start(p.pale_path, 'run', '--engine', 'bwrap', *options, '--', 'sh', '-c',
                       './probe orphan 60 $0; touch started; ./probe ignore $0', m, cwd=ws, stdout=subprocess.DEVNULL)
        begun = wait_for(lambda: (ws / 'started').exists() and len(marked(m)) >= 3)
        children = [int(c) for c in pathlib.Path(f'/proc/{proc.pid}/task/{proc.pid}/children').read_text().split()]
        names = [pathlib.Path(f'/proc/{c}/comm').read_text().strip() for c in children]
        os.kill(children[0], signal.SIGKILL)
        code = proc.wait(10)
        ok(begun and names == ['bwrap'] and code == 128 + 9 and not marked(m), p,
           f"{' '.join(options) or 'isolated'}: nothing is left, and the result says killed", f'{names} {code} {marked(m)}')
        (ws / 'started').unlink(missing_ok=True)


def case_what_bwrap_does_not_do(p):
    if not BWRAP:
        return skip(p, 'no bwrap')
    ws = workspace(p)
    r = p.pale('--engine', 'bwrap', '--ephemeral', '--filesystem', 'readonly', '--', 'touch', 'ran', cwd=ws)
    ok(r.code == 125 and b'overlay' in r.err and not (ws / 'ran').exists(), p, 'ephemeral is refused', r)
    if not p.is_root:
        return
    for name, options, where in (("root's own workspace", (), p.ws),
                                 ('the whole filesystem', ('--filesystem', 'unrestricted'), ws)):
        r = p.pale('--engine', 'bwrap', *options, '--', 'touch', 'ran', cwd=where)
        ok(r.code == 125 and b'root' in r.err and not (where / 'ran').exists(), p, f'{name} is refused', r)
    r = p.pale('--engine', 'bwrap', '--', 'sh', '-c', 'touch ran; id -u; grep Groups /proc/self/status', cwd=ws)
    ok(r.code == 0 and (ws / 'ran').stat().st_uid == 1000 and r.out.split()[0] == b'1000' and
       r.out.split(b'Groups:')[1].strip() == b'', p, "twin: somebody's workspace: as that user, without groups", r)
    (ws / 'ran').unlink(missing_ok=True)


def case_warden_by_hand(p):
    for args in ((), ('3', '3', '3', '3', '3'), ('0', '1', '2', '0', '1'), ('x', '4', '5', '6', '7')):
        r = p.run(p.pale_path, '--warden', *args)
        ok(r.code == 125 and r.out == b'', p, f"--warden {' '.join(args)}: refused", r)


main(case_auto_is_native, case_next_is_bwrap_ME05, case_named_is_taken_at_its_word_ME05,
     case_last_rung_by_limit_LC09, case_last_rung_by_filter_LC09, case_in_a_container_LC09, case_bwrap_fails,
     case_bwrap_is_out_of_reach_PT09, case_bwrap_is_killed, case_what_bwrap_does_not_do,
     case_warden_by_hand, uids=(1000,))
