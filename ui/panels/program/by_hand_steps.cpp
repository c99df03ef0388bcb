// Every step of the run "by hand": its equation, what each rank then holds, and what one rank has. A click on
// a number writes it out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/runtime/snapshot.h"
#include "ui/panels/parts.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {
namespace {

constexpr int kSerialLane = lab::kHandRanks;  // behind those of the ranks, if there is room
constexpr float kHandLaneGap = 22, kNumberHeight = 23, kWidestNumber = 64, kPhaseGap = 40;

bool is_meeting(Op op) {
  return op == Op::AllReduce || op == Op::ReduceScatter || op == Op::AllGather || op == Op::AllToAll;
}

/// An identity that passes on what its input already shows.
bool is_silent(const Program& program, const Step& step) {
  return step.op == Op::Identity &&
         program.tensor(step.inputs[0]).layout == program.tensor(step.outputs[0]).layout;
}

std::string note_of(const lab::HandRun& run, const Step& step) {
  const Program& program = run.program();
  if (is_meeting(step.op)) {
    const int64_t numbers = sent_bytes(program, step.id) / element_bytes(DType::Fp64);
    return fmt::format("The ranks meet: each sends {} number{}.", numbers, numbers == 1 ? "" : "s");
  }
  if (is_silent(program, step)) {
    const std::string mark = step.conjugate == Conjugate::F   ? "f: "
                             : step.conjugate == Conjugate::G ? "g: "
                                                              : "";
    return mark.empty() ? "Without GeLU the numbers stay as they are."
                        : mark + "the numbers stay as they are, and nothing is sent.";
  }
  if (step.op == Op::Identity) return "Left out: nothing is summed, and nothing is sent.";
  if (step.op == Op::Gelu) return "Numbers with decimals are rounded to two.";
  if (step.op == Op::Slice) return "Each rank keeps its part of its own copy.";
  return {};
}

class StepDrawer {
 public:
  StepDrawer(const Context& context, const lab::HandRun& run, const lab::Worked& worked, ImVec2 cell,
             int lanes)
      : context_(context),
        theme_(context.theme),
        run_(run),
        program_(run.program()),
        worked_(worked),
        number_(shown_number(context.view.of<ByHandView>(), run)),
        list_(ImGui::GetWindowDrawList()),
        type_(context),
        cell_(cell),
        lanes_(lanes) {}

  float lane_width() const {
    return cell_.x * static_cast<float>(lab::kHandSize) + context_.px(kHandLaneGap);
  }

  /// "forward", and below it the names of the lanes. Returns the height.
  float draw_head(const char* phase, ImVec2 at) {
    draw_text(list_, at, in(type_.figure, phase[0] == 'f' ? theme_.forward : theme_.backward), phase);
    const float y = at.y + type_.figure.size + context_.px(4);
    for (int lane = 0; lane < lanes_; ++lane) {
      const bool serial = lane == kSerialLane;
      draw_text(list_, {at.x + static_cast<float>(lane) * lane_width(), y},
                in(type_.body, serial ? theme_.dim : theme_.rank_outlines[lane]),
                serial ? "one rank (T = 1)" : fmt::format("rank {}", lane));
    }
    return y + type_.body.size + context_.px(8) - at.y;
  }

  /// Draws one step. Returns the height.
  float draw(const Step& step, ImVec2 at, float width) {
    float y = at.y;
    const TensorId tensor = step.outputs.front();
    const Layout layout = program_.tensor(tensor).layout;
    const bool meets = is_meeting(step.op);
    const std::string words = to_string(layout);
    const TextStyle layout_style =
        in(type_.note, layout.kind == LayoutKind::Partial ? theme_.communication : theme_.dim);
    const float layout_width = text_width(layout_style, words) + context_.px(12);
    const TextStyle title = in(type_.mono, meets ? theme_.communication : theme_.text);
    draw_text(list_, {at.x, y}, title, fitted(title, lab::equation_of(program_, step), width - layout_width));
    draw_text(list_, {at.x + width, y + title.size - layout_style.size}, layout_style, words, Align::Right);
    y += title.size + context_.px(4);
    if (const std::string note = note_of(run_, step); !note.empty())
      y += draw_wrapped(list_, {at.x, y}, type_.note, note, width) + context_.px(4);
    if (is_silent(program_, step)) return y + context_.px(8) - at.y;
    for (const TensorId output : step.outputs) {
      const HandGrid grid{{at.x, y}, cell_, matrix_shape(program_.tensor(output)).rows};
      ImGui::PushID(program_.tensor(output).name.c_str());
      for (int lane = 0; lane < lanes_; ++lane) draw_lane(step, output, lane, grid);
      ImGui::PopID();
      y = grid.max().y + context_.px(6);
    }
    return y + context_.px(12) - at.y;
  }

