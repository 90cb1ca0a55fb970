#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exit status, the outcome and the streams of a run."""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
import collections

from live import *


def case_only_the_commands_output(p):
    r = p.pale('--', 'sh', '-c', 'echo hi')
    ok((r.code, r.out, r.err) == (0, b'hi\n', b''), p, "echo hi prints hi, nothing else, exit 0", r)
    r = p.pale('--', 'sh', '-c', 'echo to-out; echo to-err >&2; exit 3')
    ok((r.code, r.out, r.err) == (3, b'to-out\n', b'to-err\n'), p, 'two streams stay two', r)
    r = p.pale('--', 'cat', data=b'given\0bytes')
    ok(r.out == b'given\0bytes', p, 'standard input arrives', r)
    size = 3 << 20
    r = p.pale('--', 'head', '-c', str(size), '/dev/zero')
    ok(len(r.out) == size and r.code == 0, p, 'three megabytes of output arrive whole')


def case_own_status(p):
    for code in (0, 1, 2, 42, 123, 124, 125, 126, 127, 128, 200, 255):
        r = p.pale('--json', '--', 'sh', '-c', f'exit {code}')
        j = r.json()
        ok(r.code == code and j.get('exit_code') == code and j.get('signal', 0) is None
           and j.get('outcome') == ('ok' if code == 0 else 'failed'),
           p, f"the command's own {code}, told apart by --json", r)


def case_signals(p):
    for number in (1, 2, 6, 9, 11, 15):
        r = p.pale('--json', '--', 'sh', '-c', f'kill -{number} $$')
        j = r.json()
        ok(r.code == 128 + number and j.get('outcome') == 'signaled' and j.get('signal') == number
           and j.get('exit_code', 0) is None, p, f'signal {number} is {128 + number}', r)


