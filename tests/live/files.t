#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""File tools on a real kernel: what they do, what they refuse, and that they see no more than a
command does."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
import struct
from live import *

KEPT = ('file', 'probe')
ACL, DEFAULT_ACL = 'system.posix_acl_access', 'system.posix_acl_default'


def clear(p):
    p.no_config()
    for item in p.ws.iterdir():
        if item.name in KEPT:
            continue
        if item.is_dir() and not item.is_symlink():
            shutil.rmtree(item)
        else:
            item.unlink()
    p.write(p.outside / 'canary', 'canary OUTSIDE\n')


def tool_run(p, name, *args, **kw):
    at = list(args)
    options = list(ENGINE_OPTIONS if ENGINE else ())
    if '--' in at:
        i = at.index('--')
        at[i:i] = options
    else:
        at += options
    return p.verb('file', name, *at, **kw)


def asked(p, name, *args, **kw):
    """The JSON of it."""
    r = tool_run(p, name, '-j', *args, **kw)
    answer = r.json()
    answer['code'] = (answer.get('error') or {}).get('code')
    answer['result'] = r
    return answer


def outside(p):
    return digest(p.home, p.outside) + str(sorted(set(os.listdir(p.base)) - {'state'}))


def case_there_and_back(p):
    clear(p)
    r = asked(p, 'write', 'd/e/new.txt', data=b'one\ntwo\nthree\n')
    ok(r['code'] is None and r['created'] is True and r['bytes'] == 14 and r['path'] == 'd/e/new.txt' and
       r['digest'] == hashlib.sha256(b'one\ntwo\nthree\n').hexdigest(), p, 'write makes a file and its folders', r['result'])
    ok((p.ws / 'd/e/new.txt').read_bytes() == b'one\ntwo\nthree\n' and (p.ws / 'd/e/new.txt').stat().st_uid == p.owner,
       p, 'it is on the host, and its owner is the workspace\'s')
    r = asked(p, 'read', 'd/e/new.txt')
    ok(r['text'] == 'one\ntwo\nthree\n' and r['total_lines'] == 3 and r['next_offset'] is None and r['utf8'] is True,
       p, 'read gives it back', r['result'])
    r = asked(p, 'edit', 'd/e/new.txt', '--old', 'two', '--new', 'TWO')
    ok(r['count'] == 1 and r['diff'] == '@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n' and
       (p.ws / 'd/e/new.txt').read_bytes() == b'one\nTWO\nthree\n', p, 'edit changes it and shows how', r['result'])
    r = asked(p, 'grep', 'T.O')
    ok([(m['path'], m['line'], m['text']) for m in r['matches']] == [('d/e/new.txt', 2, 'TWO')], p, 'grep finds it', r['result'])
    r = asked(p, 'glob', '**/*.txt')
    ok(r['paths'] == ['d/e/new.txt'], p, 'glob finds it', r['result'])
    r = tool_run(p, 'read', 'd/e/new.txt', '--offset', '2', '--limit', '1')
    ok(r.code == 0 and r.out == b'TWO\n' and b'--offset 3' in r.err, p, 'as text, with where to go on', r)
    r = tool_run(p, 'read', 'nothing')
    ok(r.code == 1 and r.out == b'' and b'does not exist' in r.err, p, 'what is not there: 1', r)
    r = tool_run(p, 'read', '--network', 'nonsense', 'file')
    ok(r.code == 125, p, 'what pale cannot run: 125', r)
    r = tool_run(p, 'grep', 'nosuchword')
    ok(r.code == 1 and r.out == b'' and b'match' not in r.err, p, 'no line: 1, and no error is said', r)


def case_paths_FT01(p):
    clear(p)
    before = outside(p)
    p.write(p.ws / 'sub/inner', 'inner\n')
    for path in ('../outside/canary', str(p.outside / 'canary'), f'//{p.outside}/canary', './../outside/canary',
                 'sub/../../outside/canary', str(p.ws) + '/../outside/canary', '/etc/passwd', '/', '..', '/proc/self/environ',
                 f'/proc/self/root/{p.outside}/canary', f'/proc/self/cwd/../outside/canary'):
        for name, more in (('read', ()), ('write', ()), ('edit', ('--old', 'canary', '--new', 'x'))):
            r = asked(p, name, *more, '--', path, data=b'planted')
            ok(r['code'] == 'outside' and r['result'].code == 1 and 'OUTSIDE' not in str(r), p, f'{name} {path}: refused', r['result'])
        for r in (asked(p, 'grep', '--', '.', path), asked(p, 'glob', '--', '*', path)):
            ok(r['code'] == 'outside', p, f'{r["tool"]} {path}: refused', r['result'])
    for path in ('sub//inner', './sub/./inner', 'sub/../sub/inner', str(p.ws / 'sub/inner'), f'//{p.ws}//sub/inner'):
        r = asked(p, 'read', path)
        ok(r.get('text') == 'inner\n', p, f'twin: {path} is read', r['result'])
    r = asked(p, 'read', '')
    ok(r['code'] == 'usage' and r['result'].code == 125, p, 'an empty path is none', r['result'])
    for path in ('sub/inner/', 'file/'):
        r = asked(p, 'read', path)
        ok(r['code'] == 'not_found', p, f'{path}: no folder', r['result'])
    r = asked(p, 'write', 'new/', data=b'x')
    ok(r['code'] == 'bad_path' and not (p.ws / 'new').exists(), p, 'a slash at the end names no file', r['result'])
    ok(outside(p) == before, p, 'nothing outside has changed')


