// What pages call steps and tensors: the words by which an answer may name them.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "engine/lesson/answer_key.h"
#include "engine/lesson/functions.h"
#include "engine/program/operation.h"

namespace shardlens {
namespace {

// Of words that read the same, the first of these decides what they name.
enum Rank { kName, kTitle, kAlias, kValue, kLetter, kOther };

struct RankedWord {
  std::string written;
  int rank;
};

void add_new(std::vector<RankedWord>& words, std::string written, int rank) {
  if (written.empty()) return;
  // "all reduce" and "allreduce", too.
  for (const std::string_view hyphened : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"})
    if (const size_t at = written.find(hyphened); at != std::string::npos) {
      std::string joined = written;
      joined.replace(at, hyphened.size(), hyphened);
      std::erase(joined, '-');
      words.push_back({std::move(joined), std::max<int>(rank, kAlias)});
      break;
    }
  words.push_back({std::move(written), rank});
}

/// The parts of "R = X + O + b; N = norm(R)" or "C = P · V,  P = softmax(S)", and the whole.
void add_equation(std::vector<RankedWord>& words, const std::string& equation, int rank) {
  add_new(words, equation, rank);
  for (const std::string_view between : {"; ", ",  "}) {
    if (equation.find(between) == std::string::npos) continue;
    std::string_view rest = equation;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(between), rest.size());
      add_new(words, std::string(rest.substr(0, end)), rank);
      rest.remove_prefix(std::min(end + between.size(), rest.size()));
    }
  }
}

/// What a step is called: its name, what heads its row on the Stage, its operation, its letter f or g.
std::vector<RankedWord> titles_of(const Program& program, const Step& step) {
  std::vector<RankedWord> words;
  add_new(words, step.name, kName);
  add_equation(words, step.equation, kTitle);
  add_new(words, with_equation(program, step.name), kTitle);
  if (is_conversion(step.op)) {
    const std::string what = converted_words(program, step);
    add_new(words, fmt::format("{} {}", to_string(collective_of(step.op)), what), kTitle);
    // Where a planted mistake leaves an all-reduce out, the step keeps its name and the Stage its title.
    add_new(words, fmt::format("{} {}", step.name.substr(0, step.name.find(' ')), what), kTitle);
  }
  if (step.conjugate != Conjugate::None) add_new(words, to_string(step.conjugate), kTitle);
  add_new(words, to_string(step.op), kOther);
  return words;
}

/// What a tensor is called, apart from its step.
std::vector<RankedWord> names_of(const Program& program, const Tensor& tensor) {
  std::vector<RankedWord> words;
  add_new(words, tensor.name, kName);
  add_new(words, tensor.value, kValue);
  add_new(words, with_equation(program, tensor.name), kTitle);
  add_new(words, tensor.symbol, kLetter);
  return words;
}

/// "mlp.fc.weight" is the weight of the step mlp.fc, whatever the tensor's own name. A bias that is added
/// after the sum, by "mlp.proj bias", belongs to the product.
void add_operands(const Program& program, AnswerKey& key) {
  for (const Step& step : program.steps) {
    if (step.phase != Phase::Forward) continue;
    const std::string product = step.name.substr(0, step.name.find(' '));
    for (const auto& [ending, operand] : {std::pair{".weight", Operand::Weight}, {".bias", Operand::Bias}})
      if (const TensorId tensor = input_of(program, step, operand); tensor != kNoTensor)
        key.add_word(tensor, product + ending, kAlias);
  }
}

}  // namespace

void add_steps(const Program& program, AnswerKey& key) {
  for (const Step& step : program.steps) {
    const int candidate = key.add(step.name);
    for (const RankedWord& word : titles_of(program, step)) key.add_word(candidate, word.written, word.rank);
    // What is written names who writes it.
    for (const TensorId id : step.outputs)
      for (const RankedWord& word : names_of(program, program.tensor(id)))
        key.add_word(candidate, word.written, std::max<int>(word.rank, kAlias));
  }
}

void add_tensors(const Program& program, AnswerKey& key) {
  for (const Tensor& tensor : program.tensors) {
    const int candidate = key.add(tensor.name);
    for (const RankedWord& word : names_of(program, tensor)) key.add_word(candidate, word.written, word.rank);
  }
  add_operands(program, key);
  // Who writes a tensor names it.
  for (const Step& step : program.steps)
    for (const TensorId id : step.outputs)
      for (const RankedWord& word : titles_of(program, step)) key.add_word(id, word.written, kOther);
}

std::vector<std::string> words_for(const Program& program, const std::string& name) {
  std::vector<RankedWord> words;
  if (const StepId step = find_step(program, name); step >= 0)
    words = titles_of(program, program.step(step));
  else if (const TensorId tensor = find_tensor(program, name); tensor != kNoTensor)
    words = names_of(program, program.tensor(tensor));
  words.push_back({with_equation(program, name), kTitle});
  std::vector<std::string> written;
  for (RankedWord& word : words) written.push_back(std::move(word.written));
  return written;
}

void join_layouts(const Program& program, AnswerKey& key) {
  const auto is_right = [&](int one) { return key.candidates[static_cast<size_t>(one)].right; };
  for (auto& [plain, word] : key.words) {
    std::vector<int>& named = word.candidates;
    const std::string& value = program.tensor(named.front()).value;
    if (named.size() < 2 ||
        !std::all_of(named.begin(), named.end(), [&](int one) { return program.tensor(one).value == value; }))
      continue;
    std::stable_partition(named.begin(), named.end(), is_right);
    const auto wrong = std::find_if_not(named.begin(), named.end(), is_right);
    named.erase(wrong == named.begin() ? named.begin() + 1 : wrong, named.end());
  }
}

}  // namespace shardlens
