#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Annotators: the user's own are asked, within bounds; nobody else's ever is."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

SAYS = '#!/bin/sh\ncat > /dev/null\n'
GOOD = '''#!/bin/sh
read -r event
echo "$event" > %s
echo '{"type":"note","display":"inline","data":{"seen":true}}'
'''


def folder(p):
    return p.base / 'config/pale/annotators'


def fresh(p, settings=''):
    """No history, no annotators but those that the case puts there."""
    p.no_config()
    shutil.rmtree(folder(p), ignore_errors=True)
    p.mkdir(p.base / 'config/pale')
    p.mkdir(folder(p))
    p.config(settings)


def put(p, name, text, mode=0o755):
    return p.write(folder(p) / name, text, mode)


def ran(p):
    """One run that failed, so that there are a start and an exit."""
    r = p.sh('exit 3')
    ok(r.booted and r.code == 3, p, 'a run', r)


def annotations(p, name, kind='sandbox.exit'):
    """What NAME said of the last event of KIND; a list of one, or empty."""
    events = [e for e in p.verb('events', '-j').json() if e['kind'] == kind]
    return [a for a in events[-1]['annotations'] if a['annotator'] == name] if events else None


def annotate(p, *args, **kw):
    r = p.verb('events', 'annotate', '-j', *args, **kw)
    return r, r.json()


def case_deferred(p):
    fresh(p)
    seen = p.base / 'seen'
    put(p, 'good', GOOD % seen)
    ran(p)
    ok(annotations(p, 'good') == [], p, 'a deferred one is not asked by those who read')
    ok(not seen.exists(), p, 'and did not run')
    r, doc = annotate(p)
    ok(r.code == 0 and doc['annotated'] == 2 and doc['failed'] == 0, p, 'it is when told to', r)
    event = json.loads(seen.read_text())
    ok(event['kind'] == 'sandbox.exit' and event['code'] == 'failed' and event['workspace'] == str(p.ws) and
       event['data']['exit_code'] == 3, p, 'it read the event', event)
    said = annotations(p, 'good')
    ok(said and said[0]['type'] == 'note' and said[0]['display'] == 'inline' and
       said[0]['data'] == {'seen': True}, p, 'what it said is kept', said)
    r = p.verb('events')
    ok(b'good: note {"seen":true}' in r.out, p, 'and shown in line', r)
    r, doc = annotate(p)
    ok(doc['annotated'] == 0, p, 'it is not asked twice', r)
    ran(p)
    r, doc = annotate(p, '--run', 'last')
    ok(doc['annotated'] == 2, p, '--run', r)


def case_eager(p):
    fresh(p, '[annotators.good]\nwhen = "eager"\nkinds = ["sandbox.exit"]\n')
    seen = p.base / 'seen-eager'
    put(p, 'good', GOOD % seen)
    ran(p)
    ok(not seen.exists(), p, 'the run itself does not wait for it')
    said = annotations(p, 'good')
    ok(said and said[0]['type'] == 'note', p, 'who reads the history finds its answer', said)
    ok(annotations(p, 'good', 'sandbox.start') == [], p, 'only of the kinds that it asked for')


def case_environment(p):
    fresh(p)
    out = p.base / 'surroundings'
    put(p, 'env', f'#!/bin/sh\n(env; pwd; ls -l /proc/self/fd; cat) > {out}\n')
    ran(p)
    secret = 'S3CRET-IN-THE-ENVIRONMENT'
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    annotate(p, env={**p.env, 'TOKEN': secret, 'LD_PRELOAD_X': secret}, pass_fds=(writer,))
    os.close(reader), os.close(writer)
    text = out.read_text()
    ok(secret not in text, p, "the caller's variables are not passed on", text)
    ok('\n/\n' in text, p, 'it does not start in the workspace', text)
    ok(f' {writer} -> ' not in text, p, 'no descriptor of the caller is passed on', text)
    ok('"kind":' in text, p, 'its input ends', text)


