/* SPDX-License-Identifier: MIT */
/* impl - what the parts of the server share. */
#pragma once
#include <jansson.h>

#include "mcp/rpc.h"
#include "mcp/server.h"
#include "mcp/tools.h"
#include "mcp/worker.h"

struct err;
struct json;
struct pale_context;

/* The versions that we speak, oldest first. */
enum version { V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, VERSION_COUNT_ };
extern const char *const version_names[VERSION_COUNT_];

enum {
	RUNNING_MAX = 64,       /* calls at work */
	WAITING_MAX = 1024,     /* and such that wait for that */
	OUTPUT_PAUSE = 4 << 20, /* answers that nobody has read: nothing more is begun */
	BATCH_MAX = 256,
	LIVING_BYTES = 64 << 20, /* of lines whose calls are not answered */
	REFUSAL_MS = 10000,      /* the same refusal is recorded so often at most */
	PROGRESS_MS = 500,
	RESOURCE_COUNT = 4,
};

/* The answers of one batch, until the last one is there. */
struct batch {
	struct str out;
	size_t pending;
};

/* Whom an answer goes to. */
struct reply {
	char *id; /* NULL: to nobody */
	struct batch *batch;
};

struct call;
/* Its worker has ended. True: once more, with another argv. */
typedef bool call_finish_fn(struct server *server, struct call *call);

/* What takes a `pale` process: a tool, a resource, our own session. */
struct call {
	struct call *next;
	struct reply reply;
	char *token;             /* of progress, as JSON; NULL: nobody asked */
	const struct tool *tool; /* NULL: none */
	json_t *args;            /* of the tool; an object */
	struct strv argv;        /* "pale" first */
	size_t insert_at;        /* where the session or the stage is named in it */
	const char *input;       /* for standard input; in args, as texts; NULL: none */
	const char *texts[WORKER_TEXTS];
	bool has_result, is_command; /* as of struct work */
	bool needs_session;
	bool cancelled;
	bool is_working;
	int passed;          /* -1 */
	unsigned step;       /* of a tool that takes several */
	unsigned generation; /* of the session that it worked in */
	unsigned retries;    /* in a new session */
	int detail;          /* the caller's own: which resource */
	call_finish_fn *finish;
	struct worker worker;
	uint64_t began_ns, progress_ns;
	size_t cost;     /* bytes of the line that asked for it */
	uint64_t number; /* in order of arrival */
	char *order; /* such calls are done one by one: a file, as digests call it; "": lines of one
			 shell; NULL: any time */
};

enum session_state { SESSION_NONE, SESSION_STARTING, SESSION_READY };

/* Our own, in which exec and the file tools work. */
struct session {
	enum session_state state;
	char *name, *stage; /* stage NULL: it writes directly */
	int lifeline;       /* our end; -1 */
	unsigned generation;
	char *notice; /* to be said once: that it was replaced */
	unsigned tries;
	uint64_t retry_ns; /* not before that; 0: at once */
};

/* What a file held when the client last saw it. */
struct digests {
	struct digest_entry {
		char *path, *digest;
	} * items;
	size_t len, next;
};

struct server {
	struct server_setup setup;
	bool has_begun; /* initialize was answered */
	bool is_ready;  /* and the client said so */
	enum version version;
	struct rpc_lines lines;
	struct str out;
	size_t out_at;
	struct batch *batch; /* that is being read */
	struct call *calls;  /* oldest first */
	size_t running, waiting;
	uint64_t arrived; /* calls so far */
	struct session session;
	struct digests digests;
	struct strv
		done; /* ids of what this connection has applied and discarded, the newest last */
	struct pale_context *ring;
	uint64_t workspace_hash;
	bool subscribed[RESOURCE_COUNT];
	int log_level;
	unsigned refusals;
	uint64_t refused_ns[TOOL_COUNT_]; /* when that was last recorded */
	unsigned refused[TOOL_COUNT_];    /* and how often since */
	size_t line_len;                  /* of the line that is being read */
	int error;                        /* -ENOMEM: it cannot go on */
	uint64_t now_ns;
};

