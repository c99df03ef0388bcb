// A prediction of how long a matrix product takes on a GPU, from its shape, its tiles and the number of
// multiprocessors. It decides in how many parts a sum over a long k is cut (gemm.cu). Times would differ from
// rank to rank and from run to run; this is the same everywhere, so the bits are too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device/cuda/places.h"

namespace shardlens::cuda {

/// C [rows, cols] is cut in tiles of tile_rows · tile_cols, and the sum over `depth` in `parts`. A
/// multiprocessor computes one part of one tile at a time.
struct ProductCut {
  int64_t tile_rows, tile_cols, parts;
};

struct TiledProduct {
  int64_t rows, cols, depth;
  int64_t multiprocessors;

  int64_t tiles(const ProductCut& cut) const {
    return pieces(rows, cut.tile_rows) * pieces(cols, cut.tile_cols) * cut.parts;
  }

  /// How often every multiprocessor has a tile. In the last wave some of them may have none.
  int64_t waves(const ProductCut& cut) const { return pieces(tiles(cut), multiprocessors); }

  /// The predicted time, in multiplications of one multiprocessor. The constants are those of the matrix
  /// units of an H100 in 16 bits, with 2,048 multiplications a clock; an A100's shares are similar.
  double predicted(const ProductCut& cut) const {
    // 64 bytes a clock come from the cache, so one element takes as long as this. Small tiles load more.
    constexpr double kOfLoad = 64;
    // A part's sums are written to memory in fp32 and read again: 8 bytes of the 11 a clock that a
    // multiprocessor has of the memory.
    constexpr double kOfPart = 1536;
    const auto height = static_cast<double>(cut.tile_rows), width = static_cast<double>(cut.tile_cols);
    const auto terms = static_cast<double>(pieces(depth, cut.parts));
    const double products =
        static_cast<double>(waves(cut)) * terms * (height * width + kOfLoad * (height + width));
    if (cut.parts == 1) return products;
    const auto sums = static_cast<double>(rows * cols * cut.parts) / static_cast<double>(multiprocessors);
    return products + kOfPart * sums;
  }

  /// The place of the cut that is taken among those offered: the first one, or the fastest if that is clearly
  /// faster. A cut that is not known is never taken, and if the first one is not known, it stays.
  size_t choice(const std::vector<std::optional<ProductCut>>& offered) const {
    constexpr double kClearlyFaster =
        0.95;  // smaller differences are less than what the prediction leaves out
    if (offered.empty() || !offered.front()) return 0;
    size_t best = 0;
    double to_beat = kClearlyFaster * predicted(*offered.front());
    for (size_t i = 1; i < offered.size(); ++i) {
      if (!offered[i] || predicted(*offered[i]) >= to_beat) continue;
      best = i;
      to_beat = predicted(*offered[i]);
    }
    return best;
  }
};

}  // namespace shardlens::cuda
