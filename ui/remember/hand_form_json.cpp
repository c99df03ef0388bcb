// Writes and reads the form of the page "by hand".
#include "ui/remember/hand_form_json.h"

#include <nlohmann/json.hpp>

#include "engine/io/json.h"

namespace shardlens {
namespace {

constexpr const char* kNoMistake = "none";

}  // namespace

nlohmann::json lab::as_json(const HandForm& form) {
  nlohmann::json json{{"fc", to_string(form.choice.fc)},
                      {"proj", to_string(form.choice.proj)},
                      {"stream", to_string(form.choice.stream)},
                      {"gelu", form.choice.gelu},
                      {"mistake", form.choice.mistake ? to_string(*form.choice.mistake) : kNoMistake}};
  for (size_t i = 0; i < kHandOperands; ++i) {
    const auto operand = static_cast<HandOperand>(i);
    json[to_string(operand)] = typed_text(form.operands, operand);
  }
  return json;
}

void ui::read_hand_form(HandForm& form, const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  lab::HandChoice& choice = form.choice;
  if (reader.has("fc")) choice.fc = reader.word("fc", parse_cut);
  if (reader.has("proj")) choice.proj = reader.word("proj", parse_cut);
  if (reader.has("stream")) choice.stream = reader.word("stream", parse_norm_cut);
  choice.gelu = reader.boolean_or("gelu", choice.gelu);
  const std::string mistake = reader.string_or("mistake", kNoMistake);
  if (mistake != kNoMistake) choice.mistake = reader.word("mistake", parse_fault);
  for (size_t i = 0; i < lab::kHandOperands; ++i) {
    const auto operand = static_cast<lab::HandOperand>(i);
    const std::string name = lab::to_string(operand);
    if (!reader.has(name)) continue;
    reader.word(name, [&](const std::string& text) {
      lab::type_into(form.operands, operand, 0, 0, text);
      return true;
    });
  }
}

}  // namespace shardlens
