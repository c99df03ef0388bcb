// A form of file that the program reads, with ways to damage it. Its readers must survive each of them.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace shardlens::fuzz {

using Random = std::mt19937_64;

inline uint64_t below(Random& random, uint64_t limit) {
  return limit == 0 ? 0 : random() % limit;
}

template <class List>
const auto& one_of(Random& random, const List& list) {
  return list[below(random, std::size(list))];
}

/// Values that are likely to stand at somebody's limit.
inline constexpr std::array<int64_t, 23> kNumbers{0,
                                                  1,
                                                  -1,
                                                  2,
                                                  7,
                                                  127,
                                                  128,
                                                  255,
                                                  256,
                                                  4096,
                                                  32767,
                                                  65536,
                                                  INT32_MAX,
                                                  INT32_MIN,
                                                  UINT32_MAX,
                                                  int64_t{1} << 32,
                                                  (int64_t{1} << 32) + 1,
                                                  int64_t{1} << 53,
                                                  int64_t{1} << 60,
                                                  1'000'000'000'000,
                                                  INT64_MAX,
                                                  INT64_MIN,
                                                  INT64_MAX - 1};

class Form {
 public:
  virtual ~Form() = default;
  virtual std::string name() const = 0;
  /// Puts a sound file, or several that belong together, into the empty `folder`, and damages them. Returns
  /// what was done, in words.
  virtual std::string damage(const std::string& folder, Random& random) = 0;
  /// Runs every reader on what damage() left.
  virtual void read(const std::string& folder) = 0;
};

/// Recordings: damaged copies of the sound ones at `paths`.
std::unique_ptr<Form> recordings(const std::vector<std::string>& paths);

/// All other forms. What they begin with comes from tests/data, or is made in `scratch`.
std::vector<std::unique_ptr<Form>> files(const std::string& scratch);

}  // namespace shardlens::fuzz
