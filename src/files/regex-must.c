/* SPDX-License-Identifier: MIT */
/* Most lines do not hold the plain text that a match must hold: those need no closer look. */
#include <string.h>

#include "files/regex-impl.h"

struct must {
	const struct regex_tree *tree;
	bool ignore_case;
	char *best;
	size_t best_len;
	char run[REGEX_MUST_MAX];
	size_t len;
};

static void end_run(struct must *m)
{
	if (m->len > m->best_len) {
		memcpy(m->best, m->run, m->len);
		m->best_len = m->len;
		m->best[m->len] = '\0';
	}
	m->len = 0;
}

/* The one character of a set, or both cases of it; false: there are more. */
static bool only_char(const struct must *m, const struct regex_node *node, uint32_t *ret)
{
	const struct regex_range *ranges = m->tree->ranges + node->first;

	if (node->count == 0 || node->count > 2 || ranges[0].first != ranges[0].last)
		return false;
	*ret = ranges[node->count - 1].first;
	if (node->count == 1)
		return *ret != 0;
	return m->ignore_case && ranges[1].first == ranges[1].last && *ret >= 'a' && *ret <= 'z' &&
	       ranges[0].first == (*ret ^ 0x20);
}

static void walk(struct must *m, int index)
{
	const struct regex_node *node = &m->tree->nodes[index];
	uint32_t c;

	switch (node->kind) {
	case NODE_EMPTY:
	case NODE_ASSERT:
		return;
	case NODE_SET:
		if (m->len + 4 >= sizeof(m->run) || !only_char(m, node, &c))
			end_run(m);
		else
			m->len += (size_t)regex_encode(c, (uint8_t *)m->run + m->len);
		return;
	case NODE_CAT:
		walk(m, node->a);
		walk(m, node->b);
		return;
	case NODE_REPEAT:
		end_run(m);
		if (node->min > 0)
			walk(m, node->a);
		end_run(m);
		return;
	case NODE_ALT:
		end_run(m);
		return;
	}
}

void regex_find_must(const struct regex_tree *tree, bool ignore_case, char ret[REGEX_MUST_MAX])
{
	struct must m = {.tree = tree, .ignore_case = ignore_case, .best = ret};

	ret[0] = '\0';
	walk(&m, tree->top);
	end_run(&m);
}
