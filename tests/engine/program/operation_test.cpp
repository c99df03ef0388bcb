// The table of operations holds for every Program that the planner writes: each step has the operands that
// its row names. Every operation occurs in one of them, so none is without a test.
#include "engine/program/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/program/fault.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace operation_test {

// Settings that bring every operation at least once.
std::vector<Settings> all_kinds() {
  std::vector<Settings> all;
  for (const char* split : {"megatron", "reversed", "megatron-sp", "row-row"}) {
    for (const bool bert : {false, true}) {
      Settings settings = bert ? testing::small_bert(2, 2, split) : testing::small_model(2, 2, split);
      settings.micro_batches = 2;
      all.push_back(settings);
      settings.fusion = Fusion::Off;
      settings.dropout = 0.1;
      all.push_back(settings);
    }
  }
  Settings settings = testing::small_model(2);
  settings.split.norm = NormCut::Parallel;
  all.push_back(settings);
  settings = testing::small_model(2, 1, "megatron-sp");
  settings.split.attn_qkv = Cut::Replicated;
  all.push_back(settings);
  settings = testing::small_model(2);
  settings.overlap_chunks = 2;
  settings.dtype = DType::Fp16;
  all.push_back(settings);
  settings = testing::small_model(4);
  settings.model.heads = 8;
  settings.model.kv_heads = 2;
  settings.recompute = Recompute::Full;
  all.push_back(settings);
  settings.update = false;
  settings.recompute = Recompute::None;
  settings.cache_tokens = 16;
  all.push_back(settings);
  settings = testing::small_layer(2, "reversed");
  settings.operands = Operands::Integer;
  all.push_back(settings);
  return all;
}

// Checks the length of a step's list against the slots of its row.
void expect_operands(const Program& program, const Step& step, const OperandSlot (&slots)[kMostOperands],
                     size_t least, size_t tensors) {
  size_t most = least;
  bool repeated = false;
  for (const OperandSlot& slot : slots) {
    most += slot.operand != Operand::None && slot.presence == Presence::Optional;
    repeated = repeated || slot.presence == Presence::Repeated;
  }
  EXPECT_GE(tensors, least) << step.name;
  EXPECT_TRUE(repeated || tensors <= most) << step.name << " of " << program.settings.split.name;
}

TEST(Operations, EveryPlannedStepHasTheOperandsOfItsRowAndEveryRowIsPlanned) {
  std::set<std::string> planned;
  for (const Settings& settings : all_kinds()) {
    const Program program = plan_program(settings);
    for (const Step& step : program.steps) {
      const Operation& row = operation(step.op);
      planned.insert(row.name);
      expect_operands(program, step, row.inputs, least_inputs(program, step), step.inputs.size());
      expect_operands(program, step, row.outputs, least_outputs(program, step), step.outputs.size());
      EXPECT_TRUE(!row.by_batch || step.attributes.batch > 0) << step.name;
      EXPECT_FALSE(note_of(program, step).empty()) << step.name;
    }
  }
  for (const Operation& row : operations()) EXPECT_TRUE(planned.contains(row.name)) << row.name;
}

// The matrix of the logits is the embedding, transposed: its rows are words, which are the product's columns.
TEST(Operations, TheNoteOfTheLogitsSaysThatTheWordsAreCut) {
  const Program program = plan_model(testing::small_model(2));
  std::string note;
  for (const Step& step : program.steps)
    if (step.op == Op::Linear && program.tensor(step.outputs[0]).name == "logits")
      note = note_of(program, step);
  EXPECT_EQ(note, "vocabulary-parallel");
}

// The note and the explanation say the same of an embedding that is cut by its columns: its product with the
// hidden states is a sum over the ranks.
TEST(Operations, AnEmbeddingCutByItsColumnsIsRowParallelInTheNoteAndInTheExplanation) {
  Settings settings = testing::small_model(2);
  settings.split.embedding = EmbeddingCut::Hidden;
  const Program program = plan_program(settings);
  int notes = 0, explanations = 0;
  for (const Step& step : program.steps) {
    EXPECT_THAT(explain(program, step.id), ::testing::Not(::testing::HasSubstr("vocabulary-parallel")));
    explanations += explain(program, step.id).find("Wteᵀ (row-parallel)") != std::string::npos;
    if (step.op != Op::Linear || !step.attributes.transposed) continue;
    EXPECT_EQ(note_of(program, step), "row-parallel");
    ++notes;
  }
  EXPECT_EQ(notes, 1);
  EXPECT_GT(explanations, 0);
}

// What a note says of a mask is what the step does: the same on all ranks where its result is whole, a part
// of one where it is cut, and with a planted mistake what that does.
TEST(Operations, TheNoteOfADropoutSaysWhoHasWhichMask) {
  int whole = 0, cut = 0, heads = 0;
  for (const char* split : {"megatron", "megatron-sp", "replicated"}) {
    std::vector<std::optional<Fault>> faults{std::nullopt};
    if (std::string(split) != "megatron-sp") faults.push_back(Fault::OwnDropoutStreams);
    if (std::string(split) != "replicated") faults.push_back(Fault::OneDropoutStream);
    for (const std::optional<Fault> fault : faults) {
      Settings settings = testing::small_model(2, 1, split);
      settings.dropout = 0.1;
      Program program = plan_program(settings);
      if (fault) program = plant(std::move(program), *fault);
      for (const Step& step : program.steps) {
        if (step.attributes.dropout == 0) continue;
        const std::string note = note_of(program, step);
        const bool is_cut = program.tensor(step.outputs[0]).layout.kind == LayoutKind::Sharded;
        const MaskDraw draw = step.attributes.mask_draw;
        const char* mask = draw == MaskDraw::OwnStreams  ? "each rank its own mask"
                           : draw == MaskDraw::OneStream ? "rank 0's mask on all ranks"
                           : is_cut                      ? "its part of one mask"
                                                         : "the same mask on all ranks";
        EXPECT_THAT(note, ::testing::EndsWith(mask)) << step.name << " of " << split;
        whole += draw == MaskDraw::ByElement && !is_cut;
        cut += draw == MaskDraw::ByElement && is_cut;
        heads += step.op == Op::Attention && is_cut && note.starts_with("whole heads, ");
      }
    }
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(cut, 0);
  EXPECT_GT(heads, 0);
}

TEST(Operations, NamesGoBothWaysAndAnUnknownOneGetsASuggestion) {
  for (const Operation& row : operations()) EXPECT_EQ(parse_op(row.name), row.op);
  try {
    parse_op("all-reduced");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("did you mean \"all-reduce\""));
  }
}

TEST(Operations, AnOperandIsFoundByItsNameWhereverOptionalOnesStand) {
  const Program program = plan_program(testing::small_model(1));
  for (const Step& step : program.steps) {
    if (step.op != Op::LayerNormGrad || step.inputs.size() % 2 == 0) continue;
    EXPECT_EQ(input_of(program, step, Operand::Addend), step.inputs.back());
    EXPECT_EQ(input_of(program, step, Operand::Mask), kNoTensor);
    return;
  }
  FAIL() << "no LayerNorm's gradient is added to another";
}

}  // namespace operation_test
}  // namespace shardlens
