// The Program tab. Its first page is the plain data that runs, as text. Every other picture in the studio is
// drawn from these lines; here they can be searched and copied, and the tensors of the selected step are
// listed below them. The other pages are about the layouts of every operation and about figures in texts.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include <imgui.h>
// after imgui.h, which it extends
#include <misc/cpp/imgui_stdlib.h>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/io/json_text.h"
#include "engine/program/program_json.h"
#include "engine/runtime/snapshot.h"
#include "ui/frame/notice.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"
#include "ui/panels/program/program_pages.h"
#include "ui/panels/program/program_rows.h"
#include "ui/panels/program/program_view.h"
#include "ui/plan/cache.h"
#include "ui/stage/meeting.h"
#include "ui/theme/phase_colour.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

/// In the order of ProgramPage.
const std::array<std::string, 4> kProgramPages{"steps", "what a sum allows", "by hand", "texts' figures"};

/// Text right-aligned in the current table cell.
void right_text(const std::string& text) {
  const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(text.c_str()).x;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::max(0.0f, room));
  ImGui::TextUnformatted(text.c_str());
}

void coloured(ImU32 colour, const std::string& text) {
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopStyleColor();
}

ImU32 layout_colour(const Theme& theme, Layout layout) {
  switch (layout.kind) {
    case LayoutKind::Partial:
      return theme.communication;
    case LayoutKind::Sharded:
      return theme.text;
    case LayoutKind::Replicated:
      return theme.dim;
  }
  return theme.text;
}

void copy_menu(const Context& context, ImVec2 right_top, const std::vector<ProgramRow>& all,
               const std::vector<ProgramRow>& shown) {
  const Plan& plan = *context.snapshot.plan;
  copy_menu_button(context, "copy program", right_top, [&] {
    std::vector<ProgramRow> selected;
    const StepId step = selection_in(context.view, plan.program).step;
    for (const ProgramRow& row : all)
      if (row.step == step) selected.push_back(row);
    const auto offer = [&](const char* what, const std::vector<ProgramRow>& rows) {
      ImGui::PushID(what);
      ImGui::BeginDisabled(rows.empty());
      copy_entries(what, [&] { return as_table(rows); });
      if (ImGui::MenuItem((std::string(what) + " as JSON").c_str()))
        copy_text(as_json(plan, rows), counted(std::ssize(rows), "row") + " as JSON");
      ImGui::EndDisabled();
      ImGui::PopID();
    };
    if (ImGui::MenuItem("whole Program as JSON"))
      copy_text(json_text(program_to_json(plan.program), 2), "the whole Program as JSON");
    offer("all steps", all);
    if (shown.size() != all.size()) offer("shown steps", shown);
    offer("selected step", selected);
  });
}

void draw_row(const Context& context, const ProgramRow& row, bool selected) {
  const Theme& theme = context.theme;
  const Program& program = context.snapshot.plan->program;
  const Step& step = program.step(row.step);
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (ImGui::Selectable(("##step " + std::to_string(row.step)).c_str(), selected,
                        ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowOverlap))
    select_step(context.view, program, row.step);
  fill_rect(ImGui::GetWindowDrawList(), {at.x, ImGui::GetItemRectMin().y},
            {at.x + context.px(3), ImGui::GetItemRectMax().y}, phase_colour(theme, step.phase));
  ImGui::SameLine(0, 0);
  ImGui::PushStyleColor(ImGuiCol_Text, theme.dim);
  right_text(row.cell(ProgramColumn::Step));
  ImGui::PopStyleColor();
  const bool collective = is_collective(step.op);
  const bool quiet = is_conversion(step.op) && !collective;
  const ImU32 ink = collective ? theme.communication : quiet ? theme.dim : theme.text;
  if (ImGui::TableNextColumn()) {
    ImGui::PushFont(context.fonts.italic, 0);
    coloured(collective ? theme.communication : theme.dim, row.cell(ProgramColumn::Mark));
    ImGui::PopFont();
  }
  if (ImGui::TableNextColumn()) coloured(ink, row.cell(ProgramColumn::Name));
  if (ImGui::TableNextColumn()) coloured(quiet ? theme.dim : theme.text, row.cell(ProgramColumn::Equation));
  if (ImGui::TableNextColumn()) coloured(theme.dim, row.cell(ProgramColumn::Output));
  if (ImGui::TableNextColumn())
    coloured(layout_colour(theme, program.tensor(step.outputs.front()).layout),
             row.cell(ProgramColumn::Layout));
  if (ImGui::TableNextColumn()) coloured(theme.dim, row.cell(ProgramColumn::PerRank));
  if (ImGui::TableNextColumn()) right_text(row.cell(ProgramColumn::Flops));
  if (ImGui::TableNextColumn()) {
    ImGui::PushStyleColor(ImGuiCol_Text, theme.communication);
    right_text(row.cell(ProgramColumn::Sent));
    ImGui::PopStyleColor();
  }
}

