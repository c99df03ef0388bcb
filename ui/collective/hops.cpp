// Finds the shown collective and follows its chunks from hop to hop.
#include "ui/collective/hops.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/program/collective_group.h"
#include "ui/plan/cache.h"
#include "ui/plan/shown_plan.h"
#include "ui/widgets/format.h"
#include "ui/widgets/within.h"

namespace shardlens::ui::collective {
namespace {

/// "three", for the small numbers of a sentence.
std::string number_word(int number) {
  static const char* const kWords[] = {"no",    "one",   "two",  "three", "four",   "five",  "six",
                                       "seven", "eight", "nine", "ten",   "eleven", "twelve"};
  return number < static_cast<int>(std::size(kWords)) ? kWords[number] : std::to_string(number);
}

std::string ordinal_word(int number) {
  static const char* const kWords[] = {"",        "first",  "second", "third", "fourth",   "fifth",  "sixth",
                                       "seventh", "eighth", "ninth",  "tenth", "eleventh", "twelfth"};
  return number < static_cast<int>(std::size(kWords)) ? kWords[number] : std::to_string(number) + "th";
}

std::string members(const Inside& inside) {
  return inside.step().axis == Axis::Dp ? "replica" : "rank";
}

/// The group that is shown, by the selected rank or the first one.
std::vector<int> group_of(const Program& program, const Step& step, int selected_rank) {
  return ranks_of_group(program, step, std::max(selected_rank, 0));
}

std::string ring_sentence(const Inside& inside) {
  const std::string who = members(inside);
  const int hop = inside.hop;
  const bool summed = inside.sums();
  if (inside.kind() == Collective::AllToAll)
    return fmt::format("Each {} sends one piece straight to the {} {} further on.", who, who,
                       hop == 1 ? std::string("one") : number_word(hop));
  if (!inside.adding() && inside.kind() == Collective::AllReduce)
    return fmt::format("Each {} passes a finished chunk on. Nothing is added any more.", who);
  if (!summed)
    return hop == 1 ? fmt::format("Each {} passes its own piece on.", who)
                    : fmt::format("Each {} passes on the piece that it received last.", who);
  return fmt::format("Each {} sends a chunk with {}; the receiver adds its own, the {}.", who,
                     hop == 1 ? std::string("one term") : number_word(hop) + " terms", ordinal_word(hop + 1));
}

std::string tree_sentence(const Inside& inside) {
  const auto senders = static_cast<int>(inside.passings().size());
  const std::string who = senders == 1 ? "One " + members(inside) + " sends"
                                       : number_word(senders) + " " + members(inside) + "s send";
  std::string words =
      inside.adding() ? who + " all they have; the receiver adds its own terms." : who + " the whole sum on.";
  if (senders == 1 && inside.adding()) words = who + " all it has; the receiver adds its own terms.";
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words;
}

std::string first_sentence(const Inside& inside) {
  const std::string who = members(inside);
  switch (inside.kind()) {
    case Collective::AllGather:
      return fmt::format("Each {} holds only its own piece. All need the whole tensor.", who);
    case Collective::AllToAll:
      return fmt::format("Each {} holds one piece for every other {}.", who, who);
    default:
      return fmt::format("Each {} holds only its own term of the sum.", who);
  }
}

std::string last_sentence(const Inside& inside) {
  const std::string who = members(inside);
  switch (inside.kind()) {
    case Collective::ReduceScatter:
      return fmt::format("Each {} has its own chunk of the sum, complete.", who);
    case Collective::AllToAll:
      return fmt::format("Each {} has one piece from every {}.", who, who);
    case Collective::AllGather:
      return fmt::format("Each {} has every piece.", who);
    default:
      return fmt::format("Each {} has the whole sum: every term, once.", who);
  }
}

}  // namespace

States::States(Route wanted) : route(std::move(wanted)) {
  after.emplace_back(route);
  for (const std::vector<Passing>& hop : route.hops) {
    Holdings next = after.back();
    next.pass(route, hop);
    after.push_back(std::move(next));
  }
}

std::shared_ptr<const States> states_of(Collective collective, Wiring wiring, int ranks) {
  static Cache<std::tuple<Collective, Wiring, int>, std::shared_ptr<const States>, 4> known;
  return known.of({collective, wiring, ranks},
                  [&] { return std::make_shared<const States>(route_of(collective, wiring, ranks)); });
}

const std::vector<Passing>& Inside::passings() const {
  static const std::vector<Passing> kNone;
  return under_way() ? route().hops[static_cast<size_t>(hop - 1)] : kNone;
}

ChunkLook Inside::look_after(int after, int rank, int chunk) const {
  const Holdings& held = states->after[static_cast<size_t>(after)];
  ChunkLook look;
  look.complete = is_complete(route(), held, rank, chunk);
  for (int term = 0; term < size(); ++term)
    look.terms.push_back(held.times(rank, chunk, term) > 0 ? Term::Held : Term::Absent);
  return look;
}

ChunkLook Inside::look(int rank, int chunk) const {
  if (!under_way()) return look_after(hops_done(), rank, chunk);
  const Holdings& next = states->after[static_cast<size_t>(hop)];
  ChunkLook look = look_after(hops_done(), rank, chunk);
  for (int term = 0; term < size(); ++term)
    if (look.terms[static_cast<size_t>(term)] == Term::Absent && next.times(rank, chunk, term) > 0)
      look.terms[static_cast<size_t>(term)] = Term::Arrives;
  look.completes = !look.complete && is_complete(route(), next, rank, chunk);
  look.sent = std::any_of(passings().begin(), passings().end(),
                          [&](const Passing& one) { return one.from == rank && one.chunk == chunk; });
  return look;
}

int64_t Inside::full_bytes() const {
  return converted_bytes(program(), step(), ranks.front());
}

int64_t Inside::chunk_bytes(int chunk) const {
  const Tensor& in = program().tensor(step().inputs.front());
  const Tensor& out = program().tensor(step().outputs.front());
  const int64_t all = full_bytes();
  if (route().chunks == 1) return all;
  const int tp = program().tp();
  const bool several = step().outputs.size() > 1;
  if (kind() == Collective::ReduceScatter && !several) return local_bytes(out, tp, chunk);
  if (kind() == Collective::AllGather && !several) return local_bytes(in, tp, chunk);
  const int64_t own = kind() == Collective::AllToAll ? all / size() : all;
  const int64_t element = element_bytes(in.dtype);
  return shard_range(own / element, route().chunks, chunk).size() * element;
}

std::string Inside::rank_name(int index) const {
  if (step().axis == Axis::Dp) return fmt::format("replica {}", index);
  return fmt::format("rank {}", ranks[static_cast<size_t>(index)]);
}

Inside inside_of(const Context& context) {
  Inside inside;
  const std::shared_ptr<const Plan> plan = shared_shown_plan(context.snapshot);
  const StepId id = context.view.selected_step;
  if (!plan || id < 0 || static_cast<size_t>(id) >= plan->program.steps.size()) return inside;
  const Step& step = plan->program.step(id);
  if (!is_collective(step.op) || group_ranks(plan->program, step) < 2) return inside;
  const auto& view = context.view.of<CollectiveView>();
  inside.plan = plan;
  inside.result = shown_result(context.snapshot);
  inside.step_id = id;
  inside.ranks = group_of(plan->program, step, context.view.selected_rank);
  inside.wiring = inside.has_tree() ? view.wiring : Wiring::Ring;
  if (inside.size() > kMostDrawn) return inside;
  inside.states = states_of(inside.kind(), inside.wiring, inside.size());
  inside.hop = within(view.hop, 0, inside.hops() + 1);
  return inside;
}

std::string title_of(const Inside& inside) {
  const std::string kind = to_string(inside.kind());
  return (kind.starts_with('a') ? "Inside an " : "Inside a ") + kind;
}

std::vector<std::string> details_of(const Inside& inside) {
  const Step& step = inside.step();
  const Tensor& tensor = inside.program().tensor(step.inputs.front());
  const std::string layer = step.layer >= 0 ? fmt::format(", layer {}", step.layer) : "";
  const std::string where =
      fmt::format("{}{}, {}, step {}", to_string(step.part), layer, to_string(step.phase), step.id);
  const std::string bytes =
      fmt::format("{}, {}", bytes_text(static_cast<double>(inside.full_bytes())), to_string(tensor.dtype));
  if (!inside.drawn() || inside.route().chunks == 1) return {where + "  ·  " + bytes, bytes};
  const std::string chunks = fmt::format(", {} {} of {}", number_word(inside.size()),
                                         inside.kind() == Collective::AllToAll ? "pieces a rank" : "chunks",
                                         bytes_text(static_cast<double>(inside.chunk_bytes(0))));
  return {where + "  ·  " + bytes + chunks, bytes + chunks, bytes};
}

std::string hop_title(const Inside& inside) {
  if (inside.hop == 0) return "Before the first hop";
  if (!inside.under_way()) return "After the last hop";
  return fmt::format("Hop {} of {}", inside.hop, inside.hops());
}

std::string part_title(const Inside& inside, int hop) {
  const bool adds = hop <= inside.route().adding_hops;
  if (inside.wiring == Wiring::Tree) return adds ? "the terms go up" : "the sum goes down";
  if (inside.kind() == Collective::AllReduce)
    return to_string(adds ? Collective::ReduceScatter : Collective::AllGather);
  return to_string(inside.kind());
}

std::string hop_sentence(const Inside& inside) {
  if (inside.hop == 0) return first_sentence(inside);
  if (!inside.under_way()) return last_sentence(inside);
  return inside.wiring == Wiring::Tree ? tree_sentence(inside) : ring_sentence(inside);
}

std::string passing_words(const Inside& inside, const Passing& passing) {
  const std::string bytes = bytes_text(static_cast<double>(inside.chunk_bytes(passing.chunk)));
  return inside.route().chunks == 1 ? bytes : fmt::format("chunk {}, {}", passing.chunk, bytes);
}

}  // namespace shardlens::ui::collective
