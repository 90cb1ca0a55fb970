#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libpale: built against its header alone, and at work on a real kernel."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

BUILD = pathlib.Path(os.environ.get('PALE', TOP / 'build/pale')).resolve().parent
WORKSPACE = 'base = "workspace"'
OFF = 'base = "off"'
STRICT = ['-Wall', '-Wextra', '-pedantic', '-Werror']
_built = {}


def tool(*argv, **kw):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False, **kw)


def build(p, how='a'):
    """The folder of the programs, linked with libpale.a or libpale.so. Only the
    public header is in reach."""
    if how in _built:
        return _built[how]
    folder = p.pale_path.parent / f'lib-{how}'
    (folder / 'include').mkdir(parents=True, mode=0o755)
    shutil.copy(TOP / 'include/pale.h', folder / 'include')
    shutil.copy(BUILD / 'libpale.so', folder / 'libpale.so.0')
    (folder / 'libpale.so.0').chmod(0o755)
    link = [BUILD / 'libpale.a', '-pthread'] if how == 'a' else \
        [folder / 'libpale.so.0', f'-Wl,-rpath,{folder}', '-pthread']
    for source in [*sorted((TOP / 'examples').glob('*.c')), *sorted(HERE.glob('probes/library*.c'))]:
        define = '-D_GNU_SOURCE' if source.stem.startswith('library') else '-D_POSIX_C_SOURCE=200809L'
        r = tool('gcc', '-std=c11', *STRICT, define, '-I', folder / 'include', '-o',
                 folder / source.stem, source, *link)
        if r.returncode:
            note(r.stderr)
            raise RuntimeError(f'{source} does not build')
        (folder / source.stem).chmod(0o755)
    _built[how] = folder
    return folder


def call(p, verb, spec, *cmd, how='a', **kw):
    """The lines of the probe, as a table. Its standard error is the command's."""
    env = {**p.env, 'PALE': str(p.pale_path), **kw.pop('env', {})}
    r = p.run(build(p, how) / 'library', verb, p.ws, spec, *cmd, env=env, **kw)
    r.seen = {}
    for line in r.out.decode(errors='replace').splitlines():
        key, eq, value = line.partition('=')
        if eq:
            r.seen[key] = value
    return r


def case_examples(p):
    for how in ('a', 'so'):
        folder = build(p, how)
        env = {**p.env, 'PALE': str(p.pale_path)}
        r = p.run(folder / 'capture', p.ws, 'sh', '-c', 'echo BOOTED; cat file; exit 3', env=env)
        ok(r.code == 3 and r.booted and b'mine\n[failed after' in r.out, p,
           f'capture, with libpale.{how}, shows output and status', r)
        r = p.run(folder / 'capture', p.ws, 'no-such-program', env=env)
        ok(r.code == 127 and b'no-such-program' in r.err, p, 'and why nothing ran', r)
        r = p.run(folder / 'policy', p.ws, env=env)
        ok(r.code == 0 and b'timeout = "90s"' in r.out and b'filesystem = "readonly"' not in r.out
           and b'network        enforced   network namespace' in r.out, p,
           f'policy, with libpale.{how}, shows the meet and the plan', r)


def case_confines(p):
    key = p.home / '.ssh/id_rsa'
    line = f'echo BOOTED; cat {key}; echo x >{p.outside}/canary; true'
    before = digest(p.outside)
    r = call(p, 'run', WORKSPACE, 'sh', '-c', line)
    ok(r.booted and b'CANARY-KEY' not in r.out and digest(p.outside) == before, p,
       'what the spec forbids does not happen', r)
    ok(r.seen.get('outcome') == 'ok' and '"by":"mounts' in r.seen.get('json', ''), p,
       'and the result says by what', r)
    for spec in ('new', OFF):
        r = call(p, 'run', spec, 'sh', '-c', f'echo BOOTED; cat {key}; echo y >>{p.outside}/new; '
                 'echo "$SECRET_TOKEN"', env={'SECRET_TOKEN': 'passed-through'})
        ok(r.booted and b'CANARY-KEY' in r.out and b'passed-through' in r.out and
           (p.outside / 'new').exists(), p, f'with {spec} it does: a plain pass-through', r)
        (p.outside / 'new').unlink(missing_ok=True)


