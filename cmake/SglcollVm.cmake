# Tests in virtual machines with a soft-RoCE device (tests/vm/vm).

# sglcoll_add_vm_test(<name> COMMAND <command> [<argument>...]
#                     [NODES <n>] [RAILS <n>] [ON <nodes>] [TIMEOUT <seconds>])
#
# A ctest entry of label rdma that runs the command in each of NODES virtual machines
# with RAILS devices each (both 1), or only in those that ON names ("1", "1,3"). The
# command may be a target. All tests of one NODES and RAILS share one boot, which
# ctest does before the first and ends after the last. What the command finds
# there: see the top of tests/vm/vm.
function(sglcoll_add_vm_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NODES;RAILS;ON;TIMEOUT" "COMMAND")
  foreach(default NODES=1 RAILS=1 TIMEOUT=300)
    string(REGEX MATCH "(.*)=(.*)" _ ${default})
    if(NOT arg_${CMAKE_MATCH_1})
      set(arg_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    endif()
  endforeach()
  set(machines "${arg_NODES}x${arg_RAILS}")
  set(folder "${PROJECT_BINARY_DIR}/vm/${machines}")
  set(vm "${PROJECT_SOURCE_DIR}/tests/vm/vm")
  # One for all folders: ctest knows fixtures by name, whatever folder they are from.
  get_property(booted GLOBAL PROPERTY SGLCOLL_VM_MACHINES)
  if(NOT machines IN_LIST booted)
    set_property(GLOBAL APPEND PROPERTY SGLCOLL_VM_MACHINES ${machines})
    _sglcoll_add_vm_fixture(${machines} ${arg_NODES} ${arg_RAILS})
  endif()

  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  set(on "")
  if(arg_ON)
    set(on -o ${arg_ON})
  endif()
  add_test(NAME ${name}
    COMMAND ${vm} exec -t ${arg_TIMEOUT} ${on} ${folder} -- ${program} ${arg_COMMAND})
  math(EXPR timeout "${arg_TIMEOUT} + 60")  # the machine's own time-out comes first
  set_tests_properties(${name} PROPERTIES LABELS rdma TIMEOUT ${timeout} PROCESSORS 2
    SKIP_RETURN_CODE 77 FIXTURES_REQUIRED vm_${machines} RESOURCE_LOCK vm)
endfunction()

# The tests that boot and end one set of machines; they work on the binary directory
# of the top folder, so that every folder's tests can share it.
function(_sglcoll_add_vm_fixture machines nodes rails)
  set(vm "${PROJECT_SOURCE_DIR}/tests/vm/vm")
  set(folder "${PROJECT_BINARY_DIR}/vm/${machines}")
  add_test(NAME vm_boot_${machines} COMMAND ${vm} start -n ${nodes} -r ${rails} ${folder})
  add_test(NAME vm_end_${machines} COMMAND ${vm} stop ${folder})
  set_tests_properties(vm_boot_${machines} PROPERTIES LABELS rdma TIMEOUT 600 PROCESSORS 2
    SKIP_RETURN_CODE 77 FIXTURES_SETUP vm_${machines})
  set_tests_properties(vm_end_${machines} PROPERTIES LABELS rdma TIMEOUT 60
    FIXTURES_CLEANUP vm_${machines})
endfunction()
