// The state of a recording's Timeline: the shown stretch, and the search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/record/history.h"
#include "engine/runtime/recordings/history_reader.h"
#include "ui/widgets/stretch.h"

namespace shardlens {
struct HistorySnapshot;  // engine/runtime/recordings/history_reader.h
}

namespace shardlens::ui {

/// A stretch of a recording that was asked for.
struct HistoryAsked {
  uint64_t number = 0;  ///< 0: none was
  int64_t begin_ns = 0, end_ns = 0;
  int64_t bucket_ns = 0;
};

/// The part of the Timeline's map that the mouse drags.
enum class MapGrip { Begin, End, Window };

struct HistoryView {
  Stretch shown;         ///< seconds from the beginning of the recording; empty: all of it
  uint64_t numbers = 0;  ///< of requests so far
  HistoryAsked asked;
  MapGrip map_grip = MapGrip::Window;
  std::string words;  ///< searched for in the names of steps
  bool search_focus = false;
  HistoryFind find = HistoryFind::Step;  ///< the last search
  uint64_t find_number = 0;
  bool find_pending = false;
  std::optional<HistoryPlace> found;
  std::string said;  ///< the result of the last search in words
};

/// Moves the stretch by `share` of its length: the keys A and D.
void pan_history(HistoryView& view, const HistorySnapshot& history, double share);
/// Makes the stretch `factor` times as long, about its middle: the keys W and S.
void zoom_history(HistoryView& view, const HistorySnapshot& history, double factor);

}  // namespace shardlens::ui
