/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "tap.h"

/* A child that is sent, told so, and returns: 0 when it could use all again. */
static int send_and_return(struct beside *b)
{
	int told[2], status = -1;
	pid_t child;
	char c;

	if (pipe(told) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		cpu_set_t now;
		bool back = read(told[0], &c, 1) == 1 && beside_return(b) == 0 &&
			    sched_getaffinity(0, sizeof(now), &now) == 0 &&
			    CPU_EQUAL(&now, &b->all);

		_exit(back ? 0 : 1);
	}
	beside_send(b, child);
	if (write(told[1], "", 1) != 1)
		status = -2;
	waitpid(child, &status, 0);
	close(told[0]);
	close(told[1]);
	return status;
}

int main(void)
{
	struct beside b = {0};
	cpu_set_t before, after, one;

	sched_getaffinity(0, sizeof(before), &before);
	beside_look(&b);
	tap_ok(CPU_EQUAL(&b.all, &before), "what we may use is known");
	tap_ok(!b.sent, "nobody was sent yet");

	b.on = false;
	tap_ok(send_and_return(&b) == 0 && !b.sent, "without an idle one nobody is sent");
	if (CPU_COUNT(&before) > 1) {
		b.on = true;
		tap_ok(send_and_return(&b) == 0 && b.sent, "who was sent comes back to all");
	}
	sched_getaffinity(0, sizeof(after), &after);
	tap_ok(CPU_EQUAL(&before, &after), "the parent stays where it is");

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	b = (struct beside){0};
	beside_look(&b);
	tap_ok(!b.on, "a single one is never another");
	b.on = true;
	beside_look(&b);
	tap_ok(b.on, "one that was idle at some time is enough");
	return tap_done();
}
