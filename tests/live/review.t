#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`pale review` on real terminals, in tmux at 80x24 and 200x60: what is shown, what the
keys do, what is done at the end, and that the terminal is given back."""
import base64
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
from live import *  # noqa: E402,F403

SIZES = ((80, 24), (200, 60))
NUMBERS = ''.join(f'{i}\n' for i in range(1, 61))
GIT = ['git', '-c', 'init.defaultBranch=main', '-c', 'user.name=t', '-c', 'user.email=t@t',
       '-c', 'safe.directory=*']
_boxes = 0


class Tmux:
    """A workspace with a repository, something staged in it, and tmux."""

    def __init__(self, p, size, files, line):
        global _boxes
        _boxes += 1
        self.p = p
        self.top = p.mkdir(p.base / f'review{_boxes}')
        self.ws = p.mkdir(self.top / 'ws')
        self.env = dict(p.env, XDG_STATE_HOME=str(self.top / 'state'), TERM='xterm-256color',
                        GIT_CONFIG_GLOBAL='/dev/null')
        for name, text in files.items():
            p.write(self.ws / name, text)
        for args in (['init', '-q', '.'], ['add', '-A'], ['commit', '-qm', 'start', '--allow-empty']):
            self.run(*GIT, *args)
        if line:
            self.staged(line)
        self.sock = self.top / 'tmux'
        self.tmux('new-session', '-d', '-x', str(size[0]), '-y', str(size[1]),
                  'bash --norc --noprofile')
        self.tmux('set', '-g', 'status', 'off')
        self.keys(f"PS1='> '; pale() {{ {p.pale_path} \"$@\"; }}; stty -g >../before; clear", 'Enter')
        self.wait(r'^> *$')

    def run(self, *argv, **kw):
        return self.p.run(*argv, cwd=self.ws, env=self.env, **kw)

    def pale(self, *args):
        return self.run(self.p.pale_path, *args)

    def staged(self, line):
        r = self.pale('run', '--staged', '--', 'sh', '-ec', 'echo BOOTED; ' + line)
        ok(r.booted and r.code == 0, self.p, 'a staged run', r)

    def tmux(self, *args):
        return self.run('tmux', '-S', self.sock, '-f', '/dev/null', *args)

    def keys(self, *keys):
        self.tmux('send-keys', *keys)

    @property
    def screen(self):
        return self.tmux('capture-pane', '-p').out.decode(errors='replace')

    def wait(self, pattern, seconds=10):
        """Until PATTERN is on the screen."""
        return wait_for(lambda: re.search(pattern, self.screen, re.M), seconds)

    def see(self, pattern, name):
        return ok(self.wait(pattern), self.p, name, self.screen)

    def review(self, *args):
        self.keys('clear; pale review ' + ' '.join(args) + '; echo "status=$?"', 'Enter')
        return self.wait(r'\? help')

    def press(self, key, pattern, name):
        self.keys(key)
        return self.see(pattern, name)

    def given_back(self, name):
        """The prompt, the settings, and no trace of our screen."""
        self.keys('stty -g >../after', 'Enter')
        after, before = self.top / 'after', self.top / 'before'
        wait_for(lambda: after.exists() and after.read_text())
        ok(after.read_text() == before.read_text() and '? help' not in self.screen, self.p, name,
           self.screen)
        after.unlink()

    def read(self, name):
        path = self.ws / name
        return path.read_text() if os.path.lexists(path) else None

    def left(self):
        return self.pale('diff', '--name-status').out.decode().split()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux('kill-server')


def case_decide(p):
    """Accept, reject, split, go on, the end."""
    for size in SIZES:
        with Tmux(p, size, {'a': NUMBERS, 'b': '1\n', 'Makefile': 'all:\n', 'gone': 'x\n'},
                  'sed -i -e s/^5$/five/ -e s/^7$/seven/ -e s/^50$/fifty/ a; echo 2 >b; rm gone; '
                  'echo evil >.envrc; echo "x:" >>Makefile; mkdir n; echo 1 >n/f') as t:
            at = f'{size[0]}x{size[1]}'
            ok(t.review(), p, f'{at}: the screen', t.screen)
            t.see(r'1/6 .*\.envrc \(added\)', f'{at}: the first file')
            t.see('PROTECTED: ', f'{at}: marked')
            t.see(r'run \S+ \(sh\), ', f'{at}: which run')
            t.press('n', r'2/6 .*Makefile', f'{at}: rejected, and on')
            t.see('RUNS LATER: ', f'{at}: marked')
            t.press('y', r'3/6 .*hunk 1/2  a', f'{at}: a file of two hunks')
            ok('+five' in t.screen and '+seven' in t.screen and '+fifty' not in t.screen, p,
               f'{at}: one at a time', t.screen)
            t.press('s', 'hunk 1/3  a', f'{at}: split in two')
            ok('+five' in t.screen and '+seven' not in t.screen, p, f'{at}: the first of them',
               t.screen)
            t.press('y', 'hunk 2/3  a', f'{at}: accepted')
            t.press('n', 'hunk 3/3  a', f'{at}: rejected')
            t.press('k', r'REJECTED.*hunk 2/3', f'{at}: back, it is rejected')
            t.press('j', r'hunk 3/3', f'{at}: and forth')
            t.press('s', 'nothing to split', f'{at}: one change cannot be split')
            t.press('y', r'4/6 .*b$', f'{at}: the next file')
            t.press('f', r'5/6 .*gone \(deleted\)', f'{at}: skipped')
            t.press('y', r'6/6 .*n/f \(added\)', f'{at}: a deletion')
            t.press('y', r'4/6 .*b$', f'{at}: what is open comes again')
            t.press('?', 'pale review: help', f'{at}: help')
            t.press('x', r'4/6 .*b$', f'{at}: and back')
            t.press('e', 'accepted: 4 files', f'{at}: the end')
            ok('rejected: 2 files' in t.screen and 'open:     1 file;' in t.screen, p, f'{at}: counted',
               t.screen)
            ok(t.read('a') == NUMBERS, p, f'{at}: nothing has happened so far')
            t.press('y', 'status=0', f'{at}: done')
            want = NUMBERS.replace('\n5\n', '\nfive\n').replace('50\n', 'fifty\n')
            ok((t.read('a'), t.read('b'), t.read('gone'), t.read('.envrc'), t.read('n/f'),
                t.read('Makefile')) == (want, '1\n', None, None, '1\n', 'all:\nx:\n'), p,
               f'{at}: exactly what was accepted is applied', t.screen)
            ok(t.left() == ['M', 'b'], p, f'{at}: rejected is gone, open is staged', t.left())
            t.given_back(f'{at}: the terminal is given back')
            t.pale('undo')
            t.pale('undo')
            ok(t.read('a') == NUMBERS and t.read('gone') == 'x\n' and len(t.left()) == 12, p,
               f'{at}: undo takes back both', t.left())


def case_keep(p):
    """Rejected ones may stay; a protected one that is accepted is applied."""
    with Tmux(p, SIZES[0], {'a': '1\n'}, 'echo 2 >a; echo evil >.envrc') as t:
        t.review()
        t.press('y', '2/2', 'a protected one is accepted')
        t.press('n', 'k  apply what is accepted, keep the rest staged', 'all decided: the question')
        t.press('k', 'status=0', 'done')
        ok((t.read('.envrc'), t.read('a'), t.left()) == ('evil\n', '1\n', ['M', 'a']), p,
           'applied, and kept', t.left())


def case_place(p):
    """Quit and go on; what has changed is asked for again."""
    with Tmux(p, SIZES[0], {'a': NUMBERS, 'b': '1\n', 'c': '1\n'},
              'sed -i -e s/^5$/five/ -e s/^50$/fifty/ a; echo 2 >b; echo 2 >c') as t:
        t.review()
        t.press('y', 'hunk 2/2', 'accept one hunk')
        t.press('n', r'2/3 .*b$', 'reject one')
        t.press('y', r'3/3 .*c$', 'accept a file')
        t.press('q', 'status=0', 'quit')
        ok('2 accepted, 1 rejected, 1 open' in re.sub(r'\s+', ' ', t.screen), p, 'what was decided', t.screen)
        ok(t.read('b') == '1\n', p, 'nothing is applied')
        t.given_back('the terminal is given back')
        t.review()
        t.see(r'3/3 .*\[open\].*c$', 'the same place')
        t.press('K', r'2/3 .*\[ACCEPTED\].*b$', 'decisions are there')
        t.press('q', 'status=0', 'quit again')
        t.staged('echo 3 >b')
        t.review('b')
        t.see(r'1/1 .*\[open\].*b$', 'another content is another question')
        t.press('q', 'status=0', 'quit')
        t.review()
        t.see(r'2/3 .*\[open\]', 'also among others')
        t.press('K', r'1/3 .*\[ACCEPTED\].*hunk 1/2', 'what did not change is still decided')
        t.press('j', r'\[REJECTED\].*hunk 2/2', 'hunk by hunk')
        t.press('q', 'status=0', 'quit')


def case_large(p):
    """What does not fit: scrolled, wrapped, another size."""
    for size in SIZES:
        with Tmux(p, size, {'a': '1\n'},
                  "seq 1 500 >a; printf '%0300d%s' 7 THE-END >wide; "
                  r"printf 'ok\033[2J\033]0;x\007\342\200\256gnp\n' >evil") as t:
            at = f'{size[0]}x{size[1]}'
            t.review()
            t.see(r'^\+3$', f'{at}: the beginning')
            t.see(r'\d+ more rows below', f'{at}: there is more')
            t.press('Space', r'^\+%d$' % (size[1] + 5), f'{at}: a page on')
            t.press('G', r'^\+500$', f'{at}: the end')
            t.press('Up', r'^\+49\d$', f'{at}: a row up')
            t.press('g', r'^@@ ', f'{at}: the beginning again')
            t.press('J', r'evil \(added\)', f'{at}: the next file')
            ok(r'+ok\x1b[2J\x1b]0;x\x07\u{202e}gnp' in t.screen, p, f'{at}: escaped', t.screen)
            t.press('J', r'wide \(added\)', f'{at}: a long line')
            t.see('THE-END', f'{at}: is wrapped, not cut')
            ok(re.search(r'^>0', t.screen, re.M), p, f'{at}: and marked where it goes on', t.screen)
            t.tmux('resize-window', '-x', '60', '-y', '12')
            ok(wait_for(lambda: re.search(r'^\+0{59}$', t.screen, re.M) and
                        len(t.screen.splitlines()) == 12 and '? help' in t.screen), p,
               f'{at}: another size', t.screen)
            t.tmux('resize-window', '-x', '20', '-y', '5')
            time.sleep(0.2)
            t.press('j', r'this is the last on', f'{at}: a tiny one')
            ok('3/3' in t.screen, p, f'{at}: all in it', t.screen)
            t.tmux('resize-window', '-x', str(size[0]), '-y', str(size[1]))
            t.press('q', 'status=0', f'{at}: quit')
            t.given_back(f'{at}: the terminal is given back')


def case_every_end(p):
    """The terminal is given back however it ends."""
    with Tmux(p, SIZES[0], {'a': '1\n'}, 'echo 2 >a') as t:
        t.review()
        t.press('C-c', 'status=0', 'Ctrl-C')
        t.given_back('Ctrl-C: given back')
        for name in ('TERM', 'HUP', 'INT', 'QUIT', 'SEGV', 'ABRT'):
            t.review()
            pids = [pid for pid in marked('pale-verbs') + marked('review')
                    if os.readlink(f'/proc/{pid}/cwd') == str(t.ws)
                    and b'review' in open(f'/proc/{pid}/cmdline', 'rb').read().split(b'\0')]
            ok(len(set(pids)) == 1, p, f'{name}: one process', pids)
            os.kill(pids[0], getattr(signal, f'SIG{name}'))
            t.see(f'status={128 + getattr(signal, "SIG" + name)}', f'{name}: ends')
            t.given_back(f'{name}: given back')
        t.review()
        t.press('C-z', 'Stopped', 'Ctrl-Z stops it')
        t.given_back('Ctrl-Z: given back')
        t.press('fg', 'fg', 'typed')
        t.press('Enter', r'\? help', 'fg: the screen again')
        t.press('q', r'status=\d', 'quit')
        t.given_back('given back')
        ok(t.read('a') == '1\n', p, 'nothing was applied by any of it')


def case_no_terminal(p):
    with Tmux(p, SIZES[0], {'a': '1\n'}, 'echo 2 >a') as t:
        r = t.pale('review')
        ok(r.code == 2 and b'terminal' in r.err and b'hint' in r.err and not r.out, p,
           'without a terminal: an error', r)
        t.pale('discard', '--all')
        r = t.pale('review')
        ok(r.code == 0 and b'nothing is staged' in r.err, p, 'nothing staged', r)


def case_conflict(p):
    """A conflict is accepted by a key of its own."""
    with Tmux(p, SIZES[0], {'a': '1\n', 'b': '1\n'}, 'echo 2 >a; echo 2 >b') as t:
        time.sleep(0.02)
        p.write(t.ws / 'a', 'mine\n')
        t.review()
        t.see('CONFLICT', 'marked')
        t.press('y', 'you changed it as well', 'not by y')
        ok('[open]' in t.screen, p, 'it is still open', t.screen)
        t.press('t', r'2/2 .*b$', 'but by t')
        t.press('y', 'y  apply what is accepted', 'the question')
        t.press('y', 'status=0', 'done')
        ok((t.read('a'), t.read('b')) == ('2\n', '2\n'), p, 'the staged one is applied')


def case_merging(p):
    """Of two changes that fit together only the staged one is asked for."""
    letters = ''.join(f'{c}\n' for c in 'abcdefg')
    with Tmux(p, SIZES[0], {'m': letters}, 'sed -i s/a/A/ m') as t:
        time.sleep(0.02)
        p.write(t.ws / 'm', letters.replace('g', 'G'))
        t.review()
        t.see('MERGES', 'marked')
        ok('+A' in t.screen and '-G' not in t.screen and '+g' not in t.screen, p,
           "the user's own change is not taken back", t.screen)
        t.press('y', 'y  apply what is accepted', 'accepted by y')
        t.press('y', 'status=0', 'done')
        ok(t.read('m') == letters.replace('g', 'G').replace('a', 'A'), p, 'both are in it')


def case_changed_meanwhile(p):
    """What changes behind the reviewer's back is not applied."""
    with Tmux(p, SIZES[0], {'a': '1\n', 'b': '1\n'}, 'echo 2 >a; echo 2 >b') as t:
        t.review()
        t.press('y', r'2/2 .*b$', 'accepted')
        t.staged('echo evil >a')
        t.press('y', 'y  apply', 'the question')
        t.press('y', 'status=1', 'done')
        ok((t.read('a'), t.read('b')) == ('1\n', '2\n'), p, 'only what was seen is applied', t.screen)
        ok(t.left() == ['M', 'a'], p, 'the other one is staged', t.left())


