/* SPDX-License-Identifier: MIT */
/*
 * runs - who used the stage, and when.
 *
 * One line each, written by one write(2) at the end of the file, and ended by a
 * checksum: a line that was torn by a crash is passed over, and with it nothing
 * but itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "stage/access.h"
#include "stage/stage.h"
#include "stage/text.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
enum { RUNS_MAX = 64 << 20, SUM = 8 };

int stage_boot_id(char ret_id[STAGE_BOOT_MAX], struct err *err)
{
	_cleanup_(fd_closep) int fd = fd_open(BOOT_ID, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, ret_id, STAGE_BOOT_MAX - 1);

	if (n <= 0)
		return err_sys(err, n < 0 ? -errno : -EIO, "read " BOOT_ID);
	ret_id[n] = '\0';
	ret_id[strcspn(ret_id, "\n")] = '\0';
	return 0;
}

static void checksum(const char *text, size_t len, char ret_sum[SUM + 1])
{
	uint32_t sum = 2166136261u;

	/* FNV-1a: against accidents, nobody else writes there. */
	for (size_t i = 0; i < len; i++)
		sum = (sum ^ (unsigned char)text[i]) * 16777619u;
	snprintf(ret_sum, SUM + 1, "%08" PRIx32, sum);
}

/* Begun by a newline: it must not become part of a line that was torn. */
static int append(struct stage *stage, const struct str *line, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	char sum[SUM + 1];
	int r;

	if (stage->runs_fd < 0)
		stage->runs_fd = openat(stage->dir_fd, "runs",
					O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
					0600);
	if (stage->runs_fd < 0)
		return err_sys(err, -errno, "open the runs of stage %s", stage->name);
	checksum(line->data, line->len, sum);
	if (str_appendf(&text, "\n%s %s\n", line->data, sum) < 0)
		return err_oom(err);
	r = fd_write_all(stage->runs_fd, text.data, text.len);
	return r < 0 ? err_sys(err, r, "write to the runs of stage %s", stage->name) : 0;
}

int stage_begin(struct stage *stage, const char *run_id, pid_t pid, struct timespec t0,
		const char *command, struct err *err)
{
	_cleanup_(str_release) struct str line = {0};
	char boot[STAGE_BOOT_MAX];
	int r = stage_boot_id(boot, err);

	if (r < 0)
		return r;
	r = str_appendf(&line, "begin %s %d %lld.%09ld %s ", run_id, pid, (long long)t0.tv_sec,
			t0.tv_nsec, boot);
	if (r == 0)
		r = stage_text_put(&line, command && *command ? command : "-");
	return r < 0 ? err_oom(err) : append(stage, &line, err);
}

int stage_end(struct stage *stage, const char *run_id, struct err *err)
{
	_cleanup_(str_release) struct str line = {0};
	struct timespec now = clock_now(CLOCK_REALTIME);

	if (str_appendf(&line, "end %s %lld.%09ld", run_id, (long long)now.tv_sec, now.tv_nsec) < 0)
		return err_oom(err);
	return append(stage, &line, err);
}

int stage_note_lost(struct stage *stage, const char *run_id, struct err *err)
{
	_cleanup_(str_release) struct str line = {0};

	return str_appendf(&line, "lost %s", run_id) < 0 ? err_oom(err) : append(stage, &line, err);
}

int stage_note_synced(struct stage *stage, struct err *err)
{
	_cleanup_(str_release) struct str line = {0};
	struct timespec now = clock_now(CLOCK_REALTIME);

	if (str_appendf(&line, "synced %lld.%09ld", (long long)now.tv_sec, now.tv_nsec) < 0)
		return err_oom(err);
	return append(stage, &line, err);
}

static bool take_time(const char *text, struct timespec *ret)
{
	char *end;

	ret->tv_sec = strtoll(text, &end, 10);
	if (end == text || *end != '.')
		return false;
	ret->tv_nsec = strtol(end + 1, &end, 10);
	return *end == '\0' && ret->tv_nsec >= 0 && ret->tv_nsec < 1000000000;
}

