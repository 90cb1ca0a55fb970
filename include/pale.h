/* SPDX-License-Identifier: MIT */
/*
 * pale - run commands inside a boundary, from a program.
 *
 *  1. Make a context. It knows which `pale` program does the work:
 *
 *         struct pale_context *context;
 *         pale_context_new(NULL, &context, &error);
 *
 *  2. Say what a command may do, in a spec: from a preset, from TOML, or value
 *     by value. A new spec bounds nothing.
 *
 *         struct pale_spec *spec;
 *         pale_spec_from_preset("/home/ada/project", "workspace", &spec, &error);
 *         pale_spec_set(spec, "timeout", "30s", &error);
 *
 *  3. Start the command, with descriptors of your own, and wait for its end:
 *
 *         const char *const argv[] = {"make", "test", NULL};
 *         struct pale_request request = PALE_REQUEST_INIT;
 *         struct pale_run *run;
 *         request.argv = argv;
 *         pale_spawn(context, spec, &request, &run, &error);
 *         pale_run_wait(run, PALE_FOREVER, &error);
 *
 *  4. Look at how it ended, and clean up:
 *
 *         if (pale_run_outcome(run) != PALE_OK)
 *                 puts(pale_run_json(run));
 *         pale_run_free(run);
 *         pale_spec_free(spec);
 *         pale_context_free(context);
 *
 * Functions return 0 or -errno, unless they say otherwise, and explain a
 * failure in *error, which may be NULL and is untouched on success. Outputs
 * (ret_...) are untouched on failure. Whatever the library hands out as char *
 * or char ** is one block of memory for free(3); a const char * belongs to the
 * object that it came from.
 *
 * The library has no global state, prints nothing, never exits, installs no
 * signal handler, and opens every descriptor close-on-exec. A context and a run
 * may be used by several threads at once; a spec too, as long as nobody changes
 * it. It reads the environment (HOME, XDG_*): as with getenv(3), nobody may
 * change that at the same time.
 *
 * A command is not started by the caller itself: the `pale` program does that,
 * which is spawned without a copy of the caller's address space. It ends, with
 * everything inside, when the caller dies, however that happens.
 *
 * pale(3) explains every function.
 */
#ifndef PALE_H
#define PALE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PALE_API __attribute__((visibility("default")))
#else
#define PALE_API
#endif

/* The version of this header; pale_version() is that of the library. */
#define PALE_VERSION_MAJOR 0
#define PALE_VERSION_MINOR 1

struct pale_context; /* which program does the work, and the latest events */
struct pale_spec;    /* what a command may do */
struct pale_plan;    /* what would be enforced, and by what */
struct pale_run;     /* one execution */

/* What kind of failure. More may be added at the end. */
enum pale_code {
	PALE_CODE_SYSTEM,         /* the kernel or the C library said no */
	PALE_CODE_USAGE,          /* an argument is wrong */
	PALE_CODE_CONFIG,         /* a configuration file, or TOML text, is wrong */
	PALE_CODE_POLICY,         /* a ceiling forbids what was asked */
	PALE_CODE_TRUST,          /* the workspace asks for more than it is trusted with */
	PALE_CODE_UNSUPPORTED,    /* this host or version cannot enforce what was asked */
	PALE_CODE_NOT_FOUND,      /* the program does not exist */
	PALE_CODE_NOT_EXECUTABLE, /* the program exists and cannot be executed */
};

/* The caller's; needs no initialisation. */
struct pale_error {
	int code;           /* enum pale_code */
	int errnum;         /* a positive errno, or 0 */
	char message[1024]; /* no trailing newline */
	char hint[512];     /* what can be done about it; may be empty */
	char reserved[496];
};

/* The version of the library, "0.1.0". */
PALE_API const char *pale_version(void);

/* --- context --- */

/* PROGRAM: the absolute path of `pale`; NULL: where this library was installed
 * with it. It is not looked at before something is to be run. */
PALE_API int pale_context_new(const char *program, struct pale_context **ret_context,
			      struct pale_error *error);
/* NULL is fine. Runs that were made with it go on, and keep what they need. */
PALE_API void pale_context_free(struct pale_context *context);

/* Does confinement work here? It is tried out: a run of `true` under the preset
 * `workspace`. 0: yes; else -errno, and *error says why not. WORKSPACE may be
 * NULL: the one that the current folder belongs to. Takes some milliseconds. */
PALE_API int pale_probe(struct pale_context *context, const char *workspace,
			struct pale_error *error);

/* --- spec --- */

