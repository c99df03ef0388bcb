// Makes the samples that BERT trains on.
#include "engine/train/data/bert_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/config/error.h"
#include "engine/train/data/windows.h"

namespace shardlens {
namespace {

constexpr int64_t kSpecialsPerRow = 3;
constexpr int64_t kShortestStretch = 16, kShortestRow = 16;
constexpr double kMaskedShare = 0.15;
constexpr uint32_t kSamplePurpose = 0x42455254;  // separates its draws from those of the epochs' orders

int32_t require_special(const Tokenizer& tokenizer, const char* name) {
  if (const auto id = tokenizer.special(name)) return *id;
  throw request_error(
      fmt::format("the tokenizer {} has no {}, which BERT's samples need; prepare the corpus with BERT's "
                  "WordPiece (vocab.txt, or wordpiece:N to learn one)",
                  tokenizer.name(), name));
}

// What replaces the tokens of a masked span.
enum class Shown { Mask, Random, Itself };

Shown draw_shown(Draws& draws) {
  const double u = draws.uniform();
  return u < 0.8 ? Shown::Mask : u < 0.9 ? Shown::Random : Shown::Itself;
}

}  // namespace

BertSamples::BertSamples(std::shared_ptr<const TokenFile> file, const Tokenizer& tokenizer, int64_t seq,
                         uint64_t seed)
    : file_(std::move(file)),
      word_starts_(tokenizer),
      seq_(seq),
      seed_(seed),
      classify_(require_special(tokenizer, "[CLS]")),
      separator_(require_special(tokenizer, "[SEP]")),
      mask_(require_special(tokenizer, "[MASK]")),
      pad_(require_special(tokenizer, "[PAD]")) {
  file_->require(tokenizer);
  if (seq < kShortestRow)
    throw request_error(fmt::format("a sequence of {} is too short for BERT's samples; choose at least {}",
                                    seq, kShortestRow));
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.piece(id).empty()) ordinary_.push_back(id);
  }
  const int64_t whole = seq - kSpecialsPerRow;
  for (int64_t document = 0; document < file_->documents(); ++document) {
    int64_t begin = file_->document_begin(document), end = file_->document_begin(document + 1);
    int32_t last = 0;
    if (end > begin) file_->read(end - 1, 1, &last);
    if (end > begin && tokenizer.end_of_text() == last) --end;
    for (; end - begin >= std::min(whole, kShortestStretch); begin += whole)
      stretches_.push_back({begin, static_cast<int32_t>(std::min(whole, end - begin))});
  }
  if (stretches_.empty())
    throw request_error(fmt::format("{} has no document of at least {} tokens; give more text", file_->name(),
                                    std::min(whole, kShortestStretch)));
}

void BertSamples::append_sample(uint64_t index, Batch& out) const {
  const auto count = static_cast<uint64_t>(stretches_.size());
  const Stretch& stretch = stretches_[shuffled(index % count, count, seed_, index / count)];
  std::vector<int32_t> tokens(static_cast<size_t>(stretch.count));
  file_->read(stretch.begin, stretch.count, tokens.data());
  Draws draws(seed_, kSamplePurpose, index);

  // Two parts, each at least a quarter of the stretch minus one word.
  const std::vector<int32_t> words = word_starts_.of(tokens);
  const auto quarter = static_cast<uint32_t>(stretch.count / 4);
  const auto place =
      static_cast<int32_t>(quarter + draws.below(static_cast<uint32_t>(stretch.count) - 2 * quarter));
  const auto word = std::lower_bound(words.begin(), words.end(), std::max(place, 1));
  const int32_t cut = word == words.end() ? std::max(place, 1) : *word;
  const std::span<const int32_t> all(tokens);
  std::span<const int32_t> parts[2] = {all.first(static_cast<size_t>(cut)),
                                       all.subspan(static_cast<size_t>(cut))};
  const bool swap = draws.below(2) == 1;
  if (swap) std::swap(parts[0], parts[1]);

  // The row, with nothing hidden yet.
  const size_t begin = out.tokens.size(), row = static_cast<size_t>(seq_);
  out.tokens.resize(begin + row, pad_);
  out.labels.resize(begin + row, kIgnoredLabel);
  out.token_types.resize(begin + row, 0);
  out.attention_mask.resize(begin + row, 0);
  out.sentence_labels.push_back(swap ? kSwapped : kInOrder);
  size_t at = begin;
  const auto put = [&](int32_t id, int32_t type) {
    out.tokens[at] = id;
    out.token_types[at] = type;
    out.attention_mask[at++] = 1;
  };
  put(classify_, 0);
  size_t part_begin[2];
  for (int32_t part = 0; part < 2; ++part) {
    part_begin[part] = at;
    for (const int32_t id : parts[part]) put(id, part);
    put(separator_, part);
  }

  // 15 % of the tokens are hidden, divided between the parts by their lengths.
  const auto budget = std::max(1, static_cast<int32_t>(std::lround(kMaskedShare * stretch.count)));
  const auto first_budget = static_cast<int32_t>(
      std::lround(static_cast<double>(budget) * static_cast<double>(parts[0].size()) / stretch.count));
  for (int part = 0; part < 2; ++part) {
    const std::vector<int32_t> starts = word_starts_.of(parts[part]);
    const auto length = static_cast<int32_t>(parts[part].size());
    for (const MaskedSpan& span :
         choose_spans(starts, length, part == 0 ? first_budget : budget - first_budget, draws)) {
      const Shown shown = draw_shown(draws);
      for (int32_t i = 0; i < span.count; ++i) {
        const size_t target = part_begin[part] + static_cast<size_t>(span.begin + i);
        out.labels[target] = out.tokens[target];
        if (shown == Shown::Mask) out.tokens[target] = mask_;
        if (shown == Shown::Random)
          out.tokens[target] = ordinary_[draws.below(static_cast<uint32_t>(ordinary_.size()))];
      }
    }
  }
}

Batch BertSamples::rows(int64_t step, int64_t batch, int64_t first_row, int64_t rows) const {
  if (step < 0 || first_row < 0 || rows < 0 || first_row + rows > batch)
    throw std::logic_error("rows must be within the batch of a step");
  Batch out;
  for (int64_t row = 0; row < rows; ++row)
    append_sample(static_cast<uint64_t>(step * batch + first_row + row), out);
  return out;
}

}  // namespace shardlens
