/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc32.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "plan/plan.h"
#include "scratch.h"
#include "store/kept.h"
#include "store/record.h"
#include "store/run-record.h"
#include "store/spool.h"
#include "tap.h"

static int state;

static void read_spool(struct str *text)
{
	int fd = openat(state, SPOOL_NAME, O_RDONLY | O_CLOEXEC);

	str_release(text);
	*text = (struct str){0};
	if (fd >= 0)
		fd_read_all(fd, 1 << 24, text);
	fd_close(fd);
}

static void make_line(struct str *line, const char *json)
{
	spool_line_begin(line);
	str_append(line, json);
	spool_line_end(line);
}

static void test_line(void)
{
	struct str line = {0}, big = {0};
	const char *json;
	size_t len;

	tap_ok(crc32_of("123456789", 9) == 0xcbf43926, "the CRC is the known one");
	make_line(&line, "{\"a\":1}");
	tap_ok(line.data[0] == '\n' && line.data[line.len - 1] == '\n',
	       "a record begins and ends with a newline");
	tap_ok(spool_line_open(line.data + 1, line.len - 2, &json, &len) && len == 7 &&
		       memcmp(json, "{\"a\":1}", 7) == 0,
	       "and gives its JSON back");
	for (size_t cut = 0; cut < line.len - 2; cut++)
		if (spool_line_open(line.data + 1, cut, &json, &len))
			tap_ok(false, "cut at %zu it is one still", cut);
	tap_ok(true, "cut anywhere it is none");
	for (size_t i = 1; i < line.len - 1; i++) {
		line.data[i] ^= 1;
		if (spool_line_open(line.data + 1, line.len - 2, &json, &len))
			tap_ok(false, "changed at %zu it is one still", i);
		line.data[i] ^= 1;
	}
	tap_ok(true, "changed anywhere it is none");
	spool_line_begin(&big);
	while (big.len < SPOOL_RECORD_MAX)
		str_append(&big, "0123456789abcdef");
	tap_ok(spool_line_end(&big) == -EFBIG, "one that is too long is refused");
	str_release(&line);
	str_release(&big);
}

static void test_append(void)
{
	struct str one = {0}, two = {0}, got = {0};
	struct err err = {0};
	struct stat st;

	make_line(&one, "{\"n\":1}");
	make_line(&two, "{\"n\":2}");
	tap_ok(spool_append(state, &one, &err) == 0 && spool_append(state, &two, &err) == 0,
	       "two records are appended: %s", err.message);
	read_spool(&got);
	tap_ok(got.len == one.len + two.len && memcmp(got.data, one.data, one.len) == 0 &&
		       memcmp(got.data + one.len, two.data, two.len) == 0,
	       "one behind the other");
	tap_ok(fstatat(state, SPOOL_NAME, &st, 0) == 0 && (st.st_mode & 0777) == 0600,
	       "for nobody else");
	unlinkat(state, SPOOL_NAME, 0);
	if (symlinkat("elsewhere", state, SPOOL_NAME) < 0)
		tap_ok(false, "symlink");
	tap_ok(spool_append(state, &one, &err) < 0 && access("elsewhere", F_OK) < 0,
	       "a link in its place is not followed");
	unlinkat(state, SPOOL_NAME, 0);
	mkfifoat(state, SPOOL_NAME, 0600);
	tap_ok(spool_append(state, &one, &err) < 0, "a fifo is refused, and nobody waits");
	unlinkat(state, SPOOL_NAME, 0);
	str_release(&one);
	str_release(&two);
	str_release(&got);
}

