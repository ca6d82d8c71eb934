/** Searches of audit logs: which events match, which files are read, and the example of docs/audit.md. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { audit } from '#cmd/orchctl/commands/audit/audit.js';
import { backupsOf } from '#cmd/orchctl/commands/audit/lines.js';
import { run } from '#cmd/orchctl/run.js';

interface Fields {
  readonly user?: string;
  readonly as?: string;
  readonly verb?: string;
  readonly code?: number;
  readonly uri?: string;
  readonly ref?: object;
  readonly at?: string;
  readonly stage?: string;
  readonly id?: string;
}

let ids = 0;

function line({
  user = 'jane',
  as,
  verb = 'get',
  code,
  uri = '/x',
  ref,
  at = '08:00:00',
  stage = 'ResponseComplete',
  id,
}: Fields): string {
  ids += 1;
  const time = `2022-05-03T${at}.000000Z`;
  return JSON.stringify({
    kind: 'Event',
    apiVersion: 'audit.orch.io/v1',
    level: 'Metadata',
    auditID: id ?? `id-${ids}`,
    stage,
    requestURI: uri,
    verb,
    user: { username: user },
    impersonatedUser: as === undefined ? undefined : { username: as },
    sourceIPs: ['192.0.2.1'],
    userAgent: 'tester/1',
    objectRef: ref,
    responseStatus: code === undefined ? undefined : { code },
    requestReceivedTimestamp: time,
    stageTimestamp: `2022-05-03T${at}.012000Z`,
  });
}

const pod = (name: string, more: object = {}) => ({
  resource: 'pods',
  namespace: 'shop',
  name,
  apiVersion: 'v1',
  ...more,
});
const deployment = { resource: 'deployments', apiGroup: 'apps', namespace: 'shop', name: 'web', subresource: 'scale' };

const log = [
  line({ verb: 'delete', ref: pod('web-0'), code: 403, at: '08:00:01' }),
  line({ verb: 'get', ref: pod('web-0'), code: 200, at: '08:00:02' }),
  line({ user: 'root', verb: 'delete', ref: pod('web-1'), code: 200, at: '08:00:03' }),
  line({ user: 'root', as: 'jane', verb: 'update', ref: deployment, code: 409, at: '08:00:07' }),
  line({ verb: 'get', uri: '/metrics?x=1', code: 403, at: '08:00:09' }),
  line({ user: 'system:node:n1', verb: 'get', ref: pod('db-0', { namespace: 'bank' }), code: 404, at: '08:00:11' }),
];

async function folderFor(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'orchctl-audit-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function search(args: readonly string[], input = '') {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await run([audit], ['audit', ...args], {
    stdin: Readable.from([Buffer.from(input)]) as unknown as NodeJS.ReadStream,
    out: { write: (part) => out.push(part.toString()), isTTY: false },
    err: { write: (part) => err.push(part.toString()) },
    env: {},
    clock: new VirtualClock(Date.parse('2022-05-03T08:00:12Z')),
    signal: new AbortController().signal,
    onResize: () => () => undefined,
  });
  return { out: out.join(''), err: err.join(''), code };
}

/** The places in the log of the events that a search shows. */
async function placesOf(args: readonly string[], lines: readonly string[] = log): Promise<number[]> {
  const { out } = await search([...args, '-o', 'json'], lines.join('\n'));
  return out
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => lines.indexOf(text));
}

t.test('which events match', async (t) => {
  const rows: readonly (readonly [args: string, places: number[]])[] = [
    ['', [0, 1, 2, 3, 4, 5]],
    ['--user jane', [0, 1, 3, 4]],
    ['--user root', [2, 3]],
    ['--user system:node:*', [5]],
    ['--user jane,root --verb delete', [0, 2]],
    ['--verb get,update', [1, 3, 4, 5]],
    ['--object pods', [0, 1, 2, 5]],
    ['--object pods/web-0', [0, 1]],
    ['--object pods/web-*', [0, 1, 2]],
    ['--object pods/*-0', [0, 1, 5]],
    ['--object deployments', [3]],
    ['--object deployments.apps/web', [3]],
    ['--object deployments.batch', []],
    ['--object pods.apps', []],
    ['--object * -n bank', [5]],
    ['-n shop --code 2xx', [1, 2]],
    ['--subresource scale', [3]],
    ['--path /metrics', [4]],
    ['--path /met*', [4]],
    ['--code 403', [0, 4]],
    ['--code 4xx', [0, 3, 4, 5]],
    ['--code 404-409', [3, 5]],
    ['--code 403,404', [0, 4, 5]],
    ['--since 5s', [3, 4, 5]],
    ['--since-time 2022-05-03T08:00:03Z --until-time 2022-05-03T08:00:09Z', [2, 3]],
    ['--user nobody', []],
  ];
  for (const [args, places] of rows) t.same(await placesOf(args.split(' ').filter((arg) => arg !== '')), places, args);
  const [first = ''] = log;
  t.same(await placesOf(['--id', JSON.parse(first).auditID as string]), [0], 'an audit ID');
});

