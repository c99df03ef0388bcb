// Chooses the tokens of a BERT sample that are hidden.
#include "engine/train/data/masking.h"

#include <algorithm>
#include <numeric>

namespace shardlens {
namespace {

constexpr int32_t kLongestWord = 8;  // tokens

bool is_apart(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool letter_or_digit = (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
  return byte < 0x80 && !letter_or_digit;
}

// p(n) proportional to 1/n: 6, 3 and 2 elevenths.
int32_t draw_gram(Draws& draws) {
  const uint32_t eleventh = draws.below(11);
  return eleventh < 6 ? 1 : eleventh < 9 ? 2 : 3;
}

}  // namespace

WordStarts::WordStarts(const Tokenizer& tokenizer) {
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string piece = tokenizer.piece(id);
    begins_apart_.push_back(piece.empty() || is_apart(piece.front()));
    ends_apart_.push_back(piece.empty() || is_apart(piece.back()));
  }
}

std::vector<int32_t> WordStarts::of(std::span<const int32_t> tokens) const {
  std::vector<int32_t> starts;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto at = static_cast<int32_t>(i);
    if (i == 0 || begins_apart_[static_cast<size_t>(tokens[i])] ||
        ends_apart_[static_cast<size_t>(tokens[i - 1])] || at - starts.back() == kLongestWord)
      starts.push_back(at);
  }
  return starts;
}

std::vector<MaskedSpan> choose_spans(const std::vector<int32_t>& word_starts, int32_t tokens, int32_t budget,
                                     Draws& draws) {
  const size_t words = word_starts.size();
  const auto begin_of = [&](size_t word) { return word < words ? word_starts[word] : tokens; };
  std::vector<size_t> order(words);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<bool> taken(words);
  std::vector<MaskedSpan> spans;
  for (size_t i = 0; i < words && budget > 0; ++i) {
    std::swap(order[i], order[i + draws.below(static_cast<uint32_t>(words - i))]);
    const size_t first = order[i];
    size_t last = first;  // one past the words that fit
    for (int32_t room = draw_gram(draws); room > 0; --room, ++last) {
      if (last == words || taken[last] || begin_of(last + 1) - begin_of(first) > budget) break;
    }
    if (last == first) continue;
    std::fill(taken.begin() + static_cast<int64_t>(first), taken.begin() + static_cast<int64_t>(last), true);
    spans.push_back({begin_of(first), begin_of(last) - begin_of(first), static_cast<int32_t>(last - first)});
    budget -= spans.back().count;
  }
  return spans;
}

}  // namespace shardlens
