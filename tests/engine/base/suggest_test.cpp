// The messages for unknown words.
#include "engine/base/suggest.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace shardlens {
namespace suggest_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Suggest, AShortListIsGivenWhole) {
  EXPECT_THAT(unknown_name("split", "megatorn", {"megatron", "reversed"}).what(),
              AllOf(HasSubstr("did you mean \"megatron\"?"), HasSubstr("Known: megatron, reversed.")));
}

TEST(Suggest, OfALongListTheNearestAreGiven) {
  std::vector<std::string> steps;
  for (int layer = 0; layer < 1000; ++layer) steps.push_back("h." + std::to_string(layer) + ".attn.proj");
  const std::string said = unknown_name("step", "h.7.attn.prj", steps).what();
  EXPECT_THAT(said, AllOf(HasSubstr("did you mean \"h.7.attn.proj\"?"),
                          HasSubstr("The nearest of 1000 known: h.7.attn.proj, "), Not(HasSubstr("h.500."))));
  EXPECT_LT(said.size(), 500u);
}

}  // namespace suggest_test
}  // namespace shardlens
