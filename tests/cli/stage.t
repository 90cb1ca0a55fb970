#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""diff, apply, discard, undo, stages: what is staged, shown and carried out."""
import base64
import fcntl
import glob
import os
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from palelib import PALE, Box, done, eq, has, ok, skip  # noqa: E402
from stagelib import StageBox, Terminal, tree  # noqa: E402

NUMBERS = "".join(f"{i}\n" for i in range(1, 61))
FILES = {
    "src/main.c": "int main(void)\n{\n\treturn 0;\n}\n",
    "numbers": NUMBERS,
    "gone": "this file will go away\n" * 5,
    "old/deep/one": "first of a folder that moves\n" * 9,
    "old/deep/two": "second of a folder that moves\n" * 9,
    "crlf": "a\r\nb\r\nc\r\n",
    "tool": "#!/bin/sh\necho tool\n",
    "empty": "",
    "no-end": "last line without an end",
    "kind": "a file, soon a link\n",
}
EVERYTHING = r"""
sed -i s/0/1/ src/main.c
sed -i -e s/^5$/five/ -e s/^40$/forty/ numbers
rm gone
mv old new
printf 'a\r\nB\r\nc\r\n' >crlf
chmod +x tool
printf 'last line without an end, longer' >no-end
rm kind; ln -s /nowhere/at/all kind
printf 'a\0b\0c' >binary
: >made-empty
mkdir -p "dir with space"; echo 1 >"dir with space/a b"
echo 2 >"$(printf 'new\nline')"
echo 3 >"$(printf 'quot"ed\\back')"
echo 4 >"$(printf '\377\376bytes')"
echo 5 >"ünï"
"""


def is_hostile(text):
    return b"\x1b]" in text or b"\x07" in text


def patch_round_trip():
    with StageBox(FILES) as box:
        before = tree(box.ws)
        box.staged(EVERYTHING)
        eq(tree(box.ws), before, "the workspace is as it was")
        patch = box.raw("diff")
        clone = box.clone("clone")
        r = box.git("apply", "--check", "-", cwd=clone, data=patch, check=False)
        eq((r.returncode, r.stderr), (0, b""), "git apply --check takes the patch as it is")
        box.git("apply", "-", cwd=clone, data=patch)
        ok(b"\nrename from old/deep/one\nrename to new/deep/one\n" in patch,
           "a folder that moved is renames", patch)
        box.git("add", "-A", cwd=clone)
        for form in ("--name-status", "--stat"):
            want = box.git("-c", "core.quotePath=true", "diff", "--cached", "-M", form,
                           cwd=clone).stdout.splitlines()
            got = box.raw("diff", form).splitlines()
            eq(sorted(got), sorted(want), f"{form} is what git says of the same changes")
        r = box.pale("apply")
        ok(r.status == 0 and "pale undo 2" in r.out, "apply", r)
        eq(tree(box.ws), tree(clone), "applied, it is what git made of the patch")
        eq((box.raw("diff"), box.pale("diff", "--exit-code").status), (b"", 0),
           "and nothing is staged any more")
        r = box.pale("undo")
        eq((r.status, tree(box.ws)), (0, before), "undo: as it was")
        eq(box.raw("diff"), patch, "and staged again, the very same")
        eq(box.pale("diff", "--exit-code").status, 1, "--exit-code says so")


def what_git_cannot_take():
    with StageBox({"file": "1\n"}) as box:
        box.staged("echo 2 >file; mkdir hollow; mkfifo pipe; chmod 600 file; git add -A; "
                   "git -c user.name=x -c user.email=x@x commit -qm inside; echo x >.git/description")
        patch = box.raw("diff")
        ok(b".git" not in patch.replace(b"diff --git", b"") and b"hollow" not in patch,
           "no path of .git, no folder", patch)
        r = box.git("apply", "--check", "-", cwd=box.clone("c"), data=patch, check=False)
        eq(r.returncode, 0, "git takes the rest")
        r = box.pale("diff")
        has(r.err, "cannot be in a patch for git", "what is left out is said")
        names = box.pale("diff", "--name-status").out
        ok("A\thollow/\n" in names and "A\tpipe\n" in names and "M\t.git/description\n" in names,
           "--name-status has it all", names)
        t = Terminal(box, "diff", env={"PALE_PAGER": "cat"})
        t.end()
        ok(b"of git's own in .git" in t.seen and b"hollow/: folder added" in t.seen,
           "a terminal is told of all of it", t.seen)
        eq(box.pale("apply").status, 0, "apply")
        ok(os.path.isdir(box.path("hollow")) and stat.S_ISFIFO(os.lstat(box.path("pipe")).st_mode),
           "applies them, too")
        eq(box.git("log", "-1", "--format=%s").stdout, b"inside\n", "the commit as well")
        eq(box.git("fsck", check=False).returncode, 0, "and the repository is whole")


