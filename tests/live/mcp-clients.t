#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pale mcp with clients of others: the official SDK's, and the inspector's command line."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from live import *

CLIENTS = TOP / 'build/mcp-clients'
SDK = TOP / 'tests/mcp/client.mjs'
INSPECTOR = CLIENTS / 'node_modules/@modelcontextprotocol/inspector-cli/build/cli.js'
NODE = shutil.which('node')


def missing():
    if not NODE:
        return 'node is not installed'
    if not INSPECTOR.exists():
        return 'no MCP clients in build/mcp-clients; tools/deps test installs them'
    return None


def project(p):
    """Files for the tools to work on."""
    shutil.rmtree(p.ws)
    p.mkdir(p.ws)
    p.mkdir(p.ws / 'sub')
    p.write(p.ws / 'hello.txt', 'one line\n')
    p.write(p.ws / 'greet.sh', 'echo "hello $1"\n')
    p.write(p.ws / 'pale.toml', '[commands.greet]\nargv = ["sh", "greet.sh"]\n')


def server(p, *args):
    return p.argv([p.pale_path, 'mcp', '--workspace', p.ws, *args])


def answer(p, line):
    """What the client asks of us, who are outside."""
    if line['ask'] == 'running':
        return 'yes' if wait_for(lambda: marked(line['mark']), 20) else 'no'
    if line['ask'] == 'gone':
        return 'yes' if wait_for(lambda: not marked(line['mark']), 20) else 'no'
    if line['ask'] == 'config':
        p.config(line['text'])
    return ''


def sdk(p, scenario, *args):
    reason = missing()
    if reason:
        return skip(p, reason)
    project(p)
    p.config('# nothing yet\n')
    env = dict(p.env, PALE_MCP_CLIENTS=str(CLIENTS), MARK=mark())
    proc = subprocess.Popen([NODE, SDK, scenario, *server(p, *args)], env=env, cwd=p.ws, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done = False
    for raw in proc.stdout:
        line = json.loads(raw)
        if 'ok' in line:
            ok(line['ok'], p, line['name'], line.get('why'))
        elif 'ask' in line:
            proc.stdin.write(answer(p, line).encode() + b'\n')
            proc.stdin.flush()
        done = done or 'done' in line
    err = proc.stderr.read()
    ok(proc.wait(30) == 0 and done, p, 'the client came to its end', err.decode(errors='replace'))
    p.no_config()


def case_sdk_tools(p):
    sdk(p, 'tools')


def case_sdk_tools_staged(p):
    sdk(p, 'tools', '--staged')
    if not missing():
        ok((p.ws / 'hello.txt').read_text() == 'one line\n' and not (p.ws / 'new').exists(), p,
           'the host has seen none of it', sorted(p.ws.iterdir()))


def case_sdk_progress(p):
    sdk(p, 'progress')


def case_sdk_cancel_MC09(p):
    sdk(p, 'cancel')


def case_sdk_changed(p):
    sdk(p, 'changed')


def case_sdk_resources(p):
    sdk(p, 'resources')


def case_sdk_versions_MC07(p):
    sdk(p, 'versions')


def inspect(p, *args):
    """The inspector starts the server itself, asks one thing, and prints the answer."""
    config = {'mcpServers': {'pale': {'command': server(p)[0], 'args': [str(a) for a in server(p)[1:]], 'env': p.env}}}
    file = p.write(p.base / 'inspector.json', json.dumps(config))
    # It finds its own package.json only from a folder beside it.
    return subprocess.run([NODE, INSPECTOR, '--cli', '--config', file, '--server', 'pale', *args],
                          cwd=INSPECTOR.parent, env=p.env, capture_output=True, timeout=60)


def parsed(r):
    try:
        return json.loads(r.stdout)
    except ValueError:
        return {}


def case_inspector(p):
    reason = missing()
    if reason:
        return skip(p, reason)
    project(p)
    r = inspect(p, '--method', 'tools/list')
    names = [t.get('name') for t in parsed(r).get('tools', [])]
    ok(len(names) == 12 and 'exec' in names and 'apply' not in names, p, 'tools/list', r)
    r = inspect(p, '--method', 'tools/call', '--tool-name', 'exec', '--tool-arg', 'command=echo "in here"; exit 4')
    got = parsed(r).get('structuredContent', {})
    ok(got.get('exit_code') == 4 and 'in here' in got.get('output', ''), p, 'tools/call exec', r)
    r = inspect(p, '--method', 'tools/call', '--tool-name', 'read', '--tool-arg', 'path=hello.txt')
    ok('one line' in r.stdout.decode() and not parsed(r).get('isError'), p, 'tools/call read', r)
    r = inspect(p, '--method', 'resources/list')
    uris = [t.get('uri') for t in parsed(r).get('resources', [])]
    ok('pale://status' in uris and 'pale://stage/diff' in uris, p, 'resources/list', r)
    r = inspect(p, '--method', 'resources/read', '--uri', 'pale://commands')
    ok('greet' in r.stdout.decode(), p, 'resources/read', r)
    r = inspect(p, '--method', 'prompts/list')
    ok('sandbox' in r.stdout.decode(), p, 'prompts/list', r)


def case_nothing_is_left(p):
    """Clients that have gone leave no session behind."""
    left = wait_for(lambda: not marked(str(p.pale_path)), 10)
    ok(left, p, 'no process of pale', [(pid, open(f'/proc/{pid}/cmdline').read()) for pid in marked(str(p.pale_path))])


main(case_sdk_tools, case_sdk_tools_staged, case_sdk_progress, case_sdk_cancel_MC09, case_sdk_changed,
     case_sdk_resources, case_sdk_versions_MC07, case_inspector, case_nothing_is_left, uids=(1000,))
