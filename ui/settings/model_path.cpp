// Finds the model and the weights of a path: see model_path.h.
#include "ui/settings/model_path.h"
#include "ui/commands/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>

#include "engine/config/presets.h"
#include "engine/config/weights_of_model.h"
#include "engine/io/file_kind.h"
#include "engine/io/file_problem.h"
#include "engine/io/safetensors_index.h"
#include "engine/runtime/recordings/replay_snapshot.h"

namespace shardlens::ui {
namespace {

/// A path taken apart.
struct ModelPath {
  std::filesystem::path folder;
  std::string weights;     ///< those of several that a person chose; empty: the folder's own
  bool has_model = false;  ///< the folder has a config.json
  bool is_weights = false;
};

ModelPath parts_of(const std::string& path) {
  const std::filesystem::path given(path);
  std::error_code unknown;
  const bool is_folder = std::filesystem::is_directory(given, unknown);
  ModelPath parts;
  parts.folder = is_folder ? given : given.parent_path();
  parts.has_model = std::filesystem::exists(parts.folder / "config.json", unknown);
  // One file or shards of this name are the folder's own.
  const bool is_own = is_written_for("model.safetensors", given.filename().string());
  parts.is_weights = !is_folder && (is_own || is_weights_file(path));
  if (parts.is_weights && !is_own) parts.weights = path;
  if (!is_folder && !parts.is_weights) parts.has_model = false;
  return parts;
}

}  // namespace

bool names_a_model(const std::string& path) {
  const ModelPath parts = parts_of(path);
  return parts.has_model || parts.is_weights;
}

void take_model(const Context& context, const std::string& path) {
  const ModelPath parts = parts_of(path);
  if (!parts.has_model) {
    context.view.said = {fmt::format(
        "{} holds weights, but its folder has no config.json that names the model. If the weights belong to "
        "the model in Setup, choose the file under Weights in Setup.",
        std::filesystem::path(path).filename().string())};
    return;
  }
  if (context.replay.is_open()) {
    context.view.said = {
        fmt::format("A model cannot be opened while Setup shows a recording: close the recording ({}) first.",
                    key_of("replay.close"))};
    return;
  }
  try {
    Settings changed = context.wanted();
    changed.model = find_model(parts.folder.string());
    changed.weights_path = parts.weights.empty() ? weights_of_model(parts.folder.string()) : parts.weights;
    changed.layer = 0;
    changed.seq = std::min(changed.seq, changed.model.positions);
    context.view.chooser_open = false;  // the list would cover the new model
    context.want_weights(changed);
  } catch (const std::exception& error) {
    context.view.said = {message_of(error)};
  }
}

}  // namespace shardlens::ui
