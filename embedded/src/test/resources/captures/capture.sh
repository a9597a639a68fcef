#!/bin/bash
# Makes the captures beside it: runs inside the lab, writes to /lab. README.md has the command.
set -uo pipefail
status=0

# record NAME SERVER CLIENT: captures what the two commands send over the wire between rxe1 (on v1) and rxe2 (on v2).
record() {
  dumpcap -q -P -i v1 -f 'udp port 4791' -w "/lab/$1.pcap" 2>"/tmp/$1.dumpcap" &
  local dumpcap=$! server
  while ! grep -q '^File:' "/tmp/$1.dumpcap"; do sleep 0.2; done
  timeout 40 bash -c "$2" >"/tmp/$1.server" 2>&1 &
  server=$!
  sleep 1.5
  if ! timeout 30 bash -c "$3" >"/tmp/$1.client" 2>&1; then
    echo "$1: the client failed:"
    cat "/tmp/$1.client" "/tmp/$1.server"
    status=1
  fi
  wait $server
  sleep 1
  kill -INT $dumpcap
  wait $dumpcap
  echo "$1: $(stat -c %s "/lab/$1.pcap") bytes"
}

# both NAME COMMAND HOST: the same program on either side, the second with the name of the first.
both() {
  record "$1" "${2//DEV/rxe1}" "${2//DEV/rxe2} $3"
}

ip -6 addr add fd00::1/64 dev v1 nodad
ip -6 addr add fd00::2/64 dev v2 nodad
ip -6 neigh replace fd00::2 lladdr 02:00:00:00:00:02 dev v1
ip -6 neigh replace fd00::1 lladdr 02:00:00:00:00:01 dev v2
ip -6 route add fd00::2/128 dev v1 src fd00::1 table 106
ip -6 rule add pref 20 from fd00::1 to fd00::2 lookup 106
ip -6 rule add pref 10 iif v1 lookup local
ip -6 rule add pref 10 iif v2 lookup local
ip -6 route add fd00::1/128 dev v2 src fd00::2 table 107
ip -6 rule add pref 20 from fd00::2 to fd00::1 lookup 107
ip -6 rule add pref 100 lookup local
ip -6 rule del pref 0
# The GID that ends in the given digits, by its place in the device's table.
gid() {
  local file
  for file in "/sys/class/infiniband/$1/ports/1/gids/"*; do
    if grep -q "^fd00:.*$2\$" "$file" 2>/dev/null; then basename "$file"; return; fi
  done
}

both rc "ibv_rc_pingpong -d DEV -g 1 -m 1024 -s 2501 -n 3" localhost
both uc "ibv_uc_pingpong -d DEV -g 1 -m 512 -s 1502 -n 3" localhost
both ud "ibv_ud_pingpong -d DEV -g 1 -s 501 -n 4" localhost
both write "ib_write_bw -d DEV -x 1 -F -m 256 -s 1023 -n 5 -t 2 -Q 1" localhost
both write-uc "ib_write_bw -c UC -d DEV -x 1 -F -m 256 -s 766 -n 5 -t 2 -Q 1" localhost
both read "ib_read_bw -d DEV -x 1 -F -m 256 -s 1021 -n 5 -t 2 -Q 1" localhost
both fetch-add "ib_atomic_bw -d DEV -x 1 -F -n 5 -t 2 -Q 1 -A FETCH_AND_ADD" localhost
both compare-swap "ib_atomic_bw -d DEV -x 1 -F -n 5 -t 2 -Q 1 -A CMP_AND_SWAP" localhost
record rping "rping -s -a 10.98.0.1 -S 700 -C 3" "rping -c -I 10.98.0.2 -a 10.98.0.1 -S 700 -C 3"
record udaddy "udaddy -b 10.98.0.1 -C 3 -S 64" "udaddy -b 10.98.0.2 -s 10.98.0.1 -C 3 -S 64"
record rejected true "! ucmatose -b 10.98.0.2 -s 10.98.0.1 -p 7000"
one=$(gid rxe1 0001) two=$(gid rxe2 0002)
record rc-ipv6 "ibv_rc_pingpong -d rxe1 -g $one -m 1024 -s 2502 -n 3" "ibv_rc_pingpong -d rxe2 -g $two -m 1024 -s 2502 -n 3 localhost"
record ud-ipv6 "ibv_ud_pingpong -d rxe1 -g $one -s 302 -n 4" "ibv_ud_pingpong -d rxe2 -g $two -s 302 -n 4 localhost"
exit $status
