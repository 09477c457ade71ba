#!/usr/bin/env bash
# Fails on an include against the direction of the layers (CONTRIBUTING.md).
#
#   check_layers.sh SOURCE_DIR
set -euo pipefail
cd "$1"

# folder: the first parts of the paths that its files may include
check() {
  local folder=$1 allowed=$2 bad
  bad=$(grep -rnE '^#include "[a-z_]+/' "$folder" --include='*.cpp' --include='*.hpp' |
        grep -vE "#include \"($allowed)/" || true)
  [ -z "$bad" ] || { echo "$folder may include only from: $allowed"; echo "$bad"; failed=1; }
}

failed=0
check lib/base 'base'
check lib/datatype 'base|datatype'
check lib/op 'base|datatype|op'
check lib/sgl 'base|datatype|op|sgl'
check topology 'base|topology'
check lib/schedule 'base|datatype|schedule'
check collectives 'base|datatype|topology|schedule|collectives'
check lib/transport 'base|datatype|op|sgl|transport'
check lib/boot 'base|boot'
check lib/executor 'base|datatype|op|sgl|schedule|transport|executor'
check lib/explain 'base|datatype|op|sgl|topology|schedule|collectives|transport|executor|explain'

# Headers of other libraries stay in their rooms.
only() {
  local header=$1 rooms=$2 bad
  bad=$(grep -rnE "^#include <$header" lib collectives topology tools --include='*.cpp' --include='*.hpp' |
        grep -vE "^($rooms)" || true)
  [ -z "$bad" ] || { echo "<$header...> belongs to: $rooms"; echo "$bad"; failed=1; }
}
only hwloc 'topology/'
only pmix 'lib/boot/|tools/sglrun/'
only infiniband 'lib/transport/verbs/'
exit $failed
