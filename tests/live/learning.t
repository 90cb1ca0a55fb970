#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The learning loop on real commands: profile, suggest, declare, run, tighten, run; then
the project turns hostile, and what it tries is refused and named. Nothing is exposed
while it is profiled either."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
import socket
from live import *

PYTHON = '/usr/bin/python3'
ROOM = {'memory': '3g', 'cpu': '9m', 'timeout': '20m'}


def shop(p):
    """A folder outside of everything private, and of this person: what is written there
    is seen by the host. Only root can make one; else None."""
    if os.geteuid() != 0:
        return None
    top = pathlib.Path(f'/opt/pale-learning-{os.getpid()}')
    if not top.exists():
        top.mkdir(mode=0o755)
        atexit.register(shutil.rmtree, top, ignore_errors=True)
    place = top / f'u{p.uid}'
    if not place.exists():
        place.mkdir(mode=0o755)
        (place / 'canary').write_text('canary\n')
        os.chown(place, p.owner, p.owner)
        os.chown(place / 'canary', p.owner, p.owner)
    return place


def host_digest(p):
    return digest(p.outside, p.home, *filter(None, [shop(p)])), sorted(set(os.listdir(p.base)) - {'state', 'config'})


def furnish(p, name, cmd, files):
    p.no_config()
    subprocess.run(['find', p.ws, '-mindepth', '1', '-delete'], check=True)
    for path, text in files.items():
        p.write(p.ws / path, text)
    p.write(p.ws / 'pale.toml', f'# the project\n[commands.{name}]   # learned\ncmd = {json.dumps(cmd)}\n\n'
                                '[commands.other]\ncmd = "true" # last\n')


def spec_of(p, name):
    return p.verb('sandbox', 'inspect', name, '-j').json().get('spec', {})


def make_room(p):
    """Limits as somebody would write them who has not looked."""
    path = p.ws / 'pale.toml'
    text = path.read_text()
    for key, value in ROOM.items():
        text = re.sub(rf'^{key} = "\w+"', f'{key} = "{value}"', text, flags=re.M)
    path.write_text(text)
    return text


def learn(p, name, says, want):
    """Up to the point where it is enforced."""
    before = digest(p.ws), host_digest(p)
    r = p.verb('sandbox', 'profile', name, timeout=120)
    ok(r.code == 0 and says in r.err and b'executed' in r.out, p, 'profile: it runs, and what it uses is shown', r)
    ok((digest(p.ws), host_digest(p)) == before, p, 'profile: nothing was changed')
    kept = list((p.base / 'state/pale').glob(f'*/profiles/{name}.json'))
    ok(len(kept) == 1 and kept[0].stat().st_mode & 0o777 == 0o600, p, 'profile: kept for the user alone', kept)
    r = p.verb('sandbox', 'suggest', name, '--write', timeout=120)
    ok(r.code == 0 and says in r.err and b'written to' in r.err, p, 'suggest: tried, and declared', r)
    text = (p.ws / 'pale.toml').read_text()
    ok(text.startswith(f'# the project\n[commands.{name}]   # learned\n') and 'cmd = "true" # last\n' in text, p,
       'suggest: the rest of the file is as it was', text)
    spec = spec_of(p, name)
    for key, value in want.items():
        ok(spec.get(key) == value, p, f'suggest: {key} = {value}', spec.get(key))
    ok(spec.get('network') == 'none' and spec.get('processes') == 'isolated', p, 'suggest: no network, no processes', spec)
    stages = [s for s in (p.base / 'state/pale').glob('*/stages/*')]
    ok(not stages, p, 'no stage is left', stages)
    return text


