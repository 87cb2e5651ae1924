#!/bin/sh
# Installs openmanus @VERSION@ from an archive of its release, after it has verified that
# the archive is what was signed.
#
#   curl -fsSL @HOME@/releases/latest/download/install.sh | sh
#   sh install.sh                    into ~/.local
#   sh install.sh --prefix DIR       into DIR
#   sh install.sh --from URL|DIR     from a copy of the release
#   sh install.sh --remove           removes what it installed; sessions and settings stay
#
# It needs tar, ssh-keygen of OpenSSH 8.1, sha256sum or shasum, and for an address curl.
set -eu

# A shell that reads this from a pipe runs nothing before it has read the end.
{

prefix=${HOME:-}/.local
from=@HOME@/releases/download/@VERSION@
remove=
keys='@KEYS@'

fail() {
	echo "install.sh: $*" >&2
	exit 1
}
usage() {
	echo "install.sh: $*" >&2
	echo "usage: sh install.sh [--prefix DIR] [--from URL|DIR] [--remove]" >&2
	exit 2
}
while [ $# -gt 0 ]; do
	case $1 in
	--prefix | --from)
		[ $# -gt 1 ] || usage "$1 needs a value"
		if [ "$1" = --prefix ]; then prefix=$2; else from=$2; fi
		shift 2
		;;
	--remove)
		remove=1
		shift
		;;
	*) usage "what is $1?" ;;
	esac
done
case $prefix in
/*) ;;
*) usage "--prefix $prefix: a directory begins with /" ;;
esac
list=$prefix/share/doc/openmanus/installed

if [ -n "$remove" ]; then
	[ -f "$list" ] || fail "nothing to remove: $list, which this script writes, is not there"
	made=$(grep '/$' "$list" | sort -r)
	grep -v '/$' "$list" | while IFS= read -r name; do
		rm -f "$prefix/$name"
	done
	rm -f "$prefix/bin/openmanus.old" "$list"
	# the directories that it made, the innermost first, if nothing else is in them
	echo "$made" | while IFS= read -r dir; do
		[ -z "$dir" ] || rmdir "$prefix/$dir" 2>/dev/null || :
	done
	echo "openmanus is removed from $prefix. Sessions and settings stay; openmanus doctor named their directories (by default ~/.local/share/openmanus and ~/.config/openmanus)."
	exit 0
fi

[ -n "$keys" ] || fail "this script is of a release that nobody signed, so it can verify nothing"
for program in tar ssh-keygen; do
	command -v "$program" >/dev/null || fail "$program is missing, without which the release cannot be verified: install it (openssh-client has ssh-keygen), or install a package"
done
if command -v sha256sum >/dev/null; then
	sum() { sha256sum "$1" | cut -d ' ' -f 1; }
elif command -v shasum >/dev/null; then
	sum() { shasum -a 256 "$1" | cut -d ' ' -f 1; }
else
	fail "neither sha256sum nor shasum is here, without which the release cannot be verified"
fi

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "$(uname -s) has no archive that this script installs: @HOME@/releases" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no archive for $(uname -m): @HOME@/releases" ;;
esac
dir=openmanus_@PLAIN@_${os}_$arch

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fetch() {
	case $from in
	http://* | https://*)
		command -v curl >/dev/null || fail "curl is missing"
		curl -fsSL --retry 3 -o "$work/$1" "$from/$1" || fail "$from/$1 could not be fetched"
		;;
	*) cp "$from/$1" "$work/$1" || fail "$from/$1 could not be read" ;;
	esac
}
fetch SHA256SUMS
fetch SHA256SUMS.sig
printf '%s\n' "$keys" | sed 's/^/openmanus /' >"$work/signers"
ssh-keygen -Y verify -f "$work/signers" -I openmanus -n @NAMESPACE@ -s "$work/SHA256SUMS.sig" <"$work/SHA256SUMS" >/dev/null 2>&1 ||
	fail "the checksums at $from are not what was signed for openmanus: nothing was installed"
fetch "$dir.tar.gz"
wanted=$(sed -n "s/^\([0-9a-f]*\)  $dir\.tar\.gz\$/\1/p" "$work/SHA256SUMS")
[ -n "$wanted" ] || fail "the release has no $dir.tar.gz"
[ "$(sum "$work/$dir.tar.gz")" = "$wanted" ] || fail "$dir.tar.gz is not the file that was signed: nothing was installed"
tar -xzf "$work/$dir.tar.gz" -C "$work"

"$work/$dir/openmanus" version >/dev/null || fail "the program does not run here: nothing was installed"

# What it installs, and the directories that it makes, which end with a slash: this time or before.
: >"$work/installed"
[ ! -f "$list" ] || grep '/$' "$list" >"$work/installed" || :
made() { # DIRECTORY
	[ ! -d "$prefix/$1" ] || return 0
	case $1 in */*) made "${1%/*}" ;; esac
	mkdir "$prefix/$1"
	echo "$1/" >>"$work/installed"
}
place() { # FILE TO MODE
	made "${2%/*}"
	cp "$work/$dir/$1" "$prefix/$2.new"
	chmod "$3" "$prefix/$2.new"
	mv -f "$prefix/$2.new" "$prefix/$2"
	echo "$2" >>"$work/installed"
}
mkdir -p "$prefix"
place openmanus bin/openmanus 755
for page in "$work/$dir"/man/man1/*.1; do
	place "man/man1/${page##*/}" "share/man/man1/${page##*/}" 644
done
place completions/openmanus.bash share/bash-completion/completions/openmanus 644
place completions/_openmanus share/zsh/site-functions/_openmanus 644
place completions/openmanus.fish share/fish/vendor_completions.d/openmanus.fish 644
for name in README.md LICENSE THIRD_PARTY_LICENSES.txt CHANGELOG.md openmanus.service; do
	place "$name" "share/doc/openmanus/$name" 644
done

cp "$work/installed" "$list"

"$prefix/bin/openmanus" version
case :$PATH: in
*:"$prefix/bin":*) echo "Try: openmanus demo" ;;
*)
	echo "$prefix/bin is not in your PATH. Type this, and put it into ~/.profile:"
	echo "  export PATH=\"$prefix/bin:\$PATH\""
	echo "Then try: openmanus demo"
	;;
esac
exit
}