def case_rejected_and_changed_meanwhile(p):
    """Nor is it thrown away: what a run made of it after it was rejected was seen by nobody."""
    with Tmux(p, SIZES[0], {'a': '1\n', 'b': '1\n', 'c': NUMBERS}, 'echo 2 >a; echo 2 >b; sed -i -e s/^5$/five/ -e s/^50$/fifty/ c; '
              'mkdir d; echo 1 >d/x; echo 1 >d/y; ln d/x d/z; chmod 0 d/y; echo 2 >gone') as t:
        t.review()
        t.press('n', r'2/7 .*b$', 'rejected')
        t.press('n', r'3/7 .*hunk 1/2  c', 'and another')
        t.press('y', r'3/7 .*hunk 2/2  c', 'in part')
        t.press('n', r'4/7 .*d/x', 'and in part not')
        t.press('y', r'5/7 .*d/y', 'accepted')
        t.press('n', r'6/7 .*d/z', 'rejected, in one folder')
        t.press('n', r'7/7 .*gone', 'rejected, another name of what was accepted')
        t.staged('echo better >a; rm gone; echo more >e')
        t.press('n', 'accepted: 2 files', 'the question')
        t.press('y', 'status=1', 'done')
        ok(t.left() == ['M', 'a', 'A', 'e'] and b'+better' in t.pale('diff', 'a').out, p, 'what was not seen is staged still', t.left())
        ok(t.read('c') == NUMBERS.replace('\n5\n', '\nfive\n') and t.read('d/x') == '1\n' and t.read('d/z') is None, p,
           'the rest was done', t.screen)


