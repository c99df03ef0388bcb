// A Program's placements cover each matrix once, it survives JSON, and JSON with dangling references is
// refused.
#include "engine/program/program.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/program/program_json.h"
#include "tests/engine/small_layer.h"

namespace shardlens {
namespace program_test {

Tensor fused_qkv(Layout layout) {
  Tensor tensor;
  tensor.shape = {8, 3, 4, 2};  // [hidden, 3, heads, head_dim]
  tensor.layout = layout;
  return tensor;
}

TEST(Program, AShardedQkvLiesInThreeColumnBands) {
  const Tensor tensor = fused_qkv(sharded(2));
  const std::vector<Placement> places = placements(tensor, 2, 1);
  ASSERT_EQ(places.size(), 3u);
  for (size_t part = 0; part < 3; ++part) {
    const auto p = static_cast<int64_t>(part);
    EXPECT_EQ(places[part].rows, (Range{0, 8}));
    EXPECT_EQ(places[part].cols, (Range{p * 8 + 4, p * 8 + 8}));
    EXPECT_EQ(places[part].local_cols, (Range{p * 4, p * 4 + 4}));
  }
}

TEST(Program, PlacementsOfAllRanksCoverTheMatrixOnce) {
  for (const Layout& layout : {sharded(0), sharded(1), sharded(2), sharded(3)}) {
    for (int row_dims : {0, 1, 2}) {
      for (int ranks : {1, 2, 3, 5}) {
        Tensor tensor = fused_qkv(layout);
        tensor.row_dims = row_dims;
        std::set<std::pair<int64_t, int64_t>> covered;
        int64_t cells = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          int64_t local_cells = 0;
          for (const Placement& place : placements(tensor, ranks, rank)) {
            EXPECT_EQ(place.rows.size(), place.local_rows.size());
            EXPECT_EQ(place.cols.size(), place.local_cols.size());
            for (int64_t r = place.rows.begin; r < place.rows.end; ++r) {
              for (int64_t c = place.cols.begin; c < place.cols.end; ++c) covered.insert({r, c});
            }
            local_cells += place.rows.size() * place.cols.size();
          }
          EXPECT_EQ(local_cells, element_count(local_shape(tensor, ranks, rank)));
          cells += local_cells;
        }
        EXPECT_EQ(cells, 8 * 24);
        EXPECT_EQ(covered.size(), 8u * 24u);
      }
    }
  }
}

TEST(Program, ReplicatedAndPartialLieWhole) {
  for (const Layout& layout : {kReplicated, kPartial}) {
    const std::vector<Placement> places = placements(fused_qkv(layout), 4, 3);
    ASSERT_EQ(places.size(), 1u);
    EXPECT_EQ(places[0].cols, (Range{0, 24}));
  }
}

TEST(Program, SurvivesJson) {
  for (const char* split : {"megatron", "reversed", "replicated"}) {
    const Program program = plan_program(testing::small_layer(4, split));
    const std::string text = program_to_json(program).dump();
    EXPECT_EQ(program_from_json(nlohmann::json::parse(text), "test"), program);
    EXPECT_EQ(program_text(program), text);  // which is made step by step
  }
  EXPECT_EQ(program_text({}), program_to_json({}).dump());
}

TEST(Program, PaddingAndCopiesSurviveJson) {
  Settings padded = testing::small_layer(5), grouped = testing::small_layer(6);
  padded.heads_policy = HeadsPolicy::Padded;
  grouped.model.kv_heads = 3;
  for (const Settings& settings : {padded, grouped}) {
    const Program program = plan_program(settings);
    const std::string text = program_to_json(program).dump();
    EXPECT_EQ(program_from_json(nlohmann::json::parse(text), "test"), program);
  }
}

TEST(Program, JsonThatRefersToNothingIsRefused) {
  const nlohmann::json good =
      nlohmann::json::parse(program_to_json(plan_program(testing::small_layer(2))).dump());
  const auto refused = [](nlohmann::json bad) {
    try {
      program_from_json(bad, "bad.json");
      return false;
    } catch (const Error& error) {
      return std::string(error.what()).find("bad.json") != std::string::npos;
    }
  };
  nlohmann::json bad = good;
  bad["steps"][3]["inputs"][0] = 10'000;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad["tensors"][0]["storage"] = 0;  // a circle of one
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad["tensors"][2]["layout"] = {{"kind", "sharded"}, {"dim", 9}};
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad["tensors"][2]["layout"] = {{"kind", "sharded"}, {"dim", 0}, {"copies", 3}};  // of two ranks
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad["steps"][1].erase("op");
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad["tensors"][0]["dtype"] = "outputs";
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad["tensors"][0]["row_dims"] = int64_t{1} << 32;  // 0 in 32 bits
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad["steps"][3]["inputs"][0] = int64_t{1} << 32;
  EXPECT_TRUE(refused(bad));
}

TEST(Program, ExplanationsAreMadeOfTheLayouts) {
  const Program program = plan_program(testing::small_layer(4));
  int explained = 0;
  for (const Step& step : program.steps) {
    const std::string why = explain(program, step.id);
    if (step.op == Op::AllReduce) {
      ++explained;
      EXPECT_NE(why.find("Partial → Replicated is an all-reduce"), std::string::npos) << why;
      const StepId producer = producer_of(program, step.inputs[0]);
      EXPECT_NE(why.find(program.step(producer).equation), std::string::npos) << why;
    } else if (step.op == Op::Identity) {
      ++explained;
      EXPECT_NE(why.find("nothing moves"), std::string::npos) << why;
      EXPECT_NE(why.find("all-reduce"), std::string::npos) << why;  // what its other half does
    } else {
      EXPECT_TRUE(why.empty());
    }
  }
  EXPECT_EQ(explained, 8);  // f and g of two blocks, both halves
}

}  // namespace program_test
}  // namespace shardlens
