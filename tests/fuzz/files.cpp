// Every form but recordings: the sound files, what reads them, and the damage to one of them and to the place
// it has.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>

#include "tests/fuzz/file_harm.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/seal.h"
#include "tests/fuzz/sound_files.h"

namespace shardlens::fuzz {
namespace {

namespace fs = std::filesystem;

// What stands in a file's place.
std::string harm_place(const fs::path& path, Random& random) {
  fs::remove(path);
  switch (below(random, 8)) {
    case 0:
      fs::create_directory(path);
      return "a folder in its place";
    case 1:
      fs::create_symlink(path.filename(), path);
      return "a link to itself in its place";
    case 2:
      fs::create_symlink("/dev/zero", path);
      return "/dev/zero in its place";
    case 3:
      fs::create_symlink("/dev/null", path);
      return "/dev/null in its place";
    case 4:
      mkfifo(path.c_str(), 0600);
      return "a pipe in its place";
    default:
      return "taken away";
  }
}

// Sometimes a name that is no text, and would reach a terminal.
std::string any_name(Random& random) {
  return below(random, 24) == 0 ? "c\xff\x1b[31m" : "case";
}

class Files : public Form {
 public:
  Files(std::string name, std::vector<SoundFiles> sound, std::function<void(const std::string&)> reader)
      : name_(std::move(name)), sound_(std::move(sound)), reader_(std::move(reader)) {}

  std::string name() const override { return name_; }

  std::string damage(const std::string& folder, Random& random) override {
    path_ = (fs::path(folder) / any_name(random)).string();
    SoundFiles files = one_of(random, sound_);
    const size_t which = below(random, files.size());
    std::string done = files[which].name + ": ";
    const bool elsewhere = below(random, 100) == 0;
    if (!elsewhere)
      files[which].bytes = harm_file(files[which].kind, std::move(files[which].bytes), random, done);
    // What has a checksum is read further only if the checksum is right.
    if (!elsewhere && below(random, 4) > 0) seal(files);
    for (const SoundFile& file : files) {
      const fs::path path = fs::path(path_) / file.name;
      fs::create_directories(path.parent_path());
      std::ofstream(path, std::ios::binary) << file.bytes;
    }
    if (elsewhere) done += harm_place(fs::path(path_) / files[which].name, random);
    return done;
  }

  void read(const std::string&) override { reader_(path_); }

 private:
  const std::string name_;
  const std::vector<SoundFiles> sound_;
  const std::function<void(const std::string&)> reader_;
  std::string path_;
};

}  // namespace

std::vector<std::unique_ptr<Form>> files(const std::string& scratch) {
  std::vector<std::unique_ptr<Form>> forms;
  const auto add = [&](const char* name, std::vector<SoundFiles> sound,
                       std::function<void(const std::string&)> reader) {
    forms.push_back(std::make_unique<Files>(name, std::move(sound), std::move(reader)));
  };
  add("config", sound_configs(), read_config);
  add("weights", sound_weights(scratch), read_weights);
  add("tokenizer", sound_tokenizers(), read_tokenizer);
  add("sentencepiece", sound_sentencepiece(scratch), read_tokenizer);
  add("npy", sound_arrays(), read_array);
  add("split", sound_splits(), read_split);
  add("hardware", sound_hardware(), read_hardware);
  add("text", sound_texts(), read_text);
  add("corpus", sound_corpora(scratch), read_corpus);
  add("checkpoint", sound_checkpoints(scratch), read_checkpoint);
  add("lesson", sound_lessons(), read_lesson_file);
  add("answers", sound_answers(), read_answers_file);
  add("state", sound_states(scratch), read_state_file);
  return forms;
}

}  // namespace shardlens::fuzz
