"""LU factorisation of a matrix in a file, tile by tile: `python3 lu.py FILE prepare|factor|tasks|check`.

`factor` is left-looking, as the out-of-core solver of ScaLAPACK: it reads each panel of columns, updates it with every
panel to its left, which it reads again, factors the panel and writes it. It holds one panel and one tile in memory.
`tasks` is right-looking and holds three tiles: an operation on a tile is a task, and the next task is drawn at random
from those whose inputs are complete, as by a dynamic scheduler. Its hit ratio rises gradually with the size of a cache;
that of `factor` has a cliff. The matrix is diagonally dominant, so that neither exchanges rows. A tile of 256 x 256
doubles is one request of 512 KB.
"""

import os
import random
import sys

import numpy

SIDE, TILES = 256, 25
BYTES = SIDE * SIDE * 8

descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)


def place(row, column):
    return (column * TILES + row) * BYTES


def read(row, column):
    return numpy.frombuffer(os.pread(descriptor, BYTES, place(row, column))).reshape(SIDE, SIDE)


def write(row, column, tile):
    os.pwrite(descriptor, numpy.ascontiguousarray(tile).tobytes(), place(row, column))


def original(row, column):
    tile = numpy.random.default_rng(row * TILES + column).random((SIDE, SIDE))
    return tile + numpy.eye(SIDE) * SIDE * TILES if row == column else tile


def halves(tile):
    return numpy.tril(tile, -1) + numpy.eye(SIDE), numpy.triu(tile)


def factor_diagonal(tile):
    tile = tile.copy()
    for k in range(SIDE - 1):
        tile[k + 1 :, k] /= tile[k, k]
        tile[k + 1 :, k + 1 :] -= numpy.outer(tile[k + 1 :, k], tile[k, k + 1 :])
    return tile


def factor():
    for column in range(TILES):
        panel = [read(row, column).copy() for row in range(TILES)]
        for left in range(column):
            panel[left] = numpy.linalg.solve(halves(read(left, left))[0], panel[left])
            for row in range(left + 1, TILES):
                panel[row] -= read(row, left) @ panel[left]
        panel[column] = factor_diagonal(panel[column])
        upper = halves(panel[column])[1]
        for row in range(column + 1, TILES):
            panel[row] = numpy.linalg.solve(upper.T, panel[row].T).T
        for row in range(TILES):
            write(row, column, panel[row])


def run(row, column, step):
    """Brings a tile one step further: a product is subtracted for each earlier step, the last step makes it a factor."""
    tile = read(row, column)
    if step < min(row, column):
        tile = tile - read(row, step) @ read(step, column)
    elif row == column:
        tile = factor_diagonal(tile)
    elif row > column:
        tile = numpy.linalg.solve(halves(read(step, step))[1].T, tile.T).T
    else:
        tile = numpy.linalg.solve(halves(read(step, step))[0], tile)
    write(row, column, tile)


def tasks():
    places = [(row, column) for row in range(TILES) for column in range(TILES)]
    # Steps of a tile that are done. A tile is a factor after min(row, column) + 1 steps.
    done = dict.fromkeys(places, 0)

    def is_factor(row, column):
        return done[row, column] > min(row, column)

    def is_ready(row, column):
        step = done[row, column]
        if step < min(row, column):
            return is_factor(row, step) and is_factor(step, column)
        return row == column or is_factor(step, step)

    draw = random.Random(1)
    while open_tiles := [place for place in places if not is_factor(*place)]:
        place = draw.choice([place for place in open_tiles if is_ready(*place)])
        run(*place, done[place])
        done[place] += 1


def check():
    """Multiplies the factors of the last row and column of tiles again."""
    last = TILES - 1
    for row, column in ((last, last), (last, 0), (0, last), (TILES // 2, last)):
        total = numpy.zeros((SIDE, SIDE))
        for k in range(min(row, column) + 1):
            lower = halves(read(row, k))[0] if k == row else read(row, k)
            upper = halves(read(k, column))[1] if k == column else read(k, column)
            total += lower @ upper
        assert numpy.allclose(total, original(row, column)), (row, column)


def prepare():
    for column in range(TILES):
        for row in range(TILES):
            write(row, column, original(row, column))


{"prepare": prepare, "factor": factor, "tasks": tasks, "check": check}[sys.argv[2]]()
