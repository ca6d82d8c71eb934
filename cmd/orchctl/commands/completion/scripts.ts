/** Scripts with which shells complete orchctl's command lines; the program itself says what fits. */

export const scripts: Readonly<Record<string, string>> = {
  bash: `# Completion of orchctl for bash: source <(orchctl completion bash)
_orchctl() {
  local word
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    [ -z "$word" ] || COMPREPLY+=("$word")
  done < <(orchctl __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case "\${COMPREPLY[0]:-}" in
  */ | *=) compopt -o nospace 2>/dev/null ;;
  esac
}
complete -o default -F _orchctl orchctl
`,
  zsh: `#compdef orchctl
# Completion of orchctl for zsh: source <(orchctl completion zsh)
_orchctl() {
  local -a described
  local word text
  while IFS=$'\\t' read -r word text; do
    [[ -z $word ]] || described+=("\${word//:/\\\\:}\${text:+:$text}")
  done < <(orchctl __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#described} )); then
    _describe orchctl described
  else
    _files
  fi
}
if [ "$funcstack[1]" = "_orchctl" ]; then _orchctl; else compdef _orchctl orchctl; fi
`,
  fish: `# Completion of orchctl for fish: orchctl completion fish | source
function __orchctl_complete
  set -l words (commandline -opc) (commandline -ct)
  orchctl __complete -- $words[2..-1] 2>/dev/null
end
complete -c orchctl -f -a '(__orchctl_complete)'
`,
};