def enforce(p, name, says, proof):
    """Three runs, narrower limits, and once more."""
    roomy = make_room(p)
    r = p.verb('sandbox', 'tighten', name)
    ok(r.code == 1 and b'0 successful runs' in r.err, p, 'tighten: not before it ran; rehearsals do not count', r)
    for i in range(3):
        r = p.pale(name, timeout=120)
        ok(r.code == 0 and says in r.out and proof(i), p, f'run {i + 1} passes', r)
    r = p.verb('sandbox', 'tighten', name)
    ok(r.code == 0 and b'20m' in r.out, p, 'tighten: before and after are shown', r)
    tight = (p.ws / 'pale.toml').read_text()
    changed = [(a, b) for a, b in zip(roomy.splitlines(), tight.splitlines()) if a != b]
    limits = {a.split()[0] for a, _ in changed}
    present = {key for key in ROOM if f'\n{key} = ' in roomy}
    ok(limits == present and 'timeout' in present and len(roomy.splitlines()) == len(tight.splitlines()), p,
       'tighten: every limit, and nothing else, is another one', changed)
    held = p.pale('--explain', '--json', '--memory', '64m', '--allow-degraded', 'memory', '--', 'true').json()
    ok(('memory' in present) == (held['enforced']['memory']['state'] == 'enforced'), p,
       'a limit of memory was learned where this machine holds one, and only there', present)
    note(f'[{p}] {name}: ' + ', '.join(b.split('#')[0].strip() for _, b in changed))
    r = p.pale(name, timeout=120)
    ok(r.code == 0 and says in r.out and proof(3), p, 'it passes under these, too', r)


def turn_hostile(p, name, cmd, files, target):
    """The same command, in a project that has changed: what it does now is refused."""
    for path, text in files.items():
        p.write(p.ws / path, text)
    before, content = host_digest(p), target.read_bytes()
    r = p.pale('--result', p.base / 'result.json', name, timeout=120)
    result = json.loads((p.base / 'result.json').read_text())
    (p.base / 'result.json').unlink()
    ok(b'BOOTED' in r.out + r.err, p, 'hostile: it has run', r)
    refused = [v['path'] for v in result['violations'] or [] if v['dimension'] == 'filesystem']
    ok(str(target) in refused, p, f'hostile: refused, with the exact path {target.name}', result['violations'])
    ok(target.read_bytes() == content and host_digest(p) == before, p, 'hostile: the host is as it was')
    r = p.verb('why')
    ok(r.code == 0 and str(target).encode() in r.out, p, 'hostile: why names it', r)
    r = p.run('sh', '-c', cmd, timeout=120)
    ok(target.read_bytes() != content, p, 'twin: on the host the same command does it', r)
    target.write_bytes(content)
    (p.base / 'evil').unlink(missing_ok=True)
    (p.home / '.bashrc').unlink(missing_ok=True)


def evil_sh(target):
    return f'echo BOOTED; echo evil >{target}; echo evil >../evil; echo evil >>~/.bashrc; true'


def evil_py(target):
    return f'''
import os
print("BOOTED", flush=True)
for path in ({str(target)!r}, "../evil", os.path.expanduser("~/.bashrc")):
    try:
        open(path, "w").write("evil")
    except OSError:
        pass
'''


def loop(p, name, cmd, files, says, want, hostile, inner, proof=lambda i: True):
    """HOSTILE: a path, and what makes the text of it from a target. INNER: a file of the workspace
    that must not be written any more; None: all of it can, and only outside is a target."""
    furnish(p, name, cmd, files)
    learn(p, name, says, want)
    enforce(p, name, says, proof)
    targets = [t for t in (inner and p.ws / inner, shop(p) and shop(p) / 'canary') if t]
    if not targets:
        skip(p, 'only root can make a folder that is not private', only_root=True)
    for target in targets:
        turn_hostile(p, name, cmd, {hostile[0]: hostile[1](target)}, target)


