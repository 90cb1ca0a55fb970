/* SPDX-License-Identifier: MIT */
/* Sockets of this test itself: they are the host's as much as others. */
#include "plan/bound.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/host.h"
#include "policy/spec.h"
#include "scratch.h"
#include "tap.h"

static char *top; /* of the scratch folder, without links */

static char *at(const char *name)
{
	char *path = path_join(top, name);

	if (!path)
		abort();
	return path;
}

/* Under a name that is below the top, or relative to where we are. */
static int bind_as(const char *name, bool absolute)
{
	_cleanup_(freep) char *path = absolute ? at(name) : strdup(name);
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		abort();
	return fd;
}

static void begin(struct spec *spec, struct site *site)
{
	spec_init_bottom(spec);
	*site = (struct site){.workspace = at("work"), .cwd = at("work")};
	spec->workspace = at("work");
}

static void end(struct spec *spec, struct site *site)
{
	spec_release(spec);
	site_release(site);
}

static int abi; /* of the host's Landlock */

/* NAMES, separated by blanks, are all that is found below the top. */
static void finds(const struct spec *spec, struct site *site, const char *names, const char *what)
{
	_cleanup_(str_release) struct str got = {0};
	struct host host = {.landlock_abi = abi};
	struct err err = {0};
	int r;

	strv_release(&site->bound);
	r = bound_probe(spec, &host, site, &err);
	for (size_t i = 0; i < site->bound.len; i++)
		if (path_covers(top, site->bound.items[i]))
			str_appendf(&got, "%s%s", got.len ? " " : "",
				    site->bound.items[i] + strlen(top) + 1);
	tap_ok(r == 0 && str_eq(str_text(&got), names), "%s: %s %s", what, str_text(&got),
	       err.message);
}

static void test_names(void)
{
	struct spec spec;
	struct site site;
	int fds[6];

	begin(&spec, &site);
	fds[0] = bind_as("work/plain", true);
	fds[1] = bind_as("link/linked", true);
	fds[2] = bind_as("work/./in//../in/dots", true);
	fds[3] = bind_as("elsewhere/s", true);
	fds[4] = bind_as("relative", false);
	if (chdir("work") < 0)
		abort();
	fds[5] = bind_as("in/relative", false);
	if (chdir("..") < 0)
		abort();
	finds(&spec, &site, "work/in/dots work/in/linked work/in/relative work/plain",
	      "what lies in the workspace, by whatever name");
	abi = 9;
	finds(&spec, &site, "", "Landlock closes them all");
	abi = 8;
	finds(&spec, &site, "work/in/dots work/in/linked work/in/relative work/plain",
	      "before, it does not know them");
	for (size_t i = 0; i < array_len(fds); i++)
		close(fds[i]);
	finds(&spec, &site, "", "nobody has them any more");
	end(&spec, &site);
	unlink("work/plain");
	unlink("elsewhere/s");
	unlink("relative");
}

/* By a descriptor of the folder, which is nobody else's. */
static void test_descriptor(void)
{
	int folder = open("work", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	char name[64];
	struct spec spec;
	struct site site;

	begin(&spec, &site);
	snprintf(name, sizeof(name), "/proc/self/fd/%d/by-fd", folder);
	fd = bind_as(name, false);
	finds(&spec, &site, "work/by-fd", "bound by a descriptor");
	close(fd);
	close(folder);
	end(&spec, &site);
	unlink("work/by-fd");
}

static void test_files(void)
{
	struct spec spec;
	struct site site;
	int fd, other;

	begin(&spec, &site);
	fd = bind_as("work/s", true);
	finds(&spec, &site, "work/s", "bound");
	if (link("work/s", "work/in/again") < 0)
		abort();
	finds(&spec, &site, "work/in/again work/s", "its other name");
	unlink("work/in/again");
	if (strv_take(&site.ignored, at("work/s")) < 0)
		abort();
	finds(&spec, &site, "", "hidden anyway");
	strv_release(&site.ignored);
	unlink("work/s");
	finds(&spec, &site, "", "removed");
	scratch_write("work/s", "");
	finds(&spec, &site, "", "replaced by a file");
	unlink("work/s");
	other = bind_as("work/s", true);
	close(other);
	finds(&spec, &site, "", "replaced by a socket that nobody has");
	close(fd);
	end(&spec, &site);
	unlink("work/s");
}

static void test_places(void)
{
	struct site_path paths[] = {
		{.path = at("elsewhere"), .real = at("elsewhere"), .type = SITE_DIR},
		{.path = at("absent"), .type = SITE_ABSENT}};
	struct spec spec;
	struct site site;
	int fd = bind_as("elsewhere/s", true), relative;

	begin(&spec, &site);
	finds(&spec, &site, "", "in a folder that is not shown");
	site.paths = calloc(2, sizeof(*paths));
	memcpy(site.paths, paths, sizeof(paths));
	site.paths_len = 2;
	if (chdir("elsewhere") < 0)
		abort();
	relative = bind_as("r", false);
	if (chdir("..") < 0)
		abort();
	finds(&spec, &site, "elsewhere/r elsewhere/s", "in one that a rule shows");
	if (strv_take(&spec.paths_hidden, at("absent")) < 0)
		abort();
	finds(&spec, &site, "elsewhere/r elsewhere/s", "nothing hides it");
	site.paths[1].real = at("elsewhere/s");
	finds(&spec, &site, "elsewhere/r", "a rule hides it");
	close(relative);
	close(fd);
	end(&spec, &site);
}

static void test_off(void)
{
	struct spec spec;
	struct site site;
	int fd = bind_as("work/s", true);

	begin(&spec, &site);
	spec_release(&spec);
	spec_init_top(&spec);
	finds(&spec, &site, "", "without a boundary nobody looks");
	close(fd);
	end(&spec, &site);
}

int main(void)
{
	scratch_enter();
	top = realpath(".", NULL);
	if (!top || mkdir("work", 0755) < 0 || mkdir("work/in", 0755) < 0 ||
	    mkdir("elsewhere", 0755) < 0 || symlink("work/in", "link") < 0)
		abort();
	test_names();
	test_descriptor();
	test_files();
	test_places();
	test_off();
	free(top);
	scratch_leave();
	return tap_done();
}