def case_results(p):
    r = call(p, 'run', WORKSPACE, 'sh', '-c', 'echo BOOTED; exit 7')
    s = r.seen
    ok(r.booted and (s['outcome'], s['code'], s['signal'], s['status']) ==
       ('failed', '7', '0', '7') and s['limit'] == '' and 'error' not in s, p, 'an exit code', r)
    j = json.loads(s['json'])
    ok(j['exit_code'] == 7 and int(s['duration']) == j['duration_ms'] and
       int(s['cpu']) == j['usage']['cpu_ms'] and j['spec']['network'] == 'none', p,
       'the fields are those of the JSON', r)
    r = call(p, 'run', WORKSPACE, 'sh', '-c', 'echo BOOTED; kill -11 $$')
    ok(r.booted and (r.seen['outcome'], r.seen['signal'], r.seen['status'], r.seen['code']) ==
       ('signaled', '11', '139', '-1'), p, 'a signal', r)
    r = call(p, 'run', WORKSPACE + '\ntimeout = "300ms"', 'sh', '-c', 'echo BOOTED; sleep 60')
    ok(r.booted and (r.seen['outcome'], r.seen['limit'], r.seen['status']) ==
       ('timeout', 'timeout', '124') and r.err == b'', p, 'a timeout, and nothing on stderr', r)
    r = call(p, 'run', WORKSPACE, 'no-such-program')
    ok(r.seen['outcome'] == 'error' and r.seen['status'] == '127' and r.err == b'' and
       'no-such-program' in r.seen.get('error', ''), p, 'a program that is not there', r)
    (p.ws / 'plain').write_text('echo no\n')
    r = call(p, 'run', WORKSPACE, './plain')
    ok(r.seen['status'] == '126', p, 'one that is not executable', r)


def case_policy(p):
    try:
        p.config('[ceiling]\nnetwork = "none"\n')
        r = call(p, 'run', 'new', 'echo', 'BOOTED')
        ok(not r.booted and r.seen['outcome'] == 'refused' and r.seen['status'] == '125' and
           'ceiling' in r.seen.get('error', '') and r.seen.get('hint') and r.err == b'', p,
           'a ceiling binds the library, too', r)
        r = call(p, 'run', WORKSPACE, 'echo', 'BOOTED')
        ok(r.booted and r.seen['outcome'] == 'ok', p, 'and lets through what is below it', r)
        p.config('[ceiling]\ntimeout = "400ms"\n')
        r = call(p, 'run', 'new', 'sh', '-c', 'echo BOOTED; sleep 60')
        ok(r.booted and r.seen['outcome'] == 'timeout', p, 'a limit that nobody named is cut', r)
        p.config('[sandbox.env]\npass = ["MY_TOKEN"]\n[sandbox]\npreset = "off"\n')
        r = call(p, 'run', WORKSPACE, 'sh', '-c', 'echo BOOTED; echo "got=$MY_TOKEN"',
                 env={'MY_TOKEN': 'leaked'})
        ok(r.booted and b'got=\n' in r.out, p, 'files do not loosen a whole spec', r)
        r = p.pale('--', 'sh', '-c', 'echo "got=$MY_TOKEN"', env={**p.env, 'MY_TOKEN': 'seen'})
        ok(b'got=seen' in r.out, p, 'where the command line does as they say', r)
    finally:
        p.no_config()
    p.write(p.ws / 'pale.toml', '[commands.x]\ncmd = "true"\nsandbox = "off"\n')
    r = call(p, 'run', WORKSPACE, 'echo', 'BOOTED')
    ok(not r.booted and r.seen['outcome'] == 'refused' and 'trusted' in r.seen.get('error', ''), p,
       'trust is asked for as ever', r)
    p.no_config()


