#include "comm/plan_cache.hpp"

#include <algorithm>

namespace sgl {

namespace {

bool same_blocks(const Blocks& a, const Blocks& b) {
  if (a.count() != b.count()) return false;
  if (a.is_uniform() && b.is_uniform()) return a.count() == 0 || a.bytes(0) == b.bytes(0);
  for (int i = 0; i < a.count(); ++i)
    if (a.bytes(i) != b.bytes(i)) return false;
  return true;
}

}  // namespace

bool same_problem(const Problem& a, const Problem& b) {
  return a.collective == b.collective && a.root == b.root && a.in_place == b.in_place &&
         a.commutative == b.commutative && a.grain == b.grain && same_blocks(a.blocks, b.blocks) &&
         same_blocks(a.send_blocks, b.send_blocks);
}

PlanCache::Entry* PlanCache::find(const Problem& problem) {
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!same_problem((*entry)->plan->problem, problem)) continue;
    if (entry != entries_.begin()) std::rotate(entries_.begin(), entry, entry + 1);
    return entries_.front().get();
  }
  return nullptr;
}

PlanCache::Entry& PlanCache::insert(std::shared_ptr<const Plan> plan) {
  if (entries_.size() == kMaxPlans) entries_.pop_back();
  entries_.insert(entries_.begin(), std::make_unique<Entry>());
  entries_.front()->plan = std::move(plan);
  return *entries_.front();
}

}  // namespace sgl
