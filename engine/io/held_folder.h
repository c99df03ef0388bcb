// Reads a folder that another program may replace meanwhile. A checkpoint that is being saved replaces the
// one before in one move, and then that one is removed: files that are opened one after the other, by their
// names, could be of two checkpoints.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

/// While it lives, InputFile reads the files of a folder as they were at one moment. It finds them by the
/// name of the folder that this object was given, a slash and the file's name.
class HeldFolder {
 public:
  /// Opens all files of the folder. Throws nothing: what cannot be opened is not held, and its reader says
  /// why.
  explicit HeldFolder(const std::string& folder);
  ~HeldFolder();
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;

  struct File {
    std::string path;
    int descriptor = -1;
  };

 private:
  std::vector<File> files_;
};

/// Returns a new descriptor of the file if a HeldFolder holds it, otherwise -1. From any thread.
int open_held(const std::string& path);

}  // namespace shardlens