def case_descriptors(p):
    r = call(p, 'fds', WORKSPACE, 'sh', '-c', 'cat; echo BOOTED >&2; ls /proc/self/fd | wc -l >&2')
    ok(r.seen.get('out') == 'to the command' and r.seen.get('err') == 'BOOTED' and
       r.seen['outcome'] == 'ok' and r.err == b'', p, 'pipes of the caller', r)
    r = call(p, 'swapped', WORKSPACE, 'sh', '-c', 'echo BOOTED; echo to-two >&2; read x || echo end')
    ok(b'BOOTED\nend\n' == r.err and b'to-two' in r.out, p, 'crosswise, and /dev/null', r)
    r = call(p, 'leak', OFF, 'sh', '-c', 'echo BOOTED; ls /proc/self/fd | tr "\\n" " "; echo; sleep 2')
    ok(r.booted and b'BOOTED\n0 1 2 3 \n' in r.out and
       r.seen.get('closed') == '1', p,
       'an open descriptor goes neither to the command nor to pale', r)


def case_wait_and_kill(p):
    r = call(p, 'wait', WORKSPACE, 'sh', '-c', 'echo BOOTED; exec sleep 60')
    s = r.seen
    ok(r.booted and (s['poll'], s['wait0'], s['wait'], s['before']) ==
       ('0', '-110', '-110', 'running'), p, 'waiting ends in time', r)
    ok((s['kill'], s['polled'], s['outcome'], s['signal']) == ('0', '1', 'signaled', '15') and
       r.seconds < 8, p, 'SIGTERM arrives; the descriptor becomes readable', r)
    for spec in (WORKSPACE, OFF):
        word = mark()
        r = call(p, 'kill9', spec, 'sh', '-c', 'trap "" TERM; echo BOOTED; sleep 60; true', word)
        ok(r.booted and (r.seen['outcome'], r.seen['signal'], r.seen['wait']) ==
           ('signaled', '9', '-110') and r.seconds < 8 and not marked(word), p,
           f'SIGKILL ends everything, and there is a result ({spec})', r)
    r = call(p, 'usr1', WORKSPACE, 'sh', '-c',
             'trap "echo got-usr1; exit 5" USR1; echo BOOTED; sleep 60 & wait')
    ok(r.booted and b'got-usr1' in r.out and r.seen['code'] == '5', p, 'SIGUSR1 is passed on', r)
    r = call(p, 'stopped', WORKSPACE, 'sh', '-c', 'echo BOOTED; sleep 60; true')
    ok(r.booted and r.seen.get('outcome') == 'signaled' and r.seconds < 8, p,
       'SIGKILL ends a stopped run', r)
    r = call(p, 'ignore', WORKSPACE, 'sh', '-c', 'echo BOOTED; exit 6')
    ok(r.booted and r.seen.get('code') == '6', p, 'a caller that ignores SIGCHLD has results', r)


def running(p, verb, spec, word, until):
    """Start VERB with a sleeping command, and wait until it says UNTIL."""
    proc = p.start(build(p) / 'library', verb, p.ws, spec, 'sh', '-c',
                   'trap "" TERM HUP INT; sleep 300 & sleep 300; true', word,
                   env={**p.env, 'PALE': str(p.pale_path)}, stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, start_new_session=True)
    lines = []
    while True:
        line = proc.stdout.readline()
        lines.append(line)
        if not line or line.startswith(until):
            return proc, lines


def case_death_of_the_caller(p):
    for spec in (WORKSPACE, OFF):
        word = mark()
        proc, _ = running(p, 'pause', spec, word, b'up')
        # the probe, pale, its warden, the shell
        there = wait_for(lambda: len(marked(word)) >= 4 and marked(word))
        ok(there, p, f'it runs ({spec})', marked(word))
        begin = time.monotonic()
        proc.kill()
        proc.wait()
        gone = wait_for(lambda: not marked(word))
        ok(gone, p, f'a caller killed by SIGKILL leaves nothing running ({spec}), '
           f'after {(time.monotonic() - begin) * 1000:.0f} ms', marked(word))


