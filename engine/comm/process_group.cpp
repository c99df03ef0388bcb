// The communicator over processes.
//
// The protocol, the same for every collective:
//   1. A rank sends the others its request and its arrival time, and receives theirs. When it has received
//      all of them, it knows that all ranks have arrived, and when the last one did.
//   2. If the requests differ, every rank sees it and throws the same Error before any buffer is touched.
//   3. Pieces of the tensors travel from the ranks that have them to the ranks that need them. All-reduce:
//      rank r receives every rank's chunk r, sums them in rank order, and sends the sum to all. It does this
//      in blocks, so that the terms stay in the cache until they are summed. Reduce-scatter: a rank receives
//      its own range of every rank's tensor and sums it. The other collectives only move pieces.
//   4. A rank is done when its sends have left and its receives have arrived. No other process touches a
//      rank's memory, so no second barrier is needed.
//
// Every rank can tell from the request alone which rank sends what to which, and messages between two ranks
// arrive in order, so a piece needs no name. No rank waits inside MPI: a waiting rank polls again and again,
// and sleeps in between if cores are scarce, so that it can be told to give up.
#include "engine/comm/process_group.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/comm/local_kernels.h"
#include "engine/comm/patience.h"
#include "engine/comm/request.h"
#include "engine/config/clock.h"
#include "engine/config/error.h"

namespace shardlens {

namespace {

constexpr int64_t kAlignment = 64;
// How long a wait goes on after the process was told to end: a part of the second that mpirun leaves.
constexpr double kGroupToldSeconds = 0.15;
// How often a waiting rank checks whether the ranks it waits for have ended. Their messages may still be on
// the way, so they count as lost only at the second check.
constexpr double kLookSeconds = 0.03;

// The message of step 1.
struct Hello {
  Request request;
  double arrival_seconds = 0;  // on the clock of all
};

// How a rank waits between two polls. It never yields: on a busy machine, yielding gives away a whole time
// slice, while a thread that sleeps for a moment is scheduled again first.
class Pastime {
 public:
  explicit Pastime(bool has_own_core) : spins_(has_own_core ? 2000 : 0) {}
  void wait() {
    if (++turns_ <= spins_) return;
    std::this_thread::sleep_for(std::chrono::microseconds(turns_ < spins_ + 100 ? 20 : 200));
  }

 private:
  const int spins_;
  int turns_ = 0;
};

// Memory for pieces that wait, kept from call to call.
class Room {
 public:
  /// Returns aligned memory of at least `bytes`. Its old content is lost.
  char* of(int64_t bytes) {
    const auto needed = static_cast<size_t>(bytes + kAlignment);
    if (memory_.size() < needed) memory_.resize(needed);
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (kAlignment - address % kAlignment) % kAlignment;
  }