@only_first
def case_c_build(p):
    def app_is_there(_):
        gone = (p.ws / 'obj/app').exists()
        for f in (p.ws / 'obj').glob('*'):
            f.unlink()
        return gone
    makefile = ('all: obj/app\nobj/app: obj/main.o obj/util.o\n\tcc -o $@ $^\n'
                'obj/%.o: src/%.c\n\tcc -c -o $@ $<\n')
    loop(p, 'build', 'make -s -j2 && ./obj/app', {
        'Makefile': makefile, 'obj/.keep': '',
        'src/main.c': '#include <stdio.h>\nint util(void);\nint main(void) { printf("built %d\\n", util()); }\n',
        'src/util.c': 'int util(void) { return 42; }\n',
    }, b'built 42', {'filesystem': 'scoped_write', 'paths_writable': [str(p.ws / 'obj')], 'caches': []},
         ('Makefile', lambda target: makefile + f'.PHONY: all evil\nall: evil\nevil:\n\t{evil_sh(target)}\n'),
         'src/util.c', app_is_there)


@only_first
def case_tests(p):
    module = 'pytest -q' if p.run(PYTHON, '-c', 'import pytest').code == 0 else 'unittest -v'
    test = 'import unittest, calc\nclass T(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(calc.add(1, 2), 3)\n'
    loop(p, 'test', f'{PYTHON} -m {module} 2>&1 && echo ALL-PASSED', {
        'calc.py': 'def add(a, b):\n    return a + b\n', 'test_calc.py': test,
    }, b'ALL-PASSED', {'filesystem': 'readonly', 'ephemeral': True, 'paths_writable': []},
         ('test_calc.py', lambda target: test + f'print("BOOTED")\n{evil_py(target)}\nimport sys; sys.__stderr__.write("BOOTED")\n'),
         None, lambda i: not (p.ws / '__pycache__').exists() and not (p.ws / '.pytest_cache').exists())


LINT = '''
import os
n = 0
for d, _, names in os.walk('src'):
    for name in names:
        text = open(os.path.join(d, name)).read()
        assert '\\t' not in text, name
        n += 1
print(n, 'files are clean')
'''


@only_first
def case_linter(p):
    loop(p, 'lint', f'{PYTHON} lint.py', {'lint.py': LINT, **{f'src/{i}.txt': 'text\n' for i in range(20)}},
         b'20 files are clean', {'filesystem': 'readonly', 'ephemeral': False},
         ('lint.py', lambda target: LINT + evil_py(target)), 'src/3.txt')


@only_first
def case_npm_script(p):
    for tool in ('node', 'npm'):
        if p.run('sh', '-c', f'command -v {tool}').code != 0:
            return skip(p, f'{tool} is not installed', only_root=True)
    build = 'const fs = require("fs")\nfs.writeFileSync("dist/out.js", "// " + fs.readFileSync("src/in.js"))\nconsole.log("bundled")\n'
    loop(p, 'bundle', 'npm_config_update_notifier=false npm run --silent build', {
        'package.json': '{"name":"project","version":"1.0.0","scripts":{"build":"node build.js"}}',
        'build.js': build, 'src/in.js': '1\n', 'dist/.keep': '',
    }, b'bundled', {'filesystem': 'scoped_write', 'paths_writable': [str(p.ws / 'dist')],
                    'caches': [str(p.home / '.npm')]},
         ('build.js', lambda target: build + 'console.log("BOOTED")\nfor (const path of ' +
          f'[{json.dumps(str(target))}, "../evil", process.env.HOME + "/.bashrc"]) ' +
          'try { fs.writeFileSync(path, "evil") } catch (e) { }\n'), 'src/in.js',
         lambda i: (p.ws / 'dist/out.js').exists() and not (p.home / '.npm').exists())
    ok((p.home / '.npm').exists(), p, 'twin: on the host it has a cache in the home')
    shutil.rmtree(p.home / '.npm')


SERVE = '''
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def answer():
    peer, _ = server.accept()
    peer.sendall(peer.recv(100).upper())
    peer.close()
threading.Thread(target=answer).start()
client = socket.create_connection(server.getsockname())
client.sendall(b"served")
print(client.recv(100).decode())
'''


def listener():
    server = socket.create_server(('127.0.0.1', 0))
    server.settimeout(0.3)
    return server


def accepted(server):
    try:
        server.accept()[0].close()
        return True
    except OSError:
        return False


