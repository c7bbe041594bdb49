/**
 * The scripts of the shells. `zabra complete -- WORDS` gets the words up to the cursor, and prints a mode
 * (`words`, `path` for words without a blank behind, `file` for the shell's own names of files) and
 * one candidate a line, with its meaning behind a tab.
 */
export const scripts = {
  // Bash splits words at : and =, and leaves backslashes in them. What it replaces is the last part only.
  bash: `_zabra() {
  local lines mode line i part last before="" words=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    part="\${COMP_WORDS[i]}"
    if ((\${#words[@]} > 0)) && [[ "$part" == [:=]* || "$before" == *[:=] ]]; then
      words[\${#words[@]}-1]+="\${part//\\\\/}"
    else
      words+=("\${part//\\\\/}")
    fi
    before="$part"
  done
  last="\${words[\${#words[@]}-1]}"
  part="\${part//\\\\/}"
  [[ "$part" == [:=] ]] && part=""
  COMPREPLY=()
  mapfile -t lines < <(zabra complete -- "\${words[@]}" 2>/dev/null)
  mode="\${lines[0]}"
  if [[ "$mode" == ":file" ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$part")
    return
  fi
  [[ "$mode" == ":path" ]] && compopt -o nospace
  for line in "\${lines[@]:1}"; do
    line="\${line%%$'\\t'*}"
    COMPREPLY+=("$(printf '%q' "\${line#"\${last%"$part"}"}")")
  done
}
complete -F _zabra zabra
`,
  zsh: `#compdef zabra
_zabra() {
  local -a lines values
  local mode line
  lines=("\${(@f)$(zabra complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
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
  set -l words (commandline -opc) (commandline -ct | string unescape)
  set -l lines (zabra complete -- $words[2..-1] 2>/dev/null)
  if test "$lines[1]" = ":file"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $lines[2..-1]
    # Two candidates, so that there is no blank behind the path.
    if test "$lines[1]" = ":path"; and test (count $lines) -eq 2
      string split -m 1 -f 1 \\t $lines[2] | string replace -r '$' /
    end
  end
end
complete -c zabra -f -a '(__zabra_complete)'
`,
} as const
