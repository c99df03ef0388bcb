// Saves a whole run and reads it back.
#include "engine/train/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/base/units.h"
#include "engine/config/model_config.h"
#include "engine/config/settings_json.h"
#include "engine/io/atomic_file.h"
#include "engine/io/exchange_folders.h"
#include "engine/io/file_problem.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"
#include "engine/io/path_text.h"
#include "engine/io/safetensors.h"
#include "engine/io/safetensors_index.h"
#include "engine/io/temporary_folder.h"
#include "engine/planner/parameters.h"
#include "engine/runtime/checksum.h"
#include "engine/train/loss_scaler.h"
#include "engine/train/model_state.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int64_t kFormat = 1;
constexpr const char* kState = kCheckpointState;
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kMovedAside = ".shardlens-moved-aside";  // the mark of a folder that move_aside() moved

fs::path previous_of(const fs::path& folder) {
  return folder.string() + ".previous";
}

// The path without a trailing slash, so that names next to it can be made.
fs::path canonical_name(const fs::path& folder) {
  const fs::path path = fs::weakly_canonical(folder);
  return path.has_filename() ? path : path.parent_path();
}

// Follows a symbolic link to its folder, which may not exist: the link stays, and one folder has one lock.
fs::path place(const std::string& folder) {
  fs::path path = canonical_name(fs::absolute(folder));
  while (fs::is_symlink(path)) path = canonical_name(path.parent_path() / fs::read_symlink(path));
  return path;
}

// The folder of the newest whole checkpoint. If two folders cannot be exchanged in one move, a kill between
// two moves can leave the old checkpoint under the name .previous.
fs::path standing(const std::string& folder) {
  const fs::path path = place(folder);
  const bool moved = !fs::exists(path / kState) && fs::exists(previous_of(path) / kState);
  return moved ? previous_of(path) : path;
}

// One tensor of a file is made of these parts of parameters.
struct Source {
  TensorId tensor = kNoTensor;
  StoredPart part;
};
using Sources = std::vector<Source>;

// The file's tensors: every stored part of every tensor of `kind`. Each is made when it is written.
std::vector<TensorToStore> tensors_to_store(const Executor& executor, const Program& program,
                                            MemoryKind kind) {
  std::vector<Sources> tensors;
  std::map<std::string, size_t> place_of;  // by name: its index in `tensors`
  for (const TensorId id : lasting_tensors(program)) {
    const Tensor& tensor = program.tensor(id);
    if (tensor.kind != kind) continue;
    for (const StoredPart& part : stored_parts(program, tensor)) {
      const auto [at, is_new] = place_of.emplace(part.name, tensors.size());
      if (is_new) tensors.emplace_back();
      tensors[at->second].push_back({id, part});
    }
  }
  std::vector<TensorToStore> stored;
  for (const Sources& sources : tensors) {
    const StoredPart& first = sources.front().part;
    const DType dtype = program.tensor(sources.front().tensor).dtype;
    TensorToStore one{first.name, dtype, first.shape, nullptr, {}};
    one.make = [&executor, &program, sources, dtype, shape = first.shape] {
      std::vector<std::byte> bytes(static_cast<size_t>(element_count(shape) * element_bytes(dtype)));
      for (const auto& [id, part] : sources) {
        const std::vector<std::byte> whole = read_whole(executor, program, id);
        take_part(program.tensor(id), part, whole.data(), element_bytes(dtype), bytes.data());
      }
      require_finite("tensor " + sources.front().part.name, dtype, bytes);
      return bytes;
    };
    const std::string again = second_name(program.settings, one.name);
    stored.push_back(std::move(one));
    if (again.empty()) continue;
    stored.push_back(stored.back());
    stored.back().name = again;
  }
  return stored;
}

using Checksums = std::map<std::string, std::string>;  // of files, by name

