/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "files/regex-impl.h"

enum { STEPS_MAX = 1000000 };

struct emitter {
	const struct regex_tree *tree;
	struct regex *out;
	unsigned steps; /* nothing, repeated a thousand times a thousand times, takes long, too */
	const char *why;
};

static int emit(struct emitter *e, struct regex_code code)
{
	struct regex *out = e->out;

	if (out->len == REGEX_CODE_MAX) {
		e->why = "it is too large";
		return -EINVAL;
	}
	if (out->len == out->cap) {
		size_t cap = out->cap ? out->cap * 2 : 256;
		struct regex_code *grown = reallocarray(out->code, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		out->code = grown;
		out->cap = cap;
	}
	out->code[out->len] = code;
	return (int)out->len++;
}

static uint32_t here(const struct emitter *e)
{
	return (uint32_t)e->out->len;
}

/* The bytes of one character, or of many whose bytes differ by a range each. */
struct bytes {
	uint8_t low[4], high[4];
	int len;
};

static int emit_bytes(struct emitter *e, const struct bytes *bytes)
{
	int r = 0;

	for (int i = 0; i < bytes->len && r >= 0; i++)
		r = emit(e, (struct regex_code){.op = REGEX_BYTE,
						.low = bytes->low[i],
						.high = bytes->high[i]});
	return r;
}

int regex_encode(uint32_t c, uint8_t ret[4])
{
	int len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (int i = len - 1; i > 0; i--, c >>= 6)
		ret[i] = (uint8_t)(0x80 | (c & 0x3f));
	ret[0] = (uint8_t)(leads[len] | c);
	return len;
}

typedef int bytes_fn(struct emitter *e, const struct bytes *bytes, void *data);

/* FIRST to LAST, which take as many bytes: split until each byte but the last ones is fixed,
 * and the last ones are all that there are. */
static int split(struct emitter *e, uint32_t first, uint32_t last, bytes_fn *each, void *data)
{
	struct bytes bytes;

	for (int i = 1; i < 4; i++) {
		uint32_t m = ((uint32_t)1 << (6 * i)) - 1;

		if (last < 0x80 || (first & ~m) == (last & ~m))
			break;
		if (first & m) {
			int r = split(e, first, first | m, each, data);

			return r < 0 ? r : split(e, (first | m) + 1, last, each, data);
		}
		if ((last & m) != m) {
			int r = split(e, first, (last & ~m) - 1, each, data);

			return r < 0 ? r : split(e, last & ~m, last, each, data);
		}
	}
	bytes.len = regex_encode(first, bytes.low);
	regex_encode(last, bytes.high);
	return each(e, &bytes, data);
}

static int each_length(struct emitter *e, struct regex_range range, bytes_fn *each, void *data)
{
	static const struct regex_range lengths[] = {
		{0, 0x7f}, {0x80, 0x7ff}, {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000, 0x10ffff}};
	int r = 0;

	for (size_t i = 0; i < array_len(lengths) && r >= 0; i++) {
		uint32_t first = range.first > lengths[i].first ? range.first : lengths[i].first;
		uint32_t last = range.last < lengths[i].last ? range.last : lengths[i].last;

		if (first <= last)
			r = split(e, first, last, each, data);
	}
	return r;
}

/* The jumps to the end of a set, as a list through `to`. */
struct exits {
	uint32_t last;
	bool any;
};

/* Or this one: SPLIT to it and to the next alternative. */
static int emit_choice(struct emitter *e, const struct bytes *bytes, void *data)
{
	struct exits *exits = data;
	int fork = emit(e, (struct regex_code){.op = REGEX_SPLIT});
	int r = fork, jump;

	if (r >= 0)
		r = emit_bytes(e, bytes);
	if (r < 0)
		return r;
	jump = emit(e, (struct regex_code){.op = REGEX_JUMP,
					   .to = exits->any ? exits->last : UINT32_MAX});
	if (jump < 0)
		return jump;
	exits->last = (uint32_t)jump;
	exits->any = true;
	e->out->code[fork].to = (uint32_t)fork + 1;
	e->out->code[fork].or = here(e);
	return 0;
}

/* What follows the last alternative of a set cannot be reached by any text. */
static int emit_set(struct emitter *e, const struct regex_node *node)
{
	struct exits exits = {0};
	const struct regex_range *ranges = e->tree->ranges + node->first;
	int r = 0;

	if (node->count == 1 && ranges->last < 0x80)
		return emit(e, (struct regex_code){.op = REGEX_BYTE,
						   .low = (uint8_t)ranges->first,
						   .high = (uint8_t)ranges->last});
	for (size_t i = 0; i < node->count && r >= 0; i++)
		r = each_length(e, ranges[i], emit_choice, &exits);
	if (r >= 0)
		r = emit(e, (struct regex_code){.op = REGEX_BYTE, .low = 1, .high = 0});
	if (r < 0)
		return r;
	for (uint32_t at = exits.any ? exits.last : UINT32_MAX; at != UINT32_MAX;) {
		uint32_t next = e->out->code[at].to;

		e->out->code[at].to = here(e);
		at = next;
	}
	return 0;
}

static int emit_node(struct emitter *e, int index);

static int emit_either(struct emitter *e, const struct regex_node *node)
{
	int fork = emit(e, (struct regex_code){.op = REGEX_SPLIT});
	int r = fork < 0 ? fork : emit_node(e, node->a), jump;

	if (r < 0)
		return r;
	jump = emit(e, (struct regex_code){.op = REGEX_JUMP});
	if (jump < 0)
		return jump;
	e->out->code[fork].to = (uint32_t)fork + 1;
	e->out->code[fork].or = here(e);
	r = emit_node(e, node->b);
	e->out->code[jump].to = here(e);
	return r;
}

/* Maybe: with LOOP, as often as there is. */
static int emit_maybe(struct emitter *e, int index, bool loop)
{
	int fork = emit(e, (struct regex_code){.op = REGEX_SPLIT});
	int r = fork < 0 ? fork : emit_node(e, index);

	if (r >= 0 && loop)
		r = emit(e, (struct regex_code){.op = REGEX_JUMP, .to = (uint32_t)fork});
	if (r < 0)
		return r;
	e->out->code[fork].to = (uint32_t)fork + 1;
	e->out->code[fork].or = here(e);
	return 0;
}

static int emit_repeat(struct emitter *e, const struct regex_node *node)
{
	int r = 0;

	for (int i = 0; i < node->min && r >= 0; i++)
		r = emit_node(e, node->a);
	if (node->max < 0 && r >= 0)
		return emit_maybe(e, node->a, true);
	for (int i = node->min; i < node->max && r >= 0; i++)
		r = emit_maybe(e, node->a, false);
	return r;
}

static int emit_node(struct emitter *e, int index)
{
	const struct regex_node *node = &e->tree->nodes[index];
	int r;

	if (++e->steps > STEPS_MAX) {
		e->why = "it is too large";
		return -EINVAL;
	}
	switch (node->kind) {
	case NODE_EMPTY:
		return 0;
	case NODE_SET:
		return emit_set(e, node);
	case NODE_ASSERT:
		e->out->has_words |= node->op != REGEX_BEGIN && node->op != REGEX_END;
		return emit(e, (struct regex_code){.op = (uint8_t)node->op});
	case NODE_CAT:
		r = emit_node(e, node->a);
		return r < 0 ? r : emit_node(e, node->b);
	case NODE_ALT:
		return emit_either(e, node);
	case NODE_REPEAT:
		return emit_repeat(e, node);
	}
	return -EINVAL;
}

int regex_emit(const struct regex_tree *tree, struct regex *ret, const char **ret_why)
{
	struct emitter e = {.tree = tree, .out = ret};
	int r = emit_node(&e, tree->top);

	if (r >= 0)
		r = emit(&e, (struct regex_code){.op = REGEX_MATCH});
	*ret_why = e.why;
	return r < 0 ? r : 0;
}

int regex_compile(const char *text, bool ignore_case, struct regex *ret, const char **ret_why)
{
	struct regex_tree tree;
	int r = regex_parse(text, ignore_case, &tree, ret_why);

	*ret = (struct regex){0};
	if (r == 0)
		r = regex_emit(&tree, ret, ret_why);
	if (r == 0)
		regex_find_must(&tree, ignore_case, ret->must);
	regex_tree_release(&tree);
	return r;
}

void regex_release(struct regex *regex)
{
	free(regex->code);
	*regex = (struct regex){0};
}