/* A spec that bounds nothing: a command runs as if it was started plainly.
 * WORKSPACE is the folder that `workspace_only`, `${WORKSPACE}` and relative
 * paths refer to. NULL: the one that the working directory belongs to when
 * something is run; the spec then takes absolute paths only. */
PALE_API int pale_spec_new(const char *workspace, struct pale_spec **ret_spec,
			   struct pale_error *error);
/* A built-in preset: "readonly", "test", "build", ... */
PALE_API int pale_spec_from_preset(const char *workspace, const char *preset,
				   struct pale_spec **ret_spec, struct pale_error *error);
/* The keys of a [commands.NAME.sandbox] table as TOML text, `base` included;
 * what is left out has the same defaults as there. */
PALE_API int pale_spec_from_toml(const char *workspace, const char *text,
				 struct pale_spec **ret_spec, struct pale_error *error);
PALE_API int pale_spec_copy(const struct pale_spec *spec, struct pale_spec **ret_spec,
			    struct pale_error *error);
PALE_API void pale_spec_free(struct pale_spec *spec); /* NULL is fine */

/* Give KEY ("network", "memory", ...) the value VALUE, as text without quotes. A
 * list becomes one of that item alone. NULL takes a limit away, empties a list,
 * and puts any other key where it bounds nothing. On failure the spec is as it
 * was. */
PALE_API int pale_spec_set(struct pale_spec *spec, const char *key, const char *value,
			   struct pale_error *error);
/* Append one item to a list. */
PALE_API int pale_spec_add(struct pale_spec *spec, const char *key, const char *item,
			   struct pale_error *error);
/* The value of KEY as it is written in TOML; "" for a limit that is not set. */
PALE_API int pale_spec_get(const struct pale_spec *spec, const char *key, char **ret_text,
			   struct pale_error *error);
/* The whole spec as TOML; pale_spec_from_toml() makes the same spec of it. */
PALE_API int pale_spec_text(const struct pale_spec *spec, char **ret_text,
			    struct pale_error *error);

/* 1: it restricts something, be it time alone. 0: it is a plain pass-through. */
PALE_API int pale_spec_is_active(const struct pale_spec *spec);
/* 1: A is nowhere looser than B. */
PALE_API int pale_spec_leq(const struct pale_spec *a, const struct pale_spec *b);
/* The loosest spec that is within both. The workspace is that of A, or else of B. */
PALE_API int pale_spec_meet(const struct pale_spec *a, const struct pale_spec *b,
			    struct pale_spec **ret_spec, struct pale_error *error);
/* The spec that this process itself is under. -ENOENT: it is not inside a
 * sandbox of pale's. Everything that is run from inside gets the meet of it and
 * what is asked for. */
PALE_API int pale_spec_current(struct pale_spec **ret_spec, struct pale_error *error);

/* --- what is to be run --- */

struct pale_request {
	size_t size;             /* of this struct; lets it grow */
	const char *const *argv; /* ends in NULL; searched along PATH, inside */
	const char *const *env;  /* "NAME=VALUE", ends in NULL; NULL: the caller's own. What the
				    command sees of it is the spec's business */
	const char *cwd;         /* NULL: the caller's; outside the workspace: its root */
	const char *const *allow_degraded; /* keys that may be enforced in part; ends in NULL */
	int fds[3];                        /* the command's 0, 1 and 2; -1: /dev/null */
	unsigned flags;                    /* 0 */
};
#define PALE_REQUEST_INIT                                                                          \
	{                                                                                          \
		sizeof(struct pale_request), NULL, NULL, NULL, NULL, {0, 1, 2}, 0                  \
	}

/* --- plan: what would be enforced --- */

enum pale_state { PALE_ENFORCED, PALE_DEGRADED, PALE_UNENFORCED };

/* What a run of REQUEST would be; executes nothing of it. A run that would be
 * refused has no plan: -errno, and *error says why. */
PALE_API int pale_plan_new(struct pale_context *context, const struct pale_spec *spec,
			   const struct pale_request *request, struct pale_plan **ret_plan,
			   struct pale_error *error);
PALE_API void pale_plan_free(struct pale_plan *plan);        /* NULL is fine */
PALE_API size_t pale_plan_len(const struct pale_plan *plan); /* how many dimensions */
/* Of dimension INDEX: its key, its state, and by what it is enforced. NULL, or
 * PALE_UNENFORCED, past the end. */
PALE_API const char *pale_plan_dimension(const struct pale_plan *plan, size_t index);
PALE_API enum pale_state pale_plan_state(const struct pale_plan *plan, size_t index);
PALE_API const char *pale_plan_by(const struct pale_plan *plan, size_t index);
/* The grade: "sealed", "pinhole", "scoped", "broad" or "open", and 2, 4, 7 or 8. */
PALE_API const char *pale_plan_world(const struct pale_plan *plan);
PALE_API unsigned pale_plan_ceiling(const struct pale_plan *plan);
/* All of it, as `pale run --explain --json` prints it. */
PALE_API const char *pale_plan_json(const struct pale_plan *plan);

