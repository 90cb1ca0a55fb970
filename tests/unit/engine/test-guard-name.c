/* SPDX-License-Identifier: MIT */
#include "engine/guard-name.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

static void nap(int ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static void test_glance(void)
{
	char path[] = "/tmp/pale-glance-XXXXXX";
	struct glance glance = {0};
	int dir = mkdtemp(path) ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	tap_ok(!glance_finds_same(&glance, dir), "the first look finds nothing the same");
	tap_ok(!glance_finds_same(&glance, dir), "what is new may change within a tick");
	nap(4500);
	tap_ok(!glance_finds_same(&glance, dir), "the look before was too early");
	tap_ok(glance_finds_same(&glance, dir), "then it is known to be the same");
	tap_ok(mkdirat(dir, "name", 0700) == 0 && !glance_finds_same(&glance, dir), "a name comes");
	tap_ok(!glance_finds_same(&glance, dir), "and another may, at the same time");
	tap_ok(unlinkat(dir, "name", AT_REMOVEDIR) == 0 && !glance_finds_same(&glance, dir),
	       "a name goes");
	close(dir);
	rmdir(path);
	tap_ok(!glance_finds_same(&glance, -1), "a folder that cannot be looked at");
}

static void test_changed(void)
{
	char path[] = "/tmp/pale-name-XXXXXX";
	int fd = mkstemp(path);
	struct stat st;

	fstat(fd, &st);
	tap_ok(!name_may_have_left(AT_FDCWD, path, &st.st_ctim), "a file as it was");
	nap(50);
	fchmod(fd, 0400);
	tap_ok(name_may_have_left(AT_FDCWD, path, &st.st_ctim), "one that was changed");
	unlink(path);
	tap_ok(!name_may_have_left(AT_FDCWD, path, &st.st_ctim), "one that is gone");
	close(fd);
	tap_ok(mkdir(path, 0700) == 0 && !name_may_have_left(AT_FDCWD, path, &st.st_ctim),
	       "a folder whose time is another one");
	rmdir(path);
}

int main(void)
{
	test_glance();
	test_changed();
	return tap_done();
}
