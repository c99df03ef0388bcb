// Enumerates the splits and adds up their costs.
#include "engine/cost/tournament.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "engine/base/error.h"
#include "engine/config/splits.h"
#include "engine/config/validate.h"
#include "engine/cost/pass_time.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace {

// A change to a split. The values of a field are choices, and so are combinations of choices.
using Choice = std::function<void(Split&)>;
using Choices = std::vector<Choice>;

template <class Value>
Choices of(Value Split::*field, std::initializer_list<Value> values) {
  Choices choices;
  for (const Value value : values) choices.push_back([field, value](Split& split) { split.*field = value; });
  return choices;
}

Choices combined(const std::vector<Choices>& fields) {
  Choices all{[](Split&) {}};
  for (const Choices& field : fields) {
    Choices wider;
    for (const Choice& first : all) {
      for (const Choice& second : field) {
        wider.push_back([first, second](Split& split) {
          first(split);
          second(split);
        });
      }
    }
    all = std::move(wider);
  }
  return all;
}

// To add a new field of Split to the tournament, add one line here: with the layers, with the ends of the
// model, or with the stream if it changes what passes between them.
Choices layer_choices() {
  const auto cuts = {Cut::Column, Cut::Row, Cut::Replicated};
  return combined({of(&Split::attn_qkv, cuts), of(&Split::attn_proj, cuts), of(&Split::mlp_fc, cuts),
                   of(&Split::mlp_proj, cuts)});
}
Choices end_choices() {
  return combined(
      {of(&Split::embedding, {EmbeddingCut::Vocab, EmbeddingCut::Hidden, EmbeddingCut::Replicated}),
       of(&Split::loss, {LossForm::Fused, LossForm::Gather})});
}
Choices stream_choices() {
  return combined({of(&Split::norm, {NormCut::Replicated, NormCut::Parallel, NormCut::Sequence})});
}

Split chosen(const Choice& stream, const Choice& layer, const Choice& ends) {
  Split split;
  stream(split);
  layer(split);
  ends(split);
  return split;
}

// The cost that one layer, or the ends, add to a model.
struct Piece {
  Choice choice;
  CostSum sum;
  int64_t state_bytes = 0;
  int64_t cut_weights = 0;
  Gradients gradients;

  Piece& operator-=(const Piece& other) {
    CostSum less = other.sum;
    less *= -1;
    sum += less;
    state_bytes -= other.state_bytes;
    cut_weights -= other.cut_weights;
    return *this;
  }
};

// Plans a model of this many layers. Returns nothing if the planner refuses the split.
std::optional<Piece> plan_piece(Settings settings, const Split& split, int64_t layers,
                                const Hardware& hardware, Tournament& tournament) {
  settings.split = split;
  Piece piece;
  try {
    settings = with_sizes(settings, layers, settings.micro_batches);
    const Program program = plan_program(settings);
    ++tournament.programs;
    const std::vector<StepCost> costs = costs_in_turn(program, price(program, hardware, 0));
    for (const Step& step : program.steps)
      if (step.axis == Axis::Tp) piece.sum.add(step, costs[static_cast<size_t>(step.id)]);
    for (const Tensor& tensor : program.tensors) {
      piece.cut_weights += tensor.kind == MemoryKind::Weight && tensor.layout.kind == LayoutKind::Sharded;
      const bool stays = tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::WeightGradient ||
                         tensor.kind == MemoryKind::OptimizerState;
      if (stays && tensor.storage == kNoTensor) piece.state_bytes += local_bytes(tensor, program.tp(), 0);
    }
    if (settings.dp > 1) piece.gradients = gradients_of(program, costs);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Request) throw;
    return std::nullopt;
  }
  return piece;
}

// The one case in which costs do not add up: if no weight is cut, the optimizer needs no collective. But each
// piece was planned together with a piece that had one.
CostSum uncut(Settings settings, const Split& split, const Hardware& hardware) {
  settings.split = split;
  return price_model(settings, hardware).sum;
}

// Enters all splits of one T x D.
Job<> enter(const Settings& settings, const Hardware& hardware, Tournament& tournament) {
  const Choices all_layers = layer_choices(), all_ends = end_choices();
  for (const Choice& stream : stream_choices()) {
    // Two layers of the default cuts minus one give the cost of one layer; the ends are the rest.
    const Choice keep = [](Split&) {};
    const Split base = chosen(stream, keep, keep);
    const auto one = plan_piece(settings, base, 1, hardware, tournament);
    const auto two = plan_piece(settings, base, 2, hardware, tournament);
    if (!one || !two) {
      tournament.not_legal += all_layers.size() * all_ends.size();
      continue;
    }
    Piece base_layer = *two, base_ends = *one;
    base_layer -= *one;
    base_ends -= base_layer;
    std::vector<Piece> layers, ends;
    for (const Choice& choice : all_layers) {
      co_await GiveWay();
      auto piece = plan_piece(settings, chosen(stream, choice, keep), 1, hardware, tournament);
      if (!piece) continue;
      *piece -= base_ends;
      piece->choice = choice;
      layers.push_back(std::move(*piece));
    }
    for (const Choice& choice : all_ends) {
      co_await GiveWay();
      auto piece = plan_piece(settings, chosen(stream, keep, choice), 1, hardware, tournament);
      if (!piece) continue;
      *piece -= base_layer;
      piece->choice = choice;
      ends.push_back(std::move(*piece));
    }
    tournament.not_legal += all_layers.size() * all_ends.size() - layers.size() * ends.size();
    co_await GiveWay();
    for (const Piece& layer : layers) {
      for (const Piece& end : ends) {
        Entrant entrant;
        entrant.split = chosen(stream, layer.choice, end.choice);
        entrant.tp = settings.tp;
        entrant.dp = settings.dp;
        entrant.sum = layer.sum;
        entrant.sum *= settings.model.layers;
        entrant.sum += end.sum;
        const Gradients gradients{end.gradients.head, layer.gradients.layer, end.gradients.embedding};
        const ReplicaCosts replicas = replica_costs(gradients, settings.model.layers, settings, hardware);
        entrant.sum += replicas.sum;
        if (layer.cut_weights + end.cut_weights == 0) entrant.sum = uncut(settings, entrant.split, hardware);
        entrant.sum.dp_seconds = replicas.wait_seconds;
        entrant.seconds = entrant.sum.seconds();
        entrant.state_bytes = settings.model.layers * layer.state_bytes + end.state_bytes;
        tournament.entrants.push_back(std::move(entrant));
        if (settings.tp == 1) co_return;  // on one rank every split is the same
      }
    }
  }
}