def json_form():
    with StageBox({"a": NUMBERS, "Makefile": "all:\n"}) as box:
        box.staged(r"sed -i -e s/^5$/five/ -e s/^40$/forty/ a; echo x >>Makefile; echo y >.envrc; "
                   r"echo z >\"$(printf '\377n')\"".replace('\\"', '"'))
        doc = box.pale("diff", "--json").json()
        by_path = {c["path"]: c for c in doc["changes"]}
        a = by_path["a"]
        eq((a["change"], a["added"], a["removed"], [h["number"] for h in a["hunks"]]),
           ("modified", 2, 2, [1, 2]), "lines and hunks")
        eq(a["hunks"][1], {"number": 2, "old_start": 37, "old_lines": 7, "new_start": 37,
                           "new_lines": 7}, "where a hunk is")
        ok(a["run"] and a["run"]["command"] == "sh", "which run changed it", a)
        ok(by_path[".envrc"]["protected"] and by_path[".envrc"]["why"], "protected, and why")
        ok(by_path["Makefile"]["runs_later"], "runs later")
        odd = [c for c in doc["changes"] if "path_base64" in c]
        eq([base64.b64decode(c["path_base64"]) for c in odd], [b"\xffn"],
           "a name that is no UTF-8 is there in base64")
        eq(box.pale("diff", "--json", "a").json()["changes"], [a], "of one path")
        eq(box.pale("diff", "--json", "--stat").status, 2, "forms exclude each other")


def operands():
    with StageBox({"a/x": "1\n", "a/y": "1\n", "ab": "1\n", "b/c/z": "1\n"}) as box:
        os.symlink("b/c", box.path("short"))
        box.staged("echo 2 >a/x; echo 2 >a/y; echo 2 >ab; echo 2 >b/c/z")

        def names(*args, cwd=None):
            return [line.split("\t")[1] for line in
                    box.pale("diff", "--name-status", *args, cwd=cwd).out.splitlines()]

        eq(names("a"), ["a/x", "a/y"], "a folder, and not what begins like it")
        eq(names("a/", "ab"), ["a/x", "a/y", "ab"], "several")
        eq(names("x", cwd=box.path("a")), ["a/x"], "relative to where one is")
        eq(names("../b", cwd=box.path("a")), ["b/c/z"], "upwards")
        eq(names(".", cwd=box.path("b/c")), ["b/c/z"], "the folder itself")
        eq(names(box.path("ab")), ["ab"], "absolute")
        eq(names("short/z"), ["b/c/z"], "through a link")
        eq(len(names("/")), 4, "a folder around the workspace")
        for args in (["nosuch"], ["a/nosuch"], ["../outside"], [""], ["a/x/"  "below"]):
            r = box.pale("diff", *args)
            ok(r.status == 2 and r.out == "", f"{args[0]!r} is an error", r)
        r = box.pale("apply", "a", "nosuch")
        ok(r.status == 2 and "nosuch: nothing is staged there" in r.err and "hint" in r.err
           and box.read("a/x") == "1\n", "one wrong operand, and nothing is applied", r)
        r = box.pale("diff", "--stage", "defaults")
        ok(r.status == 2 and 'did you mean "default"' in r.err, "no such stage: did you mean", r)
        box.write("pale.toml", "this is no toml")
        eq(len(names()), 4, "a broken pale.toml is no obstacle")


def other_folders():
    """What is writable beside the workspace is staged as well, and shown absolute."""
    with StageBox({"a": "1\n"}) as box:
        other = os.path.join(box.top, "other")
        os.mkdir(other)
        with open(os.path.join(other, "b"), "w", encoding="ascii") as file:
            file.write("1\n")
        box.staged(f"echo 2 >a; echo 2 >{other}/b; echo 2 >{other}/c", "--write", other)
        eq(box.raw("diff", "--name-status").decode().split(),
           ["M", "a", "M", f"{other}/b", "A", f"{other}/c"], "absolute names")
        r = box.pale("diff")
        ok(r.out.count("diff --git") == 1 and "2 changes" in r.err,
           "the patch for git is about the workspace", r)
        r = box.git("apply", "--check", "-", data=box.raw("diff", other), cwd="/", check=False)
        ok(r.returncode == 0, "another folder's is relative to /", r)
        t = Terminal(box, "diff", env={"PALE_PAGER": "cat", "NO_COLOR": "1"})
        t.end()
        eq(t.seen.count(b"diff --git"), 3, "a terminal is shown all")
        eq(box.pale("apply", f"{other}/c").status, 0, "apply by an absolute path")
        ok(os.path.exists(f"{other}/c") and box.read("a") == "1\n", "that and nothing else")
        eq(box.pale("apply", "c", cwd=other, env=dict(box.env)).status != 0, True,
           "from another workspace it is not seen")
        eq(box.pale("apply", "--workspace", box.ws).status, 0, "all the rest")
        with open(f"{other}/b", encoding="ascii") as file:
            eq((file.read(), box.read("a")), ("2\n", "2\n"), "is applied in both")
        eq([box.pale("undo").status, box.pale("undo").status], [0, 0], "and taken back")
        eq((box.read("a"), os.path.exists(f"{other}/c")), ("1\n", False), "in both")


def nothing_staged():
    with StageBox({"a": "1\n"}) as box:
        eq((box.raw("diff"), box.pale("diff").status), (b"", 0), "diff of nothing")
        eq(box.pale("diff", "--json").json()["changes"], [], "as JSON")
        for verb in ("apply", "discard"):
            r = box.pale(verb)
            ok(r.status == 0 and "nothing is staged" in r.out, f"{verb} of nothing", r)
        r = box.pale("undo")
        ok(r.status == 2 and "taken back" in r.err, "undo of nothing", r)
        eq(box.pale("undo", "--list", "--json").json(), [], "undo --list")
        r = box.pale("stages")
        ok(r.status == 0 and "no stage" in r.out, "stages", r)
        eq(box.pale("stages", "--json").json(), [], "stages --json")
        r = box.pale("stages", "rm", "x")
        eq(r.status, 2, "stages rm of none")
        ok(not os.path.exists(box.env["XDG_STATE_HOME"]), "and nothing was written anywhere")


