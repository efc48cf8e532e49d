#!/bin/sh
# Records the programs in this folder, which were not used for tuning, into the folder given (640 MB), for fresh.toml:
# sh experiments/eta/programs/record.sh FOLDER && HOTSET_TRACES=FOLDER hotset experiment
# experiments/eta/programs/fresh.toml
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" && cd "$1"
gcc -O2 -c "$here/../../../crates/capture/runtime/pagetrace.c"
for program in join spmv graph; do
    gcc -O2 -fsanitize=thread -c "$here/$program.c"
    gcc "$program.o" pagetrace.o -o "$program"
    HOTSET_PAGETRACE="$program.pgt" "./$program"
done
# 26,000 lines of three words, some of them often.
awk 'function draw() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 7; letters = "etaoinshrdlu"
        for (i = 0; i < 6000; i++) for (n = 3 + int(7 * draw()); n > 0; n--) word[i] = word[i] substr(letters, 1 + int(12 * draw()), 1)
        for (i = 0; i < 78000; i++) printf "%s%s", word[int(exp(log(6000) * draw())) % 6000], i % 3 == 2 ? "\n" : " " }' > words.txt
hotset record --memory -o sort.hst -- sort --parallel=1 -S 8M words.txt > sorted.txt
hotset record --memory -o perl.hst -- perl -ne 'for (split) { $c{$_}++; push @{$l{$_}}, $. }
    END { for (sort { $c{$b} <=> $c{$a} || $a cmp $b } keys %c) { $s += @{$l{$_}} } print "$s\n" }' words.txt
