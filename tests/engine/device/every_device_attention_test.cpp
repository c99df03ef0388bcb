// Attention on every device of this machine: forward and backward, with and without a kept P, with and
// without a cache, against the CPU in fp64 on the same numbers.
#include <gtest/gtest.h>

#include "tests/engine/device/on_device.h"
#include "tests/engine/device/subjects.h"
#include "tests/engine/device/token_steps.h"

namespace shardlens {
namespace every_device_attention_test {

constexpr DType kDTypes[] = {DType::Fp32, DType::Fp64, DType::Bf16, DType::Fp16};

class EveryDeviceAttention : public SubjectTest {};
INSTANTIATE_TEST_SUITE_P(Devices, EveryDeviceAttention, ::testing::ValuesIn(subjects()), subject_name);

/// What a call of attention is about, beside its dtype.
struct Case {
  int64_t batch, seq, heads, head_dim;
  bool causal = false, recompute = false, masked = false;
  double dropout = 0;
  KeyHeads keys = {};         ///< heads = 0: queries are not grouped
  bool hides_nobody = false;  ///< of a mask
  int64_t only_key = -1;      ///< of a mask: the only key of a sequence that may be seen; -1: several
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.batch << " x " << c.seq << ", " << c.heads << " heads of " << c.head_dim
       << (c.causal ? ", causal" : "") << (c.recompute ? ", recomputed" : "")
       << (c.masked ? c.hides_nobody ? ", masked by nothing" : ", masked" : "") << ", dropout " << c.dropout
       << ", " << c.keys.heads << " key heads";
}

/// Forward and backward pass of `c` on a device. Dropped: the places where P∘M is 0 are the seed's.
void attend(OnDevice& on, const Case& c, DType rounded) {
  const int64_t tokens = c.batch * c.seq, width = c.heads * c.head_dim;
  const bool grouped = c.keys.heads > 0;
  Attention op{.dtype = on.dtype, .batch = c.batch, .seq = c.seq, .heads = c.heads};
  op.head_dim = c.head_dim;
  op.causal = c.causal;
  op.recompute = c.recompute;
  if (c.masked) {
    std::vector<int32_t> mask;
    for (int64_t i = 0; i < tokens; ++i)
      mask.push_back(c.hides_nobody    ? 1
                     : c.only_key >= 0 ? i % c.seq == c.only_key
                     : i / c.seq == 1  ? 0
                                       : i % 4 != 1);  // else one sees nobody
    op.mask = on.in_ids(mask);
  }
  if (c.dropout > 0) {
    op.dropout = {c.dropout, 11, 0xABCDEF};
    op.all_heads = 3 * c.heads;
    op.first_head = c.heads;
    op.first_token = 2 * tokens;
  }
  if (grouped) {
    op.kv = on.in(normal_in(rounded, tokens * 2 * c.keys.heads * c.head_dim, 2));
    op.keys = c.keys;
  }
  op.qkv = on.in(normal_in(rounded, tokens * (grouped ? 1 : 3) * width, 1));
  const int64_t work = attention_workspace_elements(on.dtype, c.seq, c.head_dim);
  op.workspace = on.put(on.wide(), Numbers(static_cast<size_t>(work), NAN));
  op.saved =
      c.recompute ? on.out_wide("statistics", tokens * c.heads * 2) : on.out("P", tokens * c.heads * c.seq);
  op.context = on.out("C", tokens * width);
  on.device.attention(op);
  AttentionGrad grad{.forward = op};
  if (grouped) grad.dkv = on.out("dKV", tokens * 2 * c.keys.heads * c.head_dim);
  grad.dcontext = on.in(normal_in(rounded, tokens * width, 3));
  grad.dqkv = on.out("dQKV", tokens * (grouped ? 1 : 3) * width);
  on.device.attention_grad(grad);
}

const Case kCases[] = {
    {1, 1, 1, 1},
    {2, 3, 3, 8, true},
    {1, 17, 2, 64, true, true},
    {2, 65, 2, 16, false, false, true},
    {2, 70, 3, 24, true, true, false, 0.3},
    {2, 70, 2, 5, true, false, false, 0.3},
    {2, 33, 2, 64, false, true, true, 0.2},
    {1, 150, 2, 96, true, true},
    {1, 150, 1, 128, true, false},
    {1, 129, 2, 128, false, true},
    {1, 40, 2, 256, true, true},
    {1, 40, 2, 200, false, false},
    {2, 50, 5, 32, true, true, false, 0, {3, 2, 1}},
    {2, 50, 4, 64, true, false, false, 0.1, {2, 2, 0}},
    {1, 20, 2, 16, true, false, false, 0, {4, 2, 3}},  // the first key head and the last one are read by
                                                       // nobody
    {2, 10, 0, 8, true},
    {2, 10, 0, 8, true, true, false, 0, {1, 2, 0}},
    {0, 10, 2, 8},
};

// Beside its own rounding a result has that of what 16-bit matrix units are fed with: P, and dS.
TEST_P(EveryDeviceAttention, MatchesTheCpu) {
  for (const DType dtype : kDTypes)
    for (const Case& c : kCases) {
      const Tolerance tolerance{64 + 4 * std::sqrt(static_cast<double>(c.seq + c.head_dim)), 4, false, 1e-3};
      EXPECT_TRUE(agree(dtype, tolerance, [&](OnDevice& on) { attend(on, c, dtype); }))
          << ::testing::PrintToString(c);
    }
}

// The probability of the only key is 1 whatever its score is. So the scores get no gradient at all, and not
// rounding errors, of which Adam would make whole steps.
TEST_P(EveryDeviceAttention, WhereAQueryHasOneKeyQAndKGetExactlyNoGradient) {
  constexpr int64_t kSeq = 70, kOnly = 37;
  for (const DType dtype : kDTypes)
    for (const bool recompute : {false, true})
      for (const double dropout : {0.0, 0.3})
        for (const int64_t head_dim : {16, 64}) {
          const auto numbers = [&](Case c, const char* name) {
            c.recompute = recompute;
            c.dropout = dropout;
            for (const Output& output :
                 operate(device(), dtype, 0, [&](OnDevice& on) { attend(on, c, dtype); }))
              if (output.name == name) return output.numbers();
            return Numbers();
          };
          const auto largest = [](const Numbers& values, int64_t begin, int64_t end) {
            double most = 0;
            for (int64_t i = begin; i < end; ++i)
              most = std::max(most, std::abs(values[static_cast<size_t>(i)]));
            return most;
          };
          const int64_t row = 2 * head_dim;  // of Q, of K and of V; a token has the three
          const auto where = [&](const Case& c) {
            return ::testing::PrintToString(c) + " in " + to_string(dtype);
          };
          for (const Case& c : {Case{2, 1, 2, head_dim}, Case{2, 1, 2, head_dim, true},
                                Case{2, kSeq, 2, head_dim, false, false, true, 0, {}, false, kOnly}}) {
            const Numbers dqkv = numbers(c, "dQKV");
            double of_v = 0;
            for (int64_t token = 0; token < c.batch * c.seq; ++token) {
              EXPECT_EQ(largest(dqkv, token * 3 * row, (token * 3 + 2) * row), 0) << where(c) << token;
              of_v = std::max(of_v, largest(dqkv, (token * 3 + 2) * row, (token * 3 + 3) * row));
            }
            EXPECT_GT(of_v, 0.1) << where(c);
          }
          // The first query of a causal head; with one key that may be seen, all queries from it on.
          for (const bool masked : {false, true}) {
            const Case c{1, kSeq, 2, head_dim, true, false, masked, 0, {}, false, masked ? kOnly : -1};
            const Numbers dqkv = numbers(c, "dQKV");
            for (int64_t token = 0; token < kSeq; ++token) {
              const bool one = token == 0 || (masked && token >= kOnly);
              EXPECT_EQ(largest(dqkv, token * 3 * row, (token * 3 + 1) * row) == 0, one) << where(c) << token;
            }
          }
          const Case grouped{1, 1, 4, head_dim, true, false, false, 0, {2, 2, 0}};
          EXPECT_EQ(largest(numbers(grouped, "dQKV"), 0, 4 * head_dim), 0) << where(grouped);
          EXPECT_EQ(largest(numbers(grouped, "dKV"), 0, 2 * head_dim), 0) << where(grouped);
        }
}

// Not keeping P saves its memory and costs no bit, where P is kept as it was computed.
TEST_P(EveryDeviceAttention, GivesTheSameBitsWhetherPIsKeptOrNot) {
  for (const DType dtype : {DType::Fp32, DType::Fp64})
    for (Case c : kCases) {
      c.recompute = false;
      const Outputs kept = operate(device(), dtype, 0, [&](OnDevice& on) { attend(on, c, dtype); });
      c.recompute = true;
      const Outputs computed = operate(device(), dtype, 0, [&](OnDevice& on) { attend(on, c, dtype); });
      ASSERT_EQ(kept.size(), computed.size());
      for (size_t i = 1; i < kept.size(); ++i)  // all but what is saved
        EXPECT_EQ(kept[i].bytes, computed[i].bytes) << kept[i].name << " " << ::testing::PrintToString(c);
    }
}

// A GPU has kernels that are compiled without mask and dropout for calls that ask for neither.
TEST_P(EveryDeviceAttention, AMaskThatHidesNobodyChangesNoBit) {
  for (const DType dtype : {DType::Bf16, DType::Fp16})
    for (Case c : {Case{2, 70, 2, 64, true}, Case{1, 150, 1, 96, true}, Case{1, 129, 1, 128, false},
                   Case{2, 50, 5, 32, true, false, false, 0, {3, 2, 1}}}) {
      c.recompute = c.hides_nobody = true;
      const Outputs plain = operate(device(), dtype, 0, [&](OnDevice& on) { attend(on, c, dtype); });
      c.masked = true;
      const Outputs masked = operate(device(), dtype, 0, [&](OnDevice& on) { attend(on, c, dtype); });
      ASSERT_EQ(plain.size(), masked.size());
      for (size_t i = 0; i < plain.size(); ++i)
        EXPECT_EQ(plain[i].bytes, masked[i].bytes) << plain[i].name << " " << ::testing::PrintToString(c);
    }
}

/// New tokens of `c` against a cache of `room`: c.seq of them a sequence, from `first` on.
void attend_to_cache(OnDevice& on, const Case& c, DType rounded, int64_t room, int64_t first, bool broken) {
  const bool grouped = c.keys.heads > 0;
  const int64_t tokens = c.batch * c.seq, key_heads = grouped ? c.keys.heads : c.heads;
  CacheShape shape{.dtype = on.dtype, .batch = c.batch, .seq = c.seq, .room = room, .heads = c.heads};
  shape.head_dim = c.head_dim;
  std::vector<int32_t> positions;
  for (int64_t i = 0; i < tokens; ++i)
    positions.push_back(static_cast<int32_t>(first + i / c.seq + i % c.seq));  // each sequence further on
  if (broken) positions.back() += 1;
  shape.positions = on.in_ids(positions);
  shape.grouped = grouped;
  shape.keys = grouped ? c.keys : KeyHeads{c.heads, 1, 0};
  const int64_t cache = c.batch * room * key_heads * c.head_dim;
  void* keys = on.in_out(on.dtype, "keys", normal_in(rounded, cache, 5));
  void* values = on.in_out(on.dtype, "values", normal_in(rounded, cache, 6));
  const int64_t parts = grouped ? 2 : 3;
  void* fresh = on.in(normal_in(rounded, tokens * parts * key_heads * c.head_dim, 7));
  on.device.cache_append({.shape = shape, .qkv = fresh, .keys = keys, .values = values});
  void* queries = grouped ? on.in(normal_in(rounded, tokens * c.heads * c.head_dim, 8)) : fresh;
  const int64_t work = attention_workspace_elements(on.dtype, room, c.head_dim);
  on.device.cached_attention({.shape = shape,
                              .qkv = queries,
                              .keys = keys,
                              .values = values,
                              .probs = on.out("P", tokens * c.heads * room),
                              .context = on.out("C", tokens * c.heads * c.head_dim),
                              .workspace = on.put(on.wide(), Numbers(static_cast<size_t>(work), NAN))});
}

TEST_P(EveryDeviceAttention, WithACacheMatchesTheCpu) {
  for (const DType dtype : kDTypes)
    for (const Case& c : {Case{1, 1, 2, 16}, Case{2, 3, 3, 8}, Case{3, 1, 2, 64}, Case{1, 70, 2, 5},
                          Case{2, 4, 5, 32, true, false, false, 0, {3, 2, 1}}, Case{2, 4, 0, 8}})
      for (const int64_t first : {0, 5}) {
        const Tolerance tolerance{64 + 4 * std::sqrt(static_cast<double>(90)), 4, false, 1e-3};
        EXPECT_TRUE(agree(dtype, tolerance, [&](OnDevice& on) {
          attend_to_cache(on, c, dtype, 80, first, false);
        })) << ::testing::PrintToString(c);
      }
}

/// Row `at` of every sequence's `seq` rows.
Numbers rows_at(const Numbers& all, int64_t batch, int64_t seq, int64_t at) {
  const auto width = static_cast<int64_t>(all.size()) / (batch * seq);
  Numbers rows;
  for (int64_t sequence = 0; sequence < batch; ++sequence) {
    const auto from = all.begin() + (sequence * seq + at) * width;
    rows.insert(rows.end(), from, from + width);
  }
  return rows;
}

/// C of all of `c`, which is causal: without a cache, or with one and a token at a time.
void attend_at_once(OnDevice& on, const Case& c, const Numbers& queries, const Numbers& kv) {
  const int64_t tokens = c.batch * c.seq, work = attention_workspace_elements(on.dtype, c.seq, c.head_dim);
  on.device.attention({.dtype = on.dtype,
                       .batch = c.batch,
                       .seq = c.seq,
                       .heads = c.heads,
                       .head_dim = c.head_dim,
                       .causal = true,
                       .keys = c.keys,
                       .qkv = on.in(queries),
                       .kv = on.in(kv),
                       .saved = on.in(Numbers(static_cast<size_t>(tokens * c.heads * c.seq))),
                       .context = on.out("C", tokens * c.heads * c.head_dim),
                       .workspace = on.put(on.wide(), Numbers(static_cast<size_t>(work), NAN))});
}
void attend_by_token(OnDevice& on, const Case& c, const Numbers& queries, const Numbers& kv) {
  const int64_t room = c.seq + 2;
  CacheShape shape{.dtype = on.dtype, .batch = c.batch, .seq = 1, .room = room, .heads = c.heads};
  shape.head_dim = c.head_dim;
  shape.grouped = true;
  shape.keys = c.keys;
  const Numbers nothing(static_cast<size_t>(c.batch * room * c.keys.heads * c.head_dim), NAN);
  void *keys = on.in(nothing), *values = on.in(nothing);
  const int64_t work = attention_workspace_elements(on.dtype, room, c.head_dim);
  void* workspace = on.put(on.wide(), Numbers(static_cast<size_t>(work), NAN));
  void* probs = on.in(Numbers(static_cast<size_t>(c.batch * c.heads * room)));
  for (int64_t at = 0; at < c.seq; ++at) {
    const std::vector<int32_t> positions(static_cast<size_t>(c.batch), static_cast<int32_t>(at));
    shape.positions = on.in_ids(positions);
    on.device.cache_append(
        {.shape = shape, .qkv = on.in(rows_at(kv, c.batch, c.seq, at)), .keys = keys, .values = values});
    on.device.cached_attention({.shape = shape,
                                .qkv = on.in(rows_at(queries, c.batch, c.seq, at)),
                                .keys = keys,
                                .values = values,
                                .probs = probs,
                                .context = on.out("C of a token", c.batch * c.heads * c.head_dim),
                                .workspace = workspace});
  }
}

// Heads lie side by side in a cache: one taken for another is the same mistake in every dtype, and shows
// beside a pass without a cache.
TEST_P(EveryDeviceAttention, ATokenAtATimeIsTheWholeSequenceAtOnce) {
  for (const DType dtype : kDTypes)
    for (const Case& c : {Case{2, 9, 3, 8, true, false, false, 0, {3, 1, 0}},
                          Case{1, 9, 70, 4, true, false, false, 0, {70, 1, 0}},
                          Case{3, 9, 5, 32, true, false, false, 0, {3, 2, 1}}}) {
      const int64_t tokens = c.batch * c.seq;
      const Numbers queries = normal_in(dtype, tokens * c.heads * c.head_dim, 1),
                    kv = normal_in(dtype, tokens * 2 * c.keys.heads * c.head_dim, 2);
      Output whole = operate(*make_cpu_device(1), DType::Fp64, 0, [&](OnDevice& on) {
                       attend_at_once(on, c, queries, kv);
                     }).front();
      const Outputs by_token =
          operate(device(), dtype, 0, [&](OnDevice& on) { attend_by_token(on, c, queries, kv); });
      const Tolerance tolerance{64 + 4 * std::sqrt(static_cast<double>(90)), 4, false, 1e-3};
      for (int64_t at = 0; at < c.seq; ++at) {
        const Output expected{"", DType::Fp64,
                              encode(DType::Fp64, rows_at(whole.numbers(), c.batch, c.seq, at))};
        EXPECT_TRUE(is_near(by_token[static_cast<size_t>(at)], expected, dtype, tolerance))
            << to_string(dtype) << ", token " << at << ", " << ::testing::PrintToString(c);
      }
    }
}

TEST_P(EveryDeviceAttention, OfATokenMatchesTheCpuAndHasTheBitsOfItsParts) {
  for (const DType dtype : kDTypes)
    for (TokenCase c : kTokenCases) {
      const Tolerance tolerance{64 + 4 * std::sqrt(static_cast<double>(c.room)), 4, false, 1e-3};
      EXPECT_TRUE(agree(dtype, tolerance, [&](OnDevice& on) { attend_token(on, c); }))
          << ::testing::PrintToString(c);
      const Outputs parts = attend_token(device(), dtype, 0, c);
      c.one_call = true;
      EXPECT_TRUE(same(attend_token(device(), dtype, 0, c), parts))
          << to_string(dtype) << " " << ::testing::PrintToString(c);
    }
}

// At once or when the device is waited for; and then all is well again.
TEST_P(EveryDeviceAttention, WrongPositionsInACacheAreReported) {
  const Case c{2, 3, 2, 8};
  const auto message = [&](int64_t first, bool broken) {
    try {
      operate(device(), DType::Fp32, 0,
              [&](OnDevice& on) { attend_to_cache(on, c, DType::Fp32, 10, first, broken); });
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(2, false), "");
  EXPECT_NE(message(7, false).find("have no room in a cache of 10"), std::string::npos) << message(7, false);
  EXPECT_NE(message(-1, false).find("have no room"), std::string::npos);
  EXPECT_NE(message(2, true).find("does not follow position"), std::string::npos) << message(2, true);
  EXPECT_EQ(message(2, false), "");
}

}  // namespace every_device_attention_test
}  // namespace shardlens
