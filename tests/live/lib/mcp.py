# SPDX-License-Identifier: MIT
"""mcp - a client of `pale mcp` that says exactly what a test wants, well-formed or not."""
import json
import os
import queue
import subprocess
import threading
import time

NEWEST = '2025-11-25'
VERSIONS = ('2024-11-05', '2025-03-26', '2025-06-18', NEWEST)


class Client:
    """A server as its child. What it says is read by a thread, unless READS is False."""

    living = []

    def __init__(self, p, *options, ws=None, env=None, begin=NEWEST, reads=True, **kw):
        for other in Client.living:  # of a case that failed
            if other.proc.poll() is None:
                other.proc.kill()
                other.proc.wait()
        self.p = p
        self.proc = p.start(p.pale_path, 'mcp', *options, cwd=ws or p.ws, env=env,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, start_new_session=True, **kw)
        Client.living = [self]
        self.lines = queue.Queue()   # every line as it came
        self.others = []             # messages that answer nothing
        self.answers = {}
        self.last = 0
        self.broken = []             # lines that are no JSON
        if reads:
            self.reader = threading.Thread(target=self._read, daemon=True)
            self.reader.start()
        if begin:
            self.hello = self.begin(begin)

    def _read(self):
        for line in self.proc.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send_bytes(self, data):
        self.proc.stdin.write(data)
        self.proc.stdin.flush()

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b'\n')

    def take(self, seconds=20):
        """The next message, or None: the end, or nothing came."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            return None
        if line is None:
            self.lines.put(None)
            return None
        try:
            return json.loads(line)
        except ValueError:
            self.broken.append(line)
            return {'broken': line}

    def wait(self, wanted, seconds=20):
        """The answer to id WANTED; None: none came."""
        end = time.monotonic() + seconds
        while wanted not in self.answers:
            message = self.take(max(0.0, end - time.monotonic()))
            if message is None:
                return None
            key = message.get('id') if isinstance(message, dict) else None
            if isinstance(message, dict) and 'method' not in message and key is not None:
                self.answers[key] = message
            else:
                self.others.append(message)
        return self.answers.pop(wanted)

    def ask(self, method, params=None, meta=None):
        """Send a request; its id."""
        self.last += 1
        message = {'jsonrpc': '2.0', 'id': self.last, 'method': method}
        if params is not None or meta:
            message['params'] = dict(params or {}, **({'_meta': meta} if meta else {}))
        self.send(message)
        return self.last

    def request(self, method, params=None, seconds=20):
        return self.wait(self.ask(method, params), seconds)

    def ask_call(self, tool, meta=None, **args):
        return self.ask('tools/call', {'name': tool, 'arguments': args}, meta)

    def call(self, tool, seconds=30, **args):
        return self.wait(self.ask_call(tool, **args), seconds)

    def notify(self, method, **params):
        self.send({'jsonrpc': '2.0', 'method': method, 'params': params})

    def begin(self, version=NEWEST):
        answer = self.request('initialize', {'protocolVersion': version, 'capabilities': {},
                                             'clientInfo': {'name': 'test', 'version': '1'}})
        self.notify('notifications/initialized')
        return answer

    def raw(self, data, seconds=20):
        """Send bytes; the next message that comes."""
        self.send_bytes(data)
        return self.take(seconds)

    def silence(self, seconds=0.3):
        """Whether nothing comes; a ping shows that the server is there."""
        message = self.take(seconds)
        return message is None and self.is_there()

    def is_there(self):
        answer = self.request('ping')
        return answer is not None and answer.get('result') == {}

    def close(self, seconds=10):
        """Close its input; the exit status and the seconds that it took, or None."""
        begin = time.monotonic()
        try:
            self.proc.stdin.close()
        except OSError:
            pass
        try:
            self.proc.wait(seconds)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
            return None, time.monotonic() - begin
        return self.proc.returncode, time.monotonic() - begin

    def stderr(self):
        return self.proc.stderr.read()

    def rss(self):
        """Resident bytes of the server."""
        return self._status('VmRSS')

    def peak(self):
        return self._status('VmHWM')

    def _status(self, key):
        with open(f'/proc/{self.pid()}/status', encoding='ascii') as file:
            for line in file:
                if line.startswith(key + ':'):
                    return int(line.split()[1]) * 1024
        return 0

    def pid(self):
        """Of pale-verbs itself: setpriv and pale become it by exec."""
        return self.proc.pid

    def children(self):
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/stat', 'rb') as file:
                    if int(file.read().rpartition(b')')[2].split()[1]) == self.pid():
                        found.append(int(pid))
            except (OSError, ValueError):
                pass
        return found


def text(answer):
    """Of a tool's result."""
    try:
        return answer['result']['content'][0]['text']
    except (KeyError, TypeError, IndexError):
        return ''


def structured(answer):
    try:
        return answer['result'].get('structuredContent') or {}
    except (KeyError, TypeError):
        return {}


def code(answer):
    """Of an error."""
    try:
        return answer['error']['code']
    except (KeyError, TypeError):
        return None
