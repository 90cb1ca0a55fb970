/* SPDX-License-Identifier: MIT */
/*
 * plan - the ordered operations that build one sandbox, and who enforces what.
 *
 * Pure data: plan_compile() makes it, engine/ executes it, plan_print() and
 * plan_json() show it. Nothing here touches the kernel.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/rung.h"

struct err;
struct host;
struct json;
struct resolved;
struct site;
struct staging;

enum op_kind {
	OP_ROOT,      /* an empty tmpfs of `size` bytes becomes the root */
	OP_ROOT_BIND, /* the host's root becomes the root */
	OP_TMPFS,     /* a tmpfs of its own at `dst`, `size` bytes, with `mode` */
	OP_AUX,       /* our own folder: what hides, and the layers of overlays */
	OP_SYMLINK,   /* `dst` -> `src` */
	OP_BIND,      /* the host's `src` at `dst` */
	OP_PRIVATE, /* a writable folder of the root's own tmpfs, or of our own folder's, `mode` */
	OP_OVERLAY, /* the host's `src` at `dst`, or what is there; writes stay in our own folder */
	OP_STAGED,  /* the host's `src` at `dst`; writes go to the stage */
	OP_WRITABLE,     /* what is at `dst`, writable again */
	OP_PIN,          /* `dst` onto itself, so that it cannot be renamed */
	OP_HIDE,         /* nothing to see at `dst` */
	OP_PROC,         /* a procfs of the new pid namespace */
	OP_DEVICE,       /* the host's device node `dst` */
	OP_DEVPTS,       /* terminals of our own */
	OP_CGROUP_VIEW,  /* the run's own limits, for programs that look; `src`: a v1 controller */
	OP_READONLY,     /* what is at `dst`, read-only from here on */
	OP_LIMIT_USERNS, /* no user namespace inside; less of what is counted per user */
	OP_NOTE,         /* a file at `dst`, or over the host's there, that says `src` */
	OP_PIVOT,        /* enter the new root, let go of the old one */
	OP_LOOPBACK,     /* bring the private loopback up */
	OP_EVERYWHERE,   /* every address is the loopback's, and the broker gets sockets there */
	OP_HOSTNAME,     /* `src` */
	OP_KEYRING,      /* a fresh session keyring */
	OP_NO_CORE,      /* no core dumps */
	OP_LIMIT_PIDS,   /* `size` processes and threads in this user namespace */
	OP_LIMIT_FILE,   /* no file grows beyond `size` bytes */
	OP_DROP_CAPS,    /* every capability, for good */
	OP_NO_NEW_PRIVS,
	OP_SECCOMP,  /* refuse system calls that no program in here needs */
	OP_SCRATCH,  /* `dst` on the host, made for this run and removed after it */
	OP_ALLOW,    /* Landlock: `dst` and what is below can be read, or written */
	OP_LANDLOCK, /* enter its domain: the command alone, as the last step */
	OP_KIND_COUNT_,
};

enum {
	OP_RDONLY = 1 << 0,
	OP_NOEXEC = 1 << 1,
	OP_IDMAP = 1 << 2,     /* from a user's tree: id-mapped when started by root */
	OP_OPTIONAL = 1 << 3,  /* skipped when it does not exist */
	OP_FILE = 1 << 4,      /* `src` is no folder: the mount point is a file */
	OP_VISIBLE = 1 << 5,   /* seccomp: processes of others can be seen */
	OP_NESTED = 1 << 6,    /* seccomp, limit-userns: namespaces inside are allowed */
	OP_BARE = 1 << 7,      /* seccomp, drop-caps: without namespaces */
	OP_OFFLINE = 1 << 8,   /* seccomp: no sockets */
	OP_DEVICES = 1 << 9,   /* allow: requests to devices, too */
	OP_FILES = 1 << 10,    /* landlock: files take a rule */
	OP_SIGNALS = 1 << 11,  /* landlock: signals stay inside */
	OP_ABSTRACT = 1 << 12, /* landlock: abstract unix sockets are those made inside */
	OP_LOOSE = 1 << 13,    /* skipped when a stage has no such path any more */
	OP_OBSERVE = 1 << 14,  /* seccomp: the supervisor is told of attempts and refusals */
	OP_PROFILE = 1 << 15,  /* seccomp: … and of reads and executions */
	OP_SHARED = 1 << 16,   /* seccomp, landlock: several commands live here (plan_share) */
	OP_BROKERED = 1 << 17, /* seccomp: … and of what is sent to an address */
	OP_SOCKETS = 1 << 18,  /* landlock: unix sockets by path are those made inside, and
				* those that are allowed; allow: this one is */
	OP_APART = 1 << 19,    /* private: of our own folder's tmpfs, over what is there */
};

struct op {
	enum op_kind kind;
	unsigned flags;
	char *src;
	char *dst;
	struct file_id id; /* of `src`: another file there now is not mounted */
	uint64_t size;
	mode_t mode;
};

/* A name on the host that the command must neither make nor replace, where it
 * could: watched by the engine. */
