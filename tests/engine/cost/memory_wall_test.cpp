// Compares the paper's sizes with the 32 GB of its devices, and checks a rank's exact share of the
// parameters.
#include "engine/cost/memory_wall.h"

#include <gtest/gtest.h>

#include "engine/config/hardware.h"
#include "engine/config/presets.h"
#include "engine/planner/parameters.h"

namespace shardlens {
namespace memory_wall_test {

// Table 1 of the paper: the sizes were chosen so that T = 1, 2, 4, 8 hold them on a V100 of 32 GB.
TEST(MemoryWall, PaperSizesNeedTheirDegrees) {
  const double limit_bytes = static_cast<double>(find_hardware("v100-32gb").memory_bytes);
  const std::pair<const char*, int> degrees[] = {
      {"megatron-1.2b", 1}, {"megatron-2.5b", 2}, {"megatron-4.2b", 4}, {"megatron-8.3b", 8}};
  for (const auto& [name, tp] : degrees) {
    const Model model = model_preset(name);
    EXPECT_EQ(smallest_degree(static_cast<double>(parameter_count(model)), limit_bytes), tp) << name;
  }
}

TEST(MemoryWall, EightBillionNeed133GigabytesBeforeActivations) {
  const WallBytes bytes = wall_bytes(8.3e9, 1);
  EXPECT_NEAR(bytes.total(), 132.8e9, 1);
  EXPECT_NEAR(bytes.parts[2] + bytes.parts[3] + bytes.parts[4], 99.6e9,
              1);  // master copy and Adam's two averages
  const auto exact = static_cast<double>(parameter_count(model_preset("megatron-8.3b")));
  EXPECT_NEAR(wall_bytes(exact, 1).total(), 133e9, 0.5e9);
}

TEST(MemoryWall, SixteenBytesAParameterFallAsOneOverT) {
  int bytes_per_parameter = 0;
  for (const WallPart& part : wall_parts()) bytes_per_parameter += part.bytes_per_parameter;
  EXPECT_EQ(bytes_per_parameter, 16);
  EXPECT_DOUBLE_EQ(wall_bytes(1e9, 8).total() * 8, wall_bytes(1e9, 1).total());
  EXPECT_EQ(smallest_degree(1e12, 141e9), 128);
  EXPECT_EQ(smallest_degree(1e12, 1e9), 0);
}

}  // namespace memory_wall_test
}  // namespace shardlens