// Plans the memory of the fastest entrants until `wanted` of them fit. An entrant whose state alone is too
// large needs no plan.
Job<> find_those_that_fit(const Settings& settings, const Hardware& hardware, size_t wanted,
                          Tournament& tournament) {
  constexpr size_t kMostPlans = 200;
  size_t plans = 0;
  for (size_t place = 0; place < tournament.entrants.size() && tournament.listed.size() < wanted; ++place) {
    Entrant& entrant = tournament.entrants[place];
    bool fits = entrant.state_bytes <= tournament.limit_bytes;
    if (fits) {
      if (plans++ == kMostPlans) {
        tournament.complete = false;
        co_return;
      }
      co_await GiveWay();
      entrant.memory_bytes = total_bytes(price_model(settings_of(settings, entrant), hardware).memory_bytes);
      fits = entrant.memory_bytes <= tournament.limit_bytes;
    }
    if (fits) {
      tournament.listed.push_back(place);
    } else {
      ++tournament.too_large;
    }
  }
}

}  // namespace

std::string words_of(const Split& split) {
  for (const Split& named : named_splits()) {
    Split same = split;
    same.name = named.name;
    if (same == named) return named.name;
  }
  return fmt::format("qkv {}, attn.proj {}, fc {}, mlp.proj {}, embedding {}, norm {}, loss {}",
                     to_string(split.attn_qkv), to_string(split.attn_proj), to_string(split.mlp_fc),
                     to_string(split.mlp_proj), to_string(split.embedding), to_string(split.norm),
                     to_string(split.loss));
}

Tournament hold_tournament(const Settings& settings, int ranks, const Hardware& hardware, int64_t limit_bytes,
                           size_t listed) {
  return run_whole(hold_in_pieces(settings, ranks, hardware, limit_bytes, listed));
}

Job<Tournament> hold_in_pieces(Settings settings, int ranks, Hardware hardware, int64_t limit_bytes,
                               size_t listed) {
  if (ranks < 1) throw request_error("a tournament needs 1 rank or more");
  Tournament tournament;
  tournament.limit_bytes = limit_bytes;
  Settings entering = settings;
  entering.block = Block::Model;
  entering.update = true;
  for (const int tp : possible_degrees(settings.model, Block::Model, settings.heads_policy)) {
    if (ranks % tp != 0) continue;
    entering.tp = tp;
    entering.dp = ranks / tp;
    if (settings.batch % (int64_t{entering.dp} * settings.micro_batches) != 0) continue;
    co_await enter(entering, hardware, tournament);
  }
  if (tournament.entrants.empty())
    throw request_error(fmt::format(
        "no T x D = {} is possible for {} with a batch of {} in {} parts: choose another number of "
        "ranks or another batch",
        ranks, settings.model.title, settings.batch, settings.micro_batches));
  std::stable_sort(tournament.entrants.begin(), tournament.entrants.end(),
                   [](const Entrant& a, const Entrant& b) { return a.seconds < b.seconds; });
  for (Entrant& entrant : tournament.entrants)
    entrant.split.name = entrant.tp == 1 ? "one rank, nothing to cut" : words_of(entrant.split);
  co_await find_those_that_fit(entering, hardware, listed, tournament);
  co_return tournament;
}

PairOrder order_of(const std::vector<double>& measured_seconds) {
  PairOrder order;
  for (size_t a = 0; a < measured_seconds.size(); ++a) {
    for (size_t b = a + 1; b < measured_seconds.size(); ++b) {
      ++order.pairs;
      order.agree += measured_seconds[a] <= measured_seconds[b];
    }
  }
  return order;
}

Settings settings_of(const Settings& settings, const Entrant& entrant) {
  Settings one = settings;
  one.block = Block::Model;
  one.update = true;
  one.split = entrant.split;
  one.tp = entrant.tp;
  one.dp = entrant.dp;
  return one;
}

int64_t memory_of_a_rank(const Hardware& hardware, int ranks) {
  const bool shared = hardware.nodes == 1;  // this machine
  return hardware.memory_bytes / (shared ? ranks : 1);
}

}  // namespace shardlens