 private:
  std::optional<double> value(TensorId tensor, int lane, int64_t row, int64_t col) const {
    if (lane < lab::kHandRanks) return run_.of(tensor).ranks[static_cast<size_t>(lane)].at(row, col);
    if (run_.of(tensor).serial.empty()) return std::nullopt;
    return run_.serial(tensor, row, col);
  }

  bool is_read(TensorId tensor, int lane, int64_t row, int64_t col) const {
    return std::any_of(worked_.reads.begin(), worked_.reads.end(), [&](const lab::HandRead& read) {
      return read.tensor == tensor && read.rank == lane && read.row == row && read.col == col;
    });
  }

  void draw_lane(const Step& step, TensorId tensor, int lane, HandGrid grid) {
    grid.min.x += static_cast<float>(lane) * lane_width();
    const ImVec2 max = grid.max();
    ImGui::SetCursorScreenPos(grid.min);
    if (click_area(lane == kSerialLane ? "T = 1" : fmt::format("rank {}", lane).c_str(),
                   {max.x - grid.min.x, max.y - grid.min.y})) {
      const ImVec2 mouse = ImGui::GetMousePos();
      ByHandView& view = context_.view.of<ByHandView>();
      view.tensor = program_.tensor(tensor).name;
      view.row =
          std::clamp<int64_t>(static_cast<int64_t>((mouse.y - grid.min.y) / cell_.y), 0, grid.rows - 1);
      view.col =
          std::clamp<int64_t>(static_cast<int64_t>((mouse.x - grid.min.x) / cell_.x), 0, lab::kHandSize - 1);
      view.cell.reset();
      view.reads_keys = true;
    }
    fill_rect(list_, grid.min, max, lane == kSerialLane ? theme_.panel : theme_.ghost);
    for (int64_t row = 0; row < grid.rows; ++row)
      for (int64_t col = 0; col < lab::kHandSize; ++col)
        if (const auto held = value(tensor, lane, row, col)) draw_value(tensor, lane, grid, row, col, *held);
    if (lane == kSerialLane)
      outline_rect(list_, grid.min, max, theme_.line, 0, context_.px(1));
    else
      outline_piece(context_, list_, grid, program_, tensor, lane);
    const bool chosen = number_.step == step.id && number_.tensor == tensor;
    if (!chosen || !value(tensor, lane, number_.row, number_.col)) return;
    const ImVec2 min = grid.at(number_.row, number_.col);
    outline_rect(list_, min, {min.x + cell_.x, min.y + cell_.y}, theme_.text, 0, context_.px(2));
  }

  void draw_value(TensorId tensor, int lane, const HandGrid& grid, int64_t row, int64_t col, double held) {
    const ImVec2 min = grid.at(row, col), max{min.x + cell_.x, min.y + cell_.y};
    const bool serial = lane == kSerialLane;
    if (!serial) fill_rect(list_, min, max, theme_.card);
    if (is_read(tensor, lane, row, col)) fill_rect(list_, min, max, faded(theme_.forward, 0.35f));
    const bool wrong = !serial && run_.is_wrong(tensor, lane, row, col);
    const TextStyle style = in(type_.mono, serial ? theme_.dim : theme_.text);
    const ImVec2 middle{(min.x + max.x) / 2, (min.y + max.y - style.size) / 2};
    draw_text(list_, middle, style, lab::hand_text(held), Align::Centre);
    if (!wrong) return;
    const float y = middle.y + style.size + context_.px(1), half = context_.px(11);
    draw_torn_line(list_, {middle.x - half, y}, {middle.x + half, y}, theme_.text, context_.px(1.2f),
                   context_.px(2));
  }

