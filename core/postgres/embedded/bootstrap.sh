#!/bin/sh
# Puts a private PostgreSQL 17 with pgvector into PREFIX, from the signed packages of Debian 13 ("trixie"). Needs a machine with
# apt-get and dpkg-deb (Debian and its children); no root, no compiler. The machine itself is left as it is: its package database, lists
# and caches are neither read nor written, and nothing appears outside PREFIX, PREFIX.lock and PREFIX.tmp.*.
#
#   sh bootstrap.sh PREFIX
#
# Programs are then in PREFIX/bin. A prefix that is already complete is left alone, so this can be called every time. Concurrent runs
# wait for each other; a killed run leaves nothing that the next one does not clear away.
#
# The packages come from the mirror that the machine's own apt configuration names; TOOLSCOUT_APT_MIRROR=URL names another one (its
# security archive is looked for at URL-security). Either way apt checks every file against the archive's signing keys.
set -eu
umask 022
export LC_ALL=C

suite=trixie
major=17
programs="postgres initdb pg_ctl psql pg_dump pg_restore pg_isready"

# Names without versions: a mirror drops old versions at every point release. What the programs load, and no more; a library that is
# missing from this list makes check_libraries fail.
packages="postgresql-$major postgresql-client-$major postgresql-$major-pgvector
libc6 libgcc-s1 libstdc++6 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1 libicu76 libldap2
libsasl2-2 liblz4-1 libpam0g libpq5 libselinux1 libpcre2-8-0 libssl3t64 libsystemd0 libcap2 libuuid1 libxml2 liblzma5 libxslt1.1
libgcrypt20 libgpg-error0 libzstd1 zlib1g libaudit1 libcap-ng0 libcrypt1 libxxhash0 libreadline8t64 libtinfo6"

say() { printf 'pg-bootstrap: %s\n' "$*" >&2; }

die() {
	say "$*"
	cat >&2 <<'ADVICE'

No private PostgreSQL could be put in place. Any one of these also gives Toolscout its database:

  Debian 13 and later   apt-get install postgresql-17 postgresql-17-pgvector
  Debian 12, Ubuntu     apt-get install debian-archive-keyring
                        then try again; on Ubuntu with TOOLSCOUT_APT_MIRROR=<URL of a Debian mirror>
  macOS                 brew install postgresql@17 pgvector
  Fedora 43 and later   dnf install postgresql-server pgvector
  anywhere              docker compose up -d postgres
                        and DATABASE_URL=postgres://toolscout:toolscout@127.0.0.1:5433/toolscout
                        (or that of any PostgreSQL 15+ with pgvector 0.8+)
ADVICE
	exit 1
}

# machine_sources prints "BASE SUITE" for each source that the machine's apt knows. Asking for the addresses that an update would fetch
# covers every format of source file, and needs neither root nor lists that were fetched before.
machine_sources() {
	apt-get -o Dir::State::lists="$work/apt/lists" -o Debug::NoLocking=true --print-uris update 2>/dev/null |
		sed -n "s|^'\(.*\)/dists/\(.*\)/InRelease'.*|\1 \2|p"
}

# mirrors prints the candidates for the main archive, best first.
mirrors() {
	if [ -n "${TOOLSCOUT_APT_MIRROR:-}" ]; then
		echo "${TOOLSCOUT_APT_MIRROR%/}"
		return
	fi
	machine_sources | awk '$2 ~ /^(bullseye|bookworm|trixie|forky|duke|sid|oldoldstable|oldstable|stable|testing|unstable)$/ && !seen[$1]++ {print $1}'
}

# security_mirrors MAIN prints the candidates for the security archive that goes with the main one.
security_mirrors() {
	{
		if [ -n "${TOOLSCOUT_APT_MIRROR:-}" ]; then
			echo "$1-security"
		else
			machine_sources | awk '$2 ~ /-security$|\/updates$/ {print $1}'
			echo "$1-security"
		fi
	} | awk '!seen[$1]++'
}

# apt_config writes a configuration that keeps the machine's way to the network (proxies, certificates, whether clocks are trusted) and
# shares nothing else with it. Hooks, pins, third-party sources and leave to skip signatures stay behind.
apt_config() {
	mkdir -p apt/lists/partial apt/archives/partial apt/empty
	: >apt/status
	{
		apt-config dump | grep -E '^Acquire::(http|https|ForceIPv4|ForceIPv6|Check-Valid-Until|Check-Date|Max-ValidTime)(::[^ ]*)? ".+";$' || true
		cat <<-EOC
			Dir::Etc::main "/dev/null";
			Dir::Etc::parts "$work/apt/empty";
			Dir::Etc::preferences "/dev/null";
			Dir::Etc::preferencesparts "$work/apt/empty";
			Dir::Etc::sourcelist "/dev/null";
			Dir::Etc::sourceparts "$work/apt/sources";
			Dir::State "$work/apt";
			Dir::State::lists "$work/apt/lists";
			Dir::State::status "$work/apt/status";
			Dir::Cache "$work/apt";
			Dir::Cache::archives "$work/apt/archives";
			APT::Architecture "$arch";
			APT::Architectures { "$arch"; };
			APT::Sandbox::User "";
			APT::Get::AllowUnauthenticated "false";
			Acquire::AllowInsecureRepositories "false";
			Acquire::AllowWeakRepositories "false";
			Acquire::AllowDowngradeToInsecureRepositories "false";
			Acquire::Languages "none";
			Acquire::Retries "3";
		EOC
	} >apt/apt.conf
}

