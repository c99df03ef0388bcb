# Installs Debian packages that are missing. Read by the scripts that need some (. app/packages.sh):
#
#   install_packages NAME PACKAGE...     NAME says who installs; the script ends with a message if it cannot
install_packages() {
  who=$1
  shift
  missing=""
  for package in "$@"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  refusal=""
  command -v apt-get >/dev/null || refusal="there is no apt-get; install the equivalents of:$missing"
  [ -n "$refusal" ] || [ "$(id -u)" = 0 ] || refusal="these packages are missing and need root: apt-get install$missing"
  if [ -z "$refusal" ]; then
    printf '%s: installing%s\n' "$who" "$missing"
    export DEBIAN_FRONTEND=noninteractive
    if ! apt-get update -qq; then
      refusal="apt-get update failed; is there a network? Still missing:$missing"
    # shellcheck disable=SC2086 # one word a package
    elif ! apt-get install -y -qq --no-install-recommends $missing >/dev/null; then
      refusal="apt-get could not install:$missing"
    fi
  fi
  [ -z "$refusal" ] && return 0
  printf '%s: %s\n' "$who" "$refusal" >&2
  exit 1
}
