#include "sgl/view.hpp"

#include "sgl/run_blocks.hpp"

namespace sgl {

std::byte* contiguous_address(const View& view) {
  const LayoutNode& root = view.layout->node();
  if (root.kind == LayoutKind::run) return view.base + root.offset + view.offset;
  if (view.length == 0) return view.base;
  BlockWalker walker(view);
  std::byte* const first = walker.block().run(0);
  int64_t reached = 0;
  // In the normal form few runs can meet: the loop ends at the first gap.
  while (reached < view.length) {
    const RunBlock block = walker.block();
    if (block.run(0) != first + reached) return nullptr;
    walker.take(block.length);
    reached += block.length;
  }
  return first;
}

}  // namespace sgl