def case_signals_before_the_start(p):
    """Two of them, while the sandbox is built or goes down again: each is the command's or ends the run."""
    ends = collections.Counter()
    whole = min(p.pale('--', 'true').seconds for _ in range(5))
    for i in range(120):
        proc = p.start_pale('--', 'true', stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(whole * (i % 40) / 40)
        for sig in (signal.SIGTERM, signal.SIGINT):
            proc.send_signal(sig)
            time.sleep(i % 3 * 0.0005)
        _, err = proc.communicate(timeout=30)
        ends[b'bug' if b'bug at' in err else proc.returncode] += 1
    good = {0, 125, 128 + signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT}
    ok(set(ends) <= good, p, 'two signals at the start', ends)
    ok(len(ends) > 1, p, 'twin: not all of them came too late', ends)


def case_not_found(p):
    r = p.pale('--json', '--', 'no-such-program-anywhere')
    ok(r.code == 127 and r.json().get('outcome') == 'error' and
       r.json().get('error', {}).get('code'), p, 'a program that is not there is 127', r)
    r = p.pale('--', './no-such-file')
    ok(r.code == 127 and b'no-such-file' in r.err, p, 'so is a path, and it is named', r)
    r = p.pale('--', 'no-such-program-anywhere')
    ok(r.code == 127 and r.out == b'' and r.err.count(b'\n') <= 3, p, 'three lines at most', r)
    p.write(p.ws / 'bad-interpreter', '#!/no/such/shell\n', 0o755)
    ok(p.pale('--', './bad-interpreter').code in (126, 127), p, 'an interpreter that is not there')


def case_not_executable(p):
    p.write(p.ws / 'plain', 'echo no\n', 0o644)
    r = p.pale('--json', '--', './plain')
    ok(r.code == 126 and r.json().get('outcome') == 'error', p, 'a file without x is 126', r)
    ok(p.pale('--', '/etc').code == 126, p, 'a folder is 126')
    p.write(p.ws / 'garbage', b'\x7fELFgarbage', 0o755)
    ok(p.pale('--', './garbage').code in (126, 127, 2), p, 'a broken program does not pass for a run')
    p.write(p.ws / 'no-shebang', 'echo plain-$1\n', 0o755)
    r = p.pale('--', './no-shebang', 'script')
    ok((r.code, r.out) == (0, b'plain-script\n'), p, 'a script without #! runs, as by execvp', r)


def refused(p, name, *args, says=b'', env=None, outcome=None):
    canary = p.ws / 'ran'
    canary.unlink(missing_ok=True)
    r = p.pale(*args, '--', 'touch', str(canary), env=env)
    ok(r.code == 125 and not canary.exists() and says in r.err and r.out == b'' and r.err,
       p, f'{name}: 125, nothing was executed, and it says why', r)
    r = p.pale('--json', *args, '--', 'touch', str(canary), env=env)
    j = r.json()
    ok(r.code == 125 and not canary.exists() and j.get('outcome') in ('refused', 'error') and
       j.get('exit_code', 0) is None and j.get('error', {}).get('message') and
       (outcome is None or j['outcome'] == outcome), p, f'{name}: and so in JSON', r)


def case_nothing_was_executed_CF01_CF03(p):
    r = p.pale('--', 'touch', str(p.ws / 'ran'))
    ok(r.code == 0 and (p.ws / 'ran').exists(), p, 'twin: the canary file is made when nothing is wrong', r)
    refused(p, 'a limit that cannot hold', '--disk', '64m', says=b'disk', outcome='refused')
    refused(p, 'a limit that nobody would count', '--network', 'unrestricted', '--connections', '3', says=b'connections', outcome='refused')
    refused(p, 'an unknown option', '--no-such-option', says=b'no-such-option')
    refused(p, 'an unknown value', '--filesystem', 'some', says=b'filesystem')
    refused(p, 'an unknown preset', '--preset', 'nope', says=b'nope')
    refused(p, 'a bad size', '--tmpfs', '9999999999999g', says=b'tmpfs')
    refused(p, 'a bad time', '--timeout', '-5s', says=b'timeout')
    refused(p, 'a writable path that is absent', '--write', str(p.base / 'absent'), says=b'absent')
    refused(p, 'a workspace that is absent', '--workspace', str(p.base / 'absent'), says=b'absent')
    refused(p, 'staged mode without a boundary', '--staged', '--preset', 'off', says=b'staged', outcome='refused')
    for name, text, says in (
            ('an unknown key', '[sandbox]\npresett = "build"\n', b'pale.toml:2'),
            ('a wrong type', '[sandbox]\npreset = 5\n', b'pale.toml:2'),
            ('a value that overflows', '[presets.x]\nmemory = "9999999999999g"\n', b'pale.toml:2'),
            ('broken TOML', '[sandbox\n', b'pale.toml:1'),
            ('a NUL byte', 'a = "\0"\n', b'pale.toml:1')):
        p.write(p.ws / 'pale.toml', text)
        refused(p, name, says=says)
    p.write(p.ws / 'pale.toml', '[sandbox]\n', 0o666)
    refused(p, 'a config that all can write', says=b'pale.toml')
    (p.ws / 'pale.toml').unlink()
    os.mkfifo(p.ws / 'pale.toml')
    refused(p, 'a fifo for a config')
    (p.ws / 'pale.toml').unlink()
    r = p.pale()
    ok(r.code == 125 and r.err, p, 'nothing to run is 125', r)
    r = p.pale('pytest')
    ok(r.code == 125 and b"no command 'pytest'; to run the program: pale run -- pytest" in r.err,
       p, 'a name that is not registered', r)


def timeout_case(p, name, line, seconds=(0.9, 4.0), options=(), out=b'partial\n'):
    m = mark()
    r = p.pale('--timeout', '1s', *options, '--', 'sh', '-c', line, m)
    ok(r.code == 124 and seconds[0] <= r.seconds <= seconds[1], p,
       f'{name}: 124 in {seconds[1]} s', r)
    ok(out in r.out, p, f'{name}: the output until then is kept', r)
    ok(not marked(m), p, f'{name}: the whole tree is gone', marked(m))


def case_timeout_PR11(p):
    for options in modes(p, (), ('--processes', 'visible'), ('--preset', 'off')):
        which = ' '.join(options) or 'isolated'
        timeout_case(p, f'{which}, one that heeds TERM', 'echo partial; sleep 30 & exec sleep 30', (0.9, 3),
                     options)
        timeout_case(p, f'{which}, one that ignores TERM',
                     'echo partial; trap "" TERM; (trap "" TERM; ./probe ignore $0) & ./probe ignore $0',
                     options=options)
    timeout_case(p, 'one that is stopped', 'echo partial; ./probe stop $0 & kill -STOP $$')
    timeout_case(p, 'a daemon that ignores TERM', 'echo partial; ./probe orphan 30 $0; sleep 30')
    r = p.pale('--timeout', '1s', '--json', '--', 'sh', '-c', 'echo partial; sleep 30')
    j = r.json()
    ok(r.code == 124 and j.get('outcome') == 'timeout' and r.err == b'partial\n', p,
       'JSON says timeout; the output is on stderr', r)
    r = p.pale('--timeout', '1s', '--', 'sh', '-c', 'trap "echo tidied; exit 0" TERM; sleep 30 & wait')
    ok(r.code == 124 and b'tidied' in r.out, p, 'TERM comes before KILL: the command can tidy up', r)
    r = p.pale('--timeout', '20s', '--', 'true')
    ok(r.code == 0 and r.seconds < 3, p, 'twin: one that is in time is not touched', r)
    r = p.pale('--timeout', '1s', '--', 'sh', '-c', 'exit 124')
    ok(r.code == 124, p, "a command's own 124", r)


def case_odd_callers_PR15(p):
    def ignore_chld():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    r = p.pale('--', 'sh', '-c', 'sleep 0.1; (exit 4); exit 7', preexec_fn=ignore_chld)
    ok(r.code == 7, p, 'SIGCHLD ignored by the caller: the status still arrives', r)

    def block_all():
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    r = p.pale('--timeout', '1s', '--', 'sh', '-c', 'trap "echo tidied; exit 0" TERM; sleep 30 & wait', preexec_fn=block_all)
    ok(r.code == 124 and r.out == b'tidied\n', p, 'all signals blocked by the caller: TERM still ends it', r)

    for fds in ((0,), (1,), (2,), (0, 1, 2)):
        def close_them():
            for fd in fds:
                os.close(fd)
        canary = p.ws / 'closed'
        canary.unlink(missing_ok=True)
        r = p.pale('--', 'sh', '-c', 'ls -l /proc/self/fd >closed; ./probe fds >>closed; exit 5',
                   preexec_fn=close_them)
        text = canary.read_text() if canary.exists() else ''
        ok(r.code == 5 and 'fds=0' in text and 'socket' not in text, p,
           f'descriptors {fds} closed by the caller: none of ours takes their place', f'{r}\n{text}')

    read, write = os.pipe()
    os.close(read)
    m = mark()
    r = p.pale('--', 'sh', '-c', 'yes $0', m, stdout=write, timeout=15)
    os.close(write)
    ok(r.code == 128 + signal.SIGPIPE and not marked(m), p, 'output to a closed pipe ends with SIGPIPE', r)
    ok(p.pale('--', 'true', stdin=subprocess.DEVNULL).code == 0, p, 'an empty standard input')

    full = open('/dev/full', 'wb')
    r = p.pale('--json', '--', 'true', stdout=full)
    ok(r.code not in (0,), p, 'a result that cannot be delivered is no success', r)
    full.close()


def case_folders_for_streams(p):
    """A descriptor of a folder would lead out of the sandbox."""
    look = 'touch ran; ls /proc/self/fd/{0}/; cat /proc/self/fd/{0}/canary'
    for fd, stream in enumerate(('stdin', 'stdout', 'stderr')):
        def take(path):
            def replace():
                opened = os.open(path, os.O_RDONLY if path.is_dir() or fd == 0 else os.O_WRONLY)
                os.dup2(opened, fd)
                os.close(opened)
            return replace
        r = p.pale('--', 'sh', '-c', look.format(fd), preexec_fn=take(p.outside))
        ok(r.code == 125 and not (p.ws / 'ran').exists() and b'canary' not in r.out + r.err, p,
           f'a folder for {stream}: 125, nothing was executed', r)
        ok(fd == 2 or b'folder' in r.err, p, f'a folder for {stream}: it says why', r)
        (p.ws / 'ran').unlink(missing_ok=True)
        plain = p.write(p.ws / 'plain-file', 'given\n', 0o666)
        r = p.pale('--', 'sh', '-c', 'touch ran; head -c 6; echo out; echo err >&2',
                   preexec_fn=take(plain))
        told = r.out if fd == 0 else plain.read_bytes()
        ok(r.code == 0 and (p.ws / 'ran').exists() and (b'given\nout\n', b'out\n', b'err\n')[fd] in told, p,
           f'twin: a file for {stream} works', r)
        for name in ('ran', 'plain-file'):
            (p.ws / name).unlink(missing_ok=True)


def case_orphans_do_not_delay_PR09(p):
    for options in modes(p, (), ('--processes', 'visible'), ('--preset', 'off')):
        m = mark()
        r = p.pale(*options, '--', './probe', 'orphan', '20', m)
        ok(r.code == 0 and r.seconds < 5, p,
           f"{' '.join(options) or 'isolated'}: an orphan that holds stdout does not delay the end", r)
        ok(not marked(m), p, 'and is gone', marked(m))


def case_result_file_FW03(p):
    r = p.pale('--result', 'result.json', '--', 'sh', '-c', 'echo out; exit 9')
    j = json.loads((p.ws / 'result.json').read_bytes()) if (p.ws / 'result.json').exists() else {}
    ok(r.code == 9 and r.out == b'out\n' and j.get('exit_code') == 9, p, '--result writes it beside', r)
    p.write(p.outside / 'victim', 'safe\n')
    r = p.pale('--result', 'sub/result.json', '--', 'true')
    ok(r.code == 125, p, 'a folder that is not there is refused before the run', r)
    p.mkdir(p.ws / 'sub')
    r = p.pale('--result', 'sub/result.json', '--', 'sh', '-c',
               'mv sub sub2; ln -s ../outside sub; ln -s ../../outside/victim sub2/result.json')
    ok((p.outside / 'victim').read_text() == 'safe\n' and not (p.outside / 'result.json').exists(), p,
       'the command cannot lead the result elsewhere by a link', r)


main(case_only_the_commands_output, case_own_status, case_signals, case_signals_before_the_start, case_not_found,
     case_not_executable, case_nothing_was_executed_CF01_CF03, case_timeout_PR11,
     case_odd_callers_PR15, case_folders_for_streams, case_orphans_do_not_delay_PR09,
     case_result_file_FW03, uids=(1000,))
