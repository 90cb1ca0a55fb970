/* SPDX-License-Identifier: MIT */
#include "warden/kin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"

/* More are signalled as well if they are in the session or the group. */
enum { KNOWN_MAX = 2048 };

struct relative {
	pid_t pid, parent;
	bool is_kin;
};

struct search {
	pid_t leader, session;
	int sig;
	int count;
	struct relative *known;
	size_t len;
};

static void meet(struct search *s, pid_t pid)
{
	(void)kill(pid, s->sig);
	s->count++;
}

/* "PID (NAME) STATE PARENT GROUP SESSION ...": the name may hold anything. */
static bool read_stat(int proc, const char *name, char *ret_state, long ret_ids[3])
{
	_cleanup_(fd_closep) int fd = -1;
	char path[32], text[512], *at, *end;
	ssize_t n;
	size_t len = strlen(name);

	if (len > sizeof(path) - sizeof("/stat"))
		return false;
	memcpy(path, name, len);
	memcpy(path + len, "/stat", sizeof("/stat"));
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strrchr(text, ')');
	if (!at || at[1] != ' ' || !at[2])
		return false;
	*ret_state = at[2];
	at += 3;
	for (int i = 0; i < 3; i++, at = end) {
		ret_ids[i] = strtol(at, &end, 10);
		if (end == at)
			return false;
	}
	return true;
}

static void look_at(struct search *s, int proc, const char *name)
{
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	long ids[3]; /* parent, group, session */
	bool is_kin;
	char state;

	if (pid <= 1 || pid == getpid() || (pid == s->session && pid != s->leader))
		return;
	if (!read_stat(proc, name, &state, ids) || state == 'Z' || state == 'X')
		return;
	/* What was orphaned comes to the holder. */
	is_kin = pid == s->leader || ids[1] == s->leader || ids[2] == s->leader ||
		 ids[2] == s->session || ids[0] == s->session;
	if (s->len < KNOWN_MAX)
		s->known[s->len++] = (struct relative){pid, (pid_t)ids[0], is_kin};
	else if (is_kin)
		meet(s, pid);
}

static bool has_kin_parent(const struct search *s, const struct relative *r)
{
	for (size_t i = 0; i < s->len; i++)
		if (s->known[i].pid == r->parent)
			return s->known[i].is_kin;
	return false;
}

/* Children of kin are, and theirs. */
static void find_descendants(struct search *s)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < s->len; i++) {
			if (s->known[i].is_kin || !has_kin_parent(s, &s->known[i]))
				continue;
			s->known[i].is_kin = more = true;
		}
	}
}

int kin_signal(pid_t leader, pid_t session, int sig)
{
	static struct relative known[KNOWN_MAX];
	struct search s = {.leader = leader, .session = session, .sig = sig, .known = known};
	_cleanup_(fd_closep) int proc = fd_open("/proc", O_RDONLY | O_DIRECTORY);
	char buf[4096] __attribute__((aligned(8)));
	int n;

	if (proc < 0)
		return -errno;
	while ((n = sys_getdents(proc, buf, sizeof(buf))) > 0) {
		for (int at = 0; at < n;) {
			const struct sys_dirent *entry = (const void *)(buf + at);

			if (entry->name[0] >= '1' && entry->name[0] <= '9')
				look_at(&s, proc, entry->name);
			at += entry->len;
		}
	}
	/* All of them are known before the first one ends: orphans are nobody's kin. Then the
	 * group at once, so that none of it escapes by making the next one. */
	find_descendants(&s);
	(void)kill(-leader, sig);
	for (size_t i = 0; i < s.len; i++)
		if (known[i].is_kin)
			meet(&s, known[i].pid);
	return n < 0 ? n : s.count;
}
