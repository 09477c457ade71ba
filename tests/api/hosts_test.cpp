// Every collective among several machines, shared memory within each and RDMA between them.
// Each rank of a job that sglrun starts on the machines of tests/vm runs it.
#include "api/oracle.hpp"

namespace sgl::test {
namespace {

TEST(OverMachines, DefaultAlgorithms) {
  sglcoll_options options = SGLCOLL_OPTIONS_DEFAULT;
  sglcoll_comm world = nullptr;
  ASSERT_OK(sglcoll_init(&options, &world));
  EXPECT_GE(size_of(world), 2) << "sglrun --host n1:2,n2:2,... starts it";
  std::vector<TypeCase> types = int32_types();
  for (const NamedCheck& named : kChecks)
    for (const TypeCase& type : types)
      for (int64_t count : {1, 2000}) {
        SCOPED_TRACE(std::string(named.collective) + " " + type.name + " count " +
                     std::to_string(count));
        EXPECT_OK(named.check(world, type, count));
      }
  free_types(types);
  EXPECT_OK(sglcoll_finalize(&world));
}

}  // namespace
}  // namespace sgl::test