def case_links_FT03(p):
    clear(p)
    p.write(p.ws / 'real/file', 'mine\n')
    p.write(p.outside / 'dir/x', 'OUTSIDE\n')
    before = outside(p)
    for name, to in {'out': '../outside/canary', 'outabs': str(p.outside / 'canary'), 'outdir': '../outside', 'chain': 'outdir',
                     'dangling': 'nowhere', 'dangling-out': '../outside/new', 'loop': 'loop', 'in': 'real/file',
                     'inabs': str(p.ws / 'real/file'), 'indir': 'real', 'ssh': str(p.home / '.ssh/id_rsa')}.items():
        os.symlink(to, p.ws / name)
    for path in ('out', 'outabs', 'outdir/canary', 'chain/canary', 'chain/dir/x', 'ssh', 'dangling-out', 'loop'):
        r = asked(p, 'read', path)
        ok(r['code'] in ('outside', 'not_found') and 'OUTSIDE' not in str(r) and 'CANARY' not in str(r), p, f'read {path}: refused', r['result'])
        r = asked(p, 'write', path, data=b'planted')
        ok(r['code'] == 'outside', p, f'write {path}: refused', r['result'])
    for path in ('outdir/new', 'chain/new', 'outdir/a/b/new', 'dangling/new', 'dangling-out/new', 'outdir/dir/new'):
        r = asked(p, 'write', path, data=b'planted')
        ok(r['code'] in ('outside', 'not_found'), p, f'write {path}: nothing is made', r['result'])
    r = asked(p, 'write', 'dangling', data=b'x')
    ok(r['code'] == 'outside' and not (p.ws / 'nowhere').exists(), p, 'a link to nothing is not written through', r['result'])
    for path in ('in', 'inabs', 'indir/file'):
        r = asked(p, 'read', path)
        ok(r.get('text') == 'mine\n', p, f'twin: {path} stays inside', r['result'])
    r = asked(p, 'write', 'in', data=b'by link\n')
    ok(r['code'] is None and (p.ws / 'real/file').read_bytes() == b'by link\n' and (p.ws / 'in').is_symlink(), p,
       'a link inside is written through, and stays one', r['result'])
    r = asked(p, 'grep', 'OUTSIDE|CANARY')
    ok(r['code'] == 'no_match', p, 'grep follows none', r['result'])
    r = asked(p, 'glob', '**')
    ok(not any('canary' in f or f.endswith('/x') for f in r['paths']), p, 'glob follows none', r['result'])
    r = asked(p, 'grep', '.', 'outdir')
    ok(r['code'] == 'outside', p, 'nor when it is asked to', r['result'])
    ok(outside(p) == before, p, 'nothing outside has changed')


def case_hard_links_FT05(p):
    clear(p)
    for name in ('hard', 'hard2'):
        os.link(p.outside / 'canary', p.ws / name)
    if os.geteuid() == 0:
        p.own(p.outside / 'canary')
    before = digest(p.outside)
    r = asked(p, 'read', 'hard')
    ok(r.get('text') == 'canary OUTSIDE\n', p, 'a name in the workspace is readable whatever other names it has', r['result'])
    r = asked(p, 'edit', 'hard', '--old', 'OUTSIDE', '--new', 'changed')
    ok(r['code'] is None and (p.ws / 'hard').read_text() == 'canary changed\n', p, 'edit changes this name', r['result'])
    r = asked(p, 'write', 'hard2', data=b'other\n')
    ok(r['code'] is None and (p.ws / 'hard2').read_text() == 'other\n', p, 'and so does write', r['result'])
    ok(digest(p.outside) == before, p, 'the file outside is as it was')


def case_bytes_FT07(p):
    clear(p)
    p.write(p.ws / 'short', 'short\n')
    for path in (b'\xff', b'a\xc0\xaf', b'\xed\xa0\x80', b'sho\xffrt', b'short\x80', b'a' * 70000):
        for name in ('read', 'write'):
            r = asked(p, name, '--', path, data=b'x')
            ok(r['code'] == 'usage' and r['result'].code == 125, p, f'{name} {path[:12]}: refused', r['result'])
    r = asked(p, 'read', 'x' * 300)
    ok(r['code'] in ('bad_path', 'not_found'), p, 'a name that is too long', r['result'])
    r = asked(p, 'write', 'x' * 300, data=b'x')
    ok(r['code'] == 'bad_path', p, 'nor is one made', r['result'])
    for path in ('new\nline', 'tab\tx', 'esc\x1b[31m', 'd\n/x'):
        r = asked(p, 'write', path, data=b'x')
        ok(r['code'] == 'bad_path', p, f'{path!r} is not made', r['result'])
    p.write(p.ws / 'there\nalready', 'x\n')
    r = tool_run(p, 'grep', 'x', 'there\nalready')
    ok(r.code == 0 and r.out.count(b'\n') == 1 and b'there\\x0aalready' in r.out, p, 'one that is there is told on one line', r)
    p.write(p.ws / os.fsdecode(b'odd\xff'), 'odd\n')
    r = asked(p, 'grep', 'odd')
    ok(r['result'].code == 0, p, 'grep bears names that are no UTF-8', r['result'])
    ok((p.ws / 'short').read_text() == 'short\n' and sorted(os.listdir(p.ws)) == sorted({*KEPT, 'short', 'there\nalready', os.fsdecode(b'odd\xff')} & set(os.listdir(p.ws))),
       p, 'nothing else was made')


PROTECTED = ('pale.toml', '.paleignore', '.envrc', '.bashrc', '.mcp.json', '.claude/settings.json', '.vscode/tasks.json', '.git/hooks/pre-commit',
             '.git/config', '.git/config.worktree', 'PALE.TOML', '.GIT/config', '.Git/Hooks/x', '.gıt/config', '.gİt/config', '.VSCODE/x', 'pale.toml.',
             'pale.toml ', '.git\u200c/config', '.gi\u0301t/hooks/x', 'git~1/config', '．git/config', '.ENVRC', './/.git//hooks/x', 'sub/../.envrc')


