/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/err.h"
#include "base/path.h"
#include "config/workspace.h"
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

static void add_rule(struct strv *rules, const char *name)
{
	if (strv_take(rules, at(name)) < 0)
		abort();
}

static void begin(struct spec *spec, struct user *user)
{
	spec_init_bottom(spec);
	spec->workspace = at("work");
	*user = (struct user){.name = strdup("ana"), .home = at("home")};
}

static void end(struct spec *spec, struct user *user, struct site *site)
{
	spec_release(spec);
	user_release(user);
	site_release(site);
}

static int probe(const struct spec *spec, const struct user *user, struct site *site,
		 struct err *err)
{
	char *env[] = {(char *)"A=1", (char *)"B=2", NULL};

	*site = (struct site){0};
	return site_probe(spec, user, spec->workspace, env, site, err);
}

static bool is_at(const struct site_path *path, const char *name, enum site_type type)
{
	char *want = name ? at(name) : NULL;
	bool ok = path->type == type && str_eq(path->real, want);

	free(want);
	return ok;
}

static void test_paths(void)
{
	struct err err = {.message = "untouched"};
	struct spec spec;
	struct user user;
	struct site site;

	begin(&spec, &user);
	add_rule(&spec.paths_readable, "data");
	add_rule(&spec.paths_readable, "data/file");
	add_rule(&spec.paths_readable, "gone");
	add_rule(&spec.paths_readable, "data/file/below");
	add_rule(&spec.paths_writable, "work");
	add_rule(&spec.paths_writable, "work/inner");
	add_rule(&spec.paths_writable, "work/dangling");
	add_rule(&spec.paths_hidden, "work/outward");
	tap_eq_int(probe(&spec, &user, &site, &err), 0, "probed");
	tap_eq_str(err.message, "untouched", "success leaves err alone");
	if (!tap_eq_int((long long)site.paths_len, 8, "one answer for each rule"))
		exit(1);
	tap_ok(is_at(&site.paths[0], "data", SITE_DIR), "a folder");
	tap_ok(is_at(&site.paths[1], "data/file", SITE_FILE), "a file");
	tap_ok(is_at(&site.paths[2], NULL, SITE_ABSENT), "nothing");
	tap_ok(is_at(&site.paths[3], NULL, SITE_ABSENT), "nothing below a file");
	tap_ok(is_at(&site.paths[4], "work", SITE_DIR), "the workspace itself");
	tap_ok(is_at(&site.paths[5], "work/sub", SITE_DIR),
	       "a link within the workspace is followed");
	tap_ok(is_at(&site.paths[6], NULL, SITE_ABSENT), "a link to nothing is nothing");
	tap_ok(is_at(&site.paths[7], "data", SITE_DIR), "what hides may follow a link out");
	end(&spec, &user, &site);
}

/* Outside of the workspace a link may have been planted by an earlier run. */
static void test_link_outside(const char *name)
{
	struct err err = {0};
	struct spec spec;
	struct user user;
	struct site site;

	begin(&spec, &user);
	add_rule(&spec.paths_readable, name);
	tap_eq_int(probe(&spec, &user, &site, &err), -ELOOP, "%s: a link outside is refused", name);
	tap_ok(err.code == ERR_POLICY && strstr(err.message, "link"), "by name");
	end(&spec, &user, &site);
}

static void test_way_out(enum dim dim, const char *name)
{
	struct err err = {0};
	struct spec spec;
	struct user user;
	struct site site;

	begin(&spec, &user);
	add_rule(spec_list(&spec, dim), name);
	tap_eq_int(probe(&spec, &user, &site, &err), -EXDEV, "%s: %s leads out and is refused",
		   dim_name(dim), name);
	tap_ok(err.code == ERR_POLICY && strstr(err.message, name), "by name");
	tap_ok(!site.paths && !site.workspace, "and the result is untouched");
	end(&spec, &user, &site);
}

static void test_place(void)
{
	struct err err = {0};
	struct spec spec;
	struct user user;
	struct site site;
	struct stat st;

	begin(&spec, &user);
	probe(&spec, &user, &site, &err);
	tap_eq_str(site.workspace, spec.workspace, "the workspace");
	tap_eq_str(site.cwd, spec.workspace, "the cwd");
	tap_eq_str(site.home, user.home, "the home");
	tap_eq_str(site.user_name, "ana", "the user");
	tap_ok(stat(spec.workspace, &st) == 0 && site.workspace_uid == st.st_uid &&
		       site.workspace_gid == st.st_gid,
	       "the workspace's owner");
	tap_ok(site.env.len == 2 && str_eq(site.env.items[1], "B=2"), "the environment");
	site_release(&site);
	tap_ok(!site.workspace && !site.paths && !site.env.len, "released");

	free(spec.workspace);
	spec.workspace = at("gone");
	tap_eq_int(probe(&spec, &user, &site, &err), -ENOENT, "a workspace that is gone");
	tap_ok(strstr(err.message, "gone"), "is named");
	end(&spec, &user, &site);
}

