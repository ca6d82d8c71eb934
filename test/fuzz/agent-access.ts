/**
 * A fuzzer for authorization in the node agent: random accounts send requests with altered paths, plain and as
 * upgrades. The content of a response shows what it reveals; the account must have had exactly that right.
 */

import { once } from 'node:events';
import { connect } from 'node:tls';
import { Registry } from 'prom-client';
import { pods } from '#api/core/v1/resources.gen.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { unauthorized } from '#apimachinery/errors/status.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { silentLogger } from '#daemon/log/logger.js';
import type { DelegatedAuth } from '#daemon/serving/delegated-auth.js';
import { loadServingCertificates } from '#daemon/serving/serving-certificate.js';
import { serveAgent } from '#nodeagent/server/server.js';
import { eventually, nodeName, startAgent, testPod, testResources } from '#nodeagent/testing/agent-fixture.js';

export const parts = ['metrics', 'stats', 'log', 'spec', 'proxy'] as const;
const verbOf: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
const methods = ['GET', 'GET', 'GET', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

/** Paths of the agent, with the node subresource that release 1.24 requires. */
export const targets = [
  { path: '/exec/default/web/main?command=echo&command=made&output=1', part: 'proxy', protocol: 'v4.channel.k8s.io' },
  { path: '/attach/default/web/main?output=1', part: 'proxy', protocol: 'v4.channel.k8s.io' },
  { path: '/portForward/default/web', part: 'proxy', protocol: 'SPDY/3.1+portforward.k8s.io' },
  { path: '/containerLogs/default/web/main', part: 'proxy', protocol: '' },
  { path: '/pods', part: 'proxy', protocol: '' },
  { path: '/runningpods/', part: 'proxy', protocol: '' },
  { path: '/configz', part: 'proxy', protocol: '' },
  { path: '/healthz', part: 'proxy', protocol: '' },
  { path: '/stats/summary', part: 'stats', protocol: '' },
  { path: '/metrics', part: 'metrics', protocol: '' },
  { path: '/metrics/cadvisor', part: 'metrics', protocol: '' },
  { path: '/metrics/resource', part: 'metrics', protocol: '' },
  { path: '/metrics/probes', part: 'metrics', protocol: '' },
] as const;

/** Identifies the content of a response by text that only it contains. */
const contents: readonly [pattern: RegExp, part: string][] = [
  [/^# (HELP|TYPE) /m, 'metrics'],
  [/"podRef"/, 'stats'],
  [/"kind":"PodList"/, 'proxy'],
  [/written by the container/, 'proxy'],
  [/configuration of the agent/, 'proxy'],
  [/^ok$/m, 'proxy'],
];

export interface AccessAnswer {
  readonly status: number;
  readonly body: string;
}

export interface AccessRequest {
  /** `verb part` for each right on the node, such as `get metrics`. */
  readonly rights: readonly string[];
  readonly method: string;
  readonly target: string;
  /** Protocol to upgrade to; empty for none. */
  readonly upgrade: '' | 'websocket' | 'SPDY/3.1' | 'h2c';
  readonly protocol: string;
}

/** The violation of a response; undefined if it reveals nothing beyond the account's rights. */
export function judge({ rights, method }: AccessRequest, { status, body }: AccessAnswer): string | undefined {
  const verb = verbOf[method] ?? '';
  const may = (part: string) => rights.includes(`${verb} ${part}`);
  if (status === 101) return may('proxy') ? undefined : 'a session was opened';
  if (status >= 300) return undefined;
  // A response without body reveals existence, which requires a right to read one of the parts.
  if (method === 'HEAD' || method === 'OPTIONS') return parts.some(may) ? undefined : `${method} was answered`;
  const part = contents.find(([pattern]) => pattern.test(body))?.[1];
  if (part === undefined) return `an answer of unknown content: ${body.slice(0, 200)}`;
  return may(part) ? undefined : `content of nodes/${part} was given away`;
}

const upgrades = ['websocket', 'websocket', 'SPDY/3.1', 'SPDY/3.1', 'h2c'] as const;
const dots = ['..', '%2e%2e', '.%2E', '%252e%252e', '..;', '..%00', '%u002e%u002e', '.%09.', '%c0%ae%c0%ae'];
const slashes = ['/', '/', '/', '%2f', '\\', '%5c', '//', '%252f', '/./', ';/', '/%2e/', '\t/'];
const fronts = [
  '/stats',
  '/metrics',
  '/stats/summary',
  '/logs',
  '/spec',
  '/stats%2f',
  '/metrics;x',
  '',
  '/a',
  '/healthz',
];

class AccessRequests {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  next(): AccessRequest {
    const { path, protocol } = this.#pick(targets);
    const verbs = [...new Set(methods.map((method) => verbOf[method] ?? ''))];
    const rights = parts
      .filter(() => this.#chance(0.3))
      .flatMap((part) => verbs.filter(() => this.#chance(0.7)).map((verb) => `${verb} ${part}`));
    return {
      rights,
      method: this.#pick(methods),
      target: this.#chance(0.3) ? path : this.#bend(path),
      upgrade: this.#chance(protocol === '' ? 0.2 : 0.9) ? this.#pick(upgrades) : '',
      protocol: protocol === '' ? 'v4.channel.k8s.io' : protocol,
    };
  }

  #bend(path: string): string {
    let bent: string = path;
    if (this.#chance(0.6)) {
      const front = this.#pick(fronts);
      const up = front
        .split('/')
        .slice(1)
        .map(() => this.#pick(slashes) + this.#pick(dots))
        .join('');
      bent = front + up + (this.#chance(0.7) ? '' : this.#pick(slashes)) + path;
    }
    if (this.#chance(0.15))
      bent = `${this.#pick(['https://localhost', 'http://x', 'https://a@b:1', 'https:', '/', '/\\', '*', 'x'])}${bent}`;
    if (this.#chance(0.15))
      bent += this.#pick(['#', '#/../metrics', '?', '?/stats/', '/', '//', '/.', '/..', '%00', '%23', ';', '%3f', '%']);
    if (this.#chance(0.3)) bent = this.#changeCharacter(bent);
    return bent;
  }

  #changeCharacter(text: string): string {
    const at = Math.floor(this.#random() * text.length);
    const here = text[at] ?? '/';
    const code = here.charCodeAt(0);
    const hex = code.toString(16).padStart(2, '0');
    const changed = this.#pick([
      `%${hex}`,
      `%25${hex}`,
      here.toUpperCase(),
      here + here,
      '',
      '/',
      '\\',
      '%',
      String.fromCharCode(128 + code),
      '\x0b',
    ]);
    return text.slice(0, at) + changed + text.slice(at + 1);
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T;
  }
}

/** A token lists the rights of its bearer. */
const auth: DelegatedAuth = {
  authenticator: {
    authenticate: async ({ headers }) => {
      const token = /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1];
      if (token === undefined) throw unauthorized();
      return { name: 'account', groups: JSON.parse(Buffer.from(token, 'base64url').toString()) as string[] };
    },
  },
  authorizer: {
    authorize: async (user, attributes) => {
      const allowed =
        'resource' in attributes &&
        attributes.resource === 'nodes' &&
        attributes.name === nodeName &&
        user.groups.includes(`${attributes.verb} ${attributes.subresource}`);
      return { allowed, reason: '' };
    },
  },
  asksForCertificates: false,
  clientCaPems: [],
};

export interface AgentUnderTest {
  send(request: AccessRequest): Promise<AccessAnswer>;
  close(): Promise<void>;
}

/** An agent with one running pod; its server authenticates such tokens. */
export async function agentUnderTest(clock: Clock = realClock): Promise<AgentUnderTest> {
  const metrics = new Registry();
  const certificates = await loadServingCertificates({
    values: {
      'tls-cert-file': '',
      'tls-private-key-file': '',
      'tls-sni-cert-key': [],
      'cert-dir': '',
      'bind-address': '127.0.0.1',
    },
    name: 'agent',
    clock,
  });
  const debug = new DebugEndpoints({ argv: ['agent'], configz: { kind: 'configuration of the agent' } });
  const fixture = startAgent({
    api: new FakeApi({ dialect: orchDialect, clock, resources: testResources }),
    args: ['--port=0', '--address=127.0.0.1'],
    dependencies: {
      server: (input) => serveAgent(input, { certificates, auth, nodeName, clock, log: silentLogger, metrics, debug }),
      metrics,
    },
  });
  await fixture.agent.ready();
  const command = ['sh', '-c', 'echo written by the container; sleep 1000'];
  // With a probe, so that there are probe metrics.
  const readinessProbe = { tcpSocket: { port: 80 }, periodSeconds: 1 };
  const main = { name: 'main', image: 'docker.io/test/app:1.0', command, readinessProbe };
  fixture.api.seed(pods, testPod('web', { containers: [main] }));
  const isReady = () =>
    fixture.api.get(pods, 'default/web')?.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True');
  await eventually(() => isReady() === true, 'the pod is ready');
  return { send: (request) => send(fixture.agent.port, request), close: () => fixture.stop() };
}

async function send(port: number, { rights, method, target, upgrade, protocol }: AccessRequest): Promise<AccessAnswer> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  const token = Buffer.from(JSON.stringify(rights)).toString('base64url');
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${token}`];
  if (upgrade !== '') lines.push('Connection: Upgrade', `Upgrade: ${upgrade}`);
  if (upgrade === 'SPDY/3.1') {
    lines.push(`X-Stream-Protocol-Version: ${protocol.startsWith(upgrade) ? 'portforward.k8s.io' : protocol}`);
  } else if (upgrade === 'websocket') {
    lines.push('Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==');
    lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
  } else if (upgrade === '') lines.push('Connection: close');
  socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  let text = '';
  try {
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.startsWith('HTTP/1.1 101 ')) break;
    }
  } catch (error) {
    // A broken connection counts as complete.
    if (text === '') text = `HTTP/1.1 599 ${String(error)}\r\n\r\n`;
  }
  socket.destroy();
  const status = Number(/^HTTP\/1\.1 (\d+) /.exec(text)?.[1] ?? 599);
  return { status, body: text.slice(text.indexOf('\r\n\r\n') + 4) };
}

export interface AccessFuzzResult {
  /** Number of requests by response status. */
  readonly answers: ReadonlyMap<number, number>;
  /** Violations with their requests. */
  readonly problems: readonly { readonly problem: string; readonly request: AccessRequest }[];
}

const atOnce = 8;

/** Sends requests until `more` returns false. */
export async function fuzzAgentAccess(seed: number, more: (sent: number) => boolean): Promise<AccessFuzzResult> {
  const agent = await agentUnderTest();
  const requests = new AccessRequests(seed);
  const answers = new Map<number, number>();
  const problems: AccessFuzzResult['problems'][number][] = [];
  let sent = 0;
  const lane = async () => {
    while (more(sent)) {
      sent += 1;
      const request = requests.next();
      const answer = await agent.send(request);
      answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1);
      const problem = judge(request, answer);
      if (problem !== undefined) problems.push({ problem, request });
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, lane));
  } finally {
    await agent.close();
  }
  return { answers, problems };
}
