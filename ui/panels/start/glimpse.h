// A small picture of a recording for its card: where its ranks communicate, how its passes took their time,
// or how its loss fell. The gallery's files are read by a worker of their own.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/worker.h"
#include "engine/io/temporary_folder.h"
#include "engine/program/program.h"
#include "engine/record/trace.h"
#include "ui/context.h"
#include "ui/plan/sections.h"

namespace shardlens::ui {

/// What is read of a recording for its picture.
struct Glimpse {
  Program program;
  std::string machine;
  std::vector<std::vector<StepEvent>> events;  ///< [rank][step], of the first pass
  std::vector<double> losses;                  ///< per pass; empty if it is no training
};

/// Throws a request Error if the file is no recording.
Glimpse read_glimpse(const std::string& path);

/// Reads the gallery's recordings, one after another, from the moment it is made.
class GalleryGlimpses {
 public:
  GalleryGlimpses();
  ~GalleryGlimpses();
  GalleryGlimpses(const GalleryGlimpses&) = delete;
  GalleryGlimpses& operator=(const GalleryGlimpses&) = delete;

  /// Null: not read yet, or it cannot be read.
  std::shared_ptr<const Glimpse> of(const std::string& name) const;
  /// Blocks until all are read; for pictures without a window and for tests.
  void wait() const;

 private:
  NextTurn turn();
  /// Reads one more. Returns false if all are read.
  bool read_next();

  mutable std::mutex mutex_;
  mutable WaitForWorkers changed_;
  std::map<std::string, std::shared_ptr<const Glimpse>> read_;
  bool ended_ = false, closed_ = false;
  std::unique_ptr<TemporaryFolder> scratch_;  ///< only the worker's, as the next one
  size_t next_ = 0;                           ///< in the gallery
  BackgroundWorker worker_;
};

/// Draws the forward steps, one line each, every rank's piece in its place, and the collectives as bands. Of
/// a whole model those of its loss. `left_out`: the last band is only an outline.
void draw_program_glimpse(const Context& context, ImDrawList* list, const Program& program, ImVec2 min,
                          ImVec2 max, bool left_out = false);
/// Draws a track for each rank, with computing, waiting and transfer.
void draw_track_glimpse(const Context& context, ImDrawList* list, const Glimpse& glimpse, ImVec2 min,
                        ImVec2 max);
void draw_loss_glimpse(const Context& context, ImDrawList* list, const std::vector<double>& losses,
                       ImVec2 min, ImVec2 max);
/// The one of these that shows what the recording is about.
void draw_glimpse(const Context& context, ImDrawList* list, const Glimpse& glimpse, ImVec2 min, ImVec2 max);

}  // namespace shardlens::ui
