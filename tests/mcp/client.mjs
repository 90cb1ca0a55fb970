// SPDX-License-Identifier: MIT
//
// The official client of the protocol against `pale mcp`, for tests/live/mcp-clients.t.
//
//     node client.mjs SCENARIO SERVER [ARGS…]
//
// Prints one JSON object per line: {ok, name, why} is a test; {ask, …} is something that
// the test itself must do, and answers with a line. PALE_MCP_CLIENTS is the folder that
// tools/deps installed the client into.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(process.env.PALE_MCP_CLIENTS + '/package.json');
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const types = require('@modelcontextprotocol/sdk/types.js');
const Ajv = require('ajv/dist/2020.js').default;

const [scenario, ...server] = process.argv.slice(2);
const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');
const ok = (cond, name, why) => say({ ok: Boolean(cond), name, why: cond ? undefined : JSON.stringify(why) });
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function ask(what, more = {}) {
	say({ ask: what, ...more });
	return (await lines.next()).value;
}

async function until(predicate, ms = 10000) {
	for (const end = Date.now() + ms; Date.now() < end; await pause(20))
		if (predicate()) return true;
	return Boolean(predicate());
}

// The client asks for the newest version that it knows; VERSION makes it ask for another.
class Transport extends StdioClientTransport {
	constructor(version) {
		super({ command: server[0], args: server.slice(1), env: process.env, stderr: 'inherit' });
		this.version = version;
	}
	setProtocolVersion(version) {
		this.agreed = version;
	}
	send(message, ...more) {
		if (this.version && message.method === 'initialize') message.params.protocolVersion = this.version;
		return super.send(message, ...more);
	}
}

async function connect(version) {
	const client = new Client({ name: 'pale-test', version: '1' }, { capabilities: {} });
	const transport = new Transport(version);
	const told = [];

	client.fallbackNotificationHandler = async (message) => told.push(message.method);
	await client.connect(transport);
	return { client, agreed: transport.agreed, told };
}

const text = (result) => result.content.map((part) => part.text ?? '').join('\n');
const plainCall = (client, name, args = {}, options) =>
	client.callTool({ name, arguments: args }, undefined, options);

// By the schemas of the list, as strict as they come: what they say, what answers hold.
const checks = new Map();
const seen = new Map();
function learn(list) {
	const ajv = new Ajv({ strict: true, allowUnionTypes: true });
	for (const tool of list) {
		ajv.compile(tool.inputSchema);
		checks.set(tool.name, { valid: ajv.compile(tool.outputSchema), schema: tool.outputSchema });
		seen.set(tool.name, new Set());
	}
}
const wrong = [];
async function call(client, name, args = {}, options) {
	const result = await plainCall(client, name, args, options);
	const check = checks.get(name);
	if (check && result.structuredContent) {
		Object.keys(result.structuredContent).forEach((key) => seen.get(name).add(key));
		if (!check.valid(result.structuredContent)) wrong.push([name, args, check.valid.errors]);
	}
	return result;
}

const TOOLS = ['run', 'exec', 'output', 'read', 'write', 'edit', 'grep', 'glob', 'diff', 'commands',
	'sandbox_info', 'sandbox_status'];
const NEVER = ['apply', 'undo', 'allow', 'register_command', 'unregister_command', 'discard', 'signal'];

