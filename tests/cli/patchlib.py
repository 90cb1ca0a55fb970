# SPDX-License-Identifier: MIT
"""The driver of diff, patch and merge, and random texts for it."""
import os
import random
import subprocess

BUILD = os.path.dirname(os.environ.get("PALE") or os.path.abspath("build/pale"))
DRIVER = os.environ.get("DRIVER") or os.path.join(BUILD, "glibc/tests/cli/driver-patch")
SEED = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
PLAIN, NATURAL = 0, 1


class Driver:
    """tests/cli/driver-patch.c says what goes over the pipes."""

    def __init__(self):
        self.process = subprocess.Popen([DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.cpu = 0  # seconds that the last request took

    def ask(self, name, number, *blobs):
        """The status and the bytes."""
        parts = [f"{name} {number} {len(blobs)}\n".encode()]
        for blob in blobs:
            if blob is None:
                parts.append(b"-1\n")
            else:
                parts.append(b"%d\n" % len(blob) + blob)
        self.process.stdin.write(b"".join(parts))
        self.process.stdin.flush()
        head = self.process.stdout.readline().split()
        if len(head) != 3:
            raise RuntimeError(f"the driver died; SEED={SEED}")
        self.cpu = int(head[1]) / 1e6
        return int(head[0]), self.process.stdout.read(int(head[2]))

    def diff(self, old, new, style=NATURAL):
        """Edits: (old_line, old_count, new_line, new_count)."""
        status, out = self.ask("diff", style, old, new)
        if status != 0:
            raise RuntimeError(f"diff: {status}")
        return [tuple(map(int, line.split())) for line in out.decode().splitlines()]

    def close(self):
        self.process.stdin.close()
        return self.process.wait(60)


def split(text):
    """Lines with their ends, at \\n only."""
    lines = text.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def some_line(rnd, words):
    return b" " * rnd.choice((0, 0, 0, 4, 8)) + b"word%d" % rnd.randrange(words)


def some_lines(rnd, count, words):
    """WORDS different lines at most, and blank ones and braces as code has."""
    return [rnd.choice((b"", b"}", b"    }")) if rnd.random() < 0.15 else some_line(rnd, words)
            for _ in range(count)]


def changed(rnd, lines, words, edits):
    """LINES with EDITS pieces replaced, moved, doubled, left out."""
    lines = list(lines)
    for _ in range(edits):
        at = rnd.randrange(len(lines) + 1)
        size = rnd.choice((0, 1, 1, 2, 5))
        kind = rnd.randrange(4)
        if kind == 0:
            lines[at:at + size] = some_lines(rnd, rnd.choice((0, 1, 2, 4)), words)
        elif kind == 1:
            del lines[at:at + size]
        elif kind == 2:
            lines[at:at] = lines[at:at + size]
        else:
            piece = lines[at:at + size]
            del lines[at:at + size]
            to = rnd.randrange(len(lines) + 1)
            lines[to:to] = piece
    return lines


def joined(rnd, lines, end=b"\n", cut=0.15):
    """A text; its last newline is missing every now and then."""
    text = end.join(lines) + (end if lines else b"")
    return text[:-len(end)] if text and rnd.random() < cut else text
