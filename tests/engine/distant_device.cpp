// Memory that can be accessed only while an operation runs, and two queues of work with one thread each.
#include "tests/engine/distant_device.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/device/work_behind.h"

namespace shardlens::testing {
namespace {

// A device's allocations, open while at least one operation works on them.
class ClosedMemory {
 public:
  ~ClosedMemory() {
    for (const auto& [memory, bytes] : pieces_) munmap(memory, bytes);
  }

  void* allocate(size_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t rounded = (bytes + page - 1) / page * page;
    void* const memory =
        mmap(nullptr, std::max(rounded, page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw run_error("no memory for the test's device");
    const std::lock_guard lock(mutex_);
    pieces_[memory] = std::max(rounded, page);
    return memory;
  }

  void release(void* memory) {
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    munmap(memory, pieces_.at(memory));
    pieces_.erase(memory);
  }

  void open() {
    const std::lock_guard lock(mutex_);
    if (users_++ == 0) protect(PROT_READ | PROT_WRITE);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--users_ == 0) protect(PROT_NONE);
  }

 private:
  void protect(int access) {
    for (const auto& [memory, bytes] : pieces_) mprotect(memory, bytes, access);
  }

  std::mutex mutex_;
  std::map<void*, size_t> pieces_;
  int users_ = 0;
};

// Jobs in order on a thread. What fails is thrown by whoever waits next.
class Queue {
 public:
  Queue() : thread_([this] { main(); }) {}
  ~Queue() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  int64_t submit(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_all();
    return ++submitted_;
  }
  int64_t submitted() {
    const std::lock_guard lock(mutex_);
    return submitted_;
  }
  void wait(int64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= count; });
  }
  /// What failed of the first `count` jobs.
  void throw_failure(int64_t count) {
    const std::lock_guard lock(mutex_);
    if (failure_ && failed_ <= count) std::rethrow_exception(failure_);
  }

