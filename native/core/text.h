// UTF-8 at the border: what leaves Lua is valid UTF-8, whatever bytes a handler returned.
#pragma once

#include <string>
#include <string_view>

namespace panto {

bool is_valid_utf8(std::string_view bytes);

// Replaces each maximal invalid sequence by U+FFFD, as the WHATWG Encoding Standard decodes UTF-8.
std::string to_valid_utf8(std::string_view bytes);

}  // namespace panto
