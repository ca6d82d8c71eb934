# Sourced by the programs beside it: they run compiled programs of this project, or of the hidden folder beside them where they were
# unpacked from an archive.
root=${self%/*}
if [ -d "$root/.orch" ]; then root=$root/.orch; else root=$root/../..; fi

# Runs a program in place of this shell.
run_program() { # PROGRAM ARGUMENT…
  local main=$root/dist/bundle/$1/main.js node=$root/.tools/bin/node
  # Where something was compiled since it was bundled, the bundle is old.
  if [ ! -e "$main" ] || [ "$root/dist/.tsbuildinfo" -nt "$main" ]; then main=$root/dist/cmd/$1/main.js; fi
  shift
  # The project's own, where the PATH had none that is new enough.
  [ -x "$node" ] || node=node
  # A library of that Node.js which small machines lack.
  if [ -d "$root/.tools/lib" ]; then export LD_LIBRARY_PATH="$root/.tools/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; fi
  export MALLOC_TRIM_THRESHOLD_=1048576
  exec "$node" --max-semi-space-size=2 "$main" "$@"
}

# Prints the help that was written when the program was built: envtest looks for options in it at each start.
show_help() { # PROGRAM
  local text=$root/dist/bundle/orch-envtest/$1.help
  if [ -e "$text" ]; then
    printf '%s\n' "$(<"$text")"
    exit 0
  fi
  run_program orch-envtest "$1" --help
}