ordered_json to_json(const TrainingState& state, const TrainText& text, const Checksums& checksums) {
  Settings settings = state.settings;
  settings.weights_path.clear();
  ordered_json json = {{"format", kFormat},
                       {"step", state.step},
                       {"steps", state.steps},
                       {"iteration", state.iteration},
                       {"rows_read", state.step * settings.batch},
                       {"schedule",
                        {{"decay", to_string(state.schedule.decay)},
                         {"peak", state.schedule.peak},
                         {"lowest", state.schedule.lowest},
                         {"warmup", state.schedule.warmup},
                         {"steps", state.schedule.steps}}},
                       {"loss_scale", state.loss_scale},
                       {"scale_good_steps", state.scale_good_steps},
                       {"text", {{"path", path_text(text.path)}, {"tokens", text.tokens}}}};
  if (text.hash != 0) json["text"]["hash"] = text.hash;
  if (text.tokenizer)
    json["tokenizer"] = {{"name", text.tokenizer->name()}, {"fingerprint", text.tokenizer->fingerprint()}};
  json["checksums"] = checksums;
  json["settings"] = settings_to_json(settings);
  json["checksums"][kState] = state_checksum(json);
  return json;
}

void write_files(const fs::path& part, const TrainingState& state, const TrainText& text,
                 const Executor& executor, const Program& program, int64_t shard_bytes) {
  const auto in = [&](const std::string& name) { return (part / name).string(); };
  // Hugging Face's loaders require "format". The step tells files of different checkpoints apart.
  const std::map<std::string, std::string> metadata{{"format", "pt"}, {"step", std::to_string(state.step)}};
  const auto end = text.tokenizer ? text.tokenizer->end_of_text() : std::nullopt;
  write_file_atomically(in("config.json"), kOwnFile,
                        hugging_face_config(program.settings.model, program.settings.dtype, end));
  if (text.tokenizer) {
    for (const auto& [name, contents] : text.tokenizer->files())
      write_file_atomically(in(name), kOwnFile, contents);
  }
  Checksums checksums;
  for (const auto& [name, kind] :
       {std::pair{kWeights, MemoryKind::Weight}, {kOptimizer, MemoryKind::OptimizerState}}) {
    std::map<std::string, Checksum> of_files;
    write_sharded_safetensors(in(name), tensors_to_store(executor, program, kind), metadata, shard_bytes,
                              [&](const std::string& path, const void* data, size_t bytes) {
                                of_files[fs::path(path).filename()].add(data, bytes);
                              });
    for (const auto& [file, checksum] : of_files) checksums[file] = checksum.text();
  }
  write_file_atomically(in(kState), kOwnFile, json_text(to_json(state, text, checksums), 2) + "\n");
}

[[noreturn]] void fail(const std::string& what, const fs::path& path) {
  throw run_error(
      fmt::format("cannot {} {}: {}", what, path.string(), reason_and_remedy(errno, Refused::Write)));
}

void rename_or_fail(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail("move", from);
}

// True for files that a checkpoint may have and the next one may lack: its tensors are in one file or in
// several.
bool is_own(const std::string& file) {
  return file == kMovedAside || is_written_for(kWeights, file) || is_written_for(kOptimizer, file);
}

// Moves what no checkpoint has from the folder `old` to the checkpoint in `path`: it belongs to the user.
void keep_files_of_the_user(const fs::path& old, const fs::path& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(old)) {
    const fs::path kept = path / entry.path().filename();
    if (!fs::exists(kept) && !is_own(kept.filename())) rename_or_fail(entry.path(), kept);
  }
}

// Where two folders cannot be exchanged in one move, the old one is first moved to `previous`. Only a folder
// that carries the mark of this move is ever removed there: `previous` is also a name that a person would
// choose for a copy.
void move_aside(const fs::path& path, const fs::path& previous) {
  if (fs::exists(previous) && !fs::exists(previous / kMovedAside))
    throw run_error(fmt::format("{} is in the way: move it elsewhere", previous.string()));
  fs::remove_all(previous);
  write_file_atomically((path / kMovedAside).string(), kOwnFile,
                        "This folder is removed when the next step is saved.\n");
  rename_or_fail(path, previous);
}

// Puts the content of `part` in the place of `path`. Afterwards `part` or `previous` holds the old folder,
// without the files that belong to the user.
void change_places(TemporaryFolder& part, const fs::path& path) {
  if (!fs::exists(path)) return rename_or_fail(part.path(), path);
  const bool exchanged = exchange_folders(part.path(), path);
  if (!exchanged && errno != EINVAL && errno != ENOSYS) fail("put in its place", path);
  const fs::path old = exchanged ? fs::path(part.path()) : previous_of(path);
  if (!exchanged) {
    move_aside(path, old);
    rename_or_fail(part.path(), path);
  }
  try {
    keep_files_of_the_user(old, path);
  } catch (...) {
    part.leave();
    throw;
  }
  if (!exchanged) fs::remove_all(old);
}

