// Writes and reads Programs as JSON. Enums are written as the words that the studio shows.
#include "engine/program/program_json.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"
#include "engine/config/settings_json.h"
#include "engine/config/validate.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"

namespace shardlens {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json layout_to_json(const Layout& layout) {
  if (layout == kPartialMax) return {{"kind", "partial-max"}};
  const char* kinds[] = {"replicated", "sharded", "partial"};
  ordered_json out = {{"kind", kinds[static_cast<int>(layout.kind)]}};
  if (layout.dim >= 0) out["dim"] = layout.dim;
  if (layout.padded) out["padded"] = true;
  if (layout.copies > 1) out["copies"] = layout.copies;
  return out;
}

Layout layout_from_json(const json& value, const std::string& where, size_t dims) {
  ObjectReader reader(value, where);
  const std::string kind = reader.string("kind");
  Layout layout;
  if (kind == "sharded" || (kind == "partial" && reader.has("dim"))) {
    layout = sharded(reader.small_integer("dim"));
    if (kind == "partial") layout.kind = LayoutKind::Partial;
    layout.padded = reader.boolean_or("padded", false);
    const int64_t copies = reader.integer_or("copies", 1);
    if (copies < 1 || copies > kLargestDegree)
      throw request_error(
          fmt::format("{}: {} copies of a slice are not possible; copies must be at least 1 and divide T",
                      where, copies));
    layout.copies = static_cast<int>(copies);
    if (layout.dim < 0 || static_cast<size_t>(layout.dim) >= dims) {
      throw request_error(
          fmt::format("{}: dim {} does not exist in a tensor with {} dimensions, numbered from 0", where,
                      layout.dim, dims));
    }
  } else if (kind == "partial") {
    layout = kPartial;
  } else if (kind == "partial-max") {
    layout = kPartialMax;
  } else if (kind != "replicated") {
    throw request_error(
        fmt::format("{}: layout '{}' is not replicated, sharded, partial or partial-max", where, kind));
  }
  reader.finish();
  return layout;
}

template <typename Integer>
bool in_range(const json& number) {
  return number.is_number_unsigned() ? std::in_range<Integer>(number.get<uint64_t>())
                                     : std::in_range<Integer>(number.get<int64_t>());
}

template <typename Integer>
std::vector<Integer> integers(const json& value, const std::string& where) {
  if (!value.is_array()) throw request_error(fmt::format("{} must be a list of integers", where));
  std::vector<Integer> result;
  for (const json& element : value) {
    if (!element.is_number_integer()) throw request_error(fmt::format("{} must hold integers only", where));
    if (!in_range<Integer>(element))
      throw request_error(
          fmt::format("{} holds {}, which is out of range", where, shown(json_text(element))));
    result.push_back(element.get<Integer>());
  }
  return result;
}

ordered_json tensor_to_json(const Tensor& tensor) {
  return {{"name", tensor.name},
          {"value", tensor.value},
          {"symbol", tensor.symbol},
          {"role", to_string(tensor.role)},
          {"layer", tensor.layer},
          {"micro_batch", tensor.micro_batch},
          {"shape", tensor.shape},
          {"row_dims", tensor.row_dims},
          {"dtype", to_string(tensor.dtype)},
          {"layout", layout_to_json(tensor.layout)},
          {"kind", to_string(tensor.kind)},
          {"storage", tensor.storage},
          {"first_row", tensor.first_row},
          {"keep", tensor.keep}};
}

Tensor tensor_from_json(const json& value, TensorId id, size_t tensors, const std::string& where) {
  ObjectReader reader(value, where);
  Tensor tensor;
  tensor.id = id;
  tensor.name = reader.string("name");
  tensor.value = reader.string("value");
  tensor.symbol = reader.string("symbol");
  if (reader.has("role")) {  // newer than the first recordings
    tensor.role = reader.word("role", parse_role);
    tensor.layer = reader.small_integer("layer");
    tensor.micro_batch = reader.small_integer("micro_batch");
  }
  tensor.shape = integers<int64_t>(reader.child("shape"), where + ", shape");
  for (int64_t extent : tensor.shape) {
    if (extent < 0)
      throw request_error(fmt::format("{}: shape {} has a negative extent", where, to_string(tensor.shape)));
  }
  tensor.row_dims = reader.small_integer("row_dims");
  if (tensor.row_dims < 0 || static_cast<size_t>(tensor.row_dims) > tensor.shape.size()) {
    throw request_error(fmt::format(
        "{}: row_dims {} does not fit shape {}; it must be at least 0, and at most the number of dimensions",
        where, tensor.row_dims, to_string(tensor.shape)));
  }
  tensor.dtype = reader.word("dtype", [](const std::string& word) {
    return word == to_string(DType::Int32) ? DType::Int32 : parse_dtype(word);
  });
  tensor.layout = layout_from_json(reader.child("layout"), where + ", layout", tensor.shape.size());
  tensor.kind = reader.word("kind", parse_memory_kind);
  tensor.storage = reader.small_integer("storage");
  if (tensor.storage < kNoTensor || tensor.storage >= static_cast<TensorId>(tensors)) {
    throw request_error(fmt::format(
        "{}: storage {} is not a tensor of this Program; -1 means that the tensor has its own bytes", where,
        tensor.storage));
  }
  tensor.first_row = reader.integer("first_row");
  tensor.keep = reader.boolean("keep");
  reader.finish();
  return tensor;
}

ordered_json step_to_json(const Step& step) {
  const Attributes& a = step.attributes;
  return {{"id", step.id},
          {"op", to_string(step.op)},
          {"phase", to_string(step.phase)},
          {"name", step.name},
          {"block", to_string(step.part)},
          {"layer", step.layer},
          {"micro_batch", step.micro_batch},
          {"axis", to_string(step.axis)},
          {"beside", step.overlapped},
          {"equation", step.equation},
          {"inputs", step.inputs},
          {"outputs", step.outputs},
          {"conjugate", to_string(step.conjugate)},
          {"pair", step.pair},
          {"attributes",
           {{"causal", a.causal},
            {"batch", a.batch},
            {"activation", to_string(a.activation)},
            {"epsilon", a.epsilon},
            {"round_limit", a.round_limit},
            {"transposed", a.transposed},
            {"no_gradient_id", a.no_gradient_id},
            {"accumulate", a.accumulate},
            {"vocab", a.vocab},
            {"dropout", a.dropout},
            {"stream", a.stream},
            {"part", a.part},
            {"mask_draw", to_string(a.mask_draw)},
            {"own_columns", a.own_columns},
            {"one_rank", a.one_rank},
            {"decay", a.decay}}}};
}

void check_references(const std::vector<TensorId>& ids, size_t tensors, const std::string& where) {
  for (TensorId id : ids) {
    if (id < 0 || static_cast<size_t>(id) >= tensors) {
      throw request_error(fmt::format("{} names tensor {}, but the Program has {} tensors, numbered from 0",
                                      where, id, tensors));
    }
  }
}

Step step_from_json(const json& value, StepId id, size_t tensors, size_t steps, const std::string& where) {
  ObjectReader reader(value, where);
  Step step;
  step.id = reader.small_integer("id");
  if (step.id != id)
    throw request_error(fmt::format(
        "{}: id {} is out of order; step ids count from 0, in the order of the list", where, step.id));
  step.op = reader.word("op", parse_op);
  step.phase = reader.word("phase", parse_phase);
  step.name = reader.string("name");
  step.part = reader.word("block", parse_part);
  step.layer = reader.small_integer("layer");
  if (reader.has("micro_batch")) step.micro_batch = reader.small_integer("micro_batch");
  step.axis = reader.word("axis", parse_axis);
  step.overlapped = reader.boolean("beside");
  step.equation = reader.string("equation");
  step.inputs = integers<TensorId>(reader.child("inputs"), where + ", inputs");
  step.outputs = integers<TensorId>(reader.child("outputs"), where + ", outputs");
  check_references(step.inputs, tensors, where);
  check_references(step.outputs, tensors, where);
  if (step.outputs.empty()) throw request_error(where + " has no output; every step writes a tensor");
  step.conjugate = reader.word("conjugate", parse_conjugate);
  step.pair = reader.small_integer("pair");
  if (step.pair < -1 || step.pair >= static_cast<StepId>(steps)) {
    throw request_error(
        fmt::format("{}: pair {} is not a step of this Program; -1 means no pair", where, step.pair));
  }
  ObjectReader attributes(reader.child("attributes"), where + ", attributes");
  step.attributes.causal = attributes.boolean("causal");
  step.attributes.batch = attributes.integer("batch");
  step.attributes.activation =
      attributes.word(attributes.has("activation") ? "activation" : "gelu", parse_activation);
  step.attributes.epsilon = attributes.number("epsilon");
  step.attributes.round_limit = attributes.small_integer("round_limit");
  step.attributes.transposed = attributes.boolean("transposed");
  step.attributes.no_gradient_id = attributes.integer("no_gradient_id");
  step.attributes.accumulate = attributes.boolean("accumulate");
  step.attributes.vocab = attributes.integer("vocab");
  step.attributes.dropout = attributes.number("dropout");
  step.attributes.stream = attributes.string("stream");
  step.attributes.part = attributes.small_integer("part");
  step.attributes.mask_draw = attributes.word("mask_draw", parse_mask_draw);
  step.attributes.own_columns = attributes.boolean("own_columns");
  step.attributes.one_rank = attributes.boolean_or("one_rank", false);  // newer than the first recordings
  step.attributes.decay = attributes.boolean("decay");
  attributes.finish();
  reader.finish();
  return step;
}

// Checks shared storage. A circle of tensors that share storage would make code that follows it loop forever,
// and rows outside their storage would belong to other tensors.
void check_storage(const Program& program, const std::string& source) {
  std::vector<TensorId> reached_from(program.tensors.size(),
                                     kNoTensor);  // by which walk a tensor was reached
  for (const Tensor& tensor : program.tensors) {
    for (TensorId at = tensor.id; at != kNoTensor; at = program.tensor(at).storage) {
      TensorId& walk = reached_from[static_cast<size_t>(at)];
      if (walk == tensor.id)
        throw request_error(fmt::format(
            "{}: tensor {} shares its storage in a circle; one tensor of the circle must have storage -1",
            source, tensor.name));
      if (walk != kNoTensor) break;  // an earlier walk went on from here to an end
      walk = tensor.id;
    }
    if (tensor.storage == kNoTensor) continue;
    const Tensor& storage = program.tensor(tensor.storage);
    const int64_t rows = tensor.shape.empty() ? 1 : tensor.shape[0];
    const int64_t stored_rows = storage.shape.empty() ? 1 : storage.shape[0];
    if (tensor.first_row < 0 || tensor.first_row > stored_rows - rows)
      throw request_error(
          fmt::format("{}: tensor {} is {} rows that begin at row {} of {}, which has {} rows", source,
                      tensor.name, rows, tensor.first_row, storage.name, stored_rows));
  }
}

}  // namespace