 private:
  void main() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return quit_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      const bool skip = failure_ != nullptr;
      lock.unlock();
      std::exception_ptr failure;
      try {
        if (!skip) job();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      ++done_;
      if (failure && !failure_) {
        failure_ = failure;
        failed_ = done_;
      }
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  int64_t submitted_ = 0, done_ = 0, failed_ = 0;
  bool quit_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

class DistantDevice final : public Device, public WorkBehind {
 public:
  DistantDevice(const DistantOptions& options, int rank, std::shared_ptr<ClosedMemory> memory)
      : options_(options), rank_(rank), memory_(std::move(memory)) {}

  std::string name() const override { return "distant"; }
  bool host_visible() const override { return false; }
  WorkBehind* behind() override { return options_.works_behind ? this : nullptr; }
  /// Ends with the device.
  std::weak_ptr<const int> life() const { return life_; }

  void* allocate(size_t bytes) override { return memory_->allocate(bytes); }
  void release(void* memory) noexcept override { memory_->release(memory); }
  void set_zero(void* to, size_t bytes) override {
    ask([=, this] { inner_->set_zero(to, bytes); });
  }
  void copy_to_device(void* to, const void* from, size_t bytes) override {
    ask([=, this] { inner_->copy_to_device(to, from, bytes); });
    synchronize();
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    ask([=, this] { inner_->copy_to_host(to, from, bytes); });
    synchronize();
  }
  void synchronize() override {
    if (!options_.works_behind) return;
    for (Queue* queue : {&collectives_, &steps_}) queue->wait(queue->submitted());
    for (Queue* queue : {&steps_, &collectives_}) queue->throw_failure(queue->submitted());
  }

  void begin_collective(bool goes_first = false) override {
    const int64_t asked = steps_.submitted();
    collectives_.submit([this, asked] { steps_.wait(asked); });
    if (goes_first) join_collectives();
  }
  void join_collectives() override {
    const int64_t asked = collectives_.submitted();
    steps_.submit([this, asked] { collectives_.wait(asked); });
  }
  void provide_marks(size_t count) override { marks_.resize(count); }
  void set_clock() override { synchronize(); }
  void mark(size_t slot, WorkOrder order) override {
    Queue& queue = order == WorkOrder::Steps ? steps_ : collectives_;
    if (options_.marks) ++*options_.marks;
    const std::lock_guard lock(mutex_);
    marks_.at(slot).queue = &queue;
    marks_.at(slot).seconds = std::numeric_limits<double>::infinity();
    marks_.at(slot).ticket = queue.submit([this, slot] {
      const std::lock_guard inner(mutex_);
      marks_.at(slot).seconds = now_seconds();
    });
  }
  void wait_for_mark(size_t slot) override {
    Mark mark;
    {
      const std::lock_guard lock(mutex_);
      mark = marks_.at(slot);
    }
    if (mark.queue == nullptr) throw std::logic_error("nothing is marked there");
    mark.queue->wait(mark.ticket);
    mark.queue->throw_failure(mark.ticket);
  }
  double marked_seconds(size_t slot) override {
    const std::lock_guard lock(mutex_);
    return marks_.at(slot).seconds;
  }

  void provide_fetch(size_t bytes) override { fetched_.resize(bytes); }
  void fetch(const void* from, size_t bytes) override {
    if (options_.fetches) ++*options_.fetches;
    ask([=, this] { inner_->copy_to_host(fetched_.data(), from, bytes); });
  }
  const void* fetched() override { return fetched_.data(); }

  bool capture(const std::function<void()>& ask_all) override {
    kept_.clear();
    is_capturing_ = true;
    ask_all();
    is_capturing_ = false;
    return options_.captures;
  }
  void replay() override {
    if (options_.replays) ++*options_.replays;
    for (const std::function<void()>& job : kept_) steps_.submit(job);
  }

  /// Runs a collective's job where collectives run, with the memory open.
  void collective(std::function<void()> job) {
    const auto slowly = [this, job = std::move(job)] {
      memory_->open();
      try {
        job();
      } catch (...) {
        memory_->close();
        throw;
      }
      memory_->close();
      std::this_thread::sleep_for(std::chrono::duration<double>(options_.collective_seconds));
    };
    if (!options_.works_behind) return slowly();
    collectives_.submit(slowly);
  }

  void gemm(const Gemm& gemm) override {
    ask([=, this] { inner_->gemm(gemm); });
  }
  void bias_add(const BiasAdd& op) override {
    ask([=, this] { inner_->bias_add(op); });
  }
  void bias_grad(DType dtype, int64_t rows, int64_t cols, const void* dy, void* db,
                 bool accumulate) override {
    ask([=, this] { inner_->bias_grad(dtype, rows, cols, dy, db, accumulate); });
  }
  void gelu(DType dtype, Activation form, int64_t count, const void* x, void* y) override {
    ask([=, this] { inner_->gelu(dtype, form, count, x, y); }, "gelu");
  }
  void gelu_grad(const GeluGrad& op) override {
    ask([=, this] { inner_->gelu_grad(op); });
  }
  void layer_norm(const LayerNorm& op) override {
    ask([=, this] { inner_->layer_norm(op); });
  }
  void layer_norm_grad(const LayerNormGrad& op) override {
    ask([=, this] { inner_->layer_norm_grad(op); });
  }
  void layer_norm_sums(const CutNorm& norm, const void* x, void* sums) override {
    ask([=, this] { inner_->layer_norm_sums(norm, x, sums); });
  }
  void layer_norm_apply(const LayerNormApply& op) override {
    ask([=, this] { inner_->layer_norm_apply(op); });
  }
  void layer_norm_grad_sums(const LayerNormGradSums& op) override {
    ask([=, this] { inner_->layer_norm_grad_sums(op); });
  }
  void layer_norm_grad_apply(const LayerNormGradApply& op) override {
    ask([=, this] { inner_->layer_norm_grad_apply(op); });
  }
  void attention(const Attention& op) override {
    ask([=, this] { inner_->attention(op); });
  }
  void attention_grad(const AttentionGrad& grad) override {
    ask([=, this] { inner_->attention_grad(grad); });
  }
  void cache_append(const CacheAppend& op) override {
    ask([=, this] { inner_->cache_append(op); });
  }
  void cached_attention(const CachedAttention& op) override {
    ask([=, this] { inner_->cached_attention(op); });
  }
  void token_product(const TokenProduct& op) override {
    ask([=, this] { inner_->token_product(op); });
  }
  void token_attention(const TokenAttention& op) override {
    ask([=, this] { inner_->token_attention(op); });
  }
  void add(DType dtype, int64_t count, const void* a, const void* b, void* y) override {
    ask([=, this] { inner_->add(dtype, count, a, b, y); }, "add");
  }
  void round(DType dtype, int64_t count, int limit, const void* x, void* y) override {
    ask([=, this] { inner_->round(dtype, count, limit, x, y); });
  }
  void slice(DType dtype, const Slicing& slicing, Range range, const void* full, void* shard) override {
    ask([=, this] { inner_->slice(dtype, slicing, range, full, shard); }, "slice");
  }
  void embedding(const Embedding& op) override {
    ask([=, this] { inner_->embedding(op); });
  }
  void embedding_grad(const EmbeddingGrad& op) override {
    ask([=, this] { inner_->embedding_grad(op); });
  }
  void first_token(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* x, void* y) override {
    ask([=, this] { inner_->first_token(dtype, batch, seq, width, x, y); });
  }
  void first_token_grad(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* dy,
                        void* dx) override {
    ask([=, this] { inner_->first_token_grad(dtype, batch, seq, width, dy, dx); });
  }
  void tanh(DType dtype, int64_t count, const void* x, void* y) override {
    ask([=, this] { inner_->tanh(dtype, count, x, y); }, "tanh");
  }
  void tanh_grad(const TanhGrad& op) override {
    ask([=, this] { inner_->tanh_grad(op); });
  }
  void dropout(DType dtype, const DropoutMask& mask, const RowRuns& place, const void* x, void* y) override {
    ask([=, this] { inner_->dropout(dtype, mask, place, x, y); });
  }
  void vocab_max(const VocabShard& shard, const void* logits, void* max) override {
    ask([=, this] { inner_->vocab_max(shard, logits, max); });
  }
  void target_logit(const VocabShard& shard, const void* logits, const int32_t* labels,
                    void* target) override {
    ask([=, this] { inner_->target_logit(shard, logits, labels, target); });
  }
  void sum_exp(const SumExp& op) override {
    ask([=, this] { inner_->sum_exp(op); });
  }
  void cross_entropy(const CrossEntropy& op) override {
    ask([=, this] { inner_->cross_entropy(op); });
  }
  void cross_entropy_grad(const CrossEntropyGrad& op) override {
    ask([=, this] { inner_->cross_entropy_grad(op); });
  }
  // The callers' lists end with the call.
  void square_sum(DType dtype, std::span<const ListedTensor> tensors, double* total) override {
    const std::vector<ListedTensor> kept(tensors.begin(), tensors.end());
    ask([=, this] { inner_->square_sum(dtype, kept, total); });
  }
  void clip_factor(const ClipFactor& op) override {
    const std::vector<const double*> kept(op.sums.begin(), op.sums.end());
    ask([=, this] {
      ClipFactor own = op;
      own.sums = kept;
      inner_->clip_factor(own);
    });
  }
  void adamw(std::span<const AdamWStep> steps) override {
    if (options_.longest_adamw) {
      std::atomic<int>& longest = *options_.longest_adamw;
      longest = std::max(longest.load(), static_cast<int>(steps.size()));
    }
    const std::vector<AdamWStep> kept(steps.begin(), steps.end());
    ask([=, this] { inner_->adamw(kept); });
  }

 private:
  struct Mark {
    Queue* queue = nullptr;
    int64_t ticket = 0;
    double seconds = 0;
  };

  void ask(std::function<void()> job, const char* operation = "") {
    const bool fails = rank_ == options_.failing_rank && options_.fails_at == operation && *operation != 0;
    const auto openly = [this, fails, job = std::move(job)] {
      if (fails) throw run_error("the device has failed");
      memory_->open();
      job();
      memory_->close();
    };
    if (is_capturing_) {
      kept_.push_back(openly);
    } else if (options_.works_behind) {
      steps_.submit(openly);
    } else {
      openly();
    }
  }

  const std::shared_ptr<const int> life_ = std::make_shared<const int>();
  const DistantOptions options_;
  const int rank_;
  const std::shared_ptr<ClosedMemory> memory_;
  std::unique_ptr<Device> inner_ = make_cpu_device(1);
  std::mutex mutex_;
  std::vector<Mark> marks_;
  std::vector<std::function<void()>> kept_;
  bool is_capturing_ = false;
  std::vector<std::byte> fetched_;
  Queue collectives_;
  Queue steps_;
};

// The local communicator, on the device's memory and in its order of collectives.
class DistantCommunicator final : public Communicator {
 public:
  explicit DistantCommunicator(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}
  ~DistantCommunicator() override {
    if (device_ != nullptr && life_.expired()) ADD_FAILURE() << "a communicator's device ended before it";
  }

  int rank() const override { return inner_->rank(); }
  int ranks() const override { return inner_->ranks(); }
  CommunicatorInfo info() const override { return inner_->info(); }
  void attach(Device& device) override {
    device_ = dynamic_cast<DistantDevice*>(&device);
    life_ = device_->life();
  }

  CollectiveTimes all_reduce(DType dtype, int64_t count, void* data, Reduction reduction) override {
    return collective([=](Communicator& inner) { return inner.all_reduce(dtype, count, data, reduction); });
  }
  CollectiveTimes reduce_scatter(DType dtype, const Slicing& slicing, const void* full,
                                 void* shard) override {
    return collective([=](Communicator& inner) { return inner.reduce_scatter(dtype, slicing, full, shard); });
  }
  CollectiveTimes all_gather(DType dtype, const Slicing& slicing, const void* shard, void* full) override {
    return collective([=](Communicator& inner) { return inner.all_gather(dtype, slicing, shard, full); });
  }
  CollectiveTimes all_to_all(DType dtype, const Shape& shape, int from_dim, int to_dim, const void* from,
                             void* to) override {
    return collective(
        [=](Communicator& inner) { return inner.all_to_all(dtype, shape, from_dim, to_dim, from, to); });
  }
  CollectiveTimes broadcast(DType dtype, int64_t count, int root, void* data) override {
    return collective([=](Communicator& inner) { return inner.broadcast(dtype, count, root, data); });
  }
  void barrier() override { inner_->barrier(); }
  void abort(const std::string& why) override { inner_->abort(why); }

 private:
  template <typename Call>
  CollectiveTimes collective(const Call& call) {
    if (device_->behind() == nullptr) {
      CollectiveTimes times;
      device_->collective([&] { times = call(*inner_); });
      return times;
    }
    device_->collective([this, call] { call(*inner_); });
    return {};
  }

  const std::unique_ptr<Communicator> inner_;
  DistantDevice* device_ = nullptr;
  std::weak_ptr<const int> life_;
};

class DistantBackend final : public Backend {
 public:
  explicit DistantBackend(const DistantOptions& options) : options_(options) {}

  std::unique_ptr<Device> make_device(int rank, int) override {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<ClosedMemory>& memory = memories_[rank];
    if (!memory) memory = std::make_shared<ClosedMemory>();
    return std::make_unique<DistantDevice>(options_, rank, memory);
  }
  std::vector<std::unique_ptr<Communicator>> make_group(int ranks, int threads) override {
    std::vector<std::unique_ptr<Communicator>> group;
    for (auto& inner : make_local_group(ranks, threads))
      group.push_back(std::make_unique<DistantCommunicator>(std::move(inner)));
    return group;
  }

 private:
  const DistantOptions options_;
  std::mutex mutex_;
  std::map<int, std::shared_ptr<ClosedMemory>> memories_;  ///< by rank: one GPU, whoever asks for it
};

}  // namespace

std::shared_ptr<Backend> make_distant_backend(const DistantOptions& options) {
  return std::make_shared<DistantBackend>(options);
}

}  // namespace shardlens::testing