async function tools() {
	const { client } = await connect();
	const list = (await client.listTools()).tools;
	const names = list.map((tool) => tool.name);

	learn(list);
	ok(client.getServerVersion().name === 'pale', 'the server says who it is', client.getServerVersion());
	ok(JSON.stringify([...names].sort()) === JSON.stringify([...TOOLS].sort()), 'a dozen tools', names);
	ok(!NEVER.some((name) => names.includes(name)), 'nothing among them that loosens or applies', names);
	ok(list.every((tool) => tool.description && tool.inputSchema.type === 'object' &&
		tool.inputSchema.additionalProperties === false && tool.annotations), 'each with a schema and hints', list);
	for (const [name, reads] of [['read', true], ['grep', true], ['exec', false], ['write', false]])
		ok(list.find((tool) => tool.name === name).annotations.readOnlyHint === reads,
			`${name} ${reads ? 'reads only' : 'changes things'}`, name);

	// Every answer is checked against its outputSchema by the client itself.
	let r = await call(client, 'exec', { command: 'echo out; echo err >&2; exit 3' });
	ok(r.structuredContent?.outcome === 'failed' && /out/.test(text(r)) && /err/.test(text(r)),
		'exec: a line for the shell', r);
	ok(r.structuredContent?.exit_code === 3, 'exec: its exit code', r.structuredContent);
	r = await call(client, 'exec', { argv: ['printf', '%s|', 'a b', '$HOME', '--x'] });
	ok(!r.isError && text(r).includes('a b|$HOME|--x|'), 'exec: a list, and no shell', r);
	r = await call(client, 'exec', { command: 'echo $WORD; pwd', env: { WORD: 'hello' }, cwd: 'sub' });
	ok(!r.isError && /hello/.test(text(r)) && /\/sub/.test(text(r)), 'exec: env and cwd', r);
	await call(client, 'exec', { command: 'cd sub; export WORD=kept', shell: true });
	r = await call(client, 'exec', { command: 'echo "$PWD $WORD"', shell: true });
	ok(/\/sub kept/.test(text(r)), 'exec: a shell that goes on', r);
	r = await call(client, 'exec', { command: 'sleep 60', timeout: '300ms' });
	ok(r.structuredContent?.outcome === 'timeout', 'exec: timeout', r);
	r = await call(client, 'exec', { command: 'cat ~/.ssh/id_rsa; cat /etc/shadow; echo x >/etc/new' });
	ok(!/CANARY/.test(JSON.stringify(r)) && r.structuredContent?.violations?.length > 0,
		'exec: what was refused is told', r);
	r = await call(client, 'run', { name: 'greet', args: ['you'] });
	ok(!r.isError && /hello you/.test(text(r)), 'run: a registered command', r);
	r = await call(client, 'commands');
	ok(JSON.stringify(r.structuredContent).includes('greet'), 'commands: it is listed', r);

	r = await call(client, 'exec', { command: 'echo first; sleep 0.5; echo second', background: true });
	const id = r.structuredContent?.run;
	ok(typeof id === 'string' && id, 'exec: in the background', r);
	let out = '';
	await until(() => false, 1500);
	r = await call(client, 'output', { id });
	out = text(r) + JSON.stringify(r.structuredContent);
	ok(/first/.test(out) && /second/.test(out), 'output: what it printed', r);
	ok(r.structuredContent.exit_code === 0 && /ok, exit code 0/.test(text(r)), 'output: how it ended', r);

	r = await call(client, 'read', { path: 'hello.txt' });
	ok(!r.isError && /one line/.test(text(r)), 'read', r);
	r = await call(client, 'edit', { path: 'hello.txt', old: 'one', new: 'another' });
	ok(!r.isError, 'edit', r);
	r = await call(client, 'read', { path: 'hello.txt' });
	ok(/another line/.test(text(r)), 'read: the edited text', r);
	r = await call(client, 'write', { path: 'new/deep.txt', content: 'needle \u00e9\n' });
	ok(!r.isError, 'write', r);
	r = await call(client, 'grep', { pattern: 'needle', fixed: true });
	ok(/new\/deep\.txt/.test(text(r) + JSON.stringify(r.structuredContent)), 'grep', r);
	r = await call(client, 'glob', { pattern: '**/*.txt' });
	ok(/hello\.txt/.test(text(r)) && /deep\.txt/.test(text(r)), 'glob', r);
	r = await call(client, 'diff');
	ok(!r.isError, 'diff', r);
	r = await call(client, 'sandbox_info', { command: 'greet' });
	ok(!r.isError && r.structuredContent, 'sandbox_info', r);
	r = await call(client, 'sandbox_status');
	ok(!r.isError && r.structuredContent, 'sandbox_status', r);

	for (const [name, args] of [['read', { path: '../../outside' }], ['read', { path: 'no-such-file' }],
		['edit', { path: 'hello.txt', old: 'not in there', new: 'x' }], ['run', { name: 'no-such-command' }]]) {
		r = await call(client, name, args).catch((error) => ({ isError: true, error: String(error) }));
		ok(r.isError, `${name} ${JSON.stringify(args)}: an error that the model sees`, r);
	}
	await call(client, 'exec', { argv: ['no-such-program'] });
	await call(client, 'exec', { command: 'kill -9 $$' });
	await call(client, 'read', { path: 'new/deep.txt', limit: 1 });
	await call(client, 'glob', { pattern: '**', max: 1 });
	await call(client, 'grep', { pattern: '.', max: 1 });
	await call(client, 'diff', { stat: true });
	ok(wrong.length === 0, 'every answer is what its schema says', wrong);
	const missing = [...checks].flatMap(([name, { schema }]) => Object.keys(schema.properties)
		.filter((key) => !seen.get(name).has(key)).map((key) => `${name}.${key}`));
	ok(missing.every((key) => /limit$|notice$|^run[.]|^diff[.]/.test(key)), 'and has what it promises', missing);
	r = await call(client, 'exec', { line: 'x' }).catch(() => ({}));
	ok(r.isError && /command/.test(text(r)), 'what is wrong with arguments is told to the model', r);
	for (const [name, args] of [['exec', {}], ['exec', { command: 1 }], ['exec', { line: 'x' }], ['apply', {}]]) {
		r = await call(client, name, args).then((result) => result, (error) => error);
		ok(r instanceof Error || r.isError, `${name} ${JSON.stringify(args)}: refused`, r);
	}
	await client.close();
}