HOSTILE = {
    'hangs': ('#!/bin/sh\nsleep 60\n', 'killed after 300 ms'),
    'hangs-in-a-child': ('#!/bin/sh\nsleep 60 & wait\n', 'killed after 300 ms'),
    'ignores': ('#!/bin/sh\ntrap "" TERM INT HUP\nwhile :; do :; done\n', 'killed after 300 ms'),
    'floods': ('#!/bin/sh\nyes "{}"\n', ''),
    'floods-and-ends': ('#!/bin/sh\nhead -c 200000 /dev/zero | tr "\\0" x\n', 'larger than'),
    'no-json': (SAYS + 'echo hello\n', 'no JSON'),
    'half': (SAYS + 'printf \'{"type":"a","disp\'\n', 'no JSON'),
    'nul': (SAYS + 'printf \'{"type":"a","display":"inline","data":"x\\000y"}\'\n', 'no JSON'),
    'escaped-nul': (SAYS + 'printf \'%s\' \'{"type":"a","display":"inline","data":"\\u0000"}\'\n', 'no JSON'),
    'not-utf8': (SAYS + 'printf \'{"type":"a","display":"inline","data":"\\377"}\'\n', 'no JSON'),
    'list': (SAYS + 'echo "[]"\n', 'no JSON object'),
    'two': (SAYS + 'echo \'{"type":"a","display":"inline"} {"type":"b"}\'\n', 'no JSON'),
    'deep': (SAYS + 'head -c 30000 /dev/zero | tr "\\0" "["\n', 'no JSON'),
    'display': (SAYS + 'echo \'{"type":"a","display":"loud"}\'\n', '"display"'),
    'type': (SAYS + 'echo \'{"type":"a b\\u001b[2J","display":"inline"}\'\n', '"type"'),
    'fails': (SAYS + 'exit 7\n', 'exited with 7'),
    'dies': (SAYS + 'kill -SEGV $$\n', 'signal 11'),
    'no-interpreter': ('#!/no/such/program\n', ''),
}


def case_hostile(p):
    fresh(p, ''.join(f'[annotators.{n}]\ntimeout = "300ms"\n' for n in HOSTILE))
    for name, (text, _) in HOSTILE.items():
        put(p, name, text)
    put(p, 'z-good', GOOD % (p.base / 'seen-last'))
    ran(p)
    r, doc = annotate(p, timeout=120)
    ok(r.code == 0 and doc['annotated'] == 2, p, 'the good one is asked all the same', r)
    ok(doc['failed'] == 2 * len(HOSTILE), p, 'every other one failed', r)
    for name, (_, words) in HOSTILE.items():
        said = annotations(p, name)
        ok(said and said[0]['type'] == 'error' and said[0]['display'] == 'hidden' and
           words in said[0]['data']['message'], p, f'{name}: the failure is kept', said)
    r = p.verb('events')
    ok(r.code == 0 and b'error' not in r.out.replace(b'sandbox.error', b''), p, 'failures are not shown', r)
    r, doc = annotate(p, timeout=120)
    ok(doc['failed'] == 2 * len(HOSTILE), p, 'one that failed is asked again when told to', r)


def case_leaves_nothing_behind(p):
    fresh(p)
    word = mark()
    put(p, 'daemon', SAYS + f'setsid sh -c "sleep 60; : {word}" > /dev/null 2>&1 &\n'
        f'(sh -c "sleep 60; : {word}" &) > /dev/null 2>&1\n'
        'echo \'{"type":"note","display":"hidden"}\'\n')
    ran(p)
    r, doc = annotate(p, '--run', 'last')
    ok(r.code == 0 and doc['annotated'] == 2, p, 'one that forks away has answered', r)
    ok(not wait_for(lambda: marked(word), 0.3), p, 'what it left behind is ended', marked(word))
    ran(p)
    other = mark()
    r = p.run('sh', '-c', f'sh -c "sleep 60; : {other}" > /dev/null 2>&1 & exec "$0" events annotate -j', p.pale_path)
    ok(r.json().get('annotated') == 2 and len(marked(other)) == 1, p, 'a child of the caller goes on', r)
    for pid in marked(other):
        os.kill(pid, signal.SIGKILL)


def case_says_nothing(p):
    fresh(p)
    put(p, 'silent', SAYS)
    ran(p)
    r, doc = annotate(p)
    ok(doc['silent'] == 2 and doc['failed'] == 0, p, 'an empty answer is none', r)
    r, doc = annotate(p)
    ok(doc['silent'] == 0, p, 'and it is not asked again', r)


def refused(p, doc, name, words):
    ok(any(line.startswith(name + ':') and words in line for line in doc['refused']), p,
       f'{name} is refused: {words}', doc)