def case_protected_FT09(p):
    clear(p)
    p.mkdir(p.ws / 'sub')
    for d in ('.git', '.git/hooks', '.git/objects', '.git/refs'):
        p.mkdir(p.ws / d)
    p.write(p.ws / '.git/HEAD', 'ref: refs/heads/main\n')
    p.write(p.ws / '.git/config', '[core]\n')
    p.write(p.ws / '.bashrc', 'true\n')
    p.run('true')
    before = digest(p.ws)
    for path in PROTECTED:
        r = asked(p, 'write', path, data=b'evil\n')
        v = r['violations'][0] if r.get('violations') else {}
        ok(r['code'] == 'protected' and r['result'].code == 1 and v.get('rule') == 'protected path' and not r['events'] and
           'protected' in r['error']['message'] and r['error']['hint'], p, f'write {path}: refused', r['result'])
    for path in ('.git/config', '.bashrc'):
        r = asked(p, 'edit', path, '--old', 'r', '--new', 'x')
        ok(r['code'] == 'protected', p, f'edit {path}: refused', r['result'])
        r = asked(p, 'read', path)
        ok(r['code'] is None, p, f'but {path} can be read', r['result'])
    os.symlink('.git/hooks', p.ws / 'h')
    r = asked(p, 'write', 'h/post-commit', data=b'evil')
    ok(r['code'] == 'protected', p, 'nor by a link', r['result'])
    (p.ws / 'h').unlink()
    ok(digest(p.ws) == before, p, 'nothing was made, and nothing changed')
    for path in ('sub/pale.toml', '.gitignore', '.git/notes', 'pale.tomls'):
        r = asked(p, 'write', path, data=b'# fine\n')
        ok(r['code'] is None and (p.ws / path).exists(), p, f'twin: {path} is written', r['result'])
    r = p.verb('events', '--kind', 'sandbox.denied', '-n', '1000', '-j')
    ok(r.out.count(b'/pale.toml') >= 1 and b'hooks/pre-commit' in r.out, p, 'the refusals are in the events', r)


