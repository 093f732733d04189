/** What the line mutator knows of each language. All patterns are for code whose strings and comments are blank, but `hidden`. */
import { C_RULES, GO_RULES, type LineRule, PYTHON_RULES, SHELL_RULES } from './line-rules.ts';

export interface Language {
  readonly files: RegExp;
  /** Strings and comments. */
  readonly hidden: RegExp;
  /** Lines in which a fault says nothing about the checks: imports, attributes, logs, messages, caches. */
  readonly skip: RegExp;
  /** From here on it is no code to be checked. */
  readonly stop?: RegExp;
  /** A file with it is left alone: where a variable is empty by a fault, `rm -r "$folder"/*` reaches far beyond the copy. */
  readonly deletes?: RegExp;
  readonly rules: readonly LineRule[];
  /** A line that is a call and nothing else. */
  readonly call: RegExp;
  readonly removed: string;
  /** A line with a condition, which is its group `condition`. */
  readonly condition: RegExp;
  readonly and: string;
  readonly or: string;
  /** A condition that is always `value`. */
  fixed(value: boolean, condition: string): string;
}

const C_STRINGS = String.raw`"(?:\\.|[^"\\\n])*"|'(?:\\.[^'\n]*|[^\\'\n])'`;
const C_COMMENTS = String.raw`\/\/.*|\/\*[\s\S]*?\*\/`;
const NOT_CALLED =
  '(?!(?:if|for|while|switch|match|return|catch|func|fn|def|class|assert|elif|else)\\b|(?:super|this)\\()';
const CALL = `^\\s*${NOT_CALLED}[A-Za-z_][\\w.:]*\\(.*\\)`;
const CACHE = String.raw`^[^(]*(?:cache|memo(?!r)|sleep)[^(=]*\(`;
const trueOrFalse = (value: boolean) => String(value);

const C = { rules: C_RULES, removed: '', and: '&&', or: '||', fixed: trueOrFalse };

const PYTHON: Language = {
  files: /\.py$/,
  hidden: /#.*|"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g,
  skip: new RegExp(
    String.raw`^\s*(?:import|from|raise|assert|class|@|print\(|(?:\w+\.)*_?log(?:ger|ging)?\.\w+\(|warnings\.)|__name__|${CACHE}`,
    'i',
  ),
  rules: PYTHON_RULES,
  call: new RegExp(String.raw`${CALL.replace('^\\s*', '^\\s*(?:await\\s+)?')}\s*$`),
  removed: 'pass',
  condition: /^\s*(?<word>if|elif|while)\s+(?<condition>\S.*):\s*$/,
  and: 'and',
  or: 'or',
  fixed: value => (value ? 'True' : 'False'),
};

const GO: Language = {
  ...C,
  files: /\.go$/,
  hidden: new RegExp(`${C_COMMENTS}|\`[^\`]*\`|${C_STRINGS}`, 'g'),
  skip: new RegExp(
    String.raw`^\s*(?:import|package|type\b|func\b|case\b.*<-|panic\(|(?:\w+\.)*_?s?log(?:ger)?\.\w+\(|fmt\.(?:Fp|P)rint)|\bfmt\.Errorf\(|\berrors\.New\(|${CACHE}`,
    'i',
  ),
  rules: GO_RULES,
  call: new RegExp(String.raw`${CALL}\s*$`),
  condition: /^\s*(?:\}\s*else\s+)?(?<word>if)\s+(?:[^;]*;\s*)?(?<condition>[^;]*\S)\s*\{\s*$/,
  // A variable that nothing reads does not compile.
  fixed: (value, condition) => (value ? `(true || ${condition})` : `(false && ${condition})`),
};

const RUST: Language = {
  ...C,
  files: /\.rs$/,
  hidden: new RegExp(
    String.raw`${C_COMMENTS}|\br(#*)"[\s\S]*?"\1|"(?:\\[\s\S]|[^"\\])*"|'(?:\\.[^'\n]*|[^\\'\n])'`,
    'g',
  ),
  skip: new RegExp(
    String.raw`^\s*(?:use|mod|extern|#!?\[|(?:pub(?:\([^)]*\))?\s+)?(?:fn|struct|enum|trait|type|impl)\b|where\b|(?:e?print(?:ln)?|dbg|panic|unreachable|todo|bail|trace|debug|info|warn|error|assert\w*)!|log::|tracing::)|\b(?:dyn|impl)\b|\bErr\(|${CACHE}`,
    'i',
  ),
  // Unit tests live at the end of the file.
  stop: /^\s*#\[cfg\(test\)\]/m,
  call: new RegExp(String.raw`${CALL}(?:\.await)?\??;\s*$`),
  condition: /^\s*(?:\}\s*else\s+)?(?<word>if|while)\s+(?!let\b)(?<condition>(?:(?!\blet\b).)*\S)\s*\{\s*$/,
};

const JAVA: Language = {
  ...C,
  files: /\.java$/,
  hidden: new RegExp(String.raw`${C_COMMENTS}|"""[\s\S]*?"""|${C_STRINGS}`, 'g'),
  skip: new RegExp(
    String.raw`^\s*(?:import|package|@|throw\b|assert\b|System\.(?:out|err)\.|(?:\w+\.)*_?log(?:ger)?\.\w+\()|\b(?:class|interface|enum|record)\s+\w+|${CACHE}`,
    'i',
  ),
  call: new RegExp(String.raw`${CALL}\s*;\s*$`),
  condition: /^\s*(?:\}\s*)?(?:else\s+)?(?<word>if|while)\s*\((?<condition>.*)\)\s*\{?\s*$/,
  // `while (false)` does not compile: what is in it cannot be reached.
  fixed: (value, condition) => (value ? 'true' : `false && (${condition})`),
};

const SHELL: Language = {
  files: /\.(?:sh|bash|bats)$/,
  hidden: /(?<=^|\s)#.*|<<-?\s*(['"]?)(\w+)\1[^\n]*\n[\s\S]*?^\s*\2$|'[^']*'|"(?:\\[\s\S]|[^"\\])*"/gm,
  skip: /^\s*(?:set|shopt|trap|source|\.|import|readonly|declare|log|warn|die|info|debug)\s|>&2\s*$|^[^#]*\w\(\)\s*\{?\s*$|\bcache/,
  deletes: /\brm\s+(?:-\S+\s+)*(?:-\w*[rR]|--recursive)|\bfind\b.*\s-delete|\bmkfs|\bdd\s.*of=/,
  rules: SHELL_RULES,
  call: /^\s*(?!(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|in|function|local|export|return|exit|shift|cd|read|break|continue|true|false|unset|eval|exec|test|wait|sleep)\b)[a-z_][\w.-]*(?:\s+[^|&;()<\\]*)?$/i,
  removed: ':',
  condition: /^\s*(?<word>if|elif)\s+(?!!)(?<condition>\S[^;]*?)\s*;\s*then\s*$/,
  and: '&&',
  or: '||',
  fixed: trueOrFalse,
};

export const LANGUAGES: readonly Language[] = [PYTHON, GO, RUST, JAVA, SHELL];