def case_death_of_pale(p):
    """Killed while the command runs: nobody may take that for one that was never executed."""
    program = p.ws / 'pale-for-a-moment'
    def deaf():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    for kill, want, before in (('kill -9 $$', ('error', '137'), None), ('kill -9 $$', ('error', '137'), deaf),
                               ('true', ('ok', '0'), None), ('true', ('ok', '0'), deaf)):
        program.write_text(f'#!/bin/sh\n(sleep 1; {kill}) </dev/null 3>&- 4>&- &\nexec "$TRUE_PALE" "$@"\n')
        program.chmod(0o755)
        r = call(p, 'run', WORKSPACE, 'sh', '-c', 'echo BOOTED; echo x >ran; sleep 2', env={'PALE': str(program), 'TRUE_PALE': str(p.pale_path)},
                 **({'preexec_fn': before} if before else {}))
        s = r.seen
        ok(r.booted and (p.ws / 'ran').exists() and (s.get('outcome'), s.get('status')) == want, p,
           f'{kill}{", SIGCHLD ignored" if before else ""}: the status of a command that was executed', r)
        ok(('"code":"lost"' in s['json'] and 'may have been executed' in s['hint']) == (want[0] == 'error'), p,
           'and what is known of it', r)
        (p.ws / 'ran').unlink(missing_ok=True)


def case_free(p):
    word = mark()
    proc, lines = running(p, 'free', WORKSPACE, word, b'children')
    left = [pid for pid in marked(word) if pid != proc.pid]
    # setpriv executes the probe: one process
    ok(b'freed=1\n' in lines and b'wait=-110\n' in lines and not left, p,
       'free ends a run that has not ended', (lines, left))
    ok(lines[-1] == b'children=0\n', p, 'and leaves no child to reap', lines)
    proc.kill()
    proc.wait()


def case_fork(p):
    r = call(p, 'fork', WORKSPACE, 'sh', '-c', 'echo BOOTED; sleep 1; exit 6')
    ok(r.booted and (r.seen.get('outcome'), r.seen.get('status')) == ('failed', '6'), p,
       'a forked child that frees its copy does not end the run', r)


def case_plan(p):
    r = call(p, 'plan', WORKSPACE + '\ntimeout = "9s"', 'sh', '-c', 'touch ran')
    ok(r.seen.get('world') == 'scoped' and r.seen.get('ceiling') == '4' and
       r.seen.get('dim.network') == '0 network namespace' and r.seen.get('past') == '1' and
       r.seen.get('dim.timeout', '').startswith('0 '), p, 'each dimension and by what', r)
    j = json.loads(r.seen.get('json', '{}'))
    ok(j.get('argv') == ['sh', '-c', 'touch ran'] and not (p.ws / 'ran').exists(), p,
       'as JSON, and nothing was run', r)
    cli = p.pale('--explain', '--json', '--spec', WORKSPACE + '\ntimeout = "9s"', '--', 'sh',
                 '-c', 'touch ran').json()
    ok(j.get('enforced') == cli.get('enforced') and j.get('operations') == cli.get('operations'),
       p, 'the same as that of the command line')
    r = call(p, 'plan', 'network = "localhost"', 'true')
    if r.seen.get('failed'):
        ok('localhost' in r.seen['failed'] and r.code == 1, p, 'what cannot be has no plan', r)


def case_probe(p):
    r = call(p, 'probe', OFF)
    ok(r.seen.get('probe') == '0' and r.seen.get('message') == '', p, 'confinement works here', r)
    r = call(p, 'probe', OFF, cwd='/')
    ok(r.seen.get('probe', '').startswith('-') and 0 < len(r.seen['message']) < 1024, p,
       'where it does not, there is a reason', r)


def case_argv(p):
    r = call(p, 'exec', WORKSPACE + '\npaths_hidden = ["file"]', 'sh', '-c',
             'echo BOOTED; cat file; exit 4')
    ok(r.booted and r.code == 4 and b'mine' not in r.out, p, 'an argv for exec holds the spec', r)
    r = call(p, 'exec', WORKSPACE, 'sh', '-c', 'echo BOOTED; cat file; exit 4')
    ok(r.booted and b'mine' in r.out, p, 'twin: without the rule the file is seen', r)


