#!/bin/sh
# Stands before every hook that is called often, and has one job: where nothing of Ralph's is on in this project it leaves
# at once; else it starts the hook program, which decides. It reads the input of a prompt only.
# It ends before helper threads would be of use.
program() { exec node --v8-pool-size=0 "${0%/*}/ralph-hook.cjs" "$@"; }

# The agent of one of Ralph's own runs: hooks that the run has given it answer.
case $RALPH_HOOKS in
*'"given":true'*) exit 0 ;;
?*) program "$@" ;;
esac
root=${CLAUDE_PROJECT_DIR:-.}

case $2 in
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
  case $input in
  *ralph-loop* | *ulw-loop* | *cancel-ralph* | *ralph:help*) printf '%s' "$input" | node "${0%/*}/ralph-hook.cjs" "$@" ;;
  esac ;;
PreToolUse* | BeforeTool* | PostTool* | AfterTool* | SessionStart*)
  # The guard and the context monitor can be on without a loop, where the settings say so.
  for settings in "$root/.ralph/settings.json" "$root/.ralph/settings.local.json"; do
    [ -f "$settings" ] && grep -qE "$needs" "$settings" && program "$@"
  done ;;
esac
exit 0