def on_terminals():
    text = "plain\n\x1b]0;owned\x07\n\u202erotated\n\tindented\n"
    with StageBox({"a": NUMBERS, "evil": "x\n"}) as box:
        box.write("../evil-new", text)
        box.staged(r"sed -i s/^5$/five/ a; printf 'plain\n\033]0;owned\007\n"
                   "\u202e" r"rotated\n\tindented\n' >evil; echo x >.envrc; "
                   r"echo >\"$(printf 'na\033[31mme')\"".replace('\\"', '"'))
        t = Terminal(box, "diff", env={"PALE_PAGER": "cat"})
        status = t.end()
        ok(status == 0 and b"\x1b[32m+five" in t.seen and b"\x1b[31m-5" in t.seen, "coloured", t.seen)
        ok(not is_hostile(t.seen) and b"+\\x1b]0;owned\\x07" in t.seen and b"\\u{202e}rotated" in t.seen
           and b"+\tindented" in t.seen, "what could deceive is escaped, tabs are not", t.seen)
        ok(b"[31mme" not in t.seen.replace(b"\\033[31mme", b""), "in names as well", t.seen)
        ok(b"# PROTECTED: " in t.seen and b"# run " in t.seen and b"(sh), just now" in t.seen,
           "marks, and the run", t.seen)
        t = Terminal(box, "diff", env={"PALE_PAGER": "cat", "NO_COLOR": "1"})
        t.end()
        ok(b"\x1b" not in t.seen and b"+five" in t.seen, "NO_COLOR", t.seen)
        ok(b"\x1b]0;owned\x07" in box.raw("diff") and b"# " not in box.raw("diff"),
           "twin: a pipe gets the bytes, and no marks")


def pagers():
    with StageBox({"a": NUMBERS}) as box:
        box.staged("seq 1 3000 >a")
        note = box.path("../paged")
        for name in ("PALE_PAGER", "GIT_PAGER", "PAGER"):
            t = Terminal(box, "diff", env={name: f"cat >{note}"})
            eq((t.end(), os.path.exists(note)), (0, True), f"${name}")
            with open(note, "rb") as file:
                text = file.read()
            ok(b"+3000" in text and b"\x1b[32m" in text and b"+3000" not in t.seen,
               "it gets all of it, coloured", text[-100:])
            os.unlink(note)
        t = Terminal(box, "diff", env={"PALE_PAGER": "", "PAGER": f"cat >{note}"})
        eq((t.end(), os.path.exists(note), b"+3000" in t.seen), (0, False, True),
           "an empty one is none, and the first counts")
        ok(b"+3000" in subprocess.run([PALE, "diff"], cwd=box.ws, stdin=subprocess.DEVNULL,
                                      env=dict(box.env, PALE_PAGER=f"cat >{note}"),
                                      capture_output=True, check=False).stdout
           and not os.path.exists(note), "never when piped")
        t = Terminal(box, "diff", env={"PALE_PAGER": "head -n 3"})
        eq(t.end(), 0, "a pager that ends early is no error")
        t = Terminal(box, "diff", env={"PALE_PAGER": "nosuch-pager"})
        ok(t.end() == 1 and b"PALE_PAGER=cat" in t.seen, "one that is not there", t.seen)
        t = Terminal(box, "diff")
        ok(t.wait(b"@@"), "less", t.seen)
        time.sleep(0.2)
        t.type("q")
        eq(t.end(), 0, "quit after a page")
        box.pale("discard", "--all")
        box.staged("echo 1 >b")
        t = Terminal(box, "diff")
        eq((t.end(), b"+1" in t.seen), (0, True), "less does not stop for a short one")


def protected():
    with StageBox({"a": "1\n", ".envrc": "mine\n"}) as box:
        box.staged("echo 2 >a; echo evil >.envrc; echo hook >.git/hooks/post-commit")
        r = box.pale("apply")
        ok(r.status == 0 and "protected   .envrc" in r.out and "pale apply .envrc --include-protected .envrc\n" in r.out,
           "apply leaves them, and says how", r)
        eq((box.read("a"), box.read(".envrc"), box.exists(".git/hooks/post-commit")),
           ("2\n", "mine\n", False), "the rest is applied")
        r = box.pale("apply", ".envrc")
        eq((r.status, box.read(".envrc")), (0, "mine\n"), "a path alone does not name it")
        r = box.pale("apply", "--include-protected", ".envrc")
        eq((r.status, box.read(".envrc")), (0, "evil\n"), "--include-protected does")
        eq(box.exists(".git/hooks/post-commit"), False, "only what it names")
        doc = box.pale("apply", "--json").json()
        eq([(c["path"], c["outcome"]) for c in doc["changes"]],
           [(".git/hooks/post-commit", "protected")], "--json")
    with StageBox({".envrc": NUMBERS, "a": NUMBERS + "a\n", "c": NUMBERS + "c\n"}) as box:
        box.staged("mv .envrc notes; mv a b; mv c d")
        eq(box.pale("diff", "--name-status").out, "D\t.envrc\nR100\ta\tb\nR100\tc\td\nA\tnotes\n",
           "a protected file that goes is no mere rename")
        t = Terminal(box, "diff", env={"PALE_PAGER": "cat"})
        ok(t.end() == 0 and b"PROTECTED" in t.seen.split(b"a/.envrc")[0], "it is marked", t.seen)
        marked = [c["path"] for c in box.pale("diff", "--json").json()["changes"] if c["protected"]]
        eq(marked, [".envrc"], "in --json, too")
        box.write("c", NUMBERS + "mine\n")
        eq(box.pale("diff", "--name-status").out, "D\t.envrc\nR100\ta\tb\nD\tc\nA\td\nA\tnotes\n",
           "nor is one that changed on the host")