def case_special_files_FT11(p):
    clear(p)
    os.mkfifo(p.ws / 'fifo')
    socket_at(p.ws / 'sock').close()  # one that somebody listens at is hidden
    for name, what in (('fifo', 'fifo'), ('sock', 'socket'), ('.', 'folder')):
        for t, more in (('read', ()), ('write', ()), ('edit', ('--old', 'a', '--new', 'b'))):
            r = asked(p, t, name, *more, data=b'x')
            ok(r['code'] == 'not_regular' and what in r['error']['message'] and r['result'].seconds < 20, p, f'{t}: {name} is a {what}', r['result'])
    r = asked(p, 'grep', '.', 'fifo')
    ok(r['code'] == 'not_regular', p, 'grep waits for no fifo', r['result'])
    p.write(p.ws / 'found', 'here\n')
    r = asked(p, 'grep', 'here')
    ok(r['code'] is None and len(r['matches']) == 1 and r['result'].seconds < 20, p, 'nor in a folder', r['result'])
    if p.is_root and has('root'):
        os.mknod(p.ws / 'null', 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        r = asked(p, 'read', 'null')
        ok(r['code'] == 'not_regular' and 'device' in r['error']['message'], p, 'a device', r['result'])
        (p.ws / 'null').unlink()
    if has('whole') and not (p.is_root and not has('root')):
        r = asked(p, 'read', '--filesystem', 'unrestricted', '/proc/self/environ')
        ok(r['result'].code in (0, 1) and 'XDG_STATE' not in str(r.get('text', '')), p, "/proc/self/environ tells nothing of the caller's", r['result'])
        r = asked(p, 'read', '--filesystem', 'unrestricted', '/proc/version')
        ok('Linux' in r.get('text', ''), p, 'twin: files that say they are empty are read', r['result'])


def socket_at(path):
    import socket
    s = socket.socket(socket.AF_UNIX)
    s.bind(str(path))
    return s


def case_changing_files_FT11(p):
    clear(p)
    big = p.write(p.ws / 'grows', 'line\n' * 1000)
    w = subprocess.Popen(['sh', '-c', 'while :; do head -c 100000 /dev/zero | tr "\\0" "x" >>"$1"; : >"$2"; echo y >>"$2"; done', 'sh', big, p.write(p.ws / 'shrinks', 'x' * 100000)])
    try:
        for i in range(10):
            for name in ('grows', 'shrinks'):
                r = asked(p, 'read', name)
                ok(r['result'].code == 0 and len(r['text']) < 300000 and r['result'].seconds < 25, p, f'{name} while it changes, {i}', r['result'])
        r = asked(p, 'grep', 'line', 'grows')
        ok(r['result'].code == 0, p, 'grep, too', r['result'])
    finally:
        w.kill()
        w.wait()
        big.unlink()


def case_edits_FT13(p):
    clear(p)
    for what, text, options, code, count in (
            ('absent', 'one\n', ('--old', 'zzz', '--new', 'x'), 'no_match', 0),
            ('several', 'a b a\na\n', ('--old', 'a', '--new', 'x'), 'ambiguous', 3),
            ('overlapping', 'aaa\n', ('--old', 'aa', '--new', 'x'), 'ambiguous', 2),
            ('empty', 'a\n', ('--old', '', '--new', 'x'), 'bad_text', None),
            ('the same', 'a\n', ('--old', 'a', '--new', 'a'), 'bad_text', None),
            ('binary', 'a\0b', ('--old', 'a', '--new', 'x'), 'binary', None),
            ('not there', None, ('--old', 'a', '--new', 'x'), 'not_found', None)):
        if text is not None:
            p.write(p.ws / 'e', text)
        else:
            (p.ws / 'e').unlink()
        r = asked(p, 'edit', 'e', *options)
        ok(r['code'] == code and r['result'].code == 1 and r.get('count') == count, p, f'{what}: {code}', r['result'])
        ok(text is None or (p.ws / 'e').read_text() == text, p, f'{what}: the file is as it was')
    p.write(p.ws / 'e', 'a\r\nb\r\n')
    r = asked(p, 'edit', 'e', '--old', 'a\nb', '--new', 'x')
    ok(r['code'] == 'no_match' and 'CRLF' in r['error']['hint'], p, 'other line ends are hinted at', r['result'])
    p.write(p.ws / 'e', 'a b a\na\n', 0o750)
    r = asked(p, 'edit', 'e', '--all', '--old', 'a', '--new', 'cc')
    ok(r['count'] == 3 and (p.ws / 'e').read_text() == 'cc b cc\ncc\n' and (p.ws / 'e').stat().st_mode & 0o7777 == 0o750, p,
       '--all replaces all, and the mode stays', r['result'])
    r = asked(p, 'edit', 'e', '--old', 'b', '--new', '', '--digest', '0' * 64)
    ok(r['code'] == 'changed' and r['digest'] == hashlib.sha256(b'cc b cc\ncc\n').hexdigest(), p, 'another digest: changed', r['result'])
    r = asked(p, 'edit', 'e', '--old', 'b ', '--new', '', '--digest', r['digest'])
    ok(r['code'] is None and (p.ws / 'e').read_text() == 'cc cc\ncc\n', p, 'its own: done', r['result'])
    r = asked(p, 'write', 'e', '--digest', '1' * 64, data=b'x')
    ok(r['code'] == 'changed' and (p.ws / 'e').read_text() == 'cc cc\ncc\n', p, 'write asks as well', r['result'])
    r = asked(p, 'write', 'gone', '--digest', '1' * 64, data=b'x')
    ok(r['code'] == 'changed' and not (p.ws / 'gone').exists(), p, 'and what is gone has changed', r['result'])


def case_grep_FT15(p):
    clear(p)
    p.write(p.ws / 'a.txt', 'alpha\nbeta\ngamma\ndelta\n')
    p.write(p.ws / 'b.md', 'beta too\n')
    p.write(p.ws / 'bin', b'beta\0\n')
    p.write(p.ws / 'evil', b'a' * 3000000 + b'b\n')
    p.write(p.ws / 'ignored/x', 'beta\n')
    p.write(p.ws / '.gitignore', 'ignored/\n*.log\n')
    p.write(p.ws / 'x.log', 'beta\n')
    p.write(p.ws / 'deep/.gitignore', '!keep.log\n')
    p.write(p.ws / 'deep/keep.log', 'beta\n')
    r = asked(p, 'grep', '^beta')
    ok([m['path'] for m in r['matches']] == ['a.txt', 'b.md', 'deep/keep.log'] and r['binary_files'] == 1 + (p.ws / 'probe').exists(), p,
       'in order, without ignored and binary files', r['result'])
    r = asked(p, 'grep', '^beta', '--no-ignore')
    ok([m['path'] for m in r['matches']] == ['a.txt', 'b.md', 'deep/keep.log', 'ignored/x', 'x.log'], p, 'with ignored ones', r['result'])
    r = asked(p, 'grep', '^beta', 'deep')
    ok([m['path'] for m in r['matches']] == ['deep/keep.log'] , p, 'rules from above hold below, and those below decide', r['result'])
    r = asked(p, 'grep', 'BETA', '--ignore-case', '--glob', '*.md')
    ok([m['path'] for m in r['matches']] == ['b.md'], p, '--glob and --ignore-case', r['result'])
    r = asked(p, 'grep', 'beta', '--glob', '!*.md', '--glob', '!deep/**')
    ok([m['path'] for m in r['matches']] == ['a.txt'], p, '--glob with !', r['result'])
    r = tool_run(p, 'grep', 'beta', 'a.txt', '--context', '1')
    ok(r.out == b'a.txt-1-alpha\na.txt:2:beta\na.txt-3-gamma\n', p, '--context', r)
    r = asked(p, 'grep', '.', '--max', '2')
    ok(r['matched'] == 2 and r['more'] is True, p, '--max, and that there is more', r['result'])
    begin = time.monotonic()
    for pattern in ('(a+)+$', '(a|aa)+$', '(a*)*c', '(.*a){20}c'):
        r = asked(p, 'grep', pattern, 'evil', '--timeout', '25s')
        ok(r['code'] == 'no_match', p, f'{pattern}: an answer', r['result'])
    ok(time.monotonic() - begin < 60, p, f'in time: {time.monotonic() - begin:.1f} s')
    for pattern in ('(', '[', 'a{2,1}', '*', '\\1', '((((x{1000}){1000}){1000}){1000})', '[[:nope:]]'):
        r = asked(p, 'grep', pattern)
        ok(r['code'] == 'bad_pattern' and r['result'].code == 1, p, f'{pattern}: refused', r['result'])
    r = asked(p, 'grep', 'x' * 5000)
    ok(r['result'].code == 125, p, 'a huge pattern is refused', r['result'])
    r = asked(p, 'grep', '--fixed', 'a{2,1}')
    ok(r['code'] == 'no_match', p, 'twin: as plain text it is fine', r['result'])
    for i in range(600):
        p.write(p.ws / f'many/d{i % 7}/f{i:03}', f'number {i}\n' + ('x' * 1000 + '\n'))
    r = asked(p, 'grep', 'number|x{1000}', 'many', '--max', '100000')
    want = sorted((f'many/d{i % 7}/f{i:03}' for i in range(600)))
    ok(sorted({m['path'] for m in r['matches']}) == want[:len({m['path'] for m in r['matches']})] and
       r['matches'] == sorted(r['matches'], key=lambda m: (m['path'].split('/'), m['line'])), p, 'many files, by several processes: in order', r['result'])
    ok(len(r['result'].out) < 1500000 and (len(r['matches']) == 1200 or r.get('more')), p, f'and bounded: {len(r["result"].out)} bytes, {len(r["matches"])} lines')
    again = asked(p, 'grep', 'number|x{1000}', 'many', '--max', '700')
    ok(again['matches'] == r['matches'][:len(again['matches'])] and again['matched'] == 700, p, 'the same again, and a part is its beginning', again['result'])


def case_glob_FT17(p):
    clear(p)
    for i, name in enumerate(('a.c', 'b.h', 'src/c.c', 'src/deep/d.c', '.hidden', 'src/x.o')):
        os.utime(p.write(p.ws / name, 'x'), (i + 1, i + 1))
    p.write(p.ws / '.gitignore', '*.o\n')
    os.utime(p.ws / '.gitignore', (100, 100))
    for pattern, want in (('*.c', ['a.c']), ('**/*.c', ['src/deep/d.c', 'src/c.c', 'a.c']), ('**/*.{c,h}', ['src/deep/d.c', 'src/c.c', 'b.h', 'a.c']),
                          ('src/?.c', ['src/c.c']), ('src/[!c].*', []), ('.*', ['.gitignore', '.hidden']), ('src/*/', ['src/deep']), ('**/x.o', [])):
        r = asked(p, 'glob', pattern)
        ok(r['paths'] == want and r['result'].code == (0 if want else 1), p, f'{pattern}, the newest first', r['result'])
    r = asked(p, 'glob', '**/*.c', '--sort', 'name')
    ok(r['paths'] == ['a.c', 'src/c.c', 'src/deep/d.c'], p, 'by name', r['result'])
    r = asked(p, 'glob', '*', 'src', '--no-ignore', '--sort', 'name')
    ok(r['paths'] == ['src/c.c', 'src/x.o'], p, 'below a folder, ignored ones, too', r['result'])
    r = asked(p, 'glob', '**', '--max', '2')
    ok(len(r['paths']) == 2 and r['more'] is True, p, '--max', r['result'])
    for pattern in ('../*', 'a/../b', '/etc/*', '{a,b}' * 15, '', '[a', 'a\\'):
        r = asked(p, 'glob', '--', pattern)
        ok(r['code'] == 'bad_pattern', p, f'{pattern[:20]}: refused', r['result'])
    r = asked(p, 'glob', '*' * 100000)
    ok(r['result'].code == 125, p, 'a huge pattern is refused', r['result'])
    r = asked(p, 'glob', '*a*a*a*a*a*a*a*a*a*a*b')
    ok(r['code'] == 'no_match' and r['result'].seconds < 20, p, 'many stars take no time', r['result'])


def access_list(user, may=6):
    """As the kernel has it: one user besides owner, group and others."""
    entries = [(1, 6, -1), (2, may, user), (4, 0, -1), (16, 6, -1), (32, 0, -1)]
    return struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *e) for e in entries)


