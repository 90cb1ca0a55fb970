/* SPDX-License-Identifier: MIT */
/* cases - what golden/ holds the plans of, or the errors. */
#pragma once
#include "sim/fake.h"

#define WITHOUT_LIMITS .degraded = {"memory", "cpu"}

static void tweak_ephemeral(struct resolved *resolved)
{
	resolved->spec.ephemeral = true;
}

static void tweak_backend(struct resolved *resolved)
{
	resolved->backend = "docker";
}

static const struct sim cases_presets[] = {
	{"preset-readonly", .preset = "readonly", WITHOUT_LIMITS},
	{"preset-test", .preset = "test", WITHOUT_LIMITS},
	{"preset-build", .preset = "build", WITHOUT_LIMITS},
	{"preset-workspace", .preset = "workspace"},
	{"preset-unrestricted", .preset = "unrestricted"},
	{"preset-unrestricted-resolved", .preset = "unrestricted", .host = FAKE_RESOLVED},
	{"preset-off", .preset = "off"},
	{"preset-integration", .preset = "integration", WITHOUT_LIMITS}, /* refused: localhost */
	{"root-readonly", .preset = "readonly", WITHOUT_LIMITS, .root = true, .owner = 1000},
	{"root-test", .preset = "test", WITHOUT_LIMITS, .root = true, .owner = 1000},
	{"root-build", .preset = "build", WITHOUT_LIMITS, .root = true, .owner = 1000},
	{"root-workspace", .preset = "workspace", .root = true, .owner = 1000},
	{"root-workspace-root-owned", .root = true, .workspace = "/srv/project"},
	{"root-workspace-owner-beyond", .root = true, .owner = 100000},
	{"root-unrestricted", .preset = "unrestricted", .root = true, .owner = 1000},
	{"root-off", .preset = "off", .root = true, .owner = 1000},
	{"root-all-writable", .options = {"paths_writable=/"}, .root = true, .owner = 1000},
	{"root-all-readable", .options = {"paths_readable=/"}, .root = true, .owner = 1000},
};

static const struct sim cases_filesystem[] = {
	{"filesystem-none", .options = {"filesystem=none"}},
	{"filesystem-none-no-home", .options = {"filesystem=none"}, .home = ""},
	{"filesystem-none-cwd-below", .options = {"filesystem=none"}, .cwd = FAKE_WORKSPACE "/src"},
	{"filesystem-readonly", .options = {"filesystem=readonly"}},
	{"filesystem-ephemeral", .options = {"filesystem=readonly", "ephemeral=true"}},
	{"filesystem-scoped-write",
	 .options = {"filesystem=scoped_write", "paths_writable=${WORKSPACE}/out"}},
	{"filesystem-unrestricted", .options = {"filesystem=unrestricted"}},
	{"filesystem-unrestricted-workspace-in-run", .options = {"filesystem=unrestricted"},
	 .workspace = "/run/user/1000/project"},
	{"tmpfs-given", .options = {"tmpfs=64m"}},
	{"tmpfs-half-of-memory", .options = {"memory=512m"}, .degraded = {"memory"}},
};

