std = "lua54"
max_line_length = 120
max_comment_line_length = 140
read_globals = { "panto" }
self = false
-- The runtime's own files replace parts of the standard library.
files["lua/panto/runtime"] = {
  globals = { "panto", "require", "print", "warn", "collectgarbage", "os", "io", "debug", "package" },
}
