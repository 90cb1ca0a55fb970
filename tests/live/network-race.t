#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A sibling thread changes the address or the descriptor of a connect, between the moment it is looked at
and the moment it is made: a forbidden listener accepts none of them (NW07).

PALE_RACES is how many attempts each way of it makes, for each user (600).
"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rsplit('/', 1)[0] + '/lib')
from netlab import *

enter_apart()
lab = Lab()
RACES = int(os.environ.get('PALE_RACES') or 600)
WAYS = ('address', 'port', 'dup2', 'address+dup2', 'close', 'unmap', 'signal', 'waitless', 'waitless+dup2')
_made = {}


class Sink:
    """Accepts, counts, and hangs up."""

    def __init__(self, address, port):
        self.socket = socket.create_server((address, port), family=socket.AF_INET6 if ':' in address else socket.AF_INET, backlog=4096)
        self.count = 0
        threading.Thread(target=self._loop, daemon=True).start()

    def _loop(self):
        hard = struct.pack('ii', 1, 0)
        while True:
            connection, _ = self.socket.accept()
            self.count += 1
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, hard)
            connection.close()


GOOD, BAD = {}, {}
for address in ('127.0.0.1', '::1'):
    GOOD[address], BAD[address] = Sink(address, 8000), Sink(address, 8001)
with lab.far():
    for address in (FAR4, FAR6):
        GOOD[address] = Sink(address, 8000)
    for address in (OTHER4, OTHER6):
        BAD[address] = Sink(address, 8000)
    BAD[FAR4] = Sink(FAR4, 8001)
# good, bad, and the options under which only the first may be reached
PLACES = {
    'a port of the loopback': (('127.0.0.1', 8000), ('127.0.0.1', 8001), ['--network', 'localhost', '--port', '8000'],
                               ['--network', 'localhost', '--port', '8000', '--port', '8001']),
    'a neighbour': ((FAR4, 8000), (OTHER4, 8000), allow(f'{FAR4}:8000'), allow(f'{FAR4}:8000', f'{OTHER4}:8000')),
    'a neighbour by IPv6': ((FAR6, 8000), (OTHER6, 8000), allow(f'[{FAR6}]:8000'), allow(f'[{FAR6}]:8000', f'[{OTHER6}]:8000')),
    'the same host': ((FAR4, 8000), (FAR4, 8001), allow(f'{FAR4}:8000'), allow(f'{FAR4}:8000,8001')),
}


def race(p, place, way, options, attempts):
    good, bad = PLACES[place][:2]
    tool = net_tool(p, 'net-race')
    before = GOOD[good[0]].count, BAD[bad[0]].count
    with lab.watch() as wire:
        r = p.pale('--json', *options, '--', 'sh', '-c', f'exec {tool} {way} {good[0]} {good[1]} {bad[0]} {bad[1]} {attempts} >race.out', timeout=600)
        time.sleep(0.2)
        packets = [k for k in wire.packets() if (k.to, k.port) == bad]
    text = (p.ws / 'race.out').read_text() if (p.ws / 'race.out').exists() else ''
    counts = {k: int(v) for k, v in (line.split() for line in text.splitlines())}
    (p.ws / 'race.out').unlink(missing_ok=True)
    return r, counts, GOOD[good[0]].count - before[0], BAD[bad[0]].count - before[1], packets


def ways(place):
    good, bad = PLACES[place][:2]
    return [way for way in WAYS if way != 'port' or good[1] != bad[1]]


def case_no_race_is_won_NW07(p):
    for place, (_, _, options, _) in PLACES.items():
        for way in ways(place):
            r, n, good, bad, packets = race(p, place, way, options, RACES)
            for _ in range(8):  # which thread wins is not ours to say
                if good or bad or packets or way in ('close', 'unmap'):
                    break
                _, _, good, bad, packets = race(p, place, way, options, RACES)
            _made[p.uid] = _made.get(p.uid, 0) + n.get('attempts', 0)
            note(f'{place}, {way}: {good} reached what is allowed, {n}')
            ok(r.code == 0 and n.get('attempts') == RACES and n.get('swaps', 0) > 0, p, f'{place}, {way}: {RACES} attempts', r)
            if way not in ('close', 'unmap'):  # which may win each time, and get nothing
                ok(good > 0, p, f'{place}, {way}: some of them reached what is allowed', n)
            ok(bad == 0 and not packets, p, f'{place}, {way}: none reached what is forbidden', f'{bad} {packets[:5]}')
    ok(_made.get(p.uid, 0) == RACES * sum(len(ways(place)) for place in PLACES) and RACES > 0, p, f'{_made.get(p.uid)} attempts in all')


def case_a_won_race_is_seen_NW07(p):
    """The same, where the other one is allowed as well: the change takes effect, and is counted."""
    for place, (_, _, _, options) in PLACES.items():
        for way in ('address', 'waitless'):
            good = bad = made = 0
            while made < 20 * RACES and not (good and bad):  # it depends on when a thread gets its turn
                r, n, reached, other, _ = race(p, place, way, options, 300)
                good, bad, made = good + reached, bad + other, made + 300
            ok(good > 0 and bad > 0, p, f'twin: {place}, {way}: {bad} of {made} reached the other one', f'{good} {bad}\n{r}')


def case_datagrams(p):
    """A connected datagram socket that was meant for the name server."""
    tool = net_tool(p, 'net-race')
    with lab.watch() as wire:
        r = p.sh(*allow(f'{FAR4}:8000'), '--', f'{tool} datagram 198.18.0.1 53 {OTHER4} 53 {RACES}', timeout=600)
        ok(r.booted and b'attempts %d' % RACES in r.out, p, f'{RACES} attempts', r)
        ok(not wire.packets(), p, 'no datagram got out', wire.seen[:5])
    with lab.watch() as wire:
        for _ in range(20):  # it depends on when a thread gets its turn
            r = p.sh('--network', 'unrestricted', '--', f'{tool} datagram 198.18.0.1 53 {OTHER4} 53 {RACES}', timeout=600)
            time.sleep(0.2)
            if some := any(k.to == OTHER4 for k in wire.packets()):
                break
        ok(some, p, 'twin: unrestricted, some do', r)


main(case_no_race_is_won_NW07, case_a_won_race_is_seen_NW07, case_datagrams, uids=(1000,))
