# The program that `hotset demo` records: somebody looks around in the C headers of this system, in many, then in a part, then in
# a few of them, and compiles in between. Runs in its own directory.
set -eu
export LC_ALL=C

printf '%s\n' /usr/include/*.h /usr/include/*/*.h | head -n 1200 > headers
for round in 1 2 3 4; do
    xargs grep -l "round$round" < headers || true
    for part in 400 100 400 100 100; do
        head -n "$part" headers | xargs grep -c struct > found || true
    done
    for name in stdio stdlib; do
        echo "#include <$name.h>" > unit.c
        cc -c unit.c -o unit.o
    done
done