struct guarded {
	const char *dir; /* without links: one of plan.guarded_dirs */
	const char *name;
	const char *dst;   /* its read-only mount inside; NULL when there is none */
	const char *link;  /* what a link says; NULL when it is none */
	struct file_id id; /* all zero: absent */
	char *text;        /* holds these texts, as far as they are not constant */
};

enum enforcement { ENFORCED, DEGRADED, UNENFORCED };

/* What became of one dimension of the spec. */
struct verdict {
	const char *dimension; /* its key */
	enum enforcement state;
	const char *by; /* "netns", "mounts", … or why it is weaker */
};
#define PLAN_VERDICTS_MAX 32

/* Ids that no user, container manager or directory service hands out. */
#define RANGE_BASE 0x70000000u

/* How ids inside relate to ids outside. */
enum idmap {
	IDMAP_NONE,   /* no user namespace */
	IDMAP_SELF,   /* the caller's uid and gid, nothing else */
	IDMAP_RANGE,  /* 0 BASE 65536, user trees id-mapped: started by root */
	IDMAP_SWITCH, /* no user namespace, but the workspace owner's ids: started by root */
	IDMAP_OWNER,  /* the workspace owner's ids, nothing else: root, where RANGE is impossible */
	IDMAP_IDENTITY, /* every id is itself: root with the whole filesystem */
};

/* What executes the plan on this machine, from best to least. */
enum engine {
	ENGINE_NATIVE,   /* namespaces of our own making */
	ENGINE_BWRAP,    /* the same through bubblewrap */
	ENGINE_LANDLOCK, /* no namespaces: Landlock and seccomp alone */
};

/* What the whole tree may use; UINT64_MAX: as much as there is. */
struct limits {
	uint64_t memory, pids, cpu_ms;
	unsigned own_pids;       /* of `pids`: the warden, and who ends the run with it */
	struct cgroup_site site; /* what enforces them, and counts */
};

/* What a sandbox may reach although its network is private: all of it through a broker
 * outside (net/broker.h). Rules are the spec's. */
struct plan_net {
	bool brokered;     /* false: nothing is reached, and the rest is of no matter */
	struct strv hosts; /* canonical rules of one port each (policy/host-rule.h) */
	bool loopback;     /* the host's own 127.0.0.0/8 and ::1 … */
	bool ports_set;    /* … false: every port of it */
	struct strv ports;
	struct strv groups;      /* "@NAME (FILE:LINE)": what hosts were written as */
	struct strv expose;      /* ports inside that the host's loopback leads to */
	bool asks;               /* the user, about a name that no rule knows */
	uint64_t connections;    /* at once */
	uint64_t rate;           /* new ones in a second */
	uint64_t sent, received; /* bytes, over all connections */
};

struct plan {
	enum engine engine;
	bool confined;
	bool given;                    /* by the sandbox around us: nothing is left to add */
	char *stage;                   /* where writes are staged; NULL: they are not */
	uint64_t stage_max;            /* bytes that it may hold */
	bool throws_away;              /* what is staged goes with the run: it is ephemeral */
	const struct staging *staging; /* its layers, once the run begins; borrowed */
	unsigned long namespaces;      /* CLONE_NEW* */
	enum idmap idmap;
	uint32_t range_base; /* IDMAP_RANGE */
	uid_t uid;           /* the command's, as seen inside */
	gid_t gid;
	struct op *ops;
	size_t ops_len, ops_cap;
	struct guarded *guards;
	size_t guards_len, guards_cap;
	struct strv guarded_dirs;
	char *note;       /* what the sandbox says of itself; NULL: nothing */
	char *quarantine; /* where the run may put what it must not leave; NULL: nowhere */
	struct strv env;  /* the command's whole environment */
	struct strv argv;
	/* A tool of our own instead of a program, called in the command's process, which it
	 * leaves with what this returns; NULL: argv is a program's. */
	int (*tool)(char *const *argv);
	char *cwd;
	uint64_t timeout_ms; /* UINT64_MAX: none */
	struct limits limits;
	struct plan_net net;
	uint64_t max_output; /* bytes of stdout and of stderr; UINT64_MAX: none */
	struct verdict verdicts[PLAN_VERDICTS_MAX];
	size_t verdicts_len;
	const char *world; /* the grade of what is enforced */
	unsigned ceiling;
};

/* Compile the resolved spec for HOST and SITE; ARGV is the command's.
 * -ENOTSUP: a dimension that was asked for cannot be enforced here (err names
 * it), and was not allowed to be degraded. */
int plan_compile(const struct resolved *resolved, const struct host *host, const struct site *site,
		 char *const *argv, struct plan **ret_plan, struct err *err);
struct plan *plan_free(struct plan *plan); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct plan *, plan_free);
/* More than one command will live in it: none may change the limits of another. */
void plan_share(struct plan *plan);

/* The host's network is out of its reach, but for what a broker lets out. */
bool plan_is_offline(const struct plan *plan);

const char *op_name(enum op_kind kind);
const char *engine_name(enum engine engine);
const char *enforcement_name(enum enforcement state);
int plan_print(const struct plan *plan, struct str *out);
void plan_json(const struct plan *plan, struct json *json);          /* the whole plan */
void plan_verdicts_json(const struct plan *plan, struct json *json); /* {"network":{…},…} */
