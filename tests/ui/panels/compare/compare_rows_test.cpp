// Aligned rows of two splits: a step that both have is one row, a step that only one has is a gap in the
// other.
#include "ui/panels/compare/compare_rows.h"

#include <gmock/gmock.h>

#include "engine/config/splits.h"
#include "engine/planner/planner.h"

namespace shardlens::ui {
namespace compare_rows_test {

using ::testing::ElementsAre;

TEST(CompareRows, KeepsEachOrderAndSharesAsMuchAsPossible) {
  const auto lines = aligned({{"a", "b", "c", "d"}, {"a", "x", "c", "d", "y"}});
  std::vector<std::string> keys;
  for (const AlignedRow& line : lines) keys.push_back(line.key);
  EXPECT_THAT(keys, ElementsAre("a", "b", "x", "c", "d", "y"));
  EXPECT_THAT(lines[0].rows, ElementsAre(0, 0));
  EXPECT_THAT(lines[1].rows, ElementsAre(1, -1));
  EXPECT_THAT(lines[2].rows, ElementsAre(-1, 1));
  EXPECT_THAT(lines[5].rows, ElementsAre(-1, 4));
}

std::vector<std::string> keys_of(const Program& program) {
  std::vector<std::string> keys;
  for (const stage::Row& row : stage::rows_of(program)) keys.push_back(key_of(program, row));
  return keys;
}

Program planned(const char* split) {
  Settings settings;
  settings.tp = 4;
  settings.split = named_split(split);
  return plan_program(settings);
}

TEST(CompareRows, EveryRowOfEverySplitStandsInOneLineInItsOrder) {
  std::vector<std::vector<std::string>> keys;
  for (const char* split : {"megatron", "reversed", "megatron-sp"}) keys.push_back(keys_of(planned(split)));
  const auto lines = aligned(keys);
  for (size_t program = 0; program < keys.size(); ++program) {
    int next = 0;
    for (const AlignedRow& line : lines) {
      if (line.rows[program] < 0) continue;
      EXPECT_EQ(line.rows[program], next++);
      EXPECT_EQ(line.key, keys[program][static_cast<size_t>(line.rows[program])]);
    }
    EXPECT_EQ(static_cast<size_t>(next), keys[program].size());
  }
  // Every product is computed by every split, and stands in one line.
  for (const char* product : {"forward attn.qkv", "forward attn.proj", "forward mlp.fc", "forward mlp.proj",
                              "backward mlp.fc dX", "backward attn.qkv dW"}) {
    const auto line =
        std::find_if(lines.begin(), lines.end(), [&](const AlignedRow& one) { return one.key == product; });
    ASSERT_NE(line, lines.end()) << product;
    for (const int row : line->rows) EXPECT_GE(row, 0) << product;
  }
}

TEST(CompareRows, WhatConvertsOneTensorStandsInOneLineWhateverConvertsIt) {
  const Program megatron = planned("megatron"), sequence = planned("megatron-sp");
  const auto key_of_step = [](const Program& program, const std::string& name) -> std::string {
    for (const Step& step : program.steps) {
      if (step.name == name) return key_of(step);
    }
    return "no step " + name;
  };
  EXPECT_EQ(key_of_step(megatron, "all-reduce mlp.proj.sum"),
            key_of_step(sequence, "reduce-scatter mlp.proj.sum"));
  EXPECT_EQ(key_of_step(megatron, "all-reduce mlp.proj.sum"), "forward converts mlp.proj.sum");
}

}  // namespace compare_rows_test
}  // namespace shardlens::ui