void header_row(const Context& context, std::initializer_list<const char*> right_aligned) {
  ImGui::PushStyleColor(ImGuiCol_Text, context.theme.dim);
  ImGui::PushFont(context.fonts.body, kSmallSize);
  ImGui::TableNextRow();
  ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg0, context.theme.panel);
  for (int column = 0; column < ImGui::TableGetColumnCount(); ++column) {
    if (!ImGui::TableSetColumnIndex(column)) continue;
    std::string name = ImGui::TableGetColumnName(column);
    if (name.rfind("##", 0) == 0) name.clear();
    const bool right = std::find(right_aligned.begin(), right_aligned.end(), name) != right_aligned.end();
    if (right) {
      right_text(name);
    } else {
      ImGui::TextUnformatted(name.c_str());
    }
  }
  ImGui::PopFont();
  ImGui::PopStyleColor();
}

ImGuiTableColumnFlags shown_if(bool roomy) {
  return roomy ? ImGuiTableColumnFlags_None : ImGuiTableColumnFlags_Disabled;
}

/// Scrolls the current table so that the selected step is visible, once after each new selection.
void follow_selection(StepId selected, const std::vector<ProgramRow>& rows, float row_height) {
  ImGuiStorage* storage = ImGui::GetStateStorage();
  const ImGuiID key = ImGui::GetID("followed");
  if (storage->GetInt(key, -1) == selected) return;
  storage->SetInt(key, selected);
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const ProgramRow& r) { return r.step == selected; });
  if (row == rows.end()) return;
  const float top = row_height * static_cast<float>(row - rows.begin());
  const float room = ImGui::GetWindowHeight() - 2 * row_height;  // below the header
  if (top < ImGui::GetScrollY() || top + row_height > ImGui::GetScrollY() + room)
    ImGui::SetScrollY(std::max(0.0f, top - room / 2));
}

void draw_steps(const Context& context, const std::vector<ProgramRow>& rows, StepId selected, ImVec2 size) {
  const ImGuiTableFlags flags =
      ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  ImGui::PushFont(context.fonts.mono, kSmallSize);
  if (ImGui::BeginTable("steps", static_cast<int>(kProgramColumns) - 1, flags, size)) {
    ImGui::TableSetupColumn("#", ImGuiTableColumnFlags_WidthFixed, context.px(36));
    const ImGuiTableColumnFlags if_roomy =
        shown_if(size.x > context.px(900));  // the tensors below say it again
    ImGui::TableSetupColumn("f/g");
    ImGui::TableSetupColumn("name");
    ImGui::TableSetupColumn("equation");
    ImGui::TableSetupColumn("output : shape", if_roomy);
    ImGui::TableSetupColumn("layout");
    ImGui::TableSetupColumn("per rank", if_roomy);
    ImGui::TableSetupColumn("FLOPs", shown_if(size.x > context.px(740)));
    ImGui::TableSetupColumn("sent");
    ImGui::TableSetupScrollFreeze(1, 1);
    header_row(context, {"#", "FLOPs", "sent"});
    const float row_height = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
    follow_selection(selected, rows, row_height);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
        draw_row(context, rows[static_cast<size_t>(i)], rows[static_cast<size_t>(i)].step == selected);
    ImGui::EndTable();
  }
  ImGui::PopFont();
  copyable_table("copy steps", ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
                 [&] { return as_table(rows); });
}

/// Draws every tensor that the selected step reads and writes; a click inspects it.
void draw_tensors(const Context& context, const Step& step, TensorId selected, ImVec2 size) {
  const Theme& theme = context.theme;
  const Type type(context);
  const Program& program = context.snapshot.plan->program;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  rule(context, at, size.x);
  const std::string title = "Step " + std::to_string(step.id) + " · " + step.name;
  draw_text(list, {at.x, at.y + context.px(10)}, type.strong, fitted(type.strong, title, size.x));
  const bool converts = is_conversion(step.op);
  const std::string why = converts ? stage::reason_of(program, step.id) : step.equation;
  const float height =
      draw_wrapped(list, {at.x, at.y + context.px(31)}, converts ? type.note : type.mono_note, why, size.x);
  const float used = context.px(37) + height;
  ImGui::SetCursorScreenPos({at.x, at.y + used});
  ImGui::PushFont(context.fonts.mono, kSmallSize);
  const ImGuiTableFlags flags =
      ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  if (ImGui::BeginTable("tensors", 8, flags, {size.x, std::max(context.px(60), size.y - used)})) {
    for (const char* name : {"##role", "tensor", "name", "layout", "shape", "per rank"})
      ImGui::TableSetupColumn(name);
    ImGui::TableSetupColumn("kind", shown_if(size.x > context.px(860)));
    ImGui::TableSetupColumn("bytes per rank");
    ImGui::TableSetupScrollFreeze(0, 1);
    header_row(context, {"bytes per rank"});
    int row = 0;
    const auto add = [&](TensorId id, const char* role) {
      const Tensor& tensor = program.tensor(id);
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      ImGui::PushID(row++);
      if (ImGui::Selectable(("##" + tensor.name).c_str(), selected == id,
                            ImGuiSelectableFlags_SpanAllColumns))
        set_selection(context.view, program, {step.id, id});
      ImGui::PopID();
      ImGui::SameLine(0, 0);
      coloured(theme.dim, role);
      if (ImGui::TableNextColumn()) ImGui::TextUnformatted(tensor.symbol.c_str());
      if (ImGui::TableNextColumn()) coloured(theme.dim, tensor.name);
      if (ImGui::TableNextColumn()) coloured(layout_colour(theme, tensor.layout), to_string(tensor.layout));
      if (ImGui::TableNextColumn()) ImGui::TextUnformatted(to_string(tensor.shape).c_str());
      if (ImGui::TableNextColumn()) ImGui::TextUnformatted(shape_per_rank(program, tensor).c_str());
      if (ImGui::TableNextColumn()) coloured(theme.dim, to_string(tensor.kind));
      if (ImGui::TableNextColumn()) right_text(grouped_text(local_bytes(tensor, program.tp(), 0)));
    };
    for (TensorId id : step.inputs) add(id, "reads");
    for (TensorId id : step.outputs) add(id, "writes");
    ImGui::EndTable();
  }
  ImGui::PopFont();
  copyable_table("copy tensors", ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
                 [&] { return tensor_table(program, step); });
}

