// A recording that nobody keeps.
#include "engine/record/scratch_recording.h"

#include <filesystem>

namespace shardlens {
namespace {

std::string journal_of(const std::string& recording) {
  return recording + "-journal";
}

}  // namespace

ScratchRecording::ScratchRecording(const std::string& path)
    : path_(path), file_(path), journal_(journal_of(path)) {}

ScratchRecording::~ScratchRecording() {
  std::error_code ignored;
  for (const std::string& made : {path_, journal_of(path_)}) std::filesystem::remove(made, ignored);
}

}  // namespace shardlens
