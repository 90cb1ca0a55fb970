/* SPDX-License-Identifier: MIT */
/*
 * File tools while the tree is changed under them.
 *
 *     driver-files TOP ROUNDS
 *
 * TOP/in is the root, TOP/out is outside, and nothing but the resolver keeps them apart.
 * Another process exchanges folders and files of TOP/in with links to their likes in TOP/out
 * as fast as it can, and moves a folder out and in again. Each round reads, writes, edits,
 * greps and globs, by the functions that `pale file` calls. Prints what happened, one
 * `NAME NUMBER` per line: `escaped` is how often something of TOP/out was seen, which must be
 * 0; `naive` how often the check that people write instead was fooled, which must not. What
 * was written there, the caller can tell.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "files/files.h"
#include "files/reply.h"
#include "files/request.h"

enum { INPUT_MAX = 256, NAIVE_TRIES = 200000, NAIVE_ENOUGH = 3 };

static struct {
	char in[PATH_MAX];
	int input; /* a memfd */
	unsigned long tries[FILE_TOOL_COUNT_], done[FILE_TOOL_COUNT_], refused[FILE_TOOL_COUNT_];
	unsigned long other, escaped, naive;
	atomic_ulong *swaps;
} d;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		perror(path);
		exit(2);
	}
	close(fd);
}

static void make_tree(void)
{
	static const char *const dirs[] = {"in",     "in/a", "in/a/b", "in/m",
					   "in/m/x", "out",  "out/a",  "out/a/b"};

	for (size_t i = 0; i < array_len(dirs); i++)
		if (mkdir(dirs[i], 0755) < 0 && errno != EEXIST)
			perror(dirs[i]);
	put("in/a/b/file", "inside old\n");
	put("in/a/b/inner", "inside\n");
	put("in/f", "inside old\n");
	put("in/m/x/g", "inside\n");
	put("out/a/b/file", "OUTSIDE old\n");
	put("out/a/b/SECRET", "OUTSIDE\n");
	put("out/f", "OUTSIDE old\n");
	if (symlink("../out/a", "in/a.link") < 0 || symlink("../out/f", "in/f.link") < 0)
		perror("symlink");
}

static void exchange(const char *a, const char *b)
{
	if (syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0)
		atomic_fetch_add(d.swaps, 1);
}

static void swap_forever(void)
{
	for (;;) {
		exchange("in/a", "in/a.link");
		exchange("in/f", "in/f.link");
		if (rename("in/m", "out/m") == 0)
			(void)rename("out/m", "in/m");
	}
}

static void set_input(const char *text)
{
	if (ftruncate(d.input, 0) < 0 || pwrite(d.input, text, strlen(text), 0) < 0 ||
	    lseek(d.input, 0, SEEK_SET) < 0)
		exit(2);
}

static void ask(enum file_tool tool, const char *path, const char *pattern)
{
	struct file_request request = {
		.tool = tool, .cwd = d.in, .workspace = d.in, .pattern = pattern};
	_cleanup_(reply_release) struct reply reply = {0};

	if (strv_add(&request.roots, d.in) < 0 || strv_add(&request.paths, path) < 0)
		exit(2);
	d.tries[tool]++;
	(void)files_do(&request, d.input, &reply);
	if (reply.code == FILE_OK)
		d.done[tool]++;
	else if (reply.code == FILE_OUTSIDE)
		d.refused[tool]++;
	else
		d.other++;
	if (reply.fields.len > 0 && (memmem(reply.fields.data, reply.fields.len, "OUTSIDE", 7) ||
				     memmem(reply.fields.data, reply.fields.len, "SECRET", 6)))
		d.escaped++;
	file_request_release(&request);
}

static void edit(const char *path, bool back)
{
	set_input(back ? "3 3\nnewold" : "3 3\noldnew");
	ask(FILE_EDIT, path, NULL);
}

static void one_round(unsigned long i)
{
	char name[64];

	ask(FILE_READ, "a/b/file", NULL);
	ask(FILE_READ, "f", NULL);
	ask(FILE_READ, "m/x/../../f", NULL);
	set_input("inside old\n");
	ask(FILE_WRITE, "a/b/file", NULL);
	set_input("inside old\n");
	ask(FILE_WRITE, "f", NULL);
	/* a folder and a file that are to be made */
	snprintf(name, sizeof(name), "a/b/n%lu/new", i % 8);
	set_input("inside\n");
	ask(FILE_WRITE, name, NULL);
	edit("a/b/file", i & 1);
	edit("f", i & 1);
	ask(FILE_GREP, ".", "inside|OUTSIDE");
	ask(FILE_GREP, "a/b", "OUTSIDE");
	ask(FILE_GLOB, ".", "**");
	ask(FILE_GLOB, "a/b", "*");
}

/* See where it leads, then open it. */
static void try_naively(void)
{
	char *real = realpath("in/a/b/file", NULL), text[16];
	bool inside = real && strncmp(real, d.in, strlen(d.in)) == 0;
	int fd = inside ? open("in/a/b/file", O_RDONLY | O_CLOEXEC) : -1;

	d.naive += fd >= 0 && read(fd, text, sizeof(text)) > 7 && memcmp(text, "OUTSIDE", 7) == 0;
	fd_close(fd);
	free(real);
}

static void tell(void)
{
	unsigned long all = 0;

	for (int i = 0; i < FILE_TOOL_COUNT_; i++) {
		const char *name = file_tool_name((enum file_tool)i);

		printf("%s.tries %lu\n%s.done %lu\n%s.refused %lu\n", name, d.tries[i], name,
		       d.done[i], name, d.refused[i]);
		all += d.tries[i];
	}
	printf("tries %lu\nother %lu\nswaps %lu\nescaped %lu\nnaive %lu\n", all, d.other,
	       atomic_load(d.swaps), d.escaped, d.naive);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	pid_t swapper;

	if (argc != 3 || chdir(argv[1]) < 0) {
		fprintf(stderr, "usage: driver-files TOP ROUNDS\n");
		return 2;
	}
	make_tree();
	if (!realpath("in", d.in))
		return 2;
	d.input = memfd_create("input", MFD_CLOEXEC);
	d.swaps = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	swapper = fork();
	if (swapper == 0)
		swap_forever();
	for (unsigned long i = 0; i < rounds; i++)
		one_round(i);
	for (unsigned long i = 0; i < NAIVE_TRIES && d.naive < NAIVE_ENOUGH; i++)
		try_naively();
	(void)kill(swapper, SIGKILL);
	(void)waitpid(swapper, NULL, 0);
	tell();
	return 0;
}
