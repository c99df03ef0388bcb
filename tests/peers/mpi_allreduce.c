/* Open MPI's own all-reduce, for allreduce.py: prints "BYTES MEDIAN_SECONDS" for every given size. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRounds = 40, kBatchBytes = 8 << 20, kMostRepeats = 1000 };

static int smaller(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < argc; ++i) {
    const long bytes = atol(argv[i]), count = bytes / (long)sizeof(float);
    long repeats = kBatchBytes / bytes;
    repeats = repeats < 1 ? 1 : repeats > kMostRepeats ? kMostRepeats : repeats;
    float* const data = malloc((size_t)bytes);
    for (long at = 0; at < count; ++at) data[at] = 0;
    double seconds[kRounds];
    for (int round = 0; round < kRounds; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      for (long repeat = 0; repeat < repeats; ++repeat)
        MPI_Allreduce(MPI_IN_PLACE, data, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      seconds[round] = (MPI_Wtime() - begin) / (double)repeats;
    }
    qsort(seconds, kRounds, sizeof *seconds, smaller);
    if (rank == 0) printf("%ld %.9f\n", bytes, seconds[kRounds / 2]);
    free(data);
  }
  MPI_Finalize();
  return 0;
}
