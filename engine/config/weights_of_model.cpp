// The forms in which a folder may hold weights.
#include "engine/config/weights_of_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/config/presets.h"
#include "engine/io/safetensors_index.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

// How files of weights end: of PyTorch, TensorFlow, Flax, llama.cpp, ONNX, Rust, NumPy, Paddle, and
// safetensors under another name.
constexpr std::array<std::string_view, 15> kEndings = {
    ".bin",  ".pt", ".pth", ".ckpt", ".h5",       ".msgpack",    ".gguf",       ".ggml",
    ".onnx", ".ot", ".npz", ".data", ".pdparams", ".index.json", ".safetensors"};

bool is_weights(const std::string& path) {
  const std::string name = lower_case(path);
  return name.find(".ckpt.") != std::string::npos ||
         std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view end) { return name.ends_with(end); });
}

[[noreturn]] void refuse(const std::string& folder, const std::string& file) {
  const std::string path = (fs::path(folder) / file).string();
  if (is_written_for("model.safetensors", file))
    throw request_error(
        fmt::format("{} is one file of several, but the index that says what each of them holds, "
                    "model.safetensors.index.json, is missing: copy it from where the files are from",
                    path));
  if (file.ends_with(".safetensors"))
    throw request_error(fmt::format(
        "{0} is not called model.safetensors, so it may hold something else: if it holds the model's "
        "weights, add --weights {0}",
        path));
  throw request_error(fmt::format(
      "{0} holds weights in a form that is not read here. Write them as model.safetensors with the program "
      "that made them; for PyTorch's: python -c \"import transformers as t; "
      "t.AutoModelForPreTraining.from_pretrained('{1}').save_pretrained('{1}')\"",
      path, folder));
}

}  // namespace

std::string weights_of_model(const std::string& name_or_folder) {
  const std::string folder = folder_of_model(name_or_folder);
  if (folder.empty()) return {};
  const std::string weights = file_or_index((fs::path(folder) / "model.safetensors").string());
  if (fs::exists(fs::symlink_status(weights)) || fs::exists(fs::path(folder) / "training.json"))
    return weights;
  std::vector<std::string> others;
  std::error_code unreadable;  // then config.json cannot be read either, which is reported
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, unreadable))
    if (is_weights(entry.path().filename())) others.push_back(entry.path().filename());
  if (others.empty()) return {};
  refuse(folder, *std::min_element(others.begin(), others.end()));
}

}  // namespace shardlens