/* A writer that waits while the file is renamed writes to the new one. */
static void test_rename_under_lock(void)
{
	struct str line = {0}, got = {0};
	struct err err = {0};
	struct stat st;
	int fd, status = -1;
	pid_t pid;

	make_line(&line, "{\"n\":1}");
	spool_append(state, &line, &err);
	fd = spool_lock(state, LOCK_EX, false, &err);
	tap_ok(fd >= 0, "the spool is locked: %s", err.message);
	pid = fork();
	if (pid == 0) {
		close(fd); /* the copy holds the lock as well */
		_exit(spool_append(state, &line, &err) == 0 ? 0 : 1);
	}
	usleep(30000);
	renameat(state, SPOOL_NAME, state, "spool.1");
	fd_close(fd);
	waitpid(pid, &status, 0);
	read_spool(&got);
	tap_ok(status == 0 && got.len == line.len, "who waited wrote to the new one");
	tap_ok(fstatat(state, "spool.1", &st, 0) == 0 && (size_t)st.st_size == line.len,
	       "and nothing to the old one");
	fd = spool_lock(state, LOCK_EX, false, &err);
	pid = fork();
	if (pid == 0) {
		struct err failed = {0};

		close(fd);
		_exit(spool_append(state, &line, &failed) == -EBUSY ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	tap_ok(status == 0, "who waits too long gives up");
	fd_close(fd);
	unlinkat(state, "spool.1", 0);
	unlinkat(state, SPOOL_NAME, 0);
	str_release(&line);
	str_release(&got);
}

/* Who keeps it open follows the name, and waits for nobody who has the old one. */
static void test_kept(void)
{
	struct str line = {0}, got = {0};
	struct err err = {0};
	struct stat st;
	int kept = -1, first, other;

	make_line(&line, "{\"n\":1}");
	tap_ok(spool_append_kept(state, &kept, &line, &err) == 0 && kept >= 0, "opened: %s",
	       err.message);
	first = kept;
	tap_ok(spool_append_kept(state, &kept, &line, &err) == 0 && kept == first, "and kept");
	other = spool_lock(state, LOCK_EX, false, &err);
	tap_ok(other >= 0, "not locked meanwhile: %s", err.message);
	renameat(state, SPOOL_NAME, state, "spool.1");
	tap_ok(spool_append_kept(state, &kept, &line, &err) == 0, "renamed and locked: %s",
	       err.message);
	fd_close(other);
	read_spool(&got);
	tap_ok(got.len == line.len, "the new one is written");
	tap_ok(fstatat(state, "spool.1", &st, 0) == 0 && (size_t)st.st_size == 2 * line.len,
	       "and nothing more to the old one");
	unlinkat(state, SPOOL_NAME, 0);
	tap_ok(spool_append_kept(state, &kept, &line, &err) == 0, "removed: %s", err.message);
	read_spool(&got);
	tap_ok(got.len == line.len, "it is made anew");
	other = spool_lock(state, LOCK_EX, false, &err);
	tap_ok(spool_append_kept(state, &kept, &line, &err) == -EBUSY && kept < 0,
	       "who waits too long gives up");
	fd_close(other);
	unlinkat(state, "spool.1", 0);
	unlinkat(state, SPOOL_NAME, 0);
	str_release(&line);
	str_release(&got);
}

static void test_size_limit(void)
{
	struct str line = {0};
	int status = -1;
	pid_t pid;

	make_line(&line, "{\"n\":1}");
	pid = fork();
	if (pid == 0) {
		struct rlimit limit = {10, 10};
		struct err err = {0};

		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(spool_append(state, &line, &err) == -EFBIG ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	tap_ok(status == 0, "past a limit on files it is refused, and the process lives");
	unlinkat(state, SPOOL_NAME, 0);
	str_release(&line);
}

static void test_living(void)
{
	int fd = living_take(state, "run-a"), status = -1;
	pid_t pid;

	tap_ok(fd >= 0 && living_is(state, "run-a"), "a run that holds its lock lives");
	tap_ok(!living_is(state, "run-b"), "another one does not");
	pid = fork();
	if (pid == 0) {
		close(fd);
		_exit(living_is(state, "run-a") ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	tap_ok(status == 0 && living_is(state, "run-a"),
	       "a child that closes its copy ends nothing");
	fd_close(fd);
	tap_ok(!living_is(state, "run-a"), "it ends with the descriptor");
	pid = fork();
	if (pid == 0) {
		living_take(state, "run-c");
		raise(SIGKILL);
	}
	waitpid(pid, &status, 0);
	tap_ok(!living_is(state, "run-c"), "and with the process");
}

/* The longest of everything fits, and what does not is counted. */
static void test_bounds(void)
{
	struct run_record record;
	struct violations violations = {.observed = true};
	struct events events = {0};
	struct plan plan = {0};
	struct str line = {0}, args = {0};
	char *argv[] = {"true", NULL, NULL};
	const char *json;
	size_t len;
	char target[VIOLATION_TARGET_MAX + 100];

	run_record_init(&record);
	snprintf(record.id, sizeof(record.id), "an-id");
	while (args.len < 10u << 20)
		str_append(&args, "\001\002\003 secret ");
	argv[1] = args.data;
	record.argv = record_argv(argv);
	tap_eq_str(record.argv, "[\"true\",\"… 1 more\"]", "an argument of 10 MB is left out");
	free(record.argv);
	str_truncate(&args, 10000);
	argv[1] = args.data;
	record.argv = record_argv(argv);
	record.command = strdup(args.data);
	for (int i = 0; i < VIOLATIONS_MAX + 5; i++) {
		struct violation *made;

		memset(target, '\001', sizeof(target) - 1);
		target[sizeof(target) - 1] = '\0';
		target[0] = (char)(' ' + i);
		violations_add(&violations, "filesystem", "open", target, 1, &made);
		if (made)
			made->rule = strdup(target);
	}
	for (int i = 0; i < EVENTS_MAX; i++)
		events_add_tamper(&events, target, TAMPER_GONE, target, target, 1);
	tap_eq_int(record_end(&record, 1, &plan, &events, &violations, NULL, &line), 0,
		   "the longest record is written");
	tap_ok(line.len <= SPOOL_RECORD_MAX && line.len > SPOOL_RECORD_MAX / 2 &&
		       spool_line_open(line.data + 1, line.len - 2, &json, &len),
	       "and is one (%zu bytes)", line.len);
	tap_ok(strstr(line.data, "\"violations_dropped\":") &&
		       !strstr(line.data, "\"violations_dropped\":0"),
	       "what was left out is counted");
	run_record_release(&record);
	violations_release(&violations);
	events_release(&events);
	str_release(&line);
	str_release(&args);
}

static void test_bytes(void)
{
	struct run_record record;
	struct str line = {0};
	char *argv[] = {"a\xff", "b", NULL};

	run_record_init(&record);
	record.program = strdup("na\xffme");
	record.argv = record_argv(argv);
	tap_eq_str(record.argv, "[{\"arg_hex\":\"61ff\"},\"b\"]", "arguments that are not UTF-8");
	record_start(&record, &line);
	tap_ok(strstr(line.data, "\"program_hex\":\"6e61ff6d65\""), "a name that is not UTF-8");
	run_record_release(&record);
	str_release(&line);
}

static void test_output(void)
{
	struct err err = {0};
	struct stat st;
	int fd = kept_make(state, "run-1", &err);

	tap_ok(fd >= 0 && write(fd, "hello", 5) == 5, "output is kept: %s", err.message);
	fd_close(fd);
	tap_ok(fstatat(state, KEPT_DIR "/run-1", &st, 0) == 0 && (st.st_mode & 0777) == 0600 &&
		       fstatat(state, KEPT_DIR, &st, 0) == 0 && (st.st_mode & 0777) == 0700,
	       "for nobody else");
	fd = kept_open(state, "run-1", &err);
	tap_ok(fd >= 0, "and found");
	fd_close(fd);
	tap_ok(kept_open(state, "../" SPOOL_NAME, &err) == -ENOENT, "an id is no path");
	kept_expire(state, 1000);
	fd = kept_open(state, "run-1", &err);
	tap_ok(fd >= 0, "it stays while it is young");
	fd_close(fd);
	kept_expire(state, UINT64_MAX);
	tap_ok(kept_open(state, "run-1", &err) == -ENOENT, "and goes when it is old");
}

int main(void)
{
	scratch_enter();
	state = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_line();
	test_append();
	test_rename_under_lock();
	test_kept();
	test_size_limit();
	test_living();
	test_bounds();
	test_bytes();
	test_output();
	close(state);
	scratch_leave();
	return tap_done();
}
