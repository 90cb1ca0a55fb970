/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox-table.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "mcp/rpc.h"
#include "tap.h"

static void check(const char *sandbox, const char *timeout, const char *want)
{
	_cleanup_(str_release) struct str out = {0};
	json_t *value = sandbox ? json_loads(sandbox, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
				: NULL;
	struct rpc_error error = {0};
	int r = sandbox_table(value, timeout, "mine", &out, &error);

	if (want)
		tap_eq_str(r == 0 ? str_text(&out) : error.message, want, "%s",
			   sandbox ? sandbox : "none");
	else
		tap_eq_int(r, RPC_INVALID_PARAMS, "%s is refused", sandbox ? sandbox : "none");
	json_decref(value);
}

int main(void)
{
	check(NULL, NULL, "");
	check("\"test\"", NULL, "test");
	check("\"test\"", "5s", "{ base = \"test\", timeout = \"5s\" }");
	check(NULL, "5s", "{ base = \"mine\", timeout = \"5s\" }");
	check("{\"network\":\"none\",\"pids\":3,\"ephemeral\":true,\"paths_hidden\":[\"a\",\"b\"]}",
	      NULL,
	      "{ network = \"none\", pids = 3, ephemeral = true, paths_hidden = [\"a\", \"b\"] }");
	check("{\"network\":\"none\\\"}\\n[ceiling]\"}", NULL,
	      "{ network = \"none\\\"}\\n[ceiling]\" }");
	check("{}", "5s", "{ timeout = \"5s\" }");
	check("{\"timeout\":\"1s\"}", "5s", NULL);
	check("\"{ network = 1 }\"", NULL, NULL);
	check("\"--force\"", NULL, NULL);
	check("{\"netz\":\"none\"}", NULL, NULL);
	check("{\"a] = 1\\n[x\":\"none\"}", NULL, NULL);
	check("{\"network\":null}", NULL, NULL);
	check("{\"network\":{\"a\":1}}", NULL, NULL);
	check("{\"network\":[[1]]}", NULL, NULL);
	check("{\"network\":1.5}", NULL, NULL);
	check("{\"network\":\"a\\u0000b\"}", NULL, NULL);
	return tap_done();
}