def case_replaced_files_keep_attributes(p):
    clear(p)
    known, unknown = p.uid or 1000, 54321
    for name, user in (('edited', known), ('written', known), ('strange', unknown), ('familiar', unknown)):
        p.write(p.ws / name, 'old\n', 0o600)
        os.setxattr(p.ws / name, 'user.note', b'n')
        os.setxattr(p.ws / name, ACL, access_list(user, 4 if name == 'strange' else 6))
    p.write(p.ws / 'bare', 'old\n', 0o640)
    os.setxattr(p.ws, DEFAULT_ACL, access_list(unknown))
    for verb, name, data in (('edit', 'edited', None), ('write', 'written', b'new\n')):
        r = asked(p, verb, name, *(('--old', 'old', '--new', 'new') if verb == 'edit' else ()), data=data)
        at = p.ws / name
        ok(r['code'] is None and at.read_text() == 'new\n' and os.getxattr(at, 'user.note') == b'n', p, f'{verb}: the note stays', r['result'])
        ok(os.getxattr(at, ACL) == access_list(known) and at.stat().st_mode & 0o777 == 0o660, p, f'{verb}: the access list as well', r['result'])
    r = asked(p, 'write', 'bare', data=b'new\n')
    ok(r['code'] is None and os.listxattr(p.ws / 'bare') == [] and (p.ws / 'bare').stat().st_mode & 0o777 == 0o640, p,
       'one without a list does not get that of new files', r['result'])
    r = asked(p, 'write', 'familiar', data=b'new\n')
    ok(r['code'] is None and os.getxattr(p.ws / 'familiar', ACL) == access_list(unknown) and (p.ws / 'familiar').stat().st_mode & 0o777 == 0o660, p,
       'one with that list keeps it, whoever it names', r['result'])
    r = asked(p, 'write', 'strange', data=b'new\n')
    kept = os.getxattr(p.ws / 'strange', ACL) == access_list(unknown, 4)
    text = (p.ws / 'strange').read_text()
    ok(kept and (text == 'new\n' if r['code'] is None else text == 'old\n' and 'no id here' in r['error']['message']), p,
       'a list of strangers is kept, or the file is not replaced', r['result'])
    ok(ENGINE or (r['code'] is None) == (p.uid != 1000), p, 'the latter only where they have no ids', r['result'])
    os.removexattr(p.ws, DEFAULT_ACL)


def case_writes_FT19(p):
    clear(p)
    p.write(p.ws / 'run.sh', '#!/bin/sh\n', 0o755)
    p.write(p.ws / 'suid', 'x', 0o755)
    os.chmod(p.ws / 'suid', 0o6755)
    p.write(p.ws / 'closed', 'x', 0o600)
    r = asked(p, 'write', 'run.sh', data=b'#!/bin/sh\ntrue\n')
    ok(r['code'] is None and not r['created'] and (p.ws / 'run.sh').stat().st_mode & 0o7777 == 0o755, p, 'a program stays one', r['result'])
    r = asked(p, 'write', 'suid', data=b'y')
    ok(r['code'] is None and (p.ws / 'suid').stat().st_mode & 0o7777 == 0o755, p, 'but gets no set-uid bit', r['result'])
    r = asked(p, 'write', 'closed', data=b'y')
    ok(r['code'] is None and (p.ws / 'closed').stat().st_mode & 0o7777 == 0o600, p, 'what is closed stays closed', r['result'])
    for mask, mode, dmode in ((0o022, 0o644, 0o755), (0o077, 0o600, 0o700), (0, 0o666, 0o777)):
        r = p.run('sh', '-c', f'umask {mask:o}; echo x | "$@"', 'sh', p.pale_path, 'file', 'write', *(ENGINE_OPTIONS if ENGINE else ()), f'm{mask}/new')
        ok(r.code == 0 and (p.ws / f'm{mask}/new').stat().st_mode & 0o7777 == mode and (p.ws / f'm{mask}').stat().st_mode & 0o7777 == dmode, p,
           f'umask {mask:o}: the file and its folder', r)
    r = asked(p, 'write', 'm0', data=b'x')
    ok(r['code'] == 'not_regular' and (p.ws / 'm0').is_dir(), p, 'a folder is not overwritten', r['result'])
    r = asked(p, 'write', 'run.sh/x', data=b'x')
    ok(r['result'].code == 1 and (p.ws / 'run.sh').is_file(), p, 'nor is a file made a folder', r['result'])
    r = asked(p, 'write', 'empty', data=b'')
    ok(r['code'] is None and (p.ws / 'empty').read_bytes() == b'', p, 'nothing can be written', r['result'])
    ok(not [n for n in os.listdir(p.ws) if n.startswith('.pale-')], p, 'nothing temporary is left')
    r = asked(p, 'write', 'no', '--filesystem', 'readonly', data=b'x')
    v = r['violations'][0] if r.get('violations') else {}
    ok(r['code'] == 'readonly' and v.get('op') == 'write' and v.get('path') == str(p.ws / 'no') and 'filesystem' in v.get('rule', ''), p,
       'a workspace that can only be read', r['result'])
    ok(not (p.ws / 'no').exists(), p, 'and nothing was written')


