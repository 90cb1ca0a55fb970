/* SPDX-License-Identifier: MIT */
#include "base/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* How many tasks the machine runs or could run now, we among them; 0: unknown. */
static unsigned long running(void)
{
	_cleanup_(fd_closep) int fd = fd_open("/proc/loadavg", O_RDONLY);
	char text[64];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *field;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	field = strchr(text, '/');
	while (field && field > text && field[-1] != ' ')
		field--;
	return field ? strtoul(field, NULL, 10) : 0;
}

/* CPU_COUNT() looks at each bit. */
static unsigned long count(const cpu_set_t *set)
{
	unsigned long words[sizeof(*set) / sizeof(unsigned long)], n = 0;

	memcpy(words, set, sizeof(words));
	for (size_t i = 0; i < array_len(words); i++)
		for (; words[i]; words[i] &= words[i] - 1)
			n++;
	return n;
}

void beside_look(struct beside *beside)
{
	unsigned long busy;

	if (beside->on || sched_getaffinity(0, sizeof(beside->all), &beside->all) < 0)
		return;
	busy = running();
	beside->on = busy > 0 && busy < count(&beside->all);
}

void beside_send(struct beside *beside, pid_t child)
{
	cpu_set_t others = beside->all;
	int here = beside->on ? sched_getcpu() : -1;

	if (here < 0)
		return;
	CPU_CLR(here, &others);
	beside->sent = sched_setaffinity(child, sizeof(others), &others) == 0;
}

int beside_return(const struct beside *beside)
{
	return sched_setaffinity(0, sizeof(beside->all), &beside->all) < 0 ? -errno : 0;
}