/* server.c */
void server_answer(struct server *server, struct reply *reply, const struct str *result);
void server_refuse(struct server *server, struct reply *reply, const struct rpc_error *error);
/* There will be no answer. */
void server_drop(struct server *server, struct reply *reply);
/* PARAMS is JSON, or NULL. Nothing before the client is ready. */
void server_notify(struct server *server, const char *method, const char *params);
/* LEVEL: as of syslog(3), 7 for debug. */
void server_log(struct server *server, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* One method: 0 and RESULT; 1: it will be answered; below 0: ERROR. */
typedef int method_fn(struct server *server, struct rpc_message *message, struct str *result,
		      struct rpc_error *error);
method_fn method_tools_call, method_resources_list, method_resources_read, method_templates_list,
	method_subscribe, method_unsubscribe, method_prompts_list, method_prompts_get;
void resource_updated(struct server *server, int resource);
/* What a run may have changed. */
void resources_after_run(struct server *server);

/* calls.c */
/* A call that answers MESSAGE, whose id it takes; MESSAGE NULL: one of our own. NULL: no memory. */
struct call *call_new(struct rpc_message *message, struct batch *batch);
void call_free(struct call *call);
/* Into the queue. RPC_BUSY: it is full; the call is the caller's still. */
int call_queue(struct server *server, struct call *call, struct rpc_error *error);
bool call_is_living(const struct server *server, const char *id);
/* It wants no sandbox beside it: nothing that needs one begins before it has ended. */
bool call_is_alone(const struct call *call);
bool calls_has_alone(const struct server *server);
void call_cancel(struct server *server, const char *id);

/* tool-args.c: the command line of a call, from its arguments. Below 0: ERROR, or -ENOMEM. */
int tool_prepare(struct server *server, struct call *call, struct rpc_error *error);
/* It is its turn: what calls before it have brought counts. A tool that wants no sandbox beside it
 * ends our session first (step 0). */
int tool_begin(struct server *server, struct call *call);
/* write looks first (step 0) whether there is something that the client has not seen. */
int tool_prepare_write(struct server *server, struct call *call);
int tool_prepare_run_now(struct server *server, struct call *call);
/* "pale" and the words of VERB, of a call that is new or goes another step. 0 or -ENOMEM. */
int argv_begin(struct call *call, const char *verb);
/* The options by which the server was given a boundary of its own. */
int argv_add_boundary(const struct server *server, struct call *call);
/* A copy of the call's argv in which our session or stage is named. */
int argv_finish(const struct server *server, const struct call *call, struct strv *ret);

/* schemas.c */
void tools_json(const struct server *server, struct json *json);
int args_check(const struct tool *tool, json_t *args, struct rpc_error *error);

/* results.c: what a worker brought, as the answer to its call. */
bool tool_finish(struct server *server, struct call *call);
/* The result of a tool. STRUCTURED is JSON, or NULL; left out where the version has none. */
int result_put(const struct server *server, struct str *out, const char *text,
	       const char *structured, bool is_error);
/* file-results.c */
bool file_finish(struct server *server, struct call *call);
/* What a verb said when it failed, without "pale: ". */
int worker_complaint(const struct worker *worker, struct str *out);

/* session.c */
bool session_is_needed(const struct server *server);
int session_start(struct server *server);
/* The end of that call. */
bool session_started(struct server *server, struct call *call);
/* It could not even begin: -errno. */
void session_failed(struct server *server, int r);
void session_end(struct server *server);
/* On purpose; its stage stays. */
void session_was_ended(struct server *server);
bool session_is_gone(const struct session *session);
/* Has that of CALL ended while it worked? */
bool session_took_along(const struct server *server, const struct call *call);
/* Forget one that has ended by itself. */
void session_check(struct server *server);
/* The call was not done; ERROR says why, if anything does. True: that was the session,
 * another one will be started, and the call is to be done once more. */
bool session_replace(struct server *server, struct call *call, json_t *error);

/* digests.c */
/* What a path is called there; the caller's. NULL: no memory. */
char *digest_key(const struct server *server, const char *path);
const char *digest_of(const struct server *server, const char *path);
void digest_keep(struct server *server, const char *path, const char *digest);
void digests_release(struct digests *digests);

/* refusals.c: what the client tried and may not, for the events. */
void refusal_remember(struct server *server, const struct tool *tool);
