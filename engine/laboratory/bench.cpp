// Draws, cuts and joins matrices.
#include "engine/laboratory/bench.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "engine/device/philox.h"

namespace shardlens::lab {
namespace {

constexpr uint64_t kSeed = 1;

}  // namespace

Numbers rows_of(const Numbers& numbers, Range range) {
  Numbers part(range.size(), numbers.cols);
  std::copy_n(numbers.data() + range.begin * numbers.cols, part.count(), part.data());
  return part;
}

Numbers cols_of(const Numbers& numbers, Range range) {
  Numbers part(numbers.rows, range.size());
  for (int64_t row = 0; row < numbers.rows; ++row)
    std::copy_n(numbers.data() + row * numbers.cols + range.begin, range.size(),
                part.data() + row * part.cols);
  return part;
}

std::string to_string(Joined joined) {
  switch (joined) {
    case Joined::Summed:
      return "summed";
    case Joined::Largest:
      return "the largest of each";
    case Joined::Rows:
      return "one below the other";
    case Joined::Columns:
      return "side by side";
    case Joined::Alike:
      break;
  }
  return "the same on every rank";
}

Bench::Bench(int ranks) : ranks_(ranks), device_(make_cpu_device(1)) {
  for (int rank = 0; rank < ranks; ++rank)
    shares_.push_back(drawn("share of rank " + std::to_string(rank), kTokens, kHidden));
  x_ = joined(shares_, Joined::Summed);
}

Numbers Bench::held(Layout layout, int rank) const {
  switch (layout.kind) {
    case LayoutKind::Replicated:
      return x_;
    case LayoutKind::Partial:
      return shares_[static_cast<size_t>(rank)];
    case LayoutKind::Sharded:
      break;
  }
  return layout.dim == 0 ? rows_of(x_, token_range(rank)) : cols_of(x_, column_range(rank));
}

Numbers Bench::drawn(std::string_view name, int64_t rows, int64_t cols) const {
  Numbers numbers(rows, cols);
  fill_normal(RandomStream(kSeed, name), 0, 1, 0, numbers.count(), DType::Fp32, numbers.data());
  return numbers;
}

Numbers Bench::sum(const Numbers& a, const Numbers& b) const {
  Numbers y(a.rows, a.cols);
  device().add(DType::Fp32, a.count(), a.data(), b.data(), y.data());
  return y;
}

Numbers Bench::scaled(Numbers numbers, float factor) {
  for (float& value : numbers.values) value *= factor;
  return numbers;
}

Numbers Bench::joined(const std::vector<Numbers>& results, Joined how) const {
  Numbers all = results.front();
  for (size_t rank = 1; rank < results.size(); ++rank) {
    const Numbers& next = results[rank];
    switch (how) {
      case Joined::Summed:
        all = sum(all, next);
        break;
      case Joined::Largest:
        std::transform(all.values.begin(), all.values.end(), next.values.begin(), all.values.begin(),
                       [](float a, float b) { return std::max(a, b); });
        break;
      case Joined::Rows:
        all.values.insert(all.values.end(), next.values.begin(), next.values.end());
        all.rows += next.rows;
        break;
      case Joined::Columns: {
        Numbers wider(all.rows, all.cols + next.cols);
        for (int64_t row = 0; row < all.rows; ++row) {
          std::copy_n(all.data() + row * all.cols, all.cols, wider.data() + row * wider.cols);
          std::copy_n(next.data() + row * next.cols, next.cols, wider.data() + row * wider.cols + all.cols);
        }
        all = wider;
        break;
      }
      case Joined::Alike:
        break;  // run() compares every rank's
    }
  }
  return all;
}

}  // namespace shardlens::lab