def case_threads(p):
    r = call(p, 'threads', WORKSPACE, timeout=120)
    ok((r.seen.get('good'), r.seen.get('events'), r.seen.get('workspace')) == ('40', '80', '1'), p,
       '8 threads start 5 runs each; every one gets its own result', r)


def case_scarce(p):
    """Without memory or descriptors, at every step: an error, and never a word that is not true."""
    env = {**p.env, 'PALE': str(p.pale_path)}
    for how in ('a', 'so'):
        for what, kinds in (('memory', 5), ('descriptors', 1)):
            r = p.run(build(p, how) / 'library-scarce', what, p.ws, env=env)
            ok(r.code == 0 and r.out.count(b' failed') == kinds and b'=0 ' not in r.out and b'bad=' not in r.out, p,
               f'without {what}, with libpale.{how}', r)


def case_ring(p):
    """What was refused is told by a number; nothing of what it was about."""
    secrets = {'argument': 'S3CRET-ARGUMENT', 'value': 'S3CRET-VALUE', 'host': 's3cret.example.org',
               'key': str(p.home / '.ssh/id_rsa'), 'output': 'S3CRET-OUTPUT', 'workspace': str(p.ws),
               'file': 'S3CRET-FILE'}
    line = (f"echo BOOTED; echo {secrets['output']}; : {secrets['host']}; echo x > {secrets['file']}; "
            f"echo x > {secrets['key']}; exit 3")
    r = call(p, 'ring', 'filesystem = "readonly"', 'sh', '-c', line, secrets['argument'],
             env={'TOKEN': secrets['value']})
    memory = bytes.fromhex(r.seen.get('memory', ''))
    ok(r.booted and len(memory) >= 3 * 64 and len(memory) % 64 == 0, p, 'the ring has events', r)
    for name, secret in secrets.items():
        ok(secret.encode() not in memory, p, f'nothing of the {name} in its memory')
    ok(r.seen.get('sandbox.denied', '').startswith('filesystem ') and r.seen.get('sandbox.exit') == ' 1', p,
       'that something was refused is told', r)
    ok(r.seen.get('annotation') == '1 seen', p, 'an annotator has seen the end', r)
    r = call(p, 'ring', 'filesystem = "readonly"', 'sh', '-c', 'echo BOOTED')
    ok(r.booted and 'sandbox.denied' not in r.seen, p, 'twin: where nothing is refused, nothing is told', r)


@only_root
def case_size_of_the_caller(p):
    r = call(p, 'big', WORKSPACE, 'true', timeout=120, stdin=subprocess.DEVNULL)
    small, big = float(r.seen['small']), float(r.seen['big'])
    ok(big < 3 * small + 1, p, f'a caller of 1 GiB spawns in {big:.2f} ms, a small one in '
       f'{small:.2f} ms', r)


@only_root
def case_symbols(p):
    names = {line.split()[-1] for line in
             tool('nm', '-D', '--defined-only', BUILD / 'libpale.so').stdout.splitlines()}
    header = (TOP / 'include/pale.h').read_text()
    import re
    declared = set(re.findall(r'^PALE_API [^;]*?\b(pale_\w+)\(', header, re.M))
    ok(len(declared) > 35 and names - {'PALE_0'} == {n + '@@PALE_0' for n in declared}, p,
       'libpale.so exports what the header declares, versioned, and nothing else',
       sorted(names ^ {n + '@@PALE_0' for n in declared}))
    names = {line.split()[-1] for line in
             tool('nm', '-g', '--defined-only', BUILD / 'libpale.a').stdout.splitlines()
             if len(line.split()) == 3}
    ok(names == declared, p, 'and so does libpale.a', sorted(names ^ declared))
    r = tool('readelf', '-d', BUILD / 'libpale.so').stdout
    ok('[libpale.so.0]' in r and 'jansson' not in r, p, 'its soname; no other library', r)
    data = [line for line in tool('nm', BUILD / 'libpale.so').stdout.splitlines()
            if re.search(r' [bBdD] (?!_|completed|__)', line) and 'DYNAMIC' not in line]
    writable = [line for line in data if re.search(r' [bB] ', line)]
    ok(not writable, p, 'there is no variable that calls could share', writable)


