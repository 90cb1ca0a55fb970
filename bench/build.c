/* SPDX-License-Identifier: MIT */
/*
 * build - a compile-heavy build, inside and outside.
 *
 *     build [--check] PALE
 *
 * The same folder, the same compiler, temporary files on a tmpfs in both; the two
 * take turns. Only the ratio is judged. What else bench is given is not used.
 */
#include <ftw.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 8, FUNCTIONS = 150, ROUNDS = 11 };

static char work[] = "/var/tmp/pale-bench-XXXXXX";
static char home_var[sizeof(work) + sizeof("HOME=/home")];
static char state_var[sizeof(work) + sizeof("XDG_STATE_HOME=/state")];
static char *environment[] = {
	"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TMPDIR=/dev/shm", home_var, state_var, NULL};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "build: %s\n", what);
	nftw(work, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	exit(1);
}

static FILE *create(const char *name)
{
	FILE *f = fopen(name, "w");

	if (!f)
		fail(name);
	return f;
}

static void make_project(void)
{
	char name[64];
	FILE *f;

	if (!mkdtemp(work) || chdir(work) < 0 || mkdir("ws", 0755) < 0 || mkdir("home", 0755) < 0 ||
	    chdir("ws") < 0)
		fail(work);
	snprintf(home_var, sizeof(home_var), "HOME=%s/home", work);
	snprintf(state_var, sizeof(state_var), "XDG_STATE_HOME=%s/state", work);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "f%d.c", i);
		f = create(name);
		fprintf(f, "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
		for (int j = 0; j < FUNCTIONS; j++)
			fprintf(f,
				"int f%d_%d(const char *s, int n)\n{\n\tint sum = %d;\n"
				"\tfor (int i = 0; i < n; i++)\n\t\tswitch (s[i] %% 7) {\n"
				"\t\tcase 1: sum += atoi(s + i); break;\n"
				"\t\tcase 3: sum ^= (int)strlen(s); break;\n"
				"\t\tdefault: sum = sum * 31 + s[i];\n\t\t}\n\treturn sum;\n}\n",
				i, j, j);
		fclose(f);
	}
	f = create("Makefile");
	fprintf(f,
		"all: $(patsubst %%.c,%%.o,$(wildcard f*.c))\n%%.o: %%.c\n\tgcc -O2 -c -o $@ $<\n");
	fclose(f);
}

static uint64_t run(char *const *argv)
{
	struct timespec begin, end;
	int status;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environment) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		fail(argv[0]);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000u +
	       (uint64_t)(end.tv_nsec - begin.tv_nsec);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
	char *pale = argc > check + 1 ? realpath(argv[check + 1], NULL) : NULL;
	char *outside[] = {"/usr/bin/make", "-s", "-B", "-j2", NULL};
	char *inside[] = {pale, "run", "--setenv", "TMPDIR=/tmp", "--", "/usr/bin/make",
			  "-s", "-B",  "-j2",      NULL};
	uint64_t in[ROUNDS], out[ROUNDS];
	double ratio;

	if (!pale)
		fail("usage: build [--check] PALE");
	make_project();
	run(outside); /* what is read for the first time is read for both */
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 2)
			in[i] = run(inside);
		out[i] = run(outside);
		if (!(i % 2))
			in[i] = run(inside);
	}
	qsort(in, ROUNDS, sizeof(*in), compare);
	qsort(out, ROUNDS, sizeof(*out), compare);
	ratio = (double)in[ROUNDS / 2] / (double)out[ROUNDS / 2];
	printf("\na build of %d files, %d rounds\n", FILES, ROUNDS);
	printf("%-20s %8.1f ms\n%-20s %8.1f ms\n", "outside", (double)out[ROUNDS / 2] / 1e6,
	       "inside", (double)in[ROUNDS / 2] / 1e6);
	printf("  inside / outside, p50                        %.2f   budget <= 1.02   %s\n", ratio,
	       ratio <= 1.02 ? "ok" : "MISSED");
	nftw(work, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	return check && ratio > 1.02;
}
