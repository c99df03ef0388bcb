// The glossary: the words of the field. Each is a command of the palette. It says what the word means and
// goes to a place in the studio where a person can see it.
#include "ui/commands/glossary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/utf8.h"
#include "engine/program/program.h"
#include "engine/runtime/snapshot.h"
#include "ui/commands/command_table.h"
#include "ui/commands/walk.h"
#include "ui/plan/sections.h"

namespace shardlens::ui {
namespace {

using IsStep = bool (*)(const Program& program, const Step& step);

/// Where a word can be seen: at the first step of its kind on the Stage, or where another command leads.
struct Place {
  Place(const char* its_command) : command(its_command) {}
  Place(IsStep its_step, const char* its_split = "megatron") : is_step(its_step), split(its_split) {}

  std::string command;  ///< its id; empty: a step
  IsStep is_step = nullptr;
  std::string split;  ///< one whose Program has such a step
};

struct Term {
  const char* word;
  const char* also;     ///< other words that find it
  const char* meaning;  ///< one to three sentences
  Place place;
};

LayoutKind output_kind(const Program& program, const Step& step) {
  return program.tensor(step.outputs.front()).layout.kind;
}

bool writes(const Program& program, const Step& step, LayoutKind kind) {
  return !step.outputs.empty() && !is_conversion(step.op) && output_kind(program, step) == kind;
}

template <LayoutKind result>
bool is_product(const Program& program, const Step& step) {
  return step.op == Op::Linear && step.phase == Phase::Forward && writes(program, step, result);
}

bool is_any_collective(const Program&, const Step& step) {
  return is_collective(step.op);
}

template <Op op>
bool is(const Program&, const Step& step) {
  return step.op == op;
}

template <Conjugate conjugate>
bool is_at(const Program&, const Step& step) {
  return step.conjugate == conjugate;
}

template <LayoutKind kind>
bool is_written(const Program& program, const Step& step) {
  return writes(program, step, kind);
}

const std::vector<Term>& terms() {
  static const std::vector<Term> all{
      {"Rank", "process worker device",
       "One of the T workers that compute a model together. Here a rank is a CPU thread, a GPU or a process. "
       "Every lane of the Stage is a rank.",
       "view.stage"},
      {"Shard", "slice piece",
       "The piece of a tensor that one rank holds. The Stage draws it at its place in the whole tensor.",
       is_written<LayoutKind::Sharded>},
      {"Layout", "placement",
       "How a tensor is divided over the ranks: Replicated, Sharded or Partial. Where the layouts of two "
       "neighbouring steps do not fit, the ranks must exchange data.",
       "view.program"},
      {"Replicated", "copy", "Every rank holds the whole tensor, with the same bits.",
       is_written<LayoutKind::Replicated>},
      {"Sharded", "cut sliced",
       "Every rank holds one slice of the tensor. The slices together are the tensor.",
       is_written<LayoutKind::Sharded>},
      {"Partial", "term sum",
       "Every rank holds a tensor of the full shape, but only one term of a sum. It is right only after the "
       "ranks have added their terms.",
       is_written<LayoutKind::Partial>},
      {"Column-parallel", "column split",
       "A product whose weight is cut by columns. Each rank makes some columns of the result, and no sum is "
       "needed.",
       is_product<LayoutKind::Sharded>},
      {"Row-parallel", "row split",
       "A product whose weight is cut by rows. Each rank makes one term of the whole result, so an "
       "all-reduce must follow.",
       is_product<LayoutKind::Partial>},
      {"f", "conjugate operator",
       "The operator before a column-parallel product. It does nothing in the forward pass, and is an "
       "all-reduce in the backward pass.",
       is_at<Conjugate::F>},
      {"g", "conjugate operator",
       "The operator after a row-parallel product. It is an all-reduce in the forward pass, and does nothing "
       "in the backward pass.",
       is_at<Conjugate::G>},
      {"Collective", "communication",
       "An operation in which all ranks of a group take part and exchange data. On the Stage it is an amber "
       "band across all lanes.",
       is_any_collective},
      {"All-reduce", "allreduce sum",
       "Adds the terms of all ranks and gives every rank the sum: Partial becomes Replicated.",
       is<Op::AllReduce>},
      {"Reduce-scatter",
       "reducescatter",
       "Adds the terms of all ranks and gives every rank one slice of the sum: Partial becomes Sharded. It "
       "is the first half of an all-reduce.",
       {is<Op::ReduceScatter>, "megatron-sp"}},
      {"All-gather",
       "allgather",
       "Gives every rank the slices of all ranks: Sharded becomes Replicated. It is the second half of an "
       "all-reduce.",
       {is<Op::AllGather>, "megatron-sp"}},
      {"Communicator", "local NCCL MPI backend",
       "What carries the collectives of a run: \"local\" between threads that share their memory, NCCL "
       "between "
       "GPUs, MPI between processes.",
       "view.traffic"},
      {"Ring", "ring algorithm hop chunk bus bandwidth",
       "A way to run a collective: each rank sends only to its right neighbour, one chunk in each hop. In a "
       "ring all-reduce of S bytes a rank sends 2 S (T - 1) / T bytes.",
       "view.traffic"},
      {"Alpha and beta", "latency bandwidth cost model α β",
       "The two numbers that predict the time of a message. Alpha is what a message takes before its first "
       "byte moves; beta is how many bytes a second follow.",
       "view.times"},
      {"Tensor parallelism", "TP T degree",
       "T ranks share every layer: each holds a part of every large matrix and computes with it.",
       "view.stage"},
      {"Data parallelism", "DP D replicas",
       "D copies of the model each compute other sequences of the batch. Once in a step they add their "
       "gradients.",
       "view.cluster"},
      {"Sequence parallelism",
       "SP tokens",
       "Between the blocks each rank holds only some of the tokens, so norms and dropouts need 1/T of the "
       "memory. An all-reduce becomes a reduce-scatter and an all-gather.",
       {is<Op::ReduceScatter>, "megatron-sp"}},
      {"Split", "cut partition",
       "The choice how each weight matrix is cut: by columns, by rows, or not at all.", "view.tournament"},
      {"Split megatron", "column then row",
       "The first matrix of attention and of the MLP is cut by columns, the second by rows. Each of the two "
       "then needs one all-reduce forward and one backward.",
       "view.tournament"},
      {"Split megatron-sp", "sequence parallelism",
       "The split megatron with sequence parallelism: between attention and the MLP each rank holds only "
       "some of the tokens.",
       "view.tournament"},
      {"Split reversed", "row then column",
       "The first matrix of attention and of the MLP is cut by rows, the second by columns: the other way "
       "round than megatron. The ranks must then meet inside attention and before GeLU as well.",
       "view.tournament"},
      {"Split row-row", "row then row",
       "Every matrix is cut by rows, so every product leaves terms that the ranks must add.",
       "view.tournament"},
      {"Split column-column", "column then column",
       "Every matrix is cut by columns, so every product leaves slices. The ranks must gather them where the "
       "next matrix needs all columns.",
       "view.tournament"},
      {"Split replicated", "no cut", "No matrix is cut. Every rank computes everything, and nothing is sent.",
       "view.tournament"},
      {"Attention head", "heads QKV",
       "A part of attention with queries, keys and values of its own. Heads do not need each other's "
       "numbers, so each rank can hold some whole heads.",
       is<Op::Attention>},
      {"Softmax", "exponential probabilities",
       "Turns a row of numbers into shares that add up to 1: each exponential is divided by the sum of all. "
       "It needs the whole row, and is not linear.",
       is<Op::Attention>},
      {"GeLU", "activation non-linear",
       "The function between the two matrices of the MLP. It is not linear: the GeLU of a sum is not the sum "
       "of the GeLUs, so it cannot act on a Partial tensor. GeLU' is its slope, which the backward pass "
       "needs.",
       is<Op::Gelu>},
      {"\u2218", "entrywise product Hadamard number by number",
       "Number by number: each number is multiplied by the one at the same place of the other matrix.",
       is<Op::GeluGrad>},
      {"LayerNorm", "norm",
       "Gives every token mean 0 and variance 1 over its hidden numbers, then a gain and a shift. It needs "
       "the whole token. LayerNorm' is its step backward: from the gradient of its result to that of its "
       "input.",
       is<Op::LayerNorm>},
      {"Rms", "root mean square size of the numbers",
       "The root of the mean of the squares: how large the numbers of a tensor usually are, whatever their "
       "sign.",
       "view.stage"},
      {"Memory wall", "capacity out of memory",
       "Training needs about 16 bytes for each parameter, and activations on top. A device has only so much "
       "memory; beyond it the model must be cut.",
       "view.memory"},
      {"Fused loss", "vocabulary-parallel cross-entropy logits",
       "A loss over logits that stay cut by the vocabulary. The ranks exchange three numbers for each token "
       "instead of all logits.",
       "view.traffic"},
      {"Weak scaling", "scaling efficiency",
       "The model grows with the ranks. The efficiency compares the time on T ranks with the time of one "
       "rank and its share.",
       "view.scaling"},
      {"Strong scaling", "scaling speedup", "The model stays the same on more and more ranks.",
       "view.scaling_strong"},
      {"Loss scale", "fp16 mixed precision",
       "A factor on the loss, so that small gradients do not become zero in fp16. The step is skipped if a "
       "gradient overflows.",
       "view.train"},
  };
  return all;
}

bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         static_cast<unsigned char>(byte) > 127;
}

/// Without what stands around the letters, and without "'s".
std::string_view bare(std::string_view words) {
  while (!words.empty() && !is_letter(words.front())) words.remove_prefix(1);
  while (!words.empty() && !is_letter(words.back())) words.remove_suffix(1);
  for (const std::string_view of : {"'s", "\u2019s"})
    if (words.ends_with(of)) words.remove_suffix(of.size());
  return words;
}

/// What they mean, by what a text calls them, in small letters. A split is called by its name alone as well,
/// unless that is a word already: "replicated" is the layout.
const std::unordered_map<std::string, std::string>& by_word() {
  static const auto all = [] {
    constexpr std::string_view kSplit = "split ";
    std::unordered_map<std::string, std::string> found;
    for (const Term& term : terms()) {
      const std::string word = lower_case(term.word);
      const std::string text = fmt::format("{}: {}", term.word, term.meaning);
      found.emplace(word, text);
      if (word.starts_with(kSplit)) found.emplace(word.substr(kSplit.size()), text);
      if (word == "tensor parallelism") found.emplace("t", text);
    }
    return found;
  }();
  return all;
}

/// Returns the first step of the kind; -1 if the Program has none.
StepId first_step(const Program& program, IsStep is_step) {
  const auto found = std::find_if(program.steps.begin(), program.steps.end(),
                                  [&](const Step& step) { return is_step(program, step); });
  return found == program.steps.end() ? -1 : found->id;
}

/// Which settings have such a step.
std::string settings_with(const Context& context, const Place& place) {
  return fmt::format(" These settings have none: choose the split {}{}.", place.split,
                     context.wanted().tp == 1 ? ", and T = 2" : "");
}

void show_term(const Context& context, const Term& term) {
  ViewState& view = context.view;
  const std::string words = std::string(term.word) + ": " + term.meaning;
  view.said = words;
  if (!term.place.command.empty()) return find_command(term.place.command).run(context);
  show_tab(context, Tab::Stage);
  const StepId step =
      context.snapshot.plan ? first_step(context.snapshot.plan->program, term.place.is_step) : -1;
  if (step < 0) {
    view.said = words + settings_with(context, term.place);
    return;
  }
  show_step(view, context.snapshot.plan->program, step);
  open_part_of_selection(view);
  reach_selection(context);
}

}  // namespace

