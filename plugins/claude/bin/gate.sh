#!/bin/sh
# Stands before every hook that is called often, and has one job: where nothing of Ralph's is on in this project it leaves
# at once; else it starts the hook program, which decides. It reads the input of a prompt only.
program() {
  has_node || without_node "$@"
  exec node "${0%/*}/ralph-hook.cjs" "$@"
}

# A node that is too old says so, and this is asked again.
has_node() {
  [ -z "$RALPH_OLD_NODE" ] && command -v node > /dev/null 2>&1
}

# There is no node of use. A command is answered with that; a session without a loop of its own is not held up by that of another.
without_node() {
  why='Ralph: nothing was done, because node (20.11 or newer) is not on the PATH of this program. Put it there and start again.'
  [ -n "$input" ] || input=$(cat)
  case $2 in
  UserPromptExpansion) printf '{"decision":"block","reason":"%s"}' "$why" ;;
  UserPromptSubmit) is_command && printf '{"decision":"block","reason":"%s"}' "$why" ;;
  BeforeAgent) is_command && printf '{"decision":"deny","reason":"%s"}' "$why" ;;
  PreToolUse) is_guarded && printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"%s"}}' "$why" ;;
  BeforeTool) is_guarded && printf '{"decision":"deny","reason":"%s"}' "$why" ;;
  Stop | AfterAgent) is_awake && printf '{"systemMessage":"%s"}' "$why" ;;
  esac
  exit 0
}

is_command() {
  case $input in *ralph-loop* | *ulw-loop* | *cancel-ralph* | *hand-over* | *ralph:help*) return 0 ;; esac
  return 1
}

# A loop of this very session, which does not sleep.
is_awake() {
  for file in "$root"/.claud[e]/ralph-loop*.local.md; do
    [ -f "$file" ] || continue
    active=no
    while IFS= read -r line; do
      case $line in
      'active: true') active=yes ;;
      'session_id: "'*) id=${line#*: } ; case $active$input in yes*"$id"*) return 0 ;; esac ; break ;;
      esac
    done < "$file"
  done 2> /dev/null
  return 1
}

is_guarded() {
  is_awake || grep -qsE '"guard".*"enabled"[[:space:]]*:[[:space:]]*true' "$root/.ralph/settings.json" "$root/.ralph/settings.local.json"
}

root=${CLAUDE_PROJECT_DIR:-.}

# The agent of one of Ralph's own runs: hooks that the run has given it answer.
case $RALPH_HOOKS in
*'"given":true'*) exit 0 ;;
?*) program "$@" ;;
esac

case $2 in
UserPromptExpansion) program "$@" ;;
PostToolBatch | PostToolUse | AfterTool) needs='"contextMonitor"' ;;
*)
  # Qwen Code rewrites the name of the folder in scripts that it installs, unless it is spelt as a pattern.
  for file in "$root"/.claud[e]/ralph-loop*.local.md; do
    [ -e "$file" ] && program "$@"
  done
  needs='"(guard|contextMonitor)"' ;;
esac

case $2$PLUGIN_ROOT in
UserPromptSubmit?* | BeforeAgent*)
  # A prompt that may be a command: Codex, Copilot (which set PLUGIN_ROOT) and Gemini have no event of its own for it.
  input=$(cat)
  is_command || exit 0
  has_node || without_node "$@"
  printf '%s' "$input" | node "${0%/*}/ralph-hook.cjs" "$@" ;;
PreToolUse* | BeforeTool* | PostTool* | AfterTool* | SessionStart*)
  # The guard and the context monitor can be on without a loop, where the settings say so.
  for settings in "$root/.ralph/settings.json" "$root/.ralph/settings.local.json"; do
    [ -f "$settings" ] && grep -qE "$needs" "$settings" && program "$@"
  done ;;
esac
exit 0
