#!/bin/bash
# SPDX-License-Identifier: MIT
#
# guest.sh - what pale-tests.service runs in the machine of tools/test-vm.
#
# guest.sh             run the list of tests as everybody below
# guest.sh tests NAME  run it as this process is, which NAME describes
#
# root      a system service
# user      a service of an ordinary user's own manager, as from a desktop
# login     a login session of that user, as from ssh or a console: outside of the
#           subtree that is delegated to them
set -u
cd /srv/pale || exit 1

if [[ ${1:-} == tests ]]; then
	mapfile -t tests <list
	export PALE=$PWD/build/pale PALE_MUST_WORK=1 PALE_VM_AS=$2
	export CASE; CASE=$(<case)
	exec prove --verbose --timer --exec '' "${tests[@]}"
fi

as() {
	local name=$1
	shift
	echo "== $name begins"
	"$@"
	echo "== $name ends: $?"
}

everybody() {
	local again="/bin/bash /srv/pale/tests/vm/guest.sh tests"
	echo "== up: $(uname -sr), $(systemctl --version | head -n 1)"
	systemctl start user@1000.service
	# shellcheck disable=SC2086 # words are meant
	{
		as root env HOME=/root $again root
		as user setpriv --reuid=1000 --regid=1000 --init-groups env XDG_RUNTIME_DIR=/run/user/1000 \
			systemd-run --user --pipe --wait --collect --quiet $again user
		as login su --login user -c "$again login"
	}
	echo "== done"
}

# The port can be opened once only.
everybody </dev/null 2>&1 | cat >/dev/virtio-ports/pale.tap