void bring_to_disk(const fs::path& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

std::unique_ptr<SafetensorsFile> open_of_step(const fs::path& path, const TrainingState& state) {
  if (!fs::exists(path)) {
    throw request_error(
        fmt::format("{} is missing, so the run cannot be resumed. To begin a new run from the weights in the "
                    "folder, if they are there, use --model {}",
                    path.string(), path.parent_path().string()));
  }
  auto file = std::make_unique<SafetensorsFile>(path.string());
  const auto step = file->metadata().find("step");
  const std::string found = step == file->metadata().end() ? "of no step" : "of step " + shown(step->second);
  if (step == file->metadata().end() || step->second != std::to_string(state.step)) {
    throw request_error(fmt::format("{} is {} and {} of step {}: these files do not belong together",
                                    path.string(), found, kState, state.step));
  }
  return file;
}

}  // namespace

std::unique_ptr<SoleWriter> take_checkpoint_place(const std::string& folder) {
  const fs::path path = place(folder);
  if (fs::exists(path) && !fs::is_directory(path))
    throw request_error(fmt::format("{} is a file; --checkpoint takes a folder", folder));
  const bool others = fs::exists(path) && !fs::is_empty(path) && !fs::exists(path / kState);
  if (others) {
    throw request_error(fmt::format(
        "{} is not empty and holds no checkpoint of a training run (no {}). Give a new or an empty folder",
        folder, kState));
  }
  const auto explained = [&](const auto& make) {
    try {
      make();
    } catch (const Error& error) {
      throw request_error(fmt::format("checkpoints cannot be written next to {}: {}", folder, error.what()));
    }
  };
  explained([&] { make_folder(path.parent_path()); });
  auto taken = std::make_unique<SoleWriter>(path.string());
  // A kill may have left a folder that is not whole, or the old checkpoint, in which the user has files.
  TemporaryFolder::remove_left_beside(path.string(), [&](const std::string& left) {
    if (fs::exists(fs::path(left) / kState) && fs::exists(path / kState)) keep_files_of_the_user(left, path);
  });
  explained([&] { TemporaryFolder::beside(path.string()); });
  return taken;
}

void require_no_other_run(const std::string& folder, const std::string& resume) {
  std::error_code unknown;
  const bool goes_on = !resume.empty() && fs::equivalent(standing(folder), standing(resume), unknown);
  if (goes_on || !are_existing_kept(Existing::Kept) || !is_checkpoint(folder)) return;
  throw request_error(
      fmt::format("{0} holds the checkpoint of another run, which this run would replace. To continue that "
                  "run, use --resume {0}, or --restart with the command that began it. To begin a new run, "
                  "give another folder, remove this one, or add --overwrite",
                  folder));
}

void save_checkpoint(const std::string& folder, const TrainingState& state, const TrainText& text,
                     const Executor& executor, const Program& program, int64_t shard_bytes) {
  const fs::path path = place(folder);
  try {
    make_folder(path.parent_path());
    TemporaryFolder part = TemporaryFolder::beside(path.string());
    write_files(part.path(), state, text, executor, program, shard_bytes);
    change_places(part, path);
    bring_to_disk(path.parent_path());
  } catch (const std::exception& error) {
    const bool before = fs::exists(path / kState);
    throw run_error(
        fmt::format("the checkpoint of step {} could not be saved: {}{}", state.step, message_of(error),
                    before ? fmt::format(". The previous checkpoint in {} is unchanged", folder) : ""));
  }
}

bool is_checkpoint(const std::string& folder) {
  return fs::exists(standing(folder) / kState);
}

std::unique_ptr<HeldFolder> hold_checkpoint(const std::string& folder) {
  return std::make_unique<HeldFolder>(standing(folder).string());
}