std::string_view glossary_text(std::string_view words, bool is_name) {
  const std::string text = lower_case(bare(words));
  if (text.empty() || (text.size() == 1 && !is_name)) return {};
  auto found = by_word().find(text);
  if (found == by_word().end() && text.ends_with('s'))
    found = by_word().find(text.substr(0, text.size() - 1));
  if (found == by_word().end()) return {};
  return found->second;
}

std::vector<std::string_view> glossary_meanings(const std::vector<TextWord>& words,
                                                std::set<std::string_view>& explained) {
  std::vector<std::string_view> meanings(words.size());
  for (size_t at = 0; at < words.size(); ++at) {
    for (const size_t count : {size_t{2}, size_t{1}}) {
      if (at + count > words.size()) continue;
      std::string text = words[at].text;
      if (count == 2) text += " " + words[at + 1].text;
      if (const auto first = static_cast<unsigned char>(text.front()); count == 2 && std::isalpha(first) == 0)
        continue;  // "4 ranks" is "ranks"
      const std::string_view meaning = glossary_text(text, words[at].is_name || text.starts_with('T'));
      if (meaning.empty()) continue;
      if (explained.insert(meaning).second)
        for (size_t i = at; i < at + count; ++i) meanings[i] = meaning;
      at += count - 1;
      break;
    }
  }
  return meanings;
}

void add_glossary_commands(std::vector<UiCommand>& table) {
  for (const Term& term : terms()) {
    table.push_back({.id = std::string("glossary.") + term.word,
                     .title = std::string(kAsksMeaning) + term.word,
                     .help = term.meaning,
                     .other_words = term.also,
                     .group = CommandGroup::Glossary,
                     .run = [&term](const Context& context) { show_term(context, term); }});
  }
}

}  // namespace shardlens::ui