static void test_toolchains(void)
{
	struct err err = {0};
	struct spec spec;
	struct user user;
	struct site site;
	char *cargo = at("home/.cargo"), *go = at("home/go");

	begin(&spec, &user);
	probe(&spec, &user, &site, &err);
	tap_eq_int((long long)site.toolchains_len, 2, "toolchains: those that are folders");
	if (site.toolchains_len == 2) {
		tap_eq_str(site.toolchains[0].path, cargo, "in the order of the table");
		tap_ok(is_at(&site.toolchains[0], "home/.cargo", SITE_DIR), "where it is");
		tap_eq_str(site.toolchains[1].path, go, "under its own name");
		tap_ok(is_at(&site.toolchains[1], "data", SITE_DIR), "where its link leads");
	}
	site_release(&site);
	free(user.home);
	user.home = at("gone");
	tap_eq_int(probe(&spec, &user, &site, &err), 0, "a home that does not exist");
	tap_eq_int((long long)site.toolchains_len, 0, "has none");
	site_release(&site);
	free(user.home);
	user.home = NULL;
	tap_eq_int(probe(&spec, &user, &site, &err), 0, "no home at all");
	tap_ok(!site.home && site.toolchains_len == 0, "has none either");
	end(&spec, &user, &site);
	free(cargo);
	free(go);
}

static void make_tree(void)
{
	static const char *const dirs[] = {"work", "work/sub", "data", "home", "home/.cargo"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (mkdir(dirs[i], 0755) < 0)
			abort();
	scratch_write("data/file", "x");
	scratch_write("home/.nvm", "a file, no folder");
	if (symlink("data", "link") < 0 || symlink("sub", "work/inner") < 0 ||
	    symlink("nowhere", "work/dangling") < 0 || symlink("../data", "work/outward") < 0 ||
	    symlink("/etc/passwd", "work/absolute") < 0 || symlink("../data", "home/go") < 0)
		abort();
}

static bool ignores(const struct site *site, const char *name)
{
	char *path = at(name);
	bool has = strv_has(&site->ignored, path);

	free(path);
	return has;
}

static void test_ignored(void)
{
	struct err err = {0};
	struct spec spec;
	struct user user;
	struct site site;

	begin(&spec, &user);
	tap_ok(probe(&spec, &user, &site, &err) == 0 && site.ignored.len == 0,
	       "nothing is ignored");
	site_release(&site);
	scratch_write("work/x.key", "");
	scratch_write("work/.paleignore", "*.key\nsub/\noutward\ndangling\n");
	if (link("work/x.key", "work/copy") < 0)
		abort();
	tap_ok(probe(&spec, &user, &site, &err) == 0 && site.ignored.len == 4 &&
		       ignores(&site, "work/x.key") && ignores(&site, "work/copy") &&
		       ignores(&site, "work/sub") && ignores(&site, "data"),
	       "a file, its other name, a folder, and where a link leads");
	site_release(&site);
	scratch_write("work/.paleignore", "[\n");
	tap_ok(probe(&spec, &user, &site, &err) == -EINVAL && strstr(err.message, ".paleignore:1:"),
	       "a broken file is an error");
	spec_release(&spec);
	spec_init_top(&spec);
	spec.workspace = at("work");
	tap_eq_int(probe(&spec, &user, &site, &err), 0, "but not where there is no boundary");
	site_release(&site);
	spec_release(&spec);
	spec_init_bottom(&spec);
	spec.workspace = at("work");
	scratch_write("work/.paleignore", "");
	add_rule(&spec.paths_hidden, "work/x.key");
	tap_ok(probe(&spec, &user, &site, &err) == 0 && ignores(&site, "work/copy"),
	       "paths_hidden: the other name of a file");
	unlink("work/.paleignore");
	end(&spec, &user, &site);
}

int main(void)
{
	scratch_enter();
	top = realpath(".", NULL);
	if (!top)
		return 1;
	make_tree();
	if (tap_on_valgrind()) {
		tap_ok(true, "nothing: valgrind knows no openat2");
	} else {
		test_paths();
		test_link_outside("link");
		test_link_outside("link/file");
		test_way_out(DIM_PATHS_READABLE, "work/outward");
		test_way_out(DIM_PATHS_WRITABLE, "work/outward");
		test_way_out(DIM_PATHS_READABLE, "work/absolute");
		test_way_out(DIM_PATHS_WRITABLE, "work/outward/file");
		test_place();
		test_toolchains();
		test_ignored();
	}
	free(top);
	scratch_leave();
	return tap_done();
}
