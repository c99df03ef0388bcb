// The small sound files that are damaged, from tests/data or made here. Some belong together in one folder.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/file_harm.h"

namespace shardlens::fuzz {

struct SoundFile {
  std::string name;  ///< below the folder that it lies in
  FileKind kind = FileKind::Bytes;
  std::string bytes;
};
using SoundFiles = std::vector<SoundFile>;

// Each returns several folders. `scratch` is a folder for what is made on the way.
std::vector<SoundFiles> sound_configs();
std::vector<SoundFiles> sound_weights(const std::string& scratch);
std::vector<SoundFiles> sound_tokenizers();
std::vector<SoundFiles> sound_sentencepiece(const std::string& scratch);
std::vector<SoundFiles> sound_arrays();
std::vector<SoundFiles> sound_splits();
std::vector<SoundFiles> sound_hardware();
std::vector<SoundFiles> sound_texts();
std::vector<SoundFiles> sound_corpora(const std::string& scratch);
std::vector<SoundFiles> sound_checkpoints(const std::string& scratch);
std::vector<SoundFiles> sound_lessons();
std::vector<SoundFiles> sound_answers();
std::vector<SoundFiles> sound_states(const std::string& scratch);

}  // namespace shardlens::fuzz