def knock(port):
    return f'''
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), 2).close()
    print("KNOCKED")
except OSError:
    pass
'''


@only_first
def case_local_port(p):
    server = listener()
    port = server.getsockname()[1]
    loop(p, 'serve', f'{PYTHON} serve.py', {'serve.py': SERVE, 'data.txt': 'text\n'},
         b'SERVED', {'filesystem': 'readonly', 'ports': None},
         ('serve.py', lambda target: SERVE + evil_py(target)), 'data.txt')
    p.write(p.ws / 'serve.py', SERVE)
    r = p.verb('sandbox', 'profile', '--network', 'unrestricted', 'serve')
    ok(r.code == 0 and b'127.0.0.1:' in r.out, p, 'profiled with the whole network: the connection is shown', r)
    r = p.verb('sandbox', 'suggest', 'serve')
    ok(r.code == 0 and b'network = "none"' in r.out, p, 'a loopback of its own is what is suggested', r)
    p.write(p.ws / 'serve.py', SERVE + knock(port))
    r = p.pale('serve')
    ok(r.code == 0 and b'SERVED' in r.out and b'KNOCKED' not in r.out and not accepted(server), p,
       "hostile: it does not reach the host's loopback", r)
    r = p.run(PYTHON, p.ws / 'serve.py')
    ok(b'KNOCKED' in r.out and accepted(server), p, 'twin: on the host it does', r)


CACHED = '''
mkdir -p ~/.cache/tool/v1
if [ -e ~/.cache/tool/v1/data ]; then echo WARM; else echo COLD; fi
echo x >~/.cache/tool/v1/data
'''


@only_first
def case_cache(p):
    def is_warm(i):
        r = p.pale('fetch')
        return b'WARM' in r.out and not (p.home / '.cache').exists()
    loop(p, 'fetch', 'sh ./fetch && echo FETCHED', {'fetch': CACHED, 'data.txt': 'text\n'},
         b'FETCHED', {'filesystem': 'readonly', 'caches': [str(p.home / '.cache/tool')]},
         ('fetch', lambda target: CACHED + evil_sh(target)), 'data.txt', is_warm)
    shutil.rmtree(p.home / '.cache', ignore_errors=True)  # of the twin


def hostile_script(p, port):
    targets = [p.base / 'evil', p.home / '.bashrc', p.home / '.ssh/authorized_keys', p.outside / 'canary',
               p.ws / 'file', *([shop(p) / 'canary'] if shop(p) else [])]
    return targets, f'''
import os, socket
print("BOOTED", flush=True)
for path in {[str(t) for t in targets]!r}:
    try:
        open(path, "a").write("evil")
    except OSError:
        pass
try:
    print(open({str(p.home / '.ssh/id_rsa')!r}).read())
except OSError:
    pass
{knock(port)}
'''


@only_first
def case_profiling_exposes_nothing(p):
    server = listener()
    targets, script = hostile_script(p, server.getsockname()[1])
    furnish(p, 'evil', f'{PYTHON} evil.py', {'evil.py': script, 'file': 'mine\n'})
    secret = f'CANARY-KEY-{p.uid}'.encode()
    for argv in (('profile', 'evil'), ('profile', '--', PYTHON, 'evil.py'), ('suggest', 'evil')):
        what = ' '.join(argv[:2])
        before = digest(p.ws), host_digest(p)
        r = p.verb('sandbox', *argv)
        ok(r.code == 0 and r.booted, p, f'{what}: it has run', r)
        ok((digest(p.ws), host_digest(p)) == before, p, f'{what}: the host and the workspace are as they were')
        ok(secret not in r.out + r.err, p, f'{what}: the key was not read', r)
        ok(b'KNOCKED' not in r.err and not accepted(server), p, f'{what}: nobody knocked', r)
    spec = p.verb('sandbox', 'suggest', 'evil', '-j').json().get('spec', {})
    reach = spec.get('paths_readable', ['?']) + [w for w in spec.get('paths_writable', ['?']) if not w.startswith(str(p.ws))]
    ok(not reach and spec.get('network') == 'none' and spec.get('caches') == [], p,
       'suggest: what it tried opens nothing', spec)
    r = p.verb('sandbox', 'profile', '--network', 'unrestricted', 'evil')
    ok(r.booted and accepted(server), p, 'twin: with the network that somebody asks for, it knocks', r)
    before = [t.read_bytes() if t.exists() else None for t in targets]
    r = p.run(PYTHON, 'evil.py')
    after = [t.read_bytes() if t.exists() else None for t in targets]
    ok(all(a != b for a, b in zip(after, before)) and secret in r.out and accepted(server), p,
       'twin: on the host it does all of that', (r, targets, before, after))
    for target, content in zip(targets, before):
        target.unlink() if content is None else target.write_bytes(content)


