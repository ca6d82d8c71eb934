# Sourced by scripts that build programs of another implementation's release from its published Go module.
release=k8s.io/kubernetes
# An older version of this library panics when a newer compiler builds it.
reflect2=github.com/modern-go/reflect2
reflect2_version=v1.0.2
# Newer linkers refuse references of old libraries into the runtime without this flag.
release_ldflags='-s -w -checklinkname=0'

# Prints the go.mod of a module NAME that builds programs of release 1.VERSION.
release_go_mod() { # NAME VERSION
  local list
  # In another folder, because the output file is already empty.
  list=$(cd / && go mod download -json "$release@v1.$2" | sed -n 's/^\s*"GoMod": "\(.*\)",$/\1/p')
  printf 'module %s\n\ngo 1.18\n\nrequire %s v1.%s\n\nreplace (\n' "$1" "$release" "$2"
  # `replace` lines work only in the main module; the parts of the release are published with their own versions.
  sed -n "\\,^\t$reflect2 ,d; s/^\t\(\S* => \S* v\S*\)$/\t\1/p" "$list"
  printf '\t%s => %s %s\n' "$reflect2" "$reflect2" "$reflect2_version"
  sed -n "s|^\t\(k8s.io/[a-z-]*\) => \./staging/.*|\t\1 => \1 v0.$2|p" "$list"
  echo ')'
}

# Linker flags that stamp programs with release 1.VERSION, and with its commit if the module contains it.
release_stamp() { # VERSION
  local stamp=k8s.io/component-base/version.git commit
  commit=$(cd / && go mod download -json "$release@v1.$1" | sed -n 's/^\s*"Hash": "\([0-9a-f]*\)",$/\1/p')
  echo "-X ${stamp}Version=v1.$1 -X ${stamp}Major=1 -X ${stamp}Minor=${1%.*} -X ${stamp}Commit=$commit -X ${stamp}TreeState=clean"
}

# Copies a published module to FOLDER, to change and build it there.
copy_module() { # MODULE@VERSION FOLDER
  local published
  published=$(cd "$(dirname "$2")" && GOFLAGS=-mod=mod go mod download -json "$1" | sed -n 's/^\s*"Dir": "\(.*\)",$/\1/p')
  rm -rf "$2"
  cp -r "$published" "$2"
  chmod -R u+w "$2"
}
