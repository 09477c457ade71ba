#include "explain/edge_model.hpp"

#include "executor/layout_directory.hpp"
#include "executor/wire.hpp"
#include "sgl/batch_explain.hpp"

#include <algorithm>

namespace sgl {
namespace {

constexpr int64_t kAlignment = 64;   // finer than this no rule of the compiler looks
constexpr size_t kRequestLines = 3;  // kept of a transfer
constexpr int64_t kPageBytes = 4096;

size_t mix(size_t hash, uint64_t value) {
  return (hash ^ value) * 0x9e37'79b9'7f4a'7c15u + (hash >> 29);
}

int half_trips_of(Path path) {
  switch (path) {
    case Path::eager:       // payload
    case Path::map:         // offer
    case Path::read_lists:  // offer
    case Path::store:       // the end of it
    case Path::write_lists:
      return 1;
    case Path::map_both:  // offer, answer, the end of it
    case Path::lists_both:
    case Path::push:   // offer, answer, first fragment
    case Path::read:   // offer, read request, its answer
    case Path::write:  // offer, answer, write
    case Path::send:   // offer, grant, send
      return 3;
  }
  return 1;
}

bool is_mapped(Path path) {
  return path == Path::map || path == Path::map_both || path == Path::store;
}

// By batches that the sender posts.
bool writes(Path path) {
  return path == Path::write || path == Path::write_lists;
}

bool is_shared(Path path) {
  return path == Path::map_both || path == Path::lists_both;
}

bool posts_here(const Transfer& transfer) {
  return transfer.path == Path::send || transfer.path == Path::lists_both ||
         transfer.sends == writes(transfer.path);
}

double runs_in(const View& view) {
  if (view.layout->empty()) return 0;
  const double share = static_cast<double>(view.length) / static_cast<double>(view.layout->size());
  return std::max(1.0, share * static_cast<double>(view.layout->run_count()));
}

// A block that is repeated at a distance is regular, and so is a row of such blocks.
double irregular_runs_in(const View& view) {
  const LayoutNode* node = &view.layout->node();
  while (node->kind == LayoutKind::loop) node = &node->children[0].node();
  return node->kind == LayoutKind::run ? 0 : runs_in(view);
}

double copy_ns(const CostModel& model, const View& view) {
  return runs_in(view) * model.copy_run_ns + static_cast<double>(view.length) * model.copy_byte_ns;
}

}  // namespace

double mean_run_bytes(const View& view) {
  return static_cast<double>(view.length) / std::max(1.0, runs_in(view));
}

size_t EdgeModel::KeyHash::operator()(const Key& key) const {
  size_t hash = static_cast<size_t>(key.sends) | static_cast<size_t>(key.my_memory_shared) << 1 |
                static_cast<size_t>(key.their_memory_shared) << 2;
  for (const Phase* phase : {&key.mine, &key.theirs}) {
    hash = mix(hash, phase->layout);
    hash = mix(hash, static_cast<uint64_t>(phase->within));
    hash = mix(hash, static_cast<uint64_t>(phase->alignment));
  }
  return mix(hash, static_cast<uint64_t>(key.bytes));
}

EdgeModel::Phase EdgeModel::phase_of(const View& view) {
  const LayoutNode& node = view.layout->node();
  const auto base = static_cast<int64_t>(reinterpret_cast<uint64_t>(view.base));
  auto aligned = [](int64_t address) { return address & (kAlignment - 1); };
  if (node.kind == LayoutKind::run) return {1, 0, aligned(base + node.offset + view.offset)};
  if (node.kind == LayoutKind::loop) {
    const int64_t period = node.children[0].size();
    const int64_t copy = view.offset / period;
    return {node.hash, view.offset - copy * period, aligned(base + copy * node.stride)};
  }
  return {node.hash, view.offset, aligned(base)};
}

int EdgeModel::move(bool sends, const EdgeEnd& mine, const EdgeEnd& theirs) {
  const Key key{sends,
                mine.shared,
                theirs.shared,
                phase_of(mine.view),
                phase_of(theirs.view),
                mine.view.length,
                std::max(mine.piece_bytes, theirs.piece_bytes)};
  auto [found, is_new] = known_.try_emplace(key, static_cast<int>(transfers_.size()));
  if (is_new) transfers_.push_back(compile(sends, mine, theirs));
  return found->second;
}

int EdgeModel::signal(bool sends) {
  int& index = signals_[sends];
  if (index < 0) {
    index = static_cast<int>(transfers_.size());
    Transfer transfer;
    transfer.sends = sends;
    transfer.signal = true;
    transfer.half_trips = 1;
    transfer.traffic.messages = sends;
    if (query_.time.node)
      transfer.node_ns = transfer.node_start_ns =
          query_.time.node->grid(NodeWay::message, NodeTraffic::exchange).ns(0, 0);
    count_device_messages(sends, !sends, 0, &transfer);
    transfers_.push_back(transfer);
  }
  return index;
}

Transfer EdgeModel::compile(bool sends, const EdgeEnd& mine, const EdgeEnd& theirs) {
  const EdgeEnd& source = sends ? mine : theirs;
  const EdgeEnd& target = sends ? theirs : mine;
  Transfer transfer;
  transfer.sends = sends;
  transfer.bytes = mine.view.length;
  transfer.path = choose_path(source, target);
  transfer.is_declined = transfer.path != Path::eager && transfer.path != Path::write_lists &&
                         asks_to_write(source, target);
  transfer.is_unasked = transfer.path == Path::push && goes_unasked(source);
  transfer.half_trips = transfer.is_unasked ? 1 : half_trips_of(transfer.path);
  if (transfer.path == Path::write && target.piece_bytes > 0)
    transfer.parts_written = (transfer.bytes - 1) / target.piece_bytes + 1;
  int64_t packed = 0;
  bool packs_here = posts_here(transfer);
  switch (transfer.path) {
    case Path::read:
    case Path::read_lists:
    case Path::write:
      packed = count_pieces(source.view, target, &transfer);
      break;
    case Path::write_lists:
      packed = count_requests(source.view, target.view, &transfer);
      break;
    case Path::lists_both: {
      const int64_t own = own_bytes(transfer);
      const int64_t from = sends ? transfer.bytes - own : 0;
      packed = count_requests(source.view.part(from, own), target.view.part(from, own), &transfer);
      break;
    }
    case Path::send:
      packed = count_lists(source.view, target.view, &transfer);
      packs_here = receiver_packs(query_.limits, target.view) != sends;
      break;
    default:
      break;
  }
  const bool posts = posts_here(transfer);
  count_messages(&transfer);
  count_bytes(packed, packs_here, &transfer);
  count_registrations(mine, &transfer);
  if (query_.time.node)
    predict_on_node(source, target, mine.piece_bytes > 0, &transfer);
  else
    predict(source, target, &transfer);
  if (!posts) {  // the other end's, counted for the times only
    transfer.traffic.batches = transfer.traffic.work_requests = transfer.traffic.segments =
        transfer.traffic.wqe_blocks = 0;
    transfer.least_sges = transfer.most_sges = 0;
    transfer.requests.clear();
  }
  count_device(&transfer);
  return transfer;
}

Path EdgeModel::choose_path(const EdgeEnd& source, const EdgeEnd& target) {
  const TransportLimits& limits = query_.limits;
  const int64_t bytes = source.view.length;
  if (fits_in_message(limits, query_.eager_bytes, bytes)) return Path::eager;
  const bool asks = can_announce(*target.view.layout) &&
                    bytes_to_store(limits, flow_, query_.problem.size, bytes) > 0;
  const bool writable = fit_to_write(limits, flow_, *source.view.layout, bytes) &&
                        fit_to_write(limits, flow_, *target.view.layout, bytes);
  if (asks && flow_ == Flow::to_root && !goes_unasked(source)) {
    if (target.shared) return Path::store;
    if (writable) return Path::write_lists;
  }
  const bool mappable = limits.can_map && source.shared;
  const bool reachable = limits.registers_memory || limits.two_sided_lists || mappable;
  const Layout& layout = *source.view.layout;
  if (!reachable || !worth_describing(limits, layout, mappable) || !can_announce(layout))
    return Path::push;
  if (mappable) return asks && (target.shared || writable) ? Path::map_both : Path::map;
  const Path path = bulk_path(limits, flow_, target.view, source.view, reachable);
  return path == Path::lists_both && !asks ? Path::push : path;
}

// As the root of a gather decides it, which knows its own layout only.
bool EdgeModel::asks_to_write(const EdgeEnd& source, const EdgeEnd& target) {
  const int64_t bytes = source.view.length;
  return flow_ == Flow::to_root && !target.shared && !goes_unasked(source) &&
         fit_to_write(query_.limits, flow_, *target.view.layout, bytes) &&
         can_announce(*target.view.layout);
}

// As the sender decides it, which knows its own layout only.
bool EdgeModel::goes_unasked(const EdgeEnd& source) const {
  const TransportLimits& limits = query_.limits;
  return goes_at_once(limits, query_.eager_bytes, source.view.length) &&
         !(limits.can_map && source.shared) && would_ask_push(limits, flow_, source.view);
}

bool EdgeModel::can_announce(const Layout& layout) {
  if (layout.contiguous()) return true;
  auto [found, is_new] = announceable_.try_emplace(layout.hash(), false);
  if (is_new) found->second = LayoutDirectory::can_announce(layout);
  return found->second;
}

void EdgeModel::count_messages(Transfer* transfer) const {
  int64_t& messages = transfer->traffic.messages;
  const int64_t most = std::max<int64_t>(1, query_.limits.max_message_bytes);
  if (!transfer->sends) {
    const bool answers = transfer->path != Path::eager && !transfer->is_unasked;
    messages = answers ? 1 : 0;                                               // to the offer
    if (transfer->path == Path::send) messages += transfer->traffic.batches;  // grants
    if (transfer->is_declined) messages += 1;
    if (is_shared(transfer->path)) messages += 1;  // "fetched"
    return;
  }
  messages = 1;
  if (transfer->path == Path::push) messages += (transfer->bytes + most - 1) / most;
  const bool tells =
      writes(transfer->path) || is_shared(transfer->path) || transfer->path == Path::store;
  if (tells) messages += transfer->parts_written;  // "written"
  if (transfer->is_declined) messages += 1;
}

// Each message is a request of its own, and so is the receive posted again for one that came.
void EdgeModel::count_device_messages(int64_t sent, int64_t received, int64_t payload_bytes,
                                      Transfer* transfer) const {
  if (!query_.limits.registers_memory) return;
  Traffic& traffic = transfer->traffic;
  traffic.device_requests += sent + received;
  traffic.device_segments += sent + received;
  traffic.doorbells += sent + received;
  traffic.signalled += sent;
  if (payload_bytes <= query_.limits.inline_payload_bytes) traffic.inlined += sent;
}

void EdgeModel::count_device(Transfer* transfer) const {
  if (!query_.limits.registers_memory) return;
  const bool sends = transfer->sends;
  const auto offer = static_cast<int64_t>(sizeof(Offer));
  auto first = [&](int64_t payload) { count_device_messages(sends, !sends, payload, transfer); };
  auto answer = [&](int64_t payload) { count_device_messages(!sends, sends, payload, transfer); };
  Traffic& traffic = transfer->traffic;
  if (transfer->path == Path::eager) return first(transfer->bytes);
  first(offer);
  switch (transfer->path) {
    case Path::push: {
      if (!transfer->is_unasked) answer(0);
      const int64_t most = query_.limits.max_message_bytes;
      for (int64_t from = 0; from < transfer->bytes; from += most)
        first(std::min(most, transfer->bytes - from));
      break;
    }
    case Path::write:
      answer(offer);
      for (int64_t i = 0; i < transfer->parts_written; ++i) first(0);
      break;
    case Path::send:
      answer(offer);
      for (int64_t i = 0; i < traffic.batches; ++i) answer(sizeof(Grant));
      break;
    default:
      answer(0);
      break;
  }
  if (!posts_here(*transfer)) return;
  const bool posts_receives = transfer->path == Path::send && !sends;
  if (transfer->path == Path::write && query_.limits.rails > 1) {  // a byte is read back
    traffic.device_requests += traffic.batches;
    traffic.device_segments += traffic.batches;
  }
  traffic.device_requests += traffic.work_requests;
  traffic.device_segments += transfer->posted_sges;
  traffic.doorbells += posts_receives ? traffic.work_requests : traffic.batches;
  traffic.signalled += posts_receives ? 0 : traffic.batches;
}

void EdgeModel::count_bytes(int64_t packed, bool packs_here, Transfer* transfer) const {
  Traffic& traffic = transfer->traffic;
  (transfer->sends ? traffic.bytes_sent : traffic.bytes_received) = transfer->bytes;
  if (transfer->path == Path::eager || transfer->path == Path::push) {
    traffic.bytes_packed = transfer->bytes;
    return;
  }
  if (is_shared(transfer->path) || transfer->path == Path::store) {
    traffic.bytes_direct = own_bytes(*transfer);
    return;
  }
  if (packs_here) traffic.bytes_packed = packed;
  if (transfer->sends == writes(transfer->path)) traffic.bytes_direct = transfer->bytes - packed;
}

// Of a transfer to which both ends may do something, this end's part.
int64_t EdgeModel::own_bytes(const Transfer& transfer) const {
  const int64_t stored = bytes_to_store(query_.limits, flow_, query_.problem.size, transfer.bytes);
  return transfer.sends ? stored : transfer.bytes - stored;
}

int64_t EdgeModel::count_requests(const View& local, const View& remote, Transfer* transfer) const {
  BatchCompiler compiler(local, remote, shape_of(transfer->path), query_.limits.sgl,
                         transfer_rules(query_.limits));
  return count_batches(compiler, false, transfer);
}

// As Operation::stream() and Operation::write_pieces().
int64_t EdgeModel::count_pieces(const View& source, const EdgeEnd& target,
                                Transfer* transfer) const {
  const int64_t length = source.length;
  const int64_t piece = target.piece_bytes > 0 ? target.piece_bytes : length;
  int64_t packed = 0;
  for (int64_t from = 0; from < length; from += piece) {
    const int64_t bytes = std::min(piece, length - from);
    const View from_source = source.part(from, bytes), to_target = target.view.part(from, bytes);
    packed += writes(transfer->path) ? count_requests(from_source, to_target, transfer)
                                     : count_requests(to_target, from_source, transfer);
  }
  return packed;
}

// As Operation::compile_lists().
int64_t EdgeModel::count_lists(const View& source, const View& target, Transfer* transfer) const {
  const bool at_receiver = receiver_packs(query_.limits, target);
  SglLimits limits = query_.limits.sgl;
  if (at_receiver) std::swap(limits.max_send_sge, limits.max_recv_sge);
  BatchCompiler compiler(at_receiver ? target : source, at_receiver ? source : target,
                         shape_of(transfer->path), limits, transfer_rules(query_.limits));
  return count_batches(compiler, at_receiver == transfer->sends, transfer);
}

int64_t EdgeModel::count_batches(BatchCompiler& compiler, bool turned_around,
                                 Transfer* transfer) const {
  const CostModel& model = query_.time.transfer;
  const bool receives = transfer->path == Path::send && !transfer->sends;
  int64_t packed = 0;
  Batch batch;
  Traffic& traffic = transfer->traffic;
  if (transfer->least_sges == 0) transfer->least_sges = INT32_MAX;
  while (compiler.next(&batch)) {
    ++traffic.batches;
    traffic.work_requests += static_cast<int64_t>(batch.wrs.size());
    traffic.segments += static_cast<int64_t>(batch.local.size() + batch.remote.size());
    packed += packed_bytes(batch);
    transfer->descriptor_ns += predict_batch_ns(model, batch) - predict_packing_ns(model, batch) -
                               static_cast<double>(batch.bytes) * model.byte_ns;
    transfer->packing_ns += predict_packing_ns(model, batch);
    if (turned_around) turn_around(&batch);
    for (const WorkRequest& request : batch.wrs) {
      traffic.wqe_blocks += receives ? receive_wqe_blocks(request.local_count)
                                     : wqe_blocks(request.shape, request.local_count);
      transfer->posted_sges += request.local_count;
      transfer->least_sges = std::min(transfer->least_sges, request.local_count);
      transfer->most_sges = std::max(transfer->most_sges, request.local_count);
    }
    if (transfer->requests.size() >= kRequestLines) continue;
    for (const RequestReport& report : explain_requests(batch, {.model = model}))
      if (transfer->requests.size() < kRequestLines) transfer->requests.push_back(report.text);
  }
  return packed;
}

// As the transport does it: what is offered or asked for, and each batch's local range.
void EdgeModel::count_registrations(const EdgeEnd& mine, Transfer* transfer) const {
  if (!query_.limits.registers_memory || mine.shared || transfer->path == Path::eager) return;
  if (transfer->is_unasked) return;
  const bool exposes = transfer->sends || transfer->path == Path::write;
  const int64_t batches = posts_here(*transfer) ? transfer->traffic.batches : 0;
  transfer->traffic.registrations = query_.limits.keeps_registrations ? 0 : exposes + batches;
  const View& view = mine.view;
  const double range = predict_registration_ns(
      query_.time.transfer, view.layout->true_ub() - view.layout->true_lb(), kPageBytes);
  const double part = predict_registration_ns(query_.time.transfer, view.length, kPageBytes);
  transfer->registration_ns = (exposes ? range : 0) + (batches > 0 ? part : 0);
}

void EdgeModel::predict(const EdgeEnd& source, const EdgeEnd& target, Transfer* transfer) const {
  const CostModel& model = query_.time.transfer;
  const bool in_messages = transfer->path == Path::eager || transfer->path == Path::push;
  const bool loads = is_mapped(transfer->path);
  if (in_messages) {
    transfer->packing_ns += copy_ns(model, source.view) + copy_ns(model, target.view);
  } else if (loads) {
    transfer->wire_ns = copy_ns(model, source.view);
  }
  if (!loads) transfer->wire_ns = static_cast<double>(transfer->bytes) * model.byte_ns;
}

void EdgeModel::predict_on_node(const EdgeEnd& source, const EdgeEnd& target, bool operand,
                                Transfer* transfer) const {
  const bool in_messages = transfer->path == Path::eager || transfer->path == Path::push;
  const NodeWay way = in_messages                 ? NodeWay::message
                      : is_mapped(transfer->path) ? NodeWay::map
                                                  : NodeWay::read;
  const bool one_way = is_rooted(query_.problem.collective);
  auto ns = [&](NodeTraffic traffic, double bytes) {  // both ends have their part in it
    const TimeGrid& grid = query_.time.node->grid(way, traffic);
    return (grid.ns(bytes, mean_run_bytes(source.view)) +
            grid.ns(bytes, mean_run_bytes(target.view))) /
           2;
  };
  const NodeTraffic plain = one_way ? NodeTraffic::one_way : NodeTraffic::exchange;
  const NodeTraffic combined = one_way ? NodeTraffic::operand : NodeTraffic::operand_exchange;
  // The receiver's part is the larger one of two.
  const int64_t stored =
      transfer->path == Path::lists_both
          ? bytes_to_store(query_.limits, flow_, query_.problem.size, transfer->bytes)
          : 0;
  const auto bytes = static_cast<double>(transfer->bytes - stored);
  // Two ends at the same time where it is one-way; an operand's runs are combined at its target.
  const double irregular_ends =
      (irregular_runs_in(source.view) + irregular_runs_in(target.view)) / (one_way ? 2 : 1);
  const double combining_ns =
      operand ? irregular_runs_in(target.view) * query_.time.node->irregular_operand_run_ns : 0;
  const double irregular_ns =
      combining_ns +
      (way == NodeWay::read ? 0 : irregular_ends * query_.time.node->irregular_run_ns);
  transfer->node_ns = ns(operand ? combined : plain, bytes) + irregular_ns;
  transfer->node_combining_ns =
      std::max(0.0, transfer->node_ns - irregular_ns - ns(plain, bytes)) + combining_ns;
  transfer->node_start_ns = ns(plain, 0);
}

}  // namespace sgl