t.test('a request has one row, its end', async (t) => {
  const own = (id: string, stage: string, more: Fields = {}) => line({ id, stage, ...more });
  const lines = [
    own('a', 'RequestReceived'),
    own('b', 'RequestReceived'),
    own('a', 'ResponseComplete', { code: 200 }),
    own('b', 'ResponseStarted', { code: 200 }),
    own('c', 'RequestReceived'),
    own('d', 'Panic', { code: 500 }),
  ];
  t.same(await placesOf([], lines), [2, 5, 3, 4], 'and its last stage, if the log has no end');
  t.same(await placesOf(['--all-stages'], lines), [0, 1, 2, 3, 4, 5]);
});

t.test('rows, and text that clients choose', async (t) => {
  const hostile = line({ user: 'a\u001b[31m\nb', uri: `/${'x'.repeat(300)}\u0007`, verb: 'get', code: 404 });
  const { out, err } = await search(['-o', 'wide'], `${log[3]}\n${hostile}\nno event\n{"kind":"Pod"}\n`);
  const [header = '', first = '', second = ''] = out.split('\n');
  t.strictSame(header.split(/ {2,}/), [
    'TIME',
    'USER',
    'VERB',
    'NAMESPACE',
    'OBJECT',
    'CODE',
    'DURATION',
    'SOURCE',
    'AGENT',
    'ID',
  ]);
  t.match(
    first,
    /^2022-05-03T08:00:07.000Z {3}root as jane +update +shop +deployments.apps\/web\/scale +409 +12ms +192.0.2.1 +tester\/1 +id-/,
  );
  t.match(second, /a\?\[31m\?b +get +- +\/x{199}… +404/);
  t.match(err, 'Warning: 2 lines are no events in JSON, and were left out');
  t.match(await search(['--user', 'nobody'], log.join('\n')), { out: '', err: 'No event matches.\n', code: 0 });
  t.notMatch((await search(['--no-headers'], log.join('\n'))).out, /TIME/);
});

t.test('rotated and compressed files are read first', async (t) => {
  const folder = await folderFor(t);
  const path = join(folder, 'audit.log');
  const event = (user: string) => `${line({ user })}\n`;
  await writeFile(path, event('now'));
  await writeFile(join(folder, 'audit-2022-05-03T07-00-00.000.log'), event('later'));
  await writeFile(join(folder, 'audit-2022-05-02T07-00-00.000.log.gz'), gzipSync(event('first') + event('second')));
  await writeFile(join(folder, 'audit-other.log'), event('other'));
  const users = async (args: readonly string[]) => {
    const { out } = await search([...args, '-o', 'json']);
    return [...out.matchAll(/"username":"(\w+)"/g)].map((match) => match[1]);
  };
  t.same(await users([path]), ['first', 'second', 'later', 'now']);
  t.same(await users([path, '--one-file']), ['now']);
  t.same(await users([path, '--since', '2h']), ['later', 'now'], 'older files are not read');
  t.same(await users([join(folder, 'audit-2022-05-02T07-00-00.000.log.gz')]), ['first', 'second'], 'a compressed file');
  const names = [
    'audit-2022-05-03T07-00-00.000.log',
    'audit-2022-05-03T07-00-00.000.txt',
    'x-2022-05-03T07-00-00.000.log',
  ];
  t.same(backupsOf('audit.log', names, Number.NEGATIVE_INFINITY), ['audit-2022-05-03T07-00-00.000.log']);
});

t.test('wrong usage and files that cannot be read', async (t) => {
  t.match(await search(['--code', '40']), { code: 1, err: /--code: "40" is none of 403, 4xx and 400-499/ });
  t.match(await search(['--since-time', 'noon']), { code: 1, err: /"noon" is not a time/ });
  t.match(await search(['/nonexistent/audit.log']), { code: 1, err: /error: \/nonexistent\/audit.log: ENOENT/ });
  const folder = await folderFor(t);
  const broken = join(folder, 'a.gz');
  await writeFile(broken, gzipSync('x'.repeat(1000)).subarray(0, 20));
  t.match(await search([broken]), { code: 1, err: /a.gz: / }, 'a truncated file');
});

t.test('the example of the documentation', async (t) => {
  const page = await readFile(fileURLToPath(new URL('../../../../../docs/audit.md', import.meta.url)), 'utf8');
  const [, command = '', output = ''] =
    /```sh\norchctl (audit audit\.log [^\n]*)\n```\n\n```\n([^`]*)```/.exec(page) ?? [];
  const folder = await folderFor(t);
  await writeFile(join(folder, 'audit.log'), log.map((text) => text.replace('/metrics?x=1', '/metrics')).join('\n'));
  const args = command
    .split(' ')
    .slice(1)
    .map((arg) => (arg === 'audit.log' ? join(folder, arg) : arg));
  t.equal((await search(args)).out, output);
});
