// Reads the gallery and draws its small pictures: see glimpse.h.
#include "ui/panels/start/glimpse.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "engine/record/gallery.h"
#include "engine/record/recording.h"
#include "ui/stage/lanes.h"
#include "ui/stage/rows.h"
#include "ui/theme/phase_colour.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kComputeTint = 0.55f, kWaitingTint = 0.28f;

/// The rows of the picture: the steps that compute forward, and the collectives between them.
std::vector<stage::Row> drawn_rows(const Program& program) {
  std::vector<stage::Row> rows;
  if (is_whole_model(program)) {
    const Sections sections = make_sections(program);
    const auto loss = std::find_if(sections.list.begin(), sections.list.end(),
                                   [](const Section& section) { return section.title == "output and loss"; });
    if (loss == sections.list.end()) return rows;
    rows = stage::rows_of(program, sections, static_cast<int>(loss - sections.list.begin()));
  } else {
    rows = stage::rows_of(program);
  }
  std::erase_if(rows, [](const stage::Row& row) {
    const bool is_drawn = row.kind == stage::RowKind::Tensor || row.kind == stage::RowKind::Band;
    return !is_drawn || row.phase != Phase::Forward;
  });
  return rows;
}

void draw_piece(const Context& context, ImDrawList* list, const Tensor& tensor, int ranks, int rank,
                const stage::Rect& place) {
  const Theme& theme = context.theme;
  const float thin = std::max(1.0f, context.px(1));
  switch (tensor.layout.kind) {
    case LayoutKind::Replicated:
      outline_rect(list, place.min, place.max, theme.dim, 0, thin);
      return;
    case LayoutKind::Partial:
      draw_dashed_rect(list, place.min, place.max, theme.communication, thin, context.px(2));
      return;
    case LayoutKind::Sharded:
      fill_rect(list, place.min, place.max, theme.ghost);
      for (const stage::Piece& piece : stage::pieces_of(tensor, ranks, rank, place))
        fill_rect(list, piece.place.min, piece.place.max, theme.ranks[rank % 8]);
  }
}

}  // namespace

Glimpse read_glimpse(const std::string& path) {
  const Recording recording(path);
  Glimpse glimpse{recording.header().program, recording.header().machine, {}, {}};
  if (recording.passes() > 0) glimpse.events = recording.pass(0).events;
  if (!is_training(recording.header().verb)) return glimpse;
  recording.metrics(0, recording.passes(), 1, [&](int64_t, const std::string& name, double value) {
    if (name == "loss" && std::isfinite(value)) glimpse.losses.push_back(value);
  });
  return glimpse;
}

GalleryGlimpses::GalleryGlimpses() {
  try {
    worker_.start("the pictures of the gallery", [this] { return turn(); });
  } catch (const std::exception&) {  // no pictures either
    ended_ = true;
  }
}

NextTurn GalleryGlimpses::turn() {
  bool more = false;
  try {
    more = read_next();
  } catch (const std::exception&) {  // the cards then have no picture; a click says what is wrong
  }
  const std::lock_guard lock(mutex_);
  if (more && !closed_) return kAtOnce;
  scratch_.reset();
  ended_ = true;
  changed_.notify_all();
  return kEnds;
}

bool GalleryGlimpses::read_next() {
  if (next_ == gallery().size()) return false;
  if (!scratch_) scratch_ = std::make_unique<TemporaryFolder>();
  const GalleryPiece& piece = gallery()[next_++];
  if (piece.file_bytes == 0) return true;  // it is fetched when it is opened
  auto glimpse = std::make_shared<const Glimpse>(read_glimpse(gallery_file(piece.name, scratch_->path())));
  const std::lock_guard lock(mutex_);
  read_.emplace(piece.name, std::move(glimpse));
  return true;
}

GalleryGlimpses::~GalleryGlimpses() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  if (worker_.is_started()) worker_.join();
}

std::shared_ptr<const Glimpse> GalleryGlimpses::of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = read_.find(name);
  return found == read_.end() ? nullptr : found->second;
}

void GalleryGlimpses::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_; });
}