/* --- run --- */

/* How a run ended. More may be added at the end. */
enum pale_outcome {
	PALE_OK,       /* exited with 0 */
	PALE_FAILED,   /* exited with something else */
	PALE_SIGNALED, /* a signal ended it */
	PALE_TIMEOUT,
	PALE_OOM,     /* the limit of memory */
	PALE_LIMIT,   /* another limit */
	PALE_REFUSED, /* the policy said no: nothing was executed */
	PALE_ERROR,   /* it could not be run: nothing was executed; or see pale_run_error() */
	PALE_RUNNING, /* it has not ended, or nobody has waited for it */
};
PALE_API const char *pale_outcome_name(enum pale_outcome outcome); /* "ok", "failed", ... */

#define PALE_FOREVER (-1)
#define PALE_UNKNOWN UINT64_MAX

/* Start REQUEST under SPEC. That pale itself then refuses to run it is an outcome,
 * which pale_run_wait() tells. */
PALE_API int pale_spawn(struct pale_context *context, const struct pale_spec *spec,
			const struct pale_request *request, struct pale_run **ret_run,
			struct pale_error *error);
/* A descriptor for poll(2): readable once the run has ended. It belongs to the
 * run; neither read nor close it. */
PALE_API int pale_run_fd(const struct pale_run *run);
/* Wait for the end, at most TIMEOUT_MS milliseconds: -ETIMEDOUT, and the run goes
 * on. 0: it has ended, and what is below can be asked; again and again. */
PALE_API int pale_run_wait(struct pale_run *run, int timeout_ms, struct pale_error *error);
/* Send SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 or SIGUSR2 to the command, SIGTSTP
 * or SIGCONT to everything inside; SIGKILL ends it all. -EINVAL: another signal;
 * -ESRCH: it has ended. */
PALE_API int pale_run_kill(struct pale_run *run, int sig, struct pale_error *error);
/* NULL is fine. A run that has not ended is ended; in a process that fork(2) made of the one that
 * started it, it is only let go of. */
PALE_API void pale_run_free(struct pale_run *run);

PALE_API enum pale_outcome pale_run_outcome(const struct pale_run *run);
PALE_API int pale_run_exit_code(const struct pale_run *run); /* -1: it did not exit */
PALE_API int pale_run_signal(const struct pale_run *run);    /* 0: none ended it */
/* One number, as a shell sees it: the exit code, 124 timeout, 125 not run, 126
 * not executable, 127 not found, 128+n signal n. -1: it has not ended. */
PALE_API int pale_run_status(const struct pale_run *run);

/* More may be added at the end. */
enum pale_number {
	PALE_DURATION_MS,
	PALE_MEMORY_PEAK, /* bytes, of everything inside */
	PALE_CPU_MS,
	PALE_PIDS_PEAK,
	PALE_WRITTEN, /* bytes */
	/* Where the network goes through a broker; else unknown. */
	PALE_CONNECTIONS,
	PALE_NET_SENT, /* bytes */
	PALE_NET_RECEIVED,
};
PALE_API uint64_t pale_run_number(const struct pale_run *run,
				  enum pale_number number); /* or PALE_UNKNOWN */
/* The key of the limit that ended it ("timeout", "memory", ...), or NULL. */
PALE_API const char *pale_run_limit(const struct pale_run *run);
/* The whole result, as `pale run --json` prints it; "" before the end. */
PALE_API const char *pale_run_json(const struct pale_run *run);
/* Why nothing was executed, or nobody knows what was since pale was killed (the status is 137
 * then): 1, and *error is filled. 0: it was executed. */
PALE_API int pale_run_error(const struct pale_run *run, struct pale_error *error);

/* The arguments that run REQUEST->argv under SPEC through `pale`, for callers that
 * have to exec it themselves: that program's path first, NULL last. REQUEST->env,
 * cwd and fds are the caller's own business then. */
PALE_API int pale_argv(struct pale_context *context, const struct pale_spec *spec,
		       const struct pale_request *request, char ***ret_argv,
		       struct pale_error *error);

/* --- events --- */

