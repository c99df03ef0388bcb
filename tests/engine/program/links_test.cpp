// What is looked up is what a search finds, and the explanations made from it are the same.
#include "engine/program/links.h"

#include <gtest/gtest.h>

#include "engine/planner/planner.h"
#include "tests/engine/small_layer.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace links_test {

std::vector<Settings> some_settings() {
  std::vector<Settings> all;
  for (const char* split : {"megatron", "megatron-sp", "reversed", "row-row", "column-column", "replicated"})
    for (const int tp : {1, 2, 3}) {
      Settings settings = testing::small_model(tp, 1, split);
      settings.micro_batches = 2;
      settings.overlap_chunks = tp;
      all.push_back(settings);
      all.push_back(testing::small_layer(tp));
    }
  all.push_back(testing::small_bert(2, 2));
  return all;
}

TEST(Links, HaveWhatASearchFinds) {
  size_t read = 0;
  for (const Settings& settings : some_settings()) {
    const Program program = plan_program(settings);
    const Links links(program);
    for (const Tensor& tensor : program.tensors) {
      EXPECT_EQ(links.producer_of(tensor.id), producer_of(program, tensor.id)) << tensor.name;
      const auto readers = links.consumers_of(tensor.id);
      EXPECT_EQ(std::vector<StepId>(readers.begin(), readers.end()), consumers_of(program, tensor.id))
          << tensor.name;
      read += readers.size();
    }
  }
  EXPECT_GT(read, 1000u);
}

TEST(Links, ExplainTheSame) {
  size_t explained = 0;
  for (const Settings& settings : some_settings()) {
    const Program program = plan_program(settings);
    const Links links(program);
    for (const Step& step : program.steps) {
      EXPECT_EQ(explain(links, step.id), explain(program, step.id)) << step.name;
      if (!explain(links, step.id).empty()) ++explained;
    }
  }
  EXPECT_GT(explained, 100u);
}

}  // namespace links_test
}  // namespace shardlens