def hunks():
    with StageBox({"a": NUMBERS, "bin": "a\n"}) as box:
        box.staged(r"sed -i -e s/^5$/five/ -e s/^30$/thirty/ -e s/^55$/fifty-five/ a; "
                   r"printf 'a\0b' >bin; echo new >fresh")
        r = box.pale("apply", "--hunk", "a:2")
        eq((r.status, box.read("a")), (0, NUMBERS.replace("30\n", "thirty\n")), "one hunk")
        ok(not box.exists("fresh"), "and nothing else")
        eq(box.raw("diff", "a").count(b"\n@@"), 2, "the others stay staged")
        r = box.pale("apply", "--hunk", "a:1", "--hunk", "a:2", "fresh")
        eq((r.status, box.read("a"), box.read("fresh")),
           (0, NUMBERS.replace("30\n", "thirty\n").replace("\n5\n", "\nfive\n")
            .replace("55\n", "fifty-five\n"), "new\n"), "two hunks and a path")
        for text, why in (("bin:1", "no hunks"), ("nosuch:1", "nothing is staged"), ("bin", "FILE:N"),
                          ("bin:0", "FILE:N"), ("bin:x", "FILE:N"), (":1", "FILE:N"),
                          ("bin:99999999999999999999", "FILE:N")):
            r = box.pale("apply", "--hunk", text)
            ok(r.status == 2 and why in r.err, f"--hunk {text}: {why}", r)
        box.staged(r"mkdir d; printf 'a\0b' >d/bin")
        os.mkdir(os.path.join(box.ws, "d"))
        r = box.pale("apply", "--hunk", "bin:1", cwd=os.path.join(box.ws, "d"))
        ok(r.status == 2 and "`pale apply bin`" in r.err, "what helps is said as it can be typed there", r)
        box.staged("echo more >>a")
        r = box.pale("apply", "--hunk", "a:2")
        ok(r.status == 2 and "only 1" in r.err, "a hunk too far", r)


def conflicts():
    with StageBox({"a": NUMBERS, "b": NUMBERS, "c": "1\n"}) as box:
        box.staged("sed -i s/^5$/five/ a; sed -i s/^5$/five/ b; echo 2 >c")
        time.sleep(0.02)
        box.write("a", NUMBERS.replace("\n5\n", "\nFIVE, mine\n"))
        box.write("b", NUMBERS.replace("60\n", "sixty, mine\n"))
        r = box.pale("apply")
        ok(r.status == 1 and "conflict    a" in r.out and "merged      b" in r.out
           and "pale diff --conflict a" in r.out, "one is left, one merged, the rest applied", r)
        ok("pale apply a --take-staged a;" in r.out and "pale discard a\n" in r.out, "and how to decide", r)
        eq((box.read("a"), box.read("c")), (NUMBERS.replace("\n5\n", "\nFIVE, mine\n"), "2\n"),
           "nothing of the user's is lost")
        eq(box.read("b"), NUMBERS.replace("\n5\n", "\nfive\n").replace("60\n", "sixty, mine\n"),
           "both changes are in the merge")
        out = box.raw("diff", "--conflict", "a")
        first, second = out.split(b"staged, by the command")
        ok(b"\n-5\n+FIVE, mine\n" in first and b"\n-5\n+five\n" in second, "both sides are shown", out)
        r = box.pale("diff", "--conflict", "c")
        ok(r.status == 2, "no conflict there", r)
        r = box.pale("apply", "--take-staged", "a")
        eq((r.status, box.read("a")), (0, NUMBERS.replace("\n5\n", "\nfive\n")), "--take-staged")
        box.staged("echo 3 >c")
        time.sleep(0.02)
        box.write("c", "mine\n")
        eq(box.pale("discard", "c").status, 0, "discard")
        eq((box.read("c"), box.raw("diff")), ("mine\n", b""), "keeps the user's")
        box.staged("echo 3 >made")
        box.write("made", "mine\n")
        out = box.raw("diff", "--conflict", "made")
        ok(b"the command found none" in out and b"not kept" not in out and b"\n-mine\n+3\n" in out,
           "of a file that the command made, there was none", out)


def said():
    """What is said to decide about one file decides about no other."""
    with StageBox({"d/a b": "1\n", "other": "1\n"}) as box:
        box.staged("echo 2 >'d/a b'; echo 2 >other; echo 2 >.envrc")
        time.sleep(0.02)
        box.write("d/a b", "mine\n")
        sub = box.path("d")
        t = Terminal(box, "diff", "--conflict", "a b", cwd=sub, env={"PALE_PAGER": "cat"})
        t.end()
        for text, way in ((t.seen.decode(), "# the staged one: "), (box.pale("apply", "a b", cwd=sub).out, "; the staged one: "),
                          (box.pale("apply", "../.envrc", cwd=sub).out, "; to apply it: ")):
            line = text.split(way)[1].split(";")[0].split("\n")[0].strip() if way in text else text
            ok(line.startswith("pale apply "), f"said: {way}", text)
            box.staged("echo 2 >'d/a b'; echo 2 >.envrc")
            r = subprocess.run(["sh", "-c", line.replace("pale", PALE, 1)], cwd=sub, env=box.env, capture_output=True, check=False)
            ok(r.returncode == 0 and box.read(".envrc" if ".envrc" in line else "d/a b") == "2\n", "and done where it was said", (line, r))
            eq(box.read("other"), "1\n", "nothing else is applied")
            box.write("d/a b", "mine\n")


