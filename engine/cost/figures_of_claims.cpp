// Counts and prices what texts state in a sentence: that a volume stays the same, that memory falls by T, how
// long an epoch takes, what a second node costs.
#include <fmt/format.h>

#include "engine/config/splits.h"
#include "engine/cost/figures_parts.h"
#include "engine/cost/model_price.h"
#include "engine/cost/scaling.h"
#include "engine/planner/memory_plan.h"
#include "engine/planner/parameters.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace {

double sent_in_a_layer(const Settings& settings) {
  const Program program = plan_program(settings);
  double bytes = 0;
  for (const Step& step : program.steps) bytes += static_cast<double>(sent_bytes(program, step.id));
  return bytes;
}

void add_sequence_parallelism(std::vector<WorkedFigure>& figures) {
  Settings sequence = chapters_exercise();
  const double all_reduces = sent_in_a_layer(sequence);
  sequence.split = named_split("megatron-sp");
  figures.push_back(
      {"sequence parallelism against all-reduces, bytes sent for a layer forward and backward", kBook,
       "the same total volume", "an all-gather and a reduce-scatter send what an all-reduce sends", 1,
       sent_in_a_layer(sequence) / all_reduces, "ratio",
       "forward it is the same. Backward, the two inputs that were gathered are gathered once more for the "
       "weights' gradients, because each rank kept only its tokens: ten half all-reduces instead of eight. "
       "The gradients of the norms and of two biases are sums over the "
       "tokens of all ranks, which adds a little"});
  prove(figures, figures.size() - 1, sequence, ShownBy::Traffic);
}

void add_collectives(std::vector<WorkedFigure>& figures) {
  const Settings s = chapters_exercise();
  const Program program = plan_program(s);
  int all_reduces = 0;
  for (const Step& step : program.steps) all_reduces += step.op == Op::AllReduce ? 1 : 0;
  figures.push_back({"all-reduces in a layer, forward and backward", kChapter, "4", "2 forward, 2 backward",
                     4, static_cast<double>(all_reduces), "", ""});
  prove(figures, figures.size() - 1, s, ShownBy::Traffic);
  const int64_t bytes = s.tokens() * s.model.hidden * element_bytes(s.dtype);
  const auto sent = [&](Collective collective) {
    return static_cast<double>(ring_sent_bytes(collective, bytes, s.tp));
  };
  figures.push_back(
      {"a reduce-scatter and an all-gather against an all-reduce, bytes sent", kWalkThrough,
       "all-reduce = reduce-scatter + all-gather", "1", 1,
       (sent(Collective::ReduceScatter) + sent(Collective::AllGather)) / sent(Collective::AllReduce), "ratio",
       ""});
  Settings sequence = s;
  sequence.split = named_split("megatron-sp");
  prove(figures, figures.size() - 1, sequence, ShownBy::Traffic);
}

double held(const Settings& settings, MemoryKind kind) {
  return static_cast<double>(plan_memory(plan_program(settings), 0).arena_bytes[static_cast<size_t>(kind)]);
}

void add_memory_of_a_rank(std::vector<WorkedFigure>& figures) {
  const size_t first = figures.size();
  const Settings cut = chapters_exercise();
  Settings whole = cut;
  whole.tp = 1;
  const auto share = [&](MemoryKind kind) { return held(cut, kind) / held(whole, kind); };
  figures.push_back({"a rank's weights at T = 8 against T = 1", kBook, "one eighth", "1 / T", 1.0 / cut.tp,
                     share(MemoryKind::Weight), "ratio",
                     "the norms and the biases of row-parallel products are whole on every rank"});
  figures.push_back(
      {"a rank's activations at T = 8 against T = 1", kBook, "one eighth", "1 / T", 1.0 / cut.tp,
       share(MemoryKind::Activation), "ratio",
       "the residual stream, the norms' results and the sums are whole on every rank; only what "
       "lies between a column-parallel and a row-parallel product is cut"});
  prove(figures, first, cut, ShownBy::Memory);
}

// The chapter's own ratio for a hidden size, from its formula: half of 4·b·s·d² FLOPs, 8·b·s·d bytes.
void add_ratio_of_a_wide_layer(std::vector<WorkedFigure>& figures) {
  Settings wide = chapters_exercise();
  wide.model.title = "the chapter's wider layer";
  wide.model.hidden = 8192;
  wide.model.heads = 64;
  wide.model.ffn = 4 * wide.model.hidden;
  wide.hardware = "h100-80gb";
  const Hardware& h100 = find_hardware(wide.hardware);
  const ForwardCount counted = count_forward(wide, h100);
  constexpr double kPrintedBandwidth = 900e9;
  const double peak = h100.flops(DType::Fp16);
  figures.push_back({"compute against communication, forward, d = 8192 at T = 8", kChapter, "0.23",
                     "d · 900 GB/s / (4 · T · 989 TFLOP/s)",
                     static_cast<double>(wide.model.hidden) * kPrintedBandwidth / (4 * wide.tp * peak),
                     static_cast<double>(counted.flops) / peak / counted.tp_seconds, "ratio",
                     "a layer computes 24·b·s·d² and not 2·b·s·d² FLOPs, and a ring sends at 450 GB/s in one "
                     "direction"});
  prove(figures, figures.size() - 1, wide, ShownBy::Traffic);
}

