# Compiler settings for the whole tree and the two functions that declare a
# layer of the library and a test program.
include(GNUInstallDirs)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
# Installed programs find the library beside them, wherever the prefix is moved.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

find_program(SGLCOLL_CCACHE ccache)
if(SGLCOLL_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${SGLCOLL_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${SGLCOLL_CCACHE}")
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
# The MPIs whose C interface the examples, the tests and sglperf use next to the library's;
# the library needs none.
foreach(mpi ompi-c mpich)
  pkg_check_modules(SGLCOLL_MPI_${mpi} QUIET IMPORTED_TARGET GLOBAL ${mpi})
endforeach()

add_library(sglcoll_options INTERFACE)
target_compile_options(sglcoll_options INTERFACE
  -Wall -Wextra -Wpedantic $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Wshadow
  $<$<BOOL:${SGLCOLL_WERROR}>:-Werror>
  # What is installed does not name the folder that it was built in.
  $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>)
if(SGLCOLL_SANITIZE)
  target_compile_options(sglcoll_options INTERFACE
    -fsanitize=${SGLCOLL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(sglcoll_options INTERFACE -fsanitize=${SGLCOLL_SANITIZE})
  if(SGLCOLL_SANITIZE MATCHES thread)
    # The shared-memory protocols fence nowhere: they use acquire and release only.
    target_compile_options(sglcoll_options INTERFACE -Wno-tsan)
  endif()
endif()

# sglcoll_add_layer(<name> SOURCES <file>... [DEPENDS <layer or target>...])
#
# One static library `sglcoll_<name>`; headers are included by their path from
# the layer's parent ("datatype/layout.hpp", "topology/node.hpp").
function(sglcoll_add_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS")
  add_library(sglcoll_${name} STATIC ${arg_SOURCES})
  target_include_directories(sglcoll_${name} PUBLIC
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/lib" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(sglcoll_${name} PUBLIC sglcoll_options fmt::fmt Threads::Threads ${arg_DEPENDS}
    PRIVATE ${arg_PRIVATE_DEPENDS})
endfunction()

# What the time limits of tests, and those inside them, are multiplied by.
set(SGLCOLL_TIME_FACTOR 1)
if(SGLCOLL_SANITIZE)
  set(SGLCOLL_TIME_FACTOR 4)
endif()

# sglcoll_limit_time(<seconds> <test>...)
#
# The time limit of tests in an ordinary build; a sanitizer's is longer.
function(sglcoll_limit_time seconds)
  math(EXPR seconds "${SGLCOLL_TIME_FACTOR} * ${seconds}")
  set_tests_properties(${ARGN} PROPERTIES TIMEOUT ${seconds})
endfunction()

# sglcoll_add_test(<name> LABEL <label> SOURCES <file>... [LIBS <target>...]
#                  [TIMEOUT <seconds>] [PROCESSORS <n>])
#
# One GoogleTest program, one ctest entry with the label.
function(sglcoll_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT;PROCESSORS" "SOURCES;LIBS")
  sglcoll_add_test_program(${name} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
  add_test(NAME ${name} COMMAND ${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABEL}" PROCESSORS ${arg_PROCESSORS})
  sglcoll_limit_time(${arg_TIMEOUT} ${name})
endfunction()

# The program alone, for a test that runs it in its own way.
function(sglcoll_add_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE sglcoll_options ${arg_LIBS} GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
endfunction()
