# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# shellcheck shell=bash
#
# packages.bash - stock packages of any Debian suite, unpacked below the cache folder; nothing of them is installed
#
# A private apt configuration per suite: the sources are the machine's own with the suite's name exchanged, so a local mirror or proxy is used
# as configured, and lists and archives live below $VM_CACHE. Sourced by fetch; VM_CACHE, VM_ARCH and VM_REFRESH come from settings.bash. Where VM_OF names
# another architecture, packages are of that one.

apt_folder() {
	echo "$VM_CACHE/apt/$1${VM_OF:+-$VM_OF}"
}

# The machine's own Debian mirror ("main" or "security"), as apt itself sees it.
mirror_of() {
	local kind=$1
	apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' | awk -v kind="$kind" '
		$1 == "Debian" && (kind == "security") == ($2 ~ /-security$/) { print $3; exit }'
}

# Prints the apt.conf of a suite, making it where there is none.
suite_config() {
	local suite=$1 folder kind=main mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	folder=$(apt_folder "$suite")
	case $suite in *-security) kind=security ;; esac
	mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" || return 1
	if [ ! -s "$folder/sources.list" ]; then
		mirror=$(mirror_of "$kind")
		# A machine that was just made has no lists, in which its sources say whose they are.
		[ -n "$mirror" ] || { apt-get update -qq >"$folder/update.log" 2>&1 && mirror=$(mirror_of "$kind"); }
		[ -n "$mirror" ] || { echo "vm: this machine's apt has no Debian $kind source to derive $suite from; run apt-get update" >&2; return 1; }
		echo "deb [signed-by=$keyring] $mirror $suite main" >"$folder/sources.list"
	fi
	: >"$folder/status"
	cat >"$folder/apt.conf" <<-EOF
		Dir::State "$folder";
		Dir::State::lists "$folder/lists";
		Dir::State::status "$folder/status";
		Dir::Cache "$folder/cache";
		Dir::Cache::pkgcache "";
		Dir::Cache::srcpkgcache "";
		Dir::Etc::sourcelist "$folder/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		Acquire::Languages "none";
		Acquire::Retries "3";
		APT::Sandbox::User "root";
		${VM_OF:+APT::Architecture "$VM_OF"; APT::Architectures { "$VM_OF"; };}
	EOF
	echo "$folder/apt.conf"
}

# Updates the lists of a suite unless that was done within a day. Lists from earlier serve where there is no network, which apt must be told to
# call an error.
suite_update() {
	local suite=$1 config=$2 folder stamp
	folder=$(apt_folder "$suite")
	stamp=$folder/updated
	if [ -z "$VM_REFRESH" ] && [ -n "$(find "$stamp" -mmin -1440 2>/dev/null)" ]; then
		return 0
	fi
	if APT_CONFIG=$config apt-get update -qq -o APT::Update::Error-Mode=any >"$folder/update.log" 2>&1; then
		touch "$stamp"
	elif [ ! -e "$stamp" ]; then
		echo "vm: no list of suite $suite (see $folder/update.log)" >&2
		return 1
	else
		echo "vm: no newer list of suite $suite, the one of $(date -r "$stamp" +%F) serves" >&2
	fi
}

# newest_package "SUITE,SUITE" PATTERN: prints "suite package version" of the newest match.
newest_package() {
	local suites=$1 pattern=$2 suite config package version best='' best_suite='' best_version=''
	for suite in ${suites//,/ }; do
		config=$(suite_config "$suite") && suite_update "$suite" "$config" || continue
		while read -r package; do
			version=$(APT_CONFIG=$config apt-cache policy "$package" | awk '$1 == "Candidate:" { print $2 }')
			if [ -z "$best" ] || dpkg --compare-versions "$version" gt "$best_version"; then
				best=$package best_version=$version best_suite=$suite
			fi
		done < <(APT_CONFIG=$config apt-cache pkgnames | grep -E -x -- "$pattern")
	done
	[ -n "$best" ] || { echo "vm: no package matches $pattern in $suites" >&2; return 1; }
	echo "$best_suite $best $best_version"
}

# The package and those that it depends on whose names carry the same version: newer kernels are split into image, base, binary and modules.
with_parts() {
	local config=$1 package=$2 version
	version=$(sed -E 's/^linux-image-//' <<<"$package")
	APT_CONFIG=$config apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
		"$package" | grep -E '^linux-' | grep -F -- "$version" | grep -v -e '-headers-' | sort -u
}

# unpack SUITE FOLDER PACKAGE...: downloads and unpacks into FOLDER, which appears only when it is whole.
unpack() {
	local suite=$1 folder=$2 config archives archive
	archives=$(apt_folder "$suite")/archives
	shift 2
	config=$(suite_config "$suite") || return 1
	rm -rf "$archives" "$folder.part"
	mkdir -p "$archives" "$folder.part" || return 1
	(cd "$archives" && APT_CONFIG=$config apt-get download -qq "$@" >download.log 2>&1) ||
		{ echo "vm: cannot download $* of $suite (see $archives/download.log)" >&2; return 1; }
	for archive in "$archives"/*.deb; do
		dpkg -x "$archive" "$folder.part" || return 1
	done
	rm -rf "$archives" "$folder"
	mv "$folder.part" "$folder"
}