# use_source NAME URI SUITE adds a source and fetches its index; it takes the source away again when that does not work.
use_source() {
	mkdir -p apt/sources
	printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nArchitectures: %s\nSigned-By: %s\n' "$2" "$3" "$arch" "$keyring" >"apt/sources/$1.sources"
	if APT_CONFIG="$work/apt/apt.conf" apt-get -q -o APT::Update::Error-Mode=any update >apt/log 2>&1; then
		return 0
	fi
	rm "apt/sources/$1.sources"
	grep -E '^[EW]:' apt/log | head -n 5 >&2 || true
	return 1
}

find_sources() {
	found=
	for base in $(mirrors); do
		say "reading the package index of $suite from $base"
		use_source main "$base" "$suite" && found=$base && break
	done
	[ -n "$found" ] || die "no mirror of the Debian archive: none is configured for apt here, or none answered (TOOLSCOUT_APT_MIRROR=URL names one)"
	for base in $(security_mirrors "$found"); do
		use_source security "$base" "$suite-security" && return
	done
	say "no security archive found beside $found: going on with the versions of the last point release"
}

fetch() {
	say "fetching $(echo $packages | wc -w) packages, about 45 MB"
	mkdir debs
	(cd debs && APT_CONFIG="$work/apt/apt.conf" apt-get -q download $packages >../apt/log 2>&1) || {
		tail -n 5 apt/log >&2
		die "the packages could not be fetched"
	}
}

unpack() {
	say "unpacking"
	mkdir tree
	for deb in debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C tree --no-same-owner \
			--exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale --exclude=./usr/share/lintian \
			--exclude=./usr/share/postgresql/$major/man --exclude=./usr/lib/postgresql/$major/lib/bitcode \
			--exclude='*/llvmjit*' --exclude='./etc' --exclude='./var' --exclude='./usr/lib/*/gconv' --exclude='./usr/lib/*/perl*'
	done
	pg=usr/lib/postgresql/$major
	case $arch in
	amd64) loader=usr/lib64/ld-linux-x86-64.so.2 ;;
	arm64) loader=usr/lib/ld-linux-aarch64.so.1 ;;
	esac
	[ -e "tree/$loader" ] || loader=$(cd tree && find usr/lib -name 'ld-linux-*.so.*' | head -n 1)
	[ -n "$loader" ] || die "the C library's package holds no program loader"
	libraries=usr/lib/$(cd tree/usr/lib && echo *-linux-gnu)
}

# wrap puts a script in the place of each program which runs it with the tree's own loader and C library, so that the age of the machine's
# does not matter. PostgreSQL finds its other files from argv[0], which therefore has to be the script: the tree can be moved.
wrap() {
	mkdir "tree/$pg/real"
	for program in $programs; do
		mv "tree/$pg/bin/$program" "tree/$pg/real/$program"
		cat >"tree/$pg/bin/$program" <<-EOW
			#!/bin/sh
			here=\$(cd -P -- "\${0%/*}" && pwd) && root=\${here%/$pg/bin}
			exec "\$root/$loader" --inhibit-cache --library-path "\$root/$libraries" --argv0 "\$here/$program" "\$root/$pg/real/$program" "\$@"
		EOW
		chmod 755 "tree/$pg/bin/$program"
	done
	for other in "tree/$pg/bin"/*; do # what has no wrapper would run with the machine's C library, or not at all
		case " $programs " in *" ${other##*/} "*) ;; *) rm -f "$other" ;; esac
	done
	ln -s "$pg/bin" tree/bin
}

check_libraries() {
	for file in "tree/$pg/real"/* "tree/$pg/lib/vector.so"; do
		"tree/$loader" --inhibit-cache --library-path "$work/tree/$libraries" --list "$file" >libs 2>&1 || {
			cat libs >&2
			die "${file##*/} does not load"
		}
		if grep -v -E "linux-vdso|=> $work/tree/|^[[:space:]]*(/[^ ]*|[^ ]*)ld-linux" libs >&2; then
			die "${file##*/} needs a library that is not in the tree"
		fi
	done
	tree/bin/postgres --version >/dev/null || die "the unpacked PostgreSQL does not run here"
}

[ $# -eq 1 ] && [ -n "$1" ] || {
	echo "usage: $0 PREFIX" >&2
	exit 2
}
case $1 in /*) prefix=${1%/} ;; *) prefix=$PWD/${1%/} ;; esac
[ ! -e "$prefix/.complete" ] || exit 0

for tool in apt-get apt-config dpkg dpkg-deb tar flock; do
	command -v "$tool" >/dev/null || die "$tool is missing: this way works on Debian and systems made from it"
done
arch=$(dpkg --print-architecture)
case $arch in amd64 | arm64) ;; *) die "no support for the architecture $arch" ;; esac
keyring=
for file in /usr/share/keyrings/debian-archive-keyring.gpg /usr/share/keyrings/debian-archive-keyring.pgp; do
	[ -r "$file" ] && keyring=$file && break
done
[ -n "$keyring" ] || die "the Debian archive's keys are missing: apt-get install debian-archive-keyring"

mkdir -p "${prefix%/*}" || die "cannot make ${prefix%/*}"
exec 9>"$prefix.lock" || die "cannot write in ${prefix%/*}"
flock -n 9 || {
	say "waiting for another run"
	flock 9
}
[ ! -e "$prefix/.complete" ] || exit 0
if [ -e "$prefix" ] && ! rmdir "$prefix" 2>/dev/null; then
	die "$prefix is there already and was not made by this script: remove it or choose another place"
fi
rm -rf "$prefix".tmp.*
work=$(mktemp -d "$prefix.tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$work"

apt_config
find_sources
fetch
unpack
wrap
check_libraries
chmod 755 tree
tree/bin/postgres --version >tree/.complete
mv tree "$prefix"
say "$(cat "$prefix/.complete") is ready in $prefix"
