#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An agent at work, by `pale mcp` alone: it mends a C project in a staged session, then tries what it
must not; and the user applies."""
import itertools
import socket
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

FILES = {
    'sum.c': '#include "sum.h"\n\nint sum(const int *items, int n)\n{\n\tint total = 0;\n\n'
             '\tfor (int i = 1; i < n; i++)\n\t\ttotal += items[i];\n\treturn total;\n}\n',
    'sum.h': 'int sum(const int *items, int n);\n',
    'test.c': '#include <stdio.h>\n#include "sum.h"\n\nint main(void)\n{\n\tint items[] = {4, 5, 6};\n\n'
              '\tprintf("sum is %d\\n", sum(items, 3));\n\treturn sum(items, 3) == 15 ? 0 : 1;\n}\n',
    'Makefile': 'test: sum.c test.c sum.h\n\tcc -o run-test sum.c test.c\n\t./run-test\n',
    '.gitignore': 'run-test\n',
    'pale.toml': '[commands.test]\ncmd = "make test"\n',
}
PORT = 18237


class Agent:
    """A client of the protocol, in as many lines as it takes."""

    def __init__(self, p, *args):
        self.p, self.ids = p, itertools.count(1)
        self.proc = p.start(p.pale_path, 'mcp', '--workspace', p.ws, *args, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.ask('initialize', protocolVersion='2025-06-18', capabilities={}, clientInfo={'name': 'agent', 'version': '1'})
        self.send(method='notifications/initialized')

    def send(self, **message):
        self.proc.stdin.write(json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\n')
        self.proc.stdin.flush()

    def ask(self, method, **params):
        number = next(self.ids)
        self.send(id=number, method=method, params=params)
        for raw in self.proc.stdout:
            answer = json.loads(raw)
            if answer.get('id') == number:
                return answer
        return {'error': {'message': 'it has gone: ' + self.proc.stderr.read().decode()}}

    def call(self, tool, /, **arguments):
        """The answer of a tool; an error of the protocol counts as one of the tool."""
        answer = self.ask('tools/call', name=tool, arguments=arguments)
        return answer.get('result') or {'isError': True, **answer}

    def close(self):
        self.proc.stdin.close()
        return self.proc.wait(20)


def said(result):
    return '\n'.join(part.get('text', '') for part in result.get('content', [])) or json.dumps(result)


def data(result):
    return result.get('structuredContent') or {}


def project(p):
    shutil.rmtree(p.ws)
    p.mkdir(p.ws)
    for name, text in FILES.items():
        p.write(p.ws / name, text)
    p.run('git', 'init', '-q', p.ws)
    p.run('git', '-c', 'user.name=A', '-c', 'user.email=a@example.org', 'add', '-A')
    p.run('git', '-c', 'user.name=A', '-c', 'user.email=a@example.org', 'commit', '-qm', 'first')
    return {name: digest(p.ws / name) if (p.ws / name).is_dir() else (p.ws / name).read_bytes()
            for name in os.listdir(p.ws)}


def mend(p, agent):
    """What it is there for."""
    r = agent.call('commands')
    ok('test' in json.dumps(r), p, 'it finds the command', r)
    r = agent.call('run', name='test')
    ok(data(r).get('outcome') == 'failed' and 'sum is 11' in said(r), p, 'the test fails', r)
    r = agent.call('grep', pattern='int i = 1', fixed=True)
    ok('sum.c' in json.dumps(r), p, 'it finds the place', r)
    r = agent.call('read', path='sum.c')
    ok('int i = 1' in said(r), p, 'reads it', r)
    r = agent.call('edit', path='sum.c', old='int i = 1', new='int i = 0')
    ok(not r.get('isError'), p, 'edits it', r)
    r = agent.call('run', name='test')
    ok(data(r).get('outcome') == 'ok' and 'sum is 15' in said(r), p, 'and the test passes', r)
    r = agent.call('write', path='docs/NOTES.md', content='mended\n')
    ok(not r.get('isError'), p, 'it leaves a note', r)


def serve(p, agent):
    """A server of its own, on the sandbox's loopback."""
    r = agent.call('exec', argv=['python3', '-m', 'http.server', str(PORT), '--bind', '127.0.0.1'], background=True)
    run = data(r).get('run')
    ok(run, p, 'it starts a server in the background', r)
    r = agent.call('exec', command=f'curl -sS --retry 40 --retry-delay 1 --retry-all-errors --max-time 20 http://127.0.0.1:{PORT}/sum.c')
    ok('int i = 0' in said(r), p, 'and is served what it has written', r)
    try:
        socket.create_connection(('127.0.0.1', PORT), 1).close()
        ok(False, p, 'nobody answers on the host')
    except OSError:
        ok(True, p, 'nobody answers on the host')
    r = agent.call('output', id=run)
    ok('GET /sum.c' in json.dumps(r), p, 'it reads what the server printed', r)