def merging():
    """What is shown of a file that merges is what apply writes."""
    letters = "a\nb\nc\nd\ne\nf\ng\n"
    both = letters.replace("a", "A").replace("g", "G")
    with StageBox({"m": letters, "x": letters, "same": letters, "why": "1\n"}) as box:
        box.staged("sed -i s/a/A/ m; chmod +x x; sed -i s/a/A/ same")
        time.sleep(0.02)
        box.write("m", letters.replace("g", "GG"))
        box.write("x", letters.replace("g", "G"))
        box.write("same", both)
        patch = box.raw("diff", "m")
        ok(b"\n-a\n+A\n" in patch and b"-GG" not in patch and b"+g" not in patch,
           "the user's own edit is not taken back", patch)
        r = box.pale("diff")
        eq(r.err, "", "no word of a conflict")
        change = box.pale("diff", "--json", "m").json()["changes"][0]
        eq((change["merges"], change["added"], change["removed"], change["new"]["size"]),
           (True, 1, 1, len(letters) + 1), "--json counts, and knows the size")
        has(box.pale("diff", "--stat", "m").out, "1 insertion(+), 1 deletion(-)", "--stat as well")
        eq(box.raw("diff", "same"), b"", "nothing is written where the user has it already")
        t = Terminal(box, "diff", env={"PALE_PAGER": "cat"})
        t.end()
        ok(t.seen.count(b"MERGES: ") == 3 and b"same: has all of it already" in t.seen,
           "a terminal is told of each", t.seen)
        out = box.raw("diff", "--conflict", "m")
        ok(b"\n-g\n+GG\n" in out and b"\n-a\n+A\n" in out.split(b"staged, by")[1],
           "--conflict shows what each did", out)
        r = box.pale("apply", "--hunk", "m:1")
        ok(r.status == 2 and "merged as a whole" in r.err and "pale apply m" in r.err,
           "hunks of it are refused, with a hint", r)
        eq(box.read("m"), letters.replace("g", "GG"), "and nothing was done")
        copy = os.path.join(box.top, "copy")
        subprocess.run(["cp", "-r", box.ws, copy], check=True)
        box.git("apply", "-", cwd=copy, data=box.raw("diff"))
        eq(box.pale("apply").status, 0, "apply")
        eq(tree(box.ws), tree(copy), "writes what git made of the patch")


def patch_of_conflicts():
    with StageBox({"a": "1\n", "b": "1\n", "c": "1\n"}) as box:
        box.staged("echo 2 >a; echo 2 >b; echo 2 >c; echo 2 >.git/description")
        time.sleep(0.02)
        box.write("a", "mine\n")
        box.write("c", "mine\n")
        box.write(".git/description", "mine\n")
        r = box.pale("diff")
        ok("\n-mine\n+2\n" in r.out, "a conflict is the difference as it is", r)
        lines = [line for line in r.err.splitlines() if "in conflict" in line]
        ok(len(lines) == 1 and lines[0].endswith(": a, c"), "and one line names them", r.err)
        ok("in conflict" not in box.pale("diff", "b").err, "but not for others")
    with StageBox() as box:
        box.write(".git/words", NUMBERS)
        box.staged("sed -i s/^5$/five/ .git/words")
        time.sleep(0.02)
        box.write(".git/words", NUMBERS.replace("60\n", "sixty\n"))
        change = box.pale("diff", "--json", ".git/words").json()["changes"][0]
        eq((change["conflict"], change["merges"]), (True, False), "nothing in .git merges")
        eq(box.pale("apply").status, 1, "nor is it merged")


def discards():
    with StageBox({"a": "1\n", "b": "1\n"}) as box:
        box.staged("echo 2 >a; echo 2 >b; echo 2 >c")
        r = box.pale("discard")
        ok(r.status == 2 and "--all" in r.err, "all of it, without a terminal: --all is needed", r)
        t = Terminal(box, "discard")
        ok(t.wait(b"[y/N] ") and b"all 3" in t.seen, "on one it asks", t.seen)
        t.type("n\n")
        eq(t.end(), 1, "no is no")
        eq(box.raw("diff").count(b"diff --git"), 3, "all is there")
        eq(box.pale("discard", "a").status, 0, "a path needs no question")
        eq(box.raw("diff").count(b"diff --git"), 2, "it is gone, the rest is not")
        t = Terminal(box, "discard")
        t.wait(b"[y/N] ")
        t.type("y\n")
        eq((t.end(), box.raw("diff")), (0, b""), "yes is yes")
        eq(box.read("a"), "1\n", "the workspace is as it was")
        doc = box.pale("undo", "--list", "--json").json()
        eq([(e["what"], e["changes"], e["undone"]) for e in doc],
           [("discard", 2, False), ("discard", 1, False)], "undo --list, newest first")
        eq(box.pale("undo", doc[1]["id"]).status, 0, "undo of a named one")
        eq(box.raw("diff", "--name-status"), b"M\ta\n", "takes back exactly that")
        eq(box.pale("undo", doc[1]["id"]).status != 0, True, "not twice")
        eq(box.pale("undo").status, 0, "the other one")
        eq(box.raw("diff").count(b"diff --git"), 3, "all is staged again")
        r = box.pale("undo", "20200101-000000-000000")
        ok(r.status == 2 and "undo --list" in r.err, "undo of an unknown one", r)
        t = Terminal(box, "discard")
        ok(t.wait(b"[y/N] ") and b"all 3" in t.seen, "it asks about three", t.seen)
        box.staged("echo 3 >b; echo 2 >d")
        t.type("y\n")
        eq((t.end(), box.pale("diff", "--name-status").out), (1, "M\tb\nA\td\n"), "what came meanwhile was not meant")
        eq(box.pale("discard", "--all").status, 0, "twin: without a question all is")
        eq(box.raw("diff"), b"", "thrown away")


