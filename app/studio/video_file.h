// Writes frames into a video with ffmpeg, which runs as another process and reads raw pixels. So only the
// current frame is in memory. The file appears under its name when it is complete.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/io/atomic_file.h"
#include "engine/io/child_program.h"
#include "engine/io/output_file.h"
#include "ui/platform/image.h"

namespace shardlens {

/// A video of one of these forms. Whether this program made it cannot be told.
inline constexpr OutputKind kVideoFile{"a video", [](std::string_view beginning, std::string_view) {
                                         return beginning.substr(0, 8).ends_with("ftyp") ||
                                                beginning.starts_with("GIF8") ||
                                                beginning.starts_with("\x1a\x45\xdf\xa3");
                                       }};

/// Throws a request Error unless the name ends in .mp4 (H.264, plays everywhere), .gif, or .mkv (FFV1: exact
/// pixels), and the format can have the size.
void require_video(const std::filesystem::path& path, PixelSize size);

class VideoFile {
 public:
  /// Starts ffmpeg. Throws a request Error if it is not installed or the folder cannot be written to.
  VideoFile(const std::filesystem::path& path, PixelSize size, double frames_per_second);
  ~VideoFile();  ///< stops ffmpeg and leaves nothing behind unless commit() succeeded
  VideoFile(const VideoFile&) = delete;
  VideoFile& operator=(const VideoFile&) = delete;

  /// Adds the next frame, which has the given size. Throws a run Error with ffmpeg's message if ffmpeg has
  /// ended.
  void add(const Image& frame);
  /// Waits for ffmpeg to end and gives the file its name.
  void commit();

 private:
  [[noreturn]] void fail();
  void close_pixels();

  std::filesystem::path path_;
  AtomicFile file_;  ///< ffmpeg writes it by its descriptor: nobody can put a link under a name of it
  int pixels_ = -1;  ///< our end; ffmpeg reads the other one
  std::optional<ChildProgram> ffmpeg_;
};

}  // namespace shardlens
