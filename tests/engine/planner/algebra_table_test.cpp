// The page that explains the algebra agrees with the code and with the design.
#include "engine/planner/algebra_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/data_folder.h"

namespace shardlens {
namespace algebra_table_test {

using ::testing::HasSubstr;

TEST(AlgebraTable, IsThePageInTheRepository) {
  std::ifstream file(test_data_folder() + "/../../engine/program/ALGEBRA.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), algebra_table()) << "write it anew: shardlens-cli plan --algebra";
}

TEST(AlgebraTable, SaysWhatTheDesignSays) {
  const std::string table = algebra_table();
  for (const char* row :
       {"| Replicated | Replicated |\n", "| Sharded(0) | Sharded(0) |\n", "| Partial | Replicated |\n",
        "| Partial → Replicated | all-reduce | 2 S (T−1)/T |\n",
        "| Partial → Sharded(0) | reduce-scatter | S (T−1)/T |\n",
        "| Sharded(0) → Replicated | all-gather | S (T−1)/T |\n", "| Replicated → Sharded(0) | slice | 0 |\n",
        "| Sharded(0) → Sharded(1) | all-to-all | S (T−1)/T² |\n",
        "| column | Sharded(1) | Replicated | Sharded(1) | Partial | Sharded(0), added in the product |\n",
        "| row | Sharded(0) | Sharded(1) | Partial | Sharded(1) | Replicated, added after the reduction |\n",
        "| replicated | Replicated | Replicated | Replicated | Replicated | Replicated, added in the product "
        "|\n"})
    EXPECT_THAT(table, HasSubstr(row));
}

}  // namespace algebra_table_test
}  // namespace shardlens
