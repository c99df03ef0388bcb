// The panels. Each draws into the current Dear ImGui window, which the frame has begun.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

void draw_bar(const Context& context);
void draw_setup(const Context& context);
void draw_stage(const Context& context);
void draw_inspector(const Context& context);
void draw_timeline(const Context& context);
void draw_memory(const Context& context);
void draw_traffic(const Context& context);
void draw_scaling(const Context& context);
void draw_compare(const Context& context);
void draw_train(const Context& context);
void draw_program(const Context& context);
void draw_break_it(const Context& context);
void draw_start(const Context& context);

// For the open recording. Each draws a window of its own, or nothing.
void draw_replay_bar(const Context& context);        ///< into the current window
void draw_notes(const Context& context, float top);  ///< below `top`, at the right
void draw_recording_chooser(const Context& context);

}  // namespace shardlens::ui
