"""LU factorisation of a matrix in a file, tile by tile: `python3 lu.py FILE prepare|factor|check`.

Left-looking, as the out-of-core solver of ScaLAPACK works: each panel of columns is read, brought up to date with every panel to its left,
which are read again for it, factored, and written. In memory lies one panel and one tile. The matrix is diagonally dominant, so that no
rows are exchanged. A tile of 256 x 256 doubles is one request of 512 KB.
"""

import os
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


{"prepare": prepare, "factor": factor, "check": check}[sys.argv[2]]()
