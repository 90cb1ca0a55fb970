/* SPDX-License-Identifier: MIT */
#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/common.h"
#include "cli/output.h"
#include "view/width.h"

#define KEY_CTRL(letter) ((letter)&0x1f)

/* Another screen, so that the user's own comes back; no cursor; no wrapping. */
static const char enter[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char leave[] = "\033[m\033[?7h\033[?25h\033[?1049l";

static struct termios saved;
static volatile sig_atomic_t is_raw, wants_out, wants_draw;
static const int polite[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static void write_all(const char *text, size_t len)
{
	fd_write_all(STDOUT_FILENO, text, len);
}

/* Also called from handlers of signals. */
static void restore(void)
{
	if (!is_raw)
		return;
	is_raw = 0;
	write_all(leave, sizeof(leave) - 1);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved);
}

static void go_raw(void)
{
	struct termios raw = saved;

	raw.c_iflag &= (tcflag_t) ~(ICRNL | IXON | ISTRIP | INLCR | IGNCR | BRKINT);
	raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ISIG | IEXTEN);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	is_raw = 1;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
	write_all(enter, sizeof(enter) - 1);
}

static void on_polite(int number)
{
	wants_out = number;
}

static void on_draw(int number)
{
	/* Stopped from outside, the terminal was the shell's meanwhile. */
	if (number == SIGCONT)
		wants_draw = 2;
	else if (!wants_draw)
		wants_draw = 1;
}

static void on_fatal(int number)
{
	restore();
	raise(number);
}

static void catch (const int *numbers, size_t n, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	for (size_t i = 0; i < n; i++)
		sigaction(numbers[i], &action, NULL);
}

static void measure(struct screen *screen)
{
	struct winsize size = {0};

	screen->rows = 24;
	screen->columns = 80;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
		screen->rows = size.ws_row;
		screen->columns = size.ws_col;
	}
}

int screen_open(struct screen *screen, struct err *err)
{
	static const int draws[] = {SIGWINCH, SIGCONT};
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &saved) < 0)
		return err_set(err, ERR_USAGE, -ENOTTY,
			       "standard input and output must be a terminal");
	if (!term || !*term || str_eq(term, "dumb"))
		return err_set(err, ERR_USAGE, -ENOTTY,
			       "this terminal cannot be drawn on: TERM is %s",
			       term && *term ? term : "not set");
	*screen = (struct screen){.colour = terminal_has_colour(STDOUT_FILENO)};
	wants_out = wants_draw = 0;
	catch (polite, array_len(polite), on_polite, 0);
	catch (draws, array_len(draws), on_draw, 0);
	catch (fatal, array_len(fatal), on_fatal, SA_RESETHAND);
	catch (&(int){SIGPIPE}, 1, SIG_IGN, 0);
	go_raw();
	measure(screen);
	return 0;
}

void screen_close(struct screen *screen)
{
	static const int draws[] = {SIGWINCH, SIGCONT};

	restore();
	str_release(&screen->out);
	catch (polite, array_len(polite), SIG_DFL, 0);
	catch (draws, array_len(draws), SIG_DFL, 0);
	catch (fatal, array_len(fatal), SIG_DFL, 0);
	catch (&(int){SIGPIPE}, 1, SIG_DFL, 0);
}

/* --- keys --- */

/* The next byte; -1: none within MS (negative: wait for ever), or a signal came. */
static int next_byte(int ms)
{
	struct pollfd poll_fd = {.fd = STDIN_FILENO, .events = POLLIN};
	unsigned char byte;

	if (wants_out || wants_draw)
		return -1;
	if (poll(&poll_fd, 1, ms) <= 0)
		return -1;
	if (read(STDIN_FILENO, &byte, 1) != 1) {
		if (errno != EINTR)
			wants_out = SIGHUP;
		return -1;
	}
	return byte;
}

/* What follows ESC within a moment is one key. */
static int escape_sequence(void)
{
	static const struct {
		const char *text;
		int key;
	} known[] = {
		{"[A", KEY_UP},       {"OA", KEY_UP},         {"[B", KEY_DOWN},  {"OB", KEY_DOWN},
		{"[5~", KEY_PAGE_UP}, {"[6~", KEY_PAGE_DOWN}, {"[H", KEY_HOME},  {"[F", KEY_END},
		{"OH", KEY_HOME},     {"OF", KEY_END},        {"[1~", KEY_HOME}, {"[4~", KEY_END},
	};
	char text[16];
	size_t len = 0;
	int byte;

	while (len + 1 < sizeof(text) && (byte = next_byte(30)) >= 0) {
		text[len++] = (char)byte;
		if (len >= 2 && byte >= 0x40 && byte <= 0x7e)
			break;
	}
	text[len] = '\0';
	if (len == 0)
		return KEY_ESCAPE;
	for (size_t i = 0; i < array_len(known); i++)
		if (str_eq(text, known[i].text))
			return known[i].key;
	return KEY_NONE;
}

static void stop(void)
{
	restore();
	raise(SIGSTOP);
	/* SIGCONT's handler asks for the rest. */
}

int screen_key(struct screen *screen)
{
	for (;;) {
		int byte = next_byte(-1);

		if (wants_out)
			return KEY_HANG_UP;
		if (wants_draw) {
			if (wants_draw == 2)
				go_raw();
			wants_draw = 0;
			measure(screen);
			return KEY_NONE;
		}
		if (byte < 0)
			continue;
		if (byte == KEY_CTRL('z')) {
			stop();
			continue;
		}
		measure(screen);
		if (byte == KEY_CTRL('l'))
			return KEY_NONE;
		return byte == KEY_ESCAPE ? escape_sequence() : byte;
	}
}

int screen_signal(void)
{
	return wants_out;
}

/* --- drawing --- */

void screen_begin(struct screen *screen)
{
	str_truncate(&screen->out, 0);
	str_append(&screen->out, "\033[H");
}

void screen_row(struct screen *screen, const char *colour, const char *text)
{
	_cleanup_(str_release) struct str safe = {0};
	unsigned column = 0;
	size_t end = 0;

	str_append_escaped(&safe, text, strlen(text));
	while (end < safe.len) {
		uint32_t c = 0;
		size_t n = str_utf8_next(safe.data + end, safe.len - end, &c);

		if (column + char_width(c) > screen->columns)
			break;
		column += char_width(c);
		end += n ? n : 1;
	}
	/* Wiped first: the colour may fill the row. */
	str_appendf(&screen->out, "%s\033[K",
		    screen->colour || str_starts(colour, "\033[7m") ? colour : "");
	str_append_bytes(&screen->out, str_text(&safe), end);
	str_append(&screen->out, "\033[m\r\n");
}

void screen_end(struct screen *screen)
{
	/* Behind the last row there is none. */
	if (screen->out.len >= 2)
		str_truncate(&screen->out, screen->out.len - 2);
	write_all(str_text(&screen->out), screen->out.len);
}