@only_root
def case_header(p):
    for compiler, std, lang in (('gcc', 'c11', 'c'), ('g++', 'c++17', 'c++')):
        if not shutil.which(compiler):
            skip(p, f'no {compiler}')
            continue
        r = tool(compiler, f'-std={std}', *STRICT, '-I', TOP / 'include', '-fsyntax-only', '-x',
                 lang, '-', input='#include <pale.h>\nint main(void) { struct pale_request r = '
                 'PALE_REQUEST_INIT; return r.fds[0]; }\n')
        ok(r.returncode == 0, p, f'the header alone is {std}', r.stderr)


@only_root
def case_install(p):
    dest = p.mkdir(p.base / 'dest')
    tree = p.base / 'tree'
    prefix = (BUILD / 'pale.pc').read_text().split('\n')[0].removeprefix('prefix=/')
    r = tool('make', '-s', '-C', TOP, 'install', f'DESTDIR={dest}', f'PREFIX=/{prefix}')
    if not ok(r.returncode == 0, p, 'make install', r.stderr):
        return
    usr = dest / prefix
    ok(all((usr / f).exists() for f in ('bin/pale', 'lib/libpale.so', 'lib/libpale.so.0',
                                        'lib/libpale.a', 'include/pale.h',
                                        'lib/pkgconfig/pale.pc', 'share/man/man3/pale.3')), p,
       'all parts are installed')
    if not shutil.which('pkg-config'):
        skip(p, 'no pkg-config')
        return
    env = {**os.environ, 'PKG_CONFIG_LIBDIR': str(usr / 'lib/pkgconfig'),
           'PKG_CONFIG_SYSROOT_DIR': str(dest)}
    flags = tool('pkg-config', '--cflags', '--libs', 'pale', env=env)
    r = tool('gcc', '-D_POSIX_C_SOURCE=200809L', '-o', tree, TOP / 'examples/capture.c',
             *flags.stdout.split())
    ok(r.returncode == 0, p, f'pkg-config: {flags.stdout.strip()}', r.stderr + flags.stderr)
    r = p.run(tree, p.ws, 'echo', 'BOOTED',
              env={**p.env, 'PALE': str(usr / 'bin/pale'), 'LD_LIBRARY_PATH': str(usr / 'lib')})
    ok(r.code == 0 and r.booted, p, 'what was built with it runs', r)


@only_root
def case_data_races(p):
    out = p.base / 'tsan'
    sources = [f for layer in ('base', 'config', 'policy', 'result')
               for f in sorted((TOP / 'src' / layer).glob('*.c'))]
    sources += sorted((TOP / 'src/api').glob('pale*.c'))
    r = tool('gcc', '-std=gnu17', '-D_GNU_SOURCE', '-DPALE_VERSION="0.0.0"', '-O1', '-g',
             '-fsanitize=thread', *[f'-I{TOP / d}' for d in ('include', 'src', 'build/gen', '.',
                                                            'tests')],
             '-o', out, *sources, TOP / 'tests/unit/api/test-libpale.c', TOP / 'tests/tap.c')
    if r.returncode:
        skip(p, 'no ThreadSanitizer here')
        return
    r = p.run('setarch', '-R', out, timeout=120)
    ok(r.code == 0 and b'8 threads do 200 rounds each' in r.out and b'WARNING' not in r.err, p,
       'ThreadSanitizer finds nothing in 8 threads', r)


main(case_examples, case_confines, case_results, case_policy, case_descriptors,
     case_wait_and_kill, case_death_of_the_caller, case_death_of_pale, case_free, case_fork, case_plan,
     case_probe, case_argv, case_threads, case_scarce, case_ring, case_size_of_the_caller, case_symbols, case_header, case_install,
     case_data_races)
