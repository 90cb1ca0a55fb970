/* SPDX-License-Identifier: MIT */
#include "engine/parked.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/fd.h"

enum { QUIET_NS = 50000000 };

static void close_all(struct parked *parked)
{
	while (parked->len > 0)
		fd_close(parked->fds[--parked->len]);
}

static void on_quiet(void *data, short revents)
{
	(void)revents;
	close_all(data);
}

void parked_init(struct parked *parked, struct loop *loop)
{
	*parked = (struct parked){.loop = loop,
				  .timer = {.at_ns = LOOP_NEVER, .fn = on_quiet, .data = parked}};
	loop_add_timer(loop, &parked->timer);
}

void parked_add(struct parked *parked, int fd)
{
	if (fd < 0)
		return;
	if (parked->len == PARKED_MAX)
		close_all(parked);
	parked->fds[parked->len++] = fd;
	parked->timer.at_ns = clock_mono_ns() + QUIET_NS;
}

void parked_release(struct parked *parked)
{
	close_all(parked);
	if (parked->loop)
		loop_remove_timer(parked->loop, &parked->timer);
	parked->loop = NULL;
}

void parked_make_room(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}