struct list {
	struct stage_run *items;
	size_t len, cap;
};

static int take_begin(struct list *list, char *words[6])
{
	struct stage_run run = {.pid = (pid_t)strtol(words[2], NULL, 10)};

	if (!take_time(words[3], &run.t0) || strlen(words[1]) >= sizeof(run.id) ||
	    strlen(words[4]) >= sizeof(run.boot) || !stage_text_take(words[5]))
		return 0;
	if (list->len == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 64;
		struct stage_run *grown = reallocarray(list->items, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->items = grown;
		list->cap = cap;
	}
	memcpy(run.id, words[1], strlen(words[1]) + 1);
	memcpy(run.boot, words[4], strlen(words[4]) + 1);
	run.command = strdup(words[5]);
	if (!run.command)
		return -ENOMEM;
	list->items[list->len++] = run;
	return 0;
}

/* Most runs end soon after they began. */
static struct stage_run *find_run(struct list *list, const char *id)
{
	for (size_t i = list->len; i-- > 0;)
		if (str_eq(list->items[i].id, id))
			return &list->items[i];
	return NULL;
}

static void take_end(struct list *list, char *words[3])
{
	struct stage_run *run = find_run(list, words[1]);

	if (run)
		run->is_ended |= take_time(words[2], &run->ended);
}

static void take_lost(struct list *list, const char *id)
{
	struct stage_run *run = find_run(list, id);

	if (run)
		run->is_lost = true;
}

/* Those that began before; the last one also where it was already. */
static void take_synced(struct list *list, const char *time)
{
	struct timespec synced;
	bool was = false;

	if (!take_time(time, &synced))
		return;
	for (size_t i = list->len; i-- > 0 && !was;) {
		was = list->items[i].is_synced;
		list->items[i].is_synced = true;
		list->items[i].synced = synced;
	}
}

static int take_line(struct list *list, char *line)
{
	size_t len = strlen(line), n = 0;
	char *words[7], *next = NULL;
	char sum[SUM + 1];

	if (len < SUM + 2 || line[len - SUM - 1] != ' ')
		return 0;
	checksum(line, len - SUM - 1, sum);
	if (!str_eq(sum, line + len - SUM))
		return 0;
	for (char *word = strtok_r(line, " ", &next); word && n < array_len(words);
	     word = strtok_r(NULL, " ", &next))
		words[n++] = word;
	if (n == 7 && str_eq(words[0], "begin"))
		return take_begin(list, words);
	if (n == 4 && str_eq(words[0], "end"))
		take_end(list, words);
	if (n == 3 && str_eq(words[0], "lost"))
		take_lost(list, words[1]);
	if (n == 3 && str_eq(words[0], "synced"))
		take_synced(list, words[1]);
	return 0;
}

int stage_runs(const struct stage *stage, struct stage_run **ret, size_t *ret_n, struct err *err)
{
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(fd_closep) int fd = -1;
	struct list list = {0};
	char *line, *next = NULL;
	int r = 0;

	*ret = NULL;
	*ret_n = 0;
	fd = open_file(stage->dir_fd, "runs", 0);
	if (fd == -ENOENT)
		return 0;
	r = fd < 0 ? fd : fd_read_all(fd, RUNS_MAX, &text);
	if (r < 0)
		return err_sys(err, r, "read the runs of stage %s", stage->name);
	line = text.data ? strtok_r(text.data, "\n", &next) : NULL;
	for (; line && r == 0; line = strtok_r(NULL, "\n", &next))
		r = take_line(&list, line);
	if (r < 0) {
		stage_runs_free(list.items, list.len);
		return err_oom(err);
	}
	*ret = list.items;
	*ret_n = list.len;
	return 0;
}

void stage_runs_free(struct stage_run *runs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(runs[i].command);
	free(runs);
}
