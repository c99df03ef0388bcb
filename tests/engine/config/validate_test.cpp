// Which settings are refused, and that every error names the nearest choice that works.
#include "engine/config/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/base/error.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"

namespace shardlens {
namespace validate_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

template <class Check>
std::string error_of(const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
  return "no error";
}

// The message for the default settings with one thing changed.
template <class Change>
std::string refusal(const Change& change) {
  Settings settings;
  change(settings);
  return error_of([&] { validate(settings); });
}

TEST(Validate, DefaultsAndEveryPresetPass) {
  EXPECT_NO_THROW(validate_executable(Settings{}));
  for (const Model& model : model_presets()) {
    Settings settings;
    settings.model = model;
    for (const int tp : possible_degrees(model)) {
      settings.tp = tp;
      EXPECT_NO_THROW(validate(settings)) << model.name << " T = " << tp;
    }
  }
}

TEST(Validate, DegreesDivideTheHeads) {
  EXPECT_THAT(possible_degrees(Model{}), ElementsAre(1, 2, 3, 4, 6, 12));
  EXPECT_THAT(nearest_degrees(Model{}, Block::Layer, 5), ElementsAre(4, 6));
  EXPECT_THAT(nearest_degrees(Model{}, Block::Layer, 99), ElementsAre(12));
  EXPECT_THAT(nearest_degrees(Model{}, Block::Layer, -3), ElementsAre(1));
}

TEST(Validate, ImpossibleDegreesGetTheNearest) {
  EXPECT_EQ(refusal([](Settings& s) { s.tp = 5; }),
            "T = 5 is not possible: 12 heads are not divisible by 5. Try 4 or 6, or choose the heads policy "
            "uneven or "
            "padded.");
  EXPECT_EQ(refusal([](Settings& s) { s.tp = 16; }),
            "T = 16 is not possible: there are only 12 heads to share. Try 12, or choose the heads policy "
            "uneven or "
            "padded.");
  EXPECT_EQ(refusal([](Settings& s) { s.tp = 0; }),
            "T = 0 is not possible: there must be at least one rank. Try 1.");
  EXPECT_THAT(refusal([](Settings& s) { s.tp = std::numeric_limits<int>::min(); }), HasSubstr("Try 1."));
  EXPECT_THAT(refusal([](Settings& s) { s.tp = std::numeric_limits<int>::max(); }), HasSubstr("Try 12."));
  // 32 heads, T = 6.
  EXPECT_THAT(refusal([](Settings& s) {
                s.model = model_preset("megatron-8.3b");
                s.tp = 6;
              }),
              HasSubstr("Try 4 or 8, or choose the heads policy uneven or padded."));
}

TEST(Validate, HeadsThatTDoesNotDivideNeedAPolicy) {
  for (const Block block : {Block::Layer, Block::Attention, Block::Model}) {
    const auto of_policy = [&](HeadsPolicy policy, auto&& change) {
      return refusal([&](Settings& s) {
        s.block = block;
        s.heads_policy = policy;
        s.tp = 5;
        change(s);
      });
    };
    EXPECT_THAT(of_policy(HeadsPolicy::Strict, [](Settings&) {}), HasSubstr("Try 4 or 6, or choose"));
    EXPECT_EQ(of_policy(HeadsPolicy::Uneven, [](Settings&) {}), "no error");
    EXPECT_EQ(of_policy(HeadsPolicy::Padded, [](Settings&) {}), "no error");
    EXPECT_EQ(of_policy(HeadsPolicy::Uneven, [](Settings& s) { s.tp = 64; }), "no error");  // most hold none
    EXPECT_THAT(of_policy(HeadsPolicy::Uneven, [](Settings& s) { s.tp = 65; }), HasSubstr("Try 64."));
    // Zero heads are of a column cut and the row cut behind it.
    const auto reversed = [](Settings& s) { s.split = named_split("reversed"); };
    EXPECT_THAT(of_policy(HeadsPolicy::Padded, reversed), HasSubstr("Try split megatron"));
    EXPECT_THAT(of_policy(HeadsPolicy::Strict, reversed), HasSubstr("choose the heads policy uneven."));
  }
}

TEST(Validate, GroupedQueriesDivideByTheirKeyHeads) {
  const auto grouped = [](int64_t key_heads, int tp, HeadsPolicy policy = HeadsPolicy::Strict) {
    return refusal([&](Settings& s) {
      s.model.kv_heads = key_heads;
      s.tp = tp;
      s.heads_policy = policy;
    });
  };
  for (const int tp : {1, 2, 4, 12}) EXPECT_EQ(grouped(4, tp), "no error") << tp;
  Model model;
  model.kv_heads = 4;
  EXPECT_THAT(possible_degrees(model), ElementsAre(1, 2, 4, 12));
  EXPECT_EQ(
      grouped(4, 3),
      "T = 3 is not possible: 4 key heads are not divisible by 3. Try 2 or 4, or choose the heads policy "
      "uneven or padded.");
  EXPECT_THAT(grouped(4, 8),
              HasSubstr("12 heads are not divisible by 8. Try 4 or 12, or choose the heads policy uneven."));
  EXPECT_EQ(grouped(4, 8, HeadsPolicy::Uneven), "no error");
  EXPECT_THAT(grouped(4, 8, HeadsPolicy::Padded),
              HasSubstr("a zero head would read a key head that is not zero"));
  EXPECT_EQ(grouped(5, 1), "12 heads are not divisible by 5 key heads. Try 4 or 6 key heads.");
  EXPECT_THAT(grouped(13, 1), HasSubstr("key heads = 13"));
  EXPECT_THAT(grouped(-1, 1), HasSubstr("key heads = -1"));
}

TEST(Validate, AnMlpAloneNeedsNoHeads) {
  EXPECT_EQ(refusal([](Settings& s) {
              s.tp = 5;
              s.block = Block::Mlp;
            }),
            "no error");
  EXPECT_THAT(refusal([](Settings& s) {
                s.tp = 65;
                s.block = Block::Mlp;
              }),
              HasSubstr("Try 64."));
}

TEST(Validate, ZeroNegativeAndAbsurdSizes) {
  for (const int64_t bad :
       {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    const std::pair<const char*, int64_t Settings::*> run_sizes[] = {{"batch", &Settings::batch},
                                                                     {"sequence", &Settings::seq}};
    for (const auto& [name, size] : run_sizes) {
      EXPECT_THAT(refusal([&](Settings& s) { s.*size = bad; }), HasSubstr(std::string(name) + " = ")) << bad;
    }
    const std::pair<const char*, int64_t Model::*> model_sizes[] = {
        {"layers", &Model::layers}, {"hidden", &Model::hidden}, {"heads", &Model::heads},
        {"ffn", &Model::ffn},       {"vocab", &Model::vocab},   {"positions", &Model::positions}};
    for (const auto& [name, size] : model_sizes) {
      EXPECT_THAT(refusal([&](Settings& s) { s.model.*size = bad; }), HasSubstr(std::string(name) + " = "))
          << bad;
    }
  }
}

TEST(Validate, SizesMustFitTogether) {
  EXPECT_EQ(refusal([](Settings& s) { s.model.heads = 13; }),
            "hidden = 768 is not divisible by 13 heads. Try 12 or 16 heads.");
  const auto of_a_thousand = [](int tp, HeadsPolicy policy) {
    return refusal([&](Settings& s) {
      s.model.hidden = 1000;
      s.tp = tp;
      s.heads_policy = policy;
    });
  };
  EXPECT_THAT(of_a_thousand(1, HeadsPolicy::Strict), HasSubstr("Try 10 or 20 heads."));
  EXPECT_THAT(of_a_thousand(4, HeadsPolicy::Strict), HasSubstr("Try 8 or 20 heads.")) << "T divides them too";
  EXPECT_THAT(of_a_thousand(4, HeadsPolicy::Uneven), HasSubstr("Try 10 or 20 heads."));
  EXPECT_THAT(of_a_thousand(7, HeadsPolicy::Strict), HasSubstr("Try 10 or 20 heads.")) << "T divides none";
  EXPECT_THAT(refusal([](Settings& s) { s.seq = 1025; }), HasSubstr("Try 1024."));
  EXPECT_THAT(refusal([](Settings& s) { s.layer = 12; }),
              HasSubstr("layer = 12 is not possible. Choose from 0 to 11."));
  EXPECT_THAT(refusal([](Settings& s) { s.dp = 0; }), HasSubstr("D = 0"));
  EXPECT_THAT(refusal([](Settings& s) { s.hardware = "h10"; }), HasSubstr("Known: this-machine"));
  EXPECT_THAT(refusal([](Settings& s) { s.input.kind = InputKind::Npy; }), HasSubstr("needs a file"));
  EXPECT_THAT(refusal([](Settings& s) { s.model.norm_epsilon = std::numeric_limits<double>::quiet_NaN(); }),
              HasSubstr("epsilon"));
  EXPECT_THAT(refusal([](Settings& s) { s.model.norm_epsilon = 1e-320; }), HasSubstr("also in fp32"));
  for (const double epsilon : {1e-320, 0.0, -1e-8, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(refusal([&](Settings& s) {
                  s.block = Block::Model;
                  s.optimizer.epsilon = epsilon;
                }),
                HasSubstr("must be above 0, also in fp32. Try 1e-8"));
  }
  // Each size is legal and the product is not.
  EXPECT_THAT(refusal([](Settings& s) {
                s.model.positions = kLargestPositions;
                s.seq = kLargestPositions;
                s.batch = kLargestBatch;
              }),
              HasSubstr("one tensor of this layer alone would take"));
}

TEST(Validate, ACacheIsOfAWholeGptAndHasRoom) {
  const auto cached = [](auto&& change) {
    return refusal([&](Settings& s) {
      s.block = Block::Model;
      s.cache_tokens = 512;
      change(s);
    });
  };
  EXPECT_EQ(cached([](Settings&) {}), "no error");
  EXPECT_THAT(cached([](Settings& s) { s.block = Block::Layer; }), HasSubstr("choose the whole model"));
  EXPECT_THAT(cached([](Settings& s) { s.model = model_preset("bert-base"); }), HasSubstr("choose a GPT"));
  EXPECT_THAT(cached([](Settings& s) { s.cache_tokens = 255; }), HasSubstr("Try a cache of 256."));
  EXPECT_THAT(cached([](Settings& s) { s.cache_tokens = 1025; }), HasSubstr("1,024"));
  EXPECT_THAT(cached([](Settings& s) { s.cache_tokens = -1; }), HasSubstr("cache = -1"));
  EXPECT_THAT(cached([](Settings& s) { s.micro_batches = 2; }), HasSubstr("Try 1."));
}

TEST(Validate, SomeChoicesCanOnlyBePlanned) {
  Settings settings;
  settings.dtype = DType::Bf16;
  EXPECT_NO_THROW(validate(settings));
  EXPECT_THAT(error_of([&] { validate_executable(settings); }), HasSubstr("bf16 can be planned but not run"));
  settings.dtype = DType::Fp64;
  EXPECT_NO_THROW(validate_executable(settings));
  settings.dp = 2;
  EXPECT_NO_THROW(validate(settings));
  EXPECT_THAT(error_of([&] { validate_executable(settings); }), HasSubstr("D = 1"));
  settings.dp = 1;
  settings.model = model_preset("gpt-1t");
  settings.tp = 80;
  EXPECT_NO_THROW(validate(settings));
  EXPECT_THAT(error_of([&] { validate_executable(settings); }), HasSubstr("Try 40."));
}

TEST(Validate, IntegersRunOnlyWhereTheyAreExact) {
  Settings settings;
  settings.operands = Operands::Integer;
  settings.tp = 2;
  for (const NormCut norm : {NormCut::Replicated, NormCut::Sequence, NormCut::Parallel}) {
    settings.split.norm = norm;
    EXPECT_NO_THROW(validate(settings));
    if (norm == NormCut::Parallel) continue;
    EXPECT_NO_THROW(validate_executable(settings));
  }
  EXPECT_THAT(error_of([&] { validate_executable(settings); }), HasSubstr("Try \"sequence\""));
  settings.tp = 1;
  EXPECT_NO_THROW(validate_executable(settings));
  settings.weights_path = "model.safetensors";
  EXPECT_THAT(error_of([&] { validate_executable(settings); }), HasSubstr("model.safetensors"));
}

// A stand-in for the planner: bytes grow with tokens and with the square of the sequence, on top of the
// weights.
int64_t needed_bytes(const Settings& settings) {
  return 1000 + settings.batch * settings.seq * 100 + settings.batch * settings.seq * settings.seq;
}

std::string too_large(int64_t available_bytes, int64_t batch, int64_t seq) {
  Settings settings;
  settings.batch = batch;
  settings.seq = seq;
  return error_of([&] { refuse_if_too_large(settings, available_bytes, needed_bytes); });
}

TEST(RefuseIfTooLarge, NamesTheLargestThatFits) {
  const int64_t one_sequence = needed_bytes([] {
                                 Settings s;
                                 s.batch = 1;
                                 s.seq = 256;
                                 return s;
                               }()) -
                               1000;
  EXPECT_EQ(too_large(1000 + 4 * one_sequence, 4, 256), "no error");
  EXPECT_THAT(too_large(1000 + 3 * one_sequence, 4, 256),
              HasSubstr("The largest that fits at sequence 256 is batch 3"));
  EXPECT_THAT(too_large(1000 + 4 * one_sequence - 1, 4, 256), HasSubstr("is batch 3"));
  // Not even one sequence of 256: 1000 + 100 s + s² <= 3000 holds up to s = 17.
  EXPECT_THAT(too_large(3000, 4, 256), HasSubstr("batch 1 with sequence 17"));
  EXPECT_THAT(too_large(500, 4, 256), HasSubstr("Even batch 1 with sequence 1 needs 1.08 KiB"));
}

TEST(RefuseIfTooLarge, HasTheSettingsThatFit) {
  Settings settings;
  settings.batch = 4;
  settings.seq = 256;
  const auto fitting = [&](int64_t available_bytes) {
    try {
      refuse_if_too_large(settings, available_bytes, needed_bytes);
    } catch (const TooLarge& refused) {
      return refused.fitting();
    }
    return std::vector<Settings>();
  };
  const std::vector<Settings> fewer = fitting(1000 + 3 * (256 * 100 + 256 * 256));
  ASSERT_EQ(fewer.size(), 1u);
  EXPECT_EQ(fewer[0].batch, 3);
  EXPECT_EQ(fewer[0].seq, 256);
  const std::vector<Settings> shorter = fitting(3000);
  ASSERT_EQ(shorter.size(), 1u);
  EXPECT_EQ(shorter[0].batch, 1);
  EXPECT_EQ(shorter[0].seq, 17);
  EXPECT_TRUE(fitting(500).empty());
}

TEST(RefuseIfTooLarge, SaysWhatAWholeModelWouldHaveToComputeAgain) {
  const auto need = [](const Settings& s) -> int64_t {
    const int64_t kept = s.recompute == Recompute::None ? 100 : s.recompute == Recompute::Selective ? 60 : 20;
    return kept * s.batch;
  };
  Settings settings;
  settings.block = Block::Model;
  settings.batch = 4;
  const auto refused = [&](int64_t available) {
    return error_of([&] { refuse_if_too_large(settings, available, need); });
  };
  EXPECT_THAT(refused(399),
              HasSubstr("With recompute selective it fits, in 240 bytes. The largest that fits"));
  EXPECT_THAT(refused(399), HasSubstr("batch 3, with 300 bytes"));
  EXPECT_THAT(refused(239), HasSubstr("With recompute full it fits, in 80 bytes."));
  EXPECT_THAT(refused(79), Not(HasSubstr("recompute")));
  settings.block = Block::Layer;  // which has no recomputation to choose
  EXPECT_THAT(refused(399), Not(HasSubstr("recompute")));
}

// A batch that D times the micro-batches does not divide is no remedy, and must not be asked about.
TEST(RefuseIfTooLarge, ProposesABatchThatCanBeCut) {
  const auto need = [](const Settings& s) -> int64_t {
    validate(s);
    return s.batch * s.seq;
  };
  Settings settings;
  settings.block = Block::Model;
  settings.dp = 2;
  settings.micro_batches = 3;
  settings.batch = 600;
  settings.seq = 100;
  const auto refused = [&](int64_t available) {
    return error_of([&] { refuse_if_too_large(settings, available, need); });
  };
  EXPECT_THAT(refused(10'000), HasSubstr("The largest that fits at sequence 100 is batch 96"));
  EXPECT_THAT(refused(599), HasSubstr("The largest that fits is batch 6 with sequence 99"));
  EXPECT_THAT(refused(5), HasSubstr("Even batch 6 with sequence 1 needs 6 bytes"));
}

TEST(RefuseIfTooLarge, AsksSeldomAndSaysTheFigure) {
  Settings settings;
  settings.batch = kLargestBatch;
  settings.seq = 1024;
  int asked = 0;
  const std::string message = error_of([&] {
    refuse_if_too_large(settings, int64_t{16} << 30, [&](const Settings& s) {
      ++asked;
      return needed_bytes(s);
    });
  });
  EXPECT_THAT(message, HasSubstr("needs 1.10 TiB on 1 rank together, and 16.0 GiB are free"));
  EXPECT_LE(asked, 50);
}

}  // namespace validate_test
}  // namespace shardlens