TrainingState read_training_state(const std::string& folder) {
  const fs::path path = standing(folder) / kState;
  if (!fs::exists(path)) {
    throw request_error(
        fmt::format("{} is no checkpoint of a training run: it has no {}. Give the folder that "
                    "--checkpoint named. For a folder with only weights use --model",
                    folder, kState));
  }
  const std::string where = path.string();
  const nlohmann::json json = read_checkpoint_state(where);
  ObjectReader reader(json, where);
  if (const int64_t format = reader.integer("format"); format != kFormat)
    throw request_error(fmt::format("{} has format {}; this version reads {}", where, format, kFormat));
  TrainingState state;
  state.settings = settings_from_json(reader.child("settings"), where + ", settings");
  state.step = reader.integer("step");
  state.steps = reader.integer("steps");
  state.iteration = reader.integer("iteration");
  reader.integer("rows_read");  // for people and scripts; it can be computed from the step
  state.loss_scale = reader.number("loss_scale");
  state.scale_good_steps = reader.integer("scale_good_steps");
  ObjectReader schedule(reader.child("schedule"), where + ", schedule");
  state.schedule.decay = schedule.word("decay", parse_decay);
  state.schedule.peak = schedule.number("peak");
  state.schedule.lowest = schedule.number("lowest");
  state.schedule.warmup = schedule.integer("warmup");
  state.schedule.steps = schedule.integer("steps");
  schedule.finish();
  ObjectReader text(reader.child("text"), where + ", text");
  state.text_path = path_of(text.string("path"));
  state.text_tokens = text.integer("tokens");
  if (text.has("hash")) state.text_hash = text.unsigned_integer("hash");
  text.finish();
  if (reader.has("tokenizer")) {
    ObjectReader tokenizer(reader.child("tokenizer"), where + ", tokenizer");
    state.tokenizer = tokenizer.string("name");
    state.tokenizer_fingerprint = tokenizer.unsigned_integer("fingerprint");
    tokenizer.finish();
  }
  reader.has("checksums");  // compared with the files when they are read
  reader.finish();
  if (state.step < 0 || state.iteration < 0 || state.iteration > state.step)
    throw request_error(
        fmt::format("{}: {} updates in {} steps is not possible", where, state.iteration, state.step));
  const int64_t good = state.scale_good_steps;
  if (!LossScaler::is_possible(state.loss_scale) || good < 0 || good >= LossScaler::kPatience)
    throw request_error(fmt::format("{}: a loss scale of {} after {} good steps is not possible", where,
                                    state.loss_scale, good));
  return state;
}

std::string checkpoint_weights(const std::string& folder, const TrainingState& state) {
  const std::string path = file_or_index((standing(folder) / kWeights).string());
  open_of_step(path, state);
  return path;
}

void load_optimizer_state(const std::string& folder, const TrainingState& state, Executor& executor,
                          const Program& program) {
  const std::unique_ptr<SafetensorsFile> file =
      open_of_step(file_or_index((standing(folder) / kOptimizer).string()), state);
  for (const std::string& path : file->paths()) require_as_saved(path);
  for (const TensorId id : lasting_tensors(program)) {
    const Tensor& tensor = program.tensor(id);
    if (tensor.kind != MemoryKind::OptimizerState) continue;
    std::vector<std::byte> whole(static_cast<size_t>(tensor.bytes()));
    for (const StoredPart& part : stored_parts(program, tensor)) {
      std::vector<std::byte> bytes(
          static_cast<size_t>(element_count(part.shape) * element_bytes(tensor.dtype)));
      const StoredTensor& stored = file->require(part.name, part.shape);
      file->read(stored, tensor.dtype, bytes.data());
      require_finite(fmt::format("{}, tensor {}", file->path_of(stored), part.name), tensor.dtype, bytes);
      put_part(tensor, part, bytes.data(), element_bytes(tensor.dtype), whole.data());
    }
    write_whole(executor, program, id, whole);
  }
}

void require_same_text(const TrainingState& state, const TrainText& text) {
  if (!text.tokenizer) return;
  if (text.tokenizer->fingerprint() != state.tokenizer_fingerprint) {
    throw request_error(fmt::format(
        "the checkpoint was trained with the tokenizer {} (fingerprint {:016x}), but {} is tokenised with {} "
        "({:016x}). Give the text and --tokenizer of the first run",
        state.tokenizer, state.tokenizer_fingerprint, text.path, text.tokenizer->name(),
        text.tokenizer->fingerprint()));
  }
  const bool as_many = text.tokens == state.text_tokens;
  const bool hashes_known = text.hash != 0 && state.text_hash != 0;
  if (!as_many || (hashes_known && text.hash != state.text_hash)) {
    throw request_error(fmt::format(
        "the checkpoint was trained on {} ({} tokens), but {} has {}. Resume with the text of the first run, "
        "or begin a new run from its weights with --model",
        state.text_path, grouped_text(state.text_tokens), text.path,
        as_many ? "as many, but other ones" : grouped_text(text.tokens)));
  }
}

}  // namespace shardlens
