// Plans what expressions ask about, and keeps it. evidence_runs.cpp runs it.
#include "engine/lesson/evidence.h"

#include "engine/base/error.h"
#include "engine/config/settings_json.h"
#include "engine/lesson/price.h"
#include "engine/planner/break_settings.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

int64_t bytes_of(const SampleTable& samples) {
  int64_t bytes = 0;
  for (const auto& rank : samples)
    for (const auto& sample : rank)
      if (sample)
        bytes += static_cast<int64_t>(sizeof(TensorSample) + sample->exact.size() +
                                      sample->picture.values.size() * sizeof(float));
  return bytes;
}

int64_t bytes_of(const Plan& plan) {
  const int64_t steps = std::ssize(plan.program.steps), ranks = std::ssize(plan.memory);
  return steps * static_cast<int64_t>(sizeof(Step)) +
         std::ssize(plan.program.tensors) * static_cast<int64_t>(sizeof(Tensor)) +
         steps * ranks * static_cast<int64_t>(sizeof(BytesByKind) + sizeof(StepCost));
}

}  // namespace

void LaterRuns::need(const std::shared_ptr<Evidence>& evidence, int what, int64_t steps, Job<> job) {
  if (!is_wanted) return run_whole(std::move(job));
  const Name name{evidence.get(), what, steps};
  if (const auto failed = failures_.find(name); failed != failures_.end())
    std::rethrow_exception(failed->second);
  name_ = name;
  job_ = std::move(job);
  throw NotYet();
}

bool LaterRuns::go_on() {
  if (!job_) return true;
  if (!one_run_.may_begin()) return false;
  try {
    if (!job_->go_on()) return false;
  } catch (const std::exception&) {  // the evaluation throws it, where it asks for it
    failures_[name_] = std::current_exception();
  }
  job_.reset();
  one_run_.end();
  return true;
}

void LaterRuns::forget() {
  job_.reset();
  one_run_.end();
  failures_.clear();
  held_.clear();
}

Evidence::Evidence(const Settings& settings, std::optional<Fault> mistake, const std::stop_token& stop,
                   LaterRuns& later)
    : stop_(stop), later_(later), settings_(settings), mistake_(mistake) {}

const Plan& Evidence::plan() {
  if (plan_) return *plan_;
  require_wanted();
  refuse_large_plan(settings_);
  Settings ran = settings_;
  // Who waits for a late rank must not depend on what else this machine does: on clocks of their own the
  // ranks are late by what the lesson says, and by nothing else.
  if (!ran.delays.empty()) ran.communicator = CommunicatorChoice::Lockstep;
  plan_ = mistake_ ? make_plan(plan_broken(with_update(ran), *mistake_)) : make_plan(ran);
  return *plan_;
}

void Evidence::require_wanted() const {
  if (stop_.stop_requested()) throw Error(ErrorKind::Cancelled, kStoppedEvidence);
}

int64_t Evidence::kept_bytes() const {
  int64_t bytes = sizeof(Evidence) + static_cast<int64_t>(losses_.size() * sizeof(double));
  if (plan_) bytes += bytes_of(*plan_);
  if (result_) bytes += bytes_of(result_->samples);
  if (serial_)
    for (const Tensor& tensor : plan_->program.tensors) bytes += tensor.bytes();
  for (const std::optional<BreakReport>* report : {&pass_report_, &training_report_})
    if (*report)
      for (const std::shared_ptr<const BreakProbe>& probe : (*report)->probes)
        if (probe->pass.broken) bytes += bytes_of(probe->pass.broken->samples);
  return bytes;
}

std::shared_ptr<Evidence> EvidenceStore::of(const Settings& settings, std::optional<Fault> mistake) {
  const std::string key = settings_to_json(settings).dump() + (mistake ? to_string(*mistake) : "");
  make_room();
  Kept& kept = kept_[key];
  kept.asked = ++asked_;
  if (!kept.evidence) kept.evidence = std::make_shared<Evidence>(settings, mistake, stop_, later_);
  later_.hold(kept.evidence);
  return kept.evidence;
}

int64_t EvidenceStore::kept_bytes() const {
  int64_t bytes = 0;
  for (const auto& [key, kept] : kept_) bytes += kept.evidence->kept_bytes();
  return bytes;
}

// What is being evaluated now is held by its Surroundings, and stays.
void EvidenceStore::make_room() {
  for (int64_t bytes = kept_bytes(); bytes > kMostKeptBytes;) {
    auto oldest = kept_.end();
    for (auto one = kept_.begin(); one != kept_.end(); ++one)
      if (one->second.evidence.use_count() == 1 &&
          (oldest == kept_.end() || one->second.asked < oldest->second.asked))
        oldest = one;
    if (oldest == kept_.end()) return;
    bytes -= oldest->second.evidence->kept_bytes();
    kept_.erase(oldest);
  }
}

}  // namespace shardlens
