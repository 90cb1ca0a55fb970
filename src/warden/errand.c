/* SPDX-License-Identifier: MIT */
#include "warden/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"

/* The kernel's MAX_ARG_STRLEN. */
enum { WORD_MAX = 128 * 1024 };

static int measure(char *const *words, uint32_t *ret_count, size_t *size, struct err *err)
{
	for (*ret_count = 0; words[*ret_count]; ++*ret_count) {
		size_t len = strlen(words[*ret_count]) + 1;

		if (len > WORD_MAX)
			return err_set(err, ERR_USAGE, -E2BIG,
				       "an argument or variable is longer than 128 KiB");
		*size += len;
		if (*size > ERRAND_SIZE_MAX)
			return err_set(err, ERR_USAGE, -E2BIG,
				       "arguments and environment are longer than 1 MiB");
	}
	return 0;
}

static char *put_word(char *at, const char *word)
{
	return mempcpy(at, word, strlen(word) + 1);
}

static char *put_words(char *at, char *const *words)
{
	for (; *words; words++)
		at = put_word(at, *words);
	return at;
}

static int pack_apart(struct errand_packet *p, struct err *err)
{
	int fd = memfd_create("pale-errand", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fd < 0 ? -errno : fd_write_all(fd, p->words, p->order.size);

	if (r == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		r = -errno;
	if (r < 0) {
		fd_close(fd);
		return err_sys(err, r, "write the command down");
	}
	free(p->words);
	p->words = NULL;
	p->file = fd;
	p->order.order.value |= ERRAND_APART;
	p->fds[p->fds_len++] = fd;
	return 0;
}

static void put_fds(const struct errand *e, struct errand_packet *p)
{
	for (int i = 0; i < 3; i++)
		if (!(p->order.pty.mask & 1u << i))
			p->fds[p->fds_len++] = e->fds[i];
	if (e->notes >= 0)
		p->fds[p->fds_len++] = e->notes;
}

bool errand_is_held(const struct errand *e)
{
	return !e->is_tool && (e->timeout_ms != UINT64_MAX || e->cpu_ms != UINT64_MAX ||
			       e->memory != UINT64_MAX || e->pids != UINT64_MAX);
}

int errand_pack(const struct errand *e, struct errand_packet *ret, struct err *err)
{
	struct errand_packet p = {.order.order = {.kind = WARDEN_ERRAND,
						  .value = (e->is_tool ? ERRAND_TOOL : 0) |
							   (e->notes >= 0 ? ERRAND_NOTES : 0) |
							   (errand_is_held(e) ? ERRAND_HELD : 0),
						  .id = e->id},
				  .file = -1};
	size_t size = strlen(e->cwd) + 1;
	int r = measure(e->argv, &p.order.argc, &size, err);

	if (r == 0)
		r = measure(e->env, &p.order.envc, &size, err);
	if (r < 0)
		return r;
	if (e->pty)
		p.order.pty = *e->pty;
	p.order.size = (uint32_t)size;
	p.order.umask = e->umask;
	p.words = malloc(size);
	if (!p.words)
		return err_oom(err);
	put_words(put_words(put_word(p.words, e->cwd), e->argv), e->env);
	if (size > ERRAND_INLINE_MAX)
		r = pack_apart(&p, err);
	if (r < 0) {
		errand_packet_release(&p);
		return r;
	}
	put_fds(e, &p);
	*ret = p;
	return 0;
}

size_t errand_packet_parts(struct errand_packet *p, struct iovec parts[2])
{
	parts[0] = (struct iovec){&p->order, sizeof(p->order)};
	parts[1] = (struct iovec){p->words, p->order.size};
	return p->words ? 2 : 1;
}

void errand_packet_release(struct errand_packet *p)
{
	free(p->words);
	p->words = NULL;
	p->file = fd_close(p->file);
}

size_t errand_pointers(const struct errand_order *order)
{
	return (size_t)order->argc + order->envc + 2;
}

size_t errand_fds(const struct errand_order *order)
{
	unsigned taken = order->pty.mask & 7;
	int flags = order->order.value;

	return 3 - ((taken & 1) + (taken >> 1 & 1) + (taken >> 2 & 1)) + !!(flags & ERRAND_NOTES) +
	       !!(flags & ERRAND_APART);
}

/* Past the end there is none. */
static char *take_word(char **at, const char *end)
{
	char *word = *at;
	size_t len = strnlen(word, (size_t)(end - word));

	if (word + len == end)
		return NULL;
	*at += len + 1;
	return word;
}

static char **take_words(char **at, const char *end, uint32_t count, char **pointers)
{
	for (uint32_t i = 0; i < count; i++) {
		pointers[i] = take_word(at, end);
		if (!pointers[i])
			return NULL;
	}
	pointers[count] = NULL;
	return pointers;
}

int errand_unpack(const struct errand_order *order, char *text, size_t size, char **pointers,
		  struct errand_words *ret)
{
	const char *end = text + size;
	struct errand_words words;
	char *at = text;

	if (size != order->size || order->order.kind != WARDEN_ERRAND || order->argc == 0)
		return -EBADMSG;
	words.cwd = take_word(&at, end);
	words.argv = words.cwd ? take_words(&at, end, order->argc, pointers) : NULL;
	words.env = words.argv ? take_words(&at, end, order->envc, pointers + order->argc + 1)
			       : NULL;
	if (!words.env || at != end)
		return -EBADMSG;
	*ret = words;
	return 0;
}
