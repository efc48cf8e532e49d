#!/bin/sh
# Records the workloads again: workloads/record.sh HOTSET DIR. Needs blender, libreoffice-writer, python3-pandas, a C compiler, make, strace
# and lua5.4's source (lua5.4_5.4.4.orig.tar.gz, `apt-get source lua5.4`) in DIR, where everything happens; traces come to DIR/*.hst.
set -eu
PATH=/usr/bin:/bin
hotset=$1
here=$(cd "$(dirname "$0")" && pwd)
cd "$2"

mkdir -p film/frames
blender -b --factory-startup --python "$here/render.py" -- "$PWD/film" prepare >/dev/null
"$hotset" record -o render.hst -- sh -c "
    for run in 1 2; do blender -b --factory-startup --python '$here/render.py' -- '$PWD/film' 6 >/dev/null; done"

rm -rf lua-5.4.4 && tar xzf lua5.4_5.4.4.orig.tar.gz
"$hotset" record -o build.hst -- sh -c '
    cd lua-5.4.4 && make -s linux && touch src/lobject.h && make -s linux && grep -rn lua_State . | wc -l'

python3 "$here/database.py" bank.sqlite prepare
"$hotset" record -o database.hst -- python3 "$here/database.py" bank.sqlite 4000

mkdir -p year
python3 "$here/analysis.py" year prepare
"$hotset" record -o analysis.hst -- sh -c "
    python3 '$here/analysis.py' year run && sort -t, -k3 -n year/month*.csv | tail -100 >year/top.txt && awk -F, '{n[\$1]++} END {print length(n)}' year/month*.csv"

mkdir -p letters
for number in 1 2 3 4 5 6 7 8; do seq -f "Line %g of letter $number, which is long enough to be wrapped once." 400 >letters/$number.txt; done
"$hotset" record -o office.hst -- sh -c '
    cd letters && soffice --headless --convert-to odt *.txt && soffice --headless --convert-to docx *.odt && soffice --headless --convert-to pdf *.docx'
