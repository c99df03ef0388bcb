// Every split and T x D is ranked, each with the cost of its own plan.
#include "engine/cost/tournament.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/cost/pass_time.h"
#include "engine/planner/planner.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace tournament_test {

using testing::small_model;

Settings entering() {
  Settings settings = small_model(1);
  settings.model.layers = 3;
  settings.batch = 8;
  return settings;
}

TEST(Tournament, EverySplitEntersOnce) {
  const Tournament tournament =
      hold_tournament(entering(), 4, find_hardware("a100-80gb"), int64_t{80} << 30, 5);
  std::vector<Split> splits;
  for (const Entrant& entrant : tournament.entrants)
    if (entrant.tp == 4) splits.push_back(entrant.split);
  EXPECT_GE(splits.size(), 81u * 4);
  for (const Split& split : splits)
    EXPECT_EQ(std::count(splits.begin(), splits.end(), split), 1) << words_of(split);
  // T = 1 once, since one rank has nothing to cut; T = 2 and 4 with every split.
  EXPECT_EQ(tournament.entrants.size(), 1 + 2 * splits.size());
  EXPECT_EQ(tournament.not_legal, 0u);
  for (const Split& named : named_splits()) {
    EXPECT_TRUE(
        std::any_of(tournament.entrants.begin(), tournament.entrants.end(),
                    [&](const Entrant& entrant) { return entrant.split == named && entrant.tp == 4; }))
        << named.name;
  }
}

TEST(Tournament, ASplitWithoutANameIsToldByItsCuts) {
  Split split;
  split.attn_proj = Cut::Replicated;
  EXPECT_THAT(words_of(split), ::testing::HasSubstr("attn.proj replicated"));
  EXPECT_THAT(words_of(split), ::testing::HasSubstr("mlp.proj row"));
}

// Put together from pieces, an entrant costs what its own plan costs.
TEST(Tournament, EntrantsCostWhatTheirPlansCost) {
  const Hardware& hardware = find_hardware("v100-32gb");
  int with_something_beside = 0;
  for (const int ranks : {3, 4}) {
    const Tournament tournament = hold_tournament(entering(), ranks, hardware, int64_t{32} << 30, 3);
    for (size_t place = 0; place < tournament.entrants.size(); place += 7) {
      const Entrant& entrant = tournament.entrants[place];
      Settings settings = entering();
      settings.split = entrant.split;
      settings.tp = entrant.tp;
      settings.dp = entrant.dp;
      const ModelPrice price = price_model(settings, hardware);
      SCOPED_TRACE(entrant.split.name + " T " + std::to_string(entrant.tp));
      EXPECT_EQ(entrant.sum.flops, price.sum.flops);
      EXPECT_EQ(entrant.sum.tp_sent_bytes, price.sum.tp_sent_bytes);
      EXPECT_EQ(entrant.sum.tp_collectives, price.sum.tp_collectives);
      EXPECT_EQ(entrant.sum.dp_sent_bytes, price.sum.dp_sent_bytes);
      EXPECT_EQ(entrant.sum.dp_collectives, price.sum.dp_collectives);
      // But for a few numbers of the optimizer's, where one of two kinds of gradient is missing altogether.
      const Program program = plan_program(settings_of(entering(), entrant));
      const double pass = predicted_pass_seconds(program, {shardlens::price(program, hardware, 0)});
      EXPECT_NEAR(entrant.seconds, pass, 1e-6 * pass);
      with_something_beside += pass < 0.999 * price.step_seconds;
      EXPECT_LE(entrant.state_bytes, total_bytes(price.memory_bytes));
    }
  }
  EXPECT_GT(with_something_beside, 0);
}

TEST(Tournament, TheFastestThatFitAreListed) {
  const Hardware& hardware = find_hardware("a100-80gb");
  const Tournament free = hold_tournament(entering(), 4, hardware, int64_t{80} << 30, 10);
  ASSERT_EQ(free.listed.size(), 10u);
  EXPECT_EQ(free.too_large, 0u);
  for (size_t i = 1; i < free.entrants.size(); ++i)
    EXPECT_LE(free.entrants[i - 1].seconds, free.entrants[i].seconds);
  // A limit between what the listed ones need keeps the larger of them out.
  std::set<int64_t> needs;
  for (const size_t place : free.listed) needs.insert(free.entrants[place].memory_bytes);
  ASSERT_GT(needs.size(), 1u);
  const int64_t limit = *needs.rbegin() - 1;
  const Tournament tight = hold_tournament(entering(), 4, hardware, limit, 10);
  EXPECT_GT(tight.too_large, 0u);
  for (const size_t place : tight.listed) {
    EXPECT_LE(tight.entrants[place].memory_bytes, limit);
    EXPECT_GT(tight.entrants[place].memory_bytes, tight.entrants[place].state_bytes);
  }
  EXPECT_TRUE(hold_tournament(entering(), 4, hardware, 1, 10).listed.empty());
}

TEST(Tournament, PairsInThePredictedOrderAreCounted) {
  EXPECT_EQ(order_of({1, 2, 3}).agree, 3);
  EXPECT_EQ(order_of({1, 2, 3}).pairs, 3);
  EXPECT_EQ(order_of({3, 2, 1}).agree, 0);
  EXPECT_EQ(order_of({1, 3, 2, 4}).agree, 5);
  EXPECT_EQ(order_of({1}).pairs, 0);
}

TEST(Tournament, RefusesRanksThatDivideNothing) {
  Settings settings = entering();
  settings.batch = 1;
  settings.model.hidden = settings.model.heads = 5;
  EXPECT_THROW(hold_tournament(settings, 97, find_hardware("a100-80gb"), int64_t{80} << 30, 3), Error);
}

}  // namespace tournament_test
}  // namespace shardlens