 private:
  std::vector<char> memory_;
};

int64_t padded_bytes(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class ProcessCommunicator final : public Communicator, public HostMeeting {
 public:
  ProcessCommunicator(Processes& processes, ProcessGroup group)
      : processes_(processes), group_(std::move(group)), hellos_(group_.members.size()) {}

  int rank() const override { return group_.rank; }
  int ranks() const override { return static_cast<int>(group_.members.size()); }
  CommunicatorInfo info() const override { return group_.info; }

  CollectiveTimes all_reduce(DType dtype, int64_t count, void* data, Reduction reduction) override {
    return collective(all_reduce_request(dtype, count, reduction), [&]() -> int64_t {
      if (ranks() == 1) return 0;
      int64_t largest = 0;
      for (int r = 0; r < ranks(); ++r)
        largest = std::max(largest, reduced_range(dtype, count, ranks(), r).size());
      const int64_t block = std::max<int64_t>(1, static_cast<int64_t>(group_.block_bytes));
      const auto blocks = static_cast<int>((largest * element_bytes(dtype) + block - 1) / block);
      for (int b = 0; b < blocks; ++b) reduce_block(dtype, count, data, reduction, blocks, b);
      const Range mine = reduced_range(dtype, count, ranks(), rank());
      return 2 * others() * mine.size() *
             element_bytes(dtype);  // received from each other rank, and sent back
    });
  }

  CollectiveTimes reduce_scatter(DType dtype, const Slicing& slicing, const void* full,
                                 void* shard) override {
    return collective(sliced_request(Call::ReduceScatter, dtype, slicing), [&] {
      const int64_t element = slicing.inner * element_bytes(dtype);
      const Range mine = shard_range(slicing.extent, ranks(), rank());
      const int64_t row = mine.size() * element;
      char* packed = packed_.of(slicing.outer * slicing.extent * element + ranks() * kAlignment);
      char* terms = terms_.of(ranks() * padded_bytes(slicing.outer * row));
      std::vector<const void*> from(static_cast<size_t>(ranks()));
      for_each_other([&](int other) {
        const Range theirs = shard_range(slicing.extent, ranks(), other);
        const int64_t their_row = theirs.size() * element;
        copy_rows(slicing.outer, their_row, at(full, theirs.begin * element), slicing.extent * element,
                  packed, their_row);
        send(other, packed, slicing.outer * their_row);
        packed += padded_bytes(slicing.outer * their_row);
        from[static_cast<size_t>(other)] = terms;
        receive(other, terms, slicing.outer * row);
        terms += padded_bytes(slicing.outer * row);
      });
      wait();
      // The other ranks' terms are stored row after row; this rank's own terms are read from its tensor.
      const int64_t count = mine.size() * slicing.inner;
      std::vector<const void*> terms_of_row = from;
      for (int64_t o = 0; o < slicing.outer && count > 0; ++o) {
        for_each_other([&](int other) {
          terms_of_row[static_cast<size_t>(other)] = at(from[static_cast<size_t>(other)], o * row);
        });
        terms_of_row[static_cast<size_t>(rank())] = at(full, (o * slicing.extent + mine.begin) * element);
        sum_in_order(dtype, terms_of_row, 0, {&shard, 1}, o * count, count);
      }
      return others() * slicing.outer * row;
    });
  }

  CollectiveTimes all_gather(DType dtype, const Slicing& slicing, const void* shard, void* full) override {
    return collective(sliced_request(Call::AllGather, dtype, slicing), [&] {
      const int64_t element = slicing.inner * element_bytes(dtype);
      const Range mine = shard_range(slicing.extent, ranks(), rank());
      const bool in_place = slicing.outer == 1;  // then a rank's slice is contiguous in the full tensor
      char* room = terms_.of(slicing.outer * slicing.extent * element);
      const auto place = [&](int other) {
        const Range theirs = shard_range(slicing.extent, ranks(), other);
        return in_place ? at(full, theirs.begin * element) : room + slicing.outer * theirs.begin * element;
      };
      int64_t received = 0;
      for_each_other([&](int other) {
        const int64_t bytes = slicing.outer * shard_range(slicing.extent, ranks(), other).size() * element;
        send(other, shard, slicing.outer * mine.size() * element);
        receive(other, place(other), bytes);
        received += bytes;
      });
      const auto put = [&](int owner, const void* slice) {
        const Range range = shard_range(slicing.extent, ranks(), owner);
        const int64_t row = range.size() * element;
        copy_rows(slicing.outer, row, slice, row, at(full, range.begin * element), slicing.extent * element);
      };
      put(rank(), shard);
      wait();
      if (!in_place) for_each_other([&](int other) { put(other, place(other)); });
      return received;
    });
  }

  CollectiveTimes all_to_all(DType dtype, const Shape& shape, int from_dim, int to_dim, const void* from,
                             void* to) override {
    const Request request = exchange_request(dtype, shape, from_dim, to_dim);
    return collective(request, [&] {
      const auto block = [&](int sender, int receiver) {
        return ExchangedBlock(request, ranks(), sender, receiver);
      };
      const auto pack = [&](const ExchangedBlock& b, char* room) {
        for (int64_t o = 0; o < b.outer && b.bytes() > 0; ++o, room += b.rows * b.row_bytes) {
          const auto source = b.in_source(o);
          copy_rows(b.rows, b.row_bytes, at(from, source.begin_bytes), source.stride_bytes, room,
                    b.row_bytes);
        }
      };
      const auto unpack = [&](const ExchangedBlock& b, const char* room) {
        for (int64_t o = 0; o < b.outer && b.bytes() > 0; ++o, room += b.rows * b.row_bytes) {
          const auto target = b.in_target(o);
          copy_rows(b.rows, b.row_bytes, room, b.row_bytes, at(to, target.begin_bytes), target.stride_bytes);
        }
      };
      int64_t sends = 0, receives = 0;
      for (int r = 0; r < ranks(); ++r) {
        sends += padded_bytes(block(rank(), r).bytes());
        receives += padded_bytes(block(r, rank()).bytes());
      }
      char* out = packed_.of(sends);
      char* in = terms_.of(receives);
      std::vector<char*> arrived(static_cast<size_t>(ranks()));
      int64_t received = 0;
      for_each_other([&](int other) {
        const ExchangedBlock theirs = block(rank(), other), mine = block(other, rank());
        pack(theirs, out);
        send(other, out, theirs.bytes());
        out += padded_bytes(theirs.bytes());
        arrived[static_cast<size_t>(other)] = in;
        receive(other, in, mine.bytes());
        in += padded_bytes(mine.bytes());
        received += mine.bytes();
      });
      const ExchangedBlock own = block(rank(), rank());
      pack(own, out);
      unpack(own, out);
      wait();
      for_each_other([&](int other) { unpack(block(other, rank()), arrived[static_cast<size_t>(other)]); });
      return received;
    });
  }

  CollectiveTimes broadcast(DType dtype, int64_t count, int root, void* data) override {
    return collective(broadcast_request(dtype, count, root, ranks()),
                      [&] { return pass_on(root, data, count * element_bytes(dtype)); });
  }

  void barrier() override { meet({}); }

  void meet(const Request& request) override {
    collective(request, [] { return int64_t{0}; });
  }

  void hand_out(void* bytes, size_t count) override {
    collective({}, [&] { return pass_on(0, bytes, static_cast<int64_t>(count)); });
  }

  void abort(const std::string& why) override { fail(Error(ErrorKind::Cancelled, why)); }

 private:
  struct Pending {
    Processes::Ticket ticket;
    int rank;  // at the other end
  };

  // The protocol at the top of this file around one rank's `work`, which returns the bytes it counts as its
  // own: what it received, and in an all-reduce also the sums it sent.
  template <typename Work>
  CollectiveTimes collective(const Request& request, const Work& work) {
    check_request(request);
    throw_if_failed();
    CollectiveTimes times;
    times.arrival_seconds = now_seconds();
    const double offset = group_.clock_offset_seconds == nullptr ? 0 : group_.clock_offset_seconds->load();
    hellos_[static_cast<size_t>(rank())] = {request, times.arrival_seconds + offset};
    for_each_other([&](int other) {
      send(other, &hellos_[static_cast<size_t>(rank())], sizeof(Hello));
      receive(other, &hellos_[static_cast<size_t>(other)], sizeof(Hello));
    });
    wait();
    check_agreement();
    // The time when the last rank came. Clocks agree only up to what is left of their difference.
    double last = 0;
    for (const Hello& hello : hellos_) last = std::max(last, hello.arrival_seconds);
    times.all_arrived_seconds = std::clamp(last - offset, times.arrival_seconds, now_seconds());
    if (!request.is_empty()) times.sent_bytes = work();
    times.done_seconds = now_seconds();
    return times;
  }

  // Sends the bytes of rank `root` to all others. Returns how many bytes this rank received.
  int64_t pass_on(int root, void* bytes, int64_t count) {
    const bool receives = rank() != root;
    if (receives)
      receive(root, bytes, count);
    else
      for_each_other([&](int other) { send(other, bytes, count); });
    wait();
    return receives ? count : 0;
  }

  // Reduces block `b` of every rank's range: each rank sums its part and sends the sum to all.
  void reduce_block(DType dtype, int64_t count, void* data, Reduction reduction, int blocks, int b) {
    const int64_t element = element_bytes(dtype);
    const auto range = [&](int r) {
      const Range whole = reduced_range(dtype, count, ranks(), r);
      const Range part = shard_range(whole.size(), blocks, b);
      return Range{whole.begin + part.begin, whole.begin + part.end};
    };
    const Range mine = range(rank());
    const int64_t bytes = mine.size() * element;
    char* terms = terms_.of(ranks() * padded_bytes(bytes));
    std::vector<const void*> from(static_cast<size_t>(ranks()));
    void* own = at(data, mine.begin * element);
    from[static_cast<size_t>(rank())] = own;
    for_each_other([&](int other) {
      const Range theirs = range(other);
      receive(other, terms, bytes);
      from[static_cast<size_t>(other)] = terms;
      terms += padded_bytes(bytes);
      send(other, at(data, theirs.begin * element), theirs.size() * element);
    });
    wait();
    if (bytes > 0)
      (reduction == Reduction::Max ? max_in_order : sum_in_order)(dtype, from, 0, {&own, 1}, 0, mine.size());
    for_each_other([&](int other) {
      const Range theirs = range(other);
      receive(other, at(data, theirs.begin * element), theirs.size() * element);
      send(other, own, bytes);
    });
    wait();
  }

  void check_agreement() {
    const auto error = disagreement(
        ranks(), [this](int rank) -> const Request& { return hellos_[static_cast<size_t>(rank)].request; });
    if (!error) return;
    fail(*error);
    throw *error;
  }

  void send(int to, const void* bytes, int64_t count) {
    in_messages(count, [&](int64_t begin, size_t size) {
      pending_.push_back(
          {processes_.send(group_.members[static_cast<size_t>(to)], group_.tag, at(bytes, begin), size), to});
    });
  }

  void receive(int from, void* bytes, int64_t count) {
    in_messages(count, [&](int64_t begin, size_t size) {
      pending_.push_back(
          {processes_.receive(group_.members[static_cast<size_t>(from)], group_.tag, at(bytes, begin), size),
           from});
    });
  }

  template <typename Carry>
  void in_messages(int64_t count, const Carry& carry) {
    const auto most = static_cast<int64_t>(group_.most_message_bytes);
    for (int64_t begin = 0; begin < count; begin += most)
      carry(begin, static_cast<size_t>(std::min(most, count - begin)));
  }

  // Waits until all pending sends and receives are done. If it gives up, no message can be written into this
  // rank's memory afterwards.
  void wait() {
    Pastime pastime(group_.has_own_core);
    PatientWait patience(group_.told_to_end, kGroupToldSeconds);
    double next_look_seconds = kLookSeconds;
    bool some_have_ended = false;
    for (;;) {
      std::erase_if(pending_, [&](const Pending& one) { return processes_.is_done(one.ticket); });
      if (pending_.empty()) return;
      if (failed_.load(std::memory_order_acquire)) break;
      if (patience.is_enough(group_.patience_seconds)) lose(patience.waited_seconds());
      if (patience.waited_seconds() > next_look_seconds) {
        next_look_seconds = patience.waited_seconds() + kLookSeconds;
        const bool had_ended = std::exchange(some_have_ended, !missing(true).empty());
        if (had_ended && some_have_ended) lose(patience.waited_seconds());
      }
      pastime.wait();
    }
    give_up_pending();
    throw_if_failed();
  }

  void give_up_pending() {
    for (const Pending& one : pending_) processes_.give_up(one.ticket);
    pending_.clear();
  }

  // Returns the ranks that still have to send or receive something; with `ended_alone`, only those whose
  // process has ended.
  std::vector<int> missing(bool ended_alone) const {
    std::set<int> ranks;
    for (const Pending& one : pending_) {
      const int process = group_.members[static_cast<size_t>(one.rank)];
      const bool ended = group_.departed != nullptr && group_.departed->has_ended(process);
      if (ended || !ended_alone) ranks.insert(one.rank);
    }
    return {ranks.begin(), ranks.end()};
  }

  // If a rank has ended, it is the one reported: the other ranks miss the same one.
  [[noreturn]] void lose(double waited_seconds) {
    std::vector<int> ranks = missing(true);
    const bool ended = !ranks.empty();
    if (!ended) ranks = missing(false);
    give_up_pending();
    const LostRanks lost(
        fmt::format("rank{} {} did not come to {} in {:.3g} s{}", ranks.size() == 1 ? "" : "s",
                    fmt::join(ranks, ", "), describe(hellos_[static_cast<size_t>(rank())].request),
                    waited_seconds, ended ? ", and has ended" : ""),
        ranks, waited_seconds);
    fail(lost);
    throw lost;
  }

  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    kind_ = error.kind();
    why_ = error.what();
    if (const auto* lost = dynamic_cast<const LostRanks*>(&error)) lost_ = *lost;
    failed_.store(true, std::memory_order_release);
  }

  void throw_if_failed() {
    if (!failed_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (lost_) throw LostRanks(*lost_);
    throw Error(kind_, why_);
  }

  int64_t others() const { return ranks() - 1; }

  // Visits the other ranks, the next rank first, so that not all send to the same one at the same time.
  template <typename Visit>
  void for_each_other(const Visit& visit) const {
    for (int step = 1; step < ranks(); ++step) visit((rank() + step) % ranks());
  }

  Processes& processes_;
  const ProcessGroup group_;
  std::vector<Hello> hellos_;
  std::vector<Pending> pending_;
  Room packed_, terms_;
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
  ErrorKind kind_ = ErrorKind::Cancelled;
  std::string why_;
  std::optional<LostRanks> lost_;
};

}  // namespace

std::unique_ptr<Communicator> make_process_communicator(Processes& processes, ProcessGroup group) {
  return std::make_unique<ProcessCommunicator>(processes, std::move(group));
}

std::unique_ptr<HostMeeting> make_process_meeting(Processes& processes, ProcessGroup group) {
  return std::make_unique<ProcessCommunicator>(processes, std::move(group));
}

}  // namespace shardlens