def case_whose(p):
    """Each file would leave a trace if it ran; the twin at the end does."""
    fresh(p)
    trace = p.base / 'trace'
    text = f'#!/bin/sh\necho ran >> {trace}\n'
    put(p, 'others-write', text, 0o757)
    put(p, 'no-program', text, 0o644)
    put(p, 'source_context', text)
    target = p.write(p.outside / 'program', text, 0o755)
    os.symlink(target, folder(p) / 'link')
    inside = p.write(p.ws / 'tool', text, 0o755)
    os.symlink(inside, folder(p) / 'into-workspace')
    put(p, '.hidden', text)
    put(p, 'backup~', text)
    p.mkdir(folder(p) / 'directory')
    if os.geteuid() == 0:
        put(p, 'strangers', text)
        os.chown(folder(p) / 'strangers', 4242, 4242)
        put(p, 'group-writes', text, 0o775)
        os.chown(folder(p) / 'group-writes', p.uid, 4242)
    ran(p)
    r, doc = annotate(p)
    for name, words in (('others-write', 'others can write'), ('no-program', 'cannot be executed'), ('source_context', 'built-in'),
                        ('link', 'link'), ('into-workspace', 'link'), ('directory', 'no file')):
        refused(p, doc, name, words)
    if os.geteuid() == 0:
        refused(p, doc, 'strangers', 'somebody else')
        refused(p, doc, 'group-writes', 'others can write')
    ok(not trace.exists(), p, 'none of them ran', r)
    put(p, 'mine', text, 0o775)
    annotate(p)
    ok(trace.exists(), p, "twin: one of the user's own, and their private group's, runs")


def case_folder(p):
    fresh(p)
    trace = p.base / 'trace-folder'
    put(p, 'mine', f'#!/bin/sh\necho ran >> {trace}\n')
    folder(p).chmod(0o777)
    ran(p)
    r, doc = annotate(p)
    refused(p, doc, 'annotators', 'others can write')
    folder(p).chmod(0o755)
    (p.base / 'config/pale').chmod(0o777)
    r, doc = annotate(p)
    ok(r.code != 0 and b'others can replace' in r.err, p, 'nothing works where others can replace all of it', r)
    (p.base / 'config/pale').chmod(0o755)
    (p.base / 'config').chmod(0o777)
    r, doc = annotate(p)
    refused(p, doc, 'annotators', 'a folder above')
    (p.base / 'config').chmod(0o755)
    real = p.base / 'elsewhere'
    os.rename(folder(p), real)
    os.symlink(real, folder(p))
    r, doc = annotate(p)
    ok(any(line.startswith('annotators:') for line in doc['refused']), p, 'a link as the folder is refused', doc)
    ok(not trace.exists(), p, 'nothing ran', r)
    os.unlink(folder(p))
    os.rename(real, folder(p))
    annotate(p)
    ok(trace.exists(), p, 'twin: the folder itself is fine')


def case_settings(p):
    """What is configured and can do nothing is said, or refused."""
    fresh(p, '[annotators.good]\nkinds = ["sandbox"]\n[annotators.goood]\nwhen = "eager"\n')
    put(p, 'good', SAYS)
    ran(p)
    r, doc = annotate(p)
    refused(p, doc, 'goood', 'no such program')
    ok(doc['silent'] == 2 and len(doc['refused']) == 1, p, 'twin: the other one is asked', doc)
    fresh(p, '[annotators.good]\nkinds = ["sandbox.exit", "sandbox.denid"]\n')
    r = p.verb('events', 'annotate')
    ok(r.code != 0 and b'kinds cannot be "sandbox.denid"' in r.err and b'sandbox.denied' in r.err, p, 'a kind that is none', r)


