// Runs --video as a user does. ffprobe reads the video and ffmpeg decodes it: a frame is the picture of its
// moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/app/process.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace video_test {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kSmall = " --size 640x360 --fps 10 --speed 2 --from 1 --to 4 ";

class Videos : public TestFolder {
 protected:
  static json probed(const std::string& file) {
    const Ended ended =
        run_program("ffprobe -v error -count_frames -of json -show_streams -show_format", file);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return json::parse(ended.out, nullptr, false);
  }
  /// The pixels of frame `index` of a video, or of a picture, as ffmpeg reads them.
  static std::string pixels(const std::string& file, int index = 0) {
    const Ended ended =
        run_program("ffmpeg -v error -i " + file, "-vf 'select=eq(n\\," + std::to_string(index) +
                                                      ")' -frames:v 1 -pix_fmt rgb24 -f rawvideo -");
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out;
  }
  void record(int steps = 8) {
    const Ended ended = run_program(
        SHARDLENS_CLI_PROGRAM, "train --model gpt2-tiny --batch 2 --seq 16 --tp 2 --data sample --steps " +
                                   std::to_string(steps) + " --record " + path("run"));
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
};

// Steps 1 to 4, counted from 0, are a product and three others, held 0.6 s each: 2.4 s, twice as fast.
TEST_F(Videos, HaveTheSizeTheFramesAndTheLengthAskedFor) {
  for (const std::string ending : {".mp4", ".gif", ".mkv"}) {
    const std::string file = path("walk" + ending);
    const Ended ended = draw_offscreen("--video " + file + kSmall + kTinyModel);
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("12 frames"));
    const json found = probed(file);
    ASSERT_EQ(found["streams"].size(), 1u);
    const json& stream = found["streams"][0];
    EXPECT_EQ(stream["width"], 640);
    EXPECT_EQ(stream["height"], 360);
    EXPECT_EQ(stream["nb_read_frames"], "12") << ending;
    EXPECT_EQ(stream["r_frame_rate"], "10/1");
    EXPECT_NEAR(std::stod(found["format"]["duration"].get<std::string>()), 1.2, 0.01);
  }
  EXPECT_EQ(files_in_folder(), 3u) << "and nothing half-written";
}

// Frame k is the moment k / fps * speed, whatever stood before it; and the same recording gives the same
// video.
TEST_F(Videos, AFrameOfARecordingIsThePictureOfItsMoment) {
  record(60);  // more than its 12 ms on any machine
  const std::string common = " --recording " + path("run") + " --size 800x600 ";
  const std::string film = common + "--fps 200 --speed 0.5 --from 0.002 --to 0.012 ";
  ASSERT_EQ(draw_offscreen("--video " + path("a.mkv") + film).code, 0);
  ASSERT_EQ(draw_offscreen("--video " + path("b.mkv") + film).code, 0);
  EXPECT_EQ(contents("a.mkv"), contents("b.mkv"));
  EXPECT_EQ(probed(path("a.mkv"))["streams"][0]["nb_read_frames"], "4");
  std::string before;
  int changes = 0;
  for (const int frame : {0, 1, 3}) {
    const std::string moment = std::to_string(0.002 + frame / 200.0 * 0.5);
    ASSERT_EQ(draw_offscreen("--screenshot " + path("moment.png") + common + "--at " + moment).code, 0);
    const std::string now = pixels(path("a.mkv"), frame);
    ASSERT_EQ(now.size(), 800u * 600 * 3);
    EXPECT_TRUE(now == pixels(path("moment.png"))) << "frame " << frame;
    changes += now != before ? 1 : 0;
    before = now;
  }
  EXPECT_EQ(changes, 3) << "different moments look different";
}

TEST_F(Videos, PicturesAndFiguresOfARecordingAreOfThePassAskedFor) {
  record();
  const std::string common = " --recording " + path("run") + " ";
  ASSERT_EQ(draw_offscreen("--screenshot " + path("1.png") + common + "--size 800x600 --pass 1").code, 0);
  ASSERT_EQ(draw_offscreen("--screenshot " + path("1again.png") + common + "--size 800x600 --pass 1").code,
            0);
  ASSERT_EQ(draw_offscreen("--screenshot " + path("3.png") + common + "--size 800x600 --pass 3").code, 0);
  EXPECT_EQ(contents("1.png"), contents("1again.png"));
  EXPECT_NE(contents("1.png"), contents("3.png"));
  for (const std::string view : {"stage", "timeline"}) {
    const Ended ended =
        draw_offscreen("--export " + path(view + ".svg") + common + "--pass 1 --view " + view);
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(contents(view + ".svg"), HasSubstr("replayed on "));
  }
  const Ended refused = draw_offscreen("--screenshot " + path("4.png") + common + "--pass 8");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("passes 0 to 7"));
}

