/* SPDX-License-Identifier: MIT */
/*
 * What a client sends, from bytes to answers, without workers. The first byte chooses: how
 * the connection has begun, and in pieces of which size the rest arrives. Each answer must
 * be one line of JSON, and once the input has ended nothing may be left to answer.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "mcp/rpc.h"
#include "mcp/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const versions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

static void begin(struct server *server, const char *version)
{
	struct str line = {0};

	if (str_appendf(
		    &line,
		    "{\"jsonrpc\":\"2.0\",\"id\":\"first\",\"method\":\"initialize\",\"params\":{"
		    "\"protocolVersion\":\"%s\",\"capabilities\":{},\"clientInfo\":{}}}\n"
		    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
		    version) < 0 ||
	    server_feed(server, line.data, line.len) < 0)
		abort();
	str_release(&line);
}

static void check_output(struct server *server)
{
	size_t len;
	const char *bytes = server_output(server, &len);

	while (len > 0) {
		const char *newline = memchr(bytes, '\n', len);
		size_t line = newline ? (size_t)(newline - bytes) : len;
		json_t *value;

		if (!newline)
			abort();
		value = json_loadb(bytes, line, JSON_REJECT_DUPLICATES, NULL);
		if (!value)
			abort();
		json_decref(value);
		server_sent(server, line + 1);
		bytes = server_output(server, &len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct strv none;
	const struct server_setup setup = {
		.program = "/nowhere",
		.workspace = "/work",
		.session = &none,
		.staged = size > 0 && data[0] & 8,
		.preset = "workspace",
		.exposed = size > 0 && data[0] & 16 ? UINT64_MAX : 0xfff,
		.no_workers = true,
	};
	struct server *server = server_new(&setup);
	size_t piece;

	if (!server)
		abort();
	if (size > 0) {
		if (data[0] & 4)
			begin(server, versions[data[0] & 3]);
		piece = data[0] & 32 ? 7 : size;
		for (size_t at = 1; at < size; at += piece) {
			size_t n = size - at < piece ? size - at : piece;

			if (server_feed(server, (const char *)data + at, n) < 0 ||
			    server_turn(server, at) < 0)
				abort();
		}
	}
	server_feed_end(server);
	for (int i = 0; i < 4 * 1100 && server_calls(server) > 0; i++)
		if (server_turn(server, size + (size_t)i) < 0)
			abort();
	if (server_calls(server) > 0)
		abort();
	check_output(server);
	server_free(server);
	return 0;
}
