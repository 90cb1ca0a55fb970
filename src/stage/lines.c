/* SPDX-License-Identifier: MIT */
#include "stage/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "stage/node.h"

enum { SUM_LEN = 16 };
static const char hex[] = "0123456789abcdef";

/* FNV-1a, 64 bits: against torn and damaged lines, not against forgers: nobody
 * else can write here. */
static uint64_t sum_of(const char *text, size_t len)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++) {
		sum ^= (unsigned char)text[i];
		sum *= UINT64_C(0x100000001b3);
	}
	return sum;
}

static void keep(struct line *line, int r)
{
	if (r < 0 && line->error == 0)
		line->error = r;
}

void line_text(struct line *line, const char *text)
{
	if (line->text.len > 0)
		keep(line, str_append_char(&line->text, ' '));
	if (!text || !*text) {
		keep(line, str_append_char(&line->text, '%'));
		return;
	}
	while (*text) {
		size_t plain = 0;

		while ((unsigned char)text[plain] > ' ' && text[plain] != '%' &&
		       (unsigned char)text[plain] < 0x7f)
			plain++;
		if (plain > 0)
			keep(line, str_append_bytes(&line->text, text, plain));
		text += plain;
		if (*text) {
			unsigned char c = (unsigned char)*text++;
			char escaped[3] = {'%', hex[c >> 4], hex[c & 15]};

			keep(line, str_append_bytes(&line->text, escaped, sizeof(escaped)));
		}
	}
}

/* At least DIGITS of them, ending before END. A journal is mostly numbers: printf() would
 * take longer than all that is done about a file otherwise. */
static char *put_digits(char *end, uint64_t number, int digits)
{
	for (; number > 0 || digits > 0; digits--) {
		*--end = (char)('0' + number % 10);
		number /= 10;
	}
	return end;
}

/* Digits and a dot need no escape. */
static void put_plain(struct line *line, char *text, size_t len)
{
	if (line->text.len > 0) {
		*--text = ' ';
		len++;
	}
	keep(line, str_append_bytes(&line->text, text, len));
}

void line_number(struct line *line, uint64_t number)
{
	char text[32], *end = text + sizeof(text), *at = put_digits(end, number, 1);

	put_plain(line, at, (size_t)(end - at));
}

void line_time(struct line *line, struct timespec time)
{
	bool negative = time.tv_sec < 0;
	uint64_t seconds = negative ? -(uint64_t)time.tv_sec : (uint64_t)time.tv_sec;
	char text[48], *end = text + sizeof(text);
	char *at = put_digits(end, (uint64_t)time.tv_nsec, 9);

	*--at = '.';
	at = put_digits(at, seconds, 1);
	if (negative)
		*--at = '-';
	put_plain(line, at, (size_t)(end - at));
}

void line_node(struct line *line, const struct node *node)
{
	line_number(line, node->type);
	if (node->type == NODE_ABSENT)
		return;
	line_number(line, node->mode);
	line_number(line, node->uid);
	line_number(line, node->gid);
	line_number(line, node->ino);
	line_number(line, node->nlink);
	line_number(line, node->size);
	line_time(line, node->mtime);
	line_time(line, node->ctime);
	if (node->type == NODE_LINK)
		line_text(line, node->target);
}

static int put_sum(struct str *out, uint64_t sum)
{
	char text[SUM_LEN + 1];

	for (int i = SUM_LEN; i > 0; i--, sum >>= 4)
		text[i - 1] = hex[sum & 15];
	text[SUM_LEN] = ' ';
	return str_append_bytes(out, text, sizeof(text));
}