def case_rule_about_a_file(p):
    """What a rule opens for commands is open for tools: one file, whose folder is not."""
    clear(p)
    notes = p.write(p.base / 'alone/notes', 'one\ntwo\n')
    other = p.write(p.base / 'alone/other', 'x')
    before = notes.stat().st_ino
    rule = ('--write', str(notes))
    r = p.pale(*rule, '--', 'sh', '-c', f'echo BOOTED; echo three >>{notes}')
    ok(r.booted and notes.read_text() == 'one\ntwo\nthree\n', p, 'a command writes it', r)
    for text in ('longer than it was before\n', 'short\n', '', 'again\n'):
        r = asked(p, 'write', str(notes), *rule, data=text.encode())
        ok(r['code'] is None and notes.read_text() == text, p, f'write of {len(text)} bytes', r['result'])
    r = asked(p, 'edit', str(notes), '--old', 'again', '--new', 'once more', *rule)
    ok(r['code'] is None and notes.read_text() == 'once more\n' and notes.stat().st_ino == before, p, 'edit', r['result'])
    r = asked(p, 'write', str(notes), '--read', str(notes), data=b'evil')
    ok(r['code'] == 'readonly' and notes.read_text() == 'once more\n', p, 'where it can only be read: refused', r['result'])
    r = asked(p, 'write', str(other), *rule, data=b'evil')
    ok(r['code'] == 'outside' and other.read_text() == 'x', p, 'nor the one beside it', r['result'])
    r = asked(p, 'write', str(notes), '--digest', '0' * 64, *rule, data=b'evil')
    ok(r['code'] == 'changed' and notes.read_text() == 'once more\n', p, 'nor one that has changed', r['result'])
    notes.chmod(0o444)
    r = asked(p, 'write', str(notes), *rule, data=b'evil')
    command = p.pale(*rule, '--', 'sh', '-c', f'echo BOOTED; echo evil >{notes}')
    ok(r['code'] == 'denied' and command.booted and command.code != 0 and notes.read_text() == 'once more\n', p, 'permissions hold as for a command',
       r['result'])


def case_permissions(p):
    """What permissions refuse a command they refuse the tools; and nobody says that the boundary did."""
    clear(p)
    p.write(p.ws / 'kept', 'kept\n', 0o444)
    p.write(p.ws / 'shut', 'shut\n', 0o000)
    p.write(p.ws / 'full/old', 'old\n')
    os.chmod(p.ws / 'full', 0o555)
    before = digest(p.ws)
    for path in ('kept', 'shut', 'full/new', 'full/sub/new'):
        cat = p.sh('--', 'echo new >"$1"', path)
        r = asked(p, 'write', path, data=b'new\n')
        ok(cat.booted and cat.code != 0 and r['code'] == 'denied' and 'permissions' in r['error']['message'], p, f'{path} is not written', r['result'])
        ok(r['violations'] == [], p, 'and no rule is blamed', r['violations'])
    for t, path, more in (('edit', 'kept', ('--old', 'kept', '--new', 'x')), ('edit', 'shut', ('--old', 'shut', '--new', 'x')), ('read', 'shut', ()), ('grep', 'shut', ('.',))):
        r = asked(p, t, *(more if t == 'grep' else ()), path, *(more if t != 'grep' else ()))
        ok(r['result'].code == 1 and r['code'] in ('denied', 'no_match') and not r['violations'], p, f'{t} {path}: no', r['result'])
    ok(digest(p.ws) == before, p, 'all is as it was')
    ok(b'refused by' not in p.verb('why').out, p, 'pale why blames nobody')
    os.chmod(p.ws / 'kept', 0o644)
    os.chmod(p.ws / 'full', 0o755)
    for path in ('kept', 'full/new', 'full/sub/new'):
        r = asked(p, 'write', path, data=b'new\n')
        ok(r['code'] is None and (p.ws / path).read_bytes() == b'new\n', p, f'twin: {path}, when they allow it', r['result'])


def case_literal_FT21(p):
    clear(p)
    for path in ('~', '$HOME', '*', '`id`', '$(id)', 'a b', "it's", '-x', '--all', '{a,b}', '%s', '\\'):
        r = asked(p, 'write', '--', path, data=path.encode())
        ok(r['code'] is None and (p.ws / path).read_bytes() == path.encode(), p, f'{path} is a name', r['result'])
        r = asked(p, 'read', '--', path)
        ok(r.get('text') == path, p, f'{path} is read', r['result'])
    r = asked(p, 'read', '~/.ssh/id_rsa')
    ok(r['code'] == 'not_found', p, 'no ~ is expanded', r['result'])
    r = asked(p, 'read', '*')
    ok(r.get('text') == '*', p, 'no wildcard either', r['result'])


