/* SPDX-License-Identifier: MIT */
#include "api/capture.h"

#include <errno.h>
#include <string.h>

void capture_release(struct capture *capture)
{
	str_release(&capture->head);
	str_release(&capture->ring);
	capture->at = 0;
}

/* Over the oldest; the ring is full. */
static void overwrite(struct capture *capture, const char *bytes, size_t len)
{
	size_t size = capture->ring.len;

	capture->dropped += len;
	if (len > size) {
		bytes += len - size;
		len = size;
	}
	while (len > 0) {
		size_t piece = size - capture->at < len ? size - capture->at : len;

		memcpy(capture->ring.data + capture->at, bytes, piece);
		capture->at = (capture->at + piece) % size;
		bytes += piece;
		len -= piece;
	}
}

/* As much as fits in MAX bytes. */
static int fill(struct str *text, size_t max, const char **bytes, size_t *len)
{
	size_t room = max - text->len, piece = *len < room ? *len : room;
	int r = str_append_bytes(text, *bytes, piece);

	if (r < 0)
		return r;
	*bytes += piece;
	*len -= piece;
	return 0;
}

int capture_add(struct capture *capture, const char *bytes, size_t len)
{
	int r = fill(&capture->head, capture->max, &bytes, &len);

	if (r == 0)
		r = fill(&capture->ring, capture->max, &bytes, &len);
	if (r == 0 && len > 0)
		overwrite(capture, bytes, len);
	return r;
}

int capture_text(const struct capture *capture, struct str *out)
{
	const struct str *ring = &capture->ring;
	int r = str_append_bytes(out, str_text(&capture->head), capture->head.len);

	if (r == 0 && capture->dropped > 0)
		r = str_appendf(out, "%s[%llu bytes are left out here]\n",
				out->len > 0 && out->data[out->len - 1] != '\n' ? "\n" : "",
				(unsigned long long)capture->dropped);
	if (r == 0 && ring->len > 0)
		r = str_append_bytes(out, ring->data + capture->at, ring->len - capture->at);
	if (r == 0 && ring->len > 0)
		r = str_append_bytes(out, ring->data, capture->at);
	return r;
}