void add_ratio_of_fewer_ranks(std::vector<WorkedFigure>& figures) {
  for (const auto& [tp, printed] : {std::pair{4, "0.34"}, {2, "0.68"}}) {
    Settings fewer = chapters_exercise();
    fewer.tp = tp;
    fewer.hardware = "h100-80gb";
    const Hardware& h100 = find_hardware(fewer.hardware);
    const ForwardCount counted = count_forward(fewer, h100);
    constexpr double kPrintedRatio = 0.17, kPrintedRanks = 8;
    figures.push_back(
        {fmt::format("compute against communication, forward, T = {}", tp), kChapter, printed,
         fmt::format("0.17 · 8 / {}: halving T doubles the ratio", tp), kPrintedRatio * kPrintedRanks / tp,
         static_cast<double>(counted.flops) / h100.flops(DType::Fp16) / counted.tp_seconds, "ratio",
         "all FLOPs are counted, and a smaller ring also sends less and makes fewer hops, so the "
         "ratio more than doubles each time"});
    prove(figures, figures.size() - 1, fewer, ShownBy::Traffic);
  }
}

void add_two_nodes(std::vector<WorkedFigure>& figures) {
  for (const char* name : {"a100-80gb", "h100-80gb", "h200-141gb"}) {
    Settings settings = paper_settings("megatron-8.3b", 8, 1);
    settings.hardware = name;
    const Hardware& hardware = find_hardware(name);
    const BreakEven crossing = break_even(settings, hardware);
    figures.push_back(
        {fmt::format("communication at T = 16 over two nodes against T = 8 in one, {}", hardware.title),
         kBook, "doubled", "half of the all-reduce crosses the slow network", 2,
         crossing.far_seconds / crossing.near_seconds, "ratio",
         "each hop of a ring waits for the slowest link, so all of the all-reduce goes at the "
         "network's speed; estimated for a layer of 8.3 B, with the links of the data sheets"});
    prove(figures, figures.size() - 1, settings, ShownBy::BreakEven);
  }
}

// The paper's largest model with as many layers as 16 devices hold.
void add_one_box(std::vector<WorkedFigure>& figures) {
  constexpr int kRanks = 16;
  constexpr double kBytesPerParameter = 16;
  Settings settings = paper_settings("megatron-8.3b", kRanks, 1);
  const Hardware& v100 = find_hardware("v100-32gb");
  const auto fits = [&](int64_t layers) {
    settings.model.layers = layers;
    return total_bytes(price_model(settings, v100).memory_bytes) <= v100.memory_bytes;
  };
  int64_t least = settings.model.layers, most = 16 * least;
  while (most - least > 1) {
    const int64_t middle = (least + most) / 2;
    (fits(middle) ? least : most) = middle;
  }
  settings.model.layers = least;
  const double capacity = kRanks * static_cast<double>(v100.memory_bytes);
  figures.push_back(
      {"the largest model that 16 GPUs of 32 GB train", kPaper, "16 billion parameters",
       "16 · 32 GB / 16 bytes", capacity / kBytesPerParameter,
       static_cast<double>(parameter_count(settings.model)), "parameters",
       fmt::format("the paper's width in {} layers: 18 bytes per parameter here, and the activations "
                   "of 8 sequences, with each layer recomputed. The paper gives no calculation",
                   least)});
  prove(figures, figures.size() - 1, settings, ShownBy::Memory);
}

void add_epochs(std::vector<WorkedFigure>& figures) {
  constexpr double kIterations = 68'507, kSecondsOfADay = 86'400, kBatch = 512;
  struct Row {
    const char* model;
    int tp, dp;
    const char* printed;
    double days;
  };
  for (const Row& row :
       {Row{"gpt2-medium", 1, 64, "0.86 days", 0.86}, Row{"megatron-2.5b", 4, 32, "2.27 days", 2.27},
        Row{"megatron-8.3b-24-heads", 8, 64, "2.10 days", 2.10}}) {
    Settings settings = paper_settings(row.model, row.tp, row.dp);
    settings.batch = static_cast<int64_t>(kBatch);
    const double seconds = price_model(settings, paper_hardware()).step_seconds;
    figures.push_back(
        {fmt::format("an epoch of {} on {} GPUs", settings.model.title, row.tp * row.dp),
         std::string(kPaper) + ", Table 2", row.printed, "measured in the paper", row.days,
         kIterations * seconds / kSecondsOfADay, "days",
         fmt::format("68,507 steps of 512 sequences at T = {}, D = {}, estimated on the machine "
                     "fitted to one figure of the paper, 39 TFLOP/s on one GPU; nothing overlaps",
                     row.tp, row.dp)});
    figures.back().shown_by = ShownBy::WeakScaling;
  }
}

}  // namespace

void add_claims(std::vector<WorkedFigure>& figures) {
  add_collectives(figures);
  add_ratio_of_a_wide_layer(figures);
  add_ratio_of_fewer_ranks(figures);
  add_sequence_parallelism(figures);
  add_memory_of_a_rank(figures);
  add_two_nodes(figures);
  add_one_box(figures);
  add_epochs(figures);
}

}  // namespace shardlens