def case_of_the_workspace(p):
    """A clone brings annotators of its own, in every place that could be meant."""
    fresh(p)
    trace = p.base / 'trace-clone'
    text = f'#!/bin/sh\necho ran >> {trace}\n'
    for place in ('annotators', '.pale/annotators', '.config/pale/annotators', 'pale/annotators'):
        p.write(p.ws / place / 'evil', text, 0o755)
    p.write(p.ws / 'pale.toml', '[sandbox]\nmode = "direct"\n')
    ran(p)
    r, doc = annotate(p)
    p.verb('events')
    ok(r.code == 0 and not trace.exists(), p, 'none of them is asked', r)
    p.write(p.ws / 'pale.toml', '[annotators.evil]\nwhen = "eager"\n')
    r = p.verb('events')
    ok(r.code != 0 and b'only in the system' in r.err and not trace.exists(), p, 'a clone cannot configure one', r)
    p.write(p.ws / 'pale.toml', '')
    for env in ({'XDG_CONFIG_HOME': str(p.ws / '.config')},):
        r = p.verb('events', 'annotate', env={**p.env, **env})
        ok(not trace.exists(), p, 'nor one that a variable leads to', r)
    shutil.rmtree(p.base / 'config/pale')
    os.symlink(p.ws / 'pale', p.base / 'config/pale')
    r = p.verb('events', 'annotate')
    ok(not trace.exists(), p, 'nor one that a link leads to', r)
    os.unlink(p.base / 'config/pale')
    for place in ('annotators', '.pale', '.config', 'pale'):
        shutil.rmtree(p.ws / place)
    fresh(p)
    put(p, 'evil', text)
    annotate(p)
    ran(p)
    annotate(p)
    ok(trace.exists(), p, "twin: in the user's own folder it runs")


def case_source_context(p):
    fresh(p)
    p.write(p.ws / '.paleignore', '*.key\n')
    p.write(p.ws / 'src/a.c', 'int helper(int x)\n{\n\treturn y;\n}\n')
    p.write(p.ws / 'private.key', 'CANARY-HIDDEN\n')
    p.write(p.ws / 'seen.cfg', 'CANARY-SEEN\n')
    secrets = ('.docker/config.json', '.aws/cred.ini', 'Secrets.json', 'prod.env')
    for name in secrets:
        p.write(p.ws / name, 'CANARY-SECRET\n')
    line = 'for f in private.key seen.cfg; do echo "$f:1: error" >&2; done; '
    places = (f'{p.home}/.ssh/id_rsa', f'{p.outside}/canary', '../outside/canary', '/etc/passwd')
    outside = ''.join(f'echo "{name}.c:1:1: x" "{name}:1: x"; ' for name in places)
    outside += ''.join(f'echo "{name}:1: x"; ' for name in secrets)
    r = p.sh('--max-output', '64k', '--', 'echo "src/a.c:3:9: error: y"; ' + line + outside + 'exit 1')
    ok(r.booted and r.code == 1, p, 'a run whose output is kept', r)
    said = annotations(p, 'source_context')
    found = {place['path']: place for place in said[0]['data']['places']} if said else {}
    ok(found.get('src/a.c', {}).get('function') == 'helper' and
       {'line': 3, 'text': '\treturn y;'} in found['src/a.c']['source'], p, 'the source, and the function', said)
    ok('CANARY-SEEN' in json.dumps(said), p, 'twin: what the command could read is quoted', said)
    ok('CANARY-HIDDEN' not in json.dumps(said) and set(found) == {'src/a.c', 'seen.cfg', *secrets}, p,
       'what it could not read, or lies outside, is not', said)
    ok(not any('source' in found.get(name, {'source': 1}) for name in secrets), p, 'credentials are pointed at, and not quoted', found)
    kept = b''.join(f.read_bytes() for f in (p.base / 'state').rglob('history.db*'))
    ok(b'CANARY-SECRET' not in kept and b'CANARY-SEEN' in kept, p, 'nor are they in the database')
    r = p.verb('why')
    ok(r.code == 0 and b'src/a.c:3:9, in helper' in r.out, p, 'why shows it', r)
    r = p.sh('--max-output', '64k', '--hide', 'seen.cfg', '--', line + 'exit 1') if has('hidden') else None
    if r:
        said = annotations(p, 'source_context')
        ok(r.booted and 'CANARY' not in json.dumps(said), p, 'hidden by an option: not quoted either', said)
    r = p.sh('--max-output', '64k', '--', 'echo fine; exit 1')
    ok(annotations(p, 'source_context')[0]['type'] == 'none', p, 'nothing to say', r)
    (p.ws / '.paleignore').unlink()


main(case_source_context, case_deferred, case_eager, case_environment, case_hostile, case_leaves_nothing_behind, case_says_nothing,
     case_whose, case_folder, case_settings, case_of_the_workspace)
