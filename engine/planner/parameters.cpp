// How the forms of models store parameters, and how many they have.
#include "engine/planner/parameters.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <set>
#include <stdexcept>

#include "engine/config/forms.h"
#include "engine/planner/planner.h"
#include "engine/program/operation.h"

namespace shardlens {
namespace {

// True for parameters with a row or an element for each word of the vocabulary.
bool is_over_vocabulary(Role role) {
  return role == Role::TokenTable || role == Role::Head || role == Role::HeadBias;
}

// Rows that are looked up, and the head, which may be the same rows: every checkpoint has them as they are.
bool is_table(Role role) {
  return is_over_vocabulary(role) || role == Role::PositionTable || role == Role::TypeTable;
}

Shape stored_shape(const Tensor& weight, const StoredPart& part) {
  if (weight.row_dims == 0) return {part.cols.size()};
  if (part.transposed) return {part.cols.size(), part.rows.size()};
  return {part.rows.size(), part.cols.size()};
}

// Calls piece(offset in the whole parameter, offset in the stored tensor, bytes) for each range of bytes that
// is contiguous in both.
template <typename Visit>
void for_each_piece(const Tensor& weight, const StoredPart& part, int64_t element_bytes, const Visit& visit) {
  const int64_t full_cols = matrix_shape(weight).cols;
  const int64_t stored_cols = part.shape.back();  // transposed: the parameter's rows
  const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements * element_bytes); };
  for (int64_t row = 0; row < part.rows.size(); ++row) {
    const int64_t from = (part.rows.begin + row) * full_cols + part.cols.begin;
    if (!part.transposed) {
      visit(bytes(from), bytes(row * stored_cols + part.stored_col), bytes(part.cols.size()));
      continue;
    }
    for (int64_t col = 0; col < part.cols.size(); ++col)
      visit(bytes(from + col), bytes((part.stored_col + col) * stored_cols + row), bytes(1));
  }
}

// Equal parts of a matrix's columns, or of unequal widths, each stored under a name of its own.
struct NamedPart {
  const char* module;
  int64_t cols;
};

std::vector<StoredPart> named_parts(const StoredPart& whole, const std::string& module,
                                    std::initializer_list<NamedPart> named) {
  std::vector<StoredPart> parts;
  int64_t begin = 0;
  for (const auto& [name, cols] : named) {
    StoredPart part = whole;
    part.name.replace(part.name.find(module), module.size(), name);
    part.cols = {begin, begin + cols};
    begin += cols;
    parts.push_back(std::move(part));
  }
  return parts;
}

// Grouped queries of GPT-2: one stored matrix has the columns q | k | v of two of ours.
StoredPart packed_columns(const Model& model, const ModelForm& form, StoredPart part, bool is_key_value) {
  const int64_t queries = model.hidden, keys = model.key_heads() * model.head_dim();
  const std::string own = is_key_value ? form.modules.key_value : form.modules.query;
  part.name.replace(part.name.find(own), own.size(), form.modules.qkv);
  part.stored_col = is_key_value ? queries : 0;
  part.shape = {part.rows.size(), queries + 2 * keys};
  return part;
}

std::vector<StoredPart> parts_of(const Model& model, Role role, const StoredPart& whole) {
  const ModelForm& form = form_of(model);
  const StoredModules& stored = form.modules;
  const bool packed = stored.query_part == nullptr;
  const int64_t queries = model.hidden, keys = model.key_heads() * model.head_dim();
  switch (role) {
    case Role::Qkv:
    case Role::QkvBias:
      if (packed) return {whole};
      return named_parts(
          whole, stored.qkv,
          {{stored.query_part, queries}, {stored.key_part, queries}, {stored.value_part, queries}});
    case Role::Query:
    case Role::QueryBias:
      if (packed) return {packed_columns(model, form, whole, false)};
      return {whole};
    case Role::KeyValue:
    case Role::KeyValueBias:
      if (packed) return {packed_columns(model, form, whole, true)};
      return named_parts(whole, stored.key_value, {{stored.key_part, keys}, {stored.value_part, keys}});
    default:
      return {whole};
  }
}

/// `role`: of the parameter. What the optimizer keeps of it is stored like the parameter, under another name.
std::vector<StoredPart> stored_as(const Settings& settings, const Tensor& weight, Role role) {
  const MatrixShape matrix = matrix_shape(weight);
  StoredPart whole{weight.name, {}, false, {0, matrix.rows}, {0, matrix.cols}};
  if (is_over_vocabulary(role)) {
    Range& words = weight.row_dims == 0 ? whole.cols : whole.rows;
    words.end = std::min(words.end, settings.model.vocab);
  }
  whole.transposed = form_of(settings.model).transposed && weight.row_dims > 0 && !is_table(role);
  std::vector<StoredPart> parts = parts_of(settings.model, role, whole);
  for (StoredPart& part : parts) {
    if (part.shape.empty()) part.shape = stored_shape(weight, part);
    if (weight.row_dims == 0) part.shape.erase(part.shape.begin(), part.shape.end() - 1);
  }
  return parts;
}

/// The role of the parameter whose moment or master copy `state` is.
Role role_of_parameter(const Program& program, const Tensor& state) {
  for (const Step& step : program.steps) {
    if (step.op != Op::AdamW || std::ranges::find(step.inputs, state.id) == step.inputs.end()) continue;
    return program.tensor(input_of(program, step, Operand::Parameter)).role;
  }
  throw std::logic_error(state.name + " is no state of a parameter");
}

}  // namespace

std::vector<StoredPart> stored_parts(const Settings& settings, const Tensor& weight) {
  return stored_as(settings, weight, weight.role);
}

std::vector<StoredPart> stored_parts(const Program& program, const Tensor& lasting) {
  const bool is_state = lasting.kind == MemoryKind::OptimizerState;
  return stored_as(program.settings, lasting, is_state ? role_of_parameter(program, lasting) : lasting.role);
}

int64_t parameter_count(const Model& model) {
  Settings one_layer;
  one_layer.model = model;
  one_layer.model.layers = 1;
  one_layer.block = Block::Model;
  one_layer.batch = one_layer.seq = 1;
  const Program program = plan_model(one_layer, false);
  std::set<TensorId> of_layer;
  for (const Step& step : program.steps)
    if (step.layer >= 0) of_layer.insert(step.inputs.begin(), step.inputs.end());
  int64_t count = 0;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
    for (const StoredPart& part : stored_parts(program.settings, tensor))
      count += (of_layer.count(tensor.id) > 0 ? model.layers : 1) * part.rows.size() * part.cols.size();
  }
  return count;
}

std::string second_name(const Settings& settings, const std::string& name) {
  return !settings.model.tied && name == kHeadBias ? kDecoderBias : "";
}

void take_part(const Tensor& weight, const StoredPart& part, const std::byte* whole, int64_t element_bytes,
               std::byte* stored) {
  for_each_piece(weight, part, element_bytes, [&](size_t in_whole, size_t in_stored, size_t bytes) {
    std::memcpy(stored + in_stored, whole + in_whole, bytes);
  });
}

void put_part(const Tensor& weight, const StoredPart& part, const std::byte* stored, int64_t element_bytes,
              std::byte* whole) {
  for_each_piece(weight, part, element_bytes, [&](size_t in_whole, size_t in_stored, size_t bytes) {
    std::memcpy(whole + in_whole, stored + in_stored, bytes);
  });
}

}  // namespace shardlens
