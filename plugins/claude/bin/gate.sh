#!/bin/sh
# Runs before every hook that is called often: without a loop in the project it costs no more than this test.
# Codex and Copilot set PLUGIN_ROOT. They count tools one by one, and know slash commands only as prompts, as does Gemini.
# The agent of one of Ralph's own runs: hooks that the run has given it answer.
case $RALPH_HOOKS in
*'"given":true'*) exit 0 ;;
?*) exec node "${0%/*}/ralph-hook.cjs" "$@" ;;
esac
[ "$2" = PostToolUse ] && [ -z "$PLUGIN_ROOT" ] && exit 0
root=${CLAUDE_PROJECT_DIR:-.}
[ -e "$root/.ralph-active" ] && exec node "${0%/*}/ralph-hook.cjs" "$@"
# Qwen Code rewrites the name of the folder in scripts that it installs, unless it is spelt as a pattern.
for state in "$root"/.claud[e]/ralph-loop*.local.md; do
  [ -e "$state" ] && exec node "${0%/*}/ralph-hook.cjs" "$@"
done
case $2 in PreToolUse | BeforeTool | PostToolBatch | PostToolUse | AfterTool | SessionStart)
  # The guard and the context monitor can be on without a loop, where the settings say so.
  for settings in "$root/.ralph/settings.json" "$root/.ralph/settings.local.json"; do
    [ -f "$settings" ] && grep -qE '"(guard|contextMonitor)"' "$settings" && exec node "${0%/*}/ralph-hook.cjs" "$@"
  done
  exit 0 ;;
esac
case $2$PLUGIN_ROOT in UserPromptSubmit?* | BeforeAgent*) ;; *) exit 0 ;; esac
input=$(cat)
case $input in
*ralph-loop* | *ulw-loop* | *cancel-ralph* | *ralph:help*) printf '%s' "$input" | node "${0%/*}/ralph-hook.cjs" "$@" ;;
esac
