// The data that every panel gets to draw one frame: the newest Snapshots, the view state that all panels
// share, and an outbox for Commands. A panel has no other access to the engine.
#pragma once

#include <utility>

#include "ui/snapshots.h"
#include "ui/view_state.h"

namespace shardlens {
struct Snapshot;  // engine/runtime/snapshot.h
}

namespace shardlens::ui {

class Heatmaps;  // ui/widgets/heatmap.h
class Outbox;    // ui/outbox.h

struct Context : Snapshots {
  /// The shown snapshot: the open recording, else the frozen training step, else the Session's run.
  const Snapshot& snapshot;
  const Snapshot* beside;  ///< this machine's timed run of the recorded Program; null: there is none
  ViewState& view;
  const Theme& theme;
  const Fonts& fonts;
  Heatmaps& heatmaps;
  Outbox& outbox;

  float px(float at_scale_one) const { return at_scale_one * view.ui_scale(); }
  /// Returns a Context for another snapshot and view, for a panel that shows more than one plan.
  Context of(const Snapshot& other, ViewState& other_view) const {
    return looking_at(other, nullptr, other_view, theme);
  }
  /// Returns a Context with another view and other colours, for a figure on paper.
  Context with(ViewState& other_view, const Theme& other_theme) const {
    return looking_at(snapshot, beside, other_view, other_theme);
  }

  /// Sends a Command to its part of the engine after the frame. Callers must include ui/outbox.h.
  template <class Command>
  void send(Command command) const {
    put_into(outbox, std::move(command));
  }

  /// The settings wanted now. To change them, change a copy and pass it to want(). The settings of an open
  /// recording cannot be changed; want() then shows a message.
  const Settings& wanted() const { return view.wanted.settings(snapshot); }
  void want(const Settings& settings) const;
  /// The same for settings with other weights: fits the model to the file, and says what a person should know
  /// about it.
  void want_weights(Settings settings) const;
  void undo() const;  ///< goes back to the settings before the last change
  void redo() const;
  /// Runs the settings also where a recording or a frozen step is shown in their place.
  void ask_for(const Settings& settings) const;

 private:
  Context looking_at(const Snapshot& other, const Snapshot* other_beside, ViewState& other_view,
                     const Theme& other_theme) const {
    return {*this, other, other_beside, other_view, other_theme, fonts, heatmaps, outbox};
  }
};

}  // namespace shardlens::ui