static const struct sim cases_rules[] = {
	{"writable-inside-readable",
	 .options = {"paths_readable=/srv/data", "paths_writable=/srv/data/out"}},
	{"readable-inside-writable",
	 .options = {"paths_writable=/srv/data", "paths_readable=/srv/data/in"}},
	{"readable-writable-readable",
	 .options = {"paths_readable=/srv", "paths_writable=/srv/data",
		     "paths_readable=/srv/data/in"}},
	{"hidden-inside-writable",
	 .options = {"paths_hidden=${WORKSPACE}/deploy/keys/prod",
		     "paths_hidden=${WORKSPACE}/.env"},
	 .facts = {"file " FAKE_WORKSPACE "/.env"}},
	{"hidden-twice-below-one-folder",
	 .options = {"paths_hidden=${WORKSPACE}/a/b/c", "paths_hidden=${WORKSPACE}/a/b/d"}},
	{"hidden-inside-hidden",
	 .options = {"paths_hidden=${WORKSPACE}/a", "paths_hidden=${WORKSPACE}/a/b"}},
	{"hidden-inside-readable-inside-writable",
	 .options = {"paths_writable=/srv", "paths_readable=/srv/data",
		     "paths_hidden=/srv/data/keys/x"}},
	{"hidden-inside-ephemeral",
	 .options = {"filesystem=readonly", "ephemeral=true", "paths_hidden=${WORKSPACE}/a/b"}},
	{"hidden-system", .options = {"paths_hidden=/etc/ssl/private", "paths_hidden=/opt",
				      "paths_hidden=/usr/share/doc"}},
	{"hidden-absent", .options = {"paths_hidden=${WORKSPACE}/gone"},
	 .facts = {"absent " FAKE_WORKSPACE "/gone"}},
	{"hidden-workspace", .options = {"paths_hidden=${WORKSPACE}"}},
	{"hidden-above-workspace", .options = {"paths_hidden=/home"}},
	{"hidden-home", .options = {"paths_hidden=~"}, .workspace = "/srv/project"},
	{"hidden-toolchain", .options = {"paths_hidden=~/.cargo"}},
	{"hidden-linked-toolchain", .options = {"paths_hidden=~/.cargo"},
	 .facts = {"link " FAKE_HOME "/.cargo /data/cargo"}},
	{"hidden-all", .options = {"paths_hidden=/"}},
	{"hidden-in-proc", .options = {"paths_hidden=/proc/cpuinfo"},
	 .facts = {"file /proc/cpuinfo"}},
	{"hidden-with-all-writable",
	 .options = {"filesystem=unrestricted", "paths_hidden=~/.config/tool/keys"}},
	{"hidden-with-all-readable",
	 .options = {"paths_readable=/", "paths_hidden=~/.ssh", "paths_hidden=/tmp/secret",
		     "paths_hidden=/run/secret"}},
	{"rule-is-workspace-readable", .options = {"paths_readable=${WORKSPACE}"}},
	{"rule-is-workspace-writable",
	 .options = {"filesystem=readonly", "paths_writable=${WORKSPACE}"}},
	{"rule-above-workspace-readable", .options = {"paths_readable=/home"}},
	{"rule-above-workspace-writable", .options = {"filesystem=readonly", "paths_writable=~"}},
	{"rule-above-ephemeral-workspace",
	 .options = {"filesystem=readonly", "ephemeral=true", "paths_writable=~"}},
	{"all-readable", .options = {"paths_readable=/"}},
	{"all-readable-and-more", .options = {"paths_readable=/", "paths_readable=/tmp/shared",
					      "paths_readable=/run/db", "paths_writable=/srv/out"}},
	{"all-readable-resolved", .options = {"paths_readable=/", "network=unrestricted"},
	 .host = FAKE_RESOLVED},
	{"all-writable", .options = {"paths_writable=/"}},
	{"home-readable", .options = {"paths_readable=~"}},
	{"toolchain-secret-readable", .options = {"paths_readable=~/.cargo/credentials.toml"},
	 .facts = {"file " FAKE_HOME "/.cargo/credentials.toml"}},
	{"tmp-readable", .options = {"paths_readable=/tmp", "paths_readable=/var"}},
	{"file-rules",
	 .options = {"paths_readable=~/.gitconfig", "paths_writable=/var/log/build.log",
		     "paths_hidden=/etc/machine-id"},
	 .facts = {"file " FAKE_HOME "/.gitconfig", "file /var/log/build.log",
		   "file /etc/machine-id"}},
	{"linked-rule", .options = {"paths_readable=/data"},
	 .facts = {"link /data /mnt/disk1/data"}},
	{"readable-absent", .options = {"paths_readable=/gone"}, .facts = {"absent /gone"}},
	{"writable-absent", .options = {"paths_writable=/gone"}, .facts = {"absent /gone"}},
	{"rule-in-proc", .options = {"paths_readable=/proc/1"}},
	{"rule-in-dev", .options = {"paths_writable=/dev/shm/x"}},
	{"rule-in-sys", .options = {"paths_readable=/sys"}},
	{"root-rules",
	 .options = {"paths_readable=/srv/in", "paths_writable=/srv/out", "paths_hidden=/srv/in/x"},
	 .root = true, .owner = 1000},
};

static const struct sim cases_sites[] = {
	{"workspace-in-tmp", .workspace = "/tmp/project"},
	{"workspace-in-tmp-all-readable", .options = {"paths_readable=/"},
	 .workspace = "/tmp/project"},
	{"workspace-in-toolchain", .workspace = "/home/ana/go/src/project",
	 .toolchains = "go .cargo"},
	{"workspace-in-usr-src", .workspace = "/usr/src/project"},
	{"workspace-in-run", .workspace = "/run/user/1000/project"},
	{"workspace-in-dev-shm", .workspace = "/dev/shm/project"},
	{"home-unknown", .home = ""},
	{"home-in-system-folder", .home = "/opt/app", .workspace = "/srv/project"},
	{"home-in-tmp", .home = "/tmp/home", .workspace = "/srv/project"},
	{"toolchain-linked", .facts = {"link " FAKE_HOME "/.cargo /data/cargo"}},
	{"toolchains-none", .toolchains = ""},
	{"host-split", .host = FAKE_SPLIT},
	{"host-resolved-network-none", .host = FAKE_RESOLVED},
	{"host-resolved-network-unrestricted", .options = {"network=unrestricted"},
	 .host = FAKE_RESOLVED},
	{"processes-visible", .options = {"processes=visible"}},
	{"processes-visible-no-landlock", .options = {"processes=visible"}, .landlock_abi = -1},
	{"processes-visible-old-landlock", .options = {"processes=visible"}, .landlock_abi = 5},
	{"processes-visible-degraded", .options = {"processes=visible"}, .degraded = {"processes"},
	 .landlock_abi = -1},
	{"off-no-landlock", .preset = "off", .landlock_abi = -1},
	{"nested", .options = {"nested=true"}},
};

