#include "compiler/schedule/refusal.h"

namespace lockstitch {

std::string_view key(Figure figure) {
  switch (figure) {
  case Figure::LaunchesSaved:
    return "launches_saved";
  case Figure::BytesSaved:
    return "bytes_saved";
  case Figure::MicrosecondsOfA:
    return "us_a";
  case Figure::MicrosecondsOfB:
    return "us_b";
  case Figure::MicrosecondsTogether:
    return "us_together";
  case Figure::RecomputeFactor:
    return "recompute_factor";
  case Figure::Members:
    return "members";
  case Figure::MembersLimit:
    return "members_limit";
  case Figure::Operands:
    return "operands";
  case Figure::OperandsLimit:
    return "operands_limit";
  case Figure::Operations:
    return "operations";
  case Figure::OperationsLimit:
    return "operations_limit";
  case Figure::Places:
    return "places";
  case Figure::PlacesLimit:
    return "places_limit";
  case Figure::Loops:
    return "loops";
  case Figure::LoopsLimit:
    return "loops_limit";
  case Figure::SharedBytes:
    return "shared_bytes";
  case Figure::SharedBytesLimit:
    return "shared_bytes_limit";
  case Figure::Blocks:
    return "blocks";
  case Figure::BlocksLimit:
    return "blocks_limit";
  }
  return "";
}

bool isWhole(Figure figure) {
  switch (figure) {
  case Figure::MicrosecondsOfA:
  case Figure::MicrosecondsOfB:
  case Figure::MicrosecondsTogether:
  case Figure::RecomputeFactor:
    return false;
  default:
    return true;
  }
}

std::string nodeOf(const PrimitiveGraph &graph, PrimitiveId id) {
  const Primitive &primitive = graph.primitives[id];
  return primitive.origins.empty()
             ? primitive.name
             : graph.origins[primitive.origins.front()].node;
}

} // namespace lockstitch
