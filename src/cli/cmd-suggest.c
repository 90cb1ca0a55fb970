/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/edit-sandbox.h"
#include "api/edit.h"
#include "cli/learn-verb.h"
#include "cli/profiles.h"
#include "cli/rehearse.h"
#include "cli/stage-verb.h"
#include "config/value.h"
#include "learn/suggest.h"
#include "policy/host-group.h"
#include "policy/lattice.h"
#include "policy/spec-text.h"
#include "policy/trust.h"
#include "store/store.h"

#define REFUSED_MAX 5

/* Everything that a suggestion is made of. */
struct session {
	struct subject subject;
	struct evidence evidence;
	struct spec asked;
	struct run_stats stats;
	dim_set held;
	struct strv env_from_files;
	struct strv group_names;
	struct suggest_group *groups; /* of the names, in their order */
	struct suggestion suggestion;
	bool needs_trust;
};

static void session_release(struct session *s)
{
	subject_release(&s->subject);
	evidence_release(&s->evidence);
	spec_release(&s->asked);
	strv_release(&s->env_from_files);
	for (size_t i = 0; s->groups && i < s->group_names.len; i++)
		strv_release(&s->groups[i].rules);
	free(s->groups);
	strv_release(&s->group_names);
	suggestion_release(&s->suggestion);
}

/* What a link leads to can be moved: rules are for what is really there. */
static enum path_type look(const char *path, void *data)
{
	_cleanup_(fd_closep) int root = fd_open("/", O_PATH | O_DIRECTORY);
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;