namespace {

ordered_json steps_to_json(const std::vector<Step>& steps) {
  ordered_json list = ordered_json::array();
  for (const Step& step : steps) list.push_back(step_to_json(step));
  return list;
}

void add_text(std::string& text, const std::vector<Step>& steps) {
  text += "[";
  const char* comma = "";
  for (const Step& step : steps) {
    text += std::exchange(comma, ",");
    text += json_text(step_to_json(step));
  }
  text += "]";
}

std::vector<Step> steps_from_json(const json& steps, size_t tensors, const std::string& source) {
  std::vector<Step> list;
  for (size_t i = 0; i < steps.size(); ++i)
    list.push_back(step_from_json(steps[i], static_cast<StepId>(i), tensors, steps.size(),
                                  fmt::format("{}, step {}", source, i)));
  return list;
}

OddReplica odd_from_json(const json& value, const Program& program, const std::string& source) {
  ObjectReader reader(value, source);
  OddReplica odd;
  odd.replica = reader.small_integer("replica");
  const json& steps = reader.child("steps");
  reader.finish();
  if (odd.replica < 0 || odd.replica >= program.dp())
    throw request_error(fmt::format("{}: there is no replica {}; with D = {} they have the numbers 0 to {}",
                                    source, odd.replica, program.dp(), program.dp() - 1));
  if (!steps.is_array() || steps.size() != program.steps.size())
    throw request_error(fmt::format("{}: steps must be a list of as many steps as the Program has, {}",
                                    source, program.steps.size()));
  odd.steps = steps_from_json(steps, program.tensors.size(), source);
  return odd;
}

}  // namespace

