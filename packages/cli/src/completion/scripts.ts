/**
 * The scripts of the shells. `zabra complete -- WORDS` gets the words up to the cursor, and prints a mode
 * (`words`, `path` for words without a blank behind, `file` for the shell's own names of files) and
 * one candidate a line, with its meaning behind a tab.
 */
export const scripts = {
  bash: `_zabra() {
  local lines mode line word="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  mapfile -t lines < <(zabra complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  mode="\${lines[0]}"
  if [[ "$mode" == ":file" ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    return
  fi
  [[ "$mode" == ":path" ]] && compopt -o nospace
  for line in "\${lines[@]:1}"; do
    COMPREPLY+=("$(printf '%q' "\${line%%$'\\t'*}")")
  done
}
complete -F _zabra zabra
`,
  zsh: `#compdef zabra
_zabra() {
  local -a lines values
  local mode line
  lines=("\${(@f)$(zabra complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  mode="\${lines[1]}"
  if [[ "$mode" == ":file" ]]; then
    _files
    return
  fi
  for line in "\${(@)lines[2,-1]}"; do
    [[ -n "$line" ]] && values+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if [[ "$mode" == ":path" ]]; then
    _describe 'node' values -S ''
  else
    _describe 'zabra' values
  fi
}
if [[ "$funcstack[1]" == _zabra ]]; then
  _zabra "$@"
else
  compdef _zabra zabra
fi
`,
  fish: `function __zabra_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l lines (zabra complete -- $words[2..-1] 2>/dev/null)
  if test "$lines[1]" = ":file"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $lines[2..-1]
  end
end
complete -c zabra -f -a '(__zabra_complete)'
`,
} as const