TEST_F(Videos, AWrongRequestNamesTheRemedy) {
  const auto refused = [&](const std::string& arguments, const std::string& words) {
    const Ended ended = draw_offscreen(arguments + kTinyModel);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_THAT(ended.err, HasSubstr(words));
  };
  refused("--video " + path("a.avi"), ".mkv");
  refused("--video " + path("a.mp4") + " --size 641x360", "640x360");
  refused("--video " + path("a.mp4") + " --from 9 --to 3", "exchange");
  refused("--video " + path("a.mp4") + " --from nowhere", "nowhere");
  refused("--video " + path("a.mp4") + " --speed 0.000001", "frames");
  refused("--video " + path("absent/a.mp4"), "folder");
  refused("--screenshot " + path("a.png") + " --pass 3", "--recording");
  const Ended missing = run_program(std::string("env -u DISPLAY PATH=/nonexistent ") + SHARDLENS_PROGRAM,
                                    "--video " + path("a.mp4") + kSmall + kTinyModel);
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("apt-get install ffmpeg"));
  EXPECT_EQ(files_in_folder(), 0u);
}

// An ffmpeg that fails at once, and one that is taken away in the middle.
TEST_F(Videos, AFailingFfmpegIsSaidAndLeavesNothing) {
  std::filesystem::create_directories(path("bin"));
  const auto with = [&](const std::string& script) {
    write("bin/ffmpeg", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(path("bin/ffmpeg"), std::filesystem::perms::owner_all);
    return run_program("env -u DISPLAY PATH=" + path("bin") + ":/usr/bin:/bin " + SHARDLENS_PROGRAM,
                       "--video " + path("a.mp4") + kSmall + kTinyModel);
  };
  const Ended at_once = with("echo no such encoder >&2; exit 1");
  EXPECT_EQ(at_once.code, 3);
  EXPECT_THAT(at_once.err, HasSubstr("no such encoder"));
  const Ended halfway = with(
      "for f in \"$@\"; do last=${f#file:}; done; echo half > \"$last\"; "
      "head -c 2000000 > /dev/null; exit 1");
  EXPECT_EQ(halfway.code, 3);
  EXPECT_EQ(files_in_folder(), 1u) << "the folder with that ffmpeg";
}

// One that is being written has no name; that it is being written shows by the files that its ffmpeg has
// open.
class UnfinishedVideos : public Videos {
 protected:
  /// Begins a long video, sends `signal` once there is something of it, and returns the status with which it
  /// ended.
  int ended_by(int signal) const {
    const pid_t child = fork();
    if (child == 0) {
      const std::string command = std::string("exec env -u DISPLAY ") + SHARDLENS_PROGRAM + " --video " +
                                  path("long.mkv") + " --size 640x360 --speed 0.01" + kTinyModel +
                                  " >/dev/null 2>&1";
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    for (int polls = 0; polls < 6000 && !is_being_written(child); ++polls)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(is_being_written(child));
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

 private:
  /// True if a process that `parent` started has a file of the test's folder open, with bytes in it.
  bool is_being_written(pid_t parent) const {
    namespace fs = std::filesystem;
    std::error_code ended;
    for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(parent) + "/task", ended)) {
      std::ifstream children(task.path() / "children");
      for (std::string child; children >> child;)
        for (const auto& file : fs::directory_iterator("/proc/" + child + "/fd", ended))
          if (fs::read_symlink(file.path(), ended).string().starts_with(path("")) &&
              fs::file_size(file.path(), ended) > 0 && !ended)
            return true;
    }
    return false;
  }
};

TEST_F(UnfinishedVideos, CtrlCLeavesNothing) {
  const int status = ended_by(SIGINT);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(files_in_folder(), 0u);
}

// Only the lock of its place (engine/io/sole_writer.h), which is empty and goes with the next video of this
// name.
TEST_F(UnfinishedVideos, AKillLeavesNothingOfTheVideo) {
  const int status = ended_by(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(files_in_folder(), 1u);
  EXPECT_TRUE(std::filesystem::is_empty(path("long.mkv.lock")));
  EXPECT_EQ(draw_offscreen("--video " + path("long.mkv") + kSmall + kTinyModel).code, 0);
  EXPECT_EQ(files_in_folder(), 1u) << "the video";
}

// In a folder of everybody somebody may put links under names that the video could have while it is written.
TEST_F(UnfinishedVideos, NothingIsWrittenWhereALinkLeads) {
  write("other", "somebody's");
  const std::string plant =
      "for name in part tmp; do ln -s other a.mkv.$$.$name; ln -s other a.mkv.$name; done; ";
  const Ended ended =
      run_program("cd " + folder_.string() + " && exec sh -c '" + plant + "exec env -u DISPLAY " +
                      SHARDLENS_PROGRAM + " --video a.mkv" + kSmall + kTinyModel + "'",
                  "");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(contents("other"), "somebody's");
  EXPECT_EQ(probed(path("a.mkv"))["streams"][0]["nb_read_frames"], "12");
}

}  // namespace video_test
}  // namespace shardlens
