function __lazily(id) {
	let module;
	return new Proxy({}, { get: (_, name) => (module ??= require(id))[name] });
}
let node_fs = require("node:fs");
let node_path = require("node:path");
let node_module = require("node:module");
const node_os = __lazily("node:os");
const node_vm = __lazily("node:vm");
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
function removeQuietly(path) {
	try {
		(0, node_fs.rmSync)(path, { force: true });
	} catch {}
}
let counter = 0;
function beside(path) {
	return `${path}.${process.pid}-${counter++}.tmp`;
}
function errorCode(error) {
	return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : void 0;
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
// src/hooks/bin.ts
const [host = "claude", event = "", by] = process.argv.slice(2);
const name = /^[A-Za-z.-]{1,30}$/.exec(event)?.[0] ?? "other";
const { runHook } = loadWithCache((0, node_path.join)(__dirname, "ralph-hook-main.cjs"), `hook-${name}`, process.env);
runHook(host, event, (0, node_fs.readFileSync)(0, "utf8"), process.env, by === "run").then((answer) => {
	for (let rest = Buffer.from(answer); rest.length > 0;) rest = rest.subarray((0, node_fs.writeSync)(1, rest));
});