async function progress() {
	const { client } = await connect();
	const seen = [];
	const r = await call(client, 'exec', { command: 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done' },
		{ onprogress: (p) => seen.push(p.progress) });

	ok(!r.isError, 'a slow call ends', r);
	ok(seen.length > 0, `progress was told ${seen.length} times`, seen);
	ok(seen.every((value, i) => i === 0 || value > seen[i - 1]), 'and always grew', seen);
	await client.close();
}

async function cancel() {
	const { client } = await connect();
	const mark = process.env.MARK;
	const stop = new AbortController();
	const begin = Date.now();
	const running = call(client, 'exec', { argv: ['sh', '-c', 'sleep 300; :', mark] }, { signal: stop.signal })
		.then(() => null, (error) => error);

	ok((await ask('running', { mark })) === 'yes', 'it runs');
	stop.abort('enough');
	const error = await running;
	ok(error instanceof Error, 'the call is given up', String(error));
	ok((await ask('gone', { mark })) === 'yes', 'and what it ran has ended');
	ok(Date.now() - begin < 20000, 'soon');
	const r = await call(client, 'exec', { command: 'echo still here' });
	ok(/still here/.test(text(r)), 'the next call works', r);
	await client.ping();
	ok(true, 'and so does a ping');
	const all = await Promise.all([...Array(12).keys()].map((i) => call(client, 'exec', { command: `echo n${i}` })));
	ok(all.every((result, i) => text(result).includes(`n${i}`)), 'many at once, each with its own answer', all);
	await client.close();
}

async function changed() {
	const { client, told } = await connect();
	const before = (await client.listTools()).tools.map((tool) => tool.name);

	ok(client.getServerCapabilities().tools?.listChanged, 'changes of the list are promised',
		client.getServerCapabilities());
	await ask('config', { text: '[mcp]\nexpose = ["events", "history"]\n' });
	ok(await until(() => told.includes('notifications/tools/list_changed')), 'and told', told);
	const after = (await client.listTools()).tools.map((tool) => tool.name);
	ok(!before.includes('events') && after.includes('events') && after.includes('history'),
		'the new list has what the user exposed', after);
	const r = await call(client, 'events');
	ok(!r.isError, 'and it can be called', r);
	await client.close();
}

async function resources() {
	const { client } = await connect();
	const list = (await client.listResources()).resources.map((resource) => resource.uri);
	const wanted = ['pale://status', 'pale://events', 'pale://commands', 'pale://stage/diff'];

	ok(wanted.every((uri) => list.includes(uri)), 'the four resources', list);
	await call(client, 'exec', { command: 'echo x >/etc/refused' });
	for (const uri of wanted) {
		const r = await client.readResource({ uri });
		ok(r.contents.length > 0 && r.contents[0].uri === uri && typeof r.contents[0].text === 'string',
			`${uri} is read`, r);
	}
	const error = await client.readResource({ uri: 'pale://no-such' }).then(() => null, (e) => e);
	ok(error instanceof Error, 'another is refused', String(error));
	const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
	ok(prompts.includes('sandbox'), 'the prompt', prompts);
	const prompt = await client.getPrompt({ name: 'sandbox' });
	ok(prompt.messages.length > 0 && prompt.messages[0].content.text.length > 20, 'it says something', prompt);
	await client.close();
}

async function versions() {
	const known = types.SUPPORTED_PROTOCOL_VERSIONS;

	for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
		ok(known.includes(version), `${version}: the client knows it`, known);
		const { client, agreed } = await connect(version);
		ok(agreed === version, `${version}: agreed on`, agreed);
		ok((await client.listTools()).tools.length === TOOLS.length, `${version}: the tools`);
		const r = await call(client, 'exec', { command: 'echo hello' });
		ok(/hello/.test(text(r)), `${version}: a call`, r);
		ok((r.structuredContent !== undefined) === (version >= '2025-06-18'),
			`${version}: structured content where the version has it`, r);
		await client.close();
	}
	const { client, agreed } = await connect('1999-01-01');
	ok(known.includes(agreed), 'asked for an unknown one, the server offers one of its own', agreed);
	await client.close();
}

const scenarios = { tools, progress, cancel, changed, resources, versions };
try {
	await scenarios[scenario]();
	say({ done: true });
} catch (error) {
	ok(false, `${scenario} raised`, String(error?.stack ?? error));
}
process.exit(0);
