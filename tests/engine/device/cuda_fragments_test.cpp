// Combines the index maps of engine/device/cuda/fragments.h as matrix_units.cuh does, with ldmatrix and
// mma.m16n8k16 simulated on the host by their definitions in the PTX manual. The result is the product.
#include "engine/device/cuda/fragments.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>
#include <vector>

namespace shardlens::cuda {
namespace cuda_fragments_test {

constexpr int kLanes = 32;
using Pair = std::array<int, 2>;  // a register with two 16-bit numbers
using Registers = std::array<std::array<Pair, 4>, kLanes>;
using Sums = std::array<std::array<int, 4>, kLanes>;

struct Matrix {
  int rows, cols;
  std::vector<int> values = std::vector<int>(static_cast<size_t>(rows * cols));

  int& at(int row, int col) { return values[static_cast<size_t>(row * cols + col)]; }
  int at(int row, int col) const { return values[static_cast<size_t>(row * cols + col)]; }
};

Matrix random_matrix(int rows, int cols, unsigned seed) {
  Matrix matrix{rows, cols};
  std::mt19937 generator(seed);
  for (int& value : matrix.values) value = static_cast<int>(generator() % 19) - 9;
  return matrix;
}

// Lane 8m + r points at row r of matrix m, eight numbers long. A lane receives, of each matrix, the numbers
// 2 (lane % 4) and the next of row lane / 4; transposed, of that column.
Registers load_matrices(const Matrix& memory, const std::function<FragmentPlace(int)>& pointed,
                        bool transposed) {
  Registers registers{};
  for (int lane = 0; lane < kLanes; ++lane)
    for (int m = 0; m < 4; ++m)
      for (int i = 0; i < 2; ++i) {
        const int row = transposed ? lane % 4 * 2 + i : lane / 4,
                  col = transposed ? lane / 4 : lane % 4 * 2 + i;
        const FragmentPlace first = pointed(8 * m + row);
        registers[static_cast<size_t>(lane)][static_cast<size_t>(m)][static_cast<size_t>(i)] =
            memory.at(first.row, first.col + col);
      }
  return registers;
}

// Left: register i has rows lane / 4 (+ 8 for odd i) and places 2 (lane % 4) and the next (+ 8 for i of 2, 3)
// of the sum. Right: register i has column lane / 4 and the same places (+ 8 for i = 1).
void multiply_add(Sums& sums, const Registers& left, const Registers& right, size_t low, size_t high) {
  Matrix a{16, 16}, b{16, 8};
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < 2; ++i) {
      const int place = lane % 4 * 2 + i;
      const auto l = static_cast<size_t>(lane), at = static_cast<size_t>(i);
      a.at(lane / 4, place) = left[l][0][at];
      a.at(lane / 4 + 8, place) = left[l][1][at];
      a.at(lane / 4, place + 8) = left[l][2][at];
      a.at(lane / 4 + 8, place + 8) = left[l][3][at];
      b.at(place, lane / 4) = right[l][low][at];
      b.at(place + 8, lane / 4) = right[l][high][at];
    }
  for (int lane = 0; lane < kLanes; ++lane)
    for (int e = 0; e < 4; ++e)
      for (int k = 0; k < 16; ++k)
        sums[static_cast<size_t>(lane)][static_cast<size_t>(e)] +=
            a.at(lane / 4 + e / 2 * 8, k) * b.at(k, lane % 4 * 2 + e % 2);
}

TEST(CudaFragments, RowsByRowsIsAProductWithTheTransposed) {
  const Matrix a = random_matrix(16, 16, 1), b = random_matrix(16, 16, 2);
  const Registers left = load_matrices(a, left_place, false), right = load_matrices(b, right_place, false);
  for (const int tile : {0, 1}) {
    Sums sums{};
    multiply_add(sums, left, right, tile == 0 ? 0 : 2, tile == 0 ? 1 : 3);
    for (int lane = 0; lane < kLanes; ++lane)
      for (int e = 0; e < 4; ++e) {
        const FragmentPlace place = result_place(lane, e);
        int expected = 0;
        for (int k = 0; k < 16; ++k) expected += a.at(place.row, k) * b.at(8 * tile + place.col, k);
        EXPECT_EQ(sums[static_cast<size_t>(lane)][static_cast<size_t>(e)], expected) << tile << lane << e;
      }
  }
}

TEST(CudaFragments, ABlockOfSumsByRowsIsAProduct) {
  const Matrix block = random_matrix(16, 16, 3), b = random_matrix(16, 16, 4);
  Registers left{};
  for (int lane = 0; lane < kLanes; ++lane)
    for (int k = 0; k < 2; ++k)  // tiles of 8 columns, as two products left them
      for (int e = 0; e < 4; ++e) {
        const FragmentPlace place = result_place(lane, e);
        left[static_cast<size_t>(lane)][static_cast<size_t>(2 * k + e / 2)][static_cast<size_t>(e % 2)] =
            block.at(place.row, 8 * k + place.col);
      }
  const Registers right = load_matrices(b, right_transposed_place, true);
  for (const int tile : {0, 1}) {
    Sums sums{};
    multiply_add(sums, left, right, tile == 0 ? 0 : 2, tile == 0 ? 1 : 3);
    for (int lane = 0; lane < kLanes; ++lane)
      for (int e = 0; e < 4; ++e) {
        const FragmentPlace place = result_place(lane, e);
        int expected = 0;
        for (int k = 0; k < 16; ++k) expected += block.at(place.row, k) * b.at(k, 8 * tile + place.col);
        EXPECT_EQ(sums[static_cast<size_t>(lane)][static_cast<size_t>(e)], expected) << tile << lane << e;
      }
  }
}

}  // namespace cuda_fragments_test
}  // namespace shardlens::cuda