def undo_refuses():
    with StageBox({"a": "1\n", "b": "1\n"}) as box:
        box.staged("echo 2 >a; echo 2 >b")
        box.pale("apply")
        box.write("a", "mine\n")
        r = box.pale("undo")
        ok(r.status == 1 and "  changed     a" in r.out, "a file that changed since is left", r)
        eq((box.read("a"), box.read("b")), ("mine\n", "1\n"), "the rest is taken back")


def whose():
    """A change has the name of the run that made it, or none."""
    with StageBox({"gone": "1\n", "also": "1\n", "old": "1\n"}) as box:
        def runs():
            return {c["path"]: c["run"] and c["run"]["command"]
                    for c in box.pale("diff", "--json").json()["changes"]}

        box.pale("run", "--staged", "--", "sh", "-c", "echo 2 >evil; rm gone; echo 2 >old; mkdir d")
        want = {"evil": "sh", "gone": "sh", "old": "sh", "d": "sh"}
        eq(runs(), want, "the run's")
        for verb in (["apply"], ["discard", "--all"]):
            box.pale(*verb)
            eq(box.pale("undo").status, 0, f"{verb[0]} is taken back")
            ok(all(runs().get(name) in ("sh", None) for name in want), "its own again, or nobody's", runs())
            box.pale("run", "--staged", "--", "true")
            ok(all(runs().get(name) in ("sh", None) for name in want),
               "a run that wrote nothing gets no name", runs())
        eq((runs()["evil"], runs()["old"]), ("sh", "sh"), "files are known still")
        box.pale("run", "--staged", "--", "touch", "good")
        box.pale("run", "--staged", "--", "rm", "also")
        box.pale("run", "--staged", "--", "tee", "old")
        eq(runs(), dict(want, good="touch", also="rm", old="tee"), "and each has its own")


def stages():
    with StageBox({"a": "1\n"}) as box:
        box.staged("echo 2 >a")
        box.staged("echo 3 >a; echo 3 >b", "--stage", "other")
        r = box.pale("stages")
        rows = [line.split() for line in r.out.splitlines()[1:]]
        eq([row[:2] for row in rows], [["default", "1"], ["other", "2"]], "names and counts")
        doc = box.pale("stages", "list", "--json").json()
        ok(doc[1]["size"] > 0 and doc[1]["created"] > 1e9 and doc[1]["roots"] == [box.ws]
           and len(doc[1]["runs"]) == 1 and not doc[1]["runs"][0]["living"], "--json", doc)
        eq(box.pale("diff", "--stage", "other", "--name-status").out, "M\ta\nA\tb\n", "--stage")
        running = subprocess.Popen([PALE, "run", "--stage", "other", "--", "sh", "-c",
                                    "echo BOOTED; sleep 60"], cwd=box.ws, env=box.env,
                                   stdout=subprocess.PIPE)
        eq(running.stdout.readline(), b"BOOTED\n", "a run is under way")
        has(box.pale("stages").out, f"sh (pid {running.pid})", "it is named")
        for args in (["apply"], ["discard", "--all"]):
            r = box.pale(*args, "--stage", "other")
            ok(r.status == 1 and str(running.pid) in r.err, f"{args[0]} waits for nobody", r)
        r = box.pale("stages", "rm", "-f", "other")
        ok(r.status == 1 and str(running.pid) in r.err, "it cannot be removed", r)
        eq(box.pale("diff", "--stage", "other").status, 0, "but looked at")
        running.terminate()
        running.wait()
        with open(glob.glob(box.env["XDG_STATE_HOME"] + "/pale/*/stages/other/lock")[0], "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            r = box.pale("apply", "--stage", "other")
            ok(r.status == 1 and "being changed by another pale" in r.err, "another apply is no run", r)
        r = box.pale("stages", "rm", "other")
        ok(r.status == 2 and "2 changes" in r.err and "--force" in r.err, "one with changes: --force", r)
        eq(box.pale("stages", "rm", "--force", "other").status, 0, "--force")
        eq([s["stage"] for s in box.pale("stages", "-j").json()], ["default"], "it is gone")
        box.pale("apply")
        eq(box.pale("stages", "rm", "default").status, 0, "one without changes goes")


SLOW = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=openat,openat2,renameat2,statx:delay_enter=2000"]


def removed():
    """A stage whose removal is interrupted is gone, and so is in the end all that was in it."""
    with StageBox({"a": "1\n"}) as box:
        for call, numbers in (("unlinkat", (2, 10, 60)), ("renameat", (2, 3))):
            for number in numbers:
                box.staged("echo 2 >a; mkdir -p d/d; for i in $(seq 40); do echo $i >d/$i; echo $i >d/d/$i; done")
                stages = os.path.dirname(box.stage())
                r = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e",
                                    f"inject={call}:signal=SIGKILL:when={number}", PALE, "stages", "rm", "-f", "default"],
                                   cwd=box.ws, env=box.env, capture_output=True, check=False)
                left = os.listdir(stages)
                ok(r.returncode != 0 and left, f"{call} {number}: killed while something is left", (r, left))
                has(box.pale("stages").out, "there is no stage", "there is no such stage any more")
                box.staged("echo 3 >a")
                eq((box.pale("diff", "--name-status").out, len(box.raw("diff").splitlines())), ("M\ta\n", 7), "a new one has its name")
                eq(box.pale("stages", "rm", "-f", "default").status, 0, "which is removed")
                eq(os.listdir(stages), [], "with what was left of the other")


