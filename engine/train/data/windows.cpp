// Computes the rows that a training step reads.
#include "engine/train/data/windows.h"

#include <fmt/format.h>

#include <bit>
#include <stdexcept>

#include "engine/config/error.h"
#include "engine/device/philox.h"

namespace shardlens {

uint64_t shuffled(uint64_t position, uint64_t count, uint64_t seed, uint64_t round) {
  if (position >= count) throw std::logic_error("a position to shuffle must be in [0, count)");
  const int half = (std::bit_width(count - 1) + 1) / 2;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  do {
    uint64_t left = position >> half, right = position & mask;
    for (uint32_t feistel_round = 0; feistel_round < 4; ++feistel_round) {
      const auto word = philox4x32_10({static_cast<uint32_t>(right), feistel_round,
                                       static_cast<uint32_t>(round), static_cast<uint32_t>(round >> 32)},
                                      key);
      const uint64_t next = left ^ (word[0] & mask);
      left = right;
      right = next;
    }
    position = left << half | right;
  } while (position >= count);
  return position;
}

Windows::Windows(std::shared_ptr<const TokenFile> file, int64_t seq, std::optional<uint64_t> seed)
    : file_(std::move(file)), seq_(seq), count_(0), seed_(seed) {
  if (seq < 1) throw request_error(fmt::format("a sequence has at least 1 token, not {}", seq));
  count_ = (file_->tokens() - 1) / seq;
  if (count_ >= 1) return;
  if (file_->tokens() < 2)
    throw request_error(fmt::format("{} has {} tokens, but one row needs at least 2; give more text",
                                    file_->name(), file_->tokens()));
  throw request_error(fmt::format(
      "{} has {} tokens, but one row of sequence {} needs {}; choose a sequence of at most {}, or more "
      "text",
      file_->name(), file_->tokens(), seq, seq + 1, file_->tokens() - 1));
}

int64_t Windows::window_of(int64_t index) const {
  const int64_t epoch = index / count_, position = index % count_;
  if (!seed_) return position;
  return static_cast<int64_t>(shuffled(static_cast<uint64_t>(position), static_cast<uint64_t>(count_), *seed_,
                                       static_cast<uint64_t>(epoch)));
}

std::vector<int32_t> Windows::rows(int64_t step, int64_t batch, int64_t first_row, int64_t rows) const {
  if (step < 0 || first_row < 0 || rows < 0 || first_row + rows > batch)
    throw std::logic_error("rows must be within the batch of a step");
  std::vector<int32_t> out(static_cast<size_t>(rows * (seq_ + 1)));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t window = window_of(step * batch + first_row + row);
    file_->read(window * seq_, seq_ + 1, out.data() + row * (seq_ + 1));
  }
  return out;
}

}  // namespace shardlens