  const Context& context_;
  const Theme& theme_;
  const lab::HandRun& run_;
  const Program& program_;
  const lab::Worked& worked_;
  const HandNumber number_;
  ImDrawList* list_;
  const Type type_;
  const ImVec2 cell_;
  const int lanes_;
};

/// The widest number of the run, in pixels.
float widest_number(const Type& type, const lab::HandRun& run) {
  float widest = 0;
  const auto look = [&](const std::vector<double>& values) {
    for (const double value : values) widest = std::max(widest, text_width(type.mono, lab::hand_text(value)));
  };
  for (const lab::HandTensor& tensor : run.tensors) {
    look(tensor.serial);
    for (const lab::HandPiece& piece : tensor.ranks) look(piece.values);
  }
  return widest;
}

/// What a lesson shows of a mistake comes into view with its first frame.
void scroll_once(const Context& context, const lab::HandRun& run, float y) {
  auto& view = context.view.of<ByHandView>();
  if (!view.scrolls_to_wrong || run.choice != view.form.choice) return;
  ImGui::SetScrollFromPosY(y - ImGui::GetWindowPos().y, 0);
  view.scrolls_to_wrong = false;
}

}  // namespace

void outline_piece(const Context& context, ImDrawList* list, const HandGrid& grid, const Program& program,
                   TensorId tensor, int rank) {
  const Theme& theme = context.theme;
  const Tensor& shown = program.tensor(tensor);
  for (const Placement& place : placements(shown, program.tp(), rank)) {
    const ImVec2 min = grid.at(place.rows.begin, place.cols.begin),
                 max = grid.at(place.rows.end, place.cols.end);
    switch (shown.layout.kind) {
      case LayoutKind::Partial:
        draw_dashed_rect(list, min, max, theme.communication, context.px(1.5f), context.px(5));
        break;
      case LayoutKind::Sharded:
        outline_rect(list, min, max, theme.rank_outlines[rank % 8], 0, context.px(2));
        break;
      case LayoutKind::Replicated:
        outline_rect(list, min, max, theme.dim, 0, context.px(1));
        break;
    }
  }
}

float steps_width(const Context& context, const lab::HandRun& run, int lanes) {
  const float cells = static_cast<float>(lanes * lab::kHandSize);
  return cells * (widest_number(Type(context), run) + context.px(8)) +
         static_cast<float>(lanes - 1) * context.px(kHandLaneGap);
}

float draw_hand_steps(const Context& context, const lab::HandRun& run, const lab::Worked& worked, ImVec2 at,
                      float width) {
  const float between = context.px(kPhaseGap);
  const int lanes =
      steps_width(context, run, lab::kHandRanks + 1) <= width ? lab::kHandRanks + 1 : lab::kHandRanks;
  const bool two_columns = 2 * steps_width(context, run, lanes) + between <= width;
  const float room = two_columns ? (width - between) / 2 : width;
  const float cells = static_cast<float>(lanes * lab::kHandSize);
  const float gaps = static_cast<float>(lanes - 1) * context.px(kHandLaneGap);
  const ImVec2 cell{std::floor(std::min((room - gaps) / cells, context.px(kWidestNumber))),
                    std::round(context.px(kNumberHeight))};
  StepDrawer drawer(context, run, worked, cell, lanes);
  const float drawn = cell.x * cells + gaps;
  float below = at.y;
  ImVec2 place = at;
  for (const Phase phase : {Phase::Forward, Phase::Backward}) {
    place.y += drawer.draw_head(phase == Phase::Forward ? "forward" : "backward", place);
    for (const Step& step : run.program().steps)
      if (step.phase == phase) {
        if (step.id == run.first_wrong()) scroll_once(context, run, place.y);
        place.y += drawer.draw(step, place, drawn);
      }
    below = std::max(below, place.y);
    place = two_columns ? ImVec2{at.x + room + between, at.y} : ImVec2{at.x, place.y + context.px(10)};
  }
  return below - at.y;
}

}  // namespace shardlens::ui
