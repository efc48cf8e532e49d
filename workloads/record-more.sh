#!/bin/sh
# Records more programs of the kinds that the papers name: workloads/record-more.sh HOTSET DIR [NAME…].
# Each NAME needs its own packages of Debian 12, and strace:
#   nwchem                   nwchem
#   pyscf                    PySCF of PyPI: pip install --target DIR/python pyscf
#   stencil                  gfortran
#   pnetcdf, btio            Open MPI, PnetCDF, and BTIO of Northwestern University, built, as DIR/BTIO/btio
#   cad                      yosys, nextpnr-ice40, fpga-icestorm and fpga-icestorm-chipdb
#   book                     texlive-latex-recommended and texlive-pictures
#   develop                  git, gcc, make, and zlib's source (zlib_1.2.13.dfsg.orig.tar.bz2, `apt-get source zlib`) in DIR
#   mail                     dovecot-imapd and dovecot-lmtpd
#   textures                 blender
# All files are in DIR, which needs 4 GB; traces come to DIR/*.hst. Servers listen on the loopback only.
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
hotset=$1
here=$(cd "$(dirname "$0")" && pwd)
cd "$2"
shift 2
export OMP_NUM_THREADS=1 OMPI_MCA_plm_rsh_agent=sh PYTHONPATH="$PWD/python" HOME="$PWD"

nwchem() {
    mkdir -p water && cp "$here/water.nw" water/
    (cd water && "$hotset" record -o ../nwchem.hst -- nwchem water.nw >../nwchem.txt)
    rm -r water
}

pyscf() {
    mkdir -p integrals
    "$hotset" record -o pyscf.hst -- python3 "$here/water.py" "$PWD/integrals" >pyscf.txt
    rm -r integrals
}

stencil() {
    gfortran -O2 -o stencil.exe "$here/stencil.f90"
    "$hotset" record -o stencil.hst -- ./stencil.exe
    rm stencil.exe field?.bin digest.bin
}

# $1 is BTIO's name for write or read, $2 its number for the kind of I/O, $3 the points of the grid in each direction.
steps() {
    printf '%s\n%s\n40\n%s %s %s\n%s\n' "$1" "$2" "$3" "$3" "$3" "$PWD/grid" >"bt-$1.data"
}

# One of BTIO's kinds, written and read $3 times: bt TRACE KIND TIMES GRID.
bt() {
    mkdir -p grid
    steps w "$2" "$4"
    steps r "$2" "$4"
    "$hotset" record -o "$1.hst" -- sh -c "
        mpirun -n 4 --oversubscribe BTIO/btio bt-w.data
        for time in \$(seq $3); do mpirun -n 4 --oversubscribe BTIO/btio bt-r.data; done" >"$1.txt"
    rm -r grid bt-?.data
}

pnetcdf() { bt pnetcdf 3 2 64; }

btio() { bt btio 0 1 102; }

# The tools run over a whole design, then again after each of three changes to a module.
cad() {
    mkdir -p design && python3 "$here/design.py" design prepare
    "$hotset" record -o cad.hst -- sh -ec "
        cd design
        for change in none 3 17 8; do
            [ \$change = none ] || python3 '$here/design.py' . \$change
            yosys -q -p 'read_verilog top.v stage*.v; synth_ice40 -top top -json top.json'
            nextpnr-ice40 -q --hx8k --package ct256 --json top.json --asc top.asc
            icepack top.asc top.bin
            icetime -d hx8k -r top.rpt top.asc >/dev/null
        done"
    rm -r design
}

# A book from nothing to its last run, then four times after a chapter was written anew.
book() {
    mkdir -p book && python3 "$here/book.py" book prepare
    "$hotset" record -o book.hst -- sh -ec "
        cd book
        pdflatex -interaction batchmode book && bibtex -terse book && makeindex -q book
        pdflatex -interaction batchmode book && pdflatex -interaction batchmode book
        for chapter in 2 9 5 7; do
            python3 '$here/book.py' . \$chapter
            pdflatex -interaction batchmode book && makeindex -q book && pdflatex -interaction batchmode book
        done" >book.txt
    rm -r book
}

# Twenty changes to a library under version control: each is compiled, tested, looked at and committed.
develop() {
    rm -rf zlib-1.2.13* && tar --no-same-owner -xjf zlib_1.2.13.dfsg.orig.tar.bz2
    mv zlib-1.2.13* zlib
    "$hotset" record -o develop.hst -- sh -ec '
        cd zlib && git init -q -b main . && git config user.name d && git config user.email d@example.org
        git config gc.autoDetach false && printf "%s\n" "*.o" "*.lo" "*.a" "*.so*" >.gitignore
        git add . && git commit -qm start && ./configure && make && make test
        set -- deflate.c inflate.c trees.c crc32.c gzread.c adler32.c zutil.h infback.c test/example.c gzwrite.c
        for round in 1 2; do
            git checkout -qb work$round
            for file; do
                echo "/* $round */" >>$file
                make && make test
                git status -s && git diff --stat && git commit -qam "$file $round"
                git log --oneline -5 && grep -rn $round --include=*.[ch] . | wc -l
            done
            git checkout -q main && git merge -q work$round && git log -p -12 | wc -l && make && make test
        done
        git gc -q && git blame deflate.c | wc -l' >develop.txt 2>&1
    rm -rf zlib
}

# A server and its log; its clients are not recorded.
mail() {
    python3 "$here/mail.py" conf "$PWD/post"
    "$hotset" record -o mail.hst -- dovecot -F -c "$PWD/post/dovecot.conf" &
    server=$!
    python3 "$here/mail.py" day "$PWD/post"
    kill "$(cat post/run/master.pid)"
    wait $server
    rm -r post
}

# The animation of record.sh with 300 textures and 25 frames.
textures() {
    sed 's/^TEXTURES = .*/TEXTURES = 300/' "$here/render.py" >textures.py
    mkdir -p film/frames
    blender -b --factory-startup --python textures.py -- "$PWD/film" prepare >/dev/null
    "$hotset" record -o textures.hst -- sh -c "
        for run in 1 2; do blender -b --factory-startup --python textures.py -- '$PWD/film' 25 >/dev/null; done"
    rm -r film textures.py
}

# A function's name has `_` where the trace's has `-`.
for name in ${*:-nwchem pyscf stencil pnetcdf btio cad book develop mail textures}; do "$(echo "$name" | tr - _)"; done
