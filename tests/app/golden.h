// The small models of tests/data/goldens, for which an independent implementation (tests/peers) computed
// every number in fp64. Runs `step` on one and compares its dump with these numbers.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/io/safetensors.h"
#include "tests/app/process.h"
#include "tests/data_folder.h"

namespace shardlens {
namespace fs = std::filesystem;

inline constexpr int kUpdates = 10;
inline constexpr double kRate = 1e-3;
inline const std::string kOptimizer =
    fmt::format(" --updates {} --lr {} --weight-decay 0.01 --clip 1 --beta1 0.9 --beta2 0.999 --eps 1e-8",
                kUpdates, kRate);

struct Values {
  Shape shape;
  std::vector<double> numbers;
};
using Tensors = std::map<std::string, Values>;

inline Tensors read_tensors(const std::string& path) {
  const SafetensorsFile file(path);
  Tensors tensors;
  for (const StoredTensor& stored : file.tensors()) {
    Values& values = tensors[stored.name];
    values.shape = stored.shape;
    values.numbers.resize(static_cast<size_t>(element_count(stored.shape)));
    file.read(stored, DType::Fp64, values.numbers.data());
  }
  return tensors;
}

inline std::string folder(const std::string& name) {
  return test_data_folder() + "/goldens/" + name;
}

/// The options that give `step` the case's batch.
inline std::string batch_options(const std::string& name) {
  std::string options;
  for (const auto& [option, file] : {std::pair{"tokens", "tokens"},
                                     {"labels", "labels"},
                                     {"token-types", "token_types"},
                                     {"attention-mask", "attention_mask"},
                                     {"sop", "sop"}}) {
    const std::string path = folder(name) + "/" + file + ".npy";
    if (fs::exists(path)) options += fmt::format(" --{} {}", option, path);
  }
  return options;
}

/// The dump of one call of `step` on the case's batch, with the case's model or the one in `model_folder`;
/// empty, and the test failed, when it did not end well.
inline Tensors step(const std::string& name, const std::string& options, std::string model_folder = "") {
  if (model_folder.empty()) model_folder = folder(name);
  const std::string dump = ::testing::TempDir() + "golden_" + std::to_string(getpid()) + ".safetensors";
  const Ended ended = run_program(
      SHARDLENS_CLI_PROGRAM,
      fmt::format("step --model {}{} {} --dump {}", model_folder, batch_options(name), options, dump));
  EXPECT_EQ(ended.code, 0) << options << "\n" << ended.err;
  if (ended.code != 0) return {};
  Tensors tensors = read_tensors(dump);
  fs::remove(dump);
  return tensors;
}

inline bool starts_with(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}
inline bool ends_with(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

inline double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

inline std::vector<double> difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result(a.size());
  for (size_t i = 0; i < a.size(); ++i) result[i] = a[i] - b[i];
  return result;
}

// BERT keeps the biases of queries, keys and values apart. They are compared as the one fused bias that they
// are in GPT-2, because the keys' share of its gradient is zero but for rounding: softmax does not see what
// is added to all scores alike.
inline const std::string kQuery = ".self.query.bias", kKey = ".self.key.bias", kValue = ".self.value.bias";

inline Tensors with_fused_biases(Tensors tensors) {
  std::vector<std::string> queries;
  for (const auto& [name, values] : tensors)
    if (ends_with(name, kQuery)) queries.push_back(name);
  for (const std::string& query : queries) {
    const std::string stem = query.substr(0, query.size() - kQuery.size());
    Values& fused = tensors[stem + ".self.qkv.bias"];
    for (const std::string& part : {kQuery, kKey, kValue}) {
      const std::vector<double>& numbers = tensors[stem + part].numbers;
      fused.numbers.insert(fused.numbers.end(), numbers.begin(), numbers.end());
      tensors.erase(stem + part);
    }
    fused.shape = {static_cast<int64_t>(fused.numbers.size())};
  }
  return tensors;
}

inline bool is_qkv_bias(const std::string& name) {
  return ends_with(name, "attn.c_attn.bias") || ends_with(name, ".self.qkv.bias");
}

/// What the relative error of a tensor may be, by its name in the dump.
struct Bounds {
  double outputs = 0;    ///< loss, losses, hidden, logits, sop_logits
  double gradients = 0;  ///< grad.*
  double parameters = 0;
};

// Adam divides by the size of the gradient, so that rounding in the keys' bias becomes moves of up to the
// rate: in fp32 its share may end that far away, and the rest of the bias is compared without it.
inline double parameter_error(const std::string& name, std::vector<double> ours, std::vector<double> theirs,
                              bool fp64) {
  if (!fp64 && is_qkv_bias(name)) {
    const auto third = static_cast<std::ptrdiff_t>(ours.size() / 3);
    for (std::ptrdiff_t i = third; i < 2 * third; ++i)
      EXPECT_LE(std::abs(ours[static_cast<size_t>(i)] - theirs[static_cast<size_t>(i)]),
                1.01 * kUpdates * kRate);
    for (std::vector<double>* values : {&ours, &theirs})
      values->erase(values->begin() + third, values->begin() + 2 * third);
  }
  return norm(difference(ours, theirs)) / norm(theirs);
}

/// Every tensor of `expected` is in the dump, in its shape and within the bound, and the dump has no gradient
/// beside them.
inline void expect_close(const Tensors& dump, const Tensors& expected, const Bounds& bounds, bool fp64,
                         const std::string& where) {
  const Tensors ours = with_fused_biases(dump), theirs = with_fused_biases(expected);
  for (const auto& [name, values] : theirs) {
    const auto found = ours.find(name);
    ASSERT_NE(found, ours.end()) << where << ": no " << name << " in the dump";
    ASSERT_EQ(found->second.shape, values.shape) << where << ": " << name;
    const bool parameter = starts_with(name, "param."), gradient = starts_with(name, "grad.");
    const double error = parameter
                             ? parameter_error(name, found->second.numbers, values.numbers, fp64)
                             : norm(difference(found->second.numbers, values.numbers)) / norm(values.numbers);
    EXPECT_LE(error, parameter  ? bounds.parameters
                     : gradient ? bounds.gradients
                                : bounds.outputs)
        << where << ": " << name;
  }
  for (const auto& [name, values] : ours) {
    if (starts_with(name, "grad.")) {
      EXPECT_TRUE(theirs.count(name)) << where << ": " << name << " is unexpected";
    }
  }
}

inline Tensors expected_of(const std::string& name, const std::string& file) {
  return read_tensors(folder(name) + "/" + file + "_fp64.safetensors");
}

inline Tensors without_losses(Tensors tensors) {
  tensors.erase("losses");
  return tensors;
}

}  // namespace shardlens
