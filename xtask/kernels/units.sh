#!/bin/sh
# Within a kernel that `make kernels` has booted: the units of systemd, started by systemd. A line that ends in `ok` for each that
# did as its guide says.
set -u
ln -sf /payload/target/debug/hotset /usr/bin/hotset
cp /payload/units/*.service /etc/systemd/system/
mkdir -p /srv/data /etc/hotset
dd if=/dev/urandom of=/srv/data/file bs=1M count=96 status=none
cat >/etc/systemd/system/reader.service <<'UNIT'
[Service]
MemoryMax=64M
ExecStart=/bin/sh -c 'while true; do cat /srv/data/file >/dev/null; sleep 0.2; done'
UNIT
cat >/etc/systemd/system/unlimited.service <<'UNIT'
[Service]
ExecStart=/bin/sleep infinity
UNIT
for service in reader unlimited absent; do
    printf 'DIRECTORIES=/srv/data\nOPTIONS=--policy lirs --always\n' >/etc/hotset/steer-$service.conf
done
systemctl daemon-reload

# is WHAT COMMAND...: a line for what is to be.
is() {
    what=$1
    shift
    if "$@" >/tmp/said 2>&1; then echo "unit: $what ... ok"; else
        echo "unit: $what ... FAILED"
        tail -n 20 /tmp/said
        journalctl -n 20 --no-pager -o cat -u 'hotset-*'
    fi
}
# within SECONDS COMMAND...: waits until it is so.
within() {
    end=$(($(date +%s) + $1))
    shift
    until "$@"; do
        [ "$(date +%s)" -lt "$end" ] || return 1
        sleep 1
    done
}
# said UNIT WORDS: its journal has them.
said() { journalctl --no-pager -o cat -u "$1" | grep -qF -- "$2"; }
active() { systemctl is-active --quiet "$1"; }
inactive() { ! systemctl is-active --quiet "$1"; }
figure() { hotset ctl "$1" status | grep -o "\"$2\": *[0-9]*" | head -n 1 | grep -o '[0-9]*$'; }
drops() { [ "$(figure /srv/data pages_dropped || echo 0)" -gt 0 ]; }
pid() { systemctl show -p MainPID --value "$1"; }

systemctl start reader unlimited
systemctl start hotset-record@reader
recorded() { [ -e /var/lib/private/hotset/reader.hst ] || [ -e /var/lib/hotset/reader.hst ]; }
is 'record starts' within 240 recorded
sleep 10
systemctl stop hotset-record@reader
is 'record stops' inactive hotset-record@reader
is 'record ends well' sh -c '[ "$(systemctl show -p Result --value hotset-record@reader)" = success ]'
trace=$(echo /var/lib/hotset/reader.hst /var/lib/private/hotset/reader.hst | tr ' ' '\n' | while read -r at; do [ -e "$at" ] && echo "$at"; done | head -n 1)
is 'the recording has what was read' sh -c "hotset inspect $trace | grep -qF /srv/data/file"
journalctl --no-pager -o cat -u hotset-record@reader | tail -n 3
systemctl start hotset-record@absent
is 'a service that is not there is refused in a sentence' within 60 said hotset-record@absent 'hotset: '
journalctl --no-pager -o cat -u hotset-record@absent | grep 'hotset: ' | tail -n 1

paranoia=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$paranoia" -gt 2 ]; then
    systemctl start hotset-steer@reader
    # Debian's 6.12 takes CAP_PERFMON for enough.
    is "steer works, or is refused in a sentence, while perf_event_paranoid is $paranoia" within 90 \
        sh -c "journalctl --no-pager -o cat -u hotset-steer@reader | grep -qE 'watching|and CAP_PERFMON'"
    journalctl --no-pager -o cat -u hotset-steer@reader | grep 'hotset: ' | tail -n 1
    systemctl stop hotset-steer@reader
    echo 2 >/proc/sys/kernel/perf_event_paranoid
fi

steer=hotset-steer@reader
systemctl start $steer
is 'steer starts' within 60 active $steer
is 'steer drops pages' within 120 drops
before=$(pid $steer)
kill -9 "$before"
is 'steer is started again after kill -9' within 150 sh -c "active=\$(systemctl show -p MainPID --value $steer); [ \"\$active\" != 0 ] && [ \"\$active\" != $before ]"
is 'the service was not touched by that' active reader
is 'steer drops pages again' within 120 drops
systemctl stop $steer
is 'steer stops' inactive $steer
is 'steer says what it did' said $steer 'missed by lirs'
is 'steer ends well' sh -c "[ \"\$(systemctl show -p Result --value $steer)\" = success ]"
systemctl start $steer
within 60 active $steer
sleep 5
systemctl stop reader
is 'steer ends with its service' within 30 inactive $steer

systemctl start hotset-steer@unlimited
is 'a service without a limit is refused in a sentence' within 60 said hotset-steer@unlimited 'hotset: '
systemctl stop hotset-steer@unlimited
journalctl --no-pager -o cat -u hotset-steer@unlimited | grep 'hotset: ' | tail -n 1
systemctl start hotset-steer@absent
is 'a service that is not there is refused' inactive hotset-steer@absent
