#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What may be reached, as it is written: every bad spelling is refused, and nothing runs."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import Box, done, eq, has, ok  # noqa: E402

BAD_HOSTS = {
    "": "empty", "*": "stands for every host", "*:443": "stands for every host",
    "*.com": "top-level domain", "*.com.": "top-level domain", "a*.example.org": "leftmost",
    "*example.org": "leftmost", "a.*.example.org": "leftmost", "**.example.org": "leftmost",
    "user@example.org": "user name", "user:pw@example.org": "user name", "a@b@c": "user name",
    "https://example.org": "scheme", "example.org/path": "path", "example.org%00": "%",
    "a%2eexample.org": "%", "[fe80::1%eth0]:80": "%", "exa mple.org": "blanks",
    "example.org\t": "blanks", "example.org\r": "blanks", "example.org\n": "blanks",
    "\x7fexample.org": "control", "b\u00fccher.example": "punycode", "\u0435xample.org": "punycode",
    "example..org": "empty", ".example.org": "empty", "example.org..": "empty", "-a.org": "hyphen",
    "a" * 64 + ".org": "63", ".".join(["a" * 60] * 5): "253", "example.1": "number",
    "example.org:0": "65535", "example.org:65536": "65535", "example.org:-1": "65535",
    "example.org:80-90": "65535", "example.org:080": "65535", "example.org:https": "65535",
    "example.org:": "65535", "example.org:80,": "65535", "example.org:80:81": "colon",
    ":443": "no host", "::1": "brackets", "[::1": "]", "[::1]x": "]", "10.0.0.0/33": "IPv4",
    "10.0.0": "IPv4", "0177.0.0.1": "IPv4", "2130706433": "IPv4", "[::1/129]": "IPv6",
    "@nosuch": "unknown host group", "@": "unknown host group",
}
GOOD_HOSTS = {
    "Example.ORG.": ["example.org:443"], "*.Example.org:80,443": ["*.example.org:443", "*.example.org:80"],
    "xn--bcher-kva.example": ["xn--bcher-kva.example:443"], "10.1.2.3/8:5432": ["10.0.0.0/8:5432"],
    "[0:0::1]:6379": ["[::1]:6379"], "[::ffff:1.2.3.4]": ["1.2.3.4:443"], "@web": ["a.org:443", "b.org:22"],
}


def reachable(box, *options):
    r = box.pale("run", "--explain", "--json", *options, "--", "true")
    return (r.json() or {}).get("reachable") if r.status == 0 else r


def check_options(box):
    for text, why in BAD_HOSTS.items():
        r = box.pale("run", "--host", text, "--", "touch", "ran")
        ok(r.status == 125 and "--host: " in r.err and why in r.err and not box.exists("ran"),
           f"--host {text[:40]!r}: refused ({why})", r)
    for text, rules in GOOD_HOSTS.items():
        got = reachable(box, "--host", text)
        eq(got["hosts"] if isinstance(got, dict) else got, rules, f"--host {text}")
    for option in ("--port", "--expose"):
        for text in ("0", "65536", "-1", "80-90", "80,81", "http", "", "+80", "0x50"):
            r = box.pale("run", f"{option}={text}", "--", "touch", "ran")
            ok(r.status == 125 and not box.exists("ran") and "pale: " in r.err, f"{option} {text!r}: refused", r)
    got = reachable(box, "--host", "a.org", "--host", "b.org:22", "--port", "80", "--port", "81", "--expose", "90",
                    "--expose", "91")
    eq([got["hosts"], got["ports"], got["expose"]], [["a.org:443", "b.org:22"], ["80", "81"], ["90", "91"]],
       "each may be repeated")
    eq(reachable(box, "--host", "a.org")["loopback"], False, "--host opens no loopback")
    eq(reachable(box, "--network", "allowed_hosts", "--host", "a.org")["loopback"], True, "a level that is written does")
    eq(reachable(box, "--network", "allowed_hosts", "--port", "80")["ports"], ["80"], "--port narrows it")


def check_files(box):
    table = '[commands.x]\ncmd = "touch ran"\n[commands.x.sandbox]\nnetwork = "allowed_hosts"\nports = []\n'
    for text in ('hosts = ["*"]', 'hosts = ["a.org:0"]', 'hosts = "a.org"', "hosts = [80]", 'ports = ["80"]',
                 "ports = [0]", "expose = [65536]", "connections = 0", 'connections = "3"', "connect_rate = -1",
                 'net_sent = "1q"', 'hosts = ["a\\u0000b.org"]', 'hosts = ["a\\tb.org"]', 'hosts = ["@nosuch"]'):
        box.write_user(table.replace("ports = []\n", "") + text + "\n")
        r = box.pale("run", "x")
        ok(r.status == 125 and "pale.toml:" in r.err and not box.exists("ran"), f"{text}: refused, with its line", r)
        r = box.pale("config", "check")
        ok(r.status != 0, f"{text}: seen by config check", r)
    box.write_user(table + "hosts = []\n")
    eq(reachable(box, "--preset", "workspace"), None, "none is none")
    r = box.pale("run", "--explain", "--json", "x")
    eq((r.json() or {}).get("reachable", r), None, "an empty list is none")


def check_groups(box):
    box.write_user('[host_groups]\nweb = ["a.org", "@other"]\nother = []\n')
    r = box.pale("config", "check")
    ok(r.status != 0 and "do not hold groups" in r.err, "config check sees groups that nobody uses", r)
    box.write_user('[host_groups]\nweb = ["a.org", "b.org:22"]\n')
    r = box.pale("run", "--host", "@wbe", "--", "true")
    has(r.err, 'did you mean "@web"?', "did you mean")
    r = box.pale("run", "--host", "@web", "--explain", "--", "true")
    ok("@web (" in r.out and "pale.toml:2)" in r.out, "--explain tells the group, and where it is defined", r)
    r = box.pale("config", "show", "--origin")
    ok(r.status == 0 and "host_groups.web" in r.out and "pale.toml:2" in r.out, "so does config show --origin", r)
    box.write("pale.toml", '[host_groups]\nweb = ["evil.org"]\n')
    r = box.pale("run", "--", "true")
    ok(r.status == 125 and "may stand only in the system's or the user's file" in r.err, "not in a project's file", r)
    box.write("pale.toml", '[commands.x]\ncmd = "true"\n[commands.x.sandbox]\nnetwork = "allowed_hosts"\nports = []\nhosts = ["@web"]\n')
    r = box.pale("run", "x")
    ok(r.status == 125 and "# @web: a.org:443 b.org:22" in r.err, "what a project asks for is what it stands for", r)
    ok(box.pale("trust", "--yes").status == 0 and box.pale("run", "--explain", "x").status == 0, "and can be trusted")
    box.write_user('[host_groups]\nweb = ["a.org", "b.org:22", "c.org"]\n')
    r = box.pale("run", "x")
    ok(r.status == 125 and "has changed since" in r.err, "a group that has changed asks again", r)


with Box() as the_box:
    the_box.write_user('[host_groups]\nweb = ["a.org", "b.org:22"]\n')
    check_options(the_box)
    check_files(the_box)
    check_groups(the_box)
done()