	(void)data;
	fd = root < 0 ? -1 : path_open_nolink(root, path[1] ? path + 1 : ".", O_PATH, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return PATH_ABSENT;
	return S_ISDIR(st.st_mode) ? PATH_FOLDER : PATH_FILE;
}

static uint64_t known(uint64_t usage)
{
	return usage == USAGE_UNKNOWN ? 0 : usage;
}

static int make(struct session *s, bool wider, struct err *err)
{
	const struct suggest_input input = {
		.asked = &s->asked,
		.user = &s->subject.context.user,
		.profile = &s->evidence.profile,
		.changed = &s->evidence.changed,
		.used = {.memory_peak = known(s->evidence.usage.memory_peak),
			 .cpu_ms = known(s->evidence.usage.cpu_ms),
			 .duration_ms = s->evidence.duration_ms},
		.stats = &s->stats,
		.held = s->held,
		.env_from_files = &s->env_from_files,
		.groups = s->groups,
		.groups_len = s->groups ? s->group_names.len : 0,
		.look = look,
		.wider = wider,
	};

	suggestion_release(&s->suggestion);
	return suggest(&input, &s->suggestion, err);
}

/* The kept profile, or a new one; and the spec that it was made under. */
static int find_evidence(struct session *s, struct err *err)
{
	const struct context *context = &s->subject.context;
	const char *name = s->subject.command.name;
	int r = profile_find(&context->workspace, name, s->subject.digest, &s->evidence, err);

	if (r == -ENOENT) {
		say("%s has no profile yet: it is run once to make one", name);
		r = subject_profile(&s->subject, &s->evidence, err);
	}
	if (r < 0)
		return r;
	return spec_parse(s->evidence.asked, context->workspace.root, &context->user, &s->asked,
			  err);
}

static int find_env(struct session *s, struct err *err)
{
	const char *const path[] = {"sandbox", "env", "pass", NULL};
	struct setting setting;

	if (!config_get(&s->subject.context.config, path, &setting))
		return 0;
	return toml_texts(setting.value, &s->env_from_files) < 0 ? err_oom(err) : 0;
}

static int find_groups(struct session *s, struct err *err)
{
	const struct config *config = &s->subject.context.config;
	static const char *const path[] = {"host_groups", NULL};
	int r = config_names(config, path, &s->group_names);

	if (r < 0 && r != -ENOENT)
		return err_oom(err);
	s->groups = s->group_names.len ? calloc(s->group_names.len, sizeof(*s->groups)) : NULL;
	if (s->group_names.len && !s->groups)
		return err_oom(err);
	for (size_t i = 0; i < s->group_names.len; i++) {
		_cleanup_(freep) char *name = str_printf("@%s", s->group_names.items[i]);

		s->groups[i].name = s->group_names.items[i];
		r = name ? host_group_expand(config, LAYER_USER, name, &s->groups[i].rules, NULL,
					     err)
			 : err_oom(err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A suggestion can do without a history. */
static void find_stats(struct session *s)
{
	struct err err = {0};
	int r = subject_stats(&s->subject.context.workspace, s->subject.command.name, &s->stats,
			      &err);

	if (r < 0)
		report(&err);
}

static int check_sound(const struct session *s, struct err *err)
{
	_cleanup_(str_release) struct str end = {0};
	const char *name = s->subject.command.name;
	int r;

	if (evidence_is_sound(&s->evidence))
		return 0;
	if (put_end(&s->evidence, &end) < 0)
		return err_oom(err);
	say_refused(&s->evidence, REFUSED_MAX);
	r = err_set(err, ERR_POLICY, -EPERM,
		    "the profiled run of %s did not succeed (%s): nothing can be learned from it",
		    name, str_text(&end));
	return err_hint(
		err, r,
		"let it succeed first: pale sandbox profile %s, with --read PATH, --host NAME "
		"or --preset for what it needs",
		name);
}

/* Of what it changed in the profiled run, is something missing now, and was something
 * refused? Then it only looks as if it had worked. */
static const char *find_missing(struct session *s, struct evidence *trial)
{
	struct strv *before = &s->evidence.changed, *now = &trial->changed;
	size_t k = 0;

	if (s->suggestion.spec.ephemeral || trial->violations.len == 0)
		return NULL;
	strv_sort_unique(before);
	strv_sort_unique(now);
	for (size_t i = 0; i < before->len; i++) {
		while (k < now->len && strcmp(now->items[k], before->items[i]) < 0)
			k++;
		if (k == now->len || strcmp(now->items[k], before->items[i]) != 0)
			return before->items[i];
	}
	return NULL;
}

/* 1: under the suggestion it does what it did before. 0: it does not; ERR says why. */
static int check_by_running(struct session *s, struct err *err)
{
	const struct rehearsal rehearsal = {
		.context = &s->subject.context,
		.spec = &s->suggestion.spec,
		.argv = s->subject.argv.items,
	};
	_cleanup_(evidence_release) struct evidence trial = {0};
	_cleanup_(str_release) struct str end = {0};
	const char *missing;
	struct err why = {0};
	int r = rehearse(&rehearsal, &trial, &why);

	if (r < 0) {
		*err = why;
		return why.code == ERR_UNSUPPORTED || why.code == ERR_POLICY ? 0 : r;
	}
	if (put_end(&trial, &end) < 0)
		return err_oom(err);
	missing = find_missing(s, &trial);
	if (trial.outcome == s->evidence.outcome && trial.exit_code == s->evidence.exit_code &&
	    !missing)
		return 1;
	say_refused(&trial, REFUSED_MAX);
	if (missing)
		err_set(err, ERR_POLICY, 0, "%s is not written any more", missing);
	else
		err_set(err, ERR_POLICY, 0, "it ends otherwise: %s", str_text(&end));
	return 0;
}

static int offer(struct session *s, struct err *err)
{
	struct err why = {0};
	int r = make(s, false, err);

	if (r == 0)
		r = check_by_running(s, &why);
	if (r == 0 && s->suggestion.has_wider) {
		say("the tightest sandbox does not do (%s); trying a wider one", why.message);
		r = make(s, true, err);
		if (r == 0)
			r = check_by_running(s, &why);
	}
	if (r != 0) {
		if (r < 0 && why.message[0])
			*err = why;
		return r < 0 ? r : 0;
	}
	r = err_set(err, ERR_POLICY, -EPERM,
		    "no suggestion: under what the profile shows, %s does not work: %s",
		    s->subject.command.name, why.message);
	return err_hint(err, r, "profile it anew, or write its sandbox by hand: pale help run");
}

static int find_excess(struct session *s, struct err *err)
{
	_cleanup_(spec_release) struct spec ceiling = {0};
	int r = trust_ceiling(s->subject.context.workspace.root, &ceiling, err);

	if (r == 0)
		s->needs_trust = (spec_excess(&s->suggestion.spec, &ceiling) &
				  ~DIM_BIT(DIM_CACHES)) != 0;
	return r;
}

/* Under the lock: is it still the same command? */
static int write_file(const struct session *s, const char *workspace, struct err *err)
{
	_cleanup_(edit_release) struct edit edit = {.dirfd = -1};
	_cleanup_(command_release) struct command command = {0};
	const char *name = s->subject.command.name;
	char digest[SHA256_HEX];
	int r = edit_begin(workspace, true, &edit, err);

	if (r == 0)
		r = check_place(&edit.context.config, name, err);
	if (r == 0)
		r = command_find(&edit.context.config, name, &command, err);
	if (r == -ENOENT)
		return err_set(err, ERR_CONFIG, r, "the command '%s' is gone", name);
	if (r < 0)
		return r;
	command_digest(&command, digest);
	if (!str_eq(digest, s->subject.digest))
		return err_set(err, ERR_CONFIG, -ESTALE, "the command '%s' has changed meanwhile",
			       name);
	r = edit_sandbox_replace(&edit, name, &s->suggestion, err);
	return r < 0 ? r : edit_commit(&edit, err);
}

static int print(const struct session *s, bool as_json, bool written)
{
	_cleanup_(str_release) struct str out = {0}, toml = {0};
	struct json json = {.out = &out, .pretty = true};
	const char *name = s->subject.command.name;

	if (suggestion_toml(&s->suggestion, name, &toml) < 0)
		return report_oom();
	if (!as_json)
		return emit(&toml);
	json_begin_object(&json, NULL);
	json_add_string(&json, "command", name);
	json_add_string(&json, "toml", str_text(&toml));
	suggestion_json(&s->suggestion, &json);
	json_add_bool(&json, "needs_trust", s->needs_trust);
	json_add_bool(&json, "written", written);
	json_end_object(&json);
	return emit_json(&json);
}

static void say_notes(const struct session *s, bool written)
{
	for (size_t i = 0; i < s->suggestion.notes.len; i++)
		say("%s", s->suggestion.notes.items[i]);
	if (written)
		say("written to %s", s->subject.context.workspace_file);
	else if (s->needs_trust)
		say("in a workspace's file this needs `pale trust`");
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(session_release) struct session s = {0};
	const char *workspace = args->values[OPT_WORKSPACE];
	bool write = args->values[OPT_WRITE], json = args->values[OPT_JSON], needed = false;
	const struct ask none = {0};
	int status, r = subject_find(workspace, args->operands[0], NULL, &none, &s.subject, err);

	if (r == 0 && write)
		r = check_place(&s.subject.context.config, args->operands[0], err);
	if (r == 0)
		r = find_evidence(&s, err);
	if (r == 0)
		r = check_sound(&s, err);
	if (r == 0)
		find_stats(&s);
	if (r == 0)
		r = find_held(&s.subject.context, &s.held, err);
	if (r == 0)
		r = find_env(&s, err);
	if (r == 0)
		r = find_groups(&s, err);
	if (r == 0)
		r = offer(&s, err);
	if (r == 0)
		r = find_excess(&s, err);
	if (r == 0 && write)
		r = write_file(&s, workspace, err);
	if (r < 0)
		return r;
	status = print(&s, json, write);
	if (status != STATUS_OK)
		return status;
	if (!json)
		say_notes(&s, write);
	return write ? say_trust(workspace, &needed, err) : 0;
}

int cmd_sandbox_suggest(int argc, char **argv)
{
	struct args args;
	struct err err = {0};
	int r = args_parse(VERB_SANDBOX_SUGGEST, argc, argv, &args, &err);

	if (r > 0)
		return STATUS_OK;
	if (r == 0)
		r = run(&args, &err);
	return r < 0 ? report(&err) : r;
}
