/* SPDX-License-Identifier: MIT */
/* pyproject.toml, pytest.ini, setup.cfg and tox.ini. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/detect.h"
#include "config/toml.h"

static const char *const pytest[] = {"pytest", NULL};

/* Does an INI file have the line "[SECTION]"? */
static bool has_section(const char *text, const char *section)
{
	while (*text) {
		size_t len = strcspn(text, "\n"), n = strlen(section);

		if (len >= n && memcmp(text, section, n) == 0)
			return true;
		text += len + (text[len] == '\n');
	}
	return false;
}

static int ini_test(int dirfd, const char *file, const char *section, const char *const *argv,
		    struct found *found)
{
	_cleanup_(str_release) struct str text = {0};
	int r = detect_read(dirfd, file, &text);

	if (r <= 0)
		return r;
	return has_section(str_text(&text), section) ? found_add(found, file, "test", argv) : 0;
}

static int add_tools(const struct toml_value *tool, struct found *found)
{
	static const struct {
		const char *tool, *name;
		const char *argv[4];
	} tools[] = {
		{"pytest", "test", {"pytest"}},         {"ruff", "lint", {"ruff", "check"}},
		{"flake8", "lint", {"flake8"}},         {"black", "format", {"black", "."}},
		{"ruff", "format", {"ruff", "format"}}, {"mypy", "typecheck", {"mypy", "."}},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < array_len(tools); i++)
		if (toml_get(tool, tools[i].tool))
			r = found_add(found, "pyproject.toml", tools[i].name, tools[i].argv);
	return r;
}

static bool has_folder(int dirfd, const char *name)
{
	_cleanup_(fd_closep) int fd = path_open_beneath(dirfd, name, O_PATH | O_DIRECTORY, 0);

	return fd >= 0;
}

static int pyproject(int dirfd, struct found *found)
{
	static const char *const build[] = {"python3", "-m", "build", NULL};
	_cleanup_(str_release) struct str text = {0};
	_cleanup_(toml_freep) struct toml *doc = NULL;
	const struct toml_value *tool;
	int r = detect_read(dirfd, "pyproject.toml", &text);

	if (r <= 0)
		return r;
	if (toml_parse(str_text(&text), text.len, &doc, NULL, NULL) < 0)
		return 0;
	r = 0;
	tool = toml_get(toml_root(doc), "tool");
	if (tool)
		r = add_tools(tool, found);
	if (r == 0 && (has_folder(dirfd, "tests") || has_folder(dirfd, "test")))
		r = found_add(found, "pyproject.toml", "test", pytest);
	if (r == 0 && toml_get(toml_root(doc), "build-system"))
		r = found_add(found, "pyproject.toml", "build", build);
	return r;
}

int detect_python(int dirfd, struct found *found)
{
	static const char *const tox[] = {"tox", NULL};
	int r = detect_exists(dirfd, "pytest.ini") ? found_add(found, "pytest.ini", "test", pytest)
						   : 0;

	if (r == 0)
		r = ini_test(dirfd, "tox.ini", "[pytest]", pytest, found);
	if (r == 0)
		r = ini_test(dirfd, "tox.ini", "[tox]", tox, found);
	if (r == 0)
		r = ini_test(dirfd, "tox.ini", "[testenv", tox, found);
	if (r == 0)
		r = ini_test(dirfd, "setup.cfg", "[tool:pytest]", pytest, found);
	return r < 0 ? r : pyproject(dirfd, found);
}
