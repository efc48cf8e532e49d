// Processes that each write and read their tile of one image, after mpi-tile-io: `mpirun -n 4 tiles FILE FRAMES`.
//
// The image has 4096 x 4096 pixels of 8 bytes in a file, row after row; each of 2 x 2 processes owns a tile of it and reads it with a rim of
// 64 pixels of its neighbours'. A row of a tile is one stretch of the file, so the stretches of two processes alternate. After writing
// once, all read again FRAMES times, as a wall of displays would.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 4096, GRID = 2, TILE = SIDE / GRID, RIM = 64, PIXEL = 8 };

static MPI_Datatype window(const int from[2], const int extent[2], MPI_Datatype pixel) {
    const int whole[2] = {SIDE, SIDE};
    MPI_Datatype type;
    MPI_Type_create_subarray(2, whole, extent, from, MPI_ORDER_C, pixel, &type);
    MPI_Type_commit(&type);
    return type;
}

static int fail(const char *what) {
    fprintf(stderr, "tiles: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || ranks != GRID * GRID) return fail("run it as: mpirun -n 4 tiles FILE FRAMES");

    MPI_Datatype pixel;
    MPI_Type_contiguous(PIXEL, MPI_BYTE, &pixel);
    MPI_Type_commit(&pixel);
    int from[2], extent[2], rimmed[2], wider[2];
    for (int axis = 0; axis < 2; axis++) {
        int cell = axis == 0 ? rank / GRID : rank % GRID;
        from[axis] = cell * TILE;
        extent[axis] = TILE;
        rimmed[axis] = cell > 0 ? from[axis] - RIM : 0;
        int end = from[axis] + TILE + RIM;
        wider[axis] = (end < SIDE ? end : SIDE) - rimmed[axis];
    }
    int pixels = wider[0] * wider[1];
    char *memory = malloc((size_t)pixels * PIXEL);
    if (!memory) return fail("no memory for a tile");
    for (long at = 0; at < (long)TILE * TILE * PIXEL; at++) memory[at] = (char)(rank + at);

    MPI_File file;
    MPI_Status status;
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) return fail("the file does not open");
    MPI_File_set_view(file, 0, pixel, window(from, extent, pixel), "native", MPI_INFO_NULL);
    MPI_File_write(file, memory, TILE * TILE, pixel, &status);
    MPI_File_set_view(file, 0, pixel, window(rimmed, wider, pixel), "native", MPI_INFO_NULL);
    for (int frame = 0; frame < atoi(argv[2]); frame++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_seek(file, 0, MPI_SEEK_SET);
        MPI_File_read(file, memory, pixels, pixel, &status);
        int got;
        MPI_Get_count(&status, pixel, &got);
        if (got != pixels) return fail("a tile was read in part");
    }
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
