{
  # The sources are listed in native/sources.txt and native/lua/sources.txt, which CMakeLists.txt reads, too.
  "targets": [
    {
      "target_name": "panto",
      "sources": [
        "<!@(node -p \"require('fs').readFileSync('native/sources.txt','utf8').trim().split(/\\s+/).join(' ')\")",
        "<!@(node -p \"require('fs').readFileSync('native/lua/sources.txt','utf8').trim().split(/\\s+/).map(n=>'vendor/lua/src/'+n+'.c').join(' ')\")"
      ],
      "include_dirs": ["native", "vendor/lua/src", "vendor/yyjson/src", "<!@(node -p \"require('node-addon-api').include_dir\")"],
      "defines": ["NAPI_VERSION=9", "NAPI_CPP_EXCEPTIONS", "LUA_COMPAT_5_3"],
      "cflags": ["-fvisibility=hidden", "-include", "<(module_root_dir)/native/lua/visible.h"],
      "cflags_c": ["-std=gnu99"],
      "cflags_cc": ["-std=c++17", "-fexceptions"],
      "cflags_cc!": ["-fno-exceptions", "-std=gnu++17", "-std=gnu++20"],
      "conditions": [
        # All symbols are resolved at load: a Node without libuv's must be an error that can be reported, not the end of the process.
        ["OS=='linux'", { "defines": ["LUA_USE_LINUX", "_GNU_SOURCE"], "libraries": ["-ldl", "-lm"], "ldflags": ["-Wl,-z,now"] }],
        ["OS=='mac'", {
          "defines": ["LUA_USE_MACOSX"],
          "xcode_settings": {
            "GCC_ENABLE_CPP_EXCEPTIONS": "YES",
            "CLANG_CXX_LANGUAGE_STANDARD": "c++17",
            "MACOSX_DEPLOYMENT_TARGET": "11.0",
            "OTHER_CFLAGS": ["-fvisibility=hidden", "-include", "<(module_root_dir)/native/lua/visible.h"],
            "OTHER_CPLUSPLUSFLAGS": ["-fvisibility=hidden", "-include", "<(module_root_dir)/native/lua/visible.h"]
          }
        }]
      ]
    }
  ]
}
