// Runs ffmpeg as a process with a socket to it. The file gets its name only when it is complete.
#include "app/studio/video_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "engine/base/error.h"

extern char** environ;

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
    : path_(path), temporary_(path) {
  require_video(path, size);
  temporary_ += fmt::format(".{}.part", getpid());
  int ends[2];
  messages_ = memfd_create("ffmpeg", MFD_CLOEXEC);
  if (messages_ < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw run_error(fmt::format("cannot start ffmpeg: {}", std::strerror(errno)));
  pixels_ = ends[0];

  std::vector<std::string> arguments{"ffmpeg",
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
  arguments.insert(arguments.end(), format.begin(), format.end());
  arguments.insert(arguments.end(), {"-fflags", "+bitexact", "-y", "file:" + temporary_.string()});
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, messages_, STDERR_FILENO);
  // In its own process group, so that Ctrl+C reaches only us; we end ffmpeg.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int failed = posix_spawnp(&process_, "ffmpeg", &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed == 0) return;
  process_ = -1;
  close_pixels();
  close(messages_);
  if (failed == ENOENT)
    throw request_error("a video needs ffmpeg, which is not installed: apt-get install ffmpeg");
  throw run_error(fmt::format("cannot start ffmpeg: {}", std::strerror(failed)));
}

VideoFile::~VideoFile() {
  if (process_ > 0) kill(process_, SIGKILL);
  close_pixels();
  wait_for_end();
  close(messages_);
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void VideoFile::close_pixels() {
  if (pixels_ >= 0) close(pixels_);
  pixels_ = -1;
}

/// Waits for ffmpeg to end and returns its wait status; 0 if it succeeded.
int VideoFile::wait_for_end() {
  int status = 0;
  while (process_ > 0 && waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return status;
}

void VideoFile::fail() {
  close_pixels();
  wait_for_end();
  std::string said(4096, '\0');
  const ssize_t length = pread(messages_, said.data(), said.size(), 0);
  said.resize(length > 0 ? static_cast<size_t>(length) : 0);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  throw run_error(fmt::format("ffmpeg did not write {}: {}", path_.string(),
                              said.empty() ? "it ended without saying why" : said));
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
  if (wait_for_end() != 0) fail();
  std::error_code failed;
  std::filesystem::rename(temporary_, path_, failed);
  if (failed) throw run_error(fmt::format("cannot give {} its name: {}", path_.string(), failed.message()));
}

}  // namespace shardlens
