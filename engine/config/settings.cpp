// The names of the choices in the settings. One table per enum serves both directions.
#include "engine/config/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/base/words.h"

namespace shardlens {
namespace {

constexpr Word<Cut> kCuts[] = {{Cut::Column, "column"}, {Cut::Row, "row"}, {Cut::Replicated, "replicated"}};
constexpr Word<EmbeddingCut> kEmbeddingCuts[] = {{EmbeddingCut::Vocab, "vocab"},
                                                 {EmbeddingCut::Hidden, "hidden"},
                                                 {EmbeddingCut::Replicated, "replicated"}};
constexpr Word<NormCut> kNormCuts[] = {
    {NormCut::Replicated, "replicated"}, {NormCut::Parallel, "parallel"}, {NormCut::Sequence, "sequence"}};
constexpr Word<LossForm> kLossForms[] = {{LossForm::Fused, "fused"}, {LossForm::Gather, "gather"}};
constexpr Word<HeadsPolicy> kHeadsPolicies[] = {
    {HeadsPolicy::Strict, "strict"}, {HeadsPolicy::Uneven, "uneven"}, {HeadsPolicy::Padded, "padded"}};
constexpr Word<Block> kBlocks[] = {
    {Block::Layer, "layer"}, {Block::Mlp, "mlp"}, {Block::Attention, "attention"}, {Block::Model, "model"}};
constexpr Word<Recompute> kRecomputes[] = {
    {Recompute::None, "none"}, {Recompute::Selective, "selective"}, {Recompute::Full, "full"}};
constexpr Word<Fusion> kFusions[] = {{Fusion::Auto, "auto"}, {Fusion::On, "on"}, {Fusion::Off, "off"}};
constexpr Word<Objective> kObjectives[] = {{Objective::NextToken, "next-token"},
                                           {Objective::MaskedWords, "masked-words"}};
constexpr Word<NormPlacement> kNorms[] = {{NormPlacement::Pre, "pre"}, {NormPlacement::Post, "post"}};
constexpr Word<Activation> kActivations[] = {{Activation::GeluTanh, "gelu-tanh"},
                                             {Activation::GeluErf, "gelu-erf"}};
constexpr Word<Operands> kOperands[] = {{Operands::Normal, "normal"}, {Operands::Integer, "integer"}};
constexpr Word<InputKind> kInputs[] = {
    {InputKind::Normal, "normal"}, {InputKind::Npy, "npy"}, {InputKind::Text, "text"}};

constexpr Word<BackendChoice> kBackends[] = {
    {BackendChoice::Cpu, "cpu"}, {BackendChoice::Cuda, "cuda"}, {BackendChoice::Auto, "auto"}};
constexpr Word<CommunicatorChoice> kCommunicators[] = {
    {CommunicatorChoice::Auto, "auto"},         {CommunicatorChoice::Local, "local"},
    {CommunicatorChoice::Lockstep, "lockstep"}, {CommunicatorChoice::LocalCuda, "local_cuda"},
    {CommunicatorChoice::Nccl, "nccl"},         {CommunicatorChoice::Mpi, "mpi"}};

}  // namespace

std::string to_string(Cut cut) {
  return word_of(kCuts, cut);
}
std::string to_string(EmbeddingCut cut) {
  return word_of(kEmbeddingCuts, cut);
}
std::string to_string(NormCut cut) {
  return word_of(kNormCuts, cut);
}
std::string to_string(LossForm form) {
  return word_of(kLossForms, form);
}
std::string to_string(HeadsPolicy policy) {
  return word_of(kHeadsPolicies, policy);
}
std::string to_string(Recompute recompute) {
  return word_of(kRecomputes, recompute);
}
std::string to_string(Fusion fusion) {
  return word_of(kFusions, fusion);
}
std::string to_string(Block block) {
  return word_of(kBlocks, block);
}
std::string to_string(Objective objective) {
  return word_of(kObjectives, objective);
}
std::string to_string(NormPlacement norm) {
  return word_of(kNorms, norm);
}
std::string to_string(Activation form) {
  return word_of(kActivations, form);
}
std::string to_string(Operands operands) {
  return word_of(kOperands, operands);
}
std::string to_string(InputKind kind) {
  return word_of(kInputs, kind);
}
std::string to_string(BackendChoice backend) {
  return word_of(kBackends, backend);
}
std::string to_string(CommunicatorChoice choice) {
  return word_of(kCommunicators, choice);
}

Cut parse_cut(const std::string& text) {
  return parse_word(kCuts, "cut", text);
}
EmbeddingCut parse_embedding_cut(const std::string& text) {
  return parse_word(kEmbeddingCuts, "embedding cut", text);
}
NormCut parse_norm_cut(const std::string& text) {
  return parse_word(kNormCuts, "norm cut", text);
}
LossForm parse_loss_form(const std::string& text) {
  return parse_word(kLossForms, "loss", text);
}
HeadsPolicy parse_heads_policy(const std::string& text) {
  return parse_word(kHeadsPolicies, "heads policy", text);
}
Recompute parse_recompute(const std::string& text) {
  return parse_word(kRecomputes, "recompute", text);
}
Fusion parse_fusion(const std::string& text) {
  return parse_word(kFusions, "fusion", text);
}
Block parse_block(const std::string& text) {
  return parse_word(kBlocks, "block", text);
}
Objective parse_objective(const std::string& text) {
  return parse_word(kObjectives, "objective", text);
}
NormPlacement parse_norm_placement(const std::string& text) {
  return parse_word(kNorms, "norm placement", text);
}
Activation parse_activation(const std::string& text) {
  // The words of older recordings.
  if (text == "tanh") return Activation::GeluTanh;
  if (text == "erf") return Activation::GeluErf;
  return parse_word(kActivations, "activation", text);
}
Operands parse_operands(const std::string& text) {
  return parse_word(kOperands, "operands", text);
}
InputKind parse_input_kind(const std::string& text) {
  return parse_word(kInputs, "input", text);
}
BackendChoice parse_backend(const std::string& text) {
  return parse_word(kBackends, "backend", text);
}
CommunicatorChoice parse_communicator(const std::string& text) {
  return parse_word(kCommunicators, "communicator", text);
}

std::string gpus_text(const std::vector<int>& gpus) {
  return fmt::format("{}", fmt::join(gpus, ","));
}

std::vector<int> parse_gpus(const std::string& text) {
  std::vector<int> gpus;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    int gpu = 0;
    const auto [at, problem] = std::from_chars(text.data() + begin, text.data() + end, gpu);
    if (problem != std::errc() || at != text.data() + end || gpu < 0 || end + 1 == text.size()) {
      throw request_error(fmt::format(
          "\"{}\" is not a list of GPUs; give their numbers with commas, such as 0,2", shown(text)));
    }
    gpus.push_back(gpu);
    begin = end + 1;
  }
  return gpus;
}

std::string to_string(const Delay& delay) {
  return fmt::format("{}:{}:{}", delay.rank, delay.step, delay.milliseconds);
}

Delay parse_delay(const std::string& text) {
  // A step's name may contain colons, so the numbers are taken from the two ends.
  const size_t first = text.find(':'), last = text.rfind(':');
  const auto number = [&](size_t begin, size_t end, auto& value) {
    const char* const stop = text.data() + end;
    const auto [at, problem] = std::from_chars(text.data() + begin, stop, value);
    return begin < end && at == stop && problem == std::errc();
  };
  Delay delay;
  const bool is_whole = first != std::string::npos && last > first + 1 && number(0, first, delay.rank) &&
                        number(last + 1, text.size(), delay.milliseconds);
  if (!is_whole)
    throw request_error(fmt::format(
        "delay \"{}\" is not RANK:STEP:MS, such as 2:attn.proj:20: rank 2 is 20 ms late before attn.proj",
        shown(text)));
  delay.step = text.substr(first + 1, last - first - 1);
  return delay;
}

}  // namespace shardlens