@only_first
def case_needs_more(p):
    """Something outside is needed: it is asked for, used, narrowed, and takes trust."""
    furnish(p, 'read', f'cat {p.outside}/canary', {'file': 'mine\n'})
    r = p.verb('sandbox', 'suggest', 'read')
    ok(r.code == 1 and r.out == b'' and b'did not succeed' in r.err and str(p.outside / 'canary').encode() in r.err, p,
       'what it lacks is named, and nothing is offered', r)
    r = p.verb('sandbox', 'profile', 'read')
    ok(r.code == 1 and b'nothing is learned' in r.err and not list((p.base / 'state/pale').glob('*/profiles/*')), p,
       'a profile of that is not kept', r)
    r = p.verb('sandbox', 'profile', '--read', str(p.outside), 'read')
    ok(r.code == 0 and b'canary\n' in r.err, p, 'asked for, it is there', r)
    r = p.verb('sandbox', 'suggest', 'read', '--write')
    ok(r.code == 0 and f'paths_readable = ["{p.outside}/canary"]'.encode() in r.out and b'pale trust' in r.err, p,
       'learned is the file that was read, and that takes trust', r)
    r = p.pale('read')
    ok(r.code == 125, p, 'without trust: refused', r)
    p.verb('trust', '--yes')
    r = p.pale('read')
    ok(r.code == 0 and r.out == b'canary\n', p, 'with trust: it runs', r)


@only_first
def case_odd_names(p):
    """Names that a terminal, TOML or a shell would take for something else."""
    for folder, filesystem in ((b'o"b\nj \x1b[31m', 'scoped_write'), (b'~', 'scoped_write'), (b'${WORKSPACE}', 'workspace_only'),
                               (b'**', 'workspace_only'),
                               (b'not utf-8 \xff', 'workspace_only')):
        home = digest(p.home)
        furnish(p, 'odd', 'sh ./odd && echo WROTE', {'odd': ''})
        place = os.path.join(os.fsencode(p.ws), folder)
        os.mkdir(place)
        os.chown(place, p.owner, p.owner)
        quoted = b"'" + place + b"'"
        p.write(p.ws / 'odd', b'echo x >' + quoted + b'/a; echo y >' + quoted + b'/b')
        p.verb('sandbox', 'profile', 'odd')
        r = p.verb('sandbox', 'suggest', 'odd', '--write')
        spec = spec_of(p, 'odd')
        ok(r.code == 0 and spec.get('filesystem') == filesystem and b'\x1b' not in r.out + r.err, p,
           f'{folder!r}: {filesystem}', f'{r} {spec}')
        if filesystem == 'scoped_write':
            ok([os.fsencode(w) for w in spec['paths_writable']] == [place], p, f'{folder!r}: this folder, and no other', spec)
        r = p.pale('odd')
        ok(r.code == 0 and os.path.exists(place + b'/b'), p, f'{folder!r}: it runs', r)
        ok(digest(p.home) == home, p, f'{folder!r}: the home is what it was')


main(case_c_build, case_tests, case_linter, case_npm_script, case_local_port, case_cache,
     case_profiling_exposes_nothing, case_needs_more, case_odd_names)
