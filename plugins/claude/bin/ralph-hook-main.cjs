function __lazily(id) {
	let module;
	return new Proxy({}, { get: (_, name) => (module ??= require(id))[name] });
}
Object.defineProperty(exports, Symbol.toStringTag, { value: "Module" });
let node_fs = require("node:fs");
let node_path = require("node:path");
const node_child_process = __lazily("node:child_process");
let node_module = require("node:module");
const node_crypto = __lazily("node:crypto");
const node_os = __lazily("node:os");
const node_vm = __lazily("node:vm");
// src/domain/hook-orders.ts
const HOOK_ORDERS = "RALPH_HOOKS";
function readOrders(env) {
	const text = env[HOOK_ORDERS];
	if (!text) return void 0;
	try {
		const { run, root, given, ...rest } = JSON.parse(text);
		return {
			...rest,
			run: String(run ?? ""),
			root: String(root ?? ""),
			given: given === true
		};
	} catch {
		return {
			run: "",
			root: "",
			given: true
		};
	}
}
// src/domain/tags.ts
const MAX_TAG_CHARS = 65536;
function createTagScanner(name, sink) {
	const tags = new RegExp(`<(/?)${name}>`, "gi");
	const openLength = name.length + 2;
	let pending = "";
	let enough = false;
	const read = (final) => {
		let open = -1;
		tags.lastIndex = 0;
		for (let tag = tags.exec(pending); tag && !enough; tag = tags.exec(pending)) {
			const after = tags.lastIndex;
			if (tag[1] === "") {
				open = tag.index;
				continue;
			}
			if (after === pending.length && !final) break;
			if (open !== -1) enough = sink.found(tagAt(pending, open, after, openLength)) === "enough";
			open = -1;
		}
		if (final && open !== -1 && !enough) sink.unclosed?.();
		pending = final || enough ? "" : keep$1(pending, open, openLength);
	};
	return {
		feed(text) {
			if (enough || text === "") return;
			pending += text;
			if (pending.includes("<")) read(false);
			else pending = pending.slice(-1);
		},
		boundary() {
			if (pending !== "") read(true);
		}
	};
}
function tagAt(text, start, end, openLength) {
	return {
		whole: text.slice(start, end),
		content: text.slice(start + openLength, end - openLength - 1),
		quoted: text[start - 1] === "`" && text[end] === "`"
	};
}
function keep$1(pending, open, openLength) {
	if (open !== -1) return pending.length - open > MAX_TAG_CHARS ? "" : pending.slice(Math.max(0, open - 1));
	const bracket = pending.lastIndexOf("<");
	const from = pending.length - bracket < openLength ? bracket : pending.length;
	return pending.slice(Math.max(0, from - 1));
}
// src/domain/completion.ts
const NO_CLAIM = { found: false };
function markerOf(rule) {
	return `<${rule.kind}>${rule.text}</${rule.kind}>`;
}
function createClaimScanner(rule) {
	const decide = rule.kind === "response" ? responseDecision(rule) : promiseDecision(rule);
	let claim = NO_CLAIM;
	const scanner = createTagScanner(rule.kind, {
		found(tag) {
			const next = decide(tag);
			if (next.found || !claim.found) claim = next;
			return next.found || rule.kind === "response" ? "enough" : void 0;
		},
		unclosed() {
			if (!claim.found) claim = {
				found: false,
				nearMiss: "unclosed"
			};
		}
	});
	return {
		...scanner,
		claim() {
			scanner.boundary();
			return claim;
		}
	};
}
function responseDecision(rule) {
	const wanted = rule.text.trim().toLowerCase();
	return ({ content }) => {
		const said = content.trim();
		if (said.toLowerCase() === wanted) return { found: true };
		return {
			found: false,
			nearMiss: "other-text",
			said: said.slice(0, 200)
		};
	};
}
function promiseDecision(rule) {
	const marker = markerOf(rule);
	const squeeze = (text) => text.replace(/\s+/g, " ").trim();
	return ({ whole, content, quoted }) => {
		if (whole === marker) return quoted ? {
			found: false,
			nearMiss: "quoted",
			said: content
		} : { found: true };
		return {
			found: false,
			nearMiss: squeeze(content) === squeeze(rule.text) ? "spaces" : whole.toLowerCase() === marker.toLowerCase() ? "case" : "other-text",
			said: content.slice(0, 200)
		};
	};
}
// src/domain/session.ts
const NO_WORK_POLICIES = [
	"reject",
	"warn",
	"accept"
];
function ruleOf({ completionPromise }) {
	return completionPromise === null ? void 0 : {
		kind: "promise",
		text: completionPromise
	};
}
const ULTRAWORK = "ULTRAWORK MODE: use everything you have. Plan first, work on independent parts in parallel, verify each result yourself, and do not settle for a partial one.";
function contract(request) {
	const rule = ruleOf(request);
	const stopping = rule ? [`This is a Ralph loop. Work on the task below until it is completely done. Only then output exactly this, with nothing changed inside the tag: ${markerOf(rule)}`, "It must match to the letter: no extra space, no other case, not in backticks. If you are not done, do not output it, not even to get out of the loop: when you stop without it, you will be sent back to the task."] : ["This is a Ralph loop. Work on the task below. When you stop, you will be sent back to it."];
	const checks = request.checks.map((check) => `- \`${check}\``);
	return [
		...request.ultrawork ? [ULTRAWORK] : [],
		...stopping,
		...checks.length > 0 ? [`Before you may go, these commands are run, and all must pass:\n${checks.join("\n")}`] : [],
		`Task:\n${request.task}`
	].join("\n\n");
}
function continuation(state, why) {
	return [
		...state.ultrawork ? [ULTRAWORK] : [],
		...why,
		`Original task:\n${state.task}`
	].join("\n\n");
}
function missingPromise(rule) {
	return `You attempted to end the loop, but you did not output the completion promise ${markerOf(rule)}. Continue working on the original task below. Only output the promise when the task is fully complete.`;
}
const NO_PROMISE_SET = "The loop goes on. Continue working on the original task below.";
const NO_WORK_DONE = "Promise detected, but no tool calls/work were performed; you must actually complete the task before emitting the promise.";
function iterationMessage(state) {
	const of = state.maxIterations > 0 ? ` of ${state.maxIterations}` : "";
	const rule = ruleOf(state);
	const stop = rule ? `To stop: output ${markerOf(rule)} (ONLY when statement is TRUE - do not lie to exit!)` : "No completion promise set - loop runs infinitely";
	return `\ud83d\udd04 Ralph iteration ${state.iteration}${of} | ${stop}`;
}
// src/domain/session-verdict.ts
function sessionRun(state) {
	return {
		rule: ruleOf(state) ?? {
			kind: "promise",
			text: ""
		},
		limits: {
			maxIterations: state.maxIterations,
			maxFailures: 1,
			stuckAfter: 0
		},
		success: "promise_accepted",
		minToolCalls: state.onPromiseNoWork === "reject" ? state.minToolCalls : 0
	};
}
function sessionEvidence(state, claim, now) {
	return {
		outcome: { kind: "completed" },
		claim,
		checks: [],
		violations: [],
		treeChanged: null,
		repeats: 0,
		spent: {
			iterations: state.iteration,
			failures: 0,
			toolCalls: state.toolCalls,
			usage: { costSource: "unknown" },
			elapsed: elapsedOf(state, now)
		}
	};
}
function elapsedOf({ startedAt }, now) {
	return Math.max(0, (now - Date.parse(startedAt)) / 1e3) || 0;
}
function afterTools(state, calls) {
	const counted = state.toolCalls < state.minToolCalls ? calls : 1;
	return {
		...state,
		toolCalls: state.toolCalls + counted,
		blocksInARow: 0
	};
}
function afterBlock(state) {
	return {
		...state,
		iteration: state.iteration + 1,
		blocksInARow: state.blocksInARow + 1
	};
}
// src/platform/files.ts
const PRIVATE_FILE = 384;
const PRIVATE_FOLDER = 448;
function ensureFolder(path) {
	if (isFolder(path)) return;
	if ((0, node_path.dirname)(path) !== path) ensureFolder((0, node_path.dirname)(path));
	try {
		(0, node_fs.mkdirSync)(path, { mode: PRIVATE_FOLDER });
	} catch (error) {
		if (errorCode(error) !== "EEXIST" || !isFolder(path)) throw error;
	}
}
function isFolder(path) {
	return (0, node_fs.existsSync)(`${path}/.`);
}
function writeAtomic(path, content, mode = PRIVATE_FILE, folder = (0, node_path.dirname)(path)) {
	replace(path, content, {
		mode,
		folder,
		flush: true
	});
}
function writeWhole(path, content) {
	replace(path, content, {
		mode: PRIVATE_FILE,
		folder: (0, node_path.dirname)(path),
		flush: false
	});
}
function replace(path, content, { mode, folder, flush }) {
	const temporary = beside((0, node_path.join)(folder, (0, node_path.basename)(path)));
	try {
		const fd = (0, node_fs.openSync)(temporary, "wx", mode);
		try {
			(0, node_fs.writeFileSync)(fd, content);
			if (flush) (0, node_fs.fsyncSync)(fd);
		} finally {
			(0, node_fs.closeSync)(fd);
		}
		(0, node_fs.renameSync)(temporary, path);
	} catch (error) {
		removeQuietly(temporary);
		throw about(path, error);
	}
}
function about(path, error) {
	return error instanceof Error && !("path" in error) ? Object.assign(error, { path }) : error;
}
function syncFolder(path) {
	try {
		const fd = (0, node_fs.openSync)(path, "r");
		try {
			(0, node_fs.fsyncSync)(fd);
		} finally {
			(0, node_fs.closeSync)(fd);
		}
	} catch {}
}
function writePrivate(path, content) {
	try {
		(0, node_fs.writeFileSync)(path, content, { mode: PRIVATE_FILE });
	} catch (error) {
		removeQuietly(path);
		throw about(path, error);
	}
}
function removeQuietly(path) {
	try {
		(0, node_fs.rmSync)(path, { force: true });
	} catch {}
}
let counter = 0;
function beside(path) {
	return `${path}.${process.pid}-${counter++}.tmp`;
}
function createPrivate(path) {
	ensureFolder((0, node_path.dirname)(path));
	return (0, node_fs.openSync)(path, "a+", PRIVATE_FILE);
}
function readIfThere(path) {
	try {
		if (!(0, node_fs.statSync)(path, { throwIfNoEntry: false })) return void 0;
		return (0, node_fs.readFileSync)(path, "utf8");
	} catch (error) {
		if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return void 0;
		throw error;
	}
}
function fileSize(path) {
	return (0, node_fs.statSync)(path, { throwIfNoEntry: false })?.size ?? 0;
}
function readSlice(path, position, bytes, encoding = "utf8") {
	if (fileSize(path) === 0) return "";
	const fd = (0, node_fs.openSync)(path, "r");
	try {
		const buffer = Buffer.alloc(Math.max(0, Math.min(bytes, fileSize(path) - position)));
		const read = (0, node_fs.readSync)(fd, buffer, 0, buffer.length, position);
		return buffer.toString(encoding, 0, read);
	} finally {
		(0, node_fs.closeSync)(fd);
	}
}
function errorCode(error) {
	return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : void 0;
}
const ERROR_WORDS = {
	ENOENT: "it does not exist",
	ENOTDIR: "a part of its path is not a folder",
	EISDIR: "it is a folder",
	EEXIST: "there is something else of that name",
	EACCES: "permission denied",
	EPERM: "permission denied",
	EROFS: "the file system is read-only",
	ENOSPC: "the disk is full",
	EDQUOT: "the disk quota is used up",
	EMFILE: "too many open files",
	ENAMETOOLONG: "the name is too long",
	E2BIG: "the arguments are too long"
};
function errorWords(error) {
	const code = errorCode(error);
	if (code !== void 0) return ERROR_WORDS[code] ?? code;
	return error instanceof Error ? error.message : String(error);
}
// src/store/session-file.ts
const NAME = /^ralph-loop(\..+)?\.local\.md$/;
function listSessions(root) {
	const folder = (0, node_path.join)(root, ".claude");
	let names;
	try {
		names = (0, node_fs.readdirSync)(folder).filter((name) => NAME.test(name)).sort();
	} catch {
		return [];
	}
	return names.map((name) => {
		const path = (0, node_path.join)(folder, name);
		const parsed = parseState(readIfThere(path) ?? "");
		return "problem" in parsed ? {
			path,
			problem: parsed.problem
		} : {
			path,
			state: parsed
		};
	});
}
function findSession(root, sessionId) {
	return listSessions(root).find((file) => "state" in file && file.state.sessionId === sessionId);
}
function newSessionPath(root, sessionId) {
	const short = (0, node_path.join)(root, ".claude", "ralph-loop.local.md");
	return listSessions(root).some((file) => file.path === short && !("state" in file && file.state.sessionId === sessionId)) ? (0, node_path.join)(root, ".claude", `ralph-loop.${sessionId.replace(/[^\w-]/g, "_")}.local.md`) : short;
}
function writeSession(path, state) {
	ensureFolder((0, node_path.join)(path, ".."));
	const tally = `${Date.now().toString(36)}-${process.pid}-${written++}`;
	writeWhole(path, formatState({
		...state,
		tally
	}));
}
let written = 0;
function removeSession(path) {
	(0, node_fs.rmSync)(path, { force: true });
}
function setAside(path, now) {
	const aside = `${path}.damaged-${now}`;
	(0, node_fs.renameSync)(path, aside);
	return aside;
}
function formatState(state) {
	return `---\n${[
		["active", state.active],
		["iteration", state.iteration],
		["max_iterations", state.maxIterations],
		["completion_promise", state.completionPromise],
		["started_at", state.startedAt],
		["session_id", state.sessionId],
		["prompt_id", state.promptId],
		["min_tool_calls", state.minToolCalls],
		["tool_calls", state.toolCalls],
		["on_promise_no_work", state.onPromiseNoWork],
		["ultrawork", state.ultrawork],
		["checks", state.checks],
		["blocks_in_a_row", state.blocksInARow],
		["run_id", state.runId],
		["tally", state.tally]
	].map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join("\n")}\n---\n${state.task}`;
}
function parseState(source) {
	const found = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(source);
	if (!found) return { problem: "it has no front matter between two lines of ---" };
	const fields = new Map((found[1] ?? "").split("\n").flatMap((line) => fieldOf(line)));
	const task = found[2] ?? "";
	const number = (key, fallback) => {
		const value = fields.has(key) ? fields.get(key) : fallback;
		return Number.isSafeInteger(value) && value >= 0 ? value : void 0;
	};
	const iteration = number("iteration");
	const maxIterations = number("max_iterations");
	if (iteration === void 0) return { problem: `'iteration' is not a whole number (${shown$1(fields.get("iteration"))})` };
	if (maxIterations === void 0) return { problem: `'max_iterations' is not a whole number (${shown$1(fields.get("max_iterations"))})` };
	if (task.trim() === "") return { problem: "there is no task in it" };
	const promise = fields.get("completion_promise");
	const promptId = fields.get("prompt_id");
	const policy = fields.get("on_promise_no_work");
	const checks = fields.get("checks");
	return {
		active: fields.get("active") !== false,
		iteration,
		maxIterations,
		completionPromise: typeof promise === "string" && promise !== "" ? promise : null,
		startedAt: String(fields.get("started_at") ?? ""),
		sessionId: String(fields.get("session_id") ?? ""),
		promptId: typeof promptId === "string" ? promptId : null,
		minToolCalls: number("min_tool_calls", 1) ?? 1,
		toolCalls: number("tool_calls", 0) ?? 0,
		onPromiseNoWork: NO_WORK_POLICIES.find((each) => each === policy) ?? "reject",
		ultrawork: fields.get("ultrawork") === true,
		checks: Array.isArray(checks) ? checks.filter((check) => typeof check === "string") : [],
		blocksInARow: number("blocks_in_a_row", 0) ?? 0,
		runId: String(fields.get("run_id") ?? ""),
		tally: String(fields.get("tally") ?? ""),
		task
	};
}
function fieldOf(line) {
	const found = /^([a-z_]+):\s*(.*)$/.exec(line);
	if (!found) return [];
	const [, key = "", text = ""] = found;
	try {
		return [[key, JSON.parse(text)]];
	} catch {
		return [[key, text.trim()]];
	}
}
function shown$1(value) {
	return `got: ${JSON.stringify(value) ?? "nothing"}`;
}
// src/domain/check.ts
function isGreen(checks) {
	return checks.every((check) => check.passed || check.ungated);
}
function redChecks(checks) {
	return checks.filter((check) => !check.passed && !check.ungated).sort((a, b) => a.index - b.index);
}
function slugOf(command) {
	const slug = command.replace(/[^A-Za-z0-9]+/g, "_").replace(/^_+/, "").slice(0, 50).replace(/_+$/, "");
	return slug === "" ? "check" : slug;
}
function slugsOf(commands) {
	const taken = new Set();
	return commands.map((command) => {
		const slug = slugOf(command);
		let name = slug;
		for (let number = 2; taken.has(name); number++) name = `${slug}_${number}`;
		taken.add(name);
		return name;
	});
}
// src/domain/evidence.ts
function isFailure(outcome) {
	return outcome.kind === "failed" || outcome.kind === "ended" && outcome.by === "idle-timeout";
}
// src/domain/standstill.ts
function standstillSentence({ kind, iterations, costs }) {
	switch (kind) {
		case "no-change": return `${iterations} iterations in a row changed no file.`;
		case "thrashing": return `${iterations} iterations in a row brought the files back and forth between the same two states.`;
		case "costly": {
			const [first = 0, second = 0] = costs ?? [];
			return `${iterations} iterations brought no further check to green and cost more and more: $${first.toFixed(2)} each at first, $${second.toFixed(2)} now.`;
		}
		default: return kind;
	}
}
function standstillAdvice({ kind, iterations }) {
	switch (kind) {
		case "no-change": return `Your last ${iterations} turns changed no file, and whatever you found out in them is lost. Change the code, or write down what you know, or say <blocked>why</blocked>.`;
		case "thrashing": return `Your last ${iterations} turns brought the files back and forth between the same two states: each undid the one before. Neither is right. Find out what both get wrong and go a third way, or say <blocked>why</blocked>.`;
		case "costly": return `Your last ${iterations} turns brought no further check to green, and they cost more and more. Take the smallest failure, mend only that, and leave everything else alone, or say <blocked>why</blocked>.`;
		default: return kind;
	}
}
// src/domain/trouble-table.ts
const TROUBLES = {
	auth: {
		answer: "stop",
		recognised: "HTTP 401, 403; OpenCode `ProviderAuthError`; Copilot `authentication`, `authorization`; words of a key or a login in the error",
		happens: "The run stops at once as `agent_failed` and says what to do.",
		counted: "ends the run",
		advice: "log in with the agent itself, or set its API key, then start again"
	},
	config: {
		answer: "stop",
		recognised: "HTTP 400, 404, 422; an unknown model or flag in the error; the command cannot be started; root refused",
		happens: "The run stops at once as `agent_failed` and says what to do.",
		counted: "ends the run",
		advice: "check the model name and the agent flags, then start again"
	},
	"rate-limit": {
		answer: "wait",
		recognised: "HTTP 429; Claude Code `rate_limit_event` that is rejected; Codex \"usage limit \u2026 try again at\"; Gemini \"retry in\"; OpenCode `retry-after`; Copilot `rate_limit`",
		happens: "On with the next agent of `--fallback`, else a wait for the time that the agent states (none stated: a minute, then twice as long each time), 6 hours at most (`--max-wait`). Then the same iteration again. A limit that lasts longer ends the run as `rate_limited`.",
		counted: "no",
		advice: "wait for the limit to reset, then start again; or raise --max-wait; or name another agent with --fallback"
	},
	quota: {
		answer: "wait",
		recognised: "HTTP 402; Copilot `quota`; words of a quota, a plan, credit or billing in the error",
		happens: "As a rate limit where the agent states when it ends. Else on with the next agent of `--fallback`, and without one the run stops as `rate_limited`.",
		counted: "no",
		advice: "top up the account, or name another agent with --fallback"
	},
	transient: {
		answer: "back-off",
		recognised: "HTTP 5xx and 529; a connection that broke; a stream that was cut; words of overload in the error",
		happens: "The same iteration again, after 2 s, then twice as long each time, a minute at most, with some chance in it; 5 times (`maxRetries`). Then the turn stands as failed.",
		counted: "no, until the retries are used up",
		advice: "start again; if it stays, look at the status page of the model provider"
	},
	"context-overflow": {
		answer: "count",
		recognised: "HTTP 413; OpenCode `ContextOverflowError`; Copilot `context_limit`; words of the context or the length of the prompt in the error",
		happens: "The next iteration begins afresh and the agent is told to work in smaller steps. 3 failed turns in a row (`maxFailures`) end the run.",
		counted: "yes",
		advice: "make the task smaller, or the prompt shorter"
	},
	"empty-reply": {
		answer: "again",
		recognised: "a turn that ends well with no word and no tool call; Copilot \"No response was returned\"",
		happens: "The same iteration again, at once, 5 times (`maxRetries`). Then the turn stands as failed.",
		counted: "no, until the retries are used up",
		advice: "run the agent by hand with the same prompt to see why it says nothing"
	},
	hang: {
		answer: "count",
		recognised: "nothing printed for `--idle-timeout` (30 minutes)",
		happens: "The agent and everything it started are ended; what it did is kept; the next iteration tells it why. 3 in a row (`maxFailures`) end the run.",
		counted: "yes",
		advice: "raise --idle-timeout if the agent needed longer, or find out by hand what it waits for"
	},
	crash: {
		answer: "count",
		recognised: "an exit code or a signal without a result, a stream that ends without one, any other error of the agent",
		happens: "The next iteration tells the agent. 3 failed turns in a row (`maxFailures`) end the run.",
		counted: "yes",
		advice: "run the agent by hand to see why it fails"
	}
};
function adviceFor(trouble) {
	return TROUBLES[trouble.class].advice;
}
function isFatal(trouble) {
	return TROUBLES[trouble.class].answer === "stop";
}
function isLimit(trouble) {
	return TROUBLES[trouble.class].answer === "wait";
}
// src/domain/usage.ts
function totalTokens(tokens) {
	return tokens && tokens.input + tokens.output;
}
// src/domain/limits.ts
function spentLimit(limits, evidence) {
	return failureLimit(limits, evidence) ?? budgetLimit(limits, evidence.spent) ?? timeLimit(limits, evidence) ?? stuckLimit(limits, evidence) ?? iterationLimit(limits, evidence.spent);
}
function failureLimit(limits, { outcome, spent }) {
	if (!isFailure(outcome)) return void 0;
	const trouble = troubleOf(outcome);
	const detail = told(trouble, outcome.kind === "failed" ? outcome.why : void 0);
	if (isFatal(trouble)) return {
		reason: "agent_failed",
		detail
	};
	if (isLimit(trouble)) return {
		reason: "rate_limited",
		detail
	};
	if (spent.failures < limits.maxFailures) return void 0;
	return {
		reason: "agent_failed",
		detail: `${spent.failures} turns in a row failed; the last one: ${detail}`
	};
}
function troubleOf(outcome) {
	return outcome.kind === "failed" ? outcome.trouble : {
		class: "hang",
		message: "the agent showed no sign of life"
	};
}
function told(trouble, why) {
	const more = why === void 0 ? "" : ` (${why})`;
	return `${trouble.message.trim().replace(/\.$/, "")}${more}. To mend it: ${adviceFor(trouble)}.`;
}
function budgetSpent({ maxCost, maxTokens }, { cost, tokens }) {
	if (maxCost !== void 0 && cost !== void 0 && cost >= maxCost) return "max-cost";
	const used = totalTokens(tokens);
	return maxTokens !== void 0 && used !== void 0 && used >= maxTokens ? "max-tokens" : void 0;
}
function budgetLimit(limits, { usage }) {
	const reason = "budget_exhausted";
	switch (budgetSpent(limits, usage)) {
		case "max-cost": return {
			reason,
			detail: `$${usage.cost?.toFixed(4)} of $${limits.maxCost} spent.`
		};
		case "max-tokens": return {
			reason,
			detail: `${totalTokens(usage.tokens)} of ${limits.maxTokens} tokens used.`
		};
		default: return;
	}
}
const ENDED_REASON = {
	"max-cost": "budget_exhausted",
	"max-tokens": "budget_exhausted",
	"max-time": "timeout"
};
function timeLimit({ maxTime }, { outcome, spent }) {
	const inside = outcome.kind === "ended" ? ENDED_REASON[outcome.by] : void 0;
	if (inside && outcome.kind === "ended") return {
		reason: inside,
		detail: `The turn was ended by --${outcome.by}.`
	};
	return timeIsUp(maxTime, spent);
}
function timeIsUp(maxTime, { elapsed }) {
	if (maxTime === void 0 || elapsed < maxTime) return void 0;
	return {
		reason: "timeout",
		detail: `${Math.round(elapsed)} s of ${maxTime} s have passed.`
	};
}
function isStuck({ stuckAfter }, { repeats }) {
	return stuckAfter > 0 && repeats >= stuckAfter;
}
function stuckLimit({ stuckAfter }, { repeats, standstill, checks }) {
	const isSame = stuckAfter > 0 && repeats > stuckAfter;
	if (!isSame && !standstill?.stop) return void 0;
	const why = isSame || !standstill ? `${repeats} iterations in a row failed in the same way and changed nothing.` : standstillSentence(standstill);
	const red = redChecks(checks).map((check) => `\`${check.command}\``);
	return {
		reason: "stuck",
		detail: red.length === 0 ? why : `${why} Still red: ${red.join(", ")}.`
	};
}
function iterationLimit({ maxIterations }, { iterations }) {
	if (maxIterations === 0 || iterations < maxIterations) return void 0;
	return {
		reason: "max_iterations",
		detail: `${iterations} of ${maxIterations} iterations used.`
	};
}
// src/domain/verdict.ts
function judge(run, evidence) {
	if (isProven(run, evidence)) return {
		kind: "stop",
		reason: run.success
	};
	const capped = evidence.stories?.capped;
	if (capped !== void 0) return {
		kind: "stop",
		reason: "review_cap",
		detail: capped
	};
	if (evidence.blocked !== void 0) return {
		kind: "stop",
		reason: "blocked",
		detail: evidence.blocked
	};
	const spent = spentLimit(run.limits, evidence);
	if (spent) return {
		kind: "stop",
		reason: spent.reason,
		detail: spent.detail
	};
	return {
		kind: "continue",
		feedback: feedbackOn(run, evidence)
	};
}
function isProven(run, evidence) {
	const { claim, outcome, checks, violations, stories } = evidence;
	const isIntact = isGreen(checks) && violations.every((violation) => violation.restored);
	if (stories) return isIntact && stories.open.length === 0;
	return isIntact && claim.found && outcome.kind !== "failed" && !isIdle(run, evidence);
}
function isIdle({ minToolCalls }, { spent, treeChanged }) {
	if (minToolCalls === 0 || treeChanged === true) return false;
	return spent.toolCalls === null ? treeChanged === false : spent.toolCalls < minToolCalls;
}
function feedbackOn(run, evidence) {
	const { violations, outcome, checks, denials = [] } = evidence;
	const feedback = [];
	for (const violation of [...violations].sort((a, b) => a.what < b.what ? -1 : a.what > b.what ? 1 : 0)) feedback.push({
		kind: "violation",
		violation
	});
	if (denials.length > 0) feedback.push({
		kind: "denied",
		what: denials
	});
	if (outcome.kind === "ended") feedback.push({
		kind: "turn-ended",
		by: outcome.by
	});
	if (outcome.kind === "failed") feedback.push({
		kind: "turn-failed",
		trouble: outcome.trouble
	});
	for (const check of redChecks(checks)) feedback.push({
		kind: "check-failed",
		check
	});
	feedback.push(...evidence.stories ? storyFeedback(evidence.stories, evidence) : claimFeedback(run, evidence));
	if (isStuck(run.limits, evidence)) feedback.push({
		kind: "stuck",
		repeats: evidence.repeats
	});
	else if (evidence.standstill) feedback.push({
		kind: "standstill",
		standstill: evidence.standstill
	});
	return feedback;
}
function storyFeedback({ open, missing, uncommitted }, { claim }) {
	return [
		...missing.map((message) => ({
			kind: "story-missing",
			message
		})),
		...claim.found && open.length > 0 ? [{
			kind: "stories-open",
			ids: open
		}] : [],
		...uncommitted.length > 0 ? [{
			kind: "uncommitted",
			paths: uncommitted
		}] : []
	];
}
function claimFeedback(run, evidence) {
	const { claim, checks } = evidence;
	if (claim.found) {
		if (!isGreen(checks)) return [{ kind: "claim-unproven" }];
		return isIdle(run, evidence) ? [{ kind: "no-work" }] : [];
	}
	if (claim.nearMiss) {
		const { nearMiss, said } = claim;
		return [{
			kind: "near-miss",
			nearMiss,
			...said !== void 0 && { said }
		}];
	}
	return isGreen(checks) ? [{ kind: "claim-missing" }] : [];
}
// src/platform/process-table.ts
function identify(pid) {
	const row = readRow(pid);
	return row && {
		pid: row.pid,
		started: row.started
	};
}
function isAlive(process) {
	const row = readRow(process.pid);
	return row !== void 0 && row.state !== "Z" && (process.started === "" || row.started === process.started);
}
function groupOf({ pid }) {
	return readRow(pid)?.group;
}
function descendants(pid) {
	const rows = allPids().flatMap((each) => readRow(each) ?? []);
	const found = new Map();
	for (let grew = true; grew;) {
		grew = false;
		for (const row of rows) if (!found.has(row.pid) && (row.parent === pid || found.has(row.parent))) {
			found.set(row.pid, row);
			grew = true;
		}
	}
	return [...found.values()].map((row) => ({
		pid: row.pid,
		started: row.started
	}));
}
function groupIsAlive(group) {
	if (process.platform === "win32") return false;
	try {
		process.kill(-group, 0);
	} catch {
		return false;
	}
	return allPids().some((pid) => {
		const row = readRow(pid);
		return row?.group === group && row.state !== "Z";
	});
}
function marked(mark, youngerThan) {
	return withEnvironment(`${mark}\0`, youngerThan);
}
function withEnvironment(text, youngerThan) {
	if (process.platform !== "linux") return [];
	const needle = Buffer.from(text);
	return pidsAfter(youngerThan).filter((pid) => pid !== process.pid && hasInEnvironment(pid, needle)).flatMap((pid) => identify(pid) ?? []);
}
function allPids() {
	if (process.platform === "linux") return (0, node_fs.readdirSync)("/proc").map(Number).filter(Number.isInteger);
	return psRows().map((row) => row.pid);
}
function pidsAfter(pid) {
	if (pid === void 0) return allPids();
	const latest = latestPid();
	if (latest < pid) return allPids();
	if (latest - pid > FEW) return allPids().filter((each) => each > pid);
	return Array.from({ length: latest - pid }, (_, at) => pid + 1 + at);
}
function isLatest(pid) {
	return process.platform === "linux" && latestPid() === pid;
}
function latestPid() {
	const load = (0, node_fs.readFileSync)("/proc/loadavg", "utf8");
	return Number(load.slice(load.lastIndexOf(" ")));
}
const FEW = 40;
const page = Buffer.allocUnsafe(262144);
function hasInEnvironment(pid, needle) {
	let fd;
	if (!(0, node_fs.existsSync)(`/proc/${pid}`)) return false;
	try {
		fd = (0, node_fs.openSync)(`/proc/${pid}/environ`, "r");
	} catch {
		return false;
	}
	try {
		const bytes = (0, node_fs.readSync)(fd, page, 0, page.length, 0);
		return page.subarray(0, bytes).includes(needle);
	} catch {
		return false;
	} finally {
		(0, node_fs.closeSync)(fd);
	}
}
function readRow(pid) {
	if (process.platform !== "linux") return psRows(pid)[0];
	try {
		const stat = (0, node_fs.readFileSync)(`/proc/${pid}/stat`, "utf8");
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		return {
			pid,
			state: fields[0] ?? "",
			parent: Number(fields[1]),
			group: Number(fields[2]),
			started: fields[19] ?? ""
		};
	} catch {
		return;
	}
}
function psRows(pid) {
	if (process.platform === "win32") return [];
	try {
		return (0, node_child_process.execFileSync)("ps", [
			...pid === void 0 ? ["-ax"] : ["-p", String(pid)],
			"-o",
			"pid=,ppid=,pgid=,stat=,lstart="
		], { encoding: "utf8" }).split("\n").flatMap((line) => {
			const [id, parent, group, state, ...started] = line.trim().split(/\s+/);
			if (!id) return [];
			return [{
				pid: Number(id),
				parent: Number(parent),
				group: Number(group),
				state: state?.[0] ?? "",
				started: started.join(" ")
			}];
		});
	} catch {
		return [];
	}
}
// src/store/paths.ts
function projectPaths(root) {
	const folder = (0, node_path.join)(root, ".ralph");
	const worktrees = (0, node_path.join)(folder, "worktrees");
	return {
		root,
		folder,
		gitignore: (0, node_path.join)(folder, ".gitignore"),
		settings: (0, node_path.join)(folder, "settings.json"),
		localSettings: (0, node_path.join)(folder, "settings.local.json"),
		runs: (0, node_path.join)(folder, "runs"),
		live: (0, node_path.join)(folder, "live"),
		worktrees,
		worktree: (name) => (0, node_path.join)(worktrees, name),
		worktreeOwner: (name) => (0, node_path.join)(worktrees, ".owners", `${name}.json`),
		contextAlerts: (session) => (0, node_path.join)(folder, "context", `${fileName(session)}.json`),
		tally: (session) => (0, node_path.join)(folder, "tally", fileName(session)),
		progress: (0, node_path.join)(folder, "ralph-progress.md"),
		prompt: (iteration) => (0, node_path.join)(folder, `prompt_${String(iteration).padStart(3, "0")}.txt`),
		guardrailLog: (iteration, slug) => (0, node_path.join)(folder, `guardrail_${iteration}_${slug}.log`)
	};
}
function runPaths(runs, id) {
	return runPathsIn((0, node_path.join)(runs, id));
}
function runPathsIn(folder) {
	const below = belowOf(folder);
	return {
		folder,
		run: below("run.json"),
		live: (0, node_path.join)(folder, "../../live", (0, node_path.basename)(folder)),
		events: below("events.jsonl"),
		progress: below("progress.md"),
		stories: (hash) => below(`stories/${hash}.json`),
		checks: below("checks.json"),
		startRef: below("start-ref"),
		cancelled: below("cancelled"),
		paused: below("paused"),
		hints: below("hints"),
		toldHints: below("hints/told"),
		contextAlerts: (session) => below(`context/${fileName(session)}.json`),
		hookNotes: below("hook-notes.jsonl"),
		stopBlocks: below("stop-blocks"),
		aside: below("aside"),
		kept: below("kept"),
		task: below("task.md"),
		lock: below("lock"),
		iteration: (iteration) => iterationPaths(below(`iterations/${String(iteration).padStart(4, "0")}`))
	};
}
function iterationPaths(folder) {
	const below = belowOf(folder);
	const checks = below("checks");
	return {
		folder,
		prompt: below("prompt.md"),
		agent: below("agent.jsonl"),
		agentErrors: below("agent.stderr.log"),
		attempt: (number) => ({
			agent: below(`agent.${number}.jsonl`),
			agentErrors: below(`agent.${number}.stderr.log`)
		}),
		cutOff: below("cut-off.diff"),
		diff: below("changes.diff"),
		checks,
		check: (slug) => `${checks}${node_path.sep}${slug}.log`
	};
}
function belowOf(folder) {
	return (name) => `${folder}${node_path.sep}${name}`;
}
function fileName(name) {
	return name.replace(/[^\w.-]/g, "_").replace(/^\.+/, "").slice(0, 100) || "_";
}
// src/domain/secrets.ts
const SECRET_NAME = /key|token|secret|passw|credential|auth/i;
const HIDDEN = "[redacted]";
const SHORTEST = 8;
function createRedactor(env) {
	const secrets = Object.entries(env).flatMap(([name, value]) => value && value.length >= SHORTEST && SECRET_NAME.test(name) && /\S{8}/.test(value) && !value.startsWith("/") ? [JSON.stringify(value).slice(1, -1)] : []);
	if (secrets.length === 0) return (line) => line;
	return (line) => secrets.reduce((text, secret) => text.includes(secret) ? text.replaceAll(secret, HIDDEN) : text, line);
}
// src/platform/hash.ts
let crypto;
function sha256(content) {
	crypto ??= (0, node_module.createRequire)(require("url").pathToFileURL(__filename).href)("node:crypto");
	if (crypto.hash) return crypto.hash("sha256", content, "hex");
	return crypto.createHash("sha256").update(content).digest("hex");
}
Buffer.alloc(0);
Buffer.alloc(0);
// src/store/journal.ts
const GENESIS = "0".repeat(32);
const MAX_TURN_BYTES = 4194304;
const MAX_TEXT = 4e3;
function createJournal(path, now, redact = (line) => line) {
	let fd = createPrivate(path);
	let { seq, prev } = lastEntry(path);
	let turnBytes = 0;
	let trouble;
	const giveUp = (error) => {
		trouble ??= `${path}: ${errorWords(error)}`;
		if (fd !== void 0) closeQuietly(fd);
		fd = void 0;
	};
	const write = (event) => {
		if (fd === void 0) return;
		const line = redact(JSON.stringify({
			seq: seq + 1,
			at: new Date(now()).toISOString(),
			prev,
			...event
		}));
		try {
			(0, node_fs.writeFileSync)(fd, `${line}\n`);
		} catch (error) {
			cutHalfLine(path);
			return giveUp(error);
		}
		seq++;
		prev = hashOf(line);
		turnBytes += line.length;
	};
	return {
		append(event) {
			if (event.type === "agent-started") turnBytes = 0;
			if (event.type === "run-ended") return write(withoutOutputs(event));
			if (event.type !== "agent") return write(event);
			if (turnBytes > MAX_TURN_BYTES) return;
			write(shortened(event));
			if (turnBytes > MAX_TURN_BYTES) write({
				type: "notice",
				level: "debug",
				text: "The agent prints a great deal: the rest of this turn is only in agent.jsonl."
			});
		},
		flush() {
			if (fd === void 0) return;
			try {
				fd = stillThere(path, fd);
				(0, node_fs.fdatasyncSync)(fd);
			} catch (error) {
				giveUp(error);
			}
		},
		close() {
			if (fd !== void 0) closeQuietly(fd);
			fd = void 0;
		},
		trouble: () => trouble
	};
}
function cutHalfLine(path) {
	try {
		repairTorn(path);
	} catch {}
}
function closeQuietly(fd) {
	try {
		(0, node_fs.closeSync)(fd);
	} catch {}
}
function repairTorn(path) {
	const size = fileSize(path);
	for (let from = size; from > 0;) {
		const start = Math.max(0, from - LAST_LINES);
		const newline = readSlice(path, start, from - start, "latin1").lastIndexOf("\n");
		if (newline !== -1) return cutTo(path, start + newline + 1, size);
		from = start;
	}
	return cutTo(path, 0, size);
}
function cutTo(path, length, size) {
	if (length < size) (0, node_fs.truncateSync)(path, length);
	return size - length;
}
const LAST_LINES = 262144;
function lastEntry(path) {
	const size = fileSize(path);
	if (size === 0) return {
		seq: 0,
		prev: GENESIS
	};
	const text = readSlice(path, Math.max(0, size - LAST_LINES), LAST_LINES);
	if (!text.endsWith("\n")) (0, node_fs.appendFileSync)(path, "\n");
	const whole = text.trimEnd();
	const line = whole.slice(whole.lastIndexOf("\n") + 1);
	return {
		seq: parseEntry(line)?.seq ?? 0,
		prev: hashOf(line)
	};
}
function stillThere(path, fd) {
	const now = (0, node_fs.statSync)(path, { throwIfNoEntry: false });
	if (now?.ino === (0, node_fs.fstatSync)(fd).ino) return fd;
	if (now) (0, node_fs.renameSync)(path, `${path}.replaced`);
	const written = Buffer.alloc((0, node_fs.fstatSync)(fd).size);
	(0, node_fs.readSync)(fd, written, 0, written.length, 0);
	(0, node_fs.closeSync)(fd);
	const fresh = createPrivate(path);
	(0, node_fs.writeFileSync)(fresh, written);
	return fresh;
}
function hashOf(line) {
	return sha256(line).slice(0, 32);
}
function shortened(event) {
	const { event: inner } = event;
	if (inner.kind !== "text" && inner.kind !== "aside" || inner.text.length <= MAX_TEXT) return event;
	return {
		type: "agent",
		event: {
			...inner,
			text: `${inner.text.slice(0, MAX_TEXT)}\u2026`
		}
	};
}
function withoutOutputs({ type, result }) {
	const iterations = result.iterations.map((iteration) => ({
		...iteration,
		checkResults: iteration.checkResults.map((check) => ({
			...check,
			output: ""
		}))
	}));
	return {
		type,
		result: {
			...result,
			iterations
		}
	};
}
function parseEntry(line) {
	try {
		const value = JSON.parse(line);
		return typeof value === "object" && value !== null && "type" in value && "seq" in value && "prev" in value ? value : void 0;
	} catch {
		return;
	}
}
// src/store/session-ledger.ts
function record(root, runId, ...events) {
	const at = Date.now();
	recordLate(root, runId, events.map((event) => ({
		at,
		event
	})));
}
function recordLate(root, runId, happened) {
	if (runId === "") return;
	try {
		let now = 0;
		const path = runPaths(projectPaths(root).runs, runId).events;
		const journal = createJournal(path, () => now, createRedactor(process.env));
		for (const { at, event } of happened) {
			now = at;
			journal.append(event);
		}
		journal.close();
	} catch {}
}
// src/store/tally.ts
function openTally(root, { path, state }, terms) {
	const folder = projectPaths(root).tally(state.sessionId);
	const fresh = (0, node_path.join)(folder, `.new-${process.pid}`);
	const { answer, stops, row, words, tools, guard } = terms;
	ensureFolder(fresh);
	const [before, behind] = answer;
	if (before.length > LONG) writePrivate((0, node_path.join)(fresh, "answer"), before);
	const flags = [
		state.iteration,
		state.blocksInARow,
		stops,
		row,
		words,
		Number(tools),
		GUARD[guard]
	];
	const short = before.length > LONG ? "" : before;
	const lines = [
		(0, node_path.basename)(path),
		terms.prompt,
		flags.join(" "),
		terms.cap,
		terms.quietUntil,
		behind,
		short,
		""
	];
	writePrivate((0, node_path.join)(fresh, "terms"), lines.join("\n"));
	for (const old of (0, node_fs.readdirSync)(folder)) if ((0, node_path.join)(folder, old) !== fresh) remove((0, node_path.join)(folder, old));
	(0, node_fs.renameSync)(fresh, (0, node_path.join)(folder, state.tally));
}
const GUARD = {
	off: 0,
	plain: 1,
	"own-rules": 2
};
const LONG = 1500;
function takeTally(root, sessionId) {
	try {
		take(root, sessionId);
	} catch {}
}
function take(root, sessionId) {
	const file = findSession(root, sessionId);
	if (!file || file.state.tally === "") return;
	const closed = close(projectPaths(root).tally(sessionId), file.state.tally);
	if (closed === void 0) return;
	const { state, happened } = folded(file.state, closed);
	if (state !== file.state) writeSession(file.path, state);
	if (happened.length > 0) recordLate(root, state.runId, happened);
	remove(closed);
}
function hasRefusedStops(root, sessionId) {
	const file = findSession(root, sessionId);
	return file !== void 0 && deedsOf(root, file.state).some((deed) => deed.endsWith(".s"));
}
function deedsOf(root, { sessionId, tally }) {
	return tally === "" ? [] : deedsIn((0, node_path.join)(projectPaths(root).tally(sessionId), tally));
}
function dropTally(root, sessionId) {
	remove(projectPaths(root).tally(sessionId));
}
function remove(path) {
	try {
		for (const entry of (0, node_fs.readdirSync)(path, { withFileTypes: true })) {
			const inner = (0, node_path.join)(path, entry.name);
			if (entry.isDirectory()) remove(inner);
			else (0, node_fs.unlinkSync)(inner);
		}
		(0, node_fs.rmdirSync)(path);
	} catch {}
}
function close(folder, tally) {
	const mine = (0, node_path.join)(folder, `.${tally}.${process.pid}`);
	if (moved((0, node_path.join)(folder, tally), mine)) return mine;
	const theirs = namesIn(folder).find((name) => name.startsWith(`.${tally}.`));
	if (theirs === void 0) return void 0;
	if (isAlive({
		pid: Number(theirs.slice(tally.length + 2)),
		started: ""
	})) {
		for (let look = 0; look < LOOKS && namesIn(folder).includes(theirs); look++) pause(LOOK_EVERY$2);
		return;
	}
	return moved((0, node_path.join)(folder, theirs), mine) ? mine : void 0;
}
const LOOKS = 50;
const LOOK_EVERY$2 = 5;
function pause(milliseconds) {
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
function moved(from, to) {
	try {
		(0, node_fs.renameSync)(from, to);
		return true;
	} catch (error) {
		if (errorCode(error) === "ENOENT") return false;
		throw error;
	}
}
function namesIn(folder) {
	try {
		return (0, node_fs.readdirSync)(folder);
	} catch {
		return [];
	}
}
function deedsIn(folder) {
	return namesIn(folder).filter((name) => /^\d+\.[st]$/.test(name)).sort().map((name) => (0, node_path.join)(folder, name));
}
function folded(before, folder) {
	let state = before;
	const happened = [];
	for (const path of deedsIn(folder)) {
		const { size, mtimeMs } = (0, node_fs.statSync)(path);
		if (path.endsWith(".t")) {
			state = {
				...state,
				toolCalls: state.toolCalls + size,
				blocksInARow: 0
			};
			continue;
		}
		happened.push({
			at: mtimeMs,
			event: refusedStop(state, mtimeMs)
		});
		state = afterBlock(state);
	}
	return {
		state,
		happened
	};
}
function refusedStop(state, at) {
	const evidence = sessionEvidence(state, NO_CLAIM, at);
	return {
		type: "iteration-ended",
		iteration: state.iteration,
		claim: NO_CLAIM,
		verdict: judge(sessionRun(state), evidence),
		usage: evidence.spent.usage
	};
}
// src/domain/problem.ts
function isProblem(value) {
	return typeof value === "object" && value !== null && "where" in value && "what" in value;
}
function closest(word, known) {
	let best;
	let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
	for (const candidate of known) {
		const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
		if (distance < bestDistance) {
			best = candidate;
			bestDistance = distance;
		}
	}
	return best;
}
function editDistance(a, b) {
	let row = Array.from({ length: b.length + 1 }, (_, j) => j);
	for (let i = 1; i <= a.length; i++) {
		const next = [i];
		for (let j = 1; j <= b.length; j++) {
			const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
			next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
		}
		row = next;
	}
	return row[b.length] ?? 0;
}
// src/domain/session-arguments.ts
const FLAGS$1 = [
	"--max-iterations",
	"--completion-promise",
	"--min-tool-calls",
	"--on-promise-no-work",
	"--check"
];
function parseArguments(raw) {
	const { task, values, problems } = takeFlags(raw);
	const last = (flag) => values.findLast(([name]) => name === flag)?.[1];
	const whole = (flag, fallback) => {
		const value = last(flag);
		if (value === void 0) return fallback;
		if (/^\d+$/.test(value) && Number.isSafeInteger(Number(value))) return Number(value);
		problems.push(`${flag} must be a whole number (0: no limit), not ${JSON.stringify(value)}`);
		return fallback;
	};
	const promise = last("--completion-promise");
	if (promise !== void 0 && promise.trim() === "") problems.push("--completion-promise must not be empty");
	const policy = last("--on-promise-no-work") ?? "reject";
	if (!isPolicy(policy)) problems.push(`--on-promise-no-work must be one of ${NO_WORK_POLICIES.join(", ")}, not ${JSON.stringify(policy)}`);
	if (task === "") problems.push("there is no task: /ralph-loop Build a REST API for todos --completion-promise DONE --max-iterations 20");
	return {
		request: {
			task,
			maxIterations: whole("--max-iterations", 0),
			completionPromise: promise ?? null,
			minToolCalls: whole("--min-tool-calls", 1),
			onPromiseNoWork: isPolicy(policy) ? policy : "reject",
			checks: values.flatMap(([name, value]) => name === "--check" ? [value] : [])
		},
		problems
	};
}
function isPolicy(value) {
	return NO_WORK_POLICIES.includes(value);
}
function takeFlags(raw) {
	const values = [];
	const problems = [];
	const pattern = /(^|\s)(--[a-z][a-z-]*)(?:=|\s+|$)/g;
	let task = "";
	let from = 0;
	for (let match = pattern.exec(raw); match; match = pattern.exec(raw)) {
		const name = match[2] ?? "";
		const flag = FLAGS$1.find((each) => each === name);
		if (!flag) {
			const near = closest(name, FLAGS$1);
			if (near) problems.push(`there is no ${name}; did you mean ${near}?`);
			continue;
		}
		const value = readValue(raw, pattern.lastIndex);
		if (value === void 0) {
			problems.push(`${flag} needs a value`);
			task += raw.slice(from, match.index);
			from = pattern.lastIndex;
			continue;
		}
		values.push([flag, value.text]);
		task += raw.slice(from, match.index);
		from = value.end;
		pattern.lastIndex = value.end;
	}
	return {
		task: unquoted((task + raw.slice(from)).trim()),
		values,
		problems
	};
}
function readValue(raw, at) {
	const rest = raw.slice(at);
	const quoted = /^(?:"((?:\\["\\]|[^"\\]|\\)*?)"|'([^']*)')(?=\s|$)/.exec(rest);
	if (quoted) return {
		text: quoted[1] === void 0 ? quoted[2] ?? "" : quoted[1].replace(/\\(["\\])/g, "$1"),
		end: at + quoted[0].length
	};
	const word = /^[^\s]+/.exec(rest)?.[0];
	if (word === void 0 || FLAGS$1.some((flag) => word === flag || word.startsWith(`${flag}=`))) return void 0;
	return {
		text: word,
		end: at + word.length
	};
}
function unquoted(task) {
	const quote = task[0];
	if (task.length < 2 || quote !== "\"" && quote !== "'" || !task.endsWith(quote)) return task;
	const inner = task.slice(1, -1);
	return inner.includes(quote) ? task : inner.trim();
}
// src/hooks/host.ts
const NOTHING = { kind: "nothing" };
function parseObject(text) {
	try {
		const json = JSON.parse(text);
		return typeof json === "object" && json !== null && !Array.isArray(json) ? json : void 0;
	} catch {
		return;
	}
}
const COMMAND = /^\s*[/$](?:ralph:)?(?:source-command-)?(ralph-loop|ulw-loop|cancel-ralph|(?<=ralph:)help)(?:\s+([\s\S]*))?$/;
function commandIn(prompt) {
	const [, commandName = "", rest = ""] = COMMAND.exec(prompt) ?? [];
	return {
		commandName,
		commandArguments: rest.trimEnd()
	};
}
function unescapedNote(text) {
	if (!/[<>&]/.test(text)) return text;
	return `In this text the host has replaced angle brackets and ampersands by HTML entities. Read them as the characters they stand for, and write the tag with real angle brackets.\n\n${text}`;
}
// src/store/run-file.ts
function createRun(project, { command, version, config, now, pid = process.pid, given, owner, task }) {
	ensureFolder(project.runs);
	keepOutOfGit(project);
	const { id, paths } = claimId(project, now);
	const file = {
		id,
		command,
		version,
		cwd: project.root,
		startedAt: new Date(now).toISOString(),
		process: identify(pid) ?? {
			pid,
			started: ""
		},
		config,
		...given && { given },
		...owner !== void 0 && { owner }
	};
	if (task !== void 0) writeAtomic(paths.task, task);
	writeRunFile(paths, file);
	return {
		file,
		paths
	};
}
function writeRunFile(paths, file) {
	writeAtomic(paths.run, `${JSON.stringify(file, null, 2)}\n`);
	syncFolder(paths.folder);
	if (file.command === "session") return;
	ensureFolder((0, node_path.dirname)(paths.live));
	writePrivate(paths.live, "");
}
function keepOutOfGit(project) {
	if (readIfThere(project.gitignore) !== void 0) return;
	writeAtomic(project.gitignore, "# Written by Ralph: what a run leaves behind stays out of git, the settings do not.\n*\n!.gitignore\n!settings.json\n", 420);
}
function claimId(project, now) {
	for (;;) {
		const id = `${new Date(now).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15)}-${Math.floor(now % 1e3).toString(36).padStart(2, "0")}${(0, node_crypto.randomBytes)(1).toString("hex")}`;
		const paths = runPaths(project.runs, id);
		try {
			(0, node_fs.mkdirSync)(paths.folder, { mode: 448 });
			return {
				id,
				paths
			};
		} catch (error) {
			if (errorCode(error) !== "EEXIST") throw error;
		}
	}
}
// src/hooks/ledger.ts
function openRun(root, request, host) {
	const { file } = createRun(projectPaths(root), {
		command: "session",
		version: "",
		config: request,
		now: Date.now(),
		pid: clientPid()
	});
	record(root, file.id, {
		type: "run-started",
		runId: file.id,
		command: "session",
		agent: host,
		maxIterations: request.maxIterations,
		checks: request.checks,
		cwd: root
	});
	return file.id;
}
function clientPid() {
	const told = Number(process.env.CLAUDE_PID);
	return Number.isSafeInteger(told) && told > 0 ? told : process.ppid;
}
// src/hooks/commands.ts
function onCommand(root, { host, prefix }, input) {
	const name = input.commandName.split(":").at(-1);
	switch (name) {
		case "ralph-loop":
		case "ulw-loop": return start(root, host, input, name === "ulw-loop");
		case "cancel-ralph": return refuse(cancelSession(root, input.sessionId));
		case "help": return refuse(HELP.replaceAll("/ralph:", prefix));
		default: return NOTHING;
	}
}
function refuse(message) {
	return {
		kind: "block",
		reason: message,
		message
	};
}
function start(root, host, input, ultrawork) {
	const { request, problems } = parseArguments(input.commandArguments);
	const sleeping = findSession(root, input.sessionId);
	if (input.commandArguments.trim() === "" && sleeping) return wake(sleeping.path, sleeping.state, input);
	if (problems.length > 0) return refuse(`\u274c Ralph loop: not started.\n${problems.map((problem) => `- ${problem}`).join("\n")}`);
	if (sleeping) removeSession(sleeping.path);
	const asked = {
		...request,
		ultrawork
	};
	const state = newState(input, asked, openRun(root, asked, host));
	writeSession(newSessionPath(root, input.sessionId), state);
	return {
		kind: "context",
		context: contract(state),
		message: started(state)
	};
}
function newState(input, request, runId) {
	return {
		...request,
		active: true,
		iteration: 1,
		startedAt: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
		sessionId: input.sessionId,
		promptId: input.promptId,
		toolCalls: 0,
		blocksInARow: 0,
		runId,
		tally: ""
	};
}
function wake(path, state, input) {
	const awake = {
		...state,
		active: true,
		promptId: input.promptId,
		blocksInARow: 0
	};
	writeSession(path, awake);
	return {
		kind: "context",
		context: contract(awake),
		message: `\ud83d\udd04 Ralph loop goes on at iteration ${awake.iteration}.`
	};
}
function started(state) {
	return `\ud83d\udd04 Ralph loop activated in this session!\nIteration: 1\nMax iterations: ${state.maxIterations > 0 ? String(state.maxIterations) : "unlimited"}\nCompletion promise: ${state.completionPromise === null ? "none (runs until the maximum, or /cancel-ralph)" : `${state.completionPromise} (ONLY output when TRUE - do not lie!)`}${state.checks.length > 0 ? `\nChecks: ${state.checks.join(", ")}` : ""}\nTo stop it: /cancel-ralph`;
}
function cancelSession(root, sessionId) {
	takeTally(root, sessionId);
	const file = findSession(root, sessionId);
	if (!file) return "No active Ralph loop found in this session.";
	const { path, state } = file;
	removeSession(path);
	dropTally(root, sessionId);
	record(root, state.runId, {
		type: "notice",
		level: "info",
		text: `Cancelled at iteration ${state.iteration}.`
	});
	return `\ud83d\uded1 Cancelled the Ralph loop (was at iteration ${state.iteration}). The work is kept.`;
}
const HELP = `Ralph loop: keeps this session working until the task is provably done.

/ralph:ralph-loop TASK [--max-iterations N] [--completion-promise TEXT] [--check CMD \u2026] [--min-tool-calls 1] [--on-promise-no-work reject|warn|accept]
/ralph:ulw-loop TASK \u2026      the same, with the ultrawork instruction before every continuation
/ralph:ralph-loop           goes on with a loop that you interrupted
/ralph:cancel-ralph         ends the loop; the work is kept

The agent may go when it outputs <promise>TEXT</promise> to the letter, has called a tool, and every --check passes.
Example: /ralph:ralph-loop Make the tests pass --completion-promise DONE --check "npm test" --max-iterations 20`;
// src/hooks/transcript.ts
const PATIENCE$2 = 1e3;
const LOOK_EVERY$1 = 10;
const WINDOW = 262144;
async function finalWords(input) {
	const told = input.lastWords === null ? [] : [input.lastWords];
	if (input.transcript === null) return told;
	const { transcript, lastWords } = input;
	return (await patiently(PATIENCE$2, () => {
		const last = lastMessage$2(transcript);
		return last && isFinal(last, lastWords) ? last : void 0;
	}))?.texts ?? told;
}
async function patiently(patience, look) {
	for (let waited = 0;; waited += LOOK_EVERY$1) {
		const found = look();
		if (found !== void 0 || waited >= patience) return found;
		await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY$1));
	}
}
function lastRecords(path, window = WINDOW) {
	return lastText(path, window).split("\n").filter((line) => line.startsWith("{")).map(parseObject).filter((record) => record !== void 0);
}
function lastText(path, window = WINDOW) {
	try {
		return readSlice(path, Math.max(0, fileSize(path) - window), window);
	} catch {
		return "";
	}
}
function* backwards(text) {
	for (let end = text.length; end >= 0;) {
		const start = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
		yield text.slice(start, end);
		end = start - 1;
	}
}
function isFinal({ texts, hasToolUse }, lastWords) {
	if (lastWords !== null) return texts.some((text) => text.trim() === lastWords.trim());
	return !hasToolUse;
}
function lastMessage$2(path) {
	let id;
	const texts = [];
	let hasToolUse = false;
	for (const line of backwards(lastText(path))) {
		const message = assistantMessage(line);
		if (!message) continue;
		id ??= message.id;
		if (message.id !== id) break;
		for (const block of [...message.content].reverse()) {
			if (block.type === "text" && typeof block.text === "string") texts.unshift(block.text);
			if (block.type === "tool_use") hasToolUse = true;
		}
	}
	return id === void 0 ? void 0 : {
		texts,
		hasToolUse
	};
}
function assistantMessage(line) {
	if (!line.includes("\"assistant\"")) return void 0;
	try {
		const { type, isSidechain, message } = JSON.parse(line);
		if (type !== "assistant" || isSidechain === true || message?.model === "<synthetic>") return void 0;
		const content = Array.isArray(message?.content) ? message.content : [];
		return {
			id: message?.id,
			content: content.filter((block) => typeof block === "object" && block !== null)
		};
	} catch {
		return;
	}
}
// src/hooks/claude.ts
const DEFAULT_CAP$1 = 8;
const claude = {
	host: "claude",
	prefix: "/ralph:",
	moments: {
		SessionStart: "start",
		UserPromptExpansion: "command",
		UserPromptSubmit: "prompt",
		PreToolUse: "before-tool",
		PostToolBatch: "tools",
		Stop: "stop"
	},
	readInput,
	writeAnswer: writeAnswer$3,
	rootOf: (input, env) => env.CLAUDE_PROJECT_DIR || input.cwd,
	finalWords,
	told: "last",
	promptField: "prompt_id",
	capOf(env) {
		const set = env.CLAUDE_CODE_STOP_HOOK_BLOCK_CAP;
		const blocks = set !== void 0 && /^\d+$/.test(set) ? Number(set) : DEFAULT_CAP$1;
		if (blocks === 0) return void 0;
		return {
			host: "Claude Code",
			blocks,
			toolsReset: true,
			lift: "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 in the environment lifts that."
		};
	}
};
function readInput(text) {
	const input = parseObject(text);
	if (!input) return void 0;
	const string = (key) => typeof input[key] === "string" ? input[key] : "";
	return {
		event: string("hook_event_name"),
		sessionId: string("session_id"),
		promptId: string("prompt_id") || null,
		cwd: string("cwd"),
		transcript: string("transcript_path") || null,
		lastWords: typeof input.last_assistant_message === "string" ? input.last_assistant_message : null,
		pending: list(input.background_tasks).filter(isPending).length,
		inSubagent: string("agent_id") !== "",
		prompt: string("prompt"),
		source: string("source"),
		commandName: string("command_name"),
		commandArguments: string("command_args"),
		toolCalls: Array.isArray(input.tool_calls) ? input.tool_calls.length : 1,
		tool: {
			name: string("tool_name"),
			input: objectOf$1(input.tool_input)
		},
		calledAt: Date.parse(string("timestamp")) || null
	};
}
function objectOf$1(value) {
	return typeof value === "object" && value !== null ? value : {};
}
function list(value) {
	return Array.isArray(value) ? value : [];
}
function isPending(task) {
	if (typeof task !== "object" || task === null) return false;
	const { type, status } = task;
	return type === "subagent" && (status === void 0 || status === "running");
}
function writeAnswer$3(event, answer) {
	switch (answer.kind) {
		case "nothing": return "";
		case "say": return JSON.stringify({ systemMessage: answer.message });
		case "deny": return JSON.stringify({ hookSpecificOutput: {
			hookEventName: event,
			permissionDecision: "deny",
			permissionDecisionReason: answer.reason
		} });
		case "block": {
			const { reason, message, warning } = answer;
			const systemMessage = warning === void 0 ? message : `${message}\n${warning}`;
			return JSON.stringify({
				decision: "block",
				reason,
				systemMessage
			});
		}
		case "context": return JSON.stringify({
			hookSpecificOutput: {
				hookEventName: event,
				additionalContext: answer.context
			},
			...answer.message !== void 0 && { systemMessage: answer.message }
		});
		default: return answer;
	}
}
// src/hooks/codex.ts
const codex = {
	...claude,
	host: "codex",
	prefix: "$",
	moments: {
		SessionStart: "start",
		UserPromptSubmit: "prompt",
		PreToolUse: "before-tool",
		PostToolUse: "tools",
		Stop: "stop"
	},
	readInput(text) {
		const input = readInput(text);
		const turn = parseObject(text)?.turn_id;
		if (!input) return void 0;
		return {
			...input,
			...commandIn(input.prompt),
			promptId: typeof turn === "string" ? turn : null
		};
	},
	writeAnswer(event, answer) {
		if (answer.kind === "nothing" || answer.kind === "deny" || answer.message === void 0) return claude.writeAnswer(event, answer);
		const message = dollars(answer.message);
		if (answer.kind !== "block") return claude.writeAnswer(event, {
			...answer,
			message
		});
		const reason = event === "Stop" ? unescapedNote(answer.reason) : dollars(answer.reason);
		return claude.writeAnswer(event, {
			...answer,
			reason,
			message
		});
	},
	rootOf: (input) => input.cwd,
	finalWords: async ({ lastWords }) => lastWords === null ? [] : [lastWords],
	capOf: () => void 0,
	told: "whole",
	promptField: "turn_id"
};
function dollars(message) {
	return message.replace(/\/(ralph-loop|ulw-loop|cancel-ralph)\b/g, "$$$1");
}
// src/hooks/copilot.ts
const PATIENCE$1 = 5e3;
const CAP = 8;
const copilot = {
	...claude,
	host: "copilot",
	prefix: "/ralph:",
	moments: {
		UserPromptSubmit: "prompt",
		PreToolUse: "before-tool",
		PostToolUse: "tools",
		Stop: "stop"
	},
	readInput(text) {
		const input = readInput(text);
		return input && {
			...input,
			...commandIn(asTyped(input.prompt))
		};
	},
	writeAnswer: writeAnswer$2,
	told: "not",
	async finalWords({ transcript, lastWords, calledAt }) {
		const told = lastWords === null ? [] : [lastWords];
		if (transcript === null) return told;
		return await patiently(PATIENCE$1, () => lastMessage$1(lastRecords(transcript), calledAt)) ?? told;
	},
	capOf: () => ({
		host: "Copilot CLI",
		blocks: CAP,
		toolsReset: true,
		lift: "Nothing lifts that; /ralph:ralph-loop goes on with a loop that it ended."
	})
};
const SKILL = /^The user explicitly invoked the "(\/ralph:[\w-]+)" skill\.[\s\S]*?(?:\nARGUMENTS: ([\s\S]*))?\n<\/skill-context>\s*$/;
function asTyped(prompt) {
	const [, command, rest = ""] = SKILL.exec(prompt) ?? [];
	return command === void 0 ? prompt : `${command} ${rest}`;
}
function writeAnswer$2(event, answer) {
	switch (answer.kind) {
		case "nothing":
		case "say": return "";
		case "deny": return claude.writeAnswer(event, answer);
		case "block": {
			const { reason, warning } = answer;
			return JSON.stringify({
				decision: "block",
				reason: warning === void 0 ? reason : `${reason}\n\n${warning}`
			});
		}
		case "context":
			if (event === "PreToolUse") return claude.writeAnswer(event, answer);
			return JSON.stringify({ modifiedPrompt: answer.context });
		default: return answer;
	}
}
function lastMessage$1(records, calledAt) {
	const call = records.findLastIndex((record) => isStop(record, calledAt));
	if (call < 0) return void 0;
	const message = records.slice(0, call).findLast(isOwnMessage);
	const content = message && data(message).content;
	return typeof content === "string" ? [content] : [];
}
function isStop(record, calledAt) {
	const { hookType, input } = data(record);
	if (record.type !== "hook.start" || hookType !== "agentStop") return false;
	return calledAt === null || input?.timestamp === calledAt;
}
function isOwnMessage(record) {
	return record.type === "assistant.message" && data(record).parentToolCallId === void 0;
}
function data(record) {
	return typeof record.data === "object" && record.data !== null ? record.data : {};
}
// src/hooks/gemini.ts
const PATIENCE = 2e3;
const gemini = {
	...claude,
	host: "gemini",
	prefix: "/",
	moments: {
		BeforeAgent: "prompt",
		BeforeTool: "before-tool",
		AfterTool: "tools",
		AfterAgent: "stop"
	},
	readInput(text) {
		const input = readInput(text);
		return input && {
			...input,
			...commandIn(input.prompt)
		};
	},
	writeAnswer: writeAnswer$1,
	rootOf: (input, env) => env.GEMINI_PROJECT_DIR || input.cwd,
	async finalWords({ transcript }) {
		if (transcript === null) return [];
		return await patiently(PATIENCE, () => lastMessage(lastRecords(transcript))) ?? [];
	},
	capOf: () => void 0,
	told: "not"
};
function writeAnswer$1(event, answer) {
	if (answer.kind === "context") return claude.writeAnswer(event, {
		...answer,
		context: unescapedNote(answer.context)
	});
	if (answer.kind === "deny") return JSON.stringify({
		decision: "deny",
		reason: answer.reason
	});
	if (answer.kind !== "block") return claude.writeAnswer(event, answer);
	const { reason, message, afresh } = answer;
	const isFresh = afresh !== void 0 && process.env.RALPH_CLEAR_CONTEXT === "1";
	return JSON.stringify({
		decision: "deny",
		reason: isFresh ? afresh : reason,
		systemMessage: message,
		...isFresh && { hookSpecificOutput: {
			hookEventName: event,
			clearContext: true
		} }
	});
}
function lastMessage(records) {
	const last = records.findLast((record) => record.type === "gemini" || record.type === "user");
	if (last?.type !== "gemini") return void 0;
	return (Array.isArray(last.content) ? last.content : [last.content]).flatMap((part) => {
		const text = typeof part === "string" ? part : part?.text;
		return typeof text === "string" ? [text] : [];
	});
}
// src/hooks/opencode.ts
const opencode = {
	...claude,
	host: "opencode",
	prefix: "/",
	moments: {
		"chat.message": "prompt",
		"tool.execute.before": "before-tool",
		"tool.execute.after": "tools",
		"text.complete": "peek",
		"step-finish": "stop"
	},
	readInput(text) {
		const input = readInput(text);
		return input && {
			...input,
			...commandIn(input.prompt)
		};
	},
	writeAnswer,
	rootOf: (input) => input.cwd,
	finalWords: async ({ lastWords }) => lastWords === null ? [] : [lastWords],
	capOf: () => void 0,
	told: "not"
};
function writeAnswer(_event, answer) {
	if (answer.kind === "nothing") return "";
	if (answer.kind === "deny") return JSON.stringify(answer);
	const { kind: _kind, ...rest } = answer;
	return JSON.stringify(rest);
}
// src/hooks/qwen.ts
const DEFAULT_CAP = 8;
// src/hooks/dialects.ts
const DIALECTS = [
	claude,
	codex,
	copilot,
	{
		...claude,
		host: "qwen",
		prefix: "/",
		writeAnswer(event, answer) {
			if (answer.kind !== "context") return claude.writeAnswer(event, answer);
			return claude.writeAnswer(event, {
				...answer,
				context: unescapedNote(answer.context)
			});
		},
		finalWords: async ({ lastWords }) => lastWords === null ? [] : [lastWords],
		told: "whole",
		capOf(env) {
			const set = Number(env.QWEN_CODE_STOP_HOOK_BLOCK_CAP);
			return {
				host: "Qwen Code",
				blocks: Number.isSafeInteger(set) && set > 0 ? set : DEFAULT_CAP,
				toolsReset: false,
				lift: "QWEN_CODE_STOP_HOOK_BLOCK_CAP=100 in the environment is the most it allows; /ralph-loop goes on with a loop that it ended."
			};
		}
	},
	gemini,
	opencode
];
function dialectFor(host, stdin, env) {
	const name = host === "auto" ? hostOf(stdin, env) : host;
	return DIALECTS.find((dialect) => dialect.host === name);
}
function hostOf(stdin, env) {
	const input = parseObject(stdin) ?? {};
	if (env.QWEN_CODE_SESSION_ID && env.QWEN_CODE_SESSION_ID === input.session_id) return "qwen";
	const root = env.CLAUDE_PLUGIN_ROOT;
	if (root && env.COPILOT_PLUGIN_ROOT === root) return "copilot";
	if (root && env.PLUGIN_ROOT === root && typeof input.turn_id === "string") return "codex";
	return "claude";
}
// src/domain/context-alert.ts
const NOTICE = "Be mindful of remaining space. Plan to finish your current task within this session. If you discover follow-up work, add new stories to tasks.json \u2014 the next iteration will pick them up.";
const WARNING = "Finish your current task and commit soon. Do not start additional tasks. If work remains, create new stories in tasks.json for the next iteration and capture any implementation details or insights in progress.txt so the next iteration has full context.";
const THRESHOLDS = [
	{
		percent: 50,
		level: "NOTICE",
		text: NOTICE
	},
	{
		percent: 60,
		level: "NOTICE",
		text: NOTICE
	},
	{
		percent: 70,
		level: "WARNING",
		text: WARNING
	},
	{
		percent: 80,
		level: "WARNING",
		text: WARNING
	},
	{
		percent: 90,
		level: "CRITICAL",
		text: "Wrap up immediately. Do NOT start new work. Instead: (1) create tasks in tasks.json for any remaining work, (2) write implementation details, insights, and handoff notes to progress.txt, (3) commit all changes, (4) stop. The next iteration will continue from where you left off."
	}
];
const FRESH = { told: 0 };
function contextAlert({ used, window }, { told }) {
	const percent = window > 0 ? used / window * 100 : 0;
	const reached = THRESHOLDS.findLast((threshold) => percent >= threshold.percent);
	if (!reached) return { state: FRESH };
	if (reached.percent <= told) return { state: { told } };
	const full = `${Math.floor(percent)}% full (${thousands(used)} of ${thousands(window)} tokens)`;
	return {
		state: { told: reached.percent },
		alert: `[${reached.level}] Your context is about ${full}. ${reached.text}`
	};
}
function tokensUntilAlert({ used, window }, { told }) {
	const [lowest] = THRESHOLDS;
	return told > 0 || !lowest ? 0 : Math.max(0, lowest.percent / 100 * window - used);
}
function thousands(tokens) {
	return tokens < 1e3 ? String(tokens) : `${Math.round(tokens / 1e3)}k`;
}
const USUAL_WINDOW = 2e5;
const WINDOWS$1 = [
	[/\[1m\]/i, 1e6],
	[/^claude-(?:fable|opus|sonnet|haiku)-(?:[5-9]|\d\d)/, 1e6],
	[/^claude/, 2e5],
	[/^gemini/, 1048576],
	[/^gpt-4\.1/, 1047576],
	[/^gpt-[5-9]/, 4e5],
	[/^qwen3?-coder/, 262144]
];
function windowOf(model) {
	return WINDOWS$1.find(([pattern]) => pattern.test(model))?.[1] ?? USUAL_WINDOW;
}
// src/hooks/context.ts
function watchContext(orders, stateFile, input) {
	if (input.inSubagent || input.transcript === null) return NOTHING;
	const use = contextUse(input.transcript, orders.window);
	if (!use) return NOTHING;
	const before = readState(stateFile);
	const { state, alert } = contextAlert(use, before);
	if (state.told !== before.told) {
		ensureFolder((0, node_path.dirname)(stateFile));
		writeAtomic(stateFile, JSON.stringify(state));
	}
	return alert === void 0 ? NOTHING : {
		kind: "context",
		context: alert
	};
}
function quietUntil(orders, stateFile, transcript) {
	const use = contextUse(transcript, orders.window);
	const tokens = use ? tokensUntilAlert(use, readState(stateFile)) : 0;
	return tokens > 0 ? sizeOf(transcript) + Math.floor(tokens / 2) : void 0;
}
function rearm(stateFile) {
	try {
		(0, node_fs.rmSync)(stateFile, { force: true });
	} catch {}
}
function readState(path) {
	const told = parseObject(readIfThere(path) ?? "")?.told;
	return typeof told === "number" ? { told } : FRESH;
}
const WINDOWS = [262144, 4194304];
function contextUse(transcript, configured) {
	for (const bytes of WINDOWS) {
		const found = lastRecords(transcript, bytes).findLast((record) => usedIn(record) !== void 0);
		const use = found && usedIn(found);
		if (use) return {
			used: use.used,
			window: configured ?? use.window
		};
	}
	const size = sizeOf(transcript);
	return size > 0 ? {
		used: Math.round(size / 4),
		window: configured ?? windowOf("")
	} : void 0;
}
function sizeOf(path) {
	try {
		return fileSize(path);
	} catch {
		return 0;
	}
}
function usedIn(record) {
	return claudeUse(record) ?? codexUse(record) ?? geminiUse(record) ?? qwenUse(record);
}
function claudeUse({ type, isSidechain, message }) {
	const { usage, model } = objectOf(message);
	if (type !== "assistant" || isSidechain === true || model === "<synthetic>" || !usage) return void 0;
	const used = sum(objectOf(usage), "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens");
	return used > 0 ? {
		used,
		window: windowOf(text$1(model))
	} : void 0;
}
function codexUse({ payload }) {
	const { type, info } = objectOf(payload);
	const { last_token_usage: last, model_context_window: window } = objectOf(info);
	if (type !== "token_count") return void 0;
	const used = sum(objectOf(last), "input_tokens", "output_tokens");
	return used > 0 ? {
		used,
		window: typeof window === "number" && window > 0 ? window : windowOf("gpt-5")
	} : void 0;
}
function geminiUse({ type, tokens, model }) {
	const used = type === "gemini" ? sum(objectOf(tokens), "input", "output", "thoughts") : 0;
	return used > 0 ? {
		used,
		window: windowOf(text$1(model) || "gemini")
	} : void 0;
}
function qwenUse({ usageMetadata, model, contextWindowSize }) {
	const used = sum(objectOf(usageMetadata), "promptTokenCount", "candidatesTokenCount");
	const window = typeof contextWindowSize === "number" ? contextWindowSize : windowOf(text$1(model));
	return used > 0 ? {
		used,
		window
	} : void 0;
}
function objectOf(value) {
	return typeof value === "object" && value !== null ? value : {};
}
function text$1(value) {
	return typeof value === "string" ? value : "";
}
function sum(counts, ...keys) {
	return keys.reduce((total, key) => total + (typeof counts[key] === "number" ? counts[key] : 0), 0);
}
// src/platform/code-cache.ts
function loadWithCache(file, name, env) {
	const cache = (0, node_path.join)(folderOf(env), `${name}@${keyOf(file)}.bin`);
	const cachedData = readOwn(cache);
	const source = `(function (exports, require, module, __filename, __dirname) {${(0, node_fs.readFileSync)(file, "latin1")}\n})`;
	const script = new node_vm.Script(source, {
		filename: file,
		...cachedData && { cachedData }
	});
	const module = { exports: {} };
	script.runInThisContext()(module.exports, (0, node_module.createRequire)(file), module, file, (0, node_path.dirname)(file));
	if (!cachedData || script.cachedDataRejected) process.once("exit", () => keep(cache, name, script));
	return module.exports;
}
function folderOf({ RALPH_CACHE_DIR, XDG_CACHE_HOME }) {
	return RALPH_CACHE_DIR || (0, node_path.join)(XDG_CACHE_HOME || (0, node_path.join)((0, node_os.homedir)(), ".cache"), "ralph");
}
function keyOf(file) {
	const { size, mtimeMs } = (0, node_fs.statSync)(file);
	return [
		process.version,
		process.arch,
		size,
		Math.trunc(mtimeMs)
	].join("-");
}
function readOwn(path) {
	try {
		const { uid, mode } = (0, node_fs.statSync)(path);
		return process.getuid === void 0 || uid === process.getuid() && (mode & 18) === 0 ? (0, node_fs.readFileSync)(path) : void 0;
	} catch {
		return;
	}
}
function keep(path, name, script) {
	try {
		const folder = (0, node_path.dirname)(path);
		ensureFolder(folder);
		writeAtomic(path, script.createCachedData());
		for (const other of (0, node_fs.readdirSync)(folder)) if (other.startsWith(`${name}@`) && (0, node_path.join)(folder, other) !== path) (0, node_fs.rmSync)((0, node_path.join)(folder, other), { force: true });
	} catch {}
}
// src/platform/package.ts
function rootAbove(file) {
	for (let folder = (0, node_path.dirname)(file);; folder = (0, node_path.dirname)(folder)) {
		if (readIfThere((0, node_path.join)(folder, ".claude-plugin/marketplace.json")) !== void 0) return folder;
		if (folder === (0, node_path.dirname)(folder)) return void 0;
	}
}
let root;
function hookProgram() {
	root ??= rootAbove(__filename);
	return root && (0, node_path.join)(root, "plugins/claude/bin/ralph-hook.cjs");
}
// src/hooks/tool-call.ts
const SHELL = /bash|shell|exec|terminal|command|powershell|^run_|_run$/i;
const WRITES = /write|edit|create|replace|patch|notebook|delete|remove|move|rename|insert/i;
const READS = /read|view|cat|open_file/i;
function toolUses({ name, input }) {
	const patch = textAt(input, "patch", "patchText", "input") ?? "";
	const patched = patch.startsWith("*** Begin Patch") ? patchedFiles(patch) : [];
	const command = input.command ?? input.cmd ?? input.script;
	if (typeof command === "string" && command.startsWith("*** Begin Patch")) return patchedFiles(command);
	if (command !== void 0 && (SHELL.test(name) || !hasPath(input))) return [{
		kind: "shell",
		command: commandText(command)
	}];
	const path = textAt(input, ...PATHS);
	if (path === void 0) return patched;
	if (WRITES.test(name)) return [...patched, {
		kind: "write",
		path
	}];
	return READS.test(name) ? [...patched, {
		kind: "read",
		path
	}] : patched;
}
const PATHS = [
	"file_path",
	"filePath",
	"path",
	"notebook_path",
	"absolute_path",
	"target_file",
	"filename"
];
const hasPath = (input) => textAt(input, ...PATHS) !== void 0;
function textAt(input, ...keys) {
	const found = keys.map((key) => input[key]).find((value) => typeof value === "string");
	return typeof found === "string" ? found : void 0;
}
function commandText(command) {
	if (typeof command === "string") return command;
	if (Array.isArray(command) && command.every((word) => typeof word === "string")) return command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
	throw new Error("its command is no text");
}
function patchedFiles(patch) {
	return [...patch.matchAll(/^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/gm)].map((found) => ({
		kind: "write",
		path: (found[1] ?? "").trim()
	}));
}
// src/hooks/guard.ts
function guard(orders, root, input) {
	try {
		return judged(orders, root, input);
	} catch (error) {
		return refusal([`this call could not be judged (${error instanceof Error ? error.message : String(error)}). Try it in another way.`]);
	}
}
function refusal(refused) {
	return {
		answer: {
			kind: "deny",
			reason: `Ralph's guard refused this: ${refused.join(" ")}`
		},
		refused,
		warned: []
	};
}
function judged(orders, root, { tool, cwd }) {
	const uses = toolUses(tool);
	if (uses.length === 0) return {
		answer: NOTHING,
		refused: [],
		warned: []
	};
	const { judgeCommand, judgeRead, judgeWrite, sentenceOf } = loadGuard();
	const world = worldOf(orders, root, cwd);
	const findings = uses.flatMap((use) => {
		if (use.kind === "shell") return judgeCommand(use.command, world);
		return use.kind === "write" ? judgeWrite(use.path, world) : judgeRead(use.path, world);
	});
	const refused = findings.filter(({ tier }) => tier === "block").map(sentenceOf);
	const warned = findings.filter(({ tier }) => tier === "warn").map(sentenceOf);
	if (refused.length > 0) return {
		...refusal(refused.slice(0, MOST_TOLD)),
		warned
	};
	if (warned.length === 0) return {
		answer: NOTHING,
		refused,
		warned
	};
	return {
		answer: {
			kind: "context",
			context: `Ralph's guard let this pass, with a warning: ${warned.slice(0, MOST_TOLD).join(" ")}`
		},
		refused,
		warned
	};
}
const MOST_TOLD = 2;
let loaded;
function loadGuard() {
	const name = "ralph-guard.cjs";
	const beside = (0, node_path.join)(__dirname, name);
	const file = (0, node_fs.statSync)(beside, { throwIfNoEntry: false })?.isFile() === true ? beside : (0, node_path.join)((0, node_path.dirname)(hookProgram() ?? beside), name);
	loaded ??= loadWithCache(file, "guard", process.env);
	return loaded;
}
function worldOf({ allow, deny, protect }, given, cwd) {
	const root = rootOf(given, cwd);
	const { env } = process;
	return {
		root,
		cwd: cwd || root,
		home: env.HOME || (0, node_os.homedir)(),
		env,
		protect,
		allow,
		deny,
		readScript
	};
}
function rootOf(root, cwd) {
	return [root, realName(root)].find((name) => cwd === name || cwd.startsWith(`${name}/`)) ?? root;
}
function realName(path) {
	try {
		return (0, node_fs.realpathSync)(path);
	} catch {
		return path;
	}
}
const LONGEST_SCRIPT = 262144;
function readScript(path, cwd) {
	const file = (0, node_path.resolve)(cwd ?? ".", path);
	const found = (0, node_fs.statSync)(file, { throwIfNoEntry: false });
	if (!found?.isFile() || found.size > LONGEST_SCRIPT) return void 0;
	const text = (0, node_fs.readFileSync)(file, "utf8");
	const [, interpreter] = /^#!\s*(\S.*)/.exec(text) ?? [];
	if (text.includes("\0") || interpreter !== void 0 && !/\b(?:ba|z|da|k|a)?sh\b/.test(interpreter)) return void 0;
	return text;
}
// src/hooks/session-duties.ts
function onTool(root, input) {
	const settings = hookSettings(root).guard;
	const state = findSession(root, input.sessionId)?.state;
	if (!(settings.enabled === "auto" ? state?.active === true : settings.enabled)) return NOTHING;
	const { answer, refused, warned } = guard(settings, root, input);
	const events = [...refused.map((what) => ({
		type: "violation",
		violation: {
			what,
			restored: true,
			refused: true
		}
	})), ...warned.map((text) => ({
		type: "notice",
		level: "warning",
		text: `Guard: ${text}`
	}))];
	if (events.length > 0) {
		takeTally(root, input.sessionId);
		record(root, state?.runId ?? "", ...events);
	}
	return answer;
}
function watchSession(root, input) {
	const { monitor } = hookSettings(root);
	if (monitor.enabled !== true) return NOTHING;
	return watchContext(monitor, projectPaths(root).contextAlerts(input.sessionId), input);
}
function monitorIsQuietUntil(root, { sessionId, transcript }) {
	const { monitor } = hookSettings(root);
	if (!monitor.enabled) return Number.POSITIVE_INFINITY;
	if (transcript === null) return 0;
	return quietUntil(monitor, projectPaths(root).contextAlerts(sessionId), transcript) ?? 0;
}
function rearmSession(root, { sessionId }) {
	rearm(projectPaths(root).contextAlerts(sessionId));
}
function hookSettings(root) {
	const { settings, localSettings } = projectPaths(root);
	const layers = [settings, localSettings].map((path) => parseObject(readable(path)) ?? {});
	const guard = Object.assign({}, ...layers.map((layer) => layer.guard));
	const monitor = Object.assign({}, ...layers.map((layer) => layer.contextMonitor));
	return {
		guard: {
			enabled: guard.enabled === true || guard.enabled === false ? guard.enabled : "auto",
			allow: texts$1(guard.allow),
			deny: texts$1(guard.deny),
			protect: texts$1(layers.findLast((layer) => layer.protect !== void 0)?.protect)
		},
		monitor: {
			enabled: monitor.enabled === true,
			...typeof monitor.window === "number" && { window: monitor.window }
		}
	};
}
function readable(path) {
	try {
		return readIfThere(path) ?? "";
	} catch {
		return "";
	}
}
function texts$1(value) {
	return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
// src/domain/feedback.ts
const ENDED_SENTENCES = {
	"idle-timeout": "Your last turn was ended because it printed nothing for too long. Avoid commands that wait or never return.",
	"iteration-timeout": "Your last turn was ended because it took too long. What you did is kept; work in smaller steps.",
	"max-time": "Your last turn was ended because the time is up.",
	"max-cost": "Your last turn was ended because the budget is spent.",
	"max-tokens": "Your last turn was ended because the token budget is spent.",
	interrupt: "Your last turn was interrupted. What it did is still in the files."
};
const NEAR_MISS_SENTENCES = {
	"other-text": "Your completion tag held something else",
	case: "Your completion tag was in the wrong case",
	spaces: "Your completion tag had the wrong spaces in it",
	unclosed: "You opened the completion tag and did not close it",
	quoted: "You only quoted the completion tag, in backticks"
};
function feedbackSentence(feedback, marker) {
	switch (feedback.kind) {
		case "check-failed": return;
		case "violation": {
			const { what, restored, refused, isSentence } = feedback.violation;
			if (refused) return `You were refused: ${what}`;
			const undone = restored ? "It has been undone." : "Undo it.";
			if (isSentence) return `${what} ${undone}`;
			return `You changed something that is not yours to change: ${what}. ${undone}`;
		}
		case "denied": return deniedSentence(feedback.what);
		case "turn-ended": return ENDED_SENTENCES[feedback.by];
		case "turn-failed": return `Your last turn broke off: ${feedback.trouble.message}${smallerSteps(feedback.trouble)}`;
		case "near-miss": return `${NEAR_MISS_SENTENCES[feedback.nearMiss]}. Write it exactly so when you are done: ${marker}`;
		case "claim-missing": return `Every check passes, but you did not say that you are done. If the whole task is complete, say ${marker}; if not, go on.`;
		case "claim-unproven": return "You said that you were done, but the checks below fail. That claim was not accepted.";
		case "no-work": return "You said that you were done, but called no tool and changed no file. Do the work first.";
		case "stories-open": return `You said that everything is complete, but these stories are not done: ${feedback.ids.join(", ")}. That claim was not accepted.`;
		case "story-missing": return feedback.message;
		case "uncommitted": return `The last iteration left uncommitted changes: ${someOf(feedback.paths)}. Look at them, and commit them with your work if they belong to it.`;
		case "stuck": return `The same failure has now come back ${feedback.repeats} times and no file changed. What you are doing does not work: find the cause and try something else, or say <blocked>why</blocked>.`;
		case "standstill": return standstillAdvice(feedback.standstill);
		default: return feedback;
	}
}
function smallerSteps(trouble) {
	if (trouble.class !== "context-overflow") return "";
	return "\nYour context was full. What you did is kept; work in smaller steps and read less at a time.";
}
const MOST_DENIALS = 5;
const LONGEST_DENIAL = 200;
function deniedSentence(what) {
	const told = what.slice(0, MOST_DENIALS).map((each) => each.replace(/\s+/g, " ").slice(0, LONGEST_DENIAL));
	const more = what.length > told.length ? `; and ${what.length - told.length} more` : "";
	return `The sandbox stopped this in the last turn or its checks, and will stop it again: ${told.join("; ")}${more}.`;
}
function uncommittedReason(paths) {
	return [
		`There are uncommitted changes: ${someOf(paths)}. Before you stop:`,
		"  1. Update progress.txt with what was accomplished and what was learnt.",
		"  2. Consider whether any lasting pattern belongs in CLAUDE.md or .claude/rules/.",
		"  3. Commit ALL changes, progress.txt and tasks.json included."
	].join("\n");
}
const SHOWN$1 = 8;
function someOf(names) {
	const more = names.length > SHOWN$1 ? ` and ${names.length - SHOWN$1} more` : "";
	return `${names.slice(0, SHOWN$1).join(", ")}${more}`;
}
// src/domain/loop-prompt.ts
function failureSection(check) {
	const how = check.timedOut ? `Timeout after ${check.duration.toFixed(1)} s` : check.exitCode === 127 ? "exit code 127: there is no such command" : `exit code ${check.exitCode}`;
	const cut = check.outputCut ? "[the beginning is cut] \u2026\n" : "";
	return `### \`${check.command}\` failed (${how})\n${fenced(`${cut}${check.output}`, "")}`;
}
function fenced(text, language) {
	const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((run) => run[0].length));
	const fence = "`".repeat(longest + 1);
	return `${fence}${language}\n${text.endsWith("\n") ? text : `${text}\n`}${fence}`;
}
// src/platform/clock.ts
const systemClock = {
	now: () => Date.now(),
	ticks: () => Number(process.hrtime.bigint()) / 1e6
};
function secondsSince(clock, ticks) {
	return Math.round(clock.ticks() - ticks) / 1e3;
}
// src/platform/follow.ts
const LOOK_EVERY = 100;
const PAGE = 65536;
const PAGES_AT_ONCE = 64;
function followFile(path, onChunk) {
	const fd = (0, node_fs.openSync)(path, "r");
	const page = Buffer.allocUnsafeSlow(PAGE);
	let position = 0;
	let next;
	const wasEmptied = () => {
		if ((0, node_fs.fstatSync)(fd).size >= position) return false;
		position = 0;
		return true;
	};
	const read = () => {
		for (let pages = 0; pages < PAGES_AT_ONCE; pages++) {
			const bytes = (0, node_fs.readSync)(fd, page, 0, PAGE, position);
			if (bytes === 0 && !wasEmptied()) return false;
			position += bytes;
			if (bytes > 0) onChunk(page.subarray(0, bytes));
		}
		return true;
	};
	const look = () => {
		if (next) return;
		if (read()) next = setImmediate(() => {
			next = void 0;
			look();
		});
	};
	const watching = watchFile(path, look, LOOK_EVERY);
	return { async end() {
		watching.close();
		if (next) clearImmediate(next);
		while (read()) await new Promise((resolve) => setImmediate(resolve));
		(0, node_fs.closeSync)(fd);
	} };
}
function watchFile(path, look, every) {
	const watcher = watchIfPossible(path, look);
	const timer = setInterval(look, every);
	return { close() {
		watcher?.close();
		clearInterval(timer);
	} };
}
function watchIfPossible(path, look) {
	try {
		return (0, node_fs.watch)(path, look).on("error", () => {});
	} catch {
		return;
	}
}
// src/platform/shell.ts
function shellCommand(command) {
	return process.platform === "win32" ? [
		"cmd",
		"/d",
		"/s",
		"/c",
		command
	] : [
		"/bin/sh",
		"-c",
		command
	];
}
function joinWords(words) {
	return words.map((word) => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}
// src/platform/watchdog.ts
const SCRIPT = `
mark=$1; groups=
while read -r word; do [ "$word" = bye ] && exit 0; done
while read -r pid undo; do
  [ "$pid" = end ] && break
  groups="$groups $pid"; sh -c "$undo" &
done <&3
end() {
  for group in $groups; do kill -s "$1" -- "-$group"; done
  for file in /proc/[0-9]*/environ; do
    if grep -q "$mark" "$file"; then pid=\${file#/proc/}; kill -s "$1" "\${pid%/environ}"; fi
  done
} 2>/dev/null
end TERM; sleep 1; end KILL; wait
`;
function startWatchdog(mark) {
	if (process.platform === "win32") return {
		watch() {},
		release() {}
	};
	const list = createList();
	const shell = (0, node_child_process.spawn)("sh", [
		"-c",
		SCRIPT,
		"ralph-watchdog",
		mark
	], {
		detached: true,
		stdio: [
			"pipe",
			"ignore",
			"ignore",
			list.fd ?? "ignore"
		],
		cwd: "/",
		env: { PATH: process.env.PATH }
	});
	keepQuiet(shell);
	process.once("exit", () => shell.stdin?.write("bye\n"));
	const groups = new Map();
	return {
		watch(pid, undo = []) {
			groups.set(pid, `${pid} ${joinWords(undo)}\n`);
			list.write([...groups.values()].join(""));
		},
		release(pid) {
			if (groups.delete(pid)) list.write([...groups.values()].join(""));
		}
	};
}
const LONGEST = 16384;
const END = "end\n";
function createList() {
	let fd;
	try {
		const path = (0, node_path.join)((0, node_os.tmpdir)(), `ralph-watchdog-${process.pid}-${Date.now()}`);
		fd = (0, node_fs.openSync)(path, "wx+", 384);
		(0, node_fs.rmSync)(path);
		(0, node_fs.writeSync)(fd, `${END}${"\n".repeat(LONGEST)}`, 0);
	} catch {}
	return {
		fd,
		write(lines) {
			if (fd === void 0) return;
			try {
				(0, node_fs.writeSync)(fd, `${lines}${END}`, 0);
			} catch {}
		}
	};
}
function keepQuiet(shell) {
	shell.unref();
	shell.on("error", () => {});
	const pipe = shell.stdin;
	pipe?.on("error", () => {});
	pipe?.unref?.();
}
// src/platform/spawn.ts
function spawnOwned(spec, onActivity) {
	const mark = nextMark();
	const onStdout = listener(spec.stdout, onActivity);
	const file = onStdout && spec.throughFile !== void 0 ? createPrivate(spec.throughFile) : void 0;
	let child;
	try {
		child = spawnInGroup(spec, mark, file);
	} catch (error) {
		return { code: errorCode(error) ?? String(error) };
	} finally {
		if (file !== void 0) (0, node_fs.closeSync)(file);
	}
	const { pid } = child;
	const follower = onStdout && spec.throughFile !== void 0 ? followFile(spec.throughFile, onStdout) : void 0;
	if (onStdout) child.stdout?.on("data", onStdout);
	if (typeof spec.stderr === "function") child.stderr?.on("data", spec.stderr);
	for (const stream of child.stdio) stream?.on("error", ignore);
	if (spec.input !== void 0) child.stdin?.end(spec.input);
	watchdog ??= startWatchdog(`${ownerName()}=`);
	if (pid !== void 0) watchdog.watch(pid, spec.undo);
	return {
		child,
		mark,
		async finish() {
			await follower?.end();
			await Promise.all([drained(child.stdout), drained(child.stderr)]);
			for (const pipe of [child.stdout, child.stderr]) pipe?.removeAllListeners("data");
			if (pid !== void 0) watchdog?.release(pid);
		}
	};
}
function ignore() {}
function ownerName() {
	owner ??= `RALPH_OWNER_${(0, node_crypto.randomBytes)(6).toString("hex")}`;
	return owner;
}
let owner;
let marks = 0;
const nextMark = () => `${ownerName()}=${++marks}`;
let watchdog;
function listener(sink, onActivity) {
	if (typeof sink === "number") return void 0;
	return (chunk) => {
		onActivity();
		sink(chunk);
	};
}
function spawnInGroup(spec, mark, file) {
	const [command, ...args] = spec.argv;
	const [name = "", value = ""] = mark.split("=");
	return (0, node_child_process.spawn)(command, args, {
		cwd: spec.cwd,
		env: {
			[name]: value,
			...spec.env
		},
		detached: true,
		windowsHide: true,
		stdio: [
			spec.input === void 0 ? "ignore" : "pipe",
			typeof spec.stdout === "number" ? spec.stdout : file ?? "pipe",
			typeof spec.stderr === "number" ? spec.stderr : "pipe"
		]
	});
}
const DRAIN = 250;
async function drained(pipe) {
	if (!pipe || pipe.closed) return;
	await new Promise((resolve) => {
		const timer = setTimeout(() => resolve(), DRAIN);
		pipe.on("data", () => timer.refresh());
		pipe.once("close", () => {
			clearTimeout(timer);
			resolve();
		});
	});
	pipe.destroy();
}
// src/platform/process.ts
const GRACE = 5e3;
const LEFTOVER_GRACE = 500;
async function startConfined(confinement, spec) {
	if (!confinement) return startProcess(spec);
	const confined = await confinement.wrap(spec);
	return "code" in confined ? notStarted(confined.code) : startProcess({
		...spec,
		...confined
	});
}
function startProcess(spec) {
	const began = systemClock.ticks();
	const timers = createTimers();
	const started = spawnOwned(spec, timers.active);
	if ("code" in started) return notStarted(started.code);
	const { child, mark } = started;
	const { pid } = child;
	let endedBy;
	let victims = [];
	let killTimer;
	const stop = (why, how = "gently") => {
		if (pid === void 0 || child.exitCode !== null || child.signalCode !== null) return;
		if (endedBy === void 0) victims = descendants(pid);
		endedBy ??= why;
		if (how === "at-once") return killAll(pid, victims);
		ask(pid, spec);
		killTimer ??= setTimeout(() => killAll(pid, victims), spec.grace ?? GRACE);
	};
	timers.start(spec, stop);
	return {
		pid,
		stop,
		done: ended(child).then(async (end) => {
			clearTimeout(killTimer);
			timers.clear();
			if (pid === void 0) return {
				end,
				leftBehind: 0
			};
			if (spec.undo && (endedBy !== void 0 || end.kind === "signalled")) await finished(spec.undo);
			const leftBehind = await reap({
				...spec,
				pid,
				mark,
				victims,
				began,
				hurry: endedBy !== void 0
			});
			await started.finish();
			return {
				end,
				leftBehind,
				...endedBy !== void 0 && { endedBy }
			};
		})
	};
}
function notStarted(code) {
	const end = {
		kind: "not-started",
		code
	};
	return {
		pid: void 0,
		stop() {},
		done: Promise.resolve({
			end,
			leftBehind: 0
		})
	};
}
function ask(pid, { inside, stopSignal = "SIGTERM" }) {
	const confined = inside === void 0 ? [] : marked(inside, pid);
	const [first] = confined;
	if (!first) {
		signalGroup(pid, stopSignal);
		signalGroup(pid, "SIGCONT");
		return;
	}
	const group = groupOf(first);
	for (const each of confined.filter((other) => groupOf(other) === group)) {
		signal(each.pid, stopSignal);
		signal(each.pid, "SIGCONT");
	}
}
function finished([command, ...args]) {
	return new Promise((resolve) => {
		const child = (0, node_child_process.spawn)(command, args, {
			stdio: "ignore",
			timeout: UNDO_TIME
		});
		child.once("error", () => resolve());
		child.once("exit", () => resolve());
	});
}
const UNDO_TIME = 2e4;
function createTimers() {
	let total;
	let idle;
	return {
		start({ timeout, idleTimeout }, stop) {
			if (timeout) total = setTimeout(() => stop("timeout"), timeout);
			if (idleTimeout) idle = setTimeout(() => stop("idle-timeout"), idleTimeout);
		},
		active: () => void idle?.refresh(),
		clear() {
			clearTimeout(total);
			clearTimeout(idle);
		}
	};
}
function ended(child) {
	return new Promise((resolve) => {
		child.once("error", (error) => {
			if (child.pid === void 0) resolve({
				kind: "not-started",
				code: errorCode(error) ?? error.message
			});
		});
		child.once("exit", (code, signal) => {
			resolve(signal ? {
				kind: "signalled",
				signal
			} : {
				kind: "exited",
				code: code ?? 0
			});
		});
	});
}
async function reap({ pid, mark, inside, victims, began, hurry }) {
	if (isLatest(pid)) return 0;
	const youngerThan = systemClock.ticks() - began < 1e4 ? pid : void 0;
	const survivors = () => unique([...marked(mark, youngerThan), ...victims.filter(isAlive)]);
	if (inside !== void 0) await gone(() => survivors().length > 0, LEFTOVER_GRACE);
	const first = survivors();
	if (first.length === 0 && !groupIsAlive(pid)) return 0;
	if (!hurry) {
		signalGroup(pid, "SIGTERM");
		for (const { pid: each } of first) signal(each, "SIGTERM");
		await gone(() => first.some(isAlive) || groupIsAlive(pid), LEFTOVER_GRACE);
	}
	for (let look = 0, left = survivors(); look < 20 && (left.length > 0 || groupIsAlive(pid)); left = survivors(), look++) {
		killAll(pid, left);
		await gone(() => left.some(isAlive), LEFTOVER_GRACE);
	}
	return Math.max(first.length, 1);
}
async function gone(isThere, within) {
	const until = systemClock.ticks() + within;
	while (isThere() && systemClock.ticks() < until) await new Promise((resolve) => setTimeout(resolve, 5));
}
function killAll(pid, others) {
	signalGroup(pid, "SIGKILL");
	for (const other of others) if (isAlive(other)) signal(other.pid, "SIGKILL");
}
function signalGroup(pid, name) {
	if (process.platform !== "win32") signal(-pid, name);
	else if (name !== "SIGCONT") (0, node_child_process.spawn)("taskkill", [
		"/pid",
		String(pid),
		"/t",
		"/f"
	], { stdio: "ignore" }).on("error", () => {});
}
function signal(pid, name) {
	try {
		process.kill(pid, name);
	} catch {}
}
function unique(processes) {
	return [...new Map(processes.map((each) => [each.pid, each])).values()];
}
// src/checks/excerpt.ts
const BYTES = 4;
function excerptOf(path, { chars, from }) {
	const size = fileSize(path);
	const bytes = Math.min(size, chars * BYTES);
	const text = readSlice(path, from === "head" ? 0 : size - bytes, bytes);
	if (bytes === size && text.length <= chars) return {
		text,
		cut: false
	};
	return {
		text: from === "head" ? head(text, chars) : tail(text, chars),
		cut: true
	};
}
function head(text, chars) {
	return text.slice(0, isHighSurrogate(text.charCodeAt(chars - 1)) ? chars - 1 : chars);
}
function tail(text, chars) {
	const from = Math.max(0, text.length - chars);
	return text.slice(isHighSurrogate(text.charCodeAt(from - 1)) ? from + 1 : from).replace(/^\uFFFD{1,3}/, "");
}
function isHighSurrogate(unit) {
	return unit >= 55296 && unit <= 56319;
}
// src/checks/run-checks.ts
async function runChecks(round) {
	const slugs = slugsOf(round.checks.map(({ command }) => command));
	if (round.checks.length > 0) ensureFolder(round.paths.checks);
	const one = async (check, index) => {
		if (round.stopping.aborted) return void 0;
		round.emit({
			type: "check-started",
			index,
			command: check.command
		});
		const result = await untilItPasses(round, check, index, slugs[index] ?? String(index));
		round.emit({
			type: "check-ended",
			result
		});
		return result;
	};
	const results = [];
	if (round.parallel) results.push(...await Promise.all(round.checks.map(one)));
	else for (const [index, check] of round.checks.entries()) results.push(await one(check, index));
	return results.filter((result) => result !== void 0);
}
async function untilItPasses(round, check, index, slug) {
	let result = await runCheck(round, check, index, slug);
	for (let failed = 1; failed <= round.retries && !result.passed && !round.stopping.aborted; failed++) {
		const next = await runCheck(round, check, index, slug);
		result = next.passed ? {
			...next,
			flaked: failed
		} : next;
	}
	return result;
}
async function runCheck(round, check, index, slug) {
	const { clock, abort } = round;
	const began = clock.ticks();
	const log = round.paths.check(slug);
	const fd = (0, node_fs.openSync)(log, "w", 384);
	const child = await startConfined(round.sandbox?.checks, {
		argv: shellCommand(check.command),
		cwd: round.cwd,
		env: round.env,
		stdout: fd,
		stderr: fd,
		...check.timeout > 0 && { timeout: check.timeout * 1e3 }
	});
	const stop = () => child.stop("aborted", "at-once");
	abort.addEventListener("abort", stop);
	if (abort.aborted) stop();
	const { end, endedBy } = await child.done;
	abort.removeEventListener("abort", stop);
	(0, node_fs.closeSync)(fd);
	const timedOut = endedBy === "timeout";
	const exitCode = timedOut ? TIMED_OUT : exitCodeOf(end);
	const { text, cut } = excerptOf(log, round.excerpt);
	const { command, failAction, hint } = check;
	return {
		index,
		command,
		failAction,
		...hint && { hint },
		passed: exitCode === 0 && endedBy === void 0,
		exitCode,
		timedOut,
		duration: secondsSince(clock, began),
		output: text,
		outputCut: cut,
		logFile: (0, node_path.relative)(round.root, round.publish?.(log, slug) ?? log)
	};
}
const TIMED_OUT = 124;
function exitCodeOf(end) {
	if (end.kind === "exited") return end.code;
	if (end.kind === "signalled") return 128 + node_os.constants.signals[end.signal];
	return 127;
}
// src/platform/capture.ts
const MAX_KEPT = 4194304;
async function capture(argv, options) {
	const out = [];
	const all = [];
	let kept = 0;
	const keep = (chunk, ...into) => {
		kept += chunk.length;
		if (kept <= MAX_KEPT) for (const list of into) list.push(chunk);
	};
	const child = await startConfined(options.confinement, {
		argv,
		cwd: options.cwd,
		env: options.env,
		stdout: (chunk) => keep(chunk, out, all),
		stderr: (chunk) => keep(chunk, all),
		...options.timeout && { timeout: options.timeout }
	});
	const abort = () => child.stop("aborted", "at-once");
	options.signal?.addEventListener("abort", abort);
	const { end, endedBy } = await child.done;
	options.signal?.removeEventListener("abort", abort);
	const code = endedBy === "timeout" ? 124 : end.kind === "exited" ? end.code : end.kind === "signalled" ? 130 : 127;
	const printed = Buffer.concat(all).toString("utf8");
	return {
		code,
		stdout: Buffer.concat(out).toString("utf8"),
		output: end.kind === "not-started" ? `${argv[0]}: cannot be started (${end.code})` : printed
	};
}
// src/platform/git.ts
const TIMEOUT = 6e5;
function git(cwd, env) {
	return gitIn(cwd, withConfig(ownEnvironment(env), CONFIG));
}
function gitIn(cwd, env) {
	return {
		cwd,
		run: (args) => capture(["git", ...args], {
			cwd,
			env,
			timeout: TIMEOUT
		}),
		list: (args, records) => listed((traffic) => streamed(cwd, env, args, traffic), records),
		stream: (args, read) => streamed(cwd, env, args, { read }),
		with: (more) => gitIn(cwd, {
			...env,
			...more
		}),
		at: (elsewhere) => gitIn(elsewhere, env)
	};
}
const CONFIG = {
	"core.fsmonitor": "false",
	"core.hooksPath": "/dev/null",
	"core.quotePath": "false",
	"gc.auto": "0",
	"maintenance.auto": "false",
	"advice.detachedHead": "false",
	"checkout.workers": "0"
};
const NOT_OURS = /^GIT_(DIR|WORK_TREE|INDEX_FILE|INDEX_VERSION|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX|QUARANTINE_PATH|EXTERNAL_DIFF|DIFF_OPTS|PAGER|TRACE.*|(LITERAL|GLOB|NOGLOB|ICASE)_PATHSPECS)$/;
function ownEnvironment(env) {
	return {
		...Object.fromEntries(Object.entries(env).filter(([name]) => !NOT_OURS.test(name))),
		GIT_TERMINAL_PROMPT: "0",
		GIT_EDITOR: "true",
		GIT_OPTIONAL_LOCKS: "0",
		LC_ALL: "C"
	};
}
function withConfig(env, config) {
	const entries = Object.entries(config);
	const before = Number(env.GIT_CONFIG_COUNT ?? 0) || 0;
	const numbered = entries.flatMap(([key, value], index) => [[`GIT_CONFIG_KEY_${before + index}`, key], [`GIT_CONFIG_VALUE_${before + index}`, value]]);
	return {
		...env,
		...Object.fromEntries(numbered),
		GIT_CONFIG_COUNT: String(before + entries.length)
	};
}
const MAX_ERRORS = 8192;
async function streamed(cwd, env, args, traffic) {
	let errors = "";
	let enough = false;
	const child = startProcess({
		argv: ["git", ...args],
		cwd,
		env,
		stdout: (chunk) => {
			if (enough || traffic.read(chunk) === "more") return;
			enough = true;
			child.stop("enough", "at-once");
		},
		stderr: (chunk) => {
			if (errors.length < MAX_ERRORS) errors += chunk.toString("utf8");
		},
		timeout: TIMEOUT,
		...traffic.input !== void 0 && { input: traffic.input }
	});
	const { end, endedBy } = await child.done;
	if (endedBy === "enough") return {
		code: 0,
		errors: ""
	};
	if (end.kind === "not-started") return {
		code: 127,
		errors: `git: cannot be started (${end.code})`
	};
	return {
		code: endedBy === "timeout" ? 124 : end.kind === "exited" ? end.code : 130,
		errors
	};
}
async function listed(talk, given) {
	const chunks = [];
	const read = (chunk) => {
		chunks.push(chunk);
		return "more";
	};
	const { code, errors } = await talk(given ? {
		read,
		input: given.map((each) => `${each}\0`).join("")
	} : { read });
	const records = Buffer.concat(chunks).toString("utf8").split("\0");
	records.pop();
	return {
		code,
		records,
		errors
	};
}
function complaint(output, code) {
	return output.split("\n").find((line) => /^(fatal|error|abort)\b|\[(remote )?rejected\]/.test(line.trim()))?.trim() || lastLine(output) || `exit code ${code}`;
}
function lastLine(output) {
	return output.split("\n").filter((line) => line.trim() !== "").at(-1)?.trim() ?? "";
}
// src/workspace/git-memory.ts
function remembering(ask) {
	const memory = new Map();
	return async (place) => {
		const key = `${place.cwd}\0${environmentOf(place.env)}`;
		const known = memory.get(key);
		if (known && known.marks === marksOf(place, known.files)) return known.value;
		const before = marksOf(place, []);
		const { value, files } = await ask(place);
		if (files && before === marksOf(place, [])) memory.set(key, {
			marks: marksOf(place, files),
			files,
			value
		});
		else memory.delete(key);
		return value;
	};
}
function nearestGit(cwd) {
	let folder = real(cwd);
	for (;;) {
		const path = (0, node_path.join)(folder, ".git");
		if ((0, node_fs.existsSync)(path)) return path;
		if ((0, node_path.dirname)(folder) === folder) return void 0;
		folder = (0, node_path.dirname)(folder);
	}
}
function real(path) {
	try {
		return node_fs.realpathSync.native(path);
	} catch {
		return path;
	}
}
function marksOf({ cwd, env }, files) {
	const nearest = nearestGit(cwd);
	const own = nearest === void 0 ? [] : [
		nearest,
		(0, node_path.join)(nearest, "config"),
		(0, node_path.join)(nearest, "config.worktree")
	];
	return [
		real(cwd),
		...own,
		...settingsFiles(env),
		...files
	].map((path) => `${path} ${version(path)}`).join("\n");
}
function settingsFiles(env) {
	const home = env.HOME ?? (0, node_os.homedir)();
	return [
		env.GIT_CONFIG_GLOBAL ?? (0, node_path.join)(home, ".gitconfig"),
		(0, node_path.join)(env.XDG_CONFIG_HOME || (0, node_path.join)(home, ".config"), "git/config"),
		env.GIT_CONFIG_SYSTEM ?? "/etc/gitconfig"
	];
}
function version(path) {
	try {
		const stat = (0, node_fs.statSync)(path, { bigint: true });
		const id = `${stat.dev} ${stat.ino}`;
		return stat.isDirectory() ? id : `${id} ${stat.size} ${stat.ctimeNs}`;
	} catch {
		return "none";
	}
}
function environmentOf(env) {
	return Object.entries(env).filter(([name]) => /^(GIT_|HOME$|XDG_CONFIG_HOME$)/.test(name)).map(([name, value]) => `${name}=${value}`).join("\0");
}
// src/workspace/repository.ts
const findRepository = remembering(async ({ cwd, env }) => {
	const here = git(cwd, env);
	const wanted = [
		"--show-toplevel",
		"--git-common-dir",
		"--absolute-git-dir",
		"--show-prefix"
	];
	const answer = await here.run(["rev-parse", ...wanted]);
	if (answer.code !== 0) return {
		value: await whyNot(here, answer),
		...(0, node_fs.existsSync)(cwd) && { files: [] }
	};
	let lines = answer.stdout.split("\n").slice(0, -1);
	if (lines.length !== wanted.length) lines = await Promise.all(wanted.map((flag) => alone(here, flag)));
	const [top = "", common = "", gitDir = "", prefix = ""] = lines;
	const commonDir = (0, node_path.isAbsolute)(common) ? common : (0, node_path.resolve)(cwd, common);
	const files = [commonDir, gitDir].flatMap((folder) => [(0, node_path.join)(folder, "config"), (0, node_path.join)(folder, "config.worktree")]);
	return {
		value: {
			top,
			commonDir,
			gitDir,
			prefix,
			git: here
		},
		files
	};
});
async function alone(here, flag) {
	return (await here.run(["rev-parse", flag])).stdout.replace(/\n$/, "");
}
async function whyNot(here, { code, output }) {
	const where = here.cwd;
	if (!(0, node_fs.existsSync)(where)) return {
		where,
		what: "there is no such folder"
	};
	if (code === 127) return {
		where,
		what: "git cannot be started",
		mend: "install git"
	};
	const bare = (await here.run(["rev-parse", "--is-bare-repository"])).stdout.trim();
	if (bare === "true") return {
		where,
		what: "this is a bare repository: there are no files to work on",
		mend: "clone it"
	};
	if (bare === "false") return {
		where,
		what: "this is inside of the .git folder, not of a work tree"
	};
	if (/not a git repository/.test(output)) return {
		where,
		what: "this is not in a git repository",
		mend: "`git init` makes one"
	};
	return {
		where,
		what: `git refuses: ${complaint(output, code)}`
	};
}
async function lookOnly(place) {
	const off = (await filtersOf(place)).flatMap((name) => [
		[`filter.${name}.clean`, ""],
		[`filter.${name}.process`, ""],
		[`filter.${name}.required`, "false"]
	]);
	return git(place.cwd, withConfig(place.env, {
		...Object.fromEntries(off),
		...SMALL_INDEX
	}));
}
const filtersOf = remembering(async ({ cwd, env }) => {
	const { records } = await git(cwd, env).list([
		"config",
		"--list",
		"--show-origin",
		"--name-only",
		"-z"
	]);
	const origins = records.filter((_, at) => at % 2 === 0);
	const keys = records.filter((_, at) => at % 2 === 1);
	const names = keys.filter((key) => key.startsWith("filter.")).map((key) => key.slice(7, key.lastIndexOf(".")));
	const value = [...new Set(names)];
	if (keys.some((key) => /^include|^extensions\.worktreeconfig$/.test(key))) return { value };
	return {
		value,
		files: [...new Set(origins.filter((each) => each.startsWith("file:")).map((each) => each.slice(5)))].map((file) => (0, node_path.resolve)(cwd, file))
	};
});
const LARGE = 1048576;
const SMALL_INDEX = {
	"core.bigFileThreshold": String(LARGE),
	"core.splitIndex": "false",
	"index.sparse": "false"
};
function isRalphs(path) {
	return path.includes(".ralph") && path.split("/").includes(".ralph");
}
// src/workspace/tree-status.ts
const FLAGS = [
	"--porcelain=v2",
	"-z",
	"--branch",
	"--no-ahead-behind",
	"--no-renames",
	"--untracked-files=all",
	"--ignore-submodules=none"
];
async function readStatus(options) {
	const [repository, git] = await Promise.all([findRepository(options), lookOnly(options)]);
	if ("what" in repository) return repository;
	const { top, commonDir } = repository;
	const scope = allBut(options.exclude);
	let answer = await git.list([
		"status",
		...FLAGS,
		...scope
	]);
	if (answer.code !== 0) answer = await git.list([
		"status",
		...FLAGS,
		"--ignore-submodules=all",
		...scope
	]);
	const { code, records, errors } = answer;
	if (code !== 0) return {
		where: options.cwd,
		what: `git status fails: ${complaint(errors, code)}`
	};
	return {
		top,
		commonDir,
		git,
		head: records.find((record) => record.startsWith(HEAD))?.slice(HEAD.length) ?? "",
		entries: records.flatMap((record) => readEntry(record) ?? []).filter(({ path }) => !isRalphs(path))
	};
}
function allBut(globs = []) {
	return globs.length === 0 ? [] : [
		"--",
		":/",
		...globs.map((glob) => `:(exclude,glob)${glob}`)
	];
}
const HEAD = "# branch.oid ";
const WORDS = {
	"1": 8,
	u: 10,
	"?": 1
};
function readEntry(record) {
	const count = WORDS[record[0] ?? ""];
	if (count === void 0) return void 0;
	const words = record.split(" ", count);
	const [kind, , submodule = ""] = words;
	const [mode, oid] = kind === "1" ? [words[3], words[6]] : kind === "u" ? [words[4], words[8]] : [];
	return {
		path: record.slice(words.join(" ").length + 1),
		tracked: kind !== "?",
		words: words.join(" "),
		before: blob(mode, oid),
		submodule: submodule.startsWith("S")
	};
}
function blob(mode, oid) {
	return mode === void 0 || oid === void 0 || /^0+$/.test(mode) ? void 0 : {
		mode,
		oid
	};
}
// src/workspace/tree-state.ts
const MOST_READ = 64 * LARGE;
async function treeState({ cwd, env, status }) {
	const tree = status ?? await readStatus({
		cwd,
		env
	});
	if ("what" in tree) return tree;
	const hash = (0, node_crypto.createHash)("sha256").update(tree.head);
	let left = MOST_READ;
	for (const entry of tree.entries) {
		hash.update(`\0${entry.words}\0${entry.path}\0`);
		left -= addContent(hash, (0, node_path.join)(tree.top, entry.path), left);
		if (isRepository(entry)) hash.update(await innerState((0, node_path.join)(tree.top, entry.path), env));
	}
	return hash.digest("hex").slice(0, 16);
}
function addContent(hash, path, left) {
	try {
		const stat = (0, node_fs.lstatSync)(path, { bigint: true });
		hash.update(`${stat.mode}\0`);
		if (stat.isSymbolicLink()) hash.update((0, node_fs.readlinkSync)(path));
		if (!stat.isFile()) return 0;
		const size = Number(stat.size);
		if (size > Math.min(1048576, left)) hash.update(`${size} ${stat.mtimeNs}`);
		else hash.update((0, node_crypto.createHash)("sha256").update((0, node_fs.readFileSync)(path)).digest());
		return size > left ? 0 : Math.min(size, LARGE);
	} catch {
		hash.update("unreadable");
		return 0;
	}
}
function isRepository(entry) {
	return entry.submodule || entry.path.endsWith("/");
}
async function innerState(cwd, env) {
	const status = await readStatus({
		cwd,
		env
	});
	if ("what" in status || status.top !== (0, node_path.resolve)(cwd)) return "";
	const state = await treeState({
		cwd,
		env,
		status
	});
	return typeof state === "string" ? state : "";
}
const OUTPUT_CHARS = 2e3;
async function verify(root, state, emit) {
	if (state.checks.length === 0) return [];
	const paths = runPaths(projectPaths(root).runs, state.runId);
	const tree = await filesNow(root);
	const known = typeof tree === "string" ? cached(paths.checks, tree) : void 0;
	if (known) return known;
	const never = new AbortController().signal;
	const results = await runChecks({
		checks: state.checks.map((command) => ({
			command,
			failAction: "APPEND",
			timeout: 570 / state.checks.length
		})),
		paths: paths.iteration(state.iteration),
		cwd: root,
		root,
		env: process.env,
		excerpt: {
			chars: OUTPUT_CHARS,
			from: "tail"
		},
		parallel: false,
		retries: 0,
		clock: systemClock,
		emit,
		stopping: never,
		abort: never
	});
	const after = await filesNow(root);
	if (typeof after === "string") writePrivate(paths.checks, JSON.stringify({
		tree: after,
		results
	}));
	return results;
}
async function filesNow(root) {
	const place = {
		cwd: root,
		env: process.env
	};
	const status = await readStatus({
		...place,
		exclude: [".claude/ralph-loop*.local.md"]
	});
	return isProblem(status) ? status : treeState({
		...place,
		status
	});
}
function cached(path, tree) {
	try {
		const kept = JSON.parse(readIfThere(path) ?? "null");
		return kept?.tree === tree && Array.isArray(kept.results) ? kept.results : void 0;
	} catch {
		return;
	}
}
// src/hooks/stop.ts
const DEEDS = {
	open: openRun,
	record,
	write: writeSession,
	remove: removeSession,
	setAside
};
const NO_DEEDS = {
	open: () => "",
	record() {},
	write() {},
	remove() {},
	setAside: (path) => path
};
async function onStop(root, dialect, input, deeds = DEEDS) {
	const files = listSessions(root);
	const found = files.find((file) => "state" in file && file.state.sessionId === input.sessionId);
	if (!found) return damaged(files, deeds);
	const { active } = found.state;
	if (!active || isElsewhere(found.state, input) || input.inSubagent || input.pending > 0) return NOTHING;
	const mine = inLedger(root, dialect.host, found, deeds);
	const { state } = mine;
	const claim = await claimOf(state, dialect, input);
	const run = sessionRun(state);
	const before = sessionEvidence(state, claim, Date.now());
	const evidence = claim.found && state.toolCalls >= run.minToolCalls ? {
		...before,
		checks: await verify(root, state, (event) => deeds.record(root, state.runId, event))
	} : before;
	const verdict = judge(run, evidence);
	deeds.record(root, state.runId, {
		type: "iteration-ended",
		iteration: state.iteration,
		claim,
		verdict,
		usage: evidence.spent.usage
	});
	if (verdict.kind === "stop") return letGo(root, mine, verdict.reason, deeds);
	return sendBack(mine, verdict.feedback, dialect.capOf(process.env), deeds);
}
function inLedger(root, host, { path, state }, { open }) {
	return {
		path,
		state: state.runId === "" ? {
			...state,
			runId: open(root, state, host)
		} : state
	};
}
function isElsewhere(state, input) {
	return state.promptId !== null && input.promptId !== null && state.promptId !== input.promptId;
}
function damaged(files, deeds) {
	const broken = files.find((file) => "problem" in file);
	if (!broken) return NOTHING;
	const aside = deeds.setAside(broken.path, Date.now());
	return {
		kind: "say",
		message: `\u26a0\ufe0f Ralph loop: State file corrupted\n  File: ${broken.path}\n  Problem: ${broken.problem}\n  It is kept as ${aside}. The loop has stopped; run /ralph-loop again to start afresh.`
	};
}
async function claimOf(state, dialect, input) {
	const rule = ruleOf(state);
	if (!rule) return NO_CLAIM;
	const scanner = createClaimScanner(rule);
	for (const text of await dialect.finalWords(input)) {
		scanner.feed(text);
		scanner.boundary();
	}
	return scanner.claim();
}
function letGo(root, { path, state }, reason, deeds) {
	const done = reason === "promise_accepted";
	const lazy = done && state.toolCalls < state.minToolCalls && state.onPromiseNoWork === "warn";
	const message = done ? `\u2705 Ralph loop: Detected <promise>${state.completionPromise}</promise> after ${state.iteration} iteration(s). PROMISE_ACCEPTED${lazy ? " (warning: no tool was called)" : ""}` : `\ud83d\uded1 Ralph loop: Max iterations (${state.maxIterations}) reached. MAX_ITERATIONS_REACHED`;
	deeds.remove(path);
	deeds.record(root, state.runId, {
		type: "run-ended",
		result: {
			runId: state.runId,
			success: done,
			stopReason: done ? "promise_accepted" : "max_iterations",
			detail: null,
			iterations: [],
			totalCost: null,
			unreportedCalls: 0,
			totalTokens: null,
			totalDuration: elapsedOf(state, Date.now()),
			worktreePath: null,
			branch: null
		}
	});
	return {
		kind: "say",
		message
	};
}
function sendBack({ path, state }, feedback, cap, deeds) {
	const next = afterBlock(state);
	deeds.write(path, next);
	return {
		...blockAnswer(state, feedback, next),
		...capWarning(next, cap)
	};
}
function blockAnswer(state, feedback, next) {
	const why = sentences(state, feedback);
	return {
		kind: "block",
		reason: continuation(state, why),
		message: iterationMessage(next),
		afresh: [contract(state), ...why].join("\n\n")
	};
}
function plainAnswer(state, iteration) {
	const verdict = judge(sessionRun(state), sessionEvidence(state, NO_CLAIM, Date.now()));
	return blockAnswer(state, verdict.kind === "continue" ? verdict.feedback : [], {
		...state,
		iteration
	});
}
function sentences(state, feedback) {
	const rule = ruleOf(state);
	if (!rule) return [NO_PROMISE_SET];
	const marker = `<promise>${rule.text}</promise>`;
	const told = feedback.flatMap((item) => {
		if (item.kind === "claim-missing") return [missingPromise(rule)];
		if (item.kind === "no-work") return [NO_WORK_DONE];
		if (item.kind === "check-failed") return [failureSection(item.check)];
		return feedbackSentence(item, marker) ?? [];
	});
	return told.length > 0 ? told : [missingPromise(rule)];
}
function capWarning(state, cap) {
	if (!cap) return {};
	const used = cap.toolsReset ? state.blocksInARow : state.iteration - 1;
	if (used < cap.blocks - 1) return {};
	const without = cap.toolsReset ? " without a tool call" : "";
	return { warning: `\u26a0\ufe0f ${cap.host} ends a loop after ${cap.blocks} stops in a row${without}; this was number ${used}. ${cap.lift}` };
}
// src/hooks/gate.ts
function openGate(root, dialect, input, env) {
	const { sessionId } = input;
	try {
		const file = findSession(root, sessionId);
		if (!file) dropTally(root, sessionId);
		if (!file?.state.active || file.state.runId === "") return;
		const { tally } = file.state;
		if (tally === "") return;
		if ((0, node_fs.existsSync)((0, node_path.join)(projectPaths(root).tally(sessionId), tally))) return;
		const terms = termsOf(root, dialect, file.state, input, env);
		if (isPlain(terms)) openTally(root, file, terms);
	} catch {}
}
function isPlain({ prompt, cap, quietUntil, answer }) {
	return ![
		prompt,
		cap,
		quietUntil,
		...answer
	].some((text) => text.includes("\n") || text.includes("\0"));
}
function termsOf(root, dialect, state, input, env) {
	const { guard } = hookSettings(root);
	const quietUntil = monitorIsQuietUntil(root, input);
	const cap = dialect.capOf(env);
	return {
		prompt: state.promptId === null ? "" : `"${dialect.promptField}":${JSON.stringify(state.promptId)}`,
		stops: dialect.told === "not" ? 0 : Math.max(0, stopsLeft(state, cap)),
		row: cap?.toolsReset === true ? cap.blocks - 1 : 0,
		words: dialect.told === "last" ? "last" : "whole",
		tools: state.toolCalls >= state.minToolCalls && quietUntil > 0,
		quietUntil: Number.isFinite(quietUntil) ? `${quietUntil} ${input.transcript}` : "",
		guard: guard.enabled === false ? "off" : hasOwnRules(guard) ? "own-rules" : "plain",
		cap: CAP_VARIABLES.map((name) => env[name] ?? "").join("/"),
		answer: aroundTheNumber((iteration) => dialect.writeAnswer("Stop", plainAnswer(state, iteration)))
	};
}
function hasOwnRules({ allow, deny, protect }) {
	return [
		allow,
		deny,
		protect
	].some((rules) => rules.length > 0);
}
const CAP_VARIABLES = ["CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "QWEN_CODE_STOP_HOOK_BLOCK_CAP"];
const MANY = 1e6;
function stopsLeft({ iteration, maxIterations }, cap) {
	const byLimit = maxIterations === 0 ? MANY : maxIterations - iteration;
	return cap?.toolsReset === false ? Math.min(byLimit, cap.blocks - 1 - iteration) : byLimit;
}
function aroundTheNumber(render) {
	const [one, two] = [render(ONES), render(TWOS)];
	const digits = String(ONES).length;
	let start = 0;
	while (start < one.length && one[start] === two[start]) start++;
	return [one.slice(0, start), one.slice(start + digits)];
}
const ONES = 1111111;
const TWOS = 2222222;
// src/store/hook-notes.ts
function leaveNote(path, note) {
	try {
		(0, node_fs.appendFileSync)(path, `${JSON.stringify(note)}\n`, { mode: 384 });
	} catch {}
}
// src/domain/story-graph.ts
function circlesIn(needs) {
	const found = new Map();
	for (const id of notSettled(needs)) {
		if (found.has(id)) continue;
		const circle = circleFrom(id, needs) ?? [];
		for (const member of circle) if (!found.has(member)) found.set(member, circle);
	}
	return found;
}
function notSettled(needs) {
	const waiting = new Map([...needs].map(([id, ids]) => [id, ids.filter((each) => needs.has(each)).length]));
	const neededBy = new Map([...needs.keys()].map((id) => [id, []]));
	for (const [id, ids] of needs) for (const each of ids) neededBy.get(each)?.push(id);
	const free = [...waiting].filter(([, count]) => count === 0).map(([id]) => id);
	for (let id = free.pop(); id !== void 0; id = free.pop()) {
		waiting.delete(id);
		for (const other of neededBy.get(id) ?? []) {
			const left = (waiting.get(other) ?? 0) - 1;
			waiting.set(other, left);
			if (left === 0) free.push(other);
		}
	}
	return [...waiting.keys()];
}
function circleFrom(start, needs) {
	const cameFrom = new Map();
	const waiting = [start];
	for (let at = 0; at < waiting.length; at++) {
		const id = waiting[at];
		for (const next of needs.get(id) ?? []) {
			if (next === start) return wayTo(id, start, cameFrom);
			if (cameFrom.has(next)) continue;
			cameFrom.set(next, id);
			waiting.push(next);
		}
	}
}
function wayTo(end, start, cameFrom) {
	const way = [end];
	for (let id = end; id !== start; way.push(id)) id = cameFrom.get(id);
	return way.reverse();
}
const SHOWN = 8;
function circleWords(circle, id) {
	const from = circle.indexOf(id);
	return [
		...Array.from({ length: Math.min(circle.length, SHOWN) }, (_, at) => circle[(from + at) % circle.length]),
		...circle.length > SHOWN ? [`${circle.length - SHOWN} more`] : [],
		id
	].join(" \u2192 ");
}
// src/domain/story.ts
const REVIEW_STATUSES = [
	"needs_review",
	"changes_requested",
	"approved"
];
const UNTOUCHED = {
	passes: false,
	reviewStatus: null,
	reviewCount: 0,
	reviewFeedback: ""
};
function isRaw(value) {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
function readList(value) {
	const flaws = listFlaws(value);
	return flaws.length > 0 ? flaws : value;
}
function listFlaws(value) {
	if (!isRaw(value)) return [{
		field: "",
		message: "it must hold a JSON object"
	}];
	const stories = value.userStories;
	return [
		...fieldFlaws(value, LIST_FIELDS),
		...Array.isArray(stories) ? stories.flatMap(storyFlaws) : [],
		...Array.isArray(stories) ? [...duplicateFlaws(stories), ...graphFlaws(stories)] : []
	];
}
function storyFlaws(story, at) {
	if (!isRaw(story)) return [{
		at,
		field: "",
		message: `story ${at + 1} must be an object`
	}];
	const flaws = fieldFlaws(story, STORY_FIELDS, nameOf(story, at));
	if (story.passes !== true || !isBlank(story.notes)) return flaws.map((flaw) => ({
		...flaw,
		at
	}));
	const silent = {
		field: "notes",
		message: silentStory(nameOf(story, at)),
		isAboutNotes: true
	};
	return [...flaws, silent].map((flaw) => ({
		...flaw,
		at
	}));
}
function silentStory(name) {
	return `story ${name} has passes=true and empty notes: say there what was done`;
}
function isBlank(value) {
	return value === void 0 || typeof value === "string" && value.trim() === "";
}
function nameOf(story, at) {
	return typeof story.id === "string" && story.id.trim() !== "" ? story.id : `number ${at + 1}`;
}
const text = {
	test: (value) => typeof value === "string",
	words: "text"
};
const filled = {
	test: (value) => typeof value === "string" && value.trim() !== "",
	words: "text that is not empty"
};
const texts = {
	test: (value) => Array.isArray(value) && value.every(filled.test),
	words: "a list of texts"
};
const LIST_FIELDS = {
	project: text,
	branchName: text,
	description: text,
	verifyCommands: {
		...texts,
		optional: true
	},
	userStories: {
		test: Array.isArray,
		words: "a list of stories"
	}
};
const STORY_FIELDS = {
	id: filled,
	title: filled,
	description: {
		...text,
		optional: true
	},
	acceptanceCriteria: {
		test: (value) => texts.test(value) && value.length > 0,
		words: "a list of texts that is not empty"
	},
	priority: {
		test: Number.isFinite,
		words: "a number"
	},
	passes: {
		test: (value) => typeof value === "boolean",
		words: "true or false"
	},
	reviewStatus: {
		test: (value) => value === null || REVIEW_STATUSES.some((status) => status === value),
		words: "null, \"needs_review\", \"changes_requested\" or \"approved\""
	},
	reviewCount: {
		test: (value) => Number.isSafeInteger(value) && value >= 0,
		words: "a whole number that is not negative"
	},
	reviewFeedback: text,
	notes: {
		...text,
		optional: true
	},
	dependsOn: {
		...texts,
		words: "a list of story ids",
		optional: true
	}
};
function fieldFlaws(value, rules, story) {
	return Object.entries(rules).flatMap(([field, { test, words, optional }]) => {
		const given = Object.hasOwn(value, field) ? value[field] : void 0;
		if (given === void 0 ? optional : test(given)) return [];
		return [{
			field,
			message: `${story === void 0 ? field : `story ${story}: ${field}`} ${given === void 0 ? `is missing; it must be ${words}` : `must be ${words}, not ${shown(given)}`}`
		}];
	});
}
function shown(value) {
	const json = JSON.stringify(value) ?? "nothing";
	return json.length > 60 ? `${json.slice(0, 60)}\u2026` : json;
}
function duplicateFlaws(stories) {
	const seen = new Set();
	return stories.flatMap((story, at) => {
		const id = isRaw(story) ? story.id : void 0;
		if (typeof id !== "string" || !seen.has(id)) {
			seen.add(id);
			return [];
		}
		return [{
			at,
			field: "id",
			message: `story ${id}: there is more than one story of this id`
		}];
	});
}
function graphFlaws(stories) {
	const needs = new Map(stories.filter(isRaw).map((story) => [String(story.id), idsOf(story.dependsOn)]));
	const circles = circlesIn(needs);
	return stories.flatMap((story, at) => {
		if (!isRaw(story)) return [];
		const id = String(story.id);
		const unknown = idsOf(story.dependsOn).filter((each) => !needs.has(each));
		const circle = circles.get(id);
		return [...unknown.map((each) => ({
			at,
			field: "dependsOn",
			message: `story ${id} depends on ${each}, and there is no such story`
		})), ...circle ? [{
			at,
			field: "dependsOn",
			message: `story ${id} waits for itself: ${circleWords(circle, id)}`
		}] : []];
	});
}
function idsOf(value) {
	return Array.isArray(value) ? value.filter((id) => typeof id === "string") : [];
}
// src/domain/transitions.ts
function invariantOffences(stories, { skipReview, reviewCap }, before = new Map()) {
	if (skipReview) return [];
	return stories.flatMap(({ id, passes, reviewStatus, reviewCount, reviewFeedback }) => {
		const most = Math.max(reviewCap, before.get(id)?.reviewCount ?? 0) + 1;
		return [
			...passes && reviewStatus !== "approved" ? [`Story ${id} has passes=true but reviewStatus is '${reviewStatus}', not 'approved'. Only review iterations may approve stories. Set passes back to false or complete the review cycle.`] : [],
			...reviewStatus === "approved" && !passes ? [`Story ${id} has reviewStatus 'approved' but passes=false: these fields are out of sync.`] : [],
			...reviewStatus === "changes_requested" && reviewFeedback.trim() === "" ? [`Story ${id} has reviewStatus 'changes_requested' but its reviewFeedback is empty: feedback required. Say what must be fixed, and where.`] : [],
			...reviewCount > most ? [`Story ${id} has reviewCount ${reviewCount}, and the review cap is ${reviewCap}.`] : []
		];
	});
}
function transitionOffences(before, stories, terms) {
	const known = stories.flatMap((after) => {
		const was = before.get(after.id);
		return was ? [{
			was,
			after
		}] : [];
	});
	const fresh = stories.filter((story) => !before.has(story.id));
	const there = new Set(stories.map((story) => story.id));
	return [
		...terms.skipReview ? [] : [...REVIEW_RULES[terms.mode](known, terms), ...freshOffences(fresh)],
		...known.flatMap((change) => contractOffences(change, fresh, terms.mode)),
		...[...before.keys()].filter((id) => !there.has(id)).map(removed)
	];
}
const REVIEW_FIELDS = [
	"passes",
	"reviewStatus",
	"reviewCount",
	"reviewFeedback"
];
const REVIEW_RULES = {
	implement: (changes) => workOffences(changes, {
		from: null,
		what: (field) => field === "reviewCount" ? "Implement iterations cannot increment reviewCount" : "Implement iterations cannot set passes=true or approve stories",
		tail: (id, field, words) => `${field === "reviewCount" ? "Only review iterations may count." : "Only review iterations may approve."} Story ${id} had illegal transition: ${words}.`
	}),
	"review-fix": (changes) => workOffences(changes, {
		from: "changes_requested",
		what: (field) => field === "reviewCount" ? "Review-fix iterations cannot increment reviewCount" : "Review-fix iterations cannot approve stories",
		tail: (id, _field, words) => `Story ${id} must go back to needs_review for re-review. Illegal transition: ${words}.`
	}),
	review: reviewOffences
};
function workOffences(changes, rule) {
	const isHandedIn = ({ was, after }) => was.reviewStatus === rule.from && !was.passes && after.reviewStatus === "needs_review";
	const handedIn = changes.find(isHandedIn);
	return changes.flatMap((change) => {
		const { was, after } = change;
		const isThis = change === handedIn;
		return REVIEW_FIELDS.flatMap((field) => {
			const old = was[field];
			if (old === void 0 || old === after[field]) return [];
			if (isThis && field === "reviewStatus") return [];
			if (isThis && field === "reviewFeedback" && after.reviewFeedback.trim() === "") return [];
			const value = isThis && field === "reviewFeedback" ? "" : old;
			const words = `${field} ${shown(old)} \u2192 ${shown(after[field])}`;
			return [{
				message: isHandedIn(change) && !isThis ? `One story per iteration: ${handedIn?.after.id} was handed in for review already. Story ${after.id} had illegal transition: ${words}.` : `${rule.what(field)}. ${rule.tail(after.id, field, words)}`,
				mend: {
					kind: "fields",
					story: after.id,
					fields: { [field]: value }
				}
			}];
		});
	});
}
function reviewOffences(changes, { story: wanted }) {
	const touched = changes.filter(({ was, after }) => REVIEW_FIELDS.some((field) => isChanged(was, after, field)));
	const fair = touched.filter((change) => verdictTrouble(change) === void 0);
	const judged = fair.find(({ after }) => after.id === wanted) ?? fair[0];
	const offences = touched.filter((change) => change !== judged).map((change) => {
		const { was, after } = change;
		const details = verdictTrouble(change) ?? `a review may only modify one story, and ${judged?.after.id} was judged`;
		const fields = Object.fromEntries(REVIEW_FIELDS.filter((field) => was[field] !== void 0).map((field) => [field, was[field]]));
		return {
			message: illegalReview(after.id, details),
			mend: {
				kind: "fields",
				story: after.id,
				fields
			}
		};
	});
	const waiting = changes.find(({ after, was }) => wanted === void 0 ? was.reviewStatus === "needs_review" : after.id === wanted);
	if (touched.length > 0 || waiting?.was.reviewStatus !== "needs_review") return offences;
	return [{
		message: illegalReview(waiting.after.id, "review must increment reviewCount by 1 and set reviewStatus to \"approved\" (with passes=true) or \"changes_requested\" (with reviewFeedback); nothing was changed"),
		mend: { kind: "none" }
	}];
}
function illegalReview(id, details) {
	return `Review iteration made illegal transition on story ${id}: ${details}.`;
}
function isChanged(was, after, field) {
	return was[field] !== void 0 && was[field] !== after[field];
}
function verdictTrouble({ was, after }) {
	const { passes, reviewStatus, reviewCount, reviewFeedback } = after;
	if (was.reviewStatus !== "needs_review") {
		const field = REVIEW_FIELDS.find((each) => isChanged(was, after, each)) ?? "reviewStatus";
		return `it was not waiting for a review (reviewStatus ${shown(was.reviewStatus)}), and ${field} went ${shown(was[field])} \u2192 ${shown(after[field])}`;
	}
	if (reviewCount !== was.reviewCount + 1) return `review must increment reviewCount by 1, and it went ${was.reviewCount} \u2192 ${reviewCount}`;
	if (reviewStatus === "approved") return passes ? void 0 : "approved without passes=true";
	if (reviewStatus !== "changes_requested") return `reviewStatus must become "approved" or "changes_requested", not ${shown(reviewStatus)}`;
	if (passes) return "changes requested with passes=true";
	return reviewFeedback.trim() === "" ? "changes requested without feedback" : void 0;
}
function freshOffences(fresh) {
	return fresh.flatMap(({ id, passes, reviewStatus, reviewCount }) => passes || reviewStatus !== null || reviewCount !== 0 ? [{
		message: `New story ${id} must start at passes=false, reviewStatus=null, reviewCount=0.`,
		mend: {
			kind: "fields",
			story: id,
			fields: UNTOUCHED
		}
	}] : []);
}
function contractOffences({ was, after }, fresh, mode) {
	const isBegun = was.passes || was.reviewStatus !== null;
	const reworded = (isBegun ? ["title", "description"] : []).flatMap((field) => {
		const old = was[field];
		if (old === void 0 || old === after[field]) return [];
		return [{
			message: `Story ${after.id} is under way: its ${field} may not be changed any more.`,
			mend: {
				kind: "fields",
				story: after.id,
				fields: { [field]: old }
			}
		}];
	});
	const { acceptanceCriteria: old = [] } = was;
	const lost = old.filter((criterion) => !after.acceptanceCriteria.includes(criterion));
	const moved = (criterion) => !isBegun && mode === "implement" && fresh.some((story) => story.acceptanceCriteria.includes(criterion));
	const missing = lost.filter((criterion) => !moved(criterion));
	const added = was.passes && after.acceptanceCriteria.length > old.length;
	if (missing.length === 0 && !(added && old.length > 0)) return reworded;
	const message = missing.length > 0 ? `Story ${after.id} lost an acceptance criterion: ${missing.map(shown).join(", ")}. Criteria may be added, or moved to a new story when an untouched story is split; they are never weakened.` : `Story ${after.id} is done: its acceptance criteria may not be changed any more.`;
	return [...reworded, {
		message,
		mend: {
			kind: "fields",
			story: after.id,
			fields: { acceptanceCriteria: old }
		}
	}];
}
function removed(id) {
	return {
		message: `Story ${id} was removed. Stories are never removed: to split one, keep its id for the first part and add new stories for the rest.`,
		mend: {
			kind: "put-back",
			story: id
		}
	};
}
// src/store/active-file.ts
function readActive(path) {
	const source = sourceOf(path);
	if (source === void 0) return void 0;
	const file = parsed(source);
	const { pid, started, runId, ralphDir, reviewCap, iterationMode, story, preIterationSnapshot } = file;
	return {
		process: typeof pid === "number" ? {
			pid,
			started: typeof started === "string" ? started : ""
		} : void 0,
		runId: typeof runId === "string" ? runId : void 0,
		timestamp: String(file.timestamp ?? ""),
		ralphDir: typeof ralphDir === "string" ? ralphDir : "ralph",
		terms: {
			mode: MODES.find((mode) => mode === iterationMode) ?? "implement",
			skipReview: file.skipReview === true,
			reviewCap: typeof reviewCap === "number" ? reviewCap : 5,
			atCap: file.atCap === "stop" ? "stop" : "approve",
			...typeof story === "string" && { story }
		},
		snapshot: MODES.some((mode) => mode === iterationMode) ? snapshotIn(preIterationSnapshot) : void 0
	};
}
function sourceOf(path) {
	try {
		return readIfThere(path);
	} catch {
		return;
	}
}
const MODES = [
	"implement",
	"review",
	"review-fix"
];
function parsed(source) {
	try {
		const value = JSON.parse(source);
		return typeof value === "object" && value !== null ? value : {};
	} catch {
		return {};
	}
}
function snapshotIn(value) {
	if (typeof value !== "object" || value === null || Array.isArray(value)) return void 0;
	const entries = Object.entries(value).filter(([, story]) => typeof story === "object" && story !== null);
	return new Map(entries);
}
function isLive({ process }) {
	return process === void 0 || isAlive(process);
}
// src/store/prd-paths.ts
const ACTIVE_FILE = ".ralph-active";
// src/store/templates.ts
function isUntouchedTemplate(tasks) {
	try {
		const { userStories } = JSON.parse(tasks);
		const [first] = userStories;
		return userStories.length === 1 && first.title === "" && first.acceptanceCriteria.length === 0;
	} catch {
		return false;
	}
}
// src/store/tasks-file.ts
function loadTasks(path, name) {
	let source;
	try {
		source = readIfThere(path);
	} catch (error) {
		return [{
			where: name,
			what: `cannot be read: ${errorWords(error)}`
		}];
	}
	if (source === void 0) return [{
		where: name,
		what: "there is none",
		mend: "`ralph prd init` makes one"
	}];
	if (isUntouchedTemplate(source)) return [{
		where: name,
		what: "it is still the template",
		mend: "`ralph prd plan` fills it in with you"
	}];
	let value;
	try {
		value = parse(source);
	} catch (error) {
		return [{
			where: name,
			what: `is not valid JSON: ${errorWords(error)}`
		}];
	}
	const list = readList(value);
	if (isList(list)) return list;
	return list.map((flaw) => ({
		where: name,
		what: flaw.message
	}));
}
function isList(list) {
	return !Array.isArray(list);
}
function parse(source) {
	return JSON.parse(source.replace(/^\uFEFF/, ""));
}
// src/hooks/story-stop.ts
const MOST_BLOCKS = 8;
async function onStoryStop(root, input, orders) {
	const active = readActive((0, node_path.join)(root, ACTIVE_FILE));
	if (!active || !concerns(active, orders)) return NOTHING;
	if (input.inSubagent || input.pending > 0) return NOTHING;
	const wrong = [...storyMessages(root, active), ...await uncommittedMessages(root)];
	const warning = active.snapshot || active.terms.skipReview ? void 0 : `\u26a0\ufe0f Ralph: ${ACTIVE_FILE} holds no snapshot, so what this iteration changed was not looked at.`;
	if (wrong.length === 0) return warning === void 0 ? NOTHING : {
		kind: "say",
		message: warning
	};
	if ((orders ? countBlock(orders, active) : 1) > MOST_BLOCKS) return {
		kind: "say",
		message: `\ud83d\uded1 Ralph: sent back ${MOST_BLOCKS} times; the loop settles what is left.`
	};
	const message = `\ud83d\udd04 Ralph: this iteration is not finished (${wrong.length}).`;
	if (orders) {
		const text = `The agent wanted to stop and was sent back: ${wrong.join(" ")}`;
		leaveNote(runPathsIn(orders.run).hookNotes, {
			type: "notice",
			level: "info",
			text
		});
	}
	return {
		kind: "block",
		reason: [REASON, ...wrong.map((each) => `- ${each}`)].join("\n"),
		message,
		...warning !== void 0 && { warning }
	};
}
const REASON = "This Ralph iteration is not finished. Mend this, then stop again:";
function concerns(active, orders) {
	return active.runId === void 0 ? isLive(active) : active.runId === (0, node_path.basename)(orders?.run ?? "");
}
function storyMessages(root, { ralphDir, terms, snapshot }) {
	const path = (0, node_path.resolve)(root, ralphDir, "tasks.json");
	const list = loadTasks(path, (0, node_path.relative)(root, path));
	if (!isList(list)) return list.map(({ where, what }) => `${where}: ${what}.`);
	const { userStories: stories } = list;
	return [...invariantOffences(stories, terms, snapshot), ...snapshot ? transitionOffences(snapshot, stories, terms).map((offence) => offence.message) : []];
}
async function uncommittedMessages(root) {
	const status = await readStatus({
		cwd: root,
		env: process.env
	});
	if (isProblem(status)) return [];
	const paths = status.entries.map((entry) => entry.path).filter((path) => (0, node_path.basename)(path) !== ACTIVE_FILE);
	return paths.length === 0 ? [] : [uncommittedReason(paths)];
}
function countBlock({ run }, { timestamp }) {
	const path = runPathsIn(run).stopBlocks;
	const [stamp, before] = (readIfThere(path) ?? "").split(" ");
	const count = (stamp === timestamp ? Number(before) || 0 : 0) + 1;
	try {
		writePrivate(path, `${timestamp} ${count}`);
	} catch {}
	return count;
}
// src/hooks/orders.ts
async function carryOut(orders, moment, input) {
	switch (moment) {
		case "before-tool": return guarded(orders, input);
		case "tools": return orders.monitor ? watchContext(orders.monitor, alertsOf(orders, input), input) : NOTHING;
		case "start":
			if (orders.monitor) rearm(alertsOf(orders, input));
			return NOTHING;
		case "stop": return await onStoryStop(orders.root, input, orders);
		case "command":
		case "prompt":
		case "peek":
		case void 0: return NOTHING;
		default: return moment;
	}
}
function alertsOf({ run }, { sessionId }) {
	return runPathsIn(run).contextAlerts(sessionId);
}
function guarded(orders, input) {
	if (orders.run === "") return refusal(["its orders cannot be read, so nothing can be judged."]).answer;
	if (!orders.guard) return NOTHING;
	const { answer, refused, warned } = guard(orders.guard, orders.root, input);
	const notes = runPathsIn(orders.run).hookNotes;
	for (const what of refused) leaveNote(notes, {
		type: "violation",
		violation: {
			what,
			restored: true,
			refused: true
		}
	});
	for (const text of warned) leaveNote(notes, {
		type: "notice",
		level: "warning",
		text: `Guard: ${text}`
	});
	return answer;
}
// src/hooks/main.ts
async function runHook(host, event, stdin, env, byRun = false) {
	const orders = readOrders(env);
	if (orders && orders.given !== byRun) return "";
	const dialect = dialectFor(host, stdin, env);
	const input = dialect?.readInput(stdin);
	if (!dialect) return "";
	if (!input || input.sessionId === "") return unreadable(dialect, event, orders);
	const root = dialect.rootOf(input, env);
	if (root === "" && !orders) return "";
	try {
		return dialect.writeAnswer(event, await answerTo(dialect, event, root, input, orders, env));
	} catch (error) {
		const why = error instanceof Error ? error.message : String(error);
		if (dialect.moments[event] === "before-tool") return dialect.writeAnswer(event, refusal([`it could not be judged (${why}).`]).answer);
		return dialect.writeAnswer(event, {
			kind: "say",
			message: `\u26a0\ufe0f Ralph: the ${event} hook failed and let the agent pass: ${why}`
		});
	}
}
function unreadable(dialect, event, orders) {
	if (!orders?.guard || dialect.moments[event] !== "before-tool") return "";
	return dialect.writeAnswer(event, refusal(["the call cannot be read, so it cannot be judged."]).answer);
}
async function answerTo(dialect, event, root, input, orders, env) {
	const moment = dialect.moments[event];
	if (orders) return await carryOut(orders, moment, input);
	if (moment === void 0) return NOTHING;
	if (WRITERS.includes(moment) || hasRefusedStops(root, input.sessionId)) takeTally(root, input.sessionId);
	const answer = await inSession(dialect, moment, root, input);
	if (moment !== "peek") openGate(root, dialect, input, env);
	return answer;
}
const WRITERS = [
	"command",
	"prompt",
	"tools",
	"stop"
];
async function inSession(dialect, moment, root, input) {
	switch (moment) {
		case "start": return onStart(root, input);
		case "command": return onCommand(root, dialect, input);
		case "prompt": return input.commandName === "" ? onPrompt(root, dialect, input) : onCommand(root, dialect, input);
		case "before-tool": return onTool(root, input);
		case "tools": return onTools(root, input);
		case "peek": return await onStop(root, dialect, input, NO_DEEDS);
		case "stop": {
			const answer = await onStop(root, dialect, input);
			return answer.kind === "nothing" ? await onStoryStop(root, input) : answer;
		}
		default: return moment;
	}
}
const NEXT = "next";
function onPrompt(root, { host }, input) {
	const { sessionId, promptId, prompt } = input;
	const file = findSession(root, sessionId) ?? findSession(root, NEXT);
	if (!file?.state.active) return NOTHING;
	const { state, path } = file;
	if (state.sessionId === NEXT) {
		const runId = state.runId || openRun(root, state, host);
		writeSession(path, {
			...state,
			sessionId,
			promptId,
			runId
		});
		return {
			kind: "context",
			context: contract(state)
		};
	}
	if (prompt.startsWith("<task-notification>")) writeSession(path, {
		...state,
		promptId
	});
	else if (promptId === null && !prompt.includes(state.task)) writeSession(path, {
		...state,
		active: false
	});
	return NOTHING;
}
function onStart(root, input) {
	rearmSession(root, input);
	const file = findSession(root, input.sessionId);
	if (input.source !== "compact" || !file?.state.active) return NOTHING;
	return {
		kind: "context",
		context: contract(file.state)
	};
}
function onTools(root, input) {
	const file = findSession(root, input.sessionId);
	if (file) writeSession(file.path, afterTools(file.state, input.toolCalls));
	return watchSession(root, input);
}
exports.runHook = runHook;
