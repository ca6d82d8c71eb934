#!/bin/bash
# Runs inside a machine of `make vm-test`: commands come over a virtio-serial port, a line `ID BASE64` each, and their results
# go back as `ID CODE BASE64-OF-STDOUT BASE64-OF-STDERR`. The first line is `hello BOOT-ID`.
port=/dev/virtio-ports/orch.test
until [ -e "$port" ]; do sleep 0.1; done
exec 3<>"$port"
lock=$(mktemp)
say() { (flock 9; printf '%s\n' "$1" >&3) 9>"$lock"; }
say "hello $(cat /proc/sys/kernel/random/boot_id)"
while read -r id command <&3; do
  (
    exec 3>&3 </dev/null
    echo 0 >/proc/self/oom_score_adj
    out=$(mktemp)
    base64 -d <<<"$command" >"$out.sh"
    bash "$out.sh" >"$out" 2>"$out.err" 3>&-
    code=$?
    answer="$id $code $(base64 -w0 "$out") $(base64 -w0 "$out.err")"
    rm -f "$out" "$out.sh" "$out.err"
    say "$answer"
  ) &
done