/// The plan's rows, computed once.
const std::vector<ProgramRow>& rows_of(const std::shared_ptr<const Plan>& plan) {
  static Cache<std::shared_ptr<const Plan>, std::vector<ProgramRow>> known;
  return known.of(plan, [&] { return program_rows(*plan); });
}

/// The rows of `all` that hold the words of the filter.
const std::vector<ProgramRow>& shown_rows(const std::shared_ptr<const Plan>& plan,
                                          const std::vector<ProgramRow>& all, const std::string& filter) {
  if (filter.empty()) return all;
  static Cache<std::pair<std::shared_ptr<const Plan>, std::string>, std::vector<ProgramRow>> known;
  return known.of({plan, filter}, [&] { return filtered(all, filter); });
}

}  // namespace

float program_pages_width(const Context& context) {
  return choice_row_width(context, kProgramPages);
}

void draw_program(const Context& context) {
  ProgramPage& page = context.view.of<ProgramView>().page;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x;
  const int clicked = choice_row(context, "page", {right - program_pages_width(context), at.y}, kProgramPages,
                                 static_cast<int>(page));
  if (clicked >= 0) page = static_cast<ProgramPage>(clicked);
  switch (page) {
    case ProgramPage::Steps:
      return draw_program_steps(context);
    case ProgramPage::Algebra:
      return draw_program_algebra(context);
    case ProgramPage::ByHand:
      return draw_program_by_hand(context);
    case ProgramPage::Figures:
      return draw_program_figures(context);
  }
}

void draw_program_steps(const Context& context) {
  const Snapshot& snapshot = context.snapshot;
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const float pages = program_pages_width(context) + context.px(8);
  const float right = top.x + ImGui::GetContentRegionAvail().x - pages;
  if (!snapshot.plan) {
    page_head(context, "Program", no_plan_words(context), pages);
    return;
  }
  const Plan& plan = *snapshot.plan;
  const Program& program = plan.program;
  const std::vector<ProgramRow>& all = rows_of(snapshot.plan);
  const std::vector<ProgramRow>& shown =
      shown_rows(snapshot.plan, all, context.view.of<ProgramView>().filter);
  page_head(context, "Program",
            counted(std::ssize(program.steps), "step") + " over " +
                counted(std::ssize(program.tensors), "tensor") + ", one text for " +
                (program.tp() == 1 ? "the one rank" : "all " + std::to_string(program.tp()) + " ranks") +
                ". Planned in " + format_seconds(plan.plan_seconds) +
                ", measured. FLOPs and bytes are counted from the steps.",
            pages + context.px(80));
  copy_menu(context, {right, top.y}, all, shown);
  ImGui::Dummy({0, context.px(2)});
  ImGui::SetNextItemWidth(std::min(context.px(320), ImGui::GetContentRegionAvail().x - context.px(120)));
  ImGui::InputTextWithHint("##filter", "filter, for example: h.3 attn, or all-reduce backward",
                           &context.view.of<ProgramView>().filter);
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  coloured(context.theme.dim, (shown.size() == all.size() ? "" : grouped_text(std::ssize(shown)) + " of ") +
                                  counted(std::ssize(all), "step"));
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const SelectionIn selected = selection_in(context.view, program);
  const bool details = selected.step >= 0 && room.y > context.px(240);
  const float tensors = details ? std::min(context.px(220), room.y * 0.42f) : 0;
  draw_steps(context, shown, selected.step, {room.x, room.y - tensors - (details ? context.px(8) : 0)});
  if (details) draw_tensors(context, program.step(selected.step), selected.tensor, {room.x, tensors});
}

}  // namespace shardlens::ui
