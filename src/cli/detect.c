/* SPDX-License-Identifier: MIT */
#include "cli/detect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "config/value.h"

#define DETECT_MAX_BYTES (1 << 20)

/* The preset of a command, by its name alone. */
static const struct {
	const char *name, *preset;
} name_presets[] = {
	{"test", "test"},    {"build", "build"}, {"lint", "readonly"},
	{"format", "build"}, {"fmt", "build"},   {"clean", "build"},
};

/* Build systems for which one file tells everything. */
static const struct rule {
	const char *file, *name;
	const char *argv[8];
} rules[] = {
	{"CMakeLists.txt", "configure", {"cmake", "-S", ".", "-B", "build"}},
	{"CMakeLists.txt", "build", {"cmake", "--build", "build"}},
	{"CMakeLists.txt", "test", {"ctest", "--test-dir", "build", "--output-on-failure"}},
	{"meson.build", "configure", {"meson", "setup", "build"}},
	{"meson.build", "build", {"meson", "compile", "-C", "build"}},
	{"meson.build", "test", {"meson", "test", "-C", "build"}},
	{"Cargo.toml", "build", {"cargo", "build"}},
	{"Cargo.toml", "test", {"cargo", "test"}},
	{"Cargo.toml", "lint", {"cargo", "clippy"}},
	{"Cargo.toml", "format", {"cargo", "fmt"}},
	{"go.mod", "build", {"go", "build", "./..."}},
	{"go.mod", "test", {"go", "test", "./..."}},
	{"go.mod", "lint", {"go", "vet", "./..."}},
	{"go.mod", "format", {"gofmt", "-l", "-w", "."}},
};

static int open_file(int dirfd, const char *name)
{
	_cleanup_(fd_closep) int fd = path_open_beneath(dirfd, name,
							O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	return take_fd(fd);
}

int detect_read(int dirfd, const char *name, struct str *ret_text)
{
	_cleanup_(fd_closep) int fd = open_file(dirfd, name);
	int r = fd < 0 ? fd : fd_read_all(fd, DETECT_MAX_BYTES, ret_text);

	if (r == -ENOMEM)
		return r;
	return r == 0;
}

bool detect_exists(int dirfd, const char *name)
{
	_cleanup_(fd_closep) int fd = open_file(dirfd, name);

	return fd >= 0;
}

int found_add(struct found *found, const char *source, const char *name, const char *const *argv)
{
	struct found_command command = {.source = source}, *items;
	int r = 0;

	for (size_t i = 0; i < found->len; i++)
		if (str_eq(found->items[i].name, name))
			return 0;
	if (!name_is_valid(name))
		return 0;
	for (size_t i = 0; i < array_len(name_presets); i++)
		if (str_eq(name_presets[i].name, name))
			command.preset = name_presets[i].preset;
	items = reallocarray(found->items, found->len + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	found->items = items;
	command.name = strdup(name);
	for (; r == 0 && *argv; argv++)
		r = strv_add(&command.argv, *argv);
	items[found->len++] = command;
	return command.name ? r : -ENOMEM;
}

void found_release(struct found *found)
{
	for (size_t i = 0; i < found->len; i++) {
		free(found->items[i].name);
		strv_release(&found->items[i].argv);
	}
	free(found->items);
	*found = (struct found){0};
}

static int detect_rules(int dirfd, struct found *found)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < array_len(rules); i++)
		if (detect_exists(dirfd, rules[i].file))
			r = found_add(found, rules[i].file, rules[i].name, rules[i].argv);
	return r;
}

int detect_commands(int dirfd, struct found *ret, struct err *err)
{
	_cleanup_(found_release) struct found found = {0};
	int r = detect_make(dirfd, &found);

	if (r == 0)
		r = detect_rules(dirfd, &found);
	if (r == 0)
		r = detect_node(dirfd, &found);
	if (r == 0)
		r = detect_python(dirfd, &found);
	if (r < 0)
		return err_oom(err);
	*ret = found;
	found = (struct found){0};
	return 0;
}