def interrupt(box, verb, word):
    """Ctrl-C as soon as a verb, slowed down, shows how far it is: its status, and what it printed."""
    t = Terminal(box, verb, wrap=SLOW)
    t.wait(word, 60)
    t.type("\x03")
    return t.end(60), t.seen


def interrupted():
    with StageBox({"a": "1\n"}) as box:
        box.staged("mkdir d; i=0; while [ $i -lt 600 ]; do echo $i >d/$i; i=$((i+1)); done; echo 2 >a")
        before = tree(box.ws)
        status, seen = interrupt(box, "apply", b"applying")
        ok(status == 130 and b"stopped: nothing was applied" in seen, "Ctrl-C of an apply is said", seen)
        eq(tree(box.ws) == before, True, "and nothing is applied")
        eq(box.pale("apply").status, 0, "afterwards it works")
        eq(len(os.listdir(box.path("d"))), 600, "all is there")
        after = tree(box.ws)
        status, seen = interrupt(box, "undo", b"taking back")
        ok(status == 130 and b"stopped: nothing was taken back" in seen, "Ctrl-C of an undo is said", seen)
        eq(tree(box.ws) == after, True, "and all stays applied")
        eq(box.pale("undo").status, 0, "afterwards it works, too")
        eq(os.path.exists(box.path("d")), False, "all is gone")


def progress():
    """Work that lasts is seen on a terminal, and nothing of it stays."""
    with StageBox({"a": "1\n"}) as box:
        box.staged("mkdir d; for i in $(seq 100 399); do echo $i >d/$i; done")
        for verb, word in (("apply", b"applying"), ("undo", b"taking back"), ("diff", b"reading what is staged")):
            t = Terminal(box, verb, wrap=SLOW, env={"PALE_PAGER": "cat"})
            status = t.end(60)
            ok(status == 0 and word in t.seen and t.seen.rsplit(word)[-1].find(b"\r\x1b[K") >= 0,
               f"{verb}: it is shown, and wiped", t.seen[-500:])
        t = Terminal(box, "apply")
        ok(t.end() == 0 and b"applying" not in t.seen.split(b"applied")[0] or b"\r\x1b[K" in t.seen,
           "twin: not for what is quick", t.seen)
        r = box.pale("undo")
        ok("\r" not in r.err + r.out, "nor without a terminal", r)


def recovered():
    """After a kill the next command ends what was begun, and says so."""
    with StageBox({"a": "1\n", "b": "1\n"}) as box:
        box.staged("echo 2 >a; echo 2 >b; echo 2 >c")
        before, said = tree(box.ws), set()
        for call in ("renameat2", "openat", "unlinkat"):
            for number in (1, 2, 3, 40):
                subprocess.run(["strace", "-f", "-o", "/dev/null", "-e",
                                f"inject={call}:signal=SIGKILL:when={number}", PALE, "apply"],
                               cwd=box.ws, env=box.env, capture_output=True, check=False)
                r = box.pale("stages")
                names = box.pale("diff", "--name-status").out
                after = tree(box.ws)
                whole = (after == before) == (names == "M\ta\nM\tb\nA\tc\n")
                if "was interrupted, and has been" in r.err:
                    said.add("end" if "carried to its end" in r.err else "back")
                    whole = whole and (after == before) == ("taken back" in r.err)
                ok(whole and (after == before or names == ""), f"{call} {number}: all or nothing, and said",
                   (r, names, after))
                if after != before:
                    box.pale("undo")
        ok("end" in said, f"seen: {sorted(said)}")


