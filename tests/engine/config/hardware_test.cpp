// Hardware presets are complete, and the facts of this machine are read from it, not assumed.
#include "engine/config/hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "engine/config/hardware_file.h"
#include "engine/config/settings.h"

namespace shardlens {
namespace hardware_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Hardware, PresetsAreComplete) {
  EXPECT_THAT(hardware_names(), ::testing::ElementsAre("this-machine", "v100-32gb", "a100-80gb", "h100-80gb",
                                                       "h200-141gb", "v100-32gb-2-nodes", "a100-80gb-2-nodes",
                                                       "h100-80gb-2-nodes", "h200-141gb-2-nodes"));
  for (const Hardware& hardware : hardware_presets()) {
    EXPECT_FALSE(hardware.basis.empty());
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

// Every figure a preset states has a source, and there is a source for no other.
TEST(Hardware, EveryFigureHasItsSource) {
  for (const Hardware& hardware : hardware_presets()) {
    if (hardware.name == "this-machine") continue;
    std::vector<std::string> stated, sourced;
    const nlohmann::ordered_json json = hardware_to_json(hardware);
    for (const auto& [key, value] : json.items()) {
      if (value.is_number() && value != 0 && key != "nodes") stated.push_back(key);
    }
    for (const auto& [figure, source] : hardware.sources) {
      sourced.push_back(figure);
      EXPECT_GT(source.size(), 10u) << hardware.name << " " << figure;
    }
    EXPECT_THAT(sourced, ::testing::UnorderedElementsAreArray(stated)) << hardware.name;
  }
}

TEST(Hardware, TwoNodesHaveSoManyPlaces) {
  const Hardware& two = find_hardware("a100-80gb-2-nodes");
  EXPECT_EQ(two.most_ranks(), 16);
  EXPECT_EQ(find_hardware("a100-80gb").most_ranks(), 0);
  EXPECT_EQ(two.flops(DType::Bf16), find_hardware("a100-80gb").flops(DType::Bf16));
}

TEST(Hardware, AFileCarriesACalibration) {
  Hardware hardware = find_hardware("a100-80gb");
  hardware.name = "mine";
  hardware.rates[{"linear", DType::Fp32, 2}] = {{1e6, 1.25e9}, {1e9, 1e11}};
  hardware.links[{"all-reduce", 2}] = {1.5e-6, 9e9};
  const std::string path = ::testing::TempDir() + "hardware_test/" + std::to_string(getpid()) + "/mine.json";
  write_hardware_file(hardware, path);
  EXPECT_EQ(find_hardware(path), hardware);
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
  nlohmann::json broken = hardware_to_json(hardware);
  broken["sources"]["a\nline"] = 1;
  try {
    hardware_from_json(broken, "mine.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "mine.json: the source of a\\x0aline must be a text");
  }
  broken = hardware_to_json(hardware);
  std::swap(broken["rates"][0]["work"], broken["rates"][1]["work"]);
  EXPECT_THROW(hardware_from_json(broken, "mine.json"), Error);
  broken = hardware_to_json(hardware);
  broken["memory"] = 3;
  EXPECT_THROW(hardware_from_json(broken, "mine.json"), Error);
}

TEST(Hardware, FiguresThatNoMachineHasAreRefused) {
  Hardware hardware = find_hardware("a100-80gb");
  hardware.links[{"all-reduce", 2}] = {1.5e-6, 9e9};
  const nlohmann::json sound = hardware_to_json(hardware);
  const auto refused = [&](const std::string& pointer, double value) {
    nlohmann::json json = sound;
    json[nlohmann::json::json_pointer(pointer)] = value;
    try {
      hardware_from_json(json, "mine.json");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  for (const std::string rate :
       {"/fp16_flops", "/bf16_flops", "/fp32_flops", "/fp64_flops", "/memory_bytes_per_second",
        "/link_bytes_per_second", "/node_bytes_per_second", "/links/0/bytes_per_second"}) {
    for (const double value : {-1.0, 1e-300, 1e308}) {
      EXPECT_THAT(refused(rate, value),
                  AllOf(StartsWith("mine.json"), HasSubstr(rate.substr(rate.rfind('/') + 1) + "\" = "),
                        HasSubstr("Give from 1 to 1e+30 a second")));
    }
    EXPECT_EQ(refused(rate, 0), "no error") << "nobody knows it";
  }
  for (const std::string latency :
       {"/link_latency_seconds", "/node_latency_seconds", "/links/0/latency_seconds"}) {
    for (const double value : {-1.0, 1e308})
      EXPECT_THAT(refused(latency, value),
                  AllOf(HasSubstr("latency_seconds\" = "), HasSubstr("Give from 0 to 3600 seconds")));
  }
}

// Such as in the HOME of another user. (A loop of links stops root too.)
TEST(Hardware, ACalibrationThatMayNotBeReadIsNamed) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("hardware_loop_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink("loop", folder / "loop");
  for (const char* name : {"loop", "loop/this-machine.json"}) {
    const std::string path = (folder / name).string();
    EXPECT_THAT(this_machine(path).basis, AllOf(HasSubstr("cannot be read"), HasSubstr(path)));
  }
  std::filesystem::create_directory(folder / "this-machine.json");
  EXPECT_THAT(this_machine((folder / "this-machine.json").string()).basis, HasSubstr("cannot be read"));
  std::ofstream(folder / "file") << "";
  EXPECT_EQ(this_machine((folder / "file" / "this-machine.json").string()).basis, "not calibrated yet");
  std::filesystem::remove_all(folder);
}

// It must not keep a program from starting, nor pass for none.
TEST(Hardware, ADamagedCalibrationIsNamed) {
  const char* const before = std::getenv("XDG_DATA_HOME");
  const std::string set_before = before == nullptr ? "" : before;
  const std::string folder = ::testing::TempDir() + "hardware_test_" + std::to_string(getpid());
  setenv("XDG_DATA_HOME", folder.c_str(), 1);
  const std::string path = calibration_path();  // where anything is replaced
  set_before.empty() ? unsetenv("XDG_DATA_HOME") : setenv("XDG_DATA_HOME", set_before.c_str(), 1);
  EXPECT_EQ(this_machine(path).basis, "not calibrated yet");
  Hardware calibrated = this_machine(path);
  calibrated.basis = "measured by a test";
  calibrated.rates[{"linear", DType::Fp32, 1}] = {{1e6, 1.25e9}};
  write_hardware_file(calibrated, path);
  EXPECT_EQ(this_machine(path), calibrated);
  std::filesystem::resize_file(path, 20);
  const Hardware left = this_machine(path);
  EXPECT_FALSE(left.is_calibrated());
  EXPECT_THAT(left.basis,
              AllOf(HasSubstr("the calibration is damaged"), HasSubstr(path), HasSubstr("ends in the middle"),
                    HasSubstr("run bench calibrate to measure it again")));
  EXPECT_THROW(write_hardware_file(calibrated, path), Error);  // elsewhere it might be somebody's
  setenv("XDG_DATA_HOME", folder.c_str(), 1);
  ++calibrated.ranks_per_node;
  write_hardware_file(calibrated, path);
  set_before.empty() ? unsetenv("XDG_DATA_HOME") : setenv("XDG_DATA_HOME", set_before.c_str(), 1);
  EXPECT_THAT(this_machine(path).basis, AllOf(HasSubstr("was measured on"), HasSubstr("measure it again")));
  std::filesystem::remove_all(folder);
}

TEST(Hardware, MeasuredRatesLieBetweenWhatWasMeasured) {
  Hardware hardware;
  EXPECT_FALSE(hardware.is_calibrated());
  hardware.rates[{"linear", DType::Fp32, 2}] = {{1e6, 1e9}, {1e8, 3e9}};
  EXPECT_DOUBLE_EQ(hardware.measured_rate("linear", DType::Fp32, 2, 1e7), 2e9);  // half way by logarithm
  EXPECT_DOUBLE_EQ(hardware.measured_rate("linear", DType::Fp32, 2, 1), 1e9);
  EXPECT_DOUBLE_EQ(hardware.measured_rate("linear", DType::Fp32, 2, 1e12), 3e9);
  EXPECT_DOUBLE_EQ(hardware.measured_rate("linear", DType::Fp32, 8, 1e12), 3e9 / 4);  // the cores are shared
  EXPECT_EQ(hardware.measured_rate("linear", DType::Fp32, 1, 1e7), 0);
  EXPECT_EQ(hardware.measured_rate("linear", DType::Fp64, 2, 1e7), 0);
}

// The paper: a single GPU's 39 TFLOP/s are 30 % of peak.
TEST(Hardware, V100PeakAgreesWithThePaper) {
  EXPECT_NEAR(39e12 / find_hardware("v100-32gb").flops(DType::Fp16), 0.30, 0.005);
}

TEST(Hardware, ThisMachineIsAsked) {
  EXPECT_EQ(Settings{}.hardware, kThisMachine);
  const Hardware& machine = find_hardware("this-machine");
  // Not measured, not known.
  EXPECT_EQ(machine.flops(DType::Fp32) + machine.flops(DType::Fp64) > 0, machine.is_calibrated());
  EXPECT_GT(available_memory_bytes(), 0);
  EXPECT_LE(available_memory_bytes(), machine.memory_bytes);
}

TEST(Hardware, UnknownNameListsThePresets) {
  EXPECT_THROW(find_hardware("h300"), Error);
}

}  // namespace hardware_test
}  // namespace shardlens