NAMES = [b'new\nline', b'tab\there', b'-dash', b'--all', b'\xff\xfe', b'x' * 255, b'\x1b[2Jctl\x07', b'...', b' sp ace ',
         b'quo"t\'e', b'back\\slash', b'\\x1b', b'%s', b'$(touch owned)', 'bi\u202edi'.encode(), b'a:1', b'*']


def case_names_SW11(p):
    """Every name is shown escaped, can be chosen, applied, discarded, and told to programs."""
    with Tmux(p, SIZES[0], {'file': '1\n'}, None) as t:
        maker = p.write(t.top / 'maker.py', 'import os\nprint("BOOTED", flush=True)\nfor n in %r:\n'
                        '    os.mkdir(b"in-" + n[:200])\n    open(b"in-" + n[:200] + b"/f", "w").write("1\\n")\n'
                        '    open(n, "w").write("1\\n")\n' % NAMES)
        r = t.pale('run', '--staged', '--read', maker, '--', '/usr/bin/python3', '-B', maker)
        ok(r.booted and r.code == 0, p, 'made', r)
        doc = json.loads(t.pale('diff', '--json').out)
        told = {base64.b64decode(c['path_base64']) if 'path_base64' in c else c['path'].encode()
                for c in doc['changes']}
        ok(told == set(NAMES) | {b'in-' + n[:200] + b'/f' for n in NAMES}, p, 'JSON has every byte', told ^ set(NAMES))
        patch = t.pale('diff').out
        clone = p.mkdir(t.top / 'clone')
        r = p.run('git', 'apply', '-', cwd=clone, env=t.env, data=patch)
        ok(r.code == 0 and set(NAMES) <= set(os.listdir(os.fsencode(clone))), p, 'so has the patch', r)
        t.review()
        seen = ''
        for i in range(len(doc['changes'])):
            seen += t.screen
            t.keys('j')
            t.wait(rf'^ {min(i + 2, len(doc["changes"]))}/')
        for part in (r'\x0aline', r'\x09here', r'\xff\xfe', r'\x1b[2Jctl\x07', r'bi\u{202e}di', '$(touch owned)'):
            ok(part in seen, p, f'shown escaped: {part}')
        t.press('q', 'status=0', 'quit')
        for i, name in enumerate(NAMES):
            word = os.fsdecode(name)
            r = t.pale('apply', '--', word) if i % 2 else t.pale('discard', '--', word)
            ok(r.code == 0 and (t.ws / word).exists() == bool(i % 2), p, f'by its name: {name!r}', r)
            ok(b'\x1b' not in r.out and b'\x1b' not in r.err, p, 'nothing raw on the terminal', r)
        ok(t.pale('apply').code == 0 and
           {b'in-' + n[:200] for n in NAMES} <= set(os.listdir(os.fsencode(t.ws))), p, 'the rest at once')
        for _ in range(len(NAMES) + 1):
            t.pale('undo')
        ok(sorted(os.listdir(t.ws)) == ['.git', 'file'], p, 'all of it taken back', os.listdir(t.ws))