static const struct sim cases_environment[] = {
	{"env-clean", .options = {"env=clean"}},
	{"env-pass-name", .options = {"env_pass=FOO_TOKEN"}},
	{"env-pass-pattern", .options = {"env_pass=FOO_*"}},
	{"env-pass-all", .options = {"env_pass=*"}},
	{"env-inherit", .options = {"env=inherit"}},
	{"env-set", .options = {"setenv=CI=1", "setenv=PATH=/usr/bin", "setenv=HOME=/elsewhere"}},
};

static const struct sim cases_refused[] = {
	{"network-localhost", .options = {"network=localhost"}},
	{"network-allowed-hosts", .options = {"network=allowed_hosts", "hosts=example.org"}},
	{"limits-refused", .preset = "build"},
	{"limits-partly-allowed", .preset = "build", .degraded = {"memory"}},
	{"limits-all-refused",
	 .options = {"cpu=1s", "memory=1g", "pids=100", "disk=1g", "max_output=1m"}},
	{"limits-all-allowed",
	 .options = {"cpu=1s", "memory=1g", "pids=100", "disk=1g", "max_output=1m"},
	 .degraded = {"cpu", "memory", "pids", "disk", "max_output"}},
	{"limits-and-processes-refused", .options = {"memory=1g", "processes=visible"},
	 .landlock_abi = -1},
	{"timeout", .options = {"timeout=90s"}},
	{"ephemeral-none", .options = {"filesystem=none"}, .tweak = tweak_ephemeral},
	{"ephemeral-workspace-only", .tweak = tweak_ephemeral},
	{"ephemeral-unrestricted", .options = {"filesystem=unrestricted"},
	 .tweak = tweak_ephemeral},
	{"expose", .options = {"expose=8080"}},
	{"sockets", .options = {"sockets=/run/db.sock"}},
	{"caches", .options = {"caches=~/.cache/go-build"}},
	{"mode-staged", .options = {"mode=staged"}},
	{"engine-bwrap", .options = {"engine=bwrap"}},
	{"backend-docker", .tweak = tweak_backend},
};

#define PROTECTED                                                                                  \
	.protected = {"file " FAKE_WORKSPACE "/pale.toml",                                         \
		      "absent " FAKE_WORKSPACE "/.envrc",                                          \
		      "dir " FAKE_WORKSPACE "/.vscode",                                            \
		      "link " FAKE_WORKSPACE "/.claude a/b",                                       \
		      "dir " FAKE_WORKSPACE "/a/b",                                                \
		      "parent " FAKE_WORKSPACE "/.git",                                            \
		      "file " FAKE_WORKSPACE "/.git/config",                                       \
		      "dir " FAKE_WORKSPACE "/.git/hooks",                                         \
		      "absent " FAKE_WORKSPACE "/.vscode/hooks"}

static const struct sim cases_protected[] = {
	{"protected-workspace-only", PROTECTED},
	{"protected-root", PROTECTED, .root = true, .owner = 1000},
	{"protected-readonly", .options = {"filesystem=readonly"}, PROTECTED},
	{"protected-ephemeral", .options = {"filesystem=readonly", "ephemeral=true"}, PROTECTED},
	{"protected-unrestricted", .options = {"filesystem=unrestricted"}, PROTECTED},
	{"protected-scoped-write-elsewhere",
	 .options = {"filesystem=scoped_write", "paths_writable=${WORKSPACE}/out"}, PROTECTED},
	{"protected-scoped-write-above",
	 .options = {"filesystem=scoped_write", "paths_writable=/home/ana"}, PROTECTED},
	{"protected-rule", .options = {"paths_writable=${WORKSPACE}/.vscode"}, PROTECTED},
	{"protected-rule-below",
	 .options = {"filesystem=scoped_write", "paths_writable=${WORKSPACE}/.vscode/x"},
	 PROTECTED},
	{"protected-hidden", .options = {"paths_hidden=${WORKSPACE}/.git"}, PROTECTED},
	{"protected-hidden-below", .options = {"paths_hidden=${WORKSPACE}/.vscode/keys"},
	 PROTECTED},
	{"protected-worktree",
	 .protected = {"file " FAKE_WORKSPACE "/.git", "common /srv/main/.git",
		       "parent /srv/main/.git", "file /srv/main/.git/config",
		       "absent /srv/main/.git/hooks", "file /srv/main/.git/worktrees/p/commondir"}},
	{"protected-worktree-readonly", .options = {"filesystem=readonly"},
	 .protected = {"file " FAKE_WORKSPACE "/.git", "common /srv/main/.git",
		       "file /srv/main/.git/config"}},
};
