#!/bin/sh
# Runs before every hook that is called often. With no loop in the project it costs no more than a few tests. With one it
# answers by itself what needs no deciding, by the terms that the hook program has left in the session's tally
# (src/store/tally.ts), and notes what it did there. Whatever it does not know for certain, it asks the program.
# Codex and Copilot set PLUGIN_ROOT. They count tools one by one, and know slash commands only as prompts, as does Gemini.
# The agent of one of Ralph's own runs: hooks that the run has given it answer.
case $RALPH_HOOKS in
*'"given":true'*) exit 0 ;;
?*) exec node "${0%/*}/ralph-hook.cjs" "$@" ;;
esac
[ "$2" = PostToolUse ] && [ -z "$PLUGIN_ROOT" ] && exit 0
root=${CLAUDE_PROJECT_DIR:-.}
# Qwen Code rewrites the name of the folder in scripts that it installs, unless it is spelt as a pattern.
for loop in "$root"/.claud[e]/ralph-loop*.local.md; do
  [ -e "$loop" ] || loop=
  break
done
if [ -z "$loop" ]; then
  [ -e "$root/.ralph-active" ] && exec node "${0%/*}/ralph-hook.cjs" "$@"
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
  exit
fi

host=$1 event=$2
# A shell reads a pipe byte by byte; head does not. More than this need not be seen.
case $event in
Stop) most=32768 ;;
PreToolUse | BeforeTool) most=16384 ;;
PostToolBatch | PostToolUse | AfterTool) most=1024 ;;
*) exec node "${0%/*}/ralph-hook.cjs" "$host" "$event" ;;
esac
[ -d "$root/.ralph/tally" ] || exec node "${0%/*}/ralph-hook.cjs" "$host" "$event"
language=${LC_ALL+set}$LC_ALL
LC_ALL=C # lengths are bytes, and A-Z are letters of ASCII

ask() {
  length=${#input}
  case $language in set*) LC_ALL=${language#set} ;; *) unset LC_ALL ;; esac
  set -- --v8-pool-size=0 "${0%/*}/ralph-hook.cjs" "$host" "$event" # it ends before helpers would be of use
  [ "$length" -gt 0 ] && [ "$length" -lt $most ] && exec node "$@" <<END
$input
END
  { printf '%s' "$input" && cat; } | node "$@"
  exit
}

input=$(head -c $most) || ask
# What may be a claim is for the program to judge.
case $event$input in Stop*[Pp][Rr][Oo][Mm][Ii][Ss][Ee]* | Stop*\\u* | Stop*'"agent_id"'*) ask ;; esac
session=${input#'{"session_id":"'}
[ "$session" != "$input" ] || ask
session=${session%%'"'*}
case $session in '' | *[!A-Za-z0-9_-]*) ask ;; esac
set -- "$root/.ralph/tally/$session"/*/terms
[ $# = 1 ] && [ -f "$1" ] || ask
tally=${1%/terms}
{
  IFS= read -r name && IFS= read -r prompt &&
    read -r iteration row stops longest words counts guarded &&
    IFS= read -r cap && read -r quiet watched && IFS= read -r behind && IFS= read -r answer
} 2>/dev/null <"$1" || ask
# Digits, or a shell would take them for something to evaluate.
for number in "$iteration" "$row" "$stops" "$longest"; do
  case $number in '' | *[!0-9]* | ????????????*) ask ;; esac
done
# The state and the settings are still those that the terms were made of.
case $name in */*) ask ;; esac
[ -f "${loop%/*}/$name" ] || ask
for file in "${loop%/*}/$name" "$root/.ralph/settings.json" "$root/.ralph/settings.local.json"; do
  [ "$file" -nt "$1" ] && ask
done