def boot_before(box, keep=0):
    """All runs but the last KEEP were begun before the machine was restarted."""
    log = os.path.join(box.stage(), "runs")
    with open(log, encoding="ascii") as file:
        lines = [line for line in file.read().split("\n") if line]
    begun = [line for line in lines if line.startswith("begin ")]
    for i, line in enumerate(lines):
        if line not in begun[:len(begun) - keep]:
            continue
        words = line.split(" ")[:-1]
        words[4] = "11111111-2222-3333-4444-555555555555"
        text, checksum = " ".join(words), 2166136261
        for c in text.encode():
            checksum = (checksum ^ c) * 16777619 % 2**32
        lines[i] = f"{text} {checksum:08x}"
    with open(log, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


def restarted():
    """What a restart of the machine may have cut is refused, and nothing else, nor for good."""
    with StageBox({"a": "1\n", "b": "1\n"}) as box:
        box.staged("echo 2 >a; echo 2 >b")
        boot_before(box)
        r = box.pale("apply")
        ok(r.status == 1 and "the machine was restarted" in r.err and "accept-unsynced" in r.err and tree(box.ws)[b"a"][1] == b"1\n",
           "of an earlier boot: refused", r)
        box.staged("echo 3 >c")
        r = box.pale("apply", "c")
        ok(r.status == 0 and tree(box.ws)[b"c"][1] == b"3\n", "what a run has left since then is not", r)
        r = box.pale("apply", "a")
        ok(r.status == 1 and "restarted" in r.err, "the others still are", r)
        r = box.pale("apply", "--accept-unsynced", "a")
        ok(r.status == 0 and tree(box.ws)[b"a"][1] == b"2\n", "until they are taken as they are", r)
        r = box.pale("apply")
        ok(r.status == 1 and "restarted" in r.err, "each of them", r)
        box.pale("apply", "--accept-unsynced")
        box.staged("true")
        boot_before(box)
        box.staged("echo 4 >c")
        r = box.pale("apply")
        ok(r.status == 0 and tree(box.ws)[b"c"][1] == b"4\n", "runs that left nothing matter no more", r)
        box.staged("echo 5 >c; echo 5 >.envrc")
        r = box.pale("apply")
        ok(r.status == 0 and "protected" in r.out, "an apply writes all to the disk, also what it leaves", r)
        boot_before(box)
        r = box.pale("apply", "--include-protected", ".envrc")
        ok(r.status == 0 and tree(box.ws)[b".envrc"][1] == b"5\n", "which the next boot may take", r)
        box.staged("echo 6 >c")
        os.unlink(os.path.join(box.stage(), "index"))
        r = box.pale("apply")
        ok(r.status == 0, "a change of this boot whose run is not known", r)
        box.staged("echo 7 >c")
        boot_before(box)
        os.unlink(os.path.join(box.stage(), "runs"))
        r = box.pale("apply")
        ok(r.status == 0, "nor is the log needed for that", r)


def restarted_in_a_run():
    """Nobody recorded what it did to what another had left, and an apply had written to the disk."""
    with StageBox({"a": "1\n", "b": "1\n", "c": "1\n"}) as box:
        box.staged("echo 2 >a; echo 2 >b; echo 2 >c")
        eq((box.pale("apply", "c").status, box.pale("undo").status), (0, 0), "all is on the disk")
        run = subprocess.Popen([PALE, "run", "--staged", "--", "sh", "-c", "echo 3 >a; echo BOOTED; sleep 60"],
                               cwd=box.ws, env=box.env, stdout=subprocess.PIPE)
        eq(run.stdout.readline(), b"BOOTED\n", "a run is at one of them")
        run.kill()
        run.wait()
        time.sleep(1.5)
        with open("/proc/uptime", encoding="ascii") as file:
            up = int(float(file.read().split()[0]))
        restarted_now = ["unshare", "--time", f"--boottime=-{up}", "--fork"]
        if subprocess.run([*restarted_now, "true"], capture_output=True, check=False).returncode != 0:
            skip("the time of the start cannot be changed here, as by root")
            return

        def apply(*args):
            return subprocess.run([*restarted_now, PALE, "apply", *args], cwd=box.ws, env=box.env, capture_output=True, check=False)
        r = apply("a")
        ok(r.returncode == 1 and b"the machine was restarted" in r.stderr and box.read("a") == "1\n", "that is refused", r)
        r = apply("b", "c")
        ok(r.returncode == 0 and box.read("b") == box.read("c") == "2\n", "twin: the others are not, nor what an undo staged again", r)
        r = box.pale("apply", "a")
        ok(r.status == 0 and box.read("a") == "3\n", "nor that, where the machine was not", r)


def cost():
    """Work follows the changes, not the tree: the same calls in both."""
    counts = []
    for size in (100, 10000):
        with StageBox() as box:
            for i in range(size):
                if i % 500 == 0:
                    os.makedirs(box.path(f"d{i // 500}"))
                with open(box.path(f"d{i // 500}/{i}"), "w", encoding="ascii") as file:
                    file.write(f"{i}\n" * 20)
            box.staged("for i in 0 1 2 3 4 5 6 7 8 9; do echo x >>d0/$i; done")
            log = os.path.join(box.top, "calls")
            r = subprocess.run(["strace", "-f", "-o", log, PALE, "diff"], cwd=box.ws, env=box.env,
                               capture_output=True, check=False)
            if r.returncode != 0 or r.stdout.count(b"diff --git") != 10:
                ok(False, "diff under strace", r)
                return
            with open(log, encoding="utf-8", errors="replace") as file:
                counts.append(len(file.readlines()))
    ok(counts[1] <= counts[0] * 1.05, "10 changes cost the same in a large tree", counts)


with Box() as the_box:
    works = the_box.pale("run", "--staged", "--", "true").status == 0
if works:
    for case in (patch_round_trip, what_git_cannot_take, json_form, operands, other_folders, nothing_staged,
                 on_terminals, pagers, protected, hunks, conflicts, said, merging,
                 patch_of_conflicts, discards, undo_refuses, whose,
                 stages, removed,
                 interrupted, progress, recovered, restarted, restarted_in_a_run, cost):
        if os.environ.get("CASE", "") in case.__name__:
            print(f"# {case.__name__}", flush=True)
            case()
else:
    skip("staged runs do not work here")
done()
