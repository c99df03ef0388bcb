// Frames into a video, by ffmpeg: it runs as a process of its own and reads raw pixels, so that nothing but
// the present frame is kept. The file appears under its name when it is whole.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "ui/platform/image.h"

namespace shardlens {

/// Throws a request Error unless the name ends in .mp4 (H.264, for everywhere), .gif, or .mkv (FFV1: every
/// pixel as it was drawn), and the format takes the size.
void require_video(const std::filesystem::path& path, PixelSize size);

class VideoFile {
 public:
  /// Starts ffmpeg; throws a request Error when it is not installed or the folder cannot be written to.
  VideoFile(const std::filesystem::path& path, PixelSize size, double frames_per_second);
  ~VideoFile();  ///< stops ffmpeg and leaves nothing behind unless commit() succeeded
  VideoFile(const VideoFile&) = delete;
  VideoFile& operator=(const VideoFile&) = delete;

  /// The next frame, of the size given. Throws a run Error with what ffmpeg said when it has ended.
  void add(const Image& frame);
  /// Waits for ffmpeg to end, and puts the file in its place.
  void commit();

 private:
  [[noreturn]] void fail();
  void close_pixels();
  int wait_for_end();

  std::filesystem::path path_, temporary_;
  pid_t process_ = -1;
  int pixels_ = -1;    ///< our end; ffmpeg reads the other one
  int messages_ = -1;  ///< an unnamed file: what ffmpeg says
};

}  // namespace shardlens