def misbehave(p, agent):
    """The four things that it must not. Each is tried by a tool, and by a command."""
    for name in ('apply', 'undo', 'allow'):
        r = agent.call(name)
        ok(r.get('isError'), p, f'{name} is not for agents', r)
    r = agent.call('exec', argv=[str(p.pale_path), 'apply', '--workspace', str(p.ws)])
    ok(data(r).get('outcome') != 'ok', p, 'nor from inside, by pale itself', r)
    loose = '[sandbox]\nmode = "direct"\npreset = "unrestricted"\n'
    r = agent.call('write', path='pale.toml', content=loose, overwrite=True)
    ok(r.get('isError'), p, 'pale.toml is not written', r)
    r = agent.call('edit', path='pale.toml', old='make test', new='make evil')
    ok(r.get('isError'), p, 'nor edited', r)
    r = agent.call('write', path='.git/hooks/pre-commit', content='#!/bin/sh\necho evil\n')
    ok(r.get('isError'), p, 'a git hook is not written', r)
    # A command may write them: into the stage, which nobody acts on, and of which they are never applied unasked.
    line = f"printf '{loose}' >pale.toml; echo 'exit 1' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo BOOTED"
    r = agent.call('exec', command=line)
    ok('BOOTED' in said(r), p, 'a command tries both', r)
    r = agent.call('exec', command='cat ~/.ssh/id_rsa')
    ok(data(r).get('outcome') == 'failed', p, 'the policy is as it was', r)
    key = p.home / '.ssh/id_rsa'
    for path in (str(key), '~/.ssh/id_rsa', '../home/.ssh/id_rsa'):
        r = agent.call('read', path=path)
        ok(r.get('isError') and 'CANARY' not in json.dumps(r), p, f'{os.path.basename(path)} by {path.split("/")[0] or "/"}: not read', r)
    r = agent.call('exec', command=f'echo BOOTED; cat {key}; cat ~/.ssh/id_rsa; grep -r CANARY {p.home} {p.base}')
    ok('BOOTED' in said(r) and f'CANARY-KEY-{p.uid}' not in json.dumps(r), p, 'nor by a command', r)
    ok('CANARY' in p.run('cat', key).out.decode(), p, 'twin: the key can be read outside')


def events(p):
    r = p.verb('events', 'list', '-n', '0', '-j')
    try:
        return [json.loads(text) for text in r.out.decode().splitlines()] if b'\n{' in r.out else json.loads(r.out)
    except ValueError:
        return []


def case_agent(p):
    before = project(p)
    home = digest(p.home, p.outside)
    agent = Agent(p, '--staged')
    mend(p, agent)
    serve(p, agent)
    r = agent.call('diff')
    ok('-\tfor (int i = 1;' in said(r) and '+\tfor (int i = 0;' in said(r), p, 'the diff shows the change', r)
    stage = data(r).get('stage') or data(agent.call('diff', stat=True)).get('stage')
    misbehave(p, agent)
    now = {name: digest(p.ws / name) if (p.ws / name).is_dir() else (p.ws / name).read_bytes()
           for name in os.listdir(p.ws)}
    ok(now == before, p, 'the host has seen none of it', sorted(set(now) ^ set(before)))
    ok(digest(p.home, p.outside) == home, p, 'nor anything outside of the workspace')
    ok(agent.close() == 0, p, 'the server ends with its client')
    told(p)
    apply(p, stage)
    p.no_config()


def told(p):
    """What was refused is in the events."""
    log = events(p)
    text = json.dumps(log)
    kinds = [event.get('kind') for event in log]
    ok('apply.refused' in kinds, p, 'events: the apply', kinds)
    denied = json.dumps([event for event in log if event.get('kind') == 'sandbox.denied'])
    for what in ('pale.toml', 'pre-commit', '.ssh'):
        ok(what in denied, p, f'events: {what}', text[-3000:])


def apply(p, stage):
    """The user has the last word."""
    r = p.verb('stages', 'list', '-j')
    names = [row['stage'] for row in json.loads(r.out or b'[]')]
    ok(len(names) == 1 and (not stage or stage in names), p, 'one stage waits', r)
    r = p.verb('diff', '--stage', names[0], '--name-status')
    ok(b'sum.c' in r.out, p, 'the user sees what is in it', r)
    r = p.verb('apply', '--stage', names[0])
    ok(b'applied' in r.out + r.err, p, 'and applies it', r)
    ok('int i = 0' in (p.ws / 'sum.c').read_text() and (p.ws / 'docs/NOTES.md').read_text() == 'mended\n', p,
       'now the host has it', r)
    ok((p.ws / 'pale.toml').read_text() == FILES['pale.toml'] and not (p.ws / '.git/hooks/pre-commit').exists(), p,
       'pale.toml and the hook are left out', r)
    ok(b'pale.toml' in r.out + r.err and b'pre-commit' in r.out + r.err, p, 'which is said', r)
    r = p.run('make', 'test', cwd=p.ws)
    ok(r.code == 0 and b'sum is 15' in r.out, p, 'the project builds and passes on the host', r)
    r = p.run('git', 'status', '--porcelain', cwd=p.ws)
    ok(sorted(r.out.split()) == [b'??', b'M', b'docs/', b'sum.c'], p, 'two things have changed', r)


def case_agent_direct(p):
    """Without a stage the boundary itself stands before what programs of the host act on."""
    project(p)
    agent = Agent(p)
    r = agent.call('exec', command='echo x >>pale.toml; echo y >.git/hooks/pre-commit; echo z >fine; echo BOOTED')
    ok('BOOTED' in said(r) and (p.ws / 'fine').read_text() == 'z\n', p, 'a command writes where it may', r)
    ok((p.ws / 'pale.toml').read_text() == FILES['pale.toml'] and not (p.ws / '.git/hooks/pre-commit').exists(), p,
       'and not to pale.toml or a hook', r)
    refused = json.dumps(data(r).get('violations', []))
    ok('pale.toml' in refused and 'pre-commit' in refused, p, 'which it is told', r)
    r = agent.call('write', path='.git/hooks/pre-commit', content='x')
    ok(r.get('isError') and not (p.ws / '.git/hooks/pre-commit').exists(), p, 'nor does a tool', r)
    agent.close()
    denied = json.dumps([event for event in events(p) if event.get('kind') == 'sandbox.denied'])
    ok('pale.toml' in denied and 'pre-commit' in denied, p, 'the events have both', denied)
    p.no_config()


main(case_agent, case_agent_direct, uids=(1000,))