void draw_program_glimpse(const Context& context, ImDrawList* list, const Program& program, ImVec2 min,
                          ImVec2 max, bool left_out) {
  const std::vector<stage::Row> rows = drawn_rows(program);
  if (rows.empty()) return;
  const Theme& theme = context.theme;
  const auto last_band = std::find_if(rows.rbegin(), rows.rend(),
                                      [](const stage::Row& row) { return row.kind == stage::RowKind::Band; });
  const int ranks = program.tp();
  const float lane_gap = context.px(6), row_gap = std::max(1.0f, context.px(1));
  const float lane = (max.x - min.x - lane_gap * static_cast<float>(ranks - 1)) / static_cast<float>(ranks);
  const float pitch = (max.y - min.y) / static_cast<float>(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const float top = std::round(min.y + pitch * static_cast<float>(i));
    const float bottom = std::round(min.y + pitch * static_cast<float>(i + 1)) - row_gap;
    if (rows[i].kind == stage::RowKind::Band) {
      const bool is_last = rows.rend() != last_band && &rows[i] == &*last_band;
      if (left_out && is_last)
        draw_dashed_rect(list, {min.x, top}, {max.x, bottom}, theme.communication, row_gap, context.px(3));
      else
        fill_rect(list, {min.x, top}, {max.x, bottom}, theme.communication);
      continue;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const float left = std::round(min.x + static_cast<float>(rank) * (lane + lane_gap));
      draw_piece(context, list, program.tensor(rows[i].tensor), ranks, rank,
                 {{left, top}, {std::round(left + lane), bottom}});
    }
  }
}

void draw_track_glimpse(const Context& context, ImDrawList* list, const Glimpse& glimpse, ImVec2 min,
                        ImVec2 max) {
  const Theme& theme = context.theme;
  double last = 0;
  for (const auto& rank : glimpse.events)
    for (const StepEvent& event : rank) last = std::max(last, event.end_seconds);
  if (last <= 0) return;
  const auto x = [&](double seconds) { return min.x + static_cast<float>(seconds / last) * (max.x - min.x); };
  const float pitch = (max.y - min.y) / static_cast<float>(glimpse.events.size());
  for (size_t rank = 0; rank < glimpse.events.size(); ++rank) {
    const float top = std::round(min.y + pitch * static_cast<float>(rank));
    const float bottom = std::round(top + pitch * 0.8f);
    for (size_t step = 0; step < glimpse.events[rank].size(); ++step) {
      const StepEvent& event = glimpse.events[rank][step];
      const Step& of = glimpse.program.steps[step];
      const auto bar = [&](double from, double to, ImU32 colour) {
        if (to > from) fill_rect(list, {x(from), top}, {x(to), bottom}, colour);
      };
      if (is_collective(of.op)) {
        bar(event.arrival_seconds, event.all_arrived_seconds, faded(theme.communication, kWaitingTint));
        bar(event.all_arrived_seconds, event.end_seconds, theme.communication);
      } else {
        bar(event.begin_seconds, event.end_seconds,
            mixed(theme.panel, phase_colour(theme, of.phase), kComputeTint));
      }
    }
  }
}

void draw_loss_glimpse(const Context& context, ImDrawList* list, const std::vector<double>& losses,
                       ImVec2 min, ImVec2 max) {
  if (losses.size() < 2) return;
  const auto [least, most] = std::minmax_element(losses.begin(), losses.end());
  const double range = std::max(*most - *least, 1e-9);
  draw_line(list, {min.x, max.y}, max, context.theme.line, std::max(1.0f, context.px(1)));
  ImVec2 before{};
  for (size_t i = 0; i < losses.size(); ++i) {
    const float across = static_cast<float>(i) / static_cast<float>(losses.size() - 1);
    const auto up = static_cast<float>((losses[i] - *least) / range);
    const ImVec2 at{min.x + across * (max.x - min.x),
                    max.y - context.px(4) - up * (max.y - min.y - context.px(6))};
    if (i > 0) draw_line(list, before, at, context.theme.forward, std::max(1.0f, context.px(2)));
    before = at;
  }
}

void draw_glimpse(const Context& context, ImDrawList* list, const Glimpse& glimpse, ImVec2 min, ImVec2 max) {
  if (!glimpse.losses.empty()) return draw_loss_glimpse(context, list, glimpse.losses, min, max);
  if (!glimpse.program.settings.delays.empty()) return draw_track_glimpse(context, list, glimpse, min, max);
  draw_program_glimpse(context, list, glimpse.program, min, max);
}

}  // namespace shardlens::ui
