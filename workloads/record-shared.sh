#!/bin/sh
# Records the programs for the experiments with shared caches again: workloads/record-shared.sh HOTSET DIR [NAME…].
# Needs PostgreSQL 15 (its programs on the PATH), python3-numpy, ffmpeg, Open MPI with its compiler, and strace; 2 GB in
# DIR, where all files are; and, because of PostgreSQL, a user other than root. Traces come to DIR/*.hst. It listens on
# a socket in DIR only.
set -eu
hotset=$1
here=$(cd "$(dirname "$0")" && pwd)
cd "$2"
shift 2
export PGHOST="$PWD" PGDATA="$PWD/database" PGDATABASE=postgres PGOPTIONS='-c client_min_messages=warning'

# A server under the recorder, from its start to its end; $1 names the trace, the rest is what asks it.
serve() {
    trace=$1
    shift
    "$hotset" record -o "$trace.hst" -- postgres &
    server=$!
    until pg_isready -q; do sleep 0.2; done
    "$@" >"$trace.txt"
    pg_ctl stop -m fast >/dev/null
    wait $server
}

# A new database for the tables of $1.
database() {
    rm -rf "$PGDATA" && initdb --auth=trust --no-locale --encoding=UTF8 >/dev/null
    cat >>"$PGDATA/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$PWD'
shared_buffers = 4MB
work_mem = 4MB
autovacuum = off
max_parallel_workers_per_gather = 0
END
    pg_ctl start -o '-c fsync=off -c shared_buffers=128MB' -l load.txt >/dev/null
    psql -q -v ON_ERROR_STOP=1 -f "$1" >/dev/null
    pg_ctl stop -m fast >/dev/null
}

tpcc() {
    database "$here/tpcc.sql"
    serve tpcc pgbench -n -c 4 -t 1150 --max-tries=10 --random-seed=1 -f "$here/tpcc.pgbench"
    rm -r "$PGDATA"
}

tpch() {
    database "$here/tpch.sql"
    serve tpch psql -v ON_ERROR_STOP=1 -f "$here/tpch-queries.sql"
    rm -r "$PGDATA"
}

tpch17() {
    database "$here/tpch17.sql"
    serve tpch17 psql -v ON_ERROR_STOP=1 -f "$here/tpch17-query.sql"
    rm -r "$PGDATA"
}

lu_tasks() {
    python3 "$here/lu.py" matrix.bin prepare
    "$hotset" record -o lu-tasks.hst -- python3 "$here/lu.py" matrix.bin tasks
    python3 "$here/lu.py" matrix.bin check
    rm matrix.bin
}

lu() {
    python3 "$here/lu.py" matrix.bin prepare
    "$hotset" record -o lu.hst -- python3 "$here/lu.py" matrix.bin factor
    python3 "$here/lu.py" matrix.bin check
    rm matrix.bin
}

film() {
    ffmpeg -v error -y -f lavfi -i testsrc2=size=1280x720:rate=25,noise=alls=20:allf=t -t 75 -c:v mpeg2video -b:v 14M film.mpg
    "$hotset" record -o film.hst -- ffmpeg -v error -nostdin -re -i film.mpg -c copy -f mpegts pipe:1 >/dev/null
    rm film.mpg
}

tiles() {
    mpicc -O2 -o tiles "$here/tiles.c"
    OMPI_MCA_plm_rsh_agent=sh "$hotset" record -o tiles.hst -- mpirun -n 4 --oversubscribe ./tiles tiles.bin 4
    rm tiles tiles.bin
}

# A function's name has `_` where the trace's has `-`.
for name in ${*:-tpcc tpch tpch17 lu lu-tasks film tiles}; do "$(echo "$name" | tr - _)"; done