/* More may be added at the end. */
enum pale_event_kind {
	PALE_EVENT_START,
	PALE_EVENT_EXIT,
	PALE_EVENT_DENIED,   /* attempts that the boundary refused; one event for each dimension */
	PALE_EVENT_LIMIT,    /* a limit ended it */
	PALE_EVENT_DEGRADED, /* a dimension was enforced only in part */
	PALE_EVENT_TAMPER,   /* protected files were touched */
	PALE_EVENT_STAGED,   /* changes wait for review */
	PALE_EVENT_APPLY_REFUSED, /* who may not tried to apply them */
};
PALE_API const char *pale_event_name(enum pale_event_kind kind); /* "sandbox.start", ... */

enum pale_severity { PALE_INFO, PALE_NOTICE, PALE_WARNING, PALE_SEVERE, PALE_CRITICAL };

/* The keys of a spec. More may be added at the end. */
enum pale_dimension {
	PALE_DIM_NONE, /* it is about none, or about one that this version does not know */
	PALE_DIM_NETWORK,
	PALE_DIM_HOSTS,
	PALE_DIM_PORTS,
	PALE_DIM_EXPOSE,
	PALE_DIM_SOCKETS,
	PALE_DIM_FILESYSTEM,
	PALE_DIM_PATHS_READABLE,
	PALE_DIM_PATHS_WRITABLE,
	PALE_DIM_PATHS_HIDDEN,
	PALE_DIM_EPHEMERAL,
	PALE_DIM_CACHES,
	PALE_DIM_TMPFS,
	PALE_DIM_PROCESSES,
	PALE_DIM_ENV,
	PALE_DIM_ENV_PASS,
	PALE_DIM_TIMEOUT,
	PALE_DIM_CPU,
	PALE_DIM_MEMORY,
	PALE_DIM_PIDS,
	PALE_DIM_DISK,
	PALE_DIM_MAX_OUTPUT,
	PALE_DIM_NESTED,
	PALE_DIM_CONNECTIONS,
	PALE_DIM_CONNECT_RATE,
	PALE_DIM_NET_SENT,
	PALE_DIM_NET_RECEIVED,
};
PALE_API const char *pale_dimension_name(enum pale_dimension dimension); /* "network", ...; or "" */

/* Nothing in it tells what was run, or where: numbers alone. */
struct pale_event {
	uint64_t number;      /* 1, 2, ... in its context */
	uint64_t time_ms;     /* since 1970 */
	uint64_t run;         /* 1, 2, ... in its context: which one */
	uint64_t workspace;   /* a hash of its path; 0: it was not known */
	uint64_t duration_ms; /* of an exit, or PALE_UNKNOWN */
	uint32_t kind;        /* enum pale_event_kind */
	uint32_t outcome;     /* enum pale_outcome; of a start: PALE_RUNNING */
	uint16_t dimension;   /* enum pale_dimension */
	uint16_t severity;    /* enum pale_severity */
	uint32_t count;       /* of attempts, of protected files, of changes; else 1 */
	uint64_t reserved;
};
#define PALE_EVENTS_MAX 256 /* as many are kept */

/* Copy events with a number above AFTER, oldest first, at most LEN. Returns how
 * many. Spawns record a start; the pale_run_wait() or pale_run_free() that sees
 * the end records what happened in between, and an exit. */
PALE_API size_t pale_events(struct pale_context *context, uint64_t after,
			    struct pale_event *ret_events, size_t len);

/* --- annotators: more about events --- */

/* Where an annotation is to be seen. */
enum pale_display { PALE_INLINE, PALE_DETAIL, PALE_HIDDEN };

struct pale_annotation {
	uint64_t event;     /* its number */
	char annotator[32]; /* the name that it was added by */
	char type[32];      /* a word */
	uint32_t display;   /* enum pale_display */
	uint32_t reserved;
	char data[432]; /* text, as a rule JSON */
};

/* Looks at EVENT, and at JSON, which is what pale_run_json() will be ("" at a start),
 * and fills type, display and data of *ret_annotation, which is all zero. 1: it did;
 * else there is no annotation. */
typedef int pale_annotator_fn(const struct pale_event *event, const char *json,
			      struct pale_annotation *ret_annotation, void *data);

/* From now on let FN look at each event of CONTEXT, in the thread that records it,
 * without a lock held. NAME has at most 31 bytes. -EEXIST: there is one; -ENOSPC: there
 * are 16. DATA must live as long as the context and its runs. */
PALE_API int pale_annotator_add(struct pale_context *context, const char *name,
				pale_annotator_fn *fn, void *data, struct pale_error *error);
/* Copy what was said of event NUMBER, at most LEN. Returns how many. A context keeps
 * PALE_EVENTS_MAX annotations. */
PALE_API size_t pale_annotations(struct pale_context *context, uint64_t number,
				 struct pale_annotation *ret_annotations, size_t len);

#ifdef __cplusplus
}
#endif
#endif
