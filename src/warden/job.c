/* SPDX-License-Identifier: MIT */
#include "warden/job.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "warden/step.h"

#define MAGIC "pale-job-4"

/* One field, ended by a NUL like all others. */
static int put(struct str *out, const char *text)
{
	return str_append_bytes(out, text, strlen(text) + 1);
}

static int put_number(struct str *out, unsigned long long number)
{
	int r = str_appendf(out, "%llu", number);

	return r < 0 ? r : str_append_char(out, '\0');
}

static int put_steps(const struct plan *plan, struct str *out)
{
	size_t count = 0;
	int r;

	for (size_t i = 0; i < plan->ops_len; i++)
		count += step_is_known(plan->ops[i].kind);
	r = put_number(out, count);
	for (size_t i = 0; i < plan->ops_len && r == 0; i++) {
		if (!step_is_known(plan->ops[i].kind))
			continue;
		r = put(out, op_name(plan->ops[i].kind));
		if (r == 0)
			r = put_number(out, plan->ops[i].flags);
		if (r == 0)
			r = put_number(out, plan->ops[i].size);
		if (r == 0)
			r = put(out, plan->ops[i].dst ? plan->ops[i].dst : "");
	}
	return r;
}

static int put_words(const struct strv *words, struct str *out)
{
	int r = put_number(out, words->len);

	for (size_t i = 0; i < words->len && r == 0; i++)
		r = put(out, words->items[i]);
	return r;
}

int job_pack(const struct plan *plan, bool stands, struct str *out)
{
	const struct strv none = {0};
	int r = put(out, MAGIC);

	if (r == 0)
		r = put_number(out, plan->namespaces & CLONE_NEWPID ? 1 : 0);
	if (r == 0)
		r = put_number(out, plan->tool ? 1 : 0);
	if (r == 0)
		r = put_number(out, stands);
	if (r == 0)
		r = put(out, plan->cwd);
	if (r == 0)
		r = put_steps(plan, out);
	if (r == 0)
		r = put_words(stands ? &none : &plan->argv, out);
	return r < 0 ? r : put_words(stands ? &none : &plan->env, out);
}

struct reader {
	char *next;
	size_t left; /* bytes; the last one is a NUL */
};

/* NULL past the end. */
static char *take_word(struct reader *reader)
{
	char *word = reader->next;
	size_t len;

	if (reader->left == 0)
		return NULL;
	len = strlen(word) + 1;
	reader->next += len;
	reader->left -= len;
	return word;
}

/* Never more than bytes are left, so that it can be a size. */
static bool take_number(struct reader *reader, unsigned long long max, unsigned long long *ret)
{
	char *word = take_word(reader), *end;

	if (!word || word[0] < '0' || word[0] > '9')
		return false;
	errno = 0;
	*ret = strtoull(word, &end, 10);
	return errno == 0 && *end == '\0' && *ret <= max;
}

static bool take_step(struct reader *reader, struct job *job)
{
	struct op *step = &job->steps[job->steps_len];
	const char *name = take_word(reader);
	unsigned long long flags, size;
	char *dst;

	if (!name || !take_number(reader, ~0U, &flags) || !take_number(reader, UINT64_MAX, &size))
		return false;
	dst = take_word(reader);
	if (!dst)
		return false;
	for (int kind = 0; kind < OP_KIND_COUNT_; kind++) {
		if (!step_is_known((enum op_kind)kind) ||
		    strcmp(op_name((enum op_kind)kind), name) != 0)
			continue;
		*step = (struct op){.kind = (enum op_kind)kind,
				    .flags = (unsigned)flags,
				    .size = size,
				    .dst = dst};
		job->steps_len++;
		return true;
	}
	return false; /* what it does not know it cannot enforce */
}

static bool take_head(struct reader *reader, struct job *job)
{
	const char *magic = take_word(reader);
	unsigned long long owns, tool, stands, steps;

	if (!magic || strcmp(magic, MAGIC) != 0 || !take_number(reader, 1, &owns) ||
	    !take_number(reader, 1, &tool) || !take_number(reader, 1, &stands))
		return false;
	job->owns_pidns = owns;
	job->is_tool = tool;
	job->stands = stands;
	job->cwd = take_word(reader);
	if (!job->cwd || !take_number(reader, JOB_STEPS_MAX, &steps))
		return false;
	while (steps-- > 0)
		if (!take_step(reader, job))
			return false;
	return true;
}

static bool take_words(struct reader *reader, char **words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		words[i] = take_word(reader);
		if (!words[i])
			return false;
	}
	words[count] = NULL;
	return true;
}

static int take_command(struct reader *reader, struct job *job)
{
	/* As many words as there are bytes, and the NULLs. */
	char **words = calloc(reader->left + 2, sizeof(*words));
	unsigned long long argc, envc;

	if (!words)
		return -ENOMEM;
	job->argv = words;
	if (!take_number(reader, reader->left, &argc) || (argc == 0) != job->stands ||
	    !take_words(reader, words, argc))
		return -EBADMSG;
	job->env = words + argc + 1;
	if (!take_number(reader, reader->left, &envc) || !take_words(reader, job->env, envc))
		return -EBADMSG;
	return reader->left == 0 ? 0 : -EBADMSG;
}

int job_parse(struct str *text, struct job *ret, struct err *err)
{
	struct reader reader = {.next = text->data, .left = text->len};
	struct job job = {0};
	int r = -EBADMSG;

	if (text->len > 0 && text->data[text->len - 1] == '\0' && take_head(&reader, &job))
		r = take_command(&reader, &job);
	if (r < 0) {
		job_release(&job);
		return r == -ENOMEM ? err_oom(err)
				    : err_set(err, ERR_SYSTEM, r, "the warden's job is broken");
	}
	*ret = job;
	return 0;
}

void job_release(struct job *job)
{
	free(job->argv);
	*job = (struct job){0};
}