def case_bounds(p):
    clear(p)
    p.write(p.ws / 'long', 'x' * 100000 + '\n' + 'y\n' * 5000)
    r = asked(p, 'read', 'long')
    ok(r['lines'] == 2000 and r['next_offset'] == 2001 and r['cut_lines'] == 1 and r['text'].startswith('xxx') and
       '[…100000 bytes]' in r['text'].split('\n')[0] and len(r['text']) < 10000, p, 'many lines, and a long one', r['result'])
    r = tool_run(p, 'grep', 'xxx', 'long')
    ok(len(r.out) < 700 and r.out.endswith(' […100000 bytes]\n'.encode()), p, 'grep cuts it, too, and says so', r)
    r = asked(p, 'read', 'long', '--offset', '5000')
    ok(r['lines'] == 2 and r['next_offset'] is None, p, 'its end', r['result'])
    r = asked(p, 'read', 'long', '--offset', '9999')
    ok(r['code'] == 'not_found' and '5001' in r['error']['message'], p, 'past its end', r['result'])
    p.write(p.ws / 'wide', ('z' * 3999 + '\n') * 1000)
    r = asked(p, 'read', 'wide')
    ok(r['next_offset'] and len(r['text']) < 300000, p, 'many bytes', r['result'])
    p.write(p.ws / 'bin', b'ab\0cd' * 100)
    r = asked(p, 'read', 'bin')
    ok(r['code'] == 'binary' and r['size'] == 500 and 'text' not in r and r['digest'] == hashlib.sha256(b'ab\0cd' * 100).hexdigest(), p, 'binary', r['result'])
    p.write(p.ws / 'latin', b'caf\xe9\n')
    r = asked(p, 'read', 'latin')
    ok(r['utf8'] is False and r['text'] == 'caf\ufffd\n', p, 'not UTF-8: replaced, and said', r['result'])
    r = tool_run(p, 'read', 'latin')
    ok(r.out == b'caf\xe9\n' and b'UTF-8' in r.err, p, 'as text it is as it is, and said', r)
    with open(p.ws / 'huge', 'wb') as f:
        f.truncate(200 << 20)
        f.seek(0)
        f.write(b'first\n')
    if os.geteuid() == 0:
        p.own(p.ws / 'huge')
    r = asked(p, 'read', 'huge', '--limit', '1')
    ok(r['code'] == 'binary' and r['size'] == 200 << 20 and 'digest' not in r and 'digest_missing' in r, p, 'huge: no digest', r['result'])
    (p.ws / 'huge').unlink()
    r = asked(p, 'read', 'long', '--max-output', '1k')
    ok(r['lines'] == 2000, p, 'max_output does not cut an answer', r['result'])
    for i in range(40):
        p.write(p.ws / f'much{i}', b'ab' * 4000000)
    r = asked(p, 'grep', '(a|b)*[^ab]c$', '--timeout', '20ms')
    ok(r['result'].code == 1 and r['outcome'] == 'timeout' and 'too long' in r['error']['message'], p, 'a search that takes too long is ended', r['result'])
    for i in range(40):
        (p.ws / f'much{i}').unlink()


def case_what_a_command_cannot_FR(p):
    """The same list by a command, by read and by grep."""
    clear(p)
    secret = f'CANARY-KEY-{p.uid}'
    p.write(p.ws / 'shown', 'SHOWN\n')
    p.write(p.ws / 'secret.key', 'SECRET-1\n')
    p.write(p.ws / 'vault/deep', 'SECRET-2\n')
    p.write(p.home / 'dotfile', 'SECRET-3\n')
    options = []
    if has('hidden'):
        options = ['--hide', str(p.ws / 'vault')]
        p.write(p.ws / '.paleignore', '*.key\n')
        os.link(p.ws / 'secret.key', p.ws / 'alias')
        os.link(p.ws / 'vault/deep', p.ws / 'alias2')
    os.symlink(p.home / '.ssh/id_rsa', p.ws / 'sshlink')
    os.symlink('vault/deep', p.ws / 'vaultlink')
    paths = ['~/.ssh/id_rsa', str(p.home / '.ssh/id_rsa'), str(p.home / 'dotfile'), '/etc/shadow', '/etc/sudoers', '/root/.bashrc', 'sshlink',
             str(p.outside / 'canary'), '../outside/canary', '/proc/1/environ', f'/proc/1/root{p.home}/.ssh/id_rsa',
             f'/proc/self/root{p.home}/.ssh/id_rsa', f'/proc/self/cwd/../home/.ssh/id_rsa', f'/proc/{os.getpid()}/environ', str(p.base / 'state'),
             '/dev/mem', '/sys/kernel/debug', '/var/log/syslog']
    if has('hidden'):
        paths += ['secret.key', 'vault/deep', 'alias', 'alias2', 'vaultlink', './vault/../vault/deep', str(p.ws / 'secret.key')]
    marks = (secret, 'SECRET-', 'OUTSIDE', 'XDG_STATE_HOME', 'root:')
    for path in paths:
        cat = p.sh(*options, '--', 'cat -- "$1"', path)
        ok(cat.booted and not any(m.encode() in cat.out for m in marks), p, f'cat {path}: nothing', cat)
        for r in (asked(p, 'read', *options, '--', path), asked(p, 'grep', *options, '--', '.', path)):
            ok(r['result'].code == 1 and r['run'] and not any(m in str(r.get('text', '')) + str(r.get('matches', '')) for m in marks), p, f'{r["tool"]} {path}: nothing', r['result'])
            if r['code'] in ('outside', 'denied'):
                ok(r['violations'] and r['violations'][0]['dimension'] == 'filesystem' and r['violations'][0]['op'] == 'read', p, f'{r["tool"]} {path}: a violation', r['result'])
    r = asked(p, 'grep', 'SECRET|CANARY|OUTSIDE', *options, '--no-ignore')
    want = {'pale-shown'} if has('hidden') else {'secret.key', 'vault/deep'}
    ok({m['path'] for m in r.get('matches') or []} <= want, p, 'grep over all finds none of it', r['result'])
    r = asked(p, 'glob', '**', *options)
    ok('shown' in r['paths'] and not (has('hidden') and any(n.startswith('vault/') for n in r['paths'])), p, 'glob does not list what is hidden', r['result'])
    twins = [p.sh(*options, '--', 'cat shown').rest.decode(), asked(p, 'read', *options, 'shown').get('text')]
    ok(twins == ['SHOWN\n'] * 2 and asked(p, 'grep', 'SHOWN', *options)['matches'][0]['text'] == 'SHOWN', p, 'twin: what is shown, all three read', twins)
    r = asked(p, 'read', '--read', str(p.outside), str(p.outside / 'canary'))
    ok(r.get('text') == 'canary OUTSIDE\n', p, 'twin: with --read it can be read', r['result'])
    r = p.verb('events', '--kind', 'sandbox.denied', '-n', '1000', '-j')
    ok(b'/etc/shadow' in r.out and str(p.home / '.ssh/id_rsa').encode() in r.out, p, 'and all of that is in the events', r)