case $event in PreToolUse | BeforeTool)
  [ "$guarded" = 0 ] && exit 0
  # Tools of which the guard has nothing to say, by a name that stands there once. All of the call must be in sight.
  [ ${#input} -lt $most ] || ask
  tool=${input#*'"tool_name":"'}
  case $tool in "$input" | *'"tool_name"'* | *\\u* | *'"command"'* | *'"cmd"'* | *'"script"'* | *'"patch"'* | *'"patchText"'* | *'"input"'*) ask ;; esac
  case ${tool%%'"'*} in
  Glob | Grep | LS | Agent | Task | TaskList | TaskGet | WebSearch | WebFetch | ToolSearch | Skill) exit 0 ;;
  Read | Edit | Write) ;;
  *) ask ;;
  esac
  # An ordinary file of the project, by its plain name, where the settings add no rules of their own.
  path=${tool#*'"tool_input":{"file_path":"'}
  case $guarded$path in "1$tool" | [!1]* | *'"file_path"'* | *'"tool_input"'*) ask ;; esac
  path=${path%%'"'*}
  case $root in /*[!/]) ;; *) ask ;; esac
  case $root/ in *//* | */./* | */../*) ask ;; esac
  case $input in *'"cwd":"'"$root"'"'* | *'"cwd":"'"$root"/*) ;; *) ask ;; esac
  case $path in "$root"/?*) path=${path#"$root"/} ;; *) ask ;; esac
  case /$path/ in *[!A-Za-z0-9_./-]* | */.* | *//* | *..* | *id_* | *cred* | *account* | *ralph*) ask ;; esac
  exit 0 ;;
esac

deeds=0 refused=0 last=
for deed in "$tally"/1[0-9][0-9][0-9].[st]; do
  case $deed in
  *.s) refused=$((refused + 1)) row=$((row + 1)) ;;
  *.t) row=0 ;;
  *) break ;; # there is none
  esac
  deeds=$((deeds + 1)) last=$deed
done
[ $deeds -lt 128 ] || ask

if [ "$event" != Stop ]; then
  [ "$counts" = 1 ] || ask
  # The context monitor has nothing to say until its transcript is so long.
  if [ -n "$quiet" ]; then
    case $quiet in *[!0-9]*) ask ;; esac
    size=$(wc -c 2>/dev/null <"$watched") || ask
    [ $((size)) -lt "$quiet" ] || ask
  fi
  case $last in *.t) ;; *) last=$tally/$((1000 + deeds)).t ;; esac
  # Fails when the program is taking the tally in.
  { printf . >>"$last"; } 2>/dev/null || ask
  exit 0
fi

# A stop is refused with the usual words when it cannot hold a claim and nothing else is to be said.
[ "$refused" -lt "$stops" ] && [ ${#input} -lt $most ] || ask
[ "$longest" = 0 ] || [ $((row + 1)) -lt "$longest" ] || ask
[ "$cap" = "$CLAUDE_CODE_STOP_HOOK_BLOCK_CAP/$QWEN_CODE_STOP_HOOK_BLOCK_CAP" ] || ask
case $input in *"$prompt"*) ;; *) ask ;; esac
case $input in
*'"background_tasks":[]'*) ;;
*'"background_tasks"'*) ask ;;
esac
said=${input#*'"last_assistant_message":"'}
[ "$said" != "$input" ] || ask
if [ "$words" = last ]; then
  # The input tells only the last text of the final message; the others are in the transcript, which is written a moment later.
  whole=$said
  said=${said%%'","background_tasks":[]'*}
  transcript=${input#*'"transcript_path":"'}
  transcript=${transcript%%'"'*}
  [ "$said" != "$whole" ] || ask
  case $transcript in '' | [!/]* | *\\*) ask ;; esac
  set -f
  final=
  looks=0
  while [ -z "$final" ]; do
    [ $looks = 0 ] || sleep 0.01 2>/dev/null || ask
    looks=$((looks + 1))
    [ $looks -le 40 ] || ask
    end=$(tail -c 16384 "$transcript" 2>/dev/null) || ask
    IFS='
'
    # Of a message all lines come after the line of the request, or of the user's words, that it answers.
    begun='' final='' claim=''
    for line in $end; do
      case $line in
      *'"type":"assistant"'*)
        case $line in *[Pp][Rr][Oo][Mm][Ii][Ss][Ee]* | *\\u*) claim=1 ;; esac
        # The host may have cut off white space.
        case $line in *'"type":"text","text":"'"$said"* | *'"type":"text","text":"\n'*"$said"*) final=$begun ;; esac ;;
      *'"type":"user"'* | *'"type":"api-request"'*) begun=1 final='' claim='' ;;
      esac
    done
    unset IFS
  done
  [ -z "$claim" ] || ask
fi
# A long one is in a file of its own: a shell reads lines byte by byte.
[ -n "$answer" ] || answer=$(cat "$tally/answer" 2>/dev/null) || ask
set -C # a number is given once
{ true >"$tally/$((1000 + deeds)).s"; } 2>/dev/null || ask
printf '%s%s%s' "$answer" "$((iteration + refused + 1))" "$behind"
