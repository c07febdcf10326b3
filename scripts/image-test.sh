#!/usr/bin/env bash
# Builds the container image of the Dockerfile without a daemon (buildah), and runs what it says: its entry point, its command and its
# health check answer a real call, as its user. Then systemd is booted in that image with the files of deploy/systemd: the service
# starts as that unit says, with all that the unit forbids, answers a call, and drains when it is stopped.
#
# The image stands on a Debian that mmdebstrap makes of Debian's packages, with Debian's Python and systemd, in place of the published
# PYTHON_IMAGE: no registry of images is asked. The packages come from the folder that scripts/wheelhouse.sh fills; the build itself
# reaches no index. Needs root, and Debian's buildah, mmdebstrap, systemd-container and iproute2.
#   WHEELHOUSE=FOLDER IMAGE_CACHE=FOLDER image-test.sh
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
for program in buildah mmdebstrap systemd-nspawn ip unshare; do
  command -v "$program" >/dev/null || { echo "$program is missing (Debian: apt-get install buildah mmdebstrap systemd-container iproute2)" >&2; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "booting systemd in the image needs root" >&2; exit 1; }
bash "$here/scripts/wheelhouse.sh" "${WHEELHOUSE:?}"
house=$(cd "$WHEELHOUSE" && pwd)

# The same Debian as that of the published image.
suite=$(sed -nE 's/^ARG PYTHON_IMAGE=python:[0-9.]+-slim-([a-z]+).*/\1/p' "$here/Dockerfile")
packages=python3,python3-venv,python-is-python3,systemd-sysv,dbus
base="${IMAGE_CACHE:?}/$suite.tar"
mkdir -p "$IMAGE_CACHE"
if [ "$(cat "$base.made" 2>/dev/null)" != "$packages" ]; then
  echo "making $base (half a minute)"
  rm -f "$base.made"
  mmdebstrap --quiet --variant=minbase --include="$packages" --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' "$suite" "$base"
  echo "$packages" >"$base.made"
fi

away=$(mktemp -d)
export BUILDAH_ISOLATION=chroot
store() { buildah --root "$away/store" --runroot "$away/run" "$@"; }
end() {
  store umount --all >/dev/null 2>&1 || true
  store rm --all >/dev/null 2>&1 || true
  umount --quiet "$away/store/overlay" 2>/dev/null || true
  rm -rf "$away"
}
trap end EXIT

began=$SECONDS
container=$(store from scratch)
store add --quiet "$container" "$base" / >/dev/null
store commit --quiet --rm "$container" localhost/base >/dev/null
printf '[global]\nno-index = true\nfind-links = /wheels\n' >"$away/pip.conf"
store bud --quiet --format docker --layers=false --pull-never --build-arg PYTHON_IMAGE=localhost/base \
  --volume "$away/pip.conf:/etc/pip.conf:ro" --volume "$house:/wheels:ro" --tag localhost/voiceagent "$here" >"$away/build.log" 2>&1 \
  || { cat "$away/build.log" >&2; exit 1; }
echo "ok: the image is built ($(store images --format '{{.Size}}' localhost/voiceagent), $((SECONDS - began)) s)"

# --- the image, as docker run starts it
config() { store inspect --type image --format "{{range .Docker.Config.$1}}{{println .}}{{end}}" localhost/voiceagent | sed '/^$/d'; }
mapfile -t command < <(config Entrypoint && config Cmd)
mapfile -t health < <(config Healthcheck.Test | sed 1d)
container=$(store from --pull-never localhost/voiceagent)
export key=a-key-of-this-test-0123456789
export -f store
export away container
: >"$away/image.log"
began=$SECONDS
# A network of its own: the image listens on all addresses, at the port that its health check asks. What it started ends with it.
unshare --net --pid --fork --kill-child --mount-proc bash -euo pipefail -c '
  ip link set lo up
  store run --env VOICEAGENT_KEYS=$key "$container" -- "${@:2:$1}" >>"$away/image.log" 2>&1 &
  server=$!
  (set +o pipefail; timeout 120 tail -n +1 -f --pid=$server "$away/image.log" | grep -q -m 1 "answers at")
  store run "$container" -- "${@:$1+2}"
  store run --env VOICEAGENT_KEY=$key --env VOICEAGENT_DATA=/tmp/caller "$container" -- voiceagent call --say "What time is it in Paris?"
  store run "$container" -- sh -c "id -un; ! touch /opt/voiceagent/x 2>/dev/null"
  store run "$container" -- python -c "
