// Runs ffmpeg as a process with a socket to it, and gives it a file that has no name until it is complete.
#include "app/studio/video_file.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/io/file_problem.h"

namespace shardlens {
namespace {

/// Returns ffmpeg's arguments for the format, chosen by the ending of the name.
std::vector<std::string> format_arguments(const std::string& ending) {
  if (ending == ".mp4")
    return {"-c:v",     "libx264", "-preset",   "medium",     "-crf", "14",
            "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f",   "mp4"};
  // Each frame has its own palette: ffmpeg keeps no frames until the end, and a frame with few colours stays
  // exact.
  if (ending == ".gif")
    return {"-filter_complex",
            "split[a][b];[a]palettegen=stats_mode=single:reserve_transparent=0[p];[b][p]paletteuse=new=1:"
            "dither=none",
            "-f", "gif"};
  if (ending == ".mkv") return {"-c:v", "ffv1", "-pix_fmt", "bgr0", "-f", "matroska"};
  return {};
}

}  // namespace

void require_video(const std::filesystem::path& path, PixelSize size) {
  if (format_arguments(path.extension()).empty())
    throw request_error(fmt::format(
        "{}: a video's name must end in .mp4, .gif, or .mkv (which keeps every pixel)", path.string()));
  if (path.extension() == ".mp4" && (size.width % 2 != 0 || size.height % 2 != 0))
    throw request_error(
        fmt::format("an MP4 needs an even width and height: try --size {}x{}, or write .gif or .mkv",
                    size.width / 2 * 2, size.height / 2 * 2));
}

VideoFile::VideoFile(const std::filesystem::path& path, PixelSize size, double frames_per_second)
    : path_(path), file_(path.string(), kVideoFile) {
  require_video(path, size);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw run_error(fmt::format("cannot start ffmpeg: {}", reason_and_remedy(errno, Refused::Start)));
  pixels_ = ends[0];
  std::vector<std::string> words{"ffmpeg",
                                 "-hide_banner",
                                 "-loglevel",
                                 "error",
                                 "-f",
                                 "rawvideo",
                                 "-pixel_format",
                                 "rgb0",
                                 "-video_size",
                                 fmt::format("{}x{}", size.width, size.height),
                                 "-framerate",
                                 fmt::format("{}", frames_per_second),
                                 "-i",
                                 "pipe:0"};
  const std::vector<std::string> format = format_arguments(path.extension());
  words.insert(words.end(), format.begin(), format.end());
  words.insert(words.end(),
               {"-fflags", "+bitexact", "-y", fmt::format("file:/proc/self/fd/{}", ChildProgram::kFile)});
  try {
    ffmpeg_.emplace(words, ChildProgram::Streams{.input = ends[1], .file = file_.descriptor()},
                    "a video needs ffmpeg, which is not installed: apt-get install ffmpeg");
  } catch (...) {
    close(ends[1]);
    close_pixels();
    throw;
  }
  close(ends[1]);
}

VideoFile::~VideoFile() {
  if (ffmpeg_) ffmpeg_->end();
  close_pixels();
}

void VideoFile::close_pixels() {
  if (pixels_ >= 0) close(pixels_);
  pixels_ = -1;
}

void VideoFile::fail() {
  close_pixels();
  const std::string why = ffmpeg_->wait();
  throw run_error(fmt::format("ffmpeg did not write {}: {}", path_.string(),
                              why.empty() ? "it ended before the last frame" : why));
}

void VideoFile::add(const Image& frame) {
  const auto* from = frame.rgba.data();
  size_t left = frame.rgba.size();
  while (left > 0) {
    const ssize_t sent = send(pixels_, from, left, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail();
    from += sent;
    left -= static_cast<size_t>(sent);
  }
}

void VideoFile::commit() {
  close_pixels();
  const std::string why = ffmpeg_->wait();
  if (!why.empty()) throw run_error(fmt::format("ffmpeg did not write {}: {}", path_.string(), why));
  file_.commit();
}

}  // namespace shardlens