def case_repository_SW29(p):
    """git's own files are one item; a hook is not among them; a lock is respected."""
    with Tmux(p, SIZES[0], {'a': '1\n'},
              'echo 2 >a; git add a; git -c user.name=x -c user.email=x@x commit -qm inside; '
              'echo evil >.git/hooks/post-commit') as t:
        p.write(t.ws / '.git/index.lock', '')
        r = t.pale('apply')
        ok(r.code == 1 and b'git holds a lock' in r.out, p, 'not while git works', r)
        (t.ws / '.git/index.lock').unlink()
        ok(t.run(*GIT, 'log', '-1', '--format=%s').out == b'start\n', p, 'the repository is as it was')
        t.pale('undo')
        t.review()
        t.see(r'1/3 .*hooks/post-commit \(added\)', 'a hook is asked for')
        t.see('PROTECTED', 'marked')
        t.press('n', r'2/3 .*a$', 'rejected')
        t.press('y', r'3/3 .*\.git \(\d+ files\)', 'the repository as one')
        t.press('y', 'y  apply what is accepted', 'the question')
        t.press('y', 'status=0', 'done')
        r = t.run(*GIT, 'log', '-1', '--format=%s')
        ok(r.out == b'inside\n', p, 'the commit is there', r)
        ok(t.run(*GIT, 'fsck').code == 0 and t.run(*GIT, 'status', '--short').out == b'', p, 'and whole')
        ok(t.read('.git/hooks/post-commit') is None and t.left() == [], p, 'the hook is not', t.left())


main(case_decide, case_keep, case_place, case_large, case_every_end, case_no_terminal,
     case_conflict, case_merging, case_changed_meanwhile, case_rejected_and_changed_meanwhile, case_names_SW11, case_repository_SW29, uids=(1000,))