ordered_json program_to_json(const Program& program) {
  ordered_json tensors = ordered_json::array();
  for (const Tensor& tensor : program.tensors) tensors.push_back(tensor_to_json(tensor));
  ordered_json out = {{"settings", settings_to_json(program.settings)},
                      {"tensors", tensors},
                      {"steps", steps_to_json(program.steps)}};
  if (program.odd)
    out["odd"] = {{"replica", program.odd->replica}, {"steps", steps_to_json(program.odd->steps)}};
  return out;
}

std::string program_text(const Program& program) {
  std::string text =
      fmt::format(R"({{"settings":{},"tensors":[)", json_text(settings_to_json(program.settings)));
  const char* comma = "";
  for (const Tensor& tensor : program.tensors) {
    text += std::exchange(comma, ",");
    text += json_text(tensor_to_json(tensor));
  }
  text += R"(],"steps":)";
  add_text(text, program.steps);
  if (program.odd) {
    text += fmt::format(R"(,"odd":{{"replica":{},"steps":)", program.odd->replica);
    add_text(text, program.odd->steps);
    text += "}";
  }
  return text + "}";
}

Program program_from_json(const json& value, const std::string& source) {
  ObjectReader reader(value, source);
  Program program;
  program.settings = settings_from_json(reader.child("settings"), source + ", settings");
  const json& tensors = reader.child("tensors");
  const json& steps = reader.child("steps");
  const json* const odd = reader.has("odd") ? &reader.child("odd") : nullptr;  // only with a planted mistake
  reader.finish();
  if (!tensors.is_array() || !steps.is_array()) {
    throw request_error(source + ": tensors and steps must be lists");
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    program.tensors.push_back(tensor_from_json(tensors[i], static_cast<TensorId>(i), tensors.size(),
                                               fmt::format("{}, tensor {}", source, i)));
  }
  program.steps = steps_from_json(steps, tensors.size(), source);
  if (odd != nullptr) program.odd = odd_from_json(*odd, program, source + ", odd replica");
  for (const Tensor& tensor : program.tensors) {
    if (tensor.layout.copies == 1 || (program.tp() >= 1 && program.tp() % tensor.layout.copies == 0))
      continue;
    throw request_error(fmt::format("{}: tensor {} has {} copies of a slice, but copies must divide T = {}",
                                    source, tensor.name, tensor.layout.copies, program.tp()));
  }
  check_storage(program, source);
  return program;
}

}  // namespace shardlens
