// Draws tooltips: a tensor's shape, layout, this rank's range and statistics; for a collective, why it is
// there.
#include <fmt/format.h>

#include "engine/program/product.h"
#include "engine/runtime/snapshot.h"
#include "ui/commands/glossary.h"
#include "ui/panels/tensor_words.h"
#include "ui/stage/meeting.h"
#include "ui/stage/scene.h"
#include "ui/widgets/format.h"

namespace shardlens::ui::stage {
namespace {

constexpr float kWrapWidth = 420;

void words(const Scene& scene, ImFont* font, ImU32 colour, const std::string& text) {
  if (text.empty()) return;
  ImGui::PushFont(font, 0);
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::PushTextWrapPos(scene.px(kWrapWidth));
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::PopStyleColor();
  ImGui::PopFont();
}

std::string layout_sentence(const Tensor& tensor, int ranks, int rank) {
  switch (tensor.layout.kind) {
    case LayoutKind::Replicated:
      return ranks == 1 ? "The whole tensor: there is one rank."
                        : "Replicated: the whole tensor, with the same bits on every rank.";
    case LayoutKind::Sharded:
      return fmt::format("{}: rank {} holds {} of {}.", to_string(tensor.layout), rank,
                         held_range(tensor, ranks, rank), to_string(tensor.shape));
    case LayoutKind::Partial:
      return fmt::format("Partial: full shape, but wrong until it is summed over the {} ranks.", ranks);
  }
  return {};
}

/// What a planted mistake has done to the tensor; empty if it is right, or if no mistake is shown.
std::string wrong_sentence(const Scene& scene, TensorId id) {
  if (!scene.seen || !scene.seen->is_wrong(id)) return {};
  const TensorError& error = *scene.seen->error(id);
  const std::string wrong =
      fmt::format("Wrong: relative error {}.", relative_error_text(error.relative_error));
  return error.ranks_identical ? wrong
                               : wrong + " The ranks should hold the same bits, and hold different ones.";
}

/// Says that the row can be opened.
void opening_words(const Scene& scene, const Row& row) {
  if (row.step < 0) return;
  const bool is_product = product_of(scene.program(), row.step).has_value();
  const bool is_attention = scene.program().step(row.step).op == Op::Attention;
  if (is_product || is_attention)
    words(scene, scene.context.fonts.body, scene.context.theme.dim,
          is_product ? "A double click opens its matrices and numbers." : "A double click opens its heads.");
}

}  // namespace

void tensor_tooltip(const Scene& scene, const Row& row, TensorId id, int rank) {
  const Theme& theme = scene.context.theme;
  const Fonts& fonts = scene.context.fonts;
  const Tensor& tensor = scene.program().tensor(id);
  const int ranks = scene.program().tp();
  if (!ImGui::BeginTooltip()) return;
  words(scene, fonts.mono, theme.text, id == row.tensor ? row.title : tensor.symbol);
  words(scene, fonts.body, theme.dim, fmt::format("{} on rank {}", tensor.name, rank));
  const bool unequal = scene.seen && scene.seen->is_wrong(id) && !scene.seen->error(id)->ranks_identical;
  if (!unequal) words(scene, fonts.body, theme.text, layout_sentence(tensor, ranks, rank));
  words(scene, fonts.bold, theme.text, wrong_sentence(scene, id));
  const std::string held = to_string(local_shape(tensor, ranks, rank)), whole = to_string(tensor.shape);
  words(scene, fonts.mono, theme.dim,
        fmt::format("{}  {}", held == whole ? held : held + " of " + whole,
                    bytes_text(static_cast<double>(local_bytes(tensor, ranks, rank)))));
  const bool filled = id != row.tensor || scene.filled(row);
  if (const auto sample = filled ? scene.sample(id, rank) : nullptr) {
    const TensorStats& stats = sample->stats;
    words(scene, fonts.mono, theme.dim,
          fmt::format("min {}  max {}  mean {}  rms {}", format_value(stats.min), format_value(stats.max),
                      format_value(stats.mean), format_value(stats.rms)));
    if (stats.nan_count > 0) {
      words(scene, fonts.bold, theme.text,
            fmt::format("{} of its elements are NaN or infinite.", grouped_text(stats.nan_count)));
    }
  } else {
    words(scene, fonts.body, theme.dim, "not computed yet");
  }
  opening_words(scene, row);
  ImGui::EndTooltip();
}

void step_tooltip(const Scene& scene, const Row& row) {
  const Theme& theme = scene.context.theme;
  const Fonts& fonts = scene.context.fonts;
  const Step& step = scene.program().step(row.step);
  if (!ImGui::BeginTooltip()) return;
  words(scene, fonts.mono, theme.text, step.equation);
  words(scene, fonts.body, theme.dim,
        fmt::format("step {}: {}", number_of(step.id, scene.program().steps.size()), step.name));
  if (const Step* const sound = scene.seen ? scene.seen->left_out(step.id) : nullptr) {
    words(scene, fonts.bold, theme.communication,
          "Left out: " + collective_title(scene.seen->sound(), *sound));
    words(scene, fonts.body, theme.text, reason_of(scene.seen->sound(), sound->id));
  } else {
    words(scene, fonts.body, theme.text, reason_of(scene.program(), step.id));
  }
  opening_words(scene, row);
  if (is_collective(step.op)) {
    const Result* measured = scene.progress(step.id) == Progress::Done ? scene.result.get() : nullptr;
    const Meeting meeting = meeting_of(*scene.plan, measured, step.id);
    words(scene, fonts.body, theme.dim,
          band_forms(scene.program(), step, meeting, kept_back(scene.context)).front());
    words(scene, fonts.body, theme.dim, std::string(glossary_text(to_string(collective_of(step.op)))));
  }
  ImGui::EndTooltip();
}

void sentence_tooltip(const Scene& scene, const std::string& title, const std::string& sentence) {
  if (!ImGui::BeginTooltip()) return;
  words(scene, scene.context.fonts.bold, scene.context.theme.text, title);
  words(scene, scene.context.fonts.body, scene.context.theme.text, sentence);
  ImGui::EndTooltip();
}

}  // namespace shardlens::ui::stage
