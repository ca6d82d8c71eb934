/**
 * Compares this server's answers with those of kube-apiserver 1.24.17 in `recorded/testdata`. `RECORD=https://127.0.0.1:6443
 * RECORD_TOKEN=…` records them from such a server, which must be new and allow everything; `RECORD_ETCD` is the address of
 * its store, for `etcdctl`; `CASE` names the case to record.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { addressCases } from '#test/integration/apiserver/recorded/addresses.js';
import { applyDeduced } from '#test/integration/apiserver/recorded/apply-deduced.js';
import { ofDefinitions } from '#test/integration/apiserver/recorded/definitions.js';
import { documents } from '#test/integration/apiserver/recorded/documents.js';
import { jsonPatches } from '#test/integration/apiserver/recorded/json-patches.js';
import { malformedPatches } from '#test/integration/apiserver/recorded/malformed-patches.js';
import { managers } from '#test/integration/apiserver/recorded/managers.js';
import { nulls } from '#test/integration/apiserver/recorded/nulls.js';
import { oddBodies } from '#test/integration/apiserver/recorded/odd-bodies.js';
import { preserved } from '#test/integration/apiserver/recorded/preserved.js';
import { type Case, comparable, type RecordedAnswer, type Step } from '#test/integration/apiserver/recorded/step.js';
import { storedOdd } from '#test/integration/apiserver/recorded/stored-odd.js';
import { unknownPaths } from '#test/integration/apiserver/recorded/unknown-paths.js';
import { call } from '#test/integration/apiserver/server.js';

const cases: readonly Case[] = [
  addressCases,
  documents,
  applyDeduced,
  preserved,
  storedOdd,
  ofDefinitions,
  jsonPatches,
  malformedPatches,
  managers,
  nulls,
  oddBodies,
  unknownPaths,
];
const testdata = fileURLToPath(new URL('../../../../test/integration/apiserver/recorded/testdata/', import.meta.url));

type Headers = Readonly<Record<string, string>>;

interface Answer {
  readonly status: number;
  readonly warning: string | undefined;
  readonly text: string;
}

type Ask = (step: Step, headers: Headers, body: string | undefined) => Promise<Answer>;

const pollMs = 50;
const token = 'recorded';

async function answersTo({ steps }: Case, ask: Ask): Promise<RecordedAnswer[]> {
  const answers: RecordedAnswer[] = [];
  for (const step of steps) {
    const { method, path, until, contentType = 'application/json', accept = 'application/json' } = step;
    const headers = {
      'user-agent': 'recorded',
      accept,
      ...(step.body === undefined ? {} : { 'content-type': contentType }),
    };
    const body = typeof step.body === 'string' || step.body === undefined ? step.body : JSON.stringify(step.body);
    let answer = await ask(step, headers, body);
    while (until !== undefined && !answer.text.includes(until)) {
      await sleep(pollMs);
      answer = await ask(step, headers, body);
    }
    if (until !== undefined || step.isStored === true) continue;
    const { status, warning, text } = answer;
    const warnings = warning === undefined ? {} : { warnings: warning };
    answers.push({ request: `${method} ${path}`, status, ...warnings, body: comparable(partsOf(parsed(text), step)) });
  }
  return answers;
}

function partsOf(body: unknown, { parts, members }: Step): unknown {
  if (members !== undefined) {
    const entries = Object.entries(body as object).filter(([name]) => members.includes(name));
    return Object.fromEntries(entries);
  }
  if (parts === undefined) return body;
  return parts.map((path) => {
    let part = body;
    for (const name of path) part = (part as Readonly<Record<string, unknown>> | undefined)?.[name];
    return part ?? null;
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function askPeer(server: string, token: string): Ask {
  return async ({ method, path, isStored }, headers, body) => {
    if (isStored === true) {
      await promisify(execFile)('etcdctl', ['--endpoints', process.env.RECORD_ETCD ?? '', 'put', path, body ?? '']);
      return { status: 0, warning: undefined, text: '' };
    }
    return new Promise((resolve, reject) => {
      const outgoing = request(new URL(path, server), {
        method,
        headers: {
          ...headers,
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
        },
        rejectUnauthorized: false,
      });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        const parts: Buffer[] = [];
        incoming.on('data', (part: Buffer) => parts.push(part));
        incoming.on('end', () => {
          const warning = incoming.headers['warning'];
          const text = Buffer.concat(parts).toString();
          resolve({
            status: incoming.statusCode ?? 0,
            warning: typeof warning === 'string' ? warning : undefined,
            text,
          });
        });
      });
      outgoing.end(body);
    });
  };
}

async function askHere(t: Test): Promise<Ask> {
  const { argv } = await clusterCredentials(t, kubernetesDialect, `${token},admin,1,"system:masters"\n`);
  const store = new MemoryStore({ clock: realClock });
  const off = ['--disable-admission-plugins', 'ServiceAccount', '--service-cluster-ip-range', '10.96.0.0/16'];
  const { server } = await startCompleteServer(t, { dialect: kubernetesDialect, argv: [...argv, ...off], store });
  return async ({ method, path, isStored }, headers, body) => {
    if (isStored === true) {
      // Definitions are stored elsewhere.
      await store.create(path.replace('/apiextensions.k8s.io/', '/'), Buffer.from(body ?? ''));
      return { status: 0, warning: undefined, text: '' };
    }
    const answer = await call(server, method, path, {
      headers: { ...headers, authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, warning: answer.headers['warning'], text: answer.text };
  };
}

const peer = process.env.RECORD;

for (const one of cases.filter(({ name }) => name === (process.env.CASE ?? name))) {
  const file = `${testdata}${one.name}.json`;
  t.test(one.name, async (t) => {
    if (peer !== undefined) {
      const answers = await answersTo(one, askPeer(peer, process.env.RECORD_TOKEN ?? ''));
      const lines = answers.map((answer) => JSON.stringify(answer));
      writeFileSync(file, `[\n${lines.join(',\n')}\n]\n`);
      return;
    }
    const recorded = (JSON.parse(readFileSync(file, 'utf8')) as RecordedAnswer[]).map((answer) => ({
      ...answer,
      body: comparable(answer.body),
    }));
    const answers = await answersTo(one, await askHere(t));
    for (const [i, answer] of answers.entries()) t.strictSame(answer, recorded[i], `${i} ${answer.request}`);
    t.equal(answers.length, recorded.length);
  });
}