import urllib.request as r
r.urlopen(r.Request(\"http://127.0.0.1:8080/v1/voiceagent/drain\", b\"\", {\"Authorization\": \"Bearer $key\"}), timeout=5)"
  wait $server
' image "${#command[@]}" "${command[@]}" "${health[@]}" >"$away/called" 2>&1 || { cat "$away/called" "$away/image.log" >&2; exit 1; }
grep -E '^ +get_time' "$away/called"
grep -qx voiceagent "$away/called" || { echo "the image does not run as its user:" >&2; cat "$away/called" >&2; exit 1; }
echo "ok: the image runs as its user, is healthy, answers a call and drains ($((SECONDS - began)) s)"

# --- the service, by a real systemd
began=$SECONDS
root=$(store mount "$container")
install -d "$root/etc/voiceagent"
cp "$here"/examples/demo/*.* "$root/etc/voiceagent/"
install -D -m 644 "$here/deploy/systemd/voiceagent.service" "$root/etc/systemd/system/voiceagent.service"
install -D -m 644 "$here/deploy/systemd/sysusers.conf" "$root/usr/lib/sysusers.d/voiceagent.conf"
# The image's user is another one than the service's.
sed -i '/^voiceagent:/d' "$root/etc/passwd" "$root/etc/group" "$root/etc/shadow" "$root/etc/gshadow"
sed "s/^#VOICEAGENT_KEYS=.*/VOICEAGENT_KEYS=$key/; s/^#VOICEAGENT_OPTIONS=.*/VOICEAGENT_OPTIONS=--profile embedded/" \
  "$here/deploy/systemd/environment.example" | install -m 600 /dev/stdin "$root/etc/voiceagent/environment"
cat >"$root/etc/systemd/system/look.service" <<'UNIT'
[Unit]
After=voiceagent.service
[Service]
Type=oneshot
ExecStart=/bin/bash -x /look.sh
ExecStopPost=/bin/systemctl --no-block poweroff
StandardOutput=file:/looked
StandardError=file:/looked
UNIT
cat >"$root/look.sh" <<'LOOK'
# A caller, and a stop while the call is up: it drains, so the second question is answered, too.
set -euo pipefail
trap 'journalctl --no-pager -u voiceagent' EXIT
export VOICEAGENT_KEY=$1 VOICEAGENT_DATA=/root/caller HOME=/root OMP_NUM_THREADS=1
systemd-analyze verify /etc/systemd/system/voiceagent.service
systemctl is-active voiceagent
systemctl show -P StatusText voiceagent
status=/proc/$(systemctl show -P MainPID voiceagent)/status
grep -qE "^Uid:\s+$(id -u voiceagent)\s" "$status"
grep -qE '^CapEff:\s+0+$' "$status"
grep -qE '^NoNewPrivs:\s+1$' "$status"
grep -qE '^Seccomp:\s+2$' "$status"
[ "$(stat -c '%U %a' /var/lib/voiceagent)" = "voiceagent 700" ]
runuser -u voiceagent -- env VOICEAGENT_DATA=/var/lib/voiceagent /opt/voiceagent/bin/voiceagent keys add reception
: >/answers
(set +o pipefail; tail -n +1 -f /answers | grep -q -m 1 get_time && systemctl stop voiceagent) &
/opt/voiceagent/bin/voiceagent call --say "What time is it in Paris?" --say "What's the weather in Rome tomorrow?" >>/answers
wait
cat /answers
grep -q get_weather /answers
journalctl --no-pager -u voiceagent | grep -q "draining: 1 calls are up"
[ "$(systemctl show -P Result voiceagent) $(systemctl show -P ActiveState voiceagent)" = "success inactive" ]
echo all as it should be
LOOK
sed -i "s|/look.sh|/look.sh $key|" "$root/etc/systemd/system/look.service"
wants="$root/etc/systemd/system/multi-user.target.wants"
mkdir -p "$wants"
ln -s ../voiceagent.service ../look.service "$wants/"
timeout --kill-after=10 180 systemd-nspawn --quiet --directory="$root" --register=no --keep-unit --private-network --console=pipe --boot \
  </dev/null >"$away/boot.log" 2>&1 || true
grep -qx "all as it should be" "$root/looked" || { cat "$away/boot.log" "$root/looked" >&2; echo "the service of systemd fails" >&2; exit 1; }
echo "ok: systemd starts the service with all that it forbids; it answers a call, and drains when it is stopped ($((SECONDS - began)) s)"
