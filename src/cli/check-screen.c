/* SPDX-License-Identifier: MIT */
#include "cli/check-screen.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/check.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/check-report.h"
#include "cli/common.h"
#include "cli/output.h"
#include "view/width.h"

enum { STATE_WIDTH = 9 };

void check_screen_open(struct check_screen *screen, int fd, unsigned name_width, uint64_t began_ns)
{
	const char *term = getenv("TERM"), *ci = getenv("CI");

	*screen = (struct check_screen){
		.fd = fd,
		.on = isatty(fd) && term && *term && !str_eq(term, "dumb") && !(ci && *ci),
		.colour = terminal_has_colour(fd),
		.name_width = name_width,
		.began_ns = began_ns,
	};
}

static unsigned terminal_rows(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

/* Cut TEXT to COLUMNS, counting those that it takes. */
static size_t cut(const struct str *text, unsigned columns, unsigned *width)
{
	size_t end = 0;

	while (end < text->len) {
		uint32_t c = 0;
		size_t n = str_utf8_next(text->data + end, text->len - end, &c);

		if (*width + char_width(c) > columns)
			break;
		*width += char_width(c);
		end += n ? n : 1;
	}
	return end;
}

int check_screen_row(const struct check_screen *screen, const struct check *check, size_t task,
		     unsigned columns, struct str *out, unsigned *ret_width)
{
	_cleanup_(str_release) struct str state = {0}, rest = {0};
	unsigned width = 0;
	size_t end;
	int r = str_appendf(&state, "%-*s ", STATE_WIDTH, task_word(check, task));

	if (r == 0)
		r = check_row(check, task, screen->name_width, clock_mono_ns(), &rest);
	end = cut(&state, columns, &width);
	if (r == 0 && screen->colour)
		r = str_append(out, task_colour(check, task));
	if (r == 0)
		r = str_append_bytes(out, str_text(&state), end);
	if (r == 0 && screen->colour)
		r = str_append(out, "\033[m");
	end = cut(&rest, columns, &width);
	if (r == 0)
		r = str_append_bytes(out, str_text(&rest), end);
	if (ret_width)
		*ret_width = width;
	return r;
}

/* Back to the first row. A narrower window has wrapped the rows meanwhile. */
static int go_up(struct check_screen *screen, unsigned columns, struct str *out)
{
	unsigned up = 0;

	for (unsigned i = 0; i < screen->drawn; i++)
		up += screen->widths[i] > columns ? (screen->widths[i] + columns - 1) / columns : 1;
	screen->drawn = 0;
	return up ? str_appendf(out, "\r\033[%uA", up) : str_append(out, "\r");
}

static int end_row(struct check_screen *screen, unsigned width, struct str *out)
{
	screen->widths[screen->drawn++] = width;
	return str_append(out, "\033[K\n");
}

/* Rows in STATE, no more than MAX in all. */
static int draw_rows(struct check_screen *screen, const struct check *check, enum task_state state,
		     unsigned columns, unsigned max, struct str *out)
{
	int r = 0;

	for (size_t i = 0; i < check->lanes.len && screen->drawn < max && r == 0; i++) {
		unsigned width;

		if (check->lanes.tasks[i].state != state)
			continue;
		r = check_screen_row(screen, check, i, columns, out, &width);
		if (r == 0)
			r = end_row(screen, width, out);
	}
	return r;
}

static int draw_foot(struct check_screen *screen, const struct check *check, unsigned columns,
		     struct str *out)
{
	_cleanup_(str_release) struct str foot = {0};
	struct lanes_count count = lanes_count(&check->lanes);
	unsigned width = 0;
	size_t end;
	int r = check_summary(check, (clock_mono_ns() - screen->began_ns) / 1000000, &foot);

	if (r == 0 && count.queued > 0 && count.running == 0)
		r = str_append(&foot, "; other checks use every lane");
	end = cut(&foot, columns, &width);
	if (r == 0 && screen->colour)
		r = str_append(out, "\033[2m");
	if (r == 0)
		r = str_append_bytes(out, str_text(&foot), end);
	if (r == 0 && screen->colour)
		r = str_append(out, "\033[m");
	return r < 0 ? r : end_row(screen, width, out);
}

int check_screen_draw(struct check_screen *screen, const struct check *check,
		      const struct str *before)
{
	_cleanup_(str_release) struct str out = {0};
	unsigned columns = terminal_columns(screen->fd), rows = terminal_rows(screen->fd);
	unsigned max = rows > 4 ? rows - 3 : 1;
	int r;

	if (!screen->on)
		return before ? fd_write_all(screen->fd, str_text(before), before->len) : 0;
	if (max > CHECK_SCREEN_ROWS - 2)
		max = CHECK_SCREEN_ROWS - 2;
	r = go_up(screen, columns, &out);
	/* What is longer than a row below it must not show through. */
	if (r == 0 && before && before->len > 0) {
		r = str_append(&out, "\033[J");
		if (r == 0)
			r = str_append_bytes(&out, before->data, before->len);
	}
	if (r == 0)
		r = draw_rows(screen, check, TASK_RUNNING, columns, max, &out);
	if (r == 0)
		r = draw_rows(screen, check, TASK_QUEUED, columns, max, &out);
	if (r == 0)
		r = draw_foot(screen, check, columns, &out);
	if (r == 0)
		r = str_append(&out, "\033[J");
	return r < 0 ? r : fd_write_all(screen->fd, str_text(&out), out.len);
}

int check_screen_wipe(struct check_screen *screen)
{
	_cleanup_(str_release) struct str out = {0};

	if (!screen->on || screen->drawn == 0)
		return 0;
	if (go_up(screen, terminal_columns(screen->fd), &out) < 0 || str_append(&out, "\033[J") < 0)
		return 0;
	return fd_write_all(screen->fd, out.data, out.len);
}

void check_screen_forget(struct check_screen *screen)
{
	screen->drawn = 0;
}