@needs('ephemeral')
def case_staged(p):
    clear(p)
    p.write(p.ws / 'a', 'base\n')
    p.write(p.ws / 'gone', 'base\n')
    r = p.sh('--staged', '--', 'echo staged >b; rm gone')
    ok(r.booted and r.code == 0, p, 'a staged run', r)
    ok(asked(p, 'read', '--staged', 'b').get('text') == 'staged\n', p, 'read sees what a command staged')
    ok(asked(p, 'read', '--staged', 'gone')['code'] == 'not_found', p, 'and not what it removed')
    ok(asked(p, 'read', 'gone').get('text') == 'base\n' and asked(p, 'read', 'b')['code'] == 'not_found', p, 'twin: directly it is the other way')
    r = asked(p, 'edit', '--staged', 'a', '--old', 'base', '--new', 'edited')
    ok(r['code'] is None and r['stage']['name'] == 'default' and (p.ws / 'a').read_text() == 'base\n', p, 'edit stages', r['result'])
    r = asked(p, 'write', '--staged', 'd/new', data=b'edited\n')
    ok(r['code'] is None and not (p.ws / 'd').exists(), p, 'write stages', r['result'])
    r = asked(p, 'grep', '--staged', 'edited|staged')
    ok([m['path'] for m in r['matches']] == ['a', 'b', 'd/new'], p, 'grep sees all of it', r['result'])
    r = asked(p, 'glob', '--staged', '**', '--sort', 'name')
    ok('d/new' in r['paths'] and 'gone' not in r['paths'], p, 'glob sees all of it', r['result'])
    r = p.sh('--staged', '--', 'cat a d/new')
    ok(r.rest == b'edited\nedited\n', p, 'and so does a command', r)
    r = asked(p, 'write', '--staged', 'pale.toml', data=b'[sandbox]\n')
    ok(r['code'] == 'protected', p, 'protected names are refused here as well', r['result'])
    r = p.verb('apply')
    ok(r.code == 0 and (p.ws / 'a').read_text() == 'edited\n' and (p.ws / 'd/new').exists() and not (p.ws / 'gone').exists(), p, 'apply applies it', r)


def case_session(p):
    clear(p)
    r = p.verb('session', 'start', 'tools', *(ENGINE_OPTIONS if ENGINE else ()), '-j')
    if not ok(r.code == 0, p, 'a session', r):
        return
    f = lambda name, *a, **kw: p.verb('file', name, '-s', 'tools', '-j', *a, **kw)
    try:
        r = f('write', 'x/y', data=b'in a session\n')
        ok(r.code == 0 and (p.ws / 'x/y').read_bytes() == b'in a session\n' and r.json()['session'] == 'tools', p, 'write', r)
        ok(f('read', 'x/y').json()['text'] == 'in a session\n', p, 'read')
        ok(f('edit', 'x/y', '--old', 'a', '--new', 'the').json()['count'] == 1, p, 'edit')
        ok([m['text'] for m in f('grep', 'the').json()['matches']] == ['in the session'], p, 'grep')
        ok(f('glob', 'x/*').json()['paths'] == ['x/y'], p, 'glob')
        for path in ('/etc/shadow', str(p.home / '.ssh/id_rsa'), '../outside/canary'):
            r = f('read', path)
            ok(r.code == 1 and r.json()['error']['code'] == 'outside' and r.json()['violations'], p, f'{path}: refused', r)
        r = f('write', '.envrc', data=b'x')
        ok(r.code == 1 and r.json()['error']['code'] == 'protected' and not (p.ws / '.envrc').exists(), p, 'a protected name: refused', r)
        r = p.verb('events', '--kind', 'sandbox.denied', '-n', '1000', '-j')
        ok(b'/etc/shadow' in r.out and b'.envrc' in r.out, p, 'the refusals are in the events', r)
        r = f('read', 'x/y', '--filesystem', 'unrestricted')
        ok(r.code == 125, p, 'it takes no boundary of its own', r)
        r = p.verb('file', 'read', '-s', 'nosuch', 'x/y')
        ok(r.code == 125, p, 'another session: none', r)
        r = p.verb('exec', '-s', 'tools', '--', 'cat', 'x/y')
        ok(r.out == b'in the session\n', p, 'a command sees the same', r)
    finally:
        p.verb('session', 'stop', 'tools')


def case_hang_up(p):
    """Who holds --result-fd may die: the tool goes with it."""
    clear(p)
    os.mkfifo(p.ws / 'x.fifo')
    for i in range(50):
        p.write(p.ws / f'big{i}', b'ab' * 3000000)
    r, w = os.pipe()
    word = mark()
    proc = p.start(p.pale_path, 'file', 'grep', '--result-fd', str(w), *(ENGINE_OPTIONS if ENGINE else ()), f'(a|b)*({word}|[^ab]c)$', pass_fds=(w,),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(w)
    time.sleep(0.05)
    os.close(r)
    try:
        proc.wait(20)
    except subprocess.TimeoutExpired:
        proc.kill()
    ok(wait_for(lambda: not marked(word), 10), p, 'nothing is left of it', marked(word))
    for i in range(50):
        (p.ws / f'big{i}').unlink()


main(case_there_and_back, case_paths_FT01, case_links_FT03, case_hard_links_FT05, case_bytes_FT07, case_protected_FT09, case_special_files_FT11,
     case_changing_files_FT11, case_edits_FT13, case_grep_FT15, case_glob_FT17, case_writes_FT19, case_permissions, case_rule_about_a_file, case_replaced_files_keep_attributes, case_literal_FT21,
     case_bounds,
     case_what_a_command_cannot_FR, case_staged, case_session, case_hang_up, uids=(1000,))
