// What every panel gets to draw one frame: the newest Snapshots to read, the state of the view, which all
// panels share, and an outbox for Commands. A panel has no other way to the engine.
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
  /// What is looked at: the open recording, else the frozen training step, else the Session's run.
  const Snapshot& snapshot;
  const Snapshot* beside;  ///< this machine's run of the recorded Program, timed; null: there is none
  ViewState& view;
  const Theme& theme;
  const Fonts& fonts;
  Heatmaps& heatmaps;
  Outbox& outbox;

  float px(float at_scale_one) const { return at_scale_one * view.ui_scale(); }
  /// The same, looking at something else in another way: for a panel that shows more than one plan.
  Context of(const Snapshot& other, ViewState& other_view) const {
    return looking_at(other, nullptr, other_view, theme);
  }
  /// The same, looked at in another way and in other colours: for a figure on paper.
  Context with(ViewState& other_view, const Theme& other_theme) const {
    return looking_at(snapshot, beside, other_view, other_theme);
  }

  /// Sends a Command to its part of the engine after the frame. Who calls it includes ui/outbox.h.
  template <class Command>
  void send(Command command) const {
    put_into(outbox, std::move(command));
  }

  /// The settings as they are wanted now. To change them, change a copy and want() it. The settings of an
  /// open recording cannot be changed; want() then says so.
  const Settings& wanted() const { return view.wanted.settings(snapshot); }
  void want(const Settings& settings) const;
  void undo() const;  ///< wants the settings of before the last change
  void redo() const;

 private:
  void ask_for(const Settings& settings) const;
  Context looking_at(const Snapshot& other, const Snapshot* other_beside, ViewState& other_view,
                     const Theme& other_theme) const {
    return {*this, other, other_beside, other_view, other_theme, fonts, heatmaps, outbox};
  }
};

}  // namespace shardlens::ui
