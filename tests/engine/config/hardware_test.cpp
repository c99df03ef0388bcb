// Hardware presets are complete, and this machine is asked, not assumed.
#include "engine/config/hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/error.h"

namespace shardlens {
namespace {

TEST(Hardware, PresetsAreComplete) {
  EXPECT_THAT(hardware_names(),
              ::testing::ElementsAre("this-machine", "v100-32gb", "a100-80gb", "h100-80gb", "h200-141gb"));
  for (const Hardware& hardware : hardware_presets()) {
    EXPECT_FALSE(hardware.note.empty());
    EXPECT_GT(hardware.memory_bytes, 0);
    EXPECT_GE(hardware.ranks_per_node, 1);
    if (hardware.name == "this-machine") continue;
    EXPECT_GT(hardware.flops(DType::Fp16), hardware.flops(DType::Fp32)) << hardware.name;
    EXPECT_GT(hardware.flops(DType::Fp32), hardware.flops(DType::Fp64)) << hardware.name;
    EXPECT_GT(hardware.link_bytes_per_second, 0);
    EXPECT_GT(hardware.node_latency_seconds, hardware.link_latency_seconds);
  }
  EXPECT_EQ(find_hardware("v100-32gb").flops(DType::Bf16), 0);  // Volta has none
  EXPECT_EQ(find_hardware("v100-32gb").memory_bytes, 32'000'000'000);
}

// The paper: a single GPU's 39 TFLOP/s are 30 % of peak.
TEST(Hardware, V100PeakAgreesWithThePaper) {
  EXPECT_NEAR(39e12 / find_hardware("v100-32gb").flops(DType::Fp16), 0.30, 0.005);
}

TEST(Hardware, ThisMachineIsAsked) {
  const Hardware& machine = find_hardware("this-machine");
  EXPECT_EQ(machine.flops(DType::Fp32), 0);  // not measured yet, so not known
  EXPECT_GT(available_memory_bytes(), 0);
  EXPECT_LE(available_memory_bytes(), machine.memory_bytes);
}

TEST(Hardware, UnknownNameListsThePresets) {
  EXPECT_THROW(find_hardware("h300"), Error);
}

}  // namespace
}  // namespace shardlens