int line_end(struct line *line, struct str *out)
{
	size_t before = out->len;
	int r = line->error;

	if (r == 0)
		r = put_sum(out, sum_of(str_text(&line->text), line->text.len));
	if (r == 0)
		r = str_append_bytes(out, str_text(&line->text), line->text.len);
	if (r == 0)
		r = str_append_char(out, '\n');
	if (r < 0 && out->len > before)
		str_truncate(out, before);
	str_release(&line->text);
	line->error = 0;
	return r;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool sum_is_right(const char *line, size_t len)
{
	uint64_t sum = 0;

	if (len <= SUM_LEN || line[SUM_LEN] != ' ' || memchr(line, '\0', len))
		return false;
	for (int i = 0; i < SUM_LEN; i++) {
		int digit = hex_value(line[i]);

		if (digit < 0)
			return false;
		sum = sum << 4 | (unsigned)digit;
	}
	return sum == sum_of(line + SUM_LEN + 1, len - SUM_LEN - 1);
}

int fields_read(const char **at, const char *end, struct fields *ret)
{
	const char *line = *at, *stop;

	if (line == end)
		return 0;
	stop = memchr(line, '\n', (size_t)(end - line));
	*at = stop ? stop + 1 : end;
	if (!stop || !sum_is_right(line, (size_t)(stop - line)))
		return -EBADMSG;
	line += SUM_LEN + 1;
	*ret = (struct fields){.text = strndup(line, (size_t)(stop - line))};
	ret->next = ret->text;
	return ret->text ? 1 : -ENOMEM;
}

void fields_release(struct fields *fields)
{
	free(fields->text);
	*fields = (struct fields){0};
}

/* In place; false when it is malformed. No NUL can come of it. */
static bool unescape(char *text)
{
	char *out = text;

	if (strcmp(text, "%") == 0) {
		*text = '\0';
		return true;
	}
	while (*text) {
		int high, low;

		if (*text != '%') {
			*out++ = *text++;
			continue;
		}
		high = hex_value(text[1]);
		low = high < 0 ? -1 : hex_value(text[2]);
		if (low < 0 || (high == 0 && low == 0))
			return false;
		*out++ = (char)(high << 4 | low);
		text += 3;
	}
	*out = '\0';
	return true;
}

const char *fields_text(struct fields *fields)
{
	char *field = fields->next;
	size_t len;

	if (!field) {
		fields->is_bad = true;
		return "";
	}
	len = strcspn(field, " ");
	fields->next = field[len] ? field + len + 1 : NULL;
	field[len] = '\0';
	if (unescape(field))
		return field;
	fields->is_bad = true;
	return "";
}

static uint64_t parse(struct fields *fields, const char **text, uint64_t max)
{
	const char *at = *text;
	uint64_t value = 0;

	if (*at < '0' || *at > '9')
		fields->is_bad = true;
	for (; *at >= '0' && *at <= '9'; at++) {
		unsigned digit = (unsigned)(*at - '0');

		if (value > (max - digit) / 10 || digit > max) {
			fields->is_bad = true;
			return 0;
		}
		value = value * 10 + digit;
	}
	*text = at;
	return value;
}

uint64_t fields_number(struct fields *fields, uint64_t max)
{
	const char *text = fields_text(fields);
	uint64_t value = parse(fields, &text, max);

	if (*text)
		fields->is_bad = true;
	return fields->is_bad ? 0 : value;
}

struct timespec fields_time(struct fields *fields)
{
	const char *text = fields_text(fields);
	bool negative = *text == '-';
	struct timespec time = {0};

	text += negative;
	time.tv_sec = (time_t)parse(fields, &text, INT64_MAX);
	if (negative)
		time.tv_sec = -time.tv_sec;
	if (*text == '.') {
		text++;
		time.tv_nsec = (long)parse(fields, &text, 999999999);
	}
	if (*text)
		fields->is_bad = true;
	if (fields->is_bad)
		time = (struct timespec){0};
	return time;
}

int fields_node(struct fields *fields, struct node *ret)
{
	struct node node = {.type = (enum node_type)fields_number(fields, NODE_WHITEOUT)};

	if (node.type != NODE_ABSENT) {
		node.mode = (mode_t)fields_number(fields, 07777);
		node.uid = (uid_t)fields_number(fields, UINT32_MAX);
		node.gid = (gid_t)fields_number(fields, UINT32_MAX);
		node.ino = (ino_t)fields_number(fields, UINT64_MAX);
		node.nlink = (uint32_t)fields_number(fields, UINT32_MAX);
		node.size = fields_number(fields, UINT64_MAX);
		node.mtime = fields_time(fields);
		node.ctime = fields_time(fields);
	}
	if (node.type == NODE_LINK) {
		node.target = strdup(fields_text(fields));
		if (!node.target)
			return -ENOMEM;
	}
	if (fields->is_bad) {
		node_release(&node);
		return -EBADMSG;
	}
	*ret = node;
	return 0;
}
