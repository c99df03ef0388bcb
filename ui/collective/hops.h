// The data of the view inside a collective: the shown step, its group of ranks, the states of all chunks
// before and after every hop, and their words. No drawing.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/route.h"
#include "engine/runtime/snapshot.h"
#include "ui/collective/collective_view.h"
#include "ui/context.h"

namespace shardlens::ui::collective {

/// Larger groups are not drawn: 16 ranks show the same rule.
inline constexpr int kMostDrawn = 16;

/// The route of a collective, and what the ranks hold at the beginning and after each hop.
struct States {
  explicit States(Route wanted);
  Route route;
  std::vector<Holdings> after;  ///< [0]: at the beginning
};
std::shared_ptr<const States> states_of(Collective collective, Wiring wiring, int ranks);

/// How a rank's part of a chunk is drawn.
enum class Term : uint8_t { Absent, Held, Arrives };
struct ChunkLook {
  std::vector<Term> terms;
  bool complete = false;   ///< it has every term, and has been complete before this hop
  bool sent = false;       ///< it is sent in this hop
  bool completes = false;  ///< it is complete after this hop
};

/// What the view shows in one frame.
struct Inside {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const Result> result;  ///< null: nothing ran yet
  StepId step_id = -1;
  std::vector<int> ranks;                ///< world ranks of the group
  std::shared_ptr<const States> states;  ///< null: too many ranks to draw
  Wiring wiring = Wiring::Ring;
  int hop = 0;  ///< as CollectiveView::hop, within the route

  const Program& program() const { return plan->program; }
  const Step& step() const { return program().step(step_id); }
  Collective kind() const { return collective_of(step().op); }
  int size() const { return static_cast<int>(ranks.size()); }
  bool drawn() const { return states != nullptr; }
  const Route& route() const { return states->route; }
  int hops() const { return static_cast<int>(route().hops.size()); }
  bool under_way() const { return hop >= 1 && hop <= hops(); }
  bool adding() const { return hop <= route().adding_hops; }
  /// The passings of the hop that is under way; none at the beginning and the end.
  const std::vector<Passing>& passings() const;
  int hops_done() const { return std::clamp(hop - 1, 0, hops()); }  ///< not counting the one under way
  ChunkLook look(int rank, int chunk) const;
  /// The same for a thumbnail: after `hop` hops, with nothing under way.
  ChunkLook look_after(int hop, int rank, int chunk) const;
  /// True if terms are summed: their complete form is one number.
  bool sums() const { return kind() == Collective::AllReduce || kind() == Collective::ReduceScatter; }
  bool has_tree() const { return kind() == Collective::AllReduce; }

  int64_t full_bytes() const;              ///< S: all that is converted
  int64_t chunk_bytes(int chunk) const;    ///< of the chunk that travels in one hop
  std::string rank_name(int index) const;  ///< "rank 2", or "replica 1"
};

/// Null-like (plan is null) if the view has nothing to show.
Inside inside_of(const Context& context);

/// "Inside an all-reduce".
std::string title_of(const Inside& inside);
/// "attention, layer 0, forward, step 5 · 3.00 MiB, fp32, four chunks of 768 KiB", shorter forms after it.
std::vector<std::string> details_of(const Inside& inside);
/// "Hop 3 of 6", "Before the first hop", "After the last hop".
std::string hop_title(const Inside& inside);
/// The part of an all-reduce that a hop belongs to: "reduce-scatter", "all-gather"; of a tree "the terms go
/// up", "the sum goes down". The collective's own name for the others.
std::string part_title(const Inside& inside, int hop);
/// One sentence that says what happens in the hop.
std::string hop_sentence(const Inside& inside);
/// "chunk 1, 768 KiB".
std::string passing_words(const Inside& inside, const Passing& passing);

}  // namespace shardlens::ui::collective
