// The Executor passes its calls on to its Team.
#include "engine/runtime/executor.h"

#include "engine/runtime/team.h"

namespace shardlens {

Executor::Executor(std::shared_ptr<const Plan> plan)
    : team_(make_team(plan, nullptr, world_of(*plan).take_seats(plan, nullptr))) {
  team_->begin();
}

Executor::Executor(std::shared_ptr<const Plan> plan, const Executor& lender)
    : team_(make_team(plan, lender.team_, world_of(*plan).take_seats(plan, &lender.seats()))) {
  team_->begin();
}

Executor::Executor(std::shared_ptr<const Plan> plan, std::unique_ptr<Seats> seats, const Executor* lender)
    : team_(make_team(std::move(plan), lender != nullptr ? lender->team_ : nullptr, std::move(seats))) {
  team_->begin();
}

Executor::~Executor() {
  team_->disband();
}

void Executor::observe(std::vector<std::shared_ptr<StepObserver>> observers) {
  team_->observe(std::move(observers));
}
void Executor::set_traced(bool traced) {
  team_->set_traced(traced);
}
bool Executor::is_traced() const {
  return team_->is_traced();
}

void Executor::start(size_t target) {
  team_->start(target);
}
void Executor::start(size_t target, double begin_seconds) {
  team_->start(target, begin_seconds);
}
void Executor::rewind() {
  team_->rewind();
}
void Executor::next_pass(PassInputs inputs) {
  team_->next_pass(std::move(inputs));
}
void Executor::next_pass() {
  team_->next_pass();
}
void Executor::run_passes(const PassSource& next) {
  team_->run_passes(next);
}
void Executor::set_inputs(PassInputs inputs) {
  team_->set_inputs(std::move(inputs));
}
void Executor::read_tensor(int rank, TensorId tensor, void* host) const {
  team_->read_tensor(rank, tensor, host);
}
void Executor::write_tensor(int rank, TensorId tensor, const void* host) {
  team_->write_tensor(rank, tensor, host);
}
void Executor::pause() {
  team_->pause();
}
void Executor::cancel(const std::string& why) {
  team_->cancel(why);
}
void Executor::wait() {
  team_->wait();
}
bool Executor::wait_for(double seconds) {
  return team_->wait_for(seconds);
}
size_t Executor::position() const {
  return team_->position();
}
size_t Executor::steps() const {
  return team_->steps();
}
CommunicatorInfo Executor::communicator() const {
  return team_->communicator();
}
const Seats& Executor::seats() const {
  return team_->seats();
}
const RankTrace& Executor::trace(int rank) const {
  return team_->trace(rank);
}
std::vector<std::vector<StepEvent>> Executor::events(int ranks) const {
  return team_->events(ranks);
}
BytesByKind Executor::high_water_bytes(int rank) const {
  return team_->high_water_bytes(rank);
}

}  // namespace shardlens
